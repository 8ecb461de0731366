//! An operator's edit in the middle of an outage takes effect on calls that are already waiting.

use std::time::Duration;

use overspill::Why;
use tokio::time::sleep;

use crate::support::{Script, handle, rules, status, wait};

/// Runs a call against the script and puts other rules in force after so many milliseconds.
async fn edited(before: &str, script: &Script, after: &str, at: u64) -> Result<(), (Why, u32)> {
    let overspill = handle(before);
    let edit = async {
        sleep(Duration::from_millis(at)).await;
        drop(overspill.replace(rules(after)));
    };
    let (result, ()) = tokio::join!(overspill.retry("acme").run(async || script.call()), edit);
    result.map_err(|end| (end.why(), end.attempts()))
}

#[tokio::test(start_paused = true)]
async fn a_shorter_wait_ends_earlier() {
    let script = Script::new([status(500)]);
    edited("[retry]\nbase = \"20s\"", &script, "[retry]\nbase = \"10s\"", 5000).await.unwrap();
    assert_eq!(script.waits(), [10_000]);
    let script = Script::new([status(500)]);
    edited("[retry]\nbase = \"20s\"", &script, "[retry]\nbase = \"1s\"", 5000).await.unwrap();
    assert_eq!(script.waits(), [5000], "at once, when that is over already");
}

#[tokio::test(start_paused = true)]
async fn a_longer_wait_ends_later() {
    let script = Script::new([status(500)]);
    edited("[retry]\nbase = \"4s\"", &script, "[retry]\nbase = \"20s\"", 3000).await.unwrap();
    assert_eq!(script.waits(), [20_000]);
}

#[tokio::test(start_paused = true)]
async fn no_edit_makes_it_earlier_than_the_server_asked() {
    let script = Script::new([wait(20)]);
    edited("", &script, "[retry]\nbase = \"1s\"\ncap = \"1s\"", 3000).await.unwrap();
    assert!((20_000..=22_001).contains(&script.waits()[0]), "{:?}", script.waits());
}

#[tokio::test(start_paused = true)]
async fn calls_that_wait_can_be_ended() {
    let cases = [
        ("[retry]\nmax_attempts = 1", status(500), Why::Attempts),
        ("[retry.class.server_error]\nmax_attempts = 1", status(500), Why::Attempts),
        ("[retry]\ndeadline = \"1s\"", status(500), Why::Deadline),
        ("[retry]\nserver_delay = { max = \"10s\" }", wait(20), Why::ServerDelayTooLong),
    ];
    for (after, failure, why) in cases {
        let script = Script::new([failure]);
        let begun = tokio::time::Instant::now();
        assert_eq!(edited("[retry]\nbase = \"20s\"", &script, after, 3000).await, Err((why, 1)));
        assert_eq!((begun.elapsed().as_secs(), script.calls().len()), (3, 1), "at once");
    }
}

#[tokio::test(start_paused = true)]
async fn the_next_attempt_follows_the_new_rules_and_pays_once() {
    let script = Script::new([status(500), status(500), status(500)]);
    let budget = "[retry]\nbase = \"1s\"\nbudget = { capacity = 2 }";
    let end = edited(budget, &script, &format!("{budget}\nfactor = 3.0"), 500).await.unwrap_err();
    assert_eq!((end, script.waits()), ((Why::Budget, 3), vec![1000, 3000]));
}

#[tokio::test(start_paused = true)]
async fn the_same_rules_again_change_nothing() {
    let script = Script::new([status(500)]);
    edited("", &script, "", 1000).await.unwrap();
    assert_eq!(script.waits(), [2000]);
}
