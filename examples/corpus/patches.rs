//! Cases of JSON Patch.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use usher::engine::patch;
use usher_cel::Arena;
use usher_cel::document::{self, Options, WriteOptions};

/// A patch and the document that it applies to.
pub(crate) fn apply(case: &Value) -> Result<Value> {
    let (json, patch) = (case["doc"].to_string(), case["patch"].to_string());
    let arena = Arena::default();
    let document = document::parse(&json, &arena, Options::default()).context("the document")?;
    let patched =
        patch::parse_patch(&patch, &arena).and_then(|operations| patch::apply(document, operations, &arena));
    Ok(match patched {
        Err(error) => json!({"decision": "error", "error": error.to_string()}),
        Ok(patched) => {
            let mut json = Vec::new();
            document::write(&patched, &mut json, WriteOptions::default())
                .map_err(|error| anyhow::anyhow!("{error}"))?;
            json!({"decision": "patched", "patched": serde_json::from_slice::<Value>(&json)?})
        }
    })
}

/// A patch that turns one object into another.
pub(crate) fn difference(case: &Value) -> Result<Value> {
    let patch = json_patch::diff(&case["before"], &case["after"]);
    Ok(json!({"decision": "patched", "patch": serde_json::to_value(&patch)?}))
}
