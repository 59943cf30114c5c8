//! What the pass asks of LLVM's types.

use crate::ir::{Type, Value, llvm};
use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;

impl Type {
    pub(crate) fn kind(self) -> LLVMTypeKind {
        llvm!(LLVMGetTypeKind(self.0))
    }

    pub(crate) fn is_pointer(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMPointerTypeKind
    }

    pub(crate) fn is_x87(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMX86_FP80TypeKind
    }

    pub(crate) fn is_vector(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMVectorTypeKind
    }

    pub(crate) fn int_width(self) -> Option<u32> {
        (self.kind() == LLVMTypeKind::LLVMIntegerTypeKind)
            .then(|| llvm!(LLVMGetIntTypeWidth(self.0)))
    }

    /// Of a pointer type; 0 is ordinary memory, 256 and 257 are the gs and fs segments.
    pub(crate) fn address_space(self) -> u32 {
        llvm!(LLVMGetPointerAddressSpace(self.0))
    }

    pub(crate) fn element(self) -> Type {
        Type(llvm!(LLVMGetElementType(self.0)))
    }

    pub(crate) fn lanes(self) -> u32 {
        llvm!(LLVMGetVectorSize(self.0))
    }

    pub(crate) fn fields(self) -> u32 {
        match self.kind() {
            LLVMTypeKind::LLVMStructTypeKind => llvm!(LLVMCountStructElementTypes(self.0)),
            LLVMTypeKind::LLVMArrayTypeKind => {
                u32::try_from(llvm!(LLVMGetArrayLength2(self.0))).unwrap_or(u32::MAX)
            }
            _ => 0,
        }
    }

    pub(crate) fn field(self, index: u32) -> Type {
        match self.kind() {
            LLVMTypeKind::LLVMStructTypeKind => {
                Type(llvm!(LLVMStructGetTypeAtIndex(self.0, index)))
            }
            _ => self.element(),
        }
    }

    pub(crate) fn poison(self) -> Value {
        Value(llvm!(LLVMGetPoison(self.0)))
    }

    pub(crate) fn zero(self) -> Value {
        Value(llvm!(LLVMConstNull(self.0)))
    }
}
