//! A drafted rule is tried before it is written: with it everything loads, and nothing is found wrong that was not before.

use std::fs;
use std::io;
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use overspill::{Failure, Ruleset};

use super::Rule;
use super::file::{Target, toml};
use super::pattern::Wording;
use crate::arguments::Common;
use crate::output::Failed;
use crate::rules;

/// A directory of its own that goes when it is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> io::Result<Self> {
        let dir = std::env::temp_dir().join(format!("overspill-draft-{}", std::process::id()));
        fs::create_dir(&dir)?;
        Ok(Self(dir))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays behind in the temporary directory harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The rule of the target's file that recognises the failure as the file is.
pub(super) fn recognised_by(earlier: &Arc<Ruleset>, common: &Common, target: &Target, failure: &Failure<'_>) -> Result<Option<String>, Failed> {
    if target.existing.is_empty() {
        return Ok(None);
    }
    let scratch = Scratch::new()?;
    fs::write(scratch.0.join(target.file_name()), &target.existing)?;
    // What is wrong with the file is told when the rule is tried.
    let ruleset = rules::try_untested(common, std::slice::from_ref(&scratch.0), Some(earlier)).ok();
    Ok(ruleset.and_then(|ruleset| ruleset.evaluate(failure).rule().map(str::to_owned)))
}

/// The rule's text in the first form that passes: for everybody, else for the provider alone, else with fewer facts. It must recognise the failures that it is drafted from, which are those of the provider `failed`, where that is known.
pub(super) fn first_that_holds(earlier: &Arc<Ruleset>, common: &Common, target: &Target, rule: &Rule, failed: &str) -> Result<String, Failed> {
    let scratch = Scratch::new()?;
    for neighbour in target.neighbours()? {
        let name = neighbour.file_name().unwrap_or_default().to_owned();
        fs::copy(&neighbour, scratch.0.join(name))?;
    }
    let path = scratch.0.join(target.file_name());
    let fewer = rule.wording.iter().flat_map(Wording::with_fewer_facts).map(|wording| Rule { wording: Some(wording), ..rule.clone() });
    let forms = iter::once(rule.clone()).chain(fewer).flat_map(|rule| [Rule { provider_only: false, ..rule.clone() }, Rule { provider_only: true, ..rule }]);
    let mut why = String::new();
    for form in forms {
        let text = toml(&form);
        fs::write(&path, target.with(&text))?;
        let name = format!("`{}/{}`", target.provider, form.id);
        let (ruleset, findings) = findings(earlier, common, &scratch.0)?;
        // Warnings about other rules were there before.
        let found = findings.into_iter().find(|finding| finding.starts_with("error") || finding.contains(&name));
        match found {
            None if ruleset.is_some_and(|ruleset| misses(ruleset, target, &form, failed)) => return Err(Failed::Use(untried(earlier, target, failed))),
            None => return Ok(text),
            Some(found) if !found.contains(&name) => return Err(Failed::Cannot(format!("the rules must be in order before one is added: {found}"))),
            Some(found) => why = found,
        }
    }
    Err(Failed::Cannot(format!("no rule for this wording passes `check`: {why}")))
}

/// Whether the rule leaves the failures that it is for to others: with another provider's name in them than its own it may not be tried at all.
fn misses(ruleset: &Ruleset, target: &Target, rule: &Rule, failed: &str) -> bool {
    let failed = if failed.is_empty() { &target.provider } else { failed };
    let Some(provider) = ruleset.provider(&target.provider) else { return true };
    let examples = provider.own_rules().filter(|own| own.id() == rule.id).flat_map(|own| own.examples().collect::<Vec<_>>());
    let wins = |verdict: overspill::Verdict| verdict.rule().is_some_and(|name| name.split_once('/').is_some_and(|(_, id)| id == rule.id));
    !examples.map(|example| ruleset.evaluate(&example.failure().provider(failed))).all(wins)
}

fn untried(ruleset: &Ruleset, target: &Target, failed: &str) -> String {
    let provider = &target.provider;
    let meant = ruleset.nearest_provider(provider).filter(|meant| meant != provider);
    let meant = meant.map_or_else(|| format!("leave --provider out, or name one that `{failed}` extends"), |meant| format!("did you mean `{meant}`?"));
    format!("these failures are of `{failed}`, for which a rule of `{provider}` does not decide; {meant}")
}

/// What `check` says, and the rules where they are not refused.
fn findings(earlier: &Arc<Ruleset>, common: &Common, dir: &Path) -> Result<(Option<&'static Ruleset>, Vec<String>), Failed> {
    let (ruleset, found) = rules::check(common, &[dir.to_owned()], Some(earlier))?;
    let told = |finding: overspill::Diagnostic<'_>| {
        let file = Path::new(finding.file()).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        format!("{}[{}] in {file}: {}", finding.severity().name(), finding.code(), finding.message())
    };
    Ok((ruleset, found.iter().map(told).collect()))
}
