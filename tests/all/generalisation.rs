//! How much would be recognised of what nobody has recorded: rules are left out, and the failures recorded for them stand for unknown ones.
//!
//! `cargo test --all-features generalisation -- --nocapture` prints the figures. They flatter a little: whoever wrote `default.toml` had seen these texts.

use std::fs;
use std::path::Path;

use overspill::{Overspill, Ruleset};

use crate::corpus::{Figures, Floors};
use crate::sample::corpus;

/// What `default.toml` with the files that it extends must get right of everything recorded, no provider's file being there. In tenths of a per cent, cut where it stood when last raised.
const DEFAULT_ALONE: Floors = Floors { recall: Some(992), precision: Some(1000), class: 949, retry: Some(945), delay: Some(1000), tokens: Some(874) };

/// Providers with many recorded failures, each left out in turn: its failures then come from somebody unknown, and are matched against the rules of all others.
const LEFT_OUT: [&str; 8] = ["anthropic", "azure-openai", "bedrock", "gemini", "github-copilot", "groq", "openai", "openrouter"];

/// What must be right on average over those, likewise.
const WITHOUT_ITS_FILE: Floors = Floors { recall: Some(1000), precision: Some(1000), class: 970, retry: Some(966), delay: Some(1000), tokens: Some(1000) };

#[test]
fn default_alone_recognises_most_of_what_is_recorded() {
    let overspill = with_files(|name| matches!(name, "default.toml" | "transport.toml" | "chinese.toml" | "codes.toml" | "other-languages.toml" | "vague.toml"), "");
    let figures = measure(&overspill, |_| true);
    println!("default.toml alone: {}", figures.summary());
    assert!(figures.reach(&DEFAULT_ALONE), "below the floors: {figures}");
}

#[test]
fn a_provider_without_a_file_is_recognised_by_the_rules_of_others() {
    let mut all = Figures::default();
    for left_out in LEFT_OUT {
        let overspill = with_files(|name| name != format!("{left_out}.toml"), left_out);
        let figures = measure(&overspill, |provider| provider == Some(left_out));
        println!("without {left_out}: {}", figures.summary());
        all += figures;
    }
    println!("all of them: {}", all.summary());
    assert!(all.reach(&WITHOUT_ITS_FILE), "below the floors: {all}");
}

/// The rules of the files that are kept; nobody extends the one that is left out.
fn with_files(keep: impl Fn(&str) -> bool, left_out: &str) -> Overspill {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let names = fs::read_dir(dir.clone()).expect("the rules are there").map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"));
    let mut names: Vec<String> = names.filter(|name| keep(name)).collect();
    names.sort();
    let builder = names.iter().fold(Ruleset::builder().without_embedded(), |builder, name| {
        let text = fs::read_to_string(dir.join(name)).expect("a rule file");
        let own = |line: &str| if line.starts_with("extends") { line.replace(&format!("\"{left_out}\", "), "").replace(&format!("\"{left_out}\""), "") } else { line.to_owned() };
        builder.text("rules", name, text.lines().map(own).collect::<Vec<_>>().join("\n"))
    });
    // Examples that the missing file's rules would have won need not hold.
    builder.without_examples().build().expect("the files that are kept load").into()
}

fn measure(overspill: &Overspill, of: impl Fn(Option<&str>) -> bool) -> Figures {
    let mut figures = Figures::default();
    for recorded in ["overflow", "retry", "sdk"].into_iter().flat_map(corpus).filter(|recorded| of(recorded.sample.provider.as_deref())) {
        figures.judge(&recorded, overspill);
    }
    figures
}
