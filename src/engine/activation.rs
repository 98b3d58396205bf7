//! The variables of one rule, for one parameter object.

use std::cell::{Cell, OnceCell, RefCell};

use usher_cel::document::{self, Options};
use usher_cel::eval::{Activation, Arena, Entry, EvalError, EvalResult, Map, Meter, Opaque, Value};
use usher_cel::library::authorizer::{Authorize, Authorizer, Check};
use usher_cel::library::opaque::OpaqueValue;

use super::budget::PER_CALL;
use super::decide::Query;
use super::documents::Documents;
use super::expression::document_error;
use super::objects::StoredObject;
use super::rule::{Origin, Rule};
use super::slots;

/// `'a`: the rule's evaluation. `'r`: the request's decision, which outlives it.
pub(super) struct RuleActivation<'a, 'r> {
    pub(super) rule: &'a Rule,
    pub(super) documents: &'a Documents<'r>,
    pub(super) query: &'a Query<'a>,
    pub(super) arena: &'a Arena,
    /// The object with the changes made so far; `None`: as received.
    pub(super) object: Cell<Option<Value<'r>>>,
    params: Option<&'a StoredObject>,
    params_value: OnceCell<EvalResult<'a>>,
    pass: Cell<Pass>,
    /// Values and errors of `variables.*` in this pass.
    variables: RefCell<Vec<Option<EvalResult<'a>>>>,
    /// What they cost since this was last asked for.
    variables_cost: Cell<u64>,
}

/// Expressions that are evaluated together and share the values of variables. Kubernetes' passes, see `k8s-semantics` 2.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    MatchConditions,
    Routes,
    Messages,
    AuditAnnotations,
}

impl<'a, 'r> RuleActivation<'a, 'r> {
    pub(super) fn new(
        rule: &'a Rule,
        documents: &'a Documents<'r>,
        query: &'a Query<'a>,
        arena: &'a Arena,
        object: Option<Value<'r>>,
        params: Option<&'a StoredObject>,
    ) -> Self {
        Self {
            rule,
            documents,
            query,
            arena,
            object: Cell::new(object),
            params,
            params_value: OnceCell::new(),
            pass: Cell::new(Pass::MatchConditions),
            variables: RefCell::default(),
            variables_cost: Cell::new(0),
        }
    }

    /// Forgets the values of variables.
    pub(super) fn begin(&self, pass: Pass) {
        self.pass.set(pass);
        self.variables.borrow_mut().clear();
    }

    /// What variables cost since the last call; each has a limit of its own, and their cost counts to the budget of the pass.
    pub(super) fn take_variables_cost(&self) -> u64 {
        self.variables_cost.take()
    }

    fn object(&self) -> EvalResult<'r> {
        self.object.get().map_or_else(|| self.documents.object(), Ok)
    }

    fn request(&self) -> EvalResult<'a> {
        let request = self.documents.request()?;
        // Only `has(request.object)` and the like can see the aliases here; the values themselves are variables.
        if !self.documents.rules.reads_objects_of_request() {
            return Ok(request);
        }
        let Value::Map(map) = request else { return Ok(request) };
        let mut entries = self.arena.list(map.len() + 2)?;
        entries.extend(map.entries())?;
        for (key, value) in [("object", self.object()?), ("oldObject", self.documents.old_object()?)] {
            if !matches!(value, Value::Null) {
                entries.push(Entry { key: Value::String(key), value })?;
            }
        }
        Ok(Value::Map(Map::new(entries.finish(), self.arena)?))
    }

    fn params(&self) -> EvalResult<'a> {
        let Some(params) = self.params else { return Ok(Value::Null) };
        self.params_value
            .get_or_init(|| {
                document::parse(&params.json, self.arena, Options::default())
                    .map_err(|error| document_error("params", &error))
            })
            .clone()
    }

    fn namespace_object(&self) -> EvalResult<'r> {
        // Policies have none in their match conditions.
        if self.pass.get() == Pass::MatchConditions && self.rule.origin != Origin::RoutingRule {
            return Ok(Value::Null);
        }
        self.documents.namespace_object()
    }

    fn variable(&self, index: usize) -> EvalResult<'a> {
        if let Some(Some(known)) = self.variables.borrow().get(index) {
            return known.clone();
        }
        let rule: &'a Rule = self.rule;
        let Some(variable) = rule.variables.get(index) else {
            return Err(EvalError::invalid("undeclared variable"));
        };
        let mut meter = Meter::with_interrupt(PER_CALL, self.query.interrupt);
        let result = variable.expression.evaluate(self, self.arena, &mut meter, None).map_err(|mut error| {
            error.message =
                format!("composited variable {:?} fails to evaluate: {}", variable.name, error.message);
            // The place is in another text than the reader's.
            error.span = None;
            error
        });
        self.variables_cost.set(self.variables_cost.get().saturating_add(meter.spent()));
        let mut variables = self.variables.borrow_mut();
        if variables.len() <= index {
            variables.resize_with(rule.variables.len(), || None);
        }
        variables[index] = Some(result.clone());
        result
    }

    /// A check of the request's own resource, of which only the verb is missing. apiserver `cel/activation.go`.
    fn request_resource(&self) -> OpaqueValue<'a> {
        let request = self.documents.request;
        OpaqueValue::ResourceCheck(Check {
            group: request.resource.group,
            resource: request.resource.resource,
            subresource: request.sub_resource,
            namespace: request.namespace,
            name: request.name,
            ..Check::default()
        })
    }

    fn opaque(&self, value: OpaqueValue<'a>) -> EvalResult<'a> {
        let value: Opaque<'a> = self.arena.alloc(value)?;
        Ok(Value::Opaque(value))
    }
}

impl<'a> Activation<'a> for RuleActivation<'a, '_> {
    fn variable(&self, slot: u32, _meter: &mut Meter<'_>) -> EvalResult<'a> {
        match slot {
            slots::OBJECT | slots::REQUEST_OBJECT => self.object(),
            slots::OLD_OBJECT | slots::REQUEST_OLD_OBJECT => self.documents.old_object(),
            slots::REQUEST => self.request(),
            slots::REQUEST_OPTIONS => self.documents.options(),
            slots::PARAMS => self.params(),
            slots::NAMESPACE_OBJECT => self.namespace_object(),
            slots::AUTHORIZER => self.opaque(OpaqueValue::Authorizer(Authorizer::default())),
            slots::AUTHORIZER_REQUEST_RESOURCE => self.opaque(self.request_resource()),
            slot => self.variable((slot - slots::FIRST_VARIABLE) as usize),
        }
    }

    fn authorizer(&self) -> Option<&dyn Authorize> {
        // A message must not depend on what it costs a round trip to find out.
        self.query.authorizer.filter(|_| self.pass.get() != Pass::Messages)
    }
}
