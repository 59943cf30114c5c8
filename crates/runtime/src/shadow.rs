//! What the runtime knows of persistent memory: which bytes this execution wrote or read already, what it should hold
//! (to notice writers that were not instrumented), and what it held before (to restart in place). Shadows
//! lie at a fixed distance from what they shadow.

use crate::bytes;
use crate::log;
use crate::outcome;
use crate::state::{Mode, Scratch, State, state};
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::flag;
use landfall_vocab::window;

pub(crate) const PAGE: usize = window::PAGE as usize;
const WORDS: usize = PAGE / 8;

/// Per word of the window: the bytes written or read by this execution. A set bit implies that the page was touched, so the
/// hot path needs one load of shadow and no table.
pub(crate) const KNOWN: usize = window::BASE as usize / 8; // an address divided by eight is the address of its shadow
/// Per byte of the window: what instrumented code left there.
pub(crate) const MIRROR: usize = 0x3400_0000_0000;
/// Per byte of the window: what was there before the run touched the page (in-place restart).
const BEFORE: usize = 0x3600_0000_0000;
/// Per page: whether this run touched it.
const TOUCHED: usize = 0x3800_0000_0000;
/// Pages touched by this run, in order.
const ORDER: usize = 0x3a00_0000_0000;

/// Offset in the window of an address known to lie in it.
#[inline(always)]
pub(crate) fn offset(address: usize) -> u64 {
    (address as u64).wrapping_sub(window::BASE)
}

#[inline(always)]
pub(crate) fn is_persistent(address: usize) -> bool {
    offset(address) < window::LEN
}

/// Maps the window and its shadows, all of it without a page of memory until touched.
pub(crate) unsafe fn init() -> bool {
    let length = window::LEN as usize;
    let pages = length / PAGE;
    let ranges = [
        (window::BASE as usize, length),
        (KNOWN, length / 8),
        (MIRROR, length),
        (BEFORE, length),
        (TOUCHED, pages),
        (ORDER, pages * 4),
    ];
    for (start, length) in ranges {
        if crate::sys::map(start, length).is_none() {
            return false;
        }
        // Huge pages would make every fork copy two megabytes for one store.
        crate::sys::call(
            libc::SYS_madvise,
            [start, length, libc::MADV_NOHUGEPAGE as usize],
        );
    }
    true
}

/// The known bytes of the word at `offset`.
#[inline(always)]
pub(crate) fn known(offset: u64) -> *mut u8 {
    ((window::BASE + offset) >> 3) as *mut u8
}

/// The mirror of the byte at `offset`.
#[inline(always)]
pub(crate) fn mirror(offset: u64) -> *mut u8 {
    (MIRROR + offset as usize) as *mut u8
}

pub(crate) unsafe fn is_touched(offset: u64) -> bool {
    *((TOUCHED + (offset >> 12) as usize) as *const u8) != 0
}

/// Makes sure that the page at `offset` is shadowed. An address outside every live object ends the run like the segmentation
/// fault it would be on a real machine.
#[inline]
pub(crate) unsafe fn touch(offset: u64) {
    if !is_touched(offset) {
        first_touch(offset);
    }
}

#[cold]
#[inline(never)]
unsafe fn first_touch(offset: u64) {
    let state = state();
    if !live(state, offset) {
        outcome::wild_access(window::BASE + offset);
    }
    let start = offset & !(window::PAGE - 1);
    shadow_page(start);
    check_page(start);
}

/// Starts to shadow a page: what it should hold is what the run was given, whatever foreign code did to it since.
unsafe fn shadow_page(start: u64) {
    let state = state();
    let given = mirror(start) as *mut u64;
    crate::forkserver::given_page(start, given);
    if (*state).in_place {
        bytes::copy_words((BEFORE as u64 + start) as *mut u64, given, WORDS);
    }
    *((TOUCHED + (start >> 12) as usize) as *mut u8) = 1;
    *(ORDER as *mut u32).add((*state).touched) = (start >> 12) as u32;
    (*state).touched += 1;
    crate::limits::persistent_pages((*state).touched);
}

/// Bytes that code we know has just written, and that the caller will log: not foreign, though no hook has seen the page.
pub(crate) unsafe fn claim(start: u64, length: u64) {
    let (first, end) = (start & !(window::PAGE - 1), start + length);
    for page in (first..end).step_by(PAGE) {
        if is_touched(page) {
            continue;
        }
        let (from, to) = (page.max(start), (page + window::PAGE).min(end));
        if !live(state(), from) {
            outcome::wild_access(window::BASE + from);
        }
        shadow_page(page);
        bytes::copy(
            mirror(from),
            (window::BASE + from) as *const u8,
            (to - from) as usize,
        );
        check_page(page);
    }
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
    if is_touched(offset) {
        check_words(offset & !(window::LINE - 1), window::LINE);
    } else if live(state(), offset) {
        first_touch(offset);
    }
}

/// Logs what foreign code did to one word of a touched page.
#[inline]
pub(crate) unsafe fn check_word(offset: u64) {
    check_words(offset & !7, 8);
}

unsafe fn check_page(start: u64) {
    if !bytes::equal((window::BASE + start) as *const u8, mirror(start), PAGE) {
        check_words(start, window::PAGE);
    }
}

#[inline]
unsafe fn check_words(start: u64, length: u64) {
    let mut at = start;
    while at < start + length {
        let value = ((window::BASE + at) as *const u64).read_volatile();
        if value != *(mirror(at) as *const u64) {
            foreign(at, value);
        }
        at += 8;
    }
}

/// What a library function we know left in touched memory is a store of that function.
pub(crate) unsafe fn adopt(start: u64, length: u64, origin: log::Origin) {
    let mut at = start & !7;
    while at < start + length {
        let value = ((window::BASE + at) as *const u64).read_volatile();
        if value != *(mirror(at) as *const u64) {
            record_change(at, value, 0, origin);
        }
        at += 8;
    }
}

#[cold]
unsafe fn foreign(offset: u64, value: u64) {
    let state = state();
    if (*state).foreign_words == 0 {
        (*state).foreign_address = window::BASE + offset;
    }
    (*state).foreign_words += 1;
    let origin = log::Origin::library(Builtin::uninstrumented, 0);
    record_change(offset, value, flag::FOREIGN, origin);
}

/// Logs the bytes in which a word differs from its mirror as one store. It holds contiguous bytes: gaps are included, their
/// values are the same.
unsafe fn record_change(offset: u64, value: u64, flags: u8, origin: log::Origin) {
    let changed = value ^ *(mirror(offset) as *const u64);
    let (low, high) = (
        changed.trailing_zeros() / 8,
        8 - changed.leading_zeros() / 8,
    );
    let mask = (0xffu32 >> (8 - high) & (0xff << low)) as u8;
    *(mirror(offset) as *mut u64) = value;
    *known(offset) |= mask;
    log::store(
        offset,
        mask,
        value & crate::hooks::spread(mask),
        flags,
        origin,
    );
}

unsafe fn touched(index: usize) -> u64 {
    u64::from(*(ORDER as *const u32).add(index)) << 12
}

/// The last look at persistent memory before a run ends, page by page in the order of their first use.
pub(crate) unsafe fn check_all() {
    let state = state();
    for index in 0..(*state).touched {
        check_page(touched(index));
    }
    if (*state).searching_foreign {
        search_everywhere();
    }
}

unsafe fn search_everywhere() {
    let state = state();
    search_untouched(window::REGION.start, (*state).region_len);
    if (*state).heap_used {
        search_untouched(window::HEAP.start, window::HEAP.len);
    }
    if (*state).malloc_used {
        search_untouched(window::MALLOC.start, window::MALLOC.len);
    }
    for file in 0..window::FILE_SLOTS as u8 {
        let (start, length) = crate::files::mapped_range(file);
        search_untouched(start, length);
    }
}

/// Looks for resident pages that no hook touched and that differ from the base: if no image did it, only uninstrumented code
/// can have written them, and touching them says so.
pub(crate) unsafe fn search_untouched(start: u64, length: u64) {
    let end = (start + length + window::PAGE - 1) & !(window::PAGE - 1);
    const CHUNK: usize = 1 << 16;
    let scratch = Scratch::new(CHUNK);
    let resident = scratch.start();
    let mut at = start & !(window::PAGE - 1);
    while at < end {
        let pages = (((end - at) / window::PAGE) as usize).min(CHUNK);
        let address = (window::BASE + at) as usize;
        crate::sys::call(
            libc::SYS_mincore,
            [address, pages * PAGE, resident as usize],
        );
        for i in 0..pages {
            let offset = at + (i * PAGE) as u64;
            if *resident.add(i) & 1 != 0
                && !is_touched(offset)
                && live(state(), offset)
                && crate::forkserver::differs_from_base(offset)
            {
                first_touch(offset);
            }
        }
        at += (pages * PAGE) as u64;
    }
}

/// Puts every touched page back to what it held before the run (in-place restart).
pub(crate) unsafe fn undo() {
    let state = state();
    for index in 0..(*state).touched {
        let start = touched(index);
        bytes::copy_words(
            (window::BASE + start) as *mut u64,
            (BEFORE as u64 + start) as *const u64,
            WORDS,
        );
        bytes::fill(known(start), 0, WORDS);
        *((TOUCHED + (start >> 12) as usize) as *mut u8) = 0;
    }
    (*state).touched = 0;
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
