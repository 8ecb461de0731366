//! Layers merged and validated: one value per key, with the place it came from, and every problem of every file.

mod comparison;
mod context;
mod delay;
mod fact;
mod glob;
mod inheritance;
mod layers;
mod merge;
mod names;
mod rule;
mod settings;
mod signals;
mod waits;

pub use self::comparison::{Comparison, Operand, Operator, Quantity};

pub(crate) use self::context::{ContextSettings, Limits};
pub(crate) use self::delay::DelayForms;
pub(crate) use self::fact::Fact;
pub(crate) use self::glob::Glob;
pub(crate) use self::layers::Layers;
pub(crate) use self::names::Names;
pub(crate) use self::rule::{Conditions, Rule};
pub(crate) use self::settings::{EffectiveRetry, RetrySettings, StatusTable};
pub(crate) use self::signals::SignalsConfig;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::diagnostic::{Code, Problem};
use crate::model::{DEFAULT_PROVIDER, RuleModel};
use crate::source::{Location, SourceId, Sources, Spanned};

/// Everything that the rule files say, merged over all layers.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) sources: Arc<Sources>,
    /// By name; [`Config::default_provider`] is the base that all inherit from.
    pub(crate) providers: Vec<Provider>,
    pub(crate) default_provider: usize,
    pub(crate) names: Names,
    pub(crate) signals: SignalsConfig,
    pub(crate) delay: DelayForms,
}

/// One provider, family or gateway, merged over all layers and with what it inherits.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) name: String,
    pub(crate) aliases: Vec<String>,
    pub(crate) gateway: bool,
    /// Itself, what it extends, the base, what the base extends: the order in which rules are tried and values looked up.
    pub(crate) chain: Vec<usize>,
    pub(crate) extends: Vec<String>,
    pub(crate) rules: Vec<Rule>,
    /// The ids of those that are switched off, and where.
    pub(crate) disabled: Vec<(String, Location)>,
    pub(crate) status: StatusTable,
    pub(crate) retry: RetrySettings,
    pub(crate) context: ContextSettings,
}

/// Merges and validates. Problems are appended; the configuration is returned even with some, so that later stages can report theirs too.
pub(crate) fn build(sources: Sources, problems: &mut Vec<Problem>) -> Option<Config> {
    let (merged, is_complete) = merge::merge(&sources, problems);
    let names = Names::build(&merged, problems);
    let Some(default_provider) = merged.iter().position(|provider| provider.name.value == DEFAULT_PROVIDER) else {
        let at = Location::new(SourceId::from_index(0), 0..0);
        let problem = Problem::new(Code::NoDefaults, at, "no file says provider = \"default\", so nothing can be inherited");
        problems.push(problem.hint("load the embedded rules too, or write a default.toml"));
        return None;
    };
    let chains = inheritance::chains(&merged, &names, default_provider, is_complete, problems);
    names::check_examples(&merged, &names, problems);
    let signals = SignalsConfig::build(&merged[default_provider], problems);
    let delay = DelayForms::build(&merged[default_provider], problems);
    let settings: Vec<_> = chains.iter().map(|chain| settings::resolve(&merged, chain, problems)).collect();
    let providers = merged.into_iter().zip(chains).zip(settings).enumerate().map(|(index, ((provider, chain), settings))| {
        let off = |rule: &RuleModel| rule.enabled.filter(|enabled| !**enabled).map(|enabled| (rule.id.value.clone(), enabled.at));
        let disabled = provider.rules.iter().filter_map(off).collect();
        let rules = provider.rules.into_iter().filter_map(|rule| Rule::build(rule, index, problems)).collect();
        let (status, retry, context) = settings;
        Provider {
            name: provider.name.value,
            aliases: each_once(values(provider.aliases)),
            gateway: provider.gateway.is_some_and(|gateway| *gateway),
            chain,
            extends: values(provider.extends),
            rules,
            disabled,
            status,
            retry,
            context,
        }
    });
    let providers = providers.collect();
    Some(Config { sources: Arc::new(sources), providers, default_provider, names, signals, delay })
}

/// A later layer may repeat what an earlier one says.
fn each_once(mut names: Vec<String>) -> Vec<String> {
    let mut known = BTreeSet::new();
    names.retain(|name| known.insert(name.clone()));
    names
}

fn values(texts: Vec<Spanned<String>>) -> Vec<String> {
    texts.into_iter().map(|text| text.value).collect()
}
