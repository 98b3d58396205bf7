use std::fmt;

/// Declares the codes: variant, code, one-line meaning. One table, so that a code is never given twice.
macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident $code:literal $meaning:literal,)*) => {
        /// The kind of a fault. A code keeps its meaning for ever; a retired code is not given again.
        ///
        /// U00xx: files and YAML. U01xx: CEL. U02xx: the shape of objects. U03xx: rules as a whole.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = $meaning] $variant,)*
        }

        impl Code {
            /// All codes, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The code as it is printed, such as `U0203`.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// What the code means, in one line.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }
        }
    };
}

codes! {
    FileUnreadable "U0001" "A file or directory cannot be read.",
    FileTooLarge "U0002" "A file is larger than 16 MiB.",
    FileNotText "U0003" "A file is not UTF-8 text.",
    YamlSyntax "U0004" "The text is not well-formed YAML or JSON.",
    DuplicateKey "U0005" "A mapping has the same key twice.",
    YamlTooLarge "U0006" "A document is nested too deeply or grows too large through aliases.",
    YamlUnsupported "U0007" "YAML that has no equivalent in JSON, such as a custom tag.",
    CelSyntax "U0101" "An expression is not well-formed CEL.",
    CelInvalid "U0102" "An expression names something that does not exist, or uses it as what it is not.",
    CelResultType "U0103" "An expression gives a value of another type than the field needs.",
    UnknownVariable "U0104" "An expression reads a variable that the rule does not have.",
    VariableOrder "U0105" "A variable is read before it is declared.",
    CostlyExpression "U0106" "An expression can cost more than one evaluation may, on objects of usual size.",
    SchemaMismatch "U0107" "An expression does not go with the schema of a kind that it is asked about.",
    NotAnObject "U0201" "A document is not a Kubernetes object: it lacks apiVersion or kind.",
    MissingName "U0202" "An object has no metadata.name.",
    UnknownField "U0203" "A field that the kind does not have.",
    WrongType "U0204" "A value of another type than the field has.",
    MissingField "U0205" "A required field is missing.",
    InvalidValue "U0206" "A value that the field does not allow.",
    OutOfBounds "U0207" "A value, text or list outside the bounds of the field.",
    UnknownKind "U0208" "A kind or version of rules or policies that does not exist.",
    DuplicateObject "U0209" "The same object is defined more than once.",
    DuplicateItem "U0210" "A list that is keyed by name has the same name twice.",
    HandlerCount "U0301" "A route has no handler, or more than one; or a handler has no way to act, or more than one.",
    NotYet "U0302" "A feature that this version does not have yet.",
    NoEffect "U0303" "A rule, a mode or a part of a match that can never have an effect.",
    PatchInvalid "U0304" "A literal JSON Patch that the API server would refuse.",
    UnknownParamKind "U0305" "The kind of the parameter objects is not known.",
    NeverIntercepted "U0306" "A rule names what is never intercepted.",
    MatchesEverything "U0307" "A rule looks at every request of the API server.",
    TestFailed "U0308" "A rule does not pass one of its own tests.",
    FailsForEverything "U0309" "A rule that fails closed names every kind of object.",
    HoldsUpDeletions "U0310" "A rule that refuses looks at deletions.",
    RefusesEverything "U0311" "A rule refuses every request that it matches.",
    Untested "U0312" "A rule is in force without a test.",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
