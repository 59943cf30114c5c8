//! Which events happen, and which had happened by the crash.

use super::order::stays_before;
use super::{CrashEncoding, Encoding, View};
use crate::cnf::Lit;
use crate::program::*;
use crate::term::Node;
use landfall_model::order::{OpKind, Platform};

impl Encoding<'_> {
    pub(super) fn execution(&mut self) {
        let program = self.program;
        let encoding = match self.view {
            View::AfterFailure(encoding) => Some(encoding),
            View::AtTheEnd | View::Instant => None,
        };
        let at_flushes = matches!(
            encoding,
            Some(CrashEncoding::PartialAtFlushes | CrashEncoding::FullAtFlushes)
        );
        let partial = matches!(
            encoding,
            Some(CrashEncoding::Partial | CrashEncoding::PartialAtFlushes)
        );
        let durable = self.durability_points();
        let overtakers: Vec<bool> = (0..program.threads.len())
            .map(|thread| {
                let mut events = program.events.iter();
                events.any(|e| e.thread.index() == thread && e.op_kind() == Some(OpKind::NtWrite))
            })
            .collect();
        // How far each thread came: literals that only become false.
        let mut progress = vec![Lit::TRUE; program.threads.len()];
        let mut came: Vec<Lit> = Vec::new();
        for id in program.event_ids() {
            let event = program.event(id);
            let thread = event.thread.index();
            let before: Vec<Lit> = program
                .orders
                .iter()
                .filter(|(_, second)| *second == id)
                .map(|(first, _)| came[first.index()])
                .collect();
            let may_stop = match at_flushes {
                true => durable[id.index()],
                false => event.op_kind().is_some(),
            };
            let here = if encoding.is_none() {
                Lit::TRUE // nothing fails
            } else if let (true, Some(&whole)) = (event.joined, came.last()) {
                whole // one step with the event before
            } else if overtakers[thread]
                && matches!(event.op_kind(), Some(OpKind::NtWrite | OpKind::Read))
            {
                let here = self.overtaking(id, &came, progress[thread], may_stop);
                progress[thread] = self.formula.and(progress[thread], here);
                here
            } else {
                let all = before
                    .iter()
                    .fold(progress[thread], |all, &other| self.formula.and(all, other));
                let here = match may_stop {
                    true => self.formula.fresh(),
                    false => all,
                };
                self.formula.implies(here, all);
                progress[thread] = here;
                here
            };
            came.push(here);
            let guard = self.truth(event.guard);
            let executed = match partial {
                true => self.formula.and(here, guard),
                false => guard,
            };
            self.executed.push(executed);
            self.happened.push(match partial {
                true => Lit::TRUE,
                false => here,
            });
            let wrote = match event.kind {
                Kind::Store { .. } | Kind::NtStore { .. } => executed,
                Kind::Rmw { when, .. } => {
                    let when = self.truth(when);
                    self.formula.and(executed, when)
                }
                _ => Lit::FALSE,
            };
            self.wrote.push(wrote);
        }
    }

    /// A non-temporal store may overtake flushes and stores of other lines, and so may a read before it: they can have happened
    /// where those have not. Only what the table keeps before them must have.
    fn overtaking(
        &mut self,
        id: GuardedEventId,
        came: &[Lit],
        progress: Lit,
        may_stop: bool,
    ) -> Lit {
        let program = self.program;
        let thread = program.event(id).thread;
        let needed: Vec<GuardedEventId> = (0..id.0)
            .map(GuardedEventId)
            .filter(|&e| program.event(e).thread == thread && stays_before(program, e, id))
            .collect();
        let certain =
            |this: &mut Self, e: GuardedEventId| came[e.index()] == progress && this.implies(id, e);
        if !may_stop && (progress == Lit::TRUE || needed.iter().any(|&e| certain(self, e))) {
            return progress;
        }
        let here = self.formula.fresh();
        for other in needed {
            // What a branch left out keeps nothing in order.
            let there = match self.implies(id, other) {
                true => Lit::TRUE,
                false => self.truth(program.event(other).guard),
            };
            self.formula.clause(&[!here, !there, came[other.index()]]);
        }
        here
    }

    /// Events that can make something durable that a recovery looks at: a crash anywhere else is as good as one before the
    /// next of these, because what lies between takes nothing away from what a crash can leave.
    fn durability_points(&self) -> Vec<bool> {
        let program = self.program;
        let lines = self.observed_lines();
        let mut pending = vec![false; program.threads.len()];
        program
            .event_ids()
            .map(|id| {
                let event = program.event(id);
                let observed = program
                    .line_of(id)
                    .is_some_and(|line| lines.contains(&line));
                let waits = &mut pending[event.thread.index()];
                match event.op_kind() {
                    Some(OpKind::Flush) => observed,
                    Some(OpKind::FlushOpt) => {
                        *waits |= observed;
                        false
                    }
                    Some(OpKind::NtWrite) => {
                        *waits |= observed;
                        false
                    }
                    Some(kind) => {
                        let own = program.platform == Platform::Eadr
                            && observed
                            && matches!(kind, OpKind::Write | OpKind::Rmw);
                        own || (program.drains(id) && *waits)
                    }
                    None => false,
                }
            })
            .collect()
    }

    /// Lines that a recovery looks at, sorted.
    pub(super) fn observed_lines(&self) -> Vec<LocLine> {
        let recovered = self.spoken_of(|node| match node {
            Node::Recovered(loc) => Some(loc),
            _ => None,
        });
        let mut lines: Vec<LocLine> = recovered
            .iter()
            .filter_map(|&(loc, _)| self.program.location(loc).line())
            .collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }
}
