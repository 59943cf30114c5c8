//! Who has which lock, in an execution that is learned or put together.

use super::known::Inexplicable;
use landfall_vocab::record::{access, step};
use landfall_vocab::shared::{LOCK, SECTIONS};

/// What somebody does to a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hold {
    Takes,
    Gives,
    /// Finds that somebody has it.
    Looks,
}

/// What the record of an access says that is about no memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AboutLock {
    Does(Hold),
    /// Takes it for a critical section that is one step; or that one ends.
    SectionBegins,
    SectionEnds,
}

/// Reads such a record, behind a step of this kind that is about this lock. What is not known here may depend on anything.
pub(super) fn about(
    (kind, lock): (u8, u64),
    (object, flags, said): (u64, u8, u64),
) -> Result<AboutLock, Inexplicable> {
    use landfall_vocab::record::lifetime::SECTION;
    if object == SECTIONS {
        return match flags {
            access::NOTHING => Ok(AboutLock::SectionEnds),
            _ => Err(Inexplicable),
        };
    }
    if object != lock | LOCK {
        return Err(Inexplicable);
    }
    Ok(match (kind, flags, said) {
        (step::LOCK, access::WRITE, SECTION) => AboutLock::SectionBegins,
        (step::LOCK | step::TRY_LOCK, access::WRITE, 0) => AboutLock::Does(Hold::Takes),
        (step::TRY_LOCK, access::READ, 0) => AboutLock::Does(Hold::Looks),
        (step::UNLOCK, access::WRITE, 0) => AboutLock::Does(Hold::Gives),
        _ => return Err(Inexplicable),
    })
}

/// By the number of a lock: nobody, or a thread.
#[derive(Clone, Debug, Default)]
pub(super) struct LockHolders {
    all: Vec<u8>,
}

impl LockHolders {
    pub(super) fn begin(&mut self) {
        self.all.clear();
    }

    /// Nobody is 0; others are one more than their number.
    pub(super) fn of(&self, lock: u32) -> u8 {
        self.all.get(lock as usize).copied().unwrap_or(0)
    }

    pub(super) fn set(&mut self, lock: u32, to: u8) {
        let at = lock as usize;
        if at >= self.all.len() {
            self.all.resize(at + 1, 0);
        }
        self.all[at] = to;
    }

    /// What a thread does changes that, if it is as the record said.
    pub(super) fn changes(&self, thread: usize, lock: u32, hold: Hold) -> Option<u8> {
        let (before, own) = (self.of(lock), thread as u8 + 1);
        match hold {
            Hold::Takes => (before == 0).then_some(own),
            Hold::Gives => (before == own).then_some(0),
            Hold::Looks => (before != 0 && before != own).then_some(before),
        }
    }
}
