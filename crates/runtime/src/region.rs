//! The functions of landfall.h that are not the persistent heap.

use crate::flush;
use crate::log::{self, Origin};
use crate::shadow::recording;
use crate::state::{running, state};
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::{Kind, mark};
use landfall_vocab::window;

/// The address a function of ours returns to: where the program called it.
#[macro_export]
macro_rules! caller {
    () => {
        *((($crate::stack::frame_pointer)() + 8) as *const usize)
    };
}

/// The program's persistent region: zeroed at first, at the same address in every run. Asking again may only enlarge it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_pm(length: usize) -> *mut u8 {
    let recorded = recording();
    if length as u64 > window::REGION.len {
        return core::ptr::null_mut();
    }
    let state = state();
    (*state).region_len = (*state).region_len.max((length as u64 + 63) & !63);
    if recorded {
        let origin = Origin::library(Builtin::lf_pm, caller!());
        log::with_value(
            Kind::Mark,
            (*state).region_len & !7,
            mark::REGION,
            0,
            origin,
        );
    }
    (window::BASE + window::REGION.start) as *mut u8
}

/// Power failures so far.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_failures() -> i32 {
    recording();
    (*state()).failures as i32
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_flush(p: *const u8, length: usize) {
    flush::flush_range(
        p as usize,
        length,
        Origin::library(Builtin::lf_flush, caller!()),
    );
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_fence() {
    flush::fence(Kind::Sfence, Origin::library(Builtin::lf_fence, caller!()));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_persist(p: *const u8, length: usize) {
    let origin = Origin::library(Builtin::lf_persist, caller!());
    flush::flush_range(p as usize, length, origin);
    flush::fence(Kind::Sfence, origin);
}

unsafe fn marked(mark: u64, caller: usize) {
    if running() {
        log::with_value(
            Kind::Mark,
            0,
            mark,
            0,
            Origin::library(Builtin::unknown, caller),
        );
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_checksum_begin() {
    marked(mark::CHECKSUM_BEGIN, caller!());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_checksum_end(accepted: i32) {
    marked(
        if accepted != 0 {
            mark::CHECKSUM_ACCEPTED
        } else {
            mark::CHECKSUM_REJECTED
        },
        caller!(),
    );
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_ignore_begin() {
    marked(mark::IGNORE_BEGIN, caller!());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_ignore_end() {
    marked(mark::IGNORE_END, caller!());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_yield() -> i32 {
    marked(mark::YIELD, caller!());
    0
}
