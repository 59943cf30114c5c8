//! Makes a store one that the compiler may not tear: by the type of what is stored to, or in the store itself.

use crate::address::without_parentheses;
use crate::source::{ParsedSource, Place, walk};
use crate::store::{self, FoundStore, StoreShape};
use crate::{Candidate, Edit, NoRepair};
use tree_sitter::Node;

pub(crate) fn candidates(source: &ParsedSource<'_>, at: Place) -> Result<Vec<Candidate>, NoRepair> {
    let store = store::find(source, at, 0)?;
    let left = match store.shape {
        StoreShape::Lvalue { left } => without_parentheses(left),
        StoreShape::Once { .. } => {
            return Err(NoRepair::NotAtomic(
                "its left side has side effects".to_owned(),
            ));
        }
        _ => return Err(NoRepair::NotAtomic("it is no assignment".to_owned())),
    };
    let mut candidates = Vec::new();
    let mut missing = None;
    match by_type(source, &store, left) {
        Ok(edits) => candidates.push(Candidate {
            what: "make it atomic, with a release store".to_owned(),
            edits,
        }),
        Err(refusal) => missing = Some(refusal),
    }
    if let Some(edits) = by_builtin(source, &store) {
        candidates.push(Candidate {
            what: "an atomic store to what stays a plain object".to_owned(),
            edits,
        });
    }
    match (candidates.is_empty(), missing) {
        (true, Some(refusal)) => Err(refusal),
        (true, None) => Err(NoRepair::NotAtomic("it is no plain assignment".to_owned())),
        (false, _) => Ok(candidates),
    }
}

/// The right side of `left = right` or the one of `left += right`, with the operator.
fn sides<'t>(
    source: &ParsedSource<'_>,
    store: &FoundStore<'t>,
) -> Option<(&'static str, Option<Node<'t>>)> {
    match store.node.kind() {
        "assignment_expression" => {
            let right = store.node.child_by_field_name("right");
            let operator = store
                .node
                .child_by_field_name("operator")
                .map(|o| source.of(o));
            Some(match operator {
                Some("=") => ("=", right),
                Some("+=") => ("add", right),
                Some("-=") => ("sub", right),
                Some("|=") => ("or", right),
                Some("&=") => ("and", right),
                Some("^=") => ("xor", right),
                _ => return None,
            })
        }
        "update_expression" => Some(match source.of(store.node).contains("++") {
            true => ("add", None),
            false => ("sub", None),
        }),
        _ => None,
    }
}

/// `__atomic_store_n(&x, v, __ATOMIC_RELEASE)`: understood by gcc and clang, in C and C++, whatever the type says.
fn by_builtin(source: &ParsedSource<'_>, store: &FoundStore<'_>) -> Option<Vec<Edit>> {
    let (operator, right) = sides(source, store)?;
    let statement = store.node.parent()?;
    if statement.kind() != "expression_statement" {
        return None;
    }
    let address = &store.target.address;
    let value = right.map_or("1", |r| source.of(r));
    let text = match operator {
        "=" => format!("__atomic_store_n({address}, {value}, __ATOMIC_RELEASE)"),
        operation => format!("__atomic_fetch_{operation}({address}, {value}, __ATOMIC_RELEASE)"),
    };
    Some(vec![Edit::replace(store.node.byte_range(), text)])
}

fn by_type(
    source: &ParsedSource<'_>,
    store: &FoundStore<'_>,
    left: Node<'_>,
) -> Result<Vec<Edit>, NoRepair> {
    let name = stored_name(source, left)
        .ok_or_else(|| NoRepair::NoDeclaration(source.of(left).to_owned()))?;
    let declaration =
        declaration(source, name).ok_or_else(|| NoRepair::NoDeclaration(name.to_owned()))?;
    let mut edits = new_type(source, declaration)?;
    if let Some(edit) = release_store(source, store, left) {
        edits.push(edit);
    }
    let header = match source.is_cxx() {
        true => "atomic",
        false => "stdatomic.h",
    };
    edits.extend(include(source, header));
    Ok(edits)
}

/// `x` of `p->x`, `x` and `x[i]`.
fn stored_name<'a>(source: &ParsedSource<'a>, left: Node<'_>) -> Option<&'a str> {
    match left.kind() {
        "identifier" => Some(source.of(left)),
        "field_expression" => left.child_by_field_name("field").map(|f| source.of(f)),
        "subscript_expression" => stored_name(
            source,
            without_parentheses(left.child_by_field_name("argument")?),
        ),
        _ => None,
    }
}

/// The member, or the global variable, of this name in this file.
fn declaration<'s>(source: &'s ParsedSource<'_>, name: &str) -> Option<Node<'s>> {
    let declares = |n: &Node<'_>| {
        let member = n.kind() == "field_declaration";
        let global =
            n.kind() == "declaration" && n.parent().is_some_and(|p| p.kind() == "translation_unit");
        (member || global)
            && walk(*n).any(|d| {
                matches!(d.kind(), "field_identifier" | "identifier") && source.of(d) == name
            })
    };
    walk(source.root()).find(declares)
}

fn new_type(source: &ParsedSource<'_>, declaration: Node<'_>) -> Result<Vec<Edit>, NoRepair> {
    let no = |why: &str| NoRepair::NotAtomic(why.to_owned());
    let of = declaration
        .child_by_field_name("type")
        .ok_or_else(|| no("its type is not understood"))?;
    if source.of(declaration).contains("atomic") || source.of(declaration).contains("_Atomic") {
        return Err(no("it is atomic already"));
    }
    let bit_field = walk(declaration).any(|n| n.kind() == "bitfield_clause");
    if bit_field
        || !matches!(
            of.kind(),
            "primitive_type" | "type_identifier" | "sized_type_specifier" | "qualified_identifier"
        ) && !has_pointer(declaration)
    {
        return Err(no("its type is no number or pointer"));
    }
    let pointer = walk(declaration).find(|n| matches!(n.kind(), "pointer_declarator"));
    match (source.is_cxx(), pointer) {
        (false, None) => Ok(vec![Edit::insert(of.start_byte(), "_Atomic ")]),
        (false, Some(star)) => {
            // The pointer is to be atomic, not what it points to.
            let inner = star
                .child_by_field_name("declarator")
                .filter(|d| matches!(d.kind(), "field_identifier" | "identifier"))
                .ok_or_else(|| no("its declaration is not understood"))?;
            Ok(vec![Edit::insert(inner.start_byte(), "_Atomic ")])
        }
        (true, None) => Ok(vec![Edit::replace(
            of.byte_range(),
            format!("std::atomic<{}>", source.of(of)),
        )]),
        (true, Some(star)) => {
            let inner = star
                .child_by_field_name("declarator")
                .filter(|d| matches!(d.kind(), "field_identifier" | "identifier"))
                .ok_or_else(|| no("its declaration is not understood"))?;
            let several = walk(declaration)
                .filter(|n| n.kind() == "field_identifier")
                .count()
                > 1;
            if several {
                return Err(no("it is declared together with others"));
            }
            let text = format!("std::atomic<{} *> ", source.of(of));
            Ok(vec![Edit::replace(
                of.start_byte()..inner.start_byte(),
                text,
            )])
        }
    }
}

fn has_pointer(declaration: Node<'_>) -> bool {
    walk(declaration).any(|n| n.kind() == "pointer_declarator")
}

/// A plain `=` to an atomic is sequentially consistent, which is more than is needed: an exchange. A release store is a plain
/// store of the processor's.
fn release_store(
    source: &ParsedSource<'_>,
    store: &FoundStore<'_>,
    left: Node<'_>,
) -> Option<Edit> {
    let ("=", Some(right)) = sides(source, store)? else {
        return None;
    };
    if store.node.parent()?.kind() != "expression_statement" {
        return None;
    }
    let (left, right) = (source.of(left), source.of(right));
    let text = match source.is_cxx() {
        true => format!("{left}.store({right}, std::memory_order_release)"),
        false => format!("atomic_store_explicit(&{left}, {right}, memory_order_release)"),
    };
    Some(Edit::replace(store.node.byte_range(), text))
}

/// An include, in its place in the alphabet if the others keep to it, else after the last one.
fn include(source: &ParsedSource<'_>, header: &str) -> Option<Edit> {
    if source.includes(header) {
        return None;
    }
    let line = format!("#include <{header}>{}", source.eol);
    let includes: Vec<Node<'_>> = walk(source.root())
        .filter(|n| {
            n.kind() == "preproc_include"
                && n.parent().is_some_and(|p| p.kind() == "translation_unit")
        })
        .collect();
    let path = |n: &Node<'_>| n.child_by_field_name("path").map_or("", |p| source.of(p));
    let next = includes
        .iter()
        .find(|n| path(n).starts_with('<') && path(n) > format!("<{header}>").as_str());
    let sorted = includes.iter().map(path).is_sorted();
    let at = match (next, includes.last()) {
        (Some(next), _) if sorted => next.start_byte(),
        (_, Some(last)) => source.whole_lines(last.start_byte()..last.start_byte()).end,
        (_, None) => 0,
    };
    Some(Edit::insert(at, line))
}
