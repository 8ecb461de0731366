//! What the rules directories hold, as one number.

use std::fmt;
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::source::{DirectoryFile, Unreadable};

/// A SHA-256 over the names and contents of all rule files. When two are equal nothing changed, whatever times and inodes say.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Fingerprint([u8; 32]);

/// Collects a fingerprint; lengths go in front of texts, so that no two states have the same bytes.
#[derive(Default)]
pub(super) struct Fingerprinter(Sha256);

impl Fingerprinter {
    pub(super) fn directory(&mut self, dir: &Path, files: &io::Result<Vec<DirectoryFile>>) {
        self.bytes(dir.as_os_str().as_encoded_bytes());
        match files {
            Ok(files) => {
                self.number(files.len() as u64);
                files.iter().for_each(|file| self.file(file));
            }
            // Why it cannot be read is not hashed: a directory that is missing first and forbidden then is as lost.
            Err(_) => self.number(u64::MAX),
        }
    }

    fn file(&mut self, file: &DirectoryFile) {
        self.bytes(file.path.file_name().unwrap_or_default().as_encoded_bytes());
        match &file.text {
            Ok(text) => {
                self.number(0);
                self.bytes(text.as_bytes());
            }
            Err(Unreadable::TooLarge(length)) => self.numbers([1, *length]),
            Err(Unreadable::NotText { at, .. }) => self.numbers([2, *at as u64]),
            Err(Unreadable::NotAFile) => self.number(3),
            Err(Unreadable::Loop) => self.number(4),
            Err(Unreadable::OtherCase) => self.number(6),
            Err(Unreadable::Io(error)) => self.numbers([5, error.raw_os_error().unwrap_or(0) as u64]),
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    fn number(&mut self, number: u64) {
        self.0.update(number.to_le_bytes());
    }

    fn numbers(&mut self, numbers: impl IntoIterator<Item = u64>) {
        numbers.into_iter().for_each(|number| self.number(number));
    }

    pub(super) fn finish(self) -> Fingerprint {
        Fingerprint(self.0.finalize().into())
    }
}

/// All 64 hexadecimal digits.
impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
