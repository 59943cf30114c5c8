//! What a power failure may leave of each observed line, kept as small as the future needs it.
//!
//! A crash leaves one version of each line, no older than its frontier (MODEL.md §1). Which contents those are matters;
//! their order only as far as a pending write-back may still cut it. So a line is a set of contents, each with the
//! pending write-backs that, once a fence makes them effective, rule it out. Many different logs become one state.

use super::compile::FlushGroups;
use super::state::Frontier;
use crate::program::{LineId, Observe, Outcome, Program, Value};
use landfall_model::order::Platform;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cell::RefCell;

/// The observed values of a line at one version, interned.
type ContentId = u32;
type Content = SmallVec<[Value; 4]>;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Version {
    content: ContentId,
    /// Pending write-backs that cover a newer version: each of them rules this one out when it becomes effective.
    outdated_by: FlushGroups,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Durable {
    /// By content; the newest one is never outdated.
    lines: SmallVec<[SmallVec<[Version; 2]>; 2]>,
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
                        outdated_by: 0,
                    }])
                })
                .collect(),
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
        let content = lines.newest(line, memory);
        let versions = &mut self.lines[line];
        match versions.binary_search_by_key(&content, |v| v.content) {
            Ok(at) => versions[at].outdated_by = 0,
            Err(at) => versions.insert(
                at,
                Version {
                    content,
                    outdated_by: 0,
                },
            ),
        }
        if platform == Platform::Eadr && !non_temporal {
            return self.keep_only(line, content);
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
    pub(super) fn pend(
        &mut self,
        lines: &Lines,
        line: LineId,
        memory: &[Value],
        group: FlushGroups,
    ) {
        if let Some(line) = lines.observed_line(line) {
            let newest = lines.newest(line, memory);
            for version in &mut self.lines[line] {
                if version.content != newest {
                    version.outdated_by |= group;
                }
            }
        }
    }

    /// These pending write-backs become effective.
    pub(super) fn drain(&mut self, groups: FlushGroups) -> Frontier {
        let mut frontier = Frontier::Kept;
        for versions in &mut self.lines {
            let before = versions.len();
            versions.retain(|v| v.outdated_by & groups == 0);
            if versions.len() < before {
                frontier = Frontier::Raised;
            }
        }
        frontier
    }

    /// Would draining these groups rule anything out?
    pub(super) fn drains_something(&self, groups: FlushGroups) -> bool {
        let outdated = |v: &Version| v.outdated_by & groups != 0;
        self.lines
            .iter()
            .any(|versions| versions.iter().any(outdated))
    }

    /// Forgets write-backs that no fence is left to make effective.
    pub(super) fn forget(&mut self, alive: FlushGroups) {
        for versions in &mut self.lines {
            for version in versions {
                version.outdated_by &= alive;
            }
        }
    }

    /// Whatever `other` may leave, now or later under the same steps, `self` may leave too.
    pub(super) fn covers(&self, other: &Durable) -> bool {
        self.lines.iter().zip(&other.lines).all(|(mine, theirs)| {
            theirs.iter().all(|their| {
                mine.binary_search_by_key(&their.content, |v| v.content)
                    .is_ok_and(|at| mine[at].outdated_by & !their.outdated_by == 0)
            })
        })
    }

    pub(super) fn single_version(&self, line: usize) -> bool {
        self.lines[line].len() == 1
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
}
