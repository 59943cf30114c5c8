//! Functions whose names mean something in SV-COMP: the body of one that begins with `__VERIFIER_atomic_` is an atomic block, and
//! (with `--sv-comp`) `reach_error` is not to be called, whatever it does.

use crate::weaver::Weaver;
use llvm_sys::LLVMOpcode;

const BLOCK: &str = "__VERIFIER_atomic_";
const BOUNDS: [&str; 2] = ["__VERIFIER_atomic_begin", "__VERIFIER_atomic_end"];

/// Is `--sv-comp` asked for?
fn is_sv_comp() -> bool {
    std::env::var_os("LANDFALL_SV_COMP").is_some()
}

impl Weaver<'_> {
    /// Tells the runtime of such a function where it begins and ends.
    pub(crate) fn verifier_function(&mut self) {
        let name = self.function.name();
        let void = self.emit.void();
        if name.starts_with(BLOCK) && !BOUNDS.contains(&name.as_str()) {
            let ends = self.function.blocks().into_iter();
            for end in ends.filter_map(|block| block.terminator()) {
                if end.opcode() == Some(LLVMOpcode::LLVMRet) {
                    self.emit.before(end, end);
                    self.emit.hook("__lf_block_end", void, &[]);
                }
            }
            let entry = self.function.entry_point();
            self.emit.before(entry, entry);
            self.emit.hook("__lf_block_begin", void, &[]);
        }
        if name == "reach_error" && is_sv_comp() {
            let entry = self.function.entry_point();
            self.emit.before(entry, entry);
            self.emit.hook("__lf_reach_error", void, &[]);
        }
    }
}
