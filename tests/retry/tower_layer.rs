//! The layer in a stack.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use overspill::{Failure, RetryLayer};
use tower::{Service, ServiceBuilder, ServiceExt};

use crate::support::handle;

/// Answers with the statuses in turn; must be polled ready before each call.
#[derive(Clone, Debug)]
struct Provider {
    statuses: Arc<Vec<u16>>,
    calls: Arc<AtomicU32>,
    ready: bool,
}

impl Provider {
    fn new(statuses: &[u16]) -> Self {
        Self { statuses: Arc::new(statuses.to_vec()), calls: Arc::default(), ready: false }
    }
}

impl Service<String> for Provider {
    type Response = (u16, String);
    type Error = Infallible;
    type Future = std::future::Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: String) -> Self::Future {
        assert!(std::mem::take(&mut self.ready), "called without being ready");
        let number = self.calls.fetch_add(1, Ordering::Relaxed) as usize;
        std::future::ready(Ok((self.statuses.get(number).copied().unwrap_or(200), request)))
    }
}

fn judge(result: &Result<(u16, String), Infallible>) -> Option<Failure<'_>> {
    match result {
        Ok((status, _)) => (*status >= 400).then(|| Failure::http(*status)),
        Err(never) => match *never {},
    }
}

#[tokio::test(start_paused = true)]
async fn it_retries_and_hands_on_what_came() {
    let overspill = handle("");
    let layer = RetryLayer::new(overspill.retry("acme"), judge);
    for (statuses, answer, calls, seconds) in [(&[500, 529][..], 200, 3, 6), (&[413], 413, 1, 0), (&[401], 401, 1, 0), (&[500; 9], 500, 5, 30), (&[], 200, 1, 0)] {
        let provider = Provider::new(statuses);
        let begun = tokio::time::Instant::now();
        let mut service = ServiceBuilder::new().layer(layer.clone()).service(provider.clone());
        let response = service.ready().await.unwrap().call("hello".to_owned()).await.unwrap();
        assert_eq!((response, provider.calls.load(Ordering::Relaxed), begun.elapsed().as_secs()), ((answer, "hello".to_owned()), calls, seconds));
    }
}

#[tokio::test(start_paused = true)]
async fn it_goes_into_a_task_and_can_be_dropped() {
    let overspill = handle("");
    let provider = Provider::new(&[500; 9]);
    let service = ServiceBuilder::new().layer(RetryLayer::new(overspill.retry("acme"), judge)).service(provider.clone());
    let task = tokio::spawn(service.oneshot(String::new()));
    tokio::time::sleep(Duration::from_secs(3)).await;
    task.abort();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(provider.calls.load(Ordering::Relaxed), 2);
}
