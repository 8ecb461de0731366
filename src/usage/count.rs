//! A number of tokens as JSON writes it: nothing that stands there makes it fail, and nothing counts below zero.

/// The count that a scalar states: `1234`, `1234.0`, `1.2e5`, `"1234"`. Below zero is zero, a fraction is cut off, and what is too large is the largest. `None` for what is no number.
pub(super) fn read_count(token: &str) -> Option<u64> {
    let text = token.trim_matches(['"', ' ']);
    if !text.starts_with(|first: char| first.is_ascii_digit() || first == '-') {
        return None;
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(text.parse().unwrap_or(u64::MAX));
    }
    // A cast from a float saturates.
    text.parse::<f64>().ok().map(|number| number as u64)
}

#[cfg(test)]
mod tests {
    use super::read_count;

    #[test]
    fn counts() {
        let cases = [
            ("0", Some(0)),
            ("150000", Some(150_000)),
            ("\"150000\"", Some(150_000)),
            ("-5", Some(0)),
            ("-0.5", Some(0)),
            ("-1e400", Some(0)),
            ("1999.9", Some(1999)),
            ("2e5", Some(200_000)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", Some(u64::MAX)),
            ("1e300", Some(u64::MAX)),
            ("1e999", Some(u64::MAX)),
            ("null", None),
            ("true", None),
            ("NaN", None),
            ("Infinity", None),
            ("\"\"", None),
            ("\"12 tokens\"", None),
            ("-", None),
            ("", None),
        ];
        for (token, expected) in cases {
            assert_eq!(read_count(token), expected, "{token}");
        }
    }
}
