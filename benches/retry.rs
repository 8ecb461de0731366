//! What retrying costs, and what it spares the provider: herds, outages, and calls that need no retry. Prints tables; `cargo bench --bench retry --features retry,tower [herds|outages|holds|successes]`.

#![expect(clippy::print_stdout, reason = "tables are its purpose")]
#![expect(clippy::unwrap_used, reason = "a benchmark stops at the first surprise")]

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use backon::Retryable;
use overspill::{Failure, Overspill, RetryLayer, Ruleset};
use tower::{Layer, Service, ServiceExt, service_fn};

#[path = "../tests/retry/herd.rs"]
mod herd;

fn main() {
    // Also when cargo test runs benches: then only to see that they work.
    let quick = !std::env::args().any(|argument| argument == "--bench");
    let named: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let wanted = |name: &str| named.is_empty() || named.iter().any(|named| name.contains(named));
    if wanted("herds") {
        herds(if quick { 50 } else { 1000 });
    }
    if wanted("outages") {
        outages(if quick { 5 } else { 120 });
    }
    if wanted("holds") {
        holds(if quick { 5 } else { 120 });
    }
    if wanted("successes") {
        successes(if quick { 100 } else { 200_000 });
    }
}

fn paused<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(future)
}

/// The embedded rules with this over them.
fn rules(text: &str) -> Arc<Ruleset> {
    let over = format!("provider = \"default\"\n{text}");
    Arc::new(Ruleset::builder().text("bench", "default.toml", over).build().unwrap())
}

fn herds(clients: usize) {
    println!("\n{clients} clients fail together, six times: the largest number that returns in any 100 ms\n");
    println!("| waits | largest number |\n|---|---:|");
    let modes = [
        ("none", "\"none\""),
        ("proportional 0.2", "{ mode = \"proportional\", ratio = 0.2 }"),
        ("additive 0.2", "{ mode = \"additive\", ratio = 0.2 }"),
        ("equal", "\"equal\""),
        ("full", "\"full\""),
        ("decorrelated", "\"decorrelated\""),
    ];
    for (name, jitter) in modes {
        let rules = rules(&format!("[retry]\nmax_attempts = 7\nbase = \"1s\"\njitter = {jitter}"));
        let peak = paused(herd::peak(clients, || Overspill::new(Arc::clone(&rules)), &Failure::http(500)));
        println!("| {name}, from 1 s, each client alone | {peak} |");
    }
    // A budget that lets everybody retry: otherwise there is no herd.
    let unbounded = rules("[retry]\nmax_attempts = 7\nbudget = { capacity = 1000000 }");
    let waits = [
        ("the default, each client alone", Failure::http(500), false),
        ("the default, with pace and hold-back", Failure::http(500), true),
        ("the server says 20 s, each client alone", Failure::http(429).header("retry-after", "20"), false),
        ("the server says 20 s, with pace and hold-back", Failure::http(429).header("retry-after", "20"), true),
    ];
    for (name, failure, together) in waits {
        let shared = Overspill::new(Arc::clone(&unbounded));
        let handle = || if together { shared.clone() } else { Overspill::new(Arc::clone(&unbounded)) };
        println!("| {name} | {} |", paused(herd::peak(clients, handle, &failure)));
    }
    let default = Overspill::embedded();
    println!("| the default, with its budget | {} |", paused(herd::peak(clients, || default.clone(), &Failure::http(500))));
    println!("| others, measured elsewhere: none 1000, gRPC 265, equal 222, full 149, decorrelated 72 | |");
}

fn outages(seconds: u32) {
    println!("\nattempts for each call, {seconds} s of calls at an even pace (of them while calls were begun)\n");
    println!("| failure | calls a second | 10 % fail | 50 % fail | all fail |\n|---|---:|---:|---:|---:|");
    let failures = [
        ("500", Failure::http(500)),
        ("529", Failure::http(529)),
        ("429", Failure::http(429)),
        ("429, wait 3 s", Failure::http(429).header("retry-after", "3")),
        ("408", Failure::http(408)),
    ];
    for (name, failure) in failures {
        for per_second in [1, 50] {
            let shares = [0.1, 0.5, 1.0].map(|failing| {
                let herd::Amplification { in_all, meanwhile } = paused(herd::amplification(&Overspill::embedded(), per_second, seconds, failing, &failure));
                format!("{in_all:.2} ({meanwhile:.2})")
            });
            println!("| {name} | {per_second} | {} |", shares.join(" | "));
        }
    }
    println!("| others, measured elsewhere: Finagle and tower | 1 | | 1.73 | 3.00 |\n| AWS, 500/5 | 1 | | 1.73 | 1.83 |");
}

/// What a hold costs where only some calls are told to wait, and what it spares where all are: a provider that lets so many calls a minute through and tells the others when its minute is over.
fn holds(seconds: u32) {
    println!("\n20 calls a second for {seconds} s, each half a second long, a tenth when refused; what becomes of them when some are told to wait\n");
    println!("| who is told to wait | calls | replies in that time | seconds for a reply, mean | refused attempts a call |\n|---|---|---:|---:|---:|");
    let tenth = |number: u64, _: Duration| (number % 10 == 3).then_some(3);
    let minute = |allowed: u64| {
        let mut window = (0, 0);
        move |_: u64, at: Duration| {
            let now = at.as_secs() / 60;
            window = if window.0 == now { (now, window.1 + 1) } else { (now, 1) };
            (window.1 > allowed).then_some(60 - at.as_secs() % 60)
        }
    };
    for together in [true, false] {
        let calls = if together { "heed each other" } else { "each alone" };
        let unbounded = || Overspill::new(rules("[retry]\nmax_attempts = 1000\nbudget = { capacity = 1000000 }"));
        let row = |who: &str, all: Served| println!("| {who} | {calls} | {:.0} % | {:.1} | {:.2} |", all.share * 100.0, all.seconds, all.refused);
        row("each tenth, 3 s", paused(served(&unbounded(), together, 20, seconds, tenth)));
        row("all but 900 a minute, to its end", paused(served(&unbounded(), together, 20, seconds, minute(900))));
    }
}

/// What becomes of calls to a provider that tells some of them to wait.
struct Served {
    /// Of the calls begun, those that had their reply when the last one was begun.
    share: f64,
    /// From wanting a reply to having it, on average.
    seconds: f64,
    /// Attempts that were told to wait, for each call.
    refused: f64,
}

/// Calls at an even pace, half a second long, a tenth when refused. `refuse` gets the number of the attempt and the time, and says how many seconds it is to wait, if so.
async fn served(overspill: &Overspill, together: bool, per_second: u32, seconds: u32, refuse: impl FnMut(u64, Duration) -> Option<u64> + Send + 'static) -> Served {
    let (start, calls) = (tokio::time::Instant::now(), per_second * seconds);
    let (attempts, refused, refuse) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(refuse)));
    let call = |number: u32| {
        let (overspill, attempts, refused, refuse) = (overspill.clone(), Arc::clone(&attempts), Arc::clone(&refused), Arc::clone(&refuse));
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(1) * number / per_second).await;
            let begun = start.elapsed();
            let attempt = async || {
                let number = attempts.fetch_add(1, Ordering::Relaxed);
                let told = (refuse.lock().unwrap())(number, start.elapsed());
                if let Some(wait) = told {
                    refused.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    return Err(Failure::http(429).header("retry-after", wait.to_string()));
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
                Ok(())
            };
            let retry = overspill.retry("acme");
            let _ = if together { retry } else { retry.alone() }.run(attempt).await;
            (start.elapsed(), start.elapsed().saturating_sub(begun))
        })
    };
    let mut ends = Vec::new();
    for task in (0..calls).map(call).collect::<Vec<_>>() {
        ends.push(task.await.unwrap());
    }
    let within = ends.iter().filter(|(end, _)| *end <= Duration::from_secs(seconds.into())).count();
    Served {
        share: within as f64 / f64::from(calls),
        seconds: ends.iter().map(|(_, took)| took.as_secs_f64()).sum::<f64>() / f64::from(calls),
        refused: refused.load(Ordering::Relaxed) as f64 / f64::from(calls),
    }
}

/// Nanoseconds a call, the best of several rounds.
async fn time<F: AsyncFnMut()>(calls: u32, mut call: F) -> f64 {
    let mut best = Duration::MAX;
    for _ in 0..9 {
        let begun = Instant::now();
        for _ in 0..calls {
            call().await;
        }
        best = best.min(begun.elapsed());
    }
    best.as_nanos() as f64 / f64::from(calls)
}

fn successes(calls: u32) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let overspill = Overspill::embedded();
        let answer = async || Ok::<u64, String>(black_box(7));
        let bare = time(calls, async || drop(black_box(answer().await))).await;
        let ours = time(calls, async || drop(black_box(overspill.retry("anthropic").model("claude-sonnet-4-5").run(answer).await))).await;

        let backon = time(calls, async || drop(black_box(answer.retry(backon::ExponentialBuilder::default().with_jitter()).await))).await;

        let service = || service_fn(async |_: u64| Ok::<u64, String>(black_box(7)));
        let mut bare_service = service();
        let bare_tower = time(calls, async || drop(black_box(bare_service.ready().await.unwrap().call(7).await))).await;
        let policy = TowerPolicy { budget: Arc::default(), left: 3 };
        let mut their_service = tower::retry::Retry::new(policy, service());
        let theirs = time(calls, async || drop(black_box(their_service.ready().await.unwrap().call(7).await))).await;
        let mut our_service = RetryLayer::new(overspill.retry("anthropic"), judge).layer(service());
        let our_layer = time(calls, async || drop(black_box(our_service.ready().await.unwrap().call(7).await))).await;

        println!("\na call that succeeds at once, best of 9 rounds of {calls}\n");
        println!("| what | ns | over the bare one |\n|---|---:|---:|");
        let rows = [
            ("the bare future", bare, bare),
            ("overspill, run", ours, bare),
            ("backon 1.6", backon, bare),
            ("the bare service", bare_tower, bare_tower),
            ("tower 0.5, retry with budget", theirs, bare_tower),
            ("overspill, tower layer", our_layer, bare_tower),
        ];
        for (name, time, over) in rows {
            println!("| {name} | {time:.1} | {:.1} |", time - over);
        }
    });
}

fn judge(result: &Result<u64, String>) -> Option<Failure<'_>> {
    result.as_ref().err().map(|error| Failure::sdk(error.as_str()))
}

/// What people write for `tower::retry`: three more attempts, a budget, a backoff.
#[derive(Clone)]
struct TowerPolicy {
    budget: Arc<tower::retry::budget::TpsBudget>,
    left: u32,
}

impl tower::retry::Policy<u64, u64, String> for TowerPolicy {
    type Future = tokio::time::Sleep;

    fn retry(&mut self, _: &mut u64, result: &mut Result<u64, String>) -> Option<Self::Future> {
        use tower::retry::budget::Budget;
        if result.is_ok() {
            self.budget.deposit();
            return None;
        }
        self.left = self.left.checked_sub(1)?;
        self.budget.withdraw().then(|| tokio::time::sleep(Duration::from_secs(1)))
    }

    fn clone_request(&mut self, request: &u64) -> Option<u64> {
        Some(*request)
    }
}
