//! The operator's commands, each with its success, its failure and its wrong use. A case is a file `tests/cli/operator/*.case`:
//!
//! ```text
//! what it shows, in a sentence
//! --- file acme.jsonl
//! {"status": 429}
//! $ overspill classify acme.jsonl
//! --- exit 0
//! --- out
//! {"class":"rate_limited"[..]
//! --- err
//! ```
//!
//! Every case runs in a directory of its own with the files of `tests/cli/fixture` in it. In expected lines `[..]` stands for anything; a line `...` for any lines. A section `--- stdin` before a
//! command is what it reads, `--- show FILE` after it what the file then holds. After a change that is meant, `OVERSPILL_BLESS=1 cargo test --all-features operator` writes the outputs anew: lines
//! that still match keep their wildcards.

#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_overspill");

/// The text of a case in sections: the header line and what follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Section {
    header: String,
    lines: Vec<String>,
}

/// A command and what it did.
#[derive(Debug)]
struct Ran {
    exit: i32,
    out: String,
    err: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli")
}

fn cases() -> Vec<PathBuf> {
    let mut cases: Vec<_> =
        fs::read_dir(root().join("operator")).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "case")).collect();
    cases.sort();
    cases
}

fn sections(text: &str) -> Vec<Section> {
    let mut sections = vec![Section { header: String::new(), lines: Vec::new() }];
    for line in text.lines() {
        if line.starts_with("--- ") || line.starts_with("$ ") {
            sections.push(Section { header: line.to_owned(), lines: Vec::new() });
        } else {
            sections.last_mut().unwrap().lines.push(line.to_owned());
        }
    }
    sections
}

/// A directory of its own that goes when it is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("overspill-cli-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        copy(&root().join("fixture"), &dir);
        Self(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Words as a shell splits them, with single quotes.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let (mut quoted, mut given) = (false, false);
    for c in command.chars() {
        match c {
            '\'' => (quoted, given) = (!quoted, true),
            ' ' if !quoted => {
                if given || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                given = false;
            }
            c => word.push(c),
        }
    }
    if given || !word.is_empty() {
        words.push(word);
    }
    words
}

fn run(dir: &Path, command: &str, stdin: &str) -> Ran {
    let words = words(command);
    assert_eq!(words[0], "overspill", "{command}");
    let mut child =
        Command::new(PROGRAM).args(&words[1..]).current_dir(dir).env("NO_COLOR", "1").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A command that reads nothing closes the pipe before it is written to.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { exit: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

/// Whether the line is as expected, `[..]` standing for anything.
fn line_matches(expected: &str, line: &str) -> bool {
    let mut parts = expected.split("[..]");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let mut parts: Vec<_> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

fn lines_match(expected: &[String], lines: &[&str]) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first == "..." => (0..=lines.len()).any(|skipped| lines_match(rest, &lines[skipped..])),
        Some((first, rest)) => lines.split_first().is_some_and(|(line, lines)| line_matches(first, line) && lines_match(rest, lines)),
    }
}

/// The expected section as it should be: as it is when it matches, else anew.
fn renewed(expected: &[String], text: &str) -> Vec<String> {
    let lines: Vec<_> = text.lines().collect();
    if lines_match(expected, &lines) {
        return expected.to_vec();
    }
    lines.iter().map(|line| expected.iter().find(|old| *old != "..." && line_matches(old, line)).cloned().unwrap_or_else(|| (*line).to_owned())).collect()
}

/// Runs a case; its text as it should be.
fn play(case: &Path) -> String {
    let text = fs::read_to_string(case).unwrap();
    let scratch = Scratch::new(&case.file_stem().unwrap().to_string_lossy());
    let mut ran: Option<Ran> = None;
    let mut stdin = String::new();
    let mut result = String::new();
    let given = sections(&text);
    for (index, section) in given.iter().enumerate() {
        let content = || section.lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect::<String>();
        let mut lines = section.lines.clone();
        let mut header = section.header.clone();
        if let Some(path) = header.strip_prefix("--- file ") {
            let path = scratch.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content()).unwrap();
        } else if header == "--- stdin" {
            stdin = content();
        } else if let Some(command) = header.strip_prefix("$ ") {
            ran = Some(run(&scratch.0, command, &std::mem::take(&mut stdin)));
        } else if let Some(path) = header.strip_prefix("--- show ") {
            let text = fs::read_to_string(scratch.0.join(path)).unwrap_or_else(|error| format!("({error})\n"));
            lines = renewed(&section.lines, &text);
        } else if let Some(ran) = &ran {
            match header.as_str() {
                "--- out" => lines = renewed(&section.lines, &ran.out),
                "--- err" => lines = renewed(&section.lines, &ran.err),
                exit => {
                    assert!(exit.starts_with("--- exit"), "{}: unknown section {exit}", case.display());
                    header = format!("--- exit {}", ran.exit);
                }
            }
        }
        if index > 0 || !header.is_empty() {
            writeln!(result, "{header}").unwrap();
        }
        lines.iter().for_each(|line| writeln!(result, "{line}").unwrap());
        // A new case needs no more than its commands.
        let is_command = header.starts_with("$ ");
        let answered = given.get(index + 1).is_some_and(|next| next.header.starts_with("--- exit"));
        if let (true, false, Some(ran)) = (is_command, answered, &ran) {
            write!(result, "--- exit {}\n--- out\n{}--- err\n{}", ran.exit, ran.out, ran.err).unwrap();
        }
    }
    result
}

/// Several at a time: a case waits for its commands most of the time.
fn play_all(cases: &[PathBuf]) -> Vec<(PathBuf, String)> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = cases.chunks(cases.len().div_ceil(4)).map(|cases| scope.spawn(|| cases.iter().map(|case| (case.clone(), play(case))).collect::<Vec<_>>())).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn the_commands_do_what_their_cases_say() {
    let bless = std::env::var_os("OVERSPILL_BLESS").is_some();
    let mut wrong = Vec::new();
    for (case, result) in play_all(&cases()) {
        let text = fs::read_to_string(&case).unwrap();
        if text == result {
            continue;
        }
        if bless {
            fs::write(&case, result).unwrap();
        } else {
            wrong.push(format!("== {}\n-- expected\n{text}-- is\n{result}", case.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_command_has_its_success_its_failure_and_its_wrong_use() {
    let help = run(&root(), "overspill --help", "").out;
    let commands: BTreeSet<_> =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next()).collect();
    assert!(commands.len() >= 13, "{help}");
    // What cannot find a problem: it prints what the program knows.
    let never_fails = ["schema", "completions", "man", "init", "help"];
    // It never ends of itself: the README's walk and tests/reload/command.rs watch it at work.
    let elsewhere = [("watch", 0)];
    let mut seen: BTreeSet<(String, i32)> = BTreeSet::new();
    for case in cases() {
        let mut command = String::new();
        for section in sections(&fs::read_to_string(case).unwrap()) {
            if let Some(text) = section.header.strip_prefix("$ overspill ") {
                command = words(text).into_iter().find(|word| commands.contains(word.as_str())).unwrap_or_default();
            } else if let Some(exit) = section.header.strip_prefix("--- exit ") {
                seen.insert((command.clone(), exit.parse().unwrap()));
            }
        }
    }
    let missing: Vec<_> = commands
        .iter()
        .flat_map(|command| [0, 1, 2].map(|exit| (*command, exit)))
        .filter(|case| !elsewhere.contains(case))
        .filter(|(command, exit)| *exit != 1 || !never_fails.contains(command))
        .filter(|(command, exit)| !seen.contains(&((*command).to_owned(), *exit)))
        .collect();
    assert!(missing.is_empty(), "no case has {missing:?}");
}

#[test]
fn help_has_examples_and_exit_codes() {
    let help = run(&root(), "overspill --help", "").out;
    for command in help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next()) {
        // It shows the help of the others, and takes no option.
        if command == "help" {
            continue;
        }
        let help = run(&root(), &format!("overspill {command} --help"), "");
        assert_eq!(help.exit, 0);
        assert!(help.out.contains("Examples:") && help.out.contains("Exit codes:"), "{command}: {}", help.out);
    }
}

#[test]
fn a_closed_pipe_is_no_error_and_makes_no_problem_undone() {
    let scratch = Scratch::new("closed-pipe");
    let commands =
        [("export", Some(0)), ("completions bash", Some(0)), ("man", Some(0)), ("schema", Some(0)), ("show openai", Some(0)), ("test --no-embedded --rules base bad", Some(1))];
    for (command, exit) in commands {
        let mut child = Command::new(PROGRAM).args(words(command)).current_dir(&scratch.0).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), exit, "{command}: {errors}");
        assert!(!errors.contains("pipe"), "{command}: {errors}");
    }
}

#[test]
fn findings_name_files_from_where_the_command_runs() {
    let scratch = Scratch::new("relative");
    let absolute = scratch.0.join("bad").display().to_string();
    for (format, outside) in [("github", format!("file={absolute}/acme.toml")), ("sarif", format!("file://{absolute}/acme.toml"))] {
        let check = |from: &Path, base: &Path, bad: &str| run(from, &format!("overspill check --no-embedded --rules {} {bad} --format {format}", base.display()), "").out;
        let plain = check(&scratch.0, Path::new("base"), "bad");
        assert!(plain.contains("bad/acme.toml") && !plain.contains(&absolute), "{plain}");
        for bad in ["./bad", "bad/", "./bad/.", &absolute] {
            assert_eq!(check(&scratch.0, Path::new("base"), bad), plain, "{bad}");
        }
        let elsewhere = check(&root(), &scratch.0.join("base"), &absolute);
        assert!(elsewhere.contains(&outside), "{elsewhere}");
    }
}

/// The commands that read JSON Lines, each with its file at `FILE`.
const READERS: [&str; 6] = ["classify FILE", "explain FILE", "context FILE", "misses FILE", "test base --corpus FILE", "replay FILE --to base"];

#[test]
fn what_is_no_json_lines_is_told_by_every_command_that_reads_them() {
    let scratch = Scratch::new("encodings");
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    let failure = "{\"status\": 503}\n";
    let pretty = "{\n  \"status\": 503\n}\n{\n  \"status\": 429\n}\n";
    let cases: [(&str, Vec<u8>, &str); 7] = [
        ("packed.gz", b"\x1f\x8b\x08\x00\n\xff\n".to_vec(), "it looks like gzip: unpack it first"),
        ("packed.zst", b"\x28\xb5\x2f\xfd\x24".to_vec(), "it looks like zstd: unpack it first"),
        ("packed.zip", b"PK\x03\x04\x14".to_vec(), "it looks like a zip archive: unpack it first"),
        ("marked.utf16", [b"\xff\xfe".to_vec(), utf16(failure)].concat(), "it looks like UTF-16: write UTF-8"),
        ("bare.utf16", utf16(failure), "it looks like UTF-16: write UTF-8"),
        ("array.json", format!("[\n {failure}]\n").into_bytes(), "it looks like a JSON array: write one object a line, as jq -c '.[]' does"),
        ("pretty.json", pretty.as_bytes().to_vec(), "it looks like JSON spread over many lines"),
    ];
    for (file, bytes, what) in cases {
        fs::write(scratch.0.join(file), bytes).unwrap();
        for reader in READERS {
            let ran = run(&scratch.0, &format!("overspill {} --no-embedded --rules base", reader.replace("FILE", file)), "");
            assert_eq!((ran.exit, ran.out.as_str()), (2, ""), "{reader} {file}: {}", ran.err);
            assert!(ran.err.starts_with(&format!("error: cannot read {file}: {what}")), "{reader} {file}: {}", ran.err);
        }
    }
}

#[test]
fn a_mark_costs_no_line_and_a_line_that_is_too_long_only_itself() {
    let scratch = Scratch::new("long");
    let failure = b"{\"provider\": \"acme\", \"status\": 503, \"message\": \"all workers are busy\"}\n";
    let long = [b"{\"message\": \"".to_vec(), vec![b'x'; 65 << 20], b"\"}\n".to_vec()].concat();
    fs::write(scratch.0.join("long.jsonl"), [&b"\xef\xbb\xbf"[..], failure, &long, failure, b"{oops\n"].concat()).unwrap();
    let ran = run(&scratch.0, "overspill replay long.jsonl --to good --no-embedded --rules base --examples 9", "");
    assert_eq!(ran.exit, 1);
    assert!(ran.out.contains("such as line 1, line 3\n"), "{}", ran.out);
    assert_eq!(ran.err, "line 2: longer than 64 MiB\nline 4: not a JSON object: key must be a string at column 2\n");
    let ran = run(&scratch.0, "overspill classify long.jsonl --no-embedded --rules base --format text", "");
    assert_eq!(
        ran.out.lines().map(|line| line.split([':', '(']).next().unwrap()).collect::<Vec<_>>(),
        ["overloaded -> retry in 1.0 s  [acme/busy base/acme.toml", "line 2", "overloaded -> retry in 1.0 s  [acme/busy base/acme.toml", "line 4"]
    );
}

/// A document as `export` writes it, without what names its texts: where they stand, and their hash.
fn without_places(value: &mut Value) {
    match value {
        Value::Object(object) => {
            ["ruleset", "origin"].iter().for_each(|key| _ = object.remove(*key));
            object.values_mut().for_each(without_places);
        }
        Value::Array(items) => items.iter_mut().for_each(without_places),
        _ => {}
    }
}

/// Each section of `tests/cli/overrides.txt` that says `over` is put alone over those that say `base`.
#[test]
fn whatever_changes_in_the_export_show_diff_tells() {
    let scratch = Scratch::new("overrides");
    let text = fs::read_to_string(root().join("overrides.txt")).unwrap();
    let mut overrides = Vec::new();
    for Section { header, lines } in sections(&text) {
        let (kind, file) = match header.strip_prefix("--- ").and_then(|header| header.split_once(' ')) {
            Some(("base", file)) => ("standard".to_owned(), file),
            Some(("over", file)) => (format!("over-{}", overrides.len()), file),
            _ => continue,
        };
        let dir = scratch.0.join(&kind);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(file), lines.join("\n")).unwrap();
        if kind != "standard" {
            overrides.push((kind, format!("{header}\n{}", lines.join("\n"))));
        }
    }
    let export = |more: &str| {
        let ran = run(&scratch.0, &format!("overspill export --no-embedded --rules standard{more}"), "");
        assert_eq!(ran.exit, 0, "{}", ran.err);
        let mut document: Value = serde_json::from_str(&ran.out).unwrap();
        without_places(&mut document);
        document
    };
    let standard = export("");
    assert!(overrides.len() > 10);
    for (dir, text) in overrides {
        let differs = export(&format!(" --rules {dir}")) != standard;
        let told = run(&scratch.0, &format!("overspill show --diff {dir} --no-embedded --rules standard"), "");
        assert_eq!((told.exit, told.err.as_str()), (0, ""), "{text}");
        assert_eq!(told.out != "nothing changes\n", differs, "{text}\n-- is told as\n{}", told.out);
        assert_eq!(differs, !text.contains("# the same"), "{text}");
    }
}

/// The command that drafts a rule of the fixture into a file, and how it ends.
#[cfg(unix)]
fn draft(dir: &Path, template: usize, out: &str) -> Ran {
    run(dir, &format!("overspill draft failures.jsonl --template {template} --class timeout --out {out} --no-embedded --rules base"), "")
}

#[cfg(unix)]
#[test]
fn a_drafted_rule_goes_where_the_path_leads_and_nowhere_else() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let scratch = Scratch::new("draft-out");
    let path = |name: &str| scratch.0.join(name);
    // Two files of a directory may not be for one provider.
    ["real", "link", "lost", "fixed", "pipe", "mark", "crlf", "full"].iter().for_each(|dir| fs::create_dir(path(dir)).unwrap());
    fs::write(path("real/acme.toml"), "provider = \"acme\"\n").unwrap();
    symlink("../real/acme.toml", path("link/acme.toml")).unwrap();
    assert_eq!(draft(&scratch.0, 1, "link/acme.toml").exit, 0);
    assert!(fs::symlink_metadata(path("link/acme.toml")).unwrap().is_symlink());
    assert!(fs::read_to_string(path("real/acme.toml")).unwrap().contains("teapot"));

    symlink("nowhere.toml", path("lost/acme.toml")).unwrap();
    fs::write(path("fixed/acme.toml"), "provider = \"acme\"\n").unwrap();
    fs::set_permissions(path("fixed/acme.toml"), fs::Permissions::from_mode(0o444)).unwrap();
    assert!(Command::new("mkfifo").arg(path("pipe/acme.toml")).status().unwrap().success());
    for (name, why) in [("lost/acme.toml", "a link to what is not there"), ("fixed/acme.toml", "read-only"), ("pipe/acme.toml", "no regular file")] {
        let ran = draft(&scratch.0, 1, name);
        assert_eq!(ran.exit, 2, "{name}: {}", ran.err);
        assert!(ran.err.contains(why), "{name}: {}", ran.err);
    }
    assert_eq!(fs::read_to_string(path("fixed/acme.toml")).unwrap(), "provider = \"acme\"\n");

    // Windows's line ends stay; its mark is what is wrong, and is said to be.
    fs::write(path("mark/acme.toml"), "\u{feff}provider = \"acme\"\n").unwrap();
    let ran = draft(&scratch.0, 1, "mark/acme.toml");
    assert!(ran.exit == 1 && ran.err.contains("byte order mark"), "{}", ran.err);
    fs::write(path("crlf/acme.toml"), "provider = \"acme\"\r\n").unwrap();
    assert_eq!(draft(&scratch.0, 1, "crlf/acme.toml").exit, 0);
    let text = fs::read_to_string(path("crlf/acme.toml")).unwrap();
    assert!(text.contains("teapot") && text.matches('\n').count() == text.matches("\r\n").count(), "{text:?}");

    // What is written is written, even if nobody can be told.
    if Path::new("/dev/full").exists() {
        let command = words("draft failures.jsonl --template 2 --class timeout --out full/acme.toml --no-embedded --rules base");
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = Command::new(PROGRAM).args(command).current_dir(&scratch.0).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains("was appended to full/acme.toml"), "{output:?}");
        assert!(path("full/acme.toml").exists());
    }
}

#[cfg(unix)]
#[test]
fn rules_that_are_drafted_at_once_do_not_undo_each_other() {
    let scratch = Scratch::new("draft-at-once");
    let lines: String = ["lattice", "gate", "shutter", "bolt", "hinge", "latch"].iter().fold(String::new(), |mut lines, word| {
        writeln!(lines, r#"{{"provider": "acme", "status": 418, "message": "the {word} of the whole shop is sour"}}"#).unwrap();
        lines
    });
    fs::write(scratch.0.join("failures.jsonl"), lines).unwrap();
    let dir = &scratch.0;
    let ran: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (1..=6).map(|template| scope.spawn(move || draft(dir, template, "acme.toml"))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let done = ran.iter().filter(|ran| ran.exit == 0).count();
    assert!(ran.iter().all(|ran| ran.exit == 0 || ran.err.contains("has changed since")), "{ran:?}");
    assert_eq!(fs::read_to_string(dir.join("acme.toml")).unwrap().matches("[[rule]]").count(), done);
    assert!(done > 0);
}

/// Where the schema's keys of a table stand, and a file whose only fault is an unknown key there.
const TABLES: [(&str, &str); 20] = [
    ("", "KEY = 1\n"),
    ("/properties/retry", "[retry]\nKEY = 1\n"),
    ("/properties/retry/properties/class/properties/overloaded", "[retry.class.overloaded]\nKEY = 1\n"),
    ("/properties/retry/properties/jitter/anyOf/1", "[retry]\njitter = { mode = \"full\", KEY = 1 }\n"),
    ("/properties/retry/properties/server_delay", "[retry]\nserver_delay = { KEY = 1 }\n"),
    ("/properties/context", "[context]\nKEY = 1\n"),
    ("/properties/retry/properties/budget", "[retry]\nbudget = { KEY = 1 }\n"),
    ("/properties/retry/properties/profile/additionalProperties", "[retry.profile.unattended]\nKEY = 1\n"),
    ("/properties/retry/properties/model/items", "[[retry.model]]\nmatch = \"*\"\nKEY = 1\n"),
    ("/properties/context/properties/usage/anyOf/0", "[context.usage]\nKEY = 1\n"),
    ("/properties/context/properties/usage/anyOf/1/items", "[[context.usage]]\nid = \"x\"\nKEY = 1\n"),
    ("/properties/context/properties/finish_reason", "[context.finish_reason]\nKEY = 1\n"),
    ("/properties/context/properties/model/items", "[[context.model]]\nmatch = \"*\"\nKEY = 1\n"),
    ("/properties/signals", "[signals]\nKEY = 1\n"),
    ("/properties/delay/items", "[[delay]]\nid = \"x\"\nheader = \"x\"\nKEY = 1\n"),
    ("/properties/delay/items/properties/only_if", "[[delay]]\nid = \"x\"\nheader = \"x\"\nonly_if = { header = \"y\", is = \"z\", KEY = 1 }\n"),
    ("/properties/rule/items", "[[rule]]\nid = \"x\"\nKEY = 1\n"),
    ("/properties/rule/items/properties/unless/anyOf/0", "[[rule]]\nid = \"x\"\nunless = { KEY = 1 }\n"),
    ("/properties/rule/items/properties/facts", "[[rule]]\nid = \"x\"\nfacts = { KEY = 1 }\n"),
    ("/properties/rule/items/properties/example/items", "[[rule]]\nid = \"x\"\n[[rule.example]]\nKEY = 1\n"),
];

fn schema() -> Value {
    serde_json::from_str(&run(&root(), "overspill schema", "").out).unwrap()
}

#[test]
fn the_schema_has_the_keys_that_the_reader_knows() {
    let schema = schema();
    let expect = ("/properties/rule/items/properties/example/items/properties/expect", "[[rule]]\nid = \"x\"\n[[rule.example]]\nexpect = { KEY = 1 }\n");
    for (pointer, text) in TABLES.into_iter().chain([expect]) {
        let text = format!("provider = \"acme\"\n{text}").replace("KEY", "qqqqqqqqqqqq");
        let text = if pointer.is_empty() { "qqqqqqqqqqqq = 1\nprovider = \"acme\"\n".to_owned() } else { text };
        let error = overspill::Ruleset::builder().text("x", "acme.toml", text).build().expect_err("an unknown key");
        let diagnostics = error.diagnostics().unwrap();
        let hint = diagnostics
            .iter()
            .find(|found| found.code() == overspill::Code::UnknownKey)
            .and_then(overspill::Diagnostic::hint)
            .unwrap_or_else(|| panic!("{pointer}: {diagnostics}"))
            .to_owned();
        let known: BTreeSet<_> = hint.strip_prefix("known keys: ").unwrap_or_else(|| panic!("{pointer}: {hint}")).split(", ").collect();
        let table = schema.pointer(pointer).unwrap_or_else(|| panic!("the schema has no {pointer}"));
        let keys: BTreeSet<_> = table["properties"].as_object().unwrap_or_else(|| panic!("{pointer}: {table}")).keys().map(String::as_str).collect();
        assert_eq!(keys, known, "{pointer}");
        assert_eq!(table["additionalProperties"], false, "{pointer}");
    }
}

#[test]
fn every_rule_file_follows_the_schema() {
    let schema = schema();
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    for entry in fs::read_dir(rules).unwrap() {
        let path = entry.unwrap().path();
        let file: Value = toml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let mut wrong = Vec::new();
        validate(&schema, &schema, &file, "$", &mut wrong);
        assert!(wrong.is_empty(), "{}: {wrong:#?}", path.display());
    }
    for (text, place) in
        [("provider = 1\n", "$.provider"), ("provider = \"x\"\nrul = []\n", "$.rul"), ("provider = \"x\"\n[[rule]]\nid = \"a\"\nclass = \"b\"\n", "$.rule.0.class")]
    {
        let file: Value = toml::from_str(text).unwrap();
        let mut wrong = Vec::new();
        validate(&schema, &schema, &file, "$", &mut wrong);
        assert!(wrong.iter().any(|wrong| wrong.starts_with(place)), "{text}: {wrong:?}");
    }
}

/// Tables with a value to be put in, and values: those that the reader takes and some that it refuses.
const VALUES: [(&str, &str); 17] = [
    (
        "[retry]\nmax_attempts = 1\ndeadline = \"VALUE\"",
        "0s|500ms|2s|+2s|5m|1h 30m|1h30m|1h, 30m|1h,30m|1h , 30m|1.5h|1,5s|1.5h 30m|2 seconds|2 sec|1 hr 5 mins|3 millis|3 msecs|3 micros|3us|3\u{b5}s|3ns|3 nanoseconds|PT5S|pt5s|PT1H30M|PT1.5S|PT1.5H3M|PT|P1D|\
         +PT5S|1:30|0:01:30|1:02:03.5|500|1d|2S|5M|1w|-2s|2s ago|2s 1h|2s 2s| 2s|2s |0:01:30 |PT5S |2 s|2sec onds|s|1.s|.5s|1.1234567891s|1.123456789s|5m,|5m, |soon||1h 2m 3s 4ms 5us 6ns|2seconds|2minute|2hour|2millisecond",
    ),
    ("[retry]\nmax_attempts = VALUE", "0|1|1000|1001|2.5|-1|\"5\""),
    ("[retry]\nfactor = VALUE", "0.5|1|1.0|100|101|\"2\""),
    ("[retry]\nbudget = { capacity = VALUE }", "0|0.5|1000000|1000001|-1"),
    ("[retry]\njitter = { mode = \"proportional\", ratio = VALUE }", "0|0.2|1|1.1|-0.1"),
    ("[retry]\nretryable = VALUE", "429|99|600|\"5xx\"|\"5XX\"|\"520-527\"|\"520 - 527\"|\"none\"|\"6xx\"|[429, \"5xx\"]|[]|true"),
    ("[status]\nVALUE = \"network\"", "429|600|\"5xx\"|\"520-527\"|none"),
    ("[context]\nreserved_tokens = VALUE", "0|20_000|-1|\"1k\"|1.5"),
    ("[context]\nusage = { input = \"VALUE\" }", "|/usage/input|usage|/a + /b|/|/a|/a/|/*/a|/a - /b|/a + b"),
    ("[context]\noccupies = VALUE", "\"input\"|[\"input\", \"cache_read\"]|[]|\"output\""),
    ("[[context.model]]\nwindow = 1\nmatch = \"VALUE\"", "gpt-*|*| |"),
    (RULE_WITH_FACT, "n_ctx|error.n_ctx|/error/n_ctx|$.n_ctx|errors[0].n_ctx|error..n_ctx||a, b"),
    (RULE_WITH_HEADER, "x-state|x_state|x state|x-state:|x-*|"),
    (RULE_WITH_SEEN, "2026-08|2026-8|2026-13|2026-00|2026-08-31|2026-08-32|2026-08-00|26-08|August"),
    (RULE_WITH_STATUS, "429|99|600|\"429\"|-1"),
    ("[[retry.model]]\nmatch = \"a\"\ncap = \"VALUE\"", "1m|PT1M|500"),
    ("aliases = [\"VALUE\"]", "azure-openai|a b||a.b/c_d"),
];

const RULE_WITH_SEEN: &str = "[[rule]]\nid = \"a\"\nclass = \"auth\"\nmessage = \"key is bad\"\nseen = \"VALUE\"\n[[rule.example]]\nmessage = \"key is bad\"";
const RULE_WITH_FACT: &str = "[[rule]]\nid = \"a\"\nclass = \"auth\"\nmessage = \"key is bad\"\nfacts = { limit = \"VALUE\" }\n[[rule.example]]\nmessage = \"key is bad\"";
const RULE_WITH_HEADER: &str =
    "[[rule]]\nid = \"a\"\nclass = \"auth\"\nheader = { \"VALUE\" = \"bad\" }\n[[rule.example]]\nheaders = { \"x-state\" = \"bad\", \"x_state\" = \"bad\" }";
const RULE_WITH_STATUS: &str = "[[rule]]\nid = \"a\"\nclass = \"auth\"\nmessage = \"key is bad\"\n[[rule.example]]\nmessage = \"key is bad\"\nstatus = VALUE";

#[test]
fn the_schema_takes_what_the_reader_takes() {
    let schema = schema();
    let mut wrong = Vec::new();
    for (table, values) in VALUES {
        for value in values.split('|') {
            let text = format!("provider = \"acme\"\n{}\n", table.replace("VALUE", value));
            let (_, found) = overspill::Ruleset::builder().without_embedded().text("a", "default.toml", "provider = \"default\"\n").text("x", "acme.toml", &text).check().unwrap();
            let file: Value = toml::from_str(&text).unwrap();
            let mut refused = Vec::new();
            validate(&schema, &schema, &file, "$", &mut refused);
            if found.has_errors() == refused.is_empty() {
                wrong.push(format!("{value:?} in {table:?}: the reader says {found}, the schema {refused:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// As much of JSON Schema as the schema uses.
fn validate(root: &Value, schema: &Value, value: &Value, place: &str, wrong: &mut Vec<String>) {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        return validate(root, root.pointer(reference.trim_start_matches('#')).unwrap(), value, place, wrong);
    }
    let mut complain = |what: String| wrong.push(format!("{place}: {what}"));
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        name => panic!("no type {name}"),
    };
    match schema.get("type") {
        Some(Value::String(name)) if !is(name) => complain(format!("is no {name}")),
        Some(Value::Array(names)) if !names.iter().any(|name| is(name.as_str().unwrap())) => complain("is of none of the types".to_owned()),
        _ => {}
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array)
        && !words.contains(value)
    {
        complain(format!("{value} is none of {words:?}"));
    }
    if let (Some(pattern), Some(text)) = (schema.get("pattern").and_then(Value::as_str), value.as_str())
        && !regex::Regex::new(pattern).unwrap().is_match(text)
    {
        complain(format!("{text} does not match {pattern}"));
    }
    if schema.pointer("/not/const").is_some_and(|refused| refused == value) {
        complain(format!("{value} is refused"));
    }
    let least = schema.get("minItems").and_then(Value::as_u64);
    if least.zip(value.as_array()).is_some_and(|(least, items)| (items.len() as u64) < least) {
        complain("has too few elements".to_owned());
    }
    for (key, holds) in [("minimum", f64::ge as fn(&f64, &f64) -> bool), ("maximum", f64::le)] {
        if let (Some(bound), Some(number)) = (schema.get(key).and_then(Value::as_f64), value.as_f64())
            && !holds(&number, &bound)
        {
            complain(format!("{number} is beyond the {key} {bound}"));
        }
    }
    for required in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
        if value.get(required.as_str().unwrap()).is_none() {
            complain(format!("lacks {required}"));
        }
    }
    if let Some(choices) = schema.get("anyOf").and_then(Value::as_array) {
        let attempts: Vec<_> = choices
            .iter()
            .map(|choice| {
                let mut wrong = Vec::new();
                validate(root, choice, value, place, &mut wrong);
                wrong
            })
            .collect();
        if attempts.iter().all(|attempt| !attempt.is_empty()) {
            wrong.extend(attempts.into_iter().flatten());
        }
    }
    for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        validate(root, part, value, place, wrong);
    }
    let inside = |key: &str, schema: &Value, value: &Value, wrong: &mut Vec<String>| validate(root, schema, value, &format!("{place}.{key}"), wrong);
    if let (Some(items), Some(values)) = (schema.get("items"), value.as_array()) {
        values.iter().enumerate().for_each(|(index, value)| inside(&index.to_string(), items, value, wrong));
    }
    if let (Some(table), true) = (value.as_object(), schema.get("type").is_some_and(|name| name == "object")) {
        for (key, value) in table {
            if let Some(names) = schema.get("propertyNames") {
                validate(root, names, &Value::String(key.clone()), &format!("{place}.{key}"), wrong);
            }
            match (schema.pointer(&format!("/properties/{key}")), schema.get("additionalProperties")) {
                (Some(schema), _) => inside(key, schema, value, wrong),
                (None, Some(Value::Bool(false))) => wrong.push(format!("{place}.{key}: is no key")),
                (None, Some(schema)) => inside(key, schema, value, wrong),
                (None, None) => {}
            }
        }
    }
}

/// The shell commands of the README's walk, which begins with what puts the command on the `PATH`.
fn walk(readme: &str) -> String {
    let (_, section) = readme.split_once("## From an unknown error to a tested rule").unwrap();
    let section = section.split("\n## ").next().unwrap();
    section.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// What the README says beside a command is in what the command prints; and the watching has the drafted rule.
#[cfg(unix)]
#[test]
fn the_walk_in_the_readme_works_as_it_is_copied() {
    use std::io::{BufRead as _, BufReader};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let walk = walk(&readme);
    let (build, rest) = walk.split_once("export PATH=\"$PWD/target/release:$PATH\"\n").unwrap();
    assert_eq!(build, "cargo build --release --features cli\n");
    // The watching goes on until it has told of the new rule.
    let (rest, _) = rest.split_once("kill $!").unwrap();
    let said: Vec<&str> = rest.lines().filter(|line| line.starts_with("overspill")).filter_map(|line| line.split_once(" # ")).map(|(_, said)| said.trim()).collect();
    let dir = std::env::temp_dir().join(format!("overspill-cli-{}-walk", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    let scratch = Scratch(dir);
    let path = format!("{}:{}", Path::new(PROGRAM).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let script = format!("{rest}\necho \"the watching is $!\"\n");
    let mut shell = Command::new("sh").arg("-c").arg(script).current_dir(&scratch.0).env("PATH", path).env("NO_COLOR", "1").stdout(Stdio::piped()).spawn().unwrap();
    let out = BufReader::new(shell.stdout.take().unwrap());
    let (sender, lines) = channel();
    std::thread::spawn(move || out.lines().map_while(Result::ok).for_each(|line| drop(sender.send(line))));
    let (mut text, mut watching, mut live) = (String::new(), None, false);
    while watching.is_none() || !live {
        let line = lines.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|_| panic!("the walk ends before the rule is live:\n{text}"));
        live |= line.contains("reloaded");
        if let Some(id) = line.strip_prefix("the watching is ") {
            watching = Some(id.to_owned());
        }
        writeln!(text, "{line}").unwrap();
    }
    assert!(Command::new("kill").arg(watching.unwrap()).status().unwrap().success());
    shell.wait().unwrap();
    let printed = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in ["invalid_request -> fail", "Shard '<quoted>' is on holiday until <n>", "0 errors, 0 warnings", "test result: ok", "invalid_request, fail -> overloaded, retry"]
    {
        assert!(said.iter().any(|said| said.contains(expected)), "the README does not say: {expected}");
        assert!(printed.contains(expected), "{expected}:\n{text}");
    }
    let shown = readme.split("```toml\n").map(|rest| rest.split("```").next().unwrap()).find(|block| block.contains("shard-is-on-holiday")).unwrap();
    let drafted = fs::read_to_string(scratch.0.join("my-rules/openai.toml")).unwrap();
    // The month is that of the draft.
    let undated = |text: &str| text.lines().filter(|line| !line.starts_with("seen")).collect::<Vec<_>>().join("\n");
    assert!(undated(&drafted).ends_with(undated(shown).trim_end()), "{drafted}");
}
