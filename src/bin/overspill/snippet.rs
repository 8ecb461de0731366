//! Diagnostics as people read them: the place in its file, underlined.

use std::io::{self, Write};

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use overspill::{Diagnostic, Diagnostics, Severity};

use crate::output::notes;

/// Prints all findings to standard error.
pub(crate) fn print_all(diagnostics: &Diagnostics) -> io::Result<()> {
    let mut notes = notes();
    for diagnostic in diagnostics.iter() {
        writeln!(notes, "{}\n", render(diagnostic))?;
    }
    Ok(())
}

/// One finding. Colours are always written; the stream takes them out where nobody sees them.
pub(crate) fn render(diagnostic: Diagnostic<'_>) -> String {
    let level = match diagnostic.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let labels: Vec<_> = diagnostic.labels().collect();
    let mut group = Group::with_title(level.primary_title(diagnostic.message()).id(diagnostic.code().name()));
    let mut snippets: Vec<(&str, Snippet<'_, annotate_snippets::Annotation<'_>>)> = Vec::new();
    for (index, label) in labels.iter().enumerate() {
        let kind = if index == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
        let end = label.source.len();
        let range = label.range.start.min(end)..label.range.end.min(end);
        let annotation = kind.span(range).label((!label.text.is_empty()).then_some(label.text));
        match snippets.iter_mut().find(|(file, _)| *file == label.file) {
            Some((_, snippet)) => *snippet = std::mem::replace(snippet, Snippet::source("")).annotation(annotation),
            None => snippets.push((label.file, Snippet::source(label.source).path(label.file).annotation(annotation))),
        }
    }
    for (_, snippet) in snippets {
        group = group.element(snippet);
    }
    if let Some(hint) = diagnostic.hint() {
        group = group.element(Level::HELP.message(hint));
    }
    Renderer::styled().render(&[group])
}
