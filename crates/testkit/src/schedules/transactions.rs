//! Hardware transactions by the words of docs/design/model.md §10: instruction by instruction, interleaved with those of others; its stores are its
//! own until it commits; whoever meets what it has touched aborts it at that moment; and anything may, at any moment. Every choice tried.

use super::Outcome;
use crate::program::{AbortReasons, Instr, Model, Operand, Program, STARTED, explicit};
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Transaction {
    /// Where it began, and with what.
    begin: usize,
    regs: Vec<u64>,
    depth: u32,
    reads: BTreeSet<u32>,
    writes: BTreeSet<u32>,
    stored: BTreeMap<u32, u64>,
    /// Somebody has met it: all that is left to do is to find that.
    doomed: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Thread {
    pc: usize,
    regs: Vec<u64>,
    buffer: Vec<(u32, u64)>,
    inside: Option<Transaction>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    memory: Vec<u64>,
    threads: Vec<Thread>,
}

struct Machine<'a> {
    program: &'a Program,
    model: Model,
    aborts: AbortReasons,
}

impl Machine<'_> {
    /// What conflicts are about.
    fn line(&self, cell: u32) -> u32 {
        match self.aborts {
            AbortReasons::Conflicts => cell,
            _ => self.program.cells[cell as usize].line,
        }
    }

    /// An access of a thread reaches memory: transactions of others that it meets are aborted.
    fn meets(&self, state: &mut State, thread: usize, cell: u32, writes: bool) {
        let line = self.line(cell);
        for other in (0..state.threads.len()).filter(|&other| other != thread) {
            if let Some(inside) = &mut state.threads[other].inside {
                let reads = writes && inside.reads.contains(&line);
                inside.doomed |= reads || inside.writes.contains(&line);
            }
        }
    }

    fn load(&self, state: &mut State, thread: usize, cell: u32) -> u64 {
        let line = self.line(cell);
        let me = &mut state.threads[thread];
        if let Some(inside) = &mut me.inside {
            inside.reads.insert(line);
            if let Some(&value) = inside.stored.get(&cell) {
                return value;
            }
        }
        let own = me.buffer.iter().rev().find(|store| store.0 == cell);
        if let Some(&(_, value)) = own {
            return value;
        }
        self.meets(state, thread, cell, false);
        state.memory[cell as usize]
    }

    fn store(&self, state: &mut State, thread: usize, cell: u32, value: u64) {
        let line = self.line(cell);
        if let Some(inside) = &mut state.threads[thread].inside {
            inside.writes.insert(line);
            inside.stored.insert(cell, value);
            return self.meets(state, thread, cell, true);
        }
        state.threads[thread].buffer.push((cell, value));
        if self.model == Model::Sc {
            self.commit(state, thread);
        }
    }

    fn commit(&self, state: &mut State, thread: usize) {
        let (cell, value) = state.threads[thread].buffer.remove(0);
        self.meets(state, thread, cell, true);
        state.memory[cell as usize] = value;
    }

    /// One instruction of a thread, if it can make one.
    fn step(&self, state: &State, thread: usize) -> Option<State> {
        let me = &state.threads[thread];
        let &instr = self.program.threads[thread].get(me.pc)?;
        let mut next = state.clone();
        let value = |operand: Operand| match operand {
            Operand::Const(value) => value,
            Operand::Reg(reg) => me.regs[reg.0 as usize],
        };
        let inside = me.inside.is_some();
        if me.inside.as_ref().is_some_and(|inside| inside.doomed) {
            return None;
        }
        let drained = me.buffer.is_empty();
        let mut to_pc = me.pc + 1;
        let set = |state: &mut State, reg: crate::program::Reg, value: u64| {
            state.threads[thread].regs[reg.0 as usize] = value;
        };
        match instr {
            Instr::Load { to, at, .. } => {
                let found = self.load(&mut next, thread, at.cell);
                set(&mut next, to, found);
            }
            Instr::Store {
                at, value: stored, ..
            } => {
                self.store(&mut next, thread, at.cell, value(stored));
            }
            Instr::Rmw { .. } | Instr::Cas { .. } | Instr::Fence if !inside && !drained => {
                return None;
            }
            Instr::Fence => {}
            Instr::Rmw {
                to,
                at,
                op,
                value: by,
            } => {
                let found = self.load(&mut next, thread, at.cell);
                self.store(&mut next, thread, at.cell, op.apply(found, value(by)));
                set(&mut next, to, found);
                if !inside && self.model == Model::Tso {
                    self.commit(&mut next, thread);
                }
            }
            Instr::Cas {
                to,
                at,
                expect,
                new,
            } => {
                let found = self.load(&mut next, thread, at.cell);
                if found == value(expect) {
                    self.store(&mut next, thread, at.cell, value(new));
                    if !inside && self.model == Model::Tso {
                        self.commit(&mut next, thread);
                    }
                }
                set(&mut next, to, found);
            }
            Instr::Calc { to, a, op, b } => set(&mut next, to, op.apply(value(a), value(b))),
            Instr::Jump(to) => to_pc = to as usize,
            Instr::JumpIf { a, cmp, b, to } => {
                if cmp.holds(value(a), value(b)) {
                    to_pc = to as usize;
                }
            }
            Instr::Begin { to } => {
                let thread = &mut next.threads[thread];
                match &mut thread.inside {
                    Some(inside) => inside.depth += 1,
                    None => {
                        thread.inside = Some(Transaction {
                            begin: thread.pc,
                            regs: thread.regs.clone(),
                            depth: 1,
                            reads: BTreeSet::new(),
                            writes: BTreeSet::new(),
                            stored: BTreeMap::new(),
                            doomed: false,
                        });
                    }
                }
                thread.regs[to.0 as usize] = STARTED;
            }
            Instr::End => {
                let me = &mut next.threads[thread];
                let inside = me.inside.as_mut()?;
                if inside.depth > 1 {
                    inside.depth -= 1;
                } else if !drained {
                    return None;
                } else {
                    let stored = std::mem::take(&mut inside.stored);
                    me.inside = None;
                    for (cell, value) in stored {
                        next.memory[cell as usize] = value;
                    }
                }
            }
            Instr::Abort(code) => {
                abort(
                    &mut next.threads[thread],
                    self.program,
                    thread,
                    explicit(code),
                );
                return Some(next);
            }
            Instr::Spoil(_) => return None,
            other => panic!("not in these programs: {other:?}"),
        }
        next.threads[thread].pc = to_pc;
        Some(next)
    }
}

/// A transaction did not happen.
fn abort(thread: &mut Thread, program: &Program, number: usize, status: u64) {
    if let Some(inside) = thread.inside.take() {
        thread.regs = inside.regs;
        thread.pc = inside.begin + 1;
        if let Instr::Begin { to } = program.threads[number][inside.begin] {
            thread.regs[to.0 as usize] = status;
        }
    }
}

/// All that a program can do; `None` if it has more states than that.
pub fn try_transactions(
    program: &Program,
    (model, aborts): (Model, AbortReasons),
    most: usize,
) -> Option<BTreeSet<Outcome>> {
    let machine = Machine {
        program,
        model,
        aborts,
    };
    let thread = Thread {
        pc: 0,
        regs: vec![0; crate::program::REGISTERS],
        buffer: Vec::new(),
        inside: None,
    };
    let start = State {
        memory: program.cells.iter().map(|cell| cell.init).collect(),
        threads: vec![thread; program.threads.len()],
    };
    let mut seen: FxHashSet<State> = FxHashSet::from_iter([start.clone()]);
    let mut work = vec![start];
    let mut outcomes = BTreeSet::new();
    while let Some(state) = work.pop() {
        let mut nexts = Vec::new();
        for thread in 0..state.threads.len() {
            nexts.extend(machine.step(&state, thread));
            if !state.threads[thread].buffer.is_empty() {
                let mut next = state.clone();
                machine.commit(&mut next, thread);
                nexts.push(next);
            }
            if let Some(inside) = &state.threads[thread].inside {
                let statuses = match inside.doomed {
                    true => aborts.conflict(),
                    false => aborts.spurious(),
                };
                for &status in statuses {
                    let mut next = state.clone();
                    abort(&mut next.threads[thread], program, thread, status);
                    nexts.push(next);
                }
            }
        }
        if nexts.is_empty() {
            outcomes.insert(Outcome {
                memory: state.memory,
                regs: state.threads.into_iter().map(|of| of.regs).collect(),
                stuck: false,
            });
        }
        for next in nexts {
            if seen.len() > most {
                return None;
            }
            if seen.insert(next.clone()) {
                work.push(next);
            }
        }
    }
    Some(outcomes)
}
