//! Variadic functions, which stable Rust cannot define: small stubs build the argument list and call ours.

use crate::library::seen_text;
use crate::shadow::is_persistent;
use core::arch::global_asm;
use landfall_vocab::builtin::Builtin;

/// The x86-64 argument list.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Arguments {
    general: u32,
    float: u32,
    overflow: *const u8,
    saved: *const u8,
}

// Spills the argument registers the way a compiler does for va_start. `named` counts the fixed arguments in bytes; the list
// goes into the register after them.
macro_rules! variadic {
    ($($symbol:literal, $named:literal, $register:literal, $target:literal;)*) => {
        global_asm!(".pushsection lf_thunks,\"ax\",@progbits", $(
            concat!(".weak ", $symbol),
            concat!(".type ", $symbol, ",@function"),
            concat!($symbol, ":"),
            "push rbp",
            "mov rbp, rsp",
            "sub rsp, 0xd0",
            "mov [rsp+0x20], rdi", "mov [rsp+0x28], rsi", "mov [rsp+0x30], rdx",
            "mov [rsp+0x38], rcx", "mov [rsp+0x40], r8", "mov [rsp+0x48], r9",
            "test al, al",
            "je 2f",
            "movaps [rsp+0x50], xmm0", "movaps [rsp+0x60], xmm1", "movaps [rsp+0x70], xmm2", "movaps [rsp+0x80], xmm3",
            "movaps [rsp+0x90], xmm4", "movaps [rsp+0xa0], xmm5", "movaps [rsp+0xb0], xmm6", "movaps [rsp+0xc0], xmm7",
            "2:",
            concat!("mov dword ptr [rsp], ", $named),
            "mov dword ptr [rsp+4], 48",
            "lea rax, [rbp+16]",
            "mov [rsp+8], rax",
            "lea rax, [rsp+0x20]",
            "mov [rsp+16], rax",
            concat!("mov ", $register, ", rsp"),
            concat!("call ", $target),
            "leave",
            "ret",
        )* ".popsection");
    };
}

variadic! {
    "printf", "8", "rsi", "__lf_weak_vprintf";
    "fprintf", "16", "rdx", "__lf_weak_vfprintf";
    "sprintf", "16", "rdx", "__lf_weak_vsprintf";
    "snprintf", "24", "rcx", "__lf_weak_vsnprintf";
    "__printf_chk", "16", "rdx", "__lf_printf_chk";
    "__fprintf_chk", "24", "rcx", "__lf_fprintf_chk";
    "__sprintf_chk", "32", "r8", "__lf_sprintf_chk";
    "__snprintf_chk", "40", "r9", "__lf_snprintf_chk";
    "sscanf", "16", "rdx", "__lf_weak_vsscanf";
    "__isoc99_sscanf", "16", "rdx", "__lf_weak_vsscanf";
    "__isoc23_sscanf", "16", "rdx", "__lf_weak_vsscanf";
    "fscanf", "16", "rdx", "__lf_weak_vfscanf";
    "__isoc99_fscanf", "16", "rdx", "__lf_weak_vfscanf";
    "__isoc23_fscanf", "16", "rdx", "__lf_weak_vfscanf";
    "scanf", "8", "rsi", "__lf_weak_vscanf";
    "__isoc99_scanf", "8", "rsi", "__lf_weak_vscanf";
    "__isoc23_scanf", "8", "rsi", "__lf_weak_vscanf";
}

unsafe extern "C" {
    static __start_lf_thunks: u8;
    static __stop_lf_thunks: u8;
}

/// The program's address behind a function of ours, whether it was called directly or through one of the stubs above.
#[inline(always)]
pub(crate) unsafe fn program_caller() -> usize {
    let frame = crate::stack::frame_pointer();
    let back = *((frame + 8) as *const usize);
    let stubs = &raw const __start_lf_thunks as usize..&raw const __stop_lf_thunks as usize;
    if stubs.contains(&back) {
        *((*(frame as *const usize) + 8) as *const usize)
    } else {
        back
    }
}

impl Arguments {
    /// Where the next pointer or integer lies.
    pub(crate) unsafe fn slot(&mut self) -> *mut u64 {
        let at = if self.general < 48 {
            self.general += 8;
            self.saved.add(self.general as usize - 8)
        } else {
            self.overflow = self.overflow.add(8);
            self.overflow.sub(8)
        };
        at as *mut u64
    }

    unsafe fn general(&mut self) -> u64 {
        *self.slot()
    }

    unsafe fn skip_float(&mut self, long_double: bool) {
        if long_double {
            self.overflow = (((self.overflow as usize + 15) & !15) + 16) as *const u8;
        } else if self.float < 176 {
            self.float += 16;
        } else {
            self.overflow = self.overflow.add(8);
        }
    }
}

/// Records the persistent strings that a format prints. Works on a copy of the list.
pub(crate) unsafe fn strings_printed(
    mut format: *const u8,
    list: *const Arguments,
    function: Builtin,
    caller: usize,
) {
    if is_persistent(format as usize) {
        seen_text(format, usize::MAX, function, caller);
    }
    let mut list = *list;
    while *format != 0 {
        if *format != b'%' {
            format = format.add(1);
            continue;
        }
        format = format.add(1);
        let (mut precision, mut in_precision, mut long_double, mut wide) =
            (usize::MAX, false, false, false);
        loop {
            match *format {
                b'*' if in_precision => precision = list.general() as i32 as isize as usize,
                b'*' => _ = list.general(),
                b'.' => (in_precision, precision) = (true, 0),
                digit @ b'0'..=b'9' if in_precision => {
                    precision = precision * 10 + (digit - b'0') as usize
                }
                b'$' => return, // positional arguments: not worth a second parser
                b'L' => long_double = true,
                b'l' => wide = true,
                b'0'..=b'9'
                | b'-'
                | b'+'
                | b' '
                | b'#'
                | b'\''
                | b'I'
                | b'h'
                | b'q'
                | b'j'
                | b'z'
                | b't' => {}
                _ => break,
            }
            format = format.add(1);
        }
        match *format {
            0 => return,
            b'%' | b'm' => {}
            b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => list.skip_float(long_double),
            b's' if !wide => {
                let text = list.general() as *const u8;
                if is_persistent(text as usize) {
                    seen_text(text, precision, function, caller);
                }
            }
            _ => _ = list.general(),
        }
        format = format.add(1);
    }
}
