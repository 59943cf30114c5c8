//! Who searches: a SAT solver that lets the theory of ordering take part.
//!
//! Two independent ones, so that neither has to be believed on its own: CaDiCaL (fast) and batsat (pure Rust).

mod batsat;
mod cadical;

use crate::certificate::ProofLog;
use crate::cnf::{Formula, Lit};
use crate::theory::{Ordering, Propagation, Theory, TheoryStats};
use std::time::Instant;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    Satisfiable,
    Unsatisfiable,
    /// A limit was reached.
    Unknown,
}

/// What a search took, since the solver was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Effort {
    pub conflicts: u64,
    pub theory: TheoryStats,
}

/// A solver with a formula and an ordering. Clauses can be added and questions asked in any sequence.
pub trait Backend {
    fn add_clause(&mut self, clause: &[Lit]);
    /// Is there an execution in which all of these hold?
    fn solve(&mut self, assumptions: &[Lit]) -> Answer;
    /// In the execution just found.
    fn holds(&self, literal: Lit) -> bool;
    fn effort(&self) -> Effort;
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Solver {
    #[default]
    Cadical,
    Batsat,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SearchOptions {
    pub solver: Solver,
    pub propagation: Propagation,
    /// Conflicts after which one question is given up. batsat knows no limits.
    pub max_conflicts: Option<u32>,
    /// When to give up.
    pub until: Option<Instant>,
}

/// A solver for a formula whose executions the ordering must allow.
pub fn open(formula: &Formula, ordering: &Ordering, options: &SearchOptions) -> Box<dyn Backend> {
    open_logged(formula, ordering, options, None)
}

/// One that writes down why there is no execution, if there is none. batsat does not.
pub(crate) fn open_logged(
    formula: &Formula,
    ordering: &Ordering,
    options: &SearchOptions,
    log: Option<&ProofLog>,
) -> Box<dyn Backend> {
    let variables = formula.variables();
    let Ok(theory) = Theory::new(ordering, variables, options.propagation) else {
        if let Some(log) = log {
            log.has_no_order(formula.clause_count());
        }
        return Box::new(Impossible);
    };
    let observed = ordering.variables();
    match options.solver {
        Solver::Cadical => {
            let log = log.cloned();
            let asked = (formula, &observed[..], options);
            Box::new(cadical::Cadical::new(asked, theory, log))
        }
        Solver::Batsat => Box::new(batsat::Batsat::new(formula, theory, &observed)),
    }
}

/// The fixed order has a cycle: no execution at all.
#[derive(Debug)]
struct Impossible;

impl Backend for Impossible {
    fn add_clause(&mut self, _: &[Lit]) {}

    fn solve(&mut self, _: &[Lit]) -> Answer {
        Answer::Unsatisfiable
    }

    fn holds(&self, _: Lit) -> bool {
        false
    }

    fn effort(&self) -> Effort {
        Effort::default()
    }
}
