//! What can be written on the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use overspill::Class;

use crate::output::Failed;

const EXIT_CODES: &str = "Exit codes: 0 done, 1 problems found, 2 wrong use.";

/// Turns failed calls to LLM providers into verdicts: what happened, and whether to compact, wait and retry, reduce the output, fail over or give up.
#[derive(Debug, Parser)]
#[command(name = "overspill", version, about, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// What every command takes.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// A directory of rule files that overrides the embedded ones; may be repeated, later ones win.
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) rules: Vec<PathBuf>,
    /// Leave the embedded rules out.
    #[arg(long, global = true)]
    pub(crate) no_embedded: bool,
    /// How results are printed; the default is text, and JSON for `classify` and `context`.
    #[arg(long, value_enum, global = true)]
    pub(crate) format: Option<Format>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs: one object a line.
    Json,
    /// For pull requests; `replay` alone.
    Markdown,
    /// Annotations of a GitHub workflow; `check` and `test` alone.
    Github,
    /// For code scanning; `check` alone.
    Sarif,
}

impl Common {
    /// The format asked for, or the command's own; an error when the command does not write it.
    pub(crate) fn format(&self, own: Format, others: &[Format]) -> Result<Format, Failed> {
        let format = self.format.unwrap_or(own);
        if format == own || others.contains(&format) {
            return Ok(format);
        }
        let name = |format: Format| format.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned());
        let known: Vec<_> = std::iter::once(own).chain(others.iter().copied()).map(name).collect();
        Err(Failed::Use(format!("this command writes {}, not {}", known.join(", "), name(format))))
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Answer failures with verdicts, line by line.
    Classify(Classify),
    /// Tell why: what was read, which rules were tried, what decided.
    Explain(Explain),
    /// Report every problem in rule files.
    Check(Check),
    /// Tell how full the context window is and whether to compact, usage by usage.
    #[command(name = "context")]
    Context(ContextCommand),
    /// Show the settings and rules in force for a provider, each with its origin.
    Show(Show),
    /// Follow rule files and tell what happens as it happens.
    Watch(Watch),
    /// Run every example, and recorded failures with the answers expected of them.
    Test(Test),
    /// Which recorded failures change their verdict between two sets of rules, and what that costs.
    Replay(Replay),
    /// Rank the kinds of failures that no rule recognised.
    Misses(Misses),
    /// Write a rule, with its example, for a kind of failure that no rule recognised.
    Draft(Draft),
    /// What a policy does to a provider in an outage: load, peaks, time to recovery.
    Simulate(Simulate),
    /// Write the embedded rules out, or a small file to override a provider's.
    Init(Init),
    /// Print the JSON Schema of rule files, for editors.
    Schema(Schema),
    /// Print all rules and settings as one JSON document.
    Export(Export),
    /// Print completions for a shell.
    Completions(Completions),
    /// Print a man page.
    Man(Man),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  overspill classify failures.jsonl
  echo '{\"provider\":\"anthropic\",\"status\":529}' | overspill classify
  overspill classify --rules ./rules --format text failures.jsonl

Input: one JSON object a line (or a single one): id, provider, model, transport, status, headers, body, message, finish_reason, event, usage, estimate, window, output_started, attempt, now.

Blank lines are passed over. A line that is no such object is answered with its number and what is wrong ({\"line\", \"error\"}, and \"id\" where it has one), and the others are answered all the same. A field that nests deeper than 127 levels is read as text, half a surrogate pair as U+FFFD.

Exit codes: 0 done, 1 problems found, 2 wrong use.")]
pub(crate) struct Classify {
    /// JSON Lines; standard input when left out or `-`.
    pub(crate) file: Option<PathBuf>,
    /// Makes the jitter repeatable.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  overspill simulate openai
  overspill simulate anthropic --profile unattended --rate 50 --outage 300 --status 529
  overspill simulate openai --status 429 --retry-after 20 --alone
  overspill simulate openai --rules ./rules --format json

Calls are begun at an even pace; an attempt that succeeds takes 0.5 s, one that fails 0.1 s. The calls are sessions of the library on a clock that jumps, so hours take a moment. Exit codes: 0 done, 1 problems found, 2 wrong use.")]
pub(crate) struct Simulate {
    /// Whose policy, by any of its names; settings of the base layer for one that is not known.
    pub(crate) provider: String,
    /// The model, where its policy is another one.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// The profile: `interactive`, `unattended`, or one of the rule files.
    #[arg(long)]
    pub(crate) profile: Option<String>,
    /// Calls a second.
    #[arg(long, value_name = "N", default_value_t = 10.0)]
    pub(crate) rate: f64,
    /// How long the outage lasts, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    pub(crate) outage: f64,
    /// Seconds of calls before it.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    pub(crate) before: f64,
    /// Seconds of calls after it.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    pub(crate) after: f64,
    /// The part of the attempts that fail in it, from 0 to 1.
    #[arg(long, value_name = "PART", default_value_t = 1.0)]
    pub(crate) share: f64,
    /// The status of what fails.
    #[arg(long, value_name = "STATUS", default_value_t = 503, value_parser = clap::value_parser!(u16).range(100..600))]
    pub(crate) status: u16,
    /// The wait that the provider asks for, in seconds.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) retry_after: Option<u32>,
    /// Each call by itself, without the budget, the pace and the holds that calls of one program share.
    #[arg(long)]
    pub(crate) alone: bool,
    /// Makes another course of the same kind.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  overspill explain failures.jsonl
  echo '{\"provider\":\"openai\",\"status\":400,\"message\":\"context is way too big\"}' | overspill explain

Exit codes: 0 done, 1 problems found, 2 wrong use.")]
pub(crate) struct Explain {
    /// JSON Lines; standard input when left out or `-`.
    pub(crate) file: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  overspill check ./rules
  overspill check --no-embedded ./all-rules
  overspill check --format json ./rules | jq -r '.code // empty'
  overspill check --format sarif ./rules > overspill.sarif

The directories are checked as layers over the embedded rules, as they would be loaded. Without a directory, the embedded rules are checked.

Exit codes: 0 no problem or only warnings, 1 errors found, 2 wrong use.")]
pub(crate) struct Check {
    /// Directories of rule files, later ones over earlier ones.
    pub(crate) dirs: Vec<PathBuf>,
    /// Exit with 1 for warnings too.
    #[arg(long)]
    pub(crate) deny_warnings: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  overspill context usage.jsonl
  echo '{\"provider\":\"anthropic\",\"model\":\"claude-sonnet-4-5\",\"usage\":{\"input_tokens\":900,\"cache_read_input_tokens\":180000}}' | overspill context

Input: one JSON object a line (or a single one): id, provider, model, usage (the provider's usage object or a whole reply), window and reserved (tokens, over those of the files), finish_reason.

Output: id, used_tokens, window (0: unknown), reserved_tokens, usable_tokens, compact, silent_overflow, reason, origin (of the window).

Exit codes: 0 done, 1 problems found, 2 wrong use.")]
pub(crate) struct ContextCommand {
    /// JSON Lines; standard input when left out or `-`.
    pub(crate) file: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  overspill show anthropic
  overspill show azure_openai --rules ./rules --format json
  overspill show --diff ./rules               what this directory changes
  overspill show openai --diff ./rules        of one provider

In JSON --diff gives an object for each change: `setting` with before and after (of all where `providers` is empty), `delay`, `provider`, `rule` (with `disabled_by`), or `tried`, the rules that are asked now and were not, and those that are asked no more.

Exit codes: 0 done, 1 problems found, 2 wrong use.")]
pub(crate) struct Show {
    /// A provider, by any of its names.
    #[arg(required_unless_present = "diff")]
    pub(crate) provider: Option<String>,
    /// Show what this directory changes when it is put over the rules.
    #[arg(long, value_name = "DIR")]
    pub(crate) diff: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  overspill test ./rules
  overspill test                                      the embedded rules' own examples
  overspill test ./rules --corpus failures.jsonl      and recorded failures with the answers expected of them

A corpus is JSON Lines as for `classify`, each with an object `expect`: class (or a list, any of which is right), action, rule, retry, server_delay_ms (null for none, [from, to] for anything between), limit_tokens, requested_tokens, output_limit_tokens. What is left out is not looked at; lines without `expect` are counted as skipped.

Exit codes: 0 all hold, 1 some do not, 2 wrong use.")]
pub(crate) struct Test {
    /// Directories of rule files, later ones over earlier ones.
    pub(crate) dirs: Vec<PathBuf>,
    /// Recorded failures with `expect`; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub(crate) corpus: Vec<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  overspill replay failures.jsonl --to ./rules                        against the embedded rules
  overspill replay failures.jsonl --from ./live --to ./next
  overspill replay failures.jsonl --to ./rules --format markdown      for a pull request

Both sides are put over the embedded rules and --rules, unless --no-embedded is given. Their examples are not run: that is what `test` is for. Each recorded failure is answered once by either side; a change costs another attempt where the new rules retry and the old ones did not, with the wait before it and the tokens of the request sent again (`estimate`, or what the failure states).

Exit codes: 0 no verdict changes, 1 some do or lines could not be read, 2 wrong use.")]
pub(crate) struct Replay {
    /// Recorded failures, JSON Lines as for `classify`; `-` for standard input.
    pub(crate) corpus: PathBuf,
    /// The rules in force; the embedded ones when left out. May be repeated, later ones win.
    #[arg(long, value_name = "DIR")]
    pub(crate) from: Vec<PathBuf>,
    /// The rules that are to replace them.
    #[arg(long, value_name = "DIR", required = true)]
    pub(crate) to: Vec<PathBuf>,
    /// How many recorded failures of each group are named.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) examples: usize,
    /// Number of threads; as many as there are processors when left out.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<std::num::NonZeroUsize>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  overspill misses failures.jsonl
  overspill misses /var/log/agent/misses.jsonl --top 50
  overspill misses failures.jsonl --format json | jq -r '.template // empty'

The file holds what the library wrote (Misses::append_to), recorded failures as for `classify`, or both.

Exit codes: 0 done, 1 lines could not be read, 2 wrong use.")]
pub(crate) struct Misses {
    /// JSON Lines; standard input when left out or `-`.
    pub(crate) file: Option<PathBuf>,
    /// How many templates are shown.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) top: usize,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  overspill draft failures.jsonl                      for the most frequent miss, if it says whose and what it is, to standard output
  overspill draft failures.jsonl --template 3 --class rate_limited --out rules/openai.toml
  overspill draft failures.jsonl --provider acme --out rules/acme.toml

The rule is tried before it is written: with it the rules load, `check` has nothing to say about it, and it recognises its example and every failure of its kind in the file, and none that another rule recognises as something else. It goes to the end of the file named; what is there stays.

Where the miss is of no known provider, --provider must say for whom the rule is; where neither its status nor a rule of nearly the same words says what it is, --class must.

Exit codes: 0 done, 1 no such rule can be written, 2 wrong use.")]
pub(crate) struct Draft {
    /// JSON Lines as for `misses`; standard input when left out or `-`.
    pub(crate) file: Option<PathBuf>,
    /// Which template, by its number in `misses`.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) template: usize,
    /// For whom the rule is; the template's provider when left out.
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// What the failure is; when left out, what its status says, or a rule of nearly the same words.
    #[arg(long, value_name = "CLASS", value_parser = class)]
    pub(crate) class: Option<Class>,
    /// The override file to append to; made when it is not there.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

fn class(name: &str) -> Result<Class, String> {
    let names = || Class::ALL.iter().filter(|class| **class != Class::Unknown).map(|class| class.name()).collect::<Vec<_>>().join(", ");
    Class::from_name(name).filter(|class| *class != Class::Unknown).ok_or_else(|| format!("the classes are {}", names()))
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  overspill init ./rules                              all embedded rules, to edit and load with --no-embedded
  overspill init ./rules --override openai            rules/openai.toml, with everything commented out

Beside the files goes overspill.schema.json, to which their first line points: editors with Taplo then complete and check. Files that are there are never overwritten without --force.

Exit codes: 0 done, 2 wrong use, files in the way included.")]
pub(crate) struct Init {
    /// Where the files go; made when it is not there.
    pub(crate) dir: PathBuf,
    /// Write a file that changes nothing yet for this provider; may be repeated.
    #[arg(long = "override", value_name = "PROVIDER")]
    pub(crate) overrides: Vec<String>,
    /// Overwrite files that are there.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  overspill schema > rules/overspill.schema.json
  sed -i '1i #:schema ./overspill.schema.json' rules/openai.toml

JSON Schema draft-07, as Taplo and VS Code (Even Better TOML) read it.

Exit codes: 0 done, 2 wrong use.")]
pub(crate) struct Schema {}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  overspill export > overspill.json
  overspill export --rules ./rules | jq '.providers[] | select(.provider == \"groq\") | .rules[].id'

Of `retry`, the tables profile, model and class hold what they change: for one call the profile is put over what is general, over that the first model whose glob matches, over that the class. Of a list of models the first that matches holds.

Exit codes: 0 done, 1 problems found, 2 wrong use.")]
pub(crate) struct Export {}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  overspill completions bash > ~/.local/share/bash-completion/completions/overspill
  overspill completions zsh > ~/.zfunc/_overspill
  overspill completions fish > ~/.config/fish/completions/overspill.fish

Exit codes: 0 done, 2 wrong use.")]
pub(crate) struct Completions {
    /// For which shell.
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  overspill man > /usr/local/share/man/man1/overspill.1
  overspill man draft | man -l -

Exit codes: 0 done, 2 wrong use.")]
pub(crate) struct Man {
    /// The page of one command; that of the program when left out.
    pub(crate) command: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  overspill watch ./rules
  overspill watch --format json /etc/overspill | jq -c 'select(.event == \"rejected\")'

Events: loaded, reloaded, rejected, unchanged, lost (a directory is gone), found (it is back). In JSON one object each: event, at, took_ms, ruleset, rules, diagnostics (as of `check`), generation, error. It ends when it is stopped, or when nobody reads what it prints.

Exit codes: 0 done, 1 the rules are wrong at the start or at the last event, 2 wrong use.")]
pub(crate) struct Watch {
    /// Directories of rule files, later ones over earlier ones.
    pub(crate) dirs: Vec<PathBuf>,
    /// How changes are noticed.
    #[arg(long, value_enum, default_value_t = Mode::Auto)]
    pub(crate) mode: Mode,
    /// How long nothing may change before the files are read [default: 100]
    #[arg(long, value_name = "MS")]
    pub(crate) quiet_ms: Option<u64>,
    /// When the rules are wrong at the start, go on with the embedded ones and report.
    #[arg(long)]
    pub(crate) start_embedded: bool,
    /// End after so many events.
    #[arg(long, value_name = "N")]
    pub(crate) events: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// By the system's events, by reading the files where there are none.
    Auto,
    /// By the system's events, or not at all.
    Native,
    /// By reading the files every second.
    Poll,
}
