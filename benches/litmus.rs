//! `cargo bench -p landfall-benches --bench litmus`: what a litmus test costs.
//!
//! 1. The bundled corpus under each definition: tests per second.
//! 2. States with and without reduction, on random programs.
//! 3. Growth with threads and instructions, up to 4 threads × 6 instructions.

use landfall_benches::{Random, Table, seconds};
use landfall_litmus::operational::{ExploreOptions, Reduction, explore};
use landfall_litmus::program::*;
use landfall_litmus::{Model, axiomatic, buffers, parse};
use landfall_model::order::Platform;
use std::path::Path;
use std::time::{Duration, Instant};

fn corpus() -> Vec<Test> {
    let mut tests = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../litmus");
    for dir in ["px86", "tso", "table", "eadr"] {
        for entry in std::fs::read_dir(root.join(dir)).expect("litmus corpus") {
            let path = entry.expect("entry").path();
            let name = path.file_name().and_then(|n| n.to_str()).expect("utf-8");
            if name.ends_with(".lit") || name.ends_with(".litmus") {
                let text = std::fs::read_to_string(&path).expect("readable");
                tests.push(parse::parse(name, &text).expect("parses"));
            }
        }
    }
    tests
}

fn options(reduction: Reduction, max_states: usize) -> ExploreOptions {
    ExploreOptions {
        reduction,
        max_states,
    }
}

fn corpus_table() {
    let tests = corpus();
    let mut table = Table::new(&["definition", "tests", "seconds", "tests/s", "states"]);
    let mut row = |name: &str, run: &dyn Fn(&Test) -> usize| {
        let start = Instant::now();
        let states: usize = tests.iter().map(run).sum();
        let took = start.elapsed();
        table.row(&[
            name.to_owned(),
            tests.len().to_string(),
            seconds(took),
            format!("{:.0}", tests.len() as f64 / took.as_secs_f64()),
            if states > 0 {
                states.to_string()
            } else {
                "-".to_owned()
            },
        ]);
    };
    for (name, reduction) in [
        ("operational", Reduction::On),
        ("operational, no reduction", Reduction::Off),
    ] {
        row(name, &|test| {
            let model = Model::px86(test.platform);
            explore(
                &test.program,
                &test.observe,
                &model,
                &options(reduction, 10_000_000),
            )
            .expect("small")
            .states
        });
    }
    row("axiomatic", &|test| {
        let model = Model::px86(test.platform);
        axiomatic::outcomes(&test.program, &test.observe, &model, 10_000_000).expect("small");
        0
    });
    row("buffers (literal)", &|test| {
        let model = Model::px86(test.platform);
        buffers::outcomes(&test.program, &test.observe, &model, 10_000_000).expect("small");
        0
    });
    table.print("the bundled corpus, one core");
}

/// `threads` × `instrs` over three variables on two lines: stores, loads, flushes and fences as programs mix them.
fn random_test(random: &mut Random, threads: usize, instrs: usize, recover: bool) -> Test {
    let mut program = LitmusProgram {
        vars: ["x", "y", "z"]
            .iter()
            .enumerate()
            .map(|(i, name)| VarDecl {
                name: (*name).to_owned(),
                line: LineId(i as u8 / 2),
                init: 0,
            })
            .collect(),
        ..LitmusProgram::default()
    };
    let mut value = 0;
    for _ in 0..threads {
        let mut regs: Vec<RegDecl> = Vec::new();
        let mut body = Vec::new();
        for _ in 0..instrs {
            let var = Var(random.below(3) as u8);
            value += 1;
            let constant = Operand::Const(value);
            body.push(match random.below(12) {
                0..=3 => Instr::Store {
                    var,
                    value: constant,
                },
                4..=6 => {
                    let name = format!("r{}", regs.len());
                    regs.push(RegDecl { name, init: 0 });
                    let reg = Reg(regs.len() as u8 - 1);
                    Instr::Load { reg, var }
                }
                7 => Instr::Rmw {
                    reg: None,
                    var,
                    op: RmwOp::Xchg,
                    operand: constant,
                },
                8 => Instr::Flush {
                    var,
                    kind: FlushKind::Clflush,
                },
                9 => Instr::Flush {
                    var,
                    kind: FlushKind::Clwb,
                },
                10 => Instr::Sfence,
                _ => Instr::NtStore {
                    var,
                    value: constant,
                },
            });
        }
        program.threads.push(Thread { regs, body });
    }
    let observe = if recover {
        Observe::Recover(vec![Var(0), Var(1), Var(2)])
    } else {
        let regs = |t: usize| {
            (0..program.threads[t].regs.len() as u8).map(move |r| Location::Reg {
                thread: t as u8,
                reg: Reg(r),
            })
        };
        Observe::Final((0..threads).flat_map(regs).collect())
    };
    Test {
        asked: None,
        name: String::new(),
        program,
        observe,
        platform: Platform::Adr,
        expect: Vec::new(),
        source: String::new(),
    }
}

const SAMPLES: usize = 10;
const YARDSTICK: usize = 1_000_000;

fn growth_table(recover: bool, title: &str) {
    let mut table = Table::new(&[
        "threads × instructions",
        "states (mean)",
        "no reduction",
        "ratio",
        "slowest, s",
        "its states",
        "outcomes",
    ]);
    for (threads, instrs) in [(2, 4), (2, 6), (2, 8), (3, 4), (3, 6), (4, 4), (4, 6)] {
        let mut random = Random(0x5DEE_CE66);
        let (mut states, mut full, mut capped, mut outcomes) = (0, 0, 0, 0);
        let mut slowest = (Duration::ZERO, 0);
        for _ in 0..SAMPLES {
            let test = random_test(&mut random, threads, instrs, recover);
            let model = Model::px86(Platform::Adr);
            let start = Instant::now();
            let run = |reduction, max| {
                explore(
                    &test.program,
                    &test.observe,
                    &model,
                    &options(reduction, max),
                )
            };
            let reduced = run(Reduction::On, 20_000_000).expect("within 20 million states");
            slowest = slowest.max((start.elapsed(), reduced.states));
            states += reduced.states;
            outcomes += reduced.outcomes.len();
            match run(Reduction::Off, YARDSTICK) {
                Ok(explored) => full += explored.states,
                Err(_) => {
                    full += YARDSTICK;
                    capped += 1;
                }
            }
        }
        let more = if capped > 0 { "> " } else { "" };
        let ratio = full as f64 / states as f64;
        let ratio = match capped {
            0 => format!("{ratio:.1}"),
            // A yardstick that broke off says little.
            _ if ratio < 2.0 => "-".to_owned(),
            _ => format!("> {ratio:.0}"),
        };
        table.row(&[
            format!("{threads} × {instrs}"),
            (states / SAMPLES).to_string(),
            format!("{more}{}", full / SAMPLES),
            ratio,
            seconds(slowest.0),
            slowest.1.to_string(),
            (outcomes / SAMPLES).to_string(),
        ]);
    }
    table.print(title);
}

fn main() {
    // `cargo test --benches` passes --test: measuring is not testing.
    if std::env::args().any(|a| a == "--test") {
        return;
    }
    corpus_table();
    growth_table(
        false,
        "no crash, registers observed: 10 random programs each",
    );
    growth_table(
        true,
        "power failures at every point, three variables on two lines: 10 random programs each",
    );
}
