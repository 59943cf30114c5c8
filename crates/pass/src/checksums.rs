//! Checksums of PMDK say what they read, and whether they accept it, as `lf_checksum_begin` and `lf_checksum_end` do.

use crate::ir::Value;
use crate::weaver::Weaver;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};
use std::collections::HashSet;

impl Weaver<'_> {
    pub(crate) fn checksum_of_pmdk(&mut self, call: Value) {
        let callee = call.callee();
        if !callee.is_function() || !call.is_opcode(LLVMOpcode::LLVMCall) {
            return;
        }
        let (name, arguments) = (callee.name(), call.arguments());
        let inserts = match (name.as_str(), &arguments[..]) {
            ("util_checksum", &[_, _, _, inserts, _]) => inserts,
            ("ulog_checksum", &[_, _, inserts]) => inserts,
            ("util_checksum_compute", &[_, _, _, _]) => return self.compared_checksum(call),
            _ => return,
        };
        let int = self.emit.int(32);
        if inserts.constant_int() != Some(0) || call.ty() != int {
            return;
        }
        self.begins(call);
        self.ends(call, call);
    }

    /// One that is computed here, perhaps goes on with more (`util_checksum_seq`), and is compared in the same block: an entry of an undo log.
    fn compared_checksum(&mut self, call: Value) {
        let mut sums = HashSet::from([call]);
        let mut kept = HashSet::new();
        let instructions = call.block().instructions();
        let after = instructions.iter().skip_while(|&&at| at != call).skip(1);
        for &at in after {
            match at.opcode() {
                Some(LLVMOpcode::LLVMStore) if sums.contains(&at.operand(0)) => {
                    kept.insert(at.operand(1));
                }
                Some(LLVMOpcode::LLVMLoad) if kept.contains(&at.operand(0)) => {
                    sums.insert(at);
                }
                Some(LLVMOpcode::LLVMCall) => {
                    let callee = at.callee();
                    let goes_on = callee.is_function() && callee.name() == "util_checksum_seq";
                    if goes_on && at.arguments().iter().any(|sum| sums.contains(sum)) {
                        sums.insert(at);
                    }
                }
                Some(LLVMOpcode::LLVMICmp)
                    if sums.contains(&at.operand(0)) || sums.contains(&at.operand(1)) =>
                {
                    let equal = match at.predicate() {
                        LLVMIntPredicate::LLVMIntEQ => true,
                        LLVMIntPredicate::LLVMIntNE => false,
                        _ => return,
                    };
                    self.begins(call);
                    self.emit.before(at.next(), call);
                    let accepted = if equal { at } else { self.emit.not(at) };
                    let int = self.emit.int(32);
                    let accepted = self.emit.cast(LLVMOpcode::LLVMZExt, accepted, int);
                    return self.ends(at, accepted);
                }
                _ => {}
            }
        }
    }

    fn begins(&mut self, call: Value) {
        let void = self.emit.void();
        self.emit.before(call, call);
        self.emit.hook("lf_checksum_begin", void, &[]);
    }

    /// Right behind an instruction, or behind what says whether it was `accepted`.
    fn ends(&mut self, behind: Value, accepted: Value) {
        let void = self.emit.void();
        let place = if accepted == behind {
            behind.next()
        } else {
            accepted.next()
        };
        self.emit.before(place, behind);
        self.emit.hook("lf_checksum_end", void, &[accepted]);
    }
}
