//! What rules are made of: the five kinds of objects that a source yields.

use std::fmt;
use std::sync::Arc;

use crate::api::{
    MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, ObjectMeta, RoutingRule,
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};

/// A rule, a policy or a binding.
#[derive(Clone, Debug)]
pub enum Item {
    RoutingRule(Arc<RoutingRule>),
    ValidatingAdmissionPolicy(Arc<ValidatingAdmissionPolicy>),
    ValidatingAdmissionPolicyBinding(Arc<ValidatingAdmissionPolicyBinding>),
    MutatingAdmissionPolicy(Arc<MutatingAdmissionPolicy>),
    MutatingAdmissionPolicyBinding(Arc<MutatingAdmissionPolicyBinding>),
}

/// What an [`Item`] is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemKey {
    pub kind: ItemKind,
    pub name: Box<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemKind {
    RoutingRule,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
}

impl Item {
    pub fn key(&self) -> ItemKey {
        let (kind, metadata) = match self {
            Self::RoutingRule(object) => (ItemKind::RoutingRule, &object.metadata),
            Self::ValidatingAdmissionPolicy(object) => {
                (ItemKind::ValidatingAdmissionPolicy, &object.metadata)
            }
            Self::ValidatingAdmissionPolicyBinding(object) => {
                (ItemKind::ValidatingAdmissionPolicyBinding, &object.metadata)
            }
            Self::MutatingAdmissionPolicy(object) => (ItemKind::MutatingAdmissionPolicy, &object.metadata),
            Self::MutatingAdmissionPolicyBinding(object) => {
                (ItemKind::MutatingAdmissionPolicyBinding, &object.metadata)
            }
        };
        ItemKey { kind, name: metadata.name.as_deref().unwrap_or_default().into() }
    }

    pub(super) fn metadata(&self) -> &ObjectMeta {
        match self {
            Self::RoutingRule(object) => &object.metadata,
            Self::ValidatingAdmissionPolicy(object) => &object.metadata,
            Self::ValidatingAdmissionPolicyBinding(object) => &object.metadata,
            Self::MutatingAdmissionPolicy(object) => &object.metadata,
            Self::MutatingAdmissionPolicyBinding(object) => &object.metadata,
        }
    }

    /// Whether both ask for the same: status and the like do not count.
    pub(super) fn same_spec(&self, other: &Self) -> bool {
        let same = match (self, other) {
            (Self::RoutingRule(a), Self::RoutingRule(b)) => a.spec == b.spec,
            (Self::ValidatingAdmissionPolicy(a), Self::ValidatingAdmissionPolicy(b)) => a.spec == b.spec,
            (Self::ValidatingAdmissionPolicyBinding(a), Self::ValidatingAdmissionPolicyBinding(b)) => {
                a.spec == b.spec
            }
            (Self::MutatingAdmissionPolicy(a), Self::MutatingAdmissionPolicy(b)) => a.spec == b.spec,
            (Self::MutatingAdmissionPolicyBinding(a), Self::MutatingAdmissionPolicyBinding(b)) => {
                a.spec == b.spec
            }
            _ => false,
        };
        same && self.metadata().generation == other.metadata().generation
    }

    /// Whether its meaning depends on what is known of a kind of parameters.
    pub(super) fn has_params(&self) -> bool {
        match self {
            Self::RoutingRule(rule) => rule.spec.params.is_some(),
            Self::ValidatingAdmissionPolicy(policy) => {
                policy.spec.as_ref().is_some_and(|spec| spec.param_kind.is_some())
            }
            Self::MutatingAdmissionPolicy(policy) => policy.spec.param_kind.is_some(),
            Self::ValidatingAdmissionPolicyBinding(_) | Self::MutatingAdmissionPolicyBinding(_) => false,
        }
    }

    /// The policy that it is a part of, itself included; none for a rule.
    pub(super) fn policy(&self) -> Option<ItemKey> {
        let of = |kind, name: Option<&str>| ItemKey { kind, name: name.unwrap_or_default().into() };
        match self {
            Self::RoutingRule(_) => None,
            Self::ValidatingAdmissionPolicy(_) | Self::MutatingAdmissionPolicy(_) => Some(self.key()),
            Self::ValidatingAdmissionPolicyBinding(binding) => Some(of(
                ItemKind::ValidatingAdmissionPolicy,
                binding.spec.as_ref().and_then(|spec| spec.policy_name.as_deref()),
            )),
            Self::MutatingAdmissionPolicyBinding(binding) => {
                Some(of(ItemKind::MutatingAdmissionPolicy, binding.spec.policy_name.as_deref()))
            }
        }
    }
}

impl ItemKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RoutingRule => "RoutingRule",
            Self::ValidatingAdmissionPolicy => "ValidatingAdmissionPolicy",
            Self::ValidatingAdmissionPolicyBinding => "ValidatingAdmissionPolicyBinding",
            Self::MutatingAdmissionPolicy => "MutatingAdmissionPolicy",
            Self::MutatingAdmissionPolicyBinding => "MutatingAdmissionPolicyBinding",
        }
    }

    /// The inverse of [`ItemKind::as_str`]; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let all = [
            Self::RoutingRule,
            Self::ValidatingAdmissionPolicy,
            Self::ValidatingAdmissionPolicyBinding,
            Self::MutatingAdmissionPolicy,
            Self::MutatingAdmissionPolicyBinding,
        ];
        all.into_iter().find(|kind| kind.as_str() == text)
    }
}

impl fmt::Display for ItemKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.as_str(), self.name)
    }
}
