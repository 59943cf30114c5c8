//! Hardware transactions, as people read of them.

use super::schedule::ScheduleNames;
use landfall_explore::schedule::{Step, Trace};

/// The status of a transaction that was aborted, as the source would call it.
fn transaction_status(status: u64) -> String {
    const BITS: [(u64, &str); 6] = [
        (0, "_XABORT_EXPLICIT"),
        (1, "_XABORT_RETRY"),
        (2, "_XABORT_CONFLICT"),
        (3, "_XABORT_CAPACITY"),
        (4, "_XABORT_DEBUG"),
        (5, "_XABORT_NESTED"),
    ];
    let bits = BITS.iter().filter(|(bit, _)| status >> bit & 1 != 0);
    let mut names: Vec<String> = bits.map(|(_, name)| (*name).to_owned()).collect();
    if status & 1 != 0 {
        names.push(format!("code {:#x}", status >> 24));
    }
    match names.is_empty() {
        true => "0".to_owned(),
        false => names.join(" | "),
    }
}

impl ScheduleNames<'_> {
    /// A hardware transaction: how it ended, and what it accessed.
    pub(super) fn transaction(&self, trace: &Trace, step: &Step) -> String {
        const MOST: usize = 4;
        let mut told = match (step.left, transaction_status(step.found)) {
            (1, _) => "a transaction commits".to_owned(),
            (_, status) => format!("a transaction is aborted: _xbegin() returns {status}"),
        };
        for (writes, verb) in [(false, "read"), (true, "wrote")] {
            let accessed = trace.sets.accessed(step.section).iter();
            let mut names: Vec<String> = Vec::new();
            for &(object, mask, _) in accessed.filter(|access| access.2 == writes) {
                let name = self.name(object, mask);
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            let more = names.len().saturating_sub(MOST);
            names.truncate(MOST);
            if more != 0 {
                names.push(format!("{more} more"));
            }
            if !names.is_empty() {
                told += &format!("; {verb} {}", names.join(", "));
            }
        }
        told
    }
}
