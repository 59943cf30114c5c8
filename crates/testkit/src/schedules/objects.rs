//! What synchronisation objects do, written down once more: as sets and counts, for trying everything.

use super::queue::Queue;
use crate::program::Sync;
use std::collections::BTreeSet;

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Object {
    holder: Option<usize>,
    readers: BTreeSet<usize>,
    count: u64,
    waiting: BTreeSet<usize>,
    reached: BTreeSet<usize>,
    /// Of those that a signal reached: who goes on whatever others do.
    certain: BTreeSet<usize>,
    tokens: usize,
    /// Of a condition where each signal makes its choice; then the four above are of no use.
    queue: Option<Queue>,
    /// Of a condition that is signalled in critical sections only: those do not commute, whomever they find.
    in_sections: bool,
    arrived: u64,
    /// Rounds whose serial thread is known.
    serial: BTreeSet<u64>,
    once: u8,
    /// What was done to it, but for the order of what commutes: who, which of his operations, how.
    done: BTreeSet<(usize, u32, How)>,
    /// Pairs of those that do not commute, in their order.
    pairs: BTreeSet<(u32, u32)>,
}

/// What an operation did, as far as commuting goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum How {
    /// Nothing: it looked.
    Looked,
    /// It looked whether there is a writer.
    LookedForWriter,
    Shared,
    Queue,
    /// At a barrier, in this round.
    Arrived(u64),
    /// Asked who is the serial thread of this round: is it?
    Passed(u64, bool),
    Alone,
}

fn commute(a: How, b: How) -> bool {
    use How::{Arrived, Looked, LookedForWriter, Passed, Queue, Shared};
    match (a, b) {
        (Arrived(a), Arrived(b)) => return a == b,
        (Passed(a, first), Passed(b, other)) => return a != b || !first && !other,
        (Arrived(_), Passed(..)) | (Passed(..), Arrived(_)) => return true,
        _ => {}
    }
    matches!(
        (a, b),
        (Looked | LookedForWriter, Looked | LookedForWriter)
            | (Shared, Shared | LookedForWriter)
            | (LookedForWriter, Shared)
            | (Queue, Queue)
    )
}

pub(super) fn is_of_condition(op: Sync) -> bool {
    matches!(
        op,
        Sync::Wait
            | Sync::Wake
            | Sync::WakeToLook
            | Sync::TimedWake
            | Sync::Signal
            | Sync::Broadcast
    )
}

impl Object {
    pub(super) fn with_count(count: u64) -> Object {
        Object {
            count,
            ..Object::default()
        }
    }

    /// Each signal chooses whom it wakes, at once ([`Object::choices`]).
    pub(super) fn choosing(self) -> Object {
        Object {
            queue: Some(Queue::default()),
            ..self
        }
    }

    pub(super) fn in_sections(self) -> Object {
        Object {
            in_sections: true,
            ..self
        }
    }

    /// What an operation may choose.
    pub(super) fn choices(&self, op: Sync) -> Vec<Option<usize>> {
        match &self.queue {
            Some(queue) if op == Sync::Signal => queue.choices(),
            _ => vec![None],
        }
    }

    /// An operation on the queue of a condition by POSIX's words; `None` if it is none.
    fn apply_to_queue(&mut self, op: Sync, thread: usize, choice: Option<usize>) -> Option<bool> {
        let queue = self.queue.as_mut()?;
        Some(match op {
            Sync::Wait => {
                queue.block(thread);
                true
            }
            Sync::Wake | Sync::WakeToLook | Sync::TimedWake => queue.leave(thread),
            Sync::Signal => {
                queue.unblock(choice);
                choice.is_some()
            }
            Sync::Broadcast => {
                queue.unblock_all();
                true
            }
            _ => return None,
        })
    }

    /// As it would be if threads had these names.
    pub(super) fn renamed(&self, names: &[usize]) -> Object {
        let set = |threads: &BTreeSet<usize>| threads.iter().map(|&thread| names[thread]).collect();
        let operation = |number: u32| (number & !15) + names[(number & 15) as usize] as u32;
        let done = self.done.iter();
        let pairs = self.pairs.iter();
        Object {
            holder: self.holder.map(|thread| names[thread]),
            readers: set(&self.readers),
            waiting: set(&self.waiting),
            reached: set(&self.reached),
            certain: set(&self.certain),
            done: (done.map(|&(thread, number, how)| (names[thread], operation(number), how)))
                .collect(),
            pairs: (pairs.map(|&(a, b)| (operation(a), operation(b)))).collect(),
            ..self.clone()
        }
    }

    /// Only what it is now counts.
    pub(super) fn forget(&mut self) {
        self.done.clear();
        self.pairs.clear();
    }

    pub(super) fn possible(&self, op: Sync, thread: usize) -> bool {
        match op {
            Sync::Lock | Sync::LockExclusive => self.holder.is_none() && self.readers.is_empty(),
            Sync::LockShared => self.holder.is_none(),
            Sync::Take => self.count > 0,
            // Every turn of a loop happens here.
            Sync::Wake | Sync::WakeToLook => match &self.queue {
                Some(queue) => queue.is_unblocked(thread),
                None => self.reached.contains(&thread) || self.certain.contains(&thread),
            },
            Sync::Once => self.once != 1,
            _ => true,
        }
    }

    /// Does it; tells whether it did what it is for.
    pub(super) fn apply(
        &mut self,
        op: Sync,
        thread: usize,
        number: u32,
        choice: Option<usize>,
    ) -> bool {
        if let Some(success) = self.apply_to_queue(op, thread, choice) {
            return success;
        }
        let free = self.holder.is_none() && self.readers.is_empty();
        let contended = self.reached.contains(&thread) && self.tokens < self.reached.len();
        let (success, how) = match op {
            Sync::Lock | Sync::LockExclusive => (true, How::Alone),
            Sync::TryLock | Sync::TryLockExclusive => {
                (free, if free { How::Alone } else { How::Looked })
            }
            Sync::LockShared | Sync::UnlockShared => (true, How::Shared),
            Sync::TryLockShared if self.holder.is_none() => (true, How::Shared),
            Sync::TryLockShared => (false, How::LookedForWriter),
            Sync::TryTake if self.count == 0 => (false, How::Looked),
            Sync::Wait => (true, How::Queue),
            Sync::Wake | Sync::WakeToLook | Sync::TimedWake if contended => (true, How::Alone),
            Sync::Wake | Sync::WakeToLook | Sync::TimedWake => (
                self.reached.contains(&thread) || self.certain.contains(&thread),
                How::Queue,
            ),
            Sync::Signal | Sync::Broadcast if self.waiting.is_empty() => match self.in_sections {
                true => (false, How::Alone),
                false => (false, How::Looked),
            },
            Sync::Once if self.once == 2 => (false, How::Looked),
            _ => (true, How::Alone),
        };
        match op {
            Sync::Lock | Sync::TryLock | Sync::LockExclusive | Sync::TryLockExclusive
                if success =>
            {
                self.holder = Some(thread);
            }
            Sync::Unlock => self.holder = None,
            Sync::LockShared | Sync::TryLockShared if success => {
                self.readers.insert(thread);
            }
            Sync::UnlockShared => {
                self.readers.remove(&thread);
            }
            Sync::Take | Sync::TryTake if success => self.count -= 1,
            Sync::Give => self.count += 1,
            Sync::Wait => {
                self.waiting.insert(thread);
            }
            Sync::Wake | Sync::WakeToLook | Sync::TimedWake => {
                self.waiting.remove(&thread);
                if !self.certain.remove(&thread) && self.reached.remove(&thread) {
                    self.tokens -= 1;
                    if self.tokens == 0 {
                        self.reached.clear();
                    }
                }
            }
            Sync::Signal if self.tokens < self.reached.len() => self.tokens += 1,
            Sync::Signal => {
                // Those who were reached go on for certain.
                self.certain.append(&mut self.reached);
                self.reached = &self.waiting - &self.certain;
                self.tokens = 1.min(self.reached.len());
            }
            Sync::Broadcast => {
                self.certain = self.waiting.clone();
                self.reached.clear();
                self.tokens = 0;
            }
            Sync::Once if success => self.once = 1,
            Sync::OnceDone => self.once = 2,
            Sync::OnceAbort => self.once = 0,
            _ => {}
        }
        self.did(thread, number, how);
        success
    }

    pub(super) fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Somebody arrives at the barrier; the number of the arrival.
    pub(super) fn arrive(&mut self, parties: u64, thread: usize, number: u32) -> u64 {
        let round = self.arrived / parties;
        self.arrived += 1;
        self.did(thread, number, How::Arrived(round));
        self.arrived
    }

    /// Somebody leaves it, and asks whether it is the serial thread.
    pub(super) fn pass(&mut self, round: u64, thread: usize, number: u32) -> bool {
        let serial = self.serial.insert(round);
        self.did(thread, number, How::Passed(round, serial));
        serial
    }

    fn did(&mut self, thread: usize, number: u32, how: How) {
        for &(other, earlier, earlier_how) in &self.done {
            if other != thread && !commute(earlier_how, how) {
                self.pairs.insert((earlier, number));
            }
        }
        self.done.insert((thread, number, how));
    }
}
