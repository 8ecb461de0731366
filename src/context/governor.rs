//! Whether compacting may go on: it must shrink what it compacts, a few times a turn at most, and not keep failing.

use std::fmt;
use std::num::NonZeroU32;

use super::window::Context;
use crate::class::Action;
use crate::verdict::{Tokens, Verdict};

/// Keeps one conversation from compacting for ever.
///
/// Ask it before every compaction, for whatever reason: a check that said so, a silent overflow, an error. Tell it how each ended: [`compacted`](Self::compacted) or [`failed`](Self::failed). Tell it
/// of every call that went through, [`succeeded`](Self::succeeded), and of a [`new_turn`](Self::new_turn) when the user speaks, or in an unattended loop when a step is done. It answers with a size
/// to compact to, or stops:
///
/// * after 2 recoveries in a turn,
/// * when the last one shrank the tokens by less than 5 %,
/// * when nothing is left to shrink: what cannot be compacted fills the room by itself,
/// * after 3 compactions in a row that failed or shrank too little, until one that the user started shrinks it,
/// * when neither the size of the conversation nor its window is known,
/// * for errors that compacting does not mend, such as a lost login or a time-out inside of compaction.
///
/// Calls go through long before the window is full, also while every compaction fails, so they do not end a row of failures: only a compaction that shrinks does. A conversation that never shrinks
/// is compacted 3 times in all, in whatever order it is told what. A conversation begun anew has a governor of its own.
///
/// An agent loop: usage in, compact or go on, call, overflow, governor, compact, call.
///
/// ```
/// use jiff::Timestamp;
/// use overspill::{Action, Demand, Failure, Governor, LearnedLimits, Overspill, Recovery};
///
/// // A provider whose window is smaller than its catalogue says: 100,000 tokens instead of 200,000.
/// fn call(tokens: u64) -> Result<String, (u16, String)> {
///     match tokens {
///         0..=100_000 => Ok(format!(r#"{{"content":[],"stop_reason":"end_turn","usage":{{"input_tokens":10,"cache_read_input_tokens":{},"output_tokens":500}}}}"#, tokens - 10)),
///         _ => Err((400, format!(r#"{{"error":{{"type":"invalid_request_error","message":"prompt is too long: {tokens} tokens > 100000 maximum"}}}}"#))),
///     }
/// }
///
/// let (overspill, learned, now) = (Overspill::embedded(), LearnedLimits::new(), Timestamp::UNIX_EPOCH);
/// let mut governor = Governor::default();
/// let mut conversation: u64 = 70_000; // tokens; a real one is a list of messages
/// let (mut compactions, mut steps) = (0, 0);
///
/// while steps < 6 {
///     let context = overspill.context("anthropic", "claude-sonnet-4-5").with_learned(&learned, now);
///     let demand = match call(conversation) {
///         Ok(body) => {
///             governor.succeeded();
///             let check = context.check(&context.read(&body));
///             if !check.needs_compaction() {
///                 governor.new_turn();
///                 steps += 1;
///                 conversation += 20_000; // the answer, what the tools said, what the user says
///                 continue;
///             }
///             Demand::new(check.used()).within(&context)
///         }
///         Err((status, body)) => {
///             let verdict = overspill.evaluate(&Failure::http(status).provider("anthropic").body(&body));
///             assert_eq!(verdict.action(), Action::Compact, "anything else is for the retry");
///             learned.learn(&context, &verdict, now);
///             Demand::new(conversation).within(&context).after(&verdict)
///         }
///     };
///     match governor.ask(&demand.with_fixed(12_000)) {
///         Recovery::Proceed { target } => {
///             conversation = conversation.min(target); // summarise, drop old tool output, ...
///             governor.compacted(conversation);
///             compactions += 1;
///         }
///         Recovery::Stop { why } => panic!("tell the user: {why}"),
///     }
/// }
/// // One error taught the window; since then the loop compacts before the provider says no.
/// assert_eq!((compactions, learned.list(now)[0].tokens), (3, 100_000));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Governor {
    policy: GovernorPolicy,
    /// In this turn.
    recoveries: u32,
    /// In a row.
    failures: u32,
    /// The size above which a compaction under way has shrunk too little.
    most: Option<u64>,
    /// The same of the last one that failed.
    failed_most: Option<u64>,
    /// The last compaction shrank too little.
    stalled: bool,
    /// The conversation was compacted, and no call went through since.
    unproven: bool,
}

/// When a [`Governor`] stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GovernorPolicy {
    /// Compactions in one turn; 2.
    pub recoveries_per_turn: u32,
    /// By how many percent of the tokens a compaction must shrink them; 5. More than 100 asks for 100.
    pub least_progress_percent: u8,
    /// Compactions in a row that fail or shrink too little before none is tried any more; 3.
    pub failures: NonZeroU32,
}

impl Default for GovernorPolicy {
    fn default() -> Self {
        Self { recoveries_per_turn: 2, least_progress_percent: 5, failures: NonZeroU32::MIN.saturating_add(2) }
    }
}

/// What is asked of a [`Governor`]: the size of a conversation and what it has to fit in. All numbers are tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    used: u64,
    window: Option<u64>,
    output: Option<u64>,
    fixed: u64,
    error: Option<(Action, Tokens)>,
}

/// Whether to compact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Compact.
    Proceed {
        /// To this many tokens or fewer, counted as the demand's are.
        target: u64,
    },
    /// Give up, and tell the user.
    Stop {
        /// Why.
        why: StopReason,
    },
}

/// Why a [`Governor`] stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopReason {
    /// The turn had its recoveries.
    TooManyRecoveries,
    /// The last compaction shrank too little.
    NoProgress,
    /// What cannot be compacted, the system prompt and the tools, fills the room.
    NothingLeftToShrink,
    /// Neither the conversation's size is known nor what it has to fit in, so there is nothing to aim at: give the [`Demand`] a size or a window.
    UnknownSize,
    /// Compactions failed too often in a row.
    BreakerOpen,
    /// The error is none that compacting mends.
    NotAnOverflow,
    /// The error claims an overflow without numbers, but the conversation is below half of the window, and compacting it once did not help.
    Implausible,
}

impl StopReason {
    /// The stable name, in kebab-case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TooManyRecoveries => "too-many-recoveries",
            Self::NoProgress => "no-progress",
            Self::NothingLeftToShrink => "nothing-left-to-shrink",
            Self::UnknownSize => "unknown-size",
            Self::BreakerOpen => "breaker-open",
            Self::NotAnOverflow => "not-an-overflow",
            Self::Implausible => "implausible",
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooManyRecoveries => "this turn was compacted as often as is allowed",
            Self::NoProgress => "compacting hardly made the conversation smaller",
            Self::NothingLeftToShrink => "what cannot be compacted fills the context window by itself",
            Self::UnknownSize => "neither the size of the conversation nor the context window is known",
            Self::BreakerOpen => "compacting failed too often in a row",
            Self::NotAnOverflow => "the error is none that compacting mends",
            Self::Implausible => "the provider claims an overflow, but the conversation is far below the context window",
        })
    }
}

impl Demand {
    /// A conversation of this size, as it was or would be sent: as the provider counted it last, or by an estimate of one's own. 0 is a size that nobody knows: then it is what the error states, or
    /// else the window.
    #[must_use]
    pub fn new(used: u64) -> Self {
        Self { used, ..Self::default() }
    }

    /// What it has to fit in: the context's window, with its reserve as the room for the output unless another is given.
    #[must_use]
    pub fn within(mut self, context: &Context<'_>) -> Self {
        self.window = context.window();
        self.output = self.output.or(Some(context.reserved()));
        self
    }

    /// The error that asks for it; its numbers outrank the context's.
    #[must_use]
    pub fn after(mut self, verdict: &Verdict) -> Self {
        self.error = Some((verdict.action(), verdict.tokens()));
        self
    }

    /// The room for the output: the `max_tokens` of the next call.
    #[must_use]
    pub fn with_output(mut self, tokens: u64) -> Self {
        self.output = Some(tokens);
        self
    }

    /// What cannot be compacted: system prompt, tools, the message to answer. 0 unless given.
    #[must_use]
    pub fn with_fixed(mut self, tokens: u64) -> Self {
        self.fixed = tokens;
        self
    }

    fn tokens(&self) -> Tokens {
        self.error.map_or_else(Tokens::default, |(_, tokens)| tokens)
    }

    /// The size, which the error states where the caller does not know it.
    fn known_size(&self) -> Option<u64> {
        Some(self.used).filter(|used| *used > 0).or(self.tokens().requested.filter(|requested| *requested > 0))
    }

    /// The size, or that of what it filled where nobody knows it; 0 where nobody knows that either.
    fn size(&self) -> u64 {
        self.known_size().or(self.tokens().limit).or(self.window).unwrap_or(0)
    }

    /// An overflow without numbers of a conversation below half of its window.
    fn is_implausible(&self) -> bool {
        let states_limit = self.tokens().limit.is_some();
        self.error.is_some() && !states_limit && self.window.is_some_and(|window| self.size() < window / 2)
    }

    /// How small to make it: by the error's numbers just below what fits, by those of a catalogue or none at all with more distance, since they may be wrong.
    fn target(&self) -> u64 {
        let size = self.size();
        let overflowed = self.error.is_some();
        let stated = self.tokens().limit.map(|limit| self.window.map_or(limit, |window| window.min(limit)));
        match (stated, self.window) {
            (Some(limit), _) => self.in_own_units(percent(self.room(limit), 95)),
            (None, Some(window)) if overflowed => percent(self.room(window).min(size), 70),
            (None, Some(window)) => percent(self.room(window), 70),
            (None, None) => percent(size, 70),
        }
    }

    /// What a prompt may take beside the output. An output of more than half the window leaves the prompt that half.
    fn room(&self, limit: u64) -> u64 {
        limit - self.output.unwrap_or(0).min(limit / 2)
    }

    /// Where the provider counts more tokens in the same prompt than the caller does, a size is that much smaller in the caller's.
    fn in_own_units(&self, tokens: u64) -> u64 {
        // The size that an error states may include the output.
        let counted = self.tokens().requested.map_or(0, |requested| requested.saturating_sub(self.output.unwrap_or(0)));
        if self.used == 0 || counted <= self.used {
            return tokens;
        }
        let scaled = u128::from(tokens) * u128::from(self.used) / u128::from(counted);
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}

impl Governor {
    /// A governor with limits of its own.
    #[must_use]
    pub fn new(policy: GovernorPolicy) -> Self {
        Self { policy, ..Self::default() }
    }

    /// Whether to compact. An answer to proceed counts as a recovery of this turn; a demand that follows without word of how the last one ended shows that by its size.
    pub fn ask(&mut self, demand: &Demand) -> Recovery {
        // A call goes through to be counted.
        self.unproven &= demand.error.is_some();
        if self.most.is_some() {
            self.compacted(demand.known_size().unwrap_or(u64::MAX));
        }
        match self.refusal(demand) {
            Some(why) => Recovery::Stop { why },
            None => self.proceed(demand),
        }
    }

    fn refusal(&self, demand: &Demand) -> Option<StopReason> {
        if demand.error.is_some_and(|(action, _)| action != Action::Compact) {
            return Some(StopReason::NotAnOverflow);
        }
        if self.failures >= self.policy.failures.get() {
            return Some(StopReason::BreakerOpen);
        }
        if demand.is_implausible() && self.unproven {
            return Some(StopReason::Implausible);
        }
        if self.stalled {
            return Some(StopReason::NoProgress);
        }
        (self.recoveries >= self.policy.recoveries_per_turn).then_some(StopReason::TooManyRecoveries)
    }

    fn proceed(&mut self, demand: &Demand) -> Recovery {
        let size = demand.size();
        if size == 0 {
            return Recovery::Stop { why: StopReason::UnknownSize };
        }
        let shrunk = size - self.least_progress(size);
        let target = demand.target().min(shrunk);
        if target == 0 || target <= demand.fixed {
            return Recovery::Stop { why: StopReason::NothingLeftToShrink };
        }
        self.recoveries += 1;
        self.unproven = true;
        // Progress from a size that was assumed shows nothing.
        self.most = Some(if demand.known_size().is_some() { shrunk } else { target });
        Recovery::Proceed { target }
    }

    /// A compaction is done, and the conversation now has this size. Tells whether it shrank enough, which ends a row of failures. To be told also of one that the user started: it counts where it
    /// shrinks what failed before, and for nothing where it does not.
    pub fn compacted(&mut self, after: u64) -> bool {
        let asked_for = self.most.take();
        let shrank = asked_for.or(self.failed_most).is_none_or(|most| after <= most);
        if shrank {
            (self.failures, self.failed_most, self.stalled) = (0, None, false);
        } else if asked_for.is_some() {
            (self.failed_most, self.stalled) = (asked_for, true);
            self.failures = self.failures.saturating_add(1);
        }
        shrank
    }

    /// The compaction itself failed, for whatever reason. One that [`compacted`](Self::compacted) called too small already counts once.
    pub fn failed(&mut self) {
        let asked_for = self.most.take();
        self.unproven = false;
        if asked_for.is_none() && self.stalled {
            return;
        }
        self.failed_most = asked_for.or(self.failed_most);
        self.failures = self.failures.saturating_add(1);
    }

    /// A call went through, so a compaction before it helped. Says nothing of compactions that failed: they still count.
    pub fn succeeded(&mut self) {
        self.unproven = false;
    }

    /// A new turn has its own recoveries. Failures of compaction still count.
    pub fn new_turn(&mut self) {
        self.recoveries = 0;
        self.stalled = false;
    }

    /// By how much a compaction of this size must shrink it, at least by one token.
    fn least_progress(&self, size: u64) -> u64 {
        percent(size, self.policy.least_progress_percent.min(100)).max(1).min(size)
    }
}

fn percent(tokens: u64, percent: u8) -> u64 {
    let share = u128::from(tokens) * u128::from(percent) / 100;
    // No more than all of it.
    u64::try_from(share).unwrap_or(tokens)
}
