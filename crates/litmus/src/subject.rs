//! A litmus test of one thread as a program that the crash search can run: the search, tested without a compiler.

use crate::buffers::VarLayout;
use crate::program::{
    FlushKind, Instr, LitmusOutcome, LitmusProgram, Observe, Operand, Value, Var,
};
use landfall_explore::recovery::{Options, SearchError, Searched, search};
use landfall_explore::subject::{Ended, Execution, Job, RunDetail, Subject, SubjectError};
use landfall_explore::tree::Forest;
use landfall_model::event::{Event, FirstRead, Read};
use landfall_model::image::Image;
use landfall_model::line::{Addr, LineBytes};
use landfall_model::order::Platform;
use std::collections::{BTreeMap, BTreeSet};

/// Every outcome of a test by the crash search; `None` if it has several threads or transactions, or observes no recovery.
pub fn outcomes(
    program: &LitmusProgram,
    observe: &Observe,
    platform: Platform,
) -> Option<Result<BTreeSet<LitmusOutcome>, SearchError>> {
    let Observe::Recover(observed) = observe else {
        return None;
    };
    let [_] = program.threads[..] else {
        return None;
    };
    if program.has_transactions() {
        return None;
    }
    let mut subject = LitmusSubject {
        program,
        observed,
        layout: VarLayout::new(program),
        outcomes: BTreeSet::new(),
    };
    let base = subject.base();
    let log = subject.thread(&base).log(platform);
    let options = Options {
        platform,
        ..Options::default()
    };
    let (mut forest, mut found) = (Forest::default(), Searched::default());
    let ended = search(&mut subject, &mut forest, &base, &log, &options, &mut found);
    Some(ended.map(|()| subject.outcomes))
}

/// The thread is what runs first; after a power failure the observed variables are read.
struct LitmusSubject<'a> {
    program: &'a LitmusProgram,
    observed: &'a [Var],
    layout: VarLayout,
    /// What recoveries read.
    outcomes: BTreeSet<LitmusOutcome>,
}

/// A run on some memory: what it wrote itself, and what it did.
struct SubjectMachine<'a> {
    line: &'a dyn Fn(Addr) -> LineBytes,
    known: BTreeMap<Addr, Value>,
    events: Vec<Event>,
}

impl SubjectMachine<'_> {
    fn load(&mut self, addr: Addr) -> Value {
        if let Some(&value) = self.known.get(&addr) {
            return value;
        }
        let read = FirstRead {
            word: addr,
            mask: 0xff,
        };
        let value = read.value(&(self.line)(addr));
        self.events.push(Event::read(Read { read, value }));
        self.known.insert(addr, value as Value);
        value as Value
    }
}

impl LitmusSubject<'_> {
    fn base(&self) -> Image {
        let mut base = Image::default();
        for (v, decl) in self.program.vars.iter().enumerate() {
            base.write(self.layout.addr(Var(v as u8)), &decl.init.to_le_bytes());
        }
        base
    }

    /// The test's thread, to its end.
    fn thread(&self, image: &Image) -> Execution {
        let thread = &self.program.threads[0];
        let mut regs: Vec<Value> = thread.regs.iter().map(|r| r.init).collect();
        let mut machine = SubjectMachine {
            line: &|addr| image.line(addr.line()),
            known: BTreeMap::new(),
            events: Vec::new(),
        };
        for instr in &thread.body {
            let value = |operand: Operand| match operand {
                Operand::Const(value) => value,
                Operand::Reg(reg) => regs[reg.0 as usize],
            };
            match *instr {
                Instr::Load { reg, var } => {
                    regs[reg.0 as usize] = machine.load(self.layout.addr(var));
                }
                Instr::Store { var, value: v } => {
                    self.store(&mut machine, var, value(v), Event::store);
                }
                Instr::NtStore { var, value: v } => {
                    self.store(&mut machine, var, value(v), Event::nt_store);
                }
                Instr::Rmw {
                    reg,
                    var,
                    op,
                    operand,
                } => {
                    let operand = value(operand);
                    machine.events.push(Event::fence());
                    let old = machine.load(self.layout.addr(var));
                    self.store(&mut machine, var, op.apply(old, operand), Event::store);
                    machine.events.push(Event::fence());
                    if let Some(reg) = reg {
                        regs[reg.0 as usize] = old;
                    }
                }
                Instr::Cas {
                    reg,
                    var,
                    expected,
                    desired,
                } => {
                    let (expected, desired) = (value(expected), value(desired));
                    machine.events.push(Event::fence());
                    let old = machine.load(self.layout.addr(var));
                    if old == expected {
                        self.store(&mut machine, var, desired, Event::store);
                    }
                    machine.events.push(Event::fence());
                    regs[reg.0 as usize] = old;
                }
                Instr::Flush { var, kind } => {
                    let line = self.layout.addr(var).line();
                    machine.events.push(match kind {
                        FlushKind::Clflush => Event::clflush(line),
                        FlushKind::Clflushopt | FlushKind::Clwb => Event::clwb(line),
                    });
                }
                Instr::Sfence | Instr::Mfence => machine.events.push(Event::fence()),
                Instr::Move { reg, value: v } => regs[reg.0 as usize] = value(v),
                Instr::Arith { reg, op, operand } => {
                    regs[reg.0 as usize] = op.apply(regs[reg.0 as usize], value(operand));
                }
                Instr::If { reg, equals } => {
                    if regs[reg.0 as usize] != equals {
                        break;
                    }
                }
                // Tests with transactions are not run here.
                Instr::Tx(_) => {}
            }
        }
        Execution::new(machine.events, Ended::Well)
    }

    fn store(
        &self,
        machine: &mut SubjectMachine<'_>,
        var: Var,
        value: Value,
        event: impl Fn(landfall_model::line::Piece) -> Event,
    ) {
        machine.known.insert(self.layout.addr(var), value);
        machine
            .events
            .extend(self.layout.piece(var, value).map(event));
    }
}

impl Subject for LitmusSubject<'_> {
    fn run(&mut self, job: &Job<'_>) -> Result<Execution, SubjectError> {
        let line = |addr: Addr| job.line(addr.line());
        let mut machine = SubjectMachine {
            line: &line,
            known: BTreeMap::new(),
            events: Vec::new(),
        };
        let observed = self.observed.iter();
        let outcome: LitmusOutcome = observed
            .map(|&var| machine.load(self.layout.addr(var)))
            .collect();
        self.outcomes.insert(outcome);
        let mut execution = Execution::new(machine.events, Ended::Well);
        if job.wanted == RunDetail::Reads {
            execution.events.clear();
        }
        Ok(execution)
    }
}
