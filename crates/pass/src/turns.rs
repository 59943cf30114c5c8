//! Loops that may wait: at each place that a loop jumps back to, the runtime is told what the function keeps there for later, so that
//! it knows a turn that ended where it began (docs/design/runtime.md).
//!
//! What a function keeps is what is read later: local variables that nobody else can know (an address that is known is seen by the hooks),
//! and values in registers. Nothing of it is changed: an optimiser that comes later may still keep it where it likes.

use crate::accesses::Shape;
use crate::budget::successors;
use crate::counts::{Counters, exits};
use crate::escape::is_harmless_intrinsic;
use crate::ir::{Block, Value, split_rare};
use crate::waits;
use crate::weaver::Weaver;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};
use std::collections::{HashMap, HashSet};

/// More than this is not looked at: such a loop never waits, and is explored turn by turn.
const MOST_BYTES: u64 = 2048;
/// The number of the activation comes first.
const ACTIVATION: u64 = 8;

/// A place that is jumped back to.
pub(crate) struct LoopHead {
    pub(crate) at: Value,
    /// What only counts how often the loop went round comes last.
    pub(crate) kept: Vec<Kept>,
    bytes: u64,
    counted: u64,
    /// What comes right behind it, if turns are counted.
    exits: Vec<Value>,
}

/// Something that a function keeps.
#[derive(Clone, Copy)]
pub(crate) enum Kept {
    /// A local variable, of so many bytes.
    Variable(Value, u64),
    Register(Value, u64),
}

impl Kept {
    fn bytes(self) -> u64 {
        match self {
            Kept::Variable(_, bytes) | Kept::Register(_, bytes) => bytes,
        }
    }

    fn is_one_of(self, registers: &HashSet<Value>) -> bool {
        matches!(self, Kept::Register(value, _) if registers.contains(&value))
    }
}

type Blocks = HashSet<Block>;

/// What a walk over a function finds.
struct Flow {
    blocks: Vec<Block>,
    before: HashMap<Block, Vec<Block>>,
}

impl Flow {
    fn of(function: Value) -> Flow {
        let blocks = function.blocks();
        let mut before: HashMap<Block, Vec<Block>> = HashMap::new();
        for &block in &blocks {
            for next in successors(block) {
                before.entry(next).or_default().push(block);
            }
        }
        Flow { blocks, before }
    }

    fn before(&self, block: Block) -> &[Block] {
        self.before.get(&block).map_or(&[], Vec::as_slice)
    }

    /// The blocks of a loop: from where it jumps back, against the flow, to its head.
    fn body(&self, head: Block, ends: &[Block]) -> Blocks {
        let mut body = Blocks::from([head]);
        let mut pending: Vec<Block> = ends.to_vec();
        while let Some(block) = pending.pop() {
            if body.insert(block) {
                pending.extend(self.before(block));
            }
        }
        body
    }

    /// Blocks at whose beginning something lives that is used at the beginning of these, and set at the end of those in `sets`.
    fn lives(&self, uses: Vec<Block>, sets: &Blocks) -> Blocks {
        let mut live = Blocks::new();
        let mut pending = uses;
        while let Some(block) = pending.pop() {
            if live.insert(block) {
                let into = self.before(block).iter().copied();
                pending.extend(into.filter(|earlier| !sets.contains(earlier)));
            }
        }
        live
    }
}

impl Weaver<'_> {
    /// The heads of the loops that touch anything others can see.
    pub(crate) fn loop_heads(&mut self, ends: &[Value]) -> Vec<LoopHead> {
        if ends.is_empty() {
            return Vec::new();
        }
        let flow = Flow::of(self.function);
        let mut heads: Vec<(Block, Vec<Block>)> = Vec::new();
        let order: HashMap<Block, usize> = enter_order(self.function);
        for end in ends.iter().map(|end| end.block()) {
            for head in successors(end) {
                // Where it jumps back to: entered before, or itself.
                if order.get(&head) > order.get(&end) {
                    continue;
                }
                match heads.iter_mut().find(|(known, _)| *known == head) {
                    Some((_, ends)) => ends.push(end),
                    None => heads.push((head, vec![end])),
                }
            }
        }
        heads.retain(|(head, ends)| {
            let body = flow.body(*head, ends);
            body.iter()
                .any(|block| block.instructions().into_iter().any(|i| self.is_seen(i)))
        });
        if heads.is_empty() {
            return Vec::new();
        }
        let Some(kept) = self.kept(&flow) else {
            return Vec::new();
        };
        let place = |(head, ends): (Block, Vec<Block>)| {
            let at = head
                .instructions()
                .into_iter()
                .find(|instruction| !instruction.is_opcode(LLVMOpcode::LLVMPHI))?;
            let pads = [
                LLVMOpcode::LLVMLandingPad,
                LLVMOpcode::LLVMCatchPad,
                LLVMOpcode::LLVMCleanupPad,
                LLVMOpcode::LLVMCatchSwitch,
            ];
            if at.opcode().is_some_and(|opcode| pads.contains(&opcode)) {
                return None;
            }
            let lives = |(_, live): &&(Kept, Option<Blocks>)| {
                live.as_ref().is_none_or(|live| live.contains(&head))
            };
            let body = flow.body(head, &ends);
            let counters = Counters::of(head, &body, self.pauses);
            let kept = kept.iter().filter(lives).map(|(kept, _)| *kept);
            let (counted, mut kept): (Vec<Kept>, Vec<Kept>) = kept
                .filter(|kept| !kept.is_one_of(&counters.idle))
                .partition(|kept| kept.is_one_of(&counters.bounds));
            let bytes_of = |kept: &[Kept]| kept.iter().map(|kept| kept.bytes()).sum();
            let (bytes, counted_bytes): (u64, u64) = (bytes_of(&kept), bytes_of(&counted));
            kept.extend(counted);
            (bytes + counted_bytes <= MOST_BYTES).then_some(LoopHead {
                at,
                kept,
                bytes,
                counted: counted_bytes,
                exits: match counted_bytes {
                    0 => Vec::new(),
                    _ => exits(&body),
                },
            })
        };
        heads.into_iter().filter_map(place).collect()
    }

    /// Can others see it, or it them?
    fn is_seen(&mut self, instruction: Value) -> bool {
        match instruction.opcode() {
            Some(LLVMOpcode::LLVMLoad) => {
                !self.escapes.is_private_or_constant(instruction.operand(0))
            }
            Some(LLVMOpcode::LLVMStore) => !self.escapes.is_private(instruction.operand(1)),
            Some(
                LLVMOpcode::LLVMAtomicRMW | LLVMOpcode::LLVMAtomicCmpXchg | LLVMOpcode::LLVMFence,
            ) => true,
            Some(LLVMOpcode::LLVMCall | LLVMOpcode::LLVMInvoke | LLVMOpcode::LLVMCallBr) => {
                !(instruction.is_opcode(LLVMOpcode::LLVMCall) && is_harmless_intrinsic(instruction))
            }
            _ => false,
        }
    }

    /// All that the function keeps from one block to another, and in which blocks it is wanted from their beginning on; always, where
    /// nobody says. `None` if there is something of unknown size.
    fn kept(&mut self, flow: &Flow) -> Option<Vec<(Kept, Option<Blocks>)>> {
        let mut kept = Vec::new();
        for &block in &flow.blocks {
            for value in block.instructions() {
                if value.is_opcode(LLVMOpcode::LLVMAlloca) {
                    if self.escapes.is_private(value) {
                        let count = value.operand(0).constant_int()?;
                        let each = self.emit.allocated_bytes(value.allocated_type());
                        let bytes = each.checked_mul(u64::try_from(count).ok()?)?;
                        let live = is_whole(value, bytes, |ty| self.emit.stored_bytes(ty))
                            .then(|| variable_lives(flow, value));
                        if live.as_ref().is_none_or(|live| !live.is_empty()) {
                            kept.push((Kept::Variable(value, bytes), live));
                        }
                    }
                    continue;
                }
                let Some(live) = register_lives(flow, value) else {
                    continue;
                };
                Shape::of(self.emit, value.ty())?;
                let bytes = self.emit.stored_bytes(value.ty());
                kept.push((Kept::Register(value, bytes), Some(live)));
            }
        }
        Some(kept)
    }

    /// `if (several threads run) __lf_turn(number, kept, bytes, counted)` at each head; where the function begins, it is a new activation. The same
    /// before calls that wait and then come to a head.
    pub(crate) fn announce_turns(&mut self, heads: &[LoopHead]) {
        let waits = waits::looping(self.function, heads);
        let all = |head: &LoopHead| head.bytes + head.counted;
        let Some(most) = heads.iter().map(all).max() else {
            return;
        };
        let byte = self.emit.int(8);
        let room = self.emit.array(byte, ACTIVATION + most.next_multiple_of(8));
        let origin = heads[0].at;
        let room = self.private_copy(room, origin);
        room.align(8);
        let entry = self.function.entry_point();
        self.emit.before(entry, entry);
        self.emit.store(self.emit.u64(0), room);
        for wait in &waits {
            let kept = (room, &wait.kept[..]);
            self.announce(
                "__lf_waits",
                wait.call,
                kept,
                (wait.head, &heads[wait.head]),
            );
        }
        // First, so that it comes before the turn of a loop that begins there.
        let mut known = HashSet::new();
        let exits = heads.iter().flat_map(|head| head.exits.iter().copied());
        for exit in exits.filter(|&exit| known.insert(exit)) {
            let rare = self.when_several_run(exit);
            self.emit.before(rare, exit);
            let void = self.emit.void();
            self.emit.hook("__lf_leaves_loop", void, &[]);
        }
        for (index, head) in heads.iter().enumerate() {
            self.announce("__lf_turn", head.at, (room, &head.kept), (index, head));
        }
    }

    /// `if (several threads run) hook` before an instruction: where what follows goes.
    fn when_several_run(&mut self, at: Value) -> Value {
        let number = self.emit.int(64);
        self.emit.before(at, at);
        let window = self.emit.runtime_variable(c"__lf_window", number);
        let watched = self.emit.compare(
            LLVMIntPredicate::LLVMIntEQ,
            self.emit.load(number, window),
            self.emit.u64(u64::MAX),
        );
        split_rare(at, watched)
    }

    /// One of them.
    fn announce(
        &mut self,
        hook: &str,
        at: Value,
        (room, kept): (Value, &[Kept]),
        (index, head): (usize, &LoopHead),
    ) {
        let (byte, void) = (self.emit.int(8), self.emit.void());
        let site = self.sites.of(at);
        let rare = self.when_several_run(at);
        self.emit.before(rare, at);
        let mut offset = ACTIVATION;
        for kept in kept {
            let to = self.emit.offset(byte, room, self.emit.u64(offset));
            match *kept {
                Kept::Register(value, _) => {
                    let store = self.emit.store(value, to);
                    self.emit.as_unaligned(store, false);
                }
                Kept::Variable(variable, bytes) => {
                    let ty = variable.allocated_type();
                    if matches!(Shape::of(self.emit, ty), Some(Shape::Register(_))) {
                        let store = self.emit.store(self.emit.load(ty, variable), to);
                        self.emit.as_unaligned(store, false);
                    } else {
                        self.emit.memcpy(to, variable, self.emit.u64(bytes));
                    }
                }
            }
            offset += kept.bytes();
        }
        let arguments = [
            site,
            self.emit.u64(index as u64 + 1),
            room,
            self.emit.u64(head.bytes),
            self.emit.u64(head.counted),
        ];
        self.emit.hook(hook, void, &arguments);
    }
}

/// When a depth-first walk enters each block.
fn enter_order(function: Value) -> HashMap<Block, usize> {
    let mut order = HashMap::new();
    let mut pending = vec![function.blocks()[0]];
    while let Some(block) = pending.pop() {
        if !order.contains_key(&block) {
            order.insert(block, order.len());
            pending.extend(successors(block));
        }
    }
    order
}

/// Is a variable only loaded, and stored as a whole?
fn is_whole(variable: Value, bytes: u64, stored: impl Fn(crate::ir::Type) -> u64) -> bool {
    variable
        .users()
        .into_iter()
        .all(|user| match user.opcode() {
            Some(LLVMOpcode::LLVMLoad) => true,
            Some(LLVMOpcode::LLVMStore) => {
                user.operand(1) == variable && stored(user.operand(0).ty()) == bytes
            }
            Some(LLVMOpcode::LLVMCall) => is_lifetime(user),
            _ => false,
        })
}

fn is_lifetime(call: Value) -> bool {
    let callee = call.callee();
    callee.is_intrinsic() && callee.name().starts_with("llvm.lifetime.")
}

/// Blocks at whose beginning a variable will be loaded before it is stored.
fn variable_lives(flow: &Flow, variable: Value) -> Blocks {
    let (mut uses, mut sets) = (Vec::new(), Blocks::new());
    let touched: Blocks = variable.users().into_iter().map(Value::block).collect();
    for &block in &touched {
        let mut first = true;
        for instruction in block.instructions() {
            let loads =
                instruction.is_opcode(LLVMOpcode::LLVMLoad) && instruction.operand(0) == variable;
            let stores = instruction.is_opcode(LLVMOpcode::LLVMStore)
                && instruction.operand(1) == variable
                || instruction.is_opcode(LLVMOpcode::LLVMCall)
                    && is_lifetime(instruction)
                    && instruction.arguments().contains(&variable);
            if loads && first {
                uses.push(block);
            }
            if stores {
                sets.insert(block);
            }
            first &= !loads && !stores;
        }
    }
    flow.lives(uses, &sets)
}

/// Blocks at whose beginning a value will be used; `None` if it is not used outside of its block, or is no value.
fn register_lives(flow: &Flow, value: Value) -> Option<Blocks> {
    let home = value.block();
    let mut uses = Vec::new();
    for user in value.users() {
        if user.is_opcode(LLVMOpcode::LLVMPHI) {
            let from = user.incoming().into_iter();
            uses.extend(from.filter(|(of, _)| *of == value).map(|(_, block)| block));
        } else if user.block() != home {
            uses.push(user.block());
        }
    }
    // At the end of its own block it is not wanted from its beginning.
    let is_phi = value.is_opcode(LLVMOpcode::LLVMPHI);
    uses.retain(|block| *block != home);
    if uses.is_empty() && !is_phi {
        return None;
    }
    let mut live = flow.lives(uses, &Blocks::from([home]));
    live.remove(&home);
    if is_phi {
        live.insert(home);
    }
    (!live.is_empty()).then_some(live)
}
