//! The toy, whose recoveries the checkers judge.

use super::Toy;
use landfall_explore::subject::{Execution, Job, RunDetail, Subject, SubjectError};
use landfall_model::event::Event;
use landfall_model::order::Platform;
use std::rc::Rc;

/// Events prepared for the checkers, each at a place of its own.
pub fn judging(events: &[Event], platform: Platform) -> landfall_check::Execution {
    let events = (events.iter().zip(0..)).map(|(event, site)| Event { site, ..*event });
    landfall_check::Execution::logged(events.collect(), platform).0
}

/// Tells the checkers what it did.
#[derive(Debug)]
pub struct Crashing {
    pub toy: Toy,
    pub platform: Platform,
}

impl Subject for Crashing {
    fn run(&mut self, job: &Job<'_>) -> Result<Execution, SubjectError> {
        let mut execution = self.toy.run(job)?;
        if job.wanted == RunDetail::Events {
            execution.judged = Some(Rc::new(judging(&execution.events, self.platform)));
        }
        Ok(execution)
    }
}
