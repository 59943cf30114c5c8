//! A refutation, seen natively: the program is built and run, and a power failure of that run is looked for that leaves what the
//! refuting execution's failure left, and after which the program fails. What is found is kept as a file for `landfall replay`.

use super::ProveArgs;
use crate::check::finding::{kind, what};
use crate::scene::{Act, Failure, Scene, Stage};
use crate::witness::{Build, Built, Ended, Memory, PowerFailure, Threads, Witness, Word, digest};
use landfall_model::log::{Cut, Version};
use landfall_model::order::Platform;
use landfall_native::compiler::{self, Language};
use landfall_native::{Job, Outcome, Program};
use landfall_prove::witness::Witness as Refutation;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where the power failed, if the program's own run shows it; otherwise why not.
pub(super) fn replayable(
    args: &ProveArgs,
    language: Language,
    refutation: &Refutation,
    out: &Path,
) -> anyhow::Result<Result<PathBuf, String>> {
    if let Some((name, value)) = refutation.inputs.iter().find(|(_, value)| *value != 0) {
        return Ok(Err(format!(
            "it needs an input that native runs do not have ({name} is {value})"
        )));
    }
    if !refutation.failed {
        return Ok(Err("it fails without a power failure: run it".to_owned()));
    }
    std::fs::create_dir_all(out)?;
    let path = out.join("program");
    let mut arguments: Vec<OsString> = args.compiler_flags.clone();
    arguments.extend(args.files.iter().map(|file| file.clone().into_os_string()));
    let build = Build::new(language, &arguments);
    arguments.extend(["-o".into(), path.clone().into_os_string()]);
    let status = compiler::command(language, &arguments)?.command.status()?;
    if !status.success() {
        return Ok(Err("the program did not build".to_owned()));
    }
    let scene = Scene {
        program: Program::new(path),
        recover: None,
        platform: Platform::Adr,
        tear: false,
        job: Job::default(),
    };
    let mut stage = Stage::open(&scene)?;
    let first = stage.play(&[], false)?;
    let mut shown = None;
    for failure in failures(&first[0], refutation) {
        let acts = stage.play(std::slice::from_ref(&failure), false)?;
        if acts
            .last()
            .is_some_and(|act| failed(&act.execution.outcome))
        {
            shown = Some((failure, acts));
            break;
        }
    }
    let Some((failure, acts)) = shown else {
        return Ok(Err(
            "the program's own run does not come to it: it takes another schedule".to_owned(),
        ));
    };
    let last = &acts[acts.len() - 1].execution.outcome;
    let names = stage.names(1);
    let here = std::env::current_dir().unwrap_or_default();
    let witness = Witness {
        tool: "landfall".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        directory: Word::new(here.as_os_str()),
        program: Built::new(&scene.program, Some(build)),
        recover: None,
        persistent_memory: Memory {
            platform: "adr".to_owned(),
            dir: None,
            heap: false,
            heap_checks: false,
            tear: false,
            at_first: digest(stage.base()),
        },
        events: scene.job.limits.events,
        threads: Threads::of(stage.job()),
        failures: vec![PowerFailure::new(
            &failure,
            &acts[0].left(&failure),
            stage.base(),
        )],
        outcome: Ended {
            kind: kind(last).to_owned(),
            text: what(last, names),
        },
        finding: serde_json::json!({ "kind": kind(last), "proof": refutation.broken }),
    };
    let file = out.join("B1.json");
    std::fs::write(&file, serde_json::to_vec_pretty(&witness)?)?;
    Ok(Ok(file))
}

fn failed(outcome: &Outcome) -> bool {
    !matches!(outcome, Outcome::Exited { code: 0 })
}

/// Power failures that are tried natively.
const TRIED: usize = 40;

/// Failures of this execution that leave what the refutation found, or nearly so: bytes that no statement wrote (padding that
/// was copied) are zero in a proof and anything in a run. The nearest first.
fn failures(act: &Act, refutation: &Refutation) -> Vec<Failure> {
    let log = &act.log;
    let mut all = Vec::new();
    for cut in (0..=log.end().0).map(Cut) {
        let (mut old, mut apart) = (Vec::new(), 0);
        for line in log.lines() {
            let start = line.start().0;
            let inside = |found: &landfall_prove::witness::Found| {
                let at = landfall_native::persistent_offset(found.at?)?;
                let place = at.checked_sub(start).filter(|&place| place < 64)?;
                Some((place as usize, usize::from(found.width / 8), found.value))
            };
            let wanted: Vec<_> = refutation.found.iter().filter_map(inside).collect();
            let different = |version: Version| {
                let mut bytes = act.found.line(line);
                log.apply(line, version, &mut bytes);
                let differs = |&&(at, size, value): &&(usize, usize, u64)| {
                    value.to_le_bytes()[..size] != bytes[at..at + size]
                };
                wanted.iter().filter(differs).count()
            };
            let (from, to) = (log.frontier(line, cut), log.newest(line, cut));
            let versions = (from.0..=to.0).rev().map(Version);
            let Some(nearest) = versions.min_by_key(|&version| different(version)) else {
                continue;
            };
            apart += different(nearest);
            if nearest != to {
                old.push((line, nearest));
            }
        }
        all.push((apart, Failure { cut, old }));
    }
    all.sort_by_key(|(apart, failure)| (*apart, failure.cut));
    all.into_iter()
        .take(TRIED)
        .map(|(_, failure)| failure)
        .collect()
}
