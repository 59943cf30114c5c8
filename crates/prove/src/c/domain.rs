//! Which values a term can have, where addresses depend on it.

use super::knowledge::MOST;
use super::machine::CMachine;
use crate::program::{Kind, LocId};
use crate::term::{Node, Op, Term, mask};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Sorted; `None` for "any".
type AddressDomain = Option<Rc<Vec<u64>>>;

impl CMachine<'_> {
    /// The values a term can have, as far as it is known; asks for those of the memory it was read from.
    pub(super) fn domain(&mut self, term: Term) -> AddressDomain {
        if let Some(known) = self.domains.get(&term) {
            return known.clone();
        }
        let found = self.find(term);
        let found = found.and_then(|mut values| {
            values.sort_unstable();
            values.dedup();
            (values.len() <= MOST).then(|| Rc::new(values))
        });
        self.domains.insert(term, found.clone());
        found
    }

    fn find(&mut self, term: Term) -> Option<Vec<u64>> {
        let node = self.program.terms.node(term);
        let width = self.program.terms.width(term);
        match node {
            Node::Const(value) => Some(vec![value]),
            Node::Input(_) => (width <= 3).then(|| (0..=mask(width)).collect()),
            Node::Loaded(event) => {
                let loc = self.program.events.get(event.index())?.loc()?;
                self.held(loc)
            }
            Node::Recovered(loc) | Node::Final(loc) => self.held(loc),
            Node::Not(a) | Node::Zext(a) | Node::Sext(a) | Node::Extract(a, _) => {
                let of = self.domain(a)?;
                of.iter()
                    .map(|&v| self.program.terms.apply(term, |_| v))
                    .collect()
            }
            Node::Binary(op, a, b) => {
                let (x, y) = (self.domain(a), self.domain(b));
                let operands = self.program.terms.width(a);
                match (op, &x, &y) {
                    (_, Some(x), Some(y)) if x.len() * y.len() <= MOST * MOST => Some(
                        x.iter()
                            .flat_map(|&x| y.iter().map(move |&y| op.apply(operands, x, y)))
                            .collect(),
                    ),
                    // Whatever the number, its remainder is small.
                    (Op::Urem, None, Some(y)) => {
                        let most = *y.iter().max()?;
                        (most <= MOST as u64 && !y.contains(&0)).then(|| (0..most).collect())
                    }
                    (Op::And, None, Some(m)) | (Op::And, Some(m), None) => {
                        let most = *m.iter().max()?;
                        let all = most < MOST as u64;
                        all.then(|| {
                            (0..=most)
                                .filter(|v| m.iter().any(|m| v & !m == 0))
                                .collect()
                        })
                    }
                    _ if width == 1 => Some(vec![0, 1]),
                    _ => None,
                }
            }
            Node::Choose(c, a, b) => {
                let conditions = self.domain(c);
                let may = |v: u64| conditions.as_ref().is_none_or(|c| c.contains(&v));
                let mut all = Vec::new();
                for (when, branch) in [(1, a), (0, b)] {
                    if may(when) {
                        all.extend(self.domain(branch)?.iter());
                    }
                }
                Some(all)
            }
        }
    }

    fn held(&mut self, loc: LocId) -> Option<Vec<u64>> {
        let cell = *self.cell_of.get(loc.index())?;
        if self.knowledge.asked.insert(cell) {
            self.knowledge.learnt = true;
        }
        match self.knowledge.values.get(&cell) {
            Some(known) => known.clone(),
            None => {
                let size = self.knowledge.cells.get(&cell)?.size;
                Some(vec![self.knowledge.initial(cell, size)])
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
                Kind::Store { loc, value }
                | Kind::NtStore { loc, value }
                | Kind::Rmw { loc, value, .. } => Some((loc, value)),
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
                let initial = self.knowledge.initial(cell, size);
                self.knowledge.values.insert(cell, Some(vec![initial]));
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
                    .or_insert(Some(Vec::new()));
                changed |= join(held, more.as_deref().map(Vec::as_slice));
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
                join(now, old.as_deref());
                self.knowledge.learnt |= found.is_none() && old.is_some();
                if let (Some(found), Some(old)) = (&found, &old) {
                    self.knowledge.learnt |= found.iter().any(|v| !old.contains(v));
                }
            }
        }
    }
}

fn join(into: &mut Option<Vec<u64>>, from: Option<&[u64]>) -> bool {
    let (Some(all), Some(more)) = (into.as_mut(), from) else {
        return into.take().is_some();
    };
    let before = all.len();
    all.extend(more);
    all.sort_unstable();
    all.dedup();
    let changed = all.len() != before;
    if all.len() > MOST {
        *into = None;
    }
    changed
}
