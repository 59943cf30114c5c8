//! stdio on persistent memory: buffers that libc fills become stores, strings that it prints become reads. The functions are
//! variadic, which stable Rust cannot define: small stubs build the argument list and call ours.

use crate::hooks;
use crate::library::{real, seen};
use crate::log::Origin;
use crate::shadow::{is_persistent, recording};
use crate::state::Scratch;
use core::arch::global_asm;
use landfall_vocab::builtin::Builtin;

crate::weak!(
    "fread",
    fread,
    "fwrite",
    fwrite,
    "fgets",
    fgets,
    "fputs",
    fputs,
    "puts",
    puts,
    "vsnprintf",
    vsnprintf,
    "vsprintf",
    vsprintf,
    "vprintf",
    vprintf,
    "vfprintf",
    vfprintf,
);

/// The x86-64 argument list.
#[repr(C)]
#[derive(Clone, Copy)]
struct Arguments {
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
}

unsafe extern "C" {
    static __start_lf_thunks: u8;
    static __stop_lf_thunks: u8;
}

/// The program's address behind a function of ours, whether it was called directly or through one of the stubs above.
#[inline(always)]
unsafe fn program_caller() -> usize {
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
    unsafe fn general(&mut self) -> u64 {
        let at = if self.general < 48 {
            self.general += 8;
            self.saved.add(self.general as usize - 8)
        } else {
            self.overflow = self.overflow.add(8);
            self.overflow.sub(8)
        };
        (at as *const u64).read_unaligned()
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
unsafe fn strings_printed(
    mut format: *const u8,
    list: *const Arguments,
    function: Builtin,
    caller: usize,
) {
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
                    let length = crate::bytes::length(text, precision);
                    seen(
                        text,
                        precision.min(length.saturating_add(1)),
                        function,
                        caller,
                    );
                }
            }
            _ => _ = list.general(),
        }
        format = format.add(1);
    }
}

const BUFFER: usize = 64 << 10;

/// Formats into a buffer of ours first when the target is persistent, then stores that.
unsafe fn format(
    to: *mut u8,
    room: usize,
    format: *const u8,
    list: *mut Arguments,
    caller: usize,
) -> i32 {
    let Some(vsnprintf) = (*real()).vsnprintf else {
        return -1;
    };
    if recording() {
        strings_printed(format, list, Builtin::sprintf, caller);
    }
    if !is_persistent(to as usize) || room == 0 || !recording() {
        return vsnprintf(to, room, format, list as *mut u8);
    }
    let scratch = Scratch::new(BUFFER);
    let buffer = scratch.start();
    let length = vsnprintf(buffer, room.min(BUFFER), format, list as *mut u8);
    if length >= 0 {
        let stored = (length as usize + 1).min(room).min(BUFFER);
        hooks::store_span(
            to as usize,
            buffer,
            stored,
            0,
            Origin::library(Builtin::sprintf, caller),
        );
    }
    length
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_vsnprintf(
    to: *mut u8,
    room: usize,
    text: *const u8,
    list: *mut Arguments,
) -> i32 {
    format(to, room, text, list, program_caller())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_vsprintf(to: *mut u8, text: *const u8, list: *mut Arguments) -> i32 {
    format(to, i32::MAX as usize, text, list, program_caller())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_sprintf_chk(
    to: *mut u8,
    _: i32,
    _: usize,
    text: *const u8,
    list: *mut Arguments,
) -> i32 {
    format(to, i32::MAX as usize, text, list, program_caller())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_snprintf_chk(
    to: *mut u8,
    room: usize,
    _: i32,
    _: usize,
    text: *const u8,
    list: *mut Arguments,
) -> i32 {
    format(to, room, text, list, program_caller())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_vprintf(text: *const u8, list: *mut Arguments) -> i32 {
    print(text, list, program_caller())
}

unsafe fn print(text: *const u8, list: *mut Arguments, caller: usize) -> i32 {
    if crate::state::running() {
        strings_printed(text, list, Builtin::printf, caller);
    }
    match (*real()).vprintf {
        Some(vprintf) => vprintf(text, list as *mut u8),
        None => -1,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_printf_chk(_: i32, text: *const u8, list: *mut Arguments) -> i32 {
    print(text, list, program_caller())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_vfprintf(
    stream: usize,
    text: *const u8,
    list: *mut Arguments,
) -> i32 {
    print_to(stream, text, list, program_caller())
}

unsafe fn print_to(stream: usize, text: *const u8, list: *mut Arguments, caller: usize) -> i32 {
    if crate::state::running() {
        strings_printed(text, list, Builtin::printf, caller);
    }
    match (*real()).vfprintf {
        Some(vfprintf) => vfprintf(stream, text, list as *mut u8),
        None => -1,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_fprintf_chk(
    stream: usize,
    _: i32,
    text: *const u8,
    list: *mut Arguments,
) -> i32 {
    print_to(stream, text, list, program_caller())
}

/// libc reads into a buffer of ours in pieces; each piece is stored.
#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_fread(
    to: *mut u8,
    each: usize,
    count: usize,
    stream: usize,
) -> usize {
    let Some(fread) = (*real()).fread else {
        return 0;
    };
    let length = each.saturating_mul(count);
    if length == 0 || !is_persistent(to as usize) || !recording() {
        return fread(to, each, count, stream);
    }
    let scratch = Scratch::new(BUFFER);
    let buffer = scratch.start();
    let mut done = 0;
    while done < length {
        let piece = BUFFER.min(length - done);
        let got = fread(buffer, 1, piece, stream);
        hooks::store_span(
            to as usize + done,
            buffer,
            got,
            0,
            Origin::library(Builtin::fread, program_caller()),
        );
        done += got;
        if got < piece {
            break;
        }
    }
    done / each
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_fgets(to: *mut u8, room: i32, stream: usize) -> *mut u8 {
    let Some(fgets) = (*real()).fgets else {
        return core::ptr::null_mut();
    };
    if room <= 0 || !is_persistent(to as usize) || !recording() {
        return fgets(to, room, stream);
    }
    let scratch = Scratch::new(room as usize);
    let buffer = scratch.start();
    if fgets(buffer, room, stream).is_null() {
        return core::ptr::null_mut();
    }
    let length = crate::bytes::length(buffer, room as usize) + 1;
    hooks::store_span(
        to as usize,
        buffer,
        length.min(room as usize),
        0,
        Origin::library(Builtin::fgets, program_caller()),
    );
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_fwrite(
    from: *const u8,
    each: usize,
    count: usize,
    stream: usize,
) -> usize {
    let Some(fwrite) = (*real()).fwrite else {
        return 0;
    };
    seen(
        from,
        each.saturating_mul(count),
        Builtin::fwrite,
        program_caller(),
    );
    fwrite(from, each, count, stream)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_fputs(text: *const u8, stream: usize) -> i32 {
    let Some(fputs) = (*real()).fputs else {
        return -1;
    };
    if is_persistent(text as usize) {
        seen(
            text,
            crate::bytes::length(text, usize::MAX) + 1,
            Builtin::puts,
            program_caller(),
        );
    }
    fputs(text, stream)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_puts(text: *const u8) -> i32 {
    let Some(puts) = (*real()).puts else {
        return -1;
    };
    if is_persistent(text as usize) {
        seen(
            text,
            crate::bytes::length(text, usize::MAX) + 1,
            Builtin::puts,
            program_caller(),
        );
    }
    puts(text)
}
