//! Critical sections that are single transitions: the search finds what trying everything finds, and where nothing races it takes one execution for
//! each way in which reads and stores can follow each other: what locks add is nothing.

use landfall_explore::schedule::saturate::{Preempt, Saturated, saturate};
use landfall_explore::schedule::{End, Options};
use landfall_testkit::interpret::Interpreter;
use landfall_testkit::program::{Cmp, Instr, Model, Op, Order, Place, Program, Reg, Sync};
use landfall_testkit::schedules::agree::least_renaming;
use landfall_testkit::schedules::{Keep, Outcome, brute_force, plain};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// States of a program that is tried.
const MOST: usize = 40_000;

#[derive(Clone, Copy, Debug)]
enum Inside {
    Load(u8),
    Store(u8),
    /// Reads, adds one, stores.
    Add(u8),
    /// Stores to the second if the first is 0.
    StoreIf(u8, u8),
}

#[derive(Clone, Debug)]
enum Draft {
    Section(u8, Vec<Inside>),
    /// A section of the second lock inside of one of the first.
    Nested(u8, u8, Vec<Inside>),
    Try(u8, Vec<Inside>),
    /// Under no lock.
    Bare(Inside),
    /// An atomic access, in a section.
    Atomic(u8),
    Arrive,
    /// Under a lock: if the variable is 0, or in any case, waits for the condition; then a section.
    Wait(u8, Option<u8>, Vec<Inside>),
    /// Under a lock: waits for the condition while the variable is 0; then a section.
    WaitWhile(u8, u8, Vec<Inside>),
    /// A section that ends with a signal, or a broadcast.
    Signal(u8, Vec<Inside>, bool),
    /// With two signals.
    SignalTwice(u8, Vec<Inside>),
    /// The same under no lock.
    BareSignal(bool),
}

fn inside(vars: u8, branches: bool) -> impl Strategy<Value = Inside> {
    let var = move || 0..vars;
    prop_oneof![
        3 => var().prop_map(Inside::Load),
        3 => var().prop_map(Inside::Store),
        1 => var().prop_map(Inside::Add),
        u32::from(branches) => (var(), var()).prop_map(|(a, b)| Inside::StoreIf(a, b)),
    ]
}

fn body(vars: u8, branches: bool) -> impl Strategy<Value = Vec<Inside>> {
    prop::collection::vec(inside(vars, branches), 0..=2)
}

fn any_draft() -> impl Strategy<Value = Draft> {
    prop_oneof![
        6 => (0u8..2, body(2, true)).prop_map(|(lock, body)| Draft::Section(lock, body)),
        1 => (0u8..2, 0u8..2, body(2, true)).prop_map(|(a, b, body)| Draft::Nested(a, b, body)),
        1 => (0u8..2, body(2, false)).prop_map(|(lock, body)| Draft::Try(lock, body)),
        1 => inside(2, true).prop_map(Draft::Bare),
        1 => (0u8..2).prop_map(Draft::Atomic),
        1 => Just(Draft::Arrive),
        1 => waiting(2),
    ]
}

fn waiting(locks: u8) -> impl Strategy<Value = Draft> {
    let lock = move || 0..locks;
    prop_oneof![
        3 => (lock(), prop::option::of(0u8..2), body(2, true)).prop_map(|(lock, looks, body)| Draft::Wait(lock, looks, body)),
        3 => (lock(), 0u8..2, body(2, true)).prop_map(|(lock, var, body)| Draft::WaitWhile(lock, var, body)),
        3 => (lock(), body(2, true), any::<bool>()).prop_map(|(lock, body, all)| Draft::Signal(lock, body, all)),
        1 => (lock(), body(2, true)).prop_map(|(lock, body)| Draft::SignalTwice(lock, body)),
        2 => any::<bool>().prop_map(Draft::BareSignal),
    ]
}

/// Little else than waiting, under one lock.
fn conditions() -> impl Strategy<Value = Draft> {
    prop_oneof![3 => waiting(1), 1 => guarded(true)]
}

/// Sections of one lock that wait for a condition, or signal it: in which order they do so is part of a way.
fn signalling() -> impl Strategy<Value = Draft> {
    prop_oneof![
        2 => (prop::option::of(0u8..3), body(3, true)).prop_map(|(looks, body)| Draft::Wait(0, looks, body)),
        2 => (body(3, true), any::<bool>()).prop_map(|(body, all)| Draft::Signal(0, body, all)),
        2 => guarded(true),
    ]
}

/// Sections of one lock for all variables.
fn guarded(branches: bool) -> impl Strategy<Value = Draft> {
    body(3, branches).prop_map(|body| Draft::Section(0, body))
}

fn shape(
    draft: impl Strategy<Value = Draft>,
    threads: usize,
    drafts: usize,
) -> impl Strategy<Value = Vec<Vec<Draft>>> {
    prop::collection::vec(prop::collection::vec(draft, 0..=drafts), 2..=threads)
}

struct Writer {
    vars: Place,
    code: Vec<Instr>,
    regs: u8,
    value: u64,
}

impl Writer {
    fn write(&mut self, inside: Inside) {
        let at = |var: u8| Place {
            cell: self.vars.cell + u32::from(var),
            index: None,
        };
        self.value += 1;
        let to = Reg(self.regs % 14);
        let order = Order::Plain;
        match inside {
            Inside::Load(var) => self.code.push(Instr::Load {
                to,
                at: at(var),
                order,
            }),
            Inside::Store(var) => {
                let value = self.value.into();
                self.code.push(Instr::Store {
                    at: at(var),
                    value,
                    order,
                });
            }
            Inside::Add(var) => self.code.extend([
                Instr::Load {
                    to,
                    at: at(var),
                    order,
                },
                Instr::Calc {
                    to: Reg(15),
                    a: to.into(),
                    op: Op::Add,
                    b: 1.into(),
                },
                Instr::Store {
                    at: at(var),
                    value: Reg(15).into(),
                    order,
                },
            ]),
            Inside::StoreIf(looks, var) => {
                let past = self.code.len() as u32 + 3;
                let value = self.value.into();
                self.code.extend([
                    Instr::Load {
                        to,
                        at: at(looks),
                        order,
                    },
                    Instr::JumpIf {
                        a: to.into(),
                        cmp: Cmp::Ne,
                        b: 0.into(),
                        to: past,
                    },
                    Instr::Store {
                        at: at(var),
                        value,
                        order,
                    },
                ]);
            }
        }
        self.regs += 1;
    }
}

fn signal(all: bool, condition: Place) -> Instr {
    let op = if all { Sync::Broadcast } else { Sync::Signal };
    Instr::Sync(op, condition)
}

fn build(shape: &[Vec<Draft>]) -> Program {
    let mut program = Program::default();
    let vars = program.array(3, 0);
    let locks = program.array(2, 0);
    let barrier = program.cell(0);
    let condition = program.cell(0);
    let lock = |number: u8| Place {
        cell: locks.cell + u32::from(number),
        index: None,
    };
    for (thread, drafts) in shape.iter().enumerate() {
        let mut writer = Writer {
            vars,
            code: Vec::new(),
            regs: 0,
            value: 100 * (thread as u64 + 1),
        };
        for draft in drafts {
            match draft {
                Draft::Section(of, body) => {
                    writer.code.push(Instr::Sync(Sync::Lock, lock(*of)));
                    body.iter().for_each(|&inside| writer.write(inside));
                    writer.code.push(Instr::Sync(Sync::Unlock, lock(*of)));
                }
                Draft::Nested(a, b, body) => {
                    writer.code.push(Instr::Sync(Sync::Lock, lock(*a)));
                    if a != b {
                        writer.code.push(Instr::Sync(Sync::Lock, lock(*b)));
                    }
                    body.iter().for_each(|&inside| writer.write(inside));
                    if a != b {
                        writer.code.push(Instr::Sync(Sync::Unlock, lock(*b)));
                    }
                    writer.code.push(Instr::Sync(Sync::Unlock, lock(*a)));
                }
                Draft::Try(of, body) => {
                    let (op, at, to) = (Sync::TryLock, lock(*of), Reg(14));
                    writer.code.push(Instr::Ask { op, at, to });
                    let jump = writer.code.len();
                    writer.code.push(Instr::Jump(0));
                    body.iter().for_each(|&inside| writer.write(inside));
                    writer.code.push(Instr::Sync(Sync::Unlock, at));
                    let (a, b) = (to.into(), 0.into());
                    let to = writer.code.len() as u32;
                    writer.code[jump] = Instr::JumpIf {
                        a,
                        cmp: Cmp::Eq,
                        b,
                        to,
                    };
                }
                Draft::Bare(inside) => writer.write(*inside),
                Draft::Wait(of, looks, body) => {
                    let sync = |op, at| Instr::Sync(op, at);
                    writer.code.push(sync(Sync::Lock, lock(*of)));
                    if let Some(var) = looks {
                        writer.write(Inside::Load(*var));
                        let to = Reg((writer.regs - 1) % 14);
                        writer.code.push(Instr::JumpIf {
                            a: to.into(),
                            cmp: Cmp::Ne,
                            b: 0.into(),
                            to: writer.code.len() as u32 + 5,
                        });
                    }
                    writer.code.extend([
                        sync(Sync::Wait, condition),
                        sync(Sync::Unlock, lock(*of)),
                        sync(Sync::Wake, condition),
                        sync(Sync::Lock, lock(*of)),
                    ]);
                    body.iter().for_each(|&inside| writer.write(inside));
                    writer.code.push(sync(Sync::Unlock, lock(*of)));
                }
                Draft::WaitWhile(of, var, body) => {
                    let sync = |op, at| Instr::Sync(op, at);
                    let head = writer.code.len() as u32;
                    writer.code.push(sync(Sync::Lock, lock(*of)));
                    writer.write(Inside::Load(*var));
                    let to = Reg((writer.regs - 1) % 14);
                    writer.code.extend([
                        Instr::JumpIf {
                            a: to.into(),
                            cmp: Cmp::Ne,
                            b: 0.into(),
                            to: writer.code.len() as u32 + 5,
                        },
                        sync(Sync::Wait, condition),
                        sync(Sync::Unlock, lock(*of)),
                        sync(Sync::WakeToLook, condition),
                        Instr::Jump(head),
                    ]);
                    body.iter().for_each(|&inside| writer.write(inside));
                    writer.code.push(sync(Sync::Unlock, lock(*of)));
                }
                Draft::Signal(of, body, all) => {
                    writer.code.push(Instr::Sync(Sync::Lock, lock(*of)));
                    body.iter().for_each(|&inside| writer.write(inside));
                    writer.code.push(signal(*all, condition));
                    writer.code.push(Instr::Sync(Sync::Unlock, lock(*of)));
                }
                Draft::SignalTwice(of, body) => {
                    writer.code.push(Instr::Sync(Sync::Lock, lock(*of)));
                    writer.code.push(signal(false, condition));
                    body.iter().for_each(|&inside| writer.write(inside));
                    writer.code.push(signal(false, condition));
                    writer.code.push(Instr::Sync(Sync::Unlock, lock(*of)));
                }
                Draft::BareSignal(all) => writer.code.push(signal(*all, condition)),
                Draft::Atomic(of) => {
                    let at = Place {
                        cell: vars.cell + 2,
                        index: None,
                    };
                    let (to, op, value) = (Reg(14), Op::Add, 1.into());
                    writer.code.push(Instr::Sync(Sync::Lock, lock(*of)));
                    writer.code.push(Instr::Rmw { to, at, op, value });
                    writer.code.push(Instr::Sync(Sync::Unlock, lock(*of)));
                }
                Draft::Arrive => writer.code.push(Instr::Arrive {
                    at: barrier,
                    parties: 2,
                    to: None,
                }),
            }
        }
        program.thread(writer.code);
    }
    program
}

/// With copies of the first thread, which nobody can tell apart.
fn build_alike(shape: &[Vec<Draft>], copies: usize) -> Program {
    let mut program = build(shape);
    for _ in 1..copies {
        let code = program.threads[0].clone();
        program.thread(code);
    }
    program
}

fn explore(program: &Program, model: Model, preempt: Preempt) -> (BTreeSet<Outcome>, Saturated) {
    explore_with(program, model, preempt, Options::default())
}

fn explore_with(
    program: &Program,
    model: Model,
    preempt: Preempt,
    options: Options,
) -> (BTreeSet<Outcome>, Saturated) {
    let mut outcomes = BTreeSet::new();
    let mut threads = Interpreter::new(program, model);
    if options.symmetry {
        threads = threads.tell_alike();
    }
    let found = saturate(&mut threads, preempt, options, |threads, search| {
        // The beginning of an execution only.
        if search.trace().end == End::InVain {
            return ControlFlow::Continue(());
        }
        let regs = (0..program.threads.len()).map(|thread| threads.registers(thread).to_vec());
        outcomes.insert(Outcome {
            memory: plain(program, threads.memory()),
            regs: regs.collect(),
            stuck: search.trace().end == End::Deadlock,
        });
        ControlFlow::Continue(())
    });
    (outcomes, found.expect("runs"))
}

/// Every outcome, whatever races.
fn agree(program: &Program, model: Model) -> Result<(), TestCaseError> {
    program.validate().expect("valid");
    let Some((outcomes, _)) = brute_force(program, model, Keep::States, MOST) else {
        return Ok(());
    };
    let (found, saturated) = explore(program, model, Preempt::Auto);
    prop_assert_eq!(&found, &outcomes, "{:?} {:?}", model, saturated);
    prop_assert_eq!(saturated.counts.blocked, 0, "{:?} {:?}", model, saturated);
    Ok(())
}

/// Threads that are alike: every outcome up to renaming, and executions stand for as many as there are without.
fn agree_renamed(program: &Program, model: Model) -> Result<(), TestCaseError> {
    let options = Options {
        executions: 3_000,
        ..Options::default()
    };
    let (named, all) = explore_with(program, model, Preempt::Auto, options);
    if !all.counts.complete {
        return Ok(());
    }
    let alike = program.alike();
    let symmetry = Options {
        symmetry: true,
        ..options
    };
    let (found, renamed) = explore_with(program, model, Preempt::Auto, symmetry);
    let least = |outcomes: &BTreeSet<Outcome>| -> BTreeSet<Outcome> {
        let each = outcomes.iter();
        each.map(|outcome| least_renaming(outcome, &alike))
            .collect()
    };
    prop_assert_eq!(least(&found), least(&named), "{:?} {:?}", model, renamed);
    prop_assert_eq!(renamed.counts.blocked, 0, "{:?} {:?}", model, renamed);
    if (&renamed.locks, &renamed.sites) == (&all.locks, &all.sites) {
        let (stand_for, executions) = (renamed.counts.stand_for, all.counts.executions);
        prop_assert_eq!(stand_for, executions, "{:?} {:?} {:?}", model, renamed, all);
    }
    Ok(())
}

/// As many executions as there are ways to follow each other, where nothing races.
fn agree_in_number(program: &Program, model: Model, keep: Keep) -> Result<(), TestCaseError> {
    let Some((outcomes, graphs)) = brute_force(program, model, keep, MOST) else {
        return Ok(());
    };
    let (found, saturated) = explore(program, model, Preempt::Auto);
    prop_assert_eq!(&found, &outcomes, "{:?} {:?}", model, saturated);
    prop_assert!(saturated.sites.is_empty() && saturated.locks.is_empty());
    prop_assert_eq!(
        saturated.counts.executions,
        graphs as u64,
        "{:?} {:?}",
        model,
        saturated
    );
    prop_assert_eq!(saturated.counts.blocked, 0, "{:?} {:?}", model, saturated);
    Ok(())
}

/// Waiters that a broadcast lets go on: each came before it or after it, and that is all.
#[test]
fn a_broadcast_multiplies_nothing() {
    for waiters in 1..=4 {
        let mut shape = vec![vec![Draft::Signal(0, vec![Inside::Store(0)], true)]];
        shape.extend(vec![vec![Draft::Wait(0, Some(0), vec![])]; waiters]);
        let (_, found) = explore(&build(&shape), Model::Tso, Preempt::Auto);
        assert_eq!(found.locks, []);
        assert_eq!(
            (found.counts.executions, found.counts.blocked),
            (1 << waiters, 0)
        );
    }
}

/// A signal lets one of two waiters go on, whichever, also if only the other one's variable was set: then nobody goes on. Where nothing else could have
/// been woken, who waited and who came later is one execution.
#[test]
fn a_wake_that_another_one_might_have_had_happens() {
    let waits = |var| vec![Draft::WaitWhile(0, var, vec![])];
    let signals = |all| vec![Draft::Signal(0, vec![Inside::Store(1)], all)];
    let stuck = |shape: &[Vec<Draft>]| {
        let program = build(shape);
        for model in [Model::Sc, Model::Tso] {
            agree(&program, model).expect("agrees");
        }
        let (found, saturated) = explore(&program, Model::Tso, Preempt::Auto);
        let stuck = found.iter().filter(|outcome| outcome.stuck).count();
        (stuck, saturated.counts.executions)
    };
    assert!(stuck(&[waits(0), waits(1), signals(false)]).0 > 0);
    assert!(stuck(&[waits(1), waits(1), signals(false)]).0 > 0);
    assert_eq!(stuck(&[waits(1), waits(1), signals(true)]), (0, 1));
    assert_eq!(stuck(&[waits(1), signals(false)]), (0, 1));
}

fn section(var: u8) -> Draft {
    Draft::Section(0, vec![Inside::Add(var)])
}

/// Cases that went wrong once.
#[test]
fn remembered() {
    use Inside::{Store, StoreIf};
    let shape = [
        vec![
            Draft::Section(1, vec![Store(1), Store(0)]),
            Draft::Section(0, vec![StoreIf(0, 0)]),
        ],
        vec![
            Draft::Try(0, vec![Store(1)]),
            Draft::Section(1, vec![Store(0)]),
        ],
    ];
    agree(&build(&shape), Model::Tso).expect("agrees");
    let wait = |body| vec![Draft::Wait(0, Some(1), body)];
    let shapes = [
        [
            vec![Draft::Section(0, vec![Store(1)])],
            wait(vec![Store(0)]),
            wait(vec![]),
            wait(vec![Store(0)]),
        ],
        [
            vec![Draft::Signal(0, vec![], false)],
            vec![Draft::Section(0, vec![Inside::Load(0)])],
            wait(vec![Store(0), Inside::Load(1)]),
            vec![Draft::Section(0, vec![Store(1)])],
        ],
    ];
    for shape in shapes {
        agree(&build(&shape), Model::Sc).expect("agrees");
    }
}

#[test]
fn sections_that_share_nothing_multiply_nothing() {
    let executions = |shape: &[Vec<Draft>]| {
        let (_, found) = explore(&build(shape), Model::Tso, Preempt::Auto);
        assert_eq!(found.counts.blocked, 0);
        (found.counts.executions, found.locks.len())
    };
    let apart = [vec![section(0)], vec![section(1)], vec![section(2)]];
    assert_eq!(executions(&apart), (1, 0));
    let alike = [vec![section(0)], vec![section(0)], vec![section(0)]];
    assert_eq!(executions(&alike), (6, 0));
    // Who tries sees whether the lock is held: before, inside of the one or the other, between, behind.
    let tried = [vec![section(0)], vec![Draft::Try(0, Vec::new())]];
    assert_eq!(executions(&tried), (3, 1));
}

fn cases() -> u32 {
    let asked = std::env::var("LANDFALL_CASES").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(200)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_outcome(shape in shape(any_draft(), 3, 2)) {
        let program = build(&shape);
        agree(&program, Model::Sc)?;
        agree(&program, Model::Tso)?;
    }

    #[test]
    fn every_outcome_of_two_threads(shape in shape(any_draft(), 2, 4)) {
        let program = build(&shape);
        agree(&program, Model::Sc)?;
        agree(&program, Model::Tso)?;
    }

    #[test]
    fn one_execution_for_each_way(shape in shape(guarded(false), 4, 2)) {
        let program = build(&shape);
        agree_in_number(&program, Model::Sc, Keep::Data)?;
        agree_in_number(&program, Model::Tso, Keep::Data)?;
    }

    #[test]
    fn also_where_what_is_accessed_depends_on_others(shape in shape(guarded(true), 3, 3)) {
        let program = build(&shape);
        agree_in_number(&program, Model::Sc, Keep::Data)?;
        agree_in_number(&program, Model::Tso, Keep::Data)?;
    }

    #[test]
    fn one_execution_for_each_way_with_conditions(shape in shape(signalling(), 4, 2)) {
        let program = build(&shape);
        agree_in_number(&program, Model::Sc, Keep::Conditions)?;
        agree_in_number(&program, Model::Tso, Keep::Conditions)?;
    }

    #[test]
    fn conditions_of_two_threads(shape in shape(conditions(), 2, 3)) {
        let program = build(&shape);
        agree(&program, Model::Sc)?;
        agree(&program, Model::Tso)?;
    }

    #[test]
    fn conditions_of_three_threads(shape in shape(conditions(), 3, 2)) {
        let program = build(&shape);
        agree(&program, Model::Sc)?;
        agree(&program, Model::Tso)?;
    }

    #[test]
    fn conditions_of_four_threads(shape in shape(conditions(), 4, 1)) {
        let program = build(&shape);
        agree(&program, Model::Sc)?;
        agree(&program, Model::Tso)?;
    }

    #[test]
    fn sections_of_threads_that_are_alike(shape in shape(guarded(true), 2, 2), copies in 2usize..=3) {
        let program = build_alike(&shape, copies);
        agree_renamed(&program, Model::Sc)?;
        agree_renamed(&program, Model::Tso)?;
    }

    #[test]
    fn conditions_of_threads_that_are_alike(shape in shape(conditions(), 2, 2), copies in 2usize..=3) {
        let program = build_alike(&shape, copies);
        agree_renamed(&program, Model::Sc)?;
        agree_renamed(&program, Model::Tso)?;
    }
}
