//! A program that can be executed once, from its start, under full control (ALGORITHMS.md §1).

use landfall_model::image::Image;
use landfall_model::line::{Addr, Line, LineBytes, Piece};
use landfall_model::log::{Log, Version};
use landfall_model::order::Platform;
use smallvec::SmallVec;

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

/// One thing a run did, in the order it did it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    Read {
        read: FirstRead,
        value: u64,
    },
    Store(Piece),
    NtStore(Piece),
    /// A store that the model takes as durable at once: file metadata, allocator state excluded by option.
    DurableStore(Piece),
    Clflush(Line),
    /// `clflushopt` or `clwb`.
    ClflushOpt(Line),
    /// `sfence`, `mfence` or a locked instruction: completes the write-backs before it.
    Fence,
}

/// How a run ended, as far as the search needs to know. The number means something to the subject alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Ended {
    Well,
    Badly(u32),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Execution {
    pub events: Vec<Event>,
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
}

impl Execution {
    /// The log of a single-threaded run: one thread's stores commit in program order, and which of them were still buffered
    /// at the power failure is the choice of the cut (MODEL.md §4).
    pub fn log(&self, platform: Platform) -> Log {
        self.log_with_origins(platform).0
    }

    /// The log, and for each of its entries the event it comes from.
    pub fn log_with_origins(&self, platform: Platform) -> (Log, Vec<usize>) {
        let mut log = Log::new(platform);
        let mut origins = Vec::new();
        let mut pending: SmallVec<[(Line, Version); 8]> = SmallVec::new();
        for (at, event) in self.events.iter().enumerate() {
            match *event {
                Event::Read { .. } => {}
                Event::DurableStore(piece) => {
                    let version = log.store(0, piece);
                    log.durable(piece.addr.line(), version);
                }
                Event::Store(piece) => {
                    log.store(0, piece);
                }
                Event::NtStore(piece) => {
                    let version = log.nt_store(0, piece);
                    pending.push((piece.addr.line(), version));
                }
                Event::Clflush(line) => log.durable(line, log.newest(line, log.end())),
                Event::ClflushOpt(line) => pending.push((line, log.newest(line, log.end()))),
                Event::Fence => {
                    for (line, version) in pending.drain(..) {
                        log.durable(line, version);
                    }
                }
            }
            origins.resize(log.entries().len(), at);
        }
        (log, origins)
    }

    pub fn first_reads(&self) -> impl Iterator<Item = (FirstRead, u64)> + '_ {
        self.events.iter().filter_map(|event| match *event {
            Event::Read { read, value } => Some((read, value)),
            _ => None,
        })
    }
}
