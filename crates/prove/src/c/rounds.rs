//! Rounds of loops in which nothing happens.
//!
//! A round that ends where it began (the registers and variables that are read again hold what they held, nothing was stored
//! that others can see) did not happen: without its reads the rest is an execution, too, with the same values. So only the
//! round that leaves a waiting loop is an execution's business, and a loop that waits needs no bound. Who stands in such a
//! round while nobody changes what it read waits for ever (docs/design/prove.md).

use super::flow::Flow;
use super::machine::{CMachine, CPhase, CValue, Go};
use super::run::Frame;
use super::waiting::Waiting;
use crate::program::{ProofEventId, ProofEventKind};
use crate::term::{Node, Op, Term};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// What there was at the head of a loop when a round began.
#[derive(Clone, Debug)]
pub(super) struct RoundBegin {
    registers: Vec<Option<CValue>>,
    memory: Rc<BTreeMap<u64, Term>>,
    /// Events of the program so far.
    events: usize,
}

impl RoundBegin {
    pub(super) fn new(frame: &Frame, events: usize) -> RoundBegin {
        RoundBegin {
            registers: frame.registers.clone(),
            memory: frame.state.memory.clone(),
            events,
        }
    }
}

/// Values that may have changed and be the same all the same; more are taken to have changed.
const MOST: usize = 8;

impl CMachine<'_> {
    /// When is a round that comes back to the head (a block) in vain? It is not followed then: whoever stays there waits.
    pub(super) fn in_vain(
        &mut self,
        begin: &RoundBegin,
        frame: &Frame,
        flow: &Flow,
        head: usize,
    ) -> Go<Term> {
        let never = self.program.terms.truth(false);
        let Some(changes) = self.changes(begin, frame, flow, head) else {
            return Ok(never);
        };
        let mut same = self.program.terms.truth(true);
        for (before, now) in changes {
            let equal = self.program.terms.eq(before, now);
            same = self.program.terms.and(same, equal);
        }
        let condition = self.program.terms.and(frame.state.condition, same);
        if self.program.terms.constant_of(condition) == Some(0) {
            return Ok(never);
        }
        if self.phase == CPhase::After {
            let mut there = frame.state.clone();
            there.condition = condition;
            self.check(&there, never, "turns in a loop for ever")?;
            return Ok(same);
        }
        let mut stuck = condition;
        for at in begin.events..self.program.events.len() {
            let (guard, kind) = (self.program.events[at].guard, self.program.events[at].kind);
            let there = self.program.terms.and(condition, guard);
            if self.program.terms.constant_of(there) == Some(0) {
                continue;
            }
            let loc = match kind {
                ProofEventKind::Load { loc } => loc,
                ProofEventKind::Rmw { loc, when, value }
                    if self.leaves_all_as_it_is((condition, guard), at, (when, value)) =>
                {
                    loc
                }
                ProofEventKind::Assert { .. }
                | ProofEventKind::Bound { .. }
                | ProofEventKind::Sfence
                | ProofEventKind::Mfence => continue,
                _ if self.contradicts(condition, &[guard]) => continue,
                _ => return Ok(never),
            };
            // What it read stays so.
            let width = self.program.location(loc).width;
            let event = ProofEventId(at as u32);
            let read = self.program.terms.loaded(event, width);
            let last = self.program.at_the_end(loc);
            let terms = &mut self.program.terms;
            let (unchanged, elsewhere) = (terms.eq(read, last), terms.not(guard));
            let stays = terms.or(elsewhere, unchanged);
            stuck = terms.and(stuck, stays);
        }
        let label = Some(self.label());
        self.waiting.push(Waiting {
            thread: self.thread,
            stuck,
            label,
        });
        Ok(same)
    }

    /// What is read again and may be another value than when the round began: both. `None` if that cannot be said.
    fn changes(
        &self,
        begin: &RoundBegin,
        frame: &Frame,
        flow: &Flow,
        head: usize,
    ) -> Option<Vec<(Term, Term)>> {
        let mut changes = Vec::new();
        for (number, (before, now)) in begin.registers.iter().zip(&frame.registers).enumerate() {
            match (before, now) {
                _ if before == now || !flow.is_live(head, number) => {}
                (Some(CValue::Int(before)), Some(CValue::Int(now))) => {
                    changes.push((*before, *now))
                }
                _ => return None,
            }
        }
        let (before, now) = (&begin.memory, &frame.state.memory);
        let written_first: Vec<u64> = flow
            .dead_variables(head)
            .filter_map(|register| match frame.registers[register] {
                Some(CValue::Int(at)) => self.program.terms.constant_of(at),
                _ => None,
            })
            .collect();
        let cells: BTreeSet<u64> = before.keys().chain(now.keys()).copied().collect();
        for cell in cells {
            let (before, now) = (before.get(&cell), now.get(&cell));
            let object = self.knowledge.object(cell, 1);
            if before == now
                || object.is_some_and(|(base, _)| written_first.contains(&base))
                || self.has_left(cell)
            {
                continue;
            }
            changes.push((*before?, *now?));
        }
        let terms = &self.program.terms;
        let alike = |(a, b): &(Term, Term)| terms.width(*a) == terms.width(*b);
        (changes.len() <= MOST && changes.iter().all(alike)).then_some(changes)
    }

    /// A locked instruction that writes nothing on this way, or what was there.
    fn leaves_all_as_it_is(
        &mut self,
        (condition, guard): (Term, Term),
        at: usize,
        (when, value): (Term, Term),
    ) -> bool {
        if self.contradicts(condition, &[guard, when]) {
            return true;
        }
        let (Some(left), width) = (
            self.program.terms.constant_of(value),
            self.program.terms.width(value),
        ) else {
            return false;
        };
        let read = (self.program.terms).loaded(ProofEventId(at as u32), width);
        let Some(found) = self.domain(read) else {
            return false;
        };
        let conditions = self.program.terms.conjuncts(condition);
        let impossible = |found: u64| {
            let mut known = FxHashMap::from_iter([(read, Some(found))]);
            let mut conditions = conditions.iter();
            conditions.any(|&c| self.valued(c, &mut known) == Some(0))
        };
        !found.open && found.values.iter().all(|&f| f == left || impossible(f))
    }

    /// Can these not hold together with a condition? (If that is not easy to see, they can.)
    fn contradicts(&mut self, condition: Term, others: &[Term]) -> bool {
        let all = (others.iter()).fold(condition, |all, &other| self.program.terms.and(all, other));
        if self.program.terms.constant_of(all) == Some(0) {
            return true;
        }
        let terms = &self.program.terms;
        let mut known = FxHashMap::default();
        for part in others.iter().flat_map(|&other| terms.conjuncts(other)) {
            known.insert(part, Some(1));
            if let Node::Not(inner) = terms.node(part) {
                known.insert(inner, Some(0));
            }
        }
        let mut conditions = terms.conjuncts(condition).into_iter();
        conditions.any(|c| self.valued(c, &mut known) == Some(0))
    }

    /// The value of a term where others have these, if that decides it.
    fn valued(&self, term: Term, known: &mut FxHashMap<Term, Option<u64>>) -> Option<u64> {
        if let Some(&value) = known.get(&term) {
            return value;
        }
        let terms = &self.program.terms;
        let value = match terms.node(term) {
            Node::Const(value) => Some(value),
            Node::Not(a) | Node::Zext(a) | Node::Sext(a) | Node::Extract(a, _) => {
                let a = self.valued(a, known);
                a.and_then(|a| terms.apply(term, |_| a))
            }
            Node::Binary(op, a, b) => {
                let (x, y) = (self.valued(a, known), self.valued(b, known));
                match (op, x, y) {
                    (Op::And, Some(0), _) | (Op::And, _, Some(0)) => Some(0),
                    (Op::Or, Some(1), _) | (Op::Or, _, Some(1)) if terms.width(a) == 1 => Some(1),
                    (_, Some(x), Some(y)) => Some(op.apply(terms.width(a), x, y)),
                    _ => None,
                }
            }
            Node::Choose(c, a, b) => match self.valued(c, known) {
                Some(1) => self.valued(a, known),
                Some(_) => self.valued(b, known),
                None => {
                    let (a, b) = (self.valued(a, known), self.valued(b, known));
                    a.filter(|_| a == b)
                }
            },
            _ => None,
        };
        known.insert(term, value);
        value
    }
}
