//! The bundled litmus tests as native C programs: every schedule under TSO shows the outcomes of the operational definition, and no
//! others; recoveries are judged robust where the interpreted test is. All tests are in one program; the first argument chooses.

mod generate;
mod random;
use crate::support::Scratch;
use generate::{Besides, By};
use landfall_check::walk::Limits;
use landfall_check::{Checker, Robustness};
use landfall_explore::recovery::{self, Searched};
use landfall_explore::schedule::judge::Judge;
use landfall_explore::schedule::judged::Names;
use landfall_explore::schedule::power::{Crash, Power};
use landfall_explore::schedule::saturate::{Preempt, saturate};
use landfall_explore::schedule::{Options, Persistency, Replayed, Threads};
use landfall_explore::subject::{self, Execution, Subject, SubjectError};
use landfall_explore::tree::Forest;
use landfall_litmus::Model as Definition;
use landfall_litmus::operational::{self, explore};
use landfall_litmus::parse::parse;
use landfall_litmus::program::{Instr, LitmusOutcome, Observe, Test};
use landfall_model::line::Line;
use landfall_model::order::Platform;
use landfall_native::compiler::{self, Language};
use landfall_native::{
    Image, Isolation, Job, Model, NativeThreads, Outcome as Ended, Program, Server, translate,
};
use landfall_testkit::interpret::Interpreter;
use landfall_testkit::litmus::schedules;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Every test file below `litmus/` without hardware transactions, sorted, with what it is called.
fn corpus() -> Vec<(String, Test)> {
    let mut files = Vec::new();
    collect(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../litmus"),
        &mut files,
    );
    files.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("readable");
        let name = path.file_name().and_then(|n| n.to_str()).expect("utf-8");
        let test = parse(name, &text).unwrap_or_else(|error| panic!("{}:{error}", path.display()));
        (name.to_owned(), test)
    };
    let tests = files.into_iter().map(read);
    tests
        .filter(|(_, test): &(String, Test)| !test.program.has_transactions())
        .collect()
}

fn collect(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("litmus directory") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            collect(&path, out);
        } else if path
            .extension()
            .is_some_and(|e| e == "lit" || e == "litmus")
        {
            out.push(path);
        }
    }
}

fn defined(test: &Test) -> Option<Vec<LitmusOutcome>> {
    let options = operational::ExploreOptions {
        max_states: 300_000,
        ..operational::ExploreOptions::default()
    };
    let model = Definition::px86(test.platform);
    let found = explore(&test.program, &test.observe, &model, &options).ok()?;
    Some(found.outcomes.into_iter().collect())
}

/// Tests that are native programs, with their outcomes.
fn tests(recovery: bool, by: By) -> (Vec<String>, Vec<(Test, Vec<LitmusOutcome>)>) {
    let chosen = corpus().into_iter().filter_map(|(name, test)| {
        let fits = test.observe.is_recovery() == recovery && generate::is_native(&test, by);
        let outcomes = defined(&test).filter(|o| fits && o.len() < 250)?;
        Some((name, (test, outcomes)))
    });
    let chosen: (Vec<_>, Vec<_>) = chosen.unzip();
    // None is left out.
    let all = corpus().into_iter().filter(|(_, test)| {
        test.observe.is_recovery() == recovery && generate::is_native(test, by)
    });
    assert_eq!(chosen.0.len(), all.count());
    chosen
}

fn build(tests: &[(Test, Vec<LitmusOutcome>)], by: By, besides: Besides, to: &Path) -> PathBuf {
    let (source, program) = (to.join("litmus.c"), to.join("litmus"));
    std::fs::write(&source, generate::program(tests, by, besides)).expect("writable");
    let arguments = ["-w", "-O1", "-mclwb", "-mclflushopt", "-I"].map(Into::into);
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
    let rest = [
        include.into(),
        source.into(),
        "-o".into(),
        program.clone().into(),
    ];
    let arguments: Vec<std::ffi::OsString> = arguments.into_iter().chain(rest).collect();
    let mut clang = compiler::command(Language::C, &arguments).expect("clang is installed");
    assert!(clang.command.status().expect("clang runs").success());
    program
}

fn serve(path: &Path, number: usize) -> Server {
    let mut program = Program::new(path).arguments([number.to_string()]);
    program.isolation = Isolation::Auto;
    Server::start(&program).expect("serves")
}

/// Lines that a thread may have non-temporal stores to, and one of its own.
fn streams(test: &Test) -> usize {
    let code = test.program.threads.iter().flat_map(|thread| &thread.body);
    let mut lines: Vec<_> = code
        .filter_map(|instr| match *instr {
            Instr::NtStore { var, .. } => Some(test.program.vars[usize::from(var.0)].line),
            _ => None,
        })
        .collect();
    lines.sort_unstable();
    lines.dedup();
    lines.len() + 1
}

/// The exit codes of all schedules.
fn codes(path: &Path, number: usize, test: &Test) -> Result<BTreeSet<i32>, String> {
    let mut server = serve(path, number);
    let count = test.program.threads.len() + 1;
    let mut threads = NativeThreads::new(&mut server, Job::default(), count, Model::Tso)
        .with_streams(streams(test));
    let mut codes = BTreeSet::new();
    let mut strange = None;
    let found = saturate(
        &mut threads,
        Preempt::Auto,
        Options::default(),
        |threads, _| match &threads.outcome {
            Ended::Exited { code } => {
                codes.insert(*code);
                ControlFlow::Continue(())
            }
            other => {
                strange = Some(format!("{other:?}"));
                ControlFlow::Break(())
            }
        },
    );
    match (found, strange) {
        (Err(error), _) => Err(error.to_string()),
        (_, Some(outcome)) => Err(outcome),
        (Ok(found), None) if !found.counts.complete => Err(format!("{:?}", found.counts)),
        _ if threads.crowded() => Err("too few streams".to_owned()),
        _ => Ok(codes),
    }
}

/// A recovery: the same program after a power failure.
struct Recovery {
    server: Server,
    codes: Vec<i32>,
}

impl Subject for Recovery {
    fn run(&mut self, job: &subject::Job<'_>) -> Result<Execution, SubjectError> {
        let mut image = Image::default();
        let base = landfall_model::image::Image::default();
        let lines = job.image.delta(&base);
        for (line, bytes) in lines.chain(job.overrides.iter().copied()) {
            image.write(line.start().0, &bytes);
        }
        let run = Job {
            image,
            failures: job.failures,
            ..Job::default()
        };
        let execution = self
            .server
            .run(&run)
            .map_err(|error| SubjectError::CannotRun(error.to_string()))?;
        let Ended::Exited { code } = execution.outcome else {
            let why = format!("{:?}", execution.outcome);
            return Err(SubjectError::CannotRun(why));
        };
        self.codes.push(code);
        let events = translate(&execution.events);
        Ok(Execution::new(events, subject::Ended::Well))
    }
}

/// The exit codes of recoveries after all power failures of all schedules.
fn recovered(path: &Path, number: usize, test: &Test) -> Result<BTreeSet<i32>, String> {
    let mut server = serve(path, number);
    let mut recovery = Recovery {
        server: serve(path, number),
        codes: Vec::new(),
    };
    let count = test.program.threads.len() + 1;
    let mut threads = NativeThreads::new(&mut server, Job::default(), count, Model::Tso)
        .with_streams(streams(test));
    threads.persist();
    let options = Options {
        persistency: Persistency::Lines,
        ..Options::default()
    };
    let mut power = Power::new(landfall_model::image::Image::default(), test.platform);
    let mut judge = judging();
    let mut wrong = None;
    let found = saturate(&mut threads, Preempt::Auto, options, |threads, search| {
        if search.racy {
            return ControlFlow::Continue(());
        }
        let line = |object| threads.line(object).unwrap_or(Line(u64::MAX / 64));
        match power.look(&mut recovery, search, line) {
            Ok(traced) => {
                judge.look(&mut power, &traced, search, &mut Called(&line));
                ControlFlow::Continue(())
            }
            Err(error) => {
                wrong = Some(error.to_string());
                ControlFlow::Break(())
            }
        }
    });
    match found {
        Err(error) => return Err(error.to_string()),
        Ok(found) if found.counts.blocked > 0 => return Err(format!("{:?}", found.counts)),
        Ok(_) => {}
    }
    if let Some(wrong) = wrong {
        return Err(wrong);
    }
    if recovery.codes.len() != power.behaviours.len() {
        return Err(format!(
            "{} runs, {} behaviours",
            recovery.codes.len(),
            power.behaviours.len()
        ));
    }
    // What shows a behaviour is a schedule of its own, that nobody has followed yet.
    let order = threads.order(Persistency::Lines);
    for behaviour in &power.behaviours {
        let Crash {
            schedule, points, ..
        } = &behaviour.crash;
        if let Err(error) = Replayed::run(&mut threads, order, schedule, points) {
            return Err(format!("{schedule:?}: {error}"));
        }
    }
    let is_robust = robust(judge);
    if interpreted(test).is_some_and(|robust| robust != is_robust) {
        return Err(format!("robust: {is_robust}"));
    }
    let codes = recovery.codes.into_iter();
    Ok(codes.filter(|&code| code != generate::TOO_EARLY).collect())
}

/// The exit codes of recoveries after all power failures of a run without threads.
fn recovered_alone(path: &Path, number: usize, test: &Test) -> Result<BTreeSet<i32>, String> {
    let mut recovery = Recovery {
        server: serve(path, number),
        codes: Vec::new(),
    };
    let first = recovery.server.run(&Job::default());
    let first = first.map_err(|error| error.to_string())?;
    let events = translate(&first.events);
    let log = Execution::new(events, subject::Ended::Well).log(test.platform);
    let options = recovery::Options {
        platform: test.platform,
        ..recovery::Options::default()
    };
    let (mut forest, mut found) = (Forest::default(), Searched::default());
    let base = landfall_model::image::Image::default();
    recovery::search(
        &mut recovery,
        &mut forest,
        &base,
        &log,
        &options,
        &mut found,
    )
    .map_err(|error| error.to_string())?;
    let codes = recovery.codes.into_iter();
    Ok(codes.filter(|&code| code != generate::TOO_EARLY).collect())
}

/// Lines are called as the search calls them, sites what they are.
struct Called<'a>(&'a dyn Fn(u32) -> Line);

impl Names for Called<'_> {
    fn line(&self, object: u32) -> Line {
        (self.0)(object)
    }

    fn site(&mut self, site: u32) -> u32 {
        site
    }
}

fn judging() -> Judge {
    let checkers = || -> Vec<Box<dyn Checker>> { vec![Box::new(Robustness::across_schedules())] };
    Judge::new(Box::new(checkers), Limits::default())
}

fn robust(judge: Judge) -> bool {
    let verdicts = judge.finish();
    assert!(verdicts.walked.is_complete());
    verdicts.checkers.iter().all(|c| c.findings().is_empty())
}

/// Is the test robust where it is not native? (`prove` says the same: crates/prove/tests/schedules.rs.)
fn interpreted(test: &Test) -> Option<bool> {
    let Observe::Recover(vars) = &test.observe else {
        return None;
    };
    let program = schedules::translate(test)?;
    let mut recovery = schedules::Recovery {
        program: &program,
        vars,
        hasty: false,
        paths: Vec::new(),
    };
    let options = Options {
        persistency: Persistency::Lines,
        ..Options::default()
    };
    let mut power = Power::new(schedules::initial(&program), test.platform);
    let mut judge = judging();
    let mut threads = Interpreter::new(&program, landfall_testkit::program::Model::Tso);
    let line = |object: u32| Line(object.into());
    let found = saturate(&mut threads, Preempt::Auto, options, |_, search| {
        let traced = power.look(&mut recovery, search, line).expect("recovers");
        judge.look(&mut power, &traced, search, &mut Called(&line));
        ControlFlow::Continue(())
    });
    found.expect("runs");
    Some(robust(judge))
}

fn compare(
    name: &str,
    outcomes: &[LitmusOutcome],
    codes: Result<BTreeSet<i32>, String>,
) -> Option<String> {
    let codes = match codes {
        Ok(codes) => codes,
        Err(error) => return Some(format!("{name}: {error}")),
    };
    let wanted: BTreeSet<i32> = (1..=outcomes.len() as i32).collect();
    let missing: Vec<&LitmusOutcome> = wanted
        .difference(&codes)
        .map(|&code| &outcomes[code as usize - 1])
        .collect();
    let unexpected = codes.contains(&generate::UNEXPECTED);
    (codes != wanted).then(|| format!("{name}: not seen: {missing:?}; others: {unexpected}"))
}

/// Builds the tests and compares each with its definition.
fn are_as_defined(
    directory: &str,
    names: &[String],
    tests: &[(Test, Vec<LitmusOutcome>)],
    (by, besides): (By, Besides),
    run: impl Fn(&Path, usize, &Test) -> Result<BTreeSet<i32>, String>,
) {
    let scratch = Scratch::new(directory);
    let program = build(tests, by, besides, &scratch.0);
    let wrong: Vec<String> = (names.iter().zip(tests).enumerate())
        .filter_map(|(number, (name, (test, outcomes)))| {
            compare(name, outcomes, run(&program, number, test))
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        tests.len(),
        wrong.join("\n")
    );
}

#[test]
fn outcomes_of_recoveries() {
    let (names, tests) = tests(true, By::Threads);
    assert!(tests.len() > 85, "{}", tests.len());
    let how = (By::Threads, Besides::Nothing);
    are_as_defined("litmus-recovery", &names, &tests, how, recovered);
}

/// Tests of one thread without threads, also those with non-temporal stores: by the search of one log.
#[test]
fn outcomes_of_recoveries_of_one_thread() {
    let (names, tests) = tests(true, By::Main);
    let streams = |instr: &Instr| matches!(instr, Instr::NtStore { .. });
    let streaming = |(test, _): &&(Test, _)| test.program.threads[0].body.iter().any(streams);
    assert!(tests.iter().filter(streaming).count() > 10);
    let how = (By::Main, Besides::OwnStores);
    are_as_defined("litmus-alone", &names, &tests, how, recovered_alone);
}

/// `LANDFALL_RANDOM_TESTS` says how many.
#[test]
fn outcomes_of_random_recoveries() {
    let many =
        std::env::var("LANDFALL_RANDOM_TESTS").map_or(60, |many| many.parse().expect("a number"));
    let mut names = Vec::new();
    let mut tests = Vec::new();
    for number in 0..many {
        let text = random::test(number);
        let test = parse("random.lit", &text).unwrap_or_else(|error| panic!("{text}{error}"));
        if let Some(outcomes) = defined(&test).filter(|outcomes| outcomes.len() < 250) {
            names.push(text);
            tests.push((test, outcomes));
        }
    }
    assert!(
        tests.len() as u64 > many * 3 / 4,
        "{} of {many}",
        tests.len()
    );
    for (directory, besides) in [
        ("litmus-random", Besides::Nothing),
        ("litmus-noisy", Besides::OwnStores),
    ] {
        let how = (By::Threads, besides);
        are_as_defined(directory, &names, &tests, how, recovered);
    }
}

#[test]
fn outcomes_without_a_crash() {
    let (names, tests) = tests(false, By::Threads);
    assert!(tests.len() > 100, "{}", tests.len());
    assert!(tests.iter().all(|(test, _)| test.platform == Platform::Adr));
    for (directory, besides) in [
        ("litmus", Besides::Nothing),
        ("litmus-besides", Besides::OwnStores),
    ] {
        are_as_defined(directory, &names, &tests, (By::Threads, besides), codes);
    }
}
