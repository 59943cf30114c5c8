//! CaDiCaL, with the theory as its external propagator (IPASIR-UP).

use super::{Answer, Backend, Effort, SearchOptions};
use crate::certificate::ProofLog;
use crate::cnf::{Formula, Lit};
use crate::theory::Theory;
use cadical_sys::{CaDiCal, ExternalPropagator, Status, Terminator};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

pub(super) struct Cadical {
    solver: CaDiCal,
    theory: Rc<RefCell<Theory>>,
    max_conflicts: Option<u32>,
    /// The last execution found, by variable.
    model: Vec<bool>,
}

impl Cadical {
    pub(super) fn new(
        (formula, observed, options): (&Formula, &[usize], &SearchOptions),
        mut theory: Theory,
        log: Option<ProofLog>,
    ) -> Cadical {
        let mut solver = CaDiCal::new();
        // Proofs are what takes long. A quarter fewer conflicts on the benchmarks than as it comes.
        solver.configure("unsat");
        if let Some(log) = &log {
            // Definitions of new variables are no consequences of clauses.
            solver.set("factor", 0);
            solver.connect_proof_tracer1(log.clone(), true, false);
        }
        solver.resize(formula.variables() as i32);
        for clause in formula.clauses() {
            clause.for_each(|literal| solver.add(literal.dimacs()));
            solver.add(0);
        }
        if let Some(log) = &log {
            log.formula_is_complete();
        }
        for clause in theory.root_clauses() {
            clause.iter().for_each(|l| solver.add(l.dimacs()));
            solver.add(0);
        }
        let theory = Rc::new(RefCell::new(theory));
        solver.connect_external_propagator(CadicalLink {
            theory: theory.clone(),
            lemmas: Vec::new(),
            giving: Vec::new(),
            reason: None,
        });
        for &variable in observed {
            solver.add_observed_var(variable as i32);
        }
        if let Some(until) = options.until {
            solver.connect_terminator(Alarm(until));
        }
        Cadical {
            solver,
            theory,
            max_conflicts: options.max_conflicts,
            model: vec![false; formula.variables() + 1],
        }
    }
}

impl Backend for Cadical {
    fn add_clause(&mut self, clause: &[Lit]) {
        clause.iter().for_each(|l| self.solver.add(l.dimacs()));
        self.solver.add(0);
    }

    fn solve(&mut self, assumptions: &[Lit]) -> Answer {
        assumptions
            .iter()
            .for_each(|literal| self.solver.assume(literal.dimacs()));
        if let Some(max) = self.max_conflicts {
            self.solver
                .limit("conflicts", i32::try_from(max).unwrap_or(i32::MAX));
        }
        match self.solver.solve() {
            Status::SATISFIABLE => {
                for variable in 1..self.model.len() {
                    self.model[variable] = self.solver.val(variable as i32) > 0;
                }
                Answer::Satisfiable
            }
            Status::UNSATISFIABLE => Answer::Unsatisfiable,
            Status::UNKNOWN => Answer::Unknown,
        }
    }

    fn holds(&self, literal: Lit) -> bool {
        self.model[literal.var()] == literal.is_positive()
    }

    fn effort(&self) -> Effort {
        Effort {
            conflicts: self.solver.get_statistic_value("conflicts").max(0) as u64,
            theory: self.theory.borrow().stats,
        }
    }
}

/// Ends a search when its time is up.
struct Alarm(Instant);

impl Terminator for Alarm {
    fn terminated(&mut self) -> bool {
        Instant::now() >= self.0
    }
}

/// Passes on what the solver decides and what the theory answers, literal by literal, as the interface wants it.
struct CadicalLink {
    theory: Rc<RefCell<Theory>>,
    /// Clauses about cycles that the solver has not taken yet.
    lemmas: Vec<Vec<Lit>>,
    /// The rest of the one it is taking.
    giving: Vec<Lit>,
    /// The literal whose reason it is taking, and the rest of that.
    reason: Option<(i32, Vec<Lit>)>,
}

impl ExternalPropagator for CadicalLink {
    fn are_reasons_forgettable(&mut self) -> bool {
        true
    }

    fn notify_assignment(&mut self, literals: &[i32]) {
        let mut theory = self.theory.borrow_mut();
        for &literal in literals {
            if let Err(lemma) = theory.assign(Lit::from_dimacs(literal)) {
                self.lemmas.push(lemma);
            }
        }
    }

    fn notify_new_decision_level(&mut self) {
        self.theory.borrow_mut().open_level();
    }

    fn notify_backtrack(&mut self, level: usize) {
        self.theory.borrow_mut().return_to(level);
    }

    fn cb_check_found_model(&mut self, _model: &[i32]) -> bool {
        self.lemmas.is_empty()
    }

    fn cb_propagate(&mut self) -> i32 {
        if !self.lemmas.is_empty() {
            return 0;
        }
        let implied = self.theory.borrow_mut().next_implied();
        implied.map_or(0, Lit::dimacs)
    }

    fn cb_add_reason_clause_lit(&mut self, literal: i32) -> i32 {
        if self.reason.as_ref().is_none_or(|(of, _)| *of != literal) {
            let clause = self.theory.borrow_mut().explain(Lit::from_dimacs(literal));
            self.reason = Some((literal, clause));
        }
        let next = self.reason.as_mut().and_then(|(_, rest)| rest.pop());
        if next.is_none() {
            self.reason = None;
        }
        next.map_or(0, Lit::dimacs)
    }

    fn cb_has_external_clause(&mut self, is_forgettable: &mut bool) -> bool {
        *is_forgettable = true;
        match self.lemmas.pop() {
            Some(lemma) => {
                self.giving = lemma;
                true
            }
            None => false,
        }
    }

    fn cb_add_external_clause_lit(&mut self) -> i32 {
        self.giving.pop().map_or(0, Lit::dimacs)
    }
}
