//! Readers evaluate without pause while a writer does to the files whatever can be done to files.
//!
//! The writer knows which states of the directories were whole: the ones after an edit, and those half-way ones that stayed because the system let the writer wait. Every ruleset that a reader
//! meets must be one of them. Now and then the writer stops until the engine has said what it makes of the state.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use overspill::{Failure, Overspill, WatchEvent, WatchOptions};
use sha2::{Digest, Sha256};

use crate::support::{DEFAULT, Place, Watched, load, version_on_disk};

const READERS: usize = 4;
/// The writer ends at whichever comes first.
const EDITS: usize = 5000;
const BUDGET: Duration = Duration::from_secs(15);
const QUIET: Duration = Duration::from_millis(50);
const CEILING: Duration = Duration::from_millis(400);
/// A half-way state that stayed for this long may have been taken for whole, and rightly so: less than the contents have to hold still.
const LINGERS: Duration = Duration::from_millis(20);

#[test]
fn readers_see_whole_rulesets_only_whatever_is_done_to_the_files() {
    let place = Place::new();
    let dirs = [place.path("rules"), place.path("mount"), place.path("current")];
    let mut writer = Writer::new(place.root(), &dirs);
    let options = WatchOptions::default().quiet(QUIET).ceiling(CEILING);
    let watch = Watched::with(&[&dirs[0], &dirs[1], &dirs[2]], options).unwrap();
    let (stop, evaluated) = (AtomicBool::new(false), AtomicU64::new(0));
    let seen = thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(|| read(&watch.overspill, &stop, &evaluated))).collect();
        let stops = StopOnDrop(&stop);
        writer.rage(&watch);
        writer.make_whole();
        let left = Instant::now();
        watch.event_where("the last state", |event| event.error.is_none() && event.version == version_on_disk(&watch.dirs));
        println!("the last state is in force {:?} after the last edit", left.elapsed());
        drop(stops);
        let seen: Vec<Seen> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
        seen
    });
    let mut met = BTreeSet::new();
    for (version, rule) in seen.iter().flat_map(|seen| &seen.rules) {
        let whole = writer.whole.get(version).unwrap_or_else(|| panic!("{version} was never whole on disk, but half-way for {:?}", writer.half_way.get(version)));
        // Where the file of `a` is missing, others' rules answer.
        assert!(whole.is_none() || rule == whole, "{version} has {whole:?}, and {rule:?} won");
        met.insert(version);
    }
    assert_eq!(watch.overspill.ruleset().version(), version_on_disk(&watch.dirs));
    let Writer { edits, reported, lingered, whole, .. } = &writer;
    let slowest = seen.iter().map(|seen| seen.slowest).max().unwrap();
    let counts = watch.overspill.watcher().unwrap().status().counts;
    println!("{edits} edits, {} whole states, {} met by readers in {} evaluations, the slowest {slowest:?}", whole.len(), met.len(), evaluated.load(Ordering::Relaxed));
    println!("{reported} broken states waited for and reported, {lingered} half-way states lingered\n{counts:?}");
    assert!(*edits >= 300 && *reported >= 3 && met.len() >= 4, "it was no chaos");
}

/// Ends the readers, also when the writer fails.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What a reader met: the rulesets, each with the rule that won.
#[derive(Default)]
struct Seen {
    rules: BTreeMap<String, Option<String>>,
    slowest: Duration,
}

fn read(overspill: &Overspill, stop: &AtomicBool, evaluated: &AtomicU64) -> Seen {
    let mut seen = Seen::default();
    let failure = Failure::http(429).provider("a").message("marker");
    while !stop.load(Ordering::Relaxed) {
        let start = Instant::now();
        let verdict = overspill.evaluate(&failure);
        seen.slowest = seen.slowest.max(start.elapsed());
        evaluated.fetch_add(1, Ordering::Relaxed);
        let (version, rule) = (verdict.ruleset().to_string(), verdict.rule().map(str::to_owned));
        let known = seen.rules.entry(version.clone()).or_insert_with(|| rule.clone());
        assert_eq!(*known, rule, "one ruleset, two verdicts: {version}");
    }
    seen
}

/// A file whose rule tells its number.
fn file(provider: &str, number: u64) -> String {
    format!("provider = \"{provider}\"\n[[rule]]\nid = \"r{number}\"\nclass = \"rate_limited\"\nmessage = 'marker'\n[[rule.example]]\nstatus = 429\nmessage = 'marker'\n")
}

struct Writer {
    root: PathBuf,
    dirs: Vec<PathBuf>,
    /// Every state that was whole: its version, and the rule of provider `a`.
    whole: BTreeMap<String, Option<String>>,
    /// The other states, and how long they stayed at most.
    half_way: BTreeMap<String, Duration>,
    number: u64,
    random: u64,
    last_step: Instant,
    broken_next: bool,
    edits: usize,
    reported: usize,
    lingered: usize,
}

type Edit = fn(&mut Writer);

const EDITS_OF_ALL_KINDS: [Edit; 17] = [
    Writer::truncate_and_write,
    Writer::write_in_pieces,
    Writer::vim,
    Writer::sed,
    Writer::rsync,
    Writer::checkout,
    Writer::add_and_remove,
    Writer::config_map,
    Writer::release,
    Writer::replace_directory,
    Writer::recreate_directory,
    Writer::litter,
    Writer::touch,
    Writer::break_syntax,
    Writer::leave_half,
    Writer::empty_directory,
    Writer::lose_directory,
];

const BREAKING: [Edit; 4] = [Writer::break_syntax, Writer::leave_half, Writer::empty_directory, Writer::lose_directory];

impl Writer {
    fn new(root: &Path, dirs: &[PathBuf]) -> Self {
        let mut writer = Self {
            root: root.to_owned(),
            dirs: dirs.to_vec(),
            whole: BTreeMap::new(),
            half_way: BTreeMap::new(),
            number: 1,
            random: 0x9e37_79b9_7f4a_7c15,
            last_step: Instant::now(),
            broken_next: false,
            edits: 0,
            reported: 0,
            lingered: 0,
        };
        fs::create_dir(root.join("mount")).unwrap();
        symlink("..data/c.toml", root.join("mount/c.toml")).unwrap();
        writer.config_map();
        writer.release();
        writer.make_whole();
        let (version, _) = writer.state().unwrap();
        assert_eq!(version, version_on_disk(dirs).to_string(), "the writer knows how a version is made");
        writer
    }

    /// Edits without pause, except for when it waits for the engine's answer.
    fn rage(&mut self, watch: &Watched) {
        let start = Instant::now();
        while self.edits < EDITS && start.elapsed() < BUDGET {
            for _ in 0..self.random(120) {
                self.edit_of(&EDITS_OF_ALL_KINDS);
            }
            watch.drain();
            // Every other time a broken state stays.
            self.broken_next = !self.broken_next;
            let kinds = if self.broken_next { &BREAKING } else { EDITS_OF_ALL_KINDS.as_slice() };
            self.edit_of(kinds);
            self.wait_for_answer(watch);
        }
    }

    fn edit_of(&mut self, kinds: &[Edit]) {
        let kind = self.random(kinds.len() as u64) as usize;
        kinds[kind](self);
        self.edits += 1;
        self.note_whole();
    }

    /// What is on disk now comes in force, or its error is reported. Which of the two is judged by a check of the same directories.
    fn wait_for_answer(&mut self, watch: &Watched) {
        match load(&self.dirs) {
            Ok(ruleset) => {
                let version = ruleset.version();
                let holds = |event: &WatchEvent| event.error.is_none() && event.version == version;
                if watch.overspill.ruleset().version() != version {
                    watch.event_where(&format!("version {version}"), holds);
                }
            }
            Err(error) => {
                let lines = |error: &overspill::Error| error.diagnostics().map(ToString::to_string);
                let expected = lines(&error);
                // A directory that is lost has a finding of its own in a reload, and is told alone.
                let same = |error: &overspill::Error| match &expected {
                    Some(_) => lines(error) == expected,
                    None => error.to_string().contains("the rules directory cannot be read"),
                };
                let known = watch.overspill.watcher().unwrap().status().last_error;
                if !known.is_some_and(|known| same(&known)) {
                    watch.event_where(&format!("{error}"), |event| event.error.as_ref().is_some_and(same));
                }
                self.reported += 1;
            }
        }
    }

    /// Whatever state it is in, afterwards all directories are right.
    fn make_whole(&mut self) {
        self.number += 1;
        let (fresh, rules) = (self.fresh(), self.root.join("rules"));
        self.remove_directory();
        self.step(|| fs::rename(&fresh, &rules).unwrap());
        self.note_whole();
    }

    /// One call that changes the disk. What was there before stayed while the writer had to wait.
    fn step(&mut self, change: impl FnOnce()) {
        let before = self.state();
        let start = Instant::now();
        change();
        // From before the call that made the state until after the one that ended it: at least as long as it stayed.
        let stayed = std::mem::replace(&mut self.last_step, start).elapsed();
        let Some((version, rule)) = before else { return };
        if stayed > LINGERS {
            self.lingered += usize::from(self.whole.insert(version, rule).is_none());
        } else {
            self.half_way.insert(version, stayed);
        }
    }

    fn note_whole(&mut self) {
        if let Some((version, rule)) = self.state() {
            self.whole.insert(version, rule);
        }
    }

    /// The version that the files have, right or wrong: as documented, the first 48 bits of the SHA-256 over all texts with their layers and lengths. And the rule that wins.
    fn state(&self) -> Option<(String, Option<String>)> {
        let mut hasher = Sha256::new();
        let mut rule = None;
        for (layer, dir) in self.dirs.iter().enumerate() {
            let mut paths: Vec<_> = fs::read_dir(dir).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
            paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml") && !path.file_name().unwrap().to_string_lossy().starts_with('.') && path.is_file());
            paths.sort();
            for path in paths {
                let text = fs::read_to_string(&path).ok()?;
                hasher.update((layer as u64).to_le_bytes());
                hasher.update((text.len() as u64).to_le_bytes());
                hasher.update(text.as_bytes());
                if path.ends_with("a.toml") {
                    rule = text.split('"').nth(3).map(|id| format!("a/{id}"));
                }
            }
        }
        let version = hasher.finalize()[..6].iter().fold(0, |version, byte| version << 8 | u64::from(*byte));
        Some((format!("{version:012x}"), rule))
    }

    fn random(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    /// A new text for a file of the plain directory, which is made if it is not there.
    fn next(&mut self) -> (PathBuf, String) {
        self.number += 1;
        if !self.root.join("rules/default.toml").is_file() {
            self.make_whole();
        }
        let provider = ["a", "b"][self.random(2) as usize];
        (self.root.join(format!("rules/{provider}.toml")), file(provider, self.number))
    }

    fn truncate_and_write(&mut self) {
        let (path, text) = self.next();
        self.step(|| drop(fs::File::create(&path).unwrap()));
        self.step(|| fs::write(&path, text).unwrap());
    }

    fn write_in_pieces(&mut self) {
        use std::io::Write;
        let (path, text) = self.next();
        let mut out = None;
        self.step(|| out = fs::File::create(&path).ok());
        let mut out = out.unwrap();
        for piece in text.as_bytes().chunks(40) {
            self.step(|| out.write_all(piece).unwrap());
        }
    }

    fn vim(&mut self) {
        let (path, text) = self.next();
        let backup = path.with_extension("toml~");
        self.step(|| fs::write(path.with_file_name("4913"), "").unwrap());
        self.step(|| fs::remove_file(path.with_file_name("4913")).unwrap());
        self.step(|| drop(fs::rename(&path, &backup)));
        self.step(|| fs::write(&path, text).unwrap());
        self.step(|| drop(fs::remove_file(&backup)));
    }

    fn sed(&mut self) {
        let (path, text) = self.next();
        let temporary = path.with_file_name("sedXy12");
        self.step(|| fs::write(&temporary, text).unwrap());
        self.step(|| fs::rename(&temporary, &path).unwrap());
    }

    fn rsync(&mut self) {
        for _ in 0..2 {
            let (path, text) = self.next();
            let hidden = path.with_file_name(".x.toml.Zw12");
            self.step(|| fs::write(&hidden, text).unwrap());
            self.step(|| fs::rename(&hidden, &path).unwrap());
        }
    }

    /// Both files, which belong together.
    fn checkout(&mut self) {
        self.next();
        for provider in ["a", "b"] {
            let (path, text) = (self.root.join(format!("rules/{provider}.toml")), file(provider, self.number));
            self.step(|| drop(fs::remove_file(&path)));
            self.step(|| fs::write(&path, text).unwrap());
        }
    }

    fn add_and_remove(&mut self) {
        self.next();
        let (path, text) = (self.root.join("rules/x.toml"), file("x", self.number));
        if path.exists() {
            self.step(|| fs::remove_file(&path).unwrap());
        } else {
            self.step(|| fs::write(&path, text).unwrap());
        }
    }

    fn config_map(&mut self) {
        self.number += 1;
        let mount = self.root.join("mount");
        let (old, new) = (fs::read_link(mount.join("..data")).ok(), format!("..{}", self.number));
        let text = file("c", self.number);
        self.step(|| fs::create_dir(mount.join(&new)).unwrap());
        self.step(|| fs::write(mount.join(&new).join("c.toml"), text).unwrap());
        self.step(|| symlink(&new, mount.join("..data_tmp")).unwrap());
        self.step(|| fs::rename(mount.join("..data_tmp"), mount.join("..data")).unwrap());
        if let Some(old) = old {
            self.step(|| fs::remove_dir_all(mount.join(old)).unwrap());
        }
    }

    /// The link to the directory is switched to another one.
    fn release(&mut self) {
        self.number += 1;
        let (current, next, new) = (self.root.join("current"), self.root.join("next"), format!("release{}", self.number));
        let old = fs::read_link(&current).ok();
        fs::create_dir(self.root.join(&new)).unwrap();
        fs::write(self.root.join(&new).join("d.toml"), file("d", self.number)).unwrap();
        symlink(&new, &next).unwrap();
        self.step(|| fs::rename(&next, &current).unwrap());
        if let Some(old) = old {
            let old = self.root.join(old);
            self.step(|| fs::remove_dir_all(old).unwrap());
        }
    }

    fn replace_directory(&mut self) {
        self.next();
        let (rules, away) = (self.root.join("rules"), self.root.join("away"));
        let _ = fs::remove_dir_all(&away);
        let fresh = self.fresh();
        self.step(|| fs::rename(&rules, &away).unwrap());
        self.step(|| fs::rename(&fresh, &rules).unwrap());
    }

    fn recreate_directory(&mut self) {
        self.next();
        let rules = self.root.join("rules");
        let number = self.number;
        self.remove_directory();
        self.step(|| fs::create_dir(&rules).unwrap());
        for (name, text) in [("a.toml", file("a", number)), ("b.toml", file("b", number)), ("default.toml", DEFAULT.to_owned())] {
            self.step(|| fs::write(rules.join(name), text).unwrap());
        }
    }

    /// What is no rule file: nothing changes.
    fn litter(&mut self) {
        self.next();
        let rules = self.root.join("rules");
        self.step(|| fs::write(rules.join(".a.toml.swp"), "swap").unwrap());
        self.step(|| drop(symlink("circle.toml", rules.join("circle.toml"))));
        self.step(|| drop(symlink("/dev/zero", rules.join("zero.toml"))));
        self.step(|| drop(fs::create_dir(rules.join("directory.toml"))));
    }

    fn touch(&mut self) {
        let (path, _) = self.next();
        self.step(|| {
            if let Ok(file) = fs::OpenOptions::new().append(true).open(&path) {
                file.set_modified(std::time::SystemTime::now()).unwrap();
            }
        });
    }

    fn break_syntax(&mut self) {
        let (path, text) = self.next();
        self.step(|| fs::write(&path, text.replace("class = ", "clas = ")).unwrap());
    }

    fn leave_half(&mut self) {
        let (path, text) = self.next();
        self.step(|| fs::write(&path, &text[..text.len() / 2]).unwrap());
    }

    fn empty_directory(&mut self) {
        self.next();
        self.remove_files();
    }

    fn lose_directory(&mut self) {
        self.remove_directory();
    }

    /// One by one: what is left after each is a state too.
    fn remove_files(&mut self) {
        for entry in fs::read_dir(self.root.join("rules")).into_iter().flatten() {
            let path = entry.unwrap().path();
            self.step(|| drop(fs::remove_file(&path)));
        }
    }

    fn remove_directory(&mut self) {
        self.remove_files();
        let rules = self.root.join("rules");
        self.step(|| drop(fs::remove_dir_all(&rules)));
    }

    fn fresh(&self) -> PathBuf {
        let fresh = self.root.join("fresh");
        let _ = fs::remove_dir_all(&fresh);
        fs::create_dir(&fresh).unwrap();
        fs::write(fresh.join("default.toml"), DEFAULT).unwrap();
        fs::write(fresh.join("a.toml"), file("a", self.number)).unwrap();
        fs::write(fresh.join("b.toml"), file("b", self.number)).unwrap();
        fresh
    }
}
