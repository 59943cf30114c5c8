//! Signals. The kernel only ever sees the runtime's handlers; what the program installs is kept in a table and called from
//! there, so a program cannot take faults away from the checker, and a restart forgets its handlers.

use crate::memory::bytes;
use crate::memory::own::place;
use crate::run::outcome::{self, Report};
use crate::run::shared::{self, trace_len};
use crate::state::{Mode, budget, run, server};
use crate::syscalls::handlers::{self, Going};
use crate::syscalls::sys;
use core::sync::atomic::Ordering::Relaxed;
use landfall_vocab::shared::End;

/// A signal action in the kernel's layout.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Action {
    pub(crate) handler: usize,
    pub(crate) flags: u64,
    pub(crate) restorer: usize,
    pub(crate) mask: u64,
}

impl Action {
    /// Signals that are blocked while its handler runs.
    pub(crate) fn blocks(&self, signal: usize) -> u64 {
        match self.flags & libc::SA_NODEFER as u64 {
            0 => self.mask | 1 << (signal - 1),
            _ => self.mask,
        }
    }
}

const SA_RESTORER: u64 = 0x0400_0000;
const DEFAULT: usize = libc::SIG_DFL;
const IGNORE: usize = libc::SIG_IGN;

/// A program's handler that returns (or jumps) to the same fault this often, with nothing done in between, is not going to fix
/// it.
const FAULT_REPEATS: u32 = 1000;

const FAULTS: [i32; 6] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGXFSZ,
];

/// What the kernel blocks now.
pub(crate) fn blocked() -> u64 {
    let mut mask = 0u64;
    let asked = [0, 0, &raw mut mask as usize, 8];
    // SAFETY: the kernel writes a number of ours.
    unsafe { sys::raw(libc::SYS_rt_sigprocmask, asked) };
    mask
}

/// Constructors have asked the kernel itself: keeps what they asked for, and takes it back.
fn take_over() {
    let none = Action {
        handler: DEFAULT,
        flags: SA_RESTORER,
        restorer: 0,
        mask: 0,
    };
    for signal in 1..=64 {
        let mut kept = none;
        let asked = [signal, 0, &raw mut kept as usize, 8];
        let default = [signal, &raw const none as usize, 0, 8];
        // SAFETY: the kernel reads and writes structures of ours.
        unsafe {
            sys::raw(libc::SYS_rt_sigaction, asked);
            // Whoever started the program may have it ignore some.
            if kept.handler != DEFAULT && kept.handler != IGNORE {
                server().actions[signal].set(kept);
                server().acted.set(true);
                sys::raw(libc::SYS_rt_sigaction, default);
            }
        }
    }
    let before = server().blocked.get();
    server().blocked.set(blocked() & !before);
    let asked = [libc::SIG_SETMASK as usize, &raw const before as usize, 0, 8];
    // SAFETY: the kernel reads a number of ours.
    unsafe { sys::raw(libc::SYS_rt_sigprocmask, asked) };
}

/// At the beginning of a run, when all is zero.
pub(crate) fn begin() {
    run().mask.set(server().blocked.get());
    if !server().acted.get() {
        return;
    }
    // By hand: the compiler's way would be a call of `memcpy`, which may be the program's.
    // SAFETY: two tables of the same type, each reached here alone.
    unsafe {
        bytes::copy(
            (&raw const run().actions).cast_mut().cast(),
            (&raw const server().actions).cast(),
            size_of_val(&server().actions),
        );
    }
}

/// The stack that handlers of ours run on.
pub(crate) fn signal_stack() -> libc::stack_t {
    libc::stack_t {
        ss_sp: place::SIGNAL_STACK as *mut _,
        ss_flags: 0,
        ss_size: place::SIGNAL_STACK_LEN,
    }
}

/// Installs the runtime's handlers on a stack of their own.
pub(crate) fn install() {
    take_over();
    // SAFETY: handlers have the type that the kernel calls, and the structures are those of the kernel.
    unsafe {
        if sys::map(place::SIGNAL_STACK, place::SIGNAL_STACK_LEN).is_some() {
            let stack = signal_stack();
            sys::raw(libc::SYS_sigaltstack, [&raw const stack as usize, 0]);
        }
    }
    for signal in FAULTS {
        take(signal, on_fault);
    }
    take(libc::SIGSYS, crate::syscalls::dispatch::on_syscall);
    take(libc::SIGPROF, on_tick);
}

pub(crate) type Handler = unsafe extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::ucontext_t);

fn take(signal: i32, handler: Handler) {
    // Not deferred and nothing masked: a handler may be left by a jump, and nothing has to be unmasked then. Restarting,
    // because a tick may fall into a system call of ours.
    let restart = libc::SA_NODEFER | libc::SA_RESTART;
    let flags = (libc::SA_SIGINFO | libc::SA_ONSTACK | restart) as u64 | SA_RESTORER;
    let restorer = sys::__lf_restorer as *const () as usize;
    let action = Action {
        handler: handler as *const () as usize,
        flags,
        restorer,
        mask: 0,
    };
    // SAFETY: handlers have the type that the kernel calls, and the structures are those of the kernel.
    unsafe {
        sys::raw(
            libc::SYS_rt_sigaction,
            [signal as usize, &raw const action as usize, 0, 8],
        )
    };
}

/// Starts the clock that ends runs stuck in uninstrumented code. Time in the kernel counts too: that is where memory is taken.
pub(crate) fn start_ticking() {
    let every = libc::timeval {
        tv_sec: 0,
        tv_usec: landfall_vocab::shared::TICK as i64 * 1000,
    };
    let timer = libc::itimerval {
        it_interval: every,
        it_value: every,
    };
    // SAFETY: the kernel reads a structure of ours.
    unsafe {
        sys::raw(
            libc::SYS_setitimer,
            [libc::ITIMER_PROF as usize, &raw const timer as usize, 0],
        )
    };
}

unsafe extern "C" fn on_tick(_: i32, _: *mut libc::siginfo_t, context: *mut libc::ucontext_t) {
    // SAFETY: the context is the kernel's record of the program, until the handler returns.
    unsafe {
        if server().mode.get() != Mode::Running {
            return;
        }
        crate::memory::limits::look();
        if budget().get() != run().tick_budget.get() {
            run().tick_budget.set(budget().get());
            run().ticks.set(0);
            crate::run::endless::stepped();
            return;
        }
        run().ticks.set(run().ticks.get() + 1);
        crate::run::endless::ticked(context);
        if run().ticks.get() >= shared::job().ticks {
            let (pc, frame) = position(context);
            let (end, text): (End, &[&[u8]]) = match crate::run::endless::proven() {
                true => (End::Hang, &[outcome::FOR_EVER]),
                false => (
                    End::Stuck,
                    &[b"processor time ran out without a step of instrumented code"],
                ),
            };
            outcome::end(
                end,
                Report {
                    pc,
                    frame,
                    text,
                    ..Report::default()
                },
            )
        }
    }
}

/// # Safety
/// `context` is what the kernel gave to the handler that runs.
unsafe fn position(context: *mut libc::ucontext_t) -> (u64, usize) {
    // SAFETY: what the caller promises.
    let registers = unsafe { &(*context).uc_mcontext.gregs };
    (
        registers[libc::REG_RIP as usize] as u64,
        registers[libc::REG_RBP as usize] as usize,
    )
}

unsafe extern "C" fn on_fault(
    signal: i32,
    info: *mut libc::siginfo_t,
    context: *mut libc::ucontext_t,
) {
    // SAFETY: information and context are the kernel's record of the program, until the handler returns.
    unsafe {
        if signal == libc::SIGSEGV && crate::syscalls::clock::emulate_timestamp(info, context) {
            return;
        }
        let address = (*info).si_addr() as u64;
        if signal == libc::SIGSEGV
            && server().in_place.get()
            && crate::run::tracked::make_hot(address as usize)
        {
            return;
        }
        if signal == libc::SIGSEGV
            && crate::memory::unannounced::on_access(address as usize, context)
        {
            return;
        }
        if signal == libc::SIGTRAP {
            let stepped = crate::memory::unannounced::on_step(context);
            if crate::threads::stepped::on_trap(context) || stepped {
                return;
            }
        }
        if matches!(signal, libc::SIGTRAP | libc::SIGILL)
            && crate::memory::rewritten::on_landing(signal, context)
        {
            return;
        }
        crate::memory::rewritten::as_it_was(context);
        let (pc, frame) = position(context);
        if server().mode.get() != Mode::Running {
            outside(signal, address, pc);
        }
        let address = crate::memory::protections::faulted(address as usize) as u64;
        if matches!(signal, libc::SIGSEGV | libc::SIGBUS)
            && crate::syscalls::dispatch::fail_with_fault(context)
        {
            return;
        }
        if crate::threads::transactions::takes_fault(context) {
            return;
        }
        if deliver(signal, info, context) {
            return;
        }
        let site = crate::threads::visible::dies_at(address as usize);
        let guard = (place::STACK - place::GUARD) as u64;
        let overflow = signal == libc::SIGSEGV
            && (address.wrapping_sub(guard) < place::GUARD as u64
                || crate::threads::in_guard(address as usize));
        let kind = if overflow {
            End::StackOverflow
        } else {
            End::Signal
        };
        outcome::end(
            kind,
            Report {
                code: signal,
                address,
                pc,
                frame,
                site: if overflow { 0 } else { site },
                ..Report::default()
            },
        )
    }
}

/// A fault outside a run: default it, so that the process dies of it and its parent sees why.
fn outside(signal: i32, _address: u64, _pc: u64) {
    let action = Action {
        handler: DEFAULT,
        flags: SA_RESTORER,
        restorer: 0,
        mask: 0,
    };
    // SAFETY: handlers have the type that the kernel calls, and the structures are those of the kernel.
    unsafe {
        sys::raw(
            libc::SYS_rt_sigaction,
            [signal as usize, &raw const action as usize, 0, 8],
        )
    };
}

/// Calls the program's handler; false when it has none. A handler that returns sends us back to the instruction.
///
/// # Safety
/// `info` and `context` are what the kernel gave to the handler that runs.
unsafe fn deliver(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::ucontext_t) -> bool {
    // SAFETY: what the caller promises.
    unsafe {
        let action = run().actions[signal as usize].get();
        if action.handler == DEFAULT || action.handler == IGNORE {
            return false;
        }
        let faults = run().faults.as_ptr();
        let (pc, _) = position(context);
        let fault = (pc, (*info).si_addr() as usize);
        let events = trace_len().load(Relaxed);
        let stepped = (*faults).returned && (*faults).budget != budget().get();
        if fault == (*faults).last && events == (*faults).events && !stepped {
            (*faults).repeats += 1;
            if (*faults).repeats > FAULT_REPEATS {
                return false;
            }
        } else {
            (*faults).repeats = 0;
        }
        ((*faults).last, (*faults).events) = (fault, events);
        (*faults).returned = false;
        if action.flags & libc::SA_RESETHAND as u32 as u64 != 0 {
            run().actions[signal as usize].set(Action {
                handler: DEFAULT,
                ..action
            });
        }
        let going = handlers::go(signal, &action, info, context);
        let mask = run().mask.get();
        let blocked = mask | action.blocks(signal as usize);
        match going {
            Going::NoRoom => return false,
            Going::Goes => run().mask.set(blocked),
            Going::Stays => {
                let handler: Handler = core::mem::transmute(action.handler);
                // The handler is the program's code: its faults are its own.
                let call = run().call.get();
                run().call.set(crate::syscalls::dispatch::Current::NONE);
                run().mask.set(blocked);
                match handlers::other_stack(&action, (&raw const mask) as usize) {
                    Some(top) => {
                        handlers::call_on(top, action.handler, signal as usize, info, context)
                    }
                    None => handler(signal, info, context),
                }
                run().mask.set(mask);
                run().call.set(call);
                handled();
            }
        }
        true
    }
}

/// A handler has returned. What it did itself is no progress of the program.
pub(crate) fn handled() {
    let faults = run().faults.get();
    run().faults.set(Faults {
        returned: true,
        events: trace_len().load(Relaxed),
        budget: budget().get(),
        ..faults
    });
}

/// The last fault the program handled.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Faults {
    /// Instruction and address.
    last: (u64, usize),
    repeats: u32,
    /// The handler returned; if not, it jumped, or is still at it.
    returned: bool,
    /// Bytes of trace and steps left after the handler; before it when it did not return.
    events: u64,
    budget: i64,
}

impl Faults {
    pub(crate) const NONE: Faults = Faults {
        last: (0, 0),
        repeats: 0,
        returned: false,
        events: 0,
        budget: 0,
    };
}

/// A signal the program sends to itself. Returns when it is ignored or handled.
///
/// # Safety
/// `context` is what the kernel gave to the handler that runs.
pub(crate) unsafe fn raise(signal: i32, context: *mut libc::ucontext_t) {
    // SAFETY: what the caller promises.
    unsafe {
        if !(1..=64).contains(&signal) {
            return;
        }
        let action = run().actions[signal as usize].get();
        if action.handler == IGNORE && signal != libc::SIGKILL {
            return;
        }
        if action.handler != DEFAULT {
            let mut info: libc::siginfo_t = core::mem::zeroed();
            (info.si_signo, info.si_code) = (signal, libc::SI_TKILL);
            run().faults.set(Faults::NONE);
            deliver(signal, &raw mut info, context);
            return;
        }
        if matches!(
            signal,
            libc::SIGCHLD | libc::SIGURG | libc::SIGWINCH | libc::SIGCONT
        ) {
            return;
        }
        let (pc, frame) = position(context);
        let kind = if signal == libc::SIGABRT {
            End::Abort
        } else {
            End::Signal
        };
        outcome::end(
            kind,
            Report {
                code: signal,
                pc,
                frame,
                ..Report::default()
            },
        )
    }
}

/// Has the program a handler for a signal?
pub(crate) fn is_handled(signal: usize) -> bool {
    let action = run().actions.get(signal).map(|action| action.get().handler);
    action.is_some_and(|handler| handler != DEFAULT && handler != IGNORE)
}

/// Does the process die of a signal that nobody blocks?
pub(crate) fn is_deadly(signal: usize) -> bool {
    let blocked = run().mask.get() >> signal.saturating_sub(1) & 1 != 0;
    let blocked = blocked && signal != libc::SIGKILL as usize;
    !blocked && !is_handled(signal) && !is_ignored(signal)
}

/// Does nothing come of a signal?
pub(crate) fn is_ignored(signal: usize) -> bool {
    let by_default = [libc::SIGCHLD, libc::SIGURG, libc::SIGWINCH, libc::SIGCONT];
    match run().actions.get(signal).map(|action| action.get().handler) {
        Some(IGNORE) => true,
        Some(DEFAULT) => by_default.contains(&(signal as i32)),
        _ => false,
    }
}

/// `abort` calls the program's SIGABRT handler first, as the real one does.
pub(crate) fn abort_handler() {
    let action = run().actions[libc::SIGABRT as usize].get();
    // SAFETY: the program has set this handler, of that type.
    unsafe {
        if action.handler != DEFAULT && action.handler != IGNORE {
            run().actions[libc::SIGABRT as usize].set(Action {
                handler: DEFAULT,
                ..action
            });
            let handler: unsafe extern "C" fn(i32) = core::mem::transmute(action.handler);
            handler(libc::SIGABRT);
        }
    }
}

/// The program's `rt_sigaction`, kept instead of performed.
///
/// # Safety
/// The program may write to `old` and read `new`, as far as it asks for.
pub(crate) unsafe fn set_action(signal: usize, new: *const Action, old: *mut Action) -> isize {
    // SAFETY: what the caller promises.
    unsafe {
        if signal == 0
            || signal > 64
            || signal == libc::SIGKILL as usize
            || signal == libc::SIGSTOP as usize
        {
            return -(libc::EINVAL as isize);
        }
        let kept = &run().actions[signal];
        let previous = kept.get();
        if !new.is_null() {
            kept.set(*new);
            if signal == libc::SIGALRM as usize && run().alarm.get() != 0 && is_handled(signal) {
                crate::threads::signals::may_arrive();
            }
        }
        if !old.is_null() {
            *old = previous;
        }
        0
    }
}

/// The program's `rt_sigprocmask`, kept as a number. Where signals arrive at any time, the caller looks for them.
///
/// # Safety
/// The program may write to `old` and read `new`, as far as it asks for.
pub(crate) unsafe fn set_mask(how: i32, new: *const u64, old: *mut u64) -> isize {
    // SAFETY: what the caller promises.
    unsafe {
        let previous = run().mask.get();
        if !new.is_null() {
            run().mask.set(match how {
                libc::SIG_BLOCK => previous | *new,
                libc::SIG_UNBLOCK => previous & !*new,
                _ => *new,
            });
            crate::threads::signals::blocks(run().mask.get() & !previous);
        }
        if !old.is_null() {
            *old = previous;
        }
        0
    }
}
