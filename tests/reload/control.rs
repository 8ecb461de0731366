//! Start, status, subscription, reload on demand, pin, roll back, the end.

use std::fs;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use overspill::{BrokenStart, Failure, Overspill, Version, WatchEventKind, WatchMode, WatchOptions, WatchStatus, Watcher, Watching};

use crate::support::{CALM, LIMIT, Place, Watched, file, fill, load, version_on_disk};

/// Nothing happens by itself: only what is asked for.
fn on_demand() -> WatchOptions {
    WatchOptions::default().mode(WatchMode::Poll).poll_every(Duration::from_secs(24 * 3600))
}

fn watcher(watch: &Watched) -> &Watcher {
    watch.overspill.watcher().unwrap()
}

fn status(watch: &Watched) -> WatchStatus {
    watcher(watch).status()
}

#[test]
fn it_refuses_to_start_on_wrong_rules() {
    let place = Place::new();
    fs::write(place.path("rules/a.toml"), "provider = \"a\"\nclas = 1\n").unwrap();
    let error = Watched::with(&[&place.path("rules")], WatchOptions::default()).err().unwrap();
    let checked = load(&[place.path("rules")]).unwrap_err();
    assert!(error.is_rejected());
    let lines = |error: &overspill::Error| error.diagnostics().unwrap().to_string();
    assert_eq!(lines(&error), lines(&checked), "a start judges as a check does");

    let missing = Watched::with(&[&place.path("missing")], WatchOptions::default()).err().unwrap();
    assert!(missing.is_io());
    assert!(Watched::with(&[], WatchOptions::default()).err().unwrap().to_string().contains("no rules directory"));
}

#[test]
fn it_can_start_on_the_embedded_rules_instead() {
    let place = Place::new();
    fs::write(place.path("rules/a.toml"), "provider = \"a\"\nclas = 1\n").unwrap();
    let watch = Watched::with(&[&place.path("rules")], WatchOptions::default().broken_start(BrokenStart::UseEmbedded)).unwrap();
    let event = watch.next();
    assert_eq!(event.kind, WatchEventKind::Rejected);
    assert_eq!(event.version, overspill::Ruleset::embedded().version());
    assert_eq!(event.diagnostics().unwrap().iter().next().unwrap().code().name(), "unknown-key");
    assert!(status(&watch).last_error.is_some() && status(&watch).failing_since.is_some() && status(&watch).content.is_none());
    fill(&place.path("rules"), 2);
    watch.holds_disk();
    assert!(status(&watch).last_error.is_none() && status(&watch).failing_since.is_none());

    let watch = Watched::with(&[&place.path("missing")], WatchOptions::default().broken_start(BrokenStart::UseEmbedded)).unwrap();
    fill(&place.path("missing"), 3);
    watch.holds_disk();
}

#[test]
fn the_same_wrong_content_is_compiled_once() {
    let place = Place::new();
    let watch = Watched::with(&[&place.path("rules")], WatchOptions::default().quiet(CALM)).unwrap();
    let wrong = "provider = \"a\"\n[retry]\nmax_attempts = 0\n";
    fs::write(place.path("rules/a.toml"), wrong).unwrap();
    watch.event(WatchEventKind::Rejected);
    assert_eq!(watch.compiled(), 2);
    // Written again, and asked for: the answer is known.
    fs::write(place.path("rules/a.toml"), wrong).unwrap();
    watch.event(WatchEventKind::Rejected);
    let error = watcher(&watch).reload_now().unwrap_err();
    assert_eq!(error.diagnostics().unwrap().iter().next().unwrap().code().name(), "invalid-value");
    assert_eq!(watch.compiled(), 2);
    // Taken back: what is in force is right again.
    fill(&place.path("rules"), 1);
    watch.event(WatchEventKind::Unchanged);
    assert!(status(&watch).last_error.is_none());
    assert_eq!((watch.compiled(), status(&watch).generation), (2, 1));
}

#[test]
fn reload_now_answers_with_the_outcome() {
    let place = Place::new();
    let watch = Watched::with(&[&place.path("rules")], on_demand()).unwrap();
    assert_eq!(watcher(&watch).reload_now().unwrap().kind, WatchEventKind::Unchanged);
    fill(&place.path("rules"), 2);
    let event = watcher(&watch).reload_now().unwrap();
    assert_eq!((event.kind, event.generation, event.version), (WatchEventKind::Reloaded, 2, version_on_disk(&watch.dirs)));
    fs::write(place.path("rules/b.toml"), "provider = ").unwrap();
    assert!(watcher(&watch).reload_now().unwrap_err().is_rejected());
    fs::rename(place.path("rules"), place.path("away")).unwrap();
    let lost = watcher(&watch).reload_now().unwrap_err().to_string();
    assert!(lost.contains("the rules directory cannot be read"), "{lost}");
    assert_eq!(watch.overspill.ruleset().version(), event.version);
    let kinds: Vec<_> = watch.drain().iter().map(|event| event.kind.name()).collect();
    assert_eq!(kinds, ["loaded", "unchanged", "reloaded", "rejected", "lost"]);
}

#[test]
fn the_status_tells_how_it_stands() {
    let place = Place::new();
    let watch = Watched::new(&place.path("rules"));
    let first = status(&watch);
    assert_eq!((first.generation, first.files, first.rules, first.pinned), (1, 2, 1, false));
    assert_eq!(first.version, watch.overspill.ruleset().version());
    assert_eq!(first.content.as_deref().map(str::len), Some(64));
    assert_eq!(first.watching, Watching::Native);
    assert_eq!(first.history.iter().map(|kept| kept.version).collect::<Vec<_>>(), [first.version]);
    fs::write(place.path("rules/b.toml"), file("b", 1)).unwrap();
    watch.holds_disk();
    let second = status(&watch);
    assert_eq!((second.generation, second.files, second.rules), (2, 3, 2));
    assert_ne!(second.content, first.content);
    assert!(second.loaded_at >= first.loaded_at && second.last_attempt >= second.loaded_at);
    let polled = Watched::with(&[&place.path("rules")], on_demand()).unwrap();
    assert_eq!(status(&polled).watching, Watching::Polling { reason: None });
    assert!(Overspill::embedded().watcher().is_none());
}

#[test]
fn good_rules_can_be_gone_back_to_and_pinned() {
    let place = Place::new();
    let watch = Watched::with(&[&place.path("rules")], on_demand()).unwrap();
    let mut versions = vec![watch.overspill.ruleset().version()];
    for number in 2..=12 {
        fill(&place.path("rules"), number);
        versions.push(watcher(&watch).reload_now().unwrap().version);
    }
    let kept = |watch: &Watched| status(watch).history.iter().map(|kept| kept.version).collect::<Vec<Version>>();
    let newest: Vec<_> = versions.iter().rev().take(8).copied().collect();
    assert_eq!(kept(&watch), newest, "the last eight, newest first");
    assert!(watcher(&watch).roll_back(versions[0]).unwrap_err().to_string().contains("is kept"));

    let event = watcher(&watch).roll_back(versions[9]).unwrap();
    assert_eq!((event.kind, event.version, event.pinned, event.generation), (WatchEventKind::Reloaded, versions[9], true, 13));
    assert_eq!(watch.overspill.ruleset().version(), versions[9]);
    // The files go on: they are judged and reported, but not in force.
    fill(&place.path("rules"), 13);
    let event = watcher(&watch).reload_now().unwrap();
    assert_eq!((event.kind, event.pinned, event.version), (WatchEventKind::Unchanged, true, versions[9]));
    assert_eq!(kept(&watch)[0], version_on_disk(&watch.dirs));
    fs::write(place.path("rules/b.toml"), "provider = ").unwrap();
    assert!(watcher(&watch).reload_now().unwrap_err().is_rejected());
    fs::remove_file(place.path("rules/b.toml")).unwrap();

    let event = watcher(&watch).unpin().unwrap();
    assert_eq!((event.kind, event.pinned, event.version), (WatchEventKind::Reloaded, false, version_on_disk(&watch.dirs)));

    assert!(watcher(&watch).pin().unwrap().pinned && status(&watch).pinned);
    assert_eq!(watcher(&watch).unpin().unwrap().kind, WatchEventKind::Unchanged);
    assert!(!status(&watch).pinned);
}

#[test]
fn subscribers_hear_of_everything_or_know_what_they_missed() {
    let place = Place::new();
    let watch = Watched::with(&[&place.path("rules")], on_demand()).unwrap();
    let (quick, slow, gone) = (watcher(&watch).subscribe(), watcher(&watch).subscribe(), watcher(&watch).subscribe());
    drop(gone);
    for _ in 0..100 {
        watcher(&watch).reload_now().unwrap();
        assert_eq!(quick.next_within(LIMIT).unwrap().kind, WatchEventKind::Unchanged);
    }
    assert_eq!((quick.missed(), slow.missed()), (0, 36));
    assert!(quick.try_next().is_none());
    drop(watch);
    assert!(quick.next().is_none(), "the stream ends with the watching");
    assert_eq!(std::iter::from_fn(|| slow.next()).count(), 64);
}

#[test]
fn the_last_clone_ends_the_watching() {
    let place = Place::new();
    let watch = Watched::new(&place.path("rules"));
    let events = watcher(&watch).subscribe();
    let clone = watch.overspill.clone();
    drop(watch);
    fill(&place.path("rules"), 2);
    assert_eq!(events.next_within(LIMIT).unwrap().kind, WatchEventKind::Reloaded, "a clone keeps it alive");
    let evaluated = clone.evaluate(&Failure::http(429).provider("a").message("marker 2 of a"));
    assert_eq!(evaluated.rule(), Some("a/r2"));
    drop(clone);
    assert!(events.next().is_none());
}

#[test]
fn old_rules_are_freed_when_their_last_reader_is_done() {
    let place = Place::new();
    let watch = Watched::with(&[&place.path("rules")], on_demand()).unwrap();
    let reader = watch.overspill.ruleset();
    let (held, first) = (Arc::downgrade(&reader), Arc::downgrade(&reader));
    for number in 2..=12 {
        fill(&place.path("rules"), number);
        watcher(&watch).reload_now().unwrap();
    }
    assert_eq!(held.strong_count(), 2, "the reloader keeps what a reader holds, so that the reader does not have to free it");
    drop(reader);
    // It is freed at the next turn; the second request comes after it.
    watcher(&watch).reload_now().unwrap();
    watcher(&watch).reload_now().unwrap();
    assert!(first.upgrade().is_none());
}

#[test]
fn a_bad_callback_does_no_harm() {
    let place = Place::new();
    let own: Arc<OnceLock<Overspill>> = Arc::default();
    let (inner, answers) = (Arc::clone(&own), Arc::new(OnceLock::new()));
    let answer = Arc::clone(&answers);
    let options = WatchOptions::default().without_embedded().on_event(move |event| {
        if let Some(overspill) = inner.get() {
            // It cannot wait for itself, and is told so.
            let _ = answer.set(overspill.watcher().unwrap().reload_now().unwrap_err().to_string());
            panic!("{event}");
        }
    });
    let overspill = own.get_or_init(|| Overspill::watch_with([place.path("rules")], options).unwrap());
    let events = overspill.watcher().unwrap().subscribe();
    for number in 2..=3 {
        fill(&place.path("rules"), number);
        assert_eq!(events.next_within(LIMIT).unwrap().generation, number);
    }
    assert!(answers.get().unwrap().contains("cannot wait for itself"));
}

#[test]
fn a_directory_may_be_named_from_here() {
    let place = Place::new();
    let up: std::path::PathBuf = std::env::current_dir().unwrap().components().skip(1).map(|_| "..").collect();
    let dir = up.join(place.path("rules").strip_prefix("/").unwrap());
    let watch = Watched::new(&dir);
    fill(&place.path("rules"), 2);
    watch.holds_disk();
}

#[test]
fn the_files_are_layers_over_the_embedded_rules() {
    let place = Place::new();
    fs::write(place.path("anthropic.toml"), "provider = \"anthropic\"\n[retry]\nmax_attempts = 3\n").unwrap();
    let overspill = Overspill::watch([place.root()]).unwrap();
    let ruleset = overspill.ruleset();
    assert_eq!(ruleset.retry_policy(Some("anthropic"), None).max_attempts.get(), 3);
    assert!(ruleset.rule_count() == overspill::Ruleset::embedded().rule_count());
}
