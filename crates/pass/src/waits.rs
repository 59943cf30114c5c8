//! Waits for conditions after which a function does nothing but go back to the head of a loop and look again. The runtime is told of them before the
//! call: whether such a wait happened is nobody's business but that of who might have been woken instead (docs/design/algorithms.md §3).

use crate::budget::successors;
use crate::ir::{Block, Value};
use crate::turns::{Kept, LoopHead};
use llvm_sys::LLVMOpcode;

/// Blocks between the call and the head.
const MOST_BLOCKS: usize = 8;

/// A call that waits, which head follows, and what the function keeps when it comes there.
pub(crate) struct LoopingWait {
    pub(crate) call: Value,
    pub(crate) head: usize,
    pub(crate) kept: Vec<Kept>,
}

fn waits(callee: Value) -> bool {
    callee.is_function()
        && callee.is_declaration()
        && matches!(
            callee.name().as_str(),
            "pthread_cond_wait"
                | "cnd_wait"
                | "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"
        )
}

/// Those of a function, before any block is split.
pub(crate) fn looping(function: Value, heads: &[LoopHead]) -> Vec<LoopingWait> {
    let mut found = Vec::new();
    for block in function.blocks() {
        let instructions = block.instructions();
        for (at, &call) in instructions.iter().enumerate() {
            if call.is_opcode(LLVMOpcode::LLVMCall)
                && waits(call.callee())
                && call.is_unused()
                && let Some((head, from)) = follow(block, &instructions[at + 1..], heads)
            {
                let kept = heads[head].kept.iter();
                let kept = kept.map(|&kept| coming_from(kept, &heads[head], from));
                if let Some(kept) = kept.collect() {
                    found.push(LoopingWait { call, head, kept });
                }
            }
        }
    }
    found
}

/// The head that is come to with nothing done, and the block from which.
fn follow(mut block: Block, rest: &[Value], heads: &[LoopHead]) -> Option<(usize, Block)> {
    let mut rest = rest.to_vec();
    for _ in 0..MOST_BLOCKS {
        let (last, before) = rest.split_last()?;
        let [next] = successors(block)[..] else {
            return None;
        };
        if !last.is_opcode(LLVMOpcode::LLVMBr) || !before.iter().all(|&i| says_nothing(i)) {
            return None;
        }
        if let Some(head) = heads.iter().position(|head| head.at.block() == next) {
            return Some((head, block));
        }
        (block, rest) = (next, next.instructions());
    }
    None
}

fn says_nothing(instruction: Value) -> bool {
    let callee = match instruction.is_opcode(LLVMOpcode::LLVMCall) {
        true => instruction.callee(),
        false => return false,
    };
    let name = callee.name();
    callee.is_intrinsic() && (name.starts_with("llvm.dbg.") || name.starts_with("llvm.lifetime."))
}

/// What is kept at a head by who comes from there: of what differs by that, its value.
fn coming_from(kept: Kept, head: &LoopHead, from: Block) -> Option<Kept> {
    match kept {
        Kept::Register(value, bytes)
            if value.is_opcode(LLVMOpcode::LLVMPHI) && value.block() == head.at.block() =>
        {
            let mut incoming = value.incoming().into_iter();
            let (value, _) = incoming.find(|(_, block)| *block == from)?;
            Some(Kept::Register(value, bytes))
        }
        kept => Some(kept),
    }
}
