//! A schedule as people read it: what each thread does, in the order it happens.

use crate::names::ProgramNames;
use crate::view::locals::{self, SameNames};
use crate::view::table::{ThreadDeed, What, turns};
use crate::view::{behind, blocks};
use landfall_explore::schedule::data_races::{DataRace, Party};
use landfall_explore::schedule::sync::{ALL, Op};
use landfall_explore::schedule::{
    Access, Act, End, NOWHERE, Order, Process, Step, Trace, Trailing, Until, Wait,
};
use landfall_finding::{Place, Turn};
use landfall_native::NativeThreads;
use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};

/// How threads took turns, for a finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ScheduleTable {
    /// All there were, by name.
    pub(crate) threads: Vec<String>,
    pub(crate) turns: Vec<Turn>,
}

impl ScheduleTable {
    /// Puts it into a finding.
    pub(crate) fn tell(self, finding: &mut landfall_finding::Finding) {
        finding.threads = self.threads;
        finding.schedule = Some(self.turns);
    }
}

/// What is wrong at the end of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TableEnd<'a> {
    /// The rest of the finding says it.
    Otherwise,
    /// A thread fails, in these words.
    Failure(&'a str),
    Race(&'a DataRace),
}

/// Places that are named of what a critical section reads and writes.
const FEW: usize = 2;

/// Names for objects and places of a search.
#[derive(Debug)]
pub(crate) struct ScheduleNames<'a> {
    threads: &'a NativeThreads<'a>,
    names: &'a ProgramNames,
    order: Order,
    called: StoreNames,
    /// Names that stand for several places.
    alike: HashSet<String>,
    /// Bytes of objects that threads share while somebody writes them.
    shared: HashMap<u32, u64>,
    /// What was asked for already.
    known: RefCell<StoreNames>,
    on_stacks: OnceCell<SameNames>,
}

/// Bytes of persistent memory as the source calls them where it stores to them.
type StoreNames = HashMap<(u32, u64), String>;

/// The usual name of a signal.
fn signal_name(signal: usize) -> String {
    const NAMES: [&str; 32] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
        "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
        "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS", "32",
    ];
    match signal.checked_sub(1).and_then(|at| NAMES.get(at)) {
        Some(name) => format!("SIG{name}"),
        None => format!("signal {signal}"),
    }
}

pub(crate) fn column(thread: usize) -> String {
    match thread {
        0 => "main".to_owned(),
        n => format!("thread {n}"),
    }
}

impl<'a> ScheduleNames<'a> {
    pub(crate) fn new(
        threads: &'a NativeThreads<'a>,
        names: &'a ProgramNames,
        order: Order,
    ) -> ScheduleNames<'a> {
        ScheduleNames {
            threads,
            names,
            order,
            called: StoreNames::new(),
            alike: HashSet::new(),
            shared: HashMap::new(),
            known: RefCell::default(),
            on_stacks: OnceCell::new(),
        }
    }

    /// Names for one execution, with those that its stores give to persistent memory. A name that stands for several places, or one of
    /// several for a place, says nothing.
    pub(crate) fn of(&self, trace: &Trace) -> ScheduleNames<'a> {
        let mut sources = self.names.sources();
        let mut all: HashSet<((u32, u64), String)> = HashSet::new();
        let mut looked_at: HashSet<(u32, u64, u32)> = HashSet::new();
        let stores = |step: &&Step| step.persistent && step.access == Access::Write;
        for step in trace.steps.iter().filter(stores) {
            if !looked_at.insert((step.object, step.mask, step.site)) {
                continue;
            }
            let text = self.place(step.site).and_then(|at| sources.assigned(&at));
            let named = ((step.object, step.mask), text.unwrap_or_default());
            all.insert(named);
        }
        let (mut places, mut texts) = (HashMap::new(), HashMap::new());
        for (place, text) in &all {
            *places.entry(*place).or_insert(0) += 1;
            *texts.entry(text.as_str()).or_insert(0) += 1;
        }
        let alone = |(place, text): &&((u32, u64), String)| {
            !text.is_empty() && places[place] == 1 && texts[text.as_str()] == 1
        };
        let called: StoreNames = all.iter().filter(alone).cloned().collect();
        let mut found = ScheduleNames {
            called,
            shared: behind::shared(trace, self.order),
            ..ScheduleNames::new(self.threads, self.names, self.order)
        };
        let mut known: HashMap<String, u64> = HashMap::new();
        let mut alike = HashSet::new();
        let trailing = trace.trailing.iter().map(|t| (t.object, t.mask));
        let steps = trace.steps.iter().map(|step| (step.object, step.mask));
        let all: HashSet<(u32, u64)> = steps.chain(trailing).collect();
        for (object, mask) in all {
            let Some(address) = found.address(object, mask) else {
                continue;
            };
            let name = found.name(object, mask);
            if *known.entry(name.clone()).or_insert(address) != address {
                alike.insert(name);
            }
        }
        found.alike = alike;
        found.known.take();
        found
    }

    /// Where it is; of what stands in a library's header, the call in the user's own sources.
    pub(crate) fn place(&self, site: u32) -> Option<Place> {
        let place = self.names.origin(self.threads.origin(site));
        let stack = || self.threads.naming()?.at_site.get(&site);
        self.own(place, stack)
    }

    /// Where a thread waits that cannot go on, and who called, innermost first: as far as it is the user's own sources.
    pub(crate) fn waiting(&self, thread: Process, site: u32) -> (Option<Place>, Vec<Place>) {
        let naming = self.threads.naming();
        let stack = naming.and_then(|naming| naming.announced(thread.into()));
        let place = self.own(self.names.origin(self.threads.origin(site)), || stack);
        let frames = self.names.frames(stack.map_or(&[][..], Vec::as_slice));
        let mut own: Vec<Place> = { frames.into_iter() }
            .filter(|frame| !frame.function.starts_with("landfall_runtime"))
            .filter(|frame| !blocks::is_theirs(&frame.file))
            .collect();
        let is_place = |frame: &Place| {
            (place.as_ref())
                .is_some_and(|at| at.file == frame.file && at.function == frame.function)
        };
        match own.first().is_some_and(is_place) {
            true => _ = own.remove(0),
            false => own.clear(),
        }
        (place, own)
    }

    /// Where a transition of the last execution is.
    fn place_of(&self, at: usize, step: &Step) -> Option<Place> {
        let place = self.names.origin(self.threads.origin(step.site));
        let stack = || self.threads.naming()?.stacks.get(at);
        match self.own(place, stack) {
            Some(place) if !blocks::is_theirs(&place.file) => Some(place),
            _ => self.place(step.site),
        }
    }

    /// Who called where a transition of the last execution is; nobody where it is in a function that nobody calls.
    fn stack_of(&self, at: usize) -> Vec<Place> {
        let naming = self.threads.naming();
        self.frames(naming.and_then(|naming| naming.stacks.get(at)))
    }

    /// The same of an access that is no transition, or became one when it left a store buffer.
    fn stack_at(&self, thread: usize, site: u32) -> Vec<Place> {
        let naming = self.threads.naming();
        self.frames(naming.and_then(|naming| naming.accessed(thread, site)))
    }

    fn frames(&self, stack: Option<&Vec<u64>>) -> Vec<Place> {
        let frames = stack.map_or_else(Vec::new, |stack| self.names.frames(stack));
        match frames.len() {
            0 | 1 => Vec::new(),
            _ => frames,
        }
    }

    fn own<'s>(
        &self,
        place: Option<Place>,
        stack: impl Fn() -> Option<&'s Vec<u64>>,
    ) -> Option<Place> {
        let theirs = place.as_ref().is_none_or(|at| blocks::is_theirs(&at.file));
        let nearest = || blocks::nearest(self.names, stack()?);
        match theirs {
            true => nearest().or(place),
            false => place,
        }
    }

    /// Does a step only count how many share something? Nobody wants to read of that.
    fn is_noise(&self, step: &Step) -> bool {
        if step.act == Op::Pass.act() && step.access == Access::None {
            return true;
        }
        // A transaction may begin: nothing speaks against it.
        if self.threads.is_answer(step.object) && step.found == 0 {
            return true;
        }
        // A store goes into the buffer.
        if step.access == Access::Read && self.threads.is_blocks(step.object) {
            return true;
        }
        // Nothing has arrived.
        if step.act == Op::Deliver.act() && step.access == Access::Read {
            return true;
        }
        let place = self.names.origin(self.threads.origin(step.site));
        place.as_ref().is_some_and(counts)
    }

    /// What an object is called, in a sentence.
    pub(crate) fn object(&self, object: u32, mask: u64) -> String {
        let name = self.name(object, mask);
        match name.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '*') {
            true => format!("`{name}`"),
            false => name,
        }
    }

    /// Does an object stand for something that the program knows?
    pub(crate) fn is_memory(&self, object: u32) -> bool {
        !self.threads.is_blocks(object)
    }

    /// Does a step begin an atomic block?
    fn begins_block(&self, step: &Step) -> bool {
        step.act == Act::Rmw && self.threads.is_blocks(step.object)
    }

    /// Where the bytes of an object are.
    fn address(&self, object: u32, mask: u64) -> Option<u64> {
        let line = self.threads.address(object)?;
        let within = match line % 64 {
            0 => mask.trailing_zeros() % 64,
            _ => 0,
        };
        Some(line + u64::from(within))
    }

    /// A name that others have as well says where it is.
    fn apart(&self, name: String, address: u64) -> String {
        match self.alike.contains(&name) {
            true => format!("{name} at {address:#x}"),
            false => name,
        }
    }

    /// A variable, or where it lies.
    pub(super) fn name(&self, object: u32, mask: u64) -> String {
        if let Some(known) = self.known.borrow().get(&(object, mask)) {
            return known.clone();
        }
        let name = self.find_name(object, mask);
        let mut known = self.known.borrow_mut();
        known.insert((object, mask), name.clone());
        name
    }

    fn find_name(&self, object: u32, mask: u64) -> String {
        let Some(line) = self.threads.address(object) else {
            return "memory".to_owned();
        };
        if self.threads.is_blocks(object) {
            return "an atomic block".to_owned();
        }
        if let Some((thread, signal)) = self.threads.signal(object) {
            let signal = signal_name(signal);
            return match thread {
                Some(thread) => format!("{signal} for {}", column(thread)),
                None => signal,
            };
        }
        let address = self.address(object, mask).unwrap_or(line);
        if let Some(offset) = landfall_native::persistent_offset(address) {
            if let Some(name) = self.called.get(&(object, mask)) {
                return name.clone();
            }
            return crate::names::address(offset);
        }
        if landfall_native::is_channel(address) {
            return "a pipe or socket".to_owned();
        }
        match self.names.variable(address) {
            Some(name) if name.ends_with("threads::HEAP_LOCK") => "the persistent heap".to_owned(),
            Some(name) if name.ends_with("threads::POOL_LOCK") => "the pool files".to_owned(),
            Some(name) if name.contains("channel_calls::CHANNEL_") => {
                "pipes and sockets".to_owned()
            }
            Some(name) if name.ends_with("text::NEXT_TOKEN") => "strtok's own variable".to_owned(),
            Some(name) => self.apart(name, address),
            None => {
                let name = self.threads.naming().and_then(|naming| {
                    let same = || SameNames::of(self.names, naming);
                    blocks::name(self.names, naming, address).or_else(|| {
                        let same = self.on_stacks.get_or_init(same);
                        locals::name(self.names, naming, same, address)
                    })
                });
                match name {
                    Some(name) => self.apart(name, address),
                    None => format!("{address:#x}"),
                }
            }
        }
    }

    /// The function that makes memory something else, or nothing, if a step is one of its lines.
    fn remaps(&self, step: &Step) -> Option<&'static str> {
        self.remaps_at(step.site)
    }

    fn remaps_at(&self, site: u32) -> Option<&'static str> {
        let function = self.names.function(self.threads.origin(site))?;
        let remaps = [
            "munmap", "mprotect", "mremap", "madvise", "mmap", "brk", "sbrk",
        ];
        remaps.into_iter().find(|name| *name == function)
    }

    /// The same, if one of the two accesses of a race is of that kind.
    pub(crate) fn remapping(&self, race: &DataRace) -> Option<&'static str> {
        let sites = [race.first.site, race.second.site];
        sites.into_iter().find_map(|site| self.remaps_at(site))
    }

    /// Is it what this function of the runtime's does?
    fn is_of(&self, step: &Step, function: &str) -> bool {
        self.names.function(self.threads.origin(step.site)) == Some(function)
    }

    /// What becomes of a variable where its function, or its block, is entered or left.
    fn of_frame(&self, site: u32, object: impl std::fmt::Display) -> Option<String> {
        match self.names.function(self.threads.origin(site))? {
            "function_return" => Some(format!("returns: {object} is gone")),
            "block_end" => Some(format!("leaves a block: {object} is gone")),
            "function_entry" => Some(format!("takes the place of {object}")),
            _ => None,
        }
    }

    /// What is read and written in a critical section that is one step.
    fn within(&self, step: &Step, trace: &Trace) -> Option<String> {
        let mut does: Vec<(String, bool, bool)> = Vec::new();
        // What nobody else changes says nothing about an order.
        let concerns = |object: u32, mask: u64| {
            (self.shared.get(&object)).is_some_and(|bytes| bytes & mask != 0)
        };
        let accessed = trace.sets.accessed(step.section).iter();
        for &(object, mask, writes) in accessed.filter(|(object, mask, _)| concerns(*object, *mask))
        {
            let name = self.name(object, mask);
            match does.iter_mut().find(|(known, ..)| *known == name) {
                Some((_, read, written)) => {
                    (*read, *written) = (*read || !writes, *written || writes)
                }
                None => does.push((name, !writes, writes)),
            }
        }
        let more = does.len() > FEW;
        let mut words: Vec<String> = { does.into_iter().take(FEW) }
            .map(|(name, read, written)| match (read, written) {
                (true, true) => format!("reads and writes {name}"),
                (true, false) => format!("reads {name}"),
                _ => format!("writes {name}"),
            })
            .collect();
        words.extend(more.then(|| "more".to_owned()));
        (!words.is_empty()).then(|| words.join(", "))
    }

    pub(crate) fn what(&self, step: &Step, trace: &Trace) -> String {
        let object = self.name(step.object, step.mask);
        let value = |value: u64| match value {
            0..=0xffff => value.to_string(),
            _ => format!("{value:#x}"),
        };
        match step.act {
            _ if self.begins_block(step) => {
                self.remaps(step).unwrap_or("an atomic block").to_owned()
            }
            Act::Load => format!("reads {object}: {}", value(step.found)),
            Act::Store if self.remaps(step).is_some() => {
                format!("{} of {object}", self.remaps(step).unwrap_or_default())
            }
            Act::Store => self
                .of_frame(step.site, &object)
                .unwrap_or_else(|| format!("{object} = {}", value(step.left))),
            Act::Commit => format!("{object} = {}", value(step.left)),
            Act::Rmw => format!(
                "{object}: {} becomes {}",
                value(step.found),
                value(step.left)
            ),
            Act::Cas if step.access == Access::Write => {
                format!(
                    "{object}: {} becomes {}",
                    value(step.found),
                    value(step.left)
                )
            }
            Act::Cas => format!(
                "{object} is {}, not {}",
                value(step.found),
                value(step.expect)
            ),
            Act::Sync(Op::Pass) if step.access == Access::Write => {
                format!("is the serial thread of {object}")
            }
            Act::Sync(Op::TimedWake)
                if !Op::TimedWake.succeeds(self.order.thread(step.process), step.found) =>
            {
                format!("goes on without a signal of {object}")
            }
            Act::Sync(Op::Pend) if step.found == step.left => {
                format!("the timer of {object} is set anew")
            }
            Act::Sync(Op::Pend) => format!("{object} arrives"),
            Act::Sync(Op::Deliver | Op::AwaitSignal) => {
                format!("takes {object}: its handler runs")
            }
            // With what it does in there to a condition: one more waits for it, or who did was signalled.
            Act::Sync(Op::Section) if step.condition != NOWHERE => {
                let condition = self.name(step.condition, ALL);
                match step.left.count_ones() == step.found.count_ones() + 1 {
                    true => {
                        format!("locks {object}, unlocks it and begins to wait for {condition}")
                    }
                    false => format!("locks {object}, signals {condition} and unlocks it"),
                }
            }
            Act::Sync(Op::Section) => match self.within(step, trace) {
                Some(does) => format!("{does} with {object} locked"),
                None => format!("locks and unlocks {object}"),
            },
            Act::Sync(op) if step.access == Access::None => format!("{} once more", verb(op)),
            Act::Sync(op) => format!("{} {object}", verb(op)),
            Act::Flush => format!("flushes {object}"),
            Act::Transaction => self.transaction(trace, step),
            Act::Other if self.threads.is_answer(step.object) => {
                "its transaction is aborted for no reason: _xbegin() returns _XABORT_RETRY"
                    .to_owned()
            }
            Act::Other if self.threads.is_blocks(step.object) => "others may go on".to_owned(),
            Act::Other if step.access == Access::Write && self.is_of(step, "fork") => {
                format!("forks thread {}: a process", step.left)
            }
            Act::Other if step.access == Access::Write => format!("creates thread {}", step.left),
            Act::Fence | Act::Other => "goes on".to_owned(),
        }
    }

    /// A non-temporal store that one after it overtook within the first so many steps.
    pub(crate) fn overtaken(&self, trace: &Trace, count: usize) -> Option<String> {
        let is_commit = |step: &Step| self.order.is_companion(step.process);
        let shown = &trace.steps[..count.min(trace.steps.len())];
        let (late, early) = (trace.steps.iter().enumerate()).find_map(|(at, late)| {
            let overtakes = |early: &&Step| {
                self.order.same_thread(early.process, late.process)
                    && early.act == Act::Commit
                    && is_commit(early)
                    && early.need.1 > late.need.1
            };
            let before = &shown[..at.min(shown.len())];
            let early = before.iter().find(overtakes)?;
            (late.streams && is_commit(late)).then_some((late, early))
        })?;
        let place = |step: &Step| self.place(step.site).map(|place| place.colons());
        Some(format!(
            "the non-temporal store at {} reaches memory after the store at {} that follows it; an `sfence` between them orders the two",
            place(late)?,
            place(early)?
        ))
    }

    /// The first so many steps of an execution, who waits at its end, and what is wrong there.
    pub(crate) fn table(&self, trace: &Trace, count: usize, shows: TableEnd<'_>) -> ScheduleTable {
        self.of(trace).told(trace, count, shows)
    }

    fn told(&self, trace: &Trace, count: usize, shows: TableEnd<'_>) -> ScheduleTable {
        let failure = self.threads.naming().and_then(|naming| naming.failed());
        let failure = failure.filter(|_| matches!(shows, TableEnd::Failure(_)));
        let shown = behind::shown(trace, self.order, count, failure);
        let mut deeds = Vec::new();
        let mut running: Option<usize> = None;
        let mut raced = match shows {
            TableEnd::Race(race) => {
                self.raced_first(trace, &trace.steps[..count.min(trace.steps.len())], race)
            }
            _ => None,
        };
        // What only sends a signal is no thread.
        let sender = |thread: usize| {
            let own = trace.steps.iter();
            let mut own = own.filter(|step| usize::from(step.process) == thread);
            let first = own.next()?;
            let sends = |step: &Step| step.act == Op::Pend.act();
            let signal = self.threads.signal(first.object)?.1;
            (sends(first) && own.all(sends) && thread != 0).then(|| signal_name(signal))
        };
        let spoils = |step: &Step| {
            !self.order.is_companion(step.process) && self.threads.is_spoiler(step.process)
        };
        let besides = match shows {
            TableEnd::Failure(_) => behind::besides(trace, &self.shared),
            _ => Vec::new(),
        };
        let mut besides = besides.iter().peekable();
        let shown = shown.iter().map(|&at| (at, &trace.steps[at]));
        for (at, step) in shown.filter(|(_, step)| !spoils(step)) {
            while let Some(access) =
                besides.next_if(|access| (access.after.wrapping_add(1) as usize) <= at)
            {
                deeds.extend(self.access(access));
                running = Some(access.thread.into());
            }
            deeds.extend(
                raced
                    .take_if(|(index, _)| *index <= at)
                    .map(|(_, deed)| deed),
            );
            let thread = self.order.thread(step.process);
            let commits = self.order.is_companion(step.process);
            if let Some(before) = running.filter(|&before| !commits && before != thread)
                && !trace.enabled[at].contains(before as Process)
                && sender(before).is_none()
            {
                deeds.push(self.stops(trace, at, before));
            }
            if !commits {
                running = Some(thread);
            }
            if self.is_noise(step) {
                continue;
            }
            let object = self.name(step.object, step.mask);
            deeds.push(ThreadDeed {
                thread,
                at: self.place_of(at, step).map(|at| line(&at)),
                text: self.what(step, trace),
                stack: match step.act {
                    Act::Commit => self.stack_at(thread, step.site),
                    _ => self.stack_of(at),
                },
                what: match step.act {
                    _ if self.begins_block(step) => What::Sync(object),
                    Act::Commit => What::Commit(object),
                    Act::Sync(_) => What::Sync(object),
                    Act::Load | Act::Store | Act::Rmw | Act::Cas => What::Access(object),
                    Act::Flush | Act::Fence | Act::Transaction | Act::Other => What::Other,
                },
            });
        }
        for wait in &trace.blocked {
            if let (Wait::Step(step), End::Deadlock) = (wait, trace.end) {
                deeds.push(self.waits(trace, step, self.waiting(step.process, step.site).0));
            }
        }
        // Whom the failing thread had joined has ended.
        let joined = |thread: usize| {
            let known = failure.map_or(&[][..], |(_, joined)| joined);
            known
                .iter()
                .any(|&(process, _)| usize::from(process) == thread)
        };
        if let Some(before) = running.filter(|&thread| joined(thread)) {
            deeds.push(ends(before, "ends"));
        }
        match (shows, trace.failures.first()) {
            (TableEnd::Failure(text), Some(last)) => deeds.push(ThreadDeed {
                thread: last.thread.into(),
                at: None,
                text: text.to_owned(),
                stack: Vec::new(),
                what: What::Fails,
            }),
            (TableEnd::Race(race), _) => {
                deeds.extend(raced.map(|(_, deed)| deed));
                let and = ", unordered";
                deeds.push(self.races(race, &race.second, What::Fails, and));
            }
            _ => {}
        }
        let name = |thread: usize| sender(thread).unwrap_or_else(|| column(thread));
        let threads: Vec<String> = (0..self.threads.room_for_threads()).map(name).collect();
        ScheduleTable {
            turns: turns(&threads, &deeds),
            threads,
        }
    }

    /// The first access of a data race where it is no step that is told anyway: before which step it comes.
    fn raced_first(
        &self,
        trace: &Trace,
        steps: &[Step],
        race: &DataRace,
    ) -> Option<(usize, ThreadDeed)> {
        let first = &race.first;
        let is_first = |step: &Step| {
            step.site == first.site && self.order.thread(step.process) == usize::from(first.thread)
        };
        if steps.iter().any(is_first) {
            return None;
        }
        let mut others = trace.trailing.iter();
        let known =
            others.find(|access| (access.site, access.thread) == (first.site, first.thread));
        let before = known.map_or(usize::MAX, |access| access.after.wrapping_add(1) as usize);
        let what = What::Access(self.name(race.object, race.mask));
        Some((before, self.races(race, first, what, "")))
    }

    /// An access that is no step.
    fn access(&self, access: &Trailing) -> Option<ThreadDeed> {
        let (thread, site) = (usize::from(access.thread), access.site);
        let place = self.names.origin(self.threads.origin(site));
        if place.as_ref().is_some_and(counts) || self.threads.is_blocks(access.object) {
            return None;
        }
        let stack = self.stack_at(thread, site);
        let naming = self.threads.naming();
        let place = self.own(place, || naming?.accessed(thread, site));
        let object = self.name(access.object, access.mask);
        let verb = if access.write { "writes" } else { "reads" };
        let text = self
            .of_frame(site, &object)
            .unwrap_or_else(|| format!("{verb} {object}"));
        Some(ThreadDeed {
            thread,
            at: place.map(|at| line(&at)),
            text,
            stack,
            what: What::Access(object),
        })
    }

    /// One access of a data race.
    fn races(&self, race: &DataRace, party: &Party, what: What, and: &str) -> ThreadDeed {
        let object = self.name(race.object, race.mask);
        let verb = if party.write { "writes" } else { "reads" };
        ThreadDeed {
            thread: party.thread.into(),
            at: self.place(party.site).map(|at| line(&at)),
            text: format!("{verb} {object}{and}"),
            stack: self.stack_at(party.thread.into(), party.site),
            what,
        }
    }

    /// A thread could not go on at a step: it waits, or has ended.
    fn stops(&self, trace: &Trace, at: usize, thread: usize) -> ThreadDeed {
        let next = trace.steps.iter().enumerate().skip(at);
        let mut next = next.filter(|(_, step)| usize::from(step.process) == thread);
        let later = || trace.steps[at..].iter().map(|step| step.process);
        let stores = later().any(|process| {
            self.order.is_companion(process) && self.order.thread(process) == thread
        });
        let blocked = trace.blocked.iter().find_map(|wait| match wait {
            Wait::Step(step) if usize::from(step.process) == thread => Some(step),
            _ => None,
        });
        // What comes of a thread after its last step shows only where it fails, or where the program ends with it.
        let goes_on = thread == 0
            || trace
                .failures
                .iter()
                .any(|f| usize::from(f.thread) == thread);
        let place = |step: &Step| self.waiting(step.process, step.site).0;
        match (next.next(), blocked) {
            (Some((at, step)), _) => self.waits(trace, step, self.place_of(at, step)),
            (None, Some(step)) => self.waits(trace, step, place(step)),
            // What its buffer holds reaches memory further on.
            _ if stores && !trace.assumed.contains(thread as Process) => ThreadDeed {
                thread,
                at: None,
                text: "waits for its own stores".to_owned(),
                stack: Vec::new(),
                what: What::Waits("its own stores".to_owned()),
            },
            _ if goes_on && !trace.assumed.contains(thread as Process) => ThreadDeed {
                thread,
                at: None,
                text: "waits for others to end".to_owned(),
                stack: Vec::new(),
                what: What::Waits("others to end".to_owned()),
            },
            _ => match trace.assumed.contains(thread as Process) {
                false => ends(thread, "ends"),
                true => ends(thread, "assumes what does not hold"),
            },
        }
    }

    fn waits(&self, trace: &Trace, step: &Step, place: Option<Place>) -> ThreadDeed {
        let object = match step.act {
            Act::Sync(_) => self.name(step.object, step.mask),
            _ if step.until == Until::Changed => "a change".to_owned(),
            // Of those that it joined, the last to end.
            _ if step.joined != 0 => {
                let joined = trace.sets.joined(step.joined).iter();
                let last = joined.map(|&(process, _)| self.order.thread(process)).max();
                format!("{} to end", column(last.unwrap_or(0)))
            }
            _ => "its own stores".to_owned(),
        };
        ThreadDeed {
            thread: self.order.thread(step.process),
            at: place.map(|at| line(&at)),
            text: format!("waits for {object}"),
            stack: Vec::new(),
            what: What::Waits(object),
        }
    }
}

fn ends(thread: usize, text: &str) -> ThreadDeed {
    ThreadDeed {
        thread,
        at: None,
        text: text.to_owned(),
        stack: Vec::new(),
        what: What::Ends,
    }
}

/// Is it where a library counts how many share something?
fn counts(place: &Place) -> bool {
    let files = [
        "bits/shared_ptr_base.h",
        "ext/atomicity.h",
        "bits/shared_ptr_atomic.h",
    ];
    files.iter().any(|file| place.file.ends_with(file))
}

fn line(place: &Place) -> String {
    format!("{}:{}", place.file, place.line)
}

fn verb(op: Op) -> &'static str {
    match op {
        Op::Section => "locks and unlocks",
        Op::Lock | Op::LockExclusive => "locks",
        Op::TryLock | Op::TryLockExclusive | Op::TryLockShared => "tries to lock",
        Op::LockShared => "locks for reading",
        Op::Unlock | Op::UnlockShared => "unlocks",
        Op::Take | Op::TryTake => "takes from",
        Op::Give => "gives to",
        Op::Wait => "begins to wait for",
        Op::Wake | Op::WakeToLook | Op::TimedWake => "is woken by",
        Op::Signal => "signals",
        Op::Broadcast => "broadcasts",
        Op::Arrive => "arrives at",
        Op::Pass => "leaves",
        Op::Once => "once:",
        Op::OnceDone | Op::OnceAbort => "has done once:",
        Op::Init => "makes",
        Op::Destroy => "destroys",
        Op::Pend => "sends",
        Op::Deliver => "takes",
        Op::AwaitSignal => "waits for",
        Op::Hold => "holds",
        Op::LetGo => "gives back",
    }
}
