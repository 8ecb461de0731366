//! Rules in the form in which they are evaluated.

use std::collections::HashMap;
use std::sync::Arc;

use super::pattern_set::PatternId;
use super::program::Program;
use crate::class::{Action, Class};
use crate::config::{Comparison, Fact, Glob};
use crate::failure::Transport;
use crate::model::{Example, Scope};
use crate::source::{Location, Spanned};
use crate::status::StatusSet;

/// What a verdict keeps of the rule that decided.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RuleInfo {
    /// `provider/id`.
    pub(crate) name: String,
    /// `file:line`.
    pub(crate) origin: String,
}

/// A rule ready to be asked.
#[derive(Debug)]
pub(crate) struct CompiledRule {
    /// Its place among all rules.
    pub(crate) number: usize,
    pub(crate) info: Arc<RuleInfo>,
    pub(crate) provider: usize,
    pub(crate) class: Class,
    pub(crate) action: Option<Action>,
    pub(crate) scope: Scope,
    pub(crate) conditions: CompiledConditions,
    pub(crate) unless: Vec<Spanned<CompiledConditions>>,
    /// Facts read from structured fields, by the end of their dotted path.
    pub(crate) facts: Vec<(Fact, String)>,
    /// Whether it captures, or reads, both numbers of an overflow.
    pub(crate) states_overflow: bool,
    pub(crate) examples: Vec<Example>,
    pub(crate) source: Option<String>,
    pub(crate) seen: Option<String>,
    pub(crate) at: Location,
}

impl CompiledRule {
    /// Its conditions and those of its vetoes.
    pub(crate) fn all_conditions(&self) -> impl Iterator<Item = &CompiledConditions> {
        std::iter::once(&self.conditions).chain(self.unless.iter().map(|veto| &veto.value))
    }

    /// Its name within its file.
    pub(crate) fn id(&self) -> &str {
        self.info.name.rsplit('/').next().unwrap_or_default()
    }

    /// Whether it may find both numbers of an overflow, given whether the text has as many.
    pub(crate) fn may_state_overflow(&self, has_numbers: bool) -> bool {
        self.states_overflow && (has_numbers || !self.facts.is_empty() || !self.conditions.body.is_empty())
    }
}

/// All that is given must hold; of each list any.
#[derive(Debug, Default)]
pub(crate) struct CompiledConditions {
    pub(crate) status: Option<StatusSet>,
    pub(crate) code: Vec<String>,
    pub(crate) message: Vec<PatternId>,
    pub(crate) body: Vec<PatternId>,
    pub(crate) header: Vec<HeaderCondition>,
    pub(crate) transport: Vec<Transport>,
    pub(crate) finish_reason: Vec<String>,
    pub(crate) event: Vec<String>,
    pub(crate) model: Vec<Glob>,
    pub(crate) body_empty: Option<bool>,
    pub(crate) when: Vec<Comparison>,
}

/// A header and the patterns of which one must match its value.
#[derive(Debug)]
pub(crate) struct HeaderCondition {
    pub(crate) name: String,
    pub(crate) patterns: Vec<(String, Program)>,
}

/// How a status is read from a text when the transport gave none.
#[derive(Debug, Default)]
pub(crate) struct StatusForms {
    pub(crate) patterns: Vec<PatternId>,
    pub(crate) exceptions: HashMap<String, u16>,
}
