//! Local variables whose addresses others may know: where they begin and end, a function says while several threads run. Whoever touches one
//! from another thread, behind the function's back, touches what is not there any more.

use crate::ir::{Value, attribute_kind, split_rare};
use crate::weaver::Weaver;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};

/// A variable, and its length in bytes.
pub(crate) type Local = (Value, u64);

impl Weaver<'_> {
    /// Variables of the function that others may know. To be asked before anything is instrumented: hooks know them, too.
    pub(crate) fn known_locals(&mut self) -> Vec<Local> {
        // What a coroutine has is not on the stack.
        if self
            .function
            .has_function_attribute(attribute_kind("presplitcoroutine"))
        {
            return Vec::new();
        }
        let first = self.function.blocks()[0].instructions();
        let fixed = first.into_iter().filter(|value| {
            value.is_opcode(LLVMOpcode::LLVMAlloca) && value.operand(0).constant_int() == Some(1)
        });
        let known: Vec<Value> = fixed
            .filter(|&value| !self.escapes.is_private(value))
            .collect();
        let long = |value: Value| self.emit.allocated_bytes(value.allocated_type());
        known
            .into_iter()
            .map(|value| (value, long(value)))
            .collect()
    }

    /// Tells the runtime where these variables begin and end.
    pub(crate) fn announce_frame(&mut self, locals: &[Local]) {
        if locals.is_empty() {
            return;
        }
        let leaves = [LLVMOpcode::LLVMRet, LLVMOpcode::LLVMResume];
        let ends = self.function.blocks().into_iter();
        let ends: Vec<Value> = ends
            .filter_map(|block| block.terminator())
            .filter(|end| end.opcode().is_some_and(|opcode| leaves.contains(&opcode)))
            .filter(|end| !end.follows_jump())
            .collect();
        for end in ends {
            self.say_of_frame("__lf_frame_ends", end, locals);
        }
        let entry = self.function.entry_point();
        self.say_of_frame("__lf_frame_begins", entry, locals);
    }

    /// Calls that come back when somebody jumps to them. To be asked before anything is instrumented.
    pub(crate) fn jumped_to(&self) -> Vec<Value> {
        let twice = attribute_kind("returns_twice");
        let calls = self.function.blocks().into_iter();
        let calls = calls.flat_map(|block| block.instructions());
        calls
            .filter(|call| call.is_opcode(LLVMOpcode::LLVMCall))
            .filter(|call| {
                let callee = call.callee();
                callee.is_function() && callee.has_function_attribute(twice)
            })
            .collect()
    }

    /// Tells the runtime that whoever was called from here, and has not returned, was left by a jump.
    pub(crate) fn announce_jumps(&mut self, calls: &[Value]) {
        for call in calls {
            let behind = call.next();
            let rare = self.while_several(behind);
            self.emit.before(rare, behind);
            let void = self.emit.void();
            self.emit.hook("__lf_frames_left", void, &[]);
        }
    }

    /// `if ((long)__lf_window < 0)`, before `at`.
    fn while_several(&mut self, at: Value) -> Value {
        let number = self.emit.int(64);
        let window = self.emit.runtime_variable(c"__lf_window", number);
        self.emit.before(at, at);
        let window = self.emit.load(number, window);
        let less = LLVMIntPredicate::LLVMIntSLT;
        let several = self.emit.compare(less, window, number.zero());
        split_rare(at, several)
    }

    /// Then for each of them a call.
    fn say_of_frame(&mut self, hook: &str, at: Value, locals: &[Local]) {
        let rare = self.while_several(at);
        self.emit.before(rare, at);
        let void = self.emit.void();
        for &(local, bytes) in locals {
            let bytes = self.emit.u64(bytes);
            self.emit.hook(hook, void, &[local, bytes]);
        }
    }
}
