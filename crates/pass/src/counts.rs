//! Variables of a loop that only say how often it went round: they are computed from themselves and constants, decide nothing but whether it goes on
//! (or how long it pauses), and are wanted nowhere behind it. Two turns that differ in nothing else leave the loop in the same way, if they see the
//! same: a thread that looks so often, and no more, is as good as one that looks once (docs/design/algorithms.md §3).

use crate::budget::successors;
use crate::ir::{Block, Value};
use llvm_sys::LLVMOpcode;
use std::collections::{HashMap, HashSet};

type Blocks = HashSet<Block>;

/// Blocks on one of two ways that meet again.
const MOST_BLOCKS: usize = 6;
/// Blocks of a loop inside that only lets time pass.
const MOST_PAUSING: usize = 8;
const PAUSES: &[&str] = &["", "pause", "rep; nop", "rep;nop", "rep nop"];

/// What is computed from counters: from which.
type Computed = HashMap<Value, HashSet<Value>>;

/// Of the values that a loop begins each turn with, those that count.
#[derive(Default)]
pub(crate) struct Counters {
    /// They decide when the loop ends.
    pub(crate) bounds: HashSet<Value>,
    /// They decide nothing, or how long it pauses.
    pub(crate) idle: HashSet<Value>,
}

impl Counters {
    pub(crate) fn of(head: Block, body: &Blocks, pauses: &HashSet<Value>) -> Counters {
        let all = all(head, body, pauses);
        let computed = computed(&all, head, body);
        let ends = |user: &Value| {
            user.is_opcode(LLVMOpcode::LLVMBr)
                && decides(*user, body, &computed, pauses) == Decides::TheEnd
        };
        let mut bounds = HashSet::new();
        for (value, sources) in &computed {
            if value.users().iter().any(ends) {
                bounds.extend(sources.iter().copied());
            }
        }
        let idle = all.difference(&bounds).copied().collect();
        Counters { bounds, idle }
    }
}

/// Where a loop ends: what comes right behind it.
pub(crate) fn exits(body: &Blocks) -> Vec<Value> {
    let mut seen = Blocks::new();
    let mut exits = Vec::new();
    let mut ways: Vec<Block> = body.iter().flat_map(|&block| successors(block)).collect();
    ways.retain(|way| !body.contains(way) && seen.insert(*way));
    for way in ways {
        let first = way.instructions().into_iter().find(|at| {
            !at.is_opcode(LLVMOpcode::LLVMPHI) && !at.is_opcode(LLVMOpcode::LLVMLandingPad)
        });
        exits.extend(first);
    }
    exits
}

fn all(head: Block, body: &Blocks, pauses: &HashSet<Value>) -> HashSet<Value> {
    let inner = body.iter().filter(|&&block| comes_back(block, head, body));
    let mut counters: HashSet<Value> = (inner.copied().chain([head]))
        .flat_map(|block| block.instructions())
        .filter(|value| value.is_opcode(LLVMOpcode::LLVMPHI))
        .collect();
    loop {
        let computed = computed(&counters, head, body);
        let others: HashSet<Value> = counters
            .iter()
            .filter(|&&counter| !goes_on_by_itself(counter, body, &computed))
            .copied()
            .chain(spoilt(&computed, body, pauses))
            .collect();
        if others.is_empty() {
            return counters;
        }
        counters.retain(|counter| !others.contains(counter));
    }
}

/// Is a block part of a loop inside of this one?
fn comes_back(block: Block, head: Block, body: &Blocks) -> bool {
    block != head && reached(block, |next| body.contains(&next) && next != head).contains(&block)
}

/// The blocks that are come to from one, as far as that leads.
fn reached(from: Block, leads: impl Fn(Block) -> bool) -> Blocks {
    let mut reached = Blocks::new();
    let mut pending = successors(from);
    while let Some(block) = pending.pop() {
        if leads(block) && reached.insert(block) {
            pending.extend(successors(block));
        }
    }
    reached
}

/// All in the loop that depends on nothing but these and constants.
fn computed(counters: &HashSet<Value>, head: Block, body: &Blocks) -> Computed {
    let itself = |&counter: &Value| (counter, HashSet::from([counter]));
    let mut computed: Computed = counters.iter().map(itself).collect();
    let mut grew = true;
    while grew {
        grew = false;
        for block in body {
            for value in block.instructions() {
                if computed.contains_key(&value) || !computes(value, head) {
                    continue;
                }
                let mut from = HashSet::new();
                let known =
                    operands(value)
                        .into_iter()
                        .all(|operand| match computed.get(&operand) {
                            Some(sources) => {
                                from.extend(sources.iter().copied());
                                true
                            }
                            None => is_fixed(operand, body),
                        });
                if known && !from.is_empty() {
                    computed.insert(value, from);
                    grew = true;
                }
            }
        }
    }
    computed
}

/// A constant, or a value from before the loop.
fn is_fixed(value: Value, body: &Blocks) -> bool {
    value.opcode().is_none() || !body.contains(&value.block())
}

fn computes(value: Value, head: Block) -> bool {
    match value.opcode() {
        Some(LLVMOpcode::LLVMPHI) => value.block() != head,
        Some(
            LLVMOpcode::LLVMAdd
            | LLVMOpcode::LLVMSub
            | LLVMOpcode::LLVMMul
            | LLVMOpcode::LLVMShl
            | LLVMOpcode::LLVMLShr
            | LLVMOpcode::LLVMAShr
            | LLVMOpcode::LLVMAnd
            | LLVMOpcode::LLVMOr
            | LLVMOpcode::LLVMXor
            | LLVMOpcode::LLVMICmp
            | LLVMOpcode::LLVMSelect
            | LLVMOpcode::LLVMZExt
            | LLVMOpcode::LLVMSExt
            | LLVMOpcode::LLVMTrunc
            | LLVMOpcode::LLVMFreeze,
        ) => true,
        _ => false,
    }
}

fn operands(value: Value) -> Vec<Value> {
    match value.is_opcode(LLVMOpcode::LLVMPHI) {
        true => value
            .incoming()
            .into_iter()
            .map(|(value, _)| value)
            .collect(),
        false => (0..value.operand_count())
            .map(|at| value.operand(at))
            .collect(),
    }
}

/// Is its next value computed from counters alone?
fn goes_on_by_itself(counter: Value, body: &Blocks, computed: &Computed) -> bool {
    let mut next = counter.incoming().into_iter();
    next.all(|(value, from)| {
        !body.contains(&from) || computed.contains_key(&value) || is_fixed(value, body)
    })
}

/// The counters of which something comes to be known.
fn spoilt(computed: &Computed, body: &Blocks, pauses: &HashSet<Value>) -> HashSet<Value> {
    let mut spoilt = HashSet::new();
    for (value, sources) in computed {
        let harmless = value.users().into_iter().all(|user| {
            let counts = body.contains(&user.block()) && computed.contains_key(&user);
            counts
                || user.is_opcode(LLVMOpcode::LLVMBr)
                    && decides(user, body, computed, pauses) != Decides::Something
        });
        if !harmless {
            spoilt.extend(sources.iter().copied());
        }
    }
    spoilt
}

/// What a branch chooses.
#[derive(PartialEq)]
enum Decides {
    /// Between ways that come together with nothing done, or how often a loop inside goes round that only lets time pass.
    Nothing,
    /// Whether the loop ends.
    TheEnd,
    Something,
}

fn decides(branch: Value, body: &Blocks, computed: &Computed, pauses: &HashSet<Value>) -> Decides {
    let from = branch.block();
    if !body.contains(&from) {
        return Decides::Something;
    }
    let ways = successors(from);
    if ways.iter().any(|&way| !body.contains(&leads(from, way))) {
        return Decides::TheEnd;
    }
    if pausing_loop(from, computed, pauses).is_some() {
        return Decides::Nothing;
    }
    let [one, other] = ways[..] else {
        return Decides::Something;
    };
    let one = follow(from, one, computed, pauses);
    let other = follow(from, other, computed, pauses);
    let meets = |&(block, last): &(Block, Block)| {
        let there = other.iter().find(|(way, _)| *way == block);
        there.map(|&(_, other)| (block, [last, other]))
    };
    let Some((meet, lasts)) = one.iter().find_map(meets) else {
        return Decides::Something;
    };
    // What is chosen where they meet is the same for both, or a counter.
    let phis = meet.instructions().into_iter();
    let same = phis
        .take_while(|value| value.is_opcode(LLVMOpcode::LLVMPHI))
        .all(|phi| {
            let incoming = phi.incoming();
            let comes = |block: Block| incoming.iter().find(|(_, from)| *from == block);
            let values: HashSet<Value> = lasts
                .iter()
                .filter_map(|&last| comes(last).map(|(value, _)| *value))
                .collect();
            values.len() == 1 || computed.contains_key(&phi)
        });
    match same {
        true => Decides::Nothing,
        false => Decides::Something,
    }
}

/// Where a loop ends that a block is part of, and from which of its blocks, if all it does is to let time pass.
fn pausing_loop(
    block: Block,
    computed: &Computed,
    pauses: &HashSet<Value>,
) -> Option<(Block, Block)> {
    let idle = |at: Block| {
        let instructions = at.instructions();
        instructions
            .iter()
            .all(|&instruction| passes_time(instruction, computed, pauses))
    };
    let forward = reached(block, idle);
    if !forward.contains(&block) {
        return None;
    }
    // Of what is come to, that which leads back.
    let within: Blocks = forward
        .iter()
        .filter(|&&at| at == block || reached(at, |next| forward.contains(&next)).contains(&block))
        .copied()
        .collect();
    if within.len() > MOST_PAUSING {
        return None;
    }
    let leaves = within.iter().flat_map(|&at| {
        let ways = successors(at).into_iter();
        ways.map(move |way| (way, at))
    });
    let leaves: Vec<(Block, Block)> = leaves.filter(|(way, _)| !within.contains(way)).collect();
    match leaves[..] {
        [only] => Some(only),
        _ => None,
    }
}

/// A branch, something that counters say, or a call that lets time pass.
fn passes_time(instruction: Value, computed: &Computed, pauses: &HashSet<Value>) -> bool {
    computed.contains_key(&instruction)
        || match instruction.opcode() {
            Some(LLVMOpcode::LLVMBr) => true,
            Some(LLVMOpcode::LLVMCall | LLVMOpcode::LLVMInvoke) => {
                instruction.is_unused() && is_pause(instruction, pauses)
            }
            _ => false,
        }
}

/// The functions of a module that do nothing but let time pass.
pub(crate) fn pausing(functions: &[Value]) -> HashSet<Value> {
    let mut pausing = HashSet::new();
    loop {
        let pauses = |function: &&Value| {
            // What is only there for inlining may be something else where it is linked.
            !function.is_defined_elsewhere()
                && !pausing.contains(*function)
                && function
                    .blocks()
                    .into_iter()
                    .all(|block| does_nothing(block, &pausing))
        };
        let more: Vec<Value> = functions.iter().filter(pauses).copied().collect();
        if more.is_empty() {
            return pausing;
        }
        pausing.extend(more);
    }
}

fn does_nothing(block: Block, pauses: &HashSet<Value>) -> bool {
    let instructions = block.instructions();
    // Whoever lets time pass throws nothing.
    let lands = instructions.first();
    lands.is_some_and(|first| first.is_opcode(LLVMOpcode::LLVMLandingPad))
        || instructions
            .iter()
            .all(|&instruction| match instruction.opcode() {
                Some(LLVMOpcode::LLVMCall | LLVMOpcode::LLVMInvoke) => {
                    is_pause(instruction, pauses)
                }
                Some(LLVMOpcode::LLVMRet | LLVMOpcode::LLVMBr | LLVMOpcode::LLVMAlloca) => true,
                _ => false,
            })
}

/// Does it only say something to compilers?
fn is_mark(callee: Value) -> bool {
    let name = callee.name();
    callee.is_intrinsic() && (name.starts_with("llvm.dbg.") || name.starts_with("llvm.lifetime."))
}

/// Does a call only let time pass?
fn is_pause(call: Value, pauses: &HashSet<Value>) -> bool {
    let callee = call.callee();
    if callee.is_inline_asm() {
        return PAUSES.contains(&callee.asm_text().trim());
    }
    let name = callee.name();
    if callee.is_intrinsic() {
        return is_mark(callee) || name.ends_with(".pause");
    }
    pauses.contains(&callee)
        || callee.is_function()
            && callee.is_declaration()
            && matches!(name.as_str(), "sched_yield" | "thrd_yield")
}

/// Where a way leads that first comes to blocks in which nothing is done but going on by whence they were come to: `i < n && …`, and the ends of
/// blocks with variables of their own.
fn leads(from: Block, way: Block) -> Block {
    let (mut from, mut way) = (from, way);
    for _ in 0..MOST_BLOCKS {
        match leads_on(from, way) {
            Some(next) => (from, way) = (way, next),
            None => break,
        }
    }
    way
}

fn leads_on(from: Block, block: Block) -> Option<Block> {
    let instructions = block.instructions();
    let (end, before) = instructions.split_last()?;
    let marks = |value: &Value| {
        value.is_opcode(LLVMOpcode::LLVMPHI)
            || value.is_opcode(LLVMOpcode::LLVMCall) && is_mark(value.callee())
    };
    if !before.iter().all(marks) {
        return None;
    }
    let ways = successors(block);
    let chosen = |value: Value| {
        let phi = before.iter().find(|&&phi| phi == value)?;
        let incoming = phi.is_opcode(LLVMOpcode::LLVMPHI).then(|| phi.incoming())?;
        let (value, _) = incoming.into_iter().find(|(_, block)| *block == from)?;
        value.constant_int()
    };
    match (end.opcode()?, &ways[..]) {
        (LLVMOpcode::LLVMBr, &[next]) => Some(next),
        (LLVMOpcode::LLVMBr, &[then, otherwise]) => match chosen(end.operand(0))? {
            0 => Some(otherwise),
            _ => Some(then),
        },
        (LLVMOpcode::LLVMSwitch, &[otherwise, ..]) => {
            let chosen = chosen(end.operand(0))?;
            let case = (1..ways.len())
                .find(|&case| end.operand(2 * case as u32).constant_int() == Some(chosen));
            Some(case.map_or(otherwise, |case| ways[case]))
        }
        _ => None,
    }
}

/// The blocks on a way, each with the one before it, as long as nothing is done but pausing.
fn follow(
    from: Block,
    way: Block,
    computed: &Computed,
    pauses: &HashSet<Value>,
) -> Vec<(Block, Block)> {
    let mut blocks = vec![(way, from)];
    let mut block = way;
    while blocks.len() < MOST_BLOCKS {
        if let Some((next, last)) = pausing_loop(block, computed, pauses) {
            blocks.push((next, last));
            block = next;
            continue;
        }
        let idle = block.instructions().iter().all(|&instruction| {
            passes_time(instruction, computed, pauses)
                && !instruction.is_opcode(LLVMOpcode::LLVMPHI)
        });
        let ends_in_call = block
            .terminator()
            .is_some_and(|end| end.is_opcode(LLVMOpcode::LLVMInvoke));
        let next = match successors(block)[..] {
            [next] => next,
            [next, _] if ends_in_call => next,
            _ => break,
        };
        if !idle {
            break;
        }
        blocks.push((next, block));
        block = next;
    }
    blocks
}
