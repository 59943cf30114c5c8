//! Stores in loops: one flush behind the loop does for all of them, where the loop says what it covers.

use crate::address::{StoreTarget, operator, without_parentheses};
use crate::site::InsertionSite;
use crate::source::{ParsedSource, ancestors, walk};
use crate::store::{FoundStore, StoreShape};
use tree_sitter::Node;

/// Places behind the loops around a store, innermost first, with all that the loop stores.
pub(crate) fn after_loops<'t>(
    source: &ParsedSource<'_>,
    store: &FoundStore<'t>,
) -> Vec<(InsertionSite<'t>, StoreTarget)> {
    if store.streamed {
        let site = source
            .statement_of(store.node)
            .and_then(|s| around(source, s));
        return site
            .map(|site| (site, store.target.clone()))
            .into_iter()
            .collect();
    }
    covered(source, store).into_iter().collect()
}

fn covered<'t>(
    source: &ParsedSource<'_>,
    store: &FoundStore<'t>,
) -> Option<(InsertionSite<'t>, StoreTarget)> {
    let StoreShape::Lvalue { left } = store.shape else {
        return None;
    };
    let left = without_parentheses(left);
    if left.kind() != "subscript_expression" {
        return None;
    }
    let counter = enclosing_loop(store.node).filter(|l| l.kind() == "for_statement")?;
    let array = left.child_by_field_name("argument")?;
    let index = left.child_by_field_name("index").or_else(|| {
        left.child_by_field_name("indices")
            .and_then(|i| i.named_child(0))
    })?;
    if index.kind() != "identifier" || !counts(source, counter, source.of(index)) {
        return None;
    }
    let constant = |node: Node<'_>| {
        walk(node).all(|n| n.kind() != "call_expression" && source.of(n) != source.of(index))
    };
    if !constant(array) {
        return None;
    }
    let base = source.of(array);
    let target = match is_array(source, array) {
        true => StoreTarget::new(base, source.sizeof(base)),
        false => {
            let bound = upper_bound(source, counter, source.of(index)).filter(|&b| constant(b))?;
            let bound = match bound.kind() {
                "binary_expression" | "conditional_expression" => format!("({})", source.of(bound)),
                _ => source.of(bound).to_owned(),
            };
            StoreTarget::new(
                base,
                format!("{bound} * {}", source.sizeof(&format!("*{base}"))),
            )
        }
    };
    Some((InsertionSite::behind(source, counter)?, target))
}

/// Behind the innermost loop around a statement.
pub(crate) fn around<'t>(
    source: &ParsedSource<'_>,
    statement: Node<'t>,
) -> Option<InsertionSite<'t>> {
    InsertionSite::behind(source, enclosing_loop(statement)?)
}

fn enclosing_loop(node: Node<'_>) -> Option<Node<'_>> {
    ancestors(node)
        .take_while(|n| !matches!(n.kind(), "function_definition" | "lambda_expression"))
        .find(|n| {
            matches!(
                n.kind(),
                "for_statement" | "for_range_loop" | "while_statement" | "do_statement"
            )
        })
}

/// The head of the loop changes the variable by one at a time.
fn counts(source: &ParsedSource<'_>, counter: Node<'_>, name: &str) -> bool {
    let Some(update) = counter.child_by_field_name("update") else {
        return false;
    };
    let step = match update.kind() {
        "update_expression" => update.child_by_field_name("argument"),
        _ => None,
    };
    step.is_some_and(|n| source.of(n) == name)
}

/// `n` of `for (i = 0; i < n; i++)`.
fn upper_bound<'t>(source: &ParsedSource<'_>, counter: Node<'t>, name: &str) -> Option<Node<'t>> {
    let start = counter.child_by_field_name("initializer")?;
    let zero = walk(start).any(|n| match n.kind() {
        "init_declarator" => n
            .child_by_field_name("value")
            .is_some_and(|v| source.of(v) == "0"),
        "assignment_expression" => n
            .child_by_field_name("right")
            .is_some_and(|v| source.of(v) == "0"),
        _ => false,
    });
    let condition = without_parentheses(counter.child_by_field_name("condition")?);
    let compared =
        condition.kind() == "binary_expression" && operator(condition, source.text) == "<";
    let left = condition.child_by_field_name("left")?;
    (zero && compared && source.of(left) == name).then(|| condition.child_by_field_name("right"))?
}

/// Declared with `[…]`, as far as this file and its headers say.
fn is_array(source: &ParsedSource<'_>, array: Node<'_>) -> bool {
    let name = match array.kind() {
        "field_expression" => array.child_by_field_name("field"),
        "identifier" => Some(array),
        _ => None,
    };
    let Some(name) = name.map(|n| source.of(n)) else {
        return false;
    };
    source.everything().any(|(root, text)| {
        walk(root).any(|n| {
            let fitting = n.kind() == "array_declarator"
                && n.child_by_field_name("declarator")
                    .is_some_and(|d| &text[d.byte_range()] == name);
            // A parameter with brackets is a pointer.
            fitting && ancestors(n).all(|a| a.kind() != "parameter_declaration")
        })
    })
}
