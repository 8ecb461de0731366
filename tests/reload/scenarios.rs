//! Every way in which rule files change.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use overspill::{WatchEventKind, WatchMode, WatchOptions};

use crate::support::{CALM, DEFAULT, Place, Watched, file, fill, load, version_on_disk};

/// What must come of a change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comes {
    /// The engine holds what is on disk.
    Taken,
    /// The rules in force stay, with a finding of this code.
    Refused(&'static str),
    /// The directory is reported as lost.
    Lost,
    /// Nothing has changed.
    Nothing,
}

use Comes::{Lost, Nothing, Refused, Taken};

struct Scenario {
    name: &'static str,
    /// What is watched, below the place's root.
    watched: &'static str,
    /// Makes the place what it is before the change.
    before: fn(&Path),
    change: fn(&Path),
    comes: Comes,
}

const fn scenario(name: &'static str, change: fn(&Path), comes: Comes) -> Scenario {
    Scenario { name, watched: "rules", before: |_| {}, change, comes }
}

const fn elsewhere(name: &'static str, watched: &'static str, before: fn(&Path), change: fn(&Path), comes: Comes) -> Scenario {
    Scenario { name, watched, before, change, comes }
}

const SCENARIOS: &[Scenario] = &[
    scenario("vim: a swap file, the old file renamed to a backup, a new one written, the backup deleted", vim, Taken),
    scenario("VS Code: truncated and written in place", |root| fs::write(root.join("rules/a.toml"), file("a", 2)).unwrap(), Taken),
    scenario("nano: a backup copied, then written in place", nano, Taken),
    scenario("emacs: a lock that is a dangling link, a backup, an autosave", emacs, Taken),
    scenario("sed -i: a temporary file renamed over it", sed, Taken),
    scenario("written in pieces", in_pieces, Taken),
    scenario("git checkout: several files unlinked and made again, one added, one removed", checkout, Taken),
    scenario("rsync: hidden temporary files renamed", rsync, Taken),
    scenario("one file more", |root| fs::write(root.join("rules/b.toml"), file("b", 1)).unwrap(), Taken),
    scenario("one file less", |root| fs::remove_file(root.join("rules/a.toml")).unwrap(), Taken),
    scenario("a name that is not UTF-8", |root| fs::write(root.join("rules").join(OsStr::from_bytes(b"b\xff.toml")), file("b", 1)).unwrap(), Taken),
    scenario("the directory deleted and made again", again, Taken),
    scenario("the directory renamed away and replaced", replaced, Taken),
    scenario("a FIFO beside the files", |root| (mkfifo(&root.join("rules/fifo.toml")), fill(&root.join("rules"), 2)).1, Taken),
    scenario("a device beside the files", |root| (symlink("/dev/zero", root.join("rules/zero.toml")).unwrap(), fill(&root.join("rules"), 2)).1, Taken),
    scenario("a link in a circle beside the files", |root| (symlink("loop.toml", root.join("rules/loop.toml")).unwrap(), fill(&root.join("rules"), 2)).1, Taken),
    scenario("a directory that is called as a file", |root| (fs::create_dir(root.join("rules/d.toml")).unwrap(), fill(&root.join("rules"), 2)).1, Taken),
    elsewhere("ConfigMap: ..data switched to another directory", "mount", config_map, |root| config_map_swap(root, 2), Taken),
    elsewhere("ConfigMap: two swaps at once", "mount", config_map, |root| (config_map_swap(root, 2), config_map_swap(root, 3)).1, Taken),
    elsewhere("a symbolic link to the directory switched", "current", releases, |root| switch(root, "v2"), Taken),
    elsewhere("a symbolic link on the way to the directory switched", "current/rules", releases, |root| switch(root, "v2"), Taken),
    elsewhere("the target of a file's link edited, far from the directory", "rules", linked_file, |root| fs::write(root.join("far/b.toml"), file("b", 2)).unwrap(), Taken),
    elsewhere("the directory that holds the directory replaced", "v1/rules", releases, parent_replaced, Taken),
    scenario("touched", |root| touch(&root.join("rules/a.toml")), Nothing),
    scenario("the same text written again", |root| fill(&root.join("rules"), 1), Nothing),
    scenario("not TOML", |root| fs::write(root.join("rules/a.toml"), "provider = \n").unwrap(), Refused("toml-syntax")),
    scenario("half a file that stays", |root| fs::write(root.join("rules/a.toml"), &file("a", 2)[..60]).unwrap(), Refused("toml-syntax")),
    scenario("an empty file that stays", |root| fs::write(root.join("rules/a.toml"), "").unwrap(), Refused("missing-key")),
    scenario(
        "an example that its rule does not win",
        |root| fs::write(root.join("rules/a.toml"), file("a", 2).replace("of a'\n[[", "of b'\n[[")).unwrap(),
        Refused("example-fails"),
    ),
    scenario("not UTF-8", |root| fs::write(root.join("rules/a.toml"), b"provider = \"\xff\"").unwrap(), Refused("not-utf-8")),
    scenario("a file of 100 MB", |root| File::create(root.join("rules/big.toml")).unwrap().set_len(100 << 20).unwrap(), Refused("file-too-large")),
    scenario("a link that leads nowhere", |root| symlink("gone", root.join("rules/b.toml")).unwrap(), Refused("unreadable-file")),
    scenario("no file left", |root| fs::read_dir(root.join("rules")).unwrap().for_each(|entry| fs::remove_file(entry.unwrap().path()).unwrap()), Refused("no-rule-files")),
    scenario("no file left but a FIFO", only_a_fifo, Refused("no-rule-files")),
    scenario("the directory deleted", |root| fs::remove_dir_all(root.join("rules")).unwrap(), Lost),
    scenario("the directory renamed away", |root| fs::rename(root.join("rules"), root.join("old")).unwrap(), Lost),
    scenario("a file where the directory was", |root| (fs::remove_dir_all(root.join("rules")).unwrap(), fs::write(root.join("rules"), "").unwrap()).1, Lost),
    elsewhere("the link to the directory switched into the void", "current", releases, |root| switch(root, "v9"), Lost),
    elsewhere("the link to the directory made a circle", "current", releases, |root| switch(root, "current"), Lost),
];

#[test]
fn every_change_is_heard_of_and_taken_up_or_refused_as_a_whole() {
    play(&WatchOptions::default().quiet(CALM));
}

#[test]
fn polling_finds_the_same() {
    play(&WatchOptions::default().quiet(CALM).mode(WatchMode::Poll).poll_every(std::time::Duration::from_millis(20)));
}

/// Plays all scenarios at once: each waits most of its time.
fn play(options: &WatchOptions) {
    std::thread::scope(|scope| {
        let playing: Vec<_> = SCENARIOS.iter().map(|scenario| (scenario.name, scope.spawn(move || play_one(scenario, options.clone())))).collect();
        let failed: Vec<_> = playing.into_iter().filter_map(|(name, played)| played.join().is_err().then_some(name)).collect();
        assert!(failed.is_empty(), "{failed:#?}");
    });
}

fn play_one(scenario: &Scenario, options: WatchOptions) {
    let Scenario { name, watched, before, change, comes } = scenario;
    let place = Place::new();
    before(place.root());
    let polls = format!("{options:?}").contains("Poll");
    let dir = place.path(watched);
    let watch = Watched::with(&[&dir], options).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(watch.next().kind, WatchEventKind::Loaded, "{name}");
    let first = watch.overspill.ruleset().version();
    change(place.root());
    match comes {
        Taken => {
            watch.holds_disk();
        }
        // Who only compares contents does not notice that nothing happened.
        Nothing if polls => {}
        Nothing => {
            watch.event(WatchEventKind::Unchanged);
            assert_eq!(watch.compiled(), 1, "{name}: nothing is compiled for nothing");
        }
        Refused(_) | Lost => {
            let kind = if *comes == Lost { WatchEventKind::Lost } else { WatchEventKind::Rejected };
            let event = watch.event(kind);
            let codes: Vec<_> = event.diagnostics().unwrap().iter().map(|diagnostic| diagnostic.code().name()).collect();
            let expected = if let Refused(code) = comes { code } else { "unreadable-file" };
            assert!(codes.contains(&expected), "{name}: {codes:?}");
            assert_eq!(watch.overspill.ruleset().version(), first, "{name}: the last good rules stay");
            mend(&dir, place.root());
            if *comes == Lost {
                watch.event(WatchEventKind::Found);
            }
            watch.holds_disk();
        }
    }
    // Whatever happened, the next plain edit is heard of.
    let dir = if dir.join("..data").exists() { dir.join("..data") } else { dir };
    fs::write(dir.join("a.toml"), file("a", 1000)).unwrap();
    watch.holds_disk();
}

/// Makes the watched directory whole again, whatever was done to it.
fn mend(dir: &Path, root: &Path) {
    if dir.is_symlink() {
        return switch(root, "v1");
    }
    let _ = fs::remove_file(dir);
    let _ = fs::remove_dir_all(dir);
    let _ = fs::remove_dir_all(root.join("made"));
    fill(&root.join("made"), 50);
    fs::rename(root.join("made"), dir).unwrap();
}

fn vim(root: &Path) {
    let dir = root.join("rules");
    fs::write(dir.join(".a.toml.swp"), "swap").unwrap();
    fs::write(dir.join("4913"), "").unwrap();
    fs::remove_file(dir.join("4913")).unwrap();
    fs::rename(dir.join("a.toml"), dir.join("a.toml~")).unwrap();
    fs::write(dir.join("a.toml"), file("a", 2)).unwrap();
    fs::remove_file(dir.join("a.toml~")).unwrap();
    fs::remove_file(dir.join(".a.toml.swp")).unwrap();
}

fn nano(root: &Path) {
    fs::copy(root.join("rules/a.toml"), root.join("rules/a.toml~")).unwrap();
    fs::write(root.join("rules/a.toml"), file("a", 2)).unwrap();
}

fn emacs(root: &Path) {
    let dir = root.join("rules");
    symlink("someone@somewhere.1:2", dir.join(".#a.toml")).unwrap();
    fs::write(dir.join("#a.toml#"), "half").unwrap();
    fs::rename(dir.join("a.toml"), dir.join("a.toml~")).unwrap();
    fs::write(dir.join("a.toml"), file("a", 2)).unwrap();
    fs::remove_file(dir.join(".#a.toml")).unwrap();
}

fn sed(root: &Path) {
    fs::write(root.join("rules/sedXy12"), file("a", 2)).unwrap();
    fs::rename(root.join("rules/sedXy12"), root.join("rules/a.toml")).unwrap();
}

fn in_pieces(root: &Path) {
    let mut out = File::create(root.join("rules/a.toml")).unwrap();
    for piece in file("a", 2).as_bytes().chunks(20) {
        out.write_all(piece).unwrap();
        out.sync_all().unwrap();
    }
}

fn checkout(root: &Path) {
    let dir = root.join("rules");
    fs::remove_file(dir.join("a.toml")).unwrap();
    fs::write(dir.join("c.toml"), file("c", 2)).unwrap();
    fs::write(dir.join("b.toml"), file("b", 2)).unwrap();
    fs::remove_file(dir.join("default.toml")).unwrap();
    fs::write(dir.join("default.toml"), format!("{DEFAULT}\n[retry]\nmax_attempts = 7\n")).unwrap();
}

fn rsync(root: &Path) {
    for (name, number) in [("a", 2), ("b", 3)] {
        let hidden = root.join(format!("rules/.{name}.toml.Xy12Zw"));
        fs::write(&hidden, file(name, number)).unwrap();
        fs::rename(hidden, root.join(format!("rules/{name}.toml"))).unwrap();
    }
}

fn again(root: &Path) {
    fs::remove_dir_all(root.join("rules")).unwrap();
    fill(&root.join("rules"), 2);
}

fn replaced(root: &Path) {
    fill(&root.join("new"), 2);
    fs::rename(root.join("rules"), root.join("old")).unwrap();
    fs::rename(root.join("new"), root.join("rules")).unwrap();
}

fn parent_replaced(root: &Path) {
    fill(&root.join("new/rules"), 7);
    fs::rename(root.join("v1"), root.join("old")).unwrap();
    fs::rename(root.join("new"), root.join("v1")).unwrap();
}

fn only_a_fifo(root: &Path) {
    fs::read_dir(root.join("rules")).unwrap().for_each(|entry| fs::remove_file(entry.unwrap().path()).unwrap());
    mkfifo(&root.join("rules/fifo.toml"));
}

fn config_map(root: &Path) {
    fs::create_dir(root.join("mount")).unwrap();
    config_map_swap(root, 1);
    for name in ["default.toml", "a.toml"] {
        symlink(format!("..data/{name}"), root.join("mount").join(name)).unwrap();
    }
}

/// As the kubelet does it: a new directory, a link to it renamed over `..data`, the old directory deleted.
fn config_map_swap(root: &Path, number: u64) {
    let mount = root.join("mount");
    let old = fs::read_link(mount.join("..data")).ok();
    let new = format!("..2026_08_21_{number}");
    fill(&mount.join(&new), number);
    symlink(&new, mount.join("..data_tmp")).unwrap();
    fs::rename(mount.join("..data_tmp"), mount.join("..data")).unwrap();
    if let Some(old) = old {
        fs::remove_dir_all(mount.join(old)).unwrap();
    }
}

/// Two releases, each a rules directory that has one in it.
fn releases(root: &Path) {
    for (name, number) in [("v1", 1), ("v2", 2)] {
        fill(&root.join(name), number);
        fill(&root.join(name).join("rules"), number + 10);
    }
    switch(root, "v1");
}

fn switch(root: &Path, target: &str) {
    symlink(target, root.join("next")).unwrap();
    fs::rename(root.join("next"), root.join("current")).unwrap();
}

fn linked_file(root: &Path) {
    fs::create_dir(root.join("far")).unwrap();
    fs::write(root.join("far/b.toml"), file("b", 1)).unwrap();
    symlink("../far/b.toml", root.join("rules/b.toml")).unwrap();
}

fn touch(path: &Path) {
    let file = OpenOptions::new().append(true).open(path).unwrap();
    file.set_modified(std::time::SystemTime::now()).unwrap();
}

fn mkfifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn what_is_passed_over_is_warned_about() {
    let place = Place::new();
    let plain = load(&[place.path("rules")]).unwrap();
    mkfifo(&place.path("rules/fifo.toml"));
    symlink("loop.toml", place.path("rules/loop.toml")).unwrap();
    let ruleset = load(&[place.path("rules")]).unwrap();
    let warnings: Vec<_> = ruleset.warnings().iter().map(|warning| warning.to_string()).collect();
    assert_eq!(warnings.len(), 2, "{warnings:#?}");
    assert!(warnings.iter().all(|warning| warning.contains("warning[not-a-file]")), "{warnings:#?}");
    assert_eq!((ruleset.version(), ruleset.file_count()), (plain.version(), plain.file_count()), "what is passed over is no part of the rules");
}

#[test]
fn half_of_a_change_is_not_taken() {
    let place = Place::new();
    let watch = Watched::with(&[&place.path("rules")], WatchOptions::default().quiet(std::time::Duration::from_secs(1))).unwrap();
    // Valid at every step, but only the last is the change.
    for number in 2..=9 {
        fs::write(place.path("rules/a.toml"), file("a", number)).unwrap();
        fs::write(place.path("rules/b.toml"), file("b", number)).unwrap();
    }
    let event = watch.event(WatchEventKind::Reloaded);
    assert_eq!((event.generation, event.version), (2, version_on_disk(&watch.dirs)), "one reload, of the last state");
}
