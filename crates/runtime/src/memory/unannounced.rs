//! Accesses of persistent memory that no hook announced: libraries and objects built by another compiler, functions of libc the
//! runtime does not provide, inline assembly. The window is closed during a run, so each of them faults. The page is opened for
//! that one instruction, what it reads is recorded before it and what it wrote after it, and the page is closed again.

use crate::memory::accesses;
use crate::memory::bytes;
use crate::memory::instruction::{self, Access, Text};
use crate::memory::rewritten;
use crate::memory::shadow::{self, PAGE, content, is_persistent, known, offset};
use crate::outside::crossing::is_return;
use crate::run::start::{in_executable, in_runtime};
use crate::run::trace::{self, Origin, Site};
use crate::state::{Mode, run, server};
use crate::syscalls::sys;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::flag;
use landfall_vocab::window;

/// One instruction can gather from sixteen places, each across two pages.
const MOST: usize = 32;
const TRAP: i64 = 0x100;
const BACKWARDS: i64 = 0x400;
/// An instruction of which only this much is known reads at most a register.
const LARGEST: usize = 64;
/// Assembly follows the hook that announces it within this many bytes.
const ASSEMBLY: usize = 512;

/// What is open at the moment, and why.
#[repr(C)]
pub(crate) struct Watch {
    pages: [u64; MOST],
    count: usize,
    /// The instruction they are open for.
    pc: u64,
    /// What it stores for certain: address, length (zero for nothing), flags, who.
    store: (usize, usize, u8, Origin),
    flags: u8,
    origin: Origin,
    /// The last assembly announced: where the hook returned to, and its site.
    assembly: (usize, *const Site),
}

/// From now on nobody reaches persistent memory at its own address.
pub(crate) fn close_window() {
    let closed = libc::PROT_NONE as usize;
    let range = [window::BASE as usize, window::LEN as usize, closed];
    if sys::call(libc::SYS_mprotect, range) != 0 {
        crate::run::start::refuse(c"the kernel does not protect persistent memory");
    }
}

/// Assembly that the pass could not take apart comes next.
pub(crate) fn assembly(back: usize, site: *const Site) {
    // SAFETY: pages are of the window; what is open there can be read and written.
    unsafe {
        (*run().watch.pointer()).assembly = (back, site);
    }
}

/// Is any page open?
pub(crate) fn is_open() -> bool {
    // SAFETY: the watch is the run's.
    unsafe { (*run().watch.pointer()).count != 0 }
}

/// Closes what is open without a look at it.
pub(crate) fn close_pages() {
    // SAFETY: pages are of the window; what is open there can be read and written.
    unsafe {
        let watch = run().watch.pointer();
        for page in &(&(*watch).pages)[..(*watch).count] {
            protect(*page, libc::PROT_NONE);
        }
        (*watch).count = 0;
        (*watch).store.1 = 0;
    }
}

fn protect(page: u64, protection: i32) {
    let start = (window::BASE + page) as usize;
    sys::call(libc::SYS_mprotect, [start, PAGE, protection as usize]);
}

/// A fault in the window: true if it was one of these accesses, which then happens.
///
/// # Safety
/// `context` is what the kernel gave to the handler that runs.
pub(crate) unsafe fn on_access(address: usize, context: *mut libc::ucontext_t) -> bool {
    // SAFETY: what the caller promises.
    unsafe {
        let registers = &raw mut (*context).uc_mcontext.gregs;
        if server().mode.get() != Mode::Running || !is_persistent(address) {
            return false;
        }
        let watch = run().watch.pointer();
        let pc = (*registers)[libc::REG_RIP as usize] as u64;
        if (*watch).count > 0 && (*watch).pc != pc {
            settle(); // the instruction before never came to its end: a handler jumped away
        }
        let at = offset(address);
        let page = at & !(window::PAGE - 1);
        let full = (*watch).count == MOST || (&(*watch).pages)[..(*watch).count].contains(&page);
        if full || !(shadow::is_touched(at) || shadow::live(at)) {
            return false;
        }
        let access = instruction::decode(pc as *const u8);
        let writes = (*registers)[libc::REG_ERR as usize] & 2 != 0;
        (*watch).pc = pc;
        let stack = (*registers)[libc::REG_RSP as usize] as usize;
        if let Some(standing) = rewritten::standing(pc, stack) {
            blame(standing.pc as usize, standing.stack, at, writes);
        } else if blame(pc as usize, stack, at, writes) == Blamed::Elsewhere
            && (access.bytes.is_some() || access.flush.is_some())
        {
            rewritten::note(pc);
        }
        if let Some(text) = access.string
            && (*registers)[libc::REG_EFL as usize] & BACKWARDS == 0
        {
            perform(text, &raw mut (*registers));
            return true;
        }
        shadow::touch(at);
        record(address, access, writes);
        open(at);
        (*registers)[libc::REG_EFL as usize] |= TRAP;
        true
    }
}

/// Opens the page at an offset, which is touched, with its content.
pub(crate) fn open(at: u64) {
    // SAFETY: pages are of the window; what is open there can be read and written.
    unsafe {
        let watch = run().watch.pointer();
        let page = at & !(window::PAGE - 1);
        if (*watch).count == MOST || (&(*watch).pages)[..(*watch).count].contains(&page) {
            return;
        }
        protect(page, libc::PROT_READ | libc::PROT_WRITE);
        let memory = (window::BASE + page) as *mut u64;
        bytes::copy_words(memory, content(page) as *const u64, PAGE / 8);
        (*watch).pages[(*watch).count] = page;
        (*watch).count += 1;
    }
}

/// Closes the open pages; what changed in them was stored by `origin`.
pub(crate) fn take_back(origin: Origin) {
    let watch = run().watch.pointer();
    // SAFETY: pages are of the window; what is open there can be read and written.
    unsafe { ((*watch).flags, (*watch).origin) = (0, origin) };
    settle();
}

/// What is known before the instruction happens.
///
/// # Safety
/// `address` is in the window, in a page that is touched.
unsafe fn record(address: usize, access: Access, writes: bool) {
    // SAFETY: what the caller promises.
    unsafe {
        let watch = run().watch.pointer();
        let (flags, origin) = ((*watch).flags, (*watch).origin);
        if let Some(kind) = access.flush {
            return trace::plain(kind, offset(address), flags, origin);
        }
        let rest = PAGE - address % PAGE;
        let length = access.bytes.unwrap_or(LARGEST).min(rest);
        let locked = if access.locked { flag::LOCKED } else { 0 };
        if access.reads {
            accesses::read_span(address, length, flags | locked, origin);
        }
        let exact = writes && access.writes && access.bytes.is_some();
        if exact && (*watch).store.1 == 0 {
            let past_cache = if access.non_temporal {
                flag::NON_TEMPORAL
            } else {
                0
            };
            let bytes = access.bytes.unwrap_or(length);
            (*watch).store = (address, bytes, flags | locked | past_cache, origin);
        }
    }
}

/// After the instruction: what it wrote. False if no instruction was being watched.
///
/// # Safety
/// `context` is what the kernel gave to the handler that runs.
pub(crate) unsafe fn on_step(context: *mut libc::ucontext_t) -> bool {
    // SAFETY: what the caller promises.
    unsafe {
        if (*run().watch.pointer()).count == 0 {
            return false;
        }
        (*context).uc_mcontext.gregs[libc::REG_EFL as usize] &= !TRAP;
        settle();
        true
    }
}

/// Records what differs in the open pages, and closes them.
fn settle() {
    // SAFETY: pages are of the window; what is open there can be read and written.
    unsafe {
        let watch = run().watch.pointer();
        let (address, mut length, flags, origin) = (*watch).store;
        let next = (offset(address) & !(window::PAGE - 1)) + window::PAGE;
        if !(&(*watch).pages)[..(*watch).count].contains(&next) {
            length = length.min(PAGE - address % PAGE);
        }
        if length != 0 {
            // Stored even if the bytes are what they were.
            let stored = core::slice::from_raw_parts(address as *const u8, length);
            accesses::store_pieces(address, stored, flags, origin);
        }
        for page in &(&(*watch).pages)[..(*watch).count] {
            for at in (*page..*page + window::PAGE).step_by(8) {
                let value = ((window::BASE + at) as *const u64).read_volatile();
                if value != *(content(at) as *const u64) {
                    changed(at, value, (*watch).flags, (*watch).origin);
                }
            }
        }
        close_pages();
    }
}

/// Records the bytes in which a word differs from what it held as one store. It holds contiguous bytes: gaps are included, their
/// values are the same.
fn changed(at: u64, value: u64, flags: u8, origin: Origin) {
    // SAFETY: pages are of the window; what is open there can be read and written.
    unsafe {
        let change = value ^ *(content(at) as *const u64);
        let (low, high) = (change.trailing_zeros() / 8, 8 - change.leading_zeros() / 8);
        let mask = (0xffu32 >> (8 - high) & (0xff << low)) as u8;
        *(content(at) as *mut u64) = value;
        *known(at) |= mask;
        trace::store(at, mask, value & accesses::spread(mask), flags, origin);
    }
}

/// `rep movs` and `rep stos`, all at once.
///
/// # Safety
/// `registers` are those of the program at an instruction for texts.
unsafe fn perform(text: Text, registers: *mut [i64; 23]) {
    // SAFETY: what the caller promises.
    unsafe {
        let watch = run().watch.pointer();
        let (flags, origin) = ((*watch).flags, (*watch).origin);
        let register = |index: i32| &raw mut (*registers)[index as usize];
        let (to, from) = (register(libc::REG_RDI), register(libc::REG_RSI));
        let count = if text.repeats {
            *register(libc::REG_RCX) as usize
        } else {
            1
        };
        let length = count.saturating_mul(text.each);
        if text.copies {
            accesses::copy(*to as *mut u8, *from as *const u8, length, flags, origin);
            *from += length as i64;
        } else {
            fill(*to as usize, *register(libc::REG_RAX), text.each, count);
        }
        *to += length as i64;
        if text.repeats {
            *register(libc::REG_RCX) = 0;
        }
        *register(libc::REG_RIP) += text.length as i64;
    }
}

/// # Safety
/// The program fills `to`, as far as `count` says.
unsafe fn fill(to: usize, value: i64, each: usize, count: usize) {
    // SAFETY: what the caller promises.
    unsafe {
        let watch = run().watch.pointer();
        let (flags, origin) = ((*watch).flags, (*watch).origin);
        let bytes = value.to_le_bytes();
        if bytes[..each].iter().all(|byte| *byte == bytes[0]) {
            return accesses::fill(to as *mut u8, bytes[0], each * count, flags, origin);
        }
        for i in 0..count {
            let target = (to + i * each) as *mut u8;
            accesses::copy(target, bytes.as_ptr(), each, flags, origin);
        }
    }
}

#[derive(PartialEq, Eq)]
enum Blamed {
    /// Assembly that the pass announced.
    Assembly,
    /// Code that nobody instrumented.
    Elsewhere,
}

/// Who it was: assembly the pass announced, or code that nobody instrumented, by the call that led there.
fn blame(pc: usize, stack: usize, at: u64, writes: bool) -> Blamed {
    let watch = run().watch.pointer();
    // SAFETY: the watch is the run's, and has no other user now.
    unsafe {
        let (after, site) = (*watch).assembly;
        if pc.wrapping_sub(after) < ASSEMBLY {
            ((*watch).flags, (*watch).origin) = (0, Origin::source(site));
            return Blamed::Assembly;
        }
        count(pc as u64, at, writes);
        ((*watch).flags, (*watch).origin) = (flag::FOREIGN, elsewhere(pc, stack));
    }
    Blamed::Elsewhere
}

/// Counts an access of code that nobody instrumented.
pub(crate) fn count(pc: u64, at: u64, writes: bool) {
    let foreign = run().foreign.as_ptr();
    // SAFETY: the count is the run's, and has no other user now.
    unsafe {
        if (*foreign).reads + (*foreign).writes == 0 {
            ((*foreign).address, (*foreign).pc) = (window::BASE + at, pc);
        }
        if writes {
            (*foreign).writes += 1;
        } else {
            (*foreign).reads += 1;
        }
    }
}

/// Code that nobody instrumented, by the call that led there.
pub(crate) fn elsewhere(pc: usize, stack: usize) -> Origin {
    let caller = if in_executable(pc) {
        pc + 1
    } else {
        call_before(stack)
    };
    let whose = match crate::run::sites::in_pmdk(pc) {
        true => Builtin::pmdk,
        false => Builtin::uninstrumented,
    };
    Origin::library(whose, caller)
}

/// The innermost return address into the executable, found by looking: foreign code keeps no frames. Zero if there is none.
pub(crate) fn call_before(stack: usize) -> usize {
    const FAR: usize = 1 << 16;
    if stack < run().stack.get().0 {
        return 0;
    }
    let mut at = stack & !7;
    // SAFETY: the stack is mapped up to its end.
    unsafe {
        while at + 8 <= run().stack.get().1.min(stack + FAR) {
            let word = *(at as *const usize);
            // Any number can lie on a stack, also one that is the program's first address: there is nothing before that to look at.
            if in_executable(word.wrapping_sub(LONGEST_CALL))
                && follows_call(word as *const u8)
                && !is_return(word)
                && !in_runtime(word)
            {
                return word;
            }
            at += 8;
        }
    }
    0
}

/// The bytes of the longest call there is.
const LONGEST_CALL: usize = 7;

/// # Safety
/// `after` is an address in code.
unsafe fn follows_call(after: *const u8) -> bool {
    // SAFETY: what the caller promises.
    unsafe {
        let indirect = |length: usize| {
            *after.sub(length) == 0xff && matches!(*after.sub(length - 1) >> 3 & 7, 2)
        };
        *after.sub(5) == 0xe8 || [2, 3, 4, 6, 7].into_iter().any(indirect)
    }
}
