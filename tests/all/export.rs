//! An export says all: written back as rule files it gives the same verdicts, policies and windows.

use std::collections::BTreeSet;
use std::process::Command;

use overspill::{Class, Overspill, ProviderView, Ruleset};
use serde_json::{Map, Value};

/// What an export has beside the keys of rule files.
const TOP: [&str; 6] = ["format", "ruleset", "classes", "signals", "delay", "providers"];

fn export() -> Map<String, Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_overspill")).arg("export").output().expect("the program ends");
    serde_json::from_slice(&output.stdout).expect("one object")
}

/// JSON as an inline value of TOML.
fn toml(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(toml).collect::<Vec<_>>().join(", ")),
        Value::Object(object) => format!("{{{}}}", object.iter().map(|(key, value)| format!("{} = {}", text(key), toml(value))).collect::<Vec<_>>().join(", ")),
        Value::String(string) => text(string),
        value => value.to_string(),
    }
}

fn text(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// The keys renamed as the file has them; `None` for those that tell what follows from others.
fn renamed(key: &str) -> Option<&str> {
    match key {
        "tried" | "origin" => None,
        "rules" => Some("rule"),
        "examples" => Some("example"),
        key => Some(key),
    }
}

fn file(provider: &Map<String, Value>, more: &[(&str, &Value)]) -> String {
    let rule = |rule: &Value| {
        let keys = rule.as_object().expect("a rule").iter();
        Value::Object(keys.filter_map(|(key, value)| Some((renamed(key)?.to_owned(), value.clone()))).collect())
    };
    let line = |key: &str, value: &Value| match (key, value) {
        ("rules", Value::Array(rules)) => format!("rule = {}\n", toml(&Value::Array(rules.iter().map(rule).collect()))),
        _ => renamed(key).map(|key| format!("{key} = {}\n", toml(value))).unwrap_or_default(),
    };
    let own = provider.iter().map(|(key, value)| line(key, value));
    own.chain(more.iter().map(|(key, value)| line(key, value))).collect()
}

/// The rules again, by way of the export.
fn by_export() -> Ruleset {
    let export = export();
    let keys: BTreeSet<&str> = export.keys().map(String::as_str).collect();
    assert_eq!(keys, TOP.into_iter().chain(["unknown_provider"]).collect());
    let dir = tempfile::tempdir().expect("a directory");
    for provider in export["providers"].as_array().expect("providers") {
        let provider = provider.as_object().expect("a provider");
        let name = provider["provider"].as_str().expect("a name");
        let more = if name == "default" { vec![("signals", &export["signals"]), ("delay", &export["delay"])] } else { Vec::new() };
        std::fs::write(dir.path().join(format!("{}.toml", name.replace('/', "-"))), file(provider, &more)).expect("a file");
    }
    let built = Ruleset::builder().without_embedded().directory(dir.path()).build();
    built.unwrap_or_else(|error| panic!("{}", error.to_string().chars().take(4000).collect::<String>()))
}

/// What a program would want to have the same.
fn settings(provider: &ProviderView<'_>) -> Vec<String> {
    let classes = Class::ALL.iter().map(|class| Some(*class)).chain([None]);
    let retry = classes.flat_map(|class| provider.retry_settings(class));
    let usage = provider.usage_settings().into_iter().flatten();
    let rows = retry.chain(provider.retry_changes()).chain(provider.context_settings()).chain(usage);
    let status = provider.status_table().into_iter().map(|(class, statuses)| format!("{class} {statuses}"));
    rows.map(|row| format!("{} = {:?}", row.key, row.value)).chain(status).collect()
}

#[test]
fn an_export_written_back_as_rule_files_is_the_same_rules() {
    let (ours, theirs) = (Overspill::embedded(), Overspill::from(by_export()));
    let (ours, theirs) = (ours.ruleset(), theirs.ruleset());
    assert_eq!(ours.rule_count(), theirs.rule_count());
    for provider in ours.provider_views() {
        let again = theirs.provider(provider.name()).unwrap_or_else(|| panic!("{} is gone", provider.name()));
        assert_eq!(settings(&provider), settings(&again), "{}", provider.name());
        let order = |ruleset: &Ruleset| ruleset.rules_for(Some(provider.name())).iter().map(|rule| rule.name().to_owned()).collect::<Vec<_>>();
        assert_eq!(order(&ours), order(&theirs), "{}", provider.name());
    }
    let mut compared = 0;
    for example in ours.examples() {
        let failure = example.failure();
        let (our, their) = (ours.evaluate(&failure), theirs.evaluate(&failure));
        assert_eq!(
            (our.class(), our.action(), our.decided_by(), our.tokens(), our.server_delay()),
            (their.class(), their.action(), their.decided_by(), their.tokens(), their.server_delay()),
            "{} example {}",
            example.rule().name(),
            example.number()
        );
        compared += 1;
    }
    assert!(compared > 500, "{compared} examples");
}
