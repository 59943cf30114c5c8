//! The client of a run: a script of the checker's (`landfall_vocab::client`), a line after the other. Lines that say what is to come
//! are compared the moment it comes: what the server sends has been told. What the client itself does it does when the server has
//! found nothing to do.
//!
//! After a power failure there is another client, with the recovery's lines. All that it knows of the one before is what that one was
//! told ([`acks`]).

pub(crate) mod acks;
mod command;

use super::{Channel, Form, channel, hold, let_go, names, new, used};
use crate::memory::bytes;
use crate::memory::own::Scratch;
use crate::run::outcome;
use crate::run::shared::{self, control};
use crate::state::run;
use crate::syscalls::dispatch;
use crate::syscalls::signals;
use core::cell::Cell;
use landfall_vocab::client::{
    self as script, ClientOp, MOST_CONNECTIONS, Received, ScriptLine, reason,
};
use landfall_vocab::shared::End;
use names::SocketName;

/// How long it waits for an answer, unless it says so.
const PATIENCE: u64 = 10_000_000_000;
/// Bytes that a server may send without having been asked.
const MOST_UNREAD: usize = 64 << 20;
/// Of those, what a report shows.
const SHOWN: usize = 400;

/// Where the client is. All zero is before its first line.
#[repr(C)]
pub(crate) struct Client {
    begun: Cell<bool>,
    /// Which line is next, as a place in the script.
    at: Cell<u32>,
    /// Its own ends, by their numbers plus one.
    ends: [Cell<u16>; MOST_CONNECTIONS],
    current: Cell<u8>,
    patience: Cell<u64>,
    /// Since when the next line waits, plus one; zero if it does not.
    since: Cell<u64>,
    command: command::Command,
    /// It is being looked at already.
    busy: Cell<bool>,
}

/// What came of letting it act.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Acted {
    Nothing,
    Something,
    /// A signal arrived: calls that wait are interrupted.
    Signalled,
}

enum Went {
    /// The line is done, and that one is next.
    To(usize),
    /// Nothing has come yet, or it is not yet time.
    Waits,
    /// It is for the client to act.
    MayAct,
    /// It sent something, and the line is not done.
    Said,
    Signalled,
}

fn client() -> &'static Client {
    &used().client
}

/// Is there a client in this check?
pub(crate) fn is_there() -> bool {
    control().client_len != 0
}

fn lines() -> &'static [u8] {
    let length = (control().client_len as usize).min(landfall_vocab::shared::CLIENT_LEN as usize);
    // SAFETY: the checker wrote it before the server began, and the area is mapped with all of shared memory.
    let all = unsafe { core::slice::from_raw_parts(shared::client_area(), length) };
    script::section(all, run().failures.get() > 0)
}

fn next() -> Option<ScriptLine<'static>> {
    script::line(lines(), client().at.get() as usize)
}

fn begin() {
    let client = client();
    if !client.begun.replace(true) {
        client.patience.set(PATIENCE);
        // After a power failure there is another client.
        crate::memory::shadow::asked();
    }
}

fn goes_to(line: usize) {
    client().at.set(line as u32);
    client().since.set(0);
}

/// Has it nothing more to do?
pub(crate) fn is_done() -> bool {
    next().is_none()
}

/// Something came for it, or a connection was closed.
pub(crate) fn hears() {
    advance(false);
}

/// The server has nothing to do: the client acts.
pub(crate) fn acts() -> Acted {
    if !is_there() {
        return Acted::Nothing;
    }
    advance(true)
}

fn advance(may_act: bool) -> Acted {
    if !is_there() || client().busy.replace(true) {
        return Acted::Nothing;
    }
    begin();
    let mut acted = Acted::Nothing;
    while let Some(line) = next() {
        match step(&line, may_act) {
            Went::To(next) => {
                if line.op.is_action() {
                    acted = Acted::Something;
                }
                goes_to(next);
            }
            Went::Signalled => {
                goes_to(line.next);
                client().busy.set(false);
                arrives(line.number as i32);
                return Acted::Signalled;
            }
            Went::Said => {
                client().since.set(run().clock.get() + 1);
                acted = Acted::Something;
                break;
            }
            Went::Waits => {
                if client().since.get() == 0 {
                    client().since.set(run().clock.get() + 1);
                }
                break;
            }
            Went::MayAct => break,
        }
    }
    client().busy.set(false);
    acted
}

fn end(which: u8) -> Option<&'static Channel> {
    match client().ends.get(usize::from(which)).map(Cell::get) {
        None | Some(0) => None,
        Some(number) => Some(channel(number as usize - 1)),
    }
}

fn current() -> Option<&'static Channel> {
    end(client().current.get())
}

fn step(line: &ScriptLine<'static>, may_act: bool) -> Went {
    if line.op.is_action() && !may_act {
        return Went::MayAct;
    }
    match line.op {
        ClientOp::Connect => return connects(line),
        ClientOp::With => client().current.set(line.number as u8),
        ClientOp::Send => {
            let Some(own) = current() else {
                fails(line, reason::CLOSED)
            };
            if super::streams::is_broken(own) {
                fails(line, reason::CLOSED)
            }
            if let Some(server) = own.other_end() {
                // SAFETY: the script is in shared memory, all of it mapped.
                unsafe { server.arrivals.push(line.text.as_ptr(), line.text.len()) };
                server.changed();
            }
        }
        ClientOp::Expect | ClientOp::ExpectLine => return expects(line),
        ClientOp::ExpectClose => {
            let Some(own) = current() else {
                return Went::To(line.next);
            };
            if own.arrivals.length() > 0 {
                fails(line, reason::DIFFERS)
            }
            if !super::streams::at_end(own) {
                return Went::Waits;
            }
            closes();
        }
        ClientOp::Close => closes(),
        ClientOp::Shutdown => {
            if let Some(own) = current() {
                own.shut_write.set(true);
                if let Some(server) = own.other_end() {
                    server.changed();
                }
            }
        }
        // Among threads time is nobody's.
        ClientOp::Sleep if crate::threads::on() => {}
        ClientOp::Sleep => {
            let client = client();
            if client.since.get() == 0 {
                client.since.set(run().clock.get() + 1);
            }
            if run().clock.get() < client.since.get() - 1 + line.number {
                return Went::Waits;
            }
        }
        ClientOp::Patience => client().patience.set(line.number),
        ClientOp::Acked => acks::told(line.text),
        ClientOp::UnlessAcked if acks::count(line.text) == 0 => {
            return Went::To(line.number as usize);
        }
        ClientOp::UnlessAcked => {}
        ClientOp::Goto => return Went::To(line.number as usize),
        ClientOp::Signal => return Went::Signalled,
        ClientOp::Run => return command::runs(line, may_act),
    }
    Went::To(line.next)
}

fn connects(line: &ScriptLine<'static>) -> Went {
    let port = line.number as u16;
    let at_port = |family| names::listener(&SocketName::loopback(family, port));
    let found = match line.text {
        b"" => at_port(libc::AF_INET).or_else(|| at_port(libc::AF_INET6)),
        path => names::listener(&SocketName::unix(path)),
    };
    let Some(listener) = found else {
        return Went::Waits;
    };
    let Some(own) = new(Form::Stream, libc::O_RDWR) else {
        return Went::Waits;
    };
    channel(own).of_client.set(true);
    hold(own as u16);
    if !names::reach(own, listener) {
        let_go(own as u16);
        return Went::Waits;
    }
    let which = usize::from(line.connection);
    if let Some(old) = client().ends[which].replace(own as u16 + 1).checked_sub(1) {
        let_go(old);
    }
    client().current.set(line.connection);
    Went::To(line.next)
}

fn closes() {
    let which = usize::from(client().current.get());
    if let Some(old) = client().ends[which].replace(0).checked_sub(1) {
        let_go(old);
    }
}

/// Whoever sends and sends is told to stop.
pub(super) fn is_not_flooded(own: &Channel) {
    if own.arrivals.length() > MOST_UNREAD {
        dispatch::refuse(&[b"the program sends to its client without end"]);
    }
}

fn expects(line: &ScriptLine<'static>) -> Went {
    let Some(own) = current() else {
        fails(line, reason::CLOSED)
    };
    let there = own.arrivals.length();
    let is_line = line.op == ClientOp::ExpectLine;
    let length = match is_line {
        true => match own.arrivals.find(b'\n') {
            Some(at) => at + 1,
            None => {
                if super::streams::at_end(own) {
                    fails(line, reason::CLOSED)
                }
                return Went::Waits;
            }
        },
        false => there.min(line.longest),
    };
    let held = Scratch::new(length.max(1));
    // SAFETY: there is room for all of it.
    let received = unsafe {
        own.arrivals.each(length, |from, piece, before| {
            bytes::copy(held.start().add(before), from, piece);
        });
        core::slice::from_raw_parts(held.start(), length)
    };
    match script::compare(line, received) {
        Received::Came(length) => {
            own.arrivals.drop_first(length);
            Went::To(line.next)
        }
        Received::Other => fails(line, reason::DIFFERS),
        Received::Unfinished if super::streams::at_end(own) => fails(line, reason::CLOSED),
        Received::Unfinished => Went::Waits,
    }
}

/// Until when it sleeps, if that is what it does.
pub(crate) fn sleeps_until() -> Option<u64> {
    let line = is_there().then(next)??;
    let since = client().since.get().checked_sub(1)?;
    (line.op == ClientOp::Sleep).then(|| since + line.number)
}

/// The server will wait until then: is what the client waits for to come in time?
pub(crate) fn is_patient(until: u64) {
    if !is_there() {
        return;
    }
    let since = client().since.get();
    if let Some(line) = next()
        && since != 0
        && line.op != ClientOp::Sleep
        && until > (since - 1).saturating_add(client().patience.get())
    {
        nothing_came(&line)
    }
}

/// The server waits for ever.
pub(crate) fn gives_up() {
    if let Some(line) = is_there().then(next).flatten() {
        nothing_came(&line)
    }
}

fn nothing_came(line: &ScriptLine<'static>) -> ! {
    let why = match line.op {
        ClientOp::Connect => reason::NOBODY,
        _ => reason::NOTHING,
    };
    fails(line, why)
}

/// The server has ended, well: was that all that the client wanted?
pub(crate) fn server_ends() {
    if !is_there() || client().busy.get() {
        return;
    }
    begin();
    for which in &client().ends {
        if let Some(own) = which.get().checked_sub(1)
            && let Some(server) = channel(own.into()).other_end()
        {
            server.peer.set(0);
            channel(own.into()).peer.set(0);
            channel(own.into()).left_alone.set(true);
        }
    }
    hears();
    while let Some(line) = next() {
        match line.op {
            // Nobody is there to see it.
            ClientOp::Close
            | ClientOp::With
            | ClientOp::Shutdown
            | ClientOp::Patience
            | ClientOp::Sleep => goes_to(line.next),
            ClientOp::Acked | ClientOp::Goto | ClientOp::UnlessAcked => {
                hears();
            }
            _ => fails(&line, reason::ENDED),
        }
    }
}

fn arrives(signal: i32) {
    if crate::threads::others_alive() {
        dispatch::refuse(&[
            b"the client sends a signal to a program with several threads: that is not tried",
        ]);
    }
    let context = dispatch::context();
    if signals::is_handled(signal as usize) || signals::is_ignored(signal as usize) {
        // SAFETY: the context is the kernel's record of the program at this call.
        unsafe { signals::raise(signal, context) };
        return;
    }
    // It ends the server, as it was meant to.
    outcome::end(End::Exited, outcome::Report::default())
}

/// What came is not what the client wants.
fn fails(line: &ScriptLine<'static>, why: &[u8]) -> ! {
    let held = Scratch::new(SHOWN);
    let mut length = 0;
    if let Some(own) = current() {
        length = own.arrivals.each(SHOWN, |from, piece, before| {
            // SAFETY: at most so many bytes.
            unsafe { bytes::copy(held.start().add(before), from, piece) };
        });
    }
    // SAFETY: it was just written.
    let shown = unsafe { core::slice::from_raw_parts(held.start(), length) };
    reports(line, &[why, b"\0", shown])
}

/// The run ends at this line: why, and what there is to show.
fn reports(line: &ScriptLine<'static>, text: &[&[u8]]) -> ! {
    client().busy.set(true);
    let report = dispatch::report(&[]);
    outcome::end(
        End::Client,
        outcome::Report {
            code: line.line as i32,
            text,
            ..report
        },
    )
}
