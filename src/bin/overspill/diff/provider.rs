//! Providers that no file was for.

use overspill::{ProviderView, Ruleset};
use serde_json::json;

use super::{Kind, Told};
use crate::style::{NAME, paint};

/// Whether no file was for it, though its name may have been another one's.
pub(super) fn is_new(before: &Ruleset, provider: &ProviderView<'_>) -> bool {
    before.provider(provider.name()).is_none_or(|known| known.name() != provider.name())
}

pub(super) fn changes(before: &Ruleset, after: &Ruleset, wanted: &impl Fn(&str) -> bool) -> Vec<Told> {
    let new = after.provider_views().filter(|provider| wanted(provider.name()) && is_new(before, provider));
    new.map(|provider| told(before, &provider)).collect()
}

fn told(before: &Ruleset, provider: &ProviderView<'_>) -> Told {
    let was = before.provider(provider.name()).map(|known| known.name().to_owned());
    let mut also = Vec::new();
    also.extend(was.as_ref().map(|was| format!("till now another name of {was}")));
    for (what, names) in [("also called", provider.aliases()), ("extends", provider.extends())] {
        also.extend((!names.is_empty()).then(|| format!("{what} {}", names.join(", "))));
    }
    also.extend(provider.is_gateway().then(|| "a gateway".to_owned()));
    let also = if also.is_empty() { String::new() } else { format!(" ({})", also.join("; ")) };
    Told {
        text: format!("{} provider {}{also}\n", Kind::Added.painted(), paint(NAME, provider.name())),
        json: json!({ "provider": provider.name(), "change": "added", "aliases": provider.aliases(), "extends": provider.extends(), "gateway": provider.is_gateway(), "was": was }),
    }
}
