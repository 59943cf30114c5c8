//! Hardware transactions (docs/design/model.md §10). All of one is one step: from its beginning to its end nobody else goes on, what it accesses is
//! told as it does it, and what that comes to is told at its end. A transaction that is aborted has changed nothing: memory, the heap, its
//! stack and its registers are put back ([`rollback`]), and `xbegin` returns again, with a status. Whether one is aborted for no reason
//! is asked before ([`attempts`]).

mod attempts;
mod footprint;
mod rollback;

use super::context::Step;
use super::steps::point;
use super::visible::{Access, LOCKED, READ, WRITE};
use super::{
    block, identity, leftovers, on, repeated, section, sleep_sets, store_buffer, tables, threads,
    turns,
};
use crate::memory::own::allocate;
use crate::run::call_stack;
use crate::run::outcome::{self, Report};
use crate::run::shared::{control, job};
use crate::run::trace::{self, Origin, Site};
use crate::state::{Mode, run, server, watch, watching};
use core::cell::{Cell, UnsafeCell};
use core::sync::atomic::Ordering::Relaxed;
use footprint::Footprint;
use landfall_vocab::record::access::NOTHING;
use landfall_vocab::record::{RecordKind, flag, mark, step};
use landfall_vocab::shared::{End, TRANSACTIONS};
use rollback::Rollback;

pub(super) use attempts::{Questions, add_spoilers, due, spoiled_by, taken_back};
pub(crate) use rollback::{allocated, gives_back, heap_changes};

/// Why a transaction is aborted, as `xbegin` returns it.
pub(crate) mod status {
    pub(crate) const STARTED: u32 = u32::MAX;
    pub(crate) const EXPLICIT: u32 = 1;
    pub(crate) const RETRY: u32 = 1 << 1;
    pub(crate) const CAPACITY: u32 = 1 << 3;
    pub(crate) const NESTED: u32 = 1 << 5;
}

/// Levels of transactions.
const MOST_DEPTH: u32 = 7;

/// The one that is running: there is never a second one.
#[repr(C)]
pub(crate) struct Transaction {
    depth: Cell<u32>,
    origin: Cell<Origin>,
    /// Where the frame of its `xbegin` is.
    frame: Cell<usize>,
    /// It runs before the thread's stores are in memory.
    early: Cell<bool>,
    /// Plain accesses were not looked at before it.
    unwatched: Cell<bool>,
    footprint: Footprint,
    rollback: UnsafeCell<Rollback>,
}

fn transaction() -> &'static Transaction {
    // SAFETY: allocated by `prepare`, before any run, all zero; never freed.
    unsafe { &*tables().transaction.get() }
}

fn rollback() -> &'static mut Rollback {
    // SAFETY: nobody keeps it: each use is over before the next begins.
    unsafe { &mut *transaction().rollback.get() }
}

/// Once per server.
pub(super) fn prepare() -> *mut Transaction {
    allocate(size_of::<Transaction>()) as *mut Transaction
}

/// Is the running thread in one?
#[inline(always)]
pub(crate) fn is_inside() -> bool {
    threads().transacting.get()
}

/// Its frame is as `__lf_xbegin` has left it.
unsafe extern "C" fn begin(site: *const Site, frame: usize) -> u32 {
    let origin = Origin::source(site);
    if server().mode.get() != Mode::Running {
        // Nobody looks: as on a processor without them.
        return 0;
    }
    if is_inside() {
        let depth = transaction().depth.get() + 1;
        transaction().depth.set(depth);
        if depth > MOST_DEPTH {
            abort(0)
        }
        return status::STARTED;
    }
    control().transactions.store(1, Relaxed);
    if !on() && job().failures == 0 {
        outcome::fail(
            End::Thread,
            &[b"the program uses hardware transactions: their failures are searched like schedules"],
        )
    }
    if block::is_inside() {
        outcome::fail(
            End::Forbidden,
            &[b"a hardware transaction begins inside of an atomic block (__VERIFIER_atomic_begin): take it out"],
        )
    }
    super::is_opaque();
    if let Some(status) = attempts::fails(origin) {
        return status;
    }
    let me = threads().current.get();
    let early = attempts::runs_early(origin);
    if on() {
        let kind = match early {
            true => step::TRANSACT_EARLY,
            false => step::TRANSACT,
        };
        point(Step {
            kind,
            object: 0,
            origin,
        });
        trace::access(me, TRANSACTIONS, WRITE, origin, [early.into(), 0, 0]);
        repeated::moved(me, origin);
    }
    let now = transaction();
    now.depth.set(1);
    now.origin.set(origin);
    now.early.set(early);
    now.frame.set(frame);
    now.unwatched.set(!watching());
    if now.unwatched.get() {
        watch(true);
    }
    now.footprint.begin();
    if threads().persistency.get() || !on() {
        trace::with_value(RecordKind::Mark, 0, mark::TOGETHER_BEGIN, 0, origin);
    }
    rollback().begin(frame);
    threads().block.set(1);
    threads().transacting.set(true);
    status::STARTED
}

/// The outermost one is over.
fn leave(status: u32, committed: bool) {
    let now = transaction();
    if threads().persistency.get() || !on() {
        let origin = now.origin.get();
        trace::with_value(RecordKind::Mark, 0, mark::TOGETHER_END, 0, origin);
        if committed {
            trace::plain(RecordKind::Mfence, 0, flag::LOCKED, origin);
        }
    }
    threads().transacting.set(false);
    threads().block.set(0);
    if now.unwatched.get() {
        watch(false);
    }
    if on() {
        let me = threads().current.get();
        let origin = now.origin.get();
        let nested = now.depth.get() > 1;
        trace::access(
            me,
            TRANSACTIONS,
            NOTHING,
            origin,
            [status.into(), committed.into(), nested.into()],
        );
        repeated::moved(me, origin);
    }
}

/// `xend`.
#[unsafe(no_mangle)]
extern "C" fn __lf_xend(site: *const Site) {
    let _ = Origin::source(site);
    if server().mode.get() != Mode::Running {
        return;
    }
    if !is_inside() {
        section::breaks();
        outcome::end(
            End::Signal,
            Report {
                code: libc::SIGSEGV,
                frame: call_stack::frame_pointer(),
                text: &[b"xend outside of a transaction"],
                ..Report::default()
            },
        )
    }
    let now = transaction();
    match now.depth.get() {
        1 => commit(),
        depth => now.depth.set(depth - 1),
    }
}

fn commit() {
    let now = transaction();
    if now.early.get() {
        // It would have waited for the thread's stores: this is no execution, others may go on.
        run().too_early.set(true);
        outcome::assumed()
    }
    let me = threads().current.get();
    leave(status::STARTED, true);
    now.footprint.each_written(|address, length, found| {
        let place = address as u64;
        sleep_sets::executed(place, length, true);
        turns::touched(me, place, length, Some(found));
        // SAFETY: the transaction has written there.
        let left = unsafe { super::visible::found(address, length) };
        turns::change(me, (address, length), (found, left), false);
        turns::changed(me, place, length);
    });
    rollback().commits();
}

/// `xabort`: nothing outside of transactions.
#[unsafe(no_mangle)]
extern "C" fn __lf_xabort(code: u32, site: *const Site) {
    let _ = Origin::source(site);
    if is_inside() {
        abort(status::EXPLICIT | (code & 0xff) << 24)
    }
}

#[unsafe(no_mangle)]
extern "C" fn __lf_xtest() -> u32 {
    is_inside().into()
}

/// What no processor does in a transaction comes next.
#[unsafe(no_mangle)]
extern "C" fn __lf_aborts() {
    aborts()
}

/// The same, of what the runtime does for the program.
pub(crate) fn aborts() {
    if is_inside() {
        abort(0)
    }
}

/// The transaction did not happen: its `xbegin` returns again.
pub(crate) fn abort(status: u32) -> ! {
    let nested = match transaction().depth.get() {
        0 | 1 => 0,
        _ => status::NESTED,
    };
    let (stack, status) = (tables().deciding.get(), status | nested);
    // SAFETY: the stack is there, and nobody is on it; who began is on a stack that is put back as it was then.
    unsafe { rollback::__lf_transaction_aborts(status, stack) }
}

/// Memory and the heap are as they were, and the trace says that nothing was done.
fn undo(status: u32) {
    trace_undone();
    rollback().undo();
    leave(status, false);
}

/// Where nobody asks which thread did what, the trace says what was stored: that was not.
fn trace_undone() {
    if transaction().footprint.has_persistent() {
        rollback::strike();
    }
}

/// The running thread ends the process, or itself: if it is in a transaction, that did not happen.
pub(crate) fn abandon() {
    if is_inside() {
        undo(0);
    }
}

/// A step is announced: not every one is possible inside of a transaction. Is there nothing to be done?
pub(super) fn passes_over(kind: u8) -> bool {
    match kind {
        step::FENCE | step::ORDER => true,
        // System calls.
        step::YIELD | step::SLEEP | step::EXIT | step::CREATE | step::JOIN => abort(0),
        _ => outcome::fail(
            End::Forbidden,
            &[
                b"a thread uses a lock, or waits for others, inside of a hardware transaction: \
                Landfall does not follow that; take it out, or let the transaction look at a word of your own",
            ],
        ),
    }
}

/// The running thread, which is in one, is about to access bytes of one line.
pub(super) fn before(address: usize, writes: bool) {
    match transaction().footprint.grows(address, writes) {
        footprint::Grown::Known => {}
        footprint::Grown::Fresh => {
            if writes {
                rollback().keep_line(address);
            }
        }
        footprint::Grown::TooMuch => abort(status::CAPACITY),
        footprint::Grown::ForEver => abort(0),
    }
}

/// It did.
pub(super) fn did(access: &Access, [found, left, expected]: [u64; 3]) {
    let (address, length) = (access.address, access.length);
    let writes = access.flags & WRITE != 0;
    let me = threads().current.get();
    if !on() {
        return;
    }
    if length == 8 {
        if writes {
            identity::stores(address, left);
        }
        if !writes || access.flags & LOCKED != 0 {
            identity::reads(found);
        }
    }
    if threads().announced.get() {
        call_stack::log_of(me);
    }
    let object = super::visible::pack(address, length);
    if !repeated::again(
        me,
        object,
        access.flags,
        writes && found != left,
        access.origin,
    ) {
        trace::access(
            me,
            object,
            access.flags,
            access.origin,
            [found, left, expected],
        );
    }
    let place = address as u64;
    if !writes || access.flags & LOCKED != 0 {
        sleep_sets::executed(place, length, false);
        turns::read(me, place, length, found);
    }
    if writes || !store_buffer::covers(me, address, length) {
        turns::touched(me, place, length, writes.then_some(found));
    }
    if writes && found != left && !transaction().footprint.writes(address, length, found) {
        abort(status::CAPACITY)
    }
    if leftovers::is_on() {
        if !writes || access.flags & READ != 0 {
            leftovers::reads(address, length);
        }
        if writes {
            leftovers::stores(me, address, length);
        }
    }
}

/// Bytes are stored to that nobody announces.
pub(super) fn keeps(address: usize, length: usize) {
    if is_inside() {
        before(address, true);
        before(address + length - 1, true);
    }
}

/// A fault inside of one: the processor aborts it, and nobody hears of the fault. True if the handler that runs may return.
///
/// # Safety
/// `context` is what the kernel gave to the handler that runs.
pub(crate) unsafe fn takes_fault(context: *mut libc::ucontext_t) -> bool {
    if !is_inside() {
        return false;
    }
    let nested = transaction().depth.get() > 1;
    let status = if nested { status::NESTED } else { 0 };
    // SAFETY: what the caller promises; and see `abort`.
    unsafe {
        let registers = &raw mut (*context).uc_mcontext.gregs;
        (*registers)[libc::REG_RDI as usize] = status.into();
        (*registers)[libc::REG_RSI as usize] = tables().deciding.get() as i64;
        (*registers)[libc::REG_RIP as usize] =
            rollback::__lf_transaction_aborts as *const () as i64;
        // Whoever goes on instruction by instruction does not do so there.
        (*registers)[libc::REG_EFL as usize] &= !crate::syscalls::deferred::TRAP;
    }
    true
}
