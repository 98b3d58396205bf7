//! The script for development certificates.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use usher::webhook::tls::CertFiles;

#[test]
fn the_script_makes_a_pair_once_and_renews_what_is_lost() {
    if Command::new("openssl").arg("version").output().is_err() {
        eprintln!("not tested: openssl is not installed");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let made = run(directory.path());
    let names: Vec<&str> = made.keys().map(String::as_str).collect();
    assert_eq!(names, ["ca.crt", "ca.key", "tls.crt", "tls.key"]);
    let files = CertFiles { cert: directory.path().join("tls.crt"), key: directory.path().join("tls.key") };
    files.load().unwrap();

    assert_eq!(run(directory.path()), made, "what is good is kept");

    std::fs::write(directory.path().join("tls.crt"), "broken").unwrap();
    let renewed = run(directory.path());
    assert_eq!(renewed["ca.crt"], made["ca.crt"], "the authority stays");
    assert_ne!(renewed["tls.crt"], made["tls.crt"]);
    files.load().unwrap();
}

/// Runs the script; the files that are there afterwards.
fn run(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("certs/dev.sh");
    let output = Command::new("sh").arg(script).arg(directory).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{:?} is for the owner only", entry.file_name());
        files.insert(entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap());
    }
    files
}
