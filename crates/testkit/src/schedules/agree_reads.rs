//! The search by reads-from against trying everything.

use super::read_from::{read_from, without_memory};
use super::{Keep, Outcome, brute_force, plain};
use crate::interpret::Interpreter;
use crate::program::{Model, Program};
use landfall_explore::schedule::read_from::{ReadsTold, Refused, read_from as search};
use landfall_explore::schedule::{Counts, End, Options};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// All it finds of a program.
pub fn explore(
    program: &Program,
    model: Model,
    told: ReadsTold,
    options: Options,
) -> Result<(BTreeSet<Outcome>, Counts), Refused> {
    let mut outcomes = BTreeSet::new();
    let mut threads = Interpreter::new(program, model);
    let counts = search(&mut threads, told, options, |threads, trace| {
        if matches!(trace.end, End::Complete | End::Deadlock) {
            outcomes.insert(Outcome {
                memory: Vec::new(),
                regs: (0..program.threads.len())
                    .map(|t| threads.registers(t).to_vec())
                    .collect(),
                stuck: trace.end == End::Deadlock,
            });
        }
        ControlFlow::Continue(())
    })
    .expect("runs")?;
    Ok((outcomes, counts))
}

/// The same where somebody reads all of memory in the end: it finds every outcome, memory included, of executions that end well.
pub fn agree_in_the_end(
    program: &Program,
    model: Model,
    told: ReadsTold,
    most: usize,
) -> Result<(), TestCaseError> {
    program.validate().expect("valid");
    let Some((outcomes, _)) = brute_force(program, model, Keep::States, most) else {
        return Ok(());
    };
    let mut found = BTreeSet::new();
    let mut threads = Interpreter::new(program, model).blind_in_the_end();
    let searched = search(&mut threads, told, Options::default(), |threads, trace| {
        if trace.end == End::Complete {
            found.insert(Outcome {
                memory: plain(program, threads.memory()),
                regs: (0..program.threads.len())
                    .map(|t| threads.registers(t).to_vec())
                    .collect(),
                stuck: false,
            });
        }
        ControlFlow::Continue(())
    });
    prop_assert!(searched.expect("runs").is_ok_and(|counts| counts.complete));
    let ended = |outcome: &Outcome| !outcome.stuck;
    let outcomes: BTreeSet<Outcome> = outcomes.into_iter().filter(ended).collect();
    prop_assert_eq!(&found, &outcomes, "{:?}", model);
    Ok(())
}

/// It finds every outcome, and each class of who read what (or which value) once; `None` if there are more states than `most`.
pub fn agree(
    program: &Program,
    model: Model,
    told: ReadsTold,
    most: usize,
) -> Result<Option<Counts>, TestCaseError> {
    program.validate().expect("valid");
    let Some(all) = read_from(program, model, most) else {
        return Ok(None);
    };
    let (found, counts) = match explore(program, model, told, Options::default()) {
        Ok(found) => found,
        Err(refused) => return Err(TestCaseError::fail(format!("{refused:?}"))),
    };
    prop_assert!(counts.complete);
    prop_assert_eq!(
        &without_memory(found),
        &all.outcomes,
        "{:?} {:?}",
        model,
        counts
    );
    prop_assert_eq!(
        counts.executions,
        match told {
            ReadsTold::ByStores => all.reads as u64,
            ReadsTold::ByValues => all.values as u64,
        },
        "{:?} {:?}",
        model,
        counts
    );
    Ok(Some(counts))
}
