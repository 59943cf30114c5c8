//! Variadic functions, which stable Rust cannot define: small stubs build the argument list and call ours.

use crate::libc::strings::{seen_text, seen_wide};
use crate::memory::accesses;
use crate::memory::own::Scratch;
use crate::memory::shadow::{is_persistent, view};
use crate::state::running;
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
    "asprintf", "16", "rdx", "__lf_weak_vasprintf";
    "__asprintf_chk", "24", "rcx", "__lf_asprintf_chk";
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
pub(crate) fn program_caller() -> usize {
    // SAFETY: the frame of whoever called the stub is on the stack.
    unsafe {
        let frame = crate::run::call_stack::frame_pointer();
        let back = *((frame + 8) as *const usize);
        let stubs = &raw const __start_lf_thunks as usize..&raw const __stop_lf_thunks as usize;
        if stubs.contains(&back) {
            *((*(frame as *const usize) + 8) as *const usize)
        } else {
            back
        }
    }
}

impl Arguments {
    /// Where the next pointer or integer lies.
    ///
    /// # Safety
    /// There is another argument in the list.
    pub(crate) unsafe fn slot(&mut self) -> *mut u64 {
        // SAFETY: what the caller promises.
        unsafe {
            let at = if self.general < 48 {
                self.general += 8;
                self.saved.add(self.general as usize - 8)
            } else {
                self.overflow = self.overflow.add(8);
                self.overflow.sub(8)
            };
            at as *mut u64
        }
    }

    /// # Safety
    /// There is another argument in the list, a floating-point number.
    unsafe fn skip_float(&mut self, long_double: bool) {
        // SAFETY: what the caller promises.
        unsafe {
            if long_double {
                self.overflow = (((self.overflow as usize + 15) & !15) + 16) as *const u8;
            } else if self.float < 176 {
                self.float += 16;
            } else {
                self.overflow = self.overflow.add(8);
            }
        }
    }
}

/// Conversions and arguments of one call that are followed. Beyond that libc's own reads are watched one by one.
const MOST: usize = 64;

/// What a conversion takes from the list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    General,
    Float,
    LongDouble,
}

/// Where the length of a text comes from.
#[derive(Clone, Copy)]
enum Precision {
    None,
    Given(usize),
    Argument(usize),
}

/// A text among the arguments: which one, whether wide, and how much of it is printed.
#[derive(Clone, Copy)]
struct Text {
    argument: usize,
    wide: bool,
    precision: Precision,
}

/// A format, parsed: the kinds of all arguments, positional ones included, and which are texts. Lies in scratch memory and is only
/// ever written field by field: moving or clearing it would call a `memcpy` or `memset` that may be the program's.
struct Format {
    arguments: usize,
    text_count: usize,
    replaced_count: usize,
    kinds: [Kind; MOST],
    texts: [Text; MOST],
    slots: [*mut u64; MOST],
    /// Slots that point elsewhere for the time of the call, and what they held.
    replaced: [(*mut u64, u64); MOST],
}

/// Takes the next argument, or the one a `%n$` names; its number.
///
/// # Safety
/// `plan` is the plan of the format that is being read.
unsafe fn argument(plan: *mut Format, position: usize, next: &mut usize, kind: Kind) -> usize {
    let index = if position > 0 {
        position - 1
    } else {
        *next += 1;
        *next - 1
    };
    // SAFETY: what the caller promises.
    unsafe {
        if index < MOST {
            while (*plan).arguments <= index {
                (*plan).kinds[(*plan).arguments] = Kind::General;
                (*plan).arguments += 1;
            }
            (*plan).kinds[index] = kind;
        }
    }
    index
}

/// One conversion, from after its `%`; returns what follows it.
///
/// # Safety
/// `plan` is the plan of `format`, which is a text of the program's.
unsafe fn conversion(plan: *mut Format, mut format: *const u8, next: &mut usize) -> *const u8 {
    // SAFETY: what the caller promises.
    unsafe {
        let (mut position, mut precision) = (0, Precision::None);
        let (mut long_double, mut wide) = (false, false);
        loop {
            match *format {
                b'*' => {
                    let (star, after) = number(format.add(1));
                    let star = if *after == b'$' { star } else { 0 };
                    argument(plan, star, next, Kind::General);
                    format = if star > 0 { after } else { format };
                }
                b'.' if *format.add(1) == b'*' => {
                    let (star, after) = number(format.add(2));
                    let star = if *after == b'$' { star } else { 0 };
                    precision = Precision::Argument(argument(plan, star, next, Kind::General));
                    format = if star > 0 { after } else { format.add(1) };
                }
                b'.' => {
                    let (given, after) = number(format.add(1));
                    precision = Precision::Given(given);
                    format = after.sub(1);
                }
                b'1'..=b'9' => {
                    let (given, after) = number(format);
                    if *after == b'$' {
                        position = given;
                        format = after;
                    } else {
                        format = after.sub(1);
                    }
                }
                b'L' => long_double = true,
                b'l' => wide = true,
                b'0' | b'-' | b'+' | b' ' | b'#' | b'\'' | b'I' => {}
                b'h' | b'q' | b'j' | b'z' | b't' => {}
                _ => break,
            }
            format = format.add(1);
        }
        match *format {
            0 => return format,
            b'%' | b'm' => {}
            b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => {
                let kind = if long_double {
                    Kind::LongDouble
                } else {
                    Kind::Float
                };
                argument(plan, position, next, kind);
            }
            kind => {
                let argument = argument(plan, position, next, Kind::General);
                if matches!(kind, b's' | b'S') && (*plan).text_count < MOST && argument < MOST {
                    (*plan).texts[(*plan).text_count] = Text {
                        argument,
                        wide: wide || kind == b'S',
                        precision,
                    };
                    (*plan).text_count += 1;
                }
            }
        }
        format.add(1)
    }
}

/// A decimal number and what follows it.
///
/// # Safety
/// The program may read `at`, as far as it asks for.
unsafe fn number(mut at: *const u8) -> (usize, *const u8) {
    let mut number = 0usize;
    // SAFETY: what the caller promises.
    unsafe {
        while (*at).is_ascii_digit() {
            number = number
                .saturating_mul(10)
                .saturating_add((*at - b'0') as usize);
            at = at.add(1);
        }
    }
    (number, at)
}

/// The persistent texts that one call prints: recorded as read, and found by libc where they are, until this is dropped.
pub(crate) struct Printed {
    pub(crate) format: *const u8,
    plan: Option<Scratch>,
}

impl Printed {
    /// # Safety
    /// The arguments are what the program gave to libc's function: `list` has what the format asks for.
    pub(crate) unsafe fn new(
        format: *const u8,
        list: *const Arguments,
        function: Builtin,
        caller: usize,
    ) -> Printed {
        // SAFETY: what the caller promises.
        unsafe {
            if !running() {
                return Printed { format, plan: None };
            }
            let found = view(format);
            if is_persistent(format as usize) || accesses::others_see() {
                seen_text(format, usize::MAX, function, caller);
            }
            let scratch = Scratch::new(size_of::<Format>());
            let plan = scratch.start() as *mut Format;
            (
                (*plan).arguments,
                (*plan).text_count,
                (*plan).replaced_count,
            ) = (0, 0, 0);
            let (mut at, mut next): (*const u8, usize) = (found, 0);
            while *at != 0 {
                at = at.add(1);
                if *at.sub(1) == b'%' {
                    at = conversion(plan, at, &mut next);
                }
            }
            let mut list = *list;
            for index in 0..(*plan).arguments {
                (*plan).slots[index] = core::ptr::null_mut();
                match (*plan).kinds[index] {
                    Kind::General => (*plan).slots[index] = list.slot(),
                    Kind::Float => list.skip_float(false),
                    Kind::LongDouble => list.skip_float(true),
                }
            }
            for index in 0..(*plan).text_count {
                print(plan, (*plan).texts[index], function, caller);
            }
            for index in 0..(*plan).replaced_count {
                let (slot, text) = (*plan).replaced[index];
                *slot = view(text as *const u8) as u64;
            }
            Printed {
                format: found,
                plan: Some(scratch),
            }
        }
    }
}

/// Records one text, if it is persistent or others may look at it.
///
/// # Safety
/// `plan` was made from a format and its arguments.
unsafe fn print(plan: *mut Format, text: Text, function: Builtin, caller: usize) {
    // SAFETY: what the caller promises.
    unsafe {
        let slot = (*plan).slots[text.argument];
        if slot.is_null() || *slot == 0 {
            return;
        }
        let persistent = is_persistent(*slot as usize);
        if !persistent && !accesses::others_see() {
            return;
        }
        let limit = match text.precision {
            Precision::None => usize::MAX,
            Precision::Given(limit) => limit,
            Precision::Argument(index) if index < (*plan).arguments => {
                *(*plan).slots[index] as i32 as isize as usize
            }
            Precision::Argument(_) => usize::MAX,
        };
        if text.wide {
            seen_wide(*slot as *const u32, limit, function, caller);
        } else {
            seen_text(*slot as *const u8, limit, function, caller);
        }
        if persistent {
            (*plan).replaced[(*plan).replaced_count] = (slot, *slot);
            (*plan).replaced_count += 1;
        }
    }
}

impl Drop for Printed {
    fn drop(&mut self) {
        let Some(scratch) = &self.plan else { return };
        let plan = scratch.start() as *const Format;
        // SAFETY: slots of the argument list, which outlives this.
        unsafe {
            for index in 0..(*plan).replaced_count {
                let (slot, text) = (*plan).replaced[index];
                *slot = text;
            }
        }
    }
}
