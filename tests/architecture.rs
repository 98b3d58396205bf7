//! The invariants of ARCHITECTURE.md that a look at the sources can decide.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What each module of the root package may name, besides itself. Arrows point downwards.
const ARROWS: &[(&str, &[&str])] = &[
    ("api", &[]),
    ("engine", &[]),
    ("diagnostic", &[]),
    ("schemas", &[]),
    ("rules", &["api", "engine", "diagnostic", "schemas"]),
    ("source", &["api", "diagnostic", "engine", "rules"]),
    ("telemetry", &[]),
    ("controller", &["api", "diagnostic", "rules", "telemetry"]),
    ("admin", &["telemetry"]),
    ("webhook", &["engine", "rules", "telemetry"]),
    (
        "cli",
        &[
            "admin",
            "api",
            "controller",
            "diagnostic",
            "engine",
            "rules",
            "schemas",
            "source",
            "telemetry",
            "webhook",
        ],
    ),
];

/// Lines of a source file at most, tests included.
const FILE_LINES: usize = 600;

#[test]
fn modules_depend_only_downwards() {
    let known: BTreeSet<&str> = ARROWS.iter().map(|(module, _)| *module).collect();
    let mut faults = Vec::new();
    for (path, code) in sources("src") {
        let Some(module) = module_of(&path) else { continue };
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == module) else {
            faults.push(format!("{}: module `{module}` has no place among the arrows", path.display()));
            continue;
        };
        for other in known.iter().filter(|other| **other != module && !allowed.contains(*other)) {
            for prefix in ["crate::", "usher::"] {
                if names(&code, &format!("{prefix}{other}")) {
                    faults.push(format!("{}: `{module}` may not name `{other}`", path.display()));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_pure_parts_have_no_clock_io_environment_or_tasks() {
    const FORBIDDEN: &[&str] = &[
        "async fn",
        ".await",
        "std::fs",
        "std::env",
        "std::process",
        "std::thread",
        "TcpStream",
        "TcpListener",
        "UdpSocket",
        "SystemTime",
        "Instant",
        "tokio",
        "tracing",
        "prometheus",
        "stdin()",
        "stdout()",
        "println!",
        "eprintln!",
        "dbg!",
    ];
    let mut faults = Vec::new();
    for root in ["crates/usher-cel/src", "src/engine"] {
        for (path, code) in sources(root).into_iter().filter(|(path, _)| !is_test(path)) {
            for word in FORBIDDEN.iter().filter(|word| code.contains(**word)) {
                faults.push(format!("{}: `{word}`", path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "the engine and the CEL crate are pure:\n{}", faults.join("\n"));
}

#[test]
fn only_the_review_module_knows_the_admission_review() {
    let mut faults = Vec::new();
    for (path, code) in sources("src") {
        let text = path.to_string_lossy();
        if !text.contains("webhook/review") && code.contains("\"admission.k8s.io") {
            faults.push(text.into_owned());
        }
    }
    assert!(faults.is_empty(), "the wire form of AdmissionReview belongs to webhook/review: {faults:?}");
}

#[test]
fn the_product_has_one_cel_engine_and_one_tls_provider() {
    let tree = std::process::Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "--locked",
            "--edges",
            "normal,build",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    let tree = String::from_utf8_lossy(&tree.stdout);
    assert!(tree.contains("aws-lc-rs "), "cargo printed no dependencies: {tree}");
    for provider in ["ring ", "openssl ", "native-tls "] {
        assert!(!tree.lines().any(|line| line.starts_with(provider)), "{provider}is a second TLS provider");
    }
    for manifest in ["Cargo.toml", "crates/usher-cel/Cargo.toml"] {
        let text = read(manifest);
        let dependencies = section(&text, "[dependencies]");
        for line in dependencies.lines() {
            let name = line.split('=').next().unwrap_or_default().trim();
            assert!(
                !matches!(name, "cel" | "cel-interpreter" | "kube-cel"),
                "{manifest}: `{name}` is a reference for tests only"
            );
        }
    }
}

#[test]
fn every_source_file_is_compiled_and_short_enough_to_read() {
    let mut faults = Vec::new();
    for root in ["src", "crates/usher-cel/src", "tests"] {
        let files = sources(root);
        let all: Vec<&(PathBuf, String)> = files.iter().collect();
        for (path, code) in &all {
            let lines = fs::read_to_string(path).unwrap().lines().count();
            if lines > FILE_LINES {
                faults.push(format!("{}: {lines} lines", path.display()));
            }
            let stem = path.file_stem().unwrap().to_str().unwrap();
            if ["utils", "util", "helpers", "common", "types"].contains(&stem) {
                faults.push(format!("{}: says nothing of what is in it", path.display()));
            }
            let _ = code;
            if !is_declared(path, &all) {
                faults.push(format!("{}: no `mod` names it, so it is never compiled", path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Whether a file beside or above declares the module that the file is.
fn is_declared(path: &Path, files: &[&(PathBuf, String)]) -> bool {
    let stem = path.file_stem().unwrap().to_str().unwrap();
    if matches!(stem, "lib" | "main") {
        return true;
    }
    let (folder, module) = match stem {
        "mod" => {
            let folder = path.parent().unwrap();
            (folder.parent().unwrap(), folder.file_name().unwrap().to_str().unwrap())
        }
        _ => (path.parent().unwrap(), stem),
    };
    let parents =
        [folder.join("mod.rs"), folder.join("lib.rs"), folder.join("main.rs"), folder.with_extension("rs")];
    files
        .iter()
        .filter(|(file, _)| parents.contains(file))
        .any(|(_, code)| names(code, &format!("mod {module};")) || names(code, &format!("mod {module} ")))
}

/// Tests may measure time and print.
fn is_test(path: &Path) -> bool {
    path.components()
        .any(|part| matches!(part.as_os_str().to_str(), Some("tests" | "tests.rs" | "testing.rs")))
}

/// The module of the root package that a file under `src` belongs to; `None` for `lib.rs` and `main.rs`.
fn module_of(path: &Path) -> Option<String> {
    let below = path.strip_prefix(root().join("src")).ok()?;
    let first = below.components().next()?.as_os_str().to_str()?;
    let module = first.strip_suffix(".rs").unwrap_or(first);
    (!matches!(module, "lib" | "main")).then(|| module.to_owned())
}

/// Every Rust file below a folder with its code, comments left out.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut pending = vec![root().join(folder)];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let code = text
                    .lines()
                    .filter(|line| !line.trim_start().starts_with("//"))
                    .collect::<Vec<_>>()
                    .join("\n");
                found.push((path, code));
            }
        }
    }
    found.sort();
    found
}

/// Whether the code has the text as a whole word.
fn names(code: &str, text: &str) -> bool {
    code.match_indices(text).any(|(at, _)| {
        let after = code[at + text.len()..].chars().next();
        let ends_word =
            text.ends_with([';', ' ']) || after.is_none_or(|next| !next.is_alphanumeric() && next != '_');
        let before = code[..at].chars().next_back();
        ends_word
            && before.is_none_or(|previous| !previous.is_alphanumeric() && previous != '_' && previous != ':')
    })
}

fn section<'t>(text: &'t str, header: &str) -> &'t str {
    let start = text.find(header).map_or(text.len(), |at| at + header.len());
    let rest = &text[start..];
    &rest[..rest.find("\n[").unwrap_or(rest.len())]
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
