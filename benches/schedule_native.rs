//! `cargo bench -p landfall-benches --bench schedule_native`: the schedule search on native programs, beside its peers.
//!
//! 1. The programs of the first table of BENCHMARKS.md, compiled with `landfall cc` and searched as `landfall check` does: executions (which
//!    must be the published number) and executions per second, beside GenMC's and Nidhugg's.
//! 2. What an execution costs as N grows.
//! 3. How good the estimates are on the way.
//! 4. A million schedules in one process tree: memory and descriptors on the way; what a switch between two threads takes.
//!
//! Arguments choose parts (`table`, `growth`, `estimates`, `scale`, `switch`) and programs (`last_zero`); none for all.

use landfall_benches::Table;
use landfall_explore::schedule::saturate::{Preempt, saturate};
use landfall_explore::schedule::{Counts, Estimate, Options};
use landfall_native::compiler::{self, Language};
use landfall_native::{Isolation, Job, Model, NativeThreads, Program, Server};
use std::error::Error;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

type Fallible<T> = Result<T, Box<dyn Error>>;

struct Row {
    name: &'static str,
    /// In `crates/native/tests/schedules`.
    source: &'static str,
    n: usize,
    /// A smaller N, and its executions.
    smaller: Option<(usize, [u64; 2])>,
    /// Known executions under SC and TSO, and the peers' executions per second.
    executions: [u64; 2],
    genmc: Option<f64>,
    nidhugg: Option<f64>,
}

macro_rules! row {
    ($name:literal, $source:literal, $n:literal: $executions:expr, $smaller:literal: $fewer:expr, $genmc:expr, $nidhugg:expr) => {
        Row {
            name: $name,
            source: $source,
            n: $n,
            smaller: Some(($smaller, $fewer)),
            executions: $executions,
            genmc: Some($genmc),
            nidhugg: Some($nidhugg),
        }
    };
}

const ROWS: [Row; 10] = [
    row!("fetch-add", "fetch_add", 7: [5040; 2], 4: [24; 2], 26e3, 16e3),
    row!("cas rotation", "cas_rotation", 8: [2048; 2], 4: [14; 2], 28e3, 7.6e3),
    row!("cas then write", "cas_then_write", 5: [32_880; 2], 3: [66; 2], 154e3, 17e3),
    row!("write then cas", "write_then_cas", 9: [2305; 2], 5: [81; 2], 35e3, 8.8e3),
    row!("last zero", "last_zero", 15: [147_456; 2], 10: [3328; 2], 19e3, 3.1e3),
    row!("readers", "readers", 13: [8192; 2], 8: [256; 2], 32e3, 4.2e3),
    row!("indexer", "indexer", 15: [4096; 2], 12: [8; 2], 2.3e3, 1.6e3),
    row!("fibonacci", "fibonacci", 5: [218_243, 525_630], 3: [1698, 2258], 189e3, 18e3),
    row!("locked increment", "locked_increment", 6: [720; 2], 3: [6; 2], 8.9e3, 4.8e3),
    Row {
        name: "Dekker with fences",
        source: "dekker",
        n: 2,
        smaller: None,
        executions: [3; 2],
        genmc: None,
        nidhugg: None,
    },
];

/// Compiled programs, gone at the end.
struct Programs {
    directory: PathBuf,
    /// Programs that were asked for; all if there is none.
    wanted: Vec<String>,
}

impl Programs {
    fn rows(&self) -> impl Iterator<Item = &'static Row> {
        let wanted = |row: &&Row| {
            self.wanted.is_empty() || self.wanted.iter().any(|wanted| wanted == row.source)
        };
        ROWS.iter().filter(wanted)
    }

    fn build(&self, source: &str) -> Fallible<PathBuf> {
        let program = self.directory.join(source);
        if program.exists() {
            return Ok(program);
        }
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        let places = ["../crates/native/tests/schedules", "programs"];
        let text = places.map(|place| manifest.join(place).join(format!("{source}.c")));
        let text = text.into_iter().find(|text| text.exists());
        let text = text.ok_or_else(|| format!("there is no {source}.c"))?;
        let arguments = [
            "-w".into(),
            "-O1".into(),
            text.into(),
            "-o".into(),
            program.clone().into(),
        ];
        let mut clang = compiler::command(Language::C, &arguments)?;
        if !clang.command.status()?.success() {
            return Err(format!("{source}.c does not compile").into());
        }
        Ok(program)
    }

    fn server(&self, source: &str, n: usize) -> Fallible<Server> {
        let mut program = Program::new(self.build(source)?).arguments([n.to_string()]);
        program.isolation = Isolation::Auto;
        Ok(Server::start(&program)?)
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// One whole search, or its first `most` executions.
fn search(
    server: &mut Server,
    threads: usize,
    model: Model,
    most: u64,
    mut each: impl FnMut(&Server, &Estimate),
) -> Fallible<(Counts, u64)> {
    let mut threads = NativeThreads::new(server, Job::default(), threads, model);
    let options = Options {
        executions: most,
        ..Options::default()
    };
    let found = saturate(&mut threads, Preempt::Auto, options, |threads, search| {
        each(threads.server(), &search.estimate);
        ControlFlow::Continue(())
    })?;
    Ok((found.counts, threads.recalled))
}

fn models(row: &Row) -> [(Model, u64); 2] {
    [
        (Model::Sc, row.executions[0]),
        (Model::Tso, row.executions[1]),
    ]
}

/// Threads of a program with this N: they are counted by `landfall check`; here, enough.
fn threads(row: &Row, n: usize) -> usize {
    match row.source {
        "fibonacci" => 4,
        "dekker" => 3,
        "last_zero" | "readers" | "write_then_cas" => n + 2,
        _ => n + 1,
    }
}

struct Measured {
    counts: Counts,
    /// Executions that were not run: what their threads do was known.
    recalled: u64,
    seconds: f64,
    /// Processor time of the checker and of the program for an execution, waiting for each other included.
    busy: [f64; 2],
}

/// Processor time of a process and those it started and has waited for, in seconds.
fn processor(process: u32) -> f64 {
    let used = |process: u32| {
        let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        // The name may hold anything, even a parenthesis: fields count from the last one.
        let fields = text.rsplit(')').next().unwrap_or_default();
        let ticks = fields.split_whitespace().skip(11).take(4);
        ticks
            .filter_map(|ticks| ticks.parse::<f64>().ok())
            .sum::<f64>()
            / 100.0
    };
    tree(process).into_iter().map(used).sum()
}

fn own_processor() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let used = text.split(' ').next().and_then(|used| used.parse().ok());
    used.unwrap_or(0.0) / 1e9
}

/// Searches again and again for a while; the best time.
fn measure(server: &mut Server, threads: usize, model: Model) -> Fallible<Measured> {
    let started = Instant::now();
    let theirs = processor(server.process());
    let own = own_processor();
    let mut executions = 0.0;
    let mut best: Option<Measured> = None;
    while best.is_none() || started.elapsed().as_secs_f64() < 0.7 {
        let begin = Instant::now();
        let (counts, recalled) = search(server, threads, model, u64::MAX, |_, _| {})?;
        let seconds = begin.elapsed().as_secs_f64();
        executions += counts.executions as f64;
        if best.as_ref().is_none_or(|best| seconds < best.seconds) {
            best = Some(Measured {
                counts,
                recalled,
                seconds,
                busy: [0.0; 2],
            });
        }
    }
    let mut best = best.ok_or("nothing was measured")?;
    let busy = [own_processor() - own, processor(server.process()) - theirs];
    best.busy = busy.map(|busy| busy / executions);
    Ok(best)
}

fn table(programs: &Programs) -> Fallible<()> {
    let mut table = Table::new(&[
        "program",
        "N",
        "model",
        "executions",
        "known",
        "blocked",
        "put together",
        "our exec/s",
        "GenMC exec/s",
        "times",
        "Nidhugg exec/s",
        "times",
        "checker us",
        "program us",
    ]);
    for row in programs.rows() {
        for (model, known) in models(row) {
            let mut server = programs.server(row.source, row.n)?;
            let found = measure(&mut server, threads(row, row.n), model)?;
            let executions = found.counts.executions;
            let rate = executions as f64 / found.seconds;
            let peer = |rate: Option<f64>| {
                rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}"))
            };
            let times = |peer: Option<f64>| {
                peer.map_or_else(|| "-".to_owned(), |peer| format!("{:.1}", rate / peer))
            };
            table.row(&[
                row.name.to_owned(),
                row.n.to_string(),
                format!("{model:?}"),
                executions.to_string(),
                match executions == known {
                    true => "yes".to_owned(),
                    false => format!("NO: {known}"),
                },
                found.counts.blocked.to_string(),
                found.recalled.to_string(),
                format!("{rate:.0}"),
                peer(row.genmc),
                times(row.genmc),
                peer(row.nidhugg),
                times(row.nidhugg),
                format!("{:.1}", 1e6 * found.busy[0]),
                format!("{:.1}", 1e6 * found.busy[1]),
            ]);
        }
    }
    table.print("native schedules: executions per second");
    Ok(())
}

fn growth(programs: &Programs) -> Fallible<()> {
    let mut table = Table::new(&[
        "program",
        "N",
        "executions",
        "steps each",
        "us each",
        "N",
        "executions",
        "steps each",
        "us each",
        "us, times",
    ]);
    for row in programs.rows() {
        let Some((smaller, _)) = row.smaller else {
            continue;
        };
        let mut cells = vec![row.name.to_owned()];
        let mut each = Vec::new();
        for n in [smaller, row.n] {
            let mut server = programs.server(row.source, n)?;
            let found = measure(&mut server, threads(row, n), Model::Tso)?;
            let executions = found.counts.executions as f64;
            each.push(1e6 * found.seconds / executions);
            cells.extend([
                n.to_string(),
                found.counts.executions.to_string(),
                format!("{:.1}", found.counts.steps as f64 / executions),
                format!("{:.2}", each[each.len() - 1]),
            ]);
        }
        cells.push(format!("{:.2}", each[1] / each[0]));
        table.row(&cells);
    }
    table.print("what an execution costs as N grows (TSO)");
    Ok(())
}

fn estimates(programs: &Programs) -> Fallible<()> {
    let mut table = Table::new(&[
        "program",
        "N",
        "executions",
        "size at 1 %",
        "10 %",
        "50 %",
        "work at 1 %",
        "10 %",
        "50 %",
    ]);
    for row in programs.rows() {
        let mut server = programs.server(row.source, row.n)?;
        let mut seen = Vec::new();
        let mut executed = 0.0;
        search(
            &mut server,
            threads(row, row.n),
            Model::Tso,
            u64::MAX,
            |_, estimate| {
                if estimate.executions() == 1 {
                    // A new round, with more accesses as scheduling points.
                    seen.clear();
                }
                seen.push((estimate.size(), estimate.work()));
                executed = estimate.executed();
            },
        )?;
        let size = seen.len() as f64;
        let at = |share: f64| seen[(share * (size - 1.0)) as usize];
        let mut cells = vec![
            row.name.to_owned(),
            row.n.to_string(),
            seen.len().to_string(),
        ];
        cells.extend([0.01, 0.1, 0.5].map(|share| format!("{:.2}", at(share).0 / size)));
        cells.extend([0.01, 0.1, 0.5].map(|share| format!("{:.2}", at(share).1 / executed)));
        table.row(&cells);
    }
    table.print(
        "estimates, as a multiple of the truth (TSO): after 1, 10 and 50 % of the executions",
    );
    Ok(())
}

/// Resident kilobytes and descriptors of a process.
fn usage(process: u32) -> (u64, u64) {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let resident = resident.and_then(|line| line.split_whitespace().next()?.parse().ok());
    let descriptors = std::fs::read_dir(format!("/proc/{process}/fd"));
    (
        resident.unwrap_or(0),
        descriptors.map_or(0, |all| all.count() as u64),
    )
}

/// A process and those it started.
fn tree(process: u32) -> Vec<u32> {
    let path = format!("/proc/{process}/task/{process}/children");
    let children = std::fs::read_to_string(path).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|n| n.parse().ok());
    std::iter::once(process)
        .chain(children.flat_map(tree))
        .collect()
}

fn scale(programs: &Programs) -> Fallible<()> {
    const SCHEDULES: u64 = 1_000_000;
    let mut table = Table::new(&[
        "schedules",
        "processes",
        "kB of the checker",
        "descriptors",
        "kB of the program",
        "descriptors",
        "seconds",
    ]);
    let mut server = programs.server("fetch_add", 10)?;
    let started = Instant::now();
    let mut at = [10, 50, 100]
        .map(|percent| SCHEDULES * percent / 100)
        .into_iter()
        .peekable();
    search(
        &mut server,
        11,
        Model::Tso,
        SCHEDULES,
        |server, estimate| {
            if at.next_if(|at| estimate.executions() >= *at).is_some() {
                let own = usage(std::process::id());
                let processes = tree(server.process());
                let theirs = processes
                    .iter()
                    .map(|&process| usage(process))
                    .fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
                table.row(&[
                    estimate.executions().to_string(),
                    (1 + processes.len()).to_string(),
                    own.0.to_string(),
                    own.1.to_string(),
                    theirs.0.to_string(),
                    theirs.1.to_string(),
                    format!("{:.1}", started.elapsed().as_secs_f64()),
                ]);
            }
        },
    )?;
    table.print("a million schedules of ten threads with one fetch_add each (TSO)");
    Ok(())
}

/// The same steps in two orders: one with a switch before each, one with hardly any.
fn switch(programs: &Programs) -> Fallible<()> {
    const STEPS: usize = 20_000;
    let mut server = programs.server("switches", STEPS)?;
    let mut time = |schedule: Vec<u16>| -> Fallible<f64> {
        let mut job = Job {
            schedule: Some(schedule),
            ..Job::default()
        };
        job.threads.everywhere = true;
        let mut best = f64::INFINITY;
        for _ in 0..200 {
            let begin = Instant::now();
            server.run_raw(&job, |_| ())?;
            best = best.min(begin.elapsed().as_secs_f64());
        }
        Ok(best)
    };
    let turns = time((0..2 * STEPS).map(|at| 1 + (at % 2) as u16).collect())?;
    let rows = time((0..2 * STEPS).map(|at| 1 + (at / STEPS) as u16).collect())?;
    let switches = 2.0 * STEPS as f64;
    println!(
        "\na switch between two threads: {:.0} ns (wanted: less than 200); a step with its record: {:.0} ns",
        1e9 * (turns - rows) / switches,
        1e9 * rows / switches
    );
    Ok(())
}

fn main() -> Fallible<()> {
    // `cargo test --benches` passes --test: measuring is not testing.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|a| a == "--test") {
        return Ok(());
    }
    const PARTS: [&str; 5] = ["table", "growth", "estimates", "scale", "switch"];
    let arguments = arguments.into_iter().filter(|a| !a.starts_with("--"));
    let (parts, wanted): (Vec<_>, Vec<_>) = arguments.partition(|a| PARTS.contains(&a.as_str()));
    let wants = |part: &str| parts.is_empty() || parts.iter().any(|wanted| wanted == part);
    let directory = std::env::temp_dir().join(format!("landfall-bench-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let programs = Programs { directory, wanted };
    let all: [fn(&Programs) -> Fallible<()>; 5] = [table, growth, estimates, scale, switch];
    for (part, run) in PARTS.into_iter().zip(all) {
        if wants(part) {
            run(&programs)?;
        }
    }
    Ok(())
}
