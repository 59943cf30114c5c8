//! `cargo bench -p landfall-benches --bench check`: what trying every power failure costs.
//!
//! Executions are exact. Published numbers for the same shapes (BENCHMARKS.md): Jaaru needs 2N + 2 for the hash table and 3N + 2 for
//! the list, 34.9 s and 61.5 s at N = 1000, on another machine of this kind.

use landfall_benches::{Table, processor_seconds};
use landfall_explore::recovery::{Options, Searched, search};
use landfall_explore::subject::{Ended, Execution};
use landfall_explore::tree::Forest;
use landfall_model::image::Image;
use landfall_model::line::Line;
use landfall_model::log::Entry;
use landfall_model::order::Platform;
use landfall_native::compiler::{self, Language};
use landfall_native::{Budget, Isolation, Job, NativeSubject, Program, Server, translate};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> Fallible<()> {
    if std::env::args().any(|a| a == "--test") {
        return Ok(());
    }
    let directory = std::env::temp_dir().join(format!("landfall-bench-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let result = tables(&directory);
    std::fs::remove_dir_all(&directory)?;
    result
}

fn tables(directory: &Path) -> Fallible<()> {
    for (name, published) in [
        ("crash_hash", Some(2)),
        ("crash_list", Some(3)),
        ("crash_log", None),
    ] {
        growth(directory, name, published)?;
    }
    rates(directory)
}

/// What doubling the input costs. A recovery of the table or the list reads all of it, so N of them read some N² words whatever
/// the search does: `alone` is the time of the same recoveries without any search. That of the log reads two.
fn growth(directory: &Path, name: &str, published: Option<usize>) -> Fallible<()> {
    let heads = [
        "N",
        "executions",
        "published",
        "cuts",
        "reads",
        "seconds",
        "processor",
        "growth",
        "alone: processor",
        "growth",
        "no-share: executions",
        "processor",
        "growth",
    ];
    let mut table = Table::new(&heads);
    let mut before = [None; 3];
    for n in sizes() {
        let binary = build(directory, name, n)?;
        let shared = check(&binary, true, Isolation::Auto)?;
        let alone = recoveries_alone(&binary, n)?;
        // Each cut by itself is what others do; past this it only takes long.
        let by_cut = match n <= MOST_BY_CUT {
            true => Some(check(&binary, false, Isolation::Auto)?),
            false => None,
        };
        let now = [
            Some(shared.processor),
            Some(alone),
            by_cut.as_ref().map(|c| c.processor),
        ];
        let grown = |i: usize| match (now[i], before[i]) {
            (Some(now), Some(before)) => format!("{:.1}x", now / before),
            _ => String::new(),
        };
        let told = |told: Option<String>| told.unwrap_or_else(|| "-".to_owned());
        table.row(&[
            n.to_string(),
            shared.runs.to_string(),
            told(published.map(|p| (p * n + 2).to_string())),
            shared.cuts.to_string(),
            shared.events.to_string(),
            format!("{:.2}", shared.seconds),
            format!("{:.2}", shared.processor),
            grown(0),
            format!("{alone:.2}"),
            grown(1),
            told(by_cut.as_ref().map(|c| c.runs.to_string())),
            told(by_cut.as_ref().map(|c| format!("{:.2}", c.processor))),
            grown(2),
        ]);
        before = now;
    }
    table.print(name);
    Ok(())
}

/// How many small recoveries a second, with one worker.
fn rates(directory: &Path) -> Fallible<()> {
    let heads = [
        "program",
        "isolation",
        "recoveries",
        "seconds",
        "per second",
        "per processor second",
    ];
    let mut table = Table::new(&heads);
    let shapes = [
        ("crash_flags", 16, Isolation::Restart),
        ("crash_flags", 12, Isolation::Fork),
        ("crash_log", 20_000, Isolation::Restart),
        ("crash_log", 4000, Isolation::Fork),
    ];
    for (name, n, isolation) in shapes {
        let checked = check(&build(directory, name, n)?, true, isolation)?;
        table.row(&[
            format!("{name}, N = {n}"),
            format!("{isolation:?}").to_lowercase(),
            (checked.runs - 1).to_string(),
            format!("{:.2}", checked.seconds),
            format!("{:.0}", (checked.runs - 1) as f64 / checked.seconds),
            format!("{:.0}", (checked.runs - 1) as f64 / checked.processor),
        ]);
    }
    table.print("rates");
    Ok(())
}

const MOST_BY_CUT: usize = 1250;

/// `CHECK_SIZES=100,200` for others.
fn sizes() -> Vec<usize> {
    let asked = std::env::var("CHECK_SIZES").unwrap_or_else(|_| "625,1250,2500,5000,10000".into());
    asked.split(',').filter_map(|n| n.parse().ok()).collect()
}

fn build(directory: &Path, name: &str, n: usize) -> Fallible<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("programs/{name}.c"));
    let binary = directory.join(name);
    let arguments = [
        "-O2".into(),
        format!("-DN={n}").into(),
        source.into(),
        "-o".into(),
        binary.clone().into(),
    ];
    let mut clang = compiler::command(Language::C, &arguments)?.command;
    if !clang.status()?.success() {
        return Err(format!("{name}.c does not build").into());
    }
    Ok(binary)
}

struct Checked {
    runs: u64,
    cuts: usize,
    /// First reads of all recoveries, but for a few.
    events: u64,
    seconds: f64,
    /// Of both sides.
    processor: f64,
}

fn check(binary: &Path, share: bool, isolation: Isolation) -> Fallible<Checked> {
    let (started, before) = (Instant::now(), processor_seconds());
    let mut program = Program::new(binary);
    program.isolation = isolation;
    let mut server = Server::start(&program)?;
    let first = server.run(&Job::default())?;
    let execution = Execution::new(translate(&first.events), Ended::Well);
    let log = execution.log(Platform::Adr);
    let mut subject = NativeSubject::new(&mut server, Job::default(), Budget::default());
    let mut found = Searched::default();
    let (mut tree, base) = (Forest::default(), Image::default());
    let options = Options {
        share,
        ..Options::default()
    };
    search(&mut subject, &mut tree, &base, &log, &options, &mut found)?;
    if !subject.failed.is_empty() {
        return Err(format!("{}: a recovery failed", binary.display()).into());
    }
    let mut checked = Checked {
        runs: subject.runs + 1,
        cuts: found.cuts,
        events: subject.events,
        seconds: started.elapsed().as_secs_f64(),
        processor: 0.0,
    };
    drop(subject);
    drop(server);
    checked.processor = processor_seconds() - before;
    Ok(checked)
}

/// The recovery on as many images as the search tries, one after the other, traces not looked at: the least that anyone pays who
/// executes them.
fn recoveries_alone(binary: &Path, n: usize) -> Fallible<f64> {
    let before = processor_seconds();
    let mut server = Server::start(&Program::new(binary))?;
    let first = server.run(&Job::default())?;
    let execution = Execution::new(translate(&first.events), Ended::Well);
    let log = execution.log(Platform::Adr);
    let mut image = Image::default();
    let mut changed: Vec<Line> = Vec::new();
    let cuts = log.sufficient_cuts();
    let every = (cuts.len() / n).max(1);
    let mut at = 0;
    for cut in cuts.iter().skip(every - 1).step_by(every) {
        for entry in &log.entries()[at..cut.0 as usize] {
            if let Entry::Store { piece, .. } = entry {
                let line = piece.addr.line();
                let mut bytes = image.line(line);
                piece.write_to(&mut bytes);
                image.set_line(line, bytes);
                changed.push(line);
            }
        }
        at = cut.0 as usize;
        changed.sort_unstable();
        changed.dedup();
        let lines = changed.iter().map(|line| landfall_native::Line {
            offset: line.start().0,
            bytes: image.line(*line),
        });
        let mut delta = landfall_native::Image {
            lines: lines.collect(),
        };
        // Like the search does: what changed goes with the job until it is too much.
        if changed.len() > 64 {
            server.set_base(std::mem::take(&mut delta))?;
            changed.clear();
        }
        let job = Job {
            image: delta,
            failures: 1,
            ..Job::default()
        };
        server.run_raw(&job, |_| ())?;
    }
    drop(server);
    Ok(processor_seconds() - before)
}
