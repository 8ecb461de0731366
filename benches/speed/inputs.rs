//! Failures, named by what is special about them.

use std::fmt;
use std::sync::LazyLock;

use overspill::{Failure, Transport};

use crate::corpus;

/// A failure and its name in the tables.
#[derive(Clone)]
pub(crate) struct Input {
    name: &'static str,
    pub(crate) failure: Failure<'static>,
    /// Bytes of body and message, for the throughput.
    pub(crate) bytes: usize,
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)
    }
}

/// 300 bytes: OpenAI's overflow.
pub(crate) const TYPICAL: &str = r#"{"error":{"message":"This model's maximum context length is 128000 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#;

const MISS: &str = r#"{"error":{"message":"Nobody has ever seen the gizmo in this state: the sprocket of your frobnicator turned 1200 times while the valve was shut, which the inspector of the day did not expect at all. Kindly write down what you did, and when, and hand it to the doorman.","type":"odd_error","param":null,"code":"e_77"}}"#;

const SDK: &str = r#"litellm.BadRequestError: OpenrouterException - Error code: 400 - {'error': {'message': 'Provider returned error', 'code': 400, 'metadata': {'raw': '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}', 'provider_name': 'Anthropic'}}}"#;

const MIB: usize = 1 << 20;

impl Input {
    fn new(name: &'static str, failure: Failure<'static>, bytes: usize) -> Self {
        Self { name, failure, bytes }
    }

    fn http(name: &'static str, status: u16, provider: &'static str, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        let bytes = body.len();
        Self::new(name, Failure::http(status).provider(provider).with_body(body), bytes)
    }
}

/// The kinds of failures that differ in what they cost.
pub(crate) fn all() -> Vec<Input> {
    vec![
        typical(),
        Input::http("hit, unknown provider", 400, "nobody-knows", TYPICAL),
        Input::http("hit, gateway", 400, "openrouter", TYPICAL),
        Input::http("miss", 418, "openai", MISS),
        Input::http("miss, gateway", 418, "openrouter", MISS),
        Input::new("SDK string", Failure::new().transport(Transport::SdkString).provider("openrouter").message(SDK), SDK.len()),
        rate_limit(),
        Input::http("no body", 529, "anthropic", ""),
        worst("worst case, 1 KiB", 1 << 10),
        worst("worst case, 64 KiB", 64 << 10),
        huge(),
    ]
}

pub(crate) fn typical() -> Input {
    Input::http("hit, own rule", 400, "openai", TYPICAL)
}

/// Headers that every delay form looks at.
fn rate_limit() -> Input {
    let body = r#"{"error":{"message":"Rate limit reached for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s. Visit https://platform.openai.com/account/rate-limits to learn more.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#;
    let headers = [
        ("content-type", "application/json"),
        ("x-ratelimit-limit-requests", "500"),
        ("x-ratelimit-limit-tokens", "30000"),
        ("x-ratelimit-remaining-requests", "499"),
        ("x-ratelimit-remaining-tokens", "0"),
        ("x-ratelimit-reset-requests", "120ms"),
        ("x-ratelimit-reset-tokens", "2s"),
        ("x-request-id", "req_0123456789"),
    ];
    let failure = Failure::http(429).provider("openai").body(body);
    let failure = headers.into_iter().fold(failure, |failure, (name, value)| failure.header(name, value));
    Input::new("rate limit with headers", failure, body.len())
}

/// A text that makes as many patterns as possible worth searching, though hardly any matches: pieces of all recorded messages, in an order that nobody wrote.
fn worst(name: &'static str, bytes: usize) -> Input {
    static PIECES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let texts: Vec<String> = corpus::failures().iter().map(|recorded| recorded.text.clone()).collect();
        let words: Vec<&str> = texts.iter().flat_map(|text| text.split(|c: char| !c.is_alphanumeric())).filter(|word| !word.is_empty()).collect();
        let mut seen = std::collections::HashSet::new();
        let mut pieces: Vec<String> = words.chunks(3).map(|words| words.join(" ")).filter(|piece| seen.insert(piece.to_lowercase())).collect();
        pieces.reverse();
        pieces
    });
    let mut text = String::new();
    // Small texts take pieces from everywhere.
    let step = (PIECES.iter().map(String::len).sum::<usize>() / bytes).max(1);
    for piece in PIECES.iter().step_by(step) {
        if text.len() + piece.len() + 2 > bytes {
            break;
        }
        text.push_str(piece);
        text.push_str("; ");
    }
    let body = format!(r#"{{"error":{{"message":"{text}"}}}}"#);
    Input::http(name, 418, "nobody-knows", body)
}

/// A body that echoes 10 MiB of prompt behind its message.
pub(crate) fn huge() -> Input {
    let echo = "The quick brown fox exceeds the maximum number of lazy dogs. ".repeat(10 * MIB / 61);
    Input::http("10 MiB body", 400, "openai", format!(r#"{},"messages":[{{"role":"user","content":"{echo}"}}]}}"#, TYPICAL.trim_end_matches('}')))
}
