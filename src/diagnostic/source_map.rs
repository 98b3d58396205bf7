use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Code, Diagnostic, Place, ScalarStyle, SourceText, scalar};

/// Where each field of one document stands in its file. Cheap to clone.
///
/// A server holds one for every object as long as it runs, and looks into it only when there is something to say about the object. So
/// the tree is kept packed, in about a tenth of its memory, and unpacked for each question.
#[derive(Clone, Debug)]
pub struct SourceMap {
    source: SourceText,
    /// A [`Node`].
    packed: Arc<[u8]>,
}

/// A value of the document with its place.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Node {
    /// Bytes of the file: all of a scalar; of a list or mapping its first item.
    pub span: Range<usize>,
    /// What the value is.
    pub kind: NodeKind,
}

/// The shape of a [`Node`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum NodeKind {
    /// A text, number, boolean or null, as it was written.
    Scalar {
        /// How it was written.
        style: ScalarStyle,
        /// Spaces before each line of a block.
        indent: usize,
        /// The text after escapes and folding, if it is another than the one in the file.
        text: Option<Box<str>>,
    },
    /// A list.
    List(Vec<Arc<Node>>),
    /// A mapping, in the order of the file.
    Mapping(Vec<(Key, Arc<Node>)>),
}

/// A key of a mapping with its place.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Key {
    /// The key as JSON has it, where that is not what stands in the file.
    name: Option<Box<str>>,
    span: Range<usize>,
}

impl Key {
    /// The key that is called `name` in JSON and stands in these bytes of the file.
    pub fn new(name: &str, span: Range<usize>, file: &str) -> Self {
        let written = Self { name: None, span };
        if written.name(file) == name { written } else { Self { name: Some(name.into()), ..written } }
    }

    /// As JSON has it. `file` is the text that the key was made for.
    pub fn name<'k>(&'k self, file: &'k str) -> &'k str {
        self.name.as_deref().unwrap_or_else(|| {
            let written = file.get(self.span.clone()).unwrap_or_default();
            let inside = |quote| written.strip_prefix(quote)?.strip_suffix(quote);
            inside('"').or_else(|| inside('\'')).unwrap_or(written)
        })
    }

    /// Bytes of the file, with quotes.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }
}

impl SourceMap {
    /// The map of a document that was read from `source`.
    pub fn new(source: SourceText, root: &Node) -> Self {
        // Into memory, and no part of a node refuses to be written: nothing here can fail.
        let packed = postcard::to_allocvec(root).unwrap_or_default();
        Self { source, packed: packed.into() }
    }

    /// The file that the document is in.
    pub fn source(&self) -> &SourceText {
        &self.source
    }

    /// Where the value of a field stands. A field that is not there has the place of the nearest field around it.
    pub fn place(&self, field: &str) -> Place {
        self.source.place(find(self.source.text(), &self.root(), field).0.value_span())
    }

    /// Where the key of a field stands; of an item of a list, the item.
    pub fn key_place(&self, field: &str) -> Place {
        self.source.place(find(self.source.text(), &self.root(), field).0.key_span())
    }

    /// Where bytes of the decoded text of a field stand in the file. Where the way the text is written does not allow to
    /// tell, the start of the text.
    pub fn place_within(&self, field: &str, span: Range<usize>) -> Place {
        self.source.place(self.span_within(&self.root(), field, &span, &mut None))
    }

    /// A finding with its place in the file, taken from its field and, inside an expression, from its characters.
    #[must_use]
    pub fn locate(&self, diagnostic: Diagnostic) -> Diagnostic {
        self.locate_in(&self.root(), diagnostic, &mut None)
    }

    /// As [`Self::locate`], of many.
    #[must_use]
    pub fn locate_all(&self, diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
        if diagnostics.is_empty() {
            return diagnostics;
        }
        let root = self.root();
        let mut last = None;
        diagnostics.into_iter().map(|diagnostic| self.locate_in(&root, diagnostic, &mut last)).collect()
    }

    /// `last` is kept from finding to finding: many are about the same expression.
    fn locate_in(&self, root: &Node, diagnostic: Diagnostic, last: &mut Option<Followed>) -> Diagnostic {
        if diagnostic.place.is_some() {
            return diagnostic;
        }
        let span = match &diagnostic.text {
            Some(text) => self.span_within(root, &diagnostic.field, &text.span, last),
            None => match find(self.source.text(), root, &diagnostic.field) {
                (found, true) if found.is_scalar() && diagnostic.code != Code::UnknownField => {
                    found.value_span()
                }
                (found, _) => found.key_span(),
            },
        };
        diagnostic.in_file(&self.source, span)
    }

    fn root(&self) -> Node {
        postcard::from_bytes(&self.packed).unwrap_or(Node { span: 0..0, kind: NodeKind::List(Vec::new()) })
    }

    fn span_within(
        &self,
        root: &Node,
        field: &str,
        span: &Range<usize>,
        last: &mut Option<Followed>,
    ) -> Range<usize> {
        if let Some(followed) = last.as_ref().filter(|last| last.field == field) {
            return followed.written.locate(span);
        }
        let (found, exact) = find(self.source.text(), root, field);
        let NodeKind::Scalar { style, indent, text } = &found.node.kind else { return found.value_span() };
        if !exact {
            return found.value_span();
        }
        let file = self.source.text();
        let raw = scalar::Raw { file, span: &found.node.span, style: *style, indent: *indent };
        let written = file.get(style.inside(found.node.span.clone())).unwrap_or_default();
        let written = scalar::Written::new(&raw, text.as_deref().unwrap_or(written));
        last.insert(Followed { field: field.to_owned(), written }).written.locate(span)
    }
}

/// A field of which each character was found in the file.
struct Followed {
    field: String,
    written: scalar::Written,
}

/// The node of a field, or the nearest node around it and `false`.
fn find<'n>(file: &str, root: &'n Node, field: &str) -> (Found<'n>, bool) {
    let mut found = Found { key: None, node: root };
    for step in steps(field) {
        let next = match (&found.node.kind, step) {
            (NodeKind::Mapping(entries), Step::Key(name)) => entries
                .iter()
                .find(|(key, _)| key.name(file) == name)
                .map(|(k, v)| Found { key: Some(k), node: v }),
            (NodeKind::List(items), Step::Index(index)) => {
                items.get(index).map(|node| Found { key: None, node })
            }
            _ => None,
        };
        match next {
            Some(next) => found = next,
            None => return (found, false),
        }
    }
    (found, true)
}

struct Found<'a> {
    key: Option<&'a Key>,
    node: &'a Node,
}

impl Found<'_> {
    fn is_scalar(&self) -> bool {
        matches!(self.node.kind, NodeKind::Scalar { .. })
    }

    fn value_span(&self) -> Range<usize> {
        self.node.span.clone()
    }

    fn key_span(&self) -> Range<usize> {
        self.key.map_or_else(|| self.value_span(), |key| key.span.clone())
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

/// The steps of a path such as `spec.routes[0].predicate` or `metadata.labels['app.kubernetes.io/name']`.
fn steps(field: &str) -> impl Iterator<Item = Step<'_>> {
    let mut rest = field;
    std::iter::from_fn(move || {
        rest = rest.strip_prefix('.').unwrap_or(rest);
        if rest.is_empty() {
            return None;
        }
        if let Some(quoted) = rest.strip_prefix("['") {
            let (name, after) = quoted.split_once("']").unwrap_or((quoted, ""));
            rest = after;
            return Some(Step::Key(name));
        }
        if let Some(inner) = rest.strip_prefix('[') {
            let (index, after) = inner.split_once(']').unwrap_or((inner, ""));
            rest = after;
            // A path that no list has: the search ends at the list.
            return Some(Step::Index(index.parse().unwrap_or(usize::MAX)));
        }
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        rest = after;
        Some(Step::Key(name))
    })
}
