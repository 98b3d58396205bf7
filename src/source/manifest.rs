use std::sync::Arc;

use serde_json::Value;

use super::change::Broken;
use super::object::{Object, ObjectKey, decode};
use super::yaml;
use crate::diagnostic::{Code, Diagnostic, Node, NodeKind, SourceMap, SourceText};

/// Largest file that is read: ten times what the API server takes in one request.
pub const MAX_FILE_BYTES: usize = 16 << 20;
/// Most documents of one file: ten thousand rules in one file are a benchmark, ten times that is a mistake.
const MAX_DOCUMENTS: usize = 100_000;
/// Findings of one file that are kept with all they say; of further broken objects only the first, without its lines.
const MAX_FINDINGS: usize = 1_000;
/// Lists in lists that are opened.
const MAX_LIST_DEPTH: usize = 4;

/// One Kubernetes object of a file, not yet looked into.
#[derive(Clone, Debug)]
pub struct Document {
    /// What the object is called.
    pub key: ObjectKey,
    /// The whole object.
    pub value: Value,
    /// Where its fields stand; `None` for an object that was not read from a file.
    pub map: Option<SourceMap>,
}

impl Document {
    /// A finding with its place, where there is a file.
    pub(super) fn locate(&self, finding: Diagnostic) -> Diagnostic {
        match &self.map {
            Some(map) => map.locate(finding),
            None => finding,
        }
    }
}

/// What one text holds.
#[derive(Clone, Debug, Default)]
pub struct Manifest {
    /// Objects that can be used, in the order of the text.
    pub objects: Vec<Object>,
    /// Objects with a name that cannot be used.
    pub broken: Vec<Broken>,
    /// All findings, those of `broken` included.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a text of YAML or JSON documents: `---` between documents, comments, anchors, and lists of objects
/// (`kind: List`). An object that is not of the right shape does not keep the others from being read.
///
/// # Errors
///
/// The text as a whole cannot be read: it is too large, not UTF-8, or not well-formed.
pub fn read_manifest(name: &str, bytes: &[u8]) -> Result<Manifest, Box<Diagnostic>> {
    let mut manifest = Manifest::default();
    documents(name, bytes, |document| manifest.take(document))?;
    Ok(manifest)
}

impl Manifest {
    fn take(&mut self, document: Result<Document, Diagnostic>) {
        let document = match document {
            Ok(document) => document,
            Err(fault) => {
                if self.diagnostics.len() < MAX_FINDINGS {
                    self.diagnostics.push(fault);
                }
                return;
            }
        };
        let key = document.key.clone();
        match decode(document) {
            Ok((object, warnings)) => {
                self.objects.push(object);
                self.diagnostics.extend(warnings);
            }
            Err(mut diagnostics) if self.diagnostics.len() >= MAX_FINDINGS => {
                diagnostics.truncate(1);
                diagnostics.iter_mut().for_each(|finding| finding.excerpt = None);
                self.broken.push(Broken { key, diagnostics });
            }
            Err(diagnostics) => {
                self.diagnostics.extend(diagnostics.iter().cloned());
                self.broken.push(Broken { key, diagnostics });
            }
        }
    }
}

/// All documents of a text, whatever they are, with their places: what a command reads that takes reviews, or objects
/// that have no name yet. Lists stay closed.
///
/// # Errors
///
/// As [`read_manifest`].
pub fn read_values(name: &str, bytes: &[u8]) -> Result<Vec<(Value, SourceMap)>, Box<Diagnostic>> {
    let source = text(name, bytes)?;
    yaml::parse(&source)
        .map(|read| read.map(|(value, node)| (value, SourceMap::new(source.clone(), &node))))
        .collect()
}

/// Calls `each` with the objects of a text, lists opened; a document that is no object is a finding of its own. One after the other: of
/// thousands of documents, no more than one has its values in memory.
///
/// # Errors
///
/// As [`read_manifest`]; `each` may have been called before.
pub(super) fn documents(
    name: &str,
    bytes: &[u8],
    each: impl FnMut(Result<Document, Diagnostic>),
) -> Result<(), Box<Diagnostic>> {
    let source = text(name, bytes)?;
    let mut opener = Opener { source: &source, count: 0, each };
    for read in yaml::parse(&source) {
        let (value, node) = read?;
        opener.open(value, node, 0);
    }
    if opener.count > MAX_DOCUMENTS {
        let message = format!("the file has more than {MAX_DOCUMENTS} documents");
        let fault = Diagnostic::error(Code::YamlTooLarge, message).in_file_named(name);
        return Err(Box::new(fault.help("split it into several files")));
    }
    Ok(())
}

fn text(name: &str, bytes: &[u8]) -> Result<SourceText, Box<Diagnostic>> {
    if bytes.len() > MAX_FILE_BYTES {
        let message = format!("the file has {} bytes; at most {MAX_FILE_BYTES} are read", bytes.len());
        let fault = Diagnostic::error(Code::FileTooLarge, message).in_file_named(name);
        return Err(Box::new(fault.help("split it into several files")));
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let message = format!("the file is not UTF-8: byte {} has no meaning there", error.valid_up_to());
            let fault = Diagnostic::error(Code::FileNotText, message).in_file_named(name);
            return Err(Box::new(fault.help("store it as UTF-8")));
        }
    };
    Ok(SourceText::new(name, text))
}

/// Opens lists and counts what it finds.
struct Opener<'a, F> {
    source: &'a SourceText,
    count: usize,
    each: F,
}

impl<F: FnMut(Result<Document, Diagnostic>)> Opener<'_, F> {
    fn open(&mut self, value: Value, node: Arc<Node>, depth: usize) {
        if self.count > MAX_DOCUMENTS {
            return;
        }
        let map = SourceMap::new(self.source.clone(), &node);
        let text = |field: &str| value.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        let (Some(api_version), Some(kind)) = (text("apiVersion"), text("kind")) else {
            let lacking = if text("apiVersion").is_none() { "apiVersion" } else { "kind" };
            let message = match value {
                Value::Object(_) => format!("a Kubernetes object needs {lacking}"),
                _ => format!("expected a Kubernetes object, found {}", super::schema::type_name(&value)),
            };
            self.found(Err(map.locate(Diagnostic::error(Code::NotAnObject, message).at(lacking))));
            return;
        };
        if kind.ends_with("List")
            && depth < MAX_LIST_DEPTH
            && let (Some(Value::Array(values)), Some(nodes)) =
                (value.get("items"), items(&node, self.source.text()))
        {
            for (value, node) in values.iter().zip(nodes) {
                self.open(value.clone(), node.clone(), depth + 1);
            }
            return;
        }
        // A word such as `n` or `on` without quotes is no text.
        for field in ["name", "namespace"] {
            let given = value.get("metadata").and_then(|metadata| metadata.get(field));
            if let Some(given) = given.filter(|given| !given.is_string() && !given.is_null()) {
                self.found(Err(map.locate(super::schema::not_a_string(given, &format!("metadata.{field}")))));
                return;
            }
        }
        let metadata = |field: &str| value.pointer(field).and_then(Value::as_str).unwrap_or("");
        let name = metadata("/metadata/name");
        if name.is_empty() {
            let mut fault = Diagnostic::error(Code::MissingName, format!("{kind} needs metadata.name"))
                .at("metadata.name");
            if kind == "AdmissionReview" {
                fault = fault.help(
                    "a review is neither a rule nor read by rules; usher eval takes it with --resource",
                );
            }
            self.found(Err(map.locate(fault)));
            return;
        }
        let key = ObjectKey {
            api_version: api_version.into(),
            kind: kind.into(),
            namespace: metadata("/metadata/namespace").into(),
            name: name.into(),
        };
        self.found(Ok(Document { key, value, map: Some(map) }));
    }

    fn found(&mut self, document: Result<Document, Diagnostic>) {
        self.count += 1;
        if self.count <= MAX_DOCUMENTS {
            (self.each)(document);
        }
    }
}

/// The nodes of `items`.
fn items<'n>(node: &'n Node, file: &str) -> Option<&'n [Arc<Node>]> {
    let NodeKind::Mapping(entries) = &node.kind else { return None };
    match &entries.iter().find(|(key, _)| key.name(file) == "items")?.1.kind {
        NodeKind::List(items) => Some(items),
        NodeKind::Scalar { .. } | NodeKind::Mapping(_) => None,
    }
}

#[cfg(test)]
mod tests;
