//! From a scan to rules: the one way that [`RulesetBuilder`](crate::RulesetBuilder) knows, so a start, a check and a reload judge alike.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use super::scan::{DirScan, Scan};
use crate::diagnostic::{Code, Diagnostics, Problem};
use crate::error::Error;
use crate::ruleset::Ruleset;
use crate::source::{Layer, Location, Sources};

/// What to load.
#[derive(Debug)]
pub(super) struct Loader {
    /// Absolute, so that a change of the working directory changes nothing.
    pub(super) dirs: Vec<PathBuf>,
    pub(super) embedded: bool,
}

impl Loader {
    /// Parses, validates, compiles and runs every example. What is the same in the rules from before is compiled already.
    ///
    /// # Errors
    ///
    /// When anything is wrong with any file, with all problems.
    pub(super) fn build(&self, dirs: Vec<DirScan>, earlier: Option<&Arc<Ruleset>>) -> Result<Ruleset, Error> {
        let builder = if self.embedded { Ruleset::builder() } else { Ruleset::builder().without_embedded() };
        let builder = earlier.into_iter().fold(builder, |builder, earlier| builder.after(Arc::clone(earlier)));
        let builder = dirs.into_iter().fold(builder, |builder, DirScan { path, files }| builder.files(&path, files.unwrap_or_default()));
        // A fault of the compiler must not end the watching: it is reported, and the next edit is looked at again.
        catch_unwind(AssertUnwindSafe(|| builder.build())).unwrap_or_else(|_| Err(Error::watch("the rules made the compiler panic, which is a fault of this library", None)))
    }
}

/// The error for directories that cannot be read: as for wrong rules, with a finding for each.
pub(super) fn lost(scan: &Scan) -> Option<Error> {
    let mut sources = Sources::default();
    let problems: Vec<_> = scan
        .lost()
        .map(|(path, error)| {
            let name = path.to_string_lossy().into_owned();
            let layer = sources.add_layer(Layer::Directory(name.clone()));
            let at = Location::new(sources.add(name, layer, String::new()), 0..0);
            Problem::new(Code::Unreadable, at, format!("the rules directory cannot be read: {error}")).hint("the rules from before stay in force until it is back")
        })
        .collect();
    (!problems.is_empty()).then(|| Error::rejected(Diagnostics::new(problems, Arc::new(sources))))
}

/// At a start nothing is in force yet: a directory that cannot be read is told as it is.
pub(super) fn unreadable(scan: Scan) -> Result<Scan, Error> {
    let mut readable = Vec::with_capacity(scan.dirs.len());
    for DirScan { path, files } in scan.dirs {
        match files {
            Ok(files) => readable.push(DirScan { path, files: Ok(files) }),
            Err(error) => return Err(Error::io(path, error)),
        }
    }
    Ok(Scan { fingerprint: scan.fingerprint, dirs: readable })
}

/// The error for a directory that is written to without end.
pub(super) fn unsettled() -> Error {
    Error::watch("the rule files change without pause, so there is no telling which of their states is whole", None)
}
