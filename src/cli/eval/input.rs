//! The documents that are to be evaluated, with where they stand.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::diagnostic::{Code, Diagnostic, SourceMap};
use crate::source::{MAX_FILE_BYTES, is_manifest, read_values};

/// Name of standard input in places.
const STDIN: &str = "<stdin>";
/// Deepest directory; also ends a circle of links.
const MAX_DEPTH: usize = 32;
/// Lists in lists that are opened.
const MAX_LIST_DEPTH: usize = 4;

/// One object or review.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) value: Value,
    pub(super) map: SourceMap,
    /// Path of the object in its document; empty if it is the document, `items[2]` inside a list.
    pub(super) path: String,
}

/// All documents of some paths, in the order of the command line, and what could not be read.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    pub(super) inputs: Vec<Input>,
    pub(super) faults: Vec<Diagnostic>,
}

impl Inputs {
    /// Reads files, directories, and standard input for `-`. `flag` is what named the paths.
    pub(super) fn read(paths: &[PathBuf], flag: &str) -> Self {
        let mut this = Self::default();
        for path in paths {
            if path.as_os_str() == "-" {
                match read_to_limit(io::stdin().lock()) {
                    Ok(bytes) => this.add(STDIN, &bytes),
                    Err(error) => this.faults.push(unreadable(Path::new(STDIN), &error)),
                }
            } else {
                let before = this.faults.len();
                this.path(path, true, 0);
                for fault in &mut this.faults[before..] {
                    if fault.place.as_ref().is_some_and(|place| *place.file == *path.to_string_lossy())
                        && fault.code == Code::FileUnreadable
                    {
                        fault.message = format!("{flag}: {}", fault.message);
                    }
                }
            }
        }
        this
    }

    fn path(&mut self, path: &Path, is_named: bool, depth: usize) {
        let found = match std::fs::metadata(path) {
            Ok(found) => found,
            Err(error) => return self.faults.push(unreadable(path, &error)),
        };
        if found.is_dir() {
            self.directory(path, depth);
        } else if is_named || is_manifest(path) {
            match std::fs::File::open(path).and_then(read_to_limit) {
                Ok(bytes) => self.add(&path.to_string_lossy(), &bytes),
                Err(error) => self.faults.push(unreadable(path, &error)),
            }
        }
    }

    fn directory(&mut self, path: &Path, depth: usize) {
        if depth > MAX_DEPTH {
            let error = io::Error::other(format!("it is nested deeper than {MAX_DEPTH} directories"));
            return self.faults.push(unreadable(path, &error));
        }
        let entries = match std::fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => return self.faults.push(unreadable(path, &error)),
        };
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort();
        for path in paths {
            let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
            if !is_hidden && (is_manifest(&path) || path.is_dir()) {
                self.path(&path, false, depth + 1);
            }
        }
    }

    fn add(&mut self, name: &str, bytes: &[u8]) {
        match read_values(name, bytes) {
            Ok(values) => {
                for (value, map) in values {
                    self.open(Input { value, map, path: String::new() }, 0);
                }
            }
            Err(fault) => self.faults.push(*fault),
        }
    }

    /// Opens lists; checks that what is left is an object with a kind.
    fn open(&mut self, input: Input, depth: usize) {
        let Input { mut value, map, path } = input;
        if value.is_null() {
            return;
        }
        let is_list = value.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
        if is_list && depth < MAX_LIST_DEPTH && value.get("items").is_some_and(Value::is_array) {
            let Some(Value::Array(items)) = value.get_mut("items").map(Value::take) else { return };
            for (index, value) in items.into_iter().enumerate() {
                let path = join(&path, &format!("items[{index}]"));
                self.open(Input { value, map: map.clone(), path }, depth + 1);
            }
            return;
        }
        let input = Input { value, map, path };
        match input.fault() {
            None => self.inputs.push(input),
            Some(fault) => self.faults.push(fault),
        }
    }
}

impl Input {
    /// A text of the object; empty if it is not there or no text.
    pub(super) fn text(&self, pointer: &str) -> &str {
        self.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// A finding about a field of the object, with its place.
    pub(super) fn error(
        &self,
        code: Code,
        field: &str,
        message: impl Into<String>,
        help: &str,
    ) -> Diagnostic {
        self.map.locate(Diagnostic::error(code, message).at(join(&self.path, field)).help(help))
    }

    pub(super) fn is_review(&self) -> bool {
        self.text("/kind") == "AdmissionReview"
    }

    /// Why this is nothing that can be evaluated.
    fn fault(&self) -> Option<Diagnostic> {
        let Value::Object(_) = &self.value else {
            let message = "expected a Kubernetes object or an AdmissionReview";
            return Some(self.error(
                Code::NotAnObject,
                "",
                message,
                "write a manifest with apiVersion and kind",
            ));
        };
        for (field, example) in [("apiVersion", "apiVersion: v1"), ("kind", "kind: Pod")] {
            if self.text(&format!("/{field}")).is_empty() {
                let message = format!("a Kubernetes object needs {field}");
                let help = format!("write it, such as `{example}`");
                return Some(self.error(Code::NotAnObject, field, message, &help));
            }
        }
        for field in ["name", "namespace", "generateName"] {
            let given = self.value.pointer(&format!("/metadata/{field}"));
            if given.is_some_and(|given| !given.is_string() && !given.is_null()) {
                let field = format!("metadata.{field}");
                let message = "expected a text";
                return Some(self.error(Code::WrongType, &field, message, "put it into quotes"));
            }
        }
        None
    }
}

fn join(path: &str, field: &str) -> String {
    match (path, field) {
        ("", _) => field.to_owned(),
        (_, "") => path.to_owned(),
        _ => format!("{path}.{field}"),
    }
}

/// At most one byte more than is allowed, so that the size is refused without the whole being read.
fn read_to_limit(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = u64::try_from(MAX_FILE_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    from.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unreadable(path: &Path, error: &io::Error) -> Diagnostic {
    let fault = Diagnostic::error(Code::FileUnreadable, format!("cannot be read: {error}"))
        .in_file_named(&path.to_string_lossy());
    match error.kind() {
        io::ErrorKind::NotFound => {
            fault.help("check the path; relative paths start at the current directory")
        }
        io::ErrorKind::PermissionDenied => fault.help("give yourself the right to read it"),
        _ => fault,
    }
}
