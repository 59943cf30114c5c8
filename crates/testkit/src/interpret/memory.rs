//! Memory and store buffers.

use super::{Buffered, Entry, Interpreter, Status};
use crate::program::{Model, Operand, Place};
use landfall_explore::schedule::sync::ALL;
use landfall_explore::schedule::{Access, Act, Orders, Process, Step};
use landfall_explore::schedule::{Queued, come_behind};
use landfall_explore::schedule::{Trace, WriteBack};

impl Interpreter<'_> {
    pub(super) fn value(&self, thread: usize, operand: Operand) -> u64 {
        match operand {
            Operand::Const(value) => value,
            Operand::Reg(reg) => self.threads[thread].regs[reg.0 as usize],
        }
    }

    /// Arrays wrap around at the end of memory: an index is never out of bounds.
    pub(super) fn cell(&self, thread: usize, place: Place) -> u32 {
        match place.index {
            None => place.cell,
            Some(reg) => {
                let index = self.threads[thread].regs[reg.0 as usize];
                (u64::from(place.cell).wrapping_add(index) % self.memory.len() as u64) as u32
            }
        }
    }

    pub(super) fn drained(&self, thread: usize) -> bool {
        self.threads[thread].head == self.threads[thread].buffer.len()
    }

    /// What a load finds, and the commit of its own newest store there.
    pub(super) fn look(&self, thread: usize, cell: u32) -> (u64, (Process, u32)) {
        if self.model == Model::Sc {
            return (self.memory[cell as usize], (0, 0));
        }
        let own = self.own[thread * self.memory.len() + cell as usize];
        let state = &self.threads[thread];
        if state.streaming != 0 || own.1 > state.committed {
            for buffered in state.buffer[state.head..].iter().rev() {
                if let Entry::Store {
                    cell: at, value, ..
                } = buffered.entry
                    && at == cell
                    && !buffered.gone
                {
                    return (value, own);
                }
            }
        }
        (self.memory[cell as usize], own)
    }

    /// Does a load find its thread's own store, whose commit this is, in the store buffer?
    pub(super) fn sees_own(&self, thread: usize, own: (Process, u32)) -> bool {
        own.1 > self.threads[thread].committed
    }

    pub(super) fn write(&mut self, thread: usize, cell: u32, value: u64) -> u64 {
        self.note_touched(thread, cell);
        std::mem::replace(&mut self.memory[cell as usize], value)
    }

    pub(super) fn bytes(&self, cell: u32) -> (u32, u64) {
        if self.objects[cell as usize] {
            return (self.program.cells[cell as usize].line, ALL);
        }
        let cell = &self.program.cells[cell as usize];
        (cell.line, 0xff << (8 * u64::from(cell.word & 7)))
    }

    fn line_of(&self, entry: Entry) -> Option<u32> {
        match entry {
            Entry::Store { cell, .. } | Entry::Clflush { cell } => {
                Some(self.program.cells[cell as usize].line)
            }
            Entry::Sfence => None,
        }
    }

    /// Who commits an entry of the store buffer.
    fn committer(&mut self, thread: usize, entry: Entry) -> Process {
        let threads = self.threads.len();
        let Entry::Store {
            cell,
            streams: true,
            ..
        } = entry
        else {
            return (thread + threads) as Process;
        };
        let line = self.program.cells[cell as usize].line;
        let lines = &mut self.threads[thread].lines;
        let number = lines.iter().position(|&of| of == line).unwrap_or_else(|| {
            lines.push(line);
            lines.len() - 1
        });
        (2 * threads + thread * self.streams + number) as Process
    }

    fn queued(&self, process: Process, tick: u32, entry: Entry) -> Queued {
        Queued {
            commit: (process, tick),
            line: self.line_of(entry),
            visible: !matches!(entry, Entry::Store { visible: false, .. }),
        }
    }

    /// Can an entry leave the buffer, whose place in it would be this?
    fn may_leave(&self, thread: usize, place: usize, process: Process, entry: Entry) -> bool {
        let state = &self.threads[thread];
        let new = self.queued(process, 0, entry);
        !state.buffer[state.head..place].iter().any(|earlier| {
            !earlier.gone && new.waits_for(&self.queued(earlier.process, 0, earlier.entry))
        })
    }

    /// A store that nobody else can see the timing of: at once, or behind those it has to wait for. Is there nothing left to do?
    pub(super) fn store_hidden(&mut self, thread: usize, entry: Entry, trace: &mut Trace) -> bool {
        let process = self.committer(thread, entry);
        let Entry::Store { cell, value, .. } = entry else {
            return false;
        };
        let end = self.threads[thread].buffer.len();
        if !self.may_leave(thread, end, process, entry) {
            self.push(thread, entry, trace);
            return false;
        }
        self.write(thread, cell, value);
        if self.streams != 0 {
            // Under another schedule it would have waited, and others behind it.
            let state = &mut self.threads[thread];
            let tick = state.buffer.last().map_or(0, |buffered| buffered.tick) + 1;
            state.buffer.push(Buffered {
                entry,
                site: 0,
                need: [(0, 0); 2],
                joined: 0,
                behind: 0,
                process,
                tick,
                issued: state.tick,
                gone: true,
            });
            if state.head == end {
                state.head += 1;
            }
        }
        self.streams == 0
    }

    /// The streams that have come to something since the last fence.
    fn streamed(&self, thread: usize) -> Vec<(Process, u32)> {
        let state = &self.threads[thread];
        let mut streamed: Vec<(Process, u32)> = Vec::new();
        let companion = thread + self.threads.len();
        for buffered in &state.buffer[state.epoch..] {
            if usize::from(buffered.process) != companion {
                streamed.retain(|(process, _)| *process != buffered.process);
                streamed.push((buffered.process, buffered.tick));
            }
        }
        streamed
    }

    /// What a transition that waits for the thread's stores comes behind, besides its companion's.
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

    /// The thread's stores are all in memory, and what follows is behind them.
    pub(super) fn begin_epoch(&mut self, thread: usize) {
        let state = &mut self.threads[thread];
        state.epoch = state.buffer.len();
        state.lines.clear();
    }

    /// The thread's stores are all in memory though no transition says so, and what follows is behind them.
    pub(super) fn fence_off(&mut self, thread: usize) {
        self.threads[thread].attempt.stores(false);
        self.has_drained(thread);
        self.threads[thread].drained = self.threads[thread].committed;
        if self.streams != 0 {
            let streamed = self.streamed(thread);
            let floor = &mut self.threads[thread].floor;
            floor.retain(|(process, _)| !streamed.iter().any(|(of, _)| of == process));
            floor.extend(streamed);
            self.begin_epoch(thread);
        }
    }

    /// What an entry comes behind in other queues.
    fn behind(
        &self,
        thread: usize,
        process: Process,
        entry: Entry,
        besides: (Process, u32),
        trace: &mut Trace,
    ) -> u32 {
        let state = &self.threads[thread];
        let companion = (thread + self.threads.len()) as Process;
        let mut set = state.floor.clone();
        set.extend(Some(besides).filter(|(_, tick)| *tick != 0));
        if process != companion && state.drained != 0 {
            set.push((companion, state.drained));
        }
        let fenced = self.tick_at(state.epoch, thread);
        let earlier = state.buffer.iter().rev();
        let earlier =
            earlier.filter(|earlier| earlier.process == companion || earlier.tick > fenced);
        let earlier =
            earlier.map(|earlier| self.queued(earlier.process, earlier.tick, earlier.entry));
        come_behind(self.queued(process, 0, entry), earlier, &mut set);
        trace.sets.come_after(&set)
    }

    /// The number of the last entry before a place.
    fn tick_at(&self, place: usize, thread: usize) -> u32 {
        match place.checked_sub(1) {
            Some(before) => self.threads[thread].buffer[before].tick,
            None => 0,
        }
    }

    pub(super) fn push(&mut self, thread: usize, entry: Entry, trace: &mut Trace) {
        let process = self.committer(thread, entry);
        // A new thread's creator may have left stores behind: they come first.
        let state = &self.threads[thread];
        let [creator, its_stores] = match state.stepped {
            true => [(0, 0); 2],
            false => state.born,
        };
        let behind = match (self.streams, its_stores) {
            (0, (_, 0)) => 0,
            _ => self.behind(thread, process, entry, its_stores, trace),
        };
        let state = &mut self.threads[thread];
        let site = self.first_site[thread] + state.pc;
        let tick = state.buffer.last().map_or(0, |buffered| buffered.tick) + 1;
        // What was done before the store is known wherever the store is.
        state.tick += 1;
        let need = [(thread as Process, state.tick), creator];
        // One that is no transition leaves together with the last one before it that is.
        let mut commit = (process, tick);
        if let Entry::Store { visible: false, .. } = entry {
            let earlier = state.buffer[state.head..].iter().rev();
            let mut leaves = earlier.filter(|earlier| {
                let hidden = matches!(earlier.entry, Entry::Store { visible: false, .. });
                !earlier.gone && !hidden && earlier.process == process
            });
            commit = leaves.next().map_or((0, 0), |last| (process, last.tick));
        }
        state.buffer.push(Buffered {
            entry,
            site,
            need,
            joined: state.joined,
            behind,
            process,
            tick,
            issued: state.tick,
            gone: false,
        });
        if let Entry::Store { cell, streams, .. } = entry {
            state.attempt.stores(true);
            state.streaming += usize::from(streams);
            let index = thread * self.memory.len() + cell as usize;
            self.own[index] = commit;
            self.own_written.push(index as u32);
        }
        if entry == Entry::Sfence {
            self.begin_epoch(thread);
        }
        self.reopen(thread);
    }

    /// Which of a thread's queues can go on.
    fn reopen(&mut self, thread: usize) {
        let threads = self.threads.len();
        let state = &self.threads[thread];
        let companion = 1u64 << (thread + threads);
        if self.streams == 0 {
            match state.head == state.buffer.len() {
                true => self.open &= !companion,
                false => self.open |= companion,
            }
            return;
        }
        let all = u64::MAX >> (64 - self.streams) << (2 * threads + thread * self.streams);
        self.open &= !(all | companion);
        let mut open = 0;
        for (place, buffered) in state.buffer.iter().enumerate().skip(state.head) {
            if !buffered.gone && self.may_leave(thread, place, buffered.process, buffered.entry) {
                open |= 1 << buffered.process;
            }
        }
        self.open |= open;
    }

    /// A `clflushopt` is issued.
    pub(super) fn write_back(&mut self, thread: usize, cell: u32, trace: &mut Trace) {
        let line = self.program.cells[cell as usize].line;
        let state = &self.threads[thread];
        let on_line = |cell: u32| self.program.cells[cell as usize].line == line;
        let behind = state
            .buffer
            .iter()
            .rev()
            .find(|buffered| match buffered.entry {
                Entry::Store { cell, .. } | Entry::Clflush { cell } => on_line(cell),
                Entry::Sfence => true,
            });
        trace.write_backs.push(WriteBack {
            thread: thread as Process,
            object: line,
            issued: state.tick,
            after: behind.map_or((0, 0), |buffered| (buffered.process, buffered.tick)),
            buffered: state.buffer.last().map_or(0, |buffered| buffered.tick),
            need: self.besides(thread),
            joined: state.joined,
            site: self.first_site[thread] + state.pc,
        });
    }

    /// The oldest entry of one of a thread's queues takes effect.
    pub(super) fn commit(&mut self, process: Process, trace: &mut Trace, at: usize) -> Step {
        let threads = self.threads.len();
        let thread = match usize::from(process).checked_sub(2 * threads) {
            Some(stream) => stream / self.streams,
            None => usize::from(process) - threads,
        };
        let state = &self.threads[thread];
        let oldest = |buffered: &Buffered| !buffered.gone && buffered.process == process;
        let first = state.buffer[state.head..].iter().position(oldest);
        let place = state.head + first.unwrap_or(0);
        let buffered = state.buffer[place];
        let [need, also] = buffered.need;
        let mut step = Step {
            process,
            tick: buffered.tick,
            need,
            also,
            behind: buffered.behind,
            joined: buffered.joined,
            site: buffered.site,
            act: Act::Fence,
            ..Step::NOTHING
        };
        match buffered.entry {
            Entry::Store { cell, plain, .. } => {
                step.plain = plain;
                step.issued = buffered.issued;
                if !plain {
                    step.orders = Orders::strongest(Act::Commit, true);
                }
                (step.object, step.mask) = self.bytes(cell);
                step.more = self.watched_mapping(cell, trace);
                step.act = Act::Commit;
                step.access = Access::Write;
                step.persistent = self.program.persistent;
            }
            Entry::Clflush { cell } => {
                (step.object, step.mask) = self.bytes(cell);
                step.act = Act::Flush;
                step.access = Access::Flush;
                step.persistent = true;
            }
            Entry::Sfence => {}
        }
        if let Entry::Store { value, streams, .. } = buffered.entry {
            (step.left, step.streams) = (value, streams);
        }
        step.found = self.take(thread, place);
        self.take_hidden(thread);
        self.reopen(thread);
        if self.drained(thread) && self.threads[thread].status == Status::Draining {
            self.advance(thread, trace, at + 1);
        }
        step
    }

    /// An entry leaves the buffer; what it replaces.
    fn take(&mut self, thread: usize, place: usize) -> u64 {
        let state = &mut self.threads[thread];
        let buffered = &mut state.buffer[place];
        buffered.gone = true;
        let (entry, tick, process) = (buffered.entry, buffered.tick, buffered.process);
        while state.buffer.get(state.head).is_some_and(|first| first.gone) {
            state.head += 1;
        }
        match entry {
            Entry::Store { streams: true, .. } => state.streaming -= 1,
            _ => state.committed = tick,
        }
        debug_assert_eq!(
            matches!(entry, Entry::Store { streams: true, .. }),
            usize::from(process) >= 2 * self.threads.len()
        );
        match entry {
            Entry::Store { cell, value, .. } => {
                let before = self.write(thread, cell, value);
                self.note_committed(thread, entry, tick, before);
                before
            }
            Entry::Clflush { .. } | Entry::Sfence => 0,
        }
    }

    /// Stores that nobody else can see the timing of follow by themselves.
    fn take_hidden(&mut self, thread: usize) {
        let mut place = self.threads[thread].head;
        while let Some(&buffered) = self.threads[thread].buffer.get(place) {
            let hidden = matches!(buffered.entry, Entry::Store { visible: false, .. });
            if !buffered.gone
                && hidden
                && self.may_leave(thread, place, buffered.process, buffered.entry)
            {
                self.take(thread, place);
            } else if self.streams == 0 {
                return;
            }
            place += 1;
        }
    }
}
