//! Persistency races (docs/design/model.md §8; Gorjiara 2022, figures 5.8 to 5.10): reads of stores that a compiler may have torn.

use crate::checker::{Checker, PathVerdict};
use crate::execution::Execution;
use crate::finding::{Finding, Fix, Kind};
use crate::path::{ByteSource, Candidate, JudgedRead, RecoveryPath};
use crate::region::Region;
use crate::trail::Trail;
use landfall_model::event::{Action, Atomicity, EventId};
use landfall_model::line::Line;
use landfall_model::order::Platform;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Which part of a crashed execution its flushes are looked for in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Window {
    /// The shortest prefix that agrees with what the recovery has read (`E+`): finds races whose own window was never hit.
    #[default]
    Prefix,
    /// What the cut has: the baseline.
    Cut,
}

#[derive(Clone, Debug, Default)]
pub struct Races {
    window: Window,
    /// `CVpre`: how much of each execution has been observed.
    seen: Trail<u32>,
    /// `lastflush`: release stores that were read, by line. Under eADR a line says nothing, and all are under `None`.
    released: FxHashMap<(usize, Option<Line>), Vec<EventId>>,
    undo: Vec<(usize, (usize, Option<Line>))>,
    /// By the place of the store.
    found: FxHashMap<u32, usize>,
    findings: Vec<Finding>,
}

fn key(execution: &Execution, index: usize, line: Line) -> (usize, Option<Line>) {
    match execution.platform() {
        Platform::Adr => (index, Some(line)),
        Platform::Eadr => (index, None),
    }
}

fn is_release(execution: &Execution, event: EventId) -> bool {
    matches!(
        execution.event(event).action,
        Action::Store {
            atomic: Atomicity::Release,
            ..
        }
    )
}

impl Races {
    pub fn new(window: Window) -> Races {
        Races {
            window,
            ..Races::default()
        }
    }

    fn is_race(
        &self,
        path: &RecoveryPath,
        read: &JudgedRead,
        candidate: &Candidate,
        source: &ByteSource,
    ) -> bool {
        let store = &source.store;
        if !store.plain {
            return false;
        }
        let execution = path.execution(source.execution);
        let seen = |thread| {
            let clock = self.seen.get(source.execution, thread);
            clock.copied().unwrap_or(0)
        };
        // The usual case first.
        if self.window == Window::Prefix && store.flushed <= seen(0) {
            return false;
        }
        let line = read.word.line();
        let released = self.released.get(&key(execution, source.execution, line));
        if released
            .into_iter()
            .flatten()
            .any(|&release| execution.happens_before(store.event, release))
        {
            return false;
        }
        match self.window {
            Window::Prefix if execution.threads() == 1 => true,
            Window::Prefix => !execution.flushed_within(store.event, line, seen),
            Window::Cut => {
                let cut = candidate.first_cut(path, source.execution);
                store.version > execution.frontier(line, cut)
            }
        }
    }

    fn report(
        &mut self,
        path: &RecoveryPath,
        read: &JudgedRead,
        candidate: &Candidate,
        source: &ByteSource,
    ) {
        let execution = path.execution(source.execution);
        let event = execution.event(source.store.event);
        let made = execution.made(source.store.event);
        let known = self.found.get(&event.site).copied();
        if let Some(known) = known {
            let finding = &mut self.findings[known];
            finding.times += 1;
            let Kind::PersistencyRace { made: worst, .. } = finding.kind else {
                return;
            };
            if made <= worst {
                return;
            }
        }
        let fix = event.piece().map(|piece| Fix::MakeAtomic {
            addr: piece.addr,
            bytes: piece.bytes().len() as u32,
        });
        let finding = Finding {
            kind: Kind::PersistencyRace {
                store: execution.at(source.execution, source.store.event),
                made,
            },
            fixes: fix.into_iter().collect(),
            evidence: Some(path.evidence(read, Some(candidate))),
            times: known.map_or(1, |known| self.findings[known].times),
        };
        match known {
            // The one that is in pieces is the one to tell.
            Some(known) => self.findings[known] = finding,
            None => {
                self.found.insert(event.site, self.findings.len());
                self.findings.push(finding);
            }
        }
    }
}

impl Checker for Races {
    fn judge(
        &mut self,
        path: &RecoveryPath,
        read: &JudgedRead,
        candidate: &Candidate,
    ) -> PathVerdict {
        if read.region == Region::Judged {
            let racing: SmallVec<[ByteSource; 1]> = candidate
                .sources
                .iter()
                .filter(|source| self.is_race(path, read, candidate, source))
                .copied()
                .collect();
            for source in &racing {
                self.report(path, read, candidate, source);
            }
        }
        PathVerdict::Fits
    }

    fn take(&mut self, path: &RecoveryPath, read: &JudgedRead, candidate: &Candidate) {
        let step = path.steps();
        for source in &candidate.sources {
            let execution = path.execution(source.execution);
            if source.store.at_once {
                continue;
            }
            let event = source.store.event;
            for thread in 0..execution.threads() as u16 {
                let clock = execution.known(event, thread);
                let seen = self.seen.get(source.execution, thread).copied();
                if clock > seen.unwrap_or(0) {
                    self.seen.set(step, source.execution, thread, clock);
                }
            }
            if !source.store.plain && is_release(execution, event) {
                let key = key(execution, source.execution, read.word.line());
                self.released.entry(key).or_default().push(event);
                self.undo.push((step, key));
            }
        }
    }

    fn back(&mut self, to: usize) {
        self.seen.back(to);
        while let Some((_, key)) = self.undo.pop_if(|(step, _)| *step >= to) {
            if let Some(events) = self.released.get_mut(&key) {
                events.pop();
            }
        }
    }

    fn rests_on(&self, execution: u32) -> bool {
        let evidence = self.findings.iter().filter_map(|f| f.evidence.as_ref());
        evidence.into_iter().any(|e| e.execution == execution)
    }

    fn findings(&self) -> Vec<Finding> {
        self.findings.clone()
    }
}
