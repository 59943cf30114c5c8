//! System calls that make channels, name and connect them, and wait for them; and what is particular to a descriptor of one.

#![allow(non_upper_case_globals)] // libc names system calls in lower case

use crate::channels::streams::Manner;
use crate::channels::waits::{self, For, Rested};
use crate::channels::{
    self, Form, behind, channel, events, interests, names, readiness, signal_reads, streams,
};
use crate::files::descriptors::{self, Kind};
use crate::memory::accesses;
use crate::memory::shadow::{is_persistent, view};
use crate::syscalls::calls::store;
use crate::syscalls::clock;
use crate::syscalls::dispatch::{Call, origin, refuse};
use crate::syscalls::error;
use landfall_vocab::builtin::Builtin;
use libc::*;

/// Performs a call about channels; `None` when this is none.
pub(crate) fn perform(call: &Call) -> Option<isize> {
    let [a, b, _, d, ..] = call.arguments;
    // SAFETY: the program asks for it: what the kernel would do at these addresses is done.
    unsafe {
        Some(match call.number {
            SYS_pipe => hand_over(streams::pipe(0), a),
            SYS_pipe2 => hand_over(streams::pipe(b as i32), a),
            SYS_socketpair => match (a as i32, b as i32 & 0xff) {
                (AF_UNIX, SOCK_STREAM) => hand_over(streams::pair(b as i32), d),
                (AF_UNIX, _) => error(ESOCKTNOSUPPORT),
                _ => error(EOPNOTSUPP),
            },
            SYS_eventfd => events::make(a as u32 as u64, 0),
            SYS_eventfd2 => events::make(a as u32 as u64, b as i32),
            SYS_signalfd => signal_reads::make(a, b, 0),
            SYS_signalfd4 => signal_reads::make(a, b, d as i32),
            SYS_epoll_create => interests::make(0),
            SYS_epoll_create1 => interests::make(a as i32),
            SYS_socket => names::make(a as i32, b as i32),
            SYS_poll | SYS_ppoll | SYS_select | SYS_pselect6 | SYS_epoll_wait | SYS_epoll_pwait
            | SYS_epoll_pwait2 => wait(call),
            _ => return on_descriptor(call),
        })
    }
}

/// # Safety
/// The program made this call: its arguments are what the kernel would take.
unsafe fn on_descriptor(call: &Call) -> Option<isize> {
    let [a, b, c, d, e, f] = call.arguments;
    let is_about_one = matches!(
        call.number,
        SYS_epoll_ctl
            | SYS_bind
            | SYS_listen
            | SYS_accept
            | SYS_accept4
            | SYS_connect
            | SYS_shutdown
            | SYS_sendto
            | SYS_recvfrom
            | SYS_sendmsg
            | SYS_recvmsg
            | SYS_getsockname
            | SYS_getpeername
            | SYS_setsockopt
            | SYS_getsockopt
    );
    if !is_about_one {
        return None;
    }
    let Some(number) = behind(a) else {
        return Some(match descriptors::is_open(a) {
            true if call.number == SYS_epoll_ctl => error(EINVAL),
            true => error(ENOTSOCK),
            false => error(EBADF),
        });
    };
    // SAFETY: what the caller promises.
    unsafe {
        if call.number == SYS_epoll_ctl {
            return Some(interests::control(number, b as i32, c, d));
        }
        let form = channel(number).form.get();
        if matches!(
            form,
            Form::PipeInlet | Form::PipeOutlet | Form::Event | Form::EpollSet | Form::Signals
        ) {
            return Some(error(ENOTSOCK));
        }
        Some(match call.number {
            SYS_bind => names::bind(number, b, c),
            SYS_listen => names::listen(number, b as i32),
            SYS_accept => names::accept(number, b, c, 0),
            SYS_accept4 => names::accept(number, b, c, d as i32),
            SYS_connect => names::connect(number, b, c),
            SYS_shutdown => streams::shutdown(number, b as i32),
            SYS_sendto | SYS_sendmsg | SYS_recvfrom | SYS_recvmsg if form == Form::Datagram => {
                refuse(&[b"datagram sockets carry nothing here; use a stream socket"])
            }
            SYS_sendto => {
                let from = read_first(b, c);
                streams::write(number, from, c, Manner::of(d as i32))
            }
            SYS_recvfrom => {
                let got = streams::read(number, b, c, Manner::of(d as i32));
                if got >= 0 && e != 0 && f != 0 {
                    store(f, 0u32);
                }
                got
            }
            SYS_sendmsg | SYS_recvmsg => message(call, number, b),
            SYS_getsockname => named(number, |it| it.name.get()).give(b, c),
            SYS_getpeername if form != Form::Stream => error(ENOTCONN),
            SYS_getpeername => named(number, |it| it.peer_name.get()).give(b, c),
            SYS_setsockopt => 0,
            _ => option(number, b as i32, c as i32, d, e),
        })
    }
}

/// A name; of one that has none, its family.
fn named(
    number: usize,
    which: impl Fn(&channels::Channel) -> names::SocketName,
) -> names::SocketName {
    let it = channel(number);
    let name = which(it);
    match (name.family(), i32::from(it.family.get())) {
        (0, AF_UNIX) => names::SocketName::unix(b""),
        (0, family) => names::SocketName::unspecified(family),
        _ => name,
    }
}

/// # Safety
/// The program may write two numbers to `to`.
unsafe fn hand_over(ends: Result<[i32; 2], isize>, to: usize) -> isize {
    match ends {
        Ok(ends) => {
            // SAFETY: what the caller promises.
            unsafe { descriptors::give(to, (&raw const ends).cast(), 8) };
            0
        }
        Err(number) => number,
    }
}

/// What is about to be written is read, if it is persistent.
fn read_first(from: usize, length: usize) -> usize {
    if is_persistent(from) {
        let length = length.min(0x7fff_f000);
        accesses::read_span(from, length, 0, origin(Builtin::write));
    }
    view(from as *const u8) as usize
}

/// `sendmsg` and `recvmsg`: part after part, while there is anything.
///
/// # Safety
/// The program may read the message, and read or write what it is made of.
unsafe fn message(call: &Call, number: usize, at: usize) -> isize {
    let mut how = Manner::of(call.arguments[2] as i32);
    // SAFETY: what the caller promises.
    unsafe {
        let message = &mut *(view(at as *mut u8) as *mut msghdr);
        if call.number == SYS_sendmsg
            && !message.msg_control.is_null()
            && message.msg_controllen > 0
        {
            refuse(&[b"sendmsg: descriptors and the like are not sent along"]);
        }
        let mut total = 0;
        for part in 0..message.msg_iovlen {
            let part = view(message.msg_iov.add(part)).read_volatile();
            let (base, length) = (part.iov_base as usize, part.iov_len);
            if length == 0 {
                continue;
            }
            let done = match call.number {
                SYS_sendmsg => streams::write(number, read_first(base, length), length, how),
                _ => streams::read(number, base, length, how),
            };
            if done < 0 {
                return if total > 0 { total } else { done };
            }
            total += done;
            if (done as usize) < length || how.peek {
                break;
            }
            // What has come so far is enough.
            how.nonblocking |= call.number == SYS_recvmsg;
        }
        if call.number == SYS_recvmsg {
            message.msg_namelen = 0;
            message.msg_controllen = 0;
            message.msg_flags = 0;
        }
        total
    }
}

/// `getsockopt`: what is as it always is.
///
/// # Safety
/// The program may write the answer and its length.
unsafe fn option(number: usize, level: i32, name: i32, to: usize, length: usize) -> isize {
    if to == 0 || length == 0 {
        return error(EFAULT);
    }
    let form = channel(number).form.get();
    let value: [i32; 3] = match (level, name) {
        (SOL_SOCKET, SO_TYPE) if form == Form::Datagram => [SOCK_DGRAM, 0, 0],
        (SOL_SOCKET, SO_TYPE) => [SOCK_STREAM, 0, 0],
        (SOL_SOCKET, SO_ACCEPTCONN) => [(form == Form::Listener).into(), 0, 0],
        (SOL_SOCKET, SO_SNDBUF | SO_RCVBUF) => [212_992, 0, 0],
        (SOL_SOCKET, SO_DOMAIN) => [channel(number).family.get().into(), 0, 0],
        (SOL_SOCKET, SO_PEERCRED) => [999, 0, 0],
        _ => [0; 3],
    };
    // SAFETY: what the caller promises.
    unsafe {
        let whole = if (level, name) == (SOL_SOCKET, SO_PEERCRED) {
            12
        } else {
            4
        };
        let room = (length as *const u32).read_unaligned().min(whole);
        descriptors::give(to, (&raw const value).cast(), room as usize);
        store(length, room)
    }
}

/// `fcntl` of a channel: `None` for what concerns the number only.
pub(crate) fn control(number: usize, command: i32, argument: usize) -> Option<isize> {
    let it = channel(number);
    match command {
        F_GETFL => Some(it.flags.get() as isize),
        F_SETFL => {
            let kept = it.flags.get() & !O_NONBLOCK;
            it.flags.set(kept | argument as i32 & O_NONBLOCK);
            Some(0)
        }
        F_GETPIPE_SZ | F_SETPIPE_SZ => Some(64 << 10),
        F_DUPFD | F_DUPFD_CLOEXEC | F_GETFD | F_SETFD => None,
        _ => Some(error(EINVAL)),
    }
}

/// `ioctl` of a channel.
///
/// # Safety
/// The program may read and write what the request is about.
pub(crate) unsafe fn device_control(
    number: usize,
    request: usize,
    argument: usize,
) -> Option<isize> {
    const NONBLOCKING: usize = 0x5421;
    const AVAILABLE: usize = 0x541b;
    const CLOSE_ON_EXEC: [usize; 2] = [0x5450, 0x5451];
    let it = channel(number);
    // SAFETY: what the caller promises.
    unsafe {
        match request & 0xffff_ffff {
            NONBLOCKING => {
                let kept = it.flags.get() & !O_NONBLOCK;
                let wanted = (argument as *const i32).read_unaligned() != 0;
                it.flags.set(kept | if wanted { O_NONBLOCK } else { 0 });
                Some(0)
            }
            AVAILABLE => {
                let there = match it.form.get() {
                    Form::Event | Form::EpollSet | Form::Signals => return Some(error(ENOTTY)),
                    Form::Listener => return Some(error(EINVAL)),
                    Form::PipeInlet => it
                        .other_end()
                        .map_or(it.count.get() as usize, |end| end.arrivals.length()),
                    _ => it.arrivals.length(),
                };
                Some(store(argument, there as i32))
            }
            request if CLOSE_ON_EXEC.contains(&request) => None,
            _ => Some(error(ENOTTY)),
        }
    }
}

/// `poll`, `select`, `epoll_wait`: what is ready now is ready; otherwise the client acts, or time passes.
fn wait(call: &Call) -> isize {
    let [a, b, c, d, e, _] = call.arguments;
    let milliseconds = |time: usize| (time as i32 >= 0).then_some(time as u64 * 1_000_000);
    // SAFETY: the program asks for it: what the kernel would do at these addresses is done.
    unsafe {
        let timeout = match call.number {
            SYS_poll => milliseconds(c),
            SYS_ppoll => duration(c),
            SYS_epoll_wait | SYS_epoll_pwait => milliseconds(d),
            SYS_epoll_pwait2 => duration(d),
            SYS_select => (e != 0).then(|| {
                let time = *(e as *const timeval);
                (time.tv_sec.max(0) as u64)
                    .saturating_mul(clock::SECOND)
                    .saturating_add(time.tv_usec.max(0) as u64 * 1000)
            }),
            _ => duration(e),
        };
        let set = match call.number {
            SYS_epoll_wait | SYS_epoll_pwait | SYS_epoll_pwait2 => match behind(a) {
                Some(set) if channel(set).form.get() != Form::EpollSet => return error(EINVAL),
                Some(_) if (c as i32) <= 0 => return error(EINVAL),
                Some(set) => Some(set),
                None if descriptors::kind(a) == Kind::Real && descriptors::is_open(a) => {
                    refuse(&[b"epoll_wait: the set was made before main"])
                }
                None if descriptors::is_open(a) => return error(EINVAL),
                None => return error(EBADF),
            },
            _ => None,
        };
        let look = |last: bool| match (set, call.number) {
            (Some(set), _) => interests::tell(set, b, c) as isize,
            (None, SYS_poll | SYS_ppoll) => readiness::poll(a, b),
            _ => readiness::select(a, [b, c, d], last),
        };
        let until = timeout.map(waits::moment);
        loop {
            let found = look(timeout == Some(0));
            if found != 0 {
                return found;
            }
            if timeout == Some(0) {
                waits::looked_in_vain();
                return 0;
            }
            match waits::rest(set.map_or(For::Any, For::One), until, b"poll") {
                Rested::LookAgain => {}
                Rested::TimedOut => return look(true),
                Rested::Interrupted => return error(EINTR),
            }
        }
    }
}

/// # Safety
/// The program may read `time`, as far as it asks for.
unsafe fn duration(time: usize) -> Option<u64> {
    // SAFETY: what the caller promises.
    unsafe { (time != 0).then(|| clock::duration(time as *const timespec)) }
}
