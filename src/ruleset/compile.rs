//! From a configuration to a ruleset.

use std::collections::HashSet;
use std::sync::Arc;

use super::index::Index;
use super::order::Order;
use super::pattern::Pattern;
use super::pattern_set::{PatternId, PatternSetBuilder};
use super::program::Program;
use super::rule::{CompiledConditions, CompiledRule, HeaderCondition, RuleInfo, StatusForms};
use super::{BaseTables, CompiledProvider, Ruleset, Version};
use crate::config::{Conditions, Config, Fact, Quantity, Rule, SignalsConfig};
use crate::delay::Forms;
use crate::diagnostic::{Code, Diagnostics, Problem};
use crate::signals::{Role, Vocabulary};
use crate::source::{Location, SourceId, Sources, Spanned};

/// More rules than this are refused.
const MAX_RULES: usize = 20_000;

/// Compiles everything; problems are appended. `None` when the patterns cannot be built at all. What an earlier ruleset has of the same patterns is taken over.
pub(crate) fn compile(config: Config, earlier: Option<&Ruleset>, problems: &mut Vec<Problem>) -> Option<Ruleset> {
    let Config { sources, mut providers, default_provider, names, signals, delay } = config;
    let mut messages = PatternSetBuilder::after(earlier.map(Ruleset::messages));
    let mut bodies = PatternSetBuilder::after(earlier.map(Ruleset::bodies));
    let conditions = || providers.iter().flat_map(|provider| &provider.rules).flat_map(|rule| std::iter::once(&rule.conditions).chain(rule.unless.iter().map(|veto| &veto.value)));
    messages.prepare(conditions().flat_map(|conditions| &conditions.message), &sources);
    bodies.prepare(conditions().flat_map(|conditions| &conditions.body), &sources);
    let mut compiler = Compiler { sources: &sources, messages, bodies, problems };
    let provider_names: Vec<String> = providers.iter().map(|provider| provider.name.clone()).collect();
    let written: Vec<Rule> = providers.iter_mut().flat_map(|provider| std::mem::take(&mut provider.rules)).collect();
    let at = Location::new(SourceId::from_index(0), 0..0);
    if written.len() > MAX_RULES {
        let problem = Problem::new(Code::RulesetTooLarge, at, format!("there are {} rules; {MAX_RULES} are allowed", written.len()));
        compiler.problems.push(problem.hint("remove what nobody sees any more"));
        return None;
    }
    let base_tables = BaseTables { signals: signals.clone(), delay: delay.clone() };
    let vocabulary = vocabulary(&signals, &written, &delay.forms);
    let rules: Vec<CompiledRule> = written.into_iter().enumerate().map(|(number, rule)| compiler.rule(number, rule, &provider_names)).collect();
    let forms = Forms::compile(delay.forms, |pattern| compiler.capturing(pattern, Fact::Delay));
    let statuses = StatusForms {
        patterns: signals.status_text.iter().filter_map(|pattern| compiler.capturing(pattern, Fact::Status)).collect(),
        exceptions: signals.exceptions.iter().rev().map(|(name, status)| (name.value.clone(), *status)).collect(),
    };
    let mut noise: Vec<_> = signals.noise.iter().filter_map(|pattern| compiler.message(pattern)).collect();
    noise.sort_unstable();
    let Compiler { messages, bodies, .. } = compiler;
    let hung_on = rules.iter().flat_map(|rule| &rule.conditions.message).chain(&noise).copied().collect();
    let (messages, bodies) = (messages.build(&hung_on), bodies.build(&HashSet::new()));
    let base = providers[default_provider].chain.clone();
    let count = providers.len();
    let index = Index::build(&rules, messages.len(), count);
    let unknown_order = Order::of_unknown(&base, count);
    let providers = providers.into_iter().map(|config| CompiledProvider { order: Order::of(&config, &base, count), config }).collect();
    let lower = |list: Vec<Spanned<String>>| list.into_iter().map(|text| text.value.to_ascii_lowercase()).collect();
    Some(Ruleset {
        version: Version::of(&sources),
        providers,
        default_provider,
        names,
        rules,
        index,
        unknown_order,
        messages,
        bodies,
        vocabulary,
        delay: forms,
        statuses,
        noise,
        should_retry_headers: lower(signals.should_retry_headers),
        should_retry_fields: signals.should_retry_fields.into_iter().map(|text| text.value).collect(),
        code_headers: lower(signals.code_headers),
        base: base_tables,
        warnings: Diagnostics::new(Vec::new(), Arc::clone(&sources)),
        sources,
    })
}

/// Which keys of a structured body are worth reading: those of the signals, and those that some rule or delay form asks for.
fn vocabulary(signals: &SignalsConfig, rules: &[Rule], forms: &[crate::model::DelayForm]) -> Vocabulary {
    let mut vocabulary = Vocabulary::new();
    let roles = [
        (&signals.message, Role::Message),
        (&signals.code, Role::Code),
        (&signals.status, Role::Status),
        (&signals.finish_reason, Role::FinishReason),
        (&signals.should_retry_fields, Role::Field),
    ];
    for (keys, role) in roles {
        keys.iter().for_each(|key| vocabulary.add(last_key(key), role));
    }
    for (_, path) in rules.iter().flat_map(|rule| &rule.facts) {
        vocabulary.add(last_key(path), Role::Field);
    }
    for form in forms {
        if let crate::model::DelaySource::Field(path) = &form.source {
            vocabulary.add(last_key(path), Role::Field);
        }
    }
    vocabulary
}

fn last_key(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

struct Compiler<'a> {
    sources: &'a Sources,
    messages: PatternSetBuilder,
    bodies: PatternSetBuilder,
    problems: &'a mut Vec<Problem>,
}

impl Compiler<'_> {
    fn rule(&mut self, number: usize, rule: Rule, providers: &[String]) -> CompiledRule {
        let name = format!("{}/{}", providers[rule.provider], rule.id);
        let conditions = self.conditions(&rule.conditions);
        let unless: Vec<_> = rule.unless.iter().map(|veto| Spanned::new(self.conditions(veto), veto.at)).collect();
        let captured = self.captured(&rule, &conditions);
        // A pattern that could not be read may well have what is compared.
        if conditions.message.len() == rule.conditions.message.len() && conditions.body.len() == rule.conditions.body.len() {
            self.check_captured(&rule, &captured);
        }
        self.lint(&rule, &conditions);
        CompiledRule {
            number,
            info: Arc::new(RuleInfo { name, origin: self.sources.origin(rule.at) }),
            provider: rule.provider,
            class: rule.class,
            action: rule.action,
            scope: rule.scope,
            conditions,
            unless,
            facts: rule.facts,
            states_overflow: captured.contains(&Fact::Limit) && (captured.contains(&Fact::Requested) || captured.contains(&Fact::Excess)),
            examples: rule.examples,
            source: rule.source,
            seen: rule.seen,
            at: rule.at,
        }
    }

    fn conditions(&mut self, conditions: &Conditions) -> CompiledConditions {
        CompiledConditions {
            status: conditions.status,
            code: conditions.code.iter().map(|code| code.to_ascii_lowercase()).collect(),
            message: conditions.message.iter().filter_map(|pattern| self.message(pattern)).collect(),
            body: conditions.body.iter().filter_map(|pattern| self.body(pattern)).collect(),
            header: conditions.header.iter().map(|(name, patterns)| self.header(name, patterns)).collect(),
            transport: conditions.transport.clone(),
            finish_reason: conditions.finish_reason.clone(),
            event: conditions.event.clone(),
            model: conditions.model.clone(),
            body_empty: conditions.body_empty,
            when: conditions.when.iter().map(|comparison| comparison.value).collect(),
        }
    }

    fn message(&mut self, text: &Spanned<String>) -> Option<PatternId> {
        if let Some(known) = self.messages.find(text) {
            return Some(known);
        }
        let program = self.program(self.messages.ready(text), text)?;
        Some(self.messages.add(text, program))
    }

    /// A pattern that is only there for what it captures.
    fn capturing(&mut self, text: &Spanned<String>, wanted: Fact) -> Option<PatternId> {
        let told = self.problems.len();
        let Some(id) = self.message(text) else {
            // Of the captures that there are this is the only one that is asked for here.
            let unknown = self.problems.iter_mut().skip(told).filter(|problem| problem.code == Code::UnknownCapture);
            unknown.for_each(|problem| problem.hint = Some(format!("what is read here is (?<{}>...)", wanted.name())));
            return None;
        };
        if !self.messages.pattern(id).captures().iter().any(|(_, fact)| *fact == wanted) {
            let name = wanted.name();
            let problem = Problem::new(Code::UncapturedName, text.at, format!("this pattern captures no `{name}`, and so says nothing"));
            self.problems.push(problem.hint(format!("put (?<{name}>...) around the part that states it")));
        }
        Some(id)
    }

    fn body(&mut self, text: &Spanned<String>) -> Option<PatternId> {
        if let Some(known) = self.bodies.find(text) {
            return Some(known);
        }
        let program = self.program(self.bodies.ready(text), text)?;
        Some(self.bodies.add(text, program))
    }

    fn header(&mut self, name: &str, patterns: &[Spanned<String>]) -> HeaderCondition {
        let compiled = patterns.iter().filter_map(|text| Some((text.value.clone(), Program::new(self.parse(text)?))));
        HeaderCondition { name: name.to_owned(), patterns: compiled.collect() }
    }

    fn program(&mut self, ready: Option<Arc<Program>>, text: &Spanned<String>) -> Option<Arc<Program>> {
        ready.or_else(|| Some(Arc::new(Program::new(self.parse(text)?))))
    }

    fn parse(&mut self, text: &Spanned<String>) -> Option<Pattern> {
        Pattern::parse(text, self.sources).map_err(|problem| self.problems.push(problem)).ok()
    }

    /// All facts that the rule may find.
    fn captured(&self, rule: &Rule, conditions: &CompiledConditions) -> Vec<Fact> {
        let messages = conditions.message.iter().map(|&id| self.messages.pattern(id));
        let patterns = messages.chain(conditions.body.iter().map(|&id| self.bodies.pattern(id)));
        patterns.flat_map(Pattern::captures).map(|(_, fact)| *fact).chain(rule.facts.iter().map(|(fact, _)| *fact)).collect()
    }

    /// A comparison that can never be made is a slip.
    fn check_captured(&mut self, rule: &Rule, captured: &[Fact]) {
        for comparison in rule.conditions.when.iter().chain(rule.unless.iter().flat_map(|veto| &veto.when)) {
            for quantity in comparison.quantities() {
                let fact = match quantity {
                    Quantity::Limit => Fact::Limit,
                    Quantity::Requested => Fact::Requested,
                    Quantity::Excess => Fact::Excess,
                    Quantity::OutputLimit => Fact::OutputLimit,
                    Quantity::Estimate | Quantity::Used | Quantity::Output | Quantity::Window | Quantity::Status => continue,
                };
                let derived = fact == Fact::Requested && captured.contains(&Fact::Excess);
                if !captured.contains(&fact) && !derived {
                    let problem = Problem::new(Code::UncapturedName, comparison.at, format!("rule `{}` compares `{}`, but captures no such number", rule.id, quantity.name()));
                    self.problems.push(problem.hint(format!("name a group of the message pattern, as in (?<{}>\\d+)", quantity.name())));
                }
            }
        }
    }

    /// Patterns that cannot do what their author hopes.
    fn lint(&mut self, rule: &Rule, conditions: &CompiledConditions) {
        for (text, &id) in rule.conditions.message.iter().zip(&conditions.message) {
            if self.messages.pattern(id).is_digits_only() {
                let problem = Problem::new(Code::DigitsOnly, text.at, "this pattern matches bare digits, which ids, sizes and prices have too");
                self.problems.push(problem.hint("match words around the number, or use `status` or `code`"));
            }
        }
    }
}
