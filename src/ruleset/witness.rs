//! Texts that a pattern matches: to try what becomes of them before patterns see them.

use regex_syntax::hir::{Class, ClassUnicodeRange, Hir, HirKind};

/// A pattern that stands for more texts than this is only tried with so many.
const MAX_TEXTS: usize = 32;
/// A class with more members than this is shown by one of them.
const MAX_MEMBERS: u32 = 4;
/// Digits that may be any number of them are tried as one and as so many.
const DIGITS: u32 = 3;

/// Some texts that the expression matches, places such as `^` and `\b` left out of account: of alternatives each, of repetitions the shortest and a longer one. `None` where there are too many alternatives to try.
pub(super) fn witnesses(hir: &Hir) -> Option<Vec<String>> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(vec![String::new()]),
        HirKind::Literal(literal) => Some(vec![std::str::from_utf8(&literal.0).ok()?.to_owned()]),
        HirKind::Class(class) => Some(members(class)),
        HirKind::Capture(capture) => witnesses(&capture.sub),
        HirKind::Repetition(repetition) => {
            let texts = witnesses(&repetition.sub)?;
            let most = repetition.max.unwrap_or(u32::MAX);
            let is = |is: fn(char) -> bool| texts.iter().all(|text| text.len() == 1 && text.chars().all(is));
            let counts = match repetition.min {
                least if is(|c| c.is_ascii_digit()) => [least, DIGITS.clamp(least, most)],
                // A gap with nothing in it would leave two blanks in a row, say.
                0 if is(char::is_alphabetic) && most > 1 => [1, 0],
                0 => [0, 1],
                least => [least, least],
            };
            let mut all: Vec<_> = counts.into_iter().flat_map(|count| texts.iter().map(move |text| text.repeat(count as usize))).collect();
            all.dedup();
            Some(all)
        }
        HirKind::Alternation(branches) => {
            let all: Vec<_> = branches.iter().map(witnesses).collect::<Option<Vec<_>>>()?.concat();
            (all.len() <= MAX_TEXTS).then_some(all)
        }
        HirKind::Concat(parts) => {
            let mut all = vec![String::new()];
            for part in parts {
                let mut texts = witnesses(part)?;
                if all.len() * texts.len() > MAX_TEXTS {
                    texts.truncate(1);
                }
                all = all.iter().flat_map(|text| texts.iter().map(move |more| format!("{text}{more}"))).collect();
            }
            Some(all)
        }
    }
}

/// A few members of the class; none of an empty one.
fn members(class: &Class) -> Vec<String> {
    let Class::Unicode(class) = class else { return Vec::new() };
    let count = class.iter().map(|range| u32::from(range.end()) - u32::from(range.start()) + 1).fold(0, u32::saturating_add);
    if count <= MAX_MEMBERS {
        return class.iter().flat_map(|range| range.start()..=range.end()).map(String::from).collect();
    }
    // What means nothing by itself.
    let plain = ['x', 'a', '1', ':', '-', '.', ' '].into_iter().find(|&c| class.iter().any(|range| (range.start()..=range.end()).contains(&c)));
    plain.or_else(|| class.iter().next().map(ClassUnicodeRange::start)).map(String::from).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::witnesses;

    #[test]
    fn the_texts_are_matched() {
        for pattern in [r"limit of [0-9]{1,3}(?:,[0-9]{3})+ tokens", "https?://x", "(?:a|bc)[.,;]d*(?<limit>[0-9]+)", "[^a-z]+é", "[a&&b]"] {
            let regex = regex::Regex::new(&format!("^(?:{pattern})$")).unwrap();
            let texts = witnesses(&regex_syntax::parse(pattern).unwrap()).unwrap();
            assert!(texts.iter().all(|text| regex.is_match(text)), "{pattern}: {texts:?}");
            assert_eq!(texts.is_empty(), pattern == "[a&&b]", "{pattern}: {texts:?}");
        }
    }

    #[test]
    fn not_too_many_are_tried() {
        let many = "[.,;]".repeat(20);
        assert!(witnesses(&regex_syntax::parse(&many).unwrap()).is_some_and(|texts| texts.len() <= super::MAX_TEXTS));
        let branches: Vec<_> = (0..40).map(|number| format!("branch {number}x.*y")).collect();
        assert_eq!(witnesses(&regex_syntax::parse(&branches.join("|")).unwrap()), None);
    }
}
