//! `\d`, `\w`, `\s` and `\b` in their ASCII meaning: what they stand for in error texts is ASCII, and the Unicode tables make the automaton many times larger (and `\b` falls off the fast
//! path on Chinese text).

use regex_syntax::ast::{
    Assertion, AssertionKind, Ast, ClassBracketed, ClassPerl, ClassPerlKind, ClassSet, ClassSetItem, ClassSetRange, ClassSetUnion, Flag, Flags, FlagsItem, FlagsItemKind, Group,
    GroupKind, Literal, LiteralKind, Span,
};

/// Rewrites the syntax tree; places in the text stay. The depth is bounded by the parser's nest limit.
pub(super) fn to_ascii(ast: &mut Ast) {
    match ast {
        Ast::ClassPerl(class) => *ast = Ast::class_bracketed(bracketed(class)),
        Ast::Assertion(assertion) if assertion.kind == AssertionKind::WordBoundary => *ast = without_unicode(assertion),
        Ast::ClassBracketed(class) => set_to_ascii(&mut class.kind),
        Ast::Repetition(repetition) => to_ascii(&mut repetition.ast),
        Ast::Group(group) => to_ascii(&mut group.ast),
        Ast::Alternation(alternation) => alternation.asts.iter_mut().for_each(to_ascii),
        Ast::Concat(concat) => concat.asts.iter_mut().for_each(to_ascii),
        Ast::Empty(_) | Ast::Flags(_) | Ast::Literal(_) | Ast::Dot(_) | Ast::Assertion(_) | Ast::ClassUnicode(_) => {}
    }
}

fn set_to_ascii(set: &mut ClassSet) {
    match set {
        ClassSet::Item(item) => item_to_ascii(item),
        ClassSet::BinaryOp(operation) => {
            set_to_ascii(&mut operation.lhs);
            set_to_ascii(&mut operation.rhs);
        }
    }
}

fn item_to_ascii(item: &mut ClassSetItem) {
    match item {
        ClassSetItem::Perl(class) => *item = ClassSetItem::Bracketed(Box::new(bracketed(class))),
        ClassSetItem::Bracketed(class) => set_to_ascii(&mut class.kind),
        ClassSetItem::Union(union) => union.items.iter_mut().for_each(item_to_ascii),
        ClassSetItem::Empty(_) | ClassSetItem::Literal(_) | ClassSetItem::Range(_) | ClassSetItem::Ascii(_) | ClassSetItem::Unicode(_) => {}
    }
}

/// `[0-9]` for `\d`, and so on.
fn bracketed(class: &ClassPerl) -> ClassBracketed {
    let ranges: &[(char, char)] = match class.kind {
        ClassPerlKind::Digit => &[('0', '9')],
        ClassPerlKind::Space => &[(' ', ' '), ('\t', '\t'), ('\r', '\r'), ('\n', '\n')],
        ClassPerlKind::Word => &[('0', '9'), ('A', 'Z'), ('a', 'z'), ('_', '_')],
    };
    let span = class.span;
    let literal = |c| Literal { span, kind: LiteralKind::Verbatim, c };
    let items = ranges.iter().map(|&(start, end)| ClassSetItem::Range(ClassSetRange { span, start: literal(start), end: literal(end) })).collect();
    ClassBracketed { span, negated: class.negated, kind: ClassSet::union(ClassSetUnion { span, items }) }
}

/// `(?-u:\b)` for `\b`.
fn without_unicode(boundary: &Assertion) -> Ast {
    let span: Span = boundary.span;
    let item = |kind| FlagsItem { span, kind };
    let flags = Flags { span, items: vec![item(FlagsItemKind::Negation), item(FlagsItemKind::Flag(Flag::Unicode))] };
    Ast::group(Group { span, kind: GroupKind::NonCapturing(flags), ast: Box::new(Ast::assertion(boundary.clone())) })
}

#[cfg(test)]
mod tests {
    use regex_syntax::ast::parse::Parser;
    use regex_syntax::hir::translate::Translator;

    use super::to_ascii;

    #[test]
    fn patterns_mean_what_they_would_in_brackets() {
        for (written, meant) in [
            (r"\d+", "[0-9]+"),
            (r"(\D|\w)*\W?", "([^0-9]|[0-9A-Za-z_])*[^0-9A-Za-z_]?"),
            (r"\bno\b", r"(?-u:\b)no(?-u:\b)"),
            (r"[\s.]|[^\d\W]", r"[ \t\r\n.]|[^0-9[^0-9A-Za-z_]]"),
            (r"[\w&&[^\d]]\S", r"[[0-9A-Za-z_]&&[^0-9]][^ \t\r\n]"),
            (r"é\pL(?<limit>a.\d)", r"é\pL(?<limit>a.[0-9])"),
        ] {
            let read = |text: &str| Parser::new().parse(text).unwrap();
            let translate = |text: &str, ast| Translator::new().translate(text, ast).unwrap();
            let mut ast = read(written);
            to_ascii(&mut ast);
            assert_eq!(translate(written, &ast), translate(meant, &read(meant)), "{written}");
        }
    }
}
