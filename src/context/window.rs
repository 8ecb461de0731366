//! The window of one model: from the caller, the rule files, or an error that stated it.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use super::learned::LearnedLimits;
use crate::config::{ContextSettings, Limits};
use crate::ruleset::Ruleset;
use crate::source::Location;
use crate::usage::{Finish, Usage};

/// What one model of one provider can take, made by [`Overspill::context`](crate::Overspill::context).
///
/// Holds a snapshot of the rules and borrows the two names. The window is in tokens and means the most that a prompt may take: the context window, or the input limit where that is lower.
/// Where it comes from, the first that is given: the caller, the most specific `[[context.model]]` of the provider's files. A model that a gateway calls `provider/model` is looked up with that
/// provider. A [learned](Self::with_learned) limit lowers whichever it is, in whatever order they are told.
#[derive(Clone)]
pub struct Context<'a> {
    ruleset: Arc<Ruleset>,
    provider: Option<usize>,
    provider_name: &'a str,
    model: &'a str,
    /// The lower one of what was given and what was learned.
    window: u64,
    /// What the caller or a file gives.
    given: u64,
    /// What an error stated.
    learned: Option<u64>,
    given_by: WindowOrigin,
    at: Option<Location>,
    reserved: u64,
}

/// Where a window comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WindowOrigin {
    /// Nobody knows it.
    Unknown,
    /// The caller gave it.
    Caller,
    /// A rule file: [`Context::origin`] has the line.
    File,
    /// An overflow error stated it.
    Learned,
}

impl WindowOrigin {
    /// The origin in one word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Caller => "caller",
            Self::File => "file",
            Self::Learned => "learned",
        }
    }
}

impl<'a> Context<'a> {
    pub(crate) fn new(ruleset: Arc<Ruleset>, provider: &'a str, model: &'a str) -> Self {
        let index = ruleset.find(Some(provider));
        let Limits { window, reserved } = ruleset.limits(index, model);
        let known = window.filter(|window| **window > 0);
        let given = known.map_or(0, |window| *window);
        Self {
            provider: index,
            provider_name: provider,
            model,
            window: given,
            given,
            learned: None,
            given_by: if known.is_some() { WindowOrigin::File } else { WindowOrigin::Unknown },
            at: known.map(|window| window.at),
            reserved,
            ruleset,
        }
    }

    /// Overrides the window, in tokens; 0 means that it is not known. What was [learned](Self::with_learned) still lowers it.
    #[must_use]
    pub fn with_window(mut self, tokens: u64) -> Self {
        self.given = tokens;
        self.given_by = if tokens == 0 { WindowOrigin::Unknown } else { WindowOrigin::Caller };
        self.at = None;
        self.window = self.lower_window();
        self
    }

    /// Overrides how many tokens are kept free for the answer and for what comes before the next check.
    #[must_use]
    pub fn with_reserved(mut self, tokens: u64) -> Self {
        self.reserved = tokens;
        self
    }

    /// Lowers the window to what an overflow error stated for this provider and model, unless that has expired by `now`. Never raises it.
    #[must_use]
    pub fn with_learned(mut self, limits: &LearnedLimits, now: Timestamp) -> Self {
        let learned = limits.in_force(self.provider(), self.model, now);
        self.learned = self.learned.into_iter().chain(learned).min();
        self.window = self.lower_window();
        self
    }

    fn lower_window(&self) -> u64 {
        match self.learned {
            Some(learned) if self.given == 0 || learned < self.given => learned,
            _ => self.given,
        }
    }

    /// The provider, under the name of its rule file if it has one.
    #[must_use]
    pub fn provider(&self) -> &str {
        self.provider.map_or(self.provider_name, |_| &self.settings().name)
    }

    /// The model, as given.
    #[must_use]
    pub fn model(&self) -> &str {
        self.model
    }

    /// The most tokens that a prompt may take; `None` when nobody knows.
    #[must_use]
    pub fn window(&self) -> Option<u64> {
        (self.window > 0).then_some(self.window)
    }

    /// How many of them are kept free; 20,000 unless a file or the caller says otherwise.
    #[must_use]
    pub fn reserved(&self) -> u64 {
        self.reserved
    }

    /// How many can be used: the window without the reserve, never below zero; 0 also for an unknown window.
    #[must_use]
    pub fn usable(&self) -> u64 {
        self.window.saturating_sub(self.reserved)
    }

    /// Who gave the window.
    #[must_use]
    pub fn window_origin(&self) -> WindowOrigin {
        if self.window == self.given { self.given_by } else { WindowOrigin::Learned }
    }

    /// The `file:line` that gives the window, or `caller` or `learned`; `None` when it is unknown.
    #[must_use]
    pub fn origin(&self) -> Option<String> {
        match (self.window_origin(), self.at) {
            (WindowOrigin::Unknown, _) => None,
            (WindowOrigin::File, Some(at)) => Some(self.ruleset.sources().origin(at)),
            (origin, _) => Some(origin.name().to_owned()),
        }
    }

    /// The tokens of a call that fill the window: input, and cached tokens where they come on top of it. Output is not among them; what of it is sent back counts as input then.
    #[must_use]
    pub fn used(&self, usage: &Usage) -> u64 {
        usage.used(self.context().occupies())
    }

    /// What a finish reason says about the window, by the lists of the rule files; any case.
    #[must_use]
    pub fn finish(&self, reason: &str) -> Finish {
        self.context().reader().meaning(reason)
    }

    pub(super) fn context(&self) -> &ContextSettings {
        &self.settings().context
    }

    fn settings(&self) -> &crate::config::Provider {
        self.ruleset.settings(self.provider)
    }
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("provider", &self.provider())
            .field("model", &self.model)
            .field("window", &self.window())
            .field("reserved", &self.reserved)
            .field("origin", &self.origin())
            .finish_non_exhaustive()
    }
}
