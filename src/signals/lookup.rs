//! Asking signals for what rules and delay forms name.

use std::borrow::Cow;

use super::{Field, Signals};

impl<'a> Signals<'a> {
    /// Adds a code that the response carried elsewhere, without the decoration that AWS gives it: `ns#Name:http://...`.
    pub(crate) fn add_code(&mut self, code: &'a str) {
        let plain = code.split(':').next().unwrap_or(code);
        let plain = plain.rsplit('#').next().unwrap_or(plain).trim();
        if !plain.is_empty() && !self.codes().any(|known| known.eq_ignore_ascii_case(plain)) {
            self.codes.push(Cow::Borrowed(plain));
        }
    }
}

impl Field<'_> {
    /// Whether the field is the one named: its dotted path is, or ends with, `path`, in any case.
    pub(crate) fn is(&self, path: &str) -> bool {
        let own = self.path();
        let Some(start) = own.len().checked_sub(path.len()) else {
            return false;
        };
        let at_key = start == 0 || own.as_bytes()[start - 1] == b'.';
        at_key && own.as_bytes()[start..].eq_ignore_ascii_case(path.as_bytes())
    }
}
