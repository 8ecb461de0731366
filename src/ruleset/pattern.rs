//! One regular expression: the dialect of rule files, bounded and checked.
//!
//! The dialect is Rust's regex syntax, case-insensitive and multi-line, with `\d`, `\w`, `\s` and `\b` in their [ASCII meaning](super::dialect). Everything else is Unicode.

use regex_automata::meta;
use regex_syntax::ast::{self, Ast, Visitor};
use regex_syntax::hir::translate::TranslatorBuilder;
use regex_syntax::hir::{Hir, HirKind};

use super::atom::{Atom, atoms, pieces, plain_texts};
use super::dialect::to_ascii;
use super::fold::{strip_captures, without_unicode_folds};
use super::other_dialects::{self, Foreign};
use super::size;
use super::witness::witnesses;
use crate::config::Fact;
use crate::diagnostic::{Code, Problem};
use crate::model::inner_location;
use crate::source::{Sources, Spanned};

/// A longer pattern is refused: parsing alone can take memory out of proportion to the text.
const MAX_PATTERN_BYTES: usize = 1024;
/// How deep groups and classes may nest.
const NEST_LIMIT: u32 = 32;
/// The largest count of a bounded repetition, as in `x{1,100}`; counts of nested repetitions multiply.
const MAX_REPETITION: u32 = 256;
/// The largest program of a single pattern.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// A checked pattern.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    /// As written. Its case-insensitive form is only made when the pattern is compiled, which happens to few.
    text: String,
    /// Index of the capture group and what it captures.
    captures: Vec<(usize, Fact)>,
    atoms: Vec<Atom>,
    /// All texts that it matches, where they are few and plain; in lower case.
    texts: Vec<Vec<u8>>,
    is_digits_only: bool,
}

impl Pattern {
    /// Parses and checks the text; what is wrong is shown inside it.
    pub(crate) fn parse(text: &Spanned<String>, sources: &Sources) -> Result<Self, Problem> {
        let problem = |code, range: std::ops::Range<usize>, message: String| Problem::new(code, inner_location(sources, text.at, range), message);
        if text.len() > MAX_PATTERN_BYTES {
            let message = format!("the pattern has {} bytes; it may have {MAX_PATTERN_BYTES}", text.len());
            return Err(problem(Code::PatternTooLarge, 0..text.len(), message).hint("split it into a list of patterns: any of a list may match"));
        }
        let foreign = |found: Foreign| problem(Code::InvalidPattern, found.range, found.message).hint(found.hint);
        if let Some(found) = other_dialects::find_control(text) {
            return Err(foreign(found));
        }
        let mut ast = parse_ast(text).map_err(|error| match other_dialects::find(text, &error) {
            Some(found) => foreign(found),
            None => problem(Code::InvalidPattern, range(error.span()), format!("the regex does not compile: {}", error.kind())).hint(syntax_hint(error.kind())),
        })?;
        if let Some(found) = other_dialects::find_unnoticed(text) {
            return Err(foreign(found));
        }
        let mut survey = Survey::default();
        let repetition = ast::visit(&ast, &mut survey).err();
        if let Some(range) = repetition {
            let message = format!("the repetition is larger than {MAX_REPETITION}, nested ones multiplied");
            return Err(problem(Code::PatternTooLarge, range, message).hint("use + or *, or a smaller count"));
        }
        if let [(name, range), more @ ..] = survey.unknown_captures.as_slice() {
            let names = more.iter().map(|(name, _)| format!(", nor is `{name}`"));
            let message = format!("`{name}` is no capture{}", names.collect::<String>());
            let problem =
                problem(Code::UnknownCapture, range.clone(), message).hint("captures are limit, requested (or parts requested_1, requested_2), excess, output_limit, delay");
            return Err(more.iter().fold(problem, |problem, (_, range)| problem.related(inner_location(sources, text.at, range.clone()), "nor is this")));
        }
        to_ascii(&mut ast);
        let plain = translate(text, &ast, Reading::Plain)
            .map_err(|(message, range)| problem(Code::InvalidPattern, range, format!("the regex does not compile: {message}")).hint(SYNTAX))?;
        if plain.properties().minimum_len() == Some(0) {
            return Err(problem(Code::InvalidPattern, 0..text.len(), "the pattern matches the empty text, and so every failure".to_owned()).hint("make some part of it required"));
        }
        let plain = strip_captures(plain);
        let may_be_large = size::upper_bound(&plain) > MAX_COMPILED_BYTES;
        let mut atoms = atoms(&plain);
        atoms.iter_mut().for_each(|atom| atom.sort());
        let texts = if survey.captures.is_empty() && !survey.has_flags { plain_texts(&plain) } else { Vec::new() };
        let pattern = Self { text: text.value.clone(), captures: survey.captures, atoms, texts, is_digits_only: is_digits_only(&plain) };
        // Compiling every pattern only to find out would double the time that loading takes.
        if may_be_large && pattern.compile().is_err() {
            return Err(problem(Code::PatternTooLarge, 0..text.len(), "the compiled pattern is too large".to_owned()).hint("use smaller repetition counts or split it"));
        }
        Ok(pattern)
    }

    /// What the pattern captures.
    pub(crate) fn captures(&self) -> &[(usize, Fact)] {
        &self.captures
    }

    /// What a text must have for the pattern to match.
    pub(crate) fn atoms(&self) -> &[Atom] {
        &self.atoms
    }

    /// All texts that it matches, in any case; none when they are many, or when more than their letters matters.
    pub(crate) fn texts(&self) -> &[Vec<u8>] {
        &self.texts
    }

    /// What stands in each text that it matches: of every piece one of these texts, in lower case. Cost: parses the pattern again, unless it is plain; for lints.
    pub(crate) fn pieces(&self) -> Vec<Vec<Vec<u8>>> {
        if !self.texts.is_empty() {
            return vec![self.texts.clone()];
        }
        self.hir(Reading::Plain).map(|hir| pieces(&strip_captures(hir))).unwrap_or_default()
    }

    /// Some texts that it matches, see [`witnesses`]. Cost: as above.
    pub(crate) fn witnesses(&self) -> Option<Vec<String>> {
        witnesses(&self.hir(Reading::Plain).ok()?)
    }

    /// Whether it matches every text with these pieces in it. Only said where it is plain: it stands for few texts.
    pub(crate) fn stands_in(&self, pieces: &[Vec<Vec<u8>>]) -> bool {
        let contains = |text: &Vec<u8>| self.texts.iter().any(|part| memchr::memmem::find(text, part).is_some());
        pieces.iter().any(|texts| texts.iter().all(contains))
    }

    /// Whether it would match digits alone.
    pub(crate) fn is_digits_only(&self) -> bool {
        self.is_digits_only
    }

    /// Made for speed.
    pub(crate) fn compile(&self) -> Result<meta::Regex, String> {
        let config = meta::Config::new().hybrid_cache_capacity(MAX_COMPILED_BYTES);
        compile(&without_unicode_folds(self.hir(Reading::AnyCase)?), config)
    }

    /// Made with little effort, for a few searches in short texts: one automaton, and nothing derived from it.
    pub(crate) fn compile_quickly(&self) -> Result<meta::Regex, String> {
        compile(&without_unicode_folds(self.hir(Reading::AnyCase)?), quick())
    }

    /// The same for texts of ASCII alone, with less effort still: the bytes of all other letters cost a gap such as `[^.]{0,60}` most of its states. What has such letters itself is read as ever.
    pub(crate) fn compile_for_ascii(&self) -> Result<meta::Regex, String> {
        match self.hir(Reading::AnyCaseOfAscii) {
            Ok(hir) => compile(&hir, quick()),
            Err(_) => self.compile_quickly(),
        }
    }

    fn hir(&self, reading: Reading) -> Result<Hir, String> {
        let mut ast = parse_ast(&self.text).map_err(|error| error.kind().to_string())?;
        to_ascii(&mut ast);
        translate(&self.text, &ast, reading).map_err(|(message, _)| message)
    }
}

fn quick() -> meta::Config {
    meta::Config::new().hybrid(false).dfa(false).onepass(false).auto_prefilter(false)
}

fn compile(hir: &Hir, config: meta::Config) -> Result<meta::Regex, String> {
    let config = config.nfa_size_limit(Some(MAX_COMPILED_BYTES));
    meta::Builder::new().configure(config).build_from_hir(hir).map_err(|error| error.to_string())
}

fn is_digits_only(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => true,
        HirKind::Literal(literal) => literal.0.iter().all(u8::is_ascii_digit),
        HirKind::Class(class) => {
            class.maximum_len() == Some(1)
                && matches!(class, regex_syntax::hir::Class::Unicode(class) if class.ranges().iter().all(|range| range.start() >= '0' && range.end() <= '9'))
        }
        HirKind::Repetition(repetition) => is_digits_only(&repetition.sub),
        HirKind::Capture(capture) => is_digits_only(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().all(is_digits_only),
    }
}

fn parse_ast(text: &str) -> Result<Ast, Box<ast::Error>> {
    ast::parse::ParserBuilder::new().nest_limit(NEST_LIMIT).build().parse(text).map_err(Box::new)
}

/// What a pattern's letters stand for.
#[derive(Clone, Copy, Debug)]
enum Reading {
    /// Themselves.
    Plain,
    /// Themselves in any case.
    AnyCase,
    /// The same in texts of ASCII alone; patterns with other letters cannot be read so.
    AnyCaseOfAscii,
}

/// The error comes with its place in the text.
fn translate(text: &str, ast: &Ast, reading: Reading) -> Result<Hir, (String, std::ops::Range<usize>)> {
    let (any_case, unicode) = match reading {
        Reading::Plain => (false, true),
        Reading::AnyCase => (true, true),
        Reading::AnyCaseOfAscii => (true, false),
    };
    let mut translator = TranslatorBuilder::new().case_insensitive(any_case).multi_line(true).unicode(unicode).utf8(unicode).build();
    translator.translate(text, ast).map_err(|error| (error.kind().to_string(), range(error.span())))
}

fn range(span: &ast::Span) -> std::ops::Range<usize> {
    span.start.offset..span.end.offset
}

const SYNTAX: &str = "what can be written: https://docs.rs/regex/latest/regex/#syntax";

fn syntax_hint(kind: &ast::ErrorKind) -> &'static str {
    match kind {
        ast::ErrorKind::UnsupportedLookAround => "put what must not be there into `unless`, and what must be there into the pattern itself",
        ast::ErrorKind::UnsupportedBackreference => "write the text out once more",
        ast::ErrorKind::GroupNameDuplicate { .. } => "use a name once; the parts of a request are requested_1, requested_2, and are added",
        ast::ErrorKind::NestLimitExceeded(_) => "use fewer groups inside each other",
        ast::ErrorKind::FlagUnrecognized => "patterns ignore case already; to heed it, write (?-i)",
        ast::ErrorKind::GroupUnclosed | ast::ErrorKind::GroupUnopened => "a literal parenthesis is written \\(",
        ast::ErrorKind::ClassUnclosed => "a literal bracket is written \\[",
        ast::ErrorKind::RepetitionMissing => "a literal +, * or ? is written with a backslash before it",
        ast::ErrorKind::EscapeUnrecognized | ast::ErrorKind::EscapeUnexpectedEof => "a literal backslash is written \\\\",
        _ => SYNTAX,
    }
}

/// What one walk over the syntax tree finds out.
#[derive(Default)]
struct Survey {
    captures: Vec<(usize, Fact)>,
    unknown_captures: Vec<(String, std::ops::Range<usize>)>,
    repetitions: Vec<u32>,
    /// Whether some part of it heeds the case, say.
    has_flags: bool,
}

impl Visitor for &mut Survey {
    type Output = ();
    /// The place of a repetition that is too large.
    type Err = std::ops::Range<usize>;

    fn finish(self) -> Result<(), Self::Err> {
        Ok(())
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Self::Err> {
        match ast {
            Ast::Flags(_) => self.has_flags = true,
            Ast::Group(group) => {
                self.has_flags |= matches!(&group.kind, ast::GroupKind::NonCapturing(flags) if !flags.items.is_empty());
                if let ast::GroupKind::CaptureName { name, .. } = &group.kind {
                    let range = name.span.start.offset..name.span.end.offset;
                    match Fact::from_name(&name.name) {
                        Some(fact) => self.captures.push((name.index as usize, fact)),
                        None => self.unknown_captures.push((name.name.clone(), range)),
                    }
                }
            }
            Ast::Repetition(repetition) => {
                let count = match repetition.op.kind {
                    ast::RepetitionKind::Range(ast::RepetitionRange::Exactly(count) | ast::RepetitionRange::AtLeast(count) | ast::RepetitionRange::Bounded(_, count)) => {
                        count.max(1)
                    }
                    _ => 1,
                };
                let outer = self.repetitions.last().copied().unwrap_or(1);
                let total = outer.saturating_mul(count);
                if total > MAX_REPETITION {
                    return Err(repetition.op.span.start.offset..repetition.op.span.end.offset);
                }
                self.repetitions.push(total);
            }
            _ => {}
        }
        Ok(())
    }

    fn visit_post(&mut self, ast: &Ast) -> Result<(), Self::Err> {
        if matches!(ast, Ast::Repetition(_)) {
            self.repetitions.pop();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::source::{Location, SourceId};

    fn parse(text: &str) -> Option<Pattern> {
        let at = Location::new(SourceId::from_index(0), 0..0);
        Pattern::parse(&Spanned::new(text.to_owned(), at), &Sources::default()).ok()
    }

    /// What the bound of a program's size is worth: with no more than that it can be made.
    fn is_within_its_bound(pattern: &Pattern) -> bool {
        let bound = size::upper_bound(&pattern.hir(Reading::Plain).expect("it was parsed"));
        let limited = |reverse| {
            let hir = without_unicode_folds(pattern.hir(Reading::AnyCase).expect("it was parsed"));
            let config = regex_automata::nfa::thompson::Config::new().nfa_size_limit(Some(bound)).reverse(reverse).which_captures(if reverse {
                regex_automata::nfa::thompson::WhichCaptures::None
            } else {
                regex_automata::nfa::thompson::WhichCaptures::All
            });
            regex_automata::nfa::thompson::Compiler::new().configure(config).build_from_hir(&hir).is_ok()
        };
        bound > MAX_COMPILED_BYTES || (limited(false) && limited(true))
    }

    #[test]
    fn the_bound_holds_for_the_embedded_patterns() {
        let ruleset = crate::ruleset::Ruleset::embedded();
        let rules = ruleset.rules().iter().flat_map(crate::ruleset::CompiledRule::all_conditions);
        let texts: Vec<_> = rules.flat_map(|conditions| &conditions.message).map(|&id| ruleset.messages().text(id)).collect();
        let wrong: Vec<_> = texts.iter().filter(|text| !is_within_its_bound(&parse(text).expect("it is in force"))).collect();
        assert!(texts.len() > 1000 && wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), texts.len());
    }

    fn pattern() -> impl Strategy<Value = String> {
        const SPECIAL: [&str; 14] = [r"\d+", r"\w{1,40}", r"\b", ".", ".{0,200}", "[a-z]", "[^a]", "[^k-zé]", r"[^\n\t]{1,80}", r"\S", r"\p{Cyrillic}", r"\pL", "[à-ÿ]", "[Ѐ-ӿ]"];
        let leaf = prop_oneof!["[a-z ]{1,9}", "[aéß超σK]{1,3}", proptest::sample::select(&SPECIAL[..]).prop_map(str::to_owned)];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 1..5).prop_map(|parts| parts.concat()),
                proptest::collection::vec(inner.clone(), 1..5).prop_map(|parts| format!("(?:{})", parts.join("|"))),
                (inner.clone(), 0_u32..3, 1_u32..9).prop_map(|(part, least, more)| format!("(?:{part}){{{least},{}}}", least + more)),
                inner.clone().prop_map(|part| format!("(?:{part})+")),
                inner.prop_map(|part| format!("(?<limit>{part})")),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_bound_holds(text in pattern()) {
            if let Some(pattern) = parse(&text) {
                prop_assert!(is_within_its_bound(&pattern), "{}", text);
            }
        }

        #[test]
        fn for_ascii_the_same_is_found(text in pattern(), searched in "[ -~\n]{0,40}|[aeks \n0-9._]{0,40}") {
            let Some(pattern) = parse(&text) else { return Ok(()) };
            let find = |regex: Result<meta::Regex, String>| {
                let regex = regex.expect("its size is bounded");
                let mut slots = vec![None; regex.group_info().slot_len()];
                (regex.search_slots(&regex_automata::Input::new(&searched), &mut slots), slots)
            };
            prop_assert_eq!(find(pattern.compile_for_ascii()), find(pattern.compile_quickly()), "{}", text);
        }
    }
}
