//! What other languages and tools write into a text, and TOML does not know.

/// What begins a comment elsewhere.
const COMMENTS: [&str; 6] = ["//", "/*", "*/", ";", "--", "<!--"];

/// The lines that Git puts around two versions that it could not join.
const CONFLICT: [&str; 4] = ["<<<<<<<", "|||||||", "=======", ">>>>>>>"];

/// The mark of another language's comment with which the text begins.
pub(super) fn comment(text: &str) -> Option<&'static str> {
    COMMENTS.into_iter().find(|mark| text.starts_with(mark))
}

/// The mark of a conflict that this line is.
pub(super) fn conflict(line: &str) -> Option<&'static str> {
    CONFLICT.into_iter().find(|mark| line.strip_prefix(mark).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\r'])))
}

/// Where the conflict ends that begins with the line at the offset: behind its last mark, or at the end of the text.
pub(super) fn end_of_conflict(text: &str, start: usize) -> usize {
    let mut at = start;
    for line in text.get(start..).unwrap_or_default().split_inclusive('\n') {
        at += line.len();
        if conflict(line.trim_end()) == Some(">>>>>>>") {
            break;
        }
    }
    at
}
