//! The walk by store over the tree that the search made by value: neither comes anywhere that the other does not.

mod toy;

use landfall_check::event::{Action, Atomicity, Event as Judging, Fence, How, Mark as Said};
use landfall_check::walk::Limits;
use landfall_check::{Checker, Finding, Recoveries, Robustness, Step, walk};
use landfall_explore::judge::Judged;
use landfall_explore::recovery::{Options, Searched, search};
use landfall_explore::subject::{
    Ended, Event, Execution, FirstRead, Job, Mark, Read, Subject, SubjectError,
};
use landfall_explore::tree::{Forest, Place};
use landfall_model::image::Image;
use landfall_model::line::{Addr, pieces};
use landfall_model::order::Platform;
use proptest::prelude::*;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use toy::{Toy, base, cases, event, platform};

/// The same events for the checkers, and their log.
fn judging(events: &[Event], platform: Platform) -> Rc<landfall_check::Execution> {
    let of = |event: &Event| match *event {
        Event::Store(piece) => Some((piece, How::Cached)),
        Event::NtStore(piece) => Some((piece, How::NonTemporal)),
        Event::DurableStore(piece) => Some((piece, How::AtOnce)),
        _ => None,
    };
    let judged = events.iter().zip(0..).map(|(event, site)| {
        let action = match (event, of(event)) {
            (_, Some((piece, how))) => Action::Store {
                piece,
                how,
                atomic: Atomicity::Plain,
            },
            (Event::Clflush(line), _) => Action::Clflush(*line),
            (Event::ClflushOpt(line), _) => Action::Clwb(*line),
            _ => Action::Fence(Fence::Full),
        };
        Judging {
            thread: 0,
            site,
            action,
        }
    });
    let execution = Execution::new(events.to_vec(), Ended::Well);
    let (log, origins) = execution.log_with_origins(platform);
    let judged = landfall_check::Execution::new(judged.collect(), &log, &origins, platform);
    Rc::new(judged)
}

/// Says which leaves were come to.
struct Watched<'a> {
    judged: Judged<'a>,
    ended: RefCell<Vec<Place>>,
}

impl Recoveries for Watched<'_> {
    type Node = Place;
    fn root(&self, failures: usize) -> Place {
        self.judged.root(failures)
    }
    fn step(&self, place: Place) -> Step {
        let step = self.judged.step(place);
        if step == Step::End {
            self.ended.borrow_mut().push(place);
        }
        step
    }
    fn child(&self, place: Place, value: u64) -> Option<Place> {
        self.judged.child(place, value)
    }
    fn marks(&self, place: Place) -> SmallVec<[Said; 2]> {
        self.judged.marks(place)
    }
}

struct Silent;

impl Checker for Silent {
    fn findings(&self) -> Vec<Finding> {
        Vec::new()
    }
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn by_store_and_by_value_are_the_same_recoveries(
        events in prop::collection::vec(event(), 0..14),
        seed in any::<u64>(),
        steps in 1u32..8,
        first in any::<u64>(),
        platform in platform(),
    ) {
        let log = Execution::new(events.clone(), Ended::Well).log(platform);
        let base = base(first);
        let mut toy = Toy::new(seed, steps, false);
        let (mut forest, mut found) = (Forest::default(), Searched::default());
        let options = Options { platform, ..Options::default() };
        search(&mut toy, &mut forest, &base, &log, &options, &mut found).unwrap();
        let tree = forest.known(1).unwrap();
        let execution = judging(&events, platform);
        let watched = Watched { judged: Judged::new(tree).unwrap(), ended: RefCell::default() };
        let cuts = (0, execution.end());
        let walked = walk(&watched, &base, execution, cuts, Limits::default(), &mut [&mut Silent]);
        prop_assert!(walked.is_complete());
        let ended: BTreeSet<(u32, u32)> =
            watched.ended.take().into_iter().map(|place| tree.name(place)).collect();
        prop_assert_eq!(ended.len(), found.behaviours.len());
    }
}

/// Reads x, y and a checksum, and believes them only if the checksum says so.
struct Checked {
    accepted: u64,
}

impl Subject for Checked {
    fn run(&mut self, job: &Job<'_>) -> Result<Execution, SubjectError> {
        let read = |word: u64| {
            let read = FirstRead {
                word: Addr(word),
                mask: 0xff,
            };
            let value = read.value(&job.line(read.line()));
            Event::Read(Read { read, value })
        };
        let sum = read(128);
        let accept = matches!(sum, Event::Read(read) if read.value == self.accepted);
        let end = match accept {
            true => Mark::ChecksumAccepted,
            false => Mark::ChecksumRejected,
        };
        let begin = Event::Mark(Mark::ChecksumBegin);
        let events = vec![begin, read(0), read(64), sum, Event::Mark(end)];
        Ok(Execution::new(events, Ended::Well))
    }
}

/// What a recovery says about its reads comes with the tree.
#[test]
fn a_checksum_region_counts_when_it_is_accepted() {
    let store = |addr: u64| Event::Store(pieces(Addr(addr), &[1; 8]).next().unwrap());
    let events = [store(0), store(64), store(128)];
    let one = u64::from_le_bytes([1; 8]);
    for (accepted, violations) in [(one, true), (7, false)] {
        let log = Execution::new(events.to_vec(), Ended::Well).log(Platform::Adr);
        let (base, options) = (Image::default(), Options::default());
        let (mut forest, mut found) = (Forest::default(), Searched::default());
        let mut subject = Checked { accepted };
        search(&mut subject, &mut forest, &base, &log, &options, &mut found).unwrap();
        let execution = judging(&events, Platform::Adr);
        let cuts = (0, execution.end());
        let judged = Judged::new(forest.known(1).unwrap()).unwrap();
        let mut robustness = Robustness::default();
        let limits = Limits::default();
        let checkers: &mut [&mut dyn Checker] = &mut [&mut robustness];
        assert!(walk(&judged, &base, execution, cuts, limits, checkers).is_complete());
        assert_eq!(!robustness.findings().is_empty(), violations);
    }
}
