//! Threads as contexts on the one kernel thread (docs/design/runtime.md): every switch is ours, so every schedule can be repeated.
//!
//! A thread announces what it is about to do (`steps::point`), and goes on when it is chosen and its step is possible. What
//! libc would keep inside its locks is kept here, in `objects`, by address.

mod barrier;
mod block;
mod c11;
pub(crate) mod channel_calls;
mod cleanup;
mod clone;
mod condition;
pub(crate) mod constructor_locks;
mod context;
mod descriptor;
pub(crate) mod direct;
mod draw;
mod fences;
pub(crate) mod forked;
pub(crate) mod frames;
mod futex;
pub(crate) mod given_stacks;
mod identity;
pub(crate) mod leftovers;
mod lifecycle;
mod mappings;
mod mutex;
mod object_lifetime;
mod objects;
mod once;
pub(crate) mod pthread;
pub(crate) mod raw_clone;
mod repeated;
mod replaced;
mod rwlock;
pub(crate) mod said;
mod section;
mod semaphore;
mod sending;
mod sets;
pub(crate) mod signals;
mod sleep_sets;
mod std_future;
mod std_thread;
pub(crate) mod stepped;
mod steps;
mod store_buffer;
mod thread_specific;
pub(crate) mod transactions;
pub(crate) mod trusted;
mod turns;
pub(crate) mod unsafe_calls;
pub(crate) mod unseen;
pub(crate) mod unseen_files;
pub(crate) mod visible;
pub(crate) mod wakes;

use crate::memory::heap::Heap;
use crate::memory::own::allocate;
use crate::memory::shadow::{is_persistent, touch_span, view};
use crate::run::shared;
use crate::run::trace::{self, Origin};
use crate::state::{Mode, run, server, watch, watching};
use context::Context;
use core::cell::Cell;
use landfall_vocab::record::{RecordKind, step};
use landfall_vocab::shared::{End, JobHeader, MOST_PROCESSES, MOST_THREADS, job};
use objects::Objects;

pub(crate) use context::{all_stacks, in_guard};
pub(crate) use descriptor::all as all_descriptors;
pub(crate) use sets::ThreadSet;

pub(crate) use thread_specific::MOST_KEYS;

/// Contexts of a run, main included.
pub(crate) const MOST: usize = MOST_THREADS;

/// Everything about the threads of one run.
#[repr(C)]
pub(crate) struct Threads {
    on: Cell<bool>,
    /// Plain accesses are steps as well.
    everywhere: Cell<bool>,
    /// Threads have store buffers.
    buffered: Cell<bool>,
    /// The number of the first store buffer among processes, and how many streams each thread has.
    companions: Cell<u16>,
    streams: Cell<u8>,
    /// Words that sets of processes, and of the threads that there are, need.
    words: Cell<usize>,
    thread_words: Cell<usize>,
    /// Stores to persistent memory, flushes and fences are steps.
    persistency: Cell<bool>,
    /// Steps are announced with their call stacks.
    announced: Cell<bool>,
    /// And with where on their stacks variables are.
    named: Cell<bool>,
    /// Turns in vain happen where the job says so.
    turns_happen: Cell<bool>,
    /// What turns in vain leave behind is overlooked. Main is alone, and only looked at because it may read that.
    leftovers: Cell<bool>,
    only_main: Cell<bool>,
    /// Creating a thread is a step.
    creations: Cell<bool>,
    /// Memory is taken away while there are others: issuing a store is a step.
    mappings: Cell<bool>,
    /// The running thread has just taken some away.
    remapped: Cell<bool>,
    policy: Cell<steps::Policy>,
    /// A thread ended the process; what others still do is looked at, as if they had been faster.
    over: Cell<bool>,
    /// Critical sections are single steps; the lock of the one that the running thread is in, or zero.
    sections: Cell<bool>,
    section: Cell<usize>,
    /// A condition was signalled in it.
    section_signals: Cell<bool>,
    /// A debugger looks on, and stops at an access.
    stops: Cell<bool>,
    /// Some thread is, or was, in a function that is trusted.
    trusting: Cell<bool>,
    /// Atomic blocks that the running thread is in, one inside of the other.
    block: Cell<u32>,
    /// It is in a hardware transaction, which is one, too.
    transacting: Cell<bool>,
    /// Threads other than main that nobody has joined.
    apart: Cell<usize>,
    current: Cell<usize>,
    count: Cell<usize>,
    /// The access that is just being made; of no bytes for none.
    pending: Cell<visible::Access>,
    /// Signals that arrive at any time, and timers that send them.
    signals: signals::Signals,
    timers: sending::Timers,
    /// Processes that the program forked.
    family: forked::Family,
    /// Decisions taken so far.
    steps: Cell<usize>,
    /// Threads that have not ended; of those, whose next step is no choice, and whose is possible whatever happens.
    ready: ThreadSet,
    eager: ThreadSet,
    free: ThreadSet,
}

/// What the threads of all runs use, one run after the other.
#[repr(C)]
pub(crate) struct Tables {
    descriptors: descriptor::Descriptors,
    contexts: [Context; MOST],
    /// Threads whose stacks have a guard below them.
    guarded: ThreadSet,
    /// Contexts that the last run with threads has used.
    used: Cell<usize>,
    objects: Cell<*mut Objects>,
    buffers: Cell<*mut store_buffer::Buffers>,
    turns: Cell<*mut turns::AllTurns>,
    stored: Cell<*mut leftovers::Stored>,
    repeated: Cell<*mut repeated::Repeated>,
    undo: Cell<*mut block::Undo>,
    transaction: Cell<*mut transactions::Transaction>,
    frames: Cell<*mut frames::Frames>,
    signal_infos: signals::SignalInfos,
    /// The top of the stack on which is decided who goes on.
    deciding: Cell<usize>,
    /// Who can take the next step, while that is decided; and who of them is awake.
    enabled: sets::ProcessSet,
    awake: sets::ProcessSet,
    /// Threads and store buffers that are not chosen where nobody says.
    asleep: sleep_sets::Asleep,
    /// How often steps have drawn, where they have ranks.
    drawn: draw::Drawn,
}

/// Are the threads of this run under control?
#[inline(always)]
pub(crate) fn on() -> bool {
    run().threads.on.get() && server().mode.get() as u8 == Mode::Running as u8
}

fn threads() -> &'static Threads {
    &run().threads
}

fn tables() -> &'static Tables {
    &server().threads
}

fn objects() -> &'static Objects {
    // SAFETY: allocated by `prepare`, before any run, all zero; never freed.
    unsafe { &*tables().objects.get() }
}

/// Once per server.
pub(crate) fn prepare() -> bool {
    tables()
        .objects
        .set(allocate(size_of::<Objects>()) as *mut Objects);
    tables()
        .buffers
        .set(allocate(size_of::<store_buffer::Buffers>()) as *mut store_buffer::Buffers);
    tables()
        .repeated
        .set(allocate(size_of::<repeated::Repeated>()) as *mut repeated::Repeated);
    tables()
        .undo
        .set(allocate(size_of::<block::Undo>()) as *mut block::Undo);
    tables().transaction.set(transactions::prepare());
    tables()
        .turns
        .set(allocate(size_of::<turns::AllTurns>()) as *mut turns::AllTurns);
    tables()
        .stored
        .set(allocate(size_of::<leftovers::Stored>()) as *mut leftovers::Stored);
    tables()
        .frames
        .set(allocate(size_of::<frames::Frames>()) as *mut frames::Frames);
    server()
        .heaps
        .set(allocate(size_of::<[Heap; MOST]>()) as *mut [Heap; MOST]);
    tables().deciding.set(context::deciding_stack());
    descriptor::prepare();
    context::map_stacks()
}

/// At the start of a run, when all about its threads is zero: main is the only context.
pub(crate) fn begin(job: &JobHeader) {
    if job.flags & job::THREADS == 0 {
        return;
    }
    let threads = threads();
    threads.on.set(true);
    threads.everywhere.set(job.flags & job::EVERYWHERE != 0);
    threads.buffered.set(job.flags & job::TSO != 0);
    threads.persistency.set(job.flags & job::PERSISTENCY != 0);
    threads.announced.set(job.flags & job::ANNOUNCED != 0);
    threads.named.set(job.flags & job::NAMED != 0);
    threads.turns_happen.set(job.flags & job::TURNS != 0);
    threads.leftovers.set(job.flags & job::LEFTOVERS != 0);
    let companions = job.companions.clamp(1, MOST as u32);
    threads.companions.set(companions as u16);
    let room = MOST_PROCESSES as u32 / companions - 2;
    let streams = job.streams.min(room).min(store_buffer::LINES as u32);
    threads.streams.set(streams as u8);
    let processes = companions * (2 + streams);
    threads.words.set(sets::words(processes as usize));
    threads.thread_words.set(1);
    threads
        .stops
        .set(job.flags & job::SHOW != 0 && job.stop_origin != 0);
    threads.creations.set(job.flags & job::CREATIONS != 0);
    threads.mappings.set(job.flags & job::MAPPINGS != 0);
    threads.remapped.set(false);
    threads.sections.set(job.flags & job::SECTIONS != 0);
    threads.policy.set(steps::Policy::of(job));
    // Only threads of the last run have left anything behind.
    let before = tables().used.replace(1);
    store_buffer::begin(before);
    turns::begin(before);
    threads.count.set(1);
    threads.ready.insert(0);
    tables().contexts[0].begin_main();
    objects().reset();
    sleep_sets::begin();
    repeated::begin();
    frames::begin(0);
    signals::begin(job.flags);
    if threads.persistency.get() {
        watch(true);
    }
}

/// The number of the running thread; 0 where threads are not under control.
#[inline(always)]
pub(crate) fn current() -> usize {
    if on() { threads().current.get() } else { 0 }
}

/// The main thread's context, and how much of it there is: what a run of one thread has in tables that last.
pub(crate) fn main_context() -> (*mut u8, usize) {
    let main = &raw const tables().contexts[0];
    (main.cast_mut().cast(), size_of::<Context>())
}

/// A run goes on from where it has one thread, with a job of its own.
pub(crate) fn begin_again() {
    tables().used.set(1);
    sleep_sets::begin();
}

/// Could another thread still do something?
pub(crate) fn others_alive() -> bool {
    let me = threads().current.get();
    on() && threads().ready.has_others(me, threads().thread_words.get())
}

/// Could anyone but the running thread go on now?
pub(crate) fn others_may_go_on() -> bool {
    on() && steps::others_may_go_on()
}

/// Descriptors of the threads of this run.
pub(crate) fn used_descriptors() -> (usize, usize) {
    descriptor::of_first(threads().count.get())
}

/// Steps that were taken in this run.
pub(crate) fn steps_taken() -> u64 {
    threads().steps.get() as u64
}

/// Where the running thread's stack begins and ends.
pub(crate) fn stack() -> (usize, usize) {
    tables().contexts[threads().current.get()].stack.get()
}

/// The running thread ends the process. If others could go on they do, and this returns their turn: what they do is what they
/// could have done before.
pub(crate) fn ends_process(end: End, code: i32) {
    if on() && is_own(end) {
        section::breaks();
        let code = u64::from(code as u32);
        let me = threads().current.get();
        trace::ended(me, end as u64 | code << 32, repeated::last(me));
    }
    if goes_on(end) {
        block::abandon();
        threads().over.set(true);
        steps::depart(context::Status::Gone)
    }
}

/// An end that a thread brings about.
fn is_own(end: End) -> bool {
    matches!(
        end,
        End::Exited
            | End::Assertion
            | End::Abort
            | End::Signal
            | End::Terminate
            | End::StackOverflow
            | End::Heap
            | End::Assumed
            | End::Reached
            | End::SignalUnsafe
            | End::Client
    )
}

/// Do others go on after this end of the running thread?
pub(crate) fn goes_on(end: End) -> bool {
    on() && is_own(end) && (others_alive() || store_buffer::any_waits())
}

/// Did a thread end the process already?
pub(crate) fn is_over() -> bool {
    on() && threads().over.get()
}

/// Are people told where on stacks variables are?
pub(crate) fn names_variables() -> bool {
    threads().named.get()
}

/// The running thread got a block of the heap; told where call stacks are.
pub(crate) fn allocated(block: usize, length: usize) {
    if block == 0 {
        return;
    }
    if on() && threads().announced.get() {
        let me = threads().current.get();
        crate::run::call_stack::log_of(me);
        trace::block(me, block, length);
    } else if !on() && crate::state::run().stacks.get() {
        crate::run::call_stack::log_if_changed();
        trace::block(0, block, length);
    }
}

/// The running thread does something whose effects are not known: a turn of a loop with that has happened.
pub(crate) fn acted() {
    if on() {
        is_opaque();
        turns::lasts(threads().current.get());
    }
}

/// The running thread looks at the clock: does time go on by that?
pub(crate) fn looks_at_clock() -> bool {
    if !on() {
        return true;
    }
    is_opaque();
    turns::looks_at_clock(threads().current.get())
}

/// A turn of a loop has ended where it began, perhaps: whether it was in vain is a question of what others do.
fn turns_back(same: bool) {
    if same {
        is_opaque();
    }
}

/// The running thread changes what interrupts it, which is in no memory.
pub(crate) fn masks() {
    if on() {
        is_opaque();
    }
}

/// The running thread may do something else another time, though it finds the same.
fn is_opaque() {
    if watching() && !threads().only_main.get() {
        shared::note_opaque();
    }
}

/// A full fence of the running thread.
pub(crate) fn fence(origin: Origin) {
    if on() {
        fences::fence(origin);
    }
}

/// A fence of the source, for those who look for data races.
pub(crate) fn ordered(ordering: u8, origin: Origin) {
    if watching() && on() && !transactions::is_inside() {
        // What it tells others, and hears of them, it does at a time of its own.
        section::breaks();
        let me = threads().current.get();
        repeated::moved(me, origin);
        trace::access(me, 0, ordering, origin, [0, 0, 0]);
    }
}

/// The persistent heap is used by one thread at a time.
pub(crate) fn lock_heap(caller: usize) {
    // SAFETY: the lock is the runtime's own, all zero as a new one.
    unsafe {
        if watching() {
            mutex::lock(heap_lock(), mutex::Ask::Wait, caller);
        }
    }
}

pub(crate) fn unlock_heap(caller: usize) {
    // SAFETY: the lock is the runtime's own, all zero as a new one.
    unsafe {
        if watching() {
            mutex::unlock(heap_lock(), caller);
        }
    }
}

/// System calls that change pool files come one after the other, and all come after the stores of their threads.
pub(crate) fn lock_pool(changes: bool, caller: usize) {
    if changes {
        rwlock::lock(pool_lock(), mutex::Ask::Wait, caller);
    } else {
        rwlock::lock_shared(pool_lock(), mutex::Ask::Wait, caller);
    }
}

pub(crate) fn unlock_pool(caller: usize) {
    rwlock::unlock(pool_lock(), caller);
}

/// Goes on when the stores of the running thread are in memory.
pub(crate) fn drain(caller: usize) {
    if threads().buffered.get() && store_buffer::is_unfenced(threads().current.get()) {
        steps::point(context::Step::new(step::FENCE, 0, caller));
    }
}

/// Where a lock of ours would be; all zero, as a new one is.
#[repr(C, align(4096))]
struct Lock([u64; 8]);

// The checker knows them by their names (`session/view/schedule`).
#[unsafe(link_section = "lf_state")]
static mut HEAP_LOCK: Lock = Lock([0; 8]);
#[unsafe(link_section = "lf_state")]
static mut POOL_LOCK: Lock = Lock([0; 8]);

fn heap_lock() -> usize {
    &raw const HEAP_LOCK as usize
}

fn pool_lock() -> usize {
    &raw const POOL_LOCK as usize
}

/// An `sfence` of the running thread; false where it is not ours.
pub(crate) fn store_fence(origin: Origin) -> bool {
    if transactions::is_inside() {
        return true;
    }
    if on() {
        signals::before_push(0, 0, true, origin);
    }
    on() && fences::store_fence(origin)
}

/// A write-back of the running thread; true if it happens later.
pub(crate) fn flush(kind: RecordKind, address: usize, origin: Origin) -> bool {
    if on() {
        signals::before_push(address, 1, true, origin);
    }
    on() && match kind {
        RecordKind::Clflush => fences::flush(address, origin),
        kind => fences::write_back(kind, address, origin),
    }
}

/// Before the driver takes over: its thread descriptor and its stack are the main thread's.
pub(crate) fn leave() {
    watch(false);
    // SAFETY: the descriptor is the main thread's, as libc made it.
    unsafe {
        if threads().on.get() && threads().current.get() != 0 {
            let main = &tables().contexts[0];
            context::set_thread_pointer(main.thread_pointer.get());
            run().stack.set(main.stack.get());
            threads().current.set(0);
        }
    }
}

/// The number that `gettid` answers, and what libc finds in a thread descriptor.
pub(crate) fn thread_id() -> usize {
    const MAIN: usize = 1000;
    MAIN + if on() { threads().current.get() } else { 0 }
}

/// A word of the program's that belongs to a lock or the like, wherever it lies.
fn word<T>(at: *mut T) -> *mut T {
    if is_persistent(at as usize) && on() {
        touch_span(at as usize, size_of::<T>());
    }
    view(at)
}
