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
    if let Some(place) = &diagnostic.place {
        let mut origin = Origin::path(&*place.file);
        if diagnostic.excerpt.is_some() {
            origin = origin.line(place.line).char_column(place.column);
        }
        group = group.element(origin);
    }
    if let Some(excerpt) = &diagnostic.excerpt {
        let mut caret = AnnotationKind::Primary.span(excerpt.span.clone());
        if let Some(label) = &diagnostic.label {
            caret = caret.label(label.as_str());
        }
        group = group.element(
            Snippet::source(excerpt.text.as_str())
                .line_start(excerpt.first_line)
                .fold(false)
                .annotation(caret),
        );
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    renderer.render(&[group])
}
