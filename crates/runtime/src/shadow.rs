//! What the runtime knows of each persistent page: which bytes this execution wrote or read already, what the page should hold
//! (to notice writers that were not instrumented), and what it held before (to restart in place).

use crate::bytes;
use crate::log;
use crate::outcome;
use crate::state::{Mode, State, allocate, place, scratch, state};
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::flag;
use landfall_vocab::window;

pub(crate) const PAGE: usize = window::PAGE as usize;
const WORDS: usize = PAGE / 8;

#[repr(C, align(64))]
pub(crate) struct Page {
    /// Per word: the bytes written or read by this execution.
    pub(crate) known: [u8; WORDS],
    /// What instrumented code left here.
    pub(crate) mirror: [u64; WORDS],
    /// What was here before the run touched it.
    before: [u64; WORDS],
    offset: u64,
    next: *mut Page,
}

/// Offset in the window of an address known to lie in it.
#[inline(always)]
pub(crate) fn offset(address: usize) -> u64 {
    (address as u64).wrapping_sub(window::BASE)
}

#[inline(always)]
pub(crate) fn is_persistent(address: usize) -> bool {
    offset(address) < window::LEN
}

/// Maps the window and the table of shadow pages.
pub(crate) unsafe fn init() -> bool {
    let state = state();
    if crate::sys::map(window::BASE as usize, window::LEN as usize).is_none() {
        return false;
    }
    // Huge pages would make every fork copy two megabytes for one store.
    crate::sys::call(libc::SYS_madvise, [window::BASE as usize, window::LEN as usize, libc::MADV_NOHUGEPAGE as usize]);
    let entries = (window::LEN / window::PAGE) as usize * 8;
    match crate::sys::map(place::SHADOW, entries) {
        Some(table) => (*state).shadow = table as *mut *mut Page,
        None => return false,
    }
    true
}

/// The shadow of the page at `offset`, made on first touch. An address outside every live object ends the run like the
/// segmentation fault it would be on a real machine.
#[inline(always)]
pub(crate) unsafe fn page(offset: u64) -> *mut Page {
    let page = *(*state()).shadow.add((offset >> 12) as usize);
    if page.is_null() { touch(offset) } else { page }
}

#[cold]
#[inline(never)]
unsafe fn touch(offset: u64) -> *mut Page {
    let state = state();
    if !live(state, offset) {
        outcome::wild_access(window::BASE + offset);
    }
    let mut page = (*state).spare;
    if page.is_null() {
        page = allocate(size_of::<Page>()) as *mut Page;
    } else {
        (*state).spare = (*page).next;
        bytes::fill((*page).known.as_mut_ptr(), 0, WORDS);
    }
    let start = offset & !(window::PAGE - 1);
    let memory = (window::BASE + start) as *const u64;
    bytes::copy_words((*page).mirror.as_mut_ptr(), memory, WORDS);
    if (*state).in_place {
        bytes::copy_words((*page).before.as_mut_ptr(), memory, WORDS);
    }
    (*page).offset = start;
    (*page).next = (*state).touched;
    (*state).touched = page;
    *(*state).shadow.add((offset >> 12) as usize) = page;
    page
}

unsafe fn live(state: *const State, offset: u64) -> bool {
    if window::REGION.contains(offset) {
        offset < (*state).region_len
    } else if window::HEAP.contains(offset) {
        (*state).heap_used
    } else if window::MALLOC.contains(offset) {
        (*state).malloc_used
    } else if window::FILES.contains(offset) {
        crate::files::is_mapped(offset)
    } else {
        true
    }
}

/// Compares one line with what instrumented code left there; a difference is logged as a store of foreign code.
#[inline]
pub(crate) unsafe fn check_line(offset: u64) {
    let page = *(*state()).shadow.add((offset >> 12) as usize);
    if !page.is_null() {
        let word = (offset & 4095 & !63) as usize / 8;
        check_words(page, word, word + 8);
    }
}

#[inline]
unsafe fn check_words(page: *mut Page, from: usize, to: usize) {
    let memory = (window::BASE + (*page).offset) as *const u64;
    for word in from..to {
        if memory.add(word).read_volatile() != (*page).mirror[word] {
            foreign(page, word, memory.add(word).read_volatile());
        }
    }
}

#[cold]
unsafe fn foreign(page: *mut Page, word: usize, value: u64) {
    let state = state();
    let changed = value ^ (*page).mirror[word];
    let mut mask = 0u8;
    for byte in 0..8 {
        if changed >> (8 * byte) & 0xff != 0 {
            mask |= 1 << byte;
        }
    }
    // A store record holds contiguous bytes: fill the gaps, their values are the same.
    let low = mask.trailing_zeros();
    let high = 8 - mask.leading_zeros();
    let mask = (0xffu32 >> (8 - high) & (0xff << low)) as u8;
    let offset = (*page).offset + word as u64 * 8;
    if (*state).foreign_words == 0 {
        (*state).foreign_address = window::BASE + offset;
    }
    (*state).foreign_words += 1;
    (*page).mirror[word] = value;
    (*page).known[word] |= mask;
    log::store(offset, mask, value, flag::FOREIGN, log::Origin::library(Builtin::uninstrumented, 0));
}

/// The last look at persistent memory before a run ends.
pub(crate) unsafe fn check_all() {
    let state = state();
    // Oldest first, so that the order does not depend on how pages were chained.
    let mut reversed: *mut Page = core::ptr::null_mut();
    while !(*state).touched.is_null() {
        let page = (*state).touched;
        (*state).touched = (*page).next;
        (*page).next = reversed;
        reversed = page;
    }
    let mut page = reversed;
    while !page.is_null() {
        check_words(page, 0, WORDS);
        let next = (*page).next;
        (*page).next = (*state).touched;
        (*state).touched = page;
        page = next;
    }
    if (*state).searching_foreign {
        search_untouched();
    }
}

/// Looks for resident pages that no hook touched and that differ from the base: only uninstrumented code can have written them.
unsafe fn search_untouched() {
    let state = state();
    const CHUNK: usize = 1 << 16;
    let resident = scratch(CHUNK);
    for (start, length) in live_ranges(state) {
        let mut at = start;
        while at < start + length {
            let pages = (((start + length - at) / window::PAGE) as usize).min(CHUNK);
            let address = (window::BASE + at) as usize;
            crate::sys::call(libc::SYS_mincore, [address, pages * PAGE, resident as usize]);
            for i in 0..pages {
                let offset = at + (i * PAGE) as u64;
                let untouched = (*(*state).shadow.add((offset >> 12) as usize)).is_null();
                if *resident.add(i) & 1 != 0 && untouched && crate::forkserver::differs_from_base(offset) {
                    let page = touch(offset);
                    crate::forkserver::base_page(offset, (*page).mirror.as_mut_ptr());
                    check_words(page, 0, WORDS);
                }
            }
            at += (pages * PAGE) as u64;
        }
    }
}

unsafe fn live_ranges(state: *const State) -> [(u64, u64); 2] {
    let whole = |length: u64| (length + window::PAGE - 1) & !(window::PAGE - 1);
    [(window::REGION.start, whole((*state).region_len)), crate::files::mapped_range()]
}

/// Puts every touched page back to what it held before the run (in-place restart).
pub(crate) unsafe fn undo() {
    let state = state();
    while !(*state).touched.is_null() {
        let page = (*state).touched;
        (*state).touched = (*page).next;
        let memory = (window::BASE + (*page).offset) as *mut u64;
        bytes::copy_words(memory, (*page).before.as_ptr(), WORDS);
        *(*state).shadow.add(((*page).offset >> 12) as usize) = core::ptr::null_mut();
        (*page).next = (*state).spare;
        (*state).spare = page;
    }
}

/// Is a run on, so that accesses are recorded? In a server's constructors this is where serving starts.
#[inline(always)]
pub(crate) unsafe fn recording() -> bool {
    if (*state()).mode as u8 == Mode::Running as u8 {
        return true;
    }
    not_running()
}

#[cold]
#[inline(never)]
unsafe fn not_running() -> bool {
    match (*state()).mode {
        Mode::Raw => {
            crate::start::init();
            recording()
        }
        Mode::Constructing => {
            crate::serve::from_constructor();
            true
        }
        _ => false,
    }
}
