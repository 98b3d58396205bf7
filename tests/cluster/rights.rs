//! What Usher's account may do is all that it needs, and it needs all of that.

use std::collections::BTreeSet;
use std::path::Path;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::deploy::alerts::{check, shipped};
use crate::deploy::rendering::{Objects, helm};

use super::registering::{SYSTEM, free_port, validating};
use super::server::Usher;
use super::world::{World, until};

/// The flags of the chart's Deployment, with the files of the container elsewhere.
fn shipped_flags(objects: &Objects, tls: &Path, cache: &Path) -> Vec<String> {
    let args = objects["Deployment/usher"].pointer("/spec/template/spec/containers/0/args").unwrap();
    let args = args.as_array().unwrap().iter().map(|arg| arg.as_str().unwrap());
    let here = |arg: &str| {
        arg.replace("/etc/usher/tls", &tls.display().to_string())
            .replace("/var/cache/usher", &cache.display().to_string())
    };
    args.filter(|arg| *arg != "serve").map(here).collect()
}

/// Verb and resource of each request that the account has made, and what it was refused.
fn used(world: &World, account: &str) -> (BTreeSet<String>, Vec<String>) {
    let user = format!("system:serviceaccount:{SYSTEM}:{account}");
    let log = world.plane().audit_log();
    let events = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut done = BTreeSet::new();
    let mut refused = Vec::new();
    for event in events.filter(|event| event["user"]["username"] == user) {
        if event["responseStatus"]["code"] == 403 {
            refused.push(event.to_string());
        }
        let Some(reference) = event["objectRef"].as_object() else { continue };
        let text = |key: &str| reference.get(key).and_then(Value::as_str).unwrap_or_default();
        let resource = match text("subresource") {
            "" => text("resource").to_owned(),
            sub => format!("{}/{sub}", text("resource")),
        };
        done.insert(format!("{} {}/{resource}", event["verb"].as_str().unwrap(), text("apiGroup")));
    }
    (done, refused)
}

/// Verb and resource of all that is granted to an account.
fn granted(objects: &Objects, account: &str) -> BTreeSet<String> {
    let strings = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect()
    };
    let mut all = BTreeSet::new();
    let is_bound = |binding: &&Value| {
        binding["kind"].as_str().unwrap().ends_with("RoleBinding")
            && binding["subjects"][0]["name"] == account
    };
    for binding in objects.values().filter(is_bound) {
        let role = &binding["roleRef"];
        let name = format!("{}/{}", role["kind"].as_str().unwrap(), role["name"].as_str().unwrap());
        for rule in objects[&name]["rules"].as_array().unwrap() {
            for group in strings(&rule["apiGroups"]) {
                for resource in strings(&rule["resources"]) {
                    let rights =
                        strings(&rule["verbs"]).into_iter().map(|verb| format!("{verb} {group}/{resource}"));
                    all.extend(rights);
                }
            }
        }
    }
    all
}

/// One for the other webhook configuration.
const MUTATING: &str = "apiVersion: usher.dev/v1alpha1\nkind: RoutingRule\nmetadata: {name: labels}\nspec:\n  match: {resourceRules: [{apiGroups: [''], \
     apiVersions: ['*'], operations: [CREATE], resources: [secrets]}]}\n  routes: [{name: r, predicate: 'true', mutate: {patches: [{op: add, \
     path: /metadata/labels, value: {seen: 'true'}}]}}]\n";

fn rule(reason: &str) -> String {
    format!(
        "apiVersion: usher.dev/v1alpha1\nkind: RoutingRule\nmetadata: {{name: names}}\nspec:\n  match: {{resourceRules: [{{apiGroups: [''], \
         apiVersions: ['*'], operations: ['*'], resources: [configmaps]}}]}}\n  params: {{apiVersion: v1, kind: ConfigMap, name: names, \
         namespace: {SYSTEM}}}\n  routes: [{{name: r, predicate: \"object.metadata.name == params.data.name\", reject: {{message: {reason}}}}}]\n"
    )
}

/// Of a server with the flags of the Deployment; the API server's own are for its own tests.
async fn every_alert_is_about_metrics_that_are_there(usher: &Usher) {
    let (_, scraped) = usher.get("/metrics").await;
    let names = check(&shipped()).metrics.into_values().flatten().filter(|name| name.starts_with("usher_"));
    for name in names {
        let is_there = scraped.lines().any(|line| line.starts_with(&name) && !line.starts_with('#'));
        assert!(is_there, "no {name} in {scraped}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_account_has_the_rights_that_it_needs_and_uses_all_of_them() {
    let world = World::own("rights").await;
    let with_policies = json!({"admissionPolicies": true});
    world.grant(&with_policies).await;
    let objects = helm(&with_policies).objects;
    let parameters: Api<ConfigMap> = Api::namespaced(world.client.clone(), SYSTEM);
    let parameter = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "names"}, "data": {"name": "a"}});
    let apply = PatchParams::apply("tests").force();
    parameters.patch("names", &apply, &Patch::Apply(parameter)).await.unwrap();

    // The certificate that somebody has put into the Secret, and an emptyDir.
    let [tls, cache] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    drop(
        Usher::start(
            &world,
            &["--cluster", "--status=false", &format!("--tls-self-signed={}", tls.path().display())],
        )
        .await,
    );
    let flags = shipped_flags(&objects, tls.path(), cache.path());
    let start = async |replica: &str| {
        let port = free_port();
        let own = [format!("--webhook-url=https://127.0.0.1:{port}"), format!("--replica-name={replica}")];
        let flags: Vec<&str> = flags.iter().chain(&own).map(String::as_str).collect();
        let usher = Usher::start_on(port, &world.kubeconfig(), &flags).await;
        usher.until_ready().await;
        usher
    };
    let usher = start("one").await;
    world.apply(&rule("first")).await;
    world.apply(MUTATING).await;
    for name in ["names", "labels"] {
        world.until_condition(name, "Ready", "True", 1).await;
    }
    world.until_denied("a", "[names/r] first").await;
    validating(&world.client).delete("usher", &DeleteParams::default()).await.unwrap();
    until("it is registered again", async || {
        let stored = validating(&world.client).get_opt("usher").await.unwrap()?;
        stored.metadata.owner_references
    })
    .await;
    world.until_denied("a", "[names/r] first").await;
    // The same conditions flip again, which is the same event again.
    // The kind of the parameters may come later, so the API server stores a rule that nobody can use yet.
    let known = format!("apiVersion: v1, kind: ConfigMap, name: names, namespace: {SYSTEM}");
    let unknown = "apiVersion: example.com/v1, kind: Limit, name: names";
    for (generation, params) in [(2, unknown), (3, known.as_str()), (4, unknown), (5, known.as_str())] {
        world.apply(&rule("again").replace(&known, params)).await;
        let accepted = if params == unknown { "False" } else { "True" };
        world.until_condition("names", "Accepted", accepted, generation).await;
    }
    let events: Api<Event> = Api::namespaced(world.client.clone(), "default");
    until("an event is written", async || {
        (!events.list(&ListParams::default()).await.unwrap().items.is_empty()).then_some(())
    })
    .await;
    // Another one takes over, and tidies up after one that was killed.
    usher.signal("-KILL");
    let leases: Api<Lease> = Api::namespaced(world.client.clone(), SYSTEM);
    let next = start("two").await;
    until("the other one leads", async || (next.metric("usher_leader").await == 1.0).then_some(())).await;
    every_alert_is_about_metrics_that_are_there(&next).await;
    assert_eq!(next.terminate(), Some(0));
    assert!(leases.get_opt("usher-replica-two").await.unwrap().is_none(), "it has left");

    let (done, refused) = used(&world, "usher");
    assert!(refused.is_empty(), "{refused:#?}");
    let granted = granted(&objects, "usher");
    // To apply what is not there needs the right to create, and is a patch all the same.
    let is_idle =
        |right: &&String| !done.contains(*right) && !done.contains(&right.replace("create ", "patch "));
    let idle: Vec<&String> = granted.iter().filter(is_idle).collect();
    assert!(idle.is_empty(), "rights that nothing needs: {idle:?}");
    let more: Vec<&String> = done.difference(&granted).collect();
    assert!(more.is_empty(), "requests without a right of the chart's: {more:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_token_of_the_account_neither_rules_nor_foreign_configurations_can_be_written() {
    let world = World::own("token").await;
    world.apply("apiVersion: usher.dev/v1alpha1\nkind: RoutingRule\nmetadata: {name: names}\nspec: {routes: [{name: r, predicate: 'true', pass: {}}]}\n").await;
    let account = kube::config::Kubeconfig::read_from(world.kubeconfig()).unwrap();
    assert!(account.auth_infos[0].auth_info.as_ref().unwrap().token.is_some());
    let options = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(account, &options);
    let client = Client::try_from(config.await.unwrap()).unwrap();
    let forbidden = |what: &str, error: Option<kube::Error>| {
        assert!(matches!(&error, Some(kube::Error::Api(status)) if status.code == 403), "{what}: {error:?}");
    };
    let rules: Api<usher::api::RoutingRule> = Api::all(client.clone());
    rules.list(&ListParams::default()).await.unwrap();
    let spec = json!({"spec": {"priority": 7}});
    forbidden("a rule", rules.patch("names", &PatchParams::default(), &Patch::Merge(spec)).await.err());
    let hook = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "another"}, "webhooks": []});
    let applied =
        validating(&client).patch("another", &PatchParams::apply("tests"), &Patch::Apply(hook)).await;
    forbidden("another configuration", applied.err());
    forbidden("those of others", validating(&client).list(&ListParams::default()).await.err());
    let secrets: Api<k8s_openapi::api::core::v1::Secret> = Api::namespaced(client, SYSTEM);
    forbidden("Secrets", secrets.list(&ListParams::default()).await.err());
}
