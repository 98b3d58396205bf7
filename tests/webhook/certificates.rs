//! Certificates that change while the server runs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rstest::rstest;
use tokio::task::JoinSet;
use tokio_rustls::rustls::pki_types::CertificateDer;
use usher::webhook::tls::CertFiles;

use super::client::{Client, config, connect_with, review};
use super::server::{Server, Settings, allow};

/// An authority that clients know, and pairs by it.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn der(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }

    /// A certificate and its key, as PEM.
    fn pair(&self, year_of_expiry: i32) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(year_of_expiry, 1, 1);
        (params.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }
}

/// Puts a pair into a directory as the kubelet does for a Secret: into a new directory, to which `..data` is switched.
fn mount(directory: &Path, generation: usize, (cert, key): &(String, String)) {
    let data = directory.join(format!("..{generation}"));
    fs::create_dir(&data).unwrap();
    fs::write(data.join("tls.crt"), cert).unwrap();
    fs::write(data.join("tls.key"), key).unwrap();
    let switch = directory.join("..data_tmp");
    symlink(data.file_name().unwrap(), &switch).unwrap();
    fs::rename(&switch, directory.join("..data")).unwrap();
    for name in ["tls.crt", "tls.key"] {
        if !directory.join(name).exists() {
            symlink(Path::new("..data").join(name), directory.join(name)).unwrap();
        }
    }
}

fn files(directory: &Path) -> CertFiles {
    CertFiles { cert: directory.join("tls.crt"), key: directory.join("tls.key") }
}

fn settings(directory: &Path) -> Settings {
    Settings { files: Some(files(directory)), ..Settings::default() }
}

/// The certificate that a new connection is shown.
async fn shown(server: &Server, authority: &Authority) -> CertificateDer<'static> {
    let stream = connect_with(server.address, config(authority.der())).await.unwrap();
    stream.get_ref().1.peer_certificates().unwrap()[0].clone().into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn rotation_by_symlink_under_load_fails_no_request_and_is_served_within_a_second() {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    mount(directory.path(), 0, &authority.pair(2040));
    let server = Arc::new(Server::with(allow(), settings(directory.path())).await);
    let stop = Arc::new(AtomicBool::new(false));
    let answered = Arc::new(AtomicUsize::new(0));
    let mut clients = JoinSet::new();
    for n in 0..6 {
        let (address, config) = (server.address, config(authority.der()));
        let (stop, answered) = (Arc::clone(&stop), Arc::clone(&answered));
        clients.spawn(async move {
            let mut client = Client::new(connect_with(address, config.clone()).await.unwrap());
            while !stop.load(Relaxed) {
                let answer = client.post("/mutate", review("u")).await.unwrap();
                assert_eq!(answer.response()["allowed"], true);
                answered.fetch_add(1, Relaxed);
                if n % 2 == 0 {
                    client = Client::new(connect_with(address, config.clone()).await.unwrap());
                }
            }
        });
    }
    let mut last = shown(&server, &authority).await;
    for generation in 1..=10 {
        mount(directory.path(), generation, &authority.pair(2040 + i32::try_from(generation).unwrap()));
        let start = Instant::now();
        loop {
            let now = shown(&server, &authority).await;
            if now != last {
                last = now;
                break;
            }
            assert!(start.elapsed() < Duration::from_secs(1), "generation {generation}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    stop.store(true, Relaxed);
    while let Some(ended) = clients.join_next().await {
        ended.unwrap();
    }
    assert!(answered.load(Relaxed) > 100, "{answered:?}");
    assert_eq!(server.metric("usher_tls_reloads_total", &["success"]), 10.0);
    let not_after = server.metric("usher_tls_certificate_not_after_timestamp_seconds", &[]);
    assert_eq!(not_after, 2_524_608_000.0, "2050-01-01");
    Arc::into_inner(server).unwrap().stop().await;
}

/// Waits for a counter to move.
async fn wait_for(server: &Server, result: &str) {
    let start = Instant::now();
    while server.metric("usher_tls_reloads_total", &[result]) == 0.0 {
        assert!(start.elapsed() < Duration::from_secs(10), "no {result}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_certificate_whose_key_comes_later_is_served_once_both_are_there() {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let (cert, key) = authority.pair(2040);
    fs::write(directory.path().join("tls.crt"), cert).unwrap();
    fs::write(directory.path().join("tls.key"), key).unwrap();
    let server = Server::with(allow(), settings(directory.path())).await;
    let before = shown(&server, &authority).await;

    let (cert, key) = authority.pair(2041);
    fs::write(directory.path().join("tls.crt"), cert).unwrap();
    wait_for(&server, "mismatch").await;
    assert_eq!(shown(&server, &authority).await, before);

    fs::write(directory.path().join("tls.key"), key).unwrap();
    wait_for(&server, "success").await;
    assert_ne!(shown(&server, &authority).await, before);
    server.stop().await;
}

#[rstest]
#[case::deleted(None, "read")]
#[case::empty(Some(""), "parse")]
#[case::garbage(Some("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), "parse")]
#[tokio::test]
async fn a_bad_certificate_leaves_the_old_one_in_place(#[case] content: Option<&str>, #[case] result: &str) {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    mount(directory.path(), 0, &authority.pair(2040));
    let server = Server::with(allow(), settings(directory.path())).await;
    let before = shown(&server, &authority).await;
    let file = directory.path().join("tls.crt");
    match content {
        None => fs::remove_file(&file).unwrap(),
        Some(content) => fs::write(&file, content).unwrap(),
    }
    wait_for(&server, result).await;
    assert_eq!(shown(&server, &authority).await, before);
    // A failure is counted once, not at each look.
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(server.metric("usher_tls_reloads_total", &[result]), 1.0);

    mount(directory.path(), 1, &authority.pair(2041));
    wait_for(&server, "success").await;
    server.stop().await;
}
