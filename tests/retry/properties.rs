//! A delay is never below the server's, never above the maximum, never a panic, for arbitrary policies and header values.

use std::num::NonZeroU32;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use overspill::{Backoff, BudgetPolicy, Clock, DelayFrom, Failure, Jitter, OverMax, Overspill, RetryPolicy, ServerDelayPolicy, Step, Why, next_delay};
use proptest::prelude::*;

use crate::support::{handle, rules};

static SMALL: LazyLock<Overspill> = LazyLock::new(|| handle(""));

fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        4 => (0..100_000_u64).prop_map(Duration::from_millis),
        2 => any::<u64>().prop_map(Duration::from_nanos),
        1 => (any::<u64>(), 0..1_000_000_000_u32).prop_map(|(seconds, nanos)| Duration::new(seconds, nanos)),
        1 => Just(Duration::ZERO),
        1 => Just(Duration::MAX),
    ]
}

fn jitter() -> impl Strategy<Value = Jitter> {
    let ratio = || prop_oneof![0.0..=1.0, Just(0.0), Just(1.0)];
    prop_oneof![
        Just(Jitter::None),
        Just(Jitter::Full),
        Just(Jitter::Equal),
        Just(Jitter::Decorrelated),
        ratio().prop_map(|ratio| Jitter::Proportional { ratio }),
        ratio().prop_map(|ratio| Jitter::Additive { ratio }),
    ]
}

fn policy() -> impl Strategy<Value = RetryPolicy> {
    let factor = prop_oneof![1.0..=100.0, Just(1.0), any::<f64>()];
    let over_max = prop_oneof![Just(OverMax::Fail), Just(OverMax::Wait)];
    let max_attempts = prop_oneof![1..8_u32, 1..=u32::MAX];
    (max_attempts, duration(), factor, duration(), jitter(), duration(), over_max).prop_map(|(attempts, base, factor, cap, jitter, max, over_max)| RetryPolicy {
        max_attempts: NonZeroU32::new(attempts).unwrap(),
        base,
        factor,
        cap,
        jitter,
        server_delay: ServerDelayPolicy { max, over_max },
        budget: BudgetPolicy { capacity: 10.0, per_second: 1.0, per_success: 1.0 },
        ..SMALL.ruleset().retry_policy(None, None).clone()
    })
}

/// What servers have sent, and what they might.
fn header_value() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (0..1000_u32).prop_map(|seconds| seconds.to_string()),
        2 => any::<f64>().prop_map(|seconds| seconds.to_string()),
        2 => any::<i64>().prop_map(|seconds| seconds.to_string()),
        1 => "[0-9]{1,30}(\\.[0-9]{0,20})?(ms|s|m|h|d)?",
        1 => "(Mon|Tue), [0-3][0-9] (Jan|Aug|Dec) [0-9]{4} [0-2][0-9]:[0-5][0-9]:[0-5][0-9] GMT",
        1 => Just("NaN".to_owned()),
        1 => Just("-1".to_owned()),
        1 => ".{0,40}",
    ]
}

fn header() -> impl Strategy<Value = (String, String)> {
    (prop_oneof![Just("retry-after"), Just("retry-after-ms"), Just("Retry-After")].prop_map(str::to_owned), header_value())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn own_waits_never_exceed_the_cap(policy in policy(), seed: u64, far in 0..1000_usize) {
        for wait in Backoff::new(&policy, seed).take(20).chain(Backoff::new(&policy, seed).nth(far)) {
            prop_assert!(wait <= policy.cap, "{wait:?}");
        }
    }

    #[test]
    fn a_servers_wait_is_a_floor(policy in policy(), asked in duration(), seed: u64) {
        let wait = Backoff::new(&policy, seed).above(asked);
        prop_assert!(wait >= asked);
        prop_assert!(wait <= asked.saturating_add(Duration::from_secs(2)));
        if asked <= policy.server_delay.max && policy.server_delay.over_max == OverMax::Fail {
            prop_assert!(wait <= policy.server_delay.max);
        }
    }

    #[test]
    fn delays_keep_between_floor_and_maximum(policy in policy(), headers in proptest::collection::vec(header(), 0..3), attempt in 0..9_u32, seed: u64) {
        let now = jiff::Timestamp::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let failure = headers.iter().fold(Failure::http(429).received_at(now), |failure, (name, value)| failure.header(name.as_str(), value.as_str()));
        let verdict = SMALL.evaluate(&failure);
        let asked = verdict.server_delay().map(|delay| delay.from(now));
        let delay = next_delay(&policy, &verdict, attempt, now, seed);
        if attempt >= policy.max_attempts.get() {
            prop_assert_eq!(delay, None);
        }
        let Some(delay) = delay else { return Ok(()) };
        prop_assert!(asked.is_none_or(|asked| delay >= asked), "{delay:?} is below {asked:?}");
        let longest = match policy.server_delay.over_max {
            OverMax::Fail => policy.cap.max(policy.server_delay.max),
            OverMax::Wait => Duration::MAX,
        };
        prop_assert!(delay <= longest, "{delay:?}");
        if asked.is_none_or(|asked| asked.is_zero()) && verdict.server_delay().is_none() {
            prop_assert!(delay <= policy.cap);
        }
    }

    #[test]
    fn worst_cases_are_no_less_than_what_happens(policy in policy(), seed: u64) {
        let worst = policy.worst_case();
        if worst.calls <= 100 {
            let waiting = Backoff::new(&policy, seed).take(worst.calls as usize - 1).fold(Duration::ZERO, Duration::saturating_add);
            // A double rounds.
            prop_assert!(waiting.as_secs_f64() <= worst.waiting.as_secs_f64() * (1.0 + 1e-12) + 1e-6, "{waiting:?} {worst:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sessions_wait_as_the_formula_says(
        base in 1..5000_u64, more in 0..60_000_u64, factor in 1.0..10.0_f64, max in 0..600_000_u64, wait: bool, mode in 0..6_usize, attempts in 1..9_u32,
        failures in proptest::collection::vec(proptest::option::of(header()), 1..10), seed: u64,
    ) {
        let over_max = if wait { "wait" } else { "fail" };
        let text = format!(
            "[retry]\nmax_attempts = {attempts}\nbase = \"{base}ms\"\ncap = \"{}ms\"\nfactor = {factor:?}\njitter = \"{}\"\nserver_delay = {{ max = \"{max}ms\", over_max = \"{over_max}\" }}",
            base + more, Jitter::NAMES[mode],
        );
        let overspill = Overspill::new(rules(&text));
        let rules = overspill.ruleset();
        let mut session = overspill.retry("acme").alone().seed(seed).session();
        for (number, header) in failures.iter().enumerate() {
            let failure = header.iter().fold(Failure::http(429), |failure, (name, value)| failure.header(name.as_str(), value.as_str()));
            let decision = session.next(&failure);
            let policy = rules.retry_policy(None, Some(decision.verdict.class()));
            let now = jiff::Timestamp::now();
            let formula = next_delay(policy, &decision.verdict, number as u32 + 1, now, seed);
            match (decision.step, formula) {
                (Step::Retry { delay, .. }, Some(formula)) => {
                    // An instant that a server names comes nearer while the test runs.
                    let apart = delay.abs_diff(formula);
                    prop_assert!(apart < Duration::from_secs(1), "{delay:?} {formula:?}");
                }
                (Step::GiveUp(_), None) => {}
                (step, formula) => prop_assert!(false, "{step:?} but {formula:?}"),
            }
        }
    }
}

/// A clock that goes where it is put.
#[derive(Debug)]
struct Hands {
    start: Instant,
    passed: Mutex<Duration>,
}

impl Hands {
    fn put(&self, passed: Duration) {
        *self.passed.lock().unwrap() = passed;
    }

    fn passed(&self) -> Duration {
        *self.passed.lock().unwrap()
    }
}

impl Clock for Hands {
    fn now(&self) -> Instant {
        self.start + self.passed()
    }

    fn wall(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH + Duration::from_secs(1_800_000_000) + self.passed()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Calls that share a lane: each event is a call that fails, with or without a server's wait, or looks whether it may begin; some time passes in between.
    #[test]
    fn calls_that_share_a_lane_wait_between_floor_and_maximum(
        base in 0..5000_u64, more in 0..60_000_u64, max in 0..100_000_u64, mode in 0..6_usize, seed: u64,
        events in proptest::collection::vec((0..8_usize, 0..20_000_u64, 0..4_u8, 0..120_000_u64), 1..40),
    ) {
        let text = format!(
            "[retry]\nmax_attempts = 9\nbase = \"{base}ms\"\ncap = \"{}ms\"\njitter = \"{}\"\nserver_delay = {{ max = \"{max}ms\" }}",
            base + more, Jitter::NAMES[mode],
        );
        let overspill = Overspill::new(rules(&text));
        let clock = Arc::new(Hands { start: Instant::now(), passed: Mutex::default() });
        let (max, longest) = (Duration::from_millis(max), Duration::from_millis(max.max(base + more)));
        let session = |number| overspill.retry("acme").seed(seed.wrapping_add(number)).clock(Arc::clone(&clock)).session();
        let mut sessions: Vec<_> = (0..8).map(session).collect();
        // Of each call: when it failed or first looked, and the least and the most that it may wait from then on.
        let mut waits = vec![None::<(Duration, Duration, Duration)>; 8];
        for (which, passes, kind, asked) in events {
            clock.put(clock.passed() + Duration::from_millis(passes));
            let (now, asked) = (clock.passed(), Duration::from_millis(asked));
            if kind > 1 {
                let failure = if kind == 2 { Failure::http(500) } else { Failure::http(429).header("retry-after-ms", asked.as_millis().to_string()) };
                let decision = sessions[which].next(&failure);
                let floor = if kind == 3 { asked } else { Duration::ZERO };
                waits[which] = None;
                match decision.step {
                    Step::Retry { delay, from, .. } => {
                        let most = if from == DelayFrom::Backoff { longest } else { max };
                        prop_assert!(delay >= floor && delay <= longest, "{delay:?} {floor:?} {longest:?}");
                        prop_assert!(floor.is_zero() || delay <= most, "{delay:?} {most:?}");
                        waits[which] = Some((now, floor, longest));
                    }
                    _ => sessions[which] = session(which as u64),
                }
                continue;
            }
            let (since, floor, most) = waits[which].unwrap_or((now, Duration::ZERO, max));
            match sessions[which].wait_left() {
                Ok(Some(left)) => {
                    prop_assert!(now + left >= since + floor, "{left:?}");
                    prop_assert!(now + left <= since + most, "{left:?} at {now:?}, but since {since:?} no more than {most:?}");
                    waits[which] = Some((since, floor, most));
                }
                Ok(None) => {
                    prop_assert!(now >= since + floor);
                    waits[which] = None;
                }
                Err(why) => {
                    prop_assert_eq!(why, Why::ServerDelayTooLong);
                    sessions[which] = session(which as u64);
                    waits[which] = None;
                }
            }
        }
    }

    #[test]
    fn a_clock_that_goes_back_makes_no_wait_longer(back in 0..10_000_u64, asked in 0..60_000_u64) {
        let overspill = handle("");
        let clock = Arc::new(Hands { start: Instant::now(), passed: Mutex::new(Duration::from_secs(100)) });
        let mut session = overspill.retry("acme").clock(Arc::clone(&clock)).session();
        let Step::Retry { delay, .. } = session.next(&Failure::http(429).header("retry-after-ms", asked.to_string())).step else { panic!("retried") };
        clock.put(Duration::from_millis(100_000 - back));
        prop_assert!(session.wait_left().unwrap() <= Some(delay));
    }
}
