//! Executions that nobody in the program tells apart, by trying everything: by which store each read returned, and by which value.

use super::{Keep, Outcome, try_all};
use crate::program::{Model, Program};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// What there is to find of a program.
#[derive(Debug)]
pub struct ReadFrom {
    /// What memory holds in the end is left out: nobody reads it.
    pub outcomes: BTreeSet<Outcome>,
    /// Classes by stores and their orders, by which store each read returned, and by which value. All tell in which order locks were used.
    pub orders: usize,
    pub reads: usize,
    pub values: usize,
}

/// Nobody looks at memory after the end.
pub fn without_memory(outcomes: BTreeSet<Outcome>) -> BTreeSet<Outcome> {
    let forget = |mut outcome: Outcome| {
        outcome.memory.clear();
        outcome
    };
    outcomes.into_iter().map(forget).collect()
}

/// `None` if there are more states than `most`.
pub fn read_from(program: &Program, model: Model, most: usize) -> Option<ReadFrom> {
    let (outcomes, graphs) = try_all(program, model, Keep::Histories, most)?;
    let reads = graphs.iter().map(|(reads, _, objects)| (reads, objects));
    let values = graphs.iter().map(|(reads, _, objects)| {
        let values = |reads: &Vec<(u32, u64)>| reads.iter().map(|read| read.1).collect();
        let values: Vec<Vec<u64>> = reads.iter().map(values).collect();
        (values, objects)
    });
    Some(ReadFrom {
        outcomes: without_memory(outcomes),
        orders: graphs.len(),
        reads: reads.collect::<FxHashSet<_>>().len(),
        values: values.collect::<FxHashSet<_>>().len(),
    })
}
