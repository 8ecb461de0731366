//! Loading the rules that a command works with.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use overspill::{Diagnostics, Error, Overspill, Ruleset, RulesetBuilder};

use crate::arguments::Common;
use crate::output::{Failed, notes};
use crate::snippet;
use crate::style::{CAUTION, paint};

/// The rules in force, or every problem of them on standard error.
pub(crate) fn load(common: &Common) -> Result<Overspill, Failed> {
    if common.rules.is_empty() && !common.no_embedded {
        return Ok(Overspill::embedded());
    }
    match build(common, &[]) {
        Ok(ruleset) => Ok(ruleset.into()),
        Err(error) => Err(refuse(&error)),
    }
}

/// The layers without a run of their examples, or every problem of them on standard error. They may have much in common with a ruleset that is there.
pub(crate) fn build_untested(common: &Common, more: &[PathBuf], earlier: Option<&Arc<Ruleset>>) -> Result<Ruleset, Failed> {
    try_untested(common, more, earlier).map_err(|error| refuse(&error))
}

/// The same, with the problems to whoever asks.
pub(crate) fn try_untested(common: &Common, more: &[PathBuf], earlier: Option<&Arc<Ruleset>>) -> Result<Ruleset, Error> {
    let builder = builder(common, more).without_examples();
    earlier.into_iter().fold(builder, |builder, earlier| builder.after(Arc::clone(earlier))).build()
}

/// The layers with no rules but those of these names.
pub(crate) fn build_only(names: &BTreeSet<String>, earlier: &Arc<Ruleset>, common: &Common, more: &[PathBuf]) -> Result<Ruleset, Failed> {
    let builder = builder(common, more).only_rules(names.iter().cloned()).after(Arc::clone(earlier));
    builder.build().map_err(|error| refuse(&error))
}

/// Builds the layers: the embedded rules, `--rules`, then `more`.
pub(crate) fn build(common: &Common, more: &[PathBuf]) -> Result<Ruleset, Error> {
    builder(common, more).build()
}

/// Everything that is wrong or doubtful; no ruleset when it is refused. The layers may have much in common with a ruleset that is there.
///
/// The ruleset is not given back: the process ends soon after, and to free thousands of patterns one by one would be a tenth of what the whole command takes.
pub(crate) fn check(common: &Common, more: &[PathBuf], earlier: Option<&Arc<Ruleset>>) -> Result<(Option<&'static Ruleset>, Diagnostics), Failed> {
    let builder = builder(common, more);
    let builder = earlier.into_iter().fold(builder, |builder, earlier| builder.after(Arc::clone(earlier)));
    let (ruleset, diagnostics) = builder.check().map_err(|error| refuse(&error))?;
    Ok((ruleset.map(|ruleset| &*Box::leak(Box::new(ruleset))), diagnostics))
}

/// Builds the layers, which have much in common with a ruleset that is there.
pub(crate) fn build_after(earlier: &Arc<Ruleset>, common: &Common, more: &[PathBuf]) -> Result<Ruleset, Failed> {
    builder(common, more).after(Arc::clone(earlier)).build().map_err(|error| refuse(&error))
}

fn builder(common: &Common, more: &[PathBuf]) -> RulesetBuilder {
    let mut builder = Ruleset::builder();
    if common.no_embedded {
        builder = builder.without_embedded();
    }
    common.rules.iter().chain(more).fold(builder, RulesetBuilder::directory)
}

/// Says on standard error that nobody is called that, which may be meant and may be a slip.
pub(crate) fn note_newcomer(ruleset: &Ruleset, name: &str) -> io::Result<()> {
    if ruleset.provider(name).is_some() {
        return Ok(());
    }
    let meant = ruleset.nearest_provider(name).map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
    writeln!(notes(), "{} no rule file is for `{name}` yet{meant}", paint(CAUTION, "note:"))
}

/// Prints why rules were refused.
pub(crate) fn refuse(error: &Error) -> Failed {
    let Some(diagnostics) = error.diagnostics() else {
        let cause = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
        return Failed::Use(format!("{error}{cause}"));
    };
    match snippet::print_all(diagnostics) {
        Ok(()) => Failed::Rules,
        Err(error) => Failed::Io(error),
    }
}
