//! A drafted rule is tried before it is written: with it everything loads, and nothing is found wrong that was not before.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use overspill::Ruleset;

use super::Rule;
use super::file::{Target, toml};
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

/// The rule's text in the first form that passes: for everybody, else for the provider alone; with the wording alone, else with the status too.
pub(super) fn first_that_holds(earlier: &Arc<Ruleset>, common: &Common, target: &Target, rule: &Rule) -> Result<String, Failed> {
    let scratch = Scratch::new()?;
    for neighbour in target.neighbours()? {
        let name = neighbour.file_name().unwrap_or_default().to_owned();
        fs::copy(&neighbour, scratch.0.join(name))?;
    }
    let path = scratch.0.join(target.file_name());
    let forms = [Rule { provider_only: false, ..rule.clone() }, Rule { provider_only: true, ..rule.clone() }];
    let mut why = String::new();
    for form in forms {
        let text = toml(&form);
        fs::write(&path, target.with(&text))?;
        let name = format!("`{}/{}`", target.provider, form.id);
        // Warnings about other rules were there before.
        let found = findings(earlier, common, &scratch.0)?.into_iter().find(|finding| finding.starts_with("error") || finding.contains(&name));
        match found {
            None => return Ok(text),
            Some(found) if !found.contains(&name) => return Err(Failed::Cannot(format!("the rules must be in order before one is added: {found}"))),
            Some(found) => why = found,
        }
    }
    Err(Failed::Cannot(format!("no rule for this wording passes `check`: {why}")))
}

/// What `check` says.
fn findings(earlier: &Arc<Ruleset>, common: &Common, dir: &Path) -> Result<Vec<String>, Failed> {
    let found = match rules::build_after(earlier, common, &[dir.to_owned()]) {
        Ok(ruleset) => ruleset.lint(),
        Err(error) => match error.diagnostics() {
            Some(diagnostics) => diagnostics.clone(),
            None => return Err(rules::refuse(&error)),
        },
    };
    let told = |finding: overspill::Diagnostic<'_>| {
        let file = Path::new(finding.file()).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        format!("{}[{}] in {file}: {}", finding.severity().name(), finding.code(), finding.message())
    };
    Ok(found.iter().map(told).collect())
}
