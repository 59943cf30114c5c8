//! From the bytes of a trace to the transitions of an execution; what is known of its beginning is left out.

use super::beginning::Beginning;
use super::reader::TraceReader;
use super::recall::TraceSizes;
use super::recoveries;
use super::sealing::Sealing;
use crate::deadline::{Deadline, Steps};
use landfall_explore::schedule::{ThreadsError, Trace};
use landfall_vocab::record::{RecordKind, Records};

/// Reads the trace of one run.
pub(super) struct TraceReading<'a> {
    pub(super) until: Deadline,
    pub(super) threads: usize,
    /// Transitions that are in the trace already.
    pub(super) keep: usize,
    /// Choices that the run was told to be known.
    pub(super) told: usize,
    pub(super) reader: &'a mut TraceReader,
    pub(super) beginning: &'a mut Beginning,
    pub(super) sealing: &'a mut Option<Sealing>,
    pub(super) reads: &'a mut Option<recoveries::Reads>,
    pub(super) trace: &'a mut Trace,
    /// What was there before each record of a step, and at the end; all is read then, and compared with what is there.
    pub(super) sizes: Option<&'a mut Vec<TraceSizes>>,
}

impl TraceReading<'_> {
    pub(super) fn read(
        &mut self,
        trace: &[u8],
        kept: Option<(u64, u64)>,
    ) -> Result<u64, ThreadsError> {
        let same = self.beginning.go_on(self.told, trace, kept);
        let known = if same && self.sizes.is_none() {
            self.told
        } else {
            0
        };
        self.reader.begin(self.threads, self.keep, known);
        // Who else looks at the records sees all of them.
        let alone = self.reads.is_none() && self.sealing.is_none() && !self.reader.whole;
        let skipped = if alone { known } else { 0 };
        let (choices, from) = self.reader.go_back(skipped, self.trace);
        self.beginning.read_from(choices);
        let bytes = self.beginning.take();
        let read = self.records(&bytes, from, skipped);
        self.beginning.give_back(bytes);
        read.map(|()| trace.len() as u64)
    }

    /// Takes in the records from a byte on. What comes before choice `known` will be known of the next run as well, perhaps.
    fn records(&mut self, bytes: &[u8], from: usize, known: usize) -> Result<(), ThreadsError> {
        let mut records = Records::new(&bytes[from..]);
        let mut steps = Steps::new(self.until);
        loop {
            if steps.stop() {
                return Err(ThreadsError::Stopped);
            }
            let at = from + records.position();
            let Some(record) = records.next() else {
                self.reader.end(self.trace)?;
                self.measure();
                return Ok(());
            };
            let record = record.map_err(|malformed| {
                ThreadsError::CannotRun(format!(
                    "the program damaged its trace: at byte {}, {}",
                    from + malformed.at,
                    malformed.why
                ))
            })?;
            if record.is_choice() && self.beginning.choice(at) == known && known > 0 {
                self.reader.keep_milestone(known, at, self.trace);
            }
            if let Some(reads) = self.reads {
                reads.record(&record);
            }
            if let Some(naming) = &mut self.reader.naming {
                naming.record(&record);
            }
            if let (RecordKind::Stack, 1.., Some(sealing)) =
                (record.kind, record.flags, &mut *self.sealing)
            {
                let sealed = sealing.seals(record.payload);
                self.reader.announced(record.thread.into(), sealed);
                continue;
            }
            if record.kind == RecordKind::Step && self.sizes.is_some() {
                self.reader.close(self.trace)?;
                self.measure();
            }
            self.reader.record(&record, self.trace)?;
        }
    }

    fn measure(&mut self) {
        if let Some(sizes) = &mut self.sizes {
            sizes.push(TraceSizes {
                steps: self.reader.at(),
                trailing: self.trace.trailing.len(),
                fences: self.trace.fences.len(),
                births: self.trace.births.len(),
                failures: self.trace.failures.len(),
            });
        }
    }
}
