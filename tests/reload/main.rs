//! Rules that change under a running program, on real directories. One binary: watching needs threads and time, and the other tests neither.
//!
//! Nothing here sleeps to let something happen: it waits for events, with a limit that only a failure reaches.
//!
//! | module | what it holds the reloading to |
//! |---|---|
//! | [`scenarios`] | every way in which files change is taken up, and what is wrong is refused |
//! | [`control`] | start, status, subscription, reload on demand, pin, roll back, the end |
//! | [`chaos`] | readers see whole rulesets only, whatever is done to the files |
//! | [`command`] | `overspill watch` prints what happens; with the feature `cli` |
#![cfg(all(unix, feature = "watch"))]
#![expect(clippy::panic, clippy::unwrap_used, reason = "tests stop at the first surprise and say what they saw")]

mod chaos;
#[cfg(feature = "cli")]
mod command;
mod control;
mod scenarios;
mod support;
