//! Ctrl-C and SIGTERM, noticed instead of obeyed: the search ends at its next step, and what it has found is told. A second one ends
//! the telling as well, and what is known is printed as it is. A third one kills.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

static TIMES: AtomicU32 = AtomicU32::new(0);
/// When the first one came.
static FIRST: Moment = Moment::new();

/// A process group that is told as well; 0 for none.
static BELOW: AtomicI32 = AtomicI32::new(0);

/// A moment that comes once, if at all.
#[derive(Debug, Default)]
pub struct Moment(AtomicU64);

impl Moment {
    /// One that has not come yet.
    pub const fn new() -> Moment {
        Moment(AtomicU64::new(0))
    }

    /// It is now, unless it was before.
    pub fn come(&self) {
        let _ = self.0.compare_exchange(0, now(), SeqCst, SeqCst);
    }

    /// How long ago it was, if it has come.
    pub fn ago(&self) -> Option<Duration> {
        match self.0.load(SeqCst) {
            0 => None,
            at => Some(Duration::from_nanos(now().saturating_sub(at))),
        }
    }
}

/// In nanoseconds since the machine was started.
fn now() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a system call on a value of ours; allowed in signal handlers.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

extern "C" fn note(signal: libc::c_int) {
    let below = BELOW.load(SeqCst);
    if below > 0 {
        // SAFETY: a system call that is allowed in signal handlers.
        unsafe { libc::kill(-below, signal) };
    }
    match TIMES.fetch_add(1, SeqCst) {
        0 => FIRST.come(),
        _ => {
            for signal in [libc::SIGINT, libc::SIGTERM] {
                // SAFETY: allowed in signal handlers; the next one is deadly again.
                unsafe { libc::signal(signal, libc::SIG_DFL) };
            }
        }
    }
}

/// From now on SIGINT and SIGTERM are counted.
pub fn watch_interrupts() {
    // SAFETY: the handler stores to atomics and makes system calls that are allowed there.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = note as *const () as usize;
        for signal in [libc::SIGINT, libc::SIGTERM] {
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// From now on this process group is interrupted with us.
pub(crate) fn hand_on(group: Option<i32>) {
    BELOW.store(group.unwrap_or(0), SeqCst);
}

pub fn interrupted() -> bool {
    interrupts() > 0
}

pub(crate) fn interrupts() -> u32 {
    TIMES.load(SeqCst)
}

/// How long ago the first one was.
pub(crate) fn since_first() -> Duration {
    FIRST.ago().unwrap_or_default()
}
