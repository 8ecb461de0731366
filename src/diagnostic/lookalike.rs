//! Characters that look like others or like nothing: they come with text that is pasted, and whoever reads the word again sees nothing wrong with it.

/// Letters of other alphabets and the Latin letters that look the same.
const LETTERS: [(&str, &[(char, char)]); 2] = [
    (
        "Cyrillic",
        &[
            ('а', 'a'),
            ('с', 'c'),
            ('ԁ', 'd'),
            ('е', 'e'),
            ('һ', 'h'),
            ('і', 'i'),
            ('ј', 'j'),
            ('ӏ', 'l'),
            ('о', 'o'),
            ('р', 'p'),
            ('ԛ', 'q'),
            ('ѕ', 's'),
            ('ԝ', 'w'),
            ('х', 'x'),
            ('у', 'y'),
        ],
    ),
    ("Greek", &[('α', 'a'), ('ε', 'e'), ('ι', 'i'), ('κ', 'k'), ('ν', 'v'), ('ο', 'o'), ('ρ', 'p'), ('τ', 't'), ('υ', 'u'), ('χ', 'x')]),
];

/// The first such character of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lookalike {
    /// The offset in bytes.
    pub(crate) at: usize,
    pub(crate) character: char,
    /// `U+0435, a Cyrillic letter that looks like e`.
    pub(crate) name: String,
    /// What to do about it.
    pub(crate) remedy: String,
}

impl Lookalike {
    pub(crate) fn in_text(text: &str) -> Option<Self> {
        text.char_indices().find_map(|(at, character)| {
            let code = format!("U+{:04X}", u32::from(character));
            let of_letter = |(alphabet, letters): &(&str, &[(char, char)])| {
                let (_, latin) = letters.iter().find(|(letter, _)| *letter == character)?;
                Some((format!("{code}, a {alphabet} letter that looks like {latin}"), format!("write the Latin {latin}")))
            };
            let (name, remedy) = match character {
                _ if character.is_ascii() => return None,
                _ if is_invisible(character) => (format!("{code}, which cannot be seen"), "delete it".to_owned()),
                _ if character.is_whitespace() => (format!("{code}, a blank of another kind than the space bar's"), "delete it".to_owned()),
                _ => LETTERS.iter().find_map(of_letter)?,
            };
            Some(Self { at, character, name, remedy })
        })
    }

    /// A hint about a word that should be a known one.
    pub(crate) fn hint(word: &str) -> Option<String> {
        let Self { at, name, remedy, .. } = Self::in_text(word)?;
        let number = word.get(..at)?.chars().count() + 1;
        Some(format!("its character {number} is {name}: {remedy}"))
    }
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::Lookalike;

    #[test]
    fn what_looks_like_something_else_is_named_with_its_place() {
        let cases = [
            ("context_overflow", None),
            ("context_ov\u{435}rflow", Some("its character 11 is U+0435, a Cyrillic letter that looks like e: write the Latin e")),
            ("ba\u{a0}se", Some("its character 3 is U+00A0, a blank of another kind than the space bar's: delete it")),
            ("base\u{200b}", Some("its character 5 is U+200B, which cannot be seen: delete it")),
            ("bäse", None),
            ("超过", None),
        ];
        for (word, hint) in cases {
            assert_eq!(Lookalike::hint(word).as_deref(), hint, "{word:?}");
        }
    }
}
