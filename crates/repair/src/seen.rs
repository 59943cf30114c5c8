//! A thread has read what another one may not have flushed yet: it flushes that itself, before it builds on it.

use crate::address::{Lasting, StoreTarget, of_lvalue};
use crate::calls;
use crate::idiom::{FlushNeed, Idiom};
use crate::site::InsertionSite;
use crate::source::{ParsedSource, Place, ancestors};
use crate::{Candidate, NoRepair};
use tree_sitter::Node;

pub(crate) fn candidates(
    source: &ParsedSource<'_>,
    read: Place,
    bytes: u64,
    template: Option<&str>,
) -> Result<Vec<Candidate>, NoRepair> {
    if !source.has_line(read) {
        return Err(NoRepair::NoSuchLine);
    }
    let node = source.node_at(read).ok_or(NoRepair::NoSuchLine)?;
    let statement = source.statement_of(node).ok_or(NoRepair::NoRead)?;
    let target = target(source, node, statement, bytes)?;
    let mut candidates = Vec::new();
    for idiom in Idiom::ranked(source, node, template)? {
        if !idiom.fits(&target) {
            continue;
        }
        let code = idiom.code(source, &target, FlushNeed::Both);
        let mut add = |what: &str, site: Option<InsertionSite<'_>>| {
            let edits = site.and_then(|site| site.insert(source, &code));
            candidates.extend(edits.map(|edits| Candidate {
                what: format!("flush and fence {what}"),
                edits,
            }));
        };
        match statement.kind() {
            "expression_statement" | "declaration" => {
                add("what was read", InsertionSite::behind(source, statement));
            }
            // It is part of a condition: what follows from it is inside, or behind.
            "if_statement" | "while_statement" | "for_statement" => {
                let inside = match statement.kind() {
                    "if_statement" => statement.child_by_field_name("consequence"),
                    _ => statement.child_by_field_name("body"),
                };
                let inside = inside.filter(|body| body.kind() == "compound_statement");
                add(
                    "what the condition has read",
                    InsertionSite::behind(source, statement),
                );
                add(
                    "what the condition has read, where it holds",
                    inside.map(InsertionSite::first),
                );
            }
            _ => {}
        }
    }
    match candidates.is_empty() {
        true => Err(NoRepair::NoRoom),
        false => Ok(candidates),
    }
}

/// What is read there.
fn target(
    source: &ParsedSource<'_>,
    node: Node<'_>,
    statement: Node<'_>,
    bytes: u64,
) -> Result<StoreTarget, NoRepair> {
    let mut plain = None;
    for candidate in ancestors(node).take_while(|&n| n != statement) {
        match candidate.kind() {
            "call_expression" => match calls::reading(source, candidate) {
                Some(target) => return Ok(target),
                None if plain.is_none() => return Err(NoRepair::NoRead),
                None => break,
            },
            "field_expression" | "subscript_expression" | "pointer_expression" => {
                plain = Some(candidate);
            }
            _ => {}
        }
    }
    let plain = plain.ok_or(NoRepair::NoRead)?;
    match of_lvalue(source, plain, statement, bytes)? {
        Lasting::Yes(target) => Ok(target),
        Lasting::TakeFirst => Err(NoRepair::NoRead),
    }
}
