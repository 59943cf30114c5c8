//! One function being instrumented. What is done to each kind of instruction is in the module of that kind.

use crate::emit::Emit;
use crate::escape::Escapes;
use crate::ir::{Type, Value};
use crate::sites::Sites;
use crate::vocabulary::Vocabulary;
use crate::warnings::Warnings;
use llvm_sys::LLVMOpcode;
use std::collections::{HashMap, HashSet};

/// What the whole module shares.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) emit: Emit,
    pub(crate) sites: Sites,
    pub(crate) warnings: Warnings,
    pub(crate) vocabulary: Vocabulary,
    /// Functions that do nothing but let time pass.
    pub(crate) pauses: HashSet<Value>,
    /// Outside of functions.
    pub(crate) assembly: String,
    pub(crate) optimised_later: bool,
    /// There are hardware transactions.
    pub(crate) transacts: bool,
}

#[derive(Debug)]
pub(crate) struct Weaver<'m> {
    pub(crate) emit: &'m mut Emit,
    pub(crate) sites: &'m mut Sites,
    pub(crate) warnings: &'m mut Warnings,
    pub(crate) vocabulary: &'m Vocabulary,
    pub(crate) pauses: &'m HashSet<Value>,
    pub(crate) assembly: &'m str,
    /// The optimiser comes after us.
    pub(crate) optimised_later: bool,
    pub(crate) transacts: bool,
    pub(crate) function: Value,
    pub(crate) escapes: Escapes,
    /// Stack slots that hand values to hooks by address: one per type, since each is used up at once.
    slots: HashMap<(Type, SlotUse), Value>,
}

/// Two values of one type may be on their way to one hook.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum SlotUse {
    Data,
    Mask,
    Addresses,
}

impl<'m> Weaver<'m> {
    pub(crate) fn new(shared: &'m mut Shared, function: Value) -> Self {
        let Shared {
            emit,
            sites,
            warnings,
            vocabulary,
            pauses,
            assembly,
            optimised_later,
            transacts,
        } = shared;
        Self {
            emit,
            sites,
            warnings,
            vocabulary,
            pauses,
            assembly,
            optimised_later: *optimised_later,
            transacts: *transacts,
            function,
            escapes: Escapes::default(),
            slots: HashMap::new(),
        }
    }

    /// Instruments every instruction the function has now; those added on the way are ours.
    pub(crate) fn weave(mut self, trusted: bool) {
        let instructions: Vec<Value> = self
            .function
            .blocks()
            .into_iter()
            .flat_map(|block| block.instructions())
            .collect();
        let loop_ends = crate::budget::loop_ends(self.function);
        // Asking gathers the fixed allocas at the top, which must happen before any block is split.
        self.function.entry_point();
        let locals = self.known_locals();
        let jumped_to = self.jumped_to();
        let heads = self.loop_heads(&loop_ends);
        self.announce_turns(&heads);
        for instruction in instructions {
            self.instruction(instruction);
        }
        for terminator in loop_ends {
            self.charge_budget(terminator);
        }
        self.announce_frame(&locals);
        self.announce_jumps(&jumped_to);
        let entry = self.function.entry_point();
        self.charge_budget(entry);
        self.verifier_function();
        if trusted {
            self.trusted_function();
        }
    }

    fn instruction(&mut self, instruction: Value) {
        if self.transacts && crate::x86::is_x87(instruction) {
            crate::x86::aborts(self, instruction);
        }
        match instruction.opcode() {
            Some(LLVMOpcode::LLVMLoad) => self.load(instruction),
            Some(LLVMOpcode::LLVMStore) => self.store(instruction),
            Some(LLVMOpcode::LLVMAtomicRMW) => self.atomic_rmw(instruction),
            Some(LLVMOpcode::LLVMAtomicCmpXchg) => self.compare_exchange(instruction),
            Some(LLVMOpcode::LLVMFence) => self.fence(instruction),
            Some(LLVMOpcode::LLVMCall | LLVMOpcode::LLVMInvoke | LLVMOpcode::LLVMCallBr) => {
                self.any_call(instruction)
            }
            Some(LLVMOpcode::LLVMPtrToInt) => self.address_as_number(instruction),
            _ => {}
        }
    }

    /// A stack slot of this type at the top of the function.
    pub(crate) fn slot(&mut self, ty: Type, slot_use: SlotUse, origin: Value) -> Value {
        if let Some(known) = self.slots.get(&(ty, slot_use)) {
            return *known;
        }
        let top = self.function.blocks()[0].first();
        self.emit.before(top, origin);
        let slot = self.emit.local(ty);
        self.slots.insert((ty, slot_use), slot);
        slot
    }

    /// A fresh stack slot: two arguments of one call may need one each.
    pub(crate) fn private_copy(&mut self, ty: Type, origin: Value) -> Value {
        let top = self.function.blocks()[0].first();
        self.emit.before(top, origin);
        self.emit.local(ty)
    }
}
