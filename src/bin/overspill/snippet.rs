//! Diagnostics as people read them: the place in its file, underlined.

use std::io::{self, Write};
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use overspill::{Diagnostic, Diagnostics, Label, Severity};

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
    let labels: Vec<_> = diagnostic.labels().map(|label| Shown::of(&label)).collect();
    let mut group = Group::with_title(level.primary_title(diagnostic.message()).id(diagnostic.code().name()));
    let mut snippets: Vec<(&Shown<'_>, Snippet<'_, annotate_snippets::Annotation<'_>>)> = Vec::new();
    for (index, label) in labels.iter().enumerate() {
        let kind = if index == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
        let annotation = kind.span(label.range.clone()).label((!label.text.is_empty()).then_some(label.text));
        match snippets.iter_mut().find(|(known, _)| (known.file, known.first_line) == (label.file, label.first_line)) {
            Some((_, snippet)) => *snippet = std::mem::replace(snippet, Snippet::source("")).annotation(annotation),
            None => snippets.push((label, Snippet::source(label.lines).line_start(label.first_line).path(label.file).annotation(annotation))),
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

/// A longer file is shown in part: the renderer reads all that it is given, for every finding.
const SHORT: usize = 16 * 1024;

/// A label and the lines to show around it.
struct Shown<'a> {
    file: &'a str,
    text: &'a str,
    lines: &'a str,
    first_line: usize,
    range: Range<usize>,
}

impl<'a> Shown<'a> {
    fn of(label: &Label<'a>) -> Self {
        let &Label { file, source, text, .. } = label;
        let range = label.range.start.min(source.len())..label.range.end.min(source.len());
        if source.len() <= SHORT {
            return Self { file, text, lines: source, first_line: 1, range };
        }
        let bytes = source.as_bytes();
        let start = memchr::memrchr(b'\n', &bytes[..range.start]).map_or(0, |at| at + 1);
        let end = memchr::memchr(b'\n', &bytes[range.end..]).map_or(source.len(), |at| range.end + at);
        let first_line = memchr::memchr_iter(b'\n', &bytes[..start]).count() + 1;
        Self { file, text, lines: &source[start..end], first_line, range: range.start - start..range.end - start }
    }
}
