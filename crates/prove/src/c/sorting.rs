//! `qsort`: the program's own function compares, neighbour by neighbour, as often as it takes for any order to come right.

use super::access::AccessWay;
use super::knowledge::CallContext;
use super::library::LibraryAnswer;
use super::machine::{CMachine, CState, CValue, Go, Stop};
use crate::term::{Op, Term};
use landfall_ir::Type;

/// Elements beyond which it is not followed: comparisons grow with the square.
const MOST: u64 = 16;

impl CMachine<'_> {
    pub(super) fn sort(
        &mut self,
        state: &mut CState,
        values: &[CValue],
        here: CallContext,
    ) -> Go<LibraryAnswer> {
        let (base, compare) = (self.number(values, 0)?, self.number(values, 3)?);
        let count = self.length(values, 1, "the number of elements that are sorted")?;
        let size = self.length(values, 2, "the size of elements that are sorted")?;
        if count > MOST {
            return self.refuse(format!("`qsort` of more than {MOST} elements"));
        }
        self.assumes("`qsort` leaves elements that are equal as they were");
        for last in (1..count).rev() {
            for at in 0..last {
                // Each comparison is a call of its own.
                let here = self
                    .knowledge
                    .context(here, (u32::MAX, last as u32), &[at as u32]);
                self.in_order(state, (base, at * size, size), compare, here)?;
            }
        }
        Ok(LibraryAnswer::Done)
    }

    /// Swaps an element and the next one if the first is greater.
    fn in_order(
        &mut self,
        state: &mut CState,
        (base, offset, size): (Term, u64, u64),
        compare: Term,
        here: CallContext,
    ) -> Go<()> {
        let at = |this: &mut Self, offset: u64| {
            let offset = this.program.terms.constant(64, offset);
            this.program.terms.add(base, offset)
        };
        let both = vec![
            CValue::Int(at(self, offset)),
            CValue::Int(at(self, offset + size)),
        ];
        let order = self.call_pointer(state, compare, both, &Type::Int(32), here)?;
        let Some(CValue::Int(order)) = order else {
            return self.refuse("`qsort` with a function that compares nothing");
        };
        let terms = &mut self.program.terms;
        let zero = terms.constant(32, 0);
        let greater = terms.binary(Op::Slt, zero, order);
        match terms.constant_of(greater) {
            Some(0) => return Ok(()),
            _ => {
                let mut swapped = state.clone();
                let swaps = self.assume(&mut swapped, greater).is_ok();
                if swaps {
                    let mut done = 0;
                    while done < size {
                        let piece = [8, 4, 2, 1].into_iter().find(|&p| {
                            done + p <= size && (offset + done) % p == 0 && size % p == 0
                        });
                        let piece = piece.unwrap_or(1);
                        let (a, b) = (at(self, offset + done), at(self, offset + size + done));
                        let x = self.load(&mut swapped, a, piece)?;
                        let y = self.load(&mut swapped, b, piece)?;
                        self.store(&mut swapped, a, y, AccessWay::Cached)?;
                        self.store(&mut swapped, b, x, AccessWay::Cached)?;
                        done += piece;
                    }
                }
                let stays = self.program.terms.not(greater);
                match (swaps, self.assume(state, stays)) {
                    (true, Ok(())) => *state = self.meet(swapped, state.clone()),
                    (true, Err(Stop::Ended)) => *state = swapped,
                    (_, other) => other?,
                }
            }
        }
        Ok(())
    }
}
