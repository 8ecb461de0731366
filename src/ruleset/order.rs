//! In which order rules are tried: first match wins, so the order is the priority.

use crate::config::Provider;
use crate::model::Scope;

/// The rank of each provider file for the failures of one provider.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    /// By provider index; [`INVISIBLE`] for files that are not asked.
    ranks: Vec<u16>,
    /// Providers whose rules are all in force, in order.
    chain: Vec<usize>,
}

const INVISIBLE: u16 = u16::MAX;

impl Order {
    /// The provider's own rules, then those it extends; for a gateway those of all others; then the base.
    pub(super) fn of(provider: &Provider, base: &[usize], count: usize) -> Self {
        let (base, own): (Vec<_>, Vec<_>) = provider.chain.iter().copied().partition(|member| base.contains(member));
        Self::new(&own, provider.gateway, &base, count)
    }

    /// For a provider that no file is for: the rules of all, then the base.
    pub(super) fn of_unknown(base: &[usize], count: usize) -> Self {
        Self::new(&[], true, base, count)
    }

    fn new(own: &[usize], all: bool, base: &[usize], count: usize) -> Self {
        let mut ranks = vec![INVISIBLE; count];
        let mut next = 0;
        let mut assign = |member: usize| {
            if ranks[member] == INVISIBLE {
                ranks[member] = next;
                next += 1;
            }
        };
        own.iter().copied().for_each(&mut assign);
        if all {
            (0..count).filter(|member| !base.contains(member)).for_each(&mut assign);
        }
        base.iter().copied().for_each(&mut assign);
        let chain = own.iter().chain(base).copied().collect();
        Self { ranks, chain }
    }

    /// The rank of a rule, lower first; `None` when it is not asked. Rules of one file are ranked by their index.
    pub(crate) fn rank(&self, provider: usize, scope: Scope) -> Option<u16> {
        let rank = self.ranks[provider];
        let visible = rank != INVISIBLE && (scope == Scope::Any || self.chain.contains(&provider));
        visible.then_some(rank)
    }

    /// Providers whose rules are all in force, in order.
    pub(crate) fn chain(&self) -> &[usize] {
        &self.chain
    }
}
