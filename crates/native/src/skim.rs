//! From the bytes of a trace to what the search asks for, in one pass and without a list of events in between.

use crate::covered::Covered;
use crate::deadline::{Deadline, Steps};
use crate::decode::decode_most;
use crate::events::{said, translate};
use landfall_explore::subject::RunDetail;
use landfall_explore::tree::room_for;
use landfall_model::event::{self, FirstRead, Mark, Read};
use landfall_model::line::Addr;
use landfall_vocab::record::{Record, RecordKind, Records, step};

/// What a search keeps of one run.
#[derive(Debug, Default)]
pub(crate) struct Skimmed {
    pub(crate) reads: Vec<Read>,
    pub(crate) marks: Vec<(u32, Mark)>,
    /// All events, if someone judges them: some of them are flushes or fences, or the power may fail among them.
    pub(crate) judged: Vec<Record>,
    /// The power may fail in this run, too.
    pub(crate) cut_too: bool,
    pub(crate) events: Vec<event::Event>,
    /// Events past the most that are kept were left out, but for first reads.
    pub(crate) shortened: bool,
    /// There was no time to read all of it.
    pub(crate) interrupted: bool,
    /// It created a thread.
    pub(crate) threads: bool,
    /// How many records there were.
    pub(crate) records: u64,
}

/// Are recoveries to be judged by what they flush?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FlushesWanted {
    Wanted,
    Unwanted,
}

/// More than this many events of one run are not kept for cutting it: it is a program gone wrong, or far too large for that.
pub(crate) const MOST_EVENTS: usize = 4_000_000;

/// Reads of a trace that may be damaged: what comes before the damage.
pub(crate) fn skim(
    trace: &[u8],
    wanted: RunDetail,
    flushes: FlushesWanted,
    mut covered: Option<&mut Covered>,
    until: Deadline,
) -> Skimmed {
    let mut skimmed = Skimmed {
        reads: Vec::with_capacity(room_for(trace.len() / 24).min(1 << 20)),
        ..Skimmed::default()
    };
    let mut flushing = false;
    let mut steps = Steps::new(until);
    for record in Records::new(trace).map_while(Result::ok) {
        if steps.stop() {
            skimmed.interrupted = true;
            return skimmed;
        }
        skimmed.records += 1;
        match record.kind {
            RecordKind::Clflush
            | RecordKind::Clflushopt
            | RecordKind::Clwb
            | RecordKind::Sfence => flushing = true,
            RecordKind::Mark => {
                let mark = said(record.value).map(|mark| (skimmed.reads.len() as u32, mark));
                skimmed.marks.extend(mark);
            }
            RecordKind::Step if record.flags == step::CREATE => skimmed.threads = true,
            _ => {}
        }
        if record.kind == RecordKind::Read {
            if let Some(covered) = &mut covered {
                covered.record(&record);
            }
            skimmed.reads.push(Read {
                read: FirstRead {
                    word: Addr(record.offset),
                    mask: record.mask,
                },
                value: record.value,
            });
        }
    }
    skimmed.cut_too = wanted == RunDetail::Events;
    let judged = flushes == FlushesWanted::Wanted && (flushing || skimmed.cut_too);
    if skimmed.cut_too || judged {
        let decoded = decode_most(trace, MOST_EVENTS, until);
        skimmed.interrupted = decoded.interrupted;
        let (events, left_out) = (decoded.events, decoded.left_out);
        if skimmed.cut_too {
            skimmed.shortened = left_out > 0;
            skimmed.events = translate(&events);
        }
        if judged {
            skimmed.judged = events;
        }
    }
    skimmed
}
