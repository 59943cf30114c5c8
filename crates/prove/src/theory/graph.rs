//! A directed graph that grows and shrinks like a stack, and stays acyclic.
//!
//! A topological order of all nodes is kept up to date (Pearce and Kelly): an edge that agrees with it costs nothing; one that
//! does not reorders the nodes between its ends. Taking an edge away leaves the order valid, so going back costs only the edges.

/// No reason: the edge is there in every execution.
pub(super) const FIXED: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) from: u32,
    pub(super) to: u32,
    /// The guarded edge it comes from, or [`FIXED`].
    pub(super) why: u32,
}

#[derive(Debug)]
pub(super) struct Graph {
    pub(super) edges: Vec<Edge>,
    /// Edges by their ends, oldest first.
    pub(super) out: Vec<Vec<u32>>,
    pub(super) into: Vec<Vec<u32>>,
    /// The place of each node in the topological order.
    place: Vec<u32>,
    mark: Vec<u32>,
    stamp: u32,
    /// What the last search visited: nodes after the new edge's head, and nodes before its tail.
    pub(super) after: Vec<u32>,
    pub(super) before: Vec<u32>,
    stack: Vec<u32>,
    places: Vec<u32>,
}

/// The edge would close a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cycle;

impl Graph {
    pub(super) fn new(nodes: usize) -> Graph {
        Graph {
            edges: Vec::new(),
            out: vec![Vec::new(); nodes],
            into: vec![Vec::new(); nodes],
            place: (0..nodes as u32).collect(),
            mark: vec![0; nodes],
            stamp: 0,
            after: Vec::new(),
            before: Vec::new(),
            stack: Vec::new(),
            places: Vec::new(),
        }
    }

    pub(super) fn nodes(&self) -> usize {
        self.out.len()
    }

    /// Adds an edge. `after` and `before` then hold what lies around it, as far as the order had to be searched.
    pub(super) fn add(&mut self, from: u32, to: u32, why: u32) -> Result<(), Cycle> {
        self.after.clear();
        self.before.clear();
        if from == to {
            return Err(Cycle);
        }
        if self.place[from as usize] > self.place[to as usize] {
            self.reorder(from, to)?;
        }
        let id = self.edges.len() as u32;
        self.edges.push(Edge { from, to, why });
        self.out[from as usize].push(id);
        self.into[to as usize].push(id);
        Ok(())
    }

    pub(super) fn truncate(&mut self, edges: usize) {
        while self.edges.len() > edges {
            if let Some(edge) = self.edges.pop() {
                self.out[edge.from as usize].pop();
                self.into[edge.to as usize].pop();
            }
        }
    }

    /// Is there a path, of any length but none?
    pub(super) fn reaches(&mut self, from: u32, to: u32) -> bool {
        let last = self.place[to as usize];
        if self.place[from as usize] >= last {
            return false;
        }
        self.stamp += 1;
        self.stack.clear();
        self.stack.push(from);
        while let Some(node) = self.stack.pop() {
            for &edge in &self.out[node as usize] {
                let next = self.edges[edge as usize].to;
                if next == to {
                    return true;
                }
                if self.mark[next as usize] != self.stamp && self.place[next as usize] < last {
                    self.mark[next as usize] = self.stamp;
                    self.stack.push(next);
                }
            }
        }
        false
    }

    /// Makes room for an edge against the order: everything before `from` moves in front of everything after `to`.
    fn reorder(&mut self, from: u32, to: u32) -> Result<(), Cycle> {
        let (first, last) = (self.place[to as usize], self.place[from as usize]);
        self.stamp += 1;
        self.mark[to as usize] = self.stamp;
        self.stack.clear();
        self.stack.push(to);
        while let Some(node) = self.stack.pop() {
            self.after.push(node);
            for &edge in &self.out[node as usize] {
                let next = self.edges[edge as usize].to;
                if next == from {
                    return Err(Cycle);
                }
                if self.mark[next as usize] != self.stamp && self.place[next as usize] < last {
                    self.mark[next as usize] = self.stamp;
                    self.stack.push(next);
                }
            }
        }
        self.stamp += 1;
        self.mark[from as usize] = self.stamp;
        self.stack.push(from);
        while let Some(node) = self.stack.pop() {
            self.before.push(node);
            for &edge in &self.into[node as usize] {
                let next = self.edges[edge as usize].from;
                if self.mark[next as usize] != self.stamp && self.place[next as usize] > first {
                    self.mark[next as usize] = self.stamp;
                    self.stack.push(next);
                }
            }
        }
        let place = &self.place;
        self.after.sort_unstable_by_key(|&n| place[n as usize]);
        self.before.sort_unstable_by_key(|&n| place[n as usize]);
        let moved = || self.before.iter().chain(&self.after);
        self.places.clear();
        self.places.extend(moved().map(|&n| place[n as usize]));
        self.places.sort_unstable();
        for (&node, &free) in self.before.iter().chain(&self.after).zip(&self.places) {
            self.place[node as usize] = free;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_cycles_and_forgets_on_the_way_back() {
        let mut graph = Graph::new(4);
        graph.add(3, 2, FIXED).unwrap();
        graph.add(2, 1, FIXED).unwrap();
        graph.add(1, 0, FIXED).unwrap();
        assert!(graph.reaches(3, 0) && !graph.reaches(0, 3) && !graph.reaches(0, 0));
        assert_eq!(graph.add(0, 3, FIXED), Err(Cycle));
        assert_eq!(graph.add(2, 2, FIXED), Err(Cycle));
        graph.truncate(2);
        graph.add(0, 3, FIXED).unwrap();
        assert_eq!(graph.add(1, 0, FIXED), Err(Cycle));
    }
}
