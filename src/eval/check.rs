//! Whether one rule's conditions hold.

use std::cell::OnceCell;

use crate::config::{Comparison, Fact, Quantity};
use crate::failure::{Failure, UsageTold};
use crate::ruleset::{CompiledConditions, CompiledRule, Facts, Matched, PatternId, Ruleset};
use crate::signals::{Field, Signals};
use crate::usage::Usage;

/// How much of a raw body is searched.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// A longer body is not read for its usage.
const MAX_REPLY_BYTES: usize = 1024 * 1024;

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
    /// The rules worth asking: rank and number, in order.
    pub(super) candidates: OnceCell<Vec<(u16, u32)>>,
    /// The head of the raw body, or of the message when there is no body. Read only when a rule asks: few do.
    body: OnceCell<Matched<'s>>,
    /// The model's window, as the caller or the rule files state it, and what the call says it took. As lazy, for the same reason.
    window: OnceCell<Option<u64>>,
    usage: OnceCell<Option<Usage>>,
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
        Self { ruleset, failure, signals, matched, provider, status, candidates: OnceCell::new(), body: OnceCell::new(), window: OnceCell::new(), usage: OnceCell::new() }
    }

    /// The same failure when nobody knows whose it is. What was found in its text stays found.
    pub(crate) fn of_unknown(self) -> Self {
        Self { provider: None, candidates: OnceCell::new(), window: OnceCell::new(), usage: OnceCell::new(), ..self }
    }

    /// Whether the rule wins when it is asked; if not, the first condition that does not hold.
    pub(crate) fn check(&self, rule: &CompiledRule) -> Result<(), Unmet> {
        self.check_conditions(&rule.conditions)?;
        let facts = || self.facts(rule);
        check_comparisons(&rule.conditions.when, self, &facts)?;
        match rule.unless.iter().position(|veto| self.is_vetoed(rule, veto)) {
            Some(veto) => Err(Unmet::Veto(veto)),
            None => Ok(()),
        }
    }

    /// Whether this veto of the rule holds.
    pub(crate) fn is_vetoed(&self, rule: &CompiledRule, veto: &CompiledConditions) -> bool {
        self.check_conditions(veto).is_ok() && check_comparisons(&veto.when, self, &|| self.facts(rule)).is_ok()
    }

    /// Whether the rule can match at all, by its status and the words that its patterns require. Cheap: nothing is searched.
    pub(crate) fn may_match(&self, rule: &CompiledRule) -> bool {
        let CompiledConditions { status, message, .. } = &rule.conditions;
        status.is_none_or(|status| status.contains(self.status)) && (message.is_empty() || message.iter().any(|&pattern| self.matched.may_contain(pattern)))
    }

    /// What the rule's patterns and fields state about tokens.
    pub(crate) fn facts(&self, rule: &CompiledRule) -> Facts {
        let mut facts = Facts::default();
        // The first wording that states anything is believed, unless a later one states both numbers of an overflow.
        for &pattern in &rule.conditions.message {
            let mut stated = Facts::default();
            self.matched.captures(pattern, |fact, captured| stated.add_captured(fact, captured));
            if facts == Facts::default() || stated.completed().completes(&facts) {
                facts = stated;
            }
            if facts.overflows() {
                break;
            }
        }
        if facts == Facts::default() && !rule.conditions.body.is_empty() {
            rule.conditions.body.iter().for_each(|&pattern| self.body().captures(pattern, |fact, captured| facts.add_captured(fact, captured)));
        }
        // A field that says the same as the text must not be added to it.
        let stated = facts;
        for (fact, path) in rule.facts.iter().filter(|(fact, _)| !stated.has(*fact)) {
            let field = self.signals.fields().iter().find(|field| field.is(path));
            field.into_iter().for_each(|field| facts.add(*fact, field.value()));
        }
        facts.completed()
    }

    /// What the call says that it took of the window.
    pub(crate) fn used(&self) -> Option<u64> {
        Some(self.usage()?.used(self.ruleset.settings(self.provider).context.occupies()))
    }

    /// What the rule's patterns capture as a wait, or the field holds that it names for one.
    pub(crate) fn captured_delay(&self, rule: &CompiledRule) -> Option<&str> {
        let captured = rule.conditions.message.iter().find_map(|&pattern| self.matched.captured(pattern, Fact::Delay));
        let path = || rule.facts.iter().find(|(fact, _)| *fact == Fact::Delay).map(|(_, path)| path);
        captured.or_else(|| self.signals.fields().iter().find(|field| path().is_some_and(|path| field.is(path))).map(Field::value))
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

    /// The raw body's head, searched.
    pub(super) fn body(&self) -> &Matched<'s> {
        self.body.get_or_init(|| {
            let body = self.failure.body.as_deref().or(self.failure.message.as_deref().map(str::as_bytes)).unwrap_or_default();
            self.ruleset.bodies().matches(String::from_utf8_lossy(&body[..body.len().min(MAX_BODY_BYTES)]))
        })
    }

    pub(super) fn window(&self) -> Option<u64> {
        let known = || self.ruleset.limits(self.provider, self.failure.model.as_deref()?).window.map(|window| *window);
        *self.window.get_or_init(|| self.failure.window.or_else(known).filter(|window| *window > 0))
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        *self.usage.get_or_init(|| {
            let read = |json: &str| self.ruleset.settings(self.provider).context.reader().read(json).0;
            match &self.failure.usage {
                Some(UsageTold::Counted(usage)) => Some(*usage),
                Some(UsageTold::Json(json)) => read(json),
                None => read(&String::from_utf8_lossy(self.failure.body.as_deref().filter(|body| body.len() <= MAX_REPLY_BYTES)?)),
            }
        })
    }

    fn quantity(&self, quantity: Quantity, facts: &Facts) -> Option<f64> {
        match quantity {
            Quantity::Estimate => self.failure.estimate.map(|tokens| tokens as f64),
            Quantity::Used => self.used().map(|tokens| tokens as f64),
            Quantity::Output => self.usage().map(|usage| usage.output() as f64),
            Quantity::Window => self.window().map(|tokens| tokens as f64),
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
