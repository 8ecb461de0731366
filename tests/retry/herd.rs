//! Simulations in paused time, for tests and benches alike: clients that fail together, and what an outage is multiplied by.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use overspill::{Failure, Overspill, Step};
use tokio::time::Instant;

/// Fails so many clients together, and again each time they return, for six rounds: the largest number that returns in any 100 ms, however they lie.
pub(crate) async fn peak(clients: usize, handle: impl Fn() -> Overspill, failure: &Failure<'static>) -> usize {
    let returns: Arc<Mutex<Vec<Duration>>> = Arc::default();
    let start = Instant::now();
    let client = |_| {
        let (overspill, returns, failure) = (handle(), Arc::clone(&returns), failure.clone());
        tokio::spawn(async move {
            let mut session = overspill.retry("acme").session();
            for _ in 0..6 {
                if !matches!(session.next(&failure).step, Step::Retry { .. }) || session.wait().await.is_err() {
                    break;
                }
                returns.lock().unwrap().push(start.elapsed());
            }
        })
    };
    for task in (0..clients).map(client).collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let mut returns = std::mem::take(&mut *returns.lock().unwrap());
    returns.sort_unstable();
    let within = |from: &Duration| returns.partition_point(|at| *at < *from + Duration::from_millis(100)) - returns.partition_point(|at| at < from);
    returns.iter().map(within).max().unwrap_or(0)
}

/// Attempts for each call.
pub(crate) struct Amplification {
    /// All of them, also those after the last call was begun.
    pub(crate) in_all: f64,
    /// Those made while calls were begun: the load in an outage.
    pub(crate) meanwhile: f64,
}

/// Calls at an even pace, of whose attempts this share fails.
pub(crate) async fn amplification(overspill: &Overspill, per_second: u32, seconds: u32, failing: f64, failure: &Failure<'static>) -> Amplification {
    let (attempts, meanwhile, calls) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)), per_second * seconds);
    let end = Instant::now() + Duration::from_secs(seconds.into());
    let call = |number: u32| {
        let (overspill, attempts, meanwhile, failure) = (overspill.clone(), Arc::clone(&attempts), Arc::clone(&meanwhile), failure.clone());
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(1) * number / per_second).await;
            let attempt = async || {
                meanwhile.fetch_add(u64::from(Instant::now() < end), Ordering::Relaxed);
                let drawn = scramble(attempts.fetch_add(1, Ordering::Relaxed));
                if drawn < failing { Err(failure.clone()) } else { Ok(()) }
            };
            let _ = overspill.retry("acme").run(attempt).await;
        })
    };
    for task in (0..calls).map(call).collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let share = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64 / f64::from(calls);
    Amplification { in_all: share(&attempts), meanwhile: share(&meanwhile) }
}

/// From 0 to 1, as good as random: splitmix64.
fn scramble(number: u64) -> f64 {
    let mut bits = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (bits ^ (bits >> 31)) as f64 / u64::MAX as f64
}
