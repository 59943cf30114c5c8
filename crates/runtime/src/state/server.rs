//! What lasts as long as the process: what was found out when the program was taken over, and the tables that runs use one after
//! the other.

use super::{Mode, Raw};
use crate::files::resolve::Directory;
use crate::memory::heap::Heap;
use crate::run::sites::Section;
use crate::run::tracked::Tracked;
use crate::syscalls::signals::Action;
use crate::threads::constructor_locks::Held;
use crate::threads::{MOST, MOST_KEYS, Tables, ThreadSet};
use core::cell::Cell;
use landfall_vocab::shared::{Control, SLOTS};

/// All zero before the program is taken over.
#[repr(C)]
pub(crate) struct Server {
    pub(crate) mode: Cell<Mode>,
    /// Runs happen in this process, one after the other, instead of in a fork each.
    pub(crate) in_place: Cell<bool>,
    /// The executable's source sites, on the hot path.
    pub(crate) sites_low: Cell<usize>,
    pub(crate) sites_len: Cell<usize>,

    pub(crate) control: Cell<*mut Control>,
    pub(crate) options: Cell<u64>,
    pub(crate) heap_offset: Cell<u64>,
    /// Standard input as every run finds it: where it lies, and how much of it there is.
    pub(crate) given: Cell<(usize, u64)>,

    pub(crate) exe_base: Cell<usize>,
    /// From where to where its code is mapped.
    pub(crate) exe_code: Cell<(usize, usize)>,
    /// Where the executable's image ends.
    pub(crate) exe_end: Cell<usize>,
    pub(crate) imports: crate::outside::imports::Imports,
    pub(crate) rewritten: Raw<crate::memory::rewritten::Rewritten>,
    pub(crate) main: Cell<usize>,
    pub(crate) arguments: Cell<(i32, usize, usize)>,
    pub(crate) dso: [Cell<Section>; 64],
    pub(crate) dso_count: Cell<usize>,
    /// Code of libpmem and libpmemobj, where they are somebody else's binaries.
    pub(crate) pmdk: [Cell<(usize, usize)>; 2],
    /// Sites, bytes of their strings and libraries that were there before the first run.
    pub(crate) first_sites: Cell<(u64, u64, usize)>,
    pub(crate) start_directory: Raw<Directory>,

    /// The main thread's descriptor.
    pub(crate) thread_pointer: Cell<usize>,
    /// Where a thread descriptor keeps the kernel's thread id; zero if that was not found.
    pub(crate) thread_id_at: Cell<usize>,
    /// libc's variable that says that there is one thread only.
    pub(crate) single_threaded: Cell<usize>,
    /// The main thread's stack in a run.
    pub(crate) stack: Cell<(usize, usize)>,
    pub(crate) driver_stack: Cell<usize>,
    /// The byte that tells the kernel whether system calls trap.
    pub(crate) selector: Cell<u8>,

    /// Bytes of each slot's trace that this process has mapped, runs being in place.
    pub(crate) traces_there: [Cell<u64>; SLOTS],

    // The runtime's own memory.
    pub(crate) arena: Cell<usize>,
    pub(crate) arena_end: Cell<usize>,
    pub(crate) scratch_mapped: Cell<bool>,
    pub(crate) overlay_mapped: Cell<bool>,
    pub(crate) channels_mapped: Cell<bool>,

    // What constructors left behind: runs go on from there, and a restart puts it back (`tracked`).
    pub(crate) heap: Raw<Heap>,
    pub(crate) held: Raw<Held>,
    /// Actions of signals, and whether there are any.
    pub(crate) actions: [Cell<Action>; 65],
    pub(crate) acted: Cell<bool>,
    /// Signals that were blocked before constructors ran, then those that they block.
    pub(crate) blocked: Cell<u64>,
    /// Destructors of thread-specific keys.
    pub(crate) destructors: [Cell<usize>; MOST_KEYS],
    /// The highest key with one, and one more.
    pub(crate) keys: Cell<usize>,
    pub(crate) tracked: Raw<Tracked>,
    pub(crate) checkpoint: crate::run::checkpoint::Checkpoint,
    /// How many runs there were in place.
    pub(crate) restarts: Cell<u64>,

    // Tables that each run fills anew: the run says how much of them is its own.
    /// Heaps of threads other than main, and those that something was taken from or given back to, a bit each.
    pub(crate) heaps: Cell<*mut [Heap; MOST]>,
    pub(crate) heaps_used: ThreadSet,
    pub(crate) threads: Tables,
    pub(crate) directory: Raw<Directory>,
    pub(crate) marked: Cell<*mut crate::memory::marked::MarkedBlock>,
    pub(crate) guards: [Cell<crate::memory::protections::Guard>; crate::memory::protections::MOST],
    /// Which processes have a descriptor, while there are several.
    pub(crate) holders: crate::files::holders::Holders,
    pub(crate) uses: [Cell<crate::threads::unseen::Used>; crate::threads::unseen::MOST],
    /// Files on disk that are mapped shared: device and number.
    pub(crate) shared: [Cell<(u64, u64)>; 16],
}
