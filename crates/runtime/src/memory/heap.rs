//! The program's volatile heap. Size classes with free lists in a range of fixed addresses: the same calls give the same
//! addresses in every run, and a restart resets it by restoring a few words (docs/design/runtime.md).

use crate::memory::bytes;
use crate::memory::heap_checks;
use crate::memory::limits;
use crate::memory::own::place;
use crate::memory::persistent_heap;
use crate::run::trace::Origin;
use crate::state::{running, server};
use crate::syscalls::sys;
use crate::threads::{transactions, unsafe_calls};
use landfall_vocab::builtin::Builtin;
use landfall_vocab::shared::{FEW_THREADS, option};

pub(crate) const CLASSES: usize = 192;
pub(crate) const HEADER: usize = 16;
const SMALL: usize = 1024;

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Heap {
    pub(crate) end: usize,
    pub(crate) free: [usize; CLASSES],
    /// Of main's: blocks from here on have a shadow; 0 while there is none.
    pub(crate) shadowed: usize,
}

/// Class of a request and the bytes a block of it holds: steps of 16 up to 1 KiB, then four steps per doubling.
pub(crate) fn class(length: usize) -> (usize, usize) {
    if length <= SMALL {
        let class = length.div_ceil(16).max(1);
        return (class, class * 16);
    }
    let power = (length - 1).ilog2() as usize; // 10 and up
    let step = 1usize << (power - 2);
    let quarter = (length - 1 - (1 << power)) / step;
    (
        64 + (power - 10) * 4 + quarter + 1,
        (1 << power) + (quarter + 1) * step,
    )
}

/// Before a block: its class and the bytes it holds.
#[repr(C)]
struct Header {
    class: usize,
    size: usize,
}

/// In a class: there is a record before the header ([`heap_checks`]).
const LOOKED_AT: usize = 1 << 32;

/// What main has of the heap. The first threads have much, as programs have few; the others share the rest.
const MAIN: usize = 32 << 30;
const EACH_OF_FEW: usize = 1 << 30;
const EACH_OF_MANY: usize = 32 << 20;

/// Where the heap of a thread begins, and how much it has.
fn room_of(thread: usize) -> (usize, usize) {
    match thread.checked_sub(FEW_THREADS) {
        _ if thread == 0 => (place::HEAP, MAIN),
        None => (place::HEAP + MAIN + thread * EACH_OF_FEW, EACH_OF_FEW),
        Some(further) => {
            let few = MAIN + FEW_THREADS * EACH_OF_FEW;
            (place::HEAP + few + further * EACH_OF_MANY, EACH_OF_MANY)
        }
    }
}

/// Whose part of the heap an address is in.
fn thread_of(address: usize) -> usize {
    let threads = place::HEAP + MAIN;
    let many = threads + FEW_THREADS * EACH_OF_FEW;
    match (address.checked_sub(threads), address.checked_sub(many)) {
        (None, _) => 0,
        (Some(behind), None) => behind / EACH_OF_FEW,
        (_, Some(behind)) => (FEW_THREADS + behind / EACH_OF_MANY).min(crate::threads::MOST - 1),
    }
}

/// Is this in the heap of a thread other than main?
pub(crate) fn is_of_thread(address: usize) -> bool {
    (place::HEAP + MAIN..place::HEAP + place::HEAP_LEN).contains(&address)
}

/// Where in the heap of its thread an address lies.
pub(crate) fn place_of(address: usize) -> usize {
    address - room_of(thread_of(address)).0
}

/// The heap of the running thread. Each has its own, so that what one is given does not depend on what others do; a block belongs to
/// whoever frees it.
fn current() -> (*mut Heap, (usize, usize)) {
    // SAFETY: the heaps' memory is mapped once and never unmapped, and tells what is in it in words of ours.
    unsafe {
        match crate::threads::current() {
            0 => (server().heap.pointer(), room_of(0)),
            thread => {
                server().heaps_used.insert(thread);
                (&raw mut (*server().heaps.get())[thread], room_of(thread))
            }
        }
    }
}

/// What threads have of the heap, as far as it was ever used.
pub(crate) fn each_used(mut each: impl FnMut(usize, usize)) {
    // SAFETY: the heaps' memory is mapped once and never unmapped, and tells what is in it in words of ours.
    unsafe {
        let main = (*server().heap.pointer()).end;
        if main != 0 {
            each(place::HEAP, main);
        }
        for thread in 1..crate::threads::MOST {
            if server().heaps_used.contains(thread) {
                each(room_of(thread).0, (*server().heaps.get())[thread].end);
            }
        }
    }
}

/// A new thread has nothing.
///
/// # Safety
/// The heap of this thread is in use by nobody.
pub(crate) unsafe fn begin(thread: usize) {
    // SAFETY: what the caller promises.
    unsafe {
        let heap = &raw mut (*server().heaps.get())[thread];
        // Most threads allocate nothing, and what nobody used since is as it was.
        if server().heaps_used.contains(thread) {
            server().heaps_used.remove(thread);
            bytes::fill(heap as *mut u8, 0, size_of::<Heap>());
        }
        (*heap).end = room_of(thread).0;
    }
}

/// The memory of all heaps is there: mapped by whoever allocates first.
fn is_there() -> bool {
    // SAFETY: the heaps' memory is mapped once and never unmapped, and tells what is in it in words of ours.
    unsafe {
        let heap = server().heap.pointer();
        if (*heap).end == 0 && sys::map(place::HEAP, place::HEAP_LEN).is_some() {
            (*heap).end = place::HEAP;
        }
        (*heap).end != 0
    }
}

/// What the running thread has of the heap, to be put back.
pub(crate) fn keep(to: &mut Heap) {
    let (heap, _) = current();
    // SAFETY: the heaps' memory is mapped once and never unmapped.
    unsafe {
        bytes::copy(
            (&raw mut *to) as *mut u8,
            heap as *const u8,
            size_of::<Heap>(),
        )
    };
}

/// It has that again.
pub(crate) fn put_back(from: &Heap) {
    let (heap, _) = current();
    // SAFETY: the heaps' memory is mapped once and never unmapped.
    unsafe {
        bytes::copy(
            heap as *mut u8,
            (&raw const *from) as *const u8,
            size_of::<Heap>(),
        )
    };
}

/// A block was never taken.
pub(crate) fn forget(block: usize) {
    // SAFETY: it was taken, and what is before it says how.
    unsafe {
        if is_volatile(block) && is_looked_at(block) {
            heap_checks::never_taken(block);
        }
    }
}

fn allocate(length: usize, align: usize) -> *mut u8 {
    // SAFETY: the heaps' memory is mapped once and never unmapped, and tells what is in it in words of ours.
    unsafe {
        let (heap, (first, room)) = current();
        if length > room / 2 {
            return core::ptr::null_mut();
        }
        if !is_there() {
            return core::ptr::null_mut();
        }
        transactions::heap_changes();
        let looked_at = heap_checks::on();
        if looked_at && !shadowed() {
            return core::ptr::null_mut();
        }
        let (before, behind) = match looked_at {
            true => (HEADER + heap_checks::RECORD, heap_checks::RED_ZONE),
            false => (HEADER, 0),
        };
        let (class, size) = class(length + behind);
        let reusable = (*heap).free[class];
        if align <= 16 && reusable != 0 {
            (*heap).free[class] = *(reusable as *const usize);
            if looked_at {
                heap_checks::taken(reusable - before, reusable, length, reusable + size);
            }
            return reusable as *mut u8;
        }
        let from = (*heap).end;
        let start = (from + before + align - 1) & !(align - 1);
        if !limits::room(start - first, size) || start + size > first + room {
            return core::ptr::null_mut();
        }
        (*heap).end = start + size;
        let mark = if looked_at { LOOKED_AT } else { 0 };
        *((start - HEADER) as *mut Header) = Header {
            class: class | mark,
            size,
        };
        if looked_at {
            heap_checks::taken(from, start, length, start + size);
        }
        start as *mut u8
    }
}

/// There is a shadow of the heap, now at the latest.
pub(crate) fn shadowed() -> bool {
    // SAFETY: the heaps' memory is mapped once and never unmapped, and tells what is in it in words of ours.
    unsafe {
        let heap = server().heap.pointer();
        if (*heap).shadowed == 0 && heap_checks::prepare((*heap).end) {
            (*heap).shadowed = (*heap).end.max(place::HEAP);
            // What libraries gave back before has no room for a record. By hand: the compiler's way would be a call of `memset`, which would
            // be taken for the program's.
            bytes::fill(
                (&raw mut (*heap).free) as *mut u8,
                0,
                size_of::<[usize; CLASSES]>(),
            );
        }
        (*heap).shadowed != 0
    }
}

/// Where the part of the heap ends that an address is in, as far as it is used.
///
/// # Safety
/// The program may read `address`, as far as it asks for.
unsafe fn used(address: usize) -> usize {
    // SAFETY: what the caller promises.
    unsafe {
        match thread_of(address) {
            0 => (*server().heap.pointer()).end,
            thread => (*server().heaps.get())[thread].end,
        }
    }
}

/// How much a block holds that begins here; nothing if none does, as far as can be told.
pub(crate) fn room(address: usize) -> usize {
    // SAFETY: what of the heap is in use can be read, and so can what is before it.
    unsafe {
        let first = address < place::HEAP + HEADER;
        if !is_volatile(address) || first || !address.is_multiple_of(16) || address >= used(address)
        {
            return 0;
        }
        let header = &*((address - HEADER) as *const Header);
        let own = (header.class & !LOOKED_AT, header.size);
        match header.size < place::HEAP_LEN && class(header.size) == own {
            true => header.size,
            false => 0,
        }
    }
}

/// Was the block given out with a record?
///
/// # Safety
/// The program may read `block`, as far as it asks for.
unsafe fn is_looked_at(block: usize) -> bool {
    // SAFETY: what the caller promises.
    unsafe { (*((block - HEADER) as *const Header)).class & LOOKED_AT != 0 }
}

fn is_volatile(address: usize) -> bool {
    address.wrapping_sub(place::HEAP) < place::HEAP_LEN
}

/// Does a call from here get persistent memory (`--pm-heap`)? Only the program's own code: libc's buffers stay volatile.
fn wants_persistent(caller: usize) -> bool {
    server().options.get() & option::PM_HEAP != 0
        && running()
        && crate::run::start::in_executable(caller)
}

/// A block for the program, as it would get it by calling `malloc` itself.
pub(crate) fn obtain(length: usize, align: usize, caller: usize) -> *mut u8 {
    crate::threads::acted();
    let block = if wants_persistent(caller) {
        persistent_heap::malloc(length, align, caller)
    } else {
        let block = allocate(length, align);
        transactions::allocated(block as usize);
        crate::threads::allocated(block as usize, length);
        block
    };
    // SAFETY: libc's variable of this thread.
    unsafe {
        if block.is_null() {
            *libc::__errno_location() = libc::ENOMEM;
        }
    }
    block
}

/// # Safety
/// The program may read `block`, as far as it asks for.
pub(crate) unsafe fn release(block: usize, caller: usize) {
    if transactions::gives_back(block, caller) {
        return;
    }
    crate::threads::acted();
    // SAFETY: what the caller promises.
    unsafe {
        if is_volatile(block) {
            let header = (block - HEADER) as *const Header;
            let class = (*header).class & !LOOKED_AT;
            if heap_checks::on() && (running() || is_looked_at(block)) {
                let known = block < used(block) && is_looked_at(block);
                // What libraries got before that began is not kept.
                let old = block < (*server().heap.pointer()).shadowed;
                if old || !heap_checks::given_back(block, known, used(block), caller) {
                    return;
                }
            }
            if class < CLASSES {
                let (heap, _) = current();
                *(block as *mut usize) = (*heap).free[class];
                (*heap).free[class] = block;
            }
        } else if crate::memory::shadow::is_persistent(block) {
            persistent_heap::free_malloced(block, caller);
        } else if heap_checks::on() && running() {
            heap_checks::given_back(block, false, 0, caller);
        }
    }
}

/// # Safety
/// The program may read `block`, as far as it asks for.
unsafe fn size(block: usize) -> usize {
    // SAFETY: what the caller promises.
    unsafe {
        if is_volatile(block) && is_looked_at(block) {
            heap_checks::length(block)
        } else if is_volatile(block) {
            (*((block - HEADER) as *const Header)).size
        } else if crate::memory::shadow::is_persistent(block) {
            persistent_heap::size(block)
        } else {
            0
        }
    }
}

crate::weak!(
    "malloc" => malloc, "free" => free, "calloc" => calloc, "realloc" => realloc,
    "aligned_alloc" => memalign, "memalign" => memalign, "posix_memalign" => posix_memalign,
    "malloc_usable_size" => usable_size, "valloc" => valloc, "cfree" => free, "_Znwm" => new,
    "_Znam" => new, "_ZdlPv" => free, "_ZdaPv" => free, "_ZdlPvm" => free, "_ZdaPvm" => free,
    "_ZnwmRKSt9nothrow_t" => malloc, "_ZnamRKSt9nothrow_t" => malloc,
    "_ZnwmSt11align_val_t" => aligned_new, "_ZnamSt11align_val_t" => aligned_new,
    "_ZdlPvSt11align_val_t" => free, "_ZdlPvmSt11align_val_t" => free,
    "_ZdaPvSt11align_val_t" => free, "_ZdaPvmSt11align_val_t" => free,
);

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_malloc(length: usize) -> *mut u8 {
    unsafe_calls::calls(b"malloc", crate::caller!());
    obtain(length, 16, crate::caller!())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_free(block: usize) {
    // SAFETY: the program gives a block back that it has.
    unsafe {
        if block != 0 {
            unsafe_calls::calls(b"free", crate::caller!());
            release(block, crate::caller!());
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_calloc(count: usize, each: usize) -> *mut u8 {
    // SAFETY: a block of that length was just obtained.
    unsafe {
        let caller = crate::caller!();
        unsafe_calls::calls(b"calloc", caller);
        let Some(length) = count.checked_mul(each) else {
            *libc::__errno_location() = libc::ENOMEM;
            return core::ptr::null_mut();
        };
        let block = obtain(length, 16, caller);
        if !block.is_null() {
            persistent_heap::zero(block, length, caller);
        }
        block
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_realloc(old: usize, length: usize) -> *mut u8 {
    // SAFETY: the program gives a block back that it has.
    unsafe {
        let caller = crate::caller!();
        unsafe_calls::calls(b"realloc", caller);
        if old == 0 {
            return obtain(length, 16, caller);
        }
        let held = size(old);
        if length != 0 && length <= held && is_volatile(old) && !is_looked_at(old) {
            return old as *mut u8;
        }
        let block = obtain(length.max(1), 16, caller);
        if !block.is_null() {
            crate::threads::leftovers::are_copied(old, held.min(length));
            persistent_heap::move_block(block, old as *const u8, held.min(length), caller);
            release(old, caller);
        }
        block
    }
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_memalign(align: usize, length: usize) -> *mut u8 {
    obtain(length, align.next_power_of_two().max(16), crate::caller!())
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_valloc(length: usize) -> *mut u8 {
    obtain(length, 4096, crate::caller!())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_posix_memalign(
    to: *mut *mut u8,
    align: usize,
    length: usize,
) -> i32 {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    let block = obtain(length, align.max(16), crate::caller!());
    if block.is_null() {
        return libc::ENOMEM;
    }
    let origin = Origin::library(Builtin::malloc, crate::caller!());
    // SAFETY: the program asks for the answer there.
    unsafe {
        crate::memory::accesses::copy(to as *mut u8, (&raw const block) as *const u8, 8, 0, origin)
    };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_usable_size(block: usize) -> usize {
    // SAFETY: the program asks about a block that it has.
    unsafe { if block == 0 { 0 } else { size(block) } }
}

// `operator new` throws where there is no memory. An exception cannot pass through Rust, so these are frames of their own, with what
// an unwinder must know of them. They hand on who called: rsi, or rdx where the alignment is in rsi.
core::arch::global_asm!(
    ".macro lf_new name, function, caller",
    ".globl \\name",
    "\\name:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "mov \\caller, [rbp + 8]",
    "call \\function",
    "test rax, rax",
    "jnz 1f",
    "call {thrower}",
    "call rax",
    "ud2",
    "1: pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    ".endm",
    "lf_new __lf_weak_new, {new}, rsi",
    "lf_new __lf_weak_aligned_new, {aligned_new}, rdx",
    thrower = sym thrower,
    new = sym new,
    aligned_new = sym aligned_new,
);

extern "C" fn new(length: usize, caller: usize) -> *mut u8 {
    unsafe_calls::calls(b"operator new", caller);
    obtain(length, 16, caller)
}

extern "C" fn aligned_new(length: usize, align: usize, caller: usize) -> *mut u8 {
    obtain(length, align.max(16), caller)
}

/// What throws `std::bad_alloc`.
unsafe extern "C" fn thrower() -> usize {
    let name = c"_ZSt17__throw_bad_allocv";
    // SAFETY: the name ends in zero.
    let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) as usize };
    if function == 0 {
        crate::run::outcome::internal(b"operator new: out of memory", 0);
    }
    function
}

/// Zeroes memory that is not persistent.
///
/// # Safety
/// The program may write to `block`, as far as it asks for.
pub(crate) unsafe fn zero_volatile(block: *mut u8, length: usize) {
    // SAFETY: what the caller promises.
    unsafe {
        bytes::fill(block, 0, length);
    }
}
