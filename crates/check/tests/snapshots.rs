//! Missing snapshots against their definition, byte by byte: every cut, everything it may leave, everything a recovery reads of that.

use crate::support::adaptive::{Adaptive, LINES};
use crate::support::{Program, Tree, piece, store};
use landfall_check::snapshots::{Snapshots, unadded};
use landfall_check::walk::Limits;
use landfall_check::{Checker, Execution, Kind, walk};
use landfall_model::crash::{CrashState, Crashed};
use landfall_model::event::{Action, Event, Fence, Mark};
use landfall_model::image::Image;
use landfall_model::line::{Addr, Line};
use landfall_model::log::{Cut, Log};
use landfall_model::order::Platform;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Places from here on are a library's.
const LIBRARY: u32 = 1000;

#[derive(Clone, Copy, Debug)]
enum Op {
    Store { at: u64, len: usize, own: bool },
    Clflush(u64),
    Clwb(u64),
    Fence,
    Begin,
    End,
    Add { at: u64, len: u64 },
}

fn op() -> impl Strategy<Value = Op> {
    let word = || (0..LINES, 0u64..2).prop_map(|(line, word)| line * 64 + word * 8);
    prop_oneof![
        6 => (word(), prop_oneof![Just((0, 8)), Just((4, 4))], prop::bool::weighted(0.8))
            .prop_map(|(word, (at, len), own)| Op::Store { at: word + at, len, own }),
        1 => (0..LINES).prop_map(Op::Clflush),
        2 => (0..LINES).prop_map(Op::Clwb),
        2 => Just(Op::Fence),
        2 => Just(Op::Begin),
        2 => Just(Op::End),
        2 => (word(), prop_oneof![Just(8u64), Just(4), Just(16)])
            .prop_map(|(at, len)| Op::Add { at, len }),
    ]
}

fn events(ops: &[Op]) -> Vec<Event> {
    let event = |(number, op): (usize, &Op)| match *op {
        Op::Store { at, len, own } => {
            let site = number as u32 + if own { 0 } else { LIBRARY };
            store(0, site, piece(at, &[number as u8 + 1; 8][..len]))
        }
        Op::Clflush(line) => Event::clflush(Line(line)),
        Op::Clwb(line) => Event::clwb(Line(line)),
        Op::Fence => Event::new(Action::Fence(Fence::Store)),
        Op::Begin => Event::mark(Mark::TxBegin),
        Op::End => Event::mark(Mark::TxEnd),
        Op::Add { at, len } => Event::mark(Mark::TxAdd {
            addr: Addr(at),
            bytes: len,
        }),
    };
    ops.iter().enumerate().map(event).collect()
}

/// A transaction as somebody would draw it on paper.
struct Drawn {
    from: usize,
    to: Option<usize>,
}

fn transactions(ops: &[Op]) -> Vec<Drawn> {
    let (mut found, mut depth) = (Vec::new(), 0);
    for (at, op) in ops.iter().enumerate() {
        match op {
            Op::Begin => {
                if depth == 0 {
                    found.push(Drawn { from: at, to: None });
                }
                depth += 1;
            }
            Op::End if depth == 1 => {
                depth = 0;
                found.last_mut().unwrap().to = Some(at);
            }
            Op::End => depth = std::cmp::max(depth, 1) - 1,
            _ => {}
        }
    }
    found
}

/// What adds a byte of this store to its transaction when it is made already.
fn added_late(ops: &[Op], store: usize) -> Option<usize> {
    let Op::Store { at, len, .. } = ops[store] else {
        return None;
    };
    let drawn = transactions(ops);
    let of = (drawn.iter().rev()).find(|of| of.from < store)?;
    (store..of.to.unwrap_or(ops.len())).find(|&op| match ops[op] {
        Op::Add {
            at: from,
            len: bytes,
        } => (at..at + len as u64).any(|byte| (from..from + bytes).contains(&byte)),
        _ => false,
    })
}

/// Stores that are seen too early, or missing too late, at this cut of this image.
fn broken(
    ops: &[Op],
    log: &Log,
    cut: u32,
    reads: &[(Addr, u8)],
    values: &[u64],
) -> BTreeSet<usize> {
    let entry = |op: usize| log.events().iter().position(|event| event.index() == op);
    let made = |op: usize| entry(op).is_some_and(|entry| (entry as u32) < cut);
    let mut found = BTreeSet::new();
    for of in transactions(ops) {
        let inside = of.from..of.to.unwrap_or(ops.len());
        let own = |op: usize| matches!(ops[op], Op::Store { own: true, .. });
        let Some(last) = inside.clone().rev().find(|&op| own(op)) else {
            continue;
        };
        let at_work = cut <= entry(last).unwrap() as u32 + 1;
        let over = of.to.is_some_and(|to| {
            let after = (to..ops.len()).find(|&op| matches!(ops[op], Op::Store { .. }));
            cut >= after.map_or(log.end().0, |op| entry(op).unwrap() as u32)
        });
        for bad in inside.clone().filter(|&op| own(op)) {
            let Op::Store { at, len, .. } = ops[bad] else {
                continue;
            };
            let added = |byte: u64| {
                ops[of.from..bad].iter().any(|op| match *op {
                    Op::Add { at, len } => (at..at + len).contains(&byte),
                    _ => false,
                })
            };
            if (at..at + len as u64).all(added) {
                continue;
            }
            for (&(word, mask), value) in reads.iter().zip(values) {
                for i in (0..8).filter(|i| mask & (1 << i) != 0) {
                    let byte = word.0 + i;
                    if !(at..at + len as u64).contains(&byte) {
                        continue;
                    }
                    let source = usize::from(value.to_le_bytes()[i as usize]).checked_sub(1);
                    let seen = source == Some(bad);
                    let missing = made(bad) && source.is_none_or(|source| source < bad);
                    if seen && at_work || missing && over {
                        found.insert(bad);
                    }
                }
            }
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn missing_snapshots_are_those_of_the_definition(
        ops in prop::collection::vec(op(), 0..14),
        seed in any::<u64>(),
        depth in 1u32..8,
    ) {
        let recovery = Adaptive { seed, depth, writes: false };
        let (execution, log) = Execution::logged(events(&ops), Platform::Adr);
        let base = Image::default();
        let mut expected = BTreeSet::new();
        for cut in 0..=log.end().0 {
            let state = CrashState::new(&base, [Crashed { log: &log, cut: Cut(cut) }]);
            state.images(&mut |image| {
                let (values, doings) = recovery.run(1, image);
                let reads: Vec<_> = doings.iter().filter_map(|doing| doing.next).collect();
                expected.extend(broken(&ops, &log, cut, &reads, &values));
                true
            });
        }
        let stores = unadded(execution.events(), |site| site < LIBRARY);
        for of in &stores.unadded {
            prop_assert_eq!(of.late.map(|mark| mark.index()), added_late(&ops, of.store.index()));
        }
        let mut snapshots = Snapshots::new(&execution, &stores);
        let tree = Tree::new(&recovery, Platform::Adr);
        let cuts = (0, execution.end());
        walk(&tree, &base, Rc::new(execution), cuts, Limits::default(), &mut [&mut snapshots]);
        let mut found = BTreeSet::new();
        for finding in snapshots.findings() {
            let Kind::MissingSnapshot { store, .. } = finding.kind else {
                continue;
            };
            found.insert(store.event.index());
            // The power failure that is told shows it.
            let crash = &finding.evidence.as_ref().unwrap().crashes[0];
            let state = CrashState::new(&base, [Crashed { log: &log, cut: crash.cut }]);
            let mut image = state.newest_image();
            for &(line, version) in &crash.old {
                let chain = [version].into_iter().collect();
                prop_assert!(state.feasible(line).contains(&chain), "not feasible");
                image.set_line(line, state.content(line, &chain));
            }
            let (values, doings) = recovery.run(1, &image);
            let reads: Vec<_> = doings.iter().filter_map(|doing| doing.next).collect();
            let shown = broken(&ops, &log, crash.cut.0, &reads, &values);
            prop_assert!(shown.contains(&store.event.index()), "evidence of nothing: {:?}", finding);
        }
        prop_assert_eq!(found, expected);
    }
}
