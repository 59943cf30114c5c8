//! Runs that were posted before their executions are wanted. They wait in their slots; one whose slot is needed for another is
//! copied out. What is known at the beginning of a search is wanted at its end, so many may wait: as many as memory allows.

use crate::error::SubjectError;
use crate::execution::Outcome;
use crate::job::{Job, WaitPatience};
use crate::server::{RunTold, Server};
use landfall_vocab::shared::SLOTS;

/// Bits of a number that say where its run is kept; the others tell it from those that were there before.
const PLACE: u32 = 12;
const MOST: usize = 1 << PLACE;
/// Bytes of trace that may wait.
const MEMORY: u64 = 4 << 20;

/// What a run reported, where its slot was needed.
#[derive(Clone, Debug)]
pub(super) struct Landed {
    pub(super) outcome: Outcome,
    pub(super) enabled: u64,
    pub(super) trace: Vec<u8>,
    /// What the run said of it; nothing if it was put together without one.
    pub(super) told: Option<RunTold>,
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

impl Flight {
    /// Was it put together without a run?
    pub(super) fn is_put_together(&self) -> bool {
        self.landed.as_ref().is_some_and(|of| of.told.is_none())
    }
}

#[derive(Debug, Default)]
pub(super) struct RunAhead {
    flights: Vec<Option<Flight>>,
    free: Vec<usize>,
    /// Who was posted to a slot last, by number.
    slots: Vec<u32>,
    serial: u32,
}

impl RunAhead {
    /// How many more there may be, where a trace takes so many bytes.
    pub(super) fn room(&self, bytes: u64) -> usize {
        let waiting = self.flights.len() - self.free.len();
        let memory = (MEMORY / bytes.max(1)) as usize;
        memory.min(MOST).saturating_sub(waiting)
    }

    pub(super) fn post(&mut self, server: &mut Server, job: &Job) -> Option<u32> {
        self.clear_the_way(server, job.limits.patience()).ok()?;
        let slot = server.post_ahead(job).ok()??;
        let number = self.add(slot, server.process(), job, None);
        self.slots.resize(SLOTS, u32::MAX);
        self.slots[slot % SLOTS] = number;
        Some(number)
    }

    /// The run that a job asks for is known: nobody need wait for it.
    pub(super) fn keep(&mut self, server: &Server, job: &Job, landed: Landed) -> u32 {
        self.add(usize::MAX, server.process(), job, Some(landed))
    }

    fn add(&mut self, slot: usize, process: u32, job: &Job, landed: Option<Landed>) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.flights.push(None);
            self.flights.len() - 1
        });
        self.serial = (self.serial + 1) % (u32::MAX >> PLACE);
        let number = self.serial << PLACE | place as u32;
        self.flights[place] = Some(Flight {
            number,
            slot,
            process,
            keep: job.threads.keep,
            landed,
        });
        number
    }

    fn flight(&mut self, number: u32) -> Option<&mut Flight> {
        let place = number as usize % MOST;
        let flight = self.flights.get_mut(place)?.as_mut();
        flight.filter(|flight| flight.number == number)
    }

    /// The run of that number; `None` if it is lost, with its server.
    pub(super) fn take(&mut self, number: u32, server: &Server) -> Option<Flight> {
        self.flight(number)?;
        let place = number as usize % MOST;
        let flight = self.flights[place].take()?;
        self.free.push(place);
        (flight.landed.is_some() || flight.process == server.process()).then_some(flight)
    }

    /// What the run of that number reported; it is still there to be taken.
    pub(super) fn look(
        &mut self,
        number: u32,
        server: &mut Server,
        patience: WaitPatience,
    ) -> Result<Option<Landed>, SubjectError> {
        let process = server.process();
        let Some(flight) = self.flight(number) else {
            return Ok(None);
        };
        if flight.landed.is_none() {
            if flight.process != process {
                return Ok(None);
            }
            flight.landed = Some(collect(server, flight.slot, patience)?);
        }
        Ok(flight.landed.clone())
    }

    /// The slots that the next job goes into, and those it is compared with, may hold runs of ours.
    pub(super) fn clear_the_way(
        &mut self,
        server: &mut Server,
        patience: WaitPatience,
    ) -> Result<(), SubjectError> {
        const JOBS: usize = 4;
        let next = server.next_slot();
        for slot in next..next + JOBS {
            let Some(&number) = self.slots.get(slot % SLOTS) else {
                break;
            };
            let process = server.process();
            let Some(flight) = self.flight(number) else {
                continue;
            };
            if flight.landed.is_some() || flight.process != process {
                continue;
            }
            flight.landed = Some(collect(server, flight.slot, patience)?);
        }
        Ok(())
    }

    /// Nobody wants them any more.
    pub(super) fn forget(&mut self, server: &mut Server) {
        let process = server.process();
        let flying = self.flights.drain(..).flatten();
        let flying = flying.filter(|flight| flight.landed.is_none() && flight.process == process);
        server.abandon(flying.map(|flight| flight.slot));
        self.free.clear();
    }
}

/// Copies a run out of its slot.
fn collect(
    server: &mut Server,
    slot: usize,
    patience: WaitPatience,
) -> Result<Landed, SubjectError> {
    let (outcome, enabled, (trace, told)) =
        server.collect_raw(slot, patience, |trace, told| (trace.to_vec(), told))?;
    Ok(Landed {
        outcome,
        enabled,
        trace,
        told: Some(told),
    })
}
