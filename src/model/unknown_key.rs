//! What is said about a key that means nothing where it stands: what other tools call so, where it belongs, what it is a slip of.

use super::header;
use super::reader::Entry;
use crate::class::Class;
use crate::diagnostic::{Lookalike, did_you_mean};

/// In the tables whose names begin so, these words mean this: a key, or a sentence.
type Words = (&'static [&'static str], &'static [(&'static [&'static str], &'static str)]);

/// What belongs to a rule and to hardly anything else.
pub(super) const RULE_KEYS: [&str; 11] = ["id", "class", "action", "enabled", "scope", "code", "unless", "when", "facts", "source", "seen"];

/// Where keys belong that people write somewhere else: in TOML, what follows a table's header belongs to that table.
const HOMES: [(&str, &[&str]); 4] = [
    ("at the top of the file, above the first [table]", &["format", "provider", "aliases", "extends", "gateway"]),
    ("in [[rule]], above its first [[rule.example]]", &RULE_KEYS),
    ("in [retry]", &["max_attempts", "base", "factor", "cap", "jitter", "retryable", "fatal", "server_delay", "budget", "deadline", "cost"]),
    ("in [[context.model]]", &["window"]),
];

/// Where words mean something else than their spelling is near to. The first that fits is said.
const WORDS: [Words; 16] = [
    (
        &["`unless`"],
        &[(
            &["id", "class", "action", "enabled", "scope", "facts", "source", "seen", "unless", "example"],
            "a veto has conditions only: move `{key}` out of `unless`, up to the keys of [[rule]]",
        )],
    ),
    (
        &["[[rule]]", "`unless`"],
        &[
            (&["message_regex", "match", "matches", "pattern", "patterns", "regex", "regexp", "text", "contains", "msg"], "message"),
            (&["http_status", "status_code", "status_codes", "statuses"], "status"),
            (&["codes", "error_code", "error_type"], "code"),
            (&["if", "condition", "conditions", "where", "expr"], "when"),
            (&["flags", "ignore_case", "case_sensitive"], "patterns ignore case already; to heed it, begin the pattern with (?-i)"),
        ],
    ),
    (
        &["[[rule]]"],
        &[
            (&["active", "enable", "on"], "enabled"),
            (&["disable", "disabled", "off"], "write enabled = false"),
            (&["then", "result"], "class"),
            (&["category", "error", "kind", "type"], "what the failure is stands in `class`; a type that the provider sends is asked for with `code`"),
            (&["do", "retry", "retryable"], "action"),
            (&["stop", "break", "continue", "final", "priority", "order", "weight"], "leave it out: the first rule that matches decides, in the order of the file"),
            (&["name", "key", "title"], "id"),
            (&["exclude", "except", "not", "ignore"], "unless"),
            (&["capture", "captures", "extract", "fields"], "facts"),
            (&["comment", "description", "note", "notes"], "write it as a comment, behind #; where the wording was seen is `source`"),
            (&["link", "reference", "url"], "source"),
            (&["date", "last_seen", "updated"], "seen"),
            (&["sample", "samples", "test", "tests"], "write [[rule.example]]"),
        ],
    ),
    (
        &["[[rule.example]]"],
        &[
            (&["class", "limit", "requested", "output_limit"], "write it in `expect`, beside whatever else is expected: expect = { {key} = ... }"),
            (&["expected", "expects", "result", "verdict"], "expect"),
            (&["id"], "leave it out, or start a new [[rule]] with it"),
            (&["code", "codes", "error_code", "error_type"], "leave it out: codes are read from the recorded `body`"),
            (&["comment", "description", "name", "note", "notes", "title"], "write it as a comment, behind #"),
            (&["content", "error", "exception", "msg", "text"], "message"),
            (&["data", "json", "payload", "raw", "response"], "body"),
            (&["http_status", "status_code"], "status"),
            (&["invert", "negate", "negative"], "write not = true"),
            (&["match", "matches", "should_match"], "leave it out, or write not = true for a failure that the rule must not win"),
        ],
    ),
    (&["`expect`"], &[(&["action", "code", "status", "rule"], "leave it out: class, limit, requested and output_limit can be expected")]),
    (&["[retry.profile.", "[[retry.model]]"], &[(&["class"], "write its keys directly below {table}: what [retry.class] says of a class holds with every profile and model")]),
    (&["[retry.class."], &[(&["class"], "leave it out: the header names the class")]),
    (&["[retry.profile."], &[(&["id", "name", "profile"], "leave it out: the header names the profile")]),
    (&["[[retry.model]]", "[[context.model]]"], &[(&["glob", "id", "model", "models", "name", "pattern"], "match")]),
    (
        &["[retry", "[[retry"],
        &[
            (&["max_retries", "max_retry", "num_retries", "retries", "retry_count"], "did you mean `max_attempts`? It counts the first call too: 3 retries are 4 attempts"),
            (&["attempts", "max_tries", "stop_after_attempt", "tries"], "max_attempts"),
            (
                &["backoff", "base_delay", "delay", "initial_backoff", "initial_delay", "initial_interval", "interval", "min", "min_delay", "min_wait", "start", "wait"],
                "did you mean `base`? It is the wait before the second call, such as \"2s\"",
            ),
            (&["max", "max_backoff", "max_delay", "max_interval", "max_wait", "maximum"], "did you mean `cap`? It is the longest wait of our own, such as \"30s\""),
            (&["backoff_factor", "backoff_multiplier", "coefficient", "exp_base", "exponent", "exponential_base", "multiplier"], "factor"),
            (&["jitter_factor", "random", "randomization_factor", "randomize"], "jitter"),
            (&["max_duration", "max_elapsed", "max_elapsed_time", "max_time", "stop_after_delay", "total_timeout"], "deadline"),
            (&["max_retry_after", "respect_retry_after", "retry_after"], "did you mean `server_delay`? It says how far a server's wait is followed, such as { max = \"5m\" }"),
            (&["codes", "on", "retry_on", "retryable_statuses", "status", "status_codes", "status_forcelist", "statuses"], "retryable"),
            (&["abort_on", "non_retryable"], "fatal"),
            (&["timeout"], "did you mean `deadline`, the longest time of all attempts? How failures of this class are retried stands in [retry.class.timeout]"),
            (&["enabled"], "leave it out: max_attempts = 1 forbids retries"),
        ],
    ),
    (&["`server_delay`"], &[(&["cap", "limit", "maximum"], "max")]),
    (&["`budget`"], &[(&["cap", "max", "size", "tokens"], "capacity"), (&["rate", "refill", "refill_rate"], "per_second")]),
    (
        &["[context]", "[[context.model]]"],
        &[
            (&["output", "reserve", "reserve_output", "reserved"], "reserved_tokens"),
            (
                &["context", "context_length", "context_window", "max_context", "max_tokens", "size", "tokens"],
                "did you mean `window`? It stands in [[context.model]], below the `match` that names the models",
            ),
            (&["input_tokens", "max_input", "max_input_tokens"], "did you mean `input`? It stands in [[context.model]]"),
            (&["seen"], "leave it out: `source` may hold the date too"),
        ],
    ),
    (&["[[context.usage]]", "`usage`", "[context.finish_reason]"], &[(&["source", "seen"], "move it up to [context], as `source`")]),
    (
        &["[[delay]]", "`only_if`"],
        &[
            (&["name"], "id"),
            (&["pattern", "regex", "text"], "message"),
            (&["body", "json", "key", "path"], "field"),
            (&["format", "type"], "unit"),
            (&["if", "when"], "only_if"),
            (&["lte", "max"], "at_most"),
            (&["gte", "min"], "at_least"),
            (&["eq", "equals", "value"], "is"),
        ],
    ),
    (
        &["the file"],
        &[
            (&["name", "vendor"], "provider"),
            (&["inherit", "inherits", "include", "includes", "parent"], "extends"),
            (&["schema", "version"], "format"),
            (&["example", "examples"], "write [[rule.example]], below the [[rule]] that it belongs to"),
            (&["model", "models"], "write [[context.model]] for its window, [[retry.model]] for how its calls are repeated"),
            (&["profile", "profiles"], "write [retry.profile.<name>]"),
        ],
    ),
];

/// What would mend it. `known` are the keys that the table takes.
pub(super) fn hint<'k>(table: &str, key: &str, entry: &Entry<'_>, known: impl Iterator<Item = &'k str> + Clone) -> String {
    if entry.is_table() && matches!(table, "[retry]" | "the file") {
        match key {
            "class" | "profile" => return format!("write [retry.{key}.<name>]"),
            _ if Class::from_name(key).is_some() => return format!("write [retry.class.{key}]"),
            _ => {}
        }
    }
    if let Some(word) = word(table, key, &known) {
        return word;
    }
    if table == "[retry]" && Class::from_name(key).is_some() {
        return format!("write [retry.class.{key}] and its keys below");
    }
    if let Some(hint) = header::name_in_header(table, entry).filter(|_| did_you_mean(key, known.clone()).is_none()) {
        return hint;
    }
    let home = HOMES.iter().find(|(_, keys)| keys.contains(&key));
    if let Some((place, _)) = home {
        return format!("`{key}` belongs {place}");
    }
    match did_you_mean(key, known.clone()) {
        _ if header::CONDITIONS.contains(&key) && table == "[status]" => format!("`{key}` belongs in [[rule]] or [[rule.example]]"),
        Some(_) if Lookalike::in_text(key).is_some() => Lookalike::hint(key).unwrap_or_default(),
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("known keys: {}", known.collect::<Vec<_>>().join(", ")),
    }
}

/// Whether it is a key that belongs to one table, whatever table it stands in.
pub(super) fn has_home(key: &str) -> bool {
    HOMES.iter().any(|(_, keys)| keys.contains(&key)) || header::CONDITIONS.contains(&key)
}

/// Whether what is written there was meant to be this key.
pub(super) fn means(table: &str, written: &str, key: &str) -> bool {
    let keys = || std::iter::once(key);
    did_you_mean(written, keys()).is_some() || word(table, written, &keys()).is_some_and(|said| said.starts_with(&format!("did you mean `{key}`")))
}

fn word<'k>(table: &str, key: &str, known: &(impl Iterator<Item = &'k str> + Clone)) -> Option<String> {
    let written = key.to_ascii_lowercase().replace('-', "_");
    let words = WORDS.iter().filter(|(tables, _)| tables.iter().any(|prefix| table.starts_with(prefix))).flat_map(|(_, words)| *words);
    let said = words.filter(|(words, _)| words.contains(&written.as_str())).map(|(_, said)| *said);
    // Some tables share their words but not all of their keys.
    let mut fitting = said.filter(|said| said.contains(' ') || known.clone().any(|known| known == *said));
    let said = fitting.next()?;
    Some(if said.contains(' ') { said.replace("{key}", key).replace("{table}", table) } else { format!("did you mean `{said}`?") })
}

#[cfg(test)]
mod tests {
    use super::WORDS;

    #[test]
    fn a_word_is_said_once_and_a_key_is_no_word() {
        for (tables, words) in WORDS {
            let mut all: Vec<_> = words.iter().flat_map(|(words, _)| *words).collect();
            assert!(words.iter().all(|(words, said)| !words.contains(said)), "{tables:?}");
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count, "{tables:?} say a word twice");
        }
    }
}
