//! Functions of libc that send signals, set timers and wait for signals, while threads are under control.

use super::signals::{
    SignalInfo, describe, look, may_arrive, pause, pend_for_itself, poll, repeats, send, stop,
    time_left, times, wait_for,
};
use super::{forked, lifecycle, on, tables, threads, unseen};
use crate::caller;
use crate::libc::real::real;
use crate::memory::accesses;
use crate::run::outcome::{self, Report};
use crate::run::trace::Origin;
use crate::state::run;
use crate::syscalls::clock;
use crate::syscalls::signals::{is_handled, is_ignored};
use core::cell::Cell;
use core::mem::MaybeUninit;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::unseen as what;
use landfall_vocab::shared::{End, MOST_SIGNALS};
use libc::{EINVAL, ESRCH, SIGALRM, itimerspec, itimerval, timeval};

/// Timers of one run: the alarm, and those that `timer_create` has made.
#[repr(C)]
pub(super) struct Timers {
    alarm: Cell<usize>,
    made: [Cell<Timer>; MOST],
    count: Cell<usize>,
}

const MOST: usize = 16;

#[derive(Clone, Copy)]
#[repr(C)]
struct Timer {
    signal: usize,
    sender: usize,
    /// What its signal says.
    value: usize,
}

impl Timer {
    fn says(self) -> (usize, SignalInfo) {
        let info = SignalInfo {
            code: libc::SI_TIMER,
            value: self.value,
        };
        (self.signal, info)
    }
}

fn fail(error: i32) -> i32 {
    // SAFETY: libc's variable of this thread.
    unsafe { *libc::__errno_location() = error };
    -1
}

fn is_signal(signal: usize) -> bool {
    (1..=MOST_SIGNALS).contains(&signal)
}

fn is_masked(signal: usize) -> bool {
    run().mask.get() >> (signal - 1) & 1 != 0
}

/// Would anybody notice that it arrives, other than by dying of it?
fn is_noticed(signal: usize) -> bool {
    is_handled(signal) || is_masked(signal)
}

/// The process dies of a signal, by whoever sends it.
fn kills(signal: usize) -> i32 {
    if is_ignored(signal) {
        return 0;
    }
    outcome::end(
        End::Signal,
        Report {
            code: signal as i32,
            frame: crate::run::call_stack::frame_pointer(),
            ..Report::default()
        },
    )
}

/// To one thread; `None` where libc may do it.
fn to_thread(thread: usize, signal: usize, info: SignalInfo, caller: usize) -> Option<i32> {
    let Some(number) = lifecycle::number_of(thread) else {
        return Some(ESRCH);
    };
    if signal == 0 {
        return Some(0);
    }
    if !is_signal(signal) {
        return Some(EINVAL);
    }
    if number == threads().current.get() {
        return to_itself(Some(number), signal, info, caller);
    }
    if !is_noticed(signal) {
        return Some(kills(signal));
    }
    may_arrive();
    let now = run().clock.get();
    send(Some(number), (signal, info), 1, now, caller);
    Some(0)
}

/// A thread sends itself a signal: it arrives before the call returns, which libc sees to, unless it is blocked.
fn to_itself(to: Option<usize>, signal: usize, info: SignalInfo, caller: usize) -> Option<i32> {
    // What comes with a value, libc's own way would lose.
    let ours = is_masked(signal) || info.code == libc::SI_QUEUE && is_handled(signal);
    (is_signal(signal) && ours).then(|| {
        may_arrive();
        pend_for_itself(to, (signal, info), caller);
        look(Origin::library(Builtin::thread, caller));
        0
    })
}

/// To the process, so to whichever of its threads takes it first; `None` where libc may do it.
fn to_process(process: i32, signal: usize, info: SignalInfo, caller: usize) -> Option<i32> {
    if !on() || !is_own(process) || !is_signal(signal) {
        return None;
    }
    if forked::several() {
        return to_itself(Some(threads().current.get()), signal, info, caller);
    }
    if !tables().contexts[threads().current.get()]
        .among_others
        .get()
    {
        return to_itself(None, signal, info, caller);
    }
    is_noticed(signal).then(|| {
        may_arrive();
        send(None, (signal, info), 1, run().clock.get(), caller);
        0
    })
}

/// Sets a timer anew: what was left of it.
fn set(
    sender: &Cell<usize>,
    (signal, info): (usize, SignalInfo),
    (left, period): (u64, u64),
    caller: usize,
) -> u64 {
    may_arrive();
    look(Origin::library(Builtin::thread, caller));
    let before = match sender.get() {
        0 => 0,
        before => {
            stop(before, caller);
            time_left(before)
        }
    };
    sender.set(0);
    if left != 0 {
        let times = times(period != 0);
        let due = (run().clock.get().saturating_add(left))
            .saturating_add(period.saturating_mul(u64::from(times - 1)));
        sender.set(send(None, (signal, info), times, due, caller));
        if period != 0 {
            repeats(sender.get());
        }
    }
    look(Origin::library(Builtin::thread, caller));
    before
}

/// Is a timer of real time a matter of the search? One that nobody handles ends a program that would not end.
fn is_alarm_ours() -> bool {
    on() && (is_noticed(SIGALRM as usize) || threads().timers.alarm.get() != 0)
}

fn alarm(left: u64, period: u64, caller: usize) -> u64 {
    set(
        &threads().timers.alarm,
        // Of the kernel's own.
        (SIGALRM as usize, SignalInfo::of(libc::SI_KERNEL)),
        (left, period),
        caller,
    )
}

crate::weak!(
    "kill" => kill, "raise" => raise, "killpg" => killpg, "sigqueue" => sigqueue, "pthread_kill" => pthread_kill,
    "pthread_sigqueue" => pthread_sigqueue, "alarm" => alarm, "ualarm" => ualarm, "setitimer" => setitimer,
    "pause" => pause, "sigsuspend" => sigsuspend, "sigwait" => sigwait, "sigwaitinfo" => sigwaitinfo,
    "sigtimedwait" => sigtimedwait, "timer_create" => timer_create, "timer_settime" => timer_settime,
    "timer_delete" => timer_delete, "timer_gettime" => timer_gettime, "timer_getoverrun" => timer_getoverrun,
);

const PID: usize = 1000;

/// Sent to the process, or to a thread, without more.
const USER: SignalInfo = SignalInfo::of(libc::SI_USER);
const THREAD: SignalInfo = SignalInfo::of(libc::SI_TKILL);

fn queued(value: usize) -> SignalInfo {
    SignalInfo {
        code: libc::SI_QUEUE,
        value,
    }
}

/// The program's own process, which all of its threads are in.
fn is_own(process: i32) -> bool {
    process as isize == forked::ids().0 || process == 0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_kill(process: i32, signal: i32) -> i32 {
    if let Some(sent) = to_process(process, signal as usize, USER, caller!()) {
        return sent;
    }
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let real = real().kill();
        real.map_or(-1, |kill| {
            kill(process as usize, signal as usize, 0, 0, 0, 0) as i32
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_killpg(group: i32, signal: i32) -> i32 {
    if let Some(sent) = to_process(group, signal as usize, USER, caller!()) {
        return sent;
    }
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let real = real().killpg();
        real.map_or(-1, |kill| {
            kill(group as usize, signal as usize, 0, 0, 0, 0) as i32
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_sigqueue(process: i32, signal: i32, value: usize) -> i32 {
    if is_own(process) && is_signal(signal as usize) && is_noticed(signal as usize) {
        may_arrive();
    }
    if let Some(sent) = to_process(process, signal as usize, queued(value), caller!()) {
        return sent;
    }
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let real = real().sigqueue();
        real.map_or(-1, |queue| {
            queue(process as usize, signal as usize, value, 0, 0, 0) as i32
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_pthread_kill(thread: usize, signal: i32) -> i32 {
    if on()
        && let Some(sent) = to_thread(thread, signal as usize, THREAD, caller!())
    {
        return sent;
    }
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let real = real().pthread_kill();
        real.map_or(ESRCH, |kill| {
            kill(thread, signal as usize, 0, 0, 0, 0) as i32
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_raise(signal: i32) -> i32 {
    if on()
        && let Some(sent) = to_itself(
            Some(threads().current.get()),
            signal as usize,
            THREAD,
            caller!(),
        )
    {
        return sent;
    }
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { real().raise().map_or(-1, |raise| raise(signal)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_pthread_sigqueue(thread: usize, signal: i32, value: usize) -> i32 {
    if on()
        && let Some(sent) = to_thread(thread, signal as usize, queued(value), caller!())
    {
        return sent;
    }
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let real = real().pthread_sigqueue();
        real.map_or(ESRCH, |queue| {
            queue(thread, signal as usize, value, 0, 0, 0) as i32
        })
    }
}

/// A timer that is not ours: where there are several threads, when it goes off is not seen.
fn note(caller: usize) {
    if on() {
        unseen::timer(
            what::TIMER,
            [0; 5],
            Origin::library(Builtin::thread, caller),
        );
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_alarm(seconds: u32) -> u32 {
    if is_alarm_ours() {
        let left = alarm(u64::from(seconds) * clock::SECOND, 0, caller!());
        return left.div_ceil(clock::SECOND) as u32;
    }
    note(caller!());
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        real()
            .alarm()
            .map_or(0, |alarm| alarm(seconds as usize, 0, 0, 0, 0, 0) as u32)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_ualarm(left: u32, period: u32) -> u32 {
    if is_alarm_ours() {
        return (alarm(u64::from(left) * 1000, u64::from(period) * 1000, caller!()) / 1000) as u32;
    }
    note(caller!());
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let real = real().ualarm();
        real.map_or(0, |alarm| {
            alarm(left as usize, period as usize, 0, 0, 0, 0) as u32
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_setitimer(
    which: i32,
    new: *const itimerval,
    old: *mut itimerval,
) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if which == libc::ITIMER_REAL && is_alarm_ours() {
            let nanoseconds = |time: timeval| {
                (time.tv_sec as u64).saturating_mul(clock::SECOND) + time.tv_usec as u64 * 1000
            };
            let (left, period) = match new.is_null() {
                true => (0, 0),
                false => {
                    let new = new.read_unaligned();
                    (nanoseconds(new.it_value), nanoseconds(new.it_interval))
                }
            };
            let before = alarm(left, period, caller!());
            if !old.is_null() {
                let left = timeval {
                    tv_sec: (before / clock::SECOND) as i64,
                    tv_usec: (before % clock::SECOND / 1000) as i64,
                };
                let none = timeval {
                    tv_sec: 0,
                    tv_usec: 0,
                };
                let answer = itimerval {
                    it_interval: none,
                    it_value: left,
                };
                give(old, &answer, caller!());
            }
            return 0;
        }
        note(caller!());
        let real = real().setitimer();
        real.map_or(-1, |set| {
            set(which as usize, new as usize, old as usize, 0, 0, 0) as i32
        })
    }
}

/// Hands an answer to the program.
///
/// # Safety
/// The program wants it at `to`.
unsafe fn give<T>(to: *mut T, answer: &T, caller: usize) {
    let origin = Origin::library(Builtin::thread, caller);
    // SAFETY: what the caller promises.
    unsafe {
        accesses::hand_over(
            to as usize,
            (&raw const *answer).cast(),
            size_of::<T>(),
            origin,
        );
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_pause() -> i32 {
    if on() {
        may_arrive();
        look(Origin::library(Builtin::thread, caller!()));
        pause(caller!());
        return fail(libc::EINTR);
    }
    // SAFETY: a system call without arguments.
    unsafe { libc::syscall(libc::SYS_pause) as i32 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_sigsuspend(mask: *const u64) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if !on() {
            return libc::syscall(libc::SYS_rt_sigsuspend, mask, 8) as i32;
        }
        may_arrive();
        look(Origin::library(Builtin::thread, caller!()));
        let before = run().mask.replace(mask.read_unaligned());
        pause(caller!());
        run().mask.set(before);
        look(Origin::library(Builtin::thread, caller!()));
        fail(libc::EINTR)
    }
}

fn is_in(set: u64) -> impl Fn(usize) -> bool {
    move |signal| set >> (signal - 1) & 1 != 0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_sigwait(set: *const u64, to: *mut i32) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let set = set.read_unaligned();
        if on() {
            may_arrive();
            look(Origin::library(Builtin::thread, caller!()));
            let signal = wait_for(is_in(set), caller!()).0 as i32;
            give(to, &signal, caller!());
            return 0;
        }
        let got = libc::syscall(libc::SYS_rt_sigtimedwait, &raw const set, 0, 0, 8) as i32;
        if got < 0 {
            return *libc::__errno_location();
        }
        *to = got;
        0
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_sigwaitinfo(set: *const u64, info: *mut libc::siginfo_t) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let set = set.read_unaligned();
        if !on() {
            return libc::syscall(libc::SYS_rt_sigtimedwait, &raw const set, info, 0, 8) as i32;
        }
        may_arrive();
        look(Origin::library(Builtin::thread, caller!()));
        let (signal, told) = wait_for(is_in(set), caller!());
        if !info.is_null() {
            answer_info(info, signal, told, caller!());
        }
        signal as i32
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_sigtimedwait(
    set: *const u64,
    info: *mut libc::siginfo_t,
    time: *const libc::timespec,
) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let wanted = set.read_unaligned();
        if !on() {
            return libc::syscall(libc::SYS_rt_sigtimedwait, set, info, time, 8) as i32;
        }
        if time.is_null() {
            return __lf_weak_sigwaitinfo(set, info);
        }
        may_arrive();
        look(Origin::library(Builtin::thread, caller!()));
        // Any wait may be too long.
        let Some((signal, told)) = poll(is_in(wanted), caller!()) else {
            run()
                .clock
                .set(run().clock.get().saturating_add(clock::duration(time)));
            return fail(libc::EAGAIN);
        };
        if !info.is_null() {
            answer_info(info, signal, told, caller!());
        }
        signal as i32
    }
}

/// What a signal says.
///
/// # Safety
/// The program wants it at `to`.
unsafe fn answer_info(to: *mut libc::siginfo_t, signal: usize, told: SignalInfo, caller: usize) {
    let mut info = MaybeUninit::<libc::siginfo_t>::uninit();
    // SAFETY: it is written before it is handed over; what the caller promises.
    unsafe {
        describe(info.as_mut_ptr(), signal, told);
        give(to, &*info.as_ptr(), caller);
    }
}

fn refuse(why: &[u8]) -> ! {
    outcome::fail(End::Forbidden, &[why])
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_timer_create(
    _clock: i32,
    event: *const libc::sigevent,
    to: *mut usize,
) -> i32 {
    may_arrive();
    if !on() {
        refuse(b"timer_create: timers of the kernel do not keep virtual time");
    }
    let timers = &threads().timers;
    let number = timers.count.get();
    let (signal, value) = match event.is_null() {
        true => (SIGALRM as usize, number + 1),
        // SAFETY: the program calls it: its arguments are what libc's own function takes.
        false => unsafe {
            match (*event).sigev_notify {
                libc::SIGEV_SIGNAL => (
                    (*event).sigev_signo as usize,
                    (*event).sigev_value.sival_ptr as usize,
                ),
                _ => refuse(
                    b"timer_create: only timers that send a signal are supported (SIGEV_SIGNAL)",
                ),
            }
        },
    };
    if !is_signal(signal) || number == MOST {
        return fail(EINVAL);
    }
    timers.made[number].set(Timer {
        signal,
        sender: 0,
        value,
    });
    timers.count.set(number + 1);
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { give(to, &(number + 1), caller!()) };
    0
}

fn timer(id: usize) -> Option<&'static Cell<Timer>> {
    let timers = &threads().timers;
    timers.made[..timers.count.get()].get(id.wrapping_sub(1))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_timer_settime(
    id: usize,
    flags: i32,
    new: *const itimerspec,
    old: *mut itimerspec,
) -> i32 {
    let Some(timer) = timer(id).filter(|_| on()) else {
        return fail(EINVAL);
    };
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let new = new.read_unaligned();
        let mut left = clock::duration(&raw const new.it_value);
        if flags & libc::TIMER_ABSTIME != 0 && left != 0 {
            left = left.saturating_sub(run().clock.get()).max(1);
        }
        let known = timer.get();
        let sender = Cell::new(known.sender);
        let period = clock::duration(&raw const new.it_interval);
        let before = set(&sender, known.says(), (left, period), caller!());
        timer.set(Timer {
            sender: sender.get(),
            ..known
        });
        if !old.is_null() {
            give(old, &answer(before), caller!());
        }
        0
    }
}

fn answer(left: u64) -> itimerspec {
    let none = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    itimerspec {
        it_interval: none,
        it_value: libc::timespec {
            tv_sec: (left / clock::SECOND) as i64,
            tv_nsec: (left % clock::SECOND) as i64,
        },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_timer_delete(id: usize) -> i32 {
    let Some(timer) = timer(id).filter(|_| on()) else {
        return fail(EINVAL);
    };
    let known = timer.get();
    set(&Cell::new(known.sender), known.says(), (0, 0), caller!());
    timer.set(Timer { sender: 0, ..known });
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_timer_gettime(id: usize, to: *mut itimerspec) -> i32 {
    let Some(timer) = timer(id).filter(|_| on()) else {
        return fail(EINVAL);
    };
    let left = match timer.get().sender {
        0 => 0,
        sender => time_left(sender),
    };
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { give(to, &answer(left), caller!()) };
    0
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_timer_getoverrun(_id: usize) -> i32 {
    0
}

/// A system call by its number: its result, if it is one of these.
pub(super) fn system_call(number: i64, [a, b, c, ..]: [usize; 5], caller: usize) -> Option<i64> {
    let own = super::thread_id();
    let thread = |thread: usize, signal: usize| {
        let number = thread.wrapping_sub(PID);
        let context = (&tables().contexts)[..threads().count.get()].get(number)?;
        let sent = to_thread(context.thread_pointer.get(), signal, THREAD, caller)?;
        Some(match sent {
            0 => 0,
            error => i64::from(fail(error)),
        })
    };
    match number {
        libc::SYS_tkill if a != own || is_signal(b) && is_masked(b) => thread(a, b),
        libc::SYS_tgkill if b != own || is_signal(c) && is_masked(c) => thread(b, c),
        libc::SYS_kill | libc::SYS_rt_sigqueueinfo if is_own(a as i32) => {
            to_process(a as i32, b, USER, caller).map(i64::from)
        }
        _ => None,
    }
}
