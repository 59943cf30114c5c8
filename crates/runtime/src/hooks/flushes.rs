//! Flushes, fences and the end of the budget (ABI).

use crate::hooks::SEQ_CST;
use crate::memory::shadow::{self, is_persistent, offset};
use crate::run::trace::{self, Origin, Site};
use crate::state::running;
use landfall_vocab::record::{RecordKind, unseen};
use landfall_vocab::window;

/// Records a write-back of one line. Lines outside persistent memory do not concern us.
#[inline]
pub(crate) fn flush(kind: RecordKind, address: usize, origin: Origin) {
    crate::threads::transactions::aborts();
    if is_persistent(address) && shadow::recording() {
        if crate::threads::flush(kind, address, origin) {
            return;
        }
        trace::plain(kind, offset(address), 0, origin);
    }
}

/// Write-backs of every line of a range, as `lf_flush`, `pmem_flush` and `msync` mean it.
pub(crate) fn flush_range(address: usize, length: usize, origin: Origin) {
    let mut at = address & !(window::LINE as usize - 1);
    while at < address.saturating_add(length) {
        flush(RecordKind::Clwb, at, origin);
        at += window::LINE as usize;
    }
}

pub(crate) fn fence(kind: RecordKind, origin: Origin) {
    if matches!(kind, RecordKind::Sfence) && running() && crate::threads::store_fence(origin) {
        return;
    }
    if running() {
        trace::plain(kind, 0, 0, origin);
    }
}

/// A fence instruction.
pub(crate) fn machine_fence(kind: RecordKind, origin: Origin) {
    // A transaction orders what is in it, as a locked instruction does.
    if crate::threads::transactions::is_inside() {
        return;
    }
    if matches!(kind, RecordKind::Mfence) {
        crate::threads::fence(origin);
        crate::threads::ordered(SEQ_CST as u8, origin);
    }
    fence(kind, origin);
}

macro_rules! flushes {
    ($($name:ident => $kind:ident)*) => { $(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(p: *const u8, site: *const Site) {
            flush(RecordKind::$kind, p as usize, Origin::source(site));
        }
    )* };
}

macro_rules! fences {
    ($($name:ident => $kind:ident)*) => { $(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(site: *const Site) {
            machine_fence(RecordKind::$kind, Origin::source(site));
        }
    )* };
}

flushes! { __lf_clflush => Clflush  __lf_clflushopt => Clflushopt  __lf_clwb => Clwb }
fences! { __lf_sfence => Sfence  __lf_mfence => Mfence  __lf_lfence => Lfence }

/// Assembly that the pass did not take apart comes next: what it does to persistent memory is found out as it does it.
#[unsafe(no_mangle)]
pub extern "C" fn __lf_asm(site: *const Site) {
    fence(RecordKind::Asm, Origin::source(site));
    crate::threads::leftovers::anything_is_read();
    crate::memory::unannounced::assembly(crate::caller!(), site);
}

/// What comes next is not followed, and may touch what other threads see.
#[unsafe(no_mangle)]
pub extern "C" fn __lf_opaque(site: *const Site) {
    crate::threads::unseen::note(unseen::ASSEMBLY, Origin::source(site));
    crate::threads::leftovers::anything_is_read();
}

/// A locked instruction follows whose operand is nobody else's business.
#[unsafe(no_mangle)]
pub extern "C" fn __lf_locked(site: *const Site) {
    let origin = Origin::source(site);
    crate::threads::fence(origin);
    if running() {
        trace::locked_elsewhere(origin);
    }
}

/// A C11 fence: sequentially consistent ones are mfence, weaker ones order nothing in hardware (docs/design/model.md §2).
#[unsafe(no_mangle)]
pub extern "C" fn __lf_fence(ordering: u32, site: *const Site) {
    if ordering & 7 == SEQ_CST {
        crate::threads::fence(Origin::source(site));
        fence(RecordKind::Mfence, Origin::source(site));
    }
    crate::threads::ordered(ordering as u8 & 7, Origin::source(site));
}
