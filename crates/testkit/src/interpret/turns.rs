//! Turns of loops. A turn that ends where it began, and of which others have seen nothing, did not happen: where the search does not say
//! that it shall, it is taken back, and its thread waits until something that it read is different. Where the search does say so, or
//! where nobody else can go on, it stays, and its thread is left there (docs/design/algorithms.md).

use super::unsettled::Unsettled;
use super::{Interpreter, Status};
use crate::program::{Instr, Operand, REGISTERS};
use landfall_explore::schedule::Trace;
use std::rc::Rc;

/// What a thread knows of the loops it is in.
#[derive(Clone, Debug)]
pub(super) struct Turns<'p> {
    pub(super) heads: Vec<Head<'p>>,
    /// After a turn that was in vain: cells that it read, and what it found.
    pub(super) waits: Option<Vec<(u32, u64)>>,
    /// Nobody else goes on: its next turn stays, in vain or not.
    pub(super) last: bool,
    /// A turn was in vain but for stores that may still be in its store buffer.
    pub(super) unsettled: Option<Unsettled>,
    /// How often it came to a head of a loop, or back to one, with anything different but what others may have seen.
    epoch: u32,
}

/// Who saw what is to be undone, and where it was: the same again if it did nothing since but go round in vain.
#[derive(Clone, PartialEq, Eq, Debug)]
struct TurnSeenFrom {
    thread: usize,
    epoch: u32,
    head: Option<(u32, [u64; REGISTERS])>,
    path: u64,
}

/// A place that is jumped back to, since the thread was there last.
#[derive(Clone, Debug)]
pub(super) struct Head<'p> {
    pc: u32,
    regs: [u64; REGISTERS],
    reads: Vec<(u32, u64)>,
    /// Cells that it has changed where others see it, and what they held before.
    pub(super) changed: Vec<(u32, u64)>,
    /// All that it has changed, as it sees it itself: what was there, and what it wrote last.
    pub(super) own: Vec<(u32, u64, u64)>,
    /// How much it had put into its store buffer before; it has put more in there, before its first step, or since it last waited for that.
    pub(super) entries: u32,
    pub(super) pushes_early: bool,
    pub(super) undrained: bool,
    /// The same by stores that are no transitions; cells that it read before such a store; and all that it has written.
    hidden: Vec<(u32, u64)>,
    read_first: Vec<u32>,
    written: Vec<u32>,
    /// It has done what cannot be undone.
    lasting: bool,
    /// Who has seen what it had not undone yet; and who saw that of earlier turns from here.
    seen_by: Vec<TurnSeenFrom>,
    known: Vec<TurnSeenFrom>,
    /// What it did and read since, as a number.
    path: u64,
    /// Its steps since, and where the first of them was taken.
    steps: usize,
    pub(super) begun: Option<Begun<'p>>,
}

#[derive(Clone, Debug)]
pub(super) struct Begun<'p> {
    at: usize,
    trailing: usize,
    /// Everything as it was, unless the search wants the step there.
    before: Option<Rc<Interpreter<'p>>>,
}

/// Registers that are read before they are written, from each instruction on. At its end a thread shows them all.
pub(super) fn live_registers(code: &[Instr]) -> Vec<u16> {
    let mut live = vec![u16::MAX; code.len() + 1];
    live[..code.len()].fill(0);
    let bit = |operand: Operand| match operand {
        Operand::Reg(reg) => 1 << reg.0,
        Operand::Const(_) => 0,
    };
    loop {
        let before = live.clone();
        for (at, instr) in code.iter().enumerate().rev() {
            let after = match *instr {
                Instr::Jump(to) => live[to as usize],
                Instr::JumpIf { to, .. } => live[to as usize] | live[at + 1],
                // It may end here.
                Instr::Assert { .. } => u16::MAX,
                _ => live[at + 1],
            };
            let (uses, sets) = match *instr {
                Instr::Load { to, .. } | Instr::Ask { to, .. } | Instr::Begin { to } => {
                    (0, 1 << to.0)
                }
                Instr::Arrive { to, .. } => (0, to.map_or(0, |to| 1 << to.0)),
                Instr::Store { value, .. } | Instr::Stream { value, .. } => (bit(value), 0),
                Instr::Rmw { to, value, .. } => (bit(value), 1 << to.0),
                Instr::Cas {
                    to, expect, new, ..
                } => (bit(expect) | bit(new), 1 << to.0),
                Instr::Calc { to, a, b, .. } => (bit(a) | bit(b), 1 << to.0),
                Instr::JumpIf { a, b, .. } | Instr::Assert { a, b, .. } => (bit(a) | bit(b), 0),
                _ => (0u16, 0u16),
            };
            let index = instr.place().and_then(|place| place.index);
            live[at] = after & !sets | uses | index.map_or(0, |reg| 1 << reg.0);
        }
        if live == before {
            return live;
        }
    }
}

/// Places that are jumped back to.
pub(super) fn heads(code: &[Instr]) -> Vec<u32> {
    let back = |(at, instr): (usize, &Instr)| match *instr {
        Instr::Jump(to) | Instr::JumpIf { to, .. } => (to as usize <= at).then_some(to),
        _ => None,
    };
    let mut heads: Vec<u32> = code.iter().enumerate().filter_map(back).collect();
    heads.sort_unstable();
    heads.dedup();
    heads
}

impl Turns<'_> {
    /// Loops that it was at the head of, and has not written a cell since.
    pub(super) fn heads_before_writing(&self, cell: u32) -> impl Iterator<Item = u32> {
        let heads = self.heads.iter();
        heads
            .filter(move |head| !head.written.contains(&cell))
            .map(|head| head.pc)
    }

    pub(super) fn new() -> Self {
        Turns {
            heads: Vec::new(),
            waits: None,
            last: false,
            unsettled: None,
            epoch: 0,
        }
    }
}

impl<'p> Interpreter<'p> {
    /// A thread is about to execute what it stands before.
    pub(super) fn begin_step(&mut self, thread: usize, told: usize, at: usize, trace: &Trace) {
        if !self.loops {
            return;
        }
        let turns = &self.threads[thread].turns;
        if turns.heads.iter().any(|head| head.begun.is_none()) {
            let stays = at < told || turns.last;
            let before = (!stays).then(|| Rc::new(self.clone()));
            for head in &mut self.threads[thread].turns.heads {
                head.begun.get_or_insert_with(|| Begun {
                    at,
                    trailing: trace.trailing.len(),
                    before: before.clone(),
                });
            }
        }
        let state = &self.threads[thread];
        let instr = self.program.threads[thread].get(state.pc as usize);
        if instr.is_some_and(|instr| !instr.leaves_buffer()) {
            self.has_drained(thread);
        }
        let turns = &mut self.threads[thread].turns;
        turns.waits = None;
        for head in &mut turns.heads {
            head.steps += 1;
            head.path = mixed(head.path, [0, 0]);
        }
    }

    /// A thread that waits after a turn in vain, and may go through another one that stays.
    pub(super) fn make_last(&mut self) -> Option<usize> {
        let asleep = self.sleepers.processes().low();
        let thread = (0..self.threads.len()).find(|&thread| {
            let state = &self.threads[thread];
            state.status == Status::Stopped
                && state.turns.waits.is_some()
                && asleep >> thread & 1 == 0
                && self.possible_in_itself(thread)
        })?;
        let turns = &mut self.threads[thread].turns;
        turns.last = true;
        turns.waits = None;
        Some(thread)
    }

    /// Somebody wants a thread to go on that was left after a turn in vain; false if it was not.
    pub(super) fn release(&mut self, thread: usize, trace: &mut Trace, at: usize) -> bool {
        let left = |state: &super::Thread<'_>| state.status == Status::Left && !state.turns.last;
        if !self.threads.get(thread).is_some_and(left) {
            return false;
        }
        self.threads[thread].turns.last = true;
        self.threads[thread].turns.waits = None;
        self.advance(thread, trace, at);
        true
    }

    /// Has what it waits for changed?
    pub(super) fn changed(&self, thread: usize) -> bool {
        let waits = self.threads[thread].turns.waits.as_ref();
        waits.is_none_or(|reads| {
            let differs = |&(cell, value): &(u32, u64)| self.look(thread, cell).0 != value;
            reads.iter().any(differs)
        })
    }

    pub(super) fn note_read(&mut self, thread: usize, cell: u32, value: u64) {
        self.note_looked_at(cell);
        for head in &mut self.threads[thread].turns.heads {
            head.path = mixed(head.path, [u64::from(cell) + 1, value]);
            // Where it found two values, one of them is no longer there; unless it was its own.
            let own = head.own.iter().any(|&(at, ..)| at == cell);
            let hidden = head.hidden.iter().any(|&(at, _)| at == cell);
            if !hidden {
                head.read_first.push(cell);
            }
            if !own && !hidden && !head.reads.contains(&(cell, value)) {
                head.reads.push((cell, value));
            }
        }
    }

    /// A thread does what cannot be undone.
    pub(super) fn lasts(&mut self, thread: usize) {
        for head in &mut self.threads[thread].turns.heads {
            head.lasting = true;
        }
    }

    /// A thread changes a cell by a store that is no transition; what it held before comes back, perhaps.
    pub(super) fn note_hidden_change(&mut self, thread: usize, cell: u32, found: u64) {
        for head in &mut self.threads[thread].turns.heads {
            if !head.hidden.iter().any(|&(at, _)| at == cell) {
                head.hidden.push((cell, found));
            }
        }
    }

    /// A thread has written a cell.
    pub(super) fn note_written(&mut self, thread: usize, cell: u32) {
        for head in &mut self.threads[thread].turns.heads {
            head.written.push(cell);
        }
    }

    /// A thread, or its store buffer, touches a cell: do others see there what is to be undone?
    pub(super) fn note_touched(&mut self, by: usize, cell: u32) {
        if !self.loops {
            return;
        }
        let now = self.memory[cell as usize];
        let observer = self.observer(by);
        for (thread, state) in self.threads.iter_mut().enumerate() {
            if thread != by {
                for head in &mut state.turns.heads {
                    let open = |&(at, found): &(u32, u64)| at == cell && found != now;
                    if head.changed.iter().chain(&head.hidden).any(open) {
                        head.seen_by.push(observer.clone());
                    }
                }
                if let Some(turn) = &mut state.turns.unsettled {
                    turn.touched(cell, now);
                }
            }
        }
    }

    fn observer(&self, thread: usize) -> TurnSeenFrom {
        let turns = &self.threads[thread].turns;
        let latest = turns.heads.iter().min_by_key(|head| head.steps);
        TurnSeenFrom {
            thread,
            epoch: turns.epoch,
            head: latest.map(|head| (head.pc, head.regs)),
            path: latest.map_or(self.threads[thread].pc.into(), |head| head.path),
        }
    }

    /// A thread is at the head of a loop; true if it stops there. `at` is the number of steps so far, with the one that led here.
    pub(super) fn arrived(&mut self, thread: usize, pc: u32, at: usize) -> bool {
        let live = self.live[thread][pc as usize];
        let regs = std::array::from_fn(|reg| match live >> reg & 1 {
            1 => self.threads[thread].regs[reg],
            _ => 0,
        });
        let known = self.threads[thread]
            .turns
            .heads
            .iter()
            .position(|head| head.pc == pc);
        let entries = self.entries(thread);
        let Some(known) = known else {
            self.threads[thread].turns.heads.push(Head {
                pc,
                regs,
                reads: Vec::new(),
                changed: Vec::new(),
                own: Vec::new(),
                entries,
                pushes_early: false,
                undrained: false,
                hidden: Vec::new(),
                read_first: Vec::new(),
                written: Vec::new(),
                lasting: false,
                seen_by: Vec::new(),
                known: Vec::new(),
                path: 0,
                steps: 0,
                begun: None,
            });
            self.threads[thread].turns.epoch += 1;
            return false;
        };
        let of = self.loop_of(thread, pc);
        let mut epoch = self.threads[thread].turns.epoch;
        let head = &mut self.threads[thread].turns.heads[known];
        let undone = |&(cell, found): &(u32, u64)| self.memory[cell as usize] == found;
        let as_it_was = head.own.iter().all(|&(_, found, left)| found == left);
        let mut in_vain = head.regs == regs && !head.lasting && as_it_was;
        let left = head.hidden.iter().filter(|&change| !undone(change));
        let left: Vec<u32> = left.map(|&(cell, _)| cell).collect();
        if in_vain && !left.is_empty() {
            let read_first = left.iter().any(|cell| head.read_first.contains(cell));
            in_vain = head.own.is_empty()
                && head.begun.is_some()
                && !read_first
                && self.facts.borrow_mut().overlooks(of, &left);
        }
        let seen_by = std::mem::take(&mut head.seen_by);
        if !in_vain {
            head.known.clear();
            epoch += 1;
        } else if seen_by
            .iter()
            .any(|observer| !head.known.contains(observer))
        {
            head.known.extend(seen_by);
            in_vain = false;
        }
        let reads = std::mem::take(&mut head.reads);
        let changed = std::mem::take(&mut head.changed);
        let undrained = std::mem::take(&mut head.undrained);
        let early = std::mem::take(&mut head.pushes_early);
        let before = std::mem::replace(&mut head.entries, entries);
        let begun = head.begun.take();
        let alone = begun
            .as_ref()
            .is_some_and(|begun| at - begun.at == head.steps);
        head.regs = regs;
        head.own.clear();
        head.hidden.clear();
        head.read_first.clear();
        head.written.clear();
        head.lasting = false;
        head.path = 0;
        head.steps = 0;
        self.threads[thread].turns.epoch = epoch;
        if !in_vain {
            self.threads[thread].turns.last = false;
            return false;
        }
        let taken = alone && begun.as_ref().is_some_and(|begun| begun.before.is_some());
        if undrained && (!taken || early) {
            let turn = Unsettled::new(reads, changed, before..entries);
            self.threads[thread].turns.unsettled.get_or_insert(turn);
            return false;
        }
        let state = &mut self.threads[thread];
        state.turns.waits = Some(reads);
        match begun {
            Some(Begun {
                at,
                trailing,
                before: Some(before),
            }) if alone => {
                self.taken_back = Some(TakenBack {
                    thread,
                    at,
                    trailing,
                    before,
                });
                true
            }
            // A loop that looks at nothing and does nothing never ends: nobody can help the thread.
            None if state.turns.waits.as_ref().is_some_and(Vec::is_empty) => {
                state.status = Status::Joining(thread as u8);
                true
            }
            // Nothing in it was a step: its first read is one now.
            None => false,
            Some(_) => {
                state.status = Status::Left;
                true
            }
        }
    }

    /// Takes the last turn back, if it was in vain; true if so.
    pub(super) fn take_back(&mut self, trace: &mut Trace) -> bool {
        let Some(taken) = self.taken_back.take() else {
            return false;
        };
        let waits = self.threads[taken.thread].turns.waits.take();
        *self = Rc::unwrap_or_clone(taken.before);
        let state = &mut self.threads[taken.thread];
        state.turns.waits = waits;
        // Where it was before that turn it is now: at the beginning of one.
        let bit = 1u64 << taken.thread;
        self.open &= !bit;
        self.gated |= bit;
        trace.steps.truncate(taken.at);
        trace.enabled.truncate(taken.at);
        trace.trailing.truncate(taken.trailing);
        true
    }
}

fn mixed(path: u64, with: [u64; 2]) -> u64 {
    with.iter().fold(path, |path, word| {
        (path ^ word)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(23)
    })
}

/// A turn that did not happen.
#[derive(Clone, Debug)]
pub(super) struct TakenBack<'p> {
    thread: usize,
    at: usize,
    trailing: usize,
    before: Rc<Interpreter<'p>>,
}
