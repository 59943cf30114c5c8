//! Memory that is unmapped, protected, emptied or replaced while there are other threads: a store to all of it, as far as who else
//! touches it is concerned. Whoever comes later finds what is there then, which may be nothing.

use super::unseen::{self, several};
use super::{block, given_stacks, on, said, signals, store_buffer, threads, visible};
use crate::memory::shadow::is_persistent;
use crate::run::outcome;
use crate::run::trace::Origin;
use crate::state::run;
use crate::syscalls::sys;
use landfall_vocab::record::unseen as what;

/// Ranges that are longer are only noted: a record for each line of them would fill the trace.
const LONGEST: usize = 1 << 20;
const PAGE: usize = 4096;

fn changes(start: usize, length: usize, origin: Origin) {
    if on() && length <= LONGEST {
        // What a handler touches, or takes away, others find before or after.
        signals::before_access(start, length, false, origin);
    }
    // What a process may change is its own.
    if !several() || is_persistent(start) || super::forked::several() {
        return super::acted();
    }
    let length = length.next_multiple_of(PAGE);
    if length > LONGEST || start.checked_add(length).is_none() {
        return unseen::note(what::MAPPING, origin);
    }
    let is_step = visible::is_point(threads().mappings.get(), origin);
    if is_step && threads().persistency.get() {
        return unseen::note(what::MAPPING, origin);
    }
    // Others see all of it at once, or nothing: its lines are one step.
    if is_step {
        block::begin_remapping(origin);
    }
    visible::replace(start, length, origin);
    given_stacks::taken_away(start, length);
    if store_buffer::others_hold(start, length) {
        // The processor waits until what is on its way to that memory is there: this is no execution, others may go on.
        run().too_early.set(true);
        outcome::assumed()
    }
    if is_step {
        block::end_at(origin);
        threads().remapped.set(threads().mappings.get());
    }
}

/// The memory is gone now: others may come before whatever the thread does next.
#[inline(always)]
pub(super) fn settled(origin: Origin) {
    if threads().remapped.replace(false) {
        block::issues(origin);
    }
}

/// There is a mapping now: people are told where it comes from, as of a block of the heap.
pub(super) fn made([_, length, wanted]: [usize; 3], at: usize, moved: bool) {
    let is_there = at.is_multiple_of(PAGE) && at != usize::MAX && !is_persistent(at);
    if is_there {
        super::allocated(at, if moved { wanted } else { length });
    }
}

/// `munmap`, `mprotect`.
pub(super) fn range([start, length, ..]: [usize; 5], origin: Origin) {
    changes(start, length, origin);
}

/// `mprotect`.
pub(super) fn protected(arguments: [usize; 5], origin: Origin) {
    match is_persistent(arguments[0]) && several() {
        true => protects(origin),
        false => {
            // Who stores behind it may fault, which is no data race.
            said::ignore_begins(0);
            range(arguments, origin);
            said::ignore_ends(0);
        }
    }
}

/// Persistent memory: who stores there before and who behind is not tried. What waits in store buffers was allowed when it was put there.
fn protects(origin: Origin) {
    super::acted();
    unseen::note(what::MAPPING, origin);
}

/// `mremap`: what was there is somewhere else afterwards, or some of it nowhere; with `MREMAP_FIXED` what was there is gone, too.
pub(super) fn moved([start, length, wanted, flags, to]: [usize; 5], origin: Origin) {
    changes(start, length, origin);
    if flags as i32 & libc::MREMAP_FIXED != 0 {
        changes(to, wanted, origin);
    }
}

/// `madvise`: the other kinds of advice change nothing that anybody reads.
pub(super) fn advised([start, length, advice, ..]: [usize; 5], origin: Origin) {
    if matches!(
        advice as i32,
        libc::MADV_DONTNEED | libc::MADV_FREE | libc::MADV_REMOVE | libc::MADV_WIPEONFORK
    ) {
        changes(start, length, origin);
    }
}

/// `mmap` over what is there.
pub(super) fn placed([start, length, ..]: [usize; 5], origin: Origin) {
    changes(start, length, origin);
}

/// `brk`: what is behind the new end is gone.
pub(super) fn ends_at(end: usize, origin: Origin) {
    // SAFETY: nothing is asked for but where it is.
    let now = unsafe { sys::raw(libc::SYS_brk, [0]) } as usize;
    if (1..now).contains(&end) {
        let first = end.next_multiple_of(PAGE);
        changes(first, now.saturating_sub(first), origin);
    }
}

/// `sbrk`.
pub(super) fn grows(by: isize, origin: Origin) {
    if by < 0 {
        // SAFETY: nothing is asked for but where it is.
        let now = unsafe { sys::raw(libc::SYS_brk, [0]) } as usize;
        ends_at(now.saturating_sub(by.unsigned_abs()), origin);
    }
}
