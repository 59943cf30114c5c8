//! C++'s `std::thread`, as libstdc++ has it. Its own code reads and writes the thread's state and id, which others may see, and which may
//! lie in persistent memory, and no hook sees that: so these few lines are ours.

use super::lifecycle::{self, How};
use super::on;
use crate::libc::real::real;
use crate::memory::accesses;
use crate::run::trace::Origin;
use crate::state::{Mode, server};
use core::arch::global_asm;
use landfall_vocab::builtin::Builtin;

/// Defines a member function of `std::thread` by what does its work, with the place it was called from as its third argument. What it
/// returns is thrown, if it is an error; that must unwind into the caller, so there is no frame of ours by then.
macro_rules! member {
    ($($symbol:literal => $work:ident),* $(,)?) => {
        $(global_asm!(
            concat!(".weak ", $symbol),
            concat!(".type ", $symbol, ",@function"),
            // The lowest bit of a pointer to a member function says that it is virtual.
            ".p2align 4",
            concat!($symbol, ":"),
            "mov rdx, [rsp]",
            // A frame, or the caller's would be left out of call stacks.
            "push rbp",
            "mov rbp, rsp",
            "call {work}",
            "pop rbp",
            "test eax, eax",
            "jne 2f",
            "ret",
            "2:",
            "mov edi, eax",
            ".weak _ZSt20__throw_system_errori",
            "jmp [rip + _ZSt20__throw_system_errori@GOTPCREL]",
            work = sym $work,
        );)*
    };
}

member!(
    "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE" => start,
    "_ZNSt6thread4joinEv" => join,
    "_ZNSt6thread6detachEv" => detach,
);

/// A word of the program's, as libstdc++ reads it.
///
/// # Safety
/// `at` is a word of the program's.
unsafe fn read(at: usize, caller: usize) -> usize {
    // SAFETY: what the caller promises.
    unsafe { accesses::fetch(at, 8, Origin::library(Builtin::thread, caller)) as usize }
}

/// The thread is nobody's any more.
///
/// # Safety
/// `thread` is a `std::thread` of the program's.
unsafe fn forget(thread: usize, caller: usize) {
    let origin = Origin::library(Builtin::thread, caller);
    // SAFETY: what the caller promises.
    unsafe { accesses::hand_over(thread, (&NOBODY as *const usize).cast(), 8, origin) };
}

/// The id of no thread.
const NOBODY: usize = 0;

unsafe extern "C" fn join(thread: usize, _: usize, caller: usize) -> i32 {
    // SAFETY: libstdc++ calls it as its own: a `std::thread` has an id, its state has virtual functions.
    unsafe {
        let id = read(thread, caller);
        let error = match (on(), real().pthread_join()) {
            _ if id == NOBODY => libc::EINVAL,
            (true, _) => lifecycle::join(id, false, caller).err().unwrap_or(0),
            (false, Some(join)) => join(id, core::ptr::null_mut()),
            (false, None) => libc::ENOSYS,
        };
        if error == 0 {
            forget(thread, caller);
        }
        error
    }
}

unsafe extern "C" fn detach(thread: usize, _: usize, caller: usize) -> i32 {
    // SAFETY: libstdc++ calls it as its own: a `std::thread` has an id, its state has virtual functions.
    unsafe {
        let id = read(thread, caller);
        let error = match (on(), real().pthread_detach()) {
            _ if id == NOBODY => libc::EINVAL,
            (true, _) => lifecycle::detach(id),
            (false, Some(detach)) => detach(id),
            (false, None) => libc::ENOSYS,
        };
        if error == 0 {
            forget(thread, caller);
        }
        error
    }
}

/// Creates the thread; an error number or zero.
unsafe extern "C" fn start(thread: *mut usize, owner: *mut usize, caller: usize) -> i32 {
    // SAFETY: libstdc++ calls it as its own: a `std::thread` has an id, its state has virtual functions.
    unsafe {
        if server().mode.get() == Mode::Constructing {
            crate::run::serve::from_constructor();
        }
        let run = run as *const () as usize;
        let error = match (on(), real().pthread_create()) {
            (true, _) => lifecycle::create(thread, How::new(run, *owner), caller),
            (false, Some(create)) => create(thread, 0, run, *owner),
            (false, None) => libc::ENOSYS,
        };
        if error == 0 {
            // The new thread has it.
            *owner = 0;
        }
        error
    }
}

/// A virtual function of the thread's state, by its place in the table (Itanium C++ ABI §2.5): two destructors come first.
///
/// # Safety
/// `object` is one with virtual functions, that many at least.
unsafe fn method(object: usize, place: usize) -> unsafe extern "C" fn(usize) {
    // SAFETY: what the caller promises.
    unsafe {
        let table = read(object, 0);
        core::mem::transmute(*(table as *const usize).add(place))
    }
}

/// What the new thread does.
unsafe extern "C" fn run(state: usize) -> usize {
    // SAFETY: libstdc++ calls it as its own: a `std::thread` has an id, its state has virtual functions.
    unsafe {
        const DELETE: usize = 1;
        const RUN: usize = 2;
        method(state, RUN)(state);
        method(state, DELETE)(state);
        0
    }
}
