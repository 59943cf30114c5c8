//! Programs with hardware transactions: the search, for which a transaction is one step, finds what a machine finds that runs their instructions one by
//! one and aborts whom others meet; and no execution twice.

use landfall_explore::schedule::saturate::{Preempt, saturate};
use landfall_explore::schedule::{End, Options};
use landfall_testkit::interpret::Interpreter;
use landfall_testkit::program::{
    AbortReasons, Cmp, Instr, Model, Op, Order, Place, Program, Reg, STARTED, explicit,
};
use landfall_testkit::schedules::Outcome;
use landfall_testkit::schedules::transactions::try_transactions;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// States of a program that is tried, and executions.
const MOST: usize = 60_000;
const EXECUTIONS: u64 = 20_000;

#[derive(Clone, Copy, Debug)]
enum Inside {
    Load(u8),
    Store(u8),
    Add(u8),
    Swap(u8, u64),
    /// Stores to the second if the first is 0.
    StoreIf(u8, u8),
    /// AbortReasons if the variable is not 0.
    AbortIf(u8, u8),
    Nested(u8),
}

#[derive(Clone, Debug)]
enum Draft {
    /// A transaction; what is done where it was aborted; and whether it is tried once more before.
    Try(Vec<Inside>, Vec<Inside>, bool),
    Bare(Inside),
    Fence,
}

fn inside(vars: u8) -> impl Strategy<Value = Inside> {
    let var = move || 0..vars;
    prop_oneof![
        3 => var().prop_map(Inside::Load),
        3 => var().prop_map(Inside::Store),
        1 => var().prop_map(Inside::Add),
        1 => (var(), 0u64..2).prop_map(|(v, expect)| Inside::Swap(v, expect)),
        1 => (var(), var()).prop_map(|(a, b)| Inside::StoreIf(a, b)),
    ]
}

fn in_transaction(vars: u8) -> impl Strategy<Value = Inside> {
    prop_oneof![
        8 => inside(vars),
        2 => (0..vars, 1u8..3).prop_map(|(v, code)| Inside::AbortIf(v, code)),
        1 => (0..vars).prop_map(Inside::Nested),
    ]
}

fn any_draft() -> impl Strategy<Value = Draft> {
    let body = || prop::collection::vec(in_transaction(3), 0..=3);
    let fallback = || prop::collection::vec(inside(3), 0..=1);
    prop_oneof![
        4 => (body(), fallback(), prop::bool::weighted(0.2))
            .prop_map(|(body, fallback, again)| Draft::Try(body, fallback, again)),
        3 => inside(3).prop_map(Draft::Bare),
        1 => Just(Draft::Fence),
    ]
}

fn shape() -> impl Strategy<Value = Vec<Vec<Draft>>> {
    prop::collection::vec(prop::collection::vec(any_draft(), 0..=2), 2..=3)
}

/// Fewer attempts: each has five ways to go.
fn few() -> impl Strategy<Value = Vec<Vec<Draft>>> {
    prop::collection::vec(prop::collection::vec(any_draft(), 0..=2), 2..=3).prop_filter(
        "small",
        |shape| {
            let tries = |draft: &Draft| match draft {
                Draft::Try(_, _, again) => 1 + usize::from(*again),
                _ => 0,
            };
            shape.iter().flatten().map(tries).sum::<usize>() <= 3
        },
    )
}

struct Writer {
    code: Vec<Instr>,
    order: Order,
    regs: u8,
    value: u64,
}

impl Writer {
    fn fresh(&mut self) -> Reg {
        self.regs += 1;
        Reg(self.regs % 14)
    }

    fn write(&mut self, inside: Inside) {
        let at = |var: u8| Place {
            cell: var.into(),
            index: None,
        };
        self.value += 1;
        let (value, order) = (self.value.into(), self.order);
        match inside {
            Inside::Load(var) => {
                let to = self.fresh();
                self.code.push(Instr::Load {
                    to,
                    at: at(var),
                    order,
                });
            }
            Inside::Store(var) => self.code.push(Instr::Store {
                at: at(var),
                value,
                order,
            }),
            Inside::Add(var) => {
                let to = self.fresh();
                self.code.push(Instr::Rmw {
                    to,
                    at: at(var),
                    op: Op::Add,
                    value: 1.into(),
                });
            }
            Inside::Swap(var, expect) => {
                let to = self.fresh();
                self.code.push(Instr::Cas {
                    to,
                    at: at(var),
                    expect: expect.into(),
                    new: value,
                });
            }
            Inside::StoreIf(looks, var) => {
                let to = self.fresh();
                self.code.push(Instr::Load {
                    to,
                    at: at(looks),
                    order,
                });
                self.skip_unless(to, Cmp::Eq, 1);
                self.code.push(Instr::Store {
                    at: at(var),
                    value,
                    order,
                });
            }
            Inside::AbortIf(looks, code) => {
                let to = self.fresh();
                self.code.push(Instr::Load {
                    to,
                    at: at(looks),
                    order,
                });
                self.skip_unless(to, Cmp::Ne, 1);
                self.code.push(Instr::Abort(code));
            }
            Inside::Nested(var) => {
                let to = self.fresh();
                self.code.push(Instr::Begin { to });
                self.code.push(Instr::Store {
                    at: at(var),
                    value,
                    order,
                });
                self.code.push(Instr::End);
            }
        }
    }

    /// Jumps over so many instructions where a register is not, or is, 0.
    fn skip_unless(&mut self, reg: Reg, cmp: Cmp, count: u32) {
        let to = self.code.len() as u32 + 1 + count;
        let cmp = if cmp == Cmp::Eq { Cmp::Ne } else { Cmp::Eq };
        self.code.push(Instr::JumpIf {
            a: reg.into(),
            cmp,
            b: 0.into(),
            to,
        });
    }

    fn attempt(&mut self, body: &[Inside], fallback: &[Inside], again: bool) {
        let status = self.fresh();
        self.code.push(Instr::Begin { to: status });
        let jump = self.code.len();
        self.code.push(Instr::Jump(0));
        body.iter().for_each(|&inside| self.write(inside));
        self.code.push(Instr::End);
        let over = self.code.len();
        self.code.push(Instr::Jump(0));
        let failed = self.code.len() as u32;
        self.code[jump] = Instr::JumpIf {
            a: status.into(),
            cmp: Cmp::Ne,
            b: STARTED.into(),
            to: failed,
        };
        match again {
            true => self.attempt(body, fallback, false),
            false => fallback.iter().for_each(|&inside| self.write(inside)),
        }
        self.code[over] = Instr::Jump(self.code.len() as u32);
    }
}

fn build(shape: &[Vec<Draft>], order: Order) -> Program {
    let mut program = Program::default();
    program.array(3, 0);
    // Two of them share a cache line.
    (program.cells[2].line, program.cells[2].word) = (program.cells[1].line, 1);
    for (thread, drafts) in shape.iter().enumerate() {
        let mut writer = Writer {
            code: Vec::new(),
            order,
            regs: 0,
            value: 10 * (thread as u64 + 1),
        };
        for draft in drafts {
            match draft {
                Draft::Try(body, fallback, again) => writer.attempt(body, fallback, *again),
                Draft::Bare(inside) => writer.write(*inside),
                Draft::Fence => writer.code.push(Instr::Fence),
            }
        }
        program.thread(writer.code);
    }
    program
}

/// What the search finds, and how many executions it took; `None` if they are too many.
fn explore(
    program: &Program,
    (model, aborts): (Model, AbortReasons),
    preempt: Preempt,
) -> Option<(BTreeSet<Outcome>, u64)> {
    let mut spoiled = program.clone();
    spoiled.add_spoilers(24);
    spoiled.validate().expect("valid");
    let mut outcomes = BTreeSet::new();
    let mut known = BTreeSet::new();
    let mut twice = 0;
    let mut rounds = 0;
    let mut threads = Interpreter::new(&spoiled, model).aborting(aborts);
    let options = Options {
        executions: EXECUTIONS,
        ..Options::default()
    };
    let saturated = saturate(&mut threads, preempt, options, |threads, search| {
        let trace = search.trace();
        if search.counts.executions + search.counts.in_vain == 1 {
            known.clear();
            (rounds, twice) = (rounds + 1, 0);
        }
        if trace.end == End::InVain {
            return ControlFlow::Continue(());
        }
        assert_eq!(trace.end, End::Complete);
        let events = trace.steps.iter().enumerate();
        let class: BTreeSet<(u16, u32, u32, Vec<u32>)> = events
            .map(|(at, step)| {
                (
                    step.process,
                    step.tick,
                    step.section,
                    search.clock(at).to_vec(),
                )
            })
            .collect();
        twice += u64::from(!known.insert(class));
        if search.racy {
            return ControlFlow::Continue(());
        }
        outcomes.insert(Outcome {
            memory: threads.memory().to_vec(),
            regs: (0..program.threads.len())
                .map(|t| threads.registers(t).to_vec())
                .collect(),
            stuck: false,
        });
        ControlFlow::Continue(())
    })
    .expect("runs");
    assert_eq!(twice, 0, "{:?}", saturated.counts);
    let counts = saturated.counts;
    // Who runs early and comes to the end of the transaction does nothing that wakes those who sleep.
    assert!(counts.blocked == 0 || model == Model::Tso, "{counts:?}");
    counts.complete.then_some((outcomes, counts.executions))
}

/// `false` if the program was too large to say.
fn agrees(
    program: &Program,
    how: (Model, AbortReasons),
    preempt: Preempt,
) -> Result<bool, TestCaseError> {
    let Some(outcomes) = try_transactions(program, how, MOST) else {
        return Ok(false);
    };
    let Some((found, _)) = explore(program, how, preempt) else {
        return Ok(false);
    };
    let only = |a: &BTreeSet<Outcome>, b: &BTreeSet<Outcome>| -> Vec<Outcome> {
        a.difference(b).cloned().collect()
    };
    let (more, less) = (only(&found, &outcomes), only(&outcomes, &found));
    prop_assert!(
        more.is_empty() && less.is_empty(),
        "{how:?} {preempt:?}: too much {more:?}, too little {less:?}"
    );
    Ok(true)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn transactions_do_what_their_instructions_do(shape in shape(), tso: bool) {
        let model = if tso { Model::Tso } else { Model::Sc };
        agrees(&build(&shape, Order::Atomic), (model, AbortReasons::Untold), Preempt::Everywhere)?;
    }

    #[test]
    fn plain_accesses_beside_transactions_become_steps(shape in shape(), tso: bool) {
        let model = if tso { Model::Tso } else { Model::Sc };
        agrees(&build(&shape, Order::Plain), (model, AbortReasons::Untold), Preempt::Auto)?;
    }

    #[test]
    fn conflicts_are_told_where_somebody_can_have_made_them(shape in few(), tso: bool, by_words: bool) {
        let model = if tso { Model::Tso } else { Model::Sc };
        let aborts = if by_words { AbortReasons::Conflicts } else { AbortReasons::Told };
        agrees(&build(&shape, Order::Atomic), (model, aborts), Preempt::Everywhere)?;
    }

    #[test]
    fn conflicts_beside_plain_accesses_are_told(shape in few(), tso: bool, by_words: bool) {
        let model = if tso { Model::Tso } else { Model::Sc };
        let aborts = if by_words { AbortReasons::Conflicts } else { AbortReasons::Told };
        agrees(&build(&shape, Order::Plain), (model, aborts), Preempt::Auto)?;
    }
}

#[test]
fn an_abort_says_its_code_and_undoes_what_was_done() {
    let mut program = Program::default();
    let x = program.cell(0);
    let (status, read) = (Reg(0), Reg(1));
    let order = Order::Atomic;
    program.thread(vec![
        Instr::Begin { to: status },
        Instr::JumpIf {
            a: status.into(),
            cmp: Cmp::Ne,
            b: STARTED.into(),
            to: 4,
        },
        Instr::Store {
            at: x,
            value: 7.into(),
            order,
        },
        Instr::Abort(5),
        Instr::Load {
            to: read,
            at: x,
            order,
        },
    ]);
    let (found, executions) = explore(
        &program,
        (Model::Tso, AbortReasons::Untold),
        Preempt::Everywhere,
    )
    .expect("small");
    let seen: Vec<(u64, u64)> = found.iter().map(|o| (o.regs[0][0], o.regs[0][1])).collect();
    assert_eq!(seen, [(0, 0), (explicit(5), 0)]);
    assert_eq!(executions, 2);
}

/// Cases that went wrong once.
#[test]
fn remembered() {
    use Inside::*;
    let attempt = |body: Vec<Inside>, fallback: Vec<Inside>| Draft::Try(body, fallback, false);
    // What shows the reversal of a race begins in the same way in two executions, and goes on in another one in each.
    let two_ways_on = vec![
        vec![Draft::Bare(Store(1)), Draft::Bare(Store(0))],
        vec![
            attempt(vec![], vec![StoreIf(2, 0)]),
            attempt(vec![Load(2)], vec![]),
        ],
        vec![
            Draft::Bare(Store(2)),
            attempt(vec![Load(0), AbortIf(1, 1)], vec![Store(1)]),
        ],
    ];
    // A transaction stores where it is moved to, so that what was to follow does not.
    let decides = vec![
        vec![attempt(vec![StoreIf(0, 2)], vec![])],
        vec![Draft::Bare(Store(0))],
        vec![Draft::Bare(StoreIf(2, 1))],
    ];
    for (shape, model) in [(two_ways_on, Model::Sc), (decides, Model::Tso)] {
        let program = build(&shape, Order::Atomic);
        let agreed = agrees(&program, (model, AbortReasons::Untold), Preempt::Everywhere);
        assert!(matches!(agreed, Ok(true)), "{agreed:?}");
    }
}
