//! Overspill turns a failed call to an LLM provider into a verdict: what it is, and whether to compact the conversation, wait and retry, reduce the output, fail over, or give up.
//!
//! Data goes one way, and each stage knows only those before it:
//!
//! ```text
//! TOML text -> spanned model -> layered, validated config -> compiled ruleset -> evaluator -> verdict -> retry
//! (source)     (model)          (config)                     (ruleset)           (eval)                  (retry)
//! ```
//!
//! A failure goes in, a verdict comes out:
//!
//! ```
//! use overspill::{Action, Failure, Overspill};
//!
//! let overspill = Overspill::embedded(); // or load(["./rules"]), or, with the feature `watch`, watch(["./rules"])
//! let body = br#"{"error":{"message":"prompt is too long: 213462 tokens > 200000 maximum"}}"#;
//! let verdict = overspill.evaluate(&Failure::http(400).provider("anthropic").model("claude-sonnet-4-5").body(body));
//!
//! match verdict.action() {
//!     Action::Compact => assert_eq!(verdict.tokens().limit, Some(200_000)), // shorten the conversation
//!     Action::Retry => { /* verdict.server_delay() is a floor; overspill.retry(provider) does it all */ }
//!     Action::ReduceOutput => { /* ask for verdict.tokens().output_limit at most */ }
//!     Action::Failover | Action::Fail => { /* another provider, or the user */ }
//! }
//! ```
//!
//! | to | see |
//! |---|---|
//! | judge a failure | [`Overspill::evaluate`], [`Failure`], [`Verdict`] |
//! | know before a call fails | [`Overspill::context`], [`Governor`], [`LearnedLimits`] |
//! | retry | [`Overspill::retry`], [`Session`], [`next_delay`] |
//! | follow rule files while running | `Overspill::watch`, with the feature `watch` |
//! | look into the rules | [`Ruleset`], [`Overspill::explain`] |
//! | write rule files, read verdicts | the [`guide`] |

mod class;
mod status;

mod source;

mod diagnostic;
mod error;

mod json;
mod parallel;
mod policy;

mod usage;

mod failure;
mod signals;

mod model;

mod config;

mod ruleset;

mod delay;
mod verdict;

mod eval;

mod context;

mod misses;

mod lanes;
mod telemetry;

#[cfg(feature = "watch")]
mod reload;

mod overspill;

mod retry;

mod integrations;

pub mod guide;

pub use crate::class::{Action, Class};
pub use crate::config::{Comparison, Operand, Operator, Quantity};
pub use crate::context::{
    CacheChurn, Check, Churn, Context, Demand, Governor, GovernorPolicy, Learned, LearnedLimits, PromptGrowth, Reason, Recovery, Reply, SilentOverflow, StopReason, WindowOrigin,
};
pub use crate::delay::{ServerDelay, Wait};
/// For the command line, which suggests as the reader of rule files does.
#[doc(hidden)]
pub use crate::diagnostic::did_you_mean;
pub use crate::diagnostic::{Code, Diagnostic, Diagnostics, Label, Severity};
pub use crate::error::Error;
pub use crate::eval::{Explanation, Extracted, Outcome, PatternMatch, Tried};
pub use crate::failure::{Failure, Transport};
#[cfg(feature = "reqwest")]
pub use crate::integrations::HttpError;
#[cfg(feature = "reqwest-middleware")]
pub use crate::integrations::RetryMiddleware;
#[cfg(feature = "tower")]
pub use crate::integrations::{RetryLayer, RetryService};
pub use crate::misses::{Miss, MissShare, Misses};
pub use crate::overspill::Overspill;
pub use crate::policy::{BudgetPolicy, Jitter, OverMax, RetryPolicy, ServerDelayPolicy, WorstCase};
#[cfg(feature = "watch")]
pub use crate::reload::{BrokenStart, Kept, Subscription, WatchCounts, WatchEvent, WatchEventKind, WatchMode, WatchOptions, WatchStatus, Watcher, Watching};
#[cfg(feature = "retry")]
pub use crate::retry::AsFailure;
pub use crate::retry::{Attempt, Backoff, Clock, Decision, DelayFrom, End, Ended, Held, Observer, Retry, Session, Step, SystemClock, Why, next_delay};
pub use crate::ruleset::{ConditionsView, ExampleRun, ExampleView, ProviderView, RuleView, Ruleset, RulesetBuilder, Setting, SettingValue, Version};
pub use crate::source::{Layer, Position};
pub use crate::status::StatusSet;
#[cfg(feature = "metrics")]
pub use crate::telemetry::describe_metrics;
pub use crate::usage::{Finish, Usage};
pub use crate::verdict::{Tokens, Verdict};

/// The README's examples are tests too.
#[cfg(all(doctest, feature = "retry"))]
#[doc = include_str!("../README.md")]
struct Readme;
