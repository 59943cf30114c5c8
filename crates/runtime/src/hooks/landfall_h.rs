//! The functions of landfall.h that are not the persistent heap.

use crate::channels::client::acks;
use crate::hooks::flushes;
use crate::memory::bytes;
use crate::memory::shadow::{asked, is_persistent, known, offset};
use crate::run::shared::trace_len;
use crate::run::trace::{self, Origin};
use crate::state::{run, running};
use crate::threads::said;
use core::sync::atomic::Ordering::Relaxed;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::{RecordKind, Records, mark};
use landfall_vocab::window;

/// The address a function of ours returns to: where the program called it.
#[macro_export]
macro_rules! caller {
    () => {
{
        let frame = $crate::run::call_stack::enter();
        // SAFETY: functions of ours keep frame pointers: the return address is behind the outer frame's.
        #[allow(unused_unsafe)]
        let back = unsafe { *((frame + 8) as *const usize) };
        back
    }
    };
}

/// The program's persistent region: zeroed at first, at the same address in every run. Asking again may only enlarge it.
#[unsafe(no_mangle)]
pub extern "C" fn lf_pm(length: usize) -> *mut u8 {
    let recorded = asked();
    if length as u64 > window::REGION.len {
        return core::ptr::null_mut();
    }
    run()
        .region_len
        .set(run().region_len.get().max((length as u64 + 63) & !63));
    if recorded {
        let origin = Origin::library(Builtin::lf_pm, caller!());
        trace::with_value(
            RecordKind::Mark,
            run().region_len.get() & !7,
            mark::REGION,
            0,
            origin,
        );
    }
    (window::BASE + window::REGION.start) as *mut u8
}

/// Power failures so far.
#[unsafe(no_mangle)]
pub extern "C" fn lf_failures() -> i32 {
    asked();
    run().failures.get() as i32
}

/// # Safety
/// `name` is a text that ends in zero.
unsafe fn acknowledged(name: *const u8) -> &'static [u8] {
    // SAFETY: what the caller promises.
    unsafe { bytes::text(name, 256) }
}

/// Somebody outside is told: what was done under this name stays done, from here on.
///
/// # Safety
/// `name` is a text that ends in zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_ack(name: *const u8) {
    if running() {
        // SAFETY: what the caller promises.
        unsafe { acks::told_by(acknowledged(name), caller!()) };
    }
}

/// How often somebody was told, before the last power failure and since.
///
/// # Safety
/// `name` is a text that ends in zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_acked(name: *const u8) -> u32 {
    match running() {
        // SAFETY: what the caller promises.
        true => unsafe { acks::count_by(acknowledged(name), caller!()) as u32 },
        false => 0,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn lf_flush(p: *const u8, length: usize) {
    flushes::flush_range(
        p as usize,
        length,
        Origin::library(Builtin::lf_flush, caller!()),
    );
}

#[unsafe(no_mangle)]
pub extern "C" fn lf_fence() {
    flushes::fence(
        RecordKind::Sfence,
        Origin::library(Builtin::lf_fence, caller!()),
    );
}

#[unsafe(no_mangle)]
pub extern "C" fn lf_persist(p: *const u8, length: usize) {
    let origin = Origin::library(Builtin::lf_persist, caller!());
    flushes::flush_range(p as usize, length, origin);
    flushes::fence(RecordKind::Sfence, origin);
}

fn marked(mark: u64, caller: usize) {
    if running() {
        trace::with_value(
            RecordKind::Mark,
            0,
            mark,
            0,
            Origin::library(Builtin::unknown, caller),
        );
    }
}

/// Reads from here on may come to nothing: whoever judges does not count them.
fn begin_aside() {
    if running() {
        run().aside_from.set(trace_len().load(Relaxed));
        run().aside.set(true);
    }
}

/// They came to nothing: what is read of the same bytes later is read for the first time.
fn end_aside() {
    // SAFETY: the trace up to its length was written by this run.
    unsafe {
        if !running() || !run().aside.get() {
            return;
        }
        run().aside.set(false);
        let (from, to) = (run().aside_from.get(), trace_len().load(Relaxed));
        let trace = core::slice::from_raw_parts(
            run().trace.get().add(from as usize),
            to.saturating_sub(from) as usize,
        );
        for record in Records::new(trace).map_while(Result::ok) {
            if record.kind == RecordKind::Read {
                *known(record.offset) &= !record.mask;
            }
        }
        // What was written is known, read before or not.
        for record in Records::new(trace).map_while(Result::ok) {
            match record.kind {
                RecordKind::Store => *known(record.offset) |= record.mask,
                RecordKind::Run => know(record.offset, record.value),
                RecordKind::Fill => know(record.offset, record.value >> 8),
                _ => {}
            }
        }
    }
}

fn know(start: u64, length: u64) {
    // SAFETY: the shadow is mapped for all of the window, and a record's range is inside.
    unsafe {
        for at in start..start + length {
            *known(at) |= 1 << (at & 7);
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn lf_checksum_begin() {
    marked(mark::CHECKSUM_BEGIN, caller!());
    begin_aside();
}

#[unsafe(no_mangle)]
pub extern "C" fn lf_checksum_end(accepted: i32) {
    marked(
        if accepted != 0 {
            mark::CHECKSUM_ACCEPTED
        } else {
            mark::CHECKSUM_REJECTED
        },
        caller!(),
    );
    match accepted {
        0 => end_aside(),
        _ => run().aside.set(false),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn lf_ignore_begin() {
    let caller = caller!();
    marked(mark::IGNORE_BEGIN, caller);
    said::ignore_begins(caller);
    begin_aside();
}

#[unsafe(no_mangle)]
pub extern "C" fn lf_ignore_end() {
    let caller = caller!();
    marked(mark::IGNORE_END, caller);
    said::ignore_ends(caller);
    end_aside();
}

/// Nobody asks what a recovery, of which only the reads are wanted, does in its transactions.
fn transacted(mark: u64, offset: u64, caller: usize) {
    if running() && !run().reads_only.get() {
        let origin = Origin::library(Builtin::unknown, caller);
        trace::with_value(RecordKind::Mark, offset, mark, 0, origin);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn lf_tx_begin() {
    transacted(mark::TX_BEGIN, 0, caller!());
}

#[unsafe(no_mangle)]
pub extern "C" fn lf_tx_add(p: usize, length: usize) {
    if length != 0 && is_persistent(p) {
        let mark = mark::TX_ADD | (length as u64) << 8;
        transacted(mark, offset(p), caller!());
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn lf_tx_end() {
    transacted(mark::TX_END, 0, caller!());
}

#[unsafe(no_mangle)]
pub extern "C" fn lf_yield() -> i32 {
    marked(mark::YIELD, caller!());
    0
}
