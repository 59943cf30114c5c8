//! Programs as data: what both the C text (`text`) and the reference (`meaning`) are made from.

use std::collections::BTreeSet;

pub(crate) const LINE: usize = 64;
/// Registers of each thread; all are observed.
pub(crate) const REGISTERS: usize = 4;

/// Where an access goes: persistent lines come first, then volatile ones. All threads share both.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Space {
    Persistent,
    Volatile,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct At {
    pub(crate) space: Space,
    pub(crate) offset: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Value {
    Const(u64),
    /// A register and a constant.
    Plus(u8, u64),
}

/// How a store or a load is written; what it means differs only for `SeqCst` stores, which are `xchg`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum How {
    Plain,
    Volatile,
    Relaxed,
    /// Release or acquire.
    Ordered,
    SeqCst,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Update {
    Add,
    Exchange,
    Or,
    Xor,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Flush {
    Clflush,
    Clflushopt,
    Clwb,
}

/// Which function writes many bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Writer {
    Memcpy,
    Memmove,
    Mempcpy,
    /// Text without zeros, and one at its end.
    Strcpy,
    /// The same, with zeros up to the length.
    Strncpy,
    /// A structure is assigned.
    Struct,
}

/// What is not zero, and only that is said of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Handle {
    Thread,
    Pointer,
    Function,
    Descriptor,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Stmt {
    /// 1, 2, 4, 8 or 16 bytes; what is wider than 8 repeats the value.
    Store {
        at: At,
        size: usize,
        value: Value,
        how: How,
    },
    /// Non-temporal: 4, 8 or 16 bytes, aligned.
    Stream {
        at: At,
        size: usize,
        value: Value,
    },
    Fill {
        at: At,
        length: usize,
        byte: u8,
    },
    Write {
        at: At,
        bytes: Vec<u8>,
        with: Writer,
    },
    /// `memmove` inside of memory.
    Move {
        to: At,
        from: At,
        length: usize,
    },
    Load {
        register: u8,
        at: At,
        size: usize,
        how: How,
    },
    Update {
        register: u8,
        at: At,
        size: usize,
        with: Update,
        value: Value,
    },
    CompareAndSwap {
        register: u8,
        at: At,
        size: usize,
        expected: u64,
        new: Value,
    },
    Flush {
        with: Flush,
        at: At,
    },
    /// `lf_flush`: a `clwb` of each line.
    FlushRange {
        at: At,
        length: usize,
    },
    /// `lf_persist`: that and an `sfence`.
    PersistRange {
        at: At,
        length: usize,
    },
    Sfence,
    Mfence,
    /// `atomic_thread_fence(seq_cst)`.
    FenceSeqCst,
    /// `atomic_thread_fence(acq_rel)`: nothing to the processor.
    FenceWeak,
    /// A locked instruction on a local variable.
    LocalUpdate {
        size: usize,
    },
    /// 8 aligned bytes.
    StoreHandle {
        at: At,
        what: Handle,
    },
    /// Is there one?
    LoadHandle {
        register: u8,
        at: At,
    },
    If {
        register: u8,
        is: u64,
        then: Vec<Stmt>,
        otherwise: Vec<Stmt>,
    },
    Locked(Vec<Stmt>),
}

/// What the program does after a number of power failures.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Phase {
    /// Before other threads are created; all there is if none are.
    pub(crate) before: Vec<Stmt>,
    pub(crate) threads: Vec<Vec<Stmt>>,
    /// Of main, meanwhile.
    pub(crate) meanwhile: Vec<Stmt>,
    /// After they were joined.
    pub(crate) after: Vec<Stmt>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Language {
    C,
    Cpp,
}

/// Where persistent memory comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Source {
    /// `lf_pm` in main.
    Region,
    /// `lf_pm` in a constructor.
    Constructor,
    /// A file below `--pm-dir`.
    Pool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Program {
    pub(crate) language: Language,
    pub(crate) source: Source,
    pub(crate) persistent_lines: usize,
    pub(crate) volatile_lines: usize,
    /// By a constructor, before main; in the first execution only. No registers.
    pub(crate) constructor: Vec<Stmt>,
    /// What is done after 0, 1, … power failures; the last one after more as well.
    pub(crate) phases: Vec<Phase>,
}

impl Program {
    pub(crate) fn phase(&self, failures: usize) -> &Phase {
        &self.phases[failures.min(self.phases.len() - 1)]
    }

    pub(crate) fn place(&self, at: At) -> usize {
        match at.space {
            Space::Persistent => at.offset,
            Space::Volatile => self.persistent_lines * LINE + at.offset,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        (self.persistent_lines + self.volatile_lines) * LINE
    }

    /// Has an execution several threads?
    pub(crate) fn has_threads(&self) -> bool {
        self.phases.iter().any(|phase| !phase.threads.is_empty())
    }

    pub(crate) fn threaded_recoveries(&self) -> bool {
        self.phases[1..]
            .iter()
            .any(|phase| !phase.threads.is_empty())
    }

    pub(crate) fn has_constructor(&self) -> bool {
        !self.constructor.is_empty() || self.source == Source::Constructor
    }

    /// Every statement, those inside of others, too.
    pub(crate) fn each<'a>(&'a self, visit: &mut dyn FnMut(&'a Stmt)) {
        fn inside<'a>(list: &'a [Stmt], visit: &mut dyn FnMut(&'a Stmt)) {
            for stmt in list {
                visit(stmt);
                match stmt {
                    Stmt::If {
                        then, otherwise, ..
                    } => {
                        inside(then, visit);
                        inside(otherwise, visit);
                    }
                    Stmt::Locked(list) => inside(list, visit),
                    _ => {}
                }
            }
        }
        inside(&self.constructor, visit);
        for phase in &self.phases {
            inside(&phase.before, visit);
            phase.threads.iter().for_each(|list| inside(list, visit));
            inside(&phase.meanwhile, visit);
            inside(&phase.after, visit);
        }
    }

    pub(crate) fn has(&self, wanted: impl Fn(&Stmt) -> bool) -> bool {
        let mut found = false;
        self.each(&mut |stmt| found |= wanted(stmt));
        found
    }

    /// Shapes that it has, for the table.
    pub(crate) fn shapes(&self) -> BTreeSet<&'static str> {
        let mut shapes = BTreeSet::new();
        let crosses = |at: &At, size: usize| at.offset / 8 != (at.offset + size - 1) / 8;
        self.each(&mut |stmt| {
            shapes.insert(match stmt {
                Stmt::Store { at, size, .. }
                    if at.offset / LINE != (at.offset + size - 1) / LINE =>
                {
                    "stores across lines"
                }
                Stmt::Store { at, size, .. } | Stmt::Load { at, size, .. }
                    if crosses(at, *size) =>
                {
                    "wide or unaligned"
                }
                Stmt::Store { size, .. } if *size < 8 => "small stores",
                Stmt::Stream { .. } => "non-temporal",
                Stmt::Fill { .. } | Stmt::Write { .. } | Stmt::Move { .. } => "memcpy and friends",
                Stmt::Update { .. } | Stmt::CompareAndSwap { .. } => "locked updates",
                Stmt::LocalUpdate { .. } => "locked updates of locals",
                Stmt::StoreHandle { .. } => "handles",
                Stmt::If { .. } => "conditions",
                Stmt::Locked(_) => "mutexes",
                _ => return,
            });
        });
        let on = |stmt: &Stmt, space: Space| match stmt {
            Stmt::Store { at, .. } | Stmt::Update { at, .. } | Stmt::Stream { at, .. } => {
                at.space == space
            }
            _ => false,
        };
        if self.has(|stmt| on(stmt, Space::Persistent))
            && self.has(|stmt| on(stmt, Space::Volatile))
        {
            shapes.insert("volatile and persistent");
        }
        if self.phases[0] == Phase::default() {
            shapes.insert("empty first run");
        }
        if self.has_constructor() {
            shapes.insert("constructors");
        }
        if self.source == Source::Pool {
            shapes.insert("pool files");
        }
        if self.language == Language::Cpp {
            shapes.insert("C++");
        }
        if self.threaded_recoveries() {
            shapes.insert("threads in recoveries");
        }
        shapes.insert(match self.phases[0].threads.len() {
            0 => "one thread",
            1 => "two threads",
            2 => "three threads",
            _ => "four threads",
        });
        shapes
    }
}
