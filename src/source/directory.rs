//! Reading one rules directory: its `*.toml` files, bounded in number and size.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// A file larger than this is refused: it is no rule file.
pub(crate) const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// More files than this in one directory are refused.
pub(crate) const MAX_FILES: usize = 1024;

/// What became of one file of the directory.
pub(crate) struct DirectoryFile {
    /// Path as shown to people: the directory as given, then the file name.
    pub(crate) name: String,
    pub(crate) text: Result<String, Unreadable>,
}

/// Why a file was not read.
#[derive(Debug)]
pub(crate) enum Unreadable {
    TooLarge(u64),
    NotUtf8 { line: usize },
    NotAFile,
    Io(io::Error),
}

/// The rule files of a directory, sorted by name. Hidden files, editors' backups and everything but `*.toml` are passed over.
///
/// # Errors
///
/// When the directory cannot be listed, or holds more than [`MAX_FILES`] rule files.
pub(crate) fn read_directory(dir: &Path) -> io::Result<Vec<DirectoryFile>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if !is_rule_file(&path) {
            continue;
        }
        paths.push(path);
        if paths.len() > MAX_FILES {
            return Err(io::Error::other(format!("more than {MAX_FILES} rule files in one directory")));
        }
    }
    paths.sort();
    Ok(paths.iter().map(|path| read_file(path)).collect())
}

fn is_rule_file(path: &Path) -> bool {
    let hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
    !hidden && path.extension().is_some_and(|extension| extension == "toml")
}

fn read_file(path: &Path) -> DirectoryFile {
    let text = read_text(path);
    DirectoryFile { name: path.to_string_lossy().into_owned(), text }
}

fn read_text(path: &Path) -> Result<String, Unreadable> {
    // The kind is asked before opening: opening a FIFO would wait for a writer for ever.
    let metadata = fs::metadata(path).map_err(Unreadable::Io)?;
    if !metadata.is_file() {
        return Err(Unreadable::NotAFile);
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(Unreadable::TooLarge(metadata.len()));
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize);
    // The file may grow between the two calls, so the bound is enforced while reading too.
    let file = fs::File::open(path).map_err(Unreadable::Io)?;
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(Unreadable::Io)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Unreadable::TooLarge(bytes.len() as u64));
    }
    let not_utf8 = |bytes: &[u8], valid: usize| Unreadable::NotUtf8 { line: memchr::memchr_iter(b'\n', &bytes[..valid]).count() + 1 };
    // Text has no NUL; every second byte of ASCII in UTF-16 is one.
    match memchr::memchr(0, &bytes) {
        Some(nul) => Err(not_utf8(&bytes, nul)),
        None => String::from_utf8(bytes).map_err(|error| not_utf8(error.as_bytes(), error.utf8_error().valid_up_to())),
    }
}
