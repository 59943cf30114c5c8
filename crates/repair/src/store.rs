//! Finds the store that a place in the source is about.

use crate::NoRepair;
use crate::address::{Lasting, StoreTarget, of_lvalue, without_parentheses};
use crate::calls;
use crate::macros;
use crate::source::{ParsedSource, Place, ancestors, walk};
use tree_sitter::Node;

#[derive(Clone, Debug)]
pub(crate) struct FoundStore<'t> {
    /// The expression that stores.
    pub(crate) node: Node<'t>,
    pub(crate) target: StoreTarget,
    /// Written around the cache: it needs a fence and no flush.
    pub(crate) streamed: bool,
    pub(crate) shape: StoreShape<'t>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StoreShape<'t> {
    /// `left = …`, `left += …`, `left++`.
    Lvalue { left: Node<'t> },
    /// A store to `left` that must evaluate it once: a pointer to it has to be taken before.
    Once { left: Node<'t> },
    /// A function or macro that stores.
    Call,
    /// An object that a declaration or `new` makes.
    Made,
    /// A member of an object under construction; the body of the constructor.
    Constructor { body: Node<'t> },
}

/// The name of a pointer that a patch declares.
pub(crate) const POINTER: &str = "stored";

pub(crate) fn find<'s>(
    source: &'s ParsedSource<'_>,
    at: Place,
    bytes: u64,
) -> Result<FoundStore<'s>, NoRepair> {
    if !source.has_line(at) {
        return Err(NoRepair::NoSuchLine);
    }
    if at.column == 0 {
        return only_on_line(source, at, bytes);
    }
    let node = source.node_at(at).ok_or(NoRepair::NoSuchLine)?;
    let mut unknown = None;
    for candidate in ancestors(node) {
        match understand(source, candidate, node, bytes)? {
            Understood::Store(store) if is_garbled(source, store.node) => {
                return Err(NoRepair::Garbled);
            }
            Understood::Store(store) => return Ok(store),
            Understood::UnknownCall(name) => {
                unknown.get_or_insert(name);
            }
            Understood::Nothing => {}
        }
        if matches!(
            candidate.kind(),
            "function_definition" | "compound_statement" | "lambda_expression"
        ) {
            break;
        }
    }
    match unknown {
        Some(name) => Err(NoRepair::UnknownCall(name)),
        // Debug information may point to another part of the statement.
        None => only_on_line(source, at, bytes),
    }
}

/// A macro that stands for half a statement, perhaps: what the grammar made of it is a guess.
fn is_garbled(source: &ParsedSource<'_>, store: Node<'_>) -> bool {
    let statement = source.statement_of(store);
    let simple = statement.filter(|s| {
        matches!(
            s.kind(),
            "expression_statement" | "declaration" | "return_statement"
        )
    });
    simple.unwrap_or(store).has_error()
}

enum Understood<'t> {
    Store(FoundStore<'t>),
    UnknownCall(String),
    Nothing,
}

fn understand<'t>(
    source: &ParsedSource<'_>,
    node: Node<'t>,
    at: Node<'_>,
    bytes: u64,
) -> Result<Understood<'t>, NoRepair> {
    let inside = |part: Option<Node<'_>>| {
        part.is_some_and(|p| p.start_byte() <= at.start_byte() && at.end_byte() <= p.end_byte())
    };
    let store = match node.kind() {
        "assignment_expression" => {
            let Some(left) = node.child_by_field_name("left") else {
                return Ok(Understood::Nothing);
            };
            // `*p = *q` reads at its right side; only what is built in place is stored from there.
            let right = node.child_by_field_name("right");
            let made = right.is_some_and(|r| {
                matches!(
                    without_parentheses(r).kind(),
                    "compound_literal_expression" | "initializer_list" | "new_expression"
                )
            });
            if inside(right)
                && made
                && right.is_some_and(|r| without_parentheses(r).kind() == "new_expression")
            {
                made_by_new(
                    source,
                    right.map(without_parentheses),
                    Some(source.of(left)),
                    node,
                )
            } else {
                Some(through(source, node, left, bytes)?)
            }
        }
        "update_expression" => match node.child_by_field_name("argument") {
            Some(left) => Some(through(source, node, left, bytes)?),
            None => None,
        },
        "call_expression" => return call(source, node, at),
        "new_expression" => {
            let outer = node.parent().filter(|p| p.kind() == "init_declarator");
            match outer.and_then(|o| o.child_by_field_name("declarator")) {
                Some(name) => {
                    made_by_new(source, Some(node), Some(declared_name(source, name)), node)
                }
                None => made_by_new(source, Some(node), None, node),
            }
        }
        "init_declarator" => declared(source, node),
        "field_initializer" => constructed(source, node),
        _ => None,
    };
    Ok(store.map_or(Understood::Nothing, Understood::Store))
}

fn through<'t>(
    source: &ParsedSource<'_>,
    node: Node<'t>,
    left: Node<'t>,
    bytes: u64,
) -> Result<FoundStore<'t>, NoRepair> {
    let (target, shape) = match of_lvalue(source, left, node, bytes)? {
        Lasting::Yes(target) => (target, StoreShape::Lvalue { left }),
        Lasting::TakeFirst => {
            let mut target = StoreTarget::new(POINTER, source.sizeof(&format!("*{POINTER}")));
            target.word = (1..=8).contains(&bytes);
            (target, StoreShape::Once { left })
        }
    };
    Ok(FoundStore {
        node,
        target,
        streamed: false,
        shape,
    })
}

fn call<'t>(
    source: &ParsedSource<'_>,
    node: Node<'t>,
    at: Node<'_>,
) -> Result<Understood<'t>, NoRepair> {
    if let Some(found) = calls::storing(source, node) {
        return Ok(Understood::Store(FoundStore {
            node,
            target: found.target,
            streamed: found.streamed,
            shape: StoreShape::Call,
        }));
    }
    let Some(name) = calls::name(node, source.text) else {
        return Ok(Understood::Nothing);
    };
    let target = match macros::target(source, name, node) {
        // A macro that stores nothing may be what something is stored to.
        Err(NoRepair::UnknownCall(name)) => return Ok(Understood::UnknownCall(name)),
        target => target?,
    };
    if let Some(target) = target {
        return Ok(Understood::Store(FoundStore {
            node,
            target,
            streamed: false,
            shape: StoreShape::Call,
        }));
    }
    // Only where the place is the call itself, not one of its arguments.
    let called = node.start_byte() == at.start_byte()
        || node
            .child_by_field_name("function")
            .is_some_and(|f| f.start_byte() <= at.start_byte() && at.end_byte() <= f.end_byte());
    if !called {
        return Ok(Understood::Nothing);
    }
    // A method most likely stores to its own object. Whether that was it the check says, as of any patch.
    Ok(match calls::object(source, node) {
        Some(target) => Understood::Store(FoundStore {
            node,
            target,
            streamed: false,
            shape: StoreShape::Call,
        }),
        None => Understood::UnknownCall(name.to_owned()),
    })
}

/// The name inside a declarator: `*node`, `&slot`, `table[8]`.
fn declared_name<'a>(source: &ParsedSource<'a>, declarator: Node<'_>) -> &'a str {
    let name = walk(declarator).find(|n| n.kind() == "identifier");
    name.map_or("", |n| source.of(n))
}

fn made_by_new<'t>(
    source: &ParsedSource<'_>,
    new: Option<Node<'t>>,
    name: Option<&str>,
    node: Node<'t>,
) -> Option<FoundStore<'t>> {
    let new = new?;
    let target = match name.filter(|n| !n.is_empty()) {
        Some(name) => StoreTarget::new(name, source.sizeof(&format!("*{name}"))),
        None => {
            let place = new.child_by_field_name("placement")?;
            let place = place.named_child(0)?;
            let kind = source.of(new.child_by_field_name("type")?);
            if walk(place).any(|n| n.kind() == "call_expression") {
                return None;
            }
            StoreTarget::new(source.of(place), format!("sizeof({kind})"))
        }
    };
    Some(FoundStore {
        node,
        target,
        streamed: false,
        shape: StoreShape::Made,
    })
}

/// `Slot &slot = *new (place) Slot{…};`, or an object that is itself in persistent memory.
fn declared<'t>(source: &ParsedSource<'_>, node: Node<'t>) -> Option<FoundStore<'t>> {
    let declarator = node.child_by_field_name("declarator")?;
    let name = declared_name(source, declarator);
    let target = match declarator.kind() {
        "pointer_declarator" => StoreTarget::new(name, source.sizeof(&format!("*{name}"))),
        _ => StoreTarget::new(format!("&{name}"), source.sizeof(name)),
    };
    Some(FoundStore {
        node,
        target,
        streamed: false,
        shape: StoreShape::Made,
    })
}

fn constructed<'t>(source: &ParsedSource<'_>, node: Node<'t>) -> Option<FoundStore<'t>> {
    let function = ancestors(node).find(|n| n.kind() == "function_definition")?;
    let body = function.child_by_field_name("body")?;
    Some(FoundStore {
        node,
        target: StoreTarget::new("this", source.sizeof("*this")),
        streamed: false,
        shape: StoreShape::Constructor { body },
    })
}

/// The store of a line, where the column is not known or of no help.
fn only_on_line<'s>(
    source: &'s ParsedSource<'_>,
    at: Place,
    bytes: u64,
) -> Result<FoundStore<'s>, NoRepair> {
    let row = at.line as usize - 1;
    let mut found: Vec<FoundStore<'s>> = Vec::new();
    for node in walk(source.root()) {
        let begins = node.start_position().row == row;
        if !begins || node.kind() == "init_declarator" {
            continue;
        }
        if let Understood::Store(store) = understand(source, node, node, bytes)? {
            found.push(store);
        }
    }
    // A store to a local variable is none to persistent memory, if there is a choice.
    if found.len() > 1 {
        let plain = |store: &FoundStore<'_>| matches!(store.shape, StoreShape::Lvalue { left } if left.kind() == "identifier");
        if found.iter().any(|store| !plain(store)) {
            found.retain(|store| !plain(store));
        }
    }
    let why = match found.len() {
        0 => String::new(),
        n => format!(" (there are {n} on this line)"),
    };
    match <[FoundStore<'s>; 1]>::try_from(found) {
        Ok([store]) if is_garbled(source, store.node) => Err(NoRepair::Garbled),
        Ok([store]) => Ok(store),
        Err(_) => Err(NoRepair::NoStore(why)),
    }
}
