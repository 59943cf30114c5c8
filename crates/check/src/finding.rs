//! What a checker has to say, as plain data. Events are named by their place in their execution's list of events.

use landfall_model::crash::PowerFailure;
use landfall_model::event::EventId;
use landfall_model::line::{Addr, Line};

/// An event of one of the executions that crashed, the first being 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct At {
    pub execution: usize,
    pub event: EventId,
    /// The entry of the log that it made.
    pub entry: u32,
    pub site: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    pub kind: Kind,
    /// Best first.
    pub fixes: Vec<Fix>,
    /// A crash and the reads that show it; none for what no crash is needed to see.
    pub evidence: Option<Evidence>,
    /// How often it was met.
    pub times: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `kept` was read although `lost`, which happens before it, was not there (docs/design/model.md §7).
    Robustness {
        lost: At,
        kept: At,
        reading: RevealedBy,
    },
    /// A load may find the store half done (docs/design/model.md §8).
    PersistencyRace {
        store: At,
        made: StoreMade,
    },
    /// A recovery sees that the store was made in a transaction that does not answer for it.
    MissingSnapshot {
        store: At,
        why: Unprotected,
    },
    RedundantFlush {
        site: u32,
        why: WastedFlush,
    },
    RedundantFence {
        site: u32,
        why: WastedFence,
    },
}

/// What becomes of a store that its transaction does not answer for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unprotected {
    /// It is there though the power failed before the transaction's end.
    NotUndone,
    /// It is missing though the transaction had ended.
    NotKept,
}

/// What the compiler that built the program made of a plain store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum StoreMade {
    /// One instruction that stores all of it at once: up to 8 bytes, where such an instruction stores.
    AtOnce,
    /// Several, or there is no telling.
    InPieces,
}

/// Which of the two reads came last, and so revealed it (figures 4.9 and 4.10).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RevealedBy {
    TooOld,
    TooNew,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum WastedFlush {
    /// Nothing was ever stored there in that execution.
    Clean,
    /// Nothing was stored there since it was flushed before.
    Repeated,
    /// Non-temporal stores need none.
    Streamed,
    /// No recovery of the whole search reads the line.
    NeverRead,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum WastedFence {
    /// No write-back is pending, none was since the fence before.
    NothingPending,
    /// Only `clflush` came before it, which needs no fence.
    AfterClflush,
}

/// How to keep `lost` from being overtaken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fix {
    /// Flush these bytes and fence, in one thread's program order after `after` and before `before`.
    FlushFence {
        addr: Addr,
        bytes: u32,
        window: Window,
    },
    /// The flush is there (`after`); what is missing is a fence before `before`.
    Fence { window: Window },
    /// Put both stores' bytes on one line. They are this far apart now.
    CoLocate { lost: Addr, kept: Addr, apart: u64 },
    /// Align them: they are close enough for one line, but a line's boundary falls between them.
    Align { lost: Addr, kept: Addr, apart: u64 },
    /// Make the store atomic in the source.
    MakeAtomic { addr: Addr, bytes: u32 },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    pub execution: usize,
    pub thread: u16,
    pub after: EventId,
    pub before: EventId,
    /// Their places in the source.
    pub sites: (u32, u32),
    /// In the thread of the lost store itself; else in one that observed it.
    pub primary: bool,
}

/// A chain of crashes that shows a finding, oldest first, and the read of the last recovery that reveals it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evidence {
    pub crashes: Vec<PowerFailure>,
    /// For those who know better than a cut what a power failure can leave: the number of the first execution, and of each line of
    /// it that was read the versions that agree with the reads (first and last). Ascending.
    pub execution: u32,
    pub left: Vec<(Line, (u32, u32))>,
    /// How many first reads of the last recovery come before the one that reveals it.
    pub reads: usize,
    pub word: Addr,
    pub mask: u8,
}
