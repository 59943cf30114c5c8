//! `cargo bench -p landfall-benches --bench prove [-- FILTER]`: what a proof costs.
//!
//! 1. Crash encodings compared on families that grow.
//! 2. Encodings and propagation compared on the durable queue.
//! 3. The FliT register with the clients of Marmanis and Vafeiadis, as event graphs made by hand.
//! 4. The same for the durable queue.
//! 5. The C programs of `examples/prove` (`c-programs`): register, queue and set, beside the published times. A further word selects
//!    some: `-- c-programs queue/e+e`.

mod c_programs;
mod families;
mod flit;
mod queue;

use families::Flushes;
use landfall_benches::Table;
use landfall_prove::encode::CrashEncoding;
use landfall_prove::program::ProofProgram;
use landfall_prove::prove::{ProofOptions, ProofVerdict, Sizes, invariant};
use landfall_prove::theory::Propagation;
use std::time::Instant;

fn seconds(program: &ProofProgram, options: &ProofOptions, refuted: bool) -> (f64, Sizes) {
    let start = Instant::now();
    let answered = invariant(program, options);
    let took = start.elapsed().as_secs_f64();
    let right = match answered.verdict {
        ProofVerdict::Proved => !refuted,
        ProofVerdict::Refuted(_) => refuted,
        _ => false,
    };
    assert!(right, "a wrong verdict: {:?}", answered.verdict);
    (took, answered.sizes)
}

type Family = fn(usize, usize, Flushes) -> ProofProgram;

fn encodings() {
    let families: [(&str, Family, usize, usize); 6] = [
        ("relay", families::relay, 3, 4),
        ("relay", families::relay, 4, 4),
        ("counter", families::counter, 3, 3),
        ("counter", families::counter, 4, 2),
        ("chain", families::chain, 4, 8),
        ("contended", families::contended, 3, 3),
    ];
    let names = CrashEncoding::ALL.map(CrashEncoding::name);
    let mut columns = vec!["program", "events"];
    columns.extend(names);
    let mut table = Table::new(&columns);
    let mut sums = [0; CrashEncoding::ALL.len()];
    for flushes in [Flushes::All, Flushes::OneMissing] {
        for (name, build, threads, rounds) in families {
            let program = build(threads, rounds, flushes);
            let mut row = vec![
                format!("{name} {threads}x{rounds} {flushes:?}"),
                program.events.len().to_string(),
            ];
            for (at, crash) in CrashEncoding::ALL.into_iter().enumerate() {
                let options = ProofOptions {
                    crash,
                    ..ProofOptions::default()
                };
                let refuted = flushes == Flushes::OneMissing;
                let (took, sizes) = seconds(&program, &options, refuted);
                sums[at] += sizes.effort.conflicts;
                row.push(format!("{} {took:.3}", sizes.effort.conflicts));
            }
            table.row(&row);
        }
    }
    let mut row = vec!["all conflicts".to_owned(), String::new()];
    row.extend(sums.map(|sum| sum.to_string()));
    table.row(&row);
    table.print("crash encodings: conflicts and seconds");
}

/// Which choices pay on programs with branches and pointers: seconds and conflicts to prove.
fn choices() {
    let mut table = Table::new(&[
        "client",
        "crash",
        "propagation",
        "seconds",
        "conflicts",
        "theory",
    ]);
    for name in ["ee+dd", "e+e+d+d", "ee+ddw+d", "e+de+e"] {
        let program = queue::client(name, Flushes::All);
        for crash in CrashEncoding::ALL {
            for propagation in [Propagation::Off, Propagation::Visited, Propagation::Eager] {
                let mut options = ProofOptions {
                    crash,
                    ..ProofOptions::default()
                };
                options.search.propagation = propagation;
                let (took, sizes) = seconds(&program, &options, false);
                table.row(&[
                    name.to_owned(),
                    crash.name().to_owned(),
                    format!("{propagation:?}"),
                    format!("{took:.3}"),
                    sizes.effort.conflicts.to_string(),
                    sizes.effort.theory.conflicts.to_string(),
                ]);
            }
        }
    }
    table.print("crash encodings and propagation on the durable queue");
}

/// Each client proved, and refuted with a flush missing, beside what the paper's tool took to prove it.
fn published(title: &str, clients: &[(&str, f64)], build: fn(&str, Flushes) -> ProofProgram) {
    let mut table = Table::new(&[
        "client",
        "events",
        "vars",
        "clauses",
        "conflicts",
        "proved s",
        "published s",
        "ratio",
        "refuted s",
    ]);
    let mut log = 0.0;
    for &(name, paper) in clients {
        let options = ProofOptions::default();
        let (proved, sizes) = seconds(&build(name, Flushes::All), &options, false);
        let (refuted, _) = seconds(&build(name, Flushes::OneMissing), &options, true);
        log += (paper / proved).ln();
        table.row(&[
            name.to_owned(),
            sizes.events.to_string(),
            sizes.variables.to_string(),
            sizes.clauses.to_string(),
            sizes.effort.conflicts.to_string(),
            format!("{proved:.3}"),
            format!("{paper:.2}"),
            format!("{:.1}", paper / proved),
            format!("{refuted:.3}"),
        ]);
    }
    table.print(title);
    let mean = (log / clients.len() as f64).exp();
    println!("geometric mean of the ratios: {mean:.1}\n");
}

fn main() {
    let filter = std::env::args().nth(1).filter(|arg| !arg.starts_with('-'));
    let wanted = |name: &str| filter.as_ref().is_none_or(|f| name.contains(f.as_str()));
    if wanted("encodings") {
        encodings();
    }
    if wanted("choices") {
        choices();
    }
    if wanted("c-programs") {
        c_programs::print(std::env::args().nth(2).as_deref());
    }
    if wanted("flit") {
        published(
            "FliT register (Marmanis and Vafeiadis, table 1)",
            &flit::CLIENTS,
            flit::client,
        );
    }
    if wanted("queue") {
        published(
            "durable queue (Marmanis and Vafeiadis, table 1)",
            &queue::CLIENTS,
            queue::client,
        );
    }
}
