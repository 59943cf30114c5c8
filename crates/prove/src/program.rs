//! The bounded program that is proved: threads of guarded events, loop-free, in single-assignment form.
//!
//! A front end (litmus tests, C) produces it; nothing here knows where it came from. Every event has a *guard*: the condition
//! under which its thread comes to it. A location is a cell of one width on a cache line. An access through a pointer is one
//! event per possible target, guarded by "the pointer is this target". What stops a thread (an assumption that fails, a
//! retry bound) makes the guards of its later events false; it rules no execution out, so what was done before can crash.

use crate::term::{Term, Terms};
use landfall_ir::Place;
use landfall_model::order::{OpKind, Platform};
use std::collections::BTreeSet;
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProofEventId(pub u32);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LocId(pub u32);

/// A cache line of persistent memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LineId(pub u32);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ThreadId(pub u32);

macro_rules! index {
    ($($id:ident),*) => { $(impl $id { pub fn index(self) -> usize { self.0 as usize } })* };
}
index!(ProofEventId, LocId, LineId, ThreadId);

/// Is what a location holds still there after the power failed?
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Home {
    Persistent(LineId),
    Volatile,
    /// The state of a lock of the thread library: taking it orders like a locked instruction, but nobody may count on it to
    /// complete flushes.
    Lock,
    /// Whether some object is there still: no byte of the program.
    Lifetime,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Location {
    pub name: String,
    pub width: u8,
    pub home: Home,
    /// What it holds at first.
    pub init: Term,
    /// Its address, where the program has some.
    pub at: Option<u64>,
}

impl Location {
    pub fn line(&self) -> Option<LineId> {
        match self.home {
            Home::Persistent(line) => Some(line),
            Home::Volatile | Home::Lock | Home::Lifetime => None,
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
pub enum ProofEventKind {
    Load {
        loc: LocId,
    },
    Store {
        loc: LocId,
        value: Term,
    },
    NtStore {
        loc: LocId,
        value: Term,
    },
    /// A locked instruction: reads, and writes `value` if `when` holds; both may use what it read. A compare-and-swap that
    /// fails is one whose `when` is false: it reads and fences.
    Rmw {
        loc: LocId,
        when: Term,
        value: Term,
    },
    Flush {
        line: LineId,
        kind: FlushKind,
    },
    Sfence,
    Mfence,
    /// Where a thread is created, begins, ends or is joined: orders like `mfence`, makes no flush effective.
    Sync,
    /// Must hold whenever the thread comes here.
    Assert {
        holds: Term,
    },
    /// A loop was unrolled as far as it is: where this is false the program would go on, and what it does then is not
    /// looked at. (The thread must stop: assume it too.)
    Bound {
        within: Term,
    },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProofEvent {
    pub thread: ThreadId,
    pub guard: Term,
    pub kind: ProofEventKind,
    /// Is it one step with the event before it? So an access of several locations is: it is ordered, and survives or is lost,
    /// as a whole. (Both have one thread, one guard, one kind, and, if they are stores, one line.)
    pub joined: bool,
    /// The atomic block it is part of: nothing of other threads comes between its events.
    pub block: Option<u32>,
    /// As its source words it, with its place: for witnesses.
    pub label: String,
    /// Where that is, in programs that have source files.
    pub place: Option<Arc<Place>>,
}

impl ProofEvent {
    pub fn loc(&self) -> Option<LocId> {
        match self.kind {
            ProofEventKind::Load { loc }
            | ProofEventKind::Store { loc, .. }
            | ProofEventKind::NtStore { loc, .. }
            | ProofEventKind::Rmw { loc, .. } => Some(loc),
            _ => None,
        }
    }

    pub fn reads(&self) -> bool {
        matches!(
            self.kind,
            ProofEventKind::Load { .. } | ProofEventKind::Rmw { .. }
        )
    }

    /// The value it writes, if it may write.
    pub fn written(&self) -> Option<Term> {
        match self.kind {
            ProofEventKind::Store { value, .. }
            | ProofEventKind::NtStore { value, .. }
            | ProofEventKind::Rmw { value, .. } => Some(value),
            _ => None,
        }
    }

    /// Its row in the ordering table; `None` for what orders nothing.
    pub fn op_kind(&self) -> Option<OpKind> {
        Some(match self.kind {
            ProofEventKind::Load { .. } => OpKind::Read,
            ProofEventKind::Store { .. } => OpKind::Write,
            ProofEventKind::NtStore { .. } => OpKind::NtWrite,
            ProofEventKind::Rmw { .. } => OpKind::Rmw,
            ProofEventKind::Flush {
                kind: FlushKind::Clflush,
                ..
            } => OpKind::Flush,
            ProofEventKind::Flush { .. } => OpKind::FlushOpt,
            ProofEventKind::Sfence => OpKind::Sfence,
            ProofEventKind::Mfence | ProofEventKind::Sync => OpKind::Mfence,
            ProofEventKind::Assert { .. } | ProofEventKind::Bound { .. } => return None,
        })
    }
}

/// Something that must hold after the power failed, if the recovery comes to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    pub guard: Term,
    pub holds: Term,
    pub label: String,
}

/// A location that the recovery reads, if it comes to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Observation {
    pub loc: LocId,
    pub guard: Term,
}

/// What runs after the power failed: alone, so its own writes are seen by nobody else and live in the terms of its checks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recovery {
    pub reads: Vec<Observation>,
    pub checks: Vec<Check>,
    /// Where its loops were cut: as [`Kind::Bound`].
    pub bounds: Vec<Check>,
}

#[derive(Clone, Debug, Default)]
pub struct ProofProgram {
    pub terms: Terms,
    pub locations: Vec<Location>,
    pub lines: u32,
    pub threads: Vec<String>,
    /// Events of one thread in program order; those of several may be mixed.
    pub events: Vec<ProofEvent>,
    /// Order across threads (creation, joining): whenever the second happens, the first has happened before it. Both are
    /// [`Kind::Sync`], and the guard of the second includes that of the first.
    pub orders: Vec<(ProofEventId, ProofEventId)>,
    pub recovery: Recovery,
    /// Nondeterministic inputs, by name, for witnesses.
    pub inputs: Vec<(String, Term)>,
    /// What is taken to hold of what it calls and of the machine, beside the memory model.
    pub assumptions: BTreeSet<String>,
    /// It asserts something, if only what its front end could tell to hold always: then there is something to prove.
    pub asserts: bool,
    /// Holds at the end of every execution without failure, over [`crate::term::Node::Final`] and registers.
    pub at_the_end: Vec<Check>,
    pub platform: Platform,
}

impl ProofProgram {
    pub fn event(&self, id: ProofEventId) -> &ProofEvent {
        &self.events[id.index()]
    }

    pub fn location(&self, id: LocId) -> &Location {
        &self.locations[id.index()]
    }

    pub fn event_ids(&self) -> impl Iterator<Item = ProofEventId> + use<> {
        (0..self.events.len() as u32).map(ProofEventId)
    }

    pub fn thread_events(&self, thread: ThreadId) -> Vec<ProofEventId> {
        self.event_ids()
            .filter(|&e| self.event(e).thread == thread)
            .collect()
    }

    /// Does it make earlier `clflushopt`, `clwb` and non-temporal stores of its thread effective?
    pub fn drains(&self, id: ProofEventId) -> bool {
        let event = self.event(id);
        let of_library = match event.kind {
            ProofEventKind::Sync => true,
            ProofEventKind::Rmw { loc, .. } => self.location(loc).home == Home::Lock,
            _ => false,
        };
        !of_library && event.op_kind().is_some_and(OpKind::drains)
    }

    /// The line an event touches or flushes.
    pub fn line_of(&self, event: ProofEventId) -> Option<LineId> {
        match self.event(event).kind {
            ProofEventKind::Flush { line, .. } => Some(line),
            _ => self
                .event(event)
                .loc()
                .and_then(|loc| self.location(loc).line()),
        }
    }
}
