//! The C programs of `examples/prove`, from source to verdict, beside what the paper's tool took (seed 004, table 1).

use crate::{flit, queue};
use landfall_benches::Table;
use landfall_ir::Module;
use landfall_native::compiler::{self, Language};
use landfall_prove::c::{self, Bounds};
use landfall_prove::prove::{Options, Sizes, Verdict, bounds, invariant};
use std::path::Path;
use std::time::Instant;

const SET: [(&str, f64); 9] = [
    ("iw", 10.78),
    ("i", 11.87),
    ("irw", 34.13),
    ("ir", 37.42),
    ("iw+rw", 64.70),
    ("i+crw", 89.31),
    ("i+i-w", 260.89),
    ("i+i", 416.12),
    ("ii+r", 1151.50),
];

/// Loops are tried as often as in the hand-made queue.
const UNROLL: u32 = 3;

struct Run {
    compiled: f64,
    decided: f64,
    sizes: Sizes,
    complete: bool,
}

fn run(family: &str, name: &str, flags: &[&str], refuted: bool) -> Run {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = here.join(format!("../examples/prove/{family}/{name}.c"));
    let flags: Vec<_> = flags.iter().map(|flag| (*flag).into()).collect();
    let start = Instant::now();
    let output = compiler::intermediate(Language::C, &flags, &[source])
        .expect("clang is there")
        .output()
        .expect("clang runs");
    let compiled = start.elapsed().as_secs_f64();
    let text = String::from_utf8(output.stdout).expect("IR is text");
    let start = Instant::now();
    let module = Module::read(&text).expect("the IR can be read");
    let limits = Bounds {
        unroll: UNROLL,
        ..Bounds::default()
    };
    let program = c::translate(&module, &limits, &|_| None)
        .unwrap_or_else(|refusal| panic!("{family}/{name}: {}", refusal.what));
    let options = Options::default();
    let answered = invariant(&program, &options);
    let decided = start.elapsed().as_secs_f64();
    let right = match answered.verdict {
        Verdict::Proved => !refuted,
        Verdict::Refuted(_) => refuted,
        _ => false,
    };
    assert!(right, "{family}/{name}: a wrong verdict");
    Run {
        compiled,
        decided,
        sizes: answered.sizes,
        complete: refuted || bounds(&program, &options).exceeded.is_empty(),
    }
}

pub(crate) fn print() {
    let families: [(&str, &[(&str, f64)]); 3] = [
        ("flit", &flit::CLIENTS),
        ("queue", &queue::CLIENTS),
        ("set", &SET),
    ];
    let (mut log, mut count, mut slowest) = (0.0, 0, f64::INFINITY);
    for (family, clients) in families {
        let mut table = Table::new(&[
            "client",
            "events",
            "vars",
            "clauses",
            "conflicts",
            "clang s",
            "proved s",
            "complete",
            "published s",
            "ratio",
            "refuted s",
        ]);
        for &(name, paper) in clients {
            let safe = run(family, name, &[], false);
            let broken = run(family, name, &["-DMISSING_FLUSH"], true);
            let ratio = paper / (safe.compiled + safe.decided);
            log += ratio.ln();
            count += 1;
            slowest = slowest.min(ratio);
            table.row(&[
                name.to_owned(),
                safe.sizes.events.to_string(),
                safe.sizes.variables.to_string(),
                safe.sizes.clauses.to_string(),
                safe.sizes.effort.conflicts.to_string(),
                format!("{:.3}", safe.compiled),
                format!("{:.3}", safe.decided),
                if safe.complete { "yes" } else { "up to 3" }.to_owned(),
                format!("{paper:.2}"),
                format!("{ratio:.1}"),
                format!("{:.3}", broken.decided),
            ]);
        }
        table.print(&format!(
            "examples/prove/{family} (seed 004, table 1); the ratio is with clang"
        ));
    }
    let mean = (log / f64::from(count)).exp();
    println!("geometric mean of the ratios: {mean:.1}, smallest {slowest:.1}\n");
}
