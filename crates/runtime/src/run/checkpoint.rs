//! A checkpoint: schedules share what the program does before it creates its first thread, so that is executed once. Where the
//! resident process gets there with the second of several jobs that begin alike, it forks a *keeper*. The keeper serves this job and
//! those that follow: after each, it puts back what has changed since the first thread was created, and goes on from there with the
//! next. It leaves when a job begins in another way; the resident process, which has waited for it, forgets the run that it was in
//! and takes that job.
//!
//! Invariants: a run that goes on from the checkpoint leaves the trace that it would leave from `main` on, to the byte. All that is in
//! memory is put back page by page (`tracked`); what is in state of ours that is not on such pages, here. Where the run so far has left
//! something in the kernel, or told the checker something that it may want to hear again, there is no checkpoint.

use crate::memory::bytes;
use crate::memory::own::{allocate, place};
use crate::run::fork_server::{await_job, current, die_with, finish, wait};
use crate::run::restart::LEFT_FOR_FORK;
use crate::run::serve::{enter_again, go, leave_for, look_through_image, run_over};
use crate::run::shared::control;
use crate::run::tracked;
use crate::state::{Mode, Run, budget, run, server, watch, watching};
use crate::syscalls::dispatch;
use crate::syscalls::signals;
use crate::syscalls::sys;
use crate::threads;
use core::cell::Cell;
use core::mem::offset_of;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use landfall_vocab::digest;
use landfall_vocab::record::DigestSoFar;
use landfall_vocab::shared::{
    CHOICES_AT, End, IMAGE_AT, IMAGE_LINE, INPUTS_AT, InputValue, JobHeader, OUTPUT, SLOTS,
    STDERR_AT, STDIN_AT, STDOUT_AT, SlotHeader, TRACE_AT, job, slot_state, trace_kept,
};

/// What a beginning has to cost before keeping it is worth while: steps of loops and functions, and records.
const WORTH: u64 = 5_000;
/// Jobs in a row that begin alike before there is a keeper; twice as many after one that had next to nothing to do.
const FEW: u32 = 2;
const MANY: u32 = 1 << 12;
/// Bytes of image that are compared with every job.
const LARGEST_IMAGE: u64 = 1 << 20;
/// Whatever else a job asks for, it is served from `main`.
const UNDERSTOOD: u32 = job::THREADS
    | job::EVERYWHERE
    | job::TSO
    | job::PERSISTENCY
    | job::ANNOUNCED
    | job::PREEMPT_FIRST
    | job::CREATIONS
    | job::TURNS
    | job::SECTIONS
    | job::LEFTOVERS
    | job::STATE
    | job::MAPPINGS;

/// A keeper leaves: there is no checkpoint here after all; a run has done what cannot be put back; somebody else's job came.
const CANNOT_BE: i32 = 4;
const ABANDONED: i32 = 5;

/// What a process knows of checkpoints.
#[repr(C)]
pub(crate) struct Checkpoint {
    // The resident process.
    /// How the last job began, how many in a row did, and how many it takes.
    last: Cell<u64>,
    alike: Cell<u32>,
    wanted: Cell<u32>,
    /// There are none in this program.
    off: Cell<bool>,
    /// A keeper has served the job of the run that this process is in.
    handed_over: Cell<bool>,
    // The keeper.
    resident: Cell<isize>,
    /// It serves jobs from the checkpoint.
    keeps: Cell<bool>,
    /// Where the program was left.
    stack: Cell<usize>,
    kept: Cell<*mut KeptAside>,
}

/// What a keeper keeps beside pages.
#[repr(C)]
struct KeptAside {
    job: JobHeader,
    slot: *mut SlotHeader,
    run: *mut u8,
    main: *mut u8,
    watching: bool,
    budget: i64,
    steps: usize,
    // Of the job.
    image: *mut u8,
    stdin: *mut u8,
    inputs: *mut u8,
    choices: *mut u8,
    // Of the slot.
    outcome: *mut u8,
    opaque: u32,
    stdout: *mut u8,
    stderr: *mut u8,
    trace: *mut u8,
    trace_length: u64,
    digest: DigestSoFar,
    /// The trace of this slot begins with all of that.
    begins: [bool; SLOTS],
}

fn state() -> &'static Checkpoint {
    &server().checkpoint
}

/// The one thread that there is creates the first other one.
pub(crate) fn reached() {
    let state = state();
    if !server().in_place.get() || state.keeps.get() || state.off.get() || !is_worth_while() {
        return;
    }
    let this = beginning();
    let alike = match state.last.replace(this) == this {
        true => state.alike.get().saturating_add(1),
        false => 1,
    };
    state.alike.set(alike);
    if alike >= state.wanted.get().max(FEW) && is_sound() {
        take();
    }
}

fn is_worth_while() -> bool {
    let job = crate::run::shared::job();
    let steps = (job.budget - budget().get()).max(0) as u64;
    steps + crate::run::trace::length() / 24 >= WORTH
}

/// How a job begins, roughly.
fn beginning() -> u64 {
    let job = crate::run::shared::job();
    [
        u64::from(job.flags),
        u64::from(job.told),
        job.lines,
        job.inputs,
    ]
    .into_iter()
    .fold(digest::NOTHING, digest::with)
}

/// Is all that the run has done so far in memory of this process, or in its slot?
fn is_sound() -> bool {
    let (run, job) = (run(), crate::run::shared::job());
    // SAFETY: a run has a slot from its beginning.
    let squeezed = unsafe { (*run.slot.get()).squeezed != 0 };
    let files = run.opened.get()
        || run.moved.get()
        || run.used_files.get() != 0
        || run.mapped_files.get() != 0
        || run.shared_count.get() != 0
        || !run.overlay.is_empty()
        || !run.channels.is_empty()
        || control().client_len != 0;
    let memory = !run.mappings.is_empty()
        || run.guards.get() != 0
        || !matches!(run.scratch.get(), 0 | place::SCRATCH)
        || crate::memory::unannounced::is_open();
    // Whoever looks for values may ask for them again.
    let asked = run.inputs[0].get() != 0 || run.waits[0].get() != 0 || run.wakes.get() != 0;
    let odd = job.flags & !UNDERSTOOD != 0
        || job.dice != 0
        || job.lines * IMAGE_LINE > LARGEST_IMAGE
        || server().acted.get()
        || !run.call.get().is_none()
        || threads::forked::several();
    !(squeezed || files || memory || asked || odd)
}

/// Forks a keeper and waits until it leaves. Comes back to go on from here: here, if there is none; in the keeper, once for each job.
fn take() {
    let state = state();
    let own = sys::call(libc::SYS_getpid, []);
    let went_on = control().went_on.load(Relaxed);
    let keeper = sys::call(libc::SYS_fork, []);
    if keeper < 0 {
        state.off.set(true);
        return;
    }
    if keeper == 0 {
        state.resident.set(own);
        return leave_for(keep, state.stack.as_ptr());
    }
    control().child_pid.store(keeper as u32, Release);
    let status = wait(keeper);
    control().child_pid.store(own as u32, Release);
    if status == CANNOT_BE << 8 {
        state.off.set(true);
        return;
    }
    state.off.set(status == ABANDONED << 8);
    let left = [LEFT_FOR_FORK, ABANDONED].contains(&(status >> 8)) && status & 0xff == 0;
    let slot = current();
    // SAFETY: slots are in shared memory, and the current one is the server's until it is handed back.
    unsafe {
        if !left && (*slot).state.load(Relaxed) == slot_state::RUNNING {
            // It died in the middle of this run: that is the run's outcome.
            (*slot).outcome.end = End::Died as u32;
            (*slot).outcome.code = status;
            finish(slot);
        }
    }
    let wanted = state.wanted.get().max(FEW);
    state
        .wanted
        .set(match control().went_on.load(Relaxed) - went_on {
            0..8 => (2 * wanted).min(MANY),
            _ => FEW,
        });
    state.alike.set(0);
    state.handed_over.set(true);
    server().mode.set(Mode::Serving);
    run().quick.set(false);
    run_over()
}

/// Has a keeper served the job of the run that was just left? Asked once.
pub(crate) fn handed_over() -> bool {
    state().handed_over.replace(false)
}

/// A keeper cannot put together what a checkpoint needs.
pub(crate) fn cannot_be() {
    if state().resident.get() != 0 {
        sys::exit(CANNOT_BE);
    }
}

/// The run does what a keeper cannot put back: it is repeated from `main`, and so are all later ones.
pub(crate) fn abandon() {
    if state().keeps.get() {
        // SAFETY: a run has a slot from its beginning.
        unsafe { (*run().slot.get()).state.store(slot_state::POSTED, Release) };
        sys::exit(ABANDONED);
    }
}

/// The digest of what all traces begin with here.
pub(crate) fn digest() -> DigestSoFar {
    match state().kept.get().is_null() {
        true => DigestSoFar::default(),
        // SAFETY: what was kept stays.
        false => unsafe { (*state().kept.get()).digest },
    }
}

/// A keeper's life, on the driver's stack.
extern "C" fn keep() -> ! {
    let state = state();
    server().mode.set(Mode::Serving);
    die_with(state.resident.get());
    signals::start_ticking();
    if !dispatch::enable() {
        sys::exit(CANNOT_BE);
    }
    tracked::snapshot_here();
    // SAFETY: the run is in a slot, and nobody else has this state.
    unsafe {
        let kept = allocate(size_of::<KeptAside>()) as *mut KeptAside;
        (*kept).fill();
        state.kept.set(kept);
        tracked::protect();
        state.keeps.set(true);
        let mut slot = (*kept).slot;
        loop {
            go();
            enter_again(state.stack.get());
            control().restarts.fetch_add(1, Relaxed);
            control().went_on.fetch_add(1, Relaxed);
            if (*slot).outcome.end == End::NeedsFork as u32 {
                abandon();
            }
            finish(slot);
            put_back();
            slot = await_job();
            if !(*kept).begins_alike(slot) {
                (*slot).state.store(slot_state::POSTED, Release);
                sys::exit(LEFT_FOR_FORK);
            }
            (*kept).begin(slot);
        }
    }
}

/// Pages, and what the kernel has of the run.
fn put_back() {
    tracked::restore();
    crate::memory::unannounced::close_pages();
    run().mappings.undo();
    if run().opened.get() {
        tracked::close_descriptors();
    }
}

/// # Safety
/// So many bytes can be read there.
unsafe fn copied(from: *const u8, length: usize) -> *mut u8 {
    let to = allocate(length.max(8));
    // SAFETY: what the caller promises.
    unsafe { bytes::copy(to, from, length) };
    to
}

/// What of a job says how its run begins: all but its schedule. A range of bytes each.
const ALIKE: [(usize, usize); 3] = [
    (0, offset_of!(JobHeader, choices)),
    (offset_of!(JobHeader, inputs), offset_of!(JobHeader, steps)),
    (offset_of!(JobHeader, dice), size_of::<JobHeader>()),
];

impl KeptAside {
    /// # Safety
    /// A run of one thread is in the slot that it says.
    unsafe fn fill(&mut self) {
        // SAFETY: what the caller promises; slots are as long as that.
        unsafe {
            self.slot = run().slot.get();
            let (slot, base) = (self.slot, self.slot as *const u8);
            let job = &raw const (*slot).job;
            bytes::copy(
                (&raw mut self.job).cast(),
                job.cast(),
                size_of::<JobHeader>(),
            );
            self.run = copied((&raw const *run()).cast(), size_of::<Run>());
            let (main, length) = threads::main_context();
            self.main = copied(main, length);
            (self.watching, self.budget) = (watching(), budget().get());
            self.steps = threads::steps_taken() as usize;
            self.image = copied(base.add(IMAGE_AT as usize), image_length(job));
            self.stdin = copied(base.add(STDIN_AT as usize), (*job).stdin_len as usize);
            self.inputs = copied(base.add(INPUTS_AT as usize), inputs_length(job));
            let chosen = self.steps.min((*job).choices as usize);
            self.choices = copied(base.add(CHOICES_AT as usize), 2 * chosen);
            let outcome = &raw const (*slot).outcome;
            self.outcome = copied(outcome.cast(), size_of_val(&*outcome));
            self.opaque = (*slot).opaque;
            let most = |length: u64| length.min(OUTPUT) as usize;
            let stdout = base.add(STDOUT_AT as usize);
            self.stdout = copied(stdout, most((*outcome).stdout_len));
            let stderr = base.add(STDERR_AT as usize);
            self.stderr = copied(stderr, most((*outcome).stderr_len));
            self.trace_length = (*slot).trace_len.load(Acquire);
            let length = self.trace_length as usize;
            self.trace = copied(base.add(TRACE_AT as usize), length);
            self.digest = DigestSoFar::default();
            self.digest
                .take(core::slice::from_raw_parts(self.trace, length));
        }
    }

    /// Would a run of this job come here as the kept one did?
    ///
    /// # Safety
    /// `slot` is a slot of the shared memory, and it is this server's turn.
    unsafe fn begins_alike(&self, slot: *const SlotHeader) -> bool {
        // SAFETY: what the caller promises; what was kept is as long.
        unsafe {
            let job = &raw const (*slot).job;
            let own = &raw const self.job;
            let same_job = ALIKE.iter().all(|&(from, to)| {
                let (this, that) = (job.cast::<u8>().add(from), own.cast::<u8>().add(from));
                bytes::equal(this, that, to - from)
            });
            let at = |at: u64| (slot as *const u8).add(at as usize);
            // Where a run chose for itself on the way, others may be asleep another time.
            let chosen = (*job).choices as usize >= self.steps
                && self.job.choices as usize >= self.steps
                || self.steps == 0;
            let kept = (*job).keep as usize >= self.steps;
            same_job
                && chosen
                && kept
                && bytes::equal(at(CHOICES_AT), self.choices, 2 * self.steps)
                && bytes::equal(at(IMAGE_AT), self.image, image_length(job))
                && bytes::equal(at(STDIN_AT), self.stdin, (*job).stdin_len as usize)
                && bytes::equal(at(INPUTS_AT), self.inputs, inputs_length(job))
        }
    }

    /// The run of this job is where the first thread is created: memory is as it was there, and so is all else.
    ///
    /// # Safety
    /// `slot` is a slot of the shared memory, and it is this server's turn.
    unsafe fn begin(&mut self, slot: *mut SlotHeader) {
        // SAFETY: what the caller promises; what was kept is as long.
        unsafe {
            let base = slot as *mut u8;
            let to = |at: u64| base.add(at as usize);
            let run_now = (&raw const *run()).cast_mut().cast::<u8>();
            bytes::copy(run_now, self.run, size_of::<Run>());
            let run = run();
            run.slot.set(slot);
            run.trace.set(to(TRACE_AT));
            run.output.set([to(STDOUT_AT), to(STDERR_AT)]);
            if self.job.stdin_len != 0 {
                let read = run.input.get() as usize - self.slot as usize;
                run.input.set(base.add(read));
            }
            let (main, length) = threads::main_context();
            bytes::copy(main, self.main, length);
            budget().set(self.budget);
            look_through_image(slot);
            watch(self.watching);
            threads::begin_again();

            let outcome = &raw mut (*slot).outcome;
            bytes::copy(outcome.cast(), self.outcome, size_of_val(&*outcome));
            let most = |length: u64| length.min(OUTPUT) as usize;
            bytes::copy(to(STDOUT_AT), self.stdout, most((*outcome).stdout_len));
            bytes::copy(to(STDERR_AT), self.stderr, most((*outcome).stderr_len));
            ((*slot).squeezed, (*slot).opaque) = (0, self.opaque);
            ((*slot).kept, (*slot).kept_digest, (*slot).final_state) = (0, 0, 0);
            // Runs go on behind it, and nobody else has this slot as long as there is a keeper.
            let index = crate::run::shared::slot_index();
            if !self.begins[index] || self.trace_length > trace_kept(index) {
                bytes::copy(to(TRACE_AT), self.trace, self.trace_length as usize);
                self.begins[index] = true;
            }
            (*slot).trace_len.store(self.trace_length, Relaxed);
        }
    }
}

/// # Safety
/// A job is there.
unsafe fn image_length(job: *const JobHeader) -> usize {
    // SAFETY: what the caller promises.
    unsafe { ((*job).lines * IMAGE_LINE).min(LARGEST_IMAGE) as usize }
}

/// # Safety
/// A job is there.
unsafe fn inputs_length(job: *const JobHeader) -> usize {
    const MOST: u64 = landfall_vocab::shared::MOST_INPUTS as u64;
    // SAFETY: what the caller promises.
    unsafe { (*job).inputs.min(MOST) as usize * size_of::<InputValue>() }
}
