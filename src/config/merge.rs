//! One provider from all its files: later layers override earlier ones, per key and per rule id.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::names::canonical_name;
use crate::diagnostic::{Code, Problem, Severity, did_you_mean, misspelt};
use crate::model::{ContextModel, DEFAULT_PROVIDER, DelayForm, Example, RetryModel, RuleFile, RuleModel, SignalsModel, TextList, parse_file};
use crate::parallel::map_chunks;
use crate::source::{SourceId, Sources, Spanned};

/// So many files are worth a thread to parse them.
const FILES_A_THREAD: usize = 8;

/// A provider's files, merged. Values keep the place of the file they came from.
#[derive(Debug)]
pub(crate) struct MergedProvider {
    pub(crate) name: Spanned<String>,
    pub(crate) aliases: TextList,
    pub(crate) extends: TextList,
    pub(crate) gateway: Option<Spanned<bool>>,
    pub(crate) status: Vec<(Spanned<crate::status::StatusSet>, Spanned<crate::class::Class>)>,
    pub(crate) retry: RetryModel,
    pub(crate) context: ContextModel,
    pub(crate) signals: Option<SignalsModel>,
    pub(crate) delay: Vec<DelayForm>,
    pub(crate) rules: Vec<RuleModel>,
    /// Its files, the first layer's first.
    pub(crate) files: Vec<SourceId>,
    layer: usize,
}

/// The providers beside the one whose rules are changed: where else a rule may be that is not there.
#[derive(Clone, Copy)]
struct Others<'a> {
    /// Names that the file may have been meant for, when no earlier layer has its provider.
    names: Option<&'a BTreeMap<String, usize>>,
    merged: &'a [MergedProvider],
}

impl<'o> Others<'o> {
    /// The provider that has the rule: one whose rules are taken over, or that of all; with `any`, else any other.
    fn with_rule(self, id: &str, extends: &TextList, any: bool) -> Option<&'o str> {
        let named = |name: &str| self.merged.iter().find(|provider| canonical_name(&provider.name) == canonical_name(name));
        let mut chain: Vec<&'o MergedProvider> = extends.iter().filter_map(|name| named(name)).collect();
        let mut next = 0;
        while let Some(provider) = chain.get(next) {
            // What is there already is not gone through again: files may extend each other in a circle.
            let more: Vec<_> = provider.extends.iter().filter_map(|name| named(name)).filter(|more| chain.iter().all(|known| !std::ptr::eq(*known, *more))).collect();
            chain.extend(more);
            next += 1;
        }
        let all = self.merged.iter().filter(|provider| any || *provider.name == *DEFAULT_PROVIDER);
        let found = chain.into_iter().chain(all).find(|provider| provider.rules.iter().any(|rule| *rule.id == *id));
        found.map(|provider| provider.name.as_str())
    }
}

/// Words for the base layer that people try.
const BASE_WORDS: [&str; 7] = ["all", "any", "base", "common", "everything", "global", "shared"];

/// All providers, by name; and whether no file is refused so that its provider is not known.
pub(crate) fn merge(sources: &Sources, problems: &mut Vec<Problem>) -> (Vec<MergedProvider>, bool) {
    let mut merged: Vec<MergedProvider> = Vec::new();
    // By every name a provider has, so that an override file may use an alias.
    let mut by_name: BTreeMap<String, usize> = BTreeMap::new();
    let ids: Vec<_> = sources.ids().filter(|&id| sources.get(id).is_some_and(|source| source.is_whole && !source.text.is_empty())).collect();
    let refused: Vec<_> = problems.iter().filter(|problem| problem.code.severity() == Severity::Error).map(|problem| problem.at.source).collect();
    let mut is_complete = sources.ids().all(|id| ids.contains(&id) || !refused.contains(&id));
    let files = map_chunks(&ids, FILES_A_THREAD, |ids| ids.iter().map(|&id| (id, parse_file(id, sources.text(id)))).collect());
    for (id, (file, found)) in files {
        problems.extend(found);
        let Some(file) = file else {
            is_complete = false;
            continue;
        };
        let layer = sources.layer_index(id);
        match by_name.get(&canonical_name(&file.provider)) {
            Some(&index) if merged[index].layer == layer => problems.push(duplicate_provider(&merged[index], &file)),
            Some(&index) => {
                let mut provider = merged.remove(index);
                let others = Others { names: None, merged: &merged };
                provider.override_with(file, layer, &others, problems);
                merged.insert(index, provider);
            }
            None => {
                problems.extend(misspelt_provider(&file, merged.iter().filter(|earlier| sources.layer_index(earlier.files[0]) < layer)));
                let provider = MergedProvider::new(file, layer, &Others { names: Some(&by_name), merged: &merged }, problems);
                let names = std::iter::once(&provider.name).chain(&provider.aliases);
                for name in names {
                    by_name.entry(canonical_name(name)).or_insert(merged.len());
                }
                merged.push(provider);
            }
        }
    }
    merged.sort_by(|a, b| a.name.value.cmp(&b.name.value));
    (merged, is_complete)
}

/// A file of mere settings for a provider that no earlier layer has, when one of them is called nearly so. With rules of its own, or with rules taken over, it is for somebody new.
fn misspelt_provider<'m>(file: &RuleFile, earlier: impl Iterator<Item = &'m MergedProvider> + Clone) -> Option<Problem> {
    if !file.rules.is_empty() || !file.extends.is_empty() || !file.aliases.is_empty() || file.gateway.is_some() {
        return None;
    }
    let names = earlier.flat_map(|provider| std::iter::once(&provider.name).chain(&provider.aliases)).map(|name| name.as_str());
    let base = names.clone().find(|name| *name == DEFAULT_PROVIDER).filter(|_| BASE_WORDS.iter().any(|word| file.provider.eq_ignore_ascii_case(word)));
    let meant = base.or_else(|| misspelt(&file.provider, names))?;
    let problem = Problem::new(Code::MisspeltName, file.provider.at, format!("no earlier layer has a provider `{}`, so these settings are for a new one", *file.provider));
    let hint = if meant == DEFAULT_PROVIDER {
        format!("did you mean \"{meant}\", which all inherit from?")
    } else {
        format!("did you mean \"{meant}\"? If it is new, say whose rules it takes over, such as extends = [\"{meant}\"]")
    };
    Some(problem.label("a new provider").hint(hint))
}

fn duplicate_provider(first: &MergedProvider, second: &RuleFile) -> Problem {
    Problem::new(Code::DuplicateProvider, second.provider.at, format!("two files of one directory are for `{}`", *second.provider))
        .label("the second one")
        .related(first.name.at, "the first one")
        .hint("move the rules into one file, or the second file into an override directory")
}

impl MergedProvider {
    fn new(file: RuleFile, layer: usize, others: &Others<'_>, problems: &mut Vec<Problem>) -> Self {
        let mut provider = Self {
            files: vec![file.provider.at.source],
            name: file.provider,
            aliases: file.aliases,
            extends: file.extends,
            gateway: file.gateway,
            status: file.status,
            retry: file.retry,
            context: file.context,
            signals: file.signals,
            delay: file.delay,
            rules: Vec::new(),
            layer,
        };
        provider.override_rules(file.rules, others, problems);
        provider
    }

    fn override_with(&mut self, file: RuleFile, layer: usize, others: &Others<'_>, problems: &mut Vec<Problem>) {
        self.layer = layer;
        self.files.push(file.provider.at.source);
        self.aliases.extend(file.aliases);
        if !file.extends.is_empty() {
            self.extends = file.extends;
        }
        replace(&mut self.gateway, file.gateway);
        // The first row that has a status decides, so the later layer's rows go first.
        self.status.splice(0..0, file.status);
        merge_retry(&mut self.retry, file.retry);
        merge_context(&mut self.context, file.context);
        merge_signals(&mut self.signals, file.signals);
        self.merge_delay(file.delay);
        self.override_rules(file.rules, others, problems);
    }

    /// Rules with a known id change the keys that they give; new ones go before those of earlier layers.
    fn override_rules(&mut self, rules: Vec<RuleModel>, others: &Others<'_>, problems: &mut Vec<Problem>) {
        let earlier = self.rules.len();
        let mut added: Vec<RuleModel> = Vec::new();
        let mut touched: BTreeMap<String, crate::source::Location> = BTreeMap::new();
        for rule in rules {
            if let Some(&first) = touched.get(rule.id.value.as_str()) {
                let problem = Problem::new(Code::DuplicateRule, rule.id.at, format!("the id `{}` is used twice in this file", *rule.id));
                problems.push(problem.label("used again here").related(first, "first used here").hint("rename one of them"));
                continue;
            }
            touched.insert(rule.id.value.clone(), rule.id.at);
            match self.rules.iter_mut().find(|known| *known.id == *rule.id) {
                Some(known) => merge_rule(known, rule),
                // Its faults have been told, and what it seems to lack may be among them.
                None if is_change_only(&rule) && rule.faulty => {}
                None if is_change_only(&rule) => {
                    let known = self.rules[..earlier].iter().map(|rule| rule.id.as_str());
                    let meant = did_you_mean(&self.name, others.names.into_iter().flat_map(|names| names.keys().map(String::as_str)));
                    let switched_off = rule.enabled.is_some_and(|enabled| !*enabled);
                    let elsewhere = others.with_rule(&rule.id, &self.extends, switched_off);
                    problems.push(nothing_to_override(&rule, &self.name, meant, elsewhere, &known));
                }
                None => added.push(rule),
            }
        }
        self.rules.splice(0..0, added);
    }

    /// A form with a known id is replaced where it stands; a new one is tried first.
    fn merge_delay(&mut self, forms: Vec<DelayForm>) {
        let mut added = Vec::new();
        for form in forms {
            match self.delay.iter_mut().find(|known| *known.id == *form.id) {
                Some(known) => *known = form,
                None => added.push(form),
            }
        }
        self.delay.splice(0..0, added);
    }
}

/// Whether the rule only makes sense as a change of another: it says neither what it catches nor what that means.
fn is_change_only(rule: &RuleModel) -> bool {
    let switched_off = rule.enabled.is_some_and(|enabled| !*enabled);
    switched_off || rule.class.is_none() || rule.conditions.is_empty()
}

fn nothing_to_override<'a>(rule: &RuleModel, provider: &str, meant_provider: Option<&str>, elsewhere: Option<&str>, known: &(impl Iterator<Item = &'a str> + Clone)) -> Problem {
    let meant = did_you_mean(&rule.id, known.clone());
    let mut missing = Vec::new();
    if rule.class.is_none() {
        missing.push("a class");
    }
    if rule.conditions.is_empty() {
        missing.push("a condition");
    }
    let is_override = known.clone().next().is_some() || rule.enabled.is_some() || elsewhere.is_some();
    if !is_override && rule.class.is_none() {
        return Problem::new(Code::MissingKey, rule.at, format!("rule `{}` has no `class`", *rule.id)).hint("say what the failure is, such as class = \"context_overflow\"");
    }
    if !is_override {
        return Problem::new(Code::NoCondition, rule.at, format!("rule `{}` has no condition, so it would match every failure", *rule.id))
            .hint("add a `message`, `code` or `status`");
    }
    let hint = match (meant, meant_provider) {
        (_, None) if elsewhere.is_some() => {
            let owner = elsewhere.unwrap_or_default();
            format!("the rule is `{owner}/{}`: put this change in a file with provider = \"{owner}\"", *rule.id)
        }
        (Some(meant), _) => format!("did you mean `{meant}`?"),
        (None, Some(provider)) => format!("no earlier layer has this provider at all: did you mean provider = \"{provider}\"?"),
        (None, None) if missing.is_empty() => "remove it".to_owned(),
        (None, None) => format!("a new rule must be whole: this one lacks {}", missing.join(" and ")),
    };
    Problem::new(Code::NothingToOverride, rule.id.at, format!("no earlier layer has a rule `{}` for `{provider}`", *rule.id)).label("changes nothing").hint(hint)
}

fn replace<T>(earlier: &mut Option<T>, later: Option<T>) {
    if later.is_some() {
        *earlier = later;
    }
}

fn merge_rule(earlier: &mut RuleModel, later: RuleModel) {
    let RuleModel { id, at, class, action, enabled, scope, conditions, unless, facts, source, seen, examples, lost_example: _, faulty } = later;
    earlier.faulty |= faulty;
    earlier.id = id;
    earlier.at = at;
    replace(&mut earlier.class, class);
    replace(&mut earlier.action, action);
    replace(&mut earlier.enabled, enabled);
    replace(&mut earlier.scope, scope);
    replace(&mut earlier.unless, unless);
    replace(&mut earlier.facts, facts);
    replace(&mut earlier.source, source);
    replace(&mut earlier.seen, seen);
    if !examples.is_empty() {
        let shown = |examples: &[Example]| examples.iter().find(|example| !example.negative).and_then(|example| example.at);
        earlier.lost_example = if shown(&examples).is_some() { None } else { shown(&earlier.examples).or(earlier.lost_example) };
        earlier.examples = examples;
    }
    let known = &mut earlier.conditions;
    replace(&mut known.status, conditions.status);
    replace(&mut known.code, conditions.code);
    replace(&mut known.message, conditions.message);
    replace(&mut known.body, conditions.body);
    replace(&mut known.header, conditions.header);
    replace(&mut known.transport, conditions.transport);
    replace(&mut known.finish_reason, conditions.finish_reason);
    replace(&mut known.event, conditions.event);
    replace(&mut known.model, conditions.model);
    replace(&mut known.body_empty, conditions.body_empty);
    replace(&mut known.when, conditions.when);
}

/// Also used along the chain of inheritance, where the nearer file is the later one.
pub(super) fn merge_retry(earlier: &mut RetryModel, later: RetryModel) {
    let RetryModel {
        max_attempts,
        base,
        factor,
        cap,
        jitter,
        retryable,
        fatal,
        server_delay_max,
        server_delay_over_max,
        deadline,
        cost,
        budget_capacity,
        budget_per_second,
        budget_per_success,
        classes,
        models,
        profiles,
        unread,
    } = later;
    earlier.unread |= unread;
    replace(&mut earlier.max_attempts, max_attempts);
    replace(&mut earlier.base, base);
    replace(&mut earlier.factor, factor);
    replace(&mut earlier.cap, cap);
    replace(&mut earlier.jitter, jitter);
    replace(&mut earlier.retryable, retryable);
    replace(&mut earlier.fatal, fatal);
    replace(&mut earlier.server_delay_max, server_delay_max);
    replace(&mut earlier.server_delay_over_max, server_delay_over_max);
    replace(&mut earlier.deadline, deadline);
    replace(&mut earlier.cost, cost);
    replace(&mut earlier.budget_capacity, budget_capacity);
    replace(&mut earlier.budget_per_second, budget_per_second);
    replace(&mut earlier.budget_per_success, budget_per_success);
    merge_parts(&mut earlier.classes, classes);
    merge_parts(&mut earlier.models, models);
    merge_parts(&mut earlier.profiles, profiles);
}

fn merge_parts<K: PartialEq>(earlier: &mut Vec<(Spanned<K>, RetryModel)>, later: Vec<(Spanned<K>, RetryModel)>) {
    for (key, model) in later {
        match earlier.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => merge_retry(known, model),
            None => earlier.push((key, model)),
        }
    }
}

pub(super) fn merge_context(earlier: &mut ContextModel, later: ContextModel) {
    let ContextModel { reserved_tokens, occupies, usage, finish, models, unread } = later;
    earlier.unread |= unread;
    replace(&mut earlier.reserved_tokens, reserved_tokens);
    replace(&mut earlier.occupies, occupies);
    replace(&mut earlier.finish.at, finish.at);
    replace(&mut earlier.finish.truncated, finish.truncated);
    replace(&mut earlier.finish.overflow, finish.overflow);
    replace(&mut earlier.finish.length, finish.length);
    // A shape with a known id is changed where it stands, key by key; a new one is tried first.
    let mut added = Vec::new();
    for shape in usage {
        match earlier.usage.iter_mut().find(|known| known.id == shape.id) {
            Some(known) => *known = Spanned::new(Arc::new(known.overridden_by(&shape)), shape.at),
            None => added.push(shape),
        }
    }
    earlier.usage.splice(0..0, added);
    for model in models {
        match earlier.models.iter_mut().find(|known| known.pattern == model.pattern) {
            Some(known) => {
                // Window and input limit belong together: whoever gives the one says all about the other.
                if model.window.is_some() {
                    known.input = None;
                }
                replace(&mut known.window, model.window);
                replace(&mut known.input, model.input);
                replace(&mut known.reserved_tokens, model.reserved_tokens);
                replace(&mut known.source, model.source);
                known.pattern = model.pattern;
            }
            None => earlier.models.push(model),
        }
    }
}

fn merge_signals(earlier: &mut Option<SignalsModel>, later: Option<SignalsModel>) {
    let Some(later) = later else { return };
    let earlier = earlier.get_or_insert_default();
    replace(&mut earlier.message, later.message);
    replace(&mut earlier.code, later.code);
    replace(&mut earlier.status, later.status);
    replace(&mut earlier.finish_reason, later.finish_reason);
    replace(&mut earlier.code_headers, later.code_headers);
    replace(&mut earlier.should_retry_headers, later.should_retry_headers);
    replace(&mut earlier.should_retry_fields, later.should_retry_fields);
    replace(&mut earlier.status_text, later.status_text);
    replace(&mut earlier.noise, later.noise);
    earlier.exceptions.splice(0..0, later.exceptions);
}
