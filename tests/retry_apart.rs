//! What must be tested apart from other tests: allocations are counted for the whole binary, and tracing remembers of a place in the code whether anybody listened there.
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
    for _ in 0..3 {
        assert_eq!(call(), 0);
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
    assert_eq!(allocations(|| service.call(7)), 1);
}

#[cfg(feature = "tracing")]
#[cfg_attr(test, expect(clippy::unwrap_used, reason = "helpers of tests may stop at the first surprise too"))]
mod events {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex};

    use overspill::{Failure, Overspill};

    /// Keeps what is said in events.
    #[derive(Clone, Default)]
    struct Events(Arc<Mutex<Vec<String>>>);

    impl tracing::Subscriber for Events {
        fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }

        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

        fn event(&self, event: &tracing::Event<'_>) {
            /// One text.
            struct Line(String);
            impl tracing::field::Visit for Line {
                fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                    self.0.push_str(&format!(" {field}={value:?}"));
                }
            }
            let mut line = Line(event.metadata().level().to_string());
            event.record(&mut line);
            self.0.lock().unwrap().push(line.0);
        }

        fn enter(&self, _: &tracing::span::Id) {}

        fn exit(&self, _: &tracing::span::Id) {}
    }

    #[tokio::test(start_paused = true)]
    async fn every_failed_attempt_is_an_event_without_anything_of_the_request() {
        let events = Events::default();
        {
            let _guard = tracing::subscriber::set_default(events.clone());
            let failed = AtomicBool::new(false);
            let failure = Failure::http(500).body(b"a secret prompt").header("authorization", "secret");
            let call = async || if failed.swap(true, Ordering::Relaxed) { Ok(()) } else { Err(failure.clone()) };
            Overspill::embedded().retry("acme").model("m").key("secret").run(call).await.unwrap();
        }
        let events = events.0.lock().unwrap();
        let ours: Vec<&String> = events.iter().filter(|event| event.contains("provider=")).collect();
        assert_eq!(ours.len(), 2, "{events:?}");
        for part in ["WARN", "attempt failed", "attempt=1", "left=4", "class=\"server_error\"", "outcome=\"retry\"", "delay_ms=", "delay_from=\"backoff\"", "status=500"] {
            assert!(ours[0].contains(part), "{part} in {}", ours[0]);
        }
        assert!(ours[1].contains("attempts=2"));
        assert!(!events.iter().any(|event| event.contains("secret")));
    }
}
