//! An execution is put together as the trace that its run would have written.

use super::course::{Course, pick};
use super::holders::Hold;
use super::known::{Deed, Known, NONE};
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
    course: Course,
    asleep: u64,
}

/// The line of these bytes, and which of it they are.
fn bytes_of(address: u64, length: u64) -> (u64, u64) {
    let at = address % LINE;
    (address - at, u64::MAX >> (64 - length.clamp(1, 64)) << at)
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
        let code = self.course.now.code?;
        Some((std::mem::replace(&mut self.trace, fresh), code))
    }

    fn run(&mut self, known: &mut Known, memory: &mut SteppedMemory, job: &Job) -> Option<()> {
        self.trace.clear();
        self.course.begin();
        let sleepers = &job.threads.sleepers;
        let sleepers = &sleepers[..sleepers.len().min(MOST_SLEEPERS)];
        self.asleep = sleepers.iter().fold(0, |all, one| {
            all | 1u64.checked_shl(one.process).unwrap_or(0)
        });
        let choices = job.schedule.as_deref().unwrap_or_default();
        let choices = &choices[..choices.len().min(MOST_CHOICES as usize)];
        self.go_on(known, memory, job, 0, None)?;
        while !self.course.now.ends {
            if let Some(thread) = self.course.hurries(known, memory) {
                self.go_on(known, memory, job, thread, None)?;
                continue;
            }
            let enabled = self.course.enabled(known, memory);
            let process = self.choose(job, choices, enabled)?;
            match process.checked_sub(FEW_THREADS) {
                None => self.go_on(known, memory, job, process, Some(enabled))?,
                Some(thread) => self.commit(memory, job, thread, enabled)?,
            }
        }
        Some(())
    }

    fn choose(&self, job: &Job, choices: &[u16], enabled: u64) -> Option<usize> {
        let steps = self.course.now.steps;
        if enabled == 0 || steps as u64 >= job.threads.most_steps.unwrap_or(u64::MAX) {
            return None;
        }
        let told = choices.get(steps).filter(|&&told| told != ANYBODY);
        let process = match told {
            Some(&told) => usize::from(told),
            None => pick(enabled & !self.asleep, self.course.now.current)?,
        };
        (process < 64 && enabled >> process & 1 != 0).then_some(process)
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
        let passed = (self.course).pass(known, memory, thread, enabled.is_some())?;
        // Main begins with nothing.
        let [head, origin, object] = passed.place.record;
        if head != 0 {
            self.write([head, origin, object, enabled.unwrap_or(0)]);
        }
        let way = known.ways[passed.way as usize];
        let begin = self.trace.len();
        let bytes = way.bytes.0 as usize..way.bytes.1 as usize;
        self.trace.extend_from_slice(&known.bytes[bytes]);
        if way.replaced != NONE {
            let at = begin + way.replaced as usize;
            self.trace[at..at + 8].copy_from_slice(&passed.replaced.to_le_bytes());
        }
        if self.asleep != 0 {
            for deed in &known.deeds[way.deeds.0 as usize..way.deeds.1 as usize] {
                match *deed {
                    Deed::Touches {
                        address,
                        length,
                        writes,
                    } => self.wake(job, bytes_of(address, length), writes),
                    Deed::Holds { object, hold, .. } => {
                        self.wake(job, (object, u64::MAX), hold != Hold::Looks);
                    }
                    _ => {}
                }
            }
        }
        Some(())
    }

    /// The oldest store of a thread reaches memory.
    fn commit(
        &mut self,
        memory: &mut SteppedMemory,
        job: &Job,
        thread: usize,
        enabled: u64,
    ) -> Option<()> {
        let (store, found) = self.course.commit(memory, thread)?;
        let process = COMPANIONS + thread as u16;
        let chosen = head_of(RecordKind::Step, process, step::COMMIT, CHOSEN);
        self.write([chosen, store.origin, 0, enabled]);
        let stores = head_of(RecordKind::Access, thread as u16, access::WRITE, 0);
        let (object, value) = (store.object, store.value);
        self.write([stores, store.origin, object, found, value, 0]);
        self.wake(job, bytes_of(object & ((1 << 56) - 1), object >> 56), true);
        Some(())
    }

    /// The step that was taken last touches these bytes, or a lock.
    fn wake(&mut self, job: &Job, (line, mask): (u64, u64), writes: bool) {
        if self.asleep == 0 || self.course.now.steps <= job.threads.keep {
            return;
        }
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
