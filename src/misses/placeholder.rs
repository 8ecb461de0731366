//! What stands for the private parts of a text: while it is masked one character each, so that none is taken for a word, and nothing in a text for one of them.

pub(super) const NUMBER: char = '\u{e000}';
pub(super) const ID: char = '\u{e001}';
pub(super) const NAME: char = '\u{e002}';
pub(super) const EMAIL: char = '\u{e003}';
pub(super) const PATH: char = '\u{e004}';
pub(super) const TIME: char = '\u{e005}';
pub(super) const QUOTED: char = '\u{e006}';
pub(super) const TEXT: char = '\u{e007}';

/// How each is written.
const WRITTEN: [(char, &str); 8] =
    [(NUMBER, "<n>"), (ID, "<id>"), (NAME, "<name>"), (EMAIL, "<email>"), (PATH, "<path>"), (TIME, "<time>"), (QUOTED, "<quoted>"), (TEXT, "<text>")];

pub(super) fn is_placeholder(c: char) -> bool {
    (NUMBER..=TEXT).contains(&c)
}

/// The text with the placeholders that are written in it as characters: they hide nothing, and a template is masked to itself.
pub(super) fn read(text: &str) -> String {
    WRITTEN.iter().fold(text.to_owned(), |text, (c, written)| text.replace(written, c.encode_utf8(&mut [0; 4])))
}

/// The text without the characters that mean placeholders here.
pub(super) fn without(text: &str) -> String {
    text.chars().filter(|c| !('\u{e000}'..='\u{e00f}').contains(c)).collect()
}

/// The text with the placeholders written out.
pub(super) fn write(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match WRITTEN.iter().find(|(placeholder, _)| *placeholder == c) {
            Some((_, written)) => out.push_str(written),
            None => out.push(c),
        }
    }
    out
}
