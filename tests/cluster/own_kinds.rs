//! Usher's own kinds: what the API server is told before it stores a rule.

use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use usher::api::RoutingRule;

use super::registering::{registering, rule, validating, world};
use super::world::{World, until};

const BROKEN: &str = "objct.metadata.name == 'a'";
const GOOD: &str = "object.metadata.name == 'a'";

fn written(predicate: &str) -> Value {
    serde_saphyr::from_str(&rule("names", "configmaps", predicate, "Fail")).unwrap()
}

/// As `kubectl create`, without keeping it if it is a dry run.
async fn create(world: &World, predicate: &str, dry_run: bool) -> Result<RoutingRule, String> {
    let rule: RoutingRule = serde_json::from_value(written(predicate)).unwrap();
    let params = PostParams { dry_run, ..PostParams::default() };
    world.rules().create(&params, &rule).await.map_err(|error| text(&error))
}

/// As `kubectl apply --server-side`.
async fn apply(world: &World, object: &Value) -> Result<RoutingRule, String> {
    let params = PatchParams::apply("tests").force();
    world.rules().patch("names", &params, &Patch::Apply(object)).await.map_err(|error| text(&error))
}

fn text(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        error => panic!("no answer: {error}"),
    }
}

/// Since the entry fails open, it has to be waited for.
async fn until_asked(world: &World) -> String {
    until("the API server asks about rules", async || create(world, BROKEN, true).await.err()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_rule_is_refused_with_its_findings_and_an_old_one_can_be_mended_and_deleted() {
    let world = world("own-kinds").await;
    // Stored while nobody was asked.
    let stored = create(&world, BROKEN, false).await.unwrap();
    let usher = registering(&world, &[]).await;
    let rules = world.rules();
    rules.delete("names", &Default::default()).await.unwrap();
    let message = until_asked(&world).await;
    assert!(
        message.contains(
            "admission webhook \"rules.validate.usher.dev\" denied the request: [names] error[U0102]"
        ),
        "{message}"
    );
    assert!(message.contains("1 | objct.metadata.name == 'a'\n  | ^^^^^"), "{message}");
    assert!(message.contains("help: did you mean `object`?"), "{message}");
    assert!(create(&world, BROKEN, false).await.is_err());
    assert_eq!(rules.get_opt("names").await.unwrap(), None);

    let good = create(&world, GOOD, false).await.unwrap();
    assert_eq!(good.spec.routes[0].predicate, GOOD);
    let refused = apply(&world, &written(BROKEN)).await.unwrap_err();
    assert!(refused.contains("U0102"), "{refused}");
    world.until_condition("names", "Ready", "True", 1).await;
    assert_ne!(good.uid(), stored.uid());

    // Another broken one, stored while the entry is away: each step out of it is open.
    drop(usher);
    validating(&world.client).delete("usher", &Default::default()).await.unwrap();
    until("nobody is asked", async || apply(&world, &written(BROKEN)).await.ok()).await;
    let usher = registering(&world, &[]).await;
    until_refused_update(&world).await;
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    rules.patch("names", &PatchParams::default(), &Patch::Merge(&label)).await.unwrap();
    let status = json!({"status": {"acknowledged": "0/9"}});
    // Kept, it would be ours, and the leader writes nothing that others own.
    let dry = PatchParams { dry_run: true, ..PatchParams::default() };
    rules.patch_status("names", &dry, &Patch::Merge(&status)).await.unwrap();
    apply(&world, &written(GOOD)).await.unwrap();
    world
        .until_condition(
            "names",
            "Accepted",
            "True",
            rules.get("names").await.unwrap().metadata.generation.unwrap(),
        )
        .await;

    // A broken one that goes while a finalizer holds it.
    drop(usher);
    until("it fails open without a replica", async || apply(&world, &written(BROKEN)).await.ok()).await;
    let usher = registering(&world, &[]).await;
    until_refused_update(&world).await;
    let hold = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    rules.patch("names", &PatchParams::default(), &Patch::Merge(&hold)).await.unwrap();
    rules.delete("names", &Default::default()).await.unwrap();
    let free = json!({"metadata": {"finalizers": null}});
    rules.patch("names", &PatchParams::default(), &Patch::Merge(&free)).await.unwrap();
    until("it is gone", async || rules.get_opt("names").await.unwrap().is_none().then_some(())).await;
    assert_eq!(usher.metric("usher_admission_requests_total{decision=\"deny\",operation=\"DELETE\",webhook=\"validate-rules\"}").await, 0.0);
}

/// Waits until another error is refused.
async fn until_refused_update(world: &World) {
    let other = json!({"spec": {"routes": [{"name": "r", "predicate": "objekt == 1", "reject": {}}]}});
    let dry = PatchParams { dry_run: true, ..PatchParams::default() };
    until("the API server asks again", async || {
        world.rules().patch("names", &dry, &Patch::Merge(&other)).await.err()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_entry_of_rules_fails_open_and_asks_about_nothing_but_new_versions() {
    let world = world("own-kinds-entry").await;
    let usher = registering(&world, &[]).await;
    let api: Api<DynamicObject> = Api::all_with(
        world.client.clone(),
        &kube::api::ApiResource::erase::<
            k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration,
        >(&()),
    );
    let entry = until("the entry is there", async || {
        let stored = api.get_opt("usher").await.unwrap()?;
        let entries = stored.data["webhooks"].as_array()?.clone();
        entries.into_iter().find(|entry| entry["name"] == "rules.validate.usher.dev")
    })
    .await;
    assert_eq!(entry["failurePolicy"], "Ignore");
    assert_eq!(entry["timeoutSeconds"], 5);
    assert_eq!(
        entry["rules"],
        json!([{
            "apiGroups": ["usher.dev"], "apiVersions": ["v1alpha1"], "operations": ["CREATE", "UPDATE"],
            "resources": ["routingrules"], "scope": "Cluster",
        }])
    );
    until_asked(&world).await;
    drop(usher);
    create(&world, BROKEN, false).await.unwrap();
}
