//! Reading and writing ends of pipes and connections.

use super::{
    Channel, Form, channel, client, connect, events, hold, let_go, new, open, signal_reads, waits,
};
use crate::files::descriptors;
use crate::memory::accesses;
use crate::memory::bytes;
use crate::memory::own::Scratch;
use crate::memory::shadow::is_persistent;
use crate::syscalls::dispatch;
use crate::syscalls::error;
use crate::syscalls::signals;
use landfall_vocab::builtin::Builtin;
use libc::*;

/// Bytes that may wait in a pipe, and at an end of a connection.
const PIPE_ROOM: usize = 64 << 10;
const SOCKET_ROOM: usize = 208 << 10;
/// Written to a pipe at once, or not at all.
const PIPE_AT_ONCE: usize = 4096;
const PIECE: usize = 64 << 10;

/// How a call is to be made, once.
#[derive(Clone, Copy)]
pub(crate) struct Manner {
    pub(crate) peek: bool,
    pub(crate) nonblocking: bool,
    pub(crate) all: bool,
    pub(crate) silent: bool,
    /// Asked for by `recv` or `send`.
    pub(crate) of_socket: bool,
}

impl Manner {
    pub(crate) const PLAIN: Manner = Manner {
        peek: false,
        nonblocking: false,
        all: false,
        silent: false,
        of_socket: false,
    };

    /// As the flags of `recv` and `send` say.
    pub(crate) fn of(flags: i32) -> Manner {
        Manner {
            peek: flags & MSG_PEEK != 0,
            nonblocking: flags & MSG_DONTWAIT != 0,
            all: flags & MSG_WAITALL != 0,
            silent: flags & MSG_NOSIGNAL != 0,
            of_socket: true,
        }
    }
}

pub(crate) fn room(end: &Channel) -> usize {
    let most = match end.form.get() {
        Form::PipeOutlet => PIPE_ROOM,
        _ => SOCKET_ROOM,
    };
    most.saturating_sub(end.arrivals.length())
}

/// Is there nothing more to come?
pub(crate) fn at_end(end: &Channel) -> bool {
    end.left_alone.get()
        || end.shut_read.get()
        || end.other_end().is_some_and(|peer| peer.shut_write.get())
}

/// Can nobody read what is written here?
pub(crate) fn is_broken(end: &Channel) -> bool {
    end.left_alone.get()
        || end.shut_write.get()
        || end.other_end().is_some_and(|peer| peer.shut_read.get())
}

/// # Safety
/// The program may write to `to`, as far as it asks for.
pub(crate) unsafe fn read(number: usize, to: usize, length: usize, how: Manner) -> isize {
    let end = channel(number);
    match end.form.get() {
        Form::Event if length < 8 => return error(EINVAL),
        Form::Event | Form::Stream | Form::PipeOutlet => {}
        Form::Socket | Form::Listener | Form::Datagram => return error(ENOTCONN),
        Form::EpollSet => return error(EINVAL),
        Form::Signals => {
            // SAFETY: what the caller promises.
            return unsafe { signal_reads::read(number, to, length, end.is_nonblocking()) };
        }
        _ => return error(EBADF),
    }
    let nonblocking = how.nonblocking || end.is_nonblocking();
    let mut total = 0;
    let what: &[u8] = if how.of_socket { b"recv" } else { b"read" };
    waits::until(number, nonblocking, what, || {
        // SAFETY: what the caller promises.
        unsafe {
            if end.form.get() == Form::Event {
                let taken = events::take(number)?;
                descriptors::give(to, (&raw const taken).cast(), 8);
                return Some(8);
            }
            let got = take(end, to + total, length - total, how);
            total += got;
            match got {
                // Of sockets that have names in files, the kernel wants something to be there even then.
                _ if length == 0
                    && (end.family.get() != AF_UNIX as u16 || end.arrivals.length() > 0) =>
                {
                    Some(0)
                }
                0 if total == 0 && end.reset.replace(false) => Some(error(ECONNRESET)),
                0 if at_end(end) => Some(total as isize),
                0 => None,
                _ if how.all && !how.peek && total < length => None,
                _ => Some(total as isize),
            }
        }
    })
    // What came before it was interrupted, or would have waited again, counts.
    .unwrap_or_else(|number| if total > 0 { total as isize } else { number })
}

/// What is there already.
///
/// # Safety
/// The program may write to `to`, as far as it asks for.
unsafe fn take(end: &Channel, to: usize, length: usize, how: Manner) -> usize {
    let origin = dispatch::origin(match how.of_socket {
        true => Builtin::recv,
        false => Builtin::read,
    });
    let got = end.arrivals.each(length, |from, piece, before| {
        // SAFETY: a piece of what arrived; of the target, what the caller promises.
        unsafe {
            if accesses::others_see() && !is_persistent(to) {
                accesses::hand_over(to + before, from, piece, origin);
            } else {
                accesses::copy((to + before) as *mut u8, from, piece, 0, origin);
            }
        };
    });
    if got > 0 && !how.peek {
        let was_full = room(end) == 0;
        end.arrivals.drop_first(got);
        if let Some(writer) = end.other_end()
            && (was_full || writer.lacked_room.get())
        {
            writer.lacked_room.set(false);
            writer.changed();
        }
    }
    got
}

/// # Safety
/// The program may read `from`, as far as it asks for.
pub(crate) unsafe fn write(number: usize, from: usize, length: usize, how: Manner) -> isize {
    let end = channel(number);
    match end.form.get() {
        Form::Event if length != 8 => return error(EINVAL),
        Form::Signals => return error(EINVAL),
        Form::PipeInlet if length == 0 => return 0,
        Form::Event | Form::Stream | Form::PipeInlet => {}
        Form::Socket => return broken(how),
        Form::Listener | Form::Datagram => return error(ENOTCONN),
        Form::EpollSet => return error(EINVAL),
        _ => return error(EBADF),
    }
    let nonblocking = how.nonblocking || end.is_nonblocking();
    let mut total = 0;
    let what: &[u8] = if how.of_socket { b"send" } else { b"write" };
    let ended = waits::until(number, nonblocking, what, || {
        // SAFETY: what the caller promises.
        unsafe {
            if end.form.get() == Form::Event {
                return events::add(number, (from as *const u64).read_unaligned());
            }
            loop {
                if is_broken(end) {
                    return Some(match total {
                        0 => BROKEN,
                        total => total as isize,
                    });
                }
                if total == length {
                    return Some(total as isize);
                }
                let put = put(end, from + total, length - total);
                total += put;
                if put == 0 {
                    end.lacked_room.set(true);
                    return None;
                }
            }
        }
    });
    match ended {
        Ok(BROKEN) => broken(how),
        Ok(written) => written,
        Err(_) if total > 0 => total as isize,
        Err(number) => number,
    }
}

/// No error number: it is told apart from all of them.
const BROKEN: isize = isize::MIN;

fn broken(how: Manner) -> isize {
    if !how.silent {
        // SAFETY: the context is the kernel's record of the program at this call.
        unsafe { signals::raise(SIGPIPE, dispatch::context()) };
    }
    error(EPIPE)
}

/// As much as there is room for.
///
/// # Safety
/// The program may read `from`, as far as it asks for.
unsafe fn put(end: &Channel, from: usize, length: usize) -> usize {
    let Some(reader) = end.other_end() else {
        return 0;
    };
    let room = match reader.of_client.get() {
        // It reads at once what comes.
        true => {
            client::is_not_flooded(reader);
            usize::MAX
        }
        false => room(reader),
    };
    if room == 0 || end.form.get() == Form::PipeInlet && length <= PIPE_AT_ONCE && room < length {
        return 0;
    }
    let piece = length.min(room).min(PIECE);
    let held = Scratch::new(piece);
    // SAFETY: what the caller promises; a fault while copying leaves the channel as it was.
    unsafe {
        bytes::copy(held.start(), from as *const u8, piece);
        reader.arrivals.push(held.start(), piece);
    }
    drop(held);
    reader.changed();
    if reader.of_client.get() {
        client::hears();
    }
    piece
}

/// Both ends of a pipe; an error number.
pub(crate) fn pipe(flags: i32) -> Result<[i32; 2], isize> {
    let kept = flags & O_NONBLOCK;
    let outlet = new(Form::PipeOutlet, O_RDONLY | kept).ok_or(error(ENFILE))?;
    let inlet = new(Form::PipeInlet, O_WRONLY | kept).ok_or(error(ENFILE))?;
    both(outlet, inlet, flags & O_CLOEXEC != 0)
}

/// Two sockets that are connected to each other.
pub(crate) fn pair(flags: i32) -> Result<[i32; 2], isize> {
    let kept = O_RDWR | flags & SOCK_NONBLOCK;
    let one = new(Form::Stream, kept).ok_or(error(ENFILE))?;
    let other = new(Form::Stream, kept).ok_or(error(ENFILE))?;
    for end in [one, other] {
        channel(end).family.set(AF_UNIX as u16);
    }
    both(one, other, flags & SOCK_CLOEXEC != 0)
}

fn both(one: usize, other: usize, close_on_exec: bool) -> Result<[i32; 2], isize> {
    connect(one, other);
    let first = open(one, close_on_exec);
    if first < 0 {
        // The other end has no descriptor either.
        hold(other as u16);
        let_go(other as u16);
        return Err(first);
    }
    let second = open(other, close_on_exec);
    if second < 0 {
        descriptors::close(first as usize);
        return Err(second);
    }
    Ok([first as i32, second as i32])
}

pub(crate) fn shutdown(number: usize, how: i32) -> isize {
    let end = channel(number);
    if end.form.get() != Form::Stream {
        return error(ENOTCONN);
    }
    if !(SHUT_RD..=SHUT_RDWR).contains(&how) {
        return error(EINVAL);
    }
    if how != SHUT_WR {
        end.shut_read.set(true);
    }
    if how != SHUT_RD {
        end.shut_write.set(true);
    }
    end.changed();
    if let Some(peer) = end.other_end() {
        peer.changed();
        if peer.of_client.get() {
            client::hears();
        }
    }
    0
}
