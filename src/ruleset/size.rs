//! How large a pattern's program can become, without making it.

use regex_syntax::hir::{Class, Hir, HirKind};
use regex_syntax::utf8::Utf8Sequences;

/// A state of the program with its transitions, at most. Tried out on thousands of patterns, see the test.
const STATE: usize = 88;
/// What the other case of letters, and the holes of a negated class for them, add to a class.
const MAX_FOLDED: usize = 24;
/// A class with more ranges than this is not looked at closely.
const MAX_RANGES: usize = 64;

/// A bound in bytes, given the case-sensitive form. Generous, and for huge character classes without a limit.
pub(super) fn upper_bound(hir: &Hir) -> usize {
    // What comes before and after every pattern.
    of(hir).saturating_add(16 * STATE)
}

fn of(hir: &Hir) -> usize {
    let parts = |parts: &[Hir]| parts.iter().map(of).fold(STATE, usize::saturating_add);
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => STATE,
        // Each letter in both cases, and beyond ASCII that makes other bytes.
        HirKind::Literal(literal) => literal.0.iter().map(|byte| if byte.is_ascii() { STATE } else { 4 * STATE }).sum(),
        HirKind::Class(Class::Unicode(class)) if class.ranges().len() <= MAX_RANGES => {
            let bytes: usize = class.ranges().iter().flat_map(|range| Utf8Sequences::new(range.start(), range.end())).map(|sequence| sequence.len()).sum();
            STATE * (1 + bytes + bytes.min(MAX_FOLDED))
        }
        HirKind::Class(Class::Unicode(_)) => usize::MAX,
        HirKind::Class(Class::Bytes(_)) => STATE,
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min.saturating_add(1)).max(1) as usize;
            of(&repetition.sub).saturating_add(STATE).saturating_mul(times)
        }
        HirKind::Capture(capture) => of(&capture.sub).saturating_add(2 * STATE),
        HirKind::Concat(all) | HirKind::Alternation(all) => parts(all),
    }
}
