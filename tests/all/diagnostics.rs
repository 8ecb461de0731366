//! Every kind of mistake in a rule file, and what is said about it.
//!
//! `tests/diagnostics/<topic>/<mistake>.toml` is a file with a mistake, `<mistake>.expected` what is said. A directory in the place of the file is a whole layer. By the topic:
//!
//! | topic | loaded over |
//! |---|---|
//! | `base` | is no case: the layer under the others |
//! | `alone` | nothing |
//! | `embedded` | the embedded rules |
//! | `bytes` | `base`; the files are made here, since an editor or Git would mend them |
//! | any other | `base` |
//!
//! Of each finding the one-line form is written down, and below it the marked text of the file, since a good sentence at the wrong place is a bad finding.
//!
//! After a change that is meant, `OVERSPILL_BLESS=1 cargo test diagnostics` writes the expected texts anew; then read the difference as somebody who has never seen the project.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use overspill::{Code, Diagnostics, Ruleset, RulesetBuilder};

/// Findings that no case shows, each with the reason.
const NOT_SHOWN: [(Code, &str); 3] = [
    (Code::Unreadable, "is shown below, by a link to nowhere: the text of the system differs"),
    (Code::RulesetTooLarge, "takes thousands of rules"),
    (Code::MoreErrors, "takes hundreds of errors, below"),
];

#[test]
fn mistakes_are_met_with_a_place_a_sentence_and_a_hint() {
    let cases = cases().into_iter().map(|case| (case.with_extension("expected"), load(&case)));
    judge(cases);
}

#[test]
fn every_code_is_shown_by_some_case() {
    let expected = files(&root()).into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "expected"));
    let shown: String = expected.map(|path| read(&path)).collect();
    let missing: Vec<_> = Code::ALL.iter().filter(|code| !shown.contains(&format!("[{code}]"))).copied().collect();
    let known: Vec<_> = NOT_SHOWN.iter().map(|(code, _)| *code).collect();
    let unexpected: Vec<_> = missing.iter().filter(|code| !known.contains(code)).collect();
    assert!(unexpected.is_empty(), "no case shows {unexpected:?}");
    assert!(known.iter().all(|code| missing.contains(code)), "shown after all: {known:?}");
}

#[test]
fn no_mistake_is_missed_or_told_twice_or_without_a_hint() {
    for case in cases() {
        let (Ok(diagnostics) | Err(diagnostics)) = load(&case);
        assert!(!diagnostics.is_empty(), "{}: the mistake is missed", case.display());
        let mut said = BTreeSet::new();
        for diagnostic in diagnostics.iter() {
            assert!(said.insert(diagnostic.to_string()), "{}: said twice: {diagnostic}", case.display());
            assert!(diagnostic.hint().is_some(), "{}: no hint: {diagnostic}", case.display());
        }
    }
}

#[test]
fn files_that_are_no_text_are_met_likewise() {
    let large = format!("provider = \"other\"\n# {}\n", "x".repeat(1024 * 1024));
    let cases: [(&str, &[u8]); 11] = [
        ("byte-order-mark", b"\xef\xbb\xbfprovider = \"other\"\n"),
        ("byte-order-mark-and-more", b"\xef\xbb\xbfprovider = \"other\"\n[retry]\nbase = \"soon\"\ncolour = \"red\"\n"),
        ("nul", b"provider = \"other\"\n\n# a\0b\n"),
        (
            "not-utf-8-in-a-long-line",
            b"provider = \"other\"\n[retry]\n# \xc3\xa9 \xfcber, und so weiter, und so weiter, und so weiter, und so weiter, und so weiter, und so weiter\nbase = \"1s\"\n",
        ),
        ("not-utf-8", b"provider = \"other\"\n\n# caf\xe9\n"),
        ("utf-16", b"p\0r\0o\0v\0i\0d\0e\0r\0"),
        ("too-large", large.as_bytes()),
        ("line-ends-of-windows", b"provider = \"other\"\r\n\r\n[retry]\r\nbase = \"1s\"\r\ncolour = \"red\"\r\n"),
        ("line-ends-of-old-macs", b"provider = \"other\"\r\r[retry]\rbase = \"1s\"\rcolour = \"red\"\r"),
        ("nothing-at-all", b""),
        ("characters-count-not-bytes", "provider = \"other\" # 超过\n[retry]\nfactor = 2.0 #\u{1f980}\n\"上下文\" = 1\n".as_bytes()),
    ];
    let cases = cases.into_iter().map(|(name, bytes)| {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("diagnostics").join(name);
        fs::create_dir_all(&dir).and_then(|()| fs::write(dir.join("other.toml"), bytes)).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
        (root().join("bytes").join(name).with_extension("expected"), finish(over_base().directory(&dir)))
    });
    judge(cases);
}

#[test]
fn of_a_file_that_is_no_rule_file_only_the_first_errors_are_told() {
    for line in ["x = 5 apples\n", "a = 1\n", "// no comment\n", "]\n", "unknown-%d = 1\n", "[[rule]]\n"] {
        let lines: String = (0..3_000).map(|number| line.replace("%d", &number.to_string())).collect();
        let (Ok(found) | Err(found)) = finish(over_base().text("mine", "other.toml", format!("provider = \"other\"\n[retry]\n{lines}")));
        let said: Vec<_> = found.iter().collect();
        let last = said.last().map(|last| (last.code(), last.message().to_owned())).expect("there are errors");
        assert!(said.len() == 101 && last.0 == Code::MoreErrors, "{line}: {} findings, the last {last:?}", said.len());
        assert!(last.1.starts_with("there are 2") && last.1.contains(" more errors"), "{line}: {last:?}");
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_met_likewise() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("diagnostics/a-link-to-nowhere");
    let link = dir.join("other.toml");
    let _ = fs::remove_file(&link);
    fs::create_dir_all(&dir).and_then(|()| std::os::unix::fs::symlink("nowhere.toml", &link)).unwrap_or_else(|error| panic!("{}: {error}", link.display()));
    let said = finish(over_base().directory(&dir)).expect_err("a link to nowhere is a mistake").to_string();
    assert!(said.contains("other.toml:1:1: error[unreadable-file]: the file cannot be read: No such file"), "{said}");
}

#[test]
fn a_broad_rule_over_the_embedded_ones_is_told_once_and_at_itself() {
    let broad = "provider = \"acme\"\n[[rule]]\nid = \"tokens\"\nclass = \"context_overflow\"\nmessage = 'tokens'\n[[rule.example]]\nmessage = \"so many tokens\"\n";
    let (Ok(found) | Err(found)) = finish(Ruleset::builder().text("mine", "acme.toml", broad));
    let told: Vec<_> = found.iter().filter(|found| found.code() == Code::Contradicted).collect();
    assert!(found.iter().all(|found| found.file() == "mine/acme.toml"), "{found}");
    assert!(told.len() == 1 && told[0].position().line == 2 && told[0].message().matches("embedded/").count() == 3, "{found}");
}

#[test]
fn names_of_later_layers_make_no_slip_of_earlier_ones() {
    let first = "provider = \"first\"\n[retry.profile.nightly]\nmax_attempts = 2\n\
        [[rule]]\nid = \"a\"\nclass = \"auth\"\nmessage = 'key is bad'\n[[rule.example]]\nprovider = \"secondd\"\nmessage = \"key is bad\"\n";
    let second = "provider = \"second\"\n[[rule]]\nid = \"b\"\nclass = \"auth\"\nmessage = 'token is bad'\n[[rule.example]]\nmessage = \"token is bad\"\n";
    let profile = "provider = \"default\"\n[retry.profile.nightlyy]\nmax_attempts = 2\n";
    let both = |texts: [(&'static str, &'static str); 3]| texts.into_iter().fold(over_base(), |builder, (layer, text)| builder.text(layer, "x.toml", text));
    let said = |builder| match finish(builder) {
        Ok(found) | Err(found) => found.iter().filter(|found| found.code() == Code::MisspeltName).map(|found| found.to_string()).collect::<Vec<_>>(),
    };
    let told = said(both([("1", first), ("2", second), ("3", profile)]));
    assert!(told.len() == 1 && told[0].starts_with("3/x.toml:2:16") && told[0].contains("nightly]"), "{told:?}");
    let told = said(both([("1", second), ("2", profile), ("3", first)]));
    assert!(told.len() == 2 && told.iter().all(|told| told.starts_with("3/")), "{told:?}");
}

#[test]
fn a_directory_that_is_not_there_is_no_empty_layer() {
    let error = over_base().directory("tests/diagnostics/nowhere").build().expect_err("a missing directory is a mistake");
    assert!(error.is_io() && error.diagnostics().is_none());
    assert_eq!(error.to_string(), "cannot read the rules directory tests/diagnostics/nowhere");
    let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    assert!(cause.starts_with("No such file"), "{cause}");
}

/// Compares what is said with what is written down, or writes it down.
fn judge(cases: impl Iterator<Item = (PathBuf, Result<Diagnostics, Diagnostics>)>) {
    let bless = std::env::var_os("OVERSPILL_BLESS").is_some();
    let mut wrong = Vec::new();
    for (path, result) in cases {
        let said = tell(&result);
        if bless {
            fs::create_dir_all(path.parent().expect("a directory")).and_then(|()| fs::write(&path, &said)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        } else if fs::read_to_string(&path).ok().as_ref() != Some(&said) {
            wrong.push(format!("{}\n--- expected\n{}--- said\n{said}", path.display(), fs::read_to_string(&path).unwrap_or_default()));
        }
    }
    assert!(wrong.is_empty(), "{} differ; OVERSPILL_BLESS=1 writes them anew\n{}", wrong.len(), wrong.join("\n"));
}

/// Each finding in one line, and under it the marked pieces of the file.
fn tell(result: &Result<Diagnostics, Diagnostics>) -> String {
    let (Ok(diagnostics) | Err(diagnostics)) = result;
    if diagnostics.is_empty() {
        return "nothing to say\n".to_owned();
    }
    let temporary = format!("{}/", env!("CARGO_TARGET_TMPDIR"));
    let mut said = String::new();
    for diagnostic in diagnostics.iter() {
        said += &format!("{diagnostic}\n").replace(&temporary, "");
        for label in diagnostic.labels() {
            let marked = label.source.get(label.range.clone()).unwrap_or("?");
            let first = marked.lines().next().unwrap_or_default();
            let shown: String = first.chars().take(70).collect();
            let more = if shown.len() < marked.len() { " ..." } else { "" };
            said += format!("    |{shown}|{more} {}", label.text).trim_end();
            said += "\n";
        }
    }
    said
}

/// What is doubtful when the rules are in force, else why they are refused and what is doubtful besides.
fn finish(builder: RulesetBuilder) -> Result<Diagnostics, Diagnostics> {
    match builder.check() {
        Ok((Some(_), diagnostics)) => Ok(diagnostics),
        Ok((None, diagnostics)) => Err(diagnostics),
        Err(error) => panic!("{error}"),
    }
}

fn load(case: &Path) -> Result<Diagnostics, Diagnostics> {
    let topic = case.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    let builder = match topic {
        Some("alone") => Ruleset::builder().without_embedded(),
        Some("embedded") => Ruleset::builder(),
        _ => over_base(),
    };
    if case.is_dir() {
        return finish(builder.directory(case.strip_prefix(env!("CARGO_MANIFEST_DIR")).expect("a path of the package")));
    }
    let file = case.file_name().expect("a name").to_string_lossy();
    finish(builder.text(topic.expect("a topic"), file, read(case)))
}

fn over_base() -> RulesetBuilder {
    Ruleset::builder().without_embedded().directory("tests/diagnostics/base")
}

/// Files and directories of all topics, by name.
fn cases() -> Vec<PathBuf> {
    let topics = entries(&root()).into_iter().filter(|topic| topic.is_dir() && !topic.ends_with("base") && !topic.ends_with("bytes"));
    let cases: Vec<_> = topics.flat_map(|topic| entries(&topic)).filter(|path| path.is_dir() || path.extension().is_some_and(|extension| extension == "toml")).collect();
    assert!(cases.len() > 60, "only {} cases are found", cases.len());
    cases
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics")
}

fn files(dir: &Path) -> Vec<PathBuf> {
    entries(dir).into_iter().flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn what_unwrap_prints_is_for_people() {
    let broken = Ruleset::builder().without_embedded().text("rules", "default.toml", "provider = 3").build();
    let printed = broken.err().map(|error| format!("{error:?}")).unwrap_or_default();
    assert!(printed.starts_with("the rules are refused:") && printed.contains("rules/default.toml:1:12") && printed.len() < 1000, "{printed}");
}
