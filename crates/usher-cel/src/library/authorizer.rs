//! `authorizer`: may the requesting user do something else? apiserver `pkg/cel/library/authz.go`.
//!
//! Expressions put a [`Check`] together (`authorizer.group('').resource('pods').namespace('x')`), `check(verb)` asks the [`Authorize`] of
//! the evaluation, and the [`Answer`] tells the outcome.

use super::cost;
use super::names;
use super::opaque::OpaqueValue;
use super::overload::{Call, Overload, Ty};
use crate::eval::{EvalError, EvalResult, Value};

const AUTHORIZER: Ty = Ty::Opaque("kubernetes.authorization.Authorizer");
const PATH_CHECK: Ty = Ty::Opaque("kubernetes.authorization.PathCheck");
const GROUP_CHECK: Ty = Ty::Opaque("kubernetes.authorization.GroupCheck");
const RESOURCE_CHECK: Ty = Ty::Opaque("kubernetes.authorization.ResourceCheck");
const DECISION: Ty = Ty::Opaque("kubernetes.authorization.Decision");

const SINCE: u8 = 27;
const ERRORS_SINCE: u8 = 28;
const SELECTORS_SINCE: u8 = 31;
const ON_RESOURCE: &[Ty] = &[RESOURCE_CHECK, Ty::String];

pub(super) const OVERLOADS: &[Overload] = &[
    Overload::member(SINCE, "path", &[AUTHORIZER, Ty::String], PATH_CHECK, path),
    Overload::member(SINCE, "group", &[AUTHORIZER, Ty::String], GROUP_CHECK, group),
    Overload::member(
        SINCE,
        "serviceAccount",
        &[AUTHORIZER, Ty::String, Ty::String],
        AUTHORIZER,
        service_account,
    ),
    Overload::member(SINCE, "resource", &[GROUP_CHECK, Ty::String], RESOURCE_CHECK, resource),
    Overload::member(SINCE, "subresource", ON_RESOURCE, RESOURCE_CHECK, |call, args| {
        narrow(call, args, |check, subresource| Check { subresource, ..check })
    }),
    Overload::member(SINCE, "namespace", ON_RESOURCE, RESOURCE_CHECK, |call, args| {
        narrow(call, args, |check, namespace| Check { namespace, ..check })
    }),
    Overload::member(SINCE, "name", ON_RESOURCE, RESOURCE_CHECK, |call, args| {
        narrow(call, args, |check, name| Check { name, ..check })
    }),
    Overload::member(SELECTORS_SINCE, "fieldSelector", ON_RESOURCE, RESOURCE_CHECK, |call, args| {
        select(call, args, |check, field_selector| Check { field_selector, ..check })
    }),
    Overload::member(SELECTORS_SINCE, "labelSelector", ON_RESOURCE, RESOURCE_CHECK, |call, args| {
        select(call, args, |check, label_selector| Check { label_selector, ..check })
    }),
    Overload::member(SINCE, "check", &[PATH_CHECK, Ty::String], DECISION, check),
    Overload::member(SINCE, "check", ON_RESOURCE, DECISION, check),
    Overload::member(SINCE, "allowed", &[DECISION], Ty::Bool, |call, args| {
        Ok(Value::Bool(answer(call, args)?.allowed))
    }),
    Overload::member(SINCE, "reason", &[DECISION], Ty::String, |call, args| {
        Ok(Value::String(answer(call, args)?.reason))
    }),
    Overload::member(ERRORS_SINCE, "errored", &[DECISION], Ty::Bool, |call, args| {
        Ok(Value::Bool(answer(call, args)?.error.is_some()))
    }),
    Overload::member(ERRORS_SINCE, "error", &[DECISION], Ty::String, |call, args| {
        Ok(Value::String(answer(call, args)?.error.unwrap_or_default()))
    }),
];

/// Answers one access check. The server implements it; the crate only describes the question.
pub trait Authorize {
    fn check(&self, check: &Check<'_>) -> Decision;
}

/// The attributes of a SubjectAccessReview that an expression has put together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Check<'a> {
    /// `Some((namespace, name))` when the check is for a service account instead of the requesting user.
    pub service_account: Option<(&'a str, &'a str)>,
    /// A non-resource path; the resource fields are empty then.
    pub path: &'a str,
    pub group: &'a str,
    pub resource: &'a str,
    pub subresource: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
    pub verb: &'a str,
    /// As written, not parsed: Kubernetes drops a selector that cannot be parsed from the check.
    pub field_selector: &'a str,
    /// As `field_selector`.
    pub label_selector: &'a str,
}

/// The answer to a [`Check`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    pub allowed: bool,
    pub reason: String,
    /// Text of the error that kept the authorizer from answering, if any.
    pub error: Option<String>,
}

/// The value of the variable `authorizer`: a check that nothing was said about yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Authorizer<'a> {
    pub check: Check<'a>,
}

/// A [`Decision`] in the arena of an evaluation.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    allowed: bool,
    reason: &'a str,
    error: Option<&'a str>,
}

fn path<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    let (check, [path]) = receiver(args)?;
    if path.trim().is_empty() {
        return Err(EvalError::invalid("path must not be empty"));
    }
    OpaqueValue::PathCheck(Check { path, ..check }).into_value(call.arena)
}

fn group<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    let (check, [group]) = receiver(args)?;
    OpaqueValue::GroupCheck(Check { group, ..check }).into_value(call.arena)
}

fn service_account<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    let (check, [namespace, name]) = receiver(args)?;
    if !names::is_dns1123_subdomain(name) {
        return Err(EvalError::invalid("Invalid service account name"));
    }
    if !names::is_dns1123_label(namespace) {
        return Err(EvalError::invalid("Invalid service account namespace"));
    }
    let check = Check { service_account: Some((namespace, name)), ..check };
    OpaqueValue::Authorizer(Authorizer { check }).into_value(call.arena)
}

fn resource<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    let (check, [resource]) = receiver(args)?;
    if resource.trim().is_empty() {
        return Err(EvalError::invalid("resource must not be empty"));
    }
    OpaqueValue::ResourceCheck(Check { resource, ..check }).into_value(call.arena)
}

type Narrow<'a> = fn(Check<'a>, &'a str) -> Check<'a>;

fn narrow<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>], narrow: Narrow<'a>) -> EvalResult<'a> {
    call.charge(1)?;
    let (check, [text]) = receiver(args)?;
    OpaqueValue::ResourceCheck(narrow(check, text)).into_value(call.arena)
}

fn select<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>], narrow: Narrow<'a>) -> EvalResult<'a> {
    let (check, [selector]) = receiver(args)?;
    call.charge(cost::selector(cost::size(selector)))?;
    OpaqueValue::ResourceCheck(narrow(check, selector)).into_value(call.arena)
}

fn check<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(cost::CHECK)?;
    let (check, [verb]) = receiver(args)?;
    let Some(authorizer) = call.authorizer else {
        return Err(EvalError::invalid(
            "no authorizer is configured: authorizer checks cannot be answered here",
        ));
    };
    let decision = authorizer.check(&Check { verb, ..check });
    let error = match &decision.error {
        Some(error) => Some(call.arena.alloc_str(error)?),
        None => None,
    };
    let reason = call.arena.alloc_str(&decision.reason)?;
    OpaqueValue::Decision(Answer { allowed: decision.allowed, reason, error }).into_value(call.arena)
}

fn answer<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> Result<Answer<'a>, Box<EvalError>> {
    call.charge(1)?;
    match args {
        [Value::Opaque(OpaqueValue::Decision(answer))] => Ok(*answer),
        _ => Err(EvalError::no_such_overload()),
    }
}

/// The check so far and the strings that come after it.
fn receiver<'a, const N: usize>(args: &[Value<'a>]) -> Result<(Check<'a>, [&'a str; N]), Box<EvalError>> {
    let [Value::Opaque(receiver), texts @ ..] = args else { return Err(EvalError::no_such_overload()) };
    let check = match receiver {
        OpaqueValue::Authorizer(authorizer) => authorizer.check,
        OpaqueValue::PathCheck(check)
        | OpaqueValue::GroupCheck(check)
        | OpaqueValue::ResourceCheck(check) => *check,
        _ => return Err(EvalError::no_such_overload()),
    };
    let mut strings = [""; N];
    if texts.len() != N {
        return Err(EvalError::no_such_overload());
    }
    for (string, text) in strings.iter_mut().zip(texts) {
        let Value::String(text) = text else { return Err(EvalError::no_such_overload()) };
        *string = text;
    }
    Ok((check, strings))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use rstest::rstest;

    use super::super::testing::{Library, show, string};
    use super::*;

    /// Writes the question down and gives a fixed answer.
    struct Recorder {
        asked: RefCell<String>,
        decision: Decision,
    }

    impl Authorize for Recorder {
        fn check(&self, check: &Check<'_>) -> Decision {
            *self.asked.borrow_mut() = format!("{check:?}");
            self.decision.clone()
        }
    }

    fn recorder(decision: Decision) -> Recorder {
        Recorder { asked: RefCell::default(), decision }
    }

    #[test]
    fn a_resource_check_asks_with_everything_that_was_said() {
        let recorder = recorder(Decision { allowed: true, reason: "because".into(), error: None });
        let library = Library::with_authorizer(&recorder);
        let start = OpaqueValue::Authorizer(Authorizer::default());
        let mut value = Value::Opaque(&start);
        for (step, args) in [
            ("serviceAccount", &["ns", "sa"][..]),
            ("group", &["apps"]),
            ("resource", &["deployments"]),
            ("subresource", &["scale"]),
            ("namespace", &["default"]),
            ("name", &["web"]),
            ("fieldSelector", &["a=b"]),
            ("labelSelector", &["c"]),
            ("check", &["update"]),
        ] {
            let args: Vec<_> = [value].into_iter().chain(args.iter().copied().map(string)).collect();
            value = library.member(step, &args).expect(step);
        }
        let asked = Check {
            service_account: Some(("ns", "sa")),
            path: "",
            group: "apps",
            resource: "deployments",
            subresource: "scale",
            namespace: "default",
            name: "web",
            verb: "update",
            field_selector: "a=b",
            label_selector: "c",
        };
        assert_eq!(*recorder.asked.borrow(), format!("{asked:?}"));
        assert_eq!(library.spent(), 6 + 111 + (10 + 1 + 50) + 350_000);
        let said = ["allowed", "reason", "errored", "error"].map(|name| show(library.member(name, &[value])));
        assert_eq!(said.join(" "), "true \"because\" false \"\"");
    }

    #[test]
    fn a_path_check_that_failed_is_not_allowed_and_tells_its_error() {
        let error = Some("webhook down".to_owned());
        let recorder = recorder(Decision { allowed: false, reason: String::new(), error });
        let library = Library::with_authorizer(&recorder);
        let start = OpaqueValue::Authorizer(Authorizer::default());
        let path =
            library.member("path", &[Value::Opaque(&start), string("/healthz")]).expect("a path check");
        let decision = library.member("check", &[path, string("get")]).expect("a decision");
        let said =
            ["allowed", "reason", "errored", "error"].map(|name| show(library.member(name, &[decision])));
        assert_eq!(said.join(" "), "false \"\" true \"webhook down\"");
    }

    #[rstest]
    #[case::blank_path("path", &["  "], "path must not be empty")]
    #[case::bad_account("serviceAccount", &["ns", "A"], "Invalid service account name")]
    #[case::bad_namespace("serviceAccount", &["a.b", "sa"], "Invalid service account namespace")]
    fn bad_arguments_are_errors(#[case] step: &str, #[case] args: &[&str], #[case] error: &str) {
        let library = Library::default();
        let start = OpaqueValue::Authorizer(Authorizer::default());
        let args: Vec<_> =
            [Value::Opaque(&start)].into_iter().chain(args.iter().copied().map(string)).collect();
        assert_eq!(show(library.member(step, &args)), error);
    }

    #[test]
    fn a_blank_resource_is_an_error() {
        let library = Library::default();
        let start = OpaqueValue::GroupCheck(Check::default());
        let answer = library.member("resource", &[Value::Opaque(&start), string("")]);
        assert_eq!(show(answer), "resource must not be empty");
    }

    #[test]
    fn without_an_authorizer_a_check_is_an_error_and_still_costs() {
        let library = Library::default();
        let start = OpaqueValue::PathCheck(Check { path: "/", ..Check::default() });
        let answer = show(library.member("check", &[Value::Opaque(&start), string("get")]));
        assert!(answer.contains("no authorizer is configured"), "{answer}");
        assert_eq!(library.spent(), 350_000);
    }
}
