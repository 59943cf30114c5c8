//! libpmem's API as built-in functions: a program compiled against libpmem.h needs no libpmem to be checked.

use crate::caller;
use crate::hooks::flushes;
use crate::memory::accesses;
use crate::memory::shadow::is_persistent;
use crate::run::trace::Origin;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::{RecordKind, flag};

crate::weak!(
    "pmem_persist" => pmem_persist, "pmem_flush" => pmem_flush, "pmem_drain" => pmem_drain,
    "pmem_msync" => pmem_msync, "pmem_deep_persist" => pmem_deep_persist,
    "pmem_deep_flush" => pmem_flush, "pmem_deep_drain" => pmem_deep_drain,
    "pmem_is_pmem" => pmem_is_pmem, "pmem_has_hw_drain" => pmem_has_hw_drain,
    "pmem_has_auto_flush" => pmem_has_auto_flush, "pmem_map_file" => pmem_map_file,
    "pmem_unmap" => pmem_unmap, "pmem_errormsg" => pmem_errormsg,
    "pmem_check_version" => pmem_check_version, "pmem_set_funcs" => pmem_set_funcs,
    "pmem_memcpy" => pmem_memcpy, "pmem_memmove" => pmem_memcpy, "pmem_memset" => pmem_memset,
    "pmem_memcpy_persist" => pmem_memcpy_persist, "pmem_memmove_persist" => pmem_memcpy_persist,
    "pmem_memset_persist" => pmem_memset_persist, "pmem_memcpy_nodrain" => pmem_memcpy_nodrain,
    "pmem_memmove_nodrain" => pmem_memcpy_nodrain, "pmem_memset_nodrain" => pmem_memset_nodrain,
);

// libpmem.h
const NODRAIN: u32 = 1;
/// PMEM_F_MEM_NONTEMPORAL and PMEM_F_MEM_WC.
const NONTEMPORAL: u32 = 2 | 8;
/// PMEM_F_MEM_TEMPORAL and PMEM_F_MEM_WB.
const TEMPORAL: u32 = 4 | 16;
const NOFLUSH: u32 = 32;
/// libpmem switches to non-temporal stores from this length on.
const MOVNT_THRESHOLD: usize = 256;

fn persist(p: usize, length: usize, origin: Origin) {
    flushes::flush_range(p, length, origin);
    flushes::fence(RecordKind::Sfence, origin);
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_pmem_persist(p: usize, length: usize) {
    persist(p, length, Origin::library(Builtin::pmem_persist, caller!()));
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_pmem_deep_persist(p: usize, length: usize) -> i32 {
    persist(
        p,
        length,
        Origin::library(Builtin::pmem_deep_persist, caller!()),
    );
    0
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_pmem_msync(p: usize, length: usize) -> i32 {
    persist(p, length, Origin::library(Builtin::pmem_msync, caller!()));
    0
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_pmem_flush(p: usize, length: usize) {
    flushes::flush_range(p, length, Origin::library(Builtin::pmem_flush, caller!()));
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_pmem_drain() {
    flushes::fence(
        RecordKind::Sfence,
        Origin::library(Builtin::pmem_drain, caller!()),
    );
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_pmem_deep_drain(_: usize, _: usize) -> i32 {
    flushes::fence(
        RecordKind::Sfence,
        Origin::library(Builtin::pmem_drain, caller!()),
    );
    0
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_pmem_is_pmem(p: usize, length: usize) -> i32 {
    (is_persistent(p) && is_persistent(p + length.max(1) - 1)) as i32
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_pmem_has_hw_drain() -> i32 {
    0
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_pmem_has_auto_flush() -> i32 {
    0
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_pmem_errormsg() -> *const u8 {
    c"pmem_map_file failed".as_ptr() as *const u8
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_pmem_check_version(major: u32, _minor: u32) -> *const u8 {
    if major == 1 {
        core::ptr::null()
    } else {
        c"libpmem major version mismatch".as_ptr() as *const u8
    }
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_pmem_set_funcs(_: usize, _: usize, _: usize, _: usize) {}

/// After a copy or fill: write back unless the stores went past the cache, fence unless told not to.
fn finish(p: usize, length: usize, flags: u32, non_temporal: bool, origin: Origin) {
    if flags & NOFLUSH != 0 {
        return;
    }
    if !non_temporal {
        flushes::flush_range(p, length, origin);
    }
    if flags & NODRAIN == 0 {
        flushes::fence(RecordKind::Sfence, origin);
    }
}

fn goes_past_cache(flags: u32, length: usize) -> bool {
    if flags & NOFLUSH != 0 {
        return false;
    }
    flags & NONTEMPORAL != 0 || flags & TEMPORAL == 0 && length >= MOVNT_THRESHOLD
}

/// # Safety
/// The program may write to `to` and read `from`, as far as it asks for.
unsafe fn copy(to: usize, from: usize, length: usize, flags: u32, caller: usize) -> usize {
    let origin = Origin::library(Builtin::pmem_memcpy, caller);
    let non_temporal = goes_past_cache(flags, length);
    let record = if non_temporal { flag::NON_TEMPORAL } else { 0 };
    // SAFETY: what the caller promises.
    unsafe { accesses::copy(to as *mut u8, from as *const u8, length, record, origin) };
    finish(to, length, flags, non_temporal, origin);
    to
}

/// # Safety
/// The program may write to `to`, as far as it asks for.
unsafe fn set(to: usize, byte: i32, length: usize, flags: u32, caller: usize) -> usize {
    let origin = Origin::library(Builtin::pmem_memset, caller);
    let non_temporal = goes_past_cache(flags, length);
    let record = if non_temporal { flag::NON_TEMPORAL } else { 0 };
    // SAFETY: what the caller promises.
    unsafe { accesses::fill(to as *mut u8, byte as u8, length, record, origin) };
    finish(to, length, flags, non_temporal, origin);
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_pmem_memcpy(
    to: usize,
    from: usize,
    length: usize,
    flags: u32,
) -> usize {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { copy(to, from, length, flags, caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_pmem_memcpy_persist(to: usize, from: usize, length: usize) -> usize {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { copy(to, from, length, 0, caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_pmem_memcpy_nodrain(to: usize, from: usize, length: usize) -> usize {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { copy(to, from, length, NODRAIN, caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_pmem_memset(
    to: usize,
    byte: i32,
    length: usize,
    flags: u32,
) -> usize {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { set(to, byte, length, flags, caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_pmem_memset_persist(to: usize, byte: i32, length: usize) -> usize {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { set(to, byte, length, 0, caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_pmem_memset_nodrain(to: usize, byte: i32, length: usize) -> usize {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { set(to, byte, length, NODRAIN, caller!()) }
}

// pmem_map_file flags
const FILE_CREATE: i32 = 1;
const FILE_EXCL: i32 = 2;

/// Opens (or creates) and maps a whole file with ordinary calls, which the dispatcher turns into a pool file.
#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_pmem_map_file(
    path: *const libc::c_char,
    length: usize,
    flags: i32,
    mode: u32,
    mapped: *mut usize,
    is_pmem: *mut i32,
) -> *mut u8 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let mut open = libc::O_RDWR;
        if flags & FILE_CREATE != 0 {
            open |= libc::O_CREAT;
        }
        if flags & FILE_EXCL != 0 {
            open |= libc::O_EXCL;
        }
        let fd = libc::open(path, open, mode);
        if fd < 0 {
            return core::ptr::null_mut();
        }
        if flags & FILE_CREATE != 0 && libc::ftruncate(fd, length as i64) != 0 {
            libc::close(fd);
            return core::ptr::null_mut();
        }
        let mut about: libc::stat = core::mem::zeroed();
        libc::fstat(fd, &raw mut about);
        let length = if flags & FILE_CREATE != 0 && length != 0 {
            length
        } else {
            about.st_size as usize
        };
        let all = libc::PROT_READ | libc::PROT_WRITE;
        let address = libc::mmap(core::ptr::null_mut(), length, all, libc::MAP_SHARED, fd, 0);
        libc::close(fd);
        if address == libc::MAP_FAILED {
            return core::ptr::null_mut();
        }
        if !mapped.is_null() {
            *mapped = length;
        }
        if !is_pmem.is_null() {
            *is_pmem = is_persistent(address as usize) as i32;
        }
        address as *mut u8
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_pmem_unmap(address: *mut libc::c_void, length: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { libc::munmap(address, length) }
}
