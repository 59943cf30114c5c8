//! What happens to each system call of the program: performed as it is, answered here, or the end of the run.
//! A call that changes kernel state an in-place restart cannot undo makes the run repeat in a fork (RUNTIME.md).

#![allow(non_upper_case_globals)] // libc names system calls in lower case

use crate::clock;
use crate::descriptors::{self, Kind};
use crate::dispatch::Call;
use crate::files;
use crate::limits;
use crate::machine::{prctl, system_information, uname};
use crate::mappings::{map, own_memory, set_break, unmap};
use crate::outcome::{self, Report};
use crate::paths::{changing_path, on_path, open, rename, stat_descriptor};
use crate::pool_io;
use crate::shadow::{is_persistent, view};
use crate::signals;
use crate::state::{Scratch, state};
use crate::sys;
use crate::waiting::{clock_nanosleep, futex, poll, set_timer, waits_for_itself};
use landfall_vocab::builtin::Builtin;
use landfall_vocab::shared::End;
use landfall_vocab::window;
use libc::*;

/// Numbers a program sees: the same in every run.
const PID: isize = 1000;
const PARENT: isize = 999;

const fn error(number: i32) -> isize {
    -(number as isize)
}

pub(crate) unsafe fn perform(call: &Call) -> isize {
    let [a, b, c, d, e, f] = call.arguments;
    match call.number {
        SYS_read => {
            if waits_for_itself(a) {
                clock::wait_forever(b"read from a pipe", call.context);
                return error(EINTR);
            }
            descriptors::read(a, b, c, -1)
        }
        SYS_pread64 => descriptors::read(a, b, c, d as i64),
        SYS_write => {
            if descriptors::kind(a) == Kind::Real {
                alters_kernel(call);
            }
            descriptors::write(a, b, c, -1)
        }
        SYS_pwrite64 => {
            if descriptors::kind(a) == Kind::Real {
                alters_kernel(call);
            }
            descriptors::write(a, b, c, d as i64)
        }
        SYS_readv | SYS_writev => vectored(call),
        SYS_lseek => match descriptors::kind(a) {
            Kind::Pool(file) => pool_io::seek(file, a, b as i64, c as i32),
            Kind::Real => {
                crate::directory::forget(a);
                as_it_is(call)
            }
            _ => error(ESPIPE),
        },
        SYS_open => open(call, AT_FDCWD as usize, a, b as i32, c),
        SYS_openat => open(call, a, b, c as i32, d),
        SYS_creat => open(call, AT_FDCWD as usize, a, O_CREAT | O_WRONLY | O_TRUNC, b),
        SYS_close => {
            if a < 3 {
                alters_kernel(call);
            }
            descriptors::set(a, Kind::Real);
            crate::directory::forget(a);
            as_it_is(call)
        }
        SYS_close_range => {
            alters_kernel(call);
            for fd in a..descriptors::COUNT.min(b.saturating_add(1)) {
                descriptors::set(fd, Kind::Real);
            }
            as_it_is(call)
        }
        SYS_dup | SYS_dup2 | SYS_dup3 => {
            if call.number != SYS_dup && b < 3 {
                alters_kernel(call);
            }
            duplicated(a, as_it_is(call))
        }
        SYS_fcntl if b as i32 == F_DUPFD || b as i32 == F_DUPFD_CLOEXEC => {
            duplicated(a, as_it_is(call))
        }
        SYS_fcntl => as_it_is(call),
        SYS_flock if matches!(descriptors::kind(a), Kind::Pool(_)) => 0,
        SYS_stat | SYS_lstat => on_path(call, a, |path| files::stat_path(path, b as *mut stat)),
        SYS_access => on_path(call, a, |path| {
            files::stat_path(path, core::ptr::null_mut())
        }),
        SYS_faccessat | SYS_faccessat2 => on_path(call, b, |path| {
            files::stat_path(path, core::ptr::null_mut())
        }),
        SYS_fstat => stat_descriptor(call, a, b),
        SYS_newfstatat if d as i32 & AT_EMPTY_PATH != 0 && *(b as *const u8) == 0 => {
            stat_descriptor(call, a, c)
        }
        SYS_newfstatat => on_path(call, b, |path| files::stat_path(path, c as *mut stat)),
        SYS_statx => on_path(call, b, |_| error(ENOSYS)),
        SYS_unlink => changing_path(call, a, |path| files::unlink(path)),
        SYS_unlinkat => changing_path(call, b, |path| files::unlink(path)),
        SYS_rename => rename(call, a, b),
        SYS_renameat | SYS_renameat2 => rename(call, b, d),
        SYS_mkdir | SYS_rmdir | SYS_chmod | SYS_chown => changing_path(call, a, |_| 0),
        SYS_truncate => changing_path(call, a, |_| error(ENOSYS)),
        SYS_ftruncate => match descriptors::kind(a) {
            Kind::Pool(file) => files::set_length(file, b as u64, Builtin::ftruncate),
            _ => altering(call),
        },
        SYS_fallocate => match descriptors::kind(a) {
            Kind::Pool(file) => files::allocate(file, b as i32, c as u64, d as u64),
            _ => altering(call),
        },
        SYS_fsync | SYS_fdatasync | SYS_sync_file_range => match descriptors::kind(a) {
            Kind::Pool(file) => files::sync_file(file),
            Kind::Real => as_it_is(call),
            _ => 0,
        },
        SYS_fchmod | SYS_fchown if descriptors::kind(a) != Kind::Real => 0,

        SYS_mmap => map(call),
        SYS_msync if is_persistent(a) => {
            files::sync(a as u64 - window::BASE, b as u64, Builtin::msync)
        }
        SYS_munmap | SYS_mprotect | SYS_madvise | SYS_mlock | SYS_munlock if is_persistent(a) => 0,
        SYS_mremap if is_persistent(a) => {
            if c <= b {
                a as isize
            } else {
                error(ENOMEM)
            }
        }
        SYS_munmap => unmap(call),
        SYS_brk => set_break(call),
        SYS_mprotect | SYS_mremap | SYS_msync | SYS_madvise => {
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
        SYS_fork | SYS_vfork => forbid(call, b"fork: the program creates a process"),
        SYS_execve | SYS_execveat => forbid(call, b"exec: the program starts another program"),
        SYS_kill | SYS_tkill => signal(call, a as i32, b as i32),
        SYS_tgkill => signal(call, b as i32, c as i32),
        SYS_rt_sigqueueinfo => signal(call, a as i32, b as i32),
        SYS_getpid | SYS_gettid | SYS_getpgrp | SYS_getpgid | SYS_getsid | SYS_set_tid_address => {
            PID
        }
        SYS_getppid => PARENT,
        SYS_set_robust_list | SYS_rseq | SYS_membarrier | SYS_sched_yield | SYS_sigaltstack
        | SYS_setpgid => 0,

        SYS_rt_sigaction => signals::set_action(a, b as *const _, c as *mut _),
        SYS_rt_sigprocmask => signals::set_mask(a as i32, b as *const u64, c as *mut u64),
        SYS_rt_sigpending => store(a, 0u64),
        SYS_rt_sigsuspend | SYS_pause => {
            clock::wait_forever(b"pause", call.context);
            error(EINTR)
        }
        SYS_rt_sigtimedwait => error(EAGAIN),

        SYS_time => clock::time(a as *mut i64) as isize,
        SYS_gettimeofday => clock::gettimeofday(a as *mut timeval, b as *mut [i32; 2]) as isize,
        SYS_clock_gettime => clock::clock_gettime(a as i32, b as *mut timespec) as isize,
        SYS_clock_getres => clock::clock_getres(a as i32, b as *mut timespec) as isize,
        SYS_nanosleep => {
            clock::sleep(clock::duration(a as *const timespec), call.context);
            0
        }
        SYS_clock_nanosleep => clock_nanosleep(call),
        SYS_alarm => (clock::set_alarm(a as u64 * 1_000_000_000) / 1_000_000_000) as isize,
        SYS_prlimit64 if c != 0 => 0,
        SYS_recvfrom if is_persistent(b) => receive(call),
        SYS_setitimer => set_timer(a as i32, b as *const itimerval, c as *mut itimerval),
        SYS_getitimer => store(b, [0u64; 4]),
        SYS_timer_create => forbid(
            call,
            b"timer_create: timers of the kernel do not keep virtual time",
        ),
        SYS_poll | SYS_ppoll | SYS_select | SYS_pselect6 => poll(call),
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
            crate::bytes::fill(b as *mut u8, 0, size_of::<rusage>());
            0
        }
        SYS_getcpu => clock::getcpu(a as *mut u32, b as *mut u32, 0) as isize,
        SYS_sched_getaffinity => {
            crate::bytes::fill(c as *mut u8, 0, b.min(128));
            store(c, 1u64);
            8
        }
        SYS_uname => uname(a as *mut utsname),
        SYS_sysinfo => system_information(a),
        SYS_prctl => prctl(call),
        SYS_arch_prctl if a == 0x1002 || a == 0x1001 => {
            forbid(call, b"arch_prctl: the thread pointer is not the program's")
        }

        SYS_getdents64 => crate::directory::entries(call),
        SYS_getuid
        | SYS_geteuid
        | SYS_getgid
        | SYS_getegid
        | SYS_getgroups
        | SYS_getcwd
        | SYS_readlink
        | SYS_readlinkat
        | SYS_getdents
        | SYS_statfs
        | SYS_fstatfs
        | SYS_ioctl
        | SYS_prlimit64
        | SYS_getrlimit
        | SYS_capget
        | SYS_sched_getparam
        | SYS_sched_getscheduler
        | SYS_getpriority
        | SYS_fadvise64
        | SYS_readahead
        | SYS_mincore => as_it_is(call),

        number if forbidden(number) => {
            forbid(call, b"this system call reaches outside the program")
        }
        _ => {
            let _ = (e, f);
            altering(call)
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
            | SYS_chroot
            | SYS_pivot_root
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

pub(crate) unsafe fn as_it_is(call: &Call) -> isize {
    // Whatever the kernel may write through must be writable already; the largest of these buffers say their length.
    let [a, b, c, d, e, _] = call.arguments;
    match call.number {
        SYS_getdents64 | SYS_getdents | SYS_readlink => crate::tracked::warm(b, c),
        SYS_readlinkat => crate::tracked::warm(c, d),
        SYS_getcwd => crate::tracked::warm(a, b),
        _ => [a, b, c, d, e]
            .into_iter()
            .for_each(|argument| crate::tracked::warm(argument, 256)),
    }
    sys::call(call.number, call.arguments)
}

/// Performed, but only where the process is thrown away afterwards.
pub(crate) unsafe fn altering(call: &Call) -> isize {
    alters_kernel(call);
    as_it_is(call)
}

pub(crate) unsafe fn alters_kernel(call: &Call) {
    if (*state()).in_place {
        let mut digits = [0u8; 20];
        outcome::needs_fork(&[
            b"system call ",
            crate::bytes::decimal(call.number as u64, &mut digits),
        ]);
    }
}

unsafe fn forbid(call: &Call, text: &[u8]) -> ! {
    let registers = &(*call.context).uc_mcontext.gregs;
    let report = Report {
        code: call.number as i32,
        pc: registers[REG_RIP as usize] as u64,
        frame: registers[REG_RBP as usize] as usize,
        text: &[text],
        ..Default::default()
    };
    outcome::end(End::Forbidden, report)
}

unsafe fn cloned(call: &Call, flags: u64) -> isize {
    if flags & CLONE_THREAD as u64 == 0 {
        forbid(call, b"fork: the program creates a process")
    }
    let frame = (*call.context).uc_mcontext.gregs[REG_RBP as usize] as usize;
    let text: &[&[u8]] =
        &[b"the program creates a thread: landfall checks single-threaded programs so far"];
    outcome::end(
        End::Thread,
        Report {
            frame,
            text,
            ..Default::default()
        },
    )
}

unsafe fn signal(call: &Call, process: i32, signal: i32) -> isize {
    if process as isize != PID && process != 0 {
        forbid(call, b"kill: the program signals another process");
    }
    if signal == 0 {
        return 0;
    }
    signals::raise(signal, call.context);
    0
}

pub(crate) unsafe fn store<T>(to: usize, value: T) -> isize {
    (to as *mut T).write_unaligned(value);
    0
}

/// A message received into persistent memory is stored there.
unsafe fn receive(call: &Call) -> isize {
    alters_kernel(call);
    let [fd, to, length, flags, from, from_length] = call.arguments;
    let buffer = Scratch::new(length.min(1 << 20));
    let room = length.min(1 << 20);
    let got = sys::call(
        SYS_recvfrom,
        [fd, buffer.start() as usize, room, flags, from, from_length],
    );
    if got > 0 {
        descriptors::give(to, buffer.start(), got as usize);
    }
    got
}

unsafe fn duplicated(from: usize, to: isize) -> isize {
    if to >= 0 {
        descriptors::set(to as usize, descriptors::kind(from));
    }
    to
}

unsafe fn vectored(call: &Call) -> isize {
    let [fd, vector, count, ..] = call.arguments;
    if call.number == SYS_writev && descriptors::kind(fd) == Kind::Real {
        alters_kernel(call);
    }
    let mut total = 0;
    for i in 0..count.min(1024) {
        let entry = (vector as *const iovec).add(i);
        crate::library::seen(entry as *const u8, size_of::<iovec>(), Builtin::readv, 0);
        let part = *view(entry);
        let (base, length) = (part.iov_base as usize, part.iov_len);
        let done = if call.number == SYS_readv {
            descriptors::read(fd, base, length, -1)
        } else {
            descriptors::write(fd, base, length, -1)
        };
        if done < 0 {
            return if total > 0 { total } else { done };
        }
        total += done;
        if (done as usize) < length {
            break;
        }
    }
    total
}
