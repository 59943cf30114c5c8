//! A finding, ready to be shown.

use super::story::{Gap, Story, gap};
use super::table::Table;
use super::ways::Ways;
use crate::heap;
use crate::names::{Names, Place, address};
use crate::provenance::{Reading, Source, readings};
use crate::run::describe;
use crate::scene::{Act, Failure, Stage};
use landfall_model::line::LINE_BYTES;
use landfall_model::log::Cut;
use landfall_native::members::Member;
use landfall_native::{Execution, HeapError, Op, Outcome, Position};
use serde_json::{Value, json};
use std::collections::HashSet;

#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) at: Option<Place>,
    /// Bytes of the whole store or copy.
    pub(crate) bytes: u64,
    /// Where in persistent memory.
    pub(crate) offset: u64,
    /// Innermost first; empty unless the execution was run with stacks.
    pub(crate) stack: Vec<Place>,
    /// What it stores to, by the program's debug information; only of what is listed.
    pub(crate) member: Option<Member>,
}

/// Why nothing made the lost store durable in time.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Why {
    pub(crate) gap: GapKind,
    /// The flush that is too late, not fenced, or of another line.
    pub(crate) flush: Option<Place>,
    /// What kind of flush.
    pub(crate) how: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum GapKind {
    NeverFlushed,
    FlushedLate,
    NotFenced,
    OtherLine,
    Streamed,
    /// Parts of one copy.
    Torn,
}

/// A read that could have returned something else.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) at: Option<Place>,
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    pub(crate) value: u64,
    pub(crate) from: Origin,
    pub(crate) others: Vec<(u64, Origin)>,
}

/// Where a value comes from, in words and as a place.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) at: Option<Place>,
    /// The execution that stored it; none for memory as it was at the beginning.
    pub(crate) execution: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, clap::ValueEnum)]
pub(crate) enum Severity {
    Perf,
    Warning,
    Error,
}

impl Severity {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Severity::Perf => "perf",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) id: String,
    pub(crate) kind: &'static str,
    pub(crate) severity: Severity,
    pub(crate) message: String,
    pub(crate) at: Option<Place>,
    /// None if it fails without any power failure.
    pub(crate) crash_at: Option<Place>,
    /// Power failures before it.
    pub(crate) failures: usize,
    pub(crate) kept: Option<Stored>,
    pub(crate) lost: Option<Stored>,
    /// Other stores that the same missing flush loses.
    pub(crate) also_lost: Vec<Stored>,
    pub(crate) why: Option<Why>,
    /// A store that may be found half done.
    pub(crate) racing: Option<Stored>,
    /// Of a data race, the access that came first.
    pub(crate) other: Option<Place>,
    /// Where several threads ran: in which of them to mend it.
    pub(crate) ways: Option<Ways>,
    /// Other ways to mend it, for scripts.
    pub(crate) alternatives: Vec<Value>,
    /// Of the failing execution, innermost first.
    pub(crate) stack: Vec<Place>,
    /// How its threads took turns, if there were several.
    pub(crate) schedule: Option<Table>,
    /// How often one was preempted there.
    pub(crate) preemptions: Option<Preemptions>,
    pub(crate) notes: Vec<String>,
    pub(crate) choices: Vec<Choice>,
    pub(crate) executions: u64,
    /// How sure, and how plain.
    pub(crate) told: Told,
    /// What went wrong, whoever it happened to.
    pub(crate) end: Option<String>,
    /// How other recoveries end for the same reason.
    pub(crate) other_ends: Vec<OtherEnd>,
    heard: Heard,
    /// What to type to see it again.
    pub(crate) replay: Option<String>,
    pub(crate) witness: Option<String>,
    /// For the report.
    pub(crate) timeline: Option<landfall_report::Timeline>,
    /// What the failing execution printed.
    pub(crate) output: String,
}

/// How much was done about a finding before it was told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    /// Run from scratch, and made as plain as it can be.
    Whole,
    /// There was no time to make it plainer.
    AsFound,
    /// There was no time to run it again.
    Once,
}

impl Told {
    pub(crate) fn note(self) -> Option<&'static str> {
        match self {
            Told::Whole => None,
            Told::AsFound => Some(
                "not minimised: the search was ended before a plainer way to it was looked for",
            ),
            Told::Once => Some(
                "not minimised, and not run again from scratch: the search was ended before that",
            ),
        }
    }
}

/// What is among `other_ends` and `also_lost`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    messages: HashSet<String>,
    lost: HashSet<Option<Place>>,
}

/// Another end for the same reason.
#[derive(Clone, Debug)]
pub(crate) struct OtherEnd {
    /// Of the finding that would be made of it.
    message: String,
    end: Option<String>,
}

impl OtherEnd {
    /// What went wrong there.
    pub(crate) fn what(&self) -> &str {
        self.end.as_ref().unwrap_or(&self.message)
    }
}

/// How often a schedule preempts a thread that could have gone on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Preemptions {
    pub(crate) count: u32,
    /// No schedule with fewer shows the same.
    pub(crate) fewest: bool,
}

const SIGBUS: i32 = 7;
const SIGSEGV: i32 = 11;

/// INTERFACE.md's name for a bad end.
pub(crate) fn kind(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Assertion { .. } => "assertion",
        // A bad access of memory; other signals say that the program cannot go on.
        Outcome::Signal {
            signal: SIGSEGV | SIGBUS,
            ..
        }
        | Outcome::StackOverflow { .. } => "segfault",
        Outcome::Signal { .. } => "abort",
        Outcome::Exited { .. } => "exit",
        Outcome::Hang { .. }
        | Outcome::Exhausted { .. }
        | Outcome::Stuck { .. }
        | Outcome::Wedged => "hang",
        Outcome::Deadlock { .. } => "deadlock",
        Outcome::Heap { error, .. } => match error {
            HeapError::ReadAfterFree | HeapError::WriteAfterFree => "use-after-free",
            HeapError::DoubleFree | HeapError::InvalidFree => "double-free",
            HeapError::ReadOutside | HeapError::WriteOutside => "heap-overflow",
        },
        Outcome::Limit => "hang",
        Outcome::Asleep | Outcome::Strayed => "uncontrolled",
        // The program asked for what cannot be controlled: its fault or ours, but no crash bug.
        Outcome::Thread { .. } | Outcome::Forbidden { .. } | Outcome::Internal { .. } => {
            "uncontrolled"
        }
        Outcome::Abort
        | Outcome::Terminate { .. }
        | Outcome::NoFunction { .. }
        | Outcome::Died { .. } => "abort",
    }
}

/// Where an assertion says that it is.
pub(crate) fn said_place(outcome: &Outcome) -> Option<Place> {
    let Outcome::Assertion {
        file,
        line,
        function,
        ..
    } = outcome
    else {
        return None;
    };
    Some(Place::new(&Position {
        file: file.clone(),
        line: *line,
        column: 0,
        function: function.clone(),
    }))
}

/// Where an execution went wrong.
pub(crate) fn failing_place(execution: &Execution, names: &Names) -> Option<Place> {
    let frames = names.frames(&execution.stack);
    if let Some(said) = said_place(&execution.outcome) {
        // The call of `__assert_fail` knows the column and the plain name of the function.
        let exact = frames.into_iter().find(|frame| frame.same_line(&said));
        return Some(exact.unwrap_or(said));
    }
    if let Outcome::Hang {
        site: Some(site), ..
    }
    | Outcome::Exhausted {
        site: Some(site), ..
    }
    | Outcome::Heap {
        site: Some(site), ..
    } = execution.outcome
        && let Some(at) = names.site(site).filter(|at| at.line > 0)
    {
        return Some(at);
    }
    if let Outcome::Signal { pc, .. } = execution.outcome
        && let Some(at) = names.symbols.return_address(pc + 1)
        && at.line > 0
    {
        return Some(Place::new(&at));
    }
    frames.into_iter().next()
}

/// What went wrong, in a few words.
pub(crate) fn what(outcome: &Outcome, names: &Names) -> String {
    match outcome {
        Outcome::Assertion { expression, .. } => format!("`{expression}` is false"),
        Outcome::Signal {
            signal, address, ..
        } => match *signal {
            SIGSEGV => format!("segmentation fault at address {address:#x}"),
            SIGBUS => format!("bus error at address {address:#x}"),
            signal => match crate::run::signal_name(signal) {
                Some(name) => name.to_owned(),
                None => describe(outcome, &names.symbols),
            },
        },
        outcome => describe(outcome, &names.symbols),
    }
}

impl Finding {
    /// With nothing but a message.
    pub(crate) fn of(kind: &'static str, severity: Severity, message: String) -> Finding {
        Finding {
            id: String::new(),
            kind,
            severity,
            message,
            at: None,
            crash_at: None,
            failures: 0,
            kept: None,
            lost: None,
            also_lost: Vec::new(),
            why: None,
            racing: None,
            other: None,
            ways: None,
            alternatives: Vec::new(),
            stack: Vec::new(),
            schedule: None,
            preemptions: None,
            notes: Vec::new(),
            choices: Vec::new(),
            executions: 1,
            told: Told::Whole,
            end: None,
            other_ends: Vec::new(),
            heard: Heard::default(),
            replay: None,
            witness: None,
            timeline: None,
            output: String::new(),
        }
    }

    /// About the last of these executions, which follow each other through these failures.
    pub(crate) fn new(
        acts: &[Act],
        failures: &[Failure],
        story: Option<&Story>,
        stage: &Stage,
    ) -> Option<Finding> {
        let mut finding = Finding::cause(acts, failures, story, stage)?;
        let failed = &acts.last()?.execution;
        let readings = readings(acts, failures);
        let after = failures.len();
        let notes = pointer_note(failed, &readings, acts, stage, after);
        finding.notes.extend(notes);
        (finding.notes).extend(heap::notes(&failed.outcome, stage.names(after)));
        finding.choices = readings
            .iter()
            .filter(|reading| !reading.others.is_empty())
            .map(|reading| choice(reading, acts, stage, after))
            .collect();
        Some(finding)
    }

    /// The same without what recovery could have read instead: enough to tell causes apart, and much less work.
    pub(crate) fn cause(
        acts: &[Act],
        failures: &[Failure],
        story: Option<&Story>,
        stage: &Stage,
    ) -> Option<Finding> {
        let failed = &acts.last()?.execution;
        let names = stage.names(failures.len());
        let stored = |entry: Option<Cut>| stored(acts, story?.act, entry?, stage);
        let what = what(&failed.outcome, names);
        let message = match failures.len() {
            0 => format!("the program fails without any power failure: {what}"),
            _ => format!("recovery fails: {what}"),
        };
        Some(Finding {
            at: failing_place(failed, names),
            crash_at: story.and_then(|story| stored(story.last)?.at),
            failures: failures.len(),
            kept: story.and_then(|story| stored(story.kept)),
            lost: story.and_then(|story| stored(story.lost)),
            why: story.and_then(|story| why(acts, story, stage)),
            stack: names.frames(&failed.stack),
            end: Some(what),
            ..Finding::of(kind(&failed.outcome), Severity::Error, message)
        })
    }

    /// Is it a failure for the loss of a store at this place?
    pub(crate) fn loses_at(&self, at: &Place) -> bool {
        let mut lost = self.lost.iter().chain(&self.also_lost);
        self.severity == Severity::Error && lost.any(|lost| lost.at.as_ref() == Some(at))
    }

    /// Is it about the loss of this store, or of its neighbour on the line? The flush that is missing there mends this, too.
    pub(crate) fn loses(&self, racing: Option<&Stored>) -> bool {
        let Some((racing, at)) = racing.and_then(|racing| Some((racing, racing.at.as_ref()?)))
        else {
            return false;
        };
        let line = |stored: &Stored| stored.offset / LINE_BYTES as u64;
        let mut lost = self.lost.iter().chain(&self.also_lost);
        lost.any(|lost| {
            lost.at.as_ref().is_some_and(|lost_at| {
                let beside = lost_at.function == at.function && line(lost) == line(racing);
                lost_at.same_line(at) || beside
            })
        })
    }

    /// One more execution that shows it. Returns how many stores that were not known to be lost come with it, at the end of `also_lost`.
    pub(crate) fn count(&mut self, again: &Finding) -> usize {
        self.executions += again.executions;
        if again.message != self.message && self.heard.messages.insert(again.message.clone()) {
            self.other_ends.push(OtherEnd {
                message: again.message.clone(),
                end: again.end.clone(),
            });
        }
        let before = self.also_lost.len();
        for lost in again.lost.iter().chain(&again.also_lost) {
            let mine = self.lost.as_ref().is_some_and(|mine| mine.at == lost.at);
            if !mine && self.heard.lost.insert(lost.at.clone()) {
                self.also_lost.push(lost.clone());
            }
        }
        self.also_lost.len() - before
    }

    pub(crate) fn json(&self) -> Value {
        let place = |at: &Option<Place>| at.as_ref().map(Place::json);
        let places = |stack: &[Place]| stack.iter().map(Place::json).collect::<Vec<_>>();
        let store = |role: &str, stored: &Stored| {
            json!({
                "role": role, "at": place(&stored.at), "bytes": stored.bytes,
                "address": address(stored.offset), "stack": places(&stored.stack),
                "member": stored.member.as_ref().map(|member| json!({
                    "struct": member.of, "name": member.name, "offset": member.offset,
                })),
            })
        };
        let lost = self.lost.iter().chain(&self.also_lost);
        let stores: Vec<Value> = lost
            .map(|lost| store("lost", lost))
            .chain(self.kept.iter().map(|kept| store("kept", kept)))
            .chain(self.racing.iter().map(|racing| store("racing", racing)))
            .collect();
        let others: Vec<&String> = self.other_ends.iter().map(|other| &other.message).collect();
        let mut finding = json!({
            "id": self.id, "kind": self.kind, "severity": self.severity.name(), "message": self.message,
            "at": place(&self.at), "stack": places(&self.stack), "crash_at": place(&self.crash_at),
            "failures": self.failures, "stores": stores, "fix": self.fix(), "notes": self.notes,
            "reads": self.choices.iter().map(Choice::json).collect::<Vec<_>>(),
            "executions": self.executions, "other_messages": others, "witness": self.witness,
            "minimised": self.told == Told::Whole,
        });
        if let Some(schedule) = &self.schedule {
            finding["schedule"] = schedule.json();
        }
        if let Some(Preemptions { count, fewest }) = self.preemptions {
            finding["preemptions"] = json!({"count": count, "fewest": fewest});
        }
        finding
    }

    /// Part of a copy was lost and another part of it kept.
    pub(crate) fn is_torn(&self) -> bool {
        self.why
            .as_ref()
            .is_some_and(|why| why.gap == GapKind::Torn)
    }

    /// What run.json says beyond the witness, for the report.
    pub(crate) fn tell_more(&self, object: &mut Value) {
        if let Some(timeline) = &self.timeline {
            object["timeline"] = json!(timeline);
        }
        if let Some(replay) = &self.replay {
            object["replay"] = json!(replay);
        }
        if !self.output.is_empty() {
            object["output"] = json!(self.output);
        }
    }

    fn fix(&self) -> Vec<Value> {
        let place = |at: &Option<Place>| at.as_ref().map(Place::json);
        if let Some(racing) = &self.racing {
            return vec![json!({
                "action": "atomic", "after": place(&racing.at), "bytes": racing.bytes, "primary": true,
            })];
        }
        let (Some(lost), Some(kept)) = (&self.lost, &self.kept) else {
            return Vec::new();
        };
        if self.is_torn() {
            return vec![json!({
                "action": "separate-store", "after": place(&lost.at), "bytes": lost.bytes, "primary": true,
            })];
        }
        if let Some(ways) = &self.ways {
            let mut fixes = ways.json(lost.bytes);
            fixes.extend(self.alternatives.iter().cloned());
            return fixes;
        }
        let fence = self.why.as_ref().filter(|why| why.only_fence());
        let (action, after) = match fence {
            Some(Why {
                flush: Some(flush), ..
            }) => ("fence", Some(flush.json())),
            Some(_) => ("fence", place(&lost.at)),
            None => ("flush+fence", place(&lost.at)),
        };
        let mut fixes = vec![json!({
            "action": action, "after": after, "before": place(&kept.at), "bytes": lost.bytes, "primary": true,
        })];
        fixes.extend(self.alternatives.iter().cloned());
        fixes
    }
}

impl Why {
    /// The flush is there, or not needed: a fence is all that is missing.
    pub(crate) fn only_fence(&self) -> bool {
        matches!(self.gap, GapKind::NotFenced | GapKind::Streamed)
    }
}

impl Choice {
    pub(crate) fn json(&self) -> Value {
        let origin = |origin: &Origin| {
            json!({
                "at": origin.at.as_ref().map(Place::json), "execution": origin.execution.map(|act| act + 1),
            })
        };
        let other = |(value, from): &(u64, Origin)| json!({"value": format!("{value:#x}"), "from": origin(from)});
        json!({
            "at": self.at.as_ref().map(Place::json), "address": address(self.offset), "bytes": self.bytes,
            "value": format!("{:#x}", self.value), "from": origin(&self.from),
            "others": self.others.iter().map(other).collect::<Vec<_>>(),
        })
    }
}

pub(crate) fn stored(acts: &[Act], act: usize, entry: Cut, stage: &Stage) -> Option<Stored> {
    let names = stage.names(act);
    let crashed = acts.get(act)?;
    let event = crashed.event(entry);
    let (offset, bytes) = crashed.extent(crashed.event_of(entry));
    let stack = match crashed.execution.stacks.is_empty() {
        true => Vec::new(),
        false => names.stack_at(&crashed.execution, crashed.event_of(entry)),
    };
    Some(Stored {
        at: names.place(event),
        bytes,
        offset,
        stack,
        member: None,
    })
}

fn why(acts: &[Act], story: &Story, stage: &Stage) -> Option<Why> {
    let act = acts.get(story.act)?;
    let (gap, flush) = match gap(act, story.lost?, story.kept) {
        Gap::NeverFlushed => (GapKind::NeverFlushed, None),
        Gap::FlushedLate { flush } => (GapKind::FlushedLate, Some(flush)),
        Gap::NotFenced { flush } => (GapKind::NotFenced, Some(flush)),
        Gap::OtherLine { flush } => (GapKind::OtherLine, Some(flush)),
        Gap::Streamed => (GapKind::Streamed, None),
        Gap::Torn => (GapKind::Torn, None),
    };
    let event = flush.and_then(|flush| act.execution.events.get(flush));
    let how = match event.map(|event| event.op) {
        Some(Op::Clwb) => "clwb",
        Some(Op::Clflushopt) => "clflushopt",
        _ => "flush",
    };
    let flush = event.and_then(|event| stage.names(story.act).place(event));
    Some(Why { gap, flush, how })
}

fn choice(reading: &Reading, acts: &[Act], stage: &Stage, last: usize) -> Choice {
    let event = &acts[last].execution.events[reading.event];
    let shift = 8 * reading.read.mask.trailing_zeros();
    let newest = reading.from.iter().max_by_key(|source| match source {
        Source::Beginning => (0, 0),
        Source::Store { act, entry } => (act + 1, entry.0),
    });
    Choice {
        at: stage.names(last).place(event),
        offset: reading.read.word.0 + u64::from(shift / 8),
        bytes: reading.read.mask.count_ones(),
        value: reading.value >> shift,
        from: origin(newest.copied().unwrap_or(Source::Beginning), acts, stage),
        others: reading
            .others
            .iter()
            .map(|&(value, source)| (value >> shift, origin(source, acts, stage)))
            .collect(),
    }
}

pub(crate) fn origin(source: Source, acts: &[Act], stage: &Stage) -> Origin {
    match source {
        Source::Beginning => Origin {
            at: None,
            execution: None,
        },
        Source::Store { act, entry } => Origin {
            at: stage.names(act).place(acts[act].event(entry)),
            execution: Some(act),
        },
    }
}

/// Near enough for a field of what a pointer points to.
const OBJECT: u64 = 4096;

/// The value in persistent memory that a wild access went through.
fn pointer_note(
    failed: &Execution,
    readings: &[Reading],
    acts: &[Act],
    stage: &Stage,
    last: usize,
) -> Option<String> {
    let Outcome::Signal {
        signal: SIGSEGV,
        address: wild,
        ..
    } = failed.outcome
    else {
        return None;
    };
    let leads =
        |reading: &&Reading| reading.read.mask == 0xff && wild.wrapping_sub(reading.value) < OBJECT;
    let reading = readings.iter().rev().find(leads)?;
    let choice = choice(reading, acts, stage, last);
    let at = choice.at.as_ref().map_or_else(
        || "uninstrumented code".to_owned(),
        |at| format!("line {}", at.line),
    );
    let from = match (&choice.from.execution, &choice.from.at) {
        (None, _) => "which is what memory held at the beginning".to_owned(),
        (Some(_), Some(at)) => format!("stored at {}", at.colons()),
        (Some(_), None) => "stored by a library".to_owned(),
    };
    Some(format!(
        "the address comes from the pointer {:#x} read at {at} from {}, {from}",
        choice.value,
        address(choice.offset)
    ))
}
