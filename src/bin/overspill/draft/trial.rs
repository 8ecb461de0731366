//! A drafted rule is tried before it is written: with it everything loads, and nothing is found wrong that was not before.

use std::fs;
use std::io;
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use overspill::{Failure, Miss, Ruleset};

use super::file::{Target, toml};
use super::pattern::Wording;
use super::{Rule, failure};
use crate::arguments::Common;
use crate::misses::Recorded;
use crate::output::Failed;
use crate::rules;

/// Each costs a check of all rules.
const MAX_FORMS: usize = 16;

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

/// What a rule is tried with.
pub(super) struct Trial<'a> {
    pub(super) earlier: &'a Arc<Ruleset>,
    pub(super) common: &'a Common,
    pub(super) target: &'a Target,
    /// What it is drafted from.
    pub(super) miss: &'a Miss,
    /// The failures of the file, those of the miss among them; none where the file holds templates alone.
    pub(super) recorded: &'a [Recorded],
}

/// What is wrong with a form of a rule.
enum Fault {
    /// It is in the way of any rule.
    Rules(String),
    /// Another form may do.
    Form(String),
}

impl Trial<'_> {
    /// The rule of the target's file that recognises the failure as the file is.
    pub(super) fn recognised_by(&self) -> Result<Option<String>, Failed> {
        if self.target.existing.is_empty() {
            return Ok(None);
        }
        let scratch = Scratch::new()?;
        fs::write(scratch.0.join(self.target.file_name()), &self.target.existing)?;
        // What is wrong with the file is told when the rule is tried.
        let ruleset = rules::try_untested(self.common, std::slice::from_ref(&scratch.0), Some(self.earlier)).ok();
        let failure = self.own().next().map_or_else(|| failure(self.miss, &self.target.provider), |(_, failure)| failure);
        Ok(ruleset.and_then(|ruleset| ruleset.evaluate(&failure).rule().map(str::to_owned)))
    }

    /// The text of the first rule that passes, each for everybody, else for the provider alone, else with fewer facts; and how many other failures that no rule recognised it catches too.
    pub(super) fn first_that_holds(&self, rules: &[Rule]) -> Result<(String, usize), Failed> {
        let scratch = Scratch::new()?;
        for neighbour in self.target.neighbours()? {
            let name = neighbour.file_name().unwrap_or_default().to_owned();
            fs::copy(&neighbour, scratch.0.join(name))?;
        }
        let fewer = |rule: &Rule| {
            let wordings: Vec<_> = rule.wording.iter().flat_map(Wording::with_fewer_facts).collect();
            wordings.into_iter().map(|wording| Rule { wording: Some(wording), ..rule.clone() }).collect::<Vec<_>>()
        };
        let forms = rules.iter().flat_map(|rule| iter::once(rule.clone()).chain(fewer(rule)));
        let forms = forms.flat_map(|rule| [Rule { provider_only: false, ..rule.clone() }, Rule { provider_only: true, ..rule }]);
        let mut first = None;
        for form in forms.take(MAX_FORMS) {
            match self.try_form(&scratch, &form)? {
                Ok(held) => return Ok(held),
                Err(Fault::Rules(why)) => return Err(Failed::Cannot(format!("the rules must be in order before one is added: {why}"))),
                // What is wrong with the most general form says most.
                Err(Fault::Form(why)) => first = first.or(Some(why)),
            }
        }
        Err(Failed::Cannot(format!("no rule for this wording holds: {}", first.unwrap_or_default())))
    }

    fn try_form(&self, scratch: &Scratch, form: &Rule) -> Result<Result<(String, usize), Fault>, Failed> {
        let path = scratch.0.join(self.target.file_name());
        let text = toml(form);
        fs::write(&path, self.target.with(&text))?;
        let name = format!("`{}/{}`", self.target.provider, form.id);
        let (ruleset, findings) = self.findings(&scratch.0)?;
        // Warnings about other rules were there before.
        if let Some(found) = findings.into_iter().find(|finding| finding.starts_with("error") || finding.contains(&name)) {
            return Ok(Err(if found.contains(&name) { Fault::Form(found) } else { self.blame(scratch, found)? }));
        }
        let Some(ruleset) = ruleset else { return Ok(Ok((text, 0))) };
        if self.misses_example(ruleset, form) {
            return Err(Failed::Use(self.untried()));
        }
        let wins = |failure: &Failure<'_>| ruleset.evaluate(failure).rule().is_some_and(|rule| rule.split_once('/').is_some_and(|(_, id)| id == form.id));
        if let Some((line, _)) = self.own().find(|(_, failure)| !wins(failure)) {
            return Ok(Err(Fault::Form(format!("`{}` does not recognise the failure of line {line}, which is of this kind", form.id))));
        }
        if self.own().next().is_none() && !wins(&failure(self.miss, self.failed())) {
            return Ok(Err(Fault::Form(format!("`{}` does not recognise what the template stands for", form.id))));
        }
        let others = || self.recorded.iter().filter(|recorded| !recorded.is_of(self.miss));
        let taken = others().filter(|recorded| recorded.rule.is_some()).find(|recorded| ruleset.evaluate(&recorded.failure).class() != recorded.class);
        if let Some(Recorded { line, class, .. }) = taken {
            return Ok(Err(Fault::Form(format!("`{}` takes over the failure of line {line}, which is {class} now", form.id))));
        }
        let more = others().filter(|recorded| recorded.rule.is_none() && wins(&recorded.failure)).count();
        Ok(Ok((text, more)))
    }

    /// The failures that the rule is for, with their lines. Those of nobody known are taken for the provider's.
    fn own(&self) -> impl Iterator<Item = (usize, Failure<'static>)> {
        let own = self.recorded.iter().filter(|recorded| recorded.is_of(self.miss));
        own.map(|recorded| {
            let failure = recorded.failure.clone();
            (recorded.line, if self.miss.provider.is_empty() { failure.provider(self.target.provider.clone()) } else { failure })
        })
    }

    /// Whose failures these are.
    fn failed(&self) -> &str {
        if self.miss.provider.is_empty() { &self.target.provider } else { &self.miss.provider }
    }

    /// Whether an error that does not name the rule was there without it.
    fn blame(&self, scratch: &Scratch, found: String) -> Result<Fault, Failed> {
        fs::write(scratch.0.join(self.target.file_name()), format!("{}{}", self.target.header(), self.target.existing))?;
        let (_, before) = self.findings(&scratch.0)?;
        Ok(if before.iter().any(|finding| finding.starts_with("error")) { Fault::Rules(found) } else { Fault::Form(found) })
    }

    /// Whether the rule leaves the failures that it is for to others: with another provider's name in them than its own it may not be tried at all.
    fn misses_example(&self, ruleset: &Ruleset, rule: &Rule) -> bool {
        let Some(provider) = ruleset.provider(&self.target.provider) else { return true };
        let examples = provider.own_rules().filter(|own| own.id() == rule.id).flat_map(|own| own.examples().collect::<Vec<_>>());
        let wins = |verdict: overspill::Verdict| verdict.rule().is_some_and(|name| name.split_once('/').is_some_and(|(_, id)| id == rule.id));
        !examples.map(|example| ruleset.evaluate(&example.failure().provider(self.failed().to_owned()))).all(wins)
    }

    fn untried(&self) -> String {
        let (provider, failed) = (&self.target.provider, self.failed());
        let meant = self.earlier.nearest_provider(provider).filter(|meant| meant != provider);
        let meant = meant.map_or_else(|| format!("leave --provider out, or name one that `{failed}` extends"), |meant| format!("did you mean `{meant}`?"));
        format!("these failures are of `{failed}`, for which a rule of `{provider}` does not decide; {meant}")
    }

    /// What `check` says, and the rules where they are not refused.
    fn findings(&self, dir: &Path) -> Result<(Option<&'static Ruleset>, Vec<String>), Failed> {
        let (ruleset, found) = rules::check(self.common, &[dir.to_owned()], Some(self.earlier))?;
        let told = |finding: overspill::Diagnostic<'_>| {
            let file = Path::new(finding.file()).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            format!("{}[{}] in {file}: {}", finding.severity().name(), finding.code(), finding.message())
        };
        Ok((ruleset, found.iter().map(told).collect()))
    }
}
