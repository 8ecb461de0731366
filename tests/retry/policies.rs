//! Which policy a call follows: by provider, class, model and profile.

use std::time::Duration;

use overspill::{Class, Failure, Overspill, Ruleset, RulesetBuilder, Step};

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
    // Overloaded: 5, 10, 20, 30 s. With the server's own waits: five times five minutes, since the first attempt may be held too.
    assert_eq!((worst.calls, worst.waiting, worst.with_server_waits), (5, Duration::from_secs(65), Some(Duration::from_secs(1500))));
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

/// What the file of all providers says, what the provider's own file says, and the attempts that a call has then, whose failures nobody knows.
#[test]
fn a_nearer_file_outranks_what_a_farther_one_says_of_a_class() {
    let rows = [
        ("[retry.class.unknown]\nmax_attempts = 2", "", 2),
        ("[retry.class.unknown]\nmax_attempts = 2", "[retry]\nmax_attempts = 1", 1),
        ("[retry.class.unknown]\nmax_attempts = 2", "[retry]\nmax_attempts = 8", 2),
        ("[retry.class.unknown]\nmax_attempts = 2", "[retry.profile.p]\nmax_attempts = 1", 1),
        ("[retry.class.unknown]\nmax_attempts = 2", "[[retry.model]]\nmatch = \"m\"\nmax_attempts = 1", 1),
        ("[retry.profile.p]\nmax_attempts = 9", "[retry]\nmax_attempts = 1", 1),
        ("[retry.profile.p]\nmax_attempts = 9", "[retry]\nmax_attempts = 3", 9),
        ("[[retry.model]]\nmatch = \"m\"\nmax_attempts = 9", "[retry]\nmax_attempts = 1", 1),
        ("[retry.profile.p]\nmax_attempts = 3", "[retry.class.unknown]\nmax_attempts = 9", 9),
        ("[retry]\nmax_attempts = 1", "[retry.class.unknown]\nmax_attempts = 3", 3),
        ("", "[retry]\nmax_attempts = 1\n[retry.class.unknown]\nmax_attempts = 3", 3),
    ];
    for (all, own, attempts) in rows {
        let layers = |files: &[(&str, &str)]| {
            let layer = |builder: RulesetBuilder, (number, (provider, text)): (usize, &(&str, &str))| {
                builder.text(number.to_string(), format!("{provider}.toml"), format!("provider = \"{provider}\"\n{text}"))
            };
            files.iter().enumerate().fold(Ruleset::builder().without_embedded(), layer).build().unwrap()
        };
        // In the third the layer with the file of all providers comes last; the provider's own file is the nearer one all the same.
        let ways: [&[(&str, &str)]; 3] = [&[("default", all), ("acme", own)], &[("default", all), ("default", own)], &[("default", ""), ("acme", own), ("default", all)]];
        for rules in ways.map(layers) {
            let policy = rules.retry_policy_for(Some("acme"), Some(Class::Unknown), Some("m"), Some("p"));
            assert_eq!(policy.max_attempts.get(), attempts, "{all} under {own}");
            let without = rules.retry_policy(Some("acme"), Some(Class::Unknown)).max_attempts;
            assert_eq!(without, rules.retry_policy_for(Some("acme"), Some(Class::Unknown), None, None).max_attempts);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_worst_case_knows_every_way_to_a_retry() {
    let by_rule = "[[rule]]\nid = \"later\"\nclass = \"not_found\"\naction = \"retry\"\nstatus = 404\n[[rule.example]]\nstatus = 404\nmessage = \"not yet\"\n[retry.class.not_found]\nmax_attempts = 20";
    let by_class = |class: &str| format!("[retry.class.{class}]\nmax_attempts = 20");
    let rows: [(String, Failure<'static>); 3] = [
        (by_rule.to_owned(), status(404)),
        (format!("[signals]\nshould_retry_headers = [\"x-should-retry\"]\n{}", by_class("invalid_request")), status(418).header("x-should-retry", "true")),
        (format!("[retry]\nretryable = [418]\n{}", by_class("invalid_request")), status(418)),
    ];
    for (text, failure) in rows {
        let overspill = handle(&text);
        let worst = overspill.retry("acme").worst_case();
        let script = Script::new((0..99).map(|_| failure.clone()));
        let end = overspill.retry("acme").run(async || script.call()).await.unwrap_err();
        assert_eq!((worst.calls, end.attempts()), (20, 20), "{text}");
        assert!(end.elapsed() <= worst.waiting + Duration::from_millis(50), "{:?} {worst:?}", end.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn the_worst_case_knows_that_a_first_attempt_may_be_held() {
    let told = |overspill: &Overspill| drop(overspill.retry("acme").not_repeatable().session().next(&wait(300)));
    let calls: [fn(&Overspill) -> overspill::Retry<'static>; 3] =
        [|overspill| overspill.retry("acme").not_repeatable(), |overspill| overspill.retry("acme").at_most(1), |overspill| overspill.retry("acme").alone().at_most(1)];
    for (call, most) in calls.into_iter().zip([300, 300, 0]) {
        let overspill = handle("");
        told(&overspill);
        let script = Script::new([]);
        call(&overspill).run(async || script.call()).await.unwrap();
        assert_eq!(call(&overspill).worst_case().with_server_waits, Some(Duration::from_secs(most)));
        assert!(script.calls()[0] <= u128::from(most) * 1000 + 1, "{:?}", script.calls());
    }
}
