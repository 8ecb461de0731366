//! What a client or a library puts around the server's own message: class names of exceptions, and the words that say no more than that a call failed.

/// Words that every client has for every failure.
const WORDS: &str = "error errors err exception failed failure failing request response requests call calling api http https https/1.1 code status message msg reason details detail \
    description cause caused url returned received unexpected unknown internal uncaught unhandled promise provider upstream server client completion completions openai anthropic \
    litellm llm stream type param none null raised raise during warning warn fatal critical prompt \
    responded replied new async await native node body no google gemini azure bedrock";

/// Words that hold a sentence together: they say something beside others.
const LINKS: &str = "the a an by in with from for of and to at is was";

/// Whether the word is such a one, a number, an id or a sign.
pub(super) fn is_wrapping(word: &str) -> bool {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
    is_exception(bare) || is_in(WORDS, bare) || is_link(word) || !without_placeholders(word).chars().any(char::is_alphabetic)
}

fn is_link(word: &str) -> bool {
    is_in(LINKS, word.trim_matches(|c: char| !c.is_alphanumeric()))
}

fn is_in(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|known| word.eq_ignore_ascii_case(known))
}

/// Whether a code is that of many failures.
pub(super) fn is_general_code(code: &str) -> bool {
    is_exception(code)
        || code.split(['_', '-', ' ', '.']).all(|word| word.is_empty() || word.eq_ignore_ascii_case("invalid") || word.eq_ignore_ascii_case("bad") || is_wrapping(word))
}

/// The class name of an exception, with its module or without.
fn is_exception(word: &str) -> bool {
    let last = word.rsplit(['.', '_', ':']).next().unwrap_or(word);
    ["Error", "Exception", "Failure", "Fault", "Timeout"].iter().any(|end| last.ends_with(end) && last.len() > end.len())
}

fn without_placeholders(word: &str) -> String {
    let mut out = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('<') {
        out.push_str(before);
        rest = after.split_once('>').map_or(after, |(_, after)| after);
    }
    out + rest
}

/// The line without the wrapper at its beginning.
pub(super) fn unwrapped(line: &str) -> &str {
    let (mut end, mut at) = (0, 0);
    for word in line.split_inclusive(' ') {
        at += word.len();
        let trimmed = word.trim_end();
        if !is_wrapping(trimmed) {
            break;
        }
        // A wrapper ends with a colon or a dash, or with the status.
        if trimmed.ends_with([':', '-', ']']) || trimmed.ends_with("<n>") || trimmed.ends_with(">)") {
            end = at;
        }
    }
    line[end..].trim_start()
}

/// How many letters of the line are the server's own.
pub(super) fn own_letters(line: &str) -> usize {
    let weight = |c: char| if c.is_alphabetic() { 1 + 2 * usize::from(is_dense(c)) } else { 0 };
    let letters = |word: &str| without_placeholders(word).chars().map(weight).sum::<usize>();
    let own: usize = line.split(' ').filter(|word| !is_wrapping(word)).map(letters).sum();
    let links: usize = line.split(' ').filter(|word| is_link(word)).map(letters).sum();
    own + links.min(own)
}

/// A letter that says as much as three others.
fn is_dense(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_own_words_are_told_from_what_is_around_them() {
        let cases = [
            ("openai.BadRequestError: Error code: <n> - Lattice is sour", "Lattice is sour"),
            ("Error: <n> busy", "busy"),
            ("Lattice is sour", "Lattice is sour"),
            ("Error contacting the shop", "Error contacting the shop"),
            ("AI_APICallError: Sorry, request failed", "Sorry, request failed"),
            ("Error: <n> the server responded with status <n> (<id>)", ""),
            ("<n> A maximum of <n> blocks", "A maximum of <n> blocks"),
        ];
        for (line, own) in cases {
            assert_eq!(unwrapped(line), own, "{line}");
        }
        for line in [
            "openai.BadRequestError: Error code: <n> -",
            "anthropic.APIStatusError:",
            "'AI_APICallError:'",
            "Error: <n>",
            "Prompt:",
            "requests.exceptions.HTTPError:",
            "the server responded with status <n>",
            "",
        ] {
            assert_eq!(own_letters(line), 0, "{line}");
        }
        let codes = ["RateLimitError", "AI_APICallError", "invalid_request_error", "api_error", "error", "upstream_error", "server_error", "400"];
        assert_eq!(codes.map(is_general_code), codes.map(|_| true));
        let codes = ["teapot", "insufficient_quota", "entitlement_suspended", "tool_result"];
        assert_eq!(codes.map(is_general_code), codes.map(|_| false));
    }
}
