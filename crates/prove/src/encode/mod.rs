//! From a program to a formula and an ordering: whose models are the program's executions, each with a power failure.
//!
//! *Formula*: which events happen, what they read and write, which write each read takes its value from (`rf`), the order of
//! the writes of a location (`co`), which writes survive. *Ordering*: the edges of docs/design/model.md §6 between events, each under the
//! literals that put it there; a model is an execution if they have no cycle.
//!
//! Recovery is one node per line: a write of the line that survives comes before it, one that is lost comes after it. That the
//! survivors are a prefix of what the line saw, over all its locations, is then the absence of cycles, and so is
//! `dtpo = fb;fr`: a flush that happened comes before the node, hence before every lost write.

mod execution;
mod memory;
mod order;
mod recovery;

use crate::blast::Bits;
use crate::cnf::{Formula, Lit};
use crate::program::*;
use crate::term::{Node, Term};
use crate::theory::{Guarded, Ordering};
use crate::values::{ValueDomain, domains};
use landfall_model::order::Platform;
use rustc_hash::FxHashMap;

/// Where a crash can be, and what it leaves out (Marmanis and Vafeiadis, §5.4 and §5.5; docs/design/prove.md).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CrashEncoding {
    /// `DPTSOsyn`: graphs of what happened before the crash; each event may be the first that did not.
    Partial,
    /// Like `Partial`, but a thread stops only right before what makes something durable: elsewhere it may as well go on.
    PartialAtFlushes,
    /// `DPTSOsyn,full`: graphs of whole executions; a flush counts if it is `porf`-before a write that survived. Reachability
    /// is a set of Horn clauses over "this event had happened".
    Full,
    /// Like `Full`, with one "had happened" for each stretch between two events that make something durable.
    #[default]
    FullAtFlushes,
}

impl CrashEncoding {
    pub const ALL: [CrashEncoding; 4] = [
        CrashEncoding::Partial,
        CrashEncoding::PartialAtFlushes,
        CrashEncoding::Full,
        CrashEncoding::FullAtFlushes,
    ];

    pub fn name(self) -> &'static str {
        match self {
            CrashEncoding::Partial => "partial",
            CrashEncoding::PartialAtFlushes => "partial-flush",
            CrashEncoding::Full => "full",
            CrashEncoding::FullAtFlushes => "full-flush",
        }
    }
}

/// From where memory is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    /// After all threads have ended, with no failure.
    AtTheEnd,
    /// After a power failure, each line as old as its flushes let it be.
    AfterFailure(CrashEncoding),
    /// All of memory in one instant of an execution: what a crash leaves if stores persist as they commit.
    Instant,
}

impl View {
    /// With eADR a store is durable once it leaves the store buffer, and a non-temporal store can leave before a store its value
    /// was forwarded from. A graph of what happened before the crash cannot tell the two moments apart: take whole executions.
    fn possible(self, program: &ProofProgram) -> View {
        let mut kinds = program.events.iter().map(|event| event.kind);
        let apart = program.platform == Platform::Eadr
            && kinds.any(|kind| matches!(kind, ProofEventKind::NtStore { .. }));
        match self {
            View::AfterFailure(CrashEncoding::Partial) if apart => {
                View::AfterFailure(CrashEncoding::Full)
            }
            View::AfterFailure(CrashEncoding::PartialAtFlushes) if apart => {
                View::AfterFailure(CrashEncoding::FullAtFlushes)
            }
            other => other,
        }
    }
}

/// What reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reader {
    Event(ProofEventId),
    Recovery(LocId),
    End(LocId),
}

/// A read may take its value from a write, or from what was there at first (`None`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadsFrom {
    pub reader: Reader,
    pub source: Option<ProofEventId>,
    pub literal: Lit,
}

#[derive(Debug)]
pub struct Encoding<'p> {
    pub program: &'p ProofProgram,
    pub view: View,
    pub formula: Formula,
    pub ordering: Ordering,
    pub reads_from: Vec<ReadsFrom>,
    bits: Bits,
    domains: Vec<ValueDomain>,
    /// By event: its node in the ordering, that of the first event of its step.
    nodes: Vec<u32>,
    /// By event: does it happen? (In graphs of whole executions: is its guard true?)
    executed: Vec<Lit>,
    /// By event: does it write?
    wrote: Vec<Lit>,
    /// By event: had it happened by the crash, if it happens at all?
    happened: Vec<Lit>,
    /// By event: could a later event of its thread happen without it? Then edges must not lead through it unless it does.
    exposed: Vec<bool>,
    /// Of two writes of one location, the first by number: is it first in `co`?
    first: FxHashMap<(ProofEventId, ProofEventId), Lit>,
    /// Writes that a recovery could see: did they survive?
    survived: FxHashMap<ProofEventId, Lit>,
    /// By pair of guards: does the first imply the second?
    implications: FxHashMap<(Term, Term), bool>,
}

impl<'p> Encoding<'p> {
    pub fn new(program: &'p ProofProgram, view: View) -> Encoding<'p> {
        let events = program.events.len();
        let view = view.possible(program);
        let mut encoding = Encoding {
            program,
            view,
            formula: Formula::default(),
            ordering: Ordering {
                nodes: events,
                ..Ordering::default()
            },
            reads_from: Vec::new(),
            bits: Bits::new(&program.terms),
            domains: domains(program),
            nodes: nodes(program),
            executed: Vec::new(),
            wrote: Vec::new(),
            happened: Vec::new(),
            exposed: Vec::new(),
            first: FxHashMap::default(),
            survived: FxHashMap::default(),
            implications: FxHashMap::default(),
        };
        encoding.execution();
        encoding.preserved_order();
        encoding.memory();
        encoding.blocks();
        match view {
            View::AtTheEnd => encoding.last_values(),
            View::AfterFailure(_) => encoding.after_failure(),
            View::Instant => encoding.instant(),
        }
        encoding
    }

    pub fn bits(&mut self, term: Term) -> Vec<Lit> {
        self.bits
            .of(term, &self.program.terms, &self.domains, &mut self.formula)
    }

    /// Every input of the program is 0, as it is in native runs.
    pub fn without_inputs(&mut self) -> Vec<Lit> {
        let program = self.program;
        let inputs = program.inputs.iter();
        inputs
            .flat_map(|&(_, input)| self.bits(input))
            .filter(|&bit| bit != Lit::FALSE)
            .map(|bit| !bit)
            .collect()
    }

    /// A condition as a literal.
    pub fn truth(&mut self, condition: Term) -> Lit {
        self.bits(condition)[0]
    }

    /// The value of a term that the encoding or a caller asked for, given what literals are.
    pub fn value(&self, term: Term, holds: impl Fn(Lit) -> bool) -> Option<u64> {
        let bits = self.bits.get(term)?;
        Some(
            bits.iter()
                .rev()
                .fold(0, |value, &bit| value << 1 | u64::from(holds(bit))),
        )
    }

    /// The node of an event.
    pub fn node(&self, event: ProofEventId) -> u32 {
        self.nodes[event.index()]
    }

    pub fn executed(&self, event: ProofEventId) -> Lit {
        self.executed[event.index()]
    }

    pub fn wrote(&self, event: ProofEventId) -> Lit {
        self.wrote[event.index()]
    }

    pub fn happened(&self, event: ProofEventId) -> Lit {
        self.happened[event.index()]
    }

    pub fn survived(&self, event: ProofEventId) -> Option<Lit> {
        self.survived.get(&event).copied()
    }

    /// Is `a` before `b` in coherence order? Only for writes of one location that somebody reads.
    pub fn coherent(&self, a: ProofEventId, b: ProofEventId) -> Option<Lit> {
        let first = *self.first.get(&(a.min(b), a.max(b)))?;
        Some(if a < b { first } else { !first })
    }

    /// Of two stores to one place, the literal that says the first comes first; in the order of the program.
    pub(crate) fn orders_of_stores(&self) -> Vec<(ProofEventId, ProofEventId, Lit)> {
        let mut all: Vec<_> = self.first.iter().map(|(&(a, b), &l)| (a, b, l)).collect();
        all.sort_unstable();
        all
    }

    /// Adds an edge that is there while these are true. Constants are dealt with here.
    fn edge(&mut self, from: u32, to: u32, literals: &[Lit]) {
        if literals.contains(&Lit::FALSE) || from == to {
            return;
        }
        let mut literals: Vec<Lit> = literals
            .iter()
            .copied()
            .filter(|&l| l != Lit::TRUE)
            .collect();
        literals.sort_unstable();
        literals.dedup();
        if literals.iter().any(|&l| literals.contains(&!l)) {
            return;
        }
        match literals.is_empty() {
            true => self.ordering.fixed.push((from, to)),
            false => self.ordering.guarded.push(Guarded { from, to, literals }),
        }
    }

    /// Whenever `a` happens, has `b` been guarded by nothing more? (By the form of their guards; "no" is always safe.)
    fn implies(&mut self, a: ProofEventId, b: ProofEventId) -> bool {
        let (a, b) = (self.program.event(a).guard, self.program.event(b).guard);
        if a == b {
            return true;
        }
        let terms = &self.program.terms;
        *self.implications.entry((a, b)).or_insert_with(|| {
            let of_a = terms.conjuncts(a);
            terms.conjuncts(b).iter().all(|c| of_a.contains(c))
        })
    }

    /// The literal that must guard an edge to or from a write, if any: edges must not lead through a write that is not there.
    fn write_guard(&self, write: ProofEventId) -> Lit {
        let conditional = match self.program.event(write).kind {
            ProofEventKind::Rmw { when, .. } => self.program.terms.constant_of(when) != Some(1),
            _ => false,
        };
        match conditional || self.exposed[write.index()] {
            true => self.wrote(write),
            false => Lit::TRUE,
        }
    }

    /// The locations that terms of this kind speak of.
    fn spoken_of(&self, of: impl Fn(Node) -> Option<LocId>) -> Vec<(LocId, Term)> {
        (0..self.program.terms.len() as u32)
            .map(Term)
            .filter_map(|term| of(self.program.terms.node(term)).map(|loc| (loc, term)))
            .collect()
    }

    /// If the literal is true, the two terms are equal.
    fn equal_if(&mut self, literal: Lit, a: Term, b: Term) {
        let (a, b) = (self.bits(a), self.bits(b));
        let mut pairs: Vec<(Lit, Lit)> = a.into_iter().zip(b).filter(|(x, y)| x != y).collect();
        pairs.sort_unstable();
        pairs.dedup();
        for (x, y) in pairs {
            self.formula.clause(&[!literal, !x, y]);
            self.formula.clause(&[!literal, x, !y]);
        }
    }
}

fn nodes(program: &ProofProgram) -> Vec<u32> {
    let mut nodes: Vec<u32> = Vec::with_capacity(program.events.len());
    for (at, event) in program.events.iter().enumerate() {
        nodes.push(match nodes.last() {
            Some(&before) if event.joined => before,
            _ => at as u32,
        });
    }
    nodes
}
