//! Printing and reading are each other's inverse, on random tests.

use super::*;
use crate::parse::parse;
use crate::program::{FlushKind, LineId, Operand, RegDecl, RmwOp, Value, Var};
use proptest::prelude::*;

const OPS: [RmwOp; 6] = [
    RmwOp::Xchg,
    RmwOp::Add,
    RmwOp::Sub,
    RmwOp::And,
    RmwOp::Or,
    RmwOp::Xor,
];
const FLUSHES: [FlushKind; 3] = [FlushKind::Clflush, FlushKind::Clflushopt, FlushKind::Clwb];

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![4 => 0..3i64, 1 => any::<i64>()]
}

fn variables() -> impl Strategy<Value = Vec<VarDecl>> {
    prop::collection::vec((any::<bool>(), value()), 1..5).prop_map(|raw| {
        let mut line = 0;
        let decls = raw.into_iter().enumerate().map(|(at, (own_line, init))| {
            line += u8::from(own_line && at > 0);
            VarDecl {
                name: format!("v{at}"),
                line: LineId(line),
                init,
            }
        });
        decls.collect()
    })
}

fn operand(regs: u8) -> impl Strategy<Value = Operand> {
    prop_oneof![
        value().prop_map(Operand::Const),
        (0..regs).prop_map(|r| Operand::Reg(Reg(r))),
    ]
}

fn instr(vars: u8, regs: u8) -> impl Strategy<Value = Instr> {
    let var = move || (0..vars).prop_map(Var);
    let reg = move || (0..regs).prop_map(Reg);
    let op = || prop::sample::select(OPS.to_vec());
    prop_oneof![
        (reg(), var()).prop_map(|(reg, var)| Instr::Load { reg, var }),
        (var(), operand(regs)).prop_map(|(var, value)| Instr::Store { var, value }),
        (var(), operand(regs)).prop_map(|(var, value)| Instr::NtStore { var, value }),
        (prop::option::of(reg()), var(), op(), operand(regs)).prop_map(
            |(reg, var, op, operand)| Instr::Rmw {
                reg,
                var,
                op,
                operand
            }
        ),
        (reg(), var(), operand(regs), operand(regs)).prop_map(|(reg, var, expected, desired)| {
            Instr::Cas {
                reg,
                var,
                expected,
                desired,
            }
        }),
        (var(), prop::sample::select(FLUSHES.to_vec()))
            .prop_map(|(var, kind)| Instr::Flush { var, kind }),
        Just(Instr::Sfence),
        Just(Instr::Mfence),
        (reg(), operand(regs)).prop_map(|(reg, value)| Instr::Move { reg, value }),
        // An exchange of a register with an operand is a move, and printed as one.
        (
            reg(),
            prop::sample::select(OPS[1..].to_vec()),
            operand(regs)
        )
            .prop_map(|(reg, op, operand)| Instr::Arith { reg, op, operand }),
        (reg(), value()).prop_map(|(reg, equals)| Instr::If { reg, equals }),
    ]
}

fn thread(vars: u8) -> impl Strategy<Value = Thread> {
    prop::collection::vec(prop_oneof![3 => Just(0), 1 => value()], 1..4).prop_flat_map(
        move |inits| {
            let regs = inits.len() as u8;
            prop::collection::vec(instr(vars, regs), 0..7).prop_map(move |body| {
                let decls = inits.iter().enumerate().map(|(at, &init)| RegDecl {
                    name: format!("r{at}"),
                    init,
                });
                Thread {
                    regs: decls.collect(),
                    body,
                }
            })
        },
    )
}

fn program() -> impl Strategy<Value = LitmusProgram> {
    variables().prop_flat_map(|vars| {
        let count = vars.len() as u8;
        prop::collection::vec(thread(count), 1..4).prop_map(move |threads| LitmusProgram {
            vars: vars.clone(),
            threads,
            ..LitmusProgram::default()
        })
    })
}

fn all_places(program: &LitmusProgram) -> (Vec<Var>, Vec<Location>) {
    let vars: Vec<Var> = (0..program.vars.len() as u8).map(Var).collect();
    let mut places: Vec<Location> = vars.iter().map(|&v| Location::Var(v)).collect();
    for (thread, t) in (0u8..).zip(&program.threads) {
        places.extend((0..t.regs.len() as u8).map(|r| Location::Reg {
            thread,
            reg: Reg(r),
        }));
    }
    (vars, places)
}

fn observe(program: &LitmusProgram) -> impl Strategy<Value = Observe> + use<> {
    let (vars, places) = all_places(program);
    let (var_count, place_count) = (vars.len(), places.len());
    prop_oneof![
        prop::sample::subsequence(vars, 1..=var_count)
            .prop_shuffle()
            .prop_map(Observe::Recover),
        prop::sample::subsequence(places, 1..=place_count)
            .prop_shuffle()
            .prop_map(Observe::Final),
    ]
}

fn condition(places: usize) -> impl Strategy<Value = Prop> {
    let leaf = prop_oneof![
        1 => Just(Prop::True),
        8 => (0..places, value()).prop_map(|(place, value)| Prop::Eq(place, value)),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|p| Prop::Not(Box::new(p))),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Prop::And),
            prop::collection::vec(inner, 2..4).prop_map(Prop::Or),
        ]
    })
}

/// An outcome as `allowed:` lists it: some of the places, each once.
fn outcome(places: usize) -> impl Strategy<Value = Prop> {
    let some = prop::sample::subsequence((0..places).collect::<Vec<_>>(), 1..=places);
    some.prop_flat_map(|places| {
        let values = prop::collection::vec(value(), places.len());
        values.prop_map(move |values| {
            let equations = places.iter().zip(values);
            Prop::And(equations.map(|(&p, v)| Prop::Eq(p, v)).collect())
        })
    })
}

fn worded_outcome(prop: &Prop, places: &[Location], program: &LitmusProgram) -> String {
    show_condition(prop, places, program).replace(" /\\ ", " ")
}

/// The expectations of one entry of the file.
fn entry(program: LitmusProgram, places: Vec<Location>) -> impl Strategy<Value = Vec<Expectation>> {
    let count = places.len();
    let said = (program.clone(), places.clone());
    let quantifier = prop::sample::select(vec![
        Quantifier::Exists,
        Quantifier::Never,
        Quantifier::Always,
    ]);
    let conditions = (quantifier, condition(count)).prop_map(move |(quantifier, prop)| {
        let text = show_condition(&prop, &said.1, &said.0);
        vec![Expectation {
            quantifier,
            prop,
            text,
        }]
    });
    let outcomes = (
        any::<[bool; 2]>(),
        prop::collection::vec(outcome(count), 1..4),
    );
    let outcomes = outcomes.prop_map(move |([allowed, exactly], props)| {
        let quantifier = if allowed || exactly {
            Quantifier::Exists
        } else {
            Quantifier::Never
        };
        let mut listed: Vec<Expectation> = props
            .iter()
            .map(|prop| Expectation {
                quantifier: quantifier.clone(),
                prop: prop.clone(),
                text: worded_outcome(prop, &places, &program),
            })
            .collect();
        if exactly {
            listed.push(Expectation {
                quantifier: Quantifier::Always,
                prop: Prop::Or(props),
                text: join_outcomes(&listed),
            });
        }
        listed
    });
    prop_oneof![conditions, outcomes]
}

fn any_test() -> impl Strategy<Value = Test> {
    let observed = program().prop_flat_map(|program| {
        let observe = observe(&program);
        (Just(program), observe)
    });
    observed.prop_flat_map(|(program, observe)| {
        let places = observe.places();
        let entries = prop::collection::vec(entry(program.clone(), places), 0..3);
        let platform = prop::sample::select(vec![Platform::Adr, Platform::Eadr]);
        (entries, platform, "[A-Za-z0-9+.#]{1,12}", "[ -~]{0,30}").prop_map(
            move |(entries, platform, name, source)| Test {
                asked: None,
                // A name that starts with `#` would be a comment.
                name: format!("t{name}"),
                program: program.clone(),
                observe: observe.clone(),
                platform,
                expect: without_second_exactly(entries).concat(),
                source: source.trim().to_owned(),
            },
        )
    })
}

/// A file says `exactly:` once.
fn without_second_exactly(mut entries: Vec<Vec<Expectation>>) -> Vec<Vec<Expectation>> {
    let mut seen = false;
    entries.retain(|entry| {
        let exactly = entry.len() > 1 && entry.iter().any(|e| e.quantifier == Quantifier::Always);
        let keep = !(exactly && seen);
        seen |= exactly;
        keep
    });
    entries
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_printed_test_reads_back_as_itself(test in any_test()) {
        let text = to_lit(&test);
        let read = parse("printed.lit", &text);
        prop_assert_eq!(read.as_ref(), Ok(&test), "printed as\n{}", text);
    }
}
