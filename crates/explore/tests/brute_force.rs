//! The crash search against brute force: every cut, every image, on programs that read what they please.

use landfall_explore::recovery::{Options, Searched, search};
use landfall_explore::subject::{Ended, Event, Execution, FirstRead, Job, Subject, SubjectError};
use landfall_explore::tree::Forest;
use landfall_model::crash::{CrashState, Crashed};
use landfall_model::image::Image;
use landfall_model::line::{Addr, Line, pieces};
use landfall_model::log::{Cut, Log};
use landfall_model::order::Platform;
use proptest::prelude::*;
use std::collections::BTreeSet;

const LINES: u64 = 3;

type Path = Vec<(FirstRead, u64)>;

/// A recovery whose next read depends on everything it has read so far.
struct Adaptive {
    seed: u64,
    depth: u32,
    paths: Vec<Path>,
}

impl Adaptive {
    fn path(&self, line: impl Fn(Line) -> [u8; 64]) -> Path {
        let mut hash = self.seed | 1;
        let mut path: Path = Vec::new();
        let mut known: Vec<(Addr, u8)> = Vec::new();
        for _ in 0..self.depth {
            hash ^= hash << 13;
            hash ^= hash >> 7;
            hash ^= hash << 17;
            let word = Addr((hash >> 20) % LINES * 64 + (hash >> 40) % 2 * 8);
            let wanted = [0xff, 0x0f, 0x01, 0xf0][((hash >> 50) % 4) as usize];
            let seen = known.iter().filter(|k| k.0 == word).fold(0, |m, k| m | k.1);
            let mask = wanted & !seen;
            if mask == 0 {
                continue;
            }
            known.push((word, mask));
            let read = FirstRead { word, mask };
            let value = read.value(&line(word.line()));
            path.push((read, value));
            hash = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ value.wrapping_mul(31) ^ word.0;
            if value == 0 && hash.is_multiple_of(7) {
                break;
            }
        }
        path
    }
}

impl Subject for Adaptive {
    fn run(&mut self, job: &Job<'_>) -> Result<Execution, SubjectError> {
        let path = self.path(|line| job.line(line));
        self.paths.push(path.clone());
        Ok(Execution {
            events: path
                .into_iter()
                .map(|(read, value)| Event::Read { read, value })
                .collect(),
            ended: Ended::Well,
        })
    }
}

fn event() -> impl Strategy<Value = Event> {
    let word = (0..LINES, 0u64..2).prop_map(|(line, word)| line * 64 + word * 8);
    let store = (
        word,
        0u8..3,
        prop_oneof![Just(0u64), Just(4)],
        any::<bool>(),
    )
        .prop_map(|(word, value, at, wide)| {
            let bytes = [value; 4];
            let len = if wide { 4 } else { 1 };
            pieces(Addr(word + at), &bytes[..len]).next().unwrap()
        });
    let line = || (0..LINES).prop_map(Line);
    prop_oneof![
        6 => store.clone().prop_map(Event::Store),
        1 => store.prop_map(Event::NtStore),
        2 => line().prop_map(Event::Clflush),
        2 => line().prop_map(Event::ClflushOpt),
        2 => Just(Event::Fence),
    ]
}

fn brute_force(recovery: &Adaptive, base: &Image, log: &Log) -> BTreeSet<Path> {
    let mut all = BTreeSet::new();
    for cut in 0..=log.end().0 {
        let state = CrashState::new(base, [Crashed { log, cut: Cut(cut) }]);
        state.images(&mut |image| {
            all.insert(recovery.path(|line| image.line(line)));
            true
        });
    }
    all
}

fn platform() -> impl Strategy<Value = Platform> {
    prop_oneof![4 => Just(Platform::Adr), 1 => Just(Platform::Eadr)]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|c| c.parse().ok()).unwrap_or(3000),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn finds_every_behaviour_with_one_run_each(
        events in prop::collection::vec(event(), 0..14),
        seed in any::<u64>(),
        depth in 1u32..8,
        first in any::<u64>(),
        platform in platform(),
    ) {
        let log = Execution { events, ended: Ended::Well }.log(platform);
        let mut base = Image::default();
        base.write(Addr(first % (LINES * 8) * 8), &[1, 2]);
        let mut recovery = Adaptive { seed, depth, paths: Vec::new() };
        let mut tree = Forest::default();
        let mut found = Searched::default();
        search(&mut recovery, &mut tree, &base, &log, &Options::default(), &mut found).unwrap();
        let expected = brute_force(&recovery, &base, &log);
        let runs: BTreeSet<Path> = recovery.paths.iter().cloned().collect();
        prop_assert_eq!(&runs, &expected);
        prop_assert_eq!(recovery.paths.len(), runs.len(), "a behaviour was run twice");
        prop_assert_eq!(found.behaviours.len(), runs.len());
        // Each behaviour's crash leads to it.
        for behaviour in &found.behaviours {
            let mut state = CrashState::new(&base, [Crashed { log: &log, cut: behaviour.crashes[0].cut }]);
            let mut image = state.newest_image();
            for &(line, version) in &behaviour.crashes[0].old {
                let chain = [version].into_iter().collect();
                prop_assert!(state.feasible(line).contains(&chain), "not feasible at its cut");
                image.set_line(line, state.content(line, &chain));
            }
            state.refine(Line(0), |_| true).unwrap();
            let path = recovery.path(|line| image.line(line));
            prop_assert_eq!(&path, &recovery.paths[behaviour.run as usize]);
        }
        // One tree serves the next execution too: nothing is run again.
        let mut again = Searched::default();
        search(&mut recovery, &mut tree, &base, &log, &Options::default(), &mut again).unwrap();
        prop_assert_eq!(again.runs, 0);
        prop_assert_eq!(again.behaviours.len(), runs.len());
    }
}
