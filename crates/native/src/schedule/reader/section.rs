//! Critical sections that are single transitions: what was accessed in them is known at their end. One in which something else turned out to be
//! visible is a lock that was taken, like any.

use super::super::numbers::place;
use super::{TraceReader, word};
use landfall_explore::schedule::sync::Op;
use landfall_explore::schedule::{Trace, Trailing};
use landfall_vocab::record::{Traced, access};
use landfall_vocab::shared::LOCK;

impl TraceReader {
    /// The last transition, of this thread, began one.
    pub(super) fn section_begins(&mut self, thread: usize) {
        self.accessed.clear();
        self.threads[thread].section = Some(self.at as u32 - 1);
    }

    /// One ends; or it turns out that those of a lock are no single transitions.
    pub(super) fn section_ends(&mut self, thread: usize, record: &Traced<'_>, trace: &mut Trace) {
        let begun = self.threads[thread].section.take();
        if record.flags == access::NOTHING {
            if let Some(at) = begun.filter(|&at| at as usize >= self.keep) {
                let section = trace.sets.section(&mut self.accessed);
                trace.steps[at as usize].section = section;
            }
            return;
        }
        let (lock, _) = place(word(record, 0) | LOCK);
        let object = self.objects.of(lock);
        if !trace.broken.contains(&object) {
            trace.broken.push(object);
        }
        let Some(at) = begun else { return };
        let left = Op::Lock.left(thread, 0);
        *self.word(object) = left;
        if at as usize >= self.keep {
            let step = &mut trace.steps[at as usize];
            (step.act, step.until) = (Op::Lock.act(), Op::Lock.until(thread));
            step.left = left;
        }
        let inside =
            |access: &&mut Trailing| access.after == at && usize::from(access.thread) == thread;
        for access in trace.trailing.iter_mut().rev().take_while(inside) {
            access.within = false;
        }
    }
}
