//! How a run ends: the report goes into shared memory, then the process leaves (or the driver takes over, in place).

use crate::memory::bytes;
use crate::run::call_stack;
use crate::run::shared;
use crate::state::{Mode, budget, run, server};
use crate::syscalls::sys;
use landfall_vocab::shared::{End, FRAMES, job, option};

/// Everything about an end but its kind.
#[derive(Clone, Copy, Default)]
pub(crate) struct Report<'a> {
    pub(crate) code: i32,
    pub(crate) address: u64,
    pub(crate) pc: u64,
    /// Frame pointer to walk from; zero for no stack.
    pub(crate) frame: usize,
    /// The program's call into a library that keeps no frames; zero for none.
    pub(crate) caller: usize,
    /// Return addresses, where they are known otherwise than by frame pointers.
    pub(crate) stack: &'a [u64],
    pub(crate) site: u64,
    pub(crate) text: &'a [&'a [u8]],
}

/// Ends the run. Outside a run (an unchecked program, a constructor) it ends the process.
pub(crate) fn end(end: End, mut report: Report) -> ! {
    if matches!(end, End::Exited) && is_sv_comp() {
        report.code = 0;
    }
    if matches!(end, End::Exited) && report.code == 0 && server().mode.get() == Mode::Running {
        crate::channels::client::server_ends();
    }
    tell(end, &report);
    crate::threads::ends_process(end, told_apart(end, &report));
    over()
}

/// What tells one way of failing from others: of assertions, two on one line are two.
fn told_apart(end: End, report: &Report) -> i32 {
    match (end, report.text.first()) {
        (End::Assertion, Some(expression)) => {
            let all = landfall_vocab::digest::of(expression);
            landfall_vocab::digest::with(all, report.code as u64) as i32
        }
        _ => report.code,
    }
}

/// Ends the run for a reason in words, with the stack of whoever asks.
#[inline(always)]
pub(crate) fn fail(kind: End, text: &[&[u8]]) -> ! {
    let frame = call_stack::frame_pointer();
    end(
        kind,
        Report {
            frame,
            text,
            ..Report::default()
        },
    )
}

/// Ends the run for all threads at once: nobody goes on.
pub(crate) fn end_for_all(end: End, report: Report) -> ! {
    tell(end, &report);
    over()
}

/// Part of whoever calls it: a debugger at [`__lf_ends`] counts the frames up to the program.
#[inline(always)]
fn tell(end: End, report: &Report) {
    if server().mode.get() != Mode::Running {
        outside(end, report)
    }
    let failed = is_failure(end, report.code);
    if shared::job().flags & job::SHOW != 0 && (failed || !crate::threads::goes_on(end)) {
        crate::memory::shadow::show();
        __lf_ends();
    }
    // The first failure stands, or the first end if there is none: what others do after it they could have done before.
    let before = shared::outcome(|outcome| (End::from_number(outcome.end), outcome.code));
    let replaces = match before {
        _ if !crate::threads::is_over() => true,
        // Nobody waits for a thread that is gone because of what it assumed.
        (Some(End::Assumed), _) => !matches!(end, End::Hang),
        (Some(End::Exited), 0) => !matches!(end, End::Assumed),
        _ => false,
    };
    if replaces {
        fill(end, report);
    }
}

/// Is it the program that did something wrong, or a limit that was reached?
fn is_failure(end: End, code: i32) -> bool {
    !matches!((end, code), (End::Exited, 0) | (End::Assumed, _))
}

fn fill(end: End, report: &Report) {
    let budget_left = crate::state::budget().get();
    shared::outcome(|outcome| {
        outcome.end = end as u32;
        outcome.code = report.code;
        outcome.address = report.address;
        outcome.pc = report.pc;
        outcome.site = report.site;
        outcome.budget_left = budget_left;
        outcome.text_len = shared::write_text(report.text, &raw mut outcome.text);
        outcome.frames = 0;
        if let Some(known) = outcome.frame.get_mut(..report.stack.len())
            && !known.is_empty()
        {
            // SAFETY: both are as long, and the outcome is in memory of ours.
            unsafe { bytes::copy_words(known.as_mut_ptr(), report.stack.as_ptr(), known.len()) };
            outcome.frames = report.stack.len() as u32;
            return;
        }
        let called = usize::from(report.caller != 0);
        outcome.frame[0] = report.caller as u64;
        if report.frame != 0 {
            let walked = call_stack::walk(report.frame, &mut outcome.frame[called..]);
            outcome.frames = (called + walked) as u32;
        }
    });
}

/// The run is over and its outcome known.
pub(crate) fn over() -> ! {
    crate::run::final_state::tell();
    // From here on a second end (a full trace, a fault of ours) must not start over.
    server().mode.set(Mode::Serving);
    run().quick.set(false);
    run().call.set(crate::syscalls::dispatch::Current::NONE);
    crate::memory::protections::reset();
    leave()
}

/// Where a debugger stops.
#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn __lf_ends() {
    // Not empty, or calls of it could be left out.
    // SAFETY: no instruction at all.
    unsafe { core::arch::asm!("", options(nomem, nostack)) };
}

/// Leaves the run with what is in the slot.
fn leave() -> ! {
    shared::outcome(|outcome| {
        outcome.foreign = run().foreign.get();
        // What is the same without that wake-up, or with those stores done first, is known from another execution.
        let end = End::from_number(outcome.end);
        let known = match end {
            Some(End::Exited | End::Deadlock) => crate::threads::wakes::left_out(),
            Some(End::Assumed) => run().too_early.get(),
            _ => false,
        };
        if known {
            outcome.end = End::InVain as u32;
        }
    });
    crate::run::serve::run_over()
}

fn outside(end: End, report: &Report) -> ! {
    if server().mode.get() == Mode::Serving && !run().slot.get().is_null() {
        // The second end of one run: the first one stands.
        leave();
    }
    if matches!(end, End::Exited | End::Assumed) {
        sys::exit(report.code);
    }
    sys::say(&[b"landfall: "]);
    sys::say(report.text);
    sys::say(&[b"\n"]);
    sys::exit(134)
}

pub(crate) fn wild_access(address: u64) -> ! {
    let frame = call_stack::frame_pointer();
    // Beyond the end of a mapped file it is another signal.
    let file = landfall_vocab::window::FILES.contains(address - landfall_vocab::window::BASE);
    end(
        End::Signal,
        Report {
            code: if file { libc::SIGBUS } else { libc::SIGSEGV },
            address,
            frame,
            ..Report::default()
        },
    )
}

pub(crate) fn trace_full() -> ! {
    fail(End::Budget, &[b"the trace is full"])
}

/// What a hang is.
pub(crate) const FOR_EVER: &[u8] = b"it comes back to the same state for ever";

pub(crate) fn budget_out(site: u64) {
    if server().mode.get() != Mode::Running {
        budget().set(i64::MAX);
        return;
    }
    let id = crate::run::sites::id(site as *const _) as u64;
    let (kind, text): (End, &[&[u8]]) = match crate::run::endless::proven() {
        true => (End::Hang, &[FOR_EVER]),
        false => (End::Budget, &[b"the event budget is used up"]),
    };
    end(
        kind,
        Report {
            site: id,
            frame: call_stack::frame_pointer(),
            text,
            ..Report::default()
        },
    )
}

/// A run whose exit codes mean nothing, and in which `abort` is another word for an assumption.
fn is_sv_comp() -> bool {
    server().mode.get() == Mode::Running && shared::control().options & option::SV_COMP != 0
}

/// Something that was to be assumed does not hold.
#[inline(always)]
pub(crate) fn assumed() -> ! {
    fail(End::Assumed, &[])
}

/// Something inside the runtime went wrong.
pub(crate) fn internal(text: &[u8], code: i32) -> ! {
    end(
        End::Internal,
        Report {
            code,
            text: &[text],
            ..Report::default()
        },
    )
}

/// In place this run cannot be undone: the server repeats it in a fork.
pub(crate) fn needs_fork(text: &[&[u8]]) -> ! {
    end(
        End::NeedsFork,
        Report {
            text,
            ..Report::default()
        },
    )
}

// What a failing program calls. Weak symbols: a program that defines its own keeps it.

crate::weak!(
    "__assert_fail" => assert_fail, "abort" => abort_called,
    "__cxa_pure_virtual" => pure_virtual, "__cxa_deleted_virtual" => deleted_virtual,
);

/// What stands in a table of virtual functions where the class has none.
#[unsafe(no_mangle)]
extern "C" fn __lf_weak_pure_virtual() -> ! {
    no_function(
        b"pure virtual method called",
        0,
        call_stack::frame_pointer(),
    )
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_deleted_virtual() -> ! {
    no_function(
        b"deleted virtual method called",
        1,
        call_stack::frame_pointer(),
    )
}

fn no_function(said: &[u8], code: i32, frame: usize) -> ! {
    if server().mode.get() != Mode::Running {
        sys::say(&[said, b"\n"]);
        __lf_weak_abort_called();
    }
    end(
        End::NoFunction,
        Report {
            code,
            frame,
            text: &[said],
            ..Report::default()
        },
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_assert_fail(
    expression: *const u8,
    file: *const u8,
    line: u32,
    function: *const u8,
) -> ! {
    // SAFETY: the program calls it: its arguments are texts that end in zero, or null.
    unsafe {
        let text: &[&[u8]] = &[
            bytes::text(expression, 400),
            b"\0",
            bytes::text(file, 300),
            b"\0",
            bytes::text(function, 300),
        ];
        if server().mode.get() != Mode::Running {
            let mut digits = [0u8; 20];
            let line = bytes::decimal(line as u64, &mut digits);
            sys::say(&[
                bytes::text(file, 300),
                b":",
                line,
                b": ",
                bytes::text(function, 300),
                b": Assertion `",
            ]);
            sys::say(&[bytes::text(expression, 400), b"' failed.\n"]);
            __lf_weak_abort_called();
        }
        end(
            End::Assertion,
            Report {
                code: line as i32,
                frame: call_stack::frame_pointer(),
                text,
                ..Report::default()
            },
        )
    }
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_abort_called() -> ! {
    if server().mode.get() != Mode::Running {
        let pid = sys::call(libc::SYS_getpid, []);
        sys::call(libc::SYS_kill, [pid as usize, libc::SIGABRT as usize]);
        sys::exit(134);
    }
    if is_sv_comp() {
        assumed();
    }
    crate::syscalls::signals::abort_handler();
    end(
        End::Abort,
        Report {
            frame: call_stack::frame_pointer(),
            ..Report::default()
        },
    )
}

/// Runs as C++ terminate handler: says which exception nobody caught.
pub(crate) unsafe extern "C" fn terminate() -> ! {
    let mut name: &[u8] = b"";
    // SAFETY: libstdc++ has a name behind the table of functions of a type.
    unsafe {
        if let Some(current) = crate::run::serve::__lf_exception_type() {
            let kind = current();
            if !kind.is_null() {
                name = bytes::text((*kind)[1], 500);
            }
        }
    }
    // Filled by hand: an array of zeros would be a call of `memset`.
    let mut stack = core::mem::MaybeUninit::<[u64; FRAMES]>::uninit();
    // SAFETY: all of it is written.
    let stack = unsafe {
        bytes::fill(stack.as_mut_ptr().cast(), 0, size_of_val(&stack));
        stack.assume_init_mut()
    };
    // SAFETY: the stack is the program's, from the call of the handler outwards.
    let known = unsafe { call_stack::unwind(stack) };
    end(
        End::Terminate,
        Report {
            frame: call_stack::frame_pointer(),
            stack: &stack[..known],
            text: &[name],
            ..Report::default()
        },
    )
}
