//! Moves steps of a block: a store with what makes it durable, behind the steps that follow it.

use crate::calls;
use crate::source::{ParsedSource, Place, ancestors, is_block, is_statement};
use crate::wrappers::{WrapperCallee, WrapperEffect, defined, known};
use crate::{Candidate, Edit, NoRepair};
use std::collections::HashMap;
use std::ops::Range;
use tree_sitter::Node;

/// Steps that are passed at most: further ones are another matter.
const FARTHEST: usize = 6;

/// Ways to change the order around the store at a place, the smallest first.
pub(crate) fn candidates(source: &ParsedSource<'_>, at: Place) -> Result<Vec<Candidate>, NoRepair> {
    let node = source.node_at(at).ok_or(NoRepair::NoSuchLine)?;
    let in_block = |n: &Node<'_>| is_statement(*n) && n.parent().is_some_and(is_block);
    let statement = ancestors(node).find(in_block).ok_or(NoRepair::NoOrder)?;
    let steps = steps(source, statement);
    let Some((step, later)) = steps.split_first() else {
        return Err(NoRepair::NoOrder);
    };
    let text = |range: &Range<usize>| source.text[range.clone()].to_owned();
    let mut candidates = Vec::new();
    for (passed, behind) in later.iter().enumerate().take(FARTHEST) {
        candidates.push(Candidate {
            what: match passed {
                0 => "store it after the step that follows".to_owned(),
                n => format!("store it after the {} steps that follow", n + 1),
            },
            edits: vec![
                Edit::replace(step.clone(), ""),
                Edit::insert(behind.end, text(step)),
            ],
        });
    }
    for earlier in later.iter().skip(1).take(FARTHEST) {
        let line = source.text[..earlier.start].matches('\n').count() + 1;
        candidates.push(Candidate {
            what: format!("do what is at line {line} before it"),
            edits: vec![
                Edit::insert(step.start, text(earlier)),
                Edit::replace(earlier.clone(), ""),
            ],
        });
    }
    match candidates.is_empty() {
        true => Err(NoRepair::NoOrder),
        false => Ok(candidates),
    }
}

/// From a statement on, the block in steps: whole lines, each up to the fence that makes it durable.
fn steps(source: &ParsedSource<'_>, first: Node<'_>) -> Vec<Range<usize>> {
    let own = defined(source);
    let mut steps: Vec<Range<usize>> = Vec::new();
    let mut open: Option<Range<usize>> = None;
    let mut next = Some(first);
    while let Some(statement) = next {
        next = after(statement);
        let leaves = matches!(
            statement.kind(),
            "return_statement" | "goto_statement" | "break_statement" | "continue_statement"
        );
        let lines = own_lines(source, statement);
        let Some(lines) = lines.filter(|_| !leaves && is_statement(statement)) else {
            break;
        };
        open.get_or_insert(lines.clone()).end = lines.end;
        let fenced = effect(source, &own, statement).is_some_and(|effect| effect.fences);
        // What is flushed besides belongs to the same step.
        let more = next.is_some_and(|next| effect(source, &own, next).is_some());
        if fenced && !more {
            steps.extend(open.take());
        }
    }
    steps.extend(open);
    steps
}

fn after(statement: Node<'_>) -> Option<Node<'_>> {
    let mut next = statement.next_named_sibling();
    while let Some(comment) = next.filter(|n| n.kind() == "comment") {
        next = comment.next_named_sibling();
    }
    next
}

/// What a statement does that is a call of something that flushes or fences.
fn effect(
    source: &ParsedSource<'_>,
    own: &HashMap<String, WrapperCallee>,
    statement: Node<'_>,
) -> Option<WrapperEffect> {
    let alone = statement.kind() == "expression_statement";
    let call = statement.named_child(0).filter(|_| alone)?;
    let name = calls::name(call, source.text).filter(|_| call.kind() == "call_expression")?;
    let effect = known(name).or_else(|| own.get(name).cloned())?.effect;
    (effect.flushes || effect.fences).then_some(effect)
}

/// The lines of a statement, if it shares them with no other.
fn own_lines(source: &ParsedSource<'_>, statement: Node<'_>) -> Option<Range<usize>> {
    let before = source.before_on_line(statement.start_byte());
    let end = crate::site::end_with_comments(source, statement);
    let alone = before.trim().is_empty() && source.after_on_line(end).trim().is_empty();
    alone.then(|| source.whole_lines(statement.start_byte()..end))
}
