//! Our parser against that of the crate `cel` 0.15, on every expression of the corpus of outside cases.

#[path = "parse_corpus/corpus.rs"]
mod corpus;
#[path = "parse_corpus/neutral.rs"]
mod neutral;
#[path = "parse_corpus/reference.rs"]
mod reference;

#[test]
fn every_expression_of_the_corpus_parses_to_the_tree_of_the_reference() {
    let Some(folder) = corpus::folder() else {
        eprintln!("skipped: no folder shared/corpus above {}", env!("CARGO_MANIFEST_DIR"));
        return;
    };
    let expressions = corpus::expressions(&folder);
    assert!(expressions.len() > 2_000, "the corpus has only {} expressions", expressions.len());
    let reference = reference::Reference::new();
    let mut differences = Vec::new();
    let mut refused = 0;
    for expression in &expressions {
        let ours = usher_cel::parse::parse(expression)
            .map(|ast| neutral::of_ours(&ast))
            .map_err(|issues| issues.to_string());
        let theirs = reference.parse(expression).map(|tree| neutral::of_reference(&tree));
        match (&ours, &theirs) {
            (Ok(ours), Ok(theirs)) if ours == theirs => {}
            (Err(_), Err(_)) => refused += 1,
            _ => differences.push(format!("{expression}\n  ours   {ours:?}\n  theirs {theirs:?}")),
        }
    }
    eprintln!("{} expressions, of which {refused} are refused by both", expressions.len());
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}
