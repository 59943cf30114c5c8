//! Candidate executions: every choice of where each read takes its value from (`rf`), with the values that follow.
//!
//! A read may name a write that does not exist yet, of a thread that has not come that far: its thread then waits for it.
//! If all threads wait, the choice was circular (a value out of thin air) and is dropped. Each choice is made once.

use super::order::{EventOrder, OrderCycle, Set, members, one};
use crate::Model;
use crate::program::{Instr, LineId, Operand, Program, RmwOp, Value, Var};
use landfall_model::order::OpKind;

/// An instruction that was executed.
#[derive(Clone, Debug)]
pub(super) struct GraphEvent {
    pub(super) thread: usize,
    pub(super) instr: usize,
    pub(super) kind: OpKind,
    pub(super) var: Option<Var>,
    pub(super) line: Option<LineId>,
    pub(super) read: Option<(ReadSource, Value)>,
    pub(super) written: Option<Value>,
    /// Reads that its operands come from.
    data: Set,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ReadSource {
    Initial,
    Write(usize),
}

/// An execution without its coherence order: events, `rf`, and the order these and `ppo` impose.
#[derive(Clone, Debug)]
pub(super) struct CandidateGraph {
    /// By index: a thread's instructions have consecutive indices, whether executed or not.
    pub(super) events: Vec<Option<GraphEvent>>,
    pub(super) order: EventOrder,
    threads: Vec<ThreadCursor>,
}

/// How far a thread has come, and what it knows.
#[derive(Clone, Debug)]
struct ThreadCursor {
    next: usize,
    state: ThreadProgress,
    regs: Vec<KnownReads>,
    /// Reads that decided an `if` on the way here.
    control: Set,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ThreadProgress {
    Running,
    /// Its next read waits for this event's value.
    AwaitingWrite(usize),
    Ended,
}

/// A register's value and the reads it comes from.
#[derive(Clone, Copy, Debug)]
struct KnownReads {
    value: Value,
    from: Set,
}

pub(super) struct CandidateGraphs<'a, V> {
    pub(super) program: &'a Program,
    pub(super) model: &'a Model,
    /// Index of the first event of each thread.
    base: Vec<usize>,
    /// Called at each branch with `None`, and with each complete candidate; false stops the enumeration.
    visit: V,
    stopped: bool,
}

impl<'a, V: FnMut(Option<&CandidateGraph>) -> bool> CandidateGraphs<'a, V> {
    pub(super) fn new(program: &'a Program, model: &'a Model, visit: V) -> CandidateGraphs<'a, V> {
        let mut base = Vec::new();
        let mut events = 0;
        for thread in &program.threads {
            base.push(events);
            events += thread.body.len();
        }
        base.push(events);
        CandidateGraphs {
            program,
            model,
            base,
            visit,
            stopped: false,
        }
    }

    pub(super) fn enumerate(&mut self) {
        let events = self.base[self.program.threads.len()];
        self.extend(CandidateGraph {
            events: vec![None; events],
            order: EventOrder::new(events),
            threads: self
                .program
                .threads
                .iter()
                .map(|thread| ThreadCursor {
                    next: 0,
                    state: ThreadProgress::Running,
                    regs: thread
                        .regs
                        .iter()
                        .map(|r| KnownReads {
                            value: r.init,
                            from: 0,
                        })
                        .collect(),
                    control: 0,
                })
                .collect(),
        });
    }

    /// Runs the first thread that can run up to its next read, and branches there.
    fn extend(&mut self, mut candidate: CandidateGraph) {
        loop {
            if self.stopped {
                return;
            }
            let running = |c: &ThreadCursor| c.state == ThreadProgress::Running;
            let Some(thread) = candidate.threads.iter().position(running) else {
                if candidate
                    .threads
                    .iter()
                    .all(|c| c.state == ThreadProgress::Ended)
                {
                    self.stopped = !(self.visit)(Some(&candidate));
                }
                return;
            };
            let body = &self.program.threads[thread].body;
            let at = candidate.threads[thread].next;
            let Some(instr) = body.get(at) else {
                if self.end(&mut candidate, thread).is_err() {
                    return;
                }
                continue;
            };
            if instr.reads() {
                for source in self.sources(thread, at) {
                    if self.stopped || !(self.visit)(None) {
                        self.stopped = true;
                        return;
                    }
                    let mut branch = candidate.clone();
                    if self.read(&mut branch, thread, at, source).is_ok() {
                        self.extend(branch);
                    }
                }
                return;
            }
            if self.step(&mut candidate, thread, at).is_err() {
                return;
            }
        }
    }

    /// Every write the read could take its value from: `rfi ⊆ po` rules out the thread's own later ones.
    fn sources(&self, thread: usize, at: usize) -> Vec<ReadSource> {
        let var = self.program.threads[thread].body[at].var();
        let mut sources = vec![ReadSource::Initial];
        for (t, other) in self.program.threads.iter().enumerate() {
            for (i, instr) in other.body.iter().enumerate() {
                if instr.may_write() && instr.var() == var && (t != thread || i < at) {
                    sources.push(ReadSource::Write(self.base[t] + i));
                }
            }
        }
        sources
    }

    fn read(
        &self,
        candidate: &mut CandidateGraph,
        thread: usize,
        at: usize,
        source: ReadSource,
    ) -> Result<(), OrderCycle> {
        let var = self.program.threads[thread].body[at].var();
        let value = match source {
            ReadSource::Initial => var.map_or(0, |v| self.program.vars[v.0 as usize].init),
            ReadSource::Write(write) => {
                let owner = &candidate.threads[self.owner(write)];
                let undecided = self.base[self.owner(write)] + owner.next <= write
                    && owner.state != ThreadProgress::Ended;
                match candidate.events[write].as_ref().and_then(|e| e.written) {
                    Some(value) => value,
                    None if undecided => {
                        // Remember the promise: the read is completed when the write is there.
                        self.create(candidate, thread, at, Some((source, 0)), None)?;
                        candidate.threads[thread].state = ThreadProgress::AwaitingWrite(write);
                        return Ok(());
                    }
                    None => return Err(OrderCycle),
                }
            }
        };
        self.create(candidate, thread, at, Some((source, value)), None)?;
        self.complete_read(candidate, thread, at, value)
    }

    fn owner(&self, event: usize) -> usize {
        self.base.partition_point(|&b| b <= event) - 1
    }

    /// The read's value is known: compute what a locked instruction writes, set the register, order it.
    fn complete_read(
        &self,
        candidate: &mut CandidateGraph,
        thread: usize,
        at: usize,
        value: Value,
    ) -> Result<(), OrderCycle> {
        let id = self.base[thread] + at;
        let cursor = &candidate.threads[thread];
        let (reg, written) = match self.program.threads[thread].body[at] {
            Instr::Load { reg, .. } => (Some(reg), None),
            Instr::Rmw {
                reg, op, operand, ..
            } => (reg, Some(op.apply(value, cursor.get(operand).value))),
            Instr::Cas {
                reg,
                expected,
                desired,
                ..
            } => (
                Some(reg),
                (cursor.get(expected).value == value).then(|| cursor.get(desired).value),
            ),
            _ => (None, None),
        };
        let mut source = ReadSource::Initial;
        if let Some(event) = &mut candidate.events[id] {
            event.written = written;
            if let Some(read) = &mut event.read {
                read.1 = value;
                source = read.0;
            }
        }
        if let ReadSource::Write(write) = source {
            if self.owner(write) != thread {
                candidate.order.add(write, id)?; // rfe
            } else if let Some(event) = &candidate.events[write] {
                // A forwarded value is known only once it is computed; a locked instruction's once it is done.
                let (data, locked) = (event.data, event.kind == OpKind::Rmw);
                for read in members(data) {
                    candidate.order.add(read, id)?;
                }
                if locked {
                    candidate.order.add(write, id)?;
                }
            }
        }
        let cursor = &mut candidate.threads[thread];
        if let Some(reg) = reg {
            cursor.regs[reg.0 as usize] = KnownReads {
                value,
                from: one(id),
            };
        }
        cursor.next = at + 1;
        cursor.state = ThreadProgress::Running;
        if written.is_some() {
            self.wake(candidate, id)
        } else {
            self.disappoint(candidate, id)
        }
    }

    /// An instruction that reads no memory.
    fn step(
        &self,
        candidate: &mut CandidateGraph,
        thread: usize,
        at: usize,
    ) -> Result<(), OrderCycle> {
        let instr = &self.program.threads[thread].body[at];
        let cursor = &mut candidate.threads[thread];
        cursor.next = at + 1;
        match *instr {
            Instr::Store { value, .. } | Instr::NtStore { value, .. } => {
                let value = cursor.get(value).value;
                self.create(candidate, thread, at, None, Some(value))?;
                return self.wake(candidate, self.base[thread] + at);
            }
            Instr::Move { reg, value } => {
                cursor.regs[reg.0 as usize] = cursor.get(value);
            }
            Instr::Arith { reg, op, operand } => {
                let (a, b) = (cursor.regs[reg.0 as usize], cursor.get(operand));
                cursor.regs[reg.0 as usize] = KnownReads {
                    value: RmwOp::apply(op, a.value, b.value),
                    from: a.from | b.from,
                };
            }
            Instr::If { reg, equals } => {
                let known = cursor.regs[reg.0 as usize];
                cursor.control |= known.from;
                if known.value != equals {
                    return self.end(candidate, thread);
                }
            }
            _ => self.create(candidate, thread, at, None, None)?,
        }
        Ok(())
    }

    /// Adds the event and its preserved program order.
    fn create(
        &self,
        candidate: &mut CandidateGraph,
        thread: usize,
        at: usize,
        read: Option<(ReadSource, Value)>,
        written: Option<Value>,
    ) -> Result<(), OrderCycle> {
        let instr = &self.program.threads[thread].body[at];
        let Some(kind) = instr.op_kind() else {
            return Ok(());
        };
        let cursor = &candidate.threads[thread];
        let data = instr_operands(instr)
            .into_iter()
            .fold(0, |set, operand| set | cursor.get(operand).from);
        let control = cursor.control;
        let var = instr.var();
        let line = var.map(|v| self.program.line_of(v));
        let id = self.base[thread] + at;
        for read in members(data | control) {
            candidate.order.add(read, id)?;
        }
        for earlier in self.base[thread]..id {
            let Some(e) = &candidate.events[earlier] else {
                continue;
            };
            let same_line = line.is_some() && e.line == line;
            // One variable is coherent under any table: only a read may pass an earlier plain access of it.
            let same_var = var.is_some() && e.var == var;
            let coherent = (instr.may_write() && (e.read.is_some() || may_write(e)))
                || (instr.reads() && e.kind == OpKind::Rmw);
            if self.model.table.ordered(e.kind, kind, same_line) || (same_var && coherent) {
                candidate.order.add(earlier, id)?;
            }
        }
        candidate.events[id] = Some(GraphEvent {
            thread,
            instr: at,
            kind,
            var,
            line,
            read,
            written,
            data,
        });
        Ok(())
    }

    /// The write happened: reads that were promised its value go on.
    fn wake(&self, candidate: &mut CandidateGraph, write: usize) -> Result<(), OrderCycle> {
        let value = candidate.events[write]
            .as_ref()
            .and_then(|e| e.written)
            .ok_or(OrderCycle)?;
        for thread in 0..candidate.threads.len() {
            if candidate.threads[thread].state == ThreadProgress::AwaitingWrite(write) {
                let at = candidate.threads[thread].next;
                self.complete_read(candidate, thread, at, value)?;
            }
        }
        Ok(())
    }

    /// The event wrote nothing: a read that was promised its value can never be.
    fn disappoint(&self, candidate: &CandidateGraph, event: usize) -> Result<(), OrderCycle> {
        let awaited = |c: &ThreadCursor| c.state == ThreadProgress::AwaitingWrite(event);
        match candidate.threads.iter().any(awaited) {
            true => Err(OrderCycle),
            false => Ok(()),
        }
    }

    fn end(&self, candidate: &mut CandidateGraph, thread: usize) -> Result<(), OrderCycle> {
        candidate.threads[thread].state = ThreadProgress::Ended;
        for never in self.base[thread]..self.base[thread + 1] {
            if candidate.events[never].is_none() {
                self.disappoint(candidate, never)?;
            }
        }
        Ok(())
    }
}

impl CandidateGraph {
    pub(super) fn register(&self, thread: usize, reg: usize) -> Value {
        self.threads[thread].regs[reg].value
    }
}

impl ThreadCursor {
    fn get(&self, operand: Operand) -> KnownReads {
        match operand {
            Operand::Const(value) => KnownReads { value, from: 0 },
            Operand::Reg(reg) => self.regs[reg.0 as usize],
        }
    }
}

fn may_write(event: &GraphEvent) -> bool {
    matches!(event.kind, OpKind::Write | OpKind::NtWrite | OpKind::Rmw)
}

fn instr_operands(instr: &Instr) -> Vec<Operand> {
    match *instr {
        Instr::Store { value, .. } | Instr::NtStore { value, .. } => vec![value],
        Instr::Rmw { operand, .. } => vec![operand],
        Instr::Cas {
            expected, desired, ..
        } => vec![expected, desired],
        _ => Vec::new(),
    }
}
