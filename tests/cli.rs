//! The commands, as they are typed.

mod serve;

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rstest::rstest;
use serde_json::Value;

/// The transcripts of `tests/cmd`: `TRYCMD=overwrite cargo test --test it cli::` writes them anew.
#[test]
fn transcripts_are_what_the_commands_print() {
    trycmd::TestCases::new()
        .register_bin("usher", Path::new(env!("CARGO_BIN_EXE_usher")))
        .case("tests/cmd/*.md")
        .case("README.md")
        .run();
}

#[rstest]
#[case::allowed(0, &["eval", "-f", "rules", "-r", "resources/good.yaml"])]
#[case::denied(1, &["eval", "-f", "rules", "-r", "resources/bad.yaml"])]
#[case::with_trace(1, &["eval", "-f", "rules", "-r", "resources/bad.yaml", "--explain"])]
#[case::bad_rule(1, &["eval", "-f", "rules", "../check.in/typo.yaml", "-r", "resources/good.yaml"])]
#[case::no_good_rule(2, &["eval", "-f", "../check.in/typo.yaml", "-r", "resources/good.yaml"])]
#[case::no_such_rules(2, &["eval", "-f", "nowhere", "-r", "resources/good.yaml"])]
#[case::no_such_resource(2, &["eval", "-f", "rules", "-r", "nowhere"])]
#[case::bad_resource(2, &["eval", "-f", "rules", "-r", "../mistakes.in/syntax.yaml", "resources/good.yaml"])]
#[case::usage(2, &["eval", "-f", "rules", "--fine", "-r", "resources"])]
#[case::checked(0, &["check", "rules"])]
#[case::invalid(1, &["check", "../check.in"])]
#[case::nothing_to_check(2, &["check", "resources/good.yaml"])]
#[case::version(0, &["version"])]
fn json_is_all_that_is_on_standard_output_whatever_happens(#[case] code: i32, #[case] args: &[&str]) {
    let args: Vec<&str> = args.iter().copied().chain(["-o", "json"]).collect();
    let output = usher(&args);
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["apiVersion"], "cli.usher.dev/v1alpha1");
    let has_errors = document["errors"].as_array().is_some_and(|errors| !errors.is_empty());
    assert_eq!(has_errors, code == 2, "{document:#}");
    assert_eq!(output.stderr.is_empty(), args[0] == "version", "people are told too");
}

#[test]
fn json_tells_what_happened_and_what_was_found() {
    let output = usher(&["eval", "-f", "rules", "-r", "resources", "-o", "json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let decisions: Vec<_> =
        document["results"].as_array().unwrap().iter().map(|one| &one["decision"]).collect();
    assert_eq!(decisions, ["deny", "allow", "allow"]);
    let denied = &document["results"][0]["phases"][1];
    assert_eq!(denied["rejections"][1]["route"], "known-registry");
    assert_eq!(denied["rejections"][1]["code"], 403);
    let patched = &document["results"][1];
    assert_eq!(patched["patchedObject"]["spec"]["securityContext"]["runAsNonRoot"], true);
    assert_eq!(patched["phases"][0]["patch"][0]["path"], "/spec/securityContext");
    assert_eq!(patched["phases"][1]["warnings"][0], "the namespace has no label team");
    assert_eq!(document["summary"]["denied"], 1);
}

#[test]
fn the_same_run_writes_the_same_json() {
    let args = ["eval", "-f", "rules", "-r", "resources", "review.json", "custom.yaml", "-o", "json"];
    assert_eq!(usher(&args).stdout, usher(&args).stdout);
}

#[test]
fn manifests_come_from_standard_input() {
    let manifest = std::fs::read(directory().join("resources/bad.yaml")).unwrap();
    let output = usher_reading(&["eval", "-f", "rules", "-r", "-"], &manifest);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("<stdin>:1"), "{}", text(&output.stdout));
    let output = usher_reading(&["eval", "-f", "rules", "-r", "-"], b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no resources found in -"), "{}", text(&output.stderr));
}

#[test]
fn results_go_to_standard_output_and_the_rest_does_not() {
    let output = usher(&["eval", "-f", "rules", "../check.in/typo.yaml", "-r", "resources/bad.yaml"]);
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(stdout.starts_with("DENY "), "{stdout}");
    assert!(!stdout.contains("U0203") && stderr.contains("U0203"), "{stdout}{stderr}");
    assert!(!stdout.contains("1 resource against") && stderr.contains("1 resource against"));
}

#[test]
fn colours_are_there_when_asked_for_and_never_else() {
    let colored = |args: &[&str]| text(&usher(args).stdout).contains('\u{1b}');
    let base = ["eval", "-f", "rules", "-r", "resources/bad.yaml", "--color"];
    let with = |when| base.iter().copied().chain([when]).collect::<Vec<_>>();
    assert!(colored(&with("always")));
    assert!(!colored(&with("never")));
    assert!(!colored(&with("auto")));
}

#[test]
fn what_users_wrote_does_not_reach_the_terminal_as_commands() {
    let manifest = "apiVersion: v1\nkind: Pod\nmetadata: {name: \"a\\e[31mb\"}\nspec: {containers: [{image: \"x\\e]0;t\\a:latest\"}]}\n";
    let output = usher_reading(&["eval", "-f", "rules", "-r", "-", "--explain"], manifest.as_bytes());
    for stream in [&output.stdout, &output.stderr] {
        assert!(!text(stream).contains('\u{1b}'), "{}", text(stream));
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_usher"))
        .args(["crd"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

#[cfg(unix)]
#[test]
fn as_a_plugin_of_kubectl_it_calls_itself_so() {
    let directory = tempfile::tempdir().unwrap();
    let plugin = directory.path().join("kubectl-usher");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_usher"), &plugin).unwrap();
    let output = Command::new(&plugin).args(["check"]).output().unwrap();
    assert!(text(&output.stderr).contains("Usage: kubectl usher check"), "{}", text(&output.stderr));
}

#[test]
fn the_crd_is_the_one_that_is_deployed() {
    let committed = std::fs::read(root().join("deploy/crd/usher.dev_routingrules.yaml")).unwrap();
    assert_eq!(text(&usher(&["crd"]).stdout), text(&committed));
}

#[rstest]
#[case("bash")]
#[case("zsh")]
#[case("fish")]
fn completions_name_the_commands(#[case] shell: &str) {
    let output = usher(&["completions", shell]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("eval"));
}

#[test]
fn shipped_rules_are_without_findings() {
    let policies = root().join("policies");
    let output = usher(&[OsStr::new("check"), policies.as_os_str()]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), String::new()));
}

fn usher<A: AsRef<OsStr>>(args: &[A]) -> Output {
    usher_reading(args, b"")
}

/// Runs the command in the directory of the transcripts.
fn usher_reading<A: AsRef<OsStr>>(args: &[A], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_usher"))
        .args(args)
        .current_dir(directory())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

fn directory() -> PathBuf {
    root().join("tests/cmd/eval.in")
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
