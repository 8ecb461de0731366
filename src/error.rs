//! Why rules could not be loaded.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::diagnostic::Diagnostics;

/// Rules could not be loaded: a directory could not be read, or its files were refused.
///
/// Nothing is loaded by halves; what was in force before stays in force. Ask [`diagnostics`](Self::diagnostics) for every problem with its place.
#[derive(Clone)]
pub struct Error(Arc<Kind>);

enum Kind {
    Io {
        path: PathBuf,
        source: io::Error,
    },
    Rejected(Diagnostics),
    #[cfg(feature = "watch")]
    Watch {
        message: String,
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
}

impl Error {
    pub(crate) fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self(Arc::new(Kind::Io { path: path.into(), source }))
    }

    pub(crate) fn rejected(diagnostics: Diagnostics) -> Self {
        Self(Arc::new(Kind::Rejected(diagnostics)))
    }

    /// What is wrong with the watching itself.
    #[cfg(feature = "watch")]
    pub(crate) fn watch(message: impl Into<String>, source: Option<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(Arc::new(Kind::Watch { message: message.into(), source }))
    }

    /// Whether a rules directory could not be read at all.
    #[must_use]
    pub fn is_io(&self) -> bool {
        matches!(*self.0, Kind::Io { .. })
    }

    /// Whether the rule files were read and found wrong.
    #[must_use]
    pub fn is_rejected(&self) -> bool {
        matches!(*self.0, Kind::Rejected(_))
    }

    /// Every problem of every file, when the files were refused.
    #[must_use]
    pub fn diagnostics(&self) -> Option<&Diagnostics> {
        match &*self.0 {
            Kind::Rejected(diagnostics) => Some(diagnostics),
            Kind::Io { .. } => None,
            #[cfg(feature = "watch")]
            Kind::Watch { .. } => None,
        }
    }
}

/// As it is displayed, with what caused it: this is what `unwrap` prints, and `main` when it returns the error.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)?;
        match std::error::Error::source(self) {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Kind::Io { path, .. } => write!(f, "cannot read the rules directory {}", path.display()),
            Kind::Rejected(diagnostics) => write!(f, "the rules are refused:\n{diagnostics}"),
            #[cfg(feature = "watch")]
            Kind::Watch { message, .. } => f.write_str(message),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.0 {
            Kind::Io { source, .. } => Some(source),
            Kind::Rejected(_) => None,
            #[cfg(feature = "watch")]
            Kind::Watch { source, .. } => source.as_deref().map(|source| source as _),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_error_is_one_word_wide() {
        assert_eq!(size_of::<super::Error>(), size_of::<usize>());
    }
}
