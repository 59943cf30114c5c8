//! What can be said about a program before it runs: which instruction must wait for which, where each operand's value
//! comes from, and who could still touch a variable or a line.

use crate::program::{Instr, LineId, LitmusProgram, Operand, Reg, RmwOp, Value, Var};
use crate::transaction::{STARTED, TxInstr, TxRegion, is_forbidden};
use landfall_model::order::{OpKind, OrderTable};
use smallvec::SmallVec;

/// A set of instructions of one thread.
pub(super) type Mask = u32;

/// A set of flush groups. Write-backs of one thread that the same fences wait for are one group: the future cannot tell
/// them apart.
pub(super) type FlushGroups = u128;

/// An operand as a function of what the thread's reads returned. Threads are straight lines, so it is static.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Expr {
    Const(Value),
    /// The value that a read returned, by its slot.
    Read(usize),
    /// By its place in [`ThreadOps::computed`].
    Computed(usize),
}

/// A value computed from others. Kept as a list, each using only earlier ones: a register may be doubled thirty times.
#[derive(Clone, Debug)]
pub(super) struct Computation {
    rule: Rule,
    /// The slots its value comes from.
    slots: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
enum Rule {
    /// `reg = reg op operand`.
    Arithmetic { op: RmwOp, a: Expr, b: Expr },
    /// What a register holds behind a transaction: an abort takes back what was done to it.
    Behind {
        /// Where `xbegin` left its status.
        status: usize,
        committed: Expr,
        aborted: Expr,
    },
}

impl Rule {
    fn operands(self) -> [Expr; 3] {
        match self {
            Rule::Arithmetic { a, b, .. } => [a, b, Expr::Const(0)],
            Rule::Behind {
                status,
                committed,
                aborted,
            } => [Expr::Read(status), committed, aborted],
        }
    }
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
    /// The outermost `xbegin`, and the `xend` that commits what it began.
    Begin,
    Commit(TxRegion),
    /// An `xbegin` or `xend` within a transaction: a moment at which it may be aborted.
    Nest,
    /// `xabort` inside a transaction.
    Abort {
        code: u8,
        when: Option<(Expr, Value)>,
    },
    /// An instruction that no transaction takes.
    Forbidden,
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
    /// The transaction that it is inside of.
    pub(super) inside: Option<TxRegion>,
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
    pub(super) computed: Vec<Computation>,
    pub(super) regions: Vec<TxRegion>,
    /// By instruction: the status bit of an abort right before it.
    pub(super) nested: Vec<Value>,
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

/// The instructions before this place.
pub(super) fn below(n: u8) -> Mask {
    if u32::from(n) >= Mask::BITS {
        !0
    } else {
        (1 << n) - 1
    }
}

impl CompiledOp {
    /// Is it performed against memory, at a moment of its own (not `if`, not register moves)?
    fn is_performed(&self) -> bool {
        !matches!(
            self.action,
            CompiledAction::If { .. } | CompiledAction::Local
        )
    }
}

impl Compiled {
    pub(super) fn new(program: &LitmusProgram, table: &OrderTable) -> Compiled {
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

fn slots_of(expr: Expr, computed: &[Computation]) -> &[usize] {
    match expr {
        Expr::Computed(at) => &computed[at].slots,
        Expr::Const(_) | Expr::Read(_) => &[],
    }
}

/// The slots an expression's value comes from, ascending.
fn all_slots(exprs: &[Expr], computed: &[Computation]) -> Vec<usize> {
    let mut slots: Vec<usize> = Vec::new();
    for &expr in exprs {
        if let Expr::Read(slot) = expr {
            slots.push(slot);
        }
        slots.extend(slots_of(expr, computed));
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
                for step in &self.computed[..=last] {
                    let value = |expr: Expr| match expr {
                        Expr::Const(value) => value,
                        Expr::Read(slot) => results[slot],
                        Expr::Computed(at) => values[at],
                    };
                    let value = match step.rule {
                        Rule::Arithmetic { op, a, b } => op.apply(value(a), value(b)),
                        Rule::Behind {
                            status, committed, ..
                        } if results[status] == STARTED => value(committed),
                        Rule::Behind { aborted, .. } => value(aborted),
                    };
                    values.push(value);
                }
                values[last]
            }
        }
    }

    /// The slots that an expression's value comes from.
    pub(super) fn slots(&self, expr: Expr) -> Vec<usize> {
        all_slots(&[expr], &self.computed)
    }

    fn new(
        program: &LitmusProgram,
        table: &OrderTable,
        thread: usize,
        slots: &mut usize,
    ) -> ThreadOps {
        let decl = &program.threads[thread];
        let first_slot = *slots;
        let mut regs = RegisterFile(decl.regs.iter().map(|r| Expr::Const(r.init)).collect());
        let mut slot_reader: Vec<usize> = Vec::new();
        let mut uses: Vec<(usize, Mask)> = Vec::new();
        let mut ops: Vec<CompiledOp> = Vec::new();
        let mut computed: Vec<Computation> = Vec::new();
        let compute = |computed: &mut Vec<Computation>, rule: Rule| {
            let slots = all_slots(&rule.operands(), computed);
            computed.push(Computation { rule, slots });
            Expr::Computed(computed.len() - 1)
        };
        let regions = decl.regions();
        // Of the transaction that was begun last: the slot of its status, and the registers as an abort leaves them.
        let mut begun = (0, Vec::new());
        let mut registers: Vec<(usize, Vec<Expr>)> = Vec::new();
        for (i, instr) in decl.body.iter().enumerate() {
            let slot = *slots;
            let inside = regions.iter().copied().find(|region| region.holds(i));
            let begins = regions.iter().any(|region| region.begin == i);
            if instr.reads() || begins {
                *slots += 1;
                slot_reader.push(i);
                uses.push((slot, 0));
            }
            let define = |regs: &mut RegisterFile, reg: Reg, value: Expr| {
                regs.0[reg.0 as usize] = value;
            };
            let action = match *instr {
                _ if inside.is_some() && is_forbidden(instr) => CompiledAction::Forbidden,
                // What a transaction does is seen at once: nothing inside needs a fence.
                Instr::Sfence | Instr::Mfence if inside.is_some() => CompiledAction::Local,
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
                    let result = compute(&mut computed, Rule::Arithmetic { op, a, b });
                    define(&mut regs, reg, result);
                    CompiledAction::Local
                }
                Instr::Tx(TxInstr::Begin { reg }) => {
                    if let Some(reg) = reg {
                        let status = match inside {
                            Some(_) => Expr::Const(STARTED),
                            None => Expr::Read(slot),
                        };
                        define(&mut regs, reg, status);
                    }
                    if inside.is_some() {
                        CompiledAction::Nest
                    } else {
                        begun = (slot, regs.0.clone());
                        CompiledAction::Begin
                    }
                }
                Instr::Tx(TxInstr::End) => match regions.iter().find(|region| region.end == i) {
                    None => CompiledAction::Nest,
                    Some(&region) => {
                        let (status, before) = &begun;
                        for (now, &before) in regs.0.iter_mut().zip(before) {
                            if *now != before {
                                let rule = Rule::Behind {
                                    status: *status,
                                    committed: *now,
                                    aborted: before,
                                };
                                *now = compute(&mut computed, rule);
                            }
                        }
                        CompiledAction::Commit(region)
                    }
                },
                Instr::Tx(TxInstr::Test { reg }) => {
                    define(&mut regs, reg, Expr::Const(inside.is_some().into()));
                    CompiledAction::Local
                }
                Instr::Tx(TxInstr::Abort { code, when }) => match inside {
                    None => CompiledAction::Local,
                    Some(_) => CompiledAction::Abort {
                        code,
                        when: when.map(|(reg, equals)| (regs.get(Operand::Reg(reg)), equals)),
                    },
                },
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
            // What a transaction writes is computed again when it commits.
            let users = match inside {
                Some(region) if instr.may_write() => bit(i) | bit(region.end),
                _ => bit(i),
            };
            for slot in all_slots(&operands(&action), &computed) {
                let local = slot - first_slot;
                let reader = slot_reader[local];
                // What a transaction read, and how it ended, is known when it is over.
                let over = regions
                    .iter()
                    .find(|region| region.begin <= reader && reader < region.end && region.end < i);
                data |= bit(over.map_or(reader, |region| region.end));
                uses[local].1 |= users;
            }
            if let Some(region) = inside
                && instr.reads()
                && instr.may_write()
                && let Some((_, users)) = uses.last_mut()
            {
                *users |= bit(region.end);
            }
            let mut before = data;
            let var = instr.var();
            let line = var.map(|v| program.line_of(v));
            // An `xbegin` is a read: only a commit fences (SDM volume 1, "RTM memory ordering").
            let kind = match action {
                _ if inside.is_some() => None,
                CompiledAction::Begin => Some(OpKind::Read),
                CompiledAction::Commit(_) => Some(OpKind::Rmw),
                _ => instr.op_kind(),
            };
            let in_order = inside.or(match action {
                CompiledAction::Commit(region) => Some(region),
                _ => None,
            });
            if let Some(region) = in_order {
                before |= below(i as u8) & !below(region.begin as u8);
            }
            if let Some(kind) = kind {
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
            // Inside a transaction the locked instructions need no empty store buffer, so they may find a store there.
            let forward = match instr {
                Instr::Load { .. } => true,
                _ => inside.is_some() && instr.reads(),
            }
            .then(|| {
                let outside = |j: &usize| !regions.iter().any(|region| region.holds(*j));
                (0..i)
                    .rev()
                    .filter(outside)
                    .find(|&j| decl.body[j].may_write() && decl.body[j].var() == var)
            })
            .flatten();
            ops.push(CompiledOp {
                kind,
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
                inside,
            });
        }
        let performable = ops
            .iter()
            .enumerate()
            .filter(|(_, op)| op.is_performed())
            .fold(0, |mask, (i, _)| mask | bit(i));
        // Inside a transaction only what is performed is waited for.
        for op in &mut ops {
            op.before &= performable;
        }
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
        // What a transaction writes reaches memory when it commits.
        let with_commits = |mask: Mask| {
            let commits = regions
                .iter()
                .filter(|region| mask & below(region.end as u8) & !below(region.begin as u8) != 0);
            commits.fold(mask, |mask, region| mask | bit(region.end))
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
                .map(|v| with_commits(select(&|i| i.may_write() && i.var() == Some(v))))
                .collect(),
            shapers: lines()
                .map(|line| {
                    with_commits(select(&|i| on(i, line) && !matches!(i, Instr::Load { .. })))
                })
                .collect(),
            flushers: lines()
                .map(|line| {
                    select(&|i| {
                        on(i, line) && matches!(i, Instr::Flush { .. } | Instr::NtStore { .. })
                    })
                })
                .collect(),
            groups: Vec::new(),
            computed,
            nested: (0..decl.body.len()).map(|at| decl.nested(at)).collect(),
            registers,
            regions,
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
        CompiledAction::Abort { when, .. } => when.map(|(value, _)| value).into_iter().collect(),
        CompiledAction::Begin
        | CompiledAction::Commit(_)
        | CompiledAction::Nest
        | CompiledAction::Forbidden
        | CompiledAction::Load
        | CompiledAction::Fence
        | CompiledAction::Flush
        | CompiledAction::FlushOpt
        | CompiledAction::Local => SmallVec::new(),
    }
}
