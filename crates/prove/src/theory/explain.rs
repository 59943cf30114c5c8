//! Why there is a path: the one whose edges need the fewest literals.

use super::Guarded;
use super::graph::{FIXED, Graph};
use crate::cnf::Lit;

/// Scratch space for shortest paths; kept between searches.
#[derive(Debug)]
pub(super) struct Explainer {
    /// The search a node was last seen in, its distance there, and the edge it was reached by.
    seen: Vec<u32>,
    distance: Vec<u32>,
    by: Vec<u32>,
    search: u32,
    /// Nodes by distance: distances are small.
    buckets: Vec<Vec<u32>>,
}

impl Explainer {
    pub(super) fn new(nodes: usize) -> Explainer {
        Explainer {
            seen: vec![0; nodes],
            distance: vec![0; nodes],
            by: vec![0; nodes],
            search: 0,
            buckets: Vec::new(),
        }
    }

    /// Calls `need` with the literals of the cheapest path over edges older than `age`. There must be one.
    pub(super) fn path(
        &mut self,
        graph: &Graph,
        guarded: &[Guarded],
        (start, end): (u32, u32),
        age: u32,
        mut need: impl FnMut(Lit),
    ) {
        if start == end {
            return;
        }
        debug_assert_eq!(graph.nodes(), self.seen.len());
        self.search += 1;
        self.buckets.iter_mut().for_each(Vec::clear);
        self.reach(start, 0, FIXED);
        let mut at = 0;
        'search: while at < self.buckets.len() {
            while let Some(node) = self.buckets[at].pop() {
                if self.distance[node as usize] != at as u32 {
                    continue;
                }
                if node == end {
                    break 'search;
                }
                for &id in &graph.out[node as usize] {
                    if id >= age {
                        break; // edges of a node are oldest first
                    }
                    let edge = graph.edges[id as usize];
                    let cost = match edge.why {
                        FIXED => 0,
                        why => guarded[why as usize].literals.len() as u32,
                    };
                    self.reach(edge.to, at as u32 + cost, id);
                }
            }
            at += 1;
        }
        assert_eq!(self.seen[end as usize], self.search, "a path to explain");
        let mut node = end;
        while node != start {
            let edge = graph.edges[self.by[node as usize] as usize];
            if edge.why != FIXED {
                guarded[edge.why as usize]
                    .literals
                    .iter()
                    .for_each(|&literal| need(literal));
            }
            node = edge.from;
        }
    }

    fn reach(&mut self, node: u32, distance: u32, by: u32) {
        let at = node as usize;
        if self.seen[at] == self.search && self.distance[at] <= distance {
            return;
        }
        self.seen[at] = self.search;
        self.distance[at] = distance;
        self.by[at] = by;
        while self.buckets.len() <= distance as usize {
            self.buckets.push(Vec::new());
        }
        self.buckets[distance as usize].push(node);
    }
}
