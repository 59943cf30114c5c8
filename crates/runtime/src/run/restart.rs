//! In-place restart (docs/design/runtime.md): a resident process runs job after job and puts its memory back in between. All writable memory
//! of the program and its libraries is write-protected once; the first write to a page makes it *hot*: it stays writable and is
//! copied back after every run. What cannot be put back (kernel state) stops a run before it happens; such a run is repeated
//! in a fork.

use crate::memory::shadow;
use crate::run::fork_server::{await_job, current, die_with, finish, wait};
use crate::run::serve::{begin, enter, go, look_through_image};
use crate::run::shared::{self, control};
use crate::run::tracked;
use crate::state::{run, server};
use crate::syscalls::dispatch;
use crate::syscalls::signals;
use crate::syscalls::sys;
use core::sync::atomic::Ordering::{Relaxed, Release};
use landfall_vocab::shared::{End, SlotHeader, TEXT, isolation, job, slot_state};

/// Runs after which everything is protected again, so that a page written once is not copied for ever.
const REARM: u64 = 1000;

/// Why a resident process left; its exit code.
pub(crate) const LEFT_FOR_FORK: i32 = 3;

/// Runs jobs in a resident process until it leaves or dies. Called by the server.
pub(crate) fn reside() {
    let server = sys::call(libc::SYS_getpid, []);
    let child = sys::call(libc::SYS_fork, []);
    if child == 0 {
        die_with(server);
        resident()
    }
    if child < 0 {
        control().isolation.store(isolation::FORK, Relaxed);
        return;
    }
    control().child_pid.store(child as u32, Release);
    let status = wait(child);
    control().child_pid.store(0, Release);
    let slot = current();
    // SAFETY: slots are in shared memory, and the current one is the server's until it is handed back.
    unsafe {
        if status != LEFT_FOR_FORK << 8 && (*slot).state.load(Relaxed) == slot_state::RUNNING {
            // It died in the middle of this run: that is the run's outcome.
            (*slot).outcome.end = End::Died as u32;
            (*slot).outcome.code = status;
            finish(slot);
        }
    }
}

fn resident() -> ! {
    server().in_place.set(true);
    signals::start_ticking();
    if !dispatch::enable() {
        give_up(&[b"this kernel lacks syscall user dispatch"]);
    }
    tracked::snapshot();
    tracked::protect();
    // SAFETY: slots are in shared memory, and the current one is the server's until it is handed back.
    unsafe {
        loop {
            let slot = await_job();
            if (*slot).job.flags & (job::SET_BASE | job::REWRITE | job::FORK) != 0 {
                (*slot).state.store(slot_state::POSTED, Release);
                sys::exit(LEFT_FOR_FORK);
            }
            begin(slot);
            look_through_image(slot);
            go();
            enter();
            if crate::run::checkpoint::handed_over() {
                restore();
                if control().isolation.load(Relaxed) == isolation::FORK {
                    sys::exit(LEFT_FOR_FORK);
                }
                continue;
            }
            control().restarts.fetch_add(1, Relaxed);
            server().restarts.set(server().restarts.get() + 1);
            // Most runs are over here: the checker reads what they did while memory is put back.
            let over =
                (*slot).job.flags & job::AUDIT == 0 && (*slot).outcome.end != End::NeedsFork as u32;
            if over {
                finish(slot);
            }
            restore();
            if !over {
                finish_restored(slot);
            }
            if server().restarts.get().is_multiple_of(REARM) {
                tracked::rearm();
            }
        }
    }
}

/// Hands back a run of which more is to be said once memory is back, or one that is to be repeated in a fork.
///
/// # Safety
/// `slot` is a slot of the shared memory, and it is this server's turn.
unsafe fn finish_restored(slot: *mut SlotHeader) {
    // SAFETY: what the caller promises.
    unsafe {
        if (*slot).job.flags & job::AUDIT != 0 {
            (*slot).outcome.audit_bytes = tracked::audit();
        }
        if (*slot).outcome.end == End::NeedsFork as u32 {
            let text = &(*slot).outcome.text;
            leave_for_fork(
                slot,
                &[&text[..((*slot).outcome.text_len as usize).min(TEXT)]],
            );
        }
        finish(slot);
    }
}

/// This job goes back to be run in a fork; with `auto` so do all later ones.
///
/// # Safety
/// `slot` is a slot of the shared memory, and it is this server's turn.
unsafe fn leave_for_fork(slot: *mut SlotHeader, why: &[&[u8]]) -> ! {
    // SAFETY: what the caller promises.
    unsafe {
        (*slot).job.flags |= job::FORK;
        (*slot).state.store(slot_state::POSTED, Release);
        if control().isolation.load(Relaxed) == isolation::AUTO {
            give_up(why)
        }
        shared::explain(why);
        sys::exit(LEFT_FOR_FORK)
    }
}

/// No more restarts in place, for the reason given.
pub(crate) fn give_up(why: &[&[u8]]) -> ! {
    shared::explain(why);
    control().isolation.store(isolation::FORK, Release);
    sys::exit(LEFT_FOR_FORK)
}

/// Everything back to what it was before the run.
pub(crate) fn restore() {
    tracked::restore();
    crate::memory::unannounced::close_pages();
    shadow::undo();
    run().mappings.undo();
    if run().opened.get() {
        tracked::close_descriptors();
    }
}
