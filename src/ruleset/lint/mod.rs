//! What rules get wrong over time, though each of them loads: found by asking every rule about every example.

mod contradicted;
mod dead_pattern;
mod dead_veto;
mod over_broad;
mod seen;
mod shadowed;

use std::sync::Arc;

use self::dead_veto::Vetoes;
use self::seen::Seen;
use super::Ruleset;
use super::examples::{self, Case};
use super::faults::Faults;
use crate::diagnostic::{Diagnostics, Problem};
use crate::parallel::map_chunks;

impl Ruleset {
    /// The [`warnings`](Self::warnings), and findings that no single rule shows: shadowed rules, rules that another provider's rules contradict, over-broad rules, vetoes that never fire.
    ///
    /// Cost: every rule is asked about every example, about a tenth of a second; for `check`, not for loading.
    #[must_use]
    pub fn lint(&self) -> Diagnostics {
        let mut problems = self.warnings.problems().to_vec();
        let (look, _) = Look::at(self, &Faults::none(), false);
        run(self, &look, &Faults::none(), &mut problems);
        Diagnostics::new(problems, Arc::clone(&self.sources))
    }
}

/// All lints over rules that may have problems, which are told already; what they find is appended. With the examples, these are run on the way: each is read and searched once for both.
pub(super) fn check(ruleset: &Ruleset, with_examples: bool, problems: &mut Vec<Problem>) {
    let (look, failed) = Look::at(ruleset, &Faults::of(ruleset, problems), with_examples);
    problems.extend(examples::gathered(ruleset, failed));
    if examples::is_reading_at_fault(ruleset, problems) {
        return;
    }
    run(ruleset, &look, &Faults::of(ruleset, problems), problems);
}

/// What all examples show.
struct Look<'r> {
    cases: Vec<Case<'r>>,
    /// Of each case.
    seen: Vec<Seen>,
    vetoes: Vetoes<'r>,
}

impl<'r> Look<'r> {
    /// Asks every rule about every example; nothing is seen of them where failures are not read as they are meant to be. With the examples, what is wrong with these.
    fn at(ruleset: &'r Ruleset, faults: &Faults, with_examples: bool) -> (Self, Vec<Problem>) {
        let vetoes = Vetoes::of(ruleset);
        let cases = if faults.is_read() { Case::all(ruleset) } else { Vec::new() };
        let wordless: Vec<usize> = (0..ruleset.rules.len()).filter(|&number| ruleset.rules[number].conditions.message.is_empty()).collect();
        let look = |case: &Case<'_>| {
            case.ask(ruleset, |situation| {
                let mut problems = Vec::new();
                if with_examples {
                    examples::check(&situation, case, &mut problems);
                }
                (Seen::of(situation, case, &wordless, &vetoes, faults.is_whole()), problems)
            })
        };
        let looked = map_chunks(&cases, examples::A_THREAD, |cases| cases.iter().map(look).collect());
        let (seen, failed): (Vec<_>, Vec<_>) = looked.into_iter().unzip();
        (Self { cases, seen, vetoes }, failed.into_iter().flatten().collect())
    }
}

fn run(ruleset: &Ruleset, look: &Look<'_>, faults: &Faults, problems: &mut Vec<Problem>) {
    dead_pattern::find(ruleset, look, problems);
    shadowed::find(ruleset, faults, problems);
    if !faults.is_read() {
        return;
    }
    over_broad::find(ruleset, faults, look, problems);
    if faults.is_whole() {
        contradicted::find(ruleset, faults, look, problems);
        dead_veto::find(faults, &look.vetoes, problems);
    }
}
