//! The handle that programs hold.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::context::Context;
use crate::error::Error;
use crate::eval::{Explanation, evaluate, explain};
use crate::failure::Failure;
use crate::lanes::Lanes;
use crate::ruleset::{Ruleset, RulesetBuilder};
use crate::telemetry::{Labels, count_verdict};
use crate::verdict::Verdict;

/// A handle to the rules in force: cheap to clone, to be shared between threads and tasks. All clones see the same rules, also when they are replaced.
///
/// ```
/// use overspill::{Action, Class, Failure, Overspill};
///
/// let overspill = Overspill::embedded();
/// let body = br#"{"error":{"code":"context_length_exceeded","message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."}}"#;
/// let verdict = overspill.evaluate(&Failure::http(400).provider("openai").body(body));
/// assert_eq!((verdict.class(), verdict.action()), (Class::ContextOverflow, Action::Compact));
/// assert_eq!(verdict.tokens().limit, Some(8192));
/// ```
#[derive(Clone)]
pub struct Overspill {
    shared: Arc<Shared>,
}

/// What all clones of a handle share.
struct Shared {
    ruleset: ArcSwap<Ruleset>,
    lanes: Lanes,
    /// Wakes the calls that wait when the rules are replaced.
    #[cfg(feature = "retry")]
    replaced: tokio::sync::Notify,
    labels: Labels,
}

impl Overspill {
    /// The embedded rules.
    #[must_use]
    pub fn embedded() -> Self {
        Self::new(Ruleset::embedded())
    }

    /// The embedded rules, overridden by the files of these directories, later ones over earlier ones.
    ///
    /// # Errors
    ///
    /// As [`RulesetBuilder::build`](crate::RulesetBuilder::build): when a directory cannot be read, or anything is wrong with any file.
    pub fn load(dirs: impl IntoIterator<Item = impl AsRef<Path>>) -> Result<Self, Error> {
        let builder = dirs.into_iter().fold(Ruleset::builder(), RulesetBuilder::directory);
        Ok(Self::new(Arc::new(builder.build()?)))
    }

    /// A handle to these rules.
    #[must_use]
    pub fn new(ruleset: Arc<Ruleset>) -> Self {
        let shared = Shared {
            ruleset: ArcSwap::new(ruleset),
            lanes: Lanes::default(),
            #[cfg(feature = "retry")]
            replaced: tokio::sync::Notify::new(),
            labels: Labels::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// What a failure is and what to do about it.
    ///
    /// Never fails and reads neither clock nor file. Linear in the failure's size up to 128 KiB, of which head and tail are read, and nearly independent of the number of rules: a typical
    /// error takes a few microseconds. Readers never wait, and one evaluation sees one ruleset.
    #[must_use]
    pub fn evaluate(&self, failure: &Failure<'_>) -> Verdict {
        self.evaluate_with(&self.shared.ruleset.load(), failure)
    }

    /// The verdict by these rules, which are, or were a moment ago, in force.
    pub(crate) fn evaluate_with(&self, rules: &Ruleset, failure: &Failure<'_>) -> Verdict {
        let verdict = evaluate(rules, failure);
        count_verdict(&self.shared.labels, failure.provider_name(), &verdict);
        verdict
    }

    /// The same verdict with the reasons for it; asks every rule, so not for the path that answers requests.
    #[must_use]
    pub fn explain(&self, failure: &Failure<'_>) -> Explanation {
        explain(&self.shared.ruleset.load(), failure)
    }

    /// Budget and hold-back, shared by all clones.
    #[inline]
    pub(crate) fn lanes(&self) -> &Lanes {
        &self.shared.lanes
    }

    /// Ends when the rules are replaced.
    #[cfg(feature = "retry")]
    pub(crate) fn replaced(&self) -> tokio::sync::futures::Notified<'_> {
        self.shared.replaced.notified()
    }

    /// How providers are named in metrics.
    #[cfg(feature = "metrics")]
    pub(crate) fn labels(&self) -> &Labels {
        &self.shared.labels
    }

    /// The window of one model, to ask before each call whether the conversation still fits.
    ///
    /// A snapshot of the rules in force: ask again for each unit of work. An unknown provider or model is no error: its window is unknown and nothing is ever compacted for it. Allocates
    /// nothing for names in the spelling of the rule files; takes a fraction of a microsecond, or a few where a file has a hundred globs, against nanoseconds for the checks that follow.
    ///
    /// ```
    /// use overspill::{Overspill, Usage};
    ///
    /// let overspill = Overspill::embedded();
    /// let usage = Usage::new(2_000).with_cache_read(176_000).with_cache_write(4_000);
    /// assert!(overspill.context("anthropic", "claude-sonnet-4-5").should_compact(&usage));
    /// assert!(!overspill.context("anthropic", "claude-sonnet-4-5").with_window(1_000_000).should_compact(&usage));
    /// ```
    #[must_use]
    pub fn context<'a>(&self, provider: &'a str, model: &'a str) -> Context<'a> {
        Context::new(self.ruleset(), provider, model)
    }

    /// The rules in force now. Ask again for each unit of work: what is held is not replaced.
    #[must_use]
    pub fn ruleset(&self) -> Arc<Ruleset> {
        self.shared.ruleset.load_full()
    }

    /// Puts other rules in force, for all clones of the handle, and returns the former ones, which the caller may keep, compare or drop. Evaluations under way end with the rules they began with; calls that wait for their next attempt wait anew by the new ones.
    #[must_use = "dropping the former rules takes time: do it where nobody waits"]
    pub fn replace(&self, ruleset: Arc<Ruleset>) -> Arc<Ruleset> {
        let former = self.shared.ruleset.swap(ruleset);
        #[cfg(feature = "retry")]
        self.shared.replaced.notify_waiters();
        former
    }
}

impl From<Ruleset> for Overspill {
    fn from(ruleset: Ruleset) -> Self {
        Self::new(Arc::new(ruleset))
    }
}

impl fmt::Debug for Overspill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overspill").field("ruleset", &self.ruleset().version().to_string()).finish()
    }
}
