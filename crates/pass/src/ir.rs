//! The part of LLVM's C interface the pass uses, as small copyable handles.
//!
//! A handle is valid while the module under instrumentation lives, which is as long as the pass runs; an erased
//! instruction is never touched again by the code that erased it. No handle is null: whatever LLVM may answer with null
//! is an `Option` here.

use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{
    LLVMAtomicOrdering, LLVMInlineAsmDialect, LLVMIntPredicate, LLVMLinkage, LLVMOpcode,
    LLVMTailCallKind,
};
use std::ffi::{CStr, c_char, c_void};

/// Calls LLVM. SAFETY, once for all uses: the arguments are handles of this module (see the module documentation) and of
/// the kind the function asks for, which each caller checks by opcode or type kind first.
macro_rules! llvm {
    ($call:expr) => {
        unsafe { $call }
    };
}
pub(crate) use llvm;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Value(pub(crate) LLVMValueRef);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Type(pub(crate) LLVMTypeRef);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Block(pub(crate) LLVMBasicBlockRef);

#[repr(C)]
struct ShimPosition {
    line: u32,
    column: u32,
}

type TextSink = extern "C" fn(*mut c_void, *const c_char, usize);

unsafe extern "C" {
    fn lf_shim_split(
        at: LLVMValueRef,
        condition: LLVMValueRef,
        then: *mut LLVMValueRef,
        otherwise: *mut LLVMValueRef,
    );
    fn lf_shim_split_rare(at: LLVMValueRef, condition: LLVMValueRef) -> LLVMValueRef;
    fn lf_shim_move_before(instruction: LLVMValueRef, at: LLVMValueRef);
    fn lf_shim_entry_point(function: LLVMValueRef) -> LLVMValueRef;
    fn lf_shim_position_of(
        value: LLVMValueRef,
        context: *mut c_void,
        sink: TextSink,
    ) -> ShimPosition;
    fn lf_shim_function(function: LLVMValueRef, context: *mut c_void, sink: TextSink) -> u32;
    fn lf_shim_becomes_call(function: LLVMValueRef, hook: *const c_char, length: usize) -> bool;
    fn lf_shim_rmw_operation(rmw: LLVMValueRef) -> u32;
    fn lf_shim_may_access_memory(instruction: LLVMValueRef) -> bool;
    fn lf_shim_verify(module: LLVMModuleRef) -> bool;
    fn lf_shim_say(line: *const c_char, length: usize);
}

/// Where an instruction comes from. Column 0: the compiler gave it no position, and the line is that of its function; line 0: not even
/// that is known.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Position {
    pub(crate) file: String,
    pub(crate) function: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

pub(crate) fn is_valid(module: LLVMModuleRef) -> bool {
    llvm!(lf_shim_verify(module))
}

/// One line where the compiler's own diagnostics go.
pub(crate) fn say(line: &str) {
    llvm!(lf_shim_say(line.as_ptr().cast(), line.len()));
}

pub(crate) fn text(bytes: *const c_char, length: usize) -> String {
    if bytes.is_null() {
        return String::new();
    }
    String::from_utf8_lossy(llvm!(std::slice::from_raw_parts(bytes.cast(), length))).into_owned()
}

/// LLVM's number for an attribute, by its name.
pub(crate) fn attribute_kind(name: &str) -> u32 {
    llvm!(LLVMGetEnumAttributeKindForName(
        name.as_ptr().cast(),
        name.len()
    ))
}

/// Attribute places: the function itself, the result, and (1-based) the arguments.
pub(crate) const OF_FUNCTION: u32 = llvm_sys::LLVMAttributeFunctionIndex;
pub(crate) const OF_RESULT: u32 = llvm_sys::LLVMAttributeReturnIndex;

impl Value {
    fn new(raw: LLVMValueRef) -> Option<Self> {
        (!raw.is_null()).then_some(Self(raw))
    }

    pub(crate) fn ty(self) -> Type {
        Type(llvm!(LLVMTypeOf(self.0)))
    }

    pub(crate) fn name(self) -> String {
        let mut length = 0;
        let bytes = llvm!(LLVMGetValueName2(self.0, &mut length));
        text(bytes, length)
    }

    pub(crate) fn operand(self, index: u32) -> Value {
        Value(llvm!(LLVMGetOperand(self.0, index)))
    }

    pub(crate) fn operand_count(self) -> u32 {
        llvm!(LLVMGetNumOperands(self.0)).max(0) as u32
    }

    /// None for anything that is not an instruction.
    pub(crate) fn opcode(self) -> Option<LLVMOpcode> {
        Self::new(llvm!(LLVMIsAInstruction(self.0)))?;
        Some(llvm!(LLVMGetInstructionOpcode(self.0)))
    }

    pub(crate) fn is_opcode(self, opcode: LLVMOpcode) -> bool {
        self.opcode() == Some(opcode)
    }

    pub(crate) fn is_global_variable(self) -> bool {
        !llvm!(LLVMIsAGlobalVariable(self.0)).is_null()
    }

    pub(crate) fn is_constant_global(self) -> bool {
        self.is_global_variable() && llvm!(LLVMIsGlobalConstant(self.0)) != 0
    }

    pub(crate) fn is_function(self) -> bool {
        !llvm!(LLVMIsAFunction(self.0)).is_null()
    }

    pub(crate) fn is_inline_asm(self) -> bool {
        !llvm!(LLVMIsAInlineAsm(self.0)).is_null()
    }

    /// The instruction after this one, which is not the last of its block.
    pub(crate) fn next(self) -> Value {
        Value(llvm!(LLVMGetNextInstruction(self.0)))
    }

    pub(crate) fn constant_int(self) -> Option<i64> {
        Self::new(llvm!(LLVMIsAConstantInt(self.0)))?;
        (self.ty().int_width()? <= 64).then(|| llvm!(LLVMConstIntGetSExtValue(self.0)))
    }

    /// The opcode of a constant expression such as a `getelementptr` on a global.
    pub(crate) fn constant_opcode(self) -> Option<LLVMOpcode> {
        Self::new(llvm!(LLVMIsAConstantExpr(self.0)))?;
        Some(llvm!(LLVMGetConstOpcode(self.0)))
    }

    pub(crate) fn users(self) -> Vec<Value> {
        let mut users = Vec::new();
        let mut current = llvm!(LLVMGetFirstUse(self.0));
        while !current.is_null() {
            users.push(Value(llvm!(LLVMGetUser(current))));
            current = llvm!(LLVMGetNextUse(current));
        }
        users
    }

    /// A call at the end of a function stays a call, unless the program says that it must be a jump.
    pub(crate) fn keep_from_jumping(self) {
        let must = LLVMTailCallKind::LLVMTailCallKindMustTail;
        if self.is_opcode(LLVMOpcode::LLVMCall) && llvm!(LLVMGetTailCallKind(self.0)) != must {
            let never = LLVMTailCallKind::LLVMTailCallKindNoTail;
            llvm!(LLVMSetTailCallKind(self.0, never));
        }
    }

    /// Of what ends a function: is it a call that must be a jump which comes right before?
    pub(crate) fn follows_jump(self) -> bool {
        let must = LLVMTailCallKind::LLVMTailCallKindMustTail;
        Value::new(llvm!(LLVMGetPreviousInstruction(self.0))).is_some_and(|before| {
            before.is_opcode(LLVMOpcode::LLVMCall) && llvm!(LLVMGetTailCallKind(before.0)) == must
        })
    }

    /// What a comparison of integers asks.
    pub(crate) fn comparison(self) -> LLVMIntPredicate {
        llvm!(LLVMGetICmpPredicate(self.0))
    }

    /// Of a comparison of integers.
    pub(crate) fn predicate(self) -> LLVMIntPredicate {
        llvm!(LLVMGetICmpPredicate(self.0))
    }

    pub(crate) fn is_unused(self) -> bool {
        llvm!(LLVMGetFirstUse(self.0)).is_null()
    }

    pub(crate) fn ordering(self) -> LLVMAtomicOrdering {
        llvm!(LLVMGetOrdering(self.0))
    }

    pub(crate) fn failure_ordering(self) -> LLVMAtomicOrdering {
        llvm!(LLVMGetCmpXchgFailureOrdering(self.0))
    }

    pub(crate) fn success_ordering(self) -> LLVMAtomicOrdering {
        llvm!(LLVMGetCmpXchgSuccessOrdering(self.0))
    }

    pub(crate) fn alignment(self) -> u32 {
        llvm!(LLVMGetAlignment(self.0))
    }

    pub(crate) fn is_volatile(self) -> bool {
        llvm!(LLVMGetVolatile(self.0)) != 0
    }

    pub(crate) fn is_single_thread(self) -> bool {
        llvm!(LLVMIsAtomicSingleThread(self.0)) != 0
    }

    pub(crate) fn rmw_operation(self) -> u32 {
        llvm!(lf_shim_rmw_operation(self.0))
    }

    pub(crate) fn may_access_memory(self) -> bool {
        llvm!(lf_shim_may_access_memory(self.0))
    }

    pub(crate) fn has_metadata(self, kind: u32) -> bool {
        !llvm!(LLVMGetMetadata(self.0, kind)).is_null()
    }

    pub(crate) fn callee(self) -> Value {
        Value(llvm!(LLVMGetCalledValue(self.0)))
    }

    pub(crate) fn argument_count(self) -> u32 {
        llvm!(LLVMGetNumArgOperands(self.0))
    }

    pub(crate) fn arguments(self) -> Vec<Value> {
        (0..self.argument_count())
            .map(|index| self.operand(index))
            .collect()
    }

    pub(crate) fn set_operand(self, index: u32, value: Value) {
        llvm!(LLVMSetOperand(self.0, index, value.0));
    }

    /// The type in a call-site attribute such as `byval(T)` or `elementtype(T)` of an argument.
    pub(crate) fn argument_attribute_type(self, argument: u32, kind: u32) -> Option<Type> {
        let attribute = llvm!(LLVMGetCallSiteEnumAttribute(self.0, argument + 1, kind));
        if attribute.is_null() {
            return None;
        }
        Some(Type(llvm!(LLVMGetTypeAttributeValue(attribute))))
    }

    pub(crate) fn add_call_attribute(self, context: LLVMContextRef, place: u32, kind: u32) {
        llvm!(LLVMAddCallSiteAttribute(
            self.0,
            place,
            LLVMCreateEnumAttribute(context, kind, 0)
        ));
    }

    pub(crate) fn has_call_attribute(self, place: u32, kind: u32) -> bool {
        !llvm!(LLVMGetCallSiteEnumAttribute(self.0, place, kind)).is_null()
    }

    pub(crate) fn remove_call_attribute(self, place: u32, kind: u32) {
        llvm!(LLVMRemoveCallSiteEnumAttribute(self.0, place, kind));
    }

    pub(crate) fn has_function_attribute(self, kind: u32) -> bool {
        !llvm!(LLVMGetEnumAttributeAtIndex(self.0, OF_FUNCTION, kind)).is_null()
    }

    pub(crate) fn add_function_attribute(self, context: LLVMContextRef, place: u32, kind: u32) {
        llvm!(LLVMAddAttributeAtIndex(
            self.0,
            place,
            LLVMCreateEnumAttribute(context, kind, 0)
        ));
    }

    pub(crate) fn remove_function_attribute(self, kind: u32) {
        llvm!(LLVMRemoveEnumAttributeAtIndex(self.0, OF_FUNCTION, kind));
    }

    /// Is a function called that other code defines? A body that is there for inlining only does not count.
    pub(crate) fn is_defined_elsewhere(self) -> bool {
        let linkage = llvm!(LLVMGetLinkage(self.0));
        self.is_declaration() || linkage == LLVMLinkage::LLVMAvailableExternallyLinkage
    }

    pub(crate) fn is_declaration(self) -> bool {
        llvm!(LLVMIsDeclaration(self.0)) != 0
    }

    /// LLVM's number of an intrinsic function; 0 for any other function.
    pub(crate) fn is_intrinsic(self) -> bool {
        self.is_function() && llvm!(LLVMGetIntrinsicID(self.0)) != 0
    }

    pub(crate) fn asm_text(self) -> String {
        let mut length = 0;
        let bytes = llvm!(LLVMGetInlineAsmAsmString(self.0, &mut length));
        text(bytes, length)
    }

    pub(crate) fn asm_constraints(self) -> String {
        let mut length = 0;
        let bytes = llvm!(LLVMGetInlineAsmConstraintString(self.0, &mut length));
        text(bytes, length)
    }

    pub(crate) fn asm_is_intel(self) -> bool {
        llvm!(LLVMGetInlineAsmDialect(self.0)) == LLVMInlineAsmDialect::LLVMInlineAsmDialectIntel
    }

    /// Of an alloca: what it makes room for.
    pub(crate) fn allocated_type(self) -> Type {
        Type(llvm!(LLVMGetAllocatedType(self.0)))
    }

    pub(crate) fn align(self, bytes: u32) {
        llvm!(LLVMSetAlignment(self.0, bytes));
    }

    /// Of a phi: its values, and where each comes from.
    pub(crate) fn incoming(self) -> Vec<(Value, Block)> {
        let of = |index| {
            let value = Value(llvm!(LLVMGetIncomingValue(self.0, index)));
            (value, Block(llvm!(LLVMGetIncomingBlock(self.0, index))))
        };
        (0..llvm!(LLVMCountIncoming(self.0))).map(of).collect()
    }

    pub(crate) fn block(self) -> Block {
        Block(llvm!(LLVMGetInstructionParent(self.0)))
    }

    pub(crate) fn successors(self) -> Vec<Block> {
        (0..llvm!(LLVMGetNumSuccessors(self.0)))
            .map(|index| Block(llvm!(LLVMGetSuccessor(self.0, index))))
            .collect()
    }

    pub(crate) fn blocks(self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut current = llvm!(LLVMGetFirstBasicBlock(self.0));
        while !current.is_null() {
            blocks.push(Block(current));
            current = llvm!(LLVMGetNextBasicBlock(current));
        }
        blocks
    }

    /// Behind the fixed allocas of a function's first block.
    pub(crate) fn entry_point(self) -> Value {
        Value(llvm!(lf_shim_entry_point(self.0)))
    }

    pub(crate) fn move_before(self, at: Value) {
        llvm!(lf_shim_move_before(self.0, at.0));
    }

    pub(crate) fn erase(self) {
        llvm!(LLVMInstructionEraseFromParent(self.0));
    }

    pub(crate) fn replace_uses_with(self, other: Value) {
        llvm!(LLVMReplaceAllUsesWith(self.0, other.0));
    }

    pub(crate) fn position(self) -> Position {
        let mut texts: Vec<String> = Vec::new();
        let found = llvm!(lf_shim_position_of(self.0, (&raw mut texts).cast(), sink));
        let function = texts.pop().unwrap_or_default();
        let file = texts.pop().unwrap_or_default();
        Position {
            file,
            function,
            line: found.line,
            column: found.column,
        }
    }

    /// Of a function: its name as the source has it, its file and its line.
    pub(crate) fn definition(self) -> (String, String, u32) {
        let mut texts: Vec<String> = Vec::new();
        let line = llvm!(lf_shim_function(self.0, (&raw mut texts).cast(), sink));
        let file = texts.pop().unwrap_or_default();
        (texts.pop().unwrap_or_default(), file, line)
    }

    /// A function becomes a call of a hook with its first argument; not if that is no pointer, or it returns no number.
    pub(crate) fn becomes_call_of(self, hook: &str) -> bool {
        llvm!(lf_shim_becomes_call(
            self.0,
            hook.as_ptr().cast(),
            hook.len()
        ))
    }
}

extern "C" fn sink(context: *mut c_void, bytes: *const c_char, length: usize) {
    // SAFETY: `context` is the vector of whoever asks, alive during the call that hands it out.
    let texts = unsafe { &mut *context.cast::<Vec<String>>() };
    texts.push(text(bytes, length));
}

/// Splits the block before `at`; the two values end the blocks for a true and a false condition.
pub(crate) fn split(at: Value, condition: Value) -> (Value, Value) {
    let (mut then, mut otherwise) = (std::ptr::null_mut(), std::ptr::null_mut());
    llvm!(lf_shim_split(at.0, condition.0, &mut then, &mut otherwise));
    (Value(then), Value(otherwise))
}

/// Splits the block before `at`; the value ends a block entered rarely, when the condition holds.
pub(crate) fn split_rare(at: Value, condition: Value) -> Value {
    Value(llvm!(lf_shim_split_rare(at.0, condition.0)))
}

impl Block {
    pub(crate) fn instructions(self) -> Vec<Value> {
        let mut instructions = Vec::new();
        let mut current = llvm!(LLVMGetFirstInstruction(self.0));
        while !current.is_null() {
            instructions.push(Value(current));
            current = llvm!(LLVMGetNextInstruction(current));
        }
        instructions
    }

    pub(crate) fn first(self) -> Value {
        Value(llvm!(LLVMGetFirstInstruction(self.0)))
    }

    pub(crate) fn terminator(self) -> Option<Value> {
        Value::new(llvm!(LLVMGetBasicBlockTerminator(self.0)))
    }

    /// The blocks that may come before it, one for each way.
    pub(crate) fn comes_from(self) -> Vec<Block> {
        let users = Value(llvm!(LLVMBasicBlockAsValue(self.0))).users();
        let ends = users.into_iter().filter(|user| user.opcode().is_some());
        ends.map(Value::block).collect()
    }
}

/// The unnamed name LLVM gives to temporaries.
pub(crate) const UNNAMED: *const c_char = CStr::as_ptr(c"");
