//! A signal that means something else to other servers.

use std::process::Command;

use super::child::{RULE, Server};
use super::client::{Client, config, connect_with, review};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hangup_does_not_end_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), RULE, &[]);
    let connection = connect_with(server.webhook, config(server.authority.clone())).await.unwrap();
    let mut client = Client::new(connection);
    assert_eq!(client.post("/validate", review("before")).await.unwrap().response()["allowed"], true);
    let id = server.id().to_string();
    assert!(Command::new("kill").args(["-HUP", &id]).status().unwrap().success());
    // A signal that nobody catches ends the process before it answers anything.
    assert_eq!(client.post("/validate", review("after")).await.unwrap().response()["allowed"], true);
}
