//! `usher uninstall`: nothing is left that could hold anything up, whoever still runs.

use std::time::{Duration, Instant};

use assert_cmd::Command;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use serde_json::json;

use crate::deploy::rendering::helm;

use super::account;
use super::registering::{SYSTEM, mutating, policy, registering, rule, validating, world};
use super::world::{World, until};

/// Runs the command; what it says to people and what it has deleted.
async fn uninstall(world: &World) -> (String, Vec<String>) {
    // By the account of the chart's hook.
    account::grant(&world.client, &helm(&json!({})).hooks).await;
    let kubeconfig = account::kubeconfig(&world.client, "usher-uninstall", &world.plane().kubeconfig()).await;
    let run = move || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_usher"));
        let done = command.args(["uninstall", "--kubeconfig"]).arg(kubeconfig).assert().success();
        let output = done.get_output();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (text(&output.stderr), text(&output.stdout).lines().map(str::to_owned).collect())
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}

async fn configurations(world: &World) -> usize {
    let validating = validating(&world.client).get_opt("usher").await.unwrap();
    let mutating = mutating(&world.client).get_opt("usher").await.unwrap();
    usize::from(validating.is_some()) + usize::from(mutating.is_some())
}

async fn leases(world: &World) -> Vec<String> {
    let leases: Api<Lease> = Api::namespaced(world.client.clone(), SYSTEM);
    let list = leases.list(&ListParams::default()).await.unwrap();
    list.items.into_iter().filter_map(|lease| lease.metadata.name).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_still_runs_does_not_register_again() {
    let world = world("uninstall").await;
    let usher = registering(&world, &[]).await;
    world.apply(&rule("names", "configmaps", "true", "Fail")).await;
    world.until_condition("names", "Armed", "True", 1).await;
    assert_eq!(configurations(&world).await, 2);
    let (told, deleted) = uninstall(&world).await;
    assert!(told.contains("still running in usher-system: usher-replica-one"), "{told}");
    assert!(deleted.iter().any(|line| line == "deleted ValidatingWebhookConfiguration usher"), "{deleted:?}");
    assert!(deleted.iter().any(|line| line == "deleted MutatingWebhookConfiguration usher"), "{deleted:?}");
    // For longer than a Lease of a leader that is gone is good.
    let end = Instant::now() + Duration::from_secs(18);
    while Instant::now() < end {
        assert_eq!(configurations(&world).await, 0);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(world.attempt("a").await, Ok(()));
    assert_eq!(usher.metric("usher_leader").await, 0.0);

    assert_eq!(usher.terminate(), Some(0));
    assert_eq!(leases(&world).await, ["usher-controller"]);
    let (_, deleted) = uninstall(&world).await;
    assert_eq!(deleted, ["deleted Lease usher-controller"]);
    assert!(leases(&world).await.is_empty());
    let (told, deleted) = uninstall(&world).await;
    assert!(told.contains("nothing is left") && deleted.is_empty(), "{told} {deleted:?}");

    // It can be installed again at once.
    let again = registering(&world, &[]).await;
    let is_armed = async || (policy(&world).await.as_deref() == Some("Fail")).then_some(());
    until("it fails closed again", is_armed).await;
    drop(again);
    assert!(world.attempt("a").await.unwrap_err().contains("failed calling webhook"));
    let (told, deleted) = uninstall(&world).await;
    assert!(!told.contains("still running") && deleted.len() == 4, "{told} {deleted:?}");
    assert_eq!(world.attempt("a").await, Ok(()));
    assert!(leases(&world).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_half_removed_installation_leaves_holds_up_nothing() {
    let world = world("half-removed").await;
    let usher = registering(&world, &[]).await;
    world.apply(&rule("names", "configmaps", "true", "Fail")).await;
    world.until_condition("names", "Armed", "True", 1).await;
    // The rules go first, then the server, and everything else is forgotten.
    world.delete("names").await;
    until("the entry is gone", async || policy(&world).await.is_none().then_some(())).await;
    drop(usher);
    assert_eq!(configurations(&world).await, 2);
    assert_eq!(world.attempt("a").await, Ok(()));
    // Not even what looks like a probe is held up, as long as somebody means it.
    let stored = validating(&world.client).get("usher").await.unwrap().webhooks.unwrap();
    let labels = stored[0].object_selector.clone().unwrap().match_labels.unwrap();
    let leases: Api<Lease> = Api::namespaced(world.client.clone(), SYSTEM);
    let lease: Lease =
        serde_json::from_value(json!({"metadata": {"name": "usher-probe-mine", "labels": labels}})).unwrap();
    leases.create(&PostParams::default(), &lease).await.unwrap();
    leases.delete("usher-probe-mine", &DeleteParams::default()).await.unwrap();
    // One of the two configurations is gone; the other one goes with the command.
    mutating(&world.client).delete("usher", &DeleteParams::default()).await.unwrap();
    let (_, deleted) = uninstall(&world).await;
    assert!(deleted.contains(&"deleted ValidatingWebhookConfiguration usher".to_owned()), "{deleted:?}");
    assert_eq!(configurations(&world).await, 0);
}
