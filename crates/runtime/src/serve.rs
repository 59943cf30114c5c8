//! Serving runs: what is set up once per server and once per run, and how a run begins and ends.

use crate::clock;
use crate::dispatch;
use crate::forkserver;
use crate::random;
use crate::signals;
use crate::sites;
use crate::state::{Mode, budget, place, state};
use crate::sys;
use crate::vdso;
use core::arch::{asm, global_asm};
use core::sync::atomic::Ordering::{Relaxed, Release};
use landfall_vocab::shared::{
    End, IMAGE_AT, SLOT_LEN, SLOTS_AT, STDERR_AT, STDIN_AT, STDOUT_AT, SlotHeader, TRACE_AT,
    TRACE_LEN, job, phase,
};
use landfall_vocab::window;

// Entering a run: keep what the driver needs on its own stack, continue on the stack of the run. Leaving is the way back,
// from wherever the program is.
global_asm!(
    ".globl __lf_enter_run",
    "__lf_enter_run:", // rdi: stack of the run, rsi: where to keep ours, rdx: what to call
    "push rbp",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "sub rsp, 8",
    "stmxcsr [rsp]",
    "fnstcw [rsp+4]",
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
    "add rsp, 8",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    "ret",
);

unsafe extern "C" {
    fn __lf_enter_run(stack: usize, keep: *mut usize, target: usize);
    fn __lf_leave_run(kept: usize) -> !;
}

/// The server's normal place: right before `main`. Never returns; children leave through the end of their run.
pub(crate) unsafe fn from_main() -> ! {
    let state = state();
    map_stack();
    prepare();
    ((*state).stack_low, (*state).stack_high) = (place::STACK, place::STACK + place::STACK_LEN);
    forkserver::serve(forkserver::Place::BeforeMain);
    // Only a process with a run to do comes back here.
    enter();
    sys::exit(125)
}

/// Runs `main` on the stack of the run; comes back only in place.
pub(crate) unsafe fn enter() {
    let top = place::STACK + place::STACK_LEN - 64;
    let keep = &raw mut (*state()).driver_stack;
    __lf_enter_run(top, keep, crate::start::call_main as *const () as usize);
}

/// A constructor touched persistent memory: serve from there, so that it does so again in every run. The child continues the
/// constructor on the original stack.
pub(crate) unsafe fn from_constructor() {
    let state = state();
    (*(*state).control)
        .isolation
        .store(landfall_vocab::shared::isolation::FORK, Relaxed);
    prepare();
    let here: usize;
    asm!("mov {}, rsp", out(reg) here, options(nomem, nostack));
    ((*state).stack_low, (*state).stack_high) = (here & !0xffff, stack_end());
    forkserver::serve(forkserver::Place::Constructor);
    // Only a process with a run to do comes back here.
    crate::threads::held::take_again();
}

unsafe fn stack_end() -> usize {
    unsafe extern "C" {
        static __libc_stack_end: usize;
    }
    __libc_stack_end + 64
}

unsafe fn map_stack() {
    let start = place::STACK - place::GUARD;
    if sys::map(start, place::STACK_LEN + place::GUARD).is_none() {
        crate::start::refuse(c"no room for the stack of a run");
    }
    sys::call(
        libc::SYS_mprotect,
        [start, place::GUARD, libc::PROT_NONE as usize],
    );
}

unsafe fn prepare() {
    let state = state();
    let control = (*state).control;
    (*state).mode = Mode::Serving;
    crate::walk::note_directory();
    crate::watch::close_window();
    take_input();
    sites::publish();
    signals::install();
    if !vdso::redirect() {
        crate::start::refuse(
            c"the kernel's vdso cannot be redirected, so time cannot be controlled",
        );
    }
    clock::trap_timestamps();
    fix_thread_id();
    let single = libc::dlsym(libc::RTLD_DEFAULT, c"__libc_single_threaded".as_ptr());
    (*state).single_threaded = single as usize;
    if !crate::threads::prepare() {
        crate::start::refuse(c"no room for the stacks of threads");
    }
    // Now, not when a run first allocates: then one in a fork would do it, and one in place would not.
    if crate::blocks::on() && !crate::heap::shadowed() {
        crate::start::refuse(c"no room for the shadow of the heap");
    }
    drop_rseq();
    redirect_exit();
    forkserver::init();
    watch_terminate();
    (*control)
        .server_pid
        .store(sys::call(libc::SYS_getpid, []) as u32, Relaxed);
    (*control).phase.store(phase::SERVING, Release);
    sys::call(
        libc::SYS_futex,
        [
            &raw const (*control).phase as usize,
            libc::FUTEX_WAKE as usize,
            1,
        ],
    );
}

/// Standard input is the same for every run, from where constructors have left it. Nobody moves a position in it any more.
unsafe fn take_input() {
    let state = state();
    let length = (*(*state).control).stdin_len;
    if length == 0 {
        return;
    }
    let at = sys::call(libc::SYS_lseek, [0, 0, libc::SEEK_CUR as usize]);
    let flags = (libc::MAP_PRIVATE | libc::MAP_FIXED_NOREPLACE) as usize;
    let read = libc::PROT_READ as usize;
    let mapped = sys::call(
        libc::SYS_mmap,
        [place::INPUT, length as usize, read, flags, 0, 0],
    );
    if mapped as usize != place::INPUT || at < 0 {
        crate::start::refuse(c"standard input cannot be mapped");
    }
    let at = (at as u64).min(length);
    (*state).given = (place::INPUT + at as usize, length - at);
    let nothing = c"/dev/null".as_ptr() as usize;
    let nothing = sys::call(libc::SYS_open, [nothing, libc::O_RDONLY as usize]);
    if nothing > 0 {
        sys::call(libc::SYS_dup2, [nothing as usize, 0]);
        sys::call(libc::SYS_close, [nothing as usize]);
    }
}

/// The kernel writes the processor's number into the thread descriptor on every migration: not the same in every run, and
/// fatal on a write-protected page (RUNTIME.md). Without it libc asks `getcpu`, which is ours.
unsafe fn drop_rseq() {
    const SIGNATURE: usize = 0x5305_3053;
    const UNREGISTER: usize = 1;
    let offset = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()) as *const isize;
    if offset.is_null() {
        return;
    }
    let area = (*state()).thread_pointer.wrapping_add_signed(*offset);
    if sys::call(libc::SYS_rseq, [area, 32, UNREGISTER, SIGNATURE]) == 0 {
        crate::bytes::fill(area as *mut u8, 0, 32);
        *((area + 4) as *mut i32) = -2; // registration failed, as far as libc knows
    }
}

/// libc's `_exit` jumps straight to the end of the run: a trapped system call less for every run (2 µs).
unsafe fn redirect_exit() {
    let exit = libc::dlsym(libc::RTLD_NEXT, c"_exit".as_ptr()) as usize;
    let all = (libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) as usize;
    let page = exit & !4095;
    if exit != 0 && sys::call(libc::SYS_mprotect, [page, 8192, all]) == 0 {
        crate::vdso::jump(exit as *mut u8, exited as *const () as usize);
        sys::call(
            libc::SYS_mprotect,
            [page, 8192, (libc::PROT_READ | libc::PROT_EXEC) as usize],
        );
    }
}

unsafe extern "C" fn exited(code: i32) -> ! {
    crate::outcome::end(
        End::Exited,
        crate::outcome::Report {
            code: code & 0xff,
            ..Default::default()
        },
    )
}

/// libc keeps the kernel's thread id in the thread descriptor and writes it into every mutex it locks, which may lie in
/// persistent memory: give it the number that `gettid` will answer.
unsafe fn fix_thread_id() {
    let thread: usize;
    asm!("mov {}, fs:[16]", out(reg) thread, options(nostack, preserves_flags));
    (*state()).thread_pointer = thread;
    let id = sys::call(libc::SYS_gettid, []) as u32;
    for at in (0x200..0x400).step_by(4) {
        let field = (thread + at) as *mut u32;
        if *field == id {
            *field = 1000;
            (*state()).thread_id_at = at;
            return;
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
unsafe fn watch_terminate() {
    if let Some(set) = __lf_set_terminate() {
        set(crate::outcome::terminate as *const () as usize);
    }
}

pub(crate) unsafe fn slot(index: usize) -> *mut SlotHeader {
    ((*state()).control as usize + (SLOTS_AT + index as u64 * SLOT_LEN) as usize) as *mut SlotHeader
}

/// Everything a run starts from. Resetting is writing all of it.
pub(crate) unsafe fn begin(slot: *mut SlotHeader) {
    let state = state();
    let base = slot as *mut u8;
    if (*state).scratch != 0 {
        (*state).scratch = place::SCRATCH;
    }
    (*state).opened = false;
    crate::bytes::fill(
        &raw mut (*state).listings as *mut u8,
        0,
        size_of::<crate::directory::Listings>(),
    );
    let job = (*slot).job;
    (*state).slot = slot;
    (*state).trace = base.add(TRACE_AT as usize);
    (*state).trace_end = job.trace_limit.min(TRACE_LEN);
    (*state).trace_limit = (*state).trace_end.min(crate::log::FIRST_PART);
    (*slot).squeezed = 0;
    (*state).squeeze_at = match job.flags & job::READS_ONLY {
        0 => u64::MAX,
        _ => crate::squeeze::FIRST,
    };
    (*state).output = [base.add(STDOUT_AT as usize), base.add(STDERR_AT as usize)];
    (*state).output_limit = job.output_limit.min(landfall_vocab::shared::OUTPUT);
    (*state).input = base.add(STDIN_AT as usize);
    (*state).input_left = job.stdin_len.min(landfall_vocab::shared::OUTPUT);
    if job.stdin_len == 0 {
        (*state).input = (*state).given.0 as *const u8;
        (*state).input_left = (*state).given.1;
    }
    ((*state).failures, (*state).memory) = (job.failures, job.memory);
    (*state).stacks = job.flags & job::STACKS != 0;
    (*state).last_stack = 0;
    (*state).last_locked = 0;
    (*state).aside = false;
    (*state).foreign = Default::default();
    (*state).watch.reset();
    ((*state).region_len, (*state).mapped_files) = (0, 0);
    (*state).reach = crate::files::Reach::NONE;
    ((*state).used_files, (*state).umask) = (0, 0o022);
    ((*state).shared_count, (*state).directory.length) = (0, 0);
    (*state).overlay.reset();
    (*state).call = dispatch::Current::NONE;
    (*state).guards.forget();
    crate::bytes::fill(
        &raw mut (*state).pool_holders as *mut u8,
        0,
        size_of_val(&(*state).pool_holders),
    );
    // After a power failure the heaps are there from the start: a recovery may follow a pointer before it allocates anything.
    let again = job.failures > 0;
    ((*state).heap_used, (*state).malloc_used) = (again, again);
    ((*state).written, (*state).mask, (*state).mapped_bytes) = (0, 0, 0);
    ((*state).ticks, (*state).faults) = (0, signals::Faults::NONE);
    (*state).descriptors.reset();
    crate::bytes::fill(
        &raw mut (*state).actions as *mut u8,
        0,
        size_of_val(&(*state).actions),
    );
    clock::reset();
    random::reset((*(*state).control).seed);
    crate::state::watch(false);
    crate::threads::begin(job.flags, job.dice);
    crate::repeats::begin();
    *budget() = job.budget;
    (*state).tick_budget = job.budget;

    let outcome = &raw mut (*slot).outcome;
    (*outcome).end = End::Died as u32;
    (*outcome).code = 0;
    ((*outcome).address, (*outcome).pc, (*outcome).site) = (0, 0, 0);
    ((*outcome).stdout_len, (*outcome).stderr_len) = (0, 0);
    (*outcome).foreign = Default::default();
    (
        (*outcome).audit_bytes,
        (*outcome).frames,
        (*outcome).text_len,
    ) = (0, 0, 0);
    (*outcome).isolation = (*state).in_place as u32;
    (*outcome).read_input = 0;
    (*slot).trace_len.store(0, Relaxed);
    ((*slot).kept, (*slot).kept_digest) = (0, 0);
}

/// The lines of a job's image. They come from the checker; still, nothing outside the window is ever written.
pub(crate) unsafe fn image_lines(slot: *mut SlotHeader, mut each: impl FnMut(u64, *const u8)) {
    for i in 0..line_count(slot) {
        let (offset, bytes) = image_line(slot, i);
        if offset < window::LEN && offset.is_multiple_of(window::LINE) {
            each(offset, bytes);
        }
    }
}

/// Pages take their lines from the image when they are touched; sorted lines are found faster.
pub(crate) unsafe fn look_through_image(slot: *const SlotHeader) {
    let (mut sorted, mut last) = (true, 0);
    for i in 0..line_count(slot) {
        let offset = image_line(slot, i).0;
        sorted &= last <= offset;
        last = offset;
    }
    (*state()).image_sorted = sorted;
}

unsafe fn line_count(slot: *const SlotHeader) -> u64 {
    const MOST: u64 = landfall_vocab::shared::IMAGE_LEN / landfall_vocab::shared::IMAGE_LINE;
    (*slot).job.lines.min(MOST)
}

unsafe fn image_line(slot: *const SlotHeader, index: u64) -> (u64, *const u8) {
    let at = IMAGE_AT + index * landfall_vocab::shared::IMAGE_LINE;
    let line = (slot as *const u8).add(at as usize);
    ((line as *const u64).read_unaligned(), line.add(8))
}

/// The lines of this run's image in the page at `start`. The checker sorts images; one that is not is searched whole.
pub(crate) unsafe fn image_lines_of(start: u64, mut each: impl FnMut(u64, *const u8)) {
    let slot = (*state()).slot;
    let count = line_count(slot);
    let (mut from, mut to) = (0, count);
    while (*state()).image_sorted && from < to {
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
        } else if (*state()).image_sorted {
            return;
        }
    }
}

/// The last instruction before the program's.
pub(crate) unsafe fn go() {
    (*state()).mode = Mode::Running;
    (*state()).quick = !(*state()).stacks;
    dispatch::start();
}

/// The run is over and reported.
pub(crate) unsafe fn run_over() -> ! {
    let state = state();
    dispatch::stop();
    crate::threads::leave();
    if (*state).in_place {
        __lf_leave_run((*state).driver_stack);
    }
    sys::exit(0)
}
