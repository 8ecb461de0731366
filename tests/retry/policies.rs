//! Which policy a call follows: by provider, class, model and profile.

use std::time::Duration;

use overspill::{Ruleset, Step};

use crate::support::{Script, handle, status, wait};

const POLICY: &str = r#"
[retry]
base = "1s"
[retry.class.overloaded]
base = "5s"
[retry.profile.interactive]
max_attempts = 2
[retry.profile.unattended]
max_attempts = 9
server_delay = { max = "1h" }
[[retry.model]]
match = "big-*"
base = "3s"
"#;

#[tokio::test(start_paused = true)]
async fn class_over_model_over_profile_over_all() {
    let overspill = handle(POLICY);
    let first = |retry: overspill::Retry<'_>, code| match retry.session().next(&status(code)) {
        overspill::Decision { step: Step::Retry { delay, .. }, attempts_left, .. } => (delay.as_secs(), attempts_left),
        other => panic!("{other:?}"),
    };
    let retry = || overspill.retry("acme");
    assert_eq!(first(retry(), 500), (1, 4));
    assert_eq!(first(retry(), 529), (5, 4));
    assert_eq!(first(retry().model("big-1"), 500), (3, 4));
    assert_eq!(first(retry().model("big-1"), 529), (5, 4));
    assert_eq!(first(retry().profile("interactive"), 500), (1, 1));
    assert_eq!(first(retry().profile("unattended").model("big-1"), 500), (3, 8));
    assert_eq!(first(retry().profile("nobody knows"), 500), (1, 4));
}

#[tokio::test(start_paused = true)]
async fn a_profile_says_how_long_is_waited() {
    let overspill = handle(POLICY);
    let script = Script::new([wait(1200)]);
    overspill.retry("acme").profile("unattended").run(async || script.call()).await.unwrap();
    assert!(script.waits()[0] >= 1_200_000);
    let script = Script::new([wait(1200)]);
    assert!(overspill.retry("acme").alone().run(async || script.call()).await.is_err());
}

#[test]
fn the_worst_case_is_that_of_the_worst_class() {
    let worst = handle(POLICY).retry("acme").worst_case();
    // Overloaded: 5, 10, 20, 30 s. With the server's own waits: four times five minutes.
    assert_eq!((worst.calls, worst.waiting, worst.with_server_waits), (5, Duration::from_secs(65), Some(Duration::from_secs(1200))));
    let worst = handle(POLICY).retry("acme").deadline(Duration::from_secs(60)).at_most(4).worst_case();
    assert_eq!((worst.calls, worst.waiting, worst.with_server_waits), (4, Duration::from_secs(35), Some(Duration::from_secs(60))));
    let worst = handle("[retry]\nserver_delay = { over_max = \"wait\" }").retry("acme").worst_case();
    assert_eq!((worst.waiting, worst.with_server_waits), (Duration::from_secs(30), None));
}

#[test]
fn the_embedded_profiles_are_there() {
    let rules = Ruleset::embedded();
    let of = |profile| rules.retry_policy_for(Some("anthropic"), None, None, profile);
    assert!(of(Some("unattended")).max_attempts > of(None).max_attempts);
    assert!(of(Some("interactive")).server_delay.max < of(None).server_delay.max);
    assert!(of(Some("interactive")).deadline.is_some());
}
