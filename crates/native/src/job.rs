//! What a run starts from.

use crate::deadline::Deadline;
pub use landfall_vocab::shared::{FEW_THREADS, MOST_THREADS};
pub use landfall_vocab::shared::{InputKind, InputValue, Sleeper};
use landfall_vocab::window;
use std::sync::Arc;
use std::time::Duration;

/// One 64-byte line of persistent memory, by its offset in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub offset: u64,
    pub bytes: [u8; window::LINE as usize],
}

/// Persistent memory as lines that differ from the server's base (which starts as all zero, plus the pool files found).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    pub lines: Vec<Line>,
}

impl Image {
    /// Overwrites bytes; the lines in between come from this image, or are zero.
    pub fn write(&mut self, mut offset: u64, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let start = offset & !(window::LINE - 1);
            let within = (offset - start) as usize;
            let part = bytes.len().min(window::LINE as usize - within);
            let line = match self.lines.iter().rposition(|line| line.offset == start) {
                Some(at) => at,
                None => {
                    self.lines.push(Line {
                        offset: start,
                        bytes: [0; window::LINE as usize],
                    });
                    self.lines.len() - 1
                }
            };
            self.lines[line].bytes[within..within + part].copy_from_slice(&bytes[..part]);
            offset += part as u64;
            bytes = &bytes[part..];
        }
    }
}

/// When a run counts as endless, and how much of it is kept.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Function entries and loop iterations of instrumented code.
    pub events: u64,
    pub trace_bytes: u64,
    pub output_bytes: u64,
    /// Memory of the program: beyond it allocations fail, and a program that has taken it all the same is ended.
    pub memory_bytes: u64,
    /// Processor time without a step of instrumented code.
    pub processor: Duration,
    /// Real time, for a program stuck where nothing deterministic can stop it.
    pub wall: Duration,
    /// When nobody waits for the run any more.
    pub until: Deadline,
}

impl Limits {
    pub(crate) fn patience(&self) -> WaitPatience {
        WaitPatience {
            wall: self.wall,
            until: self.until,
        }
    }
}

/// How long a run is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitPatience {
    pub(crate) wall: Duration,
    pub(crate) until: Deadline,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            events: 50_000_000,
            trace_bytes: 2 << 30,
            output_bytes: 64 << 10,
            memory_bytes: 4 << 30,
            processor: Duration::from_secs(10),
            wall: Duration::from_secs(60),
            until: Deadline::default(),
        }
    }
}

/// Where runs happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Isolation {
    /// A process per run.
    Fork,
    /// One process for many runs, restored in between; a run that cannot be restored is repeated in a fork.
    Restart,
    /// `Restart` until something speaks against it, then `Fork`.
    #[default]
    Auto,
}

/// How threads run.
#[derive(Clone, Debug, Default)]
pub struct Threading {
    /// Threads have store buffers.
    pub buffered: bool,
    /// Stores to persistent memory, flushes and fences are steps, of one thread as well.
    pub persistency: bool,
    /// Plain accesses to shared memory are steps, all of them; otherwise those that were made points.
    pub everywhere: bool,
    /// Creating a thread is a step, in conflict with every other creation: their order says which thread has which number.
    pub creations: bool,
    /// There are atomic blocks, so every access of memory is in conflict with them.
    pub blocks: bool,
    /// Some of them take memory away: a store to it is in conflict with them already when it is issued.
    pub mappings: bool,
    /// There are hardware transactions: whether they are aborted for no reason is asked of processes of their own.
    pub transactions: bool,
    /// Why they are aborted.
    pub htm: Htm,
    /// Critical sections are single steps.
    pub sections: bool,
    /// Plain accesses that are steps, by their origins (`site | caller << 32`); and locks whose critical sections are not.
    pub points: Option<Arc<Vec<u64>>>,
    /// Threads have numbers that others had before them, whom their creator has joined.
    pub again: bool,
    /// There are non-temporal stores; and the lines, which others touch, to which these have streams. Without: all lines.
    pub non_temporal: bool,
    pub streamed: Option<Arc<Vec<u64>>>,
    /// Streams of non-temporal stores that each thread has, and how many threads there may be; none for any number. With streams,
    /// choices name store buffers from `most` on. Without, from [`landfall_vocab::shared::FEW_THREADS`] on where these are enough, and
    /// from [`landfall_vocab::shared::MOST_THREADS`] on where they are not.
    pub streams: u8,
    pub most: u16,
    /// Who is not chosen beyond the schedule, from step `keep` on, until something touches what its next step does.
    pub sleepers: Vec<Sleeper>,
    pub keep: usize,
    /// Steps before the run ends; none for no limit.
    pub most_steps: Option<u64>,
    /// Steps are announced with their call stacks.
    pub announced: bool,
    /// And with where on their stacks variables are.
    pub named: bool,
    /// A turn of a loop that was in vain happens where the schedule says so, and its thread goes on: the schedule is another one's.
    pub turns: bool,
    /// What a turn in vain leaves behind is overlooked, unless somebody reads it later.
    pub leftovers: bool,
    pub policy: Policy,
    /// Every execution of a search is run, and none put together from what threads are known to do.
    pub run_all: bool,
    /// Signals arrive at any time, and this is known of them; without, a run ends where one could.
    pub signals: Option<Arc<KnownSignals>>,
    /// Without a schedule: end where a signal could arrive at any time.
    pub asks_for_signals: bool,
    /// How often a timer that repeats goes off.
    pub timer_signals: u32,
    /// Where a debugger stops.
    pub stop: Option<StopAt>,
}

/// An access of a thread to one of these bytes (where, and how many), from a place of the program (`site | caller << 32`), when so many steps were
/// taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopAt {
    pub thread: u16,
    pub origin: u64,
    pub bytes: (u64, u32),
    pub steps: u32,
}

/// What is learned of signals that arrive at any time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownSignals {
    /// Those that are sent, by [`landfall_vocab::shared::signal_number`].
    pub sent: Vec<u64>,
    /// Words of memory that handlers touch.
    pub touched: Vec<u64>,
    /// Signals that the main thread blocks at some time, a bit for each.
    pub main_blocks: u64,
}

impl Threading {
    /// The number of the first store buffer in choices.
    pub(crate) fn companions(&self) -> u16 {
        // Spoilers are in the upper half.
        match (self.streams, usize::from(self.most)) {
            (0, 1..=FEW_THREADS) => FEW_THREADS as u16,
            (0, _) => MOST_THREADS as u16,
            (_, most) => most as u16,
        }
    }
}

/// How hardware transactions are aborted, besides for what they do themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Htm {
    pub failures: HtmFailures,
    /// The cache that holds what one has written.
    pub cache: HtmCache,
}

/// Why transactions are aborted, besides for what they do themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HtmFailures {
    /// For every reason that processors have.
    #[default]
    Full,
    /// For no reason, and that is not told apart from others.
    Retry,
    /// Because of conflicts alone, byte by byte, as where transactions are software.
    Stm,
}

impl HtmFailures {
    const NAMES: [(HtmFailures, &str); 3] = [
        (HtmFailures::Full, "full"),
        (HtmFailures::Retry, "retry"),
        (HtmFailures::Stm, "stm"),
    ];

    pub fn name(self) -> &'static str {
        let own = Self::NAMES.iter().find(|(failures, _)| *failures == self);
        own.map_or("full", |(_, name)| name)
    }

    pub fn named(name: &str) -> Option<HtmFailures> {
        let own = Self::NAMES.iter().find(|(_, own)| *own == name);
        own.map(|(failures, _)| *failures)
    }
}

/// A cache: so many sets of so many lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HtmCache {
    pub sets: u32,
    pub ways: u32,
}

impl Default for HtmCache {
    /// 32 KiB, eight ways.
    fn default() -> HtmCache {
        HtmCache { sets: 64, ways: 8 }
    }
}

/// Who goes on where a schedule says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Stores reach memory at once, the running thread goes on while it can.
    #[default]
    Quiet,
    /// Another thread, the next in turn; stores wait as long as they can.
    PreemptFirst,
    /// Whoever these dice choose.
    Dice(std::num::NonZeroU64, Draw),
}

/// How dice choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Draw {
    /// At each choice all are alike.
    #[default]
    Uniform,
    /// Threads and store buffers have ranks, and the highest goes on (PCT, ASPLOS 2010). At `depth` - 1 steps among the first `length`
    /// whoever would go on gets the lowest rank.
    Ranks { depth: u32, length: u32 },
    /// Each step has a rank, and gets another whenever a step that it depends on went first (POS, CAV 2018).
    Order,
}

/// The number of a call that stands for all that are not named.
pub use landfall_vocab::shared::ANY_CALL;

/// One run.
#[derive(Clone, Debug, Default)]
pub struct Job {
    pub image: Image,
    /// Power failures before this run, as the program sees it.
    pub failures: u32,
    pub limits: Limits,
    pub stdin: Vec<u8>,
    /// What calls that ask for any value are told. The others get what the one with the number [`ANY_CALL`] says, or 0.
    pub inputs: Arc<Vec<InputValue>>,
    /// Run threads under control, these taking the first steps ([`landfall_vocab::shared::ANYBODY`]: whoever the default is). Without it a program that
    /// creates a thread is refused.
    pub schedule: Option<Vec<u16>>,
    /// With a schedule: which accesses are steps, and how stores reach memory.
    pub threads: Threading,
    /// First reads are all that is asked for: of an endless run, other events may be missing.
    pub reads_only: bool,
    /// Record call stacks with the events.
    pub stacks: bool,
    /// Run in a process of its own whatever the server's isolation.
    pub fork: bool,
    /// After an in-place run, compare all restored memory with what it must be.
    pub audit: bool,
    /// Say what is in memory at the end.
    pub final_state: bool,
}
