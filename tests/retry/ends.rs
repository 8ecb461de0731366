//! How calls end, and that nothing is left of those that are dropped.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use overspill::{Failure, Step, Why};
use tokio::time::{sleep, timeout};

use crate::support::{Refused, Script, end, handle, status, wait};

#[tokio::test(start_paused = true)]
async fn the_end_is_an_error_with_its_source() {
    let end = handle("").retry("acme").run(async || Err::<(), _>(Refused(401))).await.unwrap_err();
    let error: Box<dyn Error + Send + Sync> = Box::new(end);
    assert_eq!(error.to_string(), "auth after 1 attempt: repeating the call would not help");
    assert_eq!(error.source().unwrap().to_string(), "the provider refused: 401");
    assert!(error.source().unwrap().is::<Refused>());
}

#[tokio::test(start_paused = true)]
async fn too_long_a_wait_ends_with_the_instant() {
    let script = Script::new([wait(301)]);
    let end = end(&handle(""), &script).await;
    assert_eq!((end.why(), end.attempts()), (Why::ServerDelayTooLong, 1));
    let left = end.retry_at().unwrap().duration_since(jiff::Timestamp::now());
    assert!((295..=301).contains(&left.as_secs()), "{left:?}");
    assert!(end.to_string().contains("the server allows another try from"), "{end}");
}

#[tokio::test(start_paused = true)]
async fn or_is_waited_out_as_configured() {
    let script = Script::new([wait(3600)]);
    handle("[retry]\nserver_delay = { over_max = \"wait\" }").retry("acme").run(async || script.call()).await.unwrap();
    assert!((3_600_000..=3_602_001).contains(&script.waits()[0]));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_is_asked_before_the_wait() {
    let script = Script::new((0..9).map(|_| status(500)));
    let begun = tokio::time::Instant::now();
    let end = handle("").retry("acme").deadline(Duration::from_secs(7)).run(async || script.call()).await.unwrap_err();
    // After 2 s and 4 s more, the next 8 s would end later.
    assert_eq!((end.why(), end.attempts(), begun.elapsed().as_secs()), (Why::Deadline, 3, 6));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_to_be_made_twice_is_not() {
    let overspill = handle("");
    let script = Script::new([status(500)]);
    let end = overspill.retry("acme").not_repeatable().run(async || script.call()).await.unwrap_err();
    assert_eq!((end.why(), script.calls().len()), (Why::NotRepeatable, 1));
    assert_eq!(overspill.retry("acme").not_repeatable().worst_case().calls, 1);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_retried_after_output_unless_that_is_safe() {
    let overspill = handle("");
    let script = Script::new([status(500).output_started()]);
    let end = end(&overspill, &script).await;
    assert_eq!((end.why(), script.calls().len()), (Why::OutputStarted, 1));

    let script = Script::new([status(500).output_started()]);
    overspill.retry("acme").even_after_output().run(async || script.call()).await.unwrap();
    assert_eq!(script.calls().len(), 2);

    let mut session = overspill.retry("acme").session();
    session.output_started();
    assert_eq!(session.next(&status(500)).step, Step::GiveUp(Why::OutputStarted));
    session.request_changed();
    assert!(matches!(session.next(&status(500)).step, Step::Retry { .. }));
}

#[tokio::test(start_paused = true)]
async fn fewer_attempts_but_never_more() {
    let overspill = handle("");
    for (asked, made) in [(0, 1), (1, 1), (3, 3), (99, 5)] {
        let script = Script::new((0..9).map(|_| status(500)));
        let end = overspill.retry("acme").at_most(asked).run(async || script.call()).await.unwrap_err();
        assert_eq!((end.why(), end.attempts()), (Why::Attempts, made), "{asked}");
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_cancels_at_any_point() {
    // A call takes a second, and then it fails; cut at every tenth of a second of the whole.
    for cut in 0..250 {
        let overspill = handle("[retry]\nmax_attempts = 4\nbudget = { capacity = 3 }");
        let (calls, running) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
        let call = {
            let (calls, running) = (Arc::clone(&calls), Arc::clone(&running));
            move || {
                let (calls, running) = (Arc::clone(&calls), Arc::clone(&running));
                async move {
                    /// Says when the call is gone.
                    struct Running(Arc<AtomicBool>);
                    impl Drop for Running {
                        fn drop(&mut self) {
                            self.0.store(false, Ordering::Relaxed);
                        }
                    }
                    calls.fetch_add(1, Ordering::Relaxed);
                    running.store(true, Ordering::Relaxed);
                    let _running = Running(Arc::clone(&running));
                    sleep(Duration::from_secs(1)).await;
                    Err::<(), _>(status(500))
                }
            }
        };
        let at = Duration::from_millis(100 * cut + 50);
        let cancelled = timeout(at, overspill.retry("acme").run(call)).await;
        let made = calls.load(Ordering::Relaxed);
        // 1 s, wait 2 s, 1 s, wait 4 s, 1 s, wait 8 s, 1 s.
        let expected = [0, 3000, 8000, 17_000].iter().filter(|begin| **begin < at.as_millis()).count();
        assert_eq!((made as usize, cancelled.is_err()), (expected, at < Duration::from_secs(18)), "{at:?}");
        sleep(Duration::from_secs(60)).await;
        assert_eq!((calls.load(Ordering::Relaxed), running.load(Ordering::Relaxed)), (made, false), "{at:?}: nothing goes on");
        // A retry that was never made costs nothing: the rest of three is there for others.
        let left = 3 - (made - 1);
        for _ in 0..left {
            assert!(matches!(overspill.retry("acme").session().next(&status(500)).step, Step::Retry { .. }), "{at:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_place_among_those_who_return_is_given_back() {
    let overspill = handle("");
    for _ in 0..5 {
        // Fifty fit into one tenth of a second; were dropped ones kept, later ones would wait longer each time.
        let mut sessions: Vec<_> = (0..50).map(|_| overspill.retry("acme").session()).collect();
        for session in &mut sessions {
            let Step::Retry { delay, .. } = session.next(&status(500)).step else { panic!("retried") };
            assert_eq!(delay, Duration::from_secs(2));
        }
    }
}

fn send<T: Send>(value: T) -> T {
    value
}

#[tokio::test(start_paused = true)]
async fn many_tasks_on_many_threads_can_run_it() {
    let overspill = handle("");
    let script = Script::new([status(500)]);
    let task = {
        let (overspill, script) = (overspill.clone(), Arc::clone(&script));
        tokio::spawn(async move {
            overspill
                .retry("acme")
                .model(String::from("m"))
                .run(async || {
                    sleep(Duration::from_millis(1)).await;
                    script.call()
                })
                .await
                .is_ok()
        })
    };
    assert!(task.await.unwrap());
    drop(send(overspill.retry("acme").session()));
    let error: Result<(), _> = send(overspill.retry("acme").run(async || Err(Failure::http(400)))).await;
    assert!(error.is_err());
}
