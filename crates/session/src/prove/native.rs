//! A refutation, seen natively: the program is built and run, and a power failure of that run is looked for that leaves what the
//! refuting execution's failure left, and after which the program fails. What is found is kept as a file for `landfall replay`.

use crate::diagnose::finding::{kind, what};
use crate::names::ProgramNames;
use crate::programs::{Failure, LoggedRun, Programs, Replayer};
use crate::prove::{ProveOptions, guide};
use crate::witness::{build_command, build_file, digest, recorded_failure, recorded_threads};
use landfall_finding::{Finding, Kind, RecordedMemory, RecordedOutcome, Severity, Witness, Word};
use landfall_model::log::{Cut, Version};
use landfall_model::order::Platform;
use landfall_native::compiler::{self, Language};
use landfall_native::{HeapChecks, Job, Model, NativeThreads, Outcome, Program, Server};
use landfall_prove::witness::{Fate, Refutation};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The file that replays a refutation; otherwise why there is none.
pub(crate) fn replayable(
    files: &[PathBuf],
    args: &ProveOptions,
    language: Language,
    refutation: &Refutation,
    property: &str,
    out: &Path,
) -> anyhow::Result<Result<PathBuf, String>> {
    if let Some((name, value)) = refutation.inputs.iter().find(|(_, value)| *value != 0) {
        return Ok(Err(format!(
            "it needs an input that native runs do not have ({name} is {value})"
        )));
    }
    let Some(_claimed) = crate::results::claim(out).map_err(anyhow::Error::msg)? else {
        anyhow::bail!(crate::results::taken(out));
    };
    let path = out.join("program");
    let beside = crate::results::beside(&path);
    let mut arguments: Vec<OsString> = args.compiler_flags.clone();
    arguments.extend(files.iter().map(|file| file.clone().into_os_string()));
    let build = build_command(language, &arguments);
    arguments.extend(["-o".into(), beside.clone().into_os_string()]);
    let status = compiler::command(language, &arguments)?.command.status()?;
    if !status.success() {
        return Ok(Err("the program did not build".to_owned()));
    }
    crate::results::list(out, "program")?;
    std::fs::rename(&beside, &path)?;
    let mut program = Program::new(path);
    program.arguments.clone_from(&args.arguments);
    // With threads the heap is looked at, as `check` does.
    let threaded = refutation.threads.len() > 1;
    if threaded {
        program.heap = HeapChecks::On;
    }
    let programs = Programs {
        program,
        recover: None,
        platform: Platform::Adr,
        tear: false,
        job: Job::default(),
        recovery: None,
    };
    let mut replayer = Replayer::open(&programs)?;
    if threaded {
        match scheduled(&programs, refutation) {
            Ok(job) => replayer.set_job(job),
            Err(error) => return Ok(Err(format!("its schedule cannot be followed: {error}"))),
        }
    }
    let Some((failures, runs)) = shown(&mut replayer, refutation, property)? else {
        let why = match refutation.failed {
            true => "no power failure of the native run of that schedule leads to it",
            false => "the native run that was made of that schedule does not lead to it",
        };
        return Ok(Err(why.to_owned()));
    };
    let last = &runs[runs.len() - 1].execution.outcome;
    let names = replayer.names(failures.len());
    let here = std::env::current_dir().unwrap_or_default();
    let left = runs.iter().zip(&failures);
    let kind = match property {
        "robust" => Kind::Robustness,
        _ => kind(last),
    };
    let witness = Witness {
        tool: "landfall".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        directory: Word::new(here.as_os_str()),
        program: build_file(&programs.program, Some(build)),
        recover: None,
        persistent_memory: RecordedMemory {
            platform: "adr".to_owned(),
            dir: None,
            pools: None,
            heap: false,
            heap_offset: 0,
            fresh: None,
            heap_checks: threaded,
            tear: false,
            at_first: digest(replayer.base()),
        },
        events: programs.job.limits.events,
        stdin: None,
        client: None,
        inputs: Vec::new(),
        sv_comp: programs.program.sv_comp,
        threads: recorded_threads(replayer.job()),
        recovery_threads: None,
        failures: left
            .map(|(run, failure)| recorded_failure(failure, &run.left(failure), replayer.base()))
            .collect(),
        outcome: RecordedOutcome {
            kind: crate::diagnose::finding::kind(last).to_string(),
            text: what(last, names),
        },
        finding: Finding::new(
            kind,
            Severity::Error,
            format!("refuted: {}", refutation.broken.join("; ")),
        ),
    };
    let name = match property {
        "robust" => "B2.json",
        _ => "B1.json",
    };
    crate::results::write_listed(out, name, &serde_json::to_vec_pretty(&witness)?)?;
    Ok(Ok(out.join(name)))
}

/// A run in which the threads take turns as in the refutation.
fn scheduled(programs: &Programs, refutation: &Refutation) -> anyhow::Result<Job> {
    let mut server = Server::start(&programs.program)?;
    let names = ProgramNames::of(&server);
    let threads = refutation.threads.len();
    let mut streams = 0;
    loop {
        let mut native = NativeThreads::new(&mut server, programs.job.clone(), threads, Model::Tso)
            .with_streams(streams);
        native.persist();
        native.turns_happen();
        let schedule = guide::schedule(&mut native, &names, refutation);
        match (schedule, native.more_streams) {
            (Ok(schedule), _) => return Ok(native.replay(&schedule)),
            (Err(_), Some(more)) => streams = more,
            (Err(error), None) => return Err(error.into()),
        }
    }
}

/// Runs until one shows what was refuted: its power failures, and its executions.
fn shown(
    replayer: &mut Replayer,
    refutation: &Refutation,
    property: &str,
) -> anyhow::Result<Option<(Vec<Failure>, Vec<LoggedRun>)>> {
    let first = replayer.play(&[], false)?;
    if refutation.alone || !refutation.failed {
        let fails = failed(&first[0].execution.outcome);
        return Ok(fails.then(|| (Vec::new(), first)));
    }
    for (apart, failure) in failures(&first[0], refutation) {
        if property == "robust" && apart.0 > 0 {
            break; // what was left is all that is wrong
        }
        let runs = replayer.play(std::slice::from_ref(&failure), false)?;
        let ended = runs.last().map(|run| failed(&run.execution.outcome));
        if ended == Some(true) || property == "robust" {
            // As it will be replayed: what is left of a call on the stack, and copied as padding, depends on what was told of it.
            let runs = replayer.play(std::slice::from_ref(&failure), true)?;
            return Ok(Some((vec![failure], runs)));
        }
    }
    Ok(None)
}

fn failed(outcome: &Outcome) -> bool {
    !outcome.is_ok()
}

/// Power failures that are tried natively.
const TRIED: usize = 40;

/// Failures of this execution that leave what the refutation found, or nearly so: bytes that no statement wrote (padding that
/// was copied) are zero in a proof and anything in a run. The nearest first.
fn failures(run: &LoggedRun, refutation: &Refutation) -> Vec<((usize, u32), Failure)> {
    let log = &run.log;
    let mut all = Vec::new();
    for cut in (0..=log.end().0).map(Cut) {
        let (mut old, mut apart, mut off) = (Vec::new(), 0, 0);
        for line in log.lines() {
            let start = line.start().0;
            let inside = |found: &landfall_prove::witness::FoundValue| {
                let at = landfall_native::persistent_offset(found.at?)?;
                let place = at.checked_sub(start).filter(|&place| place < 64)?;
                Some((place as usize, usize::from(found.width / 8), found.value))
            };
            let wanted: Vec<_> = refutation.found.iter().filter_map(inside).collect();
            // Both see the same stores to a line, one by one; where the heap keeps something of its own, more natively.
            let survivors = refutation.steps.iter().filter(|step| {
                let at = step.at.and_then(landfall_native::persistent_offset);
                let here = at.is_some_and(|at| at / 64 == start / 64);
                here && !step.joined && step.fate == Fate::Survived
            });
            let survivors = survivors.count() as u32;
            let different = |version: Version| {
                let mut bytes = run.found.line(line);
                log.apply(line, version, &mut bytes);
                let differs = |&&(at, size, value): &&(usize, usize, u64)| {
                    // Native runs have volatile memory elsewhere: an address says nothing, but which store it is does.
                    match landfall_prove::c::is_volatile(value) {
                        true => version.0 != survivors,
                        false => value.to_le_bytes()[..size] != bytes[at..at + size],
                    }
                };
                wanted.iter().filter(differs).count()
            };
            let (from, to) = (log.frontier(line, cut), log.newest(line, cut));
            let versions = (from.0..=to.0).rev().map(Version);
            let Some(nearest) =
                versions.min_by_key(|&version| (different(version), version.0.abs_diff(survivors)))
            else {
                continue;
            };
            apart += different(nearest);
            off += nearest.0.abs_diff(survivors);
            if nearest != to {
                old.push((line, nearest));
            }
        }
        all.push(((apart, off), Failure { cut, old }));
    }
    all.sort_by_key(|(apart, failure)| (*apart, failure.cut));
    all.truncate(TRIED);
    all
}
