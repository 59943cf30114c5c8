//! What a program says of its functions (`lf_trusted`, `lf_sealed` of landfall.h, which are annotations), and which functions are replaced:
//! a table for the checker.
//!
//! Section `lf_said`, entries one after the other: a byte that says what is said, then the function's name, its file (of a function that is
//! replaced, the rule that asks for it) and its line as text, each with a zero behind it. It is assembly of the module, so that no pass drops it.

use crate::ir::{Value, llvm, text};
use crate::weaver::Weaver;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

pub(crate) const TRUSTED: u8 = 1;
pub(crate) const SEALED: u8 = 2;
pub(crate) const REPLACED: u8 = 3;

const ANNOTATIONS: [(&str, u8); 2] = [("landfall.trusted", TRUSTED), ("landfall.sealed", SEALED)];

/// Functions of a module, and what is said of each.
pub(crate) fn annotated(module: LLVMModuleRef) -> Vec<(Value, u8)> {
    let name = c"llvm.global.annotations";
    let list = llvm!(LLVMGetNamedGlobal(module, name.as_ptr()));
    if list.is_null() {
        return Vec::new();
    }
    let entries = Value(llvm!(LLVMGetInitializer(list)));
    let entry = |number| {
        let entry = entries.operand(number);
        let said = written(entry.operand(1))?;
        let (_, kind) = ANNOTATIONS.iter().find(|(name, _)| *name == said)?;
        let function = entry.operand(0);
        (function.is_function() && !function.is_declaration()).then_some((function, *kind))
    };
    (0..entries.operand_count()).filter_map(entry).collect()
}

/// The text that a constant is.
fn written(constant: Value) -> Option<String> {
    if llvm!(LLVMIsAGlobalVariable(constant.0)).is_null() {
        return None;
    }
    let content = llvm!(LLVMGetInitializer(constant.0));
    if content.is_null() || llvm!(LLVMIsConstantString(content)) == 0 {
        return None;
    }
    let mut length = 0;
    let bytes = llvm!(LLVMGetAsString(content, &mut length));
    Some(text(bytes, length).trim_end_matches('\0').to_owned())
}

/// Appends entries to the table of a module.
pub(crate) fn describe(module: LLVMModuleRef, entries: &[(u8, String, String, u32)]) {
    if entries.is_empty() {
        return;
    }
    let mut table = String::from(".pushsection lf_said,\"a\",@progbits\n");
    for (kind, name, file, line) in entries {
        table.push_str(&format!(".byte {kind}\n"));
        for field in [name.as_str(), file, &line.to_string()] {
            // As numbers: names of files may be anything.
            for byte in field.bytes() {
                table.push_str(&format!(".byte {byte}\n"));
            }
            table.push_str(".byte 0\n");
        }
    }
    table.push_str(".popsection\n");
    llvm!(LLVMAppendModuleInlineAsm(
        module,
        table.as_ptr().cast(),
        table.len()
    ));
}

impl Weaver<'_> {
    /// Tells the runtime where a function that is trusted begins and ends.
    pub(crate) fn trusted_function(&mut self) {
        let void = self.emit.void();
        let ends = self.function.blocks().into_iter();
        for end in ends.filter_map(|block| block.terminator()) {
            let leaves = [LLVMOpcode::LLVMRet, LLVMOpcode::LLVMResume];
            if end.opcode().is_some_and(|opcode| leaves.contains(&opcode)) {
                self.emit.before(end, end);
                self.emit.hook("__lf_trusted_end", void, &[]);
            }
        }
        let entry = self.function.entry_point();
        self.emit.before(entry, entry);
        self.emit.hook("__lf_trusted_begin", void, &[]);
    }
}
