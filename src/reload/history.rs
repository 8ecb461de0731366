//! The last good rulesets, as the texts that they were made of, and the ones that wait for their last reader.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use super::fingerprint::Fingerprint;
use super::scan::Texts;
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

/// A good ruleset and what it was made of; the embedded ones have no fingerprint and no texts.
#[derive(Clone, Debug)]
pub(super) struct Good {
    pub(super) ruleset: Arc<Ruleset>,
    pub(super) fingerprint: Option<Fingerprint>,
    pub(super) texts: Arc<Texts>,
    pub(super) loaded_at: SystemTime,
}

/// What is kept of one: compiled it would take a thousand times the memory, and compiling takes a moment.
#[derive(Debug)]
struct Entry {
    kept: Kept,
    texts: Arc<Texts>,
}

/// Kept sets, newest first, and retired ones.
#[derive(Debug, Default)]
pub(super) struct History {
    kept: VecDeque<Entry>,
    retired: Vec<Arc<Ruleset>>,
}

impl History {
    /// Notes a good set as the newest; the oldest is forgotten when there is one more than the bound.
    pub(super) fn push(&mut self, good: &Good) {
        let version = good.ruleset.version();
        self.kept.retain(|entry| entry.kept.version != version);
        self.kept.push_front(Entry { kept: Kept { version, loaded_at: good.loaded_at, rules: good.ruleset.rule_count() }, texts: Arc::clone(&good.texts) });
        self.kept.truncate(KEPT);
    }

    /// Takes a set that is in force no more. It is not dropped before its last reader is done with it: freeing a ruleset takes time that no reader should pay.
    pub(super) fn retire(&mut self, ruleset: Arc<Ruleset>) {
        if !self.retired.iter().any(|known| Arc::ptr_eq(known, &ruleset)) {
            self.retired.push(ruleset);
        }
    }

    /// Drops the retired sets that nobody else holds. Returns whether some are left.
    pub(super) fn sweep(&mut self) -> bool {
        self.retired.retain(|ruleset| Arc::strong_count(ruleset) > 1);
        !self.retired.is_empty()
    }

    /// The texts of a kept set, and when it was loaded.
    pub(super) fn find(&self, version: Version) -> Option<(Arc<Texts>, SystemTime)> {
        let entry = self.kept.iter().find(|entry| entry.kept.version == version)?;
        Some((Arc::clone(&entry.texts), entry.kept.loaded_at))
    }

    /// What can be put in force again, newest first.
    pub(super) fn list(&self) -> Vec<Kept> {
        self.kept.iter().map(|entry| entry.kept).collect()
    }
}
