//! Visible operations: whether they are possible, what they touch, what they do.

use super::super::program::{Instr, Model, Order};
use super::super::step::{Access, Act, Process, Step, Until};
use super::super::trace::{End, Trace, Wait};
use super::{Interpreter, Status};

impl Interpreter<'_> {
    /// Is the operation that a thread stands before possible now?
    pub(super) fn possible(&self, thread: usize) -> bool {
        let state = &self.threads[thread];
        let instr = self.program.threads[thread][state.pc as usize];
        let drains = !matches!(
            instr,
            Instr::Load { .. } | Instr::Store { .. } | Instr::Flush { .. }
        );
        if drains && !self.drained(thread) {
            return false;
        }
        if let Instr::Lock(place) = instr {
            return self.memory[self.cell(thread, place) as usize] == 0;
        }
        !state.turn.spinning
            || state
                .turn
                .reads
                .iter()
                .any(|&(cell, changes)| self.changes_by_others(thread, cell) != changes)
    }

    /// What the thread's next transition will be, but for what it finds.
    pub(super) fn next_step(&mut self, thread: usize, trace: &mut Trace) -> Step {
        let state = &self.threads[thread];
        let instr = self.program.threads[thread][state.pc as usize];
        let mut step = Step {
            process: thread as Process,
            tick: state.tick + 1,
            joined: state.joined,
            site: self.first_site[thread] + state.pc,
            ..Step::NOTHING
        };
        let fences = !matches!(
            instr,
            Instr::Load { .. } | Instr::Store { .. } | Instr::Flush { .. }
        );
        let drained = if fences && self.model == Model::Tso {
            state.committed
        } else {
            state.drained
        };
        [step.need, step.also] = match (drained, state.stepped) {
            (0, false) => state.born,
            (0, true) => [(0, 0); 2],
            (tick, _) => [((thread + self.threads.len()) as Process, tick), (0, 0)],
        };
        if let Some(place) = instr.place() {
            let cell = self.cell(thread, place);
            (step.object, step.mask) = self.bytes(cell);
            step.persistent = self.program.persistent;
            step.found = self.memory[cell as usize];
            step.left = step.found;
            (step.act, step.access) = match instr {
                Instr::Load { order, .. } => {
                    step.plain = order == Order::Plain;
                    let (value, own) = self.look(thread, cell);
                    step.own = own;
                    step.found = value;
                    step.left = value;
                    (Act::Load, Access::Read)
                }
                Instr::Store { order, .. } => {
                    step.plain = order == Order::Plain;
                    (Act::Store, Access::Write)
                }
                Instr::Rmw { .. } => (Act::Rmw, Access::Write),
                Instr::Cas { expect, .. } => {
                    step.expect = self.value(thread, expect);
                    let holds = step.found == step.expect;
                    (Act::Cas, if holds { Access::Write } else { Access::Read })
                }
                Instr::Lock(_) => {
                    step.until = Until::Holds(0);
                    step.persistent = false;
                    (Act::Lock, Access::Write)
                }
                Instr::Unlock(_) => {
                    step.persistent = false;
                    (Act::Unlock, Access::Write)
                }
                _ => (Act::Flush, Access::Flush),
            };
        }
        if self.threads[thread].turn.spinning {
            step.until = Until::Changed;
            let mut watch = std::mem::take(&mut self.watch);
            watch.clear();
            watch.extend(
                self.threads[thread]
                    .turn
                    .reads
                    .iter()
                    .map(|&(cell, _)| self.bytes(cell)),
            );
            watch.sort_unstable();
            step.more = trace.watch(&watch);
            self.watch = watch;
        }
        step
    }

    /// A thread makes a transition that is known already: only its effects are repeated.
    pub(super) fn repeat(&mut self, thread: usize, step: &Step, trace: &mut Trace, at: usize) {
        let instr = self.program.threads[thread][self.threads[thread].pc as usize];
        self.threads[thread].turn.spinning = false;
        if let Some(place) = instr.place() {
            let cell = self.cell(thread, place);
            if step.access == Access::Write {
                self.wrote(thread, cell, step.found, step.left);
            }
            if self.loops {
                self.note_read(thread, cell);
            }
            if let Instr::Load { to, .. } | Instr::Rmw { to, .. } | Instr::Cas { to, .. } = instr {
                self.threads[thread].regs[to.0 as usize] = step.found;
            }
        }
        self.done(thread, trace, at);
    }

    /// A store of the thread itself, past its store buffer.
    fn wrote(&mut self, thread: usize, cell: u32, found: u64, value: u64) {
        self.write(thread, cell, value);
        // Its own loads see it through memory.
        if self.model == Model::Tso {
            self.own[thread * self.memory.len() + cell as usize] = 0;
        }
        if found != value {
            self.threads[thread].turn.pure = false;
        }
    }

    /// The visible part is done; the thread goes on to its next one.
    fn done(&mut self, thread: usize, trace: &mut Trace, at: usize) {
        let state = &mut self.threads[thread];
        state.tick += 1;
        state.stepped = true;
        state.joined = 0;
        state.drained = 0;
        state.pc += 1;
        self.advance(thread, trace, at + 1);
    }

    /// A thread makes its transition.
    pub(super) fn execute(&mut self, thread: usize, trace: &mut Trace, at: usize) -> Step {
        let mut step = self.next_step(thread, trace);
        let instr = self.program.threads[thread][self.threads[thread].pc as usize];
        self.threads[thread].turn.spinning = false;
        if let Some(place) = instr.place() {
            let cell = self.cell(thread, place);
            let found = step.found;
            let (to, new) = match instr {
                Instr::Load { to, .. } => (Some(to), None),
                Instr::Store { value, .. } => (None, Some(self.value(thread, value))),
                Instr::Rmw { to, op, value, .. } => {
                    (Some(to), Some(op.apply(found, self.value(thread, value))))
                }
                Instr::Cas { to, new, .. } if step.access == Access::Write => {
                    (Some(to), Some(self.value(thread, new)))
                }
                Instr::Cas { to, .. } => (Some(to), None),
                Instr::Lock(_) => (None, Some(thread as u64 + 1)),
                Instr::Unlock(_) => (None, Some(0)),
                _ => (None, None),
            };
            if let Some(value) = new {
                step.left = value;
                self.wrote(thread, cell, found, value);
            }
            self.note_read(thread, cell);
            if let Some(to) = to {
                self.threads[thread].regs[to.0 as usize] = found;
            }
        }
        self.done(thread, trace, at);
        step
    }

    pub(super) fn report_waiting(&mut self, trace: &mut Trace) {
        for thread in 0..self.threads.len() {
            match self.threads[thread].status {
                Status::Stopped => {
                    let step = self.next_step(thread, trace);
                    trace.blocked.push(Wait::Step(step));
                }
                Status::Joining(of) => trace.blocked.push(Wait::Join {
                    thread: thread as u8,
                    of,
                    site: self.first_site[thread] + self.threads[thread].pc,
                }),
                Status::Absent | Status::Draining | Status::Ended => {}
            }
        }
        if !trace.blocked.is_empty() {
            trace.end = End::Deadlock;
        }
    }
}
