//! A native trace as the checkers see it.

use crate::events::events;
use crate::skim::{FlushesWanted, Skimmed};
use landfall_check::checker::Fate;
use landfall_check::{Checker, Wasted};
use landfall_explore::subject::RunDetail;
use landfall_model::commit::{Copies, logged};
use landfall_model::event::Atomicity;
use landfall_model::order::Platform;
use landfall_vocab::record::{Origin, Record, flag};
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
            judge(events, self.atomics, platform, &mut self.places)
        });
        if let Some(wasted) = &mut self.wasted {
            for read in &skimmed.reads {
                wasted.read(read.read.word.line());
            }
            match &execution {
                Some(execution) => wasted.logged(execution.events(), Fate::MayCrash),
                None if skimmed.judged.is_empty() => {}
                None => {
                    let number = |origin| self.places.number(origin);
                    let events = events(&skimmed.judged, self.atomics, number);
                    wasted.logged(&events, Fate::RunsToItsEnd);
                }
            }
        }
        execution.map(Rc::new)
    }

    pub(crate) fn wants(&self, wanted: RunDetail) -> FlushesWanted {
        match self.wasted.is_some() || wanted == RunDetail::Events {
            true => FlushesWanted::Wanted,
            false => FlushesWanted::Unwanted,
        }
    }
}

/// A trace that crashes, ready to be judged, with the log that the search has: evidence is told in its cuts and versions. It is judged
/// as one sequence, whoever did what: nothing says what its threads learnt of each other.
pub fn judge(
    records: &[Record],
    atomics: Atomics,
    platform: Platform,
    places: &mut Places,
) -> landfall_check::Execution {
    let mut events = events(records, atomics, |origin| places.number(origin));
    let log = logged(&events, platform, Copies::Whole);
    events.iter_mut().for_each(|event| event.thread = 0);
    landfall_check::Execution::new(events, &log, platform)
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
    use crate::events::translate;
    use landfall_explore::subject;
    use landfall_model::event::{Action, How};
    use landfall_model::line::Addr;
    use landfall_model::log::Entry;
    use landfall_vocab::record::RecordKind;

    fn event(kind: RecordKind, flags: u8, offset: u64, mask: u8) -> Record {
        Record {
            kind,
            mask,
            thread: 0,
            flags,
            origin: Origin { site: 1, caller: 0 },
            offset,
            value: 0x0102_0304_0506_0708,
        }
    }

    #[test]
    fn checkers_and_search_see_one_log() {
        let trace = [
            event(RecordKind::Store, 0, 0, 0xff),
            // Overtakes the one before it.
            event(RecordKind::Store, flag::NON_TEMPORAL, 64, 0x0f),
            event(RecordKind::Clwb, 0, 3, 0),
            event(RecordKind::Store, flag::LOCKED | 7, 8, 0xff),
            event(RecordKind::Read, 0, 256, 0xff),
            event(RecordKind::Store, flag::DURABLE, 128, 0x01),
            event(RecordKind::Store, 5, 72, 0xf0),
            event(RecordKind::Clflush, 0, 64, 0),
            event(RecordKind::Clflushopt, 0, 0, 0),
            event(RecordKind::CasFailed, 7, 0, 0),
            event(RecordKind::Mfence, 0, 0, 0),
            event(RecordKind::Store, 0, 0, 0x18),
            event(RecordKind::Sfence, 0, 0, 0),
        ];
        let mut places = Places::default();
        let execution = judge(&trace, Atomics::Atomic, Platform::Adr, &mut places);
        let (again, log) =
            landfall_check::Execution::logged(execution.events().to_vec(), Platform::Adr);
        let searched = subject::Execution::new(translate(&trace), subject::Ended::Well);
        assert_eq!(log, searched.log(Platform::Adr));
        for word in [0, 8, 64, 72, 128] {
            let word = Addr(word);
            assert_eq!(execution.stores_to(word), again.stores_to(word));
        }
        // Each event knows its record; entries of the log know their events.
        for (entry, &event) in log.entries().iter().zip(log.events()) {
            let record = &trace[execution.event(event).record as usize];
            if let Entry::Store { piece, .. } = entry {
                assert_eq!((piece.addr.0, piece.bytes().len() as u32), record.bytes());
            }
        }
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
    fn a_cut_belongs_to_the_read_it_comes_before() {
        let trace = [
            event(RecordKind::Store, 0, 0, 0xff),
            event(RecordKind::Read, 0, 256, 0xff),
            event(RecordKind::Clwb, 0, 0, 0),
            event(RecordKind::Store, 0, 64, 0xff),
            event(RecordKind::Read, 0, 264, 0xff),
            event(RecordKind::Sfence, 0, 0, 0),
        ];
        let mut places = Places::default();
        let execution = judge(&trace, Atomics::Atomic, Platform::Adr, &mut places);
        // The log: the first store, the second, the first is durable. A cut between the stores may come after the first read.
        let cuts: Vec<_> = (0..3).map(|read| execution.cuts_before(read)).collect();
        assert_eq!(cuts, [Some((0, 0)), Some((1, 1)), Some((2, 3))]);
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
            let trace = [event(RecordKind::Store, flags, 0, mask)];
            let events = events(&trace, atomics, |_| 0);
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
