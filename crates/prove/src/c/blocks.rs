//! Programs of SV-COMP: atomic blocks, what must not be reached, values that are not known.

use super::library::LibraryAnswer;
use super::machine::{CMachine, CState, CValue, Go, Stop};
use crate::program::ProofEventKind;
use landfall_ir::Type;

const BLOCK: &str = "__VERIFIER_atomic_";

/// The atomic block that is followed: how many were begun, and how many of them, one inside of the other, are not at their end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FollowedBlock {
    begun: u32,
    depth: u32,
    /// It has stored something.
    stores: bool,
    /// The thread whose block it is.
    thread: usize,
}

impl FollowedBlock {
    pub(super) fn number(self) -> Option<u32> {
        (self.depth > 0).then_some(self.begun)
    }
}

impl CMachine<'_> {
    /// Is the body of a function an atomic block?
    pub(super) fn is_block(&self, name: &str) -> bool {
        name.starts_with(BLOCK)
            && !matches!(name, "__VERIFIER_atomic_begin" | "__VERIFIER_atomic_end")
    }

    pub(super) fn begin_block(&mut self, state: &mut CState) -> Go<()> {
        if self.block.depth == 0 {
            self.fence(state, ProofEventKind::Mfence)?;
            self.block.begun += 1;
            self.block.stores = false;
            self.block.thread = self.thread;
        } else if self.block.thread != self.thread {
            return self.refuse("a thread is created inside of an atomic block");
        }
        self.block.depth += 1;
        Ok(())
    }

    pub(super) fn end_block(&mut self, state: &mut CState) -> Go<()> {
        match self.block.depth {
            0 => self.refuse("an atomic block that ends in several places is not modelled"),
            1 => {
                self.block.depth = 0;
                self.fence(state, ProofEventKind::Mfence)
            }
            _ => {
                self.block.depth -= 1;
                Ok(())
            }
        }
    }

    /// Something was stored.
    pub(super) fn stored(&mut self, state: &CState, events: usize) -> Go<()> {
        if self.program.events.len() == events {
            return Ok(());
        }
        self.block.stores |= self.block.depth > 0;
        // Without store buffers.
        match self.bounds.sv_comp {
            true => self.fence(state, ProofEventKind::Mfence),
            false => Ok(()),
        }
    }

    /// Functions of SV-COMP.
    pub(super) fn verifier_call(
        &mut self,
        state: &mut CState,
        name: &str,
        values: &[CValue],
        returns: &Type,
    ) -> Go<LibraryAnswer> {
        match name {
            "__VERIFIER_atomic_begin" => self.begin_block(state)?,
            "__VERIFIER_atomic_end" => self.end_block(state)?,
            "lf_assume" | "__VERIFIER_assume" if self.block.stores && self.block.depth > 0 => {
                return self
                    .refuse("an assumption behind a store in an atomic block is not modelled");
            }
            "__VERIFIER_error" => return self.reached(state),
            "reach_error" if self.bounds.sv_comp => return self.reached(state),
            // What calls it assumes that nobody comes there.
            "abort" if self.bounds.sv_comp => return Err(Stop::Ended),
            "exit" | "_exit" | "_Exit" | "quick_exit" if self.bounds.sv_comp => {
                self.number(values, 0)?;
                self.exits.push(state.condition);
                return Err(Stop::Ended);
            }
            _ if name.starts_with("__VERIFIER_nondet_") => {
                if !matches!(returns, Type::Int(_)) {
                    return self.refuse(format!("`{name}` returns what is no integer"));
                }
                let width = self.width_of(returns)?;
                let input = format!("{name}: {}", self.label());
                let term = self.program.add_input(&input, width);
                return self.answers(term);
            }
            _ => return Ok(LibraryAnswer::Unknown),
        }
        Ok(LibraryAnswer::Done)
    }

    fn reached(&mut self, state: &CState) -> Go<LibraryAnswer> {
        let never = self.program.terms.truth(false);
        self.check(state, never, "reach_error")?;
        Err(Stop::Ended)
    }
}
