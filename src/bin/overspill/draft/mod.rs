//! `draft`: a rule with its example for a kind of failure that no rule recognises.

mod file;
mod pattern;
mod trial;

use std::io::{self, Write};

use overspill::{Class, Failure, Miss, Ruleset};

use self::file::Target;
use self::pattern::Wording;
use crate::arguments::{Common, Draft, Format};
use crate::misses;
use crate::output::{Failed, Outcome, finish, notes, results};
use crate::rules;
use crate::style::{FAINT, NAME, paint};

/// A rule less alike than this says nothing about the class.
const MIN_LIKENESS: f64 = 0.6;

/// A rule to be written.
#[derive(Clone, Debug)]
struct Rule {
    id: String,
    class: Class,
    provider_only: bool,
    status: Option<u16>,
    code: Option<String>,
    wording: Option<Wording>,
}

pub(crate) fn run(common: &Common, command: &Draft) -> Result<Outcome, Failed> {
    common.format(Format::Text, &[])?;
    let overspill = rules::load(common)?;
    let ruleset = overspill.ruleset();
    let gathered = misses::gather(&ruleset, command.file.as_deref())?;
    let Some(miss) = command.template.checked_sub(1).and_then(|index| gathered.misses.get(index)) else {
        return Err(Failed::Use(format!("there is no template {}: {}", command.template, gathered.lacks())));
    };
    let provider = match (&command.provider, miss.provider.as_str()) {
        (Some(name), _) => ruleset.provider(name).map_or_else(|| name.clone(), |known| known.name().to_owned()),
        (None, "") => return Err(Failed::Use("nobody knows whose failure this is; say for whom the rule is with --provider".to_owned())),
        (None, known) => known.to_owned(),
    };
    let target = Target::open(&ruleset, &provider, command.out.as_deref())?;
    let (class, why) = class(&ruleset, miss, &provider, command.class)?;
    let rule = rule(&ruleset, miss, &provider, class, &target)?;
    if let Some(rule) = trial::recognised_by(&ruleset, common, &target, &failure(miss, &provider))? {
        return Err(Failed::Use(format!("`{rule}` in {} recognises it already", target.file_name())));
    }
    let text = trial::first_that_holds(&ruleset, common, &target, &rule, &miss.provider)?;
    rules::note_newcomer(&ruleset, &provider)?;
    let path = target.append(&text)?;
    finish(print(&target, &text, path.as_deref(), class, why), Outcome::Done)
}

fn print(target: &Target, text: &str, path: Option<&str>, class: Class, why: &str) -> io::Result<()> {
    let mut out = results();
    match path {
        None => write!(out, "{}{text}", target.header())?,
        Some(path) => {
            write!(out, "{text}")?;
            out.flush()?;
            writeln!(notes(), "{} {path}", paint(FAINT, "appended to"))?;
        }
    }
    out.flush()?;
    if !why.is_empty() {
        writeln!(notes(), "{} {} ({why}); --class says another", paint(FAINT, "the class is"), paint(NAME, class))?;
    }
    Ok(())
}

/// What the failure is: what the operator says, else what the nearest rule says, else what its status says.
fn class(ruleset: &Ruleset, miss: &Miss, provider: &str, given: Option<Class>) -> Result<(Class, &'static str), Failed> {
    if let Some(class) = given {
        return Ok((class, ""));
    }
    let nearest = ruleset.explain(&failure(miss, provider)).nearest.into_iter().find(|near| near.likeness >= MIN_LIKENESS);
    match (nearest, miss.class) {
        (Some(near), _) => Ok((near.class, "that of the rule whose wording is nearest")),
        (None, Class::Unknown) => Err(Failed::Use("nothing says what this failure is; say so with --class".to_owned())),
        (None, class) => Ok((class, "that of its status")),
    }
}

/// A failure as the template stands for.
fn failure(miss: &Miss, provider: &str) -> Failure<'static> {
    let failure = Failure::new().provider(provider.to_owned()).message(pattern::filled(&miss.template));
    match miss.status {
        Some(status) => failure.with_status(status),
        None => failure,
    }
}

fn rule(ruleset: &Ruleset, miss: &Miss, provider: &str, class: Class, target: &Target) -> Result<Rule, Failed> {
    let code = miss.codes.iter().find(|code| code.bytes().any(|byte| byte.is_ascii_alphabetic()) && !code.contains('<')).cloned();
    // A text that only repeats the code adds nothing to it, and another failure of the code may come without it.
    let repeats = |wording: &Wording| code.as_ref().is_some_and(|code| code.eq_ignore_ascii_case(wording.example.trim()));
    let wording = Wording::of(&miss.template, class).filter(|wording| !repeats(wording));
    if wording.is_none() && code.is_none() {
        return Err(Failed::Cannot("this failure has neither a wording nor a code that a rule could recognise; [status] in a provider's file says what a status means".to_owned()));
    }
    let name = wording.as_ref().map_or_else(|| code.clone().unwrap_or_default(), Wording::words);
    let taken = |id: &str| target.has_rule(id) || ruleset.provider(provider).is_some_and(|provider| provider.own_rules().any(|rule| rule.id() == id));
    // A few words recognise too much on their own.
    let weak = wording.as_ref().is_some_and(Wording::is_weak);
    let rule = Rule { id: free_id(&name, taken), class, provider_only: false, status: miss.status, code: None, wording };
    Ok(Rule { code: if rule.wording.is_none() || weak { code } else { None }, ..rule })
}

/// A name after the wording that no other rule has.
fn free_id(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let lower = name.to_ascii_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).take(7);
    let mut id = words.collect::<Vec<_>>().join("-");
    id.truncate(60);
    let id = if id.is_empty() { "drafted".to_owned() } else { id.trim_matches('-').to_owned() };
    let numbered = (2..).map(|number| format!("{id}-{number}"));
    std::iter::once(id.clone()).chain(numbered).find(|id| !taken(id)).unwrap_or(id)
}
