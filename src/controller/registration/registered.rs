//! What the status of a rule says of registration.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::path::Fault;
use crate::rules::registration::{Hook, Hooks};

/// What is known of the registration of all rules. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::controller) enum Registered {
    /// Others keep the webhook configurations, and there is nothing to say of them.
    #[default]
    ByOthers,
    /// Others keep them, and this is what can be seen.
    Observed(Observed),
    /// It is about to be found out how they stand.
    Unknown,
    Known(Arc<Known>),
}

#[derive(Clone, Debug, PartialEq)]
pub(in crate::controller) struct Observed {
    /// Resource version of the rules that were looked at.
    pub(super) version: u64,
    /// Names of those that are asked about, as far as can be seen.
    pub(super) covered: Arc<BTreeSet<Arc<str>>>,
}

#[derive(Debug, PartialEq)]
pub(in crate::controller) struct Known {
    /// Resource version of the rules from which it was computed.
    pub(super) version: u64,
    /// What each rule needs; nothing if it is not named.
    pub(super) hooks: Arc<BTreeMap<Arc<str>, Hooks>>,
    pub(super) paths: BTreeMap<Hook, PathState>,
    /// Why the configurations cannot be written.
    pub(super) unwritten: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PathState {
    /// Rules up to this resource version are asked about, as was proven.
    pub(super) covered: u64,
    /// Calls that fail refuse requests, as was proven.
    pub(super) armed: bool,
    pub(super) fault: Option<Fault>,
    /// There was an answer to a probe, or none.
    pub(super) is_known: bool,
}

/// Of one rule.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::controller) enum Standing {
    /// It is not for us to say.
    ByOthers,
    /// A configuration of others asks about what it matches.
    Observed,
    /// Wait for what there is to say.
    Unknown,
    Known {
        programmed: Result<Programmed, Fault>,
        /// Only of a rule that is to fail closed.
        armed: Option<Result<(), Fault>>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::controller) enum Programmed {
    Registered,
    /// There is nothing that the API server would have to ask about.
    NothingToAsk,
}

pub(in crate::controller) const WAITING: &str = "Waiting";

impl Registered {
    /// Whether a path was said to fail closed.
    pub(super) fn armed(&self, hook: Hook) -> Option<bool> {
        let Self::Known(known) = self else { return None };
        known.paths.get(&hook).map(|path| path.armed)
    }

    /// Of the rule whose newest generation came with resource version `since`.
    pub(in crate::controller) fn of(&self, rule: &str, since: u64) -> Standing {
        let known = match self {
            Self::ByOthers => return Standing::ByOthers,
            Self::Observed(Observed { version, .. }) if *version < since => return Standing::Unknown,
            Self::Observed(Observed { covered, .. }) if covered.contains(rule) => return Standing::Observed,
            Self::Observed(_) => return Standing::ByOthers,
            Self::Unknown => return Standing::Unknown,
            Self::Known(known) => known,
        };
        let waiting = |message: &str| Fault { reason: WAITING, message: message.to_owned() };
        if known.version < since {
            let programmed = Err(waiting("the webhook configuration does not cover it yet"));
            return Standing::Known { programmed, armed: None };
        }
        let hooks: Vec<Hook> = known.hooks.get(rule).map(|hooks| hooks.iter().collect()).unwrap_or_default();
        if hooks.is_empty() {
            return Standing::Known { programmed: Ok(Programmed::NothingToAsk), armed: None };
        }
        let path = |hook: &Hook| known.paths.get(hook).cloned().unwrap_or_default();
        let paths: Vec<(Hook, PathState)> = hooks.iter().map(|hook| (*hook, path(hook))).collect();
        if paths.iter().any(|(_, path)| !path.is_known) && known.unwritten.is_none() {
            return Standing::Unknown;
        }
        let fault = paths.iter().find_map(|(_, path)| path.fault.clone());
        let is_covered = paths.iter().all(|(_, path)| path.covered >= since);
        let programmed = match (fault.clone(), is_covered, &known.unwritten) {
            (Some(fault), ..) => Err(fault),
            (None, true, _) => Ok(Programmed::Registered),
            (None, false, Some(error)) => Err(Fault { reason: "NotWritten", message: error.clone() }),
            (None, false, None) => Err(waiting("the API server does not ask about it yet")),
        };
        let fails_closed = hooks.iter().any(|hook| hook.fails_closed());
        let is_armed = paths.iter().all(|(_, path)| path.armed);
        let armed = fails_closed.then(|| match (fault, is_armed) {
            (Some(Fault { reason, message }), _) => {
                let message = format!("requests are let through while Usher does not answer: {message}");
                Err(Fault { reason, message })
            }
            (None, true) => Ok(()),
            (None, false) => Err(waiting("not proven yet")),
        });
        Standing::Known { programmed, armed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registered(paths: [(Hook, PathState); 1], unwritten: Option<&str>) -> Registered {
        let hooks = paths.iter().map(|(hook, _)| *hook).collect::<Hooks>();
        let hooks = [(Arc::from("a"), hooks)].into();
        let unwritten = unwritten.map(str::to_owned);
        let known = Known { version: 20, hooks: Arc::new(hooks), paths: paths.into(), unwritten };
        Registered::Known(Arc::new(known))
    }

    fn words(registered: &Registered, rule: &str, since: u64) -> String {
        match registered.of(rule, since) {
            Standing::ByOthers => "by others".to_owned(),
            Standing::Observed => "observed".to_owned(),
            Standing::Unknown => "unknown".to_owned(),
            Standing::Known { programmed, armed } => {
                let programmed =
                    programmed.map_or_else(|fault| fault.reason.to_owned(), |it| format!("{it:?}"));
                let armed = armed.map(|armed| armed.map_or_else(|fault| fault.reason, |()| "Armed"));
                format!("{programmed} {}", armed.unwrap_or("-"))
            }
        }
    }

    #[test]
    fn a_rule_is_registered_when_its_paths_are_proven_for_it() {
        let good = PathState { covered: 20, armed: true, fault: None, is_known: true };
        let fault = Fault { reason: "Unreachable", message: "x509".to_owned() };
        let of = |hook, path: &PathState| registered([(hook, path.clone())], None);
        let fail = |path: &PathState| words(&of(Hook::ValidateFail, path), "a", 20);
        assert_eq!(fail(&good), "Registered Armed");
        assert_eq!(fail(&PathState { armed: false, ..good.clone() }), "Registered Waiting");
        assert_eq!(fail(&PathState { covered: 19, ..good.clone() }), "Waiting Armed");
        assert_eq!(fail(&PathState { is_known: false, ..good.clone() }), "unknown");
        let broken = PathState { fault: Some(fault), armed: false, ..good.clone() };
        assert_eq!(fail(&broken), "Unreachable Unreachable");
        assert_eq!(words(&of(Hook::MutateIgnore, &good), "a", 20), "Registered -");
        assert_eq!(words(&of(Hook::MutateIgnore, &good), "a", 21), "Waiting -");
        assert_eq!(words(&of(Hook::MutateIgnore, &good), "b", 20), "NothingToAsk -");
        let unwritten =
            |path: PathState| words(&registered([(Hook::ValidateFail, path)], Some("forbidden")), "a", 20);
        assert_eq!(unwritten(PathState::default()), "NotWritten Waiting");
        assert_eq!(unwritten(good), "Registered Armed");
        assert_eq!(words(&Registered::ByOthers, "a", 1), "by others");
        let covered = Arc::new([Arc::from("a")].into());
        let observed = Registered::Observed(Observed { version: 20, covered });
        let seen = [("a", 20), ("b", 20), ("a", 21)].map(|(rule, since)| words(&observed, rule, since));
        assert_eq!(seen, ["observed", "by others", "unknown"]);
    }
}
