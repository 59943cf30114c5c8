//! Where pointers lead.

use super::knowledge::MOST;
use super::machine::{CMachine, CState, Go, Stop};
use crate::term::{Node, Op, Term};

impl CMachine<'_> {
    /// The places a pointer can lead to, each with the condition that it is that. Where it leads nowhere, that is checked.
    pub(super) fn targets(
        &mut self,
        state: &mut CState,
        pointer: Term,
        size: u64,
    ) -> Go<Vec<(Term, u64)>> {
        const NOWHERE: &str = "a pointer leads outside of all objects";
        if let Some(address) = self.program.terms.constant_of(pointer) {
            if self.knowledge.object(address, size).is_some() {
                let always = self.program.terms.truth(true);
                self.must_live(state, address, always)?;
                return Ok(vec![(always, address)]);
            }
            let never = self.program.terms.truth(false);
            self.check(state, never, NOWHERE)?;
            return Err(Stop::Ended);
        }
        let known = self.program.terms.conjuncts(state.condition);
        let (values, complete) = match self.domain(pointer) {
            Some(known) if !known.open => (known.values.clone(), true),
            known => match (self.strides(pointer), known) {
                (Some(values), _) => (values, false),
                (None, Some(known)) => (known.values.clone(), false),
                (None, None) => {
                    return self
                        .refuse("where the pointer leads depends on a value that can be anything");
                }
            },
        };
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for value in values {
            let terms = &mut self.program.terms;
            let this = terms.constant(64, value);
            let is = terms.eq(pointer, this);
            let not = terms.not(is);
            if terms.constant_of(is) == Some(0) || known.contains(&not) {
                continue;
            }
            match self.knowledge.object(value, size) {
                Some(_) => good.push((is, value)),
                None => bad.push(not),
            }
        }
        let holds = match complete {
            true => self.program.terms.conjunction(&bad),
            false => {
                let none = self.program.terms.truth(false);
                good.iter()
                    .fold(none, |any, &(is, _)| self.program.terms.or(any, is))
            }
        };
        // What follows is not told that it held: an execution in which it did not is refuted, and conditions stay small.
        self.check(state, holds, NOWHERE)?;
        if let [(is, _)] = good.as_mut_slice()
            && complete
        {
            *is = self.program.terms.truth(true);
        }
        for &(is, address) in &good {
            self.must_live(state, address, is)?;
        }
        match good.is_empty() {
            true => Err(Stop::Ended),
            false => Ok(good),
        }
    }

    /// `base + n * step` with any `n`: all places of that kind inside the object.
    pub(super) fn strides(&mut self, pointer: Term) -> Option<Vec<u64>> {
        let terms = &self.program.terms;
        let Node::Binary(Op::Add, x, y) = terms.node(pointer) else {
            return None;
        };
        let (base, index) = match (terms.constant_of(x), terms.constant_of(y)) {
            (Some(base), _) => (base, y),
            (_, Some(base)) => (base, x),
            _ => return None,
        };
        let step = match terms.node(index) {
            Node::Binary(Op::Mul, a, b) => terms.constant_of(a).or(terms.constant_of(b))?,
            Node::Binary(Op::Shl, _, by) => 1u64.checked_shl(terms.constant_of(by)? as u32)?,
            _ => 1,
        };
        let (start, object) = self.knowledge.object(base, 1)?;
        if step == 0 || object.size / step > MOST as u64 {
            return None;
        }
        let first = base - (base - start) / step * step;
        Some(
            (first..start + object.size)
                .step_by(step as usize)
                .collect(),
        )
    }
}
