//! Which wait counts when a server states several, or states nonsense.

use jiff::Timestamp;
use overspill::{Failure, Overspill};

const NOW: &str = "2026-11-30T12:00:00Z";

/// What is sent, the milliseconds to wait, and the form that they came in.
type Row = (&'static str, &'static [(&'static str, &'static str)], &'static str, Option<(u64, &'static str)>);

const ROWS: [Row; 36] = [
    ("seconds", &[("retry-after", "12")], "", Some((12_000, "retry-after"))),
    ("seconds with a fraction", &[("retry-after", "1.5")], "", Some((1_500, "retry-after"))),
    ("a date", &[("retry-after", "Mon, 30 Nov 2026 12:00:30 GMT")], "", Some((30_000, "retry-after"))),
    ("a date in the past", &[("retry-after", "Mon, 30 Nov 2026 11:59:00 GMT")], "", Some((0, "retry-after"))),
    ("a date by a clock that is not ours", &[("date", "Mon, 30 Nov 2026 15:00:00 GMT"), ("retry-after", "Mon, 30 Nov 2026 15:00:30 GMT")], "", Some((30_000, "retry-after"))),
    ("seconds whatever that clock says", &[("date", "Mon, 30 Nov 2026 15:00:00 GMT"), ("retry-after", "30")], "", Some((30_000, "retry-after"))),
    ("nothing, but another form knows better", &[("retry-after-ms", "0"), ("retry-after", "60")], "", Some((60_000, "retry-after"))),
    ("a date in the past, but the text knows better", &[("retry-after", "Mon, 30 Nov 2026 11:59:00 GMT")], "try again in 9s", Some((9_000, "text-in"))),
    ("nothing in every form", &[("retry-after-ms", "0"), ("retry-after", "0")], "", Some((0, "retry-after-ms"))),
    ("name in any case", &[("Retry-After", "3")], "", Some((3_000, "retry-after"))),
    ("milliseconds are finer", &[("retry-after", "2"), ("retry-after-ms", "1800")], "", Some((1_800, "retry-after-ms"))),
    ("a header outranks the text", &[("retry-after", "2")], "try again in 9s", Some((2_000, "retry-after"))),
    ("the text when a header is nonsense", &[("retry-after", "soon")], "try again in 9s", Some((9_000, "text-in"))),
    ("minutes and seconds in the text", &[], "Please try again in 6m0s.", Some((360_000, "text-in"))),
    ("milliseconds in the text", &[], "Please try again in 174ms.", Some((174, "text-in"))),
    ("negative", &[("retry-after", "-5")], "", None),
    ("no number", &[("retry-after", "NaN")], "", None),
    ("infinite", &[("retry-after", "inf")], "", None),
    ("absurd", &[("retry-after", "99999999999999999999")], "", None),
    ("empty", &[("retry-after", "")], "", None),
    ("a bucket that is empty", &[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "6m0s")], "", Some((360_000, "ratelimit-bucket"))),
    ("a bucket that is not", &[("x-ratelimit-remaining-tokens", "5"), ("x-ratelimit-reset-tokens", "6m0s")], "", None),
    ("a bucket of which nothing is known", &[("x-ratelimit-reset-tokens", "6m0s")], "", None),
    (
        "of the empty buckets the last to fill",
        &[
            ("x-ratelimit-remaining-requests", "0"),
            ("x-ratelimit-reset-requests", "1s"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "20s"),
            ("x-ratelimit-remaining-images", "7"),
            ("x-ratelimit-reset-images", "9h"),
        ],
        "",
        Some((20_000, "ratelimit-bucket")),
    ),
    ("an instant", &[("anthropic-ratelimit-tokens-remaining", "0"), ("anthropic-ratelimit-tokens-reset", "2026-11-30T12:01:00Z")], "", Some((60_000, "anthropic-bucket"))),
    ("an epoch", &[("x-ratelimit-reset", "1796040010")], "", Some((10_000, "x-ratelimit-reset"))),
    ("seconds where others send an epoch", &[("x-ratelimit-reset", "8")], "", Some((8_000, "x-ratelimit-reset"))),
    ("an unset field where others send an epoch", &[("x-ratelimit-reset", "0")], "", None),
    ("quotas, of which one is used up", &[("ratelimit", r#""burst";r=0;t=5, "day";r=700;t=3600"#)], "", Some((5_000, "ratelimit-policies"))),
    ("quotas as older drafts write them", &[("ratelimit", "limit=10, remaining=0, reset=5")], "", Some((5_000, "ratelimit-policies"))),
    ("a bare number is no quota", &[("ratelimit", "100")], "", None),
    ("milliseconds named in the text", &[], "retry_after_ms=3500", Some((3_500, "text-ms"))),
    ("another language", &[], "Bitte versuchen Sie es in 4 Sekunden erneut.", Some((4_000, "text-in"))),
    ("what a client waited itself", &[], "gave up (total retry wait time: 94 seconds)", None),
    ("advice for who has mended something", &[], "If you recently fixed this issue, try again after 5 minutes.", None),
    ("an epoch in milliseconds", &[("x-ratelimit-reset", "1796040010000")], "", Some((10_000, "x-ratelimit-reset"))),
];

#[test]
fn the_most_telling_wait_counts() {
    let (overspill, now) = (Overspill::embedded(), NOW.parse::<Timestamp>().expect("a time"));
    let mut wrong = Vec::new();
    for (what, headers, message, expected) in ROWS {
        let failure = headers.iter().fold(Failure::http(429).received_at(now), |failure, (name, value)| failure.header(*name, *value));
        let verdict = overspill.evaluate(&failure.message(message));
        let found = verdict.server_delay().map(|delay| (u64::try_from(delay.from(now).as_millis()).unwrap_or(u64::MAX), delay.form()));
        if found != expected {
            wrong.push(format!("{what}: {found:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A rule may name the group or the field that holds a wait, for what no form reads; forms come first.
#[test]
fn a_rule_can_say_where_its_wait_stands() {
    let rules = r#"
provider = "odd"
[[rule]]
id      = "moon"
class   = "rate_limited"
message = ['come back when (?<delay>\d+m) have passed', 'the moon is full']
facts   = { delay = "moon.wanes" }
[[rule.example]]
message = "the moon is full"
"#;
    let overspill: Overspill = overspill::Ruleset::builder().text("tests", "odd.toml", rules).build().expect("rules").into();
    let now = NOW.parse::<Timestamp>().expect("a time");
    let rows = [
        (r#"{"error":{"message":"come back when 3m have passed"}}"#, 180, "rule"),
        (r#"{"error":{"message":"the moon is full"},"moon":{"wanes":"90s"}}"#, 90, "rule"),
        (r#"{"error":{"message":"the moon is full"},"moon":{"wanes":7}}"#, 7, "rule"),
        (r#"{"error":{"message":"the moon is full, try again in 5s"},"moon":{"wanes":7}}"#, 5, "text-in"),
    ];
    for (body, seconds, form) in rows {
        let verdict = overspill.evaluate(&Failure::http(429).provider("odd").body(body).received_at(now));
        assert_eq!(verdict.server_delay().map(|delay| (delay.from(now).as_secs(), delay.form())), Some((seconds, form)), "{body}");
    }
}
