//! What the machine allows: the same bytes read by automata that do nothing else.
//!
//! The matching of an evaluation is what `evaluate::embedded` takes beyond `evaluate::no_rules`. It reads the extracted text, and so do these.

use std::fmt;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use regex_automata::hybrid::dfa::DFA;
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;
use regex_automata::{MatchKind, PatternSet};

use crate::{inputs, rulesets};

/// What matching reads of one of the inputs.
#[derive(Clone)]
struct Text {
    name: String,
    text: String,
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} B)", self.name, self.text.len())
    }
}

fn texts() -> Vec<Text> {
    let wanted = ["hit, own rule", "miss", "SDK string", "worst case, 1 KiB"];
    let inputs = inputs::all().into_iter().filter(|input| wanted.contains(&input.to_string().as_str()));
    inputs.map(|input| Text { name: input.to_string(), text: rulesets::NO_RULES.explain(&input.failure).extracted.text }).collect()
}

/// Every pattern over messages in the embedded rules.
fn patterns() -> Vec<String> {
    let ruleset = rulesets::EMBEDDED.ruleset();
    let rules = ruleset.provider_views().flat_map(|provider| provider.own_rules());
    let mut patterns: Vec<String> = rules.flat_map(|rule| rule.conditions().messages()).map(str::to_owned).collect();
    patterns.sort_unstable();
    patterns.dedup();
    patterns
}

/// A lazy DFA for these patterns, in the dialect of rule files.
fn lazy_dfa(patterns: &[impl AsRef<str>]) -> DFA {
    let ascii = |pattern: &str| pattern.replace(r"\b", r"(?-u:\b)").replace(r"\d", "[0-9]").replace(r"\w", "[0-9A-Za-z_]").replace(r"\s", "[ \\t\\r\\n]");
    let patterns: Vec<String> = patterns.iter().map(|pattern| ascii(pattern.as_ref())).collect();
    let syntax = syntax::Config::new().case_insensitive(true).multi_line(true).utf8(false);
    let config = DFA::config().match_kind(MatchKind::All).cache_capacity(64 << 20);
    DFA::builder().configure(config).syntax(syntax).thompson(thompson::Config::new().utf8(false)).build_many(&patterns).expect("the patterns compile")
}

/// One lazy DFA with one pattern that is not there: a table look-up a byte.
#[divan::bench(args = texts())]
fn dfa_of_one_pattern(bencher: Bencher<'_, '_>, text: &Text) {
    search_dfa(bencher, &lazy_dfa(&["gizmos? (of|in) the [a-z]+ttic"]), text);
}

/// One lazy DFA with all patterns, its states built by an earlier pass over the same text, which no new failure finds: that pass takes thousands of times as long.
#[divan::bench(args = texts())]
fn dfa_of_all_patterns_warm(bencher: Bencher<'_, '_>, text: &Text) {
    search_dfa(bencher, &lazy_dfa(&patterns()), text);
}

fn search_dfa(bencher: Bencher<'_, '_>, dfa: &DFA, text: &Text) {
    let mut cache = dfa.create_cache();
    let mut matched = PatternSet::new(dfa.pattern_len());
    let mut search = || {
        matched.clear();
        let input = regex_automata::Input::new(black_box(&text.text));
        dfa.try_which_overlapping_matches(&mut cache, &input, &mut matched).expect("nothing makes the search stop");
        matched.len()
    };
    search();
    bencher.counter(BytesCount::of_str(&text.text)).bench_local(search);
}

/// One Aho-Corasick automaton for the words of all patterns.
#[divan::bench(args = texts())]
fn aho_corasick_of_all_words(bencher: Bencher<'_, '_>, text: &Text) {
    let patterns = patterns();
    let mut words: Vec<&str> = patterns.iter().flat_map(|pattern| pattern.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() >= 5)).collect();
    words.sort_unstable();
    words.dedup();
    let automaton = AhoCorasick::builder().ascii_case_insensitive(true).kind(Some(AhoCorasickKind::ContiguousNFA)).build(words).expect("the words are few");
    bencher.counter(BytesCount::of_str(&text.text)).bench_local(|| automaton.find_overlapping_iter(black_box(&text.text)).count());
}
