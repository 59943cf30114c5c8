//! Robustness of programs with threads, three times: by the schedule search and the checker of `check`, by proof, and by definition
//! (what a power failure can leave, some instant of some execution shows).

#[allow(dead_code, reason = "shared between test files")]
use landfall_check::finding::{WastedFence, WastedFlush};
use landfall_check::walk::Limits;
use landfall_check::{Checker, Finding, Kind, Robustness, Wasted};
use landfall_explore::schedule::judge::Judge;
use landfall_explore::schedule::judged::Names;
use landfall_explore::schedule::power::{Power, Traced};
use landfall_explore::schedule::saturate::{Preempt, saturate};
use landfall_explore::schedule::{Options as Schedules, Order, Persistency, Replayed};
use landfall_litmus::Model;
use landfall_litmus::operational::{self, ExploreOptions as Bounds};
use landfall_litmus::parse::parse;
use landfall_litmus::print::to_lit;
use landfall_litmus::program::{LitmusOutcome, Observe, Test, Var};
use landfall_model::line::Line;
use landfall_model::order::Platform;
use landfall_prove::litmus::translate;
use landfall_prove::prove::{ProofOptions, ProofVerdict, SameState, robust};
use landfall_testkit::interpret::Interpreter;
use landfall_testkit::litmus::random::Draft;
use landfall_testkit::litmus::schedules::{Recovery, initial, translate_as};
use landfall_testkit::litmus::{corpus, random};
use landfall_testkit::program::{self as target, Model as Memory};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Lines and sites are called what they are.
struct Plain;

impl Names for Plain {
    fn line(&self, object: u32) -> Line {
        Line(object.into())
    }

    fn site(&mut self, site: u32) -> u32 {
        site
    }
}

/// What was found, with what each finding's power failure leaves.
struct Found {
    robustness: Vec<(Finding, LitmusOutcome)>,
    wasted: Vec<Finding>,
}

/// Every schedule, every power failure, every recovery judged.
fn judge(test: &Test, vars: &[Var], order: target::Order) -> Option<Found> {
    let program = translate_as(test, order)?;
    let base = initial(&program);
    let mut recovery = Recovery {
        program: &program,
        vars,
        hasty: false,
        paths: Vec::new(),
    };
    let mut power = Power::new(base.clone(), Platform::Adr);
    let checkers = || -> Vec<Box<dyn Checker>> { vec![Box::new(Robustness::across_schedules())] };
    let mut judge = Judge::new(Box::new(checkers), Limits::default());
    let mut wasted = Wasted::default();
    let mut threads = Interpreter::new(&program, Memory::Tso);
    let options = Schedules {
        persistency: Persistency::Lines,
        ..Schedules::default()
    };
    saturate(&mut threads, Preempt::Auto, options, |_, search| {
        if search.racy {
            return ControlFlow::Continue(());
        }
        let line = |object: u32| Line(object.into());
        let traced = power.look(&mut recovery, search, line).expect("recovers");
        if let Some(execution) = judge.look(&mut power, &traced, search, &mut Plain) {
            wasted.scheduled(&execution);
        }
        ControlFlow::Continue(())
    })
    .expect("runs");
    let verdicts = judge.finish();
    assert!(verdicts.walked.is_complete(), "{verdicts:?}");
    let mut found = Found {
        robustness: Vec::new(),
        wasted: wasted.findings(),
    };
    for finding in verdicts.checkers[0].findings() {
        let evidence = finding.evidence.as_ref().expect("of a crash");
        let kept = &verdicts.kept[&evidence.execution];
        let order = Order {
            threads: program.threads.len(),
            streams: program.streams(),
            persistency: Persistency::Lines,
        };
        let again = Replayed::run(&mut threads, order, &kept.schedule, &kept.points);
        let again = again.expect("runs again");
        let traced = Traced::new(&base, Platform::Adr, &again, |object| Line(object.into()));
        let crash = traced.crash(&base, &again, &|line, version| {
            let left = evidence.left.iter().find(|(of, _)| *of == line);
            left.is_none_or(|(_, (first, last))| (*first..=*last).contains(&version))
        });
        let mut image = base.clone();
        for &(line, bytes) in &crash.expect("a power failure leaves it").image {
            image.set_line(line, bytes);
        }
        let reads = recovery.reads(|line| image.line(line));
        let outcome = reads.iter().map(|read| read.value as i64).collect();
        found.robustness.push((finding, outcome));
    }
    Some(found)
}

fn defined(test: &Test, platform: Platform) -> BTreeSet<LitmusOutcome> {
    let model = Model::px86(platform);
    let explored = operational::explore(&test.program, &test.observe, &model, &Bounds::default());
    explored.expect("small").outcomes
}

fn streams(instr: &landfall_litmus::program::Instr) -> bool {
    matches!(instr, landfall_litmus::program::Instr::NtStore { .. })
}

/// Does each store write a value of its own?
fn distinct(draft: &Draft) -> bool {
    !matches!(
        draft,
        Draft::StoreRead(_) | Draft::XchgRead(_) | Draft::Faa(_)
    )
}

fn agree(test: &Test, distinct: bool) -> Result<(), TestCaseError> {
    let Observe::Recover(vars) = &test.observe else {
        return Ok(());
    };
    for order in [target::Order::Atomic, target::Order::Plain] {
        let Some(found) = judge(test, vars, order) else {
            return Ok(());
        };
        let violated = !found.robustness.is_empty();
        let pairs = || {
            let findings = found.robustness.iter();
            findings
                .map(|(f, o)| format!("{:?} {o:?}\n", f.kind))
                .collect::<String>()
        };
        // As the search does it: another store of the same value is another state.
        let options = ProofOptions {
            alike: SameState::Stores,
            ..ProofOptions::default()
        };
        match robust(&translate(test).expect("no transactions").program, &options).verdict {
            ProofVerdict::Proved | ProofVerdict::Nothing => {
                prop_assert!(!violated, "proved, but:\n{}{}", to_lit(test), pairs());
            }
            ProofVerdict::Refuted(witness) => {
                prop_assert!(violated, "refuted:\n{}{}", to_lit(test), witness);
            }
            ProofVerdict::Unknown(why) => prop_assert!(false, "{}", why),
        }
        // Non-temporal stores may be in caches out of order, but are not strictly persistent so.
        if distinct
            && !test
                .program
                .threads
                .iter()
                .flat_map(|t| &t.body)
                .any(streams)
        {
            let instants = defined(test, Platform::Eadr);
            let weak = defined(test, Platform::Adr);
            prop_assert_eq!(violated, !weak.is_subset(&instants), "{}", to_lit(test));
            for (finding, outcome) in &found.robustness {
                prop_assert!(weak.contains(outcome), "{finding:?} {outcome:?}");
                prop_assert!(!instants.contains(outcome), "{finding:?} {outcome:?}");
            }
        }
    }
    Ok(())
}

fn cases() -> ProptestConfig {
    let asked = std::env::var("LANDFALL_CASES").ok();
    ProptestConfig {
        cases: asked.and_then(|n| n.parse().ok()).unwrap_or(300),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn random_programs(mut shape in random::shape(3, 5)) {
        shape.recover = true;
        shape.look = u32::MAX;
        let told_apart = shape.threads.iter().flatten().all(distinct) && shape.init.iter().all(|&i| i == 0);
        agree(&random::build(&shape), told_apart)?;
    }
}

#[test]
fn the_bundled_tests() {
    let mut looked_at = 0;
    for (path, test) in corpus::read_corpus("px86") {
        if test.platform == Platform::Adr && test.observe.is_recovery() {
            looked_at += 1;
            agree(&test, false).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
    assert!(looked_at > 40, "{looked_at}");
}

fn found(text: &str) -> Found {
    let test = parse("written.lit", text).expect("parses");
    let Observe::Recover(vars) = &test.observe else {
        panic!("recovers");
    };
    judge(&test, vars, target::Order::Atomic).expect("ordinary")
}

/// A flush is wasted only if it is in every order of the threads.
#[test]
fn flushes_that_help_in_no_schedule() {
    let twice = "lines: x | y\nT0: x = 1; clflush x; clflush x; sfence\nT1: clflush x; clflush y\nrecover: x y\n";
    let kinds: Vec<Kind> = found(twice).wasted.iter().map(|f| f.kind).collect();
    let repeated = |site| Kind::RedundantFlush {
        site,
        why: WastedFlush::Repeated,
    };
    let clean = |site| Kind::RedundantFlush {
        site,
        why: WastedFlush::Clean,
    };
    let fence = Kind::RedundantFence {
        site: 3,
        why: WastedFence::AfterClflush,
    };
    // The other thread's flush of x may come right after the store.
    assert_eq!(kinds, [repeated(2), clean(5), fence]);
}

/// The two of Gorjiara 2022's figure 4.5, and what happens if the second thread stores the same whatever it reads.
#[test]
fn another_schedule_may_show_the_same() {
    let stores = |what: &str| {
        format!(
            "lines: x | y\nT0: x = 1; clflush x\nT1: r1 = x; y = {what}; clflush y\nrecover: x y\n"
        )
    };
    let read = found(&stores("r1"));
    assert_eq!(read.robustness.len(), 1);
    assert!(matches!(read.robustness[0].0.kind, Kind::Robustness { .. }));
    assert_eq!(read.robustness[0].1, [0, 1]);
    assert!(found(&stores("1")).robustness.is_empty());
}

/// A store of what is there already is a store all the same.
#[test]
fn stores_are_told_apart_where_values_are_not() {
    let text = "lines: y | x\ninit: x=1\nT0: x = 1\nT1: r1 = cas y 0 2; r2 = x; y = r2\nT2: x = 3\nrecover: x y\n";
    let test = parse("written.lit", text).expect("parses");
    agree(&test, false).expect("agrees");
    assert_eq!(found(text).robustness.len(), 1);
    // By values every state was shown.
    let by_values = robust(
        &translate(&test).expect("no transactions").program,
        &ProofOptions::default(),
    );
    assert_eq!(by_values.verdict, ProofVerdict::Proved);
}
