//! What runs tell of signals that arrive at any time: which are sent, and which words of memory their handlers touch. A search that did not know it
//! starts over.

use super::word;
use crate::job::KnownSignals;
use landfall_vocab::record::{Traced, access};
use landfall_vocab::shared::{MOST_SIGNALS, signal_number, timer};
use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub(in super::super) struct LearnedSignals {
    /// What the program was told.
    pub(in super::super) known: Option<Arc<KnownSignals>>,
    /// There is a timer that repeats.
    pub(in super::super) repeats: bool,
    /// A timer that repeats might have gone off once more than is asked for.
    pub(in super::super) spent: bool,
    /// What came in addition.
    more: KnownSignals,
}

impl LearnedSignals {
    pub(super) fn say(&mut self, record: &Traced<'_>) {
        let told = word(record, 0);
        if record.flags & (access::READ | access::WRITE) == 0 {
            self.repeats |= told == timer::REPEATS;
            self.spent |= told == timer::SPENT;
            return;
        }
        if record.flags & access::READ != 0 && record.flags & access::WRITE != 0 {
            let known = self.known.as_ref().map_or(0, |known| known.main_blocks);
            self.more.main_blocks |= told & !known;
            return;
        }
        let (more, known) = match record.flags & access::WRITE != 0 {
            true => (
                &mut self.more.sent,
                self.known.as_ref().map(|known| &known.sent),
            ),
            false => (
                &mut self.more.touched,
                self.known.as_ref().map(|known| &known.touched),
            ),
        };
        if !more.contains(&told) && !known.is_some_and(|known| known.contains(&told)) {
            more.push(told);
        }
    }

    /// Was all of it known?
    pub(in super::super) fn is_known(&self) -> bool {
        self.more == KnownSignals::default()
    }

    /// All that is known now.
    pub(in super::super) fn with(&self, known: &KnownSignals) -> KnownSignals {
        let mut all = known.clone();
        // What the main thread may block is for whoever takes it; if it was sent to the main thread itself, that is learned again.
        let blocked = |number: &u64| {
            let signals =
                (1..=MOST_SIGNALS).filter(|signal| self.more.main_blocks >> (signal - 1) & 1 != 0);
            { signals }.any(|signal| signal_number(Some(0), signal) as u64 == *number)
        };
        all.sent.extend(&self.more.sent);
        all.sent.retain(|number| !blocked(number));
        all.touched.extend(&self.more.touched);
        all.main_blocks |= self.more.main_blocks;
        all
    }
}
