//! The command line's contract: names of outputs, exit codes, what goes to which stream.
//!
//! `tests/cli/*.md` are transcripts of what a reader would type, run by trycmd over rules of their own; `TRYCMD=overwrite cargo test --features cli cli` writes what changed. Here stands what a
//! transcript cannot show: standard input, repeated runs, and the names of JSON outputs.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const RULES: [&str; 3] = ["--no-embedded", "--rules", "tests/cli/rules"];

/// The outputs of `classify`, in their order.
const VERDICT: [&str; 15] = [
    "id",
    "class",
    "action",
    "retry",
    "delay_ms",
    "server_delay_ms",
    "server_delay_from",
    "retry_at",
    "limit_tokens",
    "requested_tokens",
    "output_limit_tokens",
    "provider",
    "rule",
    "origin",
    "ruleset",
];

#[test]
fn transcripts() {
    trycmd::TestCases::new()
        .default_bin_path(env!("CARGO_BIN_EXE_overspill"))
        .register_bin("overspill", std::path::Path::new(env!("CARGO_BIN_EXE_overspill")))
        .case("tests/cli/*.md");
}

/// Runs a command of the package's directory with this standard input.
fn run(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_overspill"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // A program that refuses its arguments does not wait for its input.
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    child.wait_with_output().expect("the program ends")
}

/// The objects of standard output; the exit code must be this.
fn objects(arguments: &[&str], input: &[u8], code: i32) -> Vec<Value> {
    let output = run(arguments, input);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{out}\n{err}");
    assert_eq!(err, "", "{arguments:?}");
    out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

fn with_rules<'a>(command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&[command], &RULES[..], more].concat()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[test]
fn classify_gives_all_outputs_for_every_failure() {
    let input = br#"{"id":"a","provider":"acme","status":400,"message":"prompt of 5 tokens is too long, 4 fit"}
        {"status":429,"headers":{"retry-after":"3"},"now":"2026-11-30T12:00:00Z","id":["any","json"]}
        {}"#;
    let answers = objects(&with_rules("classify", &[]), input, 0);
    assert_eq!(answers.len(), 3);
    for answer in &answers {
        assert_eq!(keys(answer), VERDICT);
    }
    let [overflow, wait, nothing] = &answers[..] else { panic!("three answers") };
    let row = |answer: &Value, names: &[&str]| names.iter().map(|name| answer[*name].to_string()).collect::<Vec<_>>().join(" ");
    assert_eq!(row(overflow, &["id", "class", "action", "retry", "delay_ms", "requested_tokens", "limit_tokens"]), r#""a" "context_overflow" "compact" false null 5 4"#);
    assert_eq!(row(overflow, &["provider", "rule", "origin"]), r#""acme" "acme/prompt-too-long" "tests/cli/rules/acme.toml:14""#);
    assert_eq!(
        row(wait, &["id", "class", "retry", "server_delay_ms", "server_delay_from", "retry_at"]),
        r#"["any","json"] "rate_limited" true 3000 "retry-after" "2026-11-30T12:00:03Z""#
    );
    assert_eq!(row(wait, &["provider", "rule", "origin"]), r#"null "status:429" "tests/cli/rules/default.toml:20""#);
    assert_eq!(row(nothing, &["id", "class", "retry", "rule", "origin", "server_delay_ms", "retry_at"]), r#"null "unknown" true null null null null"#);
}

#[test]
fn classify_names_the_same_ruleset_in_every_answer() {
    let hash = |arguments: &[&str]| objects(arguments, b"{}\n{}\n", 0).iter().map(|answer| answer["ruleset"].as_str().expect("a text").to_owned()).collect::<BTreeSet<_>>();
    let (own, overridden) = (hash(&with_rules("classify", &[])), hash(&with_rules("classify", &["--rules", "tests/cli/override"])));
    assert_eq!((own.len(), overridden.len()), (1, 1));
    assert_ne!(own, overridden, "other rules, another version");
}

#[test]
fn classify_answers_in_order_and_tells_bad_lines_by_number() {
    let answers = objects(&with_rules("classify", &["tests/cli/bad-lines.jsonl"]), b"", 1);
    let told: Vec<String> = answers.iter().map(|answer| if answer["error"].is_string() { format!("line {}", answer["line"]) } else { answer["id"].to_string() }).collect();
    assert_eq!(told, [r#""good""#, "line 2", "line 4", "line 5", "line 6", r#""good-again""#]);
    for answer in answers.iter().filter(|answer| answer["error"].is_string()) {
        // An object has its id in the answer even when something else of it is wrong.
        let of_an_object = ["line 5", "line 6"].contains(&format!("line {}", answer["line"]).as_str());
        assert_eq!(keys(answer), if of_an_object { vec!["line", "id", "error"] } else { vec!["line", "error"] });
    }
}

#[test]
fn classify_reads_what_a_shell_gives_it() {
    let ids = |input: &[u8], file: &[&str], code: i32| {
        objects(&with_rules("classify", file), input, code)
            .iter()
            .map(|answer| if answer["error"].is_string() { Value::from("error") } else { answer["id"].clone() }.to_string())
            .collect::<Vec<_>>()
            .join(" ")
    };
    let cases: [(&str, &[u8], &str, i32); 10] = [
        ("a line without an end", br#"{"id":1}"#, "1", 0),
        ("blank lines", b"\n\n{\"id\":1}\n\n{\"id\":2}\n", "1 2", 0),
        ("line ends of Windows", b"{\"id\":1}\r\n{\"id\":2}\r\n", "1 2", 0),
        ("an object over several lines", b"{\n \"id\":\n 1\n}\n", "1", 0),
        ("an object over several lines, after a blank one", b"\n{\n \"id\": 1\n}\n", "1", 0),
        ("nothing", b"", "", 0),
        ("a first line that is none", b"oops\n{\"id\":2}\n", "\"error\" 2", 1),
        ("not UTF-8", b"{\"id\":\"\xff\"}\n{\"id\":2}\n", "\"\u{fffd}\" 2", 0),
        ("a list of numbers", b"[1, 2]\n{\"id\":2}\n", "\"error\" 2", 1),
        ("unknown fields", br#"{"id":1,"colour":"red","usage":{"input_tokens":5}}"#, "1", 0),
    ];
    for (what, input, expected, code) in cases {
        assert_eq!(ids(input, &[], code), expected, "{what}");
        assert_eq!(ids(input, &["-"], code), expected, "{what}, by `-`");
    }
}

#[test]
fn a_seed_makes_the_jitter_repeatable() {
    let input = r#"{"status":500}"#.to_owned() + "\n";
    let delays = |seed: &[&str]| {
        let answers = objects(&with_rules("classify", seed), input.repeat(8).as_bytes(), 0);
        answers.iter().map(|answer| answer["delay_ms"].as_u64().expect("a wait")).collect::<Vec<_>>()
    };
    let seeded = delays(&["--seed", "7"]);
    assert_eq!(seeded, delays(&["--seed", "7"]));
    assert_ne!(seeded, delays(&["--seed", "8"]));
    assert_ne!(delays(&[]), delays(&[]), "without a seed each run draws its own");
    assert!(seeded.iter().all(|delay| (1_600..=2_400).contains(delay)), "2 s and a fifth: {seeded:?}");
    assert!(seeded.iter().collect::<BTreeSet<_>>().len() > 1, "lines do not wait in step: {seeded:?}");
}

#[test]
fn waits_follow_the_policy() {
    let cases = [
        ("the last attempt", r#"{"status":500,"attempt":3}"#, "true null"),
        ("after output was emitted", r#"{"status":500,"output_started":true}"#, "true null"),
        ("the server asks for more than the maximum", r#"{"status":429,"headers":{"retry-after":"301"}}"#, "true null"),
        ("no retry", r#"{"status":400}"#, "false null"),
        ("fatal whatever the class", r#"{"status":501}"#, "false null"),
    ];
    for (what, input, expected) in cases {
        let answers = objects(&with_rules("classify", &[]), input.as_bytes(), 0);
        assert_eq!(format!("{} {}", answers[0]["retry"], answers[0]["delay_ms"]), expected, "{what}");
    }
    let floor = objects(&with_rules("classify", &[]), br#"{"status":429,"headers":{"retry-after":"300"}}"#, 0)[0]["delay_ms"].as_u64();
    assert!(floor.is_some_and(|delay| (300_000..=302_000).contains(&delay)), "never earlier than asked, and a little later: {floor:?}");
}

#[test]
fn check_ends_with_a_summary() {
    let cases = [("tests/cli/override", 0, 0, 0), ("tests/cli/doubtful", 0, 0, 1), ("tests/cli/broken", 1, 2, 0)];
    for (dir, code, errors, warnings) in cases {
        let lines = objects(&with_rules("check", &["--format", "json", dir]), b"", code);
        let (summary, findings) = lines.split_last().expect("a summary");
        assert_eq!(keys(summary), ["files", "rules", "examples", "errors", "warnings"]);
        assert_eq!((summary["errors"].as_u64(), summary["warnings"].as_u64()), (Some(errors), Some(warnings)), "{dir}");
        assert_eq!(findings.len() as u64, errors + warnings);
        for finding in findings {
            assert_eq!(keys(finding), ["severity", "code", "message", "file", "line", "column", "hint"]);
        }
    }
}

#[test]
fn show_gives_each_value_with_its_origin() {
    let shown = &objects(&with_rules("show", &["--rules", "tests/cli/override", "--format", "json", "acme"]), b"", 0)[0];
    for name in ["provider", "retry", "context", "rules"] {
        assert!(keys(shown).contains(&name), "{name}");
    }
    let settings = |table: &Value| table.as_object().expect("a table").iter().map(|(name, setting)| (name.clone(), setting.clone())).collect::<Vec<_>>();
    let usage = shown["context"]["usage"].as_array().expect("a list of shapes").iter().flat_map(settings);
    let tables = settings(&shown["retry"]).into_iter().chain(settings(&shown["context"])).filter(|(name, _)| !["class", "usage"].contains(&name.as_str()));
    for (name, setting) in tables.chain(usage) {
        assert_eq!(keys(&setting), ["value", "origin"], "{name}");
    }
    assert_eq!(shown["retry"]["max_attempts"]["origin"], "tests/cli/override/acme.toml:4");
    assert_eq!(shown["retry"]["factor"]["origin"], "tests/cli/rules/default.toml:7");
    let rules = shown["rules"].as_array().expect("a list");
    assert_eq!(keys(&rules[0]), ["id", "class", "origin", "layer"]);
    assert_eq!(rules.iter().map(|rule| rule["layer"].as_str().expect("a text")).collect::<Vec<_>>(), ["tests/cli/override", "tests/cli/rules"]);
}

#[test]
fn explain_tells_the_same_verdict() {
    let (told, said) =
        (objects(&with_rules("explain", &["--format", "json", "tests/cli/failures.jsonl"]), b"", 0), objects(&with_rules("classify", &["tests/cli/failures.jsonl"]), b"", 0));
    assert_eq!(told.len(), said.len());
    for (told, said) in told.iter().zip(&said) {
        for name in ["id", "class", "action", "rule", "origin", "ruleset"] {
            assert_eq!(told[name], said[name], "{name}");
        }
    }
}

#[test]
fn colours_are_for_terminals() {
    let output = run(&["check", "--no-embedded", "tests/cli/rules", "tests/cli/broken"], b"");
    assert!(!output.stderr.is_empty() && !output.stderr.contains(&0x1b), "a pipe takes no colours");
}
