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
    NotAnObject "U0201" "A document is not a Kubernetes object: it lacks apiVersion or kind.",
    MissingName "U0202" "An object has no metadata.name.",
    UnknownField "U0203" "A field that the kind does not have.",
    WrongType "U0204" "A value of another type than the field has.",
    MissingField "U0205" "A required field is missing.",
    InvalidValue "U0206" "A value that the field does not allow.",
    OutOfBounds "U0207" "A value, text or list outside the bounds of the field.",
    UnknownKind "U0208" "A kind or version of usher.dev that does not exist.",
    DuplicateObject "U0209" "The same object is defined more than once.",
    DuplicateItem "U0210" "A list that is keyed by name has the same name twice.",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
