//! The handle that programs hold.

use std::path::Path;
use std::sync::Arc;

use crate::error::Error;
use crate::eval::{Explanation, evaluate, explain};
use crate::failure::Failure;
use crate::ruleset::{Ruleset, RulesetBuilder};
use crate::verdict::Verdict;

/// A handle to a ruleset: cheap to clone, to be shared between threads and tasks.
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
#[derive(Clone, Debug)]
pub struct Overspill {
    ruleset: Arc<Ruleset>,
}

impl Overspill {
    /// The embedded rules.
    #[must_use]
    pub fn embedded() -> Self {
        Self { ruleset: Ruleset::embedded() }
    }

    /// The embedded rules, overridden by the files of these directories, later ones over earlier ones.
    ///
    /// # Errors
    ///
    /// As [`RulesetBuilder::build`](crate::RulesetBuilder::build): when a directory cannot be read, or anything is wrong with any file.
    pub fn load(dirs: impl IntoIterator<Item = impl AsRef<Path>>) -> Result<Self, Error> {
        let builder = dirs.into_iter().fold(Ruleset::builder(), RulesetBuilder::directory);
        Ok(Self { ruleset: Arc::new(builder.build()?) })
    }

    /// What a failure is and what to do about it.
    ///
    /// Never fails and reads neither clock nor file. Linear in the failure's size up to 128 KiB, of which head and tail are read, and nearly independent of the number of rules: a typical
    /// error takes a few microseconds.
    #[must_use]
    pub fn evaluate(&self, failure: &Failure<'_>) -> Verdict {
        evaluate(&self.ruleset, failure)
    }

    /// The same verdict with the reasons for it; asks every rule, so not for the path that answers requests.
    #[must_use]
    pub fn explain(&self, failure: &Failure<'_>) -> Explanation {
        explain(&self.ruleset, failure)
    }

    /// The rules in force.
    #[must_use]
    pub fn ruleset(&self) -> &Arc<Ruleset> {
        &self.ruleset
    }
}

impl From<Ruleset> for Overspill {
    fn from(ruleset: Ruleset) -> Self {
        Self { ruleset: Arc::new(ruleset) }
    }
}
