//! Between witnesses, which are files, and programs that run.

use crate::programs::{Failure, Programs, RecoverySchedule};
use crate::recorded_client::{client_of, hexadecimal};
use anyhow::{Context, bail};
use landfall_finding::{
    BuildCommand, Digest, ImageLine, OldLine, ProgramFile, RecordedFailure, RecordedInput,
    RecordedSignals, RecordedStop, RecordedThreads, RecordedTransactions, StdinFile, Witness, Word,
};
use landfall_model::image::Image;
use landfall_model::line::{LINE_BYTES, Line};
use landfall_model::log::{Cut, Version};
use landfall_model::order::Platform;
use landfall_native::FreshBlocks;
use landfall_native::compiler::{self, Language};
use landfall_native::{
    ANY_CALL, HeapChecks, Htm, HtmCache, HtmFailures, Input, InputValue, Job, KnownSignals,
    MallocMetadata, Program, StopAt,
};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

/// Reads the file.
pub(crate) fn read(path: &Path) -> anyhow::Result<Witness> {
    let text = std::fs::read(path).with_context(|| path.display().to_string())?;
    let witness: Witness = serde_json::from_slice(&text)
        .with_context(|| format!("{}: not a witness of landfall check", path.display()))?;
    Ok(witness)
}

/// What every execution read from its standard input.
fn input(given: &StdinFile, here: &Path) -> anyhow::Result<Input> {
    let path = given.file.path();
    let name = path.display();
    let input = Input::open(&here.join(&path))
        .with_context(|| format!("{name}: what the program read from its standard input"))?;
    if input.length() != given.bytes {
        bail!("{name}: not what the program read from its standard input: its size is another");
    }
    Ok(input)
}

/// What calls were told that ask for any value, for the file.
pub(crate) fn recorded_inputs(inputs: &[InputValue]) -> Vec<RecordedInput> {
    let recorded = |input: &InputValue| RecordedInput {
        failures: input.failures,
        thread: input.thread,
        call: (input.call != ANY_CALL).then_some(input.call),
        value: input.value,
    };
    inputs.iter().map(recorded).collect()
}

fn input_value(recorded: &RecordedInput) -> InputValue {
    InputValue {
        failures: recorded.failures,
        thread: recorded.thread,
        call: recorded.call.unwrap_or(ANY_CALL),
        value: recorded.value,
    }
}

/// Up to so many threads, nobody asks how many there are.
const FEW: u16 = landfall_native::FEW_THREADS as u16;

/// The schedule of the last recovery, for the file.
pub(crate) fn recovery_threads(recovery: &RecoverySchedule) -> Option<RecordedThreads> {
    recorded_threads(&Job {
        schedule: Some(recovery.schedule.clone()),
        threads: recovery.threads.clone(),
        ..Job::default()
    })
}

/// The schedule of a job, for the file.
pub(crate) fn recorded_threads(job: &Job) -> Option<RecordedThreads> {
    let schedule = job.schedule.clone()?;
    let points = job.threads.points.as_ref();
    let streamed = job.threads.streamed.as_ref();
    let streamed = streamed.filter(|_| job.threads.non_temporal);
    Some(RecordedThreads {
        model: if job.threads.buffered { "tso" } else { "sc" }.to_owned(),
        schedule,
        streams: job.threads.streams,
        most: match job.threads.most {
            0..=FEW if job.threads.streams == 0 => 0,
            most => most,
        },
        streamed: streamed.map(|lines| lines.to_vec()),
        everywhere: job.threads.everywhere,
        sections: job.threads.sections,
        persistency: job.threads.persistency,
        creations: job.threads.creations,
        mappings: job.threads.mappings,
        transactions: (job.threads.transactions).then(|| RecordedTransactions {
            failures: job.threads.htm.failures.name().to_owned(),
            cache: (job.threads.htm.cache.sets, job.threads.htm.cache.ways),
        }),
        signals: job.threads.signals.as_ref().map(|known| RecordedSignals {
            sent: known.sent.clone(),
            touched: known.touched.clone(),
            main_blocks: known.main_blocks,
            timer: job.threads.timer_signals,
        }),
        stop: job.threads.stop.as_ref().map(|stop| RecordedStop {
            thread: stop.thread,
            origin: stop.origin,
            bytes: stop.bytes,
            steps: stop.steps,
        }),
        points: points.map_or_else(Vec::new, |points| points.to_vec()),
    })
}

fn prepare(threads: &RecordedThreads, job: &mut Job) -> anyhow::Result<()> {
    job.schedule = Some(threads.schedule.clone());
    job.threads.buffered = match threads.model.as_str() {
        "tso" => true,
        "sc" => false,
        other => bail!("the witness names a model `{other}`; tso or sc"),
    };
    job.threads.streams = threads.streams;
    job.threads.most = match threads.most {
        0 => FEW,
        most => most,
    };
    job.threads.streamed = threads.streamed.clone().map(Arc::new);
    job.threads.non_temporal = threads.streamed.is_some();
    job.threads.everywhere = threads.everywhere;
    job.threads.sections = threads.sections;
    job.threads.persistency = threads.persistency;
    job.threads.creations = threads.creations;
    job.threads.mappings = threads.mappings;
    if let Some(transactions) = &threads.transactions {
        let (sets, ways) = transactions.cache;
        let named = HtmFailures::named(&transactions.failures);
        job.threads.transactions = true;
        job.threads.htm = Htm {
            failures: named.context("the witness says why transactions fail in a word that is none of full, retry and stm")?,
            cache: HtmCache { sets, ways },
        };
    }
    if let Some(signals) = &threads.signals {
        job.threads.signals = Some(Arc::new(KnownSignals {
            sent: signals.sent.clone(),
            touched: signals.touched.clone(),
            main_blocks: signals.main_blocks,
        }));
        job.threads.timer_signals = signals.timer;
    }
    job.threads.stop = threads.stop.as_ref().map(|stop| StopAt {
        thread: stop.thread,
        origin: stop.origin,
        bytes: stop.bytes,
        steps: stop.steps,
    });
    job.threads.points = Some(Arc::new(threads.points.clone()));
    Ok(())
}

/// A program, for the file.
pub(crate) fn build_file(program: &Program, build: Option<BuildCommand>) -> ProgramFile {
    ProgramFile {
        path: Word::new(program.path.as_os_str()),
        arguments: program.arguments.iter().map(|a| Word::new(a)).collect(),
        build,
    }
}

/// How a program was built, for the file.
pub(crate) fn build_command(language: Language, arguments: &[OsString]) -> BuildCommand {
    BuildCommand {
        language: match language {
            Language::C => "c".to_owned(),
            Language::Cxx => "c++".to_owned(),
        },
        arguments: arguments.iter().map(|a| Word::new(a)).collect(),
    }
}

/// The program of a witness, built again if it is gone.
fn program(built: &ProgramFile, here: &Path) -> anyhow::Result<Program> {
    let path = built.path.path();
    if !here.join(&path).exists() {
        let Some(build) = &built.build else {
            bail!(
                "{}: no such program, and no sources to build it from",
                path.display()
            );
        };
        build_again(build, &path, here)?;
    }
    let mut program = Program::new(path).arguments(built.arguments.iter().map(Word::os));
    program.directory = Some(here.to_owned());
    Ok(program)
}

fn build_again(build: &BuildCommand, path: &Path, here: &Path) -> anyhow::Result<()> {
    let language = match build.language.as_str() {
        "c" => Language::C,
        "c++" => Language::Cxx,
        other => bail!("the witness names a language `{other}`; c or c++"),
    };
    let path = here.join(path);
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    }
    // Others may do the same at the same time.
    let beside = crate::results::beside(&path);
    let mut arguments: Vec<OsString> = build.arguments.iter().map(Word::os).collect();
    arguments.extend(["-o".into(), beside.as_os_str().to_owned()]);
    let mut command = compiler::command_in(Some(here), language, &arguments)?.command;
    if !command.status()?.success() {
        bail!("{}: the program did not build", path.display());
    }
    std::fs::rename(&beside, &path).with_context(|| path.display().to_string())
}

/// The programs of a witness as they were checked, in that directory.
pub(crate) fn programs(witness: &Witness, here: &Path) -> anyhow::Result<Programs> {
    let memory = &witness.persistent_memory;
    let platform = match memory.platform.as_str() {
        "adr" => Platform::Adr,
        "eadr" => Platform::Eadr,
        other => bail!("the witness names a platform `{other}`; adr or eadr"),
    };
    let given = witness.stdin.as_ref();
    let input = given.map(|given| input(given, here)).transpose()?;
    let client = witness.client.as_ref().map(client_of);
    let client = client.transpose()?;
    let program = |built: &ProgramFile| -> anyhow::Result<Program> {
        let mut program = program(built, here)?;
        program.pm_dir = memory.dir.as_ref().map(|dir| here.join(dir.path()));
        program.pools = memory.pools.as_ref().map(|dir| here.join(dir.path()));
        program.stdin.clone_from(&input);
        program.client.clone_from(&client);
        program.pm_heap = memory.heap.then_some(MallocMetadata::Modelled);
        program.heap_offset = memory.heap_offset;
        program.fresh = match memory.fresh.as_deref() {
            None => FreshBlocks::Zero,
            Some("malloc") => FreshBlocks::GarbageOfMalloc,
            Some("all") => FreshBlocks::Garbage,
            Some(other) => {
                bail!("the witness says that fresh blocks hold `{other}`; malloc or all")
            }
        };
        program.sv_comp = witness.sv_comp;
        if memory.heap_checks {
            program.heap = HeapChecks::On;
        }
        Ok(program)
    };
    let mut job = Job::default();
    job.limits.events = witness.events;
    job.inputs = Arc::new(witness.inputs.iter().map(input_value).collect());
    if let Some(threads) = &witness.threads {
        prepare(threads, &mut job)?;
    }
    let recovery = witness.recovery_threads.as_ref();
    let recovery = recovery.map(|threads| {
        let mut job = Job::default();
        prepare(threads, &mut job)?;
        anyhow::Ok(RecoverySchedule {
            schedule: threads.schedule.clone(),
            threads: job.threads,
        })
    });
    Ok(Programs {
        recovery: recovery.transpose()?,
        program: program(&witness.program)?,
        recover: witness.recover.as_ref().map(program).transpose()?,
        platform,
        tear: memory.tear,
        job,
    })
}

/// A power failure, for the file.
pub(crate) fn recorded_failure(failure: &Failure, left: &Image, base: &Image) -> RecordedFailure {
    let lines = left.delta(base).take(MOST_LINES + 1).count();
    RecordedFailure {
        cut: failure.cut.0,
        old: (failure.old.iter())
            .map(|&(line, version)| OldLine {
                line: format!("{:#x}", line.start().0),
                version: version.0,
            })
            .collect(),
        image: image_lines(left, base),
        image_digest: (lines > MOST_LINES).then(|| digest(left)),
    }
}

/// The power failures of a witness.
pub(crate) fn failures(witness: &Witness) -> anyhow::Result<Vec<Failure>> {
    witness.failures.iter().map(failure).collect()
}

fn failure(recorded: &RecordedFailure) -> anyhow::Result<Failure> {
    let line = |old: &OldLine| -> anyhow::Result<(Line, Version)> {
        let digits = old.line.trim_start_matches("0x");
        let start = u64::from_str_radix(digits, 16)
            .with_context(|| format!("the witness names a line `{}`", old.line))?;
        Ok((Line(start / LINE_BYTES as u64), Version(old.version)))
    };
    let old = recorded.old.iter().map(line);
    Ok(Failure {
        cut: Cut(recorded.cut),
        old: old.collect::<anyhow::Result<Vec<_>>>()?,
    })
}

/// Lines of an image that a witness shows.
const MOST_LINES: usize = 256;

/// Where an image differs from another, in as many lines as a witness shows.
pub(crate) fn image_lines(image: &Image, base: &Image) -> Vec<ImageLine> {
    image
        .delta(base)
        .take(MOST_LINES)
        .map(|(line, bytes)| ImageLine {
            line: format!("{:#x}", line.start().0),
            bytes: hexadecimal(&bytes),
        })
        .collect()
}

/// Which fresh blocks hold garbage, as a word.
pub(crate) fn recorded_fresh(fresh: FreshBlocks) -> Option<String> {
    match fresh {
        FreshBlocks::Zero => None,
        FreshBlocks::GarbageOfMalloc => Some("malloc".to_owned()),
        FreshBlocks::Garbage => Some("all".to_owned()),
    }
}

/// A digest of an image, to notice that it is not the same any more.
pub(crate) fn digest(image: &Image) -> String {
    let nothing = image.untouched();
    let mut digest = Digest::default();
    for (line, bytes) in image.delta(&nothing) {
        digest.add(&line.0.to_le_bytes());
        digest.add(&bytes);
    }
    digest.text()
}
