//! What a program may do, by brute force straight from docs/design/model.md: every step that could come next is taken, in every state, and the power
//! may fail in each of them. Nothing here is shared with the search.
//!
//! A thread executes in program order. Stores, flushes and `sfence` go through its buffer, from which an entry may leave when no
//! earlier one is ordered before it by the table of docs/design/model.md §2. A persistent line is the set of contents that a power failure may
//! leave of it: a store adds one, a flush that leaves the buffer removes all but the newest.

use super::lower::{Code, Op, lower};
use super::program::{At, LINE, Program, REGISTERS, Update, Value};
use std::collections::{BTreeSet, HashSet};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Model {
    Tso,
    Sc,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Platform {
    Adr,
    Eadr,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Question {
    pub(crate) failures: usize,
    pub(crate) model: Model,
    pub(crate) platform: Platform,
}

/// The registers of all threads at the end.
pub(crate) type Outcome = Vec<u64>;
type Image = Vec<u8>;

/// The outcomes after 0, 1, … power failures; `None` if there is too much to look at.
pub(crate) fn outcomes(
    program: &Program,
    question: Question,
    most: usize,
) -> Option<Vec<BTreeSet<Outcome>>> {
    let mut images: BTreeSet<Image> = BTreeSet::from([vec![0; program.persistent_lines * LINE]]);
    let mut all = Vec::new();
    let mut budget = most;
    for failures in 0..=question.failures {
        let mut found = Found::default();
        let code = lower(program, failures);
        for image in &images {
            let explorer = Explorer {
                program,
                code: &code,
                question,
                crashes: failures < question.failures,
            };
            explorer.explore(image, &mut found, &mut budget)?;
        }
        images = found.images(most / 20)?;
        all.push(found.outcomes);
    }
    Some(all)
}

#[derive(Default)]
struct Found {
    outcomes: BTreeSet<Outcome>,
    /// What each line may hold, at each power failure.
    left: HashSet<Vec<BTreeSet<Vec<u8>>>>,
}

impl Found {
    fn images(&self, most: usize) -> Option<BTreeSet<Image>> {
        let mut images = BTreeSet::new();
        for lines in &self.left {
            let mut some: Vec<Image> = vec![Vec::new()];
            for line in lines {
                some = (some.iter())
                    .flat_map(|image| line.iter().map(|content| [&image[..], content].concat()))
                    .collect();
            }
            images.extend(some);
            if images.len() > most {
                return None;
            }
        }
        Some(images)
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Entry {
    /// At most 8 bytes, inside of 8 aligned ones.
    Store {
        at: usize,
        bytes: Vec<u8>,
    },
    Stream {
        at: usize,
        bytes: Vec<u8>,
    },
    FlushOpt {
        line: usize,
    },
    Flush {
        line: usize,
    },
    Sfence,
}

impl Entry {
    fn line(&self) -> Option<usize> {
        match *self {
            Entry::Store { at, .. } | Entry::Stream { at, .. } => Some(at / LINE),
            Entry::FlushOpt { line } | Entry::Flush { line } => Some(line),
            Entry::Sfence => None,
        }
    }

    /// docs/design/model.md §2, and L1 for non-temporal stores.
    fn stays_before(&self, later: &Entry) -> bool {
        let same_line = self.line() == later.line();
        match (self, later) {
            (Entry::Sfence, _) | (_, Entry::Sfence) => true,
            (Entry::Store { .. }, Entry::Store { .. } | Entry::Flush { .. }) => true,
            (Entry::Flush { .. }, Entry::Store { .. } | Entry::Flush { .. }) => true,
            (Entry::Store { .. } | Entry::Flush { .. }, _) => same_line,
            (Entry::FlushOpt { .. }, Entry::Flush { .. }) => same_line,
            (Entry::FlushOpt { .. }, _) => false,
            (Entry::Stream { .. }, _) => same_line,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Thread {
    at: usize,
    registers: [u64; REGISTERS],
    buffer: Vec<Entry>,
    created: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    threads: Vec<Thread>,
    memory: Vec<u8>,
    /// What a power failure may leave of each persistent line.
    left: Vec<BTreeSet<Vec<u8>>>,
    lock: Option<usize>,
}

struct Explorer<'a> {
    program: &'a Program,
    code: &'a [Code],
    question: Question,
    crashes: bool,
}

impl Explorer<'_> {
    fn explore(&self, image: &[u8], found: &mut Found, budget: &mut usize) -> Option<()> {
        let thread = |number: usize| Thread {
            at: 0,
            registers: [0; REGISTERS],
            buffer: Vec::new(),
            created: number == 0,
        };
        let mut memory = image.to_vec();
        memory.resize(self.program.bytes(), 0);
        let start = State {
            threads: (0..self.code.len()).map(thread).collect(),
            memory,
            left: image
                .chunks(LINE)
                .map(|line| BTreeSet::from([line.to_vec()]))
                .collect(),
            lock: None,
        };
        let mut seen = HashSet::from([start.clone()]);
        let mut open = vec![start];
        while let Some(state) = open.pop() {
            *budget = budget.checked_sub(1)?;
            if self.crashes {
                found.left.insert(state.left.clone());
            }
            if state.threads[0].at == self.code[0].len() {
                let registers = state.threads.iter().flat_map(|thread| thread.registers);
                found.outcomes.insert(registers.collect());
            }
            for next in self.steps(&state) {
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        Some(())
    }

    fn steps(&self, state: &State) -> Vec<State> {
        let mut next = Vec::new();
        let alone = self.code.len() == 1 && !self.crashes;
        for (number, thread) in state.threads.iter().enumerate() {
            // Alone and without a power failure nobody can tell when a store leaves: then all leave first.
            let leaves = |at: &usize| {
                let (earlier, later) = thread.buffer.split_at(*at);
                !earlier.iter().any(|entry| entry.stays_before(&later[0]))
            };
            let unmade = self.unmade(thread);
            let may_leave = |at: &usize| unmade.is_none_or(|first| *at <= first) && leaves(at);
            for at in (0..thread.buffer.len()).filter(may_leave) {
                let mut state = state.clone();
                self.leave(&mut state, number, at);
                next.push(state);
                if alone {
                    return next;
                }
            }
            if thread.created && thread.at < self.code[number].len() && unmade.is_none() {
                next.extend(self.execute(state, number));
            }
        }
        next
    }

    /// Without a store buffer: the next piece of the store that the thread is at.
    fn unmade(&self, thread: &Thread) -> Option<usize> {
        let waits = |entry: &Entry| !matches!(entry, Entry::FlushOpt { .. });
        let buffer = &thread.buffer;
        (self.question.model == Model::Sc).then(|| buffer.iter().position(waits))?
    }

    /// An entry takes effect.
    fn leave(&self, state: &mut State, number: usize, at: usize) {
        match state.threads[number].buffer.remove(at) {
            Entry::Sfence => {}
            Entry::Store { at, bytes } => self.write(state, at, &bytes, true),
            Entry::Stream { at: to, bytes } => {
                self.write(state, to, &bytes, false);
                // Seen by all, and on its way to memory until the next fence.
                let line = to / LINE;
                state.threads[number]
                    .buffer
                    .insert(at, Entry::FlushOpt { line });
            }
            Entry::FlushOpt { line } | Entry::Flush { line } => {
                if let Some(left) = state.left.get_mut(line) {
                    *left = BTreeSet::from([state.memory[line * LINE..][..LINE].to_vec()]);
                }
            }
        }
    }

    fn write(&self, state: &mut State, at: usize, bytes: &[u8], cached: bool) {
        state.memory[at..at + bytes.len()].copy_from_slice(bytes);
        let line = at / LINE;
        let Some(left) = state.left.get_mut(line) else {
            return;
        };
        if self.question.platform == Platform::Eadr && cached {
            left.clear();
        }
        left.insert(state.memory[line * LINE..][..LINE].to_vec());
    }

    /// The thread's next operation, if it is possible.
    fn execute(&self, state: &State, number: usize) -> Option<State> {
        let op = &self.code[number][state.threads[number].at];
        let mut next = state.clone();
        let state = &mut next;
        state.threads[number].at += 1;
        let buffer = &state.threads[number].buffer;
        let drained = buffer.is_empty();
        // Write-backs are completed by fences and locked instructions only.
        let visible = buffer
            .iter()
            .all(|entry| matches!(entry, Entry::FlushOpt { .. }));
        let value = |state: &State, value: Value| match value {
            Value::Const(value) => value,
            Value::Plus(register, value) => {
                state.threads[number].registers[usize::from(register)].wrapping_add(value)
            }
        };
        match *op {
            Op::Put {
                at,
                size,
                value: stored,
                streamed,
            } => {
                let word = value(state, stored).to_le_bytes();
                let bytes: Vec<u8> = word.iter().copied().cycle().take(size).collect();
                self.put(state, number, at, &bytes, streamed);
            }
            Op::Bytes { at, ref bytes } => self.put(state, number, at, bytes, false),
            Op::Move { to, from, length } => {
                let bytes: Vec<u8> = (0..length)
                    .map(|i| self.byte(state, number, self.program.place(from) + i))
                    .collect();
                self.put(state, number, to, &bytes, false);
            }
            Op::Get {
                register,
                at,
                size,
                handle,
            } => {
                let found = self.get(state, number, at, size);
                state.threads[number].registers[usize::from(register)] = match handle {
                    true => u64::from(found != 0),
                    false => found,
                };
            }
            Op::Exchange {
                at,
                size,
                value: new,
            } => {
                let new = value(state, new);
                drained.then(|| self.put_now(state, at, size, new))?;
            }
            Op::Update {
                register,
                at,
                size,
                with,
                value: operand,
            } => {
                let operand = value(state, operand);
                let old = drained.then(|| self.get(state, number, at, size))?;
                let new = match with {
                    Update::Add => old.wrapping_add(operand),
                    Update::Exchange => operand,
                    Update::Or => old | operand,
                    Update::Xor => old ^ operand,
                };
                self.put_now(state, at, size, new);
                state.threads[number].registers[usize::from(register)] = old;
            }
            Op::CompareAndSwap {
                register,
                at,
                size,
                expected,
                new,
            } => {
                let new = value(state, new);
                let old = drained.then(|| self.get(state, number, at, size))?;
                if old == expected & mask(size) {
                    self.put_now(state, at, size, new);
                }
                state.threads[number].registers[usize::from(register)] = old;
            }
            Op::Flush { at, opt } => {
                let line = self.program.place(at) / LINE;
                let entry = match opt {
                    true => Entry::FlushOpt { line },
                    false => Entry::Flush { line },
                };
                self.enter(state, number, [entry]);
            }
            // Where stores wait for nothing, they wait behind it for what it waits for.
            Op::Sfence if self.question.model == Model::Sc => drained.then_some(())?,
            Op::Sfence => self.enter(state, number, [Entry::Sfence]),
            Op::Drain => drained.then_some(())?,
            Op::Branch {
                register,
                is,
                otherwise,
            } => {
                if state.threads[number].registers[usize::from(register)] != is {
                    state.threads[number].at = otherwise;
                }
            }
            Op::Jump(to) => state.threads[number].at = to,
            Op::Lock => {
                (visible && state.lock.is_none()).then_some(())?;
                state.lock = Some(number);
            }
            Op::Unlock => {
                visible.then_some(())?;
                state.lock = None;
            }
            Op::Create(thread) => {
                visible.then_some(())?;
                state.threads[thread].created = true;
            }
            Op::Exit => visible.then_some(())?,
            Op::Join(thread) => {
                let ended = state.threads[thread].at == self.code[thread].len();
                ended.then_some(())?;
            }
        }
        Some(next)
    }

    /// Pieces of at most 8 bytes, in ascending order (docs/design/model.md §3).
    fn put(&self, state: &mut State, number: usize, at: At, bytes: &[u8], streamed: bool) {
        let mut at = self.program.place(at);
        let mut rest = bytes;
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(rest.len().min(8 - at % 8));
            let bytes = piece.to_vec();
            pieces.push(match streamed {
                true => Entry::Stream { at, bytes },
                false => Entry::Store { at, bytes },
            });
            at += piece.len();
            rest = more;
        }
        self.enter(state, number, pieces);
    }

    fn enter(&self, state: &mut State, number: usize, entries: impl IntoIterator<Item = Entry>) {
        state.threads[number].buffer.extend(entries);
        // Without a store buffer all but write-backs happen at once. But others, and a power failure, may come between the pieces of a store.
        if let Some(first) = self.unmade(&state.threads[number]) {
            self.leave(state, number, first);
        }
    }

    /// By a locked instruction: past the buffer, which is empty.
    fn put_now(&self, state: &mut State, at: At, size: usize, value: u64) {
        self.write(
            state,
            self.program.place(at),
            &value.to_le_bytes()[..size],
            true,
        );
    }

    /// The newest store in the thread's own buffer, or else memory; byte by byte.
    fn byte(&self, state: &State, number: usize, place: usize) -> u8 {
        let buffered = |entry: &Entry| match entry {
            Entry::Store { at, bytes } | Entry::Stream { at, bytes } => place
                .checked_sub(*at)
                .and_then(|offset| bytes.get(offset).copied()),
            _ => None,
        };
        let mut newest = state.threads[number].buffer.iter().rev();
        newest.find_map(buffered).unwrap_or(state.memory[place])
    }

    /// What is wider than 8 bytes is folded into 8.
    fn get(&self, state: &State, number: usize, at: At, size: usize) -> u64 {
        let place = self.program.place(at);
        let byte = |i: usize| u64::from(self.byte(state, number, place + i));
        let word = |from: usize| {
            (from..size.min(from + 8))
                .map(|i| byte(i) << (8 * (i - from)))
                .sum::<u64>()
        };
        match size {
            16 => word(0) ^ word(8).rotate_left(1),
            _ => word(0),
        }
    }
}

fn mask(size: usize) -> u64 {
    u64::MAX >> (64 - 8 * size)
}
