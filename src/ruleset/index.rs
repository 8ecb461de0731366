//! From what a failure shows to the few rules worth asking.

use std::collections::HashMap;

use super::groups::Groups;
use super::pattern_set::PatternId;
use super::rule::CompiledRule;
use crate::model::Scope;

/// Every rule hangs on its cheapest telling condition: a message pattern, else a code, else its provider. So the work of an evaluation depends on what matches, not on how many rules there are.
#[derive(Debug)]
pub(crate) struct Index {
    by_pattern: Groups<u32>,
    by_code: HashMap<String, Vec<u32>>,
    by_provider: Vec<Vec<u32>>,
    /// Rules that ask for neither message nor code, and yet are for everybody's failures.
    anywhere: Vec<u32>,
}

impl Index {
    pub(super) fn build(rules: &[CompiledRule], patterns: usize, providers: usize) -> Self {
        let mut by_pattern = vec![Vec::new(); patterns];
        let mut by_code: HashMap<String, Vec<u32>> = HashMap::new();
        let mut by_provider = vec![Vec::new(); providers];
        let mut anywhere = Vec::new();
        for (number, rule) in rules.iter().enumerate() {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let conditions = &rule.conditions;
            if !conditions.message.is_empty() {
                conditions.message.iter().for_each(|pattern| by_pattern[pattern.index()].push(number));
            } else if !conditions.code.is_empty() {
                conditions.code.iter().for_each(|code| by_code.entry(code.clone()).or_default().push(number));
            } else {
                by_provider[rule.provider].push(number);
                if rule.scope == Scope::Any {
                    anywhere.push(number);
                }
            }
        }
        Self { by_pattern: by_pattern.into_iter().collect(), by_code, by_provider, anywhere }
    }

    pub(crate) fn by_pattern(&self, pattern: PatternId) -> &[u32] {
        self.by_pattern.get(pattern.index())
    }

    /// Rules that ask for this code, in any case.
    pub(crate) fn by_code(&self, code: &str) -> &[u32] {
        // Most codes are in lower case as they are.
        let rules = if code.bytes().any(|byte| byte.is_ascii_uppercase()) { self.by_code.get(&code.to_ascii_lowercase()) } else { self.by_code.get(code) };
        rules.map_or(&[], Vec::as_slice)
    }

    /// Rules that ask for neither message nor code, and yet are for everybody's failures.
    pub(crate) fn anywhere(&self) -> &[u32] {
        &self.anywhere
    }

    /// Rules of a provider that ask for neither message nor code.
    pub(crate) fn by_provider(&self, provider: usize) -> &[u32] {
        &self.by_provider[provider]
    }
}
