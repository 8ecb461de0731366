//! All patterns over one kind of text, searched in one pass.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use regex_automata::Input;
use regex_automata::util::primitives::NonMaxUsize;

use super::atom::Atom;
use super::capture::Captured;
use super::groups::Groups;
use super::literals::Literals;
use super::pattern::Pattern;
use super::program::Program;
use crate::config::Fact;
use crate::parallel::map_chunks;
use crate::source::{Sources, Spanned};

/// So many patterns are worth a thread to parse them.
const PATTERNS_A_THREAD: usize = 64;

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
    patterns: Vec<(Spanned<String>, Arc<Program>)>,
    by_text: HashMap<String, PatternId>,
    /// What need not be parsed any more.
    ready: HashMap<String, Arc<Program>>,
}

impl PatternSetBuilder {
    /// Takes over what an earlier set has of the same patterns: rulesets that follow each other share those that they have in common.
    pub(crate) fn after(earlier: Option<&PatternSet>) -> Self {
        let patterns = earlier.into_iter().flat_map(|set| &set.patterns);
        Self { ready: patterns.map(|single| (single.text.value.clone(), Arc::clone(&single.program))).collect(), ..Self::default() }
    }

    /// Parses patterns that will be added, on all processors. Those that are wrong are left out: they are reported where they are added.
    pub(crate) fn prepare<'t>(&mut self, texts: impl Iterator<Item = &'t Spanned<String>>, sources: &Sources) {
        let mut seen = HashSet::new();
        let texts: Vec<_> = texts.filter(|text| !self.ready.contains_key(text.as_str()) && seen.insert(text.as_str())).collect();
        let parse = |text: &&Spanned<String>| Some((text.value.clone(), Arc::new(Program::new(Pattern::parse(text, sources).ok()?))));
        self.ready.extend(map_chunks(&texts, PATTERNS_A_THREAD, |texts| texts.iter().filter_map(parse).collect()));
    }

    /// The pattern as it was prepared.
    pub(crate) fn ready(&self, text: &str) -> Option<Arc<Program>> {
        self.ready.get(text).map(Arc::clone)
    }

    pub(crate) fn find(&self, text: &str) -> Option<PatternId> {
        self.by_text.get(text).copied()
    }

    pub(crate) fn pattern(&self, id: PatternId) -> &Pattern {
        self.patterns[id.index()].1.pattern()
    }

    pub(crate) fn add(&mut self, text: &Spanned<String>, program: Arc<Program>) -> PatternId {
        let id = PatternId::new(self.patterns.len());
        self.patterns.push((text.clone(), program));
        self.by_text.insert(text.value.clone(), id);
        id
    }

    /// Builds the set. Only patterns that something hangs on become candidates; others are asked for by their id.
    pub(crate) fn build(self, hung_on: &HashSet<PatternId>) -> PatternSet {
        let mut numbers: HashMap<Atom, u32> = HashMap::new();
        let mut shortest: Vec<usize> = Vec::new();
        let mut printed: Vec<String> = Vec::new();
        let mut atoms_of: Vec<Vec<u32>> = Vec::with_capacity(self.patterns.len());
        let mut patterns: Vec<Single> = Vec::with_capacity(self.patterns.len());
        for (text, program) in self.patterns {
            let mut own: Vec<u32> = program
                .pattern()
                .atoms()
                .iter()
                .map(|atom| {
                    if let Some(&number) = numbers.get(atom) {
                        return number;
                    }
                    let number = u32::try_from(shortest.len()).unwrap_or(u32::MAX);
                    shortest.push(atom.iter().map(Vec::len).min().unwrap_or(0));
                    printed.push(print_atom(atom));
                    numbers.insert(atom.clone(), number);
                    number
                })
                .collect();
            // The longest atom first: it is the rarest, so the pattern hangs on it.
            own.sort_by_key(|&atom| std::cmp::Reverse(shortest[atom as usize]));
            own.dedup();
            atoms_of.push(own);
            patterns.push(Single { text, program });
        }
        let mut by_atom = vec![Vec::new(); shortest.len()];
        let mut unconditional = Vec::new();
        for (index, atoms) in atoms_of.iter().enumerate() {
            let id = PatternId::new(index);
            match atoms.first() {
                _ if !hung_on.contains(&id) => {}
                Some(&first) => by_atom[first as usize].push(id),
                None => unconditional.push(id),
            }
        }
        let mut by_literal: BTreeMap<&[u8], Vec<u32>> = BTreeMap::new();
        for (atom, &number) in &numbers {
            atom.iter().for_each(|literal| by_literal.entry(literal).or_default().push(number));
        }
        let literals = Literals::build(&by_literal.keys().copied().collect::<Vec<_>>());
        let by_literal = by_literal.into_values().collect();
        PatternSet { literals, by_literal, printed, by_atom: by_atom.into_iter().collect(), unconditional, atoms_of: atoms_of.into_iter().collect(), patterns }
    }
}

/// All patterns over one kind of text. A pattern is searched on its own only when all its atoms are in the text and a rule asks.
#[derive(Debug)]
pub(crate) struct PatternSet {
    literals: Literals,
    /// The atoms that a literal is an alternative of.
    by_literal: Groups<u32>,
    /// The atoms as people read them.
    printed: Vec<String>,
    /// Candidates by their rarest atom.
    by_atom: Groups<PatternId>,
    /// Candidates of which nothing is required.
    unconditional: Vec<PatternId>,
    /// The atoms that a pattern requires, the rarest first.
    atoms_of: Groups<u32>,
    patterns: Vec<Single>,
}

#[derive(Debug)]
struct Single {
    /// As written, where it was written first.
    text: Spanned<String>,
    program: Arc<Program>,
}

/// A text and what is known so far about which patterns match it.
#[derive(Debug)]
pub(crate) struct Matched<'s> {
    set: &'s PatternSet,
    text: Cow<'s, str>,
    candidates: Vec<PatternId>,
    /// Which atoms are in the text: one bit each.
    present: Vec<u64>,
    /// Patterns that were searched on their own.
    searched: RefCell<Vec<Searched>>,
}

/// What came out of searching a pattern on its own.
#[derive(Clone, Debug)]
struct Searched {
    id: PatternId,
    is_match: bool,
    /// Where each group of the first match starts and ends; nothing for a pattern that captures nothing.
    slots: Vec<Option<NonMaxUsize>>,
}

impl PatternSet {
    pub(crate) fn pattern(&self, id: PatternId) -> &Pattern {
        self.patterns[id.index()].program.pattern()
    }

    /// Looks for all patterns: one pass over the text, whatever their number.
    pub(crate) fn matches<'s>(&'s self, text: impl Into<Cow<'s, str>>) -> Matched<'s> {
        let text = text.into();
        let mut present = vec![0; self.by_atom.len().div_ceil(64)];
        let mut candidates = Vec::with_capacity(64);
        candidates.extend_from_slice(&self.unconditional);
        self.literals.search(&text, |literal| {
            for &atom in self.by_literal.get(literal as usize) {
                if !is_set(&present, atom) {
                    present[atom as usize / 64] |= 1 << (atom % 64);
                    candidates.extend(self.by_atom.get(atom as usize));
                }
            }
        });
        candidates.retain(|&id| self.are_present(id, &present));
        Matched { set: self, text, candidates, present, searched: RefCell::default() }
    }

    /// Whether all that the pattern requires is there.
    fn are_present(&self, id: PatternId, present: &[u64]) -> bool {
        self.atoms_of.get(id.index()).iter().all(|&atom| is_set(present, atom))
    }

    pub(crate) fn len(&self) -> usize {
        self.patterns.len()
    }

    /// The pattern as written.
    pub(crate) fn text(&self, id: PatternId) -> &str {
        &self.patterns[id.index()].text
    }

    /// All patterns, as they are written and as they were read.
    pub(crate) fn written(&self) -> Vec<(PatternId, &Spanned<String>, &Pattern)> {
        self.patterns.iter().enumerate().map(|(index, single)| (PatternId::new(index), &single.text, single.program.pattern())).collect()
    }
}

impl Program {
    fn search(&self, id: PatternId, text: &str) -> Searched {
        self.search_from(id, text, 0)
    }

    /// Searches from a place on. Where groups will be asked for, they are found on the same way; where not, the place is the beginning.
    fn search_from(&self, id: PatternId, text: &str, start: usize) -> Searched {
        let mut searched = Searched { id, is_match: false, slots: Vec::new() };
        if self.pattern().captures().is_empty() {
            searched.is_match = self.is_match(text);
        } else if let Some(regex) = self.regex(text) {
            searched.slots.resize(regex.group_info().slot_len(), None);
            searched.is_match = regex.search_slots(&Input::new(text).range(start..), &mut searched.slots).is_some();
        }
        searched
    }
}

impl Searched {
    fn group<'s>(&self, group: usize, text: &'s str) -> Option<&'s str> {
        let slot = |index: usize| self.slots.get(index).copied().flatten().map(NonMaxUsize::get);
        text.get(slot(group * 2)?..slot(group * 2 + 1)?)
    }

    /// The text before and behind a group.
    fn around<'s>(&self, group: usize, text: &'s str) -> (&'s str, &'s str) {
        let slot = |slot: usize| self.slots.get(slot).copied().flatten().map(NonMaxUsize::get);
        let before = slot(group * 2).and_then(|start| text.get(..start));
        let after = slot(group * 2 + 1).and_then(|end| text.get(end..));
        (before.unwrap_or_default(), after.unwrap_or_default())
    }

    /// Where the first match ends.
    fn end(&self) -> Option<usize> {
        self.slots.get(1).copied().flatten().map(NonMaxUsize::get)
    }
}

impl<'s> Matched<'s> {
    /// What was searched.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Patterns that may match, of those that something hangs on: all others do not.
    pub(crate) fn candidates(&self) -> &[PatternId] {
        &self.candidates
    }

    /// Whether the pattern matches.
    pub(crate) fn contains(&self, id: PatternId) -> bool {
        self.search(id, |searched| searched.is_match)
    }

    /// Whether all that the pattern requires is in the text: cheap, and a pattern that matches has it.
    pub(crate) fn may_contain(&self, id: PatternId) -> bool {
        self.set.are_present(id, &self.present)
    }

    /// What came out of searching the pattern on its own, which happens at most once.
    fn search<T: Default>(&self, id: PatternId, read: impl FnOnce(&Searched) -> T) -> T {
        if !self.set.are_present(id, &self.present) {
            return T::default();
        }
        let mut searched = self.searched.borrow_mut();
        if let Some(known) = searched.iter().find(|known| known.id == id) {
            return read(known);
        }
        let new = self.set.patterns[id.index()].program.search(id, &self.text);
        let answer = read(&new);
        searched.push(new);
        answer
    }

    /// What the pattern matches first. Cost: searches again; for telling about it.
    pub(crate) fn first_match(&self, id: PatternId) -> Option<&str> {
        if !self.contains(id) {
            return None;
        }
        let regex = self.set.patterns[id.index()].program.regex(&self.text)?;
        self.text.get(regex.find(Input::new(self.text.as_ref()))?.range())
    }

    pub(crate) fn any(&self, ids: &[PatternId]) -> bool {
        ids.iter().any(|&id| self.contains(id))
    }

    /// How much of what the pattern requires is in the text.
    pub(crate) fn nearness(&self, id: PatternId) -> Nearness<'s> {
        let mut nearness = Nearness { share: 0.0, lacking: None };
        let (mut present, mut total) = (0, 0);
        for &atom in self.set.atoms_of.get(id.index()) {
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

    /// What the pattern captures at its first match, each with the text around it.
    pub(crate) fn captures(&self, id: PatternId, mut found: impl FnMut(Fact, Captured<'_>)) {
        let captures = self.set.patterns[id.index()].program.pattern().captures();
        if captures.is_empty() {
            return;
        }
        self.search(id, |searched| {
            for &(group, fact) in captures {
                if let Some(text) = searched.group(group, &self.text) {
                    let (before, after) = searched.around(group, &self.text);
                    found(fact, Captured { before, text, after });
                }
            }
        });
    }

    /// What the pattern captures as `wanted` at its first match.
    pub(crate) fn captured(&self, id: PatternId, wanted: Fact) -> Option<&str> {
        let captures = self.set.patterns[id.index()].program.pattern().captures();
        let &(group, _) = captures.iter().find(|(_, fact)| *fact == wanted)?;
        self.search(id, |searched| searched.group(group, &self.text))
    }

    /// The text without what these patterns match, which are sorted and something hangs on; nothing if they match nothing. A sentence ends where something was, so that what is left and right of it is not read as one.
    pub(crate) fn without(&self, patterns: &[PatternId]) -> Option<String> {
        let first = patterns.first()?;
        let present = self.candidates.iter().filter(|id| *id >= first && patterns.binary_search(id).is_ok());
        let spans = present.filter_map(|&id| Some(self.set.patterns[id.index()].program.spans(&self.text)?.collect::<Vec<_>>()));
        let mut spans: Vec<_> = spans.flatten().collect();
        if spans.is_empty() {
            return None;
        }
        spans.sort_unstable_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
        let (mut rest, mut from) = (String::with_capacity(self.text.len()), 0);
        for span in spans.into_iter().filter(|span| !span.is_empty()) {
            if span.start >= from {
                rest.push_str(&self.text[from..span.start]);
                // At the beginning or the end of a line nothing was cut in two.
                let ends_line = matches!(self.text.as_bytes().get(span.end), None | Some(b'\n'));
                if ends_line {
                    rest.truncate(rest.trim_end_matches(' ').len());
                } else if !(rest.is_empty() || rest.ends_with('\n')) {
                    rest.push_str(". ");
                }
            }
            from = from.max(span.end);
        }
        rest.push_str(&self.text[from..]);
        Some(rest)
    }

    /// What the pattern captures as `wanted`, over its first few matches.
    pub(crate) fn captured_all(&self, id: PatternId, wanted: Fact) -> Vec<&str> {
        const MAX_MATCHES: usize = 4;
        let single = &self.set.patterns[id.index()];
        let captures = single.program.pattern().captures().iter().filter(|(_, fact)| *fact == wanted);
        let mut texts = Vec::new();
        let mut next = self.search(id, |searched| Some(searched.clone()));
        for _ in 0..MAX_MATCHES {
            let Some(found) = next.filter(|searched| searched.is_match) else { break };
            texts.extend(captures.clone().filter_map(|&(group, _)| found.group(group, &self.text)));
            next = found.end().map(|end| single.program.search_from(id, &self.text, end));
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
