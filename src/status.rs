//! Sets of HTTP statuses as rule files write them: `400`, `"5xx"`, `"520-527"`, `"none"`.

use std::fmt;

/// A set of HTTP statuses from 100 to 599, plus "no status known". A fixed bitmap, so that asking costs one load.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct StatusSet {
    bits: [u64; 10],
}

impl StatusSet {
    /// Whether the status is in the set; `None` is "no status known".
    #[must_use]
    pub fn contains(&self, status: Option<u16>) -> bool {
        let bit = usize::from(status.unwrap_or(0));
        self.bits.get(bit / 64).is_some_and(|word| word & (1 << (bit % 64)) != 0)
    }

    /// Whether nothing is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bits.iter().all(|&word| word == 0)
    }

    /// How many there are, "none" included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bits.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The statuses in the set, ascending; `None` first.
    pub fn iter(&self) -> impl Iterator<Item = Option<u16>> + '_ {
        std::iter::once(None).chain((100..600).map(Some)).filter(|&status| self.contains(status))
    }

    /// Adds one item as rule files write it. `false`, and no change, when it is none.
    pub(crate) fn insert_item(&mut self, item: &str) -> bool {
        let Some((first, last)) = parse_item(item) else {
            return false;
        };
        for bit in first..=last {
            self.bits[usize::from(bit) / 64] |= 1 << (bit % 64);
        }
        true
    }
}

/// The inclusive range that an item stands for; 0 is "none".
fn parse_item(item: &str) -> Option<(u16, u16)> {
    if item == "none" {
        return Some((0, 0));
    }
    if let Some(class) = item.strip_suffix("xx") {
        let class: u16 = class.parse().ok().filter(|class| (1..=5).contains(class))?;
        return Some((class * 100, class * 100 + 99));
    }
    if let Some((first, last)) = item.split_once('-') {
        let (first, last) = (parse_code(first.trim())?, parse_code(last.trim())?);
        return (first <= last).then_some((first, last));
    }
    parse_code(item).map(|code| (code, code))
}

fn parse_code(text: &str) -> Option<u16> {
    let digits = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|code| digits && (100..600).contains(code))
}

impl fmt::Debug for StatusSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The shortest way to write the set: whole classes and ranges are folded.
impl fmt::Display for StatusSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.contains(None) {
            parts.push("none".to_owned());
        }
        let mut code = 100;
        while code < 600 {
            if !self.contains(Some(code)) {
                code += 1;
                continue;
            }
            let end = (code..600).take_while(|&next| self.contains(Some(next))).last().unwrap_or(code);
            while code <= end {
                let whole_class = code % 100 == 0 && code + 99 <= end;
                let last = if whole_class { code + 99 } else { end.min(code - code % 100 + 99) };
                parts.push(match (whole_class, last - code) {
                    (true, _) => format!("{}xx", code / 100),
                    (false, 0) => code.to_string(),
                    (false, _) => format!("{code}-{last}"),
                });
                code = last + 1;
            }
        }
        f.write_str(&parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_read_and_printed_back() {
        let cases = [
            (&["400"][..], "400"),
            (&["413", "400"], "400, 413"),
            (&["5xx"], "5xx"),
            (&["520-527"], "520-527"),
            (&["none", "4xx", "500"], "none, 4xx, 500"),
            (&["400", "401", "402"], "400-402"),
            (&["none"], "none"),
        ];
        for (items, printed) in cases {
            let mut set = StatusSet::default();
            assert!(items.iter().all(|item| set.insert_item(item)), "{items:?}");
            assert_eq!(set.to_string(), printed);
        }
    }

    #[test]
    fn what_is_no_status_is_refused() {
        for item in ["4290", "99", "6xx", "0xx", "x", "", "40", "500-400", "1000", "-1", "4x", "600", "+40"] {
            assert!(!StatusSet::default().insert_item(item), "{item}");
        }
    }

    #[test]
    fn membership() {
        let mut set = StatusSet::default();
        assert!(set.insert_item("5xx") && set.insert_item("none"));
        assert!(set.contains(Some(500)) && set.contains(Some(599)) && set.contains(None));
        assert!(!set.contains(Some(499)) && !set.contains(Some(600)) && !set.contains(Some(u16::MAX)));
    }
}
