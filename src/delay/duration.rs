//! Waits from now: compact and in words, clock-like, ISO-8601 and protobuf text.

use std::time::Duration;

use super::scan::{Decimal, Scan};

/// The longest wait that is believed: a year. Anything above is a mistake of the server, or of its units.
pub(super) const LONGEST: Duration = Duration::from_secs(366 * 86_400);

pub(super) const MILLISECOND: u64 = 1_000_000;
pub(super) const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const WEEK: u64 = 7 * DAY;

/// Reads a text that is nothing but a duration with its units.
pub(super) fn read(text: &str) -> Option<Duration> {
    let nanos = match text.as_bytes().first()? {
        b'0'..=b'9' => quantities(text).or_else(|| colons(text)),
        b'P' | b'p' => iso(text),
        _ => quantities(text).or_else(|| protobuf(text)),
    };
    bounded(nanos?)
}

/// The duration of so many nanoseconds, unless it is longer than any wait that is believed.
pub(super) fn bounded(nanos: u128) -> Option<Duration> {
    let duration = Duration::from_nanos(u64::try_from(nanos).ok()?);
    (duration <= LONGEST).then_some(duration)
}

/// `6m0s` as Go prints it (OpenAI, Groq, Antigravity), `34.074824224s` (protobuf JSON), `30d 4h 29m`
/// (Antigravity), `8 hours and 24 minutes`, `an hour` (Copilot, Codex, opencode), `5 小时 30 分钟`.
fn quantities(text: &str) -> Option<u128> {
    let mut scan = Scan::new(text);
    let mut total: u128 = 0;
    let mut above = u64::MAX;
    loop {
        if above == DAY
            && let Some(clock) = clock(scan)
        {
            // Python's timedelta: "1 day, 2:03:04".
            return total.checked_add(clock);
        }
        let amount = amount(&mut scan)?;
        scan.skip_spaces();
        let unit = unit(scan.letters())?;
        if scan.eat("(s") {
            scan.eat(")"); // "30 second(s)"
        }
        // Every sender goes from the largest unit down; "5m 3h" is two things, not one wait.
        if unit >= above {
            return None;
        }
        above = unit;
        total = total.checked_add(amount.times(unit)?)?;
        scan.skip_spaces();
        if scan.is_empty() {
            return Some(total);
        }
        scan.skip(|c| c == ',' || c.is_whitespace());
        if scan.eat_word("and") {
            scan.skip_spaces();
        }
    }
}

/// A number, or the article that stands for one.
fn amount(scan: &mut Scan<'_>) -> Option<Decimal> {
    if let Some(number) = scan.decimal() {
        return Some(number);
    }
    ["a", "an", "one"].into_iter().any(|one| scan.eat_word(one)).then_some(Decimal::ONE)
}

/// The nanoseconds of a unit, in any case. Months and years are no units: they have no fixed length.
fn unit(word: &str) -> Option<u64> {
    lower_case_unit(word).or_else(|| {
        let mut buffer = [0; 16];
        let lower = buffer.get_mut(..word.len())?;
        lower.copy_from_slice(word.as_bytes());
        lower.make_ascii_lowercase();
        lower_case_unit(std::str::from_utf8(lower).ok()?)
    })
}

fn lower_case_unit(word: &str) -> Option<u64> {
    Some(match word {
        "s" | "sec" | "secs" | "second" | "seconds" | "segundo" | "segundos" | "seconde" | "secondes" | "sekunde" | "sekunden" | "secondi" | "秒" | "秒钟" | "秒鐘" => SECOND,
        "ms" | "msec" | "msecs" | "milli" | "millis" | "millisecond" | "milliseconds" | "毫秒" => MILLISECOND,
        "m" | "min" | "mins" | "minute" | "minutes" | "minuto" | "minutos" | "minuten" | "minuti" | "分" | "分钟" | "分鐘" => MINUTE,
        "h" | "hr" | "hrs" | "hour" | "hours" | "hora" | "horas" | "heure" | "heures" | "stunde" | "stunden" | "ora" | "ore" | "时" | "小时" | "个小时" | "小時" => HOUR,
        "d" | "day" | "days" | "天" | "日" => DAY,
        "w" | "wk" | "wks" | "week" | "weeks" | "周" | "星期" | "个星期" => WEEK,
        // Both micro signs: Go prints U+00B5 and reads U+03BC too.
        "us" | "µs" | "μs" | "usec" | "microsecond" | "microseconds" | "微秒" => 1_000,
        "ns" | "nanosecond" | "nanoseconds" | "纳秒" => 1,
        _ => return None,
    })
}

/// `[d.]hh:mm:ss[.f]`, a .NET TimeSpan: "replenished in 22.14:18:12" (Azure API Management).
fn colons(text: &str) -> Option<u128> {
    let mut scan = Scan::new(text);
    if let Some(nanos) = clock(scan) {
        return Some(nanos);
    }
    let days = scan.digits(1, 4)?;
    if !scan.eat(".") {
        return None;
    }
    let time = clock(scan).filter(|nanos| *nanos < u128::from(DAY))?;
    time.checked_add(u128::from(days.unsigned_abs()) * u128::from(DAY))
}

/// `hh:mm:ss[.f]` to the end. Hours may go beyond a day.
fn clock(mut scan: Scan<'_>) -> Option<u128> {
    let hours = scan.digits(1, 4)?;
    let minutes = scan.eat(":").then(|| scan.digits(2, 2))?.filter(|minutes| *minutes < 60)?;
    let seconds = scan.eat(":").then(|| scan.digits(2, 2))?.filter(|seconds| *seconds < 60)?;
    let nanos = scan.fraction();
    let units = [(hours, HOUR), (minutes, MINUTE), (seconds, SECOND)];
    let total: u128 = units.into_iter().map(|(count, unit)| u128::from(count.unsigned_abs()) * u128::from(unit)).sum();
    scan.is_empty().then_some(total + u128::from(nanos))
}

/// ISO-8601 without years and months, whose length depends on the calendar: `PT1M30S`, `P1DT2H`, `P2W`.
fn iso(text: &str) -> Option<u128> {
    let mut scan = Scan::new(text);
    if !scan.eat("P") && !scan.eat("p") {
        return None;
    }
    let mut total: u128 = 0;
    let mut above = u64::MAX;
    let mut in_time = false;
    loop {
        if !in_time && (scan.eat("T") || scan.eat("t")) {
            in_time = true;
        }
        let amount = scan.decimal()?;
        let (designator, rest) = scan.rest().split_at_checked(1)?;
        let unit = match (in_time, designator) {
            (false, "W" | "w") => WEEK,
            (false, "D" | "d") => DAY,
            (true, "H" | "h") => HOUR,
            (true, "M" | "m") => MINUTE,
            (true, "S" | "s") => SECOND,
            _ => return None,
        };
        if unit >= above {
            return None;
        }
        above = unit;
        total = total.checked_add(amount.times(unit)?)?;
        scan = Scan::new(rest);
        if scan.is_empty() {
            return Some(total);
        }
    }
}

/// `seconds: 25 nanos: 5`: a `google.protobuf.Duration` as text, as `google.api_core` prints it inside
/// `retry_delay { ... }`, or as the JSON object that some gateways make of it.
fn protobuf(text: &str) -> Option<u128> {
    let punctuation = |c: char| c.is_whitespace() || matches!(c, '{' | '}' | '"' | ',');
    let mut scan = Scan::new(text);
    scan.skip(punctuation);
    if scan.eat("retry_delay") {
        scan.skip(|c| c == ':' || punctuation(c));
    }
    let (mut seconds, mut nanos) = (None, None);
    loop {
        let (field, unit) = match scan.letters() {
            "seconds" => (&mut seconds, SECOND),
            "nanos" => (&mut nanos, 1),
            _ => return None,
        };
        scan.skip(punctuation);
        if field.is_some() || !scan.eat(":") {
            return None;
        }
        scan.skip(punctuation);
        *field = Some(scan.decimal()?.times(unit)?);
        scan.skip(punctuation);
        if scan.is_empty() {
            return seconds.unwrap_or(0).checked_add(nanos.unwrap_or(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_durations() {
        #[rustfmt::skip]
        let table: &[(&str, u64)] = &[
            // Go durations, as OpenAI, Groq and Antigravity print them.
            ("1s", SECOND),
            ("0s", 0),
            ("6m0s", 6 * MINUTE),
            ("8.64s", 8_640_000_000),
            ("120ms", 120 * MILLISECOND),
            ("2m59.56s", 179_560_000_000),
            ("7m12s", 432 * SECOND),
            ("1m47.5854s", 107_585_400_000),
            ("9m38.016s", 578_016_000_000),
            ("143h57m55s", 518_275 * SECOND),
            ("160h20m10.725405548s", 577_210_725_405_548),
            ("1h0m0.5s", HOUR + SECOND / 2),
            ("539.477544ms", 539_477_544),
            ("900.2ms", 900_200_000),
            ("1.984999999s", 1_984_999_999),
            ("250us", 250_000),
            ("250µs", 250_000), // U+00B5
            ("250μs", 250_000), // U+03BC
            ("17ns", 17),
            ("1.7ns", 1),
            ("1e3ms", SECOND),
            // Protobuf JSON: RetryInfo.retryDelay.
            ("34.074824224s", 34_074_824_224),
            ("577210.725405548s", 577_210_725_405_548),
            // Compact with days.
            ("30d 4h 29m", 30 * DAY + 4 * HOUR + 29 * MINUTE),
            ("30d4h29m", 30 * DAY + 4 * HOUR + 29 * MINUTE),
            ("2w", 2 * WEEK),
            ("5S", 5 * SECOND),
            // Words.
            ("58 hours", 58 * HOUR),
            ("1 minute", MINUTE),
            ("30 seconds", 30 * SECOND),
            ("30 second(s)", 30 * SECOND),
            ("30 second(s", 30 * SECOND), // after the closing bracket was taken for an ending
            ("86,400 seconds", DAY),
            ("2 weeks", 2 * WEEK),
            ("16 days", 16 * DAY),
            ("1.5 hrs", 90 * MINUTE),
            ("500 milliseconds", SECOND / 2),
            ("5 days 22 hours 11 minutes", 511_860 * SECOND),
            ("8 hours and 24 minutes", 8 * HOUR + 24 * MINUTE),
            ("1 day, 2 hours, and 3 minutes", DAY + 2 * HOUR + 3 * MINUTE),
            ("10 Days 19 Hours", 932_400 * SECOND),
            ("an hour", HOUR),
            ("a minute", MINUTE),
            ("A day", DAY),
            ("one week", WEEK),
            // Chinese.
            ("3秒", 3 * SECOND),
            ("3 秒钟", 3 * SECOND),
            ("5分钟", 5 * MINUTE),
            ("1分30秒", 90 * SECOND),
            ("5 小时 30 分钟", 330 * MINUTE),
            ("2个小时", 2 * HOUR),
            ("7天", 7 * DAY),
            ("500毫秒", SECOND / 2),
            // Spanish and Portuguese, French, German, Italian.
            ("4 segundos", 4 * SECOND),
            ("1 minuto", MINUTE),
            ("2 Horas", 2 * HOUR),
            ("4 secondes", 4 * SECOND),
            ("1 heure", HOUR),
            ("4 Sekunden", 4 * SECOND),
            ("1 Stunde 5 Minuten", HOUR + 5 * MINUTE),
            ("5 secondi", 5 * SECOND),
            // Clock-like: .NET, Python.
            ("22.14:18:12", 1_952_292 * SECOND),
            ("14:18:12", 51_492 * SECOND),
            ("00:00:05.1234567", 5_123_456_700),
            ("36:00:00", 36 * HOUR),
            ("1 day, 2:03:04", DAY + 2 * HOUR + 3 * MINUTE + 4 * SECOND),
            // ISO-8601.
            ("PT1M30S", 90 * SECOND),
            ("P1DT2H", 26 * HOUR),
            ("P2W", 2 * WEEK),
            ("PT0.5S", SECOND / 2),
            ("pt36h", 36 * HOUR),
            // Protobuf text and its kin.
            ("seconds: 25", 25 * SECOND),
            ("seconds: 25 nanos: 5", 25_000_000_005),
            ("seconds: 25\n  nanos: 922789297\n}", 25_922_789_297),
            ("nanos: 500000000", SECOND / 2),
            ("retry_delay {\n  seconds: 5\n}", 5 * SECOND),
            (r#"{"seconds":"30","nanos":7}"#, 30_000_000_007),
            // The longest.
            ("366 days", 366 * DAY),
        ];
        for (text, nanos) in table {
            assert_eq!(read(text), Some(Duration::from_nanos(*nanos)), "{text}");
        }
    }

    #[test]
    fn rejects_what_is_no_duration() {
        #[rustfmt::skip]
        let table = [
            "", " ", "s", "m5", "60", "1.5", "-1s", "--1s", "1s-", "1m30", "1 minute 30", "1h and", "5 apples",
            "1m 3h", "1s1s", "5-10 s", "a", "an", "a few seconds", "a moment", "half an hour", "an hour and",
            "24-hour", "inf s", "NaNs", "1..5s", "1.s5", "5 months", "1 year", "1y", "ses", "1µ", "1 S.",
            "367 days", "366 days 1 ns", "9999999999999999999999999h", "1e400s", "99999999999999999999w",
            "14:60:00", "14:00:60", "14:5:00", "14:18", "22.24:00:00", "99999:00:00", "1:2:3:4", "22.14:18:12Z",
            "P", "PT", "P1DT", "P1M", "P1Y", "PT5", "PT5X", "PTS", "P1H", "PT1S1M", "-PT5S", "PT-5S", "PT5秒",
            "seconds", "seconds:", "seconds: x", "seconds: -5", "seconds: 1 seconds: 2", "seconds 5", "minutes: 5",
            "retry_delay {}", "{}", "秒", "三秒", "5秒秒", "thirtyseconds of waiting that no table has",
        ];
        for text in table {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
