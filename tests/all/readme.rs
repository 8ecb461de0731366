//! The README tells what is so: its table of providers is generated, its override example loads.
//!
//! `OVERSPILL_BLESS=1 cargo test --all-features readme` writes the table anew.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use overspill::Ruleset;

const BEGIN: &str = "<!-- providers: written by a test -->\n";
const END: &str = "<!-- providers end -->\n";

#[test]
fn the_table_of_providers_is_true() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(&path).expect("the test reads its own files");
    let (before, rest) = readme.split_once(BEGIN).expect("the README has the table's first marker");
    let (found, after) = rest.split_once(END).expect("the README has the table's last marker");
    let table = table();
    if std::env::var_os("OVERSPILL_BLESS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).expect("the test reads its own files");
        return;
    }
    assert!(found == table, "the README's table of providers is out of date; write it anew with OVERSPILL_BLESS=1 cargo test --all-features readme");
}

/// A row a provider: its names, and how many rules of its own it has for each class.
fn table() -> String {
    let ruleset = Ruleset::embedded();
    let mut table = String::from("| provider | also called | own rules by class | takes over |\n|---|---|---|---|\n");
    for provider in ruleset.provider_views() {
        let mut classes: BTreeMap<&str, usize> = BTreeMap::new();
        provider.own_rules().for_each(|rule| *classes.entry(rule.class().name()).or_default() += 1);
        let classes: Vec<String> = classes.into_iter().map(|(class, count)| format!("{class} {count}")).collect();
        let gateway = if provider.is_gateway() { " (gateway)" } else { "" };
        writeln!(table, "| {}{gateway} | {} | {} | {} |", provider.name(), provider.aliases().join(", "), classes.join(", "), provider.extends().join(", "))
            .expect("a text takes everything");
    }
    table
}

#[test]
fn the_override_example_loads_and_works() {
    let readme = include_str!("../../README.md");
    let block = readme
        .split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().expect("the test reads its own files"))
        .find(|block| block.contains("provider = \"anthropic\""))
        .expect("the README has an override file");
    let ruleset = Ruleset::builder().text("override", "anthropic.toml", block).build().expect("the test reads its own files");
    assert_eq!(ruleset.retry_policy(Some("anthropic"), None).max_attempts.get(), 8);
}
