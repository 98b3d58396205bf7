//! What Usher's accounts may not do: whatever is not listed here, of all that the API server has.

use std::collections::BTreeSet;

use futures_util::StreamExt;
use kube::Client;
use serde_json::json;

use crate::deploy::rendering::helm;

use super::account::{self, may};
use super::registering::SYSTEM;
use super::world::{World, until};

const VERBS: [&str; 8] = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
/// Where rights to objects of namespaces are looked for: everywhere, Usher's namespace, that of events, that of the system.
const NAMESPACES: [&str; 4] = ["", SYSTEM, "default", "kube-system"];
const CLUSTER: [&str; 1] = [""];
/// Names of objects: any, and that of the webhook configurations; of namespaces, Usher's own too.
const NAMES: [&str; 2] = ["", "usher"];
const NAMES_OF_NAMESPACES: [&str; 3] = ["", "usher", SYSTEM];

/// A resource that rights may be about.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Resource {
    group: String,
    /// With the subresource after a slash.
    name: String,
    is_namespaced: bool,
    verbs: &'static [&'static str],
}

/// Every right that the account has, as `verb group/resource namespace/name`, of these resources.
async fn rights(
    client: &Client,
    account: &str,
    resources: &BTreeSet<Resource>,
    namespaces: &[&str],
) -> BTreeSet<String> {
    let mut questions = Vec::new();
    for Resource { group, name: resource, is_namespaced, verbs } in resources {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let namespaces = if *is_namespaced { namespaces } else { &CLUSTER };
        let names = if resource == "namespaces" { &NAMES_OF_NAMESPACES[..] } else { &NAMES };
        for verb in *verbs {
            for namespace in namespaces {
                for name in names {
                    questions.push(
                        json!({"verb": verb, "group": group, "resource": resource, "subresource": subresource,
                        "namespace": namespace, "name": name}),
                    );
                }
            }
        }
    }
    assert!(questions.len() > 1_000, "{}", questions.len());
    let asked = futures_util::stream::iter(questions).map(async |question| {
        let allowed = may(client, account, &question).await;
        allowed.then(|| {
            let text = |key: &str| question[key].as_str().unwrap().to_owned();
            let resource = match text("subresource").as_str() {
                "" => text("resource"),
                sub => format!("{}/{sub}", text("resource")),
            };
            format!("{} {}/{resource} {}/{}", text("verb"), text("group"), text("namespace"), text("name"))
        })
    });
    asked.buffer_unordered(32).filter_map(async |right| right).collect().await
}

/// All resources that the API server has, and what only its authorizer knows.
async fn resources(client: &Client) -> BTreeSet<Resource> {
    let rbac = "rbac.authorization.k8s.io";
    let mut all: BTreeSet<Resource> = [
        ("", "users", false, &["impersonate"][..]),
        ("", "groups", false, &["impersonate"]),
        ("", "serviceaccounts", true, &["impersonate"]),
        (rbac, "clusterroles", false, &["bind", "escalate"]),
        (rbac, "roles", true, &["bind", "escalate"]),
        ("*", "*", true, &["*"]),
    ]
    .map(|(group, name, is_namespaced, verbs)| Resource {
        group: group.to_owned(),
        name: name.to_owned(),
        is_namespaced,
        verbs,
    })
    .into();
    let mut lists = vec![(String::new(), client.list_core_api_resources("v1").await.unwrap())];
    for group in client.list_api_groups().await.unwrap().groups {
        let version = group.preferred_version.unwrap().group_version;
        lists.push((group.name, client.list_api_group_resources(&version).await.unwrap()));
    }
    for (group, list) in lists {
        all.extend(list.resources.into_iter().map(|resource| Resource {
            group: group.clone(),
            name: resource.name,
            is_namespaced: resource.namespaced,
            verbs: &VERBS,
        }));
    }
    all
}

/// Verbs on a resource, in these namespaces and for these names.
type Rights<'r> = (&'r [&'r str], &'r str, &'r [&'r str], &'r [&'r str]);

fn expected(rights: &[Rights<'_>]) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (verbs, resource, namespaces, names) in rights {
        for verb in *verbs {
            for namespace in *namespaces {
                all.extend(names.iter().map(|name| format!("{verb} {resource} {namespace}/{name}")));
            }
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn the_accounts_may_do_what_is_listed_here_and_nothing_else() {
    let world = World::own("no-more-rights").await;
    account::grant(&world.client, &helm(&json!({})).hooks).await;
    account::kubeconfig(&world.client, "usher-uninstall", &world.plane().kubeconfig()).await;
    let configurations = |kind: &str| format!("admissionregistration.k8s.io/{kind}webhookconfigurations");
    let [mutating, validating] = ["mutating", "validating"].map(configurations);
    let keeping = ["list", "watch", "create", "update", "patch"];
    let serving = [
        (&["list", "watch"][..], "usher.dev/routingrules", &CLUSTER[..], &NAMES[..]),
        (&["patch"], "usher.dev/routingrules/status", &CLUSTER, &NAMES),
        (&["list", "watch"], "/namespaces", &CLUSTER, &NAMES_OF_NAMESPACES),
        (&["get"], "/namespaces", &CLUSTER, &[SYSTEM]),
        (&keeping, &mutating, &CLUSTER, &["usher"]),
        (&keeping, &validating, &CLUSTER, &["usher"]),
        (
            &["get", "list", "watch", "create", "update", "patch", "delete"],
            "coordination.k8s.io/leases",
            &[SYSTEM],
            &NAMES,
        ),
        (&["list", "watch"], "/configmaps", &[SYSTEM], &NAMES),
        (&["create", "patch"], "events.k8s.io/events", &["default"], &NAMES),
    ];
    let removing = [
        (&["delete"][..], mutating.as_str(), &CLUSTER[..], &["usher"][..]),
        (&["delete"], &validating, &CLUSTER, &["usher"]),
        (&["get", "list", "create", "update", "delete"], "coordination.k8s.io/leases", &[SYSTEM], &NAMES),
    ];
    let resources = resources(&world.client).await;
    // Its own roles are there only then.
    until("the API server is ready", async || {
        let request =
            http::Request::get("/readyz/poststarthook/rbac/bootstrap-roles").body(Vec::new()).unwrap();
        world.client.request_text(request).await.ok()
    })
    .await;
    let everybody =
        json!({"verb": "create", "group": "authorization.k8s.io", "resource": "selfsubjectaccessreviews"});
    until("the roles are known", async || may(&world.client, "anybody", &everybody).await.then_some(()))
        .await;
    // What the API server lets every account do, such as to ask about itself.
    let anybody = rights(&world.client, "anybody", &resources, &CLUSTER).await;
    assert!(anybody.contains("create authorization.k8s.io/selfsubjectaccessreviews /"), "{anybody:#?}");
    for (account, own) in [("usher", &serving[..]), ("usher-uninstall", &removing[..])] {
        let expected = expected(own);
        let mut found = rights(&world.client, account, &resources, &NAMESPACES).await;
        found.retain(|right| !anybody.contains(&format!("{} /", right.rsplit_once(' ').unwrap().0)));
        let more: Vec<&String> = found.difference(&expected).collect();
        assert!(more.is_empty(), "{account} may do more: {more:#?}");
        let less: Vec<&String> = expected.difference(&found).collect();
        assert!(less.is_empty(), "{account} may do less: {less:#?}");
    }
}
