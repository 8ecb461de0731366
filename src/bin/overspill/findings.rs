//! Findings as other programs read them: JSON, annotations of a GitHub workflow, SARIF.

use std::path::{Component, Path, PathBuf};

use overspill::{Code, Diagnostic, Diagnostics, Severity};
use serde_json::{Value, json};

/// One finding of `check` or `test`.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
    /// Line and column behind the place, where they are known.
    pub(crate) end: Option<(usize, usize)>,
    pub(crate) hint: Option<String>,
}

impl From<Diagnostic<'_>> for Finding {
    fn from(diagnostic: Diagnostic<'_>) -> Self {
        let (position, end) = (diagnostic.position(), diagnostic.end());
        Self {
            severity: diagnostic.severity(),
            code: diagnostic.code().name(),
            message: diagnostic.message().to_owned(),
            file: diagnostic.file().to_owned(),
            line: position.line,
            column: position.column,
            end: Some((end.line, end.column)),
            hint: diagnostic.hint().map(str::to_owned),
        }
    }
}

pub(crate) fn of(diagnostics: &Diagnostics) -> Vec<Finding> {
    diagnostics.iter().map(Finding::from).collect()
}

impl Finding {
    pub(crate) fn as_json(&self) -> Value {
        let Self { severity, code, message, file, line, column, hint, .. } = self;
        json!({ "severity": severity.name(), "code": code, "message": message, "file": file, "line": line, "column": column, "hint": hint })
    }

    /// `::error file=...,line=...::message`; see GitHub's workflow commands.
    pub(crate) fn as_annotation(&self) -> String {
        let Self { severity, code, message, file, line, column, hint, .. } = self;
        let text = match hint {
            Some(hint) => format!("{message}\n{hint}"),
            None => message.clone(),
        };
        let (file, title) = (escape_property(&relative(file)), escape_property(code));
        format!("::{} file={file},line={line},col={column},title={title}::{}", severity.name(), escape_data(&text))
    }
}

fn escape_data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}

/// The document that code scanning reads.
pub(crate) fn sarif(findings: &[Finding]) -> Value {
    let level = |severity: Severity| match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let rules: Vec<_> = Code::ALL
        .iter()
        .map(|code| json!({ "id": code.name(), "shortDescription": { "text": code.explanation().trim() }, "defaultConfiguration": { "level": level(code.severity()) } }))
        .collect();
    let results: Vec<_> = findings
        .iter()
        .map(|finding| {
            let text = match &finding.hint {
                Some(hint) => format!("{} ({hint})", finding.message),
                None => finding.message.clone(),
            };
            let mut region = json!({ "startLine": finding.line, "startColumn": finding.column });
            if let Some((line, column)) = finding.end {
                region["endLine"] = json!(line);
                region["endColumn"] = json!(column);
            }
            let location = json!({ "physicalLocation": { "artifactLocation": { "uri": uri(&relative(&finding.file)) }, "region": region } });
            json!({ "ruleId": finding.code, "level": level(finding.severity), "message": { "text": text }, "locations": [location] })
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "overspill", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

/// A path from where the command runs, which in a workflow is the root of the repository; one that does not lie below it stays as it is.
fn relative(path: &str) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let path = Path::new(path);
    let below = path.strip_prefix(&here).ok().or_else(|| path.strip_prefix(here.canonicalize().ok()?).ok()).filter(|rest| !here.as_os_str().is_empty() && *rest != Path::new(""));
    // Without the parts that say nothing.
    let plain = below.unwrap_or(path).components().filter(|part| *part != Component::CurDir).collect::<PathBuf>();
    if cfg!(windows) { plain.to_string_lossy().replace('\\', "/") } else { plain.to_string_lossy().into_owned() }
}

/// A path as the reference that SARIF takes.
fn uri(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.' | b'~');
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    let path: String = path.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect();
    format!("{scheme}{path}")
}
