//! What following the files costs: from a save to the new verdict, what readers feel of reloads, how long many rules take, what memory is left behind.
//!
//! `cargo bench --features watch --bench reload` prints one line a figure, with its target, in about a minute.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and stops at the first surprise")]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use overspill::{Failure, Overspill, WatchMode, WatchOptions, Watching};

const BASE: &str = "provider = \"default\"\n[status]\n\"5xx\" = \"server_error\"\n";
const BODY: &[u8] = br#"{"error":{"message":"Rate limit reached for requests. Please try again in 6m0s.","code":"rate_limit_exceeded"}}"#;

fn main() {
    println!("{:<58} {:>12} {:>12}  {:<10}", "figure", "measured", "target", "");
    // First, while the allocator holds nothing for others.
    memory_after_many_reloads();
    save_to_verdict("a directory", WatchOptions::default().without_embedded(), BASE);
    save_to_verdict("over the embedded", WatchOptions::default(), "provider = \"default\"\n");
    readers_while_reloading();
    many_rules();
}

fn row(figure: &str, measured: &str, target: &str, met: bool) {
    println!("{figure:<58} {measured:>12} {target:>12}  {}", if met { "" } else { "MISSED" });
}

fn ms(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1000.0)
}

fn quantile(sorted: &[Duration], share: f64) -> Duration {
    sorted[((sorted.len() - 1) as f64 * share) as usize]
}

/// A file whose rule tells its number.
fn file(provider: &str, number: u64) -> String {
    format!("provider = \"{provider}\"\n[[rule]]\nid = \"r{number}\"\nclass = \"overloaded\"\nmessage = 'bench marker'\n[[rule.example]]\nstatus = 418\nmessage = 'bench marker'\n")
}

/// From the end of the write to the first verdict by the new rules: one small directory alone, and over the embedded rules, as most programs have it.
fn save_to_verdict(name: &str, options: WatchOptions, base: &str) {
    const SAVES: u64 = 100;
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("bench.toml");
    fs::write(temp.path().join("default.toml"), base).unwrap();
    fs::write(&path, file("bench", 0)).unwrap();
    let overspill = Overspill::watch_with([temp.path()], options).unwrap();
    assert_eq!(overspill.watcher().unwrap().status().watching, Watching::Native);
    let failure = Failure::http(418).provider("bench").message("bench marker");
    let save = |number: u64| {
        fs::write(&path, file("bench", number)).unwrap();
        let (saved, rule) = (Instant::now(), format!("bench/r{number}"));
        while overspill.evaluate(&failure).rule() != Some(&rule) {
            assert!(saved.elapsed() < Duration::from_secs(10), "the save was never heard of");
            thread::sleep(Duration::from_micros(500));
        }
        saved.elapsed()
    };
    let mut times: Vec<_> = (1..=SAVES).map(save).collect();
    times.sort_unstable();
    let rules = overspill.ruleset().rule_count();
    row(&format!("save -> new verdict, {name}, {rules} rules: p50"), &ms(quantile(&times, 0.5)), "", true);
    let worst = quantile(&times, 0.99);
    row(&format!("save -> new verdict, {name}, {rules} rules: p99"), &ms(worst), "< 250 ms", worst < Duration::from_millis(250));
}

/// One reader, alone and while another thread reloads ten times a second; the phases alternate, so that both meet the same machine. The rules are the base layer and three providers: all of the
/// embedded ones cannot be loaded ten times a second.
fn readers_while_reloading() {
    const ROUNDS: usize = 20;
    const PHASE: Duration = Duration::from_millis(500);
    let temp = tempfile::tempdir().unwrap();
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let base: toml::Table = toml::from_str(&fs::read_to_string(rules.join("default.toml")).unwrap()).unwrap();
    let extended = base["extends"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
    for name in extended.chain(["default", "openai-compatible", "openai", "anthropic-compatible", "anthropic"]) {
        let name = format!("{name}.toml");
        fs::copy(rules.join(&name), temp.path().join(&name)).unwrap();
    }
    let path = temp.path().join("bench.toml");
    fs::write(&path, file("bench", 0)).unwrap();
    // Only what is asked for: ten reloads a second are ten.
    let options = WatchOptions::default().without_embedded().mode(WatchMode::Poll).poll_every(Duration::from_secs(3600));
    let overspill = Overspill::watch_with([temp.path()], options).unwrap();
    let (mut idle, mut busy, mut number, mut took) = (Vec::new(), Vec::new(), 0, Vec::new());
    for _ in 0..ROUNDS {
        evaluate_for(&overspill, PHASE, &mut idle);
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let next = Instant::now() + Duration::from_millis(100);
                    number += 1;
                    fs::write(&path, file("bench", number)).unwrap();
                    took.push(overspill.watcher().unwrap().reload_now().unwrap().took);
                    thread::sleep(next.saturating_duration_since(Instant::now()));
                }
            });
            evaluate_for(&overspill, PHASE, &mut busy);
            stop.store(true, Ordering::Relaxed);
        });
    }
    let rules = overspill.ruleset().rule_count();
    [&mut idle, &mut busy, &mut took].into_iter().for_each(|times| times.sort_unstable());
    let (before, after) = (quantile(&idle, 0.999), quantile(&busy, 0.999));
    let us = |duration: Duration| format!("{:.1} us", duration.as_secs_f64() * 1e6);
    let rate = took.len() as f64 / (ROUNDS as f64 * PHASE.as_secs_f64());
    row("evaluate, idle: p50", &us(quantile(&idle, 0.5)), "", true);
    row(&format!("evaluate, {rate:.1} reloads a second: p50"), &us(quantile(&busy, 0.5)), "", true);
    row("evaluate, idle: p99.9", &us(before), "", true);
    row("evaluate, reloading: p99.9", &us(after), "", true);
    let ratio = after.as_secs_f64() / before.as_secs_f64();
    row("p99.9 reloading / idle", &format!("{ratio:.2}"), "<= 1.5", ratio <= 1.5);
    row(&format!("one reload of {rules} rules, still for 30 ms: p50"), &ms(quantile(&took, 0.5)), "", true);
}

fn evaluate_for(overspill: &Overspill, phase: Duration, times: &mut Vec<Duration>) {
    let failure = Failure::http(429).provider("openai").model("gpt-5").body(BODY);
    let end = Instant::now() + phase;
    loop {
        let start = Instant::now();
        if start >= end {
            return;
        }
        std::hint::black_box(overspill.evaluate(&failure));
        times.push(start.elapsed());
    }
}

/// 5,000 rules in 200 files.
fn many_rules() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("default.toml"), BASE).unwrap();
    for provider in 0..199 {
        write_many(temp.path(), provider, 0);
    }
    let options = WatchOptions::default().without_embedded().check_every(Duration::from_secs(3600));
    let overspill = Overspill::watch_with([temp.path()], options).unwrap();
    let watcher = overspill.watcher().unwrap();
    let rules = watcher.status().rules;
    let mut took: Vec<_> = (1..=5)
        .map(|round| {
            write_many(temp.path(), round, round);
            watcher.reload_now().unwrap().took
        })
        .collect();
    took.sort_unstable();
    let worst = took[took.len() - 1];
    row(&format!("reload of {rules} rules in {} files: worst of 5", watcher.status().files), &ms(worst), "< 2000 ms", worst < Duration::from_secs(2));
}

/// Rules as people write them: a few words and a number.
fn write_many(dir: &Path, provider: u64, round: u64) {
    const WORDS: [&str; 10] = ["context", "window", "quota", "tokens", "limit", "prompt", "request", "capacity", "model", "deployment"];
    let mut text = format!("provider = \"p{provider}\"\n# round {round}\n");
    for rule in 0..if provider < 25 { 26 } else { 25 } {
        let (a, b) = (WORDS[(rule % 10) as usize], WORDS[((rule / 10 + provider) % 10) as usize]);
        let number = provider * 100 + rule;
        text += &format!(
            "[[rule]]\nid = \"r{rule}\"\nclass = \"context_overflow\"\nstatus = [400, 413]\nmessage = '{a} {b} too large in case {number}\\b: (?<requested>\\d+) of (?<limit>\\d+)'\n"
        );
        text += &format!("[[rule.example]]\nstatus = 400\nmessage = 'The {a} {b} too large in case {number}: 5000 of 4000'\nexpect = {{ requested = 5000, limit = 4000 }}\n");
    }
    fs::write(dir.join(format!("p{provider}.toml")), text).unwrap();
}

/// The resident memory before and after, each with a full history, so that what is kept on purpose is in both.
fn memory_after_many_reloads() {
    const WARM: u64 = 200;
    const RELOADS: u64 = 1000;
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("default.toml"), BASE).unwrap();
    for provider in 0..8 {
        write_many(temp.path(), provider, 0);
    }
    let options = WatchOptions::default().without_embedded().quiet(Duration::ZERO).check_every(Duration::from_secs(3600));
    let overspill = Overspill::watch_with([temp.path()], options).unwrap();
    let watcher = overspill.watcher().unwrap();
    let reload = |round: u64| {
        write_many(temp.path(), 0, round);
        watcher.reload_now().unwrap();
    };
    // By then each pattern that examples search has the program that is made for speed, which it keeps.
    (1..=WARM).for_each(reload);
    let before = resident();
    (WARM + 1..=WARM + RELOADS).for_each(reload);
    let after = resident();
    let generation = watcher.status().generation;
    let (Some(before), Some(after)) = (before, after) else { return };
    let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / 1024.0 / 1024.0);
    row(&format!("memory after {WARM} reloads"), &mib(before), "", true);
    row(&format!("memory after {generation} generations"), &mib(after), "+10 %", after as f64 <= before as f64 * 1.1);
}

/// Resident bytes of this process, where the system tells.
fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}
