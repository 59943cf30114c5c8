//! Programs that synchronise in every way: one execution per trace, none cut short, and every outcome; against trying
//! everything with objects that are written down a second time.

use landfall_testkit::program::{Instr, Model, Op, Order, Place, Program, Reg, Sync};
use landfall_testkit::schedules::agree::{agree, agree_renamed, explore};
use proptest::prelude::*;

/// States of a program that is tried.
const MOST: usize = 40_000;

/// Which object: two of each kind would only make programs larger.
const KINDS: [&str; 6] = [
    "mutex",
    "rwlock",
    "semaphore",
    "condition",
    "barrier",
    "once",
];

#[derive(Clone, Copy, Debug)]
enum Draft {
    Load(u8),
    Store(u8),
    Add(u8),
    /// Lock, the next draft, unlock.
    Locked,
    TryLocked,
    Shared,
    TryShared,
    Exclusive,
    TryExclusive,
    Take,
    TryTake,
    Give,
    /// A condition, with or without its mutex.
    Wait,
    BareWait,
    TimedWait,
    Signal,
    Broadcast,
    Arrive,
    ArriveAsking,
    Once,
}

fn draft() -> impl Strategy<Value = Draft> {
    use Draft::*;
    prop_oneof![
        3 => (0u8..2).prop_map(Load),
        3 => (0u8..2).prop_map(Store),
        1 => (0u8..2).prop_map(Add),
        2 => Just(Locked), 1 => Just(TryLocked),
        3 => Just(Shared), 1 => Just(TryShared), 2 => Just(Exclusive), 1 => Just(TryExclusive),
        2 => Just(Take), 1 => Just(TryTake), 2 => Just(Give),
        1 => Just(Wait), 2 => Just(BareWait), 1 => Just(TimedWait), 2 => Just(Signal), 1 => Just(Broadcast),
        1 => Just(Arrive), 1 => Just(ArriveAsking), 1 => Just(Once),
    ]
}

fn shape(threads: usize, drafts: usize) -> impl Strategy<Value = Vec<Vec<Draft>>> {
    prop::collection::vec(prop::collection::vec(draft(), 0..=drafts), 2..=threads)
}

/// Little else than barriers.
fn meetings(threads: usize, drafts: usize) -> impl Strategy<Value = Vec<Vec<Draft>>> {
    use Draft::*;
    let draft = prop_oneof![
        4 => Just(Arrive), 2 => Just(ArriveAsking),
        1 => (0u8..2).prop_map(Load), 1 => (0u8..2).prop_map(Store), 1 => Just(Locked), 1 => Just(Give), 1 => Just(TryTake),
    ];
    prop::collection::vec(prop::collection::vec(draft, 0..=drafts), 2..=threads)
}

fn build(shape: &[Vec<Draft>]) -> Program {
    build_for(shape, 2)
}

/// With a barrier of so many.
fn build_for(shape: &[Vec<Draft>], parties: u64) -> Program {
    let mut program = Program::default();
    let vars = program.array(2, 0);
    let objects: Vec<Place> = KINDS.iter().map(|_| program.cell(0)).collect();
    let [mutex, rwlock, semaphore, condition, barrier, once] = objects[..] else {
        unreachable!("six kinds")
    };
    for drafts in shape {
        let mut code: Vec<Instr> = Vec::new();
        let mut regs = 0u8;
        let mut value = 10 * (program.threads.len() as u64 + 1);
        let mut after: Option<Vec<Instr>> = None;
        for &draft in drafts {
            regs += 1;
            value += 1;
            let to = Reg(regs - 1);
            let at = |var: u8| Place {
                cell: vars.cell + u32::from(var),
                index: None,
            };
            let sync = |op, at| Instr::Sync(op, at);
            // Runs `then` only if it succeeded.
            let asked = |code: &mut Vec<Instr>, op, at, then: Instr| {
                code.push(Instr::Ask { op, at, to });
                code.push(Instr::JumpIf {
                    a: to.into(),
                    cmp: landfall_testkit::program::Cmp::Eq,
                    b: 0.into(),
                    to: code.len() as u32 + 2,
                });
                code.push(then);
            };
            let mut closes = None;
            match draft {
                Draft::Load(var) => code.push(Instr::Load {
                    to,
                    at: at(var),
                    order: Order::Atomic,
                }),
                Draft::Store(var) => code.push(Instr::Store {
                    at: at(var),
                    value: value.into(),
                    order: Order::Atomic,
                }),
                Draft::Add(var) => code.push(Instr::Rmw {
                    to,
                    at: at(var),
                    op: Op::Add,
                    value: 1.into(),
                }),
                Draft::Locked if after.is_none() => {
                    code.push(sync(Sync::Lock, mutex));
                    closes = Some(vec![sync(Sync::Unlock, mutex)]);
                }
                Draft::Shared if after.is_none() => {
                    code.push(sync(Sync::LockShared, rwlock));
                    closes = Some(vec![sync(Sync::UnlockShared, rwlock)]);
                }
                Draft::Exclusive if after.is_none() => {
                    code.push(sync(Sync::LockExclusive, rwlock));
                    closes = Some(vec![sync(Sync::Unlock, rwlock)]);
                }
                Draft::Locked | Draft::Shared | Draft::Exclusive => {}
                Draft::TryLocked => {
                    asked(&mut code, Sync::TryLock, mutex, sync(Sync::Unlock, mutex))
                }
                Draft::TryShared => {
                    asked(
                        &mut code,
                        Sync::TryLockShared,
                        rwlock,
                        sync(Sync::UnlockShared, rwlock),
                    );
                }
                Draft::TryExclusive => {
                    asked(
                        &mut code,
                        Sync::TryLockExclusive,
                        rwlock,
                        sync(Sync::Unlock, rwlock),
                    );
                }
                Draft::Take => code.push(sync(Sync::Take, semaphore)),
                Draft::TryTake => code.push(Instr::Ask {
                    op: Sync::TryTake,
                    at: semaphore,
                    to,
                }),
                Draft::Give => code.push(sync(Sync::Give, semaphore)),
                Draft::Wait if after.is_none() => code.extend([
                    sync(Sync::Lock, mutex),
                    sync(Sync::Wait, condition),
                    sync(Sync::Unlock, mutex),
                    sync(Sync::Wake, condition),
                    sync(Sync::Lock, mutex),
                    sync(Sync::Unlock, mutex),
                ]),
                Draft::Wait | Draft::BareWait => {
                    code.extend([sync(Sync::Wait, condition), sync(Sync::Wake, condition)]);
                }
                Draft::TimedWait => code.extend([
                    sync(Sync::Wait, condition),
                    Instr::Ask {
                        op: Sync::TimedWake,
                        at: condition,
                        to,
                    },
                ]),
                Draft::Signal => code.push(sync(Sync::Signal, condition)),
                Draft::Broadcast => code.push(sync(Sync::Broadcast, condition)),
                Draft::Arrive | Draft::ArriveAsking => code.push(Instr::Arrive {
                    at: barrier,
                    parties,
                    to: matches!(draft, Draft::ArriveAsking).then_some(to),
                }),
                Draft::Once => asked(&mut code, Sync::Once, once, sync(Sync::OnceDone, once)),
            }
            match closes {
                Some(closes) => after = Some(closes),
                None => code.extend(after.take().into_iter().flatten()),
            }
        }
        code.extend(after.into_iter().flatten());
        program.thread(code);
    }
    program
}

/// Cases that must not be lost.
#[test]
fn remembered() {
    use Draft::*;
    let cases: [&[Vec<Draft>]; 4] = [
        // Readers that wait for each other under the lock: the writer comes before both or after both.
        &[
            vec![Shared, Give],
            vec![Shared, Take],
            vec![Exclusive, Store(0)],
        ],
        &[
            vec![Shared, Load(0)],
            vec![Shared, Load(0)],
            vec![Shared, Load(0)],
            vec![Exclusive, Store(0)],
        ],
        // A signal nobody waits for yet.
        &[vec![BareWait], vec![Signal]],
        &[
            vec![BareWait],
            vec![BareWait],
            vec![Signal],
            vec![Broadcast],
        ],
    ];
    for shape in cases {
        for model in [Model::Sc, Model::Tso] {
            agree(&build(shape), model, MOST).expect("agrees");
        }
    }
}

/// Two readers that can only leave the lock together.
#[test]
fn a_writer_comes_before_readers_that_need_each_other() {
    let mut program = Program::default();
    let x = program.array(2, 0);
    let rwlock = program.cell(0);
    let [a, b] = [program.cell(0), program.cell(0)];
    let reader = |to: u8, give: Place, take: Place| {
        vec![
            Instr::Sync(Sync::LockShared, rwlock),
            Instr::Sync(Sync::Give, give),
            Instr::Sync(Sync::Take, take),
            Instr::Load {
                to: Reg(to),
                at: x,
                order: Order::Atomic,
            },
            Instr::Sync(Sync::UnlockShared, rwlock),
        ]
    };
    program.thread(reader(0, a, b));
    program.thread(reader(0, b, a));
    program.thread(vec![
        Instr::Sync(Sync::LockExclusive, rwlock),
        Instr::Store {
            at: x,
            value: 1.into(),
            order: Order::Atomic,
        },
        Instr::Sync(Sync::Unlock, rwlock),
    ]);
    for model in [Model::Sc, Model::Tso] {
        agree(&program, model, MOST).expect("agrees");
    }
}

/// Who comes first at a barrier multiplies nothing; who is told to be the serial thread, by as many as there are.
#[test]
fn arrivals_multiply_nothing() {
    use Draft::*;
    let executions = |drafts: &[Draft], threads: usize, parties: usize| {
        let program = build_for(&vec![drafts.to_vec(); threads], parties as u64);
        let (_, counts) = explore(&program, Model::Tso);
        assert_eq!((counts.blocked, counts.deadlocks), (0, 0));
        counts.executions
    };
    for n in 2..=5 {
        assert_eq!(executions(&[Arrive], n, n), 1);
        assert_eq!(executions(&[Arrive; 3], n, n), 1);
        assert_eq!(executions(&[ArriveAsking], n, n), n as u64);
    }
    // Who meets whom: six pairs may come first.
    assert_eq!(executions(&[Arrive], 4, 2), 6);
}

#[test]
fn readers_multiply_nothing() {
    use Draft::*;
    let program = build(&[
        vec![Shared, Load(0)],
        vec![Shared, Load(0)],
        vec![Shared, Load(1)],
    ]);
    let (_, counts) = explore(&program, Model::Tso);
    assert_eq!((counts.executions, counts.blocked), (1, 0));
}

fn cases() -> u32 {
    let asked = std::env::var("LANDFALL_CASES").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(250)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn threads_that_are_alike(shape in shape(2, 3), copies in 2usize..=3, parties in 2u64..=3) {
        let mut shape = shape;
        shape.extend(vec![shape[0].clone(); copies - 1]);
        let program = build_for(&shape, parties);
        agree_renamed(&program, Model::Sc, 2_000)?;
        agree_renamed(&program, Model::Tso, 2_000)?;
    }

    #[test]
    fn threads_that_are_alike_and_meet(shape in meetings(2, 3), copies in 2usize..=4, parties in 2u64..=4) {
        let mut shape = shape;
        shape.extend(vec![shape[0].clone(); copies - 1]);
        let program = build_for(&shape, parties);
        agree_renamed(&program, Model::Sc, 2_000)?;
        agree_renamed(&program, Model::Tso, 2_000)?;
    }

    #[test]
    fn one_execution_per_trace_sc(shape in shape(3, 4)) {
        agree(&build(&shape), Model::Sc, MOST)?;
    }

    #[test]
    fn one_execution_per_trace_tso(shape in shape(3, 3)) {
        agree(&build(&shape), Model::Tso, MOST)?;
    }

    #[test]
    fn barriers(shape in meetings(4, 3), parties in 2u64..=3) {
        agree(&build_for(&shape, parties), Model::Sc, MOST)?;
        agree(&build_for(&shape, parties), Model::Tso, MOST)?;
    }

    #[test]
    fn four_threads(shape in shape(4, 2)) {
        agree(&build(&shape), Model::Sc, MOST)?;
    }
}
