//! Bounding preemptions, and sealing places against them, loses nothing that stays inside the bound.

use landfall_explore::schedule::bounded::{Bound, bounded, iterate};
use landfall_explore::schedule::{
    Access, End, Job, Options, Order, Persistency, Points, Step, Threads, Trace, Wait,
};
use landfall_testkit::catalogue;
use landfall_testkit::interpret::Interpreter;
use landfall_testkit::program::{Model, Order as Ordering, Program};
use landfall_testkit::schedules::{build, shape};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// A Mazurkiewicz trace: what each process did and found, and the order of the stores to each object.
type Signature = (
    Vec<(u16, u32, u32, u64, u64)>,
    BTreeMap<u32, Vec<(u16, u32)>>,
    bool,
);

fn signature(trace: &Trace, threads: usize) -> Signature {
    let mut steps: Vec<_> = trace
        .steps
        .iter()
        .map(|step| (step.process, step.tick, step.object, step.found, step.left))
        .collect();
    // What a commit found says no more than the order of the stores.
    for (entry, step) in steps.iter_mut().zip(&trace.steps) {
        if step.access == Access::Write && step.process as usize >= threads {
            entry.3 = 0;
        }
    }
    steps.sort_unstable();
    let mut stores: BTreeMap<u32, Vec<(u16, u32)>> = BTreeMap::new();
    for step in trace
        .steps
        .iter()
        .filter(|step| step.access == Access::Write)
    {
        stores
            .entry(step.object)
            .or_default()
            .push((step.process, step.tick));
    }
    (steps, stores, trace.end == End::Deadlock)
}

fn sealed(step: &Step) -> bool {
    step.site % 3 == 1
}

/// Preemptions of an execution, and whether one is at a sealed place.
fn preemptions(trace: &Trace, threads: usize) -> (u32, bool) {
    let (mut count, mut breaks_seal) = (0, false);
    let mut running: Option<u16> = None;
    for (at, step) in trace.steps.iter().enumerate() {
        if step.process as usize >= threads {
            continue;
        }
        if let Some(last) = running
            && last != step.process
            && [last, last + threads as u16]
                .iter()
                .any(|of| trace.enabled[at].contains(*of))
        {
            count += 1;
            let mut next = trace.steps[at..].iter();
            let next = next.find(|step| step.process == last);
            let waits = trace.blocked.iter().find_map(|wait| match wait {
                Wait::Step(step) if step.process == last => Some(step),
                _ => None,
            });
            breaks_seal |= next.or(waits).is_some_and(sealed);
        }
        running = Some(step.process);
    }
    (count, breaks_seal)
}

/// Every execution there is, one choice at a time; `None` if there are too many.
fn everything(program: &Program, model: Model, most: usize) -> Option<Vec<(Signature, u32, bool)>> {
    let mut threads = Interpreter::new(program, model);
    let count = program.threads.len();
    let order = Order {
        threads: count,
        streams: 0,
        persistency: Persistency::Ignored,
    };
    let mut found = Vec::new();
    let mut todo: Vec<Vec<u16>> = vec![Vec::new()];
    let mut trace = Trace::default();
    while let Some(follow) = todo.pop() {
        trace.restart(0);
        let job = Job {
            follow: &follow,
            keep: 0,
            sleep: &[],
            order,
            limit: 1000,
        };
        threads.run(&job, &mut trace).expect("runs");
        for at in follow.len()..trace.steps.len() {
            for process in 0..2 * count as u16 {
                if trace.enabled[at].contains(process) && process != trace.steps[at].process {
                    let mut other: Vec<u16> =
                        trace.steps[..at].iter().map(|step| step.process).collect();
                    other.push(process);
                    todo.push(other);
                }
            }
        }
        let (preemptions, breaks_seal) = preemptions(&trace, count);
        found.push((signature(&trace, count), preemptions, breaks_seal));
        if found.len() > most {
            return None;
        }
    }
    Some(found)
}

fn within(program: &Program, model: Model, bound: Bound<'_>) -> BTreeSet<Signature> {
    let mut found = BTreeSet::new();
    let mut threads = Interpreter::new(program, model);
    let result = bounded(
        &mut threads,
        &Points::Everywhere,
        bound,
        Options::default(),
        |_, search| {
            let trace = search.trace();
            let (count, _) = preemptions(trace, program.threads.len());
            assert!(count <= bound.preemptions);
            found.insert(signature(trace, program.threads.len()));
            ControlFlow::Continue(())
        },
    )
    .expect("runs");
    assert!(result.counts.complete);
    found
}

fn agree(program: &Program, model: Model) -> Result<(), TestCaseError> {
    program.validate().expect("valid");
    let Some(all) = everything(program, model, 4_000) else {
        return Ok(());
    };
    for preemptions in 0..3 {
        let bound = Bound {
            preemptions,
            sealed: &|_| false,
        };
        let expected: BTreeSet<_> = all
            .iter()
            .filter(|(_, count, _)| *count <= preemptions)
            .map(|(signature, ..)| signature.clone())
            .collect();
        prop_assert_eq!(
            within(program, model, bound),
            expected,
            "{:?} {} preemptions",
            model,
            preemptions
        );
    }
    let bound = Bound {
        preemptions: u32::MAX,
        sealed: &sealed,
    };
    let expected: BTreeSet<_> = all
        .iter()
        .filter(|(.., breaks_seal)| !breaks_seal)
        .map(|(signature, ..)| signature.clone())
        .collect();
    prop_assert_eq!(
        within(program, model, bound),
        expected,
        "{:?} sealed",
        model
    );
    Ok(())
}

fn cases() -> u32 {
    let asked = std::env::var("LANDFALL_CASES").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(200)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_inside_the_bound_is_lost_sc(shape in shape(3, 3)) {
        agree(&build(&shape, Ordering::Atomic), Model::Sc)?;
    }

    #[test]
    fn nothing_inside_the_bound_is_lost_tso(shape in shape(3, 3)) {
        agree(&build(&shape, Ordering::Atomic), Model::Tso)?;
    }
}

/// Dekker without fences under TSO: one thread is preempted before its store is in memory, the other inside.
#[test]
fn the_smallest_bound_comes_first() {
    let program = catalogue::dekker(false);
    let mut threads = Interpreter::new(&program, Model::Tso);
    let mut first_failure = None;
    iterate(
        &mut threads,
        &Points::Everywhere,
        5,
        Options::default(),
        |preemptions, _, search| {
            if search.trace().failures.is_empty() {
                return ControlFlow::Continue(());
            }
            first_failure = Some(preemptions);
            ControlFlow::Break(())
        },
    )
    .expect("runs");
    assert_eq!(first_failure, Some(2));
}
