//! Endless runs. A recovery that is asked for its first reads alone and fills megabytes of trace with stores and fences is most
//! often one that never ends: what nobody will look at is squeezed out of its trace, so that it costs time and no memory.

use crate::run::shared::trace_len;
use crate::state::run;
use core::sync::atomic::Ordering::Relaxed;
use landfall_vocab::record::{RecordKind, Records, mark};

/// Bytes of trace before it is squeezed for the first time.
pub(crate) const FIRST: u64 = 16 << 20;
/// The end of the trace stays as it is: it shows where the run was last.
const TAIL: u64 = 64 << 10;

/// Keeps reads and what programs say about them, the call stacks of those, and the tail.
pub(crate) fn squeeze() {
    // SAFETY: the trace up to its length was written by this run.
    unsafe {
        let cursor = trace_len();
        let length = cursor.load(Relaxed);
        let trace = run().trace.get();
        let tail = length.saturating_sub(TAIL);
        let mut records = Records::new(core::slice::from_raw_parts(trace, length as usize));
        let (mut from, mut to) = (0, 0);
        // The newest call stack, until something is kept that it belongs to.
        let mut stack: Option<(usize, usize)> = None;
        let mut keep = |from: usize, end: usize| {
            crate::memory::bytes::shift(trace.add(to), trace.add(from), end - from);
            to += end - from;
        };
        while let Some(Ok(record)) = records.next() {
            let end = records.position();
            let matters = match record.kind {
                RecordKind::Store | RecordKind::Run | RecordKind::Fill => false,
                RecordKind::Clflush | RecordKind::Clflushopt | RecordKind::Clwb => false,
                RecordKind::Sfence
                | RecordKind::Mfence
                | RecordKind::Lfence
                | RecordKind::CasFailed => false,
                RecordKind::Mark => !matches!(
                    record.value & 0xff,
                    mark::YIELD | mark::TX_BEGIN..=mark::TX_ADD
                ),
                _ => true,
            };
            if record.kind == RecordKind::Stack {
                stack = Some((from, end));
            } else if matters || from as u64 >= tail {
                if let Some((from, end)) = stack.take() {
                    keep(from, end);
                }
                keep(from, end);
            }
            from = end;
        }
        if let Some((from, end)) = stack.take() {
            keep(from, end);
        }
        cursor.store(to as u64, Relaxed);
        // Its records are not where they were, and some are gone.
        run().aside.set(false);
        (*run().slot.get()).squeezed = 1;
        // A trace full of reads is looked at less and less often.
        run()
            .compact_at
            .set(run().compact_at.get().max(2 * to as u64));
    }
}
