//! Every image that power failures in a trace can leave, without looking at what the recovery reads: Yat's way, for comparison.

use super::chain::ChainState;
use super::power::{Walker, path};
use crate::recovery::SearchError;
use crate::subject::{Job, RunDetail, Subject};
use landfall_model::line::Line;
use std::sync::Arc;

impl Walker<'_> {
    /// Runs the recovery on every image.
    pub(super) fn every_image(&mut self, subject: &mut impl Subject) -> Result<(), SearchError> {
        let state = ChainState::new(&self.traced.crashes);
        let mut todo = vec![(state.lines(&self.on()), state)];
        while let Some((mut open, state)) = todo.pop() {
            let Some(line) = open.pop() else {
                let later = self.run_on_image(subject, &state)?;
                todo.extend(later);
                continue;
            };
            let Some(candidates) = state.candidates(&self.on(), line) else {
                todo.push((open, state));
                continue;
            };
            for candidate in candidates.iter() {
                let chosen = vec![candidate.clone()];
                if let Some(state) = state.narrowed(&self.on(), line, chosen) {
                    todo.push((open.clone(), state));
                }
            }
        }
        Ok(())
    }

    /// One image. If the recovery is cut, too: what that leaves, with the lines to choose.
    fn run_on_image(
        &mut self,
        subject: &mut impl Subject,
        state: &ChainState,
    ) -> Result<Vec<(Vec<Line>, ChainState)>, SearchError> {
        let level = state.level();
        let cut_too = level < self.power.failures;
        let overrides = state.image(&self.on());
        let untold = std::mem::take(&mut self.power.untold);
        let execution = subject.run(&Job {
            image: &self.power.base,
            changed: &untold,
            overrides: &overrides,
            failures: level,
            wanted: if cut_too {
                RunDetail::Events
            } else {
                RunDetail::Reads
            },
        })?;
        let run = self.power.runs;
        self.power.runs += 1;
        self.power.uncut += u32::from(execution.is_left_uncut());
        self.meet(state, path(&execution.reads), run, execution.ended);
        let mut later = Vec::new();
        if cut_too && !execution.shortened {
            let log = Arc::new(execution.log(self.power.platform));
            for cut in log.sufficient_cuts() {
                let state = state.crash(&log, cut);
                later.push((state.lines(&self.on()), state));
            }
        }
        Ok(later)
    }
}
