//! Hardware transactions: one transition each, and the question before it whether it is aborted for no reason.
//!
//! An attempt that is about to begin may be spoiled by a process of its own, which writes a word that the attempt reads: the two orders are the two
//! answers. Where conflicts are told apart it is asked as well whether there was one, and whether there is hope; whether somebody can have
//! been in conflict with what its code would have accessed is judged when all is over. Then all of its code runs at once. If that commits, the store buffer is empty; one that its own code aborts has read, and
//! waits for nothing. So where stores of the thread may still wait it is asked as well whether the code runs *early*; if it
//! comes to its end then, this is no execution.

use super::{Interpreter, Status};
use crate::program::{AbortReasons, Instr, Model, STARTED, explicit};
use landfall_explore::schedule::{
    Access, Act, Attempt, AttemptFate, FootprintAccess, Process, SectionKey, Step, Trace,
};

/// Levels of transactions.
const MOST_DEPTH: u32 = 7;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    #[default]
    Outside,
    /// Is it spoiled? And if so, is there hope?
    Spoiled,
    SpoiledHope,
    /// Is there a conflict? And if so, is there hope?
    Met,
    MetHope,
    /// Does its code run before the thread's stores are in memory?
    Early,
    RunsEarly,
    /// It will be aborted: its code runs to show what it would have accessed.
    RunsInVain,
    Runs,
    /// Its code is running: in the middle of a transition.
    Inside,
}

/// A thread's transactions.
#[derive(Clone, Debug, Default)]
pub(super) struct ThreadAttempts {
    stage: Stage,
    /// Where it is known that it fails, why.
    fails: Option<(AttemptFate, u64)>,
    /// What was answered with yes, by number; and what each question came after: two sets.
    yes: Vec<bool>,
    asked: Vec<(u32, u32)>,
    /// It has stored since it last waited for its stores.
    stores: bool,
}

impl ThreadAttempts {
    pub(super) fn is_inside(&self) -> bool {
        self.stage == Stage::Inside
    }

    /// A store goes into the buffer; or all are in memory.
    pub(super) fn stores(&mut self, waits: bool) {
        self.stores = waits;
    }
}

/// What running a transaction's code comes to.
struct Body {
    commits: bool,
    status: u64,
    /// Where the thread goes on, if it commits.
    pc: u32,
    /// Cells that it has written.
    written: Vec<(u32, u64)>,
    /// All it accessed, in order.
    footprint: Vec<FootprintAccess>,
}

impl Interpreter<'_> {
    pub(super) fn is_spoiler(&self, thread: usize) -> bool {
        let pc = self.threads[thread].pc as usize;
        matches!(self.program.threads[thread].get(pc), Some(Instr::Spoil(_)))
    }

    /// Is the thread's next transition one that waits for its stores because it may commit?
    pub(super) fn commits_next(&self, thread: usize) -> bool {
        self.threads[thread].attempt.stage == Stage::Runs
    }

    /// A thread comes to the beginning of a transaction.
    pub(super) fn asks(&mut self, thread: usize, trace: &mut Trace) {
        let first = match self.aborts {
            AbortReasons::Conflicts => Stage::Met,
            _ => Stage::Spoiled,
        };
        self.ask(thread, first, trace);
    }

    fn ask(&mut self, thread: usize, stage: Stage, trace: &mut Trace) {
        let after = trace.sets.come_after(&self.next_of(thread));
        let state = &mut self.threads[thread];
        state.attempt.stage = stage;
        state.attempt.yes.push(false);
        state.attempt.asked.push((after, state.joined));
    }

    pub(super) fn may_spoil(&self, spoiler: usize, of: usize) -> bool {
        (self.threads[spoiler].pc as usize) < self.threads[of].attempt.yes.len()
    }

    /// Where answers are written.
    fn answers(&self, of: usize) -> u32 {
        let lines = self.program.cells.last().map_or(0, |cell| cell.line + 1);
        lines + self.program.cells.len() as u32 * 64 + of as u32
    }

    pub(super) fn spoils(&self, step: &mut Step, spoiler: usize, of: usize) {
        let number = self.threads[spoiler].pc as usize;
        (step.object, step.mask) = (self.answers(of), 1 << (number % 64));
        step.access = Access::Write;
        (step.behind, step.joined) = self.threads[of].attempt.asked[number];
    }

    /// What a thread's next transition comes after, as far as that is not said by its tick.
    fn next_of(&self, thread: usize) -> Vec<(Process, u32)> {
        let state = &self.threads[thread];
        let mut set: Vec<(Process, u32)> = state.born.to_vec();
        set.push((thread as Process, state.tick));
        set.push(((thread + self.threads.len()) as Process, state.drained));
        set.retain(|(_, tick)| *tick != 0);
        set.sort_unstable();
        set.dedup();
        set
    }

    /// What a thread that stands at the beginning of a transaction does next, but for what its code accesses.
    pub(super) fn attempts(&self, step: &mut Step, thread: usize) {
        let attempt = &self.threads[thread].attempt;
        match attempt.stage {
            Stage::Spoiled | Stage::SpoiledHope | Stage::Met | Stage::MetHope | Stage::Early => {
                let number = attempt.yes.len() - 1;
                (step.object, step.mask) = (self.answers(thread), 1 << (number % 64));
                step.access = Access::Read;
            }
            _ => step.act = Act::Transaction,
        }
    }

    /// Makes the transition, if the thread stands before one of a transaction.
    pub(super) fn at_transaction(
        &mut self,
        thread: usize,
        instr: &Instr,
        step: &mut Step,
        trace: &mut Trace,
        at: usize,
    ) -> bool {
        match *instr {
            Instr::Spoil(of) => {
                let number = self.threads[thread].pc as usize;
                self.threads[usize::from(of)].attempt.yes[number] = true;
                self.did(thread);
            }
            Instr::Begin { to } => {
                self.lasts(thread);
                if self.answered(thread, to.0, trace) {
                    self.gated |= 1 << thread;
                    return true;
                }
                if self.threads[thread].attempt.stage != Stage::Outside {
                    self.runs(thread, to.0, step, trace, at);
                }
            }
            _ => return false,
        }
        self.advance(thread, trace, at + 1);
        true
    }

    /// A question of an attempt is answered: the next one, or what comes of it. Is the thread still at the beginning?
    fn answered(&mut self, thread: usize, to: u8, trace: &mut Trace) -> bool {
        let attempt = &mut self.threads[thread].attempt;
        let yes = attempt.yes.last() == Some(&true);
        let told = self.aborts != AbortReasons::Untold;
        let waits = attempt.stores && self.model == Model::Tso;
        let next = match (attempt.stage, yes) {
            (Stage::Spoiled, true) if told => Stage::SpoiledHope,
            (Stage::Spoiled, true) => Stage::Outside,
            (Stage::SpoiledHope | Stage::MetHope, _) => Stage::RunsInVain,
            (Stage::Spoiled, false) if told => Stage::Met,
            (Stage::Met, true) => Stage::MetHope,
            (Stage::Spoiled | Stage::Met, false) if waits => Stage::Early,
            (Stage::Spoiled | Stage::Met, false) | (Stage::Early, false) => Stage::Runs,
            (Stage::Early, true) => Stage::RunsEarly,
            _ => return false,
        };
        if matches!(attempt.stage, Stage::SpoiledHope | Stage::MetHope) {
            let (fate, statuses) = match attempt.stage {
                Stage::MetHope => (AttemptFate::Conflict, self.aborts.conflict()),
                _ => (AttemptFate::Spurious, self.aborts.spurious()),
            };
            attempt.fails = Some((fate, statuses[usize::from(yes)]));
        }
        match next {
            Stage::Outside => {
                self.fails(thread, to, 0);
                return false;
            }
            Stage::Runs | Stage::RunsEarly | Stage::RunsInVain => {
                self.goes_on(thread);
                self.threads[thread].attempt.stage = next;
            }
            _ => {
                self.goes_on(thread);
                self.ask(thread, next, trace);
            }
        }
        true
    }

    fn tell(
        &self,
        at: usize,
        fate: AttemptFate,
        mut footprint: Vec<FootprintAccess>,
        trace: &mut Trace,
    ) {
        if self.aborts != AbortReasons::Conflicts {
            // Conflicts are about lines.
            footprint
                .iter_mut()
                .for_each(|access| access.accessed.1 = u64::MAX);
        }
        let known = { trace.attempts.last() }.is_some_and(|last| last.at as usize >= at);
        if !known {
            trace.attempts.push(Attempt {
                at: at as u32,
                fate,
                footprint,
            });
        }
    }

    /// The attempt is over: its thread finds why.
    fn fails(&mut self, thread: usize, to: u8, status: u64) {
        self.did(thread);
        let state = &mut self.threads[thread];
        state.attempt.stage = Stage::Outside;
        state.regs[to as usize] = status;
    }

    /// It has made a transition, and is where it was.
    fn goes_on(&mut self, thread: usize) {
        let pc = self.threads[thread].pc;
        self.did(thread);
        self.threads[thread].pc = pc;
        self.threads[thread].status = Status::Stopped;
    }

    /// All of the transaction's code.
    fn runs(&mut self, thread: usize, to: u8, step: &mut Step, trace: &mut Trace, at: usize) {
        let early = self.threads[thread].attempt.stage == Stage::RunsEarly;
        self.threads[thread].attempt.stage = Stage::Inside;
        self.accessed.clear();
        let begun = self.threads[thread].regs;
        let begin = self.threads[thread].pc;
        let tick = self.threads[thread].tick;
        // What is accessed inside has its transition's tick.
        self.threads[thread].tick += 1;
        let mut body = self.body(thread, to, &mut *trace, at);
        let mut fate = AttemptFate::Ran;
        if let Some((why, status)) = self.threads[thread].attempt.fails.take() {
            (fate, body.commits, body.status) = (why, false, status);
        }
        self.threads[thread].tick = tick;
        self.threads[thread].pc = begin;
        if body.commits && early {
            self.too_early = true;
            self.fails(thread, to, 0);
            self.threads[thread].pc = self.program.threads[thread].len() as u32;
            return;
        }
        if body.commits {
            for &(cell, value) in &body.written {
                let found = self.memory[cell as usize];
                self.wrote(thread, cell, found, value);
            }
            self.threads[thread].attempt.stores = false;
        } else {
            self.threads[thread].regs = begun;
            self.accessed.retain(|access| !access.2);
        }
        let writes = self.accessed.iter().any(|access| access.2);
        step.left = body.commits.into();
        step.access = if writes { Access::Write } else { Access::Read };
        step.section = trace
            .sets
            .transaction(SectionKey::of(step), &mut self.accessed);
        if self.aborts != AbortReasons::Untold {
            self.tell(at, fate, body.footprint, trace);
        }
        self.fails(thread, to, body.status);
        if body.commits {
            self.threads[thread].pc = body.pc;
        }
    }

    fn body(&mut self, thread: usize, to: u8, trace: &mut Trace, at: usize) -> Body {
        let code = &self.program.threads[thread][..];
        let mut written: Vec<(u32, u64)> = Vec::new();
        let mut footprint = Vec::new();
        let mut depth = 1;
        self.threads[thread].regs[to as usize] = STARTED;
        self.threads[thread].pc += 1;
        let aborted = |status, footprint| Body {
            commits: false,
            status,
            pc: 0,
            written: Vec::new(),
            footprint,
        };
        loop {
            let pc = self.threads[thread].pc;
            let Some(&instr) = code.get(pc as usize) else {
                return aborted(0, footprint);
            };
            let mut next = pc + 1;
            let mut read =
                |this: &mut Self, cell: u32, written: &[(u32, u64)], trace: &mut Trace| {
                    let own = written.iter().find(|known| known.0 == cell);
                    own.map_or_else(
                        || {
                            let (object, mask) = this.bytes(cell);
                            footprint.push(FootprintAccess {
                                accessed: (object, mask, false),
                                own: this.look(thread, cell).1,
                            });
                            this.trail(thread, cell, false, trace, at + 1);
                            this.look(thread, cell).0
                        },
                        |known| known.1,
                    )
                };
            let mut store = None;
            match instr {
                Instr::Begin { to } => {
                    depth += 1;
                    if depth > MOST_DEPTH {
                        return aborted(0, footprint);
                    }
                    self.threads[thread].regs[to.0 as usize] = STARTED;
                }
                Instr::End => {
                    depth -= 1;
                    if depth == 0 {
                        return Body {
                            commits: true,
                            status: self.threads[thread].regs[to as usize],
                            pc: next,
                            written,
                            footprint,
                        };
                    }
                }
                Instr::Abort(code) => return aborted(explicit(code), footprint),
                Instr::Calc { to, a, op, b } => {
                    let value = op.apply(self.value(thread, a), self.value(thread, b));
                    self.threads[thread].regs[to.0 as usize] = value;
                }
                Instr::Jump(to) => next = to,
                Instr::JumpIf { a, cmp, b, to } => {
                    if cmp.holds(self.value(thread, a), self.value(thread, b)) {
                        next = to;
                    }
                }
                Instr::Load { to, at, .. } => {
                    let cell = self.cell(thread, at);
                    let value = read(self, cell, &written, trace);
                    self.threads[thread].regs[to.0 as usize] = value;
                }
                Instr::Store { at, value, .. } => {
                    store = Some((self.cell(thread, at), self.value(thread, value)));
                }
                Instr::Rmw { to, at, op, value } => {
                    let cell = self.cell(thread, at);
                    let found = read(self, cell, &written, trace);
                    store = Some((cell, op.apply(found, self.value(thread, value))));
                    self.threads[thread].regs[to.0 as usize] = found;
                }
                Instr::Cas {
                    to,
                    at,
                    expect,
                    new,
                } => {
                    let cell = self.cell(thread, at);
                    let found = read(self, cell, &written, trace);
                    if found == self.value(thread, expect) {
                        store = Some((cell, self.value(thread, new)));
                    }
                    self.threads[thread].regs[to.0 as usize] = found;
                }
                // Write-backs, waits for others, the end of the thread: nothing of it happens inside.
                _ => return aborted(0, footprint),
            }
            if let Some((cell, value)) = store {
                let (object, mask) = self.bytes(cell);
                // A locked instruction reads and writes at once.
                let at_once = matches!(instr, Instr::Rmw { .. } | Instr::Cas { .. });
                footprint.pop_if(|last| at_once && last.accessed == (object, mask, false));
                footprint.push(FootprintAccess {
                    accessed: (object, mask, true),
                    own: (0, 0),
                });
                self.trail(thread, cell, true, trace, at + 1);
                match written.iter_mut().find(|known| known.0 == cell) {
                    Some(known) => known.1 = value,
                    None => written.push((cell, value)),
                }
            }
            self.threads[thread].pc = next;
        }
    }
}
