//! What a power failure leaves of each observed line: guessed, then held to the guess.
//!
//! A crash leaves one version of each line, no older than its frontier (MODEL.md §1). Instead of keeping all versions that
//! might survive, the search decides when a version appears whether it will be the survivor, and from then on refuses any
//! step that would guarantee a newer one. Until the decision nothing about the line needs to be remembered, afterwards
//! one content. When every observed line has its survivor the power may fail, and need not wait.

use super::compile::FlushGroups;
use crate::program::{LineId, Observe, Outcome, Program, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cell::RefCell;

/// The observed values of a line at one version, interned.
type ContentId = u32;
type Content = SmallVec<[Value; 4]>;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Survivor {
    content: ContentId,
    /// The line was stored to since: a write-back from here on would lose the survivor.
    stale: bool,
    /// Pending write-backs that cover a newer version: a fence that makes one effective loses the survivor.
    outdated_by: FlushGroups,
}

/// The survivor of each observed line, where decided.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Durable {
    lines: SmallVec<[Option<Survivor>; 2]>,
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

    pub(super) fn count(&self) -> usize {
        self.vars.len()
    }

    /// The line of the program that has this index among the observed ones.
    pub(super) fn line_at(&self, observed: usize) -> Option<LineId> {
        let at = self.index.iter().position(|&i| i == Some(observed as u8))?;
        Some(LineId(at as u8))
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
    /// Nothing decided.
    pub(super) fn new(lines: &Lines) -> Durable {
        Durable {
            lines: SmallVec::from_elem(None, lines.count()),
        }
    }

    /// The line's newest version, as `memory` holds it, is the one that survives.
    pub(super) fn decide(&mut self, lines: &Lines, line: usize, memory: &[Value]) {
        self.lines[line] = Some(Survivor {
            content: lines.newest(line, memory),
            stale: false,
            outdated_by: 0,
        });
    }

    pub(super) fn undecided(&self, line: usize) -> bool {
        self.lines[line].is_none()
    }

    pub(super) fn all_decided(&self) -> bool {
        self.lines.iter().all(Option::is_some)
    }

    /// Another version of the line appears.
    pub(super) fn store(&mut self, line: usize) {
        if let Some(survivor) = &mut self.lines[line] {
            survivor.stale = true;
        }
    }

    /// Would a write-back of the line now lose its survivor?
    pub(super) fn stale(&self, line: usize) -> bool {
        self.lines[line].is_some_and(|survivor| survivor.stale)
    }

    /// A write-back of the line as it is now is on its way.
    pub(super) fn pend(&mut self, line: usize, group: FlushGroups) {
        if let Some(survivor) = &mut self.lines[line]
            && survivor.stale
        {
            survivor.outdated_by |= group;
        }
    }

    /// Would making these write-backs effective lose a survivor?
    pub(super) fn outdated_by(&self, groups: FlushGroups) -> bool {
        self.lines
            .iter()
            .flatten()
            .any(|survivor| survivor.outdated_by & groups != 0)
    }

    /// Forgets what can no longer matter: write-backs without a fence to come, staleness without a flush to come.
    pub(super) fn forget(&mut self, groups: FlushGroups, flushed_again: impl Fn(usize) -> bool) {
        for (line, survivor) in self.lines.iter_mut().enumerate() {
            if let Some(survivor) = survivor {
                survivor.outdated_by &= groups;
                survivor.stale &= flushed_again(line);
            }
        }
    }

    /// What recovery reads, every line decided.
    pub(super) fn outcome(&self, lines: &Lines) -> Outcome {
        let interner = lines.contents.borrow();
        let read = |&(line, position): &(usize, usize)| {
            let content = self.lines[line].map_or(0, |survivor| survivor.content);
            interner.contents[content as usize][position]
        };
        lines.places.iter().map(read).collect()
    }
}
