//! In which order rules are tried: first match wins, so the order is the priority.

use super::rule::CompiledRule;
use crate::config::Provider;
use crate::model::Scope;

/// The rank of each provider file for the failures of one provider.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    /// By provider index; `None` for files that are not asked.
    places: Vec<Option<Place>>,
    /// Providers whose rules are all in force, in order.
    chain: Vec<usize>,
}

/// Where the rules of one file stand.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Rules that recognise a wording.
    wordings: u16,
    /// Rules that only know a code, status or header.
    others: u16,
    /// Whether rules are asked that are the provider's own affair.
    at_home: bool,
}

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

    /// Of the rules of all others, those that recognise a wording go before those that only know a code: a wording says what happened, while one and the same code, such as
    /// `InternalServerError`, stands above many wordings.
    fn new(own: &[usize], all: bool, base: &[usize], count: usize) -> Self {
        let mut places: Vec<Option<Place>> = vec![None; count];
        let mut next = 0;
        let mut assign = |places: &mut Vec<Option<Place>>, member: usize, place: fn(u16) -> Place| {
            if places[member].is_none() {
                places[member] = Some(place(next));
                next += 1;
            }
        };
        let home = |rank| Place { wordings: rank, others: rank, at_home: true };
        own.iter().for_each(|&member| assign(&mut places, member, home));
        if all {
            (0..count).filter(|member| !base.contains(member)).for_each(|member| assign(&mut places, member, |rank| Place { wordings: rank, others: rank, at_home: false }));
        }
        for place in places.iter_mut().flatten().filter(|place| !place.at_home) {
            place.others += next;
        }
        next *= 2;
        let mut assign = |places: &mut Vec<Option<Place>>, member: usize| {
            if places[member].is_none() {
                places[member] = Some(home(next));
                next += 1;
            }
        };
        base.iter().for_each(|&member| assign(&mut places, member));
        let chain = own.iter().chain(base).copied().collect();
        Self { places, chain }
    }

    /// The rank of a rule, lower first; `None` when it is not asked. Rules of one rank are tried in the order of their file.
    pub(crate) fn rank(&self, rule: &CompiledRule) -> Option<u16> {
        let place = self.places[rule.provider]?;
        let asked = place.at_home || rule.scope == Scope::Any;
        asked.then_some(if rule.conditions.message.is_empty() { place.others } else { place.wordings })
    }

    /// Whether rules of the provider are asked: all, or those that are not its own affair.
    pub(crate) fn asks(&self, provider: usize) -> bool {
        self.places.get(provider).is_some_and(Option::is_some)
    }

    /// Providers whose rules are all in force, in order.
    pub(crate) fn chain(&self) -> &[usize] {
        &self.chain
    }
}
