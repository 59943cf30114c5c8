//! The crash search: follows the log of an execution, cuts it where that is sufficient, and finds every behaviour of the
//! recovery, running each once.
//!
//! Between two cuts only reads of lines that were stored to can return something new, and only a risen frontier takes values
//! away. So the walk keeps, for each read of the tree that the present crash state can reach, which versions of its line
//! give which value, indexed by line. A new version visits the reads of its line; a value not seen there
//! before is a new branch: known to the tree, or a run.

mod reach;

use crate::subject::{Ended, Execution, Job, Subject, SubjectError};
use crate::tree::{Forest, Node, NodeId, RecoveryTree};
use landfall_model::image::Image;
use landfall_model::line::{Line, LineBytes};
use landfall_model::log::{Cut, Entry, Log, Version};
use landfall_model::order::Platform;
use reach::{Branch, LineWalk, Reach, ReachId, alive, stored_lines};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// One power failure of an execution.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Crash {
    /// Where in its log.
    pub cut: Cut,
    /// Lines that are not as new as the cut allows, with the version that survived; ascending.
    pub old: Vec<(Line, Version)>,
}

/// One way the recovery behaves, with crashes that lead to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Behaviour {
    pub ended: Ended,
    /// Its place in the order of runs.
    pub run: u32,
    /// One per power failure, oldest first: each of the execution that the one before it left. They are enough to see the
    /// behaviour again from scratch.
    pub crashes: Vec<Crash>,
    /// How many cuts or branches showed it.
    pub times: u32,
}

/// How to search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Power failures that may follow one another.
    pub failures: u32,
    /// One tree for all cuts; otherwise each cut is explored by itself, as published tools do.
    pub share: bool,
    /// Of the recoveries, when they are cut themselves.
    pub platform: Platform,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            failures: 1,
            share: true,
            platform: Platform::Adr,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// The same values were read, and something else came of it.
    #[error("the recovery is not deterministic: after the same reads, run {run} goes another way")]
    Diverged { run: u32 },
}

/// What became of a search.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Searched {
    pub behaviours: Vec<Behaviour>,
    /// Executions of the recovery.
    pub runs: u32,
    pub cuts: usize,
}

/// Past this many nodes, what the present crash state cannot reach is forgotten at once, and run again should a value return.
const KEEP_NODES: usize = 4_000_000;

/// Every behaviour of the recovery after one power failure anywhere in `log`, which began on `base`. What was found before
/// an error stands in `found`.
pub fn search(
    subject: &mut impl Subject,
    forest: &mut Forest,
    base: &Image,
    log: &Log,
    options: &Options,
    found: &mut Searched,
) -> Result<(), SearchError> {
    let _ = options;
    let mut walk = Walk {
        subject,
        tree: forest.level(1),
        failures: 1,
        newest: base.clone(),
        changed: log.lines().collect(),
        cut: Cut(0),
        lines: stored_lines(log, base),
        reaches: Vec::new(),
        free: Vec::new(),
        of_node: FxHashMap::default(),
        todo: Vec::new(),
        met: FxHashSet::default(),
        found,
        looked: false,
    };
    let mut grown: Vec<Line> = Vec::new();
    let mut cuts = log.sufficient_cuts().into_iter().peekable();
    for (at, entry) in log.entries().iter().enumerate() {
        if cuts.next_if_eq(&Cut(at as u32)).is_some() {
            walk.look(Cut(at as u32), &mut grown)?;
        }
        match *entry {
            Entry::Store { piece, .. } => {
                let line = piece.addr.line();
                walk.store(line, |bytes| piece.write_to(bytes));
                grown.push(line);
            }
            Entry::Durable { line, version } => walk.durable(line, version),
        }
    }
    if cuts.next().is_some() {
        walk.look(log.end(), &mut grown)?;
    }
    Ok(())
}

struct Walk<'a, S> {
    subject: &'a mut S,
    tree: &'a mut RecoveryTree,
    failures: u32,
    /// Every line at its newest.
    newest: Image,
    /// Lines of it that changed since the last run.
    changed: Vec<Line>,
    cut: Cut,
    lines: FxHashMap<Line, LineWalk>,
    reaches: Vec<Reach>,
    free: Vec<u32>,
    of_node: FxHashMap<NodeId, ReachId>,
    /// Branches found and not yet entered.
    todo: Vec<(ReachId, u64)>,
    /// Runs whose behaviour was met in this search.
    met: FxHashSet<u32>,
    found: &'a mut Searched,
    looked: bool,
}

/// The deepest branch on the way that read each line.
type Way = FxHashMap<Line, (ReachId, u64)>;

impl<S: Subject> Walk<'_, S> {
    fn store(&mut self, line: Line, write: impl FnOnce(&mut LineBytes)) {
        if let Some(walk) = self.lines.get_mut(&line) {
            let mut bytes = *walk.content(walk.newest());
            write(&mut bytes);
            walk.contents.push(bytes);
            walk.stores_left -= 1;
            self.newest.set_line(line, bytes);
            self.changed.push(line);
        }
    }

    /// The power fails here: what can the recovery do that it could not do at an earlier cut?
    fn look(&mut self, cut: Cut, grown: &mut Vec<Line>) -> Result<(), SearchError> {
        self.cut = cut;
        self.found.cuts += 1;
        if !std::mem::replace(&mut self.looked, true) {
            self.descend(self.tree.root(), None, Way::default())?;
        }
        grown.sort_unstable();
        grown.dedup();
        for line in grown.drain(..) {
            let Some(walk) = self.lines.get_mut(&line) else {
                continue;
            };
            let newest = walk.newest();
            let mut heads = std::mem::take(&mut walk.top);
            heads.retain(|&id| alive(&self.reaches, id));
            for &head in &heads {
                for version in self.reaches[head.slot as usize].given + 1..=newest {
                    self.give(head, line, version);
                }
            }
            if let Some(walk) = self.lines.get_mut(&line) {
                heads.append(&mut walk.top);
                walk.top = heads;
            }
        }
        while let Some((reach, value)) = self.todo.pop() {
            if alive(&self.reaches, reach) {
                self.enter(reach, value)?;
            }
        }
        Ok(())
    }

    /// A read of the line, and those below it that the version comes to, learn of it.
    fn give(&mut self, head: ReachId, line: Line, version: u32) {
        let bytes = *self.lines[&line].content(version);
        let mut heads: SmallVec<[ReachId; 8]> = SmallVec::from_slice(&[head]);
        while let Some(id) = heads.pop() {
            if !alive(&self.reaches, id) {
                continue;
            }
            let reach = &mut self.reaches[id.slot as usize];
            if reach.given >= version {
                continue;
            }
            reach.given = version;
            let value = reach.read.value(&bytes);
            match reach.branches.iter_mut().find(|b| b.value == value) {
                Some(branch) => {
                    branch.versions.push(version);
                    heads.extend(branch.below.iter().copied());
                }
                None => {
                    reach.branches.push(Branch {
                        value,
                        versions: SmallVec::from_slice(&[version]),
                        below: SmallVec::new(),
                    });
                    self.todo.push((id, value));
                }
            }
        }
    }

    /// Goes down a branch for the first time.
    fn enter(&mut self, reach: ReachId, value: u64) -> Result<(), SearchError> {
        let mut way = Way::default();
        let mut at = Some((reach, value));
        while let Some((id, value)) = at {
            let above = &self.reaches[id.slot as usize];
            way.entry(above.read.line()).or_insert((id, value));
            at = above.parent;
        }
        let node = self.reaches[reach.slot as usize].node;
        let child = self.tree.child(node, value);
        self.descend(child, Some((reach, value)), way)
    }

    /// Follows the tree from a node that was just reached, along one path to a leaf; what branches off is left to do.
    fn descend(
        &mut self,
        mut node: NodeId,
        mut parent: Option<(ReachId, u64)>,
        mut way: Way,
    ) -> Result<(), SearchError> {
        loop {
            let (read, known) = match self.tree.node(node) {
                Node::Unknown => {
                    self.run(node, &way)?;
                    continue;
                }
                &Node::Leaf { ended, run } => {
                    let old = self.old_lines(&way);
                    let behaviour = Behaviour {
                        ended,
                        run,
                        crashes: vec![Crash { cut: self.cut, old }],
                        times: 1,
                    };
                    if self.met.insert(run) {
                        self.found.behaviours.push(behaviour);
                    }
                    return Ok(());
                }
                Node::Read { read, children } => (*read, children.first().map(|&(v, _)| v)),
            };
            let line = read.line();
            let Some(walk) = self.lines.get(&line).filter(|walk| !walk.settled()) else {
                let value = read.value(&self.newest.line(line));
                node = self.tree.child(node, value);
                continue;
            };
            let newest = walk.newest();
            let mut branches: SmallVec<[Branch; 2]> = SmallVec::new();
            let mut sort = |version: u32| {
                let value = read.value(walk.content(version));
                match branches.iter_mut().find(|b| b.value == value) {
                    Some(branch) => branch.versions.push(version),
                    None => branches.push(Branch {
                        value,
                        versions: SmallVec::from_slice(&[version]),
                        below: SmallVec::new(),
                    }),
                }
            };
            match way.get(&line) {
                Some(&(above, value)) => {
                    let above = &self.reaches[above.slot as usize];
                    let branch = above.branches.iter().find(|b| b.value == value);
                    branch
                        .into_iter()
                        .flat_map(|b| &b.versions)
                        .for_each(|&v| sort(v));
                }
                None => (walk.first..=newest).for_each(&mut sort),
            }
            let given = match way.get(&line) {
                Some(&(above, _)) => self.reaches[above.slot as usize].given,
                None => newest,
            };
            // Prefer a branch the tree knows: the path of the run just made.
            let first = known
                .filter(|&value| branches.iter().any(|b| b.value == value))
                .or(branches.first().map(|b| b.value));
            let Some(first) = first else {
                return Ok(()); // Nothing feasible leads on; cannot be.
            };
            let others: SmallVec<[u64; 4]> = branches
                .iter()
                .map(|b| b.value)
                .filter(|&value| value != first)
                .collect();
            let id = self.new_reach(Reach {
                generation: 0,
                alive: true,
                node,
                read,
                parent,
                given,
                branches,
            });
            self.of_node.insert(node, id);
            match way.get(&line) {
                Some(&(above, value)) => {
                    let above = &mut self.reaches[above.slot as usize];
                    if let Some(branch) = above.branches.iter_mut().find(|b| b.value == value) {
                        branch.below.push(id);
                    }
                }
                None => {
                    if let Some(walk) = self.lines.get_mut(&line) {
                        walk.top.push(id);
                    }
                }
            }
            self.todo.extend(others.iter().map(|&value| (id, value)));
            way.insert(line, (id, first));
            parent = Some((id, first));
            node = self.tree.child(node, first);
        }
    }

    fn new_reach(&mut self, mut reach: Reach) -> ReachId {
        match self.free.pop() {
            Some(slot) => {
                let generation = self.reaches[slot as usize].generation + 1;
                reach.generation = generation;
                self.reaches[slot as usize] = reach;
                ReachId { slot, generation }
            }
            None => {
                self.reaches.push(reach);
                ReachId {
                    slot: self.reaches.len() as u32 - 1,
                    generation: 0,
                }
            }
        }
    }

    /// The lines on the way that are not at their newest: the newest version that the way allows.
    fn old_lines(&self, way: &Way) -> Vec<(Line, Version)> {
        let mut old: Vec<(Line, Version)> = way
            .iter()
            .filter_map(|(&line, &(id, value))| {
                let reach = &self.reaches[id.slot as usize];
                let branch = reach.branches.iter().find(|b| b.value == value)?;
                let version = *branch.versions.last()?;
                (version != self.lines[&line].newest()).then_some((line, Version(version)))
            })
            .collect();
        old.sort_unstable();
        old
    }

    /// Runs the recovery on the image that the way describes and grafts what it read below `node`.
    fn run(&mut self, node: NodeId, way: &Way) -> Result<(), SearchError> {
        let overrides: Vec<(Line, LineBytes)> = self
            .old_lines(way)
            .into_iter()
            .map(|(line, version)| (line, *self.lines[&line].content(version.0)))
            .collect();
        let execution = self.subject.run(&Job {
            image: &self.newest,
            changed: &self.changed,
            overrides: &overrides,
            failures: self.failures,
        })?;
        self.changed.clear();
        self.found.runs += 1;
        self.graft(node, &execution)
    }

    /// The run must follow the tree down to `node`; there its own path begins.
    fn graft(&mut self, node: NodeId, execution: &Execution) -> Result<(), SearchError> {
        let run = self.tree.leaves();
        let mut reads = execution.first_reads();
        let mut here = self.tree.root();
        while here != node {
            let diverged = Err(SearchError::Diverged { run });
            let (Node::Read { read, children }, Some((found, value))) =
                (self.tree.node(here), reads.next())
            else {
                return diverged;
            };
            let Some(&(_, child)) = children.iter().find(|&&(v, _)| v == value) else {
                return diverged;
            };
            if *read != found {
                return diverged;
            }
            here = child;
        }
        self.tree.graft(node, reads, execution.ended);
        Ok(())
    }

    /// The frontier of the line rises: older versions are gone for good, and with them what only they led to.
    fn durable(&mut self, line: Line, version: Version) {
        let Some(walk) = self.lines.get_mut(&line) else {
            return;
        };
        let dropped = (version.0 - walk.first) as usize;
        walk.contents.drain(..dropped);
        walk.first = version.0;
        walk.top.retain(|&id| alive(&self.reaches, id));
        let mut heads = walk.top.clone();
        let mut dead: Vec<(ReachId, u64)> = Vec::new();
        while let Some(id) = heads.pop() {
            if !alive(&self.reaches, id) {
                continue;
            }
            for branch in &mut self.reaches[id.slot as usize].branches {
                branch.versions.retain(|v| *v >= version.0);
                if branch.versions.is_empty() {
                    dead.push((id, branch.value));
                } else {
                    heads.extend(branch.below.iter().copied());
                }
            }
        }
        for (id, value) in dead {
            self.leave(id, value);
        }
    }

    /// Nothing feasible goes down this branch any more.
    fn leave(&mut self, id: ReachId, value: u64) {
        let reach = &mut self.reaches[id.slot as usize];
        reach.branches.retain(|b| b.value != value);
        let node = reach.node;
        let mut below = match self.tree.node(node) {
            Node::Read { children, .. } => children
                .iter()
                .filter(|&&(v, _)| v == value)
                .map(|&(_, child)| child)
                .collect(),
            _ => Vec::new(),
        };
        while let Some(node) = below.pop() {
            if let Some(id) = self.of_node.remove(&node) {
                let reach = &mut self.reaches[id.slot as usize];
                reach.alive = false;
                reach.branches.clear();
                self.free.push(id.slot);
            }
            if let Node::Read { children, .. } = self.tree.node(node) {
                below.extend(children.iter().map(|&(_, child)| child));
            }
        }
        if self.tree.len() > KEEP_NODES {
            self.tree.prune(node, value);
        }
    }
}
