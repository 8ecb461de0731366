//! Machine-readable codes, and the names of exceptions in prose.

use memchr::{memchr, memchr3, memchr3_iter, memrchr};

/// Longest code; what is longer is a sentence or an id.
const LONGEST: usize = 80;

/// How much of a text is searched for names.
const SEARCHED: usize = 1024;

/// The code in the value of a field. Sentences are none.
pub(super) fn clean(value: &str) -> Option<&str> {
    // What is badly quoted keeps a quote or a comma of its surroundings.
    let mut code = value.trim_matches(|end: char| end.is_ascii_whitespace() || matches!(end, '"' | '\'' | ','));
    let bytes = code.as_bytes();
    if bytes.is_empty() || bytes.len() > 2 * LONGEST {
        return None;
    }
    // AWS says where its types are documented: "ThrottlingException:http://internal.amazon.com/".
    if let Some(colon) = memchr(b':', bytes)
        && bytes.get(colon..).is_some_and(|rest| rest.starts_with(b":http"))
    {
        code = code.get(..colon)?;
    }
    if let Some(hash) = memrchr(b'#', code.as_bytes()) {
        code = code.get(hash + 1..)?;
    }
    if code.is_empty() || code.len() > LONGEST || memchr3(b' ', b'\n', b'\t', code.as_bytes()).is_some() || is_absent(code) {
        return None;
    }
    Some(code)
}

/// Whether a word only says that there is no value.
pub(super) fn is_absent(word: &str) -> bool {
    matches!(word, "null" | "None" | "undefined" | "nil")
}

/// Whether a word is a plain number.
pub(super) fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word);
    !digits.is_empty() && digits.len() <= 24 && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && digits.bytes().any(|byte| byte.is_ascii_digit())
}

/// The HTTP error status that a value states, as a number or in front of its name.
pub(super) fn status(value: &str) -> Option<u16> {
    let value = value.trim();
    let digits = value.get(..3)?;
    if value.len() > 3 && value.as_bytes().get(3) != Some(&b' ') {
        return None;
    }
    digits.parse().ok().filter(|status| (400..600).contains(status))
}

/// Calls `found` with each exception name in a text: `openai.RateLimitError: ...` gives
/// `RateLimitError`.
pub(super) fn exceptions<'s>(text: &'s str, mut found: impl FnMut(&'s str)) {
    let mut limit = text.len().min(SEARCHED);
    while !text.is_char_boundary(limit) {
        limit -= 1;
    }
    let Some(text) = text.get(..limit) else { return };
    let bytes = text.as_bytes();
    // Names end in few letters, so most words are left after a look at their last one.
    for at in memchr3_iter(b'r', b'n', b't', bytes) {
        if !bytes.get(at + 1).is_some_and(|next| is_word(*next) && *next != b'.') {
            found_before(text, at + 1, &mut found);
        }
    }
}

/// Reports the exception name that ends at `end`, if one does.
fn found_before<'s>(text: &'s str, end: usize, found: &mut impl FnMut(&'s str)) {
    let Some(before) = text.get(..end) else { return };
    if !has_suffix(before) {
        return;
    }
    let bytes = before.as_bytes();
    let length = bytes.iter().rev().take(LONGEST).take_while(|byte| is_word(**byte)).count();
    let Some(word) = before.get(end - length..) else { return };
    let (package, name) = word.rsplit_once('.').map_or(("", word), |(package, name)| (package, name));
    let camel = name.bytes().skip(1).any(|byte| byte.is_ascii_uppercase());
    let plain = name.len() >= 8 && camel && name.bytes().any(|byte| byte.is_ascii_lowercase());
    // `litellm.Timeout` is the one that is too short to be told from a word without its package.
    if plain || (name == "Timeout" && package.bytes().all(|byte| byte.is_ascii_lowercase()) && !package.is_empty()) {
        found(name);
    }
}

/// Whether a text ends as the names of exceptions do.
fn has_suffix(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends_with = |suffix: &[u8]| {
        let start = bytes.len().checked_sub(suffix.len());
        let end = start.and_then(|start| bytes.get(start..));
        end.is_some_and(|end| end.eq_ignore_ascii_case(suffix))
    };
    match bytes.last().map(u8::to_ascii_lowercase) {
        Some(b'r') => ends_with(b"error"),
        Some(b'n') => ends_with(b"exception"),
        Some(b't') => ends_with(b"fault") || ends_with(b"timeout"),
        _ => false,
    }
}

/// Whether a byte can be part of a qualified name.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes() {
        for (value, code) in [
            ("rate_limit_exceeded", Some("rate_limit_exceeded")),
            (" 1261 ", Some("1261")),
            ("ThrottlingException:http://internal.amazon.com/coral/", Some("ThrottlingException")),
            ("com.amazon.coral.service#ThrottlingException", Some("ThrottlingException")),
            ("subscription:free-usage-exhausted", Some("subscription:free-usage-exhausted")),
            ("Bad Request", None),
            ("", None),
            ("None", None),
            ("server_error'\"", Some("server_error")),
        ] {
            assert_eq!(clean(value), code, "{value}");
        }
        assert_eq!(clean(&"x".repeat(81)), None);
    }

    #[test]
    fn statuses() {
        for (value, expected) in [("429", Some(429)), ("503 Service Unavailable", Some(503)), ("200", None), ("4290", None), ("4", None), ("éé", None), ("failed", None)] {
            assert_eq!(status(value), expected, "{value}");
        }
    }

    #[test]
    fn names() {
        for (text, expected) in [
            ("openai.BadRequestError: Error code: 400", vec!["BadRequestError"]),
            ("An error occurred (throttlingException) when", vec!["throttlingException"]),
            ("litellm.Timeout: APITimeoutError - Request", vec!["Timeout", "APITimeoutError"]),
            ("ThrottlingException(properties: x", vec!["ThrottlingException"]),
            ("AI_APICallError: x", vec!["AI_APICallError"]),
            ("ServiceQuotaExceededException MONTHLY", vec!["ServiceQuotaExceededException"]),
            ("ValidationException. Prompt", vec!["ValidationException"]),
            ("java.net.SocketException", vec!["SocketException"]),
            ("RubyLLM::BadRequestError (message):", vec!["BadRequestError"]),
            ("RetryError[<Future at 0x7f state=finished raised APIConnectionError>]", vec!["RetryError", "APIConnectionError"]),
            ("an InternalServerError was raised", vec!["InternalServerError"]),
            ("RateLimitErrorMessage, the RateLimitErr", vec![]),
            ("Error: an error: internal error, (Client.Timeout exceeded", vec![]),
            ("rate_limit_error: x", vec![]),
            ("RateLimitErrors: x", vec![]),
            ("é: ", vec![]),
        ] {
            let mut found = Vec::new();
            exceptions(text, |name| found.push(name));
            assert_eq!(found, expected, "{text}");
        }
    }
}
