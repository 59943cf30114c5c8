//! Opens a lock when the program starts: what the one who held it cannot do any more after a power failure.

use crate::address::without_parentheses;
use crate::idiom::Code;
use crate::site::InsertionSite;
use crate::source::{ParsedSource, Place, ancestors, is_block, walk};
use crate::{Candidate, NoRepair};
use tree_sitter::Node;

/// `stack`: where the program waits, and the calls that led there, innermost first; all of this file.
pub(crate) fn candidates(
    source: &ParsedSource<'_>,
    stack: &[Place],
) -> Result<Vec<Candidate>, NoRepair> {
    let (waits, calls) = stack.split_first().ok_or(NoRepair::NoLock)?;
    let node = source.node_at(*waits).ok_or(NoRepair::NoSuchLine)?;
    let word = waited_for(source, node).ok_or(NoRepair::NoLock)?;
    let mut word = source.of(word).to_owned();
    let mut function = source.function_of(node).ok_or(NoRepair::NoLock)?;
    let mut calls = calls.iter();
    loop {
        let base = base_of(&word).to_owned();
        if let Some(declaration) = declaration(source, function, &base) {
            // It is of this function: from here on it can be named.
            let site = InsertionSite::behind(source, declaration).ok_or(NoRepair::NoRoom)?;
            let ways = [
                format!("{word} = 0;"),
                format!("__atomic_store_n(&{word}, 0, __ATOMIC_RELEASE);"),
            ];
            let candidates = ways.into_iter().filter_map(|way| {
                Some(Candidate {
                    what: format!("reset `{word}` when the program starts"),
                    edits: site.insert(source, &Code::statement(way))?,
                })
            });
            return Ok(candidates.collect());
        }
        // Where is it called from, and what is the name out there?
        let (call, caller) = loop {
            let at = calls.next().ok_or(NoRepair::NoLock)?;
            let node = source.node_at(*at).ok_or(NoRepair::NoSuchLine)?;
            let caller = source.function_of(node);
            let call = ancestors(node).find(|n| n.kind() == "call_expression");
            if let (Some(call), Some(caller)) = (call, caller.filter(|f| *f != function)) {
                break (call, caller);
            }
        };
        word = renamed(source, &word, &base, function, call).ok_or(NoRepair::NoLock)?;
        function = caller;
    }
}

/// What the loop looks at: `held` of `held.exchange(1)`, `l->held` of `atomic_exchange(&l->held, 1)`, `c->held` of `while (c->held)`.
fn waited_for<'t>(source: &ParsedSource<'_>, node: Node<'t>) -> Option<Node<'t>> {
    let is_loop = |n: &Node<'_>| {
        matches!(
            n.kind(),
            "while_statement" | "do_statement" | "for_statement"
        )
    };
    let condition = ancestors(node)
        .find(is_loop)
        .and_then(|n| n.child_by_field_name("condition"));
    let calls = ancestors(node).chain(condition.into_iter().flat_map(walk));
    let mut calls = calls.filter(|n| n.kind() == "call_expression");
    if let Some(word) = calls.find_map(|call| tried(source, call)) {
        return Some(word);
    }
    let word = |n: &Node<'_>| matches!(n.kind(), "field_expression" | "subscript_expression");
    walk(condition?).find(word)
}

/// The word that an atomic operation is about.
fn tried<'t>(source: &ParsedSource<'_>, call: Node<'t>) -> Option<Node<'t>> {
    let function = call.child_by_field_name("function")?;
    let method = function.child_by_field_name("field");
    let name = source.of(method.unwrap_or(function));
    let operations = ["exchange", "test_and_set", "load"];
    if !operations.iter().any(|operation| name.contains(operation)) {
        return None;
    }
    if method.is_some() {
        return function.child_by_field_name("argument");
    }
    let first = call.child_by_field_name("arguments")?.named_child(0)?;
    let first = without_parentheses(first);
    let taken = first.kind() == "pointer_expression";
    first.child_by_field_name("argument").filter(|_| taken)
}

/// The name a path of members begins with.
fn base_of(word: &str) -> &str {
    let word = word.trim_start_matches(['(', '*', '&']);
    let end = word.find(|c: char| !c.is_alphanumeric() && c != '_');
    &word[..end.unwrap_or(word.len())]
}

/// The statement of a function that declares a variable of this name.
fn declaration<'t>(source: &ParsedSource<'_>, function: Node<'t>, name: &str) -> Option<Node<'t>> {
    let body = function.child_by_field_name("body")?;
    walk(body).find(|n| {
        n.kind() == "declaration"
            && n.parent().is_some_and(is_block)
            && walk(*n)
                .filter(|d| d.kind() == "init_declarator")
                .filter_map(|d| d.child_by_field_name("declarator"))
                .any(|d| {
                    walk(d)
                        .find(|i| i.kind() == "identifier")
                        .is_some_and(|i| source.of(i) == name)
                })
    })
}

/// What the caller calls it: by the argument it hands over, or by the object whose method it calls.
fn renamed(
    source: &ParsedSource<'_>,
    word: &str,
    base: &str,
    function: Node<'_>,
    call: Node<'_>,
) -> Option<String> {
    let parameters = walk(function.child_by_field_name("declarator")?)
        .find(|n| n.kind() == "parameter_list")
        .map_or(Vec::new(), |list| {
            list.named_children(&mut list.walk()).collect()
        });
    let named = |parameter: &Node<'_>| {
        walk(*parameter).any(|n| n.kind() == "identifier" && source.of(n) == base)
    };
    if let Some(index) = parameters.iter().position(named) {
        let arguments = call.child_by_field_name("arguments")?;
        let argument = source.of(arguments.named_child(index as u32)?);
        let rest = word.strip_prefix(base)?;
        let simple = |text: &str| {
            text.chars()
                .all(|c| c.is_alphanumeric() || "_->.[]".contains(c))
        };
        return Some(
            match (argument.strip_prefix('&'), rest.strip_prefix("->")) {
                (Some(object), Some(member)) if simple(object) => format!("{object}.{member}"),
                _ if simple(argument) => format!("{argument}{rest}"),
                _ => format!("({argument}){rest}"),
            },
        );
    }
    // A member of the object: `counter->add()`, or `lock()` inside another method.
    let callee = call.child_by_field_name("function")?;
    if callee.kind() != "field_expression" {
        return Some(word.to_owned());
    }
    let object = source.of(callee.child_by_field_name("argument")?);
    let operator = source.of(callee.child_by_field_name("operator")?);
    Some(format!("{object}{operator}{word}"))
}
