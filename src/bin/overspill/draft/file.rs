//! The override file that a drafted rule goes to: what is there stays.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use overspill::Ruleset;

use super::Rule;
use crate::output::Failed;
use crate::plain::acts;

/// Where the rule goes.
#[derive(Debug)]
pub(super) struct Target {
    path: Option<PathBuf>,
    pub(super) provider: String,
    /// What the file has now.
    pub(super) existing: String,
    ids: BTreeSet<String>,
}

impl Target {
    pub(super) fn open(ruleset: &Ruleset, provider: &str, path: Option<&Path>) -> Result<Self, Failed> {
        let mut target = Self { path: path.map(Path::to_owned), provider: provider.to_owned(), existing: String::new(), ids: BTreeSet::new() };
        let Some(path) = path else {
            return Ok(target);
        };
        let refuse = |why: String| Failed::Use(format!("cannot append to {}: {why}", path.display()));
        if path.extension().is_none_or(|extension| extension != "toml") {
            return Err(refuse("rule files are named *.toml".to_owned()));
        }
        match fs::read_to_string(path) {
            Ok(text) => target.existing = text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(target),
            Err(error) => return Err(refuse(error.to_string())),
        }
        // A plain reading is enough: with the rule appended, the whole file is loaded and checked before it is written.
        let value = |line: &str, key: &str| {
            let value = line.trim().strip_prefix(key)?.trim_start().strip_prefix('=')?.trim();
            let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
            value[1..].split(quote).next().map(str::to_owned)
        };
        target.ids = target.existing.lines().filter_map(|line| value(line, "id")).collect();
        let Some(theirs) = target.existing.lines().find_map(|line| value(line, "provider")) else {
            return Err(refuse("it does not say for which provider it is".to_owned()));
        };
        let canonical = |name: &str| ruleset.provider(name).map_or_else(|| name.to_owned(), |known| known.name().to_owned());
        if canonical(&theirs) != canonical(provider) {
            return Err(refuse(format!("it is for `{theirs}`, and the rule is for `{provider}`")));
        }
        Ok(target)
    }

    pub(super) fn has_rule(&self, id: &str) -> bool {
        self.ids.contains(id)
    }

    /// What a new file begins with.
    pub(super) fn header(&self) -> String {
        if self.existing.is_empty() { format!("provider = {}\n", quote(&self.provider)) } else { String::new() }
    }

    /// The whole file with the rule.
    pub(super) fn with(&self, rule: &str) -> String {
        let newline = if self.existing.is_empty() || self.existing.ends_with('\n') { "" } else { "\n" };
        format!("{}{newline}{}{rule}", self.existing, self.header())
    }

    /// The directory's other rule files.
    pub(super) fn neighbours(&self) -> io::Result<Vec<PathBuf>> {
        let Some(path) = &self.path else {
            return Ok(Vec::new());
        };
        let entries = match fs::read_dir(directory(path)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut paths = Vec::new();
        for entry in entries {
            let other = entry?.path();
            let hidden = other.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
            if !hidden && other.extension().is_some_and(|extension| extension == "toml") && other.file_name() != path.file_name() {
                paths.push(other);
            }
        }
        Ok(paths)
    }

    pub(super) fn file_name(&self) -> String {
        self.path.as_deref().and_then(Path::file_name).map_or_else(|| "draft.toml".to_owned(), |name| name.to_string_lossy().into_owned())
    }

    /// Writes the whole file beside the old one and puts it in its place: whoever watches the directory sees the old file or the new one, never a half.
    pub(super) fn append(&self, rule: &str) -> Result<Option<String>, Failed> {
        let Some(path) = &self.path else {
            return Ok(None);
        };
        let refuse = |error: io::Error| Failed::Use(format!("cannot write {}: {error}", path.display()));
        let dir = directory(path);
        fs::create_dir_all(dir).map_err(refuse)?;
        let beside = dir.join(format!(".{}.{}.new", self.file_name(), std::process::id()));
        let written = fs::write(&beside, self.with(rule)).and_then(|()| copy_mode(path, &beside)).and_then(|()| fs::rename(&beside, path));
        if written.is_err() {
            // What could not be put in its place is of no use; if it cannot be removed either, the first error is the one to tell.
            let _ = fs::remove_file(&beside);
        }
        written.map_err(refuse)?;
        Ok(Some(path.display().to_string()))
    }
}

fn copy_mode(from: &Path, to: &Path) -> io::Result<()> {
    match fs::metadata(from) {
        Ok(metadata) => fs::set_permissions(to, metadata.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The rule as rule files write it, with an example that it wins.
pub(super) fn toml(rule: &Rule) -> String {
    let mut text = format!("\n[[rule]]\nid      = {}\nclass   = {}\n", quote(&rule.id), quote(rule.class.name()));
    // Writing to a string cannot fail.
    let mut line = |key: &str, value: &str| {
        let _ = writeln!(text, "{key:<7} = {value}");
    };
    if rule.provider_only {
        line("scope", "\"provider\"");
    }
    if let Some(code) = &rule.code {
        line("code", &quote(code));
    }
    let weak = rule.wording.as_ref().is_none_or(super::Wording::is_weak);
    if let (Some(status), true) = (rule.status, weak) {
        line("status", &format!("[\"none\", {status}]"));
    }
    if let Some(wording) = &rule.wording {
        line("message", &quote(&wording.pattern));
    }
    line("source", "\"drafted from a failure that no rule recognised\"");
    line("seen", &quote(&jiff::Timestamp::now().strftime("%Y-%m").to_string()));
    text += "\n[[rule.example]]\n";
    let mut line = |key: &str, value: &str| {
        let _ = writeln!(text, "{key:<7} = {value}");
    };
    if let Some(status) = rule.status {
        line("status", &status.to_string());
    }
    match (&rule.wording, &rule.code) {
        (Some(wording), None) => line("message", &quote(wording.example.trim())),
        (wording, code) => {
            let mut error = serde_json::Map::new();
            error.extend(code.as_ref().map(|code| ("code".to_owned(), code.as_str().into())));
            error.extend(wording.as_ref().map(|wording| ("message".to_owned(), wording.example.trim().into())));
            line("body", &quote(&serde_json::json!({ "error": error }).to_string()));
        }
    }
    let facts = rule.wording.iter().flat_map(|wording| &wording.facts).map(|(name, number)| format!("{name} = {number}"));
    let expect: Vec<_> = std::iter::once(format!("class = {}", quote(rule.class.name()))).chain(facts).collect();
    line("expect", &format!("{{ {} }}", expect.join(", ")));
    text
}

/// A TOML string: in single quotes where it can be, since a pattern is read best as it is.
pub(super) fn quote(text: &str) -> String {
    let simple = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/'));
    if !simple && !text.contains('\'') && !text.chars().any(acts) {
        return format!("'{text}'");
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if acts(c) => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn strings_are_quoted_as_toml_reads_them() {
        for text in ["plain", r"a\d+ b", "it's", "it's \\d \"x\"", "a\tb", "超", ""] {
            let read: toml::Table = toml::from_str(&format!("x = {}", quote(text))).unwrap();
            assert_eq!(read["x"].as_str(), Some(text));
        }
    }
}
