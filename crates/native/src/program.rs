//! A program to check, as it is started.

use crate::client::ClientScript;
use crate::input::Input;
use crate::inputs::InputsTold;
use crate::job::Isolation;
use crate::rewrite::TrappedPlaces;
use landfall_model::image::FreshMemory;
use landfall_vocab::shared::option;
use landfall_vocab::window;
use std::ffi::OsString;
use std::path::PathBuf;

/// What becomes of the words `malloc` keeps, when `malloc` is persistent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MallocMetadata {
    /// Part of the model: every store to them may be lost.
    Modelled,
    /// Durable the moment a call returns.
    Durable,
}

/// Whether blocks have red zones and stay free once they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HeapChecks {
    #[default]
    Off,
    On,
}

/// A program built with `landfall cc`, with everything its runs depend on.
#[derive(Clone, Debug)]
pub struct Program {
    pub path: PathBuf,
    pub arguments: Vec<OsString>,
    /// Where it runs; the working directory, if nothing is said.
    pub directory: Option<PathBuf>,
    /// The whole environment of the program, in this order.
    pub environment: Vec<(OsString, OsString)>,
    /// Files under this directory are persistent memory.
    pub pm_dir: Option<PathBuf>,
    /// What files there hold when a run begins; what is there now, if nothing is said.
    pub pools: Option<PathBuf>,
    /// `malloc` is persistent.
    pub pm_heap: Option<MallocMetadata>,
    /// Bytes by which every block of the persistent heap is moved, a multiple of 16: other things share a cache line then.
    pub heap_offset: u16,
    /// What fresh blocks hold.
    pub fresh: FreshBlocks,
    /// Are accesses to the volatile heap looked at?
    pub heap: HeapChecks,
    /// As in SV-COMP: what calls `abort` assumes, and any exit code is as good as 0.
    pub sv_comp: bool,
    /// Where its runs asked for any value.
    pub inputs: InputsTold,
    /// What it reads from its standard input; nothing, if there is none.
    pub stdin: Option<Input>,
    /// Who talks to it, if it is a server.
    pub client: Option<ClientScript>,
    pub seed: u64,
    pub isolation: Isolation,
    /// Code of libraries that its runs were trapped at.
    pub(crate) trapped: TrappedPlaces,
}

/// What blocks of persistent memory hold that were never used before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FreshBlocks {
    #[default]
    Zero,
    /// What `malloc` gives is garbage: it promises nothing.
    GarbageOfMalloc,
    /// What `lf_alloc` gives, too.
    Garbage,
}

impl FreshBlocks {
    pub(crate) fn options(self) -> u64 {
        match self {
            FreshBlocks::Zero => 0,
            FreshBlocks::GarbageOfMalloc => option::FRESH_MALLOC,
            FreshBlocks::Garbage => option::FRESH_MALLOC | option::FRESH_HEAP,
        }
    }

    /// As images have it.
    pub(crate) fn memory(self) -> FreshMemory {
        let lines = |from: u64, to: u64| from / window::LINE..to / window::LINE;
        let area = |given: bool, from: u64, to: u64| match given {
            true => lines(from, to),
            false => 0..0,
        };
        FreshMemory {
            garbage: [
                area(
                    self != FreshBlocks::Zero,
                    window::MALLOC_BLOCKS,
                    window::MALLOC.end(),
                ),
                area(
                    self == FreshBlocks::Garbage,
                    window::HEAP_BLOCKS,
                    window::HEAP.end(),
                ),
            ],
            byte: window::GARBAGE,
        }
    }
}

/// Variables a program may need to start at all; everything else would make runs differ between users.
const KEPT: [&str; 5] = ["HOME", "LANG", "LD_LIBRARY_PATH", "PATH", "TMPDIR"];

impl Program {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let environment = KEPT
            .iter()
            .filter_map(|name| Some((name.into(), std::env::var_os(name)?)))
            .collect();
        Program {
            path: path.into(),
            arguments: Vec::new(),
            directory: None,
            environment,
            pm_dir: None,
            pools: None,
            pm_heap: None,
            heap_offset: 0,
            fresh: FreshBlocks::default(),
            heap: HeapChecks::default(),
            sv_comp: false,
            inputs: InputsTold::default(),
            stdin: None,
            client: None,
            seed: 1,
            isolation: Isolation::default(),
            trapped: TrappedPlaces::default(),
        }
    }

    pub fn arguments<I: IntoIterator<Item = impl Into<OsString>>>(mut self, arguments: I) -> Self {
        self.arguments = arguments.into_iter().map(Into::into).collect();
        self
    }
}
