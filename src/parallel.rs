//! The same work on many things, on all processors.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// More threads than this are not worth their start for the work that is done here.
const MAX_THREADS: usize = 8;
/// So many parts for each thread: things cost differently much, and who is done first takes the next part.
const PARTS_A_THREAD: usize = 8;

/// What `work` makes of the items, in their order: of one part of them after the other. As many threads share the parts as there are processors, but none is started for fewer items than `a_thread`.
pub(crate) fn map_chunks<'i, T: Sync, R: Send>(items: &'i [T], a_thread: usize, work: impl Fn(&'i [T]) -> Vec<R> + Sync) -> Vec<R> {
    let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = processors.min(MAX_THREADS).min(items.len() / a_thread);
    if threads < 2 {
        return work(items);
    }
    let parts: Vec<&[T]> = items.chunks(items.len().div_ceil(threads * PARTS_A_THREAD)).collect();
    let next = AtomicUsize::new(0);
    let some = || {
        let mut done = Vec::new();
        while let Some((number, part)) = take(&parts, &next) {
            done.push((number, work(part)));
        }
        done
    };
    let mut done = thread::scope(|scope| {
        // Where no thread can be had the work is done here.
        let others: Vec<_> = (1..threads).filter_map(|_| thread::Builder::new().spawn_scoped(scope, some).ok()).collect();
        let mut done = some();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().flat_map(|(_, results)| results).collect()
}

fn take<'p, T>(parts: &[&'p [T]], next: &AtomicUsize) -> Option<(usize, &'p [T])> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    Some((number, *parts.get(number)?))
}

#[cfg(test)]
mod tests {
    use super::map_chunks;

    #[test]
    fn the_order_stays() {
        for count in [0, 1, 63, 64, 128, 1000, 1001] {
            let items: Vec<usize> = (0..count).collect();
            let doubled = map_chunks(&items, 64, |chunk| chunk.iter().map(|item| 2 * item).collect());
            assert_eq!(doubled, items.iter().map(|item| 2 * item).collect::<Vec<_>>());
        }
    }
}
