//! The override file that a drafted rule goes to: what is there stays.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
        if path.extension().is_none_or(|extension| extension != "toml") || path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.')) {
            return Err(refuse("rule files are named *.toml, and not with a point before it".to_owned()));
        }
        match fs::metadata(path) {
            Ok(metadata) if metadata.permissions().readonly() => return Err(refuse("it is read-only".to_owned())),
            Ok(metadata) if !metadata.is_file() => return Err(refuse("it is no regular file".to_owned())),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(path).is_ok() => return Err(refuse("it is a link to what is not there".to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(target),
            Err(error) => return Err(refuse(error.to_string())),
        }
        target.existing = fs::read_to_string(path).map_err(|error| refuse(error.to_string()))?;
        // A plain reading is enough: with the rule appended, the whole file is loaded and checked before it is written.
        let value = |line: &str, key: &str| {
            let value = line.trim().strip_prefix(key)?.trim_start().strip_prefix('=')?.trim();
            let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
            value[1..].split(quote).next().map(str::to_owned)
        };
        target.ids = target.existing.lines().filter_map(|line| value(line, "id")).collect();
        let first = target.existing.trim_start_matches('\u{feff}');
        if first.lines().any(|line| line.trim_start().strip_prefix("rule").is_some_and(|rest| rest.trim_start().starts_with('='))) {
            return Err(refuse("it has its rules in a list, `rule = [...]`, to which no [[rule]] can be added; write each as [[rule]]".to_owned()));
        }
        let Some(theirs) = first.lines().find_map(|line| value(line, "provider")) else {
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
        let added = format!("{newline}{}{rule}", self.header());
        // As the lines that are there.
        let added = if self.existing.contains("\r\n") { added.replace('\n', "\r\n") } else { added };
        format!("{}{added}", self.existing)
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
            if !hidden && other.is_file() && other.extension().is_some_and(|extension| extension == "toml") && other.file_name() != path.file_name() {
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
        fs::create_dir_all(directory(path)).map_err(refuse)?;
        // Through a link to what it leads to.
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        let dir = directory(&real);
        let name = real.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let _lock = Lock::take(dir.join(format!(".{name}.lock"))).map_err(refuse)?;
        let now = match fs::read_to_string(&real) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            read => read,
        };
        if now.map_err(refuse)? != self.existing {
            return Err(Failed::Cannot(format!("{} has changed since the rule was tried with it; nothing is written, try again", path.display())));
        }
        let beside = dir.join(format!(".{name}.{}.new", std::process::id()));
        let written = fs::write(&beside, self.with(rule)).and_then(|()| copy_mode(&real, &beside)).and_then(|()| fs::rename(&beside, &real));
        if written.is_err() {
            // What could not be put in its place is of no use; if it cannot be removed either, the first error is the one to tell.
            let _ = fs::remove_file(&beside);
        }
        written.map_err(refuse)?;
        Ok(Some(path.display().to_string()))
    }
}

/// A file that is there while one program writes another: two that add a rule at once must not undo each other's.
struct Lock(PathBuf);

impl Lock {
    fn take(path: PathBuf) -> io::Result<Self> {
        const TRIES: usize = 100;
        const PAUSE: Duration = Duration::from_millis(20);
        for _ in 0..TRIES {
            match fs::OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(_) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => std::thread::sleep(PAUSE),
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other(format!("somebody else is writing it; if nobody is, remove {}", path.display())))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // If it stays, the next one says so.
        let _ = fs::remove_file(&self.0);
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
    if let (Some(status), true) = (rule.status, rule.asks_status) {
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
