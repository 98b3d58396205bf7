//! By what the cost of each library function grows: one table for evaluations that fail and for estimates. apiserver `CostEstimator`
//! (`pkg/cel/library/cost.go`), cel-go `checker/cost.go` (`functionCost`), `ext/lists.go`, `ext/sets.go`.

use crate::library::{Form, Overload, Ty};

/// By what a call's cost grows. Operands are numbered from 0, the receiver of a member function first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    /// 1, whatever the operands.
    Nominal,
    /// One question to the authorizer.
    Check,
    /// A selector in operand 1.
    Selector,
    /// A walk through what operand 0 holds. `anything`: it may be other than a list or string.
    Walk {
        anything: bool,
    },
    /// The length of operand 0; `keeps`: which the result has as well.
    Traversal {
        keeps: bool,
    },
    /// Twice the length of operand 0.
    Canonical,
    Replace,
    Split,
    Join,
    /// A regular expression, operand 1, on operand 0; `found`: the result is made of what is found.
    Search {
        found: bool,
    },
    /// The length of operand 1; with `by_text`, in evaluations, that of operand 0.
    Affix {
        by_text: bool,
    },
    Contains,
    /// A network, operand 0, and an address or network in it, which may be `text`.
    Network {
        masked: bool,
        text: bool,
    },
    /// Each element of operand 0 with each of operand 1, so many times.
    Sets {
        passes: u64,
    },
    Slice,
    Range,
    Reverse,
    Flatten,
    Distinct,
    /// `by`: the operand whose elements are compared; `text`: they are strings or bytes.
    Sort {
        by: usize,
        text: bool,
    },
    /// A format, operand 0, and a text.
    Validate,
    Quote,
    /// The template, operand 0.
    Format,
    TextToBytes,
    BytesToText,
}

impl Model {
    /// The model of a function. Kubernetes looks only at the name, cel-go at the overload.
    pub(crate) fn of(overload: &Overload) -> Self {
        let texts = |ty: Option<&Ty>| matches!(ty, Some(Ty::List(Ty::String | Ty::Bytes)));
        let before_1_37 = overload.until < 37;
        let second_is_text = matches!(overload.params, [_, Ty::String]);
        match overload.name {
            "check" => Self::Check,
            "fieldSelector" | "labelSelector" => Self::Selector,
            "includes" => Self::Walk { anything: true },
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => Self::Walk { anything: false },
            "url" | "jsonpatch.escapeKey" | "lowerAscii" | "upperAscii" | "substring" | "trim" => {
                Self::Traversal { keeps: true }
            }
            // The address of a network, as against the parsing of one.
            "ip" if overload.form == Form::Member => Self::Nominal,
            "ip" | "isIP" | "cidr" | "isCIDR" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
                Self::Traversal { keeps: false }
            }
            "ip.isCanonical" => Self::Canonical,
            "replace" => Self::Replace,
            "split" => Self::Split,
            "join" => Self::Join,
            "find" | "findAll" => Self::Search { found: true },
            // Up to 1.36 only the member function has a cost of its own.
            "matches" if before_1_37 && overload.form == Form::Global => Self::Nominal,
            "matches" => Self::Search { found: false },
            "startsWith" | "endsWith" => Self::Affix { by_text: before_1_37 },
            "contains" => Self::Contains,
            "containsIP" => Self::Network { masked: false, text: second_is_text },
            "containsCIDR" => Self::Network { masked: true, text: second_is_text },
            "sets.contains" | "sets.intersects" => Self::Sets { passes: 1 },
            "sets.equivalent" => Self::Sets { passes: 2 },
            "slice" => Self::Slice,
            "lists.range" => Self::Range,
            "reverse" => Self::Reverse,
            "flatten" => Self::Flatten,
            "distinct" => Self::Distinct,
            "sort" => Self::Sort { by: 0, text: texts(overload.params.first()) },
            "@sortByAssociatedKeys" => Self::Sort { by: 1, text: texts(overload.params.get(1)) },
            "validate" => Self::Validate,
            "strings.quote" => Self::Quote,
            "format" => Self::Format,
            "bytes" if overload.params == [Ty::String] => Self::TextToBytes,
            "string" if overload.params == [Ty::Bytes] => Self::BytesToText,
            _ => Self::Nominal,
        }
    }
}
