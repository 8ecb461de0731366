//! The form of a usage object: where it lies and which fields count what.

use std::fmt;

use super::pointer::Pointer;

/// The kinds of tokens that a usage object counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Input,
    CacheRead,
    CacheWrite,
    Output,
}

impl TokenKind {
    pub(crate) const ALL: [Self; 4] = [Self::Input, Self::CacheRead, Self::CacheWrite, Self::Output];

    /// The key in rule files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::CacheRead => "cache_read",
            Self::CacheWrite => "cache_write",
            Self::Output => "output",
        }
    }
}

/// Which kinds fill the window of the next call. Output never does: what of it comes back is counted as input then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Occupies {
    pub(crate) input: bool,
    pub(crate) cache_read: bool,
    pub(crate) cache_write: bool,
}

impl Occupies {
    /// The names that rule files may list.
    pub(crate) const NAMES: [&'static str; 3] = ["input", "cache_read", "cache_write"];

    /// What holds when no file says anything: a token too many compacts early, one too few fails the call.
    pub(crate) const EVERYTHING: Self = Self { input: true, cache_read: true, cache_write: true };

    /// Those of [`Occupies::NAMES`] that are listed.
    pub(crate) fn of(listed: &[&str]) -> Self {
        let has = |name: &str| listed.contains(&name);
        Self { input: has("input"), cache_read: has("cache_read"), cache_write: has("cache_write") }
    }

    pub(crate) fn names(self) -> Vec<String> {
        let listed = [self.input, self.cache_read, self.cache_write].into_iter().zip(Self::NAMES);
        listed.filter(|(counts, _)| *counts).map(|(_, name)| name.to_owned()).collect()
    }
}

/// Fields that are added up, for what a provider splits. Present when one of them is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sum(pub(crate) Vec<Pointer>);

impl Sum {
    /// One pointer, or several with ` + ` between them.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        text.split(" + ").map(Pointer::parse).collect::<Option<_>>().map(Self)
    }
}

/// One form of a usage object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// What it is called, so that another file can replace it.
    pub(crate) id: String,
    /// Where the object may lie: itself, in a reply, in an event of a stream. Empty: the document is the object.
    at: Vec<Pointer>,
    /// One of these must be there, inside the object; none given: no condition.
    pub(crate) requires: Vec<Pointer>,
    /// By [`TokenKind`]; the first that is present counts.
    pub(crate) kinds: [Vec<Sum>; 4],
    /// What fills the window, where that is a property of the form and not of the provider.
    pub(crate) occupies: Option<Occupies>,
}

impl Shape {
    /// The id of a provider's only shape, written as a table: `usage = { input = ... }`.
    pub(crate) const OWN: &'static str = "own";

    pub(crate) fn new(id: String, at: Vec<Pointer>, requires: Vec<Pointer>, kinds: [Vec<Sum>; 4], occupies: Option<Occupies>) -> Self {
        Self { id, at, requires, kinds, occupies }
    }

    /// This shape with what a later file says of it; what that leaves out stays.
    pub(crate) fn overridden_by(&self, later: &Self) -> Self {
        fn given<T: Clone>(earlier: &[T], later: &[T]) -> Vec<T> {
            if later.is_empty() { earlier.to_vec() } else { later.to_vec() }
        }
        let mut kinds = self.kinds.clone();
        kinds.iter_mut().zip(&later.kinds).for_each(|(earlier, later)| *earlier = given(earlier, later));
        Self { id: self.id.clone(), at: given(&self.at, &later.at), requires: given(&self.requires, &later.requires), kinds, occupies: later.occupies.or(self.occupies) }
    }

    /// Where the object may lie.
    pub(crate) fn places(&self) -> &[Pointer] {
        const DOCUMENT: &[Pointer] = &[Pointer::DOCUMENT];
        if self.at.is_empty() { DOCUMENT } else { &self.at }
    }

    /// What is read, under the keys that a person knows: an only shape kind by kind, one of several in one row.
    pub(crate) fn fields(&self) -> Vec<(String, Vec<String>)> {
        let kinds = TokenKind::ALL.into_iter().zip(&self.kinds).filter(|(_, sums)| !sums.is_empty());
        if self.id == Self::OWN {
            return kinds.map(|(kind, sums)| (kind.name().to_owned(), sums.iter().map(Sum::to_string).collect())).collect();
        }
        let fields = kinds.map(|(kind, sums)| format!("{} {}", kind.name(), join(sums.iter(), " or "))).collect();
        vec![(self.id.clone(), fields)]
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&join(self.0.iter(), " + "))
    }
}

fn join(items: impl Iterator<Item = impl fmt::Display>, between: &str) -> String {
    items.map(|item| item.to_string()).collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use super::{Occupies, Sum};

    #[test]
    fn sums_and_lists() {
        assert_eq!(Sum::parse("/a/b + /c").map(|sum| sum.0.len()), Some(2));
        assert!(Sum::parse("/a + b").is_none());
        assert_eq!(Occupies::of(&["cache_read", "input"]).names(), ["input", "cache_read"]);
    }
}
