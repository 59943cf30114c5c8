//! Store buffers: what a thread put in, what has left it, and which of its own stores a load sees.

use super::super::numbers::{is_persistent, place};
use super::access::orders;
use super::{Buffered, Open, TraceReader, word};
use landfall_explore::schedule::{
    Access, Act, Orders, Process, Queued, Step, ThreadsError, Trace, WriteBack, come_behind,
};
use landfall_vocab::record::{Traced, access, step};

impl TraceReader {
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
        record: &Traced<'_>,
        object: u32,
        mask: u64,
        site: u32,
        trace: &mut Trace,
    ) {
        let visible = record.flags & access::READ == 0;
        if let Some(naming) = &mut self.naming {
            naming.access(thread, site);
        }
        if !visible {
            self.trail(thread, (true, false), object, mask, site, trace);
        }
        let streamed = access::stream_of(word(record, 0));
        let stream = streamed.map_or(0, |(stream, _)| stream as usize);
        let process = match stream
            .checked_sub(1)
            .filter(|&number| number < self.streams)
        {
            Some(number) => self.order().stream(thread, number) as Process,
            None => self.companion(thread),
        };
        if let Some((_, wanted)) = streamed {
            self.wanted = self.wanted.max(wanted as usize);
        }
        let entry = Entering {
            process,
            line: Some(object),
            site,
            plain: record.flags & access::ORDERING == 0,
            orders: orders(record.flags | access::WRITE),
            visible,
            streams: streamed.is_some(),
        };
        // One that is no transition leaves together with the last one before it that is.
        let earlier = self.threads[thread].buffer.iter().rev();
        let mut leaves = earlier.filter(|earlier| earlier.visible && earlier.process == process);
        let last = leaves.next().map_or((0, 0), |last| (process, last.tick));
        let commit = (process, self.enter(thread, entry, trace));
        let commit = if visible { commit } else { last };
        let known = &mut self.threads[thread];
        known
            .own
            .retain(|&(line, bytes, _)| line != object || bytes & !mask != 0);
        known.own.push((object, mask, commit));
    }

    /// A `clflush` of a line, or an `sfence`, goes into the buffer.
    pub(super) fn push_order(
        &mut self,
        thread: usize,
        line: Option<u32>,
        site: u32,
        trace: &mut Trace,
    ) {
        let entry = Entering {
            process: self.companion(thread),
            line,
            site,
            plain: false,
            orders: Orders::default(),
            visible: true,
            streams: false,
        };
        self.enter(thread, entry, trace);
        if line.is_none() {
            let known = &mut self.threads[thread];
            known.epoch = known.entries.len();
        }
    }

    /// The tick of its commit.
    fn enter(&mut self, thread: usize, entry: Entering, trace: &mut Trace) -> u32 {
        // A new thread's creator may have left stores behind: they come first.
        let known = &self.threads[thread];
        let [creator, its_stores] = match known.stepped {
            true => [(0, 0); 2],
            false => known.born,
        };
        let behind = match (self.streams, its_stores) {
            (0, (_, 0)) => 0,
            _ => self.behind(thread, &entry, its_stores, trace),
        };
        let joined = self.joined(thread, trace);
        let known = &mut self.threads[thread];
        known.pushed += 1;
        known.tick += 1;
        let need = [(thread as Process, known.tick), creator];
        known.buffer.push_back(Buffered {
            process: entry.process,
            tick: known.pushed,
            line: entry.line,
            behind,
            streams: entry.streams,
            need,
            joined,
            site: entry.site,
            plain: entry.plain,
            unjudged: known.unjudged,
            orders: entry.orders,
            issued: known.tick,
            visible: entry.visible,
        });
        known.entries.push(entry.queued(known.pushed));
        known.pushed
    }

    /// A store that nobody could tell the time of went past the buffer, which held nothing that it would have waited for. Under another
    /// schedule it would have waited, and others behind it: where non-temporal stores leave out of order, they must know.
    pub(super) fn went_past(&mut self, thread: usize, line: u32) {
        if self.streams == 0 {
            return;
        }
        let companion = self.companion(thread);
        let known = &mut self.threads[thread];
        let again = |last: &Queued| !last.visible && last.line == Some(line);
        if known.entries.last().is_some_and(again) {
            return;
        }
        known.pushed += 1;
        known.entries.push(Queued {
            commit: (companion, known.pushed),
            line: Some(line),
            visible: false,
        });
    }

    /// What goes into the buffer comes behind in other queues.
    fn behind(
        &self,
        thread: usize,
        entry: &Entering,
        besides: (Process, u32),
        trace: &mut Trace,
    ) -> u32 {
        let known = &self.threads[thread];
        let companion = self.companion(thread);
        let mut set = known.floor.clone();
        set.extend(Some(besides).filter(|(_, tick)| *tick != 0));
        if entry.process != companion && known.drained != 0 {
            set.push((companion, known.drained));
        }
        // The last fence stands for all that was before it.
        let first = known.epoch.saturating_sub(1);
        let numbers = (first..known.entries.len()).rev();
        let earlier = numbers.zip(known.entries.from(first).rev());
        let earlier = earlier
            .filter(|(number, entry)| entry.commit.0 == companion || *number >= known.epoch)
            .map(|(_, entry)| *entry);
        come_behind(entry.queued(0), earlier, &mut set);
        trace.sets.come_after(&set)
    }

    /// The streams that have come to something since the thread's last fence.
    fn streamed(&self, thread: usize) -> impl Iterator<Item = (Process, u32)> {
        let known = &self.threads[thread];
        let companion = self.companion(thread);
        let recent = known.entries.from(known.epoch);
        (recent.clone().enumerate()).filter_map(move |(at, &Queued { commit, .. })| {
            let newest = !(recent.clone().skip(at + 1)).any(|later| later.commit.0 == commit.0);
            (commit.0 != companion && newest).then_some(commit)
        })
    }

    /// What a transition comes behind besides its companion's: streams, where it waits for the thread's stores.
    pub(super) fn behind_streams(&self, thread: usize, drains: bool, trace: &mut Trace) -> u32 {
        if self.streams == 0 {
            return 0;
        }
        let mut set = self.threads[thread].floor.clone();
        if drains {
            set.extend(self.streamed(thread));
        }
        trace.sets.come_after(&set)
    }

    /// The thread's stores are all in memory, and no transition says so.
    pub(super) fn fence_off(&mut self, thread: usize) {
        if self.streams != 0 {
            let streamed: Vec<(Process, u32)> = self.streamed(thread).collect();
            let known = &mut self.threads[thread];
            let again = |of: Process| streamed.iter().any(|(process, _)| *process == of);
            known.floor.retain(|(process, _)| !again(*process));
            known.floor.extend(streamed);
            known.epoch = known.entries.len();
        }
        let known = &mut self.threads[thread];
        known.drained = known.committed;
    }

    /// The running thread begins to write a line back.
    pub(super) fn write_back(&mut self, thread: usize, object: u32, site: u32, trace: &mut Trace) {
        let joined = self.joined(thread, trace);
        let known = &self.threads[thread];
        let mut behind = known.entries.from(0).rev();
        let behind = behind.find(|entry| entry.line.is_none_or(|line| line == object));
        trace.write_backs.push(WriteBack {
            thread: thread as Process,
            object,
            issued: known.tick,
            after: behind.map_or((0, 0), |entry| entry.commit),
            buffered: known.pushed,
            need: self.besides(thread),
            joined,
            site,
        });
    }

    pub(super) fn commit(
        &mut self,
        open: &Open,
        record: &Traced<'_>,
        object: u32,
        mask: u64,
        trace: &mut Trace,
    ) -> Result<(), ThreadsError> {
        let (place, _) = place(record.value);
        let mut step = Step {
            act: Act::Commit,
            access: Access::Write,
            persistent: is_persistent(place),
            object,
            mask,
            found: word(record, 0),
            left: word(record, 1),
            ..self.leaves(open)?
        };
        if step.persistent {
            self.stored_as.say(&mut step);
        }
        self.finish(open, step, trace)
    }

    /// Something leaves a thread's buffer: the oldest of the queue that the step names.
    pub(super) fn leaves(&mut self, open: &Open) -> Result<Step, ThreadsError> {
        let stream = match open.kind {
            step::COMMIT => open.object as usize,
            _ => 0,
        };
        let process = match stream.checked_sub(1) {
            Some(number) => self.order().stream(open.thread, number) as Process,
            None => self.companion(open.thread),
        };
        let buffer = &mut self.threads[open.thread].buffer;
        let oldest = buffer.iter().position(|entry| entry.process == process);
        let Some(buffered) = oldest.and_then(|at| buffer.remove(at)) else {
            return Err(ThreadsError::CannotRun(
                "something was committed that nobody stored: a fault of landfall, not of the program"
                    .into(),
            ));
        };
        self.left(open.thread, &buffered);
        self.commit_hidden(open.thread);
        Ok(Step {
            process,
            plain: buffered.plain,
            unjudged: buffered.unjudged,
            orders: buffered.orders,
            issued: buffered.issued,
            streams: buffered.streams,
            tick: buffered.tick,
            need: buffered.need[0],
            also: buffered.need[1],
            behind: buffered.behind,
            joined: buffered.joined,
            site: buffered.site,
            ..Step::NOTHING
        })
    }

    fn left(&mut self, thread: usize, buffered: &Buffered) {
        if buffered.process == self.companion(thread) {
            self.threads[thread].committed = buffered.tick;
        }
    }

    /// After a commit, the stores whose time nobody can tell and that wait for nothing any more.
    fn commit_hidden(&mut self, thread: usize) {
        let mut at = 0;
        while let Some(&entry) = self.threads[thread].buffer.get(at) {
            let mut earlier = self.threads[thread].buffer.range(..at);
            let waits = |earlier: &Buffered| entry.queued().waits_for(&earlier.queued());
            if !entry.visible && !earlier.any(waits) {
                self.threads[thread].buffer.remove(at);
                self.left(thread, &entry);
            } else if self.streams == 0 {
                return;
            } else {
                at += 1;
            }
        }
    }
}

impl Buffered {
    fn queued(&self) -> Queued {
        Queued {
            commit: (self.process, self.tick),
            line: self.line,
            visible: self.visible,
        }
    }
}

/// What goes into a buffer.
struct Entering {
    process: Process,
    /// None for a fence.
    line: Option<u32>,
    site: u32,
    plain: bool,
    orders: Orders,
    visible: bool,
    streams: bool,
}

impl Entering {
    fn queued(&self, tick: u32) -> Queued {
        Queued {
            commit: (self.process, tick),
            line: self.line,
            visible: self.visible,
        }
    }
}
