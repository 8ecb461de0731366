//! What can be written on the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

const EXIT_CODES: &str = "Exit codes: 0 done, 1 problems found, 2 wrong use.";

/// Turns failed calls to LLM providers into verdicts: what happened, and whether to compact, wait and retry, reduce the output, fail over or give up.
#[derive(Debug, Parser)]
#[command(name = "overspill", version, about, after_help = EXIT_CODES, disable_help_subcommand = true)]
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
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  overspill classify failures.jsonl
  echo '{\"provider\":\"anthropic\",\"status\":529}' | overspill classify
  overspill classify --rules ./rules --format text failures.jsonl

Input: one JSON object a line (or a single one): id, provider, model, transport, status, headers, body, message, finish_reason, estimate, window, output_started, attempt, now.

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
  overspill check --format json ./rules | jq -r .code

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

Exit codes: 0 done, 1 problems found, 2 wrong use.")]
pub(crate) struct Show {
    /// A provider, by any of its names.
    pub(crate) provider: String,
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
