//! `draft`: a rule with its example for a kind of failure that no rule recognises.

mod class;
mod file;
mod pattern;
mod trial;
mod wrapper;

use std::io::{self, Write};

use overspill::{Class, Failure, Miss, Ruleset};

use self::file::Target;
use self::pattern::Wording;
use self::trial::Trial;
use crate::arguments::{Common, Draft, Format};
use crate::misses;
use crate::output::{Failed, Outcome, finish, notes, results};
use crate::rules;
use crate::style::{CAUTION, FAINT, NAME, counted, paint};

/// A rule to be written.
#[derive(Clone, Debug)]
struct Rule {
    id: String,
    class: Class,
    provider_only: bool,
    /// The example's, and where the rule asks for it the rule's.
    status: Option<u16>,
    asks_status: bool,
    code: Option<String>,
    wording: Option<Wording>,
}

pub(crate) fn run(common: &Common, command: &Draft) -> Result<Outcome, Failed> {
    common.format(Format::Text, &[])?;
    let overspill = rules::load(common)?;
    let ruleset = overspill.ruleset();
    let gathered = misses::gather(&ruleset, command.file.as_deref(), true)?;
    let Some(miss) = command.template.checked_sub(1).and_then(|index| gathered.misses.get(index)) else {
        return Err(Failed::Use(format!("there is no template {}: {}", command.template, gathered.lacks())));
    };
    gathered.tell_unread()?;
    let provider = match (&command.provider, miss.provider.as_str()) {
        (Some(name), _) => provider_named(&ruleset, name)?,
        (None, "") => return Err(Failed::Use("nobody knows whose failure this is; say for whom the rule is with --provider".to_owned())),
        (None, known) => known.to_owned(),
    };
    let target = Target::open(&ruleset, &provider, command.out.as_deref())?;
    let recorded = gathered.recorded.iter().any(|recorded| recorded.is_of(miss));
    // Who has only the template has what patterns do not see in it too.
    let seen = if recorded {
        miss.clone()
    } else {
        misses::kind(&ruleset, &failure(miss, &provider)).map_or_else(|| miss.clone(), |seen| Miss { template: seen.template, ..miss.clone() })
    };
    let trial = Trial { earlier: &ruleset, common, target: &target, miss, recorded: &gathered.recorded };
    let (class, why) = class::of(&ruleset, miss, &failure(miss, &provider), command.class)?;
    let forms = forms(&ruleset, &seen, &provider, class, &target)?;
    if let Some(rule) = trial.recognised_by()? {
        return Err(Failed::Use(format!("`{rule}` in {} recognises it already", target.file_name())));
    }
    let (text, more) = trial.first_that_holds(&forms)?;
    rules::note_newcomer(&ruleset, &provider)?;
    let path = target.append(&text)?;
    let printed = print(&target, &text, path.as_deref(), class, why, more);
    match (printed, path) {
        (Err(error), Some(path)) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failed::Cannot(format!("the rule was appended to {path}, and could not be printed: {error}"))),
        (printed, _) => finish(printed, Outcome::Done),
    }
}

fn print(target: &Target, text: &str, path: Option<&str>, class: Class, why: &str, more: usize) -> io::Result<()> {
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
    if more > 0 {
        writeln!(notes(), "{} it also recognises {} that no rule recognised", paint(CAUTION, "note:"), counted(more, "other failure"))?;
    }
    if !why.is_empty() {
        writeln!(notes(), "{} {} ({why}); --class says another", paint(FAINT, "the class is"), paint(NAME, class))?;
    }
    Ok(())
}

/// The provider by its canonical name, or a new one's, where a rule file can have it.
fn provider_named(ruleset: &Ruleset, name: &str) -> Result<String, Failed> {
    if let Some(known) = ruleset.provider(name) {
        return Ok(known.name().to_owned());
    }
    let letters = name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'/' | b'-'));
    let parts = name.split('/').all(|part| !part.is_empty() && !part.starts_with('.'));
    if letters && parts {
        return Ok(name.to_owned());
    }
    Err(Failed::Use(format!("`{name}` is no name of a provider: those have letters, digits, `-`, `_` and `.`")))
}

/// A failure as the template stands for.
fn failure(miss: &Miss, provider: &str) -> Failure<'static> {
    let failure = Failure::new().provider(provider.to_owned()).message(pattern::filled(&miss.template));
    match miss.status {
        Some(status) => failure.with_status(status),
        None => failure,
    }
}

/// The rules that may do, the most general first: by the wording alone, then with the code or the status beside it.
fn forms(ruleset: &Ruleset, miss: &Miss, provider: &str, class: Class, target: &Target) -> Result<Vec<Rule>, Failed> {
    let named = |code: &&String| code.bytes().any(|byte| byte.is_ascii_alphabetic()) && !code.contains('<');
    let telling = miss.codes.iter().filter(named).find(|code| !wrapper::is_general_code(code));
    let code = telling.or_else(|| miss.codes.iter().find(named)).cloned();
    // A text that only repeats the code adds nothing to it, and another failure of the code may come without it.
    let repeats = |wording: &Wording| telling.is_some_and(|code| code.eq_ignore_ascii_case(wording.example.trim()));
    let wordings: Vec<_> = Wording::all(&miss.template, class).into_iter().filter(|wording| !repeats(wording)).collect();
    let taken = |id: &str| target.has_rule(id) || ruleset.provider(provider).is_some_and(|provider| provider.own_rules().any(|rule| rule.id() == id));
    let rule = |name: &str, wording: Option<&Wording>, code: Option<&String>, asks_status: bool| Rule {
        id: free_id(name, class, taken),
        class,
        provider_only: false,
        status: miss.status,
        asks_status: asks_status && miss.status.is_some(),
        code: code.cloned(),
        wording: wording.cloned(),
    };
    let mut forms = Vec::new();
    for wording in &wordings {
        let name = wording.words();
        let of = |code, asks_status| rule(&name, Some(wording), code, asks_status);
        // A few words recognise too much on their own.
        if !wording.is_weak() {
            forms.push(of(None, false));
        }
        if code.is_some() || miss.status.is_some() {
            forms.push(of(code.as_ref(), true));
        } else if wording.is_weak() && !wording.needs_company() {
            forms.push(of(None, false));
        }
    }
    forms.extend(telling.map(|code| rule(code, None, Some(code), true)));
    if forms.is_empty() {
        let why = match miss.template.as_str() {
            "" => "this failure has neither a wording nor a code that a rule could recognise; [status] in a provider's file says what a status means",
            _ => {
                "the words of this failure are those that clients and libraries have for every failure, and it has no code of its own: a rule for them would take over others; [status] in a provider's file says what a status means"
            }
        };
        return Err(Failed::Cannot(why.to_owned()));
    }
    Ok(forms)
}

/// A name after the wording that no other rule has; after the class, where the wording has no letters for one.
fn free_id(name: &str, class: Class, taken: impl Fn(&str) -> bool) -> String {
    let plain: String = name.chars().map(|c| unaccented(c).map_or_else(|| c.to_string(), str::to_owned)).collect();
    let lower = plain.to_ascii_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).take(7);
    let mut id = words.collect::<Vec<_>>().join("-");
    id.truncate(60);
    let id = if id.len() < 3 { class.name().replace('_', "-") } else { id.trim_matches('-').to_owned() };
    let numbered = (2..).map(|number| format!("{id}-{number}"));
    std::iter::once(id.clone()).chain(numbered).find(|id| !taken(id)).unwrap_or(id)
}

/// How a letter with a mark is written without it.
fn unaccented(c: char) -> Option<&'static str> {
    const LETTERS: [(&str, &str); 21] = [
        ("ä", "ae"),
        ("ö", "oe"),
        ("ü", "ue"),
        ("Ä", "ae"),
        ("Ö", "oe"),
        ("Ü", "ue"),
        ("ß", "ss"),
        ("àáâãåāăą", "a"),
        ("æ", "ae"),
        ("çćčĉ", "c"),
        ("ďđð", "d"),
        ("èéêëēėęě", "e"),
        ("ìíîïīįı", "i"),
        ("łľĺ", "l"),
        ("ñńňņ", "n"),
        ("òóôõøōő", "o"),
        ("œ", "oe"),
        ("ŕř", "r"),
        ("śšşș", "s"),
        ("ťţțþ", "t"),
        ("ùúûūůűų", "u"),
    ];
    let lower = c.to_lowercase().next().unwrap_or(c);
    LETTERS.iter().find(|(letters, _)| letters.contains(c) || letters.contains(lower)).map(|(_, plain)| *plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_made_of_the_words() {
        let cases = [
            ("Der Schlüssel ist ungültig", "der-schluessel-ist-ungueltig"),
            ("Límite de sesión excedido", "limite-de-sesion-excedido"),
            ("模型负载已饱和", "rate-limited"),
            ("1 2", "1-2"),
            ("taken", "taken-2"),
        ];
        for (name, id) in cases {
            assert_eq!(free_id(name, Class::RateLimited, |id| id == "taken"), id);
        }
    }
}
