//! The engine's view of one admission request.

/// One `AdmissionRequest`, borrowed from the body that carried it. Small fields are read; objects stay raw JSON text until a rule
/// looks inside. Empty text means absent, as in Kubernetes' own types.
#[derive(Clone, Debug, Default)]
pub struct Request<'b> {
    /// Echoed in the answer; never an input of a rule.
    pub uid: &'b str,
    /// Kind and resource as sent: after conversion under `matchPolicy: Equivalent`.
    pub kind: GroupVersionKind<'b>,
    pub resource: GroupVersionResource<'b>,
    pub sub_resource: &'b str,
    /// Those of the original API request; `None` when the sender left them out, which means the same as above.
    pub request_kind: Option<GroupVersionKind<'b>>,
    pub request_resource: Option<GroupVersionResource<'b>>,
    pub request_sub_resource: Option<&'b str>,
    /// Empty under `generateName` in the mutating phase and for each item of a collection delete.
    pub name: &'b str,
    /// Empty for cluster-scoped objects; a Namespace's own name for a Namespace.
    pub namespace: &'b str,
    pub operation: Operation,
    pub user_info: UserInfo<'b>,
    pub dry_run: bool,
    /// Raw JSON of the object; `None` for `null` and for a missing key.
    pub object: Option<&'b str>,
    pub old_object: Option<&'b str>,
    pub options: Option<&'b str>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct GroupVersionKind<'b> {
    pub group: &'b str,
    pub version: &'b str,
    pub kind: &'b str,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct GroupVersionResource<'b> {
    pub group: &'b str,
    pub version: &'b str,
    pub resource: &'b str,
}

#[derive(Clone, Debug, Default)]
pub struct UserInfo<'b> {
    pub username: &'b str,
    pub uid: &'b str,
    pub groups: Vec<&'b str>,
    /// Raw JSON of a map from string to list of strings.
    pub extra: Option<&'b str>,
}

/// What the client does. A PATCH is an `Update`; each item of a collection delete is a `Delete`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Operation {
    #[default]
    Create,
    Update,
    Delete,
    Connect,
}

impl Operation {
    pub const ALL: [Self; 4] = [Self::Create, Self::Update, Self::Delete, Self::Connect];

    /// Kubernetes' spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }

    /// The inverse of [`Operation::as_str`]; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.as_str() == text)
    }
}

/// Which webhook call is being answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    Mutating,
    Validating,
}

impl Phase {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mutating => "mutating",
            Self::Validating => "validating",
        }
    }
}
