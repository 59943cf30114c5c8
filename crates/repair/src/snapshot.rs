//! A transaction is to know of a store before it is made: the line that adds it, in the words of the file.

use crate::address::{operator, without_parentheses};
use crate::idiom::Code;
use crate::site::InsertionSite;
use crate::source::{ParsedSource, Place, ancestors, is_block, walk};
use crate::store::{self, FoundStore, StoreShape};
use crate::{Candidate, NoRepair, calls};
use std::collections::HashMap;
use tree_sitter::Node;

/// What a store is part of, as the file names it.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    /// `D_RW(object)->field`.
    Object { object: String, field: String },
    /// `pointer->field`, or `*pointer` where there is no field.
    Pointer { pointer: String, field: String },
    /// Any other place, and how many bytes.
    Range { address: String, size: String },
}

/// Macros that lead from an object to a pointer.
const OBJECT_POINTERS: [&str; 4] = ["D_RW", "D_RO", "DIRECT_RW", "DIRECT_RO"];

/// Functions that add a pointer and a length to a transaction.
const ADDERS: [&str; 2] = [
    "pmemobj_tx_add_range_direct",
    "pmem::obj::transaction::snapshot",
];

/// Says that something was added, and does nothing: whoever calls it is the one that adds.
const ANNOUNCED: &str = "lf_tx_add";

/// A function that takes a pointer and a length, and perhaps more, which is the same in other calls.
#[derive(Clone, Debug)]
struct Adder {
    name: String,
    /// Which of so many arguments the two are.
    pointer: usize,
    length: usize,
    arguments: usize,
}

impl Part {
    fn same_whole(&self, other: &Part) -> bool {
        match (self, other) {
            (Part::Object { object: a, .. }, Part::Object { object: b, .. }) => a == b,
            (Part::Pointer { pointer: a, .. }, Part::Pointer { pointer: b, .. }) => a == b,
            _ => self == other,
        }
    }

    fn whole(&self) -> Part {
        let mut part = self.clone();
        if let Part::Object { field, .. } | Part::Pointer { field, .. } = &mut part {
            field.clear();
        }
        part
    }
}

/// How the file adds memory to a transaction.
struct AddingStyle {
    /// Macros for pointers (`TX_ADD_DIRECT`).
    direct_macros: bool,
    adder: Option<Adder>,
}

impl AddingStyle {
    fn of(source: &ParsedSource<'_>) -> AddingStyle {
        let (mut macros, mut transactions) = (0, false);
        let mut used: HashMap<&str, usize> = HashMap::new();
        for call in walk(source.root()).filter(|n| n.kind() == "call_expression") {
            let Some(function) = call.child_by_field_name("function") else {
                continue;
            };
            let name = source.of(function);
            macros += usize::from(name.starts_with("TX_ADD") && name.ends_with("_DIRECT"));
            transactions |= name == "TX_ADD" || name == "TX_BEGIN";
            *used.entry(name).or_default() += 1;
        }
        let count = |name: &str| used.get(name).copied().unwrap_or(0);
        let known = ADDERS.iter().filter(|name| count(name) > 0);
        let known = known.map(|name| Adder {
            name: (*name).to_owned(),
            pointer: 0,
            length: 1,
            arguments: 2,
        });
        // What the file defines for that is what it wants to be called.
        let own = own_adders(source);
        let best = own.into_iter().chain(known);
        let best =
            best.max_by_key(|adder| (!ADDERS.contains(&adder.name.as_str()), count(&adder.name)));
        let calls = best.as_ref().map_or(0, |adder| count(&adder.name));
        AddingStyle {
            direct_macros: macros > calls || best.is_none() && transactions,
            adder: best,
        }
    }

    fn ranged(
        &self,
        source: &ParsedSource<'_>,
        near: Node<'_>,
        address: &str,
        size: &str,
    ) -> Option<String> {
        let Some(adder) = &self.adder else {
            let plain = self.direct_macros.then_some(ADDERS[0])?;
            return Some(format!("{plain}({address}, {size})"));
        };
        let mut arguments = vec![String::new(); adder.arguments];
        if adder.arguments > 2 {
            // What else it is given, the same function gives it elsewhere.
            let function = source.function_of(near)?;
            let call = walk(function).find(|call| {
                call.kind() == "call_expression"
                    && calls::name(*call, source.text) == Some(adder.name.as_str())
            })?;
            let given = calls::arguments(call);
            for (argument, given) in arguments.iter_mut().zip(given) {
                *argument = source.of(given).to_owned();
            }
        }
        *arguments.get_mut(adder.pointer)? = address.to_owned();
        *arguments.get_mut(adder.length)? = size.to_owned();
        Some(format!("{}({})", adder.name, arguments.join(", ")))
    }

    fn code(&self, source: &ParsedSource<'_>, part: &Part, near: Node<'_>) -> Option<String> {
        let ranged = |address: &str, size: &str| self.ranged(source, near, address, size);
        match part {
            Part::Object { object, field } if field.is_empty() => Some(format!("TX_ADD({object})")),
            Part::Object { object, field } => Some(format!("TX_ADD_FIELD({object}, {field})")),
            Part::Pointer { pointer, field } if self.direct_macros => {
                Some(match field.is_empty() {
                    true => format!("TX_ADD_DIRECT({pointer})"),
                    false => format!("TX_ADD_FIELD_DIRECT({pointer}, {field})"),
                })
            }
            Part::Pointer { pointer, field } => match field.is_empty() {
                true => ranged(pointer, &source.sizeof(&format!("*{pointer}"))),
                false => {
                    let member = format!("{pointer}->{field}");
                    ranged(&format!("&{member}"), &source.sizeof(&member))
                }
            },
            Part::Range { address, size } => ranged(address, size),
        }
    }
}

/// Functions of the file and its headers that hand a pointer and a length on to one that adds them.
fn own_adders(source: &ParsedSource<'_>) -> Vec<Adder> {
    let mut found = Vec::new();
    for (root, text) in source.everything() {
        for function in walk(root).filter(|n| n.kind() == "function_definition") {
            let Some(declarator) = walk(function).find(|n| n.kind() == "function_declarator")
            else {
                continue;
            };
            let name = declarator.child_by_field_name("declarator");
            let parameters = declarator.child_by_field_name("parameters");
            let (Some(name), Some(parameters)) = (name, parameters) else {
                continue;
            };
            let named = |n: Node<'_>| {
                let name = walk(n).filter(|n| n.kind() == "identifier").last();
                name.map_or("", |n| &text[n.byte_range()])
            };
            let given: Vec<&str> = (0..parameters.named_child_count())
                .filter_map(|i| parameters.named_child(i as u32))
                .map(named)
                .collect();
            let adds = |call: Node<'_>| {
                let name = calls::name(call, text)?;
                let adds = ADDERS.contains(&name) || name == ANNOUNCED;
                let arguments = calls::arguments(call);
                let place = |at: usize| {
                    let argument = &text[arguments.get(at)?.byte_range()];
                    given.iter().position(|given| *given == argument)
                };
                adds.then_some((place(0)?, place(1)?))
            };
            let calls = walk(function).filter(|n| n.kind() == "call_expression");
            if let Some((pointer, length)) = calls.into_iter().find_map(adds) {
                found.push(Adder {
                    name: text[name.byte_range()].to_owned(),
                    pointer,
                    length,
                    arguments: given.len(),
                });
            }
        }
    }
    found
}

/// What an expression that is stored to is part of.
fn part(source: &ParsedSource<'_>, stored: Node<'_>) -> Option<Part> {
    let whole = without_parentheses(stored);
    if walk(whole).any(|n| matches!(n.kind(), "update_expression" | "assignment_expression")) {
        return None;
    }
    let mut node = whole;
    loop {
        node = without_parentheses(node);
        let argument = node.child_by_field_name("argument");
        match node.kind() {
            "subscript_expression" => node = argument?,
            "field_expression" if operator(node, source.text) == "->" => {
                let argument = without_parentheses(argument?);
                let from = node.child_by_field_name("field")?.start_byte();
                let field = source.text[from..whole.end_byte()].to_owned();
                return Some(match object(source, argument) {
                    Some(object) => Part::Object { object, field },
                    None => Part::Pointer {
                        pointer: source.of(argument).to_owned(),
                        field,
                    },
                });
            }
            "field_expression" => node = argument?,
            _ => break,
        }
    }
    if whole.kind() == "pointer_expression" && operator(whole, source.text) == "*" {
        let pointer = without_parentheses(whole.child_by_field_name("argument")?);
        let field = String::new();
        return Some(match object(source, pointer) {
            Some(object) => Part::Object { object, field },
            None if pointer.kind() == "identifier" => Part::Pointer {
                pointer: source.of(pointer).to_owned(),
                field,
            },
            None => Part::Range {
                address: source.of(pointer).to_owned(),
                size: source.sizeof(source.of(whole)),
            },
        });
    }
    let text = source.of(whole);
    Some(Part::Range {
        address: format!("&{text}"),
        size: source.sizeof(text),
    })
}

/// `object` of `D_RW(object)`.
fn object(source: &ParsedSource<'_>, pointer: Node<'_>) -> Option<String> {
    let name = calls::name(pointer, source.text)?;
    let [argument] = calls::arguments(pointer)[..] else {
        return None;
    };
    OBJECT_POINTERS
        .contains(&name)
        .then(|| source.of(argument).to_owned())
}

/// What a store stores to.
fn stored(source: &ParsedSource<'_>, store: &FoundStore<'_>) -> Option<Part> {
    match store.shape {
        StoreShape::Lvalue { left } | StoreShape::Once { left } => part(source, left),
        StoreShape::Call => {
            // `memmove(&D_RW(node)->items[1], …)`, `memcpy(D_RW(node)->items + 1, …)`: of an object, all of it.
            let mut first = without_parentheses(*calls::arguments(store.node).first()?);
            if first.kind() == "binary_expression" {
                first = without_parentheses(first.child_by_field_name("left")?);
            }
            if first.kind() == "pointer_expression" {
                first = without_parentheses(first.child_by_field_name("argument")?);
            }
            match part(source, first) {
                Some(part @ Part::Object { .. }) => Some(part.whole()),
                _ => Some(Part::Range {
                    address: store.target.address.clone(),
                    size: store.target.size.clone(),
                }),
            }
        }
        StoreShape::Made | StoreShape::Constructor { .. } => None,
    }
}

/// A line to add, and the statement that it goes before.
struct AddedLine<'t> {
    before: Node<'t>,
    code: String,
}

/// Stores of one function to one object.
struct Together<'t> {
    function: Option<Node<'t>>,
    parts: Vec<Part>,
    nodes: Vec<Node<'t>>,
}

impl<'t> Together<'t> {
    /// One of them if it is always the same, else the whole; and the whole, too, where the line goes before a loop or a condition:
    /// names in there may mean nothing outside.
    fn part(&self, source: &ParsedSource<'_>) -> Part {
        let first = &self.parts[0];
        let inside = |node: &Node<'t>| source.statement_of(*node) != self.begins();
        match self.parts.iter().all(|part| part == first) && !self.nodes.iter().all(inside) {
            true => first.clone(),
            false => first.whole(),
        }
    }

    /// The statement before which all of them are still to come: of the innermost block around them, the one with the first.
    fn begins(&self) -> Option<Node<'t>> {
        let first = self.nodes.iter().min_by_key(|node| node.start_byte())?;
        let around = |node: &Node<'t>| {
            let holds = |one: &Node<'t>| {
                node.start_byte() <= one.start_byte() && one.end_byte() <= node.end_byte()
            };
            self.nodes.iter().all(holds)
        };
        let statement = |node: &Node<'t>| {
            node.parent()
                .is_some_and(|block| is_block(block) && around(&block))
        };
        ancestors(*first).find(statement)
    }
}

fn together<'s>(
    source: &'s ParsedSource<'_>,
    stores: &[Place],
) -> Result<Vec<Together<'s>>, NoRepair> {
    let mut found: Vec<Together<'s>> = Vec::new();
    for &at in stores {
        let (node, part) = match store::find(source, at, 0) {
            Ok(store) => (store.node, stored(source, &store)),
            // What is assigned may be a macro with a type in it; what it is assigned to is all that matters.
            Err(error) => left_of(source, at).ok_or(error)?,
        };
        let part =
            part.ok_or_else(|| NoRepair::NoAddress("it changes as it is evaluated".to_owned()))?;
        let function = source.function_of(node);
        let known = found
            .iter_mut()
            .find(|known| known.function == function && known.parts[0].same_whole(&part));
        match known {
            Some(known) => {
                known.parts.push(part);
                known.nodes.push(node);
            }
            None => found.push(Together {
                function,
                parts: vec![part],
                nodes: vec![node],
            }),
        }
    }
    Ok(found)
}

/// An assignment at a place whose left side can be read.
fn left_of<'s>(source: &'s ParsedSource<'_>, at: Place) -> Option<(Node<'s>, Option<Part>)> {
    let assigned = |node: &Node<'s>| {
        let left = node.child_by_field_name("left");
        node.kind() == "assignment_expression" && left.is_some_and(|left| !left.has_error())
    };
    let node = source.node_at(at)?;
    let inside = |node: &Node<'s>| node.kind() != "compound_statement";
    let found = ancestors(node).take_while(inside).find(assigned)?;
    Some((found, part(source, found.child_by_field_name("left")?)))
}

/// One line for each object.
fn lines<'s>(
    source: &ParsedSource<'_>,
    style: &AddingStyle,
    stores: &[Together<'s>],
    part: impl Fn(&Together<'s>) -> Part,
) -> Option<Vec<AddedLine<'s>>> {
    let line = |of: &Together<'s>| {
        Some(AddedLine {
            before: of.begins()?,
            code: style.code(source, &part(of), *of.nodes.first()?)?,
        })
    };
    stores.iter().map(line).collect()
}

fn candidate(source: &ParsedSource<'_>, lines: &[AddedLine<'_>]) -> Option<Candidate> {
    let mut edits = Vec::new();
    let mut done: Vec<(usize, &str)> = Vec::new();
    for line in lines {
        let place = (line.before.start_byte(), line.code.as_str());
        if done.contains(&place) {
            continue;
        }
        done.push(place);
        let site = InsertionSite::in_front(source, line.before)?;
        edits.extend(site.insert(source, &Code::statement(format!("{};", line.code)))?);
    }
    let codes: Vec<String> = lines
        .iter()
        .map(|line| format!("`{}`", line.code))
        .collect();
    Some(Candidate {
        what: format!("add {} before the store", codes.join(", ")),
        edits,
    })
}

pub(crate) fn candidates(
    source: &ParsedSource<'_>,
    stores: &[Place],
) -> Result<Vec<Candidate>, NoRepair> {
    let found = together(source, stores)?;
    let style = AddingStyle::of(source);
    let part = |of: &Together<'_>| of.part(source);
    let exact = lines(source, &style, &found, part);
    let whole = lines(source, &style, &found, |of| part(of).whole());
    let each: Vec<Together<'_>> = (found.iter())
        .flat_map(|of| {
            of.parts.iter().zip(&of.nodes).map(|(part, node)| Together {
                function: of.function,
                parts: vec![part.clone()],
                nodes: vec![*node],
            })
        })
        .collect();
    let each = lines(source, &style, &each, part);
    let ways = [exact, whole, each].into_iter().flatten();
    let candidates: Vec<Candidate> = ways.filter_map(|lines| candidate(source, &lines)).collect();
    match candidates.is_empty() {
        true => Err(NoRepair::NoAdding),
        false => Ok(candidates),
    }
}

/// The lines that are missing, each with the place that it belongs before.
pub(crate) fn advice(source: &ParsedSource<'_>, stores: &[Place]) -> Vec<(Place, String)> {
    let style = AddingStyle::of(source);
    let found = together(source, stores).unwrap_or_default();
    let lines = lines(source, &style, &found, |of| of.part(source)).unwrap_or_default();
    let told = lines.into_iter().map(|line| {
        let at = line.before.start_position();
        let place = Place {
            line: at.row as u32 + 1,
            column: at.column as u32 + 1,
        };
        (place, line.code)
    });
    told.collect()
}
