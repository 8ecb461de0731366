//! `match` and `model`: globs over model names, which people who come from other tools write as regular expressions.

use std::collections::BTreeMap;

use super::reader::{Entry, Reader, TextList};
use crate::diagnostic::{Code, Problem};
use crate::source::{Location, Spanned};

/// What only a regular expression, or the globs of other tools, have: no model is called so.
const SIGNS: [&str; 8] = ["|", ".+", "\\d", "\\w", "\\.", "{", "(?", ", "];

pub(super) fn read_glob(entry: &Entry<'_>) -> Option<Spanned<String>> {
    if entry.key == "match" && entry.is_list() {
        return entry.wrong_type("one glob", "write a table for each of several, with match = \"gpt-4*\" and so on");
    }
    let glob = entry.text()?;
    if glob.trim().is_empty() {
        return entry.invalid(Code::InvalidValue, format!("`{}` names no model", entry.key), "name the models, such as \"claude-*\", or all of them: \"*\"");
    }
    if is_regex(&glob) {
        let problem = Problem::new(Code::LooksLikePattern, entry.at, format!("`{}` looks like a pattern of another kind, but models are matched by globs of * and ?", *glob));
        entry.doubt(problem.label("its signs stand for themselves").hint(hint(&glob, entry.key)));
    }
    Some(glob)
}

/// One glob or a list of globs.
pub(super) fn read_globs(entry: &Entry<'_>) -> TextList {
    entry.items().iter().filter_map(read_glob).collect()
}

/// Reports what comes a second time in one list, in whatever case: the last would win in silence.
pub(super) fn report_repeated<'g>(reader: &Reader, name: &str, globs: impl Iterator<Item = &'g Spanned<String>>) {
    let mut seen: BTreeMap<String, Location> = BTreeMap::new();
    for glob in globs {
        if let Some(first) = seen.get(&glob.to_ascii_lowercase()) {
            let problem = Problem::new(Code::DuplicateModel, glob.at, format!("two {name} are for `{}`", **glob));
            reader.report(problem.label("again here").related(*first, "first here").hint("put all that holds for these models under one"));
            continue;
        }
        seen.insert(glob.to_ascii_lowercase(), glob.at);
    }
}

fn is_regex(glob: &str) -> bool {
    // `gpt-4.*` is for gpt-4.1 and `mistral.*` for a vendor's models, but `gpt-.*` and `.*-mini` are meant otherwise.
    let any = glob.match_indices(".*").any(|(at, _)| !glob[..at].ends_with(|last: char| last.is_ascii_alphanumeric()));
    let is_framed = glob.len() > 1 && glob.starts_with('/') && glob.ends_with('/');
    any || has_class(glob) || is_framed || glob != glob.trim() || glob.starts_with('^') || glob.ends_with('$') || SIGNS.iter().any(|sign| glob.contains(sign))
}

/// Whether one of some characters is meant: `[45]`, `[a-z]`. There are models with a suffix such as `[1m]`.
fn has_class(glob: &str) -> bool {
    let class = glob.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(class, _)| class);
    class.is_some_and(|class| class.contains('-') || class.starts_with(['^', '!']) || class.len() > 1 && class.bytes().all(|byte| byte.is_ascii_digit()))
}

fn hint(glob: &str, key: &str) -> String {
    const MEANING: &str = "a glob fits the whole name; * is anything, ? one character";
    let simple = glob.trim().trim_matches('/').trim_start_matches('^').trim_end_matches('$').replace("\\.", ".").replace(".*", "*").replace(".+", "*");
    if is_regex(&simple) || simple.contains(['\\', '(', '[', '{', '+']) {
        let several = if key == "match" { "write a table for each of several, with match = \"gpt-4*\" and so on" } else { "several make a list, such as [\"gpt-4*\", \"gpt-5*\"]" };
        return format!("{MEANING}; {several}");
    }
    // Without an end it was meant for all names that begin so.
    let open = if glob.ends_with('$') || simple.ends_with('*') { "" } else { "*" };
    format!("{MEANING}: write \"{simple}{open}\"")
}

#[cfg(test)]
mod tests {
    use super::{hint, is_regex};

    #[test]
    fn names_and_globs_are_no_regular_expressions() {
        for glob in [
            "gpt-4.*",
            "mistral.*",
            "gpt-5.?-chat*",
            "claude-*",
            "claude-*[1m]*",
            "*",
            "*/llama-3.3-70b",
            "ft:gpt-4o:org::id",
            "model (1).gguf",
            "@cf/meta/llama",
            r"c:\models\foo.gguf",
            "gemini-1.5-pro-00?",
        ] {
            assert!(!is_regex(glob), "{glob}");
        }
    }

    #[test]
    fn hints_say_what_was_meant() {
        for (glob, meant) in [
            ("^gpt-4", "\"gpt-4*\""),
            ("claude-.*", "\"claude-*\""),
            (r"^gemini-1\.5-pro$", "\"gemini-1.5-pro\""),
            ("gpt-(4|5)", "such as"),
            ("gpt-[0-9]+", "such as"),
            ("gpt-[45]*", "such as"),
            ("gpt-4, gpt-5", "such as"),
            ("/claude-*/", "\"claude-*\""),
            (" gpt-* ", "\"gpt-*\""),
        ] {
            assert!(is_regex(glob), "{glob}");
            assert!(hint(glob, "model").contains(meant), "{glob}: {}", hint(glob, "model"));
        }
    }
}
