//! The names that a provider answers to.

use std::collections::HashMap;

use super::merge::MergedProvider;
use crate::diagnostic::{Code, Problem};

/// Providers by every name, compared in any case and with `-`, `_`, `.`, `/` and space alike.
#[derive(Debug, Default)]
pub(crate) struct Names {
    by_canonical_name: HashMap<String, usize>,
}

impl Names {
    pub(super) fn build(providers: &[MergedProvider], problems: &mut Vec<Problem>) -> Self {
        let mut by_canonical_name = HashMap::new();
        // Own names first: an alias never takes away a name that a provider has for itself.
        for (index, provider) in providers.iter().enumerate() {
            by_canonical_name.insert(canonical_name(&provider.name), index);
        }
        for (index, provider) in providers.iter().enumerate() {
            for alias in &provider.aliases {
                let owner = *by_canonical_name.entry(canonical_name(alias)).or_insert(index);
                if owner != index {
                    let problem = Problem::new(Code::DuplicateName, alias.at, format!("the alias `{}` is a name of `{}` already", **alias, *providers[owner].name));
                    problems.push(problem.related(providers[owner].name.at, "this provider has it").hint("remove it from one of the two"));
                }
            }
        }
        Self { by_canonical_name }
    }

    /// The provider of that name in any spelling. Costs no allocation for names up to 64 bytes in canonical spelling.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        if let Some(&index) = self.by_canonical_name.get(name) {
            return Some(index);
        }
        self.by_canonical_name.get(&canonical_name(name)).copied()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.by_canonical_name.keys().map(String::as_str)
    }
}

/// Lower case, with one kind of separator.
pub(crate) fn canonical_name(name: &str) -> String {
    name.trim().chars().map(|c| if matches!(c, '_' | '.' | ' ' | '/' | ':') { '-' } else { c.to_ascii_lowercase() }).collect()
}
