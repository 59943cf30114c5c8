//! The axiomatic definition (docs/design/model.md §6): which execution graphs are consistent.
//!
//! A graph is a set of events with `po`, `rf` and `co`. It is consistent if
//! `(rfi ∪ coi ∪ fri) ⊆ po` and `ob = (ppo ∪ rfe ∪ co ∪ fr ∪ dtpo)+` is irreflexive, where `ppo` is the ordering table,
//! with data and control dependencies. After a crash each line shows a prefix of its `co`; `dtpo` puts every flush that has
//! happened before each write of its line that did not survive.
//!
//! This is `DPTSOsyn,full`: graphs are of whole executions. What *must have happened* by the crash is what is `ob`-before
//! a surviving write; only flushes among that count. (The literature takes the porf-prefix, which gives the same outcomes
//! under the table of Px86. `ob` stays right when the table is mutated, so that the two definitions can be compared there
//! too: choice L4 of docs/design/model.md §9.)
//!
//! Extensions to the published model: several variables a line (`co` orders the line), `clflushopt`/`clwb` (count once a
//! draining instruction that the table orders behind them has happened), non-temporal stores (a write that is also such a
//! flush of itself), eADR (every other write is also a flush of itself).
//!
//! Nothing here is shared with [`crate::operational`] but the parsed program and the table.

mod candidate;
mod coherence;
mod inside;
mod order;
mod transaction;

use crate::Model;
use crate::program::{LineId, LitmusOutcome, LitmusProgram, Location, Observe, Value};
use candidate::{CandidateGraph, CandidateGraphs};
use coherence::{Matters, coherence_orders};
use landfall_model::order::{OpKind, Platform};
use order::{EventOrder, MAX_EVENTS, Set, one};
use std::cell::Cell;
use std::collections::BTreeSet;
use transaction::{Attempt, endings};

#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GraphLimit {
    #[error("more than {0} decisions about execution graphs")]
    Graphs(usize),
    #[error("{0} instructions: the axiomatic definition takes at most {MAX_EVENTS}")]
    Events(usize),
}

/// All outcomes of all consistent graphs.
pub fn outcomes(
    program: &LitmusProgram,
    observe: &Observe,
    model: &Model,
    max_graphs: usize,
) -> Result<BTreeSet<LitmusOutcome>, GraphLimit> {
    let events: usize = program.threads.iter().map(|t| t.body.len()).sum();
    if events > MAX_EVENTS {
        return Err(GraphLimit::Events(events));
    }
    let budget = Cell::new(max_graphs);
    let mut judge = GraphJudge {
        program,
        model,
        places: observe.places(),
        observed: observed_lines(program, observe),
        outcomes: BTreeSet::new(),
        budget: &budget,
        read: read_vars(program),
        attempts: Vec::new(),
    };
    for attempts in endings(program) {
        judge.attempts.clone_from(&attempts);
        CandidateGraphs::new(program, model, &attempts, |candidate| {
            match (candidate, observe) {
                (None, _) => judge.afford(),
                (Some(candidate), Observe::Final(_)) => judge.at_the_end(candidate),
                (Some(candidate), Observe::Recover(_)) => judge.after_a_crash(candidate),
            }
        })
        .enumerate();
    }
    match budget.get() {
        0 => Err(GraphLimit::Graphs(max_graphs)),
        _ => Ok(judge.outcomes),
    }
}

fn observed_lines(program: &LitmusProgram, observe: &Observe) -> Vec<LineId> {
    let Observe::Recover(vars) = observe else {
        return Vec::new();
    };
    let mut lines: Vec<LineId> = vars.iter().map(|&v| program.line_of(v)).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// Variables that some instruction reads, as a set of bits.
fn read_vars(program: &LitmusProgram) -> u32 {
    let instrs = program.threads.iter().flat_map(|thread| &thread.body);
    instrs
        .filter(|instr| instr.reads())
        .filter_map(|instr| instr.var())
        .fold(0, |set, var| set | 1 << var.0)
}

struct GraphJudge<'a> {
    program: &'a LitmusProgram,
    model: &'a Model,
    places: Vec<Location>,
    observed: Vec<LineId>,
    outcomes: BTreeSet<LitmusOutcome>,
    /// Decisions that may still be taken.
    budget: &'a Cell<usize>,
    read: u32,
    /// How the transactions of the candidate end.
    attempts: Vec<Attempt>,
}

impl GraphJudge<'_> {
    fn afford(&self) -> bool {
        let left = self.budget.get().saturating_sub(1);
        self.budget.set(left);
        left > 0
    }

    /// Whose coherence order can be seen, by a read or in the outcome?
    fn matters(&self, event: &candidate::GraphEvent) -> Matters {
        let Some(var) = event.var else {
            return Matters::No;
        };
        let shown = self.places.contains(&Location::Var(var));
        if event.line.is_some_and(|line| self.observed.contains(&line)) {
            Matters::Line
        } else if shown || self.read & (1 << var.0) != 0 {
            Matters::Variable
        } else {
            Matters::No
        }
    }

    fn at_the_end(&mut self, candidate: &CandidateGraph) -> bool {
        // Without observed variables one coherence order is as good as any.
        let any_will_do = self
            .places
            .iter()
            .all(|p| matches!(p, Location::Reg { .. }));
        let mut outcomes = Vec::new();
        coherence_orders(
            candidate,
            &self.attempts,
            |event| self.matters(event),
            || self.afford(),
            |ob| {
                outcomes.push(
                    self.places
                        .iter()
                        .map(|place| match *place {
                            Location::Reg { thread, reg } => {
                                candidate.register(thread as usize, reg.0 as usize)
                            }
                            Location::Var(var) => newest(
                                ob,
                                candidate,
                                |e| e.var == Some(var),
                                self.program.vars[var.0 as usize].init,
                            ),
                        })
                        .collect(),
                );
                !any_will_do
            },
        );
        self.outcomes.extend(outcomes);
        self.budget.get() > 0
    }

    fn after_a_crash(&mut self, candidate: &CandidateGraph) -> bool {
        let mut found = std::mem::take(&mut self.outcomes);
        coherence_orders(
            candidate,
            &self.attempts,
            |event| self.matters(event),
            || self.afford(),
            |ob| {
                let lines: Vec<Vec<usize>> = self
                    .observed
                    .iter()
                    .map(|&line| line_writes(ob, candidate, line))
                    .collect();
                self.cuts(candidate, ob, &lines, &mut found)
            },
        );
        self.outcomes = found;
        self.budget.get() > 0
    }

    /// Every choice of one surviving prefix per line that is consistent with the flushes.
    fn cuts(
        &self,
        candidate: &CandidateGraph,
        ob: &EventOrder,
        lines: &[Vec<usize>],
        found: &mut BTreeSet<LitmusOutcome>,
    ) -> bool {
        let mut survived = vec![0; lines.len()];
        loop {
            if !self.afford() {
                return false;
            }
            let outcome = self.recovered(candidate, lines, &survived);
            // What a transaction wrote of a line survives as a whole.
            let torn = lines.iter().zip(&survived).any(|(writes, &n)| {
                n > 0 && n < writes.len() && ob.are_together(writes[n - 1], writes[n])
            });
            if !torn
                && !found.contains(&outcome)
                && self.consistent_crash(candidate, ob, lines, &survived)
            {
                found.insert(outcome);
            }
            let mut line = 0;
            loop {
                if line == lines.len() {
                    return true;
                }
                survived[line] += 1;
                if survived[line] <= lines[line].len() {
                    break;
                }
                survived[line] = 0;
                line += 1;
            }
        }
    }

    fn recovered(
        &self,
        candidate: &CandidateGraph,
        lines: &[Vec<usize>],
        survived: &[usize],
    ) -> LitmusOutcome {
        self.places
            .iter()
            .map(|place| {
                let Location::Var(var) = *place else { return 0 };
                let line = self.program.line_of(var);
                let init = self.program.vars[var.0 as usize].init;
                let Some(at) = self.observed.iter().position(|&l| l == line) else {
                    return init;
                };
                lines[at][..survived[at]]
                    .iter()
                    .rev()
                    .filter_map(|&write| candidate.events[write].as_ref())
                    .find(|event| event.var == Some(var))
                    .and_then(|event| event.written)
                    .unwrap_or(init)
            })
            .collect()
    }

    fn consistent_crash(
        &self,
        candidate: &CandidateGraph,
        ob: &EventOrder,
        lines: &[Vec<usize>],
        survived: &[usize],
    ) -> bool {
        let newest_survivors = lines
            .iter()
            .zip(survived)
            .filter(|&(_, &n)| n > 0)
            .fold(0, |set, (writes, &n)| set | one(writes[n - 1]));
        let happened = ob.down_closure(newest_survivors);
        let mut ob = ob.clone();
        for (flush, event) in candidate.events.iter().enumerate() {
            let Some(event) = event else { continue };
            let Some(at) = event
                .line
                .and_then(|line| self.observed.iter().position(|&l| l == line))
            else {
                continue;
            };
            if happened & one(flush) == 0 || !self.is_effective_flush(candidate, flush, happened) {
                continue;
            }
            for &lost in &lines[at][survived[at]..] {
                if ob.add(flush, lost).is_err() {
                    return false;
                }
            }
        }
        true
    }

    /// Has this event, which happened, made its line durable up to its own place in the order?
    fn is_effective_flush(&self, candidate: &CandidateGraph, flush: usize, happened: Set) -> bool {
        let Some(event) = &candidate.events[flush] else {
            return false;
        };
        match event.kind {
            OpKind::Flush => true,
            OpKind::FlushOpt | OpKind::NtWrite => {
                let mut later = candidate.events.iter().enumerate().skip(flush + 1);
                later.any(|(id, fence)| {
                    fence.as_ref().is_some_and(|fence| {
                        fence.thread == event.thread
                            && fence.kind.drains()
                            && happened & one(id) != 0
                            && self.model.table.ordered(
                                event.kind,
                                fence.kind,
                                fence.line.is_some() && fence.line == event.line,
                            )
                    })
                })
            }
            OpKind::Write | OpKind::Rmw => {
                self.model.platform == Platform::Eadr && event.written.is_some()
            }
            OpKind::Read | OpKind::Mfence | OpKind::Sfence => false,
        }
    }
}

/// The writes of a line in coherence order.
fn line_writes(ob: &EventOrder, candidate: &CandidateGraph, line: LineId) -> Vec<usize> {
    let mut writes: Vec<usize> = candidate
        .events
        .iter()
        .enumerate()
        .filter(|(_, e)| {
            e.as_ref()
                .is_some_and(|e| e.written.is_some() && e.line == Some(line))
        })
        .map(|(id, _)| id)
        .collect();
    writes.sort_by(|&a, &b| {
        if ob.before(a, b) {
            std::cmp::Ordering::Less
        } else if a == b {
            std::cmp::Ordering::Equal
        } else {
            std::cmp::Ordering::Greater
        }
    });
    writes
}

fn newest(
    ob: &EventOrder,
    candidate: &CandidateGraph,
    wanted: impl Fn(&candidate::GraphEvent) -> bool,
    init: Value,
) -> Value {
    let mut newest: Option<(usize, Value)> = None;
    for (id, event) in candidate.events.iter().enumerate() {
        if let Some(event) = event
            && let Some(value) = event.written
            && wanted(event)
            && newest.is_none_or(|(other, _)| ob.before(other, id))
        {
            newest = Some((id, value));
        }
    }
    newest.map_or(init, |(_, value)| value)
}
