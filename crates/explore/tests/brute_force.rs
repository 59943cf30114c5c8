//! The crash search against brute force: every cut, every image, on programs that read what they please.

use landfall_explore::recovery::{Behaviour, Options, SearchError, Searched, random, search};
use landfall_explore::subject::{Ended, Execution, Job, Subject, SubjectError};
use landfall_explore::tree::Forest;
use landfall_model::event::Event;
use landfall_model::image::Image;
use landfall_model::line::{Addr, Line, pieces};
use landfall_model::log::Log;
use landfall_model::order::Platform;
use landfall_testkit::toy::{Path, Toy, base, brute_force, cases, event, platform};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Does what a behaviour says, from scratch.
fn replay(toy: &Toy, base: &Image, log: &Log, options: &Options, behaviour: &Behaviour) -> Path {
    let (mut image, mut log) = (base.clone(), log.clone());
    let mut execution = Execution::new(Vec::new(), Ended::Well);
    for (level, crash) in (1..).zip(&behaviour.crashes.unpacked()) {
        let mut lines: Vec<Line> = log.lines().collect();
        lines.sort_unstable();
        for line in lines {
            let newest = log.newest(line, crash.cut);
            let old = crash.old.iter().find(|(l, _)| *l == line);
            let version = old.map_or(newest, |&(_, version)| version);
            assert!(version >= log.frontier(line, crash.cut) && version <= newest);
            let mut bytes = image.line(line);
            log.apply(line, version, &mut bytes);
            image.set_line(line, bytes);
        }
        execution = toy.execute(|line| image.line(line), level);
        log = execution.log(options.platform);
    }
    execution.reads
}

fn paths(toy: &Toy) -> BTreeSet<(u32, Path)> {
    toy.runs.iter().cloned().collect()
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn finds_every_behaviour_with_one_run_each(
        events in prop::collection::vec(event(), 0..14),
        seed in any::<u64>(),
        steps in 1u32..8,
        first in any::<u64>(),
        platform in platform(),
    ) {
        let log = Execution::new(events, Ended::Well).log(platform);
        let base = base(first);
        let mut toy = Toy::new(seed, steps, false);
        let (mut forest, mut found) = (Forest::default(), Searched::default());
        let options = Options { platform, ..Options::default() };
        search(&mut toy, &mut forest, &base, &log, &options, &mut found).unwrap();
        let expected = brute_force(&toy, &base, &log, platform, 1);
        prop_assert_eq!(&paths(&toy), &expected);
        prop_assert_eq!(toy.runs.len(), expected.len(), "a behaviour was run twice");
        prop_assert_eq!(found.behaviours.len(), expected.len());
        for behaviour in &found.behaviours {
            let path = replay(&toy, &base, &log, &options, behaviour);
            prop_assert_eq!(&path, &toy.runs[behaviour.run as usize].1);
        }
        // One tree serves the next execution too: nothing is run again.
        let mut again = Searched::default();
        search(&mut toy, &mut forest, &base, &log, &options, &mut again).unwrap();
        prop_assert_eq!(again.runs, 0);
        prop_assert_eq!(again.behaviours.len(), expected.len());
        // With next to no memory some are run again, and the same is found.
        let mut toy = Toy::new(seed, steps, false);
        let options = Options { keep_reads: 3, ..options };
        let mut found = Searched::default();
        search(&mut toy, &mut Forest::default(), &base, &log, &options, &mut found).unwrap();
        prop_assert_eq!(&paths(&toy), &expected);
    }
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn several_failures_too(
        events in prop::collection::vec(event(), 0..8),
        seed in any::<u64>(),
        steps in 1u32..7,
        first in any::<u64>(),
        platform in platform(),
        failures in 1u32..4,
        share in any::<bool>(),
    ) {
        let log = Execution::new(events, Ended::Well).log(platform);
        let base = base(first);
        let mut toy = Toy::new(seed, steps, true);
        let (mut forest, mut found) = (Forest::default(), Searched::default());
        let options = Options { platform, failures, share, ..Options::default() };
        search(&mut toy, &mut forest, &base, &log, &options, &mut found).unwrap();
        let expected = brute_force(&toy, &base, &log, platform, failures);
        prop_assert_eq!(&paths(&toy), &expected);
        prop_assert_eq!(found.runs as usize, toy.runs.len());
        if share {
            prop_assert_eq!(toy.runs.len(), expected.len(), "a behaviour was run twice");
        }
        let mut shown = BTreeSet::new();
        for behaviour in &found.behaviours {
            let path = replay(&toy, &base, &log, &options, behaviour);
            shown.insert((behaviour.crashes.count() as u32, path));
        }
        prop_assert_eq!(&shown, &expected);
        prop_assert_eq!(found.behaviours.len(), expected.len());
    }

    #[test]
    fn eagerly_the_same_is_found(
        events in prop::collection::vec(event(), 0..7),
        seed in any::<u64>(),
        steps in 1u32..6,
        platform in platform(),
        failures in 1u32..3,
    ) {
        let log = Execution::new(events, Ended::Well).log(platform);
        let base = base(seed);
        let mut toy = Toy::new(seed, steps, true);
        let (mut forest, mut found) = (Forest::default(), Searched::default());
        let options = Options { platform, failures, eager: true, ..Options::default() };
        search(&mut toy, &mut forest, &base, &log, &options, &mut found).unwrap();
        let expected = brute_force(&toy, &base, &log, platform, failures);
        prop_assert_eq!(&paths(&toy), &expected);
        prop_assert_eq!(found.behaviours.len(), expected.len());
        if failures == 1 {
            let count = landfall_explore::recovery::eager::count(&log);
            prop_assert_eq!(found.runs.to_string(), count.decimal());
        }
    }

    #[test]
    fn random_crashes_are_possible_ones_and_the_same_again(
        events in prop::collection::vec(event(), 0..8),
        seed in any::<u64>(),
        platform in platform(),
        failures in 1u32..3,
    ) {
        let log = Execution::new(events, Ended::Well).log(platform);
        let base = base(seed);
        let mut toy = Toy::new(seed, 5, true);
        let options = Options { platform, failures, ..Options::default() };
        let expected = brute_force(&toy, &base, &log, platform, failures);
        let mut found = [Searched::default(), Searched::default()];
        let mut forest = Forest::default();
        for found in &mut found {
            forest = Forest::default();
            let tries = random::Tries { count: 10, seed };
            random::search(&mut toy, &mut forest, &base, &log, &options, tries, found).unwrap();
        }
        for level in 1..=failures {
            let met = found[0].behaviours.iter().filter(|b| b.crashes.count() as u32 == level);
            let known = forest.known(level).map_or(0, |tree| tree.runs());
            prop_assert_eq!(met.count() as u32, known);
        }
        prop_assert_eq!(found[0].contradictions, 0);
        prop_assert!(paths(&toy).is_subset(&expected));
        prop_assert_eq!(&found[0], &found[1]);
        for behaviour in &found[0].behaviours {
            let path = replay(&toy, &base, &log, &options, behaviour);
            prop_assert!(expected.contains(&(behaviour.crashes.count() as u32, path)));
        }
    }
}

/// Wants to end, but would run whatever it is asked to.
struct Weary(Toy);

impl Subject for Weary {
    fn stopped(&mut self) -> bool {
        true
    }

    fn run(&mut self, job: &Job<'_>) -> Result<Execution, SubjectError> {
        self.0.run(job)
    }
}

/// Walking what is known takes long where recoveries fail again and again: nothing is run then, and someone may want to stop all the same.
#[test]
fn walks_without_a_run_can_be_stopped() {
    let store = |line: u64| {
        pieces(Addr(line * 64), &[line as u8 + 1; 4])
            .next()
            .map(Event::store)
    };
    let events = (0..3).filter_map(store).collect();
    let log = Execution::new(events, Ended::Well).log(Platform::default());
    let base = base(7);
    let options = Options {
        failures: 3,
        ..Options::default()
    };
    let mut forest = Forest::default();
    let mut toy = Toy::new(5, 30, true);
    let mut found = Searched::default();
    search(&mut toy, &mut forest, &base, &log, &options, &mut found).unwrap();
    let mut again = Searched::default();
    let stopped = search(
        &mut Weary(toy),
        &mut forest,
        &base,
        &log,
        &options,
        &mut again,
    );
    assert!(
        matches!(stopped, Err(SearchError::Subject(SubjectError::Stopped))),
        "{stopped:?}"
    );
    assert_eq!(again.runs, 0);
}
