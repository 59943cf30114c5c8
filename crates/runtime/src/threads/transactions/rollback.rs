//! What a transaction that is aborted has done is undone: lines of memory that it wrote, the heap, its thread's stack from the frame of `xbegin` on,
//! and the registers, which lie in that frame.

use super::super::threads;
use super::transaction;
use crate::memory::bytes;
use crate::memory::heap::{self, Heap};
use crate::memory::own::allocate;
use crate::memory::shadow::{is_persistent, known, offset, touch_span, view};
use crate::run::outcome;
use crate::run::shared::trace_len;
use crate::state::run;
use core::arch::global_asm;
use core::sync::atomic::Ordering::Relaxed;
use landfall_vocab::record::{RecordKind, Records};
use landfall_vocab::shared::End;
use landfall_vocab::window::LINE;

/// Lines that can be put back: more than any cache of a processor's core holds.
const LINES: usize = 1 << 15;
/// Bytes of a stack.
const STACK: usize = 4 << 20;
/// Blocks of the heap that are taken, or given back, in one transaction.
const BLOCKS: usize = 1 << 12;

#[repr(C)]
struct KeptLine {
    address: usize,
    bytes: [u8; LINE as usize],
    /// What the run had read or written of it.
    known: u64,
}

#[repr(C)]
pub(crate) struct Rollback {
    lines: [KeptLine; LINES],
    line_count: usize,
    stack: *mut u8,
    stack_from: usize,
    stack_length: usize,
    /// The heap of its thread, if it has changed that.
    heap: Heap,
    heap_changed: bool,
    taken: [usize; BLOCKS],
    taken_count: usize,
    given_back: [(usize, usize); BLOCKS],
    given_back_count: usize,
    /// Where in the trace it began.
    trace: u64,
}

#[repr(C)]
struct Resumed {
    frame: usize,
    status: u64,
}

// What `begin` is told of the frame: where the registers of its caller lie, and above them where it returns to.
global_asm!(
    ".globl __lf_xbegin",
    "__lf_xbegin:",
    crate::keep_registers!(),
    "lea rbp, [rsp + 48]",
    "mov rsi, rsp",
    "call {begin}",
    crate::take_registers!(),
    "ret",
    // edi: the status; rsi: a stack to do it on.
    ".globl __lf_transaction_aborts",
    "__lf_transaction_aborts:",
    "mov rsp, rsi",
    "call {aborted}",
    "mov rsp, rax",
    "ldmxcsr [rsp]",
    "fldcw [rsp+4]",
    "mov eax, edx",
    crate::take_registers!(),
    "ret",
    begin = sym super::begin,
    aborted = sym aborted,
);

unsafe extern "C" {
    pub(super) fn __lf_transaction_aborts(status: u32, stack: usize) -> !;
}

unsafe extern "C" fn aborted(status: u32) -> Resumed {
    let frame = transaction().frame.get();
    super::undo(status);
    Resumed {
        frame,
        status: status.into(),
    }
}

impl Rollback {
    /// The transaction begins, in a frame on its thread's stack.
    pub(super) fn begin(&mut self, frame: usize) {
        self.line_count = 0;
        self.heap_changed = false;
        self.taken_count = 0;
        self.given_back_count = 0;
        self.trace = trace_len().load(Relaxed);
        if self.stack.is_null() {
            self.stack = allocate(STACK);
        }
        let (low, high) = run().stack.get();
        if !(low..high).contains(&frame) {
            outcome::fail(
                End::Forbidden,
                &[b"a hardware transaction begins on a stack of the program's own, or in a handler of a signal: Landfall does not follow that"],
            )
        }
        let length = high - frame;
        if length > STACK {
            outcome::fail(
                End::Forbidden,
                &[b"more than four megabytes of stack are in use where a hardware transaction begins"],
            )
        }
        (self.stack_from, self.stack_length) = (frame, length);
        // SAFETY: the thread's own stack, and room for so much of it.
        unsafe { bytes::copy(self.stack, frame as *const u8, length) };
    }

    /// A line is about to be written for the first time.
    pub(super) fn keep_line(&mut self, address: usize) {
        let address = address & !(LINE as usize - 1);
        if self.line_count == LINES {
            super::abort(super::status::CAPACITY)
        }
        let line = &mut self.lines[self.line_count];
        line.address = address;
        if is_persistent(address) {
            touch_span(address, LINE as usize);
            // SAFETY: the page was touched: it has its content and its shadow, a byte for each word.
            line.known = unsafe { (known(offset(address)) as *const u64).read_unaligned() };
        }
        // SAFETY: the program is about to write there; a line lies in one page.
        unsafe {
            bytes::copy(
                line.bytes.as_mut_ptr(),
                view(address as *const u8),
                LINE as usize,
            )
        };
        self.line_count += 1;
    }

    /// Puts everything back but the stack's pointer.
    pub(super) fn undo(&mut self) {
        for line in self.lines[..self.line_count].iter().rev() {
            // SAFETY: it was read from there.
            unsafe {
                bytes::copy(
                    view(line.address as *mut u8),
                    line.bytes.as_ptr(),
                    LINE as usize,
                );
                if is_persistent(line.address) {
                    (known(offset(line.address)) as *mut u64).write_unaligned(line.known);
                }
            }
        }
        for block in &self.taken[..self.taken_count] {
            heap::forget(*block);
        }
        if self.heap_changed {
            heap::put_back(&self.heap);
        }
        // SAFETY: the thread's own stack: nobody runs on it, and what is deeper than that is nobody's.
        unsafe { bytes::copy(self.stack_from as *mut u8, self.stack, self.stack_length) };
    }

    /// It happened: what it gave back of the heap is given back now.
    pub(super) fn commits(&mut self) {
        for at in 0..self.given_back_count {
            let (block, caller) = self.given_back[at];
            // SAFETY: the program gave it back.
            unsafe { heap::release(block, caller) };
        }
        self.given_back_count = 0;
    }
}

/// The running thread's heap is about to change: a block is taken of it.
#[inline(always)]
pub(crate) fn heap_changes() {
    if threads().transacting.get() {
        keep_heap();
    }
}

#[cold]
fn keep_heap() {
    let rollback = super::rollback();
    if !rollback.heap_changed {
        rollback.heap_changed = true;
        heap::keep(&mut rollback.heap);
    }
}

/// The block was taken: whoever had it before left a link in it.
#[inline(always)]
pub(crate) fn allocated(block: usize) {
    if threads().transacting.get() && block != 0 {
        let rollback = super::rollback();
        if rollback.taken_count == BLOCKS {
            super::abort(super::status::CAPACITY)
        }
        rollback.taken[rollback.taken_count] = block;
        rollback.taken_count += 1;
        super::before(block, true);
    }
}

/// A block is given back: if that is in a transaction, it is when that commits.
#[inline(always)]
pub(crate) fn gives_back(block: usize, caller: usize) -> bool {
    if !threads().transacting.get() {
        return false;
    }
    let rollback = super::rollback();
    if rollback.given_back_count == BLOCKS {
        super::abort(super::status::CAPACITY)
    }
    rollback.given_back[rollback.given_back_count] = (block, caller);
    rollback.given_back_count += 1;
    true
}

/// What the trace says of stores since the transaction began is taken out; what was read stays.
pub(super) fn strike() {
    let from = super::rollback().trace as usize;
    let length = trace_len().load(Relaxed) as usize;
    let trace = run().trace.get();
    // SAFETY: this run wrote the trace up to there. Records are moved towards the beginning, one after the other.
    unsafe {
        let written = core::slice::from_raw_parts(trace.add(from), length - from);
        let mut records = Records::new(written);
        let (mut at, mut to) = (0, 0);
        while let Some(Ok(record)) = records.next() {
            let next = records.position();
            let stays = !matches!(
                record.kind,
                RecordKind::Store | RecordKind::Run | RecordKind::Fill | RecordKind::CasFailed
            );
            if stays {
                if at != to {
                    bytes::shift(trace.add(from + to), trace.add(from + at), next - at);
                }
                to += next - at;
            }
            at = next;
        }
        trace_len().store((from + to) as u64, Relaxed);
    }
}
