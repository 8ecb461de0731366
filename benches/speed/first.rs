//! Novel texts: patterns are compiled when a text first needs them, so the first failures of a kind take longer than those that follow.

use std::time::{Duration, Instant};

use divan::black_box;
use overspill::Overspill;

use crate::{corpus, rulesets};

/// How long failures take of which a fresh ruleset has seen half the corpus before, and how long that took.
pub(crate) fn print() {
    let overspill = rulesets::fresh();
    let numbered = || (0_usize..).zip(corpus::failures());
    let even: Vec<_> = numbered().filter(|(number, _)| number.is_multiple_of(2)).map(|(_, recorded)| recorded).collect();
    let odd: Vec<_> = numbered().filter(|(number, _)| !number.is_multiple_of(2)).map(|(_, recorded)| recorded).collect();
    println!("{} recorded failures, each timed alone, over {} embedded rules", corpus::failures().len(), overspill.ruleset().rule_count());
    println!("{:<38}{:>10}{:>10}{:>10}{:>10}", "", "median", "mean", "p99", "worst");
    for (name, half) in [("one half, to a fresh ruleset", &even), ("again", &even), ("the other half, never seen before", &odd), ("again", &odd)] {
        let mut times: Vec<Duration> = half.iter().map(|recorded| time(&overspill, recorded)).collect();
        times.sort_unstable();
        let mean = times.iter().sum::<Duration>() / u32::try_from(times.len()).expect("the corpus is small");
        let at = |percent: usize| times[(times.len() - 1) * percent / 100];
        println!("{name:<38}{:>10.1?}{mean:>10.1?}{:>10.1?}{:>10.1?}", at(50), at(99), at(100));
    }
    println!();
}

fn time(overspill: &Overspill, recorded: &corpus::Recorded) -> Duration {
    let start = Instant::now();
    black_box(overspill.evaluate(black_box(&recorded.failure)));
    start.elapsed()
}
