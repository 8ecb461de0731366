//! Names that are compared as they are: codes, finish reasons, events, headers, fields. None of them is a pattern, and who writes one as if it were gets a rule that never matches.

use super::reader::{Entry, TextList};
use crate::diagnostic::{Code, Problem};
use crate::source::Spanned;

/// What no name has, but many a pattern.
const SIGNS: [&str; 7] = [".*", ".+", "\\", "|", "(?", ", ", "*"];

/// One name or a list of names; numbers and booleans are names too.
pub(super) fn read_names(entry: &Entry<'_>) -> TextList {
    entry.items().iter().filter_map(read_name).collect()
}

fn read_name(entry: &Entry<'_>) -> Option<Spanned<String>> {
    let name = entry.scalar_text()?;
    if entry.key == "code" && name.trim().contains(char::is_whitespace) && plain_name(&name).is_none() {
        let problem = Problem::new(Code::DeadPattern, entry.at, format!("\"{}\" is never seen as a code: codes have no blanks", *name));
        entry.doubt(problem.hint("match its words with `message`"));
    }
    if let Some(plain) = plain_name(&name) {
        let problem = Problem::new(Code::LooksLikePattern, entry.at, format!("\"{}\" looks like a pattern, but `{}` is compared as it is", name.escape_debug(), entry.key));
        entry.doubt(problem.label("its signs stand for themselves").hint(format!("write the name alone, such as \"{plain}\", and several as a list; case does not matter")));
    }
    Some(name)
}

/// What was meant, if the name looks like a pattern.
fn plain_name(name: &str) -> Option<&str> {
    let is_framed = name.len() > 1 && name.starts_with('/') && name.ends_with('/');
    let looks_like = name != name.trim() || is_framed || name.starts_with('^') || name.ends_with('$') || SIGNS.iter().any(|sign| name.contains(sign));
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let word = name.split(|c| !is_word(c)).map(|word| word.trim_matches(['.', '_', '-'])).find(|word| !word.is_empty());
    looks_like.then(|| word.unwrap_or("context_length_exceeded"))
}

/// The name of a header, in which `*` may stand for that of a bucket.
pub(super) fn read_header_name(entry: &Entry<'_>, with_bucket: bool) -> Option<Spanned<String>> {
    let name = entry.text()?;
    if let Some(why) = no_header_name(&name, with_bucket) {
        return entry.invalid(Code::InvalidValue, format!("`{}` is no name of a header: {why}", *name), "write the name alone, such as \"retry-after\"");
    }
    Some(name)
}

/// Why it is none.
pub(super) fn no_header_name(name: &str, with_bucket: bool) -> Option<String> {
    let is_wrong = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') || with_bucket && c == '*');
    match name.chars().find(|c| is_wrong(*c)) {
        _ if name.is_empty() => Some("it is empty".to_owned()),
        Some(' ') => Some("it has a blank in it".to_owned()),
        Some(wrong) => Some(format!("it has a '{}' in it", wrong.escape_debug())),
        None => None,
    }
}

/// The end of a path into a structured body: keys with dots between.
pub(super) fn read_path(entry: &Entry<'_>) -> Option<Spanned<String>> {
    if !entry.is_text() {
        return entry.wrong_type("the name of a field", "name the field that states it, such as \"error.max_tokens\"; it is read from each failure");
    }
    let path = entry.text()?;
    let is_path = path.split('.').all(|key| !key.is_empty() && !key.contains(['/', '$', '[', ']', '*', ',', ' ', '\\']));
    if is_path {
        return Some(path);
    }
    let keys: Vec<_> = path.split(['/', '.', '$', '[', ']', '*']).filter(|key| !key.is_empty() && key.bytes().any(|byte| !byte.is_ascii_digit())).collect();
    let meant = if keys.is_empty() || path.contains([',', ' ']) { "error.retry_in".to_owned() } else { keys.join(".") };
    let hint = format!("write its keys with dots between, or the last of them alone, such as \"{meant}\"; lists are passed through");
    entry.invalid(Code::InvalidValue, format!("`{}` is no path to a field", *path), hint)
}

#[cfg(test)]
mod tests {
    use super::plain_name;

    #[test]
    fn names_are_told_from_patterns() {
        for name in [
            "context_length_exceeded",
            "1261",
            "Throttling.RateQuota",
            "com.amazon.coral#Foo",
            "invalid_request_error:tokens",
            "billing/quota",
            "response.failed",
            "Too Many Requests",
        ] {
            assert_eq!(plain_name(name), None, "{name}");
        }
        for (pattern, meant) in
            [("context_.*", "context"), ("/too_long/", "too_long"), (" too_long ", "too_long"), ("too_long, too_big", "too_long"), ("^busy$", "busy"), ("max_*", "max")]
        {
            assert_eq!(plain_name(pattern), Some(meant), "{pattern}");
        }
    }
}
