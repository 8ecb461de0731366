//! The whole path from a failure to its verdict, by kind of failure and by number of rules.

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};

use crate::inputs::{self, Input};
use crate::{corpus, rulesets};

/// Over the embedded rules.
#[divan::bench(args = inputs::all())]
fn embedded(bencher: Bencher<'_, '_>, input: &Input) {
    let overspill = &*rulesets::EMBEDDED;
    bencher.counter(BytesCount::new(input.bytes)).bench(|| overspill.evaluate(black_box(&input.failure)));
}

/// Over no rules at all: reading the signals, and the base layer's forms of delays and statuses.
#[divan::bench(args = inputs::all())]
fn no_rules(bencher: Bencher<'_, '_>, input: &Input) {
    let overspill = &*rulesets::NO_RULES;
    bencher.counter(BytesCount::new(input.bytes)).bench(|| overspill.evaluate(black_box(&input.failure)));
}

/// The typical failure by number of rules.
#[divan::bench(args = [30, 300, 1_000, 3_000])]
fn by_rules_hit(bencher: Bencher<'_, '_>, rules: usize) {
    by_rules(bencher, rules, "openai");
}

/// The same, when the rules of all providers are in force.
#[divan::bench(args = [30, 300, 1_000, 3_000])]
fn by_rules_unknown_provider(bencher: Bencher<'_, '_>, rules: usize) {
    by_rules(bencher, rules, "nobody-knows");
}

fn by_rules(bencher: Bencher<'_, '_>, rules: usize, provider: &'static str) {
    let overspill = rulesets::of_size(rules);
    let input = inputs::typical();
    let failure = input.failure.provider(provider);
    let verdict = overspill.evaluate(&failure);
    assert_eq!(verdict.rule(), Some("generated-0/maximum-context-length"));
    bencher.counter(BytesCount::new(input.bytes)).bench(|| overspill.evaluate(black_box(&failure)));
}

/// All recorded failures in a row, so that no text is in any cache: divide by the items.
#[divan::bench]
fn corpus_in_a_row(bencher: Bencher<'_, '_>) {
    let overspill = &*rulesets::EMBEDDED;
    let failures = corpus::failures();
    let bytes: usize = failures.iter().map(|recorded| recorded.text.len()).sum();
    bencher.counter(ItemsCount::new(failures.len())).counter(BytesCount::new(bytes)).bench(|| {
        for recorded in failures {
            black_box(overspill.evaluate(black_box(&recorded.failure)));
        }
    });
}

/// All threads at once over one ruleset: what they wait for one another.
#[divan::bench(threads = [1, 2])]
fn threads(bencher: Bencher<'_, '_>) {
    let overspill = &*rulesets::EMBEDDED;
    let input = inputs::typical();
    bencher.counter(BytesCount::new(input.bytes)).bench(|| overspill.evaluate(black_box(&input.failure)));
}
