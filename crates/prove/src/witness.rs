//! An execution that was found, taken out of the solver: events in an order they can have happened in, with `rf`, `co`, `fb`
//! and what the power failure left. As text here, as a graph in [`crate::dot`].

use crate::encode::{Encoding, Reader, View};
use crate::program::*;
use crate::solver::Backend;
use landfall_ir::Place;
use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::sync::Arc;

/// What became of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Nothing persistent that anybody looks at.
    Passed,
    /// A store that recovery finds, or finds overwritten by one that survived too.
    Survived,
    /// A store that did not reach memory in time.
    Lost,
}

/// One event of the execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefutationStep {
    pub event: ProofEventId,
    pub thread: ThreadId,
    pub label: String,
    /// The value read, and the store it came from.
    pub read: Option<(u64, Option<ProofEventId>)>,
    pub written: Option<u64>,
    pub fate: Fate,
    /// Had it certainly happened when the power failed?
    pub before_failure: bool,
    pub deed: Deed,
    /// What it accesses or flushes, where the program has addresses.
    pub at: Option<u64>,
    pub place: Option<Arc<Place>>,
    /// Part of the step before it.
    pub joined: bool,
}

/// What kind of thing an event does, for who wants to see it done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deed {
    Load,
    Store,
    Rmw,
    /// A lock of the thread library is taken, or tried; or given back.
    Lock,
    Unlock,
    /// `clflush`
    Flush,
    /// `clflushopt`, `clwb`
    WriteBack,
    /// A fence, an assertion: others show when it happened.
    Other,
}

impl Deed {
    fn of(program: &ProofProgram, event: &ProofEvent) -> Deed {
        let home = event.loc().map(|loc| program.location(loc).home);
        let lock = home == Some(Home::Lock);
        match event.kind {
            _ if home == Some(Home::Lifetime) => Deed::Other,
            ProofEventKind::Load { .. } => Deed::Load,
            ProofEventKind::Store { .. } if lock => Deed::Unlock,
            ProofEventKind::Store { .. } | ProofEventKind::NtStore { .. } => Deed::Store,
            ProofEventKind::Rmw { .. } if lock => Deed::Lock,
            ProofEventKind::Rmw { .. } => Deed::Rmw,
            ProofEventKind::Flush {
                kind: FlushKind::Clflush,
                ..
            } => Deed::Flush,
            ProofEventKind::Flush { .. } => Deed::WriteBack,
            _ => Deed::Other,
        }
    }
}

/// The address that an event accesses; of a flush, one on its line.
fn address(program: &ProofProgram, event: &ProofEvent) -> Option<u64> {
    match (event.loc(), event.kind) {
        (Some(loc), _) => program.location(loc).at,
        (None, ProofEventKind::Flush { line, .. }) => {
            let mut locations = program.locations.iter();
            locations.find(|l| l.line() == Some(line))?.at
        }
        _ => None,
    }
}

/// What recovery found in a location.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundValue {
    pub loc: LocId,
    pub name: String,
    pub line: Option<LineId>,
    /// Its address, where the program has some, and its bits.
    pub at: Option<u64>,
    pub width: u8,
    pub value: u64,
    pub source: Option<ProofEventId>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refutation {
    /// What is wrong with it.
    pub broken: Vec<String>,
    pub threads: Vec<String>,
    /// In an order that the memory model allows.
    pub steps: Vec<RefutationStep>,
    /// Neighbours in the order of the writes of a location.
    pub coherence: Vec<(ProofEventId, ProofEventId)>,
    /// Flushes that had happened, and the lines they made durable.
    pub flushed: Vec<(ProofEventId, LineId)>,
    pub found: Vec<FoundValue>,
    /// The program's nondeterministic inputs.
    pub inputs: Vec<(String, u64)>,
    pub failed: bool,
    /// An assertion fails in a thread, whether the power fails or not.
    pub alone: bool,
    /// `ob` without its transitive closure: edges between events.
    order: Vec<(ProofEventId, ProofEventId)>,
    /// By event: the first of its step, which has its edges.
    steps_of: Vec<u32>,
}

impl Refutation {
    pub(crate) fn new(
        encoding: &Encoding,
        solver: &dyn Backend,
        broken: Vec<String>,
    ) -> Refutation {
        let program = encoding.program;
        let holds = |literal| solver.holds(literal);
        let value = |term| encoding.value(term, holds).unwrap_or(0);
        let executed: Vec<ProofEventId> = program
            .event_ids()
            .filter(|&id| holds(encoding.executed(id)))
            .collect();
        let mut order: Vec<(ProofEventId, ProofEventId)> = Vec::new();
        let mut edges: Vec<(u32, u32)> = encoding.ordering.fixed.clone();
        let guarded = encoding.ordering.guarded.iter();
        let active = guarded.filter(|edge| edge.literals.iter().all(|&l| holds(l)));
        edges.extend(active.map(|edge| (edge.from, edge.to)));
        for &(from, to) in &edges {
            if to.max(from) < program.events.len() as u32 {
                order.push((ProofEventId(from), ProofEventId(to)));
            }
        }
        let source = |reader: Reader| {
            let mut all = encoding.reads_from.iter();
            all.find(|rf| rf.reader == reader && holds(rf.literal))
                .map(|rf| rf.source)
        };
        let failed = matches!(encoding.view, View::AfterFailure(_));
        let found: Vec<FoundValue> = (0..program.locations.len() as u32)
            .map(LocId)
            .filter_map(|loc| {
                let (reader, node) = match failed {
                    true => (Reader::Recovery(loc), crate::term::Node::Recovered(loc)),
                    false => (Reader::End(loc), crate::term::Node::Final(loc)),
                };
                let location = program.location(loc);
                let term = program.terms.find(node, location.width)?;
                Some(FoundValue {
                    loc,
                    name: location.name.clone(),
                    line: location.line(),
                    at: location.at,
                    width: location.width,
                    value: value(term),
                    source: source(reader)?,
                })
            })
            .collect();
        let mut witness = Refutation {
            broken,
            threads: program.threads.clone(),
            steps: Vec::new(),
            coherence: coherence(encoding, &executed, &holds),
            flushed: Vec::new(),
            found,
            inputs: program
                .inputs
                .iter()
                .map(|(name, term)| (name.clone(), value(*term)))
                .collect(),
            failed,
            alone: false,
            order,
            steps_of: program.event_ids().map(|id| encoding.node(id)).collect(),
        };
        let past = witness.past(program, &executed, |read| {
            source(Reader::Event(read)).flatten()
        });
        let places = topological(&edges, encoding.ordering.nodes);
        let whole_steps = places
            .iter()
            .map(|&id| ProofEventId(id))
            .filter(|id| id.index() < program.events.len() && !program.event(*id).joined)
            .flat_map(|first| {
                let rest = (first.0 + 1..program.events.len() as u32).map(ProofEventId);
                std::iter::once(first).chain(rest.take_while(|&id| program.event(id).joined))
            });
        for event in whole_steps {
            if !executed.contains(&event) {
                continue;
            }
            let of = program.event(event);
            // What held says nothing.
            let fails = |label: &String| witness.broken.contains(label);
            if matches!(of.kind, ProofEventKind::Assert { .. }) && !fails(&of.label) {
                continue;
            }
            let written = of.written().filter(|_| holds(encoding.wrote(event)));
            let read = of.reads().then(|| {
                let source = source(Reader::Event(event)).flatten();
                let loc = of.loc().map(|loc| program.location(loc).width);
                let term = loc
                    .and_then(|width| program.terms.find(crate::term::Node::Loaded(event), width));
                (term.map_or(0, value), source)
            });
            let before_failure = !failed || past.contains(&event);
            let weak =
                matches!(of.kind, ProofEventKind::Flush { kind, .. } if kind != FlushKind::Clflush);
            if let ProofEventKind::Flush { line, .. } = of.kind
                && before_failure
                && (!weak || drained(program, event, &past))
            {
                witness.flushed.push((event, line));
            }
            witness.steps.push(RefutationStep {
                event,
                thread: of.thread,
                label: of.label.clone(),
                read,
                written: written.map(value),
                fate: match (written, encoding.survived(event)) {
                    (Some(_), Some(survived)) if holds(survived) => Fate::Survived,
                    (Some(_), Some(_)) => Fate::Lost,
                    _ => Fate::Passed,
                },
                before_failure,
                deed: Deed::of(program, of),
                at: address(program, of),
                place: of.place.clone(),
                joined: of.joined,
            });
        }
        witness
    }

    /// What must have happened by the failure: everything `po`- or `rf`-before a store that recovery finds.
    fn past(
        &self,
        program: &ProofProgram,
        executed: &[ProofEventId],
        source: impl Fn(ProofEventId) -> Option<ProofEventId>,
    ) -> BTreeSet<ProofEventId> {
        let mut past = BTreeSet::new();
        let mut todo: Vec<ProofEventId> =
            self.found.iter().filter_map(|found| found.source).collect();
        while let Some(id) = todo.pop() {
            if !past.insert(id) {
                continue;
            }
            let thread = program.event(id).thread;
            let earlier = executed
                .iter()
                .filter(|&&e| e < id && program.event(e).thread == thread);
            todo.extend(earlier.copied());
            let created = program.orders.iter().filter(|(_, second)| *second == id);
            todo.extend(created.map(|(first, _)| *first));
            if program.event(id).reads() {
                todo.extend(source(id));
            }
        }
        past
    }

    /// Is one event ordered before another in this execution?
    pub fn ordered(&self, first: ProofEventId, second: ProofEventId) -> bool {
        let step = |event: ProofEventId| {
            self.steps_of
                .get(event.index())
                .map_or(event, |&e| ProofEventId(e))
        };
        let (first, second) = (step(first), step(second));
        let mut seen = BTreeSet::new();
        let mut todo = vec![first];
        while let Some(event) = todo.pop() {
            for &(_, next) in self.order.iter().filter(|(from, _)| *from == event) {
                if next == second {
                    return true;
                }
                if seen.insert(next) {
                    todo.push(next);
                }
            }
        }
        false
    }

    /// Is it about a power failure? A thread may fail without any.
    pub fn needs_failure(&self) -> bool {
        self.failed && !self.alone
    }

    /// An event, as witnesses name it: `T0: x = 1`.
    pub fn name(&self, event: ProofEventId) -> String {
        match self.steps.iter().find(|step| step.event == event) {
            Some(step) => format!("{}: {}", self.threads[step.thread.index()], step.label),
            None => "initial".to_owned(),
        }
    }

    pub(crate) fn source_name(&self, source: Option<ProofEventId>) -> String {
        source.map_or("initial".to_owned(), |event| self.name(event))
    }
}

/// Is there an instruction in the past that makes this weak flush effective?
fn drained(program: &ProofProgram, flush: ProofEventId, past: &BTreeSet<ProofEventId>) -> bool {
    let thread = program.event(flush).thread;
    past.range(flush..)
        .any(|&id| program.event(id).thread == thread && program.drains(id))
}

fn coherence(
    encoding: &Encoding,
    executed: &[ProofEventId],
    holds: &impl Fn(crate::cnf::Lit) -> bool,
) -> Vec<(ProofEventId, ProofEventId)> {
    let program = encoding.program;
    let mut neighbours = Vec::new();
    for loc in (0..program.locations.len() as u32).map(LocId) {
        let mut writes: Vec<ProofEventId> = executed
            .iter()
            .copied()
            .filter(|&id| program.event(id).loc() == Some(loc) && holds(encoding.wrote(id)))
            .collect();
        let before = |a: ProofEventId, b: ProofEventId| encoding.coherent(a, b).is_some_and(holds);
        let place = |w: ProofEventId| writes.iter().filter(|&&other| before(other, w)).count();
        let mut places: Vec<(usize, ProofEventId)> =
            writes.iter().map(|&w| (place(w), w)).collect();
        places.sort_unstable();
        writes = places.into_iter().map(|(_, w)| w).collect();
        let pairs = writes.windows(2).map(|pair| (pair[0], pair[1]));
        neighbours.extend(pairs.filter(|&(a, b)| encoding.coherent(a, b).is_some()));
    }
    neighbours
}

/// An order that no edge contradicts, smallest number first where there is a choice.
fn topological(edges: &[(u32, u32)], nodes: usize) -> Vec<u32> {
    let mut incoming = vec![0; nodes];
    let mut out = vec![Vec::new(); nodes];
    for &(from, to) in edges {
        incoming[to as usize] += 1;
        out[from as usize].push(to);
    }
    let mut ready: BTreeSet<u32> = (0..nodes as u32)
        .filter(|&node| incoming[node as usize] == 0)
        .collect();
    let mut order = Vec::new();
    while let Some(node) = ready.pop_first() {
        order.push(node);
        for &next in &out[node as usize] {
            incoming[next as usize] -= 1;
            if incoming[next as usize] == 0 {
                ready.insert(next);
            }
        }
    }
    order
}

impl fmt::Display for Refutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for broken in &self.broken {
            writeln!(f, "broken: {broken}")?;
        }
        for (name, value) in self.inputs.iter().filter(|(_, value)| *value != 0) {
            writeln!(f, "  where {name} is {value}")?;
        }
        let width = self
            .steps
            .iter()
            .map(|s| self.name(s.event).chars().count());
        let width = width.max().unwrap_or(0);
        for step in &self.steps {
            let mut line = format!("  {:width$}", self.name(step.event));
            if let Some((value, source)) = step.read {
                write!(line, "  reads {value} from {}", self.source_name(source))?;
            }
            if let (Some(value), true) = (step.written, step.read.is_some()) {
                write!(line, ", writes {value}")?;
            }
            match step.fate {
                _ if !self.needs_failure() => {}
                Fate::Survived => line += "  survives",
                Fate::Lost => line += "  is lost",
                Fate::Passed => {}
            }
            let flushed = || self.flushed.iter().any(|(flush, _)| *flush == step.event);
            if self.needs_failure() && flushed() {
                line += "  takes effect";
            } else if self.needs_failure() && !step.before_failure && step.fate == Fate::Passed {
                line += "  (the power may have failed before)";
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        let what = match (self.failed, self.needs_failure()) {
            (true, true) => "recovered",
            // What a power failure would leave is nobody's business.
            (true, false) => return Ok(()),
            (false, _) => "at the end",
        };
        for found in &self.found {
            writeln!(
                f,
                "  {what}: {} = {} ({})",
                found.name,
                found.value as i64,
                self.source_name(found.source)
            )?;
        }
        Ok(())
    }
}
