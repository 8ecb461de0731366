//! Instants: RFC 3339 and its looser kin, HTTP dates, clock times with a zone.

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};

use super::scan::Scan;

/// China has one zone all year.
pub(super) const CHINA: Offset = Offset::constant(8);

/// Reads a text that is nothing but an instant. A date and time without a zone is one at `local`; `now`
/// completes a date without a year and a time without a date.
pub(super) fn read(text: &str, now: Option<Timestamp>, local: Offset) -> Option<Timestamp> {
    let scan = Scan::new(text);
    dated(scan, now, local).or_else(|| time_only(scan, now)).or_else(|| http_date(text))
}

/// IMF-fixdate, RFC 850 or asctime: `retry-after` by the standard (Copilot sends it).
pub(super) fn http_date(text: &str) -> Option<Timestamp> {
    Timestamp::try_from(httpdate::parse_http_date(text).ok()?).ok()
}

/// `2026-05-15T15:00:00Z` (RFC 3339: Anthropic, OpenRouter, Antigravity), `2026-04-01 at 00:00 UTC`
/// (Anthropic), `2026-08-29 23:59:59 +0800 CST` (Go's time.String: Volcengine), `07-28 14:20:00 UTC`,
/// `Dec 15, 3pm (America/Chicago)` (Claude Code), `Jun 5, 2026, 3:00 PM UTC` (JavaScript).
fn dated(mut scan: Scan<'_>, now: Option<Timestamp>, local: Offset) -> Option<Timestamp> {
    let day = numeric_day(&mut scan).or_else(|| named_day(&mut scan))?;
    if scan.is_empty() && day.year.is_some() {
        return day.at(Time::midnight(), &TimeZone::fixed(local), now);
    }
    if !scan.eat("T") && !scan.eat("t") {
        let before = scan.rest().len();
        scan.skip(|c| c == ',' || c.is_whitespace());
        if before == scan.rest().len() {
            return None;
        }
        if scan.eat_word("at") {
            scan.skip_spaces();
        }
    }
    let time = time_of_day(&mut scan)?;
    let zone = zone(scan, Some(local))?;
    day.at(time, &zone, now)
}

/// `3pm (America/Santiago)`, `15:00 (UTC)` (Claude Code): the next such time. Without a zone it is nothing:
/// nobody knows whose clock is meant.
fn time_only(mut scan: Scan<'_>, now: Option<Timestamp>) -> Option<Timestamp> {
    let time = time_of_day(&mut scan)?;
    let zone = zone(scan, None)?;
    let now = now?;
    let today = zone.to_datetime(now).date();
    let at = zone.to_timestamp(today.to_datetime(time)).ok()?;
    if at >= now {
        return Some(at);
    }
    zone.to_timestamp(today.tomorrow().ok()?.to_datetime(time)).ok()
}

/// A day of the calendar, perhaps of an unsaid year.
#[derive(Clone, Copy)]
struct Day {
    year: Option<i16>,
    month: i16,
    day: i16,
}

impl Day {
    /// The instant at which it is `time` on this day in `zone`.
    fn at(self, time: Time, zone: &TimeZone, now: Option<Timestamp>) -> Option<Timestamp> {
        if let Some(year) = self.year {
            return self.in_year(year, time, zone);
        }
        // The next one, except that a reset of a moment ago must not become one in a year.
        let now = now?;
        let earliest = now.checked_sub(std::time::Duration::from_secs(86_400)).ok()?;
        let this_year = zone.to_datetime(now).year();
        (this_year - 1..=this_year + 1).filter_map(|year| self.in_year(year, time, zone)).find(|at| *at >= earliest)
    }

    fn in_year(self, year: i16, time: Time, zone: &TimeZone) -> Option<Timestamp> {
        let date = Date::new(year, i8::try_from(self.month).ok()?, i8::try_from(self.day).ok()?).ok()?;
        zone.to_timestamp(date.to_datetime(time)).ok()
    }
}

/// `2026-08-29`, `2026/08/29`, `08-29`. Digits without a separator are never a date.
fn numeric_day(scan: &mut Scan<'_>) -> Option<Day> {
    let mut ahead = *scan;
    let year = ahead.digits(4, 4);
    let separator = if year.is_some() && ahead.rest().starts_with('/') { "/" } else { "-" };
    if year.is_some() && !ahead.eat(separator) {
        return None;
    }
    // Without a year both have two digits: "1-2" is a range.
    let shortest = if year.is_some() { 1 } else { 2 };
    let month = ahead.digits(shortest, 2)?;
    if !ahead.eat(separator) {
        return None;
    }
    let day = ahead.digits(shortest, 2)?;
    *scan = ahead;
    Some(Day { year, month, day })
}

/// `Dec 15`, `June 5th`, `Jun 5, 2026`.
fn named_day(scan: &mut Scan<'_>) -> Option<Day> {
    let mut ahead = *scan;
    let month = month(ahead.letters())?;
    ahead.skip(|c| c == '.' || c.is_whitespace());
    let day = ahead.digits(1, 2)?;
    let _ordinal = ["st", "nd", "rd", "th"].into_iter().any(|suffix| ahead.eat_word(suffix));
    *scan = ahead;
    ahead.skip(|c| c == ',' || c.is_whitespace());
    let year = ahead.digits(4, 4);
    if year.is_some() {
        *scan = ahead;
    }
    Some(Day { year, month, day })
}

/// The month of a name, in full or in three letters.
fn month(name: &str) -> Option<i16> {
    const NAMES: [&str; 12] = ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"];
    let is = |full: &str| {
        let short = full.get(..3).is_some_and(|short| name.eq_ignore_ascii_case(short));
        short || name.eq_ignore_ascii_case(full)
    };
    NAMES.into_iter().zip(1..).find(|(full, _)| is(full)).map(|(_, number)| number)
}

/// `15:00`, `15:00:30.5`, `3pm`, `6:30 PM`. An hour alone needs its half of the day.
fn time_of_day(scan: &mut Scan<'_>) -> Option<Time> {
    let hour = scan.digits(1, 2)?;
    let (mut minute, mut second, mut nanos) = (None, 0, 0);
    if scan.eat(":") {
        minute = Some(scan.digits(2, 2)?);
        if scan.eat(":") {
            second = scan.digits(2, 2)?;
            nanos = scan.fraction();
        }
    }
    let hour = match half_of_day(scan) {
        Some(first_hour) if (1..=12).contains(&hour) => hour % 12 + first_hour,
        Some(_) => return None,
        None if minute.is_none() => return None,
        None => hour,
    };
    let second = if second == 60 { 59 } else { second }; // a leap second
    let part = |value: i16| i8::try_from(value).ok();
    Time::new(part(hour)?, part(minute.unwrap_or(0))?, part(second)?, i32::try_from(nanos).ok()?).ok()
}

/// The hour with which the half of the day begins that `am` or `pm` names.
fn half_of_day(scan: &mut Scan<'_>) -> Option<i16> {
    let mut ahead = *scan;
    ahead.skip_spaces();
    let first_hour = [("am", 0), ("pm", 12)].into_iter().find(|(name, _)| ahead.eat_word(name));
    let (_, first_hour) = first_hour?;
    *scan = ahead;
    Some(first_hour)
}

/// The zone that is all of the rest: `Z`, `+08:00`, `+0800 CST`, `UTC`, `(UTC+8)`, `(Asia/Calcutta)`.
/// `local` when nothing is left.
fn zone(mut scan: Scan<'_>, local: Option<Offset>) -> Option<TimeZone> {
    scan.skip_spaces();
    if scan.is_empty() {
        return local.map(TimeZone::fixed);
    }
    if scan.eat("(") || scan.eat("（") || scan.eat("[") {
        scan.skip_spaces();
    }
    let mut fixed = scan;
    if let Some(offset) = fixed_offset(&mut fixed) {
        fixed.skip(|c| c.is_whitespace() || matches!(c, ')' | '）' | ']'));
        return fixed.is_empty().then(|| TimeZone::fixed(offset));
    }
    named_zone(scan.rest().trim_end_matches([')', '）', ']', ' ']))
}

/// A zone of the IANA database that is compiled in: the one on disk would make a verdict depend on the host.
fn named_zone(name: &str) -> Option<TimeZone> {
    const LONGEST_NAME: usize = 48;
    if name.len() > LONGEST_NAME {
        return None;
    }
    TimeZoneDatabase::bundled().get(name).ok().filter(|zone| !zone.is_unknown())
}

fn fixed_offset(scan: &mut Scan<'_>) -> Option<Offset> {
    if scan.eat("北京时间") {
        return Some(CHINA);
    }
    if scan.eat_word("Z") {
        return Some(Offset::UTC);
    }
    if scan.eat_word("UTC") || scan.eat_word("GMT") {
        scan.skip_spaces();
        return signed_offset(scan).or(Some(Offset::UTC));
    }
    let offset = signed_offset(scan)?;
    // Go adds the abbreviation ("+0800 CST"), RFC 9557 the name ("+08:00[Asia/Shanghai]"): the offset decides.
    scan.skip(|c| c.is_ascii_alphanumeric() || matches!(c, ' ' | '(' | '[' | '/' | '_' | '+' | '-'));
    Some(offset)
}

/// `+8`, `+08`, `-0330`, `+05:30`.
fn signed_offset(scan: &mut Scan<'_>) -> Option<Offset> {
    let mut ahead = *scan;
    let sign = if ahead.eat("+") {
        1
    } else if ahead.eat("-") {
        -1
    } else {
        return None;
    };
    let run = ahead.digit_run();
    let (hours, minutes): (i32, i32) = match run.len() {
        1 | 2 if ahead.eat(":") => (run.parse().ok()?, i32::from(ahead.digits(2, 2)?)),
        1 | 2 => (run.parse().ok()?, 0),
        4 => (run.get(..2)?.parse().ok()?, run.get(2..)?.parse().ok()?),
        _ => return None,
    };
    if hours > 23 || minutes > 59 {
        return None;
    }
    *scan = ahead;
    Offset::from_seconds(sign * (hours * 3_600 + minutes * 60)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("an RFC 3339 instant")
    }

    #[test]
    fn reads_instants() {
        let now = at("2026-06-01T11:01:23Z");
        #[rustfmt::skip]
        let table: &[(&str, &str)] = &[
            // RFC 3339.
            ("2026-05-15T15:00:00Z", "2026-05-15T15:00:00Z"),
            ("2026-05-15t15:00:00.25z", "2026-05-15T15:00:00.25Z"),
            ("2026-05-15T15:00:00.123456789123Z", "2026-05-15T15:00:00.123456789Z"),
            ("2026-05-15T15:00:00+08:00", "2026-05-15T07:00:00Z"),
            ("2026-05-15T15:00:00-03:30", "2026-05-15T18:30:00Z"),
            ("2026-05-15T15:00:00+08:00[Asia/Shanghai]", "2026-05-15T07:00:00Z"),
            ("2026-12-31T23:59:60Z", "2026-12-31T23:59:59Z"),
            ("2026-05-15T15:00:00", "2026-05-15T15:00:00Z"),
            // Dates in prose and in Go, Python and Chinese output.
            ("2026-08-29 23:59:59 +0800 CST", "2026-08-29T15:59:59Z"),
            ("2026-08-29 23:59:59.5 +0000 UTC", "2026-08-29T23:59:59.5Z"),
            ("2026-04-01 at 00:00 UTC", "2026-04-01T00:00:00Z"),
            ("2026-04-01, 9:05 am GMT", "2026-04-01T09:05:00Z"),
            ("2026-08-29 23:59:59", "2026-08-29T23:59:59Z"),
            ("2026-08-29 23:59:59 UTC", "2026-08-29T23:59:59Z"),
            ("2026-08-29 23:59:59 (UTC+8)", "2026-08-29T15:59:59Z"),
            ("2026-08-29 23:59:59 UTC+8", "2026-08-29T15:59:59Z"),
            ("2026-08-29 23:59:59 UTC+08:00", "2026-08-29T15:59:59Z"),
            ("2026-08-29 23:59:59 (GMT+8", "2026-08-29T15:59:59Z"),
            ("2026-08-29 23:59:59 GMT-7", "2026-08-30T06:59:59Z"),
            ("2026-08-29 23:59:59（北京时间）", "2026-08-29T15:59:59Z"),
            ("2026-08-29 23:59:59 (Asia/Shanghai)", "2026-08-29T15:59:59Z"),
            ("2026/8/29 23:59:59", "2026-08-29T23:59:59Z"),
            ("2026-04-01", "2026-04-01T00:00:00Z"),
            // HTTP dates.
            ("Wed, 01 Oct 2025 00:00:00 GMT", "2025-10-01T00:00:00Z"),
            ("Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z"),
            ("Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37Z"),
            ("Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37Z"),
            // Named months.
            ("Jun 5, 2026, 3:00 PM UTC", "2026-06-05T15:00:00Z"),
            ("Jun 5, 2026, 3:00\u{202f}PM UTC", "2026-06-05T15:00:00Z"), // as recent JavaScript engines print it
            ("June 5th, 2026 at 12:30 am", "2026-06-05T00:30:00Z"),
            ("jun 5 2026", "2026-06-05T00:00:00Z"),
            ("Dec 15, 3pm (America/Chicago)", "2026-12-15T21:00:00Z"),
            ("Dec 15 at 3pm (America/Chicago", "2026-12-15T21:00:00Z"),
            // No year: the next one, or the one of the last day.
            ("07-28 14:20:00 UTC", "2026-07-28T14:20:00Z"),
            ("07-28 14:20:00", "2026-07-28T14:20:00Z"),
            ("05-31 14:20:00 UTC", "2026-05-31T14:20:00Z"),
            ("05-31 11:01:22 UTC", "2027-05-31T11:01:22Z"),
            // Clock and zone.
            ("3pm (America/Santiago)", "2026-06-01T19:00:00Z"),
            ("6:30pm (Asia/Calcutta)", "2026-06-01T13:00:00Z"),
            ("6:30 pm (asia/calcutta)", "2026-06-01T13:00:00Z"),
            ("15:00 (UTC)", "2026-06-01T15:00:00Z"),
            ("15:00:30 UTC", "2026-06-01T15:00:30Z"),
            ("11:01 UTC", "2026-06-02T11:01:00Z"),
            ("11:01:23 UTC", "2026-06-01T11:01:23Z"),
            ("12am (UTC)", "2026-06-02T00:00:00Z"),
            ("12pm UTC", "2026-06-01T12:00:00Z"),
            ("3pm GMT+8", "2026-06-02T07:00:00Z"),
        ];
        for (text, expected) in table {
            assert_eq!(read(text, Some(now), Offset::UTC), Some(at(expected)), "{text}");
        }
    }

    #[test]
    fn completes_dates_from_now() {
        #[rustfmt::skip]
        let table: &[(&str, &str, Option<&str>)] = &[
            ("3pm (America/Santiago)", "2025-10-09T15:00:00Z", Some("2025-10-09T18:00:00Z")),
            ("1pm (America/Los_Angeles)", "2026-03-27T17:31:37Z", Some("2026-03-27T20:00:00Z")),
            ("1am (America/Los_Angeles)", "2026-03-27T07:30:00Z", Some("2026-03-27T08:00:00Z")),
            // 2:30 does not exist that night, the clocks go to 3.
            ("2:30am (America/New_York)", "2024-03-10T05:00:00Z", Some("2024-03-10T07:30:00Z")),
            ("01-01 00:10:00 UTC", "2025-12-31T23:50:00Z", Some("2026-01-01T00:10:00Z")),
            ("12-31 23:50:00 UTC", "2026-01-01T00:10:00Z", Some("2025-12-31T23:50:00Z")),
            ("02-29 00:00:00 UTC", "2025-02-01T00:00:00Z", None),
            ("Dec 15, 3pm (America/Chicago)", "2026-12-15T22:00:00Z", Some("2026-12-15T21:00:00Z")),
            ("3pm (UTC)", "9999-12-30T20:00:00Z", None),
            ("3pm (UTC)", "-009999-01-02T02:00:00Z", Some("-009999-01-02T15:00:00Z")),
        ];
        for (text, now, expected) in table {
            assert_eq!(read(text, Some(at(now)), Offset::UTC), expected.map(at), "{text} at {now}");
        }
        for text in ["3pm (UTC)", "07-28 14:20:00 UTC", "Dec 15, 3pm (UTC)"] {
            assert_eq!(read(text, None, Offset::UTC), None, "{text} needs to know the present");
        }
        assert_eq!(read("2026-08-29 23:59:59", None, CHINA), Some(at("2026-08-29T15:59:59Z")));
    }

    #[test]
    fn rejects_what_is_no_instant() {
        let now = at("2026-06-01T11:01:23Z");
        #[rustfmt::skip]
        let table = [
            "", "60", "2026", "20260829", "202608", "20260829T120000Z", "1-2", "10-20", "07-28", "7-28 14:20", "3", "15",
            "3pm", "15:00", "3:00 PM", "25:00 UTC", "13pm (UTC)", "0am (UTC)", "15:60 UTC", "3pm (Mars/Olympus)",
            "3pm (", "3pm ()", "3pm UTC x", "3pm UTC+25", "3pm (../etc/passwd)", "3pm (CST)", "3 o'clock UTC",
            "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-05-15T24:00:00Z", "2026-05-15T15Z",
            "2026-05-15T15:00:00Zebra", "2026-05-15T15:00:00X", "2026-05-1515:00", "2026-05/15 15:00",
            "12026-05-15T15:00:00Z", "026-05-15T15:00:00Z", "2026-05-15T15:00:00+99:00", "2026-05-15T15:00:00+08:0",
            "Zun, 29 Sep 2023 16:26:27 GMT", "Mon, 29 Sep 2023 16:26:27 GMT", "Fri, 29 Sep 100000 16:26:57 GMT",
            "Fri, 29 Sep 2023 16:26:27 PST", "Fri, 31 Feb 2023 16:26:27 GMT", "Fri, 29 Sep 2023", "Decem 15, 3pm UTC",
            "Dec 32, 3pm UTC", "Dec 15", "Dec, 3pm UTC", "tomorrow", "soon", "2026年8月29日", "不久",
        ];
        for text in table {
            assert_eq!(read(text, Some(now), Offset::UTC), None, "{text}");
        }
    }
}
