//! What the types of values can do in cel-go, and what Go calls them: only the texts of errors depend on it.

use super::error::{ErrorKind, EvalError};
use super::value::Value;
use crate::ast::operators as op;
use crate::library::opaque::OpaqueValue;

/// The error of an operator or function on `receiver`, which says that there is no such overload: with the function's name where a value
/// like the receiver never is what it works on. cel-go's traits (`common/types/types.go`) and `evalBinary`.
#[cold]
pub(super) fn refusal(error: Box<EvalError>, function: &str, receiver: &Value<'_>) -> Box<EvalError> {
    if error.kind != ErrorKind::NoSuchOverload || has_trait(function, receiver) || is_receiver(receiver) {
        return error;
    }
    EvalError::no_such_overload_of(format_args!("{function}"))
}

/// Whether the type of the value has the function at all, for some arguments.
fn has_trait(function: &str, value: &Value<'_>) -> bool {
    let is_number = matches!(value, Value::Int(_) | Value::Uint(_) | Value::Double(_));
    match function {
        op::ADD => {
            is_number
                || matches!(
                    value,
                    Value::Bytes(_)
                        | Value::String(_)
                        | Value::List(_)
                        | Value::Duration(_)
                        | Value::Timestamp(_)
                )
        }
        op::SUBTRACT => is_number || matches!(value, Value::Duration(_) | Value::Timestamp(_)),
        op::MULTIPLY | op::DIVIDE => is_number,
        op::MODULO => matches!(value, Value::Int(_) | Value::Uint(_)),
        op::NEGATE => matches!(value, Value::Int(_) | Value::Double(_) | Value::Bool(_) | Value::Duration(_)),
        op::LESS | op::LESS_EQUALS | op::GREATER | op::GREATER_EQUALS => super::is_comparable(value),
        "size" => matches!(value, Value::Bytes(_) | Value::String(_) | Value::List(_) | Value::Map(_)),
        "matches" => matches!(value, Value::String(_)),
        "sort" | "@sortByAssociatedKeys" => matches!(value, Value::List(_)),
        _ => true,
    }
}

/// Types that look for a function themselves, and do not name it when they have none.
fn is_receiver(value: &Value<'_>) -> bool {
    matches!(value, Value::String(_) | Value::Duration(_) | Value::Timestamp(_))
}

/// Go's `%v` of the type of a value.
pub(super) fn type_text(value: &Value<'_>) -> &'static str {
    match value {
        Value::List(_) => "list(dyn)",
        Value::Map(_) => "map(dyn, dyn)",
        Value::Optional(_) => "optional_type(dyn)",
        Value::Opaque(opaque) => opaque.type_name(),
        Value::Object(_) => "Object",
        Value::Type(_) => "type",
        Value::Null => "null_type",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int",
        Value::Uint(_) => "uint",
        Value::Double(_) => "double",
        Value::String(_) => "string",
        Value::Bytes(_) => "bytes",
        Value::Timestamp(_) => "google.protobuf.Timestamp",
        Value::Duration(_) => "google.protobuf.Duration",
    }
}

/// Go's `%T` of a value that an operation made. Lists and maps that come straight out of a document are [`native_type`]s.
pub(super) fn go_type(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "types.Null",
        Value::Bool(_) => "types.Bool",
        Value::Int(_) => "types.Int",
        Value::Uint(_) => "types.Uint",
        Value::Double(_) => "types.Double",
        Value::String(_) => "types.String",
        Value::Bytes(_) => "types.Bytes",
        Value::Timestamp(_) => "types.Timestamp",
        Value::Duration(_) => "types.Duration",
        Value::List(_) => "*types.baseList",
        Value::Map(_) => "*types.baseMap",
        Value::Optional(_) => "*types.Optional",
        Value::Type(_) => "*types.Type",
        Value::Object(_) => "*dynamic.ObjectVal",
        Value::Opaque(opaque) => match opaque {
            OpaqueValue::Authorizer(_) => "library.authorizerVal",
            OpaqueValue::PathCheck(_) => "library.pathCheckVal",
            OpaqueValue::GroupCheck(_) => "library.groupCheckVal",
            OpaqueValue::ResourceCheck(_) => "library.resourceCheckVal",
            OpaqueValue::Decision(_) => "library.decisionVal",
            OpaqueValue::Quantity(_) => "cel.Quantity",
            OpaqueValue::Semver(_) => "cel.Semver",
            OpaqueValue::Format(_) => "*cel.Format",
            OpaqueValue::Url(_) => "cel.URL",
            OpaqueValue::Ip(_) => "cel.IP",
            OpaqueValue::Cidr(_) => "cel.CIDR",
        },
    }
}

/// Go's `%T` of a value as it stands in a document.
pub(super) fn native_type(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::List(_) => "[]interface {}",
        Value::Map(_) => "map[string]interface {}",
        other => go_type(other),
    }
}
