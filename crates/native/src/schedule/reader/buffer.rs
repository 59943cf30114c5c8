//! Store buffers: what a thread put in, what has left it, and which of its own stores a load sees.

use super::super::numbers::{is_persistent, place};
use super::access::orders;
use super::{Buffered, Open, Reader, word};
use landfall_explore::schedule::{
    Access, Act, Orders, Process, Step, ThreadsError, Trace, WriteBack,
};
use landfall_vocab::record::{Record, access};

impl Reader {
    /// The commit of the thread's newest store to these bytes, if one store covers them.
    pub(super) fn own(&self, thread: usize, object: u32, mask: u64) -> (Process, u32) {
        let own = self.threads[thread].own.iter().rev();
        let newest = own
            .copied()
            .find(|&(line, bytes, _)| line == object && bytes & mask != 0);
        match newest {
            Some((_, bytes, commit)) if mask & !bytes == 0 => commit,
            _ => (0, 0),
        }
    }

    /// It stored past its buffer: its own loads see that through memory.
    pub(super) fn overwrite(&mut self, thread: usize, object: u32, mask: u64) {
        let own = &mut self.threads[thread].own;
        own.retain_mut(|(line, bytes, _)| {
            if *line == object {
                *bytes &= !mask;
            }
            *bytes != 0
        });
    }

    /// A store goes into the buffer.
    pub(super) fn push(
        &mut self,
        thread: usize,
        record: &Record<'_>,
        object: u32,
        mask: u64,
        site: u32,
        trace: &mut Trace,
    ) {
        let visible = record.flags & access::READ == 0;
        if !visible {
            self.trail(thread, true, object, mask, site, trace);
        }
        let plain = record.flags & access::ORDERING == 0;
        let orders = orders(record.flags | access::WRITE);
        self.enter(thread, Some(object), site, (plain, orders), visible);
        let companion = self.companion(thread);
        let known = &mut self.threads[thread];
        known
            .own
            .retain(|&(line, bytes, _)| line != object || bytes & !mask != 0);
        known.own.push((object, mask, (companion, known.pushed)));
    }

    /// A `clflush` of a line, or an `sfence`, goes into the buffer.
    pub(super) fn push_order(&mut self, thread: usize, line: Option<u32>, site: u32) {
        self.enter(thread, line, site, (false, Orders::default()), true);
    }

    fn enter(
        &mut self,
        thread: usize,
        line: Option<u32>,
        site: u32,
        (plain, orders): (bool, Orders),
        visible: bool,
    ) {
        let companion = self.companion(thread);
        let known = &mut self.threads[thread];
        known.pushed += 1;
        known.tick += 1;
        let need = match known.born {
            [(_, tick), _] if !known.stepped && tick != 0 => known.born,
            _ => [(thread as Process, known.tick), known.opened],
        };
        known.buffer.push_back(Buffered {
            tick: known.pushed,
            need,
            joined: known.joined,
            site,
            plain,
            orders,
            issued: known.tick,
            visible,
        });
        known.entries.push(((companion, known.pushed), line));
    }

    /// The running thread begins to write a line back.
    pub(super) fn write_back(&mut self, thread: usize, object: u32, site: u32, trace: &mut Trace) {
        let known = &self.threads[thread];
        let mut behind = known.entries.iter().rev();
        let behind = behind.find(|(_, line)| line.is_none_or(|line| line == object));
        trace.write_backs.push(WriteBack {
            thread: thread as u8,
            object,
            issued: known.tick,
            after: behind.map_or((0, 0), |&(commit, _)| commit),
            buffered: known.pushed,
            need: self.besides(thread),
            joined: known.joined,
            site,
        });
    }

    pub(super) fn commit(
        &mut self,
        open: &Open,
        record: &Record<'_>,
        object: u32,
        mask: u64,
        trace: &mut Trace,
    ) -> Result<(), ThreadsError> {
        let companion = self.companion(open.thread);
        let known = &mut self.threads[open.thread];
        let Some(buffered) = known.buffer.pop_front() else {
            return Err(ThreadsError::CannotRun(
                "a store was committed that nobody made: a fault of landfall, not of the program"
                    .into(),
            ));
        };
        self.commit_hidden(open.thread, buffered.tick);
        let (place, _) = place(record.value);
        let mut step = Step {
            process: companion,
            act: Act::Commit,
            access: Access::Write,
            persistent: is_persistent(place),
            plain: buffered.plain,
            orders: buffered.orders,
            issued: buffered.issued,
            tick: buffered.tick,
            need: buffered.need[0],
            also: buffered.need[1],
            joined: buffered.joined,
            object,
            mask,
            found: word(record, 0),
            left: word(record, 1),
            site: buffered.site,
            ..Step::NOTHING
        };
        if step.persistent {
            self.stored_as.say(&mut step);
        }
        self.finish(open, step, trace)
    }

    /// After a commit, the stores behind it whose time nobody can tell.
    pub(super) fn commit_hidden(&mut self, thread: usize, committed: u32) {
        let known = &mut self.threads[thread];
        known.committed = committed;
        while let Some(hidden) = known.buffer.pop_front_if(|next| !next.visible) {
            known.committed = hidden.tick;
        }
    }
}
