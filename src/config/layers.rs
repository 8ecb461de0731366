//! Which rules are loaded: the embedded ones, then each directory in order.

use std::path::Path;

use super::Config;
use crate::diagnostic::{Code, Problem};
use crate::error::Error;
use crate::source::{DirectoryFile, Unreadable};
use crate::source::{Layer, Location, Sources, embedded_texts, read_directory};

/// What the names of embedded files begin with, so that `embedded/openai.toml:12` and a user's `rules/openai.toml:12` are told apart.
const EMBEDDED: &str = "embedded/";

/// A file's name, in such a form that it cannot be taken for an embedded one.
fn shown(name: String) -> String {
    if name.starts_with(EMBEDDED) { format!("./{name}") } else { name }
}

/// Layers collected so far and the problems met while reading them.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    sources: Sources,
    problems: Vec<Problem>,
}

impl Layers {
    pub(crate) fn add_embedded(&mut self) {
        let layer = self.sources.add_layer(Layer::Embedded);
        for (name, text) in embedded_texts() {
            self.sources.add(format!("{EMBEDDED}{name}"), layer, (*text).to_owned());
        }
    }

    /// Adds texts as one layer, as if they were the files of a directory of that name.
    pub(crate) fn add_texts<'a>(&mut self, name: &str, texts: impl IntoIterator<Item = (&'a str, &'a str)>) {
        let layer = self.sources.add_layer(Layer::Directory(name.to_owned()));
        for (file, text) in texts {
            self.add_text(format!("{name}/{file}"), layer, text.to_owned());
        }
    }

    /// Adds the files of a directory.
    ///
    /// # Errors
    ///
    /// When the directory cannot be listed. What is wrong with single files becomes a diagnostic.
    pub(crate) fn add_directory(&mut self, dir: &Path) -> Result<(), Error> {
        self.add_files(dir, read_directory(dir).map_err(|error| Error::io(dir, error))?);
        Ok(())
    }

    /// Adds the files of a directory that has been read.
    pub(crate) fn add_files(&mut self, dir: &Path, files: Vec<DirectoryFile>) {
        let name = dir.to_string_lossy().into_owned();
        let layer = self.sources.add_layer(Layer::Directory(name.clone()));
        // An entry that is no file is passed over, so it does not make the directory less empty.
        if files.iter().all(|file| matches!(file.text, Err(Unreadable::NotAFile | Unreadable::OtherCase | Unreadable::Loop))) {
            let source = self.sources.add(name, layer, String::new());
            let problem = Problem::new(Code::NoRuleFiles, Location::new(source, 0..0), "the directory has no *.toml file");
            self.problems.push(problem.hint("an empty rules directory is taken for a mistake; leave it out to use the embedded rules alone"));
        }
        for file in files {
            self.add_file(layer, file);
        }
    }

    fn add_text(&mut self, name: String, layer: usize, text: String) {
        let is_empty = text.is_empty();
        let source = self.sources.add(shown(name), layer, text);
        if is_empty {
            // Taken for a file that is just being written: to go on without its rules would be half a ruleset.
            let problem = Problem::new(Code::MissingKey, Location::new(source, 0..0), "the file is empty");
            self.problems.push(problem.hint("write at least provider = \"...\", or delete the file"));
        }
    }

    fn add_file(&mut self, layer: usize, file: DirectoryFile) {
        let error = match file.text {
            Ok(text) => {
                self.add_text(file.name, layer, text);
                return;
            }
            Err(error) => error,
        };
        let (shown_text, marked) = match &error {
            // The wrong byte is shown as U+FFFD.
            Unreadable::NotText { text, at, .. } => (text.clone(), *at..*at + '\u{fffd}'.len_utf8()),
            _ => (String::new(), 0..0),
        };
        let source = self.sources.add_broken(shown(file.name), layer, shown_text);
        let at = Location::new(source, marked);
        self.problems.push(match error {
            Unreadable::TooLarge(bytes) => Problem::new(Code::FileTooLarge, at, format!("the file has {bytes} bytes; a rule file may have {}", crate::source::MAX_FILE_BYTES))
                .hint("split it by provider, or move what is no rule file elsewhere"),
            Unreadable::NotText { is_nul: true, .. } => Problem::new(Code::NotUtf8, at, "the file has a byte NUL, which no text has")
                .label("the first one")
                .hint("save it as UTF-8; UTF-16 and binary files have such bytes"),
            Unreadable::NotText { .. } => Problem::new(Code::NotUtf8, at, "the file is not UTF-8 text").label("the first wrong byte").hint("save it as UTF-8"),
            Unreadable::NotAFile => Problem::new(Code::NotAFile, at, "this is no regular file, it is passed over").hint("move it out of the rules directory"),
            Unreadable::OtherCase => {
                Problem::new(Code::NotAFile, at, "rule files end in .toml, in lower case: this one is passed over").hint("rename it, or move it out of the rules directory")
            }
            Unreadable::Loop => Problem::new(Code::NotAFile, at, "this is a symbolic link that leads in a circle, it is passed over").hint("remove it, or point it at a rule file"),
            Unreadable::Io(error) => {
                Problem::new(Code::Unreadable, at, format!("the file cannot be read: {error}")).hint("check that it exists and that its permissions allow reading")
            }
        });
    }

    /// Merges and validates the layers; problems come along.
    pub(crate) fn build(self) -> (Result<Config, Sources>, Vec<Problem>) {
        let Self { sources, mut problems } = self;
        let backup = sources.clone();
        match super::build(sources, &mut problems) {
            Some(config) => (Ok(config), problems),
            None => (Err(backup), problems),
        }
    }
}
