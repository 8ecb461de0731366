//! Values as text for people.

use std::time::Duration;

use overspill::{Setting, SettingValue, Verdict};
use serde_json::Value;

/// A duration to read: `350 ms`, `12.5 s`, `4 min 10 s`, `2 h 5 min`, `3 d 4 h`.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 => format!("{} ms", duration.as_millis()),
        1..60 => format!("{} s", trimmed(format!("{:.1}", duration.as_secs_f64()))),
        60..3600 => pair(seconds / 60, "min", seconds % 60, "s"),
        3600..86_400 => pair(seconds / 3600, "h", seconds % 3600 / 60, "min"),
        _ => pair(seconds / 86_400, "d", seconds % 86_400 / 3600, "h"),
    }
}

fn trimmed(number: String) -> String {
    number.strip_suffix(".0").map(str::to_owned).unwrap_or(number)
}

fn pair(large: u64, large_unit: &str, small: u64, small_unit: &str) -> String {
    if small == 0 { format!("{large} {large_unit}") } else { format!("{large} {large_unit} {small} {small_unit}") }
}

/// A number with its thousands apart.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let (head, tail) = digits.split_at(first);
    let groups = tail.as_bytes().chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
    std::iter::once(head.to_owned()).chain(groups).filter(|group| !group.is_empty()).collect::<Vec<_>>().join(",")
}

/// An `id` as the input gave it.
pub(crate) fn id(id: &Value) -> String {
    match id {
        Value::Null => String::new(),
        Value::String(id) => id.clone(),
        id => id.to_string(),
    }
}

/// What decided: `provider/id`, `status:429`, or that nothing did.
pub(crate) fn decided_by(verdict: &Verdict) -> String {
    verdict.decided_by().unwrap_or_else(|| "nothing".to_owned())
}

/// A setting's value as rule files write it.
pub(crate) fn setting(value: &SettingValue) -> String {
    match value {
        SettingValue::Integer(number) => number.to_string(),
        SettingValue::Float(number) => format!("{number:?}"),
        SettingValue::Text(text) => text.clone(),
        SettingValue::List(items) => items.join(", "),
        _ => String::new(),
    }
}

/// Where a setting comes from.
pub(crate) fn origin(setting: &Setting) -> &str {
    setting.origin.as_deref().unwrap_or("built in")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_numbers_read_well() {
        let cases = [(350, "350 ms"), (1000, "1 s"), (12_500, "12.5 s"), (60_000, "1 min"), (250_000, "4 min 10 s"), (7_500_000, "2 h 5 min"), (273_600_000, "3 d 4 h")];
        for (millis, text) in cases {
            assert_eq!(duration(Duration::from_millis(millis)), text);
        }
        for (number, text) in [(0, "0"), (12, "12"), (123, "123"), (1234, "1,234"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(number), text);
        }
    }
}
