//! What the calls of one provider and key share: the budget that bounds retries, the hold after a server's wait, and the pace at which calls come back.
//!
//! Counting attempts is not enough: when everything fails, every call makes all its attempts, and an outage is met with five times the load. And a wait that one task was told is told to all
//! of them: who calls meanwhile is refused too, and who waits must not come back together with everybody else.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::policy::BudgetPolicy;

/// More lanes than this are not kept; idle ones go first.
const MAX_LANES: usize = 4096;
/// Calls are let back in slots of this length ...
const SLOT: Duration = Duration::from_millis(100);
/// ... and no more than this many in each, so that no 100 ms, however they lie, see more than twice as many.
const PER_SLOT: u32 = 50;

/// All lanes of a handle.
#[derive(Debug)]
pub(crate) struct Lanes {
    lanes: Mutex<HashMap<LaneId, Lane>>,
    /// How many there are, so that calls in good times need no lock.
    count: AtomicUsize,
    hasher: RandomState,
    epoch: Instant,
}

/// One provider and key; the key itself is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LaneId(u64);

#[derive(Debug)]
struct Lane {
    tokens: f64,
    refilled: Instant,
    held_until: Option<Instant>,
    /// How many calls come back in each slot, by its number since the epoch.
    slots: BTreeMap<u128, u32>,
}

impl Default for Lanes {
    fn default() -> Self {
        Self { lanes: Mutex::default(), count: AtomicUsize::new(0), hasher: RandomState::new(), epoch: Instant::now() }
    }
}

impl Lanes {
    pub(crate) fn id(&self, provider: Option<&str>, key: Option<&str>) -> LaneId {
        LaneId(self.hasher.hash_one((provider, key)))
    }

    /// A random seed; a fresh one each time.
    pub(crate) fn seed(&self) -> u64 {
        self.hasher.hash_one(RandomState::new().hash_one(0))
    }

    /// Whether nothing is known of any lane: the usual case, told without a lock.
    pub(crate) fn is_quiet(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// Until when calls of the lane are held back, if they are.
    pub(crate) fn held_until(&self, id: LaneId, now: Instant) -> Option<Instant> {
        self.lock().get(&id)?.held_until.filter(|until| *until > now)
    }

    /// Holds every call of the lane back until then.
    pub(crate) fn hold(&self, id: LaneId, until: Instant, now: Instant, budget: BudgetPolicy) {
        let mut lanes = self.lock();
        let lane = self.lane(&mut lanes, id, now, budget);
        lane.held_until = Some(lane.held_until.map_or(until, |held| held.max(until)));
    }

    /// Takes the cost of one retry out of the budget; `false` when there is not enough.
    pub(crate) fn spend(&self, id: LaneId, cost: f64, now: Instant, budget: BudgetPolicy) -> bool {
        let mut lanes = self.lock();
        let lane = self.lane(&mut lanes, id, now, budget);
        lane.refill(now, budget);
        let enough = lane.tokens >= cost && budget.capacity > 0.0;
        if enough {
            lane.tokens -= cost;
        }
        enough
    }

    /// The first instant at or after `wanted` at which one more call may come back.
    pub(crate) fn reserve(&self, id: LaneId, wanted: Instant, now: Instant, budget: BudgetPolicy) -> Instant {
        let mut lanes = self.lock();
        let lane = self.lane(&mut lanes, id, now, budget);
        let number = |instant: Instant| instant.saturating_duration_since(self.epoch).as_millis() / SLOT.as_millis();
        lane.slots = lane.slots.split_off(&number(now));
        let first = number(wanted);
        let mut slot = first;
        while lane.slots.get(&slot).is_some_and(|&calls| calls >= PER_SLOT) {
            slot += 1;
        }
        *lane.slots.entry(slot).or_insert(0) += 1;
        let shift = u32::try_from(slot - first).unwrap_or(u32::MAX);
        // The place inside the slot is kept: it is where the jitter put it.
        wanted.checked_add(SLOT.saturating_mul(shift)).unwrap_or(wanted)
    }

    /// A call succeeded: the budget recovers.
    pub(crate) fn succeeded(&self, id: LaneId, now: Instant, budget: BudgetPolicy) {
        let mut lanes = self.lock();
        let Some(lane) = lanes.get_mut(&id) else { return };
        lane.refill(now, budget);
        lane.tokens = (lane.tokens + budget.per_success).min(budget.capacity);
        if lane.is_idle(now, budget) {
            lanes.remove(&id);
            self.count.store(lanes.len(), Ordering::Relaxed);
        }
    }

    /// The tokens left, for metrics.
    pub(crate) fn balance(&self, id: LaneId) -> Option<f64> {
        self.lock().get(&id).map(|lane| lane.tokens)
    }

    fn lane<'l>(&self, lanes: &'l mut MutexGuard<'_, HashMap<LaneId, Lane>>, id: LaneId, now: Instant, budget: BudgetPolicy) -> &'l mut Lane {
        if !lanes.contains_key(&id) && lanes.len() >= MAX_LANES {
            lanes.retain(|_, lane| !lane.is_idle(now, budget));
            if lanes.len() >= MAX_LANES {
                // Nobody has that many keys in trouble; forgetting them all errs towards calling.
                lanes.clear();
            }
        }
        lanes.entry(id).or_insert_with(|| Lane { tokens: budget.capacity, refilled: now, held_until: None, slots: BTreeMap::new() });
        self.count.store(lanes.len(), Ordering::Relaxed);
        #[expect(clippy::expect_used, reason = "inserted two lines above, under the same lock")]
        lanes.get_mut(&id).expect("the lane exists")
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<LaneId, Lane>> {
        // Nothing in here panics half-way; should it, the numbers are still usable.
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lane {
    fn refill(&mut self, now: Instant, budget: BudgetPolicy) {
        let elapsed = now.saturating_duration_since(self.refilled).as_secs_f64();
        self.tokens = (self.tokens + elapsed * budget.per_second).min(budget.capacity);
        self.refilled = now;
    }

    fn is_idle(&self, now: Instant, budget: BudgetPolicy) -> bool {
        let held = self.held_until.is_some_and(|until| until > now);
        !held && self.tokens >= budget.capacity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: BudgetPolicy = BudgetPolicy { capacity: 2.0, per_second: 0.5, per_success: 1.0 };

    #[test]
    fn the_budget_is_spent_and_recovers_by_time_and_success() {
        let lanes = Lanes::default();
        let (id, start) = (lanes.id(Some("openai"), None), Instant::now());
        assert!(lanes.is_quiet());
        assert!(lanes.spend(id, 1.0, start, BUDGET) && lanes.spend(id, 1.0, start, BUDGET));
        assert!(!lanes.spend(id, 1.0, start, BUDGET));
        let later = start + Duration::from_secs(2);
        assert!(lanes.spend(id, 1.0, later, BUDGET) && !lanes.spend(id, 1.0, later, BUDGET));
        lanes.succeeded(id, later, BUDGET);
        assert!(lanes.spend(id, 1.0, later, BUDGET));
        lanes.succeeded(id, later + Duration::from_secs(60), BUDGET);
        assert!(lanes.is_quiet(), "a full budget is not kept");
    }

    #[test]
    fn keys_and_providers_do_not_share() {
        let lanes = Lanes::default();
        let now = Instant::now();
        let ids = [lanes.id(Some("a"), None), lanes.id(Some("a"), Some("k")), lanes.id(Some("b"), None), lanes.id(None, None)];
        lanes.hold(ids[0], now + SLOT, now, BUDGET);
        assert!(lanes.held_until(ids[0], now).is_some());
        assert!(ids[1..].iter().all(|id| lanes.held_until(*id, now).is_none()));
    }

    #[test]
    fn calls_come_back_at_a_bounded_pace_and_never_early() {
        let lanes = Lanes::default();
        let (id, now) = (lanes.id(None, None), Instant::now());
        let wanted = now + Duration::from_secs(1);
        let mut instants: Vec<Instant> = (0..1000).map(|_| lanes.reserve(id, wanted, now, BUDGET)).collect();
        instants.sort();
        assert!(instants[0] >= wanted);
        let window = |from: Instant| instants.iter().filter(|at| **at >= from && **at < from + SLOT).count();
        assert!(instants.iter().map(|at| window(*at)).max().is_some_and(|most| most <= 100));
    }

    #[test]
    fn lanes_are_bounded() {
        let lanes = Lanes::default();
        let now = Instant::now();
        for key in 0..MAX_LANES * 2 {
            lanes.spend(lanes.id(None, Some(&key.to_string())), 1.0, now, BUDGET);
        }
        assert!(lanes.lock().len() <= MAX_LANES);
    }
}
