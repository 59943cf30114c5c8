//! What a thread does by itself, up to its next visible operation.

use super::{Entry, Interpreter, Status};
use crate::program::{Instr, Model, Order as Ordering, WriteBack};
use landfall_explore::schedule::Process;
use landfall_explore::schedule::{ThreadFailure, Trace, Trailing};

impl Interpreter<'_> {
    /// Runs a thread to its next visible operation. `at` is the number of transitions so far.
    pub(super) fn advance(&mut self, thread: usize, trace: &mut Trace, at: usize) {
        let bit = 1u64 << thread;
        self.open &= !bit;
        self.gated &= !bit;
        let code = &self.program.threads[thread][..];
        // Who has waited for its stores, or was left here, has been here.
        let mut is_here = matches!(self.threads[thread].status, Status::Draining | Status::Left);
        loop {
            let pc = self.threads[thread].pc;
            if self.heads[thread].contains(&pc) && !std::mem::take(&mut is_here) {
                self.leaves_section(thread, trace);
                if self.arrived(thread, pc, at) {
                    return;
                }
            }
            is_here = false;
            let Some(&instr) = code.get(pc as usize) else {
                self.leaves_section(thread, trace);
                // Ending drains the store buffer, as joining it must see its stores.
                self.end_thread(thread, trace, at);
                return;
            };
            match instr {
                Instr::Calc { to, a, op, b } => {
                    let value = op.apply(self.value(thread, a), self.value(thread, b));
                    self.threads[thread].regs[to.0 as usize] = value;
                }
                Instr::Jump(to) => {
                    self.threads[thread].pc = to;
                    continue;
                }
                Instr::JumpIf { a, cmp, b, to } => {
                    if cmp.holds(self.value(thread, a), self.value(thread, b)) {
                        self.threads[thread].pc = to;
                        continue;
                    }
                }
                Instr::Assert { a, cmp, b, code } => {
                    if !cmp.holds(self.value(thread, a), self.value(thread, b)) {
                        let site = self.first_site[thread] + pc;
                        trace.failures.push(ThreadFailure {
                            thread: thread as Process,
                            site,
                            code,
                        });
                        self.threads[thread].pc = self.program.threads[thread].len() as u32;
                        continue;
                    }
                }
                Instr::Create(of) => {
                    self.leaves_section(thread, trace);
                    if !self.wait_to_drain(thread) {
                        return;
                    }
                    self.threads[thread].pc += 1;
                    self.create(thread, of as usize, trace, at);
                    continue;
                }
                Instr::Join(of) => {
                    self.leaves_section(thread, trace);
                    if self.ended >> of & 1 == 0 {
                        self.threads[thread].status = Status::Joining(of);
                        return;
                    }
                    let known = trace.sets.joined(self.threads[thread].joined);
                    let mut all = known.to_vec();
                    all.push((of.into(), u32::MAX));
                    if self.model == Model::Tso {
                        let order = landfall_explore::schedule::Order {
                            threads: self.threads.len(),
                            streams: self.streams,
                            persistency: Default::default(),
                        };
                        all.extend(
                            order
                                .commits_of(of.into())
                                .map(|commits| (commits, u32::MAX)),
                        );
                    }
                    // Whom it created before does not know of it.
                    all.sort_unstable();
                    all.dedup();
                    self.threads[thread].joined = trace.sets.come_after(&all);
                    self.threads[thread].tick += 1;
                }
                Instr::Fence if !self.program.persistent => {
                    if !self.wait_to_drain(thread) {
                        return;
                    }
                }
                // Between ordinary stores and loads of TSO it orders nothing that is not ordered.
                Instr::Sfence if !self.program.persistent && self.streams == 0 => {}
                Instr::Flush { .. } if !self.program.persistent => {}
                Instr::Load {
                    to,
                    at: place,
                    order,
                } if !self.is_point(thread, order) => {
                    let cell = self.cell(thread, place);
                    let (value, own) = self.look(thread, cell);
                    self.trail(thread, cell, false, trace, at);
                    if !self.sees_own(thread, own) {
                        self.note_touched(thread, cell);
                    }
                    self.note_read(thread, cell, value);
                    self.threads[thread].regs[to.0 as usize] = value;
                }
                Instr::Store {
                    at: place,
                    value,
                    order,
                } if !self.is_point(thread, order) && !self.program.persistent => {
                    let cell = self.cell(thread, place);
                    let value = self.value(thread, value);
                    self.trail(thread, cell, true, trace, at);
                    let found = self.look(thread, cell).0;
                    let entry = Entry::Store {
                        cell,
                        value,
                        visible: false,
                        plain: true,
                        streams: false,
                    };
                    match self.store_hidden(thread, entry, trace) {
                        true => {
                            self.note_hidden_change(thread, cell, found);
                            self.note_written(thread, cell);
                        }
                        false if self.streams != 0 => self.lasts(thread),
                        // Nobody can tell when it is stored, only that it is.
                        false => {
                            self.note_own(thread, cell, found, value);
                            self.note_hidden_change(thread, cell, found);
                            self.note_written(thread, cell);
                        }
                    }
                }
                Instr::Store {
                    at: place,
                    value,
                    order,
                }
                | Instr::Stream {
                    at: place,
                    value,
                    order,
                } if self.model == Model::Tso && !self.stops_to_issue(thread, place) => {
                    self.leaves_section(thread, trace);
                    let streams = matches!(instr, Instr::Stream { .. });
                    let cell = self.cell(thread, place);
                    let value = self.value(thread, value);
                    match self.streams != 0 || self.program.persistent {
                        true => self.lasts(thread),
                        false => self.note_push(thread, cell, value),
                    }
                    self.push(
                        thread,
                        Entry::Store {
                            cell,
                            value,
                            visible: true,
                            plain: order == Ordering::Plain,
                            streams,
                        },
                        trace,
                    );
                }
                Instr::Flush {
                    at: place,
                    kind: WriteBack::Clflush,
                } if self.model == Model::Tso => {
                    let cell = self.cell(thread, place);
                    self.push(thread, Entry::Clflush { cell }, trace);
                }
                Instr::Flush {
                    at: place,
                    kind: WriteBack::Opt,
                } => {
                    let cell = self.cell(thread, place);
                    self.write_back(thread, cell, trace);
                }
                Instr::Sfence if self.model == Model::Tso => {
                    self.push(thread, Entry::Sfence, trace)
                }
                _ => {
                    if self.leaves_section(thread, trace) {
                        self.threads[thread].pc += 1;
                        continue;
                    }
                    if self.settles(thread, Some(&instr)) {
                        return;
                    }
                    self.threads[thread].status = Status::Stopped;
                    match instr {
                        Instr::Begin { .. } => {
                            self.asks(thread, trace);
                            self.gated |= bit;
                        }
                        Instr::Spoil(_)
                        | Instr::Sync(..)
                        | Instr::Ask { .. }
                        | Instr::Arrive { .. }
                        | Instr::Rmw { .. }
                        | Instr::Cas { .. }
                        | Instr::Unmap(_)
                        | Instr::Fence => {
                            self.gated |= bit;
                        }
                        _ if self.threads[thread].turns.waits.is_some() => self.gated |= bit,
                        _ => self.open |= bit,
                    }
                    return;
                }
            }
            self.threads[thread].pc += 1;
        }
    }

    pub(super) fn trail(
        &mut self,
        thread: usize,
        cell: u32,
        write: bool,
        trace: &mut Trace,
        at: usize,
    ) {
        let (object, mask) = self.bytes(cell);
        let state = &self.threads[thread];
        let within = state.section.is_some() || state.attempt.is_inside();
        if within {
            self.accessed.push((object, mask, write));
        }
        trace.trailing.push(Trailing {
            after: (at as u32).wrapping_sub(1),
            thread: thread as Process,
            tick: self.threads[thread].tick,
            need: self.besides(thread),
            joined: self.threads[thread].joined,
            object,
            mask,
            write,
            within,
            atomic: false,
            unjudged: false,
            site: self.first_site[thread] + self.threads[thread].pc,
        });
    }

    /// What a thread knows besides its own transitions.
    pub(super) fn besides(&self, thread: usize) -> [(Process, u32); 2] {
        let state = &self.threads[thread];
        match state.stepped {
            true => [(0, 0); 2],
            false => state.born,
        }
    }

    pub(super) fn is_point(&self, thread: usize, order: Ordering) -> bool {
        order == Ordering::Atomic
            || self.threads[thread].turns.waits.is_some()
            || self
                .points
                .contains(self.first_site[thread] + self.threads[thread].pc)
    }

    /// Can the thread go on past a fence? If not, it waits for its store buffer.
    pub(super) fn wait_to_drain(&mut self, thread: usize) -> bool {
        if !self.drained(thread) {
            self.threads[thread].status = Status::Draining;
            return false;
        }
        self.fence_off(thread);
        !self.settles(thread, None)
    }

    pub(super) fn end_thread(&mut self, thread: usize, trace: &mut Trace, at: usize) {
        if !self.wait_to_drain(thread) {
            return;
        }
        self.threads[thread].status = Status::Ended;
        self.threads[thread].tick += 1;
        self.ended |= 1 << thread;
        for other in 0..self.threads.len() {
            if self.threads[other].status == Status::Joining(thread as u8) {
                self.advance(other, trace, at);
            }
        }
    }

    pub(super) fn create(&mut self, parent: usize, of: usize, trace: &mut Trace, at: usize) {
        if self.threads[of].status != Status::Absent {
            return;
        }
        self.threads[parent].tick += 1;
        let tick = self.threads[parent].tick;
        let companion = parent + self.threads.len();
        let committed = self.threads[parent].committed;
        self.threads[of].born = [(parent as Process, tick), (companion as Process, committed)];
        self.advance(of, trace, at);
    }
}
