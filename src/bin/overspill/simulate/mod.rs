//! `simulate`: what a policy does to a provider in an outage. No provider is called and no time passes.

mod outage;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::time::Duration;

use overspill::{Failure, Overspill};
use serde_json::{Map, Value, json};

use self::outage::{Course, Outage};
use crate::arguments::{Common, Format, Simulate};
use crate::output::{Failed, Outcome, finish, results};
use crate::plain::plain;
use crate::rules;

/// More calls are no outage that anybody needs to see call by call.
const MAX_CALLS: f64 = 100_000.0;

pub(crate) fn run(common: &Common, command: &Simulate) -> Result<Outcome, Failed> {
    let format = common.format(Format::Text, &[Format::Json])?;
    let outage = outage(command)?;
    let overspill = rules::load(common)?;
    check_profile(&overspill, command)?;
    let course = outage.run(|| {
        let mut retry = overspill.retry(command.provider.as_str());
        if let Some(model) = &command.model {
            retry = retry.model(model.as_str());
        }
        if let Some(profile) = &command.profile {
            retry = retry.profile(profile.as_str());
        }
        if command.alone { retry.alone() } else { retry }
    });
    let mut out = results();
    let printed = match format {
        Format::Text => story(&mut out, command, &outage, &course),
        _ => writeln!(out, "{}", object(command, &outage, &course)),
    };
    finish(printed.and_then(|()| out.flush()), Outcome::Done)
}

/// What the command line asks for, or what cannot be meant.
fn outage(command: &Simulate) -> Result<Outage<'static>, Failed> {
    let seconds = |name: &str, value: f64| match Duration::try_from_secs_f64(value) {
        Ok(duration) if value <= 86_400.0 => Ok(duration),
        _ => Err(Failed::Use(format!("--{name} takes seconds from 0 to 86400, not {value}"))),
    };
    if !(0.001..=10_000.0).contains(&command.rate) {
        return Err(Failed::Use(format!("--rate takes calls a second from 0.001 to 10000, not {}", command.rate)));
    }
    if !(0.0..=1.0).contains(&command.share) {
        return Err(Failed::Use(format!("--share takes a part of 1, not {}", command.share)));
    }
    let [before, lasting, after] = [("before", command.before), ("outage", command.outage), ("after", command.after)].map(|(name, value)| seconds(name, value));
    let (before, lasting, after) = (before?, lasting?, after?);
    if (before + lasting + after).as_secs_f64() * command.rate > MAX_CALLS {
        return Err(Failed::Use(format!("that is more than {MAX_CALLS} calls: take a lower --rate or less time")));
    }
    let mut failure = Failure::http(command.status).provider(command.provider.clone());
    if let Some(wait) = command.retry_after {
        failure = failure.header("retry-after", wait.to_string());
    }
    Ok(Outage { per_second: command.rate, before, lasting, after, share: command.share, failure, seed: command.seed })
}

/// A profile that nobody wrote changes nothing, and whoever asks for it means another one.
fn check_profile(overspill: &Overspill, command: &Simulate) -> Result<(), Failed> {
    let Some(wanted) = &command.profile else { return Ok(()) };
    let ruleset = overspill.ruleset();
    let views = [Some(command.provider.as_str()), Some("default")].into_iter().flatten().filter_map(|name| ruleset.provider(name));
    let keys = views.flat_map(|view| view.retry_changes()).map(|setting| setting.key);
    let known: BTreeSet<String> = keys.filter_map(|key| Some(key.strip_prefix("profile.")?.split('.').next()?.to_owned())).collect();
    if known.contains(wanted) {
        return Ok(());
    }
    let known: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
    let known = if known.is_empty() { "no rule file has any".to_owned() } else { format!("there are {}", known.join(", ")) };
    Err(Failed::Use(format!("there is no profile `{wanted}`; {known}")))
}

fn story(out: &mut impl Write, command: &Simulate, outage: &Outage<'_>, course: &Course) -> io::Result<()> {
    let who = [Some(&command.provider), command.model.as_ref(), command.profile.as_ref()];
    let who: Vec<_> = who.into_iter().flatten().map(|name| plain(name).to_string()).collect();
    let waits = command.retry_after.map(|wait| format!(", asking to wait {wait} s")).unwrap_or_default();
    writeln!(
        out,
        "{}: {} {} a second; from second {} on {} % of the attempts fail with {}{waits}, for {} s\n",
        who.join(", "),
        outage.per_second,
        if (outage.per_second - 1.0).abs() < f64::EPSILON { "call" } else { "calls" },
        outage.before.as_secs_f64(),
        outage.share * 100.0,
        command.status,
        outage.lasting.as_secs_f64()
    )?;
    let ends: Vec<_> = course.gave_up().iter().map(|(why, calls)| format!("{why} {calls}")).collect();
    let gave_up = course.gave_up().values().sum::<usize>();
    writeln!(
        out,
        "calls     {}: {} succeeded, {gave_up} did not{}",
        course.calls(),
        course.succeeded(),
        if ends.is_empty() { String::new() } else { format!(" ({})", ends.join(", ")) }
    )?;
    writeln!(
        out,
        "attempts  {}: {:.2} for each call of the outage, {:.2} a call in all",
        course.attempts(),
        course.amplification(outage),
        course.attempts() as f64 / course.calls().max(1) as f64
    )?;
    writeln!(out, "peaks     {} in 100 ms, {} in a second", course.peak(Duration::from_millis(100)), course.peak(Duration::from_secs(1)))?;
    match course.recovered(outage) {
        Some(after) => writeln!(out, "recovery  {:.1} s after the outage the load is what it was before", after.as_secs_f64())?,
        None if outage.after.is_zero() => writeln!(out, "recovery  not looked at: --after is 0")?,
        None => writeln!(out, "recovery  not within the time looked at")?,
    }
    writeln!(out, "          {:.1} s after the outage its last call was over\n", course.last_over(outage).as_secs_f64())?;
    writeln!(out, "{:>14} {:>10} {:>12} {:>10}", "seconds", "calls/s", "attempts/s", "failed/s")?;
    for row in course.timeline(outage) {
        let per_second = |count: usize| count as f64 / row.lasting.as_secs_f64();
        let span = format!("{:.0}-{:.0}", row.from.as_secs_f64(), (row.from + row.lasting).as_secs_f64());
        writeln!(out, "{span:>14} {:>10.1} {:>12.1} {:>10.1}", per_second(row.calls), per_second(row.attempts), per_second(row.failed))?;
    }
    Ok(())
}

fn object(command: &Simulate, outage: &Outage<'_>, course: &Course) -> Value {
    let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let gave_up: Map<String, Value> = course.gave_up().iter().map(|(why, calls)| ((*why).to_owned(), json!(calls))).collect();
    let timeline = course.timeline(outage);
    let timeline: Vec<_> = timeline.iter().map(|row| json!({ "from_ms": ms(row.from), "calls": row.calls, "attempts": row.attempts, "failed": row.failed })).collect();
    json!({
        "provider": command.provider,
        "model": command.model,
        "profile": command.profile,
        "calls": course.calls(),
        "succeeded": course.succeeded(),
        "gave_up": gave_up,
        "attempts": course.attempts(),
        "attempts_per_call_in_outage": (course.amplification(outage) * 1000.0).round() / 1000.0,
        "peak_100ms": course.peak(Duration::from_millis(100)),
        "peak_second": course.peak(Duration::from_secs(1)),
        "recovered_ms": course.recovered(outage).map(ms),
        "last_over_ms": ms(course.last_over(outage)),
        "timeline": timeline,
    })
}
