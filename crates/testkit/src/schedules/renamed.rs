//! Threads that are alike, by trying everything: how many graphs there are up to renaming, counted by renaming them in every way.

use super::{Graph, Keep, try_all};
use crate::program::{Model, Program};
use rustc_hash::FxHashSet;

/// Every way to rename threads that are alike: which becomes which.
fn renamings(alike: &[u8]) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for &class in alike {
        let members = |&t: &usize| alike[t] == class;
        all = (all.iter())
            .flat_map(|names: &Vec<usize>| {
                let free = (0..alike.len()).filter(members);
                let free = free.filter(|t| !names.contains(t)).collect::<Vec<_>>();
                let longer = |to: usize| [&names[..], &[to]].concat();
                free.into_iter().map(longer).collect::<Vec<_>>()
            })
            .collect();
    }
    all
}

/// Stores are numbered by thread.
fn store(number: u32, names: &[usize]) -> u32 {
    match number {
        0 => 0,
        _ => (number & !15) + names[(number & 15) as usize - 1] as u32 + 1,
    }
}

fn rename((reads, stores, objects): &Graph, names: &[usize]) -> Graph {
    let mut renamed = vec![Vec::new(); reads.len()];
    for (thread, reads) in reads.iter().enumerate() {
        let reads = reads
            .iter()
            .map(|&(from, value)| (store(from, names), value));
        renamed[names[thread]] = reads.collect();
    }
    let order = |stores: &Vec<u32>| stores.iter().map(|&one| store(one, names)).collect();
    let objects = objects.iter().map(|object| object.renamed(names)).collect();
    (renamed, stores.iter().map(order).collect(), objects)
}

/// How many graphs a program has, and how many classes of renamed ones; `None` if it is too much.
pub fn classes(program: &Program, model: Model, most: usize) -> Option<(usize, usize)> {
    let (_, mut graphs) = try_all(program, model, Keep::Histories, most)?;
    let (all, names) = (graphs.len(), renamings(&program.alike()));
    let mut classes = 0;
    while let Some(graph) = graphs.iter().next().cloned() {
        classes += 1;
        let class: FxHashSet<Graph> = names.iter().map(|names| rename(&graph, names)).collect();
        for renamed in class {
            // A renamed execution is one.
            assert!(graphs.remove(&renamed), "{renamed:?}");
        }
    }
    Some((all, classes))
}
