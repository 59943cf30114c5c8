//! One power failure, along the log.
//!
//! Between two cuts only reads of lines that were stored to can return something new, and only a risen frontier takes values
//! away. So each line keeps the reads of the tree that the present crash state can reach. A new version visits the
//! reads of its line; a value not seen there is a branch: known to the tree, or a run. What all of it costs follows the reads
//! that each run adds, and the reads of lines that change.

use super::checksums::{Checksums, MustRun};
use super::lines::{FEW, KnownValues, LineReader, LineWalk, ReadLines};
use super::mistakes::{Mistakes, seen};
use super::{Behaviour, Options, PackedFailures, SearchError, Searched, TreeWatch};
use crate::subject::{Job, Read, RunDetail, Subject, SubjectError};
use crate::tree::{Branch, Here, RecoveryTree, TreePlace};
use landfall_model::crash::PowerFailure;
use landfall_model::image::Image;
use landfall_model::line::{Line, LineBytes};
use landfall_model::log::{Cut, Entry, Log, Version};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::borrow::Cow;

/// So much work is done before the subject is asked whether it is enough.
const ASK_EVERY: usize = 1024;
/// The leaf of a run lives.
const WHOLE: u32 = u32::MAX;
/// A run whose behaviour was not met.
const UNMET: u32 = u32::MAX;

pub(super) fn follow(
    subject: &mut impl Subject,
    tree: &mut RecoveryTree,
    base: &Image,
    log: &Log,
    options: &Options,
    watch: &mut dyn TreeWatch,
    found: &mut Searched,
) -> Result<(), SearchError> {
    follow_once(subject, tree, base, log, options, watch, found)?;
    if found.checksums_refuted {
        // What others stood for at earlier cuts is to be tried as well.
        *found = Searched {
            runs: found.runs,
            checksums_refuted: true,
            ..Searched::default()
        };
        let options = Options {
            checksums: false,
            ..*options
        };
        follow_once(subject, tree, base, log, &options, watch, found)?;
    }
    Ok(())
}

fn follow_once(
    subject: &mut impl Subject,
    tree: &mut RecoveryTree,
    base: &Image,
    log: &Log,
    options: &Options,
    watch: &mut dyn TreeWatch,
    found: &mut Searched,
) -> Result<(), SearchError> {
    let keep_reads = options.keep_reads;
    let mut follow = Follow {
        subject,
        log,
        mistakes: Mistakes::default(),
        checksums: Checksums::new(log, base, options.checksums, tree),
        live: vec![0; tree.runs() as usize],
        tree,
        newest: base.clone(),
        changed: log.lines().collect(),
        cut: Cut(0),
        lines: ReadLines::new(log, base),
        open: FxHashSet::default(),
        todo: Vec::new(),
        met: Vec::new(),
        found,
        looked: false,
        left: Vec::new(),
        keep_reads,
        forget_at: keep_reads,
        watch,
        entry: Cut(0),
    };
    let mut grown: Vec<u32> = Vec::new();
    let mut cuts = log.sufficient_cuts().into_iter().peekable();
    for (at, entry) in log.entries().iter().enumerate() {
        if cuts.next_if_eq(&Cut(at as u32)).is_some() {
            follow.look(Cut(at as u32), &mut grown)?;
            if !follow.checksums.holds() {
                return Ok(());
            }
        }
        follow.entry = Cut(at as u32);
        if at % ASK_EVERY == ASK_EVERY - 1 && follow.subject.stopped() {
            return Err(SubjectError::Stopped.into());
        }
        match *entry {
            Entry::Store { piece, .. } => {
                let Some(number) = follow.lines.number(piece.addr.line()) else {
                    continue;
                };
                follow.store(number, log, at as u32);
                grown.push(number);
            }
            Entry::Durable { line, version } => follow.durable(line, version),
        }
    }
    if cuts.next().is_some() {
        follow.look(log.end(), &mut grown)?;
    }
    Ok(())
}

struct Follow<'a, S> {
    subject: &'a mut S,
    log: &'a Log,
    mistakes: Mistakes,
    checksums: Checksums<'a>,
    tree: &'a mut RecoveryTree,
    /// By run: reads it brought at a smaller depth can be reached at present.
    live: Vec<u32>,
    /// Every line at its newest.
    newest: Image,
    /// Lines of it that changed since the last run.
    changed: Vec<Line>,
    cut: Cut,
    lines: ReadLines,
    /// Lines with more than one feasible version.
    open: FxHashSet<u32>,
    /// Branches found and not yet taken.
    todo: Vec<Branch>,
    /// By run, where its behaviour stands, if it was met in this search.
    met: Vec<u32>,
    found: &'a mut Searched,
    looked: bool,
    /// Branches that the present crash state has left: to be forgotten, unless it came back.
    left: Vec<Branch>,
    keep_reads: usize,
    /// The tree may grow to so many reads before the next time.
    forget_at: usize,
    watch: &'a mut dyn TreeWatch,
    /// Right before the present entry of the log.
    entry: Cut,
}

impl<S: Subject> Follow<'_, S> {
    fn store(&mut self, number: u32, log: &Log, entry: u32) {
        let walk = self.lines.at_mut(number);
        for version in log.versions_since(entry, walk.line) {
            let (base, pieces) = log.made_of(walk.line, Version(version));
            let mut bytes = *walk.content(base.0);
            pieces.iter().for_each(|piece| piece.write_to(&mut bytes));
            walk.contents.push(bytes);
            walk.stores_left -= 1;
        }
        self.open.insert(number);
        self.newest.set_line(walk.line, *walk.newest_bytes());
        self.changed.push(walk.line);
    }

    /// The power fails here: what can the recovery do that it could not do at an earlier cut?
    fn look(&mut self, cut: Cut, grown: &mut Vec<u32>) -> Result<(), SearchError> {
        self.cut = cut;
        self.found.cuts += 1;
        self.subject.at_cut(cut, self.found.behaviours.len());
        self.checksums.at_cut();
        if !std::mem::replace(&mut self.looked, true) {
            match self.tree.root() {
                Some(root) => self.arrive(root),
                None => self.run_all(&[None])?,
            }
        }
        grown.sort_unstable();
        grown.dedup();
        for number in grown.drain(..) {
            let walk = self.lines.at_mut(number);
            let (first, newest) = (walk.given + 1, walk.newest());
            walk.given = newest;
            let walk = self.lines.at(number);
            for version in first.max(walk.first)..=newest {
                let bytes = walk.content(version);
                let live = walk.readers.iter().filter(|r| alive(&self.live, r));
                let agrees = live.filter(|r| r.known.as_ref().is_none_or(|k| k.agrees(bytes)));
                let live = &self.live;
                self.todo.extend(agrees.filter_map(|reader| {
                    let value = reader.read().value(bytes);
                    let goes_on = live[reader.run as usize] > reader.depth + 1;
                    (value != reader.value || !goes_on).then_some(Branch {
                        run: reader.run,
                        depth: reader.depth,
                        value,
                    })
                }));
            }
        }
        let live = &self.live;
        if self
            .checksums
            .lost_some(|(run, depth)| depth < live[run as usize])
        {
            self.look_again();
        }
        loop {
            self.take_branches()?;
            let waiting = self.checksums.take_waiting();
            if waiting.is_empty() || !self.checksums.holds() {
                return Ok(());
            }
            let mut own = self.on_their_own(&waiting).into_owned();
            if own.is_empty() {
                own.extend(self.checksums.one_waiting().map(Some));
            }
            self.run_all_of(&own)?;
        }
    }

    /// Takes every branch that was found, and those that they lead to.
    fn take_branches(&mut self) -> Result<(), SearchError> {
        while !self.todo.is_empty() && self.checksums.holds() {
            let mut wave: Vec<Option<Branch>> = Vec::new();
            let mut asked: FxHashSet<Branch> = FxHashSet::default();
            let mut done = 0;
            while let Some(branch) = self.todo.pop() {
                done += 1;
                if done % ASK_EVERY == 0 && self.subject.stopped() {
                    return Err(SubjectError::Stopped.into());
                }
                match self.tree.child(branch) {
                    Some(place) => {
                        if !self.is_live(place) {
                            self.arrive(place);
                        }
                    }
                    None => {
                        if asked.insert(branch) {
                            wave.push(Some(branch));
                        }
                    }
                }
            }
            self.run_all(&wave)?;
        }
        Ok(())
    }

    /// Whoever stood for branches that were put off does so no more.
    fn look_again(&mut self) {
        for branch in self.checksums.take_put_off() {
            if !self.tree.holds(branch.run, branch.depth)
                || branch.depth >= self.live[branch.run as usize]
            {
                continue;
            }
            let place = self.tree.place(branch.run, branch.depth);
            let Here::Read(read, _) = self.tree.here(place) else {
                continue;
            };
            let Some(number) = self.lines.number(read.line()) else {
                continue;
            };
            let mut way = FollowedBranch::new(branch.run);
            let known = self.known(&mut way, number, branch.run, branch.depth);
            let mut versions = self.lines.at(number).agreeing(known.as_ref());
            if versions.any(|(_, bytes)| read.value(bytes) == branch.value) {
                self.todo.push(branch);
            }
        }
    }

    fn is_live(&self, place: TreePlace) -> bool {
        let (run, depth) = self.tree.name(place);
        depth < self.live[run as usize]
    }

    /// Follows the tree from a place that was just reached, along one path; what branches off is left to do.
    fn arrive(&mut self, mut place: TreePlace) {
        let (mut run, mut depth) = self.tree.name(place);
        let mut way = FollowedBranch::new(run);
        loop {
            let (read, own) = match self.tree.here(place) {
                Here::Read(read, own) => (read, own),
                Here::Leaf(leaf) => {
                    let ended = leaf.ended;
                    self.live[run as usize] = WHOLE;
                    match self
                        .met
                        .get(run as usize)
                        .copied()
                        .filter(|&at| at != UNMET)
                    {
                        Some(at) => self.found.behaviours[at as usize].times += 1,
                        None => {
                            if self.met.len() <= run as usize {
                                self.met.resize(run as usize + 1, UNMET);
                            }
                            self.met[run as usize] = self.found.behaviours.len() as u32;
                            let lines = self.old_lines(&mut way, run, depth, None);
                            let old = lines.iter().map(|&(line, version, _)| (line, version));
                            let failure = PowerFailure {
                                cut: self.cut,
                                old: old.collect(),
                            };
                            if self.mistakes.shows(ended, self.found.behaviours.len()) {
                                let shown = self.shown(place, None);
                                self.mistakes.show(&shown);
                            }
                            self.found.behaviours.push(Behaviour {
                                ended,
                                run,
                                crashes: PackedFailures::new(&[failure]),
                                times: 1,
                            });
                        }
                    }
                    return;
                }
            };
            self.live[run as usize] = depth + 1;
            let mut goes_on = false;
            let number = self.lines.number(read.line());
            match number.filter(|&n| !self.lines.at(n).settled()) {
                None => {
                    let value = match number {
                        Some(n) => read.value(self.lines.at(n).newest_bytes()),
                        None => read.value(&self.newest.line(read.line())),
                    };
                    goes_on = value == own;
                    if !goes_on {
                        self.todo.push(Branch { run, depth, value });
                    }
                }
                Some(number) => {
                    let known = self.known(&mut way, number, run, depth);
                    let walk = self.lines.at(number);
                    let mut seen: SmallVec<[u64; 4]> = SmallVec::new();
                    for (_, bytes) in walk.agreeing(known.as_ref()) {
                        let value = read.value(bytes);
                        if value == own {
                            goes_on = true;
                        } else if !seen.contains(&value) {
                            seen.push(value);
                            self.todo.push(Branch { run, depth, value });
                        }
                    }
                    let live = &self.live;
                    self.lines
                        .at_mut(number)
                        .add_reader(LineReader::new((run, depth), read, own, known), |reader| {
                            alive(live, reader)
                        });
                }
            }
            if !goes_on {
                return;
            }
            let Some(next) = self.tree.step(place, own) else {
                // Pruned: to be run again.
                self.todo.push(Branch {
                    run,
                    depth,
                    value: own,
                });
                return;
            };
            place = next;
            depth += 1;
            let (owner, _) = self.tree.name(place);
            if owner != run {
                run = owner;
                way = FollowedBranch::new(run);
            }
        }
    }

    /// The mistakes that the reads above a place tell of, and this one.
    fn shown(&mut self, place: TreePlace, last: Option<Read>) -> SmallVec<[u64; 2]> {
        let mut reads: Vec<Read> = self.tree.above(place).collect();
        reads.extend(last);
        let seen = seen(self.log, &self.lines, self.cut, &reads);
        self.subject.mistakes(&seen)
    }

    /// Does what a branch has read tell of a mistake that is well known?
    fn is_well_known(&mut self, branch: Branch) -> bool {
        let place = self.tree.place(branch.run, branch.depth);
        let last = match self.tree.here(place) {
            Here::Read(read, _) => Some(Read {
                read,
                value: branch.value,
            }),
            Here::Leaf(_) => None,
        };
        let shown = self.shown(place, last);
        self.mistakes.is_known(&shown)
    }

    /// What the reads of the line above a read say about it.
    fn known(
        &self,
        way: &mut FollowedBranch,
        number: u32,
        run: u32,
        depth: u32,
    ) -> Option<KnownValues> {
        let walk = self.lines.at(number);
        if walk.readers.len() > FEW.max(depth as usize) {
            // So many ways come here that this one is shorter.
            let reads = self.tree.above(self.tree.place(run, depth));
            return reads
                .filter(|r| r.read.line() == walk.line)
                .fold(None, |known, r| {
                    Some(KnownValues::and(known, r.read, r.value))
                });
        }
        for reader in walk.readers.iter().rev() {
            if !alive(&self.live, reader) {
                continue;
            }
            let value = if reader.run == run {
                (reader.depth < depth).then_some(reader.value)
            } else {
                let left = way.leaves(self.tree, reader.run);
                left.filter(|branch| reader.depth <= branch.depth)
                    .map(|branch| match reader.depth == branch.depth {
                        true => branch.value,
                        false => reader.value,
                    })
            };
            if let Some(value) = value {
                let above = reader.known.as_deref().cloned();
                return Some(KnownValues::and(above, reader.read(), value));
            }
        }
        None
    }

    /// Lines that the way to a read (and the value it returns) does not allow to be at their newest: the newest version it allows.
    fn old_lines(
        &self,
        way: &mut FollowedBranch,
        run: u32,
        depth: u32,
        last: Option<Read>,
    ) -> Vec<(Line, Version, LineBytes)> {
        let mut old = Vec::new();
        for &number in &self.open {
            let walk: &LineWalk = self.lines.at(number);
            let mut known = self.known(way, number, run, depth);
            if let Some(last) = last.filter(|last| last.read.line() == walk.line) {
                known = Some(KnownValues::and(known, last.read, last.value));
            }
            let Some(known) = known else { continue };
            // Something agrees: the way is live.
            if let Some((version, bytes)) = walk.agreeing(Some(&known)).next_back()
                && version != walk.newest()
            {
                old.push((walk.line, Version(version), *bytes));
            }
        }
        old.sort_unstable_by_key(|&(line, ..)| line);
        old
    }

    /// Turns the other lines back to what they held at a moment, as far as that is possible now.
    fn as_held(
        &self,
        old: &mut Vec<(Line, Version, LineBytes)>,
        moment: Cut,
        way: &mut FollowedBranch,
        branch: Branch,
        last: Option<Read>,
    ) {
        for &number in &self.open {
            let walk = self.lines.at(number);
            let version = self.log.newest(walk.line, moment);
            if version.0 < walk.first || version.0 >= walk.newest() {
                continue;
            }
            let mut known = self.known(way, number, branch.run, branch.depth);
            if let Some(last) = last.filter(|last| last.read.line() == walk.line) {
                known = Some(KnownValues::and(known, last.read, last.value));
            }
            let bytes = walk.content(version.0);
            if known.is_none_or(|known| known.agrees(bytes)) {
                old.retain(|(line, ..)| *line != walk.line);
                old.push((walk.line, version, *bytes));
            }
        }
        old.sort_unstable_by_key(|&(line, ..)| line);
    }

    /// Runs the recovery on the images that branches describe, and adds what it read to the tree.
    fn run_all(&mut self, wave: &[Option<Branch>]) -> Result<(), SearchError> {
        let wave = self.on_their_own(wave).into_owned();
        self.run_all_of(&wave)
    }

    fn run_all_of(&mut self, wave: &[Option<Branch>]) -> Result<(), SearchError> {
        for wave in wave.chunks(super::WAVE) {
            if !self.mistakes.any {
                self.run_wave(wave)?;
                continue;
            }
            let mut left: Vec<Option<Branch>> = Vec::new();
            for &branch in wave {
                match branch.filter(|&branch| self.is_well_known(branch)) {
                    None => left.push(branch),
                    Some(known) => self.found.skipped += u32::from(self.mistakes.skip(1, known)),
                }
            }
            if !left.is_empty() {
                self.run_wave(&left)?;
            }
        }
        Ok(())
    }

    /// The branches that no other stands for.
    fn on_their_own<'w>(&mut self, wave: &'w [Option<Branch>]) -> Cow<'w, [Option<Branch>]> {
        if !self.checksums.any {
            return Cow::Borrowed(wave);
        }
        let live = &self.live;
        let alive = |(run, depth): (u32, u32)| depth < live[run as usize];
        let mut own: Vec<Option<Branch>> = Vec::with_capacity(wave.len());
        for &asked in wave {
            let Some(branch) = asked else {
                own.push(asked);
                continue;
            };
            let (tree, lines) = (&*self.tree, &self.lines);
            match self.checksums.must_run(branch, tree, lines, alive) {
                MustRun::Now => own.push(asked),
                MustRun::IfNoneIsRejected => {}
                MustRun::Not => {
                    self.found.checksums_assumed = true;
                    self.tree.leave_out(branch);
                }
            }
        }
        Cow::Owned(own)
    }

    fn run_wave(&mut self, wave: &[Option<Branch>]) -> Result<(), SearchError> {
        let overrides: Vec<Vec<(Line, LineBytes)>> = wave
            .iter()
            .map(|branch| {
                let Some(branch) = *branch else {
                    return Vec::new();
                };
                let place = self.tree.place(branch.run, branch.depth);
                let last = match self.tree.here(place) {
                    Here::Read(read, _) => Some(Read {
                        read,
                        value: branch.value,
                    }),
                    Here::Leaf(_) => None,
                };
                let mut way = FollowedBranch::new(branch.run);
                let mut old = self.old_lines(&mut way, branch.run, branch.depth, last);
                if let Some(moment) = self.checksums.moment(branch) {
                    self.as_held(&mut old, moment, &mut way, branch, last);
                }
                old.into_iter()
                    .map(|(line, _, bytes)| (line, bytes))
                    .collect()
            })
            .collect();
        let changed = std::mem::take(&mut self.changed);
        let jobs: Vec<Job<'_>> = overrides
            .iter()
            .enumerate()
            .map(|(at, overrides)| Job {
                image: &self.newest,
                changed: if at == 0 { &changed } else { &[] },
                overrides,
                failures: 1,
                wanted: RunDetail::Reads,
            })
            .collect();
        let (tree, runs) = (&mut *self.tree, &mut self.found.runs);
        let mut branches = wave.iter();
        let mut diverged = None;
        let mut grafted: Vec<u32> = Vec::new();
        let ended = self.subject.run_all(&jobs, &mut |execution| {
            let Some(&branch) = branches.next().filter(|_| diverged.is_none()) else {
                return;
            };
            *runs += 1;
            match tree.graft(branch, execution.reads, execution.ended, None) {
                Ok(run) => {
                    tree.annotate(run, execution.marks, None);
                    grafted.push(run);
                }
                Err(difference) => diverged = Some((difference, branch)),
            }
        });
        let size = self.tree.reads() + self.tree.runs() as usize;
        self.subject.tree_holds(size);
        self.live.resize(self.tree.runs() as usize, 0);
        for run in grafted {
            let depth = self.tree.branch_of(run).map_or(0, |b| b.depth + 1);
            self.arrive(self.tree.place(run, depth));
            if (self.checksums).learn(run, self.tree, &self.lines) {
                self.look_again();
            }
            if !self.checksums.holds() {
                self.found.checksums_refuted = true;
            }
        }
        if let Some((difference, branch)) = diverged {
            let old = branch.map(|b| {
                let mut way = FollowedBranch::new(b.run);
                self.old_lines(&mut way, b.run, b.depth, difference.expected)
            });
            let old = old.into_iter().flatten().map(|(l, v, _)| (l, v)).collect();
            return Err(SearchError::Diverged {
                difference,
                crashes: vec![PowerFailure { cut: self.cut, old }],
            });
        }
        Ok(ended?)
    }

    /// The frontier of the line rises: older versions are gone for good, and with them what only they led to.
    fn durable(&mut self, line: Line, version: Version) {
        let Some(number) = self.lines.number(line) else {
            return;
        };
        let walk = self.lines.at_mut(number);
        let dropped = (version.0 - walk.first) as usize;
        let dropped: SmallVec<[LineBytes; 2]> = walk.contents.drain(..dropped).collect();
        walk.first = version.0;
        if walk.contents.len() == 1 {
            self.open.remove(&number);
        }
        let readers = std::mem::take(&mut walk.readers);
        for reader in &readers {
            if alive(&self.live, reader) {
                self.close(number, reader, &dropped);
            }
        }
        self.lines.at_mut(number).readers = readers;
    }

    /// Leaves the branches of a read that only the dropped versions took. Looks at those, not at all that ever branched off here.
    fn close(&mut self, number: u32, reader: &LineReader, dropped: &[LineBytes]) {
        let walk = self.lines.at(number);
        let values: SmallVec<[u64; 4]> = walk
            .agreeing(reader.known.as_deref())
            .map(|(_, bytes)| reader.read().value(bytes))
            .collect();
        if values.is_empty() {
            return; // Below a branch that is closed further up.
        }
        let known = reader.known.as_deref();
        let mut closed: SmallVec<[u64; 4]> = dropped
            .iter()
            .filter(|bytes| known.is_none_or(|known| known.agrees(bytes)))
            .map(|bytes| reader.read().value(bytes))
            .filter(|value| !values.contains(value))
            .collect();
        closed.sort_unstable();
        closed.dedup();
        for value in closed {
            let branch = Branch {
                run: reader.run,
                depth: reader.depth,
                value,
            };
            let child = self.tree.child(branch);
            if child.is_some_and(|child| self.is_live(child)) {
                self.leave(branch);
            }
        }
    }

    /// Nothing feasible goes down this branch any more.
    fn leave(&mut self, branch: Branch) {
        let mut left: SmallVec<[TreePlace; 8]> = self.tree.child(branch).into_iter().collect();
        while let Some(place) = left.pop() {
            let (run, depth) = self.tree.name(place);
            let live = &mut self.live[run as usize];
            if *live <= depth {
                continue;
            }
            // Other forks of the same run further down are visited through its segments.
            let own = run == branch.run;
            let mut end = self.tree.end(place);
            loop {
                let mut on = None;
                for (_, child) in self.tree.children(end) {
                    if self.tree.name(child).0 == run {
                        on = Some(self.tree.end(child));
                    } else {
                        left.push(child);
                    }
                }
                match on {
                    Some(next) => end = next,
                    None => break,
                }
            }
            self.live[run as usize] = if own { branch.depth + 1 } else { 0 };
        }
        self.left.push(branch);
        if self.tree.reads() > self.forget_at {
            self.forget();
        }
    }

    /// Forgets much at a time: whoever watches looks at all of the tree before.
    fn forget(&mut self) {
        self.watch.forgetting(self.tree, self.entry);
        for branch in std::mem::take(&mut self.left) {
            // It may have gone with one above it.
            if !self.tree.holds(branch.run, branch.depth) {
                continue;
            }
            let child = self.tree.child(branch);
            if child.is_some_and(|child| !self.is_live(child)) {
                self.tree.prune(branch);
            }
        }
        self.forget_at = self.keep_reads.max(self.tree.reads() + self.keep_reads / 4);
    }
}

fn alive(live: &[u32], reader: &LineReader) -> bool {
    reader.depth < live[reader.run as usize]
}

/// The runs whose reads lie on the way to a read of `run`, as far up as was asked for.
struct FollowedBranch {
    top: u32,
    left: SmallVec<[Branch; 4]>,
    ended: bool,
}

impl FollowedBranch {
    fn new(run: u32) -> FollowedBranch {
        FollowedBranch {
            top: run,
            left: SmallVec::new(),
            ended: false,
        }
    }

    /// Where the way leaves the path of an older run, if it follows it at all.
    fn leaves(&mut self, tree: &RecoveryTree, run: u32) -> Option<Branch> {
        while !self.ended && self.top > run {
            match tree.branch_of(self.top) {
                Some(branch) => {
                    self.top = branch.run;
                    self.left.push(branch);
                }
                None => self.ended = true,
            }
        }
        // Each is of an older run than the one before it.
        let at = self.left.partition_point(|b| b.run > run);
        self.left.get(at).filter(|b| b.run == run).copied()
    }
}
