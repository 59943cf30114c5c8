//! What hardware transactions and atomic accesses beside them tell each other. A transaction happens at one moment, also for those who are in none:
//! an atomic access that is in conflict with it comes before or after all of it, whichever of the two writes, and whoever comes later knows
//! of whoever came before. That is what makes a lock's word, read in a transaction, keep it away from who holds the lock. A plain access beside
//! a transaction is a data race, as beside any other: hardware orders the two, C does not.

use super::messages::{Clock, join};
use super::step::{Access, Act, Step};

/// Bytes of an object, whether they were written, and what was known then.
#[derive(Debug)]
struct ToldByAccess {
    object: u32,
    mask: u64,
    writes: bool,
    clock: Clock,
}

#[derive(Debug, Default)]
pub(super) struct StrongIsolation {
    by_transactions: Vec<ToldByAccess>,
    by_atomics: Vec<ToldByAccess>,
}

fn learn(from: &[ToldByAccess], (object, mask, writes): (u32, u64, bool), clock: &mut Clock) {
    for told in from {
        if told.object == object && told.mask & mask != 0 && (told.writes || writes) {
            join(clock, &told.clock);
        }
    }
}

fn tell(to: &mut Vec<ToldByAccess>, (object, mask, writes): (u32, u64, bool), clock: &Clock) {
    let same =
        |told: &&mut ToldByAccess| (told.object, told.mask, told.writes) == (object, mask, writes);
    match to.iter_mut().find(same) {
        Some(told) => join(&mut told.clock, clock),
        None => to.push(ToldByAccess {
            object,
            mask,
            writes,
            clock: clock.clone(),
        }),
    }
}

impl StrongIsolation {
    pub(super) fn transaction(&mut self, accessed: &[(u32, u64, bool)], clock: &mut Clock) {
        for &access in accessed {
            learn(&self.by_atomics, access, clock);
        }
        for &access in accessed {
            tell(&mut self.by_transactions, access, clock);
        }
    }

    /// An atomic access; what leaves a store buffer says what its thread knew when it stored, and tells its thread nothing.
    pub(super) fn atomic(&mut self, step: &Step, commits: bool, clock: &mut Clock) {
        if !matches!(
            step.act,
            Act::Load | Act::Store | Act::Commit | Act::Rmw | Act::Cas
        ) {
            return;
        }
        let access = (step.object, step.mask, step.access == Access::Write);
        if !commits {
            learn(&self.by_transactions, access, clock);
        }
        tell(&mut self.by_atomics, access, clock);
    }
}
