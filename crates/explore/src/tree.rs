//! The recovery tree (ALGORITHMS.md §2): what a program reads when it starts on unknown memory.
//!
//! A node is a first read, an edge the value it returned, a leaf the end of a run. The program is deterministic, so the tree
//! is a function of the program alone: it serves every cut of every execution that ever crashed.

use crate::subject::{Ended, FirstRead};
use smallvec::SmallVec;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(u32);

impl NodeId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Debug)]
pub enum Node {
    /// No run has come here yet.
    Unknown,
    Read {
        read: FirstRead,
        /// By value, in the order they were met.
        children: SmallVec<[(u64, NodeId); 2]>,
    },
    Leaf {
        ended: Ended,
        /// Its place in the order of runs.
        run: u32,
    },
}

#[derive(Clone, Debug)]
pub struct RecoveryTree {
    nodes: Vec<Node>,
    free: Vec<NodeId>,
    leaves: u32,
}

/// One tree for each number of power failures so far: the one thing besides memory that a recovery is told.
#[derive(Clone, Debug, Default)]
pub struct Forest {
    trees: Vec<RecoveryTree>,
}

impl Forest {
    /// The tree of what runs after so many power failures, at least one.
    pub fn level(&mut self, failures: u32) -> &mut RecoveryTree {
        let index = failures.max(1) as usize - 1;
        if self.trees.len() <= index {
            self.trees.resize_with(index + 1, RecoveryTree::default);
        }
        &mut self.trees[index]
    }
}

/// A run read something else where the tree, built from earlier runs on the same values, says otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("two runs on the same values diverge: one reads {expected:?}, the other {found:?}")]
pub struct Diverged {
    pub expected: Option<FirstRead>,
    pub found: Option<FirstRead>,
}

impl Default for RecoveryTree {
    fn default() -> Self {
        RecoveryTree {
            nodes: vec![Node::Unknown],
            free: Vec::new(),
            leaves: 0,
        }
    }
}

impl RecoveryTree {
    pub fn root(&self) -> NodeId {
        NodeId(0)
    }

    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Runs grafted so far.
    pub fn leaves(&self) -> u32 {
        self.leaves
    }

    /// Nodes in use: what the tree costs in memory.
    pub fn len(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    pub fn is_empty(&self) -> bool {
        self.leaves == 0
    }

    fn fresh(&mut self) -> NodeId {
        match self.free.pop() {
            Some(id) => {
                self.nodes[id.index()] = Node::Unknown;
                id
            }
            None => {
                self.nodes.push(Node::Unknown);
                NodeId(self.nodes.len() as u32 - 1)
            }
        }
    }

    /// The child for a value, made if it is not there: then it is [`Node::Unknown`].
    pub fn child(&mut self, parent: NodeId, value: u64) -> NodeId {
        if let Node::Read { children, .. } = &self.nodes[parent.index()]
            && let Some(&(_, child)) = children.iter().find(|&&(v, _)| v == value)
        {
            return child;
        }
        let fresh = self.fresh();
        if let Node::Read { children, .. } = &mut self.nodes[parent.index()] {
            children.push((value, fresh));
        }
        fresh
    }

    /// Adds what a run read from `at` on. `at` must be unknown, and the run must have come there.
    pub fn graft(
        &mut self,
        at: NodeId,
        reads: impl Iterator<Item = (FirstRead, u64)>,
        ended: Ended,
    ) -> NodeId {
        let mut here = at;
        for (read, value) in reads {
            self.nodes[here.index()] = Node::Read {
                read,
                children: SmallVec::new(),
            };
            here = self.child(here, value);
        }
        self.nodes[here.index()] = Node::Leaf {
            ended,
            run: self.leaves,
        };
        self.leaves += 1;
        here
    }

    /// Forgets everything below and including the child for a value.
    pub fn prune(&mut self, parent: NodeId, value: u64) {
        let mut doomed = Vec::new();
        if let Node::Read { children, .. } = &mut self.nodes[parent.index()]
            && let Some(at) = children.iter().position(|&(v, _)| v == value)
        {
            doomed.push(children.remove(at).1);
        }
        while let Some(id) = doomed.pop() {
            let node = std::mem::replace(&mut self.nodes[id.index()], Node::Unknown);
            if let Node::Read { children, .. } = node {
                doomed.extend(children.into_iter().map(|(_, child)| child));
            }
            self.free.push(id);
        }
    }
}
