//! How locks are misused, and why nobody goes on: pure functions of one execution.

use super::step::{Act, Order, Step, Until};
use super::trace::{End, Trace, Wait};

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Misuse {
    /// A thread waits for a lock that it holds itself.
    LockedTwice {
        thread: u8,
        lock: u32,
        site: u32,
        held_since: u32,
    },
    /// A lock is released that somebody else holds.
    UnlockedByStranger {
        thread: u8,
        lock: u32,
        site: u32,
        holder: u8,
    },
    /// A lock is released that nobody holds.
    UnlockedUnheld { thread: u8, lock: u32, site: u32 },
    /// Two locks are taken in one order here and in the other there: `outer` is held when `inner` is taken.
    Inversion {
        outer: u32,
        inner: u32,
        site: u32,
        other_site: u32,
    },
}

/// Misuses in an execution, in the order they happen. A lock holds its holder's number plus one, or 0.
pub fn misuses(trace: &Trace, order: Order) -> Vec<Misuse> {
    let mut found = Vec::new();
    let mut held: Vec<(usize, u32, u32)> = Vec::new();
    // Outer, inner, by whom, where the inner one was taken.
    let mut nested: Vec<(u32, u32, usize, u32)> = Vec::new();
    let mut takes =
        |held: &[(usize, u32, u32)], thread: usize, step: &Step, found: &mut Vec<Misuse>| {
            for &(_, outer, _) in held.iter().filter(|(by, _, _)| *by == thread) {
                let inverted = nested
                    .iter()
                    .find(|&&(o, i, by, _)| (o, i) == (step.object, outer) && by != thread);
                if let Some(&(.., other_site)) = inverted {
                    found.push(Misuse::Inversion {
                        outer,
                        inner: step.object,
                        site: step.site,
                        other_site,
                    });
                }
                nested.push((outer, step.object, thread, step.site));
            }
        };
    for step in &trace.steps {
        let thread = order.thread(step.process);
        match step.act {
            Act::Lock => {
                takes(&held, thread, step, &mut found);
                held.push((thread, step.object, step.site));
            }
            Act::Unlock => match held.iter().position(|&(_, lock, _)| lock == step.object) {
                None => found.push(Misuse::UnlockedUnheld {
                    thread: thread as u8,
                    lock: step.object,
                    site: step.site,
                }),
                Some(at) => {
                    let (holder, ..) = held.remove(at);
                    if holder != thread {
                        found.push(Misuse::UnlockedByStranger {
                            thread: thread as u8,
                            lock: step.object,
                            site: step.site,
                            holder: holder as u8,
                        });
                    }
                }
            },
            _ => {}
        }
    }
    for wait in &trace.blocked {
        if let Wait::Step(step) = wait
            && step.act == Act::Lock
        {
            let thread = order.thread(step.process);
            takes(&held, thread, step, &mut found);
            let own = held
                .iter()
                .find(|&&(by, lock, _)| by == thread && lock == step.object);
            if let Some(&(.., held_since)) = own {
                found.push(Misuse::LockedTwice {
                    thread: thread as u8,
                    lock: step.object,
                    site: step.site,
                    held_since,
                });
            }
        }
    }
    found
}

/// What one thread waits for, and who could help.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A lock, taken by `holder` at `since`.
    Lock {
        lock: u32,
        holder: Option<u8>,
        since: Option<u32>,
    },
    /// A change of what it reads in a loop; `last` wrote it last.
    Change { object: u32, last: Option<u8> },
    /// The end of another thread.
    End { of: u8 },
    /// Its own store buffer or something nobody will do.
    Nothing,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stuck {
    pub waits: Vec<(u8, u32, Reason)>,
    /// Threads that wait for each other in a ring, each for the next; empty if there is no ring.
    pub ring: Vec<u8>,
    /// Somebody spins: a livelock rather than a deadlock.
    pub spinning: bool,
}

/// Why an execution could not go on; `None` if it could.
pub fn explain(trace: &Trace, order: Order) -> Option<Stuck> {
    if trace.end != End::Deadlock {
        return None;
    }
    let last_write = |object: u32| {
        let writes = trace.steps.iter().rev();
        writes
            .clone()
            .find(|step| step.object == object && step.access == super::step::Access::Write)
    };
    let mut stuck = Stuck {
        waits: Vec::new(),
        ring: Vec::new(),
        spinning: false,
    };
    for wait in &trace.blocked {
        let (thread, site, reason) = match *wait {
            Wait::Join { thread, of, site } if thread == of => (thread, site, Reason::Nothing),
            Wait::Join { thread, of, site } => (thread, site, Reason::End { of }),
            Wait::Step(step) => {
                let last = last_write(step.object);
                let by = last.map(|step| order.thread(step.process) as u8);
                let reason = match (step.act, step.until) {
                    (Act::Lock, _) => Reason::Lock {
                        lock: step.object,
                        holder: by,
                        since: last.map(|step| step.site),
                    },
                    (_, Until::Changed) => {
                        stuck.spinning = true;
                        Reason::Change {
                            object: step.object,
                            last: by,
                        }
                    }
                    _ => Reason::Nothing,
                };
                (order.thread(step.process) as u8, step.site, reason)
            }
        };
        stuck.waits.push((thread, site, reason));
    }
    stuck.ring = ring(&stuck.waits);
    Some(stuck)
}

fn ring(waits: &[(u8, u32, Reason)]) -> Vec<u8> {
    let next = |thread: u8| {
        waits
            .iter()
            .find(|(waiter, ..)| *waiter == thread)
            .and_then(|(.., reason)| match *reason {
                Reason::Lock { holder, .. } => holder,
                Reason::End { of } => Some(of),
                Reason::Change { .. } | Reason::Nothing => None,
            })
    };
    for &(start, ..) in waits {
        let mut path = vec![start];
        let mut at = start;
        while let Some(following) = next(at) {
            if following == start {
                return path;
            }
            if path.contains(&following) {
                break;
            }
            path.push(following);
            at = following;
        }
    }
    Vec::new()
}
