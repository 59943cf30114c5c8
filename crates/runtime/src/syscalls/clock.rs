//! Virtual time: it starts at a fixed moment, moves a little with every look at it, and jumps when the program sleeps. Each
//! thread has its own, so that what one reads does not depend on how often others looked; creating and joining pass it on.

use crate::run::outcome;
use crate::state::run;
use landfall_vocab::shared::End;

/// 2020-09-13 12:26:40 UTC.
pub(crate) const START: u64 = 1_600_000_000;
pub(crate) const SECOND: u64 = 1_000_000_000;
/// What one look at the clock costs, so that loops waiting for time to pass end.
const LOOK: u64 = 1_000;
/// What the monotonic clock shows at first.
const BOOTED: u64 = 1000 * SECOND;

/// Nanoseconds on the given clock.
fn now(clock: i32) -> u64 {
    if crate::threads::looks_at_clock() {
        run().clock.set(run().clock.get() + LOOK);
    }
    let start = match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => START * SECOND,
        libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => 0,
        _ => BOOTED,
    };
    start + run().clock.get()
}

/// Seconds of the calendar, without a look at the clock.
pub(crate) fn seconds() -> u64 {
    START + run().clock.get() / SECOND
}

pub(crate) unsafe extern "C" fn clock_gettime(clock: i32, to: *mut libc::timespec) -> i32 {
    let now = now(clock);
    // SAFETY: the program asks for an answer there, or has given null.
    unsafe {
        if !to.is_null() {
            (*to).tv_sec = (now / SECOND) as i64;
            (*to).tv_nsec = (now % SECOND) as i64;
        }
    }
    0
}

pub(crate) unsafe extern "C" fn gettimeofday(to: *mut libc::timeval, zone: *mut [i32; 2]) -> i32 {
    // SAFETY: the program asks for answers there, or has given null.
    unsafe {
        let now = now(libc::CLOCK_REALTIME);
        if !to.is_null() {
            (*to).tv_sec = (now / SECOND) as i64;
            (*to).tv_usec = (now % SECOND / 1000) as i64;
        }
        if !zone.is_null() {
            *zone = [0, 0];
        }
        0
    }
}

pub(crate) unsafe extern "C" fn time(to: *mut i64) -> i64 {
    let now = (now(libc::CLOCK_REALTIME) / SECOND) as i64;
    // SAFETY: the program asks for an answer there, or has given null.
    unsafe {
        if !to.is_null() {
            *to = now;
        }
    }
    now
}

pub(crate) unsafe extern "C" fn clock_getres(_: i32, to: *mut libc::timespec) -> i32 {
    // SAFETY: the program asks for an answer there, or has given null.
    unsafe {
        if !to.is_null() {
            ((*to).tv_sec, (*to).tv_nsec) = (0, 1);
        }
    }
    0
}

pub(crate) unsafe extern "C" fn getcpu(cpu: *mut u32, node: *mut u32, _: usize) -> i32 {
    // SAFETY: the program asks for answers there, or has given null.
    unsafe {
        if !cpu.is_null() {
            *cpu = 0;
        }
        if !node.is_null() {
            *node = 0;
        }
        0
    }
}

/// A thread looked at the clock, and in vain: it could have looked again much later.
pub(crate) fn jump(nanoseconds: u64) {
    run()
        .clock
        .set(run().clock.get().saturating_add(nanoseconds));
}

/// The program sleeps: time jumps, and an alarm that falls due on the way goes off.
///
/// # Safety
/// `context` is what the kernel gave to the handler that runs.
pub(crate) unsafe fn sleep(nanoseconds: u64, context: *mut libc::ucontext_t) {
    jump(nanoseconds);
    // SAFETY: what the caller promises.
    unsafe {
        if run().alarm.get() != 0 && run().alarm.get() <= run().clock.get() {
            crate::syscalls::timers::went_off();
            crate::syscalls::signals::raise(libc::SIGALRM, context);
        }
    }
}

/// The program waits for ever: only an alarm can end that.
///
/// # Safety
/// `context` is what the kernel gave to the handler that runs.
pub(crate) unsafe fn wait_forever(what: &[u8], context: *mut libc::ucontext_t) {
    // SAFETY: what the caller promises.
    unsafe {
        if run().alarm.get() != 0 {
            let left = run().alarm.get().saturating_sub(run().clock.get());
            return sleep(left, context);
        }
    }
    if !crate::threads::others_alive() && crate::channels::waits::forever() {
        return;
    }
    if crate::threads::others_alive() {
        crate::syscalls::dispatch::refuse(&[
            what,
            b" waits for another thread in the kernel, where landfall does not schedule",
        ]);
    }
    let text: &[&[u8]] = &[what, b" waits for something that cannot happen"];
    outcome::end(End::Deadlock, crate::syscalls::dispatch::report(text))
}

/// A wait until this moment took too long: it is over. Clocks start so far apart that the moment tells whose it is.
pub(crate) fn pass(moment: usize) {
    if moment == 0 {
        return;
    }
    // SAFETY: the program gave the time to wait for.
    let moment = unsafe { duration(moment as *const libc::timespec) };
    let start = if moment < START * SECOND {
        BOOTED
    } else {
        START * SECOND
    };
    run()
        .clock
        .set(run().clock.get().max(moment.saturating_sub(start)));
}

/// # Safety
/// The program may read `time`, as far as it asks for.
pub(crate) unsafe fn duration(time: *const libc::timespec) -> u64 {
    // SAFETY: what the caller promises.
    unsafe {
        ((*time).tv_sec.max(0) as u64)
            .saturating_mul(SECOND)
            .saturating_add((*time).tv_nsec.max(0) as u64)
    }
}

/// `rdtsc` and `rdtscp` fault in a run (PR_SET_TSC): answers with virtual time.
///
/// # Safety
/// `info` and `context` are what the kernel gave to the handler that runs.
pub(crate) unsafe fn emulate_timestamp(
    info: *mut libc::siginfo_t,
    context: *mut libc::ucontext_t,
) -> bool {
    // SAFETY: what the caller promises.
    unsafe {
        const SI_KERNEL: i32 = 128;
        if (*info).si_code != SI_KERNEL {
            return false;
        }
        let registers = &raw mut (*context).uc_mcontext.gregs;
        let code = (*registers)[libc::REG_RIP as usize] as *const u8;
        let length = match (*code, *code.add(1), *code.add(2)) {
            (0x0f, 0x31, _) => 2,
            (0x0f, 0x01, 0xf9) => 3,
            _ => return false,
        };
        let ticks = now(libc::CLOCK_MONOTONIC);
        (*registers)[libc::REG_RAX as usize] = (ticks & 0xffff_ffff) as i64;
        (*registers)[libc::REG_RDX as usize] = (ticks >> 32) as i64;
        if length == 3 {
            (*registers)[libc::REG_RCX as usize] = 0;
        }
        (*registers)[libc::REG_RIP as usize] += length;
        true
    }
}

/// Makes `rdtsc` fault in this process.
pub(crate) fn trap_timestamps() {
    // SAFETY: this operation takes numbers.
    unsafe {
        crate::syscalls::sys::raw(
            libc::SYS_prctl,
            [libc::PR_SET_TSC as usize, libc::PR_TSC_SIGSEGV as usize],
        );
    }
}
