//! Usage and finish reason out of a reply, by shapes compiled into one set of paths.

use super::Usage;
use super::count::read_count;
use super::json::{Found, Paths, unwrapped};
use super::pointer::Pointer;
use super::shape::{Occupies, Shape, Sum};

/// Which finish reasons say something about the window, and where they stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FinishReasons {
    pub(crate) at: Vec<Pointer>,
    /// A field that is `true` when the server cut something off.
    pub(crate) truncated: Vec<Pointer>,
    /// The window was exceeded.
    pub(crate) overflow: Vec<String>,
    /// The output ended for its length.
    pub(crate) length: Vec<String>,
}

/// What a finish reason says about the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finish {
    /// Nothing: the model was done, called a tool, or was not asked.
    #[default]
    Other,
    /// The output ended for its length, or for want of room.
    Length,
    /// The window was exceeded.
    Overflow,
}

impl FinishReasons {
    pub(crate) fn meaning(&self, reason: &str) -> Finish {
        let is = |list: &[String]| list.iter().any(|known| known.eq_ignore_ascii_case(reason));
        if is(&self.overflow) {
            Finish::Overflow
        } else if is(&self.length) {
            Finish::Length
        } else {
            Finish::Other
        }
    }
}

/// Reads replies of one provider.
#[derive(Clone, Debug)]
pub(crate) struct UsageReader {
    paths: Paths<Slot>,
    shapes: Vec<Slots>,
    finish: FinishReasons,
    count: usize,
}

/// What a path is wanted for.
#[derive(Clone, Copy, Debug)]
enum Slot {
    Count(usize),
    Presence(usize),
    Finish,
    Truncated,
}

/// The slots of a shape.
#[derive(Clone, Debug)]
struct Slots {
    occupies: Option<Occupies>,
    requires: Vec<usize>,
    /// By kind, then by place: alternatives of sums.
    kinds: [Vec<Vec<Vec<usize>>>; 4],
}

impl UsageReader {
    /// Shapes in the order in which they are tried.
    pub(crate) fn new<'s>(shapes: impl IntoIterator<Item = &'s Shape>, finish: FinishReasons) -> Self {
        let mut reader = Self { paths: Paths::new(), shapes: Vec::new(), finish, count: 0 };
        for shape in shapes {
            let requires = shape.places().iter().flat_map(|at| shape.requires.iter().map(move |pointer| (at, pointer)));
            let requires = requires.map(|(at, pointer)| reader.want(at, pointer, Slot::Presence)).collect();
            let kinds = shape.kinds.each_ref().map(|sums| shape.places().iter().map(|at| reader.want_sums(at, sums)).collect());
            reader.shapes.push(Slots { occupies: shape.occupies, requires, kinds });
        }
        for (pointers, slot) in [(&reader.finish.at, Slot::Finish), (&reader.finish.truncated, Slot::Truncated)] {
            for pointer in pointers {
                reader.paths.want(pointer.keys().iter().map(String::as_str), slot);
            }
        }
        reader
    }

    fn want(&mut self, at: &Pointer, pointer: &Pointer, slot: impl Fn(usize) -> Slot) -> usize {
        let index = self.count;
        self.count += 1;
        self.paths.want(at.keys().iter().chain(pointer.keys()).map(String::as_str), slot(index));
        index
    }

    fn want_sums(&mut self, at: &Pointer, sums: &[Sum]) -> Vec<Vec<usize>> {
        sums.iter().map(|sum| sum.0.iter().map(|pointer| self.want(at, pointer, Slot::Count)).collect()).collect()
    }

    /// What a finish reason given by itself says.
    pub(crate) fn meaning(&self, reason: &str) -> Finish {
        self.finish.meaning(reason)
    }

    /// Reads a usage object, a reply, or the events of a stream. One pass over the text, one allocation.
    pub(crate) fn read(&self, text: &str) -> (Option<Usage>, Finish) {
        let text = &unwrapped(text);
        let mut counts: Vec<Option<u64>> = vec![None; self.count];
        let mut finish = Finish::Other;
        self.paths.find(text, |slot, found| match (slot, found) {
            (Slot::Presence(slot), Found::Container) => counts[slot] = Some(1),
            (Slot::Presence(slot), Found::Scalar(token)) if token != "null" => counts[slot] = Some(1),
            // Events of a stream repeat a count as it grows.
            (Slot::Count(slot), Found::Scalar(token)) => counts[slot] = counts[slot].max(read_count(token)),
            (Slot::Finish, Found::Scalar(token)) => finish = finish.max(self.finish.meaning(token.trim_matches('"'))),
            (Slot::Truncated, Found::Scalar("true")) => finish = Finish::Overflow,
            _ => {}
        });
        (self.usage(&counts), finish)
    }

    /// The first shape that counts input; failing that, the first that counts something, rather one whose input is there, or the first that is there at all.
    ///
    /// Gateways fill in the fields of two shapes and leave those of one at 0. A prompt that was read from the cache as a whole has an input of 0 as well, but no other shape counts more of it.
    fn usage(&self, counts: &[Option<u64>]) -> Option<Usage> {
        let there = self.shapes.iter().filter_map(|shape| shape.usage(counts));
        let rank = |(has_input, usage): &(bool, Usage)| match (usage.input(), usage.used(Occupies::EVERYTHING), has_input) {
            (1.., _, _) => 0,
            (0, 1.., true) => 1,
            (0, 1.., false) => 2,
            (0, 0, _) => 3,
        };
        there.min_by_key(rank).map(|(_, usage)| usage)
    }
}

impl Slots {
    /// The usage of this shape, and whether its input is there.
    fn usage(&self, counts: &[Option<u64>]) -> Option<(bool, Usage)> {
        if !self.requires.is_empty() && self.requires.iter().all(|&slot| counts[slot].is_none()) {
            return None;
        }
        let sum = |slots: &Vec<usize>| slots.iter().filter_map(|&slot| counts[slot]).reduce(u64::saturating_add);
        // The same kind at several places is one count, told at the start of a stream and at its end.
        let kind = |places: &Vec<Vec<Vec<usize>>>| places.iter().filter_map(|sums| sums.iter().find_map(sum)).max();
        let counted = self.kinds.each_ref().map(kind);
        let [input, cache_read, cache_write, output] = counted.map(Option::unwrap_or_default);
        let is_there = counted.iter().any(Option::is_some);
        is_there.then_some((counted[0].is_some(), Usage { input, cache_read, cache_write, output, occupies: self.occupies }))
    }
}
