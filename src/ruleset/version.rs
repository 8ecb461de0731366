//! The version of a ruleset: a hash of the texts it was built from.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::source::Sources;

/// The first 48 bits of the SHA-256 of all rule files, in order; printed as twelve hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version([u8; 6]);

impl Version {
    pub(super) fn of(sources: &Sources) -> Self {
        let mut hasher = Sha256::new();
        for id in sources.ids() {
            let (layer, text) = (sources.layer_index(id), sources.text(id));
            if text.is_empty() {
                // What is no file and was passed over, which changes nothing.
                continue;
            }
            // Lengths are hashed too, so that moving text from one file to the next is a change. Names are not: where a directory is mounted is no change of the rules.
            hasher.update((layer as u64).to_le_bytes());
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        let digest = hasher.finalize();
        let mut version = [0; 6];
        version.copy_from_slice(&digest[..6]);
        Self(version)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
