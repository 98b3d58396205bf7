//! `usher ping`: whether a server answers, seen from where the command runs.

use std::path::Path;

use assert_cmd::Command;

use super::child::{RULE, Server};

/// Exit code, standard output, standard error.
fn ping(url: &str, authority: &Path) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_usher"));
    let output = command.args(["ping", url, "--ca-file"]).arg(authority).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_server_is_said_to_answer_only_if_it_does() {
    let directory = tempfile::tempdir().unwrap();
    let authority = directory.path().join("certificates/ca.crt");
    let server = Server::start(directory.path(), RULE, &[]);
    let url = format!("https://localhost:{}", server.webhook.port());
    let (code, out, error) = ping(&url, &authority);
    assert!(code == 0 && out.ends_with(": allowed\n") && error.is_empty(), "{code} {out} {error}");

    let wrong = directory.path().join("wrong.crt");
    std::fs::write(&wrong, rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap().cert.pem())
        .unwrap();
    let (code, out, error) = ping(&url, &wrong);
    assert!(code == 2 && out.is_empty() && error.contains("UnknownIssuer"), "{code} {out} {error}");
    let empty = directory.path().join("empty.crt");
    std::fs::write(&empty, "").unwrap();
    let (code, _, error) = ping(&url, &empty);
    assert!(code == 2 && error.contains("there is no certificate in"), "{code} {error}");
    // Its other port speaks another protocol.
    let (code, _, error) = ping(&format!("https://localhost:{}", server.admin.port()), &authority);
    assert!(code == 2 && error.contains("does not answer as Usher does"), "{code} {error}");
    for url in ["http://localhost", "https://localhost/validate", "localhost:8443"] {
        let (code, _, error) = ping(url, &authority);
        assert!(code == 2 && error.contains("expected https://HOST"), "{url}: {code} {error}");
    }

    drop(server);
    let (code, _, error) = ping(&url, &authority);
    assert!(code == 2 && error.contains("refused"), "{code} {error}");
}

#[test]
fn a_refusal_is_an_answer() {
    let directory = tempfile::tempdir().unwrap();
    let rule = RULE.replace("request.name == 'never'", "true");
    let server = Server::start(directory.path(), &rule, &[]);
    let url = format!("https://localhost:{}", server.webhook.port());
    let (code, out, error) = ping(&url, &directory.path().join("certificates/ca.crt"));
    assert!(code == 0 && out.ends_with(": denied\n"), "{code} {out} {error}");
}
