//! The kernel's vdso answers clock calls without a system call, so dispatch never sees them: its functions are overwritten
//! with jumps to ours. It is a private mapping of this process and may be written after an mprotect.

use crate::memory::bytes;
use crate::syscalls::clock;
use crate::syscalls::sys;

/// Redirects the vdso's clock functions; false when there is a vdso that cannot be changed.
pub(crate) fn redirect() -> bool {
    // SAFETY: the vdso is an image of this process, and its functions are longer than a jump.
    unsafe {
        let base = libc::getauxval(libc::AT_SYSINFO_EHDR) as usize;
        if base == 0 {
            return true;
        }
        let header = &*(base as *const libc::Elf64_Ehdr);
        let segments = core::slice::from_raw_parts(
            (base + header.e_phoff as usize) as *const libc::Elf64_Phdr,
            header.e_phnum as usize,
        );
        let Some(load) = segments.iter().find(|s| s.p_type == libc::PT_LOAD) else {
            return false;
        };
        let Some(dynamic) = segments.iter().find(|s| s.p_type == libc::PT_DYNAMIC) else {
            return false;
        };
        let length = (load.p_memsz as usize + 4095) & !4095;
        let all = (libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) as usize;
        if sys::call(libc::SYS_mprotect, [base, length, all]) != 0 {
            return false;
        }
        let (mut strings, mut symbols) = (0usize, 0usize);
        let mut entry = (base + dynamic.p_vaddr as usize) as *const [u64; 2];
        while (*entry)[0] != 0 {
            match (*entry)[0] {
                5 => strings = base + (*entry)[1] as usize,
                6 => symbols = base + (*entry)[1] as usize,
                _ => {}
            }
            entry = entry.add(1);
        }
        if strings <= symbols || symbols == 0 {
            return false;
        }
        // The string table follows the symbol table, which bounds the number of symbols.
        let count = (strings - symbols) / size_of::<libc::Elf64_Sym>();
        for symbol in core::slice::from_raw_parts(symbols as *const libc::Elf64_Sym, count) {
            let target = match bytes::text((strings + symbol.st_name as usize) as *const u8, 64) {
                b"__vdso_clock_gettime" | b"clock_gettime" => {
                    clock::clock_gettime as *const () as usize
                }
                b"__vdso_gettimeofday" | b"gettimeofday" => {
                    clock::gettimeofday as *const () as usize
                }
                b"__vdso_time" | b"time" => clock::time as *const () as usize,
                b"__vdso_clock_getres" | b"clock_getres" => {
                    clock::clock_getres as *const () as usize
                }
                b"__vdso_getcpu" | b"getcpu" => clock::getcpu as *const () as usize,
                _ => continue,
            };
            jump((base + symbol.st_value as usize) as *mut u8, target);
        }
        true
    }
}

/// Overwrites code with `movabs rax, target; jmp rax`.
///
/// # Safety
/// `code` can be written, and whoever comes there wants to go to `target`.
pub(crate) unsafe fn jump(code: *mut u8, target: usize) {
    // SAFETY: what the caller promises.
    unsafe {
        code.write_volatile(0x48);
        code.add(1).write_volatile(0xb8);
        (code.add(2) as *mut usize).write_unaligned(target);
        code.add(10).write_volatile(0xff);
        code.add(11).write_volatile(0xe0);
    }
}
