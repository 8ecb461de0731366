//! What one example shows of the rules.

use std::sync::Arc;

use super::dead_veto::Vetoes;
use crate::eval::{Situation, winner};
use crate::model::Scope;
use crate::ruleset::examples::Case;
use crate::ruleset::rule::RuleInfo;

pub(super) struct Seen {
    /// Rules that mean something else and might match it if they were asked first.
    pub(super) foreign: Vec<usize>,
    /// The rule that takes it when nobody knows the provider, where that makes something else of it.
    pub(super) taker: Option<Arc<RuleInfo>>,
}

impl Seen {
    /// Asks the rules about the example. `wordless` are those that ask for no words; of the vetoes those are marked that it shows.
    pub(super) fn of(situation: Situation<'_, '_>, case: &Case<'_>, wordless: &[usize], vetoes: &Vetoes<'_>, with_taker: bool) -> Self {
        vetoes.look(&situation);
        if case.example.negative {
            return Self { foreign: Vec::new(), taker: None };
        }
        let (ruleset, class) = (situation.ruleset, case.rule.class);
        // Of the rules that ask for words only those whose words are there.
        let worded = situation.matched.candidates().iter().flat_map(|&pattern| ruleset.index.by_pattern(pattern)).map(|&number| number as usize);
        let may_match = |number: &usize| ruleset.rules[*number].class != class && situation.may_match(&ruleset.rules[*number]);
        let mut foreign: Vec<_> = worded.chain(wordless.iter().copied()).filter(may_match).collect();
        foreign.sort_unstable();
        foreign.dedup();
        let asked = with_taker && case.rule.scope == Scope::Any;
        let taker = asked.then(|| situation.of_unknown()).and_then(|situation| winner(&situation).filter(|winner| winner.class != class).map(|winner| Arc::clone(&winner.info)));
        Self { foreign, taker }
    }
}
