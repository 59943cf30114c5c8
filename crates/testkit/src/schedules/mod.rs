//! Random multi-threaded programs, and what they can do by trying everything.

pub mod agree;
pub mod agree_reads;
mod drafts;
pub mod durable;
mod loops;
mod objects;
mod queue;
pub mod read_from;
pub mod renamed;
pub mod signals;
pub mod transactions;

use crate::program::*;
pub use drafts::{Draft, draft, draft_of_all, shape};
use durable::{Durable, FLUSH};
use loops::Cell;
use objects::Object;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// Cells: three variables, two locks. Registers: each read goes to its own.
pub fn build(shape: &[Vec<Draft>], order: Order) -> Program {
    let mut program = Program::default();
    let vars = program.array(3, 0);
    let locks = program.array(2, 0);
    let unmaps = |draft: &Draft| matches!(draft, Draft::Unmap);
    if shape.iter().flatten().any(unmaps) {
        let word = program.cell(0).cell;
        let cells = vars.cell..vars.cell + 2;
        program.mappings.push(Mapping { cells, word });
    }
    let at = |base: Place, index: u8| Place {
        cell: base.cell + u32::from(index),
        index: None,
    };
    let mut value = 0;
    for drafts in shape {
        let mut code = Vec::new();
        let mut reads = 0u8;
        let mut held: Vec<u8> = Vec::new();
        let mut release: Option<u8> = None;
        for draft in drafts {
            let last = Reg(reads.saturating_sub(1));
            let mut fresh = || {
                reads += 1;
                Reg(reads - 1)
            };
            value += 1;
            match *draft {
                Draft::Load(v) => code.push(Instr::Load {
                    to: fresh(),
                    at: at(vars, v),
                    order,
                }),
                Draft::Store(v) => code.push(Instr::Store {
                    at: at(vars, v),
                    value: value.into(),
                    order,
                }),
                Draft::StoreRead(v) => code.push(Instr::Store {
                    at: at(vars, v),
                    value: last.into(),
                    order,
                }),
                Draft::FetchAdd(v) => code.push(Instr::Rmw {
                    to: fresh(),
                    at: at(vars, v),
                    op: Op::Add,
                    value: 1.into(),
                }),
                Draft::Exchange(v) => code.push(Instr::Rmw {
                    to: fresh(),
                    at: at(vars, v),
                    op: Op::Second,
                    value: value.into(),
                }),
                Draft::Cas(v, expect) => code.push(Instr::Cas {
                    to: fresh(),
                    at: at(vars, v),
                    expect: expect.into(),
                    new: value.into(),
                }),
                Draft::Update(v) => {
                    let (to, at) = (fresh(), at(vars, v));
                    code.push(Instr::Load { to, at, order });
                    code.push(Instr::Calc {
                        to,
                        a: to.into(),
                        op: Op::Add,
                        b: 1.into(),
                    });
                    code.push(Instr::Store {
                        at,
                        value: to.into(),
                        order,
                    });
                }
                Draft::Unmap => code.extend(program.mappings.first().map(|of| {
                    Instr::Unmap(Place {
                        cell: of.word,
                        index: None,
                    })
                })),
                Draft::Fence => code.push(Instr::Fence),
                Draft::SkipIf(wanted) => {
                    // Locks are not skipped: an unlock must find its lock.
                    let to = code.len() as u32 + 2;
                    code.push(Instr::JumpIf {
                        a: last.into(),
                        cmp: Cmp::Eq,
                        b: wanted.into(),
                        to,
                    });
                    code.push(Instr::Rmw {
                        to: last,
                        at: at(vars, 0),
                        op: Op::Add,
                        value: 1.into(),
                    });
                }
                Draft::AwaitLocked(l, ..) if held.contains(&l) => {}
                Draft::Await(..)
                | Draft::SpinLock(_)
                | Draft::AwaitSum(..)
                | Draft::AwaitLocked(..)
                | Draft::AwaitSpinning(..)
                | Draft::Count(_)
                | Draft::Announce(..)
                | Draft::AnnounceTwice(..)
                | Draft::Keep(..) => {
                    let head = code.len() as u32;
                    code.extend(loops::code(*draft, head, order, fresh, |of| match of {
                        Cell::Variable(number) => at(vars, number),
                        Cell::Lock(number) => at(locks, number),
                    }));
                }
                Draft::Try(l) if held.contains(&l) => {}
                Draft::Try(l) => {
                    let to = fresh();
                    code.push(Instr::Ask {
                        op: Sync::TryLock,
                        at: at(locks, l),
                        to,
                    });
                    code.push(Instr::JumpIf {
                        a: to.into(),
                        cmp: Cmp::Eq,
                        b: 0.into(),
                        to: code.len() as u32 + 2,
                    });
                    code.push(Instr::Sync(Sync::Unlock, at(locks, l)));
                }
                Draft::Locked(l) | Draft::LockRest(l) if held.contains(&l) => {}
                Draft::Locked(l) => {
                    code.push(Instr::Sync(Sync::Lock, at(locks, l)));
                    held.push(l);
                    release = Some(l);
                    continue;
                }
                Draft::LockRest(l) => {
                    code.push(Instr::Sync(Sync::Lock, at(locks, l)));
                    held.push(l);
                }
            }
            if let Some(l) = release.take() {
                code.push(Instr::Sync(Sync::Unlock, at(locks, l)));
                held.retain(|&h| h != l);
            }
        }
        for l in held.into_iter().rev() {
            code.push(Instr::Sync(Sync::Unlock, at(locks, l)));
        }
        program.thread(code);
    }
    program
}

/// The program with every turn of a loop the last: who would jump back waits for ever instead.
pub fn assume(program: &Program) -> Program {
    let mut assumed = program.clone();
    for code in &mut assumed.threads {
        let end = code.len() as u32;
        for (at, instr) in code.iter_mut().enumerate() {
            if let Instr::Jump(to) | Instr::JumpIf { to, .. } = instr {
                match *to {
                    back if back as usize <= at => *to = end + 1,
                    past if past == end => *to = end + 2,
                    _ => {}
                }
            }
        }
        code.push(Instr::Jump(end + 2));
        code.push(Instr::Jump(end + 1));
    }
    assumed
}

/// Thread 0 creates the others and joins some of them, at these places of its code.
pub fn create_and_join(program: &mut Program, places: &[u8]) {
    let threads = program.threads.len() as u8;
    program.started = 1;
    let mut from = 0;
    let instrs = (1..threads)
        .map(Instr::Create)
        .chain((1..threads).map(Instr::Join));
    for (instr, place) in instrs.zip(places.iter().cycle()) {
        let code = &mut program.threads[0];
        // Not everybody is joined.
        if matches!(instr, Instr::Join(_)) && place % 4 == 3 {
            continue;
        }
        let at = from + usize::from(*place) % (code.len() - from + 1);
        for jump in code.iter_mut() {
            if let Instr::JumpIf { to, .. } = jump
                && *to as usize > at
            {
                *to += 1;
            }
        }
        code.insert(at, instr);
        from = at + 1;
    }
}

/// What an execution shows in the end: memory, registers, and who could not go on.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Outcome {
    pub memory: Vec<u64>,
    pub regs: Vec<Vec<u64>>,
    pub stuck: bool,
}

/// Memory, but for synchronisation objects: trying everything keeps them in other words.
pub fn plain(program: &Program, memory: &[u64]) -> Vec<u64> {
    let mut memory = memory.to_vec();
    for instr in program.threads.iter().flatten() {
        if let (Some(_), Some(at)) = (instr.sync(), instr.place()) {
            memory[at.cell as usize] = program.cells[at.cell as usize].init;
        }
    }
    memory
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    memory: Vec<u64>,
    /// Who wrote each cell: a store's number.
    writer: Vec<u32>,
    threads: Vec<(u32, Vec<u64>)>,
    buffers: Vec<Vec<(u32, u64, u32)>>,
    /// What each read of each thread returned, by store number and value; and the order of the stores to each cell.
    reads: Vec<Vec<(u32, u64)>>,
    stores: Vec<Vec<u32>>,
    issued: Vec<u32>,
    started: u64,
    history: bool,
    keep: Keep,
    /// Per cell, if it is one.
    objects: Vec<Object>,
    /// Operations on objects so far, per thread.
    asked: Vec<u32>,
    /// Who waits at a barrier, and for how many arrivals.
    meeting: Vec<Option<(u32, u64)>>,
    /// Cells that were taken away, as bits.
    gone: u64,
    /// What a power failure may leave, where that is asked for.
    durable: Option<Durable>,
}

/// Are reads and stores told apart, or states only? With loops there are too many histories.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Keep {
    Histories,
    /// Reads and stores, but not in which order locks and the like were used.
    Data,
    /// The same, and in which order conditions were: in critical sections.
    Conditions,
    /// Each signal of a condition chooses whom it wakes, by POSIX's words.
    States,
}

impl Keep {
    /// Is it told in which order this was done?
    fn tells(self, op: Sync) -> bool {
        self == Keep::Histories || self == Keep::Conditions && objects::is_of_condition(op)
    }
}

impl State {
    fn start(program: &Program, keep: Keep) -> State {
        let (threads, cells) = (program.threads.len(), program.cells.len());
        State {
            memory: program.cells.iter().map(|cell| cell.init).collect(),
            writer: vec![0; cells],
            threads: vec![(0, vec![0; REGISTERS]); threads],
            buffers: vec![Vec::new(); threads],
            reads: vec![Vec::new(); threads],
            stores: vec![Vec::new(); cells],
            issued: vec![0; threads],
            started: program.started,
            history: keep != Keep::States,
            keep,
            objects: (program.cells.iter())
                .map(|cell| Object::with_count(cell.init))
                .map(|object| match keep {
                    Keep::States => object.choosing(),
                    Keep::Conditions => object.in_sections(),
                    _ => object,
                })
                .collect(),
            asked: vec![0; threads],
            meeting: vec![None; threads],
            gone: 0,
            durable: None,
        }
    }

    fn wrote(&mut self, cell: usize, value: u64, number: u32) {
        self.memory[cell] = value;
        self.writer[cell] = number;
        if let Some(durable) = &mut self.durable {
            durable.stored(cell, &self.memory);
        }
        if self.history {
            self.stores[cell].push(number);
        }
    }

    fn read(&mut self, thread: usize, source: u32, value: u64) {
        if self.history {
            self.reads[thread].push((source, value));
        }
    }

    /// Has the thread ended, or does it wait for what nobody else will bring about?
    fn hopeless(&self, program: &Program, thread: usize) -> bool {
        let code = &program.threads[thread];
        let pc = self.threads[thread].0 as usize;
        if let Some((cell, wanted)) = self.meeting[thread] {
            return self.objects[cell as usize].arrived() < wanted;
        }
        // In the middle of a turn it is not: the jump may still leave the loop.
        let (
            Some(Instr::Load { at, .. } | Instr::Rmw { at, .. }),
            Some(Instr::JumpIf { b, to, .. }),
        ) = (code.get(pc), code.get(pc + 1))
        else {
            return match code.get(pc) {
                None => true,
                Some(instr) => match (instr.sync(), instr.place()) {
                    (Some(op), Some(at)) => !self.objects[at.cell as usize].possible(op, thread),
                    _ => false,
                },
            };
        };
        *to as usize == pc && *b != Operand::Const(self.memory[at.cell as usize])
    }
}

/// A graph of reads-from and coherence: what each read returned, the order of the stores to each cell, what was done to objects.
type Graph = (Vec<Vec<(u32, u64)>>, Vec<Vec<u32>>, Vec<Object>);

/// The definition: one instruction or one commit at a time, in every order. Returns the outcomes, and the number of
/// distinct graphs of reads-from and coherence; `None` if it is too much.
pub fn brute_force(
    program: &Program,
    model: Model,
    keep: Keep,
    most: usize,
) -> Option<(BTreeSet<Outcome>, usize)> {
    let (outcomes, graphs) = try_all(program, model, keep, most)?;
    Some((outcomes, graphs.len()))
}

fn try_all(
    program: &Program,
    model: Model,
    keep: Keep,
    most: usize,
) -> Option<(BTreeSet<Outcome>, FxHashSet<Graph>)> {
    let threads = program.threads.len();
    let start = State::start(program, keep);
    let mut seen: FxHashSet<State> = FxHashSet::from_iter([start.clone()]);
    let mut work = vec![start];
    let mut outcomes = BTreeSet::new();
    let mut graphs = FxHashSet::default();
    while let Some(state) = work.pop() {
        let mut moved = false;
        for thread in 0..threads {
            for next in successors(program, model, &state, thread) {
                moved = true;
                if seen.insert(next.clone()) {
                    work.push(next);
                }
            }
            if !state.buffers[thread].is_empty() {
                moved = true;
                let mut next = state.clone();
                next.commit(thread);
                if seen.insert(next.clone()) {
                    work.push(next);
                }
            }
        }
        if seen.len() > most {
            return None;
        }
        let drained = state.buffers.iter().all(Vec::is_empty);
        if !moved || (drained && (0..threads).all(|thread| state.hopeless(program, thread))) {
            let unended = |t: usize| {
                state.started >> t & 1 != 0
                    && (state.threads[t].0 as usize) < program.threads[t].len()
            };
            let stuck = (0..threads).any(unended);
            outcomes.insert(Outcome {
                memory: state.memory.clone(),
                regs: state.threads.iter().map(|(_, regs)| regs.clone()).collect(),
                stuck,
            });
            graphs.insert((state.reads, state.stores, state.objects));
        }
    }
    Some((outcomes, graphs))
}

/// What the next instruction of a thread may lead to: nothing, if it is not possible.
fn successors(program: &Program, model: Model, state: &State, thread: usize) -> Vec<State> {
    let pc = state.threads[thread].0 as usize;
    let instr = program.threads[thread].get(pc);
    let operation = instr.and_then(|instr| instr.sync().zip(instr.place()));
    let choices = match operation {
        Some((op, at)) => state.objects[at.cell as usize].choices(op),
        None => vec![None],
    };
    let next = |choice| {
        let mut next = state.clone();
        step(program, model, &mut next, thread, choice).then_some(next)
    };
    choices.into_iter().filter_map(next).collect()
}

/// `choice`: whom a signal wakes.
fn step(
    program: &Program,
    model: Model,
    state: &mut State,
    thread: usize,
    choice: Option<usize>,
) -> bool {
    let pc = state.threads[thread].0 as usize;
    let Some(&instr) = program.threads[thread].get(pc) else {
        return false;
    };
    if state.started >> thread & 1 == 0 {
        return false;
    }
    if let (Some((cell, wanted)), Instr::Arrive { parties, to, .. }) =
        (state.meeting[thread], instr)
    {
        let object = &mut state.objects[cell as usize];
        if object.arrived() < wanted {
            return false;
        }
        if let Some(to) = to {
            state.asked[thread] += 1;
            let number = state.asked[thread] * 16 + thread as u32;
            let serial = object.pass(wanted / parties - 1, thread, number);
            if state.keep != Keep::Histories {
                object.forget();
                state.asked[thread] = 0;
            }
            state.threads[thread].1[to.0 as usize] = serial.into();
        }
        state.meeting[thread] = None;
        state.threads[thread].0 += 1;
        return true;
    }
    let value = |state: &State, operand: Operand| match operand {
        Operand::Const(value) => value,
        Operand::Reg(reg) => state.threads[thread].1[reg.0 as usize],
    };
    let number = |state: &mut State| {
        if !state.history {
            return 0;
        }
        state.issued[thread] += 1;
        state.issued[thread] * 16 + thread as u32 + 1
    };
    let drained = state.buffers[thread].is_empty();
    let mut next_pc = pc as u32 + 1;
    // What is locked waits for the thread's stores, and dies then.
    let waits = matches!(instr, Instr::Rmw { .. } | Instr::Cas { .. }) && !drained;
    let gone = |at: &Place| instr.accesses() && !waits && state.gone >> at.cell & 1 != 0;
    if let Some(at) = instr.place().filter(gone) {
        let word = program.mapping(at.cell).unwrap_or(at.cell);
        state.read(thread, state.writer[word as usize], 1);
        state.threads[thread].1[FAULT.0 as usize] = 1;
        state.threads[thread].0 = program.threads[thread].len() as u32;
        return true;
    }
    match instr {
        Instr::Load { to, at, .. } => {
            let cell = at.cell as usize;
            let buffered = state.buffers[thread]
                .iter()
                .rev()
                .find(|store| store.0 as usize == cell)
                .copied();
            let (value, source) = match buffered {
                Some((_, value, number)) => (value, number),
                None => (state.memory[cell], state.writer[cell]),
            };
            state.threads[thread].1[to.0 as usize] = value;
            state.read(thread, source, value);
        }
        Instr::Store {
            at, value: operand, ..
        } => {
            let stored = value(state, operand);
            let number = number(state);
            state.buffers[thread].push((at.cell, stored, number));
            if model == Model::Sc {
                state.commit(thread);
            }
        }
        Instr::Flush {
            at,
            kind: WriteBack::Clflush,
        } => {
            state.buffers[thread].push((at.cell | FLUSH, 0, 0));
            if model == Model::Sc {
                state.commit(thread);
            }
        }
        Instr::Rmw { .. }
        | Instr::Cas { .. }
        | Instr::Sync(..)
        | Instr::Ask { .. }
        | Instr::Arrive { .. }
        | Instr::Fence
            if !drained =>
        {
            return false;
        }
        Instr::Fence => {}
        Instr::Unmap(at) => {
            // All of a mapping goes at once, when nothing is on its way to it any more.
            let of = |of: &&Mapping| of.word == at.cell;
            let cells = program.mappings.iter().find(of).map(|of| of.cells.clone());
            let cells = cells.unwrap_or_default();
            let mut waiting = state.buffers.iter().flatten();
            if !drained || waiting.any(|(cell, ..)| cells.contains(cell)) {
                return false;
            }
            state.gone |= cells.fold(0, |all, cell| all | 1 << cell);
            let number = number(state);
            state.wrote(at.cell as usize, 1, number);
        }
        Instr::Create(of) => {
            if !drained {
                return false;
            }
            state.started |= 1 << of;
        }
        Instr::Join(of) => {
            let of = usize::from(of);
            let ended = state.threads[of].0 as usize >= program.threads[of].len();
            if state.started >> of & 1 == 0 || !ended || !state.buffers[of].is_empty() {
                return false;
            }
        }
        Instr::Sync(op, at) | Instr::Ask { op, at, .. } => {
            let object = &mut state.objects[at.cell as usize];
            if !object.possible(op, thread) {
                return false;
            }
            state.asked[thread] += 1;
            let number = state.asked[thread] * 16 + thread as u32;
            let success = object.apply(op, thread, number, choice);
            if !state.keep.tells(op) {
                object.forget();
                state.asked[thread] -= 1;
            }
            if let Instr::Ask { to, .. } = instr {
                state.threads[thread].1[to.0 as usize] = success.into();
            }
        }
        Instr::Arrive { at, parties, .. } => {
            let object = &mut state.objects[at.cell as usize];
            state.asked[thread] += 1;
            let number = state.asked[thread] * 16 + thread as u32;
            let arrived = object.arrive(parties, thread, number);
            if state.keep != Keep::Histories {
                object.forget();
                state.asked[thread] = 0;
            }
            state.meeting[thread] = Some((at.cell, arrived.next_multiple_of(parties)));
            next_pc = pc as u32;
        }
        Instr::Rmw {
            to,
            at,
            op,
            value: operand,
        } => {
            let cell = at.cell as usize;
            let (old, source) = (state.memory[cell], state.writer[cell]);
            let new = op.apply(old, value(state, operand));
            let number = number(state);
            state.read(thread, source, old);
            state.wrote(cell, new, number);
            state.threads[thread].1[to.0 as usize] = old;
        }
        Instr::Cas {
            to,
            at,
            expect,
            new,
        } => {
            let cell = at.cell as usize;
            let (old, source) = (state.memory[cell], state.writer[cell]);
            state.read(thread, source, old);
            if old == value(state, expect) {
                let new = value(state, new);
                let number = number(state);
                state.wrote(cell, new, number);
            }
            state.threads[thread].1[to.0 as usize] = old;
        }
        Instr::Calc { to, a, op, b } => {
            state.threads[thread].1[to.0 as usize] = op.apply(value(state, a), value(state, b));
        }
        Instr::Jump(to) => next_pc = to,
        Instr::JumpIf { a, cmp, b, to } => {
            if cmp.holds(value(state, a), value(state, b)) {
                next_pc = to;
            }
        }
        other => panic!("not in random programs: {other:?}"),
    }
    state.threads[thread].0 = next_pc;
    true
}

/// What complete executions of a program with loops show, and whether there is a state from which nothing leads to the end of one: by trying
/// everything, state by state. `None` if there are more states than `most`.
pub fn try_states(
    program: &Program,
    model: Model,
    most: usize,
) -> Option<(BTreeSet<Outcome>, bool)> {
    let threads = program.threads.len();
    let start = State::start(program, Keep::States);
    let mut numbers: FxHashMap<State, usize> = FxHashMap::default();
    numbers.insert(start.clone(), 0);
    let mut states = vec![start];
    let mut before: Vec<Vec<usize>> = vec![Vec::new()];
    let mut outcomes = BTreeSet::new();
    let mut ends = Vec::new();
    let mut at = 0;
    while at < states.len() {
        let state = states[at].clone();
        let mut nexts = Vec::new();
        for thread in 0..threads {
            nexts.extend(successors(program, model, &state, thread));
            if !state.buffers[thread].is_empty() {
                let mut next = state.clone();
                next.commit(thread);
                nexts.push(next);
            }
        }
        let ended = |t: usize| state.threads[t].0 as usize >= program.threads[t].len();
        if nexts.is_empty() && (0..threads).all(ended) {
            ends.push(at);
            outcomes.insert(Outcome {
                memory: plain(program, &state.memory),
                regs: state.threads.iter().map(|(_, regs)| regs.clone()).collect(),
                stuck: false,
            });
        }
        for next in nexts {
            let number = *numbers.entry(next.clone()).or_insert_with(|| {
                states.push(next);
                before.push(Vec::new());
                states.len() - 1
            });
            before[number].push(at);
        }
        if states.len() > most {
            return None;
        }
        at += 1;
    }
    let mut ending = vec![false; states.len()];
    while let Some(state) = ends.pop() {
        if !std::mem::replace(&mut ending[state], true) {
            ends.extend(&before[state]);
        }
    }
    Some((outcomes, ending.contains(&false)))
}
