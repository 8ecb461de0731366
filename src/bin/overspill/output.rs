//! Results on standard output, everything else on standard error.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use anstream::{AutoStream, stderr, stdout};

use crate::plain::plain_lines;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    ProblemsFound,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => ExitCode::SUCCESS,
            Outcome::ProblemsFound => ExitCode::from(1),
        }
    }
}

/// How a command ends whose results were found before they were printed: a reader that closed the pipe does not make problems undone.
pub(crate) fn finish(printed: io::Result<()>, outcome: Outcome) -> Result<Outcome, Failed> {
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(outcome),
    }
}

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The rules are refused; their problems have been printed.
    Rules,
    /// The command was used wrongly: no such file, no such provider.
    Use(String),
    /// The command was used rightly, but cannot give what was asked for.
    Cannot(String),
    /// Reading or writing broke off.
    Io(io::Error),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rules => f.write_str("the rules are refused"),
            Self::Use(message) | Self::Cannot(message) => f.write_str(message),
            Self::Io(error) => write!(f, "{error}"),
        }
    }
}

/// Reports why and gives the exit code. A reader that closed the pipe has seen enough: that is no failure.
pub(crate) fn fail(failed: &Failed) -> ExitCode {
    if let Failed::Io(error) = failed
        && error.kind() == io::ErrorKind::BrokenPipe
    {
        return ExitCode::SUCCESS;
    }
    // When even standard error is gone there is nobody left to tell.
    let _ = writeln!(stderr(), "error: {}", plain_lines(&failed.to_string()));
    match failed {
        Failed::Use(_) => ExitCode::from(2),
        Failed::Rules | Failed::Cannot(_) | Failed::Io(_) => ExitCode::from(1),
    }
}

/// Standard output, without colours where the reader takes none.
pub(crate) fn results() -> io::BufWriter<AutoStream<io::StdoutLock<'static>>> {
    io::BufWriter::new(stdout().lock())
}

/// Standard error, likewise.
pub(crate) fn notes() -> AutoStream<io::StderrLock<'static>> {
    stderr().lock()
}
