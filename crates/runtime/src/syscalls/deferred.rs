//! System calls on pool files, and those in which handlers of signals run, while several threads do. The signal handler that sees a call cannot be interrupted: it has one stack
//! for all threads. So it moves the call to the stack of the thread that makes it, where every store to a file is a step like
//! any other. One such call is performed at a time (`threads::lock_pool`), or several that change
//! nothing: the table of files is seen whole.

#![allow(non_upper_case_globals)] // libc names system calls in lower case

use crate::files::descriptors::{self, Kind};
use crate::files::resolve::{Last, Place, Where};
use crate::memory::bytes;
use crate::memory::own::place;
use crate::memory::shadow::is_persistent;
use crate::run::shared::control;
use crate::run::trace::Origin;
use crate::state::{run, watching};
use crate::syscalls::dispatch::{self, Call};
use crate::syscalls::handlers;
use crate::threads::{self, channel_calls, raw_clone};
use core::arch::global_asm;
use landfall_vocab::builtin::Builtin;
use libc::*;

/// Is it a call on pool files that others could interrupt?
pub(crate) fn is_for(call: &Call) -> bool {
    // SAFETY: the context is the kernel's record of the program at this call.
    let stack = unsafe { (*call.context).uc_mcontext.gregs[REG_RSP as usize] as usize };
    // In a handler of the program's, on the stack for signals, it is performed where it is.
    let on_own_stack = stack.wrapping_sub(place::SIGNAL_STACK) >= place::SIGNAL_STACK_LEN;
    if on_own_stack && raw_clone::is_for(call) {
        return true;
    }
    threads::on()
        && watching()
        && on_own_stack
        && (may_signal(call)
            || concerns_channels(call)
            || control().pm_dir_len != 0 && concerns_files(call))
}

/// Could a handler of the program's run in it? What that does is done in steps, like all the rest.
fn may_signal(call: &Call) -> bool {
    match call.number {
        SYS_kill | SYS_tkill | SYS_tgkill | SYS_rt_sigqueueinfo => true,
        SYS_rt_sigaction | SYS_rt_sigprocmask => threads::signals::are_expected(),
        SYS_nanosleep | SYS_clock_nanosleep | SYS_pause => run().alarm.get() != 0,
        _ => false,
    }
}

/// Does it make channels, is it on one, or does it wait for some?
fn concerns_channels(call: &Call) -> bool {
    let [a, b, c, ..] = call.arguments;
    let is_one = |fd: usize| matches!(descriptors::kind(fd), Kind::Channel(_));
    match call.number {
        SYS_signalfd | SYS_signalfd4 | SYS_pipe | SYS_pipe2 | SYS_socketpair | SYS_eventfd
        | SYS_eventfd2 | SYS_epoll_create | SYS_epoll_create1 | SYS_socket | SYS_poll
        | SYS_ppoll | SYS_select | SYS_pselect6 | SYS_close_range => true,
        SYS_epoll_wait | SYS_epoll_pwait | SYS_epoll_pwait2 | SYS_epoll_ctl | SYS_bind
        | SYS_listen | SYS_accept | SYS_accept4 | SYS_connect | SYS_shutdown | SYS_sendto
        | SYS_recvfrom | SYS_sendmsg | SYS_recvmsg | SYS_getsockname | SYS_getpeername
        | SYS_setsockopt | SYS_getsockopt | SYS_read | SYS_write | SYS_readv | SYS_writev
        | SYS_close | SYS_dup | SYS_fcntl | SYS_ioctl | SYS_fstat => is_one(a),
        SYS_dup2 | SYS_dup3 | SYS_sendfile => is_one(a) || is_one(b),
        SYS_copy_file_range => is_one(a) || is_one(c),
        _ => false,
    }
}

fn concerns_files(call: &Call) -> bool {
    let [a, b, c, d, e, _] = call.arguments;
    let pool = |fd: usize| matches!(descriptors::kind(fd), Kind::Pool(_));
    // SAFETY: the program made this call: its arguments are what the kernel would take.
    unsafe {
        match call.number {
            SYS_read | SYS_pread64 | SYS_write | SYS_pwrite64 | SYS_readv | SYS_writev
            | SYS_preadv | SYS_pwritev | SYS_preadv2 | SYS_pwritev2 | SYS_lseek | SYS_close
            | SYS_fcntl | SYS_flock | SYS_ftruncate | SYS_fallocate | SYS_fsync | SYS_fdatasync
            | SYS_sync_file_range | SYS_fstat => pool(a),
            SYS_sendfile => pool(a) || pool(b),
            SYS_copy_file_range => pool(a) || pool(c),
            SYS_mmap => d as i32 & MAP_ANONYMOUS == 0 && pool(e),
            SYS_msync => is_persistent(a),
            SYS_getdents64 => true,
            SYS_open | SYS_creat | SYS_stat | SYS_lstat | SYS_access | SYS_unlink | SYS_rmdir
            | SYS_mkdir | SYS_truncate | SYS_chmod | SYS_readlink | SYS_statfs => {
                is_in_pool(AT_FDCWD as usize, a)
            }
            SYS_newfstatat | SYS_statx => pool(a) || is_in_pool(a, b),
            SYS_openat | SYS_openat2 | SYS_faccessat | SYS_faccessat2 | SYS_unlinkat
            | SYS_mkdirat | SYS_fchmodat | SYS_readlinkat => is_in_pool(a, b),
            SYS_rename | SYS_link => {
                is_in_pool(AT_FDCWD as usize, a) || is_in_pool(AT_FDCWD as usize, b)
            }
            SYS_renameat | SYS_renameat2 | SYS_linkat => is_in_pool(a, b) || is_in_pool(c, d),
            _ => false,
        }
    }
}

/// # Safety
/// The program may read `path`, as far as it asks for.
unsafe fn is_in_pool(directory: usize, path: usize) -> bool {
    if path == 0 {
        return false;
    }
    let mut place = Place::new();
    // SAFETY: what the caller promises.
    let resolved = unsafe { place.resolve(directory, path, Last::Follow) };
    resolved.is_ok() && matches!(place.whereabouts(), Where::Pool(_))
}

/// `msync` looks at no file.
fn is_locked(number: i64) -> bool {
    number != SYS_msync
}

/// Does it change what others find: files, or positions and descriptors that they may share?
fn changes(number: i64) -> bool {
    !matches!(
        number,
        SYS_pread64
            | SYS_preadv
            | SYS_fsync
            | SYS_fdatasync
            | SYS_sync_file_range
            | SYS_fstat
            | SYS_mmap
            | SYS_stat
            | SYS_lstat
            | SYS_newfstatat
            | SYS_statx
            | SYS_access
            | SYS_faccessat
            | SYS_faccessat2
            | SYS_readlink
            | SYS_readlinkat
            | SYS_statfs
    )
}

// The context lies at the top of the stack, which is where `rt_sigreturn` wants it.
global_asm!(
    ".globl __lf_deferred",
    "__lf_deferred:",
    "mov rdi, rsp",
    "call {perform}",
    "jmp __lf_restorer",
    ".globl __lf_deferred_failed",
    "__lf_deferred_failed:",
    "mov rdi, rsp",
    "call {end}",
    "jmp __lf_restorer",
    perform = sym perform,
    end = sym end,
);

unsafe extern "C" {
    fn __lf_deferred();
    fn __lf_deferred_failed();
}

/// Where a call goes on that was given memory it cannot reach.
pub(crate) fn after_fault() -> *const () {
    __lf_deferred_failed as *const ()
}

/// What the kernel writes of a context: flags, link, stack, registers, mask.
pub(crate) const CONTEXT: usize = 304;
pub(crate) const RED_ZONE: usize = 128;
pub(crate) const TRAP: i64 = 0x100;

/// Lets the signal handler return into the call, on the thread's own stack.
///
/// # Safety
/// `context` is what the kernel gave to the handler that runs.
pub(crate) unsafe fn go(context: *mut ucontext_t) {
    // SAFETY: what the caller promises.
    unsafe { go_to(context, __lf_deferred as *const ()) }
}

/// Lets it return into code of ours, which finds the context at the top of the stack and goes on with it.
///
/// # Safety
/// `context` is what the kernel gave to the handler that runs.
pub(crate) unsafe fn go_to(context: *mut ucontext_t, code: *const ()) {
    // SAFETY: what the caller promises.
    unsafe {
        let registers = &raw mut (*context).uc_mcontext.gregs;
        let stack = (*registers)[REG_RSP as usize] as usize;
        let vector = (*context).uc_mcontext.fpregs as *const u8;
        let length = vector_length(vector);
        let vector_at = (stack - RED_ZONE - length) & !63;
        let at = (vector_at - CONTEXT) & !63;
        bytes::copy(vector_at as *mut u8, vector, length);
        bytes::copy(at as *mut u8, context as *const u8, CONTEXT);
        (*(at as *mut ucontext_t)).uc_mcontext.fpregs = vector_at as *mut _;
        (*registers)[REG_RSP as usize] = at as i64;
        // Whoever goes on instruction by instruction does so behind the call.
        (*registers)[REG_EFL as usize] &= !TRAP;
        (*registers)[REG_RIP as usize] = code as i64;
    }
}

/// Bytes that the kernel kept of the vector registers: it says so in the part that is free for software.
///
/// # Safety
/// `state` is what the kernel saved of vector registers.
pub(crate) unsafe fn vector_length(state: *const u8) -> usize {
    const MAGIC: u32 = 0x4650_5853;
    const SOFTWARE: usize = 464;
    const LEGACY: usize = 512;
    // SAFETY: what the caller promises.
    let word = unsafe { |at: usize| (state.add(at) as *const u32).read_unaligned() };
    if word(SOFTWARE) == MAGIC {
        word(SOFTWARE + 4) as usize
    } else {
        LEGACY
    }
}

unsafe extern "C" fn perform(context: *mut ucontext_t) {
    // SAFETY: the program made this call: its arguments are what the kernel would take.
    unsafe {
        let call = Call::of(context);
        let caller = dispatch::caller_in(context);
        if raw_clone::is_for(&call) {
            let caller = (*context).uc_mcontext.gregs[REG_RIP as usize] as usize;
            let result = raw_clone::perform(&call, context, caller);
            (*context).uc_mcontext.gregs[REG_RAX as usize] = result as i64;
            return;
        }
        if may_signal(&call) {
            threads::drain(caller);
            // Before it, signals come as before; what it unblocks, before it returns.
            let origin = Origin::library(Builtin::system_call, caller);
            threads::signals::look(origin);
            run().answer_to.set(0);
            let result = dispatch::perform(&call, false);
            handlers::answer(context, result);
            run().call.set(dispatch::Current::NONE);
            threads::signals::look(origin);
            return;
        }
        if concerns_channels(&call) {
            channel_calls::enter(caller);
            let result = dispatch::perform(&call, true);
            (*context).uc_mcontext.gregs[REG_RAX as usize] = result as i64;
            channel_calls::leave(caller);
            run().call.set(dispatch::Current::NONE);
            return;
        }
        if is_locked(call.number) {
            threads::lock_pool(changes(call.number), caller);
        } else {
            threads::drain(caller);
        }
        let result = dispatch::perform(&call, true);
        (*context).uc_mcontext.gregs[REG_RAX as usize] = result as i64;
        run().call.set(dispatch::Current::NONE);
        if is_locked(call.number) {
            threads::unlock_pool(caller);
        }
    }
}

/// The call failed in the middle; its result is known.
unsafe extern "C" fn end(context: *mut ucontext_t) {
    // SAFETY: the context is the kernel's record of the program at this call.
    unsafe {
        let caller = dispatch::caller_in(context);
        // Its number is where its result is now.
        match channel_calls::is_inside() {
            true => channel_calls::leave(caller),
            false => threads::unlock_pool(caller),
        }
    };
}
