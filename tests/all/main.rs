//! One binary for all integration tests: the crate is linked once, and whatever is shared is shared.
//!
//! | module | what it holds the project to |
//! |---|---|
//! | [`context`] | usage of every provider is read and judged as the table says (`tests/context/`); limits, governor, and any JSON at all |
//! | [`corpus`] | recorded failures get the right class, delay and token numbers, as often as the floors say |
//! | [`delays`] | of several waits the most telling one counts, of nonsense none |
//! | [`naive`] | the indexed evaluator decides as one that asks rule after rule |
//! | [`robustness`] | nothing that a server sends makes it panic, and nothing of it is printed |
//! | [`rules_files`] | the rule files are clean, complete, and found under the names that other tools use |
//! | [`diagnostics`] | every kind of mistake in a rule file is met with a place, a sentence and a hint (`tests/diagnostics/`) |
//! | [`doors`] | the same failure gets the same class over HTTP, in a stream, as an exception of any SDK, behind any gateway (`tests/doors/`) |
//! | [`generalisation`] | what the rules still get right of failures whose own rules are left out |
//! | [`guide`] | what the guide says of keys, defaults, fields and verdicts is so |
//! | [`readme`] | what the README says of providers and override files is so |
//! | [`direction`] | modules use only those before them, the core is pure, only the command line prints |
//! | [`export`] | an export written back as rule files is the same rules; with the feature `cli` |
//! | [`cli`] | the command line's contract (`tests/cli/`); with the feature `cli` |

#![expect(clippy::expect_used, clippy::panic, reason = "a test stops at the first surprise")]

#[cfg(feature = "cli")]
mod cli;
mod context;
mod corpus;
mod delays;
mod diagnostics;
mod direction;
mod doors;
#[cfg(feature = "cli")]
mod export;
mod generalisation;
mod guide;
mod naive;
mod readme;
mod robustness;
mod rules_files;
mod sample;
