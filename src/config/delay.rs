//! The merged `[[delay]]` forms, in order of precedence.

use super::merge::MergedProvider;
use crate::diagnostic::{Code, Problem};
use crate::model::DelayForm;

/// All forms; the first that yields a wait decides.
#[derive(Debug, Clone, Default)]
pub(crate) struct DelayForms {
    pub(crate) forms: Vec<DelayForm>,
}

impl DelayForms {
    pub(super) fn build(default: &MergedProvider, problems: &mut Vec<Problem>) -> Self {
        for (index, form) in default.delay.iter().enumerate() {
            if let Some(first) = default.delay[..index].iter().find(|first| *first.id == *form.id) {
                let problem = Problem::new(Code::DuplicateRule, form.id.at, format!("the id `{}` names two forms", *form.id));
                problems.push(problem.related(first.id.at, "first used here").hint("rename one of them"));
            }
        }
        Self { forms: default.delay.clone() }
    }
}
