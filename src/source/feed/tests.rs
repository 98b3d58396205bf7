use std::fs;

use super::*;
use crate::engine::{Phase, Protected, Query, decide, testing::mk_request};
use crate::rules::{LiveRules, Report};
use crate::source::DirectorySource;

const RULE: &str = "
apiVersion: usher.dev/v1alpha1
kind: RoutingRule
metadata: {name: r}
spec:
  match:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: ['*']}]
    namespaceSelector: {matchLabels: {watched: 'yes'}}
  routes:
  - name: a
    predicate: >-
      object.metadata.name == 'p'
    reject: {message: denied}
---
apiVersion: v1
kind: Namespace
metadata: {name: default, labels: {watched: 'yes'}}
";

fn refused(live: &LiveRules) -> bool {
    !decide(&live.load(), &mk_request(), &Query::new(Phase::Validating)).allowed()
}

fn report(writer: &RuleWriter) -> Report {
    writer.report(&ItemKey { kind: ItemKind::RoutingRule, name: "r".into() }).expect("known").clone()
}

#[test]
fn a_directory_is_served_and_a_broken_file_changes_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("r.yaml");
    fs::write(&file, RULE).expect("written");
    let mut source = DirectorySource::open([directory.path().to_owned()]).expect("opens");
    let (mut writer, live) = RuleWriter::new(Protected::nothing());
    let mut read = |writer: &mut RuleWriter| {
        source.scan();
        feed([&Change::Reset(Arc::new(source.snapshot()))], writer)
    };
    assert!(read(&mut writer));
    assert!(refused(&live), "{:?}", report(&writer));
    assert!(!read(&mut writer), "nothing changed");

    // A mistake in the expression: the finding knows its line and column in the file.
    fs::write(&file, RULE.replace("object.metadata", "objct.metadata")).expect("written");
    assert!(!read(&mut writer));
    assert!(refused(&live));
    let found = report(&writer);
    assert_eq!((found.accepted, found.served_generation), (false, Some(1)));
    let place = found.diagnostics[0].place.as_ref().expect("a place in the file");
    assert_eq!((place.line, place.column), (12, 7));

    // A mistake in the shape.
    fs::write(&file, RULE.replace("predicate", "predicat")).expect("written");
    assert!(!read(&mut writer));
    assert!(refused(&live));
    assert!(!report(&writer).accepted);

    fs::write(&file, RULE.replace("'p'", "'q'")).expect("written");
    assert!(read(&mut writer));
    assert!(!refused(&live));
    assert!(report(&writer).accepted);

    fs::remove_file(&file).expect("removed");
    assert!(read(&mut writer));
    assert_eq!(writer.reports().count(), 0);
    assert!(live.load().rules().is_empty());
}
