//! What the calls of one provider and key share: holds and the budget.

use std::sync::Arc;
use std::time::Duration;

use overspill::{DelayFrom, Overspill, Step, Why};
use tokio::time::sleep;

use crate::support::{Script, handle, status, wait};

/// Has one call told to wait that long.
fn tell_to_wait(overspill: &Overspill, seconds: u64) {
    let mut session = overspill.retry("acme").session();
    session.next(&wait(seconds));
    // It went on: its place is its own.
    std::mem::forget(session);
}

fn near(actual: u128, low: u128, high: u128) {
    assert!((low..=high + 1).contains(&actual), "{actual} is not between {low} and {high}");
}

#[tokio::test(start_paused = true)]
async fn a_first_attempt_is_held_back() {
    let overspill = handle("");
    tell_to_wait(&overspill, 20);
    let script = Script::new([]);
    overspill.retry("acme").run(async || script.call()).await.unwrap();
    near(script.calls()[0], 20_000, 22_000);
}

#[tokio::test(start_paused = true)]
async fn whatever_becomes_of_the_call_that_was_told() {
    // Used up, not repeatable, output already out: what the server said holds all the same.
    for case in 0..3 {
        let overspill = handle("");
        let retry = overspill.retry("acme");
        let told = match case {
            0 => retry.at_most(1),
            1 => retry.not_repeatable(),
            _ => retry,
        };
        let failure = if case == 2 { wait(20).output_started() } else { wait(20) };
        assert!(matches!(told.session().next(&failure).step, Step::GiveUp(_)));
        let script = Script::new([]);
        overspill.retry("acme").run(async || script.call()).await.unwrap();
        near(script.calls()[0], 20_000, 22_000);
    }
}

#[tokio::test(start_paused = true)]
async fn other_keys_and_providers_are_not_and_other_names_of_it_are() {
    let embedded = Overspill::embedded();
    embedded.retry("anthropic").session().next(&wait(20));
    for (retry, held) in
        [(embedded.retry("openai"), false), (embedded.retry("anthropic").key("other"), false), (embedded.retry("anthropic").alone(), false), (embedded.retry("Claude"), true)]
    {
        assert_eq!(retry.session().wait_left().unwrap().is_some(), held);
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_waits_for_a_longer_hold() {
    let overspill = handle("");
    tell_to_wait(&overspill, 20);
    let mut session = overspill.retry("acme").session();
    let Step::Retry { delay, from, .. } = session.next(&status(500)).step else { panic!("retried") };
    assert_eq!(from, DelayFrom::HeldBack);
    near(delay.as_millis(), 20_000, 22_000);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_sleeps_heeds_a_hold_that_comes_later() {
    let overspill = handle("");
    let script = Script::new([status(500)]);
    let hold = async {
        sleep(Duration::from_secs(1)).await;
        tell_to_wait(&overspill, 30);
        // And again, before that is over.
        sleep(Duration::from_secs(25)).await;
        tell_to_wait(&overspill, 40);
    };
    let (result, ()) = tokio::join!(overspill.retry("acme").run(async || script.call()), hold);
    result.unwrap();
    near(script.waits()[0], 66_000, 70_000);
}

#[tokio::test(start_paused = true)]
async fn holds_end_with_the_deadline_and_with_what_is_slept_through() {
    let overspill = handle("");
    let script = Script::new([status(500), status(500)]);
    let hold = async {
        sleep(Duration::from_secs(1)).await;
        tell_to_wait(&overspill, 100);
    };
    let (result, ()) = tokio::join!(overspill.retry("acme").deadline(Duration::from_secs(60)).run(async || script.call()), hold);
    let end = result.unwrap_err();
    assert_eq!((end.why(), end.attempts(), script.calls()), (Why::Deadline, 1, vec![0]));

    // Again and again: in all no longer than five minutes.
    let overspill = handle("");
    let script = Script::new([status(500), status(500)]);
    let hold = async {
        for _ in 0..20 {
            tell_to_wait(&overspill, 100);
            sleep(Duration::from_secs(50)).await;
        }
    };
    let begun = tokio::time::Instant::now();
    let call = async {
        let result = overspill.retry("acme").run(async || script.call()).await;
        (result, begun.elapsed().as_secs())
    };
    let ((result, took), ()) = tokio::join!(call, hold);
    assert_eq!((result.unwrap_err().why(), script.calls().len()), (Why::ServerDelayTooLong, 1));
    assert!((300..=310).contains(&took), "{took}");
}

#[tokio::test(start_paused = true)]
async fn a_first_attempt_that_may_not_wait_so_long_asks_the_server() {
    let overspill = handle("");
    tell_to_wait(&overspill, 100);
    let mut session = overspill.retry("acme").deadline(Duration::from_secs(10)).session();
    assert_eq!(session.wait_left(), Err(Why::Deadline));
    let script = Script::new([wait(100)]);
    let end = overspill.retry("acme").deadline(Duration::from_secs(10)).run(async || script.call()).await.unwrap_err();
    assert_eq!((end.why(), script.calls()), (Why::Deadline, vec![0]));
    // A later call that succeeds shows that the hold is over.
    sleep(Duration::from_secs(1)).await;
    let script = Script::new([]);
    overspill.retry("acme").deadline(Duration::from_secs(10)).run(async || script.call()).await.unwrap();
    assert_eq!(overspill.retry("acme").session().wait_left(), Ok(None));
}

/// One call in ten that is told to wait must not stop the other nine: what a call shows that was sent after the one that was told counts.
#[tokio::test(start_paused = true)]
async fn a_hold_is_lifted_by_a_success_that_began_after_the_call_that_was_told() {
    for (later, held) in [(true, false), (false, true)] {
        let overspill = handle("");
        let ms = Duration::from_millis;
        // Under way for 400 ms; one begins before the call that is told to wait, the other after it.
        let succeeds = async |begins: u64| {
            sleep(ms(begins)).await;
            let call = async || {
                sleep(ms(400)).await;
                Ok::<_, String>(())
            };
            overspill.retry("acme").run(call).await.unwrap();
        };
        let told = async {
            sleep(ms(100)).await;
            let mut session = overspill.retry("acme").session();
            sleep(ms(50)).await;
            session.next(&wait(20));
            std::mem::forget(session);
        };
        let script = Script::new([]);
        let stranger = async {
            sleep(ms(300)).await;
            overspill.retry("acme").run(async || script.call()).await.unwrap();
        };
        let before_or_after = if later { 120 } else { 80 };
        tokio::join!(succeeds(before_or_after), told, stranger);
        let called = script.calls()[0];
        if held {
            near(called, 20_150, 22_200);
        } else {
            // The success is there after 520 ms; what was left of the wait is 19.6 s.
            near(called, 520, 520 + 1_963);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn those_whose_hold_is_lifted_return_apart() {
    let overspill = handle("");
    tell_to_wait(&overspill, 60);
    let script = Script::new([]);
    let tasks = (0..400).map(|_| {
        let (overspill, script) = (overspill.clone(), Arc::clone(&script));
        tokio::spawn(async move { overspill.retry("acme").run(async || script.call()).await.is_ok() })
    });
    let tasks: Vec<_> = tasks.collect();
    sleep(Duration::from_secs(1)).await;
    // Somebody who may not wait so long asked the server all the same.
    overspill.retry("acme").session().succeeded();
    for task in tasks {
        assert!(task.await.unwrap());
    }
    let mut calls = script.calls();
    calls.sort_unstable();
    near(calls[0], 1_000, 3_000);
    assert!(calls[399] < 10_000, "{}", calls[399]);
    assert!(calls.iter().map(|from| calls.iter().filter(|at| (*from..from + 100).contains(*at)).count()).max().unwrap() <= 100);
}

#[tokio::test(start_paused = true)]
async fn those_who_were_held_return_apart() {
    let overspill = handle("");
    tell_to_wait(&overspill, 20);
    let script = Script::new([]);
    let tasks = (0..400).map(|_| {
        let (overspill, script) = (overspill.clone(), Arc::clone(&script));
        tokio::spawn(async move { overspill.retry("acme").run(async || script.call()).await.is_ok() })
    });
    for task in tasks.collect::<Vec<_>>() {
        assert!(task.await.unwrap());
    }
    let mut calls = script.calls();
    calls.sort_unstable();
    assert!(calls[0] >= 20_000);
    assert!(calls.iter().map(|from| calls.iter().filter(|at| (*from..from + 100).contains(*at)).count()).max().unwrap() <= 100);
}

#[tokio::test(start_paused = true)]
async fn the_budget_bounds_retries_and_recovers_with_time_and_success() {
    let overspill = handle("[retry]\nbudget = { capacity = 3, per_second = 0.01, per_success = 0.5 }");
    let whys = async || {
        let script = Script::new((0..9).map(|_| status(500)));
        let end = overspill.retry("acme").run(async || script.call()).await.unwrap_err();
        (end.why(), end.attempts())
    };
    assert_eq!(whys().await, (Why::Budget, 4));
    assert_eq!(whys().await, (Why::Budget, 1));
    sleep(Duration::from_secs(100)).await;
    assert_eq!(whys().await, (Why::Budget, 2));
    for _ in 0..2 {
        overspill.retry("acme").run(async || Ok::<_, String>(())).await.unwrap();
    }
    assert_eq!(whys().await, (Why::Budget, 2));
    assert_eq!(overspill.retry("acme").key("other").session().next(&status(500)).attempts_left, 4, "each key has its own");
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_succeeds_gets_its_price_back() {
    let overspill = handle("[retry]\nbudget = { capacity = 1, per_second = 0, per_success = 0 }");
    for _ in 0..5 {
        let script = Script::new([status(500)]);
        overspill.retry("acme").run(async || script.call()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn classes_cost_differently_and_an_overflow_nothing() {
    let budget = "[retry]\nbudget = { capacity = 2 }\n[retry.class.rate_limited]\ncost = 0.5\n[retry.class.timeout]\ncost = 2.0";
    for (code, retries) in [(429, 4), (500, 2), (408, 1)] {
        let overspill = handle(budget);
        let granted = (0..9).take_while(|_| {
            let mut session = overspill.retry("acme").session();
            let retried = matches!(session.next(&status(code)).step, Step::Retry { .. });
            std::mem::forget(session);
            retried
        });
        assert_eq!(granted.count(), retries, "{code}");
        assert_eq!(overspill.retry("acme").session().next(&status(413)).step, Step::Compact);
        assert_eq!(overspill.retry("acme").alone().session().next(&status(code)).attempts_left, 4, "who is alone pays nothing");
    }
    let embedded = Overspill::embedded();
    let rules = embedded.ruleset();
    let cost = |class| rules.retry_policy(None, Some(class)).cost;
    assert!(cost(overspill::Class::RateLimited) < cost(overspill::Class::Overloaded));
}

#[tokio::test(start_paused = true)]
async fn what_can_never_fit_costs_nothing() {
    let overspill = Overspill::embedded();
    let body = br#"{"error":{"message":"Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 45000. The input or output tokens must be reduced in order to run successfully.","type":"tokens","code":"rate_limit_exceeded"}}"#;
    for _ in 0..100 {
        let decision = overspill.retry("openai").session().next(&overspill::Failure::http(429).body(body).header("retry-after", "60"));
        assert_eq!((decision.verdict.class(), decision.step), (overspill::Class::RequestExceedsRateLimit, Step::Compact));
    }
    assert_eq!(overspill.retry("openai").session().wait_left(), Ok(None), "and holds nobody back");
    assert!(matches!(overspill.retry("openai").session().next(&status(500)).step, Step::Retry { .. }));
}

/// What one model, profile or class may spend is its own affair.
#[tokio::test(start_paused = true)]
async fn a_budget_of_its_own_does_not_touch_that_of_the_others() {
    let parts = ["[[retry.model]]\nmatch = \"big\"", "[retry.profile.big]", "[retry.class.overloaded]"];
    for part in parts {
        let overspill = handle(&format!("[retry]\nbudget = {{ capacity = 3, per_second = 0, per_success = 0 }}\n{part}\nbudget = {{ capacity = 0 }}"));
        let next = |big: bool| {
            let retry = overspill.retry("acme");
            let retry = if big { retry.model("big").profile("big") } else { retry };
            let mut session = retry.session();
            let step = session.next(&status(if big { 529 } else { 500 })).step;
            std::mem::forget(session);
            step
        };
        for _ in 0..3 {
            assert_eq!(next(true), Step::GiveUp(Why::Budget), "{part}");
            assert!(matches!(next(false), Step::Retry { .. }), "{part}");
            overspill.retry("acme").model("big").profile("big").session().succeeded();
        }
        assert_eq!(next(false), Step::GiveUp(Why::Budget), "{part}");
    }
}
