//! Preserved program order, from the ordering table, and order across threads.
//!
//! Edges that others imply are left out. Some events may not happen (branches): an edge that only they would carry must not
//! lead through them then, so edges into an event that orders more than its neighbours order themselves (a fence, mostly)
//! are guarded by its happening, unless nothing after it can happen without it.

use super::Encoding;
use crate::program::*;
use landfall_model::order::{OpKind, OrderTable};

struct OrderedStep {
    id: GuardedEventId,
    kind: OpKind,
    line: Option<LocLine>,
    loc: Option<LocId>,
}

impl OrderedStep {
    fn of(program: &Program, id: GuardedEventId) -> Option<OrderedStep> {
        Some(OrderedStep {
            id,
            kind: program.event(id).op_kind()?,
            line: program.line_of(id),
            loc: program.event(id).loc(),
        })
    }

    fn stays_before(&self, later: &OrderedStep) -> bool {
        let same_line = (self.line.is_some() && self.line == later.line)
            || (self.loc.is_some() && self.loc == later.loc);
        OrderTable::PX86.ordered(self.kind, later.kind, same_line)
    }
}

/// Does the table keep the order of two events of one thread?
pub(super) fn stays_before(
    program: &Program,
    first: GuardedEventId,
    second: GuardedEventId,
) -> bool {
    match (
        OrderedStep::of(program, first),
        OrderedStep::of(program, second),
    ) {
        (Some(first), Some(second)) => first.stays_before(&second),
        _ => false,
    }
}

impl Encoding<'_> {
    pub(super) fn preserved_order(&mut self) {
        let program = self.program;
        self.exposed = vec![false; program.events.len()];
        for thread in 0..program.threads.len() as u32 {
            let steps: Vec<OrderedStep> = program
                .thread_events(ThreadId(thread))
                .into_iter()
                .filter_map(|id| OrderedStep::of(program, id))
                .collect();
            self.thread_order(&steps);
        }
        for &(first, second) in &program.orders {
            self.ordering
                .fixed
                .push((self.node(first), self.node(second)));
        }
    }

    fn thread_order(&mut self, steps: &[OrderedStep]) {
        let count = steps.len();
        let mut before = vec![vec![false; count]; count];
        let mut needs = vec![vec![false; count]; count]; // [b][a]: b happens only if a does
        for b in 0..count {
            for a in 0..b {
                before[a][b] = steps[a].stays_before(&steps[b]);
                needs[b][a] = self.implies(steps[b].id, steps[a].id);
            }
        }
        for (at, step) in steps.iter().enumerate() {
            let later = at + 1..count;
            self.exposed[step.id.index()] = later.clone().any(|c| !needs[c][at]);
            let carries = (0..at).filter(|&a| before[a][at]).any(|a| {
                later
                    .clone()
                    .any(|c| before[at][c] && !before[a][c] && !needs[c][at])
            });
            let guard = match carries {
                true => self.executed(step.id),
                false => crate::cnf::Lit::TRUE,
            };
            for a in 0..at {
                let implied = (a + 1..at).any(|z| before[a][z] && before[z][at] && needs[at][z]);
                if before[a][at] && !implied {
                    self.edge(self.node(steps[a].id), self.node(step.id), &[guard]);
                }
            }
        }
    }
}
