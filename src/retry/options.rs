//! How one call is to be retried.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use super::clock::Clock;
use super::observer::Observer;
use super::session::Session;
use crate::class::{Action, Class};
use crate::overspill::Overspill;
use crate::policy::{RetryPolicy, WorstCase};
use crate::ruleset::{RuleView, Ruleset};

/// A call about to be made to a provider: who is called, for whom, and what the caller allows. The policy itself comes from the rules, at each attempt anew, so that an operator's edit takes
/// effect on calls that are already waiting.
///
/// Defaults: no model, no key, no profile, the deadline of the policy, repeatable, nothing retried after output was emitted, sharing budget and hold-back with other calls, a fresh random seed,
/// nobody told, the machine's clocks. Holds a handle of its own, so it can be kept and cloned for each call.
///
/// ```
/// use std::time::Duration;
///
/// use overspill::Overspill;
///
/// let overspill = Overspill::embedded();
/// let retry = overspill.retry("anthropic").model("claude-sonnet-4-5").profile("interactive").key("team-a").deadline(Duration::from_secs(90));
/// assert!(retry.worst_case().waiting <= Duration::from_secs(90));
/// ```
#[derive(Clone)]
#[must_use = "a description does nothing until it is run or made a session"]
pub struct Retry<'a> {
    pub(super) overspill: Overspill,
    pub(super) provider: Option<Cow<'a, str>>,
    pub(super) model: Option<Cow<'a, str>>,
    pub(super) key: Option<Cow<'a, str>>,
    pub(super) profile: Option<Cow<'a, str>>,
    pub(super) deadline: Option<Duration>,
    pub(super) max_attempts: Option<NonZeroU32>,
    pub(super) repeatable: bool,
    pub(super) after_output: bool,
    pub(super) shared: bool,
    pub(super) seed: Option<u64>,
    pub(super) observer: Option<Arc<dyn Observer>>,
    pub(super) clock: Option<Arc<dyn Clock>>,
}

impl Overspill {
    /// A call to that provider, to be retried as the rules say.
    pub fn retry<'a>(&self, provider: impl Into<Cow<'a, str>>) -> Retry<'a> {
        Retry::new(self.clone(), Some(provider.into()))
    }
}

impl<'a> Retry<'a> {
    fn new(overspill: Overspill, provider: Option<Cow<'a, str>>) -> Self {
        Self {
            overspill,
            provider,
            model: None,
            key: None,
            profile: None,
            deadline: None,
            max_attempts: None,
            repeatable: true,
            after_output: false,
            shared: true,
            seed: None,
            observer: None,
            clock: None,
        }
    }

    /// The model that is asked for: policies can differ by model.
    pub fn model(mut self, model: impl Into<Cow<'a, str>>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// The credential that is used, or any name for it: budget and hold-back are shared by the calls with the same provider and key. Only a hash of it is kept.
    pub fn key(mut self, key: impl Into<Cow<'a, str>>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The profile of the rule files to follow, such as `interactive` or `unattended`. One that no file knows changes nothing but that failures bring
    /// about a `tracing` event about it; [`has_retry_profile`](Ruleset::has_retry_profile) tells beforehand.
    pub fn profile(mut self, profile: impl Into<Cow<'a, str>>) -> Self {
        self.profile = Some(profile.into());
        self
    }

    /// The longest time from the first attempt to the last, instead of the policy's. A wait that would end later is not begun; an attempt under way is not cut off.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Fewer attempts than the policy allows; never more, and at least one.
    pub fn at_most(mut self, attempts: u32) -> Self {
        self.max_attempts = Some(NonZeroU32::new(attempts).unwrap_or(NonZeroU32::MIN));
        self
    }

    /// The call must not be made twice: failures are judged and reported, but never retried.
    pub fn not_repeatable(mut self) -> Self {
        self.repeatable = false;
        self
    }

    /// The call may be retried after output was emitted or a tool ran: the caller can take it back, or does not mind.
    pub fn even_after_output(mut self) -> Self {
        self.after_output = true;
        self
    }

    /// No budget and no hold-back: this call neither heeds other calls nor is it heeded by them.
    pub fn alone(mut self) -> Self {
        self.shared = false;
        self
    }

    /// Makes the jitter repeatable. The same seed in many calls makes them wait in step.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Who is told of every failed attempt.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Where time comes from.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// What the call can come to at worst under the rules in force now, whatever it fails with: also with a class that is no reason to retry, since a rule, a list of statuses or the server itself
    /// (`x-should-retry`) may ask for it. A call that is not [`alone`](Self::alone) may be held before its first attempt too, so that it has as many waits as attempts. After a
    /// [change of the request](Session::request_changed) the attempts count anew.
    #[must_use]
    pub fn worst_case(&self) -> WorstCase {
        let rules = self.overspill.ruleset();
        let provider = self.provider.as_deref();
        let by_rule: Vec<Class> = rules.rules_for(provider).iter().filter(|rule| rule.action() == Some(Action::Retry)).map(RuleView::class).collect();
        let retried = |class: &&Class| matches!(class.default_action(), Action::Retry | Action::Fail) || by_rule.contains(class);
        let first = self.policy(&rules, None);
        let mut policies: Vec<RetryPolicy> = Class::ALL.iter().filter(retried).map(|class| self.policy(&rules, Some(*class))).collect();
        if !self.repeatable {
            policies.clear();
        }
        WorstCase::of(&policies, self.shared.then_some(&first))
    }

    /// The pull-style session: for callers that do something between attempts, such as compacting.
    #[must_use]
    #[inline]
    pub fn session(self) -> Session<'a> {
        Session::new(self)
    }

    /// The policy of these rules for this call.
    pub(super) fn policy(&self, rules: &Ruleset, class: Option<Class>) -> RetryPolicy {
        let mut policy = rules.retry_policy_for(self.provider.as_deref(), class, self.model.as_deref(), self.profile.as_deref());
        if let Some(attempts) = self.max_attempts {
            policy.max_attempts = policy.max_attempts.min(attempts);
        }
        policy.deadline = self.deadline.or(policy.deadline);
        policy
    }
}

impl fmt::Debug for Retry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .field("profile", &self.profile)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
