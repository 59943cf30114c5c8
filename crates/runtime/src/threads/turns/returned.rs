//! Loops of functions that have returned: nobody comes to their heads again, so they make room for others before loops do that a thread is in.

use super::super::{leftovers, tables};
use super::Turns;

impl Turns {
    /// Forgets those, as far as that is known: their frames lie below the one that the thread is in now.
    pub(super) fn leave_returned(&self, thread: usize, activation: u64, room: usize) {
        let (low, high) = tables().contexts[thread].stack.get();
        let stack = low..high;
        // On a stack of the program's own, frames lie as it likes.
        if !stack.contains(&room) {
            return;
        }
        let has_returned = |at: usize| {
            let its = self.rooms[at].get();
            (low..=room).contains(&its) && self.heads[at].get().activation != activation
        };
        let mut left = 0;
        for at in 0..self.count.get() {
            if has_returned(at) {
                if leftovers::is_on() {
                    leftovers::counts(self.places[at].get().0);
                }
                continue;
            }
            self.heads[left].set(self.heads[at].get());
            self.places[left].set(self.places[at].get());
            self.rooms[left].set(self.rooms[at].get());
            self.arrived[left].set(self.arrived[at].get());
            self.observed[left].becomes(&self.observed[at]);
            left += 1;
        }
        if left < self.count.replace(left) {
            self.forget_repeated_reads();
        }
    }

    /// What was read again after such a head was read before, for those that are left.
    fn forget_repeated_reads(&self) {
        let from = self.heads().iter().map(|head| head.get().reads).max();
        let from = from.unwrap_or(0).min(self.read_count.get());
        let (mut left, all) = (from, self.read_count.get());
        let was = self.unsettled.reads();
        for at in from..all {
            if at == was.1 {
                self.unsettled.have_moved((was.0.min(from), left));
            }
            let read = self.reads[at].get();
            let known = self.reads[from..left].iter().any(|known| {
                let known = known.get();
                known.place == read.place && known.length == read.length
            });
            if !known {
                self.reads[left].set(read);
                left += 1;
            }
        }
        if was.1 >= all {
            self.unsettled.have_moved((was.0.min(from), left));
        }
        self.read_count.set(left);
    }
}
