//! Where a store goes, as an expression that is still true after the store.

use crate::NoRepair;
use crate::source::{ParsedSource, ancestors, walk};
use tree_sitter::Node;

/// Memory to write back, as expressions of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct StoreTarget {
    pub(crate) address: String,
    pub(crate) size: String,
    /// At most eight bytes: one line, where they are aligned.
    pub(crate) word: bool,
}

impl StoreTarget {
    pub(crate) fn new(address: impl Into<String>, size: impl Into<String>) -> StoreTarget {
        StoreTarget {
            address: address.into(),
            size: size.into(),
            word: false,
        }
    }

    pub(crate) fn word(mut self) -> StoreTarget {
        self.word = true;
        self
    }
}

/// The target of a store to an expression; or that a pointer to it has to be taken before the store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Lasting {
    Yes(StoreTarget),
    /// Evaluating it once more would do something else.
    TakeFirst,
}

pub(crate) fn without_parentheses(node: Node<'_>) -> Node<'_> {
    match (node.kind(), node.named_child(0)) {
        ("parenthesized_expression", Some(inner)) if node.named_child_count() == 1 => {
            without_parentheses(inner)
        }
        _ => node,
    }
}

pub(crate) fn operator<'a>(node: Node<'_>, text: &'a str) -> &'a str {
    let operator = node.child_by_field_name("operator");
    operator.map_or("", |o| &text[o.byte_range()])
}

/// The target of a store to `left`, which is part of `whole`.
pub(crate) fn of_lvalue(
    source: &ParsedSource<'_>,
    left: Node<'_>,
    whole: Node<'_>,
    bytes: u64,
) -> Result<Lasting, NoRepair> {
    let left = without_parentheses(left);
    let Some(text) = lasting_text(source, left, whole) else {
        return Ok(Lasting::TakeFirst);
    };
    if let Some(target) = around_bit_field(source, left) {
        return Ok(Lasting::Yes(target));
    }
    let (mut address, size) = match left.kind() {
        "pointer_expression" if operator(left, source.text) == "*" => {
            let pointer = left
                .child_by_field_name("argument")
                .ok_or_else(|| NoRepair::NoAddress("it is incomplete".to_owned()))?;
            let pointer = without_parentheses(pointer);
            let address = lasting_text(source, pointer, whole)
                .unwrap_or_else(|| source.of(pointer).to_owned());
            let plain = match pointer.kind() {
                "update_expression" => pointer.child_by_field_name("argument").unwrap_or(pointer),
                _ => pointer,
            };
            let star = match plain.kind() {
                "identifier"
                | "field_expression"
                | "subscript_expression"
                | "call_expression"
                | "pointer_expression" => {
                    format!("*{}", source.of(plain))
                }
                "this" => "*this".to_owned(),
                _ => format!("*({})", source.of(plain)),
            };
            (address, source.sizeof(&star))
        }
        "identifier" | "field_expression" | "subscript_expression" | "qualified_identifier" => {
            (format!("&{text}"), source.sizeof(&text))
        }
        // `first ? a : b` and casts to references are lvalues in C++ only.
        _ => (format!("&({text})"), source.sizeof(&text)),
    };
    if is_volatile(source, left) {
        address = format!("(const void *){}", as_operand(&address));
    }
    let mut target = StoreTarget::new(address, size);
    target.word = (1..=8).contains(&bytes);
    Ok(Lasting::Yes(target))
}

fn as_operand(address: &str) -> String {
    match address.contains(' ') {
        true => format!("({address})"),
        false => address.to_owned(),
    }
}

/// The expression as it has to be written after `whole` was evaluated. None if that cannot be said.
pub(crate) fn lasting_text(
    source: &ParsedSource<'_>,
    left: Node<'_>,
    whole: Node<'_>,
) -> Option<String> {
    let mut edits = Vec::new();
    let mut inside = Vec::new();
    for node in walk(left) {
        match node.kind() {
            "update_expression" => {
                let argument = node.child_by_field_name("argument")?;
                let postfix = node.child(0) == Some(argument);
                let undo = match operator(node, source.text) {
                    "++" => "-",
                    _ => "+",
                };
                let text = match postfix {
                    true => format!("{} {undo} 1", source.of(argument)),
                    false => source.of(argument).to_owned(),
                };
                let alone = node == left
                    || node
                        .parent()
                        .is_some_and(|p| p.kind().starts_with("subscript"));
                let text = match alone || !postfix {
                    true => text,
                    false => format!("({text})"),
                };
                edits.push(crate::Edit::replace(node.byte_range(), text));
                inside.push(node);
            }
            "assignment_expression"
            | "call_expression"
            | "new_expression"
            | "comma_expression"
            | "lambda_expression" => {
                return None;
            }
            _ => {}
        }
    }
    // `i` may be stored to elsewhere in the same statement.
    let names: Vec<&str> = walk(left)
        .filter(|n| matches!(n.kind(), "identifier" | "field_identifier"))
        .map(|n| source.of(n))
        .collect();
    let full = full_expression(whole);
    for node in walk(full) {
        let stored = match node.kind() {
            "assignment_expression" => node.child_by_field_name("left"),
            "update_expression" if !inside.contains(&node) => node.child_by_field_name("argument"),
            _ => None,
        };
        let Some(stored) = stored.map(without_parentheses) else {
            continue;
        };
        let same = stored.start_byte() >= left.start_byte() && stored.end_byte() <= left.end_byte();
        let name = match stored.kind() {
            "identifier" => Some(stored),
            "field_expression" => stored.child_by_field_name("field"),
            _ => None,
        };
        if !same && name.is_some_and(|n| names.contains(&source.of(n))) {
            return None;
        }
    }
    let offset = left.start_byte();
    for edit in &mut edits {
        edit.range = edit.range.start - offset..edit.range.end - offset;
    }
    crate::apply(source.of(left), &edits)
}

/// The whole expression that a node is part of.
fn full_expression(node: Node<'_>) -> Node<'_> {
    let part = |n: &Node<'_>| {
        n.kind().ends_with("_expression")
            || matches!(
                n.kind(),
                "argument_list" | "initializer_list" | "init_declarator" | "declaration"
            )
    };
    crate::source::ancestors(node)
        .take_while(part)
        .last()
        .unwrap_or(node)
}

/// Bit-fields have no address: what they are part of has.
fn around_bit_field(source: &ParsedSource<'_>, left: Node<'_>) -> Option<StoreTarget> {
    let name = match left.kind() {
        "field_expression" => left.child_by_field_name("field")?,
        "identifier" if source.is_cxx() => left,
        _ => return None,
    };
    let (declaration, text) = source.member(source.of(name))?;
    let mut children = walk(declaration);
    let field = children.any(|n| {
        n.kind() == "bitfield_clause"
            && n.prev_named_sibling()
                .is_some_and(|name_node| &text[name_node.byte_range()] == source.of(name))
    });
    if !field {
        return None;
    }
    if left.kind() == "identifier" {
        return Some(StoreTarget::new("this", source.sizeof("*this")));
    }
    let base = without_parentheses(left.child_by_field_name("argument")?);
    let text = source.of(base);
    Some(match operator(left, source.text) {
        "->" => StoreTarget::new(text, source.sizeof(&format!("*{text}"))),
        _ => StoreTarget::new(format!("&{text}"), source.sizeof(text)),
    })
}

/// Declared volatile, as far as this file says.
fn is_volatile(source: &ParsedSource<'_>, left: Node<'_>) -> bool {
    let name = match left.kind() {
        "field_expression" => left.child_by_field_name("field"),
        "pointer_expression" => left
            .child_by_field_name("argument")
            .map(without_parentheses),
        "subscript_expression" => {
            return left
                .child_by_field_name("argument")
                .is_some_and(|array| is_volatile(source, without_parentheses(array)));
        }
        "identifier" => Some(left),
        _ => None,
    };
    let Some(name) = name.filter(|n| matches!(n.kind(), "identifier" | "field_identifier")) else {
        return false;
    };
    let name = source.of(name);
    let declares = |node: &Node<'_>| {
        matches!(
            node.kind(),
            "declaration" | "parameter_declaration" | "field_declaration"
        )
    };
    let is_named = |node: Node<'_>, text: &str| {
        let name_of = |n: &Node<'_>| matches!(n.kind(), "identifier" | "field_identifier");
        walk(node).any(|n| name_of(&n) && &text[n.byte_range()] == name)
    };
    // From the word to what it stands in: there are few of them.
    source.everything().any(|(root, text)| {
        let words = text.match_indices(VOLATILE).filter_map(|(from, word)| {
            let node = root.descendant_for_byte_range(from, from + word.len())?;
            let qualifier = ancestors(node).find(|n| n.kind() == "type_qualifier")?;
            (&text[qualifier.byte_range()] == VOLATILE).then_some(qualifier)
        });
        words.into_iter().any(|word| {
            let mut around = ancestors(word).filter(declares);
            around.any(|node| is_named(node, text))
        })
    })
}

const VOLATILE: &str = "volatile";
