//! The C programs of `examples/prove`, from source to verdict, beside what the paper's tool took (Marmanis and Vafeiadis, table 1).

use crate::{flit, queue};
use landfall_benches::{Table, processor_seconds};
use landfall_ir::Module;
use landfall_native::compiler::{self, Language};
use landfall_prove::c::{self, Bounds};
use landfall_prove::prove::{ProofOptions, ProofVerdict, Sizes, bounds, invariant};
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

/// Seconds by the clock on the wall, and of a processor.
#[derive(Clone, Copy)]
struct Took {
    clock: f64,
    processor: f64,
}

impl Took {
    fn of<T>(work: impl FnOnce() -> T) -> (T, Took) {
        let (start, before) = (Instant::now(), processor_seconds());
        let done = work();
        let took = Took {
            clock: start.elapsed().as_secs_f64(),
            processor: processor_seconds() - before,
        };
        (done, took)
    }
}

struct Run {
    compiled: Took,
    followed: Took,
    decided: Took,
    sizes: Sizes,
    complete: bool,
}

fn run(family: &str, name: &str, flags: &[&str], refuted: bool) -> Run {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = here.join(format!("../examples/prove/{family}/{name}.c"));
    let flags: Vec<_> = flags.iter().map(|flag| (*flag).into()).collect();
    let (output, compiled) = Took::of(|| {
        compiler::intermediate(Language::C, &flags, &[source])
            .expect("clang is there")
            .output()
            .expect("clang runs")
    });
    let text = String::from_utf8(output.stdout).expect("IR is text");
    let limits = Bounds {
        unroll: UNROLL,
        ..Bounds::default()
    };
    let (program, followed) = Took::of(|| {
        let module = Module::read(&text).expect("the IR can be read");
        c::translate(&module, &limits, &|_| None)
            .unwrap_or_else(|refusal| panic!("{family}/{name}: {}", refusal.what))
    });
    let options = ProofOptions::default();
    let (answered, decided) = Took::of(|| invariant(&program, &options));
    let right = match answered.verdict {
        ProofVerdict::Proved => !refuted,
        ProofVerdict::Refuted(_) => refuted,
        _ => false,
    };
    assert!(right, "{family}/{name}: a wrong verdict");
    Run {
        compiled,
        followed,
        decided,
        sizes: answered.sizes,
        complete: refuted || bounds(&program, &options).exceeded.is_empty(),
    }
}

/// `only`: the clients whose names contain this.
pub(crate) fn print(only: Option<&str>) {
    let families: [(&str, &[(&str, f64)]); 3] = [
        ("flit", &flit::CLIENTS),
        ("queue", &queue::CLIENTS),
        ("set", &SET),
    ];
    let mut means = [Mean::default(), Mean::default(), Mean::default()];
    for (family, clients) in families {
        let mut table = Table::new(&[
            "client",
            "events",
            "vars",
            "clauses",
            "conflicts",
            "clang s",
            "follow s",
            "solve s",
            "complete",
            "published s",
            "ratio",
            "with clang",
            "by processor",
            "refuted s",
        ]);
        let wanted = |name: &str| only.is_none_or(|only| format!("{family}/{name}").contains(only));
        if !clients.iter().any(|(name, _)| wanted(name)) {
            continue;
        }
        for &(name, paper) in clients.iter().filter(|(name, _)| wanted(name)) {
            let safe = run(family, name, &[], false);
            let broken = run(family, name, &["-DMISSING_FLUSH"], true);
            let [clang, follow, solve] = [safe.compiled, safe.followed, safe.decided];
            let own = follow.clock + solve.clock;
            let processor = clang.processor + follow.processor + solve.processor;
            // A processor's clock ticks a hundred times a second.
            let ratios = [own, own + clang.clock, processor.max(0.01)].map(|took| paper / took);
            for (mean, ratio) in means.iter_mut().zip(ratios) {
                mean.add(ratio);
            }
            table.row(&[
                name.to_owned(),
                safe.sizes.events.to_string(),
                safe.sizes.variables.to_string(),
                safe.sizes.clauses.to_string(),
                safe.sizes.effort.conflicts.to_string(),
                format!("{:.3}", clang.clock),
                format!("{:.3}", follow.clock),
                format!("{:.3}", solve.clock),
                if safe.complete { "yes" } else { "up to 3" }.to_owned(),
                format!("{paper:.2}"),
                format!("{:.1}", ratios[0]),
                format!("{:.1}", ratios[1]),
                format!("{:.1}", ratios[2]),
                format!("{:.3}", broken.followed.clock + broken.decided.clock),
            ]);
        }
        table.print(&format!(
            "examples/prove/{family} (Marmanis and Vafeiadis, table 1)"
        ));
    }
    println!();
    for (what, mean) in ["without clang", "with clang", "with clang, processor time"]
        .iter()
        .zip(&means)
    {
        println!(
            "geometric mean of the ratios, {what}: {:.1}, smallest {:.1}",
            mean.value(),
            mean.least
        );
    }
}

struct Mean {
    log: f64,
    count: u32,
    least: f64,
}

impl Default for Mean {
    fn default() -> Mean {
        Mean {
            log: 0.0,
            count: 0,
            least: f64::INFINITY,
        }
    }
}

impl Mean {
    fn add(&mut self, ratio: f64) {
        self.log += ratio.ln();
        self.count += 1;
        self.least = self.least.min(ratio);
    }

    fn value(&self) -> f64 {
        (self.log / f64::from(self.count)).exp()
    }
}
