//! Critical sections that are single transitions.

use super::Interpreter;
use crate::program::{Instr, Sync};
use landfall_explore::schedule::{Act, SectionKey, Step, Trace, Until};

impl Interpreter<'_> {
    /// Are the critical sections of a lock single transitions?
    fn joins(&self, cell: u32) -> bool {
        !self.program.persistent && self.points.joins_sections_of(self.bytes(cell).0)
    }

    /// A thread is about to do something to a lock: perhaps a critical section begins that is a single transition.
    pub(super) fn enter_section(&mut self, thread: usize, instr: &Instr, trace: &mut Trace) {
        let (Some(op), Some(place)) = (instr.sync(), instr.place()) else {
            return;
        };
        match op {
            Sync::Lock if self.joins(place.cell) => {
                self.threads[thread].section = Some(place.cell);
                self.accessed.clear();
                self.signalled = None;
            }
            // Who tries sees whether somebody holds it.
            Sync::TryLock | Sync::Unlock if self.joins(place.cell) => {
                trace.broken.push(self.bytes(place.cell).0);
            }
            _ => {}
        }
    }

    /// A thread in a critical section stands before something visible: the end of the section, or what it does to a condition, and it goes on;
    /// or it is no single transition.
    pub(super) fn leaves_section(&mut self, thread: usize, trace: &mut Trace) -> bool {
        let Some(lock) = self.threads[thread].section else {
            return false;
        };
        let at = self.threads[thread].pc as usize;
        let instr = self.program.threads[thread].get(at);
        if let Some(&Instr::Sync(op @ (Sync::Wait | Sync::Signal | Sync::Broadcast), place)) = instr
            && self.concerns_condition(thread, op, place.cell, trace)
        {
            return true;
        }
        let ends = matches!(instr, Some(Instr::Sync(Sync::Unlock, place)) if place.cell == lock);
        self.threads[thread].section = None;
        if ends {
            let held = self.memory[lock as usize];
            self.wrote(thread, lock, held, 0);
            return true;
        }
        trace.broken.push(self.bytes(lock).0);
        let after = trace.trailing.last().map_or(0, |access| access.after);
        let inside = |access: &&mut landfall_explore::schedule::Trailing| {
            access.after == after && usize::from(access.thread) == thread
        };
        for access in trace.trailing.iter_mut().rev().take_while(inside) {
            access.within = false;
        }
        false
    }

    /// A condition is waited for, or signalled, in a critical section; false if that was done before.
    fn concerns_condition(
        &mut self,
        thread: usize,
        op: Sync,
        cell: u32,
        trace: &mut Trace,
    ) -> bool {
        let (object, _) = self.bytes(cell);
        let found = self.memory[cell as usize];
        let left = op.left(thread, found);
        if self.signalled.is_some() {
            return false;
        }
        self.signalled = Some((object, found, left));
        let lock = self.bytes(self.threads[thread].section.unwrap_or(cell)).0;
        match trace.sets.at_condition(object, lock, op == Sync::Wait) {
            Ok(access) => self.accessed.push(access),
            Err(other) => trace.broken.extend([lock, other]),
        }
        self.note_touched(thread, cell);
        self.lasts(thread);
        self.wrote(thread, cell, found, left);
        true
    }

    /// The transition that took a lock is known with all that followed: was it the whole section?
    pub(super) fn close_section(&mut self, cell: u32, step: &mut Step, trace: &mut Trace) {
        let object = self.bytes(cell).0;
        if step.act != Act::Sync(Sync::Lock) || !self.joins(cell) || trace.broken.contains(&object)
        {
            return;
        }
        step.act = Act::Sync(Sync::Section);
        step.until = Until::Now;
        step.left = step.found;
        if let Some(signalled) = self.signalled {
            (step.condition, step.found, step.left) = signalled;
        }
        let key = SectionKey::of(step);
        step.section = trace.sets.section(key, &mut self.accessed);
    }
}
