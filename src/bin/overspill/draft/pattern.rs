//! From a template to a pattern that matches it, and to a text that the pattern matches.

use overspill::Class;

use super::wrapper::{own_letters, unwrapped};

/// A wording with fewer letters than this is found in many texts.
const WEAK_LETTERS: usize = 14;
/// A wording with fewer says nothing by itself.
const MIN_ALONE: usize = 8;
/// One with fewer says nothing at all.
const MIN_LETTERS: usize = 4;
/// More gaps that anything may fill make a pattern slow and vague.
const MAX_GAPS: usize = 3;
/// More of a long text is not needed to recognise it.
const MAX_PATTERN_BYTES: usize = 240;

/// A pattern for a number that is not captured.
const NUMBER: &str = r"\d[\d.,]*";

/// A line of a template as a pattern and as an example.
#[derive(Clone, Debug)]
pub(super) struct Wording {
    pub(super) pattern: String,
    pub(super) example: String,
    /// The facts that the pattern captures, with the example's numbers.
    pub(super) facts: Vec<(&'static str, u64)>,
    letters: usize,
    words: String,
}

/// A piece of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece<'t> {
    Literal(&'t str),
    Number,
    /// Anything without a blank.
    Word(&'static str),
    Quoted,
    /// The rest is somebody's own text, or was cut.
    End,
}

impl Wording {
    /// The wordings of the lines, that of the line which says most first; none when no line has words of the server's own.
    pub(super) fn all(template: &str, class: Class) -> Vec<Self> {
        // Where something was taken out of the text, two blanks may have come together, and a pattern would have to have both.
        let parts = template.lines().filter_map(|line| line.split("  ").max_by_key(|part| own_letters(part)));
        let lines = parts.map(|line| Some(unwrapped(line)).filter(|line| own_letters(line) >= MIN_LETTERS).unwrap_or(line));
        let mut wordings: Vec<_> = lines.map(|line| Self::of_line(line, class)).filter(|wording| wording.letters >= MIN_LETTERS).collect();
        wordings.sort_by_key(|wording| std::cmp::Reverse(wording.letters));
        wordings
    }

    fn of_line(line: &str, class: Class) -> Self {
        let mut wording = Self { pattern: String::new(), example: String::new(), facts: Vec::new(), letters: 0, words: String::new() };
        let pieces = pieces(line);
        let (mut gaps, mut used) = (0, String::new());
        for (index, piece) in pieces.iter().enumerate() {
            if wording.pattern.len() > MAX_PATTERN_BYTES || gaps > MAX_GAPS {
                break;
            }
            match *piece {
                Piece::Literal(text) => {
                    wording.pattern += &escape(text);
                    wording.example += text;
                    used += text;
                    wording.words += text;
                }
                Piece::Number => {
                    used += "<n>";
                    wording.number(&pieces, index, class);
                }
                Piece::Word(example) => {
                    used += "<id>";
                    wording.pattern += r"\S+";
                    wording.example += example;
                    wording.words.push(' ');
                }
                Piece::Quoted => {
                    wording.pattern += ".{1,200}?";
                    wording.example += "example";
                    used += "<quoted>";
                    gaps += 1;
                }
                Piece::End => break,
            }
        }
        wording.letters = own_letters(&used);
        // A pattern that begins or ends in "anything" says no more than one without.
        let mut pattern = wording.pattern.as_str();
        for open in [r"\S+", ".{1,200}?"] {
            pattern = pattern.strip_suffix(open).unwrap_or(pattern).trim();
            pattern = pattern.strip_prefix(open).unwrap_or(pattern).trim();
        }
        let pattern = pattern.to_owned();
        wording.pattern = pattern;
        wording
    }

    fn number(&mut self, pieces: &[Piece<'_>], index: usize, class: Class) {
        let fact = fact(pieces, index, class).filter(|(name, _)| self.facts.iter().all(|(known, _)| known != name));
        match fact {
            Some((name, number)) => {
                self.pattern += &capture(name);
                self.example += &number.to_string();
                self.facts.push((name, number));
            }
            None => {
                self.pattern += NUMBER;
                self.example += "12";
            }
        }
    }

    /// The same with numbers that are not captured, the fewest of them first: the words around a number may say what only the engine knows, that it counts no tokens.
    pub(super) fn with_fewer_facts(&self) -> Vec<Self> {
        let names: Vec<_> = self.facts.iter().map(|(name, _)| *name).collect();
        let mut fewer: Vec<_> = names.iter().map(|name| self.without(&[name])).collect();
        if names.len() > 1 {
            fewer.push(self.without(&names));
        }
        fewer
    }

    fn without(&self, names: &[&str]) -> Self {
        let mut wording = self.clone();
        wording.facts.retain(|(name, _)| !names.contains(name));
        names.iter().for_each(|name| wording.pattern = wording.pattern.replace(&capture(name), NUMBER));
        wording
    }

    /// Whether so few words need a code or status beside them.
    pub(super) fn is_weak(&self) -> bool {
        self.letters < WEAK_LETTERS
    }

    /// Whether so few words recognise nothing without one.
    pub(super) fn needs_company(&self) -> bool {
        self.letters < MIN_ALONE
    }

    pub(super) fn words(&self) -> String {
        self.words.clone()
    }
}

/// A pattern that captures a number of tokens.
fn capture(name: &str) -> String {
    format!(r"(?<{name}>\d+)")
}

/// A text as the template stands for.
pub(super) fn filled(template: &str) -> String {
    let fill = |line: &str| {
        let fill = |piece: Piece<'_>| match piece {
            Piece::Literal(text) => text.to_owned(),
            // As long as a status, and as no number of tokens.
            Piece::Number => "123".to_owned(),
            // A name even where a sentence begins.
            Piece::Word("Example") => "McExample".to_owned(),
            Piece::Word(example) => example.to_owned(),
            // In back-ticks, which patterns do not see, and masking does.
            Piece::Quoted => "`example`".to_owned(),
            Piece::End => String::new(),
        };
        pieces(line).into_iter().map(fill).collect::<String>()
    };
    template.lines().map(fill).collect::<Vec<_>>().join("\n")
}

fn pieces(line: &str) -> Vec<Piece<'_>> {
    const MARKS: [(&str, Piece<'static>); 9] = [
        ("<n>", Piece::Number),
        ("<id>", Piece::Word("a1b2c3d4e5f6")),
        ("<name>", Piece::Word("Example")),
        ("<email>", Piece::Word("someone@example.org")),
        ("<path>", Piece::Word("/some/path")),
        ("<time>", Piece::Word("2026-01-02T03:04:05Z")),
        ("<quoted>", Piece::Quoted),
        ("<text>", Piece::End),
        ("…", Piece::End),
    ];
    let mut pieces = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let next = MARKS.iter().filter_map(|(mark, piece)| Some((rest.find(mark)?, mark.len(), *piece))).min_by_key(|(at, ..)| *at);
        let Some((at, length, piece)) = next else {
            pieces.push(Piece::Literal(rest));
            break;
        };
        if at > 0 {
            pieces.push(Piece::Literal(&rest[..at]));
        }
        pieces.push(piece);
        rest = &rest[at + length..];
    }
    pieces
}

/// What a number is, by the words around it: only where the class has use for it, and only where they say so.
fn fact(pieces: &[Piece<'_>], index: usize, class: Class) -> Option<(&'static str, u64)> {
    let literal = |piece: Option<&Piece<'_>>| match piece {
        Some(Piece::Literal(text)) => text.to_ascii_lowercase(),
        _ => String::new(),
    };
    let before = literal(index.checked_sub(1).and_then(|at| pieces.get(at)));
    let after = literal(pieces.get(index + 1));
    let clause = |text: &str| text.rsplit([',', ';', '(']).next().unwrap_or("").to_owned();
    let before = clause(&before);
    let after: String = after.split([',', ';', ')', '.']).next().unwrap_or("").to_owned();
    // Digits with a point or a unit behind them are no number of tokens.
    if after.starts_with(|c: char| c.is_alphanumeric() || c == '.' || c == '-' || c == ':' || c == '/') {
        return None;
    }
    let says = |text: &str, words: &[&str]| words.iter().any(|word| text.contains(word));
    let limit = says(&before, &["limit", "maximum", "max ", "max:", "at most", "up to", "cap ", "exceed", "window", "> ", "allowed", "ceiling", "above", "more than", "over "])
        || says(&after, &["maximum", "limit", "allowed", "max"]);
    let requested = says(&before, &["requested", "got", "prompt", "input", "contains", "has ", "have ", "resulted", "sent", "used", "of "])
        || says(&after, &["requested", "tokens >", "in the", "input"]);
    match class {
        Class::OutputLimit => limit.then_some(("output_limit", 8192)),
        Class::ContextOverflow | Class::RequestExceedsRateLimit if limit && !says(&after, &["tokens >"]) => Some(("limit", 200_000)),
        Class::ContextOverflow | Class::RequestExceedsRateLimit => requested.then_some(("requested", 250_000)),
        _ => None,
    }
}

/// A literal in a pattern. Blanks stay: the text that a pattern sees has single ones.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_become_patterns_with_facts_where_the_words_say_so() {
        let overflow = Class::ContextOverflow;
        let cases = [
            (
                overflow,
                "prompt is too long: <n> tokens > <n> maximum",
                r"prompt is too long: (?<requested>\d+) tokens > (?<limit>\d+) maximum",
                "prompt is too long: 250000 tokens > 200000 maximum",
            ),
            (Class::RateLimited, "Please try again in <n>m<n>s.", r"Please try again in \d[\d.,]*m\d[\d.,]*s\.", "Please try again in 12m12s."),
            (Class::OutputLimit, "the output limit is <n>", r"the output limit is (?<output_limit>\d+)", "the output limit is 8192"),
            (overflow, "Shard '<quoted>' is full", r"Shard '.{1,200}?' is full", "Shard 'example' is full"),
            (overflow, "no room for <name>", "no room for", "no room for Example"),
            (overflow, "Invalid prompt: <text>", "Invalid prompt:", "Invalid prompt: "),
            (overflow, "<name> was refused by <name>", "was refused by", "Example was refused by Example"),
        ];
        let seams = Wording::all("The first message is no good .  .  .", overflow).remove(0);
        assert_eq!(seams.pattern, r"The first message is no good \.");
        for (class, template, pattern, example) in cases {
            let wording = Wording::all(template, class).remove(0);
            assert_eq!((wording.pattern.as_str(), wording.example.as_str()), (pattern, example), "{template}");
        }
        for template in ["<n> <id>", "", "openai.BadRequestError: Error code: <n> -", "Error: <n>"] {
            assert!(Wording::all(template, overflow).is_empty(), "{template}");
        }
        let several = Wording::all("openai.BadRequestError: Error code: <n> -\nLattice is sour\nThe lattice of the shop is sour", overflow);
        assert_eq!(several.iter().map(|wording| wording.pattern.as_str()).collect::<Vec<_>>(), ["The lattice of the shop is sour", "Lattice is sour"]);
    }
}
