//! A second evaluator, as simple as can be: one rule after the other, one condition after the other, each pattern a `Regex` of its own. No index, no literals, no cache of answers, no laziness.
//!
//! It must name the same rule as the real one for every recorded failure and for what mutations make of them, over the embedded rules and those of `odd.toml`. Only the reading of the failure is shared: texts, codes and fields are those that
//! `explain` shows.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use overspill::{Comparison, ConditionsView, Context, Extracted, Operand, Operator, Overspill, Quantity, RuleView, Ruleset, SettingValue, Transport, Usage};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use regex::Regex;

use crate::sample::{Sample, corpus, examples, examples_of};

const ODD: &str = include_str!("odd.toml");

static OVERSPILL: LazyLock<Overspill> = LazyLock::new(|| match Ruleset::builder().text("tests", "odd.toml", ODD).build() {
    Ok(ruleset) => ruleset.into(),
    Err(error) => panic!("{error}"),
});
static RULES: LazyLock<Arc<Ruleset>> = LazyLock::new(|| Arc::clone(&OVERSPILL.ruleset()));

/// The corpus and the examples of the rule files.
static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(|| {
    let recorded = ["overflow", "retry", "sdk", "quickstart"].into_iter().flat_map(corpus).map(|recorded| recorded.sample);
    recorded.chain(examples()).chain(odd()).collect()
});

fn odd() -> Vec<Sample> {
    examples_of("odd.toml", ODD)
}

/// The head of a raw body that `body` patterns see.
const BODY_HEAD: usize = 64 * 1024;

/// Larger numbers are no token counts.
const MAX_TOKENS: f64 = (1_u64 << 40) as f64;

#[test]
fn every_recorded_failure_is_decided_by_the_same_rule() {
    let wrong: Vec<String> = SAMPLES.iter().filter_map(|sample| compare(sample).err()).collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_mutated_failure_is_decided_by_the_same_rule(mut sample in prop_oneof![select(SAMPLES.clone()), select(odd())], mutations in prop::collection::vec(mutation(), 0..5)) {
        mutations.iter().for_each(|mutation| mutation.apply(&mut sample));
        prop_assert_eq!(compare(&sample), Ok(()));
    }
}

/// The text without what `noise` matches: a letter that is in any match is out, and where letters are out in the middle of a line a sentence ends.
fn without_noise(text: &str) -> String {
    let noise = RULES.signal_settings().into_iter().find(|setting| setting.key == "noise").expect("a list of noise");
    let SettingValue::List(patterns) = noise.value else { panic!("noise is a list") };
    let found = patterns.iter().flat_map(|pattern| dialect(pattern).find_iter(text).take(64).map(|found| found.range()).collect::<Vec<_>>());
    let mut spans: Vec<_> = found.filter(|span| !span.is_empty()).collect();
    spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
    let mut rest = String::new();
    let mut from = 0;
    for span in spans {
        if span.start >= from {
            rest += &text[from..span.start];
            let behind = &text[span.end..];
            if behind.is_empty() || behind.starts_with('\n') {
                rest.truncate(rest.trim_end_matches(' ').len());
            } else if !rest.is_empty() && !rest.ends_with('\n') {
                rest += ". ";
            }
        }
        from = from.max(span.end);
    }
    rest + &text[from..]
}

/// The error tells who decided for whom.
fn compare(sample: &Sample) -> Result<(), String> {
    let failure = sample.failure();
    let real = OVERSPILL.evaluate(&failure);
    let mut read = OVERSPILL.explain(&failure).extracted;
    read.text = without_noise(&read.text);
    let naive = Naive { sample, read }.winner();
    match (real.rule(), naive) {
        (real, Some(naive)) if real == Some(naive.name()) => Ok(()),
        (None, None) => Ok(()),
        (real, naive) => Err(format!("{}: {real:?} decides, but rule by rule it is {:?}: {sample:?}", sample.id, naive.map(|rule| rule.name()))),
    }
}

struct Naive<'s> {
    sample: &'s Sample,
    read: Extracted,
}

/// Numbers by the names of captures.
type Facts = HashMap<&'static str, f64>;

impl Naive<'_> {
    fn winner(&self) -> Option<RuleView<'static>> {
        let rules = RULES.rules_for(self.sample.provider.as_deref());
        rules.into_iter().find(|rule| self.wins(*rule))
    }

    fn wins(&self, rule: RuleView<'_>) -> bool {
        self.holds(rule, rule.conditions()) && !rule.unless().any(|veto| self.holds(rule, veto))
    }

    fn holds(&self, rule: RuleView<'_>, conditions: ConditionsView<'_>) -> bool {
        let Self { sample, read } = self;
        let (status, transports, body_empty) = (conditions.status(), conditions.transports(), conditions.body_empty());
        let event = sample.event.as_ref().or(read.event.as_ref());
        let reasons: Vec<&String> = sample.finish_reason.iter().chain(&read.finish_reasons).collect();
        let (messages, bodies): (Vec<_>, Vec<_>) = (conditions.messages().collect(), conditions.bodies().collect());
        let globs: Vec<String> = conditions.models().collect();

        status.is_none_or(|status| status.contains(read.status))
            && (transports.is_empty() || transports.iter().any(|transport| sample.transport == Some(*transport)))
            && any_equal(conditions.codes(), &read.codes.iter().collect::<Vec<_>>())
            && (messages.is_empty() || messages.iter().any(|pattern| dialect(pattern).is_match(&without_folds(&read.text))))
            && (bodies.is_empty() || bodies.iter().any(|pattern| dialect(pattern).is_match(&self.body())))
            && conditions.headers().all(|(name, patterns)| self.has_header(name, &patterns))
            && any_equal(conditions.finish_reasons(), &reasons)
            && any_equal(conditions.events(), &event.into_iter().collect::<Vec<_>>())
            && (globs.is_empty() || globs.iter().any(|glob| sample.model.as_ref().is_some_and(|model| glob_matches(glob, model))))
            && body_empty.is_none_or(|empty| empty == self.is_empty())
            && conditions.comparisons().iter().all(|comparison| self.compares(rule, comparison))
    }

    fn has_header(&self, name: &str, patterns: &[&str]) -> bool {
        let values = self.sample.headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
        values.into_iter().any(|(_, value)| patterns.iter().any(|pattern| dialect(pattern).is_match(&without_folds(value))))
    }

    /// The raw body, or the exception text when there is none.
    fn body(&self) -> String {
        let bytes = self.sample.body.as_deref().or(self.sample.message.as_deref().map(str::as_bytes)).unwrap_or_default();
        without_folds(&String::from_utf8_lossy(&bytes[..bytes.len().min(BODY_HEAD)]))
    }

    fn is_empty(&self) -> bool {
        let texts = [self.sample.body.as_deref(), self.sample.message.as_deref().map(str::as_bytes)];
        texts.into_iter().flatten().all(|text| ["", "{}", "[]", "null", "\"\""].map(str::as_bytes).contains(&text.trim_ascii()))
    }

    fn compares(&self, rule: RuleView<'_>, comparison: &Comparison) -> bool {
        let facts = self.facts(rule);
        let value = |operand: Operand| match operand.quantity {
            None => Some(operand.factor),
            Some(quantity) => self.quantity(quantity, &facts).map(|value| value * operand.factor),
        };
        let Some((left, right)) = value(comparison.left).zip(value(comparison.right)) else {
            return false;
        };
        match comparison.operator {
            Operator::Less => left < right,
            Operator::LessOrEqual => left <= right,
            Operator::Greater => left > right,
            Operator::GreaterOrEqual => left >= right,
            Operator::Equal => (left - right).abs() < 1e-9,
            Operator::NotEqual => (left - right).abs() >= 1e-9,
        }
    }

    fn quantity(&self, quantity: Quantity, facts: &Facts) -> Option<f64> {
        match quantity {
            Quantity::Estimate => self.sample.estimate.map(|tokens| tokens as f64),
            Quantity::Window => self.sample.window.or_else(|| self.context().window()).filter(|tokens| *tokens > 0).map(|tokens| tokens as f64),
            Quantity::Used => self.usage().map(|usage| self.context().used(&usage) as f64),
            Quantity::Output => self.usage().map(|usage| usage.output() as f64),
            Quantity::Status => self.read.status.map(f64::from),
            captured => facts.get(captured.name()).copied(),
        }
    }

    fn context(&self) -> Context<'_> {
        OVERSPILL.context(self.sample.provider.as_deref().unwrap_or_default(), self.sample.model.as_deref().unwrap_or_default())
    }

    /// As told, or as the body tells.
    fn usage(&self) -> Option<Usage> {
        let json = self.sample.usage.as_deref().map(str::as_bytes).or(self.sample.body.as_deref())?;
        self.context().usage(json)
    }

    /// The numbers that the first telling pattern captures, then those of fields.
    fn facts(&self, rule: RuleView<'_>) -> Facts {
        let text = without_folds(&self.read.text);
        let mut facts = Facts::new();
        for pattern in rule.conditions().messages() {
            let mut stated = Facts::new();
            capture(&dialect(pattern), &text, &mut stated);
            if !overflows(&facts) && (facts.is_empty() || completes(&stated, &facts)) {
                facts = stated;
            }
        }
        if facts.is_empty() {
            rule.conditions().bodies().for_each(|pattern| capture(&dialect(pattern), &self.body(), &mut facts));
        }
        let captured: Vec<_> = facts.keys().copied().collect();
        for (name, path) in rule.facts().filter(|(name, _)| !captured.contains(name)) {
            let is_field = |key: &str| format!(".{key}").to_ascii_lowercase().ends_with(&format!(".{path}").to_ascii_lowercase());
            if let Some((_, value)) = self.read.fields.iter().find(|(key, _)| is_field(key)) {
                add(&mut facts, name, value);
            }
        }
        complete(&mut facts);
        facts
    }
}

/// Limit and excess make the request.
fn complete(facts: &mut Facts) {
    if let (None, Some(limit), Some(excess)) = (facts.get("requested"), facts.get("limit"), facts.get("excess")) {
        facts.insert("requested", limit + excess);
    }
}

fn overflows(facts: &Facts) -> bool {
    matches!((facts.get("limit"), facts.get("requested")), (Some(limit), Some(requested)) if requested > limit)
}

/// Whether a later wording states an overflow in both numbers, and what is known is no other overflow: a single number may have been taken for the other one.
fn completes(stated: &Facts, known: &Facts) -> bool {
    let mut stated = stated.clone();
    complete(&mut stated);
    let numbers = [stated.get("limit"), stated.get("requested")];
    overflows(&stated)
        && match (known.get("limit"), known.get("requested")) {
            (Some(_), Some(_)) => !overflows(known),
            (only, None) | (None, only) => only.is_none() || numbers.contains(&only),
        }
}

/// Whether the text around a captured number says that it is no count of tokens.
fn is_something_else(name: &str, text: &str, number: Range<usize>) -> bool {
    let (before, after, number) = (&text[..number.start], &text[number.end..], &text[number]);
    let size = name == "limit" || name.starts_with("requested");
    compiled(r"^[ (-]*(?:char|byte|word|letter|pixel|image|file|page|message|item|%|字符|字节|个字|(?i:kb|mb|gb))").is_match(after)
        || compiled(r"(?:[A-Za-z]-|(?i: id | id: | tier | index ))$").is_match(before)
        || size && (compiled(r"(?:(?:^|[^A-Za-z0-9])-|(?i: by ))$").is_match(before) || compiled("^0*$").is_match(number))
}

fn capture(regex: &Regex, text: &str, facts: &mut Facts) {
    let Some(captures) = regex.captures(text) else { return };
    for name in regex.capture_names().flatten() {
        if let Some(found) = captures.name(name).filter(|found| !is_something_else(name, text, found.range())) {
            add(facts, name, found.as_str());
        }
    }
}

/// Parts of a request are added; of anything else the first number counts.
fn add(facts: &mut Facts, name: &str, text: &str) {
    let Some(number) = count(text) else { return };
    let known = ["limit", "requested", "excess", "output_limit"].into_iter().find(|known| name == *known || (*known == "requested" && name.starts_with("requested_")));
    match known {
        Some("requested") => *facts.entry("requested").or_insert(0.0) += number,
        Some(known) => _ = facts.entry(known).or_insert(number),
        None => {}
    }
}

/// Digits, separators between them, perhaps a fraction that is cut.
fn count(text: &str) -> Option<f64> {
    let whole = text.split('.').next().unwrap_or_default();
    let digits: String = whole.chars().filter(|c| !matches!(c, ',' | '_' | '\'' | ' ')).collect();
    let number = digits.parse::<u64>().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))? as f64;
    (number <= MAX_TOKENS).then_some(number)
}

/// Whether one of the wanted words is given, in any case. Wanting none is asking nothing.
fn any_equal(wanted: &[String], given: &[&String]) -> bool {
    wanted.is_empty() || wanted.iter().any(|wanted| given.iter().any(|given| given.eq_ignore_ascii_case(wanted)))
}

fn glob_matches(glob: &str, text: &str) -> bool {
    let pattern = regex::escape(glob).replace(r"\*", ".*").replace(r"\?", ".");
    compiled(&format!("(?si)^{pattern}$")).is_match(text)
}

/// The dialect of rule files in terms of the `regex` crate: case-insensitive, multi-line, Perl classes in their ASCII meaning.
fn dialect(pattern: &str) -> Rc<Regex> {
    let mut ascii = String::from("(?mi)");
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            ascii.push(character);
            continue;
        }
        match characters.next() {
            Some('d') => ascii += "[0-9]",
            Some('D') => ascii += "[^0-9]",
            Some('w') => ascii += "[0-9A-Za-z_]",
            Some('W') => ascii += "[^0-9A-Za-z_]",
            Some('s') => ascii += "[ \\t\\r\\n]",
            Some('S') => ascii += "[^ \\t\\r\\n]",
            Some('b') => ascii += "(?-u:\\b)",
            other => ascii.extend(['\\'].into_iter().chain(other)),
        }
    }
    compiled(&ascii)
}

/// Case folding stays within ASCII for ASCII letters: the long s is no `s`, the Kelvin sign no `k`. The `regex` crate thinks otherwise, so both are hidden from it.
fn without_folds(text: &str) -> String {
    text.replace(['\u{17f}', '\u{212a}'], "\u{fffd}")
}

fn compiled(pattern: &str) -> Rc<Regex> {
    thread_local! {
        static COMPILED: RefCell<HashMap<String, Rc<Regex>>> = RefCell::default();
    }
    COMPILED.with_borrow_mut(|known| {
        let compile = || Rc::new(Regex::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}")));
        Rc::clone(known.entry(pattern.to_owned()).or_insert_with(compile))
    })
}

/// A change of a failure that keeps it plausible, or does not.
#[derive(Clone, Debug)]
enum Mutation {
    Provider(Option<String>),
    Status(Option<u16>),
    Transport(Option<Transport>),
    Model(Option<String>),
    FinishReason(Option<String>),
    Event(Option<String>),
    Header(String, String),
    Estimate(Option<u64>),
    Usage(Option<u64>, u64),
    Window(Option<u64>),
    /// All letters in this case, in message and body.
    UpperCase(bool),
    /// A word between two others.
    Insert(Index, String),
    /// A digit becomes another.
    Digit(Index, char),
    /// A piece is lost.
    Cut(Index, Index),
    /// The text of another failure follows.
    Append(Index),
    /// A JSON body with this code around the message.
    Wrap(String),
    Message(String),
    NoBody,
    NoMessage,
}

/// Words that bring rules closer or drive them away, and spellings that are easily got wrong.
const WORDS: [&str; 24] = [
    "context length",
    "context window",
    "too many tokens",
    "exceeds",
    "maximum",
    "prompt is too long",
    "rate limit",
    "quota",
    "try again in 5s",
    "429",
    "504",
    "12,345",
    "requested",
    "overloaded",
    "timeout",
    "unauthorized",
    "model not found",
    "safety",
    "上下文长度",
    "\n",
    "\u{17f}top",
    "to\u{212a}en",
    "`",
    "ÄÖÜ",
];

fn mutation() -> impl Strategy<Value = Mutation> {
    let statuses = select(vec![None, Some(200), Some(400), Some(401), Some(403), Some(404), Some(413), Some(422), Some(429), Some(500), Some(503), Some(529), Some(0), Some(999)]);
    let transports = select(vec![None, Some(Transport::Http), Some(Transport::Sse), Some(Transport::SdkString), Some(Transport::Transport)]);
    let models = select(vec![
        None,
        Some("odd-big-1"),
        Some("odd-1"),
        Some("odd\u{e9}"),
        Some("claude-sonnet-4-5"),
        Some("GPT-4o"),
        Some("gemini-2.5-pro"),
        Some("anthropic/claude-3"),
        Some(""),
    ])
    .prop_map(|model| model.map(str::to_owned));
    let tokens = || prop::option::of(select(vec![0_u64, 1, 799, 800, 1_000, 1_600, 8_192, 131_072, 200_000, 1_000_000, u64::MAX]));
    let words = || select(WORDS.to_vec()).prop_map(str::to_owned);
    prop_oneof![
        4 => select(providers()).prop_map(Mutation::Provider),
        3 => statuses.prop_map(Mutation::Status),
        1 => transports.prop_map(Mutation::Transport),
        1 => models.prop_map(Mutation::Model),
        1 => select(offered(|conditions| conditions.finish_reasons().to_vec())).prop_map(Mutation::FinishReason),
        1 => select(offered(|conditions| conditions.events().to_vec())).prop_map(Mutation::Event),
        1 => (select(header_names()), "[a-z0-9:/. -]{0,20}").prop_map(|(name, value)| Mutation::Header(name, value)),
        1 => tokens().prop_map(Mutation::Estimate),
        1 => (tokens(), select(vec![0, 1, 500])).prop_map(|(input, output)| Mutation::Usage(input, output)),
        1 => tokens().prop_map(Mutation::Window),
        1 => any::<bool>().prop_map(Mutation::UpperCase),
        4 => (any::<Index>(), words()).prop_map(|(at, word)| Mutation::Insert(at, word)),
        3 => (any::<Index>(), select(vec!['0', '1', '5', '9'])).prop_map(|(at, digit)| Mutation::Digit(at, digit)),
        2 => (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Mutation::Cut(from, to)),
        2 => any::<Index>().prop_map(Mutation::Append),
        2 => select(offered(|conditions| conditions.codes().to_vec())).prop_map(|code| Mutation::Wrap(code.unwrap_or_default())),
        1 => any::<String>().prop_map(Mutation::Message),
        1 => Just(Mutation::NoBody),
        1 => Just(Mutation::NoMessage),
    ]
}

/// Every name of every provider, gateways included; a stranger; nobody.
fn providers() -> Vec<Option<String>> {
    let known = RULES.provider_views().flat_map(|provider| std::iter::once(provider.name().to_owned()).chain(provider.aliases().to_vec()).collect::<Vec<_>>());
    known.map(Some).chain([Some("a-stranger".to_owned()), None]).collect()
}

/// Every word that some rule asks for, and none.
fn offered(words: impl Fn(ConditionsView<'_>) -> Vec<String>) -> Vec<Option<String>> {
    let rules = RULES.rules_for(None);
    let all: BTreeSet<String> = rules.iter().flat_map(|rule| words(rule.conditions())).collect();
    all.into_iter().map(Some).chain([None]).collect()
}

fn header_names() -> Vec<String> {
    let rules = RULES.rules_for(None);
    let asked: BTreeSet<String> = rules.iter().flat_map(|rule| rule.conditions().headers().map(|(name, _)| name.to_uppercase()).collect::<Vec<_>>()).collect();
    asked.into_iter().chain(["retry-after", "x-should-retry", "x-amzn-errortype"].map(str::to_owned)).collect()
}

impl Mutation {
    fn apply(&self, sample: &mut Sample) {
        match self {
            Self::Provider(provider) => sample.provider.clone_from(provider),
            Self::Status(status) => sample.status = *status,
            Self::Transport(transport) => sample.transport = *transport,
            Self::Model(model) => sample.model.clone_from(model),
            Self::FinishReason(reason) => sample.finish_reason.clone_from(reason),
            Self::Event(event) => sample.event.clone_from(event),
            Self::Header(name, value) => sample.headers.push((name.clone(), value.clone())),
            Self::Estimate(tokens) => sample.estimate = *tokens,
            Self::Usage(input, output) => sample.usage = input.map(|input| format!(r#"{{"prompt_tokens":{input},"completion_tokens":{output}}}"#)),
            Self::Window(tokens) => sample.window = *tokens,
            Self::UpperCase(true) => change(sample, &str::to_uppercase),
            Self::UpperCase(false) => change(sample, &str::to_lowercase),
            Self::Insert(at, word) => change(sample, &|text| {
                let words: Vec<&str> = text.split(' ').collect();
                let (before, after) = words.split_at(at.index(words.len() + 1));
                [before, &[word.as_str()], after].concat().join(" ")
            }),
            Self::Digit(at, digit) => change(sample, &|text| {
                let places: Vec<usize> = text.match_indices(|c: char| c.is_ascii_digit()).map(|(place, _)| place).collect();
                let mut text = text.to_owned();
                if !places.is_empty() {
                    let place = *at.get(&places);
                    text.replace_range(place..=place, &digit.to_string());
                }
                text
            }),
            Self::Cut(from, to) => change(sample, &|text| {
                let characters: Vec<char> = text.chars().collect();
                let (a, b) = (from.index(characters.len() + 1), to.index(characters.len() + 1));
                characters[..a.min(b)].iter().chain(&characters[a.max(b)..]).collect()
            }),
            Self::Append(other) => {
                let other = other.get(&SAMPLES);
                change(sample, &|text| format!("{text} {}", other.excerpt()));
            }
            Self::Wrap(code) => {
                let message = sample.message.clone().unwrap_or_else(|| sample.excerpt());
                sample.body = Some(serde_json::json!({ "error": { "code": code, "message": message } }).to_string().into_bytes());
            }
            Self::Message(text) => sample.message = Some(text.clone()),
            Self::NoBody => sample.body = None,
            Self::NoMessage => sample.message = None,
        }
    }
}

/// Changes message and body alike.
fn change(sample: &mut Sample, edit: &dyn Fn(&str) -> String) {
    sample.message = sample.message.as_deref().map(edit);
    sample.body = sample.body.as_deref().map(|body| edit(&String::from_utf8_lossy(body)).into_bytes());
}
