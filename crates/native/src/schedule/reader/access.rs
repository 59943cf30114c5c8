//! Accesses to memory, each to the transition it belongs to.

use super::super::numbers::{is_persistent, place};
use super::sync::operation;
use super::{Open, Reader, word};
use landfall_explore::schedule::{Access, Act, ThreadsError, Trace, Until};
use landfall_vocab::record::{Record, access, step};

impl Reader {
    pub(super) fn access(
        &mut self,
        thread: usize,
        record: &Record<'_>,
        trace: &mut Trace,
    ) -> Result<(), ThreadsError> {
        let site = self.site(record);
        let (place, mask) = place(record.value);
        let object = self.objects.of(place);
        let commits = self.open.is_some_and(|open| open.commits);
        if !commits {
            self.threads[thread].site = site;
        }
        if record.flags & access::BUFFERED != 0 && record.flags & access::WRITE == 0 {
            // A `clwb`, an `sfence`, a `clflush`.
            match record.flags & (access::LOCKED | access::SWAP) {
                access::LOCKED => self.push_order(thread, None, site),
                access::SWAP => self.push_order(thread, Some(object), site),
                _ => self.write_back(thread, object, site, trace),
            }
            return Ok(());
        }
        if record.flags & access::BUFFERED != 0 {
            self.push(thread, record, object, mask, site, trace);
            return Ok(());
        }
        // A fence touches nothing: what comes next is not its doing.
        if self
            .open
            .is_some_and(|open| open.kind == step::ORDER && open.thread == thread && !open.commits)
        {
            self.close(trace)?;
        }
        let open = match self.open.take() {
            Some(open) if open.thread == thread => open,
            other => {
                self.open = other;
                self.trail(
                    thread,
                    record.flags & access::WRITE != 0,
                    object,
                    mask,
                    site,
                    trace,
                );
                if record.flags & access::WRITE != 0 {
                    self.overwrite(thread, object, mask);
                }
                return Ok(());
            }
        };
        if open.kind == step::FUTEX_WAIT && place & landfall_vocab::shared::LOCK == 0 {
            // The word it looks at; what it does to its queue comes next.
            let more = trace.sets.watch(&[(object, mask)]);
            self.open = Some(Open { more, ..open });
            return Ok(());
        }
        if open.commits {
            return self.commit(&open, record, object, mask, trace);
        }
        let mut step = self.skeleton(&open, site);
        step.object = object;
        step.mask = mask;
        step.more = open.more;
        let [found, left, expect] = [0, 1, 2].map(|number| word(record, number));
        if let Some(op) = operation(open.kind) {
            self.synchronise(&open, op, record, &mut step);
            return self.finish(&open, step, trace);
        }
        let writes = record.flags & access::WRITE != 0;
        let locked = record.flags & access::LOCKED != 0;
        (step.found, step.left, step.expect) = (found, left, expect);
        step.plain = record.flags & access::ORDERING == 0 && !locked;
        step.persistent = is_persistent(place);
        if step.persistent && writes {
            self.stored_as.say(&mut step);
        }
        step.access = if writes { Access::Write } else { Access::Read };
        step.act = match (locked, record.flags & access::SWAP != 0, writes) {
            (true, true, _) => Act::Cas,
            (true, false, _) => Act::Rmw,
            (false, _, true) => Act::Store,
            (false, _, false) => Act::Load,
        };
        if open.more != 0 {
            step.until = Until::Changed;
        }
        if step.act == Act::Load {
            step.own = self.own(thread, object, mask);
        }
        if writes {
            self.overwrite(thread, object, mask);
        }
        self.finish(&open, step, trace)
    }
}
