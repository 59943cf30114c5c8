//! The parsed program: all that the definitions of its behaviour share.

use crate::transaction::{Aborts, TxInstr};
use landfall_model::order::{OpKind, Platform};
use std::fmt;

/// Every value in a litmus test: registers, variables, constants. Arithmetic wraps.
pub type Value = i64;

/// A variable, by its index in [`Program::vars`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Var(pub u8);

/// A register, by its index in its thread's [`Thread::regs`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Reg(pub u8);

/// A cache line. Variables that share one are written back together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LineId(pub u8);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Operand {
    Const(Value),
    Reg(Reg),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RmwOp {
    Xchg,
    Add,
    Sub,
    And,
    Or,
    Xor,
}

impl RmwOp {
    pub fn apply(self, old: Value, operand: Value) -> Value {
        match self {
            RmwOp::Xchg => operand,
            RmwOp::Add => old.wrapping_add(operand),
            RmwOp::Sub => old.wrapping_sub(operand),
            RmwOp::And => old & operand,
            RmwOp::Or => old | operand,
            RmwOp::Xor => old ^ operand,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FlushKind {
    Clflush,
    Clflushopt,
    Clwb,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Instr {
    Load {
        reg: Reg,
        var: Var,
    },
    Store {
        var: Var,
        value: Operand,
    },
    /// A non-temporal store (`movnti`, `x = nt 1`).
    NtStore {
        var: Var,
        value: Operand,
    },
    /// A locked read-modify-write; `reg` receives the old value, where the test keeps it.
    Rmw {
        reg: Option<Reg>,
        var: Var,
        op: RmwOp,
        operand: Operand,
    },
    /// Compare-and-swap; `reg` receives the old value. A failed one is a locked read: it fences, and writes nothing.
    Cas {
        reg: Reg,
        var: Var,
        expected: Operand,
        desired: Operand,
    },
    Flush {
        var: Var,
        kind: FlushKind,
    },
    Sfence,
    Mfence,
    /// `reg = operand`, touching no memory.
    Move {
        reg: Reg,
        value: Operand,
    },
    /// `reg = reg op operand`, touching no memory (what herd's `ADD EAX,$1` or the unlocked `INC [x]` needs).
    Arith {
        reg: Reg,
        op: RmwOp,
        operand: Operand,
    },
    /// The rest of the thread runs only if the register holds this value.
    If {
        reg: Reg,
        equals: Value,
    },
    /// What belongs to hardware transactions.
    Tx(TxInstr),
}

impl Instr {
    /// Its row in the ordering table; `None` for what touches neither memory nor order.
    pub fn op_kind(&self) -> Option<OpKind> {
        Some(match self {
            Instr::Load { .. } => OpKind::Read,
            Instr::Store { .. } => OpKind::Write,
            Instr::NtStore { .. } => OpKind::NtWrite,
            Instr::Rmw { .. } | Instr::Cas { .. } => OpKind::Rmw,
            Instr::Flush {
                kind: FlushKind::Clflush,
                ..
            } => OpKind::Flush,
            Instr::Flush { .. } => OpKind::FlushOpt,
            Instr::Sfence => OpKind::Sfence,
            Instr::Mfence => OpKind::Mfence,
            Instr::Move { .. } | Instr::Arith { .. } | Instr::If { .. } | Instr::Tx(_) => {
                return None;
            }
        })
    }

    /// The variable it accesses or flushes.
    pub fn var(&self) -> Option<Var> {
        match *self {
            Instr::Load { var, .. }
            | Instr::Store { var, .. }
            | Instr::NtStore { var, .. }
            | Instr::Rmw { var, .. }
            | Instr::Cas { var, .. }
            | Instr::Flush { var, .. } => Some(var),
            _ => None,
        }
    }

    /// May it write memory? (A compare-and-swap may.)
    pub fn may_write(&self) -> bool {
        matches!(
            self,
            Instr::Store { .. } | Instr::NtStore { .. } | Instr::Rmw { .. } | Instr::Cas { .. }
        )
    }

    /// The register it gives a value that has nothing to do with what the register held.
    pub fn sets(&self) -> Option<Reg> {
        match *self {
            Instr::Load { reg, .. } | Instr::Cas { reg, .. } | Instr::Move { reg, .. } => Some(reg),
            Instr::Rmw { reg, .. } | Instr::Tx(TxInstr::Begin { reg }) => reg,
            Instr::Tx(TxInstr::Test { reg }) => Some(reg),
            _ => None,
        }
    }

    /// The registers whose value it needs.
    pub fn uses(&self) -> impl Iterator<Item = Reg> + use<> {
        let used = match *self {
            Instr::Store { value, .. } | Instr::NtStore { value, .. } => [Some(value), None],
            Instr::Rmw { operand, .. } => [Some(operand), None],
            Instr::Cas {
                expected, desired, ..
            } => [Some(expected), Some(desired)],
            Instr::Move { value, .. } => [Some(value), None],
            Instr::Arith { reg, operand, .. } => [Some(Operand::Reg(reg)), Some(operand)],
            Instr::If { reg, .. } => [Some(Operand::Reg(reg)), None],
            Instr::Tx(TxInstr::Abort { when, .. }) => {
                [when.map(|(reg, _)| Operand::Reg(reg)), None]
            }
            Instr::Load { .. }
            | Instr::Flush { .. }
            | Instr::Sfence
            | Instr::Mfence
            | Instr::Tx(_) => [None, None],
        };
        used.into_iter()
            .flatten()
            .filter_map(|operand| match operand {
                Operand::Reg(reg) => Some(reg),
                Operand::Const(_) => None,
            })
    }

    pub fn reads(&self) -> bool {
        matches!(
            self,
            Instr::Load { .. } | Instr::Rmw { .. } | Instr::Cas { .. }
        )
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VarDecl {
    pub name: String,
    pub line: LineId,
    pub init: Value,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegDecl {
    pub name: String,
    pub init: Value,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Thread {
    pub regs: Vec<RegDecl>,
    pub body: Vec<Instr>,
}

/// Limits that keep every index in a byte and every set of instructions of a thread in a word.
pub const MAX_THREADS: usize = 8;
pub const MAX_INSTRS: usize = 32;
pub const MAX_VARS: usize = 32;
pub const MAX_REGS: usize = 32;
/// A variable is 8 bytes wide, a line 64.
pub const VARS_PER_LINE: usize = 8;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LitmusProgram {
    pub vars: Vec<VarDecl>,
    pub threads: Vec<Thread>,
    pub aborts: Aborts,
}

impl LitmusProgram {
    pub fn line_of(&self, var: Var) -> LineId {
        self.vars[var.0 as usize].line
    }

    pub fn line_count(&self) -> usize {
        self.vars
            .iter()
            .map(|v| v.line.0 as usize + 1)
            .max()
            .unwrap_or(0)
    }

    pub fn var_name(&self, var: Var) -> &str {
        &self.vars[var.0 as usize].name
    }

    pub fn reg_name(&self, thread: usize, reg: Reg) -> &str {
        &self.threads[thread].regs[reg.0 as usize].name
    }

    /// A place the way `.lit` files write it: `x`, `T1:r1`.
    pub fn place_name(&self, place: Location) -> String {
        match place {
            Location::Var(var) => self.var_name(var).to_owned(),
            Location::Reg { thread, reg } => {
                format!("T{thread}:{}", self.reg_name(thread.into(), reg))
            }
        }
    }

    /// Every register of every thread.
    pub fn registers(&self) -> Vec<Location> {
        let threads = (0u8..).zip(&self.threads);
        threads
            .flat_map(|(thread, t)| {
                let regs = (0u8..).zip(&t.regs);
                regs.map(move |(reg, _)| Location::Reg {
                    thread,
                    reg: Reg(reg),
                })
            })
            .collect()
    }
}

/// Something an outcome gives a value to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Location {
    Var(Var),
    Reg { thread: u8, reg: Reg },
}

/// When a test looks, and at what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Observe {
    /// At the end of the execution, everything committed.
    Final(Vec<Location>),
    /// After a power failure at any point.
    Recover(Vec<Var>),
}

impl Observe {
    pub fn places(&self) -> Vec<Location> {
        match self {
            Observe::Final(places) => places.clone(),
            Observe::Recover(vars) => vars.iter().map(|&v| Location::Var(v)).collect(),
        }
    }

    pub fn is_recovery(&self) -> bool {
        matches!(self, Observe::Recover(_))
    }
}

/// The values of the observed places, in the order [`Observe::places`] gives.
pub type LitmusOutcome = Vec<Value>;

/// A test as a file holds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Test {
    pub name: String,
    pub program: LitmusProgram,
    pub observe: Observe,
    pub platform: Platform,
    pub expect: Vec<crate::expect::Expectation>,
    /// What the file asks of its condition, where it says the answer as well (`final … with tso: ~exists`).
    pub asked: Option<crate::expect::Quantifier>,
    /// Where the expectation comes from, in the file's words.
    pub source: String,
}

/// Writes an instruction the way `.lit` files do.
#[derive(Debug)]
pub struct ShowInstr<'a> {
    pub program: &'a LitmusProgram,
    pub thread: usize,
    pub instr: &'a Instr,
}

impl fmt::Display for ShowInstr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reg = |r: Reg| self.program.reg_name(self.thread, r);
        let var = |v: Var| self.program.var_name(v);
        let op = |o: Operand| match o {
            Operand::Const(c) => c.to_string(),
            Operand::Reg(r) => reg(r).to_owned(),
        };
        match *self.instr {
            Instr::Load { reg: r, var: v } => write!(f, "{} = {}", reg(r), var(v)),
            Instr::Store { var: v, value } => write!(f, "{} = {}", var(v), op(value)),
            Instr::NtStore { var: v, value } => write!(f, "{} = nt {}", var(v), op(value)),
            Instr::Rmw {
                reg: r,
                var: v,
                op: rmw,
                operand,
            } => {
                let verb = match rmw {
                    RmwOp::Xchg => "xchg",
                    RmwOp::Add => "faa",
                    RmwOp::Sub => "fas",
                    RmwOp::And => "fand",
                    RmwOp::Or => "for",
                    RmwOp::Xor => "fxor",
                };
                match r {
                    Some(r) => write!(f, "{} = {verb} {} {}", reg(r), var(v), op(operand)),
                    None => write!(f, "{verb} {} {}", var(v), op(operand)),
                }
            }
            Instr::Cas {
                reg: r,
                var: v,
                expected,
                desired,
            } => write!(
                f,
                "{} = cas {} {} {}",
                reg(r),
                var(v),
                op(expected),
                op(desired)
            ),
            Instr::Flush { var: v, kind } => {
                let verb = match kind {
                    FlushKind::Clflush => "clflush",
                    FlushKind::Clflushopt => "clflushopt",
                    FlushKind::Clwb => "clwb",
                };
                write!(f, "{verb} {}", var(v))
            }
            Instr::Sfence => f.write_str("sfence"),
            Instr::Mfence => f.write_str("mfence"),
            Instr::Move { reg: r, value } => write!(f, "{} = {}", reg(r), op(value)),
            Instr::Arith {
                reg: r,
                op: o,
                operand,
            } => {
                let sign = match o {
                    RmwOp::Xchg => return write!(f, "{} = {}", reg(r), op(operand)),
                    RmwOp::Add => "+",
                    RmwOp::Sub => "-",
                    RmwOp::And => "&",
                    RmwOp::Or => "|",
                    RmwOp::Xor => "^",
                };
                write!(f, "{} = {} {sign} {}", reg(r), reg(r), op(operand))
            }
            Instr::If { reg: r, equals } => write!(f, "if {} == {equals}", reg(r)),
            Instr::Tx(TxInstr::Begin { reg: None }) => f.write_str("xbegin"),
            Instr::Tx(TxInstr::Begin { reg: Some(r) }) => write!(f, "{} = xbegin", reg(r)),
            Instr::Tx(TxInstr::End) => f.write_str("xend"),
            Instr::Tx(TxInstr::Test { reg: r }) => write!(f, "{} = xtest", reg(r)),
            Instr::Tx(TxInstr::Abort { code, when: None }) => write!(f, "xabort {code}"),
            Instr::Tx(TxInstr::Abort {
                code,
                when: Some((r, equals)),
            }) => write!(f, "xabort {code} if {} == {equals}", reg(r)),
        }
    }
}
