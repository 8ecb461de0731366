//! Data goes one way: a module uses only those that `src/lib.rs` declares before it.
//!
//! Also what follows from it: the core reads no clock and no file and starts no thread, and only the command line prints.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

/// Uses against the flow, each with its reason. The list is to get shorter.
const EXCEPTIONS: [(&str, &str, &str); 4] = [
    ("model", "delay", "a `[[delay]]` form's unit is the one that the grammar of waits knows"),
    ("ruleset", "delay", "the compiled forms of waits are a part of the ruleset, their reading is the delay's affair"),
    ("ruleset", "eval", "a ruleset is only built when its rules win their examples"),
    ("ruleset", "verdict", "what an example says is compared with a verdict"),
];

/// Modules that compute and do nothing else.
const PURE: [&str; 15] = ["class", "status", "diagnostic", "error", "policy", "failure", "signals", "usage", "model", "config", "ruleset", "delay", "verdict", "eval", "context"];

/// What a pure module does not mention, with what it would be.
const IMPURE: [(&str, &str); 11] = [
    ("std::fs", "files"),
    ("fs::read", "files"),
    ("std::net", "network"),
    ("std::env", "the environment"),
    ("std::process", "processes"),
    ("std::thread", "threads"),
    ("tokio", "a runtime"),
    ("Instant::now", "a clock"),
    ("SystemTime", "a clock"),
    ("Timestamp::now", "a clock"),
    ("rand::rng", "chance"),
];

static USE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\bcrate::(\{|\w+)").expect("a pattern"));
static PRINT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b(?:e?print(?:ln)?|dbg)!|\bstd(?:out|err)\(").expect("a pattern"));

/// A source file of the library: the module it belongs to, its path below `src/`, its lines of code.
struct File {
    module: String,
    path: String,
    lines: Vec<(usize, String)>,
}

#[test]
fn modules_use_only_those_before_them() {
    let order = order();
    let place = |module: &str| order.iter().position(|known| known == module);
    let (mut wrong, mut needed) = (Vec::new(), BTreeSet::new());
    for File { module, path, lines } in library() {
        for (number, line) in lines {
            for used in USE.captures_iter(&line).map(|captures| captures[1].to_owned()) {
                let exception = EXCEPTIONS.iter().find(|(by, of, _)| *by == module && *of == used);
                match place(&used) {
                    None => wrong.push(format!("src/{path}:{number}: name the module that `{used}` belongs to: {line}")),
                    Some(place_used) if Some(place_used) <= place(&module) => {}
                    Some(_) => match exception {
                        Some((by, of, _)) => _ = needed.insert((*by, *of)),
                        None => wrong.push(format!("src/{path}:{number}: {module} uses {used}, which comes after it: {line}")),
                    },
                }
            }
        }
    }
    assert!(wrong.is_empty(), "against the flow {}:\n{}", order.join(" -> "), wrong.join("\n"));
    let idle: Vec<_> = EXCEPTIONS.iter().filter(|(by, of, _)| !needed.contains(&(*by, *of))).collect();
    assert!(idle.is_empty(), "exceptions that nobody needs any more: {idle:?}");
}

#[test]
fn every_module_has_its_place() {
    let order = order();
    let on_disk: BTreeSet<String> = library().into_iter().map(|file| file.module).collect();
    assert_eq!(order.iter().cloned().collect::<BTreeSet<_>>(), on_disk, "modules in src/lib.rs and in src/");
    assert!(PURE.iter().all(|module| order.iter().any(|known| known == module)), "a pure module is gone");
}

#[test]
fn the_core_computes_and_does_nothing_else() {
    let mut wrong = Vec::new();
    for File { module, path, lines } in library().into_iter().filter(|file| PURE.contains(&file.module.as_str())) {
        for (number, line) in lines {
            let found = IMPURE.iter().filter(|(word, _)| line.contains(word));
            wrong.extend(found.map(|(_, what)| format!("src/{path}:{number}: {module} uses {what}: {line}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_the_command_line_prints() {
    let prints = |file: File| {
        let lines = file.lines.into_iter().filter(|(_, line)| PRINT.is_match(line));
        lines.map(move |(number, line)| format!("src/{}:{number}: {line}", file.path)).collect::<Vec<_>>()
    };
    let wrong: Vec<String> = library().into_iter().flat_map(prints).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The modules in the order in which `src/lib.rs` declares them.
fn order() -> Vec<String> {
    let declaration = Regex::new(r"(?m)^(?:pub )?mod (\w+);").expect("a pattern");
    declaration.captures_iter(&read(&source_dir().join("lib.rs"))).map(|captures| captures[1].to_owned()).collect()
}

/// Every file of the library but `lib.rs`, without comments.
fn library() -> Vec<File> {
    let root = source_dir();
    let files = rust_files(&root).into_iter().filter_map(|path| {
        let relative = path.strip_prefix(&root).expect("a file below src").to_owned();
        let module = relative.components().next()?.as_os_str().to_str()?.trim_end_matches(".rs").to_owned();
        let code = |(index, line): (usize, &str)| (!line.trim_start().starts_with("//")).then(|| (index + 1, line.trim().to_owned()));
        let lines = read(&path).lines().enumerate().filter_map(code).collect();
        (!matches!(module.as_str(), "lib" | "bin")).then(|| File { module, path: relative.to_string_lossy().replace('\\', "/"), lines })
    });
    files.collect()
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
        .into_iter()
        .flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

fn source_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
