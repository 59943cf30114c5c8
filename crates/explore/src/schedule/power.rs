//! Schedules and power failures together: every recovery of a multi-threaded program, each executed once in the whole check
//! (docs/design/algorithms.md §2 and §3).
//!
//! There is one recovery tree for all schedules. Each schedule's trace is walked down that tree: a read splits the versions of its
//! line by the value it would return, and a part is followed where some power failure of the trace leaves it
//! ([`Crashes`]). What is kept of a power failure on the way is the least that must have happened, so no set is enumerated.
//! A way that the tree does not know is a run.
//!
//! Traces that differ in nothing that a recovery could see (the stores to each line, what happens before what among stores and
//! write-backs) are walked once.

use super::begun::{Begun, DurableSteps};
use super::chain::{ChainState, On};
use super::crash::{Crashes, Since, VersionChoice, mix};
use super::explored::Explored;
use super::judged::{Names, execution_with_points};
use super::step::{Act, Process, Step};
use super::threads::Points;
use crate::recovery::mistakes::Mistakes;
use crate::recovery::{SearchError, WAVE};
use crate::subject::{Ended, Job, Read, RunDetail, Subject, SubjectError};
use crate::tree::{Branch, Diverged, Forest, Here, Leaf, RecoveryTree};
use landfall_model::crash::PowerFailure;
use landfall_model::image::Image;
use landfall_model::line::{Addr, Line, LineBytes, Piece, pieces};
use landfall_model::log::Version;
use landfall_model::order::Platform;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::rc::Rc;
use std::sync::Arc;

/// So many walks are made before the subject is asked whether it is enough.
const ASK_EVERY: u32 = 256;

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
    /// Power failures in recoveries after that one, oldest first.
    pub later: Vec<PowerFailure>,
}

/// One way the recovery behaves, and a crash that leads to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Behaviour {
    pub ended: Ended,
    /// Its place in the order of runs after as many power failures.
    pub run: u32,
    pub crash: Crash,
    /// How many of the traces that were walked showed it.
    pub times: u32,
}

/// How much of what one trace shows is used for the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Way {
    /// One tree for all, and traces that are alike are walked once.
    #[default]
    Shared,
    /// Each trace has trees of its own: for comparison.
    Alone,
    /// Every image that a power failure can leave, whatever the recovery reads of it (Yat's way): for comparison, on tiny programs.
    Eager,
}

/// The whole check: the tree, and what was found.
#[derive(Debug)]
pub struct Power {
    pub(super) base: Image,
    pub(super) platform: Platform,
    /// Power failures that may follow one another, and a tree for each number of them.
    pub(super) failures: u32,
    way: Way,
    pub(super) forest: Forest,
    /// Lines of `base` that no run was told of yet.
    pub(super) untold: Vec<Line>,
    /// Where the behaviour of a run stands, after so many power failures. With a tree for all a run has its own; else it is
    /// known by what it reads.
    met: FxHashMap<(u32, u128), usize>,
    /// What the runs of this trace's own trees read.
    paths: FxHashMap<(u32, u32), u128>,
    seen: FxHashSet<u128>,
    /// What all schedules begin with, as long as they have these scheduling points.
    begun: Begun,
    points: Option<Points>,
    pub behaviours: Vec<Behaviour>,
    /// Executions of the recovery.
    pub runs: u32,
    /// Traces that were walked, and those that were like one of them.
    pub walked: u64,
    pub alike: u64,
    /// Recoveries that ended well but were too long to be cut themselves.
    pub uncut: u32,
    /// Mistakes that many recoveries have shown, if others that tell of them need not be run; and how many were not.
    pub(super) mistakes: Option<Mistakes>,
    pub skipped: u32,
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
        let empty = base.untouched();
        let untold = base.delta(&empty).map(|(line, _)| line).collect();
        Power {
            untold,
            base,
            platform,
            failures: 1,
            way: Way::Shared,
            forest: Forest::default(),
            met: FxHashMap::default(),
            paths: FxHashMap::default(),
            seen: FxHashSet::default(),
            begun: Begun::default(),
            points: None,
            behaviours: Vec::new(),
            runs: 0,
            walked: 0,
            alike: 0,
            uncut: 0,
            mistakes: None,
            skipped: 0,
        }
    }

    /// Recoveries that tell of a mistake which many have shown need not be run.
    pub fn skipping(self) -> Power {
        let mistakes = (self.way == Way::Shared).then(Mistakes::default);
        Power { mistakes, ..self }
    }

    /// So many power failures may follow one another: recoveries are cut, too.
    pub fn with_failures(self, failures: u32) -> Power {
        Power { failures, ..self }
    }

    /// For comparison.
    pub fn by(self, way: Way) -> Power {
        Power { way, ..self }
    }

    /// What recoveries read, after one power failure, after two …
    pub fn trees(&self) -> impl Iterator<Item = &RecoveryTree> {
        (1..).map_while(|failures| self.forest.known(failures))
    }

    /// Power failures anywhere in the search's last execution. `line` is where an object of persistent memory lies.
    pub fn look(
        &mut self,
        subject: &mut impl Subject,
        search: &dyn Explored,
        line: impl Fn(u32) -> Line,
    ) -> Result<Traced, SearchError> {
        if self.points.as_ref() != Some(search.points()) {
            self.points = Some(search.points().clone());
            self.begun = Begun::Unknown;
        }
        let begun = self.begun.of_schedule(search);
        let traced = Traced::since(&self.base, self.platform, search, line, begun);
        if self.way == Way::Shared && !self.seen.insert(traced.signature) {
            self.alike += 1;
            return Ok(traced);
        }
        self.walked += 1;
        if self.way == Way::Alone {
            self.forest = Forest::default();
            self.paths.clear();
        }
        let mut walker = Walker {
            power: self,
            search,
            traced,
            todo: Vec::new(),
            wave: Vec::new(),
        };
        match walker.power.way {
            Way::Shared | Way::Alone => walker.walk_all(subject)?,
            Way::Eager => walker.every_image(subject)?,
        }
        Ok(walker.traced)
    }

    /// Is it not known yet what all schedules begin with?
    pub(super) fn may_begin(&self) -> bool {
        matches!(self.begun, Begun::Unknown)
    }

    /// All schedules begin so, if it is something, and the last execution did. Returns that, and what followed.
    pub(super) fn begin(
        &mut self,
        begun: Begun,
        explored: &dyn Explored,
        line: impl Fn(u32) -> Line,
    ) -> Option<(Rc<DurableSteps>, Traced)> {
        self.begun = match self.way {
            Way::Shared => begun,
            Way::Alone | Way::Eager => Begun::Nothing,
        };
        let begun = self.begun.of_schedule(explored)?;
        let follows = Traced::since(
            &self.base,
            self.platform,
            explored,
            line,
            Some(begun.clone()),
        );
        self.seen.insert(follows.signature);
        Some((begun, follows))
    }

    /// Finds out what all schedules begin with, where nobody judges them: `traced` is the last execution.
    pub fn settle(&mut self, traced: &Traced, explored: &dyn Explored, line: impl Fn(u32) -> Line) {
        if !self.may_begin() {
            return;
        }
        let (trace, order) = (explored.trace(), explored.order());
        let mut names = LinesOnly(&line);
        let (first, points) = execution_with_points(trace, order, self.platform, 0, &mut names);
        let begun = Begun::of(&first, &points, &self.base, traced, explored);
        self.begin(begun, explored, line);
    }

    /// Persistent memory as every schedule finds it.
    pub fn base(&self) -> &Image {
        &self.base
    }

    /// Power failures that may follow one another.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    pub fn platform(&self) -> Platform {
        self.platform
    }
}

/// Lines of an execution whose places nobody asks for.
struct LinesOnly<'a, F>(&'a F);

impl<F: Fn(u32) -> Line> Names for LinesOnly<'_, F> {
    fn line(&self, object: u32) -> Line {
        self.0(object)
    }

    fn site(&mut self, site: u32) -> u32 {
        site
    }
}

/// A trace as power failures see it; or what follows its beginning, if that is durable and all schedules have it.
#[derive(Debug)]
pub struct Traced {
    pub crashes: Crashes,
    pub(super) begun: Option<Rc<DurableSteps>>,
    /// The lines that it stores to, as `crashes` numbers them.
    pub(super) lines: Vec<Line>,
    numbers: FxHashMap<Line, usize>,
    pub(super) contents: Vec<Vec<LineBytes>>,
    /// Equal for traces that differ in nothing a recovery could see.
    pub signature: u128,
}

impl Traced {
    /// Of the search's last execution, all of it.
    pub fn new(
        base: &Image,
        platform: Platform,
        search: &dyn Explored,
        line: impl Fn(u32) -> Line,
    ) -> Traced {
        Traced::since(base, platform, search, line, None)
    }

    fn since(
        base: &Image,
        platform: Platform,
        search: &dyn Explored,
        line: impl Fn(u32) -> Line,
        begun: Option<Rc<DurableSteps>>,
    ) -> Traced {
        let start = Since::default();
        let since = begun.as_ref().map_or(&start, |begun| &begun.since);
        let crashes = Crashes::since(search, platform, since);
        let base = begun.as_ref().map_or(base, |begun| &begun.base);
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
            begun,
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

    fn crash_of(&self, base: &Image, search: &dyn Explored, choice: &VersionChoice) -> Crash {
        let order = self.crashes.linear(search, choice);
        let steps = &search.trace().steps;
        let happened: FxHashSet<&u32> = order.iter().collect();
        let mut old = Vec::new();
        for (number, &line) in self.lines.iter().enumerate() {
            let stores = self.crashes.stores(number);
            let newest = stores
                .iter()
                .filter(|store| happened.contains(store))
                .count() as u32;
            if choice.versions[number] != newest {
                let before = self.begun.as_ref();
                let before = before.map_or(0, |begun| begun.versions(line));
                old.push((line, Version(before + choice.versions[number])));
            }
        }
        old.sort_unstable();
        Crash {
            schedule: order.iter().map(|&at| steps[at as usize].process).collect(),
            points: search.points().clone(),
            old,
            image: self.image(base, choice),
            later: Vec::new(),
        }
    }

    /// Lines that are not as they were at first.
    fn image(&self, base: &Image, choice: &VersionChoice) -> Vec<(Line, LineBytes)> {
        let mut image: Vec<(Line, LineBytes)> = (self.lines.iter().zip(&self.contents))
            .zip(&choice.versions)
            .map(|((&line, contents), &version)| (line, contents[version as usize]))
            .collect();
        image.sort_unstable();
        self.with_beginning(base, &image)
    }

    /// What memory holds where nothing of it is left.
    pub(super) fn base<'a>(&'a self, first: &'a Image) -> &'a Image {
        self.begun.as_ref().map_or(first, |begun| &begun.base)
    }

    /// Lines that are not as they were at first, of these (ascending) and of those that were stored to before.
    pub(super) fn with_beginning(
        &self,
        first: &Image,
        now: &[(Line, LineBytes)],
    ) -> Vec<(Line, LineBytes)> {
        let changed = self.begun.as_ref().map_or(&[][..], |begun| &begun.changed);
        let mut before = changed.iter().peekable();
        let mut all = Vec::with_capacity(now.len() + changed.len());
        for &(line, bytes) in now {
            while let Some(older) = before.next_if(|(older, _)| *older < line) {
                all.push(*older);
            }
            before.next_if(|(older, _)| *older == line);
            if bytes != first.line(line) {
                all.push((line, bytes));
            }
        }
        all.extend(before);
        all
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
            let step = &search.trace().steps[store as usize];
            if step.act == Act::Transaction {
                let stores = search
                    .trace()
                    .stores_of(store as usize..store as usize + 1)
                    .iter();
                for store in stores.filter(|store| store.object == crashes.object(number)) {
                    if let Some(piece) = piece(&store.alone(), line) {
                        piece.write_to(&mut bytes);
                    }
                }
            } else if let Some(piece) = piece(step, line) {
                piece.write_to(&mut bytes);
            }
            versions.push(bytes);
        }
        versions
    };
    lines.iter().enumerate().map(versions).collect()
}

/// Everything a recovery reads, as one number.
pub(super) fn path(reads: &[Read]) -> u128 {
    reads.iter().fold(0, |all, of| {
        let place = u128::from(of.read.word.0) << 8 | u128::from(of.read.mask);
        mix(mix(all, place), of.value.into())
    })
}

#[derive(Clone, Debug)]
struct TraceWalk {
    /// `None`: at the root.
    at: Option<Branch>,
    state: ChainState,
}

/// One trace on its way down.
pub(super) struct Walker<'a> {
    pub(super) power: &'a mut Power,
    pub(super) search: &'a dyn Explored,
    pub(super) traced: Traced,
    todo: Vec<TraceWalk>,
    /// Walks that need a run to go on.
    wave: Vec<TraceWalk>,
}

impl Walker<'_> {
    fn walk_all(&mut self, subject: &mut impl Subject) -> Result<(), SearchError> {
        let state = ChainState::new(&self.traced.crashes);
        self.todo.push(TraceWalk { at: None, state });
        loop {
            let mut walked = 0;
            while let Some(walk) = self.todo.pop() {
                self.walk(walk);
                walked += 1;
                if walked % ASK_EVERY == 0 && subject.stopped() {
                    return Err(SubjectError::Stopped.into());
                }
            }
            if self.wave.is_empty() {
                return Ok(());
            }
            self.run_wave(subject)?;
        }
    }

    /// Goes down the tree as far as it is known, one way; the others are left to do.
    fn walk(&mut self, mut walk: TraceWalk) {
        let level = walk.state.level();
        let tree = self.power.forest.level(level);
        let start = match walk.at {
            None => tree.root(),
            Some(branch) => tree.child(branch),
        };
        let Some(mut place) = start else {
            self.wave.push(walk);
            return;
        };
        loop {
            let Some(tree) = self.power.forest.known(level) else {
                return;
            };
            let read = match tree.here(place) {
                Here::Read(read, _) => read,
                Here::Leaf(leaf) => {
                    let leaf = leaf.clone();
                    return self.arrive(&walk, &leaf);
                }
            };
            let (run, depth) = tree.name(place);
            let line = read.line();
            let candidates = walk.state.candidates(&self.on(), line);
            let mut values: SmallVec<[u64; 4]> = SmallVec::new();
            match &candidates {
                None => values.push(read.value(&self.on().line(line))),
                Some(candidates) => {
                    for candidate in candidates.iter() {
                        let value = read.value(&candidate.bytes);
                        if !values.contains(&value) {
                            values.push(value);
                        }
                    }
                }
            }
            if let [value] = values[..] {
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
            let Some(candidates) = candidates else {
                return; // More than one value, so it was stored to.
            };
            for value in values {
                let part = candidates.iter().filter(|c| read.value(&c.bytes) == value);
                let part = part.cloned().collect();
                if let Some(state) = walk.state.narrowed(&self.on(), line, part) {
                    let at = Some(Branch { run, depth, value });
                    self.todo.push(TraceWalk { at, state });
                }
            }
            return;
        }
    }

    pub(super) fn on(&self) -> On<'_> {
        On {
            first: &self.power.base,
            traced: &self.traced,
        }
    }

    /// A recovery ends; and it may be cut itself.
    fn arrive(&mut self, walk: &TraceWalk, leaf: &Leaf) {
        let level = walk.state.level();
        let own = self.power.paths.get(&(level, leaf.run)).copied();
        let known_as = own.unwrap_or(leaf.run.into());
        if self.meet(&walk.state, known_as, leaf.run, leaf.ended) {
            self.show(&walk.state, leaf);
        }
        let cut_too = leaf.log.as_ref().filter(|_| level < self.power.failures);
        for (log, cut) in cut_too.into_iter().flat_map(|log| {
            let cuts = log.sufficient_cuts();
            cuts.into_iter().map(move |cut| (log, cut))
        }) {
            let state = walk.state.crash(log, cut);
            self.todo.push(TraceWalk { at: None, state });
        }
    }

    /// A recovery behaves like this; is that new?
    pub(super) fn meet(
        &mut self,
        state: &ChainState,
        known_as: u128,
        run: u32,
        ended: Ended,
    ) -> bool {
        let level = state.level();
        if let Some(&at) = self.power.met.get(&(level, known_as)) {
            self.power.behaviours[at].times += 1;
            return false;
        }
        let base = &self.power.base;
        let mut crash = self.traced.crash_of(base, self.search, &state.chosen);
        crash.later = state.later(&self.on());
        let at = self.power.behaviours.len();
        self.power.met.insert((level, known_as), at);
        self.power.behaviours.push(Behaviour {
            ended,
            run,
            crash,
            times: 1,
        });
        true
    }

    /// Runs what the waiting walks need, each once, and lets them go on.
    fn run_wave(&mut self, subject: &mut impl Subject) -> Result<(), SearchError> {
        let mut waiting = std::mem::take(&mut self.wave);
        waiting.retain(|walk| !self.is_left_out(walk.at, &walk.state));
        let mut asked: FxHashSet<(u32, Option<Branch>)> = FxHashSet::default();
        let runs: Vec<&TraceWalk> = waiting
            .iter()
            .filter(|walk| asked.insert((walk.state.level(), walk.at)))
            .collect();
        for runs in runs.chunks(WAVE) {
            let overrides: Vec<Vec<(Line, LineBytes)>> = runs
                .iter()
                .map(|walk| walk.state.image(&self.on()))
                .collect();
            let power = &mut *self.power;
            let untold = std::mem::take(&mut power.untold);
            let jobs: Vec<Job<'_>> = overrides
                .iter()
                .zip(runs)
                .enumerate()
                .map(|(at, (overrides, walk))| Job {
                    image: &power.base,
                    changed: if at == 0 { &untold } else { &[] },
                    overrides,
                    failures: walk.state.level(),
                    wanted: match walk.state.level() < power.failures {
                        true => RunDetail::Events,
                        false => RunDetail::Reads,
                    },
                })
                .collect();
            let (forest, count, uncut) = (&mut power.forest, &mut power.runs, &mut power.uncut);
            let (failures, platform) = (power.failures, power.platform);
            let mut paths = (power.way == Way::Alone).then_some(&mut power.paths);
            let mut done = runs.iter();
            let mut diverged: Option<(Diverged, &TraceWalk)> = None;
            let ended = subject.run_all(&jobs, &mut |execution| {
                let Some(walk) = done.next().filter(|_| diverged.is_none()) else {
                    return;
                };
                *count += 1;
                *uncut += u32::from(execution.is_left_uncut());
                let level = walk.state.level();
                let cut_too = level < failures && !execution.shortened;
                let log = cut_too.then(|| Arc::new(execution.log(platform)));
                let tree = forest.level(level);
                let path = path(&execution.reads);
                match tree.graft(walk.at, execution.reads, execution.ended, log) {
                    Ok(run) => {
                        if let Some(paths) = &mut paths {
                            paths.insert((level, run), path);
                        }
                        tree.annotate(run, execution.marks, execution.judged);
                    }
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
