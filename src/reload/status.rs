//! How it stands with the rules and the watching.

use std::time::SystemTime;

use super::history::Kept;
use crate::error::Error;
use crate::ruleset::Version;

/// How changes are noticed at present.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Watching {
    /// By the system's events, and by the check from time to time.
    Native,
    /// By reading the files again and again.
    Polling {
        /// Why there are no events; none where polling was asked for.
        reason: Option<String>,
    },
}

/// How it stands with the rules and the watching: what a health check or a dashboard asks.
///
/// Worth an alert: [`last_error`](Self::last_error) for longer than an edit takes, and [`watching`](Self::watching) that polls though it should not.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WatchStatus {
    /// The number of the rules in force: 1 for the first, one more each time that others are put in force.
    pub generation: u64,
    /// The content hash of the rules in force, as in every verdict.
    pub version: Version,
    /// The SHA-256 over names and contents of the files that they were loaded from; none for the embedded rules.
    pub content: Option<String>,
    /// How many files they were made of, the embedded ones included.
    pub files: usize,
    /// How many rules are in force.
    pub rules: usize,
    /// When they were loaded.
    pub loaded_at: SystemTime,
    /// When the files were last judged.
    pub last_attempt: SystemTime,
    /// Why what the files say is not in force; none when it is.
    pub last_error: Option<Error>,
    /// Since when that is so.
    pub failing_since: Option<SystemTime>,
    /// Whether the rules in force are pinned, so that the files do not matter.
    pub pinned: bool,
    /// How changes are noticed at present.
    pub watching: Watching,
    /// The last good rulesets, newest first: what can be rolled back to.
    pub history: Vec<Kept>,
    /// What happened how often.
    pub counts: WatchCounts,
}

/// What happened how often since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WatchCounts {
    /// Other rules were put in force.
    pub reloaded: u64,
    /// The files were wrong, or a directory was lost.
    pub rejected: u64,
    /// Something was touched and nothing had changed.
    pub unchanged: u64,
    /// A set of files was compiled, right or wrong.
    pub compiled: u64,
    /// The contents moved while they were read, and were read again.
    pub moved: u64,
    /// The watch was set up anew: a directory had been replaced, or a link switched.
    pub rearmed: u64,
    /// The system lost events.
    pub overflows: u64,
    /// The watch broke.
    pub watch_errors: u64,
}
