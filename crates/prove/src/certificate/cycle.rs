//! The cycle behind a clause of the theory, looked for without the theory's help.

use crate::theory::Ordering;
use rustc_hash::FxHashMap;

pub(super) struct Cycles {
    /// By node: where fixed edges lead, and their numbers.
    fixed: Vec<Vec<(u32, u32)>>,
    guarded: Vec<(u32, u32, Vec<i32>)>,
    first_guarded: u32,
    /// By literal: guarded edges whose first literal it is.
    by_literal: FxHashMap<i32, Vec<u32>>,
    /// By node: the search that came there last, and the edge and node it came by.
    seen: Vec<(u32, u32, u32)>,
    search: u32,
    queue: Vec<u32>,
    on: Vec<u32>,
    /// By node: guarded edges that are on, and where they lead.
    out: FxHashMap<u32, Vec<(u32, u32)>>,
    found: Vec<u32>,
}

impl Cycles {
    pub(super) fn new(ordering: &Ordering) -> Cycles {
        let mut fixed = vec![Vec::new(); ordering.nodes];
        for (number, &(from, to)) in (1..).zip(&ordering.fixed) {
            fixed[from as usize].push((to, number));
        }
        let mut by_literal: FxHashMap<i32, Vec<u32>> = FxHashMap::default();
        let mut guarded = Vec::new();
        for (number, edge) in (0..).zip(&ordering.guarded) {
            let literals: Vec<i32> = edge.literals.iter().map(|l| l.dimacs()).collect();
            if let Some(&first) = literals.first() {
                by_literal.entry(first).or_default().push(number);
            }
            guarded.push((edge.from, edge.to, literals));
        }
        Cycles {
            fixed,
            guarded,
            first_guarded: ordering.fixed.len() as u32 + 1,
            by_literal,
            seen: vec![(0, 0, 0); ordering.nodes],
            search: 0,
            queue: Vec::new(),
            on: Vec::new(),
            out: FxHashMap::default(),
            found: Vec::new(),
        }
    }

    /// Edges that close a cycle if all literals of the clause are false, in turn.
    pub(super) fn that(&mut self, clause: &[i32]) -> Option<&[u32]> {
        self.on.clear();
        self.out.clear();
        for literal in clause {
            for &number in self.by_literal.get(&-literal).into_iter().flatten() {
                let (from, to, literals) = &self.guarded[number as usize];
                if literals.iter().all(|l| clause.contains(&-l)) {
                    self.on.push(number);
                    let edge = (*to, self.first_guarded + number);
                    self.out.entry(*from).or_default().push(edge);
                }
            }
        }
        if clause.is_empty() {
            return self.of_fixed();
        }
        for at in 0..self.on.len() {
            let number = self.on[at];
            let (from, to, _) = self.guarded[number as usize];
            if self.path(to, from) {
                self.found.push(self.first_guarded + number);
                return Some(&self.found);
            }
        }
        None
    }

    /// The fixed edges have one by themselves.
    fn of_fixed(&mut self) -> Option<&[u32]> {
        for from in 0..self.fixed.len() {
            for at in 0..self.fixed[from].len() {
                let (to, edge) = self.fixed[from][at];
                if self.path(to, from as u32) {
                    self.found.push(edge);
                    return Some(&self.found);
                }
            }
        }
        None
    }

    /// Fills `found` with the edges of a path.
    fn path(&mut self, from: u32, to: u32) -> bool {
        self.search += 1;
        self.queue.clear();
        self.queue.push(from);
        self.seen[from as usize] = (self.search, 0, from);
        let mut at = 0;
        while let Some(&node) = self.queue.get(at) {
            at += 1;
            if node == to {
                break;
            }
            let on = self.out.get(&node).into_iter().flatten();
            for &(next, edge) in on.chain(&self.fixed[node as usize]) {
                if self.seen[next as usize].0 != self.search {
                    self.seen[next as usize] = (self.search, edge, node);
                    self.queue.push(next);
                }
            }
        }
        if self.seen[to as usize].0 != self.search {
            return false;
        }
        self.found.clear();
        let mut node = to;
        while node != from {
            let (_, edge, before) = self.seen[node as usize];
            self.found.push(edge);
            node = before;
        }
        self.found.reverse();
        true
    }
}
