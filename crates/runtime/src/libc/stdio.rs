//! stdio on persistent memory: buffers that libc fills become stores, strings that it prints become reads.

use crate::libc::real::real;
use crate::libc::strings::{seen, seen_text};
use crate::libc::variadic::{Arguments, Printed, program_caller};
use crate::memory::accesses;
use crate::memory::own::Scratch;
use crate::memory::shadow::{is_persistent, recording, view};
use crate::run::trace::Origin;
use crate::threads::unseen::{self, Use};
use landfall_vocab::builtin::Builtin;

crate::weak!(
    "fread" => fread, "fwrite" => fwrite, "fgets" => fgets, "fputs" => fputs, "puts" => puts,
    "vsnprintf" => vsnprintf, "vsprintf" => vsprintf, "vprintf" => vprintf,
    "vfprintf" => vfprintf, "vasprintf" => vasprintf, "getline" => getline, "getdelim" => getdelim,
    "__getdelim" => getdelim,
);

const BUFFER: usize = 64 << 10;

/// Is what libc does to this memory to be seen? It is persistent, or others may look at it.
fn concerns_us(address: usize) -> bool {
    is_persistent(address) && recording() || accesses::others_see()
}

/// Formats into a buffer of ours first when somebody could see the target, then stores that.
///
/// # Safety
/// The arguments are what the program gave to libc's function: `list` has what the format asks for.
unsafe fn format(
    to: *mut u8,
    room: usize,
    format: *const u8,
    list: *mut Arguments,
    caller: usize,
) -> i32 {
    // SAFETY: what the caller promises.
    unsafe {
        let Some(vsnprintf) = real().vsnprintf() else {
            return -1;
        };
        let printed = Printed::new(format, list, Builtin::sprintf, caller);
        let format = printed.format;
        if room == 0 || !concerns_us(to as usize) {
            return vsnprintf(to, room, format, list as *mut u8);
        }
        let mut measured = *list;
        let list_of = |list: *mut Arguments| list as *mut u8;
        let length = vsnprintf(core::ptr::null_mut(), 0, format, list_of(&raw mut measured));
        if length >= 0 {
            let stored = (length as usize + 1).min(room);
            let scratch = Scratch::new(stored);
            let buffer = scratch.start();
            vsnprintf(buffer, stored, format, list_of(list));
            accesses::library_store(
                to as usize,
                buffer,
                stored,
                Origin::library(Builtin::sprintf, caller),
            );
        }
        length
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_vsnprintf(
    to: *mut u8,
    room: usize,
    text: *const u8,
    list: *mut Arguments,
) -> i32 {
    crate::threads::acted();
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { format(to, room, text, list, program_caller()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_vsprintf(to: *mut u8, text: *const u8, list: *mut Arguments) -> i32 {
    crate::threads::acted();
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { format(to, i32::MAX as usize, text, list, program_caller()) }
}

/// The block comes from the program's `malloc`, persistent or not; a text that is longer than the buffer is formatted again.
#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_vasprintf(
    to: *mut *mut u8,
    text: *const u8,
    list: *mut Arguments,
) -> i32 {
    crate::threads::acted();
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { duplicate(to, text, list, program_caller()) }
}

/// # Safety
/// The arguments are what the program gave to libc's function: `list` has what the format asks for.
unsafe fn duplicate(to: *mut *mut u8, text: *const u8, list: *mut Arguments, caller: usize) -> i32 {
    // SAFETY: what the caller promises.
    unsafe {
        let Some(vsnprintf) = real().vsnprintf() else {
            return -1;
        };
        let printed = Printed::new(text, list, Builtin::sprintf, caller);
        let mut measured = *list;
        let length = vsnprintf(
            core::ptr::null_mut(),
            0,
            printed.format,
            (&raw mut measured) as *mut u8,
        );
        if length < 0 {
            return length;
        }
        let room = length as usize + 1;
        let block = crate::memory::heap::obtain(room, 16, caller);
        if block.is_null() {
            return -1;
        }
        let scratch = Scratch::new(room);
        vsnprintf(scratch.start(), room, printed.format, list as *mut u8);
        let origin = Origin::library(Builtin::sprintf, caller);
        accesses::copy(block, scratch.start(), room, 0, origin);
        accesses::copy(to as *mut u8, (&raw const block) as *const u8, 8, 0, origin);
        length
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_asprintf_chk(
    to: *mut *mut u8,
    _: i32,
    text: *const u8,
    list: *mut Arguments,
) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { duplicate(to, text, list, program_caller()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_sprintf_chk(
    to: *mut u8,
    _: i32,
    _: usize,
    text: *const u8,
    list: *mut Arguments,
) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { format(to, i32::MAX as usize, text, list, program_caller()) }
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
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { format(to, room, text, list, program_caller()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_vprintf(text: *const u8, list: *mut Arguments) -> i32 {
    crate::threads::acted();
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { print(text, list, program_caller()) }
}

/// # Safety
/// The arguments are what the program gave to libc's function: `list` has what the format asks for.
unsafe fn print(text: *const u8, list: *mut Arguments, caller: usize) -> i32 {
    crate::threads::unsafe_calls::calls(b"printf", caller);
    // SAFETY: what the caller promises.
    unsafe {
        let printed = Printed::new(text, list, Builtin::printf, caller);
        match real().vprintf() {
            Some(vprintf) => vprintf(printed.format, list as *mut u8),
            None => -1,
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_printf_chk(_: i32, text: *const u8, list: *mut Arguments) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { print(text, list, program_caller()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_vfprintf(
    stream: usize,
    text: *const u8,
    list: *mut Arguments,
) -> i32 {
    crate::threads::acted();
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { print_to(stream, text, list, program_caller()) }
}

/// # Safety
/// The arguments are what the program gave to libc's function: `list` has what the format asks for.
unsafe fn print_to(stream: usize, text: *const u8, list: *mut Arguments, caller: usize) -> i32 {
    crate::threads::unsafe_calls::calls(b"fprintf", caller);
    // SAFETY: what the caller promises.
    unsafe {
        let origin = Origin::library(Builtin::printf, caller);
        unseen::stream(stream, Use::Changes, origin);
        let printed = Printed::new(text, list, Builtin::printf, caller);
        match real().vfprintf() {
            Some(vfprintf) => vfprintf(stream, printed.format, list as *mut u8),
            None => -1,
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_fprintf_chk(
    stream: usize,
    _: i32,
    text: *const u8,
    list: *mut Arguments,
) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { print_to(stream, text, list, program_caller()) }
}

/// libc reads into a buffer of ours in pieces; each piece is stored.
#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_fread(
    to: *mut u8,
    each: usize,
    count: usize,
    stream: usize,
) -> usize {
    crate::threads::acted();
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let Some(fread) = real().fread() else {
            return 0;
        };
        let origin = Origin::library(Builtin::fread, program_caller());
        unseen::stream(stream, Use::Both, origin);
        let length = each.saturating_mul(count);
        if length == 0 || !concerns_us(to as usize) {
            return fread(to, each, count, stream);
        }
        let scratch = Scratch::new(BUFFER);
        let buffer = scratch.start();
        let mut done = 0;
        while done < length {
            let piece = BUFFER.min(length - done);
            let got = fread(buffer, 1, piece, stream);
            accesses::library_store(to as usize + done, buffer, got, origin);
            done += got;
            if got < piece {
                break;
            }
        }
        done / each
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_fgets(to: *mut u8, room: i32, stream: usize) -> *mut u8 {
    crate::threads::acted();
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let Some(fgets) = real().fgets() else {
            return core::ptr::null_mut();
        };
        let origin = Origin::library(Builtin::fgets, program_caller());
        unseen::stream(stream, Use::Both, origin);
        if room <= 0 || !concerns_us(to as usize) {
            return fgets(to, room, stream);
        }
        let scratch = Scratch::new(room as usize);
        let buffer = scratch.start();
        if fgets(buffer, room, stream).is_null() {
            return core::ptr::null_mut();
        }
        let length = crate::memory::bytes::length(buffer, room as usize) + 1;
        let length = length.min(room as usize);
        accesses::library_store(to as usize, buffer, length, origin);
        to
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_getline(to: usize, room: usize, stream: usize) -> isize {
    crate::threads::acted();
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { line(to, room, i32::from(b'\n'), stream, program_caller()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_getdelim(
    to: usize,
    room: usize,
    delimiter: i32,
    stream: usize,
) -> isize {
    crate::threads::acted();
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { line(to, room, delimiter, stream, program_caller()) }
}

/// libc puts the line into a block of its own; where others may look, it is then stored into the program's, which grows as it needs to.
///
/// # Safety
/// `to` and `room` are what the program gave to `getline`.
unsafe fn line(to: usize, room: usize, delimiter: i32, stream: usize, caller: usize) -> isize {
    // SAFETY: what the caller promises.
    unsafe {
        let Some(getdelim) = real().getdelim() else {
            return -1;
        };
        let origin = Origin::library(Builtin::getline, caller);
        unseen::stream(stream, Use::Both, origin);
        if to == 0 || room == 0 || !accesses::others_see() {
            return getdelim(to as *mut usize, room as *mut usize, delimiter, stream);
        }
        let (mut block, mut length) = (0usize, 0usize);
        let got = getdelim(&raw mut block, &raw mut length, delimiter, stream);
        if got >= 0 {
            let needed = got as usize + 1;
            let mut theirs = accesses::fetch(to, 8, origin) as usize;
            let has = accesses::fetch(room, 8, origin) as usize;
            if theirs == 0 || has < needed {
                theirs = libc::realloc(theirs as *mut libc::c_void, length) as usize;
                accesses::hand_over(to, (&raw const theirs).cast(), 8, origin);
                accesses::hand_over(room, (&raw const length).cast(), 8, origin);
            }
            accesses::hand_over(theirs, block as *const u8, needed, origin);
        }
        libc::free(block as *mut libc::c_void);
        got
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_fwrite(
    from: *const u8,
    each: usize,
    count: usize,
    stream: usize,
) -> usize {
    crate::threads::unsafe_calls::calls(b"fwrite", program_caller());
    crate::threads::acted();
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let Some(fwrite) = real().fwrite() else {
            return 0;
        };
        let origin = Origin::library(Builtin::fwrite, program_caller());
        unseen::stream(stream, Use::Changes, origin);
        seen(
            from,
            each.saturating_mul(count),
            Builtin::fwrite,
            program_caller(),
        );
        fwrite(view(from), each, count, stream)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_fputs(text: *const u8, stream: usize) -> i32 {
    crate::threads::unsafe_calls::calls(b"fputs", program_caller());
    crate::threads::acted();
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let Some(fputs) = real().fputs() else {
            return -1;
        };
        let origin = Origin::library(Builtin::puts, program_caller());
        unseen::stream(stream, Use::Changes, origin);
        if concerns_us(text as usize) {
            seen_text(text, usize::MAX, Builtin::puts, program_caller());
        }
        fputs(view(text), stream)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_puts(text: *const u8) -> i32 {
    crate::threads::unsafe_calls::calls(b"puts", program_caller());
    crate::threads::acted();
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let Some(puts) = real().puts() else {
            return -1;
        };
        if concerns_us(text as usize) {
            seen_text(text, usize::MAX, Builtin::puts, program_caller());
        }
        puts(view(text))
    }
}
