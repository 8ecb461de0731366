//! An outage is not multiplied, and those who fail together do not return together.

use std::sync::{Arc, LazyLock};

use overspill::{Failure, Overspill, Ruleset};

use crate::herd::{amplification, peak};
use crate::support::rules;

/// The embedded rules with a budget that lets everybody retry: otherwise there is no herd.
static UNBOUNDED: LazyLock<Arc<Ruleset>> = LazyLock::new(|| {
    let text = "provider = \"default\"\n[retry]\nmax_attempts = 7\nbudget = { capacity = 1000000 }\n";
    Arc::new(Ruleset::builder().text("unbounded", "default.toml", text).build().unwrap())
});

#[tokio::test(start_paused = true)]
async fn total_failure_is_hardly_multiplied() {
    for failure in [Failure::http(500), Failure::http(529), Failure::http(429), Failure::http(408)] {
        for per_second in [1, 50] {
            let factor = amplification(&Overspill::embedded(), per_second, 120, 1.0, &failure).await.in_all;
            assert!((1.0..=1.3).contains(&factor), "{failure:?} {per_second}/s: {factor}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_when_gets_less_than_without_us() {
    for per_second in [1, 50] {
        let overspill = Overspill::embedded();
        let factor = amplification(&overspill, per_second, 120, 1.0, &Failure::http(429).header("retry-after", "3")).await;
        assert!(factor.meanwhile <= 1.0 && factor.in_all <= 1.3, "{per_second}/s: {} {}", factor.meanwhile, factor.in_all);
    }
}

#[tokio::test(start_paused = true)]
async fn and_what_fails_now_and_then_is_retried() {
    for per_second in [1, 50] {
        let factor = amplification(&Overspill::embedded(), per_second, 120, 0.1, &Failure::http(500)).await.in_all;
        assert!((1.09..=1.13).contains(&factor), "{per_second}/s: {factor}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_default_lets_no_herd_return() {
    for failure in [Failure::http(529), Failure::http(429).header("retry-after", "20")] {
        let shared = Overspill::new(Arc::clone(&UNBOUNDED));
        let peak = peak(1000, || shared.clone(), &failure).await;
        assert!((1..=120).contains(&peak), "{failure:?}: {peak}");
    }
}

#[tokio::test(start_paused = true)]
async fn jitter_spreads_those_who_share_nothing() {
    for (jitter, most) in [("full", 190), ("equal", 300), ("decorrelated", 120)] {
        let rules = rules(&format!("[retry]\nmax_attempts = 7\nbase = \"1s\"\njitter = \"{jitter}\""));
        let peak = peak(1000, || Overspill::new(Arc::clone(&rules)), &Failure::http(500)).await;
        assert!(peak <= most, "{jitter}: {peak}");
    }
}
