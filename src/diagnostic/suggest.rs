//! "Did you mean": the nearest name that would have been right.

/// The candidate nearest to what was written, if one is near enough to be meant.
///
/// Two measures, since each misses what the other finds: the edit distance for slips (`retryabel`), Jaro-Winkler for a right beginning (`cap` for `cap_ms`).
#[must_use]
pub fn did_you_mean<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let written = written.to_ascii_lowercase().replace('-', "_");
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let plain = candidate.to_ascii_lowercase().replace('-', "_");
            let edits = strsim::osa_distance(&written, &plain);
            let likeness = strsim::jaro_winkler(&written, &plain);
            let near = edits <= 1 || (edits <= 2 && plain.len() >= 5) || likeness >= 0.88;
            near.then_some((candidate, likeness))
        })
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(candidate, _)| candidate)
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

    #[test]
    fn suggests_what_was_meant_and_nothing_else() {
        let keys = ["status", "message", "class", "unless", "retryable", "server_delay", "cap"];
        let cases = [
            ("staus", Some("status")),
            ("mesage", Some("message")),
            ("Class", Some("class")),
            ("retryabel", Some("retryable")),
            ("server-delay", Some("server_delay")),
            ("cap_ms", Some("cap")),
            ("colour", None),
            ("x", None),
        ];
        for (written, meant) in cases {
            assert_eq!(did_you_mean(written, keys), meant, "{written}");
        }
    }
}
