//! How fast a context is looked up, usage is read and a check is made.
//!
//! `cargo bench --bench context`. `fastest` is what the code costs; on a machine that is busy, the others tell of its neighbours.

use std::sync::LazyLock;

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use jiff::Timestamp;
use overspill::{CacheChurn, Demand, Governor, LearnedLimits, Overspill, PromptGrowth, Reply, Usage};

static OVERSPILL: LazyLock<Overspill> = LazyLock::new(Overspill::embedded);

const USAGE: &str = r#"{"input_tokens":2095,"cache_creation_input_tokens":996,"cache_read_input_tokens":150000,"cache_creation":{"ephemeral_5m_input_tokens":996,"ephemeral_1h_input_tokens":0},"output_tokens":503,"service_tier":"standard"}"#;

fn main() {
    divan::main();
}

fn usage() -> Usage {
    Usage::new(2_095).with_cache_read(150_000).with_cache_write(996).with_output(503)
}

/// The comparison alone: the context is there, the usage is parsed.
#[divan::bench]
fn should_compact(bencher: Bencher<'_, '_>) {
    let (context, usage) = (OVERSPILL.context("anthropic", "claude-sonnet-4-5"), usage());
    bencher.bench(|| black_box(&context).should_compact(black_box(&usage)));
}

/// With all numbers, the reason, and silent overflow.
#[divan::bench]
fn check(bencher: Bencher<'_, '_>) {
    let (context, reply) = (OVERSPILL.context("anthropic", "claude-sonnet-4-5"), Reply::new(Some(usage())));
    bencher.bench(|| black_box(&context).check(black_box(&reply)));
}

/// The snapshot of the rules and the window of a model.
#[divan::bench(args = [("anthropic", "claude-sonnet-4-5"), ("openai", "gpt-5.1-codex"), ("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"), ("openrouter", "anthropic/claude-sonnet-4.5"), ("acme", "nothing-known")])]
fn context(bencher: Bencher<'_, '_>, (provider, model): (&str, &str)) {
    LazyLock::force(&OVERSPILL);
    bencher.bench(|| OVERSPILL.context(black_box(provider), black_box(model)));
}

/// All of it, from the names to the answer.
#[divan::bench]
fn context_and_should_compact(bencher: Bencher<'_, '_>) {
    let usage = usage();
    bencher.bench(|| OVERSPILL.context(black_box("anthropic"), black_box("claude-sonnet-4-5")).should_compact(black_box(&usage)));
}

/// A usage object by itself, and at the end of a reply with so many bytes of text before it.
#[divan::bench(args = [0, 10_000, 1_000_000])]
fn read(bencher: Bencher<'_, '_>, text: usize) {
    let context = OVERSPILL.context("anthropic", "claude-sonnet-4-5");
    let body = match text {
        0 => USAGE.to_owned(),
        text => format!(r#"{{"type":"message","content":[{{"type":"text","text":"{}"}}],"stop_reason":"end_turn","usage":{USAGE}}}"#, r"lorem ipsum \n dolor ".repeat(text / 20)),
    };
    assert!(context.usage(&body).is_some_and(|usage| context.used(&usage) == 153_091));
    bencher.counter(BytesCount::of_str(&body)).bench(|| black_box(&context).read(black_box(&body)));
}

/// A limit found among so many.
#[divan::bench(args = [1, 1_000])]
fn learned(bencher: Bencher<'_, '_>, count: usize) {
    let limits = LearnedLimits::new();
    let verdict = OVERSPILL.evaluate(&overspill::Failure::http(400).provider("anthropic").body(br#"{"error":{"message":"prompt is too long: 150000 tokens > 128000 maximum"}}"#));
    for number in 1..=count {
        let model = format!("model-{number}");
        limits.learn(&OVERSPILL.context("anthropic", &model), &verdict, Timestamp::UNIX_EPOCH);
    }
    let model = format!("model-{count}");
    bencher.bench(|| OVERSPILL.context("anthropic", &model).with_learned(black_box(&limits), Timestamp::UNIX_EPOCH));
}

/// What watches a conversation, call by call.
#[divan::bench]
fn watches(bencher: Bencher<'_, '_>) {
    let usage = usage();
    let (mut growth, mut churn, mut governor) = (PromptGrowth::default(), CacheChurn::default(), Governor::default());
    bencher.bench_local(|| {
        let answers = (growth.observe(black_box(153_000), black_box(600_000)), churn.observe(black_box(&usage)), governor.ask(&Demand::new(black_box(190_000))));
        governor.compacted(100_000);
        governor.succeeded();
        governor.new_turn();
        answers
    });
}
