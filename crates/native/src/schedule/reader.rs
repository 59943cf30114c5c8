//! From the records of one run to the transitions of a trace. What a thread knows of others (who created it, whom it joined,
//! which of its stores are in memory) is kept as in `explore::schedule::interpret`.

use super::numbers::{Numbers, is_persistent, place};
use landfall_explore::schedule::sync::Op;
use landfall_explore::schedule::{
    Access, Act, Failure, NOWHERE, Process, Step, ThreadsError, Trace, Trailing, Until, Wait,
    WriteBack,
};
use landfall_vocab::record::{COMPANIONS, Kind, Record, access, step};
use landfall_vocab::shared::End;
use std::collections::VecDeque;

/// A store that waits in a thread's buffer.
#[derive(Clone, Copy, Debug)]
struct Buffered {
    tick: u32,
    need: [(Process, u32); 2],
    joined: u64,
    site: u32,
    plain: bool,
    visible: bool,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    tick: u32,
    /// It has made a transition.
    stepped: bool,
    born: [(Process, u32); 2],
    /// Processes joined since its last transition.
    joined: u64,
    /// The arrival that opened the barrier it waited at.
    opened: (Process, u32),
    /// Its own commits up to here come before its next transition.
    drained: u32,
    buffer: VecDeque<Buffered>,
    pushed: u32,
    committed: u32,
    /// Its own stores, newest last: line, bytes, the tick of their commit.
    own: Vec<(u32, u64, u32)>,
    /// Everything it put into its store buffer: the tick of its commit, and its line; none for a fence.
    entries: Vec<(u32, Option<u32>)>,
    /// What it watches while it spins.
    watches: Vec<(u32, u64)>,
    /// Where it was last.
    site: u32,
}

impl Thread {
    fn clear(&mut self) {
        self.tick = 0;
        self.stepped = false;
        self.born = [(0, 0); 2];
        self.joined = 0;
        self.opened = (0, 0);
        self.drained = 0;
        self.buffer.clear();
        (self.pushed, self.committed) = (0, 0);
        self.own.clear();
        self.entries.clear();
        self.watches.clear();
        self.site = 0;
    }
}

/// Objects and sites keep their numbers for the whole search; the rest is of one execution.
#[derive(Clone, Debug, Default)]
pub(super) struct Reader {
    pub(super) objects: Numbers,
    pub(super) sites: Numbers,
    threads: Vec<Thread>,
    /// Words of synchronisation objects, by their numbers; and which were used.
    words: Vec<u64>,
    used: Vec<u32>,
    /// Barriers: how many each waits for, arrivals, and the last arrival that opened it.
    barriers: Vec<(u32, (Process, u32))>,
    /// The transition whose access is still to come.
    open: Option<Open>,
    /// Transitions so far, and of how many it is known what they are.
    at: usize,
    keep: usize,
    /// Threads that have been created.
    pub(super) created: usize,
    /// Some execution stored to persistent memory.
    pub(super) stored: bool,
    pub(super) buffered: bool,
    most: usize,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    thread: usize,
    commits: bool,
    kind: u8,
    object: u64,
    enabled: u64,
    more: u32,
}

fn word(record: &Record<'_>, number: usize) -> u64 {
    let bytes = record.payload.get(8 * number..8 * number + 8);
    bytes.map_or(0, |bytes| {
        u64::from_le_bytes(bytes.try_into().unwrap_or_default())
    })
}

impl Reader {
    pub(super) fn begin(&mut self, threads: usize, keep: usize) {
        self.most = threads;
        if self.threads.len() < threads {
            self.threads.resize_with(threads, Thread::default);
        }
        for thread in &mut self.threads {
            thread.clear();
        }
        for object in self.used.drain(..) {
            self.words[object as usize] = 0;
        }
        self.barriers.clear();
        self.open = None;
        (self.at, self.keep, self.created) = (0, keep, 1);
    }

    fn companion(&self, thread: usize) -> Process {
        (thread + self.most) as Process
    }

    /// A set of processes, from the runtime's numbers to the search's.
    pub(super) fn processes(&self, mask: u64) -> u64 {
        (mask & u64::from(u32::MAX)) | (mask >> COMPANIONS) << self.most
    }

    fn site(&mut self, record: &Record<'_>) -> u32 {
        self.sites
            .of(u64::from(record.site) | u64::from(record.caller) << 32)
    }

    /// Takes in one record.
    pub(super) fn record(
        &mut self,
        record: &Record<'_>,
        trace: &mut Trace,
    ) -> Result<(), ThreadsError> {
        let thread = usize::from(record.mask % COMPANIONS);
        let of_thread = matches!(
            record.kind,
            Kind::Step | Kind::Access | Kind::Blocked | Kind::Watched | Kind::Ended
        );
        if thread >= self.most && of_thread {
            // The caller sees `created` and starts over with more room.
            self.created = self.created.max(thread + 1);
            return Ok(());
        }
        match record.kind {
            Kind::Step => {
                self.close(trace)?;
                self.step(thread, record, trace);
                // Nothing more is heard of these.
                if matches!(record.flags, step::ORDER | step::FLUSH) {
                    self.close(trace)?;
                }
            }
            Kind::Access => return self.access(thread, record, trace),
            Kind::Watched => {
                let (place, mask) = place(record.value);
                let object = self.objects.of(place);
                let watches = &mut self.threads[thread].watches;
                match watches.iter_mut().find(|(known, _)| *known == object) {
                    Some((_, known)) => *known |= mask,
                    None => watches.push((object, mask)),
                }
            }
            Kind::Ended => {
                self.close(trace)?;
                let site = self.threads[thread].site;
                // Leaving with 0 is no failure.
                if record.value != End::Exited as u64 {
                    trace.failures.push(Failure {
                        thread: thread as u8,
                        site,
                        code: record.value as u32,
                    });
                }
            }
            Kind::Store | Kind::Run | Kind::Fill => self.stored = true,
            Kind::Blocked => {
                self.close(trace)?;
                self.blocked(thread, record, trace);
            }
            _ => {}
        }
        Ok(())
    }

    fn step(&mut self, thread: usize, record: &Record<'_>, trace: &mut Trace) {
        if record.mask >= COMPANIONS {
            return self.open(thread, record, trace);
        }
        let site = self.site(record);
        let known = &mut self.threads[thread];
        known.site = site;
        let choice = word(record, 0) != 0;
        match record.flags {
            step::BEGIN | step::YIELD | step::SLEEP => return,
            step::CREATE => {
                self.created = self.created.max(record.value as usize + 1);
                if choice {
                    // A transition of its own; the child comes after it.
                    self.open(thread, record, trace);
                    let _ = self.close(trace);
                    self.bear(thread, record.value as usize);
                    return;
                }
                known.drained = known.committed;
                known.tick += 1;
                self.bear(thread, record.value as usize);
                return;
            }
            step::EXIT => {
                known.drained = known.committed;
                known.tick += 1;
                return;
            }
            step::JOIN => {
                let of = record.value as usize;
                if let Some(other) = self.threads.get(of) {
                    let mut joined = other.joined | 1 << of;
                    if self.buffered {
                        joined |= 1 << self.companion(of);
                    }
                    self.threads[thread].joined |= joined;
                }
                return;
            }
            step::FENCE => {
                known.drained = known.committed;
                return;
            }
            step::PASS => {
                let (place, _) = place(record.value | landfall_vocab::shared::LOCK);
                let object = self.objects.of(place);
                let opened = self.barriers.iter().find(|(of, _)| *of == object);
                known.opened = opened.map_or((0, 0), |(_, arrival)| *arrival);
                return;
            }
            _ => {}
        }
        self.open(thread, record, trace);
    }

    /// The new thread comes after its creator, and after what its creator had committed.
    fn bear(&mut self, parent: usize, child: usize) {
        let companion = self.companion(parent);
        let known = &self.threads[parent];
        let born = [
            (parent as Process, known.tick),
            (companion, if self.buffered { known.committed } else { 0 }),
        ];
        if let Some(child) = self.threads.get_mut(child) {
            child.born = born;
        }
    }

    fn open(&mut self, thread: usize, record: &Record<'_>, trace: &mut Trace) {
        let mut more = 0;
        let watches = &mut self.threads[thread].watches;
        // Its store buffer goes on without it.
        if !watches.is_empty() && record.mask < COMPANIONS {
            watches.sort_unstable();
            more = trace.watch(watches);
            watches.clear();
        }
        self.open = Some(Open {
            thread,
            commits: record.mask >= COMPANIONS,
            kind: record.flags,
            object: record.value,
            enabled: word(record, 0),
            more,
        });
    }

    /// What comes before a transition of this thread whatever memory holds.
    fn structure(&self, thread: usize, drains: bool) -> [(Process, u32); 2] {
        let known = &self.threads[thread];
        let drained = if drains && self.buffered {
            known.committed
        } else {
            known.drained
        };
        let mut need = match (drained, known.stepped) {
            (0, false) => known.born,
            (0, true) => [(0, 0); 2],
            (tick, _) => [(self.companion(thread), tick), (0, 0)],
        };
        if known.opened.1 != 0 {
            need[1] = known.opened;
        }
        need
    }

    /// A transition of which nothing more will be heard.
    fn close(&mut self, trace: &mut Trace) -> Result<(), ThreadsError> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let mut step = self.skeleton(&open, self.threads[open.thread].site);
        if open.commits {
            let Some(buffered) = self.threads[open.thread].buffer.pop_front() else {
                return Err(ThreadsError::CannotRun(
                    "a flush was committed that nobody made: a fault of landfall, not of the program; `--model sc` may still do".into(),
                ));
            };
            self.commit_hidden(open.thread, buffered.tick);
            step = Step {
                process: self.companion(open.thread),
                tick: buffered.tick,
                need: buffered.need[0],
                also: buffered.need[1],
                joined: buffered.joined,
                site: buffered.site,
                ..Step::NOTHING
            };
        }
        if open.kind == step::FLUSH {
            let (place, mask) = place(open.object);
            (step.object, step.mask) = (self.objects.of(place), mask);
            (step.act, step.access) = (Act::Flush, Access::Flush);
            step.persistent = true;
        }
        self.finish(&open, step, trace)
    }

    fn skeleton(&self, open: &Open, site: u32) -> Step {
        let known = &self.threads[open.thread];
        let [need, also] = self.structure(open.thread, drains(open.kind));
        Step {
            process: open.thread as Process,
            tick: known.tick + 1,
            need,
            also,
            joined: known.joined,
            site,
            ..Step::NOTHING
        }
    }

    fn finish(&mut self, open: &Open, step: Step, trace: &mut Trace) -> Result<(), ThreadsError> {
        if !open.commits {
            let known = &mut self.threads[open.thread];
            known.tick += 1;
            known.stepped = true;
            known.joined = 0;
            known.drained = 0;
            known.opened = (0, 0);
        }
        let at = self.at;
        self.at += 1;
        if at < self.keep {
            return match trace.steps[at] == step {
                true => Ok(()),
                false => Err(ThreadsError::Diverged { at }),
            };
        }
        trace.steps.push(step);
        trace.enabled.push(self.processes(open.enabled));
        Ok(())
    }

    fn access(
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
            let more = trace.watch(&[(object, mask)]);
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

    /// The commit of the thread's newest store to these bytes, if one store covers them.
    fn own(&self, thread: usize, object: u32, mask: u64) -> u32 {
        let own = self.threads[thread].own.iter().rev();
        let newest = own
            .copied()
            .find(|&(line, bytes, _)| line == object && bytes & mask != 0);
        match newest {
            Some((_, bytes, tick)) if mask & !bytes == 0 => tick,
            _ => 0,
        }
    }

    /// It stored past its buffer: its own loads see that through memory.
    fn overwrite(&mut self, thread: usize, object: u32, mask: u64) {
        let own = &mut self.threads[thread].own;
        own.retain_mut(|(line, bytes, _)| {
            if *line == object {
                *bytes &= !mask;
            }
            *bytes != 0
        });
    }

    fn trail(
        &mut self,
        thread: usize,
        write: bool,
        object: u32,
        mask: u64,
        site: u32,
        trace: &mut Trace,
    ) {
        let known = &self.threads[thread];
        let need = self.besides(thread);
        trace.trailing.push(Trailing {
            after: (self.at as u32).wrapping_sub(1),
            thread: thread as u8,
            tick: known.tick,
            need,
            joined: known.joined,
            object,
            mask,
            write,
            site,
        });
    }

    /// What a thread knows besides its own transitions.
    fn besides(&self, thread: usize) -> [(Process, u32); 2] {
        let known = &self.threads[thread];
        let mut need = if known.stepped {
            [(0, 0); 2]
        } else {
            known.born
        };
        if known.opened.1 != 0 {
            need[1] = known.opened;
        }
        need
    }

    /// A store goes into the buffer.
    fn push(
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
        let known = &mut self.threads[thread];
        known.pushed += 1;
        known.tick += 1;
        let need = match known.born {
            [(_, tick), _] if !known.stepped && tick != 0 => known.born,
            _ => [(thread as Process, known.tick), (0, 0)],
        };
        known.buffer.push_back(Buffered {
            tick: known.pushed,
            need,
            joined: known.joined,
            site,
            plain: record.flags & access::ORDERING == 0,
            visible,
        });
        known
            .own
            .retain(|&(line, bytes, _)| line != object || bytes & !mask != 0);
        known.own.push((object, mask, known.pushed));
        known.entries.push((known.pushed, Some(object)));
    }

    /// A `clflush` of a line, or an `sfence`, goes into the buffer.
    fn push_order(&mut self, thread: usize, line: Option<u32>, site: u32) {
        let known = &mut self.threads[thread];
        known.pushed += 1;
        known.tick += 1;
        let need = match known.born {
            [(_, tick), _] if !known.stepped && tick != 0 => known.born,
            _ => [(thread as Process, known.tick), (0, 0)],
        };
        known.buffer.push_back(Buffered {
            tick: known.pushed,
            need,
            joined: known.joined,
            site,
            plain: false,
            visible: true,
        });
        known.entries.push((known.pushed, line));
    }

    /// The running thread begins to write a line back.
    fn write_back(&mut self, thread: usize, object: u32, site: u32, trace: &mut Trace) {
        let known = &self.threads[thread];
        let mut behind = known.entries.iter().rev();
        let behind = behind.find(|(_, line)| line.is_none_or(|line| line == object));
        trace.write_backs.push(WriteBack {
            thread: thread as u8,
            object,
            issued: known.tick,
            after: behind.map_or(0, |&(tick, _)| tick),
            buffered: known.pushed,
            need: self.besides(thread),
            joined: known.joined,
            site,
        });
    }

    fn commit(
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
                "a store was committed that nobody made: a fault of landfall, not of the program; `--model sc` may still do".into(),
            ));
        };
        self.commit_hidden(open.thread, buffered.tick);
        let (place, _) = place(record.value);
        let step = Step {
            process: companion,
            act: Act::Commit,
            access: Access::Write,
            persistent: is_persistent(place),
            plain: buffered.plain,
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
        self.finish(open, step, trace)
    }

    /// After a commit, the stores behind it whose time nobody can tell.
    fn commit_hidden(&mut self, thread: usize, committed: u32) {
        let known = &mut self.threads[thread];
        known.committed = committed;
        while let Some(hidden) = known.buffer.pop_front_if(|next| !next.visible) {
            known.committed = hidden.tick;
        }
    }

    fn word(&mut self, object: u32) -> &mut u64 {
        let index = object as usize;
        if index >= self.words.len() {
            self.words.resize(index + 1, 0);
        }
        self.used.push(object);
        &mut self.words[index]
    }

    /// A step on a lock or the like.
    fn synchronise(&mut self, open: &Open, op: Op, record: &Record<'_>, step: &mut Step) {
        let parameter = word(record, 0);
        let thread = open.thread;
        if record.flags == access::NOTHING {
            // A lock that it holds, once more or once less.
            step.object = NOWHERE;
            step.mask = 0;
            return;
        }
        let object = step.object;
        let held = self.word(object);
        match op {
            Op::Take | Op::TryTake | Op::Give => *held = parameter,
            Op::Once => *held = if parameter != 0 { 2 } else { 0 },
            _ => {}
        }
        (step.found, step.left) = (*held, *held);
        if open.kind == step::LOOK {
            (step.found, step.left) = (parameter, parameter);
            (step.act, step.access) = (Act::Load, Access::Read);
            return;
        }
        let op = match op {
            Op::OnceDone if parameter == 0 => Op::OnceAbort,
            op => op,
        };
        step.act = op.act();
        step.until = op.until(thread);
        (step.access, step.mask) = op.footprint(thread, *held);
        let refused = record.flags & access::WRITE == 0 && op.succeeds(thread, *held);
        if refused || op == Op::Wait && parameter == 0 {
            // Unlocking what somebody else holds; a futex whose word had changed.
            return;
        }
        step.left = op.left(thread, *held);
        *held = step.left;
        if open.kind == step::ARRIVE && parameter != 0 && step.left.is_multiple_of(parameter) {
            let arrival = (thread as Process, step.tick);
            match self.barriers.iter_mut().find(|(of, _)| *of == object) {
                Some(barrier) => barrier.1 = arrival,
                None => self.barriers.push((object, arrival)),
            }
        }
    }

    /// A thread that waits still, at the end.
    fn blocked(&mut self, thread: usize, record: &Record<'_>, trace: &mut Trace) {
        let site = self.site(record);
        let kind = record.flags;
        let waits = match kind {
            step::JOIN => Wait::Join {
                thread: thread as u8,
                of: record.value as u8,
                site,
            },
            step::PASS => Wait::Barrier {
                thread: thread as u8,
                object: self.objects.of(record.value | landfall_vocab::shared::LOCK),
                site,
            },
            _ => {
                self.open(thread, record, trace);
                let Some(open) = self.open.take() else { return };
                let mut step = self.skeleton(&open, site);
                step.more = open.more;
                match operation(kind) {
                    Some(op) => {
                        let (place, _) = place(record.value | landfall_vocab::shared::LOCK);
                        step.object = self.objects.of(place);
                        let held = *self.word(step.object);
                        step.act = op.act();
                        step.until = op.until(thread);
                        (step.access, step.mask) = op.footprint(thread, held);
                        (step.found, step.left) = (held, held);
                    }
                    None => {
                        let (place, mask) = place(record.value);
                        step.object = self.objects.of(place);
                        step.mask = mask;
                        (step.act, step.access) = match kind {
                            step::READ => (Act::Load, Access::Read),
                            step::WRITE => (Act::Store, Access::Write),
                            _ => (Act::Rmw, Access::Write),
                        };
                        if step.more != 0 {
                            step.until = Until::Changed;
                        }
                    }
                }
                Wait::Step(step)
            }
        };
        trace.blocked.push(waits);
    }

    pub(super) fn end(&mut self, trace: &mut Trace) -> Result<(), ThreadsError> {
        self.close(trace)
    }
}

/// Steps that wait for the thread's own stores.
fn drains(kind: u8) -> bool {
    !matches!(kind, step::READ | step::WRITE | step::FLUSH)
}

/// What a step on a lock or the like does to it; none for accesses to memory.
fn operation(kind: u8) -> Option<Op> {
    Some(match kind {
        step::LOCK => Op::Lock,
        step::TRY_LOCK => Op::TryLock,
        step::UNLOCK | step::RELEASE => Op::Unlock,
        step::LOCK_EXCLUSIVE => Op::LockExclusive,
        step::TRY_LOCK_EXCLUSIVE => Op::TryLockExclusive,
        step::LOCK_SHARED => Op::LockShared,
        step::TRY_LOCK_SHARED => Op::TryLockShared,
        step::UNLOCK_SHARED => Op::UnlockShared,
        step::TAKE => Op::Take,
        step::TRY_TAKE | step::LOOK => Op::TryTake,
        step::GIVE => Op::Give,
        step::WAIT | step::FUTEX_WAIT => Op::Wait,
        step::WAKE => Op::Wake,
        step::TIMED_WAKE => Op::TimedWake,
        step::SIGNAL => Op::Signal,
        step::BROADCAST => Op::Broadcast,
        step::ARRIVE => Op::Arrive,
        step::ONCE => Op::Once,
        step::ONCE_DONE => Op::OnceDone,
        _ => return None,
    })
}
