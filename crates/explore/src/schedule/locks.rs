//! How locks are misused, and why nobody goes on: pure functions of one execution.

use super::step::{Access, Act, Order, Process, Step, Until};
use super::sync::Op;
use super::trace::{End, Trace, Wait};

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Misuse {
    /// A thread waits for a lock that it holds itself.
    LockedTwice {
        thread: Process,
        lock: u32,
        site: u32,
        held_since: u32,
    },
    /// A lock is released that somebody else holds.
    UnlockedByStranger {
        thread: Process,
        lock: u32,
        site: u32,
        holder: Process,
    },
    /// A lock is released that nobody holds.
    UnlockedUnheld {
        thread: Process,
        lock: u32,
        site: u32,
    },
    /// Two threads say at once that they hold a lock of the program's own making.
    HeldByTwo {
        thread: Process,
        lock: u32,
        site: u32,
        holder: Process,
        held_since: u32,
    },
    /// A lock is destroyed that somebody holds.
    DestroyedHeld {
        thread: Process,
        lock: u32,
        site: u32,
        holder: Process,
    },
    /// A lock, a semaphore or the like is used after it was destroyed, there.
    UsedDestroyed {
        thread: Process,
        lock: u32,
        site: u32,
        destroyed: Option<u32>,
    },
    /// One is destroyed that somebody waits for, or made anew that somebody holds or waits for.
    Disturbed {
        thread: Process,
        lock: u32,
        site: u32,
        destroyed: bool,
    },
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
    for (at, step) in trace.steps.iter().enumerate() {
        let thread = order.thread(step.process);
        if step.gone {
            found.push(used_destroyed(trace, at, thread, step));
        }
        match step.act {
            Act::Sync(op @ (Op::Init | Op::Destroy))
                if step.in_use && holder(&held, thread, step.object).is_none() =>
            {
                found.push(Misuse::Disturbed {
                    thread: thread as Process,
                    lock: step.object,
                    site: step.site,
                    destroyed: op == Op::Destroy,
                });
            }
            Act::Sync(Op::Init) if step.in_use => {
                held.retain(|&(_, lock, _)| lock != step.object);
                found.push(Misuse::Disturbed {
                    thread: thread as Process,
                    lock: step.object,
                    site: step.site,
                    destroyed: false,
                });
            }
            Act::Sync(Op::Section) => takes(&held, thread, step, &mut found),
            Act::Sync(op) if op.locks() && step.access == Access::Write => {
                // Who only tries cannot wait in a ring.
                if step.until != Until::Now {
                    takes(&held, thread, step, &mut found);
                }
                held.push((thread, step.object, step.site));
            }
            Act::Sync(Op::Hold) if step.access == Access::Write => {
                let other =
                    |&&(by, lock, _): &&(usize, u32, u32)| lock == step.object && by != thread;
                if let Some(&(holder, _, held_since)) = held.iter().find(other) {
                    found.push(Misuse::HeldByTwo {
                        thread: thread as Process,
                        lock: step.object,
                        site: step.site,
                        holder: holder as Process,
                        held_since,
                    });
                }
                takes(&held, thread, step, &mut found);
                held.push((thread, step.object, step.site));
            }
            Act::Sync(Op::LetGo) if step.access != Access::Write => {}
            Act::Sync(Op::Unlock | Op::UnlockShared | Op::LetGo) => {
                match holder(&held, thread, step.object) {
                    None => found.push(Misuse::UnlockedUnheld {
                        thread: thread as Process,
                        lock: step.object,
                        site: step.site,
                    }),
                    Some(at) => {
                        let (holder, ..) = held.remove(at);
                        if holder != thread {
                            found.push(Misuse::UnlockedByStranger {
                                thread: thread as Process,
                                lock: step.object,
                                site: step.site,
                                holder: holder as Process,
                            });
                        }
                    }
                }
            }
            Act::Sync(Op::Destroy) => {
                if let Some(at) = holder(&held, thread, step.object) {
                    let (holder, ..) = held.remove(at);
                    found.push(Misuse::DestroyedHeld {
                        thread: thread as Process,
                        lock: step.object,
                        site: step.site,
                        holder: holder as Process,
                    });
                }
            }
            _ => {}
        }
    }
    for wait in &trace.blocked {
        if let Wait::Step(step) = wait
            && matches!(step.act, Act::Sync(op) if op.locks())
        {
            let thread = order.thread(step.process);
            takes(&held, thread, step, &mut found);
            let own = held
                .iter()
                .find(|&&(by, lock, _)| by == thread && lock == step.object);
            if let Some(&(.., held_since)) = own {
                found.push(Misuse::LockedTwice {
                    thread: thread as Process,
                    lock: step.object,
                    site: step.site,
                    held_since,
                });
            }
        }
    }
    found
}

fn used_destroyed(trace: &Trace, at: usize, thread: usize, step: &Step) -> Misuse {
    let destroys =
        |other: &&Step| other.object == step.object && matches!(other.act, Act::Sync(Op::Destroy));
    Misuse::UsedDestroyed {
        thread: thread as Process,
        lock: step.object,
        site: step.site,
        destroyed: trace.steps[..at]
            .iter()
            .rev()
            .find(destroys)
            .map(|step| step.site),
    }
}

/// Who holds a lock: preferably the thread itself.
fn holder(held: &[(usize, u32, u32)], thread: usize, lock: u32) -> Option<usize> {
    let own = |&(by, of, _): &(usize, u32, u32)| of == lock && by == thread;
    held.iter()
        .position(own)
        .or_else(|| held.iter().position(|&(_, of, _)| of == lock))
}

/// What one thread waits for, and who could help.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A lock, or something that `holder` does once: taken at `since`.
    Lock {
        lock: u32,
        holder: Option<Process>,
        since: Option<u32>,
    },
    /// Somebody to give to a semaphore; `last` touched it last.
    Semaphore {
        semaphore: u32,
        last: Option<Process>,
    },
    /// A signal; `last` is who signalled last, to somebody or nobody.
    Signal {
        condition: u32,
        last: Option<Process>,
    },
    /// Others to arrive at a barrier.
    Others { barrier: u32 },
    /// A change of what it reads in a loop; `last` wrote it last.
    Change {
        object: u32,
        mask: u64,
        /// All that it reads in the loop: an index into [`super::Sets::watched`], 0 if that is not known.
        more: u32,
        last: Option<Process>,
    },
    /// The end of another thread.
    End { of: Process },
    /// Its own store buffer or something nobody will do.
    Nothing,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StuckThread {
    pub waits: Vec<(Process, u32, Reason)>,
    /// Threads that wait for each other in a ring, each for the next; empty if there is no ring.
    pub ring: Vec<Process>,
    /// Somebody spins: a livelock rather than a deadlock.
    pub spinning: bool,
}

impl StuckThread {
    /// Who waits in a loop.
    pub fn spinning(&self) -> impl Iterator<Item = Process> {
        let spins = |reason: &Reason| matches!(reason, Reason::Change { .. });
        let waits = self.waits.iter();
        waits
            .filter(move |(.., reason)| spins(reason))
            .map(|&(thread, ..)| thread)
    }
}

/// Why an execution could not go on; `None` if it could.
pub fn explain(trace: &Trace, order: Order) -> Option<StuckThread> {
    if trace.end != End::Deadlock {
        return None;
    }
    let last_write = |object: u32| {
        let writes = trace.steps.iter().rev();
        writes
            .clone()
            .find(|step| step.object == object && step.access == Access::Write)
    };
    let mut stuck = StuckThread {
        waits: Vec::new(),
        ring: Vec::new(),
        spinning: false,
    };
    for wait in &trace.blocked {
        let (thread, site, reason) = match *wait {
            Wait::Join { thread, of, site } if thread == of => (thread, site, Reason::Nothing),
            Wait::Join { thread, of, site } => (thread, site, Reason::End { of }),
            Wait::Barrier {
                thread,
                object,
                site,
            } => (thread, site, Reason::Others { barrier: object }),
            Wait::Step(step) => {
                let last = last_write(step.object);
                let by = last.map(|step| order.thread(step.process) as Process);
                let reason = match (step.act, step.until) {
                    (Act::Sync(op), Until::Clear(_)) => {
                        let taken = taken(trace, order, step.object, op);
                        Reason::Lock {
                            lock: step.object,
                            holder: taken.map(|step| order.thread(step.process) as Process),
                            since: taken.map(|step| step.site),
                        }
                    }
                    (Act::Sync(Op::Take), _) => Reason::Semaphore {
                        semaphore: step.object,
                        last: by,
                    },
                    (Act::Sync(Op::Wake | Op::WakeToLook), _) => Reason::Signal {
                        condition: step.object,
                        last: last_signal(trace, step.object)
                            .map(|step| order.thread(step.process) as Process),
                    },
                    (_, Until::Changed) => {
                        stuck.spinning = true;
                        Reason::Change {
                            object: step.object,
                            mask: step.mask,
                            more: step.more,
                            last: by,
                        }
                    }
                    _ => Reason::Nothing,
                };
                (order.thread(step.process) as Process, step.site, reason)
            }
        };
        stuck.waits.push((thread, site, reason));
    }
    stuck.ring = ring(&stuck.waits);
    Some(stuck)
}

/// The transition that took what somebody waits for, and was not followed by its release.
fn taken(trace: &Trace, order: Order, object: u32, op: Op) -> Option<&Step> {
    let on = |step: &&Step| step.object == object && step.access == Access::Write;
    if op == Op::Once {
        return trace.steps.iter().rfind(on);
    }
    let mut held: Vec<&Step> = Vec::new();
    for step in trace.steps.iter().filter(on) {
        match step.act {
            Act::Sync(op) if op.locks() => held.push(step),
            Act::Sync(Op::Unlock | Op::UnlockShared) => {
                let thread = |step: &Step| order.thread(step.process);
                let own = held.iter().position(|by| thread(by) == thread(step));
                if own.is_some() || !held.is_empty() {
                    held.remove(own.unwrap_or(0));
                }
            }
            _ => held.clear(),
        }
    }
    held.last().copied()
}

fn last_signal(trace: &Trace, condition: u32) -> Option<&Step> {
    trace.steps.iter().rfind(|step| {
        step.object == condition && matches!(step.act, Act::Sync(Op::Signal | Op::Broadcast))
    })
}

fn ring(waits: &[(Process, u32, Reason)]) -> Vec<Process> {
    let next = |thread: Process| {
        waits
            .iter()
            .find(|(waiter, ..)| *waiter == thread)
            .and_then(|(.., reason)| match *reason {
                Reason::Lock { holder, .. } => holder,
                Reason::End { of } => Some(of),
                _ => None,
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
