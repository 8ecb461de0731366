//! A failure's text without what is private or different every time: numbers, ids, keys, names, addresses, paths and quoted content become placeholders.
//!
//! In doubt it is masked: a template that says too little costs a look at the provider's documentation, one that says too much cannot be taken back.

/// Longer templates are cut.
const MAX_BYTES: usize = 400;
/// More lines than this are left out; a failure says what it is in the first.
const MAX_LINES: usize = 3;
/// The mark of a cut.
pub(super) const CUT: char = '…';

pub(super) const NUMBER: &str = "<n>";
const ID: &str = "<id>";
const NAME: &str = "<name>";
const EMAIL: &str = "<email>";
const PATH: &str = "<path>";
const TIME: &str = "<time>";
const QUOTED: &str = "<quoted>";
const TEXT: &str = "<text>";

/// After these words and a colon comes what somebody wrote.
const LABELS: &str = "prompt prompts input inputs content query question snippet near value received body payload user username system assistant text name got instructions \
    arguments";

/// After these words comes a secret.
const SECRETS: &str = "bearer basic key apikey api_key api-key token secret password authorization";

/// Words that are written with a capital in the middle of a sentence and name nobody.
const PUBLIC: &str = "accepted access again api authentication bad balance billing busy capacity code completion completions conflict connection content context credit \
    credits daily denied deployment endpoint entity error errors exceeded exception exhausted expired failed forbidden found function gateway got id image \
    input internal invalid is it key large length limit limits many max maximum message messages method minute model monthly network not output overloaded \
    payment per permission please processing project prompt quota rate request requested requests required resource response server service status \
    temporarily the time timeout token tokens too type unavailable unauthorized unexpected unknown window";

/// Whether a list of words has this one.
fn is_in(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|known| known == word)
}

/// The template of normalised texts, one a line.
pub(super) fn template(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut length = 0;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        // Far more is never shown, so far more is never looked at.
        let mut masked = mask_line(head(line, 4 * MAX_BYTES));
        if lines.len() == MAX_LINES || length >= MAX_BYTES {
            break;
        }
        if lines.contains(&masked) {
            continue;
        }
        if length + masked.len() > MAX_BYTES {
            masked = cut(&masked, MAX_BYTES - length);
        }
        length += masked.len();
        lines.push(masked);
    }
    lines.join("\n")
}

/// A machine code, masked when it is none but an id.
pub(super) fn code(code: &str) -> String {
    let plain = code.len() <= 60 && code.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b' ' | b':'));
    let digits = code.bytes().filter(u8::is_ascii_digit).count();
    let number = digits <= 6 && digits == code.len();
    if plain && (digits <= 2 || number) { code.to_owned() } else { ID.to_owned() }
}

fn head(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    &text[..end]
}

/// Cuts between words, and never inside a placeholder.
fn cut(text: &str, bytes: usize) -> String {
    let kept = head(text, bytes);
    let end = kept.rfind(' ').unwrap_or(0);
    format!("{}{CUT}", kept[..end].trim_end())
}

fn mask_line(line: &str) -> String {
    let quoted = mask_quotes(line);
    let mut out = String::with_capacity(quoted.len());
    let mut sentence_starts = true;
    let mut secret_follows = false;
    for word in quoted.split(' ') {
        if !out.is_empty() {
            out.push(' ');
        }
        if let Some(label) = label(word) {
            out.push_str(label);
            out.push(' ');
            out.push_str(TEXT);
            break;
        }
        out.push_str(&mask_word(word, sentence_starts, secret_follows));
        sentence_starts = word.ends_with(['.', '!', '?', ':', ';', '。', '：']) || word == "-";
        secret_follows = is_secret_label(word);
    }
    out
}

/// `prompt:` or `input=...`: the part up to the colon, when somebody's own words follow.
fn label(word: &str) -> Option<&str> {
    let end = word.find([':', '='])?;
    let (name, rest) = (&word[..end], &word[end + 1..]);
    let known = is_in(LABELS, &name.trim_start_matches(['(', '[', '{', '"']).trim_end_matches('"').to_ascii_lowercase());
    // A count behind the colon is no text: `input:12`.
    (known && !rest.bytes().next().is_some_and(|byte| byte.is_ascii_digit())).then(|| &word[..=end])
}

fn is_secret_label(word: &str) -> bool {
    let bare = word.trim_end_matches([':', '=']);
    let labelled = bare.len() < word.len();
    let name = bare.trim_start_matches(['(', '"']).to_ascii_lowercase();
    name == "bearer" || (labelled && is_in(SECRETS, &name))
}

/// Content in quotes, whatever the quotes; an apostrophe inside a word is none.
fn mask_quotes(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(open) = rest.chars().next() {
        let after = &rest[open.len_utf8()..];
        let close = match open {
            '"' | '\'' => open,
            '“' => '”',
            '‘' => '’',
            '「' => '」',
            '『' => '』',
            '«' => '»',
            _ => '\0',
        };
        let starts = !out.chars().next_back().is_some_and(char::is_alphanumeric);
        let end = (close != '\0' && starts).then(|| closing(after, close)).flatten();
        out.push(open);
        rest = after;
        if let Some(end) = end {
            if end > 0 {
                out.push_str(QUOTED);
            }
            out.push(close);
            rest = &after[end + close.len_utf8()..];
        }
    }
    out
}

/// Where the quotation ends: at its last sign that no letter follows, before the next blank-separated opening.
fn closing(text: &str, close: char) -> Option<usize> {
    text.char_indices().filter(|(_, c)| *c == close).map(|(at, _)| at).find(|at| !text[at + close.len_utf8()..].chars().next().is_some_and(char::is_alphanumeric))
}

fn mask_word(word: &str, sentence_starts: bool, secret: bool) -> String {
    const PUNCTUATION: &[char] = &['(', ')', '[', ']', '{', '}', ',', ';', ':', '!', '?', '"', '\'', '。', '，', '：', '（', '）', '|', '=', '*'];
    let core = word.trim_matches(PUNCTUATION).trim_end_matches('.');
    let Some(start) = word.find(core).filter(|_| !core.is_empty()) else {
        return word.to_owned();
    };
    let (before, after) = (&word[..start], &word[start + core.len()..]);
    // `key=value` and `a:b` are two words; so is what stands between brackets.
    if let Some(at) =
        core.find(['=', ':', '(', '[', '{', ',', '|', '/', '（', '，', '：']).filter(|&at| !core.contains("://") && !is_clock(core) && at > 0 && core.matches('/').count() < 2)
    {
        let sign = core[at..].chars().next().map_or(1, char::len_utf8);
        let (left, right) = (&core[..at], &core[at + sign..]);
        let masked = mask_word(right, false, secret || is_secret_label(&core[..at + sign]));
        return format!("{before}{}{}{masked}{after}", mask_word(left, sentence_starts, secret), &core[at..at + sign]);
    }
    format!("{before}{}{after}", if secret { ID.to_owned() } else { mask_core(core, sentence_starts) })
}

/// `12:30:05` or `2026-08-01T12:30:05Z`, whose colons are none between two words.
fn is_clock(core: &str) -> bool {
    is_date(core) || core.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.'))
}

fn mask_core(core: &str, sentence_starts: bool) -> String {
    if core.starts_with('<') && core.ends_with('>') {
        return core.to_owned();
    }
    let bytes = core.as_bytes();
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = core.chars().filter(|c| c.is_alphabetic()).count();
    let joined = bytes.iter().any(|byte| matches!(byte, b'-' | b'_' | b'.' | b'/' | b'@' | b'+'));
    if core.contains('@') {
        return EMAIL.to_owned();
    }
    if core.starts_with('/') || core.starts_with('~') || core.contains('\\') || core.matches('/').count() >= 2 || core.contains("://") {
        return PATH.to_owned();
    }
    if digits > 0 {
        return mask_with_digits(core, digits, letters);
    }
    let (lower, upper) = (core.chars().any(char::is_lowercase), core.chars().any(char::is_uppercase));
    // Keys and hashes that happen to have no digit: long, of both cases or of hexadecimal letters alone, and no exception's name.
    let exception = ["Error", "Exception", "Failure", "Timeout"].iter().any(|end| core.ends_with(end));
    let hexadecimal = letters >= 12 && bytes.iter().all(u8::is_ascii_hexdigit);
    let mixed = lower && upper && !exception;
    if hexadecimal || (mixed && (joined || letters > 16)) || (core.len() > 40 && core.is_ascii()) {
        return ID.to_owned();
    }
    let public = |word: &str| is_in(PUBLIC, word.to_lowercase().trim_end_matches("'s"));
    let capital = core.chars().next().is_some_and(char::is_uppercase);
    if capital && lower && !exception && !public(core) {
        let possessive = core.ends_with("'s");
        // The first word of a sentence has its capital from the sentence, unless it owns something or has another capital inside.
        let inner = core.chars().skip(1).any(char::is_uppercase);
        if !sentence_starts || possessive || inner {
            return if possessive { format!("{NAME}'s") } else { NAME.to_owned() };
        }
    }
    core.to_owned()
}

fn is_date(core: &str) -> bool {
    let bytes = core.as_bytes();
    bytes.len() >= 8 && bytes[..4].iter().all(u8::is_ascii_digit) && matches!(bytes[4], b'-' | b'/') && bytes.iter().filter(|byte| byte.is_ascii_digit()).count() >= 6
}

/// Numbers with a unit keep the unit, so that `6m0s` is still seen to be a wait; all else with a digit is an id.
fn mask_with_digits(core: &str, digits: usize, letters: usize) -> String {
    let bytes = core.as_bytes();
    if is_date(core) || (digits >= 4 && letters == 0 && bytes.contains(&b':')) {
        return TIME.to_owned();
    }
    let starts_like_number = bytes[0].is_ascii_digit() || matches!(bytes[0], b'$' | b'~' | b'+' | b'-' | b'#' | b'>' | b'<');
    let longest_word = core.split(|c: char| !c.is_alphabetic()).map(|word| word.chars().count()).max().unwrap_or(0);
    let ascii_joined = bytes.iter().any(|byte| matches!(byte, b'-' | b'_' | b'@')) && letters > 0;
    let chinese = !core.is_ascii();
    if chinese || (starts_like_number && letters <= 4 && longest_word <= 2 && !ascii_joined) {
        return replace_numbers(core);
    }
    ID.to_owned()
}

/// Every run of digits, with the points inside it, becomes one placeholder.
fn replace_numbers(core: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    let mut chars = core.chars().peekable();
    while let Some(c) = chars.next() {
        let point = inside && matches!(c, '.' | ',' | '_') && chars.peek().is_some_and(char::is_ascii_digit);
        if c.is_ascii_digit() || point {
            if !inside {
                out.push_str(NUMBER);
            }
            inside = true;
        } else {
            out.push(c);
            inside = false;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_private_or_changes_is_masked() {
        let cases = [
            ("prompt is too long: 213462 tokens > 200000 maximum", "prompt is too long: <n> tokens > <n> maximum"),
            (
                "Rate limit reached for gpt-4.1 in organization org-AbCd on tokens per min (TPM): Limit 30000",
                "Rate limit reached for <id> in organization <id> on tokens per min (TPM): Limit <n>",
            ),
            ("Please try again in 6m0s.", "Please try again in <n>m<n>s."),
            ("wait 7.66 s", "wait <n> s"),
            ("Incorrect API key provided: sk-abcDEFghiJKLmnop", "Incorrect API key provided: <id>"),
            ("Authorization: Bearer abcdefgh", "Authorization: <id> <id>"),
            ("api_key=hunter", "api_key=<id>"),
            ("The model 'my secret model' can't be found", "The model '<quoted>' can't be found"),
            ("This model's maximum context length is 8192 tokens", "This model's maximum context length is <n> tokens"),
            ("mail anna@example.org about it", "mail <email> about it"),
            ("no such file /home/anna/notes.txt here", "no such file <path> here"),
            ("resets at 2026-08-01T12:00:00Z", "resets at <time>"),
            ("resets at 12:30:05", "resets at <time>"),
            ("the account of Anna Schmidt is locked", "the account of <name> <name> is locked"),
            ("see Anna's account", "see <name>'s account"),
            ("Internal Server Error", "Internal Server Error"),
            ("BadRequestError: nope", "BadRequestError: nope"),
            ("Invalid prompt: please help me with my divorce", "Invalid prompt: <text>"),
            ("RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED"),
            ("hash deadbeefcafebabe is bad", "hash <id> is bad"),
            ("输入长度 12345 超过限制", "输入长度 <n> 超过限制"),
            ("输入长度12345超过限制", "输入长度<n>超过限制"),
            ("id 123e4567-e89b-12d3-a456-426614174000.", "id <id>."),
            ("got \"x\" and \"y z\"", "got \"<quoted>\" and \"<quoted>\""),
            ("Limit:30000/min", "Limit:<n>/min"),
        ];
        for (text, expected) in cases {
            assert_eq!(template(text), expected, "{text}");
        }
    }

    #[test]
    fn size_is_bounded() {
        let long = format!("{}\n{}", "word ".repeat(10_000), "more ".repeat(10));
        let cut = template(&long);
        assert!(cut.len() <= MAX_BYTES + 8, "{}", cut.len());
        assert!(cut.contains(CUT));
        assert_eq!(template("a\na\nb\nc\nd"), "a\nb\nc");
        assert_eq!(template(&"超".repeat(10_000)).chars().last(), Some(CUT));
        for text in ["", " ", "\n\n", "'", "\"", "''", "\"\"", "=", "a=", ":b", "(", "'unclosed", "<", "\u{0}"] {
            let _ = template(text);
        }
    }

    #[test]
    fn codes_are_kept_and_ids_are_not() {
        let cases = [
            ("context_length_exceeded", "context_length_exceeded"),
            ("1261", "1261"),
            ("req_011CSHoEeqs5C35K2UUqR7Fy", "<id>"),
            ("BadRequestError", "BadRequestError"),
            ("a b!", "<id>"),
        ];
        for (given, kept) in cases {
            assert_eq!(code(given), kept);
        }
    }
}
