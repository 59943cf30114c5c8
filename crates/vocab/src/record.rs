//! How a trace is written: little-endian 64-bit words. Every record starts with two words:
//!
//! ```text
//! word 0   kind:8  low:8  flags:8  word index in the window:33  high:7
//! word 1   site:32  caller:32      (caller: code offset of the call, for library functions)
//! ```
//! `low` is the byte mask of a `Store` or `Read`; with `high` above it, a thread ([`RecordKind::has_thread`]); else the low three
//! address bits. Kinds with a third word (a value, a length) say so in [`RecordKind::has_value`]; `Run` and `Stack` are followed by a payload as well. Stores
//! and reads cost 24 bytes, flushes and fences 16.
//!
//! A trace comes from memory that the program under test could scribble on: decoding checks everything and never panics.

use crate::window;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal),* $(,)?) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum RecordKind { $($(#[$doc])* $name = $number),* }
        impl RecordKind {
            pub const fn from_number(number: u8) -> Option<RecordKind> {
                match number { $($number => Some(RecordKind::$name),)* _ => None }
            }
        }
    };
}

kinds!(
    /// At most eight bytes inside one aligned word, persisted atomically (docs/design/model.md §3).
    Store = 1,
    /// First read of bytes this execution neither wrote nor read before.
    Read = 2,
    Clflush = 3,
    Clflushopt = 4,
    Clwb = 5,
    Sfence = 6,
    Mfence = 7,
    Lfence = 8,
    /// A compare-and-swap that found another value: orders like a locked instruction and stores nothing.
    CasFailed = 9,
    /// A copy into persistent memory: the third word is its length, the bytes follow, padded to words.
    Run = 10,
    /// A memset: the third word is `length << 8 | byte`.
    Fill = 11,
    /// A block was handed out; the third word is its size.
    Alloc = 12,
    Free = 13,
    /// The call stack of the records that follow: the third word counts the return addresses after it. With `flags`, of the step that
    /// thread takes next.
    Stack = 14,
    /// Inline assembly that the pass could not read ran here.
    Asm = 15,
    /// The third word is a [`mark`].
    Mark = 16,
    /// A thread takes a step, or (from [`COMPANIONS`] on) its store buffer does: `flags` is a [`step`], the third word what it is
    /// about. The address is not zero where it was chosen. A word follows: who could have gone instead, a bit each; of more than 64
    /// processes, the first of them ([`RecordKind::Others`]).
    Step = 17,
    /// At the end of a deadlock, one per thread that waits: `flags` is a [`step`], the third word for what.
    Blocked = 18,
    /// What an access of a thread did: `flags` is an [`access`], the third word `address | length << 56`. Three
    /// words follow: what it found, what it left, what a compare-and-swap asked for.
    Access = 20,
    /// A thread ended the process while others could go on: the third word says how
    /// ([`crate::shared::End`]) and, above 32 bits, the exit code, the signal or the line of the assertion.
    Ended = 21,
    /// Before a spinning thread waits, one per range of bytes it reads: the third word as in `Access`.
    Watched = 22,
    /// A thread did something to others that is no step: `flags` is an [`unseen`].
    Unseen = 23,
    /// A thread hands memory to a function that nobody knows, which may touch it: `flags` is an [`access`], the third
    /// word as in `Access`.
    Foreign = 24,
    /// A block of the volatile heap was handed out, where steps are announced with call stacks: the address is its
    /// length, the third word where it lies. The call stack stands before it.
    Block = 25,
    /// A thread begins: the third word is what it runs and on what argument, as a digest.
    Started = 26,
    /// A thread looked at what tells it from others that run the same: the third word is an [`identity`].
    Identity = 27,
    /// A lock was used against its rules: `flags` is the [`step`] that did it, the third word the lock.
    Misuse = 19,
    /// Before a step, or at the end: who could have gone besides the first 64 processes. In place of a thread, which word of the set
    /// (from 1 on), and the third word is that.
    Others = 28,
    /// Behind a call stack, where people are told of variables: where the functions of the program keep theirs. The third word counts
    /// the words after it, three for each, innermost first: the return address into it, the stack pointer there, its frame (zero if
    /// nobody knows).
    Activations = 29,
);

impl RecordKind {
    pub const fn has_value(self) -> bool {
        matches!(
            self,
            RecordKind::Store
                | RecordKind::Read
                | RecordKind::Run
                | RecordKind::Fill
                | RecordKind::Alloc
                | RecordKind::Stack
                | RecordKind::Mark
                | RecordKind::Step
                | RecordKind::Blocked
                | RecordKind::Misuse
                | RecordKind::Access
                | RecordKind::Ended
                | RecordKind::Watched
                | RecordKind::Foreign
                | RecordKind::Block
                | RecordKind::Others
                | RecordKind::Started
                | RecordKind::Identity
                | RecordKind::Activations
        )
    }

    /// Is it no event of the program, but said about others: who called, which block of the heap is whose?
    pub const fn is_aside(self) -> bool {
        matches!(
            self,
            RecordKind::Stack | RecordKind::Block | RecordKind::Activations
        )
    }

    /// Is `low` a byte mask?
    pub const fn has_mask(self) -> bool {
        matches!(self, RecordKind::Store | RecordKind::Read)
    }

    /// Does it say whose it is?
    pub const fn has_thread(self) -> bool {
        matches!(
            self,
            RecordKind::Stack
                | RecordKind::Step
                | RecordKind::Blocked
                | RecordKind::Misuse
                | RecordKind::Access
                | RecordKind::Ended
                | RecordKind::Watched
                | RecordKind::Foreign
                | RecordKind::Block
                | RecordKind::Started
                | RecordKind::Identity
                | RecordKind::Others
                | RecordKind::Activations
        )
    }
}

/// Third word of a `Mark`.
pub mod mark {
    pub const CHECKSUM_BEGIN: u64 = 1;
    pub const CHECKSUM_ACCEPTED: u64 = 2;
    pub const CHECKSUM_REJECTED: u64 = 3;
    pub const IGNORE_BEGIN: u64 = 4;
    pub const IGNORE_END: u64 = 5;
    pub const YIELD: u64 = 6;
    /// `lf_pm` was called; the record's address is the region's end.
    pub const REGION: u64 = 7;
    /// What is stored up to the end is stored by one hardware transaction.
    pub const TOGETHER_BEGIN: u64 = 11;
    pub const TOGETHER_END: u64 = 12;
    /// A transaction begins, or takes one more level; its work is done, or undone.
    pub const TX_BEGIN: u64 = 8;
    pub const TX_END: u64 = 9;
    /// The transaction answers for the bytes from the record's address on; above 8 bits, how many.
    pub const TX_ADD: u64 = 10;
}

/// How a thread looked at what tells it from others.
pub mod identity {
    /// It asked for its own id.
    pub const ASKED: u64 = 1;
    /// It read the id of a thread, or the address of a variable of its own.
    pub const READ: u64 = 2;
    /// It stored such an address, or that of a block of its heap, or one on its stack, where others can see it.
    pub const STORED: u64 = 3;
    /// What it returned was taken by who joined it.
    pub const RESULT: u64 = 4;
}

/// What a thread did to others that is no step of a schedule.
pub mod unseen {
    /// Assembly that nobody took apart.
    pub const ASSEMBLY: u8 = 1;
    /// Memory that others may use was unmapped, protected, moved or emptied.
    pub const MAPPING: u8 = 2;
    pub const SIGNAL: u8 = 3;
    pub const TIMER: u8 = 4;
    /// Files, pipes, sockets.
    pub const FILE: u8 = 6;
    /// State inside libc.
    pub const LIBRARY: u8 = 7;
}

/// What a step is about to do.
pub mod step {
    pub const BEGIN: u8 = 0;
    pub const CREATE: u8 = 1;
    pub const EXIT: u8 = 2;
    pub const JOIN: u8 = 3;
    pub const YIELD: u8 = 4;
    pub const LOCK: u8 = 5;
    pub const TRY_LOCK: u8 = 6;
    pub const UNLOCK: u8 = 7;
    /// Lets go of the lock and waits.
    pub const WAIT: u8 = 8;
    /// Goes on after having been signalled (or, timed, after having waited long enough).
    pub const WAKE: u8 = 9;
    pub const SIGNAL: u8 = 10;
    pub const BROADCAST: u8 = 11;
    pub const LOCK_SHARED: u8 = 12;
    pub const TRY_LOCK_SHARED: u8 = 13;
    pub const ARRIVE: u8 = 14;
    pub const PASS: u8 = 15;
    pub const ONCE: u8 = 16;
    pub const ONCE_DONE: u8 = 17;
    pub const TAKE: u8 = 18;
    pub const TRY_TAKE: u8 = 19;
    pub const GIVE: u8 = 20;
    pub const SLEEP: u8 = 21;
    /// Accesses to memory; the object is `address | length << 56`.
    pub const READ: u8 = 22;
    pub const WRITE: u8 = 23;
    pub const UPDATE: u8 = 24;
    /// A buffered store reaches memory; the store itself was no step.
    pub const COMMIT: u8 = 25;
    /// Goes on when the thread's store buffer is empty.
    pub const FENCE: u8 = 26;
    /// Lets go of a lock for the time of a wait.
    pub const RELEASE: u8 = 27;
    pub const UNLOCK_SHARED: u8 = 28;
    /// Looks at a semaphore's value.
    pub const LOOK: u8 = 29;
    /// Waits if a word still holds what it did.
    pub const FUTEX_WAIT: u8 = 30;
    /// As a writer.
    pub const LOCK_EXCLUSIVE: u8 = 31;
    pub const TRY_LOCK_EXCLUSIVE: u8 = 32;
    /// Goes on whether it was signalled or not: it has waited long enough.
    pub const TIMED_WAKE: u8 = 33;
    /// Writes a line of persistent memory back (`clflush`); from a store buffer, a step of that.
    pub const FLUSH: u8 = 34;
    /// A fence that completes write-backs; an `sfence` is a step of the store buffer, or (where there is none) is about
    /// [`STORES_ONLY`].
    pub const ORDER: u8 = 35;
    pub const STORES_ONLY: u64 = 1;
    /// Has waited long enough so often that it now waits to be signalled: else a loop around it would never end.
    pub const LATE_WAKE: u8 = 36;
    /// Makes a lock or a condition, or ends its life.
    pub const INIT: u8 = 37;
    pub const DESTROY: u8 = 38;
    /// Begins an atomic block: what follows up to its end belongs to the step.
    pub const BLOCK: u8 = 39;
    /// At the head of a loop, until what was read in its last turn has changed. It is never written down.
    pub const AWAIT: u8 = 40;
    /// A signal becomes pending; a thread takes it if it is, or waits for it.
    pub const PEND: u8 = 41;
    pub const DELIVER: u8 = 42;
    pub const AWAIT_SIGNAL: u8 = 43;
    /// The program says that it holds a lock of its own making, or that it gives it back.
    pub const HOLD: u8 = 44;
    pub const LET_GO: u8 = 45;
    /// All that others do is tried before it and after it.
    pub const PREEMPT: u8 = 46;
    /// Goes on after having been signalled, to look again in a loop: where another one might have been woken instead.
    pub const WAKE_TO_LOOK: u8 = 47;
    /// A store goes into the buffer: only who takes its memory away is concerned.
    pub const ISSUE: u8 = 48;
    /// A hardware transaction is about to begin: asks whether it is aborted for no reason; the object is [`crate::shared::answer`].
    pub const ATTEMPT: u8 = 49;
    /// Answers that; of nobody who runs.
    pub const SPOIL: u8 = 50;
    /// All of a hardware transaction; or one that its own code aborts before the thread's stores are in memory.
    pub const TRANSACT: u8 = 51;
    pub const TRANSACT_EARLY: u8 = 52;
    pub const NAMES: [&str; 53] = [
        "begin",
        "create",
        "exit",
        "join",
        "yield",
        "lock",
        "try-lock",
        "unlock",
        "wait",
        "wake",
        "signal",
        "broadcast",
        "lock-shared",
        "try-lock-shared",
        "arrive",
        "pass",
        "once",
        "once-done",
        "take",
        "try-take",
        "give",
        "sleep",
        "read",
        "write",
        "update",
        "commit",
        "fence",
        "release",
        "unlock-shared",
        "look",
        "futex-wait",
        "lock-exclusive",
        "try-lock-exclusive",
        "timed-wake",
        "flush",
        "order",
        "late-wake",
        "init",
        "destroy",
        "block",
        "await",
        "pend",
        "deliver",
        "await-signal",
        "hold",
        "let-go",
        "preempt",
        "wake-to-look",
        "issue",
        "attempt",
        "spoil",
        "transact",
        "transact-early",
    ];
}

/// Store buffers have numbers of their own: their thread's, plus this.
pub const COMPANIONS: u16 = 1 << 14;

/// In the first word after an `Access` of a lock or the like, besides a value.
pub mod lifetime {
    /// It has been destroyed.
    pub const GONE: u64 = 1 << 63;
    /// It is made anew, or destroyed, though somebody holds it or waits for it.
    pub const IN_USE: u64 = 1 << 62;
    /// It is destroyed; what it holds stays for those who leave it.
    pub const KEPT: u64 = 1 << 61;
    /// It is taken, and a critical section begins that is a single step.
    pub const SECTION: u64 = 1 << 60;
    pub const ALL: u64 = GONE | IN_USE | KEPT | SECTION;
}

/// Flags of an `Access`. Bits 0..=2 hold the atomic ordering in LLVM's numbering.
pub mod access {
    pub const ORDERING: u8 = 7;
    pub const READ: u8 = 1 << 3;
    pub const WRITE: u8 = 1 << 4;
    /// A locked read-modify-write.
    pub const LOCKED: u8 = 1 << 5;
    /// A compare-and-swap; it wrote if it found what it asked for.
    pub const SWAP: u8 = 1 << 6;
    /// The store waits in the thread's store buffer. With [`READ`]: its commit is no step of its own. What it found is not known yet;
    /// in its place is 0, or [`streamed`].
    pub const BUFFERED: u8 = 1 << 7;

    /// Of a buffered store that is non-temporal: its stream (from 1 on; 0 if it waits with the others), and how many streams its
    /// thread would need by now.
    pub const fn streamed(stream: u64, wanted: u64) -> u64 {
        1 | stream << 8 | wanted << 16
    }

    /// Reads back what [`streamed`] says: the stream, and how many would be needed.
    pub const fn stream_of(word: u64) -> Option<(u64, u64)> {
        if word & 1 == 0 {
            return None;
        }
        Some((word >> 8 & 0xff, word >> 16 & 0xff))
    }
    /// Of a step on a lock or the like ([`crate::shared::LOCK`] is set in the third word): it did nothing that others notice. With
    /// an ordering and no place: a fence of the source.
    pub const NOTHING: u8 = 0;
}

/// Flags of a record. Bits 0..=2 hold the atomic ordering in LLVM's numbering.
pub mod flag {
    pub const ORDERING: u8 = 7;
    pub const RELEASE: u8 = 5;
    /// The one ordering that LLVM leaves free: no atomic store, but part of what a memory function wrote. In a trace it is on the
    /// `Run`, or on each piece after the first; events have it on the pieces after the first.
    pub const COPIED: u8 = 3;
    pub const VOLATILE: u8 = 1 << 3;
    pub const NON_TEMPORAL: u8 = 1 << 4;
    /// Part of a locked read-modify-write.
    pub const LOCKED: u8 = 1 << 5;
    /// Durable at once: file metadata, allocator state that is excluded from the model.
    pub const DURABLE: u8 = 1 << 6;
    /// Written by code that was not compiled with `landfall cc`; found afterwards.
    pub const FOREIGN: u8 = 1 << 7;
    pub const NAMES: [(u8, &str); 5] = [
        (VOLATILE, "volatile"),
        (NON_TEMPORAL, "non-temporal"),
        (LOCKED, "locked"),
        (DURABLE, "durable"),
        (FOREIGN, "foreign"),
    ];
    pub const ORDERINGS: [&str; 8] = [
        "",
        "unordered",
        "relaxed",
        "", // COPIED
        "acquire",
        "release",
        "acq_rel",
        "seq_cst",
    ];
}

pub const fn head(kind: RecordKind, low: u8, flags: u8, offset: u64) -> u64 {
    kind as u64 | (low as u64) << 8 | (flags as u64) << 16 | (offset >> 3) << 24
}

/// Of a record that says whose it is.
pub const fn head_of(kind: RecordKind, thread: u16, flags: u8, offset: u64) -> u64 {
    head(kind, thread as u8, flags, offset) | (thread as u64 >> 8) << HIGH
}

/// Where `high` is.
const HIGH: u32 = 57;

pub const fn origin(site: u32, caller: u32) -> u64 {
    site as u64 | (caller as u64) << 32
}

/// Who did it: a source site, or a library function and the code address that called it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    pub site: u32,
    /// Offset of the call in the executable, for library functions, or what [`library_call`] makes of it; zero otherwise.
    pub caller: u32,
}

/// Set in `Origin::caller`: the call is in a library that was compiled like the program.
pub const LIBRARY_CALL: u32 = 1 << 31;

/// Where nothing is moved at random, libraries lie in the last two gigabytes below the stack's end.
const LIBRARIES: u64 = (1 << 47) - LIBRARY_CALL as u64;

/// A return address in a library, as `Origin::caller`.
pub fn library_call(address: u64) -> Option<u32> {
    let offset = address.checked_sub(LIBRARIES)?;
    (offset < u64::from(LIBRARY_CALL)).then_some(LIBRARY_CALL | offset as u32)
}

/// The return address that was made to such a `caller`.
pub fn address_of_library_call(caller: u32) -> Option<u64> {
    let is = caller & LIBRARY_CALL != 0;
    is.then(|| LIBRARIES + u64::from(caller & !LIBRARY_CALL))
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    pub kind: RecordKind,
    /// Which bytes of the word at `offset`, for `Store` and `Read`.
    pub mask: u8,
    /// Whose it is, where it says so; what [`RecordKind`] says.
    pub thread: u16,
    /// [`flag`]s, or what [`RecordKind`] says.
    pub flags: u8,
    pub origin: Origin,
    /// Offset in the window: of the word for `Store` and `Read`, of the byte otherwise.
    pub offset: u64,
    /// The third word, or zero.
    pub value: u64,
}

impl Record {
    /// First byte and number of bytes of a store.
    pub fn bytes(&self) -> (u64, u32) {
        (
            self.offset + u64::from(self.mask.trailing_zeros()),
            self.mask.count_ones(),
        )
    }

    /// Whose it is, or whose store buffer's.
    pub fn of_thread(&self) -> u16 {
        self.thread % COMPANIONS
    }

    /// Whose it is, as choices name it where there are few threads.
    pub fn chosen_as(&self) -> u16 {
        match self.is_of_store_buffer() {
            true => self.of_thread() + crate::shared::FEW_THREADS as u16,
            false => self.thread,
        }
    }

    /// Does a store buffer take this step?
    pub fn is_of_store_buffer(&self) -> bool {
        self.kind == RecordKind::Step && self.thread >= COMPANIONS
    }

    /// Did whoever made the schedule choose this step?
    pub fn is_choice(&self) -> bool {
        self.kind == RecordKind::Step && self.offset != 0
    }

    /// Is it a step of this kind ([`step`])?
    pub fn is_step(&self, kind: u8) -> bool {
        self.kind == RecordKind::Step && self.flags == kind
    }

    /// What a step of a thread is about, in a word.
    pub fn step_name(&self) -> &'static str {
        step::NAMES.get(usize::from(self.flags)).unwrap_or(&"?")
    }

    /// Does a thread create another one?
    pub fn creates_thread(&self) -> bool {
        self.kind == RecordKind::Step && self.flags == step::CREATE
    }

    /// The flags in words.
    pub fn flag_names(&self) -> impl Iterator<Item = &'static str> {
        let flags = self.flags;
        let ordering = Some(flag::ORDERINGS[usize::from(flags & flag::ORDERING)]);
        let others = flag::NAMES.iter().filter(move |(bit, _)| flags & bit != 0);
        (ordering.into_iter().filter(|name| !name.is_empty())).chain(others.map(|(_, name)| *name))
    }

    pub fn is_non_temporal(&self) -> bool {
        self.flags & flag::NON_TEMPORAL != 0
    }

    pub fn is_atomic(&self) -> bool {
        let ordered = !matches!(self.flags & flag::ORDERING, 0 | flag::COPIED);
        ordered || self.flags & flag::LOCKED != 0
    }

    /// Does the store go on with the copy that the store before it is of?
    pub fn continues_copy(&self) -> bool {
        self.kind == RecordKind::Store && self.flags & flag::ORDERING == flag::COPIED
    }
}

/// A record where it lies in the trace, with the bytes behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traced<'a> {
    pub record: Record,
    /// Bytes of a `Run`, return addresses of a `Stack`, activations, words behind a `Step` or an `Access`.
    pub payload: &'a [u8],
}

impl core::ops::Deref for Traced<'_> {
    type Target = Record;

    fn deref(&self) -> &Record {
        &self.record
    }
}

/// Why a trace cannot be read on from `at`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    pub at: usize,
    pub why: &'static str,
}

/// Iterates over the records of a trace; the first malformed one ends it.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Records<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Records { bytes, at: 0 }
    }

    /// How far it has come.
    pub fn position(&self) -> usize {
        self.at
    }

    fn word(&self, at: usize) -> Option<u64> {
        let bytes = self.bytes.get(at..at.checked_add(8)?)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }

    #[inline(always)]
    fn decode(&self) -> Result<(Traced<'a>, usize), &'static str> {
        const SHORT: &str = "the trace ends inside a record";
        // One look for the three words most records have; the short ones at the very end take the other way.
        let (head, origin, third) = match self
            .bytes
            .get(self.at..)
            .and_then(|rest| rest.first_chunk::<24>())
        {
            Some(words) => {
                let [a, b, c] = [0, 8, 16].map(|at| {
                    let mut word = [0; 8];
                    word.copy_from_slice(&words[at..at + 8]);
                    u64::from_le_bytes(word)
                });
                (a, b, Some(c))
            }
            None => (
                self.word(self.at).ok_or(SHORT)?,
                self.word(self.at + 8).ok_or(SHORT)?,
                None,
            ),
        };
        let kind = RecordKind::from_number(head as u8).ok_or("unknown record kind")?;
        let of_thread = kind.has_thread();
        let high = (head >> HIGH) as u16;
        if high != 0 && !of_thread {
            return Err("reserved bits are set");
        }
        let low = (head >> 8) as u8;
        let masked = kind.has_mask();
        let mut end = self.at + 16;
        let mut value = 0;
        if kind.has_value() {
            value = third.ok_or(SHORT)?;
            end += 8;
        }
        let offset = (head << 7 >> 31) << 3;
        let record = Record {
            kind,
            offset: if masked || of_thread {
                offset
            } else {
                offset | u64::from(low & 7)
            },
            mask: if masked { low } else { 0 },
            thread: if of_thread {
                u16::from(low) | high << 8
            } else {
                0
            },
            flags: (head >> 16) as u8,
            origin: Origin {
                site: origin as u32,
                caller: (origin >> 32) as u32,
            },
            value,
        };
        let mut payload: &[u8] = &[];
        match kind {
            RecordKind::Store if low == 0 || !contiguous(low) => {
                return Err("a store of scattered bytes");
            }
            RecordKind::Read if low == 0 => return Err("a read of no bytes"),
            RecordKind::Run | RecordKind::Fill => {
                let length = if kind == RecordKind::Run {
                    value
                } else {
                    value >> 8
                };
                if length == 0
                    || record
                        .offset
                        .checked_add(length)
                        .is_none_or(|end| end > window::LEN)
                {
                    return Err("a copy that leaves persistent memory");
                }
                if kind == RecordKind::Run {
                    payload = self.payload(end, length).ok_or(SHORT)?;
                    end += padded(length as usize);
                }
            }
            RecordKind::Step => {
                payload = self.payload(end, 8).ok_or(SHORT)?;
                end += 8;
            }
            RecordKind::Access => {
                payload = self.payload(end, 24).ok_or(SHORT)?;
                end += 24;
            }
            RecordKind::Stack | RecordKind::Activations => {
                let words = match kind {
                    RecordKind::Activations => crate::shared::ACTIVATION,
                    _ => 1,
                };
                if value > (crate::shared::FRAMES * words) as u64 {
                    return Err("a call stack that is too deep");
                }
                payload = self.payload(end, value * 8).ok_or(SHORT)?;
                end += value as usize * 8;
            }
            _ => {}
        }
        Ok((Traced { record, payload }, end))
    }

    fn payload(&self, at: usize, length: u64) -> Option<&'a [u8]> {
        let length = usize::try_from(length).ok()?;
        if at.checked_add(length.checked_add(7)? & !7)? > self.bytes.len() {
            return None;
        }
        self.bytes.get(at..at + length)
    }
}

/// The beginning of a trace as one number, so that it can be compared without being looked at. Whole words.
pub fn digest(bytes: &[u8]) -> u64 {
    DigestSoFar::default().and(bytes)
}

/// The digest of a beginning that goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DigestSoFar {
    // Four chains: each has to wait for its own multiplications only.
    chains: [u64; 4],
    length: usize,
}

impl Default for DigestSoFar {
    fn default() -> DigestSoFar {
        DigestSoFar {
            chains: [1, 2, 3, 4],
            length: 0,
        }
    }
}

const fn mix(chain: u64, word: u64) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    (chain ^ word).wrapping_mul(FACTOR).rotate_left(29)
}

impl DigestSoFar {
    /// How many bytes it is of.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Takes in what comes next, in whole rows; the rest is left.
    pub fn take(&mut self, bytes: &[u8]) {
        let (rows, _) = bytes.as_chunks::<32>();
        for row in rows {
            let (words, _) = row.as_chunks::<8>();
            for (chain, word) in self.chains.iter_mut().zip(words) {
                *chain = mix(*chain, u64::from_le_bytes(*word));
            }
        }
        self.length += 32 * rows.len();
    }

    /// The digest, once these come last.
    pub fn and(mut self, bytes: &[u8]) -> u64 {
        let all = self.length + bytes.len();
        let before = self.length;
        self.take(bytes);
        let (words, _) = bytes[self.length - before..].as_chunks::<8>();
        for word in words {
            self.chains[0] = mix(self.chains[0], u64::from_le_bytes(*word));
        }
        let [a, b, c, d] = self.chains;
        [b, c, d, all as u64].into_iter().fold(a, mix)
    }
}

/// Bytes a payload of this length occupies.
pub const fn padded(length: usize) -> usize {
    (length + 7) & !7
}

const fn contiguous(mask: u8) -> bool {
    let shifted = mask >> mask.trailing_zeros();
    shifted & shifted.wrapping_add(1) == 0
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Traced<'a>, Malformed>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        match self.decode() {
            Ok((traced, end)) => {
                self.at = end;
                Some(Ok(traced))
            }
            Err(why) => {
                let at = self.at;
                self.at = self.bytes.len();
                Some(Err(Malformed { at, why }))
            }
        }
    }
}
