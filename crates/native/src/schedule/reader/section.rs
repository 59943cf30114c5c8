//! Critical sections that are single transitions: what was accessed in them is known at their end. One in which something else turned out to be
//! visible is a lock that was taken, like any.

use super::super::numbers::place;
use super::sync::operation;
use super::{TraceReader, word};
use landfall_explore::schedule::sync::Op;
use landfall_explore::schedule::{SectionKey, Trace, Trailing};
use landfall_vocab::record::{Traced, access};
use landfall_vocab::shared::LOCK;

impl TraceReader {
    /// The last transition, of this thread, began one.
    pub(super) fn section_begins(&mut self, thread: usize) {
        self.accessed.clear();
        self.signalled = None;
        self.threads[thread].section = Some(self.at as u32 - 1);
    }

    /// One ends; or it turns out that those of a lock are no single transitions.
    pub(super) fn section_ends(&mut self, thread: usize, record: &Traced<'_>, trace: &mut Trace) {
        if record.flags == access::WRITE {
            return self.section_signals(thread, record, trace);
        }
        let begun = self.threads[thread].section.take();
        if record.flags == access::NOTHING {
            if let Some(at) = begun.filter(|&at| at as usize >= self.keep) {
                let step = &mut trace.steps[at as usize];
                if let Some(signalled) = self.signalled {
                    (step.condition, step.found, step.left) = signalled;
                }
                let key = SectionKey::of(step);
                step.section = trace.sets.section(key, &mut self.accessed);
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

    /// In the one that a thread is in a condition is signalled, or its queue is entered.
    fn section_signals(&mut self, thread: usize, record: &Traced<'_>, trace: &mut Trace) {
        let (place, _) = place(word(record, 0));
        let object = self.objects.of(place);
        let Some(op) = operation(word(record, 1) as u8) else {
            return;
        };
        let member = self.member(object, op, thread);
        let held = self.word(object);
        let found = *held;
        *held = op.left(member, found);
        self.signalled = Some((object, found, *held));
        let Some(begun) = self.threads[thread].section else {
            return;
        };
        let lock = trace.steps[begun as usize].object;
        match trace.sets.at_condition(object, lock, op == Op::Wait) {
            Ok(access) => self.accessed.push(access),
            Err(other) => trace.broken.extend([lock, other]),
        }
    }
}
