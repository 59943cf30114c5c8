//! How long objects live: blocks that are freed, variables of functions that have returned, and what memory holds that nobody
//! wrote.
//!
//! Whether an object is gone is a byte of its own, beside memory: freeing a block and returning from a function store to it,
//! and every access loads it first. Where one thread alone is concerned these are no events at all. Most objects are never
//! asked about: a block that nobody frees, a variable that only its own function uses.

use super::knowledge::{GONE, ObjectKind};
use super::machine::{CMachine, CState, Go};
use crate::term::Term;

impl CMachine<'_> {
    /// An access of these bytes: the object they are in must be there still.
    pub(super) fn must_live(&mut self, state: &CState, address: u64, is: Term) -> Go<()> {
        let Some((base, object)) = self.knowledge.object(address, 1) else {
            return Ok(());
        };
        let (kind, mortal) = (object.kind, object.mortal);
        if let ObjectKind::Local { thread } = kind
            && (thread != self.thread || !self.allocas.contains(&base))
        {
            self.knowledge.is_mortal(base);
        }
        if !mortal {
            return Ok(());
        }
        let there = self.is_there(state, base, is)?;
        self.check(
            state,
            there,
            match kind {
                ObjectKind::Local { .. } => "a variable of a function that has returned is used",
                _ => "memory is used after it was freed",
            },
        )
    }

    /// The object is there, or it is not this one.
    fn is_there(&mut self, state: &CState, base: u64, is: Term) -> Go<Term> {
        let gone = self.read(state, base | GONE, 1, is)?;
        let terms = &mut self.program.terms;
        let zero = terms.constant(8, 0);
        let (there, another) = (terms.eq(gone, zero), terms.not(is));
        Ok(terms.or(there, another))
    }

    fn goes(&mut self, state: &mut CState, base: u64, is: Term) -> Go<()> {
        let gone = self.program.terms.constant(8, 1);
        let way = super::access::AccessWay::Cached;
        self.write(state, base | GONE, gone, is, way)
    }

    /// A block goes back to the heap.
    pub(super) fn free(&mut self, state: &mut CState, pointer: Term) -> Go<()> {
        const NO_BLOCK: &str = "what is freed is no block of the heap";
        let Some(blocks) = self.domain(pointer) else {
            return self.refuse("which block is freed depends on a value that can be anything");
        };
        let mut known = self.program.terms.truth(false);
        for &block in &blocks.values {
            let terms = &mut self.program.terms;
            let this = terms.constant(64, block);
            let is = terms.eq(pointer, this);
            known = terms.or(known, is);
            if block == 0 || terms.constant_of(is) == Some(0) {
                continue;
            }
            let heap = self.knowledge.objects.get(&block);
            if !heap.is_some_and(|object| object.kind.is_heap()) {
                let another = self.program.terms.not(is);
                self.check(state, another, NO_BLOCK)?;
                continue;
            }
            self.knowledge.is_mortal(block);
            let there = self.is_there(state, block, is)?;
            self.check(state, there, "a block is freed twice")?;
            self.goes(state, block, is)?;
        }
        match blocks.open {
            true => self.check(state, known, NO_BLOCK),
            false => Ok(()),
        }
    }

    /// A function returns: its variables are gone.
    pub(super) fn leave(&mut self, state: &mut CState, variables: &[u64]) -> Go<()> {
        let always = self.program.terms.truth(true);
        for base in variables {
            let known = self.knowledge.objects.get(base);
            if known.is_some_and(|object| object.mortal) {
                self.goes(state, *base, always)?;
            }
        }
        Ok(())
    }

    /// What memory holds that nobody wrote: anything, and the same whenever it is asked for.
    pub(super) fn garbage(&mut self, cell: u64, width: u8) -> Term {
        if let Some(&known) = self.garbage.get(&(cell, width)) {
            return known;
        }
        let name = format!("uninitialised: {}", self.name(cell));
        let term = self.program.add_input(&name, width);
        self.garbage.insert((cell, width), term);
        self.garbage_terms.insert(term);
        term
    }

    pub(super) fn is_garbage(&self, term: Term) -> bool {
        self.garbage_terms.contains(&term)
    }
}
