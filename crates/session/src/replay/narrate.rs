//! A bug as a story: what each execution did to persistent memory, what the power failure left, what recovery made of it.

use crate::diagnose::finding::{failing_place, origin, what};
use crate::diagnose::provenance::{ReadProvenance, StoreSource, readings};
use crate::names::{ProgramNames, address};
use crate::programs::{Failure, LoggedRun, Replayer};
use landfall_finding::text::bytes;
use landfall_finding::text::plain;
use landfall_finding::{Place, Turn, Witness};
use landfall_model::line::{Addr, Line};
use landfall_model::log::Version;
use landfall_native::{Record, RecordKind};
use std::collections::HashMap;
use std::fmt::Write;

#[derive(Debug)]
pub(crate) struct Narration<'a> {
    pub(crate) witness: &'a Witness,
    pub(crate) failures: &'a [Failure],
    pub(crate) runs: &'a [LoggedRun],
    pub(crate) replayer: &'a Replayer,
    pub(crate) everything: bool,
}

/// Lines told of one execution, unless everything is asked for.
const MOST_TOLD: usize = 120;
/// Stores listed per line that is not as new as it could be.
const MOST_LOST: usize = 8;

impl Narration<'_> {
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        let finding = &self.witness.finding;
        let (severity, kind) = (finding.severity, finding.kind);
        let _ = writeln!(out, "{severity}[{kind}]: {}", plain(&finding.message));
        for number in 0..self.runs.len() {
            self.execution(number, &mut out);
            match self.failures.get(number) {
                Some(failure) if number + 1 < self.runs.len() => {
                    self.power_failure(number, failure, &mut out);
                }
                _ => {}
            }
        }
        if self.runs.len() == self.failures.len() + 1 {
            self.end(&mut out);
        }
        out
    }

    fn command(&self, number: usize) -> String {
        let built = match (&self.witness.recover, number) {
            (Some(recover), 1..) => recover,
            _ => &self.witness.program,
        };
        let words = std::iter::once(&built.path).chain(&built.arguments);
        let words = words.map(|word| plain(&word.os().to_string_lossy()));
        words.collect::<Vec<_>>().join(" ")
    }

    fn execution(&self, number: usize, out: &mut String) {
        let run = &self.runs[number];
        let role = if number == 0 { "" } else { ", recovery" };
        let _ = writeln!(
            out,
            "\nexecution {}{role}: {}",
            number + 1,
            self.command(number)
        );
        let readings: HashMap<usize, ReadProvenance> =
            readings(&self.runs[..=number], &self.failures[..number])
                .into_iter()
                .map(|reading| (reading.event, reading))
                .collect();
        let failure = self.failures.get(number).filter(|f| run.can_suffer(f));
        let until = failure.map_or(run.execution.events.len(), |f| run.events_before(f.cut));
        let interesting = self.interesting(number);
        let mut told: Vec<usize> = Vec::new();
        let mut pending = false;
        for (at, event) in run.execution.events[..until].iter().enumerate() {
            let about = || {
                interesting
                    .binary_search(&Addr(event.offset).line())
                    .is_ok()
            };
            let tell = match event.kind {
                RecordKind::Read => number > 0,
                RecordKind::Store => about(),
                RecordKind::Clflush | RecordKind::Clflushopt | RecordKind::Clwb => {
                    pending |= about();
                    about()
                }
                RecordKind::Sfence | RecordKind::Mfence | RecordKind::CasFailed => {
                    std::mem::take(&mut pending)
                }
                _ => false,
            };
            pending |= event.kind == RecordKind::Store && tell && event.is_non_temporal();
            let told_always =
                self.everything && !event.kind.is_aside() && event.kind != RecordKind::Lfence;
            if tell || told_always {
                told.push(at);
            }
        }
        let skip = match self.everything {
            true => 0,
            false => told.len().saturating_sub(MOST_TOLD),
        };
        let between = |from: usize, to: usize| {
            let events = run.execution.events[from..to].iter();
            events.filter(|event| !event.kind.is_aside()).count()
        };
        let mut next = 0;
        for &at in &told[skip..] {
            elided(between(next, at), out);
            // The pieces of one copy are told together.
            if run.copy(at).is_none_or(|copy| copy.first == at) {
                let event = &run.execution.events[at];
                let text = self.event(number, at, event, readings.get(&at));
                let _ = writeln!(out, "{text}");
            }
            next = at + 1;
        }
        let turns = finding_turns(self.witness, number);
        // Of threads the steps are told; records of them would only be counted.
        if turns.is_empty() {
            elided(between(next.min(until), until), out);
        }
        for turn in turns {
            for deed in &turn.deeds {
                let at = deed.at.as_deref().unwrap_or_default();
                let at = if at.is_empty() {
                    String::new()
                } else {
                    format!(", {at}")
                };
                let _ = writeln!(
                    out,
                    "  {:>9}  {}{}",
                    plain(&turn.thread),
                    plain(&deed.text),
                    plain(&at)
                );
            }
        }
    }

    /// Lines that later executions read; of the last execution, all it stores to.
    fn interesting(&self, number: usize) -> Vec<Line> {
        let later = &self.runs[number + 1..];
        let read =
            |event: &Record| (event.kind == RecordKind::Read).then(|| Addr(event.offset).line());
        let events = later.iter().flat_map(|run| &run.execution.events);
        let mut lines: Vec<Line> = match later.is_empty() {
            true => self.runs[number].log.lines().collect(),
            false => events.filter_map(read).collect(),
        };
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    fn event(
        &self,
        number: usize,
        at: usize,
        event: &Record,
        reading: Option<&ReadProvenance>,
    ) -> String {
        let names = self.replayer.names(number);
        let place = place(event, names);
        let (offset, length) = event.bytes();
        let value = event.value >> (8 * (offset & 7));
        let size = bytes(length.into());
        let text = match event.kind {
            RecordKind::Store => {
                let flags = match event.flag_names().collect::<Vec<_>>().join(" ").as_str() {
                    "" => String::new(),
                    flags => format!(" ({flags})"),
                };
                match self.runs[number].copy(at) {
                    Some(copy) => {
                        let size = bytes(copy.length);
                        format!("copies {size} to {}{flags}", address(copy.offset))
                    }
                    None => format!("stores {value:#x} to {} ({size}){flags}", address(offset)),
                }
            }
            RecordKind::Read => format!("reads  {value:#x} from {} ({size})", address(offset)),
            RecordKind::Clflush | RecordKind::Clflushopt | RecordKind::Clwb => {
                let name = format!("{:?}", event.kind).to_lowercase();
                format!("{name} of the line at {}", address(event.offset & !63))
            }
            RecordKind::Sfence => "sfence".to_owned(),
            RecordKind::Mfence => "mfence".to_owned(),
            RecordKind::CasFailed => "a failed compare-and-swap, which fences".to_owned(),
            other => format!("{other:?}").to_lowercase(),
        };
        let mut line = format!("  {:>6}  {text}{place}", self.runs[number].number(at));
        if let Some(reading) = reading {
            let sources: Vec<String> = (reading.from.iter())
                .map(|&source| self.from(source))
                .collect();
            let _ = write!(line, "\n            {}", sources.join("; "));
            let shift = 8 * reading.read.mask.trailing_zeros();
            for &(value, source) in &reading.others {
                let _ = write!(
                    line,
                    "\n            could have been {:#x}: {}",
                    value >> shift,
                    self.from(source)
                );
            }
        }
        line
    }

    fn from(&self, source: StoreSource) -> String {
        let origin = origin(source, self.runs, self.replayer);
        match (source, origin.execution) {
            (StoreSource::Store { run, entry }, Some(_)) => {
                let number = self.runs[run].number(self.runs[run].event_of(entry));
                format!(
                    "{} (event {number} of execution {})",
                    origin.words(),
                    run + 1
                )
            }
            _ => origin.words(),
        }
    }

    fn power_failure(&self, number: usize, failure: &Failure, out: &mut String) {
        let run = &self.runs[number];
        let _ = writeln!(
            out,
            "\nthe power fails. Of what execution {} stored:",
            number + 1
        );
        let mut lines = self.interesting(number);
        lines.retain(|&line| run.log.newest(line, failure.cut) > Version(0));
        for line in lines {
            let (kept, newest) = (
                run.survivor(failure, line),
                run.log.newest(line, failure.cut),
            );
            let at = address(line.start().0);
            let known = run.log.frontier(line, failure.cut);
            let stores = match run.log.stores_in(line, newest).len() {
                1 => "its 1 store".to_owned(),
                n => format!("all {n} stores"),
            };
            if kept == newest {
                let sure = match known == newest {
                    true => "written back",
                    false => "by luck: nothing made sure",
                };
                let _ = writeln!(out, "  line {at}: {stores} survived ({sure})");
                continue;
            }
            let _ = writeln!(
                out,
                "  line {at}: {} of {} stores survived; lost:",
                run.log.stores_in(line, kept).len(),
                run.log.stores_in(line, newest).len()
            );
            self.lost(number, line, (kept, newest), out);
        }
    }

    /// The stores of a line from one version to another; a copy counts as one.
    fn lost(&self, number: usize, line: Line, between: (Version, Version), out: &mut String) {
        let run = &self.runs[number];
        let kept = run.log.stores_in(line, between.0);
        let lost = run.log.stores_in(line, between.1).into_iter();
        let mut events: Vec<usize> = lost
            .filter(|store| kept.binary_search(store).is_err())
            .map(|entry| run.event_of(entry))
            .map(|event| run.copy(event).map_or(event, |copy| copy.first))
            .collect();
        events.dedup();
        for &event in events.iter().take(MOST_LOST) {
            let (start, length) = run.extent(event);
            let _ = writeln!(
                out,
                "      {} at {}{} (event {})",
                bytes(length),
                address(start),
                place(&run.execution.events[event], self.replayer.names(number)),
                run.number(event)
            );
        }
        if events.len() > MOST_LOST {
            let _ = writeln!(out, "      … and {} more", events.len() - MOST_LOST);
        }
    }

    fn end(&self, out: &mut String) {
        let Some(last) = self.runs.last() else {
            return;
        };
        let (execution, names) = (&last.execution, self.replayer.names(self.failures.len()));
        let at = failing_place(execution, names);
        let at = at.map_or_else(String::new, |at| format!(" at {}", at.colons()));
        let outcome = plain(&what(&execution.outcome, names));
        let _ = writeln!(out, "  it ends{at}: {outcome}");
        for frame in names.frames(&execution.stack) {
            let _ = writeln!(out, "      {} at {}", frame.function, frame.colons());
        }
        for (name, text) in [("stdout", &execution.stdout), ("stderr", &execution.stderr)] {
            if !text.is_empty() {
                let _ = writeln!(out, "\nits {name}:");
                for line in String::from_utf8_lossy(text).lines() {
                    let _ = writeln!(out, "  {}", plain(line));
                }
            }
        }
        let _ = writeln!(out);
    }
}

/// How the threads of an execution took turns, where the finding says so: of the first one, if there are several.
fn finding_turns(witness: &Witness, number: usize) -> &[Turn] {
    match (&witness.finding.schedule, number) {
        (Some(turns), 0) => turns,
        _ => &[],
    }
}

fn elided(count: usize, out: &mut String) {
    match count {
        0 => {}
        1 => out.push_str("          … 1 event\n"),
        n => {
            let _ = writeln!(out, "          … {n} events");
        }
    }
}

fn place(event: &Record, names: &ProgramNames) -> String {
    let Some(at) = names.place(event) else {
        return String::new();
    };
    let Place { function, .. } = &at;
    match names.library(event) {
        Some(library) => format!(", {library} called at {} in {function}", at.colons()),
        None => format!(", {} in {function}", at.colons()),
    }
}
