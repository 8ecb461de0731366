//! The templates and how often each was seen: bounded in number and size.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use super::quotation::BACKTICK;
use super::tally::Tally;
use super::template;
use crate::class::Class;
use crate::eval::{read_signals, seen};
use crate::failure::Failure;
use crate::ruleset::Ruleset;
use crate::verdict::Verdict;

/// More templates than this are not kept: the rarest make room.
const MAX_TEMPLATES: usize = 1000;
/// More codes of one failure are not kept.
const MAX_CODES: usize = 4;

/// So many of the latest misses are known again by what they were found in.
const MAX_LATEST: usize = 64;
/// A failure of more bytes is not.
const MAX_HASHED_BYTES: usize = 8 * 1024;

/// Failures that no rule recognised, as templates: the texts without numbers, ids, keys, names and quoted content, each with its count.
///
/// Every [`Overspill`](crate::Overspill) handle keeps its own; nothing in it can be traced to a request. At most 1000 templates of at most 400 bytes are kept.
///
/// ```
/// use overspill::{Failure, Overspill};
///
/// let overspill = Overspill::embedded();
/// for name in ["alpha", "beta"] {
///     let body = format!(r#"{{"error":{{"message":"Shard '{name}' is on holiday until 17"}}}}"#);
///     let _ = overspill.evaluate(&Failure::http(418).provider("openai").body(&body));
/// }
/// let misses = overspill.misses().list();
/// assert_eq!((misses[0].template.as_str(), misses[0].count), ("Shard '<quoted>' is on holiday until <n>", 2));
/// ```
#[derive(Debug)]
pub struct Misses {
    tally: Tally,
    kept: Mutex<Kept>,
    hasher: RandomState,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    pub(super) templates: BTreeMap<Key, Count>,
    /// Misses by provider since the last writing.
    pub(super) missed: BTreeMap<String, u64>,
    /// Since when is counted.
    pub(super) since: Option<Timestamp>,
    /// Misses whose templates made room for others.
    dropped: u64,
    /// Keys of the latest misses by a hash of what they were found in: in an outage the same failure comes many times over, and to mask it takes a tenth of a millisecond.
    latest: HashMap<u64, Key>,
}

/// What makes two misses the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) provider: String,
    pub(super) status: Option<u16>,
    pub(super) codes: Vec<String>,
    pub(super) template: String,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Count {
    pub(super) class: Class,
    pub(super) count: u64,
    pub(super) first_seen: Option<Timestamp>,
    pub(super) last_seen: Option<Timestamp>,
}

/// One kind of failure that no rule recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    /// The provider by its canonical name; empty when it is not known.
    pub provider: String,
    /// The HTTP status in force.
    pub status: Option<u16>,
    /// What the status table made of it, or `unknown`.
    pub class: Class,
    /// Machine-readable codes.
    pub codes: Vec<String>,
    /// The text that patterns see, redacted; one line a text, empty when there was none.
    pub template: String,
    /// How often it was seen.
    pub count: u64,
    /// When first; not known for failures without a time of receipt.
    pub first_seen: Option<Timestamp>,
    /// When last.
    pub last_seen: Option<Timestamp>,
}

/// How many of a provider's failures no rule recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissShare {
    /// The provider by its canonical name; empty for those that are not known.
    pub provider: String,
    /// Failures in all.
    pub failures: u64,
    /// Those that no rule recognised.
    pub misses: u64,
}

impl Misses {
    /// Nothing counted yet. A handle has its own; this is for failures from elsewhere.
    #[must_use]
    pub fn new() -> Self {
        Self { tally: Tally::new(), kept: Mutex::default(), hasher: RandomState::new() }
    }

    /// Nothing counted yet, from now on.
    pub(crate) fn since(now: Timestamp) -> Self {
        Self { tally: Tally::new(), kept: Mutex::new(Kept { since: Some(now), ..Kept::default() }), hasher: RandomState::new() }
    }

    pub(super) fn kept(&self) -> MutexGuard<'_, Kept> {
        // A panic while counting leaves a count off by one at worst.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Counts a failure, and keeps its template when no rule recognised it. `at` dates it.
    pub fn record(&self, ruleset: &Ruleset, failure: &Failure<'_>, verdict: &Verdict, at: Option<Timestamp>) {
        self.count(failure);
        if verdict.is_miss() {
            self.keep(ruleset, failure, verdict, at);
        }
    }

    /// Counts a failure: a few nanoseconds, without a lock.
    pub(crate) fn count(&self, failure: &Failure<'_>) {
        self.tally.add(failure.provider_name().unwrap_or(""), 1);
    }

    /// Keeps the template of a miss.
    pub(crate) fn keep(&self, ruleset: &Ruleset, failure: &Failure<'_>, verdict: &Verdict, at: Option<Timestamp>) {
        let hash = self.hash(ruleset, failure, verdict);
        let known = hash.and_then(|hash| self.kept().latest.get(&hash).cloned());
        let new = if known.is_none() { hash } else { None };
        let key = known.unwrap_or_else(|| key(ruleset, failure, verdict));
        let mut kept = self.kept();
        if let Some(hash) = new {
            if kept.latest.len() >= MAX_LATEST {
                kept.latest.clear();
            }
            kept.latest.insert(hash, key.clone());
        }
        kept.since = kept.since.or(at);
        // Unknown providers share one count, so that made-up names cannot fill the memory.
        *kept.missed.entry(key.provider.clone()).or_default() += 1;
        kept.add(key, Count { class: verdict.class(), count: 1, first_seen: at, last_seen: at });
    }

    /// A hash of all that a key is made of; none of a large failure, of which a key only reads the ends.
    fn hash(&self, ruleset: &Ruleset, failure: &Failure<'_>, verdict: &Verdict) -> Option<u64> {
        let bytes = failure.body.as_ref().map_or(0, |body| body.len()) + failure.message.as_ref().map_or(0, |message| message.len());
        let evidence = (ruleset.version(), failure.provider_name(), verdict.status(), &failure.headers, &failure.body, &failure.message);
        (bytes <= MAX_HASHED_BYTES).then(|| self.hasher.hash_one(evidence))
    }

    /// What is kept, the most frequent first.
    #[must_use]
    pub fn list(&self) -> Vec<Miss> {
        let kept = self.kept();
        let mut misses: Vec<_> = kept.templates.iter().map(|(key, count)| Miss::new(key, *count)).collect();
        misses.sort_by_key(|miss| std::cmp::Reverse(miss.count));
        misses
    }

    /// How many failures of each provider were seen, and how many of them no rule recognised, since the last [writing](Self::append_to). Providers as `ruleset` knows them.
    #[must_use]
    pub fn shares(&self, ruleset: &Ruleset) -> Vec<MissShare> {
        shares(ruleset, self.tally.read(), &self.kept().missed)
    }

    /// Misses that are in no template, since there are more kinds of them than are kept.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.kept().dropped
    }
}

impl Default for Misses {
    fn default() -> Self {
        Self::new()
    }
}

pub(super) fn shares(ruleset: &Ruleset, tally: Vec<(String, u64)>, missed: &BTreeMap<String, u64>) -> Vec<MissShare> {
    let mut shares: BTreeMap<String, (u64, u64)> = missed.iter().map(|(provider, count)| (provider.clone(), (0, *count))).collect();
    for (name, count) in tally {
        shares.entry(canonical(ruleset, &name)).or_default().0 += count;
    }
    // A failure is counted before its miss is kept, so a moment in between can show one too few.
    shares.into_iter().map(|(provider, (failures, misses))| MissShare { provider, failures: failures.max(misses), misses }).collect()
}

fn canonical(ruleset: &Ruleset, name: &str) -> String {
    ruleset.provider(name).map_or(String::new(), |provider| provider.name().to_owned())
}

fn key(ruleset: &Ruleset, failure: &Failure<'_>, verdict: &Verdict) -> Key {
    let signals = read_signals(ruleset, failure);
    let mut codes: Vec<_> = signals.codes().map(template::code).collect();
    codes.dedup();
    codes.truncate(MAX_CODES);
    let marked = marked(ruleset, failure);
    let text = seen(ruleset, failure, &signals);
    Key { provider: canonical(ruleset, failure.provider_name().unwrap_or("")), status: verdict.status(), codes, template: template::template(&text, marked.as_deref()) }
}

/// The text with marks where back-ticks were, which it has no more: what stood in them is quoted.
fn marked(ruleset: &Ruleset, failure: &Failure<'_>) -> Option<String> {
    const ESCAPED: &str = "\\u0060";
    let mark = |text: &str| text.replace('`', &BACKTICK.to_string()).replace(ESCAPED, &BACKTICK.to_string());
    let body = failure.body.as_deref().map(String::from_utf8_lossy);
    let has = |text: Option<&str>| text.is_some_and(|text| text.contains('`') || text.contains(ESCAPED));
    if !has(body.as_deref()) && !has(failure.message.as_deref()) {
        return None;
    }
    let mut marked = Failure::new();
    if let Some(body) = body {
        marked = marked.with_body(mark(&body).into_bytes());
    }
    if let Some(message) = &failure.message {
        marked = marked.message(mark(message));
    }
    Some(read_signals(ruleset, &marked).text().to_owned())
}

impl Kept {
    pub(super) fn add(&mut self, key: Key, new: Count) {
        if let Some(count) = self.templates.get_mut(&key) {
            count.count += new.count;
            count.first_seen = earliest(count.first_seen, new.first_seen);
            count.last_seen = count.last_seen.max(new.last_seen);
            return;
        }
        if self.templates.len() >= MAX_TEMPLATES {
            // The rarest goes, of several the one not seen for longest.
            let rarest = self.templates.iter().min_by_key(|(_, count)| (count.count, count.last_seen)).map(|(key, _)| key.clone());
            if let Some(count) = rarest.and_then(|rarest| self.templates.remove(&rarest)) {
                self.dropped += count.count;
            }
        }
        self.templates.insert(key, new);
    }

    /// Adds what another has counted.
    pub(super) fn merge(&mut self, other: Self) {
        other.templates.into_iter().for_each(|(key, count)| self.add(key, count));
        for (provider, count) in other.missed {
            *self.missed.entry(provider).or_default() += count;
        }
        self.since = earliest(self.since, other.since);
        self.dropped += other.dropped;
    }
}

/// The earlier of two times; none is no time, and not an early one.
fn earliest(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

impl Miss {
    pub(super) fn new(key: &Key, count: Count) -> Self {
        let Key { provider, status, codes, template } = key.clone();
        let Count { class, count, first_seen, last_seen } = count;
        Self { provider, status, class, codes, template, count, first_seen, last_seen }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_templates_is_bounded_and_the_frequent_stay() {
        let ruleset = Ruleset::embedded();
        let misses = Misses::new();
        let record = |text: &str| {
            let failure = Failure::http(418).provider("openai").message(text.to_owned());
            let verdict = crate::eval::evaluate(&ruleset, &failure);
            misses.record(&ruleset, &failure, &verdict, None);
        };
        let word = |number: usize| -> String { format!("{number:05}").bytes().map(|digit| char::from(digit - b'0' + b'p')).collect() };
        (0..5).for_each(|_| record("the frequent one"));
        (0..2 * MAX_TEMPLATES).for_each(|number| record(&format!("teapot says {}", word(number))));
        let list = misses.list();
        assert_eq!(list.len(), MAX_TEMPLATES);
        assert_eq!((list[0].template.as_str(), list[0].count), ("the frequent one", 5));
        assert_eq!(misses.dropped(), (MAX_TEMPLATES + 1) as u64);
        assert_eq!(misses.shares(&ruleset), [MissShare { provider: "openai".to_owned(), failures: 2005, misses: 2005 }]);
    }

    #[test]
    fn what_was_seen_just_now_is_counted_as_if_it_were_new() {
        let ruleset = Ruleset::embedded();
        let failure = |text: &str, status| Failure::http(status).provider("openai").message(text.to_owned()).header("x-error-code", "teapot");
        let failures: Vec<_> = [("the gate is shut", 418), ("the gate is shut", 419), ("the gate is open", 418)].into_iter().map(|(text, status)| failure(text, status)).collect();
        let record = |misses: &Misses, failure: &Failure<'_>| misses.record(&ruleset, failure, &crate::eval::evaluate(&ruleset, failure), None);
        let list = |misses: &Misses| misses.list().into_iter().map(|miss| (miss.template, miss.status, miss.codes, miss.count)).collect::<std::collections::BTreeSet<_>>();
        let (together, apart) = (Misses::new(), failures.iter().map(|_| Misses::new()).collect::<Vec<_>>());
        for _ in 0..2 {
            failures.iter().for_each(|failure| record(&together, failure));
            failures.iter().zip(&apart).for_each(|(failure, misses)| record(misses, failure));
        }
        assert_eq!(list(&together), apart.iter().flat_map(list).collect());
        assert_eq!(list(&together).len(), 3);
    }
}
