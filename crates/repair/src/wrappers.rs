//! Functions and macros of the project that flush, fence, or do both.

use crate::calls;
use crate::source::{ParsedSource, walk};
use std::collections::HashMap;
use tree_sitter::Node;

/// What a call makes of the memory it is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct WrapperEffect {
    pub(crate) flushes: bool,
    /// After the last flush.
    pub(crate) fences: bool,
}

impl WrapperEffect {
    pub(crate) const FLUSH: WrapperEffect = WrapperEffect {
        flushes: true,
        fences: false,
    };
    pub(crate) const FENCE: WrapperEffect = WrapperEffect {
        flushes: false,
        fences: true,
    };
    pub(crate) const PERSIST: WrapperEffect = WrapperEffect {
        flushes: true,
        fences: true,
    };

    fn then(self, next: WrapperEffect) -> WrapperEffect {
        WrapperEffect {
            flushes: self.flushes || next.flushes,
            fences: next.fences || (self.fences && !next.flushes),
        }
    }
}

/// What fills an argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ArgumentSlot {
    /// The address, with the type it has to be cast to.
    Address(Option<String>),
    Size,
    /// As in other calls.
    Same,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct WrapperCallee {
    pub(crate) name: String,
    pub(crate) effect: WrapperEffect,
    pub(crate) slots: Vec<ArgumentSlot>,
    /// Flushes the one line its address is on.
    pub(crate) one_line: bool,
    /// Can be part of an expression.
    pub(crate) expression: bool,
    /// Defined in this file or its headers.
    pub(crate) own: bool,
}

impl WrapperCallee {
    fn known(
        name: &str,
        effect: WrapperEffect,
        slots: &[ArgumentSlot],
        one_line: bool,
    ) -> WrapperCallee {
        WrapperCallee {
            name: name.to_owned(),
            effect,
            slots: slots.to_vec(),
            one_line,
            expression: true,
            own: false,
        }
    }
}

const LINE_FLUSHES: &[&str] = &[
    "_mm_clwb",
    "_mm_clflushopt",
    "_mm_clflush",
    "__builtin_ia32_clwb",
    "__builtin_ia32_clflushopt",
    "__builtin_ia32_clflush",
];
const FENCES: &[&str] = &[
    "_mm_sfence",
    "_mm_mfence",
    "__builtin_ia32_sfence",
    "__builtin_ia32_mfence",
    "lf_fence",
    "pmem_drain",
    "__sync_synchronize",
];

/// A function everyone knows.
pub(crate) fn known(name: &str) -> Option<WrapperCallee> {
    let range = [ArgumentSlot::Address(None), ArgumentSlot::Size];
    if LINE_FLUSHES.contains(&name) {
        return Some(WrapperCallee::known(
            name,
            WrapperEffect::FLUSH,
            &range[..1],
            true,
        ));
    }
    if FENCES.contains(&name) {
        return Some(WrapperCallee::known(name, WrapperEffect::FENCE, &[], false));
    }
    match name {
        "lf_flush" | "pmem_flush" | "pmem_deep_flush" => Some(WrapperCallee::known(
            name,
            WrapperEffect::FLUSH,
            &range,
            false,
        )),
        "lf_persist" | "pmem_persist" | "pmem_msync" | "pmem_deep_persist" => Some(
            WrapperCallee::known(name, WrapperEffect::PERSIST, &range, false),
        ),
        "pmemobj_persist" => {
            let slots = [
                ArgumentSlot::Same,
                ArgumentSlot::Address(None),
                ArgumentSlot::Size,
            ];
            Some(WrapperCallee::known(
                name,
                WrapperEffect::PERSIST,
                &slots,
                false,
            ))
        }
        _ => None,
    }
}

/// The effect of everything the file and its headers define, by name.
pub(crate) fn defined(source: &ParsedSource<'_>) -> HashMap<String, WrapperCallee> {
    let mut bodies: Vec<(String, Node<'_>, &str, Vec<ArgumentSlot>, bool)> = Vec::new();
    for (root, text) in source.everything() {
        for node in walk(root) {
            match node.kind() {
                "function_definition" => {
                    if let Some((name, slots)) = signature(node, text)
                        && let Some(body) = node.child_by_field_name("body")
                    {
                        bodies.push((name.to_owned(), body, text, slots, true));
                    }
                }
                "preproc_function_def" => {
                    let name = node.child_by_field_name("name");
                    let body = node.child_by_field_name("value");
                    if let (Some(name), Some(body)) = (name, body) {
                        let slots = macro_slots(node, text);
                        let text_of = &text[body.byte_range()];
                        let statement = text_of.contains(';') || text_of.contains('{');
                        bodies.push((
                            text[name.byte_range()].to_owned(),
                            body,
                            text,
                            slots,
                            !statement,
                        ));
                    }
                }
                _ => {}
            }
        }
    }
    let mut found: HashMap<String, WrapperCallee> = HashMap::new();
    // A wrapper of a wrapper is one too: as deep as it takes.
    loop {
        let before = found.len();
        for (name, body, text, slots, expression) in &bodies {
            if found.contains_key(name) || known(name).is_some() {
                continue;
            }
            let effect = effect(*body, text, &found);
            if effect == WrapperEffect::default() {
                continue;
            }
            let one_line = !slots.contains(&ArgumentSlot::Size) && !typed(slots);
            found.insert(
                name.clone(),
                WrapperCallee {
                    name: name.clone(),
                    effect,
                    slots: slots.clone(),
                    one_line,
                    expression: *expression,
                    own: true,
                },
            );
        }
        if found.len() == before {
            return found;
        }
    }
}

/// Takes a pointer to some type, and so knows how much to flush.
fn typed(slots: &[ArgumentSlot]) -> bool {
    slots
        .iter()
        .any(|s| matches!(s, ArgumentSlot::Address(Some(of)) if of == TEMPLATE))
}

/// Stands for the type of a template's parameter: no cast.
pub(crate) const TEMPLATE: &str = "";

fn effect(body: Node<'_>, text: &str, found: &HashMap<String, WrapperCallee>) -> WrapperEffect {
    // The body of a macro is text to the grammar.
    if body.kind() == "preproc_arg" {
        let words = text[body.byte_range()].split(|c: char| !c.is_alphanumeric() && c != '_');
        return words.fold(assembly(&text[body.byte_range()]), |sum, word| {
            sum.then(named(word, found))
        });
    }
    let mut sum = WrapperEffect::default();
    for node in walk(body) {
        let next = match node.kind() {
            "call_expression" => {
                calls::name(node, text).map_or_else(WrapperEffect::default, |n| named(n, found))
            }
            "gnu_asm_expression" => assembly(&text[node.byte_range()]),
            _ => continue,
        };
        sum = sum.then(next);
    }
    sum
}

fn named(name: &str, found: &HashMap<String, WrapperCallee>) -> WrapperEffect {
    let callee = known(name).map(|c| c.effect);
    callee
        .or_else(|| found.get(name).map(|c| c.effect))
        .unwrap_or_default()
}

fn assembly(text: &str) -> WrapperEffect {
    if !text.contains("asm") {
        return WrapperEffect::default();
    }
    let flushes = ["clwb", "clflush", "xsaveopt"]
        .iter()
        .any(|i| text.contains(i));
    let fences = text.contains("sfence") || text.contains("mfence");
    WrapperEffect { flushes, fences }
}

/// The name of a function and what its parameters are for. None if it cannot be called for any memory.
fn signature<'a>(function: Node<'_>, text: &'a str) -> Option<(&'a str, Vec<ArgumentSlot>)> {
    let declarator = walk(function.child_by_field_name("declarator")?)
        .find(|n| n.kind() == "function_declarator")?;
    let name = declarator.child_by_field_name("declarator")?;
    // Methods need an object.
    if name.kind() != "identifier" {
        return None;
    }
    let template = function
        .parent()
        .filter(|p| p.kind() == "template_declaration");
    let types: Vec<&str> = template.map_or_else(Vec::new, |t| {
        let list = t.child_by_field_name("parameters");
        let names = list
            .into_iter()
            .flat_map(walk)
            .filter(|n| n.kind() == "type_identifier");
        names.map(|n| &text[n.byte_range()]).collect()
    });
    let parameters = declarator.child_by_field_name("parameters")?;
    let mut slots = Vec::new();
    for index in 0..parameters.named_child_count() {
        let parameter = parameters.named_child(index as u32)?;
        match parameter.kind() {
            "parameter_declaration" => {}
            "comment" => continue,
            "optional_parameter_declaration" => break,
            _ => return None,
        }
        let written = text[parameter.byte_range()].trim();
        if written == "void" {
            break;
        }
        let of = parameter
            .child_by_field_name("type")
            .map_or("", |t| &text[t.byte_range()]);
        let pointer = walk(parameter)
            .any(|n| n.kind() == "pointer_declarator" || n.kind() == "abstract_pointer_declarator");
        let filled = |slots: &[ArgumentSlot], slot: &str| match slot {
            "address" => slots.iter().any(|s| matches!(s, ArgumentSlot::Address(_))),
            _ => slots.contains(&ArgumentSlot::Size),
        };
        let slot = match (pointer, of) {
            (true, "void") if !filled(&slots, "address") => ArgumentSlot::Address(None),
            (true, of) if types.contains(&of) && !filled(&slots, "address") => {
                ArgumentSlot::Address(Some(TEMPLATE.to_owned()))
            }
            (true, "char" | "unsigned char" | "uint8_t" | "std::byte")
                if !filled(&slots, "address") =>
            {
                ArgumentSlot::Address(Some(format!("{of} *")))
            }
            (false, "uintptr_t" | "std::uintptr_t") if !filled(&slots, "address") => {
                ArgumentSlot::Address(Some(of.to_owned()))
            }
            (false, of)
                if filled(&slots, "address") && !filled(&slots, "size") && is_integer(of) =>
            {
                ArgumentSlot::Size
            }
            _ => ArgumentSlot::Same,
        };
        slots.push(slot);
    }
    Some((&text[name.byte_range()], slots))
}

fn is_integer(of: &str) -> bool {
    let words = [
        "int", "long", "unsigned", "size_t", "uint64_t", "uint32_t", "int64_t", "ssize_t",
    ];
    of.split_whitespace()
        .all(|w| words.contains(&w.trim_start_matches("std::")))
}

fn macro_slots(node: Node<'_>, text: &str) -> Vec<ArgumentSlot> {
    let Some(parameters) = node.child_by_field_name("parameters") else {
        return Vec::new();
    };
    let names = walk(parameters).filter(|n| n.kind() == "identifier");
    let mut slots = Vec::new();
    for (index, name) in names.enumerate() {
        let name = text[name.byte_range()].to_lowercase();
        let size = ["n", "len", "length", "size", "sz", "bytes", "count"].contains(&name.as_str());
        slots.push(match (index, size) {
            (0, _) => ArgumentSlot::Address(None),
            (_, true) if !slots.contains(&ArgumentSlot::Size) => ArgumentSlot::Size,
            _ => ArgumentSlot::Same,
        });
    }
    slots
}
