//! Random executions of several threads with store buffers, and definitions to hold the checkers against.

use super::adaptive::LINES;
use super::piece;
use landfall_check::Execution;
use landfall_model::event::{Action, Atomicity, Event, EventId, Fence, How};
use landfall_model::image::Image;
use landfall_model::line::Line;
use landfall_model::log::{Entry, Log, Version};
use landfall_model::order::Platform;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::rc::Rc;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Store {
        word: u64,
        at: u64,
        len: usize,
        atomic: Atomicity,
    },
    NtStore {
        word: u64,
    },
    Load {
        word: u64,
    },
    Clflush(u64),
    Clwb(u64),
    Sfence,
    Mfence,
}

pub(crate) fn op() -> impl Strategy<Value = Op> {
    let word = || (0..LINES, 0u64..2).prop_map(|(line, word)| line * 64 + word * 8);
    let atomic = prop_oneof![
        2 => Just(Atomicity::Plain),
        1 => Just(Atomicity::Relaxed),
        2 => Just(Atomicity::Release),
    ];
    prop_oneof![
        6 => (word(), prop_oneof![Just((0, 8)), Just((0, 4)), Just((4, 1))], atomic)
            .prop_map(|(word, (at, len), atomic)| Op::Store { word, at, len, atomic }),
        1 => word().prop_map(|word| Op::NtStore { word }),
        3 => word().prop_map(|word| Op::Load { word }),
        2 => (0..LINES).prop_map(Op::Clflush),
        2 => (0..LINES).prop_map(Op::Clwb),
        1 => Just(Op::Sfence),
        1 => Just(Op::Mfence),
    ]
}

/// Runs threads with store buffers under a schedule; what is still buffered at the end never reaches the cache.
pub(crate) struct Machine {
    events: Vec<Event>,
    pub(crate) log: Log,
    buffers: Vec<Vec<usize>>,
    pending: Vec<(u16, Line, Version)>,
}

impl Machine {
    pub(crate) fn run(threads: &[Vec<Op>], schedule: &[u8], buffered: bool) -> Machine {
        let mut machine = Machine {
            events: Vec::new(),
            log: Log::new(Platform::Adr),
            buffers: vec![Vec::new(); threads.len()],
            pending: Vec::new(),
        };
        let mut at = vec![0; threads.len()];
        let everything = (0..threads.len() as u8).cycle().take(threads.len() * 20);
        for choice in schedule.iter().copied().chain(everything) {
            let thread = usize::from(choice) % threads.len();
            if buffered && choice >= 128 && !machine.buffers[thread].is_empty() {
                machine.commit(thread);
            } else if let Some(&op) = threads[thread].get(at[thread]) {
                machine.issue(thread, op);
                at[thread] += 1;
                while !buffered && !machine.buffers[thread].is_empty() {
                    machine.commit(thread);
                }
            }
        }
        machine
    }

    fn issue(&mut self, thread: usize, op: Op) {
        let id = self.events.len();
        let mark = id as u8 + 1; // every stored byte names its store
        let stores = |addr, len, how, atomic| Action::Store {
            piece: piece(addr, &[mark; 8][..len]),
            how,
            atomic,
        };
        let action = match op {
            Op::Store {
                word,
                at,
                len,
                atomic,
            } => stores(word + at, len, How::Cached, atomic),
            Op::NtStore { word } => stores(word, 8, How::NonTemporal, Atomicity::Plain),
            Op::Clflush(line) => Action::Clflush(Line(line)),
            Op::Clwb(line) => Action::Clwb(Line(line)),
            Op::Sfence => Action::Fence(Fence::Store),
            Op::Mfence => {
                while !self.buffers[thread].is_empty() {
                    self.commit(thread);
                }
                Action::Fence(Fence::Full)
            }
            Op::Load { word } => return self.load(thread, word),
        };
        self.push(thread, action);
        self.buffers[thread].push(id);
        if let Op::Mfence = op {
            self.commit(thread);
        }
    }

    fn push(&mut self, thread: usize, action: Action) {
        let site = self.events.len() as u32;
        self.events.push(Event {
            thread: thread as u16,
            site,
            ..Event::new(action)
        });
    }

    /// Own buffer first, byte by byte; what the cache gives from other threads is observed.
    fn load(&mut self, thread: usize, word: u64) {
        let own: Vec<Event> = self.buffers[thread]
            .iter()
            .map(|&e| self.events[e])
            .collect();
        let covers = |event: &Event, byte: u64| {
            let piece = event.piece();
            piece.is_some_and(|p| (p.addr.0..p.addr.0 + p.bytes().len() as u64).contains(&byte))
        };
        let mut observed = BTreeSet::new();
        for byte in word..word + 8 {
            if own.iter().any(|event| covers(event, byte)) {
                continue;
            }
            let newest = self.log.entries().iter().enumerate().rev().find(|(at, e)| {
                matches!(e, Entry::Store { .. })
                    && covers(&self.events[self.log.events()[*at].index()], byte)
            });
            observed.extend(newest.map(|(at, _)| self.log.events()[at]));
        }
        for event in observed {
            self.push(thread, Action::Observe { event });
        }
    }

    fn commit(&mut self, thread: usize) {
        let id = self.buffers[thread].remove(0);
        let owner = thread as u16;
        self.log.by(EventId(id as u32));
        match self.events[id].action {
            Action::Store { piece, how, .. } => match how {
                How::NonTemporal => {
                    let version = self.log.nt_store(owner, piece);
                    self.pending.push((owner, piece.addr.line(), version));
                }
                _ => {
                    self.log.store(owner, piece);
                }
            },
            Action::Clflush(line) => {
                let newest = self.log.newest(line, self.log.end());
                self.log.durable(line, newest);
            }
            Action::Clwb(line) => {
                let newest = self.log.newest(line, self.log.end());
                self.pending.push((owner, line, newest));
            }
            Action::Fence(_) => {
                let log = &mut self.log;
                self.pending.retain(|&(t, line, version)| {
                    if t == owner {
                        log.durable(line, version);
                    }
                    t != owner
                });
            }
            _ => {}
        }
    }

    pub(crate) fn execution(&self) -> Rc<Execution> {
        let events = self.events.clone();
        Rc::new(Execution::new(events, &self.log, Platform::Adr))
    }

    /// What happens before each event.
    fn before(&self) -> Vec<Vec<bool>> {
        let n = self.events.len();
        let mut before = vec![vec![false; n]; n];
        for second in 0..n {
            for first in 0..second {
                let po = self.events[first].thread == self.events[second].thread;
                let observed = self.events[second].action
                    == Action::Observe {
                        event: EventId(first as u32),
                    };
                if po || observed {
                    before[second][first] = true;
                    let closure = before[first].clone();
                    for (mine, theirs) in before[second].iter_mut().zip(closure) {
                        *mine |= theirs;
                    }
                }
            }
        }
        before
    }

    /// Every image that a happens-before-closed set of the stores leaves, each in the order of the cache.
    pub(crate) fn strict_images(&self) -> Vec<Image> {
        let before = self.before();
        let n = self.events.len();
        let stores: Vec<usize> = self.stores().map(|(_, event)| event).collect();
        let mut images = Vec::new();
        // By the last store of each thread that is in: a closed set is one prefix per thread.
        let mut sets = vec![vec![false; n]];
        for thread in 0..self.buffers.len() {
            let mut mine: Vec<usize> = stores
                .iter()
                .copied()
                .filter(|&s| usize::from(self.events[s].thread) == thread)
                .collect();
            mine.sort_unstable();
            let grown = sets.iter().flat_map(|set| {
                (0..=mine.len()).map(|count| {
                    let mut set = set.clone();
                    mine[..count].iter().for_each(|&s| set[s] = true);
                    set
                })
            });
            sets = grown.collect();
        }
        sets.retain(|set| {
            let closed = |&s: &usize| stores.iter().all(|&e| !before[s][e] || set[e]);
            stores.iter().filter(|&&s| set[s]).all(closed)
        });
        for set in sets {
            let mut image = Image::default();
            for (at, event) in self.stores() {
                if set[event]
                    && let Entry::Store { piece, .. } = self.log.entries()[at]
                {
                    image.write(piece.addr, piece.bytes());
                }
            }
            images.push(image);
        }
        images
    }

    /// Theorem 1 of seed 000, word by word: the stores that some read of a recovery races with.
    pub(crate) fn races(&self, read: &[BTreeSet<usize>]) -> BTreeSet<u32> {
        let before = self.before();
        let hb = |a: usize, b: usize| a == b || before[b][a];
        let n = self.events.len();
        let line = |e: usize| self.events[e].piece().map(|p| p.addr.line());
        let mut racing = BTreeSet::new();
        let mut seen: Vec<usize> = Vec::new();
        for sources in read {
            for &s in sources {
                let Action::Store { atomic, .. } = self.events[s].action else {
                    continue;
                };
                let released = seen.iter().any(|&r| {
                    let action = self.events[r].action;
                    matches!(
                        action,
                        Action::Store {
                            atomic: Atomicity::Release,
                            ..
                        }
                    ) && line(r) == line(s)
                        && hb(s, r)
                });
                let reached = |e: usize| seen.iter().any(|&r| hb(e, r));
                let fenced = |f: usize| {
                    let thread = self.events[f].thread;
                    (f + 1..n).any(|e| {
                        self.events[e].thread == thread
                            && matches!(self.events[e].action, Action::Fence(_))
                            && reached(e)
                    })
                };
                let flushed = (0..n).any(|f| match self.events[f].action {
                    Action::Clflush(of) => Some(of) == line(s) && hb(s, f) && reached(f),
                    Action::Clwb(of) => Some(of) == line(s) && hb(s, f) && fenced(f),
                    Action::Store {
                        how: How::NonTemporal,
                        ..
                    } => line(f) == line(s) && hb(s, f) && fenced(f),
                    _ => false,
                });
                if atomic == Atomicity::Plain && !released && !flushed {
                    racing.insert(s as u32);
                }
            }
            seen.extend(sources);
        }
        racing
    }

    fn stores(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let entries = self.log.entries().iter().enumerate();
        entries
            .filter(|(_, entry)| matches!(entry, Entry::Store { .. }))
            .map(|(at, _)| (at, self.log.events()[at].index()))
    }
}
