//! Turns of loops that leave stores in the store buffer. Whether others see what such a turn had changed, before these stores undo it, shows when they
//! have left the buffer. So the thread goes on, and when it waits for its stores it is known whether the turn was in vain: all that it did since
//! it could have done without that turn.

use super::{Entry, Interpreter, Status};
use crate::program::Instr;
use std::ops::Range;

/// A turn after which everything is as it was, as its thread sees it.
#[derive(Clone, Debug)]
pub(super) struct Unsettled {
    /// What it read; cells that it changed where others see it, and what they held before.
    reads: Vec<(u32, u64)>,
    changed: Vec<(u32, u64)>,
    /// What it put into the store buffer.
    entries: Range<u32>,
    seen: bool,
}

impl Unsettled {
    pub(super) fn new(
        reads: Vec<(u32, u64)>,
        changed: Vec<(u32, u64)>,
        entries: Range<u32>,
    ) -> Unsettled {
        Unsettled {
            reads,
            changed,
            entries,
            seen: false,
        }
    }

    /// Others see a cell, while it holds this.
    pub(super) fn touched(&mut self, cell: u32, now: u64) {
        let open = |&(at, found): &(u32, u64)| at == cell && found != now;
        self.seen |= self.changed.iter().any(open);
    }
}

fn note(changed: &mut Vec<(u32, u64)>, cell: u32, found: u64) {
    if !changed.iter().any(|&(at, _)| at == cell) {
        changed.push((cell, found));
    }
}

impl Interpreter<'_> {
    /// How much a thread has put into its store buffer.
    pub(super) fn entries(&self, thread: usize) -> u32 {
        self.threads[thread]
            .buffer
            .last()
            .map_or(0, |last| last.tick)
    }

    /// A thread changes a cell, as it sees it itself.
    pub(super) fn note_own(&mut self, thread: usize, cell: u32, found: u64, left: u64) {
        for head in &mut self.threads[thread].turns.heads {
            match head.own.iter_mut().find(|(at, ..)| *at == cell) {
                Some((_, _, last)) => *last = left,
                None => head.own.push((cell, found, left)),
            }
        }
    }

    /// A thread changes a cell past its store buffer; what it held before comes back, perhaps.
    pub(super) fn note_change(&mut self, thread: usize, cell: u32, found: u64, left: u64) {
        self.note_own(thread, cell, found, left);
        if found != left {
            for head in &mut self.threads[thread].turns.heads {
                note(&mut head.changed, cell, found);
            }
        }
    }

    /// A store that others will see goes into the buffer.
    pub(super) fn note_push(&mut self, thread: usize, cell: u32, value: u64) {
        let found = self.look(thread, cell).0;
        self.note_own(thread, cell, found, value);
        for head in &mut self.threads[thread].turns.heads {
            head.undrained = true;
            head.pushes_early |= head.begun.is_none();
        }
    }

    /// A store has left the buffer.
    pub(super) fn note_committed(&mut self, thread: usize, entry: Entry, tick: u32, before: u64) {
        let Entry::Store {
            cell,
            value,
            visible: true,
            ..
        } = entry
        else {
            return;
        };
        if before == value {
            return;
        }
        let turns = &mut self.threads[thread].turns;
        for head in turns.heads.iter_mut().filter(|head| tick > head.entries) {
            note(&mut head.changed, cell, before);
        }
        if let Some(turn) = &mut turns.unsettled
            && tick > turn.entries.start
            && tick <= turn.entries.end
        {
            note(&mut turn.changed, cell, before);
        }
    }

    /// A thread stands before a step, or has waited for its stores: `true` if it goes no further for now.
    pub(super) fn settles(&mut self, thread: usize, instr: Option<&Instr>) -> bool {
        if instr.is_some_and(Instr::leaves_buffer) || self.threads[thread].turns.unsettled.is_none()
        {
            return false;
        }
        if !self.drained(thread) {
            self.threads[thread].status = Status::Draining;
            return true;
        }
        let turns = &mut self.threads[thread].turns;
        turns.last = false;
        let Some(turn) = turns.unsettled.take().filter(|turn| !turn.seen) else {
            return false;
        };
        turns.waits = Some(turn.reads);
        self.threads[thread].status = Status::Left;
        true
    }

    /// All that a thread has stored is in memory.
    pub(super) fn has_drained(&mut self, thread: usize) {
        for head in &mut self.threads[thread].turns.heads {
            head.undrained = false;
        }
    }
}

impl Instr {
    /// Does a step of this kind leave the store buffer as it is?
    pub(super) fn leaves_buffer(&self) -> bool {
        matches!(
            self,
            Instr::Load { .. } | Instr::Store { .. } | Instr::Stream { .. } | Instr::Flush { .. }
        )
    }
}
