//! When to look: after a pause in what is heard, and at the latest after a while.
//!
//! A save is several events, a checkout hundreds. Whoever reads at the first of them reads halves. So the contents are read when nothing was heard for a quiet period; where something is heard
//! without pause the ceiling ends the waiting. Then the contents have to hold still for a moment more, while they are compiled.

use std::time::{Duration, Instant};

/// How long the contents must hold still between two readings.
const SETTLE: Duration = Duration::from_millis(30);

/// Decides from instants alone, so that a test needs no clock.
#[derive(Debug)]
pub(super) struct Quiet {
    quiet: Duration,
    ceiling: Duration,
    burst: Option<Burst>,
}

#[derive(Clone, Copy, Debug)]
struct Burst {
    first: Instant,
    last: Instant,
    /// Not to be read before, since it has just been read.
    not_before: Instant,
}

impl Quiet {
    pub(super) fn new(quiet: Duration, ceiling: Duration) -> Self {
        Self { quiet, ceiling: ceiling.max(quiet), burst: None }
    }

    /// Something was heard.
    pub(super) fn hint(&mut self, now: Instant) {
        let Burst { first, not_before, .. } = self.burst.unwrap_or(Burst { first: now, last: now, not_before: now });
        self.burst = Some(Burst { first, last: now, not_before });
    }

    /// The contents moved while they were read.
    pub(super) fn moved(&mut self, now: Instant) {
        self.hint(now);
        let settle = self.settle();
        self.burst.iter_mut().for_each(|burst| burst.not_before = now + settle);
    }

    /// When the contents are to be read, if anything was heard.
    pub(super) fn due(&self) -> Option<Instant> {
        let Burst { first, last, not_before } = self.burst?;
        Some((last + self.quiet).min(first + self.ceiling).max(not_before))
    }

    pub(super) fn is_ripe(&self, now: Instant) -> bool {
        self.due().is_some_and(|due| due <= now)
    }

    /// How long the contents must hold still, from one reading to the next, to be taken for whole. After a pause too: what was heard may come late on a busy machine.
    pub(super) fn settle(&self) -> Duration {
        SETTLE.min(self.quiet)
    }

    /// How long to go on trying when the contents never hold still.
    pub(super) fn patience(&self) -> Duration {
        self.ceiling
    }

    /// Whether the contents have not held still for so long that it is worth a report.
    pub(super) fn is_overdue(&self, now: Instant) -> bool {
        self.burst.is_some_and(|burst| burst.first + self.ceiling * 2 <= now)
    }

    /// The contents were read, and nothing is owed any more.
    pub(super) fn done(&mut self) {
        self.burst = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn reads_after_a_pause_and_at_the_latest_at_the_ceiling() {
        // When something is heard, and when the contents are read.
        let cases: [(&str, &[u64], u64); 5] = [
            ("one event", &[0], 100),
            ("a save", &[0, 1, 2, 7], 107),
            ("a checkout", &[0, 80, 160, 240, 320], 420),
            ("no pause", &[0, 90, 180, 270, 360, 450, 540, 630, 720, 810, 900, 990], 1000),
            ("an event at the last moment", &[0, 100], 200),
        ];
        for (name, heard, read) in cases {
            let start = Instant::now();
            let mut quiet = Quiet::new(ms(100), ms(1000));
            assert_eq!(quiet.due(), None, "{name}");
            heard.iter().for_each(|at| quiet.hint(start + ms(*at)));
            assert_eq!(quiet.due(), Some(start + ms(read)), "{name}");
            assert!(!quiet.is_ripe(start + ms(read - 1)) && quiet.is_ripe(start + ms(read)), "{name}");
            quiet.done();
            assert!(!quiet.is_ripe(start + ms(10_000)), "{name}");
        }
    }

    #[test]
    fn contents_that_move_are_read_again_after_a_moment() {
        let start = Instant::now();
        let mut quiet = Quiet::new(ms(100), ms(300));
        [0, 90, 180, 270].iter().for_each(|at| quiet.hint(start + ms(*at)));
        assert!(quiet.is_ripe(start + ms(300)));
        quiet.moved(start + ms(300));
        assert_eq!(quiet.due(), Some(start + ms(300) + SETTLE));
        assert!(!quiet.is_overdue(start + ms(599)) && quiet.is_overdue(start + ms(600)));
        assert_eq!(Quiet::new(ms(5), ms(300)).settle(), ms(5), "never longer than the quiet period");
    }

    #[test]
    fn a_ceiling_below_the_quiet_period_is_the_quiet_period() {
        let start = Instant::now();
        let mut quiet = Quiet::new(ms(100), ms(1));
        quiet.hint(start);
        assert_eq!(quiet.due(), Some(start + ms(100)));
    }
}
