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

/// More lanes than this are not kept; idle ones go first, then the one that was used longest ago.
const MAX_LANES: usize = 4096;
/// Budgets of one lane: the provider's own, and those that a model, a profile or a class has to itself. Rules that are edited leave old ones behind.
const MAX_BUCKETS: usize = 16;
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

#[cfg(feature = "metrics")]
impl std::fmt::Display for LaneId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:08x}", self.0 >> 32)
    }
}

/// A place in the queue of those who come back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// When to call.
    pub(crate) at: Instant,
    slot: u128,
}

/// A wish to come back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    /// Not before this.
    pub(crate) wanted: Instant,
    /// Not after this.
    pub(crate) latest: Option<Instant>,
    /// What it takes from the budget.
    pub(crate) cost: f64,
}

/// Why a wish is not granted. Nothing was taken then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// There are not enough tokens.
    Budget,
    /// The first free place is too late.
    Late,
}

/// A server asked for a wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold {
    pub(crate) until: Instant,
    /// When the call began that was told. One that began later and succeeds all the same shows that the wait was not meant for all.
    pub(crate) since: Instant,
}

/// What a retry took, and of which budget.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paid {
    pub(crate) cost: f64,
    pub(crate) budget: BudgetPolicy,
}

#[derive(Debug)]
struct Lane {
    used: Instant,
    /// One for each budget that calls of the lane follow, so that a model with a small one does not empty that of the others. One that is not here is full.
    buckets: Vec<Bucket>,
    hold: Option<Hold>,
    /// How many calls come back in each slot, by its number since the epoch.
    slots: BTreeMap<u128, u32>,
}

/// A budget's tokens.
#[derive(Debug)]
struct Bucket {
    budget: BudgetPolicy,
    tokens: f64,
    refilled: Instant,
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
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// Until when calls of the lane are held back, if they are.
    pub(crate) fn held_until(&self, id: LaneId, now: Instant) -> Option<Instant> {
        if self.is_quiet() {
            return None;
        }
        self.lock().get(&id)?.hold.map(|hold| hold.until).filter(|until| *until > now)
    }

    /// Holds every call of the lane back.
    pub(crate) fn hold(&self, id: LaneId, hold: Hold, now: Instant) {
        let mut lanes = self.lock();
        let lane = self.lane(&mut lanes, id, now);
        lane.refill(now);
        lane.hold = Some(lane.hold.map_or(hold, |known| Hold { until: known.until.max(hold.until), since: known.since.max(hold.since) }));
    }

    /// A place at or after the one wanted, paid for; or nothing is taken at all.
    pub(crate) fn admit(&self, id: LaneId, wish: Wish, now: Instant, budget: BudgetPolicy) -> Result<Place, Refusal> {
        let mut lanes = self.lock();
        let lane = self.lane(&mut lanes, id, now);
        lane.refill(now);
        if wish.cost > 0.0 && (lane.tokens(budget) < wish.cost || budget.capacity <= 0.0) {
            return Err(Refusal::Budget);
        }
        let number = |instant: Instant| instant.saturating_duration_since(self.epoch).as_millis() / SLOT.as_millis();
        lane.slots = lane.slots.split_off(&number(now));
        let first = number(wish.wanted);
        let mut slot = first;
        while lane.slots.get(&slot).is_some_and(|&calls| calls >= PER_SLOT) {
            slot += 1;
        }
        let shift = u32::try_from(slot - first).unwrap_or(u32::MAX);
        // The place inside the slot is kept: it is where the jitter put it.
        let at = wish.wanted.checked_add(SLOT.saturating_mul(shift)).unwrap_or(wish.wanted);
        if wish.latest.is_some_and(|latest| at > latest) {
            return Err(Refusal::Late);
        }
        if wish.cost > 0.0 {
            lane.bucket(budget, now).tokens -= wish.cost;
        }
        *lane.slots.entry(slot).or_insert(0) += 1;
        Ok(Place { at, slot })
    }

    /// The call does not come back there after all: place and price are for others.
    pub(crate) fn give_back(&self, id: LaneId, place: Option<Place>, paid: Option<Paid>) {
        let mut lanes = self.lock();
        let Some(lane) = lanes.get_mut(&id) else { return };
        if let Some(paid) = paid {
            lane.give_back(paid);
        }
        let Some(place) = place else { return };
        if let Some(calls) = lane.slots.get_mut(&place.slot) {
            *calls = calls.saturating_sub(1);
            if *calls == 0 {
                lane.slots.remove(&place.slot);
            }
        }
    }

    /// A call that began at that instant succeeded: every budget recovers by what its policy gives, the one that was paid from by that price too, and a hold that a call was told which began
    /// earlier is over. Whether there was one that had not ended by itself.
    pub(crate) fn succeeded(&self, id: LaneId, began: Instant, paid: Option<Paid>, now: Instant) -> bool {
        let mut lanes = self.lock();
        let Some(lane) = lanes.get_mut(&id) else { return false };
        lane.refill(now);
        let lifted = lane.hold.take_if(|hold| hold.since < began).is_some_and(|hold| hold.until > now);
        if let Some(paid) = paid {
            lane.give_back(paid);
        }
        for bucket in &mut lane.buckets {
            bucket.add(bucket.budget.per_success);
        }
        let present = now.saturating_duration_since(self.epoch).as_millis() / SLOT.as_millis();
        if lane.is_idle(now, present) {
            lanes.remove(&id);
            self.count.store(lanes.len(), Ordering::Relaxed);
        }
        lifted
    }

    /// The tokens left, for metrics; a lane that is not known is full.
    #[cfg(any(test, feature = "metrics"))]
    pub(crate) fn balance(&self, id: LaneId, budget: BudgetPolicy) -> f64 {
        self.lock().get(&id).map_or(budget.capacity, |lane| lane.tokens(budget))
    }

    fn lane<'l>(&self, lanes: &'l mut MutexGuard<'_, HashMap<LaneId, Lane>>, id: LaneId, now: Instant) -> &'l mut Lane {
        if !lanes.contains_key(&id) && lanes.len() >= MAX_LANES {
            let present = now.saturating_duration_since(self.epoch).as_millis() / SLOT.as_millis();
            lanes.retain(|_, lane| {
                lane.refill(now);
                !lane.is_idle(now, present)
            });
            let oldest = lanes.iter().min_by_key(|(_, lane)| lane.used).map(|(id, _)| *id);
            if let (Some(oldest), true) = (oldest, lanes.len() >= MAX_LANES) {
                lanes.remove(&oldest);
            }
        }
        let count = lanes.len();
        match lanes.entry(id) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(free) => {
                self.count.store(count + 1, Ordering::Relaxed);
                free.insert(Lane { used: now, buckets: Vec::new(), hold: None, slots: BTreeMap::new() })
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<LaneId, Lane>> {
        // Nothing in here panics half-way; should it, the numbers are still usable.
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lane {
    /// What time gave back. A bucket that is full again is forgotten.
    fn refill(&mut self, now: Instant) {
        // While the server asks to wait, the outage goes on: time heals from then on.
        let heals_from = self.hold.map(|hold| hold.until);
        for bucket in &mut self.buckets {
            let since = heals_from.map_or(bucket.refilled, |from| from.max(bucket.refilled));
            bucket.add(now.saturating_duration_since(since).as_secs_f64() * bucket.budget.per_second);
            bucket.refilled = bucket.refilled.max(now);
        }
        self.buckets.retain(|bucket| !bucket.is_full());
        self.used = self.used.max(now);
    }

    fn tokens(&self, budget: BudgetPolicy) -> f64 {
        self.buckets.iter().find(|bucket| bucket.budget == budget).map_or(budget.capacity, |bucket| bucket.tokens)
    }

    /// The bucket to draw from.
    fn bucket(&mut self, budget: BudgetPolicy, now: Instant) -> &mut Bucket {
        let known = self.buckets.iter().position(|bucket| bucket.budget == budget);
        let index = known.unwrap_or_else(|| {
            if self.buckets.len() >= MAX_BUCKETS {
                self.buckets.remove(0);
            }
            self.buckets.push(Bucket { budget, tokens: budget.capacity, refilled: now });
            self.buckets.len() - 1
        });
        &mut self.buckets[index]
    }

    fn give_back(&mut self, paid: Paid) {
        // One that is not here any more is full.
        if let Some(bucket) = self.buckets.iter_mut().find(|bucket| bucket.budget == paid.budget) {
            bucket.add(paid.cost);
        }
    }

    /// Whether forgetting the lane changes nothing.
    fn is_idle(&self, now: Instant, present: u128) -> bool {
        let held = self.hold.is_some_and(|hold| hold.until > now);
        let awaited = self.slots.last_key_value().is_some_and(|(slot, _)| *slot >= present);
        !held && !awaited && self.buckets.iter().all(Bucket::is_full)
    }
}

impl Bucket {
    fn add(&mut self, tokens: f64) {
        self.tokens = (self.tokens + tokens).min(self.budget.capacity);
    }

    fn is_full(&self) -> bool {
        self.tokens >= self.budget.capacity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: BudgetPolicy = BudgetPolicy { capacity: 2.0, per_second: 0.5, per_success: 1.0 };

    fn wish(wanted: Instant) -> Wish {
        Wish { wanted, latest: None, cost: 1.0 }
    }

    #[test]
    fn the_budget_is_spent_and_recovers_by_time_and_success() {
        let lanes = Lanes::default();
        let (id, start) = (lanes.id(Some("openai"), None), Instant::now());
        let spend = |now: Instant| lanes.admit(id, wish(now), now, BUDGET).map(drop);
        assert!(lanes.is_quiet());
        assert_eq!((spend(start), spend(start), spend(start)), (Ok(()), Ok(()), Err(Refusal::Budget)));
        let later = start + Duration::from_secs(2);
        assert_eq!((spend(later), spend(later)), (Ok(()), Err(Refusal::Budget)));
        lanes.succeeded(id, later, None, later);
        assert_eq!(spend(later), Ok(()));
        lanes.succeeded(id, later, None, later + Duration::from_secs(60));
        assert!(lanes.is_quiet(), "a full budget is not kept");
    }

    #[test]
    fn budgets_of_one_lane_do_not_touch_each_other() {
        let lanes = Lanes::default();
        let (id, now) = (lanes.id(None, None), Instant::now());
        let others = [0.0, 0.5, 100.0].map(|capacity| BudgetPolicy { capacity, ..BUDGET });
        assert!(lanes.admit(id, wish(now), now, BUDGET).is_ok());
        for other in others {
            let granted = lanes.admit(id, wish(now), now, other);
            assert_eq!((granted.is_ok(), lanes.balance(id, BUDGET)), (other.capacity >= 1.0, 1.0), "{other:?}");
            lanes.give_back(id, granted.ok(), Some(Paid { cost: 1.0, budget: other }));
            assert_eq!((lanes.balance(id, BUDGET), lanes.balance(id, other)), (1.0, other.capacity), "{other:?}");
        }
        for number in 0..2 * MAX_BUCKETS {
            lanes.admit(id, wish(now), now, BudgetPolicy { capacity: 5.0 + number as f64, ..BUDGET }).unwrap();
        }
        assert!(lanes.lock()[&id].buckets.len() <= MAX_BUCKETS);
    }

    #[test]
    fn time_gives_nothing_back_while_the_server_asks_to_wait() {
        let lanes = Lanes::default();
        let (id, start) = (lanes.id(None, None), Instant::now());
        let second = Duration::from_secs(1);
        let spend = |now: Instant| lanes.admit(id, wish(now), now, BUDGET).map(drop);
        assert_eq!((spend(start), spend(start)), (Ok(()), Ok(())));
        lanes.hold(id, Hold { until: start + 10 * second, since: start }, start);
        assert_eq!((spend(start + 9 * second), spend(start + 11 * second), spend(start + 12 * second)), (Err(Refusal::Budget), Err(Refusal::Budget), Ok(())));
    }

    #[test]
    fn what_costs_nothing_is_never_refused_for_the_budget() {
        let lanes = Lanes::default();
        let (id, now) = (lanes.id(None, None), Instant::now());
        let none = BudgetPolicy { capacity: 0.0, per_second: 0.0, per_success: 0.0 };
        assert!(lanes.admit(id, Wish { cost: 0.0, ..wish(now) }, now, none).is_ok());
        assert_eq!(lanes.admit(id, wish(now), now, none).map(drop), Err(Refusal::Budget));
    }

    #[test]
    fn keys_and_providers_do_not_share() {
        let lanes = Lanes::default();
        let now = Instant::now();
        let ids = [lanes.id(Some("a"), None), lanes.id(Some("a"), Some("k")), lanes.id(Some("b"), None), lanes.id(None, None)];
        lanes.hold(ids[0], Hold { until: now + SLOT, since: now }, now);
        assert!(lanes.held_until(ids[0], now).is_some());
        assert!(ids[1..].iter().all(|id| lanes.held_until(*id, now).is_none()));
    }

    #[test]
    fn a_hold_only_grows_until_a_later_call_succeeds() {
        let lanes = Lanes::default();
        let (id, now) = (lanes.id(None, None), Instant::now());
        let second = Duration::from_secs(1);
        lanes.hold(id, Hold { until: now + 60 * second, since: now + second }, now + second);
        lanes.hold(id, Hold { until: now + 10 * second, since: now }, now + second);
        assert_eq!(lanes.held_until(id, now + second), Some(now + 60 * second));
        lanes.succeeded(id, now, None, now + 2 * second);
        assert!(lanes.held_until(id, now + 2 * second).is_some(), "that call began before the one that was told");
        lanes.succeeded(id, now + 2 * second, None, now + 3 * second);
        assert_eq!(lanes.held_until(id, now + 3 * second), None);
    }

    #[test]
    fn calls_come_back_at_a_bounded_pace_and_never_early() {
        let lanes = Lanes::default();
        let (id, now) = (lanes.id(None, None), Instant::now());
        let wanted = now + Duration::from_secs(1);
        let free = Wish { cost: 0.0, ..wish(wanted) };
        let mut instants: Vec<Instant> = (0..1000).map(|_| lanes.admit(id, free, now, BUDGET).unwrap().at).collect();
        instants.sort();
        assert!(instants[0] >= wanted);
        let window = |from: Instant| instants.iter().filter(|at| **at >= from && **at < from + SLOT).count();
        assert!(instants.iter().map(|at| window(*at)).max().is_some_and(|most| most <= 100));
    }

    #[test]
    fn what_is_given_back_or_refused_leaves_nothing() {
        let lanes = Lanes::default();
        let (id, now) = (lanes.id(None, None), Instant::now());
        let free = Wish { cost: 0.0, ..wish(now) };
        for _ in 0..PER_SLOT {
            lanes.admit(id, free, now, BUDGET).unwrap();
        }
        let late = Wish { latest: Some(now), cost: 1.0, ..free };
        assert_eq!(lanes.admit(id, late, now, BUDGET).map(drop), Err(Refusal::Late));
        let place = lanes.admit(id, wish(now), now, BUDGET).unwrap();
        assert_eq!((place.at, lanes.balance(id, BUDGET)), (now + SLOT, 1.0));
        lanes.give_back(id, Some(place), Some(Paid { cost: 1.0, budget: BUDGET }));
        assert_eq!((lanes.admit(id, free, now, BUDGET).unwrap().at, lanes.balance(id, BUDGET)), (now + SLOT, 2.0));
    }

    #[test]
    fn who_is_awaited_is_not_forgotten() {
        let lanes = Lanes::default();
        let (id, now) = (lanes.id(None, None), Instant::now());
        lanes.admit(id, Wish { cost: 0.0, ..wish(now + Duration::from_secs(5)) }, now, BUDGET).unwrap();
        lanes.succeeded(id, now, None, now);
        assert!(!lanes.is_quiet());
        lanes.succeeded(id, now, None, now + Duration::from_secs(6));
        assert!(lanes.is_quiet());
    }

    #[test]
    fn lanes_are_bounded() {
        let lanes = Lanes::default();
        let now = Instant::now();
        for key in 0..MAX_LANES + 100 {
            let now = now + Duration::from_millis(key as u64);
            lanes.admit(lanes.id(None, Some(&key.to_string())), wish(now), now, BUDGET).unwrap();
        }
        assert!(lanes.lock().len() <= MAX_LANES);
        let (newest, at) = (lanes.id(None, Some(&(MAX_LANES + 99).to_string())), now + Duration::from_secs(4));
        assert!(lanes.balance(newest, BUDGET) < 2.0, "the newest are kept");
        lanes.hold(lanes.id(None, Some("last")), Hold { until: at + SLOT, since: at }, at);
        assert!(lanes.held_until(lanes.id(None, Some("last")), at).is_some());
    }
}
