//! The toy as the checkers see it.

use super::Toy;
use landfall_check::event::{Action, Atomicity, Event as Judging, Fence, How};
use landfall_explore::subject::{Ended, Event, Execution, Job, Subject, SubjectError, Wanted};
use landfall_model::order::Platform;
use std::rc::Rc;

/// The same events for the checkers, and their log.
pub fn judging(events: &[Event], platform: Platform) -> landfall_check::Execution {
    let of = |event: &Event| match *event {
        Event::Store(piece) => Some((piece, How::Cached)),
        Event::NtStore(piece) => Some((piece, How::NonTemporal)),
        Event::DurableStore(piece) => Some((piece, How::AtOnce)),
        _ => None,
    };
    let judged = events.iter().zip(0..).map(|(event, site)| {
        let action = match (event, of(event)) {
            (_, Some((piece, how))) => Action::Store {
                piece,
                how,
                atomic: Atomicity::Plain,
            },
            (Event::Clflush(line), _) => Action::Clflush(*line),
            (Event::ClflushOpt(line), _) => Action::Clwb(*line),
            (Event::Read(read), _) => Action::FirstRead {
                word: read.read.word,
                mask: read.read.mask,
            },
            // Learns of nothing.
            (Event::Mark(_), _) => Action::Observe { event: u32::MAX },
            _ => Action::Fence(Fence::Full),
        };
        Judging {
            thread: 0,
            site,
            action,
        }
    });
    let execution = Execution::new(events.to_vec(), Ended::Well);
    let (log, origins) = execution.log_with_origins(platform);
    landfall_check::Execution::new(judged.collect(), &log, &origins, platform)
}

/// Tells the checkers what it did.
pub struct Crashing {
    pub toy: Toy,
    pub platform: Platform,
}

impl Subject for Crashing {
    fn run(&mut self, job: &Job<'_>) -> Result<Execution, SubjectError> {
        let mut execution = self.toy.run(job)?;
        if job.wanted == Wanted::Events {
            execution.judged = Some(Rc::new(judging(&execution.events, self.platform)));
        }
        Ok(execution)
    }
}
