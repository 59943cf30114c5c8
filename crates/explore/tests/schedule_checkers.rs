//! Data races, misused locks and deadlocks, from the transitions of executions.

use landfall_explore::schedule::data_races::{DataRace, Relation, data_races};
use landfall_explore::schedule::locks::{Misuse, Reason, StuckThread, explain, misuses};
use landfall_explore::schedule::saturate::{Preempt, saturate};
use landfall_explore::schedule::{Options, Order, Persistency, search};
use landfall_testkit::interpret::Interpreter;
use landfall_testkit::program::{Cmp, Instr, Model, Order as Ordering, Place, Program, Reg, Sync};
use landfall_testkit::schedules::{build, shape};
use proptest::prelude::*;
use std::ops::ControlFlow;

const A: Reg = Reg(0);

fn order(program: &Program) -> Order {
    Order {
        threads: program.threads.len(),
        streams: 0,
        persistency: Persistency::Ignored,
    }
}

fn load(at: Place, order: Ordering) -> Instr {
    Instr::Load { to: A, at, order }
}

fn store(at: Place, order: Ordering) -> Instr {
    Instr::Store {
        at,
        value: 1.into(),
        order,
    }
}

/// The races of every execution, with only synchronisation and races as scheduling points.
fn races(program: &Program, model: Model, relation: Relation, preempt: Preempt) -> Vec<DataRace> {
    program.validate().expect("valid");
    let mut found = Vec::new();
    let mut threads = Interpreter::new(program, model);
    saturate(&mut threads, preempt, Options::default(), |_, search| {
        data_races(search.trace(), order(program), relation, &mut found);
        ControlFlow::Continue(())
    })
    .expect("runs");
    found.sort_unstable();
    found
}

/// The races of the first execution alone.
fn first_execution(program: &Program, relation: Relation) -> Vec<DataRace> {
    let mut found = Vec::new();
    let mut threads = Interpreter::new(program, Model::Tso);
    search(&mut threads, Options::default(), |_, trace| {
        data_races(trace, order(program), relation, &mut found);
        ControlFlow::Break(())
    })
    .expect("runs");
    found
}

#[test]
fn what_orders_accesses_and_what_does_not() {
    use Ordering::{Atomic, Plain};
    let mut base = Program::default();
    let [x, flag, lock] = [base.cell(0), base.cell(0), base.cell(0)];
    let (locks, unlocks) = (
        Instr::Sync(Sync::Lock, lock),
        Instr::Sync(Sync::Unlock, lock),
    );
    let skip_if_down = |to| Instr::JumpIf {
        a: A.into(),
        cmp: Cmp::Eq,
        b: 0.into(),
        to,
    };
    // Name, the threads, races, races under the limited relation.
    let cases: [(&str, [Vec<Instr>; 2], usize, usize); 6] = [
        (
            "nothing",
            [vec![store(x, Plain)], vec![load(x, Plain)]],
            1,
            1,
        ),
        (
            "atomics",
            [vec![store(x, Atomic)], vec![load(x, Atomic)]],
            0,
            0,
        ),
        (
            "one side plain",
            [vec![store(x, Plain)], vec![load(x, Atomic)]],
            1,
            1,
        ),
        (
            "a lock",
            [
                vec![locks, store(x, Plain), unlocks],
                vec![locks, load(x, Plain), unlocks],
            ],
            0,
            0,
        ),
        // The limited relation knows of waiting only: a false alarm.
        (
            "a message",
            [
                vec![store(x, Plain), store(flag, Atomic)],
                vec![load(flag, Atomic), skip_if_down(3), load(x, Plain)],
            ],
            0,
            1,
        ),
        (
            "a message that overtakes",
            [
                vec![store(flag, Atomic), store(x, Plain)],
                vec![load(flag, Atomic), skip_if_down(3), load(x, Plain)],
            ],
            1,
            1,
        ),
    ];
    for (name, threads, pure, limited) in cases {
        let mut program = base.clone();
        for thread in threads {
            program.thread(thread);
        }
        for model in [Model::Sc, Model::Tso] {
            for preempt in [Preempt::Auto, Preempt::Everywhere] {
                let sites = |relation| {
                    let mut pairs: Vec<_> = races(&program, model, relation, preempt)
                        .iter()
                        .map(|race| {
                            (
                                race.first.site.min(race.second.site),
                                race.first.site.max(race.second.site),
                            )
                        })
                        .collect();
                    pairs.sort_unstable();
                    pairs.dedup();
                    pairs.len()
                };
                assert_eq!(sites(Relation::Pure), pure, "{name} {model:?} {preempt:?}");
                assert_eq!(
                    sites(Relation::Limited),
                    limited,
                    "{name} {model:?} {preempt:?}, limited"
                );
            }
        }
    }
}

/// Blum 2018, figure 2.6(a): an unrelated critical section happens to separate the accesses.
#[test]
fn the_limited_relation_sees_past_unrelated_locks() {
    let mut program = Program::default();
    let (x, lock) = (program.cell(0), program.cell(0));
    let section = [
        Instr::Sync(Sync::Lock, lock),
        Instr::Sync(Sync::Unlock, lock),
    ];
    let mut first = vec![store(x, Ordering::Plain)];
    first.extend(section);
    program.thread(first);
    let mut second = section.to_vec();
    second.push(load(x, Ordering::Plain));
    program.thread(second);
    assert_eq!(first_execution(&program, Relation::Pure), []);
    assert_eq!(first_execution(&program, Relation::Limited).len(), 1);
    // The other order of the sections shows it without.
    assert!(!races(&program, Model::Tso, Relation::Pure, Preempt::Auto).is_empty());
}

#[test]
fn creating_and_joining_orders() {
    let mut program = Program::default();
    let x = program.cell(0);
    program.thread(vec![
        store(x, Ordering::Plain),
        Instr::Create(1),
        Instr::Join(1),
        load(x, Ordering::Plain),
    ]);
    program.created(vec![store(x, Ordering::Plain)]);
    for relation in [Relation::Pure, Relation::Limited] {
        for preempt in [Preempt::Auto, Preempt::Everywhere] {
            assert_eq!(
                races(&program, Model::Tso, relation, preempt),
                [],
                "{relation:?} {preempt:?}"
            );
        }
    }
    program.threads[0].swap(0, 1);
    for preempt in [Preempt::Auto, Preempt::Everywhere] {
        assert!(
            !races(&program, Model::Tso, Relation::Pure, preempt).is_empty(),
            "{preempt:?}"
        );
    }
}

fn all_misuses(program: &Program) -> (Vec<Misuse>, Vec<StuckThread>) {
    let (mut found, mut stuck) = (Vec::new(), Vec::new());
    let mut threads = Interpreter::new(program, Model::Tso);
    search(&mut threads, Options::default(), |_, trace| {
        found.extend(misuses(trace, order(program)));
        stuck.extend(explain(trace, order(program)));
        ControlFlow::Continue(())
    })
    .expect("runs");
    found.sort_unstable();
    found.dedup();
    (found, stuck)
}

#[test]
fn misused_locks() {
    let mut base = Program::default();
    let locks = [base.cell(0), base.cell(0)];
    let lock = |i: usize| Instr::Sync(Sync::Lock, locks[i]);
    let unlock = |i: usize| Instr::Sync(Sync::Unlock, locks[i]);
    let with = |threads: Vec<Vec<Instr>>| {
        let mut program = base.clone();
        for thread in threads {
            program.thread(thread);
        }
        all_misuses(&program)
    };
    assert_eq!(with(vec![vec![lock(0), unlock(0)]; 2]), (vec![], vec![]));
    let (found, stuck) = with(vec![vec![lock(0), lock(0)]]);
    let twice = Misuse::LockedTwice {
        thread: 0,
        lock: 0,
        site: 1,
        held_since: 0,
    };
    assert_eq!(found, [twice]);
    assert_eq!(stuck[0].ring, [0]);
    let unheld = Misuse::UnlockedUnheld {
        thread: 0,
        lock: 0,
        site: 0,
    };
    assert_eq!(with(vec![vec![unlock(0)]]).0, [unheld]);
    let stranger = Misuse::UnlockedByStranger {
        thread: 1,
        lock: 0,
        site: 1,
        holder: 0,
    };
    assert!(
        with(vec![vec![lock(0)], vec![unlock(0)]])
            .0
            .contains(&stranger)
    );
    let nested = |a: usize, b: usize| vec![lock(a), lock(b), unlock(b), unlock(a)];
    let (found, stuck) = with(vec![nested(0, 1), nested(1, 0)]);
    assert!(
        found
            .iter()
            .all(|misuse| matches!(misuse, Misuse::Inversion { .. }))
    );
    assert_eq!(stuck.len(), 1);
    let expected = [
        (
            0,
            1,
            Reason::Lock {
                lock: 1,
                holder: Some(1),
                since: Some(4),
            },
        ),
        (
            1,
            5,
            Reason::Lock {
                lock: 0,
                holder: Some(0),
                since: Some(0),
            },
        ),
    ];
    assert_eq!(stuck[0].waits, expected);
    assert_eq!(
        (stuck[0].ring.as_slice(), stuck[0].spinning),
        (&[0, 1][..], false)
    );
}

/// Waits for other things than locks, and what they say.
#[test]
fn waits_are_explained() {
    let mut base = Program::default();
    let [mutex, condition, semaphore, barrier, rwlock] = [(); 5].map(|()| base.cell(0));
    let sync = Instr::Sync;
    let waits = |threads: Vec<Vec<Instr>>| -> Vec<Vec<Reason>> {
        let mut program = base.clone();
        for thread in threads {
            program.thread(thread);
        }
        let reasons =
            |stuck: &StuckThread| stuck.waits.iter().map(|(.., reason)| *reason).collect();
        all_misuses(&program).1.iter().map(reasons).collect()
    };
    let waiter = vec![
        sync(Sync::Lock, mutex),
        sync(Sync::Wait, condition),
        sync(Sync::Unlock, mutex),
        sync(Sync::Wake, condition),
        sync(Sync::Lock, mutex),
        sync(Sync::Unlock, mutex),
    ];
    // A lost wake-up: thread 1 signals before thread 0 waits.
    let lost = Reason::Signal {
        condition: condition.cell,
        last: Some(1),
    };
    assert_eq!(
        waits(vec![waiter, vec![sync(Sync::Signal, condition)]]),
        [[lost]]
    );
    let nobody_gives = Reason::Semaphore {
        semaphore: semaphore.cell,
        last: None,
    };
    assert_eq!(
        waits(vec![vec![sync(Sync::Take, semaphore)]]),
        [[nobody_gives]]
    );
    let arrive = Instr::Arrive {
        at: barrier,
        parties: 2,
        to: Some(A),
    };
    let alone = Reason::Others {
        barrier: barrier.cell,
    };
    assert_eq!(waits(vec![vec![arrive]]), [[alone]]);
    let readers = Reason::Lock {
        lock: rwlock.cell,
        holder: Some(0),
        since: Some(0),
    };
    let kept = vec![sync(Sync::LockShared, rwlock)];
    let writer = [Sync::LockExclusive, Sync::Unlock].map(|op| sync(op, rwlock));
    let stuck = waits(vec![kept, writer.to_vec()]);
    assert_eq!(stuck, [[readers]]);
}

/// What synchronises, and with whom.
#[test]
fn objects_order_accesses() {
    let mut base = Program::default();
    let [x, rwlock, semaphore, barrier, once] = [(); 5].map(|()| base.cell(0));
    let sync = Instr::Sync;
    let (write, read) = (store(x, Ordering::Plain), load(x, Ordering::Plain));
    let arrive = Instr::Arrive {
        at: barrier,
        parties: 2,
        to: None,
    };
    let once = |then: Instr| {
        vec![
            Instr::Ask {
                op: Sync::Once,
                at: once,
                to: A,
            },
            Instr::JumpIf {
                a: A.into(),
                cmp: Cmp::Eq,
                b: 0.into(),
                to: 4,
            },
            then,
            sync(Sync::OnceDone, once),
        ]
    };
    let mut reads_after = once(write);
    reads_after.push(read);
    let shared = |access| {
        vec![
            sync(Sync::LockShared, rwlock),
            access,
            sync(Sync::UnlockShared, rwlock),
        ]
    };
    let exclusive = vec![
        sync(Sync::LockExclusive, rwlock),
        write,
        sync(Sync::Unlock, rwlock),
    ];
    let cases: [(&str, [Vec<Instr>; 2], bool); 6] = [
        ("a reader and a writer", [shared(read), exclusive], false),
        (
            "two readers, one of whom writes",
            [shared(read), shared(write)],
            true,
        ),
        (
            "a semaphore",
            [
                vec![write, sync(Sync::Give, semaphore)],
                vec![sync(Sync::Take, semaphore), read],
            ],
            false,
        ),
        (
            "a barrier",
            [vec![write, arrive], vec![arrive, read]],
            false,
        ),
        (
            "the wrong side of a barrier",
            [vec![write, arrive], vec![read, arrive]],
            true,
        ),
        ("done once", [reads_after.clone(), reads_after], false),
    ];
    for (name, threads, racy) in cases {
        let mut program = base.clone();
        for thread in threads {
            program.thread(thread);
        }
        for model in [Model::Sc, Model::Tso] {
            for preempt in [Preempt::Auto, Preempt::Everywhere] {
                let found = races(&program, model, Relation::Pure, preempt);
                assert_eq!(
                    !found.is_empty(),
                    racy,
                    "{name} {model:?} {preempt:?} {found:?}"
                );
            }
        }
    }
}

/// A thread that spins on a flag nobody raises.
#[test]
fn a_livelock_says_what_it_watches() {
    let mut program = Program::default();
    let flag = program.cell(0);
    let again = Instr::JumpIf {
        a: A.into(),
        cmp: Cmp::Eq,
        b: 0.into(),
        to: 0,
    };
    program.thread(vec![load(flag, Ordering::Atomic), again]);
    let (_, stuck) = all_misuses(&program);
    assert_eq!(stuck.len(), 1);
    assert!(stuck[0].spinning && stuck[0].ring.is_empty());
    let [
        (
            0,
            0,
            Reason::Change {
                object, more, last, ..
            },
        ),
    ] = stuck[0].waits[..]
    else {
        panic!("it waits for a change");
    };
    assert_eq!((object, last), (0, None));
    assert_ne!(more, 0);
}

fn cases() -> u32 {
    let asked = std::env::var("LANDFALL_CASES").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    /// Two definitions: some execution has a race by synchronisation alone, exactly if saturation finds a site.
    #[test]
    fn a_race_is_where_saturation_finds_a_site(shape in shape(3, 4)) {
        let program = build(&shape, Ordering::Plain);
        for model in [Model::Sc, Model::Tso] {
            let mut threads = Interpreter::new(&program, model);
            let saturated = saturate(&mut threads, Preempt::Auto, Options::default(), |_, _| {
                ControlFlow::Continue(())
            }).expect("runs");
            let found = races(&program, model, Relation::Pure, Preempt::Everywhere);
            prop_assert_eq!(found.is_empty(), saturated.sites.is_empty(), "{:?} {:?} {:?}", model, found, saturated);
            let limited = races(&program, model, Relation::Limited, Preempt::Everywhere);
            prop_assert!(!limited.is_empty() || found.is_empty());
        }
    }
}
