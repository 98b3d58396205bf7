//! Any text is parsed or refused, with places that lie within it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use usher_cel::ast::Span;

fuzz_target!(|source: &str| {
    let lies_within = |span: Span| source.get(span.start as usize..span.end as usize).is_some();
    match usher_cel::parse::parse(source) {
        Ok(ast) => {
            for node in ast.nodes() {
                assert!(lies_within(node.span) && source.is_char_boundary(node.caret as usize));
            }
        }
        Err(issues) => {
            assert!(!issues.0.is_empty());
            assert!(issues.source().is_empty() || issues.0.iter().all(|issue| lies_within(issue.span)));
            // Printing must not fail either.
            let _ = issues.to_string();
        }
    }
});
