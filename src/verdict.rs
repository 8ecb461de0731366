//! What a failure is, what to do about it, and the evidence for both.

use std::sync::Arc;

use crate::class::{Action, Class};
use crate::delay::ServerDelay;
use crate::ruleset::{RuleInfo, Version};

/// The answer about one failure. Small, owned, and without any text of the failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub(crate) class: Class,
    pub(crate) action: Action,
    pub(crate) status: Option<u16>,
    pub(crate) tokens: Tokens,
    pub(crate) server_delay: Option<ServerDelay>,
    pub(crate) decision: Decision,
    pub(crate) version: Version,
}

/// Numbers of tokens that the failure states, typed: an output cap is no window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// What the request must fit in.
    pub limit: Option<u64>,
    /// What was asked for.
    pub requested: Option<u64>,
    /// The most output that the model gives.
    pub output_limit: Option<u64>,
}

/// What decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Rule(Arc<RuleInfo>),
    /// A row of the status table, with its origin.
    Status {
        status: u16,
        origin: String,
    },
    Nothing,
}

impl Verdict {
    /// What the failure is.
    #[must_use]
    pub fn class(&self) -> Class {
        self.class
    }

    /// What to do.
    #[must_use]
    pub fn action(&self) -> Action {
        self.action
    }

    /// Whether to send the same request again.
    #[must_use]
    pub fn is_retry(&self) -> bool {
        self.action == Action::Retry
    }

    /// Whether the conversation is too long for the model.
    #[must_use]
    pub fn is_overflow(&self) -> bool {
        self.class == Class::ContextOverflow
    }

    /// The HTTP status in force: the response's, or the one that a body or an exception states.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// The numbers of tokens that the failure states.
    #[must_use]
    pub fn tokens(&self) -> Tokens {
        self.tokens
    }

    /// The wait that the server asked for. It is a floor: never try earlier.
    #[must_use]
    pub fn server_delay(&self) -> Option<&ServerDelay> {
        self.server_delay.as_ref()
    }

    /// The rule that decided, as `provider/id`.
    #[must_use]
    pub fn rule(&self) -> Option<&str> {
        match &self.decision {
            Decision::Rule(info) => Some(&info.name),
            Decision::Status { .. } | Decision::Nothing => None,
        }
    }

    /// What decided: `provider/id`, `status:429`, or nothing.
    #[must_use]
    pub fn decided_by(&self) -> Option<String> {
        match &self.decision {
            Decision::Rule(info) => Some(info.name.clone()),
            Decision::Status { status, .. } => Some(format!("status:{status}")),
            Decision::Nothing => None,
        }
    }

    /// The file and line that decided.
    #[must_use]
    pub fn origin(&self) -> Option<&str> {
        match &self.decision {
            Decision::Rule(info) => Some(&info.origin),
            Decision::Status { origin, .. } => Some(origin),
            Decision::Nothing => None,
        }
    }

    /// Whether no rule recognised the failure: the status table or nothing decided.
    #[must_use]
    pub fn is_miss(&self) -> bool {
        !matches!(self.decision, Decision::Rule(_))
    }

    /// The version of the ruleset that answered.
    #[must_use]
    pub fn ruleset(&self) -> Version {
        self.version
    }
}
