//! The table of source positions: one constant record per position, all in one section of the object file.
//!
//! A hook receives the address of its record, so nothing is looked up while the program runs; the linker joins the
//! sections of all objects into one array between `__start_lf_sites` and `__stop_lf_sites`.

use crate::ir::{Position, Value, llvm};
use llvm_sys::prelude::*;
use llvm_sys::{LLVMLinkage, LLVMUnnamedAddr, core::*};
use std::collections::HashMap;

#[derive(Debug)]
pub(crate) struct Sites {
    module: LLVMModuleRef,
    context: LLVMContextRef,
    record: LLVMTypeRef,
    texts: HashMap<String, LLVMValueRef>,
    records: HashMap<Position, Value>,
}

impl Sites {
    pub(crate) fn new(module: LLVMModuleRef) -> Self {
        let context = llvm!(LLVMGetModuleContext(module));
        let pointer = llvm!(LLVMPointerTypeInContext(context, 0));
        let number = llvm!(LLVMInt32TypeInContext(context));
        let mut fields = [pointer, pointer, number, number];
        let record = llvm!(LLVMStructTypeInContext(context, fields.as_mut_ptr(), 4, 0));
        Self {
            module,
            context,
            record,
            texts: HashMap::new(),
            records: HashMap::new(),
        }
    }

    /// The record for the position of `instruction`.
    pub(crate) fn of(&mut self, instruction: Value) -> Value {
        self.at(instruction.position())
    }

    pub(crate) fn at(&mut self, position: Position) -> Value {
        if let Some(known) = self.records.get(&position) {
            return *known;
        }
        let number = llvm!(LLVMInt32TypeInContext(self.context));
        let mut fields = [
            self.text(&position.file),
            self.text(&position.function),
            llvm!(LLVMConstInt(number, position.line.into(), 0)),
            llvm!(LLVMConstInt(number, position.column.into(), 0)),
        ];
        let initial = llvm!(LLVMConstStructInContext(
            self.context,
            fields.as_mut_ptr(),
            4,
            0
        ));
        let global = llvm!(LLVMAddGlobal(
            self.module,
            self.record,
            c"landfall.site".as_ptr()
        ));
        llvm!(LLVMSetInitializer(global, initial));
        llvm!(LLVMSetSection(global, c"lf_sites".as_ptr()));
        // The records must follow each other without gaps: 24 bytes each.
        llvm!(LLVMSetAlignment(global, 8));
        // Merging equal records would be harmless; moving one out of the section would not.
        llvm!(LLVMSetLinkage(global, LLVMLinkage::LLVMInternalLinkage));
        llvm!(LLVMSetGlobalConstant(global, 1));
        self.records.insert(position, Value(global));
        Value(global)
    }

    fn text(&mut self, text: &str) -> LLVMValueRef {
        if let Some(known) = self.texts.get(text) {
            return *known;
        }
        let bytes = llvm!(LLVMConstStringInContext2(
            self.context,
            text.as_ptr().cast(),
            text.len(),
            0
        ));
        let global = llvm!(LLVMAddGlobal(
            self.module,
            LLVMTypeOf(bytes),
            c"landfall.text".as_ptr()
        ));
        llvm!(LLVMSetInitializer(global, bytes));
        llvm!(LLVMSetLinkage(global, LLVMLinkage::LLVMPrivateLinkage));
        llvm!(LLVMSetGlobalConstant(global, 1));
        llvm!(LLVMSetUnnamedAddress(
            global,
            LLVMUnnamedAddr::LLVMGlobalUnnamedAddr
        ));
        self.texts.insert(text.to_owned(), global);
        global
    }
}
