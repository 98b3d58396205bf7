use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_control_plane_can_be_frozen_killed_and_started_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut plane = ControlPlane::start(directory.path().to_owned()).await;
    let version = plane.client().await.apiserver_version().await.unwrap();
    assert_eq!((version.git_version.as_str(), version.minor.as_str()), ("v1.37.2", "37"));

    plane.api_server.freeze();
    let client = plane.client().await;
    let answer = tokio::time::timeout(Duration::from_millis(500), client.apiserver_version()).await;
    assert!(answer.is_err(), "a frozen API server does not answer");
    plane.api_server.thaw();
    plane.client().await.apiserver_version().await.unwrap();

    plane.etcd.kill();
    plane.api_server.kill();
    assert!(plane.client().await.apiserver_version().await.is_err());
    plane.etcd.restart();
    plane.api_server.restart();
    plane.until_ready().await;
}

#[test]
fn a_program_ends_when_nobody_holds_its_standard_input() {
    let directory = tempfile::tempdir().unwrap();
    let [client, peer] = free_ports();
    let mut child = Command::new(binary::build())
        .args(etcd_arguments(directory.path(), client, peer))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    assert!(child.try_wait().unwrap().is_none());
    drop(child.stdin.take());
    let end = Instant::now() + START;
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < end, "it still runs");
        std::thread::sleep(Duration::from_millis(20));
    }
}
