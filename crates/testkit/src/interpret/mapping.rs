//! Memory that is taken away: who touches it later dies of that.
//!
//! Taking it away is a transition that writes a word of the mapping's own; accesses of the mapping read that word, too. A store does so when it
//! goes into the buffer, which is a transition here, and when it leaves it. The processor waits until what is on its way to that memory is there;
//! where others still hold some, the execution is none.

use super::{Entry, Interpreter};
use crate::program::{FAULT, Instr, Model, Order, Place};
use landfall_explore::schedule::{Access, Act, Step, Trace};

impl Interpreter<'_> {
    /// The word of the mapping that a cell lies in.
    pub(super) fn mapping(&self, cell: u32) -> Option<u32> {
        self.program.mapping(cell)
    }

    /// Does a store stop before it goes into the buffer?
    pub(super) fn stops_to_issue(&self, thread: usize, at: Place) -> bool {
        self.mapping(self.cell(thread, at)).is_some()
    }

    /// The word of the mapping, if that is all that a thread looks at: it dies, or a store goes into the buffer.
    fn only_looks(&self, thread: usize, instr: &Instr) -> Option<u32> {
        let place = instr.place().filter(|_| instr.accesses())?;
        let word = self.mapping(self.cell(thread, place))?;
        let issues = self.model == Model::Tso && matches!(instr, Instr::Store { .. });
        (issues || self.memory[word as usize] != 0).then_some(word)
    }

    /// A transition that concerns a mapping and nothing else: what it touches.
    pub(super) fn touches_mapping(
        &self,
        thread: usize,
        instr: &Instr,
        step: &mut Step,
        trace: &mut Trace,
    ) -> bool {
        if let Instr::Unmap(at) = instr {
            // With this, what it depends on is looked for among all that came before.
            step.more = trace.sets.watch(&[self.bytes(at.cell)]);
            (step.act, step.access) = (Act::Rmw, Access::Write);
            (step.object, step.mask) = self.bytes(at.cell);
            (step.found, step.left) = (self.memory[at.cell as usize], 1);
            return true;
        }
        let Some(word) = self.only_looks(thread, instr) else {
            return false;
        };
        step.access = Access::Read;
        (step.object, step.mask) = self.bytes(word);
        true
    }

    /// What an access of a cell reads besides.
    pub(super) fn watched_mapping(&self, cell: u32, trace: &mut Trace) -> u32 {
        match self.mapping(cell) {
            Some(word) => trace.sets.watch(&[self.bytes(word)]),
            None => 0,
        }
    }

    /// Makes such a transition, if the thread stands before one.
    pub(super) fn at_mapping(
        &mut self,
        thread: usize,
        instr: &Instr,
        trace: &mut Trace,
        at: usize,
    ) -> bool {
        if let Instr::Unmap(at_word) = *instr {
            self.too_early |= self.others_hold(thread, at_word.cell);
            let found = self.memory[at_word.cell as usize];
            self.lasts(thread);
            self.wrote(thread, at_word.cell, found, 1);
            self.did(thread);
            if self.too_early {
                self.threads[thread].pc = self.program.threads[thread].len() as u32;
            }
        } else {
            let Some(word) = self.only_looks(thread, instr) else {
                return false;
            };
            self.lasts(thread);
            if self.memory[word as usize] != 0 {
                self.did(thread);
                self.threads[thread].regs[FAULT.0 as usize] = 1;
                self.threads[thread].pc = self.program.threads[thread].len() as u32;
            } else if let Instr::Store { at, value, order } = *instr {
                let (cell, value) = (self.cell(thread, at), self.value(thread, value));
                let entry = Entry::Store {
                    cell,
                    value,
                    visible: true,
                    plain: order == Order::Plain,
                    streams: false,
                };
                self.did(thread);
                self.push(thread, entry, trace);
            }
        }
        self.advance(thread, trace, at + 1);
        true
    }

    /// Are stores of others on their way to the mapping?
    fn others_hold(&self, thread: usize, word: u32) -> bool {
        let others = self.threads.iter().enumerate();
        others
            .filter(|(other, _)| *other != thread)
            .any(|(_, other)| {
                other.buffer[other.head..].iter().any(|buffered| {
                    matches!(buffered.entry, Entry::Store { cell, .. }
                        if !buffered.gone && self.mapping(cell) == Some(word))
                })
            })
    }
}
