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

/// Up to six arguments; the kernel's return value, negative errors included.
#[inline]
pub(crate) unsafe fn call<const N: usize>(number: i64, arguments: [usize; N]) -> isize {
    let at = |i: usize| if i < N { arguments[i] } else { 0 };
    __lf_syscall(number, at(0), at(1), at(2), at(3), at(4), at(5))
}

/// The range from which system calls are not dispatched.
pub(crate) fn stub_range() -> (usize, usize) {
    let start = __lf_syscall as *const () as usize;
    (start, __lf_syscall_end as *const () as usize + 1 - start)
}

/// Fresh private memory at a fixed or free address; `None` when the kernel has none.
pub(crate) unsafe fn map(address: usize, length: usize) -> Option<usize> {
    let fixed = if address == 0 {
        0
    } else {
        libc::MAP_FIXED_NOREPLACE
    };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | fixed;
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let got = call(
        libc::SYS_mmap,
        [address, length, protection, flags as usize, usize::MAX, 0],
    );
    let usable = got > 0 && (address == 0 || got as usize == address);
    usable.then_some(got as usize)
}

pub(crate) unsafe fn exit(code: i32) -> ! {
    loop {
        call(libc::SYS_exit_group, [code as usize]);
    }
}

/// For the few messages that have no run to belong to.
pub(crate) unsafe fn say(parts: &[&[u8]]) {
    for part in parts {
        call(libc::SYS_write, [2, part.as_ptr() as usize, part.len()]);
    }
}
