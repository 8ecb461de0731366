//! A call that succeeds at once allocates nothing, whatever is watched; in a binary of its own, since it counts what the allocator is asked for.
#![cfg(feature = "retry")]

use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use overspill::Overspill;

/// The allocations of a call that succeeds at once, made by `call` and polled to its end.
fn allocations<F: Future<Output = Result<u32, T>>, T>(call: impl FnOnce() -> F) -> u64 {
    allocation_counter::measure(|| {
        let mut future = pin!(call());
        let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(black_box(polled), Poll::Ready(Ok(_))), "it is ready at once");
    })
    .count_total
}

#[test]
fn a_success_at_once_allocates_nothing() {
    let overspill = Overspill::embedded();
    let call = || allocations(|| overspill.retry("anthropic").model("claude-sonnet-4-5").run(async || Ok::<_, String>(black_box(7))));
    // The first one names the provider for the metrics.
    call();
    // Two labels of a counter are a list.
    let most = u64::from(cfg!(feature = "metrics"));
    for _ in 0..3 {
        assert_eq!(call(), most);
    }
    assert_eq!(allocations(async || Ok::<_, String>(7)), 0, "nor does counting");
}

#[cfg(feature = "tower")]
#[test]
fn as_a_layer_it_allocates_the_future() {
    use overspill::{Failure, RetryLayer};
    use tower::{Layer, Service, service_fn};

    fn judge(result: &Result<u32, String>) -> Option<Failure<'_>> {
        result.as_ref().err().map(|error| Failure::sdk(error.as_str()))
    }
    let overspill = Overspill::embedded();
    let mut service = RetryLayer::new(overspill.retry("anthropic"), judge).layer(service_fn(async |number: u32| Ok::<_, String>(number)));
    allocations(|| service.call(7));
    assert_eq!(allocations(|| service.call(7)), 1 + u64::from(cfg!(feature = "metrics")));
}
