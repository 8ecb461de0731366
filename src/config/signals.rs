//! The merged `[signals]` table.

use super::merge::MergedProvider;
use crate::diagnostic::{Code, Problem};
use crate::model::TextList;
use crate::source::{Location, Spanned};

/// Which keys of a structured body mean what, and how texts state a status.
#[derive(Debug, Clone, Default)]
pub(crate) struct SignalsConfig {
    pub(crate) message: TextList,
    pub(crate) code: TextList,
    pub(crate) status: TextList,
    pub(crate) finish_reason: TextList,
    pub(crate) code_headers: TextList,
    pub(crate) should_retry_headers: TextList,
    pub(crate) should_retry_fields: TextList,
    pub(crate) status_text: TextList,
    pub(crate) noise: TextList,
    pub(crate) exceptions: Vec<(Spanned<String>, u16)>,
    /// Where each list stands that some file gives.
    pub(crate) places: Vec<Location>,
}

impl SignalsConfig {
    pub(super) fn build(default: &MergedProvider, problems: &mut Vec<Problem>) -> Self {
        let Some(model) = default.signals.clone() else {
            return Self::default();
        };
        let mut places = Vec::new();
        let mut list = |list: Option<Spanned<TextList>>| {
            places.extend(list.as_ref().map(|list| list.at));
            list.map(|list| list.value).unwrap_or_default()
        };
        let exceptions = model.exceptions.into_iter().filter_map(|(name, status)| match u16::try_from(*status) {
            Ok(code) if (100..600).contains(&code) => Some((Spanned::new(name.value.to_ascii_lowercase(), name.at), code)),
            _ => {
                let problem = Problem::new(Code::InvalidStatus, status.at, format!("`{}` is no HTTP status", *status));
                problems.push(problem.hint("write the status that the exception stands for, from 100 to 599"));
                None
            }
        });
        let exceptions = exceptions.collect();
        Self {
            message: list(model.message),
            code: list(model.code),
            status: list(model.status),
            finish_reason: list(model.finish_reason),
            code_headers: list(model.code_headers),
            should_retry_headers: list(model.should_retry_headers),
            should_retry_fields: list(model.should_retry_fields),
            status_text: list(model.status_text),
            noise: list(model.noise),
            exceptions,
            places,
        }
    }
}
