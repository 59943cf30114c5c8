//! Transactions as graphs (docs/design/model.md §10).
//!
//! What a committed transaction does happens at one moment, that of its `xend`, and nothing comes between. One that aborts
//! leaves no write, but what it had touched by then was seen by others: its accesses happen at one moment too, right before
//! its cause if it has one. Where an access of a transaction is another's cause it is a moment of its own, and from there to the end of
//! its transaction nobody may meet what that had touched.
//!
//! How each transaction ends is chosen first; [`AttemptEnding`]s that no graph can have come to nothing.

use super::candidate::{CandidateGraph, GraphEvent, ReadSource};
use super::order::{EventOrder, OrderCycle};
use crate::program::{Instr, LineId, LitmusProgram, Thread, Value};
use crate::transaction::{
    Aborts, CONFLICT_STATUSES, SPURIOUS_STATUSES, TxInstr, TxRegion, is_forbidden,
};

/// An instruction: its thread, and its place there.
pub(super) type InstrPlace = (usize, usize);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AttemptEnding {
    Commits,
    /// By its own `xabort`, or an instruction that no transaction takes.
    ByItself,
    /// Right before `at`, because this access met what it had touched.
    Met {
        at: usize,
        by: InstrPlace,
        status: Value,
    },
    /// Right before `at`, for no reason.
    Spurious {
        at: usize,
        status: Value,
    },
}

/// A transaction of the program and how it ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Attempt {
    pub(super) thread: usize,
    pub(super) region: TxRegion,
    pub(super) ending: AttemptEnding,
}

impl Attempt {
    pub(super) fn commits(&self) -> bool {
        self.ending == AttemptEnding::Commits
    }

    /// Does its ending leave room for this instruction?
    fn may_do(&self, (thread, instr): InstrPlace) -> bool {
        self.thread != thread
            || !self.region.holds(instr)
            || match self.ending {
                AttemptEnding::Commits | AttemptEnding::ByItself => true,
                AttemptEnding::Met { at, .. } | AttemptEnding::Spurious { at, .. } => instr < at,
            }
    }
}

fn accesses(instr: &Instr) -> bool {
    instr.may_write() || instr.reads()
}

/// Do the values that it reads decide what it touches, or whether it goes on?
pub(super) fn values_matter(thread: &Thread, region: TxRegion) -> bool {
    thread.body[region.begin..region.end].iter().any(|instr| {
        matches!(
            instr,
            Instr::Cas { .. } | Instr::Tx(TxInstr::Abort { when: Some(_), .. })
        )
    })
}

/// All ways in which all transactions of the program may end.
pub(super) fn endings(program: &LitmusProgram) -> Vec<Vec<Attempt>> {
    let mut all: Vec<Vec<Attempt>> = vec![Vec::new()];
    for (t, thread) in program.threads.iter().enumerate() {
        for region in thread.regions() {
            let ways = ways_to_end(program, t, region);
            all = all
                .iter()
                .flat_map(|before| {
                    ways.iter().map(|&ending| {
                        let attempt = Attempt {
                            thread: t,
                            region,
                            ending,
                        };
                        before.iter().copied().chain([attempt]).collect()
                    })
                })
                .collect();
        }
    }
    all.retain(|attempts| attempts.iter().all(|a| is_of_use(program, attempts, *a)));
    all
}

fn ways_to_end(program: &LitmusProgram, t: usize, region: TxRegion) -> Vec<AttemptEnding> {
    let thread = &program.threads[t];
    let body = || region.begin + 1..region.end;
    let mut ways = vec![AttemptEnding::Commits];
    let ends_itself = |at: usize| {
        let instr = &thread.body[at];
        matches!(instr, Instr::Tx(TxInstr::Abort { .. })) || is_forbidden(instr)
    };
    if body().any(ends_itself) {
        ways.push(AttemptEnding::ByItself);
    }
    for at in region.begin + 1..=region.end {
        if program.aborts == Aborts::Spurious {
            ways.extend(SPURIOUS_STATUSES.map(|status| AttemptEnding::Spurious { at, status }));
        }
        let others = program
            .threads
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != t);
        let places = others.flat_map(|(other, code)| (0..code.body.len()).map(move |i| (other, i)));
        let may = |by: &InstrPlace| meets(program, (t, region), at, *by, Instr::may_write);
        for by in places.filter(may) {
            ways.extend(CONFLICT_STATUSES.map(|status| AttemptEnding::Met { at, by, status }));
        }
    }
    ways
}

/// Leaves out what others stand for: to run on before an abort only matters for what is touched, and for the status.
fn is_of_use(program: &LitmusProgram, attempts: &[Attempt], of: Attempt) -> bool {
    let thread = &program.threads[of.thread];
    let causes = |i: &usize| is_cause(attempts, (of.thread, *i));
    let body = of.region.begin + 1..of.region.end;
    let needed = body
        .rev()
        .find(causes)
        .map_or(of.region.begin + 1, |i| i + 1);
    let earlier = |at: usize| at > needed && thread.nested(at - 1) == thread.nested(at);
    match of.ending {
        AttemptEnding::Commits | AttemptEnding::ByItself => true,
        AttemptEnding::Spurious { at, .. } => at >= needed && !earlier(at),
        AttemptEnding::Met { at, by, .. } => {
            let surely = |i: &Instr| i.may_write() && !matches!(i, Instr::Cas { .. });
            let sooner = earlier(at) && meets(program, (of.thread, of.region), at - 1, by, surely);
            at >= needed && !sooner && attempts.iter().all(|other| other.may_do(by))
        }
    }
}

/// Does the access meet what the transaction has touched before `to`, if these instructions write?
fn meets(
    program: &LitmusProgram,
    (t, region): (usize, TxRegion),
    to: usize,
    by: InstrPlace,
    writes: impl Fn(&Instr) -> bool,
) -> bool {
    let by = &program.threads[by.0].body[by.1];
    let line = |instr: &Instr| instr.var().map(|var| program.line_of(var));
    let mut mine = program.threads[t].body[region.begin + 1..to].iter();
    accesses(by)
        && mine.any(|mine| accesses(mine) && line(mine) == line(by) && (writes(mine) || writes(by)))
}

fn is_cause(attempts: &[Attempt], place: InstrPlace) -> bool {
    attempts
        .iter()
        .any(|a| matches!(a.ending, AttemptEnding::Met { by, .. } if by == place))
}

/// An access that others' transactions may meet: when, by whom, what.
#[derive(Clone, Debug)]
struct AccessRequest {
    moment: usize,
    thread: usize,
    /// Lines, and whether they are written.
    touched: Vec<(LineId, bool)>,
    /// The store that a load may have found in its own store buffer: then it met nobody.
    forwarded: Option<usize>,
}

impl AccessRequest {
    fn meets(&self, other: &AccessRequest) -> bool {
        let meet = |a: &(LineId, bool), b: &(LineId, bool)| a.0 == b.0 && (a.1 || b.1);
        let others = &other.touched;
        let mut mine = self.touched.iter();
        self.thread != other.thread && mine.any(|a| others.iter().any(|b| meet(a, b)))
    }
}

/// One of several orders must hold.
#[derive(Clone, Debug)]
pub(super) struct OrderClause(pub(super) Vec<(usize, usize)>);

/// From its moment to its end nobody meets the request.
struct HeldRequest {
    request: AccessRequest,
    until: usize,
}

/// Orders the moments of a candidate's transactions, and says what is left to decide.
pub(super) fn moments(
    candidate: &CandidateGraph,
    attempts: &[Attempt],
    order: &mut EventOrder,
) -> Result<Vec<OrderClause>, OrderCycle> {
    let mut moments = Moments {
        candidate,
        attempts,
        requests: Vec::new(),
        held: Vec::new(),
        probes: Vec::new(),
    };
    moments.plain_accesses();
    for attempt in attempts {
        moments.probe(attempt, order)?;
    }
    for attempt in attempts {
        moments.end(attempt, order)?;
    }
    Ok(moments.clauses())
}

struct Moments<'c> {
    candidate: &'c CandidateGraph,
    attempts: &'c [Attempt],
    requests: Vec<AccessRequest>,
    held: Vec<HeldRequest>,
    /// Accesses of transactions that are causes, as moments of their own.
    probes: Vec<(InstrPlace, AccessRequest)>,
}

impl Moments<'_> {
    fn plain_accesses(&mut self) {
        for (moment, event) in self.candidate.present() {
            let inside = |a: &Attempt| a.thread == event.thread && a.region.holds(event.instr);
            if event.touch.is_some() && !self.attempts.iter().any(inside) {
                self.requests.push(AccessRequest {
                    moment,
                    thread: event.thread,
                    touched: touched([event]),
                    forwarded: own_store(self.candidate, event),
                });
            }
        }
    }

    fn id(&self, attempt: &Attempt, instr: usize) -> usize {
        self.candidate.id((attempt.thread, instr))
    }

    /// Did its thread come that far?
    fn began(&self, attempt: &Attempt) -> bool {
        let begin = self.id(attempt, attempt.region.begin);
        self.candidate.event(begin).is_some()
    }

    /// What an attempt touches before the instruction `to`.
    fn request(&self, attempt: &Attempt, to: usize, moment: usize) -> AccessRequest {
        let inside = attempt.region.begin + 1..to;
        AccessRequest {
            moment,
            thread: attempt.thread,
            touched: touched(inside.filter_map(|i| self.candidate.event(self.id(attempt, i)))),
            forwarded: None,
        }
    }

    fn probe(&mut self, attempt: &Attempt, order: &mut EventOrder) -> Result<(), OrderCycle> {
        let region = attempt.region;
        if !self.began(attempt) {
            return Ok(());
        }
        let mut earlier = self.id(attempt, region.begin);
        for i in region.begin + 1..region.end {
            if !is_cause(self.attempts, (attempt.thread, i)) {
                continue;
            }
            let moment = order.add_moment();
            order.add(earlier, moment)?;
            order.add(moment, self.own_moment(attempt))?;
            earlier = moment;
            let request = self.request(attempt, i + 1, moment);
            self.requests.push(request.clone());
            self.probes.push(((attempt.thread, i), request));
        }
        Ok(())
    }

    /// When all that it does, does.
    fn own_moment(&self, attempt: &Attempt) -> usize {
        match attempt.ending {
            AttemptEnding::Commits => self.id(attempt, attempt.region.end),
            _ => self.id(attempt, attempt.region.begin + 1),
        }
    }

    fn end(&mut self, attempt: &Attempt, order: &mut EventOrder) -> Result<(), OrderCycle> {
        let region = attempt.region;
        if !self.began(attempt) {
            return Ok(());
        }
        let own = self.request(attempt, region.end, self.own_moment(attempt));
        let mut until = own.moment;
        if let AttemptEnding::Met { by, .. } = attempt.ending {
            until = self.cause(by, &own, order)?;
            order.add(own.moment, until)?;
            order.add(until, self.id(attempt, region.end))?;
        }
        let probes = self
            .probes
            .iter()
            .filter(|((thread, i), _)| *thread == attempt.thread && region.holds(*i));
        let requests = probes.map(|(_, request)| request.clone());
        let held = requests.map(|request| HeldRequest { request, until });
        self.held.extend(held.collect::<Vec<_>>());
        if until != own.moment {
            self.held.push(HeldRequest {
                request: own.clone(),
                until,
            });
        }
        self.requests.push(own);
        Ok(())
    }

    /// The moment of the access that meets `own`.
    fn cause(
        &self,
        by: InstrPlace,
        own: &AccessRequest,
        order: &mut EventOrder,
    ) -> Result<usize, OrderCycle> {
        let id = self.candidate.id(by);
        let event = self.candidate.event(id).ok_or(OrderCycle)?;
        let probe = self.probes.iter().find(|(place, _)| *place == by);
        let alone = AccessRequest {
            moment: probe.map_or(id, |(_, request)| request.moment),
            thread: by.0,
            touched: touched([event]),
            forwarded: own_store(self.candidate, event).filter(|_| probe.is_none()),
        };
        if !alone.meets(own) {
            return Err(OrderCycle);
        }
        if let Some(store) = alone.forwarded {
            order.add(store, alone.moment)?;
        }
        Ok(alone.moment)
    }

    /// Between a request that is held and what it is held until nobody meets it.
    fn clauses(&self) -> Vec<OrderClause> {
        let mut clauses = Vec::new();
        for HeldRequest { request, until } in &self.held {
            for other in &self.requests {
                if other.moment == *until || !other.meets(request) {
                    continue;
                }
                let mut ways = vec![(other.moment, request.moment), (*until, other.moment)];
                ways.extend(other.forwarded.map(|store| (other.moment, store)));
                clauses.push(OrderClause(ways));
            }
        }
        clauses
    }
}

fn touched<'e>(events: impl IntoIterator<Item = &'e GraphEvent>) -> Vec<(LineId, bool)> {
    events
        .into_iter()
        .filter_map(|event| Some((event.line?, event.touch?)))
        .collect()
}

/// The earlier store of its own thread that a plain load reads.
fn own_store(candidate: &CandidateGraph, event: &GraphEvent) -> Option<usize> {
    let (ReadSource::Write(write), _) = event.read? else {
        return None;
    };
    let own = candidate.event(write)?;
    let waits = own.thread == event.thread && own.is_buffered() && event.written.is_none();
    waits.then_some(write)
}
