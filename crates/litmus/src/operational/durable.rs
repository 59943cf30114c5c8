//! What a power failure may leave of each observed line, kept as small as the future needs it.
//!
//! A crash leaves one version of each line, no older than its frontier (MODEL.md §1). Which versions those are matters;
//! their order only as far as a pending `clflushopt` may still cut it. So a line is a set of contents, each with the
//! *epoch* of its newest appearance; a pending flush is a boundary between epochs. Many different logs become one state.

use super::state::Frontier;
use crate::program::{LineId, Observe, Outcome, Program, Value};
use landfall_model::order::{OpKind, Platform};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cell::RefCell;

/// The observed values of a line at one version, interned.
type ContentId = u32;
type Content = SmallVec<[Value; 4]>;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Version {
    content: ContentId,
    epoch: u8,
}

/// A flush or non-temporal store that its thread's next fence makes effective.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Pending {
    line: u8,
    thread: u8,
    kind: OpKind,
    /// Fences of the thread before this instruction do not wait for it. Zero where none is left that could: under the
    /// table of Px86 always, but a mutated one may let a flush overtake a fence.
    since: u8,
    /// Once effective, only versions of this epoch and later remain.
    from: u8,
}

/// Who asks for a write-back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flusher {
    pub(super) thread: usize,
    pub(super) kind: OpKind,
    pub(super) since: usize,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Durable {
    lines: SmallVec<[SmallVec<[Version; 4]>; 2]>,
    pending: SmallVec<[Pending; 4]>,
}

/// The observed lines of a program: fixed while it runs.
#[derive(Debug)]
pub(super) struct Lines {
    /// Index into [`Durable::lines`] of each line of the program, if it is observed.
    index: Vec<Option<u8>>,
    /// The observed variables on each observed line.
    vars: Vec<Vec<usize>>,
    /// For each observed place in order: its line, and its position in that line's content.
    places: Vec<(usize, usize)>,
    observed: u32,
    contents: RefCell<Interner>,
}

#[derive(Debug, Default)]
struct Interner {
    ids: FxHashMap<Content, ContentId>,
    contents: Vec<Content>,
}

impl Lines {
    pub(super) fn new(program: &Program, observe: &Observe) -> Lines {
        let mut lines = Lines {
            index: vec![None; program.line_count()],
            vars: Vec::new(),
            places: Vec::new(),
            observed: 0,
            contents: RefCell::default(),
        };
        if let Observe::Recover(vars) = observe {
            for var in vars {
                let slot = &mut lines.index[program.line_of(*var).0 as usize];
                let line = *slot.get_or_insert_with(|| {
                    lines.vars.push(Vec::new());
                    lines.vars.len() as u8 - 1
                }) as usize;
                let var = var.0 as usize;
                lines.observed |= 1 << var;
                let on_line = &mut lines.vars[line];
                let position = on_line.iter().position(|&v| v == var).unwrap_or_else(|| {
                    on_line.push(var);
                    on_line.len() - 1
                });
                lines.places.push((line, position));
            }
        }
        lines
    }

    pub(super) fn observes(&self, var: usize) -> bool {
        self.observed & (1 << var) != 0
    }

    pub(super) fn observed_line(&self, line: LineId) -> Option<usize> {
        self.index[line.0 as usize].map(usize::from)
    }

    fn newest(&self, line: usize, memory: &[Value]) -> ContentId {
        let content: Content = self.vars[line].iter().map(|&v| memory[v]).collect();
        let mut interner = self.contents.borrow_mut();
        if let Some(&id) = interner.ids.get(&content) {
            return id;
        }
        let id = interner.contents.len() as ContentId;
        interner.contents.push(content.clone());
        interner.ids.insert(content, id);
        id
    }
}

impl Durable {
    pub(super) fn new(lines: &Lines, memory: &[Value]) -> Durable {
        Durable {
            lines: (0..lines.vars.len())
                .map(|line| {
                    SmallVec::from_slice(&[Version {
                        content: lines.newest(line, memory),
                        epoch: 0,
                    }])
                })
                .collect(),
            pending: SmallVec::new(),
        }
    }

    /// A store reached the cache; `memory` holds it already.
    pub(super) fn store(
        &mut self,
        lines: &Lines,
        line: LineId,
        memory: &[Value],
        platform: Platform,
        non_temporal: bool,
    ) -> Frontier {
        let Some(line) = lines.observed_line(line) else {
            return Frontier::Kept;
        };
        let epoch = self.current_epoch(line);
        self.appear(line, lines.newest(line, memory), epoch);
        if platform == Platform::Eadr && !non_temporal {
            return self.keep_only(line, lines.newest(line, memory));
        }
        Frontier::Kept
    }

    /// `clflush` leaves the store buffer: only the newest version remains.
    pub(super) fn flush(&mut self, lines: &Lines, line: LineId, memory: &[Value]) -> Frontier {
        match lines.observed_line(line) {
            Some(line) => self.keep_only(line, lines.newest(line, memory)),
            None => Frontier::Kept,
        }
    }

    /// `clflushopt` takes its stamp, or a non-temporal store is on its way: effective at the thread's next fence.
    pub(super) fn pend(&mut self, lines: &Lines, line: LineId, memory: &[Value], by: Flusher) {
        let Some(line) = lines.observed_line(line) else {
            return;
        };
        let from = self.current_epoch(line) + 1;
        self.appear(line, lines.newest(line, memory), from);
        self.pending.push(Pending {
            line: line as u8,
            thread: by.thread as u8,
            kind: by.kind,
            since: by.since as u8,
            from,
        });
    }

    /// The thread fences: its pending flushes that `ordered` before the fence become effective.
    pub(super) fn drain(
        &mut self,
        lines: &Lines,
        thread: usize,
        fence: usize,
        ordered: impl Fn(OpKind, LineId) -> bool,
    ) -> Frontier {
        let line_id = |line: u8| {
            let id = lines.index.iter().position(|&l| l == Some(line));
            LineId(id.unwrap_or(0) as u8)
        };
        let mut frontier = Frontier::Kept;
        let mut kept = SmallVec::new();
        for pending in std::mem::take(&mut self.pending) {
            if pending.thread as usize == thread
                && pending.since as usize <= fence
                && ordered(pending.kind, line_id(pending.line))
            {
                let versions = &mut self.lines[pending.line as usize];
                let before = versions.len();
                versions.retain(|v| v.epoch >= pending.from);
                if versions.len() < before {
                    frontier = Frontier::Raised;
                }
            } else {
                kept.push(pending);
            }
        }
        self.pending = kept;
        frontier
    }

    pub(super) fn single_version(&self, line: usize) -> bool {
        self.lines[line].len() == 1
    }

    pub(super) fn has_pending(&self, thread: usize) -> bool {
        self.pending.iter().any(|p| p.thread as usize == thread)
    }

    /// The key under which this state's outcomes are remembered as recorded.
    pub(super) fn feasible(&self) -> SmallVec<[SmallVec<[ContentId; 4]>; 2]> {
        self.lines
            .iter()
            .map(|versions| versions.iter().map(|v| v.content).collect())
            .collect()
    }

    /// Every image a crash here may leave, as outcomes: lines are independent (MODEL.md §4).
    pub(super) fn outcomes(&self, lines: &Lines, mut record: impl FnMut(Outcome)) {
        let interner = lines.contents.borrow();
        let mut pick: SmallVec<[usize; 4]> = SmallVec::from_elem(0, self.lines.len());
        loop {
            record(
                lines
                    .places
                    .iter()
                    .map(|&(line, position)| {
                        let version = self.lines[line][pick[line]];
                        interner.contents[version.content as usize][position]
                    })
                    .collect(),
            );
            let mut line = 0;
            loop {
                if line == pick.len() {
                    return;
                }
                pick[line] += 1;
                if pick[line] < self.lines[line].len() {
                    break;
                }
                pick[line] = 0;
                line += 1;
            }
        }
    }

    fn current_epoch(&self, line: usize) -> u8 {
        self.lines[line].iter().map(|v| v.epoch).max().unwrap_or(0)
    }

    fn appear(&mut self, line: usize, content: ContentId, epoch: u8) {
        let versions = &mut self.lines[line];
        match versions.binary_search_by_key(&content, |v| v.content) {
            Ok(at) => versions[at].epoch = epoch,
            Err(at) => versions.insert(at, Version { content, epoch }),
        }
    }

    fn keep_only(&mut self, line: usize, content: ContentId) -> Frontier {
        let versions = &mut self.lines[line];
        let frontier = if versions.len() > 1 {
            Frontier::Raised
        } else {
            Frontier::Kept
        };
        versions.retain(|v| v.content == content);
        frontier
    }

    /// Numbers epochs by the boundaries that still matter, and drops pending flushes that can no longer cut anything.
    pub(super) fn normalise(&mut self, lines: &Lines) {
        for line in 0..lines.vars.len() {
            let versions = &mut self.lines[line];
            let mut bounds: SmallVec<[u8; 8]> = self
                .pending
                .iter()
                .filter(|p| p.line as usize == line)
                .map(|p| p.from)
                .collect();
            bounds.sort_unstable();
            bounds.dedup();
            let level = |epoch: u8| bounds.iter().filter(|&&b| b <= epoch).count() as u8;
            let mut used: SmallVec<[u8; 8]> = versions.iter().map(|v| level(v.epoch)).collect();
            used.sort_unstable();
            used.dedup();
            for version in versions.iter_mut() {
                let level = level(version.epoch);
                version.epoch = used.iter().filter(|&&u| u < level).count() as u8;
            }
            for pending in self.pending.iter_mut().filter(|p| p.line as usize == line) {
                let level = level(pending.from);
                pending.from = used.iter().filter(|&&u| u < level).count() as u8;
            }
        }
        self.pending.retain(|p| p.from > 0);
        self.pending.sort_unstable();
        self.pending.dedup();
    }
}
