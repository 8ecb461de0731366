//! The lines of human-readable text that were found.

use std::borrow::Cow;

/// Most lines that are kept.
const COUNT: usize = 64;

/// Most bytes that are kept, all lines together.
const BYTES: usize = 64 * 1024;

/// Collects lines, the outermost first, each once.
#[derive(Debug, Default)]
pub(super) struct Lines<'a> {
    /// Each line and how deep it was found.
    found: Vec<(usize, Cow<'a, str>)>,
    /// Bytes in all lines.
    bytes: usize,
    /// Whether anything had to be left out.
    truncated: bool,
}

impl<'a> Lines<'a> {
    /// Adds a normalised line.
    pub(super) fn push(&mut self, depth: usize, line: Cow<'a, str>) {
        if line.is_empty() || self.found.iter().any(|(_, known)| *known == line) {
            return;
        }
        let room = BYTES.saturating_sub(self.bytes);
        if self.found.len() >= COUNT || room == 0 {
            self.truncated = true;
            return;
        }
        let line = if line.len() > room { self.cut(line, room) } else { line };
        self.bytes += line.len() + 1;
        self.found.push((depth, line));
    }

    /// How many lines there are.
    pub(super) fn len(&self) -> usize {
        self.found.len()
    }

    /// Whether anything had to be left out.
    pub(super) fn truncated(&self) -> bool {
        self.truncated
    }

    /// All lines as one text, borrowed if there is only one.
    pub(super) fn join(mut self) -> Cow<'a, str> {
        if self.found.len() <= 1 {
            return self.found.pop().map(|(_, line)| line).unwrap_or_default();
        }
        self.found.sort_by_key(|(depth, _)| *depth);
        let mut text = String::with_capacity(self.bytes);
        for (index, (_, line)) in self.found.iter().enumerate() {
            if index > 0 {
                text.push('\n');
            }
            text.push_str(line);
        }
        Cow::Owned(text)
    }

    /// The head of a line that is too long.
    fn cut(&mut self, line: Cow<'a, str>, room: usize) -> Cow<'a, str> {
        self.truncated = true;
        let mut end = room;
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        match line {
            Cow::Borrowed(line) => Cow::Borrowed(line.get(..end).unwrap_or_default()),
            Cow::Owned(mut line) => {
                line.truncate(end);
                Cow::Owned(line)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outermost_first_each_once() {
        let mut lines = Lines::default();
        lines.push(2, "inner".into());
        lines.push(1, "outer".into());
        lines.push(3, "inner".into());
        lines.push(1, "".into());
        assert_eq!(lines.join(), "outer\ninner");
    }

    #[test]
    fn bounded() {
        let mut lines = Lines::default();
        lines.push(0, "é".repeat(40_000).into());
        lines.push(0, "x".into());
        assert!(lines.truncated());
        assert!(lines.join().len() <= BYTES);
    }
}
