//! Native programs have exactly their known numbers of executions (BENCHMARKS.md), and none is in vain. The first lines of
//! a program say how many, for each `N` it is given.

use crate::support::Scratch;
use landfall_explore::schedule::saturate::{Preempt, saturate};
use landfall_explore::schedule::{Counts, Options};
use landfall_native::compiler::{self, Language};
use landfall_native::{Isolation, Job, Model, NativeThreads, Program, Server};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

pub(crate) fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schedules")
}

pub(crate) fn build(source: &Path, to: &Path) -> PathBuf {
    let program = to.join(source.file_stem().expect("a name"));
    let arguments = [
        "-w".into(),
        "-O1".into(),
        source.into(),
        "-o".into(),
        program.clone().into(),
    ];
    let mut clang = compiler::command(Language::C, &arguments).expect("clang is installed");
    assert!(clang.command.status().expect("clang runs").success());
    program
}

/// `// executions sc: 2: 2, 3: 6`: model, N, how many.
pub(crate) fn expected(text: &str, model: Model) -> Vec<(u64, u64)> {
    let name = match model {
        Model::Sc => "// executions sc: ",
        Model::Tso => "// executions tso: ",
    };
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .or_else(|| {
            text.lines()
                .find_map(|line| line.strip_prefix("// executions: "))
        });
    let pairs = line.into_iter().flat_map(|line| line.split(','));
    pairs
        .map(|pair| {
            let (n, count) = pair.split_once(':').expect("N: count");
            let number = |text: &str| text.trim().parse().expect("a number");
            (number(n), number(count))
        })
        .collect()
}

fn count(path: &Path, n: u64, model: Model, preempt: Preempt) -> Counts {
    let mut program = Program::new(path).arguments([n.to_string()]);
    program.isolation = Isolation::Auto;
    let mut server = Server::start(&program).expect("serves");
    let mut job = Job::default();
    job.threads.again = true;
    loop {
        let mut threads = NativeThreads::new(&mut server, job.clone(), 17, model);
        let found = saturate(&mut threads, preempt, Options::default(), |_, _| {
            ControlFlow::Continue(())
        });
        match found {
            Ok(found) => return found.counts,
            Err(_) if threads.several_create() => job.threads.creations = true,
            Err(error) => {
                let (runs, outcome) = (threads.runs, &threads.outcome);
                panic!(
                    "{} {model:?}, run {runs}: {error} ({outcome:?})",
                    path.display()
                )
            }
        }
    }
}

fn check(model: Model) {
    let scratch = Scratch::new("schedules");
    for source in crate::support::sources(&directory()) {
        let text = std::fs::read_to_string(&source).expect("readable");
        let program = build(&source, &scratch.0);
        for (n, executions) in expected(&text, model) {
            let counts = count(&program, n, model, Preempt::Auto);
            let what = format!("{} {n} {model:?}: {counts:?}", source.display());
            assert_eq!(counts.executions, executions, "{what}");
            assert_eq!(counts.blocked, 0, "{what}");
            assert!(counts.complete && counts.deadlocks == 0, "{what}");
            // What sections do elsewhere is seen in executions that are wanted, but for a few.
            assert!(counts.tried_out <= 8 + executions / 128, "{what}");
        }
    }
}

#[test]
fn counts_under_sc() {
    check(Model::Sc);
}

#[test]
fn counts_under_tso() {
    check(Model::Tso);
}

/// All that is known of each of the first executions, as a number.
fn executions(path: &Path, n: u64, model: Model, whole: bool) -> Vec<u64> {
    let mut program = Program::new(path).arguments([n.to_string()]);
    program.isolation = Isolation::Auto;
    let mut server = Server::start(&program).expect("serves");
    let mut job = Job::default();
    job.threads.creations = true;
    job.threads.again = true;
    let mut threads = NativeThreads::new(&mut server, job, 10, model).with_streams(1);
    threads.persist();
    if whole {
        threads.read_whole();
    }
    let options = Options {
        executions: 200,
        ..Options::default()
    };
    let mut seen = Vec::new();
    // Whatever ends the search ends it the same way.
    let end = saturate(&mut threads, Preempt::Auto, options, |_, search| {
        let mut hasher = DefaultHasher::new();
        format!("{:?}", search.trace()).hash(&mut hasher);
        seen.push(hasher.finish());
        ControlFlow::Continue(())
    });
    let mut hasher = DefaultHasher::new();
    format!("{:?}", end.map(|found| found.counts)).hash(&mut hasher);
    seen.push(hasher.finish());
    seen
}

#[test]
fn what_a_run_repeats_need_not_be_read_again() {
    let scratch = Scratch::new("milestones");
    let others = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/threads");
    let others = [
        "barrier.c",
        "durable_flag.c",
        "durable_stack.c",
        "exits_early.c",
        "futex.c",
        "lost_update.c",
        "lost_wakeup.c",
        "nontemporal_message.c",
        "spinlock.c",
    ]
    .map(|name| others.join(name));
    for source in crate::support::sources(&directory())
        .into_iter()
        .chain(others)
    {
        let program = build(&source, &scratch.0);
        for model in [Model::Sc, Model::Tso] {
            let read = executions(&program, 4, model, false);
            let whole = executions(&program, 4, model, true);
            assert!(read == whole, "{} {model:?}", source.display());
            assert!(read.len() > 1, "{} {model:?}", source.display());
        }
    }
}
