//! The control flow of a function: an order of its blocks in which loops are in one piece (Bourdoncle's weak topological order),
//! and which registers are still needed where.

use landfall_ir::{Function, InstructionKind, IrOperand, Typed};

#[derive(Clone, Debug)]
pub(super) struct Flow {
    /// By block: its place in the order.
    pub(super) place: Vec<u32>,
    /// By place: the block.
    pub(super) block: Vec<usize>,
    /// By block: the places of the heads of the loops around it, outermost first (its own, if it is one).
    pub(super) loops: Vec<Vec<u32>>,
    /// By block: registers that are used at or behind its beginning.
    live: Vec<Vec<bool>>,
}

enum FlowPart {
    Block(usize),
    Loop(usize, Vec<FlowPart>),
}

struct FlowOrder<'f> {
    successors: &'f [Vec<usize>],
    number: Vec<u32>,
    stack: Vec<usize>,
    next: u32,
}

const DONE: u32 = u32::MAX;

impl FlowOrder<'_> {
    /// Bourdoncle, "Efficient chaotic iteration strategies with widenings", figure 4; parts come out last first.
    fn visit(&mut self, block: usize, parts: &mut Vec<FlowPart>) -> u32 {
        self.stack.push(block);
        self.next += 1;
        self.number[block] = self.next;
        let (mut head, mut is_loop) = (self.next, false);
        for at in 0..self.successors[block].len() {
            let to = self.successors[block][at];
            let least = match self.number[to] {
                0 => self.visit(to, parts),
                known => known,
            };
            if least <= head {
                (head, is_loop) = (least, true);
            }
        }
        if head == self.number[block] {
            self.number[block] = DONE;
            while let Some(element) = self.stack.pop() {
                if element == block {
                    break;
                }
                if is_loop {
                    self.number[element] = 0;
                }
            }
            parts.push(match is_loop {
                true => self.component(block),
                false => FlowPart::Block(block),
            });
        }
        head
    }

    fn component(&mut self, head: usize) -> FlowPart {
        let mut parts = Vec::new();
        for at in 0..self.successors[head].len() {
            let to = self.successors[head][at];
            if self.number[to] == 0 {
                self.visit(to, &mut parts);
            }
        }
        parts.reverse();
        FlowPart::Loop(head, parts)
    }
}

impl Flow {
    pub(super) fn new(function: &Function) -> Flow {
        let count = function.blocks.len();
        let successors: Vec<Vec<usize>> = function
            .blocks
            .iter()
            .map(|block| {
                let last = block.instructions.last();
                let to = last.map_or(Vec::new(), |last| last.kind.successors());
                to.into_iter().map(|id| id.index()).collect()
            })
            .collect();
        let mut order = FlowOrder {
            successors: &successors,
            number: vec![0; count],
            stack: Vec::new(),
            next: 0,
        };
        let mut parts = Vec::new();
        order.visit(0, &mut parts);
        parts.reverse();
        let mut flow = Flow {
            place: vec![u32::MAX; count],
            block: Vec::new(),
            loops: vec![Vec::new(); count],
            live: live(function, &successors),
        };
        flow.lay_out(&parts, &mut Vec::new());
        flow
    }

    fn lay_out(&mut self, parts: &[FlowPart], around: &mut Vec<u32>) {
        for part in parts {
            let block = match part {
                FlowPart::Block(block) | FlowPart::Loop(block, _) => *block,
            };
            let place = self.block.len() as u32;
            self.place[block] = place;
            self.block.push(block);
            if let FlowPart::Loop(_, inner) = part {
                around.push(place);
                self.loops[block] = around.clone();
                self.lay_out(inner, around);
                around.pop();
            } else {
                self.loops[block] = around.clone();
            }
        }
    }

    pub(super) fn is_live(&self, block: usize, register: usize) -> bool {
        self.live[block][register]
    }
}

fn live(function: &Function, successors: &[Vec<usize>]) -> Vec<Vec<bool>> {
    let count = function.blocks.len();
    let mut live = vec![vec![false; function.registers]; count];
    let mut changed = true;
    while changed {
        changed = false;
        for block in (0..count).rev() {
            let mut now = vec![false; function.registers];
            for &to in &successors[block] {
                for (register, needed) in live[to].iter().enumerate() {
                    now[register] |= needed;
                }
            }
            for instruction in function.blocks[block].instructions.iter().rev() {
                if let Some(result) = instruction.result {
                    // What control chose by where it came from is there on arrival.
                    now[result.0 as usize] =
                        matches!(instruction.kind, InstructionKind::Phi { .. });
                }
                for register in uses(&instruction.kind) {
                    now[register] = true;
                }
            }
            if now != live[block] {
                live[block] = now;
                changed = true;
            }
        }
    }
    live
}

fn uses(kind: &InstructionKind) -> Vec<usize> {
    let mut all = Vec::new();
    let mut operand = |o: &IrOperand| {
        if let IrOperand::Reg(register) = o {
            all.push(register.0 as usize);
        }
    };
    let mut typed = |t: &Typed| operand(&t.value);
    match kind {
        InstructionKind::Alloca { count, .. } => {
            if let Some(count) = count {
                typed(count);
            }
        }
        InstructionKind::Load { from, .. } => operand(from),
        InstructionKind::Store { value, to, .. } => {
            typed(value);
            operand(to);
        }
        InstructionKind::Gep { base, indices, .. } => {
            indices.iter().for_each(&mut typed);
            operand(base);
        }
        InstructionKind::Binary { a, b, .. } | InstructionKind::Compare { a, b, .. } => {
            operand(a);
            operand(b);
        }
        InstructionKind::Cast { value, .. } | InstructionKind::Freeze { value } => typed(value),
        InstructionKind::Select {
            condition,
            then,
            otherwise,
        } => [condition, then, otherwise].into_iter().for_each(typed),
        InstructionKind::Phi { from, .. } => from.iter().for_each(|(value, _)| operand(value)),
        InstructionKind::Call {
            callee, arguments, ..
        } => {
            arguments.iter().for_each(|a| typed(&a.value));
            if let landfall_ir::Callee::Pointer(pointer) = callee {
                operand(pointer);
            }
        }
        InstructionKind::Extract { from, .. } => typed(from),
        InstructionKind::Insert { into, value, .. } => {
            typed(into);
            typed(value);
        }
        InstructionKind::Rmw { to, value, .. } => {
            typed(value);
            operand(to);
        }
        InstructionKind::CompareExchange {
            to,
            expected,
            desired,
        } => {
            typed(expected);
            typed(desired);
            operand(to);
        }
        InstructionKind::Branch { condition, .. } => operand(condition),
        InstructionKind::Switch { value, .. } => typed(value),
        InstructionKind::Return { value } => {
            if let Some(value) = value {
                typed(value);
            }
        }
        InstructionKind::Fence { .. }
        | InstructionKind::Jump { .. }
        | InstructionKind::Unreachable
        | InstructionKind::Other(_) => {}
    }
    all
}
