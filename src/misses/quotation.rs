//! Content in quotation marks of every script. An apostrophe inside a word is none of them; what is opened and never closed goes to the end of the text, since long texts are cut.

use super::placeholder::{QUOTED, is_placeholder};
use super::vocabulary::is_undivided;

/// What opens a quotation, and what closes it. Texts that were normalised have few of them.
const MARKS: [(char, &str); 16] = [
    ('"', "\""),
    ('\'', "'"),
    ('`', "`"),
    ('“', "”"),
    ('„', "“”"),
    ('‘', "’"),
    ('‚', "‘"),
    ('«', "»"),
    ('»', "«"),
    ('‹', "›"),
    ('›', "‹"),
    ('「', "」"),
    ('『', "』"),
    ('《', "》"),
    ('〈', "〉"),
    ('〝', "〞〟"),
];

/// Stands for a back-tick in a text that is about to be normalised, which drops them.
pub(super) const BACKTICK: char = '\u{e00f}';

/// More that was in back-ticks is not looked for.
const MAX_SPANS: usize = 200;

/// The line with what is quoted in it masked, the marks left.
pub(super) fn mask(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let marks = MARKS.iter().find(|(open, _)| *open == c).filter(|_| may_open(c, out.chars().next_back(), after.chars().next()));
        out.push(c);
        rest = after;
        let Some((_, closes)) = marks else { continue };
        let end = closing(after, c, closes);
        let closed = end.is_some();
        let end = end.unwrap_or(after.len());
        if !closed && !is_left_open(c, out.chars().nth_back(1), after) {
            continue;
        }
        if end > 0 {
            out.push(QUOTED);
        }
        rest = &after[end..];
        if let Some(close) = rest.chars().next() {
            out.push(close);
            rest = &rest[close.len_utf8()..];
        }
    }
    out
}

/// An apostrophe follows a letter; a quotation mark may do so where words are not divided by blanks.
fn may_open(mark: char, before: Option<char>, after: Option<char>) -> bool {
    match mark {
        '\'' => !before.is_some_and(|c| (c.is_alphanumeric() && !is_undivided(c)) || is_placeholder(c)),
        // Inches.
        '"' => !before.is_some_and(|c| c.is_ascii_digit()) || after.is_some_and(char::is_alphanumeric),
        _ => true,
    }
}

/// Whether a quotation without an end is one: not where its mark looks like the end of one whose beginning is lost, or points somewhere.
fn is_left_open(mark: char, before: Option<char>, after: &str) -> bool {
    let says = after.chars().any(char::is_alphanumeric);
    let closes = before.is_some_and(|c| !c.is_whitespace() && !"([{=:,".contains(c)) && after.chars().next().is_none_or(|c| !c.is_alphanumeric());
    says && !closes && !matches!(mark, '»' | '›')
}

/// Where the quotation ends: where all that was opened is closed.
fn closing(text: &str, open: char, closes: &str) -> Option<usize> {
    let mut depth = 1_usize;
    let mut before = None;
    for (at, c) in text.char_indices() {
        let after = text[at + c.len_utf8()..].chars().next();
        let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && !is_undivided(c));
        if closes.contains(c) {
            let same = c == open;
            let apostrophe = same && is_letter(after) && is_letter(before);
            let opens = same && is_letter(after) && before.is_some_and(|c| !c.is_alphanumeric());
            if opens && at > 0 {
                depth += 1;
            } else if !apostrophe {
                depth -= 1;
            }
            // `the users' prompts'`: a plural's apostrophe, where another mark closes before one opens.
            if depth == 0 && !(c == '\'' && before == Some('s') && closes_again(&text[at + 1..])) {
                return Some(at);
            }
            depth = depth.max(1);
        } else if c == open && !closes.contains(open) {
            depth += 1;
        }
        before = Some(c);
    }
    None
}

/// Whether the next single mark closes too.
fn closes_again(text: &str) -> bool {
    let Some(at) = text.find('\'') else { return false };
    let before = text[..at].chars().next_back();
    let after = text[at + 1..].chars().next();
    before.is_some_and(|c| c.is_alphanumeric() || c == '.') && !after.is_some_and(char::is_alphanumeric)
}

/// The texts between what stands for back-ticks in a normalised text, each once.
pub(super) fn in_backticks(text: &str) -> Vec<&str> {
    let mut spans = Vec::new();
    for line in text.lines() {
        let parts = line.split(BACKTICK).enumerate().filter(|(index, _)| index % 2 == 1);
        for part in parts.map(|(_, part)| part.trim()).filter(|part| part.chars().any(char::is_alphanumeric)) {
            if spans.len() < MAX_SPANS && !spans.contains(&part) {
                spans.push(part);
            }
        }
    }
    // The longest first: a shorter one may be a part of it.
    spans.sort_by_key(|span| std::cmp::Reverse(span.len()));
    spans
}

/// The text with these parts masked. Where one does not stand in it as it is, its words are.
pub(super) fn mask_spans(text: &str, spans: &[&str]) -> String {
    spans.iter().fold(text.to_owned(), |text, span| match mask_span(&text, span, true) {
        Some(masked) => masked,
        None => span.split(' ').filter(|word| word.chars().any(char::is_alphanumeric)).fold(text, |text, word| mask_span(&text, word, false).unwrap_or(text)),
    })
}

fn mask_span(text: &str, span: &str, whole: bool) -> Option<String> {
    let letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && !is_undivided(c));
    let (mut out, mut rest, mut found) = (String::with_capacity(text.len()), text, false);
    while let Some(at) = rest.find(span) {
        let (before, after) = (&rest[..at], &rest[at + span.len()..]);
        let last = before.chars().next_back().or_else(|| out.chars().next_back());
        let inside = (letter(last) && letter(span.chars().next())) || (letter(after.chars().next()) && letter(span.chars().next_back()));
        out.push_str(before);
        if whole && inside {
            let first = span.chars().next().map_or(1, char::len_utf8);
            out.push_str(&span[..first]);
            rest = &rest[at + first..];
            continue;
        }
        out.push(QUOTED);
        rest = after;
        found = true;
    }
    out.push_str(rest);
    found.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_masked_in_every_script() {
        let cases = [
            (r#"got "x" and "y z""#, r#"got "*" and "*""#),
            ("This model's 'prompt' isn't good", "This model's '*' isn't good"),
            (r#"The guard dislikes "how do I poison"#, r#"The guard dislikes "*"#),
            ("The guard dislikes 'how do I poison", "The guard dislikes '*"),
            (r#"用户输入"如何毒死我"被拦截"#, r#"用户输入"*"被拦截"#),
            ("用户输入'如何毒死我'被拦截", "用户输入'*'被拦截"),
            ("「山田太郎」さんの", "「*」さんの"),
            ("a ‹b› c «d e» f »g« h", "a ‹*› c «*» f »*« h"),
            (r#"say "how do I "poison" him" now"#, r#"say "*" now"#),
            ("the 'users' prompts are long' here", "the '*' here"),
            ("Settings » Billing", "Settings » Billing"),
            (r#"a 5" disk is full"#, r#"a 5" disk is full"#),
            (r#"is too long." while calling"#, r#"is too long." while calling"#),
            ("''", "''"),
            ("it's", "it's"),
        ];
        for (line, masked) in cases {
            assert_eq!(mask(line).replace(QUOTED, "*"), masked, "{line}");
            assert_eq!(mask(&mask(line)), mask(line), "{line}");
        }
    }

    #[test]
    fn what_was_in_back_ticks_is_masked_where_it_stands() {
        let marked = "The guard dislikes \u{e00f}how do I go on\u{e00f} a lot, and \u{e00f}a\u{e00f} too\nlast \u{e00f}one two";
        let plain = marked.replace(BACKTICK, "");
        assert_eq!(mask_spans(&plain, &in_backticks(marked)).replace(QUOTED, "*"), "The guard dislikes * * lot, and * too\nlast *");
        assert_eq!(mask_spans("one. two", &["one two"]).replace(QUOTED, "*"), "*. *");
    }
}
