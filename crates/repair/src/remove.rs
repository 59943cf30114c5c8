//! Takes out flushes and fences that do nothing.

use crate::calls;
use crate::source::{ParsedSource, Place, ancestors, is_block};
use crate::wrappers::{ArgumentSlot, WrapperCallee, defined, known};
use crate::{Candidate, Edit, NoRepair, WastedCall};
use tree_sitter::Node;

pub(crate) fn candidates(
    source: &ParsedSource<'_>,
    at: Place,
    wasted: WastedCall,
) -> Result<Vec<Candidate>, NoRepair> {
    let own = defined(source);
    let callee = |call: Node<'_>| -> Option<WrapperCallee> {
        let name = calls::name(call, source.text)?;
        known(name).or_else(|| own.get(name).cloned())
    };
    let node = source.node_at(at).ok_or(NoRepair::NoSuchLine)?;
    let found = ancestors(node)
        .filter(|n| n.kind() == "call_expression")
        .find_map(|call| Some((call, callee(call)?)))
        .or_else(|| on_line(source, at, callee));
    let (call, callee) = found.ok_or(NoRepair::NoCall)?;
    let mut candidates = Vec::new();
    let mut add = |what: &str, edits: Option<Vec<Edit>>| {
        candidates.extend(edits.map(|edits| Candidate {
            what: what.to_owned(),
            edits,
        }));
    };
    add("remove it", without(source, call));
    // Half of it may be needed.
    if callee.effect.flushes && callee.effect.fences {
        let half = match wasted {
            WastedCall::Flush => counterpart(&callee.name, "fence"),
            WastedCall::Fence => counterpart(&callee.name, "flush"),
        };
        if let Some(half) = half {
            let text = match wasted {
                WastedCall::Flush => format!("{half}()"),
                WastedCall::Fence => {
                    let arguments = call.child_by_field_name("arguments");
                    format!("{half}{}", arguments.map_or("()", |a| source.of(a)))
                }
            };
            let what = format!("replace it by `{half}`");
            add(&what, Some(vec![Edit::replace(call.byte_range(), text)]));
        }
    }
    match candidates.is_empty() {
        true => Err(NoRepair::NoCall),
        false => Ok(candidates),
    }
}

fn on_line<'t>(
    source: &'t ParsedSource<'_>,
    at: Place,
    callee: impl Fn(Node<'_>) -> Option<WrapperCallee>,
) -> Option<(Node<'t>, WrapperCallee)> {
    let row = at.line.checked_sub(1)? as usize;
    let calls = crate::source::walk(source.root()).filter(|n| n.kind() == "call_expression");
    let mut found = calls
        .filter(|n| n.start_position().row == row)
        .filter_map(|n| Some((n, callee(n)?)));
    let only = found.next()?;
    found.next().is_none().then_some(only)
}

/// One half of a call that flushes and fences.
fn counterpart(name: &str, half: &str) -> Option<&'static str> {
    let slots = known(name)?.slots;
    if slots != [ArgumentSlot::Address(None), ArgumentSlot::Size] {
        return None;
    }
    match (name.starts_with("lf_"), half) {
        (true, "fence") => Some("lf_fence"),
        (true, _) => Some("lf_flush"),
        (false, "fence") => Some("pmem_drain"),
        (false, _) => Some("pmem_flush"),
    }
}

fn without(source: &ParsedSource<'_>, call: Node<'_>) -> Option<Vec<Edit>> {
    let parent = call.parent()?;
    if parent.kind() == "comma_expression" {
        // The operand goes, and one comma with it.
        let other = match parent.child_by_field_name("left") == Some(call) {
            true => call.end_byte()..parent.child_by_field_name("right")?.start_byte(),
            false => parent.child_by_field_name("left")?.end_byte()..call.start_byte(),
        };
        let range = call.start_byte().min(other.start)..call.end_byte().max(other.end);
        return Some(vec![Edit::replace(range, "")]);
    }
    if parent.kind() != "expression_statement" {
        return None;
    }
    let statement = parent;
    let holder = statement.parent()?;
    if !is_block(holder) {
        // The body of an `if` or a loop: something has to stay.
        return Some(vec![Edit::replace(statement.byte_range(), "{}")]);
    }
    let before = source.before_on_line(statement.start_byte());
    let rest = source.after_on_line(statement.end_byte()).trim_start();
    let comment =
        rest.starts_with("//") || rest.starts_with("/*") && rest.trim_end().ends_with("*/");
    if before.trim().is_empty() && (rest.is_empty() || comment) {
        return Some(vec![Edit::replace(
            source.whole_lines(statement.byte_range()),
            "",
        )]);
    }
    // Not alone on its line: the blanks before it go too.
    let blanks = before.len() - before.trim_end().len();
    let from = statement.start_byte() - blanks;
    Some(vec![Edit::replace(from..statement.end_byte(), "")])
}
