//! The runtime's own memory: where its mappings lie, memory that is kept for ever, and memory for a moment. None of it is the
//! program's, none of it is tracked by an in-place restart.

use crate::run::outcome;
use crate::state::{run, server};

/// Addresses of the runtime's own mappings: fixed, so that nothing it does moves a mapping of the program.
pub(crate) mod place {
    pub(crate) const HEAP: usize = 0x2000_0000_0000;
    pub(crate) const HEAP_LEN: usize = 80 << 30;
    pub(crate) const HEAP_SHADOW: usize = 0x2100_0000_0000;
    pub(crate) const STACK: usize = 0x2200_0000_0000;
    pub(crate) const STACK_LEN: usize = 8 << 20;
    pub(crate) const GUARD: usize = 1 << 20;
    pub(crate) const THREAD_STACKS: usize = 0x2280_0000_0000;
    pub(crate) const DESCRIPTORS: usize = 0x22c0_0000_0000;
    pub(crate) const SIGNAL_STACK: usize = 0x2300_0000_0000;
    pub(crate) const SIGNAL_STACK_LEN: usize = 1 << 20;
    pub(crate) const HOOK_STACK: usize = 0x2380_0000_0000;
    pub(crate) const HOOK_STACK_LEN: usize = 1 << 18;
    pub(crate) const ARENA: usize = 0x3000_0000_0000;
    pub(crate) const ARENA_LEN: usize = 64 << 30;
    pub(crate) const SCRATCH: usize = 0x3200_0000_0000;
    pub(crate) const SCRATCH_LEN: usize = 512 << 30;
    pub(crate) const OVERLAY: usize = 0x3300_0000_0000;
    pub(crate) const OVERLAY_LEN: usize = 1 << 30;
    pub(crate) const CHANNELS: usize = landfall_vocab::window::CHANNELS.start as usize;
    pub(crate) const CHANNELS_LEN: usize = landfall_vocab::window::CHANNELS.end as usize - CHANNELS;
    /// What processes have for themselves that do not run.
    pub(crate) const FORKED: usize = 0x3390_0000_0000;
    pub(crate) const FORKED_LEN: usize = 2 << 30;
    pub(crate) const INPUT: usize = 0x3c00_0000_0000;
    pub(crate) const SHARED: usize = 0x4000_0000_0000;
}

/// Memory that is never given back, for tables of the runtime.
pub(crate) fn allocate(length: usize) -> *mut u8 {
    let server = server();
    if server.arena.get() == 0 {
        if crate::syscalls::sys::map(place::ARENA, place::ARENA_LEN).is_none() {
            outcome::internal(b"no memory for the runtime", 0)
        }
        server.arena.set(place::ARENA);
        server.arena_end.set(place::ARENA + place::ARENA_LEN);
    }
    let length = (length + 63) & !63;
    let start = server.arena.get();
    if start + length > server.arena_end.get() {
        outcome::internal(b"no memory for the runtime", 0)
    }
    server.arena.set(start + length);
    start as *mut u8
}

/// Is it lent to a call, which gives it back?
pub(crate) fn is_scratch(address: usize) -> bool {
    address.wrapping_sub(place::SCRATCH) < place::SCRATCH_LEN
}

fn prepare_scratch() {
    if run().scratch.get() != 0 {
        return;
    }
    if !server().scratch_mapped.get() {
        if crate::syscalls::sys::map(place::SCRATCH, place::SCRATCH_LEN).is_none() {
            outcome::internal(b"no memory for the runtime", 0)
        }
        server().scratch_mapped.set(true);
    }
    // Each thread has its own: others may go on while it is in use.
    const EACH: usize = place::SCRATCH_LEN / crate::threads::MOST;
    run()
        .scratch
        .set(place::SCRATCH + crate::threads::current() * EACH);
}

/// Memory for a moment: taken from a stack of its own, given back when dropped, and all of it when the run ends.
pub(crate) struct Scratch {
    start: *mut u8,
}

impl Scratch {
    pub(crate) fn new(length: usize) -> Scratch {
        prepare_scratch();
        let start = run().scratch.get();
        if length > place::SCRATCH_LEN || start + length > place::SCRATCH + place::SCRATCH_LEN {
            outcome::internal(b"no memory for the runtime", 0)
        }
        run()
            .scratch
            .set(run().scratch.get() + ((length + 63) & !63));
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
        run().scratch.set(self.start as usize);
    }
}
