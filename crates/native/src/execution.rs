//! What one run did, as plain values.

use crate::heap::{HeapBlock, HeapError};
use crate::symbols::Symbols;
use landfall_finding::Limit;
use landfall_vocab::client::reason;
use landfall_vocab::record::Record;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Exited {
        code: i32,
    },
    Assertion {
        expression: String,
        file: String,
        function: String,
        line: u32,
    },
    Abort,
    /// `reach_error` was called.
    Reached,
    /// What the program assumes does not hold: this is no execution of it.
    Assumed,
    Signal {
        signal: i32,
        address: u64,
        pc: u64,
        /// The access that the program announced and died of, while there were several threads.
        site: Option<u32>,
    },
    /// A handler of a signal called a function that it must not, while it interrupted one of them.
    SignalUnsafe {
        called: String,
        interrupted: String,
    },
    /// What the client expects at this line of its script did not come; `received` is what had come instead.
    Client {
        line: u32,
        why: ClientWhy,
        received: Vec<u8>,
    },
    /// `std::terminate` was called; `exception` is the mangled type of what nobody caught, empty where there is nothing.
    Terminate {
        exception: String,
    },
    /// A virtual function was called that the object's class does not have: it is pure, or deleted.
    NoFunction {
        deleted: bool,
    },
    StackOverflow {
        address: u64,
    },
    /// It comes back to the same state for ever, at this site, and nobody could change that.
    Hang {
        why: String,
        site: Option<u32>,
    },
    /// The event budget or the trace ran out, at this site. It may only compute for long.
    Exhausted {
        why: String,
        site: Option<u32>,
    },
    /// Code that is not instrumented ran for long.
    Stuck {
        why: String,
    },
    Deadlock {
        why: String,
    },
    /// The heap was used against its rules.
    Heap {
        error: HeapError,
        address: u64,
        /// Where the access is, if it is not where the run ended.
        site: Option<u32>,
        /// Of the access.
        bytes: u64,
        /// The block it is about.
        block: Option<HeapBlock>,
    },
    /// It created a thread.
    Thread {
        why: String,
    },
    /// It asked for something a checked program may not do.
    Forbidden {
        why: String,
        syscall: i32,
    },
    /// Whoever could have gone on was not to: the search has seen what follows.
    Asleep,
    /// A thread was left in a turn of a loop that was in vain.
    InVain,
    /// More steps than the search wants of one execution.
    Limit,
    /// It did not answer in time and was killed.
    Wedged,
    /// It died without a word; a wait status.
    Died {
        status: i32,
    },
    /// The schedule asks for a thread that cannot go on: another run of it could.
    Strayed,
    /// Our runtime failed.
    Internal {
        why: String,
    },
}

/// Why a client is not content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientWhy {
    /// Something else came.
    Differs,
    /// The server waits, and has sent no more.
    Nothing,
    /// The server closed the connection.
    Closed,
    /// The server has ended.
    Ended,
    /// Nobody listens there.
    Nobody,
    /// A command ended, and not well.
    Failed,
}

impl ClientWhy {
    pub(crate) fn of(word: &[u8]) -> ClientWhy {
        match word {
            reason::CLOSED => ClientWhy::Closed,
            reason::ENDED => ClientWhy::Ended,
            reason::NOBODY => ClientWhy::Nobody,
            reason::NOTHING => ClientWhy::Nothing,
            reason::FAILED => ClientWhy::Failed,
            _ => ClientWhy::Differs,
        }
    }
}

impl Outcome {
    /// Ended the way a program means to end, or by an assumption.
    pub fn is_ok(&self) -> bool {
        matches!(self, Outcome::Exited { code: 0 } | Outcome::Assumed)
    }

    /// It did not end by itself.
    pub fn is_endless(&self) -> bool {
        matches!(
            self,
            Outcome::Hang { .. }
                | Outcome::Exhausted { .. }
                | Outcome::Stuck { .. }
                | Outcome::Wedged
        )
    }

    /// How a thread ended the process, by the number that traces have for it; nothing else is known of it.
    pub fn of_thread(code: u32) -> Outcome {
        let mut raw = landfall_vocab::shared::Outcome::NONE;
        (raw.end, raw.code) = (code & 0xff, (code >> 8) as i32);
        crate::outcome::outcome(&raw)
    }

    /// The limit that ended it, where that says nothing about the program.
    pub fn limit(&self) -> Option<Limit> {
        match self {
            Outcome::Exhausted { .. } => Some(Limit::Events),
            Outcome::Stuck { .. } | Outcome::Wedged => Some(Limit::Processor),
            Outcome::Limit => Some(Limit::Steps),
            _ => None,
        }
    }

    /// Did the program do something wrong?
    pub fn is_failure(&self) -> bool {
        !self.is_ok() && self.limit().is_none()
    }
}

/// Accesses of persistent memory by code that was not compiled with `landfall cc`. Each is among the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    pub reads: u64,
    pub writes: u64,
    /// The first: its address, and that of the instruction.
    pub address: u64,
    pub pc: u64,
}

/// Libraries that nobody builds with `landfall cc`.
const SYSTEM: [&str; 6] = [
    "ld-linux",
    "libc.so",
    "libm.so",
    "libgcc_s",
    "libpthread",
    "libdl",
];

impl Foreign {
    /// One sentence: who, how often, and what that means.
    pub fn describe(&self, symbols: &Symbols) -> String {
        let count = |number: u64, what: &str| match number {
            0 => String::new(),
            1 => format!("1 {what}"),
            _ => format!("{number} {what}s"),
        };
        let both = [count(self.reads, "read"), count(self.writes, "write")];
        let counts = both.iter().filter(|text| !text.is_empty()).cloned();
        let counts = counts.collect::<Vec<_>>().join(" and ");
        let file = symbols.file_of(self.pc).unwrap_or_default();
        let name = file.rsplit('/').next().unwrap_or_default();
        let function = symbols.return_address(self.pc + 1).map(|at| at.function);
        let function = function.map_or("code".to_owned(), |name| format!("`{name}`"));
        if name.is_empty() {
            return format!(
                "{function} that was not there when the program started (of a library it loads, or made by it) accesses persistent memory: {counts}, each seen as it happens, but not its fences"
            );
        }
        if SYSTEM.iter().any(|system| name.starts_with(system)) {
            return format!(
                "{function} of {name} accesses persistent memory by itself: {counts}, each seen as it happens"
            );
        }
        // Fences of the program's own code are announced; which ones are not is not known.
        let unseen = match symbols.is_executable(file) {
            true => ", but not its fences",
            false => "",
        };
        format!(
            "{function} of {name} was not compiled with `landfall cc`: {counts} of persistent memory, each seen as it happens{unseen}"
        )
    }
}

/// One run: its trace, its end, what it printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    pub events: Vec<Record>,
    /// Call stacks, innermost return address first.
    pub stacks: Vec<Vec<u64>>,
    pub outcome: Outcome,
    /// Return addresses at the end, when it ended badly (the first: just after the place itself).
    pub stack: Vec<u64>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub foreign: Option<Foreign>,
    /// Instrumented steps taken.
    pub steps: u64,
    /// The trace could not be read beyond the events: the program damaged it.
    pub damaged: Option<String>,
    /// Whether it ran in place or in a process of its own.
    pub in_place: bool,
    /// Bytes found different after an in-place run (audit); anything but zero is a bug of ours.
    pub audit_bytes: u32,
    /// Bytes of trace, for statistics.
    pub trace_bytes: u64,
    /// It read from its standard input.
    pub read_input: bool,
    /// It did more than is among the events; the reads are all there.
    pub squeezed: bool,
    /// What the program's own variables and blocks of the heap held at the end, as a digest; 0 where nobody asked.
    pub final_state: u64,
}

/// Two runs of the same job that did not do the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    pub at: usize,
    pub expected: Option<Record>,
    pub found: Option<Record>,
}

/// Where a run leaves the path that an earlier one took; `None` if it follows it to its end.
pub fn first_difference(expected: &[Record], found: &[Record]) -> Option<Divergence> {
    let at = expected.iter().zip(found).position(|(a, b)| a != b);
    let at = at.or((found.len() < expected.len()).then_some(found.len()))?;
    Some(Divergence {
        at,
        expected: expected.get(at).copied(),
        found: found.get(at).copied(),
    })
}
