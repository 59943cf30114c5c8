//! Schedules go on from where the first thread is created: every run leaves the trace, the output and the end that the same run in a
//! fork has, to the byte. The first line of each program says whether it can be so.

use crate::support::{Scratch, sources};
use landfall_explore::schedule::saturate::{Preempt, saturate};
use landfall_explore::schedule::{Options, Process};
use landfall_native::compiler::{self, Language};
use landfall_native::{
    FreshBlocks, HeapChecks, Isolation, Job, MallocMetadata, Model, NativeThreads, Program, Server,
};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/checkpoint")
}

fn build(source: &Path, to: &Path) -> PathBuf {
    let program = to.join(source.file_stem().expect("a name"));
    let arguments = [
        "-w".into(),
        "-g".into(),
        source.into(),
        "-o".into(),
        program.clone().into(),
        "-lpthread".into(),
    ];
    let mut command = compiler::command(Language::C, &arguments)
        .expect("clang is installed")
        .command;
    assert!(command.status().expect("clang runs").success());
    program
}

fn start(program: &Path, isolation: Isolation, directory: &Path) -> Server {
    let mut program = Program::new(program);
    program.isolation = isolation;
    program.directory = Some(directory.to_path_buf());
    program.pm_heap = Some(MallocMetadata::Modelled);
    program.fresh = FreshBlocks::GarbageOfMalloc;
    program.heap = HeapChecks::On;
    Server::start(&program).expect("serves")
}

/// The schedules of a search, as jobs that repeat them.
fn schedules(server: &mut Server, model: Model, persists: bool) -> Vec<Job> {
    let mut job = Job::default();
    job.threads.streamed = Some(Arc::default());
    let (mut room, mut streams) = (3, 1);
    loop {
        let mut threads =
            NativeThreads::new(server, job.clone(), room, model).with_streams(streams);
        if persists {
            threads.persist();
        }
        let options = Options {
            executions: 40,
            ..Options::default()
        };
        let mut jobs = Vec::new();
        let mut note = |threads: &NativeThreads<'_>, schedule: &[Process]| {
            let mut job = threads.replay(schedule);
            job.threads.keep = schedule.len().saturating_sub(1);
            jobs.push(job);
        };
        let found = saturate(&mut threads, Preempt::Auto, options, |threads, search| {
            let steps = search.trace().steps.iter();
            let schedule: Vec<Process> = steps.map(|step| step.process).collect();
            note(threads, &schedule);
            ControlFlow::Continue(())
        });
        // It ends where it has enough, or begins anew with more room.
        let again = found.is_err() && jobs.len() < 40;
        if !again || !threads.makes_room(32, (&mut room, &mut streams), &mut job.threads) {
            return jobs;
        }
    }
}

/// The same job, but its run is left on the way.
fn cut_short(job: &Job) -> Job {
    let mut job = job.clone();
    let schedule = job.schedule.as_mut().expect("a schedule");
    schedule.truncate(schedule.len() - schedule.len().min(3));
    job.threads.keep = schedule.len();
    job.threads.most_steps = Some(1);
    job
}

#[test]
fn a_run_that_goes_on_is_the_run_from_main() {
    let scratch = Scratch::new("checkpoint");
    let mut wrong = Vec::new();
    for source in sources(&directory()) {
        let name = source
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let program = build(&source, &scratch.0);
        let mut went_on = 0;
        for (model, persists) in [(Model::Tso, true), (Model::Tso, false), (Model::Sc, true)] {
            let mut forks = start(&program, Isolation::Fork, &scratch.0);
            let jobs = schedules(&mut forks, model, persists);
            assert!(jobs.len() > 1, "{name}: {} schedules", jobs.len());
            let mut resident = start(&program, Isolation::Restart, &scratch.0);
            // First some that end early, so that nobody has been where the others end. Then twice in that order, and once the other way
            // round.
            let cut = [
                cut_short(&jobs[0]),
                cut_short(&jobs[0]),
                cut_short(&jobs[0]),
            ];
            let all = cut
                .iter()
                .chain(&jobs)
                .chain(&jobs)
                .chain(jobs.iter().rev());
            for (number, job) in all.enumerate() {
                let run = |server: &mut Server| {
                    server
                        .run_raw(job, <[u8]>::to_vec)
                        .expect("the server answers")
                };
                let (expected, found) = (run(&mut forks), run(&mut resident));
                if expected != found {
                    let at = expected.1.iter().zip(&found.1).take_while(|(a, b)| a == b);
                    wrong.push(format!(
                        "{name} {model:?} {persists}, run {number}: {:?} after {} bytes, not {:?} after {}; the same up to {}",
                        found.0, found.1.len(), expected.0, expected.1.len(), at.count()
                    ));
                    break;
                }
                let whole = |server: &mut Server| {
                    let execution = server.run(job).expect("the server answers");
                    (execution.stdout, execution.stderr, execution.steps)
                };
                if number % 7 == 3 {
                    let (expected, found) = (whole(&mut forks), whole(&mut resident));
                    if expected != found {
                        wrong.push(format!(
                            "{name} {model:?}, run {number}: {found:?}, not {expected:?}"
                        ));
                        break;
                    }
                }
            }
            went_on += resident.went_on();
        }
        let text = std::fs::read_to_string(&source).expect("a source");
        if text.contains("went on: yes") != (went_on > 0) {
            wrong.push(format!("{name}: {went_on} runs went on"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// All that a search sees, as a number for each execution.
fn searched(server: &mut Server, model: Model) -> Vec<u64> {
    let mut job = Job::default();
    job.threads.streamed = Some(Arc::default());
    let (mut room, mut streams) = (3, 1);
    loop {
        let mut threads =
            NativeThreads::new(server, job.clone(), room, model).with_streams(streams);
        threads.persist();
        let options = Options {
            executions: 100,
            persistency: landfall_explore::schedule::Persistency::Lines,
            ..Options::default()
        };
        let mut seen = Vec::new();
        let found = saturate(&mut threads, Preempt::Auto, options, |threads, search| {
            let mut hasher = DefaultHasher::new();
            format!("{:?} {:?}", search.trace(), threads.outcome).hash(&mut hasher);
            seen.push(hasher.finish());
            ControlFlow::Continue(())
        });
        let end = format!("{:?}", found.map(|found| found.counts));
        if !threads.makes_room(32, (&mut room, &mut streams), &mut job.threads) {
            let mut hasher = DefaultHasher::new();
            end.hash(&mut hasher);
            seen.push(hasher.finish());
            return seen;
        }
    }
}

#[test]
fn a_search_in_place_is_the_search_in_forks() {
    let scratch = Scratch::new("checkpoint");
    for source in sources(&directory()) {
        let program = build(&source, &scratch.0);
        for model in [Model::Sc, Model::Tso] {
            let mut forks = start(&program, Isolation::Fork, &scratch.0);
            let mut resident = start(&program, Isolation::Restart, &scratch.0);
            let (expected, found) = (searched(&mut forks, model), searched(&mut resident, model));
            assert_eq!(expected, found, "{} {model:?}", source.display());
        }
    }
}
