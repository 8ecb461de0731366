//! How much memory evaluations and rules take: allocations, bytes, and the most at one time.

#![expect(clippy::expect_used, reason = "a benchmark stops at the first surprise")]

use divan::counter::{BytesCount, ItemsCount};
use divan::{AllocProfiler, Bencher, black_box};
use overspill::{Overspill, Ruleset};

#[path = "../speed/corpus.rs"]
mod corpus;
#[path = "../speed/inputs.rs"]
mod inputs;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// One evaluation over the embedded rules, once what it needs is compiled.
#[divan::bench(args = inputs::all(), sample_count = 10)]
fn evaluate(bencher: Bencher<'_, '_>, input: &inputs::Input) {
    let overspill = Overspill::embedded();
    black_box(overspill.evaluate(&input.failure));
    bencher.counter(BytesCount::new(input.bytes)).bench(|| overspill.evaluate(black_box(&input.failure)));
}

/// All recorded failures, one after the other.
#[divan::bench(sample_count = 3, sample_size = 1)]
fn evaluate_corpus(bencher: Bencher<'_, '_>) {
    let overspill = Overspill::embedded();
    let evaluate = || corpus::failures().iter().filter(|recorded| overspill.evaluate(&recorded.failure).is_miss()).count();
    black_box(evaluate());
    bencher.counter(ItemsCount::new(corpus::failures().len())).bench(evaluate);
}

/// The embedded rules: `max alloc` is what loading needs, and what is left of `alloc` after `dealloc` is what a program keeps.
#[divan::bench(sample_count = 3, sample_size = 1)]
fn compile() -> Ruleset {
    Ruleset::builder().build().expect("the embedded rules are valid")
}
