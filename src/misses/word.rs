//! What becomes of one word: what is not plainly a word of the sentence is masked.

use super::placeholder::{EMAIL, ID, NAME, NUMBER, PATH, TIME, is_placeholder};
use super::vocabulary::{
    BARE_SECRETS, CODED, CONTINUES, HONORIFICS_UNDIVIDED, HOSTS, KEY_PREFIXES, KINDS_OF_KEYS, LINKS, PERSONS, PERSONS_UNDIVIDED, PUBLIC, SAID_OF_PERSONS_UNDIVIDED, SCHEMES,
    SECRETS, SECRETS_UNDIVIDED, TIMES, TITLES, TOP_LEVEL, UNITS, is_undivided,
};

/// Longer runs of digits count nothing.
const MAX_DIGITS: usize = 10;

/// What the words before announce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum Next {
    #[default]
    Anything,
    /// A secret, whatever it looks like.
    Secret,
    /// A secret, unless the sentence goes on.
    PerhapsSecret,
    /// A secret, where it looks like none of the sentence's words.
    HardlySecret,
    Person,
    /// A person, even at the beginning of a sentence.
    Titled,
    Host,
}

/// What stands beside a word without being a part of it.
fn is_punctuation(c: char) -> bool {
    matches!(
        c,
        '(' | ')'
            | '['
            | ']'
            | '{'
            | '}'
            | ','
            | ';'
            | ':'
            | '!'
            | '?'
            | '"'
            | '\''
            | '|'
            | '='
            | '*'
            | '>'
            | '<'
            | '…'
            | '&'
            | '。'
            | '，'
            | '：'
            | '；'
            | '！'
            | '？'
            | '（'
            | '）'
            | '、'
    )
}

/// The word without what stands beside it: a full stop at its end, brackets, quotation marks.
fn core(word: &str) -> &str {
    word.trim_matches(is_punctuation).trim_end_matches(|c| c == '.' || is_punctuation(c))
}

/// Where one word ends and another begins without a blank.
fn separator(core: &str) -> Option<(usize, usize)> {
    let mut before = '\0';
    core.char_indices().find_map(|(at, c)| {
        let after = core[at + c.len_utf8()..].chars().next();
        let divides = matches!(c, '=' | ':' | '(' | '[' | '{' | '<' | '>' | ')' | ']' | '}' | ',' | '|' | '/' | ';' | '?' | '&' | '"' | '\'' | '（' | '，' | '：' | '；' | '。' | '、')
            // An apostrophe is no quotation mark, and a point between letters no end of a sentence.
            && !(c == '\'' && before.is_alphabetic() && after.is_some_and(char::is_alphabetic))
            && !(c == ',' && before.is_numeric() && after.is_some_and(char::is_numeric))
            || (c == '.' && (after == Some('.') || (before.is_lowercase() && after.is_some_and(char::is_uppercase) && !is_exception(core))));
        before = c;
        (divides && at > 0).then_some((at, c.len_utf8()))
    })
}

/// The word masked. The beginning of a sentence has its capital from the sentence.
pub(super) fn mask(word: &str, sentence_starts: bool, next: Next) -> String {
    let core = core(word);
    let Some(start) = word.find(core).filter(|_| !core.is_empty()) else {
        return word.to_owned();
    };
    let (before, after) = (&word[..start], &word[start + core.len()..]);
    format!("{before}{}{after}", mask_core(core, sentence_starts, next))
}

fn mask_core(core: &str, sentence_starts: bool, next: Next) -> String {
    if core.chars().all(is_placeholder) {
        return core.to_owned();
    }
    if is_time(core) {
        return TIME.to_string();
    }
    if next == Next::Secret && !core.contains(['=', ',']) {
        return ID.to_string();
    }
    if core.contains("://") || (core.starts_with(['/', '~']) && core.len() > 1) || core.contains('\\') || core.matches('/').count() >= 2 {
        return PATH.to_string();
    }
    if core.contains("::") || (core.matches(':').count() > 2 && core.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':')) {
        return ID.to_string();
    }
    if core.contains('@') && !core.contains(['=', ':', ',', '(', '<', '>', '"', '\'']) && !core.chars().any(is_undivided) {
        return EMAIL.to_string();
    }
    // `key=value` and `a:b` are two words; so is what stands between brackets.
    if let Some((at, length)) = separator(core) {
        let left = mask(&core[..at], sentence_starts, next);
        let sign = &core[at..at + length];
        let value = &core[at + length..];
        let then = after(&format!("{left}{sign}"), "", Next::Anything);
        let then = if then == Next::Anything && next == Next::Secret { next } else { then };
        let masked = if sign == "=" && then == Next::Anything { mask_value(&left, value) } else { mask(value, false, then) };
        return format!("{left}{sign}{masked}");
    }
    if core.chars().any(is_undivided) {
        return mask_runs(core, next);
    }
    if core.chars().any(is_placeholder) {
        return core.split_inclusive(is_placeholder).map(mask_beside).collect();
    }
    mask_plain(core, sentence_starts, next)
}

/// What stands before a placeholder, and the placeholder.
fn mask_beside(part: &str) -> String {
    let word = part.trim_end_matches(is_placeholder);
    if word.is_empty() { part.to_owned() } else { format!("{}{}", mask(word, false, Next::Anything), &part[word.len()..]) }
}

/// What a setting or a group is set to is somebody's, except numbers and what the server calls its errors.
fn mask_value(key: &str, value: &str) -> String {
    let bare = core(value);
    let known = CODED.has(&core(key).to_lowercase()) || ["true", "false", "none", "null", "yes", "no"].contains(&bare.to_lowercase().as_str()) || PUBLIC.has(&bare.to_lowercase());
    let masked = mask(value, false, Next::Anything);
    let is_masked = bare.is_empty() || bare.contains(['(', '[', '{', '=']) || masked.chars().any(is_placeholder);
    if known || is_masked { masked } else { value.replacen(bare, &ID.to_string(), 1) }
}

/// Scripts without blanks, by runs of letters of one script.
fn mask_runs(core: &str, mut next: Next) -> String {
    let mut out = String::with_capacity(core.len());
    let mut rest = core;
    while let Some(first) = rest.chars().next() {
        let undivided = is_undivided(first);
        let end = rest.find(|c| is_undivided(c) != undivided).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        out.push_str(&if undivided { mask_undivided(run, next) } else { mask(run, false, next) });
        next = announced_undivided(run).unwrap_or_default();
        rest = after;
    }
    out
}

fn mask_undivided(run: &str, next: Next) -> String {
    let says = SAID_OF_PERSONS_UNDIVIDED.split(' ').any(|word| run.starts_with(word));
    let length = run.chars().count();
    if next == Next::Titled || (matches!(next, Next::Person | Next::Secret) && length <= 4 && !says) {
        return NAME.to_string();
    }
    let honorific = HONORIFICS_UNDIVIDED.split(' ').filter_map(|honorific| run.find(honorific)).min().filter(|at| *at > 0 && run[..*at].chars().count() <= 4);
    honorific.map_or_else(|| run.to_owned(), |at| format!("{NAME}{}", &run[at..]))
}

fn announced_undivided(word: &str) -> Option<Next> {
    let ends = |words: &str| words.split(' ').any(|known| word.ends_with(known));
    if ends(SECRETS_UNDIVIDED) {
        return Some(Next::HardlySecret);
    }
    ends(PERSONS_UNDIVIDED).then_some(Next::Person)
}

fn mask_plain(core: &str, sentence_starts: bool, next: Next) -> String {
    let known = is_known(core);
    let lower_core = core.to_lowercase();
    if is_key(core) || (next == Next::PerhapsSecret && !known) {
        return ID.to_string();
    }
    if core.chars().any(char::is_numeric) {
        return mask_with_digits(core);
    }
    if next == Next::Titled || (next == Next::Person && !known) {
        let masked = mask_plain(core, sentence_starts, Next::Anything);
        return if masked.contains(is_placeholder) { masked } else { NAME.to_string() };
    }
    if next == Next::Host && !known {
        return PATH.to_string();
    }
    let letters = core.chars().filter(|c| c.is_alphabetic()).count();
    let joined = core.contains(['-', '_', '.', '+']);
    let (lower, upper) = (core.chars().any(char::is_lowercase), core.chars().any(char::is_uppercase));
    let inner = core.chars().skip(1).any(char::is_uppercase);
    if next == Next::HardlySecret && (joined || (lower && inner)) && !known {
        return ID.to_string();
    }
    if let Some(masked) = mask_dotted(core, &lower_core) {
        return masked.to_string();
    }
    // Keys and hashes that happen to have no digit: long, of both cases or of hexadecimal letters alone, and no exception's name.
    let exception = is_exception(core);
    let hexadecimal = letters >= 12 && core.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mixed = lower && upper && !exception;
    if hexadecimal || (mixed && (joined || letters > 16)) || (core.len() > 40 && core.is_ascii()) {
        return ID.to_string();
    }
    let capital = core.chars().next().is_some_and(char::is_uppercase);
    if capital && lower && !exception && !names_nobody(lower_core.trim_end_matches("'s")) {
        let possessive = core.ends_with("'s");
        // The first word of a sentence has its capital from the sentence, unless it owns something or has another capital inside.
        if !sentence_starts || possessive || inner {
            return if possessive { format!("{NAME}'s") } else { NAME.to_string() };
        }
    }
    core.to_owned()
}

/// Names of hosts, of modules and of fields: with points inside, and none but an exception's is the sentence's.
fn mask_dotted(core: &str, lower_core: &str) -> Option<char> {
    let parts: Vec<_> = core.trim_start_matches('.').split('.').collect();
    let abbreviated = parts.iter().all(|part| part.chars().count() <= 2);
    if parts.len() < 2 || abbreviated || is_exception(core) {
        return None;
    }
    let last = lower_core.rsplit('.').next().unwrap_or_default();
    Some(if parts.len() > 2 || TOP_LEVEL.has(last) { PATH } else { ID })
}

fn is_exception(core: &str) -> bool {
    ["Error", "Exception", "Failure", "Timeout"].iter().any(|end| core.ends_with(end))
}

/// Whether it begins like the keys of a known maker.
pub(super) fn is_key(core: &str) -> bool {
    KEY_PREFIXES.split_whitespace().any(|prefix| core.strip_prefix(prefix).is_some_and(|rest| rest.chars().count() >= 4))
}

/// A word of the sentence rather than a name or a secret.
fn is_known(core: &str) -> bool {
    let lower = core.to_lowercase();
    names_nobody(&lower) || CONTINUES.has(&lower) || is_exception(core)
}

/// What may have a capital anywhere.
fn names_nobody(lower: &str) -> bool {
    [&PUBLIC, &SECRETS, &BARE_SECRETS, &PERSONS, &HOSTS].into_iter().any(|words| words.has(lower))
}

/// What a masked word says about the next one. `before` is the masked word before it.
pub(super) fn after(word: &str, before: &str, now: Next) -> Next {
    let bare = core(word);
    let lower = bare.to_lowercase();
    let last = word.chars().next_back();
    let labelled = last.is_some_and(|c| matches!(c, ':' | '=' | '：'));
    if let Some(next) = announced_undivided(bare) {
        return if labelled && next == Next::HardlySecret { Next::Secret } else { next };
    }
    let kind = KINDS_OF_KEYS.has(&core(before).to_lowercase()) && ["key", "token"].contains(&lower.as_str());
    if labelled {
        let waits = matches!(now, Next::PerhapsSecret | Next::HardlySecret) && is_known(bare);
        if waits || SECRETS.iter().any(|secret| lower.ends_with(secret)) {
            return Next::Secret;
        }
    }
    if TITLES.has(&lower) {
        return Next::Titled;
    }
    if matches!(last, Some('.' | '!' | '?' | ';' | ',' | ')')) {
        return Next::Anything;
    }
    if kind || BARE_SECRETS.has(&lower) {
        return Next::PerhapsSecret;
    }
    if SECRETS.has(&lower) {
        return Next::HardlySecret;
    }
    if PERSONS.has(&lower) {
        return Next::Person;
    }
    if HOSTS.has(&lower) {
        return Next::Host;
    }
    if now != Next::Anything && LINKS.has(&lower) { now } else { Next::Anything }
}

/// Whether the word says how a secret is sent, so that the secret is yet to come.
pub(super) fn is_scheme(word: &str) -> bool {
    SCHEMES.has(&core(word).to_lowercase())
}

/// A date, or a time of day: `12:30:05` or `2026-08-01T12:30:05Z`, whose colons are none between two words.
fn is_time(core: &str) -> bool {
    let bytes = core.as_bytes();
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    let date = bytes.len() >= 8
        && bytes[..4].iter().all(u8::is_ascii_digit)
        && matches!(bytes[4], b'-' | b'/')
        && digits >= 6
        && bytes.iter().filter(|byte| byte.is_ascii_alphabetic()).count() <= 4;
    let mut parts = core.split(':');
    let two = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    let hour = parts.next().is_some_and(|hour| matches!(hour.len(), 1 | 2) && hour.bytes().all(|byte| byte.is_ascii_digit()));
    let rest: Vec<_> = parts.collect();
    let seconds = rest.last().is_some_and(|last| two(last.split('.').next().unwrap_or_default()) && last.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'));
    let clock = hour && matches!(rest.len(), 1 | 2) && seconds && rest.iter().rev().skip(1).all(|part| two(part));
    date || clock
}

/// Numbers with a unit keep the unit, so that `6m0s` is still seen to be a wait; all else with a digit is an id.
fn mask_with_digits(core: &str) -> String {
    if is_quantity(core) { replace_numbers(core) } else { ID.to_string() }
}

/// A number with its unit, or several: of time from the largest unit down, or without any unit.
fn is_quantity(core: &str) -> bool {
    let core = core.trim_start_matches(['$', '€', '£', '~', '≈', '+', '-', '#', '±']).trim_end_matches(['%', '+', '°']);
    if !core.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let mut parts: Vec<(usize, &str)> = Vec::new();
    let mut rest = core;
    while !rest.is_empty() {
        let end = number_end(rest);
        let unit = rest[end..].find(|c: char| c.is_ascii_digit()).map_or(&rest[end..], |next| &rest[end..end + next]);
        parts.push((rest[..end].bytes().filter(u8::is_ascii_digit).count(), unit));
        rest = &rest[end + unit.len()..];
    }
    let plain = parts.iter().all(|(_, unit)| matches!(*unit, "" | "-"));
    let place = |unit: &str| TIMES.split_whitespace().position(|known| known == unit);
    let times = parts.iter().map(|(_, unit)| place(unit)).collect::<Option<Vec<_>>>().is_some_and(|places| places.is_sorted_by(|a, b| a < b));
    match parts.as_slice() {
        [(digits, "")] => *digits <= MAX_DIGITS,
        _ if plain => true,
        // The units that are hexadecimal digits stand at small numbers.
        [(digits, unit)] => UNITS.has(&unit.to_lowercase()) && (*digits <= 4 || !unit.bytes().all(|byte| byte.is_ascii_hexdigit())),
        // `1024x768`, and no `0x12`.
        [(_, "x"), (_, "")] => !core.starts_with('0'),
        _ => times,
    }
}

/// Where a number ends, with the points inside it.
fn number_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let inside = |at: usize| bytes[at].is_ascii_digit() || (matches!(bytes[at], b'.' | b',' | b'_') && bytes.get(at + 1).is_some_and(u8::is_ascii_digit));
    (0..bytes.len()).find(|&at| !inside(at)).unwrap_or(bytes.len())
}

/// Every number becomes a placeholder.
fn replace_numbers(core: &str) -> String {
    let mut out = String::new();
    let mut rest = core;
    while let Some(c) = rest.chars().next() {
        let number = c.is_ascii_digit();
        let length = if number { number_end(rest) } else { c.len_utf8() };
        out.push(if number { NUMBER } else { c });
        rest = &rest[length..];
    }
    out
}
