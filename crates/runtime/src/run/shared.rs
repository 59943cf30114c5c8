//! The memory that checker and runtime share: the control block, and the slot of the run that is on.
//!
//! Invariants: it is mapped once, in `run::start`, and stays where it is as long as the process lives. What both sides change while a
//! program runs is atomic; the rest of the control block and the job in a slot are written by the checker before they are looked at,
//! and the outcome in a slot is the runtime's alone until the slot is handed back.

use crate::memory::bytes;
use crate::state::{run, server};
use crate::syscalls::sys;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};
use landfall_vocab::shared::{
    ANYBODY, CHOICES_AT, Control, INPUTS_AT, InputValue, JobHeader, MOST_CHOICES, MOST_INPUTS,
    MOST_SLEEPERS, Outcome, SLEEPERS_AT, SLOT_LEN, SLOTS, SLOTS_AT, Sleeper, TEXT,
};

/// Of a server only: a program that nobody checks has none.
#[inline(always)]
pub(crate) fn control() -> &'static Control {
    // SAFETY: see above; a server has it before anything else.
    unsafe { &*server().control.get() }
}

/// The directory of pool files; empty where there is none.
pub(crate) fn pool_directory() -> &'static [u8] {
    let control = control();
    &control.pm_dir[..(control.pm_dir_len as usize).min(control.pm_dir.len())]
}

/// Wakes who sleeps on a word.
pub(crate) fn wake(word: &AtomicU32) {
    let word = &raw const *word as usize;
    // SAFETY: waking writes to no memory.
    unsafe { sys::raw(libc::SYS_futex, [word, libc::FUTEX_WAKE as usize, 1]) };
}

/// Tells the checker, in words.
pub(crate) fn explain(parts: &[&[u8]]) {
    // SAFETY: see above; the checker reads the text once its length is there.
    let text = unsafe { &raw mut (*server().control.get()).text };
    let length = write_text(parts, text);
    control().text_len.store(length, Relaxed);
}

/// Puts parts of a text behind each other, as far as there is room; how long it is.
pub(super) fn write_text(parts: &[&[u8]], to: *mut [u8; TEXT]) -> u32 {
    let mut length = 0;
    for part in parts {
        let fits = part.len().min(TEXT - length);
        // SAFETY: `length + fits` is at most what there is.
        unsafe { bytes::copy(to.cast::<u8>().add(length), part.as_ptr(), fits) };
        length += fits;
    }
    length as u32
}

/// Where the client's script lies.
pub(crate) fn client_area() -> *const u8 {
    let base = server().control.get() as *const u8;
    base.wrapping_add(landfall_vocab::shared::CLIENT_AT as usize)
}

/// What the run is to do. Of a run only.
#[inline(always)]
pub(crate) fn job() -> &'static JobHeader {
    // SAFETY: see above; a run has a slot from its beginning.
    unsafe { &(*run().slot.get()).job }
}

/// Which of the slots it is that this run has.
pub(crate) fn slot_index() -> usize {
    let offset = run().slot.get() as usize - server().control.get() as usize;
    (offset as u64).saturating_sub(SLOTS_AT) as usize / SLOT_LEN as usize % SLOTS
}

/// Bytes of trace so far. Of a run only.
#[inline(always)]
pub(crate) fn trace_len() -> &'static AtomicU64 {
    // SAFETY: see above; a run has a slot from its beginning.
    unsafe { &(*run().slot.get()).trace_len }
}

/// Looks at the run's outcome, or changes it. Of a run only.
#[inline(always)]
pub(crate) fn outcome<R>(change: impl FnOnce(&mut Outcome) -> R) -> R {
    // SAFETY: see above; nobody inside comes back to it.
    unsafe { change(&mut (*run().slot.get()).outcome) }
}

/// The run does what may come out differently another time.
pub(crate) fn note_opaque() {
    // SAFETY: see above; a run has a slot from its beginning.
    unsafe { (*run().slot.get()).opaque = 1 };
}

/// The process that the job chooses at a step, if it does.
pub(crate) fn choice(step: usize) -> Option<u16> {
    let given = job().choices.min(MOST_CHOICES) as usize;
    if step >= given {
        return None;
    }
    let slot = run().slot.get() as *const u8;
    // SAFETY: see above; `step` is inside the area of choices.
    let choice = unsafe {
        (slot.add(CHOICES_AT as usize) as *const u16)
            .add(step)
            .read()
    };
    (choice != ANYBODY).then_some(choice)
}

/// Whose next step need not be looked at again.
pub(crate) fn sleepers() -> impl Iterator<Item = Sleeper> {
    let count = job().sleepers.min(MOST_SLEEPERS as u64) as usize;
    let slot = run().slot.get() as *const u8;
    let first = slot.wrapping_add(SLEEPERS_AT as usize) as *const Sleeper;
    // SAFETY: see above; `i` is inside the area of sleepers.
    (0..count).map(move |i| unsafe { first.add(i).read() })
}

/// What the program is told where it asks for any value.
pub(crate) fn inputs() -> impl Iterator<Item = InputValue> {
    let count = job().inputs.min(MOST_INPUTS as u64) as usize;
    let slot = run().slot.get() as *const u8;
    let first = slot.wrapping_add(INPUTS_AT as usize) as *const InputValue;
    // SAFETY: see above; `i` is inside the area of inputs.
    (0..count).map(move |i| unsafe { first.add(i).read() })
}
