//! Robustness (Han and He): everything that a power failure can leave, some execution showed in one instant.
//!
//! Their algorithm 1 enumerates what a failure can leave and asks for each, with the recovery as an atomic observer,
//! whether any execution shows it. Most of that is not needed: a state is suspicious only if the *same* execution does
//! not show it, that is, if a store that was lost comes before one that was kept. So the first question is for an execution
//! with such a pair; if there is none the program is robust. Otherwise the observer is asked about all executions, and a
//! state that some other execution does show is blocked.
//!
//! A state is the value of each location that the recovery reads; or also which store it came from ([`SameState`]).
//!
//! Strict persistency follows the program (choice L5): a non-temporal store may be seen after a later one, but an instant between the
//! two shows nothing. So a missing fence is named, as it is where the recovery fails.

use super::{Answered, ProofOptions, ProofVerdict, SameState, Sizes, gave_up};
use crate::certificate::{self, Certificates, NoCertificates, ProofLog};
use crate::cnf::Lit;
use crate::encode::{Encoding, Reader, View};
use crate::program::{LocId, ProofEventId, ProofEventKind, ProofProgram};
use crate::solver::{Answer, Backend, open, open_logged};
use crate::term::{Node, Term};
use crate::witness::Refutation;
use std::io::Write;

pub fn robust(program: &ProofProgram, options: &ProofOptions) -> Answered {
    certified_robust(program, options, &mut NoCertificates)
}

/// The same, with what proves it.
pub fn certified_robust(
    program: &ProofProgram,
    options: &ProofOptions,
    certificates: &mut dyn Certificates,
) -> Answered {
    let mut sizes = Sizes::default();
    if program.recovery.reads.is_empty() {
        return Answered {
            verdict: ProofVerdict::Nothing,
            sizes,
        };
    }
    let mut crashed = Encoding::new(program, View::AfterFailure(options.crash));
    assertions_hold(&mut crashed);
    let seen = observed(&mut crashed);
    let pairs = suspicious(&mut crashed, &seen, options.alike);
    let mut plain = crashed.without_inputs();
    let log = ProofLog::begin(certificates, QUESTION, &asks(&pairs), &crashed);
    let (formula, ordering) = (&crashed.formula, &crashed.ordering);
    let mut crashes = open_logged(formula, ordering, &options.search, log.as_ref());

    let mut shown = Encoding::new(program, View::Instant);
    assertions_hold(&mut shown);
    in_program_order(&mut shown, &seen);
    let shown_bits: Vec<Vec<Lit>> = seen.iter().map(|s| shown.bits(s.value)).collect();
    let pairing = Pairing {
        crashed: &crashed,
        shown: &shown,
        seen: &seen,
        bits: &shown_bits,
    };
    let mut states_shown = pairing.write(certificates, options.alike);
    let mut observer = open(&shown.formula, &shown.ordering, &options.search);

    let mut verdict = None;
    let mut states = 0;
    while verdict.is_none() {
        verdict = match crashes.solve(&plain) {
            // Not without inputs.
            Answer::Unsatisfiable if !plain.is_empty() => {
                plain.clear();
                None
            }
            Answer::Unsatisfiable => Some(ProofVerdict::Proved),
            Answer::Unknown => Some(gave_up(options)),
            Answer::Satisfiable if states == options.max_states => Some(ProofVerdict::Unknown(
                format!("gave up after {states} states that other executions show"),
            )),
            Answer::Satisfiable => {
                states += 1;
                let state = ObserverState::of(&crashed, crashes.as_ref(), &seen, options.alike);
                match observer.solve(&state.as_shown(&shown, &shown_bits)) {
                    Answer::Unsatisfiable => {
                        let mut witness = Refutation::new(&crashed, crashes.as_ref(), Vec::new());
                        witness.broken = explain(crashes.as_ref(), &pairs, &witness);
                        Some(ProofVerdict::Refuted(Box::new(witness)))
                    }
                    Answer::Unknown => Some(gave_up(options)),
                    Answer::Satisfiable => {
                        let other = state.other(&crashed, &seen);
                        match (&log, &mut states_shown) {
                            (Some(log), Some(file)) => {
                                write_state(file, &shown, observer.as_ref(), certificates);
                                log.shown(|| crashes.add_clause(&other));
                            }
                            _ => crashes.add_clause(&other),
                        }
                        None
                    }
                }
            }
        };
    }
    sizes.include(&crashed, crashes.as_ref(), states + 1);
    sizes.include(&shown, observer.as_ref(), states);
    drop(crashes);
    if let Some(log) = log {
        log.end(certificates);
    }
    Answered {
        verdict: verdict.unwrap_or(ProofVerdict::Nothing),
        sizes,
    }
}

/// What a certificate calls it.
const QUESTION: &str = "states";

/// The question, for people.
fn asks(pairs: &Pairs) -> String {
    let mut text = "Is there an execution and a power failure that keeps one of these stores and loses one that comes before it? That there \
         is one, is part of formula.cnf. States that another execution shows are excluded one by one (states.txt, which satisfies \
         shown.cnf; places.txt says which literals of the two are the same).\n"
        .to_owned();
    for (store, literal) in &pairs.kept {
        text += &format!(
            "  literal {}: node {} is kept\n",
            literal.dimacs(),
            store.0 + 1
        );
    }
    text
}

/// Which literals of the two formulas speak of the same.
struct Pairing<'e, 'p> {
    crashed: &'e Encoding<'p>,
    shown: &'e Encoding<'p>,
    seen: &'e [SeenState],
    bits: &'e [Vec<Lit>],
}

impl Pairing<'_, '_> {
    /// Writes it down, if somebody wants to see it; the file that states go to.
    fn write(
        &self,
        certificates: &mut dyn Certificates,
        alike: SameState,
    ) -> Option<Box<dyn Write>> {
        let mut file = |name: &str| certificates.file(QUESTION, name);
        let (formula, ordering) = (file("shown.cnf")?, file("shown-ordering.txt")?);
        let (places, states) = (file("places.txt")?, file("states.txt")?);
        let written = certificate::write_formula(formula, &self.shown.formula)
            .and_then(|()| certificate::write_ordering(ordering, &self.shown.ordering))
            .and_then(|()| self.places(places, alike));
        if let Err(error) = written {
            certificates.failed(error);
        }
        Some(states)
    }

    fn places(&self, mut out: Box<dyn Write>, alike: SameState) -> std::io::Result<()> {
        for (place, shown) in self.seen.iter().zip(self.bits) {
            let bits = place.bits.iter().zip(shown);
            let bits = bits.flat_map(|(here, there)| [here.dimacs(), there.dimacs()]);
            let mut sources = Vec::new();
            if alike == SameState::Stores {
                let reader = Reader::Recovery(place.loc);
                for from in self
                    .crashed
                    .reads_from
                    .iter()
                    .filter(|rf| rf.reader == reader)
                {
                    let there = source_literal(self.shown, place.loc, from.source);
                    sources.extend([from.literal.dimacs(), there.dimacs()]);
                }
            }
            let groups = [vec![place.read.dimacs()], bits.collect(), sources];
            certificate::write_groups(&mut out, &groups)?;
        }
        out.flush()
    }
}

/// An execution that shows a state.
fn write_state(
    out: &mut Box<dyn Write>,
    shown: &Encoding,
    observer: &dyn Backend,
    certificates: &mut dyn Certificates,
) {
    let all = 1..=shown.formula.variables() as i32;
    let literals = all.map(|v| {
        if observer.holds(Lit::from_dimacs(v)) {
            v
        } else {
            -v
        }
    });
    let written = certificate::write_groups(out, &[literals.collect()]);
    if let Err(error) = written.and_then(|()| out.flush()) {
        certificates.failed(error);
    }
}

/// What a program does after an assertion failed says nothing: it would have stopped.
fn assertions_hold(encoding: &mut Encoding) {
    let program = encoding.program;
    for event in program.event_ids() {
        if let ProofEventKind::Assert { holds } = program.event(event).kind {
            let (executed, holds) = (encoding.executed(event), encoding.truth(holds));
            encoding.formula.implies(executed, holds);
        }
    }
}

/// Stores of one thread that reach memory in any order, first one first.
fn streamed(program: &ProofProgram, seen: &[SeenState]) -> Vec<(ProofEventId, ProofEventId)> {
    let stores: Vec<ProofEventId> = program
        .event_ids()
        .filter(|&id| {
            let loc = program.event(id).loc();
            program.event(id).written().is_some() && seen.iter().any(|of| Some(of.loc) == loc)
        })
        .collect();
    let streams =
        |id: ProofEventId| matches!(program.event(id).kind, ProofEventKind::NtStore { .. });
    let mut pairs = Vec::new();
    for (at, &second) in stores.iter().enumerate() {
        let thread = program.event(second).thread;
        for &first in &stores[..at] {
            if program.event(first).thread == thread && (streams(first) || streams(second)) {
                pairs.push((first, second));
            }
        }
    }
    pairs
}

/// What an instant shows of a thread's stores is the beginning of them.
fn in_program_order(shown: &mut Encoding, seen: &[SeenState]) {
    for (first, second) in streamed(shown.program, seen) {
        if let (Some(kept), Some(before)) = (shown.survived(second), shown.survived(first)) {
            let wrote = shown.wrote(first);
            shown.formula.clause(&[!kept, !wrote, before]);
        }
    }
}

/// A location that the recovery reads, when this holds.
struct SeenState {
    loc: LocId,
    value: Term,
    bits: Vec<Lit>,
    read: Lit,
}

fn observed(encoding: &mut Encoding) -> Vec<SeenState> {
    let program = encoding.program;
    let mut locs: Vec<LocId> = program.recovery.reads.iter().map(|read| read.loc).collect();
    locs.sort_unstable();
    locs.dedup();
    let mut seen = Vec::new();
    for loc in locs {
        let width = program.location(loc).width;
        // A location the recovery wrote before it read shows nothing of the crash, nor does a volatile one.
        let Some(value) = program.terms.find(Node::Recovered(loc), width) else {
            continue;
        };
        let guards: Vec<Lit> = program
            .recovery
            .reads
            .iter()
            .filter(|read| read.loc == loc)
            .map(|read| encoding.truth(read.guard))
            .collect();
        let read = encoding.formula.any(&guards);
        let bits = encoding.bits(value);
        seen.push(SeenState {
            loc,
            value,
            bits,
            read,
        });
    }
    seen
}

/// Demands a lost store that is ordered before a kept one; for each store, what says that it was lost or kept. By values, one that
/// stored what is there all the same is not missed: if there are only such, all up to the kept ones is what an instant showed.
fn suspicious(encoding: &mut Encoding, seen: &[SeenState], alike: SameState) -> Pairs {
    let program = encoding.program;
    let mut pairs = Pairs::default();
    let mut kept_after = Vec::new();
    // By event: it is a lost store or ordered after one. The order has no cycle, so each chain of reasons ends.
    let after: Vec<Lit> = (0..program.events.len())
        .map(|_| encoding.formula.fresh())
        .collect();
    let mut reasons: Vec<Vec<Lit>> = after.iter().map(|&a| vec![!a]).collect();
    for place in seen {
        for write in writes(program, place.loc) {
            let (wrote, survived) = (encoding.wrote(write), encoding.survived(write));
            let survived = survived.unwrap_or(Lit::FALSE);
            let here = encoding.formula.and(place.read, wrote);
            let mut lost = encoding.formula.and(here, !survived);
            if let (SameState::Values, Some(value)) = (alike, program.event(write).written()) {
                let stored = encoding.bits(value);
                let bits = stored.iter().zip(&place.bits);
                let apart: Vec<Lit> = bits.map(|(&a, &b)| encoding.formula.xor(a, b)).collect();
                let differs = encoding.formula.any(&apart);
                lost = encoding.formula.and(lost, differs);
            }
            reasons[encoding.node(write) as usize].push(lost);
            pairs.lost.push((write, lost));
            let source = source_literal(encoding, place.loc, Some(write));
            let kept = encoding.formula.and(place.read, source);
            let node = encoding.node(write) as usize;
            let both = encoding.formula.and(kept, after[node]);
            kept_after.push(both);
            pairs.kept.push((write, both));
        }
    }
    for (first, second) in streamed(program, seen) {
        let (from, to) = (encoding.node(first), encoding.node(second));
        reasons[to as usize].push(after[from as usize]);
    }
    let events = program.events.len() as u32;
    for at in 0..encoding.ordering.fixed.len() {
        let (from, to) = encoding.ordering.fixed[at];
        reasons[to as usize].push(after[from as usize]);
    }
    for at in 0..encoding.ordering.guarded.len() {
        let edge = encoding.ordering.guarded[at].clone();
        if edge.from >= events || edge.to >= events {
            continue; // not of the execution, but of what the failure left
        }
        let along = encoding.formula.fresh();
        for literal in edge.literals {
            encoding.formula.implies(along, literal);
        }
        encoding.formula.implies(along, after[edge.from as usize]);
        reasons[edge.to as usize].push(along);
    }
    for reason in reasons {
        encoding.formula.clause(&reason);
    }
    encoding.formula.clause(&kept_after);
    pairs
}

#[derive(Default)]
struct Pairs {
    lost: Vec<(ProofEventId, Lit)>,
    kept: Vec<(ProofEventId, Lit)>,
}

/// The lost stores that are ordered before a kept one, each with it.
fn explain(solver: &dyn Backend, pairs: &Pairs, witness: &Refutation) -> Vec<String> {
    let mut broken = Vec::new();
    for &(kept, literal) in &pairs.kept {
        if !solver.holds(literal) {
            continue;
        }
        for &(lost, literal) in &pairs.lost {
            if solver.holds(literal) && witness.ordered(lost, kept) {
                broken.push(format!(
                    "`{}` survived, but not `{}`, which comes before it",
                    witness.name(kept),
                    witness.name(lost)
                ));
            }
        }
    }
    broken
}

fn writes(program: &ProofProgram, loc: LocId) -> impl Iterator<Item = ProofEventId> {
    program.event_ids().filter(move |&id| {
        program.event(id).loc() == Some(loc) && program.event(id).written().is_some()
    })
}

fn source_literal(encoding: &Encoding, loc: LocId, source: Option<ProofEventId>) -> Lit {
    encoding
        .reads_from
        .iter()
        .find(|rf| rf.reader == Reader::Recovery(loc) && rf.source == source)
        .map_or(Lit::FALSE, |rf| rf.literal)
}

/// What a failure left of the locations that were read; `None` for one that was not.
struct ObserverState {
    read: Vec<Option<Content>>,
    alike: SameState,
}

struct Content {
    loc: LocId,
    source: Option<ProofEventId>,
    value: Vec<bool>,
}

impl ObserverState {
    fn of(
        encoding: &Encoding,
        solver: &dyn Backend,
        seen: &[SeenState],
        alike: SameState,
    ) -> ObserverState {
        let read = seen.iter().map(|place| {
            if !solver.holds(place.read) {
                return None;
            }
            let source = encoding
                .reads_from
                .iter()
                .find(|rf| rf.reader == Reader::Recovery(place.loc) && solver.holds(rf.literal))?;
            let value = place.bits.iter().map(|&bit| solver.holds(bit)).collect();
            Some(Content {
                loc: place.loc,
                source: source.source,
                value,
            })
        });
        ObserverState {
            read: read.collect(),
            alike,
        }
    }

    /// Literals that say: the atomic observer sees this state.
    fn as_shown(&self, shown: &Encoding, bits: &[Vec<Lit>]) -> Vec<Lit> {
        let mut all = Vec::new();
        for (read, bits) in self.read.iter().zip(bits) {
            if let Some(Content { loc, source, value }) = read {
                if self.alike == SameState::Stores {
                    all.push(source_literal(shown, *loc, *source));
                }
                all.extend(signed_bits(bits, value));
            }
        }
        all.retain(|&literal| literal != Lit::TRUE);
        all
    }

    /// Any other state.
    fn other(&self, encoding: &Encoding, seen: &[SeenState]) -> Vec<Lit> {
        let mut clause = Vec::new();
        for (read, place) in self.read.iter().zip(seen) {
            match read {
                None => clause.push(place.read),
                Some(Content { loc, source, value }) => {
                    if self.alike == SameState::Stores {
                        clause.push(!source_literal(encoding, *loc, *source));
                    }
                    clause.extend(signed_bits(&place.bits, value).map(|bit| !bit));
                }
            }
        }
        clause.retain(|&literal| literal != Lit::FALSE);
        clause
    }
}

fn signed_bits<'a>(bits: &'a [Lit], value: &'a [bool]) -> impl Iterator<Item = Lit> + 'a {
    bits.iter()
        .zip(value)
        .map(|(&bit, &on)| if on { bit } else { !bit })
}
