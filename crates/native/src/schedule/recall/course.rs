//! Who stands where in an execution that is put together, and who goes on: decided as the runtime decides it
//! (`runtime/threads/steps`).

use super::holders::LockHolders;
use super::known::{Deed, Ended, Known, Place, drains};
use super::memory::{LineBytes, SteppedMemory, Waiting};
use landfall_vocab::record::step;
use landfall_vocab::shared::FEW_THREADS;

/// How an execution stands, but for where threads are and what memory holds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StandingWay {
    /// Threads, a bit each: those that have not ended; whose next step is no choice; that may have to wait for their stores; that
    /// have ended.
    ready: u64,
    eager: u64,
    draining: u64,
    done: u64,
    joining: u64,
    /// Want to take a lock.
    locking: u64,
    /// Have stored where nobody is told.
    leaves_behind: u64,
    /// Created and not joined.
    beside: u64,
    /// Choices so far.
    pub(super) steps: usize,
    /// Who went last.
    pub(super) current: usize,
    /// Somebody has ended the process, with this code; and nobody goes on.
    pub(super) code: Option<i32>,
    pub(super) ends: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    /// Per thread: the place it stands at, and the way on which it ended.
    at: [u32; FEW_THREADS],
    ended: [Option<Ended>; FEW_THREADS],
    holders: LockHolders,
    pub(super) now: StandingWay,
    /// What it takes to go back, if anybody will.
    changes: Option<Vec<CourseChange>>,
}

/// What was there before something changed.
#[derive(Clone, Copy, Debug)]
enum CourseChange {
    Stood { thread: u8, place: u32 },
    Ended { thread: u8, before: Option<Ended> },
    Held { line: u32, before: LineBytes },
    Entered { thread: u8 },
    Left { thread: u8, store: Waiting },
    Locked { lock: u32, before: u8 },
}

/// A moment to go back to.
#[derive(Clone, Copy, Debug)]
pub(super) struct CourseMoment {
    standing: StandingWay,
    changes: usize,
}

/// A thread has taken the step it stood before.
pub(super) struct Passed {
    pub(super) place: Place,
    pub(super) way: u32,
    /// What its store replaced.
    pub(super) replaced: u64,
}

impl Course {
    /// One that can be gone back on.
    pub(super) fn to_go_back_on() -> Course {
        Course {
            changes: Some(Vec::new()),
            ..Course::default()
        }
    }

    /// An execution begins; main is yet to take its first way.
    pub(super) fn begin(&mut self) {
        self.now = StandingWay::default();
        self.holders.begin();
        self.at[0] = 0;
        if let Some(changes) = &mut self.changes {
            changes.clear();
        }
    }

    fn note(&mut self, change: impl FnOnce(&Course) -> CourseChange) {
        if let Some(mut changes) = self.changes.take() {
            changes.push(change(self));
            self.changes = Some(changes);
        }
    }

    pub(super) fn moment(&self) -> CourseMoment {
        CourseMoment {
            standing: self.now,
            changes: self.changes.as_ref().map_or(0, Vec::len),
        }
    }

    pub(super) fn go_back(&mut self, to: &CourseMoment, memory: &mut SteppedMemory) {
        let mut changes = self.changes.take().unwrap_or_default();
        for change in changes.drain(to.changes..).rev() {
            match change {
                CourseChange::Stood { thread, place } => self.at[usize::from(thread)] = place,
                CourseChange::Ended { thread, before } => self.ended[usize::from(thread)] = before,
                CourseChange::Held { line, before } => memory.put_line(line, before),
                CourseChange::Entered { thread } => memory.take_newest(thread.into()),
                CourseChange::Left { thread, store } => memory.put_oldest(thread.into(), store),
                CourseChange::Locked { lock, before } => self.holders.set(lock, before),
            }
        }
        self.changes = Some(changes);
        self.now = to.standing;
    }

    /// Who goes on without a choice.
    pub(super) fn hurries(&self, known: &Known, memory: &SteppedMemory) -> Option<usize> {
        let mut eager = self.now.eager & !self.held(memory);
        let current = self.now.current;
        if eager >> current & 1 != 0 && self.may_go_on(known, current) {
            return Some(current);
        }
        while eager != 0 {
            let thread = eager.trailing_zeros() as usize;
            if self.may_go_on(known, thread) {
                return Some(thread);
            }
            eager &= eager - 1;
        }
        None
    }

    /// Whose step would be to wait for their own stores cannot go on while there are some.
    fn held(&self, memory: &SteppedMemory) -> u64 {
        self.now.draining & memory.waiting
    }

    /// Who can be chosen, as the runtime numbers them.
    pub(super) fn enabled(&self, known: &Known, memory: &SteppedMemory) -> u64 {
        let stay = self.now.eager | self.held(memory) | self.locked_out(known);
        self.now.ready & !stay | memory.waiting << FEW_THREADS
    }

    /// Those who want a lock that somebody has.
    fn locked_out(&self, known: &Known) -> u64 {
        let (mut wants, mut out) = (self.now.locking, 0);
        while wants != 0 {
            let thread = wants.trailing_zeros() as usize;
            wants &= wants - 1;
            let lock = known.places[self.at[thread] as usize].lock;
            out |= u64::from(self.holders.of(lock) != 0) << thread;
        }
        out
    }

    /// Has the thread that it joins ended?
    fn may_go_on(&self, known: &Known, thread: usize) -> bool {
        self.now.joining >> thread & 1 == 0 || {
            let of = known.places[self.at[thread] as usize].record[2];
            of < 64 && self.now.done >> of & 1 != 0
        }
    }

    /// A thread takes the step that it stands before, and goes on to the next one.
    pub(super) fn pass(
        &mut self,
        known: &mut Known,
        memory: &mut SteppedMemory,
        thread: usize,
        chosen: bool,
    ) -> Option<Passed> {
        let here = self.at[thread];
        let place = known.places[here as usize];
        self.now.steps += usize::from(chosen);
        self.now.current = thread;
        let mut replaced = 0;
        let found = match (place.kind, place.span) {
            (step::READ, Some(span)) => memory.reads(thread, span)?,
            (step::UPDATE, Some(span)) => memory.holds(span)?,
            (step::WRITE, Some(span)) => {
                replaced = memory.holds(span)?;
                0
            }
            (step::TRY_LOCK, _) => self.holders.of(place.lock).into(),
            (step::JOIN, _) => {
                let of = place.record[2] as usize;
                self.now.beside &= !(1 << of);
                let ended = (*self.ended.get(of)?)?;
                std::mem::swap(&mut known.memory, memory);
                let found = known.joined(ended, self.now.beside == 0);
                std::mem::swap(&mut known.memory, memory);
                found?
            }
            _ => 0,
        };
        let number = known.way(here, found, |span| memory.reads(thread, span))?;
        let way = known.ways[number as usize];
        self.now.leaves_behind |= u64::from(way.leaves_behind) << thread;
        let mut leaves = None;
        for number in way.deeds.0..way.deeds.1 {
            match known.deeds[number as usize] {
                Deed::Touches { .. } => {}
                Deed::Stores { span, value } => {
                    self.note(|_| CourseChange::Held {
                        line: span.line,
                        before: memory.line_of(span),
                    });
                    memory.store(span, value);
                }
                Deed::Buffers(store) => {
                    self.note(|_| CourseChange::Entered {
                        thread: thread as u8,
                    });
                    memory.push(
                        thread,
                        Waiting {
                            deed: number,
                            ..store
                        },
                    );
                }
                Deed::Creates { thread, begins } => {
                    self.now.beside |= 1 << thread;
                    self.stand_at(known, thread.into(), begins)?;
                }
                Deed::Holds { lock, hold, .. } => {
                    let left = self.holders.changes(thread, lock, hold)?;
                    self.note(|course| CourseChange::Locked {
                        lock,
                        before: course.holders.of(lock),
                    });
                    self.holders.set(lock, left);
                }
                Deed::Leaves { code } => leaves = Some(code),
            }
        }
        if leaves.is_some() || place.kind == step::EXIT {
            self.note(|course| CourseChange::Ended {
                thread: thread as u8,
                before: course.ended[thread],
            });
            self.ended[thread] = Some(Ended {
                way: number,
                result: place.record[2],
                leaves_behind: self.now.leaves_behind >> thread & 1 != 0,
            });
            self.depart(memory, thread, leaves)?;
        } else {
            self.stand_at(known, thread, way.to)?;
        }
        Some(Passed {
            place,
            way: number,
            replaced,
        })
    }

    /// A thread announces its next step.
    fn stand_at(&mut self, known: &Known, thread: usize, place: u32) -> Option<()> {
        let next = known.places.get(place as usize)?;
        self.note(|course| CourseChange::Stood {
            thread: thread as u8,
            place: course.at[thread],
        });
        self.at[thread] = place;
        let bit = 1 << thread;
        let now = &mut self.now;
        now.ready |= bit;
        let put = |set: &mut u64, whether: bool| match whether {
            true => *set |= bit,
            false => *set &= !bit,
        };
        put(&mut now.eager, !next.chosen);
        put(&mut now.draining, drains(next.kind));
        put(&mut now.joining, next.kind == step::JOIN);
        put(&mut now.locking, next.kind == step::LOCK);
        Some(())
    }

    fn depart(&mut self, memory: &SteppedMemory, thread: usize, leaves: Option<i32>) -> Option<()> {
        let bit = 1 << thread;
        let now = &mut self.now;
        now.ready &= !bit;
        now.eager &= !bit;
        now.locking &= !bit;
        match leaves {
            Some(code) if now.code.replace(code).is_some() => return None,
            Some(_) => {}
            None => now.done |= bit,
        }
        now.ends = now.ready == 0 && memory.waiting == 0;
        // Whoever is last otherwise ends the process.
        (!now.ends || now.code.is_some()).then_some(())
    }

    /// The oldest store of a thread reaches memory; what was there.
    pub(super) fn commit(
        &mut self,
        memory: &mut SteppedMemory,
        thread: usize,
    ) -> Option<(Waiting, u64)> {
        let store = memory.leaves(thread)?;
        self.note(|_| CourseChange::Left {
            thread: thread as u8,
            store,
        });
        let found = memory.holds(store.span)?;
        self.note(|_| CourseChange::Held {
            line: store.span.line,
            before: memory.line_of(store.span),
        });
        memory.store(store.span, store.value);
        self.now.steps += 1;
        self.now.ends = self.now.ready == 0 && memory.waiting == 0;
        Some((store, found))
    }
}

/// Store buffers are emptied, the running thread's first; then it goes on while it can.
pub(super) fn pick(awake: u64, current: usize) -> Option<usize> {
    let commits = awake >> FEW_THREADS;
    let lowest = |set: u64| (set != 0).then(|| set.trailing_zeros() as usize);
    match (lowest(commits), lowest(awake)) {
        (_, _) if commits >> current & 1 != 0 => Some(FEW_THREADS + current),
        (Some(thread), _) => Some(FEW_THREADS + thread),
        (None, _) if awake >> current & 1 != 0 => Some(current),
        (None, lowest) => lowest,
    }
}
