//! Functions that a handler must not call while it interrupts one of them (POSIX: not async-signal-safe): they change what libc keeps, and a
//! handler that comes in the middle finds it half changed. Here libc's functions are not interrupted in their middle, so both calls are looked
//! at: a signal may be delivered in one of these functions, and its handler calls another.

use super::signals::{self, look};
use super::{on, tables, threads};
use crate::memory::bytes;
use crate::run::call_stack;
use crate::run::outcome::{self, Report};
use crate::run::trace::Origin;
use crate::state::server;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::shared::End;

/// Those of libc that the runtime does not provide itself. Locks are not among them: what comes of one in a handler is searched.
static UNSAFE: [&[u8]; 52] = [
    b"asctime",
    b"asprintf",
    b"atexit",
    b"calloc",
    b"closedir",
    b"ctime",
    b"dlclose",
    b"dlopen",
    b"dlsym",
    b"fclose",
    b"fflush",
    b"fgetc",
    b"fopen",
    b"fprintf",
    b"fputc",
    b"fputs",
    b"fread",
    b"fseek",
    b"fwrite",
    b"getaddrinfo",
    b"getc",
    b"getchar",
    b"getenv",
    b"gethostbyname",
    b"getline",
    b"getpwnam",
    b"getpwuid",
    b"gmtime",
    b"localtime",
    b"mktime",
    b"opendir",
    b"perror",
    b"popen",
    b"printf",
    b"putc",
    b"putchar",
    b"putenv",
    b"puts",
    b"rand",
    b"random",
    b"readdir",
    b"realpath",
    b"scanf",
    b"setenv",
    b"setlocale",
    b"srand",
    b"strdup",
    b"strerror",
    b"strtok",
    b"syslog",
    b"system",
    b"vfprintf",
];

/// Is it the program that calls? What libc does inside of its functions belongs to those.
fn is_program(caller: usize) -> bool {
    caller.wrapping_sub(server().exe_base.get()) < u32::MAX as usize
}

/// The process is about to end, by a function that changes what libc keeps.
pub(super) fn exits(origin: Origin) {
    if signals::are_expected() {
        let signals = &tables().contexts[threads().current.get()].signals;
        signals.inside.set(Some(b"exit"));
        look(origin);
        signals.inside.set(None);
    }
}

/// The running thread calls such a function, which the runtime provides.
#[inline(always)]
pub(crate) fn calls(name: &'static [u8], caller: usize) {
    if signals::are_expected() && is_program(caller) {
        enters(name, caller);
    }
}

/// The same of any function of a library, by its name.
///
/// # Safety
/// `name` is the name of a function, as a linker has it.
pub(crate) unsafe fn calls_import(name: *const u8, caller: usize) {
    if !signals::are_expected() || name.is_null() || !is_program(caller) {
        return;
    }
    // SAFETY: what the caller promises.
    let called = unsafe { bytes::text(name, 32) };
    if let Some(name) = UNSAFE.iter().find(|name| bytes::same(name, called)) {
        enters(name, caller);
    }
}

#[inline(never)]
fn enters(name: &'static [u8], caller: usize) {
    let signals = &tables().contexts[threads().current.get()].signals;
    if let Some(interrupted) = signals.interrupts()
        && on()
    {
        outcome::end(
            End::SignalUnsafe,
            Report {
                frame: call_stack::frame_pointer(),
                caller,
                text: &[name, b"\0", interrupted],
                ..Report::default()
            },
        )
    }
    signals.inside.set(Some(name));
    look(Origin::library(Builtin::thread, caller));
    signals.inside.set(None);
}
