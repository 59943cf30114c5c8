//! Lets checkers judge every recovery after every power failure of every schedule, store by store.
//!
//! [`super::power`] shares recoveries between schedules that show them the same values. A verdict depends on the stores behind the
//! values, too, and on what happens before what among them, so each schedule is judged by itself, along the tree that is there:
//! nothing is run. Schedules that differ in nothing a checker could see are judged once.

use super::begun::Begun;
use super::crash::mix;
use super::explored::Explored;
use super::judged::{Names, execution_with_points};
use super::power::{Power, Traced};
use super::step::Process;
use super::threads::Points;
use crate::judge::JudgedTrees;
use crate::tree::RecoveryTree;
use landfall_check::path::{Candidate, JudgedRead, RecoveryPath, Span};
use landfall_check::walk::Limits;
use landfall_check::{
    Checker, DurableBeginning, Execution, Finding, Recoveries, RecoveryStep, Walked, walk,
};
use landfall_model::event::{Action, EventId, Mark};
use landfall_model::line::Line;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;

/// A schedule that some finding rests on.
#[derive(Clone, Debug)]
pub struct Kept {
    pub schedule: Vec<Process>,
    pub points: Points,
    /// What it did before what was judged.
    before: Option<Rc<DurableBeginning>>,
}

impl Kept {
    /// A finding that rests on it, as one of the whole schedule.
    pub fn whole(&self, finding: &Finding) -> Finding {
        match &self.before {
            Some(before) => before.whole(finding),
            None => finding.clone(),
        }
    }
}

pub struct Judge {
    checkers: Vec<Box<dyn Checker>>,
    begin: Box<dyn Fn() -> Vec<Box<dyn Checker>>>,
    limits: Limits,
    points: Option<Points>,
    whole: bool,
    seen: FxHashSet<u128>,
    /// By the number of the execution.
    kept: FxHashMap<u32, Kept>,
    walked: Walked,
    /// Schedules that were judged.
    pub judged: u32,
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judge")
            .field("judged", &self.judged)
            .field("walked", &self.walked)
            .finish_non_exhaustive()
    }
}

/// What was found, and the schedules that show it.
pub struct Verdicts {
    pub checkers: Vec<Box<dyn Checker>>,
    pub kept: FxHashMap<u32, Kept>,
    pub walked: Walked,
}

impl fmt::Debug for Verdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verdicts")
            .field("walked", &self.walked)
            .finish_non_exhaustive()
    }
}

impl Judge {
    /// `begin` makes the checkers.
    pub fn new(begin: Box<dyn Fn() -> Vec<Box<dyn Checker>>>, limits: Limits) -> Judge {
        Judge {
            checkers: begin(),
            begin,
            limits,
            points: None,
            whole: false,
            seen: FxHashSet::default(),
            kept: FxHashMap::default(),
            walked: Walked::default(),
            judged: 0,
        }
    }

    /// Judges every schedule from its first event on: for comparison.
    pub fn whole(self) -> Judge {
        Judge {
            whole: true,
            ..self
        }
    }

    /// The last execution as it is to be judged; `None` if it is like one before.
    fn prepare(
        &mut self,
        power: &mut Power,
        traced: &Traced,
        explored: &dyn Explored,
        names: &mut impl Names,
    ) -> Option<Execution> {
        let (trace, order) = (explored.trace(), explored.order());
        let number = self.judged;
        if let Some(begun) = &traced.begun {
            let rest = begun.rest(explored, number, names);
            let is_new = self.seen.insert(signature(&rest, traced.signature));
            return is_new.then_some(rest);
        }
        let (whole, points) = execution_with_points(trace, order, power.platform(), number, names);
        if !self.seen.insert(signature(&whole, traced.signature)) {
            return None;
        }
        if power.may_begin() {
            let begun = match self.limits.failures == 1 && !self.whole {
                true => Begun::of(&whole, &points, power.base(), traced, explored),
                false => Begun::Nothing,
            };
            // Others are compared with what follows.
            let follows = power.begin(begun, explored, |object| names.line(object));
            if let Some((begun, traced)) = follows {
                let rest = begun.rest(explored, number, names);
                self.seen.insert(signature(&rest, traced.signature));
            }
        }
        Some(whole)
    }

    /// Judges the last execution, at which `power` has looked. Returns it, unless it is like one before.
    pub fn look(
        &mut self,
        power: &mut Power,
        traced: &Traced,
        explored: &dyn Explored,
        names: &mut impl Names,
    ) -> Option<Rc<Execution>> {
        if self.points.as_ref() != Some(explored.points()) {
            self.begin_again(explored.points());
        }
        let (trace, number) = (explored.trace(), self.judged);
        let first = Rc::new(self.prepare(power, traced, explored, names)?);
        self.judged += 1;
        let candidates = self.limits.candidates;
        let limits = Limits {
            candidates: candidates.saturating_sub(self.walked.candidates),
            ..self.limits.clone()
        };
        let mut checkers: Vec<&mut dyn Checker> = Vec::new();
        for checker in &mut self.checkers {
            checkers.push(&mut **checker);
        }
        let trees: Vec<&RecoveryTree> = power.trees().take(limits.failures).collect();
        if trees.is_empty() {
            return None;
        }
        let recoveries = Possible {
            judged: JudgedTrees { trees: &trees },
            traced,
            left: RefCell::default(),
        };
        let cuts = (0, first.end());
        self.walked += walk(
            &recoveries,
            power.base(),
            first.clone(),
            cuts,
            limits,
            &mut checkers,
        );
        if self.checkers.iter().any(|checker| checker.rests_on(number)) {
            let kept = Kept {
                schedule: trace.steps.iter().map(|step| step.process).collect(),
                points: explored.points().clone(),
                before: first.before().cloned(),
            };
            self.kept.insert(number, kept);
        }
        Some(first)
    }

    /// More accesses are scheduling points from now on, and all schedules come once more. Reads that race and were none say nothing
    /// of what they read from: what was judged with them is forgotten.
    fn begin_again(&mut self, points: &Points) {
        self.points = Some(points.clone());
        self.checkers = (self.begin)();
        self.seen.clear();
        self.kept.clear();
        self.walked = Walked::default();
        self.judged = 0;
    }

    pub fn finish(self) -> Verdicts {
        Verdicts {
            checkers: self.checkers,
            kept: self.kept,
            walked: self.walked,
        }
    }
}

/// Everything that checkers look at: who did what where, and what happens before it. `traced` says what a power failure can leave.
fn signature(execution: &Execution, traced: u128) -> u128 {
    // What was only learnt counts by what follows it.
    let counts = |event: EventId| !matches!(execution.event(event).action, Action::Observe { .. });
    let told: Vec<Vec<u32>> = (0..execution.threads() as u16)
        .map(|thread| {
            let mut count = 0;
            let events = execution.of_thread(thread).iter();
            let counted = events.map(|&event| {
                count += u32::from(counts(event));
                count
            });
            std::iter::once(0).chain(counted).collect()
        })
        .collect();
    let mut hash = traced;
    for thread in 0..execution.threads() as u16 {
        for &event in execution.of_thread(thread) {
            if !counts(event) {
                continue;
            }
            let of = execution.event(event);
            hash = mix(hash, u128::from(of.site) << 16 | u128::from(thread));
            hash = mix(
                hash,
                match of.action {
                    Action::Store { piece, how, atomic } => {
                        let stores = execution.stores_to(piece.addr);
                        let stored = stores.iter().find(|stored| stored.event == event);
                        let version = stored.map_or(0, |stored| stored.version);
                        let bytes = piece.bytes().iter();
                        let bytes = bytes.fold(0, |all, &byte| all << 8 | u128::from(byte));
                        let kind = u128::from(version) << 8 | (how as u128) << 2 | atomic as u128;
                        mix(mix(kind << 64 | u128::from(piece.addr.0), bytes), 1)
                    }
                    Action::Clflush(Line(line)) => mix(line.into(), 2),
                    Action::Clwb(Line(line)) => mix(line.into(), 3),
                    Action::Fence(fence) => mix(fence as u128, 4),
                    Action::Read(_) | Action::Observe { .. } | Action::Mark(_) => 0,
                },
            );
            for (other, told) in (0..).zip(&told) {
                let known = execution.known(event, other) as usize;
                hash = mix(hash, told[known].into());
            }
        }
    }
    hash
}

/// The recoveries of a tree that a power failure of one trace can lead to.
struct Possible<'a> {
    judged: JudgedTrees<'a>,
    /// As much of the trace as is judged.
    traced: &'a Traced,
    /// Versions that some power failure leaves, the last that were found.
    left: RefCell<VecDeque<Vec<u32>>>,
}

/// So many are kept.
const LEFT: usize = 8;

impl Recoveries for Possible<'_> {
    type Node = <JudgedTrees<'static> as Recoveries>::Node;

    fn root(&self, failures: usize) -> Self::Node {
        self.judged.root(failures)
    }

    fn step(&self, node: Self::Node) -> RecoveryStep {
        self.judged.step(node)
    }

    fn child(&self, node: Self::Node, value: u64) -> Option<Self::Node> {
        self.judged.child(node, value)
    }

    fn marks(&self, node: Self::Node) -> SmallVec<[Mark; 2]> {
        self.judged.marks(node)
    }

    fn ran(&self, node: Self::Node) -> Option<(Rc<Execution>, Span)> {
        self.judged.ran(node)
    }

    fn leaves(&self, path: &RecoveryPath, read: &JudgedRead, candidate: &Candidate) -> bool {
        let Some(wanted) = candidate.versions() else {
            return true;
        };
        // Of lines that were not read any version is admitted.
        let here = self.traced.number(read.word.line());
        let numbered = |(line, span)| Some((self.traced.number(line)?, span));
        let others = path.versions_by_line().filter_map(numbered);
        let others = others.filter(|(number, _)| Some(*number) != here);
        let spans: SmallVec<[(usize, Span); 16]> =
            others.chain(here.map(|here| (here, wanted))).collect();
        let within = |(first, last): Span, version: u32| first <= version && version <= last;
        let admits = |number: usize, version: u32| {
            let span = spans.iter().find(|(of, _)| *of == number);
            span.is_none_or(|&(_, span)| within(span, version))
        };
        let mut left = self.left.borrow_mut();
        let fits = |versions: &Vec<u32>| {
            let mut read = spans.iter();
            read.all(|&(number, span)| within(span, versions[number]))
        };
        if left.iter().any(fits) {
            return true;
        }
        let read = spans.iter().map(|(number, _)| *number);
        let Some(found) = self.traced.crashes.leaves(read, &admits) else {
            return false;
        };
        if left.len() == LEFT {
            left.pop_back();
        }
        left.push_front(found);
        true
    }
}
