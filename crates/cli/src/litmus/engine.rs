//! STAND-IN until the definitions and the parsers are merged.

use super::report::Unreadable;
use landfall_litmus::expect::{Expectation, Prop, Quantifier};
use landfall_litmus::program::{LineId, Observe, Outcome, Program, Test, Var, VarDecl};
use std::collections::BTreeSet;
use std::path::Path;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Twin {
    IfSmall,
    Insist,
}

#[derive(Debug)]
pub(super) struct Explored {
    pub(super) outcomes: BTreeSet<Outcome>,
    pub(super) states: usize,
}

pub(super) fn parse(_file: &Path, text: &str) -> Result<Test, Unreadable> {
    let Some(name) = text.strip_prefix("name: ") else {
        return Err(Unreadable {
            at: Some((1, 1)),
            message: "expected `name:`".into(),
        });
    };
    let var = |name: &str| VarDecl {
        name: name.into(),
        line: LineId(0),
        init: 0,
    };
    Ok(Test {
        name: name.lines().next().unwrap_or_default().into(),
        program: Program {
            vars: vec![var("x"), var("f")],
            threads: vec![],
        },
        observe: Observe::Recover(vec![Var(0), Var(1)]),
        platform: Default::default(),
        expect: vec![
            Expectation {
                quantifier: Quantifier::Never,
                prop: Prop::Eq(0, 2),
                text: "x=2".into(),
            },
            Expectation {
                quantifier: Quantifier::Exists,
                prop: Prop::Eq(0, 1),
                text: "x=1".into(),
            },
        ],
        source: String::new(),
    })
}

pub(super) fn explore(_test: &Test, _states: usize) -> Result<Explored, ()> {
    Ok(Explored {
        outcomes: BTreeSet::from([vec![0, 1], vec![1, 1]]),
        states: 7,
    })
}

pub(super) fn twin(_test: &Test, twin: Twin) -> Option<BTreeSet<Outcome>> {
    (twin == Twin::Insist).then(|| BTreeSet::from([vec![0, 1], vec![1, 1]]))
}

pub(super) fn steps(_explored: &Explored, _outcome: &Outcome) -> Option<Vec<String>> {
    Some(vec!["T0: x = 1".into()])
}
