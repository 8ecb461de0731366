//! A failure's text without what is private or different every time: numbers, ids, keys, names, addresses, paths and quoted content become placeholders.
//!
//! In doubt it is masked: a template that says too little costs a look at the provider's documentation, one that says too much cannot be taken back.

use super::placeholder::{self, NUMBER, TEXT};
use super::quotation;
use super::vocabulary::{LABELS, LABELS_UNDIVIDED};
use super::word::{self, Next};

/// Longer templates are cut.
const MAX_BYTES: usize = 400;
/// More lines than this are left out; a failure says what it is in the first.
const MAX_LINES: usize = 3;
/// The second pass finds nothing new in almost all texts.
const MAX_PASSES: usize = 16;
/// The mark of a cut.
const CUT: char = '…';

/// The template of normalised texts, one a line. In `marked` stand [marks](quotation::BACKTICK) where back-ticks were.
pub(super) fn template(text: &str, marked: Option<&str>) -> String {
    let text = placeholder::read(&placeholder::without(text));
    let marked = marked.map(placeholder::read);
    let text = match &marked {
        Some(marked) => quotation::mask_spans(&text, &quotation::in_backticks(marked)),
        None => text,
    };
    let mut lines: Vec<String> = Vec::new();
    let mut length = 0;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if lines.len() == MAX_LINES || length >= MAX_BYTES {
            break;
        }
        // Far more is never shown, so far more is never looked at.
        let mut masked = placeholder::write(&mask_wholly(head(line, 4 * MAX_BYTES)));
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
    if plain && (digits <= 2 || number) && !word::is_key(code) { code.to_owned() } else { "<id>".to_owned() }
}

fn head(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    &text[..end]
}

/// Cuts between words, and never inside a placeholder.
fn cut(text: &str, bytes: usize) -> String {
    let kept = head(text, bytes.saturating_sub(CUT.len_utf8()));
    // Where words are not divided, between letters.
    let end = kept.rfind(' ').or_else(|| kept.rfind('<').filter(|at| !kept[*at..].contains('>'))).unwrap_or(kept.len());
    format!("{}{CUT}", kept[..end].trim_end())
}

/// The line masked until there is nothing more to mask: what is left then is so by itself, and a template is its own.
fn mask_wholly(line: &str) -> String {
    let mut line = line.to_owned();
    for _ in 0..MAX_PASSES {
        let masked = mask_line(&line);
        if masked == line {
            break;
        }
        line = masked;
    }
    line
}

/// The line masked, with the placeholders as characters.
fn mask_line(line: &str) -> String {
    let quoted = quotation::mask(line);
    let mut out = String::with_capacity(quoted.len());
    let (mut sentence_starts, mut next) = (true, Next::Anything);
    let mut before = String::new();
    for word in quoted.split(' ') {
        if !out.is_empty() {
            out.push(' ');
        }
        if let Some(label) = label(word) {
            out.push_str(label);
            out.push(' ');
            out.push(TEXT);
            break;
        }
        let masked = word::mask(word, sentence_starts, next);
        out.push_str(&masked);
        sentence_starts = masked.ends_with(['.', '!', '?', ':', ';', '。', '：']) || masked == "-";
        // `Basic` of `Authorization: Basic ...` is masked, and what comes after it is what has to be.
        let sent = matches!(next, Next::Secret | Next::PerhapsSecret) && word::is_scheme(word);
        next = if sent { Next::Secret } else { word::after(&masked, &before, next) };
        before = masked;
    }
    out
}

/// `prompt:`, `input=...` or `<prompt>`: the part up to the colon, when somebody's own words follow.
fn label(word: &str) -> Option<&str> {
    if let Some((at, end)) = tag(word) {
        let name = word[at + 1..end].to_ascii_lowercase();
        return LABELS.has(&name).then(|| &word[..=end]);
    }
    let (end, colon) = word.char_indices().find(|(_, c)| matches!(c, ':' | '=' | '：'))?;
    let end = end + colon.len_utf8();
    let (name, rest) = (&word[..end - colon.len_utf8()], &word[end..]);
    let name = name.trim_start_matches(['(', '[', '{', '"']).trim_end_matches('"').to_ascii_lowercase();
    let known = LABELS.has(&name) || LABELS_UNDIVIDED.split(' ').any(|label| name.ends_with(label));
    // A count behind the colon is no text: `input:12`.
    (known && !rest.starts_with(|c: char| c.is_ascii_digit() || c == NUMBER)).then(|| &word[..end])
}

/// Where the first tag of the word begins and ends.
fn tag(word: &str) -> Option<(usize, usize)> {
    let at = word.find('<')?;
    Some((at, at + word[at..].find('>')?))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample;

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
            // What stands in angle brackets is no placeholder, unless it is one.
            ("Mail from Jonas <jonas@firma.example> jammed the gate", "Mail from <name> <<email>> jammed the gate"),
            ("got <sk-proj-AbCdEfGh12345678>, <AKIAIOSFODNN7EXAMPLE>", "got <<id>>, <<id>>"),
            ("see <b>this and <https://a.example/x>", "see <b>this and <<path>>"),
            ("the <prompt>how do I go on</prompt> is bad", "the <prompt> <text>"),
            ("Shard <id> needs <n> of <quoted>", "Shard <id> needs <n> of <quoted>"),
            // Credentials, by the words before them and by what they begin with.
            ("Header Authorization: Basic dXNlcjpwYXNz gate", "Header Authorization: <id> <id> gate"),
            ("Header Authorization: Token abcdefgh gate", "Header Authorization: <id> <id> gate"),
            ("bad Digest dXNlcjpwYXNz here", "bad Digest <id> here"),
            ("Bearer abcdefgh is bad", "Bearer <id> is bad"),
            ("x-api-key: abcdefgh", "x-api-key: <id>"),
            ("the API-KEY xyzzy-plugh-frotz was refused", "the API-KEY <id> was refused"),
            ("the API key hunter was refused", "the API key <id> was refused"),
            ("Incorrect API key provided: hunter", "Incorrect API key provided: <id>"),
            ("the password is hunter", "the password is <id>"),
            ("my_client_secret=hunter;", "my_client_secret=<id>;"),
            ("keys glpat-abcdefgh gsk_abcdefgh hf_abcdefgh xoxb-abcd-efgh AIzaSyabcdefgh", "keys <id> <id> <id> <id> <id>"),
            ("密钥：abcdefgh 无效", "密钥：<id> 无效"),
            ("密钥sk-abcdefgh无效", "密钥<id>无效"),
            ("The API key is invalid", "The API key is invalid"),
            ("Please provide an API key", "Please provide an API key"),
            ("the token limit was exceeded, no token was sent", "the token limit was exceeded, no token was sent"),
            ("Invalid bearer token", "Invalid bearer token"),
            ("Authorization header is missing", "Authorization header is missing"),
            // Quotations, to their end or to that of the text.
            ("The guard dislikes \"how do I poison my husband", "The guard dislikes \"<quoted>"),
            ("用户输入\"如何毒死我的丈夫\"被拦截", "用户输入\"<quoted>\"被拦截"),
            ("「山田太郎」さんの利用", "「<quoted>」さんの利用"),
            ("dislikes ‹how do I go on› and «what else»", "dislikes ‹<quoted>› and «<quoted>»"),
            ("the 'prompt' parameter is too long", "the '<quoted>' parameter is too long"),
            // Names, by the words before and behind them.
            ("user jonas.weidner is over it", "user <id> is over it"),
            ("Account max.mustermann (max@firma.example) is closed", "Account <id> (<email>) is closed"),
            ("consumer jweidner jammed it", "consumer <name> jammed it"),
            ("Request by jweidner", "Request by <name>"),
            ("Request by the server", "Request by the server"),
            ("Thank you, Mr. Weidner", "Thank you, Mr. <name>"),
            ("Hi mr. weidner", "Hi mr. <name>"),
            ("用户 张伟 已停用", "用户 <name> 已停用"),
            ("账户 余额不足", "账户 余额不足"),
            ("山田様の利用", "<name>様の利用"),
            ("the first message should be user or system", "the first message should be user or system"),
            ("your account balance is too low", "your account balance is too low"),
            // Whose it is, and where.
            ("Model Group=contoso-prod is full", "Model Group=<id> is full"),
            ("reason=EDGE_TIMEOUT, user_error=true", "reason=EDGE_TIMEOUT, user_error=true"),
            ("host api.contoso.example:443 is down", "host <path>:<n> is down"),
            ("getaddrinfo ENOTFOUND buildbox", "getaddrinfo ENOTFOUND <path>"),
            ("3 / min", "<n> / min"),
            ("10.1.2.3:443 is down", "<n>:<n> is down"),
            ("at fe80::1 or 2001:db8:0:1", "at <id> or <id>"),
            ("the first, e.g. one.Please go on", "the first, e.g. one.Please go on"),
            ("langgraph.errors.GraphRecursionError: no", "langgraph.errors.GraphRecursionError: no"),
            // Numbers that are none.
            ("trace 7f8a9b01 at 0x7f33aa10, 12345d and 4d", "trace <id> at <id>, <id> and <n>d"),
            ("waits 1h2m3s or 250ms or $0.50, 5xx, 1024x768, 2nd, 128k, 99%", "waits <n>h<n>m<n>s or <n>ms or $<n>, <n>xx, <n>x<n>, <n>nd, <n>k, <n>%"),
            ("الرمز ٠١٦ خطأ", "الرمز <id> خطأ"),
            ("12345678901234 of 1234567890", "<id> of <n>"),
        ];
        let wrong = cases.iter().map(|(text, expected)| (*text, template(text, None), *expected)).filter(|(_, masked, expected)| masked != expected);
        assert_eq!(wrong.collect::<Vec<_>>(), []);
        assert_eq!(cases.map(|(_, expected)| template(expected, None)), cases.map(|(_, expected)| expected.to_owned()));
    }

    #[test]
    fn ids_of_a_length_are_one_kind() {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for (length, prefix) in [(6, ""), (8, ""), (12, ""), (16, ""), (8, "0x")] {
            // One that happens to be all digits is a number.
            let ids = std::iter::repeat_with(|| format!("{:016x}", random())[..length].to_owned()).filter(|id| id.bytes().any(|byte| byte.is_ascii_alphabetic()));
            let kinds: std::collections::BTreeSet<_> = ids.take(40).map(|id| template(&format!("request {prefix}{id} is lost"), None)).collect();
            assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["request <id> is lost"], "{length}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn a_template_is_its_own_template(words in vec(sample::select(PIECES), 0..24)) {
            let masked = template(&words.concat(), None);
            prop_assert_eq!(template(&masked, None), masked);
        }
    }

    const PIECES: &[&str] = &[
        " ",
        " ",
        " ",
        " ",
        "a",
        "Jonas",
        "limit",
        "user",
        "by",
        "API",
        "key",
        "token:",
        "Bearer",
        "password",
        "is",
        "prompt:",
        "12",
        "3.5",
        "7f8a",
        "ms",
        "x",
        "d",
        "-",
        "_",
        ".",
        ". ",
        ", ",
        ": ",
        ":",
        "=",
        "/",
        "\\",
        "'",
        "\"",
        "`",
        "「",
        "」",
        "«",
        "(",
        ")",
        "<",
        ">",
        "<n>",
        "<id>",
        "<name>",
        "<text>",
        "<quoted>",
        "<path>",
        "<time>",
        "@",
        "用户",
        "密钥",
        "张伟",
        "说",
        "…",
        "host",
        "::",
        "Mr.",
        "BadRequestError",
        "max_tokens",
        "sk-abcdefgh",
        "2026-08-01T12:30:05Z",
        "e.g.",
        "\n",
        "٠١",
        "…",
        "s'",
        "’",
        "é",
        "Group=",
    ];

    #[test]
    fn size_is_bounded() {
        let long = format!("{}\n{}", "word ".repeat(10_000), "more ".repeat(10));
        let cut = template(&long, None);
        assert!(cut.len() <= MAX_BYTES + 8, "{}", cut.len());
        assert!(cut.contains(CUT));
        assert_eq!(template("a\na\nb\nc\nd", None), "a\nb\nc");
        assert_eq!(template(&"超".repeat(10_000), None).chars().last(), Some(CUT));
        for text in ["", " ", "\n\n", "'", "\"", "''", "\"\"", "=", "a=", ":b", "(", "'unclosed", "<", "\u{0}"] {
            let _ = template(text, None);
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
