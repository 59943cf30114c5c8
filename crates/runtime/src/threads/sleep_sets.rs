//! Who sleeps: threads and store buffers whose next step was explored from the same state. A step that touches the same bytes
//! wakes them. The checker has the last word; here it only has to be right most of the time, so that no run is in vain.

use super::threads;
use crate::run::shared;
use landfall_vocab::shared::LOCK;
use landfall_vocab::window::LINE;

/// At the start of a run.
pub(super) fn begin() {
    let asleep = shared::sleepers().fold(0, |mask, sleeper| mask | 1 << (sleeper.process & 63));
    threads().asleep.set(asleep);
}

/// The step that was chosen last touches these bytes, or, with `LOCK` in the place, a lock.
pub(super) fn executed(place: u64, length: usize, writes: bool) {
    if threads().asleep.get() == 0 || threads().steps.get() as u64 <= shared::job().keep {
        return;
    }
    let (line, mask) = if place & LOCK != 0 {
        (place, u64::MAX)
    } else {
        let at = place % LINE;
        let bytes = u64::MAX >> (64 - length.clamp(1, 64));
        (place - at, bytes << at)
    };
    for sleeper in shared::sleepers() {
        let concerns = sleeper.place == line && sleeper.mask & mask != 0;
        if concerns && (writes || sleeper.writes != 0) {
            threads()
                .asleep
                .set(threads().asleep.get() & (!(1 << (sleeper.process & 63))));
        }
    }
}
