//! Whatever arrives is answered, the same way each time, and nothing of it is shown.

use std::sync::LazyLock;
use std::time::Duration;

use jiff::Timestamp;
use overspill::{Action, Class, Failure, Overspill, Transport, next_delay};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::sample::Sample;

static OVERSPILL: LazyLock<Overspill> = LazyLock::new(Overspill::embedded);

const MIB: usize = 1024 * 1024;

/// Larger numbers are no token counts.
const MAX_TOKENS: u64 = 1 << 40;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn anything_is_answered(sample in sample(), attempt in any::<u32>(), seed in any::<u64>()) {
        let failure = sample.failure();
        let verdict = OVERSPILL.evaluate(&failure);
        prop_assert_eq!(&verdict, &OVERSPILL.evaluate(&failure), "the same failure, the same verdict");
        prop_assert_eq!(&verdict, &OVERSPILL.explain(&failure).verdict, "explaining changes nothing");

        prop_assert_eq!(verdict.is_retry(), verdict.action() == Action::Retry);
        prop_assert_eq!(verdict.is_overflow(), verdict.class() == Class::ContextOverflow);
        prop_assert!(verdict.status().is_none_or(|status| (100..600).contains(&status)), "{:?}", verdict.status());
        prop_assert!(verdict.decided_by().is_some() || verdict.class() == Class::Unknown, "nothing decided, and so it is unknown");
        prop_assert_eq!(verdict.decided_by().is_some(), verdict.origin().is_some());
        let tokens = verdict.tokens();
        let counts = [tokens.limit, tokens.requested, tokens.output_limit];
        // Sums of parts can be a few times as large.
        prop_assert!(counts.iter().flatten().all(|count| *count <= 16 * MAX_TOKENS), "{tokens:?}");

        let ruleset = OVERSPILL.ruleset();
        let policy = ruleset.retry_policy(sample.provider.as_deref(), Some(verdict.class()));
        let now = sample.now.unwrap_or(Timestamp::UNIX_EPOCH);
        let asked = verdict.server_delay().map_or(Duration::ZERO, |delay| delay.from(now));
        if let Some(wait) = next_delay(policy, &verdict, attempt, now, seed) {
            prop_assert!(verdict.is_retry() && wait >= asked, "never earlier than the server asked: {wait:?} < {asked:?}");
        }
    }
}

/// Evidence of any kind, mostly of shapes that the readers know, since noise alone would not get far into them.
fn sample() -> impl Strategy<Value = Sample> {
    let evidence = (prop::option::of(body()), prop::option::of(text()), prop::collection::vec((header(), text()), 0..4), prop::option::of(any::<u16>()));
    let transports = select(Transport::ALL.to_vec());
    let about = (prop::option::of(provider()), prop::option::of(any::<String>()), prop::option::of(transports), prop::option::of(text()), prop::option::of(text()));
    let numbers = (prop::option::of(usage()), prop::option::of(any::<u64>()), prop::option::of(any::<u64>()), prop::option::of(any::<i32>()));
    (evidence, about, numbers).prop_map(|((body, message, headers, status), (provider, model, transport, finish_reason, event), (usage, estimate, window, now))| Sample {
        id: String::new(),
        provider,
        model,
        transport,
        status,
        headers,
        body,
        message,
        finish_reason,
        event,
        usage,
        estimate,
        window,
        now: now.and_then(|seconds| Timestamp::from_second(i64::from(seconds) * 60).ok()),
    })
}

fn usage() -> impl Strategy<Value = String> {
    prop_oneof![
        (any::<i64>(), any::<u64>(), any::<f64>())
            .prop_map(|(input, read, output)| format!(r#"{{"usage":{{"input_tokens":{input},"cache_read_input_tokens":{read},"output_tokens":{output}}}}}"#)),
        any::<String>(),
    ]
}

fn provider() -> impl Strategy<Value = String> {
    prop_oneof![select(vec!["anthropic", "openai", "gemini", "openrouter", "litellm", "vllm", "", "default"]).prop_map(str::to_owned), any::<String>()]
}

fn header() -> impl Strategy<Value = String> {
    let known = select(vec![
        "retry-after",
        "Retry-After-Ms",
        "x-should-retry",
        "x-ratelimit-reset-tokens",
        "x-ratelimit-remaining-tokens",
        "anthropic-ratelimit-tokens-reset",
        "x-amzn-errortype",
    ]);
    prop_oneof![known.prop_map(str::to_owned), any::<String>()]
}

/// Texts with what looks like waits, counts and structure.
fn text() -> impl Strategy<Value = String> {
    let pieces = select(vec![
        "try again in ",
        "6m0s",
        "-5",
        "NaN",
        "1e999",
        "99999999999999999999",
        "12,345,678",
        "0.5",
        "Mon, 30 Nov 2026 12:00:00 GMT",
        "2026-11-30T12:00:00Z",
        "9999999999999",
        "tokens",
        " > ",
        "maximum context length is ",
        "{'error': {'message': '",
        "\"}",
        "\\u",
        "\\\\\\\"",
        "data: ",
        "event: error\n",
        "\r\n",
        "<html><title>",
        "&#x1F4A9;",
        "&#xD800;",
        "https://a.b/rate-limit",
        "\u{0}",
        "\u{202e}",
        "é",
        "上下文",
        "🦀",
        "\u{17f}",
        "429",
        "prompt is too long: ",
        "b'",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "null",
        "true",
    ]);
    let piece = prop_oneof![6 => pieces.prop_map(str::to_owned), 1 => any::<String>()];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..512),
        text().prop_map(String::into_bytes),
        value().prop_map(|value| value.to_string().into_bytes()),
        // A gateway's wrapping: JSON in a string in JSON.
        value().prop_map(|value| json!({ "error": { "message": json!({ "error": value.to_string() }).to_string() } }).to_string().into_bytes()),
        // Cut off in the middle.
        (value(), any::<prop::sample::Index>()).prop_map(|(value, at)| {
            let mut bytes = value.to_string().into_bytes();
            bytes.truncate(at.index(bytes.len() + 1));
            bytes
        }),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf =
        prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), any::<i64>().prop_map(Value::from), any::<f64>().prop_map(Value::from), text().prop_map(Value::from)];
    let key = || {
        select(vec!["error", "message", "code", "type", "status", "status_code", "details", "retryDelay", "metadata", "raw", "errors", "finish_reason", "choices", "body", "x"])
            .prop_map(str::to_owned)
    };
    leaf.prop_recursive(6, 48, 6, move |inner| {
        let table = prop::collection::btree_map(key(), inner.clone(), 0..6).prop_map(|table| table.into_iter().collect());
        prop_oneof![prop::collection::vec(inner, 0..6).prop_map(Value::from), table]
    })
}

#[test]
fn huge_bodies_are_answered() {
    let message = |text: &str| format!("{{\"error\":{{\"message\":\"{text}\"}}}}");
    let quoted = |text: &str| serde_json::to_string(text).expect("a string");
    let nested = (0..8).fold("overloaded".to_owned(), |inner, _| quoted(&json!({ "error": inner }).to_string()));
    let kinds: [(&str, String); 20] = [
        ("one letter", "a".into()),
        ("blanks", " ".into()),
        ("line ends", "\n".into()),
        ("braces", "{".into()),
        ("brackets", "[".into()),
        ("keys without an end", "{\"error\":".into()),
        ("quotes", "\"".into()),
        ("backslashes", "\\".into()),
        ("escapes", "\\u0061".into()),
        ("half surrogates", "\\ud800".into()),
        ("Python dictionaries", "{'error': {'message': '".into()),
        ("events", "data: {\"error\":{\"message\":\"overloaded\"}}\n\n".into()),
        ("empty events", "data:\n".into()),
        ("tags", "<p>".into()),
        ("comments", "<!--".into()),
        ("entities", "&amp;&#x41;".into()),
        ("digits", "1,234".into()),
        ("waits", "try again in 5s ".into()),
        ("what patterns begin with", "prompt is too long: 1 tokens context length rate limit exceeded ".into()),
        ("strings in strings", nested),
    ];
    for (kind, unit) in kinds {
        let repeated = unit.repeat(10 * MIB / unit.len());
        assert!(repeated.len() > 9 * MIB, "{kind}");
        for body in [repeated.clone(), message(&repeated)] {
            let verdict = OVERSPILL.evaluate(&Failure::http(400).provider("openrouter").body(&body));
            assert!(verdict.class() != Class::Unknown, "{kind}: the status at least says something");
        }
        let text = OVERSPILL.evaluate(&Failure::sdk(&repeated));
        assert_eq!(text, OVERSPILL.evaluate(&Failure::sdk(&repeated)), "{kind}");
    }
    let noise: Vec<u8> = (0..10 * MIB).map(|index| (index * 31 % 251) as u8 | 0x80).collect();
    assert_eq!(OVERSPILL.evaluate(&Failure::http(503).body(&noise)).class(), Class::Overloaded);
}

#[test]
fn what_stands_at_either_end_of_a_huge_body_is_found() {
    let overflow = "prompt is too long: 213462 tokens > 200000 maximum";
    let padding = "lorem ipsum ".repeat(MIB);
    for body in [format!("{{\"error\":{{\"message\":\"{overflow}\"}},\"echo\":\"{padding}\"}}"), format!("{{\"echo\":\"{padding}\",\"error\":{{\"message\":\"{overflow}\"}}}}")] {
        let verdict = OVERSPILL.evaluate(&Failure::http(400).provider("anthropic").body(&body));
        assert_eq!((verdict.class(), verdict.tokens().limit), (Class::ContextOverflow, Some(200_000)));
    }
}

#[test]
fn many_headers_are_answered() {
    let failure =
        (0..10_000).fold(Failure::http(429), |failure, index| failure.header(format!("x-ratelimit-reset-{index}"), "5s").header(format!("x-ratelimit-remaining-{index}"), "0"));
    assert_eq!(OVERSPILL.evaluate(&failure).class(), Class::RateLimited);
}

#[test]
fn nothing_of_a_failure_is_shown() {
    const SECRET: &str = "sk-live-0123456789";
    let body = format!("{{\"error\":{{\"message\":\"bad key {SECRET}\",\"code\":\"{SECRET}\"}}}}");
    let failure = Failure::http(401)
        .provider("openai")
        .body(&body)
        .message(format!("Error: {SECRET}"))
        .header("authorization", format!("Bearer {SECRET}"))
        .finish_reason(SECRET)
        .event(SECRET);
    let shown = format!("{failure:?} {failure:#?}");
    assert!(!shown.contains(SECRET), "{shown}");
    assert!(shown.contains("authorization") && shown.contains("401"), "names of headers and the status help: {shown}");
    let verdict = format!("{:?}", OVERSPILL.evaluate(&failure));
    assert!(!verdict.contains(SECRET), "{verdict}");
}
