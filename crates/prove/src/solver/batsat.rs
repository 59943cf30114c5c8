//! batsat, a solver in Rust with a hook for theories: slower, and nothing in common with CaDiCaL.

use super::{Answer, Backend, Effort};
use crate::cnf::{Formula, Lit};
use crate::theory::Theory;
use batsat::theory::TheoryArg;
use batsat::{BasicSolver, SolverInterface, Var, lbool};

pub(super) struct Batsat {
    solver: BasicSolver,
    link: BatsatLink,
    /// A clause was already contradictory when it was added.
    broken: bool,
    model: Vec<bool>,
}

fn to_batsat(literal: Lit) -> batsat::Lit {
    batsat::Lit::new(
        Var::unsafe_from_idx(literal.var() as u32 - 1),
        literal.is_positive(),
    )
}

fn from_batsat(literal: batsat::Lit) -> Lit {
    let number = literal.var().idx() as i32 + 1;
    Lit::from_dimacs(if literal.sign() { number } else { -number })
}

impl Batsat {
    pub(super) fn new(formula: &Formula, mut theory: Theory, observed: &[usize]) -> Batsat {
        let variables = formula.variables();
        let mut solver = BasicSolver::default();
        for variable in 0..variables {
            solver.var_of_int(variable as u32);
        }
        let mut watched = vec![false; variables + 1];
        observed
            .iter()
            .for_each(|&variable| watched[variable] = true);
        let roots = theory.root_clauses();
        let mut backend = Batsat {
            solver,
            link: BatsatLink {
                theory,
                watched,
                seen: 0,
                levels: Vec::new(),
                reason: Vec::new(),
            },
            broken: false,
            model: vec![false; variables + 1],
        };
        for clause in formula.clauses() {
            backend.add_clause(&clause.collect::<Vec<_>>());
        }
        roots.iter().for_each(|clause| backend.add_clause(clause));
        backend
    }
}

impl Backend for Batsat {
    fn add_clause(&mut self, clause: &[Lit]) {
        let mut clause = clause.iter().map(|&l| to_batsat(l)).collect();
        self.broken |= !self.solver.add_clause_reuse(&mut clause);
    }

    fn solve(&mut self, assumptions: &[Lit]) -> Answer {
        if self.broken {
            return Answer::Unsatisfiable;
        }
        let assumptions: Vec<batsat::Lit> = assumptions.iter().map(|&l| to_batsat(l)).collect();
        let answer = self.solver.solve_limited_th(&mut self.link, &assumptions);
        if answer == lbool::TRUE {
            for variable in 1..self.model.len() {
                let value = self
                    .solver
                    .value_var(Var::unsafe_from_idx(variable as u32 - 1));
                self.model[variable] = value == lbool::TRUE;
            }
            Answer::Satisfiable
        } else if answer == lbool::FALSE {
            Answer::Unsatisfiable
        } else {
            Answer::Unknown
        }
    }

    fn holds(&self, literal: Lit) -> bool {
        self.model[literal.var()] == literal.is_positive()
    }

    fn effort(&self) -> Effort {
        Effort {
            conflicts: self.solver.num_conflicts(),
            theory: self.link.theory.stats,
        }
    }
}

struct BatsatLink {
    theory: Theory,
    /// By variable: does the theory want to hear of it?
    watched: Vec<bool>,
    /// How much of the solver's trail the theory has been told, and how much at the beginning of each level.
    seen: usize,
    levels: Vec<usize>,
    reason: Vec<batsat::Lit>,
}

impl BatsatLink {
    fn check(&mut self, solver: &mut TheoryArg) {
        loop {
            let trail = solver.model();
            let Some(&literal) = trail.get(self.seen) else {
                break;
            };
            self.seen += 1;
            let literal = from_batsat(literal);
            if !self.watched[literal.var()] {
                continue;
            }
            if let Err(lemma) = self.theory.assign(literal) {
                let lemma: Vec<batsat::Lit> = lemma.into_iter().map(to_batsat).collect();
                solver.raise_conflict(&lemma, false);
                return;
            }
        }
        while let Some(literal) = self.theory.next_implied() {
            if !solver.propagate(to_batsat(literal)) {
                return;
            }
        }
    }
}

impl batsat::Theory for BatsatLink {
    fn final_check(&mut self, solver: &mut TheoryArg) {
        self.check(solver);
    }

    fn partial_check(&mut self, solver: &mut TheoryArg) {
        self.check(solver);
    }

    fn create_level(&mut self) {
        self.levels.push(self.seen);
        self.theory.open_level();
    }

    fn pop_levels(&mut self, count: usize) {
        let level = self.levels.len() - count;
        self.seen = self.levels[level];
        self.levels.truncate(level);
        self.theory.return_to(level);
    }

    fn n_levels(&self) -> usize {
        self.levels.len()
    }

    fn explain_propagation(&mut self, literal: batsat::Lit) -> &[batsat::Lit] {
        let implied = from_batsat(literal);
        let clause = self.theory.explain(implied);
        let others = clause.into_iter().filter(|&l| l != implied);
        self.reason = others.map(|l| to_batsat(!l)).collect();
        &self.reason
    }
}
