//! The theory of ordering: literals switch edges on, and the graph of all edges that are on must have no cycle.
//!
//! It follows a solver's search: literals are assigned, levels are opened and left. A cycle is explained by the literals of
//! its edges, the fewest there are; an edge that would close one, and lacks a single literal, has that literal propagated as
//! false. Explanations are made when they are asked for, from edges that were there when the literal was propagated.

mod explain;
mod graph;

use crate::cnf::Lit;
use explain::Explainer;
use graph::{FIXED, Graph};

/// An edge that is there while all its literals are true.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Guarded {
    pub from: u32,
    pub to: u32,
    pub literals: Vec<Lit>,
}

/// What must be free of cycles.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ordering {
    pub nodes: usize,
    pub fixed: Vec<(u32, u32)>,
    pub guarded: Vec<Guarded>,
}

impl Ordering {
    /// The variables the theory has to hear of, each once.
    pub fn variables(&self) -> Vec<usize> {
        let literals = self.guarded.iter().flat_map(|edge| &edge.literals);
        let mut all: Vec<usize> = literals.map(|literal| literal.var()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TheoryStats {
    /// Edges switched on.
    pub edges: u64,
    pub conflicts: u64,
    pub propagations: u64,
    pub explanations: u64,
}

/// How eagerly implied orders are told to the solver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Propagation {
    Off,
    /// From what keeping the topological order visits anyway.
    #[default]
    Visited,
    /// Also whenever an edge comes to lack a single literal.
    Eager,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EdgeValue {
    True,
    False,
    Open,
}

/// The fixed edges alone have a cycle: no execution exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoOrder;

#[derive(Debug)]
pub struct Theory {
    guarded: Vec<Guarded>,
    propagation: Propagation,
    /// By literal: the guarded edges that need it.
    needing: Vec<Vec<u32>>,
    /// By guarded edge: how many of its literals are not true.
    missing: Vec<u8>,
    /// By node: the guarded edges that end there.
    ending: Vec<Vec<u32>>,
    values: Vec<EdgeValue>,
    trail: Vec<Lit>,
    graph: Graph,
    /// Implied literals, and how far the solver has taken them.
    implied: Vec<Lit>,
    told: usize,
    /// By variable: the edge and the age of the graph it was implied by; `None` if it was not.
    because: Vec<Option<(u32, u32)>>,
    levels: Vec<Level>,
    explainer: Explainer,
    /// Marks of nodes after a new edge.
    mark: Vec<u32>,
    stamp: u32,
    pub stats: TheoryStats,
}

/// How long everything was when a level was opened.
#[derive(Clone, Copy, Debug)]
struct Level {
    trail: usize,
    edges: usize,
    implied: usize,
}

impl Theory {
    pub fn new(
        ordering: &Ordering,
        variables: usize,
        propagation: Propagation,
    ) -> Result<Theory, NoOrder> {
        let mut graph = Graph::new(ordering.nodes);
        for &(from, to) in &ordering.fixed {
            graph.add(from, to, FIXED).map_err(|_| NoOrder)?;
        }
        let mut theory = Theory {
            guarded: ordering.guarded.clone(),
            propagation,
            needing: vec![Vec::new(); (variables + 1) * 2],
            missing: Vec::new(),
            ending: vec![Vec::new(); ordering.nodes],
            values: vec![EdgeValue::Open; variables + 1],
            trail: Vec::new(),
            graph,
            implied: Vec::new(),
            told: 0,
            because: vec![None; variables + 1],
            levels: Vec::new(),
            explainer: Explainer::new(ordering.nodes),
            mark: vec![0; ordering.nodes],
            stamp: 0,
            stats: TheoryStats::default(),
        };
        for (id, edge) in ordering.guarded.iter().enumerate() {
            for literal in &edge.literals {
                theory.needing[literal.code()].push(id as u32);
            }
            theory.missing.push(edge.literals.len() as u8);
            theory.ending[edge.to as usize].push(id as u32);
        }
        Ok(theory)
    }

    /// Clauses that hold from the beginning: edges against the fixed order.
    pub fn root_clauses(&mut self) -> Vec<Vec<Lit>> {
        let mut clauses = Vec::new();
        for id in 0..self.guarded.len() {
            let (from, to) = (self.guarded[id].from, self.guarded[id].to);
            if from == to || self.graph.reaches(to, from) {
                clauses.push(self.guarded[id].literals.iter().map(|&l| !l).collect());
            }
        }
        clauses
    }

    fn value(&self, literal: Lit) -> EdgeValue {
        match (self.values[literal.var()], literal.is_positive()) {
            (EdgeValue::Open, _) => EdgeValue::Open,
            (EdgeValue::True, true) | (EdgeValue::False, false) => EdgeValue::True,
            _ => EdgeValue::False,
        }
    }

    pub fn level(&self) -> usize {
        self.levels.len()
    }

    pub fn open_level(&mut self) {
        self.levels.push(Level {
            trail: self.trail.len(),
            edges: self.graph.edges.len(),
            implied: self.implied.len(),
        });
    }

    /// Forgets everything above a level.
    pub fn return_to(&mut self, level: usize) {
        let Some(&mark) = self.levels.get(level) else {
            return;
        };
        self.levels.truncate(level);
        for &literal in &self.trail[mark.trail..] {
            self.values[literal.var()] = EdgeValue::Open;
            for &edge in &self.needing[literal.code()] {
                self.missing[edge as usize] += 1;
            }
        }
        self.trail.truncate(mark.trail);
        self.graph.truncate(mark.edges);
        for literal in self.implied.drain(mark.implied..) {
            self.because[literal.var()] = None;
        }
        // What was told above this level may have been taken back by the solver: tell it again from the level's beginning.
        let base = self.levels.last().map_or(0, |below| below.implied);
        self.told = self.told.min(base);
    }

    /// The solver made a literal true. A clause that all literals falsify, if that closes a cycle.
    pub fn assign(&mut self, literal: Lit) -> Result<(), Vec<Lit>> {
        if self.value(literal) != EdgeValue::Open {
            return Ok(());
        }
        self.values[literal.var()] = match literal.is_positive() {
            true => EdgeValue::True,
            false => EdgeValue::False,
        };
        self.trail.push(literal);
        let mut result = Ok(());
        for at in 0..self.needing[literal.code()].len() {
            let id = self.needing[literal.code()][at];
            self.missing[id as usize] -= 1;
            match self.missing[id as usize] {
                0 => result = result.and(self.switch_on(id)),
                1 if self.propagation == Propagation::Eager => {
                    let (from, to) = self.ends(id);
                    if from == to || self.graph.reaches(to, from) {
                        self.imply(id);
                    }
                }
                _ => {}
            }
        }
        result
    }

    /// The next literal the solver should make true.
    pub fn next_implied(&mut self) -> Option<Lit> {
        while let Some(&literal) = self.implied.get(self.told) {
            self.told += 1;
            if self.value(literal) != EdgeValue::True {
                return Some(literal);
            }
        }
        None
    }

    /// Why an implied literal is: a clause that contains it, all others false.
    pub fn explain(&mut self, literal: Lit) -> Vec<Lit> {
        let Some((id, age)) = self.because[literal.var()] else {
            return vec![literal]; // never asked for what was not implied
        };
        self.stats.explanations += 1;
        self.cycle_clause(id, age)
    }

    fn ends(&self, id: u32) -> (u32, u32) {
        let edge = &self.guarded[id as usize];
        (edge.from, edge.to)
    }

    fn switch_on(&mut self, id: u32) -> Result<(), Vec<Lit>> {
        let (from, to) = self.ends(id);
        self.stats.edges += 1;
        let age = self.graph.edges.len() as u32;
        if self.graph.add(from, to, id).is_err() {
            self.stats.conflicts += 1;
            return Err(self.cycle_clause(id, age));
        }
        if self.propagation != Propagation::Off {
            self.imply_around();
        }
        Ok(())
    }

    /// A new edge makes every edge from behind it to in front of it impossible.
    fn imply_around(&mut self) {
        if self.graph.after.is_empty() {
            return;
        }
        self.stamp += 1;
        for &node in &self.graph.after {
            self.mark[node as usize] = self.stamp;
        }
        for at in 0..self.graph.before.len() {
            let node = self.graph.before[at] as usize;
            for of in 0..self.ending[node].len() {
                let id = self.ending[node][of];
                let from = self.guarded[id as usize].from as usize;
                if self.missing[id as usize] == 1 && self.mark[from] == self.stamp {
                    self.imply(id);
                }
            }
        }
    }

    /// The edge lacks one literal and would close a cycle: the literal is false.
    fn imply(&mut self, id: u32) {
        let edge = &self.guarded[id as usize];
        let open = edge
            .literals
            .iter()
            .copied()
            .find(|&l| self.value(l) == EdgeValue::Open);
        // Without one, the missing literal is false already.
        if let Some(literal) = open
            && self.because[literal.var()].is_none()
        {
            self.because[literal.var()] = Some((id, self.graph.edges.len() as u32));
            self.implied.push(!literal);
            self.stats.propagations += 1;
        }
    }

    /// The literals of an edge and of the cheapest path back, all negated. Only edges older than `age` count.
    fn cycle_clause(&mut self, id: u32, age: u32) -> Vec<Lit> {
        let edge = &self.guarded[id as usize];
        let mut clause: Vec<Lit> = edge.literals.iter().map(|&l| !l).collect();
        self.explainer.path(
            &self.graph,
            &self.guarded,
            (edge.to, edge.from),
            age,
            |literal| clause.push(!literal),
        );
        clause.sort_unstable();
        clause.dedup();
        clause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lit(n: i32) -> Lit {
        Lit::from_dimacs(n)
    }

    fn edge(from: u32, to: u32, literals: &[i32]) -> Guarded {
        Guarded {
            from,
            to,
            literals: literals.iter().map(|&l| lit(l)).collect(),
        }
    }

    /// 0 →2 1 →3 2, then 2 → 0 by 4 and 5.
    fn triangle(propagation: Propagation) -> Theory {
        let ordering = Ordering {
            nodes: 3,
            fixed: vec![],
            guarded: vec![edge(0, 1, &[2]), edge(1, 2, &[3]), edge(2, 0, &[4, 5])],
        };
        Theory::new(&ordering, 6, propagation).unwrap()
    }

    #[test]
    fn a_cycle_is_explained_by_its_literals() {
        let mut theory = triangle(Propagation::Off);
        for n in [2, 3, 4] {
            theory.assign(lit(n)).unwrap();
        }
        let mut clause = theory.assign(lit(5)).unwrap_err();
        clause.sort();
        assert_eq!(clause, [lit(-5), lit(-4), lit(-3), lit(-2)]);
    }

    #[test]
    fn an_edge_that_lacks_one_literal_is_refused_in_advance() {
        let mut theory = triangle(Propagation::Eager);
        theory.open_level();
        theory.assign(lit(4)).unwrap();
        theory.assign(lit(2)).unwrap();
        theory.open_level();
        theory.assign(lit(5)).unwrap();
        // 2 → 0 → 1: the edge 1 → 2 is impossible.
        assert_eq!(theory.next_implied(), Some(lit(-3)));
        assert_eq!(theory.next_implied(), None);
        let mut clause = theory.explain(lit(-3));
        clause.sort();
        assert_eq!(clause, [lit(-5), lit(-4), lit(-3), lit(-2)]);
        theory.return_to(1);
        assert_eq!(theory.next_implied(), None);
        theory.assign(lit(3)).unwrap();
        assert_eq!(theory.next_implied(), Some(lit(-5)));
    }

    #[test]
    fn the_cheapest_path_explains() {
        let ordering = Ordering {
            nodes: 4,
            fixed: vec![(0, 1)],
            guarded: vec![
                edge(1, 3, &[2]),
                edge(0, 3, &[3, 4]),
                edge(3, 0, &[5]),
                edge(3, 3, &[6, 2]),
            ],
        };
        let mut theory = Theory::new(&ordering, 6, Propagation::Off).unwrap();
        assert_eq!(theory.root_clauses(), vec![vec![lit(-6), lit(-2)]]);
        for n in [3, 4, 2] {
            theory.assign(lit(n)).unwrap();
        }
        assert_eq!(theory.assign(lit(5)).unwrap_err(), [lit(-5), lit(-2)]);
    }
}
