//! What reads read: `rf`, `co` and the order they impose (`rfe`, `co`, `fr`).

use super::{Encoding, Reader, ReadsFrom, View};
use crate::cnf::Lit;
use crate::program::*;
use crate::term::{Node, Term};

impl Encoding<'_> {
    pub(super) fn memory(&mut self) {
        let program = self.program;
        let looked_at = self.spoken_of(|node| match node {
            Node::Recovered(loc) | Node::Final(loc) => Some(loc),
            _ => None,
        });
        for loc in (0..program.locations.len() as u32).map(LocId) {
            let at = |id: &ProofEventId| program.event(*id).loc() == Some(loc);
            let writes: Vec<ProofEventId> = program
                .event_ids()
                .filter(at)
                .filter(|&id| program.event(id).written().is_some())
                .collect();
            let reads: Vec<ProofEventId> = program
                .event_ids()
                .filter(at)
                .filter(|&id| program.event(id).reads())
                .collect();
            if reads.is_empty() && !looked_at.iter().any(|&(l, _)| l == loc) {
                continue;
            }
            self.coherence(&writes);
            for &read in &reads {
                self.read(loc, read, &writes);
            }
        }
    }

    /// An access of another thread comes before all of an atomic block, or after all of it.
    pub(super) fn blocks(&mut self) {
        let program = self.program;
        let accesses = |id: &ProofEventId| program.event(*id).loc().is_some();
        let mut blocks: std::collections::BTreeMap<u32, Vec<ProofEventId>> = Default::default();
        for id in program.event_ids().filter(accesses) {
            if let Some(block) = program.event(id).block {
                blocks.entry(block).or_default().push(id);
            }
        }
        for (&number, block) in &blocks {
            let thread = program.event(block[0]).thread;
            // Of two blocks all events are on one side of the other's.
            let mut of_block: std::collections::BTreeMap<u32, Lit> = Default::default();
            for other in program.event_ids().filter(accesses) {
                let event = program.event(other);
                if event.thread == thread || event.block.is_some_and(|b| b < number) {
                    continue;
                }
                let before = match event.block {
                    None => self.formula.fresh(),
                    Some(b) => match of_block.get(&b) {
                        Some(&known) => known,
                        None => {
                            let fresh = self.formula.fresh();
                            of_block.insert(b, fresh);
                            fresh
                        }
                    },
                };
                for &inside in block {
                    let both = [self.executed(other), self.executed(inside)];
                    let (other, inside) = (self.node(other), self.node(inside));
                    self.edge(other, inside, &[before, both[0], both[1]]);
                    self.edge(inside, other, &[!before, both[0], both[1]]);
                }
            }
        }
    }

    /// One variable per pair of writes of two threads; within a thread program order decides (`coi ⊆ po`).
    fn coherence(&mut self, writes: &[ProofEventId]) {
        for (n, &b) in writes.iter().enumerate() {
            for &a in &writes[..n] {
                let program = self.program;
                if program.event(a).thread == program.event(b).thread {
                    self.first.insert((a, b), Lit::TRUE);
                    continue;
                }
                let literal = self.formula.fresh();
                self.first.insert((a, b), literal);
                let guards = [self.write_guard(a), self.write_guard(b)];
                self.edge(self.node(a), self.node(b), &[literal, guards[0], guards[1]]);
                self.edge(
                    self.node(b),
                    self.node(a),
                    &[!literal, guards[0], guards[1]],
                );
            }
        }
    }

    pub(super) fn before(&self, a: ProofEventId, b: ProofEventId) -> Lit {
        self.coherent(a, b).unwrap_or(Lit::TRUE)
    }

    fn read(&mut self, loc: LocId, read: ProofEventId, writes: &[ProofEventId]) {
        let program = self.program;
        let thread = program.event(read).thread;
        let width = program.location(loc).width;
        let value = program.terms.find(Node::Loaded(read), width);
        let own: Vec<ProofEventId> = writes
            .iter()
            .copied()
            .filter(|&w| program.event(w).thread == thread && w < read)
            .collect();
        // The newest write of this thread that is there whenever the read is: what is older cannot be read.
        let certain = own.iter().copied().rev().find(|&w| {
            self.implies(read, w) && !matches!(program.event(w).kind, ProofEventKind::Rmw { when, .. } if program.terms.constant_of(when) != Some(1))
        });
        let mut sources: Vec<Option<ProofEventId>> = match certain {
            None => vec![None],
            Some(_) => Vec::new(),
        };
        for &write in writes {
            let same_thread = program.event(write).thread == thread;
            let possible = match same_thread {
                true => write < read && certain.is_none_or(|newest| write >= newest),
                false => true,
            };
            if possible && write != read {
                sources.push(Some(write));
            }
        }
        let executed = self.executed(read);
        let mut some = vec![!executed];
        for source in sources {
            let literal = self.formula.fresh();
            some.push(literal);
            self.reads_from.push(ReadsFrom {
                reader: Reader::Event(read),
                source,
                literal,
            });
            self.formula.implies(literal, executed);
            self.takes_value(literal, source, loc, value);
            if let Some(write) = source
                && program.event(write).thread != thread
            {
                self.edge(self.node(write), self.node(read), &[literal]);
                let (read_happened, write_happened) = (self.happened(read), self.happened(write));
                if matches!(self.view, View::AfterFailure(_)) {
                    self.formula
                        .clause(&[!literal, !read_happened, write_happened]);
                }
            }
            // fri ⊆ po: nothing of this thread between the source and the read.
            for &between in &own {
                if source != Some(between) && certain.is_none_or(|newest| between >= newest) {
                    let after = source.map_or(Lit::TRUE, |w| self.before(w, between));
                    let wrote = self.wrote(between);
                    self.formula.clause(&[!literal, !after, !wrote]);
                }
            }
            self.precede_overwriters(read, source, literal, writes);
        }
        self.formula.clause(&some);
        // One source is enough for any execution, and saying so makes proofs shorter.
        for (n, &one) in some.iter().enumerate().skip(1) {
            for &other in &some[n + 1..] {
                self.formula.clause(&[!one, !other]);
            }
        }
    }

    /// `fr = rf⁻¹;co`: the read comes before every write of another thread that follows its source.
    fn precede_overwriters(
        &mut self,
        read: ProofEventId,
        source: Option<ProofEventId>,
        literal: Lit,
        writes: &[ProofEventId],
    ) {
        let program = self.program;
        let thread = program.event(read).thread;
        let after = |this: &Self, write| source.map_or(Lit::TRUE, |w| this.before(w, write));
        for (n, &write) in writes.iter().enumerate() {
            let of = program.event(write).thread;
            if Some(write) == source || of == thread {
                continue;
            }
            // An earlier write of that thread which is certain to follow the source carries the edge.
            let carried = writes[..n].iter().any(|&earlier| {
                program.event(earlier).thread == of
                    && Some(earlier) != source
                    && after(self, earlier) == Lit::TRUE
                    && self.write_guard(earlier) == Lit::TRUE
            });
            if carried {
                continue;
            }
            let literals = [literal, after(self, write), self.write_guard(write)];
            self.edge(self.node(read), self.node(write), &literals);
        }
    }

    /// If the literal is true, the source wrote, and its value is the one read.
    pub(super) fn takes_value(
        &mut self,
        literal: Lit,
        source: Option<ProofEventId>,
        loc: LocId,
        value: Option<Term>,
    ) {
        let written = match source {
            None => self.program.location(loc).init,
            Some(write) => {
                let wrote = self.wrote(write);
                self.formula.implies(literal, wrote);
                match self.program.event(write).written() {
                    Some(written) => written,
                    None => return,
                }
            }
        };
        if let Some(value) = value {
            self.equal_if(literal, value, written);
        }
    }
}
