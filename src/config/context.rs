//! `[context]` in force: the windows by model, most specific first, and how replies are read.

use std::cmp::Reverse;
use std::sync::{Arc, OnceLock};

use super::glob::Glob;
use crate::diagnostic::{Code, Problem};
use crate::model::{ContextModel, FinishModel, ModelWindow};
use crate::source::Spanned;
use crate::usage::{FinishReasons, Occupies, Shape, UsageReader};

/// Kept free for the answer when no file says how much.
const DEFAULT_RESERVED: u64 = 20_000;

/// So many windows and reserves of a file are compared, far more than there are in any.
const MAX_PAIRS: usize = 10_000;

/// What fills the window, the windows of the models, and how a reply tells.
#[derive(Clone, Debug)]
pub(crate) struct ContextSettings {
    pub(crate) reserved_tokens: Option<Spanned<u64>>,
    pub(crate) occupies: Option<Spanned<Occupies>>,
    pub(crate) usage: Vec<Spanned<Arc<Shape>>>,
    pub(crate) finish: FinishModel,
    /// The most specific first, the nearest file first among equals.
    models: Vec<(Glob, ModelWindow)>,
    /// Built when the first reply is read: most providers of a ruleset are never called.
    reader: OnceLock<Arc<UsageReader>>,
}

/// What the files say about one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The most that a prompt may take, where it stands; `None` when no file knows it.
    pub(crate) window: Option<Spanned<u64>>,
    /// What is kept free of it.
    pub(crate) reserved: u64,
}

impl ContextSettings {
    pub(super) fn build(model: ContextModel, problems: &mut Vec<Problem>) -> Self {
        let ContextModel { reserved_tokens, occupies, usage, finish, models, unread } = model;
        let mut models: Vec<_> = models.into_iter().rev().map(|model| (Glob::new(&model.pattern), model)).collect();
        models.sort_by_key(|(glob, _)| Reverse(glob.specificity()));
        let settings = Self { reserved_tokens, occupies, usage, finish, models, reader: OnceLock::new() };
        if !unread {
            settings.check_windows(problems);
        }
        settings
    }

    /// What holds for a model. Asks only those globs that could still tell something: a fraction of a microsecond, a few of them for a hundred globs that start with a star.
    pub(crate) fn limits(&self, model: &str) -> Limits {
        let (mut window, mut reserved) = (None, None);
        for (glob, entry) in &self.models {
            let (its_window, its_reserve) = (entry.most_input().filter(|_| window.is_none()), entry.reserved_tokens.filter(|_| reserved.is_none()));
            if (its_window.is_some() || its_reserve.is_some()) && glob.matches(model) {
                (window, reserved) = (window.or(its_window), reserved.or(its_reserve));
            }
        }
        Limits { window, reserved: reserved.or(self.reserved_tokens).map_or(DEFAULT_RESERVED, |reserved| *reserved) }
    }

    pub(crate) fn occupies(&self) -> Occupies {
        self.occupies.map_or(Occupies::EVERYTHING, |occupies| *occupies)
    }

    pub(crate) fn models(&self) -> impl Iterator<Item = &ModelWindow> {
        self.models.iter().map(|(_, model)| model)
    }

    pub(crate) fn reader(&self) -> &UsageReader {
        self.reader.get_or_init(|| {
            let finish = FinishReasons {
                at: given(self.finish.at.as_ref()),
                truncated: given(self.finish.truncated.as_ref()),
                overflow: given(self.finish.overflow.as_ref()),
                length: given(self.finish.length.as_ref()),
            };
            Arc::new(UsageReader::new(self.usage.iter().map(|shape| &*shape.value), finish))
        })
    }

    /// A reserve that eats the window would ask to compact for ever.
    fn check_windows(&self, problems: &mut Vec<Problem>) {
        let mut pairs = 0..MAX_PAIRS;
        for (glob, model) in &self.models {
            let Some(window) = model.most_input().filter(|window| **window > 0) else { continue };
            let reserves = self.models.iter().filter_map(|(other, model)| Some((other, model.reserved_tokens.filter(|reserved| **reserved >= *window)?)));
            let common = reserves.zip(pairs.by_ref()).filter_map(|((other, reserved), _)| Some((glob.common_name(other)?, reserved)));
            let own = common.filter(|(name, reserved)| self.hold(name, window, Some(*reserved))).map(|(_, reserved)| reserved).next();
            // Without a reserve of its own the glob's text stands for the models that it names.
            let general = own.is_none() && self.hold(&glob.to_string(), window, None);
            let reserved = own.or(self.reserved_tokens.filter(|_| general));
            let tokens = reserved.map_or(DEFAULT_RESERVED, |reserved| *reserved);
            if tokens < *window || (own.is_none() && !general) {
                continue;
            }
            let problem = Problem::new(Code::ReserveAboveWindow, window.at, format!("of the window of {} tokens the reserve of {tokens} leaves nothing", *window));
            let problem = reserved.into_iter().fold(problem, |problem, reserved| problem.related(reserved.at, "the reserve in force"));
            problems.push(problem.hint("give this model its own, smaller `reserved_tokens`"));
        }
    }

    /// Whether both are in force for a model; without a reserve, whether no glob gives it one.
    fn hold(&self, model: &str, window: Spanned<u64>, reserved: Option<Spanned<u64>>) -> bool {
        let naming = || self.models.iter().filter(|(glob, _)| glob.matches(model)).map(|(_, model)| model);
        let at = |value: Option<Spanned<u64>>| value.map(|value| value.at);
        at(naming().find_map(ModelWindow::most_input)) == Some(window.at) && at(naming().find_map(|model| model.reserved_tokens)) == at(reserved)
    }
}

impl ModelWindow {
    /// The window, or the input limit where that is lower. An entry that gives neither leaves it to a wider glob.
    fn most_input(&self) -> Option<Spanned<u64>> {
        // 0 is what nobody knows.
        match (self.window, self.input.filter(|input| **input > 0)) {
            (Some(window), Some(input)) if *window == 0 || *input < *window => Some(input),
            (window, input) => window.or(input),
        }
    }
}

fn given<T: Clone>(values: Option<&Spanned<Vec<T>>>) -> Vec<T> {
    values.map(|values| values.value.clone()).unwrap_or_default()
}
