//! How a file writes memory back, and new code in the same words.

use crate::NoRepair;
use crate::address::StoreTarget;
use crate::calls;
use crate::source::{ParsedSource, walk};
use crate::wrappers::{ArgumentSlot, TEMPLATE, WrapperCallee, defined, known};
use std::collections::HashMap;
use tree_sitter::Node;

/// Statements to insert, and the same as one expression where that exists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Code {
    statements: Vec<IdiomStatement>,
    pub(crate) expression: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct IdiomStatement {
    head: String,
    /// One step deeper, under a loop.
    body: Option<String>,
}

impl Code {
    pub(crate) fn statement(text: impl Into<String>) -> Code {
        let head = text.into();
        Code {
            statements: vec![IdiomStatement { head, body: None }],
            expression: None,
        }
    }

    pub(crate) fn on_one_line(&self) -> String {
        let statements = self.statements.iter().map(|s| match &s.body {
            Some(body) => format!("{} {body}", s.head),
            None => s.head.clone(),
        });
        statements.collect::<Vec<_>>().join(" ")
    }

    /// Each on a line of its own, each line begun with a line end.
    pub(crate) fn lines(&self, source: &ParsedSource<'_>, indent: &str) -> String {
        let (eol, step) = (source.eol, &source.step);
        let statements = self.statements.iter().map(|s| match &s.body {
            Some(body) => format!("{eol}{indent}{}{eol}{indent}{step}{body}", s.head),
            None => format!("{eol}{indent}{}", s.head),
        });
        statements.collect()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FlushNeed {
    Both,
    Fence,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Idiom {
    /// A flush, with its fence unless it has one; and the fence for when nothing else is needed.
    Calls {
        flush: WrapperCallee,
        /// Arguments that are the same in every call.
        same: Vec<String>,
        fence: Option<String>,
        lone_fence: Option<String>,
    },
    /// Statements with `{addr}` and `{size}` in them.
    Template(Vec<String>),
}

/// One of the ways, with how well it fits.
struct Ranked {
    score: u32,
    idiom: Idiom,
}

/// Calls in the file: how often, and whether in the function to repair.
#[derive(Default)]
struct IdiomUse {
    count: u32,
    here: bool,
    /// The arguments of the nearest call.
    arguments: Vec<String>,
}

impl Idiom {
    /// The ways of this file, the best for a place first.
    pub(crate) fn ranked(
        source: &ParsedSource<'_>,
        at: Node<'_>,
        template: Option<&str>,
    ) -> Result<Vec<Idiom>, NoRepair> {
        if let Some(template) = template {
            return Ok(vec![Idiom::template(template)?]);
        }
        let function = source.function_of(at);
        let inside = function
            .and_then(|f| name_of(f, source.text))
            .unwrap_or_default();
        let uses = uses(source, function);
        let own = defined(source);
        let mut callees: Vec<WrapperCallee> = uses.keys().filter_map(|name| known(name)).collect();
        callees.extend(own.into_values());
        callees.extend(available(source));
        callees.retain(|c| c.name != inside);
        // A function that flushes what it is not given does more than that.
        let given = |slot: &ArgumentSlot| matches!(slot, ArgumentSlot::Address(_));
        callees.retain(|c| !c.effect.flushes || c.slots.iter().any(given));
        let score = |callee: &WrapperCallee| {
            let used = uses.get(callee.name.as_str());
            let used = used.map_or(0, |u| 100 + u.count.min(20) + u32::from(u.here) * 1000);
            used + u32::from(callee.own) * 10
        };
        let mut fences: Vec<&WrapperCallee> = callees
            .iter()
            .filter(|c| c.effect.fences && !c.effect.flushes && c.slots.is_empty())
            .collect();
        fences.sort_by(|a, b| score(b).cmp(&score(a)).then(a.name.cmp(&b.name)));
        let lone_fence = fences.first().map(|f| format!("{}()", f.name));
        let mut ranked: Vec<Ranked> = Vec::new();
        for flush in callees.iter().filter(|c| c.effect.flushes) {
            let fence = match flush.effect.fences {
                true => None,
                false => match &lone_fence {
                    Some(fence) => Some(fence.clone()),
                    None => continue,
                },
            };
            let used = uses.get(flush.name.as_str());
            let Some(same) = same_arguments(flush, used) else {
                continue;
            };
            let bonus = match (flush.effect.fences, flush.one_line) {
                (true, _) => 50,
                (false, false) => 20,
                (false, true) => 0,
            };
            let idiom = Idiom::Calls {
                flush: flush.clone(),
                same,
                fence,
                lone_fence: lone_fence.clone(),
            };
            let score = score(flush) + bonus;
            ranked.push(Ranked { score, idiom });
        }
        ranked.sort_by(|a, b| {
            b.score
                .cmp(&a.score)
                .then_with(|| a.idiom.name().cmp(b.idiom.name()))
        });
        let mut idioms: Vec<Idiom> = ranked.into_iter().map(|r| r.idiom).collect();
        idioms.dedup();
        match idioms.is_empty() {
            true => Err(NoRepair::NoIdiom),
            false => Ok(idioms),
        }
    }

    fn template(template: &str) -> Result<Idiom, NoRepair> {
        let statements = template.split(';').map(str::trim).filter(|s| !s.is_empty());
        let statements: Vec<String> = statements.map(str::to_owned).collect();
        match statements.iter().any(|s| s.contains("{addr}")) {
            true => Ok(Idiom::Template(statements)),
            false => Err(NoRepair::Template("{addr}")),
        }
    }

    fn name(&self) -> &str {
        match self {
            Idiom::Calls { flush, .. } => &flush.name,
            Idiom::Template(statements) => statements.first().map_or("", String::as_str),
        }
    }

    /// A template function flushes an object of its argument's type, and nothing else.
    pub(crate) fn fits(&self, target: &StoreTarget) -> bool {
        match self {
            Idiom::Calls { flush, .. } => {
                let typed = flush
                    .slots
                    .iter()
                    .any(|s| matches!(s, ArgumentSlot::Address(Some(of)) if of == TEMPLATE));
                !typed || target.size.starts_with("sizeof")
            }
            Idiom::Template(_) => true,
        }
    }

    /// One call of libpmem or libpmemobj, which does it all.
    pub(crate) fn is_pmdk(&self) -> bool {
        match self {
            Idiom::Calls { flush, fence, .. } => {
                !flush.own && fence.is_none() && flush.name.starts_with("pmem")
            }
            Idiom::Template(_) => false,
        }
    }

    /// A fence alone.
    pub(crate) fn fence(&self) -> Option<Code> {
        let fence = match self {
            Idiom::Calls { lone_fence, .. } => lone_fence.clone()?,
            Idiom::Template(statements) => {
                statements.iter().rfind(|s| !s.contains("{addr}"))?.clone()
            }
        };
        Some(calls_in_a_row(vec![fence], true))
    }

    pub(crate) fn code(
        &self,
        source: &ParsedSource<'_>,
        target: &StoreTarget,
        need: FlushNeed,
    ) -> Code {
        if need == FlushNeed::Fence
            && let Some(fence) = self.fence()
        {
            return fence;
        }
        match self {
            Idiom::Template(statements) => {
                let fill = |s: &String| {
                    s.replace("{addr}", &target.address)
                        .replace("{size}", &target.size)
                };
                calls_in_a_row(statements.iter().map(fill).collect(), true)
            }
            Idiom::Calls {
                flush, same, fence, ..
            } => {
                if flush.one_line && !target.word {
                    return each_line(source, flush, same, target, fence.as_ref());
                }
                let call = write(flush, same, &target.address, &target.size);
                let calls = std::iter::once(call).chain(fence.clone()).collect();
                calls_in_a_row(calls, flush.expression)
            }
        }
    }
}

fn calls_in_a_row(calls: Vec<String>, expression: bool) -> Code {
    let expression = expression.then(|| calls.join(", "));
    let statements = calls.into_iter().map(|call| IdiomStatement {
        head: format!("{call};"),
        body: None,
    });
    Code {
        statements: statements.collect(),
        expression,
    }
}

/// A loop over lines, for flushes that know one line only.
fn each_line(
    source: &ParsedSource<'_>,
    flush: &WrapperCallee,
    same: &[String],
    target: &StoreTarget,
    fence: Option<&String>,
) -> Code {
    let number = match source.includes("stdint.h")
        || source.includes("cstdint")
        || source.includes("inttypes.h")
    {
        true => "uintptr_t",
        false => "unsigned long",
    };
    let begin = match target.address.contains(' ') {
        true => format!("({number})({})", target.address),
        false => format!("({number}){}", target.address),
    };
    let head = format!(
        "for ({number} line = {begin} & ~({number})63; line < {begin} + {}; line += 64)",
        target.size
    );
    let body = format!("{};", write(flush, same, "(void *)line", "64"));
    let mut statements = vec![IdiomStatement {
        head,
        body: Some(body),
    }];
    statements.extend(fence.map(|fence| IdiomStatement {
        head: format!("{fence};"),
        body: None,
    }));
    Code {
        statements,
        expression: None,
    }
}

fn write(callee: &WrapperCallee, same: &[String], address: &str, size: &str) -> String {
    let mut same = same.iter();
    let arguments = callee.slots.iter().map(|slot| match slot {
        ArgumentSlot::Address(None) => address.to_owned(),
        ArgumentSlot::Address(Some(of)) if of == TEMPLATE => address.to_owned(),
        ArgumentSlot::Address(Some(of)) => match address.contains(' ') {
            true => format!("({of})({address})"),
            false => format!("({of}){address}"),
        },
        ArgumentSlot::Size => size.to_owned(),
        ArgumentSlot::Same => same.next().cloned().unwrap_or_default(),
    });
    format!(
        "{}({})",
        callee.name,
        arguments.collect::<Vec<_>>().join(", ")
    )
}

/// What fills the arguments that are neither address nor size. None if no call shows it.
fn same_arguments(callee: &WrapperCallee, used: Option<&IdiomUse>) -> Option<Vec<String>> {
    if !callee.slots.contains(&ArgumentSlot::Same) {
        return Some(Vec::new());
    }
    let used = used?;
    let mut same = Vec::new();
    for (index, slot) in callee.slots.iter().enumerate() {
        if *slot == ArgumentSlot::Same {
            let argument = used.arguments.get(index)?;
            let literal = argument.parse::<i64>().is_ok()
                || ["true", "false", "NULL", "nullptr"].contains(&argument.as_str());
            let name = argument
                .chars()
                .all(|c| c.is_alphanumeric() || "_.->".contains(c));
            if !(literal || used.here && name) {
                return None;
            }
            same.push(argument.clone());
        }
    }
    Some(same)
}

fn uses<'a>(source: &ParsedSource<'a>, function: Option<Node<'_>>) -> HashMap<&'a str, IdiomUse> {
    let mut uses: HashMap<&str, IdiomUse> = HashMap::new();
    for node in walk(source.root()).filter(|n| n.kind() == "call_expression") {
        let Some(name) = calls::name(node, source.text) else {
            continue;
        };
        let here = function.is_some_and(|f| f.byte_range().contains(&node.start_byte()));
        let entry = uses.entry(name).or_default();
        entry.count += 1;
        if here || entry.arguments.is_empty() {
            let arguments = calls::arguments(node).into_iter();
            entry.arguments = arguments.map(|a| source.of(a).to_owned()).collect();
        }
        entry.here |= here;
    }
    uses
}

/// What the headers promise, whether or not it is used.
fn available(source: &ParsedSource<'_>) -> Vec<WrapperCallee> {
    let headers = [
        ("landfall.h", &["lf_persist", "lf_fence"][..]),
        ("libpmem.h", &["pmem_persist", "pmem_drain"]),
        ("immintrin.h", &["_mm_clflush", "_mm_sfence"]),
        ("emmintrin.h", &["_mm_clflush", "_mm_sfence"]),
        ("x86intrin.h", &["_mm_clflush", "_mm_sfence"]),
    ];
    let there = headers.iter().filter(|(header, _)| source.includes(header));
    there
        .flat_map(|(_, names)| names.iter().filter_map(|n| known(n)))
        .collect()
}

/// The name of a function definition.
fn name_of<'a>(function: Node<'_>, text: &'a str) -> Option<&'a str> {
    let declarator = function.child_by_field_name("declarator")?;
    let declarator = walk(declarator).find(|n| n.kind() == "function_declarator")?;
    Some(&text[declarator.child_by_field_name("declarator")?.byte_range()])
}
