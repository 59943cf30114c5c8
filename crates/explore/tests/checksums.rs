//! Records behind a checksum that holds what is assumed of it: what the search finds is what brute force finds, but for which of
//! the rejected records it was.

use landfall_explore::recovery::{Options, Searched, search};
use landfall_explore::subject::{Ended, Execution, Job, Subject, SubjectError};
use landfall_explore::tree::Forest;
use landfall_model::crash::{CrashState, Crashed};
use landfall_model::event::{Event, FirstRead, Mark, Read};
use landfall_model::image::Image;
use landfall_model::line::{Addr, Line, LineBytes, pieces};
use landfall_model::log::{Cut, Entry, Log};
use landfall_testkit::toy::{base, cases, platform};
use proptest::prelude::*;
use std::collections::BTreeSet;

const LINES: u64 = 5;

/// What can be told of a recovery: its reads, without those of records that it rejected.
type Told = Vec<Option<Read>>;

/// Reads some words, then records, then other words, all by what it read before and did not reject.
#[derive(Clone, Debug)]
struct RecordReader {
    seed: u64,
    before: u32,
    records: u32,
    words: u32,
    after: u32,
    /// What memory held at each moment.
    moments: Vec<Image>,
    /// It accepts what memory never held, too.
    careless: bool,
    told: BTreeSet<Told>,
    runs: usize,
}

fn next(hash: &mut u64) -> u64 {
    *hash ^= *hash << 13;
    *hash ^= *hash >> 7;
    *hash ^= *hash << 17;
    *hash >> 20
}

fn word(hash: &mut u64) -> FirstRead {
    let at = next(hash) % LINES;
    FirstRead {
        word: Addr(at * 64 + next(hash) % 2 * 8),
        mask: [0xff, 0x0f, 0x01][(next(hash) % 3) as usize],
    }
}

impl RecordReader {
    fn execute(&self, line: impl Fn(Line) -> LineBytes) -> (Execution, Told) {
        let mut hash = self.seed | 1;
        let mut known = [0u64; LINES as usize];
        let (mut events, mut told) = (Vec::new(), Told::new());
        let read = |wanted: FirstRead, known: &mut [u64], events: &mut Vec<Event>| {
            let seen = &mut known[wanted.line().0 as usize];
            let mask = wanted.mask & !((*seen >> wanted.word.offset()) as u8);
            *seen |= u64::from(mask) << wanted.word.offset();
            let read = FirstRead { mask, ..wanted };
            let value = read.value(&line(read.line()));
            if mask != 0 {
                events.push(Event::read(Read { read, value }));
            }
            (mask != 0).then_some(Read { read, value })
        };
        let plainly = |hash: &mut u64, known: &mut [u64], told: &mut Told, events: &mut _| {
            let Some(read) = read(word(hash), known, events) else {
                return;
            };
            told.push(Some(read));
            *hash = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ read.value.wrapping_mul(31);
            *hash |= 1;
        };
        for _ in 0..self.before {
            plainly(&mut hash, &mut known, &mut told, &mut events);
        }
        for _ in 0..self.records {
            events.push(Event::mark(Mark::ChecksumBegin));
            let mut inside = known;
            let mut record: Vec<Read> = Vec::new();
            let mut sum = hash;
            for _ in 0..self.words {
                let wanted = word(&mut sum);
                // Where the record ends is part of it.
                let seen = &mut inside[wanted.line().0 as usize];
                let mask = wanted.mask & !((*seen >> wanted.word.offset()) as u8);
                *seen |= u64::from(mask) << wanted.word.offset();
                if mask == 0 {
                    continue;
                }
                let read = FirstRead { mask, ..wanted };
                let value = read.value(&line(read.line()));
                events.push(Event::read(Read { read, value }));
                record.push(Read { read, value });
                if value != 0 && sum.is_multiple_of(5) {
                    break;
                }
            }
            let fits = |image: &Image| {
                let same = |r: &Read| r.read.value(&image.line(r.read.line())) == r.value;
                record.iter().all(same)
            };
            let mut sum = record.iter().fold(hash, |sum, read| {
                (sum ^ read.value).wrapping_mul(0x100_0000_01b3)
            });
            let held = self.careless || self.moments.iter().any(fits);
            if held && !next(&mut sum).is_multiple_of(3) {
                events.push(Event::mark(Mark::ChecksumAccepted));
                known = inside;
                told.extend(record.into_iter().map(Some));
                hash = sum | 1;
            } else {
                events.push(Event::mark(Mark::ChecksumRejected));
                told.push(None);
                next(&mut hash);
            }
            for _ in 0..self.after {
                plainly(&mut hash, &mut known, &mut told, &mut events);
            }
        }
        (Execution::new(events, Ended::Well), told)
    }
}

impl Subject for RecordReader {
    fn run(&mut self, job: &Job<'_>) -> Result<Execution, SubjectError> {
        let (mut execution, told) = self.execute(|line| job.line(line));
        execution.events.clear();
        self.told.insert(told);
        self.runs += 1;
        Ok(execution)
    }
}

fn moments(base: &Image, log: &Log) -> Vec<Image> {
    let mut image = base.clone();
    let mut moments = vec![image.clone()];
    for entry in log.entries() {
        if let Entry::Store { piece, .. } = entry {
            image.write(piece.addr, piece.bytes());
            moments.push(image.clone());
        }
    }
    moments
}

fn brute_force(reader: &RecordReader, base: &Image, log: &Log) -> (BTreeSet<Told>, usize) {
    let (mut told, mut paths) = (BTreeSet::new(), BTreeSet::new());
    for cut in 0..=log.end().0 {
        let state = CrashState::new(base, [Crashed { log, cut: Cut(cut) }]);
        state.images(&mut |image| {
            let (execution, seen) = reader.execute(|line| image.line(line));
            paths.insert(execution.reads);
            told.insert(seen);
            true
        });
    }
    (told, paths.len())
}

fn event() -> impl Strategy<Value = Event> {
    let store = (0..LINES, 0u64..2, 0u8..3, any::<bool>()).prop_map(|(line, word, value, wide)| {
        let bytes = [value; 4];
        let length = if wide { 4 } else { 1 };
        pieces(Addr(line * 64 + word * 8), &bytes[..length])
            .next()
            .unwrap()
    });
    let line = || (0..LINES).prop_map(Line);
    prop_oneof![
        8 => store.prop_map(Event::store),
        1 => line().prop_map(Event::clflush),
        2 => line().prop_map(Event::clwb),
        1 => Just(Event::fence()),
    ]
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn what_is_rejected_is_one_behaviour(
        events in prop::collection::vec(event(), 0..14),
        seed in any::<u64>(),
        before in 0u32..3,
        records in 1u32..3,
        words in 1u32..8,
        after in 0u32..4,
        first in any::<u64>(),
        platform in platform(),
        careless in prop::bool::weighted(0.1),
        forgetful in prop::bool::weighted(0.2),
    ) {
        let log = Execution::new(events, Ended::Well).log(platform);
        let base = base(first);
        let mut reader = RecordReader {
            seed, before, records, words, after, careless,
            moments: moments(&base, &log),
            told: BTreeSet::new(),
            runs: 0,
        };
        let (told, paths) = brute_force(&reader, &base, &log);
        let mut every = reader.clone();
        let options = Options { platform, checksums: false, ..Options::default() };
        search(&mut every, &mut Forest::default(), &base, &log, &options, &mut Searched::default()).unwrap();
        prop_assert_eq!(every.runs, paths, "without the assumption, every mixture");
        prop_assert_eq!(&every.told, &told);
        // With next to no memory some are run again.
        let keep_reads = if forgetful { 3 } else { Options::default().keep_reads };
        let options = Options { checksums: true, keep_reads, ..options };
        let mut found = Searched::default();
        search(&mut reader, &mut Forest::default(), &base, &log, &options, &mut found).unwrap();
        prop_assert!(forgetful || reader.runs <= paths);
        if !careless {
            prop_assert!(!found.checksums_refuted);
            let missed: Vec<&Told> = told.difference(&reader.told).collect();
            prop_assert!(missed.is_empty(), "missed: {:?}", missed);
        } else if found.checksums_refuted {
            prop_assert_eq!(&reader.told, &told);
            prop_assert!(forgetful || reader.runs == paths, "what was accepted was never there");
        }
    }
}
