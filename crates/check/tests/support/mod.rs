//! Recoveries for tests: a function from what was read so far to what is done next.
#![allow(dead_code)] // each test uses its part

pub(crate) mod adaptive;
pub(crate) mod machine;

use landfall_check::path::Span;
use landfall_check::{Execution, Recoveries, RecoveryStep};
use landfall_model::event::{Action, Event, Mark};
use landfall_model::image::Image;
use landfall_model::line::{Addr, Piece, pieces};
use landfall_model::order::Platform;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// What a recovery does until it needs the next value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Doing {
    /// Everything it did, its reads included.
    pub(crate) events: Vec<Event>,
    /// Promises since the last read.
    pub(crate) marks: Vec<Mark>,
    pub(crate) next: Option<(Addr, u8)>,
}

pub(crate) trait Program {
    /// `failures` so far; `values` that its first reads returned.
    fn resume(&self, failures: usize, values: &[u64]) -> Doing;

    /// Runs it on an image: what it read, and what it did before each read and after the last.
    fn run(&self, failures: usize, image: &Image) -> (Vec<u64>, Vec<Doing>) {
        let (mut values, mut doings) = (Vec::new(), Vec::new());
        loop {
            let doing = self.resume(failures, &values);
            let next = doing.next;
            doings.push(doing);
            let Some((word, mask)) = next else {
                return (values, doings);
            };
            values.push(read(image, word, mask));
        }
    }
}

pub(crate) fn read(image: &Image, word: Addr, mask: u8) -> u64 {
    let mut bytes = [0; 8];
    image.read(word, &mut bytes);
    for (i, byte) in bytes.iter_mut().enumerate() {
        if mask & (1 << i) == 0 {
            *byte = 0;
        }
    }
    u64::from_le_bytes(bytes)
}

pub(crate) fn piece(addr: u64, bytes: &[u8]) -> Piece {
    pieces(Addr(addr), bytes).next().unwrap()
}

pub(crate) fn store(thread: u16, site: u32, piece: Piece) -> Event {
    Event {
        thread,
        site,
        ..Event::store(piece)
    }
}

/// The tree of a program's recoveries, grown as it is asked for.
pub(crate) struct Tree<'a, P> {
    program: &'a P,
    platform: Platform,
    nodes: RefCell<Vec<(usize, Vec<u64>)>>,
    known: RefCell<BTreeMap<(usize, Vec<u64>), u32>>,
    /// What was read by recoveries that were followed to their end.
    pub(crate) ended: RefCell<BTreeSet<(usize, Vec<u64>)>>,
}

impl<'a, P: Program> Tree<'a, P> {
    pub(crate) fn new(program: &'a P, platform: Platform) -> Self {
        Tree {
            program,
            platform,
            nodes: RefCell::default(),
            known: RefCell::default(),
            ended: RefCell::default(),
        }
    }

    fn node(&self, failures: usize, values: Vec<u64>) -> u32 {
        let key = (failures, values);
        let mut nodes = self.nodes.borrow_mut();
        *self
            .known
            .borrow_mut()
            .entry(key)
            .or_insert_with_key(|key| {
                nodes.push(key.clone());
                nodes.len() as u32 - 1
            })
    }

    fn doing(&self, node: u32) -> Doing {
        let (failures, values) = self.nodes.borrow()[node as usize].clone();
        self.program.resume(failures, &values)
    }
}

impl<P: Program> Recoveries for Tree<'_, P> {
    type Node = u32;

    fn root(&self, failures: usize) -> u32 {
        self.node(failures, Vec::new())
    }

    fn step(&self, node: u32) -> RecoveryStep {
        match self.doing(node).next {
            Some((word, mask)) => RecoveryStep::Read { word, mask },
            None => {
                let key = self.nodes.borrow()[node as usize].clone();
                self.ended.borrow_mut().insert(key);
                RecoveryStep::End
            }
        }
    }

    fn child(&self, node: u32, value: u64) -> Option<u32> {
        let (failures, mut values) = self.nodes.borrow()[node as usize].clone();
        values.push(value);
        Some(self.node(failures, values))
    }

    fn marks(&self, node: u32) -> SmallVec<[Mark; 2]> {
        self.doing(node).marks.into_iter().collect()
    }

    fn ran(&self, node: u32) -> Option<(Rc<Execution>, Span)> {
        let events = self.doing(node).events;
        let last = events
            .iter()
            .rposition(|e| matches!(e.action, Action::Read(_)));
        let before = Execution::logged(events[..last.unwrap_or(0)].to_vec(), self.platform);
        let (execution, log) = Execution::logged(events, self.platform);
        Some((Rc::new(execution), (before.1.end().0, log.end().0)))
    }
}
