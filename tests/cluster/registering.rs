//! A server that registers itself: what the API server asks about, and when calls that fail refuse requests.

use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhook, ValidatingWebhookConfiguration,
};
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use serde_json::{Value, json};
use usher::api::RoutingRuleStatus;

use super::server::Usher;
use super::world::{World, until};

pub(super) const SYSTEM: &str = "usher-system";
const ENTRY: &str = "fail.validate.usher.dev";

/// A port that nobody listens on now.
pub(super) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A server that registers itself, ready.
pub(super) async fn registering(world: &World, more: &[&str]) -> Usher {
    let port = free_port();
    let url = format!("--webhook-url=https://127.0.0.1:{port}");
    let flags = [&["--cluster", "--replica-name=one", &url], more].concat();
    let usher = Usher::start_on(port, &world.kubeconfig(), &flags).await;
    usher.until_ready().await;
    usher
}

pub(super) async fn world(name: &str) -> World {
    World::own(name).await
}

/// A rule about one kind of object of the core group.
pub(super) fn rule(name: &str, resource: &str, predicate: &str, policy: &str) -> String {
    format!(
        "apiVersion: usher.dev/v1alpha1\nkind: RoutingRule\nmetadata: {{name: {name}}}\nspec:\n  failurePolicy: {policy}\n  match: \
         {{resourceRules: [{{apiGroups: [''], apiVersions: ['*'], operations: ['*'], resources: [{resource}]}}]}}\n  routes: \
         [{{name: r, predicate: \"{predicate}\", reject: {{message: refused-by-{name}}}}}]\n"
    )
}

pub(super) fn validating(client: &Client) -> Api<ValidatingWebhookConfiguration> {
    Api::all(client.clone())
}

pub(super) fn mutating(client: &Client) -> Api<MutatingWebhookConfiguration> {
    Api::all(client.clone())
}

async fn entries(world: &World) -> Vec<ValidatingWebhook> {
    let stored = validating(&world.client).get_opt("usher").await.unwrap();
    stored.and_then(|stored| stored.webhooks).unwrap_or_default()
}

/// What a call that fails means for the rules that fail closed; `None` without an entry.
pub(super) async fn policy(world: &World) -> Option<String> {
    let entries = entries(world).await;
    entries.into_iter().find(|entry| entry.name == ENTRY)?.failure_policy
}

fn message(status: &RoutingRuleStatus, type_: &str) -> String {
    let condition = status.conditions.iter().find(|condition| condition.type_ == type_).unwrap();
    format!("{}: {}", condition.reason, condition.message)
}

/// Every failure policy that the entry of the rules has had, in order.
fn policies_seen(world: &World) -> Arc<Mutex<Vec<String>>> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (kept, api) = (Arc::clone(&seen), validating(&world.client));
    tokio::spawn(async move {
        let mut events = watcher(api, watcher::Config::default()).default_backoff().boxed();
        while let Some(event) = events.next().await {
            let Ok(watcher::Event::Apply(stored) | watcher::Event::InitApply(stored)) = event else {
                continue;
            };
            let entry = stored.webhooks.into_iter().flatten().find(|entry| entry.name == ENTRY);
            let mut seen = kept.lock().unwrap();
            match entry.and_then(|entry| entry.failure_policy) {
                Some(policy) if seen.last() != Some(&policy) => seen.push(policy),
                _ => {}
            }
        }
    });
    seen
}

/// Writes of webhook configurations that the API server has seen.
fn writes(world: &World) -> usize {
    let log = world.plane().audit_log();
    let is_write = |line: &&str| {
        line.contains("webhookconfigurations")
            && ["\"verb\":\"update\"", "\"verb\":\"patch\"", "\"verb\":\"create\""]
                .iter()
                .any(|verb| line.contains(verb))
    };
    log.lines().filter(is_write).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_fails_closed_only_after_its_path_was_proven() {
    let world = world("armed").await;
    let seen = policies_seen(&world);
    let usher = registering(&world, &[]).await;
    world.apply(&rule("names", "configmaps", "object.metadata.name == 'a'", "Fail")).await;
    let status = world.until_condition("names", "Ready", "True", 1).await;
    assert!(world.attempt("a").await.unwrap_err().contains("[names/r] refused-by-names"));
    assert_eq!(world.attempt("b").await, Ok(()));
    assert_eq!(message(&status, "Armed"), "Proven: ");
    assert_eq!(message(&status, "Programmed"), "Registered: ");
    until("both policies were seen", async || (seen.lock().unwrap().len() == 2).then_some(())).await;
    assert_eq!(*seen.lock().unwrap(), ["Ignore", "Fail"]);
    let entries = entries(&world).await;
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(
        names,
        [
            ENTRY,
            "probe.fail.validate.usher.dev",
            "probe.ignore.validate.usher.dev",
            "rules.validate.usher.dev"
        ]
    );
    assert_eq!(
        (entries[0].side_effects.as_str(), entries[0].match_policy.as_deref()),
        ("None", Some("Equivalent"))
    );

    // Nothing is written for nothing, while probes go on.
    let answered = "usher_webhook_probes_total{path=\"validate/fail\",result=\"answered\"}";
    let (before, probes) = (writes(&world), usher.metric(answered).await);
    until("the path is proven again", async || (usher.metric(answered).await > probes).then_some(())).await;
    assert_eq!(writes(&world), before);
    assert_eq!(usher.metric("usher_webhook_armed{path=\"validate/fail\"}").await, 1.0);

    // Another rule of the kind is asked about at once, and what fails closed goes on doing so.
    world.apply(&rule("more", "secrets", "object.metadata.name == 'a'", "Fail")).await;
    world.until_condition("more", "Ready", "True", 1).await;
    assert_eq!(*seen.lock().unwrap(), ["Ignore", "Fail"]);
    for name in ["names", "more"] {
        world.delete(name).await;
    }
    until("the entry is gone", async || policy(&world).await.is_none().then_some(())).await;
    drop(usher);
    assert_eq!(world.attempt("a").await, Ok(()), "what is left asks about nothing");
}

/// Tries to make an object of a kind, without keeping it.
pub(super) async fn attempt(world: &World, kind: &str, more: Value) -> Result<(), String> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", kind));
    let objects: Api<DynamicObject> = Api::namespaced_with(world.client.clone(), &world.namespace, &resource);
    let mut object = json!({"metadata": {"name": "a"}});
    object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let object = serde_json::from_value(object).unwrap();
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    match objects.create(&dry, &object).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) => Err(status.message.clone()),
        Err(error) => panic!("no answer: {error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waited_for_ready_is_answered_by_the_rule() {
    let world = world("ready-at-once").await;
    let _usher = registering(&world, &[]).await;
    let ports = json!({"spec": {"ports": [{"port": 80}]}});
    let kinds = [
        ("configmaps", "ConfigMap", json!({})),
        ("secrets", "Secret", json!({})),
        ("services", "Service", ports),
        ("serviceaccounts", "ServiceAccount", json!({})),
        ("limitranges", "LimitRange", json!({"spec": {"limits": []}})),
    ];
    for turn in 0..40 {
        let (resource, kind, more) = &kinds[turn % kinds.len()];
        let (name, policy) = (format!("turn-{turn}"), if turn % 3 == 0 { "Ignore" } else { "Fail" });
        world.apply(&rule(&name, resource, "object.metadata.name == 'a'", policy)).await;
        world.until_condition(&name, "Ready", "True", 1).await;
        let refused = attempt(&world, kind, more.clone()).await;
        let text = format!("[{name}/r] refused-by-{name}");
        assert!(refused.as_ref().is_err_and(|message| message.contains(&text)), "{kind}: {refused:?}");
        world.delete(&name).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_with_a_wrong_authority_lets_requests_through_and_says_so() {
    let world = world("wrong-authority").await;
    let directory = tempfile::tempdir().unwrap();
    let authority = directory.path().join("ca.crt");
    let wrong = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap().cert.pem();
    std::fs::write(&authority, &wrong).unwrap();
    let flag = format!("--webhook-ca-file={}", authority.display());
    let seen = policies_seen(&world);
    let usher = registering(&world, &[&flag]).await;
    world.apply(&rule("names", "configmaps", "true", "Fail")).await;
    let status = world.until_condition("names", "Armed", "False", 1).await;
    until("the reason is known", async || {
        let told = message(&world.status("names").await, "Armed");
        (told.starts_with("Unreachable") && told.contains("x509")).then_some(())
    })
    .await;
    assert_ne!(status.conditions.iter().find(|one| one.type_ == "Ready").unwrap().status, "True");
    assert_eq!(world.attempt("a").await, Ok(()), "nothing is held up");

    std::fs::write(&authority, usher.authority()).unwrap();
    world.until_condition("names", "Ready", "True", 1).await;
    assert!(world.attempt("a").await.is_err());
    assert_eq!(policy(&world).await.as_deref(), Some("Fail"));
    std::fs::write(&authority, &wrong).unwrap();
    world.until_condition("names", "Armed", "False", 1).await;
    world.until_allowed("a").await;
    assert_eq!(*seen.lock().unwrap(), ["Ignore", "Fail", "Ignore"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_breaks_later_is_disarmed_and_armed_again_when_it_is_mended() {
    let world = world("breaks-later").await;
    let certificates = tempfile::tempdir().unwrap();
    let (port, tls) = (free_port(), format!("--tls-self-signed={}", certificates.path().display()));
    let serve =
        async || Usher::start_on(port, &world.kubeconfig(), &["--cluster", "--status=false", &tls]).await;
    let answering = serve().await;
    answering.until_ready().await;
    // One that leads and does not answer itself.
    let url = format!("--webhook-url=https://127.0.0.1:{port}");
    let authority = format!("--webhook-ca-file={}", certificates.path().join("ca.crt").display());
    let leading = Usher::start(&world, &["--cluster", "--replica-name=one", &url, &authority]).await;
    world.apply(&rule("names", "configmaps", "object.metadata.name == 'a'", "Fail")).await;
    world.until_condition("names", "Ready", "True", 1).await;
    assert!(world.attempt("a").await.unwrap_err().contains("refused-by-names"));

    drop(answering);
    assert!(world.attempt("b").await.unwrap_err().contains("failed calling webhook"), "it fails closed");
    let start = Instant::now();
    let status = world.until_condition("names", "Armed", "False", 1).await;
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    let told = message(&status, "Armed");
    assert!(told.contains("requests are let through") && told.contains("refused"), "{told}");
    assert!(message(&status, "Ready").starts_with("Unreachable"), "{status:?}");
    world.until_allowed("b").await;
    leading.until_logged("does not get an answer of ours").await;

    let again = serve().await;
    again.until_ready().await;
    world.until_condition("names", "Ready", "True", 1).await;
    assert!(world.attempt("a").await.unwrap_err().contains("refused-by-names"));
    assert_eq!(policy(&world).await.as_deref(), Some("Fail"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_edits_or_deletes_is_put_right_within_five_seconds() {
    let world = world("drift").await;
    let _usher = registering(&world, &[]).await;
    world.apply(&rule("names", "configmaps", "object.metadata.name == 'a'", "Fail")).await;
    world.until_condition("names", "Ready", "True", 1).await;
    let api = validating(&world.client);
    let merge = PatchParams::default();
    let foreign = json!({"metadata": {"labels": {"team": "a"}, "annotations": {"example.com/note": "kept"}}});
    api.patch("usher", &merge, &Patch::Merge(&foreign)).await.unwrap();
    let untouched = writes(&world);
    let edits = [
        json!([{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]),
        json!([{"op": "replace", "path": "/webhooks/0/rules/0/resources", "value": ["secrets"]}]),
        json!([{"op": "add", "path": "/webhooks/0/matchConditions", "value": [{"name": "never", "expression": "false"}]}]),
        json!([{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": ""}]),
        json!([{"op": "remove", "path": "/webhooks"}]),
    ];
    let restored = async |what: &str| {
        let start = Instant::now();
        until(&format!("{what} is put right"), async || {
            (policy(&world).await.as_deref() == Some("Fail")).then_some(())
        })
        .await;
        world.until_denied("a", "refused-by-names").await;
        assert!(start.elapsed() < Duration::from_secs(5), "{what}: {:?}", start.elapsed());
    };
    let good = entries(&world).await[0].clone();
    for edit in edits {
        let patch: json_patch::Patch = serde_json::from_value(edit.clone()).unwrap();
        api.patch("usher", &merge, &Patch::<Value>::Json(patch)).await.unwrap();
        restored(&edit.to_string()).await;
        assert_eq!(entries(&world).await[0], good, "{edit}");
    }
    let stored = api.get("usher").await.unwrap();
    assert_eq!(stored.metadata.labels.unwrap()["team"], "a");
    assert_eq!(stored.metadata.annotations.unwrap()["example.com/note"], "kept");
    let owners = stored.metadata.owner_references.unwrap();
    assert_eq!((owners[0].kind.as_str(), owners[0].name.as_str()), ("Namespace", SYSTEM));
    assert!(writes(&world) > untouched);
    api.delete("usher", &DeleteParams::default()).await.unwrap();
    mutating(&world.client).delete("usher", &DeleteParams::default()).await.unwrap();
    restored("the deletion").await;
    until("the other one is back", async || mutating(&world.client).get_opt("usher").await.unwrap()).await;
}

/// A certificate in files, made by a server that is gone.
async fn certificate(world: &World, directory: &Path) -> [String; 2] {
    let made = format!("--tls-self-signed={}", directory.display());
    drop(Usher::start(world, &["--cluster", "--status=false", &made]).await);
    [
        format!("--tls-cert={}", directory.join("tls.crt").display()),
        format!("--tls-key={}", directory.join("tls.key").display()),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authority_that_somebody_else_fills_in_is_waited_for_and_left_alone() {
    let world = world("injected").await;
    let directory = tempfile::tempdir().unwrap();
    let [cert, key] = certificate(&world, directory.path()).await;
    let _usher = registering(&world, &[&cert, &key]).await;
    world.apply(&rule("names", "configmaps", "object.metadata.name == 'a'", "Fail")).await;
    world.until_condition("names", "Armed", "False", 1).await;
    let authority = json!(ByteString(std::fs::read(directory.path().join("ca.crt")).unwrap()));
    let inject = async || {
        let count = entries(&world).await.len();
        let fill = |index| json!({"op": "add", "path": format!("/webhooks/{index}/clientConfig/caBundle"), "value": authority});
        let patch: json_patch::Patch = serde_json::from_value((0..count).map(fill).collect()).unwrap();
        validating(&world.client)
            .patch("usher", &PatchParams::default(), &Patch::<Value>::Json(patch))
            .await
            .unwrap();
    };
    until("there is an entry", async || policy(&world).await).await;
    inject().await;
    world.until_condition("names", "Ready", "True", 1).await;
    assert!(world.attempt("a").await.is_err());
    // The next entry has what the path has.
    world.apply(&rule("more", "secrets", "object.metadata.name == 'a'", "Ignore")).await;
    world.until_condition("more", "Ready", "True", 1).await;
    let filled = entries(&world).await.iter().all(|entry| entry.client_config.ca_bundle.is_some());
    assert!(filled, "{:?}", entries(&world).await);
}
