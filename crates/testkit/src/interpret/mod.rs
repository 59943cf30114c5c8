//! Executes a [`Program`] under a schedule, under SC or TSO.
//!
//! Threads stop right before their next visible operation. Creating and joining threads, waiting for the store buffer
//! to drain, arithmetic and accesses that are no scheduling points happen by themselves as soon as they can.

mod advance;
mod execute;
mod leftovers;
mod mapping;
mod memory;
mod section;
mod transaction;
mod turns;
mod unsettled;

use crate::program::{AbortReasons, Instr, Model, Program, REGISTERS};
use landfall_explore::schedule::Process;
use landfall_explore::schedule::{End, Trace};
use landfall_explore::schedule::{Job, Leftovers, Points, Sleepers, Threads, ThreadsError};
use leftovers::LeftoverFacts;
use std::cell::RefCell;
use std::rc::Rc;
use transaction::ThreadAttempts;
use turns::{TakenBack, Turns};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Entry {
    Store {
        cell: u32,
        value: u64,
        visible: bool,
        plain: bool,
        streams: bool,
    },
    Clflush {
        cell: u32,
    },
    Sfence,
}

#[derive(Clone, Copy, Debug)]
struct Buffered {
    entry: Entry,
    site: u32,
    /// What comes before it, as its thread stood when it was issued.
    need: [(Process, u32); 2],
    /// Threads its own had joined and no transition of its own says so yet: a set.
    joined: u32,
    /// Others that it comes behind, as [`Step::behind`](landfall_explore::schedule::Step::behind).
    behind: u32,
    /// Who commits it, and that process' tick then: entries of a thread are numbered in program order.
    process: Process,
    tick: u32,
    /// Its thread's when it was issued.
    issued: u32,
    gone: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Status {
    Absent,
    /// Right before a visible operation.
    Stopped,
    /// At a fence, for its own store buffer.
    Draining,
    Joining(u8),
    /// At the barrier of this cell.
    Meeting(u32),
    /// At the head of a loop, after a turn in vain that stays.
    Left,
    Ended,
}

#[derive(Clone, Debug)]
struct Thread<'p> {
    status: Status,
    pc: u32,
    regs: [u64; REGISTERS],
    tick: u32,
    /// It has made a transition.
    stepped: bool,
    born: [(Process, u32); 2],
    /// Threads joined since the last visible operation: a set.
    joined: u32,
    /// The lock whose critical section it is in, if that is one transition so far.
    section: Option<u32>,
    /// The round of a barrier that it has arrived in, and not left.
    meets: Option<u64>,
    /// At a transaction's beginning.
    attempt: ThreadAttempts,
    /// Its own commits up to here come before its next operation.
    drained: u32,
    buffer: Vec<Buffered>,
    /// Entries of the buffer before this one are committed; and the companion's tick.
    head: usize,
    committed: u32,
    /// Entries that wait in streams.
    streaming: usize,
    /// Since the last fence: the first entry, and lines of non-temporal stores, one for each stream.
    epoch: usize,
    lines: Vec<u32>,
    /// Streams that the thread waited for where no transition says so.
    floor: Vec<(Process, u32)>,
    turns: Turns<'p>,
}

#[derive(Clone, Debug)]
pub struct Interpreter<'p> {
    program: &'p Program,
    model: Model,
    aborts: AbortReasons,
    points: Points,
    first_site: Vec<u32>,
    memory: Vec<u64>,
    threads: Vec<Thread<'p>>,
    /// Per thread and cell: the commit of its newest store there.
    own: Vec<(Process, u32)>,
    own_written: Vec<u32>,
    loops: bool,
    /// Per thread, where loops begin, and which registers live at each instruction.
    heads: Rc<Vec<Vec<u32>>>,
    live: Rc<Vec<Vec<u16>>>,
    taken_back: Option<TakenBack<'p>>,
    /// Of all executions, whatever is taken back.
    facts: Rc<RefCell<LeftoverFacts>>,
    /// Which cells are synchronisation objects.
    objects: Vec<bool>,
    /// Who arrived at barriers: the cell, the round, who and when.
    arrivals: Vec<(u32, u64, Process, u32)>,
    /// What was accessed in the last critical section.
    accessed: Vec<(u32, u64, bool)>,
    /// The condition that it waits for or signalled, and its word before and after.
    signalled: Option<(u32, u64, u64)>,
    /// Rounds whose serial thread is known.
    serial: Vec<(u32, u64)>,
    /// How many streams each thread has.
    streams: usize,
    sleepers: Sleepers,
    /// Who can go on: threads in the low bits, companions above.
    open: u64,
    gated: u64,
    ended: u64,
    /// Per thread, the first one that it is like, if anyone is to know.
    alike: Vec<Process>,
    /// Memory was taken away while stores of others were on their way to it: this is no execution.
    too_early: bool,
    /// What memory holds in the end is read by somebody, in no step.
    blind: bool,
}

impl<'p> Interpreter<'p> {
    pub fn new(program: &'p Program, model: Model) -> Interpreter<'p> {
        let cells = program.cells.len();
        let threads = program.threads.len();
        let of = |code: &Vec<Instr>| turns::heads(code);
        let heads: Vec<Vec<u32>> = program.threads.iter().map(of).collect();
        let live = |code: &Vec<Instr>| turns::live_registers(code);
        let live: Vec<Vec<u16>> = program.threads.iter().map(live).collect();
        let mut objects = vec![false; cells];
        for instr in program.threads.iter().flatten() {
            if let (Some(_), Some(place)) = (instr.sync(), instr.place()) {
                objects[place.cell as usize] = true;
            }
        }
        Interpreter {
            program,
            model,
            aborts: AbortReasons::default(),
            points: Points::Everywhere,
            first_site: (0..threads).map(|thread| program.site(thread, 0)).collect(),
            memory: Vec::new(),
            threads: vec![
                Thread {
                    status: Status::Absent,
                    pc: 0,
                    regs: [0; REGISTERS],
                    tick: 0,
                    stepped: false,
                    born: [(0, 0); 2],
                    joined: 0,
                    section: None,
                    meets: None,
                    attempt: ThreadAttempts::default(),
                    drained: 0,
                    buffer: Vec::new(),
                    head: 0,
                    committed: 0,
                    streaming: 0,
                    epoch: 0,
                    lines: Vec::new(),
                    floor: Vec::new(),
                    turns: Turns::new(),
                };
                threads
            ],
            own: vec![
                (0, 0);
                if model == Model::Tso {
                    cells * threads
                } else {
                    0
                }
            ],
            own_written: Vec::new(),
            loops: heads.iter().any(|heads| !heads.is_empty()),
            heads: Rc::new(heads),
            live: Rc::new(live),
            taken_back: None,
            facts: Rc::default(),
            objects,
            arrivals: Vec::new(),
            accessed: Vec::new(),
            signalled: None,
            serial: Vec::new(),
            streams: match model {
                Model::Sc => 0,
                Model::Tso => program.streams(),
            },
            sleepers: Sleepers::default(),
            open: 0,
            gated: 0,
            ended: 0,
            alike: Vec::new(),
            too_early: false,
            blind: false,
        }
    }

    /// Somebody reads all of memory in the end, and makes no steps.
    pub fn blind_in_the_end(mut self) -> Interpreter<'p> {
        self.blind = true;
        self
    }

    /// What transactions are aborted by.
    pub fn aborting(mut self, aborts: AbortReasons) -> Interpreter<'p> {
        self.aborts = aborts;
        self
    }

    /// Says which threads are alike. Instructions of such threads are the same sites.
    pub fn tell_alike(mut self) -> Interpreter<'p> {
        self.alike = self
            .program
            .alike()
            .into_iter()
            .map(Process::from)
            .collect();
        for (thread, &like) in self.alike.iter().enumerate() {
            self.first_site[thread] = self.program.site(like.into(), 0);
        }
        self
    }

    /// Memory at the end of the last execution.
    pub fn memory(&self) -> &[u64] {
        &self.memory
    }

    pub fn registers(&self, thread: usize) -> &[u64; REGISTERS] {
        &self.threads[thread].regs
    }

    fn restart(&mut self) {
        self.memory.clear();
        self.memory
            .extend(self.program.cells.iter().map(|cell| cell.init));
        for thread in &mut self.threads {
            thread.status = Status::Absent;
            thread.pc = 0;
            thread.regs = [0; REGISTERS];
            thread.tick = 0;
            thread.stepped = false;
            thread.born = [(0, 0); 2];
            thread.joined = 0;
            thread.section = None;
            thread.meets = None;
            thread.attempt = ThreadAttempts::default();
            thread.drained = 0;
            thread.buffer.clear();
            thread.head = 0;
            thread.committed = 0;
            thread.streaming = 0;
            thread.epoch = 0;
            thread.lines.clear();
            thread.floor.clear();
            thread.turns = Turns::new();
        }
        for index in self.own_written.drain(..) {
            self.own[index as usize] = (0, 0);
        }
        self.taken_back = None;
        self.arrivals.clear();
        self.serial.clear();
        self.too_early = false;
        self.open = 0;
        self.gated = 0;
        self.ended = 0;
    }

    /// Processes that can go on.
    fn enabled(&self) -> u64 {
        let mut enabled = self.open;
        let mut gated = self.gated;
        while gated != 0 {
            let thread = gated.trailing_zeros() as usize;
            gated &= gated - 1;
            if self.possible(thread) {
                enabled |= 1 << thread;
            }
        }
        enabled
    }

    /// Who goes on where nobody says: store buffers are emptied first, and a thread runs on while it can.
    fn choose(&self, enabled: u64, running: usize) -> Option<Process> {
        let threads = self.threads.len();
        let first_of = |processes: u64| match processes >> running & 1 {
            0 => processes.trailing_zeros() as usize,
            _ => running,
        };
        match (enabled >> threads, enabled) {
            (0, 0) => None,
            (0, enabled) => Some(first_of(enabled) as Process),
            (companions, _) => Some((first_of(companions) + threads) as Process),
        }
    }
}

impl Threads for Interpreter<'_> {
    fn threads(&self) -> usize {
        self.program.threads.len()
    }

    fn looks_when_alone(&self) -> bool {
        !self.blind
    }

    fn preempt_at(&mut self, points: &Points) {
        self.points.clone_from(points);
    }

    fn buffered(&self) -> bool {
        self.model == Model::Tso
    }

    fn overlook_leftovers(&mut self, on: bool) {
        self.facts.borrow_mut().begin(on);
    }

    fn leftovers(&self) -> Option<Leftovers> {
        self.facts.borrow().news()
    }

    fn streams(&self) -> usize {
        self.streams
    }

    fn run(&mut self, job: &Job<'_>, trace: &mut Trace) -> Result<(), ThreadsError> {
        let threads = self.threads.len();
        self.restart();
        trace.alike.clone_from(&self.alike);
        self.sleepers
            .restart(&job.order, &trace.steps[..job.keep], job.sleep);
        for thread in 0..threads {
            if self.program.started >> thread & 1 != 0 {
                self.advance(thread, trace, 0);
            }
        }
        let mut running = 0;
        for at in 0..job.keep {
            let step = trace.steps[at];
            match step.process as usize {
                thread if thread < threads => {
                    self.begin_step(thread, job.follow.len(), at, trace);
                    self.repeat(thread, &step, trace, at);
                }
                _ => {
                    self.commit(step.process, trace, at);
                }
            }
            if (step.process as usize) < threads {
                running = step.process as usize;
            }
        }
        loop {
            let at = trace.steps.len();
            let mut enabled = self.enabled();
            let process = match job.follow.get(at) {
                Some(&process) if enabled >> process & 1 != 0 => process,
                Some(&process) if self.release(process as usize, trace, at) => continue,
                Some(_) => return Err(ThreadsError::Diverged { at }),
                None if at >= job.limit => {
                    trace.end = End::Limit;
                    return Ok(());
                }
                None => match self.choose(enabled & !self.sleepers.processes().low(), running) {
                    Some(process) => process,
                    None => match self.make_last() {
                        Some(thread) => {
                            enabled |= 1 << thread;
                            thread as Process
                        }
                        None if enabled == 0 => break,
                        None => {
                            trace.end = End::Asleep;
                            return Ok(());
                        }
                    },
                },
            };
            let step = match process as usize {
                thread if thread < threads => {
                    running = thread;
                    self.begin_step(thread, job.follow.len(), at, trace);
                    self.execute(thread, trace, at)
                }
                _ => self.commit(process, trace, at),
            };
            if self.take_back(trace) {
                continue;
            }
            self.sleepers.executed(&job.order, &step, &trace.sets);
            trace.steps.push(step);
            trace.enabled.push(enabled.into());
        }
        self.report_waiting(trace);
        if self.too_early {
            trace.end = End::InVain;
        }
        if trace.end == End::Complete {
            self.note_all_looked_at();
        }
        Ok(())
    }
}
