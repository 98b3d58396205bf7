use std::fs;

use tempfile::TempDir;

use super::*;

/// A rule with a message that tells its versions apart.
pub(in crate::source) fn rule(name: &str, message: &str) -> String {
    format!(
        "apiVersion: usher.dev/v1alpha1\nkind: RoutingRule\nmetadata: {{name: {name}}}\nspec:\n  routes:\n  - name: r\n    \
         predicate: 'true'\n    reject: {{message: {message}}}\n"
    )
}

fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: ns}}\n")
}

/// Names and messages of the rules in a snapshot.
pub(in crate::source) fn rules(snapshot: &Snapshot) -> Vec<String> {
    let rules = snapshot.objects.iter().filter_map(|object| match object {
        Object::RoutingRule(rule) => Some(rule),
        _ => None,
    });
    rules
        .map(|rule| {
            let reject = rule.object.spec.routes[0].reject.as_ref().unwrap();
            format!("{}: {}", rule.key.name, reject.message.as_deref().unwrap())
        })
        .collect()
}

fn open(directory: &TempDir) -> DirectorySource {
    DirectorySource::open([directory.path().to_owned()]).unwrap()
}

fn findings(snapshot: &Snapshot) -> Vec<String> {
    snapshot.diagnostics.iter().map(|d| format!("{} {}", d.code, d.message)).collect()
}

#[test]
fn directories_are_read_with_all_below_and_without_hidden_or_other_files() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::create_dir_all(path("sub/deep")).unwrap();
    fs::create_dir_all(path(".git")).unwrap();
    fs::write(path("b.yaml"), rule("b", "one")).unwrap();
    fs::write(path("a.YML"), rule("a", "one")).unwrap();
    fs::write(path("sub/deep/c.json"), config_map("c").as_bytes()).unwrap();
    for ignored in [".hidden.yaml", ".git/x.yaml", "README.md", "a.yaml~", "b.yaml.swp"] {
        fs::write(path(ignored), "not: [read").unwrap();
    }
    let snapshot = open(&directory).snapshot();
    assert_eq!(findings(&snapshot), Vec::<String>::new());
    assert_eq!(rules(&snapshot), ["a: one", "b: one"]);
    assert!(snapshot.store.get("v1", "ConfigMap", "ns", "c").is_some());
    assert_eq!(snapshot.files, 3);
}

#[test]
fn a_file_that_is_named_is_read_whatever_it_is_called_and_only_once() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("rules.txt");
    fs::write(&path, rule("a", "one")).unwrap();
    let paths = [path.clone(), directory.path().to_owned(), path];
    assert_eq!(rules(&DirectorySource::open(paths).unwrap().snapshot()), ["a: one"]);
}

#[test]
fn a_path_that_does_not_exist_is_an_error_that_names_it() {
    let fault = DirectorySource::open(["/no/such/path".into()]).unwrap_err();
    assert_eq!(fault.code, Code::FileUnreadable);
    assert!(fault.to_string().starts_with("/no/such/path:1:1: error[U0001]: cannot be read: "), "{fault}");
}

#[test]
fn a_broken_file_keeps_its_last_good_objects_and_hurts_no_other() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("a.yaml"), rule("a", "one")).unwrap();
    fs::write(path("b.yaml"), rule("b", "one")).unwrap();
    let mut source = open(&directory);
    assert!(!source.scan());

    fs::write(path("a.yaml"), "a: [").unwrap();
    fs::write(path("b.yaml"), rule("b", "two")).unwrap();
    assert!(source.scan());
    assert!(!source.scan(), "the same fault is no change");
    let snapshot = source.snapshot();
    assert_eq!(rules(&snapshot), ["a: one", "b: two"]);
    assert_eq!((snapshot.files, snapshot.broken_files), (2, 1));
    assert_eq!(findings(&snapshot), ["U0004 unclosed bracket '['"]);

    fs::write(path("a.yaml"), rule("a", "three")).unwrap();
    assert!(source.scan());
    let snapshot = source.snapshot();
    assert_eq!(rules(&snapshot), ["a: three", "b: two"]);
    assert_eq!(snapshot.broken_files, 0);
}

#[test]
fn a_broken_rule_is_named_and_the_rest_of_its_file_is_used() {
    let directory = TempDir::new().unwrap();
    let text = format!("{}---\n{}", rule("a", "one").replace("predicate", "predicat"), rule("b", "one"));
    fs::write(directory.path().join("a.yaml"), text).unwrap();
    let snapshot = open(&directory).snapshot();
    assert_eq!(rules(&snapshot), ["b: one"]);
    assert_eq!(snapshot.broken[0].key.to_string(), "RoutingRule a");
    assert_eq!((snapshot.broken_files, snapshot.diagnostics.len()), (0, 2));
}

#[test]
fn a_file_that_is_deleted_takes_its_objects_with_it() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a.yaml");
    fs::write(&path, rule("a", "one")).unwrap();
    let mut source = open(&directory);
    fs::remove_file(path).unwrap();
    assert!(source.scan());
    assert_eq!(rules(&source.snapshot()), Vec::<String>::new());
}

#[test]
fn a_named_path_that_vanishes_keeps_its_objects_and_is_reported() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a.yaml");
    fs::write(&path, rule("a", "one")).unwrap();
    let mut source = DirectorySource::open([path.clone()]).unwrap();
    fs::remove_file(&path).unwrap();
    assert!(source.scan());
    let snapshot = source.snapshot();
    assert_eq!(rules(&snapshot), ["a: one"]);
    assert_eq!(snapshot.diagnostics[0].code, Code::FileUnreadable);
    fs::write(&path, rule("a", "two")).unwrap();
    assert!(source.scan());
    assert_eq!(rules(&source.snapshot()), ["a: two"]);
}

#[test]
fn of_two_definitions_of_one_object_the_first_counts() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("a.yaml"), rule("x", "one")).unwrap();
    fs::write(directory.path().join("b.yaml"), rule("x", "two")).unwrap();
    let snapshot = open(&directory).snapshot();
    assert_eq!(rules(&snapshot), ["x: one"]);
    let finding = snapshot.diagnostics[0].to_string();
    assert!(
        finding.contains("b.yaml:3:18: error[U0209]: metadata.name: RoutingRule x is defined more than once"),
        "{finding}"
    );
    assert!(finding.contains("a.yaml:3:18 counts"), "{finding}");
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_mounted_config_map_is_read_once() {
        let directory = TempDir::new().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::create_dir(path("..2026_01")).unwrap();
        fs::write(path("..2026_01/a.yaml"), rule("a", "one")).unwrap();
        symlink("..2026_01", path("..data")).unwrap();
        symlink("..data/a.yaml", path("a.yaml")).unwrap();
        let snapshot = open(&directory).snapshot();
        assert_eq!(findings(&snapshot), Vec::<String>::new());
        assert_eq!(rules(&snapshot), ["a: one"]);
    }

    #[test]
    fn links_in_a_circle_end() {
        let directory = TempDir::new().unwrap();
        fs::write(directory.path().join("a.yaml"), rule("a", "one")).unwrap();
        symlink(directory.path(), directory.path().join("again")).unwrap();
        symlink("loop.yaml", directory.path().join("loop.yaml")).unwrap();
        let snapshot = open(&directory).snapshot();
        assert_eq!(rules(&snapshot), ["a: one"]);
        assert_eq!(snapshot.diagnostics.len(), 1);
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_named_file_does_not_stop_the_reading_of_others() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("a.yaml"), rule("a", "one")).unwrap();
    fs::write(path("b.yaml"), rule("b", "one")).unwrap();
    let mut source = DirectorySource::open([path("a.yaml"), path("b.yaml")]).unwrap();
    fs::remove_file(path("a.yaml")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(path("a.yaml")).status().unwrap().success());
    fs::write(path("b.yaml"), rule("b", "two")).unwrap();
    let (tx, rx) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        source.scan();
        tx.send(source.snapshot()).unwrap();
    });
    let snapshot = rx.recv_timeout(std::time::Duration::from_secs(10)).expect("nobody waits for the pipe");
    assert_eq!(rules(&snapshot), ["a: one", "b: two"]);
    assert_eq!(findings(&snapshot), ["U0001 cannot be read: it is neither a file nor a directory"]);
}
