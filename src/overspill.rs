//! The handle that programs hold.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use jiff::Timestamp;

use crate::context::Context;
use crate::error::Error;
use crate::eval::{Explanation, evaluate, explain};
use crate::failure::Failure;
use crate::lanes::Lanes;
use crate::misses::Misses;
#[cfg(feature = "watch")]
use crate::reload::{self, WatchOptions, Watcher};
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
    #[cfg(feature = "watch")]
    watcher: Option<Arc<Watcher>>,
}

/// What all clones of a handle share.
struct Shared {
    ruleset: ArcSwap<Ruleset>,
    lanes: Lanes,
    /// Wakes the calls that wait when the rules are replaced, or a hold is lifted.
    #[cfg(feature = "retry")]
    news: tokio::sync::Notify,
    labels: Labels,
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
        let shared = Shared {
            ruleset: ArcSwap::new(ruleset),
            misses: Misses::since(Timestamp::now()),
            lanes: Lanes::default(),
            #[cfg(feature = "retry")]
            news: tokio::sync::Notify::new(),
            labels: Labels::default(),
        };
        Self {
            shared: Arc::new(shared),
            #[cfg(feature = "watch")]
            watcher: None,
        }
    }

    /// As [`load`](Self::load), and follows the files from then on: a thread takes up every change that is right as a whole, without a restart and without a runtime.
    ///
    /// What is wrong is refused as a whole, and the rules in force stay: a typing error costs nothing but a report. So do an empty or vanished directory and half-written files. Any way of changing
    /// files will do: editors, `git checkout`, rsync, a Kubernetes ConfigMap, a symbolic link switched to another release, the directory deleted and made again. A change is in force some 0.1 s
    /// after the last write. The watching ends when the last clone of the handle is dropped.
    ///
    /// ```
    /// use overspill::{Failure, Overspill};
    /// # let temp = tempfile::tempdir()?;
    /// # let dir = temp.path();
    ///
    /// std::fs::write(dir.join("anthropic.toml"), "provider = \"anthropic\"\n[retry]\nmax_attempts = 3\n")?;
    /// let overspill = Overspill::watch([dir])?;
    /// assert_eq!(overspill.ruleset().retry_policy(Some("anthropic"), None).max_attempts.get(), 3);
    ///
    /// std::fs::write(dir.join("anthropic.toml"), "provider = \"anthropic\"\n[retry]\nmax_attempts = 4\n")?;
    /// overspill.watcher().expect("it watches").reload_now()?; // or wait a moment
    /// assert_eq!(overspill.ruleset().retry_policy(Some("anthropic"), None).max_attempts.get(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load): on wrong rules it does not start, unless [`WatchOptions::broken_start`] says otherwise. Also when the system cannot start a thread.
    #[cfg(feature = "watch")]
    pub fn watch(dirs: impl IntoIterator<Item = impl AsRef<Path>>) -> Result<Self, Error> {
        Self::watch_with(dirs, WatchOptions::default())
    }

    /// As [`watch`](Self::watch), with options.
    ///
    /// # Errors
    ///
    /// As [`watch`](Self::watch), and when the system's events are demanded and cannot be had.
    #[cfg(feature = "watch")]
    pub fn watch_with(dirs: impl IntoIterator<Item = impl AsRef<Path>>, options: WatchOptions) -> Result<Self, Error> {
        let start = reload::start(&dirs.into_iter().map(|dir| dir.as_ref().to_owned()).collect::<Vec<_>>(), options)?;
        let mut overspill = Self::new(start.ruleset());
        let shared = Arc::clone(&overspill.shared);
        overspill.watcher = Some(Arc::new(start.spawn(Box::new(move |ruleset| shared.replace(ruleset)))?));
        Ok(overspill)
    }

    /// The watching behind the handle, if it was made by [`watch`](Self::watch).
    #[cfg(feature = "watch")]
    #[must_use]
    pub fn watcher(&self) -> Option<&Watcher> {
        self.watcher.as_deref()
    }

    /// What a failure is and what to do about it.
    ///
    /// Never fails and reads no file, and the clock only to date a failure that no rule recognised: its redacted template is kept, see [`misses`](Self::misses). Linear in the failure's size up to 128 KiB, of which head and tail are read, and nearly independent of the number of rules: a typical
    /// error takes a few microseconds. Readers never wait, and one evaluation sees one ruleset.
    #[must_use]
    pub fn evaluate(&self, failure: &Failure<'_>) -> Verdict {
        self.evaluate_with(&self.shared.ruleset.load(), failure)
    }

    /// The verdict by these rules, which are, or were a moment ago, in force.
    pub(crate) fn evaluate_with(&self, rules: &Ruleset, failure: &Failure<'_>) -> Verdict {
        let verdict = evaluate(rules, failure);
        count_verdict(&self.shared.labels, failure.provider_name(), &verdict);
        let misses = &self.shared.misses;
        misses.count(failure);
        if verdict.is_miss() {
            misses.keep(rules, failure, &verdict, Some(failure.now.unwrap_or_else(Timestamp::now)));
        }
        verdict
    }

    /// The same verdict with the reasons for it; asks every rule, so not for the path that answers requests.
    #[must_use]
    pub fn explain(&self, failure: &Failure<'_>) -> Explanation {
        explain(&self.shared.ruleset.load(), failure)
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

    /// Budget and hold-back, shared by all clones.
    #[inline]
    pub(crate) fn lanes(&self) -> &Lanes {
        &self.shared.lanes
    }

    /// Wakes the calls that wait, so that they look again at what they wait for.
    pub(crate) fn wake_waiting(&self) {
        #[cfg(feature = "retry")]
        self.shared.news.notify_waiters();
    }

    /// Ends when the rules are replaced, or a hold is lifted.
    #[cfg(feature = "retry")]
    pub(crate) fn news(&self) -> tokio::sync::futures::Notified<'_> {
        self.shared.news.notified()
    }

    /// How providers are named in metrics.
    #[cfg(feature = "metrics")]
    pub(crate) fn labels(&self) -> &Labels {
        &self.shared.labels
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

    /// Puts other rules in force, for all clones of the handle, and returns the former ones, which the caller may keep, compare or drop. Evaluations under way end with the rules they began with; calls that wait for their next attempt wait anew by the new ones.
    #[must_use = "dropping the former rules takes time: do it where nobody waits"]
    pub fn replace(&self, ruleset: Arc<Ruleset>) -> Arc<Ruleset> {
        self.shared.replace(ruleset)
    }
}

impl Shared {
    fn replace(&self, ruleset: Arc<Ruleset>) -> Arc<Ruleset> {
        let former = self.ruleset.swap(ruleset);
        #[cfg(feature = "retry")]
        self.news.notify_waiters();
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
