//! "Did you mean": the nearest name that would have been right.

/// The candidate nearest to what was written, if one is near enough to be meant.
///
/// Two measures, since each misses what the other finds: the edit distance for slips (`retryabel`), Jaro-Winkler for a right beginning (`cap` for `cap_ms`). Short words are near to each other by
/// chance, so of them less is forgiven.
#[must_use]
pub fn did_you_mean<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let written = plain(written);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let plain = plain(candidate);
            let likeness = strsim::jaro_winkler(&written, &plain);
            let begins_alike = likeness >= 0.88 && written.len().min(plain.len()) >= 3;
            (begins_alike || is_slip(&written, &plain)).then_some((candidate, likeness))
        })
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(candidate, _)| candidate)
}

/// The candidate that was misspelt, where what was written could be a name of its own too: names that only begin alike, or differ in a number, are different names.
pub(crate) fn misspelt<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let written = plain(written);
    let near = candidates.into_iter().filter(|candidate| {
        let plain = plain(candidate);
        written == plain || (written.len().max(plain.len()) >= 5 && digits(&written) == digits(&plain) && is_slip(&written, &plain))
    });
    near.min_by_key(|candidate| strsim::osa_distance(&written, &plain(candidate)))
}

fn plain(text: &str) -> String {
    text.to_ascii_lowercase().replace('-', "_")
}

/// Whether a finger slipped: once, and in a long word twice.
fn is_slip(written: &str, meant: &str) -> bool {
    let (shorter, longer) = (written.len().min(meant.len()), written.len().max(meant.len()));
    let same_beginning = written.chars().next() == meant.chars().next();
    match strsim::osa_distance(written, meant) {
        0 => true,
        1 => shorter >= 5 || (shorter >= 3 && same_beginning),
        2 => longer >= 8,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{did_you_mean, misspelt};

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
            ("clas", Some("class")),
            ("cups", None),
            ("flags", None),
        ];
        for (written, meant) in cases {
            assert_eq!(did_you_mean(written, keys), meant, "{written}");
        }
    }

    #[test]
    fn short_words_are_near_by_chance() {
        for (written, known) in [("if", "id"), ("then", "when"), ("stop", "scope"), ("host", "cost"), ("data", "fatal"), ("codes", "model"), ("active", "action"), ("m", "ms")] {
            assert_eq!(did_you_mean(written, [known]), None, "{written}");
        }
    }

    #[test]
    fn a_name_of_its_own_is_not_misspelt() {
        let cases = [
            ("antropic", "anthropic", true),
            ("Anthropic", "anthropic", true),
            ("interactiv", "interactive", true),
            ("openai-eu", "openai", false),
            ("openai2", "openai", false),
            ("grok", "groq", false),
        ];
        for (written, known, meant) in cases {
            assert_eq!(misspelt(written, [known]).is_some(), meant, "{written}");
        }
    }
}
