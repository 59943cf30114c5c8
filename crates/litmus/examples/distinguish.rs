//! Searches for small programs that tell a mutated ordering table from the real one: how the tests in `litmus/table/` were
//! found, and the evidence that the cells listed there as implied by others cannot be told apart.
//!
//! `cargo run --release -p landfall-litmus --example distinguish -- [TRIES] [EARLIER LATER]`

use landfall_litmus::Model;
use landfall_litmus::operational::{ExploreOptions, explore};
use landfall_litmus::program::*;
use landfall_model::order::{Keep, OpKind, OrderTable, Platform};

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) % n
    }
}

fn program(random: &mut Random) -> (LitmusProgram, Observe) {
    let vars = 2 + random.below(2);
    let mut program = LitmusProgram::default();
    for v in 0..vars {
        program.vars.push(VarDecl {
            name: ["x", "y", "z"][v as usize].to_owned(),
            line: LineId(random.below(3) as u8),
            init: 0,
        });
    }
    let recover = random.below(3) > 0;
    let mut value = 0;
    for _ in 0..1 + random.below(3) {
        let mut regs = Vec::new();
        let mut body = Vec::new();
        for _ in 0..1 + random.below(4) {
            let var = Var(random.below(vars) as u8);
            let mut reg = || {
                let name = format!("r{}", regs.len() + 1);
                regs.push(RegDecl { name, init: 0 });
                Reg(regs.len() as u8 - 1)
            };
            value += 1;
            let constant = Operand::Const(value);
            body.push(match random.below(11) {
                0 | 1 => Instr::Load { reg: reg(), var },
                2 | 3 => Instr::Store {
                    var,
                    value: constant,
                },
                4 => Instr::NtStore {
                    var,
                    value: constant,
                },
                5 => Instr::Rmw {
                    reg: Some(reg()),
                    var,
                    op: RmwOp::Xchg,
                    operand: constant,
                },
                6 => Instr::Flush {
                    var,
                    kind: FlushKind::Clflush,
                },
                7 => Instr::Flush {
                    var,
                    kind: FlushKind::Clflushopt,
                },
                8 => Instr::Sfence,
                9 => Instr::Mfence,
                _ => match regs.len() {
                    0 => Instr::Sfence,
                    n => Instr::If {
                        reg: Reg(n as u8 - 1),
                        equals: 1 + random.below(value as u64 + 2) as Value,
                    },
                },
            });
        }
        program.threads.push(Thread { regs, body });
    }
    let vars = (0..vars as u8).map(Var);
    let observe = if recover {
        Observe::Recover(vars.collect())
    } else {
        let regs = program.threads.iter().enumerate().flat_map(|(t, thread)| {
            (0..thread.regs.len() as u8).map(move |r| Location::Reg {
                thread: t as u8,
                reg: Reg(r),
            })
        });
        Observe::Final(regs.chain(vars.map(Location::Var)).collect())
    };
    (program, observe)
}

fn show(program: &LitmusProgram) -> String {
    let threads: Vec<String> = (0..program.threads.len())
        .map(|thread| {
            let body = &program.threads[thread].body;
            let body: Vec<String> = body
                .iter()
                .map(|instr| {
                    ShowInstr {
                        program,
                        thread,
                        instr,
                    }
                    .to_string()
                })
                .collect();
            body.join("; ")
        })
        .collect();
    let lines: Vec<String> = program.vars.iter().map(|v| v.line.0.to_string()).collect();
    format!("lines {} | {}", lines.join(""), threads.join(" || "))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let tries: usize = arguments
        .first()
        .and_then(|a| a.parse().ok())
        .unwrap_or(100_000);
    let wanted = |kind: OpKind, at: usize| arguments.get(at).is_none_or(|a| a == kind.name());
    let mut mutants = Vec::new();
    for earlier in OpKind::ALL {
        for later in OpKind::ALL {
            let real = OrderTable::PX86.keep(earlier, later);
            if !wanted(earlier, 1) || !wanted(later, 2) {
                continue;
            }
            for keep in Keep::ALL.into_iter().filter(|&k| k != real) {
                let table = OrderTable::PX86.with(earlier, later, keep);
                mutants.push((earlier, later, keep, table, None::<(usize, String)>));
            }
        }
    }
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let options = ExploreOptions {
        max_states: 20_000,
        ..ExploreOptions::default()
    };
    let real = Model::px86(Platform::Adr);
    for _ in 0..tries {
        let (program, observe) = program(&mut random);
        let size: usize = program.threads.iter().map(|t| t.body.len()).sum();
        let Ok(truth) = explore(&program, &observe, &real, &options) else {
            continue;
        };
        for (earlier, later, _, table, best) in &mut mutants {
            // A cell matters only to a program that has both kinds in one thread.
            let relevant = program.threads.iter().any(|t| {
                let kinds: Vec<_> = t.body.iter().filter_map(Instr::op_kind).collect();
                kinds
                    .iter()
                    .enumerate()
                    .any(|(i, k)| k == earlier && kinds[i + 1..].contains(later))
            });
            if !relevant || best.as_ref().is_some_and(|&(s, _)| s <= size) {
                continue;
            }
            let model = Model {
                table: table.clone(),
                platform: Platform::Adr,
            };
            if let Ok(other) = explore(&program, &observe, &model, &options)
                && other.outcomes != truth.outcomes
            {
                let kind = if observe.is_recovery() {
                    "recover"
                } else {
                    "final"
                };
                *best = Some((size, format!("{} [{kind}]", show(&program))));
            }
        }
    }
    for (earlier, later, keep, _, best) in &mutants {
        let found = best.as_ref().map_or("-", |(_, text)| text.as_str());
        println!("{earlier:>10} {later:<10} {:>2}  {found}", keep.symbol());
    }
}
