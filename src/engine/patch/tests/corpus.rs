//! The JSON Patch rows of the shared corpus, judged as its `score.py` judges them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::*;

fn corpus() -> Option<PathBuf> {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    above.map(|folder| folder.join("shared/corpus")).find(|folder| folder.join("jsonpatch.jsonl").is_file())
}

#[derive(Deserialize)]
struct Row {
    id: String,
    r#type: String,
    doc: Box<RawValue>,
    patch: Box<RawValue>,
    #[serde(default)]
    disabled: bool,
    expected: Option<Json>,
    error: Option<Json>,
}

/// What the API server's own library says where it contradicts the row.
#[derive(Deserialize)]
struct Correction {
    id: String,
    kubernetes: Option<Json>,
}

#[test]
fn the_corpus_is_answered_as_kubernetes_answers_it() {
    let Some(folder) = corpus() else {
        println!("no shared/corpus above {}: nothing to compare with", env!("CARGO_MANIFEST_DIR"));
        return;
    };
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect(name);
    let corrections: HashMap<String, Option<Json>> = read("kubernetes.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Correction>(line).expect(line))
        .map(|correction| (correction.id, correction.kubernetes))
        .collect();
    let (mut rows, mut misses) = (0, Vec::new());
    for line in read("jsonpatch.jsonl").lines() {
        let row: Row = serde_json::from_str(line).expect(line);
        if row.disabled || row.r#type != "json-patch" {
            continue;
        }
        let expected = match corrections.get(&row.id) {
            Some(None) => continue,
            Some(Some(answer)) => answer.get("patched").cloned(),
            None if row.error.is_some() => None,
            None if row.expected.is_none() => continue,
            None => row.expected,
        };
        rows += 1;
        let ours = patched(row.doc.get(), row.patch.get());
        match (&ours, &expected) {
            (Ok(ours), Some(expected)) if json(ours) == *expected => {}
            (Err(_), None) => {}
            _ => misses.push(format!("{}: {ours:?}, expected {expected:?}", row.id)),
        }
    }
    assert!(misses.is_empty(), "{} of {rows} differ:\n{}", misses.len(), misses.join("\n"));
    assert!(rows > 80, "only {rows} rows were found");
    println!("{rows} rows agree");
}
