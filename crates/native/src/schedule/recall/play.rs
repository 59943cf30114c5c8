//! An execution is put together: who goes on is decided as the runtime decides it (`runtime/threads/steps`).

use super::known::{Deed, Ended, Known, NONE, drains};
use super::memory::SteppedMemory;
use crate::job::{Job, Sleeper};
use landfall_vocab::record::{COMPANIONS, RecordKind, access, head_of, step};
use landfall_vocab::shared::{ANYBODY, FEW_THREADS, MOST_CHOICES, MOST_SLEEPERS};
use landfall_vocab::window::LINE;

/// In a step's record: it was chosen.
const CHOSEN: u64 = 8;

#[derive(Clone, Debug, Default)]
pub(super) struct Player {
    trace: Vec<u8>,
    spare: Vec<Vec<u8>>,
    /// Per thread: the place it stands at, and the way on which it ended.
    at: [u32; FEW_THREADS],
    ended: [Option<Ended>; FEW_THREADS],
    /// Threads, a bit each: those that have not ended; whose next step is no choice; that may have to wait for their stores; that
    /// have ended.
    ready: u64,
    eager: u64,
    draining: u64,
    done: u64,
    joining: u64,
    /// Have stored where nobody is told.
    leaves_behind: u64,
    /// Created and not joined.
    beside: u64,
    asleep: u64,
    steps: usize,
    /// Somebody has ended the process, with this code; and nobody goes on.
    code: Option<i32>,
    ends: bool,
}

/// Who goes on, and whether that was a choice, with what else could have been chosen.
enum Next {
    Thread(usize, Option<u64>),
    Buffer(usize, u64),
}

impl Player {
    pub(super) fn spare(&mut self, trace: Vec<u8>) {
        if self.spare.len() < 16 {
            self.spare.push(trace);
        }
    }

    /// The trace of an execution, and the code it ends with.
    pub(super) fn play(&mut self, known: &mut Known, job: &Job) -> Option<(Vec<u8>, i32)> {
        if known.places.is_empty() {
            return None;
        }
        let mut memory = std::mem::take(&mut known.memory);
        memory.begin(FEW_THREADS);
        let ended = self.run(known, &mut memory, job);
        known.memory = memory;
        ended?;
        let fresh = self.spare.pop().unwrap_or_default();
        Some((std::mem::replace(&mut self.trace, fresh), self.code?))
    }

    fn run(&mut self, known: &mut Known, memory: &mut SteppedMemory, job: &Job) -> Option<()> {
        self.trace.clear();
        (self.ready, self.eager, self.draining, self.done) = (0, 0, 0, 0);
        (self.joining, self.beside, self.leaves_behind) = (0, 0, 0);
        self.steps = 0;
        (self.code, self.ends) = (None, false);
        let sleepers = &job.threads.sleepers;
        let sleepers = &sleepers[..sleepers.len().min(MOST_SLEEPERS)];
        self.asleep = sleepers.iter().fold(0, |all, one| {
            all | 1u64.checked_shl(one.process).unwrap_or(0)
        });
        let choices = job.schedule.as_deref().unwrap_or_default();
        let choices = &choices[..choices.len().min(MOST_CHOICES as usize)];
        self.at[0] = 0;
        self.go_on(known, memory, job, 0, None)?;
        let mut current = 0;
        while !self.ends {
            match self.choose(known, memory, job, choices, current)? {
                Next::Thread(thread, enabled) => {
                    self.go_on(known, memory, job, thread, enabled)?;
                    current = thread;
                }
                Next::Buffer(thread, enabled) => self.commit(memory, job, thread, enabled)?,
            }
        }
        Some(())
    }

    fn choose(
        &self,
        known: &Known,
        memory: &SteppedMemory,
        job: &Job,
        choices: &[u16],
        current: usize,
    ) -> Option<Next> {
        // Whose step would be to wait for their own stores cannot go on while there are some.
        let held = self.draining & memory.waiting;
        let mut eager = self.eager & !held;
        if eager >> current & 1 != 0 && self.may_go_on(known, current) {
            return Some(Next::Thread(current, None));
        }
        while eager != 0 {
            let thread = eager.trailing_zeros() as usize;
            if self.may_go_on(known, thread) {
                return Some(Next::Thread(thread, None));
            }
            eager &= eager - 1;
        }
        let enabled = self.ready & !self.eager & !held | memory.waiting << FEW_THREADS;
        if enabled == 0 || self.steps as u64 >= job.threads.most_steps.unwrap_or(u64::MAX) {
            return None;
        }
        let told = choices.get(self.steps).filter(|&&told| told != ANYBODY);
        let process = match told {
            Some(&told) => usize::from(told),
            None => pick(enabled & !self.asleep, current)?,
        };
        if process >= 64 || enabled >> process & 1 == 0 {
            return None;
        }
        Some(match process.checked_sub(FEW_THREADS) {
            None => Next::Thread(process, Some(enabled)),
            Some(thread) => Next::Buffer(thread, enabled),
        })
    }

    /// Has the thread that it joins ended?
    fn may_go_on(&self, known: &Known, thread: usize) -> bool {
        self.joining >> thread & 1 == 0 || {
            let of = known.places[self.at[thread] as usize].record[2];
            of < 64 && self.done >> of & 1 != 0
        }
    }

    /// A thread takes the step that it stands before, and goes on to the next one.
    fn go_on(
        &mut self,
        known: &mut Known,
        memory: &mut SteppedMemory,
        job: &Job,
        thread: usize,
        enabled: Option<u64>,
    ) -> Option<()> {
        let here = self.at[thread];
        let place = known.places[here as usize];
        if here != 0 {
            let [head, origin, object] = place.record;
            self.write([head, origin, object, enabled.unwrap_or(0)]);
        }
        self.steps += usize::from(enabled.is_some());
        let mut replaced = 0;
        let found = match (place.kind, place.span) {
            (step::READ, Some(span)) => memory.reads(thread, span)?,
            (step::UPDATE, Some(span)) => memory.holds(span)?,
            (step::WRITE, Some(span)) => {
                replaced = memory.holds(span)?;
                0
            }
            (step::JOIN, _) => {
                let of = place.record[2] as usize;
                self.beside &= !(1 << of);
                let ended = (*self.ended.get(of)?)?;
                std::mem::swap(&mut known.memory, memory);
                let found = known.joined(ended, self.beside == 0);
                std::mem::swap(&mut known.memory, memory);
                found?
            }
            _ => 0,
        };
        let number = known.way(here, found)?;
        let way = known.ways[number as usize];
        self.leaves_behind |= u64::from(way.leaves_behind) << thread;
        let begin = self.trace.len();
        let bytes = way.bytes.0 as usize..way.bytes.1 as usize;
        self.trace.extend_from_slice(&known.bytes[bytes]);
        if way.replaced != NONE {
            let at = begin + way.replaced as usize;
            self.trace[at..at + 8].copy_from_slice(&replaced.to_le_bytes());
        }
        let mut leaves = None;
        for number in way.deeds.0..way.deeds.1 {
            match known.deeds[number as usize] {
                Deed::Touches {
                    address,
                    length,
                    writes,
                } => self.wake(job, address, length, writes),
                Deed::Stores { span, value } => memory.store(span, value),
                Deed::Buffers(store) => memory.push(thread, store),
                Deed::Creates { thread, begins } => {
                    self.beside |= 1 << thread;
                    self.stand_at(known, thread.into(), begins)?;
                }
                Deed::Leaves { code } => leaves = Some(code),
            }
        }
        if leaves.is_some() || place.kind == step::EXIT {
            self.ended[thread] = Some(Ended {
                way: number,
                result: place.record[2],
                leaves_behind: self.leaves_behind >> thread & 1 != 0,
            });
            return self.depart(memory, thread, leaves);
        }
        self.stand_at(known, thread, way.to)
    }

    /// A thread announces its next step.
    fn stand_at(&mut self, known: &Known, thread: usize, place: u32) -> Option<()> {
        let next = known.places.get(place as usize)?;
        self.at[thread] = place;
        let bit = 1 << thread;
        self.ready |= bit;
        let put = |set: &mut u64, whether: bool| match whether {
            true => *set |= bit,
            false => *set &= !bit,
        };
        put(&mut self.eager, !next.chosen);
        put(&mut self.draining, drains(next.kind));
        put(&mut self.joining, next.kind == step::JOIN);
        Some(())
    }

    fn depart(&mut self, memory: &SteppedMemory, thread: usize, leaves: Option<i32>) -> Option<()> {
        let bit = 1 << thread;
        self.ready &= !bit;
        self.eager &= !bit;
        match leaves {
            Some(code) if self.code.replace(code).is_some() => return None,
            Some(_) => {}
            None => self.done |= bit,
        }
        self.ends = self.ready == 0 && memory.waiting == 0;
        // Whoever is last otherwise ends the process.
        (!self.ends || self.code.is_some()).then_some(())
    }

    /// The oldest store of a thread reaches memory.
    fn commit(
        &mut self,
        memory: &mut SteppedMemory,
        job: &Job,
        thread: usize,
        enabled: u64,
    ) -> Option<()> {
        let store = memory.leaves(thread)?;
        let found = memory.holds(store.span)?;
        memory.store(store.span, store.value);
        self.steps += 1;
        let process = COMPANIONS + thread as u16;
        let chosen = head_of(RecordKind::Step, process, step::COMMIT, CHOSEN);
        self.write([chosen, store.origin, 0, enabled]);
        let stores = head_of(RecordKind::Access, thread as u16, access::WRITE, 0);
        let (object, value) = (store.object, store.value);
        self.write([stores, store.origin, object, found, value, 0]);
        self.wake(job, object & ((1 << 56) - 1), object >> 56, true);
        self.ends = self.ready == 0 && memory.waiting == 0;
        Some(())
    }

    /// The step that was taken last touches these bytes.
    fn wake(&mut self, job: &Job, address: u64, length: u64, writes: bool) {
        if self.asleep == 0 || self.steps <= job.threads.keep {
            return;
        }
        let at = address % LINE;
        let (line, mask) = (address - at, u64::MAX >> (64 - length.clamp(1, 64)) << at);
        let concerns = |sleeper: &&Sleeper| {
            sleeper.place == line && sleeper.mask & mask != 0 && (writes || sleeper.writes != 0)
        };
        let sleepers = job.threads.sleepers.iter().take(MOST_SLEEPERS);
        for sleeper in sleepers.filter(concerns) {
            self.asleep &= !1u64.checked_shl(sleeper.process).unwrap_or(0);
        }
    }

    fn write<const N: usize>(&mut self, words: [u64; N]) {
        self.trace
            .extend_from_slice(words.map(u64::to_le_bytes).as_flattened());
    }
}

/// Store buffers are emptied, the running thread's first; then it goes on while it can.
fn pick(awake: u64, current: usize) -> Option<usize> {
    let commits = awake >> FEW_THREADS;
    let lowest = |set: u64| (set != 0).then(|| set.trailing_zeros() as usize);
    match (lowest(commits), lowest(awake)) {
        (_, _) if commits >> current & 1 != 0 => Some(FEW_THREADS + current),
        (Some(thread), _) => Some(FEW_THREADS + thread),
        (None, _) if awake >> current & 1 != 0 => Some(current),
        (None, lowest) => lowest,
    }
}
