//! Read-modify-write, compare-and-exchange, fences.

use crate::accesses::{Flags, Shape, is_ordinary};
use crate::ir::Value;
use crate::weaver::Weaver;
use llvm_sys::LLVMIntPredicate;

impl Weaver<'_> {
    pub(crate) fn atomic_rmw(&mut self, rmw: Value) {
        let (pointer, operand) = (rmw.operand(0), rmw.operand(1));
        if !is_ordinary(pointer) || self.escapes.is_private(pointer) {
            return self.locked(rmw);
        }
        let Some(Shape::Register(bytes)) = Shape::of(self.emit, operand.ty()) else {
            self.locked(rmw);
            return self.warnings.at(
                rmw,
                "an atomic operation on this type is not seen by Landfall",
            );
        };
        let site = self.sites.of(rmw);
        self.emit.before(rmw, rmw);
        let word = self.emit.word(operand, bytes);
        let operation = self.emit.u32(rmw.rmw_operation());
        let flags = Flags::of(rmw.ordering(), rmw.is_volatile(), false).word(self.emit);
        let old = self.emit.hook(
            &format!("__lf_rmw{bytes}"),
            word.ty(),
            &[pointer, word, operation, flags, site],
        );
        rmw.replace_uses_with(self.emit.typed(old, rmw.ty()));
        rmw.erase();
    }

    pub(crate) fn compare_exchange(&mut self, exchange: Value) {
        let (pointer, expected, desired) = (
            exchange.operand(0),
            exchange.operand(1),
            exchange.operand(2),
        );
        if !is_ordinary(pointer) || self.escapes.is_private(pointer) {
            return self.locked(exchange);
        }
        let Some(Shape::Register(bytes)) = Shape::of(self.emit, expected.ty()) else {
            self.locked(exchange);
            return self.warnings.at(
                exchange,
                "a compare-and-exchange on this type is not seen by Landfall",
            );
        };
        let site = self.sites.of(exchange);
        self.emit.before(exchange, exchange);
        let (expected_word, desired_word) = (
            self.emit.word(expected, bytes),
            self.emit.word(desired, bytes),
        );
        let flags = Flags::of(exchange.success_ordering(), exchange.is_volatile(), false)
            .or_fails(exchange.failure_ordering())
            .word(self.emit);
        let arguments = [pointer, expected_word, desired_word, flags, site];
        let old = self
            .emit
            .hook(&format!("__lf_cas{bytes}"), expected_word.ty(), &arguments);
        let succeeded = self
            .emit
            .compare(LLVMIntPredicate::LLVMIntEQ, old, expected_word);
        let old = self.emit.typed(old, expected.ty());
        let result = self.emit.insert(exchange.ty().poison(), old, 0);
        let result = self.emit.insert(result, succeeded, 1);
        exchange.replace_uses_with(result);
        exchange.erase();
    }

    /// A locked instruction on memory that is nobody else's business: it stays as it is, but what it does to the thread's stores and
    /// write-backs does not depend on its operand. (LLVM keeps every read-modify-write, also of a local variable. A local that is
    /// only loaded and stored it keeps in a register, atomic or not; such a store is gone by now, unless it is volatile.)
    pub(crate) fn locked(&mut self, instruction: Value) {
        let site = self.sites.of(instruction);
        self.emit.before(instruction, instruction);
        let void = self.emit.void();
        self.emit.hook("__lf_locked", void, &[site]);
    }

    pub(crate) fn fence(&mut self, fence: Value) {
        // atomic_signal_fence only holds back the compiler, which a hook call does as well.
        if fence.is_single_thread() {
            return;
        }
        let site = self.sites.of(fence);
        self.emit.before(fence, fence);
        let (void, ordering) = (self.emit.void(), self.emit.u32(fence.ordering() as u32));
        self.emit.hook("__lf_fence", void, &[ordering, site]);
        fence.erase();
    }
}
