//! Visible operations: whether they are possible, what they touch, what they do.

use super::{Interpreter, Status};
use crate::program::{Instr, Model, Order, Reg, Sync};
use landfall_explore::schedule::{Access, Act, NOWHERE, Orders, Process, Step, Until};
use landfall_explore::schedule::{End, Trace, Wait};

impl Interpreter<'_> {
    /// Is the operation that a thread stands before possible now?
    pub(super) fn possible(&self, thread: usize) -> bool {
        self.possible_in_itself(thread) && self.changed(thread)
    }

    /// The same, though its last turn may have been in vain.
    pub(super) fn possible_in_itself(&self, thread: usize) -> bool {
        let state = &self.threads[thread];
        let instr = self.program.threads[thread][state.pc as usize];
        if (instr.drains() || self.commits_next(thread)) && !self.drained(thread) {
            return false;
        }
        if let Instr::Spoil(of) = instr {
            return self.may_spoil(thread, of.into());
        }
        if let (Some(op), Some(place)) = (instr.sync(), instr.place()) {
            let word = self.memory[self.cell(thread, place) as usize];
            if !op.until(thread).admits(word) {
                return false;
            }
        }
        true
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
        let drains = instr.drains() || self.commits_next(thread);
        let drained = if drains && self.model == Model::Tso {
            state.committed
        } else {
            state.drained
        };
        [step.need, step.also] = match (drained, state.stepped) {
            (0, false) => state.born,
            (0, true) => [(0, 0); 2],
            (tick, _) => {
                let companion = (thread + self.threads.len()) as Process;
                [(companion, tick), (0, 0)]
            }
        };
        if let (Some(round), Instr::Arrive { at, to, .. }) = (state.meets, instr) {
            self.pass(at.cell, round, to, &mut step, trace);
            return step;
        }
        step.behind = self.behind_streams(thread, drains, trace);
        if let Instr::Spoil(of) = instr {
            self.spoils(&mut step, thread, of.into());
            return step;
        }
        if let Instr::Begin { .. } = instr {
            self.attempts(&mut step, thread);
            return step;
        }
        if matches!(instr, Instr::Fence | Instr::Sfence) {
            step.act = Act::Fence;
        }
        if self.touches_mapping(thread, &instr, &mut step, trace) {
            return step;
        }
        if let Some(place) = instr.place() {
            let cell = self.cell(thread, place);
            step.more = self.watched_mapping(cell, trace);
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
                Instr::Store { order, .. } | Instr::Stream { order, .. } => {
                    step.plain = order == Order::Plain;
                    step.streams = matches!(instr, Instr::Stream { .. });
                    (Act::Store, Access::Write)
                }
                Instr::Rmw { .. } => (Act::Rmw, Access::Write),
                Instr::Cas { expect, .. } => {
                    step.expect = self.value(thread, expect);
                    let holds = step.found == step.expect;
                    (Act::Cas, if holds { Access::Write } else { Access::Read })
                }
                Instr::Flush { .. } => (Act::Flush, Access::Flush),
                _ => (step.act, step.access),
            };
            let accesses = matches!(step.act, Act::Load | Act::Store | Act::Rmw | Act::Cas);
            if accesses && !step.plain {
                step.orders = Orders::strongest(step.act, step.access == Access::Write);
            }
            if let Some(op) = instr.sync() {
                step.act = Act::Sync(op);
                step.until = op.until(thread);
                step.persistent = false;
                if let Instr::Arrive { parties, .. } = instr {
                    step.expect = parties;
                }
                (step.access, step.mask) = op.footprint(thread, step.found);
            }
        }
        step
    }

    /// A thread makes a transition that is known already: only its effects are repeated.
    pub(super) fn repeat(&mut self, thread: usize, step: &Step, trace: &mut Trace, at: usize) {
        let instr = self.program.threads[thread][self.threads[thread].pc as usize];
        if self.threads[thread].meets.is_some() {
            return self.left_barrier(thread, step, trace, at);
        }
        if self.at_mapping(thread, &instr, trace, at) {
            return;
        }
        if self.at_transaction(thread, &instr, &mut step.clone(), trace, at) {
            return;
        }
        if let Some(place) = instr.place() {
            let cell = self.cell(thread, place);
            self.touch(thread, &instr, cell, step);
            self.enter_section(thread, &instr, trace);
            if step.section != 0 {
                self.wrote(thread, cell, 0, thread as u64 + 1);
            } else if step.access == Access::Write {
                self.wrote(thread, cell, step.found, step.left);
            }
            match instr {
                Instr::Load { to, .. } | Instr::Rmw { to, .. } | Instr::Cas { to, .. } => {
                    self.threads[thread].regs[to.0 as usize] = step.found;
                }
                Instr::Ask { op, to, .. } => {
                    let succeeds = op.succeeds(thread, step.found);
                    self.threads[thread].regs[to.0 as usize] = succeeds.into();
                }
                Instr::Arrive { .. } => return self.arrive(thread, cell, step),
                _ => {}
            }
        }
        self.done(thread, trace, at);
    }

    /// What others can see of it, and what it can see of them.
    fn touch(&mut self, thread: usize, instr: &Instr, cell: u32, step: &Step) {
        let found = step.found;
        if !self.sees_own(thread, step.own) {
            self.note_touched(thread, cell);
        }
        match instr.sync() {
            // Who waits for a lock does not see who had it.
            Some(Sync::Lock | Sync::LockExclusive | Sync::LockShared) => {}
            Some(Sync::Unlock | Sync::UnlockShared) => {}
            Some(Sync::TryLock | Sync::TryLockExclusive | Sync::TryLockShared) | None => {
                self.note_read(thread, cell, found);
            }
            Some(_) => self.lasts(thread),
        }
        // A power failure may leave what it wrote, whoever undoes it.
        let persists = step.persistent && step.access == Access::Write;
        if matches!(instr, Instr::Flush { .. } | Instr::Stream { .. }) || persists {
            self.lasts(thread);
        }
    }

    /// A store of the thread itself, past its store buffer.
    pub(super) fn wrote(&mut self, thread: usize, cell: u32, found: u64, value: u64) {
        self.write(thread, cell, value);
        // Its own loads see it through memory.
        if self.model == Model::Tso {
            self.own[thread * self.memory.len() + cell as usize] = (0, 0);
        }
        self.note_change(thread, cell, found, value);
        self.note_written(thread, cell);
    }

    /// The visible part is done; the thread goes on to its next one.
    fn done(&mut self, thread: usize, trace: &mut Trace, at: usize) {
        self.did(thread);
        self.advance(thread, trace, at + 1);
    }

    pub(super) fn did(&mut self, thread: usize) {
        let instr = self.program.threads[thread][self.threads[thread].pc as usize];
        if self.streams != 0 && instr.drains() {
            self.begin_epoch(thread);
        }
        let state = &mut self.threads[thread];
        state.tick += 1;
        state.stepped = true;
        state.joined = 0;
        state.meets = None;
        state.drained = 0;
        state.floor.clear();
        state.pc += 1;
        if instr.drains() {
            state.attempt.stores(false);
        }
    }

    /// A thread makes its transition.
    pub(super) fn execute(&mut self, thread: usize, trace: &mut Trace, at: usize) -> Step {
        let mut step = self.next_step(thread, trace);
        let instr = self.program.threads[thread][self.threads[thread].pc as usize];
        if self.threads[thread].meets.is_some() {
            self.left_barrier(thread, &step, trace, at);
            return step;
        }
        if self.at_mapping(thread, &instr, trace, at) {
            return step;
        }
        if self.at_transaction(thread, &instr, &mut step, trace, at) {
            return step;
        }
        if let Some(place) = instr.place() {
            let cell = self.cell(thread, place);
            let found = step.found;
            let mut result = found;
            let (to, new) = match instr {
                Instr::Load { to, .. } => (Some(to), None),
                Instr::Store { value, .. } | Instr::Stream { value, .. } => {
                    (None, Some(self.value(thread, value)))
                }
                Instr::Rmw { to, op, value, .. } => {
                    (Some(to), Some(op.apply(found, self.value(thread, value))))
                }
                Instr::Cas { to, new, .. } if step.access == Access::Write => {
                    (Some(to), Some(self.value(thread, new)))
                }
                Instr::Cas { to, .. } => (Some(to), None),
                Instr::Sync(op, _) => (None, Some(op.left(thread, found))),
                Instr::Ask { op, to, .. } => {
                    result = op.succeeds(thread, found).into();
                    (Some(to), Some(op.left(thread, found)))
                }
                Instr::Arrive { .. } => (None, Some(found + 1)),
                _ => (None, None),
            };
            self.touch(thread, &instr, cell, &step);
            self.enter_section(thread, &instr, trace);
            if let Some(value) = new {
                step.left = value;
                self.wrote(thread, cell, found, value);
            }
            if let Some(to) = to {
                self.threads[thread].regs[to.0 as usize] = result;
            }
            if let Instr::Arrive { .. } = instr {
                self.arrive(thread, cell, &step);
                return step;
            }
        }
        self.done(thread, trace, at);
        if let Some(place) = instr.place() {
            self.close_section(place.cell, &mut step, trace);
        }
        step
    }

    /// A thread has arrived at a barrier: it waits there, or all of them may go on.
    fn arrive(&mut self, thread: usize, cell: u32, step: &Step) {
        let state = &mut self.threads[thread];
        state.tick += 1;
        state.stepped = true;
        state.joined = 0;
        state.drained = 0;
        state.floor.clear();
        state.meets = Some(step.round());
        state.status = Status::Meeting(cell);
        self.open &= !(1 << thread);
        self.gated &= !(1 << thread);
        self.arrivals
            .push((cell, step.round(), thread as Process, step.tick));
        if !step.left.is_multiple_of(step.expect) {
            return;
        }
        for other in 0..self.threads.len() {
            let state = &mut self.threads[other];
            if state.status == Status::Meeting(cell) && state.meets == Some(step.round()) {
                state.status = Status::Stopped;
                self.open |= 1 << other;
            }
        }
    }

    /// What leaving a barrier will be: all who arrived in the round come before.
    fn pass(&self, cell: u32, round: u64, to: Option<Reg>, step: &mut Step, trace: &mut Trace) {
        const ROUNDS: u32 = 64;
        let mut behind: Vec<(Process, u32)> = (self.arrivals.iter())
            .filter(|&&(of, number, process, _)| {
                (of, number) == (cell, round) && process != step.process
            })
            .map(|&(.., process, tick)| (process, tick))
            .collect();
        behind.sort_unstable();
        step.behind = trace.sets.come_after(&behind);
        step.act = Act::Sync(Sync::Pass);
        if to.is_some() {
            let lines = self.program.cells.last().map_or(0, |cell| cell.line + 1);
            step.object = lines + cell * ROUNDS + round as u32 % ROUNDS;
            step.found = self.serial.contains(&(cell, round)).into();
            step.left = 1;
            (step.access, step.mask) = Sync::Pass.footprint(step.process.into(), step.found);
        }
    }

    /// A thread leaves a barrier.
    fn left_barrier(&mut self, thread: usize, step: &Step, trace: &mut Trace, at: usize) {
        let instr = self.program.threads[thread][self.threads[thread].pc as usize];
        if let (
            Instr::Arrive {
                at, to: Some(to), ..
            },
            Some(round),
        ) = (instr, self.threads[thread].meets)
        {
            let serial = Sync::Pass.succeeds(thread, step.found);
            self.threads[thread].regs[to.0 as usize] = serial.into();
            self.serial.extend(serial.then_some((at.cell, round)));
        }
        self.lasts(thread);
        self.done(thread, trace, at);
    }

    pub(super) fn report_waiting(&mut self, trace: &mut Trace) {
        let mut in_vain = false;
        for thread in 0..self.threads.len() {
            match self.threads[thread].status {
                Status::Left => {
                    in_vain |= self.changed(thread);
                    let step = self.waiting_step(thread, trace);
                    trace.blocked.push(Wait::Step(step));
                }
                Status::Stopped if self.is_spoiler(thread) => {}
                Status::Stopped => {
                    let step = self.next_step(thread, trace);
                    in_vain |= step.would_look();
                    trace.blocked.push(Wait::Step(step));
                }
                Status::Joining(of) => trace.blocked.push(Wait::Join {
                    thread: thread as Process,
                    of: of.into(),
                    site: self.first_site[thread] + self.threads[thread].pc,
                }),
                Status::Meeting(cell) => trace.blocked.push(Wait::Barrier {
                    thread: thread as Process,
                    object: self.bytes(cell).0,
                    site: self.first_site[thread] + self.threads[thread].pc,
                }),
                Status::Absent | Status::Draining | Status::Ended => {}
            }
        }
        if in_vain {
            trace.end = End::InVain;
        } else if !trace.blocked.is_empty() {
            trace.end = End::Deadlock;
        }
    }

    /// What a thread waits for after a turn in vain.
    fn waiting_step(&mut self, thread: usize, trace: &mut Trace) -> Step {
        let reads = self.threads[thread].turns.waits.iter().flatten();
        let mut watch: Vec<(u32, u64)> = reads.map(|&(cell, _)| self.bytes(cell)).collect();
        let (object, mask) = watch.first().copied().unwrap_or((NOWHERE, 0));
        watch.sort_unstable();
        Step {
            process: thread as Process,
            tick: self.threads[thread].tick + 1,
            site: self.first_site[thread] + self.threads[thread].pc,
            access: Access::Read,
            act: Act::Load,
            until: Until::Changed,
            object,
            mask,
            more: trace.sets.watch(&watch),
            ..Step::NOTHING
        }
    }
}
