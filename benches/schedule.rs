//! `cargo bench -p landfall-benches --bench schedule`: the schedule search beside its peers.
//!
//! 1. Executions and executions per second of processor time, on the programs of the first table of BENCHMARKS.md, interpreted; beside
//!    GenMC's and Nidhugg's numbers measured there (they run compiled programs in an interpreter of LLVM code).
//! 2. How good the estimates are on the way.
//! 3. What saturation of race sites saves.

use landfall_benches::Table;
use landfall_explore::schedule::saturate::{Preempt, saturate};
use landfall_explore::schedule::{Counts, Options, Search, search};
use landfall_testkit::catalogue;
use landfall_testkit::interpret::Interpreter;
use landfall_testkit::program::{Model, Program};
use std::ops::ControlFlow;
use std::time::Instant;

struct Row {
    name: &'static str,
    n: usize,
    make: fn(usize) -> Program,
    /// Known executions under SC and TSO, and the peers' executions per second.
    executions: [u64; 2],
    genmc: Option<f64>,
    nidhugg: Option<f64>,
}

const fn row(
    name: &'static str,
    n: usize,
    make: fn(usize) -> Program,
    executions: [u64; 2],
    genmc: f64,
    nidhugg: f64,
) -> Row {
    Row {
        name,
        n,
        make,
        executions,
        genmc: Some(genmc),
        nidhugg: Some(nidhugg),
    }
}

const ROWS: [Row; 10] = [
    row("fetch-add", 7, catalogue::fetch_add, [5040; 2], 26e3, 16e3),
    row(
        "cas rotation",
        8,
        catalogue::cas_rotation,
        [2048; 2],
        28e3,
        7.6e3,
    ),
    row(
        "cas then write",
        5,
        catalogue::cas_then_write,
        [32880; 2],
        154e3,
        17e3,
    ),
    row(
        "write then cas",
        9,
        catalogue::write_then_cas,
        [2305; 2],
        35e3,
        8.8e3,
    ),
    row(
        "last zero",
        15,
        catalogue::last_zero,
        [147_456; 2],
        19e3,
        3.1e3,
    ),
    row("readers", 13, catalogue::readers, [8192; 2], 32e3, 4.2e3),
    row("indexer", 15, catalogue::indexer, [4096; 2], 2.3e3, 1.6e3),
    row(
        "fibonacci",
        5,
        catalogue::fibonacci,
        [218_243, 525_630],
        189e3,
        18e3,
    ),
    row(
        "locked increment",
        6,
        catalogue::locked_increment,
        [720; 2],
        8.9e3,
        4.8e3,
    ),
    Row {
        name: "Dekker with fences",
        n: 2,
        make: |_| catalogue::dekker(true),
        executions: [3; 2],
        genmc: None,
        nidhugg: None,
    },
];

/// Processor time where the kernel tells, else time: benchmarks share their machine.
fn clock() -> impl Fn() -> f64 {
    let start = Instant::now();
    move || {
        let used = std::fs::read_to_string("/proc/self/schedstat").ok();
        let used = used.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
        used.map_or_else(
            || start.elapsed().as_secs_f64(),
            |nanoseconds| nanoseconds / 1e9,
        )
    }
}

fn run(program: &Program, model: Model) -> Counts {
    let mut threads = Interpreter::new(program, model);
    search(&mut threads, Options::default(), |_, _| {
        ControlFlow::Continue(())
    })
    .expect("runs")
}

fn peers() {
    let mut table = Table::new(&[
        "program",
        "N",
        "model",
        "executions",
        "known",
        "blocked",
        "our exec/s",
        "GenMC exec/s",
        "times",
        "Nidhugg exec/s",
        "transitions anew",
    ]);
    for row in &ROWS {
        let program = (row.make)(row.n);
        for (model, known) in [
            (Model::Sc, row.executions[0]),
            (Model::Tso, row.executions[1]),
        ] {
            let clock = clock();
            let start = clock();
            let (mut executions, mut counts) = (0, Counts::default());
            while executions == 0 || clock() - start < 0.5 {
                counts = run(&program, model);
                executions += counts.executions;
            }
            let rate = executions as f64 / (clock() - start);
            let peer = |rate: Option<f64>| {
                rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}"))
            };
            table.row(&[
                row.name.to_owned(),
                row.n.to_string(),
                format!("{model:?}"),
                counts.executions.to_string(),
                if counts.executions == known {
                    "yes".to_owned()
                } else {
                    format!("NO: {known}")
                },
                counts.blocked.to_string(),
                format!("{rate:.0}"),
                peer(row.genmc),
                row.genmc
                    .map_or_else(|| "-".to_owned(), |genmc| format!("{:.1}", rate / genmc)),
                peer(row.nidhugg),
                format!("{:.0} %", 100.0 * counts.fresh as f64 / counts.steps as f64),
            ]);
        }
    }
    table.print("schedules: executions per second of processor time");
}

fn estimation() {
    let heads = [
        "program",
        "N",
        "executions",
        "size at 1 %",
        "10 %",
        "50 %",
        "work at 1 %",
        "10 %",
        "50 %",
    ];
    let mut table = Table::new(&heads);
    for row in &ROWS {
        let program = (row.make)(row.n);
        let mut threads = Interpreter::new(&program, Model::Tso);
        let mut search = Search::new(&threads, Options::default()).expect("few threads");
        let mut seen = Vec::new();
        while search.next(&mut threads).expect("runs") {
            seen.push((search.estimate.size(), search.estimate.work()));
        }
        let (size, work) = (seen.len() as f64, search.estimate.executed());
        let at = |share: f64| seen[(share * (size - 1.0)) as usize];
        let mut cells = vec![
            row.name.to_owned(),
            row.n.to_string(),
            seen.len().to_string(),
        ];
        cells.extend([0.01, 0.1, 0.5].map(|share| format!("{:.2}", at(share).0 / size)));
        cells.extend([0.01, 0.1, 0.5].map(|share| format!("{:.2}", at(share).1 / work)));
        table.row(&cells);
    }
    table.print(
        "estimates, as a multiple of the truth (TSO): after 1, 10 and 50 % of the executions",
    );
}

fn saturation() {
    let heads = [
        "locked increment",
        "preempt",
        "executions",
        "transitions",
        "rounds",
        "sites",
    ];
    let mut table = Table::new(&heads);
    for n in [4, 6] {
        let program = catalogue::locked_increment(n);
        for preempt in [Preempt::Everywhere, Preempt::Auto] {
            let mut threads = Interpreter::new(&program, Model::Tso);
            let found = saturate(&mut threads, preempt, Options::default(), |_, _| {
                ControlFlow::Continue(())
            })
            .expect("runs");
            table.row(&[
                n.to_string(),
                format!("{preempt:?}"),
                found.counts.executions.to_string(),
                found.counts.steps.to_string(),
                found.rounds.to_string(),
                found.sites.len().to_string(),
            ]);
        }
    }
    table.print("saturation of race sites");
}

fn main() {
    // `cargo test --benches` passes --test: measuring is not testing.
    if std::env::args().any(|a| a == "--test") {
        return;
    }
    peers();
    estimation();
    saturation();
}
