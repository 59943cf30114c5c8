//! Memory and store buffers.

use super::super::program::{Model, Operand, Place};
use super::super::step::{Access, Act, Orders, Process, Step};
use super::super::sync::ALL;
use super::super::trace::{Trace, WriteBack};
use super::{Buffered, Entry, Interpreter, Status};

impl Interpreter<'_> {
    pub(super) fn value(&self, thread: usize, operand: Operand) -> u64 {
        match operand {
            Operand::Const(value) => value,
            Operand::Reg(reg) => self.threads[thread].regs[reg.0 as usize],
        }
    }

    /// Arrays wrap around at the end of memory: an index is never out of bounds.
    pub(super) fn cell(&self, thread: usize, place: Place) -> u32 {
        match place.index {
            None => place.cell,
            Some(reg) => {
                let index = self.threads[thread].regs[reg.0 as usize];
                (u64::from(place.cell).wrapping_add(index) % self.memory.len() as u64) as u32
            }
        }
    }

    pub(super) fn drained(&self, thread: usize) -> bool {
        self.threads[thread].head == self.threads[thread].buffer.len()
    }

    /// What a load finds, and the commit of its own newest store there.
    pub(super) fn look(&self, thread: usize, cell: u32) -> (u64, u32) {
        if self.model == Model::Sc {
            return (self.memory[cell as usize], 0);
        }
        let own = self.own[thread * self.memory.len() + cell as usize];
        let state = &self.threads[thread];
        if own > state.committed {
            for buffered in state.buffer[state.head..].iter().rev() {
                if let Entry::Store {
                    cell: at, value, ..
                } = buffered.entry
                    && at == cell
                {
                    return (value, own);
                }
            }
        }
        (self.memory[cell as usize], own)
    }

    pub(super) fn write(&mut self, thread: usize, cell: u32, value: u64) -> u64 {
        let found = std::mem::replace(&mut self.memory[cell as usize], value);
        if self.loops && found != value {
            self.changes[cell as usize] += 1;
            self.own_changes[thread * self.memory.len() + cell as usize] += 1;
        }
        found
    }

    pub(super) fn changes_by_others(&self, thread: usize, cell: u32) -> u32 {
        self.changes[cell as usize] - self.own_changes[thread * self.memory.len() + cell as usize]
    }

    pub(super) fn bytes(&self, cell: u32) -> (u32, u64) {
        if self.objects[cell as usize] {
            return (self.program.cells[cell as usize].line, ALL);
        }
        let cell = &self.program.cells[cell as usize];
        (cell.line, 0xff << (8 * u64::from(cell.word & 7)))
    }

    pub(super) fn push(&mut self, thread: usize, entry: Entry) {
        let state = &mut self.threads[thread];
        let site = self.first_site[thread] + state.pc;
        let tick = state.buffer.last().map_or(0, |buffered| buffered.tick) + 1;
        // What was done before the store is known wherever the store is.
        state.tick += 1;
        let need = match state.born {
            [(_, tick), _] if !state.stepped && tick != 0 => state.born,
            _ => [(thread as Process, state.tick), state.met],
        };
        state.buffer.push(Buffered {
            entry,
            site,
            need,
            joined: state.joined,
            tick,
            issued: state.tick,
        });
        if let Entry::Store { cell, .. } = entry {
            let index = thread * self.memory.len() + cell as usize;
            self.own[index] = tick;
            self.own_written.push(index as u32);
        }
        self.open |= 1 << (thread + self.threads.len());
    }

    /// A `clflushopt` is issued.
    pub(super) fn write_back(&mut self, thread: usize, cell: u32, trace: &mut Trace) {
        let line = self.program.cells[cell as usize].line;
        let state = &self.threads[thread];
        let on_line = |cell: u32| self.program.cells[cell as usize].line == line;
        let behind = state
            .buffer
            .iter()
            .rev()
            .find(|buffered| match buffered.entry {
                Entry::Store { cell, .. } | Entry::Clflush { cell } => on_line(cell),
                Entry::Sfence => true,
            });
        trace.write_backs.push(WriteBack {
            thread: thread as u8,
            object: line,
            issued: state.tick,
            after: behind.map_or(0, |buffered| buffered.tick),
            buffered: state.buffer.last().map_or(0, |buffered| buffered.tick),
            need: self.besides(thread),
            joined: state.joined,
            site: self.first_site[thread] + state.pc,
        });
    }

    /// The oldest entry of a store buffer takes effect.
    pub(super) fn commit(&mut self, thread: usize, trace: &mut Trace, at: usize) -> Step {
        let state = &mut self.threads[thread];
        let buffered = state.buffer[state.head];
        state.head += 1;
        state.committed = buffered.tick;
        let [need, also] = buffered.need;
        let mut step = Step {
            process: (thread + self.threads.len()) as Process,
            tick: buffered.tick,
            need,
            also,
            joined: buffered.joined,
            site: buffered.site,
            act: Act::Fence,
            ..Step::NOTHING
        };
        match buffered.entry {
            Entry::Store {
                cell, value, plain, ..
            } => {
                step.plain = plain;
                step.issued = buffered.issued;
                if !plain {
                    step.orders = Orders::strongest(Act::Commit, true);
                }
                (step.object, step.mask) = self.bytes(cell);
                step.act = Act::Commit;
                step.access = Access::Write;
                step.persistent = self.program.persistent;
                step.found = self.write(thread, cell, value);
                step.left = value;
            }
            Entry::Clflush { cell } => {
                (step.object, step.mask) = self.bytes(cell);
                step.act = Act::Flush;
                step.access = Access::Flush;
                step.persistent = true;
            }
            Entry::Sfence => {}
        }
        // Stores that nobody else can see the timing of follow by themselves.
        while let Some(Buffered {
            entry:
                Entry::Store {
                    cell,
                    value,
                    visible: false,
                    ..
                },
            ..
        }) = self.threads[thread]
            .buffer
            .get(self.threads[thread].head)
            .copied()
        {
            self.threads[thread].head += 1;
            self.write(thread, cell, value);
            let committed = self.threads[thread].buffer[self.threads[thread].head - 1].tick;
            self.threads[thread].committed = committed;
        }
        if self.drained(thread) {
            self.open &= !(1 << (thread + self.threads.len()));
            if self.threads[thread].status == Status::Draining {
                self.advance(thread, trace, at + 1);
            }
        }
        step
    }
}
