use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, CertifiedIssuer, IsCa, KeyPair, SignatureAlgorithm};
use rstest::rstest;

use super::*;

fn key(algorithm: &'static SignatureAlgorithm) -> KeyPair {
    KeyPair::generate_for(algorithm).unwrap()
}

fn cert(key: &KeyPair) -> String {
    CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(key).unwrap().pem()
}

/// Writes the two files and loads them.
fn load(cert: &str, key: &str) -> Result<Pair, TlsError> {
    let directory = tempfile::tempdir().unwrap();
    let files = CertFiles { cert: directory.path().join("tls.crt"), key: directory.path().join("tls.key") };
    fs::write(&files.cert, cert).unwrap();
    fs::write(&files.key, key).unwrap();
    files.load()
}

/// The algorithm's own form of a key: what PKCS#8 wraps into its last octet string, as PEM.
fn unwrapped(pkcs8: &[u8], label: &str) -> String {
    let length = |at: usize| match pkcs8[at] {
        short @ 0..0x80 => (usize::from(short), at + 1),
        long => {
            let end = at + 1 + usize::from(long & 0x7f);
            (pkcs8[at + 1..end].iter().fold(0, |n, byte| n << 8 | usize::from(*byte)), end)
        }
    };
    let (_, mut at) = length(1);
    let inner = loop {
        let (len, begin) = length(at + 1);
        if pkcs8[at] == 0x04 {
            break &pkcs8[begin..begin + len];
        }
        at = begin + len;
    };
    let text = STANDARD.encode(inner);
    let lines: Vec<_> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

#[rstest]
#[case::p256(&rcgen::PKCS_ECDSA_P256_SHA256, "EC PRIVATE KEY")]
#[case::p384(&rcgen::PKCS_ECDSA_P384_SHA384, "EC PRIVATE KEY")]
#[case::rsa(&rcgen::PKCS_RSA_SHA256, "RSA PRIVATE KEY")]
fn every_legal_encoding_is_taken(#[case] algorithm: &'static SignatureAlgorithm, #[case] label: &str) {
    let key = key(algorithm);
    let cert = cert(&key);
    load(&cert, &key.serialize_pem()).unwrap();
    let own = unwrapped(&key.serialize_der(), label);
    load(&cert, &own).unwrap();
    // What `openssl ecparam -genkey` puts before the key, and text between the blocks.
    let parameters =
        "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\nsome text\n";
    load(&cert, &format!("{parameters}{own}")).unwrap();
}

#[test]
fn ed25519_is_taken() {
    let key = key(&rcgen::PKCS_ED25519);
    load(&cert(&key), &key.serialize_pem()).unwrap();
}

#[test]
fn a_chain_is_kept_in_its_order() {
    let root = CertifiedIssuer::self_signed(authority(), KeyPair::generate().unwrap()).unwrap();
    let between = CertifiedIssuer::signed_by(authority(), KeyPair::generate().unwrap(), &root).unwrap();
    let key = KeyPair::generate().unwrap();
    let leaf =
        CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &between).unwrap();
    let chain = format!("{}{}{}", leaf.pem(), between.pem(), root.pem());
    let pair = load(&chain, &key.serialize_pem()).unwrap();
    assert_eq!(pair.certified_key().cert.len(), 3);
    assert_eq!(&pair.certified_key().cert[0], leaf.der());
}

fn authority() -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params
}

#[test]
fn what_cannot_be_used_is_named_with_flag_and_reason() {
    let key = KeyPair::generate().unwrap();
    let (cert, pem) = (cert(&key), key.serialize_pem());
    let other = KeyPair::generate().unwrap().serialize_pem();
    let torn = &cert[..cert.len() / 2];
    let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    let not_x509 = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let not_a_key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    for (cert, key, expected, reason) in [
        ("", &*pem, "--tls-cert: ", "parse"),
        ("garbage", &pem, "holds no certificate", "parse"),
        (torn, &pem, "--tls-cert: ", "parse"),
        (not_x509, &pem, "first certificate", "parse"),
        (&cert, "", "--tls-key: ", "parse"),
        (&cert, encrypted, "not encrypted", "parse"),
        (&cert, not_a_key, "cannot be used", "parse"),
        (&cert, &other, "does not belong to the first certificate", "mismatch"),
    ] {
        let error = load(cert, key).unwrap_err();
        assert_eq!(error.reason(), reason, "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!error.to_string().contains("AAAA"), "{error}");
    }
    let missing = CertFiles { cert: "/nonexistent/tls.crt".into(), key: "/nonexistent/tls.key".into() };
    let error = missing.load().unwrap_err();
    assert_eq!(error.reason(), "read");
    assert!(error.to_string().starts_with("--tls-cert: cannot read /nonexistent/tls.crt: "), "{error}");
}

#[test]
fn dates_are_checked_by_the_second() {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.not_before = rcgen::date_time_ymd(2026, 1, 1);
    params.not_after = rcgen::date_time_ymd(2026, 1, 2);
    let pair = load(&params.self_signed(&key).unwrap().pem(), &key.serialize_pem()).unwrap();
    assert_eq!(pair.not_after() - pair.not_before(), 24 * 3600);
    assert!(pair.check_dates(pair.not_before()).is_ok());
    assert!(pair.check_dates(pair.not_after()).is_ok());
    let error = pair.check_dates(pair.not_after() + 1).unwrap_err();
    assert_eq!(error, "the certificate expired at 2026-01-02T00:00:00Z");
    let error = pair.check_dates(pair.not_before() - 1).unwrap_err();
    assert_eq!(error, "the certificate is not valid before 2026-01-01T00:00:00Z");
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("tls.crt");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for cert in [pipe, "/dev/zero".into()] {
        let files = CertFiles { cert, key: directory.path().join("tls.key") };
        let (tx, rx) = std::sync::mpsc::channel();
        std::thread::spawn(move || tx.send(files.load().map(|_| ())));
        let error = rx.recv_timeout(std::time::Duration::from_secs(10)).expect("an answer").unwrap_err();
        assert!(error.to_string().ends_with("it is not a file"), "{error}");
    }
}
