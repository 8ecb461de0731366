//! Patterns over messages that no message can match, since texts are read into one spelling before patterns are asked.

use super::pattern::Pattern;
use crate::diagnostic::{Code, Problem};
use crate::signals::in_one_spelling;
use crate::source::Spanned;

/// Most letters of what is shown.
const MAX_SHOWN: usize = 60;

/// Why the pattern never matches, where it plainly does not.
pub(super) fn find(text: &Spanned<String>, pattern: &Pattern) -> Option<Problem> {
    if let Some(inner) = between_slashes(text) {
        let problem = Problem::new(Code::DeadPattern, text.at, "the slashes around this pattern are taken for a part of it, and messages have none there");
        return Some(problem.hint(format!("write it without them: '{inner}'; case does not matter in patterns anyway")));
    }
    if !may_be_respelled(text) {
        return None;
    }
    let (written, read) = pattern.pieces().iter().find_map(|texts| respelled(texts))?;
    let read = if read.is_empty() { "nothing".to_owned() } else { shown(&read) };
    let message = format!("this pattern can never match: where a message says {}, patterns see {read}", shown(&written));
    let hint = "write what patterns see: no URLs, backticks or invisible characters, straight quotes, single blanks, numbers in digits alone; `body` sees the raw text";
    Some(Problem::new(Code::DeadPattern, text.at, message).hint(hint))
}

/// What stands in the slashes of other languages: `/prompt is too long/i`.
fn between_slashes(text: &str) -> Option<&str> {
    let (inner, flags) = text.strip_prefix('/')?.rsplit_once('/')?;
    (!inner.is_empty() && !inner.contains('/') && flags.bytes().all(|flag| b"gimsuxy".contains(&flag))).then_some(inner)
}

/// Whether a closer look is worth it: nearly all patterns have nothing of the kind.
fn may_be_respelled(text: &str) -> bool {
    let bytes = text.as_bytes();
    let unusual = |byte: &u8| !byte.is_ascii() || matches!(byte, b'`' | b'~' | b'&' | b'\t' | b'\r');
    let pair = |pair: &[u8]| match pair {
        [b' ', b' '] | [b'/', b'/'] | [b'w' | b'W', b'w' | b'W'] | [b'\\', b't' | b'r' | b'\\'] => true,
        [last, next] => last.is_ascii_digit() && matches!(next, b',' | b'_' | b'\'' | b' ' | b'.' | b'k' | b'K' | b'm' | b'M'),
        _ => false,
    };
    bytes.iter().any(unusual) || bytes.windows(2).any(pair)
}

/// What a match must contain, if all ways to write it are read as something else: the first way, and what it is read as.
fn respelled(texts: &[Vec<u8>]) -> Option<(String, String)> {
    let read = |text: &Vec<u8>| {
        // Lines are texts of their own.
        let lines = std::str::from_utf8(text).ok()?.split('\n');
        lines.filter(|line| !line.trim().is_empty()).find_map(|line| {
            let framed = framed(line);
            let read = in_one_spelling(&framed);
            (!read.to_lowercase().contains(&line.to_lowercase())).then(|| (line.to_owned(), read.trim_matches('x').trim().to_owned()))
        })
    };
    let all: Option<Vec<_>> = texts.iter().map(read).collect();
    all?.into_iter().next()
}

/// The text in the midst of others, in such a way that these change nothing about it.
fn framed(text: &str) -> String {
    let before = if text.starts_with(char::is_whitespace) { "x" } else { "x " };
    let after = if text.ends_with(|last: char| last.is_whitespace() || last.is_alphanumeric()) { "x" } else { " x" };
    format!("{before}{text}{after}")
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("\"{}...\"", &text[..end]),
        None => format!("\"{text}\""),
    }
}
