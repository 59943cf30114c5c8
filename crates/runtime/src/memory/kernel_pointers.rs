//! Pointers into persistent memory handed to the kernel. It cannot reach what is closed: the pages they point to are opened for
//! the time of the call. What lies there counts as read, as far as the call may look; what has changed after it was stored by it.

#![allow(non_upper_case_globals)] // libc names system calls in lower case

use crate::memory::accesses;
use crate::memory::shadow::{self, PAGE, is_persistent, offset};
use crate::memory::unannounced;
use crate::run::trace::Origin;
use crate::syscalls::dispatch::Call;
use landfall_vocab::builtin::Builtin;
use libc::*;

/// Where nothing better is known: the largest of the structures that calls take or fill is smaller.
const STRUCTURE: usize = 256;

/// Calls that see to persistent buffers themselves, or mean the address and not what is there.
fn sees_to_it(number: i64) -> bool {
    matches!(
        number,
        SYS_read
            | SYS_write
            | SYS_pread64
            | SYS_pwrite64
            | SYS_readv
            | SYS_writev
            | SYS_preadv
            | SYS_pwritev
            | SYS_recvfrom
            | SYS_getrandom
            | SYS_futex
            | SYS_mmap
            | SYS_munmap
            | SYS_mremap
            | SYS_mprotect
            | SYS_msync
            | SYS_madvise
            | SYS_mlock
            | SYS_munlock
            | SYS_mincore
            | SYS_brk
            | SYS_exit
            | SYS_exit_group
    ) || crate::syscalls::paths::sees_to_it(number)
}

/// Could this argument be a pointer? Of calls on channels it is known; of others, any could.
fn points(number: i64, index: usize) -> bool {
    let pointers: &[usize] = match number {
        SYS_socket | SYS_listen | SYS_shutdown | SYS_eventfd | SYS_eventfd2 | SYS_epoll_create
        | SYS_epoll_create1 | SYS_close | SYS_dup | SYS_dup2 | SYS_dup3 => &[],
        SYS_pipe | SYS_pipe2 | SYS_poll => &[0],
        SYS_bind | SYS_connect | SYS_sendmsg | SYS_recvmsg | SYS_epoll_wait => &[1],
        SYS_accept | SYS_accept4 | SYS_getsockname | SYS_getpeername => &[1, 2],
        SYS_socketpair | SYS_epoll_ctl | SYS_setsockopt => &[3],
        SYS_getsockopt => &[3, 4],
        _ => return true,
    };
    pointers.contains(&index)
}

/// What the kernel does with an argument that is a pointer.
enum Use {
    /// Fills a buffer of this length.
    Fills(usize),
    Reads(usize),
}

fn usage(call: &Call, index: usize) -> Use {
    let [_, _, c, ..] = call.arguments;
    match (call.number, index) {
        (SYS_clock_gettime | SYS_clock_getres, 1) | (SYS_rt_sigaction, 2) => Use::Fills(STRUCTURE),
        (SYS_uname, 0) => Use::Fills(size_of::<utsname>()),
        (SYS_sendto, 1) => Use::Reads(c),
        _ => Use::Reads(STRUCTURE),
    }
}

/// Performs a call with the pages open that its arguments point to.
pub(crate) fn lending(call: &Call, perform: impl FnOnce() -> isize) -> isize {
    let arguments = call.arguments;
    // A number in a register that no argument is in means nothing.
    let is_lent = |index: usize| is_persistent(arguments[index]) && points(call.number, index);
    let concerned = (0..arguments.len()).any(is_lent);
    if !concerned || sees_to_it(call.number) {
        return perform();
    }
    let origin = crate::syscalls::dispatch::origin(Builtin::system_call);
    for (index, argument) in arguments.into_iter().enumerate() {
        if is_lent(index) && shadow::live(offset(argument)) {
            let (reads, length) = match usage(call, index) {
                Use::Fills(length) => (false, length),
                Use::Reads(length) => (true, length),
            };
            lend(argument, length, reads, origin);
        }
    }
    let result = perform();
    unannounced::take_back(origin);
    result
}

fn lend(address: usize, length: usize, reads: bool, origin: Origin) {
    let mut at = address;
    while at < address.saturating_add(length) {
        let rest = (PAGE - at % PAGE).min(address + length - at);
        if !is_persistent(at) || !shadow::live(offset(at)) {
            return;
        }
        if reads {
            accesses::read_span(at, rest, 0, origin);
        }
        shadow::touch(offset(at));
        unannounced::open(offset(at));
        at += rest;
    }
}
