//! What threads do to each other that is no step of a schedule: mappings that change under others, signals, timers, files that several
//! use, state inside libc. It happens as it happens; the trace says where, and the verdict that not everything was seen. What is done
//! while there is one thread only concerns nobody.

use super::{mappings, on, threads, trusted};
use crate::caller;
use crate::files::descriptors;
use crate::libc::real::real;
use crate::run::trace::{self, Origin};
use crate::state::{run, server};
use crate::syscalls::timers;
use core::cell::Cell;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::{RecordKind, unseen};

/// Are there threads that others have not joined? One that has ended might still have been at it.
pub(crate) fn several() -> bool {
    on() && threads().apart.get() > 0
}

/// Says so in the trace.
pub(crate) fn note(what: u8, origin: Origin) {
    super::acted();
    if several() && !trusted::is_inside() {
        trace::plain(RecordKind::Unseen, 0, what, origin);
    }
}

/// State that is in no memory of the program's: who changed it, and who looked at it, since all others were joined.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Used {
    key: u64,
    changed: Users,
    looked: Users,
    /// How often all others had been joined by then.
    phase: u32,
    /// Several changed it before they were joined: what is there is what came last.
    mixed: bool,
}

/// Nobody, one thread, or several.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
enum Users {
    Nobody,
    One(usize),
    Several,
}

impl Users {
    fn add(&mut self, thread: usize) {
        *self = match *self {
            Users::Nobody => Users::One(thread),
            Users::One(other) if other == thread => return,
            _ => Users::Several,
        };
    }

    /// Is anybody else among them?
    fn others(self, than: usize) -> bool {
        match self {
            Users::Nobody => false,
            Users::One(other) => other != than,
            Users::Several => true,
        }
    }
}

pub(crate) const MOST: usize = 128;

#[repr(C)]
/// Of one run.
pub(crate) struct Uses {
    /// How many there are in the server's table.
    count: Cell<usize>,
    /// How often all others had been joined when one was created.
    phase: Cell<u32>,
    /// Where a timer was set while there was one thread.
    timer: Cell<Origin>,
    /// Files that were mapped for all to see, and where the last was.
    mappings: Cell<usize>,
    mapping: Cell<Origin>,
}

/// Those of this run.
fn all() -> &'static [Cell<Used>] {
    &server().uses[..run().uses.count.get()]
}

/// What a thread does to such state.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Looks,
    Changes,
    Both,
}

/// State by what it is and which of them.
pub(crate) mod key {
    pub(crate) const DESCRIPTOR: u64 = 1 << 32;
    pub(crate) const FILE: u64 = 2 << 32;
    pub(crate) const NAME: u64 = 3 << 32;
    pub(crate) const LIBRARY: u64 = 4 << 32;
    pub(crate) const ACTION: u64 = 5 << 32;
    pub(crate) const STREAM: u64 = 6 << 32;
}

/// Does anybody else use such state, or has somebody?
pub(crate) fn matters() -> bool {
    several() || on() && run().uses.count.get() > 0
}

/// The running thread uses such state. Where another one changes what it looks at, or looks at what it changes, their order matters; so
/// it does to whoever looks, once they are joined, at what several have changed.
pub(crate) fn used(key: u64, how: Use, what: u8, origin: Origin) {
    let alone = !several();
    if !matters() {
        return;
    }
    if how != Use::Looks {
        super::is_opaque();
    }
    let known = all().iter().position(|used| used.get().key == key);
    let uses = &run().uses;
    if known.is_none() && alone {
        return;
    }
    if known.is_none() && uses.count.get() == MOST {
        return trace::plain(RecordKind::Unseen, 0, what, origin);
    }
    let at = known.unwrap_or(uses.count.get());
    if known.is_none() {
        server().uses[at].set(Used {
            key,
            changed: Users::Nobody,
            looked: Users::Nobody,
            phase: uses.phase.get(),
            mixed: false,
        });
        uses.count.set(at + 1);
    }
    let mut used = server().uses[at].get();
    if used.phase != uses.phase.get() || alone {
        used.mixed |= used.changed == Users::Several;
        (used.changed, used.looked) = (Users::Nobody, Users::Nobody);
        used.phase = uses.phase.get();
    }
    let me = threads().current.get();
    let (looks, changes) = (how != Use::Changes, how != Use::Looks);
    let met = looks && (used.mixed || used.changed.others(me)) || changes && used.looked.others(me);
    if !alone {
        if looks {
            used.looked.add(me);
        }
        if changes {
            used.changed.add(me);
        }
    }
    server().uses[at].set(used);
    if met {
        trace::plain(RecordKind::Unseen, 0, what, origin);
    }
}

/// There is no such state any more.
pub(crate) fn forget(key: u64) {
    for used in all() {
        if used.get().key == key {
            used.set(Used {
                changed: Users::Nobody,
                looked: Users::Nobody,
                mixed: false,
                ..used.get()
            });
        }
    }
}

/// A thread is created: from now on a timer that is running goes off among several, and so on.
pub(super) fn created() {
    if threads().apart.get() == 1 {
        run().uses.phase.set(run().uses.phase.get() + 1);
    }
    let timer = run().uses.timer.get();
    if timers::any() && timer.number() != Origin::NONE.number() {
        note(unseen::TIMER, timer);
    }
    let uses = &run().uses;
    if uses.mappings.get() > 1 {
        note(unseen::MAPPING, uses.mapping.get());
    }
}

/// Functions of libc that are noted and then do what they do. Six arguments are what registers hold.
macro_rules! noted {
    ($($name:literal => $target:ident, $weak:ident: $before:ident($what:expr);)*) => {
        crate::weak!($($name => $target),*);
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $weak(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> usize {
                let origin = Origin::library(Builtin::$target, caller!());
                if on() {
                    $before($what, [a, b, c, d, e], origin);
                }
                // SAFETY: the program calls it: its arguments are what libc's own function takes.
                let result = unsafe { match real().$target() {
                    Some(function) => function(a, b, c, d, e, f),
                    None => usize::MAX,
                } };
                mappings::settled(origin);
                if matches!(Builtin::$target, Builtin::mmap | Builtin::mremap) {
                    mappings::made([a, b, c], result, matches!(Builtin::$target, Builtin::mremap));
                }
                result
            }
        )*
    };
}

/// Where a range of memory changes.
fn mapping(how: fn([usize; 5], Origin), arguments: [usize; 5], origin: Origin) {
    how(arguments, origin);
}

fn placed(what: u8, arguments: [usize; 5], origin: Origin) {
    let [_, _, _, flags, file] = arguments;
    let flags = flags as i32;
    // Two mappings of one file are one memory at two addresses. (Pool files have one address.)
    let aliased = flags & libc::MAP_SHARED != 0
        && flags & libc::MAP_ANONYMOUS == 0
        && !matches!(descriptors::kind(file), descriptors::Kind::Pool(_));
    if flags & libc::MAP_FIXED != 0 {
        mappings::placed(arguments, origin);
    }
    if aliased && several() {
        note(what, origin);
    }
    if aliased {
        let uses = &run().uses;
        uses.mappings.set(uses.mappings.get() + 1);
        uses.mapping.set(origin);
    }
}

/// A timer that nobody handles, or one of processor time.
pub(super) fn timer(what: u8, _: [usize; 5], origin: Origin) {
    run().uses.timer.set(origin);
    note(what, origin);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_drand48() -> f64 {
    if on() {
        let origin = Origin::library(Builtin::drand48, caller!());
        library(NUMBERS, [0; 5], origin);
    }
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { real().drand48().map_or(0.0, |function| function()) }
}

/// In which order handlers run is in which order they were registered. (libc has this one in a part that is linked into the program.)
#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_atexit(handler: usize) -> i32 {
    if on() {
        let origin = Origin::library(Builtin::atexit, caller!());
        library((HANDLERS, Use::Both), [0; 5], origin);
    }
    // SAFETY: the program calls it: a handler takes no arguments, so that it may get one.
    unsafe {
        real()
            .__cxa_atexit()
            .map_or(-1, |register| register(handler, 0, 0))
    }
}

/// A system call by its number.
pub(crate) fn system_call(number: i64, arguments: [usize; 5], caller: usize) {
    let origin = Origin::library(Builtin::system_call, caller);
    let [a, ..] = arguments;
    match number {
        libc::SYS_mmap => placed(unseen::MAPPING, arguments, origin),
        libc::SYS_munmap => mappings::range(arguments, origin),
        libc::SYS_mprotect => mappings::protected(arguments, origin),
        libc::SYS_mremap => mappings::moved(arguments, origin),
        libc::SYS_brk => mappings::ends_at(a, origin),
        libc::SYS_madvise => mappings::advised(arguments, origin),
        // Those of libc are steps.
        libc::SYS_futex => note(unseen::ASSEMBLY, origin),
        libc::SYS_alarm | libc::SYS_setitimer => timer(unseen::TIMER, arguments, origin),
        _ => {}
    }
}

/// libc's own state, of which one thread looks at what another left.
fn library((group, how): (u64, Use), _: [usize; 5], origin: Origin) {
    used(key::LIBRARY | group, how, unseen::LIBRARY, origin);
}

/// The process is about to end.
fn exits(handlers: (u64, Use), arguments: [usize; 5], origin: Origin) {
    super::unsafe_calls::exits(origin);
    library(handlers, arguments, origin);
}

const NUMBERS: (u64, Use) = (1, Use::Both);
const ENVIRONMENT: u64 = 2;
const LOCALE: (u64, Use) = (3, Use::Both);
const MOMENT: (u64, Use) = (4, Use::Both);
const TABLE: (u64, Use) = (5, Use::Both);
const HANDLERS: u64 = 6;

unsafe extern "C" {
    static stdin: usize;
    static stdout: usize;
    static stderr: usize;
}

/// A stream of stdio, whose buffer and position are libc's. What is printed nobody reads.
pub(crate) fn stream(stream: usize, how: Use, origin: Origin) {
    // SAFETY: libc's variables; nobody else runs now.
    let is_printed = || unsafe { stream == stdout || stream == stderr };
    if on() && !is_printed() {
        let key = key::STREAM | u64::from(stream as u32);
        used(key, how, unseen::LIBRARY, origin);
    }
}

/// Which argument is the stream that is read from.
fn input(which: Option<usize>, arguments: [usize; 5], origin: Origin) {
    // SAFETY: libc's variable; nobody else runs now.
    let standard = unsafe { stdin };
    stream(
        which.map_or(standard, |at| arguments[at]),
        Use::Both,
        origin,
    );
}

crate::weak!("drand48" => drand48, "atexit" => atexit);

noted! {
    "mmap" => mmap, __lf_weak_mmap: placed(unseen::MAPPING);
    "munmap" => munmap, __lf_weak_munmap: mapping(mappings::range);
    "mprotect" => mprotect, __lf_weak_mprotect: mapping(mappings::protected);
    "mremap" => mremap, __lf_weak_mremap: mapping(mappings::moved);
    "madvise" => madvise, __lf_weak_madvise: mapping(mappings::advised);
    "brk" => brk, __lf_weak_brk: mapping(|arguments, origin| mappings::ends_at(arguments[0], origin));
    "sbrk" => sbrk, __lf_weak_sbrk: mapping(|arguments, origin| mappings::grows(arguments[0] as isize, origin));
    "rand" => rand, __lf_weak_rand: library(NUMBERS);
    "srand" => srand, __lf_weak_srand: library(NUMBERS);
    "random" => random, __lf_weak_random: library(NUMBERS);
    "srandom" => srandom, __lf_weak_srandom: library(NUMBERS);
    "lrand48" => lrand48, __lf_weak_lrand48: library(NUMBERS);
    "mrand48" => mrand48, __lf_weak_mrand48: library(NUMBERS);
    "srand48" => srand48, __lf_weak_srand48: library(NUMBERS);
    "getenv" => getenv, __lf_weak_getenv: library((ENVIRONMENT, Use::Looks));
    "secure_getenv" => secure_getenv, __lf_weak_secure_getenv: library((ENVIRONMENT, Use::Looks));
    "setenv" => setenv, __lf_weak_setenv: library((ENVIRONMENT, Use::Changes));
    "putenv" => putenv, __lf_weak_putenv: library((ENVIRONMENT, Use::Changes));
    "unsetenv" => unsetenv, __lf_weak_unsetenv: library((ENVIRONMENT, Use::Changes));
    "setlocale" => setlocale, __lf_weak_setlocale: library(LOCALE);
    "localtime" => localtime, __lf_weak_localtime: library(MOMENT);
    "gmtime" => gmtime, __lf_weak_gmtime: library(MOMENT);
    "ctime" => ctime, __lf_weak_ctime: library(MOMENT);
    "asctime" => asctime, __lf_weak_asctime: library(MOMENT);
    "hcreate" => hcreate, __lf_weak_hcreate: library(TABLE);
    "hsearch" => hsearch, __lf_weak_hsearch: library(TABLE);
    "exit" => exit, __lf_weak_exit: exits((HANDLERS, Use::Looks));
    "hdestroy" => hdestroy, __lf_weak_hdestroy: library(TABLE);
    "fgetc" => fgetc, __lf_weak_fgetc: input(Some(0));
    "getc" => getc, __lf_weak_getc: input(Some(0));
    "getchar" => getchar, __lf_weak_getchar: input(None);
    "ungetc" => ungetc, __lf_weak_ungetc: input(Some(1));
}
