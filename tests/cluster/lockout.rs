//! Whatever goes wrong with Usher, the cluster can be repaired through its API.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;

use super::registering::{SYSTEM, policy, registering, validating, world};
use super::world::{World, until};

/// Refuses everything there is, in both phases of life of an object.
const EVERYTHING: &str = "apiVersion: usher.dev/v1alpha1\nkind: RoutingRule\nmetadata: {name: everything}\nspec:\n  failurePolicy: Fail\n  \
     routes: [{name: r, predicate: 'true', reject: {message: refused}}]\n";

/// What a cluster needs to repair itself: its system namespaces, nodes and what they say of themselves, Usher's own Pods and rules.
async fn can_be_repaired(world: &World, when: &str) {
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let pod: Pod = serde_json::from_value(json!({"metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]}}))
    .unwrap();
    for namespace in [SYSTEM, "kube-system", "kube-node-lease"] {
        let pods: Api<Pod> = Api::namespaced(world.client.clone(), namespace);
        let made = pods.create(&dry, &pod).await;
        assert!(made.is_ok(), "{when}: a Pod in {namespace}: {made:?}");
    }
    let lease: Lease = serde_json::from_value(json!({"metadata": {"name": "l"}})).unwrap();
    let leases: Api<Lease> = Api::namespaced(world.client.clone(), &world.namespace);
    let made = leases.create(&dry, &lease).await;
    assert!(made.is_ok(), "{when}: a Lease: {made:?}");
    let nodes: Api<Node> = Api::all(world.client.clone());
    let node: Node = serde_json::from_value(json!({"metadata": {"name": "n"}})).unwrap();
    let made = nodes.create(&dry, &node).await;
    assert!(made.is_ok(), "{when}: a Node: {made:?}");
    let params = PatchParams::apply("tests").force();
    let rule = json!({"apiVersion": "usher.dev/v1alpha1", "kind": "RoutingRule", "metadata": {"name": "everything",
        "annotations": {"when": when}}});
    let changed = world.rules().patch("everything", &params, &Patch::Apply(rule)).await;
    assert!(
        !matches!(&changed, Err(kube::Error::Api(status)) if status.message.contains("webhook")),
        "{when}: {changed:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_refuses_everything_refuses_nothing_that_mends_it() {
    let world = world("everything").await;
    world.namespace("kube-node-lease").await;
    let usher = registering(&world, &[]).await;
    world.apply(EVERYTHING).await;
    world.until_condition("everything", "Ready", "True", 1).await;
    assert!(world.attempt("a").await.unwrap_err().contains("refused"));
    can_be_repaired(&world, "while it refuses").await;

    // All replicas are gone at once.
    drop(usher);
    assert!(world.attempt("a").await.unwrap_err().contains("failed calling webhook"), "it fails closed");
    can_be_repaired(&world, "without any replica").await;
    world.delete("everything").await;
    // The next replica finds no rule, and takes the entry away.
    let again = registering(&world, &[]).await;
    until("the entry is gone", async || policy(&world).await.is_none().then_some(())).await;
    assert_eq!(world.attempt("a").await, Ok(()));
    drop(again);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_any_replica_the_configurations_can_be_deleted() {
    let world = world("no-replica").await;
    let usher = registering(&world, &[]).await;
    world.apply(EVERYTHING).await;
    world.until_condition("everything", "Armed", "True", 1).await;
    drop(usher);
    assert!(world.attempt("a").await.is_err());
    validating(&world.client).delete("usher", &DeleteParams::default()).await.unwrap();
    world.until_allowed("a").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_its_namespace_is_deleted_usher_stops_failing_closed() {
    let world = world("namespace-deleted").await;
    let usher = registering(&world, &[]).await;
    world.apply(EVERYTHING).await;
    world.until_condition("everything", "Armed", "True", 1).await;
    let namespaces: Api<Namespace> = Api::all(world.client.clone());
    let uid = namespaces.get(SYSTEM).await.unwrap().metadata.uid;
    let owners = validating(&world.client).get("usher").await.unwrap().metadata.owner_references.unwrap();
    assert_eq!(
        Some(&owners[0].uid),
        uid.as_ref(),
        "the garbage collector takes the configuration away with it"
    );
    // There is no controller that would end it, so it goes on ending, as one that waits for its Pods does.
    namespaces.delete(SYSTEM, &DeleteParams::default()).await.unwrap();
    until("it is disarmed", async || (policy(&world).await.as_deref() == Some("Ignore")).then_some(())).await;
    drop(usher);
    world.until_allowed("a").await;
}
