//! A whole rule: what a merged model says, checked.

use super::comparison::{Comparison, Quantity};
use super::fact::Fact;
use super::glob::Glob;
use crate::class::{Action, Class};
use crate::diagnostic::{Code, Problem};
use crate::failure::Transport;
use crate::model::{ConditionsModel, Example, RuleModel, Scope, TextList};
use crate::source::{Location, Spanned};
use crate::status::StatusSet;

/// A rule that says what it catches and what that means.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) id: String,
    pub(crate) provider: usize,
    pub(crate) class: Class,
    pub(crate) action: Option<Action>,
    pub(crate) scope: Scope,
    pub(crate) conditions: Conditions,
    pub(crate) unless: Vec<Spanned<Conditions>>,
    pub(crate) facts: Vec<(Fact, String)>,
    pub(crate) source: Option<String>,
    pub(crate) seen: Option<String>,
    pub(crate) examples: Vec<Example>,
    pub(crate) at: Location,
}

/// What must hold: all of what is given, any of each list. An empty list asks nothing.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    pub(crate) status: Option<StatusSet>,
    pub(crate) code: Vec<String>,
    pub(crate) message: TextList,
    pub(crate) body: TextList,
    pub(crate) header: Vec<(String, TextList)>,
    pub(crate) transport: Vec<Transport>,
    pub(crate) finish_reason: Vec<String>,
    pub(crate) event: Vec<String>,
    pub(crate) model: Vec<Glob>,
    pub(crate) body_empty: Option<bool>,
    pub(crate) when: Vec<Spanned<Comparison>>,
}

impl Rule {
    /// `None` when it is switched off or not whole; the latter is reported.
    pub(super) fn build(model: RuleModel, provider: usize, problems: &mut Vec<Problem>) -> Option<Self> {
        if model.enabled.is_some_and(|enabled| !*enabled) {
            return None;
        }
        if !model.faulty && model.examples.iter().all(|example| example.negative) {
            let problem = Problem::new(Code::NoExample, model.at, format!("rule `{}` has no example of what it catches", *model.id));
            problems.push(match model.lost_example {
                Some(lost) => problem.related(lost, "replaced").hint("examples that are given here replace those of the earlier layer: copy one of those here too"),
                None => problem.hint("add [[rule.example]] with a recorded status and body or message"),
            });
        }
        for example in model.examples.iter().filter(|example| !model.faulty && example.is_empty()) {
            let problem = Problem::new(Code::EmptyExample, example.at.unwrap_or(model.at), format!("this example of `{}` has nothing that could be matched", *model.id));
            problems.push(problem.hint("give at least one of status, body, message, headers, finish_reason, event"));
        }
        if !model.faulty && model.conditions.is_empty() {
            let problem = Problem::new(Code::NoCondition, model.at, format!("rule `{}` has no condition, so it would match every failure", *model.id));
            problems.push(problem.hint("add a `message`, `code` or `status`; an empty list asks nothing"));
        }
        let conditions = Conditions::build(model.conditions, problems);
        if let Some(unless) = model.unless.as_ref().filter(|unless| !model.faulty && unless.iter().any(|veto| veto.is_empty())) {
            let problem = Problem::new(Code::NoCondition, unless.at, format!("this veto of `{}` has no condition, so the rule could never win", *model.id));
            problems.push(problem.hint("say what must not hold, such as unless = { message = 'please wait' }, or leave it out"));
        }
        let unless: Vec<_> =
            model.unless.map(|unless| unless.value).unwrap_or_default().into_iter().map(|veto| Spanned::new(Conditions::build(veto.value, problems), veto.at)).collect();
        let recognises = !conditions.message.is_empty() || !conditions.code.is_empty() || !conditions.body.is_empty();
        let scope = match model.scope {
            Some(scope) => scope.value,
            // A status or a header alone is no wording: what it means is the provider's own affair.
            None if recognises => Scope::Any,
            None => Scope::Provider,
        };
        let facts = model.facts.map(|facts| facts.value).unwrap_or_default();
        let facts = facts.into_iter().filter_map(|(name, path)| Some((Fact::from_name(&name)?, path.value))).collect();
        Some(Self {
            class: model.class?.value,
            action: model.action.map(|action| action.value),
            id: model.id.value,
            provider,
            scope,
            conditions,
            unless,
            facts,
            source: model.source.map(|source| source.value),
            seen: model.seen.map(|seen| seen.value),
            examples: model.examples,
            at: model.at,
        })
    }
}

impl Conditions {
    fn build(model: ConditionsModel, problems: &mut Vec<Problem>) -> Self {
        let list = |list: Option<Spanned<TextList>>| list.map(|list| list.value).unwrap_or_default();
        let plain = |list: Option<Spanned<TextList>>| list.map(|list| list.value.into_iter().map(|text| text.value).collect()).unwrap_or_default();
        let when = list(model.when).into_iter().filter_map(|text| parse_comparison(&text, problems)).collect();
        let header = model.header.map(|header| header.value).unwrap_or_default();
        Self {
            status: model.status.map(|status| status.value).filter(|status| !status.is_empty()),
            code: plain(model.code),
            message: list(model.message),
            body: list(model.body),
            header: header.into_iter().filter(|header| !header.patterns.is_empty()).map(|header| (header.name.value.to_ascii_lowercase(), header.patterns)).collect(),
            transport: model.transport.map(|transport| transport.value).unwrap_or_default(),
            finish_reason: plain(model.finish_reason),
            event: plain(model.event),
            model: list(model.model).iter().map(|glob| Glob::new(glob)).collect(),
            body_empty: model.body_empty.map(|empty| empty.value),
            when,
        }
    }
}

fn parse_comparison(text: &Spanned<String>, problems: &mut Vec<Problem>) -> Option<Spanned<Comparison>> {
    match Comparison::parse(text) {
        Ok(comparison) => Some(Spanned::new(comparison, text.at)),
        Err(reason) => {
            let names = Quantity::NAMES.map(|(name, _)| name).join(", ");
            let problem = Problem::new(Code::InvalidComparison, text.at, format!("`{}` is no comparison: {reason}", **text));
            let several = ["and", "or", "&&", "||"].iter().any(|word| text.split_whitespace().any(|part| part.eq_ignore_ascii_case(word)));
            let hint = if several {
                "write one comparison a text: in a list of them all must hold, and \"or\" takes a rule of its own".to_owned()
            } else {
                format!("write two sides with one of < <= > >= == !=, such as \"requested > limit\"; names: {names}")
            };
            problems.push(problem.hint(hint));
            None
        }
    }
}
