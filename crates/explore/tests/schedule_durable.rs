//! Power failures of programs that wait: in loops, for locks, at barriers, for conditions. What recoveries read is what trying every state, with
//! every content that each line may have by then, leaves them to read; under both models.

use landfall_explore::schedule::power::Power;
use landfall_explore::schedule::{End, Explored, Options, Persistency, Search};
use landfall_explore::subject::{Ended, Execution, Job, Subject, SubjectError};
use landfall_model::event::{Event, FirstRead, Read};
use landfall_model::image::Image;
use landfall_model::line::{Addr, Line};
use landfall_model::order::Platform;
use landfall_testkit::interpret::Interpreter;
use landfall_testkit::program::{
    Cell, Cmp, Instr, Model, Op, Order, Place, Program, Reg, Sync, WriteBack,
};
use landfall_testkit::schedules::durable::crash_images;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// States of a program that is tried.
const MOST: usize = 15_000;
/// Variables, the first two on one line.
const VARS: u8 = 3;

#[derive(Clone, Copy, Debug)]
enum Deed {
    Load(u8),
    Store(u8),
    Add(u8),
    Flush(u8),
}

#[derive(Clone, Debug)]
enum Draft {
    Bare(Deed),
    Section(Vec<Deed>),
    /// Reads until it is not 0.
    Await(u8),
    /// The same under the lock, which it gives up each time.
    AwaitLocked(u8),
    Arrive,
    /// Waits for the condition while the variable is 0; then a section.
    WaitWhile(u8, Vec<Deed>),
    /// Waits for the condition, whatever there is.
    Wait(Vec<Deed>),
    /// A section that ends with a signal, or a broadcast.
    Signal(Vec<Deed>, bool),
}

fn deed() -> impl Strategy<Value = Deed> {
    let var = || 0..VARS;
    prop_oneof![
        1 => var().prop_map(Deed::Load),
        4 => var().prop_map(Deed::Store),
        1 => var().prop_map(Deed::Add),
        3 => var().prop_map(Deed::Flush),
    ]
}

fn draft() -> impl Strategy<Value = Draft> {
    let var = || 0..VARS;
    let body = || prop::collection::vec(deed(), 0..=2);
    prop_oneof![
        6 => deed().prop_map(Draft::Bare),
        3 => body().prop_map(Draft::Section),
        2 => var().prop_map(Draft::Await),
        1 => var().prop_map(Draft::AwaitLocked),
        1 => Just(Draft::Arrive),
        1 => (var(), body()).prop_map(|(var, body)| Draft::WaitWhile(var, body)),
        1 => body().prop_map(Draft::Wait),
        2 => (body(), any::<bool>()).prop_map(|(body, all)| Draft::Signal(body, all)),
    ]
}

fn shape(threads: usize, drafts: usize) -> impl Strategy<Value = Vec<Vec<Draft>>> {
    prop::collection::vec(prop::collection::vec(draft(), 0..=drafts), 2..=threads)
}

struct Writer {
    code: Vec<Instr>,
    value: u64,
}

const ORDER: Order = Order::Atomic;

fn at(var: u8) -> Place {
    Place {
        cell: var.into(),
        index: None,
    }
}

impl Writer {
    fn write(&mut self, deed: Deed) {
        self.value += 1;
        let to = Reg(0);
        self.code.push(match deed {
            Deed::Load(var) => Instr::Load {
                to,
                at: at(var),
                order: ORDER,
            },
            Deed::Store(var) => Instr::Store {
                at: at(var),
                value: self.value.into(),
                order: ORDER,
            },
            Deed::Add(var) => Instr::Rmw {
                to,
                at: at(var),
                op: Op::Add,
                value: 1.into(),
            },
            Deed::Flush(var) => Instr::Flush {
                at: at(var),
                kind: WriteBack::Clflush,
            },
        });
    }

    fn write_all(&mut self, deeds: &[Deed]) {
        deeds.iter().for_each(|&deed| self.write(deed));
    }

    fn look(&mut self, var: u8) {
        self.code.push(Instr::Load {
            to: Reg(0),
            at: at(var),
            order: ORDER,
        });
    }

    /// If what was looked at is 0, or if it is not.
    fn jump_if(&mut self, zero: bool, to: u32) {
        self.code.push(Instr::JumpIf {
            a: Reg(0).into(),
            cmp: if zero { Cmp::Eq } else { Cmp::Ne },
            b: 0.into(),
            to,
        });
    }

    fn sync(&mut self, op: Sync, at: Place) {
        self.code.push(Instr::Sync(op, at));
    }

    fn here(&self) -> u32 {
        self.code.len() as u32
    }
}

fn build(shape: &[Vec<Draft>]) -> Program {
    let mut program = Program {
        persistent: true,
        ..Program::default()
    };
    for var in 0..VARS {
        program.cells.push(Cell {
            line: u32::from(var / 2),
            word: var % 2,
            init: 0,
        });
    }
    let [lock, barrier, condition] = [program.cell(0), program.cell(0), program.cell(0)];
    for (thread, drafts) in shape.iter().enumerate() {
        let mut writer = Writer {
            code: Vec::new(),
            value: 10 * (thread as u64 + 1),
        };
        for draft in drafts {
            match draft {
                Draft::Bare(deed) => writer.write(*deed),
                Draft::Section(body) => {
                    writer.sync(Sync::Lock, lock);
                    writer.write_all(body);
                    writer.sync(Sync::Unlock, lock);
                }
                Draft::Await(var) => {
                    let head = writer.here();
                    writer.look(*var);
                    writer.jump_if(true, head);
                }
                Draft::AwaitLocked(var) => {
                    let head = writer.here();
                    writer.sync(Sync::Lock, lock);
                    writer.look(*var);
                    writer.sync(Sync::Unlock, lock);
                    writer.jump_if(true, head);
                }
                Draft::Arrive => writer.code.push(Instr::Arrive {
                    at: barrier,
                    parties: 2,
                    to: None,
                }),
                Draft::WaitWhile(var, body) => {
                    let head = writer.here();
                    writer.sync(Sync::Lock, lock);
                    writer.look(*var);
                    let past = writer.here() + 5;
                    writer.jump_if(false, past);
                    writer.sync(Sync::Wait, condition);
                    writer.sync(Sync::Unlock, lock);
                    writer.sync(Sync::WakeToLook, condition);
                    writer.code.push(Instr::Jump(head));
                    writer.write_all(body);
                    writer.sync(Sync::Unlock, lock);
                }
                Draft::Wait(body) => {
                    writer.sync(Sync::Lock, lock);
                    writer.sync(Sync::Wait, condition);
                    writer.sync(Sync::Unlock, lock);
                    writer.sync(Sync::Wake, condition);
                    writer.sync(Sync::Lock, lock);
                    writer.write_all(body);
                    writer.sync(Sync::Unlock, lock);
                }
                Draft::Signal(body, all) => {
                    writer.sync(Sync::Lock, lock);
                    writer.write_all(body);
                    let op = if *all { Sync::Broadcast } else { Sync::Signal };
                    writer.sync(op, condition);
                    writer.sync(Sync::Unlock, lock);
                }
            }
        }
        program.thread(writer.code);
    }
    program
}

/// A recovery that reads all variables.
#[derive(Default)]
struct Reader {
    found: BTreeSet<Vec<u64>>,
}

impl Subject for Reader {
    fn run(&mut self, job: &Job<'_>) -> Result<Execution, SubjectError> {
        let read = |var: u8| {
            let line = Line(u64::from(var / 2));
            let read = FirstRead {
                word: Addr(line.start().0 + 8 * u64::from(var % 2)),
                mask: 0xff,
            };
            let value = read.value(&job.line(line));
            Read { read, value }
        };
        let reads: Vec<Read> = (0..VARS).map(read).collect();
        self.found
            .insert(reads.iter().map(|read| read.value).collect());
        let events = reads.into_iter().map(Event::read).collect();
        Ok(Execution::new(events, Ended::Well))
    }
}

/// What recoveries read; `None` if there are too many executions.
fn recovered(program: &Program, model: Model) -> Option<BTreeSet<Vec<u64>>> {
    let options = Options {
        persistency: Persistency::Lines,
        executions: 4_000,
        limit: 300,
        ..Options::default()
    };
    let mut threads = Interpreter::new(program, model);
    let mut search = Search::new(&threads, options).expect("few threads");
    let mut reader = Reader::default();
    let mut power = Power::new(Image::default(), Platform::Adr);
    while search.next(&mut threads).expect("runs") {
        if matches!(search.trace().end, End::Complete | End::Deadlock) {
            let explored: &dyn Explored = &search;
            power
                .look(&mut reader, explored, |object| Line(object.into()))
                .expect("walks");
        }
    }
    assert_eq!(search.counts.blocked, 0, "{:?}", search.counts);
    search.counts.complete.then_some(reader.found)
}

fn agree(program: &Program, model: Model) -> Result<bool, TestCaseError> {
    program.validate().expect("valid");
    let Some(images) = crash_images(program, model, MOST) else {
        return Ok(false);
    };
    let images: BTreeSet<Vec<u64>> = images
        .into_iter()
        .map(|image| image[..usize::from(VARS)].to_vec())
        .collect();
    let Some(found) = recovered(program, model) else {
        return Ok(false);
    };
    prop_assert_eq!(&found, &images, "{:?}", model);
    Ok(true)
}

/// Who is let go on by a store that is not written back yet may write back something of its own.
#[test]
fn a_failure_behind_a_loop_that_waits() {
    use Deed::{Flush, Store};
    let shape = [
        vec![Draft::Bare(Store(0))],
        vec![
            Draft::Await(0),
            Draft::Bare(Store(2)),
            Draft::Bare(Flush(2)),
        ],
    ];
    for model in [Model::Sc, Model::Tso] {
        let program = build(&shape);
        assert!(agree(&program, model).expect("agrees"));
        let found = recovered(&program, model).expect("few");
        assert!(found.contains(&vec![0, 0, 21]));
    }
}

fn cases() -> u32 {
    let asked = std::env::var("LANDFALL_CASES").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(200)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn two_threads_that_wait(shape in shape(2, 5)) {
        let program = build(&shape);
        agree(&program, Model::Sc)?;
        agree(&program, Model::Tso)?;
    }

    #[test]
    fn three_threads_that_wait(shape in shape(3, 3)) {
        let program = build(&shape);
        agree(&program, Model::Sc)?;
        agree(&program, Model::Tso)?;
    }
}
