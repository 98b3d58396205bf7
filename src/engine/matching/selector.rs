//! Label selectors.

use std::collections::BTreeMap;

/// A `metav1.LabelSelector`: all requirements must hold; none means everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    pub requirements: Vec<Requirement>,
}

/// One entry of `matchExpressions`; an entry of `matchLabels` is an `In` of one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requirement {
    In {
        key: Box<str>,
        values: Vec<Box<str>>,
    },
    /// Also holds when the label is missing.
    NotIn {
        key: Box<str>,
        values: Vec<Box<str>>,
    },
    Exists {
        key: Box<str>,
    },
    DoesNotExist {
        key: Box<str>,
    },
}

impl LabelSelector {
    /// Selects everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether labels, looked up by key, are selected.
    pub fn matches<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.requirements.iter().all(|requirement| requirement.holds(&label))
    }

    /// As [`Self::matches`]; where there is no metadata nothing is selected.
    pub(crate) fn matches_labels(&self, labels: Option<&BTreeMap<String, String>>) -> bool {
        labels.is_some_and(|labels| self.matches(|key| labels.get(key).map(String::as_str)))
    }
}

impl Requirement {
    fn holds<'l>(&self, label: &impl Fn(&str) -> Option<&'l str>) -> bool {
        match self {
            Self::In { key, values } => label(key).is_some_and(|value| contains(values, value)),
            Self::NotIn { key, values } => label(key).is_none_or(|value| !contains(values, value)),
            Self::Exists { key } => label(key).is_some(),
            Self::DoesNotExist { key } => label(key).is_none(),
        }
    }
}

fn contains(values: &[Box<str>], value: &str) -> bool {
    values.iter().any(|one| **one == *value)
}
