//! What has to be watched to hear of every change of a rules directory.
//!
//! Directories, never files: a file that is saved by renaming another over it is a new file, and who watched the old one hears nothing more. For a rules directory that is the directory itself; the
//! one it lies in, for when it is deleted, made again or replaced; and the ones that hold the symbolic links on the way, for when one of them is switched (`..data` of a ConfigMap, `current` of a
//! deployment).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::scan::Scan;

/// More than this is not watched: the check of the contents from time to time is what remains for the rest.
const MAX_PLACES: usize = 256;
/// As many links as the system follows.
const MAX_LINKS: usize = 40;

/// Directories to watch, and which of their entries matter.
pub(super) type Places = BTreeMap<PathBuf, Interest>;

/// Which entries of a directory matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Interest {
    All,
    Names(BTreeSet<OsString>),
}

impl Interest {
    /// Whether a change of an entry of this name may be a change of the rules.
    pub(super) fn includes(&self, name: &OsStr) -> bool {
        match self {
            Self::All => !is_noise(name),
            Self::Names(names) => names.contains(name),
        }
    }
}

/// Names that editors and copying programs use while they work: what comes of it gets another name. `..data` and the like are links to directories.
fn is_noise(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let hidden = name.starts_with('.') && !name.starts_with("..");
    let ending = [".swp", ".swx", ".tmp", ".bak"].iter().any(|ending| name.ends_with(ending));
    hidden || ending || name.ends_with('~') || name.starts_with('#') || name == "4913"
}

/// The places for these directories, as they are now.
pub(super) fn places(dirs: &[PathBuf], scan: Option<&Scan>) -> Places {
    let mut places = Places::new();
    for dir in dirs {
        if let Some(dir) = trace(dir, &mut places) {
            add(&mut places, dir, None);
        }
    }
    for link in scan.into_iter().flat_map(Scan::links) {
        trace(link, &mut places);
    }
    places
}

/// Follows a path step by step. Notes each link and the last name; for a path that leads nowhere the first name that is missing. Returns where it leads.
fn trace(path: &Path, places: &mut Places) -> Option<PathBuf> {
    let mut steps = reversed(path);
    let (mut at, mut links) = (PathBuf::new(), 0);
    while let Some(step) = steps.pop() {
        match Path::new(&step).components().next() {
            Some(Component::Normal(name)) => {
                let next = at.join(name);
                let Ok(metadata) = fs::symlink_metadata(&next) else {
                    add(places, at, Some(name));
                    return None;
                };
                if !metadata.is_symlink() {
                    if steps.is_empty() {
                        add(places, at, Some(name));
                    }
                    at = next;
                    continue;
                }
                add(places, at.clone(), Some(name));
                links += 1;
                if links > MAX_LINKS {
                    return None;
                }
                let target = fs::read_link(&next).ok()?;
                if target.is_absolute() {
                    at = PathBuf::new();
                }
                steps.append(&mut reversed(&target));
            }
            Some(Component::ParentDir) => _ = at.pop(),
            Some(Component::CurDir) | None => {}
            Some(Component::RootDir | Component::Prefix(_)) => at.push(&step),
        }
    }
    Some(at)
}

fn reversed(path: &Path) -> Vec<OsString> {
    path.components().rev().map(|component| component.as_os_str().to_owned()).collect()
}

fn add(places: &mut Places, dir: PathBuf, name: Option<&OsStr>) {
    if places.len() >= MAX_PLACES && !places.contains_key(&dir) {
        return;
    }
    let interest = places.entry(dir).or_insert_with(|| Interest::Names(BTreeSet::new()));
    match (interest, name) {
        (Interest::Names(names), Some(name)) => _ = names.insert(name.to_owned()),
        (interest, None) => *interest = Interest::All,
        (Interest::All, Some(_)) => {}
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn show(root: &Path, places: &Places) -> Vec<String> {
        let below = |path: &Path| path.strip_prefix(root).map(|path| path.display().to_string());
        let names = |interest: &Interest| match interest {
            Interest::All => "*".to_owned(),
            Interest::Names(names) => names.iter().map(|name| name.to_string_lossy()).collect::<Vec<_>>().join(","),
        };
        places.iter().filter_map(|(dir, interest)| Some(format!("{}: {}", below(dir).ok()?, names(interest)))).collect()
    }

    #[test]
    fn every_link_on_the_way_is_watched_where_it_lies() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("v1/rules")).unwrap();
        fs::create_dir(root.join("mount")).unwrap();
        symlink("v1", root.join("current")).unwrap();
        symlink("../current/rules", root.join("mount/rules")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let cases: [(&str, &[&str]); 5] = [
            ("v1/rules", &["v1: rules", "v1/rules: *"]),
            ("current/rules", &[": current", "v1: rules", "v1/rules: *"]),
            ("mount/rules", &[": current", "mount: rules", "v1: rules", "v1/rules: *"]),
            ("v1/gone/rules", &["v1: gone"]),
            ("loop", &[": loop"]),
        ];
        for (dir, expected) in cases {
            assert_eq!(show(&root, &places(&[root.join(dir)], None)), expected, "{dir}");
        }
    }

    #[test]
    fn what_editors_write_beside_a_file_is_no_hint() {
        let heard = ["a.toml", "..data", "..2024_01", "rules", "a"];
        let noise = [".a.toml.swp", ".a.toml.Xy12", "a.toml~", "4913", "#a.toml#", ".#a.toml", "a.toml.tmp"];
        assert!(heard.iter().all(|name| Interest::All.includes(OsStr::new(name))));
        assert!(!noise.iter().any(|name| Interest::All.includes(OsStr::new(name))));
    }
}
