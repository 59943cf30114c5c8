//! From the records of a native trace to the events of the model.

use crate::judge::{Atomics, atomicity};
use landfall_model::event::{Action, Event, Fence, FirstRead, How, Mark, Read};
use landfall_model::line::{Addr, pieces};
use landfall_vocab::record::{Origin, Record, RecordKind};
use landfall_vocab::record::{flag, mark};

/// What a trace says about persistent memory. Addresses are offsets in the persistent window. Nobody asks where things are done.
pub fn translate(records: &[Record]) -> Vec<Event> {
    events(records, Atomics::default(), |_| 0)
}

/// The events of a trace, with the number of the place where each is done.
pub(crate) fn events(
    records: &[Record],
    atomics: Atomics,
    mut site: impl FnMut(Origin) -> u32,
) -> Vec<Event> {
    let mut out = Vec::with_capacity(records.len());
    let mut thread = 0;
    for (at, record) in records.iter().enumerate() {
        if record.kind == RecordKind::Step {
            thread = record.of_thread();
        }
        let mut push = |action| {
            out.push(Event {
                action,
                thread,
                site: site(record.origin),
                record: at as u32,
            });
        };
        let line = || Addr(record.offset).line();
        match record.kind {
            RecordKind::Read => {
                let read = FirstRead {
                    word: Addr(record.offset),
                    mask: record.mask,
                };
                let value = record.value;
                push(Action::Read(Read { read, value }));
            }
            RecordKind::Step => push(Action::Mark(Mark::Step)),
            RecordKind::Mark => {
                let mark = said(record.value).or_else(|| of_transaction(record));
                mark.into_iter().for_each(|mark| push(Action::Mark(mark)));
            }
            RecordKind::Store => {
                let next = records[at + 1..].iter().find(|r| !r.kind.is_aside());
                let goes_on = next.is_some_and(Record::continues_copy);
                if goes_on && !record.continues_copy() {
                    push(Action::Mark(Mark::CopyBegin));
                }
                store(record, atomics, &mut push);
                if !goes_on && record.continues_copy() {
                    push(Action::Mark(Mark::CopyEnd));
                }
            }
            RecordKind::Clflush => push(Action::Clflush(line())),
            RecordKind::Clflushopt | RecordKind::Clwb => push(Action::Clwb(line())),
            RecordKind::Sfence => push(Action::Fence(Fence::Store)),
            RecordKind::Mfence | RecordKind::CasFailed => push(Action::Fence(Fence::Full)),
            RecordKind::Lfence
            | RecordKind::Run
            | RecordKind::Fill
            | RecordKind::Alloc
            | RecordKind::Free
            | RecordKind::Stack
            | RecordKind::Activations
            | RecordKind::Asm
            | RecordKind::Blocked
            | RecordKind::Misuse
            | RecordKind::Access
            | RecordKind::Ended
            | RecordKind::Watched
            | RecordKind::Foreign
            | RecordKind::Block
            | RecordKind::Others
            | RecordKind::Started
            | RecordKind::Identity
            | RecordKind::Unseen => {}
        }
    }
    out
}

/// What a program says about its reads.
pub(crate) fn said(number: u64) -> Option<Mark> {
    Some(match number {
        mark::IGNORE_BEGIN => Mark::IgnoreBegin,
        mark::IGNORE_END => Mark::IgnoreEnd,
        mark::CHECKSUM_BEGIN => Mark::ChecksumBegin,
        mark::CHECKSUM_ACCEPTED => Mark::ChecksumAccepted,
        mark::CHECKSUM_REJECTED => Mark::ChecksumRejected,
        mark::TOGETHER_BEGIN => Mark::TogetherBegin,
        mark::TOGETHER_END => Mark::TogetherEnd,
        _ => return None,
    })
}

/// What a library says about a transaction of the program.
fn of_transaction(record: &Record) -> Option<Mark> {
    Some(match record.value & 0xff {
        mark::TX_BEGIN => Mark::TxBegin,
        mark::TX_END => Mark::TxEnd,
        mark::TX_ADD => Mark::TxAdd {
            addr: Addr(record.offset),
            bytes: record.value >> 8,
        },
        _ => return None,
    })
}

fn store(record: &Record, atomics: Atomics, push: &mut impl FnMut(Action)) {
    let (start, length) = record.bytes();
    let bytes = record.value.to_le_bytes();
    let from = (start - record.offset) as usize;
    let bytes = bytes.get(from..from + length as usize).unwrap_or(&[]);
    // A locked instruction fences on both sides (docs/design/model.md §2).
    let locked = record.flags & flag::LOCKED != 0 && !bytes.is_empty();
    if locked {
        push(Action::Fence(Fence::Full));
    }
    for piece in pieces(Addr(start), bytes) {
        push(Action::Store {
            piece,
            how: how(record),
            atomic: atomicity(record.flags, record.mask, atomics),
        });
    }
    if locked {
        push(Action::Fence(Fence::Full));
    }
}

fn how(record: &Record) -> How {
    if record.flags & flag::DURABLE != 0 {
        How::AtOnce
    } else if record.flags & flag::NON_TEMPORAL != 0 {
        How::NonTemporal
    } else {
        How::Cached
    }
}
