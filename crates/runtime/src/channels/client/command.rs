//! A command whose standard input and output are the connection. It runs outside, started by the checker: what it says to what it is
//! told is known after the first time ([`landfall_vocab::reply`]), so that runs only look it up, and are the same again.

use super::{Went, client, current, fails, reports};
use crate::channels::{Channel, streams};
use crate::memory::bytes;
use crate::run::shared::{self, control};
use crate::syscalls::{dispatch, sys};
use core::cell::Cell;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use landfall_vocab::client::{ScriptLine, reason};
use landfall_vocab::reply::{
    self, LISTENS, QUESTION_AT, QUESTION_LEN, REPLIES_AT, REPLIES_LEN, Reply, Telling,
};
use landfall_vocab::shared::question;

/// How far the command of the current line is. All zero is before it began.
#[repr(C)]
pub(crate) struct Command {
    /// Its last reply, by its place plus one.
    after: Cell<u32>,
    /// What that says has not been sent yet.
    unsent: Cell<bool>,
    /// It knows that the server sends no more.
    closed: Cell<bool>,
}

impl Command {
    pub(super) fn begins_anew(&self) {
        let Command {
            after,
            unsent,
            closed,
        } = self;
        after.set(0);
        unsent.set(false);
        closed.set(false);
    }

    fn goes_on(&self, (place, reply): (u32, Reply<'static>)) {
        self.after.set(place);
        self.unsent.set(!reply.said.is_empty());
    }
}

/// It is told what came, and says what it has to say if it may.
pub(super) fn runs(line: &ScriptLine<'static>, may_act: bool) -> Went {
    let Some(own) = current() else {
        fails(line, reason::CLOSED)
    };
    let command = &client().command;
    if command.after.get() == 0 {
        if !may_act {
            return Went::MayAct;
        }
        command.goes_on(answer(0, line.line, Telling::Begin, b""));
    }
    loop {
        let Some(reply) = known(command.after.get()) else {
            dispatch::refuse(&[b"what a command of the client's said is lost"]);
        };
        if command.unsent.get() {
            if !may_act {
                return Went::MayAct;
            }
            if streams::is_broken(own) {
                fails(line, reason::CLOSED)
            }
            command.unsent.set(false);
            if let Some(server) = own.other_end() {
                // SAFETY: replies are in shared memory, all of it mapped.
                unsafe { server.arrivals.push(reply.said.as_ptr(), reply.said.len()) };
                server.changed();
            }
            // What it hears of it comes later, and so does its end.
            return Went::Said;
        }
        if reply.status != LISTENS {
            return ends(line, &reply);
        }
        let told = tells(own, line.line, command);
        match told {
            Some(next) => command.goes_on(next),
            None => return Went::Waits,
        }
    }
}

/// What it is told next, if there is something: what came since, or that no more will come.
fn tells(own: &Channel, line: u32, command: &Command) -> Option<(u32, Reply<'static>)> {
    let length = own.arrivals.length();
    let after = command.after.get();
    if length > 0 {
        if length as u64 > QUESTION_LEN {
            dispatch::refuse(&[
                b"the program sends more than 1 MiB at once to a command of its client",
            ]);
        }
        let held = crate::memory::own::Scratch::new(length);
        // SAFETY: there is room for all of it.
        let told = unsafe {
            own.arrivals.each(length, |from, piece, before| {
                bytes::copy(held.start().add(before), from, piece);
            });
            core::slice::from_raw_parts(held.start(), length)
        };
        own.arrivals.drop_first(length);
        return Some(answer(after, line, Telling::Bytes, told));
    }
    if streams::at_end(own) && !command.closed.replace(true) {
        return Some(answer(after, line, Telling::Closed, b""));
    }
    None
}

fn ends(line: &ScriptLine<'static>, reply: &Reply<'static>) -> Went {
    if reply.status != 0 {
        reports(line, &[reason::FAILED, b"\0", reply.complaint]);
    }
    client().command.begins_anew();
    Went::To(line.next)
}

fn all_replies() -> &'static [u8] {
    let length = control().replies_len.load(Acquire).min(REPLIES_LEN) as usize;
    let start = shared::client_area().wrapping_add(REPLIES_AT as usize);
    // SAFETY: the area is mapped with all of shared memory; what the checker has counted it does not write again.
    unsafe { core::slice::from_raw_parts(start, length) }
}

fn known(place: u32) -> Option<Reply<'static>> {
    let at = place.checked_sub(1)?;
    reply::reply(all_replies(), at as usize).map(|(reply, _)| reply)
}

/// What it says to that, and where this is written.
fn answer(after: u32, line: u32, telling: Telling, told: &[u8]) -> (u32, Reply<'static>) {
    let mut at = 0;
    let mut look = || {
        let all = all_replies();
        while let Some((reply, next)) = reply::reply(all, at) {
            let place = at as u32 + 1;
            at = next;
            if reply.after == after
                && reply.line == line
                && reply.telling == telling
                && bytes::same(reply.told, told)
            {
                return Some((place, reply));
            }
        }
        None
    };
    if let Some(found) = look() {
        return found;
    }
    let why = ask(after, line, telling, told);
    match look() {
        Some(found) => found,
        None => dispatch::refuse(&[why]),
    }
}

/// Asks the checker, which writes the reply behind the others; why not, if it does not.
fn ask(after: u32, line: u32, telling: Telling, told: &[u8]) -> &'static [u8] {
    let asked = &control().question;
    let area = shared::client_area().wrapping_add(QUESTION_AT as usize);
    // SAFETY: what is told fits, and the checker looks only once it is asked.
    unsafe { bytes::copy(area.cast_mut(), told.as_ptr(), told.len()) };
    asked.after.store(after, Relaxed);
    asked.line.store(line, Relaxed);
    asked.telling.store(telling as u32, Relaxed);
    asked.length.store(told.len() as u32, Relaxed);
    asked.state.store(question::ASKED, Release);
    // It waits for the end of a run, or looks now and then.
    control().finished.fetch_add(1, SeqCst);
    if control().checker_asleep.load(SeqCst) != 0 {
        shared::wake(&control().finished);
    }
    while asked.state.load(Acquire) == question::ASKED {
        let word = &raw const asked.state as usize;
        let seen = question::ASKED as usize;
        // SAFETY: sleeping on a word of shared memory.
        unsafe { sys::raw(libc::SYS_futex, [word, libc::FUTEX_WAIT as usize, seen, 0]) };
    }
    let refused = asked.state.swap(question::NONE, Acquire) == question::REFUSED;
    let length = u64::from(asked.length.load(Relaxed)).min(QUESTION_LEN) as usize;
    match refused {
        // SAFETY: inside of the area, and written before it was said so.
        true => unsafe { core::slice::from_raw_parts(area, length) },
        false => b"no answer came from a command of the client's",
    }
}
