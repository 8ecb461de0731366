//! Texts and positions: where every value of a rule file stands.

mod directory;
mod embedded;
mod position;

pub use self::position::Position;

pub(crate) use self::directory::{DirectoryFile, MAX_FILE_BYTES, Unreadable, read_directory};
pub(crate) use self::embedded::embedded_texts;
pub(crate) use self::position::{Location, SourceId, Spanned};

use std::fmt;

/// Where a rule file comes from; later layers override earlier ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layer {
    /// The rules compiled into the library.
    Embedded,
    /// A rules directory, as the caller named it.
    Directory(String),
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded => f.write_str("embedded"),
            Self::Directory(path) => f.write_str(path),
        }
    }
}

/// One rule file: its display name, its layer and its text.
#[derive(Clone)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) layer: usize,
    pub(crate) text: String,
    /// Whether the text is a rule file to read, and not only what can be shown of one.
    pub(crate) is_whole: bool,
    line_starts: Vec<u32>,
}

impl Source {
    pub(crate) fn new(name: String, layer: usize, text: String) -> Self {
        let starts = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at as u32 + 1);
        let line_starts = std::iter::once(0).chain(starts).collect();
        Self { name, layer, text, is_whole: true, line_starts }
    }

    /// The line of a byte offset, from 1.
    fn line(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|&start| start as usize <= offset)
    }

    /// Line and column of a byte offset, both from 1; the column counts characters.
    fn position(&self, offset: usize) -> Position {
        let offset = floor_char_boundary(&self.text, offset);
        let line = self.line(offset);
        let start = self.line_starts.get(line.saturating_sub(1)).map_or(0, |&start| start as usize);
        let column = self.text.get(start..offset).map_or(0, |before| before.chars().count()) + 1;
        Position { line: line.max(1), column }
    }
}

/// Without the text, which would bury whatever else is printed.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("name", &self.name).field("layer", &self.layer).field("bytes", &self.text.len()).finish_non_exhaustive()
    }
}

/// All files that a ruleset is made of, by [`SourceId`], with the layers they belong to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    layers: Vec<Layer>,
    files: Vec<Source>,
}

impl Sources {
    pub(crate) fn add_layer(&mut self, layer: Layer) -> usize {
        self.layers.push(layer);
        self.layers.len() - 1
    }

    pub(crate) fn add(&mut self, name: String, layer: usize, text: String) -> SourceId {
        self.files.push(Source::new(name, layer, text));
        SourceId::from_index(self.files.len() - 1)
    }

    /// Adds what can be shown of a file that cannot be read.
    pub(crate) fn add_broken(&mut self, name: String, layer: usize, text: String) -> SourceId {
        self.files.push(Source { is_whole: false, ..Source::new(name, layer, text) });
        SourceId::from_index(self.files.len() - 1)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = SourceId> + use<> {
        (0..self.files.len()).map(SourceId::from_index)
    }

    pub(crate) fn get(&self, id: SourceId) -> Option<&Source> {
        self.files.get(id.index())
    }

    pub(crate) fn text(&self, id: SourceId) -> &str {
        self.get(id).map_or("", |source| &source.text)
    }

    pub(crate) fn name(&self, id: SourceId) -> &str {
        self.get(id).map_or("no rule file", |source| &source.name)
    }

    pub(crate) fn layer_index(&self, id: SourceId) -> usize {
        self.get(id).map_or(0, |source| source.layer)
    }

    /// Whether no layer is over the one that the file belongs to.
    pub(crate) fn is_of_last_layer(&self, id: SourceId) -> bool {
        self.layer_index(id) + 1 == self.layers.len()
    }

    pub(crate) fn layer(&self, id: SourceId) -> &Layer {
        self.layers.get(self.layer_index(id)).unwrap_or(&Layer::Embedded)
    }

    pub(crate) fn position(&self, at: Location) -> Position {
        self.get(at.source).map_or(Position { line: 1, column: 1 }, |source| source.position(at.start()))
    }

    /// Where the place ends: behind its last character.
    pub(crate) fn end(&self, at: Location) -> Position {
        self.get(at.source).map_or(Position { line: 1, column: 1 }, |source| source.position(at.range().end))
    }

    /// The line of a place, without the cost of its column.
    pub(crate) fn line(&self, at: Location) -> (SourceId, usize) {
        (at.source, self.get(at.source).map_or(1, |source| source.line(at.start())))
    }

    /// `file:line`, the form in which verdicts name their origin.
    pub(crate) fn origin(&self, at: Location) -> String {
        format!("{}:{}", self.name(at.source), self.position(at).line)
    }
}

fn floor_char_boundary(text: &str, offset: usize) -> usize {
    let offset = offset.min(text.len());
    (0..=offset).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let source = Source::new("x".into(), 0, "ab\n超过 c\n\nz".into());
        let cases = [(0, 1, 1), (1, 1, 2), (3, 2, 1), (6, 2, 2), (10, 2, 4), (12, 3, 1), (13, 4, 1), (99, 4, 2)];
        for (offset, line, column) in cases {
            assert_eq!(source.position(offset), Position { line, column }, "offset {offset}");
        }
    }
}
