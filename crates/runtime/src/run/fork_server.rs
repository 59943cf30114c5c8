//! The fork server: one child per run, forked by the raw system call (glibc's fork does more than we want: docs/design/runtime.md).

use crate::memory::bytes;
use crate::memory::shadow::PAGE;
use crate::run::serve::{begin, go, image_lines, image_lines_of, look_through_image, slot};
use crate::run::shared::{self, control};
use crate::state::server;
use crate::syscalls::dispatch;
use crate::syscalls::signals;
use crate::syscalls::sys;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use landfall_vocab::shared::{SLOTS, SlotHeader, isolation, job, option, slot_state};
use landfall_vocab::window;

/// The base: what persistent memory holds where a run's image says nothing.
const GIVEN: usize = 0x5000_0000_0000;
/// Per page: whether the base has anything there.
const GIVEN_PAGES: usize = 0x5080_0000_0000;
/// Looks at the doorbell before sleeping on it.
const SPINS: u32 = 2000;

pub(crate) fn init() {
    sys::map(GIVEN, window::LEN as usize);
    sys::map(GIVEN_PAGES, window::LEN as usize / PAGE);
}

/// Where the server stands.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum ServePlace {
    BeforeMain,
    /// Inside a constructor that touched persistent memory: the stack is the program's, so only forks can leave it.
    Constructor,
}

/// Serves jobs in ring order. Returns in the child of a run, ready to go; in the server never.
pub(crate) fn serve(place: ServePlace) {
    // SAFETY: slots are in shared memory, and the current one is the server's until it is handed back.
    unsafe {
        loop {
            let slot = await_job();
            let flags = (*slot).job.flags;
            let forked = control().isolation.load(Relaxed) == isolation::FORK
                || place == ServePlace::Constructor;
            if flags & job::SET_BASE != 0 {
                image_lines(slot, |offset, line| apply(offset, line));
            } else if flags & job::REWRITE != 0 {
                crate::memory::rewritten::apply(slot);
            } else if !forked && flags & job::FORK == 0 {
                (*slot).state.store(slot_state::POSTED, Release);
                crate::run::restart::reside();
                continue;
            } else if run_in_fork(slot) == Side::Child {
                return;
            }
            finish(slot);
        }
    }
}

/// The slot whose turn it is.
pub(crate) fn current() -> *mut SlotHeader {
    slot(control().cursor.load(Acquire) as usize % SLOTS)
}

#[derive(PartialEq)]
enum Side {
    Child,
    Server,
}

/// Waits for the next job. The checker moves the cursor back to the first slot when nothing is in flight, so it is read anew.
#[inline(never)]
pub(crate) fn await_job() -> *mut SlotHeader {
    let mut spins = 0;
    // SAFETY: slots are in shared memory, and the current one is the server's until it is handed back.
    unsafe {
        loop {
            let doorbell = control().doorbell.load(Acquire);
            let slot = current();
            if control().quit.load(Relaxed) != 0 {
                sys::exit(0);
            }
            // The cursor is looked at again: moved back in between, another slot comes first.
            if (*slot).state.load(Acquire) == slot_state::POSTED && slot == current() {
                (*slot).state.store(slot_state::RUNNING, Release);
                return slot;
            }
            spins += 1;
            if spins < SPINS {
                core::hint::spin_loop();
                continue;
            }
            // Announced first, looked at once more, then slept: the checker rings after posting and then looks for sleepers.
            control().server_asleep.store(1, SeqCst);
            if (*current()).state.load(SeqCst) != slot_state::POSTED {
                let word = &raw const control().doorbell as usize;
                sys::raw(
                    libc::SYS_futex,
                    [word, libc::FUTEX_WAIT as usize, doorbell as usize, 0],
                );
            }
            control().server_asleep.store(0, SeqCst);
        }
    }
}

/// Hands a slot back. The cursor moves first: from then on the checker may move it.
///
/// # Safety
/// `slot` is a slot of the shared memory, and it is this server's turn.
pub(crate) unsafe fn finish(slot: *mut SlotHeader) {
    control().cursor.fetch_add(1, Release);
    // SAFETY: what the caller promises.
    unsafe { (*slot).state.store(slot_state::DONE, Release) };
    control().finished.fetch_add(1, SeqCst);
    if control().checker_asleep.load(SeqCst) != 0 {
        shared::wake(&control().finished);
    }
}

/// Waits for a child; its wait status.
pub(crate) fn wait(child: isize) -> i32 {
    let mut status = 0i32;
    // SAFETY: the kernel writes a status of ours.
    unsafe {
        while sys::raw(
            libc::SYS_wait4,
            [child as usize, &raw mut status as usize, 0, 0],
        ) == -(libc::EINTR as isize)
        {}
    }
    status
}

/// # Safety
/// `slot` is a slot of the shared memory, and it is this server's turn.
unsafe fn run_in_fork(slot: *mut SlotHeader) -> Side {
    // SAFETY: what the caller promises.
    unsafe {
        begin(slot);
        let server = sys::call(libc::SYS_getpid, []);
        control().forks.fetch_add(1, Relaxed);
        let child = sys::call(libc::SYS_fork, []);
        if child == 0 {
            start_child(slot, server);
            return Side::Child;
        }
        if child < 0 {
            (*slot).outcome.code = child as i32;
            return Side::Server;
        }
        control().child_pid.store(child as u32, Release);
        let status = wait(child);
        control().child_pid.store(0, Release);
        if status != 0 {
            // It did not leave by itself: whatever it managed to report is not how it ended.
            (*slot).outcome.end = landfall_vocab::shared::End::Died as u32;
            (*slot).outcome.code = status;
        }
        Side::Server
    }
}

/// The child must not outlive the server; the second look closes the gap before the first took effect.
pub(crate) fn die_with(server: isize) {
    // SAFETY: this operation takes numbers.
    unsafe {
        sys::raw(
            libc::SYS_prctl,
            [libc::PR_SET_PDEATHSIG as usize, libc::SIGKILL as usize],
        )
    };
    if sys::call(libc::SYS_getppid, []) != server {
        sys::exit(0);
    }
}

/// # Safety
/// `slot` is a slot of the shared memory, and it is this server's turn.
unsafe fn start_child(slot: *mut SlotHeader, parent: isize) {
    die_with(parent);
    // SAFETY: what the caller promises.
    unsafe { look_through_image(slot) };
    signals::start_ticking();
    server().mode.set(crate::state::Mode::Running);
    if !dispatch::enable() {
        crate::run::outcome::internal(b"this kernel lacks syscall user dispatch (Linux 5.11)", 0);
    }
    go();
}

/// Makes a line part of the base.
///
/// # Safety
/// `line` is a line of an image, and `offset` in the window.
unsafe fn apply(offset: u64, line: *const u8) {
    // SAFETY: what the caller promises.
    unsafe {
        let given = (GIVEN_PAGES + offset as usize / PAGE) as *mut u8;
        if *given == 0 {
            let page = offset & !(PAGE as u64 - 1);
            fresh_page(page, (GIVEN as u64 + page) as *mut u8);
            *given = 1;
        }
        bytes::copy((GIVEN as u64 + offset) as *mut u8, line, 64);
    }
}

/// Where blocks of a page begin that hold garbage as long as nobody wrote to them.
fn garbage_from(start: u64) -> Option<u64> {
    let options = server().options.get();
    let from = if window::MALLOC.contains(start) && options & option::FRESH_MALLOC != 0 {
        window::MALLOC_BLOCKS
    } else if window::HEAP.contains(start) && options & option::FRESH_HEAP != 0 {
        window::HEAP_BLOCKS
    } else {
        return None;
    };
    (from < start + PAGE as u64).then_some(from.max(start))
}

/// A page of zeros, as nobody wrote to it.
///
/// # Safety
/// `to` has room for a page.
unsafe fn fresh_page(start: u64, to: *mut u8) {
    if let Some(from) = garbage_from(start) {
        let skipped = (from - start) as usize;
        // SAFETY: what the caller promises.
        unsafe { bytes::fill(to.add(skipped), window::GARBAGE, PAGE - skipped) };
    }
}

/// Does a run start with anything in this page?
pub(crate) fn is_given(start: u64) -> bool {
    // SAFETY: the base is mapped for all of the window, and a run is on.
    unsafe {
        let mut given = *((GIVEN_PAGES + start as usize / PAGE) as *const u8) != 0;
        image_lines_of(start, |_, _| given = true);
        given || garbage_from(start).is_some()
    }
}

/// A page as the run was given it: the base, and the lines of its image over it.
///
/// # Safety
/// `to` has room for a page.
pub(crate) unsafe fn given_page(start: u64, to: *mut u8) {
    // SAFETY: what the caller promises.
    unsafe {
        if *((GIVEN_PAGES + start as usize / PAGE) as *const u8) != 0 {
            bytes::copy_words(
                to as *mut u64,
                (GIVEN as u64 + start) as *const u64,
                PAGE / 8,
            );
        } else {
            if server().in_place.get() {
                bytes::fill(to, 0, PAGE); // an earlier run may have left something; a fork starts with zeros
            }
            fresh_page(start, to);
        }
        image_lines_of(start, |offset, line| {
            bytes::copy(to.add((offset - start) as usize), line, 64)
        });
    }
}
