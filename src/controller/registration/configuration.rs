//! One of the two webhook configurations: what it should be, and how what there is differs from that.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhook;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{DynamicObject, ObjectMeta, TypeMeta};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::rules::registration::{
    Address, CONFIGURATION_GROUP, Hook, Registration, configuration_kind, own_kinds, probe,
};

/// Labels of ours; others stay.
const LABELS: [(&str, &str); 2] =
    [("app.kubernetes.io/name", "usher"), ("app.kubernetes.io/managed-by", "usher")];

/// What all entries have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'f> {
    pub(super) is_mutating: bool,
    pub(super) own_namespace: &'f str,
    pub(super) address: &'f Address,
    /// `None`: somebody else fills in `caBundle`, or nobody does.
    pub(super) authority: Option<&'f ByteString>,
    /// With it the configurations go when Usher's namespace goes: there is nobody left to ask then.
    pub(super) owner: Option<&'f OwnerReference>,
}

/// A configuration as the API server has it.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    object: DynamicObject,
    /// Without what newer API servers may add.
    webhooks: Vec<MutatingWebhook>,
}

impl Stored {
    pub(super) fn of(object: DynamicObject) -> Self {
        let webhooks = object.data.get("webhooks").map(Vec::<MutatingWebhook>::deserialize);
        Self { webhooks: webhooks.and_then(Result::ok).unwrap_or_default(), object }
    }

    /// Its resource version. Later ones are greater.
    pub(super) fn version(&self) -> u64 {
        let version = self.object.metadata.resource_version.as_deref();
        version.and_then(|version| version.parse().ok()).unwrap_or_default()
    }

    pub(super) fn webhooks(&self) -> &[MutatingWebhook] {
        &self.webhooks
    }

    fn webhook(&self, name: &str) -> Option<&MutatingWebhook> {
        self.webhooks.iter().find(|webhook| webhook.name == name)
    }

    /// What stands for this version in probes.
    pub(super) fn token(&self) -> Option<&str> {
        Hook::ALL.into_iter().find_map(|hook| probe::token(hook, self.webhook(&probe::entry_name(hook))?))
    }
}

impl Frame<'_> {
    pub(super) fn hooks(&self) -> impl Iterator<Item = Hook> {
        let is_mutating = self.is_mutating;
        Hook::ALL.into_iter().filter(move |hook| hook.is_mutating() == is_mutating)
    }

    /// The entries: those of rules, then one for each path that nothing but probes go through, then the one for Usher's own kinds. The latter two
    /// are always there, so that a path is known before the first rule needs it, and an authority that somebody fills in is not lost with the last
    /// one.
    fn webhooks(
        &self,
        registrations: &[Registration],
        armed: &dyn Fn(Hook) -> bool,
        stored: Option<&Stored>,
        token: &str,
    ) -> Vec<MutatingWebhook> {
        let client = |hook: Hook, name: &str| {
            let path = [probe::entry_name(hook)];
            self.address.client_config(hook.path(), self.bundle(name, &path, stored))
        };
        let own = registrations.iter().filter(|entry| entry.hook.is_mutating() == self.is_mutating);
        let own = own.map(|entry| entry.webhook(armed(entry.hook), client(entry.hook, entry.hook.name())));
        let probes = self.hooks().map(|hook| {
            probe::webhook(hook, self.own_namespace, token, client(hook, &probe::entry_name(hook)))
        });
        let own_kinds = (!self.is_mutating).then(|| {
            let probes: Vec<String> = self.hooks().map(probe::entry_name).collect();
            let bundle = self.bundle(own_kinds::NAME, &probes, stored);
            own_kinds::webhook(self.address.client_config(own_kinds::PATH, bundle))
        });
        own.chain(probes).chain(own_kinds).collect()
    }

    /// What somebody has filled in for this entry stays; a new one begins with what the first of `others` has that has one.
    fn bundle(&self, name: &str, others: &[String], stored: Option<&Stored>) -> Option<ByteString> {
        if let Some(authority) = self.authority {
            return Some(authority.clone());
        }
        let filled = |name: &str| stored?.webhook(name)?.client_config.ca_bundle.clone();
        filled(name).or_else(|| others.iter().find_map(|name| filled(name)))
    }

    /// Whether calls go where they should, as far as this is ours to say.
    pub(super) fn is_reached(&self, hook: Hook, stored: &Stored) -> bool {
        let path = [probe::entry_name(hook)];
        let bundle = self.bundle(hook.name(), &path, Some(stored));
        let wanted = self.address.client_config(hook.path(), bundle);
        stored.webhook(hook.name()).is_some_and(|webhook| webhook.client_config == wanted)
    }

    /// Whether calls that fail refuse requests.
    pub(super) fn fails_closed(hook: Hook, stored: &Stored) -> bool {
        stored.webhook(hook.name()).is_some_and(|webhook| webhook.failure_policy.as_deref() == Some("Fail"))
    }

    /// Whether nothing is to be written.
    pub(super) fn is_kept(
        &self,
        registrations: &[Registration],
        armed: &dyn Fn(Hook) -> bool,
        stored: &Stored,
    ) -> bool {
        let Some(token) = stored.token() else { return false };
        let labels = stored.object.metadata.labels.as_ref();
        let has_label = |(key, value): (&str, &str)| {
            labels.and_then(|labels| labels.get(key)).is_some_and(|known| known == value)
        };
        let owners = stored.object.metadata.owner_references.as_deref().unwrap_or_default();
        LABELS.into_iter().all(has_label)
            && self.owner.is_none_or(|owner| owners.contains(owner))
            && self.webhooks(registrations, armed, Some(stored), token) == stored.webhooks
    }

    /// The object to write: what there is, with our part as it should be. `token` was not used before.
    pub(super) fn object(
        &self,
        name: &str,
        registrations: &[Registration],
        armed: &dyn Fn(Hook) -> bool,
        stored: Option<&Stored>,
        token: &str,
    ) -> DynamicObject {
        let webhooks = self.webhooks(registrations, armed, stored, token);
        let mut object = stored.map_or_else(|| empty(name), |stored| stored.object.clone());
        // Those of a list do not say what they are.
        object.types = Some(TypeMeta {
            api_version: format!("{CONFIGURATION_GROUP}/v1"),
            kind: configuration_kind(self.is_mutating).to_owned(),
        });
        let labels = object.metadata.labels.get_or_insert_with(BTreeMap::new);
        labels.extend(LABELS.map(|(key, value)| (key.to_owned(), value.to_owned())));
        if let Some(owner) = self.owner {
            let owners = object.metadata.owner_references.get_or_insert_with(Vec::new);
            // The namespace may have been another one of this name.
            owners.retain(|known| (&known.kind, &known.name) != (&owner.kind, &owner.name));
            owners.push(owner.clone());
        }
        object.data["webhooks"] = json!(webhooks);
        object
    }
}

fn empty(name: &str) -> DynamicObject {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    DynamicObject { types: None, metadata, data: Value::Object(serde_json::Map::new()) }
}

#[cfg(test)]
mod tests {
    use crate::rules::registration::ServiceAddress;

    use super::*;

    fn registration(hook: Hook) -> Registration {
        Registration {
            hook,
            rules: Vec::new(),
            namespace_selector: Default::default(),
            object_selector: Default::default(),
            match_conditions: None,
        }
    }

    fn frame(address: &Address) -> Frame<'_> {
        Frame { is_mutating: false, own_namespace: "usher-system", address, authority: None, owner: None }
    }

    /// As the API server gives it back.
    fn stored(object: &DynamicObject) -> Stored {
        Stored::of(serde_json::from_value(serde_json::to_value(object).unwrap()).unwrap())
    }

    fn names(stored: &Stored) -> Vec<&str> {
        stored.webhooks.iter().map(|webhook| webhook.name.as_str()).collect()
    }

    #[test]
    fn what_was_written_is_kept_and_any_edit_is_not() {
        let address = Address::Service(ServiceAddress::new("usher-system", "usher"));
        let frame = frame(&address);
        let registrations = [registration(Hook::MutateFail), registration(Hook::ValidateFail)];
        let written = stored(&frame.object("usher", &registrations, &|_| true, None, "1"));
        assert_eq!(
            names(&written),
            [
                "fail.validate.usher.dev",
                "probe.fail.validate.usher.dev",
                "probe.ignore.validate.usher.dev",
                own_kinds::NAME
            ]
        );
        assert_eq!(written.token(), Some("1"));
        assert!(frame.is_kept(&registrations, &|_| true, &written));
        assert!(frame.is_reached(Hook::ValidateFail, &written));
        assert!(Frame::fails_closed(Hook::ValidateFail, &written));
        assert!(!frame.is_kept(&registrations, &|_| false, &written), "disarmed");
        assert!(!frame.is_kept(&[], &|_| true, &written), "without rules");

        let edit = |pointer: &str, value: Value| {
            let mut object = serde_json::to_value(&written.object).unwrap();
            *object.pointer_mut(pointer).unwrap() = value;
            stored(&serde_json::from_value(object).unwrap())
        };
        for (pointer, value) in [
            ("/webhooks/0/timeoutSeconds", json!(30)),
            ("/webhooks/0/clientConfig/service/path", json!("/elsewhere")),
            ("/webhooks/1/objectSelector", json!({})),
            ("/webhooks/2/name", json!("mine.example.com")),
            ("/webhooks/3/failurePolicy", json!("Fail")),
            ("/webhooks/3/rules/0/operations", json!(["*"])),
            ("/metadata/labels", json!({})),
            ("/webhooks", json!([])),
        ] {
            assert!(!frame.is_kept(&registrations, &|_| true, &edit(pointer, value)), "{pointer}");
        }
        let foreign =
            json!({"app.kubernetes.io/name": "usher", "app.kubernetes.io/managed-by": "usher", "team": "a"});
        assert!(frame.is_kept(&registrations, &|_| true, &edit("/metadata/labels", foreign)));
    }

    #[test]
    fn an_authority_that_others_fill_in_stays_and_goes_with_the_path() {
        let address = Address::Service(ServiceAddress::new("usher-system", "usher"));
        let frame = frame(&address);
        let mut object = frame.object("usher", &[], &|_| false, None, "1");
        object.metadata.annotations = Some([("inject".to_owned(), "yes".to_owned())].into());
        // That of a path, and that of Usher's own kinds.
        for index in [0, 2] {
            object.data["webhooks"][index]["clientConfig"]["caBundle"] = json!("YQ==");
        }
        let injected = stored(&object);
        assert!(frame.is_kept(&[], &|_| false, &injected));
        let registrations = [registration(Hook::ValidateFail)];
        let next = frame.object("usher", &registrations, &|_| false, Some(&injected), "2");
        assert_eq!(next.data["webhooks"][0]["clientConfig"]["caBundle"], "YQ==");
        assert_eq!(next.data["webhooks"][3]["name"], own_kinds::NAME);
        let with_it = injected.object.data["webhooks"].as_array().unwrap();
        let without = Stored {
            webhooks: injected
                .webhooks
                .iter()
                .filter(|entry| entry.name != own_kinds::NAME)
                .cloned()
                .collect(),
            ..injected.clone()
        };
        assert_eq!(with_it.len(), without.webhooks.len() + 1);
        let next_own = frame.object("usher", &[], &|_| false, Some(&without), "2");
        assert_eq!(
            next_own.data["webhooks"][2]["clientConfig"]["caBundle"], "YQ==",
            "it begins with what a path has"
        );
        assert_eq!(next.metadata.annotations, object.metadata.annotations);
        let own = ByteString(b"b".to_vec());
        let owning = Frame { authority: Some(&own), ..frame };
        assert!(!owning.is_kept(&[], &|_| false, &injected));
        assert!(owning.is_kept(
            &[],
            &|_| false,
            &stored(&owning.object("usher", &[], &|_| false, Some(&injected), "3"))
        ));
    }

    #[test]
    fn the_namespace_owns_it_once() {
        let address = Address::Service(ServiceAddress::new("usher-system", "usher"));
        let owner = |uid: &str| OwnerReference {
            api_version: "v1".to_owned(),
            kind: "Namespace".to_owned(),
            name: "usher-system".to_owned(),
            uid: uid.to_owned(),
            ..OwnerReference::default()
        };
        let (old, new) = (owner("old"), owner("new"));
        let with = |owner| Frame { owner, ..frame(&address) };
        let first = stored(&with(Some(&old)).object("usher", &[], &|_| false, None, "1"));
        assert!(with(Some(&old)).is_kept(&[], &|_| false, &first));
        assert!(with(None).is_kept(&[], &|_| false, &first), "unknown");
        assert!(!with(Some(&new)).is_kept(&[], &|_| false, &first));
        let second = with(Some(&new)).object("usher", &[], &|_| false, Some(&first), "2");
        assert_eq!(second.metadata.owner_references, Some(vec![new]));
    }
}
