//! `docs/faults.md` names a test for every fault, or the reason why there is none.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The rows of the reference, by section.
const FAULTS: [(&str, usize); 7] = [("T", 15), ("H", 17), ("R", 16), ("M", 6), ("W", 5), ("L", 18), ("S", 2)];

#[test]
fn every_fault_names_tests_that_exist_or_says_why_there_is_none() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut tests = BTreeSet::new();
    for folder in ["src", "tests", "crates/usher-cel/src", "crates/usher-cel/tests"] {
        names_of_tests(&root.join(folder), &mut tests);
    }
    let text = fs::read_to_string(root.join("docs/faults.md")).unwrap();
    let mut missing: BTreeSet<String> = FAULTS
        .iter()
        .flat_map(|(section, count)| (1..=*count).map(move |number| format!("{section}{number}")))
        .collect();
    assert_eq!(missing.len(), 79);
    let mut faults = Vec::new();
    for line in text
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| |") && !line.starts_with("| -"))
    {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [id, _, covered] = cells[..] else { panic!("three cells: {line}") };
        if !missing.remove(id) {
            faults.push(format!("{id}: twice, or unknown"));
        }
        if covered.strip_prefix("not yet: ").is_some_and(|why| !why.is_empty()) {
            continue;
        }
        let named: Vec<_> = covered.split('`').skip(1).step_by(2).filter(|name| is_test_name(name)).collect();
        if named.is_empty() {
            faults.push(format!("{id}: neither a test nor a reason"));
        }
        faults.extend(
            named
                .iter()
                .filter(|name| !tests.contains(**name))
                .map(|name| format!("{id}: there is no test {name}")),
        );
    }
    faults.extend(missing.iter().map(|id| format!("{id}: no line")));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Tests are sentences: what has no spaces, dots or colons, and three words at least.
fn is_test_name(text: &str) -> bool {
    text.matches('_').count() >= 2
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// Names of functions that stand behind an attribute of a test.
fn names_of_tests(folder: &Path, names: &mut BTreeSet<String>) {
    let entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    for path in entries {
        if path.is_dir() {
            names_of_tests(&path, names);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let mut is_test = false;
            for line in text.lines().map(str::trim) {
                is_test |=
                    ["#[test]", "#[rstest", "#[tokio::test"].iter().any(|start| line.starts_with(start));
                let line = line.strip_prefix("async ").unwrap_or(line);
                if let Some(rest) = line.strip_prefix("fn ")
                    && is_test
                {
                    names.insert(rest.split(['(', '<']).next().unwrap_or_default().to_owned());
                    is_test = false;
                }
            }
        }
    }
}
