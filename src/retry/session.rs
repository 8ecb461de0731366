//! One call from its first attempt to its end, pulled by the caller: no I/O, no sleeping, no runtime.

use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::backoff;
use super::clock::{Clock, SystemClock};
use super::decision::{Decision, DelayFrom, Step};
use super::delay::{asked, wait_after};
use super::end::{End, Why};
use super::observer::{Attempt, Ended, Held};
use super::options::Retry;
use super::telemetry;
use crate::class::{Action, Class};
use crate::failure::Failure;
use crate::lanes::{Hold, LaneId, Lanes, Paid, Place, Refusal, Wish};
use crate::policy::RetryPolicy;
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
    /// When the attempt under way began, or the time that it may begin.
    began: Instant,
    /// An attempt was made: from then on the deadline is heeded also where nothing is waited for.
    tried: bool,
    /// The wait ended the call: why, and from when the server allows another try.
    ended: Option<(Why, Option<Timestamp>)>,
}

/// A wait before an attempt, until the next failure or success.
#[derive(Debug)]
struct Waiting {
    /// What it is that failed; nothing before the first attempt.
    failed: Option<Failed>,
    /// From when the longest wait that the policy sleeps through is counted.
    began: Instant,
    /// When it was planned: a clock that goes back does not make it longer.
    planned: Instant,
    at: Instant,
    /// When the attempt would be made if nothing held it back.
    floor: Instant,
    /// The end of the hold that it waits for, if it does.
    hold: Option<Instant>,
    place: Option<Place>,
    paid: Option<Paid>,
    /// Under which rules it was planned.
    rules: Version,
    /// Nothing but its place in the pace counts: the server is asked though others were told to wait.
    asks_anyway: bool,
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

impl From<Why> for Denied {
    fn from(why: Why) -> Self {
        Self(why, None)
    }
}

impl<'a> Session<'a> {
    #[inline]
    pub(super) fn new(options: Retry<'a>) -> Self {
        let started = options.clock.as_deref().map_or_else(|| SystemClock.now(), Clock::now);
        let seed = options.seed;
        Self { options, started, attempt: 1, output_started: false, seed, lane: None, waiting: None, began: started, tried: false, ended: None }
    }

    /// How much longer to wait before the attempt may be made; `None`: not at all. Ask before the first attempt and again after every wait: meanwhile the provider may have told another call
    /// with the same key to wait, or somebody may have changed the rules.
    ///
    /// Costs a read of a shared counter when there was no failure lately.
    ///
    /// # Errors
    ///
    /// When the attempt should not be made at all: the deadline is over or the wait would end after it, the wait would last longer than the policy sleeps through, or new rules allow no other
    /// attempt. After a failure that is the end of the call. Before a first attempt it is the caller's choice to ask the server all the same and have its own word; [`Retry::run`] does, at the
    /// pace at which calls come back.
    pub fn wait_left(&mut self) -> Result<Option<Duration>, Why> {
        self.resume(false)
    }

    /// As [`wait_left`](Self::wait_left), for a caller that may have slept through the whole wait, whatever the clock says.
    pub(super) fn resume(&mut self, slept: bool) -> Result<Option<Duration>, Why> {
        if self.is_free() {
            self.began = self.now();
            return Ok(None);
        }
        if let Some((why, _)) = self.ended {
            return Err(why);
        }
        let (planned, at) = self.waiting.as_ref().map(|waiting| (waiting.planned, waiting.at)).unzip();
        let now = planned.map_or(self.now(), |planned| planned.max(self.now()));
        let now = at.filter(|_| slept).map_or(now, |at| now.max(at));
        let rules = self.options.overspill.ruleset();
        match self.look_again(now, &rules) {
            Ok(Some(left)) => Ok(Some(left)),
            Ok(None) => {
                if let Some(waiting) = &mut self.waiting {
                    waiting.over = true;
                }
                self.began = now;
                Ok(None)
            }
            Err(Denied(why, held_until)) => {
                self.give_back();
                if self.tried {
                    self.ended = Some((why, held_until.and_then(|until| self.wall_at(until, now))));
                    self.tell_end(why);
                }
                Err(why)
            }
        }
    }

    /// How much longer to wait, as things are now.
    fn look_again(&mut self, now: Instant, rules: &Ruleset) -> Result<Option<Duration>, Denied> {
        let anyway = self.waiting.as_ref().is_some_and(|waiting| waiting.asks_anyway);
        if !anyway {
            self.heed_deadline(now, rules)?;
            self.heed_edit(now, rules)?;
            self.heed_lifted_hold(now, rules)?;
        }
        if let Some(left) = self.waiting.as_ref().map(|waiting| waiting.at.saturating_duration_since(now)).filter(|left| !left.is_zero()) {
            return Ok(Some(left));
        }
        match self.held_until(now, rules).filter(|_| !anyway) {
            Some(until) => self.hold_on(until, now, rules).map(Some),
            None => Ok(None),
        }
    }

    /// Where nothing was planned, as after a change of the request, nobody has looked at the deadline yet.
    fn heed_deadline(&self, now: Instant, rules: &Ruleset) -> Result<(), Why> {
        let planned = self.waiting.as_ref().is_some_and(|waiting| !waiting.over);
        let latest = self.deadline(&self.options.policy(rules, None));
        if self.tried && !planned && latest.is_some_and(|latest| now > latest) { Err(Why::Deadline) } else { Ok(()) }
    }

    /// Other rules are in force than the wait was planned under.
    fn heed_edit(&mut self, now: Instant, rules: &Ruleset) -> Result<(), Denied> {
        let Some(waiting) = self.waiting.as_mut().filter(|waiting| waiting.rules != rules.version() && !waiting.over) else { return Ok(()) };
        if let Some(failed) = waiting.failed.clone() {
            self.give_back();
            return self.plan(failed, now, rules).map(drop);
        }
        waiting.rules = rules.version();
        match self.held_until(now, rules) {
            Some(until) => self.hold_on(until, now, rules).map(drop),
            None => Ok(()),
        }
    }

    /// Whether nothing at all can be in the way of the attempt.
    #[inline]
    pub(crate) fn is_free(&self) -> bool {
        self.waiting.is_none() && !self.tried && (!self.options.shared || self.lanes().is_quiet())
    }

    /// Takes a place in the pace at which calls come back, for a first attempt that asks the server though others were told to wait for longer than this call may.
    #[cfg(feature = "retry")]
    pub(super) fn ask_anyway(&mut self) {
        let (now, rules) = (self.now(), self.options.overspill.ruleset());
        let budget = self.options.policy(&rules, None).budget;
        let lane = self.lane(&rules);
        // What costs nothing and may be late is always granted.
        let Ok(place) = self.lanes().admit(lane, Wish { wanted: now, latest: None, cost: 0.0 }, now, budget) else { return };
        let rules = rules.version();
        let (at, place) = (place.at, Some(place));
        self.waiting = Some(Waiting { failed: None, began: now, planned: now, at, floor: now, hold: None, place, paid: None, rules, asks_anyway: true, over: false });
        let wait = at.saturating_duration_since(now);
        if !wait.is_zero() {
            self.tell_held(wait);
        }
    }

    /// How much is left of the deadline.
    #[cfg(any(feature = "reqwest", feature = "reqwest-middleware"))]
    pub(crate) fn time_left(&self) -> Option<Duration> {
        let policy = self.options.policy(&self.options.overspill.ruleset(), None);
        self.deadline(&policy).map(|latest| latest.saturating_duration_since(self.now()))
    }

    /// Output reached the user, or a tool ran: from now on nothing is retried unless the caller allowed it.
    pub fn output_started(&mut self) {
        self.output_started = true;
    }

    /// The request is another one now, compacted or with less output: its attempts count from the start. The deadline does not move:
    /// when it is over, [`wait_left`](Self::wait_left) says so.
    pub fn request_changed(&mut self) {
        self.cancel_wait();
        self.attempt = 1;
        self.output_started = false;
        self.ended = None;
        self.began = self.now();
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
        let began = self.attempt_began();
        let paid = self.waiting.take().and_then(|waiting| waiting.paid);
        // A retry that succeeds was worth its price.
        let lane = self.lane(&rules);
        if self.lanes().succeeded(lane, began, paid, self.now()) {
            self.options.overspill.wake_waiting();
        }
        telemetry::budget(&self.options, lane, budget);
    }

    /// When the attempt under way began. A caller that slept by itself and did not ask began it when the wait was over.
    fn attempt_began(&self) -> Instant {
        self.waiting.as_ref().filter(|waiting| !waiting.over).map_or(self.began, |waiting| waiting.at)
    }

    /// What to do about the failure of the attempt under way. Provider, model and time are filled in where the failure leaves them out.
    ///
    /// Costs what [`Overspill::evaluate`](crate::Overspill::evaluate) does and a few microseconds more.
    pub fn next(&mut self, failure: &Failure<'_>) -> Decision {
        let began = self.attempt_began();
        self.waiting = None;
        (self.tried, self.ended) = (true, None);
        self.output_started |= failure.output_started;
        let rules = self.options.overspill.ruleset();
        let (now, wall) = (self.now(), self.clock().wall());
        let verdict = self.judge(failure, &rules, wall);
        let failed =
            Failed { class: verdict.class(), asked: asked(&verdict, wall).zip(verdict.server_delay().map(|delay| delay.form().to_owned())), at: now, number: self.attempt };
        self.tell_the_lane(&failed, began, &verdict, &rules);
        let policy = self.options.policy(&rules, Some(verdict.class()));
        telemetry::profile_asked(&self.options, &rules);
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
                    retry_at = held_until.and_then(|until| self.wall_at(until, now)).max(retry_at);
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
            retry_at: decision.retry_at.max(self.ended.and_then(|(_, at)| at)),
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
            let lane = self.lane(rules);
            self.lanes().hold(lane, Hold { until, since: began }, failed.at);
        }
    }

    /// Plans the wait after a failure: when the next attempt is made and what decides that, or why there is none.
    fn plan(&mut self, failed: Failed, now: Instant, rules: &Ruleset) -> Result<(Instant, DelayFrom), Denied> {
        if self.output_started && !self.options.after_output {
            return Err(Why::OutputStarted.into());
        }
        if !self.options.repeatable {
            return Err(Why::NotRepeatable.into());
        }
        let policy = self.options.policy(rules, Some(failed.class));
        let seed = self.seed();
        let wait = wait_after(&policy, failed.asked.as_ref().map(|(wait, _)| *wait), failed.number, seed)?;
        let mut from = failed.asked.as_ref().map_or(DelayFrom::Backoff, |(_, form)| DelayFrom::Server(form.clone()));
        let floor = failed.at.checked_add(wait).ok_or(Why::ServerDelayTooLong)?.max(now);
        let hold = self.held_until(now, rules).filter(|until| *until > floor);
        let mut wanted = floor;
        if let Some(until) = hold {
            wanted = self.after_hold(until, failed.at, now, &policy)?;
            from = DelayFrom::HeldBack;
        }
        let longest = if from == DelayFrom::Backoff { policy.longest_wait() } else { policy.longest_held() };
        let cost = if self.options.shared { policy.cost } else { 0.0 };
        let place = self.place(Wish { wanted, latest: latest(failed.at, longest, wanted, now), cost }, &policy, now, rules).map_err(|why| Denied(why, hold))?;
        let at = place.map_or(wanted, |place| place.at);
        let (paid, rules) = (Some(Paid { cost, budget: policy.budget }), rules.version());
        self.waiting = Some(Waiting { began: failed.at, failed: Some(failed), planned: now, at, floor, hold, place, paid, rules, asks_anyway: false, over: false });
        Ok((at, from))
    }

    /// Waits, or waits longer, because the lane is held: how long.
    fn hold_on(&mut self, until: Instant, now: Instant, rules: &Ruleset) -> Result<Duration, Denied> {
        let policy = self.options.policy(rules, self.waiting.as_ref().and_then(|waiting| waiting.failed.as_ref()).map(|failed| failed.class));
        let former = self.waiting.as_ref();
        let (began, floor) = former.map_or((now, now), |former| (former.began, former.floor));
        let wanted = self.after_hold(until, began, now, &policy)?;
        let place =
            self.place(Wish { wanted, latest: latest(began, policy.longest_held(), wanted, now), cost: 0.0 }, &policy, now, rules).map_err(|why| Denied(why, Some(until)))?;
        let at = place.map_or(wanted, |place| place.at);
        let former = self.waiting.take();
        if let Some(place) = former.as_ref().and_then(|former| former.place) {
            let lane = self.lane(rules);
            self.lanes().give_back(lane, Some(place), None);
        }
        let (failed, paid) = former.map_or((None, None), |former| (former.failed, former.paid));
        let rules = rules.version();
        self.waiting = Some(Waiting { failed, began, planned: now, at, floor, hold: Some(until), place, paid, rules, asks_anyway: false, over: false });
        let wait = at.saturating_duration_since(now);
        self.tell_held(wait);
        Ok(wait)
    }

    /// An attempt that waits for a hold comes back soon when that is lifted before its time: within a tenth of what was left, at the same pace as others, and not before it would without the hold.
    fn heed_lifted_hold(&mut self, now: Instant, rules: &Ruleset) -> Result<(), Why> {
        let until = self.waiting.as_ref().filter(|waiting| !waiting.over).and_then(|waiting| waiting.hold).filter(|until| *until > now);
        let Some(until) = until.filter(|_| self.held_until(now, rules).is_none()) else { return Ok(()) };
        let left = until.saturating_duration_since(now);
        let seed = self.seed().wrapping_add(u64::from(self.attempt));
        let soon = now.checked_add(backoff::spread(left, Duration::MAX, seed).saturating_sub(left)).unwrap_or(now);
        let Some(mut waiting) = self.waiting.take() else { return Ok(()) };
        let policy = self.options.policy(rules, waiting.failed.as_ref().map(|failed| failed.class));
        let lane = self.lane(rules);
        self.lanes().give_back(lane, waiting.place.take(), None);
        let wanted = soon.max(waiting.floor);
        let place = self.place(Wish { wanted, latest: latest(waiting.began, policy.longest_wait(), wanted, now), cost: 0.0 }, &policy, now, rules);
        waiting.hold = None;
        waiting.place = place.ok().flatten();
        waiting.at = waiting.place.map_or(wanted, |place| place.at);
        self.waiting = Some(waiting);
        place.map(drop)
    }

    /// A little after a hold, unless in all that is a longer wait than the policy sleeps through.
    fn after_hold(&mut self, until: Instant, began: Instant, now: Instant, policy: &RetryPolicy) -> Result<Instant, Denied> {
        let latest = policy.longest_held().and_then(|longest| began.checked_add(longest));
        if latest.is_some_and(|latest| until > latest) {
            return Err(Denied(Why::ServerDelayTooLong, Some(until)));
        }
        let seed = self.seed().wrapping_add(u64::from(self.attempt));
        let room = latest.map_or(Duration::MAX, |latest| latest.saturating_duration_since(until));
        let wait = backoff::spread(until.saturating_duration_since(now), room, seed);
        now.checked_add(wait).ok_or(Denied(Why::ServerDelayTooLong, Some(until)))
    }

    /// A place among those who come back; `None` for a call that is alone. The deadline is asked before a wait is begun, not after.
    fn place(&mut self, wish: Wish, policy: &RetryPolicy, now: Instant, rules: &Ruleset) -> Result<Option<Place>, Why> {
        let deadline = self.deadline(policy);
        if deadline.is_some_and(|latest| wish.wanted > latest) {
            return Err(Why::Deadline);
        }
        if !self.options.shared {
            return Ok(None);
        }
        let latest = deadline.into_iter().chain(wish.latest).min();
        let lane = self.lane(rules);
        let place = self.lanes().admit(lane, Wish { latest, ..wish }, now, policy.budget);
        place.map(Some).map_err(|refusal| match refusal {
            Refusal::Budget => Why::Budget,
            Refusal::Late if latest == deadline => Why::Deadline,
            Refusal::Late => Why::ServerDelayTooLong,
        })
    }

    fn deadline(&self, policy: &RetryPolicy) -> Option<Instant> {
        policy.deadline.and_then(|deadline| self.started.checked_add(deadline))
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
            self.give_back();
        }
        self.waiting = None;
    }

    fn give_back(&mut self) {
        let Some(waiting) = self.waiting.take() else { return };
        if waiting.place.is_some() || waiting.paid.is_some_and(|paid| paid.cost > 0.0) {
            let rules = self.options.overspill.ruleset();
            let lane = self.lane(&rules);
            self.lanes().give_back(lane, waiting.place, waiting.paid);
        }
    }

    fn tell_held(&self, wait: Duration) {
        telemetry::held_back(&self.options, wait);
        if let Some(observer) = &self.options.observer {
            let at = self.clock().wall().checked_add(wait).unwrap_or(Timestamp::MAX);
            observer.held_back(&Held { provider: self.options.provider.as_deref(), number: self.attempt, wait, at });
        }
    }

    /// The wait for the next attempt ended the call.
    fn tell_end(&self, why: Why) {
        let ended = Ended {
            provider: self.options.provider.as_deref(),
            model: self.options.model.as_deref(),
            attempts: self.attempt.saturating_sub(1),
            why,
            retry_at: self.ended.and_then(|(_, at)| at),
        };
        telemetry::call_ended(&self.options, &ended);
        if let Some(observer) = &self.options.observer {
            observer.call_ended(&ended);
        }
    }

    /// The time of day at an instant to come.
    fn wall_at(&self, instant: Instant, now: Instant) -> Option<Timestamp> {
        self.clock().wall().checked_add(instant.saturating_duration_since(now)).ok()
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

/// When the longest wait since `began` ends. Rules that were edited may allow less than has been waited already; then it counts from now.
fn latest(began: Instant, longest: Option<Duration>, wanted: Instant, now: Instant) -> Option<Instant> {
    let longest = longest?;
    began.checked_add(longest).filter(|latest| *latest >= wanted).or_else(|| now.checked_add(longest))
}

impl Drop for Session<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.waiting.is_some() {
            self.cancel_wait();
        }
    }
}
