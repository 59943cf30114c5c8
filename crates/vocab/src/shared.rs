//! The memory a checker and one server process share (a memfd): a control block, the table of source sites, and slots.
//! A slot carries one job in and one execution out. Sizes are virtual: the file is sparse.

use crate::reply;
use crate::rewrite::{MOST_PLACES, TrappedPlace, entry};
use core::sync::atomic::{AtomicU32, AtomicU64};

/// Random schedules in which each step draws a rank of its own, and again whenever one that it depends on went first.
pub const DRAW_ORDER: u32 = u32::MAX;

/// Threads of a run, main included.
pub const MOST_THREADS: usize = 512;
/// With so many, they and their store buffers are bits of one word.
pub const FEW_THREADS: usize = 32;
/// Threads, store buffers and streams of a run.
pub const MOST_PROCESSES: usize = 2048;

pub const MAGIC: u64 = 0x6c6c_6166_646e_616c; // "landfall"
/// Descriptor number at which a server finds the shared memory; it closes it once mapped.
pub const CONTROL_FD: i32 = 1019;
/// Environment variable that makes a program serve instead of simply running.
pub const SERVE: &str = "LANDFALL_SERVE";
/// Environment variable by which glibc is told which processor to take this one for.
pub const PROCESSOR: &str = "GLIBC_TUNABLES";
/// The plainest x86-64 there is, with caches of one size: what libc reads at once, and the last digit of what libm computes,
/// are then the same on every machine.
pub const PLAIN_PROCESSOR: &str = concat!(
    "glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-AVX_Fast_Unaligned_Load,-BMI2,-ERMS,-FMA,-FMA4,-FSRM,",
    "-Fast_Copy_Backward,-Fast_Rep_String,-Fast_Unaligned_Copy,-Fast_Unaligned_Load,-MOVBE,-Prefer_ERMS,-Prefer_FSRM,-RTM,",
    "-SSE4_1,-SSE4_2,-SSSE3,-Slow_BSF:glibc.cpu.x86_non_temporal_threshold=0xc0000:",
    "glibc.cpu.x86_rep_movsb_threshold=2048:glibc.cpu.x86_rep_stosb_threshold=2048"
);

pub const SLOTS: usize = 128;

/// Bytes of a slot's trace whose memory is never given back to the system.
pub const fn trace_kept(slot: usize) -> u64 {
    match slot % SLOTS {
        0 => 256 << 20,
        _ => 1 << 20,
    }
}

pub const FRAMES: usize = 64;

/// Words of a function that is being called: see [`crate::record::RecordKind::Activations`].
pub const ACTIVATION: usize = 3;
pub const TEXT: usize = 1024;
pub const OUTPUT: u64 = 1 << 20;

/// Of an output longer than `limit` bytes the first so many are kept; the rest of the room holds its end, as a ring.
pub const fn output_head(limit: u64) -> u64 {
    limit / 4 * 3
}

const MIB: u64 = 1 << 20;
pub const CONTROL_LEN: u64 = 384 << 10;
pub const SITES_AT: u64 = CONTROL_LEN;
pub const SITES_LEN: u64 = 512 * MIB;
/// The script of the client ([`crate::client`]), and what its commands say ([`crate::reply`]).
pub const CLIENT_AT: u64 = SITES_AT + SITES_LEN;
pub const CLIENT_LEN: u64 = reply::QUESTION_AT + reply::QUESTION_LEN;
/// Of the script.
pub const SCRIPT_LEN: u64 = reply::REPLIES_AT;
pub const SLOTS_AT: u64 = CLIENT_AT + CLIENT_LEN;
pub const HEADER_LEN: u64 = 16 << 10;
pub const STDOUT_AT: u64 = HEADER_LEN;
pub const STDERR_AT: u64 = STDOUT_AT + OUTPUT;
pub const STDIN_AT: u64 = STDERR_AT + OUTPUT;
/// Who takes each step, two bytes each: the schedule to follow.
pub const CHOICES_AT: u64 = STDIN_AT + OUTPUT;
pub const CHOICES_LEN: u64 = 2 * MIB - SLEEPERS_LEN - INPUTS_LEN;
pub const MOST_CHOICES: u64 = CHOICES_LEN / 2;
/// Where nobody says who takes a step.
pub const ANYBODY: u16 = u16::MAX;
/// Who is not to be chosen where nobody says: [`Sleeper`]s.
pub const SLEEPERS_AT: u64 = CHOICES_AT + CHOICES_LEN;
pub const SLEEPERS_LEN: u64 = 64 << 10;
pub const MOST_SLEEPERS: usize = SLEEPERS_LEN as usize / core::mem::size_of::<Sleeper>();
/// What the program is told where it asks for any value: [`InputValue`]s.
pub const INPUTS_AT: u64 = SLEEPERS_AT + SLEEPERS_LEN;
pub const INPUTS_LEN: u64 = 16 << 10;
pub const MOST_INPUTS: usize = INPUTS_LEN as usize / core::mem::size_of::<InputValue>();
pub const IMAGE_AT: u64 = CHOICES_AT + 2 * MIB;
pub const IMAGE_LEN: u64 = 1024 * MIB;
pub const TRACE_AT: u64 = IMAGE_AT + IMAGE_LEN;
pub const TRACE_LEN: u64 = 2048 * MIB;
pub const SLOT_LEN: u64 = TRACE_AT + TRACE_LEN;
pub const TOTAL_LEN: u64 = SLOTS_AT + SLOT_LEN * SLOTS as u64;

/// Bytes of one line of an image: its offset in the window, then its 64 bytes.
pub const IMAGE_LINE: u64 = 72;

/// States of a slot.
pub mod slot_state {
    pub const FREE: u32 = 0;
    pub const POSTED: u32 = 1;
    pub const RUNNING: u32 = 2;
    pub const DONE: u32 = 3;
}

/// How far a server has come.
pub mod phase {
    pub const STARTING: u32 = 0;
    pub const SERVING: u32 = 1;
    /// It cannot serve; the reason is in `Control::text`.
    pub const REFUSED: u32 = 2;
}

/// Options of a server.
pub mod option {
    /// `malloc` is persistent.
    pub const PM_HEAP: u64 = 1;
    /// The words of that allocator are durable at once instead of being modelled.
    pub const PM_HEAP_DURABLE_META: u64 = 2;
    /// Accesses to the volatile heap are looked at.
    pub const HEAP: u64 = 4;
    /// As in SV-COMP: what calls `abort` assumes, and any exit code is as good as 0.
    pub const SV_COMP: u64 = 8;
    /// Fresh blocks of `malloc` hold garbage; those of the persistent heap.
    pub const FRESH_MALLOC: u64 = 16;
    pub const FRESH_HEAP: u64 = 32;
}

/// How the heap was misused.
pub mod heap_error {
    pub const READ_AFTER_FREE: i32 = 1;
    pub const WRITE_AFTER_FREE: i32 = 2;
    pub const DOUBLE_FREE: i32 = 3;
    pub const INVALID_FREE: i32 = 4;
    pub const READ_OUTSIDE: i32 = 5;
    pub const WRITE_OUTSIDE: i32 = 6;
    /// The stack of a running thread was taken away; which thread, instead of a number of bytes.
    pub const LIVE_STACK: i32 = 7;
    /// A variable of a function that has returned. Instead of who allocated it: whose it was, plus one.
    pub const READS_DEAD_FRAME: i32 = 8;
    pub const WRITES_DEAD_FRAME: i32 = 9;
}

/// Where runs happen.
pub mod isolation {
    pub const FORK: u32 = 0;
    pub const RESTART: u32 = 1;
    pub const AUTO: u32 = 2;
}

#[repr(C)]
#[derive(Debug)]
pub struct Control {
    pub magic: u64,
    pub version: u32,
    pub slots: u32,
    /// Moves to `phase::SERVING` when jobs may be posted. A futex.
    pub phase: AtomicU32,
    /// Raised with every posted job; a server sleeps on it. A futex.
    pub doorbell: Alone<AtomicU32>,
    /// Raised with every finished job; a checker sleeps on it. A futex.
    pub finished: Alone<AtomicU32>,
    /// Nonzero: the server leaves.
    pub quit: AtomicU32,
    pub server_pid: AtomicU32,
    /// The process that runs the current job, zero between jobs.
    pub child_pid: AtomicU32,
    /// An `isolation`; a server that must give up in-place restart stores `FORK` here and the reason in `text`.
    pub isolation: AtomicU32,
    /// Nonzero while the other side sleeps and must be woken.
    pub server_asleep: Alone<AtomicU32>,
    pub checker_asleep: Alone<AtomicU32>,
    /// Ring position of the next job to take.
    pub cursor: Alone<AtomicU32>,
    pub text_len: AtomicU32,
    pub options: u64,
    /// Seed of every random source of the program.
    pub seed: u64,
    /// Bytes by which every block of the persistent heap is moved, a multiple of 16.
    pub heap_offset: u64,
    pub sites: AtomicU64,
    pub strings_len: AtomicU64,
    /// Load address of the executable, for turning code addresses into source positions.
    pub exe_base: AtomicU64,
    /// In-place restarts and forks so far.
    pub restarts: AtomicU64,
    pub forks: AtomicU64,
    /// Of the runs in place, those that went on from where the first thread is created.
    pub went_on: AtomicU64,
    /// Nonzero once a run has asked the persistent heap for a block.
    pub allocates: AtomicU32,
    /// Nonzero once time has jumped for a thread that looked at the clock in vain.
    pub time_jumped: AtomicU32,
    /// Nonzero: some run asked for persistent memory, or how often the power has failed. One that does neither does the same again
    /// after a power failure.
    pub asked: AtomicU32,
    /// Where runs asked for any value: how many of these there are, and whether there were more.
    pub inputs: AtomicU32,
    /// Bit 0 of values, bit 1 of waits.
    pub more_inputs: AtomicU32,
    pub input: [InputCall; MOST_INPUT_CALLS],
    pub text: [u8; TEXT],
    /// Bytes of standard input that every run gets; a server finds them as its own.
    pub stdin_len: u64,
    /// Bytes of the client's script; 0 where there is none.
    pub client_len: u64,
    /// Bytes of what its commands are known to say.
    pub replies_len: AtomicU64,
    pub question: Question,
    pub pm_dir_len: u64,
    pub pm_dir: [u8; 4096],
    /// Plain accesses that are steps of their own, by where they are in the program.
    pub points: [AtomicU64; POINTS],
    /// Lines whose non-temporal stores others can tell from each other: a bit for each, by [`point`].
    pub streamed: [AtomicU64; POINTS],
    /// Nonzero: some run got to where a signal may arrive at any time.
    pub signals: AtomicU32,
    /// Nonzero: some run began a hardware transaction.
    pub transactions: AtomicU32,
    /// Signals that are sent: a bit for each [`signal_word`], by its number.
    pub signal_words: [AtomicU64; SIGNAL_WORDS.div_ceil(64)],
    /// Signals that the main thread blocks at some time, a bit for each: others may get those that are for the process.
    pub main_blocks: AtomicU64,
    /// Words that handlers touch: a bit for each, by [`point`].
    pub handled: [AtomicU64; POINTS],
    /// Where rewritten code calls the runtime.
    pub entries: [AtomicU64; entry::COUNT],
    /// Instructions that accessed persistent memory and were trapped.
    pub trapped: [TrappedPlace; MOST_PLACES],
    /// How often that happened.
    pub traps: AtomicU64,
    pub leftovers: Leftovers,
}

/// What a run asks the checker: what a command of the client's says to something new ([`crate::reply`]). What it is told lies in the
/// client's area, and so does why there is no answer.
#[repr(C)]
#[derive(Debug)]
pub struct Question {
    /// A [`question`]. A futex.
    pub state: AtomicU32,
    /// As in a [`crate::reply::Reply`].
    pub after: AtomicU32,
    pub line: AtomicU32,
    pub telling: AtomicU32,
    /// Of what it is told, or of why there is no answer.
    pub length: AtomicU32,
}

/// How far a [`Question`] is.
pub mod question {
    pub const NONE: u32 = 0;
    pub const ASKED: u32 = 1;
    /// The reply is among those that are known.
    pub const ANSWERED: u32 = 2;
    /// There is none, for a reason.
    pub const REFUSED: u32 = 3;
}

/// What turns of loops left behind that were in vain but for that, and what was read later without having been written again: over all
/// runs of a search, as sets of hashes.
#[repr(C)]
#[derive(Debug)]
pub struct Leftovers {
    /// Nonzero: some turn left something, where that counts; or what a loop's turns leave is read, and its turns were overlooked.
    pub some: AtomicU32,
    pub wrong: AtomicU32,
    /// Nonzero: the sets are not empty.
    pub filled: AtomicU32,
    /// Bytes of a loop, by [`leftover`].
    pub left: [AtomicU64; LEFTOVERS],
    pub read: [AtomicU64; LEFTOVERS],
    /// Loops with such a turn, and loops whose turns count whatever they leave; by [`point`].
    pub overlooked: [AtomicU64; POINTS],
    pub counted: [AtomicU64; POINTS],
}

/// Words of the sets of [`Leftovers`].
pub const LEFTOVERS: usize = 1 << 14;

/// Which bit stands for bytes that a loop left behind. Two may share one: then one of them is taken to be read, perhaps.
pub const fn leftover(head: u64, bytes: u64) -> usize {
    let mixed = (head ^ bytes.rotate_left(23)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 44) as usize
}

/// Calls that ask for any value, over all runs of a server.
pub const MOST_INPUT_CALLS: usize = 512;

/// Where a run asked for any value.
#[repr(C)]
#[derive(Debug)]
pub struct InputCall {
    /// `call | thread << 32 | failures << 48 | kind << 56`: see [`InputValue`] and [`InputKind`].
    pub what: AtomicU64,
    /// `site | caller << 32`.
    pub origin: AtomicU64,
}

/// What the program is told: the answer to the call with this number, counted from 0, of this thread, after so many power failures.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InputValue {
    pub call: u32,
    pub thread: u16,
    pub failures: u16,
    pub value: u64,
}

/// The number of a call that stands for all that are not named.
pub const ANY_CALL: u32 = u32::MAX;

/// Waits are calls that ask how they end (0: as they do, 1: for no reason); their numbers begin here.
pub const WAIT_CALLS: u32 = 1 << 31;

/// What kind of value is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum InputKind {
    Bool = 0,
    I8 = 1,
    U8 = 2,
    I16 = 3,
    U16 = 4,
    I32 = 5,
    U32 = 6,
    I64 = 7,
    U64 = 8,
    F32 = 9,
    F64 = 10,
    /// Whether a wait ends for no reason.
    Wake = 11,
    /// No question: a wait ended, and its thread looked again at what it waited for, in a loop; or went on without.
    WakeLooked = 12,
    WakeTrusted = 13,
    /// Of several children that a process may be told of, whether it is not the first that has ended, but one created later.
    Child = 14,
}

impl InputKind {
    pub const ALL: [InputKind; 15] = [
        InputKind::Bool,
        InputKind::I8,
        InputKind::U8,
        InputKind::I16,
        InputKind::U16,
        InputKind::I32,
        InputKind::U32,
        InputKind::I64,
        InputKind::U64,
        InputKind::F32,
        InputKind::F64,
        InputKind::Wake,
        InputKind::WakeLooked,
        InputKind::WakeTrusted,
        InputKind::Child,
    ];

    /// Is it about a wait?
    pub fn is_wait(self) -> bool {
        matches!(
            self,
            InputKind::Wake | InputKind::WakeLooked | InputKind::WakeTrusted
        )
    }

    pub fn from_number(number: u8) -> Option<InputKind> {
        InputKind::ALL.get(usize::from(number)).copied()
    }

    /// How many an integer has.
    pub const fn bits(self) -> u32 {
        match self {
            InputKind::Bool
            | InputKind::Wake
            | InputKind::WakeLooked
            | InputKind::WakeTrusted
            | InputKind::Child => 1,
            InputKind::I8 | InputKind::U8 => 8,
            InputKind::I16 | InputKind::U16 => 16,
            InputKind::I32 | InputKind::U32 | InputKind::F32 => 32,
            InputKind::I64 | InputKind::U64 | InputKind::F64 => 64,
        }
    }
}

/// One entry of the site table; strings are offsets into the pool after the table.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct SiteEntry {
    pub file: u32,
    pub function: u32,
    pub line: u32,
    pub column: u32,
}

/// Where the strings of the site table start, counted from `SITES_AT`.
pub const STRINGS_AT: u64 = 384 * MIB;
pub const MAX_SITES: u64 = STRINGS_AT / 16;

/// How often a run is looked at, in milliseconds of processor time.
pub const TICK: u64 = 250;

/// Flags of a job.
pub mod job {
    /// Write a `Stack` record whenever the call stack changes.
    pub const STACKS: u32 = 1;
    /// Not a run: the image's lines become part of the base that later images are deltas of.
    pub const SET_BASE: u32 = 2;
    /// Not a run: the image's lines are [`crate::rewrite::Order`]s.
    pub const REWRITE: u32 = 4;
    /// Run it in a fork even if the server restarts in place.
    pub const FORK: u32 = 8;
    /// Threads are contexts under control instead of being refused.
    pub const THREADS: u32 = 32;
    /// Plain accesses to shared memory are steps of their own, all of them.
    pub const EVERYWHERE: u32 = 128;
    /// Threads have store buffers.
    pub const TSO: u32 = 256;
    /// Stores to persistent memory, `clflush` and fences are steps, of one thread as well.
    pub const PERSISTENCY: u32 = 512;
    /// After an in-place restart, compare all tracked memory with what it was before the run.
    pub const AUDIT: u32 = 16;
    /// First reads are all that is asked for: an endless trace may be squeezed.
    pub const READS_ONLY: u32 = 1 << 20;
    /// Before each step a thread announces, its call stack: a `Stack` record with its number.
    pub const ANNOUNCED: u32 = 1 << 21;
    /// With [`ANNOUNCED`]: and where on its stack variables are.
    pub const NAMED: u32 = 1 << 28;
    /// Where the schedule says nothing, another thread goes on rather than the running one, and stores wait.
    pub const PREEMPT_FIRST: u32 = 1 << 22;
    /// Several threads create others: each creation is a step, and they are in conflict with each other.
    pub const CREATIONS: u32 = 1 << 23;
    /// A turn of a loop that was in vain happens where the schedule says so, and its thread goes on.
    pub const TURNS: u32 = 1 << 29;
    /// Critical sections are single steps, but for those of locks that are points.
    pub const SECTIONS: u32 = 1 << 30;
    /// What a turn of a loop in vain leaves behind is overlooked, unless somebody reads it later.
    pub const LEFTOVERS: u32 = 1 << 31;
    /// Signals arrive at any time; without [`THREADS`], a run ends where one could.
    pub const SIGNALS: u32 = 1 << 24;
    /// At the end of the run, say what is in memory ([`super::SlotHeader::final_state`]).
    pub const STATE: u32 = 1 << 25;
    /// Memory is unmapped, protected or replaced while others may store to it: a store that is a step is one when it is issued, too.
    pub const MAPPINGS: u32 = 1 << 26;
    /// The run ends ([`super::End::Limit`]) where so many instructions were trapped that it pays to rewrite them first.
    pub const REWRITES: u32 = 1 << 10;
    /// A debugger looks on: at the end of the run, put persistent memory where the program has it.
    pub const SHOW: u32 = 64;
    /// There are hardware transactions: who spoils attempts has the number of its thread, plus half of [`super::JobHeader::companions`].
    pub const TRANSACTIONS: u32 = 1 << 27;
}

/// Why hardware transactions are aborted, besides for what they do themselves ([`JobHeader::htm`]).
pub mod htm {
    /// For every reason that processors have.
    pub const FULL: u32 = 0;
    /// For no reason, and that is not told apart from others.
    pub const RETRY: u32 = 1;
    /// Because of conflicts alone.
    pub const STM: u32 = 2;
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JobHeader {
    pub flags: u32,
    pub failures: u32,
    /// Function entries and loop iterations before the run counts as endless.
    pub budget: i64,
    /// Bytes of trace before the run counts as endless.
    pub trace_limit: u64,
    /// Lines in the image area.
    pub lines: u64,
    pub stdin_len: u64,
    /// Processor time without an instrumented step before the run counts as stuck, in [`TICK`]s.
    pub ticks: u64,
    /// Bytes kept of stdout and of stderr.
    pub output_limit: u64,
    /// Bytes of memory the program may have.
    pub memory: u64,
    /// Steps in the area of choices; later ones are taken by the default: the running thread goes on while it can.
    pub choices: u64,
    /// The choice from which on sleepers sleep, and how many entries the area of sleepers has.
    pub keep: u64,
    pub sleepers: u64,
    /// Entries in the area of inputs.
    pub inputs: u64,
    /// Choices before the run is ended.
    pub steps: u64,
    /// Where the schedule says nothing, whoever these dice choose; 0 for no dice.
    pub dice: u64,
    /// How processes are numbered in choices, sleepers and sets of them: threads, as many store buffers, and for each thread so
    /// many streams of non-temporal stores. No thread beyond `companions` is created.
    pub companions: u32,
    pub streams: u32,
    /// How often a timer that repeats goes off.
    pub signals: u32,
    /// How these dice choose: 0 anew at each choice; [`DRAW_ORDER`]; otherwise by ranks, which so many less one changes of lower somewhere
    /// among the first `length` steps.
    pub draw: u32,
    pub length: u32,
    /// Why hardware transactions are aborted ([`htm`]), and the cache that holds what one has written: sets and ways.
    pub htm: u32,
    pub cache_sets: u32,
    pub cache_ways: u32,
    /// Changes whenever something else does that the control block tells runs: two jobs with different ones may not begin alike.
    pub told: u32,
    pub unused: u32,
    /// Where a debugger stops: an access from this place of the program (0 for none) to one of these bytes, of this thread, when so many
    /// steps were taken.
    pub stop_origin: u64,
    pub stop_at: u64,
    pub stop_length: u64,
    pub stop_thread: u32,
    pub stop_steps: u32,
}

/// A thread or store buffer whose next step need not be looked at again, until something touches the same bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Sleeper {
    /// A line of memory, or a lock with [`LOCK`] set.
    pub place: u64,
    /// Which bytes of it.
    pub mask: u64,
    pub process: u32,
    /// Nonzero: its step writes. Others' reads concern it too.
    pub writes: u32,
}

/// Set in a place that is a lock or the like and no memory.
pub const LOCK: u64 = 1 << 63;

/// What creations of threads have in common: as if there were a lock.
pub const CREATIONS: u64 = LOCK | 8;

/// A round of a barrier, as something that threads touch.
pub const fn round_of(barrier: u64, round: u64) -> u64 {
    barrier | (round % 0xffff + 1) << ADDRESS_BITS
}

/// Where the lock or the barrier lies that is meant.
pub const fn address_of(place: u64) -> u64 {
    place & ((1 << ADDRESS_BITS) - 1)
}

const ADDRESS_BITS: u32 = 47;

/// In place of a lock: a critical section ends, or (read, with the lock in the first word) is no single step; or (written) does something to
/// a condition, whose place comes first, then which step that would be.
pub const SECTIONS: u64 = LOCK | 24;

/// What atomic blocks have in common with each other, and with every access outside of them.
pub const BLOCKS: u64 = LOCK | 16;

/// What is said of signals besides: that one is sent ([`crate::record::access::WRITE`], with its number), that a handler touches a
/// word ([`crate::record::access::READ`]), that the main thread blocks some (both, with a bit for each), or of timers (neither) one of
/// [`timer`].
pub const HANDLERS: u64 = LOCK | 32;

/// What is said of timers.
pub mod timer {
    /// One goes off again and again, but no more often than is asked for.
    pub const REPEATS: u64 = 1;
    /// Nobody can go on, unless one goes off once more than is asked for.
    pub const SPENT: u64 = 2;
}

/// In place of a lock: what its thread does from here on is not judged ([`crate::record::access::WRITE`]), or is again.
pub const UNJUDGED: u64 = LOCK | 40;

/// In place of a lock: a hardware transaction ends. Its status comes first; then 1 if it committed.
pub const TRANSACTIONS: u64 = LOCK | 56;

/// Where the answer to the how many-th question of a thread is written, whether a transaction of its is aborted.
pub const fn answer(thread: usize, question: u32) -> u64 {
    LOCK | ANSWERS_AT | (thread as u64) << 24 | (question as u64 % (1 << 20)) << 3
}

/// Is it such a place?
pub const fn is_answer(place: u64) -> bool {
    place >> 40 == (LOCK | ANSWERS_AT) >> 40
}

/// Where nothing else lies.
const ANSWERS_AT: u64 = 1 << 40;

/// In place of a lock: from here to its next step the thread may store again where it has stored, without a record of each time.
pub const UNSAID: u64 = LOCK | 48;

/// Where a lock or the like says which process has it, of those that the program forked; zero for the first.
pub const FORKED_AT: usize = 50;

/// In the address of a lock that the program says it holds: there may be one of libc's at the same place.
pub const SAID: usize = 1 << 55;

/// Signals are pending for one thread, or for the process: each is something that threads touch, like a lock. So many numbers there are.
pub const SIGNAL_WORDS: usize = (MOST_THREADS + 1) * (MOST_SIGNALS + 1);
pub const MOST_SIGNALS: usize = 64;

/// Where nothing else lies.
const SIGNALS_AT: usize = 0x1_0000;

/// A signal's number as pending for a thread; for the process without.
pub const fn signal_number(thread: Option<usize>, signal: usize) -> usize {
    let target = match thread {
        Some(thread) => thread + 1,
        None => 0,
    };
    target * (MOST_SIGNALS + 1) + signal
}

/// As a place, but for [`LOCK`].
pub const fn signal_word(number: usize) -> usize {
    SIGNALS_AT + 8 * number
}

/// Which signal is meant by such a place, and for which thread.
pub const fn signal_at(place: u64) -> Option<(Option<usize>, usize)> {
    let at = address_of(place) as usize;
    if place & LOCK == 0 || at < SIGNALS_AT || at >= signal_word(SIGNAL_WORDS) {
        return None;
    }
    let number = (at - SIGNALS_AT) / 8;
    let (target, signal) = (number / (MOST_SIGNALS + 1), number % (MOST_SIGNALS + 1));
    Some(match target {
        0 => (None, signal),
        target => (Some(target - 1), signal),
    })
}

/// Words of [`Control::points`]: a bit for each origin, by [`point`].
pub const POINTS: usize = 1024;

/// Which bit stands for an origin. Two may share one: then both are points.
pub const fn point(origin: u64) -> usize {
    (origin.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize
}

macro_rules! outcomes {
    ($($(#[$doc:meta])* $name:ident = $number:literal),* $(,)?) => {
        /// How a run ended.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum End { $($(#[$doc])* $name = $number),* }
        impl End {
            pub const fn from_number(number: u32) -> Option<End> {
                match number { $($number => Some(End::$name),)* _ => None }
            }
        }
    };
}

outcomes!(
    /// The process died without a word: killed from outside, or by the kernel. `code` is its wait status.
    Died = 0,
    /// `code` is the exit status.
    Exited = 1,
    /// `text` is `expression\0file\0function`, `code` the line.
    Assertion = 2,
    Abort = 3,
    /// `code` is the signal, `address` where it happened.
    Signal = 4,
    /// `text` names the exception's type.
    Terminate = 5,
    StackOverflow = 6,
    /// A virtual function was called that its class does not have: `code` is 1 where it is deleted, else it is pure.
    NoFunction = 18,
    /// The budget or the trace limit ran out; whether it would ever end is not known.
    Budget = 7,
    /// Processor time ran out without a step of instrumented code.
    Stuck = 8,
    /// It waits for something that cannot happen.
    Deadlock = 9,
    Thread = 10,
    /// `text` says which system call was refused, `code` is its number.
    Forbidden = 11,
    /// The runtime failed; `text` says how.
    Internal = 12,
    /// Not an end: the in-place restart of this run is not sound, `text` says why.
    NeedsFork = 13,
    /// All that could go on was asleep: the execution repeats another one.
    Asleep = 14,
    /// The limit of choices was reached.
    Limit = 15,
    /// The heap was used against its rules: `code` says how ([`heap_error`]), `address` where. `text` is hexadecimal: how many
    /// bytes, then (if there is one near) start and length of the block, a zero byte, and who allocated and who freed it, each
    /// a list of return addresses that ends with 0.
    Heap = 16,
    /// The schedule asks for a thread that cannot go on.
    Strayed = 17,
    /// It comes back to the same state for ever, and nobody else can change that.
    Hang = 19,
    /// Something that was to be assumed does not hold: this is no execution of the program.
    Assumed = 20,
    /// `reach_error` was called, which says that nobody is to come there.
    Reached = 21,
    /// A thread was left in a turn of a loop that was in vain: the search will run it without that turn.
    InVain = 22,
    /// A handler calls a function that it must not, while it interrupts one of them: `text` is `called\0interrupted`.
    SignalUnsafe = 23,
    /// The client did not get what it expects: `code` is the line of its script, `text` is `reason\0received` ([`crate::client::reason`]).
    Client = 24,
);

/// Accesses of persistent memory by uninstrumented code: how many, and where in memory and in the code the first was.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Foreign {
    pub reads: u64,
    pub writes: u64,
    pub address: u64,
    pub pc: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    pub end: u32,
    pub code: i32,
    pub address: u64,
    pub pc: u64,
    /// Site that was current when the budget ran out, else zero.
    pub site: u64,
    pub budget_left: i64,
    /// Bytes written, kept or not ([`output_head`]).
    pub stdout_len: u64,
    pub stderr_len: u64,
    pub foreign: Foreign,
    /// Where the run happened: an `isolation`.
    pub isolation: u32,
    /// Nonzero: it read from its standard input.
    pub read_input: u32,
    /// Bytes that differed after an in-place restart (audit).
    pub audit_bytes: u32,
    pub frames: u32,
    pub text_len: u32,
    pub frame: [u64; FRAMES],
    pub text: [u8; TEXT],
}

impl Outcome {
    /// Nothing is known.
    pub const NONE: Outcome = Outcome {
        end: End::Died as u32,
        code: 0,
        address: 0,
        pc: 0,
        site: 0,
        budget_left: 0,
        stdout_len: 0,
        stderr_len: 0,
        foreign: Foreign {
            reads: 0,
            writes: 0,
            address: 0,
            pc: 0,
        },
        isolation: 0,
        read_input: 0,
        audit_bytes: 0,
        frames: 0,
        text_len: 0,
        frame: [0; FRAMES],
        text: [0; TEXT],
    };
}

/// In a cache line of its own: one side looks at it again and again while the other writes what lies around it.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Alone<T>(T);

impl<T> core::ops::Deref for Alone<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

#[repr(C)]
#[derive(Debug)]
pub struct SlotHeader {
    pub state: Alone<AtomicU32>,
    /// The trace was squeezed: of what came before its last part, reads are all there is.
    pub squeezed: u32,
    /// While there were several threads, one did something that may come out differently though it finds the same: a call of the
    /// system or of a library, the heap, a turn of a loop that ended where it began.
    pub opaque: u32,
    /// Where it was asked for: what the program's own variables and blocks hold at the end, as a digest.
    pub final_state: u64,
    /// Bytes of trace written so far; in shared memory so that it survives any death.
    pub trace_len: AtomicU64,
    /// Of the trace, what came before choice [`JobHeader::keep`]: bytes, and their digest ([`crate::record::digest`]).
    pub kept: u64,
    pub kept_digest: u64,
    pub job: JobHeader,
    pub outcome: Outcome,
}

const _: () = assert!(core::mem::size_of::<SlotHeader>() as u64 <= HEADER_LEN);
const _: () = assert!(core::mem::size_of::<Control>() as u64 <= CONTROL_LEN);
