//! Misses as a file: JSON Lines, appended, so that many processes and restarts add to one history.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use jiff::Timestamp;

use super::store::{Kept, Miss, MissShare, Misses, shares};
use crate::json::quote;
use crate::ruleset::Ruleset;

/// A file larger than this is put aside as `<name>.1` before more is written.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

impl Misses {
    /// Appends what was counted since the last time to a JSON Lines file for `overspill misses`, and starts counting anew. Call it now and then, a minute apart or an hour; the finer, the better
    /// it shows where misses are rising. Providers as `ruleset` knows them, `now` ends the span that is written.
    ///
    /// The file is created when there is none, and put aside as `<name>.1` when it has grown beyond 8 MiB. One call is one write, so lines of several processes do not mix.
    ///
    /// # Errors
    ///
    /// When the file cannot be written. Then nothing is lost: what was counted is still there and is written the next time.
    pub fn append_to(&self, path: impl AsRef<Path>, ruleset: &Ruleset, now: Timestamp) -> io::Result<()> {
        let counted = self.tally().take();
        let kept = std::mem::take(&mut *self.kept());
        let text = lines(&kept, &shares(ruleset, counted.clone(), &kept.missed), now);
        self.kept().since = Some(now);
        let written = append(path.as_ref(), &text);
        if written.is_err() {
            counted.iter().for_each(|(name, count)| self.tally().add(name, *count));
            self.kept().merge(kept);
        }
        written
    }
}

fn append(path: &Path, text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    if fs::metadata(path).is_ok_and(|metadata| metadata.len() > MAX_FILE_BYTES) {
        let mut aside = path.as_os_str().to_owned();
        aside.push(".1");
        fs::rename(path, aside)?;
    }
    OpenOptions::new().create(true).append(true).open(path)?.write_all(text.as_bytes())
}

fn lines(kept: &Kept, shares: &[MissShare], now: Timestamp) -> String {
    let mut text = String::new();
    for share in shares {
        let MissShare { provider, failures, misses } = share;
        let from = kept.since.unwrap_or(now);
        let provider = quote(provider);
        // Writing to a string cannot fail.
        let _ = writeln!(text, r#"{{"share":{provider},"from":"{from}","to":"{now}","failures":{failures},"misses":{misses}}}"#);
    }
    for (key, count) in &kept.templates {
        text += &line(&Miss::new(key, *count));
    }
    text
}

fn line(miss: &Miss) -> String {
    let Miss { provider, status, class, codes, template, count, first_seen, last_seen } = miss;
    let status = status.map_or("null".to_owned(), |status| status.to_string());
    let codes: Vec<_> = codes.iter().map(|code| quote(code)).collect();
    let time = |time: &Option<Timestamp>| time.map_or("null".to_owned(), |time| quote(&time.to_string()));
    format!(
        r#"{{"miss":{},"provider":{},"status":{status},"class":"{class}","codes":[{}],"count":{count},"first_seen":{},"last_seen":{}}}"#,
        quote(template),
        quote(provider),
        codes.join(","),
        time(first_seen),
        time(last_seen)
    ) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;

    #[test]
    fn what_cannot_be_written_is_kept_and_what_is_written_is_not_counted_again() {
        let ruleset = Ruleset::embedded();
        let misses = Misses::new();
        let failure = Failure::http(418).provider("openai").message("a \"teapot\"\tsays \\ no");
        let verdict = crate::eval::evaluate(&ruleset, &failure);
        misses.record(&ruleset, &failure, &verdict, Some(Timestamp::UNIX_EPOCH));
        let now = Timestamp::from_second(60).unwrap();
        let dir = std::env::temp_dir().join(format!("overspill-misses-{}", std::process::id()));
        assert!(misses.append_to(dir.join("missing").join("file"), &ruleset, now).is_err());
        assert_eq!(misses.list().len(), 1);
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join("misses.jsonl");
        misses.append_to(&path, &ruleset, now).unwrap();
        misses.append_to(&path, &ruleset, now).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::remove_dir_all(&dir).unwrap();
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert_eq!((lines[0]["failures"].as_u64(), lines[0]["from"].as_str()), (Some(1), Some("1970-01-01T00:00:00Z")));
        assert_eq!((lines[1]["count"].as_u64(), lines[1]["first_seen"].as_str()), (Some(1), Some("1970-01-01T00:00:00Z")));
        assert!(lines[1]["miss"].as_str().unwrap().contains("\"<quoted>\""), "{text}");
    }
}
