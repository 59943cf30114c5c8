//! What functions of libraries do to memory that they are given, as data. Arguments are numbered by the registers that hold them:
//! floating-point numbers do not count.

use crate::memory::bytes;

/// How many bytes.
#[derive(Clone, Copy)]
pub(crate) enum Size {
    Bytes(usize),
    /// As many of so many bytes as this argument says.
    Times(u8, usize),
}

/// When a function has written what it writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Always,
    /// It returned 0.
    Zero,
    /// It returned anything else.
    NonZero,
    /// It returned the argument.
    Returned,
}

/// What a function does with memory that an argument points to.
#[derive(Clone, Copy)]
pub(crate) enum Effect {
    Reads(u8, Size),
    /// Up to its zero.
    ReadsText(u8),
    ReadsWideText(u8),
    /// One character of several bytes, of at most as many as the second argument says.
    ReadsCharacter(u8, u8),
    /// As many buffers as the second argument says.
    ReadsVector(u8, u8),
    Writes(u8, Size, When),
    /// A text with its zero.
    WritesText(u8, Size, When),
    /// At most so much; in truth so many times what it returned.
    WritesReturned(u8, Size, usize),
    /// Characters of so many bytes, at most as many as the argument says, and a zero if that fits.
    WritesConverted(u8, u8, usize),
    /// So much as it returned, into as many buffers as the second argument says.
    WritesVector(u8, u8),
    /// Reads and writes.
    Updates(u8, Size),
    /// Reads as many descriptors as the second argument says, and writes what became of each.
    Polls(u8, u8),
    /// Looks at an object that is not known further: a `const` member function, say.
    Looks(u8),
    /// May do anything to it.
    Hands(u8),
    /// The same, with a message of `recvmsg`.
    HandsMessage(u8),
}

use Effect::*;
use Size::{Bytes, Times};
use When::{Always, NonZero, Returned, Zero};

const TIME: Size = Bytes(16);
const BROKEN_DOWN: Size = Bytes(56);
const STATUS: Size = Bytes(144);
const SIGNALS: Size = Bytes(8);
const DESCRIPTORS: Size = Bytes(128);

/// Sorted by what they are about.
const KNOWN: &[(&str, &[Effect])] = &[
    // Time.
    ("time", &[Writes(0, Bytes(8), Always)]),
    (
        "gettimeofday",
        &[Writes(0, TIME, Zero), Writes(1, Bytes(8), Zero)],
    ),
    ("clock_gettime", &[Writes(1, TIME, Zero)]),
    ("clock_getres", &[Writes(1, TIME, Zero)]),
    ("timespec_get", &[Writes(0, TIME, NonZero)]),
    ("times", &[Writes(0, Bytes(32), Always)]),
    (
        "localtime_r",
        &[Reads(0, Bytes(8)), Writes(1, BROKEN_DOWN, NonZero)],
    ),
    (
        "gmtime_r",
        &[Reads(0, Bytes(8)), Writes(1, BROKEN_DOWN, NonZero)],
    ),
    ("mktime", &[Updates(0, BROKEN_DOWN)]),
    ("timelocal", &[Updates(0, BROKEN_DOWN)]),
    ("timegm", &[Updates(0, BROKEN_DOWN)]),
    (
        "asctime_r",
        &[Reads(0, BROKEN_DOWN), WritesText(1, Bytes(64), NonZero)],
    ),
    (
        "ctime_r",
        &[Reads(0, Bytes(8)), WritesText(1, Bytes(64), NonZero)],
    ),
    (
        "strftime",
        &[
            WritesText(0, Times(1, 1), NonZero),
            ReadsText(2),
            Reads(3, BROKEN_DOWN),
        ],
    ),
    (
        "strptime",
        &[ReadsText(0), ReadsText(1), Updates(2, BROKEN_DOWN)],
    ),
    ("clock_nanosleep", &[Reads(2, TIME)]),
    ("getitimer", &[Writes(1, Bytes(32), Zero)]),
    // Files.
    ("read", &[WritesReturned(1, Times(2, 1), 1)]),
    ("pread", &[WritesReturned(1, Times(2, 1), 1)]),
    ("pread64", &[WritesReturned(1, Times(2, 1), 1)]),
    ("readv", &[WritesVector(1, 2)]),
    ("preadv", &[WritesVector(1, 2)]),
    ("preadv64", &[WritesVector(1, 2)]),
    ("recv", &[WritesReturned(1, Times(2, 1), 1)]),
    (
        "recvfrom",
        &[WritesReturned(1, Times(2, 1), 1), Hands(4), Hands(5)],
    ),
    ("recvmsg", &[HandsMessage(1)]),
    ("sendmsg", &[HandsMessage(1)]),
    ("sendto", &[Reads(1, Times(2, 1)), Reads(4, Times(5, 1))]),
    ("write", &[Reads(1, Times(2, 1))]),
    ("pwrite", &[Reads(1, Times(2, 1))]),
    ("pwrite64", &[Reads(1, Times(2, 1))]),
    ("writev", &[ReadsVector(1, 2)]),
    ("pwritev", &[ReadsVector(1, 2)]),
    ("pwritev64", &[ReadsVector(1, 2)]),
    ("send", &[Reads(1, Times(2, 1))]),
    ("open", &[ReadsText(0)]),
    ("open64", &[ReadsText(0)]),
    ("openat", &[ReadsText(1)]),
    ("openat64", &[ReadsText(1)]),
    ("creat", &[ReadsText(0)]),
    ("creat64", &[ReadsText(0)]),
    ("fopen", &[ReadsText(0), ReadsText(1)]),
    ("fopen64", &[ReadsText(0), ReadsText(1)]),
    ("fdopen", &[ReadsText(1)]),
    ("opendir", &[ReadsText(0)]),
    ("access", &[ReadsText(0)]),
    ("unlink", &[ReadsText(0)]),
    ("remove", &[ReadsText(0)]),
    ("rmdir", &[ReadsText(0)]),
    ("mkdir", &[ReadsText(0)]),
    ("chdir", &[ReadsText(0)]),
    ("chmod", &[ReadsText(0)]),
    ("truncate", &[ReadsText(0)]),
    ("rename", &[ReadsText(0), ReadsText(1)]),
    ("link", &[ReadsText(0), ReadsText(1)]),
    ("symlink", &[ReadsText(0), ReadsText(1)]),
    ("perror", &[ReadsText(0)]),
    ("stat", &[ReadsText(0), Writes(1, STATUS, Zero)]),
    ("stat64", &[ReadsText(0), Writes(1, STATUS, Zero)]),
    ("lstat", &[ReadsText(0), Writes(1, STATUS, Zero)]),
    ("lstat64", &[ReadsText(0), Writes(1, STATUS, Zero)]),
    ("fstat", &[Writes(1, STATUS, Zero)]),
    ("fstat64", &[Writes(1, STATUS, Zero)]),
    ("fstatat", &[ReadsText(1), Writes(2, STATUS, Zero)]),
    ("fstatat64", &[ReadsText(1), Writes(2, STATUS, Zero)]),
    ("__xstat", &[ReadsText(1), Writes(2, STATUS, Zero)]),
    ("__lxstat", &[ReadsText(1), Writes(2, STATUS, Zero)]),
    ("__fxstat", &[Writes(2, STATUS, Zero)]),
    ("statx", &[ReadsText(1), Writes(4, Bytes(256), Zero)]),
    ("statfs", &[ReadsText(0), Writes(1, Bytes(120), Zero)]),
    ("fstatfs", &[Writes(1, Bytes(120), Zero)]),
    ("statvfs", &[ReadsText(0), Writes(1, Bytes(112), Zero)]),
    ("fstatvfs", &[Writes(1, Bytes(112), Zero)]),
    ("getcwd", &[WritesText(0, Times(1, 1), NonZero)]),
    (
        "readlink",
        &[ReadsText(0), WritesReturned(1, Times(2, 1), 1)],
    ),
    (
        "readlinkat",
        &[ReadsText(1), WritesReturned(2, Times(3, 1), 1)],
    ),
    ("pipe", &[Writes(0, Bytes(8), Zero)]),
    ("pipe2", &[Writes(0, Bytes(8), Zero)]),
    ("socketpair", &[Writes(3, Bytes(8), Zero)]),
    ("poll", &[Polls(0, 1)]),
    ("ppoll", &[Polls(0, 1), Reads(2, TIME)]),
    (
        "select",
        &[
            Updates(1, DESCRIPTORS),
            Updates(2, DESCRIPTORS),
            Updates(3, DESCRIPTORS),
            Updates(4, TIME),
        ],
    ),
    ("epoll_wait", &[WritesReturned(1, Times(2, 12), 12)]),
    ("epoll_ctl", &[Reads(3, Bytes(12))]),
    // The machine, and what it does to the program.
    ("getrandom", &[WritesReturned(0, Times(1, 1), 1)]),
    ("getentropy", &[Writes(0, Times(1, 1), Zero)]),
    ("arc4random_buf", &[Writes(0, Times(1, 1), Always)]),
    ("uname", &[Writes(0, Bytes(390), Zero)]),
    ("gethostname", &[WritesText(0, Times(1, 1), Zero)]),
    ("getdomainname", &[WritesText(0, Times(1, 1), Zero)]),
    ("getrlimit", &[Writes(1, Bytes(16), Zero)]),
    ("getrlimit64", &[Writes(1, Bytes(16), Zero)]),
    ("setrlimit", &[Reads(1, Bytes(16))]),
    ("getrusage", &[Writes(1, Bytes(144), Zero)]),
    ("sysinfo", &[Writes(0, Bytes(112), Zero)]),
    ("getloadavg", &[WritesReturned(0, Times(1, 8), 8)]),
    (
        "sigaction",
        &[Reads(1, Bytes(152)), Writes(2, Bytes(152), Zero)],
    ),
    (
        "sigprocmask",
        &[Reads(1, SIGNALS), Writes(2, SIGNALS, Zero)],
    ),
    (
        "pthread_sigmask",
        &[Reads(1, SIGNALS), Writes(2, SIGNALS, Zero)],
    ),
    ("sigpending", &[Writes(0, SIGNALS, Zero)]),
    ("sigemptyset", &[Writes(0, SIGNALS, Zero)]),
    ("sigfillset", &[Writes(0, SIGNALS, Zero)]),
    ("sigaddset", &[Updates(0, SIGNALS)]),
    ("sigdelset", &[Updates(0, SIGNALS)]),
    ("sigismember", &[Reads(0, SIGNALS)]),
    // Numbers.
    ("frexp", &[Writes(0, Bytes(4), Always)]),
    ("frexpf", &[Writes(0, Bytes(4), Always)]),
    ("modf", &[Writes(0, Bytes(8), Always)]),
    ("modff", &[Writes(0, Bytes(4), Always)]),
    (
        "sincos",
        &[Writes(0, Bytes(8), Always), Writes(1, Bytes(8), Always)],
    ),
    (
        "sincosf",
        &[Writes(0, Bytes(4), Always), Writes(1, Bytes(4), Always)],
    ),
    ("remquo", &[Writes(0, Bytes(4), Always)]),
    ("remquof", &[Writes(0, Bytes(4), Always)]),
    ("lgamma_r", &[Writes(0, Bytes(4), Always)]),
    ("lgammaf_r", &[Writes(0, Bytes(4), Always)]),
    ("rand_r", &[Updates(0, Bytes(4))]),
    ("erand48", &[Updates(0, Bytes(6))]),
    ("nrand48", &[Updates(0, Bytes(6))]),
    ("jrand48", &[Updates(0, Bytes(6))]),
    // Texts.
    ("mbstowcs", &[WritesConverted(0, 2, 4), ReadsText(1)]),
    ("wcstombs", &[WritesConverted(0, 2, 1), ReadsWideText(1)]),
    ("mbtowc", &[Updates(0, Bytes(4)), ReadsCharacter(1, 2)]),
    ("wctomb", &[WritesReturned(0, Bytes(16), 1)]),
    (
        "mbrtowc",
        &[
            Updates(0, Bytes(4)),
            ReadsCharacter(1, 2),
            Updates(3, Bytes(8)),
        ],
    ),
    (
        "wcrtomb",
        &[WritesReturned(0, Bytes(16), 1), Updates(2, Bytes(8))],
    ),
    ("mbrlen", &[ReadsCharacter(0, 1), Updates(2, Bytes(8))]),
    ("mbsinit", &[Reads(0, Bytes(8))]),
    ("strcoll", &[ReadsText(0), ReadsText(1)]),
    ("strverscmp", &[ReadsText(0), ReadsText(1)]),
    ("strcasestr", &[ReadsText(0), ReadsText(1)]),
    ("strxfrm", &[WritesConverted(0, 2, 1), ReadsText(1)]),
    ("strerror_r", &[WritesText(1, Times(2, 1), Returned)]),
    ("__xpg_strerror_r", &[WritesText(1, Times(2, 1), Always)]),
    (
        "inet_ntop",
        &[Looks(1), WritesText(2, Times(3, 1), NonZero)],
    ),
    ("inet_aton", &[ReadsText(0), Writes(1, Bytes(4), NonZero)]),
    ("inet_addr", &[ReadsText(0)]),
    ("getsockname", &[Hands(1), Hands(2)]),
    ("getpeername", &[Hands(1), Hands(2)]),
    ("accept", &[Hands(1), Hands(2)]),
    ("accept4", &[Hands(1), Hands(2)]),
    ("getsockopt", &[Hands(3), Hands(4)]),
    ("ioctl", &[Hands(2)]),
    ("tcgetattr", &[Hands(1)]),
    // These look at memory through functions of the program's, or are synchronised by libc.
    ("bsearch", &[]),
    ("fflush", &[]),
    ("fclose", &[]),
    ("fileno", &[]),
    ("feof", &[]),
    ("ferror", &[]),
    ("clearerr", &[]),
    ("fputc", &[]),
    ("putc", &[]),
    ("fseek", &[]),
    ("ftell", &[]),
    ("rewind", &[]),
    ("setvbuf", &[]),
    ("setbuf", &[]),
    ("flockfile", &[]),
    ("funlockfile", &[]),
    ("dlopen", &[]),
    ("dlsym", &[]),
    ("dlclose", &[]),
    ("__assert_fail", &[]),
    ("__dynamic_cast", &[Looks(0)]),
    ("_ZSt11_Hash_bytesPKvmm", &[Reads(0, Times(1, 1))]),
    (
        "_ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm",
        &[Updates(0, Bytes(16))],
    ),
    (
        "_ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm",
        &[Updates(0, Bytes(16))],
    ),
];

/// C++'s own, by how their names begin: what they do to shared memory they do by functions that the runtime provides, or they see to
/// its being used by one thread at a time.
const SYNCHRONISED: &[&str] = &[
    "__cxa_",
    "_Unwind_",
    "__gxx_",
    "_Zdl",
    "_Zda",
    "_Znw",
    "_Zna",
    "_ZNSt6thread",
    "_ZNSt18condition_variable",
    "_ZNSt3_V2",
    "_ZNSt13__future_base",
    "_ZNSt28__atomic_futex_unsigned_base",
    "_ZNSt10_Sp_locker",
    "_ZNSt15__exception_ptr",
    "_ZNSt6locale",
    "_ZNKSt6locale",
    "_ZNSt8ios_base4Init",
    "_ZSt17rethrow_exception",
    "pthread_",
    "thrd_",
    "mtx_",
    "cnd_",
    "sem_",
];

/// What is known of a function.
pub(super) fn of(name: &[u8]) -> Option<&'static [Effect]> {
    let known = KNOWN
        .iter()
        .find(|(known, _)| bytes::same(known.as_bytes(), name));
    if let Some((_, effects)) = known {
        return Some(effects);
    }
    let begins = |with: &&str| bytes::starts(name, with.as_bytes());
    SYNCHRONISED.iter().any(begins).then_some(&[])
}

/// What an unknown function may do to what it is given, as far as its name says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stranger {
    /// Of C: anything, or nothing.
    Plain,
    /// Of C++: it changes the object that is its first argument, and looks at the others.
    Member,
    /// Of C++: it looks.
    Looker,
}

/// A member function that is not `const`, and what writes to a stream or reads from one, changes its object.
pub(super) fn stranger(name: &[u8]) -> Stranger {
    const MEMBERS: [&str; 4] = ["_ZN", "_ZStls", "_ZStrs", "_ZSt7getline"];
    let begins = |with: &&str| bytes::starts(name, with.as_bytes());
    match MEMBERS.iter().any(begins) && !begins(&"_ZNK") {
        true => Stranger::Member,
        false if begins(&"_Z") => Stranger::Looker,
        false => Stranger::Plain,
    }
}

/// Does a function change nothing, not even something of its own? Then it may be called in a turn of a loop that did not happen.
pub(super) fn changes_nothing(name: &[u8]) -> bool {
    const NAMES: [&str; 26] = [
        // What is masked, loops know.
        "sigprocmask",
        "pthread_sigmask",
        "sigemptyset",
        "sigfillset",
        "sigaddset",
        "sigdelset",
        "sigismember",
        "sched_yield",
        "usleep",
        "nanosleep",
        "clock_nanosleep",
        "sleep",
        // Looks at the clock are known as that.
        "time",
        "clock",
        "clock_gettime",
        "gettimeofday",
        "timespec_get",
        "difftime",
        "_ZNSt6chrono3_V212steady_clock3nowEv",
        "_ZNSt6chrono3_V212system_clock3nowEv",
        "pthread_self",
        "pthread_equal",
        "__errno_location",
        "pthread_getspecific",
        // What they call is the program's.
        "exit",
        "__cxa_finalize",
    ];
    NAMES
        .iter()
        .any(|known| bytes::same(name, known.as_bytes()))
}

/// What a system call does that is made by its number.
pub(crate) fn of_system_call(number: i64) -> &'static [Effect] {
    let name = match number {
        libc::SYS_read => "read",
        libc::SYS_pread64 => "pread64",
        libc::SYS_readv => "readv",
        libc::SYS_write => "write",
        libc::SYS_pwrite64 => "pwrite64",
        libc::SYS_writev => "writev",
        libc::SYS_recvfrom => "recvfrom",
        libc::SYS_recvmsg => "recvmsg",
        libc::SYS_time => "time",
        libc::SYS_gettimeofday => "gettimeofday",
        libc::SYS_clock_gettime => "clock_gettime",
        libc::SYS_clock_getres => "clock_getres",
        libc::SYS_stat => "stat",
        libc::SYS_lstat => "lstat",
        libc::SYS_fstat => "fstat",
        libc::SYS_newfstatat => "fstatat",
        libc::SYS_statx => "statx",
        libc::SYS_readlink => "readlink",
        libc::SYS_readlinkat => "readlinkat",
        libc::SYS_pipe => "pipe",
        libc::SYS_pipe2 => "pipe2",
        libc::SYS_getrandom => "getrandom",
        libc::SYS_uname => "uname",
        libc::SYS_getrlimit => "getrlimit",
        libc::SYS_getrusage => "getrusage",
        libc::SYS_sysinfo => "sysinfo",
        libc::SYS_poll => "poll",
        libc::SYS_epoll_wait => "epoll_wait",
        // Which of its arguments there are, and which are pointers, nobody says.
        _ => return &[],
    };
    of(name.as_bytes()).unwrap_or_default()
}
