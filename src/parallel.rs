//! The same work on many things, on all processors.

use std::num::NonZeroUsize;
use std::thread;

/// More threads than this are not worth their start for the work that is done here.
const MAX_THREADS: usize = 8;

/// What `work` makes of the items, in their order: of one part of them after the other, each part on a thread of its own, which is not started for fewer than `a_thread`.
pub(crate) fn map_chunks<'i, T: Sync, R: Send>(items: &'i [T], a_thread: usize, work: impl Fn(&'i [T]) -> Vec<R> + Sync) -> Vec<R> {
    let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = processors.min(MAX_THREADS).min(items.len() / a_thread);
    if threads < 2 {
        return work(items);
    }
    let mut chunks = items.chunks(items.len().div_ceil(threads));
    let own = chunks.next().unwrap_or_default();
    thread::scope(|scope| {
        let work = &work;
        // Where no thread can be had the work is done here.
        let others: Vec<_> = chunks.map(|chunk| (chunk, thread::Builder::new().spawn_scoped(scope, move || work(chunk)))).collect();
        let mut results = work(own);
        for (chunk, other) in others {
            results.extend(match other {
                Ok(other) => other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                Err(_) => work(chunk),
            });
        }
        results
    })
}

#[cfg(test)]
mod tests {
    use super::map_chunks;

    #[test]
    fn the_order_stays() {
        for count in [0, 1, 63, 64, 1000] {
            let items: Vec<usize> = (0..count).collect();
            let doubled = map_chunks(&items, 64, |chunk| chunk.iter().map(|item| 2 * item).collect());
            assert_eq!(doubled, items.iter().map(|item| 2 * item).collect::<Vec<_>>());
        }
    }
}
