//! Accesses to memory that other threads could see. Atomic ones are steps of their own; plain ones where the job says so
//! (`--preempt`), and otherwise part of the step before them.

use super::block;
use super::context::Step;
use super::forked;
use super::frames;
use super::identity;
use super::leftovers;
use super::repeated;
use super::section;
use super::signals;
use super::sleep_sets;
use super::steps::point;
use super::store_buffer;
use super::threads;
use super::transactions;
use super::trusted;
use super::turns;
use crate::hooks::{self, SEQ_CST};
use crate::memory::accesses::{read_span, store_span};
use crate::memory::bytes;
use crate::memory::heap_checks;
use crate::memory::shadow::{is_persistent, recording, view};
use crate::run::call_stack;
use crate::run::outcome::{self};
use crate::run::shared::control;
use crate::run::trace::{self, Origin};
use core::sync::atomic::Ordering::Relaxed;
pub(crate) use landfall_vocab::record::access::{
    self as record, BUFFERED, LOCKED, READ, SWAP, WRITE,
};
use landfall_vocab::record::{flag, step};
use landfall_vocab::shared::{End, point as point_bit};
use landfall_vocab::window::LINE;

/// In what an access does, before it is written down: it is a step whatever the job says.
pub(super) const PERSISTS: u8 = 1;

/// Where the pass puts the ordering of a compare-and-swap that fails.
const FAILURE: u32 = 8;

/// An access that is about to happen, of bytes of one line.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Access {
    pub(super) address: usize,
    pub(super) length: usize,
    pub(super) flags: u8,
    /// The ordering of a compare-and-swap that finds another value.
    otherwise: u8,
    pub(super) origin: Origin,
}

/// Is an access a step of its own?
pub(super) fn is_point(atomic: bool, origin: Origin) -> bool {
    if block::is_inside() || threads().only_main.get() {
        return false;
    }
    if atomic || threads().everywhere.get() {
        return true;
    }
    let bit = point_bit(origin.number());
    let word = &control().points[bit / 64];
    word.load(Relaxed) >> (bit % 64) & 1 != 0
}

/// The running thread is about to make an access: does a debugger stop there?
#[inline(always)]
fn stop(address: usize, length: usize, origin: Origin) {
    if threads().stops.get() {
        stop_if_asked(address as u64, length as u64, origin);
    }
}

#[cold]
#[inline(never)]
fn stop_if_asked(address: u64, length: u64, origin: Origin) {
    let job = crate::run::shared::job();
    let overlaps = address < job.stop_at + job.stop_length && job.stop_at < address + length;
    let here = job.stop_origin == origin.number()
        && overlaps
        && job.stop_thread as usize == threads().current.get()
        && threads().steps.get() >= job.stop_steps as usize;
    if here {
        threads().stops.set(false);
        __lf_meets();
    }
}

/// The same where a store goes into the buffer. As many frames as elsewhere: a debugger counts them up to the program.
#[cold]
#[inline(never)]
fn stop_before_push(address: usize, length: usize, origin: Origin) {
    stop_if_asked(address as u64, length as u64, origin);
    // SAFETY: it does nothing, but for keeping the frame until then.
    unsafe { core::arch::asm!("nop", options(nomem, nostack)) };
}

/// Where a debugger stops: the access comes next.
#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn __lf_meets() {
    // Not empty, or calls of it could be left out; nor like another one, or both would be one.
    // SAFETY: it does nothing.
    unsafe { core::arch::asm!("nop", options(nomem, nostack)) };
}

/// Do others touch the line? Only then somebody can tell when a non-temporal store to it reaches memory.
fn is_streamed(address: usize) -> bool {
    let line = address as u64 & !(LINE - 1);
    let bit = point_bit(line);
    control().streamed[bit / 64].load(Relaxed) >> (bit % 64) & 1 != 0
}

/// The program dies of an access to that address: if it is one of ours, it is in conflict with whoever took the memory away.
/// Where that access is, as a number from 1 on; 0 if it is none of ours.
pub(crate) fn dies_at(address: usize) -> u64 {
    if super::on() {
        let access = threads().pending.get();
        if address.wrapping_sub(access.address) < access.length {
            let atomic = access.flags & (flag::ORDERING | LOCKED) != 0;
            match threads().mappings.get() && is_point(atomic, access.origin) {
                // It has touched nothing.
                true => block::found_nothing(access.origin),
                false => access.done(0, 0, 0),
            }
            return (access.origin.number() & u64::from(u32::MAX)) + 1;
        }
    }
    0
}

/// Address and length in one word.
pub(crate) fn pack(address: usize, length: usize) -> u64 {
    address as u64 & ((1 << 56) - 1) | (length as u64) << 56
}

/// Announces an access of bytes of one line; [`Access::done`] tells what came of it.
pub(super) fn announce(
    address: usize,
    length: usize,
    what: u8,
    ordering: u8,
    origin: Origin,
) -> Access {
    let (what, persists) = (what & !PERSISTS, what & PERSISTS != 0);
    if what == READ && turns::looks_again(address, length, origin) {
        return Access {
            address,
            length: 0,
            flags: what | ordering,
            otherwise: ordering,
            origin,
        };
    }
    let own = forked::hides(address);
    let persists = persists && !transactions::is_inside();
    let is_step = !own && (persists || is_point(ordering != 0 || what & LOCKED != 0, origin));
    if !own {
        signals::before_access(address, length, is_step, origin);
    }
    if is_step {
        let kind = match what {
            READ => step::READ,
            WRITE => step::WRITE,
            _ => step::UPDATE,
        };
        point(Step {
            kind,
            object: pack(address, length) as usize,
            origin,
        });
        if what == READ && !persists {
            turns::looks_once(address, length, origin);
        }
    }
    if block::is_inside() {
        if transactions::is_inside() {
            transactions::before(address, what & WRITE != 0);
        } else if what & WRITE != 0 {
            block::stores(address, length);
        }
    }
    let access = Access {
        address,
        length,
        flags: what | ordering,
        otherwise: ordering,
        origin,
    };
    threads().pending.set(access);
    stop(address, length, origin);
    if !own && frames::refuses(threads().current.get(), address, length)
        || heap_checks::refuses(address, length)
    {
        // It is in conflict with whoever freed that, so it must be known.
        access.done(0, 0, 0);
        heap_checks::look_if_asked(address, length, what & WRITE != 0);
    }
    access
}

/// These bytes of the running thread's stack are another variable's from now on, or nobody's: whoever touches them, before or after, is in
/// conflict with that. They are `gone` with the first line, as blocks are.
pub(super) fn changes_hands(start: usize, length: usize, origin: Origin, mut gone: impl FnMut()) {
    by_lines(start, length.max(1), |at, piece| {
        let access = announce(start + at, piece, WRITE, 0, origin);
        // What is there is nobody's: it may be what calls of ours have left.
        access.done(0, 0, 0);
        if at == 0 {
            gone();
        }
    });
}

/// A block of the heap is given back: whoever touches it, before or after, is in conflict with that. Its lines are steps one by one, but
/// it is `gone` with the first: who comes between two of them comes too late.
///
/// # Safety
/// `block` is a block of the heap, so long.
pub(crate) unsafe fn give_back(
    block: usize,
    length: usize,
    origin: Origin,
    mut gone: impl FnMut(),
) {
    super::fences::fence(origin);
    if length == 0 {
        return gone();
    }
    // SAFETY: what the caller promises.
    unsafe {
        by_lines(block, length, |at, piece| {
            if !forked::hides(block) && is_point(false, origin) {
                point(Step {
                    kind: step::WRITE,
                    object: pack(block + at, piece) as usize,
                    origin,
                });
            }
            let access = Access {
                address: block + at,
                length: piece,
                flags: WRITE,
                otherwise: 0,
                origin,
            };
            let found = digest((block + at) as *const u8, piece);
            access.done(found, found, 0);
            if at == 0 {
                gone();
            }
        })
    };
}

/// What lies in a range is about to be something else, or nothing: whoever touches it, before or after, is in conflict with that.
pub(super) fn replace(start: usize, length: usize, origin: Origin) {
    super::fences::fence(origin);
    let me = threads().current.get();
    by_lines(start, length, |at, piece| {
        turns::loses(start + at, piece);
        let access = Access {
            address: start + at,
            length: piece,
            flags: WRITE,
            otherwise: 0,
            origin,
        };
        // Nobody may look at it any more.
        access.done(0, 0, 0);
        turns::changed(me, (start + at) as u64, piece);
    });
    turns::lasts(me);
}

/// A thread still needs a word there.
pub(super) fn touches(address: usize, origin: Origin) {
    announce(address, 8, WRITE, 0, origin).done(0, 0, 0);
}

fn ordering(abi: u32) -> u8 {
    abi as u8 & flag::ORDERING
}

/// Announces a locked read-modify-write.
#[inline(never)]
pub(crate) fn update(address: usize, length: usize, what: u8, abi: u32, origin: Origin) -> Access {
    if address % LINE as usize + length > LINE as usize {
        outcome::fail(
            End::Forbidden,
            &[b"a locked access across two cache lines, while several threads run"],
        )
    }
    let what = READ | WRITE | LOCKED | what;
    if trusted::hides(address, length) {
        return Access {
            address,
            length: 0,
            flags: what,
            otherwise: 0,
            origin,
        };
    }
    let access = announce(address, length, what, ordering(abi), origin);
    Access {
        otherwise: ordering(abi >> FAILURE),
        ..access
    }
}

impl Access {
    /// Nobody dies of it any more.
    fn is_made(self) {
        threads().pending.set(Access { length: 0, ..self });
    }

    /// It happened. One of no bytes is nobody's business.
    pub(crate) fn done(self, found: u64, left: u64, expected: u64) {
        if self.length == 0 {
            return;
        }
        let me = threads().current.get();
        self.is_made();
        if transactions::is_inside() {
            return transactions::did(&self, [found, left, expected]);
        }
        let own = forked::hides(self.address);
        let object = pack(self.address, self.length);
        let changes = self.flags & WRITE != 0 && found != left;
        if self.length == 8 {
            if self.flags & WRITE != 0 {
                identity::stores(self.address, left);
            }
            if self.flags & WRITE == 0 || self.flags & LOCKED != 0 {
                identity::reads(found);
            }
        }
        if !own
            && !threads().only_main.get()
            && !repeated::again(me, object, self.flags, changes, self.origin)
        {
            if threads().announced.get() {
                call_stack::log_of(me);
            }
            trace::access(me, object, self.flags, self.origin, [found, left, expected]);
        }
        let writes = self.flags & WRITE != 0;
        if !own {
            sleep_sets::executed(self.address as u64, self.length, writes);
        }
        let place = self.address as u64;
        if writes || !store_buffer::covers(me, self.address, self.length) {
            turns::touched(me, place, self.length, writes.then_some(found));
        }
        if !writes || self.flags & LOCKED != 0 || found == left {
            turns::read(me, place, self.length, found);
        }
        if writes && found != left {
            let told = self.flags & (flag::ORDERING | LOCKED) != 0 || block::is_inside();
            let hidden =
                !told && !own && !is_point(false, self.origin) && !is_persistent(self.address);
            turns::change(me, (self.address, self.length), (found, left), hidden);
            turns::changed(me, place, self.length);
        }
        if leftovers::is_on() {
            if !writes || self.flags & LOCKED != 0 {
                leftovers::reads(self.address, self.length);
            }
            if writes {
                leftovers::stores(me, self.address, self.length);
            }
        }
    }

    /// It only read after all: a compare-and-swap that found another value.
    pub(crate) fn only_read(mut self, found: u64, expected: u64) {
        self.flags = self.flags & !(WRITE | flag::ORDERING) | self.otherwise;
        self.done(found, found, expected);
    }
}

/// What an access found, as one word: the value, or a digest of what is longer than that.
///
/// # Safety
/// The program may read `at`, as far as it asks for.
pub(crate) unsafe fn digest(at: *const u8, length: usize) -> u64 {
    // SAFETY: what the caller promises.
    unsafe {
        // Loads of the right width: a word that was put together in memory would be read before its parts are there.
        match length {
            4 => return (at as *const u32).read_unaligned().into(),
            8 => return (at as *const u64).read_unaligned(),
            1 => return (*at).into(),
            2 => return (at as *const u16).read_unaligned().into(),
            _ => {}
        }
        let mut value = 0u64;
        if length < 8 {
            bytes::copy((&raw mut value) as *mut u8, at, length);
            return value;
        }
        for i in 0..length {
            value = (value ^ u64::from(*at.add(i)))
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29);
        }
        value
    }
}

/// Pieces of a range that lie in one line: `each(offset, length)`.
fn by_lines(address: usize, length: usize, each: impl FnMut(usize, usize)) {
    by_pieces(address, length, LINE as usize, each);
}

/// Pieces of a range of at most so many aligned bytes: `each(offset, length)`.
pub(crate) fn by_pieces(
    address: usize,
    length: usize,
    most: usize,
    mut each: impl FnMut(usize, usize),
) {
    let mut done = 0;
    while done < length {
        let left = most - (address + done) % most;
        let piece = left.min(length - done);
        each(done, piece);
        done += piece;
    }
}

/// A load while several threads run.
///
/// # Safety
/// The program may write to `to` and read `from`, as far as it asks for.
#[inline(never)]
pub(crate) unsafe fn load(from: usize, to: *mut u8, length: usize, abi: u32, origin: Origin) {
    // SAFETY: what the caller promises.
    unsafe {
        by_lines(from, length, |at, piece| {
            if trusted::hides(from + at, piece) {
                heap_checks::look_if_asked(from + at, piece, false);
                return bytes::copy(to.add(at), (from + at) as *const u8, piece);
            }
            let access = announce(from + at, piece, READ, ordering(abi), origin);
            if is_persistent(from + at) && recording() {
                first_read(from + at, piece, hooks::flags(abi), origin);
            }
            bytes::copy(to.add(at), view((from + at) as *const u8), piece);
            let found = digest(to.add(at), piece);
            if piece > 8 {
                identity::looks_through(to.add(at), piece, identity::reads);
            }
            access.done(found, found, 0);
        });
    }
}

/// A read of what the execution found; what the thread itself has stored and nobody else can see yet is none of that.
fn first_read(address: usize, length: usize, flags: u8, origin: Origin) {
    let me = threads().current.get();
    let before = trace::length();
    if store_buffer::is_empty(me) {
        read_span(address, length, flags, origin);
        return news(me, before);
    }
    for byte in address..address + length {
        if !store_buffer::holds(me, byte) {
            read_span(byte, 1, flags, origin);
        }
    }
    news(me, before);
}

/// That the execution found something there is said once: whatever comes of the turn.
fn news(me: usize, before: u64) {
    if trace::length() != before {
        turns::lasts(me);
    }
}

/// A store while several threads run.
///
/// # Safety
/// The program may write to `to` and read `from`, as far as it asks for.
#[inline(never)]
pub(crate) unsafe fn store(to: usize, from: *const u8, length: usize, abi: u32, origin: Origin) {
    // A sequentially consistent store is compiled to xchg (docs/design/model.md §2).
    let locked = abi & 7 == SEQ_CST;
    let order = ordering(abi);
    let flags = hooks::flags(abi) | if locked { flag::LOCKED } else { 0 };
    let streams = flags & flag::NON_TEMPORAL != 0 && !locked;
    if streams {
        transactions::aborts();
    }
    if abi & hooks::SAME_INSTRUCTION != 0 && !trusted::hides(to, length) {
        signals::stay_inside();
    }
    // What is persisted in one piece is a step of its own.
    let persists = threads().persistency.get() && is_persistent(to);
    let most = if persists { 8 } else { LINE as usize };
    // SAFETY: what the caller promises.
    unsafe {
        by_pieces(to, length, most, |at, piece| {
            let (to, from) = (to + at, from.add(at));
            if trusted::hides(to, piece) {
                heap_checks::look_if_asked(to, piece, true);
                transactions::keeps(to, piece);
                return bytes::shift(to as *mut u8, from, piece);
            }
            if forked::hides(to) {
                let access = announce(to, piece, WRITE, 0, origin);
                let found = found(to, piece);
                perform(to, from, piece, flags, origin);
                return access.done(found, digest(from, piece), 0);
            }
            if threads().buffered.get() && !locked && signals::are_on() {
                let is_step = persists || is_point(order != 0, origin);
                signals::before_push(to, piece, is_step, origin);
            }
            if piece >= 8 {
                identity::looks_through(from, piece, |value| identity::stores(to, value));
            }
            if section::is_inside() && (persists || streams || is_point(order != 0, origin)) {
                section::breaks();
            }
            let direct = block::is_inside() || section::is_inside();
            let buffered = threads().buffered.get() && !direct;
            let what = if locked { WRITE | LOCKED } else { WRITE };
            let access = Access {
                address: to,
                length: piece,
                flags: what | order,
                otherwise: order,
                origin,
            };
            if buffered && !locked {
                if threads().mappings.get() && is_point(order != 0, origin) {
                    block::issues(origin);
                }
                store_buffer::make_room(origin);
                threads().pending.set(access);
                if threads().stops.get() {
                    stop_before_push(to, piece, origin);
                }
                let (stream, wanted) = if streams && is_streamed(to) {
                    store_buffer::stream(to)
                } else {
                    (0, 0)
                };
                // What orders a thread's other stores does not order this one, so nobody can say that it does not race.
                let visible = persists || wanted != 0 || is_point(order != 0, origin);
                // What is there already, and nobody can tell when it is stored, need not wait for anything.
                let changes = || piece > 8 || found(to, piece) != digest(from, piece);
                if visible || !store_buffer::goes_past(stream, to) && changes() {
                    heap_checks::look_before_push(to, piece, visible);
                    die_now(to);
                    let hidden = if visible { 0 } else { READ };
                    let streamed = match streams {
                        true => record::streamed(stream.into(), wanted),
                        false => 0,
                    };
                    repeated::moved(threads().current.get(), origin);
                    if threads().announced.get() {
                        call_stack::log_of(threads().current.get());
                    }
                    trace::access(
                        threads().current.get(),
                        pack(to, piece),
                        WRITE | BUFFERED | hidden | order,
                        origin,
                        [streamed, digest(from, piece), 0],
                    );
                    let me = threads().current.get();
                    turns::pushes(me, to, from, piece, visible);
                    if persists || streams || is_persistent(to) || threads().mappings.get() {
                        turns::lasts(me);
                    }
                    store_buffer::push(to, from, piece, (visible, stream), flags, origin);
                    return access.is_made();
                }
            }
            let access = if locked || !buffered {
                announce(
                    to,
                    piece,
                    what | if persists { PERSISTS } else { 0 },
                    order,
                    origin,
                )
            } else {
                heap_checks::look_if_asked(to, piece, true);
                access
            };
            let found = found(to, piece);
            perform(to, from, piece, flags, origin);
            access.done(found, digest(from, piece), streams.into());
        })
    };
}

/// Who dies of a store does so before it is in the buffer: nobody could take it out again.
///
/// # Safety
/// The program asks to write there.
unsafe fn die_now(at: usize) {
    if !is_persistent(at) {
        let at = at as *mut u8;
        // SAFETY: what the caller promises; and nobody else runs.
        unsafe { at.write_volatile(at.read_volatile()) };
    }
}

/// What a store is about to replace.
///
/// # Safety
/// The program may read `at`, as far as it asks for.
pub(super) unsafe fn found(at: usize, length: usize) -> u64 {
    if is_persistent(at) {
        crate::memory::shadow::touch_span(at, length);
    }
    // SAFETY: what the caller promises.
    unsafe { digest(view(at as *const u8), length) }
}

/// Stores.
///
/// # Safety
/// The program may write to `to` and read `from`, as far as it asks for.
pub(super) unsafe fn perform(to: usize, from: *const u8, length: usize, flags: u8, origin: Origin) {
    // SAFETY: what the caller promises.
    unsafe {
        if is_persistent(to) && recording() {
            store_span(to, from, length, flags, origin);
        } else {
            bytes::shift(view(to as *mut u8), from, length);
        }
    }
}

/// A function of libc reads.
///
/// # Safety
/// The program may read `from`, as far as it asks for.
pub(crate) unsafe fn look(from: usize, length: usize, origin: Origin) {
    let mut line = [0u8; LINE as usize];
    // SAFETY: what the caller promises.
    unsafe {
        by_lines(from, length, |at, piece| {
            load(from + at, line.as_mut_ptr(), piece, 0, origin);
        })
    };
}

/// A copy while several threads run: line by line.
///
/// # Safety
/// The program may write to `to` and read `from`, as far as it asks for.
pub(crate) unsafe fn copy(to: usize, from: usize, length: usize, abi: u32, origin: Origin) {
    let mut line = [0u8; LINE as usize];
    let backwards = to.wrapping_sub(from) < length;
    let mut done = 0;
    // SAFETY: what the caller promises.
    unsafe {
        while done < length {
            // What overlaps is copied from its end.
            let piece = line.len().min(length - done);
            let at = if backwards {
                length - done - piece
            } else {
                done
            };
            load(from + at, line.as_mut_ptr(), piece, 0, origin);
            store(to + at, line.as_ptr(), piece, abi, origin);
            done += piece;
        }
    }
}

/// # Safety
/// The program may write to `to`, as far as it asks for.
pub(crate) unsafe fn fill(to: usize, byte: u8, length: usize, abi: u32, origin: Origin) {
    let line = [byte; LINE as usize];
    // SAFETY: what the caller promises.
    unsafe {
        by_lines(to, length, |at, piece| {
            store(to + at, line.as_ptr(), piece, abi, origin);
        })
    };
}
