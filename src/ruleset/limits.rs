//! Which window a model has, by the files of its provider.

use super::Ruleset;
use crate::config::Limits;

/// `gateway/provider/model`: more slashes than this are part of a name.
const MAX_PREFIXES: usize = 3;

impl Ruleset {
    /// The provider's own files first, by the whole name and by what follows its last slash; a gateway's models, and those of nobody known, also by the provider they are named after.
    pub(crate) fn limits(&self, provider: Option<usize>, model: &str) -> Limits {
        let settings = self.settings(provider);
        let own = settings.context.limits(model);
        let (mut gateway, mut rest) = (provider.is_none() || settings.gateway, model);
        if own.window.is_some() {
            return own;
        }
        for _ in 0..MAX_PREFIXES {
            let Some((prefix, name)) = rest.split_once('/') else { break };
            rest = name;
            let Some(named) = self.find(Some(prefix)).filter(|_| gateway) else { continue };
            let settings = self.settings(Some(named));
            let limits = settings.context.limits(name);
            if limits.window.is_some() {
                return limits;
            }
            gateway = settings.gateway;
        }
        let last = model.rsplit('/').next().unwrap_or(model);
        let by_last = settings.context.limits(last);
        if by_last.window.is_some() { by_last } else { own }
    }
}
