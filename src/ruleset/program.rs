//! What searches for one pattern: its texts where they are few, or a program that is made quickly; after a number of searches a program that is made for speed.
//!
//! Most patterns are searched with a handful of times in the life of a process: when the examples are run. To build the automata that make a search fast would cost many times what they save there, in time
//! and in memory. All find the same matches.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use regex_automata::{Input, meta};

use super::pattern::Pattern;

/// So many searches are left to what is made quickly: about what the fast program costs to make.
const QUICK_SEARCHES: u32 = 128;
/// A longer text is worth the fast program at once.
const QUICK_BYTES: usize = 4 * 1024;

/// Most places that are looked for in a text.
const MAX_SPANS: usize = 64;

/// A pattern and its programs, each made when it is first needed.
#[derive(Debug)]
pub(crate) struct Program {
    pattern: Pattern,
    /// For texts of ASCII alone, as most are.
    ascii: OnceLock<Option<meta::Regex>>,
    quick: OnceLock<Option<meta::Regex>>,
    fast: OnceLock<Option<meta::Regex>>,
    searches: AtomicU32,
}

impl Program {
    pub(super) fn new(pattern: Pattern) -> Self {
        Self { pattern, ascii: OnceLock::new(), quick: OnceLock::new(), fast: OnceLock::new(), searches: AtomicU32::new(0) }
    }

    pub(super) fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// Whether the pattern matches somewhere in the text.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        let texts = self.pattern.texts();
        if !texts.is_empty() && self.fast.get().is_none() && self.is_worth_little(text) {
            return texts.iter().any(|wanted| contains(text.as_bytes(), wanted));
        }
        self.regex(text).is_some_and(|regex| regex.is_match(Input::new(text)))
    }

    /// The program for a search in this text.
    pub(super) fn regex(&self, text: &str) -> Option<&meta::Regex> {
        if let Some(fast) = self.fast.get() {
            return fast.as_ref();
        }
        let (program, compile): (_, fn(&Pattern) -> _) = match self.is_worth_little(text) {
            true if text.is_ascii() => (&self.ascii, Pattern::compile_for_ascii),
            true => (&self.quick, Pattern::compile_quickly),
            false => (&self.fast, Pattern::compile),
        };
        program.get_or_init(|| compile(&self.pattern).ok()).as_ref()
    }

    /// Where the pattern matches.
    pub(super) fn spans<'s>(&'s self, text: &'s str) -> Option<impl Iterator<Item = std::ops::Range<usize>> + use<'s>> {
        Some(self.regex(text)?.find_iter(text).take(MAX_SPANS).map(|found| found.range()))
    }

    /// Whether one more search, in this text, is not worth the fast program.
    fn is_worth_little(&self, text: &str) -> bool {
        text.len() <= QUICK_BYTES && self.searches.fetch_add(1, Ordering::Relaxed) < QUICK_SEARCHES
    }
}

/// Whether the text, in any case, is in there. Both are short.
fn contains(text: &[u8], wanted: &[u8]) -> bool {
    let Some(first) = wanted.first() else { return true };
    let mut places = text.windows(wanted.len()).filter(|window| window.first().is_some_and(|byte| byte.to_ascii_lowercase() == *first));
    places.any(|window| window.eq_ignore_ascii_case(wanted))
}

#[cfg(test)]
mod tests {
    use super::{Program, QUICK_BYTES, QUICK_SEARCHES};
    use crate::ruleset::pattern::Pattern;
    use crate::source::{Location, SourceId, Sources, Spanned};

    fn program(text: &str) -> Program {
        let at = Location::new(SourceId::from_index(0), 0..0);
        Program::new(Pattern::parse(&Spanned::new(text.to_owned(), at), &Sources::default()).expect("the test's pattern is valid"))
    }

    #[test]
    fn all_programs_find_the_same() {
        for (pattern, text) in [
            (r"\blimit of (?<limit>\d+) tokens\b", "The LIMIT of 8192 tokens, not the limit of 4096 tokens"),
            (r"(?:token|tokens) per (?:min|minute)", "tokens per minute"),
            (r"^retry\s+after .{1,20}?s$", "no\nretry after 20 s, says\nsomebody"),
            (r"超过.*(?<limit>\d+)", "请求超过了限制 128 个"),
            (r"k[^a]x", "a K\u{212a}x kéx"),
            ("no (?:budget|credits?) left", "There is NO CREDIT LEFT"),
            ("no (?:budget|credits?) left", "There is no credits"),
            ("Skonto", "kein \u{17f}konto"),
            ("straße", "STRASSE Straße STRAẞE"),
            ("(?-i)Token", "token"),
            ("^token", "a token"),
            (r"(?:überschreitet|exceeds)[^.]{0,20}(?<limit>\d+)", "It exceeds the 4096, the 512"),
            (r"(?:超过(?<limit>\d+)|[^a-zé](?<requested>\d+))", "of 17"),
            (r"[à-ÿ]", "a b"),
        ] {
            let find = |program: &Program| {
                let regex = program.regex(text).expect("it compiles");
                let mut slots = vec![None; regex.group_info().slot_len()];
                let found = regex.search_slots(&regex_automata::Input::new(text), &mut slots);
                (found.map(|found| found.as_usize()), slots, program.is_match(text))
            };
            let program = program(pattern);
            let quick = find(&program);
            assert!(program.fast.get().is_none(), "{pattern}");
            (0..=QUICK_SEARCHES).for_each(|_| _ = program.is_match(text));
            assert!(program.fast.get().is_some(), "{pattern}");
            assert_eq!(find(&program), quick, "{pattern}");
        }
    }

    #[test]
    fn a_long_text_gets_the_fast_program() {
        let program = program("token");
        assert!(!program.is_match(&" ".repeat(QUICK_BYTES + 1)));
        assert!(program.quick.get().is_none() && program.fast.get().is_some());
    }
}
