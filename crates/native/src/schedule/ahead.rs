//! Runs that were posted before their executions are wanted. They wait in their slots; one whose slot is needed for another is
//! copied out.

use crate::error::SubjectError;
use crate::execution::Outcome;
use crate::job::Job;
use crate::server::Server;
use landfall_vocab::shared::SLOTS;

/// Runs ahead, at most; fewer than slots.
const MOST: usize = 64;
/// Bytes of trace that may wait.
const MEMORY: u64 = 4 << 20;

/// What a run reported, where its slot was needed.
#[derive(Debug)]
pub(super) struct Landed {
    pub(super) outcome: Outcome,
    pub(super) enabled: u64,
    pub(super) trace: Vec<u8>,
    pub(super) kept: (u64, u64),
}

#[derive(Debug)]
pub(super) struct Flight {
    number: u32,
    /// Its slot, and the server process it was posted to.
    pub(super) slot: usize,
    process: u32,
    /// The first so many choices it shares with the execution before it.
    pub(super) keep: usize,
    pub(super) landed: Option<Landed>,
}

#[derive(Debug, Default)]
pub(super) struct Ahead {
    flights: Vec<Flight>,
    next: u32,
}

impl Ahead {
    /// How many more there may be, where a trace takes so many bytes.
    pub(super) fn room(&self, bytes: u64) -> usize {
        let most = (MEMORY / bytes.max(1)).min(MOST as u64) as usize;
        most.saturating_sub(self.flights.len())
    }

    pub(super) fn post(&mut self, server: &mut Server, job: &Job) -> Option<u32> {
        self.clear_the_way(server).ok()?;
        let slot = server.post_ahead(job).ok()??;
        self.next = self.next.wrapping_add(1) % u32::MAX;
        self.flights.push(Flight {
            number: self.next,
            slot,
            process: server.process(),
            keep: job.threads.keep,
            landed: None,
        });
        Some(self.next)
    }

    /// The run of that number; `None` if it is lost, with its server.
    pub(super) fn take(&mut self, number: u32, server: &Server) -> Option<Flight> {
        let at = self.flights.iter().rposition(|f| f.number == number)?;
        let flight = self.flights.remove(at);
        (flight.landed.is_some() || flight.process == server.process()).then_some(flight)
    }

    /// The slots that the next job goes into, and those it is compared with, may hold runs of ours.
    pub(super) fn clear_the_way(&mut self, server: &mut Server) -> Result<(), SubjectError> {
        const JOBS: usize = 4;
        let next = server.next_slot();
        for flight in &mut self.flights {
            let ahead = (flight.slot + SLOTS - next % SLOTS) % SLOTS;
            let there = flight.landed.is_none() && flight.process == server.process();
            if !there || ahead >= JOBS {
                continue;
            }
            let (outcome, enabled, (trace, kept)) =
                server.collect_raw(flight.slot, |trace, kept| (trace.to_vec(), kept))?;
            flight.landed = Some(Landed {
                outcome,
                enabled,
                trace,
                kept,
            });
        }
        Ok(())
    }

    /// Nobody wants them any more.
    pub(super) fn forget(&mut self, server: &mut Server) {
        for flight in self.flights.drain(..) {
            if flight.landed.is_none() && flight.process == server.process() {
                let _ = server.collect_raw(flight.slot, |_, _| ());
            }
        }
    }
}
