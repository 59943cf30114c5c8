//! A program that can be executed once, from its start, under full control (ALGORITHMS.md §1).

use landfall_model::commit::{Effect, commit_order};
use landfall_model::image::Image;
use landfall_model::line::{Addr, Line, LineBytes, Piece};
use landfall_model::log::{Cut, Log, Version};
use landfall_model::order::Platform;
use smallvec::SmallVec;
use std::rc::Rc;

/// What one run is told.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// Persistent memory as it is found, but for the overrides.
    pub image: &'a Image,
    /// Lines of `image` that changed since the last job of the same search: a run costs what changed, not the pool.
    pub changed: &'a [Line],
    /// Lines that this run finds different from `image`.
    pub overrides: &'a [(Line, LineBytes)],
    /// Power failures so far.
    pub failures: u32,
    /// What of the run is asked for.
    pub wanted: Wanted,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// Its first reads alone.
    Reads,
    /// Everything it did.
    Events,
}

impl Job<'_> {
    /// A line as the run finds it.
    pub fn line(&self, line: Line) -> LineBytes {
        match self.overrides.iter().find(|(l, _)| *l == line) {
            Some((_, bytes)) => *bytes,
            None => self.image.line(line),
        }
    }
}

/// Bytes of one aligned 8-byte word that a run read before it wrote or read them itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FirstRead {
    /// The word's address.
    pub word: Addr,
    /// Which of its bytes.
    pub mask: u8,
}

impl FirstRead {
    pub fn line(self) -> Line {
        self.word.line()
    }

    /// What it returns from a line's bytes: the bytes of the mask, others zero.
    pub fn value(self, line: &[u8; 64]) -> u64 {
        let at = self.word.offset();
        let mut bytes = [0; 8];
        for (i, byte) in bytes.iter_mut().enumerate() {
            if self.mask & (1 << i) != 0 {
                *byte = line[at + i];
            }
        }
        u64::from_le_bytes(bytes)
    }
}

/// A first read and what it returned.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Read {
    pub read: FirstRead,
    pub value: u64,
}

/// What a program says about its own reads (landfall.h), or what belongs together. Reads inside such regions lead the crash
/// search on like any other: it judges by outcome. Checkers that judge reads hold back there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mark {
    IgnoreBegin,
    IgnoreEnd,
    ChecksumBegin,
    ChecksumAccepted,
    ChecksumRejected,
    /// The stores up to the end are of one call of `memcpy` or the like.
    CopyBegin,
    CopyEnd,
    /// What follows is done by this thread: fences wait for its own write-backs only.
    Thread(u8),
}

/// One thing a run did, in the order it did it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    Read(Read),
    Store(Piece),
    NtStore(Piece),
    /// A store that the model takes as durable at once: file metadata, allocator state excluded by option.
    DurableStore(Piece),
    Clflush(Line),
    /// `clflushopt` or `clwb`.
    ClflushOpt(Line),
    /// `sfence`, `mfence` or a locked instruction: completes the write-backs before it.
    Fence,
    Mark(Mark),
}

/// How a run ended, as far as the search needs to know. The number means something to the subject alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Ended {
    Well,
    Badly(u32),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Execution {
    /// Its first reads, in order.
    pub reads: Vec<Read>,
    /// Everything it did, reads included, if that was asked for.
    pub events: Vec<Event>,
    /// What it says about its reads, each with the number of first reads before it.
    pub marks: Vec<(u32, Mark)>,
    /// The same for the checkers, if events were asked for and someone judges.
    pub judged: Option<Rc<landfall_check::Execution>>,
    /// It went on, but only its first reads and its end are known from there.
    pub shortened: bool,
    pub ended: Ended,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SubjectError {
    /// Someone wants the search to end: a limit, or the user.
    #[error("stopped")]
    Stopped,
    #[error("{0}")]
    CannotRun(String),
}

pub trait Subject {
    /// Is it time to stop? The search asks where it works for long without a run.
    fn stopped(&mut self) -> bool {
        false
    }

    /// Deterministic: the same job gives the same execution.
    fn run(&mut self, job: &Job<'_>) -> Result<Execution, SubjectError>;

    /// The same for many jobs on one image, of which only the first may name changed lines. Executions are handed over in the
    /// order of the jobs, whatever runs beside what; those before an error are valid.
    fn run_all(
        &mut self,
        jobs: &[Job<'_>],
        each: &mut dyn FnMut(Execution),
    ) -> Result<(), SubjectError> {
        for job in jobs {
            each(self.run(job)?);
        }
        Ok(())
    }

    /// The search of the first execution has come to this cut, with so many behaviours found: for whoever watches.
    fn at_cut(&mut self, cut: Cut, behaviours: usize) {
        let _ = (cut, behaviours);
    }

    /// The tree of recoveries holds so many reads and branches now: for whoever watches.
    fn tree_holds(&mut self, size: usize) {
        let _ = size;
    }
}

impl Execution {
    pub fn new(events: Vec<Event>, ended: Ended) -> Execution {
        let (mut reads, mut marks) = (Vec::new(), Vec::new());
        for event in &events {
            match event {
                Event::Read(read) => reads.push(*read),
                Event::Mark(mark) => marks.push((reads.len() as u32, *mark)),
                _ => {}
            }
        }
        Execution {
            reads,
            events,
            marks,
            judged: None,
            shortened: false,
            ended,
        }
    }

    /// It ended well, and what power failures in it would lead to is not known.
    pub(crate) fn is_left_uncut(&self) -> bool {
        self.shortened && self.ended == Ended::Well
    }

    /// The log of a single-threaded run: one thread's stores commit in program order, and which of them were still buffered
    /// at the power failure is the choice of the cut (MODEL.md §4).
    pub fn log(&self, platform: Platform) -> Log {
        self.log_with_origins(platform).0
    }

    /// The same with copies torn, if so.
    pub fn log_torn(&self, platform: Platform, tear: bool) -> Log {
        self.logged(platform, tear).0
    }

    /// The log, and for each of its entries the event it comes from.
    pub fn log_with_origins(&self, platform: Platform) -> (Log, Vec<usize>) {
        self.logged(platform, false)
    }

    /// The log, and for each of its entries the event it comes from. With `tear`, pieces of one copy on one line may persist in
    /// any order.
    pub fn logged(&self, platform: Platform, tear: bool) -> (Log, Vec<usize>) {
        let mut log = Log::new(platform);
        let mut origins = Vec::new();
        // Write-backs that no fence has waited for: whose, and what they write back.
        let mut pending: SmallVec<[(u8, Line, Version); 8]> = SmallVec::new();
        let threads = threads(&self.events);
        let copies = if tear {
            copies(&self.events)
        } else {
            Vec::new()
        };
        let copy_of = |at: usize| copies.get(at).copied().flatten();
        let effects: Vec<Effect> = self.events.iter().map(Event::effect).collect();
        // Under a schedule, everything stands where it was committed.
        let order = match threads.is_empty() {
            true => commit_order(&effects),
            false => (0..self.events.len()).collect(),
        };
        let mut next = 0;
        while let Some(&at) = order.get(next) {
            next += 1;
            if let Some(copy) = copy_of(at) {
                // All of the copy on this line: they stand together.
                let line = self.events[at].line();
                let same =
                    |&&at: &&usize| copy_of(at) == Some(copy) && self.events[at].line() == line;
                let others = order[next..].iter().take_while(same);
                let thread = threads.get(at).copied().unwrap_or(0);
                let parts: Vec<usize> = std::iter::once(at).chain(others.copied()).collect();
                next += parts.len() - 1;
                let pieces: Vec<Piece> = parts
                    .iter()
                    .filter_map(|&at| match self.events[at] {
                        Event::Store(piece) | Event::NtStore(piece) => Some(piece),
                        _ => None,
                    })
                    .collect();
                log.torn_stores(thread.into(), &pieces);
                origins.extend(parts);
                if let Some(line) = line {
                    let whole = log.newest(line, log.end());
                    match (platform, &self.events[at]) {
                        (_, Event::NtStore(_)) => pending.push((thread, line, whole)),
                        (Platform::Eadr, _) => log.durable(line, whole),
                        (Platform::Adr, _) => {}
                    }
                }
                origins.resize(log.entries().len(), at);
                continue;
            }
            let thread = threads.get(at).copied().unwrap_or(0);
            match self.events[at] {
                Event::Read(_) | Event::Mark(_) => {}
                Event::DurableStore(piece) => {
                    let version = log.store(thread.into(), piece);
                    log.durable(piece.addr.line(), version);
                }
                Event::Store(piece) => {
                    log.store(thread.into(), piece);
                }
                Event::NtStore(piece) => {
                    let version = log.nt_store(thread.into(), piece);
                    pending.push((thread, piece.addr.line(), version));
                }
                Event::Clflush(line) => log.durable(line, log.newest(line, log.end())),
                Event::ClflushOpt(line) => {
                    pending.push((thread, line, log.newest(line, log.end())))
                }
                Event::Fence => {
                    for &(_, line, version) in pending.iter().filter(|&&(by, ..)| by == thread) {
                        log.durable(line, version);
                    }
                    pending.retain(|&mut (by, ..)| by != thread);
                }
            }
            origins.resize(log.entries().len(), at);
        }
        (log, origins)
    }
}

/// For each event, the thread that did it; empty where there is one thread only.
fn threads(events: &[Event]) -> Vec<u8> {
    let switch = |event: &Event| match event {
        Event::Mark(Mark::Thread(thread)) => Some(*thread),
        _ => None,
    };
    if !events.iter().any(|event| switch(event).is_some()) {
        return Vec::new();
    }
    let mut thread = 0;
    let by = |event: &Event| {
        thread = switch(event).unwrap_or(thread);
        thread
    };
    events.iter().map(by).collect()
}

/// For each event, the copy that it is a store of, if any.
fn copies(events: &[Event]) -> Vec<Option<u32>> {
    let mut number = 0;
    let mut inside = false;
    let store = |event: &Event| matches!(event, Event::Store(_) | Event::NtStore(_));
    let copy = |event: &Event| {
        match event {
            Event::Mark(Mark::CopyBegin) => (inside, number) = (true, number + 1),
            Event::Mark(Mark::CopyEnd) => inside = false,
            _ => {}
        }
        (inside && store(event)).then_some(number)
    };
    events.iter().map(copy).collect()
}

impl Event {
    /// The line whose order with non-temporal stores is kept.
    fn line(&self) -> Option<Line> {
        match self {
            Event::Store(piece) | Event::NtStore(piece) | Event::DurableStore(piece) => {
                Some(piece.addr.line())
            }
            Event::Clflush(line) | Event::ClflushOpt(line) => Some(*line),
            Event::Read(_) | Event::Fence | Event::Mark(_) => None,
        }
    }

    fn effect(&self) -> Effect {
        match self {
            Event::NtStore(piece) => Effect::NonTemporal(piece.addr.line()),
            Event::Store(piece) => Effect::OfLine(piece.addr.line()),
            Event::Clflush(line) | Event::ClflushOpt(line) => Effect::OfLine(*line),
            Event::Fence | Event::DurableStore(_) => Effect::Barrier,
            Event::Read(_) | Event::Mark(_) => Effect::Nothing,
        }
    }
}
