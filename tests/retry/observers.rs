//! Observers get every attempt with what a countdown needs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use overspill::{Attempt, Class, DelayFrom, Ended, Held, Observer};

use crate::support::{Script, handle, rules, status, wait};

#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Observer for Seen {
    fn attempt_failed(&self, attempt: &Attempt<'_>) {
        let delay = attempt.delay().map(|delay| delay.as_secs());
        let in_time = match (attempt.next_at(), attempt.delay()) {
            (Some(at), Some(delay)) => at.duration_since(jiff::Timestamp::now()).as_secs_f64() <= delay.as_secs_f64(),
            (at, _) => at.is_none(),
        };
        assert!(in_time);
        let from = attempt.delay_from().map(DelayFrom::name);
        self.0.lock().unwrap().push(format!("{} {:?} {delay:?} {from:?} left {}", attempt.number, attempt.verdict.class(), attempt.left));
    }

    fn held_back(&self, held: &Held<'_>) {
        self.0.lock().unwrap().push(format!("{} held for {} s", held.number, held.wait.as_secs()));
    }

    fn call_ended(&self, ended: &Ended<'_>) {
        self.0.lock().unwrap().push(format!("ended after {}: {}, allowed {}", ended.attempts, ended.why, ended.retry_at.is_some()));
    }

    fn call_succeeded(&self, attempts: u32) {
        self.0.lock().unwrap().push(format!("succeeded with {attempts}"));
    }
}

#[tokio::test(start_paused = true)]
async fn every_attempt_is_told() {
    let overspill = handle("");
    let (seen, script) = (Seen::default(), Script::new([status(500), wait(10)]));
    overspill.retry("acme").observer(seen.clone()).run(async || script.call()).await.unwrap();
    let expected = ["1 ServerError Some(2) Some(\"backoff\") left 4", "2 RateLimited Some(10) Some(\"server\") left 3", "succeeded with 3"];
    assert_eq!(*seen.0.lock().unwrap(), expected);

    let (seen, script) = (Seen::default(), Script::new([status(400)]));
    overspill.retry("acme").observer(seen.clone()).run(async || script.call()).await.unwrap_err();
    assert_eq!(*seen.0.lock().unwrap(), ["1 InvalidRequest None None left 0"]);
}

#[tokio::test(start_paused = true)]
async fn also_when_it_is_held_back() {
    let overspill = handle("");
    overspill.retry("acme").session().next(&wait(1));
    let (seen, script) = (Seen::default(), Script::new([]));
    overspill.retry("acme").observer(seen.clone()).run(async || script.call()).await.unwrap();
    let seen = seen.0.lock().unwrap();
    assert!(seen[0] == "1 held for 1 s" && seen[1] == "succeeded with 1", "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn a_closure_is_one() {
    let overspill = handle("");
    let classes = Arc::new(Mutex::new(Vec::<(Class, Option<Duration>)>::new()));
    let told = Arc::clone(&classes);
    let script = Script::new([status(529)]);
    overspill.retry("acme").observer(move |attempt: &Attempt<'_>| told.lock().unwrap().push((attempt.verdict.class(), attempt.delay()))).run(async || script.call()).await.unwrap();
    assert_eq!(*classes.lock().unwrap(), [(Class::Overloaded, Some(Duration::from_secs(2)))]);
}

#[tokio::test(start_paused = true)]
async fn and_when_its_wait_ends_the_call() {
    for case in 0..3 {
        let overspill = handle("");
        let (seen, script) = (Seen::default(), Script::new([status(500)]));
        let meanwhile = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            match case {
                0 => drop(overspill.replace(rules("[retry]\nmax_attempts = 1"))),
                1 => drop(overspill.retry("acme").not_repeatable().session().next(&wait(100))),
                _ => drop(overspill.retry("acme").not_repeatable().session().next(&wait(1000))),
            }
        };
        let call = overspill.retry("acme").deadline(Duration::from_secs(if case == 1 { 50 } else { 5000 })).observer(seen.clone());
        let (result, ()) = tokio::join!(call.run(async || script.call()), meanwhile);
        assert!(result.is_err());
        let expected = ["ended after 1: attempts, allowed false", "ended after 1: deadline, allowed true", "ended after 1: server-delay-too-long, allowed true"][case];
        assert_eq!(seen.0.lock().unwrap()[1..], [expected]);
    }
}
