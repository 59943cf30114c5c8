//! System calls of the runtime itself. They leave through one small stub in a section of its own: the dispatcher lets exactly
//! that range through, so that the runtime never traps into itself.

use core::arch::global_asm;

global_asm!(
    ".pushsection lf_syscalls,\"ax\",@progbits",
    ".globl __lf_syscall",
    ".type __lf_syscall,@function",
    "__lf_syscall:",
    "mov rax, rdi",
    "mov rdi, rsi",
    "mov rsi, rdx",
    "mov rdx, rcx",
    "mov r10, r8",
    "mov r8, r9",
    "mov r9, [rsp+8]",
    "syscall",
    "ret",
    ".globl __lf_restorer",
    "__lf_restorer:",
    "mov eax, 15", // rt_sigreturn
    "syscall",
    "ud2",
    ".globl __lf_syscall_end",
    "__lf_syscall_end:",
    "nop",
    ".popsection",
);

unsafe extern "C" {
    fn __lf_syscall(
        number: i64,
        a: usize,
        b: usize,
        c: usize,
        d: usize,
        e: usize,
        f: usize,
    ) -> isize;
    pub(crate) fn __lf_restorer();
    fn __lf_syscall_end();
}

/// Calls in which the kernel writes to no memory and unmaps none: whatever the arguments, nothing of ours is undone by them. (A
/// protection that is in the way ends in a fault.)
const fn writes_nothing(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_access
            | libc::SYS_close
            | libc::SYS_close_range
            | libc::SYS_dup
            | libc::SYS_dup2
            | libc::SYS_dup3
            | libc::SYS_exit_group
            | libc::SYS_flock
            | libc::SYS_fork
            | libc::SYS_ftruncate
            | libc::SYS_getgid
            | libc::SYS_getpid
            | libc::SYS_getppid
            | libc::SYS_gettid
            | libc::SYS_getuid
            | libc::SYS_kill
            | libc::SYS_lseek
            | libc::SYS_memfd_create
            | libc::SYS_mprotect
            | libc::SYS_open
            | libc::SYS_pwrite64
            | libc::SYS_setrlimit
            | libc::SYS_write
    )
}

/// A call in which the kernel writes to no memory. Up to six arguments; the kernel's return value, negative errors included.
#[inline(always)]
pub(crate) fn call<const N: usize>(number: i64, arguments: [usize; N]) -> isize {
    assert!(writes_nothing(number));
    // SAFETY: just asked.
    unsafe { raw(number, arguments) }
}

/// Any call.
///
/// # Safety
/// Where the kernel writes to memory, or takes some away, it is the program's and at its request, or the caller's own.
#[inline]
pub(crate) unsafe fn raw<const N: usize>(number: i64, arguments: [usize; N]) -> isize {
    let at = |i: usize| if i < N { arguments[i] } else { 0 };
    // SAFETY: the caller's promise; the stub itself keeps to the calling convention.
    unsafe { __lf_syscall(number, at(0), at(1), at(2), at(3), at(4), at(5)) }
}

/// `fcntl` on a descriptor, not on locks.
pub(crate) fn fcntl(fd: usize, operation: i32, argument: usize) -> isize {
    assert!(matches!(
        operation,
        libc::F_GETFL | libc::F_GETFD | libc::F_DUPFD | libc::F_DUPFD_CLOEXEC
    ));
    // SAFETY: these operations take numbers.
    unsafe { raw(libc::SYS_fcntl, [fd, operation as usize, argument]) }
}

/// Whether a descriptor is open for reading, for writing or for both, as `open` says it.
pub(crate) fn access_mode(fd: usize) -> i32 {
    fcntl(fd, libc::F_GETFL, 0) as i32 & libc::O_ACCMODE
}

/// The range from which system calls are not dispatched.
pub(crate) fn stub_range() -> (usize, usize) {
    let start = __lf_syscall as *const () as usize;
    (start, __lf_syscall_end as *const () as usize + 1 - start)
}

/// Fresh private memory at a fixed or free address; `None` when the kernel has none.
pub(crate) fn map(address: usize, length: usize) -> Option<usize> {
    let fixed = if address == 0 {
        0
    } else {
        libc::MAP_FIXED_NOREPLACE
    };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | fixed;
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let arguments = [address, length, protection, flags as usize, usize::MAX, 0];
    // SAFETY: nothing that is mapped already is replaced.
    let got = unsafe { raw(libc::SYS_mmap, arguments) };
    let usable = got > 0 && (address == 0 || got as usize == address);
    usable.then_some(got as usize)
}

pub(crate) fn exit(code: i32) -> ! {
    loop {
        call(libc::SYS_exit_group, [code as usize]);
    }
}

/// For the few messages that have no run to belong to.
pub(crate) fn say(parts: &[&[u8]]) {
    for part in parts {
        call(libc::SYS_write, [2, part.as_ptr() as usize, part.len()]);
    }
}
