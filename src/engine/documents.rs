//! The values that all rules see, each built at most once per request and only if an expression asks for it.

use std::cell::OnceCell;

use usher_cel::document::{self, Options};
use usher_cel::eval::{Arena, Entry, EvalError, EvalResult, Map, Value};

use super::candidates::Found;
use super::expression::document_error;
use super::matching::NAME_LABEL;
use super::request::{GroupVersionKind, GroupVersionResource, Request};
use super::rule_set::RuleSet;

/// Lives as long as one decision.
pub(super) struct Documents<'r> {
    pub(super) request: &'r Request<'r>,
    pub(super) rules: &'r RuleSet,
    /// The rules to evaluate, of `rules`.
    pub(super) candidates: Found<'r>,
    pub(super) arena: &'r Arena,
    object: OnceCell<EvalResult<'r>>,
    whole_object: OnceCell<EvalResult<'r>>,
    old_object: OnceCell<EvalResult<'r>>,
    options: OnceCell<EvalResult<'r>>,
    request_value: OnceCell<EvalResult<'r>>,
    namespace_object: OnceCell<EvalResult<'r>>,
}

/// The webhook's reader looks at every byte of a review before anything is decided.
const CHECKED: Options = Options { skip_managed_fields: false, is_checked: true };

type Result<T> = std::result::Result<T, Box<EvalError>>;

impl<'r> Documents<'r> {
    pub(super) fn new(
        request: &'r Request<'r>,
        rules: &'r RuleSet,
        candidates: Found<'r>,
        arena: &'r Arena,
    ) -> Self {
        Self {
            request,
            rules,
            candidates,
            arena,
            object: OnceCell::new(),
            whole_object: OnceCell::new(),
            old_object: OnceCell::new(),
            options: OnceCell::new(),
            request_value: OnceCell::new(),
            namespace_object: OnceCell::new(),
        }
    }

    /// `object` as received; null when there is none.
    pub(super) fn object(&self) -> EvalResult<'r> {
        self.object.get_or_init(|| self.parse("object", self.request.object, self.skips())).clone()
    }

    /// As [`Self::object`], with everything that was received: what a patch applies to.
    pub(super) fn whole_object(&self) -> EvalResult<'r> {
        if !self.skips().skip_managed_fields {
            return self.object();
        }
        self.whole_object.get_or_init(|| self.parse("object", self.request.object, CHECKED)).clone()
    }

    pub(super) fn old_object(&self) -> EvalResult<'r> {
        self.old_object.get_or_init(|| self.parse("oldObject", self.request.old_object, self.skips())).clone()
    }

    pub(super) fn options(&self) -> EvalResult<'r> {
        self.options
            .get_or_init(|| self.parse("request.options", self.request.options, Options::default()))
            .clone()
    }

    /// `request`. apiserver `cel/compile.go` `BuildRequestType`; fields that Go would leave out of JSON are missing keys.
    pub(super) fn request(&self) -> EvalResult<'r> {
        self.request_value.get_or_init(|| self.build_request()).clone()
    }

    /// `namespaceObject`: null for cluster-scoped objects and for Namespaces.
    pub(super) fn namespace_object(&self) -> EvalResult<'r> {
        self.namespace_object.get_or_init(|| self.build_namespace_object()).clone()
    }

    /// A map of the given fields.
    pub(super) fn map(&self, fields: &[(&'r str, Value<'r>)]) -> EvalResult<'r> {
        let mut entries = self.arena.list(fields.len())?;
        for (key, value) in fields {
            entries.push(Entry { key: Value::String(key), value: *value })?;
        }
        Ok(Value::Map(Map::new(entries.finish(), self.arena)?))
    }

    fn parse(&self, what: &str, json: Option<&'r str>, options: Options) -> EvalResult<'r> {
        let Some(json) = json else { return Ok(Value::Null) };
        document::parse(json, self.arena, options).map_err(|error| document_error(what, &error))
    }

    fn skips(&self) -> Options {
        Options { skip_managed_fields: !self.rules.reads_managed_fields(), ..CHECKED }
    }

    fn build_request(&self) -> EvalResult<'r> {
        let request = self.request;
        let text = |text: &'r str| (!text.is_empty()).then_some(Value::String(text));
        let user = &request.user_info;
        let groups = if user.groups.is_empty() {
            None
        } else {
            let mut groups = self.arena.list(user.groups.len())?;
            for group in &user.groups {
                groups.push(Value::String(group))?;
            }
            Some(Value::List(groups.finish()))
        };
        let extra = match self.parse("request.userInfo.extra", user.extra, Options::default())? {
            Value::Map(map) if !map.is_empty() => Some(Value::Map(map)),
            _ => None,
        };
        let user_info = self.present(&[
            ("username", text(user.username)),
            ("uid", text(user.uid)),
            ("groups", groups),
            ("extra", extra),
        ])?;
        let request_sub_resource = request.request_sub_resource.unwrap_or(request.sub_resource);
        self.present(&[
            ("kind", Some(self.kind(request.kind)?)),
            ("resource", Some(self.resource(request.resource)?)),
            ("subResource", text(request.sub_resource)),
            ("requestKind", Some(self.kind(request.request_kind.unwrap_or(request.kind))?)),
            ("requestResource", Some(self.resource(request.request_resource.unwrap_or(request.resource))?)),
            ("requestSubResource", text(request_sub_resource)),
            ("name", text(request.name)),
            ("namespace", text(request.namespace)),
            ("operation", Some(Value::String(request.operation.as_str()))),
            ("userInfo", Some(user_info)),
            ("dryRun", Some(Value::Bool(request.dry_run))),
            ("options", Some(self.options()?)),
        ])
    }

    /// A map of those fields that have a value.
    fn present(&self, fields: &[(&'r str, Option<Value<'r>>)]) -> EvalResult<'r> {
        let mut entries = self.arena.list(fields.len())?;
        for (key, value) in fields {
            if let Some(value) = value {
                entries.push(Entry { key: Value::String(key), value: *value })?;
            }
        }
        Ok(Value::Map(Map::new(entries.finish(), self.arena)?))
    }

    fn kind(&self, kind: GroupVersionKind<'r>) -> EvalResult<'r> {
        let GroupVersionKind { group, version, kind } = kind;
        self.map(&[
            ("group", Value::String(group)),
            ("version", Value::String(version)),
            ("kind", Value::String(kind)),
        ])
    }

    fn resource(&self, resource: GroupVersionResource<'r>) -> EvalResult<'r> {
        let GroupVersionResource { group, version, resource } = resource;
        self.map(&[
            ("group", Value::String(group)),
            ("version", Value::String(version)),
            ("resource", Value::String(resource)),
        ])
    }

    fn build_namespace_object(&self) -> EvalResult<'r> {
        let request = self.request;
        let is_namespace = request.resource.group.is_empty() && request.resource.resource == "namespaces";
        if request.namespace.is_empty() || is_namespace {
            return Ok(Value::Null);
        }
        let Some(stored) = self.rules.objects().namespace(request.namespace) else {
            // Not known (yet): what every namespace has.
            let name = Value::String(request.namespace);
            let labels = self.map(&[(NAME_LABEL, name)])?;
            let metadata = self.map(&[("name", name), ("labels", labels)])?;
            return self.map(&[("metadata", metadata)]);
        };
        let Value::Map(whole) = self.parse("namespaceObject", Some(&stored.json), Options::default())? else {
            return Ok(Value::Null);
        };
        let mut fields = self.arena.list(NAMESPACE_FIELDS.len())?;
        for (name, inner) in NAMESPACE_FIELDS {
            if let Some(Value::Map(found)) = whole.field(name) {
                fields.push(Entry { key: Value::String(name), value: self.pick(found, inner)? })?;
            }
        }
        Ok(Value::Map(Map::new(fields.finish(), self.arena)?))
    }

    fn pick(&self, map: &Map<'r>, names: &[&'r str]) -> Result<Value<'r>> {
        let mut entries = self.arena.list(names.len())?;
        for name in names {
            if let Some(value) = map.field(name) {
                entries.push(Entry { key: Value::String(name), value: *value })?;
            }
        }
        Ok(Value::Map(Map::new(entries.finish(), self.arena)?))
    }
}

/// The fields of a Namespace that expressions may see, by the part that they are in. apiserver `plugin/cel/compile.go` `BuildNamespaceType` and
/// `condition.go` `CreateNamespaceObject`.
pub const NAMESPACE_FIELDS: [(&str, &[&str]); 3] = [
    (
        "metadata",
        &[
            "name",
            "generateName",
            "namespace",
            "labels",
            "annotations",
            "uid",
            "creationTimestamp",
            "deletionGracePeriodSeconds",
            "deletionTimestamp",
            "generation",
            "resourceVersion",
            "finalizers",
        ],
    ),
    ("spec", &["finalizers"]),
    ("status", &["phase", "conditions"]),
];
