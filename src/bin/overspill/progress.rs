//! A bar on standard error for what takes long. Where standard error is no terminal nothing is drawn.

use std::fmt::Write;
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanDuration, ProgressBar, ProgressState, ProgressStyle};

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
            (true, 0) => "{spinner} {bytes} ({speed})",
            (true, _) => "{bar:40} {bytes}/{total_bytes} ({speed}, {left})",
            (false, _) => "{bar:40} {pos}/{len} ({left})",
        };
        // What was done before the bar is there took time as well.
        let bar = ProgressBar::new(self.total).with_elapsed(self.started.elapsed()).with_position(self.done);
        // The templates are constants; one that is wrong leaves the default bar.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.with_key("speed", speed).with_key("left", left));
        }
        bar
    }
}

/// The mean from the beginning: the bar's own estimate takes all that was done before it for the work of a moment.
fn per_second(state: &ProgressState) -> f64 {
    state.pos() as f64 / state.elapsed().as_secs_f64().max(0.001)
}

fn speed(state: &ProgressState, out: &mut dyn Write) {
    // Writing to a line of text cannot fail.
    let _ = write!(out, "{}/s", HumanBytes(per_second(state) as u64));
}

fn left(state: &ProgressState, out: &mut dyn Write) {
    let rest = state.len().unwrap_or_default().saturating_sub(state.pos());
    let _ = write!(out, "{:#}", HumanDuration(Duration::from_secs((rest as f64 / per_second(state).max(0.001)).min(1e9) as u64)));
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
