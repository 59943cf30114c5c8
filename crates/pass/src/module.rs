//! The walk over a module: which functions are instrumented, and what is marked as done.

use crate::asm;
use crate::counts::pausing;
use crate::emit::Emit;
use crate::imported;
use crate::ir::{Value, llvm, say, text};
use crate::replace;
use crate::said;
use crate::sites::Sites;
use crate::vocabulary::Vocabulary;
use crate::warnings::Warnings;
use crate::weaver::{Shared, Weaver};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use std::collections::HashSet;
use std::ffi::CStr;

/// Present in every module that has been through the pass: bitcode may be compiled in two steps.
const DONE: &[u8] = b"landfall.instrumented";

/// Whether anything was changed.
pub(crate) fn instrument(module: LLVMModuleRef, optimised_later: bool) -> bool {
    if llvm!(LLVMGetNamedMetadata(
        module,
        DONE.as_ptr().cast(),
        DONE.len()
    ))
    .is_null()
    {
        llvm!(LLVMGetOrInsertNamedMetadata(
            module,
            DONE.as_ptr().cast(),
            DONE.len()
        ));
    } else {
        return false;
    }
    if !target(module).starts_with("x86_64") {
        say("landfall: warning: only code for x86-64 is instrumented");
        return false;
    }
    let emit = Emit::new(module);
    let vocabulary = Vocabulary::new(emit.context);
    let mut shared = Shared {
        emit,
        sites: Sites::new(module),
        warnings: Warnings::default(),
        vocabulary,
        pauses: pausing(&functions(module)),
        assembly: file_scope_assembly(module),
        optimised_later,
        transacts: functions(module)
            .iter()
            .any(|function| function.name() == "llvm.x86.xbegin"),
    };
    if asm::has_instructions(&shared.assembly) {
        let message = "assembly at file scope is not instrumented: its accesses of persistent memory are seen as they happen, its fences are not";
        shared.warnings.in_file(&source_name(module), message);
    }
    let functions = functions(module);
    let resolvers = ifunc_resolvers(module);
    for function in &functions {
        for promise in shared.vocabulary.broken_promises {
            if !function.is_intrinsic() {
                function.remove_function_attribute(promise);
            }
        }
    }
    let said = said::annotated(module);
    let entries: Vec<_> = said
        .iter()
        .map(|&(function, kind)| {
            let (_, file, line) = function.definition();
            (kind, function.name(), file, line)
        })
        .collect();
    said::describe(module, &entries);
    // Hooks are not among them.
    imported::describe(module, &functions, &shared.vocabulary);
    for function in functions {
        if !function.is_declaration()
            && !resolvers.contains(&function)
            && !is_exempt(&shared.vocabulary, function)
        {
            let trusted = said.contains(&(function, said::TRUSTED));
            Weaver::new(&mut shared, function).weave(trusted);
        }
    }
    true
}

/// Puts others in the place of locks that are taken for granted; whether there was one.
pub(crate) fn replace_functions(module: LLVMModuleRef) -> bool {
    replace::replace(module, functions(module))
}

fn target(module: LLVMModuleRef) -> String {
    let triple = llvm!(LLVMGetTarget(module));
    if triple.is_null() {
        String::new()
    } else {
        text(triple, llvm!(CStr::from_ptr(triple)).count_bytes())
    }
}

fn source_name(module: LLVMModuleRef) -> String {
    let mut length = 0;
    let name = llvm!(LLVMGetSourceFileName(module, &mut length));
    text(name, length)
}

fn file_scope_assembly(module: LLVMModuleRef) -> String {
    let mut length = 0;
    let assembly = llvm!(LLVMGetModuleInlineAsm(module, &mut length));
    text(assembly, length)
}

fn functions(module: LLVMModuleRef) -> Vec<Value> {
    let mut functions = Vec::new();
    let mut current = llvm!(LLVMGetFirstFunction(module));
    while !current.is_null() {
        functions.push(Value(current));
        current = llvm!(LLVMGetNextFunction(current));
    }
    functions
}

/// The loader runs these before it has bound the symbols a hook needs.
fn ifunc_resolvers(module: LLVMModuleRef) -> HashSet<Value> {
    let mut resolvers = HashSet::new();
    let mut current = llvm!(LLVMGetFirstGlobalIFunc(module));
    while !current.is_null() {
        resolvers.insert(Value(llvm!(LLVMGetGlobalIFuncResolver(current))));
        current = llvm!(LLVMGetNextGlobalIFunc(current));
    }
    resolvers
}

/// Naked functions have no frame to call from; the other attribute is how a programmer says "not this one".
pub(crate) fn is_exempt(vocabulary: &Vocabulary, function: Value) -> bool {
    function.has_function_attribute(vocabulary.naked)
        || function.has_function_attribute(vocabulary.not_instrumented)
        || function.name().starts_with("__lf_")
}
