//! The last good rulesets, compiled: to go back to one takes no time and cannot fail. And the ones that wait for their last reader.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use super::fingerprint::Fingerprint;
use crate::ruleset::{Ruleset, Version};

/// How many good sets are kept, the one in force included.
const KEPT: usize = 8;

/// A good ruleset that can be put in force again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kept {
    /// Its content hash, which [`Watcher::roll_back`](crate::Watcher::roll_back) takes.
    pub version: Version,
    /// When it was loaded.
    pub loaded_at: SystemTime,
    /// How many rules it has.
    pub rules: usize,
}

/// A good ruleset and what it was made of; the embedded ones have no fingerprint.
#[derive(Clone, Debug)]
pub(super) struct Good {
    pub(super) ruleset: Arc<Ruleset>,
    pub(super) fingerprint: Option<Fingerprint>,
    pub(super) loaded_at: SystemTime,
}

/// Kept sets, newest first, and retired ones.
#[derive(Debug, Default)]
pub(super) struct History {
    kept: VecDeque<Good>,
    retired: Vec<Arc<Ruleset>>,
}

impl History {
    /// Notes a good set as the newest; one more than the bound retires the oldest.
    pub(super) fn push(&mut self, good: Good) {
        self.kept.retain(|kept| !Arc::ptr_eq(&kept.ruleset, &good.ruleset));
        self.kept.push_front(good);
        if self.kept.len() > KEPT
            && let Some(oldest) = self.kept.pop_back()
        {
            self.retire(oldest.ruleset);
        }
    }

    /// Takes a set that is in force no more. It is not dropped before its last reader is done with it: freeing a ruleset takes time that no reader should pay.
    pub(super) fn retire(&mut self, ruleset: Arc<Ruleset>) {
        let is_known = |known: &Arc<Ruleset>| Arc::ptr_eq(known, &ruleset);
        if !self.kept.iter().any(|kept| is_known(&kept.ruleset)) && !self.retired.iter().any(is_known) {
            self.retired.push(ruleset);
        }
    }

    /// Drops the retired sets that nobody else holds. Returns whether some are left.
    pub(super) fn sweep(&mut self) -> bool {
        self.retired.retain(|ruleset| Arc::strong_count(ruleset) > 1);
        !self.retired.is_empty()
    }

    pub(super) fn of_content(&self, fingerprint: Fingerprint) -> Option<&Good> {
        self.kept.iter().find(|good| good.fingerprint == Some(fingerprint))
    }

    pub(super) fn of_version(&self, version: Version) -> Option<&Good> {
        self.kept.iter().find(|good| good.ruleset.version() == version)
    }

    /// What can be put in force again, newest first.
    pub(super) fn list(&self) -> Vec<Kept> {
        self.kept.iter().map(|good| Kept { version: good.ruleset.version(), loaded_at: good.loaded_at, rules: good.ruleset.rule_count() }).collect()
    }
}
