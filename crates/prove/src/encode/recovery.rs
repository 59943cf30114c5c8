//! What is looked at in the end: memory after a power failure, in one instant, or when all threads have ended.

use super::{Encoding, Reader, ReadsFrom};
use crate::cnf::Lit;
use crate::program::*;
use crate::term::{Node, Term};
use landfall_model::order::{OpKind, OrderTable, Platform};

impl Encoding<'_> {
    /// One node per line that is looked at: survivors before it, flushes that had happened before it, lost writes after it.
    pub(super) fn after_failure(&mut self) {
        for line in self.observed_lines() {
            let node = self.new_node();
            let writes = self.writes(|loc| loc.line() == Some(line));
            self.divide(node, &writes);
            self.flushes(node, line, &writes);
        }
        self.recovered_values();
    }

    /// One node for all of memory, and no flushes: the node is an instant of the execution.
    pub(super) fn instant(&mut self) {
        let lines = self.observed_lines();
        let node = self.new_node();
        let writes = self.writes(|loc| loc.line().is_some_and(|line| lines.contains(&line)));
        self.divide(node, &writes);
        self.recovered_values();
    }

    fn new_node(&mut self) -> u32 {
        self.ordering.nodes += 1;
        self.ordering.nodes as u32 - 1
    }

    fn writes(&self, at: impl Fn(&Location) -> bool) -> Vec<GuardedEventId> {
        let program = self.program;
        program
            .event_ids()
            .filter(|&id| program.event(id).written().is_some())
            .filter(|&id| {
                let loc = program.event(id).loc();
                loc.is_some_and(|loc| at(program.location(loc)))
            })
            .collect()
    }

    /// Each write comes before the node and survives, or after it and is lost.
    fn divide(&mut self, node: u32, writes: &[GuardedEventId]) {
        for &write in writes {
            // What is one step survives as one.
            let before = self
                .program
                .event(write)
                .joined
                .then(|| self.survived.get(&GuardedEventId(write.0 - 1)).copied());
            let survived = match before.flatten() {
                Some(whole) if self.wrote(GuardedEventId(write.0 - 1)) == self.wrote(write) => {
                    whole
                }
                _ => self.formula.fresh(),
            };
            self.survived.insert(write, survived);
            let (wrote, happened) = (self.wrote(write), self.happened(write));
            self.formula.implies(survived, wrote);
            self.formula.implies(survived, happened);
            let guard = self.write_guard(write);
            self.edge(self.node(write), node, &[survived, guard]);
            self.edge(node, self.node(write), &[!survived, guard]);
        }
    }

    /// What had been made durable by the crash is not lost.
    fn flushes(&mut self, node: u32, line: LocLine, writes: &[GuardedEventId]) {
        let program = self.program;
        for id in program.event_ids() {
            if program.line_of(id) != Some(line) {
                continue;
            }
            let by_crash = [self.executed(id), self.happened(id)];
            match program.event(id).op_kind() {
                Some(OpKind::Flush) => self.edge(self.node(id), node, &by_crash),
                Some(OpKind::FlushOpt | OpKind::NtWrite) => {
                    for fence in self.draining(id) {
                        let [a, b] = by_crash;
                        let drained = [a, b, self.executed(fence), self.happened(fence)];
                        match writes.contains(&id) {
                            true => self.survives_if(id, &drained),
                            false => self.edge(self.node(id), node, &drained),
                        }
                    }
                }
                Some(OpKind::Write | OpKind::Rmw) if program.platform == Platform::Eadr => {
                    let wrote = self.wrote(id);
                    self.survives_if(id, &[by_crash[1], wrote]);
                }
                _ => {}
            }
        }
    }

    fn survives_if(&mut self, write: GuardedEventId, conditions: &[Lit]) {
        let mut clause: Vec<Lit> = conditions.iter().map(|&c| !c).collect();
        clause.extend(self.survived(write));
        self.formula.clause(&clause);
    }

    /// The instructions that make a weak flush effective: those of its thread that drain, up to the first that happens
    /// whenever a later one does.
    fn draining(&mut self, flush: GuardedEventId) -> Vec<GuardedEventId> {
        let program = self.program;
        let event = program.event(flush);
        let mut fences: Vec<GuardedEventId> = Vec::new();
        for id in program.event_ids().skip(flush.index() + 1) {
            let fence = program.event(id);
            let (Some(kind), Some(weak)) = (fence.op_kind(), event.op_kind()) else {
                continue;
            };
            let same_line =
                program.line_of(id).is_some() && program.line_of(id) == program.line_of(flush);
            if fence.thread != event.thread
                || !program.drains(id)
                || !OrderTable::PX86.ordered(weak, kind, same_line)
            {
                continue;
            }
            if !fences.iter().any(|&earlier| self.implies(id, earlier)) {
                fences.push(id);
            }
        }
        fences
    }

    /// The value of a location after recovery is that of its newest survivor.
    fn recovered_values(&mut self) {
        let recovered = self.spoken_of(|node| match node {
            Node::Recovered(loc) => Some(loc),
            _ => None,
        });
        for (loc, term) in recovered {
            self.choose_source(Reader::Recovery(loc), loc, term, |this, source, other| {
                let after = source.map_or(Lit::TRUE, |w| this.before(w, other));
                let survived = this.survived(other).unwrap_or(Lit::FALSE);
                (after, !survived)
            });
        }
    }

    /// The value of a location at the end is that of its newest write.
    pub(super) fn last_values(&mut self) {
        let ended = self.spoken_of(|node| match node {
            Node::Final(loc) => Some(loc),
            _ => None,
        });
        for (loc, term) in ended {
            self.choose_source(Reader::End(loc), loc, term, |this, source, other| {
                let after = source.map_or(Lit::TRUE, |w| this.before(w, other));
                (after, Lit::FALSE)
            });
        }
    }

    /// Some source, such that any other write is not there, or not `(after it, unless …)`.
    fn choose_source(
        &mut self,
        reader: Reader,
        loc: LocId,
        value: Term,
        overwritten: impl Fn(&Self, Option<GuardedEventId>, GuardedEventId) -> (Lit, Lit),
    ) {
        let program = self.program;
        let writes: Vec<GuardedEventId> = program
            .event_ids()
            .filter(|&id| {
                program.event(id).loc() == Some(loc) && program.event(id).written().is_some()
            })
            .collect();
        let mut some = Vec::new();
        let sources = std::iter::once(None).chain(writes.iter().copied().map(Some));
        for source in sources {
            let literal = self.formula.fresh();
            some.push(literal);
            self.reads_from.push(ReadsFrom {
                reader,
                source,
                literal,
            });
            self.takes_value(literal, source, loc, Some(value));
            if let (Some(write), Reader::Recovery(_)) = (source, reader) {
                let survived = self.survived(write).unwrap_or(Lit::FALSE);
                self.formula.implies(literal, survived);
            }
            for &other in &writes {
                if Some(other) == source {
                    continue;
                }
                let (after, unless) = overwritten(self, source, other);
                let wrote = self.wrote(other);
                self.formula.clause(&[!literal, !wrote, !after, unless]);
            }
        }
        self.formula.clause(&some);
    }
}
