//! The expressions of the corpus.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Files whose rows hold expressions.
const FILES: &[&str] = &[
    "celspec.jsonl",
    "k8s-cel-lib.jsonl",
    "k8s-cel-rules.jsonl",
    "cel-checks.jsonl",
    "admission-vap.jsonl",
    "admission-map.jsonl",
    "policies.jsonl",
];

/// `shared/corpus` beside the project or above it.
pub(crate) fn folder() -> Option<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|ancestor| ancestor.join("shared/corpus"))
        .find(|folder| folder.is_dir())
}

/// Every different expression, in a stable order.
pub(crate) fn expressions(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in FILES {
        let path = folder.join(file);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for (index, line) in text.lines().enumerate() {
            let row: Value = serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("{} row {index}: {error}", path.display()));
            for key in ["expr", "expressions", "variables", "policy"] {
                collect(key, &row[key], &mut found);
            }
        }
    }
    found
}

/// Expressions stand under a few keys, at any depth.
fn collect(key: &str, value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            if matches!(key, "expr" | "expressions" | "expression" | "messageExpression" | "valueExpression")
            {
                found.insert(text.clone());
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(key, item, found)),
        Value::Object(fields) => fields.iter().for_each(|(name, field)| collect(name, field, found)),
        _ => {}
    }
}
