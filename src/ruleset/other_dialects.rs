//! What other dialects of regular expressions know and this one does not, each with what is written instead.

use std::ops::Range;

use regex_syntax::ast::{Error, ErrorKind};

/// What is foreign in a pattern.
#[derive(Debug)]
pub(super) struct Foreign {
    pub(super) range: Range<usize>,
    pub(super) message: String,
    pub(super) hint: String,
}

const ONCE_MORE: &str = "write the part out once more";

/// How groups begin that only others know, what they are, and what to write.
const GROUPS: [(&str, &str, &str); 12] = [
    ("(?>", "an atomic group", "write a plain group: (?:...)"),
    ("(?P=", "a back-reference", ONCE_MORE),
    ("(?P>", "a recursion", ONCE_MORE),
    ("(?&", "a recursion", ONCE_MORE),
    ("(?R", "a recursion", ONCE_MORE),
    ("(?+", "a recursion", ONCE_MORE),
    ("(?|", "a branch reset", "write a plain group: (?:...)"),
    ("(?#", "a comment", "leave it out, and write it behind # above the pattern"),
    ("(?(", "a condition", "write one pattern for each case, in a list: any of a list may match"),
    ("(?^", "a group with flags reset", "write a plain group: (?:...)"),
    ("(?C", "a callout", "leave it out"),
    ("(*", "a verb", "leave it out, and put what must not be there into `unless`"),
];

/// Letters that others escape, what they mean by that, and what to write.
const ESCAPES: [(char, &str, &str); 18] = [
    ('Z', "the end of the text", r"write $ or \z"),
    ('h', "a blank", r"write a blank, or \s"),
    ('H', "anything but a blank", r"write \S"),
    ('R', "a line end", r"write \s+"),
    ('K', "where the match is to begin", "leave it out: what is taken of a match is what (?<limit>...) and the like hold"),
    ('E', "the end of a quotation", r"leave it out, and escape what stands before it by hand, as in \. or \("),
    ('G', "the end of the match before", "leave it out"),
    ('X', "any character", "write ."),
    ('N', "anything but a line end", "write ."),
    ('C', "any byte", "write ."),
    ('k', "a back-reference", ONCE_MORE),
    ('g', "a back-reference", ONCE_MORE),
    ('l', "a change of case", "leave it out: case does not matter"),
    ('L', "a change of case", "leave it out: case does not matter"),
    ('m', "the beginning of a word", r"write \b"),
    ('M', "the end of a word", r"write \b"),
    ('c', "a control character", "leave it out: messages have none"),
    ('e', "the character ESC", r"write \x1b"),
];

/// Characters that come of escapes in double quotes: as they stand there, what they are, and whether regexes mean something else by that.
const CONTROLS: [(char, &str, &str, bool); 2] = [('\u{8}', r"\b", "a backspace", true), ('\u{c}', r"\f", "a form feed", false)];

/// What the error comes of, if of another dialect.
pub(super) fn find(text: &str, error: &Error) -> Option<Foreign> {
    let at = error.span().start.offset;
    match error.kind() {
        ErrorKind::EscapeUnrecognized => escape(text, at),
        ErrorKind::RepetitionCountDecimalEmpty | ErrorKind::RepetitionCountUnclosed => brace(text, at),
        ErrorKind::RepetitionMissing if text[at..].starts_with('{') => brace(text, at),
        ErrorKind::FlagUnrecognized | ErrorKind::RepetitionMissing | ErrorKind::FlagUnexpectedEof | ErrorKind::FlagDanglingNegation => group(text, at),
        _ => None,
    }
}

/// What is foreign in a pattern though it compiles: a recursion reads like the flag R, which heeds line ends of Windows.
pub(super) fn find_unnoticed(text: &str) -> Option<Foreign> {
    let at = text.find("(?R)").filter(|at| *at > 0 && !text[..*at].ends_with('\\'))?;
    group(text, at + 2)
}

/// A character that nobody means who writes it by an escape of TOML.
pub(super) fn find_control(text: &str) -> Option<Foreign> {
    let (at, control) = text.char_indices().find_map(|(at, c)| Some((at, CONTROLS.iter().find(|(control, ..)| *control == c)?)))?;
    let &(c, escape, name, is_meant) = control;
    let hint = if is_meant {
        let written = text.replace(c, escape);
        let quotes = if text.contains('\'') { "'''" } else { "'" };
        let written = if written.contains(|c: char| c.is_control()) || written.len() > 100 { "the pattern".to_owned() } else { format!("{quotes}{written}{quotes}") };
        format!("in \"double quotes\" {escape} is {name}; in single ones it is what regexes mean by it: write {written}")
    } else {
        format!("in \"double quotes\" {escape} is {name}; leave its backslash out, and write patterns in 'single quotes'")
    };
    Some(Foreign { range: at..at + c.len_utf8(), message: format!("there is {name} (U+{:04X}) in the pattern, and in no text", u32::from(c)), hint })
}

fn group(text: &str, at: usize) -> Option<Foreign> {
    // A repetition that follows is what is noticed of some.
    let before = text[..at].strip_suffix(')').filter(|before| before.ends_with("(?R")).unwrap_or(&text[..at]);
    let start = before.rfind('(').filter(|start| at - start <= 4)?;
    let rest = &text[start..];
    let found = |range: usize, name: &str, hint: String| {
        let written = &rest[..range];
        let message = format!("the regex does not compile: `{written}` begins {name}, which patterns do not have");
        Some(Foreign { range: start..start + range, message, hint })
    };
    if let Some(name) = rest.strip_prefix("(?'").and_then(|rest| rest.split_once('\'')).map(|(name, _)| name) {
        return found(3, "a named group of another dialect", format!("write (?<{name}>...)"));
    }
    if rest.strip_prefix("(?").is_some_and(|rest| rest.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit())) {
        return found(at + 1 - start, "a recursion", ONCE_MORE.to_owned());
    }
    let (begin, name, hint) = GROUPS.iter().find(|(begin, ..)| rest.starts_with(begin))?;
    found(begin.len(), name, (*hint).to_owned())
}

fn escape(text: &str, at: usize) -> Option<Foreign> {
    let letter = text[at..].strip_prefix('\\')?.chars().next()?;
    let found = |meaning: &str, hint: String| {
        let message = format!("the regex does not compile: `\\{letter}` is {meaning} in other dialects, and nothing here");
        Some(Foreign { range: at..at + 1 + letter.len_utf8(), message, hint })
    };
    if letter == 'Q' {
        let quoted = text[at + 2..].split("\\E").next()?;
        let all = format!("{}{}{}", &text[..at], regex_syntax::escape(quoted), text[at + 2 + quoted.len()..].trim_start_matches("\\E"));
        let hint = if all.len() > 100 { r"escape by hand what is quoted, as in \. or \(".to_owned() } else { format!("escape by hand what is quoted: {all}") };
        return found("the beginning of a quotation", hint);
    }
    if !letter.is_ascii_alphanumeric() {
        let message = format!("the regex does not compile: `{letter}` takes no backslash");
        return Some(Foreign { range: at..at + 1 + letter.len_utf8(), message, hint: format!("write {letter} alone") });
    }
    let (_, meaning, hint) = ESCAPES.iter().find(|(known, ..)| *known == letter)?;
    found(meaning, (*hint).to_owned())
}

fn brace(text: &str, at: usize) -> Option<Foreign> {
    let start = if text[at..].starts_with('{') { at } else { text[..at].rfind('{')? };
    let inner = &text[start + 1..];
    if let Some(most) = inner.strip_prefix(',').and_then(|rest| rest.split_once('}')).map(|(most, _)| most.trim()).filter(|most| most.parse::<u32>().is_ok()) {
        let end = start + 1 + inner.find('}')? + 1;
        let message = "the regex does not compile: the repetition does not say its least count".to_owned();
        return Some(Foreign { range: start..end, message, hint: format!("write {{0,{most}}}") });
    }
    let digits = inner.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 {
        let count = &inner[..digits];
        let message = "the regex does not compile: the repetition has no end".to_owned();
        return Some(Foreign { range: start..start + 1 + digits, message, hint: format!("write {{{count}}}; a literal brace is written \\{{") });
    }
    let is_json = inner.trim_start().starts_with(['"', '\'']);
    let hint = if is_json {
        "a literal brace is written \\{, but messages are read out of the JSON around them: write their text alone; `code` sees the codes in it, `body` all of it"
    } else {
        "a literal brace is written \\{"
    };
    let message = "the regex does not compile: a brace begins a repetition, such as {2,3}".to_owned();
    Some(Foreign { range: start..start + 1, message, hint: hint.to_owned() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex_syntax::ast::parse::Parser;

    use super::{find, find_control, find_unnoticed};

    fn pattern() -> impl Strategy<Value = String> {
        const PARTS: [&str; 24] =
            ["(?", "(?>", "(?'", "'", "(?(", "(?R)", "(?-", "1", "(*", ")", "\\", "\\Q", "\\E", "\\k<", "{", "{,", "}", "é", "[", "]", "+", "a", "超", "\u{8}"];
        let part = prop_oneof![proptest::sample::select(&PARTS[..]).prop_map(str::to_owned), "[ -~é]{1,3}"];
        proptest::collection::vec(part, 1..8).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_marked_stands_in_the_pattern(text in pattern()) {
            let error = Parser::new().parse(&text).err();
            let found = [error.and_then(|error| find(&text, &error)), find_unnoticed(&text), find_control(&text)];
            for foreign in found.into_iter().flatten() {
                let marked = text.get(foreign.range.clone());
                prop_assert!(marked.is_some_and(|marked| !marked.is_empty()), "{:?} {:?}", text, foreign);
            }
        }
    }
}
