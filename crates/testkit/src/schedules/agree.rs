//! The search against trying everything.

use super::renamed::classes;
use super::{Keep, Outcome, assume, brute_force, plain, try_states};
use crate::interpret::Interpreter;
use crate::program::{Model, Program};
use landfall_explore::schedule::{
    Counts, End, Options, Persistency, Threads, Trace, helped, search,
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// All the search finds of a program.
pub fn explore(program: &Program, model: Model) -> (BTreeSet<Outcome>, Counts) {
    explore_most(program, model, Options::default())
}

/// What the search finds of a program in so many executions.
pub fn explore_most(
    program: &Program,
    model: Model,
    options: Options,
) -> (BTreeSet<Outcome>, Counts) {
    let mut outcomes = BTreeSet::new();
    let mut threads = Interpreter::new(program, model);
    if options.symmetry {
        threads = threads.tell_alike();
    }
    let counts = search(&mut threads, options, |threads, trace| {
        if matches!(trace.end, End::Complete | End::Deadlock) {
            outcomes.insert(Outcome {
                memory: plain(program, threads.memory()),
                regs: (0..program.threads.len())
                    .map(|t| threads.registers(t).to_vec())
                    .collect(),
                stuck: trace.end == End::Deadlock,
            });
        }
        ControlFlow::Continue(())
    })
    .expect("runs");
    (outcomes, counts)
}

/// It finds every outcome that trying everything finds, each graph once; programs with more states than `most` are passed over.
pub fn agree(program: &Program, model: Model, most: usize) -> Result<(), TestCaseError> {
    let Some((counts, graphs)) = same_outcomes(program, model, most)? else {
        return Ok(());
    };
    prop_assert_eq!(counts.executions, graphs as u64, "{:?} {:?}", model, counts);
    Ok(())
}

/// The same without a look at how often it finds them: what the search counted, and the graphs that trying everything finds.
pub fn same_outcomes(
    program: &Program,
    model: Model,
    most: usize,
) -> Result<Option<(Counts, usize)>, TestCaseError> {
    program.validate().expect("valid");
    let Some((outcomes, graphs)) = brute_force(program, model, Keep::Histories, most) else {
        return Ok(None);
    };
    let (found, counts) = explore(program, model);
    prop_assert_eq!(&found, &outcomes, "{:?}", model);
    if let Some((by_choice, _)) = brute_force(program, model, Keep::States, most) {
        prop_assert_eq!(&found, &by_choice, "signals that choose, {:?}", model);
    }
    prop_assert_eq!(counts.blocked, 0, "{:?} {:?}", model, counts);
    Ok(Some((counts, graphs)))
}

/// The class of outcomes that differ in which of several threads that are alike did what: the least of them.
pub fn least_renaming(outcome: &Outcome, alike: &[u8]) -> Outcome {
    let mut least = outcome.clone();
    for first in 0..alike.len() {
        let members = (0..alike.len()).filter(|&t| usize::from(alike[t]) == first);
        let members: Vec<usize> = members.collect();
        let mut regs: Vec<_> = members.iter().map(|&t| outcome.regs[t].clone()).collect();
        regs.sort();
        for (&thread, regs) in members.iter().zip(regs) {
            least.regs[thread] = regs;
        }
    }
    least
}

/// Where threads are alike, one execution for each class of renamed graphs, and every outcome up to renaming. Returns how many there are, and how
/// many with names; `None` if there are too many.
pub fn agree_renamed(
    program: &Program,
    model: Model,
    most: u64,
) -> Result<Option<(u64, u64)>, TestCaseError> {
    program.validate().expect("valid");
    let alike = program.alike();
    let options = Options {
        executions: most,
        limit: 300,
        ..Options::default()
    };
    let (named, all) = explore_most(program, model, options);
    if !all.complete {
        return Ok(None);
    }
    let renamed = Options {
        symmetry: true,
        ..options
    };
    let (found, counts) = explore_most(program, model, renamed);
    let least = |outcomes: &BTreeSet<Outcome>| -> BTreeSet<Outcome> {
        outcomes
            .iter()
            .map(|outcome| least_renaming(outcome, &alike))
            .collect()
    };
    prop_assert_eq!(least(&found), least(&named), "{:?} {:?}", model, counts);
    prop_assert_eq!(counts.blocked, 0, "{:?} {:?}", model, counts);
    prop_assert_eq!(
        counts.stand_for,
        all.executions,
        "{:?} {:?} {:?}",
        model,
        counts,
        all
    );
    if let Some((graphs, classes)) = classes(program, model, 2_000) {
        prop_assert_eq!(all.executions, graphs as u64, "{:?}", model);
        prop_assert_eq!(
            counts.executions,
            classes as u64,
            "{:?} {:?}",
            model,
            counts
        );
    }
    Ok(Some((counts.executions, all.executions)))
}

/// A program with loops may have millions of executions, and some of them may have no end.
fn at_most() -> Options {
    Options {
        executions: 5_000,
        limit: 200,
        ..Options::default()
    }
}

/// With loops: complete executions show what trying everything shows, somebody waits for ever exactly if that can be, and there are as many as if
/// every turn but the last were left out by hand. Programs with too many states or executions are passed over; `true` if it was not.
pub fn agree_with_loops(program: &Program, model: Model) -> Result<bool, TestCaseError> {
    program.validate().expect("valid");
    let Some((outcomes, stuck)) = try_states(program, model, 20_000) else {
        return Ok(false);
    };
    let complete = |outcomes: BTreeSet<Outcome>| -> BTreeSet<Outcome> {
        let complete = |outcome: &Outcome| !outcome.stuck;
        outcomes.into_iter().filter(complete).collect()
    };
    let (found, counts) = explore_most(program, model, at_most());
    let deadlocked = deadlocks(program, model)?;
    let found = complete(found);
    if !counts.complete {
        prop_assert!(found.is_subset(&outcomes), "{:?}", model);
        return Ok(false);
    }
    prop_assert_eq!(&found, &outcomes, "{:?} {:?}", model, counts);
    prop_assert_eq!(deadlocked, stuck, "{:?} {:?}", model, counts);
    prop_assert_eq!(counts.blocked, 0, "{:?} {:?}", model, counts);
    Ok(true)
}

/// Can nobody go on in some execution, whatever those who go round in loops show each other?
fn deadlocks(program: &Program, model: Model) -> Result<bool, TestCaseError> {
    let mut stuck: Vec<Trace> = Vec::new();
    let mut threads = Interpreter::new(program, model);
    search(&mut threads, at_most(), |_, trace| {
        if trace.end == End::Deadlock {
            stuck.push(trace.clone());
        }
        ControlFlow::Continue(())
    })
    .expect("runs");
    let order = threads.order(Persistency::default());
    for trace in &stuck {
        if !helped(&mut threads, order, trace).expect("runs") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// As many complete executions as if every turn but the last were left out by hand.
pub fn counts_as_assumed(program: &Program, model: Model) -> Result<(), TestCaseError> {
    let (_, counts) = explore_most(program, model, at_most());
    let (_, assumed) = explore_most(&assume(program), model, at_most());
    if counts.complete && assumed.complete {
        prop_assert_eq!(
            counts.executions - counts.deadlocks,
            assumed.executions - assumed.deadlocks,
            "{:?} {:?} {:?}",
            model,
            counts,
            assumed
        );
    }
    Ok(())
}
