//! What is no JSON Lines at all: recognised by how it begins, and told with what turns it into them. Line by line it would be nothing but unreadable lines.

/// How files begin that have to be unpacked first.
const PACKED: [(&[u8], &str, &str); 7] = [
    (b"\x1f\x8b", "gzip", "gzip -dc"),
    (b"\x28\xb5\x2f\xfd", "zstd", "zstd -dc"),
    (b"PK\x03\x04", "a zip archive", "unzip -p"),
    (b"\xfd7zXZ\0", "xz", "xz -dc"),
    (b"BZh", "bzip2", "bzip2 -dc"),
    (b"PAR1", "Parquet", "duckdb, to JSON"),
    (b"SQLite format 3\0", "a SQLite database", "sqlite3, to JSON"),
];

/// What a byte order mark in UTF-8 is, as some shells write it: nothing.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The beginning of a file without its byte order mark.
pub(crate) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(MARK).unwrap_or(bytes)
}

/// What the first line shows that the file is, and what to do about it; nothing for what may be JSON Lines.
pub(crate) fn foreign(first_line: &[u8]) -> Option<String> {
    if let Some((_, name, with)) = PACKED.iter().find(|(magic, ..)| first_line.starts_with(magic)) {
        return Some(format!("it looks like {name}: unpack it first, such as with {with}, and give the result as `-`"));
    }
    if first_line.starts_with(b"\xff\xfe") || first_line.starts_with(b"\xfe\xff") || matches!(first_line, [b'{' | b'[' | b'"', 0, ..] | [0, b'{' | b'[' | b'"', ..]) {
        return Some("it looks like UTF-16: write UTF-8, such as with iconv -f UTF-16 -t UTF-8".to_owned());
    }
    let line = without_mark(first_line).trim_ascii();
    // A line that is an array of something else is one bad line.
    if line.strip_prefix(b"[").is_some_and(|inside| matches!(inside.trim_ascii_start().first(), None | Some(b'{' | b']'))) {
        return Some("it looks like a JSON array: write one object a line, as jq -c '.[]' does".to_owned());
    }
    None
}

/// Whether the first line begins an object that goes on, as pretty-printed JSON does.
pub(crate) fn is_begun(first_line: &[u8]) -> bool {
    without_mark(first_line).trim_ascii() == b"{"
}

/// What to do about pretty-printed JSON.
pub(crate) fn spread(why: &str) -> String {
    format!("it looks like JSON spread over many lines{why}: write one object a line, as jq -c . does")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_json_lines_is_recognised() {
        let cases: [(&[u8], &str); 10] = [
            (b"\x1f\x8b\x08\0\0", "gzip"),
            (b"\x28\xb5\x2f\xfd\x24", "zstd"),
            (b"PK\x03\x04\x14", "zip"),
            (b"\xff\xfe{\0", "UTF-16"),
            (b"\0{\0\"", "UTF-16"),
            (b"{\0\"\0", "UTF-16"),
            (b"[{\"status\":429}]", "array"),
            (b"\xef\xbb\xbf [", "array"),
            (b"[]", "array"),
            (b"[ {\"status\":429},", "array"),
        ];
        for (line, what) in cases {
            assert!(foreign(line).is_some_and(|found| found.contains(what)), "{what}: {:?}", foreign(line));
        }
        for line in [&b"{\"status\":429}"[..], b"[1]", b"[[oops", b"", b"\"\"", b"PK", b"{", b"\xef\xbb\xbf{}"] {
            assert_eq!(foreign(line), None, "{line:?}");
        }
    }
}
