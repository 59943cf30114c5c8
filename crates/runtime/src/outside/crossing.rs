//! A call of a function in a library, while several threads are alive. What it reads is loaded by the calling thread into memory of
//! ours, what it writes goes there first and is then stored by the calling thread: each an access like any other, at the place of the
//! call. So the function itself touches nothing that threads share, and what it does depends on nothing that is no step.
//!
//! Of a function that is not known, what it may touch is noted, and who looks for data races sees whether another thread touches it
//! too, with nothing that orders them: then not everything was seen.

use super::effects::{Effect, Size, Stranger, When};
use super::imports::{self, Import};
use crate::memory::accesses;
use crate::memory::bytes;
use crate::memory::heap;
use crate::memory::heap_checks;
use crate::memory::own::Scratch;
use crate::memory::probe;
use crate::memory::shadow::is_persistent;
use crate::run::trace::{self, Origin};
use crate::state::run;
use crate::threads::{self, visible};
use core::arch::global_asm;
use landfall_vocab::record::access::{READ, WRITE};
use landfall_vocab::window::LINE;

/// What `__lf_leave` keeps on the stack of a call.
#[repr(C)]
struct Frame {
    /// Those in registers.
    arguments: [usize; 6],
    /// On the way back, what the function returned.
    result: usize,
    kept: usize,
    import: *const Import,
    crossing: *mut Crossing,
}

// r11: the import. Everything that may hold an argument is kept. With one thread, or where nothing is to be done afterwards, the function
// is jumped to, so that it finds the stack as the program left it.
global_asm!(
    ".globl __lf_leave",
    ".type __lf_leave,@function",
    "__lf_leave:",
    ".cfi_startproc",
    "cmp qword ptr [rip + __lf_window], -1",
    "jne 3f",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "sub rsp, 0xd0",
    "mov [rsp], rdi",
    "mov [rsp+0x08], rsi",
    "mov [rsp+0x10], rdx",
    "mov [rsp+0x18], rcx",
    "mov [rsp+0x20], r8",
    "mov [rsp+0x28], r9",
    "mov [rsp+0x30], rax",
    "mov [rsp+0x38], r10",
    "mov [rsp+0x40], r11",
    "mov qword ptr [rsp+0x48], 0",
    "movaps [rsp+0x50], xmm0",
    "movaps [rsp+0x60], xmm1",
    "movaps [rsp+0x70], xmm2",
    "movaps [rsp+0x80], xmm3",
    "movaps [rsp+0x90], xmm4",
    "movaps [rsp+0xa0], xmm5",
    "movaps [rsp+0xb0], xmm6",
    "movaps [rsp+0xc0], xmm7",
    "mov rdi, rsp",
    "mov rsi, [rbp+8]",
    "call {before}",
    "test al, al",
    "mov rdi, [rsp]",
    "mov rsi, [rsp+0x08]",
    "mov rdx, [rsp+0x10]",
    "mov rcx, [rsp+0x18]",
    "mov r8, [rsp+0x20]",
    "mov r9, [rsp+0x28]",
    "mov rax, [rsp+0x30]",
    "mov r10, [rsp+0x38]",
    "mov r11, [rsp+0x40]",
    "movaps xmm0, [rsp+0x50]",
    "movaps xmm1, [rsp+0x60]",
    "movaps xmm2, [rsp+0x70]",
    "movaps xmm3, [rsp+0x80]",
    "movaps xmm4, [rsp+0x90]",
    "movaps xmm5, [rsp+0xa0]",
    "movaps xmm6, [rsp+0xb0]",
    "movaps xmm7, [rsp+0xc0]",
    "jne 2f",
    ".cfi_remember_state",
    "leave",
    ".cfi_def_cfa rsp, 8",
    "3:",
    "jmp [r11+8]",
    ".cfi_restore_state",
    "2:",
    "call [r11+8]",
    ".globl __lf_left",
    "__lf_left:",
    "mov [rsp+0x30], rax",
    "mov [rsp+0x38], rdx",
    "movaps [rsp+0x50], xmm0",
    "movaps [rsp+0x60], xmm1",
    "mov rdi, rsp",
    "mov rsi, [rbp+8]",
    "call {after}",
    "mov rax, [rsp+0x30]",
    "mov rdx, [rsp+0x38]",
    "movaps xmm0, [rsp+0x50]",
    "movaps xmm1, [rsp+0x60]",
    "leave",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    before = sym before,
    after = sym after,
);

unsafe extern "C" {
    fn __lf_leave();
    fn __lf_left();
}

/// Where stubs go.
pub(super) fn entry() -> usize {
    __lf_leave as *const () as usize
}

/// Is this where a function returns to that was called from here? It is no place of the program's.
pub(crate) fn is_return(address: usize) -> bool {
    address == __lf_left as *const () as usize
}

/// Arguments that are pointers to memory of ours for the time of a call.
const MOST: usize = 6;

#[derive(Clone, Copy)]
#[repr(C)]
struct Lent {
    argument: u8,
    program: usize,
    ours: usize,
    room: usize,
}

/// A call under way. In memory for a moment, before all that is lent.
#[repr(C)]
struct Crossing {
    /// Where that memory began.
    mark: usize,
    count: usize,
    lent: [Lent; MOST],
}

impl Crossing {
    fn lent(&self) -> &[Lent] {
        &self.lent[..self.count.min(MOST)]
    }

    fn of(&self, argument: u8) -> Option<Lent> {
        self.lent()
            .iter()
            .find(|lent| lent.argument == argument)
            .copied()
    }

    /// Room of ours in place of the program's.
    fn lend(&mut self, argument: u8, program: usize, room: usize) -> Option<usize> {
        if self.count == MOST || room > LARGEST {
            return None;
        }
        let ours = Scratch::new(room + 8).keep() as usize;
        self.lent[self.count] = Lent {
            argument,
            program,
            ours,
            room,
        };
        self.count += 1;
        Some(ours)
    }
}

/// Bytes of a block that an unknown function is taken to touch.
const FARTHEST: usize = 4096;
/// A descriptor that is polled, and the last of it: what became of it.
const POLLED: usize = 8;
const BECAME: usize = 2;
/// More than this is left where it is.
const LARGEST: usize = 256 << 20;
/// A text that is longer is left where it is.
const LONGEST: usize = 64 << 10;

impl Size {
    fn bytes(self, arguments: &[usize; 6]) -> usize {
        match self {
            Size::Bytes(bytes) => bytes,
            Size::Times(argument, each) => arguments[usize::from(argument)].saturating_mul(each),
        }
    }
}

impl When {
    fn holds(self, result: usize) -> bool {
        match self {
            When::Always => true,
            When::Zero => result as u32 == 0,
            When::NonZero => result != 0,
            When::Returned => false,
        }
    }
}

/// A buffer of `readv` and its kind.
#[derive(Clone, Copy)]
#[repr(C)]
struct Part {
    start: usize,
    length: usize,
}

/// Does what a library does there concern other threads? (Persistent memory is seen to where it is touched, and what points nowhere is
/// for the kernel to refuse.)
fn matters(address: usize) -> bool {
    imports::is_program_memory(address) && !is_persistent(address) && probe::is_mapped(address)
}

/// Will the function write there, and others see that?
fn takes(address: usize) -> bool {
    imports::is_program_memory(address) && !is_persistent(address) && probe::is_writable(address)
}

/// Before the call: true if there is something to be done afterwards.
unsafe extern "C" fn before(frame: *mut Frame, caller: usize) -> bool {
    // SAFETY: `__lf_leave` has made the frame; the program's arguments are what the function takes.
    unsafe {
        let frame = &mut *frame;
        let import = &*frame.import;
        if !accesses::others_see() || !threads::on() {
            return false;
        }
        threads::unsafe_calls::calls_import(import.name, caller);
        if !import.changes_nothing {
            threads::acted();
        }
        let origin = Origin::import(import.site.get(), caller);
        let Some(effects) = import.effects else {
            for argument in 0..6 {
                if import.pointers >> argument & 1 != 0 {
                    let address = frame.arguments[argument];
                    match import.stranger {
                        Stranger::Plain => guess(address, origin),
                        Stranger::Member if argument == 0 => note(address, 1, WRITE, origin),
                        Stranger::Member | Stranger::Looker => note(address, 1, READ, origin),
                    }
                }
            }
            return false;
        };
        frame.crossing = begin(effects, &mut frame.arguments, origin);
        !frame.crossing.is_null()
    }
}

/// A function does this to its arguments: what it reads is loaded, and memory of ours is lent to it. Null if there is nothing to be done
/// afterwards.
///
/// # Safety
/// The arguments are what the function takes.
unsafe fn begin(effects: &[Effect], arguments: &mut [usize; 6], origin: Origin) -> *mut Crossing {
    if effects.is_empty() {
        return core::ptr::null_mut();
    }
    let mark = run().scratch.get();
    let crossing = Scratch::new(size_of::<Crossing>()).keep() as *mut Crossing;
    // SAFETY: what the caller promises, and there is room for it.
    unsafe {
        (*crossing).mark = mark;
        (*crossing).count = 0;
        let given = *arguments;
        for effect in effects {
            prepare(&mut *crossing, *effect, &given, origin);
        }
        for lent in (*crossing).lent() {
            arguments[usize::from(lent.argument)] = lent.ours;
        }
        if (*crossing).count == 0 {
            run().scratch.set(mark);
            return core::ptr::null_mut();
        }
    }
    crossing
}

/// Performs a call that does this to its arguments.
///
/// # Safety
/// The arguments are what the function takes.
pub(crate) unsafe fn through(
    effects: &[Effect],
    mut arguments: [usize; 6],
    origin: Origin,
    call: impl FnOnce(&[usize; 6]) -> usize,
) -> usize {
    // SAFETY: what the caller promises.
    unsafe {
        if !accesses::others_see() || !threads::on() {
            return call(&arguments);
        }
        let crossing = begin(effects, &mut arguments, origin);
        let returned = call(&arguments);
        if crossing.is_null() {
            return returned;
        }
        end(&*crossing, effects, &arguments, returned, origin)
    }
}

/// Memory that a function of ours hands on, without knowing what becomes of it.
pub(crate) fn hand_over(address: usize, origin: Origin) {
    if threads::on() && accesses::others_see() {
        hands(address, origin);
    }
}

fn hands(address: usize, origin: Origin) {
    if matters(address) {
        touches(address, room_behind(address), WRITE, origin);
    }
}

/// A function may do anything there, or nothing: of a block of the heap that begins there to all of it.
fn guess(address: usize, origin: Origin) {
    if matters(address) {
        let length = heap::room(address).clamp(1, FARTHEST);
        touches(address, length, READ | WRITE, origin);
    }
}

/// How far a function may write that is known to write somewhere: a block of the heap to its end, up to some pages; elsewhere what a
/// small structure has.
fn room_behind(address: usize) -> usize {
    const LEAST: usize = 16;
    match heap_checks::room(address, FARTHEST) {
        0 => heap::room(address).clamp(LEAST, FARTHEST),
        length => length,
    }
}

/// A function may touch what is there, if it concerns others.
fn note(address: usize, length: usize, what: u8, origin: Origin) {
    if matters(address) {
        touches(address, length, what, origin);
    }
}

fn touches(address: usize, length: usize, what: u8, origin: Origin) {
    threads::leftovers::anything_is_read();
    if threads::trusted::is_inside() {
        return;
    }
    visible::by_pieces(address, length, LINE as usize, |at, piece| {
        let object = visible::pack(address + at, piece);
        trace::foreign(threads::current(), object, what, origin);
    });
}

/// # Safety
/// The arguments are what the function takes.
unsafe fn prepare(crossing: &mut Crossing, effect: Effect, given: &[usize; 6], origin: Origin) {
    let of = |argument: u8| given[usize::from(argument)];
    // SAFETY: what the caller promises.
    unsafe {
        match effect {
            Effect::Looks(argument) => note(of(argument), 1, READ, origin),
            Effect::Hands(argument) => hands(of(argument), origin),
            Effect::HandsMessage(argument) => message(of(argument), origin),
            Effect::Polls(argument, count) => {
                let length = of(count).saturating_mul(POLLED);
                if takes(of(argument)) {
                    lend_filled(crossing, argument, of(argument), length, origin);
                }
            }
            Effect::Updates(argument, size) => {
                if takes(of(argument)) {
                    lend_filled(crossing, argument, of(argument), size.bytes(given), origin);
                }
            }
            Effect::Reads(argument, size) => {
                if matters(of(argument)) {
                    lend_filled(crossing, argument, of(argument), size.bytes(given), origin);
                }
            }
            Effect::ReadsText(argument) => text(crossing, argument, of(argument), 1, origin),
            Effect::ReadsWideText(argument) => text(crossing, argument, of(argument), 4, origin),
            Effect::ReadsCharacter(argument, limit) => {
                let (from, limit) = (of(argument), of(limit).min(8));
                if matters(from)
                    && limit != 0
                    && let Some(ours) = crossing.lend(argument, from, 8)
                {
                    for at in 0..limit {
                        let to = (ours + at) as *mut u8;
                        visible::load(from + at, to, 1, 0, origin);
                        let (first, here) = (*(ours as *const u8), *to);
                        if first < 0x80 || at > 0 && here & 0xc0 != 0x80 {
                            break;
                        }
                    }
                }
            }
            Effect::Writes(argument, size, _)
            | Effect::WritesText(argument, size, _)
            | Effect::WritesReturned(argument, size, _) => {
                give_room(crossing, argument, of(argument), size.bytes(given));
            }
            Effect::WritesConverted(argument, count, each) => {
                let room = of(count).saturating_mul(each);
                give_room(crossing, argument, of(argument), room);
            }
            Effect::ReadsVector(argument, count) | Effect::WritesVector(argument, count) => {
                let reads = matches!(effect, Effect::ReadsVector(..));
                vector(crossing, argument, of(argument), of(count), reads, origin);
            }
        }
    }
}

/// Room with what the program has there.
///
/// # Safety
/// The program may read `from`, so far.
unsafe fn lend_filled(
    crossing: &mut Crossing,
    argument: u8,
    from: usize,
    length: usize,
    origin: Origin,
) {
    if let Some(ours) = crossing.lend(argument, from, length) {
        // SAFETY: what the caller promises, and so much room there is.
        unsafe { visible::load(from, ours as *mut u8, length, 0, origin) };
    }
}

/// # Safety
/// The program may write to `to`, as far as it asks for.
unsafe fn give_room(crossing: &mut Crossing, argument: u8, to: usize, room: usize) {
    const CLEARED: usize = 4096;
    if takes(to)
        && let Some(ours) = crossing.lend(argument, to, room)
    {
        // SAFETY: so much room there is.
        unsafe { bytes::fill(ours as *mut u8, 0, room.min(CLEARED)) };
    }
}

/// A text of characters of so many bytes.
///
/// # Safety
/// The program may read `from`, up to its end.
unsafe fn text(crossing: &mut Crossing, argument: u8, from: usize, each: usize, origin: Origin) {
    if !matters(from) {
        return;
    }
    let Some(ours) = crossing.lend(argument, from, LONGEST) else {
        return;
    };
    let mut length = 0;
    // SAFETY: what the caller promises, and there is room for so much.
    unsafe {
        loop {
            let to = (ours + length) as *mut u8;
            visible::load(from + length, to, each, 0, origin);
            length += each;
            if visible::digest(to, each) == 0 {
                break;
            }
            if length == LONGEST {
                // The function itself goes to its end.
                crossing.count -= 1;
                return;
            }
        }
    }
    crossing.lent[crossing.count - 1].room = length;
    run().scratch.set((ours + length + 63) & !63);
}

/// Buffers one after the other: the list is ours for the time of the call, and so are they.
///
/// # Safety
/// `from` is a list of so many buffers of the program's.
unsafe fn vector(
    crossing: &mut Crossing,
    argument: u8,
    from: usize,
    count: usize,
    reads: bool,
    origin: Origin,
) {
    const MOST_PARTS: usize = 1024;
    if !matters(from) || count > MOST_PARTS {
        return;
    }
    let list = count * size_of::<Part>();
    // Ours, behind it theirs.
    let Some(ours) = crossing.lend(argument, from, 2 * list) else {
        return;
    };
    // SAFETY: what the caller promises.
    unsafe {
        visible::load(from, (ours + list) as *mut u8, list, 0, origin);
        for at in 0..count {
            let part = *((ours + list) as *const Part).add(at);
            let mut start = part.start;
            let concerns = if reads { matters } else { takes };
            if part.length <= LARGEST && concerns(part.start) {
                start = Scratch::new(part.length).keep() as usize;
                if reads {
                    visible::load(part.start, start as *mut u8, part.length, 0, origin);
                }
            }
            *(ours as *mut Part).add(at) = Part { start, ..part };
        }
    }
}

/// A message of `recvmsg`: the list of its buffers, and they.
///
/// # Safety
/// `at` is a message of the program's, or nothing.
unsafe fn message(at: usize, origin: Origin) {
    hands(at, origin);
    if at == 0 || is_persistent(at) {
        return;
    }
    // SAFETY: what the caller promises.
    unsafe {
        let message = &*(at as *const libc::msghdr);
        for part in 0..message.msg_iovlen {
            let part = message.msg_iov.add(part);
            note(part as usize, size_of::<Part>(), READ, origin);
            hands((*part).iov_base as usize, origin);
        }
    }
}

/// After the call: what it left in our memory is stored where the program wants it.
unsafe extern "C" fn after(frame: *mut Frame, caller: usize) {
    // SAFETY: `__lf_leave` has made the frame, and `before` has filled it.
    unsafe {
        let frame = &mut *frame;
        let import = &*frame.import;
        let origin = Origin::import(import.site.get(), caller);
        let effects = import.effects.unwrap_or_default();
        let crossing = &*frame.crossing;
        frame.result = end(crossing, effects, &frame.arguments, frame.result, origin);
    }
}

/// What the function returned, as the program is to see it.
///
/// # Safety
/// `begin` has prepared the arguments.
unsafe fn end(
    crossing: &Crossing,
    effects: &[Effect],
    arguments: &[usize; 6],
    returned: usize,
    origin: Origin,
) -> usize {
    let mut given = *arguments;
    for lent in crossing.lent() {
        given[usize::from(lent.argument)] = lent.program;
    }
    for effect in effects {
        // SAFETY: what the caller promises.
        unsafe { finish(crossing, *effect, &given, returned, origin) };
    }
    run().scratch.set(crossing.mark);
    // A pointer into memory of ours is meant to be one into the program's.
    let within = |lent: &&Lent| returned.wrapping_sub(lent.ours) <= lent.room;
    match crossing.lent().iter().find(within) {
        Some(lent) => returned - lent.ours + lent.program,
        None => returned,
    }
}

/// # Safety
/// The arguments are what the function took.
unsafe fn finish(
    crossing: &Crossing,
    effect: Effect,
    given: &[usize; 6],
    returned: usize,
    origin: Origin,
) {
    let (argument, written) = match effect {
        Effect::Writes(argument, size, when) if when.holds(returned) => {
            (argument, size.bytes(given))
        }
        Effect::Updates(argument, size) => (argument, size.bytes(given)),
        Effect::Polls(argument, count) => {
            let Some(lent) = crossing.of(argument) else {
                return;
            };
            let count = given[usize::from(count)].min(lent.room / POLLED);
            for at in (0..count).map(|number| number * POLLED + POLLED - BECAME) {
                let from = (lent.ours + at) as *const u8;
                // SAFETY: the program may write there, so much.
                unsafe { visible::store(lent.program + at, from, BECAME, 0, origin) };
            }
            return;
        }
        Effect::WritesText(argument, _, when)
            if when.holds(returned)
                || when == When::Returned
                    && crossing
                        .of(argument)
                        .is_some_and(|lent| lent.ours == returned) =>
        {
            let Some(lent) = crossing.of(argument) else {
                return;
            };
            // SAFETY: there is room for more than the function was told of, all zero.
            let length = unsafe { bytes::length(lent.ours as *const u8, lent.room) };
            (argument, (length + 1).min(lent.room))
        }
        Effect::WritesReturned(argument, _, each) => {
            let count = (returned as isize).max(0) as usize;
            (argument, count.saturating_mul(each))
        }
        Effect::WritesConverted(argument, count, each) if returned as isize >= 0 => {
            let count = given[usize::from(count)];
            (argument, (returned + 1).min(count).saturating_mul(each))
        }
        Effect::WritesVector(argument, count) => {
            if let Some(lent) = crossing.of(argument) {
                // SAFETY: `before` has made the list.
                unsafe { scatter(lent.ours, given[usize::from(count)], returned, origin) };
            }
            return;
        }
        _ => return,
    };
    if let Some(lent) = crossing.of(argument) {
        let length = written.min(lent.room);
        // SAFETY: the program may write there, so much.
        unsafe { visible::store(lent.program, lent.ours as *const u8, length, 0, origin) };
    }
}

/// # Safety
/// `list` has so many buffers of ours, and behind them those of the program.
unsafe fn scatter(list: usize, count: usize, returned: usize, origin: Origin) {
    let mut left = (returned as isize).max(0) as usize;
    // SAFETY: what the caller promises.
    unsafe {
        for at in 0..count {
            let ours = *(list as *const Part).add(at);
            let program = *(list as *const Part).add(count + at);
            let length = ours.length.min(left);
            if ours.start != program.start && length != 0 {
                visible::store(program.start, ours.start as *const u8, length, 0, origin);
            }
            left -= length;
        }
    }
}
