//! Where the share of misses rises: the last quarter of the time against what was before.

use std::collections::BTreeMap;

use jiff::Timestamp;

/// Fewer misses than this are no trend.
const MIN_MISSES: u64 = 5;
/// How many standard errors the two shares must be apart.
const MIN_Z: f64 = 3.0;
/// By how much the share must have grown.
const MIN_GROWTH: f64 = 1.25;

/// How many of a provider's failures in some time no rule recognised.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) provider: String,
    pub(super) time: Option<(Timestamp, Timestamp)>,
    pub(super) failures: u64,
    pub(super) misses: u64,
}

/// A provider's shares of misses before and after the turn.
#[derive(Clone, Debug)]
pub(super) struct Trend {
    pub(super) provider: String,
    pub(super) turn: Timestamp,
    counts: [(u64, u64); 2],
}

/// The instant at which the last quarter begins.
pub(super) fn turn(spans: &[Span]) -> Option<Timestamp> {
    let times = || spans.iter().filter_map(|span| span.time);
    let first = times().map(|(from, _)| from).min()?;
    let last = times().map(|(_, to)| to).max()?;
    let quarter = (last.as_millisecond() - first.as_millisecond()) / 4;
    (quarter > 0).then(|| Timestamp::from_millisecond(last.as_millisecond() - quarter).ok())?
}

pub(super) fn of(spans: &[Span]) -> Vec<Trend> {
    let Some(turn) = turn(spans) else {
        return Vec::new();
    };
    let mut counts: BTreeMap<&str, [(u64, u64); 2]> = BTreeMap::new();
    for span in spans {
        let Some((from, to)) = span.time else { continue };
        // A span that reaches over the turn counts where most of it lies.
        let middle = from.as_millisecond() / 2 + to.as_millisecond() / 2;
        let side = usize::from(middle >= turn.as_millisecond());
        let count = &mut counts.entry(&span.provider).or_default()[side];
        *count = (count.0 + span.failures, count.1 + span.misses);
    }
    let mut trends: Vec<_> = counts.into_iter().map(|(provider, counts)| Trend { provider: provider.to_owned(), turn, counts }).collect();
    trends.sort_by(|a, b| (b.recent() - b.before()).total_cmp(&(a.recent() - a.before())));
    trends
}

fn ratio((failures, misses): (u64, u64)) -> f64 {
    if failures == 0 { 0.0 } else { misses as f64 / failures as f64 }
}

impl Trend {
    pub(super) fn before(&self) -> f64 {
        ratio(self.counts[0])
    }

    pub(super) fn recent(&self) -> f64 {
        ratio(self.counts[1])
    }

    /// Whether it is more than chance: two shares compared by the test of proportions.
    pub(super) fn rising(&self) -> bool {
        let [before, recent] = self.counts;
        if before.0 == 0 || recent.1 < MIN_MISSES {
            return false;
        }
        let (old, new) = (self.before(), self.recent());
        let pooled = (before.1 + recent.1) as f64 / (before.0 + recent.0) as f64;
        let error = (pooled * (1.0 - pooled) * (1.0 / before.0 as f64 + 1.0 / recent.0 as f64)).sqrt();
        new > old * MIN_GROWTH && new - old > MIN_Z * error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trend_is_more_than_chance() {
        let hour = |hour: i64| Timestamp::from_second(hour * 3600).unwrap();
        let span = |from: i64, failures, misses| Span { provider: "acme".to_owned(), time: Some((hour(from), hour(from + 1))), failures, misses };
        let trends = |last: (u64, u64)| of(&[span(0, 1000, 10), span(1, 1000, 12), span(2, 1000, 8), span(3, last.0, last.1)]);
        assert_eq!(turn(&[span(0, 1, 0), span(3, 1, 0)]), Some(hour(3)));
        let cases = [((1000, 60), true), ((1000, 12), false), ((1000, 0), false), ((10, 3), false), ((0, 0), false)];
        for (last, rising) in cases {
            assert_eq!(trends(last)[0].rising(), rising, "{last:?}");
        }
        assert!(of(&[]).is_empty());
        assert!(of(&[Span { provider: String::new(), time: None, failures: 1, misses: 1 }]).is_empty());
    }
}
