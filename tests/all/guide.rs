//! The guide tells what is so: its keys are those that the reader of rule files knows, its rule files load, and its verdicts are what the command line answers.

use std::collections::BTreeSet;

use overspill::{Code, Diagnostic, Ruleset};

const RULE_FILES: &str = include_str!("../../src/guide/rule_files.md");
const VERDICTS: &str = include_str!("../../src/guide/verdicts.md");
const CALLS: &str = include_str!("../../src/guide/calls.md");

/// A section of the guide, and files whose only fault is an unknown key in the table that it is about.
const TABLES: [(&str, &[&str]); 20] = [
    ("Top of the file", &["KEY = 1\nprovider = \"acme\"\n"]),
    ("`[retry]`", &["[retry]\nKEY = 1\n"]),
    ("`[retry.class.*]`, `[retry.profile.*]`", &["[retry.class.overloaded]\nKEY = 1\n", "[retry.profile.nightly]\nKEY = 1\n"]),
    ("`[[retry.model]]`", &["[[retry.model]]\nmatch = \"*\"\nKEY = 1\n"]),
    ("`jitter`", &["[retry]\njitter = { mode = \"full\", KEY = 1 }\n"]),
    ("`server_delay`", &["[retry]\nserver_delay = { KEY = 1 }\n"]),
    ("`budget`", &["[retry]\nbudget = { KEY = 1 }\n"]),
    ("`[context]`", &["[context]\nKEY = 1\n"]),
    ("`[[context.usage]]`", &["[[context.usage]]\nid = \"x\"\nKEY = 1\n", "[context.usage]\nKEY = 1\n"]),
    ("`[context.finish_reason]`", &["[context.finish_reason]\nKEY = 1\n"]),
    ("`[[context.model]]`", &["[[context.model]]\nmatch = \"*\"\nKEY = 1\n"]),
    ("`[signals]`", &["[signals]\nKEY = 1\n"]),
    ("`[[delay]]`", &["[[delay]]\nid = \"x\"\nheader = \"x\"\nKEY = 1\n"]),
    ("`only_if`", &["[[delay]]\nid = \"x\"\nheader = \"x\"\nonly_if = { header = \"y\", is = \"z\", KEY = 1 }\n"]),
    ("`[[rule]]`", &["[[rule]]\nid = \"x\"\nKEY = 1\n"]),
    ("`unless`", &["[[rule]]\nid = \"x\"\nunless = { KEY = 1 }\n"]),
    ("`facts`", &["[[rule]]\nid = \"x\"\nfacts = { KEY = 1 }\n"]),
    ("`[[rule.example]]`", &["[[rule]]\nid = \"x\"\n[[rule.example]]\nKEY = 1\n"]),
    ("`expect`", &["[[rule]]\nid = \"x\"\n[[rule.example]]\nexpect = { KEY = 1 }\n"]),
    ("`when`", &[]),
];

/// The text between a heading and the next.
fn section<'p>(page: &'p str, heading: &str) -> &'p str {
    let (_, after) = page.split_once(&format!("\n# {heading}\n")).unwrap_or_else(|| panic!("the guide has no section {heading}"));
    after.split("\n# ").next().unwrap_or_default()
}

/// The names in the first column of a section's table.
fn rows(section: &str) -> BTreeSet<String> {
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    cells.flat_map(|cell| cell.split("`, `").map(|name| name.trim_end_matches('`').to_owned()).collect::<Vec<_>>()).collect()
}

/// The keys that the reader knows of the table in which this file has an unknown one.
fn known(text: &str) -> BTreeSet<String> {
    let text = if text.contains("provider") { text.to_owned() } else { format!("provider = \"acme\"\n{text}") };
    let error = Ruleset::builder().without_embedded().text("guide", "acme.toml", text.replace("KEY", "qqqqqqqqqqqq")).build().expect_err("an unknown key");
    let found = error.diagnostics().expect("diagnostics").iter().find(|found| found.code() == Code::UnknownKey).and_then(Diagnostic::hint);
    let hint = found.unwrap_or_else(|| panic!("{text}: {error}"));
    hint.strip_prefix("known keys: ").unwrap_or_else(|| panic!("{hint}")).split(", ").map(str::to_owned).collect()
}

/// The fenced blocks of that language.
fn blocks<'p>(page: &'p str, language: &str) -> Vec<&'p str> {
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).map(|rest| rest.split("\n```").next().unwrap_or_default()).collect()
}

#[test]
fn its_keys_are_those_that_the_reader_knows() {
    for (heading, files) in TABLES {
        let documented = rows(section(RULE_FILES, heading));
        for file in files {
            assert_eq!(documented, known(file), "{heading}");
        }
    }
    // No section about keys is left out of the comparison.
    let headings: BTreeSet<&str> = RULE_FILES.lines().filter_map(|line| line.strip_prefix("# ")).collect();
    let compared: BTreeSet<&str> = TABLES.iter().map(|(heading, _)| *heading).chain(["`[status]`"]).collect();
    assert_eq!(headings, compared);
}

#[test]
fn its_names_for_comparisons_are_those_that_the_reader_knows() {
    let file = "provider = \"acme\"\n[[rule]]\nid = \"x\"\nclass = \"unknown\"\nwhen = \"qqq > 1\"\n[[rule.example]]\nmessage = \"x\"\n";
    let error = Ruleset::builder().text("guide", "acme.toml", file).build().expect_err("an unknown name");
    let found = error.diagnostics().expect("diagnostics").iter().find_map(|found| found.hint()?.split_once("names: ").map(|(_, names)| names.to_owned()));
    let known: BTreeSet<String> = found.unwrap_or_else(|| panic!("{error}")).split(", ").map(str::to_owned).collect();
    assert_eq!(rows(section(RULE_FILES, "`when`")), known);
}

/// All at once, each over those before it.
#[test]
fn its_rule_files_load() {
    let files: Vec<_> = blocks(RULE_FILES, "toml").into_iter().chain(blocks(CALLS, "toml")).collect();
    assert!(files.len() >= 6, "{} rule files", files.len());
    let builder = files.iter().enumerate().fold(Ruleset::builder(), |builder, (number, file)| builder.text(format!("block {number}"), format!("block-{number}.toml"), *file));
    let built = builder.build();
    assert!(built.is_ok(), "{}", built.err().map(|error| error.to_string()).unwrap_or_default());
}

#[test]
fn its_defaults_are_those_of_the_base_layer() {
    let policy = Ruleset::embedded().retry_policy(None, None).clone();
    let retry = section(RULE_FILES, "`[retry]`");
    let seconds = |duration: std::time::Duration| format!("`\"{}s\"`", duration.as_secs());
    for (key, default) in [
        ("max_attempts", format!("`{}`", policy.max_attempts)),
        ("base", seconds(policy.base)),
        ("factor", format!("`{:.1}`", policy.factor)),
        ("cap", seconds(policy.cap)),
        ("cost", format!("`{:.1}`", policy.cost)),
    ] {
        let line = retry.lines().find(|line| line.starts_with(&format!("| `{key}` |"))).unwrap_or_else(|| panic!("no row for {key}"));
        assert_eq!(line.split(" | ").nth(2), Some(default.as_str()), "{line}");
    }
    let budget = section(RULE_FILES, "`budget`");
    for (key, default) in [("capacity", policy.budget.capacity), ("per_second", policy.budget.per_second), ("per_success", policy.budget.per_success)] {
        assert!(budget.lines().any(|line| line.starts_with(&format!("| `{key}` |")) && line.contains(&format!(" | `{default}` | "))), "{key} is {default}");
    }
}

#[cfg(feature = "cli")]
mod json {
    use std::collections::BTreeSet;
    use std::io::Write;
    use std::process::{Command, Stdio};

    use serde_json::Value;

    use super::{VERDICTS, blocks, rows, section};

    /// What a command answers to this input.
    fn answer(arguments: &[&str], input: &str) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_overspill"));
        let mut child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
        child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("the program ends");
        String::from_utf8(output.stdout).expect("text")
    }

    fn object(text: &str) -> serde_json::Map<String, Value> {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// The fields that the help of a command lists.
    fn listed(command: &str) -> BTreeSet<String> {
        let help = answer(&[command, "--help"], "");
        let line = help.lines().find_map(|line| line.strip_prefix("Input: ")?.split_once("): ").or_else(|| line.split_once(": ")).map(|(_, fields)| fields)).expect("the input");
        let words = line.split([',', ' ', '(', ')', '.']).filter(|word| !word.is_empty());
        words.map(str::to_owned).collect()
    }

    #[test]
    fn its_fields_are_those_of_the_command_line() {
        for command in ["classify", "context"] {
            let documented = rows(section(VERDICTS, &format!("Output of `{command}`")));
            let answered = object(&answer(&[command], "{}"));
            assert_eq!(documented, answered.keys().cloned().collect::<BTreeSet<_>>(), "{command}");
            let inputs = rows(section(VERDICTS, &format!("Input of `{command}`")));
            let listed = listed(command);
            assert!(inputs.is_subset(&listed), "{command}: {:?}", inputs.difference(&listed));
        }
        assert_eq!(rows(section(VERDICTS, "Input of `classify`")), listed("classify"));
    }

    #[test]
    fn its_verdicts_are_answered() {
        let blocks = blocks(VERDICTS, "json");
        assert!(blocks.len() >= 6 && blocks.len().is_multiple_of(2));
        for pair in blocks.chunks(2) {
            let answered = object(&answer(&["classify"], pair[0]));
            for (key, value) in object(pair[1]) {
                assert_eq!(answered.get(&key), Some(&value), "{key} of {}", pair[0]);
            }
        }
    }
}
