//! What is not TOML, said so that somebody who does not know TOML can mend it.

use super::reader::Reader;
use crate::diagnostic::{Code, Problem};

/// A piece of the parser's message, and what mends it; the first that fits.
const HINTS: [(&str, &str); 13] = [
    ("escape", "in \"double quotes\" a backslash starts an escape; write regexes in 'single quotes'"),
    ("basic string", "the string has no end: close it with \", or write \"\"\" around several lines"),
    ("literal string, expected `'`", "the string has no end: close it with ', or write ''' around several lines"),
    ("string values must be quoted", "put the value in quotes"),
    ("unexpected key or value", "one key = value a line; a text with an apostrophe is written \"in double quotes\" or '''in three single ones'''"),
    ("array", "separate the values with commas and close the list with ]"),
    ("unclosed table", "close the header with ]"),
    ("comma", "separate the pairs with commas: { key = value, other = value }"),
    ("boolean", "write true or false, in lower case"),
    ("leading zero", "write the number without the zero"),
    ("duplicate key", "put all under one; a list of tables is written with double brackets, such as [[rule]]"),
    ("key", "write key = value, one a line"),
    ("assignment", "write key = value, one a line"),
];

/// Quotes that word processors put in.
const TYPOGRAPHIC: [char; 5] = ['\u{201c}', '\u{201d}', '\u{201e}', '\u{2018}', '\u{2019}'];

/// The parser's errors, the first of each line: it goes on after an error, and what it then says of the same line is an echo.
pub(super) fn report(reader: &Reader, text: &str, errors: &[toml::de::Error]) -> BrokenLines {
    let mut broken = BrokenLines(Vec::new());
    let mut errors: Vec<_> = errors.iter().map(|error| (error.span().unwrap_or(0..0), error.message())).collect();
    errors.sort_by_key(|(range, _)| range.start);
    for (range, message) in errors {
        let start = line_start(text, range.start);
        if broken.0.contains(&start) {
            continue;
        }
        broken.0.push(start);
        let line = text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or("");
        let message = match text.get(range.clone()) {
            Some(key) if message == "duplicate key" => format!("`{key}` is there already"),
            _ => message.to_owned(),
        };
        let is_twice = message.ends_with("is there already") && !line.trim_start().starts_with('[');
        let first = text.get(range.clone()).filter(|_| is_twice).and_then(|key| first_place(text, start, key));
        if let Some(first) = first {
            let problem = Problem::new(Code::Syntax, reader.at(range), message).label("again here");
            reader.report(problem.related(reader.at(first), "first here").hint("remove one of them"));
            continue;
        }
        let hint = if range.is_empty() && message.contains("must be quoted") { "give the key a value" } else { hint(&message, line) };
        reader.report(Problem::new(Code::Syntax, reader.at(range), message).hint(hint));
    }
    broken
}

/// Where the table that this line is in gives the key for the first time.
fn first_place(text: &str, line: usize, key: &str) -> Option<std::ops::Range<usize>> {
    let mut place = None;
    let mut end = line;
    while end > 0 {
        let start = line_start(text, end - 1);
        let trimmed = text[start..end].trim_start();
        if trimmed.starts_with('[') {
            break;
        }
        if trimmed.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('=')) {
            let at = end - trimmed.len();
            place = Some(at..at + key.len());
        }
        end = start;
    }
    place
}

fn hint(message: &str, line: &str) -> &'static str {
    if line.contains(TYPOGRAPHIC) && !message.contains("escape") {
        return "write straight quotes: \" or '";
    }
    if line.trim_start().starts_with("[[") && !line.contains("]]") {
        return "close the header with ]]";
    }
    if has_multiple(line) {
        return "write the number out, such as 200_000";
    }
    let message = if message.ends_with("is there already") { "duplicate key" } else { message };
    HINTS.iter().find(|(piece, _)| message.contains(piece)).map_or("the file must be TOML: https://toml.io", |(_, hint)| hint)
}

/// Whether the value is a number of thousands or millions: `200k`, `1M`.
fn has_multiple(line: &str) -> bool {
    let Some((_, value)) = line.split_once('=') else { return false };
    let rest = value.trim_start().trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '_' | '.'));
    rest.len() < value.trim_start().len() && rest.starts_with(['k', 'K', 'm', 'M']) && !rest[1..].starts_with(|c: char| c.is_alphanumeric())
}

/// The beginnings of the lines with an error.
pub(super) struct BrokenLines(Vec<usize>);

impl BrokenLines {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the problem is one of a broken line, and so probably its echo.
    pub(super) fn explain(&self, text: &str, problem: &Problem) -> bool {
        problem.code != Code::Syntax && self.0.contains(&line_start(text, problem.at.start()))
    }
}

fn line_start(text: &str, offset: usize) -> usize {
    text.get(..offset).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1)
}
