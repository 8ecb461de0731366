//! Rule sets to measure with.

use std::fmt::Write;
use std::sync::LazyLock;

use overspill::{Overspill, Ruleset};

/// The base layer without its rules: the signals, statuses and delay forms that every evaluation reads.
static BASE: LazyLock<String> = LazyLock::new(|| {
    let (settings, _) = include_str!("../../rules/default.toml").split_once("# Rules for wordings").expect("the base layer separates its settings from its rules");
    let settings = settings.lines().filter(|line| !line.starts_with("extends"));
    settings.collect::<Vec<_>>().join("\n")
});

/// Signals are read and nothing is matched but the base layer's forms: what an evaluation costs before the first rule.
pub(crate) static NO_RULES: LazyLock<Overspill> = LazyLock::new(|| of_size(0));

/// The embedded rules.
pub(crate) static EMBEDDED: LazyLock<Overspill> = LazyLock::new(Overspill::embedded);

/// The embedded rules, with no pattern compiled yet.
pub(crate) fn fresh() -> Overspill {
    Ruleset::builder().build().expect("the embedded rules are valid").into()
}

/// Ten rules a file, as real files have on average.
const RULES_PER_FILE: usize = 10;

const OBJECTS: [&str; 12] = ["prompt", "request", "input", "context", "message", "conversation", "completion", "model", "token count", "deployment", "project", "account"];
const EVENTS: [&str; 10] = [
    "exceeds",
    "is too long for",
    "is larger than",
    "was rejected by",
    "has reached",
    "is not supported by",
    "went over",
    "cannot be served within",
    "is blocked by",
    "was throttled by",
];
const BOUNDS: [&str; 11] = [
    "maximum context length",
    "the context window",
    "rate limit",
    "tokens per minute",
    "the daily quota",
    "current capacity",
    "available memory",
    "the allowed size",
    "credit balance",
    "max_model_len",
    "concurrency limit",
];
const CLASSES: [&str; 4] = ["context_overflow", "rate_limited", "overloaded", "quota_exhausted"];

/// As many rules, each with a wording of its own made of the words of real ones, the last wordings known to nobody else.
pub(crate) fn of_size(rules: usize) -> Overspill {
    let mut builder = Ruleset::builder().without_embedded().text("generated", "default.toml", BASE.as_str());
    for (file, numbers) in (0..rules).collect::<Vec<_>>().chunks(RULES_PER_FILE).enumerate() {
        let mut text = format!("provider = \"generated-{file}\"\n");
        if file == 0 {
            text.push_str(OPENAI);
        }
        numbers.iter().skip(usize::from(file == 0)).for_each(|number| push_rule(&mut text, *number));
        builder = builder.text("generated", format!("generated-{file}.toml"), text);
    }
    builder.build().expect("generated rules are valid").into()
}

/// The rule that the typical failure meets, in every set.
const OPENAI: &str = r#"aliases = ["openai"]
[[rule]]
id = "maximum-context-length"
class = "context_overflow"
status = [400]
message = '''maximum context length is (?<limit>\d+) tokens\.? however,? (?:you requested|your messages resulted in) (?<requested>\d+) tokens'''
source = "generated"
seen = "2026-01"
[[rule.example]]
status = 400
body = '{"error":{"message":"This model has a maximum context length is 8192 tokens. However, you requested 9000 tokens"}}'
"#;

fn push_rule(text: &mut String, number: usize) {
    let (object, rest) = (OBJECTS[number % OBJECTS.len()], number / OBJECTS.len());
    let (event, rest) = (EVENTS[rest % EVENTS.len()], rest / EVENTS.len());
    let (bound, rest) = (BOUNDS[rest % BOUNDS.len()], rest / BOUNDS.len());
    let class = CLASSES[number % CLASSES.len()];
    // Every third rule has a code too, and every fourth a gap with a number in it, as real ones do.
    let (code, example_code) = if number.is_multiple_of(3) { (format!("code = [\"error_{number}\"]\n"), format!("\"code\":\"error_{number}\",")) } else { Default::default() };
    let (gap, filler) = if number.is_multiple_of(4) { (r"(?: of)? (?<limit>\d+) ", " of 4096 ") } else { (r"\b.*\b", " v2 of ") };
    let wording = format!("{object} {event}{gap}{bound} {}", variant(rest));
    let example = format!("The {object} {event}{filler}{bound} {}.", variant(rest));
    write!(
        text,
        "[[rule]]\nid = \"rule-{number}\"\nclass = \"{class}\"\n{code}message = '{wording}'\nsource = \"generated\"\nseen = \"2026-01\"\n\
         [[rule.example]]\nbody = '{{\"error\":{{{example_code}\"message\":\"{example}\"}}}}'\n"
    )
    .expect("a string takes all text");
}

/// Tells apart the wordings that the three lists cannot.
fn variant(number: usize) -> String {
    let letters = ["a", "b", "c", "d"];
    format!("for tier {}", letters.get(number).copied().unwrap_or("z"))
}
