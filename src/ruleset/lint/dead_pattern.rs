//! Patterns over messages that no message can match, since texts are read into one spelling before patterns are asked.

use super::Look;
use crate::diagnostic::{Code, Problem};
use crate::json::quote;
use crate::parallel::map_chunks;
use crate::ruleset::pattern::Pattern;
use crate::ruleset::{PatternId, Ruleset};
use crate::signals::{Sources, Vocabulary, extract, in_one_spelling};
use crate::source::Spanned;

/// So many patterns are worth a thread to look at them.
const PATTERNS_A_THREAD: usize = 256;

/// Most letters of what is shown.
const MAX_SHOWN: usize = 60;

/// What other languages write around a pattern.
const DELIMITERS: [(&str, &str); 4] = [("/", "/"), ("\\/", "\\/"), ("r\"", "\""), ("r'", "'")];

/// All of them; what is found is appended. What an example shows at work is not doubted.
pub(super) fn find(ruleset: &Ruleset, look: &Look<'_>, problems: &mut Vec<Problem>) {
    let patterns = ruleset.messages().written();
    let doubts = map_chunks(&patterns, PATTERNS_A_THREAD, |patterns| {
        let doubt = |(id, text, pattern): &(PatternId, &Spanned<String>, &Pattern)| Some((*id, doubt(text, pattern, ruleset.vocabulary())?));
        patterns.iter().filter_map(doubt).collect()
    });
    problems.extend(doubts.into_iter().filter(|(id, _)| !is_shown(ruleset, look, *id)).map(|(_, problem)| problem));
}

/// Whether some example of a rule with that pattern is matched by it.
fn is_shown(ruleset: &Ruleset, look: &Look<'_>, pattern: PatternId) -> bool {
    let own = look.cases.iter().filter(|case| case.rule.all_conditions().any(|conditions| conditions.message.contains(&pattern)));
    own.into_iter().any(|case| case.ask(ruleset, |situation| situation.matched.contains(pattern)))
}

/// Why the pattern never matches, where it plainly does not.
fn doubt(text: &Spanned<String>, pattern: &Pattern, vocabulary: &Vocabulary) -> Option<Problem> {
    let problem = |message: String, hint: String| Some(Problem::new(Code::DeadPattern, text.at, message).hint(hint));
    if let Some((inner, delimiter)) = between_delimiters(text) {
        let message = format!("the {delimiter} around this pattern is taken for a part of it, and messages have none there");
        return problem(message, format!("write it without: '{inner}'; case does not matter in patterns anyway"));
    }
    if let Some(escape) = doubled_escape(text) {
        let message = format!("this pattern asks for a backslash: \\\\{escape} is a backslash and the letter {escape}");
        return problem(message, format!("in single quotes one backslash is enough: \\{escape}"));
    }
    if has_json(text) {
        let message = "this pattern asks for JSON, but of a structured body patterns see the messages in it, not the keys and brackets around them".to_owned();
        return problem(message, "match the words of the message, ask for a machine-readable code with `code`, or for the raw text with `body`".to_owned());
    }
    if !may_be_respelled(text) {
        return None;
    }
    let (written, read) = respelled(pattern, vocabulary)?;
    let read = if read.is_empty() { "nothing of it".to_owned() } else { shown(&read) };
    let message = format!("this pattern can never match: where a message says {}, patterns see {read}", shown(&written));
    let hint = "write what patterns see: no URLs, tags, backticks or invisible characters, straight quotes, single blanks, numbers in digits alone; `body` sees the raw text";
    problem(message, hint.to_owned())
}

/// What stands in the delimiters of other languages: `/prompt is too long/i`.
fn between_delimiters(text: &str) -> Option<(&str, &'static str)> {
    DELIMITERS.into_iter().find_map(|(open, close)| {
        let (inner, flags) = text.strip_prefix(open)?.rsplit_once(close)?;
        let is_whole = !inner.is_empty() && !inner.contains('/') && flags.bytes().all(|flag| b"gimsuxy".contains(&flag));
        is_whole.then_some((inner, if open.starts_with('r') { "r\"...\"" } else { "/.../" }))
    })
}

/// The letter of `\\d`, which a text in double quotes would need.
fn doubled_escape(text: &str) -> Option<char> {
    let doubled = ["\\\\d", "\\\\s", "\\\\w", "\\\\b"];
    doubled.into_iter().find(|escape| text.contains(escape)).and_then(|escape| escape.chars().last())
}

/// Whether a key and a colon of JSON are asked for, as in `"code": ?"too_long"`.
fn has_json(text: &str) -> bool {
    text.contains("\\{\"")
        || text.match_indices('"').any(|(at, _)| {
            let rest = &text[at + 1..];
            let key = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_').len();
            let colon = rest[key..].strip_prefix("\\\"").or_else(|| rest[key..].strip_prefix('"')).map(|rest| rest.trim_start_matches("\\s*").trim_start_matches([' ', '?']));
            let value = colon.and_then(|rest| rest.strip_prefix(':')).map(|rest| rest.trim_start_matches("\\s*").trim_start_matches([' ', '?']));
            key > 0 && value.is_some_and(|value| value.starts_with(['"', '{', '[']) || value.starts_with("\\{") || value.starts_with("\\["))
        })
}

/// Whether a closer look is worth it: nearly all patterns have nothing that is respelled.
fn may_be_respelled(text: &str) -> bool {
    const SIGNS: [&str; 12] = ["\n", "\r", "\t", "//", "ww", "<", "&", "\\x", "\\u", ",\\d", ",[0-9", "\\/"];
    // A pattern's own numbers and signs, as in `.{1,200}` and `(?<limit>`, are none of the text.
    let mut plain = String::with_capacity(text.len());
    for (index, part) in text.replace("(?<", "(?").split('{').enumerate() {
        let rest = part.split_once('}').filter(|(count, _)| index > 0 && count.bytes().all(|byte| byte.is_ascii_digit() || byte == b','));
        plain.push_str(rest.map_or(part, |(_, rest)| rest));
    }
    SIGNS.iter().any(|sign| plain.contains(sign)) || in_one_spelling(&plain) != plain.trim()
}

/// A text that the pattern matches as it is written, and what patterns see of it: when they see all such texts in another form.
fn respelled(pattern: &Pattern, vocabulary: &Vocabulary) -> Option<(String, String)> {
    let texts = pattern.witnesses()?;
    let regex = pattern.compile_quickly().ok()?;
    let mut first = None;
    for text in texts {
        // In the midst of a sentence, at its end, and alone: what stands around it may matter.
        let ways = [format!("x {text} x"), format!("x {text}. x"), text.clone()];
        for way in ways.iter().filter(|way| regex.is_match(way.as_str())) {
            let body = format!("{{\"error\":{{\"message\":{}}}}}", quote(way));
            let sources = [Sources { message: Some(way), body: None }, Sources { message: None, body: Some(body.as_bytes()) }];
            let seen = sources.map(|sources| extract(sources, vocabulary).text().to_owned());
            if seen.iter().any(|seen| regex.is_match(seen.as_str())) {
                return None;
            }
            let [seen, _] = seen;
            // Without what was put around it.
            let seen = seen.strip_prefix('x').unwrap_or(&seen);
            first.get_or_insert_with(|| (text.clone(), seen.strip_suffix('x').unwrap_or(seen).trim().to_owned()));
        }
    }
    first
}

fn shown(text: &str) -> String {
    let text = text.escape_debug().to_string().replace("\\\"", "\"").replace("\\'", "'");
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("\"{}...\"", &text[..end]),
        None => format!("\"{text}\""),
    }
}
