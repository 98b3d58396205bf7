//! What a status should say.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::registration::{Fault, Programmed, Standing, WAITING};
use super::replicas::Acknowledged;
use crate::api::{
    Condition, DiagnosticSeverity, Mode, RoutingRuleStatus, RulePhase, StatusDiagnostic, condition_types,
};
use crate::diagnostic::{Diagnostic, Severity};
use crate::rules::Report;

/// As many diagnostics as the schema allows.
const MOST_DIAGNOSTICS: usize = 64;
/// Characters of a message and of a field that the schema allows.
const MESSAGE: usize = 4096;
const FIELD: usize = 1024;

/// What there is to say of one rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'f> {
    pub(super) generation: i64,
    pub(super) mode: Mode,
    pub(super) report: &'f Report,
    pub(super) acknowledged: Acknowledged,
    pub(super) standing: &'f Standing,
}

/// Status, reason and message of a condition.
type Words = (&'static str, &'static str, String);

/// The status, with the times of conditions that stay as they are taken over from the status that there is.
pub(super) fn status(facts: Facts<'_>, current: &RoutingRuleStatus, now: Timestamp) -> RoutingRuleStatus {
    let Facts { generation, report, acknowledged, standing, .. } = facts;
    let serving = if report.accepted { acknowledged.serving } else { 0 };
    let condition = |type_: &str, (status, reason, message): Words| {
        let before = current.conditions.iter().find(|known| known.type_ == type_ && known.status == status);
        Condition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: cut(&message, MESSAGE),
            observed_generation: Some(generation),
            last_transition_time: before.map_or(Time(now), |known| known.last_transition_time.clone()),
        }
    };
    let mut conditions = vec![
        condition(condition_types::ACCEPTED, accepted(report)),
        condition(condition_types::PROGRAMMED, programmed(report, standing)),
    ];
    if let Standing::Known { armed: Some(armed), .. } = standing {
        let words = match armed {
            Ok(()) => ("True", "Proven", String::new()),
            Err(Fault { reason, message }) => ("False", *reason, message.clone()),
        };
        conditions.push(condition(condition_types::ARMED, words));
    }
    conditions.push(condition(condition_types::READY, ready(facts)));
    RoutingRuleStatus {
        phase: Some(phase(facts)),
        observed_generation: Some(generation),
        served_generation: report.served_generation,
        conditions,
        acknowledged: Some(format!("{serving}/{}", acknowledged.live)),
        diagnostics: report.diagnostics.iter().take(MOST_DIAGNOSTICS).map(diagnostic).collect(),
        cost: None,
    }
}

fn accepted(report: &Report) -> Words {
    let first = report.diagnostics.iter().find(|finding| finding.severity == Severity::Error);
    match (report.accepted, report.served_generation) {
        (true, _) => ("True", "Accepted", String::new()),
        (false, Some(served)) => {
            ("False", "Invalid", format!("generation {served} stays in force: {}", text(first)))
        }
        (false, None) => ("False", "Invalid", text(first)),
    }
}

fn programmed(report: &Report, standing: &Standing) -> Words {
    match standing {
        _ if !report.accepted => ("False", "NotAccepted", "it is not accepted".to_owned()),
        Standing::ByOthers => {
            let message = "this server does not register itself (--register), and cannot see that the API server asks about it";
            ("Unknown", "RegisteredByOthers", message.to_owned())
        }
        Standing::Observed => {
            ("True", "Registered", "by a webhook configuration that others keep".to_owned())
        }
        Standing::Unknown => {
            ("Unknown", WAITING, "the webhook configurations were not looked at yet".to_owned())
        }
        Standing::Known { programmed: Ok(Programmed::Registered), .. } => {
            ("True", "Registered", String::new())
        }
        Standing::Known { programmed: Ok(Programmed::NothingToAsk), .. } => (
            "True",
            "NothingToAsk",
            "there is nothing that the API server would have to ask about".to_owned(),
        ),
        Standing::Known { programmed: Err(Fault { reason, message }), .. } => {
            ("False", reason, message.clone())
        }
    }
}

/// In force everywhere: served by all, asked about, and refused in an outage if that is what the author wrote.
fn ready(Facts { report, acknowledged, standing, .. }: Facts<'_>) -> Words {
    if !report.accepted {
        return ("False", "NotAccepted", "it is not accepted".to_owned());
    }
    if !acknowledged.is_complete() {
        return ("False", WAITING, "not every live replica serves it yet".to_owned());
    }
    match standing {
        Standing::ByOthers => {
            let message = "every live replica serves it; whether the API server asks is not known here";
            ("True", "InForce", message.to_owned())
        }
        Standing::Observed => {
            let message =
                "every live replica serves it, and a webhook configuration that others keep covers it";
            ("True", "InForce", message.to_owned())
        }
        Standing::Unknown => {
            ("False", WAITING, "the webhook configurations were not looked at yet".to_owned())
        }
        Standing::Known { programmed: Err(Fault { reason, message }), .. }
        | Standing::Known { armed: Some(Err(Fault { reason, message })), .. } => {
            ("False", reason, message.clone())
        }
        Standing::Known { .. } => {
            ("True", "InForce", "every live replica serves it, and the API server asks".to_owned())
        }
    }
}

/// One word for people. A rule that was looked at is never Pending again.
fn phase(Facts { mode, report, .. }: Facts<'_>) -> RulePhase {
    match (report.accepted, report.served_generation, mode) {
        (false, None, _) => RulePhase::Invalid,
        (false, Some(_), _) => RulePhase::Degraded,
        (true, _, Mode::Enforce) => RulePhase::Enforcing,
        (true, _, Mode::Warn) => RulePhase::Warn,
        (true, _, Mode::Audit) => RulePhase::Audit,
        (true, _, Mode::Shadow) => RulePhase::Shadow,
        (true, _, Mode::Disabled) => RulePhase::Disabled,
    }
}

fn text(finding: Option<&Diagnostic>) -> String {
    // The message of a condition may have 32 KiB; this is far below.
    finding.map(|finding| cut(&finding.to_string(), MESSAGE)).unwrap_or_default()
}

fn diagnostic(finding: &Diagnostic) -> StatusDiagnostic {
    let message = match &finding.help {
        Some(help) => format!("{}; {help}", finding.message),
        None => finding.message.clone(),
    };
    let number = |number: usize| i32::try_from(number).ok();
    StatusDiagnostic {
        severity: match finding.severity {
            Severity::Error => DiagnosticSeverity::Error,
            Severity::Warning => DiagnosticSeverity::Warning,
        },
        code: finding.code.as_str().to_owned(),
        field: cut(&finding.field, FIELD),
        line: finding.text.as_ref().and_then(|text| number(text.line)),
        column: finding.text.as_ref().and_then(|text| number(text.column)),
        message: cut(&message, MESSAGE),
    }
}

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// How two statuses differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Difference {
    None,
    /// Counts and texts, which can wait.
    Small,
    /// A condition, or what it speaks of.
    Condition,
}

/// How the status that there is differs from the one that there should be. Conditions of others do not count.
pub(super) fn difference(current: &RoutingRuleStatus, wanted: &RoutingRuleStatus) -> Difference {
    let ours = |condition: &&Condition| condition_types::OURS.contains(&condition.type_.as_str());
    let known: Vec<&Condition> = current.conditions.iter().filter(ours).collect();
    let state = |condition: &Condition| {
        (
            condition.type_.clone(),
            condition.status.clone(),
            condition.reason.clone(),
            condition.observed_generation,
        )
    };
    let is_same_state = known.len() == wanted.conditions.len()
        && wanted.conditions.iter().all(|own| known.iter().any(|known| state(known) == state(own)));
    if !is_same_state || current.phase != wanted.phase {
        return Difference::Condition;
    }
    let is_same_text = wanted
        .conditions
        .iter()
        .all(|own| known.iter().any(|known| known.type_ == own.type_ && known.message == own.message));
    let rest = |status: &RoutingRuleStatus| RoutingRuleStatus { conditions: Vec::new(), ..status.clone() };
    if is_same_text && rest(current) == rest(wanted) { Difference::None } else { Difference::Small }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::diagnostic::Code;

    fn report(accepted: bool, served: Option<i64>) -> Report {
        let finding =
            Diagnostic::error(Code::CelSyntax, "no").at("spec.routes[0].predicate").within("a b", 2..3);
        let diagnostics = if accepted { Vec::new() } else { vec![finding] };
        Report { accepted, generation: 2, served_generation: served, diagnostics }
    }

    fn facts(report: &Report, serving: usize, live: usize) -> Facts<'_> {
        let acknowledged = Acknowledged { serving, live };
        Facts { generation: 2, mode: Mode::Enforce, report, acknowledged, standing: &Standing::ByOthers }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn word(status: &RoutingRuleStatus, type_: &str) -> String {
        let condition = status.conditions.iter().find(|condition| condition.type_ == type_).unwrap();
        format!("{} {}", condition.status, condition.reason)
    }

    #[rstest]
    #[case(true, Some(2), 3, 3, ["True Accepted", "True InForce"], "3/3", RulePhase::Enforcing)]
    #[case(true, Some(2), 2, 3, ["True Accepted", "False Waiting"], "2/3", RulePhase::Enforcing)]
    #[case(true, Some(2), 0, 0, ["True Accepted", "False Waiting"], "0/0", RulePhase::Enforcing)]
    #[case(false, Some(1), 3, 3, ["False Invalid", "False NotAccepted"], "0/3", RulePhase::Degraded)]
    #[case(false, None, 3, 3, ["False Invalid", "False NotAccepted"], "0/3", RulePhase::Invalid)]
    fn a_status_says_what_is_in_force(
        #[case] accepted: bool,
        #[case] served: Option<i64>,
        #[case] serving: usize,
        #[case] live: usize,
        #[case] words: [&str; 2],
        #[case] acknowledged: &str,
        #[case] phase: RulePhase,
    ) {
        let report = report(accepted, served);
        let status = status(facts(&report, serving, live), &RoutingRuleStatus::default(), at(0));
        assert_eq!([word(&status, "Accepted"), word(&status, "Ready")], words);
        assert_eq!(status.acknowledged.as_deref(), Some(acknowledged));
        assert_eq!(status.phase, Some(phase));
        assert_eq!((status.observed_generation, status.served_generation), (Some(2), served));
        let place = status.diagnostics.first().map(|found| (found.line, found.column));
        assert_eq!(place, (!accepted).then_some((Some(1), Some(3))));
    }

    #[test]
    fn a_condition_keeps_its_time_until_its_status_flips() {
        let good = report(true, Some(2));
        let first = status(facts(&good, 1, 2), &RoutingRuleStatus::default(), at(1));
        let again = status(facts(&good, 1, 2), &first, at(2));
        assert_eq!(difference(&first, &again), Difference::None);
        assert_eq!(first, again);
        let later = status(facts(&good, 2, 2), &again, at(3));
        let times: Vec<i64> = later.conditions.iter().map(|c| c.last_transition_time.0.as_second()).collect();
        assert_eq!(times, [1, 1, 3]);
        assert_eq!(difference(&again, &later), Difference::Condition);
        let fewer = status(facts(&good, 1, 3), &first, at(2));
        assert_eq!(difference(&first, &fewer), Difference::Small);
    }

    fn known(
        programmed: Result<Programmed, &'static str>,
        armed: Option<Result<(), &'static str>>,
    ) -> Standing {
        let fault = |reason| Fault { reason, message: String::new() };
        Standing::Known {
            programmed: programmed.map_err(fault),
            armed: armed.map(|armed| armed.map_err(fault)),
        }
    }

    #[rstest]
    #[case(Standing::ByOthers, ["Unknown RegisteredByOthers", "-", "True InForce"])]
    #[case(Standing::Observed, ["True Registered", "-", "True InForce"])]
    #[case(Standing::Unknown, ["Unknown Waiting", "-", "False Waiting"])]
    #[case(known(Ok(Programmed::Registered), None), ["True Registered", "-", "True InForce"])]
    #[case(known(Ok(Programmed::NothingToAsk), None), ["True NothingToAsk", "-", "True InForce"])]
    #[case(known(Ok(Programmed::Registered), Some(Ok(()))), ["True Registered", "True Proven", "True InForce"])]
    #[case(known(Ok(Programmed::Registered), Some(Err("Waiting"))), ["True Registered", "False Waiting", "False Waiting"])]
    #[case(known(Err("Unreachable"), Some(Err("Unreachable"))), ["False Unreachable", "False Unreachable", "False Unreachable"])]
    fn a_rule_is_ready_when_the_api_server_asks_about_it(
        #[case] standing: Standing,
        #[case] expected: [&str; 3],
    ) {
        let good = report(true, Some(2));
        let facts = Facts { standing: &standing, ..facts(&good, 1, 1) };
        let status = status(facts, &RoutingRuleStatus::default(), at(0));
        let has = |type_: &str| status.conditions.iter().any(|condition| condition.type_ == type_);
        let armed = if has("Armed") { word(&status, "Armed") } else { "-".to_owned() };
        assert_eq!([word(&status, "Programmed"), armed, word(&status, "Ready")], expected);
    }

    #[test]
    fn a_condition_that_says_nothing_any_more_is_a_difference() {
        let good = report(true, Some(2));
        let standing = known(Ok(Programmed::Registered), Some(Ok(())));
        let armed =
            status(Facts { standing: &standing, ..facts(&good, 1, 1) }, &RoutingRuleStatus::default(), at(0));
        let standing = known(Ok(Programmed::Registered), None);
        let open = status(Facts { standing: &standing, ..facts(&good, 1, 1) }, &armed, at(0));
        assert_eq!(difference(&armed, &open), Difference::Condition);
    }

    #[test]
    fn conditions_of_others_are_no_difference() {
        let good = report(true, Some(2));
        let wanted = status(facts(&good, 1, 1), &RoutingRuleStatus::default(), at(1));
        let mut current = wanted.clone();
        let foreign = Condition { type_: "example.com/Reviewed".to_owned(), ..wanted.conditions[0].clone() };
        current.conditions.push(foreign);
        assert_eq!(difference(&current, &wanted), Difference::None);
    }
}
