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

impl Scan {
    /// Reads every rule file; each is bounded in size, and so are number and sum.
    pub(super) fn of(dirs: &[PathBuf]) -> Self {
        let mut fingerprinter = Fingerprinter::default();
        let read = |path: &PathBuf| {
            let files = read_directory(path);
            fingerprinter.directory(path, &files);
            DirScan { path: path.clone(), files }
        };
        let dirs = dirs.iter().map(read).collect();
        Self { fingerprint: fingerprinter.finish(), dirs }
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
