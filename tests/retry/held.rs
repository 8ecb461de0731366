//! Calls that are held back because another one was told to wait: for how long, and what ends it.

use std::sync::Arc;
use std::time::Duration;

use overspill::{DelayFrom, Overspill, Retry, Step, Why};
use tokio::time::{Instant, sleep};

use crate::support::{Script, handle, rules, status, wait};

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Has one call told to wait that long.
fn tell_to_wait(overspill: &Overspill, seconds: u64) {
    overspill.retry("acme").not_repeatable().session().next(&wait(seconds));
}

/// The most that are made in any 100 ms.
fn peak(mut calls: Vec<u128>) -> usize {
    calls.sort_unstable();
    calls.iter().map(|from| calls.iter().filter(|at| (*from..from + 100).contains(*at)).count()).max().unwrap_or(0)
}

#[tokio::test(start_paused = true)]
async fn a_hold_that_is_too_long_to_wait_for_keeps_the_pace_all_the_same() {
    for retry in [|overspill: &Overspill| overspill.retry("acme").profile("short"), |overspill: &Overspill| overspill.retry("acme").deadline(secs(1))] {
        let overspill = handle("[retry.profile.short]\nserver_delay = { max = \"1m\" }");
        tell_to_wait(&overspill, 90);
        let script = Script::new((0..1000).map(|_| wait(90)));
        let tasks = (0..1000).map(|_| {
            let (retry, script): (Retry<'static>, _) = (retry(&overspill), Arc::clone(&script));
            tokio::spawn(async move { retry.run(async || script.call()).await.is_err() })
        });
        for task in tasks.collect::<Vec<_>>() {
            assert!(task.await.unwrap());
        }
        let calls = script.calls();
        assert!(calls.len() == 1000 && peak(calls.clone()) <= 120, "{} in 100 ms", peak(calls));
    }
}

#[tokio::test(start_paused = true)]
async fn an_edit_reaches_first_attempts_that_are_held() {
    // Rules that sleep through less, and such as know a deadline: the server is asked, three seconds in.
    for after in ["[retry]\nserver_delay = { max = \"10s\" }", "[retry]\ndeadline = \"5s\""] {
        let overspill = handle("");
        tell_to_wait(&overspill, 60);
        let script = Script::new([]);
        let edit = async {
            sleep(secs(3)).await;
            drop(overspill.replace(rules(after)));
        };
        let (result, ()) = tokio::join!(overspill.retry("acme").run(async || script.call()), edit);
        result.unwrap();
        assert_eq!(script.calls(), [3000], "{after}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_is_released_too_when_the_hold_is_lifted() {
    // Its own wait is a floor all the same.
    for (base, low, high) in [("1s", 5_000, 10_600), ("30s", 30_000, 30_001)] {
        let overspill = handle(&format!("[retry]\nbase = \"{base}\""));
        tell_to_wait(&overspill, 60);
        let script = Script::new([status(500)]);
        let mut session = overspill.retry("acme").session();
        let start = Instant::now();
        let Step::Retry { from: DelayFrom::HeldBack, .. } = session.next(&status(500)).step else { panic!("held back") };
        let lift = async {
            sleep(secs(5)).await;
            overspill.retry("acme").session().succeeded();
        };
        let (waited, ()) = tokio::join!(session.wait(), lift);
        waited.unwrap();
        let took = start.elapsed().as_millis();
        assert!((low..=high).contains(&took), "{base}: {took}");
        drop(script);
    }
}

#[tokio::test(start_paused = true)]
async fn only_a_success_of_an_attempt_that_began_later_lifts_a_hold() {
    // Each begins its attempt at 1 s; the call that is told to wait begins at 0.5 s or at 1.5 s.
    let prepared = async |case: usize, overspill: &Overspill| {
        let mut session = overspill.retry("acme").session();
        match case {
            0 => sleep(secs(1)).await,
            1 => {
                session.next(&status(413));
                sleep(secs(1)).await;
                session.request_changed();
            }
            _ => {
                session.next(&status(500));
                session.wait().await.unwrap();
            }
        }
        assert_eq!(session.wait_left(), Ok(None));
        std::mem::ManuallyDrop::new(session)
    };
    for case in 0..3 {
        for (told, lifted) in [(500, true), (1500, false)] {
            let overspill = handle("[retry]\nbase = \"1s\"");
            let told = async {
                sleep(Duration::from_millis(told)).await;
                let mut session = overspill.retry("acme").not_repeatable().session();
                sleep(secs(2)).await;
                session.next(&wait(100));
            };
            let later = async {
                let mut session = std::mem::ManuallyDrop::into_inner(prepared(case, &overspill).await);
                sleep(secs(9)).await;
                session.succeeded();
            };
            tokio::join!(told, later);
            assert_eq!(overspill.retry("acme").session().wait_left() == Ok(None), lifted, "case {case}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_says_from_when_the_server_allows_another_try() {
    for deadline in [None, Some(secs(50))] {
        let overspill = handle("");
        let script = Script::new([status(500)]);
        let hold = async {
            sleep(secs(1)).await;
            tell_to_wait(&overspill, 1000);
        };
        let retry = overspill.retry("acme");
        let retry = deadline.map_or(retry.clone(), |deadline| retry.deadline(deadline));
        let (result, ()) = tokio::join!(retry.run(async || script.call()), hold);
        let end = result.unwrap_err();
        let left = end.retry_at().map(|at| at.duration_since(jiff::Timestamp::now()).as_secs());
        assert!(left.is_some_and(|left| (990..=1001).contains(&left)), "{deadline:?}: {end:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn past_the_deadline_no_call_is_made() {
    let overspill = handle("");
    let mut session = overspill.retry("acme").deadline(secs(10)).session();
    sleep(secs(20)).await;
    assert_eq!(session.wait_left(), Ok(None), "it counts from the first attempt on");
    assert_eq!(session.next(&status(413)).step, Step::Compact);
    session.request_changed();
    for _ in 0..2 {
        assert_eq!(session.wait_left(), Err(Why::Deadline));
    }
    assert_eq!(session.wait().await, Err(Why::Deadline));
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_ended_the_call_stays_ended() {
    let overspill = handle("");
    let mut session = overspill.retry("acme").session();
    session.next(&status(500));
    drop(overspill.replace(rules("[retry]\nmax_attempts = 1")));
    assert_eq!((session.wait_left(), session.wait_left()), (Err(Why::Attempts), Err(Why::Attempts)));
    session.request_changed();
    assert_eq!(session.wait_left(), Ok(None));
}
