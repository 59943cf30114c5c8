//! Who sleeps: threads and store buffers whose next step was explored from the same state. A step that touches the same bytes
//! wakes them. The checker has the last word; here it only has to be right most of the time, so that no run is in vain.

use super::threads;
use crate::state::state;
use landfall_vocab::shared::{MOST_SLEEPERS, SLEEPERS_AT, Sleeper};
use landfall_vocab::window::LINE;

/// At the start of a run.
pub(super) unsafe fn begin() {
    let asleep = all().fold(0, |mask, sleeper| mask | 1 << (sleeper.process & 63));
    (*threads()).asleep = asleep;
}

unsafe fn all() -> impl Iterator<Item = Sleeper> {
    let slot = (*state()).slot;
    let count = (*slot).job.sleepers.min(MOST_SLEEPERS as u64) as usize;
    let first = (slot as *const u8).add(SLEEPERS_AT as usize) as *const Sleeper;
    (0..count).map(move |i| unsafe { first.add(i).read() })
}

/// The step that was chosen last touches these bytes, or, with `LOCK` in the place, a lock.
pub(super) unsafe fn executed(place: u64, length: usize, writes: bool) {
    let threads = threads();
    if (*threads).asleep == 0 || (*threads).steps as u64 <= (*(*state()).slot).job.keep {
        return;
    }
    let (line, mask) = if place & landfall_vocab::shared::LOCK != 0 {
        (place, u64::MAX)
    } else {
        let at = place % LINE;
        let bytes = u64::MAX >> (64 - length.clamp(1, 64));
        (place - at, bytes << at)
    };
    for sleeper in all() {
        let concerns = sleeper.place == line && sleeper.mask & mask != 0;
        if concerns && (writes || sleeper.writes != 0) {
            (*threads).asleep &= !(1 << (sleeper.process & 63));
        }
    }
}
