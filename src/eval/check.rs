//! Whether one rule's conditions hold.

use std::cell::OnceCell;

use crate::config::{Comparison, Fact, Quantity};
use crate::failure::Failure;
use crate::ruleset::{CompiledConditions, CompiledRule, Facts, Matched, PatternId, Ruleset};
use crate::signals::Signals;

/// How much of a raw body is searched.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// Everything about one failure that rules can ask, read once.
pub(crate) struct Situation<'s, 'a> {
    pub(crate) ruleset: &'s Ruleset,
    pub(crate) failure: &'s Failure<'a>,
    pub(crate) signals: &'s Signals<'a>,
    pub(crate) matched: Matched<'s>,
    /// The provider that was recognised.
    pub(crate) provider: Option<usize>,
    /// The HTTP status in force, stated by the transport, the body or the text.
    pub(crate) status: Option<u16>,
    /// The model's window, as the caller or the rule files state it.
    pub(crate) window: Option<u64>,
    /// The head of the raw body, or of the message when there is no body. Read only when a rule asks: few do.
    body: OnceCell<Matched<'s>>,
}

/// The first condition of a rule that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unmet {
    Status,
    Transport,
    Code,
    Message,
    FinishReason,
    Event,
    Model,
    BodyEmpty,
    Header,
    Body,
    When(usize),
    Veto(usize),
}

impl<'s, 'a> Situation<'s, 'a> {
    pub(crate) fn new(ruleset: &'s Ruleset, failure: &'s Failure<'a>, signals: &'s Signals<'a>, matched: Matched<'s>, status: Option<u16>) -> Self {
        let provider = ruleset.find(failure.provider.as_deref());
        let known_window = || ruleset.settings(provider).context.window(failure.model.as_deref()?);
        let window = failure.window.or_else(known_window);
        Self { ruleset, failure, signals, matched, provider, status, window, body: OnceCell::new() }
    }

    /// Whether the rule wins when it is asked; if not, the first condition that does not hold.
    pub(crate) fn check(&self, rule: &CompiledRule) -> Result<(), Unmet> {
        self.check_conditions(&rule.conditions)?;
        let facts = || self.facts(rule);
        check_comparisons(&rule.conditions.when, self, &facts)?;
        let vetoed = |veto: &CompiledConditions| self.check_conditions(veto).is_ok() && check_comparisons(&veto.when, self, &facts).is_ok();
        match rule.unless.iter().position(vetoed) {
            Some(veto) => Err(Unmet::Veto(veto)),
            None => Ok(()),
        }
    }

    /// Whether the rule can match at all, by its status and the words that its patterns require. Cheap: nothing is searched.
    pub(crate) fn may_match(&self, rule: &CompiledRule) -> bool {
        let CompiledConditions { status, message, .. } = &rule.conditions;
        status.is_none_or(|status| status.contains(self.status)) && (message.is_empty() || message.iter().any(|&pattern| self.matched.may_contain(pattern)))
    }

    /// What the rule's patterns and fields state about tokens.
    pub(crate) fn facts(&self, rule: &CompiledRule) -> Facts {
        let mut facts = Facts::default();
        for &pattern in &rule.conditions.message {
            self.matched.captures(pattern, |fact, text, after| facts.add_before(fact, text, after));
            if facts != Facts::default() {
                break;
            }
        }
        if facts == Facts::default() && !rule.conditions.body.is_empty() {
            rule.conditions.body.iter().for_each(|&pattern| self.body().captures(pattern, |fact, text, after| facts.add_before(fact, text, after)));
        }
        // A field that says the same as the text must not be added to it.
        let stated = facts;
        for (fact, path) in rule.facts.iter().filter(|(fact, _)| !stated.has(*fact)) {
            let field = self.signals.fields().iter().find(|field| field.is(path));
            field.into_iter().for_each(|field| facts.add(*fact, field.value()));
        }
        facts.completed()
    }

    /// What the rule's patterns capture as a wait.
    pub(crate) fn captured_delay(&self, rule: &CompiledRule) -> Option<&str> {
        rule.conditions.message.iter().find_map(|&pattern| self.matched.captured(pattern, Fact::Delay))
    }

    /// All conditions but the comparisons, cheapest first.
    fn check_conditions(&self, conditions: &CompiledConditions) -> Result<(), Unmet> {
        let CompiledConditions { status, code, message, body, header, transport, finish_reason, event, model, body_empty, when: _ } = conditions;
        require(status.is_none_or(|status| status.contains(self.status)), Unmet::Status)?;
        require(transport.is_empty() || self.failure.transport.is_some_and(|given| transport.contains(&given)), Unmet::Transport)?;
        require(message.is_empty() || self.matched.any(message), Unmet::Message)?;
        require(code.is_empty() || self.has_code(code), Unmet::Code)?;
        require(finish_reason.is_empty() || self.has_finish_reason(finish_reason), Unmet::FinishReason)?;
        require(event.is_empty() || self.has_event(event), Unmet::Event)?;
        require(model.is_empty() || self.failure.model.as_deref().is_some_and(|given| model.iter().any(|glob| glob.matches(given))), Unmet::Model)?;
        require(body_empty.is_none_or(|empty| empty == self.signals.is_empty()), Unmet::BodyEmpty)?;
        let has_header = |wanted: &crate::ruleset::HeaderCondition| {
            let values = self.failure.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(&wanted.name));
            values.into_iter().any(|(_, value)| wanted.patterns.iter().any(|(_, program)| program.is_match(value)))
        };
        require(header.iter().all(has_header), Unmet::Header)?;
        require(body.is_empty() || self.has_body(body), Unmet::Body)
    }

    fn has_code(&self, wanted: &[String]) -> bool {
        let given = || self.signals.codes();
        wanted.iter().any(|wanted| given().any(|code| code.eq_ignore_ascii_case(wanted)))
    }

    fn has_finish_reason(&self, wanted: &[String]) -> bool {
        let is_wanted = |given: &str| wanted.iter().any(|wanted| given.eq_ignore_ascii_case(wanted));
        self.failure.finish_reason.as_deref().is_some_and(is_wanted) || self.signals.finish_reasons().any(is_wanted)
    }

    fn has_event(&self, wanted: &[String]) -> bool {
        let given = self.failure.event.as_deref().or(self.signals.event());
        given.is_some_and(|given| wanted.iter().any(|wanted| given.eq_ignore_ascii_case(wanted)))
    }

    fn has_body(&self, wanted: &[PatternId]) -> bool {
        self.body().any(wanted)
    }

    fn body(&self) -> &Matched<'s> {
        self.body.get_or_init(|| {
            let body = self.failure.body.as_deref().or(self.failure.message.as_deref().map(str::as_bytes)).unwrap_or_default();
            self.ruleset.bodies().matches(String::from_utf8_lossy(&body[..body.len().min(MAX_BODY_BYTES)]))
        })
    }

    fn quantity(&self, quantity: Quantity, facts: &Facts) -> Option<f64> {
        match quantity {
            Quantity::Estimate => self.failure.estimate.map(|tokens| tokens as f64),
            Quantity::Window => self.window.map(|tokens| tokens as f64),
            Quantity::Status => self.status.map(f64::from),
            Quantity::Limit | Quantity::Requested | Quantity::Excess | Quantity::OutputLimit => facts.quantity(quantity),
        }
    }
}

fn require(holds: bool, unmet: Unmet) -> Result<(), Unmet> {
    if holds { Ok(()) } else { Err(unmet) }
}

fn check_comparisons(comparisons: &[Comparison], situation: &Situation<'_, '_>, facts: &impl Fn() -> Facts) -> Result<(), Unmet> {
    if comparisons.is_empty() {
        return Ok(());
    }
    let facts = facts();
    match comparisons.iter().position(|comparison| !comparison.holds(|quantity| situation.quantity(quantity, &facts))) {
        Some(index) => Err(Unmet::When(index)),
        None => Ok(()),
    }
}
