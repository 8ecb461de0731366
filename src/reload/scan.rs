//! One look at the rules directories: every rule file read once, so that what is compiled is what was fingerprinted.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::fingerprint::{Fingerprint, Fingerprinter};
use crate::source::{DirectoryFile, read_directory};

/// What all directories held at one time.
pub(super) struct Scan {
    pub(super) fingerprint: Fingerprint,
    pub(super) dirs: Vec<DirScan>,
}

/// What one directory held.
pub(super) struct DirScan {
    pub(super) path: PathBuf,
    pub(super) files: io::Result<Vec<DirectoryFile>>,
}

impl DirScan {
    /// What it held when it was scanned for these texts.
    pub(super) fn of_texts((path, texts): &(PathBuf, Vec<(PathBuf, String)>)) -> Self {
        let file = |(path, text): &(PathBuf, String)| DirectoryFile { name: path.to_string_lossy().into_owned(), path: path.clone(), text: Ok(text.clone()) };
        Self { path: path.clone(), files: Ok(texts.iter().map(file).collect()) }
    }
}

/// The texts of good rules, each with its directory and path: enough to make them again. What was passed over is left out.
pub(super) type Texts = Vec<(PathBuf, Vec<(PathBuf, String)>)>;

impl Scan {
    pub(super) fn texts(&self) -> Texts {
        let texts = |files: &Vec<DirectoryFile>| files.iter().filter_map(|file| Some((file.path.clone(), file.text.as_ref().ok()?.clone()))).collect();
        self.dirs.iter().map(|dir| (dir.path.clone(), dir.files.as_ref().map(texts).unwrap_or_default())).collect()
    }

    /// Reads every rule file; each is bounded in size, and so are number and sum.
    pub(super) fn of(dirs: &[PathBuf]) -> Self {
        let dirs: Vec<_> = dirs.iter().map(|path| DirScan { path: path.clone(), files: read_directory(path) }).collect();
        Self { fingerprint: Self::fingerprint_of(&dirs), dirs }
    }

    pub(super) fn fingerprint_of(dirs: &[DirScan]) -> Fingerprint {
        let mut fingerprinter = Fingerprinter::default();
        dirs.iter().for_each(|dir| fingerprinter.directory(&dir.path, &dir.files));
        fingerprinter.finish()
    }

    /// The directories that cannot be read.
    pub(super) fn lost(&self) -> impl Iterator<Item = (&Path, &io::Error)> {
        self.dirs.iter().filter_map(|dir| Some((dir.path.as_path(), dir.files.as_ref().err()?)))
    }

    /// The rule files that are symbolic links: what they lead to is to be watched too.
    pub(super) fn links(&self) -> impl Iterator<Item = &Path> {
        let files = self.dirs.iter().filter_map(|dir| dir.files.as_ref().ok()).flatten();
        files.map(|file| file.path.as_path()).filter(|path| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink()))
    }
}
