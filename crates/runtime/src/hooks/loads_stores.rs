//! Loads and stores of instrumented code (ABI). The pass tests the window inline; the test is repeated here because atomics
//! and memory functions call for every address.

use crate::hooks::{SEQ_CST, flags};
use crate::memory::accesses::{copy, fill, fits, mask, read_span, store_pieces, store_span};
use crate::memory::bytes;
use crate::memory::heap_checks;
use crate::memory::shadow::{self, content, is_persistent, known, offset, view};
use crate::run::trace::{self, Origin, Site};
use crate::state::{looking_at_heap, watching};
use crate::threads::visible;
use landfall_vocab::record::flag;
use landfall_vocab::window;

/// After a store to memory that is not persistent: if the instruction locks, it completes what is pending like a fence.
fn locked_outside(locked: bool, address: usize, site: *const Site) {
    if locked && !is_persistent(address) && crate::state::running() {
        trace::locked_elsewhere(Origin::source(site));
    }
}

// The fast path of each hook is one load of shadow and, for a store, three words of trace; everything else is a tail call, so
// that the fast path saves no registers.
macro_rules! accesses {
    ($($type:ty, $n:literal, $load:ident, $slow_load:ident, $store:ident, $slow_store:ident;)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $load(p: *const $type, abi: u32, site: *const Site) -> $type {
            // SAFETY: the program makes this access, with these addresses; it is made for it.
            unsafe {
            let at = offset(p as usize);
            if watching() {
                return $slow_load(p, abi, site);
            }
            if at >= window::LEN {
                if looking_at_heap() {
                    heap_checks::look(p as usize, $n, false);
                }
                return p.read_unaligned();
            }
            let wanted = mask(at & 7, $n);
            // A byte of the next word is not in the mask: such an access is slow.
            if fits(at, $n) && *known(at) & wanted == wanted {
                return (content(at) as *const $type).read_unaligned();
            }
            $slow_load(p, abi, site)
            }
        }

        #[cold]
        #[inline(never)]
        unsafe extern "C" fn $slow_load(p: *const $type, abi: u32, site: *const Site) -> $type {
            // SAFETY: the program makes this access, with these addresses; it is made for it.
            unsafe {
            if watching() {
                let mut value: $type = 0;
                visible::load(p as usize, (&raw mut value) as *mut u8, $n, abi, Origin::source(site));
                return value;
            }
            if shadow::recording() {
                read_span(p as usize, $n, flags(abi), Origin::source(site));
            }
            view(p).read_unaligned()
            }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $store(p: *mut $type, value: $type, abi: u32, site: *const Site) {
            // SAFETY: the program makes this access, with these addresses; it is made for it.
            unsafe {
            let at = offset(p as usize);
            if at >= window::LEN && abi & 7 != SEQ_CST && looking_at_heap() {
                heap_checks::look(p as usize, $n, true);
                return p.write_unaligned(value);
            }
            if at < window::LEN && abi & 7 != SEQ_CST && fits(at, $n) && !watching() {
                let bytes = mask(at & 7, $n);
                if *known(at) & bytes == bytes
                    && trace::store_quickly(at & !7, bytes, (value as u64) << ((at & 7) * 8), flags(abi), site)
                {
                    (content(at) as *mut $type).write_unaligned(value);
                    return;
                }
            }
            $slow_store(p, value, abi, site)
            }
        }

        #[cold]
        #[inline(never)]
        unsafe extern "C" fn $slow_store(p: *mut $type, value: $type, abi: u32, site: *const Site) {
            // SAFETY: the program makes this access, with these addresses; it is made for it.
            unsafe {
            // A sequentially consistent store is compiled to xchg (MODEL.md §2).
            let locked = abi & 7 == SEQ_CST;
            if watching() {
                visible::store(p as usize, (&raw const value) as *const u8, $n, abi, Origin::source(site));
                return locked_outside(locked, p as usize, site);
            }
            if is_persistent(p as usize) && shadow::recording() {
                let flags = flags(abi) | if locked { flag::LOCKED } else { 0 };
                return store_pieces(p as usize, &value.to_le_bytes(), flags, Origin::source(site));
            }
            heap_checks::look_if_asked(p as usize, $n, true);
            p.write_unaligned(value);
            locked_outside(locked, p as usize, site);
            }
        }
    )* };
}

accesses! {
    u8, 1, __lf_load1, slow_load1, __lf_store1, slow_store1;
    u16, 2, __lf_load2, slow_load2, __lf_store2, slow_store2;
    u32, 4, __lf_load4, slow_load4, __lf_store4, slow_store4;
    u64, 8, __lf_load8, slow_load8, __lf_store8, slow_store8;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __lf_load16(p: *const u128, abi: u32, site: *const Site) -> u128 {
    // SAFETY: the program makes this access, with these addresses; it is made for it.
    unsafe {
        if watching() {
            let mut value = 0u128;
            let to = (&raw mut value) as *mut u8;
            visible::load(p as usize, to, 16, abi, Origin::source(site));
            return value;
        }
        if is_persistent(p as usize) && shadow::recording() {
            read_span(p as usize, 16, flags(abi), Origin::source(site));
        }
        view(p).read_unaligned()
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __lf_store16(p: *mut u128, value: u128, abi: u32, site: *const Site) {
    // SAFETY: the program makes this access, with these addresses; it is made for it.
    unsafe {
        let locked = abi & 7 == SEQ_CST;
        if watching() {
            let from = (&raw const value) as *const u8;
            visible::store(p as usize, from, 16, abi, Origin::source(site));
            return locked_outside(locked, p as usize, site);
        }
        if is_persistent(p as usize) && shadow::recording() {
            let flags = flags(abi) | if locked { flag::LOCKED } else { 0 };
            return store_pieces(
                p as usize,
                &value.to_le_bytes(),
                flags,
                Origin::source(site),
            );
        }
        p.write_unaligned(value);
        locked_outside(locked, p as usize, site);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __lf_load_n(
    to: *mut u8,
    p: *const u8,
    length: u64,
    abi: u32,
    site: *const Site,
) {
    // SAFETY: the program makes this access, with these addresses; it is made for it.
    unsafe {
        if watching() {
            return visible::load(p as usize, to, length as usize, abi, Origin::source(site));
        }
        if is_persistent(p as usize) && shadow::recording() {
            read_span(
                p as usize,
                length as usize,
                flags(abi),
                Origin::source(site),
            );
        }
        bytes::shift(to, view(p), length as usize);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __lf_store_n(
    p: *mut u8,
    from: *const u8,
    length: u64,
    abi: u32,
    site: *const Site,
) {
    // SAFETY: the program makes this access, with these addresses; it is made for it.
    unsafe {
        if watching() {
            let from = view(from);
            return visible::store(p as usize, from, length as usize, abi, Origin::source(site));
        }
        if is_persistent(p as usize) && shadow::recording() {
            return store_span(
                p as usize,
                view(from),
                length as usize,
                flags(abi),
                Origin::source(site),
            );
        }
        heap_checks::look_if_asked(p as usize, length as usize, true);
        bytes::shift(p, view(from), length as usize);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __lf_memcpy(to: *mut u8, from: *const u8, length: u64, site: *const Site) {
    // SAFETY: the program makes this access, with these addresses; it is made for it.
    unsafe {
        copy(to, from, length as usize, 0, Origin::source(site));
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __lf_memmove(
    to: *mut u8,
    from: *const u8,
    length: u64,
    site: *const Site,
) {
    // SAFETY: the program makes this access, with these addresses; it is made for it.
    unsafe {
        copy(to, from, length as usize, 0, Origin::source(site));
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __lf_memset(to: *mut u8, byte: i32, length: u64, site: *const Site) {
    // SAFETY: the program makes this access, with these addresses; it is made for it.
    unsafe {
        fill(to, byte as u8, length as usize, 0, Origin::source(site));
    }
}
