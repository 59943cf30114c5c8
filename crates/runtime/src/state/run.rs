//! What belongs to one run. Beginning one is making all of it anew, from zero and from the job: a field that is added starts at zero
//! in every run, and nothing of an earlier run can be left in it.

use super::{Raw, server};
use crate::files::descriptors::Descriptors;
use crate::files::listings::Listings;
use crate::files::overlay::Overlay;
use crate::files::reach::Reach;
use crate::memory::bytes;
use crate::memory::unannounced::Watch;
use crate::run::endless::Look;
use crate::run::shared::control;
use crate::syscalls::dispatch::Current;
use crate::syscalls::handlers::AlternateStack;
use crate::syscalls::signals::{Action, Faults};
use crate::syscalls::timers::Timers;
use crate::threads::Threads;
use crate::threads::unseen::Uses;
use core::cell::Cell;
use landfall_vocab::shared::{
    Foreign, OUTPUT, STDERR_AT, STDIN_AT, STDOUT_AT, SlotHeader, TRACE_AT, TRACE_LEN, job,
};
use landfall_vocab::window::FILE_SLOTS;

/// All zero is a run that does nothing: that is how each of them begins.
#[repr(C)]
pub(crate) struct Run {
    // The hot path, on one line.
    pub(crate) slot: Cell<*mut SlotHeader>,
    pub(crate) trace: Cell<*mut u8>,
    /// Where the mapped part of the trace ends, and where all of it does.
    pub(crate) trace_limit: Cell<u64>,
    pub(crate) trace_end: Cell<u64>,
    /// Where a trace is made smaller before it grows further; past its end if it must stay whole.
    pub(crate) compact_at: Cell<u64>,
    pub(crate) last_locked: Cell<u64>,
    pub(crate) stacks: Cell<bool>,
    /// A run is on and events need no stack.
    pub(crate) quick: Cell<bool>,
    /// Nobody asks what it does but read.
    pub(crate) reads_only: Cell<bool>,
    /// The lines of the run's image come in the order of their offsets.
    pub(crate) image_sorted: Cell<bool>,

    // What the job gives.
    pub(crate) output: Cell<[*mut u8; 2]>,
    pub(crate) output_limit: Cell<u64>,
    pub(crate) input: Cell<*const u8>,
    pub(crate) input_left: Cell<u64>,
    pub(crate) failures: Cell<u32>,
    /// Bytes of memory it may have.
    pub(crate) memory: Cell<u64>,

    // Where it is.
    pub(crate) last_stack: Cell<u64>,
    /// Where stacks may be walked: the stack of the running thread.
    pub(crate) stack: Cell<(usize, usize)>,
    /// Where the stack of whoever called us last ends.
    pub(crate) entered: Cell<usize>,
    pub(crate) call: Cell<Current>,
    /// Up to where memory for moments is in use; zero before the first use.
    pub(crate) scratch: Cell<usize>,
    pub(crate) endless: Look,

    // Persistent memory.
    /// Pages that were touched.
    pub(crate) touched: Cell<usize>,
    pub(crate) region_len: Cell<u64>,
    pub(crate) heap_used: Cell<bool>,
    pub(crate) malloc_used: Cell<bool>,
    pub(crate) mapped_files: Cell<u32>,
    /// Pool files that it opened or mapped.
    pub(crate) used_files: Cell<u32>,
    /// What the system call being performed may do that the program may not.
    pub(crate) reach: Cell<Reach>,
    /// How many protections there are in the server's table.
    pub(crate) guards: Cell<usize>,
    pub(crate) foreign: Cell<Foreign>,
    /// Instructions of libraries that were trapped.
    pub(crate) traps: Cell<u32>,
    pub(crate) watch: Raw<Watch>,
    /// Reads from this point of the trace on may come to nothing.
    pub(crate) aside: Cell<bool>,
    pub(crate) aside_from: Cell<u64>,

    // The machine.
    /// Writable memory it mapped.
    pub(crate) mapped_bytes: Cell<usize>,
    /// In place: what is there of it, and of other memory that it mapped.
    pub(crate) mappings: crate::syscalls::mappings::RunMappings,
    pub(crate) clock: Cell<u64>,
    pub(crate) alarm: Cell<u64>,
    pub(crate) timers: Timers,
    pub(crate) random: Cell<u64>,
    pub(crate) ticks: Cell<u64>,
    pub(crate) tick_budget: Cell<i64>,
    pub(crate) faults: Cell<Faults>,
    pub(crate) mask: Cell<u64>,
    /// Set aside by the running thread for its handlers.
    pub(crate) alternate: Cell<AlternateStack>,
    /// Who gets the result of the system call being performed, where a handler runs before; zero for whoever made it.
    pub(crate) answer_to: Cell<usize>,
    pub(crate) actions: [Cell<Action>; 65],

    // Files.
    pub(crate) written: Cell<u64>,
    pub(crate) opened: Cell<bool>,
    pub(crate) umask: Cell<u32>,
    pub(crate) shared_count: Cell<usize>,
    /// Its working directory has been changed: the server keeps it.
    pub(crate) moved: Cell<bool>,
    pub(crate) overlay: Overlay,
    pub(crate) descriptors: Descriptors,
    pub(crate) listings: Listings,
    pub(crate) channels: crate::channels::ChannelTables,
    /// Descriptors that keep locks and the like of pool files; zero for none.
    pub(crate) pool_holders: [Cell<i32>; FILE_SLOTS],

    /// How often each thread asked for any value.
    pub(crate) inputs: [Cell<u32>; crate::threads::MOST],
    /// How often each thread waited; and how many waits have ended for no reason.
    pub(crate) waits: [Cell<u32>; crate::threads::MOST],
    pub(crate) wakes: Cell<u32>,
    /// A thread took memory away to which stores of others were on their way.
    pub(crate) too_early: Cell<bool>,
    /// The instruction of an assembly source that runs now.
    pub(crate) instruction: crate::hooks::assembly::AnnouncedInstruction,
    /// Some thread runs, or ran, on a stack that is memory of the program's.
    pub(crate) given_stacks: Cell<bool>,
    /// Blocks that the program has marked, in the server's table.
    pub(crate) marked: Cell<usize>,
    /// Local variables that are gone and others may know, in the table of frames.
    pub(crate) graves: Cell<usize>,
    /// Threads that wait for a condition.
    pub(crate) waiting: Cell<u32>,

    // Threads.
    pub(crate) threads: Threads,
    pub(crate) uses: Uses,
}

impl Run {
    /// The run that the job in a slot asks for. (A value that is assigned would be copied by `memcpy`, which may be the program's.)
    ///
    /// # Safety
    /// `slot` is a slot of the shared memory, and it is this server's turn.
    pub(crate) unsafe fn begin(slot: *mut SlotHeader) {
        // SAFETY: what the caller promises.
        unsafe {
            let run = super::run();
            bytes::fill((&raw const *run).cast_mut().cast(), 0, size_of::<Run>());
            let job = (*slot).job;
            let base = slot as *mut u8;
            run.slot.set(slot);
            run.trace.set(base.add(TRACE_AT as usize));
            let trace_end = job.trace_limit.min(TRACE_LEN);
            run.trace_end.set(trace_end);
            run.trace_limit
                .set(trace_end.min(crate::run::trace::FIRST_PART));
            run.compact_at.set(match job.flags & job::READS_ONLY {
                0 => u64::MAX,
                _ => crate::run::compaction::FIRST,
            });
            run.reads_only.set(job.flags & job::READS_ONLY != 0);
            run.stacks.set(job.flags & job::STACKS != 0);
            let output = [STDOUT_AT, STDERR_AT].map(|at| base.add(at as usize));
            run.output.set(output);
            run.output_limit.set(job.output_limit.min(OUTPUT));
            let (input, left) = match job.stdin_len {
                0 => (server().given.get().0 as *const u8, server().given.get().1),
                length => (base.add(STDIN_AT as usize).cast_const(), length.min(OUTPUT)),
            };
            run.input.set(input);
            run.input_left.set(left);
            run.failures.set(job.failures);
            run.memory.set(job.memory);
            run.stack.set(server().stack.get());
            // After a power failure the heaps are there from the start: a recovery may follow a pointer before it allocates anything.
            run.heap_used.set(job.failures > 0);
            run.malloc_used.set(job.failures > 0);
            crate::syscalls::random::reset(control().seed);
            run.umask.set(0o022);
            crate::syscalls::signals::begin();
            run.descriptors.begin();
            run.endless.begin();
            super::budget().set(job.budget);
            run.tick_budget.set(job.budget);
            super::watch(false);
            crate::threads::begin(&job);
        }
    }
}
