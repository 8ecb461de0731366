//! A bar on standard error for what takes long. Where standard error is no terminal nothing is drawn.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// What is done faster than this needs no bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// Counts what is done, and shows it when it takes long.
#[derive(Debug)]
pub(crate) struct Progress {
    started: Instant,
    total: u64,
    done: u64,
    bytes: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// For a number of things.
    pub(crate) fn of(total: usize) -> Self {
        Self { started: Instant::now(), total: total as u64, done: 0, bytes: false, bar: None }
    }

    /// For a number of bytes; zero when it is not known.
    pub(crate) fn of_bytes(total: u64) -> Self {
        Self { started: Instant::now(), total, done: 0, bytes: true, bar: None }
    }

    pub(crate) fn add(&mut self, count: u64) {
        self.done += count;
        if self.bar.is_none() && self.started.elapsed() >= PATIENCE {
            self.bar = Some(self.draw());
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
        }
    }

    fn draw(&self) -> ProgressBar {
        let template = match (self.bytes, self.total) {
            (true, 0) => "{spinner} {bytes} ({bytes_per_sec})",
            (true, _) => "{bar:40} {bytes}/{total_bytes} ({bytes_per_sec}, {eta})",
            (false, _) => "{bar:40} {pos}/{len} ({eta})",
        };
        let bar = ProgressBar::new(self.total);
        // The templates are constants; one that is wrong leaves the default bar.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
