//! Rewrites of a regular expression's intermediate form that make the automaton smaller without changing what matters.

use regex_syntax::hir::{Capture, Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Repetition};

/// Case folding adds letters that no error text has. Without them most patterns are pure ASCII.
pub(super) fn without_unicode_folds(hir: Hir) -> Hir {
    rewrite(hir, &|hir| match hir.into_kind() {
        HirKind::Class(Class::Unicode(class)) => Hir::class(Class::Unicode(drop_folds(class))),
        kind => from_kind(kind),
    })
}

/// Groups cost the automaton states, and a set does not report them.
pub(super) fn strip_captures(hir: Hir) -> Hir {
    rewrite(hir, &|hir| match hir.into_kind() {
        HirKind::Capture(capture) => *capture.sub,
        kind => from_kind(kind),
    })
}

/// Applies `leaf` bottom-up. The depth is bounded by the parser's nest limit.
fn rewrite(hir: Hir, leaf: &impl Fn(Hir) -> Hir) -> Hir {
    let rebuilt = match hir.into_kind() {
        HirKind::Repetition(repetition) => Hir::repetition(Repetition { sub: Box::new(rewrite(*repetition.sub, leaf)), ..repetition }),
        HirKind::Capture(capture) => Hir::capture(Capture { sub: Box::new(rewrite(*capture.sub, leaf)), ..capture }),
        HirKind::Concat(parts) => Hir::concat(parts.into_iter().map(|part| rewrite(part, leaf)).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.into_iter().map(|part| rewrite(part, leaf)).collect()),
        kind => from_kind(kind),
    };
    leaf(rebuilt)
}

fn from_kind(kind: HirKind) -> Hir {
    match kind {
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) => Hir::literal(literal.0),
        HirKind::Class(class) => Hir::class(class),
        HirKind::Look(look) => Hir::look(look),
        HirKind::Repetition(repetition) => Hir::repetition(repetition),
        HirKind::Capture(capture) => Hir::capture(capture),
        HirKind::Concat(parts) => Hir::concat(parts),
        HirKind::Alternation(parts) => Hir::alternation(parts),
    }
}

/// Whether the letter is a form that only case folding leads to: the long s of `s`, the Kelvin sign of `k`, and the rounded letters of old Church Slavonic.
pub(super) fn is_folded_only(c: char) -> bool {
    matches!(c, '\u{17f}' | '\u{212a}' | '\u{1c80}'..='\u{1c88}')
}

/// Only such letters among themselves are dropped; in a wider range they were written, or are negated.
fn drop_folds(class: ClassUnicode) -> ClassUnicode {
    let folded = |range: &ClassUnicodeRange| (range.start()..=range.end()).all(is_folded_only);
    if class.ranges().iter().all(folded) {
        return class;
    }
    ClassUnicode::new(class.ranges().iter().filter(|range| !folded(range)).copied())
}
