//! Arrays of variable length, and what `alloca` gives: they come when the function gets there, and go when their block ends, all at once. What is there is
//! kept in a table of the function's, on its stack.

use crate::frames::is_left_at;
use crate::ir::Value;
use crate::weaver::Weaver;
use llvm_sys::LLVMOpcode;

/// Address and length of an array; both are zero while there is none.
const WORDS: u64 = 2;

/// What others may know.
#[derive(Default)]
pub(crate) struct Arrays {
    known: Vec<Value>,
    /// Where all go that came behind a place on the stack, while the function goes on.
    restores: Vec<Value>,
}

impl Weaver<'_> {
    /// To be asked before anything is instrumented.
    pub(crate) fn known_arrays(&mut self) -> Arrays {
        let mut arrays = Arrays::default();
        for (index, block) in self.function.blocks().into_iter().enumerate() {
            for value in block.instructions() {
                if value.is_opcode(LLVMOpcode::LLVMAlloca) {
                    let fixed = index == 0 && value.operand(0).constant_int().is_some();
                    if !fixed && !self.escapes.is_private(value) {
                        arrays.known.push(value);
                    }
                } else if value.is_opcode(LLVMOpcode::LLVMCall)
                    && value.callee().is_intrinsic()
                    && value.callee().name().starts_with("llvm.stackrestore")
                    && !is_left_at(value)
                {
                    arrays.restores.push(value);
                }
            }
        }
        arrays
    }

    /// Tells the runtime where they come and where they go.
    pub(crate) fn announce_arrays(&mut self, arrays: &Arrays) {
        let Some(&first) = arrays.known.first() else {
            return;
        };
        let (number, void) = (self.emit.int(64), self.emit.void());
        let count = arrays.known.len() as u64;
        let ty = self.emit.array(number, WORDS * count);
        let table = self.private_copy(ty, first);
        let ends = self.leaves();
        for (index, &array) in arrays.known.iter().enumerate() {
            self.emit.before(array.next(), array);
            let entries = self.emit.resize(array.operand(0), number);
            let each = self.emit.allocated_bytes(array.allocated_type());
            let each = self.emit.u64(each);
            let length = self.emit.binary(LLVMOpcode::LLVMMul, entries, each);
            let entry = self.emit.u64(WORDS * index as u64);
            let entry = self.emit.offset(number, table, entry);
            let arguments = [entry, array, length];
            self.emit.hook("__lf_array_begins", void, &arguments);
        }
        let count = self.emit.u64(count);
        for &restore in &arrays.restores {
            self.emit.before(restore, restore);
            let arguments = [table, count, restore.operand(0)];
            self.emit.hook("__lf_arrays_end", void, &arguments);
        }
        for end in ends {
            let rare = self.while_several(end);
            self.emit.before(rare, end);
            self.emit.hook("__lf_arrays_return", void, &[table, count]);
        }
        let entry = self.function.entry_point();
        self.emit.before(entry, entry);
        for at in 0..arrays.known.len() as u64 {
            let address = self.emit.offset(number, table, self.emit.u64(WORDS * at));
            self.emit.store(number.zero(), address);
        }
    }
}
