//! Numbers as people write them who have never seen TOML: `200,000`, `20%`, `128k`.

/// Reads one way of writing.
type Read = fn(&str) -> Option<String>;

/// The ways, each with what is to be known about it.
const WAYS: [(Read, &str); 6] = [
    (percent, "a share is written as a fraction"),
    (grouped, "digits are grouped with _, or not at all"),
    (with_comma, "the decimal sign is a point"),
    (short, "numbers are written out"),
    (product, "nothing is computed here"),
    (after_zeros, "a number does not begin with a zero"),
];

/// Between the groups of digits of a large number.
const SEPARATORS: [char; 8] = [',', '.', ' ', '\'', '_', '\u{2019}', '\u{a0}', '\u{202f}'];

/// The number that was meant, as TOML writes it, and why it is not taken as it stands.
pub(super) fn meant(text: &str) -> Option<(String, &'static str)> {
    WAYS.iter().find_map(|(read, why)| Some((read(text)?, *why)))
}

/// The one number among other characters: `5 times`, `>= 5`.
pub(super) fn among_others(text: &str) -> Option<String> {
    let mut numbers = text.split(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_'))).map(|part| part.trim_matches(['.', '_'])).filter(|part| !part.is_empty());
    let number = numbers.next()?;
    (numbers.next().is_none() && number.replace('_', "").parse::<f64>().is_ok()).then(|| number.to_owned())
}

fn percent(text: &str) -> Option<String> {
    let share = text.strip_suffix('%')?.trim_end();
    share.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.').then_some(share)?.parse::<f64>().ok().map(|share| (share / 100.0).to_string())
}

fn grouped(text: &str) -> Option<String> {
    let separator = text.chars().find(|c| !c.is_ascii_digit()).filter(|c| SEPARATORS.contains(c))?;
    let groups: Vec<_> = text.split(separator).collect();
    let digits = groups.concat();
    let (first, rest) = groups.split_first()?;
    let fits = (1..=3).contains(&first.len()) && rest.iter().all(|group| group.len() == 3);
    // One point is that of a fraction.
    let fits = (fits && (separator != '.' || rest.len() > 1)) || separator == '_';
    (fits && is_digits(&digits)).then(|| in_groups(&digits))
}

fn with_comma(text: &str) -> Option<String> {
    let (whole, fraction) = text.split_once(',')?;
    (is_digits(whole) && is_digits(fraction)).then(|| format!("{whole}.{fraction}"))
}

/// `200k`, `1.5M`, `128K tokens`.
fn short(text: &str) -> Option<String> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_')))?;
    let (number, unit) = text.split_at(end);
    let times = match unit.trim_start().chars().next()? {
        'k' | 'K' => 1e3,
        'm' | 'M' => 1e6,
        _ => return None,
    };
    let is_alone = !unit.trim_start()[1..].starts_with(|c: char| c.is_alphanumeric());
    let number = number.replace('_', "").parse::<f64>().ok().filter(|_| is_alone)? * times;
    (number.fract() == 0.0 && number < 1e15).then(|| in_groups(&number.to_string()))
}

fn product(text: &str) -> Option<String> {
    let mut factors = text.split(['*', '×']).map(str::trim);
    let first = factors.next()?;
    let mut product: u64 = first.replace('_', "").parse().ok()?;
    let mut is_product = false;
    for factor in factors {
        product = product.checked_mul(factor.replace('_', "").parse().ok()?)?;
        is_product = true;
    }
    is_product.then(|| in_groups(&product.to_string()))
}

fn after_zeros(text: &str) -> Option<String> {
    let number = text.strip_prefix('0').filter(|_| is_digits(text))?.trim_start_matches('0');
    Some(if number.is_empty() { "0".to_owned() } else { number.to_owned() })
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `200_000` for 200000.
fn in_groups(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && digits.len() > 4 && (digits.len() - index).is_multiple_of(3) {
            text.push('_');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{among_others, meant};

    #[test]
    fn numbers_are_what_their_writers_meant() {
        let cases = [
            ("20%", "0.2"),
            ("7.5 %", "0.075"),
            ("200,000", "200_000"),
            ("200 000", "200_000"),
            ("200'000", "200_000"),
            ("1.000.000", "1_000_000"),
            ("1__000", "1000"),
            ("1,5", "1.5"),
            ("0,25", "0.25"),
            ("128k", "128_000"),
            ("1.5M tokens", "1_500_000"),
            ("200 * 1000", "200_000"),
            ("05", "5"),
            ("000", "0"),
        ];
        for (written, number) in cases {
            assert_eq!(meant(written).map(|(number, _)| number).as_deref(), Some(number), "{written}");
        }
        for written in ["400-499", "2026-08", "5xx", "5 kg", "1.5", "5", "", "%", "2 ** 17", "words", "1,2,3", "5min"] {
            assert_eq!(meant(written), None, "{written}");
        }
        for (written, number) in [("5 times", Some("5")), (">= 5", Some("5")), ("~200_000", Some("200_000")), ("1 to 5", None), ("many", None)] {
            assert_eq!(among_others(written).as_deref(), number, "{written}");
        }
    }
}
