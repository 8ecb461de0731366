//! A cursor over a short text, and the decimal numbers that servers write.

/// A position in a text. Copying it is how a reader looks ahead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scan<'a> {
    rest: &'a str,
}

impl<'a> Scan<'a> {
    /// A cursor at the start of `text`.
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    /// What has not been read yet.
    pub(super) fn rest(&self) -> &'a str {
        self.rest
    }

    /// Whether everything has been read.
    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Reads `expected` if it comes next, as written.
    pub(super) fn eat(&mut self, expected: &str) -> bool {
        match self.rest.strip_prefix(expected) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Reads an ASCII word in any case, unless a longer word goes on there.
    pub(super) fn eat_word(&mut self, expected: &str) -> bool {
        let Some((head, rest)) = self.rest.split_at_checked(expected.len()) else {
            return false;
        };
        if !head.eq_ignore_ascii_case(expected) || rest.starts_with(char::is_alphanumeric) {
            return false;
        }
        self.rest = rest;
        true
    }

    /// Reads white space, including the narrow no-break spaces that JavaScript puts before `PM`.
    pub(super) fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Reads every character that `skipped` holds for.
    pub(super) fn skip(&mut self, skipped: impl FnMut(char) -> bool) {
        self.rest = self.rest.trim_start_matches(skipped);
    }

    /// Reads a run of letters of any script; empty if there is none.
    pub(super) fn letters(&mut self) -> &'a str {
        self.run(|c| !c.is_alphabetic())
    }

    /// Reads a run of ASCII digits; empty if there is none.
    pub(super) fn digit_run(&mut self) -> &'a str {
        self.run(|c| !c.is_ascii_digit())
    }

    /// Reads a whole number of at least `min` and at most `max` digits, and leaves a longer run.
    pub(super) fn digits(&mut self, min: usize, max: usize) -> Option<i16> {
        let mut ahead = *self;
        let run = ahead.digit_run();
        if !(min..=max).contains(&run.len()) {
            return None;
        }
        let number = run.parse().ok()?;
        *self = ahead;
        Some(number)
    }

    /// Reads the fraction of a second, `.5`, as nanoseconds; 0 if there is none.
    pub(super) fn fraction(&mut self) -> u32 {
        let mut ahead = *self;
        if !ahead.eat(".") {
            return 0;
        }
        let run = ahead.digit_run().as_bytes();
        if run.is_empty() {
            return 0;
        }
        *self = ahead;
        // What is finer than a nanosecond is cut, what is missing is zero.
        (0..9).fold(0, |nanos, at| nanos * 10 + run.get(at).map_or(0, |digit| u32::from(digit - b'0')))
    }

    /// Reads a decimal number without a sign, and leaves the text as it is if there is none.
    pub(super) fn decimal(&mut self) -> Option<Decimal> {
        let bytes = self.rest.as_bytes();
        let digit = |at: usize| bytes.get(at).copied().filter(u8::is_ascii_digit);
        let mut number = Decimal { mantissa: 0, exponent: 0 };
        let mut at = 0;

        while let Some(value) = digit(at) {
            number.push(value, false);
            at += 1;
            // 86,400: groups of three, so that a list such as "5,10" is no number.
            if at <= 3 && bytes.get(at) == Some(&b',') {
                while bytes.get(at) == Some(&b',') && (1..=3).all(|ahead| digit(at + ahead).is_some()) && digit(at + 4).is_none() {
                    (1..=3).filter_map(|ahead| digit(at + ahead)).for_each(|d| number.push(d, false));
                    at += 4;
                }
                break;
            }
        }
        let whole = at > 0;
        if bytes.get(at) == Some(&b'.') && digit(at + 1).is_some() {
            at += 1;
            while let Some(value) = digit(at) {
                number.push(value, true);
                at += 1;
            }
        } else if !whole {
            return None;
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            let negative = bytes.get(at + 1) == Some(&b'-');
            let mut ahead = at + 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
            let mut exponent: i64 = 0;
            while let Some(value) = digit(ahead) {
                exponent = (exponent * 10 + i64::from(value - b'0')).min(EXPONENT_LIMIT);
                ahead += 1;
                at = ahead;
            }
            number.exponent = number.exponent.saturating_add(if negative { -exponent } else { exponent });
        }
        self.rest = self.rest.get(at..)?;
        Some(number)
    }

    fn run(&mut self, ends: impl FnMut(char) -> bool) -> &'a str {
        let length = self.rest.find(ends).unwrap_or(self.rest.len());
        let (run, rest) = self.rest.split_at(length);
        self.rest = rest;
        run
    }
}

/// Above every exponent that can matter, and far from overflow.
const EXPONENT_LIMIT: i64 = 1 << 40;

/// A number that is zero or more, as written: `mantissa * 10^exponent`. No rounding, unlike a float:
/// a wait of 1.984999999 s must not become 1985 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    mantissa: u64,
    exponent: i64,
}

impl Decimal {
    /// The number one, written as "a" or "an".
    pub(super) const ONE: Self = Self { mantissa: 1, exponent: 0 };

    /// The number that is all of `text`; a plus sign is allowed, a minus sign is not.
    pub(super) fn whole(text: &str) -> Option<Self> {
        let mut scan = Scan::new(text);
        scan.eat("+");
        let number = scan.decimal()?;
        scan.is_empty().then_some(number)
    }

    /// The product with `unit`, its fraction cut; `None` if it is beyond all reason.
    pub(super) fn times(self, unit: u64) -> Option<u128> {
        let product = u128::from(self.mantissa) * u128::from(unit);
        if self.exponent == 0 || product == 0 {
            return Some(product);
        }
        let power = u32::try_from(self.exponent.unsigned_abs()).ok().and_then(|exponent| 10u128.checked_pow(exponent));
        if self.exponent > 0 {
            return product.checked_mul(power?);
        }
        let Some(power) = power else { return Some(0) };
        // Dividing in 64 bits is several times faster, and nearly every wait fits.
        match (u64::try_from(product), u64::try_from(power)) {
            (Ok(product), Ok(power)) => Some(u128::from(product / power)),
            _ => Some(product / power),
        }
    }

    fn push(&mut self, digit: u8, fraction: bool) {
        // Once full, it stays full: later digits only count as places.
        if self.mantissa <= (u64::MAX - 9) / 10 {
            self.mantissa = self.mantissa * 10 + u64::from(digit - b'0');
            self.exponent -= i64::from(fraction);
        } else if !fraction {
            self.exponent += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_decimals_exactly() {
        #[rustfmt::skip]
        let table: &[(&str, u64, Option<u128>)] = &[
            ("0", 1, Some(0)),
            ("0000000000000000000000000000000000000042", 1, Some(42)),
            ("1.984999999", 1_000_000_000, Some(1_984_999_999)),
            ("0.1", 1_000, Some(100)),
            (".5", 10, Some(5)),
            ("+7", 1, Some(7)),
            ("1e3", 1, Some(1_000)),
            ("1.5E+3", 1, Some(1_500)),
            ("25e-1", 10, Some(25)),
            ("1e-99999999999999999999", 1_000, Some(0)),
            ("0e99999999999999999999", 1_000, Some(0)),
            ("1e99999999999999999999", 1, None),
            ("1e39", 1, None),
            ("10000000000000000000000e-21", 1, Some(10)),
            ("0.12345678901234567890123456789", 1_000_000_000, Some(123_456_789)),
            ("86,400", 1, Some(86_400)),
            ("1,234,567.5", 10, Some(12_345_675)),
        ];
        for (text, unit, expected) in table {
            let read = Decimal::whole(text).map(|number| number.times(*unit));
            assert_eq!(read, Some(*expected), "{text}");
        }
        for text in ["", "+", "-", "-1", ".", "1.", "e5", "1e", "1e+", "1,2", "1,2345", "1234,567", "1,,000", "0x10", "1_000", "٣", "NaN", "inf", "1 2"] {
            assert_eq!(Decimal::whole(text), None, "{text}");
        }
    }

    #[test]
    fn reads_fractions_of_a_second() {
        for (text, nanos, rest) in [(".5", 500_000_000, ""), (".123456789123Z", 123_456_789, "Z"), (".000000001", 1, ""), (".Z", 0, ".Z"), ("Z", 0, "Z")] {
            let mut scan = Scan::new(text);
            assert_eq!((scan.fraction(), scan.rest()), (nanos, rest), "{text}");
        }
    }
}
