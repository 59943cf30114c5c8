//! A native trace as the checkers see it.

use crate::execution::{Event, Op, Origin};
use crate::skim::{Flushes, Skimmed};
use crate::subject::translate;
use landfall_check::checker::Fate;
use landfall_check::event::{Action, Atomicity, Fence, How};
use landfall_check::{Checker, Wasted};
use landfall_explore::subject::{self, Wanted};
use landfall_model::line::{Addr, pieces};
use landfall_model::order::Platform;
use landfall_vocab::record::flag;
use std::collections::HashMap;
use std::rc::Rc;

/// Which stores the source is taken to have made atomic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Atomics {
    #[default]
    Atomic,
    /// Volatile ones of at most a word, too.
    AtomicOrVolatile,
}

/// Places in the source by number, the same for all executions of a program.
#[derive(Clone, Debug, Default)]
pub struct Places {
    numbers: HashMap<Placed, u32>,
    origins: Vec<Placed>,
    program: Ran,
}

/// Which program it was.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Ran {
    #[default]
    First,
    /// Another one that recovers.
    Recovery,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Placed {
    pub program: Ran,
    pub origin: Origin,
}

impl Places {
    /// Executions from now on are of this program.
    pub fn of(&mut self, program: Ran) {
        self.program = program;
    }

    fn number(&mut self, origin: Origin) -> u32 {
        self.number_in(self.program, origin)
    }

    pub fn number_in(&mut self, program: Ran, origin: Origin) -> u32 {
        let placed = Placed { program, origin };
        *self.numbers.entry(placed).or_insert_with(|| {
            self.origins.push(placed);
            self.origins.len() as u32 - 1
        })
    }

    pub fn place(&self, number: u32) -> Option<Placed> {
        self.origins.get(number as usize).copied()
    }
}

/// Judges recoveries as they are run, as far as that needs no search.
#[derive(Debug)]
pub struct Watching {
    pub places: Places,
    pub wasted: Option<Wasted>,
    pub atomics: Atomics,
    pub platform: Platform,
}

impl Watching {
    /// A recovery came to its end. Those that are cut themselves are needed once more.
    pub(crate) fn ran(&mut self, skimmed: &Skimmed) -> Option<Rc<landfall_check::Execution>> {
        let whole = skimmed.cut_too && !skimmed.shortened;
        let execution = whole.then(|| {
            let (events, platform) = (&skimmed.judged, self.platform);
            judge(events, self.atomics, platform, &mut self.places).execution
        });
        if let Some(wasted) = &mut self.wasted {
            for read in &skimmed.reads {
                wasted.read(read.read.word.line());
            }
            match &execution {
                Some(execution) => wasted.logged(execution.events(), Fate::MayCrash),
                None if skimmed.judged.is_empty() => {}
                None => {
                    let (events, _) = judged(&skimmed.judged, self.atomics, &mut self.places);
                    wasted.logged(&events, Fate::RunsToItsEnd);
                }
            }
        }
        execution.map(Rc::new)
    }

    pub(crate) fn wants(&self, wanted: Wanted) -> Flushes {
        match self.wasted.is_some() || wanted == Wanted::Events {
            true => Flushes::Wanted,
            false => Flushes::Unwanted,
        }
    }
}

/// A trace of one thread in the words of the checkers, and for each of its events the native one it comes from.
pub fn judged(
    events: &[Event],
    atomics: Atomics,
    places: &mut Places,
) -> (Vec<landfall_check::Event>, Vec<u32>) {
    let mut out = Vec::with_capacity(events.len());
    let mut origins = Vec::with_capacity(events.len());
    for (at, event) in events.iter().enumerate() {
        let mut push = |action| {
            out.push(landfall_check::Event {
                thread: 0,
                site: places.number(event.origin),
                action,
            });
            origins.push(at as u32);
        };
        let line = Addr(event.offset).line();
        let locked = event.flags & flag::LOCKED != 0;
        match event.op {
            Op::Read => push(Action::FirstRead {
                word: Addr(event.offset),
                mask: event.mask,
            }),
            Op::Store => {
                let (start, length) = event.bytes();
                let bytes = event.value.to_le_bytes();
                let from = (start - event.offset) as usize;
                let bytes = bytes.get(from..from + length as usize).unwrap_or(&[]);
                // A locked instruction fences on both sides (MODEL.md §2).
                if locked && !bytes.is_empty() {
                    push(Action::Fence(Fence::Full));
                }
                for piece in pieces(Addr(start), bytes) {
                    push(Action::Store {
                        piece,
                        how: how(event),
                        atomic: atomicity(event.flags, event.mask, atomics),
                    });
                }
                if locked && !bytes.is_empty() {
                    push(Action::Fence(Fence::Full));
                }
            }
            Op::Clflush => push(Action::Clflush(line)),
            Op::Clflushopt | Op::Clwb => push(Action::Clwb(line)),
            Op::Sfence => push(Action::Fence(Fence::Store)),
            Op::Mfence | Op::CasFailed => push(Action::Fence(Fence::Full)),
            Op::Lfence
            | Op::Run
            | Op::Fill
            | Op::Alloc
            | Op::Free
            | Op::Stack
            | Op::Asm
            | Op::Mark
            | Op::Step
            | Op::Blocked
            | Op::Misuse
            | Op::Access
            | Op::Ended
            | Op::Watched
            | Op::Unseen => {}
        }
    }
    (out, origins)
}

/// An execution that crashes, ready to be judged.
#[derive(Clone, Debug)]
pub struct Judged {
    pub execution: landfall_check::Execution,
    /// The native event that each of its events comes from.
    pub native: Vec<u32>,
}

/// The same log as the search has: evidence is told in its cuts and versions.
pub fn judge(
    events: &[Event],
    atomics: Atomics,
    platform: Platform,
    places: &mut Places,
) -> Judged {
    let (judged, native) = judged(events, atomics, places);
    // A store is one event here and there; a locked one has fences around it.
    let mut store_of = vec![0; events.len()];
    for (at, event) in judged.iter().enumerate() {
        if event.piece().is_some() {
            store_of[native[at] as usize] = at;
        }
    }
    let (translated, sources) = translate(events);
    let translated = subject::Execution::new(translated, subject::Ended::Well);
    let (log, origins) = translated.log_with_origins(platform);
    let origins: Vec<usize> = origins.iter().map(|&at| store_of[sources[at]]).collect();
    Judged {
        execution: landfall_check::Execution::new(judged, &log, &origins, platform),
        native,
    }
}

fn how(event: &Event) -> How {
    if event.flags & flag::DURABLE != 0 {
        How::AtOnce
    } else if event.flags & flag::NON_TEMPORAL != 0 {
        How::NonTemporal
    } else {
        How::Cached
    }
}

/// Of a store with these flags, to so many bytes of a word. LLVM numbers orderings: 1 unordered, 2 relaxed, 4 acquire, 5 release,
/// 6 acq_rel, 7 seq_cst.
pub(crate) fn atomicity(flags: u8, mask: u8, atomics: Atomics) -> Atomicity {
    let word = mask.count_ones().is_power_of_two();
    match flags & flag::ORDERING {
        5..=7 => Atomicity::Release,
        1 | 2 | 4 => Atomicity::Relaxed,
        _ if flags & flag::LOCKED != 0 => Atomicity::Release,
        // An instruction that the source asks for by name: no compiler makes two of it, or another one. What is wider than a word
        // persists in pieces, of a word each; less than half a word is none of these.
        _ if flags & flag::NON_TEMPORAL != 0 && matches!(mask.count_ones(), 4 | 8) => {
            Atomicity::Relaxed
        }
        _ if atomics == Atomics::AtomicOrVolatile && flags & flag::VOLATILE != 0 && word => {
            Atomicity::Relaxed
        }
        _ => Atomicity::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(op: Op, flags: u8, offset: u64, mask: u8) -> Event {
        Event {
            op,
            mask,
            flags,
            origin: Origin { site: 1, caller: 0 },
            offset,
            value: 0x0102_0304_0506_0708,
        }
    }

    #[test]
    fn checkers_and_search_see_one_log() {
        let trace = [
            event(Op::Store, 0, 0, 0xff),
            // Overtakes the one before it.
            event(Op::Store, flag::NON_TEMPORAL, 64, 0x0f),
            event(Op::Clwb, 0, 3, 0),
            event(Op::Store, flag::LOCKED | 7, 8, 0xff),
            event(Op::Read, 0, 256, 0xff),
            event(Op::Store, flag::DURABLE, 128, 0x01),
            event(Op::Store, 5, 72, 0xf0),
            event(Op::Clflush, 0, 64, 0),
            event(Op::Clflushopt, 0, 0, 0),
            event(Op::CasFailed, 7, 0, 0),
            event(Op::Mfence, 0, 0, 0),
            event(Op::Store, 0, 0, 0x18),
            event(Op::Sfence, 0, 0, 0),
        ];
        let mut places = Places::default();
        let judged = judge(&trace, Atomics::Atomic, Platform::Adr, &mut places);
        let execution = &judged.execution;
        let (in_order, log) =
            landfall_check::Execution::in_order(execution.events().to_vec(), Platform::Adr);
        let searched = subject::Execution::new(translate(&trace).0, subject::Ended::Well);
        assert_eq!(log, searched.log(Platform::Adr));
        for word in [0, 8, 64, 72, 128] {
            let word = Addr(word);
            assert_eq!(execution.stores_to(word), in_order.stores_to(word));
        }
        assert_eq!(judged.native.len(), execution.events().len());
        let stores = execution.events().iter().filter_map(|e| match e.action {
            Action::Store { how, atomic, .. } => Some((how, atomic)),
            _ => None,
        });
        use Atomicity::{Plain, Relaxed, Release};
        let expected = [
            (How::Cached, Plain),
            (How::NonTemporal, Relaxed),
            (How::Cached, Release),
            (How::AtOnce, Plain),
            (How::Cached, Release),
            (How::Cached, Plain),
        ];
        assert_eq!(stores.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_non_temporal_store_is_not_torn() {
        let of = |flags, mask| atomicity(flags, mask, Atomics::Atomic);
        for whole in [0xff, 0x0f, 0xf0] {
            assert_eq!(of(flag::NON_TEMPORAL, whole), Atomicity::Relaxed);
        }
        // The ends of a long copy.
        assert_eq!(of(flag::NON_TEMPORAL, 0x07), Atomicity::Plain);
        assert_eq!(of(0, 0xff), Atomicity::Plain);
    }

    #[test]
    fn volatile_words_are_atomic_on_request() {
        let of = |flags, mask, atomics| {
            let trace = [event(Op::Store, flags, 0, mask)];
            let (events, _) = judged(&trace, atomics, &mut Places::default());
            match events[0].action {
                Action::Store { atomic, .. } => atomic,
                _ => unreachable!("a store"),
            }
        };
        use Atomics::{Atomic, AtomicOrVolatile};
        assert_eq!(of(flag::VOLATILE, 0xff, Atomic), Atomicity::Plain);
        assert_eq!(
            of(flag::VOLATILE, 0xff, AtomicOrVolatile),
            Atomicity::Relaxed
        );
        // Three bytes are no access of the machine.
        assert_eq!(of(flag::VOLATILE, 0x07, AtomicOrVolatile), Atomicity::Plain);
        assert_eq!(of(2, 0xff, Atomic), Atomicity::Relaxed);
    }
}
