//! JSON pointers: `/usage/input_tokens`, as [RFC 6901](https://www.rfc-editor.org/rfc/rfc6901) has them.

use std::fmt;

/// A pointer into a JSON document; the empty one is the document itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pointer {
    keys: Vec<String>,
}

/// Deeper pointers than this are refused.
const MAX_DEPTH: usize = 16;

impl Pointer {
    /// The document itself.
    pub(crate) const DOCUMENT: Self = Self { keys: Vec::new() };

    /// Empty, or `/key` repeated; `~1` is a slash in a key and `~0` a tilde. `None` for anything else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let Some(keys) = text.strip_prefix('/') else {
            return text.is_empty().then(Self::default);
        };
        let keys: Vec<_> = keys.split('/').map(|key| key.replace("~1", "/").replace("~0", "~")).collect();
        (keys.len() <= MAX_DEPTH).then_some(Self { keys })
    }

    pub(crate) fn keys(&self) -> &[String] {
        &self.keys
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.keys.iter().try_for_each(|key| {
            f.write_str("/")?;
            if key.contains(['~', '/']) { f.write_str(&key.replace('~', "~0").replace('/', "~1")) } else { f.write_str(key) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Pointer;

    #[test]
    fn pointers() {
        let keys = |text| Pointer::parse(text).map(|pointer| pointer.keys().to_vec());
        assert_eq!(keys(""), Some(vec![]));
        assert_eq!(keys("/usage/input_tokens"), Some(vec!["usage".to_owned(), "input_tokens".to_owned()]));
        assert_eq!(keys("/a~1b/c~0d"), Some(vec!["a/b".to_owned(), "c~d".to_owned()]));
        assert_eq!(keys("usage"), None);
        assert_eq!(keys(&"/a".repeat(17)), None);
        assert_eq!(Pointer::parse("/a~1b/~0").map(|pointer| pointer.to_string()).as_deref(), Some("/a~1b/~0"));
    }
}
