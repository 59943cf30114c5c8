//! Robustness against its definition: a recovery violates it if and only if no crash under strict persistency shows the same.

use crate::support::adaptive::Adaptive;
use crate::support::machine::{Machine, op};
use crate::support::{Program, Tree};
use landfall_check::finding::Evidence;
use landfall_check::walk::Limits;
use landfall_check::{Checker, Execution, Finding, Kind, Races, Robustness, Walked, races, walk};
use landfall_model::crash::{CrashState, Crashed};
use landfall_model::image::Image;
use landfall_model::log::{Cut, Entry, Log};
use landfall_model::order::Platform;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::rc::Rc;

fn cases(default: u32) -> ProptestConfig {
    let given = std::env::var("PROPTEST_CASES").ok();
    ProptestConfig {
        cases: given.and_then(|c| c.parse().ok()).unwrap_or(default),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn robustness<P: Program>(
    tree: &Tree<'_, P>,
    first: Rc<Execution>,
    failures: usize,
) -> (Vec<Finding>, Walked) {
    let mut robustness = Robustness::default();
    let cuts = (0, first.end());
    let limits = Limits {
        failures,
        ..Limits::default()
    };
    let mut checkers: [&mut dyn Checker; 1] = [&mut robustness];
    let walked = walk(tree, &Image::default(), first, cuts, limits, &mut checkers);
    (robustness.findings(), walked)
}

/// The image after one crash of the evidence, which must be feasible there.
fn image_of(log: &Log, base: &Image, evidence: &Evidence, index: usize) -> Image {
    let crash = &evidence.crashes[index];
    let state = CrashState::new(
        base,
        [Crashed {
            log,
            cut: crash.cut,
        }],
    );
    let mut image = state.newest_image();
    for &(line, version) in &crash.old {
        let chain = [version].into_iter().collect();
        assert!(state.feasible(line).contains(&chain), "not feasible");
        image.set_line(line, state.content(line, &chain));
    }
    image
}

proptest! {
    #![proptest_config(cases(3000))]

    /// Every byte names its store, so that what was read says where it came from.
    #[test]
    fn races_are_those_of_the_theorem(
        threads in prop::collection::vec(prop::collection::vec(op(), 0..7), 1..4),
        schedule in prop::collection::vec(any::<u8>(), 0..40),
        buffered in any::<bool>(),
        seed in any::<u64>(),
        depth in 1u32..8,
    ) {
        let machine = Machine::run(&threads, &schedule, buffered);
        let recovery = Adaptive { seed, depth, writes: false };
        let base = Image::default();
        let mut expected = BTreeSet::new();
        for cut in 0..=machine.log.end().0 {
            let state = CrashState::new(&base, [Crashed { log: &machine.log, cut: Cut(cut) }]);
            state.images(&mut |image| {
                let values = recovery.run(1, image).0;
                let sources = values.iter().map(|value| {
                    let named = value.to_le_bytes().into_iter().filter(|&b| b != 0);
                    named.map(|b| usize::from(b) - 1).collect()
                });
                expected.extend(machine.races(&sources.collect::<Vec<_>>()));
                true
            });
        }
        let mut races = Races::new(races::Window::Prefix);
        let tree = Tree::new(&recovery, Platform::Adr);
        let execution = machine.execution();
        let cuts = (0, execution.end());
        walk(&tree, &base, execution, cuts, Limits::default(), &mut [&mut races]);
        let found: BTreeSet<u32> = races
            .findings()
            .iter()
            .filter_map(|finding| match finding.kind {
                Kind::PersistencyRace { store, .. } => Some(store.event.0),
                _ => None,
            })
            .collect();
        prop_assert_eq!(found, expected);
    }
}

/// A checker that objects to nothing.
struct Silent;

impl Checker for Silent {
    fn findings(&self) -> Vec<Finding> {
        Vec::new()
    }
}

proptest! {
    #![proptest_config(cases(6000))]

    #[test]
    fn one_failure_several_threads(
        threads in prop::collection::vec(prop::collection::vec(op(), 0..7), 1..4),
        schedule in prop::collection::vec(any::<u8>(), 0..40),
        buffered in any::<bool>(),
        seed in any::<u64>(),
        depth in 1u32..8,
    ) {
        let machine = Machine::run(&threads, &schedule, buffered);
        let recovery = Adaptive { seed, depth, writes: false };
        let mut weak = BTreeSet::new();
        let base = Image::default();
        for cut in 0..=machine.log.end().0 {
            let state = CrashState::new(&base, [Crashed { log: &machine.log, cut: Cut(cut) }]);
            state.images(&mut |image| {
                weak.insert(recovery.run(1, image).0);
                true
            });
        }
        let strict: BTreeSet<Vec<u64>> = machine
            .strict_images()
            .iter()
            .map(|image| recovery.run(1, image).0)
            .collect();
        prop_assert!(strict.is_subset(&weak) || threads.len() > 1);

        let execution = machine.execution();
        let tree = Tree::new(&recovery, Platform::Adr);
        let (findings, walked) = robustness(&tree, execution.clone(), 1);
        prop_assert!(walked.is_complete());
        prop_assert_eq!(findings.is_empty(), weak.is_subset(&strict), "{:?}", findings);
        for finding in &findings {
            let evidence = finding.evidence.as_ref().unwrap();
            let image = image_of(&machine.log, &base, evidence, 0);
            let path = recovery.run(1, &image).0;
            prop_assert!(!strict.contains(&path), "evidence of nothing: {:?}", finding);
            prop_assert!(evidence.reads < path.len());
        }
        // What robustness lets pass is what strict persistency shows of the weak outcomes.
        let passed: BTreeSet<Vec<u64>> = tree.ended.take().into_iter().map(|(_, v)| v).collect();
        let common: BTreeSet<Vec<u64>> = weak.intersection(&strict).cloned().collect();
        prop_assert_eq!(passed, common);
        // And without anyone who objects, the walk sees exactly the weak outcomes.
        let cuts = (0, execution.end());
        walk(&tree, &base, execution, cuts, Limits::default(), &mut [&mut Silent]);
        let all: BTreeSet<Vec<u64>> = tree.ended.take().into_iter().map(|(_, v)| v).collect();
        prop_assert_eq!(all, weak);
    }
}

/// Outcomes of a chain of two failures: what the first recovery read before its own, and what the second read.
type Chained = BTreeSet<(Vec<u64>, Option<Vec<u64>>)>;

/// All second failures of a first recovery that started on `image`; `images` says what one may leave.
fn second_failures(
    recovery: &Adaptive,
    image: &Image,
    out: &mut Chained,
    images: impl Fn(&Log, u32, &mut dyn FnMut(&Image)),
) {
    let (values, doings) = recovery.run(1, image);
    out.insert((values.clone(), None));
    let mut begin = 0;
    for (reads, doing) in doings.iter().enumerate() {
        let (_, log) = Execution::logged(doing.events.clone(), Platform::Adr);
        for cut in begin..=log.end().0 {
            images(&log, cut, &mut |left| {
                let second = recovery.run(2, left).0;
                out.insert((values[..reads].to_vec(), Some(second)));
            });
        }
        begin = log.end().0;
    }
}

proptest! {
    #![proptest_config(cases(4000))]

    #[test]
    fn two_failures(
        ops in prop::collection::vec(op(), 0..7),
        seed in any::<u64>(),
        depth in 2u32..8,
    ) {
        let machine = Machine::run(&[ops], &[], false);
        let recovery = Adaptive { seed, depth, writes: true };
        let (mut weak, mut strict) = (Chained::new(), Chained::new());
        let base = Image::default();
        for cut in 0..=machine.log.end().0 {
            let state = CrashState::new(&base, [Crashed { log: &machine.log, cut: Cut(cut) }]);
            state.images(&mut |image| {
                second_failures(&recovery, image, &mut weak, |log, cut, visit| {
                    let state = CrashState::new(image, [Crashed { log, cut: Cut(cut) }]);
                    state.images(&mut |left| {
                        visit(left);
                        true
                    });
                });
                true
            });
        }
        for image in machine.strict_images() {
            second_failures(&recovery, &image, &mut strict, |log, cut, visit| {
                for prefix in 0..=cut {
                    let mut left = image.clone();
                    for entry in &log.entries()[..prefix as usize] {
                        if let Entry::Store { piece, .. } = entry {
                            left.write(piece.addr, piece.bytes());
                        }
                    }
                    visit(&left);
                }
            });
        }
        let tree = Tree::new(&recovery, Platform::Adr);
        let (findings, walked) = robustness(&tree, machine.execution(), 2);
        prop_assert!(walked.is_complete());
        prop_assert_eq!(findings.is_empty(), weak.is_subset(&strict), "{:?}", findings);
    }
}
