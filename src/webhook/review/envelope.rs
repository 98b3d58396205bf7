//! Reading an AdmissionReview.

use std::borrow::Cow;

use bumpalo::Bump;
use usher_cel::document::{JsonError, Kind, Scanner};

use super::ReviewVersion;
use crate::engine::{GroupVersionKind, GroupVersionResource, Operation, Request, UserInfo};

/// More groups than any directory gives a user; each is a pointer and a length.
const MAX_GROUPS: usize = 10_000;

/// Longest uid in bytes. Kubernetes' have 36. A uid is echoed and logged, and an answer waits in memory until its reader takes it: with no
/// bound, whoever can connect could fill the memory with a few connections.
const MAX_UID: usize = 16 * 1024;

/// A review that can be decided.
#[derive(Debug)]
pub struct Review<'b> {
    pub version: ReviewVersion,
    pub request: Request<'b>,
}

/// A body that is no review, or one that cannot be decided.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal<'b> {
    pub version: ReviewVersion,
    /// Without it there is nothing to answer to.
    pub uid: Option<&'b str>,
    pub message: String,
}

/// Reads a review. Strings with escapes are kept in `memory`, all others borrow from `body`.
///
/// The uid is reported even if what follows it is broken or missing, so that a prefix of a body is enough to answer it.
///
/// # Errors
/// What is wrong, where, and the uid if there is one.
pub fn parse<'b>(body: &'b [u8], memory: &'b Bump) -> Result<Review<'b>, Refusal<'b>> {
    let (text, broken) = match std::str::from_utf8(body) {
        Ok(text) => (text, None),
        Err(error) => {
            let valid = &body[..error.valid_up_to()];
            (
                std::str::from_utf8(valid).unwrap_or_default(),
                Some(format!("invalid UTF-8 at byte {}", valid.len())),
            )
        }
    };
    // Kubernetes' decoder refuses a byte order mark too, but behind it the uid can be read.
    let (text, broken) = match text.strip_prefix('\u{feff}') {
        Some(rest) => (
            rest,
            Some("invalid JSON at byte 0: found a byte order mark, expected an AdmissionReview".to_owned()),
        ),
        None => (text, broken),
    };
    let mut reader = Reader { scanner: Scanner::new(text), memory, envelope: Envelope::default() };
    let read = reader.document();
    let Reader { scanner, envelope, .. } = reader;
    let result = match (broken, read) {
        (Some(broken), _) => Err(broken),
        (None, Err(fault)) => Err(fault),
        (None, Ok(())) => scanner.finish().map_err(|error| error.to_string()).and_then(|()| envelope.check()),
    };
    let version = envelope.version().unwrap_or_default();
    match result {
        Ok((version, operation)) => {
            Ok(Review { version, request: Request { operation, ..envelope.request } })
        }
        Err(message) => Err(Refusal { version, uid: envelope.uid(), message }),
    }
}

/// What was read so far.
#[derive(Debug, Default)]
struct Envelope<'b> {
    api_version: Option<&'b str>,
    kind: Option<&'b str>,
    has_request: bool,
    /// `response.uid`, of an answer that was sent to us by mistake.
    response_uid: Option<&'b str>,
    operation: Option<&'b str>,
    /// Two uids: it is not known which one is meant.
    is_ambiguous: bool,
    request: Request<'b>,
}

impl<'b> Envelope<'b> {
    fn version(&self) -> Option<ReviewVersion> {
        ReviewVersion::ALL.into_iter().find(|version| Some(version.api_version()) == self.api_version)
    }

    fn uid(&self) -> Option<&'b str> {
        let uid = if self.has_request { self.request.uid } else { self.response_uid.unwrap_or_default() };
        (!uid.is_empty() && uid.len() <= MAX_UID && !self.is_ambiguous).then_some(uid)
    }

    /// Whether the review as a whole makes sense.
    fn check(&self) -> Result<(ReviewVersion, Operation), String> {
        if self.kind != Some("AdmissionReview") {
            return Err(format!("kind: expected \"AdmissionReview\", found {}", quoted(self.kind)));
        }
        let version = self.version().ok_or_else(|| {
            let found = quoted(self.api_version);
            format!(
                "apiVersion: expected \"admission.k8s.io/v1\" or \"admission.k8s.io/v1beta1\", found {found}"
            )
        })?;
        if !self.has_request {
            return Err("request: missing; a webhook is sent reviews with a request".to_owned());
        }
        if self.request.uid.is_empty() {
            return Err("request.uid: missing or empty; an answer could not be told from another".to_owned());
        }
        if self.request.uid.len() > MAX_UID {
            return Err(format!("request.uid: longer than {MAX_UID} bytes"));
        }
        let operation = self.operation.and_then(Operation::parse).ok_or_else(|| {
            format!(
                "request.operation: expected CREATE, UPDATE, DELETE or CONNECT, found {}",
                quoted(self.operation)
            )
        })?;
        Ok((version, operation))
    }
}

/// For messages: bounded, with control characters escaped.
fn quoted(text: Option<&str>) -> String {
    match text {
        None => "nothing".to_owned(),
        Some(text) if text.chars().count() > 64 => {
            format!("{:?}…", text.chars().take(64).collect::<String>())
        }
        Some(text) => format!("{text:?}"),
    }
}

type Read<T> = Result<T, String>;

struct Reader<'b> {
    scanner: Scanner<'b>,
    memory: &'b Bump,
    envelope: Envelope<'b>,
}

impl<'b> Reader<'b> {
    fn document(&mut self) -> Read<()> {
        let mut seen = Seen::of(&["apiVersion", "kind", "request", "response"], "");
        self.members("the review", |this, key| {
            seen.once(key)?;
            match key {
                "apiVersion" => this.envelope.api_version = Some(this.string(key)?),
                "kind" => this.envelope.kind = Some(this.string(key)?),
                "request" => {
                    this.envelope.has_request = true;
                    this.request()?;
                }
                "response" => this.response()?,
                _ => this.skip()?,
            }
            Ok(())
        })
    }

    fn request(&mut self) -> Read<()> {
        let mut seen = Seen::of(
            &[
                "uid",
                "kind",
                "resource",
                "subResource",
                "requestKind",
                "requestResource",
                "requestSubResource",
                "name",
                "namespace",
                "operation",
                "userInfo",
                "object",
                "oldObject",
                "dryRun",
                "options",
            ],
            "request.",
        );
        self.members("request", |this, key| {
            if let Err(repeated) = seen.once(key) {
                this.envelope.is_ambiguous |= key == "uid";
                return Err(repeated);
            }
            match key {
                "uid" => this.envelope.request.uid = this.string("request.uid")?,
                "kind" => this.envelope.request.kind = this.kind("request.kind")?,
                "resource" => this.envelope.request.resource = this.resource("request.resource")?,
                "subResource" => this.envelope.request.sub_resource = this.string("request.subResource")?,
                "requestKind" => this.envelope.request.request_kind = Some(this.kind("request.requestKind")?),
                "requestResource" => {
                    this.envelope.request.request_resource = Some(this.resource("request.requestResource")?);
                }
                "requestSubResource" => {
                    this.envelope.request.request_sub_resource =
                        Some(this.string("request.requestSubResource")?);
                }
                "name" => this.envelope.request.name = this.string("request.name")?,
                "namespace" => this.envelope.request.namespace = this.string("request.namespace")?,
                "operation" => this.envelope.operation = Some(this.string("request.operation")?),
                "userInfo" => this.envelope.request.user_info = this.user_info()?,
                "object" => this.envelope.request.object = Some(this.raw("request.object")?),
                "oldObject" => this.envelope.request.old_object = Some(this.raw("request.oldObject")?),
                "options" => this.envelope.request.options = Some(this.raw("request.options")?),
                "dryRun" => {
                    this.envelope.request.dry_run = this.scanner.bool().map_err(at("request.dryRun"))?;
                }
                _ => this.skip()?,
            }
            Ok(())
        })
    }

    fn response(&mut self) -> Read<()> {
        if !matches!(self.scanner.kind(), Ok(Kind::Object)) {
            return self.skip();
        }
        self.members("response", |this, key| {
            if key == "uid" {
                this.envelope.response_uid = Some(this.string("response.uid")?);
                return Ok(());
            }
            this.skip()
        })
    }

    fn kind(&mut self, path: &'static str) -> Read<GroupVersionKind<'b>> {
        let [group, version, kind] = self.three_strings(["group", "version", "kind"], path)?;
        Ok(GroupVersionKind { group, version, kind })
    }

    fn resource(&mut self, path: &'static str) -> Read<GroupVersionResource<'b>> {
        let [group, version, resource] = self.three_strings(["group", "version", "resource"], path)?;
        Ok(GroupVersionResource { group, version, resource })
    }

    fn three_strings(&mut self, keys: [&'static str; 3], path: &'static str) -> Read<[&'b str; 3]> {
        let mut values = [""; 3];
        let mut seen = Seen::of(&keys, path);
        self.members(path, |this, key| {
            seen.once(key)?;
            match keys.iter().position(|known| *known == key) {
                Some(index) => values[index] = this.string(path)?,
                None => this.skip()?,
            }
            Ok(())
        })?;
        Ok(values)
    }

    fn user_info(&mut self) -> Read<UserInfo<'b>> {
        let mut user = UserInfo::default();
        let mut seen = Seen::of(&["username", "uid", "groups", "extra"], "request.userInfo.");
        self.members("request.userInfo", |this, key| {
            seen.once(key)?;
            match key {
                "username" => user.username = this.string("request.userInfo.username")?,
                "uid" => user.uid = this.string("request.userInfo.uid")?,
                "groups" => user.groups = this.groups()?,
                "extra" => user.extra = Some(this.raw("request.userInfo.extra")?),
                _ => this.skip()?,
            }
            Ok(())
        })?;
        Ok(user)
    }

    fn groups(&mut self) -> Read<Vec<&'b str>> {
        const PATH: &str = "request.userInfo.groups";
        let mut groups = Vec::new();
        self.scanner.begin_array().map_err(at(PATH))?;
        while self.scanner.next_item().map_err(at(PATH))? {
            if groups.len() == MAX_GROUPS {
                return Err(format!("{PATH}: more than {MAX_GROUPS}"));
            }
            groups.push(self.string(PATH)?);
        }
        Ok(groups)
    }

    /// Calls `member` for each key of an object whose value is not null, with the position at the value: in Kubernetes' types a null
    /// is the same as a missing key.
    fn members(
        &mut self,
        path: &'static str,
        mut member: impl FnMut(&mut Self, &str) -> Read<()>,
    ) -> Read<()> {
        self.scanner.begin_object().map_err(at(path))?;
        while let Some(key) = self.scanner.next_key().map_err(at(path))? {
            if !self.scanner.null().map_err(at(path))? {
                member(self, &key)?;
            }
        }
        Ok(())
    }

    fn string(&mut self, path: &str) -> Read<&'b str> {
        match self.scanner.string().map_err(at(path))? {
            Cow::Borrowed(text) => Ok(text),
            Cow::Owned(text) => Ok(self.memory.alloc_str(&text)),
        }
    }

    /// The text of an object.
    fn raw(&mut self, path: &str) -> Read<&'b str> {
        if self.scanner.kind().map_err(at(path))? != Kind::Object {
            // Says what it found and where.
            return Err(self.scanner.begin_object().map_err(at(path)).err().unwrap_or_default());
        }
        self.scanner.skip().map_err(at(path))
    }

    fn skip(&mut self) -> Read<()> {
        self.scanner.skip().map_err(at("the review"))?;
        Ok(())
    }
}

fn at(path: &str) -> impl Fn(JsonError) -> String {
    move |error| format!("{path}: {error}")
}

/// Which of the known keys of an object were there. Decoders differ in whether the first or the last of two counts, and what one
/// of them checked the other would not use.
struct Seen<'k> {
    keys: &'k [&'static str],
    prefix: &'static str,
    seen: u32,
}

impl<'k> Seen<'k> {
    fn of(keys: &'k [&'static str], prefix: &'static str) -> Self {
        Self { keys, prefix, seen: 0 }
    }

    fn once(&mut self, key: &str) -> Read<()> {
        // The first byte settles most comparisons without a call.
        let is_key = |known: &&str| known.as_bytes().first() == key.as_bytes().first() && *known == key;
        let Some(index) = self.keys.iter().position(is_key) else { return Ok(()) };
        let bit = 1 << index;
        if self.seen & bit != 0 {
            let dot = if self.prefix.is_empty() || self.prefix.ends_with('.') { "" } else { "." };
            return Err(format!("{}{dot}{key}: given more than once", self.prefix));
        }
        self.seen |= bit;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
