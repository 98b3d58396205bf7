//! The status of rules: true on every replica, written by one, and never for nothing.

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde_json::json;
use usher::api::RulePhase;

use super::server::Usher;
use super::world::{World, until};

const SYSTEM: &str = "usher-system";
/// Of a leader that was killed; the Lease is good for 15 s.
const TAKEOVER: Duration = Duration::from_secs(20);

fn rule(name: &str, predicate: &str, message: &str) -> String {
    format!(
        "apiVersion: usher.dev/v1alpha1\nkind: RoutingRule\nmetadata: {{name: {name}}}\nspec:\n  match: {{resourceRules: \
         [{{apiGroups: [''], apiVersions: ['*'], operations: ['*'], resources: [configmaps]}}]}}\n  routes: [{{name: r, \
         predicate: \"{predicate}\", reject: {{message: {message}}}}}]\n"
    )
}

/// A ConfigMap that the rules of these tests refuse.
const REQUEST: &str = r#""operation":"CREATE","kind":{"group":"","version":"v1","kind":"ConfigMap"},"resource":{"group":"",
    "version":"v1","resource":"configmaps"},"name":"a","namespace":"shop","object":{"apiVersion":"v1","kind":"ConfigMap",
    "metadata":{"name":"a","namespace":"shop"}}"#;

/// A replica that is ready.
async fn replica(world: &World, name: &str) -> Usher {
    let usher = Usher::start(world, &["--cluster", &format!("--replica-name={name}")]).await;
    usher.until_ready().await;
    usher
}

async fn leader(world: &World) -> Option<String> {
    let leases: Api<Lease> = Api::namespaced(world.client.clone(), SYSTEM);
    let lease = leases.get_opt("usher-controller").await.unwrap()?;
    lease.spec.unwrap().holder_identity
}

async fn until_led_by(world: &World, who: impl Fn(&str) -> bool) -> Duration {
    let start = Instant::now();
    until("somebody leads", async || leader(world).await.filter(|holder| who(holder))).await;
    start.elapsed()
}

/// Writes of statuses that the API server has seen.
fn status_writes(world: &World) -> usize {
    let log = world.plane().audit_log();
    let is_write = |line: &&str| {
        line.contains("\"resource\":\"routingrules\"") && line.contains("\"subresource\":\"status\"")
    };
    log.lines().filter(is_write).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_says_what_is_in_force_and_why_not() {
    let world = World::own("status").await;
    let usher = replica(&world, "one").await;
    world.apply(&rule("names", "object.metadata.name == 'a'", "first")).await;
    let status = world.until_condition("names", "Ready", "True", 1).await;
    assert_eq!((status.acknowledged.as_deref(), status.phase), (Some("1/1"), Some(RulePhase::Enforcing)));
    assert_eq!((status.observed_generation, status.served_generation), (Some(1), Some(1)));

    world.apply(&rule("names", "object.metadata.name == ", "second")).await;
    let status = world.until_condition("names", "Accepted", "False", 2).await;
    assert_eq!((status.observed_generation, status.served_generation), (Some(2), Some(1)));
    assert_eq!((status.acknowledged.as_deref(), status.phase), (Some("0/1"), Some(RulePhase::Degraded)));
    let found = &status.diagnostics[0];
    assert_eq!((found.field.as_str(), found.line), ("spec.routes[0].predicate", Some(1)), "{found:?}");
    assert!(found.column.unwrap() > 20 && found.message.contains("Syntax error"), "{found:?}");
    let ready = status.conditions.iter().find(|condition| condition.type_ == "Ready").unwrap();
    assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("False", "NotAccepted"));

    world.apply(&rule("names", "object.metadata.name == 'b'", "third")).await;
    world.until_condition("names", "Ready", "True", 3).await;
    assert!(world.status("names").await.diagnostics.is_empty());

    let events: Api<Event> = Api::namespaced(world.client.clone(), "default");
    until("events tell of it", async || {
        let events = events.list(&ListParams::default()).await.unwrap();
        let of_rule = |event: &&Event| {
            event.regarding.as_ref().is_some_and(|object| object.name.as_deref() == Some("names"))
        };
        let reasons: Vec<_> =
            events.items.iter().filter(of_rule).filter_map(|event| event.reason.clone()).collect();
        ["InForce", "Invalid", "Accepted"]
            .iter()
            .all(|reason| reasons.iter().any(|r| r == reason))
            .then_some(())
    })
    .await;
    assert_eq!(usher.metric("usher_leader").await, 1.0);
    assert_eq!(usher.metric("usher_rule_condition{rule=\"names\",type=\"Ready\"}").await, 1.0);

    // Another controller over the same world has nothing to write.
    let writes = status_writes(&world);
    assert!((3..=8).contains(&writes), "{writes} writes for three generations");
    assert_eq!(usher.terminate(), Some(0));
    let again = replica(&world, "one").await;
    until("the second one leads", async || (again.metric("usher_leader").await == 1.0).then_some(())).await;
    world.apply(&rule("other", "object.metadata.name == 'c'", "new")).await;
    world.until_condition("other", "Ready", "True", 1).await;
    let log = world.plane().audit_log();
    let last = log.lines().filter(|line| line.contains("/routingrules/names/status")).count();
    assert_eq!(last, writes, "the rule that was written before is not written again");
}

#[tokio::test(flavor = "multi_thread")]
async fn ready_means_that_every_replica_decides_by_the_new_generation() {
    let world = World::own("ready").await;
    let replicas = [replica(&world, "a").await, replica(&world, "b").await, replica(&world, "c").await];
    for generation in 1..=20 {
        world.apply(&rule("names", "object.metadata.name == 'a'", &format!("number-{generation}"))).await;
        let status = world.until_condition("names", "Ready", "True", generation).await;
        for replica in &replicas {
            let message = replica.ask(REQUEST).await["status"]["message"].to_string();
            assert!(message.contains(&format!("number-{generation}\"")), "{message}");
        }
        assert_eq!(status.acknowledged.as_deref(), Some("3/3"));
    }
    let [a, b, c] = replicas;
    // One that leaves is not waited for, nor is one that is killed for longer than its Lease.
    assert_eq!(c.terminate(), Some(0));
    world.apply(&rule("names", "object.metadata.name == 'b'", "two")).await;
    let status = world.until_condition("names", "Ready", "True", 21).await;
    assert_eq!(status.acknowledged.as_deref(), Some("2/2"));
    let (killed, left) = if leader(&world).await.as_deref() == Some("a") { (b, a) } else { (a, b) };
    drop(killed);
    world.apply(&rule("names", "object.metadata.name == 'c'", "one")).await;
    let status = world.until_condition("names", "Ready", "True", 22).await;
    assert_eq!(status.acknowledged.as_deref(), Some("1/1"));
    drop(left);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_replica_leads_when_the_leader_is_killed_or_leaves() {
    let world = World::own("leaders").await;
    let first = replica(&world, "first").await;
    until_led_by(&world, |holder| holder == "first").await;
    world.apply(&rule("before", "object.metadata.name == 'b'", "text")).await;
    let before = world.until_condition("before", "Ready", "True", 1).await;
    let second = replica(&world, "second").await;
    drop(first);
    let taken = until_led_by(&world, |holder| holder == "second").await;
    assert!(taken <= TAKEOVER, "{taken:?}");
    world.apply(&rule("names", "object.metadata.name == 'a'", "text")).await;
    world.until_condition("names", "Ready", "True", 1).await;

    let third = replica(&world, "third").await;
    assert_eq!(second.terminate(), Some(0));
    let taken = until_led_by(&world, |holder| holder == "third").await;
    assert!(taken <= Duration::from_secs(3), "{taken:?}");

    // None of this has touched a rule that was in force all the time.
    assert_eq!(world.status("before").await.conditions, before.conditions);

    // Somebody deletes the Lease: it is made again, and nothing else happens.
    let leases: Api<Lease> = Api::namespaced(world.client.clone(), SYSTEM);
    leases.delete("usher-controller", &DeleteParams::default()).await.unwrap();
    until_led_by(&world, |holder| holder == "third").await;
    assert!(third.is_ready().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_was_frozen_writes_nothing_old() {
    let world = World::own("frozen").await;
    let first = replica(&world, "first").await;
    until_led_by(&world, |holder| holder == "first").await;
    world.apply(&rule("names", "object.metadata.name == 'a'", "old")).await;
    world.until_condition("names", "Ready", "True", 1).await;
    let second = replica(&world, "second").await;
    world.apply(&rule("names", "object.metadata.name == 'a'", "older")).await;
    first.signal("-STOP");
    let taken = until_led_by(&world, |holder| holder == "second").await;
    assert!(taken <= TAKEOVER, "{taken:?}");
    world.apply(&rule("names", "object.metadata.name == 'a'", "new")).await;
    // The frozen one is gone for the others by now.
    world.until_condition("names", "Ready", "True", 3).await;
    first.signal("-CONT");
    let end = Instant::now() + Duration::from_secs(4);
    while Instant::now() < end {
        assert_eq!(world.status("names").await.observed_generation, Some(3));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // It is a replica again, but does not lead.
    world.apply(&rule("names", "object.metadata.name == 'a'", "newest")).await;
    let status = world.until_condition("names", "Ready", "True", 4).await;
    assert_eq!(status.acknowledged.as_deref(), Some("2/2"));
    assert_eq!(leader(&world).await.as_deref(), Some("second"));
    assert_eq!(first.metric("usher_leader").await, 0.0);
    drop(second);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_a_file_overrides_is_not_said_to_be_in_force() {
    let world = World::own("overridden").await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("rules.yaml");
    std::fs::write(&file, rule("names", "object.metadata.name == 'a'", "of the file")).unwrap();
    world.apply(&rule("names", "object.metadata.name == 'a'", "of the cluster")).await;
    let rules = directory.path().to_str().unwrap();
    let usher = Usher::start(&world, &["--cluster", "--replica-name=one", "--rules", rules]).await;
    let status = world.until_condition("names", "Accepted", "False", 1).await;
    assert!(status.diagnostics[0].message.starts_with("a file of this server"), "{status:?}");
    assert_eq!(status.phase, Some(RulePhase::Invalid));
    std::fs::write(&file, rule("other", "object.metadata.name == 'a'", "of the file")).unwrap();
    world.until_condition("names", "Ready", "True", 1).await;
    drop(usher);
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_of_others_stay() {
    let world = World::own("foreign").await;
    let _usher = replica(&world, "one").await;
    world.apply(&rule("names", "object.metadata.name == 'a'", "text")).await;
    world.until_condition("names", "Ready", "True", 1).await;
    let foreign = json!({"apiVersion": "usher.dev/v1alpha1", "kind": "RoutingRule", "metadata": {"name": "names"},
        "status": {"conditions": [{"type": "example.com/Reviewed", "status": "True", "reason": "ByHand", "message": "",
            "lastTransitionTime": "2030-01-01T00:00:00Z"}]}});
    let params = PatchParams::apply("reviewer");
    world.rules().patch_status("names", &params, &Patch::Apply(foreign)).await.unwrap();
    world.apply(&rule("names", "object.metadata.name == 'b'", "text")).await;
    let status = world.until_condition("names", "Ready", "True", 2).await;
    let types: Vec<&str> = status.conditions.iter().map(|condition| condition.type_.as_str()).collect();
    assert!(types.contains(&"example.com/Reviewed"), "{types:?}");
}
