//! Instructions of other compilers that access persistent memory again and again: rewritten by the checker (`native::rewrite`) to
//! call us instead of being trapped one by one. What is recorded is what the trap would have recorded (`unannounced`). So are
//! fences of such code, which nothing would trap.
//!
//! In place of the instruction there is a jump to code that keeps the flags and one register on the stack, below what functions
//! keep there, puts the address it is about there and calls `__lf_before`. That leaves the address to use instead: where the content
//! of persistent memory lies, or for stores a place of ours, which `__lf_after` looks at.

use crate::memory::accesses;
use crate::memory::bytes;
use crate::memory::instruction::{self, Access};
use crate::memory::own::{allocate, place};
use crate::memory::shadow::{self, PAGE, content, is_persistent, offset};
use crate::memory::unannounced;
use crate::run::outcome::{self, Report};
use crate::run::serve::each_line;
use crate::run::shared::control;
use crate::run::trace::{self, Origin};
use crate::state::{Mode, OneThread, run, server};
use crate::syscalls::sys;
use core::arch::global_asm;
use core::cell::Cell;
use core::sync::atomic::Ordering::Relaxed;
use landfall_vocab::record::{RecordKind, flag};
use landfall_vocab::rewrite::{MOST_TRAPS, MOVED_STACK, NO_REGISTER, Order, entry};
use landfall_vocab::shared::{End, SlotHeader, job};
use landfall_vocab::window;

/// Instructions that were moved, and landings, at most.
const MOST: usize = 1 << 14;
const _: () = assert!(window::BASE.is_multiple_of(window::LEN));
/// An access of more than this is trapped as ever.
const LARGEST: usize = 64;

/// An instruction that lies elsewhere now.
#[derive(Clone, Copy)]
#[repr(C)]
struct Moved {
    start: u64,
    end: u64,
    place: u64,
    register: u8,
    /// What the table of instructions says agrees with what the checker found.
    agreed: bool,
    access: Access,
    fence: Option<RecordKind>,
}

#[repr(C)]
pub(crate) struct Rewritten {
    moved: *mut Moved,
    moved_count: usize,
    landings: *mut (u64, u64),
    landing_count: usize,
    /// The store that is under way: where to, how long, flags, who.
    store: (usize, usize, u8, Origin),
    staged: Staged,
}

/// Where a store is made first: instructions that want their memory aligned may ask for as much.
#[repr(C, align(64))]
struct Staged([u8; LARGEST]);

/// What rewritten code leaves on the stack for us.
#[repr(C)]
struct MovedFrame {
    /// Which instruction, by its number in the order of the orders.
    moved: u64,
    address: u64,
    flags: u64,
    register: u64,
}

// All registers that a function of ours may change are kept, the vector ones by their lower halves: this code is built for
// processors that have no more, and leaves the rest alone. While there is one thread we work on a stack of our own, as a handler
// of a trap does: what we leave below the program's would be taken for calls (`unannounced::call_before`). For the same reason
// registers that lay there are wiped out.
global_asm!(
    ".macro lf_keep_and_call target",
    "push rax",
    "mov rax, [rip + {stack}]",
    "test rax, rax",
    "cmovz rax, rsp",
    "and rax, -16",
    "xchg rax, rsp",
    "push rax",
    "push rcx",
    "push rdx",
    "push rsi",
    "push rdi",
    "push r8",
    "push r9",
    "push r10",
    "push r11",
    "push rbp",
    "mov rbp, rsp",
    "lea rdi, [rax + 16]",
    "sub rsp, 264",
    "and rsp, -16",
    "movaps [rsp], xmm0",
    "movaps [rsp + 16], xmm1",
    "movaps [rsp + 32], xmm2",
    "movaps [rsp + 48], xmm3",
    "movaps [rsp + 64], xmm4",
    "movaps [rsp + 80], xmm5",
    "movaps [rsp + 96], xmm6",
    "movaps [rsp + 112], xmm7",
    "movaps [rsp + 128], xmm8",
    "movaps [rsp + 144], xmm9",
    "movaps [rsp + 160], xmm10",
    "movaps [rsp + 176], xmm11",
    "movaps [rsp + 192], xmm12",
    "movaps [rsp + 208], xmm13",
    "movaps [rsp + 224], xmm14",
    "movaps [rsp + 240], xmm15",
    "cld",
    "call \\target",
    "movaps xmm0, [rsp]",
    "movaps xmm1, [rsp + 16]",
    "movaps xmm2, [rsp + 32]",
    "movaps xmm3, [rsp + 48]",
    "movaps xmm4, [rsp + 64]",
    "movaps xmm5, [rsp + 80]",
    "movaps xmm6, [rsp + 96]",
    "movaps xmm7, [rsp + 112]",
    "movaps xmm8, [rsp + 128]",
    "movaps xmm9, [rsp + 144]",
    "movaps xmm10, [rsp + 160]",
    "movaps xmm11, [rsp + 176]",
    "movaps xmm12, [rsp + 192]",
    "movaps xmm13, [rsp + 208]",
    "movaps xmm14, [rsp + 224]",
    "movaps xmm15, [rsp + 240]",
    "mov rsp, rbp",
    "pop rbp",
    "pop r11",
    "pop r10",
    "pop r9",
    "pop r8",
    "pop rdi",
    "pop rsi",
    "pop rdx",
    "pop rcx",
    "pop rsp",
    "pop rax",
    "mov qword ptr [rsp - 8], 0",
    "ret",
    ".endm",
    ".globl __lf_before",
    "__lf_before:",
    // Most accesses of a library are to its own memory.
    "push rax",
    "mov rax, [rsp + 24]",
    "shr rax, {bits}",
    "cmp rax, {base}",
    "pop rax",
    "mov qword ptr [rsp - 8], 0",
    "je 1f",
    "ret",
    "1:",
    "lf_keep_and_call {before}",
    ".globl __lf_before_locked",
    "__lf_before_locked:",
    "lf_keep_and_call {before_locked}",
    ".globl __lf_after",
    "__lf_after:",
    "lf_keep_and_call {after}",
    ".globl __lf_fence_elsewhere",
    "__lf_fence_elsewhere:",
    "lf_keep_and_call {fence}",
    base = const window::BASE >> window::LEN.trailing_zeros(),
    bits = const window::LEN.trailing_zeros(),
    before = sym before,
    before_locked = sym before_locked,
    after = sym after,
    fence = sym fence,
    stack = sym __lf_hook_stack,
);

/// The end of the stack on which rewritten code calls us; zero for its own.
#[repr(C, align(4096))]
struct HookStack(Cell<usize>);

#[unsafe(no_mangle)]
#[unsafe(link_section = "lf_state")]
static __lf_hook_stack: OneThread<HookStack> = OneThread(HookStack(Cell::new(0)));

/// Several threads run, or one does: what one does in here may have to wait for others.
pub(crate) fn watch(several: bool) {
    let end = match several || moved_count() == 0 {
        true => 0,
        false => place::HOOK_STACK + place::HOOK_STACK_LEN,
    };
    __lf_hook_stack.0.0.set(end);
}

unsafe extern "C" {
    fn __lf_before();
    fn __lf_before_locked();
    fn __lf_after();
    fn __lf_fence_elsewhere();
}

/// Tells the checker where rewritten code is to call.
pub(crate) fn publish() {
    let entries = [
        (entry::BEFORE, __lf_before as *const ()),
        (entry::BEFORE_LOCKED, __lf_before_locked as *const ()),
        (entry::AFTER, __lf_after as *const ()),
        (entry::FENCE, __lf_fence_elsewhere as *const ()),
    ];
    for (which, address) in entries {
        control().entries[which].store(address as u64, Relaxed);
    }
}

/// An instruction was trapped: the checker may want to rewrite it.
pub(crate) fn note(pc: u64) {
    let places = &control().trapped;
    let first = pc.wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> 32;
    for at in first..first + 64 {
        let place = &places[at % places.len()];
        let known = place.pc.load(Relaxed);
        if known == 0 {
            place.pc.store(pc, Relaxed);
        }
        if known == 0 || known == pc {
            place.count.fetch_add(1, Relaxed);
            break;
        }
    }
    control().traps.fetch_add(1, Relaxed);
    run().traps.set(run().traps.get() + 1);
    if run().traps.get() > MOST_TRAPS && crate::run::shared::job().flags & job::REWRITES != 0 {
        outcome::end_for_all(End::Limit, Report::default())
    }
}

/// Does what the checker orders. Called between runs, by the server itself.
///
/// # Safety
/// `slot` is a slot of the shared memory with such a job, and it is this server's turn.
pub(crate) unsafe fn apply(slot: *const SlotHeader) {
    // SAFETY: what the caller promises; the checker names only code, and rooms that it made.
    unsafe {
        let rewritten = server().rewritten.pointer();
        if (*rewritten).moved.is_null() {
            (*rewritten).moved = allocate(MOST * size_of::<Moved>()).cast();
            (*rewritten).landings = allocate(MOST * size_of::<(u64, u64)>()).cast();
            sys::map(place::HOOK_STACK, place::HOOK_STACK_LEN);
        }
        let mut open = OpenCode::NONE;
        each_line(slot, |address, line| {
            match Order::from_bytes(&*line.cast()) {
                Some(Order::Room { length }) => make_room(address as usize, length as usize),
                Some(Order::Code { bytes, length }) => {
                    open.put(address as usize, &bytes[..length as usize]);
                }
                Some(Order::Moved { end, place, effect }) if (*rewritten).moved_count < MOST => {
                    let access = instruction::decode(effect.code.as_ptr());
                    let agreed = access.string.is_none()
                        && (access.flush.is_some()
                            || access.bytes == Some(effect.bytes as usize)
                                && access.reads == effect.reads
                                && access.writes == effect.writes
                                && effect.bytes as usize <= LARGEST);
                    (*rewritten)
                        .moved
                        .add((*rewritten).moved_count)
                        .write(Moved {
                            start: address,
                            end,
                            place,
                            register: effect.register,
                            agreed,
                            access,
                            fence: fence_of(&effect.code),
                        });
                    (*rewritten).moved_count += 1;
                }
                Some(Order::Landing { to }) if (*rewritten).landing_count < MOST => {
                    let landing = (*rewritten).landings.add((*rewritten).landing_count);
                    landing.write((address, to));
                    (*rewritten).landing_count += 1;
                }
                _ => {}
            }
        });
        open.close();
    }
    watch(false);
}

/// The fence that an instruction is, if it is one.
fn fence_of(code: &[u8]) -> Option<RecordKind> {
    match code {
        [0x0f, 0xae, 0xf8, ..] => Some(RecordKind::Sfence),
        [0x0f, 0xae, 0xf0, ..] => Some(RecordKind::Mfence),
        [0x0f, 0xae, 0xe8, ..] => Some(RecordKind::Lfence),
        _ => None,
    }
}

fn moved_count() -> usize {
    // SAFETY: a number of ours.
    unsafe { (*server().rewritten.pointer()).moved_count }
}

fn make_room(address: usize, length: usize) {
    if sys::map(address, length).is_some() {
        let code = (libc::PROT_READ | libc::PROT_EXEC) as usize;
        sys::call(libc::SYS_mprotect, [address, length, code]);
    }
}

/// Pages of code that can be written for a moment: much of what is ordered lies side by side.
struct OpenCode {
    first: usize,
    length: usize,
}

impl OpenCode {
    const NONE: OpenCode = OpenCode {
        first: 0,
        length: 0,
    };

    /// # Safety
    /// Nobody runs the code there.
    unsafe fn put(&mut self, address: usize, code: &[u8]) {
        let first = address & !(PAGE - 1);
        let length = (address + code.len() - first).next_multiple_of(PAGE);
        if first < self.first || first + length > self.first + self.length {
            self.close();
            let writable = (libc::PROT_READ | libc::PROT_WRITE) as usize;
            if sys::call(libc::SYS_mprotect, [first, length, writable]) != 0 {
                return;
            }
            (self.first, self.length) = (first, length);
        }
        // SAFETY: what the caller promises.
        unsafe { bytes::copy(address as *mut u8, code.as_ptr(), code.len()) };
    }

    fn close(&mut self) {
        if self.length != 0 {
            let code = (libc::PROT_READ | libc::PROT_EXEC) as usize;
            sys::call(libc::SYS_mprotect, [self.first, self.length, code]);
            self.length = 0;
        }
    }
}

/// Where code stands that was moved: the place it comes from, the stack pointer it would have there, and the register that is in
/// use instead.
#[derive(Clone, Copy)]
pub(crate) struct Standing {
    pub(crate) pc: u64,
    pub(crate) stack: usize,
    register: u8,
}

/// Is this code that was moved?
pub(crate) fn standing(pc: u64, stack: usize) -> Option<Standing> {
    let rewritten = server().rewritten.pointer();
    // SAFETY: the tables are ours, and as long as they say.
    let moved = unsafe {
        if (*rewritten).moved_count == 0 {
            return None;
        }
        core::slice::from_raw_parts((*rewritten).moved, (*rewritten).moved_count)
    };
    let found = moved
        .iter()
        .find(|moved| moved.start <= pc && pc < moved.end)?;
    let below = if found.register == NO_REGISTER {
        0
    } else {
        MOVED_STACK
    };
    Some(Standing {
        pc: found.place,
        stack: stack + below as usize,
        register: found.register,
    })
}

/// The kernel's numbers of the registers, by the processor's.
const REGISTERS: [i32; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

/// A fault that is the program's own is told as if nothing had been moved.
///
/// # Safety
/// `context` is what the kernel gave to the handler that runs.
pub(crate) unsafe fn as_it_was(context: *mut libc::ucontext_t) {
    // SAFETY: what the caller promises; the register lies on the stack.
    unsafe {
        let registers = &raw mut (*context).uc_mcontext.gregs;
        let pc = (*registers)[libc::REG_RIP as usize] as u64;
        let stack = (*registers)[libc::REG_RSP as usize] as usize;
        let Some(standing) = standing(pc, stack) else {
            return;
        };
        if let Some(register) = REGISTERS.get(standing.register as usize) {
            (*registers)[*register as usize] = *(stack as *const i64);
        }
        (*registers)[libc::REG_RIP as usize] = standing.pc as i64;
        (*registers)[libc::REG_RSP as usize] = standing.stack as i64;
    }
}

/// A trap between two instructions that were rewritten: goes on where the second one is now. False if there is no such trap.
///
/// # Safety
/// `context` is what the kernel gave to the handler that runs.
pub(crate) unsafe fn on_landing(signal: i32, context: *mut libc::ucontext_t) -> bool {
    // SAFETY: what the caller promises; the tables are ours, and as long as they say.
    unsafe {
        let rewritten = server().rewritten.pointer();
        if (*rewritten).landing_count == 0 {
            return false;
        }
        let registers = &raw mut (*context).uc_mcontext.gregs;
        let pc = (*registers)[libc::REG_RIP as usize] as u64;
        // The processor is behind a breakpoint, and at an instruction that is none.
        let pc = pc - u64::from(signal == libc::SIGTRAP);
        let landings =
            core::slice::from_raw_parts((*rewritten).landings, (*rewritten).landing_count);
        let Some((_, to)) = landings.iter().find(|(at, _)| *at == pc) else {
            return false;
        };
        (*registers)[libc::REG_RIP as usize] = *to as i64;
        true
    }
}

/// # Safety
/// Called by rewritten code.
unsafe fn moved_of(frame: *const MovedFrame) -> *const Moved {
    let rewritten = server().rewritten.pointer();
    // SAFETY: what the caller promises: numbers are those of the orders.
    unsafe { (*rewritten).moved.add((*frame).moved as usize) }
}

/// Who it was, as a trap would say.
///
/// # Safety
/// Called by rewritten code.
unsafe fn origin(moved: *const Moved, frame: *const MovedFrame) -> Origin {
    // SAFETY: what the caller promises: behind the frame lies what functions keep below the stack.
    unsafe { unannounced::elsewhere((*moved).place as usize, stack_of(frame)) }
}

fn stack_of(frame: *const MovedFrame) -> usize {
    frame as usize + size_of::<MovedFrame>() - 8 + MOVED_STACK as usize
}

unsafe extern "C" fn before(frame: *mut MovedFrame) {
    // SAFETY: rewritten code calls this, with what it put on its stack.
    unsafe {
        let moved = moved_of(frame);
        let access = (*moved).access;
        let address = (*frame).address as usize;
        let length = access.bytes.unwrap_or(0);
        let at = offset(address);
        let trapped = server().mode.get() != Mode::Running
            || !(*moved).agreed
            || address % PAGE + length > PAGE
            || !(shadow::is_touched(at) || shadow::live(at));
        if trapped {
            return; // the access itself faults, and is looked at then
        }
        unannounced::count((*moved).place, at, access.writes);
        shadow::touch(at);
        if let Some(kind) = access.flush {
            (*frame).address = content(at) as u64;
            return trace::plain(kind, at, flag::FOREIGN, origin(moved, frame));
        }
        let locked = if access.locked { flag::LOCKED } else { 0 };
        let flags = flag::FOREIGN | locked;
        if access.reads && !accesses::is_known(at, length) {
            accesses::read_span(address, length, flags, origin(moved, frame));
        }
        if !access.writes {
            (*frame).address = content(at) as u64;
            return;
        }
        let past_cache = if access.non_temporal {
            flag::NON_TEMPORAL
        } else {
            0
        };
        let rewritten = server().rewritten.pointer();
        (*rewritten).store = (address, length, flags | past_cache, origin(moved, frame));
        let staged = &raw mut (*rewritten).staged;
        bytes::copy(staged.cast(), content(at), length);
        (*frame).address = staged as u64;
    }
}

unsafe extern "C" fn before_locked(frame: *mut MovedFrame) {
    // SAFETY: rewritten code calls this, with what it put on its stack.
    unsafe {
        if is_persistent((*frame).address as usize) {
            return before(frame);
        }
        if crate::state::running() {
            let moved = moved_of(frame);
            let origin = origin(moved, frame);
            crate::threads::fence(origin);
            trace::locked_elsewhere(origin);
        }
    }
}

unsafe extern "C" fn after(_: *mut MovedFrame) {
    let rewritten = server().rewritten.pointer();
    // SAFETY: what is staged is ours, and as long as the store.
    unsafe {
        let (address, length, flags, origin) = (*rewritten).store;
        if length == 0 {
            return; // it was no access of persistent memory, or it was trapped
        }
        (*rewritten).store.1 = 0;
        let staged = core::slice::from_raw_parts((&raw const (*rewritten).staged).cast(), length);
        accesses::store_pieces(address, staged, flags, origin);
    }
}

unsafe extern "C" fn fence(frame: *mut MovedFrame) {
    // SAFETY: rewritten code calls this, with what it put on its stack.
    unsafe {
        let moved = moved_of(frame);
        if let Some(kind) = (*moved).fence
            && crate::state::running()
        {
            crate::hooks::flushes::machine_fence(kind, origin(moved, frame));
        }
    }
}
