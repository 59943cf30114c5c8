//! What a power failure can leave of a Mazurkiewicz trace.
//!
//! The cuts of one linearisation are not those of its trace: with `x = 1; clflush x` and `y = 1; clflush y` in two threads,
//! no cut of the order x, flush x, y, flush y leaves x = 0, y = 1. A power failure of the trace is a set of its
//! transitions that is closed under happens-before. Flushes only take away, so for a choice of one version per line the
//! smallest such set decides: the stores chosen, and all that happens before them. Of the write-backs that are complete
//! in there, each must come before every store to its line that is newer than the version chosen. So the choice is
//! possible unless such constraints go round in a circle:
//!
//! > `f` before a newer store to its line, which happens before `f'`, before a newer store to *its* line, … before `f`.
//!
//! That is DPTSOsyn (docs/design/model.md §6) on the graph of the trace. It asks the schedule search only to order the stores of one
//! line ([`super::Persistency::Lines`]); flushes and fences multiply no schedules.
//!
//! A circle of one, a write-back that comes after a store newer than chosen, can be broken in one way: that line must be
//! newer. So there is a *least* choice that breaks all of those, found by raising versions one by one, and whatever is asked
//! for besides only raises it. Longer circles, of write-backs that race with stores, are looked for after that.

use super::explored::Explored;
use super::positions::Positions;
use super::step::{Access, Act, Process, Step};
use super::trace::Trace;
use landfall_model::order::Platform;
use rustc_hash::FxHashSet;
use smallvec::{SmallVec, smallvec};

/// Transitions past which an execution is not made plainer.
const LONG: usize = 300;

#[derive(Clone, Debug)]
struct StoredLine {
    object: u32,
    /// The transition that made version `i + 1`.
    stores: Vec<u32>,
}

/// A write-back that some fence (or, for `clflush`, itself) completes.
#[derive(Clone, Debug)]
struct Completed {
    line: usize,
    /// Process and tick of what completes it.
    by: (Process, u32),
    /// The newest version of its line whose store happens before it.
    sees: u32,
    /// What happens before it.
    clock: Vec<u32>,
    /// Transitions right after which it is done; it is done before whatever comes after those.
    after: [Option<u32>; 2],
}

#[derive(Clone, Debug)]
pub struct Crashes {
    platform: Platform,
    lines: Vec<StoredLine>,
    /// By object, the number of its line, from 1 on.
    numbers: Vec<u32>,
    flushes: Vec<Completed>,
    /// Process and tick of the transitions that stores are, and what happens before them; by line and version.
    stores: Vec<Vec<LineStore>>,
    /// Per process, the write-backs it completes: tick and number, ascending.
    completes: Vec<Vec<(u32, u32)>>,
    /// By line, its write-backs.
    of_line: Vec<Vec<u32>>,
    /// What has happened before any of this.
    begun: Vec<u32>,
}

#[derive(Clone, Debug)]
struct LineStore {
    process: Process,
    tick: u32,
    clock: Vec<u32>,
    /// Durable where it is, if caches are: not a non-temporal store.
    cached: bool,
}

/// A choice of versions, and what has happened at least.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VersionChoice {
    /// By line.
    pub versions: Vec<u32>,
    /// By process, the tick up to which its transitions have happened.
    pub clock: Vec<u32>,
}

/// From where on power failures are looked for: what came before is durable, and all else happens after it ([`super::begun`]). Version 0
/// of a line is what was there then.
#[derive(Clone, Debug, Default)]
pub(super) struct Since {
    pub(super) steps: usize,
    pub(super) write_backs: usize,
    /// How far each process had come by then.
    pub(super) ticks: Vec<(Process, u32)>,
}

impl Crashes {
    /// Of the search's last execution.
    pub fn of(search: &dyn Explored) -> Crashes {
        Crashes::on(search, Platform::Adr)
    }

    /// Of the search's last execution, on a platform where caches may be persistent.
    pub fn on(search: &dyn Explored, platform: Platform) -> Crashes {
        Crashes::since(search, platform, &Since::default())
    }

    /// The same, of what happened since then.
    pub(super) fn since(search: &dyn Explored, platform: Platform, since: &Since) -> Crashes {
        let steps = &search.trace().steps[..];
        let lines = lines(search.trace(), since.steps);
        let width = steps.first().map_or(0, |_| search.clock(0).len());
        let mut begun = vec![0; width];
        for &(process, tick) in &since.ticks {
            begun[usize::from(process)] = tick;
        }
        let stores: Vec<Vec<LineStore>> = lines
            .iter()
            .map(|line| {
                let store = |&at: &u32| LineStore {
                    process: steps[at as usize].process,
                    tick: steps[at as usize].tick,
                    clock: search.clock(at as usize).to_vec(),
                    cached: !steps[at as usize].streams,
                };
                line.stores.iter().map(store).collect()
            })
            .collect();
        let mut numbers = vec![0; lines.last().map_or(0, |line| line.object as usize + 1)];
        for (line, number) in lines.iter().zip(1..) {
            numbers[line.object as usize] = number;
        }
        let mut crashes = Crashes {
            platform,
            lines,
            numbers,
            flushes: Vec::new(),
            stores,
            completes: vec![Vec::new(); width],
            of_line: Vec::new(),
            begun,
        };
        crashes.of_line = vec![Vec::new(); crashes.lines.len()];
        let positions = Positions::new(steps, since.steps, search.order());
        crashes.clflushes(search, since.steps);
        crashes.write_backs(search, since.write_backs, &positions);
        crashes.streams(search, since.steps, &positions);
        for (number, flush) in crashes.flushes.iter().enumerate() {
            crashes.completes[usize::from(flush.by.0)].push((flush.by.1, number as u32));
            crashes.of_line[flush.line].push(number as u32);
        }
        crashes
            .completes
            .iter_mut()
            .for_each(|list| list.sort_unstable());
        crashes
    }

    fn line_of(&self, object: u32) -> Option<usize> {
        let number = self.numbers.get(object as usize)?;
        number.checked_sub(1).map(|number| number as usize)
    }

    fn clflushes(&mut self, search: &dyn Explored, from: usize) {
        for (at, step) in search.trace().steps.iter().enumerate().skip(from) {
            // A store that is durable at once is its own write-back.
            let stores_durably = step.at_once && step.persistent && step.access == Access::Write;
            if (step.act == Act::Flush || stores_durably)
                && let Some(line) = self.line_of(step.object)
            {
                let clock = search.clock(at).to_vec();
                self.flushes.push(Completed {
                    line,
                    by: (step.process, step.tick),
                    sees: self.known(line, &clock),
                    clock,
                    after: [Some(at as u32), None],
                });
            }
        }
    }

    fn write_backs(&mut self, search: &dyn Explored, from: usize, positions: &Positions) {
        let trace = search.trace();
        for write_back in &trace.write_backs[from..] {
            let Some(line) = self.line_of(write_back.object) else {
                continue;
            };
            let thread = usize::from(write_back.thread);
            let (committing, last) = write_back.after;
            let issued = (write_back.issued, write_back.buffered);
            let Some(by) = positions.completes(thread, issued) else {
                continue;
            };
            // What comes before it: its thread up to where it was issued, and what it cannot overtake in the buffer.
            let after = [
                positions.last(write_back.thread, write_back.issued),
                positions.last(committing, last),
            ];
            let mut clock = vec![0; self.completes.len()];
            for at in after.into_iter().flatten() {
                join(&mut clock, search.clock(at as usize));
            }
            // Who created the thread, and whom it joined.
            let joined = search.trace().sets.joined(write_back.joined).iter();
            let needs = write_back.need.into_iter().filter(|(_, tick)| *tick != 0);
            for (process, tick) in needs.chain(joined.copied()) {
                if let Some(at) = positions.last(process, tick) {
                    join(&mut clock, search.clock(at as usize));
                }
            }
            self.flushes.push(Completed {
                line,
                by,
                sees: self.known(line, &clock),
                clock,
                after,
            });
        }
    }

    /// A non-temporal store is on its way to memory by itself.
    fn streams(&mut self, search: &dyn Explored, from: usize, positions: &Positions) {
        let steps = &search.trace().steps[..];
        for (at, step) in steps.iter().enumerate().skip(from) {
            if !(step.streams && step.persistent && step.access == Access::Write) {
                continue;
            }
            let Some(line) = self.line_of(step.object) else {
                continue;
            };
            let thread = search.order().thread(step.process);
            // Its thread's tick; and its own, among all that its thread put into the store buffer.
            let issued = match step.act {
                Act::Commit => (step.issued, step.tick),
                _ => (step.tick, u32::MAX),
            };
            if let Some(by) = positions.completes(thread, issued) {
                let clock = search.clock(at).to_vec();
                self.flushes.push(Completed {
                    line,
                    by,
                    sees: self.known(line, &clock),
                    clock,
                    after: [Some(at as u32), None],
                });
            }
        }
    }

    /// Is what was stored in the first transitions written back by the end of them?
    pub(super) fn keeps(&self, steps: &[Step], first: usize) -> bool {
        let mut clock = vec![0; self.completes.len()];
        for step in &steps[..first] {
            let known = &mut clock[usize::from(step.process)];
            *known = step.tick.max(*known);
        }
        (0..self.lines.len()).all(|line| {
            let stores = &self.lines[line].stores;
            let count = stores.partition_point(|&store| (store as usize) < first) as u32;
            let covers = |&number: &u32| {
                let flush = &self.flushes[number as usize];
                flush.sees >= count && clock[usize::from(flush.by.0)] >= flush.by.1
            };
            count == 0 || self.of_line[line].iter().any(covers)
        })
    }

    /// How many lines were stored to.
    pub fn lines(&self) -> usize {
        self.lines.len()
    }

    pub fn object(&self, line: usize) -> u32 {
        self.lines[line].object
    }

    /// The transitions that made the versions of a line, from version 1 on.
    pub fn stores(&self, line: usize) -> &[u32] {
        &self.lines[line].stores
    }

    /// The newest version of a line whose store a clock knows of.
    fn known(&self, line: usize, clock: &[u32]) -> u32 {
        let known = |store: &LineStore| clock[usize::from(store.process)] >= store.tick;
        self.stores[line].partition_point(known) as u32
    }

    /// The newest version of a line that a clock knows to be in a cache.
    fn cached(&self, line: usize, clock: &[u32]) -> u32 {
        let known = &self.stores[line][..self.known(line, clock) as usize];
        let newest = known.iter().rposition(|store| store.cached);
        newest.map_or(0, |at| at as u32 + 1)
    }

    /// Nothing has happened, and every line is as it was.
    pub fn nothing(&self) -> VersionChoice {
        VersionChoice {
            versions: vec![0; self.lines.len()],
            clock: self.begun.clone(),
        }
    }

    /// Raises `choice` until the version of `line` is admitted, and those of all others still are and no write-back that is
    /// complete came after a newer store than chosen. `false` if there is no such choice above it.
    fn raise(
        &self,
        choice: &mut VersionChoice,
        line: usize,
        at_least: u32,
        admits: &impl Fn(usize, u32) -> bool,
    ) -> bool {
        let mut wanted: SmallVec<[(usize, u32); 8]> = smallvec![(line, at_least)];
        while let Some((line, least)) = wanted.pop() {
            let (now, newest) = (choice.versions[line], self.stores[line].len() as u32);
            let Some(version) = (now.max(least)..=newest).find(|&v| admits(line, v)) else {
                return false;
            };
            if version == now {
                continue;
            }
            choice.versions[line] = version;
            let store = &self.stores[line][version as usize - 1];
            let mut grew = false;
            for (process, (mine, &theirs)) in choice.clock.iter_mut().zip(&store.clock).enumerate()
            {
                if *mine >= theirs {
                    continue;
                }
                grew = true;
                let list = &self.completes[process];
                let from = list.partition_point(|&(tick, _)| tick <= *mine);
                for &(_, number) in list[from..].iter().take_while(|(tick, _)| *tick <= theirs) {
                    let flush = &self.flushes[number as usize];
                    wanted.push((flush.line, flush.sees));
                }
                *mine = theirs;
            }
            if grew && self.platform == Platform::Eadr {
                // What is in a cache is durable.
                wanted.extend((0..self.lines.len()).map(|l| (l, self.cached(l, &choice.clock))));
            }
        }
        true
    }

    /// Can a power failure leave exactly these versions?
    pub fn possible(&self, versions: &[u32]) -> bool {
        self.find(&|line, version| versions[line] == version)
            .is_some()
    }

    /// Versions that a power failure can leave among those admitted, if there are any.
    pub fn find(&self, admits: &impl Fn(usize, u32) -> bool) -> Option<Vec<u32>> {
        Some(self.choose(admits)?.versions)
    }

    /// Versions that a power failure can leave among those admitted, with the least that has happened then.
    pub fn choose(&self, admits: &impl Fn(usize, u32) -> bool) -> Option<VersionChoice> {
        let mut least = self.nothing();
        if !(0..self.lines.len()).all(|line| self.raise(&mut least, line, 0, admits)) {
            return None;
        }
        self.complete(least, admits)
    }

    /// The least choice above `least` once `line` is narrowed, as far as circles of one go.
    pub fn narrow(
        &self,
        least: &VersionChoice,
        line: usize,
        admits: &impl Fn(usize, u32) -> bool,
    ) -> Option<VersionChoice> {
        let mut raised = least.clone();
        self.raise(&mut raised, line, 0, admits).then_some(raised)
    }

    /// A choice above `least` that a power failure can leave. Breaks one circle after the other: some line in it must be newer.
    pub fn complete(
        &self,
        least: VersionChoice,
        admits: &impl Fn(usize, u32) -> bool,
    ) -> Option<VersionChoice> {
        let Some(circle) = self.circle(&least) else {
            return Some(least);
        };
        circle.iter().find_map(|&flush| {
            let line = self.flushes[flush].line;
            let mut raised = least.clone();
            let above = least.versions[line] + 1;
            self.raise(&mut raised, line, above, admits)
                .then(|| self.complete(raised, admits))?
        })
    }

    /// Versions that a power failure can leave among those admitted, if there are any. Of all lines but these, any is.
    pub(super) fn leaves(
        &self,
        lines: impl Iterator<Item = usize>,
        admits: &impl Fn(usize, u32) -> bool,
    ) -> Option<Vec<u32>> {
        let mut least = self.nothing();
        let mut lines = lines;
        if !lines.all(|line| self.raise(&mut least, line, 0, admits)) {
            return None;
        }
        Some(self.complete(least, admits)?.versions)
    }

    /// Write-backs that are complete, and whose line, one of these, was stored to since the version chosen.
    fn racing(&self, choice: &VersionChoice) -> Vec<usize> {
        let complete = |number: &usize| {
            let flush = &self.flushes[*number];
            choice.clock[usize::from(flush.by.0)] >= flush.by.1
        };
        let is_old = |line: &usize| self.known(*line, &choice.clock) > choice.versions[*line];
        let old = (0..self.lines.len()).filter(is_old);
        let of_old = old.flat_map(|line| self.of_line[line].iter().map(|&number| number as usize));
        let mut racing: Vec<usize> = of_old.filter(complete).collect();
        racing.sort_unstable();
        racing
    }

    /// Write-backs each of which would have to come before the next, if the power failed with these versions.
    fn circle(&self, choice: &VersionChoice) -> Option<Vec<usize>> {
        // `a` comes before a store that is newer than chosen, and that store before `b`.
        let before = |a: usize, b: usize| {
            let line = self.flushes[a].line;
            self.known(line, &self.flushes[b].clock) > choice.versions[line]
        };
        // Those that nothing comes before are not in a circle; then those that only such come before; and so on.
        let mut left = self.racing(choice);
        loop {
            let count = left.len();
            let still = left.clone();
            left.retain(|&b| still.iter().any(|&a| before(a, b)));
            if left.is_empty() {
                return None;
            }
            if left.len() == count {
                break;
            }
        }
        // Everyone left has a predecessor: going back must come round.
        let mut path = vec![left[0]];
        loop {
            let last = *path.last()?;
            let previous = *left.iter().find(|&&a| before(a, last))?;
            if let Some(at) = path.iter().position(|&flush| flush == previous) {
                return Some(path.split_off(at));
            }
            path.push(previous);
        }
    }

    /// An execution of what has happened by then and nothing else, after which the power fails: transitions of the trace by
    /// their index. Each write-back in it comes before the stores that it must not see. The choice must be possible.
    pub fn linear(&self, search: &dyn Explored, choice: &VersionChoice) -> Vec<u32> {
        let steps = &search.trace().steps[..];
        let happened = |at: &u32| {
            let step = &steps[*at as usize];
            choice.clock[usize::from(step.process)] >= step.tick
        };
        // Which transitions of the trace each store waits for besides what happens before it.
        let mut waits: Vec<(u32, u32)> = Vec::new();
        for number in self.racing(choice) {
            let flush = &self.flushes[number];
            let newer = &self.lines[flush.line].stores[choice.versions[flush.line] as usize..];
            for &store in newer.iter().filter(|store| happened(store)) {
                waits.extend(flush.after.into_iter().flatten().map(|at| (at, store)));
            }
        }
        let mut left: Vec<u32> = (0..steps.len() as u32).filter(happened).collect();
        if left.len() > LONG {
            return in_order(search, left, &waits);
        }
        let mut order = Vec::with_capacity(left.len());
        let of = search.order();
        let mut running = None;
        // One of those left that waits for nobody left; there is one, since there is no circle. For people: of the thread that
        // runs, or of its store buffer, as long as there is one, so that few are preempted.
        while !left.is_empty() {
            let free = |at: &u32| {
                let before = |other: &&u32| {
                    let step = &steps[**other as usize];
                    *other != at
                        && (search.clock(*at as usize)[usize::from(step.process)] >= step.tick
                            || waits.contains(&(**other, *at)))
                };
                !left.iter().any(|other| before(&other))
            };
            let free: Vec<usize> = (0..left.len()).filter(|&at| free(&left[at])).collect();
            let process = |at: &usize| steps[left[*at] as usize].process;
            let goes_on = |at: &&usize| Some(process(at)) == running;
            let commits = |at: &&usize| Some(of.thread(process(at)) as Process) == running;
            let next = (free.iter().find(goes_on)).or_else(|| free.iter().find(commits));
            let next = next.or(free.first()).copied().unwrap_or(0);
            let process = process(&next);
            if !of.is_companion(process) {
                running = Some(process);
            }
            order.push(left.remove(next));
        }
        order
    }

    /// What decides which recoveries are possible, and nothing else: two traces that agree on it need not both be walked.
    /// `name` is a line, whatever its number in this trace, and `content` what a version of it holds.
    pub fn signature(
        &self,
        name: &impl Fn(usize) -> u64,
        content: &impl Fn(usize, u32) -> u128,
    ) -> u128 {
        // Sums of what each process stored, and of what it completed, up to each of its ticks: of a clock, one look for each process.
        let mut stored: Vec<Vec<(u32, u128)>> = vec![Vec::new(); self.completes.len()];
        for (line, stores) in self.stores.iter().enumerate() {
            for (store, version) in stores.iter().zip(1u128..) {
                let store_is = mix(mix(1, name(line).into()), version);
                stored[usize::from(store.process)].push((store.tick, store_is));
            }
        }
        stored.iter_mut().for_each(sum_up);
        let seen = |clock: &[u32]| sum_of(&stored, clock);
        let mut completed: Vec<Vec<(u32, u128)>> = vec![Vec::new(); self.completes.len()];
        for flush in &self.flushes {
            let flush_is = mix(seen(&flush.clock), name(flush.line).into());
            completed[usize::from(flush.by.0)].push((flush.by.1, flush_is));
        }
        completed.iter_mut().for_each(sum_up);
        let mut hash = 0u128;
        for (line, stores) in self.stores.iter().enumerate() {
            hash = mix(hash, name(line).into());
            for (version, store) in stores.iter().enumerate() {
                hash = mix(hash, content(line, version as u32 + 1));
                hash = mix(hash, seen(&store.clock));
                hash = mix(hash, sum_of(&completed, &store.clock));
                if self.platform == Platform::Eadr {
                    hash = mix(hash, store.cached.into());
                }
            }
        }
        hash
    }
}

/// Numbers by tick become sums up to each tick.
fn sum_up(numbers: &mut Vec<(u32, u128)>) {
    numbers.sort_unstable();
    let mut sum = 0u128;
    for (_, number) in numbers {
        sum = sum.wrapping_add(*number);
        *number = sum;
    }
}

/// The sum of what a clock knows of.
fn sum_of(sums: &[Vec<(u32, u128)>], clock: &[u32]) -> u128 {
    let known = |(sums, &until): (&Vec<(u32, u128)>, &u32)| {
        let count = sums.partition_point(|&(tick, _)| tick <= until);
        count.checked_sub(1).map_or(0, |last| sums[last].1)
    };
    let all = sums.iter().zip(clock).map(known);
    all.fold(0, u128::wrapping_add)
}

/// Transitions in their order, but for those that wait for others, and what comes after these.
fn in_order(search: &dyn Explored, mut left: Vec<u32>, waits: &[(u32, u32)]) -> Vec<u32> {
    let steps = &search.trace().steps[..];
    let mut order = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let mut put_off: Vec<u32> = Vec::new();
        let mut done: FxHashSet<u32> = order.iter().copied().collect();
        let waited_for = |at: u32| waits.iter().filter(move |wait| wait.1 == at);
        for &at in &left {
            let after = |other: &u32| {
                let step = &steps[*other as usize];
                search.clock(at as usize)[usize::from(step.process)] >= step.tick
            };
            let waits = waited_for(at).any(|(first, _)| !done.contains(first));
            if waits || put_off.iter().any(after) {
                put_off.push(at);
            } else {
                order.push(at);
                done.insert(at);
            }
        }
        if put_off.len() == left.len() {
            // A circle: the choice was not possible.
            order.extend(put_off);
            break;
        }
        left = put_off;
    }
    order
}

/// Two numbers as one, in this order.
pub(super) fn mix(a: u128, b: u128) -> u128 {
    const ODD: u128 = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835;
    let mixed = (a.rotate_left(29) ^ b).wrapping_add(1).wrapping_mul(ODD);
    mixed ^ (mixed >> 61)
}

fn join(mine: &mut [u32], theirs: &[u32]) {
    for (mine, &theirs) in mine.iter_mut().zip(theirs) {
        *mine = theirs.max(*mine);
    }
}

/// Those that transitions from this one on store to.
fn lines(trace: &Trace, from: usize) -> Vec<StoredLine> {
    let in_transactions = trace.transaction_stores.iter();
    let in_transactions = in_transactions.filter(|store| store.at as usize >= from);
    let in_transactions = in_transactions.map(|store| (store.object, store.at));
    let mut stores: Vec<(u32, u32)> = (trace.steps.iter().zip(0..).skip(from))
        .filter(|(step, _)| step.persistent && step.access == Access::Write)
        .map(|(step, at)| (step.object, at))
        .chain(in_transactions)
        .collect();
    stores.sort_unstable();
    // All that a transaction does to a line is one version of it.
    stores.dedup();
    let lines = stores.chunk_by(|a, b| a.0 == b.0);
    let line = |stores: &[(u32, u32)]| StoredLine {
        object: stores[0].0,
        stores: stores.iter().map(|&(_, at)| at).collect(),
    };
    lines.map(line).collect()
}
