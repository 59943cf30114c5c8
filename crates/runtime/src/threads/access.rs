//! Accesses to memory that other threads could see. Atomic ones are steps of their own; plain ones where the job says so
//! (`--preempt`), and otherwise part of the step before them.

use super::context::Step;
use super::steps::point;
use super::threads;
use crate::hooks::flags;
use crate::log::{self, Origin, Site};
use landfall_vocab::record::{flag, step};
use landfall_vocab::window::LINE;

/// An access that is about to happen.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    object: u64,
    flags: u8,
    origin: Origin,
}

pub(crate) const READ: u8 = flag::FOREIGN;
pub(crate) const WRITE: u8 = flag::DURABLE;
pub(crate) const UPDATE: u8 = READ | WRITE;

/// Announces an access of at most one line; [`Access::done`] tells what came of it.
#[inline(never)]
pub(crate) unsafe fn announce(
    address: usize,
    length: usize,
    what: u8,
    abi: u32,
    site: *const Site,
) -> Access {
    let origin = Origin::source(site);
    let object = address as u64 & ((1 << 56) - 1) | (length as u64) << 56;
    let atomic = abi & flag::ORDERING as u32 != 0 || what == UPDATE;
    if atomic || (*threads()).everywhere {
        let kind = match what {
            READ => step::READ,
            WRITE => step::WRITE,
            _ => step::UPDATE,
        };
        point(Step {
            kind,
            timed: false,
            object: object as usize,
            origin,
        });
    }
    Access {
        object,
        flags: flags(abi) | what,
        origin,
    }
}

impl Access {
    pub(crate) unsafe fn done(self, found: u64, left: u64) {
        log::access(self.object, self.flags, self.origin, found, left);
    }

    /// It only read after all: a compare-and-swap that found another value.
    pub(crate) unsafe fn only_read(mut self, found: u64) {
        self.flags &= !WRITE;
        self.done(found, found);
    }
}

/// Pieces of a copy that lie in one line at either end: `each(offset, length)`.
pub(crate) unsafe fn by_lines(
    to: usize,
    from: usize,
    length: usize,
    mut each: impl FnMut(usize, usize),
) {
    let line = LINE as usize;
    let mut done = 0;
    while done < length {
        let left = |at: usize| line - at % line;
        let piece = left(to + done).min(left(from + done)).min(length - done);
        each(done, piece);
        done += piece;
    }
}
