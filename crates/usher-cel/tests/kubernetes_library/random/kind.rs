//! The types that expressions are drawn for.

use usher_cel::library::Ty;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A type without parts.
    Plain(Ty),
    List(Box<Self>),
    Map(Box<Self>, Box<Self>),
    Optional(Box<Self>),
}

pub(crate) const BOOL: Kind = Kind::Plain(Ty::Bool);
pub(crate) const INT: Kind = Kind::Plain(Ty::Int);
pub(crate) const STRING: Kind = Kind::Plain(Ty::String);
pub(crate) const DYN: Kind = Kind::Plain(Ty::Dyn);

/// Of type dyn, most of them read from the object.
const VALUES: &[&str] = &[
    "object",
    "object.i",
    "object.s",
    "object.d",
    "object.b",
    "object.l",
    "object.m",
    "object.n",
    "object.m.a",
    "object.missing",
    "object.l[0]",
    "dyn(1)",
    "dyn('a')",
    "dyn([1, 2])",
    "dyn({'a': 1})",
    "dyn(1.0)",
    "dyn(null)",
    "dyn(1u)",
];

impl Kind {
    /// Texts of this type, boundaries among them; for `dyn` also what reads the object.
    pub(crate) fn literals(&self) -> &'static [&'static str] {
        let Self::Plain(ty) = self else { return VALUES };
        match ty {
            Ty::Bool => &["true", "false"],
            Ty::Int => &["0", "1", "-1", "2", "7", "9223372036854775807", "-9223372036854775808"],
            Ty::Uint => &["0u", "1u", "3u", "18446744073709551615u"],
            Ty::Double => &["0.0", "1.5", "-2.25", "1e300", "9007199254740993.0", "-0.0"],
            Ty::String => &[
                "''",
                "'a'",
                "'abc'",
                "'a,b,c'",
                "'12'",
                "'é𝄞'",
                "'1.2.3'",
                "'10.0.0.1'",
                "'10.0.0.0/8'",
                "'::1'",
                "'1Gi'",
                "'1h'",
                "'2024-02-29T12:00:00Z'",
                "'https://a.b:80/c?d=e'",
                "'[a-c]+'",
                "'UTC'",
                "'%s'",
                "'true'",
                "'get'",
                "'a.b/c~d'",
                "'1.0.0-rc.1'",
                "'fe80::1'",
                "'2001:db8::/32'",
                "'-200m'",
                "'1.5e3'",
                "'my-name'",
                "'prefix/my_name'",
                "'MTIz'",
                "'dns1123Label'",
                "'9b5f1a0e-0d2c-4d8a-9e44-5a1f4bf7a1c3'",
                "'(a|b)*c?'",
                "'%d %.2f %x'",
                "'/path?q=1&q=2'",
                "'a=b,c in (d)'",
            ],
            Ty::Bytes => &["b''", "b'a'", "b'\\xff'"],
            Ty::Timestamp => &[
                "timestamp('2024-02-29T12:34:56.789Z')",
                "timestamp('0001-01-01T00:00:00Z')",
                "timestamp(0)",
            ],
            Ty::Duration => {
                &["duration('1h')", "duration('-1.5s')", "duration('0s')", "duration('90061001ms')"]
            }
            Ty::Type => &["int", "string", "type(1)", "list"],
            Ty::Null => &["null"],
            Ty::Opaque("kubernetes.Quantity") => &["quantity('1Gi')", "quantity('-200m')", "quantity('0')"],
            Ty::Opaque("kubernetes.URL") => &["url('https://user@a.b:80/c?d=e&d=f')", "url('/x')"],
            Ty::Opaque("kubernetes.Semver") => &["semver('1.2.3')", "semver('1.0.0-rc.1')"],
            Ty::Opaque("kubernetes.NamedFormat") => {
                &["format.dns1123Label()", "format.uuid()", "format.date()"]
            }
            Ty::Opaque("net.IP") => &["ip('10.0.0.1')", "ip('::1')", "ip('fe80::1')"],
            Ty::Opaque("net.CIDR") => &["cidr('10.0.0.0/8')", "cidr('2001:db8::/32')"],
            Ty::Opaque("kubernetes.authorization.Authorizer") => &["authorizer"],
            Ty::Opaque("kubernetes.authorization.PathCheck") => &["authorizer.path('/healthz')"],
            Ty::Opaque("kubernetes.authorization.GroupCheck") => &["authorizer.group('apps')"],
            Ty::Opaque("kubernetes.authorization.ResourceCheck") => {
                &["authorizer.group('').resource('pods')"]
            }
            Ty::Opaque("kubernetes.authorization.Decision") => &["authorizer.path('/a').check('get')"],
            _ => VALUES,
        }
    }
}

/// What the parameters of a signature stand for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bindings(Vec<(&'static str, Kind)>);

impl Bindings {
    /// Whether a result of type `ty` is a `kind`; binds the parameters that make it one.
    pub(crate) fn unify(&mut self, ty: Ty, kind: &Kind) -> bool {
        match (ty, kind) {
            (Ty::Param(name), kind) => match self.0.iter().find(|(known, _)| *known == name) {
                Some((_, bound)) => bound == kind,
                None => {
                    self.0.push((name, kind.clone()));
                    true
                }
            },
            (Ty::List(ty), Kind::List(kind)) | (Ty::Optional(ty), Kind::Optional(kind)) => {
                self.unify(*ty, kind)
            }
            (Ty::Map(key, value), Kind::Map(of, to)) => self.unify(*key, of) && self.unify(*value, to),
            (Ty::List(_) | Ty::Optional(_) | Ty::Map(..), _) => false,
            (ty, kind) => Kind::Plain(ty) == *kind,
        }
    }

    /// The type of an argument; `fresh` draws what nothing has bound.
    pub(crate) fn resolve(&mut self, ty: Ty, fresh: &mut impl FnMut() -> Kind) -> Kind {
        match ty {
            Ty::List(ty) => Kind::List(Box::new(self.resolve(*ty, fresh))),
            Ty::Optional(ty) => Kind::Optional(Box::new(self.resolve(*ty, fresh))),
            Ty::Map(key, value) => {
                Kind::Map(Box::new(self.resolve(*key, fresh)), Box::new(self.resolve(*value, fresh)))
            }
            Ty::Param(name) => {
                if let Some((_, bound)) = self.0.iter().find(|(known, _)| *known == name) {
                    return bound.clone();
                }
                let kind = fresh();
                self.0.push((name, kind.clone()));
                kind
            }
            plain => Kind::Plain(plain),
        }
    }
}
