//! Calls: which of them are accesses in disguise, and what the others must not promise any more.

use crate::accesses::is_ordinary;
use crate::ir::{OF_FUNCTION, Value};
use crate::module::is_exempt;
use crate::weaver::Weaver;
use crate::{asm, libcalls, memory, serial, x86};
use llvm_sys::LLVMOpcode;

impl Weaver<'_> {
    pub(crate) fn any_call(&mut self, call: Value) {
        let callee = call.callee();
        if callee.is_inline_asm() {
            return asm::weave(self, call);
        }
        if callee.is_intrinsic() {
            let name = callee.name();
            // Intrinsics that access memory never unwind: clang calls them, it never invokes them.
            if call.is_opcode(LLVMOpcode::LLVMCall) && !memory::weave(self, call, &name) {
                x86::weave(self, call, &name);
            }
            return;
        }
        if libcalls::weave(self, call) {
            return;
        }
        if self.is_opaque(callee) {
            asm::opaque(self, call);
        }
        // Who does not tell whether it is the serial thread goes on like any.
        if callee.is_function()
            && callee.is_declaration()
            && callee.name() == "pthread_barrier_wait"
            && !serial::tells(call)
        {
            self.emit.before(call, call);
            let void = self.emit.void();
            self.emit.hook("__lf_unasked", void, &[]);
        }
        if callee.is_function() && callee.is_declaration() && is_told(&callee.name()) {
            call.keep_from_jumping();
        }
        self.checksum_of_pmdk(call);
        self.by_value_arguments(call);
        // A pure function that is instrumented is no longer pure.
        for promise in self.vocabulary.broken_promises {
            call.remove_call_attribute(OF_FUNCTION, promise);
        }
        // The runtime watches strcpy and its like as calls. As builtins the optimiser would later turn them into
        // accesses that nobody watches.
        let arguments = call.arguments();
        let takes_pointer = arguments.iter().any(|argument| argument.ty().is_pointer());
        // A call marked as the builtin `operator delete` cannot be marked as its opposite, and need not be.
        if takes_pointer && !call.has_call_attribute(OF_FUNCTION, self.vocabulary.builtin) {
            call.add_call_attribute(self.emit.context, OF_FUNCTION, self.vocabulary.no_builtin);
        }
    }

    /// A function that is assembly, or that its programmer keeps from being instrumented.
    fn is_opaque(&self, callee: Value) -> bool {
        if !callee.is_function() {
            return false;
        }
        match callee.is_declaration() {
            true => asm::defines(self.assembly, &callee.name()),
            false => is_exempt(self.vocabulary, callee),
        }
    }

    /// A structure passed by value is copied when the call is lowered, after this pass: copy it here, where it is seen.
    fn by_value_arguments(&mut self, call: Value) {
        for index in 0..call.argument_count() {
            let Some(ty) = call.argument_attribute_type(index, self.vocabulary.byval) else {
                continue;
            };
            let pointer = call.operand(index);
            if !is_ordinary(pointer) || self.escapes.is_volatile_memory(pointer) {
                continue;
            }
            let site = self.sites.of(call);
            let copy = self.private_copy(ty, call);
            self.emit.before(call, call);
            let (void, bytes) = (
                self.emit.void(),
                self.emit.u64(self.emit.allocated_bytes(ty)),
            );
            self.emit
                .hook("__lf_memcpy", void, &[copy, pointer, bytes, site]);
            call.set_operand(index, copy);
        }
    }
}

/// Functions whose accesses are told as made by their call, which must then be on the stack.
fn is_told(name: &str) -> bool {
    let begins = ["lf_", "pmem_", "mem", "str", "stp", "wcs", "wmem"];
    begins.iter().any(|begin| name.starts_with(begin))
}
