//! One grammar for every form in which a server says how long to wait, or until when.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::Offset;

use super::duration::{self, MILLISECOND, SECOND};
use super::instant;
use super::scan::Decimal;

/// What a server asked for: a wait from now, or an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// So long from now on.
    After(Duration),
    /// Until then; it can be in the past.
    At(Timestamp),
}

impl Wait {
    /// How long to wait at `now`: nothing if the instant has passed.
    pub(crate) fn from(self, now: Timestamp) -> Duration {
        match self {
            Self::After(duration) => duration,
            // A negative difference does not convert, and is no wait.
            Self::At(at) => Duration::try_from(at.duration_since(now)).unwrap_or_default(),
        }
    }

    /// The instant from which the server allows another try; `None` if the calendar ends before it.
    pub(crate) fn instant(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::After(duration) => now.checked_add(duration).ok(),
            Self::At(at) => Some(at),
        }
    }
}

/// How to read a number without a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// As milliseconds from now.
    Milliseconds,
    /// As seconds from now, or as an epoch if it is so large that it can only be one.
    Seconds,
    /// As seconds since 1970, as milliseconds if it is so large that it can only be those, or as seconds
    /// from now if it is so small that it can only be those.
    EpochSeconds,
    /// As milliseconds since 1970, or as seconds if it is so small that it can only be those.
    EpochMilliseconds,
    /// Not at all: a bare number is no instant.
    Instant,
}

impl Unit {
    /// The name as rule files write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
            Self::EpochSeconds => "epoch",
            Self::EpochMilliseconds => "epoch_ms",
            Self::Instant => "instant",
        }
    }
}

/// Reads one wait.
///
/// `text` is a header value, a JSON field (a number or string, as text), or the part of a message that a
/// rule captured. A number without a unit is read as `unit` says, and before any date is tried, so that
/// `60` never becomes a year. `now` is only needed for times without a date and dates without a year;
/// when given, it also bounds how far away an instant may be.
///
/// `None` for whatever is no wait, is negative, or is more than a year away.
pub(crate) fn parse(text: &str, unit: Unit, now: Option<Timestamp>) -> Option<Wait> {
    let Bare { text, local } = bare(text);
    if let Some(number) = Decimal::whole(text) {
        return read_number(number, unit, now);
    }
    if let Some(wait) = duration::read(text) {
        return Some(Wait::After(wait));
    }
    believable(instant::read(text, now, local)?, now)
}

fn read_number(number: Decimal, unit: Unit, now: Option<Timestamp>) -> Option<Wait> {
    let after = |unit| number.times(unit).and_then(duration::bounded).map(Wait::After);
    match unit {
        Unit::Milliseconds => after(MILLISECOND),
        Unit::Seconds => match epoch(number) {
            Some(at) => believable(at, now),
            None => after(SECOND),
        },
        Unit::EpochSeconds => match epoch(number) {
            Some(at) => believable(at, now),
            // Headers of one name are an epoch from some and seconds from others; zero is an unset field from both.
            None => after(SECOND).filter(|wait| *wait != Wait::After(Duration::ZERO)),
        },
        Unit::EpochMilliseconds => believable(epoch(number)?, now),
        Unit::Instant => None,
    }
}

/// The instant of an epoch in seconds or milliseconds. The size tells which (both ranges begin in
/// September 2001), since servers mix them up: `x-ratelimit-reset` is seconds from some, milliseconds
/// from OpenRouter, and epochs come in fields named seconds. A smaller number is no epoch that a server
/// means: read as one it would be long past, and the client would retry at once, for ever.
fn epoch(number: Decimal) -> Option<Timestamp> {
    let nanos_per_unit = match number.times(1)? {
        1_000_000_000..100_000_000_000 => SECOND,
        1_000_000_000_000..100_000_000_000_000 => MILLISECOND,
        _ => return None,
    };
    let nanos = number.times(nanos_per_unit)?;
    Timestamp::from_nanosecond(i128::try_from(nanos).ok()?).ok()
}

/// `at` as a wait, unless it is too far away, or an unset field: the epoch itself, or year 1 in Go.
fn believable(at: Timestamp, now: Option<Timestamp>) -> Option<Wait> {
    let too_far = now.is_some_and(|now| Wait::At(at).from(now) > duration::LONGEST);
    (at > Timestamp::UNIX_EPOCH && !too_far).then_some(Wait::At(at))
}

/// A text without what surrounds the wait in it.
struct Bare<'a> {
    text: &'a str,
    /// Where a clock without a zone hangs.
    local: Offset,
}

/// Takes off `about`, `~`, `in` and their like, the end of the sentence, and Chinese particles. A date
/// within Chinese words is one in China (Zhipu: `将在 2026-08-29 23:59:59 重置`); otherwise it is UTC.
fn bare(text: &str) -> Bare<'_> {
    let text = text.trim();
    let ends = (text.as_bytes().first(), text.as_bytes().last());
    if let (Some(b'0'..=b'9'), Some(b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z')) = ends {
        return Bare { text, local: Offset::UTC };
    }
    let (text, chinese_before) = without_prefixes(text);
    let (text, chinese_after) = without_suffixes(text);
    Bare { text, local: if chinese_before || chinese_after { instant::CHINA } else { Offset::UTC } }
}

/// The rest of the text, and whether anything Chinese was taken off.
fn without_prefixes(mut text: &str) -> (&str, bool) {
    const WORDS: [&str; 9] = ["in", "after", "about", "at", "on", "until", "around", "approximately", "approx."];
    const CHINESE: [&str; 7] = ["将在", "将于", "大约", "约", "北京时间", "在", "于"];
    let mut chinese = false;
    loop {
        text = text.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '~' | '≈' | '∼'));
        if let Some(rest) = CHINESE.iter().find_map(|word| text.strip_prefix(word)) {
            (text, chinese) = (rest, true);
        } else if let Some(rest) = WORDS.iter().find_map(|word| without_word(text, word)) {
            text = rest;
        } else {
            return (text, chinese);
        }
    }
}

/// What follows a word in any case, if the word ends there.
fn without_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(word.len())?;
    (head.eq_ignore_ascii_case(word) && !rest.starts_with(char::is_alphabetic)).then_some(rest)
}

/// The text up to its end of sentence, and whether anything Chinese was taken off.
fn without_suffixes(mut text: &str) -> (&str, bool) {
    const CHINESE: [&str; 6] = ["重置", "重试", "恢复", "之后", "以后", "后"];
    let mut chinese = false;
    loop {
        text = text.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '.' | ',' | ';' | ')' | ']' | '}' | '。' | '，' | '；' | '）'));
        let Some(rest) = CHINESE.iter().find_map(|word| text.strip_suffix(word)) else {
            return (text, chinese);
        };
        (text, chinese) = (rest, true);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const UNITS: [Unit; 5] = [Unit::Milliseconds, Unit::Seconds, Unit::EpochSeconds, Unit::EpochMilliseconds, Unit::Instant];

    fn at(text: &str) -> Timestamp {
        text.parse().expect("an RFC 3339 instant")
    }

    fn now() -> Timestamp {
        at("2026-06-01T12:00:00Z")
    }

    #[test]
    fn reads_numbers_by_their_unit() {
        use Unit::{EpochMilliseconds, EpochSeconds, Instant, Milliseconds, Seconds};
        let after = |millis| Some(Wait::After(Duration::from_millis(millis)));
        let until = |text| Some(Wait::At(at(text)));
        #[rustfmt::skip]
        let table = [
            ("0", Seconds, after(0)),
            ("30", Seconds, after(30_000)),
            (" 30 ", Seconds, after(30_000)),
            ("+30", Seconds, after(30_000)),
            ("2026", Seconds, after(2_026_000)),
            ("1.5", Seconds, after(1_500)),
            ("20.0", Seconds, after(20_000)),
            ("1e2", Seconds, after(100_000)),
            ("33011.382", Seconds, after(33_011_382)),
            ("86,400", Seconds, after(86_400_000)),
            ("31622400", Seconds, after(31_622_400_000)),
            ("31622401", Seconds, None),
            ("999999999", Seconds, None),
            ("1780322400", Seconds, until("2026-06-01T14:00:00Z")),
            ("1780322400.25", Seconds, until("2026-06-01T14:00:00.25Z")),
            ("1780322400000", Seconds, until("2026-06-01T14:00:00Z")),
            ("1735689620", Seconds, until("2025-01-01T00:00:20Z")),
            ("1000000000", Seconds, until("2001-09-09T01:46:40Z")),
            ("99999999999", Seconds, None),
            ("100000000000", Seconds, None),
            ("99999999999999", Seconds, None),
            ("100000000000000", Seconds, None),
            ("99999999999999999999999999999999999", Seconds, None),
            ("-1", Seconds, None),
            ("-0.5", Seconds, None),
            ("1390", Milliseconds, after(1_390)),
            ("250.0", Milliseconds, after(250)),
            ("0", Milliseconds, after(0)),
            ("1780322400000", Milliseconds, None),
            ("-5", Milliseconds, None),
            ("1780322400", EpochSeconds, until("2026-06-01T14:00:00Z")),
            ("1780322400000", EpochSeconds, until("2026-06-01T14:00:00Z")),
            ("1735689620", EpochSeconds, until("2025-01-01T00:00:20Z")),
            ("0", EpochSeconds, None),
            ("0.0", EpochSeconds, None),
            ("30", EpochSeconds, after(30_000)),
            ("31622401", EpochSeconds, None),
            ("999999999", EpochSeconds, None),
            ("30", EpochMilliseconds, None),
            ("1780322400000", EpochMilliseconds, until("2026-06-01T14:00:00Z")),
            ("1780322400500", EpochMilliseconds, until("2026-06-01T14:00:00.5Z")),
            ("1780322400", EpochMilliseconds, until("2026-06-01T14:00:00Z")),
            ("0", EpochMilliseconds, None),
            ("-1780322400", EpochSeconds, None),
            ("1811944800", EpochSeconds, None), // 367 days away
            ("60", Instant, None),
            ("2026", Instant, None),
            ("20260829", Instant, None),
            ("1780322400", Instant, None),
        ];
        for (text, unit, expected) in table {
            assert_eq!(parse(text, unit, Some(now())), expected, "{text} as {unit:?}");
        }
        assert_eq!(parse("99999999999", Seconds, None), until("5138-11-16T09:46:39Z"), "unbounded without now");
    }

    #[test]
    fn takes_off_what_surrounds_a_wait() {
        #[rustfmt::skip]
        let table: &[(&str, u64)] = &[
            ("~5s", 5_000),
            ("~ 5 s", 5_000),
            ("in ~5s.", 5_000),
            ("in about 5 minutes", 300_000),
            ("About an hour", 3_600_000),
            ("after 9 seconds.", 9_000),
            ("after 30", 30_000),
            ("approx. 2 h", 7_200_000),
            ("3s)", 3_000),
            ("3s),", 3_000),
            ("22.14:18:12.", 1_952_292_000),
            ("5.", 5_000),
            ("seconds: 25\n}", 25_000),
            ("大约 3 秒后重试", 3_000),
            ("将在 5 小时后重置。", 18_000_000),
            ("30 second(s).", 30_000),
            ("\u{a0}7m12s\u{a0}", 432_000),
            // Nothing of the time of day without the present.
            ("2026-06-01T14:00:00Z.", 7_200_000),
            ("at 3pm (UTC).", 10_800_000),
            ("on 2026-06-02 at 00:00 UTC.", 43_200_000),
            ("2026-06-01 20:00:00", 28_800_000),
            ("将在 2026-06-01 20:00:01 重置", 1_000),
            ("北京时间 2026-06-01 20:00:01", 1_000),
            ("将在 2026-06-01 20:00:00 UTC 重置", 28_800_000),
            // Past is no wait.
            ("2026-05-31T00:00:00Z", 0),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 0),
        ];
        for (text, millis) in table {
            let wait = parse(text, Unit::Seconds, Some(now()));
            assert_eq!(wait.map(|wait| wait.from(now())), Some(Duration::from_millis(*millis)), "{text}");
        }
    }

    #[test]
    fn rejects_what_is_no_wait() {
        #[rustfmt::skip]
        let table = [
            "", " ", ".", ")", "~", "in", "about", "in in", "at", "后", "将在", "-", "+", "--5", "- 5", "NaN", "nan", "inf",
            "Infinity", "-inf", "1e999", "true", "null", "{}", "[]", "soon", "a moment", "60x", "60 apples", "5, 10",
            "0x3c", "1_000", "٣", "５", "3s?", "3s later", "(3s", "-5s", "in -5s", "about-5s", "within5s", "inside 5s",
            "367d", "2027-06-03T00:00:00Z", "9999-12-31T23:59:59Z", "10000-01-01T00:00:00Z", "1970-01-01T00:00:00Z",
            "0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "Zun, 29 Sep 2023 16:26:27 GMT",
            "Fri, 29 Sep 100000 16:26:57 GMT", "3pm", "\0", "5s\0",
        ];
        for text in table {
            for unit in UNITS {
                assert_eq!(parse(text, unit, Some(now())), None, "{text} as {unit:?}");
            }
        }
    }

    #[test]
    fn waits_and_instants_convert() {
        let hour = Duration::from_secs(3_600);
        let later = at("2026-06-01T13:00:00Z");
        assert_eq!(Wait::At(later).from(now()), hour);
        assert_eq!(Wait::At(later).from(at("2026-06-02T00:00:00Z")), Duration::ZERO);
        assert_eq!(Wait::At(Timestamp::MIN).from(Timestamp::MAX), Duration::ZERO);
        assert!(Wait::At(Timestamp::MAX).from(Timestamp::MIN) > duration::LONGEST);
        assert_eq!(Wait::After(hour).from(now()), hour);
        assert_eq!(Wait::After(hour).instant(now()), Some(later));
        assert_eq!(Wait::After(hour).instant(Timestamp::MAX), None);
        assert_eq!(Wait::After(Duration::MAX).instant(now()), None);
        assert_eq!(Wait::At(later).instant(now()), Some(later));
    }

    #[test]
    fn long_texts_take_linear_time() {
        let length = 200_000;
        for piece in ["9", "1h", "in ", "~", "后", ".", "a ", "1,000", "1s ", "(", "seconds: 1 ", "P1D", "9:", "+0", "00:00:00 "] {
            let text = piece.repeat(length);
            assert_eq!(parse(&text, Unit::Seconds, Some(now())), None, "{piece}");
        }
    }

    /// As Go's `time.Duration.String` prints it, from a second up.
    fn go(duration: Duration) -> String {
        let (seconds, nanos) = (duration.as_secs(), duration.subsec_nanos());
        let fraction = format!(".{nanos:09}");
        let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
        match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
            (0, 0, s) => format!("{s}{fraction}s"),
            (0, m, s) => format!("{m}m{s}{fraction}s"),
            (h, m, s) => format!("{h}h{m}m{s}{fraction}s"),
        }
    }

    /// Random text made of what the grammar is made of goes deeper than random characters.
    fn wordy() -> impl Strategy<Value = String> {
        #[rustfmt::skip]
        let words = vec![
            "0", "7", "59", "2026", "1780322400", "9999", ".", ",", ":", "-", "+", "/", " ", "T", "Z", "P", "e", "(", ")",
            "[", "h", "m", "s", "ms", "µs", "d", "day", "hours", "and", "a", "an", "in", "about", "~", "UTC", "GMT+8",
            "Jun", "Sun, ", "pm", "at", "seconds", "nanos", "{", "秒", "后", "将在", "北京时间", "\u{202f}", "Asia/Calcutta",
            "9999-12-30", "-5", "12:30:00", "02-29",
        ];
        prop::collection::vec(prop::sample::select(words), 0..12).prop_map(|words| words.concat())
    }

    fn any_now() -> impl Strategy<Value = Option<Timestamp>> {
        let range = Timestamp::MIN.as_second()..=Timestamp::MAX.as_second();
        prop::option::of(range.prop_map(|second| Timestamp::from_second(second).expect("in range")))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

        #[test]
        fn never_panics_nor_exceeds_a_year(
            text in prop_oneof![any::<String>(), "[ -~]{0,40}", wordy()],
            unit in prop::sample::select(UNITS.to_vec()),
            now in any_now(),
        ) {
            if let Some(wait) = parse(&text, unit, now) {
                let present = now.unwrap_or(Timestamp::UNIX_EPOCH);
                let _ = wait.instant(present);
                if now.is_some() || matches!(wait, Wait::After(_)) {
                    prop_assert!(wait.from(present) <= duration::LONGEST);
                }
            }
        }

        #[test]
        fn go_durations_survive_printing(seconds in 0..=366 * 86_400_u64, nanos in 0..1_000_000_000_u32) {
            let duration = Duration::new(seconds, nanos).min(duration::LONGEST);
            for unit in UNITS {
                prop_assert_eq!(parse(&go(duration), unit, None), Some(Wait::After(duration)));
            }
        }

        #[test]
        fn instants_survive_printing(second in 1..253_402_000_000_i64, nanos in 0..1_000_000_000_i32) {
            let at = Timestamp::new(second, nanos).expect("in range");
            prop_assert_eq!(parse(&at.to_string(), Unit::Instant, None), Some(Wait::At(at)));
        }
    }
}
