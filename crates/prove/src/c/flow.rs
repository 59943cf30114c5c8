//! The control flow of a function: an order of its blocks in which loops are in one piece (Bourdoncle's weak topological order),
//! and which registers are still needed where.

use landfall_ir::{Function, Kind, Operand, Reg, Type, Typed};

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
    /// By block: variables (the registers with their addresses) that nobody else knows of, and that are written at or behind its
    /// beginning before they are read, if at all.
    dead: Vec<Vec<usize>>,
    /// It says somewhere what must not be.
    pub(super) asserts: bool,
}

/// Functions that nobody may come to.
const FORBIDDEN: [&str; 7] = [
    "__assert_fail",
    "__assert_rtn",
    "__assert",
    "abort",
    "reach_error",
    "__VERIFIER_error",
    "_ZSt9terminatev",
];

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
            dead: dead_variables(function, &successors),
            asserts: asserts(function),
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

    /// Variables of which it does not matter what they hold where a block begins.
    pub(super) fn dead_variables(&self, block: usize) -> impl Iterator<Item = usize> + '_ {
        self.dead[block].iter().copied()
    }

    pub(super) fn is_live(&self, block: usize, register: usize) -> bool {
        self.live[block][register]
    }
}

/// By block: variables whose address goes nowhere, and which are not read at or behind its beginning before they are written.
fn dead_variables(function: &Function, successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut private = vec![false; function.registers];
    let mut of: Vec<Option<&Type>> = vec![None; function.registers];
    let all = || function.blocks.iter().flat_map(|b| &b.instructions);
    for instruction in all() {
        if let (Kind::Alloca { of: what, .. }, Some(result)) =
            (&instruction.kind, instruction.result)
        {
            private[result.0 as usize] = true;
            of[result.0 as usize] = Some(what);
        }
    }
    let whole = |register: usize, accessed: &Type| of[register] == Some(accessed);
    for instruction in all() {
        let direct = variable(&instruction.kind);
        for register in uses(&instruction.kind) {
            let stays =
                direct.is_some_and(|(to, accessed, _)| to == register && whole(register, accessed));
            let stored = match &instruction.kind {
                Kind::Store { value, .. } => value.value == Operand::Reg(Reg(register as u32)),
                _ => false,
            };
            private[register] &= stays && !stored;
        }
    }
    let count = function.blocks.len();
    let mut read = vec![vec![false; function.registers]; count];
    let mut changed = true;
    while changed {
        changed = false;
        for block in (0..count).rev() {
            let mut now = vec![false; function.registers];
            for &to in &successors[block] {
                for (register, needed) in read[to].iter().enumerate() {
                    now[register] |= needed;
                }
            }
            for instruction in function.blocks[block].instructions.iter().rev() {
                if let Some((register, _, reads)) = variable(&instruction.kind) {
                    now[register] = reads;
                }
            }
            if now != read[block] {
                read[block] = now;
                changed = true;
            }
        }
    }
    let dead = |read: &Vec<bool>| {
        let unread = (0..read.len()).filter(|&r| private[r] && !read[r]);
        unread.collect()
    };
    read.iter().map(dead).collect()
}

/// Of a load or a store: the register with the address, the type, and whether it reads.
fn variable(kind: &Kind) -> Option<(usize, &Type, bool)> {
    let (at, of, reads) = match kind {
        Kind::Load { of, from, .. } => (from, of, true),
        Kind::Store { value, to, .. } => (to, &value.of, false),
        _ => return None,
    };
    match at {
        Operand::Reg(register) => Some((register.0 as usize, of, reads)),
        _ => None,
    }
}

fn asserts(function: &Function) -> bool {
    let mut instructions = function.blocks.iter().flat_map(|b| &b.instructions);
    instructions.any(|instruction| match &instruction.kind {
        Kind::Call {
            callee: landfall_ir::Callee::Function(name),
            ..
        } => FORBIDDEN.contains(&name.as_str()),
        _ => false,
    })
}

/// What is chosen by where control came from is used on the way, and there on arrival.
fn live(function: &Function, successors: &[Vec<usize>]) -> Vec<Vec<bool>> {
    let count = function.blocks.len();
    let mut live = vec![vec![false; function.registers]; count];
    let mut changed = true;
    while changed {
        changed = false;
        for block in (0..count).rev() {
            let mut now = vec![false; function.registers];
            for &to in &successors[block] {
                let mut needed = live[to].clone();
                for instruction in &function.blocks[to].instructions {
                    let Kind::Phi { from, .. } = &instruction.kind else {
                        break;
                    };
                    if let Some(result) = instruction.result {
                        needed[result.0 as usize] = false;
                    }
                    let way = from.iter().find(|(_, of)| of.index() == block);
                    if let Some((Operand::Reg(register), _)) = way {
                        now[register.0 as usize] = true;
                    }
                }
                for (register, needed) in needed.into_iter().enumerate() {
                    now[register] |= needed;
                }
            }
            for instruction in function.blocks[block].instructions.iter().rev() {
                let chosen = matches!(instruction.kind, Kind::Phi { .. });
                if let Some(result) = instruction.result {
                    now[result.0 as usize] = chosen;
                }
                if !chosen {
                    for register in uses(&instruction.kind) {
                        now[register] = true;
                    }
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

fn uses(kind: &Kind) -> Vec<usize> {
    let mut all = Vec::new();
    let mut operand = |o: &Operand| {
        if let Operand::Reg(register) = o {
            all.push(register.0 as usize);
        }
    };
    let mut typed = |t: &Typed| operand(&t.value);
    match kind {
        Kind::Alloca { count, .. } => {
            if let Some(count) = count {
                typed(count);
            }
        }
        Kind::Load { from, .. } => operand(from),
        Kind::Store { value, to, .. } => {
            typed(value);
            operand(to);
        }
        Kind::Gep { base, indices, .. } => {
            indices.iter().for_each(&mut typed);
            operand(base);
        }
        Kind::Binary { a, b, .. } | Kind::Compare { a, b, .. } => {
            operand(a);
            operand(b);
        }
        Kind::Cast { value, .. } | Kind::Freeze { value } => typed(value),
        Kind::Select {
            condition,
            then,
            otherwise,
        } => [condition, then, otherwise].into_iter().for_each(typed),
        Kind::Phi { from, .. } => from.iter().for_each(|(value, _)| operand(value)),
        Kind::Call {
            callee, arguments, ..
        } => {
            arguments.iter().for_each(|a| typed(&a.value));
            if let landfall_ir::Callee::Pointer(pointer) = callee {
                operand(pointer);
            }
        }
        Kind::Extract { from, .. } => typed(from),
        Kind::Insert { into, value, .. } => {
            typed(into);
            typed(value);
        }
        Kind::Rmw { to, value, .. } => {
            typed(value);
            operand(to);
        }
        Kind::CompareExchange {
            to,
            expected,
            desired,
        } => {
            typed(expected);
            typed(desired);
            operand(to);
        }
        Kind::Branch { condition, .. } => operand(condition),
        Kind::Switch { value, .. } => typed(value),
        Kind::Return { value } => {
            if let Some(value) = value {
                typed(value);
            }
        }
        Kind::Fence { .. } | Kind::Jump { .. } | Kind::Unreachable | Kind::Other(_) => {}
    }
    all
}
