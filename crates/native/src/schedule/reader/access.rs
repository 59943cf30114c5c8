//! Accesses to memory, each to the transition it belongs to.

use super::super::numbers::{is_persistent, place};
use super::sync::operation;
use super::{Open, TraceReader, word};
use landfall_explore::schedule::sync::{MOST_READERS, MOST_WAITERS, Op};
use landfall_explore::schedule::{Access, Act, Orders, Process, SourceFence, ThreadsError, Trace};
use landfall_vocab::record::{Traced, access, step};
use landfall_vocab::shared::{BLOCKS, HANDLERS, LOCK, SECTIONS, TRANSACTIONS, UNJUDGED, UNSAID};

/// What an access asks for in the source. Where that says nothing of a locked instruction, it is as strong as can be.
pub(super) fn orders(flags: u8) -> Orders {
    const ACQUIRE: u8 = 4;
    const RELEASE: u8 = 5;
    const BOTH: u8 = 6;
    const SEQ_CST: u8 = 7;
    let ordering = match flags & access::ORDERING {
        0 if flags & access::LOCKED != 0 => SEQ_CST,
        ordering => ordering,
    };
    let writes = flags & access::WRITE != 0;
    // A store alone may be a locked instruction, too.
    let reads = flags & access::READ != 0;
    Orders {
        acquire: reads && matches!(ordering, ACQUIRE | BOTH | SEQ_CST),
        release: writes && matches!(ordering, RELEASE | BOTH | SEQ_CST),
        updates: reads && writes && flags & access::LOCKED != 0,
    }
}

impl TraceReader {
    /// A fence of the source: others may come to know what its thread knew there, so it has a tick of its own.
    fn fence(&mut self, thread: usize, flags: u8, trace: &mut Trace) {
        let known = &mut self.threads[thread];
        known.tick += 1;
        trace.fences.push(SourceFence {
            after: (self.at as u32).wrapping_sub(1),
            trailing: trace.trailing.len() as u32,
            thread: thread as Process,
            tick: known.tick,
            orders: orders(flags | access::READ | access::WRITE),
        });
    }

    /// Memory is handed to a function that nobody knows: as if it touched that.
    pub(super) fn hand_over(&mut self, thread: usize, record: &Traced<'_>, trace: &mut Trace) {
        let site = self.site(record);
        let (place, mask) = place(record.value);
        let object = self.objects.of(place);
        let writes = record.flags & access::WRITE != 0;
        self.trail(thread, (writes, false), object, mask, site, trace);
        if !self.handed.contains(&site) {
            self.handed.push(site);
        }
        let guessed = record.flags & (access::READ | access::WRITE);
        if guessed == access::READ | access::WRITE && !self.guessed.contains(&site) {
            self.guessed.push(site);
        }
    }

    pub(super) fn access(
        &mut self,
        thread: usize,
        record: &Traced<'_>,
        trace: &mut Trace,
    ) -> Result<(), ThreadsError> {
        if record.value == 0 && record.flags & !access::ORDERING == 0 {
            self.close(trace)?;
            self.fence(thread, record.flags, trace);
            return Ok(());
        }
        let site = self.site(record);
        let (place, mask) = place(record.value);
        if place == SECTIONS {
            self.section_ends(thread, record, trace);
            return Ok(());
        }
        if place == UNJUDGED {
            self.close(trace)?;
            self.threads[thread].unjudged = record.flags & access::WRITE != 0;
            return Ok(());
        }
        if place == UNSAID {
            return Ok(());
        }
        if place == HANDLERS {
            self.signals.say(record);
            return Ok(());
        }
        if place == TRANSACTIONS {
            if record.flags != access::NOTHING {
                return self.transaction_begins(thread, record, trace);
            }
            self.transaction_ends(thread, record, trace);
            return Ok(());
        }
        if place == BLOCKS {
            return self.block(thread, record, trace);
        }
        let object = self.objects.of(place);
        if self.buffered && place & LOCK == 0 {
            let stores = record.flags & (access::WRITE | access::LOCKED) == access::WRITE;
            let streams = match record.flags & access::BUFFERED != 0 {
                true => access::stream_of(word(record, 0)).is_some(),
                // Nothing was expected of a store.
                false => word(record, 2) != 0,
            };
            self.touch(thread, object, stores && streams);
        }
        let commits = self.open.is_some_and(|open| open.commits);
        if !commits {
            self.threads[thread].site = site;
        }
        if record.flags & access::BUFFERED != 0 && record.flags & access::WRITE == 0 {
            // A `clwb`, an `sfence`, a `clflush`.
            match record.flags & (access::LOCKED | access::SWAP) {
                access::LOCKED => self.push_order(thread, None, site, trace),
                access::SWAP => self.push_order(thread, Some(object), site, trace),
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
                let ordered = record.flags & (access::ORDERING | access::LOCKED) != 0;
                self.trail(
                    thread,
                    (
                        record.flags & access::WRITE != 0,
                        ordered && self.threads[thread].in_block,
                    ),
                    object,
                    mask,
                    site,
                    trace,
                );
                if record.flags & access::WRITE != 0 {
                    self.transaction_stores(thread, record, (object, mask), site);
                    self.overwrite(thread, object, mask);
                    self.went_past(thread, object);
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
        if open.kind == step::ATTEMPT {
            return self.asks(&open, (object, word(record, 0)), site, trace);
        }
        if open.commits {
            return self.commit(&open, record, object, mask, trace);
        }
        let mut step = self.skeleton(&open, site, trace);
        step.object = object;
        step.mask = mask;
        step.more = open.more;
        let [found, left, expect] = [0, 1, 2].map(|number| word(record, number));
        if let Some(op) = operation(open.kind) {
            self.synchronise(&open, op, record, &mut step);
            if self.crowd {
                return Err(ThreadsError::CannotRun(format!(
                    "more than {MOST_WAITERS} threads wait for one condition, or more than {MOST_READERS} read under one lock: let it create fewer"
                )));
            }
            let joins = step.act == Act::Sync(Op::Section);
            self.finish(&open, step, trace)?;
            if joins {
                self.section_begins(thread);
            }
            return Ok(());
        }
        let writes = record.flags & access::WRITE != 0;
        let locked = record.flags & access::LOCKED != 0;
        (step.found, step.left, step.expect) = (found, left, expect);
        step.plain = record.flags & access::ORDERING == 0 && !locked;
        step.orders = orders(record.flags);
        step.persistent = is_persistent(place);
        if step.persistent && writes {
            self.stored_as.say(&mut step);
        }
        // Nothing was expected of a store.
        step.streams = writes && !locked && expect != 0;
        step.access = if writes { Access::Write } else { Access::Read };
        step.act = match (locked, record.flags & access::SWAP != 0, writes) {
            (true, true, _) => Act::Cas,
            (true, false, _) => Act::Rmw,
            (false, _, true) => Act::Store,
            (false, _, false) => Act::Load,
        };
        if step.act == Act::Load {
            step.own = self.own(thread, object, mask);
        }
        if writes {
            self.overwrite(thread, object, mask);
        }
        self.finish(&open, step, trace)
    }
}
