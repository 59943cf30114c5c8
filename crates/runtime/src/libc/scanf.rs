//! `scanf` and its kin: what they assign in persistent memory, or in memory that other threads may look at, is stored by them, a text they
//! take apart is read.

use crate::libc::real::real;
use crate::libc::strings::seen_text;
use crate::libc::variadic::{Arguments, program_caller};
use crate::memory::accesses;
use crate::memory::bytes;
use crate::memory::own::Scratch;
use crate::memory::shadow::{is_persistent, recording, view};
use crate::outside::crossing;
use crate::run::trace::Origin;
use landfall_vocab::builtin::Builtin;

crate::weak!(
    "vsscanf" => vsscanf, "__isoc99_vsscanf" => vsscanf, "__isoc23_vsscanf" => vsscanf,
    "vfscanf" => vfscanf, "__isoc99_vfscanf" => vfscanf, "__isoc23_vfscanf" => vfscanf,
    "vscanf" => vscanf, "__isoc99_vscanf" => vscanf, "__isoc23_vscanf" => vscanf,
);

/// Targets of one call that are followed; further persistent ones are left to the comparison at the next flush, others are noted.
const TARGETS: usize = 64;
/// Room for one text from a stream.
const ROOM: usize = 64 << 10;
/// What `%n` does not leave behind.
const NEVER: u64 = 0x8181_8181_8181_8181;

/// How much a conversion assigns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    Fixed(usize),
    Text,
    /// Not followed: wide texts.
    Unknown,
}

#[derive(Clone, Copy)]
struct Target {
    slot: *mut u64,
    address: u64,
    buffer: *mut u8,
    size: Size,
    /// Assigned when this many conversions were; `None` is `%n`.
    rank: Option<i32>,
}

/// One conversion: its size, whether it takes no argument, and what follows it. `None` at the end and for positional ones.
///
/// # Safety
/// The program may read `format`, as far as it asks for.
unsafe fn conversion(mut format: *const u8) -> Option<(u8, Size, bool, *const u8)> {
    // SAFETY: what the caller promises.
    unsafe {
        let (mut width, mut size, mut suppressed, mut allocates) = (0usize, 4, false, false);
        loop {
            match *format {
                b'*' => suppressed = true,
                digit @ b'0'..=b'9' => width = width.saturating_mul(10) + (digit - b'0') as usize,
                b'$' => return None,
                b'h' => size /= 2,
                b'l' | b'q' | b'j' | b'z' | b't' => size = 8,
                b'L' => size = 16,
                b'm' => allocates = true,
                b'\'' | b'I' => {}
                _ => break,
            }
            format = format.add(1);
        }
        let kind = *format;
        if kind == 0 {
            return None;
        }
        format = format.add(1);
        if kind == b'[' {
            if *format == b'^' {
                format = format.add(1);
            }
            if *format == b']' {
                format = format.add(1);
            }
            while *format != 0 && *format != b']' {
                format = format.add(1);
            }
            if *format != 0 {
                format = format.add(1);
            }
        }
        let size = match kind {
            _ if allocates => Size::Fixed(8),
            b'p' => Size::Fixed(8),
            b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => Size::Fixed(match size {
                16 => 10,
                8 => 8,
                _ => 4,
            }),
            b's' | b'[' if size == 4 => Size::Text,
            b'c' if size == 4 => Size::Fixed(width.max(1)),
            b's' | b'[' | b'c' | b'S' | b'C' => Size::Unknown,
            _ => Size::Fixed(size.clamp(1, 8)),
        };
        Some((kind, size, suppressed || kind == b'%', format))
    }
}

/// Lets `call` assign to buffers of ours where somebody could see a target, then stores what it assigned.
///
/// # Safety
/// The arguments are what the program gave to libc's function: `list` has what the format asks for.
unsafe fn scan(
    mut format: *const u8,
    list: *mut Arguments,
    room: usize,
    caller: usize,
    call: impl FnOnce() -> i32,
) -> i32 {
    // SAFETY: what the caller promises.
    unsafe {
        if !recording() {
            return call();
        }
        let shared = accesses::others_see();
        let origin = Origin::library(Builtin::sscanf, caller);
        if is_persistent(format as usize) {
            seen_text(format, usize::MAX, Builtin::sscanf, caller);
            format = view(format);
        }
        // Not on the stack: clearing that many would be a call of `memset`, which may be the program's.
        let plan = Scratch::new(size_of::<Target>() * TARGETS);
        let targets = plan.start() as *mut Target;
        let scratch = Scratch::new(room * TARGETS);
        let (mut used, mut rank, mut rest) = (0, 0, *list);
        while *format != 0 {
            format = format.add(1);
            if *format.sub(1) != b'%' {
                continue;
            }
            let Some((kind, size, suppressed, after)) = conversion(format) else {
                break;
            };
            format = after;
            if suppressed {
                continue;
            }
            let slot = rest.slot();
            if kind != b'n' {
                rank += 1;
            }
            let fits = !matches!(size, Size::Fixed(size) if size > room);
            if !shared && !is_persistent(*slot as usize) {
                continue;
            }
            if size != Size::Unknown && fits && used < TARGETS {
                let buffer = scratch.start().add(used * room);
                (buffer as *mut u64).write(NEVER);
                let target = Target {
                    slot,
                    address: *slot,
                    buffer,
                    size,
                    rank: (kind != b'n').then_some(rank),
                };
                targets.add(used).write(target);
                *slot = buffer as u64;
                used += 1;
            } else if shared {
                crossing::hand_over(*slot as usize, origin);
            }
        }
        let result = call();
        for target in core::slice::from_raw_parts(targets, used) {
            *target.slot = target.address;
            let length = match target.size {
                Size::Fixed(size) => size,
                _ => bytes::length(target.buffer, room - 1) + 1,
            };
            let assigned = match target.rank {
                Some(rank) => rank <= result,
                None => !bytes::equal(target.buffer, (&raw const NEVER_VALUE) as *const u8, length),
            };
            if assigned {
                accesses::library_store(target.address as usize, target.buffer, length, origin);
            }
        }
        result
    }
}

static NEVER_VALUE: u64 = NEVER;

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_vsscanf(
    text: *const u8,
    format: *const u8,
    list: *mut Arguments,
) -> i32 {
    crate::threads::acted();
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let Some(vsscanf) = real().__isoc99_vsscanf() else {
            return -1;
        };
        let caller = program_caller();
        let length = seen_text(text, usize::MAX, Builtin::sscanf, caller);
        let room = (length + 64) & !63;
        scan(format, list, room.max(64), caller, || {
            vsscanf(view(text), view(format), list as *mut u8)
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_vfscanf(
    stream: usize,
    format: *const u8,
    list: *mut Arguments,
) -> i32 {
    crate::threads::acted();
    let Some(vfscanf) = real().__isoc99_vfscanf() else {
        return -1;
    };
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        scan(format, list, ROOM, program_caller(), || {
            vfscanf(stream, view(format), list as *mut u8)
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_vscanf(format: *const u8, list: *mut Arguments) -> i32 {
    crate::threads::acted();
    let Some(vscanf) = real().__isoc99_vscanf() else {
        return -1;
    };
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        scan(format, list, ROOM, program_caller(), || {
            vscanf(view(format), list as *mut u8)
        })
    }
}
