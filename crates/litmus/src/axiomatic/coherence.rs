//! Every coherence order (`co`) of a candidate that leaves `ob` without a cycle.
//!
//! For lines that a crash test observes, `co` orders all writes of the *line*: a recovery sees one prefix of it. Elsewhere
//! it orders the writes of one variable, which is all that reads can tell apart.

use super::candidate::{CandidateGraph, GraphEvent, ReadSource};
use super::order::{EventOrder, OrderCycle};
use super::transaction::{Attempt, OrderClause, moments};

/// Two writes whose order `co` must decide.
#[derive(Clone, Copy, Debug)]
struct Pair {
    a: usize,
    b: usize,
    same_var: bool,
}

/// Which writes `co` must order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Matters {
    /// All of the line.
    Line,
    /// Those of the variable.
    Variable,
    /// None: nobody looks, and any consistent order can be completed.
    No,
}

/// Calls `visit` with each consistent `ob` that decides every pair; it returns false to stop. `afford` is asked before each
/// decision.
pub(super) fn coherence_orders(
    candidate: &CandidateGraph,
    attempts: &[Attempt],
    matters: impl Fn(&GraphEvent) -> Matters,
    mut afford: impl FnMut() -> bool,
    mut visit: impl FnMut(&EventOrder) -> bool,
) {
    let mut order = candidate.order.clone();
    if read_from_initial(candidate, &mut order).is_err() {
        return;
    }
    let Ok(clauses) = moments(candidate, attempts, &mut order) else {
        return;
    };
    let writes: Vec<(usize, &GraphEvent)> = candidate
        .events
        .iter()
        .enumerate()
        .filter_map(|(id, e)| e.as_ref().map(|e| (id, e)))
        .filter(|(_, e)| e.written.is_some())
        .collect();
    let mut pairs = Vec::new();
    for (n, &(b, second)) in writes.iter().enumerate() {
        for &(a, first) in &writes[..n] {
            let same_var = first.var == second.var;
            let decides = match matters(first) {
                Matters::Line => first.line == second.line,
                Matters::Variable => same_var,
                Matters::No => false,
            };
            if decides {
                pairs.push(Pair { a, b, same_var });
            }
        }
    }
    decide(
        candidate,
        &pairs,
        order,
        &mut afford,
        &mut |order, afford| settle(&clauses, order, afford, &mut visit),
    );
}

/// Visits each way to keep the transactions undisturbed.
fn settle(
    clauses: &[OrderClause],
    order: &EventOrder,
    afford: &mut impl FnMut() -> bool,
    visit: &mut impl FnMut(&EventOrder) -> bool,
) -> bool {
    let Some((OrderClause(ways), rest)) = clauses.split_first() else {
        return visit(order);
    };
    if ways.iter().any(|&(a, b)| order.before(a, b)) {
        return settle(rest, order, afford, visit);
    }
    for &(a, b) in ways {
        let mut branch = order.clone();
        if branch.add(a, b).is_ok() && !(afford() && settle(rest, &branch, afford, visit)) {
            return false;
        }
    }
    true
}

fn decide<A: FnMut() -> bool>(
    candidate: &CandidateGraph,
    pairs: &[Pair],
    mut order: EventOrder,
    afford: &mut A,
    visit: &mut impl FnMut(&EventOrder, &mut A) -> bool,
) -> bool {
    if !afford() {
        return false;
    }
    let Some((&pair, rest)) = pairs.split_first() else {
        return visit(&order, afford);
    };
    let Pair { a, b, .. } = pair;
    if order.before(b, a) {
        return put(candidate, pair, b, a, &mut order).is_err()
            || decide(candidate, rest, order, afford, visit);
    }
    if order.before(a, b) {
        return put(candidate, pair, a, b, &mut order).is_err()
            || decide(candidate, rest, order, afford, visit);
    }
    for (first, second) in [(a, b), (b, a)] {
        let mut branch = order.clone();
        if put(candidate, pair, first, second, &mut branch).is_ok()
            && !decide(candidate, rest, branch, afford, visit)
        {
            return false;
        }
    }
    true
}

/// Orders two writes, and with them the reads of the first that the second comes after (`fr = rf⁻¹;co`).
fn put(
    candidate: &CandidateGraph,
    pair: Pair,
    first: usize,
    second: usize,
    order: &mut EventOrder,
) -> Result<(), OrderCycle> {
    if pair.same_var && against_program_order(candidate, first, second) {
        return Err(OrderCycle); // coi ⊆ po
    }
    order.add(first, second)?;
    if pair.same_var {
        for (read, event) in reads(candidate) {
            if event.read.map(|(source, _)| source) == Some(ReadSource::Write(first)) {
                from_read(candidate, read, second, order)?;
            }
        }
    }
    Ok(())
}

/// A read of the initial value comes before every write of its variable.
fn read_from_initial(candidate: &CandidateGraph, order: &mut EventOrder) -> Result<(), OrderCycle> {
    for (read, event) in reads(candidate) {
        if event.read.map(|(source, _)| source) != Some(ReadSource::Initial) {
            continue;
        }
        for (write, other) in candidate.events.iter().enumerate() {
            if let Some(other) = other
                && other.written.is_some()
                && other.var == event.var
            {
                from_read(candidate, read, write, order)?;
            }
        }
    }
    Ok(())
}

fn from_read(
    candidate: &CandidateGraph,
    read: usize,
    write: usize,
    order: &mut EventOrder,
) -> Result<(), OrderCycle> {
    if read == write {
        return Ok(()); // A locked instruction overwrites what it read.
    }
    if against_program_order(candidate, read, write) {
        return Err(OrderCycle); // fri ⊆ po
    }
    order.add(read, write)
}

fn reads(candidate: &CandidateGraph) -> impl Iterator<Item = (usize, &GraphEvent)> {
    candidate
        .events
        .iter()
        .enumerate()
        .filter_map(|(id, e)| e.as_ref().map(|e| (id, e)))
        .filter(|(_, e)| e.read.is_some())
}

fn against_program_order(candidate: &CandidateGraph, first: usize, second: usize) -> bool {
    match (&candidate.events[first], &candidate.events[second]) {
        (Some(a), Some(b)) => a.thread == b.thread && a.instr > b.instr,
        _ => false,
    }
}
