//! Saturation of race sites: begin with synchronisation as the only scheduling points, add the instructions that race,
//! repeat until there is no new one. What is found is what preempting at every shared access finds, at less cost
//! (docs/design/algorithms.md §3).
//!
//! Critical sections are single transitions at first ([`Points::Sections`]); a lock of which one is not, because something else in it is
//! visible, or somebody could see the lock held, is found out in the same way, and taken and given back in two transitions from then on. What a
//! section accesses may depend on others; where that is noticed for the first time the search starts over, too.
//!
//! So it is with what turns of loops leave behind ([`Leftovers`]): it counts at first.
//!
//! Why it is enough: an access that is no point is ordered, by what the points order, with every access it conflicts
//! with, in every execution of the last round. Moving it to its place among the points of its thread changes nothing.

use super::explored::Explored;
use super::search::{Counts, Options, Search};
use super::section::UsualSections;
use super::sharing::Sharing;
use super::step::{Access, Act, Process, Step};
use super::symmetry::Apart;
use super::sync::Op;
use super::threads::{Leftovers, Points, Threads, ThreadsError};
use super::trace::{End, Trace, Trailing};
use std::ops::ControlFlow;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Preempt {
    /// Only at synchronisation. That is all there is to see of a program without data races; with one, what its threads do
    /// between two points depends on each other, and the search ends there.
    Sync,
    #[default]
    Auto,
    Everywhere,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Saturated {
    /// Of the last round, which is the whole search.
    pub counts: Counts,
    pub rounds: u32,
    /// It ended because there was no more time ([`Threads::stopped`]).
    pub stopped: bool,
    /// Executions of the rounds before it.
    pub abandoned: u64,
    /// The plain accesses that became scheduling points; or, with [`Preempt::Sync`], that would have to be.
    pub sites: Vec<u32>,
    /// Locks whose critical sections are not single transitions.
    pub locks: Vec<u32>,
}

impl Saturated {
    /// The scheduling points of that search, every lock and unlock among them.
    pub fn points(&self, preempt: Preempt) -> Points {
        match preempt {
            Preempt::Sync => Points::Sites(Vec::new()),
            Preempt::Auto => Points::Sites(self.sites.clone()),
            Preempt::Everywhere => Points::Everywhere,
        }
    }
}

/// A lock whose critical sections are not single transitions is found soon, or none is from then on: to start over again and again would cost more
/// than it saves.
const FEW: u64 = 512;
/// So is one whose sections do not always access the same, but for a few times.
const MOST_LATE: u32 = 4;

/// Searches with the scheduling points that `preempt` asks for. `visit` sees executions of abandoned rounds too: they are
/// executions of the program. The search it gets has the last execution and its happens-before; of the one that ends a
/// round, that is not all that happens before what ([`Search::racy`]).
pub fn saturate<T: Threads>(
    threads: &mut T,
    preempt: Preempt,
    options: Options,
    visit: impl FnMut(&T, &Search) -> ControlFlow<()>,
) -> Result<Saturated, ThreadsError> {
    let found = search_rounds(threads, preempt, options, visit);
    // Nobody else would start over.
    threads.overlook_leftovers(false);
    found
}

fn search_rounds<T: Threads>(
    threads: &mut T,
    preempt: Preempt,
    options: Options,
    mut visit: impl FnMut(&T, &Search) -> ControlFlow<()>,
) -> Result<Saturated, ThreadsError> {
    let mut options = options;
    let mut result = Saturated::default();
    let mut sharing = Sharing::default();
    let mut apart = Apart::default();
    // Critical sections are several transitions each.
    let mut in_parts = false;
    let mut usual = UsualSections::default();
    let mut grown_late = 0;
    let mut overlook = false;
    loop {
        let (mut fresh, mut late) = (false, false);
        let symmetry = options.symmetry;
        result.rounds += 1;
        let points = match preempt {
            Preempt::Everywhere => Points::Everywhere,
            Preempt::Sync | Preempt::Auto if in_parts => Points::Sites(result.sites.clone()),
            Preempt::Sync | Preempt::Auto => Points::Sections {
                sites: result.sites.clone(),
                locks: result.locks.clone(),
            },
        };
        threads.preempt_at(&points);
        threads.overlook_leftovers(overlook);
        let mut search = Search::with(threads, options, apart)?;
        *search.trace.sets.usual_sections() = std::mem::take(&mut usual);
        search.points = points;
        while !fresh && !search.broken {
            match search.next(threads) {
                Ok(true) => {}
                Ok(false) => break,
                Err(ThreadsError::Stopped) => {
                    result.stopped = true;
                    result.counts = search.counts;
                    return Ok(result);
                }
                // What it left out is there after all.
                Err(ThreadsError::Diverged { .. })
                    if threads.leftovers() == Some(Leftovers::Wrong) =>
                {
                    search.broken = true;
                    break;
                }
                // A transaction, or a section, was taken for what it does elsewhere.
                Err(ThreadsError::Diverged { .. }) if search.sections_grow() => {
                    search.broken = true;
                    break;
                }
                // Threads that were taken for each other are not the same after all.
                Err(ThreadsError::Diverged { .. }) if search.is_symmetric() => {
                    options.symmetry = false;
                    fresh = true;
                    break;
                }
                Err(error) => return Err(error),
            }
            search.racy = search.broken;
            if preempt != Preempt::Everywhere
                && !search.trace().trailing.is_empty()
                && sharing.of_plain(search.trace(), search.order())
            {
                fresh = add_racing(&search, &mut result.sites);
                search.racy |= fresh;
            }
            let beside = beside_transactions(search.trace());
            let broken =
                add(&search.trace().broken, &mut result.locks) | add(&beside, &mut result.locks);
            late |= broken && search.counts.executions > FEW;
            let grown = search.sections_grow();
            if grown && search.counts.executions > FEW {
                grown_late += 1;
                late |= grown_late > MOST_LATE;
            }
            let broken = broken || grown;
            let leftovers = match threads.leftovers() {
                Some(Leftovers::Some) => !std::mem::replace(&mut overlook, true),
                Some(Leftovers::Wrong) => true,
                None => false,
            };
            search.broken |= broken || leftovers;
            search.racy |= broken || leftovers;
            // Where not all is known that happens before what, it is not known either who can have made a conflict.
            let doubtful = search.racy && !search.trace().attempts.is_empty();
            if doubtful || matches!(search.trace().end, End::Asleep | End::Unfounded) {
                continue;
            }
            if visit(threads, &search).is_break() {
                result.counts = search.counts;
                return Ok(result);
            }
        }
        apart = search.apart();
        usual = std::mem::take(search.trace.sets.usual_sections());
        let broken = search.broken || options.symmetry != symmetry;
        if !broken && !fresh || fresh && preempt == Preempt::Sync && options.symmetry == symmetry {
            result.counts = search.counts;
            return Ok(result);
        }
        result.abandoned += search.counts.executions;
        in_parts |= late;
    }
}

/// Locks of which a critical section and a hardware transaction of another thread access the same, one of them writing: the lock keeps the
/// transaction away from nothing, so what is in the section is not one transition for it.
fn beside_transactions(trace: &Trace) -> Vec<u32> {
    let mut locks = Vec::new();
    if !trace.sets.have_transactions() {
        return locks;
    }
    let transactions = || trace.steps.iter().filter(|s| s.act == Act::Transaction);
    let sections = trace.steps.iter();
    for section in sections.filter(|s| s.act == Act::Sync(Op::Section)) {
        let meets =
            |t: &Step| t.process != section.process && trace.sets.share_accesses(t, section);
        if transactions().any(meets) {
            locks.push(section.object);
        }
    }
    locks
}

/// Adds the plain accesses of the last execution that race and are no scheduling points; is one of them new?
pub fn add_racing(search: &dyn Explored, sites: &mut Vec<u32>) -> bool {
    let mut fresh = false;
    unordered(search, |first, second| {
        fresh |= add(&[first, second], sites);
    });
    fresh
}

/// Adds numbers to others, ascending; is one of them new?
fn add(numbers: &[u32], to: &mut Vec<u32>) -> bool {
    let before = to.len();
    for &number in numbers {
        if let Err(at) = to.binary_search(&number) {
            to.insert(at, number);
        }
    }
    to.len() > before
}

/// An access of the last execution, be it a transition or none.
#[derive(Clone, Copy, Debug)]
struct RaceSites<'a> {
    thread: usize,
    /// From which tick of its process on others know of it.
    process: Process,
    known_from: u32,
    object: u32,
    mask: u64,
    write: bool,
    site: u32,
    trailing: Option<&'a Trailing>,
    at: usize,
}

/// Pairs of conflicting accesses of which one was no scheduling point and which nothing orders, by their sites.
fn unordered(search: &dyn Explored, mut found: impl FnMut(u32, u32)) {
    let trace = search.trace();
    if trace.trailing.is_empty() {
        return;
    }
    let order = search.order();
    let mut seen: Vec<RaceSites<'_>> = Vec::new();
    // What one thread does alone comes before all that others do.
    let alone = trace.alone();
    let first = trace.not_alone(&trace.trailing, |access| access.after);
    let mut rest = trace.trailing[first..].iter().peekable();
    let trailing = |trailing| -> RaceSites<'_> {
        let access: &Trailing = trailing;
        RaceSites {
            thread: access.thread.into(),
            process: access.thread,
            known_from: access.tick + u32::from(!access.within),
            object: access.object,
            mask: access.mask,
            write: access.write,
            site: access.site,
            trailing: Some(access),
            at: 0,
        }
    };
    for (at, step) in trace.steps.iter().enumerate().skip(alone) {
        while let Some(access) =
            rest.next_if(|access| access.after == u32::MAX || (access.after as usize) < at)
        {
            seen.push(trailing(access));
        }
        if matches!(step.access, Access::Read | Access::Write) {
            seen.push(RaceSites {
                thread: order.thread(step.process),
                process: step.process,
                known_from: step.tick,
                object: step.object,
                mask: step.mask,
                write: step.access == Access::Write,
                site: step.site,
                trailing: None,
                at,
            });
        }
    }
    seen.extend(rest.map(trailing));
    seen.sort_by_key(|access| access.object);
    let steps_of = StepsOf::new(&trace.steps, alone);
    let mut clock = Vec::new();
    // Of accesses that are alike, the last: if it is known, so are those before it. A loop may have made thousands.
    let mut earlier: Vec<RaceSites<'_>> = Vec::new();
    for group in seen.chunk_by(|a, b| a.object == b.object) {
        earlier.clear();
        for (index, second) in group.iter().enumerate() {
            if let Some(before) = index.checked_sub(1) {
                let before = group[before];
                match earlier.iter_mut().find(|other| other.is_like(&before)) {
                    Some(other) => other.known_from = other.known_from.max(before.known_from),
                    None => earlier.push(before),
                }
            }
            let concerns = |first: &&RaceSites<'_>| {
                first.thread != second.thread
                    && (first.write || second.write)
                    && first.mask & second.mask != 0
                    && (first.trailing.is_some() || second.trailing.is_some())
            };
            let mut firsts = earlier.iter().filter(concerns).peekable();
            if firsts.peek().is_none() {
                continue;
            }
            match second.trailing {
                None => {
                    clock.clear();
                    clock.extend_from_slice(search.clock(second.at));
                }
                Some(access) => knowledge(search, &steps_of, access, &mut clock),
            }
            for first in firsts {
                if clock.get(usize::from(first.process)).copied().unwrap_or(0) < first.known_from {
                    found(first.site, second.site);
                }
            }
        }
    }
}

impl RaceSites<'_> {
    /// Does the same race with it as with the other, as far as it is not known?
    fn is_like(&self, other: &Self) -> bool {
        (self.process, self.site, self.mask, self.write)
            == (other.process, other.site, other.mask, other.write)
            && self.trailing.is_some() == other.trailing.is_some()
    }
}

/// Where in a trace the steps of each process are, with their ticks, which ascend.
struct StepsOf(Vec<Vec<(u32, usize)>>);

impl StepsOf {
    /// From this step on.
    fn new(steps: &[Step], from: usize) -> Self {
        let processes = steps[from..]
            .iter()
            .map(|step| usize::from(step.process) + 1)
            .max();
        let mut of = vec![Vec::new(); processes.unwrap_or(0)];
        for (at, step) in steps.iter().enumerate().skip(from) {
            of[usize::from(step.process)].push((step.tick, at));
        }
        Self(of)
    }

    /// The last one of a process up to a tick.
    fn last(&self, process: Process, tick: u32) -> Option<usize> {
        let steps = self.0.get(usize::from(process))?;
        let after = steps.partition_point(|&(of, _)| of <= tick);
        Some(steps[after.checked_sub(1)?].1)
    }
}

/// What happens before an access that was no transition.
fn knowledge(search: &dyn Explored, steps: &StepsOf, access: &Trailing, clock: &mut Vec<u32>) {
    let any = search.trace().steps.first();
    let width = any.map_or(0, |_| search.clock(0).len());
    clock.clear();
    clock.resize(width.max(search.order().processes()), 0);
    let mut learn = |process: Process, tick: u32| {
        if let Some(last) = steps.last(process, tick) {
            for (mine, &theirs) in clock.iter_mut().zip(search.clock(last)) {
                *mine = theirs.max(*mine);
            }
        }
        clock[usize::from(process)] = tick.max(clock[usize::from(process)]);
    };
    learn(access.thread, access.tick);
    for (process, tick) in access.need {
        if tick != 0 {
            learn(process, tick);
        }
    }
    for &(process, tick) in search.trace().sets.joined(access.joined) {
        learn(process, tick);
    }
}
