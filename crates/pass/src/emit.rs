//! Building instructions: types and constants of the module, arithmetic, calls of the runtime's hooks.

use crate::ir::{Block, OF_FUNCTION, OF_RESULT, Type, UNNAMED, Value, attribute_kind, llvm};
use llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use llvm_sys::prelude::*;
use llvm_sys::target::{
    LLVMABISizeOfType, LLVMGetModuleDataLayout, LLVMSizeOfTypeInBits, LLVMStoreSizeOfType,
    LLVMTargetDataRef,
};
use llvm_sys::{LLVMIntPredicate, LLVMOpcode, core::*};
use std::collections::HashMap;
use std::ffi::CString;

/// Where the address window begins that holds all persistent memory: the contract with the runtime.
const WINDOW_BASE: u64 = 0x1000_0000_0000;

#[derive(Debug)]
pub(crate) struct Emit {
    pub(crate) module: LLVMModuleRef,
    pub(crate) context: LLVMContextRef,
    builder: LLVMBuilderRef,
    layout: LLVMTargetDataRef,
    functions: HashMap<String, (Value, Type)>,
    no_unwind: u32,
    zero_extended: u32,
}

impl Drop for Emit {
    fn drop(&mut self) {
        llvm!(LLVMDisposeBuilder(self.builder));
    }
}

impl Emit {
    pub(crate) fn new(module: LLVMModuleRef) -> Self {
        let context = llvm!(LLVMGetModuleContext(module));
        Self {
            module,
            context,
            builder: llvm!(LLVMCreateBuilderInContext(context)),
            layout: llvm!(LLVMGetModuleDataLayout(module)),
            functions: HashMap::new(),
            no_unwind: attribute_kind("nounwind"),
            zero_extended: attribute_kind("zeroext"),
        }
    }

    pub(crate) fn int(&self, bits: u32) -> Type {
        Type(llvm!(LLVMIntTypeInContext(self.context, bits)))
    }

    pub(crate) fn bytes(&self, bytes: u32) -> Type {
        self.int(bytes * 8)
    }

    pub(crate) fn pointer(&self) -> Type {
        Type(llvm!(LLVMPointerTypeInContext(self.context, 0)))
    }

    pub(crate) fn void(&self) -> Type {
        Type(llvm!(LLVMVoidTypeInContext(self.context)))
    }

    pub(crate) fn vector(&self, element: Type, lanes: u32) -> Type {
        Type(llvm!(LLVMVectorType(element.0, lanes)))
    }

    pub(crate) fn array(&self, element: Type, length: u64) -> Type {
        Type(llvm!(LLVMArrayType2(element.0, length)))
    }

    pub(crate) fn constant(&self, ty: Type, value: u64) -> Value {
        Value(llvm!(LLVMConstInt(ty.0, value, 0)))
    }

    pub(crate) fn constant_signed(&self, ty: Type, value: i64) -> Value {
        Value(llvm!(LLVMConstInt(ty.0, value as u64, 1)))
    }

    pub(crate) fn u32(&self, value: u32) -> Value {
        self.constant(self.int(32), value.into())
    }

    pub(crate) fn u64(&self, value: u64) -> Value {
        self.constant(self.int(64), value)
    }

    /// A vector of the 64-bit constants 0, 1, 2 …
    pub(crate) fn lane_numbers(&self, lanes: u32) -> Value {
        let mut numbers: Vec<LLVMValueRef> =
            (0..lanes).map(|lane| self.u64(lane.into()).0).collect();
        Value(llvm!(LLVMConstVector(numbers.as_mut_ptr(), lanes)))
    }

    /// Bytes an access of this type touches.
    pub(crate) fn stored_bytes(&self, ty: Type) -> u64 {
        llvm!(LLVMStoreSizeOfType(self.layout, ty.0))
    }

    /// Bytes an array element of this type takes.
    pub(crate) fn allocated_bytes(&self, ty: Type) -> u64 {
        llvm!(LLVMABISizeOfType(self.layout, ty.0))
    }

    pub(crate) fn bits(&self, ty: Type) -> u64 {
        llvm!(LLVMSizeOfTypeInBits(self.layout, ty.0))
    }

    /// What follows is built before `at`, with the source position of `origin`.
    pub(crate) fn before(&self, at: Value, origin: Value) {
        llvm!(LLVMPositionBuilderBefore(self.builder, at.0));
        let location = llvm!(LLVMInstructionGetDebugLoc(origin.0));
        llvm!(LLVMSetCurrentDebugLocation2(self.builder, location));
    }

    /// What follows is built at the end of a new block without source positions.
    pub(crate) fn at_end_of(&self, block: Block) {
        llvm!(LLVMPositionBuilderAtEnd(self.builder, block.0));
        llvm!(LLVMSetCurrentDebugLocation2(
            self.builder,
            std::ptr::null_mut()
        ));
    }

    fn declared(&mut self, name: &str, result: Type, parameters: &[Type]) -> (Value, Type) {
        if let Some(known) = self.functions.get(name) {
            return *known;
        }
        let mut raw: Vec<LLVMTypeRef> = parameters.iter().map(|ty| ty.0).collect();
        let ty = llvm!(LLVMFunctionType(
            result.0,
            raw.as_mut_ptr(),
            raw.len() as u32,
            0
        ));
        let symbol = CString::new(name).expect("hook names have no NUL");
        let mut function = llvm!(LLVMGetNamedFunction(self.module, symbol.as_ptr()));
        if function.is_null() {
            function = llvm!(LLVMAddFunction(self.module, symbol.as_ptr(), ty));
            Value(function).add_function_attribute(self.context, OF_FUNCTION, self.no_unwind);
        }
        let known = (Value(function), Type(ty));
        self.functions.insert(name.to_owned(), known);
        known
    }

    /// Calls a function of the runtime.
    pub(crate) fn hook(&mut self, name: &str, result: Type, arguments: &[Value]) -> Value {
        let parameters: Vec<Type> = arguments.iter().map(|argument| argument.ty()).collect();
        let (function, ty) = self.declared(name, result, &parameters);
        let call = self.call(function, ty, arguments);
        call.add_call_attribute(self.context, OF_FUNCTION, self.no_unwind);
        // x86-64 compilers expect whoever passes or returns a narrow integer to have widened it.
        let narrow = |ty: Type| ty.int_width().is_some_and(|width| width < 32);
        for (index, parameter) in parameters.iter().enumerate() {
            if narrow(*parameter) {
                call.add_call_attribute(self.context, index as u32 + 1, self.zero_extended);
            }
        }
        if narrow(result) {
            call.add_call_attribute(self.context, OF_RESULT, self.zero_extended);
        }
        call
    }

    pub(crate) fn call(&self, function: Value, ty: Type, arguments: &[Value]) -> Value {
        let mut raw: Vec<LLVMValueRef> = arguments.iter().map(|argument| argument.0).collect();
        Value(llvm!(LLVMBuildCall2(
            self.builder,
            ty.0,
            function.0,
            raw.as_mut_ptr(),
            raw.len() as u32,
            UNNAMED
        )))
    }

    /// Whether an access at `pointer` concerns the runtime: it lies in persistent memory, or several threads run and any
    /// address does (then the runtime widens its window). One subtraction, one load, one unsigned comparison.
    pub(crate) fn in_window(&self, pointer: Value) -> Value {
        let address = self.cast(LLVMOpcode::LLVMPtrToInt, pointer, self.int(64));
        let offset = self.binary(LLVMOpcode::LLVMSub, address, self.u64(WINDOW_BASE));
        let bytes = self.load(
            self.int(64),
            self.runtime_variable(c"__lf_window", self.int(64)),
        );
        self.compare(LLVMIntPredicate::LLVMIntULT, offset, bytes)
    }

    pub(crate) fn cast(&self, opcode: LLVMOpcode, value: Value, ty: Type) -> Value {
        if value.ty() == ty {
            return value;
        }
        Value(llvm!(LLVMBuildCast(
            self.builder,
            opcode,
            value.0,
            ty.0,
            UNNAMED
        )))
    }

    /// An integer as another integer type, filled with zeros or cut off.
    pub(crate) fn resize(&self, value: Value, ty: Type) -> Value {
        let widens = value.ty().int_width() < ty.int_width();
        self.cast(
            if widens {
                LLVMOpcode::LLVMZExt
            } else {
                LLVMOpcode::LLVMTrunc
            },
            value,
            ty,
        )
    }

    pub(crate) fn binary(&self, opcode: LLVMOpcode, left: Value, right: Value) -> Value {
        Value(llvm!(LLVMBuildBinOp(
            self.builder,
            opcode,
            left.0,
            right.0,
            UNNAMED
        )))
    }

    pub(crate) fn compare(&self, predicate: LLVMIntPredicate, left: Value, right: Value) -> Value {
        Value(llvm!(LLVMBuildICmp(
            self.builder,
            predicate,
            left.0,
            right.0,
            UNNAMED
        )))
    }

    pub(crate) fn not(&self, value: Value) -> Value {
        Value(llvm!(LLVMBuildNot(self.builder, value.0, UNNAMED)))
    }

    pub(crate) fn load(&self, ty: Type, pointer: Value) -> Value {
        Value(llvm!(LLVMBuildLoad2(
            self.builder,
            ty.0,
            pointer.0,
            UNNAMED
        )))
    }

    pub(crate) fn store(&self, value: Value, pointer: Value) -> Value {
        Value(llvm!(LLVMBuildStore(self.builder, value.0, pointer.0)))
    }

    /// Declares nothing about the alignment of an access, and makes it volatile if asked.
    pub(crate) fn as_unaligned(&self, access: Value, volatile: bool) {
        llvm!(LLVMSetAlignment(access.0, 1));
        llvm!(LLVMSetVolatile(access.0, volatile.into()));
    }

    /// The address `offset` elements of type `ty` behind `pointer`.
    pub(crate) fn offset(&self, ty: Type, pointer: Value, offset: Value) -> Value {
        let mut indices = [offset.0];
        Value(llvm!(LLVMBuildGEP2(
            self.builder,
            ty.0,
            pointer.0,
            indices.as_mut_ptr(),
            1,
            UNNAMED
        )))
    }

    /// The address of one field of a structure or array.
    pub(crate) fn field(&self, ty: Type, pointer: Value, index: u32) -> Value {
        let mut indices = [self.u32(0).0, self.u32(index).0];
        Value(llvm!(LLVMBuildGEP2(
            self.builder,
            ty.0,
            pointer.0,
            indices.as_mut_ptr(),
            2,
            UNNAMED
        )))
    }

    pub(crate) fn extract(&self, aggregate: Value, index: u32) -> Value {
        Value(llvm!(LLVMBuildExtractValue(
            self.builder,
            aggregate.0,
            index,
            UNNAMED
        )))
    }

    pub(crate) fn insert(&self, aggregate: Value, value: Value, index: u32) -> Value {
        Value(llvm!(LLVMBuildInsertValue(
            self.builder,
            aggregate.0,
            value.0,
            index,
            UNNAMED
        )))
    }

    /// A vector with the same value in every lane.
    pub(crate) fn splat(&self, value: Value, lanes: u32) -> Value {
        let vector = self.vector(value.ty(), lanes);
        let single = llvm!(LLVMBuildInsertElement(
            self.builder,
            vector.poison().0,
            value.0,
            self.u32(0).0,
            UNNAMED
        ));
        let first = self.vector(self.int(32), lanes).zero();
        Value(llvm!(LLVMBuildShuffleVector(
            self.builder,
            single,
            vector.poison().0,
            first.0,
            UNNAMED
        )))
    }

    /// The first `lanes` lanes of a vector.
    pub(crate) fn leading_lanes(&self, vector: Value, lanes: u32) -> Value {
        if vector.ty().lanes() == lanes {
            return vector;
        }
        let mut numbers: Vec<LLVMValueRef> = (0..lanes).map(|lane| self.u32(lane).0).collect();
        let mask = llvm!(LLVMConstVector(numbers.as_mut_ptr(), lanes));
        Value(llvm!(LLVMBuildShuffleVector(
            self.builder,
            vector.0,
            vector.ty().poison().0,
            mask,
            UNNAMED
        )))
    }

    pub(crate) fn phi(&self, ty: Type) -> Value {
        Value(llvm!(LLVMBuildPhi(self.builder, ty.0, UNNAMED)))
    }

    pub(crate) fn incoming(&self, phi: Value, pairs: &[(Value, Block)]) {
        let mut values: Vec<LLVMValueRef> = pairs.iter().map(|(value, _)| value.0).collect();
        let mut blocks: Vec<LLVMBasicBlockRef> = pairs.iter().map(|(_, block)| block.0).collect();
        llvm!(LLVMAddIncoming(
            phi.0,
            values.as_mut_ptr(),
            blocks.as_mut_ptr(),
            pairs.len() as u32
        ));
    }

    pub(crate) fn local(&self, ty: Type) -> Value {
        Value(llvm!(LLVMBuildAlloca(self.builder, ty.0, UNNAMED)))
    }

    pub(crate) fn memcpy(&self, to: Value, from: Value, bytes: Value) {
        llvm!(LLVMBuildMemCpy(self.builder, to.0, 1, from.0, 1, bytes.0));
    }

    pub(crate) fn branch(&self, to: Block) {
        llvm!(LLVMBuildBr(self.builder, to.0));
    }

    pub(crate) fn branch_if(&self, condition: Value, then: Block, otherwise: Block) {
        llvm!(LLVMBuildCondBr(
            self.builder,
            condition.0,
            then.0,
            otherwise.0
        ));
    }

    pub(crate) fn ret(&self) {
        llvm!(LLVMBuildRetVoid(self.builder));
    }

    /// A variable of the runtime.
    pub(crate) fn runtime_variable(&self, name: &std::ffi::CStr, ty: Type) -> Value {
        let known = llvm!(LLVMGetNamedGlobal(self.module, name.as_ptr()));
        if known.is_null() {
            Value(llvm!(LLVMAddGlobal(self.module, ty.0, name.as_ptr())))
        } else {
            Value(known)
        }
    }
}
