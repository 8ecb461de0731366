//! All patterns over one kind of text, searched in one pass.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind, MatchKind};
use regex_automata::meta;

use super::atom::{Atom, atoms};
use super::pattern::Pattern;
use crate::config::Fact;

/// Index of a pattern in its set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PatternId(u32);

impl PatternId {
    fn new(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Patterns collected for a set; the same text twice is one pattern.
#[derive(Debug, Default)]
pub(crate) struct PatternSetBuilder {
    patterns: Vec<(String, Pattern)>,
    by_text: HashMap<String, PatternId>,
}

impl PatternSetBuilder {
    pub(crate) fn find(&self, text: &str) -> Option<PatternId> {
        self.by_text.get(text).copied()
    }

    pub(crate) fn pattern(&self, id: PatternId) -> &Pattern {
        &self.patterns[id.index()].1
    }

    pub(crate) fn add(&mut self, text: &str, pattern: Pattern) -> PatternId {
        let id = PatternId::new(self.patterns.len());
        self.patterns.push((text.to_owned(), pattern));
        self.by_text.insert(text.to_owned(), id);
        id
    }

    /// Builds the set; the error says that all together are too large.
    pub(crate) fn build(self) -> Result<PatternSet, String> {
        let mut numbers: HashMap<Atom, u32> = HashMap::new();
        let mut shortest: Vec<usize> = Vec::new();
        let mut printed: Vec<String> = Vec::new();
        let mut patterns: Vec<Single> = Vec::with_capacity(self.patterns.len());
        for (text, pattern) in self.patterns {
            let own = atoms(pattern.plain());
            let mut own: Vec<u32> = own
                .into_iter()
                .map(|mut atom| {
                    atom.sort();
                    let length = atom.iter().map(Vec::len).min().unwrap_or(0);
                    let print = print_atom(&atom);
                    *numbers.entry(atom).or_insert_with(|| {
                        shortest.push(length);
                        printed.push(print);
                        u32::try_from(shortest.len() - 1).unwrap_or(u32::MAX)
                    })
                })
                .collect();
            // The longest atom first: it is the rarest, so the pattern hangs on it.
            own.sort_by_key(|&atom| std::cmp::Reverse(shortest[atom as usize]));
            own.dedup();
            patterns.push(Single { text, pattern, atoms: own, regex: OnceLock::new() });
        }
        let mut by_atom = vec![Vec::new(); shortest.len()];
        let mut unconditional = Vec::new();
        for (index, single) in patterns.iter().enumerate() {
            match single.atoms.first() {
                Some(&first) => by_atom[first as usize].push(PatternId::new(index)),
                None => unconditional.push(PatternId::new(index)),
            }
        }
        Ok(PatternSet { literals: Literals::build(&numbers)?, printed, by_atom, unconditional, patterns })
    }
}

/// All patterns over one kind of text. A pattern is searched on its own only when all its atoms are in the text and a rule asks; it is compiled when that first happens.
#[derive(Debug)]
pub(crate) struct PatternSet {
    literals: Literals,
    /// The atoms as people read them.
    printed: Vec<String>,
    /// Patterns by their rarest atom.
    by_atom: Vec<Vec<PatternId>>,
    /// Patterns of which nothing is required.
    unconditional: Vec<PatternId>,
    patterns: Vec<Single>,
}

#[derive(Debug)]
struct Single {
    text: String,
    pattern: Pattern,
    atoms: Vec<u32>,
    regex: OnceLock<Option<meta::Regex>>,
}

/// A text and what is known so far about which patterns match it.
#[derive(Debug)]
pub(crate) struct Matched<'s> {
    set: &'s PatternSet,
    text: &'s str,
    candidates: Vec<PatternId>,
    /// Which atoms are in the text: one bit each.
    present: Vec<u64>,
    /// Answers of patterns that were searched on their own.
    searched: RefCell<Vec<(PatternId, bool)>>,
}

impl PatternSet {
    /// Looks for all patterns: one pass over the text, whatever their number.
    pub(crate) fn matches<'s>(&'s self, text: &'s str) -> Matched<'s> {
        let mut present = vec![0; self.by_atom.len().div_ceil(64)];
        let mut first_hits = Vec::new();
        self.literals.search(text, |atom| {
            if !is_set(&present, atom) {
                present[atom as usize / 64] |= 1 << (atom % 64);
                first_hits.push(atom);
            }
        });
        let mut candidates = self.unconditional.clone();
        let all_present = |id: PatternId| self.patterns[id.index()].atoms.iter().all(|&atom| is_set(&present, atom));
        candidates.extend(first_hits.iter().flat_map(|&atom| &self.by_atom[atom as usize]).copied().filter(|&id| all_present(id)));
        Matched { set: self, text, candidates, present, searched: RefCell::default() }
    }

    /// Takes over what an earlier set has compiled of the same patterns. A clone shares the program and has notes of its own.
    pub(crate) fn share(&mut self, earlier: &Self) {
        let compiled: HashMap<&str, _> = earlier.patterns.iter().map(|single| (single.text.as_str(), &single.regex)).collect();
        for single in &mut self.patterns {
            if let Some(regex) = compiled.get(single.text.as_str()) {
                single.regex = (*regex).clone();
            }
        }
    }

    /// Frees what searches have noted so far. The examples search with nearly every pattern, and hardly one of them is searched with again.
    pub(crate) fn forget_searches(&mut self) {
        self.patterns.iter_mut().for_each(|single| single.regex = single.regex.clone());
    }

    pub(crate) fn len(&self) -> usize {
        self.patterns.len()
    }

    /// The pattern as written.
    pub(crate) fn text(&self, id: PatternId) -> &str {
        &self.patterns[id.index()].text
    }
}

impl Single {
    fn regex(&self) -> Option<&meta::Regex> {
        self.regex.get_or_init(|| self.pattern.compile().ok()).as_ref()
    }
}

impl<'s> Matched<'s> {
    /// Patterns that may match: all others do not.
    pub(crate) fn candidates(&self) -> &[PatternId] {
        &self.candidates
    }

    /// Whether the pattern matches.
    pub(crate) fn contains(&self, id: PatternId) -> bool {
        let single = &self.set.patterns[id.index()];
        if !single.atoms.iter().all(|&atom| is_set(&self.present, atom)) {
            return false;
        }
        if let Some((_, answer)) = self.searched.borrow().iter().find(|(known, _)| *known == id) {
            return *answer;
        }
        let answer = single.regex().is_some_and(|regex| regex.is_match(self.text));
        self.searched.borrow_mut().push((id, answer));
        answer
    }

    pub(crate) fn any(&self, ids: &[PatternId]) -> bool {
        ids.iter().any(|&id| self.contains(id))
    }

    /// How much of what the pattern requires is in the text.
    pub(crate) fn nearness(&self, id: PatternId) -> Nearness<'s> {
        let mut nearness = Nearness { share: 0.0, lacking: None };
        let (mut present, mut total) = (0, 0);
        for &atom in &self.set.patterns[id.index()].atoms {
            let print = self.set.printed[atom as usize].as_str();
            // By length: "context window" tells more than "limit".
            let weight = print.split(" | ").map(str::len).min().unwrap_or(0);
            total += weight;
            if is_set(&self.present, atom) {
                present += weight;
            } else if nearness.lacking.is_none() {
                nearness.lacking = Some(print);
            }
        }
        nearness.share = if total == 0 { 0.0 } else { present as f64 / total as f64 };
        nearness
    }

    /// What the pattern captures at its first match.
    pub(crate) fn captures(&self, id: PatternId, mut found: impl FnMut(Fact, &'s str)) {
        let single = &self.set.patterns[id.index()];
        if single.pattern.captures().is_empty() || !self.contains(id) {
            return;
        }
        let Some(regex) = single.regex() else { return };
        let mut captures = regex.create_captures();
        regex.captures(self.text, &mut captures);
        for &(group, fact) in single.pattern.captures() {
            if let Some(text) = captures.get_group(group).and_then(|span| self.text.get(span.start..span.end)) {
                found(fact, text);
            }
        }
    }

    /// What the pattern captures as `wanted`, over its first few matches.
    pub(crate) fn captured_all(&self, id: PatternId, wanted: Fact) -> Vec<&'s str> {
        const MAX_MATCHES: usize = 4;
        let single = &self.set.patterns[id.index()];
        if !self.contains(id) {
            return Vec::new();
        }
        let Some(regex) = single.regex() else { return Vec::new() };
        let groups: Vec<usize> = single.pattern.captures().iter().filter(|(_, fact)| *fact == wanted).map(|(group, _)| *group).collect();
        let mut texts = Vec::new();
        for captures in regex.captures_iter(self.text).take(MAX_MATCHES) {
            let spans = groups.iter().filter_map(|&group| captures.get_group(group));
            texts.extend(spans.filter_map(|span| self.text.get(span.start..span.end)));
        }
        texts
    }
}

/// How near a pattern came to matching.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nearness<'s> {
    /// Which share of the words that it requires is in the text, from 0 to 1.
    pub(crate) share: f64,
    /// The most telling words that are not; `None` when all are there, but not in the order or at the distance that the pattern asks.
    pub(crate) lacking: Option<&'s str>,
}

/// Alternatives, shortened where there are many.
fn print_atom(atom: &Atom) -> String {
    const SHOWN: usize = 4;
    let texts: Vec<_> = atom.iter().take(SHOWN).map(|literal| String::from_utf8_lossy(literal)).collect();
    let more = if atom.len() > SHOWN { " | ..." } else { "" };
    format!("{}{more}", texts.join(" | "))
}

fn is_set(bits: &[u64], index: u32) -> bool {
    bits[index as usize / 64] & (1 << (index % 64)) != 0
}

/// One automaton for the literals of all atoms.
#[derive(Debug)]
struct Literals {
    automaton: AhoCorasick,
    /// The atoms that a literal is an alternative of.
    atoms: Vec<Vec<u32>>,
}

impl Literals {
    fn build(numbers: &HashMap<Atom, u32>) -> Result<Self, String> {
        let mut by_literal: std::collections::BTreeMap<&[u8], Vec<u32>> = std::collections::BTreeMap::new();
        for (atom, &number) in numbers {
            atom.iter().for_each(|literal| by_literal.entry(literal).or_default().push(number));
        }
        let automaton = AhoCorasickBuilder::new()
            .match_kind(MatchKind::Standard)
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(by_literal.keys())
            .map_err(|error| error.to_string())?;
        Ok(Self { automaton, atoms: by_literal.into_values().collect() })
    }

    /// Reports the atoms of every literal at each of its places.
    fn search(&self, text: &str, mut found: impl FnMut(u32)) {
        for hit in self.automaton.find_overlapping_iter(text) {
            self.atoms[hit.pattern().as_usize()].iter().copied().for_each(&mut found);
        }
    }
}
