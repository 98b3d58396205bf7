//! A real API server on loopback with Usher beside it, to play with: `make cluster`. Ctrl-C ends all of it.

#![allow(clippy::unwrap_used)]

#[path = "../../tests/cluster/control_plane/mod.rs"]
// The tests break what is only shown here.
#[allow(dead_code)]
mod control_plane;

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use usher::api::{RoutingRule, crd};

use control_plane::ControlPlane;

const MANAGER: &str = "make-cluster";

#[tokio::main]
async fn main() {
    let binary = PathBuf::from(std::env::args_os().nth(1).expect("the path of the binary usher"));
    let directory = std::env::temp_dir().join(format!("usher-cluster-{}", std::process::id()));
    eprintln!("starting etcd and the API server, with their files in {}", directory.display());
    let plane = ControlPlane::start(directory.clone()).await;
    let client = plane.client().await;
    install(&client).await;

    let mut usher = start(&binary, &plane, &directory);
    eprintln!(
        "\nA cluster with Usher in it. In another terminal:\n\n  export KUBECONFIG={}\n  kubectl apply -f \
         policies/good-practice/image-tags.yaml\n  kubectl get routingrules\n  kubectl run shell --image=busybox --dry-run=server\n\n\
         Usher's probes and metrics are at http://127.0.0.1:18080. Ctrl-C ends everything.\n",
        plane.kubeconfig().display()
    );
    let ended = loop {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(200)) => {
                if let Ok(Some(status)) = usher.try_wait() { break Some(status); }
            }
            _ = tokio::signal::ctrl_c() => break None,
        }
    };
    let _ = usher.kill();
    let _ = usher.wait();
    drop(plane);
    let _ = std::fs::remove_dir_all(&directory);
    if let Some(status) = ended {
        eprintln!("usher ended: {status}");
        std::process::exit(2);
    }
}

async fn install(client: &Client) {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    crds.patch(&crd().name_any(), &PatchParams::apply(MANAGER), &Patch::Apply(crd())).await.unwrap();
    let rules: Api<RoutingRule> = Api::all(client.clone());
    while rules.list(&ListParams::default()).await.is_err() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client.clone());
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "usher-system"}});
    namespaces.patch("usher-system", &PatchParams::apply(MANAGER), &Patch::Apply(namespace)).await.unwrap();
}

fn start(binary: &Path, plane: &ControlPlane, directory: &Path) -> Child {
    Command::new(binary)
        .args(["serve", "--cluster", "--bind=127.0.0.1:18443", "--admin-bind=127.0.0.1:18080"])
        .args(["--log-format=text", "--drain-window=0s", "--webhook-url=https://127.0.0.1:18443"])
        .args([Path::new("--kubeconfig"), &plane.kubeconfig()])
        .args([Path::new("--tls-self-signed"), &directory.join("usher")])
        .spawn()
        .expect("usher starts")
}
