//! Happens-before of the current execution, and its races.
//!
//! Clocks lie in one flat array, one row per transition; going back to an earlier state cuts the tail off. The direct
//! predecessors of a transition are found through the list of earlier accesses to its object, newest first, so a
//! predecessor that is already covered by a newer one is no race.

use super::step::{Access, Order, Persistency, Process, Sets, Step, Touch, Until};
use super::sync::ALL;
use std::ops::Range;

const NONE: u32 = u32::MAX;

/// Two transitions that depend on each other directly and could have come in the other order. The second may be one
/// that waits still: indices from the length of the execution on stand for those.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Race {
    pub first: u32,
    pub second: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Happens {
    order: Order,
    width: usize,
    /// Row `i`: for each process, the tick up to which its transitions happen before transition `i` (or are it).
    clocks: Vec<u32>,
    /// Row `i`: for each process, the tick it has come to before transition `i`.
    ticks: Vec<u32>,
    /// Per transition: the previous one on the same object, and of the same process.
    links: Vec<(u32, u32)>,
    newest_on: Vec<u32>,
    newest_of: Vec<u32>,
    now: Vec<u32>,
    row: Vec<u32>,
    bare: Vec<u32>,
    direct: Vec<u32>,
    raced: Vec<u32>,
    /// What ends a wait counts as a race with it, and so does who arrives last at a barrier.
    waits: bool,
}

impl Happens {
    pub(super) fn new(order: Order, processes: usize) -> Happens {
        Happens {
            order,
            width: processes,
            clocks: Vec::new(),
            ticks: Vec::new(),
            links: Vec::new(),
            newest_on: Vec::new(),
            newest_of: vec![NONE; processes],
            now: vec![0; processes],
            row: vec![0; processes],
            bare: vec![0; processes],
            direct: Vec::new(),
            raced: Vec::new(),
            waits: false,
        }
    }

    /// Keeps clocks in which what ends a wait counts as a race with it.
    pub(super) fn with_waits(order: Order, processes: usize) -> Happens {
        Happens {
            waits: true,
            ..Happens::new(order, processes)
        }
    }

    /// Is transition `first` happens-before `second`?
    #[inline]
    pub(super) fn before(&self, first: &Step, second: usize) -> bool {
        self.clocks[second * self.width + first.process as usize] >= first.tick
    }

    /// How many processes there can be.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn clock(&self, at: usize) -> &[u32] {
        &self.clocks[at * self.width..][..self.width]
    }

    /// How far each process had come before transition `at`.
    pub(super) fn ticks_before(&self, at: usize) -> &[u32] {
        &self.ticks[at * self.width..][..self.width]
    }

    /// Forgets the transitions from `keep` on.
    pub(super) fn truncate(&mut self, steps: &[Step], keep: usize) {
        for at in (keep..self.links.len()).rev() {
            let (on, of) = self.links[at];
            let step = &steps[at];
            if let Some(newest) = self.newest_on.get_mut(step.object as usize) {
                *newest = on;
            }
            self.newest_of[step.process as usize] = of;
            if of == NONE {
                self.now[step.process as usize] = 0;
            } else {
                self.now[step.process as usize] = steps[of as usize].tick;
            }
        }
        self.links.truncate(keep);
        self.clocks.truncate(keep * self.width);
        self.ticks.truncate(keep * self.width);
    }

    /// The next transition of the execution: its clock, and the races it is the second of.
    pub(super) fn push(&mut self, steps: &[Step], at: usize, sets: &Sets, races: &mut Vec<Race>) {
        let step = &steps[at];
        self.ticks.extend_from_slice(&self.now);
        self.relate(steps, step, at, sets, races);
        self.row[step.process as usize] = step.tick;
        self.clocks.extend_from_slice(&self.row);
        let mut on = NONE;
        let object = step.object as usize;
        if step.object != super::step::NOWHERE {
            if object >= self.newest_on.len() {
                self.newest_on.resize(object + 1, NONE);
            }
            on = self.newest_on[object];
            self.newest_on[object] = at as u32;
        }
        let of = std::mem::replace(&mut self.newest_of[step.process as usize], at as u32);
        self.links.push((on, of));
        self.now[step.process as usize] = step.tick;
    }

    /// A transition that never became possible: what could have come after it instead?
    pub(super) fn pending(
        &mut self,
        steps: &[Step],
        step: &Step,
        number: usize,
        sets: &Sets,
        races: &mut Vec<Race>,
    ) {
        self.structure(steps, step, sets);
        self.bare.copy_from_slice(&self.row);
        let second = steps.len() + number;
        // What a thread read in a turn that was in vain are transitions, and race like any.
        if step.until != Until::Changed {
            self.waiting(steps, step, second, sets, races);
        }
    }

    fn newest(&self, object: u32) -> u32 {
        self.newest_on.get(object as usize).copied().unwrap_or(NONE)
    }

    /// Puts into `row` what comes before `step` whatever memory holds.
    fn structure(&mut self, steps: &[Step], step: &Step, sets: &Sets) {
        let width = self.width;
        match self.newest_of[step.process as usize] {
            NONE => self.row.fill(0),
            previous => self
                .row
                .copy_from_slice(&self.clocks[previous as usize * width..][..width]),
        }
        let further = &sets.behind[step.behind as usize];
        let further = further.iter().chain(sets.joined(step.joined));
        for &(process, tick) in [step.need, step.also].iter().chain(further) {
            if tick == 0 {
                continue;
            }
            let mut at = self.newest_of[process as usize];
            while at != NONE && steps[at as usize].tick > tick {
                at = self.links[at as usize].1;
            }
            self.learn(at);
            // Creating a thread has a tick of its own.
            let known = &mut self.row[process as usize];
            *known = (*known).max(tick);
        }
    }

    #[inline]
    fn learn(&mut self, at: u32) {
        if at != NONE {
            let from = &self.clocks[at as usize * self.width..][..self.width];
            for (mine, &theirs) in self.row.iter_mut().zip(from) {
                *mine = (*mine).max(theirs);
            }
        }
    }

    /// Puts all that happens before `step` into `row`.
    fn relate(
        &mut self,
        steps: &[Step],
        step: &Step,
        at: usize,
        sets: &Sets,
        races: &mut Vec<Race>,
    ) {
        self.structure(steps, step, sets);
        if step.access == Access::None && !self.order.is_wide(step, sets) {
            return;
        }
        if step.until != Until::Now {
            self.bare.copy_from_slice(&self.row);
        }
        self.direct.clear();
        if self.order.is_wide(step, sets) {
            self.scan(steps, step, at, sets);
        } else {
            self.walk(steps, step, sets);
        }
        for index in 0..self.direct.len() {
            let first = self.direct[index];
            let other = &steps[first as usize];
            if self.row[other.process as usize] >= other.tick {
                continue;
            }
            if step.until == Until::Now || self.waits {
                races.push(Race {
                    first,
                    second: at as u32,
                });
            }
            self.learn(first);
        }
        if !matches!(step.until, Until::Now | Until::Changed) {
            self.waiting(steps, step, at, sets, races);
        }
    }

    /// Direct predecessors on the object, newest first.
    fn walk(&mut self, steps: &[Step], step: &Step, sets: &Sets) {
        let order = self.order;
        // Bytes of which the newest earlier store is not found yet; and, where lines matter, the line's.
        let mut rest = if step.access == Access::Flush {
            0
        } else {
            step.mask
        };
        let mut line = order.persistency != Persistency::Ignored
            && step.persistent
            && (step.access == Access::Write
                || (step.access == Access::Flush && order.orders_flushes()));
        // Its own store hides what is older, committed or not.
        if step.access == Access::Read && step.own.1 > self.committed(step.own.0) {
            return;
        }
        let mut at = self.newest(step.object);
        let mut round = None;
        while at != NONE && (rest != 0 || line) {
            let other = &steps[at as usize];
            let next = self.links[at as usize].0;
            if other.arrives() && !self.waits {
                // Those of one round know nothing of each other, but of all of the round before.
                let of = other.round();
                let beside = step.arrives() && of == step.round();
                if !beside && round.is_some_and(|round| round != of) {
                    return;
                }
                if !beside {
                    round = Some(of);
                    if !order.same_thread(other.process, step.process) {
                        self.direct.push(at);
                    }
                }
                at = next;
                continue;
            }
            if other.section != 0 {
                // Of others of its lock it knows only those that it shares something with.
                let beside = step.section != 0 && sets.share_nothing(step.section, other.section);
                if !beside && !order.same_thread(other.process, step.process) {
                    self.direct.push(at);
                }
                at = next;
                continue;
            }
            if order.same_thread(other.process, step.process) {
                if other.access == Access::Write {
                    rest &= !other.mask;
                    line = false;
                }
            } else {
                let bytes = other.mask & rest != 0;
                let (touches, covers) = match (other.access, step.access) {
                    (Access::Write, Access::Read) => (bytes, true),
                    (Access::Read, Access::Write) => {
                        let visible =
                            other.own.1 == 0 || other.own.1 <= self.committed(other.own.0);
                        (bytes && visible, false)
                    }
                    (Access::Write, _) => (bytes || line, true),
                    (Access::Flush, Access::Write) => (line && order.orders_flushes(), false),
                    _ => (false, false),
                };
                if touches {
                    self.direct.push(at);
                }
                if covers {
                    if step.access == Access::Write && order.is_companion(other.process) {
                        self.readers_of(steps, at, next, other.mask & rest);
                    }
                    rest &= !other.mask;
                    line = false;
                }
            }
            at = next;
        }
    }

    fn committed(&self, process: Process) -> u32 {
        self.now.get(usize::from(process)).copied().unwrap_or(0)
    }

    /// A thread may read its own store before that is committed: such loads come before whatever overwrites the store,
    /// though they are older than it.
    fn readers_of(&mut self, steps: &[Step], commit: u32, mut at: u32, overwritten: u64) {
        let store = steps[commit as usize];
        let thread = self.order.thread(store.process) as Process;
        while at != NONE {
            let load = &steps[at as usize];
            if load.process == thread {
                if store.need.0 == thread && load.tick <= store.need.1 {
                    return;
                }
                if load.access == Access::Read
                    && load.own == (store.process, store.tick)
                    && load.mask & overwritten != 0
                {
                    self.direct.push(at);
                }
            }
            at = self.links[at as usize].0;
        }
    }

    /// Looks for what a transition depends on over all objects, for transitions that touch more than one.
    fn scan(&mut self, steps: &[Step], step: &Step, at: usize, sets: &Sets) {
        for index in (0..at).rev() {
            let other = &steps[index];
            let written_first = other.access == Access::Write && step.access != Access::Write;
            let at_write = |process: Process| match written_first {
                true => self.ticks[index * self.width + process as usize],
                false => self.now[process as usize],
            };
            if !self.order.same_thread(other.process, step.process)
                && self.order.depends(other, step, sets, at_write)
            {
                self.direct.push(index as u32);
            }
        }
    }

    /// The newest transition before one that touches an object.
    fn newest_before(
        &self,
        steps: &[Step],
        at: u32,
        (object, wide): (u32, bool),
    ) -> Option<(u32, Touch)> {
        let at = match (wide, at) {
            (true, _) => {
                let earlier = &steps[..(at as usize).min(self.links.len())];
                earlier.iter().rposition(|s| s.touch(object).is_some())? as u32
            }
            (false, NONE) => self.newest(object),
            (false, _) => self.links[at as usize].0,
        };
        let step = steps.get(at as usize)?;
        Some((at, step.touch(object)?))
    }

    /// The step waits for a value that its newest predecessor brought about. Where was the last time it could have been
    /// taken before? Right before the newest access without which the object holds such a value.
    fn waiting(
        &mut self,
        steps: &[Step],
        step: &Step,
        second: usize,
        sets: &Sets,
        races: &mut Vec<Race>,
    ) {
        let end = second.min(steps.len());
        let on = (step.object, sets.is_condition(step.object));
        self.raced.clear();
        let mut last = NONE;
        while let Some((at, other)) = self.newest_before(steps, last, on) {
            last = at;
            // Whatever touches the object before one that changes all of it comes before that one.
            let settles =
                other.access == Access::Write && (other.mask == ALL || other.mask == step.mask);
            let concerns = (other.access == Access::Write || step.access == Access::Write)
                && other.access != Access::None
                && other.mask & step.mask != 0;
            if !concerns {
                continue;
            }
            let by = &steps[at as usize];
            let known = self.bare[by.process as usize] >= by.tick
                || self
                    .raced
                    .iter()
                    .any(|&raced| self.before(by, raced as usize));
            if !known && self.possible_before(steps, at, end, step) {
                races.push(Race {
                    first: at,
                    second: second as u32,
                });
                self.raced.push(at);
                if settles {
                    return;
                }
            }
            if known && settles {
                return;
            }
        }
    }

    /// Could `step`, which waits for a value of its object, come right before `first`, with all that does not happen after that?
    fn possible_before(&self, steps: &[Step], first: u32, end: usize, step: &Step) -> bool {
        let Some(other) = steps[first as usize].touch(step.object) else {
            return true;
        };
        if other.mask == ALL || other.mask == step.mask {
            return step.until.admits(other.found);
        }
        self.word_without(steps, first as usize, end, step, &mut Vec::new())
            .is_some()
    }

    /// What the object of `moved` holds at `end` if `first`, and all that happens after it, had not happened. If that does not let it go on
    /// because of others that came later than `first` (readers under a lock), they are taken away too;
    /// `None` if it is because of earlier ones. `without` gets all that were taken away.
    pub(super) fn word_without(
        &self,
        steps: &[Step],
        first: usize,
        end: usize,
        moved: &Step,
        without: &mut Vec<u32>,
    ) -> Option<u64> {
        let (object, until) = (moved.object, moved.until);
        let begins = steps[first].touch(object)?.found;
        let writes = |at: usize| {
            let touch = steps[at].touch(object);
            touch.filter(|touch| touch.access == Access::Write)
        };
        without.clear();
        without.push(first as u32);
        loop {
            let mut word = begins;
            for at in first + 1..end {
                if let Some(touch) = writes(at)
                    && !self.after_any(steps, without, at)
                {
                    word = word & !touch.mask | touch.left & touch.mask;
                }
            }
            let Until::Clear(bits) = until else {
                return until.admits(word).then_some(word);
            };
            if until.admits(word) {
                return Some(word);
            }
            let sets = |at: &usize| {
                writes(*at).is_some_and(|touch| touch.left & touch.mask & word & bits != 0)
                    && !self.after_any(steps, without, *at)
            };
            without.push((first + 1..end).rev().find(sets)? as u32);
        }
    }

    /// Adds those of a range that do not happen after any of these.
    pub(super) fn not_after(
        &self,
        steps: &[Step],
        firsts: &[u32],
        range: Range<usize>,
        to: &mut Vec<u32>,
    ) {
        match firsts {
            // Nearly always.
            [first] => {
                let first = &steps[*first as usize];
                let free = |at: &usize| !self.before(first, *at);
                to.extend(range.filter(free).map(|at| at as u32));
            }
            _ => {
                let free = |at: &usize| !self.after_any(steps, firsts, *at);
                to.extend(range.filter(free).map(|at| at as u32));
            }
        }
    }

    /// Does transition `at` happen after one of these?
    pub(super) fn after_any(&self, steps: &[Step], firsts: &[u32], at: usize) -> bool {
        firsts
            .iter()
            .any(|&first| self.before(&steps[first as usize], at))
    }
}
