//! A few scalars out of a JSON text, in one pass and without a tree.
//!
//! A reply is mostly text that the model wrote, up to hundreds of kilobytes; what is wanted of it are four numbers. So everything beside the wanted paths is skipped and nothing is copied.
//! For the same reason no JSON library is used: one would build the tree or want the types of every provider. A test compares the outcome with such a library's.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

/// A text without its byte order mark, and out of the JSON string that holds it as a whole, as queues and logs store replies. A few levels of that, as there are in the field.
pub(super) fn unwrapped(text: &str) -> Cow<'_, str> {
    const LEVELS: usize = 3;
    let mut text = Cow::Borrowed(text);
    for _ in 0..LEVELS {
        let inner = text.trim_start_matches(['\u{feff}', ' ', '\n', '\r', '\t']);
        let mut scanner = Scanner { text: inner, at: 0 };
        match scanner.string() {
            Some(string) => text = Cow::Owned(unescaped(&string[1..string.len() - 1])),
            None if inner.len() == text.len() => break,
            None => {
                let start = text.len() - inner.len();
                return match text {
                    Cow::Borrowed(text) => Cow::Borrowed(&text[start..]),
                    Cow::Owned(text) => Cow::Owned(text[start..].to_owned()),
                };
            }
        }
    }
    text
}

/// What a JSON string says. Characters given by number are none that anybody wants here.
fn unescaped(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut characters = raw.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => text.extend(characters.next().map(|escape| match escape {
                'n' | 'r' | 't' => '\n',
                'b' | 'f' => ' ',
                'u' => '\u{fffd}',
                other => other,
            })),
            other => text.push(other),
        }
    }
    text
}

/// The wanted paths, as a tree of keys.
#[derive(Clone, Debug)]
pub(super) struct Paths<T> {
    nodes: Vec<Node<T>>,
}

#[derive(Clone, Debug)]
struct Node<T> {
    children: Vec<(String, usize)>,
    wanted: Vec<T>,
}

/// What stands at a wanted path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found<'j> {
    /// A scalar as written, a string with its quotes.
    Scalar(&'j str),
    /// An object or an array.
    Container,
}

const ROOT: usize = 0;

impl<T: Copy> Paths<T> {
    pub(super) fn new() -> Self {
        Self { nodes: vec![Node { children: Vec::new(), wanted: Vec::new() }] }
    }

    /// Wants what stands at these keys; of an array the index is the key.
    pub(super) fn want<'k>(&mut self, keys: impl Iterator<Item = &'k str>, what: T) {
        let mut at = ROOT;
        for key in keys {
            at = match self.nodes[at].children.iter().find(|(known, _)| known == key) {
                Some(&(_, child)) => child,
                None => {
                    let child = self.nodes.len();
                    self.nodes.push(Node { children: Vec::new(), wanted: Vec::new() });
                    self.nodes[at].children.push((key.to_owned(), child));
                    child
                }
            };
        }
        self.nodes[at].wanted.push(what);
    }

    /// Visits what is found in each document of the text: one JSON value, several after each other or in an array, or the `data:` lines of a stream. What is broken or cut off ends the
    /// document; what was found before stands.
    pub(super) fn find<'j>(&self, text: &'j str, mut visit: impl FnMut(T, Found<'j>)) {
        let mut scanner = Scanner { text, at: 0 };
        while let Some(first) = scanner.peek() {
            let read = match first {
                b'{' => scanner.value(self, Some(ROOT), &mut visit),
                b'[' => scanner.documents(self, &mut visit),
                _ => {
                    let mut data = Scanner { text: scanner.line().strip_prefix("data:").unwrap_or_default(), at: 0 };
                    match data.peek() {
                        Some(b'{') => _ = data.value(self, Some(ROOT), &mut visit),
                        Some(b'[') => _ = data.documents(self, &mut visit),
                        _ => {}
                    }
                    continue;
                }
            };
            if read.is_none() {
                return;
            }
        }
    }

    fn child(&self, node: Option<usize>, is: impl Fn(&str) -> bool) -> Option<usize> {
        self.nodes[node?].children.iter().find(|(key, _)| is(key)).map(|&(_, child)| child)
    }
}

/// A place in a text. Reading functions return `None` where the text is no JSON or ends too early.
struct Scanner<'j> {
    text: &'j str,
    at: usize,
}

impl<'j> Scanner<'j> {
    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        let rest = self.text.as_bytes().get(self.at..)?;
        self.at += rest.iter().take_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')).count();
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// The rest of the line, which is thereby read.
    fn line(&mut self) -> &'j str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length = memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
        self.at += length + 1;
        rest.get(..length).unwrap_or_default()
    }

    /// The elements of an array, each a document.
    fn documents<T: Copy>(&mut self, paths: &Paths<T>, visit: &mut impl FnMut(T, Found<'j>)) -> Option<()> {
        self.elements(|scanner, _| scanner.value(paths, Some(ROOT), visit))
    }

    /// A value and what is wanted in it. Goes no deeper than the paths do: the rest is skipped.
    fn value<T: Copy>(&mut self, paths: &Paths<T>, node: Option<usize>, visit: &mut impl FnMut(T, Found<'j>)) -> Option<()> {
        let Some(wanted) = node.map(|node| &paths.nodes[node]) else {
            return self.skip();
        };
        let found = match self.peek()? {
            b'{' | b'[' => Found::Container,
            _ => Found::Scalar(self.scalar()?),
        };
        wanted.wanted.iter().for_each(|&what| visit(what, found));
        if found != Found::Container {
            return Some(());
        }
        if wanted.children.is_empty() {
            return self.skip();
        }
        if self.peek()? == b'[' {
            return self.elements(|scanner, index| {
                let child = paths.child(node, |key| key.parse() == Ok(index));
                scanner.value(paths, child, visit)
            });
        }
        self.take(b'{')?;
        if self.peek()? == b'}' {
            return self.take(b'}');
        }
        loop {
            let key = self.string()?;
            self.take(b':')?;
            // A key with an escape in it is none that anybody wants.
            let child = paths.child(node, |known| key.get(1..key.len() - 1) == Some(known));
            self.value(paths, child, visit)?;
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => return self.take(b'}'),
                _ => return None,
            }
            self.peek()?;
        }
    }

    fn elements(&mut self, mut each: impl FnMut(&mut Self, usize) -> Option<()>) -> Option<()> {
        self.take(b'[')?;
        if self.peek()? == b']' {
            return self.take(b']');
        }
        let mut index = 0;
        loop {
            each(self, index)?;
            index += 1;
            match self.peek()? {
                b',' => self.at += 1,
                b']' => return self.take(b']'),
                _ => return None,
            }
            self.peek()?;
        }
    }

    /// A string with its quotes.
    fn string(&mut self) -> Option<&'j str> {
        if self.peek()? != b'"' {
            return None;
        }
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut at = start + 1;
        loop {
            at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
            if bytes[at] == b'"' {
                break;
            }
            at += 2;
        }
        self.at = at + 1;
        self.text.get(start..self.at)
    }

    /// A string, a number, `true`, `false` or `null`. What the end of the text cuts off is not there.
    fn scalar(&mut self) -> Option<&'j str> {
        if self.peek()? == b'"' {
            return self.string();
        }
        let rest = self.text.get(self.at..)?;
        let length = rest.find(|c: char| matches!(c, ',' | '}' | ']' | ':' | '{' | '[' | '"') || c.is_ascii_whitespace())?;
        self.at += length;
        (length > 0).then(|| rest.get(..length)).flatten()
    }

    /// A whole value, whatever is in it.
    fn skip(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                b'"' => _ = self.string()?,
                b',' | b':' if depth > 0 => self.at += 1,
                _ => _ = self.scalar()?,
            }
            if depth == 0 {
                return Some(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Found, Paths};

    fn found(text: &str) -> Vec<(u8, String)> {
        let mut paths = Paths::new();
        for (what, path) in ["a", "b/c", "b", "list/1", "deep/x/y"].into_iter().enumerate() {
            paths.want(path.split('/'), what as u8);
        }
        let mut all = Vec::new();
        paths.find(text, |what, found| {
            let text = match found {
                Found::Scalar(text) => text.to_owned(),
                Found::Container => "container".to_owned(),
            };
            all.push((what, text));
        });
        all
    }

    #[test]
    fn finds_wanted_scalars_and_nothing_else() {
        let cases: [(&str, &[(u8, &str)]); 14] = [
            (r#"{"a": 1}"#, &[(0, "1")]),
            (r#"{ "x": {"a": 2, "q": "}\"]"}, "a" : "one" , "b" : null }"#, &[(0, "\"one\""), (2, "null")]),
            (r#"{"b":{"c":-1.5e3,"d":[{}]},"list":[7,8,9]}"#, &[(2, "container"), (1, "-1.5e3"), (3, "8")]),
            (r#"[{"a":1},{"a":2}]"#, &[(0, "1"), (0, "2")]),
            ("{\"a\":1}\n{\"a\":2}\n", &[(0, "1"), (0, "2")]),
            ("event: x\ndata: {\"a\":1}\n\nid: 7\ndata:{\"a\":2}\n\ndata: [DONE]\n", &[(0, "1"), (0, "2")]),
            (r#"{"a": 1"#, &[]),
            (r#"{"a": 1, "b": {"c": 15"#, &[(0, "1"), (2, "container")]),
            (r#"{"a": "cut of"#, &[]),
            (r#"{"a": 1}}}}{{{{"#, &[(0, "1")]),
            (r#"{"list": [], "deep": {"x": [1, {"y": 2}]}, "a": 3}"#, &[(0, "3")]),
            (r#"{"text": "{\"a\": 5}", "a": 4}"#, &[(0, "4")]),
            ("", &[]),
            ("not json at all", &[]),
        ];
        for (text, expected) in cases {
            let expected: Vec<_> = expected.iter().map(|(what, text)| (*what, (*text).to_owned())).collect();
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn takes_any_depth_and_any_bytes() {
        found(&"[".repeat(200_000));
        found(&"{\"deep\":".repeat(100_000));
        found(&format!("{{\"x\":{}1{},\"a\":2}}", "[".repeat(100_000), "]".repeat(100_000)));
        found("{\"a\\");
        found("{\"ä\":\"\u{1F600}\",\"a\":\u{1F600}}");
    }
}
