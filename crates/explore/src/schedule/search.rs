//! Optimal dynamic partial order reduction (Abdulla, Aronis, Jonsson, Sagonas: "Source Sets: A Foundation for Optimal
//! Dynamic Partial Order Reduction", JACM 2017, Algorithm 2): one maximal execution per Mazurkiewicz trace, and none that
//! a sleep set cuts short.
//!
//! The search holds one path. After each execution it looks at the races whose second transition is new, and for each
//! puts the execution that reverses it into the wakeup tree of the state before the first one, unless something that
//! sleeps there shows it already. Then it goes back to the deepest state with a branch left.
//!
//! Departures from the paper, each held by the comparison with brute force in `tests/schedule_random.rs`:
//! 1. A race within the part that two executions share is looked at once if what shows its reversal begins with a
//!    transition of the shared part, and nobody sleeps behind that: every execution that reverses the race can begin with it,
//!    and all of them are explored there. Where somebody sleeps, each execution may have something of its own to put there.
//! 2. The moved transition of a race is known before it is executed: a compare-and-swap succeeds or fails by what the first
//!    transition of the race found there.
//! 3. Locks, spinning threads and other waits: the race is with the newest transition before which the wait could have
//!    ended; a transition that never became possible takes part as well. Readers under a lock do not come in any order: a
//!    writer races with each, and where it can only come before several of them, the reversal leaves all of those out.

mod ahead;
mod alike;
mod foresee;

use super::conflicts;
use super::estimate::Estimate;
use super::happens::{Happens, Race};
use super::step::{Access, Act, Order, Persistency, Process, Step};
use super::symmetry::{Apart, Symmetry};
use super::sync::ALL;
use super::threads::{AskEvery, Job, Points, Threads, ThreadsError};
use super::trace::{End, Trace, Wait};
use super::wakeup::{Inserted, MOVED, NIL, Sequence, SequencePlace, Wakeup, place};
use ahead::AskedAhead;
use foresee::Foresight;
use std::ops::ControlFlow;

#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub persistency: Persistency,
    /// Transitions in one execution.
    pub limit: usize,
    /// Executions in all.
    pub executions: u64,
    /// Explore executions that differ only in which of several threads that are alike did what once.
    pub symmetry: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            persistency: Persistency::Ignored,
            limit: 100_000,
            executions: u64::MAX,
            symmetry: false,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Executions that ended, well or in a deadlock.
    pub executions: u64,
    pub deadlocks: u64,
    /// How many there would be if threads that are alike were told apart: each stands for its renamings.
    pub stand_for: u64,
    /// Executions that an assumption ended.
    pub assumed: u64,
    /// Executions that ended because all that could go on was asleep: they repeat others. There should be none.
    pub blocked: u64,
    /// Beginnings of executions, in which a thread went through a turn of a loop in vain ([`End::InVain`]).
    pub in_vain: u64,
    /// What is none, because nobody made the conflict that aborted a transaction ([`End::Unfounded`]).
    pub unfounded: u64,
    /// Those of them of which it was not decided.
    pub undecided: u64,
    /// Executions that are like one before: of a search by reads-from, which does not always know in time.
    pub repeated: u64,
    /// Executions that were stopped by the limit of transitions.
    pub cut: u64,
    /// Executions in which something failed.
    pub failing: u64,
    /// Transitions executed anew, and all.
    pub fresh: u64,
    pub steps: u64,
    pub races: u64,
    /// Runs that only showed what a critical section accesses in another place.
    pub tried_out: u64,
    /// The whole space was searched.
    pub complete: bool,
}

/// Need a race be looked at again in executions that share it?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Settled {
    /// No: what shows its reversal begins with something that all their reversals can begin with.
    ForGood,
    /// What shows its reversal here may not show theirs.
    ForNow,
}

/// A state on the current path.
#[derive(Clone, Copy, Debug)]
struct SearchFrame {
    /// Where its sleepers begin; they end where the next frame's begin.
    sleep: u32,
    /// Where those begin that were explored from here; and their pasts, where threads are alike.
    own: u32,
    pasts: u32,
    /// The first branch that is still to be explored.
    branch: u32,
}

#[derive(Debug)]
pub struct Search {
    order: Order,
    options: Options,
    happens: Happens,
    wakeup: Wakeup,
    pub(super) trace: Trace,
    frames: Vec<SearchFrame>,
    sleepers: Vec<Step>,
    follow: Vec<Process>,
    /// Who made each transition of the last execution.
    made_by: Vec<Process>,
    races: Vec<Race>,
    sequence: Vec<u32>,
    /// What is taken away for the reversal of a race.
    without: Vec<u32>,
    ticks: Vec<u32>,
    ahead: AskedAhead,
    symmetry: Symmetry,
    /// The pasts of what was explored from states on the path.
    pasts: Vec<u32>,
    /// Threads that were taken to be alike are not: the search says nothing, and has to start over with [`Search::apart`].
    pub broken: bool,
    /// Which plain accesses are scheduling points in it: a schedule means something only with them.
    pub points: Points,
    /// In the last execution, accesses that are no scheduling points race: clocks do not know of all that happens before what, so
    /// no power failure may be looked for in it. It is executed again, with more points.
    pub racy: bool,
    /// The transition that was moved last is a critical section that does not always access the same.
    varies: bool,
    foresight: Foresight,
    /// Transitions of the first execution with which all others begin.
    pub(super) shared: Option<usize>,
    pub counts: Counts,
    pub estimate: Estimate,
}

/// Explores everything, showing each execution to `visit`.
pub fn search<T: Threads>(
    threads: &mut T,
    options: Options,
    mut visit: impl FnMut(&T, &Trace) -> ControlFlow<()>,
) -> Result<Counts, ThreadsError> {
    let mut search = Search::new(threads, options)?;
    while search.next(threads)? {
        if search.broken {
            search = Search::with(threads, options, search.apart())?;
            continue;
        }
        // An execution that was cut short is no execution of the program.
        if matches!(search.trace().end, End::Asleep | End::Unfounded) {
            continue;
        }
        if visit(threads, search.trace()).is_break() {
            return Ok(search.counts);
        }
    }
    Ok(search.counts)
}

impl Search {
    pub fn new<T: Threads>(threads: &T, options: Options) -> Result<Search, ThreadsError> {
        Search::with(threads, options, Apart::default())
    }

    /// A search that knows who is not alike.
    pub fn with<T: Threads>(
        threads: &T,
        options: Options,
        apart: Apart,
    ) -> Result<Search, ThreadsError> {
        let count = threads.threads();
        let order = threads.order(options.persistency);
        let processes = match threads.buffered() {
            true => order.processes(),
            false => count,
        };
        Ok(Search {
            order,
            options,
            happens: Happens::new(order, processes),
            wakeup: Wakeup::default(),
            trace: Trace::default(),
            frames: vec![SearchFrame {
                sleep: 0,
                own: 0,
                pasts: 0,
                branch: NIL,
            }],
            sleepers: Vec::new(),
            follow: Vec::new(),
            made_by: Vec::new(),
            races: Vec::new(),
            sequence: Vec::new(),
            without: Vec::new(),
            ticks: Vec::new(),
            ahead: AskedAhead::default(),
            symmetry: Symmetry::new(order, processes, options.symmetry, apart),
            pasts: Vec::new(),
            broken: false,
            points: Points::default(),
            racy: false,
            varies: false,
            foresight: Foresight::default(),
            shared: None,
            counts: Counts::default(),
            estimate: Estimate::default(),
        })
    }

    /// Are there threads that it takes for each other?
    pub fn is_symmetric(&self) -> bool {
        self.symmetry.is_on()
    }

    /// Who is known not to be alike.
    pub fn apart(&self) -> Apart {
        self.symmetry.apart.clone()
    }

    pub fn order(&self) -> Order {
        self.order
    }

    /// The last execution.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Happens-before of the last execution: for transition `at`, the tick up to which each process happens before it.
    pub fn clock(&self, at: usize) -> &[u32] {
        self.happens.clock(at)
    }

    /// Runs the next execution; `false` if there is none, or no more are wanted.
    pub fn next<T: Threads>(&mut self, threads: &mut T) -> Result<bool, ThreadsError> {
        if self.counts.complete
            || self.counts.executions
                + self.counts.assumed
                + self.counts.blocked
                + self.counts.in_vain
                + self.counts.unfounded
                >= self.options.executions
        {
            return Ok(false);
        }
        let keep = if self.estimate.started() {
            self.find_out(threads)?;
            match self.backtrack() {
                Some(keep) => {
                    self.shared = Some(self.shared.map_or(keep, |shared| shared.min(keep)));
                    keep
                }
                None => {
                    self.counts.complete = self.counts.cut == 0;
                    return Ok(false);
                }
            }
        } else {
            0
        };
        self.descend(keep);
        let job = Job {
            follow: &self.follow,
            keep,
            sleep: &self.sleepers[self.frames[keep].sleep as usize..],
            order: self.order,
            limit: self.options.limit,
        };
        self.trace.restart(keep);
        match self.ahead.number.take() {
            Some(number) => threads.run_ahead(number, &job, &mut self.trace)?,
            None => threads.run(&job, &mut self.trace)?,
        }
        self.absorb(keep, threads)?;
        self.ask_ahead(threads);
        Ok(true)
    }

    /// Goes back to the deepest state with a branch left; returns its depth.
    fn backtrack(&mut self) -> Option<usize> {
        let mut depth = self.frames.len() - 1;
        while self.frames[depth].branch == NIL {
            self.estimate.leave(depth);
            depth = depth.checked_sub(1)?;
        }
        self.happens.truncate(&self.trace.steps, depth);
        let on = self.symmetry.is_on();
        // What was explored from here sleeps from now on.
        if depth + 1 < self.frames.len() {
            self.sleepers
                .truncate(self.frames[depth + 1].sleep as usize);
            if on {
                let width = self.symmetry.width();
                self.pasts
                    .truncate(self.frames[depth + 1].pasts as usize * width);
                self.pasts.extend_from_slice(self.symmetry.row(depth));
            }
            self.frames.truncate(depth + 1);
            self.sleepers.push(self.trace.steps[depth]);
        }
        if on {
            self.symmetry.truncate(&self.trace.steps, depth);
        }
        Some(depth)
    }

    /// Takes the first branch at depth `keep`, and whatever its tree says follows.
    fn descend(&mut self, keep: usize) {
        self.follow.clear();
        self.follow.extend_from_slice(&self.made_by[..keep]);
        let mut node = self.frames[keep].branch;
        while node != NIL {
            let taken = self.wakeup.release(node);
            self.ahead.number = taken.asked_for();
            self.follow.push(self.wakeup.step(node).process);
            let top = self.frames.len() - 1;
            self.frames[top].branch = taken.sibling;
            // The sleepers of the states below are known once these transitions are executed.
            self.frames.push(SearchFrame {
                sleep: 0,
                own: 0,
                pasts: 0,
                branch: taken.child,
            });
            node = taken.child;
        }
        // The state where the tree ends has no branch of its own yet.
        if let Some(last) = self.frames.last_mut() {
            last.branch = NIL;
        }
    }

    /// Takes in what was executed from depth `keep` on.
    fn absorb<T: Threads>(&mut self, keep: usize, threads: &T) -> Result<(), ThreadsError> {
        let length = self.trace.steps.len();
        self.made_by.truncate(keep);
        let new = self.trace.steps[keep..].iter();
        self.made_by.extend(new.map(|step| step.process));
        // Races of the part that stays, unless they are settled for good.
        self.races.retain(|race| (race.second as usize) < keep);
        let mut begin = self.frames[keep].sleep as usize;
        self.broken = self.symmetry.look(&self.trace);
        let pasts = match self.symmetry.is_on() {
            true => (self.pasts.len() / self.symmetry.width().max(1)) as u32,
            false => 0,
        };
        let mut patience = AskEvery::default();
        for at in keep..length {
            patience.works(64, threads);
            if patience.ended {
                return Err(ThreadsError::Stopped);
            }
            self.happens
                .push(&self.trace.steps, at, &self.trace.sets, &mut self.races);
            let step = self.trace.steps[at];
            let end = self.sleepers.len();
            let ticks = self.happens.ticks_before(at);
            for index in begin..end {
                let mut sleeper = self.sleepers[index];
                if !self
                    .order
                    .wakes(&sleeper, &step, &self.trace.sets, |p| ticks[p as usize])
                {
                    sleeper.sees(&step);
                    self.sleepers.push(sleeper);
                }
            }
            begin = end;
            let own = self.sleepers.len() as u32;
            match self.frames.get_mut(at + 1) {
                Some(frame) => (frame.sleep, frame.own, frame.pasts) = (end as u32, own, pasts),
                None => self.frames.push(SearchFrame {
                    sleep: end as u32,
                    own,
                    pasts,
                    branch: NIL,
                }),
            }
        }
        // Where it ended before all that was asked for, as by a fault, nothing goes on from there, whoever were to.
        for frame in &mut self.frames[length..] {
            frame.branch = NIL;
        }
        self.remember_sections();
        let founded = conflicts::are_founded(&self.trace, self.order, |at| self.happens.clock(at));
        self.counts.undecided += u64::from(founded.is_none());
        if self.trace.end != End::Asleep && founded != Some(true) {
            self.trace.end = End::Unfounded;
            self.trace.failures.clear();
        }
        let mut renamed = 1;
        if self.symmetry.is_on() && !self.broken {
            self.symmetry.extend(&self.trace.steps, &self.happens);
            renamed = self.symmetry.stands_for(&self.trace.steps);
        }
        let counts = &mut self.counts;
        if matches!(self.trace.end, End::Complete | End::Deadlock | End::Limit) {
            counts.stand_for = counts.stand_for.saturating_add(renamed);
        }
        counts.fresh += (length - keep) as u64;
        counts.steps += length as u64;
        match self.trace.end {
            End::Asleep => counts.blocked += 1,
            End::InVain => counts.in_vain += 1,
            End::Unfounded => counts.unfounded += 1,
            End::Complete => counts.executions += 1,
            End::Assumed => counts.assumed += 1,
            End::Deadlock => {
                counts.executions += 1;
                counts.deadlocks += 1;
            }
            End::Limit => {
                counts.executions += 1;
                counts.cut += 1;
            }
        }
        counts.failing += u64::from(!self.trace.failures.is_empty());
        if self.broken {
            return Ok(());
        }
        for number in 0..self.trace.blocked.len() {
            if let Wait::Step(step) = self.trace.blocked[number] {
                self.happens.pending(
                    &self.trace.steps,
                    &step,
                    number,
                    &self.trace.sets,
                    &mut self.races,
                );
            }
        }
        self.estimate.begin(
            keep,
            length,
            |depth| self.frames[depth].branch,
            &self.wakeup,
        );
        self.counts.races += self.races.len() as u64;
        self.note_broken_sections();
        let mut races = std::mem::take(&mut self.races);
        let mut patience = AskEvery::default();
        races.retain(|&race| {
            patience.works(length - race.first as usize, threads);
            patience.ended || self.reverse(race) == Settled::ForNow
        });
        self.races = races;
        self.estimate.end();
        self.broken = self.symmetry.is_wrong();
        match patience.ended {
            true => Err(ThreadsError::Stopped),
            false => Ok(()),
        }
    }

    /// Did some critical section access something else than ever before?
    pub(super) fn sections_grow(&mut self) -> bool {
        let mut usual = std::mem::take(self.trace.sets.usual_sections());
        usual.rename(self);
        let grown = usual.take_growth();
        *self.trace.sets.usual_sections() = usual;
        grown
    }

    /// A critical section races with something else that is done to its lock, such as destroying it: that could also come in its middle.
    fn note_broken_sections(&mut self) {
        let Trace { steps, broken, .. } = &mut self.trace;
        for race in &self.races {
            let (Some(first), Some(second)) = (
                steps.get(race.first as usize),
                steps.get(race.second as usize),
            ) else {
                continue;
            };
            if (first.section == 0) != (second.section == 0)
                && first.object == second.object
                && !broken.contains(&first.object)
            {
                broken.push(first.object);
            }
        }
    }

    /// The second transition of a race, as it will be where the first one has not happened. Puts into `without` what must not
    /// have happened either.
    fn moved(&mut self, race: Race) -> Step {
        let steps = &self.trace.steps;
        let mut step = match steps.get(race.second as usize) {
            Some(step) => *step,
            None => match self.trace.blocked[race.second as usize - steps.len()] {
                Wait::Step(step) => step,
                Wait::Join { .. } | Wait::Barrier { .. } => Step::NOTHING,
            },
        };
        self.without.clear();
        self.without.push(race.first);
        if step.section != 0 {
            return step;
        }
        let first = &steps[race.first as usize];
        let Some(touch) = first.touch(step.object) else {
            return step;
        };
        match step.act {
            // It finds what it found, but for bytes that the first one stored: no other store to them can lie between the two.
            Act::Cas if first.access != Access::Write || first.mask & step.mask == 0 => {}
            Act::Cas => {
                // Of more than a word a digest is known; a write is a guess then.
                let fails = match found_without(&step, first) {
                    Some(found) => found != step.expect,
                    None => first.mask == step.mask && first.found != step.expect,
                };
                step.access = if fails { Access::Read } else { Access::Write };
            }
            Act::Sync(op) => {
                let mut word = Some(touch.found);
                if touch.mask != ALL {
                    let end = steps.len().min(race.second as usize);
                    let without = &mut self.without;
                    word = (self.happens).word_without(
                        steps,
                        race.first as usize,
                        end,
                        &step,
                        without,
                    );
                }
                if let Some(word) = word {
                    let member = op.member(&step);
                    (step.access, step.mask) = op.footprint(member, word);
                }
            }
            _ => {}
        }
        step
    }

    /// Puts all that need not come after the first transition of a race into `sequence`, but for the second: how much of it comes before that.
    fn put_before(&mut self, race: Race) -> usize {
        let depth = race.first as usize;
        let length = self.trace.steps.len();
        let second = length.min(race.second as usize);
        let rest = second.min(length - 1) + 1..length;
        let (steps, without) = (&self.trace.steps, &self.without);
        self.sequence.clear();
        (self.happens).not_after(steps, without, depth + 1..second, &mut self.sequence);
        let shared = self.sequence.len();
        (self.happens).not_after(steps, without, rest, &mut self.sequence);
        shared
    }

    /// Sees to it that some execution has the race the other way round.
    fn reverse(&mut self, race: Race) -> Settled {
        let depth = race.first as usize;
        let mut moved = self.moved(race);
        let mut shared = self.put_before(race);
        let sets = &self.trace.sets;
        self.varies = moved.section != 0 && sets.varies(&moved)
            || sets.is_decided_by(&moved, &self.trace.steps[depth]);
        if self.varies {
            // What it accesses there may be what comes later accesses as well.
            let Some(does) = self.foresee(depth, &moved) else {
                self.foresight.unknown.push(race);
                return Settled::ForNow;
            };
            moved = does.of(&moved);
            self.sequence.push(MOVED);
        } else if self.is_another(race, &moved) {
            // It is in conflict with what a transaction of the first one's thread has read, and was not.
            self.varies = true;
            self.sequence.push(MOVED);
        } else {
            self.sequence.insert(shared, MOVED);
            shared += 1;
        }
        let happens = &self.happens;
        let of = Sequence {
            steps: &self.trace.steps,
            moved: &moved,
            from: depth,
        };
        self.ticks.clear();
        self.ticks.extend_from_slice(happens.ticks_before(depth));
        let sets = &self.trace.sets;
        let asleep = self.frames[depth].sleep as usize..self.frames[depth + 1].sleep as usize;
        for sleeper in &self.sleepers[asleep] {
            match place(
                sleeper,
                &self.sequence,
                of,
                &self.order,
                sets,
                &mut self.ticks,
            ) {
                SequencePlace::Elsewhere => {}
                SequencePlace::At(index) if index < shared => return Settled::ForGood,
                _ => return Settled::ForNow,
            }
        }
        if self.symmetry.is_on() {
            return self.reverse_renamed(depth, shared, &moved);
        }
        let frame = &mut self.frames[depth];
        let inserted = self.wakeup.insert(
            &mut frame.branch,
            &mut self.sequence,
            of,
            &self.order,
            sets,
            &self.ticks,
        );
        if inserted == Inserted::AtRoot {
            self.estimate.mark(depth);
            self.foresight.leaf = self.wakeup.newest();
        }
        match inserted {
            // In another execution something else may come before it, and in another order.
            _ if self.varies => Settled::ForNow,
            Inserted::AtRoot if self.is_alone(depth, None) => Settled::ForGood,
            Inserted::Under(root, SequencePlace::At(index))
                if index < shared && self.is_alone(depth, Some(root)) =>
            {
                Settled::ForGood
            }
            Inserted::AtRoot | Inserted::Under(..) => Settled::ForNow,
        }
    }

    /// Does nobody sleep behind this branch of a state, or behind its last one? Then all that begins with it is explored behind it. Where somebody sleeps,
    /// some of that is found only by what other executions put there: those that begin with who sleeps, up to what wakes them.
    fn is_alone(&self, depth: usize, branch: Option<u32>) -> bool {
        let wakes = |asleep: &Step, by: &Step| {
            let ticks = self.happens.ticks_before(depth);
            let committed = |process: Process| ticks[process as usize];
            self.order.wakes(asleep, by, &self.trace.sets, committed)
        };
        let mut before = Vec::new();
        let mut node = self.frames[depth].branch;
        while node != NIL && branch != Some(node) {
            before.push(node);
            node = self.wakeup.node(node).sibling;
        }
        let Some(branch) = branch.or_else(|| before.pop()) else {
            return false;
        };
        let by = self.wakeup.step(branch);
        let asleep = self.frames[depth].sleep as usize..self.frames[depth + 1].sleep as usize;
        self.sleepers[asleep].iter().all(|asleep| wakes(asleep, by))
            && wakes(&self.trace.steps[depth], by)
            && { before.iter() }.all(|&node| wakes(self.wakeup.step(node), by))
    }
}

impl Search {
    /// Beside transactions: does a transition read where it is and write where it is moved to?
    fn is_another(&self, race: Race, moved: &Step) -> bool {
        let second = self.trace.steps.get(race.second as usize);
        moved.act == Act::Cas
            && self.trace.sets.have_transactions()
            && second.is_some_and(|second| second.access != moved.access)
    }
}

/// What a compare-and-swap would find had a store to some of its bytes not happened.
fn found_without(swap: &Step, store: &Step) -> Option<u64> {
    let is_word = |step: &Step| step.mask.count_ones() <= 8;
    if !is_word(swap) || !is_word(store) {
        return None;
    }
    let (mut found, old) = (swap.found.to_le_bytes(), store.found.to_le_bytes());
    let (first, begin) = (swap.mask.trailing_zeros(), store.mask.trailing_zeros());
    for (at, byte) in (first..).zip(&mut found[..swap.mask.count_ones() as usize]) {
        if store.mask >> at & 1 != 0 {
            *byte = old[(at - begin) as usize];
        }
    }
    Some(u64::from_le_bytes(found))
}
