//! A cluster for one test: a control plane, with the kind RoutingRule and a namespace of the test's own.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};
use usher::api::{RoutingRule, RoutingRuleStatus, crd};

use crate::deploy::rendering::helm;

use super::account;
use super::control_plane::ControlPlane;
use super::registering::SYSTEM;

/// No test waits longer for anything; what it waits for takes less than a second alone.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// One for all tests that leave it as they found it, since rules are cluster-wide one after the other. It ends with this process.
static SHARED: Mutex<Option<ControlPlane>> = Mutex::const_new(None);

enum Plane {
    Shared(MutexGuard<'static, Option<ControlPlane>>),
    Own(Box<ControlPlane>),
}

pub(super) struct World {
    plane: Plane,
    /// Of an administrator.
    pub(super) client: Client,
    pub(super) namespace: String,
    kubeconfig: PathBuf,
}

impl World {
    /// The shared control plane, without rules and webhooks, for one test at a time.
    pub(super) async fn shared(namespace: &str) -> Self {
        let mut shared = SHARED.lock().await;
        if shared.is_none() {
            *shared = Some(ControlPlane::start(directory("shared")).await);
        }
        let client = shared.as_ref().unwrap().client().await;
        Self::installed(Plane::Shared(shared), client, namespace).await
    }

    /// A control plane that the test may break.
    pub(super) async fn own(name: &str) -> Self {
        let plane = ControlPlane::start(directory(name)).await;
        let client = plane.client().await;
        Self::installed(Plane::Own(Box::new(plane)), client, name).await
    }

    async fn installed(plane: Plane, client: Client, namespace: &str) -> Self {
        let mut world = Self { plane, client, namespace: namespace.to_owned(), kubeconfig: PathBuf::new() };
        world.install().await;
        world.grant(&json!({})).await;
        world.kubeconfig = account::kubeconfig(&world.client, "usher", &world.plane().kubeconfig()).await;
        world
    }

    /// Gives Usher's account the rights that the chart gives it with these values.
    pub(super) async fn grant(&self, values: &Value) {
        self.namespace(SYSTEM).await;
        account::grant(&self.client, &helm(values).objects).await;
    }

    pub(super) fn plane(&self) -> &ControlPlane {
        match &self.plane {
            Plane::Shared(plane) => plane.as_ref().unwrap(),
            Plane::Own(plane) => plane,
        }
    }

    /// The programs, to break them.
    pub(super) fn own_plane(&mut self) -> &mut ControlPlane {
        match &mut self.plane {
            Plane::Shared(_) => panic!("the shared control plane must not be broken"),
            Plane::Own(plane) => plane,
        }
    }

    /// Of Usher's account, which has the rights that the chart gives it.
    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.kubeconfig.clone()
    }

    async fn install(&self) {
        let everything = (&DeleteParams::default(), &ListParams::default());
        let hooks: Api<ValidatingWebhookConfiguration> = Api::all(self.client.clone());
        hooks.delete_collection(everything.0, everything.1).await.unwrap();
        let crds: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        crds.patch(&crd().name_any(), &PatchParams::apply("tests").force(), &Patch::Apply(crd()))
            .await
            .unwrap();
        until("the kind is served", async || self.rules().list(&ListParams::default()).await.ok()).await;
        self.rules().delete_collection(everything.0, everything.1).await.unwrap();
        self.namespace(&self.namespace).await;
    }

    pub(super) fn rules(&self) -> Api<RoutingRule> {
        Api::all(self.client.clone())
    }

    /// Applies a rule that is written in YAML.
    pub(super) async fn apply(&self, yaml: &str) -> RoutingRule {
        let rule: Value = serde_saphyr::from_str(yaml).unwrap();
        let name = rule["metadata"]["name"].as_str().unwrap();
        let params = PatchParams::apply("tests").force();
        self.rules().patch(name, &params, &Patch::Apply(&rule)).await.unwrap()
    }

    pub(super) async fn delete(&self, name: &str) {
        self.rules().delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Makes a namespace.
    pub(super) async fn namespace(&self, name: &str) {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        namespaces.patch(name, &PatchParams::apply("tests").force(), &Patch::Apply(namespace)).await.unwrap();
    }

    /// The status that a rule has now.
    pub(super) async fn status(&self, name: &str) -> RoutingRuleStatus {
        self.rules().get(name).await.unwrap().status.unwrap_or_default()
    }

    /// Waits until a condition speaks of a generation and has a status, and gives back the whole.
    pub(super) async fn until_condition(
        &self,
        name: &str,
        type_: &str,
        wanted: &str,
        generation: i64,
    ) -> RoutingRuleStatus {
        until(&format!("{name} generation {generation} is {type_}={wanted}"), async || {
            let status = self.status(name).await;
            let is_so = status.conditions.iter().any(|condition| {
                condition.type_ == type_
                    && condition.status == wanted
                    && condition.observed_generation == Some(generation)
            });
            is_so.then_some(status)
        })
        .await
    }

    /// Tells the API server to ask a webhook about ConfigMaps of the test's namespace.
    pub(super) async fn register(&self, url: &str, authority: &[u8]) {
        let hooks: Api<ValidatingWebhookConfiguration> = Api::all(self.client.clone());
        let hook = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": self.namespace},
            "webhooks": [{
                "name": "usher.test.dev",
                "clientConfig": {"url": url, "caBundle": k8s_openapi::ByteString(authority.to_vec())},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"]}],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}},
                "sideEffects": "None",
                "failurePolicy": "Fail",
                "admissionReviewVersions": ["v1"],
            }],
        });
        hooks
            .patch(&self.namespace, &PatchParams::apply("tests").force(), &Patch::Apply(hook))
            .await
            .unwrap();
    }

    /// Tries to make a ConfigMap, without keeping it; the message of who refuses.
    pub(super) async fn attempt(&self, name: &str) -> Result<(), String> {
        let objects: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.namespace);
        let object = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
        let dry = PostParams { dry_run: true, ..PostParams::default() };
        match objects.create(&dry, &object).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) => Err(status.message.clone()),
            Err(error) => panic!("no answer: {error}"),
        }
    }

    /// Waits until an attempt is refused with a message that has this text.
    pub(super) async fn until_denied(&self, name: &str, text: &str) {
        let what = format!("{name} is denied: {text}");
        until(&what, async || self.attempt(name).await.err().filter(|message| message.contains(text))).await;
    }

    pub(super) async fn until_allowed(&self, name: &str) {
        until(&format!("{name} is allowed"), async || self.attempt(name).await.ok()).await;
    }
}

/// Tries until there is something.
pub(super) async fn until<T>(what: &str, mut attempt: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = attempt().await {
            return found;
        }
        assert!(Instant::now() < end, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A place for the files of a control plane, outside the sources. Those of runs that are over make room; those of the last run stay.
fn directory(name: &str) -> PathBuf {
    let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cluster");
    for entry in std::fs::read_dir(&all).into_iter().flatten().flatten() {
        let owner = entry.file_name().to_string_lossy().parse::<u32>().unwrap_or_default();
        if !Path::new("/proc").join(owner.to_string()).exists() {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    all.join(std::process::id().to_string()).join(name)
}
