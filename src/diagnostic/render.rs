use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};

use super::{Diagnostic, Severity};

/// A finding with its source lines, a caret and the help, as rustc prints one. `renderer` decides about colour: see
/// `Renderer::plain` and `Renderer::styled`.
pub fn render(diagnostic: &Diagnostic, renderer: &Renderer) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = match diagnostic.field.as_str() {
        "" => diagnostic.message.clone(),
        field => format!("{field}: {}", diagnostic.message),
    };
    let mut group =
        level.primary_title(title).id(diagnostic.code.as_str()).elements(Vec::<Origin<'_>>::new());
    let path = diagnostic.place.as_ref().map(|place| &*place.file);
    match &diagnostic.excerpt {
        Some(excerpt) => {
            let mut caret = AnnotationKind::Primary.span(excerpt.span.clone());
            if let Some(label) = &diagnostic.label {
                caret = caret.label(label.as_str());
            }
            let snippet = Snippet::source(excerpt.text.as_str()).line_start(excerpt.first_line).fold(false);
            // The renderer counts the column in what it is given, which of a very long line is only a part.
            let place = diagnostic.place.as_ref().filter(|_| excerpt.cut);
            if let Some(place) = place {
                group = group.element(Origin::path(&*place.file).line(place.line).char_column(place.column));
            }
            group = group.element(snippet.path(path.filter(|_| !excerpt.cut)).annotation(caret));
        }
        None => group = group.elements(path.map(Origin::path)),
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    renderer.render(&[group])
}
