//! The corpus of recorded failures: how often the embedded rules are right, and that it does not get worse.

use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::ops::AddAssign;

use jiff::Timestamp;
use overspill::{Class, Overspill, Verdict};
use serde_json::Value;

use crate::sample::{Recorded, corpus};

/// The least that is accepted, in tenths of a percent. Each floor stands where the rules stood when it was last raised, rounded down: raise it when they get better; to lower it is to accept
/// a loss. `None` where a file records nothing of the kind.
const FLOORS: [(&str, Floors); 5] = [
    ("overflow", Floors { recall: Some(1000), precision: Some(1000), class: 1000, retry: None, delay: None, tokens: Some(1000) }),
    ("retry", Floors { recall: None, precision: None, class: 1000, retry: Some(1000), delay: Some(1000), tokens: None }),
    ("reports", Floors { recall: Some(1000), precision: Some(995), class: 993, retry: Some(998), delay: Some(995), tokens: Some(989) }),
    ("sdk", Floors { recall: Some(992), precision: Some(1000), class: 983, retry: None, delay: None, tokens: None }),
    ("quickstart", Floors { recall: Some(1000), precision: Some(1000), class: 1000, retry: Some(1000), delay: Some(1000), tokens: Some(1000) }),
];

#[derive(Clone, Copy)]
pub(crate) struct Floors {
    /// Of the context overflows, how many were recognised.
    pub(crate) recall: Option<u64>,
    /// Of what was taken for a context overflow, how much was one.
    pub(crate) precision: Option<u64>,
    pub(crate) class: u64,
    pub(crate) retry: Option<u64>,
    pub(crate) delay: Option<u64>,
    pub(crate) tokens: Option<u64>,
}

/// When failures are taken to have been received that do not say it.
const NOW: &str = "2026-08-01T00:00:00Z";

/// How many of how many were right.
#[derive(Clone, Copy, Default)]
struct Share {
    right: u64,
    all: u64,
}

impl Share {
    fn count(&mut self, right: bool) {
        self.right += u64::from(right);
        self.all += 1;
    }

    fn reaches(self, floor: Option<u64>) -> bool {
        match floor {
            Some(floor) => self.all > 0 && 1000 * self.right >= floor * self.all,
            None => self.all == 0,
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.all {
            0 => f.write_str("-"),
            all => write!(f, "{:.1}% ({}/{all})", 100.0 * self.right as f64 / all as f64, self.right),
        }
    }
}

#[derive(Default)]
pub(crate) struct Figures {
    recall: Share,
    precision: Share,
    class: Share,
    retry: Share,
    delay: Share,
    tokens: Share,
    /// One text for each line with something wrong.
    wrong: Vec<String>,
}

impl Figures {
    /// Asks and counts.
    pub(crate) fn judge(&mut self, recorded: &Recorded, overspill: &Overspill) {
        let now = recorded.sample.now.unwrap_or_else(received);
        let verdict = overspill.evaluate(&recorded.sample.failure().received_at(now));
        self.count(recorded, &verdict);
    }

    /// The figures without the list of what is wrong.
    pub(crate) fn summary(&self) -> String {
        let Self { recall, precision, class, retry, delay, tokens, wrong: _ } = self;
        format!("overflow recall {recall}, precision {precision}; class {class}, retry {retry}, delay {delay}, tokens {tokens}")
    }

    fn count(&mut self, recorded: &Recorded, verdict: &Verdict) {
        let expect = &recorded.expect;
        let mut wrong = Vec::new();
        let mut judge = |share: &mut Share, right: bool, what: String| {
            share.count(right);
            if !right {
                wrong.push(what);
            }
        };

        let (class, classes) = (verdict.class(), classes(expect));
        judge(&mut self.class, classes.contains(&class), format!("class {class}, want {}", list(&classes)));
        self.count_overflow(class, &classes);

        if let Some(retry) = expect["retry"].as_bool() {
            judge(&mut self.retry, verdict.is_retry() == retry, format!("retry {}, want {retry}", verdict.is_retry()));
        }
        if let Some(wanted) = expect.get("server_delay_ms") {
            let now = recorded.sample.now.unwrap_or_else(received);
            let asked = verdict.server_delay().map(|delay| u64::try_from(delay.from(now).as_millis()).unwrap_or(u64::MAX));
            judge(&mut self.delay, is_delay(asked, wanted), format!("server delay {asked:?} ms, want {wanted}"));
        }
        let tokens = verdict.tokens();
        for (key, read) in [("limit_tokens", tokens.limit), ("requested_tokens", tokens.requested)] {
            if let Some(wanted) = expect.get(key) {
                judge(&mut self.tokens, read == wanted.as_u64(), format!("{key} {read:?}, want {wanted}"));
            }
        }

        if !wrong.is_empty() {
            let decided = verdict.decided_by().unwrap_or_else(|| "nothing".to_owned());
            self.wrong.push(format!("{}: {} [{decided}] {}", recorded.sample.id, wrong.join("; "), recorded.sample.excerpt()));
        }
    }

    /// Lines where an overflow is one right answer among several count for neither side.
    fn count_overflow(&mut self, class: Class, wanted: &[Class]) {
        let said = class == Class::ContextOverflow;
        let is_one = *wanted == [Class::ContextOverflow];
        if is_one {
            self.recall.count(said);
        }
        if said && (is_one || !wanted.contains(&Class::ContextOverflow)) {
            self.precision.count(is_one);
        }
    }

    pub(crate) fn reach(&self, floors: &Floors) -> bool {
        let shares = [
            (self.recall, floors.recall),
            (self.precision, floors.precision),
            (self.class, Some(floors.class)),
            (self.retry, floors.retry),
            (self.delay, floors.delay),
            (self.tokens, floors.tokens),
        ];
        shares.iter().all(|(share, floor)| share.reaches(*floor))
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.summary())?;
        self.wrong.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        self.recall += other.recall;
        self.precision += other.precision;
        self.class += other.class;
        self.retry += other.retry;
        self.delay += other.delay;
        self.tokens += other.tokens;
        self.wrong.extend(other.wrong);
    }
}

impl AddAssign for Share {
    fn add_assign(&mut self, other: Self) {
        self.right += other.right;
        self.all += other.all;
    }
}

fn received() -> Timestamp {
    NOW.parse().expect("a time")
}

/// The right class, or several of which each is right.
fn classes(expect: &Value) -> Vec<Class> {
    let class = |value: &Value| value.as_str().and_then(Class::from_name).unwrap_or_else(|| panic!("no class: {value}"));
    match &expect["class"] {
        Value::Array(classes) => classes.iter().map(class).collect(),
        one => vec![class(one)],
    }
}

fn list(classes: &[Class]) -> String {
    classes.iter().map(|class| class.name()).collect::<Vec<_>>().join(" or ")
}

/// `null` is no delay; a pair is a range; a number is right within a millisecond.
fn is_delay(asked: Option<u64>, wanted: &Value) -> bool {
    match (asked, wanted) {
        (asked, Value::Null) => asked.is_none(),
        (Some(asked), Value::Array(ends)) => {
            let end = |index: usize| ends[index].as_u64().expect("a number");
            (end(0)..=end(1)).contains(&asked)
        }
        (Some(asked), wanted) => wanted.as_f64().is_some_and(|wanted| (asked as f64 - wanted).abs() <= 1.0),
        (None, _) => false,
    }
}

#[test]
fn the_embedded_rules_are_as_good_as_they_were() {
    let overspill = Overspill::embedded();
    let (mut report, mut low) = (String::new(), Vec::new());
    for (name, floors) in FLOORS {
        let mut figures = Figures::default();
        for recorded in corpus(name) {
            figures.judge(&recorded, &overspill);
        }
        let _ = writeln!(report, "{name}: {figures}");
        if !figures.reach(&floors) {
            low.push(name);
        }
    }
    println!("{report}");
    assert!(low.is_empty(), "below the floors: {}\n{report}", low.join(", "));
}

#[test]
fn ids_are_unique_in_each_file() {
    for (name, _) in FLOORS {
        let mut seen = BTreeSet::new();
        for recorded in corpus(name) {
            assert!(seen.insert(recorded.sample.id.clone()), "{name}: {} is there twice", recorded.sample.id);
        }
    }
}
