//! Knowing before the call fails: the table of usages, windows and overrides, learned limits, the governor, and any JSON at all.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;
use std::{fs, iter};

use jiff::{SignedDuration, Timestamp};
use overspill::{
    Class, Context, Demand, Error, Failure, Governor, GovernorPolicy, LearnedLimits, Overspill, Recovery, Reply, Ruleset, SettingValue, StopReason, Usage, Verdict, WindowOrigin,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn rows() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/context/usage.jsonl");
    let text = fs::read_to_string(path).expect("the table");
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

fn text<'r>(row: &'r Value, key: &str) -> &'r str {
    row[key].as_str().unwrap_or_default()
}

/// The context that a row describes.
fn context<'r>(overspill: &Overspill, row: &'r Value) -> Context<'r> {
    let context = overspill.context(text(row, "provider"), text(row, "model"));
    let context = row["window"].as_u64().into_iter().fold(context, Context::with_window);
    row["reserved"].as_u64().into_iter().fold(context, Context::with_reserved)
}

/// What is usage in a row, as it came over the wire.
fn wire(usage: &Value) -> String {
    usage.as_str().map_or_else(|| usage.to_string(), str::to_owned)
}

fn answer(context: &Context<'_>, row: &Value, usage: &str) -> Value {
    let reply = context.read(usage);
    let reply = row["finish_reason"].as_str().into_iter().fold(reply, |reply, reason| reply.with_finish(context.finish(reason)));
    let check = context.check(&reply);
    let mut answer = json!({ "used": check.used(), "usable": check.usable(), "compact": check.compact(), "reason": check.reason().name() });
    if check.silent_overflow().is_some() {
        answer["silent"] = json!(true);
    }
    answer
}

#[test]
fn every_row_of_the_table() {
    let overspill = Overspill::embedded();
    let rows = rows();
    let wrong: Vec<_> = rows
        .iter()
        .filter_map(|row| {
            let answer = answer(&context(&overspill, row), row, &wire(&row["usage"]));
            (answer != row["expect"]).then(|| format!("{}\n  expected {}\n  answered {answer}", text(row, "id"), row["expect"]))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn the_table_covers_what_it_must() {
    let rows = rows();
    assert!(rows.len() >= 120, "{} rows", rows.len());
    let ids: BTreeSet<_> = rows.iter().map(|row| text(row, "id")).collect();
    assert_eq!(ids.len(), rows.len(), "ids are unique");
    let overspill = Overspill::embedded();
    let ruleset = overspill.ruleset();
    let providers: BTreeSet<_> = rows.iter().filter_map(|row| Some(ruleset.provider(text(row, "provider"))?.name())).collect();
    let wanted =
        ["anthropic", "openai", "azure-openai", "gemini", "vertex", "bedrock", "cohere", "mistral", "deepseek", "groq", "xai", "openrouter", "ollama", "llama-cpp", "vllm"];
    let missing: Vec<_> = wanted.iter().filter(|provider| !providers.contains(*provider)).collect();
    assert!(missing.is_empty(), "no row for {missing:?}");
    let covered: Vec<_> = rows.iter().map(|row| text(row, "covers")).collect();
    let wanted = [
        "cache not counted",
        "reserve too small",
        "provider without cache",
        "window below the reserve",
        "bug 5",
        "bug 9",
        "bug 20",
        "bug 21",
        "bug 22",
        "bug 23",
        "silent overflow",
        "odd numbers",
        "input limit below the window",
    ];
    let missing: Vec<_> = wanted.iter().filter(|what| !covered.iter().any(|covers| covers.contains(**what))).collect();
    assert!(missing.is_empty(), "no row covers {missing:?}");
}

/// What the check calls a silent overflow, an evaluation of the same reply calls a context overflow: by its body, or by what is told beside it.
#[test]
fn silent_overflows_of_the_table_are_verdicts_too() {
    let overspill = Overspill::embedded();
    let mut wrong = Vec::new();
    for row in &rows() {
        let usage = wire(&row["usage"]);
        let failure = Failure::http(200).provider(text(row, "provider")).model(text(row, "model"));
        let failure = row["window"].as_u64().into_iter().fold(failure, Failure::window);
        let failure = row["finish_reason"].as_str().into_iter().fold(failure, Failure::finish_reason);
        let expected = row["expect"]["silent"].as_bool().unwrap_or_default();
        // A finish reason beside the usage is no usage.
        let told_apart = row["expect"]["reason"] == "input-above-window" || row["finish_reason"].is_string() || !expected;
        for (form, failure) in [("body", Some(failure.clone().body(&usage))), ("usage", told_apart.then(|| failure.usage_json(&usage)))] {
            let Some(failure) = failure else { continue };
            let verdict = overspill.evaluate(&failure);
            if verdict.is_overflow() != expected {
                wrong.push(format!("{} as {form}: {:?} by {:?}", text(row, "id"), verdict.class(), verdict.decided_by()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where the usage lies must not matter: by itself, in a reply, in a line of a stream, behind other events.
#[test]
fn a_usage_object_counts_the_same_inside_a_stream() {
    let overspill = Overspill::embedded();
    for row in rows().iter().filter(|row| row["usage"].is_object()) {
        let context = context(&overspill, row);
        let usage = wire(&row["usage"]);
        let pretty = serde_json::to_string_pretty(&row["usage"]).expect("JSON");
        let stream = format!(": comment\nevent: x\ndata: {{\"type\":\"ping\"}}\n\ndata: {usage}\n\ndata: [DONE]\n\n");
        let lines = format!("{{\"done\":false}}\n{usage}\n");
        let expected = answer(&context, row, &usage);
        for (form, text) in [("pretty", pretty), ("stream", stream), ("lines", lines), ("array", format!("[{usage}]"))] {
            assert_eq!(answer(&context, row, &text), expected, "{} as {form}", self::text(row, "id"));
        }
    }
}

#[test]
fn windows_come_from_the_caller_the_files_and_errors() {
    let overspill = Overspill::embedded();
    let known = overspill.context("anthropic", "claude-sonnet-4-5");
    assert_eq!((known.window(), known.window_origin()), (Some(200_000), WindowOrigin::File));
    assert!(known.origin().expect("a line").starts_with("embedded/anthropic.toml:"), "{:?}", known.origin());
    let given = known.clone().with_window(50_000);
    assert_eq!((given.window(), given.origin().as_deref()), (Some(50_000), Some("caller")));
    let unknown = overspill.context("anthropic", "nobody-knows");
    assert_eq!((unknown.window(), unknown.origin(), unknown.usable()), (None, None, 0));
    assert!(!unknown.should_compact(&Usage::new(u64::MAX)), "an unknown window never compacts");
}

/// A file over the embedded ones.
fn with_rules(text: &str) -> Overspill {
    Overspill::from(Ruleset::builder().text("mine", "mine.toml", text).build().expect("rules"))
}

/// A file over next to nothing.
fn alone(text: &str) -> Result<Ruleset, Error> {
    let base = "provider = \"default\"\n[context]\nreserved_tokens = 20_000\n";
    Ruleset::builder().without_embedded().text("base", "default.toml", base).text("mine", "acme.toml", text).build()
}

#[test]
fn files_override_windows_key_by_key_and_the_most_specific_glob_wins() {
    let overspill = with_rules(
        r#"
        provider = "anthropic"
        [context]
        reserved_tokens = 30_000
        [[context.model]]
        match = "claude-sonnet-4-5"
        window = 150_000
        source = "our gateway"
        [[context.model]]
        match = "claude-opus-*"
        reserved_tokens = 64_000
        [[context.model]]
        match = "claude-opus-4-1*"
        window = 180_000
        input = 100_000
        "#,
    );
    let facts = |model| {
        let context = overspill.context("anthropic", model);
        (context.window(), context.reserved())
    };
    assert_eq!(facts("claude-sonnet-4-5"), (Some(150_000), 30_000));
    assert_eq!(facts("Claude-Sonnet-4-5"), (Some(150_000), 30_000));
    assert_eq!(facts("claude-sonnet-4-5-20250929"), (Some(200_000), 30_000), "an exact name is no prefix");
    assert_eq!(facts("claude-opus-4-1-20250805"), (Some(100_000), 64_000), "the input limit is the lower one");
    assert_eq!(facts("claude-opus-4-0"), (Some(200_000), 64_000), "a glob without a window leaves it to the next");
    assert!(overspill.context("anthropic", "claude-sonnet-4-5").origin().is_some_and(|origin| origin.ends_with("mine.toml:7")));
}

#[test]
fn a_provider_of_ones_own_reads_usage_as_it_says() {
    let overspill = with_rules(
        r#"
        provider = "acme"
        [context]
        reserved_tokens = 1_000
        occupies = ["input", "cache_read"]
        usage = { input = ["/n/in", "/n/in_a + /n/in_b"], cache_read = "/n/hit", cache_write = "/n/put", output = "/n/out" }
        [[context.model]]
        match = "*"
        window = 10_000
        "#,
    );
    let context = overspill.context("acme", "x");
    let used = |json: &str| context.usage(json).map(|usage| context.used(&usage));
    assert_eq!(used(r#"{"n":{"in":5000,"hit":4000,"put":9000,"out":7}}"#), Some(9000));
    assert_eq!(used(r#"{"n":{"in_a":5000,"in_b":100,"hit":null}}"#), Some(5100));
    assert_eq!(used(r#"{"n":{"in":null,"in_b":100}}"#), Some(100));
    assert_eq!(used(r#"{"usage":{"prompt_tokens":77}}"#), Some(77), "the inherited shapes are still there");
    assert_eq!(used("{}"), None);

    // A later layer changes what it gives.
    let base = "provider = \"acme\"\n[context]\nusage = { input = \"/in\", cache_read = \"/hit\" }\n";
    let mine = "provider = \"acme\"\n[context]\nusage = { input = \"/n\" }\n";
    let builder = Ruleset::builder().without_embedded().text("base", "default.toml", "provider = \"default\"\n").text("theirs", "acme.toml", base);
    let overspill = Overspill::from(builder.text("mine", "acme.toml", mine).build().expect("rules"));
    let usage = overspill.context("acme", "x").usage(r#"{"in":5,"n":7,"hit":2}"#).expect("usage");
    assert_eq!((usage.input(), usage.cache_read()), (7, 2));
}

#[test]
fn slips_in_context_tables_are_met_with_a_hint() {
    let cases = [
        ("[context]\nreserved_token = 5", "unknown-key"),
        ("[context]\noccupies = [\"output\"]", "invalid-value"),
        ("[context]\nusage = { input = \"usage/input\" }", "invalid-value"),
        ("[[context.usage]]\ninput = \"/a\"", "missing-key"),
        ("[[context.usage]]\nid = \"x\"\ninputs = \"/a\"", "unknown-key"),
        ("[[context.model]]\nmatch = \"x\"", "missing-key"),
        ("[[context.model]]\nwindow = 5", "missing-key"),
        ("[[context.model]]\nmatch = \"x\"\nwindow = -5", "invalid-value"),
        ("[[context.model]]\nmatch = \"x\"\nwindow = 1.5", "wrong-type"),
        ("[[context.model]]\nmatch = \"x\"\nwindow = 50_000\noutput = 7", "unknown-key"),
        ("[context.finish_reason]\nat = \"stop_reason\"", "invalid-value"),
    ];
    for (text, code) in cases {
        let text = format!("provider = \"acme\"\n{text}\n");
        let error = alone(&text).expect_err(&text);
        let found: Vec<_> = error.diagnostics().expect("diagnostics").iter().map(|diagnostic| (diagnostic.code().name(), diagnostic.hint().is_some())).collect();
        assert_eq!(found, [(code, true)], "{text}");
    }
}

#[test]
fn a_reserve_that_leaves_nothing_is_reported_at_load() {
    let warnings = |text: &str| {
        let ruleset = alone(&format!("provider = \"acme\"\n{text}")).expect("a warning refuses nothing");
        ruleset.warnings().iter().filter(|warning| warning.code().name() == "reserve-above-window").count()
    };
    assert_eq!(warnings("[[context.model]]\nmatch = \"small\"\nwindow = 16_000"), 1);
    assert_eq!(warnings("[[context.model]]\nmatch = \"small\"\nwindow = 20_000"), 1);
    assert_eq!(warnings("[[context.model]]\nmatch = \"small\"\nwindow = 20_001"), 0);
    assert_eq!(warnings("[[context.model]]\nmatch = \"small\"\nwindow = 100_000\ninput = 8_000"), 1);
    assert_eq!(warnings("[[context.model]]\nmatch = \"small\"\nwindow = 16_000\nreserved_tokens = 4_000"), 0);
    assert_eq!(warnings("[[context.model]]\nmatch = \"small*\"\nwindow = 16_000\n[[context.model]]\nmatch = \"*\"\nreserved_tokens = 4_000"), 0);
    assert_eq!(warnings("[[context.model]]\nmatch = \"small\"\nwindow = 0"), 0, "0 is a window that nobody knows");
    assert_eq!(warnings("[[context.model]]\nmatch = \"small\"\nwindow = 20_000\ninput = 0"), 1, "0 is an input limit that nobody knows: the window holds");
    // Reserve and window from two globs: both hold for the models that both name.
    let two = |window: &str, reserve: &str| {
        warnings(&format!("[[context.model]]\nmatch = \"{window}\"\nwindow = 200_000\n[[context.model]]\nmatch = \"{reserve}\"\nreserved_tokens = 200_000"))
    };
    assert_eq!(two("a*", "ab*"), 1);
    assert_eq!(two("a*", "*"), 1);
    assert_eq!(two("claude-*", "*-mini"), 1, "claude-x-mini");
    assert_eq!(two("*a*", "*b*"), 1, "ab");
    assert_eq!(two("gpt-?", "*5"), 1, "gpt-5");
    assert_eq!(two("a*", "b*"), 0, "no model is both");
    assert_eq!(two("gpt-4", "gpt-4?"), 0);
    let above = "[[context.model]]\nmatch = \"a*\"\nwindow = 200_000\n[[context.model]]\nmatch = \"ab*\"\nreserved_tokens = 200_000\nwindow = 400_000";
    assert_eq!(warnings(above), 0, "the window of the nearer glob is the one in force");
    let without_reserve = Ruleset::builder().without_embedded().text("base", "default.toml", "provider = \"default\"\n[[context.model]]\nmatch = \"x\"\nwindow = 16_000\n");
    assert_eq!(without_reserve.build().expect("rules").warnings().iter().count(), 1, "the reserve that holds when no file gives one");
}

#[test]
fn an_input_limit_of_zero_is_one_that_nobody_knows() {
    let overspill = with_rules("provider = \"acme\"\n[[context.model]]\nmatch = \"a\"\nwindow = 50_000\ninput = 0\n[[context.model]]\nmatch = \"b\"\nwindow = 0\ninput = 40_000\n");
    assert_eq!(overspill.context("acme", "a").window(), Some(50_000));
    assert_eq!(overspill.context("acme", "b").window(), Some(40_000));
}

#[test]
fn every_window_of_the_rule_files_has_a_source() {
    let overspill = Overspill::embedded();
    let ruleset = overspill.ruleset();
    let mut windows = 0;
    for provider in ruleset.provider_views() {
        let settings = provider.context_settings();
        let has = |key: &str| settings.iter().any(|setting| setting.key == key && matches!(&setting.value, SettingValue::Text(text) if !text.is_empty()));
        for model in settings.iter().filter_map(|setting| setting.key.strip_suffix(".window")) {
            windows += 1;
            assert!(has(&format!("{model}.source")), "{} {model}", provider.name());
        }
    }
    assert!(windows >= 200, "{windows} windows");
}

fn overflow(body: &str) -> Verdict {
    Overspill::embedded().evaluate(&Failure::http(400).provider("anthropic").model("claude-sonnet-4-5").body(body))
}

fn too_long(requested: u64, limit: u64) -> Verdict {
    let verdict = overflow(&format!(r#"{{"type":"error","error":{{"type":"invalid_request_error","message":"prompt is too long: {requested} tokens > {limit} maximum"}}}}"#));
    assert_eq!(verdict.class(), Class::ContextOverflow);
    verdict
}

#[test]
fn learned_limits_only_lower_and_expire() {
    let (overspill, limits) = (Overspill::embedded(), LearnedLimits::new());
    let context = overspill.context("claude", "claude-sonnet-4-5");
    let hours = |hours| NOW + SignedDuration::from_hours(hours);
    let window = |now| context.clone().with_learned(&limits, now).window();

    assert_eq!(window(NOW), Some(200_000));
    assert_eq!(limits.learn(&context, &too_long(150_000, 128_000), NOW), Some(128_000));
    assert_eq!(limits.learn(&context, &too_long(190_000, 180_000), hours(1)), Some(128_000), "never raised");
    assert_eq!(limits.learn(&context, &too_long(120_000, 100_000), hours(2)), Some(100_000));
    assert_eq!(window(hours(3)), Some(100_000));
    assert_eq!(overspill.context("anthropic", "CLAUDE-sonnet-4-5").with_learned(&limits, hours(3)).window(), Some(100_000), "any name of the provider");
    assert_eq!(overspill.context("anthropic", "claude-opus-4-1").with_learned(&limits, hours(3)).window(), Some(200_000), "another model");
    assert_eq!(context.clone().with_window(64_000).with_learned(&limits, hours(3)).window(), Some(64_000), "only lowered");
    assert_eq!(overspill.context("anthropic", "claude-sonnet-4-5").with_window(0).with_learned(&limits, hours(3)).window(), Some(100_000), "where none is known");

    let given_later = context.clone().with_learned(&limits, hours(3)).with_window(500_000);
    assert_eq!((given_later.window(), given_later.window_origin()), (Some(100_000), WindowOrigin::Learned), "in whatever order they are told");
    assert_eq!((given_later.usable(), given_later.should_compact(&Usage::new(80_000))), (80_000, true));
    assert_eq!(given_later.with_window(0).window(), Some(100_000));
    assert_eq!(context.clone().with_learned(&limits, hours(3)).with_window(64_000).origin().as_deref(), Some("caller"), "a lower one of the caller's holds");

    let list = limits.list(hours(3));
    assert_eq!(list.iter().map(|learned| (learned.provider.as_str(), learned.model.as_str(), learned.tokens)).collect::<Vec<_>>(), [("anthropic", "claude-sonnet-4-5", 100_000)]);
    assert_eq!(window(hours(25)), Some(100_000));
    assert_eq!((window(hours(26)), limits.list(hours(26)).len()), (Some(200_000), 0), "a day after the last word");
    assert_eq!(limits.learn(&context, &too_long(190_000, 180_000), hours(26)), Some(180_000), "an expired limit holds nothing down");
    limits.forget(&context);
    assert_eq!(window(hours(26)), Some(200_000));
    limits.learn(&context, &too_long(190_000, 180_000), hours(26));
    limits.clear();
    assert_eq!(limits.list(hours(26)), []);
}

/// Bug 5: a number from a message about the output was taken for the window, for ever.
#[test]
fn only_a_window_that_an_overflow_states_is_learned() {
    let (overspill, limits) = (Overspill::embedded(), LearnedLimits::new());
    let context = overspill.context("anthropic", "claude-sonnet-4-5");
    let never = [
        r#"{"error":{"message":"max_tokens: 200000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet"}}"#,
        r#"{"error":{"message":"max_tokens is too large: 6000. This model supports at most 4096 completion tokens, whereas you provided 6000."}}"#,
        r#"{"error":{"message":"messages.2.content.0: string too long. Expected a string with maximum length 1048576, but got a string with length 2097152 instead.","code":"string_above_max_length"}}"#,
        r#"{"error":{"message":"Request too large for gpt-4 on tokens per min (TPM): Limit 10000, Requested 12000.","code":"rate_limit_exceeded"}}"#,
        r#"{"error":{"message":"prompt is too long: 2000 tokens > 512 maximum"}}"#,
        r#"{"error":{"message":"prompt is too long: 20000000 tokens > 15000000 maximum"}}"#,
        r#"{"error":{"message":"prompt is too long: 19000 tokens > 200000 maximum"}}"#,
        r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#,
    ];
    for body in never {
        let verdict = overflow(body);
        assert_eq!(limits.learn(&context, &verdict, NOW), None, "{body} {:?} {:?}", verdict.class(), verdict.tokens());
    }
    assert_eq!(limits.list(NOW), []);
    assert_eq!(limits.learn(&context, &too_long(1_025, 1_024), NOW), Some(1_024));
}

#[test]
fn learned_limits_are_bounded_in_number() {
    let (overspill, limits, verdict) = (Overspill::embedded(), LearnedLimits::new(), too_long(150_000, 128_000));
    for number in 0..1_500 {
        let model = format!("model-{number}");
        limits.learn(&overspill.context("anthropic", &model), &verdict, NOW + SignedDuration::from_secs(number));
    }
    let list = limits.list(NOW + SignedDuration::from_secs(1_500));
    assert_eq!(list.len(), 1_024);
    assert!(!list.iter().any(|learned| learned.model == "model-0") && list.iter().any(|learned| learned.model == "model-1499"));
    let none = LearnedLimits::expiring_after(std::time::Duration::ZERO);
    assert_eq!(none.learn(&overspill.context("anthropic", "x"), &verdict, NOW), None);
}

fn proceed(recovery: Recovery) -> u64 {
    match recovery {
        Recovery::Proceed { target } => target,
        Recovery::Stop { why } => panic!("{why}"),
    }
}

fn stop(recovery: Recovery) -> StopReason {
    match recovery {
        Recovery::Proceed { target } => panic!("to {target}"),
        Recovery::Stop { why } => why,
    }
}

#[test]
fn targets() {
    let overspill = Overspill::embedded();
    let context = overspill.context("anthropic", "claude-sonnet-4-5");
    let target = |demand: Demand| proceed(Governor::default().ask(&demand));
    // The provider's numbers, less the output, less a twentieth.
    assert_eq!(target(Demand::new(213_000).within(&context).after(&too_long(213_462, 200_000))), 171_000);
    assert_eq!(target(Demand::new(213_000).with_output(8_000).within(&context).after(&too_long(213_462, 200_000))), 182_400);
    assert_eq!(target(Demand::new(214_000).after(&too_long(213_462, 200_000))), 190_000);
    // A lower window than the error's is the caller's to know.
    assert_eq!(target(Demand::new(213_000).within(&context.clone().with_window(100_000)).after(&too_long(213_462, 200_000))), 76_000);
    // An estimate of half the provider's count is compacted to half of its target.
    assert_eq!(target(Demand::new(100_000).with_output(0).after(&too_long(200_000, 150_000))), 71_250);
    // Requested includes the output: 178,959 + 64,000.
    let both =
        overflow(r#"{"error":{"message":"input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again"}}"#);
    assert_eq!(target(Demand::new(178_959).with_output(64_000).after(&both)), 129_200);
    // No numbers: further below.
    let bare = overflow(r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#);
    assert_eq!(bare.class(), Class::ContextOverflow);
    assert_eq!(target(Demand::new(190_000).within(&context).after(&bare)), 126_000);
    assert_eq!(target(Demand::new(190_000).after(&bare)), 133_000);
    assert_eq!(target(Demand::new(180_000).within(&context)), 126_000);
    assert_eq!(target(Demand::new(100_000)), 70_000);
    // The size is the error's where the caller does not know it.
    assert_eq!(target(Demand::new(0).after(&too_long(213_462, 200_000))), 190_000);
    // An output larger than half of the window leaves the prompt that half.
    assert_eq!(target(Demand::new(9_000).within(&context.clone().with_window(8_000)).after(&too_long(9_000, 8_000))), 3_800);
    // Never more than the least progress away.
    assert_eq!(target(Demand::new(100_000).after(&too_long(300_000, 200_000).clone())), 63_333);
}

/// Bugs 20 and 21: thousands of compactions overnight, thirty in a quarter of an hour.
#[test]
fn the_governor_stops_every_loop() {
    let verdict = too_long(213_462, 200_000);
    let demand = |used| Demand::new(used).after(&verdict);

    let mut governor = Governor::default();
    proceed(governor.ask(&demand(213_000)));
    assert!(governor.compacted(195_000));
    proceed(governor.ask(&demand(201_000)));
    assert!(governor.compacted(150_000));
    assert_eq!(stop(governor.ask(&demand(201_000))), StopReason::TooManyRecoveries);
    governor.new_turn();
    proceed(governor.ask(&demand(201_000)));

    let mut governor = Governor::default();
    proceed(governor.ask(&demand(213_000)));
    assert!(!governor.compacted(205_000), "3.8 %");
    assert_eq!(stop(governor.ask(&demand(205_000))), StopReason::NoProgress);

    let mut governor = Governor::default();
    proceed(governor.ask(&demand(213_000)));
    assert_eq!(stop(governor.ask(&demand(212_000))), StopReason::NoProgress, "the size of the next demand tells too");

    let mut governor = Governor::default();
    for _ in 0..3 {
        governor.new_turn();
        proceed(governor.ask(&demand(213_000)));
        governor.failed();
    }
    governor.new_turn();
    assert_eq!(stop(governor.ask(&demand(213_000))), StopReason::BreakerOpen);
    governor.succeeded();
    assert_eq!(stop(governor.ask(&demand(213_000))), StopReason::BreakerOpen, "a call that goes through shows nothing of compaction");
    assert!(!governor.compacted(212_000), "compacted by hand, to no effect");
    assert_eq!(stop(governor.ask(&demand(213_000))), StopReason::BreakerOpen);
    assert!(governor.compacted(100_000), "compacted by hand");
    proceed(governor.ask(&demand(213_000)));

    let mut governor = Governor::default();
    assert_eq!(stop(governor.ask(&demand(213_000).with_fixed(190_000))), StopReason::NothingLeftToShrink);
    assert_eq!(stop(governor.ask(&Demand::new(0))), StopReason::UnknownSize);
    assert_eq!(stop(governor.ask(&Demand::new(12_000).with_fixed(11_900))), StopReason::NothingLeftToShrink);

    // However an agent goes about it, a provider that always refuses is asked to compact a bounded number of times.
    let mut governor = Governor::default();
    let compactions = iter::repeat_n((), 10_000).filter(|()| {
        governor.new_turn();
        let go_on = matches!(governor.ask(&demand(213_000)), Recovery::Proceed { .. });
        if go_on {
            governor.compacted(212_000);
        }
        go_on
    });
    assert_eq!(compactions.count(), 3);
}

/// Where `compact` is said there is still room: every call of an unattended loop goes through, and shows nothing of compaction.
#[test]
fn calls_that_go_through_do_not_hide_compactions_that_fail() {
    let overspill = Overspill::embedded();
    let context = overspill.context("anthropic", "claude-sonnet-4-5");
    let compactions = |each: &dyn Fn(&mut Governor)| {
        let mut governor = Governor::default();
        let asked = iter::repeat_n((), 1_000).filter(|()| {
            governor.succeeded();
            let check = context.check(&Reply::new(Some(Usage::new(185_000))));
            assert!(check.needs_compaction());
            let go_on = matches!(governor.ask(&Demand::new(check.used()).within(&context)), Recovery::Proceed { .. });
            if go_on {
                each(&mut governor);
            }
            governor.succeeded();
            governor.new_turn();
            go_on
        });
        asked.count()
    };
    assert_eq!(compactions(&|governor| governor.failed()), 3);
    assert_eq!(compactions(&|governor| _ = governor.compacted(190_000)), 3);
    assert_eq!(compactions(&|_| ()), 3, "without a word of how it ended");
    assert_eq!(compactions(&|governor| _ = governor.compacted(100_000)), 1_000, "one that shrinks may go on");
}

#[test]
fn failures_in_a_row_are_in_a_row() {
    for told in [false, true] {
        let mut governor = Governor::default();
        for _ in 0..10 {
            for good in [false, false, true] {
                governor.new_turn();
                let target = proceed(governor.ask(&Demand::new(100_000).after(&too_long(213_462, 200_000))));
                if good {
                    assert!(governor.compacted(target));
                } else {
                    governor.failed();
                }
                if told {
                    governor.succeeded();
                }
            }
        }
    }
    let mut governor = Governor::default();
    proceed(governor.ask(&Demand::new(100_000)));
    assert!(!governor.compacted(99_000));
    governor.failed();
    governor.new_turn();
    proceed(governor.ask(&Demand::new(100_000)));
    governor.failed();
    governor.new_turn();
    proceed(governor.ask(&Demand::new(100_000)));
}

#[test]
fn a_size_that_nobody_knows_is_that_of_the_window() {
    let overspill = Overspill::embedded();
    let context = overspill.context("anthropic", "claude-sonnet-4-5");
    let bare = overflow(r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#);
    let demand = Demand::new(0).within(&context).after(&bare);
    let mut governor = Governor::default();
    assert_eq!(proceed(governor.ask(&demand)), 126_000);
    assert!(!governor.compacted(185_000), "what was compacted is unknown, so only the target tells");
    governor.new_turn();
    proceed(governor.ask(&demand));
    assert_eq!(stop(governor.ask(&demand)), StopReason::NoProgress, "it overflowed again");
    governor.new_turn();
    proceed(governor.ask(&demand));
    assert!(governor.compacted(126_000));
    // A silent overflow without usage.
    assert_eq!(proceed(Governor::default().ask(&Demand::new(0).within(&context))), 126_000);
    // The limit that the error states, and no window.
    let limit = overflow(r#"{"error":{"code":"context_length_exceeded","message":"This model's maximum context length is 100000 tokens."}}"#);
    assert_eq!((limit.class(), limit.tokens().limit), (Class::ContextOverflow, Some(100_000)));
    assert_eq!(proceed(Governor::default().ask(&Demand::new(0).after(&limit))), 95_000);
    assert_eq!(stop(Governor::default().ask(&Demand::new(0).after(&bare))), StopReason::UnknownSize);
}

#[test]
fn an_implausible_overflow_is_believed_again_when_compacting_helped() {
    let overspill = Overspill::embedded();
    let context = overspill.context("anthropic", "claude-sonnet-4-5");
    let bare = overflow(r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#);
    let demand = |used| Demand::new(used).within(&context).after(&bare);
    let mut governor = Governor::default();
    assert!(proceed(governor.ask(&demand(19_000))) > 13_000 && governor.compacted(13_000));
    governor.new_turn();
    assert_eq!(stop(governor.ask(&demand(13_500))), StopReason::Implausible, "no call went through since");
    governor.succeeded();
    proceed(governor.ask(&demand(19_000)));
}

#[test]
fn errors_that_compacting_does_not_mend_are_no_reason_to_compact() {
    let overspill = Overspill::embedded();
    for (status, body) in [(401, r#"{"error":{"message":"invalid x-api-key"}}"#), (504, ""), (429, r#"{"error":{"message":"Too many tokens, please wait before trying again."}}"#)]
    {
        let verdict = overspill.evaluate(&Failure::http(status).provider("anthropic").body(body));
        assert_eq!(stop(Governor::default().ask(&Demand::new(190_000).after(&verdict))), StopReason::NotAnOverflow, "{status}");
    }
}

/// Bug 9: "window exceeded" with 19k of 200k, and three truncations to no effect.
#[test]
fn an_implausible_overflow_is_believed_once() {
    let overspill = Overspill::embedded();
    let context = overspill.context("anthropic", "claude-sonnet-4-5");
    let bare = overflow(r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#);
    let mut governor = Governor::default();
    let target = proceed(governor.ask(&Demand::new(19_000).within(&context).after(&bare)));
    assert!(governor.compacted(target));
    assert_eq!(stop(governor.ask(&Demand::new(target).within(&context).after(&bare))), StopReason::Implausible);
}

#[test]
fn a_policy_of_ones_own() {
    let policy = GovernorPolicy { recoveries_per_turn: 1, least_progress_percent: 200, ..GovernorPolicy::default() };
    let mut governor = Governor::new(policy);
    assert_eq!(stop(governor.ask(&Demand::new(1_000))), StopReason::NothingLeftToShrink, "all of it cannot be");
    let mut governor = Governor::new(GovernorPolicy { recoveries_per_turn: 0, ..policy });
    assert_eq!(stop(governor.ask(&Demand::new(1_000))), StopReason::TooManyRecoveries);
}

/// Any JSON value, not too deep.
fn any_json() -> impl Strategy<Value = Value> {
    let keys = "usage|message|response|input_tokens|output_tokens|prompt_tokens|cache_read_input_tokens|prompt_tokens_details|cached_tokens|input|cache|read|x";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::hash_map(keys, inner, 0..6).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// What a pointer finds, read by a JSON library: the second opinion.
fn counted(value: &Value, pointer: &str) -> Option<u64> {
    match value.pointer(pointer)? {
        Value::Number(number) => number.as_u64().or_else(|| number.as_f64().map(|number| number as u64)),
        Value::String(text) if text.starts_with(|first: char| first.is_ascii_digit() || first == '-') => text.parse::<f64>().ok().map(|number| number as u64),
        _ => None,
    }
}

/// Reads two fields and nothing else.
static TWO_POINTERS: LazyLock<Overspill> = LazyLock::new(|| {
    let rules = "provider = \"acme\"\n[[context.usage]]\nid = \"test\"\ninput = \"/usage/input_tokens\"\ncache_read = \"/usage/x/0/cached_tokens\"\n";
    alone(rules).expect("rules").into()
});

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reads_what_a_json_library_reads(value in any_json(), pretty in any::<bool>()) {
        let overspill = TWO_POINTERS.clone();
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.expect("JSON");
        // An array at the top is a list of documents.
        let documents = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
        let largest = |pointer| documents.iter().filter_map(|document| counted(document, pointer)).max();
        let (input, read) = (largest("/usage/input_tokens"), largest("/usage/x/0/cached_tokens"));
        let usage = overspill.context("acme", "").usage(&text);
        if input.unwrap_or(0) > 0 {
            prop_assert_eq!(usage.map(|usage| (usage.input(), usage.cache_read())), Some((input.unwrap_or(0), read.unwrap_or(0))), "{}", text);
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in 0_usize..300) {
        let context = Overspill::embedded().context("openai", "gpt-5");
        let _ = context.check(&context.read(&bytes));
        let whole = r#"data: {"usage":{"prompt_tokens":1,"prompt_tokens_details":{"cached_tokens":"9"}},"choices":[{"finish_reason":"length"}]}"#;
        let _ = context.check(&context.read(whole.as_bytes().get(..cut).unwrap_or(whole.as_bytes())));
    }

    #[test]
    fn usable_and_compact_are_what_the_formula_says(used in any::<u64>(), window in any::<u64>(), reserved in any::<u64>(), output in any::<u64>()) {
        let context = Overspill::embedded().context("openai", "x").with_window(window).with_reserved(reserved);
        let usage = Usage::new(used).with_output(output);
        let usable = window.saturating_sub(reserved);
        prop_assert_eq!(context.usable(), usable);
        prop_assert_eq!(context.should_compact(&usage), window > 0 && used >= usable);
        prop_assert_eq!(context.check(&Reply::new(Some(usage))).compact(), context.should_compact(&usage));
    }

    #[test]
    /// Whatever is told in whatever order, of a conversation that never shrinks.
    #[test]
    fn a_loop_that_never_shrinks_ends(size in 150_000_u64..1_000_000, steps in prop::collection::vec((0_u8..7, 0_u64..3_000), 0..400)) {
        let context = Overspill::embedded().context("anthropic", "claude-sonnet-4-5");
        let (verdict, mut governor, mut size, mut compactions) = (too_long(213_462, 200_000), Governor::default(), size, 0);
        for (step, grows) in steps {
            size += grows;
            let demand = match step {
                0 => Demand::new(size).within(&context),
                1 => Demand::new(size).within(&context).after(&verdict),
                2 => Demand::new(0).within(&context),
                3 => { governor.succeeded(); continue; }
                4 => { governor.new_turn(); continue; }
                5 => { governor.failed(); continue; }
                _ => { prop_assert!(compactions == 0 || !governor.compacted(size)); continue; }
            };
            compactions += u32::from(matches!(governor.ask(&demand), Recovery::Proceed { .. }));
        }
        prop_assert!(compactions <= 3, "{}", compactions);
    }

    /// It stops for as many failures in a row, and no sooner: a compaction that shrinks ends the row.
    #[test]
    fn a_breaker_opens_for_failures_in_a_row(outcomes in prop::collection::vec((any::<bool>(), any::<bool>(), any::<bool>()), 0..60)) {
        let (mut governor, mut row) = (Governor::default(), 0);
        for (good, succeeded, silent) in outcomes {
            governor.new_turn();
            let answer = governor.ask(&Demand::new(185_000));
            if row == 3 {
                prop_assert_eq!(answer, Recovery::Stop { why: StopReason::BreakerOpen });
                continue;
            }
            let target = proceed(answer);
            match (good, silent) {
                (true, _) => prop_assert!(governor.compacted(target)),
                (false, false) => governor.failed(),
                (false, true) => prop_assert!(!governor.compacted(185_000)),
            }
            row = if good { 0 } else { row + 1 };
            if succeeded {
                governor.succeeded();
            }
        }
    }

    #[test]
    fn a_governor_never_aims_above_what_there_is(used in any::<u64>(), window in any::<u64>(), output in any::<u64>(), fixed in any::<u64>()) {
        let context = Overspill::embedded().context("openai", "x").with_window(window);
        let demand = Demand::new(used).within(&context).with_output(output).with_fixed(fixed);
        if let Recovery::Proceed { target } = Governor::default().ask(&demand) {
            // A size of 0 is one that nobody knows.
            let size = if used == 0 { window } else { used };
            prop_assert!(target > fixed && target < size);
        }
    }
}

/// The command line answers as the library does, under the names that other programs rely on.
#[cfg(feature = "cli")]
mod command_line {
    use std::io::Write;
    use std::process::{Command, Output, Stdio};

    use super::{Value, rows};

    fn run(arguments: &[&str], input: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_overspill"));
        let mut child = command.arg("context").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command");
        child.stdin.take().expect("standard input").write_all(input.as_bytes()).expect("somebody who reads");
        child.wait_with_output().expect("an end")
    }

    fn lines(output: &Output) -> Vec<Value> {
        let text = std::str::from_utf8(&output.stdout).expect("text");
        text.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect()
    }

    #[test]
    fn answers_every_row_of_the_table() {
        let rows = rows();
        let output = run(&[concat!(env!("CARGO_MANIFEST_DIR"), "/tests/context/usage.jsonl")], "");
        assert!(output.status.success());
        let answers = lines(&output);
        assert_eq!(answers.len(), rows.len());
        for (row, answer) in rows.iter().zip(&answers) {
            let keys: Vec<_> = answer.as_object().expect("an object").keys().map(String::as_str).collect();
            let mut expected = ["id", "used_tokens", "window", "reserved_tokens", "usable_tokens", "compact", "silent_overflow", "reason", "origin"];
            let mut sorted = keys.clone();
            sorted.sort_unstable();
            expected.sort_unstable();
            assert_eq!(sorted, expected);
            let expect = &row["expect"];
            assert_eq!(answer["id"], row["id"]);
            for (key, wanted) in [("used_tokens", "used"), ("usable_tokens", "usable"), ("compact", "compact"), ("reason", "reason")] {
                assert_eq!(answer[key], expect[wanted], "{key} of {}", row["id"]);
            }
            assert_eq!(answer["silent_overflow"].as_bool(), Some(expect["silent"].as_bool().unwrap_or(false)), "{}", row["id"]);
        }
    }

    #[test]
    fn bad_lines_are_told_and_the_others_answered() {
        let input = concat!(
            "{\"id\":1,\"provider\":\"anthropic\",\"window\":1e5,\"usage\":{\"input_tokens\":7}}\n",
            "\n",
            "nonsense\n",
            "[1]\n",
            "{\"window\":-5}\n",
            "{\"reserved\":\"many\"}\n",
            "{\"provider\":5}\n",
            "{\"id\":{\"any\":\"thing\"},\"unknown\":true}\n",
        );
        let output = run(&[], input);
        assert_eq!(output.status.code(), Some(1));
        let answers = lines(&output);
        let told: Vec<_> = answers.iter().map(|answer| (answer["line"].as_u64(), answer["error"].is_string(), answer["used_tokens"].as_u64())).collect();
        let error = |line| (Some(line), true, None);
        assert_eq!(told, [(None, false, Some(7)), error(3), error(4), error(5), error(6), error(7), (None, false, Some(0))]);
        assert_eq!(answers[6]["id"]["any"], "thing");

        let output = run(&["--format", "text"], input);
        assert_eq!(output.status.code(), Some(1));
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.starts_with("1: go on: 7 of 80000 usable tokens (window 100000, reserve 20000)  [room-left caller]\nline 3: not a JSON object"), "{text}");
        assert!(text.contains("of an unknown window  [unknown-window -]"), "{text}");
        assert_eq!(run(&["/nowhere/usage.jsonl"], "").status.code(), Some(2));
    }
}
