//! `landfall run`: one execution of a program built with `landfall cc`, and its trace. For developers of Landfall and for
//! people who want to see what the checker sees.

use crate::exit::Exit;
use anyhow::{Context, bail};
use landfall::describe;
use landfall_native::{
    Execution, HeapChecks, Image, Isolation, Job, MallocMetadata, Outcome, Program, Record,
    RecordKind, Server, Symbols,
};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

/// Runs a program once and prints what it did to persistent memory.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// human or json
    #[arg(long, default_value = "human")]
    format: String,
    /// Start on this image: lines of `offset hex-bytes`, offsets in the persistent window.
    #[arg(long)]
    image: Option<PathBuf>,
    /// fork, restart or auto
    #[arg(long, default_value = "fork")]
    isolation: String,
    /// Files under this directory are persistent memory.
    #[arg(long)]
    pm_dir: Option<PathBuf>,
    /// malloc is persistent memory.
    #[arg(long)]
    pm_heap: bool,
    /// Power failures before this run, as the program sees it.
    #[arg(long, default_value_t = 0)]
    failures: u32,
    /// Steps before the run counts as endless.
    #[arg(long)]
    events: Option<u64>,
    /// Print the call stack of every event.
    #[arg(long)]
    stacks: bool,
    /// Run threads under control, these taking the first steps: numbers separated by commas, or nothing.
    #[arg(long, value_name = "STEPS", num_args = 0..=1, default_missing_value = "")]
    threads: Option<String>,
    /// Run it this often; only the last run is printed, and every run must equal the first.
    #[arg(long, default_value_t = 1)]
    repeat: u32,
    program: PathBuf,
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

pub(crate) fn run(options: &RunArgs) -> Exit {
    match run_once(options) {
        Ok(outcome) if outcome.is_ok() => Exit::Clean,
        Ok(_) => Exit::Findings,
        Err(error) => {
            eprintln!("landfall: {error:#}");
            Exit::Usage
        }
    }
}

/// Runs and prints; an error is one the user can act on.
fn run_once(options: &RunArgs) -> anyhow::Result<Outcome> {
    let mut program = Program::new(find(&options.program)).arguments(options.arguments.clone());
    program.pm_dir.clone_from(&options.pm_dir);
    program.pm_heap = options.pm_heap.then_some(MallocMetadata::Modelled);
    program.heap = HeapChecks::On;
    program.isolation = match options.isolation.as_str() {
        "fork" => Isolation::Fork,
        "restart" => Isolation::Restart,
        "auto" => Isolation::Auto,
        other => bail!("--isolation {other}: fork, restart or auto"),
    };
    let mut job = Job {
        failures: options.failures,
        stacks: options.stacks,
        ..Job::default()
    };
    if let Some(steps) = &options.threads {
        let steps = steps.split(',').filter(|step| !step.is_empty());
        let steps: Result<Vec<u16>, _> = steps.map(|step| step.trim().parse::<u16>()).collect();
        let steps = steps.context("--threads: numbers of threads, separated by commas")?;
        // Whoever names store buffers says how many threads there may be.
        let few = landfall_native::FEW_THREADS as u16;
        if steps.iter().any(|step| (few..2 * few).contains(step)) {
            job.threads.most = few;
        }
        job.schedule = Some(steps);
    }
    if let Some(events) = options.events {
        job.limits.events = events;
    }
    if let Some(path) = &options.image {
        job.image = read_image(path)?;
    }
    let mut server = Server::start(&program)?;
    let first = server.run(&job)?;
    let mut last = first.clone();
    for repetition in 1..options.repeat {
        last = server.run(&job)?;
        if let Some(difference) = landfall_native::first_difference(&first.events, &last.events) {
            let symbols = server.symbols();
            let what = |event: Option<Record>| match event {
                Some(event) => in_words(&event, &server, &symbols),
                None => "the run ends there".to_owned(),
            };
            bail!(
                "run {} differs from the first at event {}\n  first:  {}\n  now:    {}\n  the program does something that Landfall does not control",
                repetition + 1,
                difference.at + 1,
                what(difference.expected),
                what(difference.found)
            );
        }
    }
    let mut out = std::io::stdout().lock();
    match options.format.as_str() {
        "json" => {
            serde_json::to_writer_pretty(&mut out, &as_json(&last, &server))?;
            writeln!(out)?;
        }
        "human" => print(&last, &server, &mut out)?,
        other => bail!("--format {other}: human or json"),
    }
    Ok(last.outcome)
}

/// One event in one line, with its place in the source.
pub(crate) fn in_words(event: &Record, server: &Server, symbols: &Symbols) -> String {
    let place = place(event, server, symbols);
    let name = format!("{:?}", event.kind).to_lowercase();
    match event.kind {
        RecordKind::Store | RecordKind::Read => {
            let (start, length) = event.bytes();
            let value = event.value >> (8 * (start - event.offset));
            format!("{name} of {length} bytes at {start:#x}, value {value:#x}, {place}")
        }
        _ => format!("{name} at {:#x}, {place}", event.offset),
    }
}

/// A bare name means the working directory, not PATH: this is a program someone just built.
fn find(program: &std::path::Path) -> PathBuf {
    if program.components().count() == 1 {
        PathBuf::from(".").join(program)
    } else {
        program.to_owned()
    }
}

fn read_image(path: &std::path::Path) -> anyhow::Result<Image> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut image = Image::default();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let parsed = parse_line(line);
        let (offset, bytes) = parsed.with_context(|| {
            format!("{}:{}: not `offset hex-bytes`", path.display(), number + 1)
        })?;
        image.write(offset, &bytes);
    }
    Ok(image)
}

fn parse_line(line: &str) -> Option<(u64, Vec<u8>)> {
    let (offset, bytes) = line.split_once(char::is_whitespace)?;
    let offset = u64::from_str_radix(offset.trim_start_matches("0x"), 16).ok()?;
    let digits: Vec<u8> = bytes
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes = digits.chunks(2).map(pair).collect::<Option<Vec<u8>>>()?;
    Some((offset, bytes))
}

fn place(event: &Record, server: &Server, symbols: &Symbols) -> String {
    let sites = server.sites();
    if let Some(at) = sites.position(event.origin) {
        return format!("{}:{}:{} {}", at.file, at.line, at.column, at.function);
    }
    let Some(function) = sites.library(event.origin) else {
        return String::new();
    };
    match symbols.caller(event.origin.caller) {
        Some(at) => format!("{}:{} {} ({function})", at.file, at.line, at.function),
        None => function.to_owned(),
    }
}

fn print(execution: &Execution, server: &Server, out: &mut impl Write) -> std::io::Result<()> {
    let symbols = server.symbols();
    for event in &execution.events {
        let place = place(event, server, &symbols);
        match event.kind {
            RecordKind::Store | RecordKind::Read => {
                let (start, length) = event.bytes();
                let value = event.value >> (8 * (start - event.offset));
                let name = if event.kind == RecordKind::Store {
                    "store"
                } else {
                    "read"
                };
                let flags = event.flag_names().collect::<Vec<_>>().join(" ");
                writeln!(
                    out,
                    "{name:10} {start:#012x} {length} {value:#x} {flags} {place}"
                )?;
            }
            RecordKind::Stack => {
                for frame in execution
                    .stacks
                    .get(event.value as usize)
                    .into_iter()
                    .flatten()
                {
                    writeln!(out, "           {}", symbols.describe(*frame))?;
                }
            }
            RecordKind::Access | RecordKind::Watched | RecordKind::Ended => {
                let name = format!("{:?}", event.kind).to_lowercase();
                writeln!(
                    out,
                    "{name:10} thread {} {:#x} found {:#x} {place}",
                    event.thread, event.value, event.offset
                )?;
            }
            RecordKind::Step | RecordKind::Blocked | RecordKind::Misuse => {
                let name = format!("{:?}", event.kind).to_lowercase();
                writeln!(
                    out,
                    "{name:10} thread {} {} {:#x} {place}",
                    event.chosen_as(),
                    event.step_name(),
                    event.value
                )?;
            }
            other => {
                let name = format!("{other:?}").to_lowercase();
                writeln!(
                    out,
                    "{name:10} {:#012x} {} {place}",
                    event.offset, event.value
                )?;
            }
        }
    }
    writeln!(out, "{}", describe(&execution.outcome, &symbols))?;
    for frame in execution
        .stack
        .iter()
        .filter(|at| !symbols.is_runtime(**at))
    {
        writeln!(out, "    at {}", symbols.describe(*frame))?;
    }
    if let Some(foreign) = &execution.foreign {
        writeln!(out, "note: {}", foreign.describe(&symbols))?;
    }
    for (name, text) in [("stdout", &execution.stdout), ("stderr", &execution.stderr)] {
        if !text.is_empty() {
            writeln!(
                out,
                "--- {name}\n{}",
                String::from_utf8_lossy(text).trim_end()
            )?;
        }
    }
    if let Some(why) = server.fallback() {
        writeln!(out, "--- runs in forks: {why}")?;
    }
    Ok(())
}

fn as_json(execution: &Execution, server: &Server) -> Value {
    let symbols = server.symbols();
    let event = |event: &Record| {
        json!({
            "op": format!("{:?}", event.kind).to_lowercase(), "offset": event.offset, "mask": event.mask,
            "value": format!("{:#x}", event.value), "flags": event.flag_names().collect::<Vec<_>>(), "at": place(event, server, &symbols),
        })
    };
    let frames = |stack: &[u64]| {
        stack
            .iter()
            .filter(|frame| !symbols.is_runtime(**frame))
            .map(|frame| symbols.describe(*frame))
            .collect::<Vec<_>>()
    };
    json!({
        "events": execution.events.iter().map(event).collect::<Vec<_>>(),
        "outcome": describe(&execution.outcome, &symbols),
        "stack": frames(&execution.stack),
        "stdout": String::from_utf8_lossy(&execution.stdout),
        "stderr": String::from_utf8_lossy(&execution.stderr),
        "notes": execution.foreign.iter().map(|foreign| foreign.describe(&symbols)).collect::<Vec<_>>(),
        "steps": execution.steps,
        "trace_bytes": execution.trace_bytes,
        "in_place": execution.in_place,
        "fallback": server.fallback(),
    })
}
