//! Findings made of executions: what failed, where, which stores it is about, what could have been read instead.

use crate::diagnose::cause::{Missing, Overtaking, missing};
use crate::diagnose::heap;
use crate::diagnose::outcome::{client, describe, signal_name};
use crate::diagnose::provenance::{ReadProvenance, StoreSource, readings};
use crate::names::{ProgramNames, address};
use crate::programs::{Failure, LoggedRun, Replayer};
use landfall_finding::{
    Action, Finding, Fix, Gap, GapKind, Kind, Place, ReadAlternative, ReadChoice, Store, StoreRole,
    ValueSource,
};
use landfall_model::line::LINE_BYTES;
use landfall_model::log::Cut;
use landfall_native::compiler::is_ours;
use landfall_native::compiler::pmdk::library;
use landfall_native::{Execution, HeapError, Outcome, Position, RecordKind, is_inside_pmdk};

const SIGBUS: i32 = 7;
const SIGSEGV: i32 = 11;

/// What kind of finding a bad end is.
pub(crate) fn kind(outcome: &Outcome) -> Kind {
    match outcome {
        Outcome::Assertion { .. } | Outcome::Reached => Kind::Assertion,
        // A bad access of memory; other signals say that the program cannot go on.
        Outcome::Signal {
            signal: SIGSEGV | SIGBUS,
            ..
        }
        | Outcome::StackOverflow { .. } => Kind::Segfault,
        Outcome::Signal { .. } => Kind::Abort,
        Outcome::Exited { .. } => Kind::Exit,
        Outcome::Hang { .. }
        | Outcome::Exhausted { .. }
        | Outcome::Stuck { .. }
        | Outcome::Wedged => Kind::Hang,
        Outcome::Deadlock { .. } => Kind::Deadlock,
        Outcome::SignalUnsafe { .. } => Kind::SignalUnsafe,
        Outcome::Client { .. } => Kind::Client,
        Outcome::Heap { error, .. } => match error {
            HeapError::ReadAfterFree
            | HeapError::WriteAfterFree
            | HeapError::LiveStack
            | HeapError::ReadsDeadFrame
            | HeapError::WritesDeadFrame => Kind::UseAfterFree,
            HeapError::DoubleFree | HeapError::InvalidFree => Kind::DoubleFree,
            HeapError::ReadOutside | HeapError::WriteOutside => Kind::HeapOverflow,
        },
        Outcome::Limit => Kind::Hang,
        Outcome::Asleep | Outcome::InVain | Outcome::Strayed | Outcome::Assumed => {
            Kind::Uncontrolled
        }
        // The program asked for what cannot be controlled: its fault or ours, but no crash bug.
        Outcome::Thread { .. } | Outcome::Forbidden { .. } | Outcome::Internal { .. } => {
            Kind::Uncontrolled
        }
        Outcome::Abort
        | Outcome::Terminate { .. }
        | Outcome::NoFunction { .. }
        | Outcome::Died { .. } => Kind::Abort,
    }
}

/// Where an assertion says that it is, or a client.
pub(crate) fn said_place(outcome: &Outcome, names: &ProgramNames) -> Option<Place> {
    if let Outcome::Client { line, .. } = outcome {
        return names.client_line(*line);
    }
    let Outcome::Assertion {
        file,
        line,
        function,
        ..
    } = outcome
    else {
        return None;
    };
    Some(names.at(&Position {
        file: file.clone(),
        line: *line,
        column: 0,
        function: function.clone(),
    }))
}

/// Where an execution went wrong: the nearest place that is not inside a library.
pub(crate) fn failing_place(execution: &Execution, names: &ProgramNames) -> Option<Place> {
    let at = innermost_place(execution, names)?;
    if !is_inside(&at) {
        return Some(at);
    }
    let mut frames = names.frames(&execution.stack).into_iter();
    let own = frames.find(|frame| !is_inside(frame) && !is_ours(&frame.file));
    Some(own.unwrap_or(at))
}

/// The place, or where the nearest function that is no library's was called from, if it is inside of one.
fn outside_libraries(at: Place, stack: &[Place]) -> Place {
    let own = |frame: &&Place| !is_inside(frame) && !is_ours(&frame.file);
    match is_inside(&at) {
        true => stack.iter().find(own).cloned().unwrap_or(at),
        false => at,
    }
}

/// Is a place of a library's sources?
pub(crate) fn is_inside(at: &Place) -> bool {
    library(&at.file).is_some() || at.file.starts_with("/usr/")
}

/// Where an execution went wrong, in whatever code.
fn innermost_place(execution: &Execution, names: &ProgramNames) -> Option<Place> {
    let mut frames = names.frames(&execution.stack);
    frames.retain(|frame| !is_ours(&frame.file));
    if let Some(said) = said_place(&execution.outcome, names) {
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
        return Some(names.at(&at));
    }
    // Of an access that was announced; who asked for it may have left no frame.
    if let Outcome::Signal {
        site: Some(site), ..
    } = execution.outcome
        && let Some(at) = names.site(site).filter(|at| at.line > 0)
    {
        return Some(at);
    }
    frames.into_iter().next()
}

/// What went wrong, in a few words.
pub(crate) fn what(outcome: &Outcome, names: &ProgramNames) -> String {
    match outcome {
        Outcome::Assertion { expression, .. } => format!("`{expression}` is false"),
        Outcome::Client {
            line,
            why,
            received,
        } => match names.client() {
            Some(script) => client(&format!("`{}`", script.line(*line)), *why, received),
            None => describe(outcome, &names.symbols),
        },
        Outcome::Signal {
            signal, address, ..
        } => match *signal {
            SIGSEGV => format!("segmentation fault at address {address:#x}"),
            SIGBUS => format!("bus error at address {address:#x}"),
            signal => match signal_name(signal) {
                Some(name) => name.to_owned(),
                None => describe(outcome, &names.symbols),
            },
        },
        outcome => describe(outcome, &names.symbols),
    }
}

/// About the last of these executions, which follow each other through these failures.
pub(crate) fn finding(
    runs: &[LoggedRun],
    failures: &[Failure],
    story: Option<&Overtaking>,
    replayer: &Replayer,
) -> Option<Finding> {
    let mut finding = cause(runs, failures, story, replayer)?;
    let failed = &runs.last()?.execution;
    let readings = readings(runs, failures);
    let after = failures.len();
    let names = replayer.names(after);
    if let Some(inside) = innermost_place(failed, names).filter(is_inside) {
        let note = format!(
            "it is in `{}` ({}), called from there",
            inside.function,
            inside.colons()
        );
        finding.notes.push(note);
    }
    let notes = pointer_note(failed, &readings, runs, replayer, after);
    finding.notes.extend(notes);
    (finding.notes).extend(heap::notes(&failed.outcome, replayer.names(after)));
    finding.reads = readings
        .iter()
        .filter(|reading| !reading.others.is_empty())
        .map(|reading| choice(reading, runs, replayer, after))
        .collect();
    Some(finding)
}

/// A finding without what recovery could have read instead: enough to tell causes apart, and much less work.
pub(crate) fn cause(
    runs: &[LoggedRun],
    failures: &[Failure],
    story: Option<&Overtaking>,
    replayer: &Replayer,
) -> Option<Finding> {
    let failed = &runs.last()?.execution;
    let names = replayer.names(failures.len());
    let what = what(&failed.outcome, names);
    let mut finding = Finding::of_failure(kind(&failed.outcome), &what, failures.len());
    finding.at = failing_place(failed, names);
    finding.stack = names.frames(&failed.stack);
    if let Some(story) = story {
        let store = |role, entry: Option<Cut>| stored(role, runs, story.run, entry?, replayer);
        let lost = store(StoreRole::Lost, story.lost);
        let kept = store(StoreRole::Kept, story.kept);
        finding.crash_at = store(StoreRole::Kept, story.last).and_then(|last| last.at);
        finding.stores = lost.into_iter().chain(kept).collect();
        finding.gap = gap(runs, story, replayer);
    }
    Some(finding)
}

/// Is a finding about the loss of this store, or of its neighbour on the line? The flush that is missing there mends this, too.
pub(crate) fn loses(finding: &Finding, racing: Option<&Store>) -> bool {
    let Some((racing, at)) = racing.and_then(|racing| Some((racing, racing.at.as_ref()?))) else {
        return false;
    };
    let line = |stored: &Store| stored.offset / LINE_BYTES as u64;
    finding.stores_that(StoreRole::Lost).any(|lost| {
        lost.at.as_ref().is_some_and(|lost_at| {
            let beside = lost_at.function == at.function && line(lost) == line(racing);
            lost_at.same_line(at) || beside
        })
    })
}

/// What to do about a finding where one thread ran; the best first.
pub(crate) fn fixes(finding: &Finding) -> Vec<Fix> {
    if let Some(racing) = finding.racing() {
        return vec![Fix {
            after: racing.at.clone(),
            bytes: Some(racing.bytes),
            ..Fix::new(Action::Atomic, true)
        }];
    }
    let (Some(lost), Some(kept)) = (finding.lost(), finding.kept()) else {
        return Vec::new();
    };
    if finding.straddles() {
        return vec![Fix {
            after: lost.at.clone(),
            bytes: Some(lost.bytes + kept.bytes),
            ..Fix::new(Action::Align, true)
        }];
    }
    if finding.is_torn() {
        return vec![Fix {
            after: lost.at.clone(),
            bytes: Some(lost.bytes),
            ..Fix::new(Action::SeparateStore, true)
        }];
    }
    let fence = finding.gap.as_ref().filter(|gap| gap.only_fence());
    let (action, after) = match fence {
        Some(Gap {
            flush: Some(flush), ..
        }) => (Action::Fence, Some(flush)),
        Some(_) => (Action::Fence, lost.at.as_ref()),
        None => (Action::FlushFence, lost.at.as_ref()),
    };
    vec![Fix {
        after: after.cloned(),
        before: kept.at.clone(),
        bytes: Some(lost.bytes),
        ..Fix::new(action, true)
    }]
}

/// The store of an entry of a log.
pub(crate) fn stored(
    role: StoreRole,
    runs: &[LoggedRun],
    run: usize,
    entry: Cut,
    replayer: &Replayer,
) -> Option<Store> {
    let names = replayer.names(run);
    let crashed = runs.get(run)?;
    let event = crashed.event(entry);
    let (offset, bytes) = crashed.extent(crashed.event_of(entry));
    let stack = match crashed.execution.stacks.is_empty() {
        true => Vec::new(),
        false => names.stack_at(&crashed.execution, crashed.event_of(entry)),
    };
    let at = names.place(event).map(|at| outside_libraries(at, &stack));
    Some(Store {
        role,
        at,
        bytes,
        address: address(offset),
        offset,
        inside: is_inside_pmdk(event.origin),
        stack,
        member: None,
        thread: None,
    })
}

/// Why nothing made the lost store durable in time.
fn gap(runs: &[LoggedRun], story: &Overtaking, replayer: &Replayer) -> Option<Gap> {
    let run = runs.get(story.run)?;
    let (kind, flush) = match missing(run, story.lost?, story.kept) {
        Missing::NeverFlushed => (GapKind::NeverFlushed, None),
        Missing::FlushedLate { flush } => (GapKind::FlushedLate, Some(flush)),
        Missing::NotFenced { flush } => (GapKind::NotFenced, Some(flush)),
        Missing::OtherLine { flush } => (GapKind::OtherLine, Some(flush)),
        Missing::Streamed => (GapKind::Streamed, None),
        Missing::Torn => (GapKind::Torn, None),
        Missing::Straddles => (GapKind::Straddles, None),
    };
    let event = flush.and_then(|flush| run.execution.events.get(flush));
    let instruction = match event.map(|event| event.kind) {
        Some(RecordKind::Clwb) => "clwb",
        Some(RecordKind::Clflushopt) => "clflushopt",
        _ => "flush",
    };
    let names = replayer.names(story.run);
    let at = event.and_then(|event| names.place(event));
    let stacks = !run.execution.stacks.is_empty();
    let called_from = flush.filter(|_| stacks).and_then(|flush| {
        let lost = names.place(run.event(story.lost?))?;
        let stack = names.stack_at(&run.execution, flush);
        // The nearest caller that is the program's own: what is called there is to be read as one thing.
        let mut callers = stack.into_iter().skip(1);
        let of_program = |frame: &Place| library(&frame.file).is_none();
        let plain = |at: &Place| at.function.split('(').next().map(str::to_owned);
        let helper = |at: &Place| plain(at) != plain(&lost) || at.file != lost.file;
        at.as_ref().filter(|at| helper(at))?;
        callers.find(of_program)
    });
    Some(Gap {
        kind,
        flush: at,
        instruction: instruction.to_owned(),
        called_from,
    })
}

fn choice(
    reading: &ReadProvenance,
    runs: &[LoggedRun],
    replayer: &Replayer,
    last: usize,
) -> ReadChoice {
    let event = &runs[last].execution.events[reading.event];
    let shift = 8 * reading.read.mask.trailing_zeros();
    let newest = reading.from.iter().max_by_key(|source| match source {
        StoreSource::Beginning => (0, 0),
        StoreSource::Store { run, entry } => (run + 1, entry.0),
    });
    ReadChoice {
        at: replayer.names(last).place(event),
        address: address(reading.read.word.0 + u64::from(shift / 8)),
        bytes: reading.read.mask.count_ones(),
        value: format!("{:#x}", reading.value >> shift),
        from: origin(
            newest.copied().unwrap_or(StoreSource::Beginning),
            runs,
            replayer,
        ),
        others: reading
            .others
            .iter()
            .map(|&(value, source)| ReadAlternative {
                value: format!("{:#x}", value >> shift),
                from: origin(source, runs, replayer),
            })
            .collect(),
    }
}

/// Where a value comes from.
pub(crate) fn origin(source: StoreSource, runs: &[LoggedRun], replayer: &Replayer) -> ValueSource {
    match source {
        StoreSource::Beginning => ValueSource {
            at: None,
            execution: None,
        },
        StoreSource::Store { run, entry } => ValueSource {
            at: replayer.names(run).place(runs[run].event(entry)),
            execution: Some(run + 1),
        },
    }
}

/// Near enough for a field of what a pointer points to.
const OBJECT: u64 = 4096;

/// The value in persistent memory that a wild access went through.
fn pointer_note(
    failed: &Execution,
    readings: &[ReadProvenance],
    runs: &[LoggedRun],
    replayer: &Replayer,
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
    let leads = |reading: &&ReadProvenance| {
        reading.read.mask == 0xff && wild.wrapping_sub(reading.value) < OBJECT
    };
    // An access of what is no address at all is reported as one of 0.
    let is_none = |reading: &&ReadProvenance| {
        reading.read.mask == 0xff && wild == 0 && !matches!(reading.value >> 47, 0 | 0x1_ffff)
    };
    let mut newest = readings.iter().rev();
    let reading = (newest.clone().find(is_none)).or_else(|| newest.find(leads))?;
    let choice = choice(reading, runs, replayer, last);
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
        "the address comes from the pointer {} read at {at} from {}, {from}",
        choice.value, choice.address
    ))
}
