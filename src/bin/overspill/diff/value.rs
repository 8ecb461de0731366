//! Two values side by side.

use serde_json::Value;

/// A longer list is told by what it gains and loses.
const MAX_LIST: usize = 4;
/// More names than this are counted.
const MAX_NAMED: usize = 6;

/// `before` and `after`, each with its value; of long lists with much in common what only one of them has.
pub(super) fn sides(before: &Value, after: &Value, between: &str) -> Vec<(&'static str, String)> {
    if let (Value::Array(old), Value::Array(new)) = (before, after) {
        let only = |own: &[Value], other: &[Value]| Value::Array(own.iter().filter(|item| !other.contains(item)).cloned().collect());
        let (loses, gains) = (only(old, new), only(new, old));
        let differ = [&loses, &gains].iter().any(|list| list.as_array().is_some_and(|list| !list.is_empty()));
        if differ && !new.is_empty() && old.len().max(new.len()) > MAX_LIST {
            let told = [("loses", loses), ("gains", gains)];
            return told.into_iter().filter(|(_, list)| list.as_array().is_some_and(|list| !list.is_empty())).map(|(side, list)| (side, shown(&list, between))).collect();
        }
    }
    vec![("before", shown(before, between)), ("after", shown(after, between))]
}

/// A value as rule files write it.
pub(super) fn shown(value: &Value, between: &str) -> String {
    match value {
        Value::Null => "not set".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "an empty list".to_owned(),
        Value::Array(items) => items.iter().map(|item| shown(item, between)).collect::<Vec<_>>().join(between),
        value => value.to_string(),
    }
}

/// The names, or the first of them and how many more there are.
pub(super) fn named(names: &[String]) -> String {
    let rest = names.len().saturating_sub(MAX_NAMED);
    let mut named = names.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join(", ");
    if rest > 0 {
        named += &format!(" and {rest} more");
    }
    named
}
