//! `overspill watch`: one object an event, by the names that other programs rely on.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::Value;

use crate::support::{LIMIT, Place, fill, version_on_disk};

const KEYS: [&str; 8] = ["event", "at", "took_ms", "ruleset", "rules", "diagnostics", "generation", "error"];

/// The program, ended with the test whatever happens.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(arguments: &[&str]) -> (Running, Receiver<String>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_overspill"));
    let mut child = command.args(["watch", "--no-embedded", "--quiet-ms", "400"]).args(arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let (sender, lines) = channel();
    std::thread::spawn(move || out.lines().map_while(Result::ok).for_each(|line| drop(sender.send(line))));
    (Running(child), lines)
}

fn next(lines: &Receiver<String>) -> Value {
    let event: Value = serde_json::from_str(&lines.recv_timeout(LIMIT).unwrap()).unwrap();
    assert_eq!(event.as_object().unwrap().keys().collect::<Vec<_>>(), KEYS);
    event
}

#[test]
fn events_are_objects_as_they_happen() {
    let place = Place::new();
    let dir = place.path("rules");
    let (mut running, lines) = start(&["--format", "json", "--events", "6", dir.to_str().unwrap()]);
    let version = || version_on_disk(std::slice::from_ref(&dir)).to_string();
    let loaded = next(&lines);
    assert_eq!((&loaded["event"], &loaded["ruleset"], &loaded["rules"], &loaded["diagnostics"]), (&"loaded".into(), &version().into(), &1.into(), &Value::Array(vec![])));

    fill(&dir, 2);
    let reloaded = next(&lines);
    let in_force = version();
    assert_eq!((&reloaded["event"], &reloaded["ruleset"], &reloaded["generation"]), (&"reloaded".into(), &in_force.clone().into(), &2.into()));

    fs::write(dir.join("a.toml"), "provider = \"a\"\ncolour = \"red\"\n").unwrap();
    let rejected = next(&lines);
    assert_eq!((&rejected["event"], &rejected["ruleset"], &rejected["error"]), (&"rejected".into(), &in_force.clone().into(), &Value::Null));
    let finding = &rejected["diagnostics"][0];
    assert_eq!((&finding["severity"], &finding["code"], &finding["line"], &finding["column"]), (&"error".into(), &"unknown-key".into(), &2.into(), &1.into()));
    assert!(finding["file"].as_str().unwrap().ends_with("rules/a.toml") && finding["message"].is_string() && finding["hint"].is_string());

    fs::rename(&dir, place.path("away")).unwrap();
    assert_eq!(next(&lines)["event"], "lost");
    fill(&place.path("away"), 2);
    fs::rename(place.path("away"), &dir).unwrap();
    assert_eq!(next(&lines)["event"], "found");
    let unchanged = next(&lines);
    assert_eq!((&unchanged["event"], &unchanged["ruleset"]), (&"unchanged".into(), &in_force.into()));
    assert_eq!(running.0.wait().unwrap().code(), Some(0), "the last event was a good one");
}

#[test]
fn a_wrong_start_is_told_and_refused() {
    let place = Place::new();
    fs::write(place.path("rules/a.toml"), "provider = \"a\"\ncolour = \"red\"\n").unwrap();
    let (mut running, lines) = start(&["--format", "json", place.path("rules").to_str().unwrap()]);
    let event: Value = serde_json::from_str(&lines.recv_timeout(LIMIT).unwrap()).unwrap();
    assert_eq!((&event["event"], &event["ruleset"], &event["diagnostics"][0]["code"]), (&"rejected".into(), &Value::Null, &"unknown-key".into()));
    assert_eq!(running.0.wait().unwrap().code(), Some(1));
    let (mut running, _lines) = start(&[]);
    assert_eq!(running.0.wait().unwrap().code(), Some(2));
}
