//! What a recovery reads and must not rely on: bytes that nobody ever wrote, and pointers into memory that went with the run that
//! stored them. Whether it relies on them is tried: it runs again with something else there.

use crate::diagnose::cause::Overtaking;
use crate::diagnose::diagnosis::{Diagnosis, internal};
use crate::diagnose::finding::{self, what};
use crate::diagnose::provenance::{StoreSource, first_reads, readings};
use crate::error::Error;
use crate::names::ProgramNames;
use crate::programs::{Failure, LoggedRun, Replayer, RunRole};
use crate::report::SearchReport;
use landfall_explore::recovery::Behaviour;
use landfall_explore::subject::Read;
use landfall_finding::{Finding, Kind, Place, Severity};
use landfall_model::image::Image;
use landfall_model::line::Addr;
use landfall_native::compiler::is_ours;
use landfall_native::{Execution, Outcome, RecordKind, SubjectError, goes_with_the_run, volatile};
use std::collections::HashMap;

/// Words that are tried: whoever has more of one kind has read enough.
const MOST_TRIED: usize = 64;
/// Recoveries that are looked through.
const MOST_LOOKED_AT: usize = 20_000;
/// No memory is there, so whoever follows it is known by the fault. The lowest bits are those of the pointer it stands for.
const NOWHERE: u64 = 0x6c61_0000_0000;
/// So far from a pointer what it points to may lie.
const NEAR: u64 = 1 << 30;

/// Why a value says nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Doubt {
    /// Nobody wrote these bytes.
    Unwritten,
    /// An address of a run that is over.
    OfAnotherRun,
}

/// What was tried, and what came of it.
#[derive(Debug, Default)]
pub(crate) struct Doubts {
    tried: HashMap<(Doubt, Addr), bool>,
    looked_at: usize,
}

impl Doubts {
    /// Is there a read among these that a recovery relies on and must not? Then it is told, and nothing else of this behaviour.
    pub(crate) fn explain(
        &mut self,
        bugs: &mut Diagnosis<'_>,
        (first, behaviour): (&LoggedRun, &Behaviour),
        reads: impl FnOnce(&Behaviour) -> Option<Vec<Read>>,
        report: &mut SearchReport,
    ) -> Result<bool, Error> {
        if self.looked_at >= MOST_LOOKED_AT || bugs.late().is_some() {
            return Ok(false);
        }
        self.looked_at += 1;
        let reads = reads(behaviour).unwrap_or_default();
        let failures = &behaviour.crashes.unpacked()[..];
        let fresh = first.found.fresh();
        let mut found = false;
        for (number, read) in reads.iter().enumerate() {
            let bytes = (read.value.to_le_bytes().into_iter().enumerate())
                .filter(|(i, _)| read.read.mask & (1 << i) != 0);
            let line = read.read.line();
            let doubt = if fresh.is_garbage(line)
                && bytes.clone().all(|(_, byte)| byte == fresh.byte)
                && is_unwritten(first, failures, read)
            {
                Doubt::Unwritten
            } else if read.read.mask == 0xff && volatile(read.value).is_some() {
                Doubt::OfAnotherRun
            } else {
                continue;
            };
            let key = (doubt, read.read.word);
            let tried = match self.tried.get(&key) {
                Some(&tried) => tried,
                None if self.tried.len() >= MOST_TRIED => continue,
                None => {
                    let relied = bugs.relies_on(failures, read, doubt)?;
                    self.tried.insert(key, relied);
                    if relied {
                        bugs.tell_doubt(failures, (number, read), doubt, report)?;
                    }
                    relied
                }
            };
            // Code and variables lie at the same addresses in every run of ours: what fails with a store lost fails for that.
            let elsewhere = doubt == Doubt::OfAnotherRun && !goes_with_the_run(read.value);
            let lost = failures.iter().any(|failure| !failure.old.is_empty());
            found |= tried && !(elsewhere && lost);
        }
        Ok(found)
    }
}

/// Did nothing before the power failure store to these bytes?
fn is_unwritten(first: &LoggedRun, failures: &[Failure], read: &Read) -> bool {
    let [failure] = failures else { return false };
    let newest = first.log.newest(read.read.line(), failure.cut);
    let bytes = (0..8).filter(|i| read.read.mask & (1 << i) != 0);
    let mut stored = bytes.filter_map(|i| {
        let byte = Addr(read.read.word.0 + i);
        first.log.last_store_to(byte, newest)
    });
    stored.next().is_none()
}

/// The image with another value in place of what was read.
fn changed(mut image: Image, read: &Read, value: u64) -> Image {
    for (i, byte) in value.to_le_bytes().into_iter().enumerate() {
        if read.read.mask & (1 << i) != 0 {
            image.write(Addr(read.read.word.0 + i as u64), &[byte]);
        }
    }
    image
}

/// What an execution did, without the values.
fn way(execution: &Execution) -> impl Iterator<Item = (RecordKind, u32, u64, u8)> + '_ {
    let events = execution.events.iter();
    events.map(|event| (event.kind, event.origin.site, event.offset, event.mask))
}

impl Diagnosis<'_> {
    /// Does a recovery go another way with another value there?
    fn relies_on(
        &mut self,
        failures: &[Failure],
        read: &Read,
        doubt: Doubt,
    ) -> Result<bool, Error> {
        let tried = self.try_others(failures, read, doubt);
        match tried {
            Ok(relies) => Ok(relies),
            Err(SubjectError::Stopped) => Ok(false),
            Err(error) => Err(internal(error)),
        }
    }

    fn try_others(
        &mut self,
        failures: &[Failure],
        read: &Read,
        doubt: Doubt,
    ) -> Result<bool, SubjectError> {
        let Ok(replayer) = self.replayer() else {
            return Ok(false);
        };
        let runs = replayer.play(failures, false)?;
        let (Some(before), Some(failure)) = (runs.iter().nth_back(1), failures.last()) else {
            return Ok(false);
        };
        let left = before.left(failure);
        let mut with = |value: u64| {
            let image = changed(left.clone(), read, value);
            replayer.run(image, failures.len(), false, RunRole::Crashes)
        };
        match doubt {
            Doubt::OfAnotherRun => {
                let nowhere = NOWHERE | read.value & 0xfff;
                let run = with(nowhere)?;
                Ok(match run.execution.outcome {
                    Outcome::Signal { address, .. } => address.abs_diff(nowhere) < NEAR,
                    _ => false,
                })
            }
            Doubt::Unwritten => {
                let same = with(read.value)?;
                for value in [0, u64::from_le_bytes([1; 8])] {
                    let other = with(value)?;
                    let outcomes = (&same.execution.outcome, &other.execution.outcome);
                    if outcomes.0 != outcomes.1 || !way(&same.execution).eq(way(&other.execution)) {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }

    fn tell_doubt(
        &mut self,
        failures: &[Failure],
        (number, read): (usize, &Read),
        doubt: Doubt,
        report: &mut SearchReport,
    ) -> Result<(), Error> {
        let (kind, message) = match doubt {
            Doubt::Unwritten => (
                Kind::Uninitialised,
                "recovery decides by bytes that nobody wrote".to_owned(),
            ),
            Doubt::OfAnotherRun => (
                Kind::VolatilePointer,
                format!(
                    "recovery follows a pointer of a run that is over, to {}",
                    volatile(read.value).unwrap_or("its memory")
                ),
            ),
        };
        let story = |runs: &[LoggedRun]| Overtaking::nothing(runs, failures);
        let brief = || {
            let told = Finding::new(kind, Severity::Warning, message.clone());
            (told, None)
        };
        let tell = |told: &mut Finding, runs: &[LoggedRun], replayer: &Replayer| {
            let Some(recovery) = runs.last().map(|run| &run.execution) else {
                return;
            };
            let names = replayer.names(failures.len());
            let failed = !recovery.outcome.is_ok();
            told.kind = kind;
            told.message = message.clone();
            told.severity = match (doubt, failed) {
                (Doubt::Unwritten, false) => Severity::Warning,
                _ => Severity::Error,
            };
            told.notes.clear();
            if failed {
                let at = finding::failing_place(recovery, names);
                let at = at.map_or(String::new(), |at| format!(" at {}", at.colons()));
                let how = what(&recovery.outcome, names);
                told.notes.push(format!("then recovery fails{at}: {how}"));
            }
            told.at = first_reads(recovery)
                .nth(number)
                .and_then(|(event, ..)| in_the_program(recovery, event, names));
            told.notes.extend(match doubt {
                Doubt::Unwritten => allocated(runs, read, replayer),
                Doubt::OfAnotherRun => stored(runs, failures, number, replayer),
            });
            told.fix.clear();
        };
        self.judged(failures, story, report, brief, tell)
    }
}

/// Where the program itself is at an event, not a library that it calls.
fn in_the_program(execution: &Execution, event: usize, names: &ProgramNames) -> Option<Place> {
    let mut frames = names.stack_at(execution, event).into_iter();
    let own = frames.find(|frame| !finding::is_inside(frame));
    own.or_else(|| names.place(&execution.events[event]))
}

/// Where the block of bytes that nobody wrote comes from.
fn allocated(runs: &[LoggedRun], read: &Read, replayer: &Replayer) -> Option<String> {
    let first = runs.first()?;
    let holds = |event: &&landfall_native::Record| {
        event.kind == RecordKind::Alloc
            && (event.offset..event.offset + event.value.max(1)).contains(&read.read.word.0)
    };
    let event = first.execution.events.iter().rev().find(holds)?;
    let at = replayer.names(0).place(event)?;
    Some(format!(
        "they belong to the block of {} bytes that was allocated at {}, which holds whatever was there before: initialise and flush all of it before anything leads to it",
        event.value,
        at.colons()
    ))
}

/// Where the pointer was stored.
fn stored(
    runs: &[LoggedRun],
    failures: &[Failure],
    number: usize,
    replayer: &Replayer,
) -> Option<String> {
    let readings = readings(runs, failures);
    let reading = readings.get(number)?;
    let from = reading.from.first()?;
    let StoreSource::Store { run, entry } = *from else {
        return None;
    };
    let stored_by = runs.get(run)?;
    let (execution, event) = (&stored_by.execution, stored_by.event_of(entry));
    let names = replayer.names(run);
    let at = in_the_program(execution, event, names)?;
    let pointing = match block_at(execution, event, reading.value, names) {
        Some((bytes, at)) => {
            let what = names
                .source_line(&at)
                .filter(|line| line.len() <= MOST_OF_A_LINE);
            let what = what.map_or(String::new(), |line| format!(" (`{line}`)"));
            let bytes = landfall_finding::text::bytes(bytes);
            format!(
                ", pointing to the {bytes} allocated at {}{what}",
                at.colons()
            )
        }
        None => String::new(),
    };
    Some(format!(
        "it was stored at {}{pointing}: keep an offset, or a pointer into persistent memory, or set it anew in each run before it is used",
        at.colons()
    ))
}

/// Of a line of the source, what a note shows.
const MOST_OF_A_LINE: usize = 60;

/// The block of the heap that an address lies in when something happens: how long it is, and where the program asked for it.
fn block_at(
    execution: &Execution,
    event: usize,
    address: u64,
    names: &ProgramNames,
) -> Option<(u64, Place)> {
    let before = execution.events.get(..event)?;
    let at = before.iter().rposition(|record| {
        record.kind == RecordKind::Block
            && (record.value..record.value + record.offset.max(1)).contains(&address)
    })?;
    let stack = names.stack_at(execution, at);
    let own = |frame: &Place| !finding::is_inside(frame) && !is_ours(&frame.file);
    let own = stack.into_iter().find(own)?;
    Some((before[at].offset, own))
}
