//! Proofs written down, for somebody who trusts neither the solver nor the theory (crate `landfall-verify` checks them).
//!
//! CaDiCaL tells every clause it derives, and from which others; a clause of the theory is told with edges that close a cycle, found
//! anew here. What variables and nodes mean is written beside it.

mod cycle;
mod meaning;

use crate::cnf::{Formula, Lit};
use crate::encode::Encoding;
use crate::theory::Ordering;
use cycle::Cycles;
use rustc_hash::FxHashSet;
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

/// Where proofs are kept.
pub trait Certificates {
    /// A file of what answers a question; `None` where nobody asked for it.
    fn file(&mut self, question: &str, name: &str) -> Option<Box<dyn Write>>;

    /// The proof could not be written.
    fn failed(&mut self, error: io::Error);
}

/// Nobody wants to see a proof.
#[derive(Debug)]
pub struct NoCertificates;

impl Certificates for NoCertificates {
    fn file(&mut self, _: &str, _: &str) -> Option<Box<dyn Write>> {
        None
    }

    fn failed(&mut self, _: io::Error) {}
}

/// What the next clause that a solver is given is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum ClauseOrigin {
    #[default]
    Formula,
    /// The theory refuses a cycle.
    Theory,
    /// A state that some execution shows.
    Shown(u32),
}

/// A proof that is being written, step by step, beside a search.
#[derive(Clone)]
pub struct ProofLog(Rc<RefCell<Steps>>);

impl std::fmt::Debug for ProofLog {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("ProofLog")
    }
}

struct Steps {
    out: Box<dyn Write>,
    cycles: Cycles,
    origin: ClauseOrigin,
    /// Clauses of the formula that the solver has taken.
    taken: i64,
    /// Set aside by the solver, which may ask for them again.
    weakened: FxHashSet<i64>,
    gone: Vec<i64>,
    shown: u32,
    error: Option<io::Error>,
}

impl ProofLog {
    /// Writes down a question, and begins the proof of the answer.
    pub(crate) fn begin(
        certificates: &mut dyn Certificates,
        question: &str,
        asks: &str,
        encoding: &Encoding,
    ) -> Option<ProofLog> {
        let mut file = |name: &str| certificates.file(question, name);
        let (formula, ordering) = (file("formula.cnf")?, file("ordering.txt")?);
        let (meaning, out) = (file("meaning.txt")?, file("proof.txt")?);
        let written = write_formula(formula, &encoding.formula)
            .and_then(|()| write_ordering(ordering, &encoding.ordering))
            .and_then(|()| meaning::write(meaning, asks, encoding));
        if let Err(error) = written {
            certificates.failed(error);
        }
        Some(ProofLog(Rc::new(RefCell::new(Steps {
            out,
            cycles: Cycles::new(&encoding.ordering),
            origin: ClauseOrigin::Formula,
            taken: 0,
            weakened: FxHashSet::default(),
            gone: Vec::new(),
            shown: 0,
            error: None,
        }))))
    }

    /// The fixed edges have a cycle: that is the whole proof.
    pub(crate) fn has_no_order(&self, clauses: usize) {
        let mut steps = self.0.borrow_mut();
        steps.origin = ClauseOrigin::Theory;
        steps.given(clauses as i64 + 1, &[]);
    }

    /// The formula is there; what comes now is the theory's.
    pub(crate) fn formula_is_complete(&self) {
        self.0.borrow_mut().origin = ClauseOrigin::Theory;
    }

    /// Calls `add`, which adds a clause about the next of the states that are shown.
    pub(crate) fn shown(&self, add: impl FnOnce()) {
        let number = {
            let mut steps = self.0.borrow_mut();
            let number = steps.shown;
            steps.shown += 1;
            steps.origin = ClauseOrigin::Shown(number);
            number
        };
        add();
        let mut steps = self.0.borrow_mut();
        debug_assert_eq!(steps.origin, ClauseOrigin::Shown(number));
        steps.origin = ClauseOrigin::Theory;
    }

    /// The search is over.
    pub(crate) fn end(self, certificates: &mut dyn Certificates) {
        let mut steps = self.0.borrow_mut();
        let flushed = steps.out.flush();
        steps.keep(flushed);
        if let Some(error) = steps.error.take() {
            certificates.failed(error);
        }
    }
}

impl Steps {
    fn keep(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.error.get_or_insert(error);
        }
    }

    fn given(&mut self, id: i64, clause: &[i32]) {
        let written = match self.origin {
            ClauseOrigin::Formula => {
                self.taken += 1;
                step(&mut self.out, "f ", id, &[], &[self.taken])
            }
            ClauseOrigin::Theory => match self.cycles.that(clause) {
                Some(edges) => step(&mut self.out, "t ", id, clause, edges),
                None => Err(io::Error::other("the theory refused what is no cycle")),
            },
            ClauseOrigin::Shown(number) => step(&mut self.out, "s ", id, clause, &[number + 1]),
        };
        self.keep(written);
    }

    fn derived(&mut self, id: i64, clause: &[i32], from: &[i64]) {
        let mut written = Ok(());
        if !self.gone.is_empty() {
            written = write!(self.out, "d ").and_then(|()| numbers(&mut self.out, &self.gone));
            written = written.and_then(|()| writeln!(self.out));
            self.gone.clear();
        }
        let written = written.and_then(|()| step(&mut self.out, "", id, clause, from));
        self.keep(written);
    }
}

impl cadical_sys::ProofTracer for ProofLog {
    fn add_original_clause(&mut self, id: i64, _: bool, clause: &[i32], restored: bool) {
        let mut steps = self.0.borrow_mut();
        match restored {
            true => _ = steps.weakened.remove(&id),
            false => steps.given(id, clause),
        }
    }

    fn add_derived_clause(&mut self, id: i64, _: bool, _: i32, clause: &[i32], from: &[i64]) {
        self.0.borrow_mut().derived(id, clause, from);
    }

    fn delete_clause(&mut self, id: i64, _: bool, _: &[i32]) {
        let mut steps = self.0.borrow_mut();
        if !steps.weakened.contains(&id) {
            steps.gone.push(id);
        }
    }

    fn weaken_minus(&mut self, id: i64, _: &[i32]) {
        self.0.borrow_mut().weakened.insert(id);
    }

    fn add_assumption_clause(&mut self, id: i64, clause: &[i32], from: &[i64]) {
        self.0.borrow_mut().derived(id, clause, from);
    }

    fn strengthen(&mut self, _: i64) {}

    fn finalize_clause(&mut self, _: i64, _: &[i32]) {}

    fn add_assumption(&mut self, _: i32) {}

    fn add_constraint(&mut self, _: &[i32]) {}

    fn reset_assumptions(&mut self) {}

    fn conclude_sat(&mut self, _: i32, _: &[i32]) {}

    fn conclude_unsat(&mut self, _: i32, _: &[i64]) {}

    fn conclude_unknown(&mut self, _: &[i32]) {}
}

fn numbers(out: &mut dyn Write, all: &[impl std::fmt::Display]) -> io::Result<()> {
    for number in all {
        write!(out, "{number} ")?;
    }
    write!(out, "0")
}

fn step(
    out: &mut dyn Write,
    kind: &str,
    id: i64,
    clause: &[i32],
    why: &[impl std::fmt::Display],
) -> io::Result<()> {
    write!(out, "{kind}{id} ")?;
    numbers(out, clause)?;
    write!(out, " ")?;
    numbers(out, why)?;
    writeln!(out)
}

fn dimacs(literals: impl IntoIterator<Item = Lit>) -> Vec<i32> {
    literals.into_iter().map(Lit::dimacs).collect()
}

pub(crate) fn write_formula(mut out: Box<dyn Write>, formula: &Formula) -> io::Result<()> {
    let (variables, clauses) = (formula.variables(), formula.clause_count());
    writeln!(out, "p cnf {variables} {clauses}")?;
    for clause in formula.clauses() {
        numbers(&mut out, &dimacs(clause))?;
        writeln!(out)?;
    }
    out.flush()
}

pub(crate) fn write_ordering(mut out: Box<dyn Write>, ordering: &Ordering) -> io::Result<()> {
    // Nodes are numbered from 1 there: 0 ends a group.
    for (from, to) in &ordering.fixed {
        writeln!(out, "{} {} 0 0", from + 1, to + 1)?;
    }
    for edge in &ordering.guarded {
        write!(out, "{} {} 0 ", edge.from + 1, edge.to + 1)?;
        numbers(&mut out, &dimacs(edge.literals.iter().copied()))?;
        writeln!(out)?;
    }
    out.flush()
}

/// A line of numbers in groups.
pub(crate) fn write_groups(out: &mut dyn Write, all: &[Vec<i32>]) -> io::Result<()> {
    for (at, group) in all.iter().enumerate() {
        if at > 0 {
            write!(out, " ")?;
        }
        numbers(out, group)?;
    }
    writeln!(out)
}
