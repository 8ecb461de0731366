//! One call from its first attempt to its end, pulled by the caller: no I/O, no sleeping, no runtime.

use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::backoff;
use super::clock::{Clock, SystemClock};
use super::decision::{Decision, DelayFrom, Step};
use super::delay::{asked, wait_after};
use super::end::{End, Why};
use super::observer::{Attempt, Held};
use super::options::Retry;
use super::telemetry;
use crate::class::{Action, Class};
use crate::failure::Failure;
use crate::lanes::{Hold, LaneId, Lanes, Place, Refusal, Wish};
use crate::policy::{OverMax, RetryPolicy};
use crate::ruleset::{Ruleset, Version};
use crate::verdict::Verdict;

/// A call between its attempts. Make the call, hand each failure to [`next`](Self::next), do what the step says, and tell of the success with [`succeeded`](Self::succeeded).
///
/// What the calls of one provider and key share is heeded before the first attempt and after each wait by [`wait_left`](Self::wait_left). A session that is dropped while it waits gives back
/// what it took of the budget, and its place among those who come back.
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
    pub(super) options: Retry<'a>,
    started: Instant,
    /// The number of the attempt under way, from 1.
    attempt: u32,
    output_started: bool,
    seed: Option<u64>,
    lane: Option<LaneId>,
    waiting: Option<Waiting>,
}

/// A wait before an attempt, until the next failure or success.
#[derive(Debug)]
struct Waiting {
    /// What it is that failed; nothing before the first attempt.
    failed: Option<Failed>,
    began: Instant,
    at: Instant,
    place: Option<Place>,
    cost: f64,
    /// Under which rules it was planned.
    rules: Version,
    /// The end of the hold that it waits for, if nothing else.
    hold: Option<Instant>,
    /// The attempt was allowed to begin.
    over: bool,
}

/// What is kept of a failure, to plan its wait again when the rules change meanwhile.
#[derive(Clone, Debug)]
struct Failed {
    class: Class,
    /// The server's wait and the name of its form.
    asked: Option<(Duration, String)>,
    at: Instant,
    number: u32,
}

/// Why there is no next attempt, and until when the lane is held if that is the reason.
struct Denied(Why, Option<Instant>);

impl<'a> Session<'a> {
    #[inline]
    pub(super) fn new(options: Retry<'a>) -> Self {
        let started = options.clock.as_deref().map_or_else(|| SystemClock.now(), Clock::now);
        let seed = options.seed;
        Self { options, started, attempt: 1, output_started: false, seed, lane: None, waiting: None }
    }

    /// How much longer to wait before the attempt may be made; `None`: not at all. Ask before the first attempt and again after every wait: meanwhile the provider may have told another call
    /// with the same key to wait, or somebody may have changed the rules.
    ///
    /// Costs a read of a shared counter when there was no failure lately.
    ///
    /// # Errors
    ///
    /// When the attempt should not be made at all: the wait would end after the deadline, last longer than the policy sleeps through, or new rules allow no other attempt. Before a first attempt
    /// it is the caller's choice to ask the server all the same and have its own word; [`Retry::run`] does.
    pub fn wait_left(&mut self) -> Result<Option<Duration>, Why> {
        self.resume(false)
    }

    /// As [`wait_left`](Self::wait_left), for a caller that may have slept through the whole wait, whatever the clock says.
    pub(super) fn resume(&mut self, slept: bool) -> Result<Option<Duration>, Why> {
        if self.is_free() {
            return Ok(None);
        }
        let planned = self.waiting.as_ref().map(|waiting| waiting.at);
        let now = self.now();
        let now = planned.filter(|_| slept).map_or(now, |at| now.max(at));
        let rules = self.options.overspill.ruleset();
        let edited = self.waiting.as_ref().filter(|waiting| waiting.rules != rules.version() && !waiting.over).and_then(|waiting| waiting.failed.clone());
        if let Some(failed) = edited {
            self.give_back(&rules);
            self.plan(failed, now, &rules).map_err(|Denied(why, _)| why)?;
        }
        self.heed_lifted_hold(now, &rules)?;
        if let Some(left) = self.waiting.as_ref().map(|waiting| waiting.at.saturating_duration_since(now)).filter(|left| !left.is_zero()) {
            return Ok(Some(left));
        }
        if let Some(until) = self.held_until(now, &rules) {
            return self.hold_on(until, now, &rules).map(Some);
        }
        if let Some(waiting) = &mut self.waiting {
            waiting.over = true;
        }
        Ok(None)
    }

    /// Whether nothing at all can be in the way of the attempt.
    #[inline]
    pub(crate) fn is_free(&self) -> bool {
        self.waiting.is_none() && (!self.options.shared || self.lanes().is_quiet())
    }

    /// Output reached the user, or a tool ran: from now on nothing is retried unless the caller allowed it.
    pub fn output_started(&mut self) {
        self.output_started = true;
    }

    /// The request is another one now, compacted or with less output: its attempts count from the start. The deadline does not move.
    pub fn request_changed(&mut self) {
        self.cancel_wait();
        self.attempt = 1;
        self.output_started = false;
    }

    /// The call succeeded: the budget recovers, and a hold that the provider asked for before the attempt is over.
    #[inline]
    pub fn succeeded(&mut self) {
        if self.options.shared && !self.lanes().is_quiet() {
            self.tell_of_success();
        }
        self.waiting = None;
        telemetry::succeeded(&self.options, self.attempt);
        if let Some(observer) = &self.options.observer {
            observer.call_succeeded(self.attempt);
        }
    }

    fn tell_of_success(&mut self) {
        let rules = self.options.overspill.ruleset();
        let budget = self.options.policy(&rules, None).budget;
        let (began, cost) = self.waiting.take().map_or((self.started, 0.0), |waiting| (waiting.at, waiting.cost));
        // A retry that succeeds was worth its price.
        let lane = self.lane(&rules);
        if self.lanes().succeeded(lane, began, cost, self.now(), budget) {
            self.options.overspill.wake_waiting();
        }
        telemetry::budget(&self.options, lane, budget);
    }

    /// What to do about the failure of the attempt under way. Provider, model and time are filled in where the failure leaves them out.
    ///
    /// Costs what [`Overspill::evaluate`](crate::Overspill::evaluate) does and a few microseconds more.
    pub fn next(&mut self, failure: &Failure<'_>) -> Decision {
        let began = self.waiting.take().map_or(self.started, |waiting| waiting.at);
        self.output_started |= failure.output_started;
        let rules = self.options.overspill.ruleset();
        let (now, wall) = (self.now(), self.clock().wall());
        let verdict = self.judge(failure, &rules, wall);
        let failed =
            Failed { class: verdict.class(), asked: asked(&verdict, wall).zip(verdict.server_delay().map(|delay| delay.form().to_owned())), at: now, number: self.attempt };
        self.tell_the_lane(&failed, began, &verdict, &rules);
        let policy = self.options.policy(&rules, Some(verdict.class()));
        let mut retry_at = verdict.server_delay().and_then(|delay| delay.instant(wall));
        let step = match verdict.action() {
            Action::Compact => Step::Compact,
            Action::ReduceOutput => Step::ReduceOutput,
            Action::Failover => Step::Failover,
            Action::Fail => Step::GiveUp(Why::Fatal),
            Action::Retry => match self.plan(failed, now, &rules) {
                Ok((at, from)) => {
                    let delay = at.saturating_duration_since(now);
                    Step::Retry { delay, at: wall.checked_add(delay).unwrap_or(Timestamp::MAX), from }
                }
                Err(Denied(why, held_until)) => {
                    let held_until = held_until.and_then(|until| wall.checked_add(until.saturating_duration_since(now)).ok());
                    retry_at = held_until.max(retry_at);
                    Step::GiveUp(why)
                }
            },
        };
        let left = if matches!(step, Step::Retry { .. }) { policy.max_attempts.get().saturating_sub(self.attempt) } else { 0 };
        let decision = Decision { attempt: self.attempt, attempts_left: left, retry_at, verdict, step };
        self.tell(&decision, &policy, &rules);
        self.attempt = self.attempt.saturating_add(1);
        decision
    }

    /// The end that a decision makes of the call.
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

    fn judge(&self, failure: &Failure<'_>, rules: &Ruleset, wall: Timestamp) -> Verdict {
        let mut failure = failure.clone();
        failure.provider = failure.provider.or_else(|| self.options.provider.as_deref().map(Into::into));
        failure.model = failure.model.or_else(|| self.options.model.as_deref().map(Into::into));
        failure.now = failure.now.or(Some(wall));
        self.options.overspill.evaluate_with(rules, &failure)
    }

    /// What the provider told this call holds for all with the same key, whatever becomes of this one.
    fn tell_the_lane(&mut self, failed: &Failed, began: Instant, verdict: &Verdict, rules: &Ruleset) {
        let holds = self.options.shared && verdict.is_retry() && matches!(verdict.class(), Class::RateLimited | Class::Overloaded);
        let until = failed.asked.as_ref().and_then(|(wait, _)| failed.at.checked_add(*wait));
        if let (Some(until), true) = (until, holds) {
            let budget = self.options.policy(rules, Some(failed.class)).budget;
            let lane = self.lane(rules);
            self.lanes().hold(lane, Hold { until, since: began }, failed.at, budget);
        }
    }

    /// Plans the wait after a failure: when the next attempt is made and what decides that, or why there is none.
    fn plan(&mut self, failed: Failed, now: Instant, rules: &Ruleset) -> Result<(Instant, DelayFrom), Denied> {
        if self.output_started && !self.options.after_output {
            return Err(Denied(Why::OutputStarted, None));
        }
        if !self.options.repeatable {
            return Err(Denied(Why::NotRepeatable, None));
        }
        let policy = self.options.policy(rules, Some(failed.class));
        let seed = self.seed();
        let wait = wait_after(&policy, failed.asked.as_ref().map(|(wait, _)| *wait), failed.number, seed).map_err(|why| Denied(why, None))?;
        let mut from = failed.asked.as_ref().map_or(DelayFrom::Backoff, |(_, form)| DelayFrom::Server(form.clone()));
        let mut at = failed.at.checked_add(wait).ok_or(Denied(Why::ServerDelayTooLong, None))?.max(now);
        if let Some(until) = self.held_until(now, rules).filter(|until| *until > at) {
            at = self.after_hold(until, failed.at, now, &policy).map_err(|why| Denied(why, Some(until)))?;
            from = DelayFrom::HeldBack;
        }
        let place = self.place(at, policy.cost, &policy, now, rules).map_err(|why| Denied(why, None))?;
        let at = place.map_or(at, |place| place.at);
        let cost = if self.options.shared { policy.cost } else { 0.0 };
        self.waiting = Some(Waiting { began: failed.at, failed: Some(failed), at, place, cost, rules: rules.version(), hold: None, over: false });
        Ok((at, from))
    }

    /// Waits, or waits longer, because the lane is held: how long.
    fn hold_on(&mut self, until: Instant, now: Instant, rules: &Ruleset) -> Result<Duration, Why> {
        let former = self.waiting.take();
        let failed = former.as_ref().and_then(|former| former.failed.clone());
        let policy = self.options.policy(rules, failed.as_ref().map(|failed| failed.class));
        let (began, paid) = former.as_ref().map_or((now, 0.0), |former| (former.began, former.cost));
        let first = failed.is_none();
        let next = self.after_hold(until, began, now, &policy).and_then(|at| self.place(at, 0.0, &policy, now, rules));
        let budget = policy.budget;
        let refund = if next.is_ok() { 0.0 } else { paid };
        if let Some(former) = &former {
            let lane = self.lane(rules);
            self.lanes().give_back(lane, former.place, refund, budget);
        }
        let place = next?;
        let at = place.map_or(until, |place| place.at);
        self.waiting = Some(Waiting { failed, began, at, place, cost: paid, rules: rules.version(), hold: Some(until).filter(|_| first), over: false });
        let wait = at.saturating_duration_since(now);
        telemetry::held_back(&self.options, wait);
        if let Some(observer) = &self.options.observer {
            let at = self.clock().wall().checked_add(wait).unwrap_or(Timestamp::MAX);
            observer.held_back(&Held { provider: self.options.provider.as_deref(), number: self.attempt, wait, at });
        }
        Ok(wait)
    }

    /// A first attempt that waits for nothing but a hold comes back soon when that is lifted before its time: within a tenth of what was left, and at the same pace as others.
    fn heed_lifted_hold(&mut self, now: Instant, rules: &Ruleset) -> Result<(), Why> {
        let until = self.waiting.as_ref().filter(|waiting| !waiting.over).and_then(|waiting| waiting.hold).filter(|until| *until > now);
        let Some(until) = until.filter(|_| self.held_until(now, rules).is_none()) else { return Ok(()) };
        let policy = self.options.policy(rules, None);
        let left = until.saturating_duration_since(now);
        let seed = self.seed().wrapping_add(u64::from(self.attempt));
        let began = self.waiting.as_ref().map_or(now, |waiting| waiting.began);
        self.give_back(rules);
        let wanted = now.checked_add(backoff::spread(left, seed).saturating_sub(left)).unwrap_or(now);
        let place = self.place(wanted, 0.0, &policy, now, rules)?;
        let at = place.map_or(wanted, |place| place.at);
        self.waiting = Some(Waiting { failed: None, began, at, place, cost: 0.0, rules: rules.version(), hold: None, over: false });
        Ok(())
    }

    /// A little after a hold, unless in all that is a longer wait than the policy sleeps through.
    fn after_hold(&mut self, until: Instant, began: Instant, now: Instant, policy: &RetryPolicy) -> Result<Instant, Why> {
        let all = until.saturating_duration_since(began);
        if all > policy.server_delay.max && policy.server_delay.over_max == OverMax::Fail {
            return Err(Why::ServerDelayTooLong);
        }
        let seed = self.seed().wrapping_add(u64::from(self.attempt));
        let wait = backoff::spread(until.saturating_duration_since(now), seed);
        now.checked_add(wait).ok_or(Why::ServerDelayTooLong)
    }

    /// A place among those who come back; `None` for a call that is alone. The deadline is asked before a wait is begun, not after.
    fn place(&mut self, wanted: Instant, cost: f64, policy: &RetryPolicy, now: Instant, rules: &Ruleset) -> Result<Option<Place>, Why> {
        let latest = policy.deadline.and_then(|deadline| self.started.checked_add(deadline));
        if latest.is_some_and(|latest| wanted > latest) {
            return Err(Why::Deadline);
        }
        if !self.options.shared {
            return Ok(None);
        }
        let lane = self.lane(rules);
        let place = self.lanes().admit(lane, Wish { wanted, latest, cost }, now, policy.budget);
        place.map(Some).map_err(|refusal| match refusal {
            Refusal::Budget => Why::Budget,
            Refusal::Late => Why::Deadline,
        })
    }

    fn held_until(&mut self, now: Instant, rules: &Ruleset) -> Option<Instant> {
        if !self.options.shared || self.lanes().is_quiet() {
            return None;
        }
        let lane = self.lane(rules);
        self.lanes().held_until(lane, now)
    }

    /// Gives up a wait that is not over: its place and its price are for others.
    fn cancel_wait(&mut self) {
        let pending = self.waiting.as_ref().is_some_and(|waiting| !waiting.over && waiting.at > self.now());
        if pending {
            let rules = self.options.overspill.ruleset();
            self.give_back(&rules);
        }
        self.waiting = None;
    }

    fn give_back(&mut self, rules: &Ruleset) {
        let Some(waiting) = self.waiting.take() else { return };
        if waiting.place.is_some() || waiting.cost > 0.0 {
            let budget = self.options.policy(rules, None).budget;
            let lane = self.lane(rules);
            self.lanes().give_back(lane, waiting.place, waiting.cost, budget);
        }
    }

    fn tell(&mut self, decision: &Decision, policy: &RetryPolicy, rules: &Ruleset) {
        let lane = self.options.shared.then(|| self.lane(rules));
        let attempt = Attempt {
            provider: self.options.provider.as_deref(),
            model: self.options.model.as_deref(),
            number: decision.attempt,
            left: decision.attempts_left,
            verdict: &decision.verdict,
            step: &decision.step,
        };
        telemetry::attempt_failed(&self.options, &attempt);
        if let Some(lane) = lane {
            telemetry::budget(&self.options, lane, policy.budget);
        }
        if let Some(observer) = &self.options.observer {
            observer.attempt_failed(&attempt);
        }
    }

    /// Provider and key, under whichever of its names the provider was called.
    fn lane(&mut self, rules: &Ruleset) -> LaneId {
        if let Some(lane) = self.lane {
            return lane;
        }
        let name = self.options.provider.as_deref();
        let name = name.map(|name| rules.provider(name).map_or(name, |known| known.name()));
        let lane = self.lanes().id(name, self.options.key.as_deref());
        self.lane = Some(lane);
        lane
    }

    fn seed(&mut self) -> u64 {
        let lanes = self.options.overspill.lanes();
        *self.seed.get_or_insert_with(|| lanes.seed())
    }

    #[inline]
    fn lanes(&self) -> &Lanes {
        self.options.overspill.lanes()
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        self.options.clock.as_deref().unwrap_or(&SystemClock)
    }

    fn now(&self) -> Instant {
        self.clock().now()
    }
}

impl Drop for Session<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.waiting.is_some() {
            self.cancel_wait();
        }
    }
}
