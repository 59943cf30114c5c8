//! What a power failure leaves of each observed line: guessed, then held to the guess.
//!
//! A crash leaves one version of each line, no older than its frontier (docs/design/model.md §1). Instead of keeping all versions that
//! might survive, the search decides when a store makes a version whether that version, or the initial one it replaces, is
//! the survivor, and from then on refuses any step that would guarantee a newer one. Until the decision nothing about the
//! line needs to be remembered, afterwards one content. When no line awaits its decision, the power may fail.

use super::compile::FlushGroups;
use crate::program::{LineId, Observe, Outcome, Program, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cell::RefCell;

/// The observed values of a line at one version, interned.
type ContentId = u32;
type LineContent = SmallVec<[Value; 4]>;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Survivor {
    content: ContentId,
    /// The line was stored to since: a write-back from here on would lose the survivor.
    stale: bool,
    /// Pending write-backs that cover a newer version: a fence that makes one effective loses the survivor.
    outdated_by: FlushGroups,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum LineFate {
    /// Never stored to: there is but one version.
    Untouched,
    /// Some later version will survive.
    Open,
    Decided(Survivor),
}

/// What is decided of each observed line.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Durable {
    lines: SmallVec<[LineFate; 2]>,
}

/// The observed lines of a program: fixed while it runs.
#[derive(Debug)]
pub(super) struct DurableLines {
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
    ids: FxHashMap<LineContent, ContentId>,
    contents: Vec<LineContent>,
}

impl DurableLines {
    pub(super) fn new(program: &Program, observe: &Observe) -> DurableLines {
        let mut lines = DurableLines {
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
        let content: LineContent = self.vars[line].iter().map(|&v| memory[v]).collect();
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
    pub(super) fn new(lines: &DurableLines) -> Durable {
        Durable {
            lines: SmallVec::from_elem(LineFate::Untouched, lines.count()),
        }
    }

    /// The line's newest version, as `memory` holds it, is the one that survives.
    pub(super) fn decide(&mut self, lines: &DurableLines, line: usize, memory: &[Value]) {
        self.lines[line] = LineFate::Decided(Survivor {
            content: lines.newest(line, memory),
            stale: false,
            outdated_by: 0,
        });
    }

    pub(super) fn untouched(&self, line: usize) -> bool {
        self.lines[line] == LineFate::Untouched
    }

    /// Some version to come must survive.
    pub(super) fn open(&self, line: usize) -> bool {
        self.lines[line] == LineFate::Open
    }

    pub(super) fn decided(&self, line: usize) -> bool {
        matches!(self.lines[line], LineFate::Decided(_))
    }

    /// The power may fail here.
    pub(super) fn may_fail(&self) -> bool {
        !self.lines.contains(&LineFate::Open)
    }

    /// Nothing is left to decide: whatever comes only narrows what may be.
    pub(super) fn all_decided(&self) -> bool {
        (0..self.lines.len()).all(|line| self.decided(line))
    }

    /// Another version of the line appears, and is not the survivor.
    pub(super) fn store(&mut self, line: usize) {
        match &mut self.lines[line] {
            LineFate::Decided(survivor) => survivor.stale = true,
            fate => *fate = LineFate::Open,
        }
    }

    /// Would a write-back of the line now lose its survivor?
    pub(super) fn stale(&self, line: usize) -> bool {
        matches!(self.lines[line], LineFate::Decided(survivor) if survivor.stale)
    }

    /// A write-back of the line as it is now is on its way.
    pub(super) fn pend(&mut self, line: usize, group: FlushGroups) {
        if let LineFate::Decided(survivor) = &mut self.lines[line]
            && survivor.stale
        {
            survivor.outdated_by |= group;
        }
    }

    /// Would making these write-backs effective lose a survivor?
    pub(super) fn outdated_by(&self, groups: FlushGroups) -> bool {
        self.lines.iter().any(|fate| {
            matches!(fate, LineFate::Decided(survivor) if survivor.outdated_by & groups != 0)
        })
    }

    /// Forgets what can no longer matter: write-backs without a fence to come, staleness without a flush to come.
    pub(super) fn forget(&mut self, groups: FlushGroups, flushed_again: impl Fn(usize) -> bool) {
        for (line, fate) in self.lines.iter_mut().enumerate() {
            if let LineFate::Decided(survivor) = fate {
                survivor.outdated_by &= groups;
                survivor.stale &= flushed_again(line);
            }
        }
    }

    /// What recovery reads if the power fails here.
    pub(super) fn outcome(&self, lines: &DurableLines, memory: &[Value]) -> Outcome {
        let contents: SmallVec<[ContentId; 4]> = self
            .lines
            .iter()
            .enumerate()
            .map(|(line, fate)| match fate {
                LineFate::Decided(survivor) => survivor.content,
                LineFate::Untouched | LineFate::Open => lines.newest(line, memory),
            })
            .collect();
        let interner = lines.contents.borrow();
        lines
            .places
            .iter()
            .map(|&(line, position)| interner.contents[contents[line] as usize][position])
            .collect()
    }
}
