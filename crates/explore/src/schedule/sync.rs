//! Synchronisation objects: what each operation waits for, touches and leaves. The state of an object is one word, so that a
//! transition says what it found and what it left, and the search can tell where else it would have been possible.
//!
//! | object | its word |
//! |---|---|
//! | mutex, spin lock; one that the program says it holds | the holder's number plus one, or 0 |
//! | reader-writer lock | a bit for each reader (0-31), the writer's number plus one above |
//! | semaphore | its count |
//! | condition | a bit for each waiter (0-27), a bit for each waiter that a signal reached (28-55), and how many of those may *not* go on |
//! | barrier | how many have arrived so far, in all rounds |
//! | a round of a barrier | 1 once somebody was told to be its serial thread |
//! | once | 0, 1 while somebody does it, 2 when it is done |
//! | a signal, of a thread or of the process | how often it is pending (1 at most, if it is not one that queues); above, |
//! | | whether it comes again for whoever waits for it: that of a timer that repeats, and went off as often as is asked for |
//!
//! The mask of a transition is in bits of that word. Readers have a bit each, so they commute; a writer has all of them.
//! Waiters have their own bits as well: entering the queue commutes, and so does leaving it after a broadcast, but after a
//! signal that reached more waiters than may go on, going on concerns them all.
//!
//! *A critical section* in which nothing else is visible is one transition, [`Op::Section`]: two of them depend on each other if
//! what they access inside does, and the lock adds nothing.
//!
//! Every operation drains the store buffer of its thread, as the locked instruction in it does; those of signals do not, nor
//! what a program says of locks of its own ([`Op::drains`]).
//!
//! It may signal a condition, or enter the queue of one and end with that: then that belongs to it ([`super::Step::condition`]).
//!
//! *Waiting for a condition* is four transitions otherwise: [`Op::Wait`] enters the queue with the mutex held, [`Op::Unlock`], [`Op::Wake`]
//! (or [`Op::TimedWake`], which is always possible), [`Op::Lock`]. POSIX asks no more: who gets the mutex after the waiter gave
//! it up finds the waiter in the queue.
//!
//! *Waiting at a barrier* is two transitions. Those who [`Op::Arrive`] in one round commute: which round it is says how many came before.
//! An [`Op::Pass`] comes behind all arrivals of its round ([`super::Step::behind`]). It touches nothing, unless the program asks who is the
//! serial thread: then it touches its round, and the first who passes is told so.
//!
//! *A signal* that is sent, or a timer that is set, is a process of its own whose transitions are [`Op::Pend`]. A thread takes it up with
//! an [`Op::Deliver`], which it makes before each of its transitions that can tell when the handler ran: the steps of the handler follow.
//! So a delivery comes between any two transitions of its thread that do not commute with the handler.
//!
//! *A futex* is a condition whose [`Op::Wait`] reads the futex's word too: [`super::Step::more`].

use super::step::{Access, Act, Step, Until};

/// The whole object.
pub const ALL: u64 = u64::MAX;

/// Threads that can wait for one condition.
pub const MOST_WAITERS: usize = 28;
/// Threads that can read under one lock.
pub const MOST_READERS: usize = 32;

const READERS: u64 = (1 << MOST_READERS) - 1;
const WAITING: u64 = (1 << MOST_WAITERS) - 1;
const REACHED: u64 = WAITING << MOST_WAITERS;
/// How often a signal is pending.
const PENDING: u64 = (1 << 16) - 1;
const LACKING: u32 = 2 * MOST_WAITERS as u32;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Op {
    Lock,
    /// Takes a lock, and gives it back, with nothing in between that others could see: [`super::Step::section`].
    Section,
    /// Or a timed lock: any wait may be too long.
    TryLock,
    /// Of a mutex, or of a writer.
    Unlock,
    LockExclusive,
    TryLockExclusive,
    LockShared,
    TryLockShared,
    UnlockShared,
    /// One less, when there is one.
    Take,
    TryTake,
    Give,
    /// Enters the queue of a condition.
    Wait,
    /// Leaves it when reached.
    Wake,
    /// Leaves it when reached, to look again in a loop that came to nothing: only where another one might have been woken instead.
    WakeToLook,
    /// Leaves it in any case.
    TimedWake,
    Signal,
    Broadcast,
    Arrive,
    /// Leaves a barrier whose round is full.
    Pass,
    /// Goes on if it is done, begins it if nobody has.
    Once,
    OnceDone,
    /// The initialisation failed: somebody else may try.
    OnceAbort,
    /// The object is made, or made anew. What it holds then is the executor's to say: [`super::Step::left`].
    Init,
    Destroy,
    /// A signal becomes pending.
    Pend,
    /// Takes a pending signal, if there is one: its handler follows.
    Deliver,
    /// The same, when there is one.
    AwaitSignal,
    /// The program says that it holds a lock of its own making: nobody waits for that.
    Hold,
    /// It says that it gives one back.
    LetGo,
}

fn waiter(thread: usize) -> u64 {
    1 << thread | 1 << (thread + MOST_WAITERS)
}

fn reached(thread: usize, found: u64) -> bool {
    found >> (thread + MOST_WAITERS) & 1 != 0
}

fn is_certain(thread: usize, found: u64) -> bool {
    reached(thread, found) && found >> thread & 1 == 0
}

impl Op {
    pub fn act(self) -> Act {
        Act::Sync(self)
    }

    /// When it is possible, by the object's word.
    pub fn until(self, thread: usize) -> Until {
        match self {
            Op::Lock | Op::LockExclusive => Until::Clear(ALL),
            Op::LockShared => Until::Clear(!READERS),
            Op::Take | Op::AwaitSignal => Until::Any(ALL),
            Op::Wake => Until::Any(1 << (thread + MOST_WAITERS)),
            Op::WakeToLook => Until::Contested(1 << (thread + MOST_WAITERS)),
            Op::Once => Until::Clear(1),
            _ => Until::Now,
        }
    }

    /// Of what each thread has a bit of its own in: how many of them there can be. For these operations `thread` is the number of that
    /// bit, which the executor gives it for the whole search; for others it is the thread's own.
    pub fn most_members(self) -> Option<usize> {
        match self {
            Op::Wait | Op::Wake | Op::WakeToLook | Op::TimedWake => Some(MOST_WAITERS),
            Op::LockShared | Op::TryLockShared | Op::UnlockShared => Some(MOST_READERS),
            _ => None,
        }
    }

    /// That number of a transition's.
    pub(super) fn member(self, step: &Step) -> usize {
        let of = |bits: u64| (bits.trailing_zeros() as usize) % MOST_WAITERS;
        match (self, step.until) {
            (Op::Wake, Until::Any(bits)) | (Op::WakeToLook, Until::Contested(bits)) => of(bits),
            (Op::Wait | Op::TimedWake, _) if step.mask != ALL => of(step.mask),
            (Op::LockShared | Op::UnlockShared, _) => step.mask.trailing_zeros() as usize,
            _ => step.process.into(),
        }
    }

    /// Does it wait for the stores of its thread? The handler of a signal sees them where they are, and what a program says of its locks is
    /// no fence.
    pub fn drains(self) -> bool {
        !matches!(
            self,
            Op::Pend | Op::Deliver | Op::AwaitSignal | Op::Hold | Op::LetGo
        )
    }

    /// Does it take a lock, when it succeeds?
    pub fn locks(self) -> bool {
        matches!(
            self,
            Op::Lock
                | Op::TryLock
                | Op::LockExclusive
                | Op::TryLockExclusive
                | Op::LockShared
                | Op::TryLockShared
        )
    }

    /// Does it do what it is for? A try may not, and a signal may find nobody.
    pub fn succeeds(self, thread: usize, found: u64) -> bool {
        match self {
            Op::TryLock | Op::TryLockExclusive => Until::Clear(ALL).admits(found),
            Op::TryLockShared => Until::Clear(!READERS).admits(found),
            Op::TryTake => found != 0,
            Op::Deliver => found & PENDING != 0,
            Op::Signal | Op::Broadcast => found & WAITING != 0,
            Op::TimedWake => reached(thread, found),
            Op::Once | Op::Pass => found == 0,
            _ => true,
        }
    }

    /// How it touches the object, and which bits of it, where the object holds `found`.
    pub fn footprint(self, thread: usize, found: u64) -> (Access, u64) {
        match self {
            Op::LockShared | Op::UnlockShared => (Access::Write, 1 << thread),
            Op::TryLockShared if self.succeeds(thread, found) => (Access::Write, 1 << thread),
            Op::TryLockShared => (Access::Read, !READERS),
            Op::Wait => (Access::Write, waiter(thread)),
            Op::Wake | Op::WakeToLook | Op::TimedWake => {
                let contested =
                    reached(thread, found) && is_contested(found) && !is_certain(thread, found);
                let mask = if contested { ALL } else { waiter(thread) };
                (Access::Write, mask)
            }
            Op::TryLock
            | Op::TryLockExclusive
            | Op::TryTake
            | Op::Deliver
            | Op::Signal
            | Op::Broadcast
            | Op::Once
            | Op::Pass
                if !self.succeeds(thread, found) =>
            {
                (Access::Read, ALL)
            }
            _ => (Access::Write, ALL),
        }
    }

    /// A mask of one thread's, as another one's: bits that stand for the thread are the other's.
    pub fn mask_of(self, mask: u64, from: usize, to: usize) -> u64 {
        match self {
            Op::LockShared | Op::UnlockShared | Op::TryLockShared if mask == 1 << from => 1 << to,
            Op::Wait | Op::Wake | Op::WakeToLook | Op::TimedWake if mask == waiter(from) => {
                waiter(to)
            }
            _ => mask,
        }
    }

    /// What the object holds afterwards.
    pub fn left(self, thread: usize, found: u64) -> u64 {
        if self != Op::TimedWake && !self.succeeds(thread, found) {
            return found;
        }
        match self {
            Op::Section => found,
            Op::Lock | Op::TryLock | Op::Hold => thread as u64 + 1,
            Op::LockExclusive | Op::TryLockExclusive => (thread as u64 + 1) << MOST_READERS,
            Op::Unlock | Op::LetGo => 0,
            Op::LockShared | Op::TryLockShared => found | 1 << thread,
            Op::UnlockShared => found & !(1 << thread),
            Op::AwaitSignal if found & PENDING == 0 => found,
            Op::Take | Op::TryTake | Op::Deliver | Op::AwaitSignal => found.saturating_sub(1),
            Op::Give | Op::Arrive => found.saturating_add(1),
            Op::Wait => found | 1 << thread,
            Op::Wake | Op::WakeToLook | Op::TimedWake => leave(thread, found),
            Op::Signal => reach_one(found),
            Op::Broadcast => reach_all(found),
            Op::Once | Op::Pass => 1,
            Op::OnceDone => 2,
            Op::OnceAbort | Op::Init | Op::Destroy => 0,
            // Of a signal that does not queue; for others the executor says it.
            Op::Pend => 1,
        }
    }
}

/// Which bits of a condition's word a critical section has changed, by what it found and left: those of the waiter that entered the queue, if
/// that is all, or any.
pub(super) fn changed_by_section(found: u64, left: u64) -> u64 {
    let entered = left & !found;
    match found | entered == left && entered.count_ones() == 1 && entered & WAITING != 0 {
        true => entered | entered << MOST_WAITERS,
        false => ALL,
    }
}

/// May some of those who were reached not go on?
fn is_contested(found: u64) -> bool {
    found >> LACKING != 0
}

/// Was one who has these bits reached, and may another one go on instead?
pub(super) fn is_contested_by(bits: u64, found: u64) -> bool {
    found & bits != 0 && is_contested(found) && certain(found) & bits == 0
}

/// Those who were woken for certain: reached, and no longer among those who wait for it.
fn certain(found: u64) -> u64 {
    found & REACHED & !((found & WAITING) << MOST_WAITERS)
}

/// How many of those reached may go on, besides those who are certain to.
fn permitted(found: u64) -> u32 {
    (found & REACHED & !certain(found)).count_ones() - (found >> LACKING) as u32
}

/// A signal wakes one of those who wait. Who that is may be left open until one of them goes on. If it is still open whom earlier signals wake,
/// this one wakes another of the same, and none of those who came since: whoever is woken could as well have gone on at once, and the execution
/// in which it did shows whom else this one may wake.
fn reach_one(found: u64) -> u64 {
    if is_contested(found) {
        return found - (1 << LACKING);
    }
    let waits = found & WAITING & !((found & REACHED) >> MOST_WAITERS);
    if waits == 0 {
        return found;
    }
    // All who were reached go on for certain: who came to the queue since cannot go on in their stead.
    let lacking = u64::from(waits.count_ones() - 1) << LACKING;
    found & REACHED | waits | waits << MOST_WAITERS | lacking
}

fn reach_all(found: u64) -> u64 {
    found & (WAITING | REACHED) | (found & WAITING) << MOST_WAITERS
}

fn leave(thread: usize, found: u64) -> u64 {
    let rest = found & !waiter(thread);
    if !reached(thread, found) || is_certain(thread, found) {
        return rest;
    }
    // The last one who may go on leaves nothing to the others.
    if permitted(found) <= 1 {
        rest & WAITING | certain(rest)
    } else {
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies operations of threads where they are possible.
    fn play(ops: &[(usize, Op)]) -> Option<u64> {
        let mut word = 0;
        for &(thread, op) in ops {
            if !op.until(thread).admits(word) {
                return None;
            }
            word = op.left(thread, word);
        }
        Some(word)
    }

    #[test]
    fn a_signal_lets_one_waiter_go_and_a_broadcast_all() {
        use Op::{Broadcast, Signal, TimedWake, Wait, Wake};
        let both = [(0, Wait), (1, Wait)];
        let then = |rest: &[(usize, Op)]| play(&[&both[..], rest].concat());
        assert_eq!(then(&[(0, Wake)]), None);
        assert_eq!(then(&[(2, Signal), (1, Wake)]), Some(1));
        assert_eq!(then(&[(2, Signal), (1, Wake), (0, Wake)]), None);
        assert_eq!(
            then(&[(2, Signal), (2, Signal), (1, Wake), (0, Wake)]),
            Some(0)
        );
        assert_eq!(then(&[(2, Broadcast), (0, Wake), (1, Wake)]), Some(0));
        // Who was woken for certain goes on, whoever comes to the queue and is reached by the next signal.
        let late = [(0, Wait), (3, Signal), (1, Wait), (2, Wait), (3, Signal)];
        let then_late = |rest: &[(usize, Op)]| play(&[&late[..], rest].concat());
        assert_eq!(then_late(&[(1, Wake), (2, Wake)]), None);
        assert!(then_late(&[(1, Wake), (0, Wake)]).is_some());
        assert!(then_late(&[(0, Wake), (2, Wake)]).is_some());
        assert_eq!(then_late(&[(0, Wake), (2, Wake), (1, Wake)]), None);
        // The first signal woke one of two, and the second another one of them: newcomers have no part in that.
        let came = [(2, Wait), (3, Wait), (4, Signal)];
        let then_came = |rest: &[(usize, Op)]| then(&[&[(4, Signal)], &came[..], rest].concat());
        assert_eq!(then_came(&[(2, Wake)]), None);
        assert!(then_came(&[(0, Wake), (1, Wake)]).is_some());
        // Unless who was woken has gone on.
        let gone = [&[(4, Signal), (0, Wake)], &came[..]].concat();
        assert!(then(&[&gone[..], &[(2, Wake)]].concat()).is_some());
        assert!(then(&[&gone[..], &[(1, Wake)]].concat()).is_some());
        assert_eq!(then(&[&gone[..], &[(2, Wake), (3, Wake)]].concat()), None);
        // Lost on those who come later.
        assert_eq!(play(&[(2, Signal), (0, Wait), (0, Wake)]), None);
        // A wait that takes too long leaves the signal to others, unless it was reached.
        assert_eq!(then(&[(0, TimedWake), (2, Signal), (1, Wake)]), Some(0));
        assert_eq!(then(&[(2, Signal), (0, TimedWake), (1, Wake)]), None);
    }

    #[test]
    fn readers_share_and_writers_do_not() {
        use Op::{LockExclusive, LockShared, TryLockExclusive, Unlock, UnlockShared};
        assert_eq!(play(&[(0, LockShared), (1, LockShared)]), Some(3));
        assert_eq!(play(&[(0, LockShared), (1, LockExclusive)]), None);
        assert_eq!(play(&[(0, LockExclusive), (1, LockShared)]), None);
        assert_eq!(
            play(&[
                (0, LockShared),
                (0, UnlockShared),
                (1, LockExclusive),
                (1, Unlock)
            ]),
            Some(0)
        );
        assert_eq!(play(&[(0, LockShared), (1, TryLockExclusive)]), Some(1));
    }

    /// Transitions with disjoint masks commute: each finds in its bits, and leaves there, the same in either order.
    #[test]
    fn disjoint_masks_commute() {
        const OPS: [Op; 7] = [
            Op::LockShared,
            Op::UnlockShared,
            Op::Wait,
            Op::Wake,
            Op::TimedWake,
            Op::Signal,
            Op::Broadcast,
        ];
        let mut words: Vec<u64> = vec![0];
        let mut at = 0;
        while let Some(&word) = words.get(at) {
            at += 1;
            for (thread, &op) in
                (0..3).flat_map(|thread| OPS[2..].iter().map(move |op| (thread, op)))
            {
                // A thread waits once.
                let waits = word & waiter(thread) != 0;
                let sensible =
                    (op == Op::Wait) != waits || matches!(op, Op::Signal | Op::Broadcast);
                let left = op.left(thread, word);
                if sensible && op.until(thread).admits(word) && !words.contains(&left) {
                    words.push(left);
                }
            }
        }
        assert!(words.len() > 20);
        for &word in &words {
            for a in OPS {
                for b in OPS {
                    let shared = |op| matches!(op, Op::LockShared | Op::UnlockShared);
                    if shared(a) != shared(b)
                        || !a.until(0).admits(word)
                        || !b.until(1).admits(word)
                    {
                        continue;
                    }
                    let ((access_a, mask_a), (access_b, mask_b)) =
                        (a.footprint(0, word), b.footprint(1, word));
                    let reads = access_a == Access::Read && access_b == Access::Read;
                    if mask_a & mask_b != 0 && !reads {
                        continue;
                    }
                    let (after_a, after_b) = (a.left(0, word), b.left(1, word));
                    assert!(b.until(1).admits(after_a) && a.until(0).admits(after_b));
                    assert_eq!(
                        b.left(1, after_a),
                        a.left(0, after_b),
                        "{a:?} {b:?} {word:x}"
                    );
                    assert_eq!(b.footprint(1, after_a), (access_b, mask_b));
                    assert_eq!(a.footprint(0, after_b), (access_a, mask_a));
                }
            }
        }
    }
}
