//! In-place restart (RUNTIME.md): a resident process runs job after job and puts its memory back in between. All writable memory
//! of the program and its libraries is write-protected once; the first write to a page makes it *hot*: it stays writable and is
//! copied back after every run. What cannot be put back (kernel state) stops a run before it happens; such a run is repeated
//! in a fork.

use crate::bytes;
use crate::dispatch;
use crate::forkserver::{await_job, current, die_with, finish, wait};
use crate::heap::Heap;
use crate::serve::{begin, enter, go, image_lines};
use crate::shadow;
use crate::signals;
use crate::state::{Scratch, allocate, place, state};
use crate::sys;
use core::sync::atomic::Ordering::{Relaxed, Release};
use landfall_vocab::shared::{End, SlotHeader, TEXT, isolation, job, slot_state};
use landfall_vocab::window;

const PAGE: usize = 4096;
const MOST_REGIONS: usize = 128;
/// More hot pages than this and a run costs as much as a fork.
const MOST_HOT: usize = 1 << 14;
/// Runs after which everything is protected again, so that a page written once is not copied for ever.
const REARM: u64 = 1000;

/// A range of the program's writable memory.
#[derive(Clone, Copy)]
struct Region {
    start: usize,
    end: usize,
    /// Its contents before any run; zero for memory that was all zero.
    saved: usize,
}

#[derive(Clone, Copy)]
struct Hot {
    page: usize,
    saved: usize,
}

#[repr(C)]
pub(crate) struct Restart {
    regions: [Region; MOST_REGIONS],
    count: usize,
    hot: *mut Hot,
    hot_count: usize,
    /// The first so many are never protected: the thread descriptor.
    always_hot: usize,
    heap: Heap,
    /// Arguments and environment, on the driver's stack: always copied back.
    strings: Region,
    free_descriptor: usize,
    runs: u64,
    undo: *mut (u64, [u64; 8]),
    undo_count: usize,
}

/// Why a resident process left; its exit code.
const LEFT_FOR_FORK: i32 = 3;

/// Runs jobs in a resident process until it leaves or dies. Called by the server.
pub(crate) unsafe fn reside() {
    let control = (*state()).control;
    let server = sys::call(libc::SYS_getpid, []);
    let child = sys::call(libc::SYS_fork, []);
    if child == 0 {
        die_with(server);
        resident()
    }
    if child < 0 {
        (*control).isolation.store(isolation::FORK, Relaxed);
        return;
    }
    (*control).child_pid.store(child as u32, Release);
    let status = wait(child);
    (*control).child_pid.store(0, Release);
    let slot = current();
    if status != LEFT_FOR_FORK << 8 && (*slot).state.load(Relaxed) == slot_state::RUNNING {
        // It died in the middle of this run: that is the run's outcome.
        (*slot).outcome.end = End::Died as u32;
        (*slot).outcome.code = status;
        finish(slot);
        (*control).cursor.fetch_add(1, Relaxed);
    }
}

unsafe fn resident() -> ! {
    let state = state();
    let control = (*state).control;
    (*state).in_place = true;
    signals::start_ticking();
    if !dispatch::enable() {
        give_up(&[b"this kernel lacks syscall user dispatch"]);
    }
    snapshot();
    protect();
    loop {
        let slot = current();
        await_job(slot);
        if (*slot).job.flags & (job::SET_BASE | job::FORK | job::SEARCH_FOREIGN) != 0 {
            (*slot).state.store(slot_state::POSTED, Release);
            sys::exit(LEFT_FOR_FORK);
        }
        begin(slot);
        apply_image(slot);
        go();
        enter();
        restore();
        if (*slot).job.flags & job::AUDIT != 0 {
            (*slot).outcome.audit_bytes = audit();
        }
        (*control).restarts.fetch_add(1, Relaxed);
        let restart = &raw mut (*state).restart;
        (*restart).runs += 1;
        if (*slot).outcome.end == End::NeedsFork as u32 {
            let text = &(*slot).outcome.text;
            leave_for_fork(
                slot,
                &[&text[..((*slot).outcome.text_len as usize).min(TEXT)]],
            );
        }
        if (*slot).outcome.foreign_words != 0 {
            leave_for_fork(slot, &[b"uninstrumented code writes persistent memory"]);
        }
        if (*restart).runs % REARM == 0 {
            (*restart).hot_count = (*restart).always_hot;
            protect();
        }
        finish(slot);
        (*control).cursor.fetch_add(1, Relaxed);
    }
}

/// This job goes back to be run in a fork; with `auto` so do all later ones.
unsafe fn leave_for_fork(slot: *mut SlotHeader, why: &[&[u8]]) -> ! {
    (*slot).job.flags |= job::FORK;
    (*slot).state.store(slot_state::POSTED, Release);
    if (*(*state()).control).isolation.load(Relaxed) == isolation::AUTO {
        give_up(why)
    }
    say_why(why);
    sys::exit(LEFT_FOR_FORK)
}

/// No more restarts in place, for the reason given.
unsafe fn give_up(why: &[&[u8]]) -> ! {
    say_why(why);
    (*(*state()).control)
        .isolation
        .store(isolation::FORK, Release);
    sys::exit(LEFT_FOR_FORK)
}

unsafe fn say_why(why: &[&[u8]]) {
    let control = (*state()).control;
    let mut length = 0;
    for part in why {
        let fits = part.len().min(TEXT - length);
        bytes::copy(
            (&raw mut (*control).text as *mut u8).add(length),
            part.as_ptr(),
            fits,
        );
        length += fits;
    }
    (*control).text_len.store(length as u32, Relaxed);
}

/// Puts the job's lines into memory, keeping what they replace.
unsafe fn apply_image(slot: *mut SlotHeader) {
    let restart = &raw mut (*state()).restart;
    (*restart).undo_count = 0;
    if (*slot).job.lines == 0 {
        return;
    }
    (*restart).undo =
        Scratch::new((*slot).job.lines as usize * size_of::<(u64, [u64; 8])>()).keep() as *mut _;
    image_lines(slot, |offset, line| {
        let memory = (window::BASE + offset) as *mut u64;
        let kept = (*restart).undo.add((*restart).undo_count);
        (*kept).0 = offset;
        bytes::copy_words((*kept).1.as_mut_ptr(), memory, 8);
        bytes::copy(memory as *mut u8, line, 64);
        (*restart).undo_count += 1;
    });
}

/// Everything back to what it was before the run.
unsafe fn restore() {
    let state = state();
    let restart = &raw mut (*state).restart;
    for i in 0..(*restart).hot_count {
        let hot = *(*restart).hot.add(i);
        put_back(hot.page, hot.saved, PAGE);
    }
    let strings = (*restart).strings;
    bytes::copy(
        strings.start as *mut u8,
        strings.saved as *const u8,
        strings.end - strings.start,
    );
    copy_heap(&raw mut (*state).heap, &raw const (*restart).heap);
    shadow::undo();
    while (*restart).undo_count > 0 {
        (*restart).undo_count -= 1;
        let kept = (*restart).undo.add((*restart).undo_count);
        bytes::copy_words(
            (window::BASE + (*kept).0) as *mut u64,
            (*kept).1.as_ptr(),
            8,
        );
    }
    if (*state).opened {
        sys::call(
            libc::SYS_close_range,
            [(*restart).free_descriptor, u32::MAX as usize, 0],
        );
    }
}

/// By hand: the compiler's way would be a call of `memcpy`, which may be the program's.
unsafe fn copy_heap(to: *mut Heap, from: *const Heap) {
    bytes::copy_words(to as *mut u64, from as *const u64, size_of::<Heap>() / 8);
}

unsafe fn put_back(page: usize, saved: usize, length: usize) {
    if saved == 0 {
        bytes::fill(page as *mut u8, 0, length);
    } else {
        bytes::copy_words(page as *mut u64, saved as *const u64, length / 8);
    }
}

/// Finds and copies all memory of the program that a run may change.
unsafe fn snapshot() {
    let state = state();
    let restart = &raw mut (*state).restart;
    (*restart).hot = allocate(MOST_HOT * size_of::<Hot>()) as *mut Hot;
    copy_heap(&raw mut (*restart).heap, &raw const (*state).heap);
    let stack_end = each_mapping(|start, end, writable, own| {
        if writable && !own {
            exclude_state(start, end);
        }
    });
    let used = if (*state).heap.end == 0 {
        place::HEAP
    } else {
        ((*state).heap.end + PAGE - 1) & !(PAGE - 1)
    };
    if (*state).heap.end == 0 {
        // The heap's range must exist before it can be protected.
        sys::map(place::HEAP, place::HEAP_LEN);
        (*state).heap.end = place::HEAP;
        copy_heap(&raw mut (*restart).heap, &raw const (*state).heap);
    }
    add(place::HEAP, used, true);
    add(used, place::HEAP + place::HEAP_LEN, false);
    add(place::STACK, place::STACK + place::STACK_LEN, false);
    let arguments = (*state).arguments.1 & !7;
    let saved = allocate(stack_end - arguments);
    bytes::copy(saved, arguments as *const u8, stack_end - arguments);
    (*restart).strings = Region {
        start: arguments,
        end: stack_end,
        saved: saved as usize,
    };
    let free = sys::call(libc::SYS_fcntl, [0, libc::F_DUPFD as usize, 3]);
    (*restart).free_descriptor = if free < 0 { 3 } else { free as usize };
    sys::call(libc::SYS_close, [(*restart).free_descriptor]);
    // The thread descriptor and the thread-local variables below it.
    let thread = (*state).thread_pointer & !(PAGE - 1);
    for page in [thread - PAGE, thread, thread + PAGE] {
        if tracked(page).is_some() {
            heat(page);
        }
    }
    (*restart).always_hot = (*restart).hot_count;
}

/// Adds a range, leaving out the runtime's own state.
unsafe fn exclude_state(start: usize, end: usize) {
    unsafe extern "C" {
        static __start_lf_state: u8;
        static __stop_lf_state: u8;
    }
    let own = &raw const __start_lf_state as usize & !(PAGE - 1);
    let own_end = (&raw const __stop_lf_state as usize + PAGE - 1) & !(PAGE - 1);
    if own < end && start < own_end {
        add(start, own.max(start), true);
        add(own_end.min(end), end, true);
    } else {
        add(start, end, true);
    }
}

unsafe fn add(start: usize, end: usize, save: bool) {
    let restart = &raw mut (*state()).restart;
    if start >= end {
        return;
    }
    if (*restart).count == MOST_REGIONS {
        give_up(&[b"too many mappings to track"]);
    }
    let mut saved = 0;
    if save {
        saved = allocate(end - start + 64) as usize;
        bytes::copy(saved as *mut u8, start as *const u8, end - start);
    }
    (&mut (*restart).regions)[(*restart).count] = Region { start, end, saved };
    (*restart).count += 1;
}

/// Walks /proc/self/maps; returns where the stack ends.
unsafe fn each_mapping(mut each: impl FnMut(usize, usize, bool, bool)) -> usize {
    const ROOM: usize = 1 << 18;
    let scratch = Scratch::new(ROOM);
    let text = scratch.start();
    let fd = sys::call(
        libc::SYS_open,
        [
            c"/proc/self/maps".as_ptr() as usize,
            libc::O_RDONLY as usize,
        ],
    );
    let mut length = 0;
    loop {
        let got = sys::call(
            libc::SYS_read,
            [fd as usize, text as usize + length, ROOM - length],
        );
        if got <= 0 {
            break;
        }
        length += got as usize;
    }
    sys::call(libc::SYS_close, [fd as usize]);
    let mut stack_end = 0;
    for line in core::slice::from_raw_parts(text, length).split(|byte| *byte == b'\n') {
        let mut fields = line
            .split(|byte| *byte == b' ')
            .filter(|field| !field.is_empty());
        let (Some(range), Some(flags)) = (fields.next(), fields.next()) else {
            continue;
        };
        let mut ends = range.split(|byte| *byte == b'-').map(hexadecimal);
        let (start, end) = (ends.next().unwrap_or(0), ends.next().unwrap_or(0));
        match fields.nth(3) {
            Some(b"[stack]") => stack_end = end,
            Some(b"[vvar]" | b"[vdso]" | b"[vsyscall]" | b"[vvar_vclock]") => {}
            _ => each(start, end, flags.starts_with(b"rw-p"), is_own(start)),
        }
    }
    stack_end
}

/// The window, the runtime's mappings, the heap and the stack (which are added by hand) lie between these addresses.
fn is_own(start: usize) -> bool {
    (window::BASE as usize..0x5100_0000_0000).contains(&start)
}

fn hexadecimal(digits: &[u8]) -> usize {
    digits.iter().fold(0, |number, digit| {
        number << 4 | (*digit as char).to_digit(16).unwrap_or(0) as usize
    })
}

unsafe fn tracked(page: usize) -> Option<Region> {
    let restart = &raw const (*state()).restart;
    (&(*restart).regions)[..(*restart).count]
        .iter()
        .find(|region| (region.start..region.end).contains(&page))
        .copied()
}

unsafe fn heat(page: usize) {
    let restart = &raw mut (*state()).restart;
    let Some(region) = tracked(page) else { return };
    if (*restart).hot_count == MOST_HOT {
        crate::outcome::needs_fork(&[b"a run writes more than 64 MiB"]);
    }
    let saved = if region.saved == 0 {
        0
    } else {
        region.saved + page - region.start
    };
    *(*restart).hot.add((*restart).hot_count) = Hot { page, saved };
    (*restart).hot_count += 1;
}

/// The first write to a protected page. False: not ours, a real fault.
pub(crate) unsafe fn make_hot(address: usize) -> bool {
    let page = address & !(PAGE - 1);
    if tracked(page).is_none() {
        return false;
    }
    let all = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    heat(page);
    sys::call(libc::SYS_mprotect, [page, PAGE, all]) == 0
}

/// Makes pages writable before the kernel writes to them: it would fail instead of faulting.
pub(crate) unsafe fn warm(address: usize, length: usize) {
    if !(*state()).in_place || length == 0 {
        return;
    }
    let mut page = address & !(PAGE - 1);
    while page < address.saturating_add(length) {
        if tracked(page).is_some() {
            let byte = page.max(address) as *mut u8;
            byte.write_volatile(byte.read_volatile());
        } else {
            return;
        }
        page += PAGE;
    }
}

/// Write-protects everything that is not hot. A hot page is never protected, not even for a moment.
unsafe fn protect() {
    let restart = &raw const (*state()).restart;
    for i in 0..(*restart).count {
        let region = (*restart).regions[i];
        let mut at = region.start;
        while at < region.end {
            let mut next = region.end;
            for hot in core::slice::from_raw_parts((*restart).hot, (*restart).hot_count) {
                if hot.page >= at && hot.page < next {
                    next = hot.page;
                }
            }
            if next > at {
                sys::call(
                    libc::SYS_mprotect,
                    [at, next - at, libc::PROT_READ as usize],
                );
            }
            at = if next == region.end {
                next
            } else {
                next + PAGE
            };
        }
    }
}

/// Bytes of tracked memory that are not what they were before the run. Memory that was zero is compared where it is hot.
unsafe fn audit() -> u32 {
    let restart = &raw const (*state()).restart;
    let mut different = 0u32;
    for region in &(&(*restart).regions)[..(*restart).count] {
        if region.saved == 0 {
            continue;
        }
        let mut page = region.start;
        while page < region.end {
            let saved = region.saved + page - region.start;
            if !bytes::equal(
                page as *const u8,
                saved as *const u8,
                PAGE.min(region.end - page),
            ) {
                different += 1;
            }
            page += PAGE;
        }
    }
    for hot in core::slice::from_raw_parts((*restart).hot, (*restart).hot_count) {
        if hot.saved == 0 {
            let words = core::slice::from_raw_parts(hot.page as *const u64, PAGE / 8);
            different += u32::from(words.iter().any(|word| *word != 0));
        }
    }
    different
}
