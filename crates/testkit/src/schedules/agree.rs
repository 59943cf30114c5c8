//! The search against trying everything.

use super::{Keep, Outcome, brute_force, plain};
use crate::interpret::Interpreter;
use crate::program::{Model, Program};
use landfall_explore::schedule::{Counts, End, Options, search};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// All the search finds of a program.
pub fn explore(program: &Program, model: Model) -> (BTreeSet<Outcome>, Counts) {
    explore_most(program, model, u64::MAX)
}

/// What the search finds of a program in so many executions.
pub fn explore_most(program: &Program, model: Model, most: u64) -> (BTreeSet<Outcome>, Counts) {
    let mut left = most;
    let mut outcomes = BTreeSet::new();
    let mut threads = Interpreter::new(program, model);
    let counts = search(&mut threads, Options::default(), |threads, trace| {
        outcomes.insert(Outcome {
            memory: plain(program, threads.memory()),
            regs: (0..program.threads.len())
                .map(|t| threads.registers(t).to_vec())
                .collect(),
            stuck: trace.end == End::Deadlock,
        });
        left -= 1;
        match left {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    })
    .expect("runs");
    (outcomes, counts)
}

/// It finds every outcome that trying everything finds, each graph once; programs with more states than `most` are passed over.
pub fn agree(program: &Program, model: Model, most: usize) -> Result<(), TestCaseError> {
    program.validate().expect("valid");
    let Some((outcomes, graphs)) = brute_force(program, model, Keep::Histories, most) else {
        return Ok(());
    };
    let (found, counts) = explore(program, model);
    prop_assert_eq!(&found, &outcomes, "{:?}", model);
    prop_assert_eq!(counts.blocked, 0, "{:?} {:?}", model, counts);
    prop_assert_eq!(counts.executions, graphs as u64, "{:?} {:?}", model, counts);
    Ok(())
}
