//! Locks and the like: the word of each, what a step does to it, and what a thread waits for.

use super::super::numbers::place;
use super::{Open, TraceReader, word};
use landfall_explore::schedule::sync::Op;
use landfall_explore::schedule::{Access, Act, NOWHERE, Process, Step, Trace, Until, Wait};
use landfall_vocab::record::{Traced, access, lifetime, step};
use landfall_vocab::shared::round_of;

impl TraceReader {
    pub(super) fn word(&mut self, object: u32) -> &mut u64 {
        let index = object as usize;
        if index >= self.words.len() {
            self.words.resize(index + 1, 0);
        }
        self.used.push(object);
        &mut self.words[index]
    }

    /// A step on a lock or the like.
    pub(super) fn synchronise(
        &mut self,
        open: &Open,
        op: Op,
        record: &Traced<'_>,
        step: &mut Step,
    ) {
        let said = word(record, 0);
        let parameter = said & !lifetime::ALL;
        let thread = open.thread;
        if op == Op::Pass {
            return self.pass(thread, record, step);
        }
        if record.flags == access::NOTHING {
            // A lock that it holds, once more or once less.
            step.object = NOWHERE;
            step.mask = 0;
            return;
        }
        let object = step.object;
        let held = self.word(object);
        match op {
            Op::Take | Op::TryTake | Op::Give | Op::Deliver | Op::AwaitSignal => *held = parameter,
            Op::Once => *held = if parameter != 0 { 2 } else { 0 },
            _ => {}
        }
        (step.found, step.left) = (*held, *held);
        if open.kind == step::LOOK {
            (step.found, step.left) = (parameter, parameter);
            (step.act, step.access) = (Act::Load, Access::Read);
            return;
        }
        let op = match op {
            Op::Lock if said & lifetime::SECTION != 0 => Op::Section,
            Op::OnceDone if parameter == 0 => Op::OnceAbort,
            op => op,
        };
        step.act = op.act();
        let thread = self.member(object, op, thread);
        let held = self.word(object);
        step.until = op.until(thread);
        (step.access, step.mask) = op.footprint(thread, *held);
        // Who leaves a condition may find it destroyed.
        if !matches!(op, Op::Wake | Op::WakeToLook | Op::TimedWake) {
            step.gone = said & lifetime::GONE != 0;
        }
        step.in_use = said & lifetime::IN_USE != 0;
        let refused = record.flags & access::WRITE == 0 && op.succeeds(thread, *held);
        if refused || op == Op::Wait && parameter == 0 {
            // Unlocking what somebody else holds; a futex whose word had changed.
            return;
        }
        step.left = match op {
            Op::Init | Op::Destroy if said & lifetime::KEPT != 0 => *held,
            Op::Init | Op::Destroy | Op::Pend => parameter,
            op => op.left(thread, *held),
        };
        *held = step.left;
        if op == Op::Arrive {
            step.expect = parameter;
            let (round, arrival) = (step.round(), (thread as Process, step.tick));
            self.threads[thread].meets = (object, round);
            self.arrivals.push((object, round, arrival.0, arrival.1));
        }
    }

    /// The number by which an object's word has a thread. Those who wait for it, or share it, have a bit each, in the order in which the
    /// search has met them.
    pub(super) fn member(&mut self, object: u32, op: Op, thread: usize) -> usize {
        let Some(most) = op.most_members() else {
            return thread;
        };
        let members = self.members.entry(object).or_default();
        let known = members.iter().position(|of| usize::from(*of) == thread);
        let number = known.unwrap_or_else(|| {
            members.push(thread as Process);
            members.len() - 1
        });
        self.crowd |= number >= most;
        number.min(most - 1)
    }

    /// A thread leaves a barrier: it touches its round where it asks whether it is the serial thread.
    fn pass(&mut self, thread: usize, record: &Traced<'_>, step: &mut Step) {
        step.act = Op::Pass.act();
        let said = word(record, 0);
        if record.flags == access::NOTHING {
            return;
        }
        let (barrier, _) = place(record.value);
        step.object = self.objects.of(round_of(barrier, said >> 1));
        (step.found, step.left) = (said & 1, 1);
        (step.access, step.mask) = Op::Pass.footprint(thread, step.found);
    }

    /// Those who arrived in the round that a thread leaves a barrier after.
    pub(super) fn behind_arrivals(&self, thread: usize, trace: &mut Trace) -> u32 {
        let meets = self.threads[thread].meets;
        let mut set: Vec<(Process, u32)> = (self.arrivals.iter())
            .filter(|&&(object, round, process, _)| {
                (object, round) == meets && usize::from(process) != thread
            })
            .map(|&(.., process, tick)| (process, tick))
            .collect();
        set.extend_from_slice(&self.threads[thread].floor);
        set.sort_unstable();
        trace.sets.come_after(&set)
    }

    /// A thread that waits still, at the end.
    pub(super) fn blocked(&mut self, thread: usize, record: &Traced<'_>, trace: &mut Trace) {
        let site = self.site(record);
        let kind = record.flags;
        let waits = match kind {
            step::JOIN => Wait::Join {
                thread: thread as Process,
                of: record.value as Process,
                site,
            },
            step::PASS => Wait::Barrier {
                thread: thread as Process,
                object: self.objects.of(record.value | landfall_vocab::shared::LOCK),
                site,
            },
            _ => {
                self.open(thread, record, trace);
                let Some(open) = self.open.take() else { return };
                let mut step = self.skeleton(&open, site, trace);
                step.more = open.more;
                match operation(kind) {
                    Some(op) => {
                        let (place, _) = place(record.value | landfall_vocab::shared::LOCK);
                        step.object = self.objects.of(place);
                        let held = *self.word(step.object);
                        step.act = op.act();
                        let thread = self.member(step.object, op, thread);
                        step.until = op.until(thread);
                        (step.access, step.mask) = op.footprint(thread, held);
                        (step.found, step.left) = (held, held);
                    }
                    None => {
                        let (place, mask) = place(record.value);
                        step.object = self.objects.of(place);
                        step.mask = mask;
                        (step.act, step.access) = match kind {
                            step::READ => (Act::Load, Access::Read),
                            step::WRITE => (Act::Store, Access::Write),
                            _ => (Act::Rmw, Access::Write),
                        };
                        if step.more != 0 {
                            step.until = Until::Changed;
                        }
                    }
                }
                Wait::Step(step)
            }
        };
        let waits = match waits {
            Wait::Step(mut step) => {
                self.concerns_blocks(&mut step, trace);
                Wait::Step(step)
            }
            other => other,
        };
        trace.blocked.push(waits);
    }
}

/// Steps that wait for the thread's own stores.
pub(super) fn drains(kind: u8) -> bool {
    !matches!(
        kind,
        step::READ
            | step::WRITE
            | step::FLUSH
            | step::PASS
            | step::INIT
            | step::DESTROY
            | step::PEND
            | step::DELIVER
            | step::AWAIT_SIGNAL
            | step::HOLD
            | step::LET_GO
            | step::PREEMPT
            | step::ISSUE
            | step::ATTEMPT
            | step::SPOIL
            | step::TRANSACT_EARLY
    )
}

/// What a step on a lock or the like does to it; none for accesses to memory.
pub(super) fn operation(kind: u8) -> Option<Op> {
    Some(match kind {
        step::INIT => Op::Init,
        step::DESTROY => Op::Destroy,
        step::LOCK => Op::Lock,
        step::TRY_LOCK => Op::TryLock,
        step::UNLOCK | step::RELEASE => Op::Unlock,
        step::LOCK_EXCLUSIVE => Op::LockExclusive,
        step::TRY_LOCK_EXCLUSIVE => Op::TryLockExclusive,
        step::LOCK_SHARED => Op::LockShared,
        step::TRY_LOCK_SHARED => Op::TryLockShared,
        step::UNLOCK_SHARED => Op::UnlockShared,
        step::TAKE => Op::Take,
        step::TRY_TAKE | step::LOOK => Op::TryTake,
        step::GIVE => Op::Give,
        step::WAIT | step::FUTEX_WAIT => Op::Wait,
        step::WAKE | step::LATE_WAKE => Op::Wake,
        step::WAKE_TO_LOOK => Op::WakeToLook,
        step::TIMED_WAKE => Op::TimedWake,
        step::SIGNAL => Op::Signal,
        step::BROADCAST => Op::Broadcast,
        step::ARRIVE => Op::Arrive,
        step::PASS => Op::Pass,
        step::ONCE => Op::Once,
        step::ONCE_DONE => Op::OnceDone,
        step::PEND => Op::Pend,
        step::DELIVER => Op::Deliver,
        step::AWAIT_SIGNAL => Op::AwaitSignal,
        step::HOLD => Op::Hold,
        step::LET_GO => Op::LetGo,
        _ => return None,
    })
}
