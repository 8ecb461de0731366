//! One call from its first attempt to its end, pulled by the caller: no I/O, no sleeping, no runtime.

use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::backoff::Backoff;
use super::clock::{Clock, SystemClock};
use super::end::{End, Why};
use super::observer::Attempt;
use super::options::Retry;
use super::telemetry;
use crate::class::{Action, Class};
use crate::failure::Failure;
use crate::lanes::{LaneId, Lanes};
use crate::policy::{OverMax, RetryPolicy};
use crate::verdict::Verdict;

/// A call between its attempts. Make the call, hand each failure to [`next`](Self::next), do what the step says.
///
/// ```
/// use overspill::{Failure, Overspill, Step};
///
/// let overspill = Overspill::embedded();
/// let mut session = overspill.retry("anthropic").model("claude-sonnet-4-5").session();
/// let decision = session.next(&Failure::http(529).body(br#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#));
/// assert!(matches!(decision.step, Step::Retry { .. }));
/// let decision = session.next(&Failure::http(400).body(br#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}"#));
/// assert!(matches!(decision.step, Step::Compact));
/// session.request_changed(); // after compacting: the attempts count from the start again
/// ```
#[derive(Debug)]
pub struct Session<'a> {
    options: Retry<'a>,
    lane: LaneId,
    started: Instant,
    /// The number of the attempt under way, from 1.
    attempt: u32,
    output_started: bool,
    backoff: Option<(RetryPolicy, Backoff)>,
    seed: Option<u64>,
}

/// What a failure means for the call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Decision {
    /// What the failure is.
    pub verdict: Verdict,
    /// What to do now.
    pub step: Step,
    /// The number of the attempt that failed, from 1.
    pub attempt: u32,
    /// How many attempts are left.
    pub attempts_left: u32,
    /// The instant from which the server allows another try, if it named one.
    pub retry_at: Option<Timestamp>,
}

/// What to do after a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Wait this long, then make the same call again.
    Retry {
        /// From now.
        delay: Duration,
        /// The same by the time of day.
        at: Timestamp,
        /// Where the wait comes from.
        from: DelayFrom,
    },
    /// Make the conversation smaller, say so with [`Session::request_changed`], and call again.
    Compact,
    /// Ask for less output, say so with [`Session::request_changed`], and call again.
    ReduceOutput,
    /// Use another provider, key or model.
    Failover,
    /// Report the failure.
    GiveUp(Why),
}

/// Where a wait comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DelayFrom {
    /// The server asked for it, in the form of that name.
    Server(String),
    /// The policy's backoff.
    Backoff,
    /// The server asked another call of the same provider and key to wait.
    HeldBack,
}

impl<'a> Session<'a> {
    pub(super) fn new(options: Retry<'a>) -> Self {
        let lanes = options.overspill.lanes();
        let started = options.clock.as_deref().map_or_else(|| SystemClock.now(), Clock::now);
        let lane = lanes.id(options.provider.as_deref(), options.key.as_deref());
        let seed = options.seed;
        Self { options, lane, started, attempt: 1, output_started: false, backoff: None, seed }
    }

    /// How long to wait before the first attempt, when the provider has told another call with the same key to wait.
    #[must_use]
    pub fn held_back(&mut self) -> Option<Duration> {
        if !self.options.shared || self.lanes().is_quiet() {
            return None;
        }
        let now = self.now();
        let until = self.lanes().held_until(self.lane, now)?;
        let policy = self.options.policy(None);
        let over_deadline = policy.deadline.is_some_and(|deadline| until.saturating_duration_since(self.started) > deadline);
        if over_deadline {
            return None;
        }
        let wanted = self.spread(until, now);
        let at = self.lanes().reserve(self.lane, wanted, now, policy.budget);
        Some(at.saturating_duration_since(now))
    }

    /// Output reached the user, or a tool ran: from now on nothing is retried unless the caller allowed it.
    pub fn output_started(&mut self) {
        self.output_started = true;
    }

    /// The request is another one now, compacted or with less output: its attempts count from the start. The deadline does not move.
    pub fn request_changed(&mut self) {
        self.attempt = 1;
        self.backoff = None;
        self.output_started = false;
    }

    /// The call succeeded: the budget recovers.
    pub fn succeeded(&self) {
        if self.options.shared && !self.lanes().is_quiet() {
            let budget = self.options.policy(None).budget;
            self.lanes().succeeded(self.lane, self.now(), budget);
        }
        telemetry::succeeded(&self.options, self.attempt);
    }

    /// What to do about the failure of the attempt under way. Provider, model and time are filled in where the failure leaves them out.
    pub fn next(&mut self, failure: &Failure<'_>) -> Decision {
        let wall = self.clock().wall();
        let verdict = {
            let mut failure = failure.clone();
            failure.provider = failure.provider.or_else(|| self.options.provider.as_deref().map(Into::into));
            failure.model = failure.model.or_else(|| self.options.model.as_deref().map(Into::into));
            failure.now = failure.now.or(Some(wall));
            self.options.overspill.evaluate(&failure)
        };
        let policy = self.options.policy(Some(verdict.class()));
        let step = match verdict.action() {
            Action::Compact => Step::Compact,
            Action::ReduceOutput => Step::ReduceOutput,
            Action::Failover => Step::Failover,
            Action::Fail => Step::GiveUp(Why::Fatal),
            Action::Retry => self.retry(&verdict, &policy, wall).unwrap_or_else(Step::GiveUp),
        };
        let decision = Decision {
            attempt: self.attempt,
            attempts_left: policy.max_attempts.get().saturating_sub(self.attempt),
            retry_at: verdict.server_delay().and_then(|delay| delay.instant(wall)),
            verdict,
            step,
        };
        self.tell(&decision);
        self.attempt = self.attempt.saturating_add(1);
        decision
    }

    /// The wait before the next attempt, or why there is none.
    fn retry(&mut self, verdict: &Verdict, policy: &RetryPolicy, wall: Timestamp) -> Result<Step, Why> {
        if self.output_started && !self.options.after_output {
            return Err(Why::OutputStarted);
        }
        if !self.options.repeatable {
            return Err(Why::NotRepeatable);
        }
        if self.attempt >= policy.max_attempts.get() {
            return Err(Why::Attempts);
        }
        let now = self.now();
        let asked = verdict.server_delay().map(|delay| (delay.from(wall), delay.form().to_owned()));
        let (own, mut from) = match &asked {
            Some((wait, _)) if *wait > policy.server_delay.max && policy.server_delay.over_max == OverMax::Fail => return Err(Why::ServerDelayTooLong),
            Some((wait, form)) => (self.backoff(policy).above(*wait), DelayFrom::Server(form.clone())),
            None => (self.backoff(policy).next().unwrap_or(policy.cap), DelayFrom::Backoff),
        };
        let mut at = now.checked_add(own).ok_or(Why::ServerDelayTooLong)?;
        if self.options.shared {
            // Held back by what another call was told.
            if let Some(until) = self.lanes().held_until(self.lane, now).filter(|until| *until > at) {
                at = self.spread(until, now);
                from = DelayFrom::HeldBack;
            }
        }
        self.within_deadline(at, policy)?;
        if self.options.shared {
            if !self.lanes().spend(self.lane, policy.cost, now, policy.budget) {
                return Err(Why::Budget);
            }
            at = self.lanes().reserve(self.lane, at, now, policy.budget);
            self.within_deadline(at, policy)?;
            let holds = matches!(verdict.class(), Class::RateLimited | Class::Overloaded);
            if let (Some((wait, _)), true) = (&asked, holds) {
                self.lanes().hold(self.lane, now + *wait, now, policy.budget);
            }
        }
        let delay = at.saturating_duration_since(now);
        let at = wall.checked_add(delay).unwrap_or(Timestamp::MAX);
        Ok(Step::Retry { delay, at, from })
    }

    /// The deadline is asked before a wait is begun, not after.
    fn within_deadline(&self, at: Instant, policy: &RetryPolicy) -> Result<(), Why> {
        let over = policy.deadline.is_some_and(|deadline| at.saturating_duration_since(self.started) > deadline);
        if over { Err(Why::Deadline) } else { Ok(()) }
    }

    /// A little after `until`, so that all who wait for it do not come in the same instant.
    fn spread(&mut self, until: Instant, now: Instant) -> Instant {
        let wait = until.saturating_duration_since(now);
        let policy = self.options.policy(None);
        now + self.backoff(&policy).above(wait)
    }

    /// The backoff under this policy; begun again, at the same place, when an edit of the rules has changed it.
    fn backoff(&mut self, policy: &RetryPolicy) -> &mut Backoff {
        let seed = *self.seed.get_or_insert_with(|| self.options.overspill.lanes().seed());
        let retries = self.attempt.saturating_sub(1);
        let same = self.backoff.as_ref().is_some_and(|(known, _)| known == policy);
        if !same {
            let mut backoff = Backoff::new(policy, seed.wrapping_add(u64::from(retries)));
            backoff.skip_to(retries);
            self.backoff = Some((policy.clone(), backoff));
        }
        let (_, backoff) = self.backoff.get_or_insert_with(|| (policy.clone(), Backoff::new(policy, seed)));
        backoff.skip_to(retries);
        backoff
    }

    /// The end that this decision makes of the call.
    pub fn end<E>(&self, error: E, decision: Decision, why: Why) -> End<E> {
        End {
            error,
            verdict: Box::new(decision.verdict),
            why,
            attempts: decision.attempt,
            elapsed: self.now().saturating_duration_since(self.started),
            retry_at: decision.retry_at,
        }
    }

    fn tell(&self, decision: &Decision) {
        let attempt = Attempt {
            provider: self.options.provider.as_deref(),
            model: self.options.model.as_deref(),
            number: decision.attempt,
            left: decision.attempts_left,
            verdict: &decision.verdict,
            step: &decision.step,
        };
        telemetry::attempt_failed(&attempt, self.options.shared.then(|| self.lanes().balance(self.lane)).flatten());
        if let Some(observer) = &self.options.observer {
            observer.attempt_failed(&attempt);
        }
    }

    fn lanes(&self) -> &Lanes {
        self.options.overspill.lanes()
    }

    fn clock(&self) -> &dyn Clock {
        self.options.clock.as_deref().unwrap_or(&SystemClock)
    }

    fn now(&self) -> Instant {
        self.clock().now()
    }
}
