//! Local variables whose addresses others may know: where they begin and end, a function says while several threads run. Whoever touches one
//! from another thread, behind the function's back, touches what is not there any more.

use crate::arrays::Arrays;
use crate::budget::successors;
use crate::escape::is_harmless_intrinsic;
use crate::ir::{Value, attribute_kind, split_rare};
use crate::weaver::Weaver;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};

/// A variable, and its length in bytes.
type Local = (Value, u64);

/// Variables of a function that others may know.
#[derive(Default)]
pub(crate) struct Locals {
    /// Those that live as long as the function does.
    whole: Vec<Local>,
    /// Where a variable of a block begins; and where it ends, with the function as well or not.
    begin: Vec<(Value, Local)>,
    end: Vec<(Value, Local, bool)>,
    pub(crate) arrays: Arrays,
}

impl Weaver<'_> {
    /// To be asked before anything is instrumented: hooks know them, too.
    pub(crate) fn known_locals(&mut self) -> Locals {
        // What a coroutine has is not on the stack.
        if self
            .function
            .has_function_attribute(attribute_kind("presplitcoroutine"))
        {
            return Locals::default();
        }
        let mut locals = Locals::default();
        for value in self.function.blocks()[0].instructions() {
            if !value.is_opcode(LLVMOpcode::LLVMAlloca) || self.escapes.is_private(value) {
                continue;
            }
            let Some(count) = value.operand(0).constant_int() else {
                continue;
            };
            let each = self.emit.allocated_bytes(value.allocated_type());
            let local = (value, each.saturating_mul(count.unsigned_abs()));
            let calls = |name: &'static str| marks(value, name).map(move |call| (call, local));
            let begin: Vec<_> = calls("llvm.lifetime.start").collect();
            match begin.is_empty() {
                true => locals.whole.push(local),
                false => {
                    locals.begin.extend(begin);
                    let ends = calls("llvm.lifetime.end");
                    locals
                        .end
                        .extend(ends.map(|(call, local)| (call, local, is_left_at(call))));
                }
            }
        }
        locals.arrays = self.known_arrays();
        locals
    }

    /// Where the function is left.
    pub(crate) fn leaves(&self) -> Vec<Value> {
        let leaves = [LLVMOpcode::LLVMRet, LLVMOpcode::LLVMResume];
        let ends = self.function.blocks().into_iter();
        ends.filter_map(|block| block.terminator())
            .filter(|end| end.opcode().is_some_and(|opcode| leaves.contains(&opcode)))
            .filter(|end| !end.follows_jump())
            .collect()
    }

    /// Tells the runtime where these variables begin and end.
    pub(crate) fn announce_frame(&mut self, locals: &Locals) {
        for &(at, local, with_function) in &locals.end {
            let hook = match with_function {
                true => "__lf_frame_ends",
                false => "__lf_block_variable_ends",
            };
            self.say_of_frame(hook, at, &[local]);
        }
        for &(at, local) in &locals.begin {
            self.say_of_frame("__lf_frame_begins", at.next(), &[local]);
        }
        self.announce_arrays(&locals.arrays);
        if !locals.whole.is_empty() {
            for end in self.leaves() {
                self.say_of_frame("__lf_frame_ends", end, &locals.whole);
            }
            let entry = self.function.entry_point();
            self.say_of_frame("__lf_frame_begins", entry, &locals.whole);
        }
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
    pub(crate) fn while_several(&mut self, at: Value) -> Value {
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

/// Calls that say where the life of a variable begins, or ends.
fn marks(variable: Value, name: &str) -> impl Iterator<Item = Value> {
    variable
        .users()
        .into_iter()
        .filter(|user| user.is_opcode(LLVMOpcode::LLVMCall))
        .filter(move |call| {
            let callee = call.callee();
            callee.is_intrinsic() && callee.name().starts_with(name)
        })
}

/// Does the function only return from here on? Then it does not matter to people that a block ends first.
pub(crate) fn is_left_at(end: Value) -> bool {
    let mut block = end.block();
    let mut known = vec![block];
    let mut after = Some(end);
    loop {
        for instruction in block.instructions() {
            if let Some(start) = after {
                after = after.filter(|_| instruction != start);
                continue;
            }
            match instruction.opcode() {
                Some(LLVMOpcode::LLVMRet) => return true,
                Some(LLVMOpcode::LLVMPHI | LLVMOpcode::LLVMBr | LLVMOpcode::LLVMLoad) => {}
                Some(LLVMOpcode::LLVMCall) if is_harmless_intrinsic(instruction) => {}
                _ => return false,
            }
        }
        let next = successors(block);
        match next[..] {
            [next] if !known.contains(&next) => block = next,
            _ => return false,
        }
        known.push(block);
    }
}
