//! The lines that the running transaction has read and written. What it wrote must fit into a cache of so many sets and ways; what it read into
//! something much larger.

use crate::memory::shadow::is_persistent;
use crate::run::shared::job;
use core::cell::Cell;
use landfall_vocab::window::LINE;

/// Lines that can be told apart, a power of two; and how many of these may be read: four megabytes.
const PLACES: usize = 1 << 17;
const MOST_READ: u32 = 1 << 16;
/// Accesses of one transaction: a processor is interrupted long before.
const MOST_ACCESSES: u32 = 1 << 20;
/// Stores that are told one by one when it commits.
const WRITES: usize = 1 << 14;
const SETS: usize = 1 << 12;

#[derive(Clone, Copy)]
#[repr(C)]
struct TouchedLine {
    number: usize,
    /// In which transaction of this server.
    of: u32,
    written: bool,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct TransactionWrite {
    address: usize,
    length: usize,
    found: u64,
}

#[repr(C)]
pub(super) struct Footprint {
    generation: Cell<u32>,
    lines: [Cell<TouchedLine>; PLACES],
    read: Cell<u32>,
    accesses: Cell<u32>,
    /// Lines written, by the set of the cache they go to: in which transaction, and how many.
    sets: [Cell<(u32, u32)>; SETS],
    writes: [Cell<TransactionWrite>; WRITES],
    write_count: Cell<usize>,
    persistent: Cell<bool>,
}

pub(super) enum Grown {
    Known,
    /// The line was not read, or not written, before.
    Fresh,
    TooMuch,
    ForEver,
}

impl Footprint {
    pub(super) fn begin(&self) {
        self.generation.set(self.generation.get() + 1);
        self.read.set(0);
        self.accesses.set(0);
        self.write_count.set(0);
        self.persistent.set(false);
    }

    pub(super) fn grows(&self, address: usize, writes: bool) -> Grown {
        self.accesses.set(self.accesses.get() + 1);
        if self.accesses.get() > MOST_ACCESSES {
            return Grown::ForEver;
        }
        let number = address / LINE as usize;
        let generation = self.generation.get();
        let mut at = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - PLACES.ilog2());
        let line = loop {
            let line = self.lines[at].get();
            if line.of != generation || line.number == number {
                break line;
            }
            at = (at + 1) % PLACES;
        };
        let known = line.of == generation;
        if known && (line.written || !writes) {
            return Grown::Known;
        }
        if !known && self.read.replace(self.read.get() + 1) == MOST_READ {
            return Grown::TooMuch;
        }
        self.lines[at].set(TouchedLine {
            number,
            of: generation,
            written: writes,
        });
        if !writes {
            return Grown::Fresh;
        }
        self.persistent
            .set(self.persistent.get() || is_persistent(address));
        let set = &self.sets[number % (job().cache_sets.max(1) as usize).min(SETS)];
        let lines = match set.get() {
            (of, lines) if of == generation => lines + 1,
            _ => 1,
        };
        set.set((generation, lines));
        match lines > job().cache_ways.max(1) {
            true => Grown::TooMuch,
            false => Grown::Fresh,
        }
    }

    /// Did it write to persistent memory?
    pub(super) fn has_persistent(&self) -> bool {
        self.persistent.get()
    }

    /// Bytes of one line were changed; false if that is one store too many.
    pub(super) fn writes(&self, address: usize, length: usize, found: u64) -> bool {
        let count = self.write_count.get();
        if count == WRITES {
            return false;
        }
        self.writes[count].set(TransactionWrite {
            address,
            length,
            found,
        });
        self.write_count.set(count + 1);
        true
    }

    pub(super) fn each_written(&self, mut each: impl FnMut(usize, usize, u64)) {
        for written in &self.writes[..self.write_count.get()] {
            let TransactionWrite {
                address,
                length,
                found,
            } = written.get();
            each(address, length, found);
        }
    }
}
