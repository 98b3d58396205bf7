use serde_json::json;

use super::*;

mod places;

fn read(text: &str) -> Manifest {
    read_manifest("test.yaml", text.as_bytes()).unwrap()
}

fn values(text: &str) -> Vec<Value> {
    collected(text).unwrap().into_iter().map(|d| d.unwrap().value).collect()
}

fn collected(text: &str) -> Result<Vec<Result<Document, Diagnostic>>, Box<Diagnostic>> {
    let mut found = Vec::new();
    documents("test.yaml", text.as_bytes(), |document| found.push(document)).map(|()| found)
}

/// The finding that keeps the whole text from being read.
fn fault(text: &str) -> String {
    read_manifest("test.yaml", text.as_bytes()).unwrap_err().to_string()
}

/// The value of `x` in an object.
fn scalar(written: &str) -> Value {
    let text = format!("apiVersion: v1\nkind: A\nmetadata: {{name: a}}\nx: {written}\n");
    values(&text)[0]["x"].clone()
}

fn findings(text: &str) -> Vec<String> {
    read(text).diagnostics.iter().map(ToString::to_string).collect()
}

const RULE: &str = "\
apiVersion: usher.dev/v1alpha1
kind: RoutingRule
metadata: {name: a}
spec:
  routes:
  - name: r
    predicate: 'true'
    reject: {message: not so}
";

#[test]
fn documents_of_many_kinds_and_lists_are_read_in_order() {
    let text = format!(
        "# a comment\n---\n{RULE}---\n---\n# nothing\n---\napiVersion: v1\nkind: List\nitems:\n\
         - {{apiVersion: v1, kind: Namespace, metadata: {{name: ns}}}}\n\
         - {{apiVersion: v1, kind: ConfigMap, metadata: {{name: c, namespace: ns}}, data: {{a: b}}}}\n...\n"
    );
    let manifest = read(&text);
    assert!(manifest.diagnostics.is_empty(), "{:?}", manifest.diagnostics);
    let names: Vec<String> = manifest.objects.iter().map(|o| o.key().to_string()).collect();
    assert_eq!(names, ["RoutingRule a", "Namespace ns", "ConfigMap ns/c"]);
}

#[test]
fn json_is_read_with_tabs_and_numbers_as_written() {
    let text = "{\n\t\"apiVersion\": \"v1\", \"kind\": \"A\", \"metadata\": {\"name\": \"a\"},\n\t\
                \"x\": [1, 1.0, -2e3, 9007199254740993, \"\\ud83d\\ude00\\/\", true, null]\n}";
    assert_eq!(values(text)[0]["x"].to_string(), r#"[1,1.0,-2000.0,9007199254740993,"😀/",true,null]"#);
}

#[test]
fn plain_scalars_mean_what_they_mean_to_kubectl() {
    for (written, value) in [
        ("on", json!(true)),
        ("No", json!(false)),
        ("~", json!(null)),
        ("", json!(null)),
        ("0777", json!(511)),
        ("0o17", json!(15)),
        ("0x1F", json!(31)),
        ("-0b11", json!(-3)),
        ("08", json!(8)),
        ("1_000", json!(1000)),
        ("+7", json!(7)),
        ("1.0", json!(1)),
        ("1.5", json!(1.5)),
        (".5", json!(0.5)),
        ("1e3", json!(1000)),
        ("18446744073709551615", json!(18_446_744_073_709_551_615_u64)),
        ("-9223372036854775808", json!(i64::MIN)),
        ("2001-01-01", json!("2001-01-01")),
        ("1.2.3", json!("1.2.3")),
        ("-", json!([null])),
        ("- 1", json!([1])),
        ("1m", json!("1m")),
        ("0x", json!("0x")),
        ("'on'", json!("on")),
        ("!!str 5", json!("5")),
        ("!!float 5", json!(5)),
    ] {
        if written.starts_with('-') && value.is_array() {
            continue;
        }
        assert_eq!(scalar(written), value, "{written}");
    }
}

#[test]
fn keys_become_texts_and_merges_fill_what_is_missing() {
    let text = "apiVersion: v1\nkind: A\nmetadata: {name: a}\nbase: &base {p: 1, q: 2}\n1: one\ntrue: yes\n\
                got:\n  <<: [*base, {q: 9, r: 3}]\n  p: own\n";
    let value = &values(text)[0];
    assert_eq!(value["1"], "one");
    assert_eq!(value["true"], true);
    assert_eq!(value["got"], json!({"p": "own", "q": 2, "r": 3}));
}

#[test]
fn a_text_that_cannot_be_read_says_where_and_why() {
    assert_eq!(fault("a: [1,\n"), "test.yaml:1:4: error[U0004]: unclosed bracket '['");
    assert_eq!(
        fault("a: 1\nb: 2\na: 3\n"),
        "test.yaml:3:1: error[U0005]: the key `a` is given twice (it stands first in line 1; remove one)"
    );
    assert!(fault("a: *b\n").contains("U0004"));
    assert!(fault("a: .nan\n").contains("error[U0007]: the number .nan cannot be written in JSON"));
    assert!(fault("a: !secret x\n").contains("the tag !secret has no meaning in Kubernetes"));
    assert!(fault("{\"a\": 1, \"a\": 2}").contains("U0005"));
    assert!(fault("? [a]\n: 1\n").contains("a key must be a text"));
    let binary = read_manifest("a.yaml", b"a: \xff").unwrap_err();
    assert_eq!(
        binary.to_string(),
        "a.yaml:1:1: error[U0003]: the file is not UTF-8: byte 3 has no meaning there (store it as UTF-8)"
    );
    let large = read_manifest("a.yaml", &vec![b' '; MAX_FILE_BYTES + 1]).unwrap_err();
    assert_eq!(large.code, Code::FileTooLarge);
}

#[test]
fn aliases_cannot_blow_a_small_file_up() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let last = format!("*a{}, ", level - 1).repeat(10);
        text.push_str(&format!("a{level}: &a{level} [{last}]\n"));
    }
    let started = std::time::Instant::now();
    assert!(fault(&text).contains("U0006"), "{}", fault(&text));
    assert!(started.elapsed().as_secs() < 20);
    assert!(fault("a: &a [*a]\n").contains("U0004"));
}

#[test]
fn values_without_a_name_can_be_read_as_well() {
    let found = read_values("t", b"kind: AdmissionReview\nrequest: {uid: a}\n---\n[1]\n").unwrap();
    assert_eq!(found[0].0["request"]["uid"], "a");
    assert_eq!(found[1].0, json!([1]));
    assert_eq!(found[0].1.place("request.uid").to_string(), "t:2:16");
}

#[test]
fn a_file_full_of_faults_yields_a_bounded_number_of_findings() {
    let broken = RULE.replace("predicate", "predicat");
    let many = read(&vec![broken.as_str(); 600].join("---\n"));
    assert_eq!((many.broken.len(), many.diagnostics.len()), (600, 1000));
    assert_eq!(many.broken[599].diagnostics.len(), 1);

    let fields: String = (0..2000).map(|n| format!("  x{n}: 1\n")).collect();
    assert_eq!(findings(&format!("{RULE}{fields}")).len(), 64);

    assert!(fault(&"a\n---\n".repeat(100_001)).contains("U0006"));
}

#[test]
fn deep_nesting_is_refused_and_not_a_crash() {
    for text in ["[".repeat(100_000), "{a: ".repeat(100_000), "- ".repeat(50_000), "a:\n ".repeat(300)] {
        assert!(read_manifest("a.yaml", text.as_bytes()).is_err());
    }
}

#[test]
fn a_document_that_is_no_object_does_not_hide_the_others() {
    let manifest = read(&format!("just text\n---\nkind: A\n---\napiVersion: v1\nkind: A\n---\n{RULE}"));
    assert_eq!(manifest.objects.len(), 1);
    let findings: Vec<String> = manifest.diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(
        findings,
        [
            "test.yaml:1:1: error[U0201]: apiVersion: expected a Kubernetes object, found a string",
            "test.yaml:3:1: error[U0201]: apiVersion: a Kubernetes object needs apiVersion",
            "test.yaml:5:1: error[U0202]: metadata.name: A needs metadata.name",
        ]
    );
}

#[test]
fn a_fault_of_shape_does_not_hide_those_of_the_expressions() {
    let rule = "\
apiVersion: usher.dev/v1alpha1
kind: RoutingRule
metadata: {name: a}
spec:
  prioriy: 5
  variables:
  - {name: v, expression: 1 +}
  routes:
  - name: r
    predicate: objct.spec.replicas > 3
    reject: {message: not so, code: 9000}
";
    assert_eq!(
        findings(rule),
        [
            "test.yaml:5:3: error[U0203]: spec.prioriy: unknown field `prioriy` (did you mean `priority`?)",
            "test.yaml:11:37: error[U0207]: spec.routes[0].reject.code: 9000 is out of bounds; it must be from 400 to 499",
            "test.yaml:7:30: error[U0101]: spec.variables[0].expression: Syntax error: expected an operand, found the end of the expression",
            "test.yaml:10:16: error[U0102]: spec.routes[0].predicate: undeclared reference to 'objct' (in container '') (did you mean `object`?)",
        ]
    );
}

#[test]
fn an_unknown_field_is_found_with_its_place_and_the_likely_one() {
    let text = RULE.replace("predicate:", "predicat:").replace("message", "mesage");
    assert_eq!(
        findings(&text),
        [
            "test.yaml:6:5: error[U0205]: spec.routes[0].predicate: the field `predicate` is required",
            "test.yaml:7:5: error[U0203]: spec.routes[0].predicat: unknown field `predicat` (did you mean `predicate`?)",
            "test.yaml:8:14: error[U0203]: spec.routes[0].reject.mesage: unknown field `mesage` (did you mean `message`?)",
        ]
    );
    let broken = read(&text).broken;
    assert_eq!(broken[0].key.to_string(), "RoutingRule a");
    assert_eq!(broken[0].diagnostics.len(), 3);
}

#[test]
fn a_value_of_the_wrong_type_or_out_of_bounds_is_found_with_its_place() {
    let spec = "spec:\n  priority: high\n  mode: enforce\n  failurePolicy: null\n  routes:\n  - name: 1\n    predicate: true\n    \
                reject: {code: 700}\n  - name: 'a b'\n    predicate: ''\n    pass: {}\n  variables: {name: x}\n  \
                matchConditions:\n  - {name: c, expression: 'true'}\n  - {name: c, expression: 'true'}\n";
    let text = format!("{}{spec}", &RULE[..RULE.find("spec:").unwrap()]);
    assert_eq!(
        findings(&text),
        [
            "test.yaml:5:13: error[U0204]: spec.priority: expected an integer, found string \"high\"",
            "test.yaml:6:9: error[U0206]: spec.mode: \"enforce\" is not allowed; it must be one of Enforce, Warn, Audit, \
             Shadow, Disabled (did you mean `Enforce`?)",
            "test.yaml:7:18: error[U0204]: spec.failurePolicy: expected a string, found null (give it a value, or leave \
             the field out)",
            "test.yaml:9:11: error[U0204]: spec.routes[0].name: expected a string, found integer 1 (put the value in quotes)",
            "test.yaml:10:16: error[U0204]: spec.routes[0].predicate: expected a string, found boolean true (put the value \
             in quotes)",
            "test.yaml:11:20: error[U0207]: spec.routes[0].reject.code: 700 is out of bounds; it must be from 400 to 499",
            "test.yaml:12:11: error[U0206]: spec.routes[1].name: \"a b\" does not have the form \
             ^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$",
            "test.yaml:13:16: error[U0207]: spec.routes[1].predicate: 0 characters, at least 1 needed",
            "test.yaml:15:3: error[U0204]: spec.variables: expected a list, found a mapping (put `- ` before each entry)",
            "test.yaml:18:12: error[U0210]: spec.matchConditions[1].name: the name \"c\" is given twice in the list (choose \
             another one)",
        ]
    );
}

#[test]
fn policies_of_kubernetes_are_read_in_all_their_versions() {
    for version in ["v1", "v1beta1", "v1alpha1"] {
        let text = format!(
            "apiVersion: admissionregistration.k8s.io/{version}\nkind: MutatingAdmissionPolicy\nmetadata: {{name: m}}\n\
             spec:\n  mutations: [{{patchType: JSONPatch, jsonPatch: {{expression: '[]'}}}}]\n  matchConditions:\n---\n\
             apiVersion: admissionregistration.k8s.io/{version}\nkind: ValidatingAdmissionPolicy\nmetadata: {{name: v}}\n\
             spec:\n  validations: [{{expression: 'true', mesage: x}}]\n"
        );
        let manifest = read(&text);
        let name = manifest.diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(
            name,
            [
                "test.yaml:12:38: warning[U0203]: spec.validations[0].mesage: unknown field `mesage` (did you mean `message`?)"
            ]
        );
        assert_eq!(manifest.objects.len(), 2);
        assert!(
            matches!(&manifest.objects[0], Object::MutatingAdmissionPolicy(m) if m.object.spec.mutations.len() == 1)
        );
    }
}

#[test]
fn another_version_or_kind_of_our_group_is_refused_with_the_right_one() {
    assert_eq!(
        findings(&RULE.replace("v1alpha1", "v1")),
        [
            "test.yaml:1:13: error[U0208]: apiVersion: the version usher.dev/v1 is not known (write apiVersion: \
          usher.dev/v1alpha1 and kind: RoutingRule)"
        ]
    );
    assert!(
        findings(&RULE.replace("RoutingRule", "Rule"))[0].starts_with("test.yaml:2:7: error[U0208]: kind: ")
    );
}

#[test]
fn the_name_of_a_rule_must_be_one_that_the_api_server_takes() {
    let found = findings(&RULE.replace("name: a}", "name: No_Way}"));
    assert!(
        found[0]
            .starts_with("test.yaml:3:18: error[U0206]: metadata.name: \"No_Way\" does not have the form"),
        "{found:?}"
    );
}

#[test]
fn a_policy_of_an_unknown_version_is_refused_and_a_rule_of_a_foreign_group_is_warned_of() {
    let policy =
        "apiVersion: admissionregistration.k8s.io/v2\nkind: ValidatingAdmissionPolicy\nmetadata: {name: v}\n";
    assert!(findings(policy)[0].starts_with(
        "test.yaml:1:13: error[U0208]: apiVersion: the version admissionregistration.k8s.io/v2 is not known"
    ));
    let manifest = read(&RULE.replace("usher.dev/", "usher.de/"));
    assert_eq!(manifest.objects.len(), 1, "it may be a kind of somebody else");
    assert_eq!(
        manifest.diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "test.yaml:1:13: warning[U0208]: apiVersion: RoutingRule of usher.de/v1alpha1 is not a kind of rules or \
          policies, so it decides nothing (write apiVersion: usher.dev/v1alpha1)"
        ]
    );
}

#[test]
fn a_review_beside_rules_is_told_where_it_belongs() {
    let review = "apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\nrequest: {uid: a}\n";
    assert_eq!(
        findings(review),
        [
            "test.yaml:1:1: error[U0202]: metadata.name: AdmissionReview needs metadata.name (a review is neither a rule \
          nor read by rules; usher eval takes it with --resource)"
        ]
    );
}

#[test]
fn a_text_that_breaks_behind_good_objects_is_refused_as_a_whole() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n[unclosed\n";
    assert!(fault(text).contains("test.yaml:"), "{}", fault(text));
}
