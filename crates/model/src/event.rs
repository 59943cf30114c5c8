//! What an execution did to persistent memory: one event, with an identity, for whoever looks at it.
//!
//! An execution is a list of [`Event`]s, and an event's place in that list is its name ([`EventId`]). The [log](crate::log)
//! says of each entry which event made it, a checker which events it objects to, a timeline which event a row is: by that
//! name, so that nobody counts. Records of a native trace and steps of a schedule come before events; an event knows which
//! one it comes from ([`Event::record`]).

use crate::line::{Addr, Line, Piece};

/// An event's place in the list of its execution's events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct EventId(pub u32);

impl EventId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One thing a thread did. Events are listed in the order in which they were issued; when their effect reached the cache is
/// the log's business. Under a schedule ([`Mark::Step`]) they stand where their effect did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    pub action: Action,
    pub thread: u16,
    /// Where in the source, by a number that means something to the caller alone. Findings at one place are one finding.
    pub site: u32,
    /// What it comes from: the number of a record in a native trace, of a step in a schedule. One record may be several events: a
    /// locked instruction is a fence, a store and a fence.
    pub record: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    Store {
        piece: Piece,
        how: How,
        atomic: Atomicity,
    },
    /// Bytes this execution read before it wrote or read them itself.
    Read(Read),
    /// The thread learns of an earlier event of this execution: it read from that store, took the lock that was released
    /// there, joined the thread that ended there.
    Observe {
        event: EventId,
    },
    Clflush(Line),
    /// `clflushopt` or `clwb`: complete at this thread's next fence.
    Clwb(Line),
    Fence(Fence),
    Mark(Mark),
}

/// How a store persists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    Cached,
    /// Durable at its thread's next fence.
    NonTemporal,
    /// Durable at once because the model says so (file metadata, allocator state): says nothing about the program's order.
    AtOnce,
}

/// What the source says of a store, whatever instruction it became.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Atomicity {
    /// The compiler may tear it, or put something else there before it.
    Plain,
    Relaxed,
    /// Release or stronger: stores before it are complete.
    Release,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fence {
    /// `sfence`: of use for nothing but write-backs and non-temporal stores.
    Store,
    /// `mfence` or a locked instruction: orders loads too.
    Full,
}

/// Bytes of one aligned 8-byte word that a run read before it wrote or read them itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FirstRead {
    /// The word's address.
    pub word: Addr,
    /// Which of its bytes.
    pub mask: u8,
}

impl FirstRead {
    pub fn line(self) -> Line {
        self.word.line()
    }

    /// What it returns from a line's bytes: the bytes of the mask, others zero.
    pub fn value(self, line: &[u8; 64]) -> u64 {
        let at = self.word.offset();
        let mut bytes = [0; 8];
        for (i, byte) in bytes.iter_mut().enumerate() {
            if self.mask & (1 << i) != 0 {
                *byte = line[at + i];
            }
        }
        u64::from_le_bytes(bytes)
    }
}

/// A first read and what it returned.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Read {
    pub read: FirstRead,
    pub value: u64,
}

/// What is said about the events that follow: by the program about its own reads (landfall.h), or by whoever ran it. Reads inside
/// such regions lead the crash search on like any other: it judges by outcome. Checkers that judge reads hold back there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Mark {
    ChecksumBegin,
    ChecksumAccepted,
    ChecksumRejected,
    IgnoreBegin,
    IgnoreEnd,
    /// The stores up to the end are of one call of `memcpy` or the like.
    CopyBegin,
    CopyEnd,
    /// The stores up to the end are of one hardware transaction, and appear together.
    TogetherBegin,
    TogetherEnd,
    /// A thread takes a step of a schedule.
    Step,
    /// A transaction begins, or takes one more level; one level of it ends, done or undone.
    TxBegin,
    TxEnd,
    /// From here on the transaction answers for these bytes: it knows what they held, or they are its own.
    TxAdd {
        addr: Addr,
        bytes: u64,
    },
}

impl Mark {
    /// Is it the program that says something about its reads?
    pub fn is_promise(self) -> bool {
        match self {
            Mark::ChecksumBegin | Mark::ChecksumAccepted | Mark::ChecksumRejected => true,
            Mark::IgnoreBegin | Mark::IgnoreEnd => true,
            Mark::CopyBegin | Mark::CopyEnd | Mark::Step => false,
            Mark::TogetherBegin | Mark::TogetherEnd => false,
            Mark::TxBegin | Mark::TxEnd | Mark::TxAdd { .. } => false,
        }
    }
}

impl Event {
    /// By the first thread, at no place in particular.
    pub fn new(action: Action) -> Event {
        Event {
            action,
            thread: 0,
            site: 0,
            record: 0,
        }
    }

    fn stores(piece: Piece, how: How) -> Event {
        Event::new(Action::Store {
            piece,
            how,
            atomic: Atomicity::Plain,
        })
    }

    pub fn store(piece: Piece) -> Event {
        Event::stores(piece, How::Cached)
    }

    pub fn nt_store(piece: Piece) -> Event {
        Event::stores(piece, How::NonTemporal)
    }

    pub fn durable_store(piece: Piece) -> Event {
        Event::stores(piece, How::AtOnce)
    }

    pub fn read(read: Read) -> Event {
        Event::new(Action::Read(read))
    }

    pub fn clflush(line: Line) -> Event {
        Event::new(Action::Clflush(line))
    }

    pub fn clwb(line: Line) -> Event {
        Event::new(Action::Clwb(line))
    }

    pub fn fence() -> Event {
        Event::new(Action::Fence(Fence::Full))
    }

    pub fn mark(mark: Mark) -> Event {
        Event::new(Action::Mark(mark))
    }

    /// Done by another thread.
    pub fn by(self, thread: u16) -> Event {
        Event { thread, ..self }
    }

    pub fn piece(&self) -> Option<&Piece> {
        match &self.action {
            Action::Store { piece, .. } => Some(piece),
            _ => None,
        }
    }

    /// The line that it stores to or writes back.
    pub fn line(&self) -> Option<Line> {
        match &self.action {
            Action::Store { piece, .. } => Some(piece.addr.line()),
            Action::Clflush(line) | Action::Clwb(line) => Some(*line),
            Action::Read(_) | Action::Observe { .. } | Action::Fence(_) | Action::Mark(_) => None,
        }
    }
}
