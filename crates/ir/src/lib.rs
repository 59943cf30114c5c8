//! LLVM IR as data: what clang writes with `-S -emit-llvm`, read without LLVM.
//!
//! The reader keeps what a front end needs to follow a C program: types, constants, instructions, source positions. An
//! instruction it does not know is kept as its text ([`InstructionKind::Other`]): whoever comes to it can say so, with its position, and a
//! program that never does is not refused for it.

mod cursor;
mod function;
mod layout;
mod module;
mod operand;
mod place;
mod token;
mod types;

pub use function::{
    Argument, AtomicOrder, BinaryOp, Block, BlockId, Callee, CastOp, Function, Instruction,
    InstructionKind, IrRegister, IrRmwOp, Parameter, Predicate,
};
pub use layout::DataLayout;
pub use module::{Global, Module};
pub use operand::{Constant, IrOperand, Typed};
pub use place::{Place, PlaceId};
pub use types::Type;

/// Text that is not the IR this reader knows.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line} of the compiler's output: {what}")]
pub struct ReadError {
    pub line: usize,
    pub what: String,
}
