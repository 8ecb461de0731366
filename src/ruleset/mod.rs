//! The compiled ruleset: immutable, shared between threads, without I/O; strategies cheapest first.

mod atom;
mod base;
mod capture;
mod compile;
mod dialect;
mod embedded;
mod example;
mod examples;
mod faults;
mod fold;
mod groups;
mod index;
mod limits;
mod lint;
mod literals;
mod order;
mod other_dialects;
mod pattern;
mod pattern_set;
mod program;
mod rule;
mod setting;
mod size;
mod version;
mod view;
mod witness;

pub use self::example::{ExampleRun, ExampleView};
pub use self::setting::{Setting, SettingValue};
pub use self::version::Version;
pub use self::view::{ConditionsView, ProviderView, RuleView};

pub(crate) use self::base::BaseTables;
pub(crate) use self::capture::Facts;
pub(crate) use self::compile::compile;
pub(crate) use self::index::Index;
pub(crate) use self::order::Order;
pub(crate) use self::pattern_set::{Matched, Nearness, PatternId, PatternSet};
pub(crate) use self::rule::{CompiledConditions, CompiledRule, HeaderCondition, RuleInfo};

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::class::Class;
use crate::config::{Config, Layers, Names, Provider, RetrySettings};
use crate::delay::Forms;
use crate::diagnostic::{Diagnostics, Problem, Severity};
use crate::error::Error;
use crate::policy::RetryPolicy;
use crate::signals::Vocabulary;
#[cfg(feature = "watch")]
use crate::source::DirectoryFile;
use crate::source::Sources;

/// All rules and policies, compiled: what an evaluation asks. Cheap to share, never changed.
#[derive(Debug)]
pub struct Ruleset {
    version: Version,
    sources: Arc<Sources>,
    providers: Vec<CompiledProvider>,
    default_provider: usize,
    names: Names,
    rules: Vec<CompiledRule>,
    index: Index,
    /// The order for failures of nobody known.
    unknown_order: Order,
    messages: PatternSet,
    bodies: PatternSet,
    vocabulary: Vocabulary,
    delay: Forms,
    statuses: rule::StatusForms,
    noise: Vec<PatternId>,
    should_retry_headers: Vec<String>,
    should_retry_fields: Vec<String>,
    code_headers: Vec<String>,
    base: BaseTables,
    warnings: Diagnostics,
}

/// A provider's settings and the order in which its failures are matched.
#[derive(Debug)]
pub(crate) struct CompiledProvider {
    pub(crate) config: Provider,
    pub(crate) order: Order,
}

/// Where rules are loaded from, layer by layer; later layers override earlier ones.
///
/// ```
/// use overspill::Ruleset;
///
/// let ruleset = Ruleset::builder()
///     .text("override", "anthropic.toml", "provider = \"anthropic\"\n[retry]\nmax_attempts = 3\n")
///     .build()?;
/// assert_eq!(ruleset.retry_policy(Some("anthropic"), None).max_attempts.get(), 3);
/// # Ok::<(), overspill::Error>(())
/// ```
#[derive(Debug)]
pub struct RulesetBuilder {
    embedded: bool,
    examples: bool,
    layers: Vec<LayerSource>,
    /// The rules to be kept, if not all are.
    only: Option<BTreeSet<String>>,
    /// The ruleset to be replaced, of which most is the same.
    earlier: Option<Arc<Ruleset>>,
}

#[derive(Debug)]
enum LayerSource {
    Directory(std::path::PathBuf),
    #[cfg(feature = "watch")]
    Files {
        dir: std::path::PathBuf,
        files: Vec<DirectoryFile>,
    },
    Text {
        layer: String,
        file: String,
        text: String,
    },
}

impl RulesetBuilder {
    /// Leaves the embedded rules out; some directory must then have a `default.toml`.
    #[must_use]
    pub fn without_embedded(mut self) -> Self {
        self.embedded = false;
        self
    }

    /// Does not run the examples: for texts whose examples were run before or will be run [one by one](Ruleset::examples), or with rules taken out that some examples need.
    #[must_use]
    pub fn without_examples(mut self) -> Self {
        self.examples = false;
        self
    }

    /// Leaves out all rules but those of these names (`provider/id`): to ask whether one of a few rules catches a failure at all. Examples are not run.
    #[must_use]
    pub fn only_rules(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.only = Some(names.into_iter().collect());
        self.without_examples()
    }

    /// Adds the `*.toml` files of a directory as the next layer.
    #[must_use]
    pub fn directory(mut self, dir: impl AsRef<Path>) -> Self {
        self.layers.push(LayerSource::Directory(dir.as_ref().to_owned()));
        self
    }

    /// Shares patterns, parsed and compiled, with a ruleset that has many of the same: the one that is to be replaced, or the embedded one. The result is no other, it is there sooner.
    #[must_use]
    pub fn after(mut self, earlier: Arc<Ruleset>) -> Self {
        self.earlier = Some(earlier);
        self
    }

    /// Adds the files of a directory that has been read.
    #[cfg(feature = "watch")]
    #[must_use]
    pub(crate) fn files(mut self, dir: &Path, files: Vec<DirectoryFile>) -> Self {
        self.layers.push(LayerSource::Files { dir: dir.to_owned(), files });
        self
    }

    /// Adds one file given as text as the next layer.
    #[must_use]
    pub fn text(mut self, layer: impl Into<String>, file: impl Into<String>, text: impl Into<String>) -> Self {
        self.layers.push(LayerSource::Text { layer: layer.into(), file: file.into(), text: text.into() });
        self
    }

    /// Reads, merges, validates and compiles the layers, and runs every example.
    ///
    /// Cost: tens of milliseconds for the embedded rules; do it once, or off the path that answers requests.
    ///
    /// # Errors
    ///
    /// When a directory cannot be listed, or when anything is wrong with any file; then all problems are in the error.
    pub fn build(self) -> Result<Ruleset, Error> {
        let Built { ruleset, problems, sources } = self.built()?;
        let rejected = has_errors(&problems);
        let diagnostics = Diagnostics::new(problems, sources);
        match ruleset {
            Some(mut ruleset) if !rejected => {
                ruleset.warnings = diagnostics;
                Ok(ruleset)
            }
            _ => Err(Error::rejected(diagnostics)),
        }
    }

    /// As [`build`](Self::build) and [`Ruleset::lint`], but what is refused is linted too, as far as its errors leave anything to say: a rule that has one, or stands in a file that has one, is not
    /// doubted as well; and what takes all rules to say (contradictions, dead vetoes) is only said when nothing but examples fail.
    ///
    /// The ruleset is `None` when it is refused.
    ///
    /// # Errors
    ///
    /// When a directory cannot be listed.
    pub fn check(self) -> Result<(Option<Ruleset>, Diagnostics), Error> {
        let with_examples = self.examples;
        let Built { mut ruleset, mut problems, sources } = self.without_examples().built()?;
        if let Some(ruleset) = &mut ruleset {
            ruleset.warnings = Diagnostics::new(problems.clone(), Arc::clone(&sources));
            lint::check(ruleset, with_examples && !has_errors(&problems), &mut problems);
            remove_repeats(&mut problems);
        }
        let ruleset = ruleset.filter(|_| !has_errors(&problems));
        Ok((ruleset, Diagnostics::new(problems, sources)))
    }

    fn built(self) -> Result<Built, Error> {
        let mut layers = Layers::default();
        if self.embedded {
            layers.add_embedded();
        }
        for layer in self.layers {
            match layer {
                LayerSource::Directory(dir) => layers.add_directory(&dir)?,
                #[cfg(feature = "watch")]
                LayerSource::Files { dir, files } => layers.add_files(&dir, files),
                LayerSource::Text { layer, file, text } => layers.add_texts(&layer, [(file.as_str(), text.as_str())]),
            }
        }
        Ok(Built::of(layers, self.examples, self.only.as_ref(), self.earlier.as_deref()))
    }
}

/// A ruleset with all that is wrong with it; with errors it is not to be used.
struct Built {
    /// `None` when not even that much could be made of the files.
    ruleset: Option<Ruleset>,
    problems: Vec<Problem>,
    sources: Arc<Sources>,
}

impl Built {
    fn of(layers: Layers, with_examples: bool, only: Option<&BTreeSet<String>>, earlier: Option<&Ruleset>) -> Self {
        let (config, mut problems) = layers.build();
        let mut config: Config = match config {
            Ok(config) => config,
            Err(sources) => return Self { ruleset: None, problems, sources: Arc::new(sources) },
        };
        if let Some(only) = only {
            for Provider { name, rules, .. } in &mut config.providers {
                rules.retain(|rule| only.contains(&format!("{name}/{}", rule.id)));
            }
        }
        let sources = Arc::clone(&config.sources);
        let ruleset = compile(config, earlier, &mut problems);
        if let (Some(ruleset), true, false) = (&ruleset, with_examples, has_errors(&problems)) {
            // Only a set without faults is asked to win its examples; otherwise one slip would be reported twice.
            examples::run(ruleset, &mut problems);
        }
        remove_repeats(&mut problems);
        Self { ruleset, problems, sources }
    }
}

/// What is wrong with one thing is told once, however many ways lead to it.
fn remove_repeats(problems: &mut Vec<Problem>) {
    problems.dedup_by(|a, b| a.code == b.code && a.at == b.at && a.message == b.message);
}

fn has_errors(problems: &[Problem]) -> bool {
    problems.iter().any(|problem| problem.code.severity() == Severity::Error)
}

impl Ruleset {
    /// Starts a ruleset with the embedded rules as its first layer.
    #[must_use]
    pub fn builder() -> RulesetBuilder {
        RulesetBuilder { embedded: true, examples: true, layers: Vec::new(), only: None, earlier: None }
    }

    /// The rules compiled into the library, built once a process.
    #[must_use]
    pub fn embedded() -> Arc<Self> {
        embedded::ruleset()
    }

    /// The texts of the embedded rules, as (file name, text).
    pub fn embedded_files() -> impl Iterator<Item = (&'static str, &'static str)> {
        crate::source::embedded_texts().iter().copied()
    }

    /// The content hash: two rulesets from the same texts have the same version.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Number of files it was built from.
    #[must_use]
    pub fn file_count(&self) -> usize {
        self.sources.ids().filter(|&id| !self.sources.text(id).is_empty()).count()
    }

    /// Number of rules in force.
    #[must_use]
    pub fn rule_count(&self) -> usize {
        self.rules.len()
    }

    /// Number of examples, positive and negative.
    #[must_use]
    pub fn example_count(&self) -> usize {
        self.rules.iter().map(|rule| rule.examples.len()).sum()
    }

    /// What is doubtful about the rules though they are in force.
    #[must_use]
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// The retry policy for a provider, by any of its names, and a class. An unknown provider gets the base policy.
    #[must_use]
    pub fn retry_policy(&self, provider: Option<&str>, class: Option<Class>) -> &RetryPolicy {
        &self.retry_settings(provider).for_class(class).policy
    }

    /// The retry policy for one call: what holds for the provider, over that its profile of that name (such as `unattended`), over that what holds for the model, over that what holds
    /// for the class.
    ///
    /// Attempts are the exception: what a farther file says of a class never allows more than a nearer file does, and a nearer file's `max_attempts = 1` forbids retries whatever farther files say
    /// of profiles, models and classes. A profile that no file knows changes nothing, see [`has_retry_profile`](Self::has_retry_profile).
    #[must_use]
    pub fn retry_policy_for(&self, provider: Option<&str>, class: Option<Class>, model: Option<&str>, profile: Option<&str>) -> RetryPolicy {
        self.retry_settings(provider).for_call(class, model, profile)
    }

    /// Whether the provider's files, or those that it inherits from, know a retry profile of that name.
    ///
    /// ```
    /// use overspill::Ruleset;
    ///
    /// let rules = Ruleset::embedded();
    /// assert!(rules.has_retry_profile(Some("openai"), "interactive") && !rules.has_retry_profile(Some("openai"), "interactiv"));
    /// ```
    #[must_use]
    pub fn has_retry_profile(&self, provider: Option<&str>, profile: &str) -> bool {
        self.retry_settings(provider).has_profile(profile)
    }

    pub(crate) fn retry_settings(&self, provider: Option<&str>) -> &RetrySettings {
        &self.settings(self.find(provider)).retry
    }

    /// Index of the provider of that name.
    pub(crate) fn find(&self, name: Option<&str>) -> Option<usize> {
        self.names.find(name?)
    }

    /// The provider's settings; those of the base for one that is not known.
    pub(crate) fn settings(&self, provider: Option<usize>) -> &Provider {
        &self.providers[provider.unwrap_or(self.default_provider)].config
    }

    pub(crate) fn order(&self, provider: Option<usize>) -> &Order {
        provider.map_or(&self.unknown_order, |provider| &self.providers[provider].order)
    }

    pub(crate) fn rules(&self) -> &[CompiledRule] {
        &self.rules
    }

    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    pub(crate) fn messages(&self) -> &PatternSet {
        &self.messages
    }

    pub(crate) fn bodies(&self) -> &PatternSet {
        &self.bodies
    }

    pub(crate) fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    pub(crate) fn delay_forms(&self) -> &Forms {
        &self.delay
    }

    pub(crate) fn status_forms(&self) -> &rule::StatusForms {
        &self.statuses
    }

    /// Patterns of what is no evidence, wherever it stands; sorted.
    pub(crate) fn noise(&self) -> &[PatternId] {
        &self.noise
    }

    pub(crate) fn code_headers(&self) -> &[String] {
        &self.code_headers
    }

    pub(crate) fn should_retry_headers(&self) -> &[String] {
        &self.should_retry_headers
    }

    pub(crate) fn should_retry_fields(&self) -> &[String] {
        &self.should_retry_fields
    }

    pub(crate) fn sources(&self) -> &Sources {
        &self.sources
    }
}
