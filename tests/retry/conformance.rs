//! The design source's `withRetry`: five attempts; overflow at once; `retry-after-ms`, then `retry-after`, then 2, 4, 8, 16, 30 s, give or take a fifth; 4xx not, 5xx retried.

use overspill::{Class, Failure, Overspill, Why};

use crate::support::{Script, end, status};

fn within(waits: &[u128], expected: &[(u128, u128)]) {
    assert_eq!(waits.len(), expected.len(), "{waits:?}");
    // A timer may be a millisecond late.
    assert!(waits.iter().zip(expected).all(|(wait, (low, high))| (*low..=high + 1).contains(wait)), "{waits:?} but {expected:?}");
}

#[tokio::test(start_paused = true)]
async fn five_attempts_then_the_original_error() {
    let script = Script::new((0..9).map(|_| status(500)));
    let end = end(&Overspill::embedded(), &script).await;
    assert_eq!((end.why(), end.attempts(), end.error().status(), end.verdict().class()), (Why::Attempts, 5, Some(500), Class::ServerError));
    within(&script.waits(), &[(1600, 2400), (3200, 4800), (6400, 9600), (12_800, 19_200)]);
}

#[tokio::test(start_paused = true)]
async fn a_success_ends_it() {
    let script = Script::new([status(503), status(502)]);
    assert!(Overspill::embedded().retry("acme").run(async || script.call()).await.is_ok());
    within(&script.waits(), &[(1600, 2400), (3200, 4800)]);
}

#[tokio::test(start_paused = true)]
async fn the_sixth_wait_is_thirty_seconds_at_most_and_still_spread() {
    let rules = overspill::Ruleset::builder().text("over", "default.toml", "provider = \"default\"\n[retry]\nmax_attempts = 7\n").build().unwrap();
    let overspill = Overspill::from(rules);
    let mut last = Vec::new();
    for _ in 0..20 {
        let script = Script::new((0..9).map(|_| status(500)));
        let end = overspill.retry("acme").alone().run(async || script.call()).await.unwrap_err();
        assert_eq!(end.attempts(), 7);
        last.extend(script.waits().split_off(4));
    }
    assert!(last.iter().all(|wait| (20_000..=30_001).contains(wait)), "{last:?}");
    assert!(last.iter().any(|wait| *wait < 23_000) && last.iter().any(|wait| *wait > 27_000), "{last:?}");
}

#[tokio::test(start_paused = true)]
async fn the_jitter_is_a_fifth_both_ways() {
    let overspill = Overspill::embedded();
    let mut waits = Vec::new();
    for _ in 0..300 {
        let script = Script::new([status(500)]);
        overspill.retry("acme").alone().run(async || script.call()).await.unwrap();
        waits.extend(script.waits());
    }
    let (low, high) = (waits.iter().min().unwrap(), waits.iter().max().unwrap());
    assert!((1600..1650).contains(low) && (2350..=2401).contains(high), "{low} {high}");
}

#[tokio::test(start_paused = true)]
async fn the_servers_wait_goes_before_the_own_and_milliseconds_before_seconds() {
    let script = Script::new([
        status(429).header("Retry-After-Ms", "1500").header("Retry-After", "9"),
        status(503).header("retry-after", "3"),
        status(500),
        status(500).header("retry-after", "0.25"),
    ]);
    Overspill::embedded().retry("acme").run(async || script.call()).await.unwrap();
    within(&script.waits(), &[(1500, 1650), (3000, 3300), (6400, 9600), (250, 275)]);
}

#[tokio::test(start_paused = true)]
async fn a_wait_of_nothing_is_no_wait() {
    for value in ["0", "Wed, 21 Oct 2015 07:28:00 GMT"] {
        let script = Script::new([status(429).header("retry-after", value)]);
        Overspill::embedded().retry("acme").run(async || script.call()).await.unwrap();
        within(&script.waits(), &[(1600, 2400)]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_overflow_is_returned_at_once() {
    let failures = [
        Failure::http(400)
            .provider("anthropic")
            .body(br#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}"#),
        Failure::http(400).provider("openai").body(br#"{"error":{"code":"context_length_exceeded","message":"This model's maximum context length is 8192 tokens."}}"#),
        Failure::http(400)
            .provider("gemini")
            .body(br#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#),
        Failure::sdk("Your input exceeds the context window of this model. Please adjust your input and try again."),
        Failure::http(413).body(b"Request Entity Too Large"),
    ];
    let overspill = Overspill::embedded();
    for failure in failures {
        let script = Script::new([failure.clone(), status(500)]);
        let end = end(&overspill, &script).await;
        assert_eq!((end.why(), end.is_overflow(), end.attempts(), script.calls().len()), (Why::Overflow, true, 1, 1), "{failure:?}");
        assert!(matches!(end.verdict().class(), Class::ContextOverflow | Class::PayloadTooLarge), "{failure:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn statuses_of_4xx_are_final_and_those_of_5xx_are_not() {
    let overspill = Overspill::embedded();
    for (code, attempts) in [(400, 1), (401, 1), (403, 1), (404, 1), (422, 1), (501, 1), (408, 5), (429, 5), (500, 5), (502, 5), (503, 5), (504, 5), (529, 5)] {
        let script = Script::new((0..9).map(|_| status(code)));
        let end = overspill.retry("acme").alone().run(async || script.call()).await.unwrap_err();
        assert_eq!(end.attempts(), attempts, "{code}: {end:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_next_to_nothing_is_not_called_as_fast_as_the_line_carries() {
    for (header, value) in [("retry-after", "1e-9"), ("retry-after", "0.000001"), ("retry-after-ms", "1")] {
        let script = Script::new((0..9).map(|_| status(429).header(header, value)));
        let end = end(&Overspill::embedded(), &script).await;
        assert_eq!((end.why(), end.attempts()), (Why::Attempts, 5));
        within(&script.waits(), &[(100, 110); 4]);
    }
}
