//! A finding as rows and lanes for the report: what each execution did to persistent memory, what the power failure left of it, and
//! what the recovery made of that. The same story as `landfall replay` tells, with what does not matter left out.

use crate::diagnose::cause::Overtaking;
use crate::diagnose::finding::{failing_place, origin, what};
use crate::diagnose::provenance::{ReadProvenance, StoreSource, readings};
use crate::names::address;
use crate::programs::{Failure, LoggedRun, Replayer};
use crate::sources::SourceTexts;
use crate::view::lanes::{self, Lanes};
use landfall_finding::text::bytes;
use landfall_finding::{Finding, Phase, Row, RowRead, Timeline};
use landfall_model::line::Addr;
use landfall_native::{Record, RecordKind};
use std::collections::{BTreeSet, HashMap};

/// Rows of one execution. What is left out is counted where it would be.
const MOST_ROWS: usize = 48;
/// Reads that could have returned something else are kept before others, up to this many.
const MOST_CHOICES: usize = 16;
/// Other values listed for one read.
const MOST_OTHERS: usize = 4;

/// A native event of one execution of the chain.
type ChainEvent = (usize, usize);

#[derive(Debug)]
pub(crate) struct TimelineBuilder<'a> {
    pub(crate) runs: &'a [LoggedRun],
    pub(crate) failures: &'a [Failure],
    pub(crate) replayer: &'a Replayer,
    pub(crate) story: Option<&'a Overtaking>,
    pub(crate) finding: &'a Finding,
}

impl TimelineBuilder<'_> {
    pub(crate) fn timeline(&self) -> Timeline {
        let lanes = Lanes::choose(self);
        let mut told = TimelineRows::default();
        let mut sources = self.replayer.sources();
        for number in 0..self.runs.len() {
            self.execution(number, &lanes, &mut told, &mut sources);
            if let Some(failure) = self.failures.get(number) {
                told.rows.push(self.power_failure(number, failure));
            }
        }
        self.end(&mut told);
        let threads = (0..=told.rows.iter().map(|row| row.thread).max().unwrap_or(0))
            .map(|thread| match thread {
                0 => "main thread".to_owned(),
                n => format!("thread {n}"),
            })
            .collect();
        Timeline {
            threads,
            lanes: lanes::describe(self, &lanes, &told.numbers, &mut sources),
            rows: told.rows,
        }
    }

    /// The first event of one execution that the story leaves out: all after it came after the power failure.
    fn end_of(&self, number: usize) -> usize {
        let run = &self.runs[number];
        let failure = self.failures.get(number);
        failure.map_or(run.execution.events.len(), |f| run.events_before(f.cut))
    }

    /// The stores that the finding is about.
    fn roles(&self) -> HashMap<ChainEvent, &'static str> {
        let mut roles = HashMap::new();
        if let Some(story) = self.story {
            let run = &self.runs[story.run];
            for (entry, role) in [(story.lost, "lost"), (story.kept, "kept")] {
                if let Some(entry) = entry {
                    roles.insert((story.run, whole(run, run.event_of(entry))), role);
                }
            }
        }
        if let Some(racing) = self.finding.racing() {
            let names = self.replayer.names(0);
            let events = self.runs[0].execution.events[..self.end_of(0)].iter();
            let same = |(at, event): &(usize, &Record)| {
                event.kind == RecordKind::Store
                    && self.runs[0].extent(*at).0 == racing.offset
                    && names.place(event) == racing.at
            };
            if let Some((at, _)) = events.enumerate().filter(same).last() {
                roles.insert((0, whole(&self.runs[0], at)), "lost");
            }
        }
        roles
    }

    fn execution(
        &self,
        number: usize,
        lanes: &Lanes,
        told: &mut TimelineRows,
        sources: &mut SourceTexts,
    ) {
        let run = &self.runs[number];
        let readings: HashMap<usize, ReadProvenance> =
            readings(&self.runs[..=number], &self.failures[..number])
                .into_iter()
                .map(|reading| (reading.event, reading))
                .collect();
        let roles = self.roles();
        let until = self.end_of(number);
        let shown = self.choose(number, lanes, &readings, &roles);
        let phase = match number {
            0 => Phase::Before,
            _ => Phase::Recovery,
        };
        let mut thread = 0;
        let mut next = 0;
        for (at, event) in run.execution.events[..until].iter().enumerate() {
            if matches!(
                event.kind,
                RecordKind::Step | RecordKind::Blocked | RecordKind::Misuse
            ) {
                thread = u32::from(event.of_thread());
            }
            if !shown.contains(&at) {
                continue;
            }
            told.omit(between(run, next, at), phase);
            next = run.copy(at).map_or(at + 1, |copy| at + copy.events);
            let reading = readings.get(&at);
            let (kind, text) = self.event((number, at), reading, sources);
            let names = self.replayer.names(number);
            told.add(
                (number, at),
                Row {
                    phase,
                    thread,
                    kind,
                    text,
                    at: names.place(event),
                    // Why threads take turns is told by the finding's schedule.
                    why: None,
                    role: roles.get(&(number, at)).map(|&role| role.to_owned()),
                    lane: match event.kind {
                        RecordKind::Store
                        | RecordKind::Clflush
                        | RecordKind::Clflushopt
                        | RecordKind::Clwb => lanes.number(number, Addr(event.offset).line()),
                        _ => None,
                    },
                    read: reading.map(|reading| self.read(reading, told)),
                },
            );
        }
        told.omit(between(run, next.min(until), until), phase);
    }

    /// Which events are told: those about lines that matter, the ones with a role first, then the latest.
    fn choose(
        &self,
        number: usize,
        lanes: &Lanes,
        readings: &HashMap<usize, ReadProvenance>,
        roles: &HashMap<ChainEvent, &'static str>,
    ) -> BTreeSet<usize> {
        let run = &self.runs[number];
        let (mut first, mut rest) = (BTreeSet::new(), Vec::new());
        let mut pending = false;
        let mut choices = 0;
        for (at, event) in run.execution.events[..self.end_of(number)]
            .iter()
            .enumerate()
        {
            let about = match number + 1 == self.runs.len() {
                true => true,
                false => lanes.follows(number, Addr(event.offset).line()),
            };
            let tell = match event.kind {
                RecordKind::Read => number > 0,
                // The pieces of one copy are told together.
                RecordKind::Store => about && whole(run, at) == at,
                RecordKind::Clflush | RecordKind::Clflushopt | RecordKind::Clwb => {
                    pending |= about;
                    about
                }
                RecordKind::Sfence | RecordKind::Mfence | RecordKind::CasFailed => {
                    std::mem::take(&mut pending)
                }
                RecordKind::Step | RecordKind::Blocked | RecordKind::Misuse => true,
                _ => false,
            };
            pending |= event.kind == RecordKind::Store && tell && event.is_non_temporal();
            let choice = readings.get(&at).is_some_and(|r| !r.others.is_empty());
            if roles.contains_key(&(number, at)) {
                first.insert(at);
            } else if tell && choice && choices < MOST_CHOICES {
                choices += 1;
                first.insert(at);
            } else if tell {
                rest.push(at);
            }
        }
        let room = MOST_ROWS.saturating_sub(first.len());
        let latest = rest.len().saturating_sub(room);
        first.extend(&rest[latest..]);
        first
    }

    /// A word for what an event does, and the rest of the sentence.
    fn event(
        &self,
        (number, at): ChainEvent,
        reading: Option<&ReadProvenance>,
        sources: &mut SourceTexts,
    ) -> (String, String) {
        let run = &self.runs[number];
        let event = &run.execution.events[at];
        let (offset, length) = event.bytes();
        let size = bytes(length.into());
        let (kind, text) = match event.kind {
            RecordKind::Store => {
                let flags = match event.flag_names().collect::<Vec<_>>().join(" ").as_str() {
                    "" => String::new(),
                    flags => format!(", {flags}"),
                };
                let target = self.replayer.names(number).place(event);
                let target = target.and_then(|at| sources.assigned(&at));
                match (run.copy(at), target) {
                    (Some(copy), _) => {
                        let (size, to) = (bytes(copy.length), address(copy.offset));
                        ("copy", format!("{size} to {to}{flags}"))
                    }
                    (None, Some(target)) => {
                        let (value, to) = (value(event), address(offset));
                        (
                            "store",
                            format!("{target} = {value} ({size} at {to}{flags})"),
                        )
                    }
                    (None, None) => {
                        let (value, to) = (value(event), address(offset));
                        ("store", format!("{value} to {to} ({size}{flags})"))
                    }
                }
            }
            RecordKind::Read => {
                let beginning = reading.is_some_and(|r| r.from == [StoreSource::Beginning]);
                let from = match beginning {
                    true => ", as it was at the beginning",
                    false => "",
                };
                let text = format!("{} from {} ({size}){from}", value(event), address(offset));
                ("read", text)
            }
            RecordKind::Clflush | RecordKind::Clflushopt | RecordKind::Clwb => {
                let name = match event.kind {
                    RecordKind::Clflush => "clflush",
                    RecordKind::Clflushopt => "clflushopt",
                    _ => "clwb",
                };
                (name, format!("line {}", address(event.offset & !63)))
            }
            RecordKind::Sfence => ("sfence", String::new()),
            RecordKind::Mfence => ("mfence", String::new()),
            RecordKind::CasFailed => ("fence", "a compare-and-swap that failed".to_owned()),
            RecordKind::Step | RecordKind::Misuse => (event.step_name(), step(event)),
            RecordKind::Blocked => ("waits", format!("{} {}", event.step_name(), step(event))),
            _ => ("event", format!("{:?}", event.kind).to_lowercase()),
        };
        (kind.to_owned(), text)
    }

    fn read(&self, reading: &ReadProvenance, told: &TimelineRows) -> RowRead {
        let row = |source: &StoreSource| match *source {
            StoreSource::Beginning => None,
            StoreSource::Store { run, entry } => {
                let event = whole(&self.runs[run], self.runs[run].event_of(entry));
                told.numbers.get(&(run, event)).copied()
            }
        };
        let shift = 8 * reading.read.mask.trailing_zeros();
        let other = |&(value, source): &(u64, StoreSource)| {
            let from = origin(source, self.runs, self.replayer).words();
            format!("{}, {from}", number(value >> shift))
        };
        RowRead {
            from: reading.from.iter().filter_map(row).collect(),
            others: reading.others.iter().take(MOST_OTHERS).map(other).collect(),
        }
    }

    fn power_failure(&self, number: usize, failure: &Failure) -> Row {
        let which = match self.failures.len() {
            1 => "The power fails".to_owned(),
            _ => format!("Power failure {}", number + 1),
        };
        let old = match failure.old.len() {
            0 => "every line as new as it can be".to_owned(),
            1 => "one line is older than it could be".to_owned(),
            n => format!("{n} lines are older than they could be"),
        };
        Row {
            phase: Phase::Failure,
            kind: "failure".to_owned(),
            text: format!("{which}: {old}"),
            ..Row::default()
        }
    }

    /// How the last execution ends; or, if it ends well, which of its reads the finding is about.
    fn end(&self, told: &mut TimelineRows) {
        let Some(last) = self.runs.last() else {
            return;
        };
        let failures = self.failures.len();
        let names = self.replayer.names(failures);
        let outcome = &last.execution.outcome;
        let well = outcome.is_ok();
        if well {
            let at = self.finding.at.clone();
            let wrong = told.rows.iter_mut().find(|row| {
                row.phase == Phase::Recovery && row.kind == "read" && row.at == at && at.is_some()
            });
            if let Some(row) = wrong {
                row.role = Some("failed".to_owned());
            }
        }
        told.rows.push(Row {
            phase: match failures {
                0 => Phase::Before,
                _ => Phase::Recovery,
            },
            thread: told.rows.last().map_or(0, |row| row.thread),
            kind: "ends".to_owned(),
            text: match well {
                true => "well: nothing failed, but this could have".to_owned(),
                false => what(outcome, names),
            },
            at: failing_place(&last.execution, names).filter(|_| !well),
            role: (!well).then(|| "failed".to_owned()),
            ..Row::default()
        });
    }
}

/// The rows so far, and which event each tells.
#[derive(Debug, Default)]
struct TimelineRows {
    rows: Vec<Row>,
    numbers: HashMap<ChainEvent, u32>,
}

impl TimelineRows {
    fn add(&mut self, at: ChainEvent, row: Row) {
        self.numbers.insert(at, self.rows.len() as u32);
        self.rows.push(row);
    }

    fn omit(&mut self, events: usize, after: Phase) {
        let text = match events {
            0 => return,
            1 => "1 event that does not matter here".to_owned(),
            n => format!("{n} events that do not matter here"),
        };
        self.rows.push(Row {
            phase: Phase::Omitted,
            kind: match after {
                Phase::Recovery => "recovery".to_owned(),
                _ => "before".to_owned(),
            },
            text,
            ..Row::default()
        });
    }
}

fn step(event: &Record) -> String {
    match event.value {
        0 => String::new(),
        about => number(about),
    }
}

/// The event that stands for the copy or fill that an event is part of.
pub(crate) fn whole(run: &LoggedRun, event: usize) -> usize {
    run.copy(event).map_or(event, |copy| copy.first)
}

fn between(run: &LoggedRun, from: usize, to: usize) -> usize {
    let events = run.execution.events.get(from..to).unwrap_or_default();
    events.iter().filter(|e| !e.kind.is_aside()).count()
}

pub(crate) fn value(event: &Record) -> String {
    number(event.value >> (8 * (event.bytes().0 & 7)))
}

/// Small numbers as people write them, the others as addresses are.
fn number(value: u64) -> String {
    match value {
        0..1_000 => value.to_string(),
        _ => format!("{value:#x}"),
    }
}
