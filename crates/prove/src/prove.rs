//! The questions: does an assertion ever fail, and does a power failure ever leave what no instant of an execution showed?

mod bounds;
mod invariant;
mod robust;

pub use bounds::{Bounds, bounds, certified_bounds};
pub use invariant::{certified_invariant, invariant};
pub use robust::{certified_robust, robust};

use crate::encode::{CrashEncoding, Encoding};
use crate::solver::{Backend, Effort, SearchOptions};
use crate::witness::Refutation;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProofOptions {
    pub crash: CrashEncoding,
    pub search: SearchOptions,
    /// Robustness: how many suspicious states are looked into before giving up.
    pub max_states: usize,
    /// Robustness: when two states are the same.
    pub alike: SameState,
    /// Bounds: one that some execution exceeds is enough; the next question is about more rounds.
    pub one_bound: bool,
}

/// When is what a power failure left what some execution showed?
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SameState {
    /// The same values.
    #[default]
    Values,
    /// From the same stores: another store of the same value is another state.
    Stores,
}

impl Default for ProofOptions {
    fn default() -> ProofOptions {
        ProofOptions {
            crash: CrashEncoding::default(),
            search: SearchOptions::default(),
            max_states: 10_000,
            alike: SameState::default(),
            one_bound: false,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProofVerdict {
    /// No execution within the program's bounds breaks it.
    Proved,
    Refuted(Box<Refutation>),
    /// Not decided, and why.
    Unknown(String),
    /// The program asserts nothing, or its recovery reads nothing.
    Nothing,
}

/// How large the question was, and what the search took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sizes {
    pub events: usize,
    pub variables: usize,
    pub clauses: usize,
    /// Nodes, fixed and guarded edges of the ordering.
    pub nodes: usize,
    pub fixed_edges: usize,
    pub guarded_edges: usize,
    /// Questions put to a solver.
    pub questions: usize,
    pub effort: Effort,
}

impl Sizes {
    /// Of the larger of the two; counts of the search add up.
    fn add(&mut self, other: &Sizes) {
        self.events = self.events.max(other.events);
        self.variables = self.variables.max(other.variables);
        self.clauses = self.clauses.max(other.clauses);
        self.nodes = self.nodes.max(other.nodes);
        self.fixed_edges = self.fixed_edges.max(other.fixed_edges);
        self.guarded_edges = self.guarded_edges.max(other.guarded_edges);
        self.questions += other.questions;
        self.add_effort(&other.effort);
    }

    /// Of the largest question; counts of the search add up.
    fn include(&mut self, encoding: &Encoding, solver: &dyn Backend, questions: usize) {
        let ordering = &encoding.ordering;
        self.events = encoding.program.events.len();
        self.variables = self.variables.max(encoding.formula.variables());
        self.clauses = self.clauses.max(encoding.formula.clause_count());
        self.nodes = self.nodes.max(ordering.nodes);
        self.fixed_edges = self.fixed_edges.max(ordering.fixed.len());
        self.guarded_edges = self.guarded_edges.max(ordering.guarded.len());
        self.questions += questions;
        self.add_effort(&solver.effort());
    }

    fn add_effort(&mut self, effort: &Effort) {
        self.effort.conflicts += effort.conflicts;
        self.effort.theory.edges += effort.theory.edges;
        self.effort.theory.conflicts += effort.theory.conflicts;
        self.effort.theory.propagations += effort.theory.propagations;
        self.effort.theory.explanations += effort.theory.explanations;
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answered {
    pub verdict: ProofVerdict,
    pub sizes: Sizes,
}

fn gave_up(options: &ProofOptions) -> ProofVerdict {
    let late = options
        .search
        .until
        .is_some_and(|until| std::time::Instant::now() >= until);
    ProofVerdict::Unknown(match options.search.max_conflicts {
        Some(conflicts) if !late => format!("gave up after {conflicts} conflicts"),
        _ => "the time was up".to_owned(),
    })
}
