//! Threads from scratch: `clone` with a stack of the program's, as thread libraries of their own call it, and what the kernel does for
//! such threads when they begin and end (`CLONE_CHILD_SETTID`, `CLONE_CHILD_CLEARTID`, `set_tid_address`), own thread-local storage
//! (`CLONE_SETTLS`, `arch_prctl`), and the end of one thread (`exit`, as a system call).

use super::context::{set_thread_pointer, stack_of};
use super::lifecycle::{self, How};
use super::{futex, identity, on, tables, thread_id, threads, visible};
use crate::caller;
use crate::libc::real::real;
use crate::memory::heap_checks;
use crate::memory::own::place;
use crate::memory::probe;
use crate::run::outcome;
use crate::run::trace::Origin;
use crate::state::run;
use core::arch::asm;
use core::cell::Cell;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::shared::End;

/// Of one thread: where the kernel tells others who it is when it begins, and that it has ended. Zero for nowhere.
#[repr(C)]
pub(crate) struct ThreadIds {
    set: Cell<usize>,
    clear: Cell<usize>,
}

impl ThreadIds {
    pub(super) fn begin(&self) {
        let ThreadIds { set, clear } = self;
        set.set(0);
        clear.set(0);
    }
}

/// What a thread cannot have of its own.
const SHARED: i32 = libc::CLONE_VM | libc::CLONE_THREAD | libc::CLONE_SIGHAND;

crate::weak!("clone" => clone);

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_clone(
    start: usize,
    stack: usize,
    flags: i32,
    argument: usize,
    parent: usize,
    storage: usize,
    child: usize,
) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if !on() {
            let real = real().clone();
            return real.map_or(-1, |clone| {
                clone(start, stack, flags, argument, parent, storage, child)
            });
        }
        let cloned = Cloned {
            flags,
            stack,
            parent,
            child,
            storage,
        };
        cloned.check();
        if start == 0 || stack == 0 {
            *libc::__errno_location() = libc::EINVAL;
            return -1;
        }
        let how = How {
            detached: true,
            stack: Some((lowest(stack), stack)),
            ..How::new(start, argument)
        };
        match lifecycle::bear(core::ptr::null_mut(), how, caller!()) {
            Ok(number) => begin(number, &cloned, argument, caller!()) as i32,
            Err(error) => {
                *libc::__errno_location() = error;
                -1
            }
        }
    }
}

/// What a thread is asked for with; `stack` is its upper end.
pub(super) struct Cloned {
    pub(super) flags: i32,
    pub(super) stack: usize,
    pub(super) parent: usize,
    pub(super) child: usize,
    pub(super) storage: usize,
}

impl Cloned {
    /// Is it a thread?
    pub(super) fn check(&self) {
        if self.flags & SHARED != SHARED {
            refuse(b"clone: the program creates a process; a thread shares memory, handlers and its process (CLONE_VM, CLONE_SIGHAND, CLONE_THREAD)");
        }
    }
}

/// What the kernel does for a thread that was just created, before it begins with that argument: the number by which it knows it.
///
/// # Safety
/// The program has asked for it.
pub(super) unsafe fn begin(number: usize, cloned: &Cloned, argument: usize, caller: usize) -> u32 {
    let context = &tables().contexts[number];
    let asked = |flag: i32| cloned.flags & flag != 0;
    let wanted = |flag: i32, place: usize| if asked(flag) { place } else { 0 };
    context.argument.set(argument);
    let ids = &context.ids;
    ids.set.set(wanted(libc::CLONE_CHILD_SETTID, cloned.child));
    ids.clear
        .set(wanted(libc::CLONE_CHILD_CLEARTID, cloned.child));
    if asked(libc::CLONE_SETTLS) {
        context.thread_pointer.set(cloned.storage);
    }
    let id = id_of(number);
    if asked(libc::CLONE_PARENT_SETTID) {
        // SAFETY: what the caller promises.
        unsafe { tell(cloned.parent, id, caller) };
    }
    id
}

/// Does `arch_prctl` set the thread's own storage, by this number?
pub(super) fn sets_storage(operation: usize) -> bool {
    operation == SET_FS
}

const SET_FS: usize = 0x1002;

fn refuse(why: &[u8]) -> ! {
    outcome::fail(End::Forbidden, &[why])
}

/// The number by which the kernel knows a thread.
fn id_of(number: usize) -> u32 {
    (thread_id() - threads().current.get() + number) as u32
}

/// Stores a thread's number, or zero, where the program wants it.
///
/// # Safety
/// The program wants it at `to`.
unsafe fn tell(to: usize, id: u32, caller: usize) {
    let origin = Origin::library(Builtin::thread, caller);
    // The kernel's stores come after what its thread did before.
    const RELEASE: u32 = 5;
    // SAFETY: what the caller promises.
    unsafe { visible::store(to, (&raw const id).cast(), 4, RELEASE, origin) };
}

/// How far down a stack may reach of which only its top is known: to the beginning of its block of the heap; elsewhere, not far.
pub(super) fn lowest(top: usize) -> usize {
    const LEAST: usize = 16 << 10;
    const PAGE: usize = 4096;
    if let Some(low) = heap_checks::beginning(top) {
        return low;
    }
    let in_heap = top.wrapping_sub(place::HEAP) < place::HEAP_LEN;
    let pages = (1..=LEAST / PAGE).take_while(|page| probe::is_writable(top - page * PAGE));
    match in_heap {
        true => top - PAGE,
        false => top - pages.count().max(1) * PAGE,
    }
}

/// The running thread begins.
pub(super) fn begins() {
    let ids = &tables().contexts[threads().current.get()].ids;
    if ids.set.get() != 0 {
        // SAFETY: the program gave this place for it.
        unsafe { tell(ids.set.get(), thread_id() as u32, 0) };
    }
}

/// The running thread ends. Whoever waits for that is told by the kernel, which is not on the thread's stack any more: that may be taken
/// away as soon as it is told.
pub(super) fn ends() {
    let me = threads().current.get();
    let context = &tables().contexts[me];
    if context.ids.clear.get() != 0 {
        let stack = stack_of(me);
        context.stack.set(stack);
        run().stack.set(stack);
        // SAFETY: a stack that is mapped for this thread and that nobody uses; nothing comes back.
        unsafe {
            asm!("mov rsp, {0}", "xor ebp, ebp", "call {1}", in(reg) stack.1 & !15, sym tells, options(noreturn))
        }
    }
}

extern "C" fn tells() -> ! {
    let ids = &tables().contexts[threads().current.get()].ids;
    let place = ids.clear.replace(0);
    // SAFETY: the program gave this place for it.
    unsafe { tell(place, 0, 0) };
    futex::wake(place, 0);
    lifecycle::leave()
}

/// A system call by its number, of a thread that takes care of itself: its result, if it is one of these.
///
/// # Safety
/// Its arguments are what the program gave to the system call.
pub(super) unsafe fn system_call(number: i64, [a, b, ..]: [usize; 5]) -> Option<i64> {
    let me = threads().current.get();
    match number {
        libc::SYS_set_tid_address => {
            tables().contexts[me].ids.clear.set(a);
            Some(thread_id() as i64)
        }
        libc::SYS_gettid => {
            identity::asked();
            Some(thread_id() as i64)
        }
        libc::SYS_arch_prctl if a == SET_FS => {
            tables().contexts[me].thread_pointer.set(b);
            // SAFETY: what the caller promises.
            unsafe { set_thread_pointer(b) };
            Some(0)
        }
        // Of the last thread it is the end of the process, too.
        libc::SYS_exit if me != 0 => lifecycle::ended(),
        libc::SYS_clone | libc::SYS_clone3 => refuse(
            b"libc's `syscall` cannot return from clone on two stacks: make the system call in assembly, or call libc's `clone`",
        ),
        _ => None,
    }
}
