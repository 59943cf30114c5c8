//! What a handler is told of its signal besides its number: who sent it, and with which value. Of signals that queue, each has its own, in
//! the order in which they arrived; of the others the first that is pending has.

use super::super::{tables, threads};
use super::{MOST, all};
use crate::memory::bytes;
use core::cell::Cell;
use landfall_vocab::shared::signal_word;

/// Of one signal that is pending as often as that, the last ones share what they say.
const QUEUED: usize = 16;

#[derive(Clone, Copy)]
#[repr(C)]
pub(in super::super) struct SignalInfo {
    /// `SI_USER`, `SI_TKILL`, `SI_QUEUE`, `SI_TIMER` …
    pub(in super::super) code: i32,
    /// Of `sigqueue`, and of a timer.
    pub(in super::super) value: usize,
}

impl SignalInfo {
    pub(in super::super) const fn of(code: i32) -> SignalInfo {
        SignalInfo { code, value: 0 }
    }
}

/// A place in the tables for each signal that is sent.
#[repr(C)]
pub(in super::super) struct SignalInfos {
    waiting: [[Cell<SignalInfo>; QUEUED]; MOST],
    /// How many have arrived, and were taken.
    arrived: [Cell<usize>; MOST],
    taken: [Cell<usize>; MOST],
}

fn infos() -> &'static SignalInfos {
    &tables().signal_infos
}

/// At the start of a run in which signals arrive.
pub(super) fn begin() {
    for counts in [&infos().arrived, &infos().taken] {
        // By hand: the compiler's way would be a call of `memset`, which may be the program's.
        // SAFETY: numbers in cells, for which zero is a value.
        unsafe {
            bytes::fill(
                counts.as_ptr().cast_mut().cast(),
                0,
                size_of::<[Cell<usize>; MOST]>(),
            );
        }
    }
}

/// Which of the signals that are sent has this word.
fn place(word: usize) -> Option<usize> {
    let sent = &(&threads().signals.sent)[..all().count.get()];
    sent.iter()
        .position(|number| signal_word(number.get() as usize) == word)
}

/// A signal is pending, once more than before.
pub(super) fn arrived(word: usize, info: SignalInfo) {
    if let Some(at) = place(word) {
        let number = infos().arrived[at].get();
        infos().waiting[at][number % QUEUED].set(info);
        infos().arrived[at].set(number + 1);
    }
}

/// It is taken.
pub(super) fn taken(word: usize) -> SignalInfo {
    let Some(at) = place(word) else {
        return SignalInfo::of(libc::SI_USER);
    };
    let number = infos().taken[at].get();
    infos().taken[at].set(number + 1);
    infos().waiting[at][number % QUEUED].get()
}

/// Writes it down as libc lays it out.
///
/// # Safety
/// There is room for it.
pub(in super::super) unsafe fn describe(to: *mut libc::siginfo_t, signal: usize, info: SignalInfo) {
    const PID: u64 = 1000;
    // SAFETY: what the caller promises.
    unsafe {
        bytes::fill(to.cast(), 0, size_of::<libc::siginfo_t>());
        let words = to.cast::<u64>();
        *words = signal as u64;
        *words.add(1) = u64::from(info.code as u32);
        if info.code != libc::SI_TIMER {
            *words.add(2) = PID;
        }
        *words.add(3) = info.value as u64;
    }
}
