//! What power failures leave, by trying everything: of each line, any content that it had since it was last written back.

use super::{State, successors};
use crate::program::{Model, Program};
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};

/// Of what is in a store buffer: no store of a cell, but `clflush` of its line.
pub(super) const FLUSH: u32 = 1 << 31;

/// The cells of one line, and what they hold.
type Content = Vec<(u32, u64)>;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Durable {
    line_of: Vec<u32>,
    lines: BTreeMap<u32, BTreeSet<Content>>,
}

impl Durable {
    fn new(program: &Program) -> Durable {
        let memory: Vec<u64> = program.cells.iter().map(|cell| cell.init).collect();
        let mut durable = Durable {
            line_of: program.cells.iter().map(|cell| cell.line).collect(),
            lines: BTreeMap::new(),
        };
        for cell in 0..memory.len() {
            durable.written_back(cell, &memory);
        }
        durable
    }

    fn content(&self, line: u32, memory: &[u64]) -> Content {
        let cells = (0u32..).zip(self.line_of.iter().zip(memory));
        let here = cells.filter(|(_, (of, _))| **of == line);
        here.map(|(cell, (_, value))| (cell, *value)).collect()
    }

    pub(super) fn stored(&mut self, cell: usize, memory: &[u64]) {
        let line = self.line_of[cell];
        let content = self.content(line, memory);
        self.lines.entry(line).or_default().insert(content);
    }

    pub(super) fn written_back(&mut self, cell: usize, memory: &[u64]) {
        let line = self.line_of[cell];
        let content = self.content(line, memory);
        self.lines.insert(line, BTreeSet::from([content]));
    }

    /// All that a power failure may leave now.
    fn images(&self) -> Vec<Vec<u64>> {
        let mut images = vec![vec![0; self.line_of.len()]];
        for contents in self.lines.values() {
            let with = |image: &Vec<u64>, content: &Content| {
                let mut image = image.clone();
                for &(cell, value) in content {
                    image[cell as usize] = value;
                }
                image
            };
            images = (images.iter())
                .flat_map(|image| contents.iter().map(move |content| with(image, content)))
                .collect();
        }
        images
    }
}

impl State {
    /// The oldest of what a thread's store buffer holds leaves it.
    pub(super) fn commit(&mut self, thread: usize) {
        let (cell, value, number) = self.buffers[thread].remove(0);
        if cell & FLUSH == 0 {
            return self.wrote(cell as usize, value, number);
        }
        if let Some(durable) = &mut self.durable {
            durable.written_back((cell & !FLUSH) as usize, &self.memory);
        }
    }
}

/// Every content of memory that a power failure, at any moment of any execution, may leave. `None` if there are more states than `most`.
pub fn crash_images(program: &Program, model: Model, most: usize) -> Option<BTreeSet<Vec<u64>>> {
    let mut start = State::start(program, super::Keep::States);
    start.durable = Some(Durable::new(program));
    let mut seen: FxHashSet<State> = FxHashSet::from_iter([start.clone()]);
    let mut work = vec![start];
    let mut images = BTreeSet::new();
    while let Some(state) = work.pop() {
        images.extend(state.durable.iter().flat_map(Durable::images));
        let mut nexts = Vec::new();
        for thread in 0..program.threads.len() {
            nexts.extend(successors(program, model, &state, thread));
            if !state.buffers[thread].is_empty() {
                let mut next = state.clone();
                next.commit(thread);
                nexts.push(next);
            }
        }
        for next in nexts {
            if seen.insert(next.clone()) {
                work.push(next);
            }
        }
        if seen.len() > most {
            return None;
        }
    }
    Some(images)
}
