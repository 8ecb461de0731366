//! `init`: the embedded rules as files, or a small file to override a provider's.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use overspill::{ProviderView, Ruleset, Setting, SettingValue};

use crate::arguments::{Common, Format, Init};
use crate::describe;
use crate::output::{Failed, Outcome, finish, results};
use crate::rules;
use crate::schema;
use crate::style::counted;

/// The schema's file, to which the first line of the others points.
const SCHEMA_FILE: &str = "overspill.schema.json";
const SCHEMA_LINE: &str = "#:schema ./overspill.schema.json\n";

pub(crate) fn run(common: &Common, command: &Init) -> Result<Outcome, Failed> {
    common.format(Format::Text, &[])?;
    let mut files = if command.overrides.is_empty() {
        Ruleset::embedded_files().map(|(name, text)| (name.to_owned(), format!("{SCHEMA_LINE}{text}"))).collect()
    } else {
        let overspill = rules::load(common)?;
        let ruleset = overspill.ruleset();
        let files = override_files(&ruleset, &command.overrides)?;
        command.overrides.iter().try_for_each(|name| rules::note_newcomer(&ruleset, name))?;
        files
    };
    files.push((SCHEMA_FILE.to_owned(), format!("{:#}\n", schema::document())));
    let written = write_all(&command.dir, &files, command.force)?;
    finish(print(&written, &command.dir), Outcome::Done)
}

fn print(written: &[PathBuf], dir: &Path) -> io::Result<()> {
    let mut out = results();
    match written {
        few if few.len() <= 8 => few.iter().try_for_each(|path| writeln!(out, "{}", path.display()))?,
        many => writeln!(out, "{} in {}", counted(many.len(), "file"), dir.display())?,
    }
    out.flush()
}

/// Writes all or, when something is in the way, nothing. A schema that is there is replaced: it belongs to the program, not to the operator.
fn write_all(dir: &Path, files: &[(String, String)], force: bool) -> Result<Vec<PathBuf>, Failed> {
    let refuse = |path: &Path, error: &io::Error| Failed::Use(format!("cannot write {}: {error}", path.display()));
    fs::create_dir_all(dir).map_err(|error| refuse(dir, &error))?;
    let in_the_way: Vec<_> = files.iter().map(|(name, _)| dir.join(name)).filter(|path| path.symlink_metadata().is_ok() && !path.ends_with(SCHEMA_FILE)).collect();
    if let (Some(first), false) = (in_the_way.first(), force) {
        let (more, are) = if in_the_way.len() > 1 { (format!(" and {} more", in_the_way.len() - 1), "are") } else { (String::new(), "is") };
        return Err(Failed::Use(format!("{}{more} {are} there already; --force overwrites", first.display())));
    }
    let mut written = Vec::new();
    for (name, text) in files {
        let path = dir.join(name);
        let mut options = OpenOptions::new();
        options.write(true);
        // Without --force a file that appeared since is not overwritten either.
        if force || name == SCHEMA_FILE {
            options.create(true).truncate(true)
        } else {
            options.create_new(true)
        };
        options.open(&path).and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| refuse(&path, &error))?;
        written.push(path);
    }
    Ok(written)
}

fn override_files(ruleset: &Ruleset, names: &[String]) -> Result<Vec<(String, String)>, Failed> {
    let mut files: Vec<(String, String)> = Vec::new();
    for name in names {
        let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        let known = ruleset.provider(name);
        if !plain && known.is_none() {
            return Err(Failed::Use(format!("`{name}` is no provider's name: use letters, digits and hyphens")));
        }
        let (provider, text) = match known {
            Some(known) => (known.name().to_owned(), override_text(known.name(), &known)),
            // A provider of one's own inherits from the base.
            None => match ruleset.provider("default") {
                Some(base) => (name.clone(), override_text(name, &base)),
                None => return Err(Failed::Use(format!("no rule file is for `{name}`"))),
            },
        };
        let file = format!("{provider}.toml");
        if files.iter().all(|(known, _)| *known != file) {
            files.push((file, text));
        }
    }
    Ok(files)
}

/// A file that changes nothing yet: every setting in force, commented out, and a rule to start from.
fn override_text(name: &str, view: &ProviderView<'_>) -> String {
    let mut text = format!(
        "{SCHEMA_LINE}# What is different here for {name}. Only what differs needs to be written; a value without # replaces the one in force, which the comment shows with its origin.\n\n"
    );
    // Writing to a string cannot fail.
    let _ = writeln!(text, "provider = \"{name}\"\n\n[retry]");
    let retry = view.retry_settings(None);
    for setting in &retry {
        if let Some(line) = retry_line(setting) {
            text += &line;
        }
    }
    text += &table_line("jitter", &retry);
    text += &table_line("server_delay", &retry);
    text += "\n# [retry.class.overloaded]             # of one class alone\n# base = \"5s\"\n\n[context]\n";
    for setting in view.context_settings() {
        if !setting.key.contains('.') {
            let _ = writeln!(text, "{}", commented(&setting.key, &toml(&setting.key, &setting.value), &setting));
        }
    }
    text += "\n# [[context.model]]                     # the window of models, by glob\n# match  = \"my-model-*\"\n# window = 128_000\n";
    if let Some(rule) = view.own_rules().next() {
        let _ = writeln!(text, "\n# [[rule]]                              # a known id changes the keys that are given\n# id      = \"{}\"\n# enabled = false", rule.id());
    }
    text += RULE;
    text
}

const RULE: &str = r#"
# [[rule]]                              # a new id is a new rule, tried before those of earlier layers; `overspill draft` writes one
# id      = "gateway-says-too-big"
# class   = "context_overflow"
# message = 'conversation of (?<requested>\d+) tokens is over our cap of (?<limit>\d+)'
#
# [[rule.example]]                      # and must win its example
# status  = 400
# body    = '{"detail":"conversation of 250000 tokens is over our cap of 200000"}'
# expect  = { requested = 250000, limit = 200000 }
"#;

fn retry_line(setting: &Setting) -> Option<String> {
    (!setting.key.contains('.')).then(|| commented(&setting.key, &toml(&setting.key, &setting.value), setting) + "\n")
}

/// `# jitter = { mode = "full" }`, from the settings `jitter.mode` and so on.
fn table_line(table: &str, settings: &[Setting]) -> String {
    let inside: Vec<_> = settings.iter().filter_map(|setting| Some((setting.key.strip_prefix(table)?.strip_prefix('.')?, setting))).collect();
    let Some((_, first)) = inside.first() else {
        return String::new();
    };
    let values: Vec<_> = inside.iter().map(|(key, setting)| format!("{key} = {}", toml(key, &setting.value))).collect();
    commented(table, &format!("{{ {} }}", values.join(", ")), first) + "\n"
}

fn commented(key: &str, value: &str, setting: &Setting) -> String {
    format!("{:<39} # {}", format!("# {key} = {value}"), describe::origin(setting))
}

/// The value as TOML; a single status is a number.
fn toml(key: &str, value: &SettingValue) -> String {
    let quoted = |text: &str| if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() { text.to_owned() } else { format!("\"{text}\"") };
    match value {
        SettingValue::List(items) if matches!(key, "retryable" | "fatal") => {
            let items: Vec<_> = items.iter().map(|item| quoted(item)).collect();
            format!("[{}]", items.join(", "))
        }
        SettingValue::Text(text) => format!("\"{text}\""),
        SettingValue::List(items) => format!("[{}]", items.iter().map(|item| format!("\"{item}\"")).collect::<Vec<_>>().join(", ")),
        value => describe::setting(value),
    }
}
