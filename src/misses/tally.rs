//! How many failures of each provider were evaluated: counted without a lock, since every evaluation counts.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// More providers than this are counted together.
const SLOTS: usize = 128;
/// How many slots are looked at for one name.
const PROBES: usize = 8;
/// Longer names are no provider's.
const MAX_NAME: usize = 64;

/// Counters by provider.
#[derive(Debug)]
pub(super) struct Tally {
    slots: Box<[Slot]>,
    rest: AtomicU64,
}

#[derive(Debug, Default)]
struct Slot {
    name: OnceLock<Box<str>>,
    count: AtomicU64,
}

impl Tally {
    pub(super) fn new() -> Self {
        Self { slots: (0..SLOTS).map(|_| Slot::default()).collect(), rest: AtomicU64::new(0) }
    }

    pub(super) fn add(&self, name: &str, count: u64) {
        let counter = self.slot(name).map_or(&self.rest, |slot| &slot.count);
        counter.fetch_add(count, Ordering::Relaxed);
    }

    fn slot(&self, name: &str) -> Option<&Slot> {
        if name.len() > MAX_NAME {
            return None;
        }
        let start = hash(name);
        let probed = (0..PROBES).map(|step| &self.slots[(start + step) % SLOTS]);
        probed.into_iter().find(|slot| **slot.name.get_or_init(|| name.into()) == *name)
    }

    /// Takes the counts out: what is counted afterwards starts from zero.
    pub(super) fn take(&self) -> Vec<(String, u64)> {
        let slots = self.slots.iter().filter_map(|slot| Some((slot.name.get()?.to_string(), slot.count.swap(0, Ordering::Relaxed))));
        let rest = std::iter::once((String::new(), self.rest.swap(0, Ordering::Relaxed)));
        slots.chain(rest).filter(|(_, count)| *count > 0).collect()
    }

    /// The counts as they are.
    pub(super) fn read(&self) -> Vec<(String, u64)> {
        let slots = self.slots.iter().filter_map(|slot| Some((slot.name.get()?.to_string(), slot.count.load(Ordering::Relaxed))));
        let rest = std::iter::once((String::new(), self.rest.load(Ordering::Relaxed)));
        slots.chain(rest).filter(|(_, count)| *count > 0).collect()
    }
}

/// FNV-1a: names are short, and nobody gains from a collision that only merges two counters.
fn hash(name: &str) -> usize {
    name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)) as usize % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_by_name_and_puts_what_is_too_much_together() {
        let tally = Tally::new();
        tally.add("openai", 2);
        tally.add("anthropic", 1);
        tally.add("openai", 1);
        tally.add(&"x".repeat(MAX_NAME + 1), 1);
        let mut counts = tally.take();
        counts.sort();
        assert_eq!(counts, [(String::new(), 1), ("anthropic".to_owned(), 1), ("openai".to_owned(), 3)]);
        assert!(tally.take().is_empty());
        (0..10_000).for_each(|number| tally.add(&format!("provider-{number}"), 1));
        assert_eq!(tally.take().iter().map(|(_, count)| count).sum::<u64>(), 10_000);
    }
}
