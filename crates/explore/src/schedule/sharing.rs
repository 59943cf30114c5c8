//! Is there anything in an execution that a data race could be made of? Mostly not: its plain accesses are to what one
//! thread has for itself, or had before it created the others, and nobody need look closer.

use super::step::{Access, NOWHERE, Order};
use super::trace::Trace;

/// Accesses that are looked at one by one.
const MOST: usize = 64;
/// In place of the tick of a commit: later than what its thread did, so that nobody knows of it by that.
const COMMITTED: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, Default)]
struct SharedObject {
    /// The execution that this is about.
    number: u64,
    /// One of the threads, plus one; and whether there is another.
    thread: usize,
    several: bool,
    written: bool,
    plain: bool,
    /// It is among those to be looked at closely.
    close: bool,
}

/// An access to an object that is looked at closely.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct SharedAccess {
    object: u32,
    thread: usize,
    /// Its thread's, when it happened.
    tick: u32,
    mask: u64,
    writes: bool,
    plain: bool,
    /// Threads below 64 that have ended and that it knows of, a bit each.
    joined: u64,
}

/// Kept from execution to execution, so that looking costs no memory.
#[derive(Clone, Debug, Default)]
pub struct Sharing {
    objects: Vec<SharedObject>,
    number: u64,
    close: usize,
    accesses: Vec<SharedAccess>,
    /// Per thread, whom it has joined.
    joined: Vec<u64>,
}

impl Sharing {
    /// Do two threads access the same bytes, one of them writing, one of them by a plain access, and neither has created the other
    /// later, or joined it before?
    pub fn of_plain(&mut self, trace: &Trace, order: Order) -> bool {
        self.number += 1;
        self.close = 0;
        // What one thread does alone comes before all that others do.
        let alone = trace.alone();
        let trailing = trace.trailing[trace.not_alone(&trace.trailing, |t| t.after)..].iter();
        let trailing = trailing.map(|t| (t.object, usize::from(t.thread), t.write, true));
        let steps = trace.steps[alone..].iter().filter(|step| {
            step.object != NOWHERE && matches!(step.access, Access::Read | Access::Write)
        });
        let steps = steps.map(|step| {
            let writes = step.access == Access::Write;
            (step.object, order.thread(step.process), writes, step.plain)
        });
        for (object, thread, writes, plain) in trailing.chain(steps) {
            let index = object as usize;
            if index >= self.objects.len() {
                self.objects.resize(index + 1, SharedObject::default());
            }
            let known = &mut self.objects[index];
            if known.number != self.number {
                *known = SharedObject {
                    number: self.number,
                    ..SharedObject::default()
                };
            }
            known.several |= known.thread != 0 && known.thread != thread + 1;
            known.thread = thread + 1;
            known.written |= writes;
            known.plain |= plain;
            if known.written && known.plain && known.several && !known.close {
                known.close = true;
                self.close += 1;
            }
        }
        self.close != 0 && self.closely(trace, order)
    }

    /// The same, of the objects for which it may be so.
    fn closely(&mut self, trace: &Trace, order: Order) -> bool {
        self.accesses.clear();
        self.joined.clear();
        self.joined.resize(order.threads, 0);
        let first = trace.not_alone(&trace.trailing, |t| t.after);
        let mut trailing = trace.trailing[first..].iter().peekable();
        let steps = trace.steps.iter().map(Some).chain([None]).enumerate();
        for (at, step) in steps.skip(trace.alone()) {
            let before = |after: u32| after == u32::MAX || (after as usize) < at;
            while let Some(access) =
                trailing.next_if(|access| step.is_none() || before(access.after))
            {
                let thread = usize::from(access.thread);
                self.joins(trace, thread, access.joined);
                let access = SharedAccess {
                    object: access.object,
                    thread,
                    tick: access.tick,
                    mask: access.mask,
                    writes: access.write,
                    plain: true,
                    joined: self.joined[thread],
                };
                if self.add(access) {
                    return true;
                }
            }
            let Some(step) = step else {
                break;
            };
            let thread = order.thread(step.process);
            if !order.is_companion(step.process) {
                self.joins(trace, thread, step.joined);
            }
            if step.object == NOWHERE || !matches!(step.access, Access::Read | Access::Write) {
                continue;
            }
            let access = SharedAccess {
                object: step.object,
                thread,
                tick: match order.is_companion(step.process) {
                    true => COMMITTED,
                    false => step.tick,
                },
                mask: step.mask,
                writes: step.access == Access::Write,
                plain: step.plain,
                joined: match order.is_companion(step.process) {
                    true => 0,
                    false => self.joined[thread],
                },
            };
            if self.add(access) {
                return true;
            }
        }
        let races = |a: &SharedAccess, b: &SharedAccess| {
            a.object == b.object
                && a.thread != b.thread
                && a.mask & b.mask != 0
                && (a.writes || b.writes)
                && (a.plain || b.plain)
                && !comes_before(trace, a, b)
                && !comes_before(trace, b, a)
        };
        let accesses = &self.accesses;
        let mut all = accesses.iter().enumerate();
        all.any(|(at, b)| accesses[..at].iter().any(|a| races(a, b)))
    }

    fn joins(&mut self, trace: &Trace, thread: usize, set: u32) {
        if set != 0 {
            for &(other, tick) in trace.sets.joined(set) {
                if tick == u32::MAX && other < 64 {
                    self.joined[thread] |= 1 << other;
                }
            }
        }
    }

    /// Another access; are there too many to look at each?
    fn add(&mut self, access: SharedAccess) -> bool {
        let concerns = self.objects[access.object as usize].close;
        if concerns && !self.accesses.contains(&access) {
            self.accesses.push(access);
        }
        self.accesses.len() > MOST
    }
}

/// Does one come before the other because of who created whom, or who was joined?
fn comes_before(trace: &Trace, first: &SharedAccess, second: &SharedAccess) -> bool {
    // A number may be another thread's after the first has ended.
    let born = |child: usize| {
        let births = trace.births.iter();
        let mut of = births.filter(|birth| usize::from(birth.child) == child);
        let only = of.next();
        only.filter(|_| of.next().is_none())
    };
    let joined = first.thread < 64 && second.joined >> first.thread & 1 != 0;
    if joined && first.tick != COMMITTED && born(first.thread).is_some() {
        return true;
    }
    let mut child = second.thread;
    // Nobody is their own ancestor; more generations are not looked at.
    for _ in 0..trace.births.len() {
        let Some(birth) = born(child) else {
            return false;
        };
        if usize::from(birth.parent) == first.thread {
            return first.tick < birth.tick;
        }
        child = birth.parent.into();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Birth, Step, Trailing};

    fn access(object: u32, process: u16, access: Access, plain: bool) -> Step {
        Step {
            object,
            process,
            access,
            plain,
            mask: 1,
            ..Step::NOTHING
        }
    }

    #[test]
    fn only_plain_accesses_of_several_threads_with_a_write_count() {
        let order = Order {
            threads: 2,
            streams: 0,
            persistency: Default::default(),
        };
        let mut sharing = Sharing::default();
        let mut shares = |steps: &[Step], trailing: &[Trailing]| {
            let mut trace = Trace::default();
            trace.steps.extend_from_slice(steps);
            trace.trailing.extend_from_slice(trailing);
            sharing.of_plain(&trace, order)
        };
        let (read, write) = (Access::Read, Access::Write);
        assert!(shares(
            &[access(0, 0, write, true), access(0, 1, read, false)],
            &[]
        ));
        // A commit of thread 0, whose store buffer is process 2.
        assert!(!shares(
            &[access(0, 2, write, true), access(0, 0, read, true)],
            &[]
        ));
        assert!(!shares(
            &[access(0, 0, write, false), access(0, 1, read, false)],
            &[]
        ));
        assert!(!shares(
            &[access(0, 0, read, true), access(0, 1, read, true)],
            &[]
        ));
        assert!(!shares(
            &[access(0, 0, write, true), access(1, 1, read, true)],
            &[]
        ));
        let trailing = Trailing {
            after: 0,
            thread: 1,
            tick: 1,
            need: [(0, 0); 2],
            joined: 0,
            object: 0,
            mask: 1,
            write: true,
            within: false,
            atomic: false,
            unjudged: false,
            site: 0,
        };
        assert!(shares(&[access(0, 0, read, false)], &[trailing]));
        assert!(!shares(&[access(0, 1, read, false)], &[trailing]));
    }

    fn told(object: u32, thread: u16, tick: u32, joined: u32) -> Trailing {
        Trailing {
            after: 0,
            thread,
            tick,
            need: [(0, 0); 2],
            joined,
            object,
            mask: 1,
            write: true,
            within: false,
            atomic: false,
            unjudged: false,
            site: 0,
        }
    }

    #[test]
    fn what_comes_before_a_thread_or_after_its_end_is_not_shared() {
        let order = Order {
            threads: 3,
            streams: 0,
            persistency: Default::default(),
        };
        let mut trace = Trace::default();
        let ended = trace.sets.come_after(&[(1, u32::MAX)]);
        let birth = |parent, tick, child| Birth {
            parent,
            tick,
            site: 0,
            child,
            what: 0,
            after: 0,
        };
        let mut sharing = Sharing::default();
        let mut shares = |births: &[Birth], trailing: &[Trailing]| {
            trace.births = births.to_vec();
            trace.trailing = trailing.to_vec();
            sharing.of_plain(&trace, order)
        };
        let births = [birth(0, 2, 1), birth(1, 5, 2)];
        // Before it was created, and after.
        assert!(!shares(&births, &[told(0, 0, 1, 0), told(0, 1, 1, 0)]));
        assert!(shares(&births, &[told(0, 0, 2, 0), told(0, 1, 1, 0)]));
        // By whom it created later.
        assert!(!shares(&births, &[told(0, 0, 1, 0), told(0, 2, 9, 0)]));
        assert!(shares(&births, &[told(0, 1, 5, 0), told(0, 2, 9, 0)]));
        // Joined before the one, or between the two; or another one had the number.
        assert!(!shares(&births, &[told(0, 1, 7, 0), told(0, 0, 9, ended)]));
        assert!(shares(&births, &[told(0, 1, 7, 0), told(0, 0, 9, 0)]));
        let later = [told(0, 1, 7, 0), told(1, 0, 9, ended), told(0, 0, 9, 0)];
        assert!(!shares(&births, &later));
        let again = [birth(0, 2, 1), birth(0, 6, 1)];
        assert!(shares(&again, &[told(0, 1, 7, 0), told(0, 0, 9, ended)]));
        // Nobody says who created whom.
        assert!(shares(&[], &[told(0, 0, 1, 0), told(0, 1, 1, 0)]));
        // Other bytes of the line.
        let other = Trailing {
            mask: 2,
            ..told(0, 1, 1, 0)
        };
        assert!(!shares(&births, &[told(0, 0, 3, 0), other]));
    }
}
