//! Whole failures, in the shapes that were recorded, and properties of any input.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// The keys as the default rules have them, more or less.
fn vocabulary() -> Vocabulary {
    let mut vocabulary = Vocabulary::new();
    let roles = [
        (Role::Message, "message msg error errors detail details error_message error_msg reason"),
        (Role::Code, "code type status error_type error_code reason __type name"),
        (Role::Status, "code status status_code http_status_code"),
        (Role::FinishReason, "finish_reason stop_reason"),
        (Role::Field, "retry_delay resets_in_seconds retry_after n_ctx retryable"),
    ];
    for (role, keys) in roles {
        for key in keys.split(' ') {
            vocabulary.add(key, role);
        }
    }
    vocabulary
}

/// What is read from a body.
fn body(body: &str) -> Signals<'_> {
    extract(Sources { body: Some(body.as_bytes()), message: None }, &vocabulary())
}

/// What is read from the text of an exception.
fn message(message: &str) -> Signals<'_> {
    extract(Sources { body: None, message: Some(message) }, &vocabulary())
}

/// A row of a table: source, texts, codes, status.
type Row<'t> = (&'t str, &'t [&'t str], &'t [&'t str], Option<u16>);

/// Compares signals with a row.
fn check(signals: &Signals<'_>, (source, texts, codes, status): Row<'_>) {
    assert_eq!(signals.text().lines().collect::<Vec<_>>(), texts, "{source}");
    assert_eq!(signals.codes().collect::<Vec<_>>(), codes, "{source}");
    assert_eq!(signals.status(), status, "{source}");
}

#[test]
fn bodies() {
    let rows: &[Row<'_>] = &[
        (
            r#"{"error":{"message":"too long: 200,000 tokens","type":"invalid_request_error","param":null,"code":"context_length_exceeded"}}"#,
            &["too long: 200000 tokens"],
            &["invalid_request_error", "context_length_exceeded"],
            None,
        ),
        (
            r#"{"error":{"message":"{\n  \"error\": {\n    \"code\": 400,\n    \"message\": \"inner `x`\"}}\n","code":400,"status":"Bad Request"}}"#,
            &["inner x"],
            &["400"],
            Some(400),
        ),
        (
            r#"{"error":{"metadata":{"raw":"{\"message\":\"inner\"}"},"message":"Provider returned error","code":"429"}}"#,
            &["Provider returned error", "inner"],
            &["429"],
            Some(429),
        ),
        (r#"{"errors":["first", "second"]}"#, &["first", "second"], &[], None),
        (r#"[{"error":{"code":499,"errors":[{"message":"a","reason":"backendError"}]}}]"#, &["a", "backendError"], &["499", "backendError"], Some(499)),
        (r#"{"message":{"detail":[{"type":"extra_forbidden","loc":["body"],"msg":"Extra","input":{"message":"echo"}}]}}"#, &["Extra"], &["extra_forbidden"], None),
        (r#"{"messages":[{"content":"x","error":"echo"}],"error":"cut of"#, &["cut of"], &[], None),
        (r#"{"choices":[{"message":{"content":"{\"error\":\"no\"}"},"finish_reason":"length"}]}"#, &[], &[], None),
        (r#"{"errorType":"THROTTLING.userQPSLimit","message":null,"status":429}"#, &["THROTTLING.userQPSLimit"], &["THROTTLING.userQPSLimit", "429"], Some(429)),
        (r#"{"code":"Client specified an invalid argument"}"#, &["Client specified an invalid argument"], &[], None),
        ("Payload Too Large", &["Payload Too Large"], &[], None),
        ("\"just a \\\"string\\\"\"", &["\"just a \"string\"\""], &[], None),
        ("<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1>nginx</body>", &["502 Bad Gateway", "nginx"], &[], None),
        ("<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Reduce your rate</Message></Error>", &["Reduce your rate"], &["SlowDown"], None),
        (":HTTP_STATUS/429\ndata: {\"error\":{\"message\":\"busy\"}}\n\ndata: [DONE]", &["busy"], &[], Some(429)),
        ("{\n  status: 404,\n  error: { message: 'not found', code: 'nf' }\n}", &["not found"], &["404", "nf"], Some(404)),
        ("{", &[], &[], None),
    ];
    for row in rows {
        check(&body(row.0), *row);
    }
}

#[test]
fn exceptions() {
    let rows: &[Row<'_>] = &[
        (
            "openai.BadRequestError: Error code: 400 - {'error': {'message': \"model's limit\", 'type': 'invalid', 'param': None}}",
            &["openai.BadRequestError: Error code: 400 -", "model's limit"],
            &["invalid", "BadRequestError"],
            None,
        ),
        ("Error: 400 {model} [1261][too long]", &["Error: 400 {model} [1261][too long]"], &[], None),
        ("Error { kind: GoAway(b\"too_many\", X) }", &["Error { kind: GoAway(b\"too_many\", X) }"], &[], None),
        ("bad schema {'type_of': 'object'} given", &["bad schema {'type_of': 'object'} given"], &[], None),
        ("context: {\"input\": \"SECRET\"} failed", &["context:", "failed"], &[], None),
        ("'code': 'InvalidParameter', 'message': 'The `x` is", &["The x is"], &["InvalidParameter"], None),
        ("\"error\":\"llm busy\"}", &["llm busy"], &[], None),
        ("Data: {“details”:“<400> range [1, 2]”}", &["Data:", "<400> range [1, 2]"], &[], None),
        ("{'status_code': 503, 'body': b'{\"message\":\"unable\"}'}", &["unable"], &[], Some(503)),
        ("x: AnthropicException - b'{\"error\":{\"message\":\"m\"}}'. Received", &["x: AnthropicException - b'", "'. Received", "m"], &["AnthropicException"], None),
        ("failed: {\\\"error\\\": {\\\"message\\\": \\\"busy now\\\"}}", &["failed:", "busy now"], &[], None),
        (
            "API 403 Forbidden: {&quot;error&quot;:{&quot;code&quot;:&quot;Overdue&quot;,&quot;message&quot;:&quot;in arrears&quot;}}",
            &["API 403 Forbidden:", "in arrears"],
            &["Overdue"],
            None,
        ),
        ("\"said {&quot;error&quot;:&quot;echo&quot;}\"", &["\"said {\"error\":\"echo\"}\""], &[], None),
        ("ServiceUnavailableError: 503 <!DOCTYPE html><title>Worker</title>", &["ServiceUnavailableError: 503", "Worker"], &["ServiceUnavailableError"], None),
    ];
    for row in rows {
        check(&message(row.0), *row);
    }
}

#[test]
fn fields_events_reasons() {
    let source = "event: ping\n\nevent: error\ndata: {\"error\":{\"details\":[{\"retryDelay\":\"45.1s\"},{\"n_ctx\":8192}],\"retryable\":false}}\n\n";
    let signals = body(source);
    let fields: Vec<_> = signals.fields().iter().map(|field| (field.path(), field.value())).collect();
    assert_eq!(fields, [("error.details.retryDelay", "45.1s"), ("error.details.n_ctx", "8192"), ("error.retryable", "false")]);
    assert_eq!(signals.event(), Some("error"));
    let signals = body(r#"{"choices":[{"finish_reason":"length"},{"finish_reason":null},{"finish_reason":"LENGTH"}]}"#);
    assert_eq!(signals.finish_reasons().collect::<Vec<_>>(), ["length"]);
}

#[test]
fn emptiness() {
    for source in ["", " \n", "{}", "null", "[]"] {
        assert!(body(source).is_empty() && body(source).text().is_empty(), "{source}");
    }
    assert!(extract(Sources::default(), &vocabulary()).is_empty());
    assert!(!body("x").is_empty());
}

#[test]
fn huge_bodies_do_not_leak_what_they_echo() {
    let filler = r#"SECRET <title>words</title> {\"error\":\"SECRET\"} {'error': 'SECRET'} {error: 1} "#.repeat(8_000);
    let source = format!(r#"{{"input":"{filler}","error":{{"message":"too long","code":"too_long"}}}}"#);
    let signals = body(&source);
    assert_eq!(signals.text(), "too long");
    assert_eq!(signals.codes().collect::<Vec<_>>(), ["too_long"]);
    assert!(signals.is_truncated());
}

#[test]
fn nothing_is_copied_without_need() {
    let source = r#"{"error":{"message":"nothing to change here","code":"a_code"}}"#;
    let signals = body(source);
    assert!(matches!(signals.text, Cow::Borrowed(_)));
    assert!(signals.codes.iter().all(|code| matches!(code, Cow::Borrowed(_))));
}

/// A value as Python prints it.
fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".into(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        Value::String(text) => {
            let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
            let mut printed = String::from(quote);
            for character in text.chars() {
                match character {
                    '\n' => printed.push_str("\\n"),
                    '\\' => printed.push_str("\\\\"),
                    _ if character == quote => printed.extend(['\\', quote]),
                    _ => printed.push(character),
                }
            }
            printed.push(quote);
            printed
        }
        Value::Array(items) => format!("[{}]", items.iter().map(python).collect::<Vec<_>>().join(", ")),
        Value::Object(items) => {
            let items = items.iter().map(|(key, item)| format!("'{key}': {}", python(item)));
            format!("{{{}}}", items.collect::<Vec<_>>().join(", "))
        }
        Value::Number(number) => number.to_string(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let signals = extract(Sources { body: Some(&bytes), message: None }, &vocabulary());
        prop_assert!(signals.text().len() <= 64 * 1024);
    }

    #[test]
    fn any_document_like_text(text in r#"([{}\[\]()'":, \\n<>/&b“”\x60.]|message|code|error|data:|html|[0-9]{1,3}|é){0,80}"#) {
        let signals = extract(Sources { body: Some(text.as_bytes()), message: Some(&text[..]) }, &vocabulary());
        prop_assert!(signals.codes.len() <= 32 && signals.fields.len() <= 64);
        let signals = message(&text);
        prop_assert!(signals.text().len() <= 64 * 1024);
    }

    #[test]
    fn normalising_twice_changes_nothing(
        text in r#"([\\n\\"'\x60&;#.,_ :/’\x20\u{a0}\u{200b}０]|amp;|quot;|lt;|https?://|www\.|tokens|code |[a-z]|[0-9]{1,4}|é){0,40}"#,
    ) {
        let once = text::normalise(&text).into_owned();
        prop_assert_eq!(text::normalise(&once), once.as_str());
    }

    #[test]
    fn one_failure_in_many_prints(words in "[A-Za-z][A-Za-z '\".,:;!?\\\\-]{3,60}[a-z]", code in "[a-z_]{3,20}") {
        let failure = json!({"error": {"message": format!("{words}\nover two lines"), "code": code, "param": null}});
        let printed = failure.to_string();
        let expected = body(&printed);
        for other in [
            python(&failure),
            json!({"error": {"message": printed}}).to_string(),
            json!({"message": json!({"error": printed}).to_string()}).to_string(),
            format!("{failure:#}"),
            format!("data: {printed}\n\n"),
            printed.trim_end_matches('}').to_owned(),
        ] {
            let signals = body(&other);
            prop_assert_eq!(signals.text(), expected.text(), "{}", other);
            prop_assert_eq!(&signals.codes, &expected.codes, "{}", other);
        }
    }
}
