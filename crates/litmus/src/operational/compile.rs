//! What can be said about a program before it runs: which instruction must wait for which, where each operand's value
//! comes from, and who could still touch a variable or a line.

use crate::program::{Instr, LineId, Operand, Program, Reg, RmwOp, Value, Var};
use landfall_model::order::{OpKind, OrderTable};
use smallvec::SmallVec;

/// A set of instructions of one thread.
pub(super) type Mask = u32;

/// A set of flush groups. Write-backs of one thread that the same fences wait for are one group: the future cannot tell
/// them apart.
pub(super) type FlushGroups = u128;

/// An operand as a function of what the thread's reads returned. Threads are straight lines, so it is static.
#[derive(Clone, Copy, Debug)]
pub(super) enum Expr {
    Const(Value),
    /// The value that a read returned, by its slot.
    Read(usize),
    /// The result of register arithmetic, by its place in [`ThreadOps::arithmetic`].
    Computed(usize),
}

/// `reg = reg op operand`. Kept as a list, each using only earlier ones: a register may be doubled thirty times.
#[derive(Clone, Debug)]
pub(super) struct Arithmetic {
    op: RmwOp,
    a: Expr,
    b: Expr,
    /// The slots its value comes from.
    slots: Vec<usize>,
}

/// What performing the instruction does.
#[derive(Clone, Copy, Debug)]
pub(super) enum CompiledAction {
    Load,
    Store(Expr),
    Rmw(RmwOp, Expr),
    Cas {
        expected: Expr,
        desired: Expr,
    },
    Fence,
    Flush,
    FlushOpt,
    /// Decided as soon as the value is known; never performed.
    If {
        value: Expr,
        equals: Value,
    },
    /// Registers only: its effect is in the expressions that use it.
    Local,
}

#[derive(Clone, Debug)]
pub(super) struct CompiledOp {
    pub(super) kind: Option<OpKind>,
    pub(super) action: CompiledAction,
    pub(super) var: Option<Var>,
    pub(super) line: Option<LineId>,
    /// Earlier instructions that must have been performed: the table's rows, the coherence of one variable, data.
    pub(super) before: Mask,
    /// The reads its operands come from.
    pub(super) data: Mask,
    /// A load's newest earlier store to its variable: its value is forwarded while it waits in the buffer.
    pub(super) forward: Option<usize>,
    /// Where a read leaves its value.
    pub(super) slot: usize,
    /// Nobody asks for the value it reads.
    pub(super) unread: bool,
    /// The group of a `clflushopt` or non-temporal store.
    pub(super) group: FlushGroups,
    /// The groups that a fence or locked instruction makes effective.
    pub(super) drains: FlushGroups,
}

#[derive(Clone, Debug)]
pub(super) struct ThreadOps {
    pub(super) ops: Vec<CompiledOp>,
    /// Instructions that are performed against memory (not `if`, not register moves).
    pub(super) performable: Mask,
    /// For each slot of this thread, the instructions whose operands need it.
    pub(super) uses: Vec<(usize, Mask)>,
    /// By variable: instructions that read it, and that write it.
    pub(super) readers: Vec<Mask>,
    pub(super) writers: Vec<Mask>,
    /// By line: instructions that add a version to it or decide which are guaranteed.
    pub(super) shapers: Vec<Mask>,
    /// By line: instructions that flush it, or store to it past the caches.
    pub(super) flushers: Vec<Mask>,
    /// Flush groups, with the fences that wait for each.
    pub(super) groups: Vec<(FlushGroups, Mask)>,
    pub(super) arithmetic: Vec<Arithmetic>,
    /// All registers at each place where the thread may end: an `if`, or the last instruction.
    pub(super) registers: Vec<(usize, Vec<Expr>)>,
}

#[derive(Clone, Debug)]
pub(super) struct Compiled {
    pub(super) threads: Vec<ThreadOps>,
    pub(super) slots: usize,
}

pub(super) fn bit(i: usize) -> Mask {
    1 << i
}

impl Compiled {
    pub(super) fn new(program: &Program, table: &OrderTable) -> Compiled {
        let mut slots = 0;
        let mut next_group = 0;
        let threads = (0..program.threads.len())
            .map(|t| {
                let mut ops = ThreadOps::new(program, table, t, &mut slots);
                ops.group_flushes(table, &mut next_group);
                ops
            })
            .collect();
        Compiled { threads, slots }
    }
}

/// Registers as the instruction at some position sees them.
struct RegisterFile(Vec<Expr>);

impl RegisterFile {
    fn get(&self, operand: Operand) -> Expr {
        match operand {
            Operand::Const(value) => Expr::Const(value),
            Operand::Reg(Reg(r)) => self.0[r as usize],
        }
    }
}

fn slots_of(expr: Expr, arithmetic: &[Arithmetic]) -> &[usize] {
    match expr {
        Expr::Computed(at) => &arithmetic[at].slots,
        Expr::Const(_) | Expr::Read(_) => &[],
    }
}

/// The slots an expression's value comes from, ascending.
fn all_slots(exprs: &[Expr], arithmetic: &[Arithmetic]) -> Vec<usize> {
    let mut slots: Vec<usize> = Vec::new();
    for &expr in exprs {
        if let Expr::Read(slot) = expr {
            slots.push(slot);
        }
        slots.extend(slots_of(expr, arithmetic));
    }
    slots.sort_unstable();
    slots.dedup();
    slots
}

impl ThreadOps {
    pub(super) fn eval(&self, expr: Expr, results: &[Value]) -> Value {
        match expr {
            Expr::Const(value) => value,
            Expr::Read(slot) => results[slot],
            Expr::Computed(last) => {
                let mut values: SmallVec<[Value; 8]> = SmallVec::new();
                for step in &self.arithmetic[..=last] {
                    let value = |expr: Expr| match expr {
                        Expr::Const(value) => value,
                        Expr::Read(slot) => results[slot],
                        Expr::Computed(at) => values[at],
                    };
                    let value = step.op.apply(value(step.a), value(step.b));
                    values.push(value);
                }
                values[last]
            }
        }
    }

    /// The slots that an expression's value comes from.
    pub(super) fn slots(&self, expr: Expr) -> Vec<usize> {
        all_slots(&[expr], &self.arithmetic)
    }

    fn new(program: &Program, table: &OrderTable, thread: usize, slots: &mut usize) -> ThreadOps {
        let decl = &program.threads[thread];
        let first_slot = *slots;
        let mut regs = RegisterFile(decl.regs.iter().map(|r| Expr::Const(r.init)).collect());
        let mut slot_reader: Vec<usize> = Vec::new();
        let mut uses: Vec<(usize, Mask)> = Vec::new();
        let mut ops: Vec<CompiledOp> = Vec::new();
        let mut arithmetic: Vec<Arithmetic> = Vec::new();
        let mut registers: Vec<(usize, Vec<Expr>)> = Vec::new();
        for (i, instr) in decl.body.iter().enumerate() {
            let slot = *slots;
            if instr.reads() {
                *slots += 1;
                slot_reader.push(i);
                uses.push((slot, 0));
            }
            let define = |regs: &mut RegisterFile, reg: Reg, value: Expr| {
                regs.0[reg.0 as usize] = value;
            };
            let action = match *instr {
                Instr::Load { reg, .. } => {
                    define(&mut regs, reg, Expr::Read(slot));
                    CompiledAction::Load
                }
                Instr::Store { value, .. } | Instr::NtStore { value, .. } => {
                    CompiledAction::Store(regs.get(value))
                }
                Instr::Rmw {
                    reg, op, operand, ..
                } => {
                    let operand = regs.get(operand);
                    if let Some(reg) = reg {
                        define(&mut regs, reg, Expr::Read(slot));
                    }
                    CompiledAction::Rmw(op, operand)
                }
                Instr::Cas {
                    reg,
                    expected,
                    desired,
                    ..
                } => {
                    let (expected, desired) = (regs.get(expected), regs.get(desired));
                    define(&mut regs, reg, Expr::Read(slot));
                    CompiledAction::Cas { expected, desired }
                }
                Instr::Flush { .. } => match instr.op_kind() {
                    Some(OpKind::Flush) => CompiledAction::Flush,
                    _ => CompiledAction::FlushOpt,
                },
                Instr::Sfence | Instr::Mfence => CompiledAction::Fence,
                Instr::Move { reg, value } => {
                    let value = regs.get(value);
                    define(&mut regs, reg, value);
                    CompiledAction::Local
                }
                Instr::Arith { reg, op, operand } => {
                    let (a, b) = (regs.get(Operand::Reg(reg)), regs.get(operand));
                    let slots = all_slots(&[a, b], &arithmetic);
                    arithmetic.push(Arithmetic { op, a, b, slots });
                    define(&mut regs, reg, Expr::Computed(arithmetic.len() - 1));
                    CompiledAction::Local
                }
                Instr::If { reg, equals } => CompiledAction::If {
                    value: regs.get(Operand::Reg(reg)),
                    equals,
                },
            };
            if matches!(action, CompiledAction::If { .. }) {
                registers.push((i, regs.0.clone()));
            }
            // An operand's value must be there before the instruction can be performed.
            let mut data = 0;
            for slot in all_slots(&operands(&action), &arithmetic) {
                let local = slot - first_slot;
                data |= bit(slot_reader[local]);
                uses[local].1 |= bit(i);
            }
            let mut before = data;
            let var = instr.var();
            let line = var.map(|v| program.line_of(v));
            if let Some(kind) = instr.op_kind() {
                for (j, earlier) in ops.iter().enumerate() {
                    let Some(earlier_kind) = earlier.kind else {
                        continue;
                    };
                    let same_line = line.is_some() && line == earlier.line;
                    let same_var = var.is_some() && var == earlier.var;
                    if table.ordered(earlier_kind, kind, same_line)
                        || (same_var && coherent(&decl.body[j], instr))
                    {
                        before |= bit(j);
                    }
                }
            }
            let forward = match instr {
                Instr::Load { var, .. } => (0..i)
                    .rev()
                    .find(|&j| decl.body[j].may_write() && decl.body[j].var() == Some(*var)),
                _ => None,
            };
            ops.push(CompiledOp {
                kind: instr.op_kind(),
                action,
                var,
                line,
                before,
                data,
                forward,
                slot,
                unread: false,
                group: 0,
                drains: 0,
            });
        }
        let performable = ops
            .iter()
            .enumerate()
            .filter(|(_, op)| op.kind.is_some())
            .fold(0, |mask, (i, _)| mask | bit(i));
        registers.push((decl.body.len(), regs.0));
        for &(slot, users) in &uses {
            ops[slot_reader[slot - first_slot]].unread = users == 0;
        }
        let select = |wanted: &dyn Fn(&Instr) -> bool| {
            let mut mask = 0;
            for (i, instr) in decl.body.iter().enumerate() {
                if wanted(instr) {
                    mask |= bit(i);
                }
            }
            mask
        };
        let vars = || (0..program.vars.len() as u8).map(Var);
        let lines = || (0..program.line_count() as u8).map(LineId);
        let on = |i: &Instr, line| i.var().is_some_and(|v| program.line_of(v) == line);
        ThreadOps {
            performable,
            uses,
            readers: vars()
                .map(|v| select(&|i| i.reads() && i.var() == Some(v)))
                .collect(),
            writers: vars()
                .map(|v| select(&|i| i.may_write() && i.var() == Some(v)))
                .collect(),
            shapers: lines()
                .map(|line| select(&|i| on(i, line) && !matches!(i, Instr::Load { .. })))
                .collect(),
            flushers: lines()
                .map(|line| {
                    select(&|i| {
                        on(i, line) && matches!(i, Instr::Flush { .. } | Instr::NtStore { .. })
                    })
                })
                .collect(),
            groups: Vec::new(),
            arithmetic,
            registers,
            ops,
        }
    }

    fn group_flushes(&mut self, table: &OrderTable, next_group: &mut u32) {
        for i in 0..self.ops.len() {
            let Some(kind @ (OpKind::FlushOpt | OpKind::NtWrite)) = self.ops[i].kind else {
                continue;
            };
            let line = self.ops[i].line;
            let mut fences = 0;
            for (j, later) in self.ops.iter().enumerate().skip(i + 1) {
                let same_line = later.line.is_some() && later.line == line;
                if later
                    .kind
                    .is_some_and(|k| k.drains() && table.ordered(kind, k, same_line))
                {
                    fences |= bit(j);
                }
            }
            let known = self.groups.iter().find(|&&(_, f)| f == fences);
            // No fence will ever wait for it: it needs no group.
            let group = match known {
                Some(&(group, _)) => group,
                None if fences == 0 => 0,
                None => {
                    // 8 threads × 32 instructions have fewer: a group needs a fence of its own.
                    assert!(*next_group < FlushGroups::BITS, "program beyond its limits");
                    let group = 1 << *next_group;
                    *next_group += 1;
                    self.groups.push((group, fences));
                    group
                }
            };
            self.ops[i].group = group;
            for (j, op) in self.ops.iter_mut().enumerate() {
                if fences & bit(j) != 0 {
                    op.drains |= group;
                }
            }
        }
    }
}

/// One variable is coherent whatever the table says: `(coi ∪ fri) ⊆ po` (docs/design/model.md §6). A write stays behind earlier
/// accesses to its variable, and a read behind an earlier locked instruction on it, whose value it cannot know sooner.
fn coherent(earlier: &Instr, later: &Instr) -> bool {
    let locked = |i: &Instr| matches!(i, Instr::Rmw { .. } | Instr::Cas { .. });
    (later.may_write() && (earlier.may_write() || earlier.reads()))
        || (later.reads() && locked(earlier))
}

fn operands(action: &CompiledAction) -> SmallVec<[Expr; 2]> {
    match *action {
        CompiledAction::Store(value)
        | CompiledAction::Rmw(_, value)
        | CompiledAction::If { value, .. } => SmallVec::from_slice(&[value]),
        CompiledAction::Cas { expected, desired } => SmallVec::from_slice(&[expected, desired]),
        CompiledAction::Load
        | CompiledAction::Fence
        | CompiledAction::Flush
        | CompiledAction::FlushOpt
        | CompiledAction::Local => SmallVec::new(),
    }
}
