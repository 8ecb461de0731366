//! What loading costs: once a start, and once a reload.

use overspill::Ruleset;

use crate::rulesets;

/// The embedded rules as `watch` and `load` build them, every example run.
#[divan::bench(sample_count = 12, sample_size = 1)]
fn embedded_with_examples() -> Ruleset {
    Ruleset::builder().build().expect("the embedded rules are valid")
}

/// Generated rules, by their number, every example run.
#[divan::bench(args = [30, 300, 3_000], sample_count = 8, sample_size = 1)]
fn generated(rules: usize) -> overspill::Overspill {
    rulesets::of_size(rules)
}

/// The program from start to exit: the embedded rules without their examples, and one failure.
#[cfg(feature = "cli")]
#[divan::bench(sample_count = 12, sample_size = 1)]
fn process_classify_one() {
    use std::io::Write;
    use std::process::{Command, Stdio};

    let mut child = Command::new(env!("CARGO_BIN_EXE_overspill")).arg("classify").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(br#"{"provider":"openai","status":400,"body":{"error":{"code":"context_length_exceeded"}}}"#).expect("the program reads");
    drop(stdin);
    assert!(child.wait().expect("the program ends").success());
}
