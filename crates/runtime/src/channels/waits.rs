//! Nothing is ready. Who could still act is the client of the run, time, and other threads; if nobody can, the run is over: well,
//! where the client has done all that it was to do, and otherwise not.

use super::{Channel, client, hold, interests, let_go, names, used};
use crate::run::outcome::{self, Report};
use crate::state::run;
use crate::syscalls::clock;
use crate::syscalls::dispatch;
use crate::syscalls::error;
use crate::threads::channel_calls;
use client::Acted;
use landfall_vocab::shared::End;

/// How a wait went on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rested {
    /// Something may be ready.
    LookAgain,
    TimedOut,
    Interrupted,
}

/// Performs what may have to wait: `attempt` says what came of it, or that nothing is ready. An error number where nothing came of it.
pub(crate) fn until(
    number: usize,
    nonblocking: bool,
    what: &[u8],
    mut attempt: impl FnMut() -> Option<isize>,
) -> Result<isize, isize> {
    loop {
        if let Some(done) = attempt() {
            return Ok(done);
        }
        if nonblocking {
            looked_in_vain();
            return Err(error(libc::EAGAIN));
        }
        if rest_in(WaitHandled::StartsOver, For::One(number), None, what) == Rested::Interrupted {
            return Err(error(libc::EINTR));
        }
    }
}

/// Somebody looked, found nothing, and will look again: the client need not wait any longer.
pub(crate) fn looked_in_vain() {
    if client::is_there() {
        client::acts();
    }
}

/// A moment of virtual time that lies so far ahead.
pub(crate) fn moment(nanoseconds: u64) -> u64 {
    run().clock.get().saturating_add(nanoseconds)
}

/// Waits until something may be ready, at most until a moment of virtual time.
pub(crate) fn rest(who: For, until: Option<u64>, what: &[u8]) -> Rested {
    rest_in(WaitHandled::IsOver, who, until, what)
}

/// What becomes of a call during which a handler runs that has `SA_RESTART`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitHandled {
    StartsOver,
    /// `poll` and its kin: whoever the handler is.
    IsOver,
}

fn rest_in(call: WaitHandled, who: For, until: Option<u64>, what: &[u8]) -> Rested {
    match client::acts() {
        Acted::Something => return Rested::LookAgain,
        Acted::Signalled => return Rested::Interrupted,
        Acted::Nothing => {}
    }
    if channel_calls::are_shared() {
        // Whoever closes it meanwhile closes it when the wait is over.
        let held = match who {
            For::One(number) => Some(number as u16),
            For::Any => None,
        };
        held.into_iter().for_each(hold);
        let rested = channel_calls::wait(who, until.is_some(), call == WaitHandled::StartsOver);
        held.into_iter().for_each(let_go);
        return match (rested, until) {
            (Rested::TimedOut, Some(until)) => {
                run().clock.set(run().clock.get().max(until));
                Rested::TimedOut
            }
            (Rested::TimedOut, None) => Rested::LookAgain,
            (rested, _) => rested,
        };
    }
    let context = dispatch::context();
    if let Some(next) = client::sleeps_until()
        && until.is_none_or(|until| next <= until)
    {
        // SAFETY: the context is the kernel's record of the program at this call.
        unsafe { clock::sleep(next.saturating_sub(run().clock.get()), context) };
        return Rested::LookAgain;
    }
    if client::is_there() && client::is_done() && run().alarm.get() == 0 {
        finished();
    }
    let Some(until) = until else {
        if run().alarm.get() == 0 {
            client::gives_up();
            if !client::is_there() && used().listeners.get() > 0 {
                nobody_connects();
            }
        }
        // SAFETY: as above.
        unsafe { clock::wait_forever(what, context) };
        return Rested::Interrupted;
    };
    client::is_patient(until);
    // SAFETY: as above.
    unsafe { clock::sleep(until.saturating_sub(run().clock.get()), context) };
    Rested::TimedOut
}

/// The program waits for something else than a channel, and for ever. True if a signal of the client's ends that.
pub(crate) fn forever() -> bool {
    if !client::is_there() {
        return false;
    }
    loop {
        match client::acts() {
            Acted::Something => continue,
            Acted::Signalled => return true,
            Acted::Nothing => {}
        }
        match client::sleeps_until() {
            // SAFETY: the context is the kernel's record of the program at this call.
            Some(next) => unsafe {
                let left = next.saturating_sub(run().clock.get());
                clock::sleep(left, dispatch::context());
            },
            None if client::is_done() => finished(),
            None => client::gives_up(),
        }
    }
}

/// The client has done all it was to do, and the server waits for the next one: that is all there is.
fn finished() -> ! {
    outcome::end(End::Exited, Report::default())
}

fn nobody_connects() -> ! {
    let name = names::any_listener().map(|it| it.name.get());
    let mut digits = [0u8; 20];
    let (kind, place): (&[u8], &[u8]) = match &name {
        Some(name) if name.family() == libc::AF_UNIX => (b"unix:", name.path()),
        Some(name) => {
            let port = crate::memory::bytes::decimal(name.port().into(), &mut digits);
            (b"tcp:", port)
        }
        None => (b"", b""),
    };
    outcome::end(
        End::Deadlock,
        dispatch::report(&[
            b"the program listens at ",
            kind,
            place,
            b", and nobody connects: give it a client, as in --client FILE",
        ]),
    )
}

/// Somebody may wait for what has just happened.
pub(crate) fn something_changed(it: &Channel) {
    let used = used();
    used.changed.set(true);
    if used.waiting.get() > 0 {
        it.happened.set(true);
        interests::something_changed(it);
    }
}

/// What it is that a thread waits for.
#[derive(Clone, Copy)]
pub(crate) enum For {
    /// Something happens to this channel; of a set, to one of its members.
    One(usize),
    Any,
}
