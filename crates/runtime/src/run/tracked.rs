//! The program's writable memory, as an in-place restart sees it: what there is, what it held, which pages are hot.

use crate::memory::bytes;
use crate::memory::heap::Heap;
use crate::memory::own::{Scratch, allocate, place};
use crate::run::restart::give_up;
use crate::state::{run, server};
use crate::syscalls::sys;
use core::arch::asm;
use core::arch::x86_64::{__cpuid, __cpuid_count};
use landfall_vocab::window;

const PAGE: usize = 4096;
const MOST_REGIONS: usize = 128;
/// More hot pages than this and a run costs as much as a fork.
const MOST_HOT: usize = 1 << 14;

/// A range of the program's writable memory.
#[derive(Clone, Copy)]
struct Region {
    start: usize,
    end: usize,
    /// Its contents before any run; zero for memory that was all zero, [`LATER`] where each page is copied when it becomes hot.
    saved: usize,
    /// Tables of ours, and persistent memory: a restart in the middle of a run puts them back, too.
    ours: bool,
}

const LATER: usize = 1;

#[derive(Clone, Copy)]
struct Hot {
    page: usize,
    saved: usize,
    ours: bool,
}

#[repr(C)]
pub(crate) struct Tracked {
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
    /// The processor has wide registers.
    wide: bool,
}

/// Copies every hot page back, and what is never protected.
#[inline(never)]
pub(crate) fn restore() {
    // SAFETY: regions are the program's, and were mapped when they were found; what was saved is as long.
    unsafe {
        let tracked = server().tracked.pointer();
        if (*tracked).wide {
            cool_down_wide(tracked);
        } else {
            cool_down(tracked);
        }
        let strings = (*tracked).strings;
        bytes::copy(
            strings.start as *mut u8,
            strings.saved as *const u8,
            strings.end - strings.start,
        );
        copy_heap(server().heap.pointer(), &raw const (*tracked).heap);
    }
}

/// Hot pages back to what they were.
///
/// # Safety
/// `tracked` is what the server has.
#[inline(always)]
unsafe fn cool_down(tracked: *const Tracked) {
    // SAFETY: what the caller promises.
    unsafe {
        for hot in core::slice::from_raw_parts((*tracked).hot, (*tracked).hot_count) {
            bytes::put_back(hot.page as *mut u64, hot.saved as *const u64, PAGE);
        }
    }
}

/// Hot pages back to what they were, in larger pieces.
///
/// # Safety
/// `tracked` is what the server has, and the processor knows AVX2.
#[target_feature(enable = "avx2")]
unsafe fn cool_down_wide(tracked: *const Tracked) {
    // SAFETY: what the caller promises.
    unsafe {
        cool_down(tracked);
    }
}

/// Do processor and system know AVX2?
fn knows_avx2() -> bool {
    const OSXSAVE: u32 = 1 << 27;
    const AVX2: u32 = 1 << 5;
    const SSE_AND_AVX: u64 = 6;
    if __cpuid(0).eax < 7 || __cpuid(1).ecx & OSXSAVE == 0 {
        return false;
    }
    let (low, high): (u32, u32);
    // SAFETY: the system has said that it uses this.
    unsafe {
        asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high, options(nomem, nostack));
    }
    let used = u64::from(low) | u64::from(high) << 32;
    used & SSE_AND_AVX == SSE_AND_AVX && __cpuid_count(7, 0).ebx & AVX2 != 0
}

/// Closes what the run opened.
pub(crate) fn close_descriptors() {
    // SAFETY: regions are the program's, and were mapped when they were found; what was saved is as long.
    let first = unsafe { (*server().tracked.pointer()).free_descriptor };
    sys::call(libc::SYS_close_range, [first, u32::MAX as usize, 0]);
}

/// By hand: the compiler's way would be a call of `memcpy`, which may be the program's.
///
/// # Safety
/// Both are heaps of ours.
unsafe fn copy_heap(to: *mut Heap, from: *const Heap) {
    // SAFETY: what the caller promises.
    unsafe {
        bytes::copy_words(to as *mut u64, from as *const u64, size_of::<Heap>() / 8);
    }
}

/// Forgets which pages are hot.
pub(crate) fn rearm() {
    let tracked = server().tracked.pointer();
    // SAFETY: regions are the program's, and were mapped when they were found; what was saved is as long.
    unsafe { (*tracked).hot_count = (*tracked).always_hot };
    protect();
}

/// Finds and copies all memory of the program that a run may change.
pub(crate) fn snapshot() {
    // SAFETY: regions are the program's, and were mapped when they were found; what was saved is as long.
    unsafe {
        let tracked = server().tracked.pointer();
        (*tracked).wide = knows_avx2();
        (*tracked).hot = allocate(MOST_HOT * size_of::<Hot>()) as *mut Hot;
        copy_heap(&raw mut (*tracked).heap, server().heap.pointer());
        let stack_end = each_mapping(|start, end, flags, own| {
            if flags == Writable::Alone && !own {
                without_state(start, end, |start, end| add(start, end, Save::Now));
            }
        });
        let used = if (*server().heap.pointer()).end == 0 {
            place::HEAP
        } else {
            ((*server().heap.pointer()).end + PAGE - 1) & !(PAGE - 1)
        };
        if (*server().heap.pointer()).end == 0 {
            // The heap's range must exist before it can be protected.
            sys::map(place::HEAP, place::HEAP_LEN);
            (*server().heap.pointer()).end = place::HEAP;
            copy_heap(&raw mut (*tracked).heap, server().heap.pointer());
        }
        add(place::HEAP, used, Save::Now);
        add(used, place::HEAP + place::HEAP_LEN, Save::Zero);
        if crate::memory::heap_checks::on() && crate::memory::heap::shadowed() {
            copy_heap(&raw mut (*tracked).heap, server().heap.pointer());
            let shadow = crate::memory::heap_checks::shadow(used) as usize;
            let shadow = (shadow + PAGE - 1) & !(PAGE - 1);
            add(place::HEAP_SHADOW, shadow, Save::Now);
            add(
                shadow,
                place::HEAP_SHADOW + crate::memory::heap_checks::SHADOW_LEN,
                Save::Zero,
            );
        }
        add(place::STACK, place::STACK + place::STACK_LEN, Save::Zero);
        let (stacks, stacks_end) = crate::threads::all_stacks();
        add(stacks, stacks_end, Save::Zero);
        let (descriptors, made, descriptors_end) = crate::threads::all_descriptors();
        add(descriptors, made, Save::Now);
        add(made, descriptors_end, Save::Zero);
        keep_rest(stack_end);
    }
}

/// The same in the middle of a run of one thread, which every later run of this process goes on from: nothing is copied before
/// it is written to, and tables of ours count as well.
pub(crate) fn snapshot_here() {
    // SAFETY: regions are the program's or ours, and are mapped.
    unsafe {
        let tracked = server().tracked.pointer();
        // What is not hot is write-protected still, so nobody but this list knows that it can be written.
        for region in &mut (&mut (*tracked).regions)[..(*tracked).count] {
            region.saved = LATER;
        }
        // What is allocated from here on is about the checkpoint, and not part of it.
        let arena = (server().arena.get() + PAGE - 1) & !(PAGE - 1);
        server().arena.set(arena);
        (*tracked).hot = allocate(MOST_HOT * size_of::<Hot>()) as *mut Hot;
        (*tracked).hot_count = 0;
        copy_heap(&raw mut (*tracked).heap, server().heap.pointer());
        // Tables; there is code, too.
        each_mapping(|start, end, flags, _| {
            if flags == Writable::Alone && (place::ARENA..arena).contains(&start) {
                add(start, end.min(arena), Save::Ours);
            }
        });
        for (start, end) in crate::memory::shadow::of_runs() {
            add(start, end, Save::Ours);
        }
        keep_rest((*tracked).strings.end);
    }
}

/// What is always copied back.
///
/// # Safety
/// The stack of the process ends there.
unsafe fn keep_rest(stack_end: usize) {
    // SAFETY: what the caller promises.
    unsafe {
        let tracked = server().tracked.pointer();
        let arguments = server().arguments.get().1 & !7;
        let saved = allocate(stack_end - arguments);
        bytes::copy(saved, arguments as *const u8, stack_end - arguments);
        (*tracked).strings = Region {
            start: arguments,
            end: stack_end,
            saved: saved as usize,
            ours: false,
        };
        let free = sys::fcntl(0, libc::F_DUPFD, 3);
        (*tracked).free_descriptor = if free < 0 { 3 } else { free as usize };
        sys::call(libc::SYS_close, [(*tracked).free_descriptor]);
        // The thread descriptor and the thread-local variables below it.
        let thread = server().thread_pointer.get() & !(PAGE - 1);
        for page in [thread - PAGE, thread, thread + PAGE] {
            if region_of(page).is_some() {
                heat(page);
            }
        }
        (*tracked).always_hot = (*tracked).hot_count;
    }
}

/// The pages of the runtime's own state.
pub(crate) fn own_state() -> (usize, usize) {
    unsafe extern "C" {
        static __start_lf_state: u8;
        static __stop_lf_state: u8;
    }
    let start = &raw const __start_lf_state as usize & !(PAGE - 1);
    let end = (&raw const __stop_lf_state as usize + PAGE - 1) & !(PAGE - 1);
    (start, end)
}

/// A range, leaving out the runtime's own state.
fn without_state(start: usize, end: usize, mut each: impl FnMut(usize, usize)) {
    let (own, own_end) = own_state();
    if own < end && start < own_end {
        each(start, own.max(start));
        each(own_end.min(end), end);
    } else {
        each(start, end);
    }
}

/// Can a mapping be written, and is it one that a restart puts back?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writable {
    Alone,
    Shared,
    No,
}

/// All memory that the program may have changed in this run, but for its stacks and persistent memory. False if there is too much.
pub(crate) fn each_changed(mut each: impl FnMut(usize, usize)) -> bool {
    let mut left = crate::run::endless::MOST_BYTES;
    let mut take = |start: usize, end: usize| {
        let fits = end.saturating_sub(start) <= left;
        if fits && start < end {
            left -= end - start;
            each(start, end);
        }
        fits
    };
    // SAFETY: regions are the program's, and were mapped when they were found; what was saved is as long.
    unsafe {
        if server().in_place.get() {
            let tracked = server().tracked.pointer();
            let (stacks, stacks_end) = crate::threads::all_stacks();
            let hot = core::slice::from_raw_parts((*tracked).hot, (*tracked).hot_count);
            let strings = (*tracked).strings;
            return hot
                .iter()
                .filter(|hot| !hot.ours)
                .map(|hot| hot.page)
                .filter(|page| !(place::STACK..place::STACK + place::STACK_LEN).contains(page))
                .filter(|page| !(stacks..stacks_end).contains(page))
                .all(|page| take(page, page + PAGE))
                && take(strings.start, strings.end)
                && run().mappings.each_writable(&mut take);
        }
    }
    let mut all = true;
    let stack_end = each_mapping(|start, end, writable, own| {
        if writable != Writable::No && !own {
            without_state(start, end, |start, end| all &= take(start, end));
        }
    });
    if crate::threads::on() {
        let (descriptors, end) = crate::threads::used_descriptors();
        all &= take(descriptors, end);
    }
    crate::memory::heap::each_used(|start, end| all &= take(start, end));
    // Where runs have the original stack it is compared as a stack.
    if run().stack.get().1 == place::STACK + place::STACK_LEN {
        all &= take(server().arguments.get().1 & !7, stack_end);
    }
    all
}

/// Where there is writable memory that is not ours, but for heaps and stacks: what is this process's own, and what others share.
pub(crate) fn each_of_program(
    mut own: impl FnMut(usize, usize),
    mut shared: impl FnMut(usize, usize),
) {
    let stack_end = each_mapping(|start, end, writable, ours| match writable {
        _ if ours => {}
        Writable::Alone => without_state(start, end, &mut own),
        Writable::Shared => shared(start, end),
        Writable::No => {}
    });
    own(server().arguments.get().1 & !7, stack_end);
}

/// What becomes of the content of a region.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Save {
    /// It is all zero.
    Zero,
    Now,
    /// It is not the program's: page by page, before they are written to.
    Ours,
}

/// # Safety
/// The range is mapped, and can be read where it is saved.
unsafe fn add(start: usize, end: usize, save: Save) {
    // SAFETY: what the caller promises.
    unsafe {
        let tracked = server().tracked.pointer();
        if start >= end {
            return;
        }
        if (*tracked).count == MOST_REGIONS {
            crate::run::checkpoint::cannot_be();
            give_up(&[b"too many mappings to track"]);
        }
        let saved = match save {
            Save::Zero => 0,
            Save::Ours => LATER,
            Save::Now => {
                let saved = allocate(end - start + 64);
                bytes::copy(saved, start as *const u8, end - start);
                saved as usize
            }
        };
        (&mut (*tracked).regions)[(*tracked).count] = Region {
            start,
            end,
            saved,
            ours: save == Save::Ours,
        };
        (*tracked).count += 1;
    }
}

/// Walks /proc/self/maps; returns where the stack ends.
fn each_mapping(mut each: impl FnMut(usize, usize, Writable, bool)) -> usize {
    // SAFETY: regions are the program's, and were mapped when they were found; what was saved is as long.
    unsafe {
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
            let got = sys::raw(
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
                _ => {
                    let writable = match flags.first_chunk() {
                        Some(b"rw-p") => Writable::Alone,
                        Some([_, b'w', ..]) => Writable::Shared,
                        _ => Writable::No,
                    };
                    each(start, end, writable, is_own(start));
                }
            }
        }
        stack_end
    }
}

/// The window, the runtime's mappings, the heap and the stack (which are added by hand) lie between these addresses.
fn is_own(start: usize) -> bool {
    (window::BASE as usize..0x5100_0000_0000).contains(&start)
        || start == crate::memory::shadow::KNOWN
}

fn hexadecimal(digits: &[u8]) -> usize {
    digits.iter().fold(0, |number, digit| {
        number << 4 | (*digit as char).to_digit(16).unwrap_or(0) as usize
    })
}

fn region_of(page: usize) -> Option<Region> {
    let tracked = server().tracked.pointer();
    // SAFETY: regions are the program's, and were mapped when they were found; what was saved is as long.
    unsafe {
        (&(*tracked).regions)[..(*tracked).count]
            .iter()
            .find(|region| (region.start..region.end).contains(&page))
            .copied()
    }
}

fn heat(page: usize) {
    // SAFETY: regions are the program's, and were mapped when they were found; what was saved is as long.
    unsafe {
        let tracked = server().tracked.pointer();
        let Some(region) = region_of(page) else {
            return;
        };
        if (*tracked).hot_count == MOST_HOT {
            crate::run::outcome::needs_fork(&[b"a run writes more than 64 MiB"]);
        }
        let saved = match region.saved {
            0 => 0,
            LATER => {
                let saved = allocate(PAGE);
                bytes::copy_words(saved as *mut u64, page as *const u64, PAGE / 8);
                saved as usize
            }
            saved => saved + page - region.start,
        };
        let ours = region.ours;
        *(*tracked).hot.add((*tracked).hot_count) = Hot { page, saved, ours };
        (*tracked).hot_count += 1;
    }
}

/// The first write to a protected page. False: not ours, a real fault.
pub(crate) fn make_hot(address: usize) -> bool {
    let page = address & !(PAGE - 1);
    if region_of(page).is_none() {
        return false;
    }
    let all = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    heat(page);
    sys::call(libc::SYS_mprotect, [page, PAGE, all]) == 0
}

/// Makes pages writable before the kernel writes to them: it would fail instead of faulting.
pub(crate) fn warm(address: usize, length: usize) {
    if !server().in_place.get() || length == 0 {
        return;
    }
    let mut page = address & !(PAGE - 1);
    // SAFETY: regions are the program's, and were mapped when they were found; what was saved is as long.
    unsafe {
        while page < address.saturating_add(length) {
            if region_of(page).is_some() {
                let byte = page.max(address) as *mut u8;
                byte.write_volatile(byte.read_volatile());
            } else {
                return;
            }
            page += PAGE;
        }
    }
}

/// Write-protects everything that is not hot. A hot page is never protected, not even for a moment.
pub(crate) fn protect() {
    let tracked = server().tracked.pointer();
    // SAFETY: regions are the program's, and were mapped when they were found; what was saved is as long.
    unsafe {
        for i in 0..(*tracked).count {
            let region = (*tracked).regions[i];
            let mut at = region.start;
            while at < region.end {
                let mut next = region.end;
                for hot in core::slice::from_raw_parts((*tracked).hot, (*tracked).hot_count) {
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
}

/// Bytes of tracked memory that are not what they were before the run. Memory that was zero is compared where it is hot.
pub(crate) fn audit() -> u32 {
    // SAFETY: regions are the program's, and were mapped when they were found; what was saved is as long.
    unsafe {
        let tracked = server().tracked.pointer();
        let mut different = 0u32;
        for region in &(&(*tracked).regions)[..(*tracked).count] {
            if matches!(region.saved, 0 | LATER) {
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
        for hot in core::slice::from_raw_parts((*tracked).hot, (*tracked).hot_count) {
            if hot.saved == 0 {
                let words = core::slice::from_raw_parts(hot.page as *const u64, PAGE / 8);
                different += u32::from(words.iter().any(|word| *word != 0));
            }
        }
        different
    }
}
