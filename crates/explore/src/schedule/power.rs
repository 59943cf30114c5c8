//! Schedules and power failures together: every recovery of a multi-threaded program, each executed once in the whole check
//! (ALGORITHMS.md §2 and §3).
//!
//! There is one recovery tree for all schedules. Each schedule's trace is walked down that tree: a read splits the versions of its
//! line by the value it would return, and a part is followed where some power failure of the trace leaves it
//! ([`Crashes`]). What is kept of a power failure on the way is the least that must have happened, so no set is enumerated.
//! A way that the tree does not know is a run.
//!
//! Traces that differ in nothing that a recovery could see (the stores to each line, what happens before what among stores and
//! write-backs) are walked once.

use super::crash::{Choice, Crashes, mix};
use super::explored::Explored;
use super::step::{Process, Step};
use super::threads::Points;
use crate::recovery::{SearchError, WAVE};
use crate::subject::{Ended, Job, Subject, Wanted};
use crate::tree::{Branch, Diverged, Here, RecoveryTree};
use landfall_model::image::Image;
use landfall_model::line::{Addr, Line, LineBytes, Piece, pieces};
use landfall_model::log::Version;
use landfall_model::order::Platform;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::rc::Rc;

/// A power failure in some schedule.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Crash {
    /// Who made each transition until the power failed: the schedule to follow, with these scheduling points.
    pub schedule: Vec<Process>,
    pub points: Points,
    /// Lines that are not as new as the stores of those transitions, with the version that survived; ascending. A version counts
    /// the stores of the schedule to the line.
    pub old: Vec<(Line, Version)>,
    /// What persistent memory holds then, where that is not what it held at first; ascending.
    pub image: Vec<(Line, LineBytes)>,
}

/// One way the recovery behaves, and a crash that leads to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Behaviour {
    pub ended: Ended,
    /// Its place in the order of runs.
    pub run: u32,
    pub crash: Crash,
    /// How many of the traces that were walked showed it.
    pub times: u32,
}

/// The whole check: the tree, and what was found.
#[derive(Debug)]
pub struct Power {
    base: Image,
    platform: Platform,
    tree: RecoveryTree,
    /// Lines of `base` that no run was told of yet.
    untold: Vec<Line>,
    /// Where the behaviour of a run stands.
    met: FxHashMap<u32, usize>,
    seen: FxHashSet<u128>,
    pub behaviours: Vec<Behaviour>,
    /// Executions of the recovery.
    pub runs: u32,
    /// Traces that were walked, and those that were like one of them.
    pub walked: u64,
    pub alike: u64,
}

/// The store that a transition is.
pub fn piece(step: &Step, line: Line) -> Option<Piece> {
    let (from, len) = (step.mask.trailing_zeros(), step.mask.count_ones());
    let bytes = step.left.to_le_bytes();
    let addr = Addr(line.start().0 + u64::from(from));
    pieces(addr, bytes.get(..len as usize)?).next()
}

impl Power {
    /// Persistent memory as every schedule finds it.
    pub fn new(base: Image, platform: Platform) -> Power {
        let empty = Image::default();
        let untold = base.delta(&empty).map(|(line, _)| line).collect();
        Power {
            untold,
            base,
            platform,
            tree: RecoveryTree::default(),
            met: FxHashMap::default(),
            seen: FxHashSet::default(),
            behaviours: Vec::new(),
            runs: 0,
            walked: 0,
            alike: 0,
        }
    }

    pub fn tree(&self) -> &RecoveryTree {
        &self.tree
    }

    /// Power failures anywhere in the search's last execution. `line` is where an object of persistent memory lies.
    pub fn look(
        &mut self,
        subject: &mut impl Subject,
        search: &dyn Explored,
        line: impl Fn(u32) -> Line,
    ) -> Result<Traced, SearchError> {
        let traced = Traced::new(&self.base, self.platform, search, line);
        if !self.seen.insert(traced.signature) {
            self.alike += 1;
            return Ok(traced);
        }
        self.walked += 1;
        let mut walker = Walker {
            power: self,
            search,
            traced,
            todo: Vec::new(),
            wave: Vec::new(),
        };
        walker.walk_all(subject)?;
        Ok(walker.traced)
    }

    /// Persistent memory as every schedule finds it.
    pub fn base(&self) -> &Image {
        &self.base
    }

    pub fn platform(&self) -> Platform {
        self.platform
    }
}

/// A trace as power failures see it.
#[derive(Debug)]
pub struct Traced {
    pub crashes: Crashes,
    /// The lines that it stores to, as `crashes` numbers them.
    lines: Vec<Line>,
    numbers: FxHashMap<Line, usize>,
    contents: Vec<Vec<LineBytes>>,
    /// The same for traces that differ in nothing a recovery could see.
    pub signature: u128,
}

impl Traced {
    /// Of the search's last execution.
    pub fn new(
        base: &Image,
        platform: Platform,
        search: &dyn Explored,
        line: impl Fn(u32) -> Line,
    ) -> Traced {
        let crashes = Crashes::on(search, platform);
        let lines: Vec<Line> = (0..crashes.lines())
            .map(|number| line(crashes.object(number)))
            .collect();
        let contents = contents(base, search, &crashes, &lines);
        let content = |line: usize, version: u32| {
            let bytes: &LineBytes = &contents[line][version as usize];
            let words = bytes.chunks_exact(16).map(|word| {
                let mut bytes = [0; 16];
                bytes.copy_from_slice(word);
                u128::from_le_bytes(bytes)
            });
            words.fold(0, mix)
        };
        let signature = crashes.signature(&|number| lines[number].0, &content);
        let numbers = lines.iter().zip(0..).map(|(&line, n)| (line, n)).collect();
        Traced {
            crashes,
            numbers,
            lines,
            contents,
            signature,
        }
    }

    /// The number of a line that it stores to.
    pub fn number(&self, line: Line) -> Option<usize> {
        self.numbers.get(&line).copied()
    }

    pub fn line(&self, number: usize) -> Line {
        self.lines[number]
    }

    /// A power failure that leaves versions among those admitted, if there is one.
    pub fn crash(
        &self,
        base: &Image,
        search: &dyn Explored,
        admits: &impl Fn(Line, u32) -> bool,
    ) -> Option<Crash> {
        let admits = |number: usize, version| admits(self.lines[number], version);
        let choice = self.crashes.choose(&admits)?;
        Some(self.crash_of(base, search, &choice))
    }

    fn crash_of(&self, base: &Image, search: &dyn Explored, choice: &Choice) -> Crash {
        let order = self.crashes.linear(search, choice);
        let steps = &search.trace().steps;
        let mut old = Vec::new();
        for (number, &line) in self.lines.iter().enumerate() {
            let stores = self.crashes.stores(number);
            let newest = stores.iter().filter(|store| order.contains(store)).count() as u32;
            if choice.versions[number] != newest {
                old.push((line, Version(choice.versions[number])));
            }
        }
        old.sort_unstable();
        Crash {
            schedule: order.iter().map(|&at| steps[at as usize].process).collect(),
            points: search.points().clone(),
            old,
            image: self.image(base, choice),
        }
    }

    /// Lines that are not as they were at first.
    fn image(&self, base: &Image, choice: &Choice) -> Vec<(Line, LineBytes)> {
        let mut image: Vec<(Line, LineBytes)> = (self.lines.iter().zip(&self.contents))
            .zip(&choice.versions)
            .map(|((&line, contents), &version)| (line, contents[version as usize]))
            .filter(|&(line, bytes)| bytes != base.line(line))
            .collect();
        image.sort_unstable();
        image
    }
}

/// What each version of each line holds.
fn contents(
    base: &Image,
    search: &dyn Explored,
    crashes: &Crashes,
    lines: &[Line],
) -> Vec<Vec<LineBytes>> {
    let versions = |(number, &line): (usize, &Line)| {
        let mut bytes = base.line(line);
        let mut versions = vec![bytes];
        for &store in crashes.stores(number) {
            if let Some(piece) = piece(&search.trace().steps[store as usize], line) {
                piece.write_to(&mut bytes);
            }
            versions.push(bytes);
        }
        versions
    };
    lines.iter().enumerate().map(versions).collect()
}

/// What is known of a power failure on the way down the tree.
#[derive(Clone, Debug)]
struct State {
    /// Lines that were read: the versions that agree with it.
    admitted: FxHashMap<usize, Rc<[u32]>>,
    /// Whatever the power failure is, it leaves at least this.
    least: Choice,
    /// And this is one.
    chosen: Choice,
}

impl State {
    fn admits(&self) -> impl Fn(usize, u32) -> bool + '_ {
        |line, version| {
            let admitted = self.admitted.get(&line);
            admitted.is_none_or(|versions| versions.contains(&version))
        }
    }

    /// The same with a line narrowed; `None` if no power failure leaves that.
    fn narrowed(&self, crashes: &Crashes, line: usize, to: &[u32]) -> Option<State> {
        let mut next = self.clone();
        next.admitted.insert(line, to.into());
        if !to.contains(&self.least.versions[line]) {
            let least = crashes.narrow(&self.least, line, &next.admits())?;
            next.least = least;
        }
        if !to.contains(&self.chosen.versions[line]) {
            let chosen = crashes.complete(next.least.clone(), &next.admits())?;
            next.chosen = chosen;
        }
        Some(next)
    }
}

#[derive(Clone, Debug)]
struct Walk {
    /// `None`: at the root.
    at: Option<Branch>,
    state: State,
}

/// One trace on its way down.
struct Walker<'a> {
    power: &'a mut Power,
    search: &'a dyn Explored,
    traced: Traced,
    todo: Vec<Walk>,
    /// Walks that need a run to go on.
    wave: Vec<Walk>,
}

impl Walker<'_> {
    fn walk_all(&mut self, subject: &mut impl Subject) -> Result<(), SearchError> {
        let nothing = self.traced.crashes.nothing();
        self.todo.push(Walk {
            at: None,
            state: State {
                admitted: FxHashMap::default(),
                least: nothing.clone(),
                chosen: nothing,
            },
        });
        loop {
            while let Some(walk) = self.todo.pop() {
                self.walk(walk);
            }
            if self.wave.is_empty() {
                return Ok(());
            }
            self.run_wave(subject)?;
        }
    }

    /// Goes down the tree as far as it is known, one way; the others are left to do.
    fn walk(&mut self, mut walk: Walk) {
        let tree = &self.power.tree;
        let start = match walk.at {
            None => tree.root(),
            Some(branch) => tree.child(branch),
        };
        let Some(mut place) = start else {
            self.wave.push(walk);
            return;
        };
        loop {
            let read = match tree.here(place) {
                Here::Read(read, _) => read,
                Here::Leaf(leaf) => {
                    let (run, ended) = (leaf.run, leaf.ended);
                    return self.arrive(&walk, run, ended);
                }
            };
            let (run, depth) = tree.name(place);
            let line = read.line();
            let mut parts: SmallVec<[(u64, SmallVec<[u32; 4]>); 2]> = SmallVec::new();
            let number = self.traced.number(line);
            match number {
                None => parts.push((read.value(&self.power.base.line(line)), SmallVec::new())),
                Some(number) => {
                    let admits = walk.state.admits();
                    for (version, bytes) in self.traced.contents[number].iter().enumerate() {
                        if !admits(number, version as u32) {
                            continue;
                        }
                        let value = read.value(bytes);
                        match parts.iter_mut().find(|(of, _)| *of == value) {
                            Some((_, part)) => part.push(version as u32),
                            None => parts.push((value, SmallVec::from_slice(&[version as u32]))),
                        }
                    }
                }
            }
            if let [(value, _)] = parts[..] {
                match tree.step(place, value) {
                    Some(next) => place = next,
                    None => {
                        walk.at = Some(Branch { run, depth, value });
                        self.wave.push(walk);
                        return;
                    }
                }
                continue;
            }
            let Some(number) = number else {
                return; // More than one value, so it was stored to.
            };
            for (value, part) in parts {
                if let Some(state) = walk.state.narrowed(&self.traced.crashes, number, &part) {
                    let at = Some(Branch { run, depth, value });
                    self.todo.push(Walk { at, state });
                }
            }
            return;
        }
    }

    fn arrive(&mut self, walk: &Walk, run: u32, ended: Ended) {
        match self.power.met.get(&run) {
            Some(&at) => self.power.behaviours[at].times += 1,
            None => {
                let crash = self
                    .traced
                    .crash_of(&self.power.base, self.search, &walk.state.chosen);
                self.power.met.insert(run, self.power.behaviours.len());
                self.power.behaviours.push(Behaviour {
                    ended,
                    run,
                    crash,
                    times: 1,
                });
            }
        }
    }

    /// Runs what the waiting walks need, each once, and lets them go on.
    fn run_wave(&mut self, subject: &mut impl Subject) -> Result<(), SearchError> {
        let waiting = std::mem::take(&mut self.wave);
        let mut asked: FxHashSet<Option<Branch>> = FxHashSet::default();
        let runs: Vec<&Walk> = waiting
            .iter()
            .filter(|walk| asked.insert(walk.at))
            .collect();
        for runs in runs.chunks(WAVE) {
            let overrides: Vec<Vec<(Line, LineBytes)>> = runs
                .iter()
                .map(|walk| self.traced.image(&self.power.base, &walk.state.chosen))
                .collect();
            let power = &mut *self.power;
            let untold = std::mem::take(&mut power.untold);
            let jobs: Vec<Job<'_>> = overrides
                .iter()
                .enumerate()
                .map(|(at, overrides)| Job {
                    image: &power.base,
                    changed: if at == 0 { &untold } else { &[] },
                    overrides,
                    failures: 1,
                    wanted: Wanted::Reads,
                })
                .collect();
            let (tree, count) = (&mut power.tree, &mut power.runs);
            let mut done = runs.iter();
            let mut diverged: Option<(Diverged, &Walk)> = None;
            let ended = subject.run_all(&jobs, &mut |execution| {
                let Some(walk) = done.next().filter(|_| diverged.is_none()) else {
                    return;
                };
                *count += 1;
                match tree.graft(walk.at, execution.reads, execution.ended, None) {
                    Ok(run) => tree.annotate(run, execution.marks, execution.judged),
                    Err(difference) => diverged = Some((difference, walk)),
                }
            });
            if let Some((difference, _)) = diverged {
                return Err(SearchError::Diverged {
                    difference,
                    crashes: Vec::new(),
                });
            }
            if let Err(error) = ended {
                // What was run counts.
                self.todo.extend(waiting);
                while let Some(walk) = self.todo.pop() {
                    self.walk(walk);
                }
                return Err(error.into());
            }
        }
        // The walks that were left first are taken first.
        self.todo.extend(waiting.into_iter().rev());
        Ok(())
    }
}
