//! Places where hardware transactions begin, and whether one of them ever commits. A processor aborts some for what is in them, each time: whoever
//! tries again only loses time, and whoever does not never takes the path that was to be fast.

use crate::names::ProgramNames;
use crate::report::SearchReport;
use landfall_explore::schedule::{Act, Trace};
use landfall_native::NativeThreads;
use std::collections::BTreeMap;

/// By the place where they begin.
#[derive(Debug, Default)]
pub(super) struct TransactionFates(BTreeMap<u32, TransactionFate>);

#[derive(Debug, Default)]
struct TransactionFate {
    commits: bool,
    /// With which status one was aborted that did not abort itself.
    aborted: Option<u64>,
}

const EXPLICIT: u64 = 1;
const CAPACITY: u64 = 1 << 3;

impl TransactionFates {
    pub(super) fn look(&mut self, trace: &Trace) {
        if !trace.sets.have_transactions() {
            return;
        }
        for step in trace.steps.iter().filter(|s| s.act == Act::Transaction) {
            let fate = self.0.entry(step.site).or_default();
            fate.commits |= step.commits();
            if !step.commits() && step.section != 0 && step.found & EXPLICIT == 0 {
                fate.aborted = Some(step.found);
            }
        }
    }

    /// Says of each place where none commits why that is.
    pub(super) fn report(
        &self,
        native: &NativeThreads<'_>,
        names: &ProgramNames,
        report: &mut SearchReport,
    ) {
        for (site, fate) in self.0.iter().filter(|(_, fate)| !fate.commits) {
            let Some(status) = fate.aborted else { continue };
            let place = names.origin(native.origin(*site));
            let place = place.map_or_else(|| "?".to_owned(), |place| place.colons());
            let why = match status & CAPACITY {
                0 => {
                    "it does what no processor does in a transaction: a write-back, a non-temporal store, a system call, `pause`, or it faults; take that out"
                }
                _ => {
                    "it writes more lines than the cache holds (--htm-cache), or too many of one set; write less"
                }
            };
            report.warn(&format!(
                "the transaction that begins at {place} never commits: {why}"
            ));
        }
    }
}
