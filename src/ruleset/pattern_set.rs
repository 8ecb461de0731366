//! All patterns over one kind of text, searched in one pass.

use std::collections::HashMap;
use std::sync::OnceLock;

use regex_automata::{Input, MatchKind, meta};
use regex_syntax::hir::Hir;

use super::pattern::Pattern;
use crate::config::Fact;

/// The cache of lazily built automaton states, per searching thread at most. With the usual 2 MiB the search thrashes at some 300 patterns and becomes 700 times slower; it is only filled
/// as far as texts need it.
const CACHE_BYTES: usize = 64 << 20;
/// The largest program of all patterns together.
const MAX_COMPILED_BYTES: usize = 64 << 20;

/// Index of a pattern in its set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PatternId(u32);

impl PatternId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Which patterns of a set match a text.
#[derive(Debug)]
pub(crate) struct Matched(regex_automata::PatternSet);

impl Matched {
    pub(crate) fn contains(&self, id: PatternId) -> bool {
        regex_automata::PatternID::new(id.index()).is_ok_and(|id| self.0.contains(id))
    }

    pub(crate) fn any(&self, ids: &[PatternId]) -> bool {
        ids.iter().any(|&id| self.contains(id))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = PatternId> + '_ {
        self.0.iter().map(|id| PatternId(id.as_u32()))
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
        let id = PatternId(u32::try_from(self.patterns.len()).unwrap_or(u32::MAX));
        self.patterns.push((text.to_owned(), pattern));
        self.by_text.insert(text.to_owned(), id);
        id
    }

    /// Builds the set; the error is that all together are too large.
    pub(crate) fn build(self) -> Result<PatternSet, Box<meta::BuildError>> {
        let hirs: Vec<Hir> = self.patterns.iter().map(|(_, pattern)| pattern.for_set()).collect();
        let config = meta::Config::new()
            .match_kind(MatchKind::All)
            .nfa_size_limit(Some(MAX_COMPILED_BYTES))
            .hybrid_cache_capacity(CACHE_BYTES)
            .which_captures(regex_automata::nfa::thompson::WhichCaptures::None)
            .onepass(false)
            .backtrack(false);
        let regex = meta::Builder::new().configure(config).build_many_from_hir(&hirs).map_err(Box::new)?;
        let patterns = self.patterns.into_iter().map(|(text, pattern)| Single { text, pattern, regex: OnceLock::new() }).collect();
        Ok(PatternSet { regex, patterns })
    }
}

/// All patterns over one kind of text. Only the winner's pattern is ever searched on its own, for its captures, and compiled when that first happens.
#[derive(Debug)]
pub(crate) struct PatternSet {
    regex: meta::Regex,
    patterns: Vec<Single>,
}

#[derive(Debug)]
struct Single {
    text: String,
    pattern: Pattern,
    regex: OnceLock<Option<meta::Regex>>,
}

impl PatternSet {
    /// Which patterns match anywhere in the text: one pass, whatever the number of patterns.
    pub(crate) fn matches(&self, text: &str) -> Matched {
        let mut set = regex_automata::PatternSet::new(self.patterns.len());
        self.regex.which_overlapping_matches(&Input::new(text), &mut set);
        Matched(set)
    }

    pub(crate) fn len(&self) -> usize {
        self.patterns.len()
    }

    /// The pattern as written.
    pub(crate) fn text(&self, id: PatternId) -> &str {
        &self.patterns[id.index()].text
    }

    pub(crate) fn has_captures(&self, id: PatternId) -> bool {
        !self.patterns[id.index()].pattern.captures().is_empty()
    }

    /// What the pattern captures in the text, match by match; nothing when it has no groups or does not match.
    pub(crate) fn captures<'t>(&self, id: PatternId, text: &'t str, mut found: impl FnMut(Fact, &'t str)) {
        let single = &self.patterns[id.index()];
        if single.pattern.captures().is_empty() {
            return;
        }
        let Some(regex) = single.regex.get_or_init(|| single.pattern.compile().ok()) else {
            return;
        };
        let mut captures = regex.create_captures();
        regex.captures(text, &mut captures);
        for &(group, fact) in single.pattern.captures() {
            if let Some(span) = captures.get_group(group) {
                found(fact, &text[span.start..span.end]);
            }
        }
    }

    /// The first few texts that the pattern captures as `fact`, over all its matches.
    pub(crate) fn captured_all<'t>(&self, id: PatternId, text: &'t str, wanted: Fact) -> Vec<&'t str> {
        const MAX_MATCHES: usize = 4;
        let single = &self.patterns[id.index()];
        let groups: Vec<usize> = single.pattern.captures().iter().filter(|(_, fact)| *fact == wanted).map(|(group, _)| *group).collect();
        let Some(regex) = single.regex.get_or_init(|| single.pattern.compile().ok()) else {
            return Vec::new();
        };
        let spans = regex.captures_iter(text).take(MAX_MATCHES);
        spans.flat_map(|captures| groups.iter().filter_map(move |&group| captures.get_group(group)).collect::<Vec<_>>()).map(|span| &text[span.start..span.end]).collect()
    }
}
