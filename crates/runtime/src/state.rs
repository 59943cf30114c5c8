//! All mutable state of the runtime, on pages of its own: an in-place restart must neither track nor restore it.

use crate::descriptors::Descriptors;
use crate::signals::Action;
use landfall_vocab::shared::{Control, Foreign, SlotHeader};
use landfall_vocab::window;

/// What the process is doing.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Mode {
    /// Nothing was set up yet.
    Raw = 0,
    /// An instrumented program that nobody checks: hooks only perform.
    Plain,
    /// A server before `main`: the first touch of persistent memory starts serving there and then.
    Constructing,
    /// A server between runs.
    Serving,
    /// A run is on.
    Running,
}

// Whole pages, this and everything else in the section: what shares a page with it would not be restored.
#[repr(C, align(4096))]
pub(crate) struct State {
    pub(crate) mode: Mode,
    /// Runs happen in this process, one after the other, instead of in a fork each.
    pub(crate) in_place: bool,
    pub(crate) stacks: bool,
    /// A run is on and events need no stack.
    pub(crate) quick: bool,
    /// The lines of the run's image come in the order of their offsets.
    pub(crate) image_sorted: bool,
    // The hot path, on one line.
    pub(crate) slot: *mut SlotHeader,
    pub(crate) trace: *mut u8,
    /// Where the mapped part of the trace ends, and where all of it does.
    pub(crate) trace_limit: u64,
    pub(crate) trace_end: u64,
    /// Where a trace is squeezed before it grows further; past its end if it must stay whole.
    pub(crate) squeeze_at: u64,
    pub(crate) sites_low: usize,
    pub(crate) sites_len: usize,
    pub(crate) last_locked: u64,

    pub(crate) control: *mut Control,
    pub(crate) image: *const u8,
    pub(crate) output: [*mut u8; 2],
    pub(crate) output_limit: u64,
    pub(crate) input: *const u8,
    pub(crate) input_left: u64,
    /// Standard input as every run finds it: where it lies, and how much of it there is.
    pub(crate) given: (usize, u64),
    pub(crate) failures: u32,
    pub(crate) options: u64,
    pub(crate) heap_offset: u64,
    pub(crate) last_stack: u64,
    /// Where stacks may be walked: the stack of the run.
    pub(crate) stack_low: usize,
    pub(crate) stack_high: usize,
    pub(crate) driver_stack: usize,
    /// Where the stack of whoever called us last ends.
    pub(crate) entered: usize,

    // Shadow pages of this run.
    pub(crate) touched: usize,
    pub(crate) arena: usize,
    pub(crate) arena_end: usize,
    pub(crate) foreign: Foreign,
    pub(crate) watch: crate::watch::Watch,

    // Persistent memory of this run.
    pub(crate) region_len: u64,
    /// Reads from this point of the trace on may come to nothing.
    pub(crate) aside: bool,
    pub(crate) aside_from: u64,
    pub(crate) heap_used: bool,
    pub(crate) malloc_used: bool,
    pub(crate) mapped_files: u32,
    /// What the system call being performed may do that the program may not.
    pub(crate) reach: crate::files::Reach,

    /// Writable memory this run mapped.
    pub(crate) mapped_bytes: usize,
    /// Bytes of memory it may have.
    pub(crate) memory: u64,

    pub(crate) clock: u64,
    pub(crate) alarm: u64,
    pub(crate) timers: crate::timers::Timers,
    pub(crate) random: u64,
    pub(crate) written: u64,
    pub(crate) ticks: u64,
    pub(crate) tick_budget: i64,
    pub(crate) faults: crate::signals::Faults,
    pub(crate) selector: u8,
    pub(crate) mask: u64,
    pub(crate) descriptors: Descriptors,
    pub(crate) actions: [Action; 65],
    pub(crate) heap: crate::heap::Heap,
    /// Of threads other than main.
    pub(crate) heaps: *mut [crate::heap::Heap; crate::threads::MOST],
    /// Those that something was taken from or given back to, a bit each.
    pub(crate) heaps_used: u32,
    pub(crate) exe_base: usize,
    /// From where to where its code is mapped.
    pub(crate) exe_code: (usize, usize),
    pub(crate) main: usize,
    pub(crate) arguments: (i32, usize, usize),
    pub(crate) dso: [crate::sites::Section; 64],
    pub(crate) dso_count: usize,
    /// Sites, bytes of their strings and libraries that were there before the first run.
    pub(crate) first_sites: (u64, u64, usize),
    pub(crate) thread_pointer: usize,
    /// Where a thread descriptor keeps the kernel's thread id; zero if that was not found.
    pub(crate) thread_id_at: usize,
    /// libc's variable that says that there is one thread only.
    pub(crate) single_threaded: usize,
    /// Destructors of thread-specific keys.
    pub(crate) destructors: [usize; crate::threads::MOST_KEYS],
    /// The highest key with one, and one more.
    pub(crate) keys: usize,
    pub(crate) threads: crate::threads::Threads,
    pub(crate) held: crate::threads::held::Held,
    pub(crate) uses: crate::threads::unseen::Uses,
    pub(crate) scratch: usize,
    pub(crate) opened: bool,
    pub(crate) listings: crate::directory::Listings,
    pub(crate) tracked: crate::tracked::Tracked,
    pub(crate) restart: crate::restart::Restarts,
    pub(crate) call: crate::dispatch::Current,

    // Ordinary files of this run.
    pub(crate) overlay: crate::overlay::Overlay,
    pub(crate) umask: u32,
    /// Files on disk that are mapped shared: device and number.
    pub(crate) shared: [(u64, u64); 16],
    pub(crate) shared_count: usize,
    pub(crate) start_directory: crate::walk::Directory,
    pub(crate) directory: crate::walk::Directory,
    /// Descriptors that keep locks and the like of pool files; zero for none.
    pub(crate) pool_holders: [i32; landfall_vocab::window::FILE_SLOTS],
    /// Pool files that this run opened or mapped.
    pub(crate) used_files: u32,
    pub(crate) guards: crate::guards::Guards,
}

#[unsafe(no_mangle)]
#[unsafe(link_section = "lf_state")]
static mut __lf_state: State = unsafe { core::mem::zeroed() };

/// Steps left; decremented inline by instrumented code at function entries and loop back edges (ABI).
#[repr(C, align(4096))]
pub struct Budget(i64);

#[unsafe(no_mangle)]
#[unsafe(link_section = "lf_state")]
pub static mut __lf_budget: Budget = Budget(i64::MAX);

/// How far the window reaches in which accesses of instrumented code concern us, from [`window::BASE`] on: persistent memory,
/// the heap too where it is looked at, or everything while several threads run (ABI).
#[repr(C, align(4096))]
pub struct Window(u64);

#[unsafe(no_mangle)]
#[unsafe(link_section = "lf_state")]
pub static mut __lf_window: Window = Window(window::LEN);

/// As far as the end of the heap.
const HEAP_TOO: u64 = (place::HEAP + place::HEAP_LEN) as u64 - window::BASE;

/// Several threads run: every access that others could see is looked at.
pub(crate) unsafe fn watch(on: bool) {
    __lf_window.0 = if on {
        u64::MAX
    } else if crate::blocks::on() {
        HEAP_TOO
    } else {
        window::LEN
    };
}

/// One thread runs, and the heap is looked at.
#[inline(always)]
pub(crate) unsafe fn looking_at_heap() -> bool {
    (&raw const __lf_window.0).read() == HEAP_TOO
}

#[inline(always)]
pub(crate) unsafe fn watching() -> bool {
    (&raw const __lf_window.0).read() == u64::MAX
}

/// The state. A raw pointer, because signal handlers reach it while other code is in the middle of using it.
#[inline(always)]
pub(crate) fn state() -> *mut State {
    &raw mut __lf_state
}

pub(crate) unsafe fn budget() -> *mut i64 {
    &raw mut __lf_budget.0
}

#[inline(always)]
pub(crate) unsafe fn running() -> bool {
    (*state()).mode as u8 == Mode::Running as u8
}

/// Addresses of the runtime's own mappings: fixed, so that nothing it does moves a mapping of the program.
pub(crate) mod place {
    pub(crate) const HEAP: usize = 0x2000_0000_0000;
    pub(crate) const HEAP_LEN: usize = 64 << 30;
    pub(crate) const HEAP_SHADOW: usize = 0x2100_0000_0000;
    pub(crate) const STACK: usize = 0x2200_0000_0000;
    pub(crate) const STACK_LEN: usize = 8 << 20;
    pub(crate) const GUARD: usize = 1 << 20;
    pub(crate) const THREAD_STACKS: usize = 0x2280_0000_0000;
    pub(crate) const DESCRIPTORS: usize = 0x22c0_0000_0000;
    pub(crate) const SIGNAL_STACK: usize = 0x2300_0000_0000;
    pub(crate) const SIGNAL_STACK_LEN: usize = 1 << 20;
    pub(crate) const ARENA: usize = 0x3000_0000_0000;
    pub(crate) const ARENA_LEN: usize = 64 << 30;
    pub(crate) const SCRATCH: usize = 0x3200_0000_0000;
    pub(crate) const OVERLAY: usize = 0x3300_0000_0000;
    pub(crate) const OVERLAY_LEN: usize = 1 << 30;
    pub(crate) const INPUT: usize = 0x3c00_0000_0000;
    pub(crate) const SHARED: usize = 0x4000_0000_0000;
}

/// Memory that is never given back, for tables of the runtime.
pub(crate) unsafe fn allocate(length: usize) -> *mut u8 {
    let state = state();
    if (*state).arena == 0 {
        if crate::sys::map(place::ARENA, place::ARENA_LEN).is_none() {
            crate::outcome::internal(b"no memory for the runtime", 0)
        }
        ((*state).arena, (*state).arena_end) = (place::ARENA, place::ARENA + place::ARENA_LEN);
    }
    let length = (length + 63) & !63;
    if (*state).arena + length > (*state).arena_end {
        crate::outcome::internal(b"no memory for the runtime", 0)
    }
    let start = (*state).arena;
    (*state).arena += length;
    start as *mut u8
}

pub(crate) unsafe fn prepare_scratch() {
    let state = state();
    if (*state).scratch == 0 {
        if crate::sys::map(place::SCRATCH, place::ARENA_LEN).is_none() {
            crate::outcome::internal(b"no memory for the runtime", 0)
        }
        (*state).scratch = place::SCRATCH;
    }
}

/// Part of the memory for moments: others may interrupt whoever uses it.
pub(crate) fn scratch_of(thread: usize) -> usize {
    const EACH: usize = place::ARENA_LEN / 64;
    place::SCRATCH + (thread + 1) * EACH
}

/// Memory for a moment: taken from a stack of its own, given back when dropped, and all of it when the run ends.
pub(crate) struct Scratch {
    start: *mut u8,
}

impl Scratch {
    pub(crate) unsafe fn new(length: usize) -> Scratch {
        prepare_scratch();
        let state = state();
        let start = (*state).scratch;
        if length > place::ARENA_LEN || start + length > place::SCRATCH + place::ARENA_LEN {
            crate::outcome::internal(b"no memory for the runtime", 0)
        }
        (*state).scratch += (length + 63) & !63;
        Scratch {
            start: start as *mut u8,
        }
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }

    /// Kept until the end of the run.
    pub(crate) fn keep(self) -> *mut u8 {
        let start = self.start;
        core::mem::forget(self);
        start
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        unsafe { (*state()).scratch = self.start as usize };
    }
}
