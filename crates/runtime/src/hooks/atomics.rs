//! Read-modify-writes and compare-and-swaps (ABI). One thread runs at a time, so performing them plainly is atomic.

use crate::hooks::flags;
use crate::memory::accesses::{read_span, store_span};
use crate::memory::shadow::{self, is_persistent, offset, view};
use crate::run::trace::{self, Origin, Site};
use crate::state::watching;
use crate::threads::visible;
use landfall_vocab::record::{RecordKind, flag};

macro_rules! modify {
    ($value:ident, $signed:ty, $op:expr, $old:expr, $operand:expr) => {{
        let (op, old, operand) = ($op, $old, $operand);
        match op {
            0 => operand,
            1 => old.wrapping_add(operand),
            2 => old.wrapping_sub(operand),
            3 => old & operand,
            4 => !(old & operand),
            5 => old | operand,
            6 => old ^ operand,
            7 => (old as $signed).max(operand as $signed) as $value,
            8 => (old as $signed).min(operand as $signed) as $value,
            9 => old.max(operand),
            10 => old.min(operand),
            15 => {
                if old >= operand {
                    0
                } else {
                    old + 1
                }
            }
            16 => {
                if old == 0 || old > operand {
                    operand
                } else {
                    old - 1
                }
            }
            17 => {
                if old >= operand {
                    old - operand
                } else {
                    old
                }
            } // usub_cond
            18 => old.saturating_sub(operand), // usub_sat
            _ => match size_of::<$value>() {
                4 => float32(op, old as u32, operand as u32) as $value,
                8 => float64(op, old as u64, operand as u64) as $value,
                _ => operand,
            },
        }
    }};
}

macro_rules! floats {
    ($($name:ident: $float:ty, $bits:ty;)*) => { $(
        fn $name(op: u32, old: $bits, operand: $bits) -> $bits {
            let (a, b) = (<$float>::from_bits(old), <$float>::from_bits(operand));
            let result = match op {
                11 => a + b,
                12 => a - b,
                13 if a > b || b.is_nan() => a,
                14 if a < b || b.is_nan() => a,
                13 | 14 => b,
                _ => return operand,
            };
            result.to_bits()
        }
    )* };
}

floats! {
    float32: f32, u32;
    float64: f64, u64;
}

/// A value as one word; what is longer, as a digest.
fn word(value: u128) -> u64 {
    let high = (value >> 64) as u64;
    value as u64 ^ high.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

macro_rules! locked {
    ($($type:ident, $signed:ty, $n:literal, $rmw:ident, $cas:ident;)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $rmw(p: *mut $type, operand: $type, op: u32, abi: u32, site: *const Site) -> $type {
            // SAFETY: the program makes this access, with these addresses; it is made for it.
            unsafe {
            let access = watching().then(|| visible::update(p as usize, $n, 0, abi, Origin::source(site)));
            if is_persistent(p as usize) && shadow::recording() {
                let origin = Origin::source(site);
                let flags = flags(abi) | flag::LOCKED;
                read_span(p as usize, $n, flags, origin);
                let old = view(p).read_unaligned();
                let new = modify!($type, $signed, op, old, operand);
                store_span(p as usize, (&raw const new) as *const u8, $n, flags, origin);
                if let Some(access) = access {
                    access.done(word(old as u128), word(new as u128), 0);
                }
                return old;
            }
            crate::memory::heap_checks::look_if_asked(p as usize, $n, true);
            let old = p.read_unaligned();
            let new = modify!($type, $signed, op, old, operand);
            p.write_unaligned(new);
            if let Some(access) = access {
                access.done(word(old as u128), word(new as u128), 0);
            }
            if crate::state::running() {
                trace::locked_elsewhere(Origin::source(site));
            }
            old
            }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $cas(p: *mut $type, expected: $type, desired: $type, abi: u32, site: *const Site) -> $type {
            // SAFETY: the program makes this access, with these addresses; it is made for it.
            unsafe {
            let access = watching().then(|| visible::update(p as usize, $n, visible::SWAP, abi, Origin::source(site)));
            let after = |old: $type| {
                if let Some(access) = access {
                    let (old, expected) = (word(old as u128), word(expected as u128));
                    if old == expected {
                        access.done(old, word(desired as u128), expected);
                    } else {
                        access.only_read(old, expected);
                    }
                }
            };
            if is_persistent(p as usize) && shadow::recording() {
                let origin = Origin::source(site);
                let flags = flags(abi) | flag::LOCKED;
                read_span(p as usize, $n, flags, origin);
                let old = view(p).read_unaligned();
                after(old);
                if old == expected {
                    store_span(p as usize, (&raw const desired) as *const u8, $n, flags, origin);
                } else {
                    trace::plain(RecordKind::CasFailed, offset(p as usize), flags, origin);
                }
                return old;
            }
            let old = p.read_unaligned();
            after(old);
            if old == expected {
                p.write_unaligned(desired);
            }
            if crate::state::running() {
                trace::locked_elsewhere(Origin::source(site));
            }
            old
            }
        }
    )* };
}

locked! {
    u8, i8, 1, __lf_rmw1, __lf_cas1;
    u16, i16, 2, __lf_rmw2, __lf_cas2;
    u32, i32, 4, __lf_rmw4, __lf_cas4;
    u64, i64, 8, __lf_rmw8, __lf_cas8;
    u128, i128, 16, __lf_rmw16, __lf_cas16;
}
