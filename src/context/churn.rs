//! A prompt cache that is lost: what was read cheaply before is written anew.

use crate::usage::Usage;

/// Watches the cache counts of one conversation for a prefix that changed.
///
/// A changed system prompt or tool list makes a provider write the whole prefix to its cache again, which costs more than plain input and counts for the window where cached tokens come on top.
/// Reported when at most a fifth of what was cached is read and at least half of it is written anew; prompts below 1,024 tokens, which no provider caches, are left alone. A cache that expired
/// (minutes after the last call) looks the same; after compacting, [`reset`](Self::reset) says that the change was meant.
///
/// ```
/// use overspill::{CacheChurn, Usage};
///
/// let mut churn = CacheChurn::default();
/// assert_eq!(churn.observe(&Usage::new(20).with_cache_write(40_000)), None);
/// assert_eq!(churn.observe(&Usage::new(30).with_cache_read(40_000).with_cache_write(900)), None);
/// let lost = churn.observe(&Usage::new(30).with_cache_write(42_000)).unwrap();
/// assert_eq!((lost.cached, lost.read, lost.written), (40_900, 0, 42_000));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheChurn {
    /// What the last call left in the cache.
    cached: u64,
}

/// A cached prefix that was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Churn {
    /// The tokens that the call before had in the cache.
    pub cached: u64,
    /// How many of them were read.
    pub read: u64,
    /// How many were written anew.
    pub written: u64,
}

/// Providers cache no shorter prompts.
const LEAST_CACHED: u64 = 1024;

impl CacheChurn {
    /// Takes the usage of the next call, and tells if the cache was lost. One that counts no cached tokens, as that of a reply without usage or of a short side call, says nothing of the cache.
    pub fn observe(&mut self, usage: &Usage) -> Option<Churn> {
        if usage.cache_read() == 0 && usage.cache_write() == 0 {
            return None;
        }
        let churn = Churn { cached: self.cached, read: usage.cache_read(), written: usage.cache_write() };
        self.cached = churn.read.saturating_add(churn.written);
        let lost = churn.cached >= LEAST_CACHED && churn.read <= churn.cached / 5 && churn.written >= churn.cached / 2;
        lost.then_some(churn)
    }

    /// The prompt was changed on purpose: the next call starts afresh.
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::CacheChurn;
    use crate::usage::Usage;

    #[test]
    fn only_a_lost_prefix_is_churn() {
        let run = |calls: &[(u64, u64)]| {
            let mut churn = CacheChurn::default();
            calls.iter().map(|&(read, written)| churn.observe(&Usage::new(10).with_cache_read(read).with_cache_write(written)).is_some()).collect::<Vec<_>>()
        };
        assert_eq!(run(&[(0, 40_000), (40_000, 500), (40_500, 800)]), [false, false, false]);
        assert_eq!(run(&[(0, 40_000), (0, 40_500), (40_500, 100)]), [false, true, false]);
        assert_eq!(run(&[(0, 40_000), (8_000, 33_000)]), [false, true], "a part of the prefix held");
        assert_eq!(run(&[(0, 40_000), (20_000, 21_000)]), [false, false], "half of it held");
        assert_eq!(run(&[(0, 40_000), (0, 300)]), [false, false], "a shorter conversation");
        assert_eq!(run(&[(0, 900), (0, 1_000)]), [false, false], "too small to be cached");
        assert_eq!(run(&[(0, 0), (0, 0)]), [false, false], "no cache");
        assert_eq!(run(&[(u64::MAX, u64::MAX), (0, u64::MAX)]), [false, true]);
        assert_eq!(run(&[(0, 40_000), (0, 0), (0, 42_000)]), [false, false, true], "a prompt without cached tokens in between");
    }

    #[test]
    fn a_reply_without_usage_tells_nothing() {
        let mut churn = CacheChurn::default();
        let cached = |read, written| Usage::new(10).with_cache_read(read).with_cache_write(written);
        assert_eq!(churn.observe(&cached(0, 40_000)), None);
        assert_eq!(churn.observe(&Usage::default()), None);
        assert_eq!(churn.observe(&Usage::default().with_output(500)), None);
        assert!(churn.observe(&cached(0, 42_000)).is_some());
    }
}
