//! Reading one rules directory: its `*.toml` files, bounded in number and size.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;
#[cfg(feature = "watch")]
use std::path::PathBuf;

/// A file larger than this is refused: it is no rule file.
pub(crate) const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// More files than this in one directory are refused.
pub(crate) const MAX_FILES: usize = 1024;
/// More text than this in one directory is refused.
pub(crate) const MAX_DIRECTORY_BYTES: usize = 64 * 1024 * 1024;
/// More entries than this, of whatever kind, make it no rules directory.
const MAX_ENTRIES: usize = 100_000;

/// What became of one file of the directory.
#[derive(Debug)]
pub(crate) struct DirectoryFile {
    /// Path as shown to people: the directory as given, then the file name.
    pub(crate) name: String,
    /// The same for the system, which knows names that are no text.
    #[cfg(feature = "watch")]
    pub(crate) path: PathBuf,
    pub(crate) text: Result<String, Unreadable>,
}

/// Why a file was not read.
#[derive(Debug)]
pub(crate) enum Unreadable {
    TooLarge(u64),
    /// What can be read up to the end of the line, and where the first wrong byte is in that.
    NotText {
        text: String,
        at: usize,
        is_nul: bool,
    },
    NotAFile,
    /// Its name ends in `.TOML` or the like.
    OtherCase,
    Loop,
    Io(io::Error),
}

/// The rule files of a directory, sorted by name. Hidden files, editors' backups and everything but `*.toml` are passed over; of names that end so in another case it is told.
///
/// # Errors
///
/// When the directory cannot be listed, or holds more than [`MAX_FILES`] rule files or [`MAX_DIRECTORY_BYTES`] of text.
pub(crate) fn read_directory(dir: &Path) -> io::Result<Vec<DirectoryFile>> {
    let mut paths = Vec::new();
    for (index, entry) in fs::read_dir(dir)?.enumerate() {
        if index >= MAX_ENTRIES {
            return Err(io::Error::other(format!("more than {MAX_ENTRIES} entries: this is no rules directory")));
        }
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
    let (mut files, mut bytes) = (Vec::with_capacity(paths.len()), 0);
    for path in paths {
        let text = if has_plain_end(&path) { read_text(&path) } else { Err(Unreadable::OtherCase) };
        bytes += match &text {
            Ok(text) | Err(Unreadable::NotText { text, .. }) => text.len(),
            Err(_) => 0,
        };
        if bytes > MAX_DIRECTORY_BYTES {
            return Err(io::Error::other(format!("more than {} MiB of rule files in one directory", MAX_DIRECTORY_BYTES >> 20)));
        }
        files.push(DirectoryFile {
            name: path.to_string_lossy().into_owned(),
            #[cfg(feature = "watch")]
            path,
            text,
        });
    }
    Ok(files)
}

fn is_rule_file(path: &Path) -> bool {
    let hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
    !hidden && path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
}

fn has_plain_end(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml")
}

fn read_text(path: &Path) -> Result<String, Unreadable> {
    // The kind is asked before opening, since opening a device can do things, and asked again of what was opened: the name may mean something else by then.
    regular(&fs::metadata(path).map_err(unreadable)?)?;
    let file = open(path).map_err(unreadable)?;
    let length = regular(&file.metadata().map_err(unreadable)?)?;
    let mut bytes = Vec::with_capacity(length as usize);
    // The file may grow meanwhile, so the bound is enforced while reading too.
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Unreadable::TooLarge(bytes.len() as u64));
    }
    let valid = str::from_utf8(&bytes).map_or_else(|error| error.valid_up_to(), |_| bytes.len());
    // Text has no NUL; every second byte of ASCII in UTF-16 is one.
    match memchr::memchr(0, &bytes[..valid]) {
        Some(nul) => Err(not_text(&bytes, nul)),
        None => String::from_utf8(bytes).map_err(|error| not_text(error.as_bytes(), valid)),
    }
}

/// So much of a line is shown behind a wrong byte.
const SHOWN_BYTES: usize = 80;

fn not_text(bytes: &[u8], at: usize) -> Unreadable {
    let rest = &bytes[at..];
    let line = memchr::memchr(b'\n', rest).unwrap_or(rest.len()).min(SHOWN_BYTES);
    let text = String::from_utf8_lossy(&bytes[..at + line]).replace('\0', "\u{fffd}");
    Unreadable::NotText { text, at, is_nul: rest.first() == Some(&0) }
}

/// The length of a regular file that is not too large.
fn regular(metadata: &fs::Metadata) -> Result<u64, Unreadable> {
    match metadata.len() {
        _ if !metadata.is_file() => Err(Unreadable::NotAFile),
        length if length > MAX_FILE_BYTES => Err(Unreadable::TooLarge(length)),
        length => Ok(length),
    }
}

/// Opens without waiting: a FIFO put in the file's place would otherwise wait for a writer for ever.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    options.read(true).open(path)
}

fn unreadable(error: io::Error) -> Unreadable {
    #[cfg(unix)]
    if error.raw_os_error() == Some(libc::ELOOP) {
        return Unreadable::Loop;
    }
    Unreadable::Io(error)
}
