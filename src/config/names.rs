//! The names that a provider answers to.

use std::cmp::Ordering;

use super::merge::MergedProvider;
use crate::diagnostic::{Code, Problem, misspelt};

/// A name with more `/` and `:` than this is only looked up with that many of its last parts left off.
const MAX_PARTS: usize = 8;
/// What `LangChain` puts before the name of whom a package is for; a separator follows.
const PREFIX: &str = "langchain";

/// Providers by every name, compared in any case and with `-`, `_`, `.`, `/`, `:` and space alike.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// In canonical spelling, sorted.
    by_canonical_name: Vec<(String, usize)>,
}

impl Names {
    pub(super) fn build(providers: &[MergedProvider], problems: &mut Vec<Problem>) -> Self {
        let mut names = Self::default();
        // Own names first: an alias never takes away a name that a provider has for itself.
        for (index, provider) in providers.iter().enumerate() {
            names.insert(&provider.name, index);
        }
        for (index, provider) in providers.iter().enumerate() {
            for alias in &provider.aliases {
                let owner = names.insert(alias, index);
                if owner != index {
                    let problem = Problem::new(Code::DuplicateName, alias.at, format!("the alias `{}` is a name of `{}` already", **alias, *providers[owner].name));
                    problems.push(problem.related(providers[owner].name.at, "this provider has it").hint("remove it from one of the two"));
                }
            }
        }
        names
    }

    /// Gives the name to the provider, unless one has it; whose it is then.
    fn insert(&mut self, name: &str, index: usize) -> usize {
        match self.search(name) {
            Ok(place) => self.by_canonical_name[place].1,
            Err(place) => {
                self.by_canonical_name.insert(place, (canonical_name(name), index));
                index
            }
        }
    }

    /// The provider that says of itself to have that name, in any spelling.
    pub(crate) fn exact(&self, name: &str) -> Option<usize> {
        self.search(name).ok().map(|place| self.by_canonical_name[place].1)
    }

    /// The provider that is meant by an id of another tool. A name that no provider has may say more than whom it is about:
    ///
    /// - `LangChain` puts its own name first: `langchain-openai`.
    /// - A model, a region or a path follows `/` or `:`, as in `vertex_ai/gemini-2.5-pro`: such parts are left off, one after the other from the end, up to eight.
    /// - The kind of the call follows a dot, as in `azure.responses`: one such word is left off, and no more. So a host such as `together.example.com` is nobody, though its first label is a
    ///   provider's name; `together.example` is taken for `together`.
    ///
    /// The longest name that is known wins. Costs no allocation.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.exact(name).or_else(|| self.find_in_parts(name.trim())).or_else(|| self.find_in_parts(without_prefix(name.trim())?))
    }

    fn find_in_parts(&self, name: &str) -> Option<usize> {
        let mut rest = name;
        for _ in 0..MAX_PARTS {
            if let Some(index) = self.exact(rest) {
                return Some(index);
            }
            match rest.rfind(['/', ':']) {
                Some(end) => rest = &rest[..end],
                None => return self.exact(rest.rsplit_once('.')?.0),
            }
        }
        None
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.by_canonical_name.iter().map(|(name, _)| name.as_str())
    }

    /// Where the name is, or would have to be.
    fn search(&self, name: &str) -> Result<usize, usize> {
        let name = name.trim();
        self.by_canonical_name.binary_search_by(|(known, _)| compare(known, name))
    }
}

/// An example of somebody whom no file is for is an example of anybody; of somebody who is called nearly like a provider it is a slip.
pub(super) fn check_examples(providers: &[MergedProvider], names: &Names, problems: &mut Vec<Problem>) {
    let examples = providers.iter().flat_map(|provider| &provider.rules).flat_map(|rule| &rule.examples);
    for name in examples.filter_map(|example| example.provider.as_ref()).filter(|name| names.find(name).is_none()) {
        // Files of later layers do not make a slip of it.
        let known = names.by_canonical_name.iter().filter(|(_, owner)| providers[*owner].files.first().is_some_and(|first| *first <= name.at.source));
        if let Some(meant) = misspelt(name, known.map(|(known, _)| known.as_str())) {
            let problem = Problem::new(Code::MisspeltName, name.at, format!("no file is for the provider `{}` of this example", **name));
            problems.push(problem.hint(format!("did you mean \"{meant}\"?")));
        }
    }
}

/// How a canonical name compares with one in any spelling.
fn compare(canonical: &str, name: &str) -> Ordering {
    canonical.bytes().cmp(name.bytes().map(canonical_byte))
}

fn without_prefix(name: &str) -> Option<&str> {
    let (prefix, rest) = name.split_at_checked(PREFIX.len())?;
    let rest = rest.strip_prefix(['-', '_', '.', '/', ':', ' '])?;
    prefix.eq_ignore_ascii_case(PREFIX).then_some(rest)
}

/// Lower case, with one kind of separator.
pub(crate) fn canonical_name(name: &str) -> String {
    let canonical = |c: char| if c.is_ascii() { char::from(canonical_byte(c as u8)) } else { c };
    name.trim().chars().map(canonical).collect()
}

fn canonical_byte(byte: u8) -> u8 {
    match byte {
        b'_' | b'.' | b' ' | b'/' | b':' => b'-',
        byte => byte.to_ascii_lowercase(),
    }
}
