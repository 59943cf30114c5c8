//! Persistent memory during a run. Its content lies outside the window, at a fixed distance: instrumented code reaches it through
//! hooks, and the window itself stays closed, so that an access by anyone else is noticed where it happens (`unannounced`). Beside it
//! lies what this execution wrote or read already.

use crate::memory::bytes;
use crate::run::outcome;
use crate::run::shared::control;
use crate::state::{Mode, run, server};
use core::sync::atomic::Ordering::Relaxed;
use landfall_vocab::window;

pub(crate) const PAGE: usize = window::PAGE as usize;
const WORDS: usize = PAGE / 8;

/// Per word of the window: the bytes written or read by this execution. A set bit implies that the page was touched, so the
/// hot path needs one load of shadow and no table.
pub(crate) const KNOWN: usize = window::BASE as usize / 8; // an address divided by eight is the address of its shadow
/// Per byte of the window: its content in this run, for pages that were touched.
const CONTENT: usize = 0x3400_0000_0000;
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
pub(crate) fn init() -> bool {
    let length = window::LEN as usize;
    let pages = length / PAGE;
    let ranges = [
        (window::BASE as usize, length),
        (KNOWN, length / 8),
        (CONTENT, length),
        (TOUCHED, pages),
        (ORDER, pages * 4),
    ];
    // SAFETY: the window, its content and its shadow are mapped before anything else, and never unmapped.
    unsafe {
        for (start, length) in ranges {
            if crate::syscalls::sys::map(start, length).is_none() {
                return false;
            }
            // Huge pages would make every fork copy two megabytes for one store.
            crate::syscalls::sys::raw(
                libc::SYS_madvise,
                [start, length, libc::MADV_NOHUGEPAGE as usize],
            );
        }
    }
    true
}

/// The known bytes of the word at `offset`.
#[inline(always)]
pub(crate) fn known(offset: u64) -> *mut u8 {
    ((window::BASE + offset) >> 3) as *mut u8
}

/// Where the byte at `offset` lies, once its page is touched.
#[inline(always)]
pub(crate) fn content(offset: u64) -> *mut u8 {
    (CONTENT + offset as usize) as *mut u8
}

/// Where to find during a run what the program has at `p`: there, or in the content of a touched page.
#[inline(always)]
pub(crate) fn view<T>(p: *const T) -> *mut T {
    if is_persistent(p as usize) && server().mode.get() as u8 == Mode::Running as u8 {
        content(offset(p as usize)) as *mut T
    } else {
        p as *mut T
    }
}

/// The program's address of something found in a view.
pub(crate) fn unview(p: *const u8) -> *const u8 {
    let offset = (p as usize).wrapping_sub(CONTENT);
    if offset < window::LEN as usize {
        (window::BASE as usize + offset) as *const u8
    } else {
        p
    }
}

/// The byte the program has at `p`. Looking is no event.
///
/// # Safety
/// The program may read `p`, as far as it asks for.
#[inline]
pub(crate) unsafe fn peek(p: *const u8) -> u8 {
    if is_persistent(p as usize) && recording() {
        touch(offset(p as usize));
    }
    // SAFETY: what the caller promises.
    unsafe { view(p).read_volatile() }
}

/// The word at `offset`. Looking is no event.
pub(crate) fn word(offset: u64) -> u64 {
    // SAFETY: the window, its content and its shadow are mapped before anything else, and never unmapped.
    unsafe {
        if !recording() {
            return ((window::BASE + offset) as *const u64).read_unaligned();
        }
        touch(offset);
        (content(offset) as *const u64).read_unaligned()
    }
}

pub(crate) fn is_touched(offset: u64) -> bool {
    // SAFETY: the window, its content and its shadow are mapped before anything else, and never unmapped.
    offset < window::LEN && unsafe { *((TOUCHED + (offset >> 12) as usize) as *const u8) != 0 }
}

/// Makes sure that the page at `offset` has its content. An address outside every live object ends the run like the segmentation
/// fault it would be on a real machine.
#[inline]
pub(crate) fn touch(offset: u64) {
    if !is_touched(offset) {
        first_touch(offset);
    }
}

/// Makes sure that all of a range is live before anything is logged about it.
pub(crate) fn touch_span(address: usize, length: usize) {
    let (mut at, end) = (offset(address) & !4095, offset(address) + length as u64);
    while at < end {
        touch(at);
        at += 4096;
    }
}

#[cold]
#[inline(never)]
fn first_touch(offset: u64) {
    if offset >= window::LEN || !live(offset) {
        outcome::wild_access(window::BASE + offset);
    }
    give(offset);
}

/// Makes sure that a page has its content that the runtime itself has to do with, live or not.
pub(crate) fn touch_anyway(offset: u64) {
    if !is_touched(offset) {
        give(offset);
    }
}

fn give(offset: u64) {
    // SAFETY: the window, its content and its shadow are mapped before anything else, and never unmapped.
    unsafe {
        let start = offset & !(window::PAGE - 1);
        if crate::memory::protections::any() {
            crate::memory::protections::lift();
            crate::run::fork_server::given_page(start, content(start));
            if !run().reach.get().is_open() {
                crate::memory::protections::lower();
            }
        } else {
            crate::run::fork_server::given_page(start, content(start));
        }
        *((TOUCHED + (start >> 12) as usize) as *mut u8) = 1;
        *(ORDER as *mut u32).add(run().touched.get()) = (start >> 12) as u32;
        run().touched.set(run().touched.get() + 1);
        crate::memory::limits::persistent_pages(run().touched.get());
    }
}

pub(crate) fn live(offset: u64) -> bool {
    if window::REGION.contains(offset) {
        offset < run().region_len.get()
    } else if window::HEAP.contains(offset) {
        run().heap_used.get()
    } else if window::MALLOC.contains(offset) {
        run().malloc_used.get()
    } else if window::FILES.contains(offset) {
        crate::files::pool::is_mapped(offset)
    } else {
        true
    }
}

/// For a debugger at the end of a run: puts what the run sees where the program has it.
pub(crate) fn show() {
    let all = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let window = [window::BASE as usize, window::LEN as usize, all];
    crate::syscalls::sys::call(libc::SYS_mprotect, window);
    // SAFETY: the window, its content and its shadow are mapped before anything else, and never unmapped.
    unsafe {
        for touched in 0..run().touched.get() {
            let start = u64::from(*(ORDER as *const u32).add(touched)) << 12;
            let to = (window::BASE + start) as *mut u64;
            crate::memory::bytes::copy_words(to, content(start) as *const u64, PAGE / 8);
        }
    }
}

/// The content of every page that this run touched.
pub(crate) fn each_touched(mut each: impl FnMut(usize)) {
    // SAFETY: the window, its content and its shadow are mapped before anything else, and never unmapped.
    unsafe {
        for index in 0..run().touched.get() {
            let page = *(ORDER as *const u32).add(index);
            each(content(u64::from(page) << 12) as usize);
        }
    }
}

/// Memory that says what a run did to persistent memory.
pub(crate) fn of_runs() -> [(usize, usize); 4] {
    let length = window::LEN as usize;
    let pages = length / PAGE;
    [
        (KNOWN, KNOWN + length / 8),
        (CONTENT, CONTENT + length),
        (TOUCHED, TOUCHED + pages),
        (ORDER, ORDER + pages * 4),
    ]
}

/// Forgets what a run did (in-place restart): the next one starts from what it is given.
pub(crate) fn undo() {
    // SAFETY: the window, its content and its shadow are mapped before anything else, and never unmapped.
    unsafe {
        for index in 0..run().touched.get() {
            let page = *(ORDER as *const u32).add(index);
            bytes::fill(known(u64::from(page) << 12), 0, WORDS);
            *((TOUCHED + page as usize) as *mut u8) = 0;
        }
    }
    run().touched.set(0);
}

/// The program asks for persistent memory, or about power failures: recoveries can differ from here on. Is a run on?
pub(crate) fn asked() -> bool {
    let recorded = recording();
    if recorded {
        control().asked.store(1, Relaxed);
    }
    recorded
}

/// Is a run on, so that accesses are recorded? In a server's constructors this is where serving starts.
#[inline(always)]
pub(crate) fn recording() -> bool {
    if server().mode.get() as u8 == Mode::Running as u8 {
        return true;
    }
    not_running()
}

#[cold]
#[inline(never)]
fn not_running() -> bool {
    match server().mode.get() {
        Mode::Raw => {
            crate::run::start::init();
            recording()
        }
        Mode::Constructing => {
            crate::run::serve::from_constructor();
            true
        }
        _ => false,
    }
}
