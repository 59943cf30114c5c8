//! Numbers LLVM gives to attributes and metadata, looked up once.

use crate::ir::{attribute_kind, llvm};
use llvm_sys::core::LLVMGetMDKindIDInContext;
use llvm_sys::prelude::LLVMContextRef;

#[derive(Debug)]
pub(crate) struct Vocabulary {
    pub(crate) nontemporal: u32,
    pub(crate) byval: u32,
    pub(crate) element_type: u32,
    pub(crate) builtin: u32,
    pub(crate) no_builtin: u32,
    pub(crate) naked: u32,
    pub(crate) not_instrumented: u32,
    /// Promises about memory and termination that no longer hold once hooks are called.
    pub(crate) broken_promises: [u32; 3],
}

impl Vocabulary {
    pub(crate) fn new(context: LLVMContextRef) -> Self {
        let name = "nontemporal";
        Self {
            nontemporal: llvm!(LLVMGetMDKindIDInContext(
                context,
                name.as_ptr().cast(),
                name.len() as u32
            )),
            byval: attribute_kind("byval"),
            element_type: attribute_kind("elementtype"),
            builtin: attribute_kind("builtin"),
            no_builtin: attribute_kind("nobuiltin"),
            naked: attribute_kind("naked"),
            not_instrumented: attribute_kind("disable_sanitizer_instrumentation"),
            broken_promises: ["memory", "speculatable", "willreturn"].map(attribute_kind),
        }
    }
}
