//! Limits that overflow errors stated: they lower a window until they expire.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::window::Context;
use crate::class::Class;
use crate::verdict::Verdict;

/// What overflow errors have told about windows, by provider and model; to be shared by all loops of a program.
///
/// Catalogues are wrong, gateways cut windows down, and a local server has the window it was started with: the error says what holds. Only the limit of a `context_overflow` verdict is taken, never
/// an output cap, a limit per minute or a number of characters; only from 1,024 to 10,000,000 tokens; and only if it is not contradicted by the size that the same error states. A limit only ever
/// lowers a window, and expires after a day unless said otherwise. At most 1,024 are kept: a new one takes the place of the oldest.
///
/// ```
/// use jiff::{SignedDuration, Timestamp};
/// use overspill::{Failure, LearnedLimits, Overspill, WindowOrigin};
///
/// let (overspill, limits, now) = (Overspill::embedded(), LearnedLimits::new(), Timestamp::UNIX_EPOCH);
/// let error = br#"{"error":{"message":"prompt is too long: 140000 tokens > 128000 maximum"}}"#;
/// let verdict = overspill.evaluate(&Failure::http(400).provider("anthropic").body(error));
///
/// let context = overspill.context("anthropic", "claude-sonnet-4-5");
/// assert_eq!(limits.learn(&context, &verdict, now), Some(128_000));
///
/// let context = context.with_learned(&limits, now);
/// assert_eq!((context.window(), context.window_origin()), (Some(128_000), WindowOrigin::Learned));
///
/// let later = now + SignedDuration::from_hours(24);
/// assert_eq!(overspill.context("anthropic", "claude-sonnet-4-5").with_learned(&limits, later).window(), Some(200_000));
/// ```
#[derive(Debug)]
pub struct LearnedLimits {
    lifetime: SignedDuration,
    limits: Mutex<Vec<Learned>>,
}

/// One learned limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Learned {
    /// The provider, under the name of its rule file if it has one.
    pub provider: String,
    /// The model, as the caller names it.
    pub model: String,
    /// The most tokens that fit.
    pub tokens: u64,
    /// When an error stated it last.
    pub at: Timestamp,
}

/// Smaller limits are slips, larger ones are no limits.
const BOUNDS: std::ops::RangeInclusive<u64> = 1_024..=10_000_000;

const MAX_LIMITS: usize = 1_024;

/// Longer model names are not remembered.
const MAX_NAME: usize = 256;

impl LearnedLimits {
    /// Nothing learned yet; limits expire after 24 hours.
    #[must_use]
    pub fn new() -> Self {
        Self::expiring_after(Duration::from_secs(24 * 60 * 60))
    }

    /// Nothing learned yet, with another lifetime of limits; zero learns nothing.
    #[must_use]
    pub fn expiring_after(lifetime: Duration) -> Self {
        Self { lifetime: SignedDuration::try_from(lifetime).unwrap_or(SignedDuration::MAX), limits: Mutex::default() }
    }

    /// Takes the limit that an overflow error states, for the context's provider and model, and returns the one now in force, if this verdict states any.
    ///
    /// A higher limit than the one in force changes nothing, so that the lower one still expires in its time.
    pub fn learn(&self, context: &Context<'_>, verdict: &Verdict, now: Timestamp) -> Option<u64> {
        let tokens = stated_limit(verdict)?;
        let (provider, model) = (context.provider(), context.model());
        if provider.len() > MAX_NAME || model.len() > MAX_NAME || self.lifetime.is_zero() {
            return None;
        }
        let mut limits = self.lock();
        limits.retain(|learned| self.holds(learned, now));
        if let Some(known) = limits.iter_mut().find(|learned| learned.is_for(provider, model)) {
            if tokens <= known.tokens {
                (known.tokens, known.at) = (tokens, now);
            }
            return Some(known.tokens);
        }
        if limits.len() >= MAX_LIMITS
            && let Some(oldest) = (0..limits.len()).min_by_key(|&index| limits[index].at)
        {
            limits.swap_remove(oldest);
        }
        limits.push(Learned { provider: provider.to_owned(), model: model.to_owned(), tokens, at: now });
        Some(tokens)
    }

    /// The limits in force, by provider and model.
    #[must_use]
    pub fn list(&self, now: Timestamp) -> Vec<Learned> {
        let mut list: Vec<_> = self.lock().iter().filter(|learned| self.holds(learned, now)).cloned().collect();
        list.sort_by(|a, b| (&a.provider, &a.model).cmp(&(&b.provider, &b.model)));
        list
    }

    /// Forgets the limit of one model, as when its window was raised.
    pub fn forget(&self, context: &Context<'_>) {
        self.lock().retain(|learned| !learned.is_for(context.provider(), context.model()));
    }

    /// Forgets all.
    pub fn clear(&self) {
        self.lock().clear();
    }

    pub(super) fn in_force(&self, provider: &str, model: &str, now: Timestamp) -> Option<u64> {
        self.lock().iter().find(|learned| learned.is_for(provider, model) && self.holds(learned, now)).map(|learned| learned.tokens)
    }

    /// Also not when the clock was set back by more than the lifetime.
    fn holds(&self, learned: &Learned, now: Timestamp) -> bool {
        now.duration_since(learned.at).abs() < self.lifetime
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Learned>> {
        // Every change of the list is whole before anything can panic.
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for LearnedLimits {
    fn default() -> Self {
        Self::new()
    }
}

impl Learned {
    fn is_for(&self, provider: &str, model: &str) -> bool {
        self.provider.eq_ignore_ascii_case(provider) && self.model.eq_ignore_ascii_case(model)
    }
}

/// The window that a verdict states. One that would have held the request is no window, whatever the text says.
fn stated_limit(verdict: &Verdict) -> Option<u64> {
    let tokens = verdict.tokens();
    let limit = tokens.limit.filter(|limit| BOUNDS.contains(limit))?;
    let contradicted = tokens.requested.is_some_and(|requested| requested < limit) || tokens.output_limit == Some(limit);
    (verdict.class() == Class::ContextOverflow && !contradicted).then_some(limit)
}
