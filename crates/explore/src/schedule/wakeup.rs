//! Wakeup trees (Abdulla, Aronis, Jonsson, Sagonas, JACM 2017, §6): for a state on the current path, the beginnings of
//! executions that are still to be explored from it, in the order in which they will be.

use super::step::{Access, Order, Sets, Step};

pub(super) const NIL: u32 = u32::MAX;

/// Where a node is in its tree. Its transition is kept elsewhere: who follows a branch to its leaf does not look at that.
#[derive(Clone, Copy, Debug)]
pub(super) struct WakeupNode {
    pub(super) child: u32,
    pub(super) sibling: u32,
    /// Of a leaf: the number under which its execution was asked for, or `NIL`.
    ahead: u32,
}

impl WakeupNode {
    pub(super) fn asked_for(&self) -> Option<u32> {
        (self.ahead != NIL).then_some(self.ahead)
    }
}

/// A beginning of an execution: transitions of the last one by their index, and one that was moved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequence<'a> {
    pub(super) steps: &'a [Step],
    pub(super) moved: &'a Step,
    /// The depth of the state that the sequence begins at.
    pub(super) from: usize,
}

/// The index that stands for the moved transition.
pub(super) const MOVED: u32 = u32::MAX;

impl Sequence<'_> {
    #[inline]
    fn step(&self, index: u32) -> &Step {
        match index {
            MOVED => self.moved,
            index => &self.steps[index as usize],
        }
    }

    /// How many have arrived at a barrier in the state that the sequence begins at. Who arrives in the sequence arrived in the last
    /// execution, too.
    fn arrived(&self, at: &Step) -> u64 {
        let mut later = self.steps[self.from..].iter();
        let first = later.find(|step| step.meets(at));
        first.map_or(at.found, |step| step.found)
    }
}

/// All trees of a search share one store of nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Wakeup {
    nodes: Vec<WakeupNode>,
    steps: Vec<Step>,
    /// Where threads are alike: each node's past, as [`super::symmetry`] keeps it.
    rows: Vec<u32>,
    free: Vec<u32>,
    /// The nodes from the root to where a sequence is inserted.
    path: Vec<u32>,
    ticks: Vec<u32>,
}

/// Where an insertion ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Inserted {
    /// As a new branch of the root.
    AtRoot,
    /// This branch of the root shows it, or does now; and how that branch's first transition belongs to the sequence.
    Under(u32, SequencePlace),
}

impl Wakeup {
    pub(super) fn node(&self, node: u32) -> &WakeupNode {
        &self.nodes[node as usize]
    }

    pub(super) fn step(&self, node: u32) -> &Step {
        &self.steps[node as usize]
    }

    /// Adds a transition after `last`, or as the first below `parent`, or as the first of all.
    pub(super) fn add(
        &mut self,
        root: &mut u32,
        (parent, last): (u32, u32),
        step: Step,
        row: &[u32],
    ) -> u32 {
        let node = self.make(step);
        match (last, parent) {
            (NIL, NIL) => *root = node,
            (NIL, _) => self.nodes[parent as usize].child = node,
            (_, _) => self.nodes[last as usize].sibling = node,
        }
        let at = node as usize * row.len();
        if self.rows.len() < at + row.len() {
            self.rows.resize(at + row.len(), 0);
        }
        self.rows[at..at + row.len()].copy_from_slice(row);
        node
    }

    pub(super) fn row(&self, node: u32, width: usize) -> &[u32] {
        &self.rows[node as usize * width..][..width]
    }

    /// The node is being explored: its children go on elsewhere.
    pub(super) fn release(&mut self, node: u32) -> WakeupNode {
        self.free.push(node);
        self.nodes[node as usize]
    }

    /// The leaf that was made last.
    pub(super) fn newest(&self) -> Option<u32> {
        self.path.last().copied()
    }

    /// Its execution was asked for.
    pub(super) fn asked_for(&mut self, leaf: u32, number: u32) {
        self.nodes[leaf as usize].ahead = number;
    }

    fn make(&mut self, step: Step) -> u32 {
        let node = WakeupNode {
            child: NIL,
            sibling: NIL,
            ahead: NIL,
        };
        match self.free.pop() {
            Some(at) => {
                self.nodes[at as usize] = node;
                self.steps[at as usize] = step;
                at
            }
            None => {
                self.nodes.push(node);
                self.steps.push(step);
                self.nodes.len() as u32 - 1
            }
        }
    }

    /// Inserts a sequence into the tree whose first branch is `root` (JACM 2017, the insertion of §6: follow the leftmost branch
    /// that is consistent with the sequence; where there is none, branch). Consumes the sequence.
    pub(super) fn insert(
        &mut self,
        root: &mut u32,
        sequence: &mut Vec<u32>,
        of: Sequence<'_>,
        order: &Order,
        sets: &Sets,
        ticks: &[u32],
    ) -> Inserted {
        self.ticks.clear();
        self.ticks.extend_from_slice(ticks);
        self.path.clear();
        let mut parent = NIL;
        let mut branch = *root;
        let mut last = NIL;
        let mut under = (NIL, SequencePlace::Elsewhere);
        while branch != NIL {
            let node = &self.nodes[branch as usize];
            let (sibling, child) = (node.sibling, node.child);
            let step = &self.steps[branch as usize];
            let (process, tick) = (step.process, step.tick);
            let found = place(step, sequence, of, order, sets, &mut self.ticks);
            match found {
                SequencePlace::Elsewhere => {
                    last = branch;
                    branch = sibling;
                    continue;
                }
                SequencePlace::At(index) => {
                    sequence.remove(index);
                }
                SequencePlace::Beside => {}
            }
            if parent == NIL {
                under = (branch, found);
            }
            if child == NIL || sequence.is_empty() {
                return Inserted::Under(under.0, under.1);
            }
            self.ticks[process as usize] = tick;
            self.path.push(branch);
            (parent, last, branch) = (branch, NIL, child);
        }
        let mut above = NIL;
        for &index in sequence.iter() {
            let mut step = *of.step(index);
            if step.arrives() {
                step.found = self.arrived(&step, of);
                step.left = step.found + 1;
            }
            let node = self.make(step);
            self.path.push(node);
            match (above, last, parent) {
                (NIL, NIL, NIL) => *root = node,
                (NIL, NIL, _) => self.nodes[parent as usize].child = node,
                (NIL, _, _) => self.nodes[last as usize].sibling = node,
                _ => self.nodes[above as usize].child = node,
            }
            above = node;
        }
        match parent {
            NIL => Inserted::AtRoot,
            _ => Inserted::Under(under.0, under.1),
        }
    }
}

impl Wakeup {
    /// How many have arrived at a barrier before, on the path of nodes from the root on.
    fn arrived(&self, arrival: &Step, of: Sequence<'_>) -> u64 {
        let on_path = |&node: &u32| {
            let step = &self.steps[node as usize];
            let resets = step.object == arrival.object && step.access == Access::Write;
            (resets || step.meets(arrival)).then_some(step.left)
        };
        let newest = self.path.iter().rev().find_map(on_path);
        newest.unwrap_or_else(|| of.arrived(arrival))
    }
}

/// Where a transition belongs in a sequence that could follow the same state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SequencePlace {
    /// It is in there, and nothing it depends on comes before it.
    At(usize),
    /// It is not in there and depends on nothing there.
    Beside,
    Elsewhere,
}

/// Is `step` a weak initial of the sequence, and where is it? `ticks` is how far each process had come before; it is
/// used as scratch and restored.
pub(super) fn place(
    step: &Step,
    sequence: &[u32],
    of: Sequence<'_>,
    order: &Order,
    sets: &Sets,
    ticks: &mut [u32],
) -> SequencePlace {
    let reads_own = step.own.1 != 0;
    let companion = usize::from(step.own.0);
    let before = if reads_own { ticks[companion] } else { 0 };
    let mut found = SequencePlace::Beside;
    // Others that arrive at the same barrier before it.
    let mut arrivals = 0;
    for (index, &number) in sequence.iter().enumerate() {
        let other = of.step(number);
        if other.process == step.process {
            found = SequencePlace::At(index);
            break;
        }
        if step.meets(other) {
            arrivals += 1;
            if order.follows(step, other, sets) || step.is_shifted_by(arrivals) {
                found = SequencePlace::Elsewhere;
                break;
            }
            continue;
        }
        if order.depends(step, other, sets, |process| ticks[process as usize]) {
            found = SequencePlace::Elsewhere;
            break;
        }
        // Only its own commits can make a load visible to the others' stores.
        if reads_own && other.process as usize == companion {
            ticks[companion] = other.tick;
        }
    }
    if reads_own {
        ticks[companion] = before;
    }
    found
}
