use std::collections::HashSet;

use annotate_snippets::Renderer;

use super::*;

const FILE: &str = "a: 1\nb:\n  - name: x\n    predicate: object.foo(\n";

fn plain(diagnostic: &Diagnostic) -> String {
    render(diagnostic, &Renderer::plain())
}

#[test]
fn codes_are_unique_and_explained() {
    let codes: HashSet<&str> = Code::ALL.iter().map(|c| c.as_str()).collect();
    assert_eq!(codes.len(), Code::ALL.len());
    for code in Code::ALL {
        assert!(code.as_str().starts_with('U') && code.as_str().len() == 5, "{code}");
        assert!(code.meaning().ends_with('.'), "{code}");
    }
}

#[test]
fn a_finding_is_shown_with_its_line_a_caret_and_the_way_to_mend_it() {
    let source = SourceText::new("rules/a.yaml", FILE);
    let at = FILE.find("(").unwrap();
    let finding = Diagnostic::error(Code::WrongType, "missing ')'")
        .at("b[0].predicate")
        .in_file(&source, at..at + 1)
        .label("opened here")
        .help("add `)`");
    insta::assert_snapshot!(plain(&finding), @r"
    error[U0204]: b[0].predicate: missing ')'
     --> rules/a.yaml:4:26
      |
    3 |   - name: x
    4 |     predicate: object.foo(
      |                          ^ opened here
      |
      = help: add `)`
    ");
    assert_eq!(finding.to_string(), "rules/a.yaml:4:26: error[U0204]: b[0].predicate: missing ')' (add `)`)");
}

#[test]
fn without_a_file_the_expression_itself_is_shown() {
    let text = "a &&\n  b.c";
    let finding = Diagnostic::warning(Code::InvalidValue, "no such field").at("spec.x").within(text, 9..10);
    insta::assert_snapshot!(plain(&finding), @r"
    warning[U0206]: spec.x: no such field
      |
    1 | a &&
    2 |   b.c
      |     ^
    ");
    assert_eq!(finding.to_string(), "warning[U0206]: spec.x:2:5: no such field");
}

#[test]
fn a_finding_is_one_line_in_a_log_whatever_it_quotes() {
    let finding = Diagnostic::error(Code::InvalidValue, "bad\nERROR forged\u{1b}[2J");
    assert!(!finding.to_string().chars().any(char::is_control));
}

#[test]
fn of_a_very_long_line_only_the_part_around_the_finding_is_kept() {
    let text = format!("{{\"a\": \"{}\", \"b\": 1}}", "é".repeat(100_000));
    let source = SourceText::new("a.json", &text);
    let at = text.len() - 2;
    let finding = Diagnostic::error(Code::WrongType, "no").in_file(&source, at..at + 1);
    let excerpt = finding.excerpt.clone().unwrap();
    assert!(excerpt.text.len() < 1000);
    assert_eq!(&excerpt.text[excerpt.span.clone()], "1");
    assert!(plain(&finding).contains("a.json:1:100016"));
}

#[test]
fn every_offset_has_a_place_even_behind_the_end() {
    let source = SourceText::new("a", "ä\r\nb\n");
    assert_eq!(source.line_column(0), (1, 1));
    assert_eq!(source.line_column(1), (1, 1));
    assert_eq!(source.line_column(2), (1, 2));
    assert_eq!(source.line_column(4), (2, 1));
    assert_eq!(source.line_column(6), (3, 1));
    assert_eq!(source.line_column(usize::MAX), (3, 1));
    for start in 0..10 {
        for end in 0..10 {
            let finding = Diagnostic::error(Code::WrongType, "no").in_file(&source, start..end);
            assert!(!plain(&finding).is_empty());
        }
    }
}
