//! The walk by store over the tree that the search made by value: neither comes anywhere that the other does not.

use landfall_check::walk::Limits;
use landfall_check::{Checker, Finding, Kind, Robustness};
use landfall_explore::judge::Judge;
use landfall_explore::recovery::{Options, Searched, search, search_watched};
use landfall_explore::subject::{Ended, Execution, Job, Subject, SubjectError};
use landfall_explore::tree::Forest;
use landfall_model::event::{Action, Event, EventId, FirstRead, Mark, Read};
use landfall_model::image::Image;
use landfall_model::line::{Addr, pieces};
use landfall_model::order::Platform;
use landfall_testkit::toy::judging::{Crashing, judging};
use landfall_testkit::toy::{Toy, base, cases, event, platform};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Counts recoveries that were followed to their end, and objects to nothing.
#[derive(Default)]
struct Ends;

impl Checker for Ends {
    fn findings(&self) -> Vec<Finding> {
        Vec::new()
    }
}

/// The places of lost and kept stores.
fn violations(checkers: &[Box<dyn Checker>]) -> BTreeSet<(EventId, EventId)> {
    let findings = checkers.iter().flat_map(|checker| checker.findings());
    findings
        .filter_map(|finding| match finding.kind {
            Kind::Robustness { lost, kept, .. } => Some((lost.event, kept.event)),
            _ => None,
        })
        .collect()
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
        let judge = |checker: Box<dyn Checker>, keep_reads| {
            let mut toy = Toy::new(seed, steps, false);
            let (mut forest, mut found) = (Forest::default(), Searched::default());
            let options = Options { platform, keep_reads, ..Options::default() };
            let mut judge =
                Judge::new(base.clone(), judging(&events, platform), vec![checker], Limits::default());
            search_watched(&mut toy, &mut forest, &base, &log, &options, &mut judge, &mut found)
                .unwrap();
            let (checkers, walked) = judge.finish(&forest);
            assert!(walked.is_complete());
            (found.behaviours.len() as u64, violations(&checkers), walked.paths)
        };
        let (behaviours, _, paths) = judge(Box::new(Ends), usize::MAX);
        prop_assert!(paths >= behaviours, "a path by value is one or more by store");
        // Forgetting what cannot be reached any more changes nothing about the verdict.
        let (_, all, _) = judge(Box::<Robustness>::default(), usize::MAX);
        for keep in [0, 4, 16] {
            let (_, forgetful, _) = judge(Box::<Robustness>::default(), keep);
            prop_assert_eq!(&all, &forgetful);
        }
    }

    /// Recoveries that are cut themselves are judged where the search cut them, and nowhere else.
    #[test]
    fn several_failures_are_judged(
        events in prop::collection::vec(event(), 0..8),
        seed in any::<u64>(),
        steps in 1u32..7,
        first in any::<u64>(),
        platform in platform(),
    ) {
        let log = Execution::new(events.clone(), Ended::Well).log(platform);
        let base = base(first);
        let mut toy = Crashing { toy: Toy::new(seed, steps, true), platform };
        let (mut forest, mut found) = (Forest::default(), Searched::default());
        let options = Options { platform, failures: 2, ..Options::default() };
        search(&mut toy, &mut forest, &base, &log, &options, &mut found).unwrap();
        let limits = Limits { failures: 2, ..Limits::default() };
        let ends: Vec<Box<dyn Checker>> = vec![Box::new(Ends)];
        let judge = Judge::new(base, judging(&events, platform), ends, limits);
        let (_, walked) = judge.finish(&forest);
        prop_assert!(walked.is_complete());
        prop_assert!(walked.paths >= found.behaviours.len() as u64);
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
            Event::read(Read { read, value })
        };
        let sum = read(128);
        let accept = matches!(sum.action, Action::Read(read) if read.value == self.accepted);
        let end = match accept {
            true => Mark::ChecksumAccepted,
            false => Mark::ChecksumRejected,
        };
        let begin = Event::mark(Mark::ChecksumBegin);
        let events = vec![begin, read(0), read(64), sum, Event::mark(end)];
        Ok(Execution::new(events, Ended::Well))
    }
}

/// What a recovery says about its reads comes with the tree.
#[test]
fn a_checksum_region_counts_when_it_is_accepted() {
    let store = |addr: u64| Event::store(pieces(Addr(addr), &[1; 8]).next().unwrap());
    let events = [store(0), store(64), store(128)];
    let one = u64::from_le_bytes([1; 8]);
    for (accepted, found_some) in [(one, true), (7, false)] {
        let log = Execution::new(events.to_vec(), Ended::Well).log(Platform::Adr);
        let (base, options) = (Image::default(), Options::default());
        let (mut forest, mut found) = (Forest::default(), Searched::default());
        let mut subject = Checked { accepted };
        search(&mut subject, &mut forest, &base, &log, &options, &mut found).unwrap();
        let robustness: Box<dyn Checker> = Box::<Robustness>::default();
        let first = judging(&events, Platform::Adr);
        let judge = Judge::new(base, first, vec![robustness], Limits::default());
        let (checkers, walked) = judge.finish(&forest);
        assert!(walked.is_complete());
        assert_eq!(!violations(&checkers).is_empty(), found_some);
    }
}
