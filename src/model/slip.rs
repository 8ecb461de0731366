//! A value that is none in TOML, and what was probably meant: a text without quotes, a number with a unit, a line with two keys.

use std::ops::Range;

use jiff::SignedDuration;

use super::kind::Kind;
use super::{foreign, number};
use crate::diagnostic::Lookalike;

/// Words for true and false, in any case.
const BOOLEANS: [(&str, &str); 6] = [("true", "true"), ("yes", "true"), ("on", "true"), ("false", "false"), ("no", "false"), ("off", "false")];

/// Words for no value, in any case.
const NOTHING: [&str; 4] = ["null", "nil", "undefined", "~"];

/// Such words that can also be values themselves.
const NOTHING_OR_TEXT: [&str; 2] = ["none", "never"];

/// Keys that take several values.
const LISTS: [&str; 10] = ["aliases", "extends", "retryable", "fatal", "status", "code", "transport", "finish_reason", "event", "model"];

/// A longer text is not repeated in a hint.
const MAX_SHOWN: usize = 60;

/// What is wrong, and where in the line.
#[derive(Debug)]
pub(super) struct Slip {
    pub(super) range: Range<usize>,
    pub(super) message: String,
    pub(super) hint: String,
}

impl Slip {
    fn new(range: Range<usize>, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { range, message: message.into(), hint: hint.into() }
    }
}

/// The slip in the value that stands at the offset of the line, or goes on there.
pub(super) fn find(line: &str, at: usize) -> Option<Slip> {
    if let Some(start) = behind_header(line) {
        let is_sign = !line[start..].contains(char::is_alphanumeric);
        let hint = if is_sign { "leave it out" } else { "write it on the next line: a header stands on a line of its own" };
        return Some(Slip::new(start..line.trim_end().len(), "there is something behind the header", hint));
    }
    if let Some(slip) = with_comma(line, at) {
        return Some(slip);
    }
    let value = Value::at(line, at);
    match value.text.chars().next()? {
        '“' | '”' | '„' | '‘' | '’' => None,
        '"' | '\'' => in_text(&value),
        '>' if line[..value.start].ends_with('=') => Some(Slip::new(value.start - 1..value.start + 1, "`=>` stands where = should", "write = in place of =>")),
        _ => behind(&value, 0).or_else(|| without_brackets(&value)).or_else(|| in_bare(&value)),
    }
}

/// A value as it is written, up to its comma, its bracket or its comment.
#[derive(Debug)]
struct Value<'a> {
    /// The key that it belongs to; empty where the line does not say.
    key: &'a str,
    text: &'a str,
    /// Where it starts in the line.
    start: usize,
    /// Whether it stands in a list or an inline table.
    is_inner: bool,
}

impl<'a> Value<'a> {
    /// The value that an error at the offset is about. What stands before that is well-formed.
    fn at(line: &'a str, at: usize) -> Self {
        // Where the innermost value or pair starts, and its key; around that the outer ones.
        let mut outer: Vec<(usize, &str)> = Vec::new();
        let (mut start, mut key) = (0, "");
        let mut quote = None;
        let mut has_key = false;
        let mut is_escaped = false;
        for (index, c) in line.char_indices().take_while(|(index, _)| *index < at) {
            match (quote, c) {
                (Some('"'), '\\') if !is_escaped => {
                    is_escaped = true;
                    continue;
                }
                (Some(open), _) if c == open && !is_escaped => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') => quote = Some(c),
                (None, '=') => {
                    key = line[start..index].trim().trim_matches(['"', '\'']);
                    (start, has_key) = (index + 1, true);
                }
                (None, '{' | '[') => {
                    outer.push((start, key));
                    start = index + 1;
                }
                (None, '}' | ']') => (start, key) = outer.pop().unwrap_or((start, key)),
                (None, ',') if !(outer.is_empty() && has_key) => start = index + 1,
                _ => {}
            }
            is_escaped = false;
        }
        let is_inner = !outer.is_empty() || !has_key;
        let rest = &line[start..];
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let text = &rest[blanks..];
        let text = &text[..if is_inner { end_of_inner(text) } else { end_of_outer(text) }];
        Self { key: key.rsplit('.').next().unwrap_or(key).trim(), text: text.trim_end_matches([' ', '\t', '\r']), start: start + blanks, is_inner }
    }

    /// A part of it, as a place in the line.
    fn range(&self, start: usize, len: usize) -> Range<usize> {
        self.start + start..self.start + start + len
    }
}

/// The number with a comma that comes before the error: what stands behind the comma is taken for a key.
fn with_comma(line: &str, at: usize) -> Option<Slip> {
    let mut quote = None;
    for (index, c) in line.char_indices().take_while(|(index, _)| *index < at) {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '=') if !LISTS.contains(&line[..index].rsplit([' ', '\t', ',', '{']).find(|word| !word.is_empty()).unwrap_or("")) => {
                let rest = line[index + 1..].trim_start_matches([' ', '\t']);
                let number = &rest[..rest.find(|c: char| !(c.is_ascii_digit() || c == ',')).unwrap_or(rest.len())];
                let number = number.trim_end_matches(',');
                let start = line.len() - rest.len();
                let behind = rest[number.len()..].trim_start();
                let is_alone = behind.is_empty() || behind.starts_with([',', '}', '#', '\r']);
                if let Some((meant, why)) = number::meant(number).filter(|_| is_alone && number.contains(',')) {
                    return Some(Slip::new(start..start + number.len(), format!("`{number}` is no number in TOML"), format!("write {meant}: {why}")));
                }
            }
            _ => {}
        }
    }
    None
}

/// Up to the comma or bracket behind it.
fn end_of_inner(text: &str) -> usize {
    let mut is_variable = false;
    let mut last = ' ';
    for (index, c) in text.char_indices() {
        match c {
            '{' if last == '$' || is_variable => is_variable = true,
            '}' if is_variable => is_variable = false,
            ',' | '}' | ']' | '#' => return index,
            _ => {}
        }
        last = c;
    }
    text.len()
}

/// Up to the comment behind it. A sign in quotes begins none.
fn end_of_outer(text: &str) -> usize {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''));
    if let Some(end) = quote.and_then(|quote| text.match_indices(quote).find(|(at, _)| *at > 0 && text[at + 1..].trim_start().starts_with('#'))) {
        return end.0 + 1;
    }
    let from = quote.and_then(|quote| text.rfind(quote)).unwrap_or(0);
    // In a text without quotes it may be that of a link.
    let begins_comment = |at: &usize| quote.is_some() || text[..*at].ends_with([' ', '\t']);
    text[from..].match_indices('#').map(|(at, _)| from + at).find(begins_comment).unwrap_or(text.len())
}

/// Where something starts behind a table's header in the same line.
fn behind_header(line: &str) -> Option<usize> {
    let header = line.trim_start().strip_prefix('[')?;
    let close = if header.starts_with('[') { "]]" } else { "]" };
    let rest = header.split_once(close)?.1;
    let behind = rest.trim_start();
    (!behind.is_empty() && !behind.starts_with(['#', ',', ']']) && foreign::comment(behind).is_none()).then(|| line.len() - behind.len())
}

/// A text that ends before it should, since its own quotes end it; or something behind it.
fn in_text(value: &Value<'_>) -> Option<Slip> {
    let text = value.text;
    let quote = text.chars().next()?;
    if text.starts_with("\"\"\"") || text.starts_with("'''") {
        return None;
    }
    let close = end_of_string(text, quote)?;
    if let Some(slip) = behind(value, close) {
        return Some(slip);
    }
    let rest = text.get(close..).filter(|rest| !rest.is_empty())?;
    if rest.trim_start().starts_with(',') && !value.is_inner {
        return Some(as_list(value, text));
    }
    if !rest.ends_with(quote) || value.is_inner {
        return None;
    }
    let inner = text.get(1..text.len() - 1)?;
    let message = format!("the text ends at its second {quote}, and there is more behind that");
    let range = value.range(close, rest.len());
    Some(Slip::new(range, message, format!("the text has such quotes in it: write {}", in_other_quotes(inner, quote))))
}

/// A list that stands in no brackets, or in others.
fn without_brackets(value: &Value<'_>) -> Option<Slip> {
    let inner = value.text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(value.text);
    if value.is_inner || !LISTS.contains(&value.key) || !(inner.contains(',') || inner.len() < value.text.len()) {
        return None;
    }
    let items = inner.split(',').map(|item| match item.trim() {
        item if item.starts_with(['"', '\'']) || ((item == "0" || !item.starts_with('0')) && item.parse::<u16>().is_ok()) => item.to_owned(),
        item => quoted(item),
    });
    Some(as_list(value, &items.collect::<Vec<_>>().join(", ")))
}

fn as_list(value: &Value<'_>, items: &str) -> Slip {
    let hint = if items.chars().count() > MAX_SHOWN { "write [ before it and ] behind it".to_owned() } else { format!("write [{items}]") };
    Slip::new(value.range(0, value.text.len()), "a list stands in brackets", hint)
}

/// Where the string ends that the text begins with.
fn end_of_string(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (index, c) in text.char_indices().skip(1) {
        if c == quote && !is_escaped {
            return Some(index + 1);
        }
        is_escaped = c == '\\' && quote == '"' && !is_escaped;
    }
    None
}

/// A text as it can be written that has these quotes in it.
fn in_other_quotes(inner: &str, quote: char) -> String {
    let shown = |written: String, otherwise: &str| if inner.chars().count() > MAX_SHOWN { otherwise.to_owned() } else { written };
    match quote {
        '"' if !inner.contains('\'') => shown(format!("'{inner}'"), "'...' around it"),
        '\'' if !inner.contains(['"', '\\']) => shown(format!("\"{inner}\""), "\"...\" around it"),
        _ => shown(format!("'''{inner}'''"), "'''...''' around it"),
    }
}

/// What stands behind a value that would be one without that: a second key, a comment of another language, a comma.
fn behind(value: &Value<'_>, from: usize) -> Option<Slip> {
    let text = value.text.get(from..)?;
    if !value.is_inner
        && let Some(key) = second_key(text, from > 0)
    {
        let range = value.range(from + key.start, text.len() - key.start);
        let name = text.get(key)?;
        return Some(Slip::new(range, format!("`{name}` is a second key in this line"), format!("one key a line, and nothing between: write `{name} = ...` on the next line")));
    }
    let mark = |(at, _)| {
        let before: &str = &text[..at];
        let starts_word = before.ends_with([' ', '\t']) || (before.is_empty() && from > 0);
        let mark = foreign::comment(&text[at..]).filter(|mark| starts_word || *mark == ";")?;
        Some((at, mark))
    };
    if let Some((at, mark)) = text.char_indices().find_map(mark)
        && (at > 0 || from > 0)
    {
        if mark == ";" && text.len() == at + 1 {
            return Some(Slip::new(value.range(from + at, 1), "no semicolon ends a line of TOML", "leave the semicolon out"));
        }
        return Some(Slip::new(value.range(from + at, mark.len()), format!("`{mark}` begins no comment in TOML"), format!("write # in place of {mark}")));
    }
    let is_comma = !value.is_inner && text.ends_with(',') && (from == 0 || text.trim() == ",");
    is_comma.then(|| Slip::new(value.range(from + text.len() - 1, 1), "no comma ends a line of TOML", "leave the comma out"))
}

/// The key of `5 base = "1s"`.
fn second_key(text: &str, is_behind: bool) -> Option<Range<usize>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let before = text.split_once('=')?.0.trim_end();
    let start = before.trim_end_matches(is_part).len();
    let gap = &before[..start];
    let is_apart = gap.ends_with([' ', '\t', ',', ';']) || (gap.is_empty() && is_behind);
    (is_apart && start < before.len() && (is_behind || !gap.trim().is_empty()) && !gap.contains(['"', '\''])).then_some(start..before.len())
}

/// A value without quotes that is neither a number nor true or false.
fn in_bare(value: &Value<'_>) -> Option<Slip> {
    let Value { key, text, .. } = *value;
    let kind = Kind::of(key);
    let whole = value.range(0, text.len());
    let slip = |message: String, hint: String| Some(Slip::new(whole.clone(), message, hint));
    let is_one_of = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    let shown = shown(text);
    if is_variable(text) {
        let such_as = if let Kind::Number(example) = kind { format!(", such as {example}") } else { String::new() };
        return slip(format!("{shown} is not replaced: rule files know no variables"), format!("write the value itself{such_as}"));
    }
    if let Some((_, meant)) = BOOLEANS.iter().find(|(word, _)| word.eq_ignore_ascii_case(text))
        && matches!(kind, Kind::Boolean | Kind::Any)
    {
        return slip(format!("{shown} is neither true nor false in TOML"), format!("write {meant}"));
    }
    if is_one_of(&NOTHING) || (is_one_of(&NOTHING_OR_TEXT) && kind != Kind::Text) {
        let hint = if key.is_empty() || value.is_inner { "leave it out".to_owned() } else { format!("leave `{key}` out") };
        return slip(format!("{shown} is no value in TOML"), hint);
    }
    let is_duration = text.parse::<SignedDuration>().is_ok();
    if (matches!(kind, Kind::Number(_)) || (kind == Kind::Any && !is_duration))
        && let Some((number, why)) = number::meant(text)
    {
        return slip(format!("{shown} is no number in TOML"), format!("write {number}: {why}"));
    }
    if let Some(found) = Lookalike::in_text(text) {
        let range = value.range(found.at, found.character.len_utf8());
        return Some(Slip::new(range, format!("here stands {}", found.name), found.remedy));
    }
    match kind {
        Kind::Number(example) => match number::among_others(text) {
            Some(number) => slip(format!("{shown} is no number in TOML"), format!("write {number}: a number stands alone")),
            None => slip(format!("{shown} is no number"), format!("write it in digits, such as {example}")),
        },
        Kind::Boolean => slip(format!("{shown} is neither true nor false"), "write true or false".to_owned()),
        Kind::Duration if !is_duration => slip(format!("{shown} is no duration"), "write a number with its unit in quotes, such as \"2s\"".to_owned()),
        Kind::Duration | Kind::Text | Kind::Any => slip(format!("the text {shown} is not in quotes"), format!("write {}", quoted(text))),
    }
}

/// `$NAME`, `${NAME}`, `%NAME%`.
fn is_variable(text: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '{' | '(');
    text.strip_prefix('$').is_some_and(|name| name.starts_with(is_name)) || text.strip_prefix('%').is_some_and(|name| name.len() > 1 && name.ends_with('%'))
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("`{}...`", &text[..end]),
        None => format!("`{text}`"),
    }
}

fn quoted(text: &str) -> String {
    // Quotes of other languages.
    let text = text.strip_prefix('`').and_then(|text| text.strip_suffix('`')).unwrap_or(text);
    match text {
        _ if text.chars().count() > MAX_SHOWN => "it in quotes".to_owned(),
        _ if text.contains('\'') && text.contains(['"', '\\']) => format!("'''{text}'''"),
        _ if text.contains(['"', '\\']) => format!("'{text}'"),
        _ => format!("\"{text}\""),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::find;

    fn line() -> impl Strategy<Value = String> {
        const PARTS: [&str; 34] = [
            "key", " ", "=", " = ", "\"", "'", "'''", "\\", "#", " # ", ",", ";", "//", "[", "]", "[[", "]]", "{", "}", "${X}", "%", "5", "1,5", "0,1", "200 000", "20%", "yes",
            "null", "2s", "é", "\u{a0}", "\u{200b}", "е", "“",
        ];
        let part = prop_oneof![proptest::sample::select(&PARTS[..]).prop_map(str::to_owned), "[ -~é\u{a0}]{1,4}"];
        proptest::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_marked_stands_in_the_line(line in line(), at in any::<proptest::sample::Index>()) {
            let places: Vec<_> = line.char_indices().map(|(at, _)| at).chain([line.len()]).collect();
            if let Some(slip) = find(&line, *at.get(&places)) {
                let marked = line.get(slip.range.clone());
                prop_assert!(marked.is_some_and(|marked| !marked.is_empty()), "{:?} {:?}", line, slip);
                prop_assert!(!slip.hint.is_empty() && !slip.message.is_empty());
            }
        }
    }
}
