//! From the bytes of a trace to events. Everything in shared memory may have been scribbled on: nothing is trusted.

use crate::deadline::{Deadline, Steps};
use landfall_vocab::record::{Record, RecordKind, Records, Traced, flag};

/// Events, stacks, and why reading stopped early, if it did.
pub fn decode(trace: &[u8]) -> (Vec<Record>, Vec<Vec<u64>>, Option<String>) {
    let decoded = decode_most(trace, usize::MAX, Deadline::default());
    (decoded.events, decoded.stacks, decoded.damaged)
}

/// A trace that was read.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    pub(crate) events: Vec<Record>,
    pub(crate) stacks: Vec<Vec<u64>>,
    /// Why reading stopped early, if the trace is to blame.
    pub(crate) damaged: Option<String>,
    /// Events past the most that are kept.
    pub(crate) left_out: u64,
    /// There was no time to read all of it.
    pub(crate) interrupted: bool,
}

/// Reads a trace that may be of an endless run: past `most` events only first reads are kept, and the others counted.
pub(crate) fn decode_most(trace: &[u8], most: usize, until: Deadline) -> Decoded {
    let mut decoded = Decoded {
        events: Vec::with_capacity((trace.len() / 20).min(most)),
        ..Decoded::default()
    };
    let Decoded {
        events,
        stacks,
        left_out,
        ..
    } = &mut decoded;
    let mut steps = Steps::new(until);
    for record in Records::new(trace) {
        if steps.stop() {
            decoded.interrupted = true;
            break;
        }
        match record {
            Ok(record) if events.len() >= most && record.kind != RecordKind::Read => {
                *left_out += 1;
            }
            Ok(record) => push(&record, events, stacks),
            Err(malformed) => {
                let why = format!("at byte {} of the trace: {}", malformed.at, malformed.why);
                decoded.damaged = Some(why);
                break;
            }
        }
    }
    decoded
}

/// A copy or a fill: the events that [`decode`] makes of it, and all of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    pub first: usize,
    pub events: usize,
    pub offset: u64,
    pub length: u64,
}

/// The copies and fills of a trace, in order.
pub fn copies(trace: &[u8]) -> Vec<Copied> {
    let (mut events, mut stacks, mut copies) = (Vec::new(), Vec::new(), Vec::new());
    let mut first = 0;
    for record in Records::new(trace).map_while(Result::ok) {
        events.clear();
        push(&record, &mut events, &mut stacks);
        if matches!(record.kind, RecordKind::Run | RecordKind::Fill) {
            copies.push(Copied {
                first,
                events: events.len(),
                offset: record.offset,
                length: events.iter().map(|e: &Record| u64::from(e.bytes().1)).sum(),
            });
        }
        first += events.len();
    }
    copies
}

fn push(traced: &Traced<'_>, events: &mut Vec<Record>, stacks: &mut Vec<Vec<u64>>) {
    let Traced {
        mut record,
        payload,
    } = *traced;
    match record.kind {
        RecordKind::Run => split(record, payload.len() as u64, |at| payload[at], events),
        // A fill of gigabytes would not fit as stores; beyond this it is a program gone wrong anyway.
        RecordKind::Fill => split(
            record,
            (record.value >> 8).min(1 << 30),
            |_| record.value as u8,
            events,
        ),
        RecordKind::Stack => {
            record.value = stacks.len() as u64;
            let words = payload.chunks_exact(8);
            stacks.push(
                words
                    .map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()))
                    .collect(),
            );
            events.push(record);
        }
        // What it found stands where others have an address.
        RecordKind::Access => {
            let found = payload.first_chunk();
            record.offset = found.map_or(0, |found| u64::from_le_bytes(*found));
            events.push(record);
        }
        _ => events.push(record),
    }
}

/// Stores of at most one aligned word each, in ascending order (docs/design/model.md §3). The non-temporal flag and the like stay.
fn split(whole: Record, length: u64, byte: impl Fn(usize) -> u8, events: &mut Vec<Record>) {
    let (mut at, end) = (whole.offset, whole.offset + length);
    while at < end {
        let word = at & !7;
        let stop = (word + 8).min(end);
        let mut piece = Record {
            kind: RecordKind::Store,
            offset: word,
            mask: 0,
            value: 0,
            ..whole
        };
        for position in at..stop {
            let shift = position - word;
            piece.mask |= 1 << shift;
            piece.value |= u64::from(byte((position - whole.offset) as usize)) << (8 * shift);
        }
        if at == whole.offset {
            piece.flags = first_of_copy(whole.flags);
        }
        events.push(piece);
        at = stop;
    }
}

fn first_of_copy(flags: u8) -> u8 {
    match flags & flag::ORDERING {
        flag::COPIED => flags & !flag::ORDERING,
        _ => flags,
    }
}
