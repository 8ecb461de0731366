//! The literals that any match of a pattern must contain.
//!
//! `\bexceeds?\b.*\bcontext (?:window|length)\b` needs "exceed", and one of "context window" and "context length". One Aho-Corasick pass finds the literals of all patterns; only patterns of
//! which every atom is in the text are searched themselves. A lazily built automaton of all patterns would search as fast, but each new text makes it build new states at many times the cost.

use regex_syntax::hir::literal::{ExtractKind, Extractor, Seq};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind};

use super::fold::is_folded_only;
use super::literals::{MAX_LENGTH, MIN_LENGTH};

/// A class with more members than this is a gap between atoms.
const MAX_CLASS: u32 = 6;
/// An atom with more alternatives than this is not worth looking for.
const MAX_LITERALS: usize = 24;

/// Alternatives of which one is in every text that the pattern matches; in lower case.
pub(super) type Atom = Vec<Vec<u8>>;

/// The atoms of a pattern, given its case-sensitive form without groups. None at all when nothing in it is required.
pub(super) fn atoms(hir: &Hir) -> Vec<Atom> {
    required(hir).iter().filter_map(literals).collect()
}

/// Pieces of which each match of a pattern has one text in it, given its case-sensitive form without groups; in lower case and, unlike atoms, at full length.
pub(super) fn pieces(hir: &Hir) -> Vec<Vec<Vec<u8>>> {
    required(hir).iter().map(texts_of).filter(|texts| !texts.is_empty()).collect()
}

/// All texts that a pattern matches, given its case-sensitive form without groups, in lower case: when they are few and of ASCII, and nothing is asked of what stands around them.
pub(super) fn plain_texts(hir: &Hir) -> Vec<Vec<u8>> {
    if !is_tight(hir) || !hir.properties().look_set().is_empty() {
        return Vec::new();
    }
    texts_of(hir)
}

/// The texts that a tight expression stands for, where they are few and of ASCII.
fn texts_of(hir: &Hir) -> Vec<Vec<u8>> {
    let sequence: Seq = Extractor::new().limit_class(MAX_CLASS as usize).limit_literal_len(usize::MAX).limit_total(MAX_LITERALS).extract(hir);
    let is_plain = |literal: &regex_syntax::hir::literal::Literal| literal.is_exact() && literal.as_bytes().is_ascii();
    let texts = sequence.literals().filter(|literals| literals.iter().all(is_plain)).unwrap_or_default();
    texts.iter().map(|literal| literal.as_bytes().to_ascii_lowercase()).collect()
}

/// Pieces without gaps that every match contains.
fn required(hir: &Hir) -> Vec<Hir> {
    if is_tight(hir) {
        return vec![hir.clone()];
    }
    match hir.kind() {
        HirKind::Concat(parts) => required_of_concat(parts),
        HirKind::Repetition(repetition) if repetition.min > 0 => required(&repetition.sub),
        HirKind::Alternation(branches) => required_of_alternation(branches).into_iter().collect(),
        HirKind::Capture(capture) => required(&capture.sub),
        _ => Vec::new(),
    }
}

fn required_of_concat(parts: &[Hir]) -> Vec<Hir> {
    let mut pieces = Vec::new();
    let mut run: Vec<Hir> = Vec::new();
    for part in parts {
        if is_tight(part) {
            run.push(part.clone());
            continue;
        }
        pieces.push(Hir::concat(std::mem::take(&mut run)));
        pieces.extend(required(part));
    }
    pieces.push(Hir::concat(run));
    pieces
}

/// Every match takes one of the branches, so it contains the longest piece of one of them.
fn required_of_alternation(branches: &[Hir]) -> Option<Hir> {
    let longest = |branch: &Hir| required(branch).into_iter().max_by_key(|piece| piece.properties().minimum_len());
    let pieces: Option<Vec<Hir>> = branches.iter().map(longest).collect();
    pieces.map(Hir::alternation)
}

/// Whether the expression stands for few texts.
fn is_tight(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Literal(_) | HirKind::Look(_) => true,
        HirKind::Class(Class::Unicode(class)) => class.iter().map(|range| u32::from(range.end()) - u32::from(range.start()) + 1).fold(0, u32::saturating_add) <= MAX_CLASS,
        HirKind::Class(Class::Bytes(_)) => false,
        HirKind::Capture(capture) => is_tight(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().all(is_tight),
        HirKind::Repetition(repetition) => repetition.max == Some(1) && is_tight(&repetition.sub),
    }
}

/// The texts that a piece begins or ends with, whichever tells more.
fn literals(piece: &Hir) -> Option<Atom> {
    let extract = |kind: ExtractKind| {
        let mut sequence: Seq = Extractor::new().kind(kind).limit_class(MAX_CLASS as usize).limit_literal_len(MAX_LENGTH).limit_total(MAX_LITERALS).extract(piece);
        sequence.dedup();
        let atom: Option<Atom> = sequence.literals()?.iter().map(|literal| telling(whole_characters(literal.as_bytes()))).collect();
        atom.filter(|atom| !atom.is_empty())
    };
    let shortest = |atom: &Atom| atom.iter().map(Vec::len).min();
    [extract(ExtractKind::Prefix), extract(ExtractKind::Suffix)].into_iter().flatten().max_by_key(shortest)
}

/// The literal without the parts of a character at its ends: it was cut by bytes.
fn whole_characters(literal: &[u8]) -> &[u8] {
    let continues = literal.iter().take_while(|byte| **byte & 0xc0 == 0x80).count();
    let literal = &literal[continues..];
    match std::str::from_utf8(literal) {
        Err(error) if error.error_len().is_none() => &literal[..error.valid_up_to()],
        _ => literal,
    }
}

/// The literal as it is looked for: long enough, in lower case, and in no case but those that lower case makes one.
fn telling(literal: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(literal).ok()?;
    let lower = lower_case(text);
    let fits = (MIN_LENGTH..=MAX_LENGTH).contains(&lower.len());
    (fits && text.chars().all(|c| c.is_ascii() || has_one_lower_case(c))).then(|| lower.into_bytes())
}

/// The text in lower case, character by character: what stands around one makes no difference.
pub(super) fn lower_case(text: &str) -> String {
    let mut lower = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            lower.push(c.to_ascii_lowercase());
        } else {
            lower.extend(c.to_lowercase());
        }
    }
    lower
}

/// Whether all letters that a pattern takes for this one have its lower case. Of those beyond ASCII nearly all do, but not a Greek sigma.
fn has_one_lower_case(c: char) -> bool {
    if !c.is_lowercase() && !c.is_uppercase() {
        return true;
    }
    let mut class = ClassUnicode::new([ClassUnicodeRange::new(c, c)]);
    let folded = class.try_case_fold_simple().is_ok();
    let mut others = class.iter().flat_map(|range| range.start()..=range.end()).filter(|other| !is_folded_only(*other));
    folded && others.all(|other| other.to_lowercase().eq(c.to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::atoms;

    #[test]
    fn patterns_need_what_stands_between_their_gaps() {
        let cases: [(&str, &[&[&str]]); 13] = [
            ("context window", &[&["context window"]]),
            ("[0-9]+ tokens > [0-9]+", &[&[" tokens > "]]),
            ("Exceeds?.*(?:context|model) window", &[&["exceed", "exceeds"], &["context window", "model window"]]),
            ("a.*context", &[&["context"]]),
            ("(?:ab.*cdef|fg.*hijk)x", &[&["cdef", "hijk"]]),
            ("(?:ab.*cd)?efg.*h", &[&["efg"]]),
            ("(?: [a-z]+){0,3}balance", &[&["balance"]]),
            ("上下文长度", &[&["上下文长度"]]),
            ("(?:超出|超过)上下文长度限制", &[&["文长度限制"]]),
            ("Été.*trop long", &[&["été"], &["trop long"]]),
            ("όρος", &[]),
            ("Превышен.*лимит", &[&["превышен"], &["лимит"]]),
            (".*", &[]),
        ];
        for (pattern, expected) in cases {
            let hir = regex_syntax::parse(pattern).expect("the test's pattern is valid");
            let found: Vec<Vec<String>> = atoms(&super::super::fold::strip_captures(hir))
                .into_iter()
                .map(|atom| atom.into_iter().map(|literal| String::from_utf8(literal).expect("text")).collect())
                .collect();
            let sorted = |mut list: Vec<String>| {
                list.sort();
                list
            };
            let found: Vec<Vec<String>> = found.into_iter().map(sorted).collect();
            let expected: Vec<Vec<String>> = expected.iter().map(|atom| sorted(atom.iter().map(ToString::to_string).collect())).collect();
            assert_eq!(found, expected, "{pattern}");
        }
    }
}
