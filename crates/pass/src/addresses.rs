//! Where an address becomes a number: a program that computes with it may tell threads apart that are alike otherwise, since their stacks,
//! their thread-local variables and their heaps lie elsewhere.

use crate::ir::{Value, split_rare};
use crate::weaver::Weaver;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};

impl Weaver<'_> {
    /// `if (several threads run) __lf_number(address)` before an address becomes a number.
    pub(crate) fn address_as_number(&mut self, instruction: Value) {
        let address = instruction.operand(0);
        let pointer = self.emit.pointer();
        if address.ty() != pointer || is_difference(instruction) {
            return;
        }
        let number = self.emit.int(64);
        self.emit.before(instruction, instruction);
        let window = self.emit.runtime_variable(c"__lf_window", number);
        let watched = self.emit.compare(
            LLVMIntPredicate::LLVMIntEQ,
            self.emit.load(number, window),
            self.emit.u64(u64::MAX),
        );
        let rare = split_rare(instruction, watched);
        self.emit.before(rare, instruction);
        let void = self.emit.void();
        self.emit.hook("__lf_number", void, &[address]);
    }
}

/// How far one address is from another is the same for all threads.
fn is_difference(number: Value) -> bool {
    let is_number = |value: Value| value.is_opcode(LLVMOpcode::LLVMPtrToInt);
    number.users().into_iter().all(|user| {
        user.is_opcode(LLVMOpcode::LLVMSub)
            && is_number(user.operand(0))
            && is_number(user.operand(1))
    })
}
