//! The file that keeps a bug: everything that is needed to see it happen again, from scratch.

use crate::{Finding, StdinFile};
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// Everything that is needed to see a bug again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Witness {
    /// Who wrote it: `landfall`.
    pub tool: String,
    /// Of which version.
    pub version: String,
    /// Where the check ran: paths start there.
    pub directory: Word,
    /// What was checked.
    pub program: ProgramFile,
    /// What runs after a power failure, if it is something else.
    pub recover: Option<ProgramFile>,
    /// Persistent memory, and what it held.
    pub persistent_memory: RecordedMemory,
    /// Steps of one execution before it counts as a hang.
    pub events: u64,
    /// What every execution read from its standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<StdinFile>,
    /// Who talked to it, if it is a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<RecordedClient>,
    /// What calls returned that ask for any value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<RecordedInput>,
    /// As in SV-COMP.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sv_comp: bool,
    /// How the threads of the first execution ran, if it had several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<RecordedThreads>,
    /// How those of the last recovery did, where not by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_threads: Option<RecordedThreads>,
    /// The power failures, one after the other.
    pub failures: Vec<RecordedFailure>,
    /// How the last execution ended.
    pub outcome: RecordedOutcome,
    /// What is wrong.
    pub finding: Finding,
}

/// The script of a client.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RecordedClient {
    /// The file that it was in.
    pub file: Word,
    /// What that said.
    pub script: String,
    /// What its commands said to what they were told, hexadecimal: they need not be there when this is replayed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub replies: String,
}

/// What a call returned that asks for any value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RecordedInput {
    /// After so many power failures.
    pub failures: u16,
    /// By this thread.
    pub thread: u16,
    /// Its call with this number, from 0 on; none for all that are not named.
    pub call: Option<u32>,
    /// What it returned.
    pub value: u64,
}

/// A schedule.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecordedThreads {
    /// `tso` or `sc`.
    pub model: String,
    /// Who takes each step: a thread, or from 32 on its store buffer; of more than 32 threads, from 512 on. With streams of non-temporal
    /// stores, store buffers are numbered from `most` on, and each thread's streams after those.
    pub schedule: Vec<u16>,
    /// Streams of non-temporal stores of each thread.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub streams: u8,
    /// Threads that there is room for.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub most: u16,
    /// Lines whose non-temporal stores have streams, if there are such stores; without, all lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streamed: Option<Vec<u64>>,
    /// Plain accesses are steps: all of them, or these.
    pub everywhere: bool,
    /// Where, if not everywhere; and which locks have critical sections of several steps.
    pub points: Vec<u64>,
    /// Critical sections are single steps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sections: bool,
    /// Stores to persistent memory, flushes and fences are steps.
    #[serde(default)]
    pub persistency: bool,
    /// So are creations of threads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub creations: bool,
    /// And stores, when they go into the buffer: memory is taken away.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mappings: bool,
    /// There are hardware transactions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactions: Option<RecordedTransactions>,
    /// Signals arrive at any time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signals: Option<RecordedSignals>,
    /// Where a debugger stops: at the second access of a data race.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<RecordedStop>,
}

/// Hardware transactions: why they are aborted (`full`, `retry`, `stm`), and the sets and ways of the cache that holds what they write.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecordedTransactions {
    /// Why they are aborted.
    pub failures: String,
    /// Sets and ways.
    pub cache: (u32, u32),
}

/// An access of a thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecordedStop {
    /// Of this thread.
    pub thread: u16,
    /// From this place of the program, as traces have it.
    pub origin: u64,
    /// Of a byte of these: where, and how many.
    pub bytes: (u64, u32),
    /// When so many steps were taken.
    pub steps: u32,
}

/// What was known of signals.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecordedSignals {
    /// Those that are sent, for the process or for a thread.
    pub sent: Vec<u64>,
    /// Words of memory that handlers touch: before accesses to them a signal may arrive.
    pub touched: Vec<u64>,
    /// Signals that the main thread blocks at some time, a bit for each.
    pub main_blocks: u64,
    /// How often a timer that repeats goes off.
    pub timer: u32,
}

fn is_nothing(bytes: &u16) -> bool {
    *bytes == 0
}

fn is_zero(number: &u8) -> bool {
    *number == 0
}

/// A program, and how to build it again should it be gone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProgramFile {
    /// Where it lies.
    pub path: Word,
    /// In their order.
    pub arguments: Vec<Word>,
    /// How it was built, where we built it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<BuildCommand>,
}

/// The sources of a program and the options they were compiled with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BuildCommand {
    /// `c` or `c++`.
    pub language: String,
    /// In their order.
    pub arguments: Vec<Word>,
}

/// Persistent memory, and what it held.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecordedMemory {
    /// `adr` or `eadr`.
    pub platform: String,
    /// Files mapped from there are persistent.
    pub dir: Option<Word>,
    /// What those files held at first, where another program made them for the check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pools: Option<Word>,
    /// malloc is persistent memory.
    pub heap: bool,
    /// By how many bytes its blocks were moved.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub heap_offset: u16,
    /// `malloc` if its fresh blocks held garbage, `all` if those of the persistent heap did, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fresh: Option<String>,
    /// The volatile heap was looked at.
    #[serde(default)]
    pub heap_checks: bool,
    /// Parts of one copy may persist in any order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tear: bool,
    /// A digest of memory before the first execution: of the files under `dir`.
    pub at_first: String,
}

/// A power failure, and what it left.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecordedFailure {
    /// Entries of the execution's log that had happened.
    pub cut: u32,
    /// Lines that are older than they could be.
    pub old: Vec<OldLine>,
    /// Persistent memory as it was left, where it differs from the beginning; of very much memory, the first lines.
    pub image: Vec<ImageLine>,
    /// Of all of it, where not all of it is here: the failures say how to make it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_digest: Option<String>,
}

/// A cache line that is older than it could be.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OldLine {
    /// Where it begins, hexadecimal.
    pub line: String,
    /// Which of its versions survived.
    pub version: u32,
}

/// What a cache line holds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ImageLine {
    /// Where it begins, hexadecimal.
    pub line: String,
    /// Hexadecimal.
    pub bytes: String,
}

/// How an execution ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RecordedOutcome {
    /// As of a finding.
    pub kind: String,
    /// In words.
    pub text: String,
}

/// A path or an argument: text, or bytes where it is none.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Word {
    /// Most are.
    Text(String),
    /// Not UTF-8.
    Bytes(Vec<u8>),
}

impl Word {
    /// Of this.
    pub fn new(word: &OsStr) -> Word {
        match word.to_str() {
            Some(text) => Word::Text(text.to_owned()),
            None => Word::Bytes(word.as_bytes().to_vec()),
        }
    }

    /// As the system takes it.
    pub fn os(&self) -> OsString {
        match self {
            Word::Text(text) => text.into(),
            Word::Bytes(bytes) => OsString::from_vec(bytes.clone()),
        }
    }

    /// As a path.
    pub fn path(&self) -> PathBuf {
        self.os().into()
    }
}
