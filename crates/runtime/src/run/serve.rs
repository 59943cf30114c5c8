//! Serving runs: what is set up once per server and once per run, and how a run begins and ends.

use crate::memory::bytes;
use crate::memory::own::place;
use crate::outside::imports;
use crate::run::fork_server;
use crate::run::shared::{self, control};
use crate::run::sites;
use crate::state::{Mode, Run, run, server};
use crate::syscalls::clock;
use crate::syscalls::dispatch;
use crate::syscalls::signals;
use crate::syscalls::sys;
use crate::syscalls::vdso;
use core::arch::{asm, global_asm};
use core::sync::atomic::Ordering::{Relaxed, Release};
use landfall_vocab::shared::{End, IMAGE_AT, SLOT_LEN, SLOTS_AT, SlotHeader, phase};
use landfall_vocab::window;

// Entering a run: keep what the driver needs on its own stack, continue on the stack of the run. Leaving is the way back,
// from wherever the program is.
global_asm!(
    ".globl __lf_enter_run",
    "__lf_enter_run:", // rdi: stack of the run, rsi: where to keep ours, rdx: what to call
    crate::keep_registers!(),
    "mov [rsi], rsp",
    "mov rsp, rdi",
    // What the driver had in registers is not the same in a fork and in place, and would lie about on the stack of the run.
    "xor ebp, ebp",
    "xor ebx, ebx",
    "xor r12d, r12d",
    "xor r13d, r13d",
    "xor r14d, r14d",
    "xor r15d, r15d",
    "push 0", // the outermost return address: unwinders and stack walks stop here
    "jmp rdx",
    ".globl __lf_leave_run",
    "__lf_leave_run:", // rdi: what was kept
    "mov rsp, rdi",
    "cld",
    "ldmxcsr [rsp]",
    "fldcw [rsp+4]",
    crate::take_registers!(),
    "ret",
    ".globl __lf_switch_run",
    "__lf_switch_run:", // rdi: where to keep what is here, rsi: what was kept of where to go on
    crate::keep_registers!(),
    "mov [rdi], rsp",
    "mov rdi, rsi",
    "jmp __lf_leave_run",
);

unsafe extern "C" {
    fn __lf_enter_run(stack: usize, keep: *mut usize, target: usize);
    fn __lf_leave_run(kept: usize) -> !;
    fn __lf_switch_run(keep: *mut usize, kept: usize);
}

/// The server's normal place: right before `main`. Never returns; children leave through the end of their run.
pub(crate) fn from_main() -> ! {
    map_stack();
    prepare();
    server()
        .stack
        .set((place::STACK, place::STACK + place::STACK_LEN));
    fork_server::serve(fork_server::ServePlace::BeforeMain);
    // Only a process with a run to do comes back here.
    enter();
    sys::exit(125)
}

/// Runs `main` on the stack of the run; comes back only in place.
pub(crate) fn enter() {
    let top = place::STACK + place::STACK_LEN - 64;
    let keep = server().driver_stack.as_ptr();
    // SAFETY: the stack of the run is mapped, and what is called there never returns.
    unsafe {
        __lf_enter_run(
            top,
            keep,
            crate::run::start::call_main as *const () as usize,
        )
    };
}

/// A constructor touched persistent memory: serve from there, so that it does so again in every run. The child continues the
/// constructor on the original stack.
pub(crate) fn from_constructor() {
    control()
        .isolation
        .store(landfall_vocab::shared::isolation::FORK, Relaxed);
    prepare();
    let here: usize;
    // SAFETY: a register is looked at.
    unsafe { asm!("mov {}, rsp", out(reg) here, options(nomem, nostack)) };
    server().stack.set((here & !0xffff, stack_end()));
    fork_server::serve(fork_server::ServePlace::Constructor);
    // Only a process with a run to do comes back here.
    crate::threads::constructor_locks::take_again();
}

/// Puts the driver aside and goes on where a run was left ([`leave_for`]); comes back when that run is over.
///
/// # Safety
/// All that belongs to the run is as it was then.
pub(crate) unsafe fn enter_again(kept: usize) {
    // SAFETY: what the caller promises.
    unsafe { __lf_switch_run(server().driver_stack.as_ptr(), kept) };
}

/// Leaves the stack of the run for the driver's, where `driver` never returns; comes back when somebody enters again with what was
/// kept.
pub(crate) fn leave_for(driver: extern "C" fn() -> !, keep: *mut usize) {
    const RED_ZONE: usize = 128;
    let below = (server().driver_stack.get() - RED_ZONE) & !15;
    // SAFETY: below its pointer the driver's stack is free.
    unsafe { __lf_enter_run(below, keep, driver as *const () as usize) };
}

fn stack_end() -> usize {
    unsafe extern "C" {
        static __libc_stack_end: usize;
    }
    // SAFETY: libc has it before any constructor runs.
    unsafe { __libc_stack_end + 64 }
}

fn map_stack() {
    let start = place::STACK - place::GUARD;
    if sys::map(start, place::STACK_LEN + place::GUARD).is_none() {
        crate::run::start::refuse(c"no room for the stack of a run");
    }
    sys::call(
        libc::SYS_mprotect,
        [start, place::GUARD, libc::PROT_NONE as usize],
    );
}

fn prepare() {
    server().mode.set(Mode::Serving);
    crate::files::resolve::note_directory();
    crate::memory::unannounced::close_window();
    take_input();
    imports::redirect();
    sites::publish();
    sites::find_pmdk();
    signals::install();
    if !vdso::redirect() {
        crate::run::start::refuse(
            c"the kernel's vdso cannot be redirected, so time cannot be controlled",
        );
    }
    clock::trap_timestamps();
    fix_thread_id();
    // SAFETY: the name ends in zero.
    let single = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__libc_single_threaded".as_ptr()) };
    server().single_threaded.set(single as usize);
    if !crate::threads::prepare() {
        crate::run::start::refuse(c"no room for the stacks of threads");
    }
    // Now, not when a run first allocates: then one in a fork would do it, and one in place would not.
    if crate::memory::heap_checks::on() && !crate::memory::heap::shadowed() {
        crate::run::start::refuse(c"no room for the shadow of the heap");
    }
    drop_rseq();
    redirect_exit();
    fork_server::init();
    watch_terminate();
    control()
        .server_pid
        .store(sys::call(libc::SYS_getpid, []) as u32, Relaxed);
    crate::memory::rewritten::publish();
    control().phase.store(phase::SERVING, Release);
    shared::wake(&control().phase);
}

/// Standard input is the same for every run, from where constructors have left it. Nobody moves a position in it any more.
fn take_input() {
    let length = control().stdin_len;
    if length == 0 {
        return;
    }
    let at = sys::call(libc::SYS_lseek, [0, 0, libc::SEEK_CUR as usize]);
    let flags = (libc::MAP_PRIVATE | libc::MAP_FIXED_NOREPLACE) as usize;
    let read = libc::PROT_READ as usize;
    // SAFETY: nothing that is mapped already is replaced.
    let mapped = unsafe {
        sys::raw(
            libc::SYS_mmap,
            [place::INPUT, length as usize, read, flags, 0, 0],
        )
    };
    if mapped as usize != place::INPUT || at < 0 {
        crate::run::start::refuse(c"standard input cannot be mapped");
    }
    let at = (at as u64).min(length);
    server()
        .given
        .set((place::INPUT + at as usize, length - at));
    let nothing = c"/dev/null".as_ptr() as usize;
    let nothing = sys::call(libc::SYS_open, [nothing, libc::O_RDONLY as usize]);
    if nothing > 0 {
        sys::call(libc::SYS_dup2, [nothing as usize, 0]);
        sys::call(libc::SYS_close, [nothing as usize]);
    }
}

/// The kernel writes the processor's number into the thread descriptor on every migration: not the same in every run, and
/// fatal on a write-protected page (docs/design/runtime.md). Without it libc asks `getcpu`, which is ours.
fn drop_rseq() {
    // SAFETY: the area is in the descriptor of this thread, the only one, and libc's variable says where.
    unsafe {
        const SIGNATURE: usize = 0x5305_3053;
        const UNREGISTER: usize = 1;
        let offset = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()) as *const isize;
        if offset.is_null() {
            return;
        }
        let area = server().thread_pointer.get().wrapping_add_signed(*offset);
        if sys::raw(libc::SYS_rseq, [area, 32, UNREGISTER, SIGNATURE]) == 0 {
            crate::memory::bytes::fill(area as *mut u8, 0, 32);
            *((area + 4) as *mut i32) = -2; // registration failed, as far as libc knows
        }
    }
}

/// libc's `_exit` jumps straight to the end of the run: a trapped system call less for every run (2 µs).
fn redirect_exit() {
    // SAFETY: nobody is in `_exit` now, and it is longer than a jump.
    unsafe {
        let exit = libc::dlsym(libc::RTLD_NEXT, c"_exit".as_ptr()) as usize;
        let all = (libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) as usize;
        let page = exit & !4095;
        if exit != 0 && sys::call(libc::SYS_mprotect, [page, 8192, all]) == 0 {
            crate::syscalls::vdso::jump(exit as *mut u8, exited as *const () as usize);
            sys::call(
                libc::SYS_mprotect,
                [page, 8192, (libc::PROT_READ | libc::PROT_EXEC) as usize],
            );
        }
    }
}

extern "C" fn exited(code: i32) -> ! {
    crate::threads::forked::exits(code, 0);
    crate::run::outcome::end(
        End::Exited,
        crate::run::outcome::Report {
            code: code & 0xff,
            ..Default::default()
        },
    )
}

/// libc keeps the kernel's thread id in the thread descriptor and writes it into every mutex it locks, which may lie in
/// persistent memory: give it the number that `gettid` will answer.
fn fix_thread_id() {
    // SAFETY: a descriptor is longer than that, and this thread's is in use by nobody else.
    unsafe {
        let thread: usize;
        asm!("mov {}, fs:[16]", out(reg) thread, options(nostack, preserves_flags));
        server().thread_pointer.set(thread);
        let id = sys::call(libc::SYS_gettid, []) as u32;
        for at in (0x200..0x400).step_by(4) {
            let field = (thread + at) as *mut u32;
            if *field == id {
                *field = 1000;
                server().thread_id_at.set(at);
                return;
            }
        }
    }
}

// Weak references instead of dlsym, whose error message would be allocated by the program's malloc.
global_asm!(
    ".weak _ZSt13set_terminatePFvvE",
    ".weak __cxa_current_exception_type",
    ".globl __lf_set_terminate",
    "__lf_set_terminate:",
    "mov rax, [rip + _ZSt13set_terminatePFvvE@GOTPCREL]",
    "ret",
    ".globl __lf_exception_type",
    "__lf_exception_type:",
    "mov rax, [rip + __cxa_current_exception_type@GOTPCREL]",
    "ret",
);

unsafe extern "C" {
    fn __lf_set_terminate() -> Option<unsafe extern "C" fn(usize) -> usize>;
    pub(crate) fn __lf_exception_type() -> Option<unsafe extern "C" fn() -> *const [*const u8; 2]>;
}

/// An uncaught C++ exception should say so, not only abort.
fn watch_terminate() {
    // SAFETY: libstdc++'s own function, and a handler of the type that it calls.
    unsafe {
        if let Some(set) = __lf_set_terminate() {
            set(crate::run::outcome::terminate as *const () as usize);
        }
    }
}

pub(crate) fn slot(index: usize) -> *mut SlotHeader {
    (server().control.get() as usize + (SLOTS_AT + index as u64 * SLOT_LEN) as usize)
        as *mut SlotHeader
}

/// Makes the run anew that a job asks for, and its outcome: whatever happens, there is one.
///
/// # Safety
/// `slot` is a slot of the shared memory, and it is this server's turn.
pub(crate) unsafe fn begin(slot: *mut SlotHeader) {
    // SAFETY: what the caller promises.
    unsafe {
        crate::memory::unannounced::close_pages();
        Run::begin(slot);
        ((*slot).squeezed, (*slot).opaque) = (0, 0);
        (*slot).final_state = 0;
        let outcome = &raw mut (*slot).outcome;
        (*outcome).end = End::Died as u32;
        (*outcome).code = 0;
        ((*outcome).address, (*outcome).pc, (*outcome).site) = (0, 0, 0);
        ((*outcome).stdout_len, (*outcome).stderr_len) = (0, 0);
        // Not by assignment: that may become a call of `memset`, which may be the program's.
        let foreign = &raw mut (*outcome).foreign;
        bytes::fill(foreign.cast(), 0, size_of_val(&*foreign));
        (
            (*outcome).audit_bytes,
            (*outcome).frames,
            (*outcome).text_len,
        ) = (0, 0, 0);
        (*outcome).isolation = server().in_place.get() as u32;
        (*outcome).read_input = 0;
        (*slot).trace_len.store(0, Relaxed);
        ((*slot).kept, (*slot).kept_digest) = (0, 0);
    }
}

/// The lines of a job's image. They come from the checker; still, nothing outside the window is ever written.
///
/// # Safety
/// `slot` is a slot of the shared memory, and it is this server's turn.
pub(crate) unsafe fn image_lines(slot: *mut SlotHeader, mut each: impl FnMut(u64, *const u8)) {
    // SAFETY: what the caller promises.
    unsafe {
        each_line(slot, |offset, bytes| {
            if offset < window::LEN && offset.is_multiple_of(window::LINE) {
                each(offset, bytes);
            }
        });
    }
}

/// All lines that came with a job, whatever they are.
///
/// # Safety
/// `slot` is a slot of the shared memory, and it is this server's turn.
pub(crate) unsafe fn each_line(slot: *const SlotHeader, mut each: impl FnMut(u64, *const u8)) {
    // SAFETY: what the caller promises.
    unsafe {
        for i in 0..line_count(slot) {
            let (offset, bytes) = image_line(slot, i);
            each(offset, bytes);
        }
    }
}

/// Pages take their lines from the image when they are touched; sorted lines are found faster.
///
/// # Safety
/// `slot` is a slot of the shared memory, and it is this server's turn.
pub(crate) unsafe fn look_through_image(slot: *const SlotHeader) {
    let (mut sorted, mut last) = (true, 0);
    // SAFETY: what the caller promises.
    unsafe {
        for i in 0..line_count(slot) {
            let offset = image_line(slot, i).0;
            sorted &= last <= offset;
            last = offset;
        }
    }
    run().image_sorted.set(sorted);
}

/// # Safety
/// `slot` is a slot of the shared memory, and it is this server's turn.
unsafe fn line_count(slot: *const SlotHeader) -> u64 {
    const MOST: u64 = landfall_vocab::shared::IMAGE_LEN / landfall_vocab::shared::IMAGE_LINE;
    // SAFETY: what the caller promises.
    unsafe { (*slot).job.lines.min(MOST) }
}

/// # Safety
/// `slot` is a slot of the shared memory, and it is this server's turn.
unsafe fn image_line(slot: *const SlotHeader, index: u64) -> (u64, *const u8) {
    // SAFETY: what the caller promises.
    unsafe {
        let at = IMAGE_AT + index * landfall_vocab::shared::IMAGE_LINE;
        let line = (slot as *const u8).add(at as usize);
        ((line as *const u64).read_unaligned(), line.add(8))
    }
}

/// The lines of this run's image in the page at `start`. The checker sorts images; one that is not is searched whole.
///
/// # Safety
/// A run is on.
pub(crate) unsafe fn image_lines_of(start: u64, mut each: impl FnMut(u64, *const u8)) {
    // SAFETY: what the caller promises.
    unsafe {
        let slot = run().slot.get();
        let count = line_count(slot);
        let (mut from, mut to) = (0, count);
        while run().image_sorted.get() && from < to {
            let middle = (from + to) / 2;
            if image_line(slot, middle).0 < start {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        for i in from..count {
            let (offset, bytes) = image_line(slot, i);
            if offset.wrapping_sub(start) < window::PAGE && offset.is_multiple_of(window::LINE) {
                each(offset, bytes);
            } else if run().image_sorted.get() {
                return;
            }
        }
    }
}

/// The last instruction before the program's.
pub(crate) fn go() {
    server().mode.set(Mode::Running);
    run().quick.set(!run().stacks.get());
    dispatch::start();
}

/// The run is over and reported.
pub(crate) fn run_over() -> ! {
    dispatch::stop();
    crate::threads::leave();
    // SAFETY: the driver's stack is as `enter` has left it.
    unsafe {
        if server().in_place.get() {
            __lf_leave_run(server().driver_stack.get());
        }
    }
    sys::exit(0)
}
