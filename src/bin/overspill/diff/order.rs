//! Lists of which the first that fits decides, in another order. What is new or gone in them is told elsewhere.

use overspill::{ProviderView, Ruleset, Setting};
use serde_json::Value;

use super::setting::{SettingChange, Side};
use super::{Told, form};

pub(super) fn changes(before: &Ruleset, after: &Ruleset, wanted: &impl Fn(&str) -> bool) -> Vec<Told> {
    let forms = |ruleset: &Ruleset| ruleset.delay_settings().iter().filter_map(|form| form::id(form)).collect::<Vec<_>>();
    let mut changes: Vec<SettingChange> = Vec::new();
    compare("order of [[delay]]", &forms(before), &forms(after), None, &mut changes);
    for new in after.provider_views().filter(|provider| wanted(provider.name())) {
        let Some(old) = before.provider(new.name()) else { continue };
        for ((key, old), (_, new_order)) in lists(&old).into_iter().zip(lists(&new)) {
            compare(key, &old, &new_order, Some(new.name()), &mut changes);
        }
    }
    changes.iter().map(SettingChange::told).collect()
}

fn compare(key: &str, old: &[String], new: &[String], provider: Option<&str>, changes: &mut Vec<SettingChange>) {
    let common = |own: &[String], other: &[String]| own.iter().filter(|name| other.contains(name)).cloned().collect::<Vec<_>>();
    let (old, new) = (common(old, new), common(new, old));
    if old == new {
        return;
    }
    let side = |names: Vec<String>| Some(Side { value: Value::from(names), origin: None });
    changes.push(SettingChange { key: key.to_owned(), before: side(old), after: side(new), providers: provider.map(str::to_owned).into_iter().collect() });
}

fn lists(provider: &ProviderView<'_>) -> [(&'static str, Vec<String>); 3] {
    let ids = provider.usage_settings().iter().filter_map(|shape| form::id(shape)).collect();
    [("order of [[retry.model]]", globs(&provider.retry_changes())), ("order of [[context.model]]", globs(&provider.context_settings())), ("order of [[context.usage]]", ids)]
}

/// The globs of keys such as `model."gpt-*".window`, each once.
fn globs(settings: &[Setting]) -> Vec<String> {
    let mut globs: Vec<String> = Vec::new();
    for glob in settings.iter().filter_map(|setting| Some(setting.key.strip_prefix("model.\"")?.rsplit_once("\".")?.0)) {
        if globs.iter().all(|known| known != glob) {
            globs.push(glob.to_owned());
        }
    }
    globs
}
