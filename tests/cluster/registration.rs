//! `usher webhook-config`: what it prints is what the API server takes, and what makes it ask.

use assert_cmd::Command;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use usher::source::read_values;

use super::server::Usher;
use super::world::World;

/// Prints the configurations for rules of files, and applies them.
async fn register(world: &World, rules: &str, flags: &[&str], params: &PatchParams) -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_usher"));
    let printed = command.args(["webhook-config", "--rules", rules]).args(flags).assert().success();
    let mut kinds = Vec::new();
    for (value, _) in read_values("printed", &printed.get_output().stdout).unwrap() {
        let object: DynamicObject = serde_json::from_value(value).unwrap();
        let types = object.types.clone().unwrap();
        let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(&types).unwrap());
        let api: Api<DynamicObject> = Api::all_with(world.client.clone(), &resource);
        let name = object.metadata.name.clone().unwrap();
        api.patch(&name, params, &Patch::Apply(object)).await.unwrap();
        kinds.push(types.kind);
    }
    kinds
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_server_takes_the_printed_configurations_and_asks() {
    let world = World::own("registration").await;
    let apply = PatchParams::apply("tests");
    // Nobody answers at that Service, so nothing is kept.
    let service = ["--service=usher-system/usher"];
    let kinds = register(&world, "policies", &service, &apply.clone().dry_run()).await;
    assert_eq!(kinds, ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]);

    let directory = tempfile::tempdir().unwrap();
    let rule = "apiVersion: usher.dev/v1alpha1\nkind: RoutingRule\nmetadata: {name: names}\nspec:\n  match: {resourceRules: \
                [{apiGroups: [''], apiVersions: ['*'], operations: [CREATE], resources: [configmaps]}]}\n  routes: [{name: r, \
                predicate: \"object.metadata.name == 'a'\", reject: {message: registered}}]\n";
    let file = directory.path().join("rules.yaml");
    std::fs::write(&file, rule).unwrap();
    let rules = directory.path().to_str().unwrap();
    let usher = Usher::start(&world, &["--cluster=false", "--rules", rules]).await;
    usher.until_ready().await;
    let authority = directory.path().join("ca");
    std::fs::write(&authority, usher.authority()).unwrap();
    let url = format!("--url={}", usher.url.trim_end_matches("/validate"));
    let authority = format!("--ca-file={}", authority.display());
    let kinds = register(&world, rules, &[&url, &authority], &apply).await;
    assert_eq!(kinds, ["ValidatingWebhookConfiguration"], "nothing mutates");
    world.until_denied("a", "[names/r] registered").await;
    assert_eq!(world.attempt("b").await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_says_whether_a_configuration_that_others_keep_covers_the_rule() {
    let world = super::registering::world("kept-by-others").await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("rules.yaml");
    let rule = |resource| super::registering::rule("names", resource, "object.metadata.name == 'a'", "Fail");
    std::fs::write(&file, rule("configmaps")).unwrap();
    let usher = Usher::start(&world, &["--cluster", "--replica-name=one"]).await;
    world.apply(&rule("configmaps")).await;
    let status = world.until_condition("names", "Ready", "True", 1).await;
    let message = |status: &usher::api::RoutingRuleStatus, type_: &str| {
        let found = status.conditions.iter().find(|condition| condition.type_ == type_).unwrap();
        format!("{}: {}", found.status, found.message)
    };
    assert!(
        message(&status, "Programmed").starts_with("Unknown: this server does not register"),
        "{status:?}"
    );
    assert!(message(&status, "Ready").contains("whether the API server asks is not known"), "{status:?}");
    assert!(status.conditions.iter().all(|condition| condition.type_ != "Armed"), "{status:?}");

    let authority = directory.path().join("ca");
    std::fs::write(&authority, usher.authority()).unwrap();
    let url = format!("--url={}", usher.url.trim_end_matches("/validate"));
    let authority = format!("--ca-file={}", authority.display());
    register(&world, file.to_str().unwrap(), &[&url, &authority], &PatchParams::apply("tests")).await;
    let status = world.until_condition("names", "Programmed", "True", 1).await;
    assert!(message(&status, "Programmed").contains("that others keep"), "{status:?}");
    world.until_denied("a", "refused-by-names").await;

    world.apply(&rule("secrets")).await;
    let status = world.until_condition("names", "Ready", "True", 2).await;
    assert!(message(&status, "Programmed").starts_with("Unknown"), "{status:?}");
}
