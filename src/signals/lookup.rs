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
    /// Whether the field is the one named: its dotted path is, or ends with, `path`. Keys are compared as everywhere, in any case and without `_` and `-`: `retry_after` is `retryAfter` too.
    pub(crate) fn is(&self, path: &str) -> bool {
        let mut own = plain_from_end(self.path());
        let mut wanted = plain_from_end(path);
        loop {
            match (wanted.next(), own.next()) {
                (None, None | Some(b'.')) => return true,
                (Some(wanted), Some(own)) if wanted == own => {}
                _ => return false,
            }
        }
    }
}

/// The bytes of a dotted path that are compared, from the end.
fn plain_from_end(path: &str) -> impl Iterator<Item = u8> + '_ {
    path.bytes().rev().filter(|byte| !matches!(byte, b'_' | b'-' | b' ')).map(|byte| byte.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_named_by_the_end_of_their_path_in_any_spelling() {
        let cases = [
            ("error.details.retryDelay", "retryDelay", true),
            ("error.details.retryDelay", "retry_delay", true),
            ("error.details.retryDelay", "details.retry-delay", true),
            ("error.details.retryDelay", "elay", false),
            ("error.noRetryDelay", "retryDelay", false),
            ("retry_after", "retryAfter", true),
            ("a.b", "x.a.b", false),
        ];
        for (path, name, is) in cases {
            let field = Field { path: path.into(), value: "".into() };
            assert_eq!(field.is(name), is, "{path} {name}");
        }
    }
}
