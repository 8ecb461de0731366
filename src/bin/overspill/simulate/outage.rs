//! An outage, event by event: calls at an even pace, each a session of the library on a clock that jumps from one event to the next.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use overspill::{Clock, Failure, Retry, Session, Step};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// How long an attempt takes that succeeds.
const REPLY: Duration = Duration::from_millis(500);
/// How long one takes that fails.
const REFUSAL: Duration = Duration::from_millis(100);
/// Rows of a timeline before the calls are all over.
const ROWS: u32 = 12;

/// What happens to the provider, and how often it is called.
pub(super) struct Outage<'a> {
    pub(super) per_second: f64,
    pub(super) before: Duration,
    pub(super) lasting: Duration,
    pub(super) after: Duration,
    /// Of the attempts in the outage, the part that fails.
    pub(super) share: f64,
    pub(super) failure: Failure<'a>,
    pub(super) seed: u64,
}

/// What became of the calls.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// Each attempt: when it was made, and whether it failed.
    made: Vec<(Duration, bool)>,
    over: Vec<Over>,
}

/// A call that is over.
#[derive(Debug)]
struct Over {
    begun: Duration,
    attempts: u32,
    at: Duration,
    why: Option<&'static str>,
}

/// A row of the timeline.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) from: Duration,
    pub(super) lasting: Duration,
    pub(super) calls: usize,
    pub(super) attempts: usize,
    pub(super) failed: usize,
}

/// A clock that says what it is set to.
#[derive(Debug)]
struct Jumping {
    start: Instant,
    wall: Timestamp,
    milliseconds: AtomicU64,
}

impl Clock for Jumping {
    fn now(&self) -> Instant {
        self.start + Duration::from_millis(self.milliseconds.load(Ordering::Relaxed))
    }

    fn wall(&self) -> Timestamp {
        self.wall.checked_add(Duration::from_millis(self.milliseconds.load(Ordering::Relaxed))).unwrap_or(self.wall)
    }
}

/// A call under way.
struct Call<'a> {
    /// Made when the call is begun: a session counts its time from then.
    session: Option<Session<'a>>,
    begun: Duration,
    attempts: u32,
    /// Its next event; an event of another number is out of date.
    next: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// It asks whether it may make its attempt.
    Asks,
    /// Its attempt is over.
    Ends { failed: bool },
}

impl Outage<'_> {
    /// Plays it with calls of this kind. The same seed gives the same course.
    pub(super) fn run<'a>(&self, retry: impl Fn() -> Retry<'a>) -> Course {
        let clock = Arc::new(Jumping { start: Instant::now(), wall: Timestamp::UNIX_EPOCH, milliseconds: AtomicU64::new(0) });
        let begin = |call: usize| retry().clock(Arc::clone(&clock)).seed(self.seed.wrapping_add(call as u64)).session();
        let mut random = SmallRng::seed_from_u64(self.seed);
        let (mut course, mut calls, mut events) = (Course::default(), Vec::new(), BinaryHeap::new());
        let mut waiting = BTreeSet::new();
        let count = ((self.before + self.lasting + self.after).as_secs_f64() * self.per_second) as usize;
        let mut number = 0;
        for index in 0..count {
            let begun = whole(Duration::from_secs_f64(index as f64 / self.per_second));
            number += 1;
            events.push(Reverse((begun, number, index, Event::Asks)));
            calls.push(Call { session: None, begun, attempts: 0, next: number });
        }
        while let Some(Reverse((now, event_number, index, event))) = events.pop() {
            let call = &mut calls[index];
            if call.next != event_number {
                continue;
            }
            clock.milliseconds.store(u64::try_from(now.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
            let fails = |random: &mut SmallRng| now >= self.before && now < self.before + self.lasting && random.random::<f64>() < self.share;
            let session = call.session.get_or_insert_with(|| begin(index));
            waiting.remove(&index);
            match step(session, event, call.attempts, &self.failure) {
                Next::Waits(wait) => {
                    number += 1;
                    call.next = number;
                    waiting.insert(index);
                    events.push(Reverse((whole(now + wait), number, index, Event::Asks)));
                }
                Next::Attempts => {
                    let failed = fails(&mut random);
                    course.made.push((now, failed));
                    call.attempts += 1;
                    number += 1;
                    call.next = number;
                    events.push(Reverse((now + if failed { REFUSAL } else { REPLY }, number, index, Event::Ends { failed })));
                }
                Next::Over(why) => {
                    call.next = 0;
                    course.over.push(Over { begun: call.begun, attempts: call.attempts, at: now, why });
                    // A success may lift a hold: who waits asks again.
                    if why.is_none() {
                        for index in std::mem::take(&mut waiting) {
                            number += 1;
                            calls[index].next = number;
                            events.push(Reverse((now, number, index, Event::Asks)));
                        }
                    }
                }
            }
        }
        course
    }
}

/// What a call does next.
enum Next {
    Waits(Duration),
    Attempts,
    /// And why without success, if so.
    Over(Option<&'static str>),
}

fn step(session: &mut Session<'_>, event: Event, attempts: u32, failure: &Failure<'_>) -> Next {
    match event {
        Event::Asks => match session.wait_left() {
            Ok(Some(left)) => Next::Waits(left),
            Err(why) if attempts > 0 => Next::Over(Some(why.name())),
            // Before its first attempt a call asks the server all the same, to have its own word.
            Ok(None) | Err(_) => Next::Attempts,
        },
        Event::Ends { failed: false } => {
            session.succeeded();
            Next::Over(None)
        }
        Event::Ends { failed: true } => match session.next(failure).step {
            Step::Retry { delay, .. } => Next::Waits(delay),
            Step::Compact => Next::Over(Some("overflow")),
            Step::ReduceOutput => Next::Over(Some("output-limit")),
            Step::Failover => Next::Over(Some("failover")),
            Step::GiveUp(why) => Next::Over(Some(why.name())),
        },
    }
}

impl Course {
    pub(super) fn calls(&self) -> usize {
        self.over.len()
    }

    pub(super) fn attempts(&self) -> usize {
        self.made.len()
    }

    pub(super) fn succeeded(&self) -> usize {
        self.over.iter().filter(|over| over.why.is_none()).count()
    }

    /// Calls that ended without success, by why.
    pub(super) fn gave_up(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        self.over.iter().filter_map(|over| over.why).for_each(|why| *counts.entry(why).or_default() += 1);
        counts
    }

    /// Attempts for each call that was begun in the outage.
    pub(super) fn amplification(&self, outage: &Outage<'_>) -> f64 {
        let (calls, attempts) = self.of(outage).fold((0_u32, 0_u32), |(calls, attempts), over| (calls + 1, attempts + over.attempts));
        f64::from(attempts) / f64::from(calls.max(1))
    }

    /// The largest number of attempts in a span of this length.
    pub(super) fn peak(&self, span: Duration) -> usize {
        let mut times: Vec<_> = self.made.iter().map(|(at, _)| *at).collect();
        times.sort_unstable();
        let mut first = 0;
        let mut peak = 0;
        for (index, at) in times.iter().enumerate() {
            while at.saturating_sub(times[first]) >= span {
                first += 1;
            }
            peak = peak.max(index + 1 - first);
        }
        peak
    }

    /// How long after the outage no second has more attempts any more than calls are begun in one, a tenth and one more left aside. Without calls after it there is nothing to look at.
    pub(super) fn recovered(&self, outage: &Outage<'_>) -> Option<Duration> {
        let end = outage.before + outage.lasting;
        let usual = outage.per_second * 1.1 + 1.0;
        let mut seconds: BTreeMap<u64, usize> = BTreeMap::new();
        for (at, _) in self.made.iter().filter(|(at, _)| *at >= end) {
            *seconds.entry(at.saturating_sub(end).as_secs()).or_default() += 1;
        }
        let last_busy = seconds.iter().filter(|(_, attempts)| **attempts as f64 > usual).map(|(second, _)| *second).next_back();
        let recovered = Duration::from_secs(last_busy.map_or(0, |second| second + 1));
        (recovered < outage.after).then_some(recovered)
    }

    /// How long after the outage the last of its calls was over.
    pub(super) fn last_over(&self, outage: &Outage<'_>) -> Duration {
        let end = outage.before + outage.lasting;
        self.of(outage).map(|over| over.at).max().unwrap_or(end).saturating_sub(end)
    }

    /// The calls that were begun in the outage.
    fn of<'c>(&'c self, outage: &Outage<'_>) -> impl Iterator<Item = &'c Over> + use<'c> {
        let span = outage.before..outage.before + outage.lasting;
        self.over.iter().filter(move |over| span.contains(&over.begun))
    }

    /// Equal spans from the beginning until all is over.
    pub(super) fn timeline(&self, outage: &Outage<'_>) -> Vec<Row> {
        let end = self.made.iter().map(|(at, _)| *at).max().unwrap_or_default().max(outage.before + outage.lasting + outage.after);
        let lasting = Duration::from_secs((end.as_secs() / u64::from(ROWS)).max(1));
        let rows = end.as_millis().div_ceil(lasting.as_millis()) as u32;
        let row = |number: u32| {
            let from = lasting * number;
            let is_in = |at: &Duration| *at >= from && *at < from + lasting;
            let attempts = || self.made.iter().filter(|(at, _)| is_in(at));
            Row {
                from,
                lasting,
                calls: self.over.iter().filter(|over| is_in(&over.begun)).count(),
                attempts: attempts().count(),
                failed: attempts().filter(|(_, failed)| *failed).count(),
            }
        };
        (0..rows).map(row).collect()
    }
}

/// In whole milliseconds, never earlier: what the clock cannot show would differ from run to run.
fn whole(at: Duration) -> Duration {
    Duration::from_millis(u64::try_from(at.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX))
}
