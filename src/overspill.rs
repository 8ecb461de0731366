//! The handle that programs hold.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use jiff::Timestamp;

use crate::error::Error;
use crate::eval::{Explanation, evaluate, explain};
use crate::failure::Failure;
use crate::misses::Misses;
use crate::ruleset::{Ruleset, RulesetBuilder};
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
    misses: Misses,
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
        Self { shared: Arc::new(Shared { ruleset: ArcSwap::new(ruleset), misses: Misses::since(Timestamp::now()) }) }
    }

    /// What a failure is and what to do about it.
    ///
    /// Never fails and reads no file, and the clock only to date a failure that no rule recognised: its redacted template is kept, see [`misses`](Self::misses). Linear in the failure's size up to 128 KiB, of which head and tail are read, and nearly independent of the number of rules: a typical
    /// error takes a few microseconds. Readers never wait, and one evaluation sees one ruleset.
    #[must_use]
    pub fn evaluate(&self, failure: &Failure<'_>) -> Verdict {
        let ruleset = self.shared.ruleset.load();
        let verdict = evaluate(&ruleset, failure);
        let misses = &self.shared.misses;
        misses.count(failure);
        if verdict.is_miss() {
            misses.keep(&ruleset, failure, &verdict, Some(failure.now.unwrap_or_else(Timestamp::now)));
        }
        verdict
    }

    /// The same verdict with the reasons for it; asks every rule, so not for the path that answers requests.
    #[must_use]
    pub fn explain(&self, failure: &Failure<'_>) -> Explanation {
        explain(&self.shared.ruleset.load(), failure)
    }

    /// The failures so far that no rule recognised, as templates without private content, for all clones of the handle.
    #[must_use]
    pub fn misses(&self) -> &Misses {
        &self.shared.misses
    }

    /// The rules in force now. Ask again for each unit of work: what is held is not replaced.
    #[must_use]
    pub fn ruleset(&self) -> Arc<Ruleset> {
        self.shared.ruleset.load_full()
    }

    /// Puts other rules in force, for all clones of the handle, and returns the former ones, which the caller may keep, compare or drop. Evaluations under way end with the rules they began with.
    #[must_use = "dropping the former rules takes time: do it where nobody waits"]
    pub fn replace(&self, ruleset: Arc<Ruleset>) -> Arc<Ruleset> {
        self.shared.ruleset.swap(ruleset)
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
