//! Candidate executions: every choice of where each read takes its value from (`rf`), with the values that follow.
//!
//! A read may name a write that does not exist yet, of a thread that has not come that far: its thread then waits for it.
//! If all threads wait, the choice was circular (a value out of thin air) and is dropped. Each choice is made once.

use super::order::{EventOrder, OrderCycle, Set, members, one};
use super::transaction::{Attempt, InstrPlace};
use crate::Model;
use crate::program::{Instr, LineId, LitmusProgram, Operand, Reg, RmwOp, Value, Var};
use crate::transaction::TxInstr;
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
    /// Accesses memory: does it write?
    pub(super) touch: Option<bool>,
    /// What an access of a transaction that aborts would have written.
    undone: Option<Value>,
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
    /// Index of the first event of each thread.
    base: Vec<usize>,
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
    /// What the registers held before the transaction.
    saved: Vec<KnownReads>,
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
pub(super) struct KnownReads {
    pub(super) value: Value,
    pub(super) from: Set,
}

pub(super) struct CandidateGraphs<'a, V> {
    pub(super) program: &'a LitmusProgram,
    pub(super) model: &'a Model,
    /// How its transactions end.
    pub(super) attempts: &'a [Attempt],
    /// Index of the first event of each thread.
    base: Vec<usize>,
    /// Called at each branch with `None`, and with each complete candidate; false stops the enumeration.
    visit: V,
    stopped: bool,
}

impl<'a, V: FnMut(Option<&CandidateGraph>) -> bool> CandidateGraphs<'a, V> {
    pub(super) fn new(
        program: &'a LitmusProgram,
        model: &'a Model,
        attempts: &'a [Attempt],
        visit: V,
    ) -> CandidateGraphs<'a, V> {
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
            attempts,
            base,
            visit,
            stopped: false,
        }
    }

    pub(super) fn enumerate(&mut self) {
        let events = self.base[self.program.threads.len()];
        let mut order = EventOrder::new(events);
        for attempt in self.attempts {
            let id = |instr: usize| self.base[attempt.thread] + instr;
            let (first, end) = (id(attempt.region.begin + 1), id(attempt.region.end));
            match attempt.commits() {
                true => order.together(first..end, end),
                false => order.together(first..end, first),
            }
        }
        self.extend(CandidateGraph {
            events: vec![None; events],
            order,
            base: self.base.clone(),
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
                    saved: Vec::new(),
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
            if let Some(attempt) = self.attempt(thread, at)
                && !(attempt.region.holds(at) && self.is_looked_up(&candidate, attempt, at))
            {
                if self.in_transaction(&mut candidate, attempt, at).is_err() {
                    return;
                }
                continue;
            }
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
                let undone = self.attempt(t, i).is_some_and(|attempt| !attempt.commits());
                if instr.may_write() && instr.var() == var && (t != thread || i < at) && !undone {
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
    pub(super) fn complete_read(
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
        let undone = self.is_undone(thread, at);
        let (written, undone) = match undone {
            true => (None, written),
            false => (written, None),
        };
        if let Some(event) = &mut candidate.events[id] {
            event.written = written;
            event.undone = undone;
            event.touch = Some(written.or(undone).is_some());
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
    pub(super) fn step(
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
                if self.is_undone(thread, at) {
                    return Ok(()); // Nobody reads it.
                }
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
            Instr::Tx(TxInstr::Test { reg }) => {
                cursor.regs[reg.0 as usize] = KnownReads::constant(0);
            }
            // Transactions are run elsewhere; outside of one `xabort` does nothing.
            Instr::Tx(_) => {}
            _ => self.create(candidate, thread, at, None, None)?,
        }
        Ok(())
    }

    /// Adds the event and its preserved program order.
    pub(super) fn create(
        &self,
        candidate: &mut CandidateGraph,
        thread: usize,
        at: usize,
        read: Option<(ReadSource, Value)>,
        written: Option<Value>,
    ) -> Result<(), OrderCycle> {
        let instr = &self.program.threads[thread].body[at];
        let undone = self.is_undone(thread, at);
        let Some(kind) = self.kind(thread, at) else {
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
            let coherent = (instr.may_write() && !undone && (e.read.is_some() || may_write(e)))
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
            written: written.filter(|_| !undone),
            undone: written.filter(|_| undone),
            touch: (instr.may_write() || instr.reads()).then_some(written.is_some()),
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
    pub(super) fn id(&self, (thread, instr): InstrPlace) -> usize {
        self.base[thread] + instr
    }

    pub(super) fn event(&self, id: usize) -> Option<&GraphEvent> {
        self.events[id].as_ref()
    }

    pub(super) fn advance(&mut self, thread: usize) {
        self.threads[thread].next += 1;
    }

    pub(super) fn set(&mut self, thread: usize, reg: Reg, to: KnownReads) {
        self.threads[thread].regs[reg.0 as usize] = to;
    }

    /// A transaction begins: what it does to registers may be taken back.
    pub(super) fn save(&mut self, thread: usize) {
        let cursor = &mut self.threads[thread];
        cursor.saved = cursor.regs.clone();
    }

    /// It did not happen; its thread goes on elsewhere.
    pub(super) fn restore(&mut self, thread: usize, next: usize) {
        let cursor = &mut self.threads[thread];
        cursor.regs = std::mem::take(&mut cursor.saved);
        cursor.next = next;
    }

    pub(super) fn present(&self) -> impl Iterator<Item = (usize, &GraphEvent)> {
        let events = self.events.iter().enumerate();
        events.filter_map(|(id, event)| Some((id, event.as_ref()?)))
    }

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

impl KnownReads {
    pub(super) fn constant(value: Value) -> KnownReads {
        KnownReads { value, from: 0 }
    }
}

impl GraphEvent {
    /// What its own transaction finds there.
    pub(super) fn put(&self) -> Option<Value> {
        self.written.or(self.undone)
    }

    /// Did it wait in a store buffer?
    pub(super) fn is_buffered(&self) -> bool {
        matches!(self.kind, OpKind::Write | OpKind::NtWrite)
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
