//! One failure answered by both sides, and the price of the difference.

use std::time::Duration;

use jiff::Timestamp;
use overspill::{Action, Class, Failure, Ruleset, Verdict, next_delay};

use super::unaffected::{Same, Unaffected};
use crate::failure::Input;

/// The rules before and after.
pub(super) struct Sides<'r> {
    pub(super) from: &'r Ruleset,
    pub(super) to: &'r Ruleset,
    /// Whose failures need not be looked at.
    pub(super) unaffected: Unaffected,
    /// Whether one of the rules that differ catches a failure, and whose failures need not be looked at when none does.
    pub(super) probe: Option<Probe>,
    /// The instant of failures that state none.
    pub(super) now: Timestamp,
}

/// The rules that differ, each side's alone.
pub(super) struct Probe {
    pub(super) sides: [Option<Ruleset>; 2],
    pub(super) unaffected: Unaffected,
}

impl Probe {
    fn catches(&self, failure: &Failure<'_>) -> bool {
        self.sides.iter().flatten().any(|rules| rules.evaluate(failure).rule().is_some())
    }
}

/// What is the same about all failures of a group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupKey {
    pub(super) provider: String,
    pub(super) from: Answer,
    pub(super) to: Answer,
    pub(super) changed: Vec<&'static str>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Answer {
    pub(super) class: Class,
    pub(super) action: &'static str,
    pub(super) by: String,
    pub(super) origin: String,
}

/// What the new rules cost more than the old ones; less than zero is saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) attempts: i64,
    pub(super) wait_ms: i64,
    pub(super) tokens: i64,
    /// Attempts of failures that say nothing about the size of their request.
    pub(super) unsized_attempts: u64,
}

impl Cost {
    pub(super) fn add(&mut self, other: Self) {
        self.attempts += other.attempts;
        self.wait_ms = self.wait_ms.saturating_add(other.wait_ms);
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.unsized_attempts += other.unsized_attempts;
    }
}

/// A failure whose verdict changes.
pub(super) struct Change {
    pub(super) key: GroupKey,
    pub(super) cost: Cost,
    /// How long either side waits before the next attempt, in milliseconds.
    pub(super) waits: [Option<u64>; 2],
}

impl Sides<'_> {
    /// `None` when the verdict stays. Only what a caller acts on counts: which rule says it does not. The same seed on both sides, so that jitter is no change.
    pub(super) fn compare(&self, input: &Input, seed: u64) -> Option<Change> {
        let same = self.same(&input.failure);
        if same == Same::All {
            return None;
        }
        let from = self.from.evaluate(&input.failure);
        let to = if same == Same::Rules && !from.is_miss() { from.clone() } else { self.to.evaluate(&input.failure) };
        let waits = [wait(self.from, &from, input, seed), wait(self.to, &to, input, seed)];
        let changed = changed(&from, &to, waits);
        if changed.is_empty() {
            return None;
        }
        let name = input.failure.provider_name();
        let provider =
            name.and_then(|name| self.to.provider(name).or_else(|| self.from.provider(name))).map_or_else(|| "unknown provider".to_owned(), |known| known.name().to_owned());
        let key = GroupKey { provider, from: Answer::of(&from), to: Answer::of(&to), changed };
        let size = input.estimate.or(from.tokens().requested).or(to.tokens().requested).or_else(|| self.to.used_tokens(&input.failure));
        let waits = waits.map(|wait| wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)));
        Some(Change { key, cost: cost(waits, size), waits })
    }
}

impl Sides<'_> {
    fn same(&self, failure: &Failure<'_>) -> Same {
        let of = |unaffected: &Unaffected| unaffected.of(self.from, self.to, failure.provider_name());
        let same = of(&self.unaffected);
        if same != Same::Nothing {
            return same;
        }
        let without = self.probe.as_ref().map(|probe| (probe, of(&probe.unaffected))).filter(|(_, same)| *same != Same::Nothing);
        without.filter(|(probe, _)| !probe.catches(failure)).map_or(Same::Nothing, |(_, same)| same)
    }
}

/// How long the executor would wait before the next attempt; none when there is none.
fn wait(ruleset: &Ruleset, verdict: &Verdict, input: &Input, seed: u64) -> Option<Duration> {
    if input.output_started || !verdict.is_retry() {
        return None;
    }
    let policy = ruleset.retry_policy_for(input.failure.provider_name(), Some(verdict.class()), input.failure.model_name(), None);
    next_delay(&policy, verdict, input.attempt, input.now, seed)
}

fn changed(from: &Verdict, to: &Verdict, waits: [Option<Duration>; 2]) -> Vec<&'static str> {
    let mut changed = Vec::new();
    let mut compare = |differs: bool, what| {
        if differs {
            changed.push(what);
        }
    };
    compare(from.class() != to.class(), "class");
    compare(from.action() != to.action(), "action");
    let asked = |verdict: &Verdict| verdict.server_delay().map(overspill::ServerDelay::wait);
    compare(asked(from) != asked(to), "server delay");
    compare(waits[0] != waits[1], "wait");
    compare(from.tokens() != to.tokens(), "token numbers");
    changed
}

fn cost(waits: [Option<u64>; 2], size: Option<u64>) -> Cost {
    let [from, to] = waits;
    let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let attempts = i64::from(to.is_some()) - i64::from(from.is_some());
    let wait_ms = signed(to.unwrap_or(0)) - signed(from.unwrap_or(0));
    let tokens = size.map_or(0, |size| attempts * signed(size));
    Cost { attempts, wait_ms, tokens, unsized_attempts: if size.is_none() { attempts.unsigned_abs() } else { 0 } }
}

impl Answer {
    fn of(verdict: &Verdict) -> Self {
        Self { class: verdict.class(), action: Action::name(verdict.action()), by: crate::describe::decided_by(verdict), origin: verdict.origin().unwrap_or_default().to_owned() }
    }
}
