//! What happens to each system call of the program: performed as it is, answered here, or the end of the run.
//! A call that changes kernel state an in-place restart cannot undo makes the run repeat in a fork (docs/design/runtime.md).

#![allow(non_upper_case_globals)] // libc names system calls in lower case

use crate::files::descriptors;
use crate::files::holders;
use crate::files::pool;
use crate::memory::limits;
use crate::memory::shadow::is_persistent;
use crate::run::outcome::{self, Report};
use crate::state::{run, server};
use crate::syscalls::channels;
use crate::syscalls::clock;
use crate::syscalls::dispatch::{Call, refuse};
use crate::syscalls::error;
use crate::syscalls::handlers;
use crate::syscalls::io;
use crate::syscalls::machine::{prctl, system_information, uname};
use crate::syscalls::mappings::{map, own_memory, set_break, unmap};
use crate::syscalls::paths;
use crate::syscalls::signals;
use crate::syscalls::sys;
use crate::syscalls::timers;
use crate::syscalls::waiting::{clock_nanosleep, futex};
use crate::threads::forked;
use landfall_vocab::shared::End;
use landfall_vocab::window;
use libc::*;

/// Numbers a program sees: the same in every run.
const PID: isize = 1000;

pub(crate) fn perform(call: &Call) -> isize {
    if holders::lacks(call) {
        return error(EBADF);
    }
    if let Some(result) = channels::perform(call) {
        return result;
    }
    if let Some(result) = io::perform(call) {
        return result;
    }
    if let Some(result) = paths::perform(call) {
        return result;
    }
    let [a, b, c, ..] = call.arguments;
    // SAFETY: the program asks for it: what the kernel would do at these addresses is done.
    unsafe {
        match call.number {
            SYS_mmap => map(call),
            SYS_msync if is_persistent(a) => pool::sync_mapping(a, b, c as i32),
            SYS_mprotect if is_persistent(a) => crate::memory::protections::protect(a, b, c as i32),
            SYS_munmap | SYS_madvise | SYS_mlock | SYS_munlock if is_persistent(a) => 0,
            SYS_mremap if is_persistent(a) => {
                // A file has room behind it up to the end of its slot; anything else stays as it is.
                let offset = a as u64 - window::BASE;
                let room = window::FILE_SLOT - offset % window::FILE_SLOT;
                if c <= b || (window::FILES.contains(offset) && c as u64 <= room) {
                    a as isize
                } else {
                    error(ENOMEM)
                }
            }
            SYS_munmap => unmap(call),
            SYS_brk => set_break(call),
            SYS_mprotect | SYS_mremap | SYS_msync | SYS_madvise => {
                if call.number != SYS_msync {
                    forked::remaps(a, b);
                }
                if own_memory(a, b) {
                    return error(EINVAL);
                }
                if call.number == SYS_mremap && c > b && !limits::take(c - b) {
                    return error(ENOMEM);
                }
                altering(call)
            }
            SYS_mlock | SYS_munlock | SYS_mlockall | SYS_munlockall => 0,

            SYS_exit | SYS_exit_group => outcome::end(
                End::Exited,
                Report {
                    code: (a & 0xff) as i32,
                    ..Default::default()
                },
            ),
            SYS_clone => cloned(call, a as u64),
            SYS_clone3 => cloned(call, *(a as *const u64)),
            SYS_fork => forks(call, 0),
            SYS_vfork => refuse(&[PROCESS]),
            SYS_signalfd | SYS_signalfd4 => refuse(&[
                b"signalfd: signals that are read from a descriptor are not searched; use sigwait",
            ]),
            SYS_execve | SYS_execveat => refuse(&[b"exec: the program starts another program"]),
            SYS_kill | SYS_tkill => signal(call, a as i32, b as i32),
            SYS_tgkill => signal(call, b as i32, c as i32),
            SYS_rt_sigqueueinfo => signal(call, a as i32, b as i32),
            SYS_getpid | SYS_gettid | SYS_set_tid_address => forked::ids().0,
            SYS_getpgrp | SYS_getpgid | SYS_getsid => PID,
            SYS_getppid => forked::ids().1,
            SYS_set_robust_list | SYS_rseq | SYS_membarrier | SYS_sched_yield | SYS_setpgid => 0,

            SYS_sigaltstack => {
                let stack_pointer = (*call.context).uc_mcontext.gregs[REG_RSP as usize];
                handlers::set_aside(a as *const _, b as *mut _, stack_pointer as usize)
            }
            SYS_rt_sigaction => signals::set_action(a, b as *const _, c as *mut _),
            SYS_rt_sigprocmask => signals::set_mask(a as i32, b as *const u64, c as *mut u64),
            SYS_rt_sigpending => store(a, 0u64),
            SYS_rt_sigsuspend | SYS_pause => {
                clock::wait_forever(b"pause", call.context);
                error(EINTR)
            }
            SYS_rt_sigtimedwait => {
                if c == 0 {
                    clock::wait_forever(b"sigwait", call.context);
                    return error(EINTR);
                }
                clock::sleep(clock::duration(c as *const timespec), call.context);
                error(EAGAIN)
            }
            SYS_wait4 | SYS_waitid => error(ECHILD),
            SYS_umask => {
                let old = run().umask.get();
                run().umask.set(a as u32 & 0o777);
                old as isize
            }

            SYS_time => clock::time(a as *mut i64) as isize,
            SYS_gettimeofday => clock::gettimeofday(a as *mut timeval, b as *mut [i32; 2]) as isize,
            SYS_clock_gettime => clock::clock_gettime(a as i32, b as *mut timespec) as isize,
            SYS_clock_getres => clock::clock_getres(a as i32, b as *mut timespec) as isize,
            SYS_nanosleep => {
                clock::sleep(clock::duration(a as *const timespec), call.context);
                0
            }
            SYS_clock_nanosleep => clock_nanosleep(call),
            SYS_alarm => timers::alarm(a as u32 as usize),
            SYS_prlimit64 if c != 0 => 0,
            SYS_setitimer => timers::set(a as i32, b as *const itimerval, c as *mut itimerval),
            SYS_getitimer => timers::get(a as i32, b as *mut itimerval),
            SYS_timer_create | SYS_timerfd_create => {
                refuse(&[b"timer_create: timers of the kernel do not keep virtual time"])
            }
            SYS_futex => futex(call),
            SYS_getrandom => {
                descriptors::give_random(a, b);
                b as isize
            }
            SYS_times => {
                if a != 0 {
                    store(a, [0u64; 4]);
                }
                0
            }
            SYS_getrusage => {
                crate::memory::bytes::fill(b as *mut u8, 0, size_of::<rusage>());
                0
            }
            SYS_getcpu => clock::getcpu(a as *mut u32, b as *mut u32, 0) as isize,
            SYS_sched_getaffinity => {
                crate::memory::bytes::fill(c as *mut u8, 0, b.min(128));
                store(c, 1u64);
                8
            }
            SYS_uname => uname(a as *mut utsname),
            SYS_sysinfo => system_information(a),
            SYS_prctl => prctl(call),
            SYS_arch_prctl if a == 0x1002 || a == 0x1001 => {
                refuse(&[b"arch_prctl: the thread pointer is not the program's"])
            }

            SYS_getdents64 => crate::files::listings::entries(call),
            SYS_getdents => error(ENOSYS),
            SYS_getuid
            | SYS_geteuid
            | SYS_getgid
            | SYS_getegid
            | SYS_getgroups
            | SYS_prlimit64
            | SYS_getrlimit
            | SYS_capget
            | SYS_sched_getparam
            | SYS_sched_getscheduler
            | SYS_getpriority
            | SYS_mincore => as_it_is(call),

            // Servers give rights up that they do not have.
            SYS_setuid if a as isize == sys::raw(SYS_geteuid, []) => 0,
            SYS_setgid if a as isize == sys::raw(SYS_getegid, []) => 0,

            number if forbidden(number) => {
                let mut digits = [0u8; 20];
                let number = crate::memory::bytes::decimal(number as u64, &mut digits);
                refuse(&[
                    b"this system call reaches outside the program: number ",
                    number,
                ])
            }
            _ => altering(call),
        }
    }
}

/// Calls that could harm the checker or the machine, whoever makes them.
fn forbidden(number: i64) -> bool {
    matches!(
        number,
        SYS_ptrace
            | SYS_process_vm_readv
            | SYS_process_vm_writev
            | SYS_reboot
            | SYS_mount
            | SYS_umount2
            | SYS_swapon
            | SYS_swapoff
            | SYS_init_module
            | SYS_finit_module
            | SYS_delete_module
            | SYS_setns
            | SYS_unshare
            | SYS_pidfd_send_signal
            | SYS_pidfd_open
            | SYS_pidfd_getfd
            | SYS_io_uring_setup
            | SYS_bpf
            | SYS_perf_event_open
            | SYS_personality
            | SYS_seccomp
            | SYS_setsid
            | SYS_pivot_root
            | SYS_shmget
            | SYS_semget
            | SYS_msgget
            | SYS_mq_open
            | SYS_add_key
            | SYS_keyctl
            | SYS_fanotify_init
            | SYS_io_setup
            | SYS_kexec_load
            | SYS_setuid
            | SYS_setgid
            | SYS_setresuid
            | SYS_setresgid
            | SYS_setreuid
            | SYS_setregid
            | SYS_settimeofday
            | SYS_clock_settime
            | SYS_sethostname
            | SYS_userfaultfd
            | SYS_modify_ldt
            | SYS_ioperm
            | SYS_iopl
            | SYS_acct
            | SYS_quotactl
            | SYS_setrlimit
            | SYS_sched_setscheduler
    )
}

pub(crate) fn as_it_is(call: &Call) -> isize {
    // Whatever the kernel may write through must be writable already.
    for argument in call.arguments {
        crate::run::tracked::warm(argument, 256);
    }
    // SAFETY: the program asks for it: what the kernel would do at these addresses is done.
    unsafe { sys::raw(call.number, call.arguments) }
}

/// Performed, but only where the process is thrown away afterwards.
pub(crate) fn altering(call: &Call) -> isize {
    alters_kernel(call);
    as_it_is(call)
}

pub(crate) fn alters_kernel(call: &Call) {
    if server().in_place.get() {
        let mut digits = [0u8; 20];
        outcome::needs_fork(&[
            b"system call ",
            crate::memory::bytes::decimal(call.number as u64, &mut digits),
        ]);
    }
}

const PROCESS: &[u8] = b"the program creates a process that borrows memory of its parent (vfork, posix_spawn, clone with CLONE_VM): not modelled; use fork";

fn cloned(call: &Call, flags: u64) -> isize {
    if flags & CLONE_THREAD as u64 == 0 && !forked::is_fork(flags as usize) {
        refuse(&[PROCESS])
    }
    forks(call, flags)
}

/// The program creates a thread, or a process, where neither is under control.
fn forks(call: &Call, flags: u64) -> isize {
    // SAFETY: the context is the kernel's record of the program at this call.
    let frame = unsafe { (*call.context).uc_mcontext.gregs[REG_RBP as usize] as usize };
    let text: &[&[u8]] = match flags & CLONE_THREAD as u64 {
        0 => &[b"the program creates a process, where one process is run without others"],
        _ => &[b"the program creates a thread: landfall checks single-threaded programs so far"],
    };
    outcome::end(
        End::Thread,
        Report {
            frame,
            text,
            ..Default::default()
        },
    )
}

fn signal(call: &Call, process: i32, signal: i32) -> isize {
    // Of threads, only whether they are there.
    let thread = PID as i32..PID as i32 + crate::threads::MOST as i32;
    if signal == 0 && crate::threads::on() && thread.contains(&process) {
        return 0;
    }
    if process as isize != forked::ids().0 && process != 0 {
        refuse(&[b"kill: the program signals another process"]);
    }
    if signal == 0 {
        return 0;
    }
    // SAFETY: the context is the kernel's record of the program at this call.
    unsafe {
        if signals::is_deadly(signal as usize) {
            forked::dies_of(signal, crate::syscalls::dispatch::caller_in(call.context));
        }
        signals::raise(signal, call.context)
    };
    0
}

/// Hands a value to the program.
///
/// # Safety
/// The program asks for an answer at `to`.
pub(crate) unsafe fn store<T>(to: usize, value: T) -> isize {
    // SAFETY: what the caller promises.
    unsafe { (to as *mut T).write_unaligned(value) };
    0
}
