//! Several power failures of programs with threads against brute force: every interleaving, every cut, every image, of recoveries, too.

use landfall_explore::schedule::power::{Power, Way};
use landfall_explore::schedule::{End, Explored, Options, Persistency, Search};
use landfall_explore::subject::{Ended, Execution};
use landfall_model::event::{Action, Event, How};
use landfall_model::line::Line;
use landfall_testkit::toy::straight::{Straight, mixed};
use landfall_testkit::toy::{Toy, base, brute_force, cases, event, platform};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn thread() -> impl Strategy<Value = Vec<Event>> {
    let plain = event().prop_map(|event| match event.action {
        Action::Store {
            piece,
            how: How::NonTemporal,
            ..
        } => Event::durable_store(piece),
        _ => event,
    });
    prop::collection::vec(plain, 0..4)
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn every_recovery_of_every_schedule_and_failure(
        threads in prop::collection::vec(thread(), 1..3),
        seed in any::<u64>(),
        steps in 1u32..6,
        platform in platform(),
        failures in 1u32..4,
    ) {
        let base = base(seed);
        let mut toy = Toy::new(seed, steps, true);
        let mut expected = BTreeSet::new();
        for events in mixed(&threads) {
            let log = Execution::new(events, Ended::Well).log(platform);
            expected.extend(brute_force(&toy, &base, &log, platform, failures));
        }
        for way in [Way::Shared, Way::Alone, Way::Eager] {
            toy.runs.clear();
            let mut program = Straight::new(threads.clone());
            let options = Options { persistency: Persistency::Lines, ..Options::default() };
            let mut search = Search::new(&program, options).expect("few threads");
            let mut power = Power::new(base.clone(), platform).with_failures(failures).by(way);
            while search.next(&mut program).expect("runs") {
                if search.trace().end == End::Complete {
                    let explored: &dyn Explored = &search;
                    power.look(&mut toy, explored, |object| Line(object.into())).expect("walks");
                }
            }
            let found: BTreeSet<_> = toy.runs.iter().cloned().collect();
            prop_assert_eq!(&found, &expected);
            if way == Way::Shared {
                prop_assert_eq!(toy.runs.len(), expected.len(), "a behaviour was run twice");
            }
            prop_assert_eq!(power.behaviours.len(), expected.len());
            for behaviour in &power.behaviours {
                let level = behaviour.crash.later.len() as u32 + 1;
                prop_assert!(level <= failures);
            }
        }
    }

    #[test]
    fn every_recovery_of_threads_that_are_alike(
        threads in prop::collection::vec(thread(), 1..3),
        copies in 1usize..3,
        seed in any::<u64>(),
        steps in 1u32..6,
        platform in platform(),
        failures in 1u32..3,
    ) {
        let mut threads = threads;
        threads.extend(vec![threads[0].clone(); copies]);
        prop_assume!(threads.iter().map(Vec::len).sum::<usize>() <= 8);
        let base = base(seed);
        let mut toy = Toy::new(seed, steps, true);
        let mut found = [false, true].map(|symmetry| {
            toy.runs.clear();
            let mut program = Straight::new(threads.clone());
            let options = Options { persistency: Persistency::Lines, symmetry, ..Options::default() };
            let mut search = Search::new(&program, options).expect("few threads");
            let mut power = Power::new(base.clone(), platform).with_failures(failures);
            while search.next(&mut program).expect("runs") {
                assert!(!search.broken);
                if search.trace().end == End::Complete {
                    let explored: &dyn Explored = &search;
                    power.look(&mut toy, explored, |object| Line(object.into())).expect("walks");
                }
            }
            let runs: BTreeSet<_> = toy.runs.iter().cloned().collect();
            (runs, search.counts.stand_for)
        }).into_iter();
        prop_assert_eq!(found.next(), found.next());
    }
}
