//! What one execution did, as far as the order of its persists is concerned.

use landfall_model::line::{Addr, Line, Piece};

/// One thing a thread did. Events are listed in the order in which they were issued; when their effect reached the cache
/// is the log's business.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    pub thread: u16,
    /// Where in the source, by a number that means something to the caller alone. Findings at one place are one finding.
    pub site: u32,
    pub action: Action,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    Store {
        piece: Piece,
        how: How,
        atomic: Atomicity,
    },
    /// Bytes this execution read before it wrote or read them itself.
    FirstRead {
        word: Addr,
        mask: u8,
    },
    /// The thread learns of an earlier event of this execution: it read from that store, took the lock that was released
    /// there, joined the thread that ended there.
    Observe {
        event: u32,
    },
    Clflush(Line),
    /// `clflushopt` or `clwb`: complete at this thread's next fence.
    Clwb(Line),
    Fence(Fence),
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

impl Event {
    pub fn piece(&self) -> Option<&Piece> {
        match &self.action {
            Action::Store { piece, .. } => Some(piece),
            _ => None,
        }
    }
}

/// A promise of the recovery about the reads that follow, placed between them (`lf_checksum_*`, `lf_ignore_*`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Mark {
    ChecksumBegin,
    ChecksumAccepted,
    ChecksumRejected,
    IgnoreBegin,
    IgnoreEnd,
}

/// How reads are judged at some point of a recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Region {
    #[default]
    Judged,
    /// Held back until the checksum is accepted, dropped when it is rejected.
    Checksum,
    Ignored,
}

impl Region {
    pub fn after(self, mark: Mark) -> Region {
        match (self, mark) {
            (_, Mark::IgnoreBegin) => Region::Ignored,
            (Region::Ignored, Mark::IgnoreEnd) => Region::Judged,
            // What is ignored stays so, whatever is promised inside.
            (Region::Ignored, _) => Region::Ignored,
            (_, Mark::ChecksumBegin) => Region::Checksum,
            (Region::Checksum, Mark::ChecksumAccepted | Mark::ChecksumRejected) => Region::Judged,
            (region, _) => region,
        }
    }
}
