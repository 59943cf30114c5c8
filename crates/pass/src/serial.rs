//! Does a program tell apart who is the serial thread of a barrier? Most look at what the wait returns only to see whether it failed: both
//! answers that it can give, 0 and `PTHREAD_BARRIER_SERIAL_THREAD`, go the same way.
//!
//! All that is computed of the answer is computed for both. Where that is the same it tells nothing; where it decides a branch, both sides are
//! followed up to where they meet, as long as nothing happens on the way: who comes by there has looked before. Whatever else is done with it
//! tells.

use crate::ir::{Block, Value};
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};

/// What is done with the answer, at most.
const MOST: usize = 64;
/// Blocks up to where two ways meet, and operations that a value is computed by.
const FAR: usize = 12;

const ANSWERS: [i64; 2] = [0, -1];

/// May the program tell which of the two answers a call has given?
pub(crate) fn tells(call: Value) -> bool {
    let mut answer = SerialAnswer {
        call,
        slots: Vec::new(),
        passed: Vec::new(),
    };
    answer.is_told().is_none_or(|told| told)
}

struct SerialAnswer {
    call: Value,
    /// Variables on the stack that hold it.
    slots: Vec<Value>,
    /// Blocks between a branch that it decides and where both sides meet.
    passed: Vec<Block>,
}

impl SerialAnswer {
    /// `None`: it goes where it is not followed.
    fn is_told(&mut self) -> Option<bool> {
        let mut open = vec![self.call];
        let (mut seen, mut apart) = (Vec::new(), Vec::new());
        while let Some(value) = open.pop() {
            for user in value.users() {
                if seen.contains(&(user, value)) {
                    continue;
                }
                seen.push((user, value));
                if seen.len() > MOST {
                    return None;
                }
                match user.opcode()? {
                    LLVMOpcode::LLVMStore => open.extend(self.keeps(user, value)?),
                    LLVMOpcode::LLVMBr | LLVMOpcode::LLVMSwitch => {
                        if self.meets(user).is_none() {
                            apart.push(user.block());
                        }
                    }
                    _ => {
                        let [one, other] = ANSWERS.map(|answer| self.value(user, answer, FAR));
                        if one? != other? {
                            open.push(user);
                        }
                    }
                }
            }
        }
        Some(apart.iter().any(|block| !self.passed.contains(block)))
    }

    /// It is stored in a variable whose address nobody takes: who loads that.
    fn keeps(&mut self, store: Value, value: Value) -> Option<Vec<Value>> {
        let slot = store.operand(1);
        if slot == value || store.is_volatile() || !slot.is_opcode(LLVMOpcode::LLVMAlloca) {
            return None;
        }
        let same = slot.allocated_type() == value.ty();
        let mut loads = Vec::new();
        for user in slot.users() {
            match user.opcode()? {
                LLVMOpcode::LLVMLoad if user.ty() == value.ty() && !user.is_volatile() => {
                    if last_store(slot, user).is_none_or(|stored| stored == value) {
                        loads.push(user);
                    }
                }
                LLVMOpcode::LLVMStore if user.operand(1) == slot && user.operand(0) != slot => {}
                LLVMOpcode::LLVMCall if user.callee().is_intrinsic() => {}
                _ => return None,
            }
        }
        if !same {
            return None;
        }
        if self.slots.contains(&slot) {
            return Some(Vec::new());
        }
        self.slots.push(slot);
        Some(loads)
    }

    /// What comes of this answer there, as so many bits as it has.
    fn value(&self, value: Value, answer: i64, far: usize) -> Option<i64> {
        if value == self.call {
            return Some(answer);
        }
        if let Some(constant) = value.constant_int() {
            return Some(constant);
        }
        let far = far.checked_sub(1)?;
        let of = |operand: u32| self.value(value.operand(operand), answer, far);
        let bits = |value: Value| value.ty().int_width().filter(|&bits| bits <= 64);
        let cut = |number: i64, bits: u32| number << (64 - bits) >> (64 - bits);
        let unsigned = |number: i64, bits: u32| number as u64 & (u64::MAX >> (64 - bits));
        Some(match value.opcode()? {
            LLVMOpcode::LLVMLoad if self.slots.contains(&value.operand(0)) => answer,
            LLVMOpcode::LLVMAdd => cut(of(0)?.wrapping_add(of(1)?), bits(value)?),
            LLVMOpcode::LLVMSub => cut(of(0)?.wrapping_sub(of(1)?), bits(value)?),
            LLVMOpcode::LLVMAnd => of(0)? & of(1)?,
            LLVMOpcode::LLVMOr => of(0)? | of(1)?,
            LLVMOpcode::LLVMXor => of(0)? ^ of(1)?,
            LLVMOpcode::LLVMTrunc => cut(of(0)?, bits(value)?),
            LLVMOpcode::LLVMSExt => of(0)?,
            LLVMOpcode::LLVMZExt => unsigned(of(0)?, bits(value.operand(0))?) as i64,
            LLVMOpcode::LLVMFreeze => of(0)?,
            LLVMOpcode::LLVMSelect => match of(0)? {
                0 => of(2)?,
                _ => of(1)?,
            },
            LLVMOpcode::LLVMICmp => {
                let (a, b, bits) = (of(0)?, of(1)?, bits(value.operand(0))?);
                let (left, right) = (unsigned(a, bits), unsigned(b, bits));
                let holds = match value.comparison() {
                    LLVMIntPredicate::LLVMIntEQ => a == b,
                    LLVMIntPredicate::LLVMIntNE => a != b,
                    LLVMIntPredicate::LLVMIntUGT => left > right,
                    LLVMIntPredicate::LLVMIntUGE => left >= right,
                    LLVMIntPredicate::LLVMIntULT => left < right,
                    LLVMIntPredicate::LLVMIntULE => left <= right,
                    LLVMIntPredicate::LLVMIntSGT => a > b,
                    LLVMIntPredicate::LLVMIntSGE => a >= b,
                    LLVMIntPredicate::LLVMIntSLT => a < b,
                    LLVMIntPredicate::LLVMIntSLE => a <= b,
                };
                // A bit is 0 or -1, as constants are.
                -i64::from(holds)
            }
            _ => return None,
        })
    }

    /// Where a block ends with this answer.
    fn goes_to(&self, end: Value, answer: i64) -> Option<Block> {
        let successors = end.successors();
        match (end.opcode()?, &successors[..]) {
            (LLVMOpcode::LLVMBr, &[only]) => Some(only),
            (LLVMOpcode::LLVMBr, &[yes, no]) => match self.value(end.operand(0), answer, FAR)? {
                0 => Some(no),
                _ => Some(yes),
            },
            (LLVMOpcode::LLVMSwitch, &[otherwise, ..]) => {
                let value = self.value(end.operand(0), answer, FAR)?;
                // The value and where to go otherwise, then cases: a number, and where to go.
                let cases = (1..successors.len() as u32).zip(&successors[1..]);
                let case = |number: u32| end.operand(2 * number).constant_int();
                let mut found = otherwise;
                for (number, &to) in cases {
                    if case(number)? == value {
                        found = to;
                    }
                }
                Some(found)
            }
            _ => None,
        }
    }

    /// The blocks that come behind a branch, each with the one before it.
    fn way(&self, end: Value, answer: i64) -> Vec<(Block, Block)> {
        let mut way = Vec::new();
        let (mut from, mut end) = (end.block(), end);
        while let Some(to) = self.goes_to(end, answer) {
            way.push((from, to));
            if way.len() == FAR || !self.does_nothing(to, answer) {
                break;
            }
            let Some(next) = to.terminator() else { break };
            (from, end) = (to, next);
        }
        way
    }

    /// Is all that a block computes of the answer alone, and used nowhere else?
    fn does_nothing(&self, block: Block, answer: i64) -> bool {
        block.instructions().into_iter().all(|instruction| {
            let ends = Some(instruction) == block.terminator();
            let inside = |user: Value| user.opcode().is_some() && user.block() == block;
            match instruction.opcode() {
                Some(LLVMOpcode::LLVMBr | LLVMOpcode::LLVMSwitch) if ends => true,
                Some(LLVMOpcode::LLVMCall) => {
                    instruction.callee().is_intrinsic()
                        && instruction.callee().name().starts_with("llvm.dbg.")
                }
                _ => {
                    self.value(instruction, answer, FAR).is_some()
                        && instruction.users().into_iter().all(inside)
                }
            }
        })
    }

    /// Both answers come to the same place, and bring the same there.
    fn meets(&mut self, end: Value) -> Option<()> {
        let [one, other] = ANSWERS.map(|answer| self.way(end, answer));
        let (a, b) = one.iter().find_map(|a| {
            let b = other.iter().find(|b| a.1 == b.1)?;
            Some((a, b))
        })?;
        for instruction in a.1.instructions() {
            if !instruction.is_opcode(LLVMOpcode::LLVMPHI) {
                break;
            }
            let from = |block: Block| {
                let incoming = instruction.incoming();
                { incoming.into_iter() }.find_map(|(value, of)| (of == block).then_some(value))
            };
            let (left, right) = (from(a.0)?, from(b.0)?);
            let known = |value, answer| self.value(value, answer, FAR);
            let same = left == right && known(left, 0).is_none()
                || known(left, ANSWERS[0]).is_some()
                    && known(left, ANSWERS[0]) == known(right, ANSWERS[1]);
            if !same {
                return None;
            }
        }
        let meeting = a.1;
        for way in [one, other] {
            let before = way.iter().take_while(|(_, block)| *block != meeting);
            // Nobody comes there from elsewhere.
            let only = before.take_while(|(from, block)| block.comes_from() == [*from]);
            self.passed.extend(only.map(|(_, block)| *block));
        }
        Some(())
    }
}

/// What was stored last in a variable before it is loaded, in the same block.
fn last_store(slot: Value, load: Value) -> Option<Value> {
    let instructions = load.block().instructions();
    let before = instructions.into_iter().take_while(|&other| other != load);
    let stores = |value: &Value| value.is_opcode(LLVMOpcode::LLVMStore) && value.operand(1) == slot;
    Some(before.filter(stores).last()?.operand(0))
}
