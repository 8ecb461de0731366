//! What is not TOML, said so that somebody who does not know TOML can mend it.

use std::ops::Range;

use super::reader::Reader;
use super::{foreign, slip};
use crate::diagnostic::{Code, Lookalike, MAX_ERRORS_OF_FILE, Problem};
use crate::source::Location;

/// A piece of the parser's message, and what mends it; the first that fits.
const HINTS: [(&str, &str); 13] = [
    ("escape", "in \"double quotes\" a backslash starts an escape; write regexes in 'single quotes'"),
    ("basic string", "the string has no end: close it with \", or write \"\"\" around several lines"),
    ("literal string, expected `'`", "the string has no end: close it with ', or write ''' around several lines"),
    ("string values must be quoted", "put the value in quotes"),
    ("unexpected key or value", "one key = value a line; a text with quotes in it is written in the other quotes, or in '''three single ones'''"),
    ("array", "separate the values with commas and close the list with ]"),
    ("unclosed table", "close the header with ]"),
    ("comma", "separate the pairs with commas: { key = value, other = value }"),
    ("boolean", "write true or false, in lower case"),
    ("unquoted key", "a key is of letters from a to z, digits, _ and -; write key = value, one a line"),
    ("duplicate key", "put all under one; a list of tables is written with double brackets, such as [[rule]]"),
    ("key", "write key = value, one a line"),
    ("assignment", "write key = value, one a line"),
];

/// Pieces of the parser's messages about a value, or what stands behind one.
const ABOUT_VALUES: [&str; 14] = [
    "invalid literal string",
    "string values must be quoted",
    "unexpected key or value",
    "invalid boolean",
    "invalid float",
    "invalid integer",
    "invalid hexadecimal",
    "invalid octal",
    "invalid binary",
    "invalid date",
    "invalid time",
    "leading zero",
    "`_` may only",
    "missing assignment",
];

/// Quotes that word processors put in.
const TYPOGRAPHIC: [char; 5] = ['\u{201c}', '\u{201d}', '\u{201e}', '\u{2018}', '\u{2019}'];

/// The parser's errors, the first of each line: it goes on after an error, and what it then says of the same line is an echo.
pub(super) fn report(reader: &Reader, text: &str, errors: &[toml::de::Error]) -> Broken {
    let mut broken = Broken(Vec::new());
    let mut errors: Vec<_> = errors.iter().map(|error| (error.span().unwrap_or(0..0), error.message())).collect();
    errors.sort_by_key(|(range, _)| range.start);
    let mut has_old_line_end = false;
    for (range, message) in errors {
        if broken.0.last().is_some_and(|last| range.start < last.end) {
            continue;
        }
        if broken.0.len() > MAX_ERRORS_OF_FILE {
            // Counted, but not shown.
            broken.0.push(line_at(text, range.start));
            reader.report(Problem::new(Code::Syntax, reader.at(range), message));
            continue;
        }
        let finding = Finding::of(text, range, message);
        broken.0.push(finding.broken.clone());
        if finding.is_old_line_end && std::mem::replace(&mut has_old_line_end, true) {
            continue;
        }
        let mut problem = Problem::new(Code::Syntax, reader.at(finding.range), finding.message).hint(finding.hint);
        if let Some(first) = finding.first {
            problem = problem.label("again here").related(reader.at(first), "first here");
        }
        reader.report(problem);
    }
    broken
}

/// The text with blanks in place of the lines that hold a key alone, if there are any. All else stays where it is.
pub(super) fn without_lone_keys(text: &str, errors: &[toml::de::Error]) -> Option<String> {
    let alone = errors.iter().filter(|error| error.message().starts_with("key with no value"));
    let mut lines: Vec<_> = alone.filter_map(toml::de::Error::span).map(|range| line_at(text, range.start)).collect();
    lines.sort_by_key(|line| line.start);
    let mut rest = String::with_capacity(text.len());
    for line in &lines {
        // An error at the end of a line may be said to stand at the beginning of the next.
        let Some(before) = text.get(rest.len()..line.start) else { continue };
        rest.push_str(before);
        let content = text.get(line.clone()).unwrap_or_default().trim_end_matches(['\n', '\r']);
        rest.extend(std::iter::repeat_n(' ', content.len()));
    }
    rest.push_str(text.get(rest.len()..).unwrap_or_default());
    (!lines.is_empty()).then_some(rest)
}

/// One error, and how much of the file cannot be relied on because of it.
struct Finding {
    range: Range<usize>,
    message: String,
    hint: String,
    broken: Range<usize>,
    /// Where the key stands that is there already.
    first: Option<Range<usize>>,
    /// All line ends of a file are alike, so one is enough.
    is_old_line_end: bool,
}

impl Finding {
    fn of(text: &str, range: Range<usize>, message: &str) -> Self {
        let broken = line_at(text, range.start);
        let line = text.get(broken.clone()).unwrap_or("").trim_end_matches(['\n', '\r']);
        let new =
            |range, message: &str, hint: &str| Self { range, message: message.to_owned(), hint: hint.to_owned(), broken: broken.clone(), first: None, is_old_line_end: false };
        let start = broken.start;
        if let Some(at) = line.find('\r') {
            let said = new(start + at..start + at + 1, "a line ends with a carriage return alone", "save the file with line ends of Unix (LF) or of Windows (CR LF)");
            return Self { is_old_line_end: true, ..said };
        }
        if let Some(mark) = foreign::conflict(line) {
            let said =
                new(start..start + mark.len(), "this is a mark of a conflict that Git could not resolve", "keep one of the two versions, and delete the lines with such marks");
            return Self { broken: start..foreign::end_of_conflict(text, start), ..said };
        }
        if let Some(mark) = foreign::comment(line.trim_start()) {
            let at = start + line.len() - line.trim_start().len();
            return new(at..at + mark.len(), &format!("`{mark}` begins no comment in TOML"), &format!("write # in place of {mark}"));
        }
        if message.starts_with("unclosed table") || message.starts_with("unclosed array table") {
            // What stands below is read as if it belonged to the table above, and its own tables as if there were nothing that they belong to.
            let below = text.get(broken.end..).unwrap_or("");
            let name = header_name(line);
            let is_own = |line: &&str| !line.starts_with('[') || header_name(line).strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
            let end = below.split_inclusive('\n').take_while(is_own).map(str::len).sum::<usize>();
            return Self { broken: start..broken.end + end, ..new(range, message, hint(message, line)) };
        }
        if let Some((opening, quotes)) = opening_of_several_lines(text, message) {
            let said = new(opening..opening + quotes.len(), "the string that begins here has no end", &format!("close it with {quotes}"));
            return Self { broken: opening..text.len(), ..said };
        }
        if message == "duplicate key" {
            let key = text.get(range.clone()).unwrap_or("");
            let first = if line.trim_start().starts_with('[') { None } else { first_place(text, start, key) };
            let hint = if first.is_some() { "remove one of them" } else { hint(message, line) };
            return Self { first, ..new(range, &format!("`{key}` is there already"), hint) };
        }
        let stranger = text.get(range.clone()).and_then(|at| Some((at, Lookalike::in_text(at)?)));
        if let Some((_, found)) = stranger.filter(|_| message.contains("unquoted key")) {
            let at = range.start + found.at;
            return new(at..at + found.character.len_utf8(), &format!("here stands {}", found.name), &found.remedy);
        }
        if let Some(blanks) = key_with_blanks(line).filter(|_| message.starts_with("key with no value")) {
            let key = line.get(blanks.clone()).unwrap_or("");
            let written = key.split_whitespace().collect::<Vec<_>>().join("_");
            return new(start + blanks.start..start + blanks.end, &format!("`{key}` has blanks in it, which a key has not"), &format!("write {written}"));
        }
        if let Some((sign, at)) = sign_for_equals(text, start, range.start).filter(|_| !message.starts_with("unexpected")) {
            return new(at..at + sign.len(), &format!("`{sign}` stands where = should"), &format!("write = in place of {sign}"));
        }
        if message.starts_with("extra `=`") {
            return new(range, "there is one = too many", "write one = between key and value");
        }
        if range.is_empty() && message.contains("must be quoted") {
            return new(range, message, "give the key a value");
        }
        let about_value = ABOUT_VALUES.iter().any(|piece| message.contains(piece));
        if let Some(slip) = slip::find(line, range.start - start).filter(|_| about_value) {
            return new(start + slip.range.start..start + slip.range.end, &slip.message, &slip.hint);
        }
        new(range, message, hint(message, line))
    }
}

/// What stands in a header, be it closed or not.
fn header_name(line: &str) -> &str {
    let name = line.trim_start().trim_start_matches('[');
    name.split([']', '#']).next().unwrap_or(name).trim()
}

/// A sign of other languages, at the offset or before it in the line, and where it stands.
fn sign_for_equals(text: &str, line: usize, at: usize) -> Option<(&'static str, usize)> {
    const SIGNS: [&str; 3] = [":=", ":", "->"];
    let blanks = [' ', '\t'];
    let behind = text.get(at..)?.trim_start_matches(blanks);
    let before = text.get(line..at)?.trim_end_matches(blanks);
    let there = SIGNS.into_iter().find(|sign| behind.starts_with(sign)).map(|sign| (sign, text.len() - behind.len()));
    there.or_else(|| SIGNS.into_iter().find(|sign| before.ends_with(sign)).map(|sign| (sign, line + before.len() - sign.len())))
}

/// The words before the sign of equality, where there are several.
fn key_with_blanks(line: &str) -> Option<Range<usize>> {
    let key = line.split_once('=')?.0.trim_end();
    let start = key.len() - key.trim_start().len();
    let is_key = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    (key.split_whitespace().count() > 1 && key.split_whitespace().all(is_key)).then_some(start..key.len())
}

/// The opening quotes of a string of several lines without an end: the parser says so at the end of the file, which it has taken for a part of it.
fn opening_of_several_lines(text: &str, message: &str) -> Option<(usize, &'static str)> {
    if message.starts_with("invalid multi-line literal string, expected `'`") {
        return text.rfind("'''").map(|at| (at, "'''"));
    }
    if !message.starts_with("invalid multi-line basic string, expected `\"`") {
        return None;
    }
    let opening = text.rmatch_indices("\"\"\"").find(|(at, _)| !text[..*at].ends_with('\\'));
    opening.map(|(at, _)| (at, "\"\"\""))
}

/// Where the table that this line is in gives the key for the first time.
fn first_place(text: &str, line: usize, key: &str) -> Option<Range<usize>> {
    let mut place = None;
    let mut end = line;
    while end > 0 {
        let start = line_at(text, end - 1).start;
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
    if message.starts_with("unclosed") && line.trim_end().ends_with(']') {
        return "write the name without blanks and signs, or in quotes";
    }
    HINTS.iter().find(|(piece, _)| message.contains(piece)).map_or("the file must be TOML: https://toml.io", |(_, hint)| hint)
}

/// The lines with an error, or what else cannot be relied on, in the order of the file.
pub(super) struct Broken(Vec<Range<usize>>);

impl Broken {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the problem is one of a broken line, and so probably its echo.
    pub(super) fn explain(&self, problem: &Problem) -> bool {
        let at = problem.at.start();
        problem.code != Code::Syntax && self.is_in(at..at + 1)
    }

    /// Whether something between the two places is broken.
    pub(super) fn is_between(&self, start: Location, end: usize) -> bool {
        self.is_in(start.start()..end)
    }

    fn is_in(&self, range: Range<usize>) -> bool {
        let next = self.0.partition_point(|broken| broken.end <= range.start);
        self.0.get(next).is_some_and(|broken| broken.start < range.end)
    }
}

/// The line that the offset is in, with its end.
fn line_at(text: &str, offset: usize) -> Range<usize> {
    let start = text.get(..offset).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let end = text.get(offset..).and_then(|rest| rest.find('\n')).map_or(text.len(), |at| offset + at + 1);
    start..end
}
