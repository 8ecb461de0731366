//! Finds which of many literals are in a text, in one pass.
//!
//! Texts of failures are short and new every time, and literals are thousands: an Aho-Corasick automaton of them fills a megabyte, and every byte of the text waits for a jump into another part of it. Here each
//! literal is known by one of its grams, four bytes in a row, and by the one that the fewest other literals have. A table of bits that fits into the fastest cache tells for each place of the text whether a
//! gram that some literal is known by may be there; only then that literal is compared.

use std::collections::HashMap;

use super::atom::lower_case;

/// Longest literal.
pub(super) const MAX_LENGTH: usize = 16;

/// Shortest literal.
pub(super) const MIN_LENGTH: usize = 3;

/// Literals to look for, in any case; each is reported by its index.
#[derive(Debug)]
pub(super) struct Literals {
    count: usize,
    /// Those known by a gram: 8 KiB of bits, of which one in twenty is set.
    long: Table<16>,
    /// The few of three bytes, which have no gram.
    short: Table<12>,
}

/// Literals by a hash of so many bits.
#[derive(Debug)]
struct Table<const BITS: u32> {
    /// One bit for each hash.
    filter: Vec<u64>,
    /// Where the entries of a bucket start, which have the upper bits of the hash in common; at the end the number of all.
    buckets: Vec<u32>,
    entries: Vec<Entry>,
}

/// A literal and the gram that it is known by.
#[derive(Debug)]
struct Entry {
    /// The bytes, the first one lowest.
    literal: u128,
    gram: u32,
    index: u32,
    /// How many bytes are before the gram.
    before: u8,
    length: u8,
}

impl Literals {
    /// For literals in lower case, of 3 to 16 bytes.
    pub(super) fn build(literals: &[&[u8]]) -> Self {
        let mut commonness: HashMap<u32, u32> = HashMap::new();
        for gram in literals.iter().flat_map(|literal| grams(literal)) {
            *commonness.entry(gram).or_default() += 1;
        }
        let (mut long, mut short) = (Vec::new(), Vec::new());
        for (index, literal) in (0..).zip(literals) {
            let bytes = literal.iter().rev().fold(0, |bytes, byte| bytes << 8 | u128::from(*byte));
            let entry = |before, gram| Entry { literal: bytes, gram, index, before, length: literal.len() as u8 };
            match (0..).zip(grams(literal)).min_by_key(|(_, gram)| commonness[gram]) {
                Some((before, gram)) => long.push(entry(before, gram)),
                None => short.push(entry(0, bytes as u32)),
            }
        }
        Self { count: literals.len(), long: Table::build(long), short: Table::build(short) }
    }

    /// Reports the literals that are in the text, each once.
    pub(super) fn search(&self, text: &str, mut found: impl FnMut(u32)) {
        let mut bytes = Vec::with_capacity(text.len() + MAX_LENGTH);
        if text.is_ascii() {
            bytes.extend_from_slice(text.as_bytes());
            bytes.make_ascii_lowercase();
        } else {
            bytes.extend_from_slice(lower_case(text).as_bytes());
        }
        // Behind the text, so that as many bytes as the longest literal has can be read at every place of it.
        bytes.resize(bytes.len() + MAX_LENGTH, 0);
        let mut seen = vec![0_u64; self.count.div_ceil(64)];
        let mut report = |index: u32| {
            let (word, bit) = (&mut seen[index as usize / 64], 1 << (index % 64));
            if *word & bit == 0 {
                *word |= bit;
                found(index);
            }
        };
        for (at, gram) in grams(&bytes).enumerate() {
            if self.long.may_have(gram) {
                self.long.compare(gram, &bytes, at, &mut report);
            }
            let three = gram & 0x00ff_ffff;
            if self.short.may_have(three) {
                self.short.compare(three, &bytes, at, &mut report);
            }
        }
    }
}

impl<const BITS: u32> Table<BITS> {
    /// So many hashes share a bucket: far more than there are literals would find one.
    const HASHES_PER_BUCKET: usize = 16;

    fn build(mut entries: Vec<Entry>) -> Self {
        let hash = |entry: &Entry| Self::hash(entry.gram);
        entries.sort_by_key(hash);
        let mut filter = vec![0; 1 << (BITS - 6)];
        for hash in entries.iter().map(hash) {
            filter[hash / 64] |= 1 << (hash % 64);
        }
        let starts = (0..=1 << BITS).step_by(Self::HASHES_PER_BUCKET);
        let buckets = starts.map(|start| entries.partition_point(|entry| hash(entry) < start) as u32).collect();
        Self { filter, buckets, entries }
    }

    fn hash(gram: u32) -> usize {
        (gram.wrapping_mul(0x9e37_79b1) >> (32 - BITS)) as usize
    }

    fn may_have(&self, gram: u32) -> bool {
        let hash = Self::hash(gram);
        self.filter[hash / 64] & 1 << (hash % 64) != 0
    }

    /// Compares the literals that are known by the gram at this place.
    fn compare(&self, gram: u32, text: &[u8], at: usize, found: &mut impl FnMut(u32)) {
        let bucket = Self::hash(gram) / Self::HASHES_PER_BUCKET;
        for entry in &self.entries[self.buckets[bucket] as usize..self.buckets[bucket + 1] as usize] {
            if entry.gram == gram && entry.is_at(text, at) {
                found(entry.index);
            }
        }
    }
}

impl Entry {
    /// Whether the literal is where its gram is at this place.
    fn is_at(&self, text: &[u8], at: usize) -> bool {
        let start = at.checked_sub(usize::from(self.before));
        let there = start.and_then(|start| text.get(start..)?.first_chunk().copied());
        let differs = |there| (u128::from_le_bytes(there) ^ self.literal) << (128 - 8 * u32::from(self.length)) != 0;
        there.is_some_and(|there| !differs(there))
    }
}

/// The four bytes at each place, the first one lowest.
fn grams(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.windows(4).map(|window| u32::from_le_bytes([window[0], window[1], window[2], window[3]]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Literals;

    fn found(literals: &[&str], text: &str) -> Vec<u32> {
        let bytes: Vec<&[u8]> = literals.iter().map(|literal| literal.as_bytes()).collect();
        let mut found = Vec::new();
        Literals::build(&bytes).search(text, |index| found.push(index));
        found.sort_unstable();
        found
    }

    #[test]
    fn literals_are_found_wherever_they_stand() {
        let literals = ["abc", "bcd", "context window", "exceed", "exceeds", "token", "超过", "超过限制的", "überschr"];
        let cases: [(&str, &[u32]); 10] = [
            ("", &[]),
            ("ab", &[]),
            ("abc", &[0]),
            ("ABCD", &[0, 1]),
            ("xabcabcabc", &[0]),
            ("Exceeds the context windo", &[3, 4]),
            ("the Context Window", &[2]),
            ("token", &[5]),
            ("请求超过", &[6]),
            ("Kontext ÜBERSCHRITTEN", &[8]),
        ];
        for (text, expected) in cases {
            assert_eq!(found(&literals, text), expected, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn as_a_plain_search_finds_them(literals in proptest::collection::btree_set("[a-c]{3,6}|[a-z ]{3,16}", 1..40), text in "[a-cA-C ]{0,60}", pick in any::<prop::sample::Index>()) {
            let literals: Vec<&str> = literals.iter().map(String::as_str).collect();
            let text = format!("{text}{}", pick.get(&literals).to_uppercase());
            let expected: Vec<u32> = (0..).zip(&literals).filter(|(_, literal)| text.to_lowercase().contains(*literal)).map(|(index, _)| index).collect();
            prop_assert_eq!(found(&literals, &text), expected);
        }
    }
}
