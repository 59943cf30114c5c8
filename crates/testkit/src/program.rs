//! Small multi-threaded programs, as data: what the search is tested and measured on without native code.

pub use landfall_explore::schedule::sync::Op as Sync;

/// The interpreter has sets of them in a word.
const MOST_PROCESSES: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Model {
    Sc,
    #[default]
    Tso,
}

/// A register of a thread. Registers start at 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Reg(pub u8);

pub const REGISTERS: usize = 16;

/// A thread that touches memory which is gone ends there, with 1 in this register.
pub const FAULT: Reg = Reg(6);

/// What a transaction's thread finds in its status while it is in it.
pub const STARTED: u64 = u32::MAX as u64;

/// What it finds when its own code has aborted it.
pub fn explicit(code: u8) -> u64 {
    1 | u64::from(code) << 24
}

/// What transactions are aborted by, besides their own code, and what their threads find then.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AbortReasons {
    /// Anything, which is told apart from nothing: 0.
    #[default]
    Untold,
    /// Anything: for no reason, or because another thread's access meets a cache line that the transaction has touched, each with and without
    /// hope.
    Told,
    /// Only because of others' accesses, by words.
    Conflicts,
}

impl AbortReasons {
    pub const RETRY: u64 = 2;
    pub const CONFLICT: u64 = 4;

    /// For no reason.
    pub fn spurious(self) -> &'static [u64] {
        match self {
            AbortReasons::Untold => &[0],
            AbortReasons::Told => &[0, AbortReasons::RETRY],
            AbortReasons::Conflicts => &[],
        }
    }

    /// For a conflict, without hope and with.
    pub fn conflict(self) -> &'static [u64] {
        match self {
            AbortReasons::Untold => &[0],
            _ => &[
                AbortReasons::CONFLICT,
                AbortReasons::CONFLICT | AbortReasons::RETRY,
            ],
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    Const(u64),
    Reg(Reg),
}

impl From<u64> for Operand {
    fn from(value: u64) -> Operand {
        Operand::Const(value)
    }
}

impl From<Reg> for Operand {
    fn from(reg: Reg) -> Operand {
        Operand::Reg(reg)
    }
}

/// An 8-byte cell of memory: `cell`, plus a register for arrays.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    pub cell: u32,
    pub index: Option<Reg>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// A data access: a scheduling point only where it races.
    Plain,
    Atomic,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    Add,
    Sub,
    Mul,
    /// The remainder; by 0 it is 0.
    Rem,
    And,
    Or,
    Xor,
    /// The second operand.
    Second,
}

impl Op {
    pub fn apply(self, a: u64, b: u64) -> u64 {
        match self {
            Op::Add => a.wrapping_add(b),
            Op::Sub => a.wrapping_sub(b),
            Op::Mul => a.wrapping_mul(b),
            Op::Rem => a.checked_rem(b).unwrap_or(0),
            Op::And => a & b,
            Op::Or => a | b,
            Op::Xor => a ^ b,
            Op::Second => b,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cmp {
    Eq,
    Ne,
    Lt,
}

impl Cmp {
    pub fn holds(self, a: u64, b: u64) -> bool {
        match self {
            Cmp::Eq => a == b,
            Cmp::Ne => a != b,
            Cmp::Lt => a < b,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WriteBack {
    Clflush,
    /// `clflushopt` or `clwb`.
    Opt,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Instr {
    Load {
        to: Reg,
        at: Place,
        order: Order,
    },
    Store {
        at: Place,
        value: Operand,
        order: Order,
    },
    /// A non-temporal store.
    Stream {
        at: Place,
        value: Operand,
        order: Order,
    },
    /// A locked read-modify-write; `to` gets the old value.
    Rmw {
        to: Reg,
        at: Place,
        op: Op,
        value: Operand,
    },
    /// A locked compare-and-swap; `to` gets the old value. A failed one is a locked read.
    Cas {
        to: Reg,
        at: Place,
        expect: Operand,
        new: Operand,
    },
    Fence,
    Sfence,
    Flush {
        at: Place,
        kind: WriteBack,
    },
    Sync(Sync, Place),
    /// A synchronisation that may not succeed; `to` gets 1 if it does.
    Ask {
        op: Sync,
        at: Place,
        to: Reg,
    },
    /// At a barrier of so many; `to`, if anyone asks, gets 1 if it is the serial thread.
    Arrive {
        at: Place,
        parties: u64,
        to: Option<Reg>,
    },
    /// Takes the mapping away whose word this is; waits for the thread's own stores.
    Unmap(Place),
    Calc {
        to: Reg,
        a: Operand,
        op: Op,
        b: Operand,
    },
    Jump(u32),
    JumpIf {
        a: Operand,
        cmp: Cmp,
        b: Operand,
        to: u32,
    },
    /// A hardware transaction begins: `to` gets [`STARTED`], or why it is aborted.
    Begin {
        to: Reg,
    },
    End,
    /// Aborts the transaction with a code.
    Abort(u8),
    /// Of no thread of the program: this one's next attempt at a transaction fails for no reason, if the attempt has not begun by then.
    Spoil(u8),
    Create(u8),
    Join(u8),
    /// Fails, and ends the thread, unless the comparison holds.
    Assert {
        a: Operand,
        cmp: Cmp,
        b: Operand,
        code: u32,
    },
}

/// Where a cell lies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cell {
    pub line: u32,
    /// Which of the line's eight words.
    pub word: u8,
    pub init: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    pub cells: Vec<Cell>,
    pub threads: Vec<Vec<Instr>>,
    /// Threads that run from the start, as bits; the others are created.
    pub started: u64,
    /// Is memory persistent, and are flushes and fences transitions?
    pub persistent: bool,
    /// Cells that can be taken away.
    pub mappings: Vec<Mapping>,
}

/// Cells that are taken away at once, and the one that says whether they are: 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mapping {
    pub cells: std::ops::Range<u32>,
    pub word: u32,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("thread {thread}, instruction {at}: {what}")]
pub struct BadProgram {
    pub thread: usize,
    pub at: usize,
    pub what: &'static str,
}

impl Program {
    /// A cell on a line of its own.
    pub fn cell(&mut self, init: u64) -> Place {
        self.array(1, init)
    }

    /// Cells on lines of their own, one after the other.
    pub fn array(&mut self, count: usize, init: u64) -> Place {
        let cell = self.cells.len() as u32;
        for _ in 0..count {
            let line = self.cells.last().map_or(0, |last| last.line + 1);
            self.cells.push(Cell {
                line,
                word: 0,
                init,
            });
        }
        Place { cell, index: None }
    }

    /// A thread that runs from the start.
    pub fn thread(&mut self, code: Vec<Instr>) -> u8 {
        let number = self.threads.len() as u8;
        self.started |= 1 << number;
        self.threads.push(code);
        number
    }

    /// A thread that another one creates.
    pub fn created(&mut self, code: Vec<Instr>) -> u8 {
        let number = self.threads.len() as u8;
        self.threads.push(code);
        number
    }

    /// Adds who spoils attempts at transactions: one for each thread that makes some, so many times.
    pub fn add_spoilers(&mut self, times: usize) {
        for thread in 0..self.threads.len() {
            let begins = |instr: &Instr| matches!(instr, Instr::Begin { .. });
            if self.threads[thread].iter().any(begins) {
                self.thread(vec![Instr::Spoil(thread as u8); times]);
            }
        }
    }

    /// What the interpreter relies on.
    pub fn validate(&self) -> Result<(), BadProgram> {
        let bad = |thread, at, what| Err(BadProgram { thread, at, what });
        if 2 * self.threads.len() > MOST_PROCESSES {
            return bad(self.threads.len(), 0, "too many threads");
        }
        for (thread, code) in self.threads.iter().enumerate() {
            for (at, instr) in code.iter().enumerate() {
                if instr
                    .registers()
                    .iter()
                    .flatten()
                    .any(|reg| usize::from(reg.0) >= REGISTERS)
                {
                    return bad(thread, at, "no such register");
                }
                match *instr {
                    Instr::Jump(to) | Instr::JumpIf { to, .. } if to as usize > code.len() => {
                        return bad(thread, at, "jumps past the end");
                    }
                    Instr::Arrive { parties: 0, .. } => {
                        return bad(thread, at, "nobody meets at the barrier");
                    }
                    Instr::Create(of) | Instr::Join(of) | Instr::Spoil(of)
                        if usize::from(of) >= self.threads.len() =>
                    {
                        return bad(thread, at, "no such thread");
                    }
                    _ => {}
                }
                if instr
                    .place()
                    .is_some_and(|place| place.cell as usize >= self.cells.len())
                {
                    return bad(thread, at, "no such cell");
                }
                if let (Some(_), Some(place)) = (instr.sync(), instr.place()) {
                    let line = self.cells[place.cell as usize].line;
                    if place.index.is_some()
                        || self.cells.iter().filter(|cell| cell.line == line).count() > 1
                    {
                        return bad(thread, at, "a lock shares its line");
                    }
                }
            }
        }
        if self.threads.len() * (2 + self.streams()) > MOST_PROCESSES {
            return bad(
                self.threads.len(),
                0,
                "too many threads for so many non-temporal stores",
            );
        }
        Ok(())
    }

    /// Lines that one thread may have non-temporal stores to, at the most.
    pub fn streams(&self) -> usize {
        let lines = |code: &Vec<Instr>| {
            let mut lines: Vec<u32> = Vec::new();
            for instr in code {
                match *instr {
                    Instr::Stream { at, .. } if at.index.is_none() => {
                        lines.push(self.cells[at.cell as usize].line);
                    }
                    Instr::Stream { .. } => lines.extend(self.cells.iter().map(|c| c.line)),
                    _ => {}
                }
            }
            lines.sort_unstable();
            lines.dedup();
            lines.len()
        };
        self.threads.iter().map(lines).max().unwrap_or(0)
    }

    /// Per thread, the first one that it is like: it has the same code, and both run from the start, or are created one right after
    /// the other, or with nothing but others like them in between.
    pub fn alike(&self) -> Vec<u8> {
        let mut alike: Vec<u8> = (0..self.threads.len() as u8).collect();
        let created = |of: usize| {
            let mut places = Vec::new();
            for (thread, code) in self.threads.iter().enumerate() {
                for (at, instr) in code.iter().enumerate() {
                    if *instr == Instr::Create(of as u8) {
                        places.push((thread, at));
                    }
                }
            }
            places
        };
        for thread in 0..self.threads.len() {
            let started = |of: usize| self.started >> of & 1 != 0;
            let like = (0..thread).find(|&other| {
                if self.threads[other] != self.threads[thread] || alike[other] != other as u8 {
                    return false;
                }
                if started(other) || started(thread) {
                    return started(other) && started(thread);
                }
                let (mine, theirs) = (created(thread), created(other));
                let ([(a, from)], [(b, to)]) = (&theirs[..], &mine[..]) else {
                    return false;
                };
                a == b
                    && from < to
                    && self.threads[*a][*from..*to].iter().all(|instr| {
                        let Instr::Create(of) = *instr else {
                            return false;
                        };
                        self.threads[usize::from(of)] == self.threads[thread]
                    })
            });
            if let Some(like) = like {
                alike[thread] = like as u8;
            }
        }
        alike
    }

    /// The word of the mapping that a cell lies in.
    pub fn mapping(&self, cell: u32) -> Option<u32> {
        let of = self.mappings.iter().find(|of| of.cells.contains(&cell))?;
        Some(of.word)
    }

    /// Instructions are numbered through all threads.
    pub fn site(&self, thread: usize, at: usize) -> u32 {
        let before: usize = self.threads[..thread].iter().map(Vec::len).sum();
        (before + at) as u32
    }
}

impl Instr {
    pub fn place(&self) -> Option<Place> {
        match *self {
            Instr::Load { at, .. }
            | Instr::Store { at, .. }
            | Instr::Stream { at, .. }
            | Instr::Rmw { at, .. }
            | Instr::Cas { at, .. }
            | Instr::Flush { at, .. }
            | Instr::Unmap(at)
            | Instr::Sync(_, at)
            | Instr::Ask { at, .. }
            | Instr::Arrive { at, .. } => Some(at),
            _ => None,
        }
    }

    /// Does it read or write a cell?
    pub(crate) fn accesses(&self) -> bool {
        matches!(
            self,
            Instr::Load { .. } | Instr::Store { .. } | Instr::Rmw { .. } | Instr::Cas { .. }
        )
    }

    /// Does it wait for the thread's own stores?
    pub(crate) fn drains(&self) -> bool {
        if let Some(op) = self.sync() {
            return op.drains();
        }
        !matches!(
            self,
            Instr::Load { .. }
                | Instr::Store { .. }
                | Instr::Stream { .. }
                | Instr::Flush { .. }
                | Instr::Begin { .. }
                | Instr::Spoil(_)
        )
    }

    /// The operation on a synchronisation object.
    pub fn sync(&self) -> Option<Sync> {
        match *self {
            Instr::Sync(op, _) | Instr::Ask { op, .. } => Some(op),
            Instr::Arrive { .. } => Some(Sync::Arrive),
            _ => None,
        }
    }

    fn registers(&self) -> [Option<Reg>; 4] {
        let of = |operand: Operand| match operand {
            Operand::Reg(reg) => Some(reg),
            Operand::Const(_) => None,
        };
        let index = self.place().and_then(|place| place.index);
        match *self {
            Instr::Load { to, .. } | Instr::Ask { to, .. } | Instr::Begin { to } => {
                [Some(to), index, None, None]
            }
            Instr::Arrive { to, .. } => [to, index, None, None],
            Instr::Store { value, .. } | Instr::Stream { value, .. } => {
                [of(value), index, None, None]
            }
            Instr::Rmw { to, value, .. } => [Some(to), of(value), index, None],
            Instr::Cas {
                to, expect, new, ..
            } => [Some(to), of(expect), of(new), index],
            Instr::Calc { to, a, b, .. } => [Some(to), of(a), of(b), None],
            Instr::JumpIf { a, b, .. } | Instr::Assert { a, b, .. } => [of(a), of(b), None, None],
            _ => [index, None, None, None],
        }
    }
}
