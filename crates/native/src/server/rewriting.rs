//! Code of libraries in this server's process that calls the runtime instead of being trapped ([`crate::rewrite`]).

use super::Server;
use crate::deadline::Deadline;
use crate::error::SubjectError;
use crate::job::{Job, Line, WaitPatience};
use crate::rewrite::{Modules, Rewriter, fences};
use landfall_vocab::rewrite::{MOST_TRAPS, Order};
use landfall_vocab::shared::job;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Traps before it pays to start the resident process anew.
const WORTHWHILE: u64 = 64;

#[derive(Debug, Default)]
pub(super) struct Rewriting {
    rewriter: Rewriter,
    /// What was mapped when the process started.
    modules: Option<Modules>,
    /// Traps when we looked last.
    traps: u64,
    /// What runs are trapped at is not rewritten: they are no longer ended for it.
    settled: bool,
}

/// A run that may end because so much was trapped that it is to be rewritten first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    traps: u64,
    /// Instructions that were rewritten before; none where it goes to its end.
    moved: Option<u64>,
}

impl Trial {
    pub(super) fn flags(self) -> u32 {
        self.moved.map_or(0, |_| job::REWRITES)
    }
}

impl Server {
    /// How often code of libraries was trapped, for tests.
    pub fn traps(&self) -> u64 {
        self.shared.control().traps.load(Relaxed)
    }

    pub(super) fn trial(&self) -> Trial {
        let rewriting = &self.rewriting;
        let tried = rewriting.modules.is_some() && !rewriting.settled;
        Trial {
            traps: self.traps(),
            moved: tried.then(|| rewriting.rewriter.moved()),
        }
    }

    /// A run was left. Was that because of its traps? Then it is run again: with what was trapped rewritten or, where nothing was, to its
    /// end.
    pub(super) fn begins_again(&mut self, trial: Trial) -> bool {
        let Some(moved) = trial.moved else {
            return false;
        };
        let again = self.traps() - trial.traps > MOST_TRAPS.into();
        if again {
            // Whoever runs it says it.
            self.rewriting.settled = self.rewrite_what_was_trapped().is_err()
                || self.rewriting.rewriter.moved() == moved;
        }
        again
    }

    /// In a new process: fences of libraries, and what other servers of this program were trapped at.
    pub(super) fn rewrite_what_is_known(&mut self) -> Result<(), SubjectError> {
        let modules = Modules::of(self.child.id(), &self.program.path);
        self.rewriting = Rewriting {
            modules,
            ..Rewriting::default()
        };
        let Some(modules) = &self.rewriting.modules else {
            return Ok(());
        };
        let mut places = fences(modules);
        let known = self.program.trapped.all();
        places.extend(known.iter().filter_map(|place| modules.address(place)));
        self.rewrite(places)
    }

    /// Between two runs: what the last ones were trapped at.
    pub(super) fn rewrite_what_was_trapped(&mut self) -> Result<(), SubjectError> {
        let control = self.shared.control();
        let traps = control.traps.load(Relaxed);
        if traps < self.rewriting.traps + WORTHWHILE || self.in_flight > 0 {
            return Ok(());
        }
        self.rewriting.traps = traps;
        let Some(modules) = &self.rewriting.modules else {
            return Ok(());
        };
        let trapped = control.trapped.iter().map(|place| place.pc.load(Relaxed));
        let mut places: Vec<u64> = trapped.filter(|&pc| pc != 0).collect();
        places.sort_unstable();
        self.program
            .trapped
            .add(places.iter().filter_map(|&pc| modules.place(pc)));
        self.rewrite(places)
    }

    fn rewrite(&mut self, places: Vec<u64>) -> Result<(), SubjectError> {
        let Some(modules) = &self.rewriting.modules else {
            return Ok(());
        };
        let process = self.child.id();
        let entries = self
            .shared
            .control()
            .entries
            .each_ref()
            .map(|at| at.load(Relaxed));
        let orders = self
            .rewriting
            .rewriter
            .rewrite(process, modules, entries, places);
        if orders.is_empty() {
            return Ok(());
        }
        let line = |(offset, order): (u64, Order)| Line {
            offset,
            bytes: order.to_bytes(),
        };
        let lines: Vec<Line> = orders.into_iter().map(line).collect();
        let index = self.post(&Job::default(), &lines, job::REWRITE)?;
        let patience = WaitPatience {
            wall: Duration::from_secs(60),
            until: Deadline::default().later(Duration::MAX),
        };
        self.await_slot(index, patience);
        Ok(())
    }
}
