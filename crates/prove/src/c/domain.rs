//! Which values a term can have, where addresses depend on it.

use super::knowledge::{MOST, ValueSet};
use super::machine::CMachine;
use crate::program::{LocId, ProofEventKind};
use crate::term::{Node, Op, Term, mask};
use std::collections::BTreeSet;
use std::rc::Rc;

/// `None` for "any".
type AddressDomain = Option<Rc<ValueSet>>;

impl CMachine<'_> {
    /// The value, if there is but one that it can have.
    pub(super) fn only(&mut self, term: Term) -> Option<u64> {
        self.program.terms.constant_of(term).or_else(|| {
            let known = self.domain(term)?;
            match (known.values.as_slice(), known.open) {
                (&[value], false) => Some(value),
                _ => None,
            }
        })
    }

    /// The values a term can have, as far as it is known; asks for those of the memory it was read from.
    pub(super) fn domain(&mut self, term: Term) -> AddressDomain {
        if let Some(known) = self.domains.get(&term) {
            return known.clone();
        }
        let found = self.find(term);
        let found = found.and_then(|mut found| {
            found.values.sort_unstable();
            found.values.dedup();
            (found.values.len() <= MOST).then(|| Rc::new(found))
        });
        self.domains.insert(term, found.clone());
        found
    }

    fn find(&mut self, term: Term) -> Option<ValueSet> {
        let node = self.program.terms.node(term);
        let width = self.program.terms.width(term);
        let closed = |values: Vec<u64>| ValueSet {
            values,
            open: false,
        };
        let small = || (width <= 3).then(|| closed((0..=mask(width)).collect()));
        match node {
            Node::Const(value) => Some(ValueSet::of(value)),
            Node::Input(_) => small().or_else(|| {
                self.is_garbage(term).then_some(ValueSet {
                    values: Vec::new(),
                    open: true,
                })
            }),
            Node::Loaded(event) => {
                let loc = self.program.events.get(event.index())?.loc()?;
                self.held(loc)
            }
            Node::Recovered(loc) | Node::Final(loc) => self.held(loc),
            Node::Not(a) | Node::Zext(a) | Node::Sext(a) | Node::Extract(a, _) => {
                let of = self.domain(a)?;
                if of.open && width <= 3 {
                    return small();
                }
                let values = of
                    .values
                    .iter()
                    .map(|&v| self.program.terms.apply(term, |_| v));
                Some(ValueSet {
                    values: values.collect::<Option<_>>()?,
                    open: of.open,
                })
            }
            Node::Binary(op, a, b) => {
                let (x, y) = (self.domain(a), self.domain(b));
                let operands = self.program.terms.width(a);
                let known = |of: &AddressDomain| of.clone().filter(|of| !of.open);
                match (op, known(&x), known(&y)) {
                    (_, Some(x), Some(y)) if x.values.len() * y.values.len() <= MOST * MOST => {
                        Some(closed(products(op, operands, &x.values, &y.values)))
                    }
                    // Whatever the number, its remainder is small.
                    (Op::Urem, None, Some(y)) => {
                        let most = *y.values.iter().max()?;
                        let few = most <= MOST as u64 && !y.values.contains(&0);
                        few.then(|| closed((0..most).collect()))
                    }
                    (Op::And, None, Some(m)) | (Op::And, Some(m), None) => {
                        let most = *m.values.iter().max()?;
                        let within = |v: &u64| m.values.iter().any(|m| v & !m == 0);
                        let all = most < MOST as u64;
                        all.then(|| closed((0..=most).filter(within).collect()))
                    }
                    _ if width <= 3 => small(),
                    _ => {
                        let (x, y) = (x?, y?);
                        let few = x.values.len() * y.values.len() <= MOST * MOST;
                        few.then(|| ValueSet {
                            values: products(op, operands, &x.values, &y.values),
                            open: true,
                        })
                    }
                }
            }
            Node::Choose(c, a, b) => {
                let conditions = self.domain(c);
                let may = |v: u64| {
                    let known = conditions.as_ref().filter(|c| !c.open);
                    known.is_none_or(|c| c.values.contains(&v))
                };
                let mut all = ValueSet::default();
                for (when, branch) in [(1, a), (0, b)] {
                    if may(when) {
                        let branch = self.domain(branch)?;
                        all.values.extend(&branch.values);
                        all.open |= branch.open;
                    }
                }
                Some(all)
            }
        }
    }

    fn held(&mut self, loc: LocId) -> Option<ValueSet> {
        let cell = *self.cell_of.get(loc.index())?;
        if self.knowledge.asked.insert(cell) {
            self.knowledge.learnt = true;
        }
        match self.knowledge.values.get(&cell) {
            Some(known) => known.clone(),
            None => {
                let size = self.knowledge.cells.get(&cell)?.size;
                Some(self.knowledge.at_first(cell, size))
            }
        }
    }

    /// After a pass: what the cells that somebody asked for can hold, from the writes that were found. A value passes through
    /// each write at most once (executions have no cycle of that kind), so there is an end to it even where values are added to.
    pub(super) fn learn_values(&mut self) {
        let asked: BTreeSet<u64> = self.knowledge.asked.clone();
        let mut writes: Vec<(u64, Term)> = Vec::new();
        for event in &self.program.events {
            let value = match event.kind {
                ProofEventKind::Store { loc, value }
                | ProofEventKind::NtStore { loc, value }
                | ProofEventKind::Rmw { loc, value, .. } => Some((loc, value)),
                _ => None,
            };
            if let Some((loc, value)) = value {
                let cell = self.cell_of[loc.index()];
                if asked.contains(&cell) {
                    writes.push((cell, value));
                }
            }
        }
        let before = self.knowledge.values.clone();
        self.knowledge.values.clear();
        let constant = |m: &Self, t: Term| m.program.terms.constant_of(t).is_some();
        let computing = writes.iter().filter(|(_, v)| !constant(self, *v)).count();
        for &cell in &asked {
            if let Some(size) = self.knowledge.cells.get(&cell).map(|c| c.size) {
                let initial = self.knowledge.at_first(cell, size);
                self.knowledge.values.insert(cell, Some(initial));
            }
        }
        for _ in 0..=computing {
            self.domains.clear();
            let mut changed = false;
            for &(cell, value) in &writes {
                let more = self.domain(value);
                let held = self
                    .knowledge
                    .values
                    .entry(cell)
                    .or_insert_with(|| Some(ValueSet::default()));
                changed |= join(held, more.as_deref());
            }
            if !changed {
                break;
            }
        }
        self.domains.clear();
        // What was known before stays known: passes must come to an end.
        for (cell, old) in before {
            if let Some(now) = self.knowledge.values.get_mut(&cell) {
                let found = now.clone();
                join(now, old.as_ref());
                self.knowledge.learnt |= found.is_none() && old.is_some();
                if let (Some(found), Some(old)) = (&found, &old) {
                    let new = |v: &u64| !old.values.contains(v);
                    self.knowledge.learnt |=
                        found.values.iter().any(new) || found.open && !old.open;
                }
            }
        }
    }
}

fn products(op: Op, width: u8, x: &[u64], y: &[u64]) -> Vec<u64> {
    let all = x
        .iter()
        .flat_map(|&x| y.iter().map(move |&y| op.apply(width, x, y)));
    all.collect()
}

fn join(into: &mut Option<ValueSet>, from: Option<&ValueSet>) -> bool {
    let (Some(all), Some(more)) = (into.as_mut(), from) else {
        return into.take().is_some();
    };
    let before = (all.values.len(), all.open);
    all.values.extend(&more.values);
    all.values.sort_unstable();
    all.values.dedup();
    all.open |= more.open;
    let changed = (all.values.len(), all.open) != before;
    if all.values.len() > MOST {
        *into = None;
    }
    changed
}
