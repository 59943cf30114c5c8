//! The step budget: endless loops end, and always at the same step, whether they touch memory or not.

use crate::ir::{Block, Value, split_rare};
use crate::weaver::Weaver;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};
use std::collections::HashMap;

/// The terminators of all blocks that jump back: a set that every cycle passes through.
///
/// A depth-first walk finds them without dominators, and for `goto` spaghetti as well: a cycle contains at least one edge
/// to a block the walk has entered and not left.
pub(crate) fn loop_ends(function: Value) -> Vec<Value> {
    #[derive(PartialEq)]
    enum Visit {
        Open,
        Done,
    }
    let mut visits: HashMap<Block, Visit> = HashMap::new();
    let mut ends = Vec::new();
    let entry = function.blocks()[0];
    let mut path: Vec<(Block, Vec<Block>)> = Vec::new();
    visits.insert(entry, Visit::Open);
    path.push((entry, successors(entry)));
    while let Some((block, remaining)) = path.last_mut() {
        let block = *block;
        let Some(next) = remaining.pop() else {
            visits.insert(block, Visit::Done);
            path.pop();
            continue;
        };
        match visits.get(&next) {
            None => {
                visits.insert(next, Visit::Open);
                path.push((next, successors(next)));
            }
            Some(Visit::Open) => {
                let terminator = block.terminator();
                if ends.last() != terminator.as_ref() {
                    ends.extend(terminator);
                }
            }
            Some(Visit::Done) => {}
        }
    }
    ends
}

pub(crate) fn successors(block: Block) -> Vec<Block> {
    block
        .terminator()
        .map(Value::successors)
        .unwrap_or_default()
}

impl Weaver<'_> {
    /// `if (--__lf_budget < 0) __lf_budget_out(site);` before `at`.
    pub(crate) fn charge_budget(&mut self, at: Value) {
        let site = self.sites.of(at);
        let number = self.emit.int(64);
        let budget = self.emit.runtime_variable(c"__lf_budget", number);
        self.emit.before(at, at);
        let left = self.emit.binary(
            LLVMOpcode::LLVMAdd,
            self.emit.load(number, budget),
            self.emit.constant_signed(number, -1),
        );
        self.emit.store(left, budget);
        let exhausted = self
            .emit
            .compare(LLVMIntPredicate::LLVMIntSLT, left, number.zero());
        let rare = split_rare(at, exhausted);
        self.emit.before(rare, at);
        let void = self.emit.void();
        self.emit.hook("__lf_budget_out", void, &[site]);
    }
}
