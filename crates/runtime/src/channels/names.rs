//! Names of sockets: paths and ports of this run, known to nobody outside of it. Who listens, who connects, who is accepted.

use super::{Channel, Form, channel, connect as join, descriptor, let_go, new, open, used, waits};
use crate::files::descriptors::{self, Kind};
use crate::memory::bytes;
use crate::syscalls::dispatch::refuse;
use crate::syscalls::error;
use libc::*;

const MOST_NAME: usize = 110;
const PATH_AT: usize = 2;
const FIRST_PORT: u16 = 40_000;

/// An address of a socket, as the kernel has it.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct SocketName {
    length: u16,
    bytes: [u8; MOST_NAME],
}

impl SocketName {
    pub(crate) const NONE: SocketName = SocketName {
        length: 0,
        bytes: [0; MOST_NAME],
    };

    /// # Safety
    /// The program may read so much.
    unsafe fn read(from: usize, length: usize) -> Option<SocketName> {
        let mut name = SocketName::NONE;
        if !(2..=MOST_NAME).contains(&length) {
            return None;
        }
        // SAFETY: what the caller promises.
        unsafe { bytes::copy((&raw mut name.bytes).cast(), from as *const u8, length) };
        name.length = length as u16;
        Some(name)
    }

    pub(crate) fn family(&self) -> i32 {
        match self.length {
            0 => 0,
            _ => i32::from(u16::from_le_bytes([self.bytes[0], self.bytes[1]])),
        }
    }

    pub(crate) fn port(&self) -> u16 {
        u16::from_be_bytes([self.bytes[2], self.bytes[3]])
    }

    fn set_port(&mut self, port: u16) {
        self.bytes[2..4].copy_from_slice(&port.to_be_bytes());
    }

    /// A path, up to its end; or a name that begins with zero.
    pub(crate) fn path(&self) -> &[u8] {
        let path = &self.bytes[PATH_AT..(self.length as usize).max(PATH_AT)];
        match path.first() {
            Some(0) | None => path,
            Some(_) => {
                let end = path.iter().position(|&byte| byte == 0);
                &path[..end.unwrap_or(path.len())]
            }
        }
    }

    pub(crate) fn unix(path: &[u8]) -> SocketName {
        let mut name = SocketName::NONE;
        let length = path.len().min(MOST_NAME - PATH_AT - 1);
        name.bytes[0] = AF_UNIX as u8;
        // SAFETY: there is room for so much.
        unsafe { bytes::copy(name.bytes.as_mut_ptr().add(PATH_AT), path.as_ptr(), length) };
        name.length = (PATH_AT + length + usize::from(length > 0)) as u16;
        name
    }

    /// Of a socket that was not named: its family, and zeros.
    pub(crate) fn unspecified(family: i32) -> SocketName {
        let mut name = SocketName::NONE;
        name.bytes[0] = family as u8;
        name.length = if family == AF_INET6 { 28 } else { 16 };
        name
    }

    pub(crate) fn loopback(family: i32, port: u16) -> SocketName {
        let mut name = SocketName::NONE;
        name.bytes[0] = family as u8;
        name.set_port(port);
        if family == AF_INET6 {
            name.bytes[23] = 1;
            name.length = 28;
        } else {
            name.bytes[4..8].copy_from_slice(&[127, 0, 0, 1]);
            name.length = 16;
        }
        name
    }

    fn is_inside(&self) -> bool {
        match self.family() {
            AF_INET => matches!(self.bytes[4..8], [127, _, _, _] | [0, 0, 0, 0]),
            AF_INET6 => {
                let zeros = self.bytes[8..23].iter().all(|&byte| byte == 0);
                zeros && self.bytes[23] <= 1
            }
            _ => true,
        }
    }

    /// An address of the old kind, written as one of the new kind.
    fn is_mapped(&self) -> bool {
        let local = matches!(self.bytes[20], 0 | 127);
        self.family() == AF_INET6
            && self.bytes[8..18].iter().all(|&byte| byte == 0)
            && self.bytes[18] & self.bytes[19] == 0xff
            && local
    }

    fn same(&self, other: &SocketName) -> bool {
        self.length != 0
            && self.family() == other.family()
            && match self.family() {
                AF_UNIX => bytes::same(self.path(), other.path()),
                _ => self.port() == other.port(),
            }
    }

    /// Hands it to the program, as far as it has room.
    ///
    /// # Safety
    /// The program may write to both, or has given null.
    pub(crate) unsafe fn give(&self, to: usize, length_at: usize) -> isize {
        if to == 0 || length_at == 0 {
            return 0;
        }
        // SAFETY: what the caller promises.
        unsafe {
            let room = (length_at as *const u32).read_unaligned() as usize;
            let length = self.length as usize;
            descriptors::give(to, self.bytes.as_ptr(), length.min(room));
            let length = length as u32;
            descriptors::give(length_at, (&raw const length).cast(), 4);
        }
        0
    }
}

/// `socket`.
pub(crate) fn make(family: i32, kind: i32) -> isize {
    if !matches!(family, AF_UNIX | AF_INET | AF_INET6) {
        return error(EAFNOSUPPORT);
    }
    let form = match kind & 0xff {
        SOCK_STREAM => Form::Socket,
        SOCK_DGRAM => Form::Datagram,
        _ => return error(ESOCKTNOSUPPORT),
    };
    let Some(number) = new(form, O_RDWR | kind & SOCK_NONBLOCK) else {
        return error(ENFILE);
    };
    channel(number).family.set(family as u16);
    open(number, kind & SOCK_CLOEXEC != 0)
}

fn is_named(it: &Channel, name: &SocketName) -> bool {
    matches!(it.form.get(), Form::Socket | Form::Listener) && it.name.get().same(name)
}

fn all() -> impl Iterator<Item = usize> {
    0..used().channels.get()
}

/// # Safety
/// The program may read so much.
pub(crate) unsafe fn bind(number: usize, at: usize, length: usize) -> isize {
    let it = channel(number);
    // SAFETY: what the caller promises.
    let Some(mut name) = (unsafe { SocketName::read(at, length) }) else {
        return error(EINVAL);
    };
    let is_taken = |name: &SocketName| all().any(|other| is_named(channel(other), name));
    if name.family() == AF_UNIX && is_taken(&name) {
        return error(EADDRINUSE);
    }
    if !matches!(it.form.get(), Form::Socket | Form::Datagram) || it.name.get().length != 0 {
        return error(EINVAL);
    }
    if name.family() != i32::from(it.family.get()) {
        return error(EAFNOSUPPORT);
    }
    if name.family() != AF_UNIX {
        if !name.is_inside() {
            return error(EADDRNOTAVAIL);
        }
        if name.port() == 0 {
            name.set_port(next_port());
        }
    }
    if it.form.get() == Form::Socket && is_taken(&name) {
        return error(EADDRINUSE);
    }
    it.name.set(name);
    0
}

fn next_port() -> u16 {
    used().ports.set(used().ports.get() + 1);
    FIRST_PORT + used().ports.get()
}

pub(crate) fn listen(number: usize, backlog: i32) -> isize {
    let it = channel(number);
    match it.form.get() {
        Form::Socket if it.name.get().length == 0 && it.family.get() == AF_UNIX as u16 => {
            return error(EINVAL);
        }
        Form::Socket => {
            if it.name.get().length == 0 {
                let name = SocketName::loopback(it.family.get().into(), next_port());
                it.name.set(name);
            }
            it.form.set(Form::Listener);
            used().listeners.set(used().listeners.get() + 1);
        }
        Form::Listener => {}
        _ => return error(EOPNOTSUPP),
    }
    it.backlog.set(backlog.clamp(1, 4096) as u32);
    it.changed();
    0
}

/// Who listens under that name.
pub(crate) fn listener(name: &SocketName) -> Option<usize> {
    all().find(|&number| {
        channel(number).form.get() == Form::Listener && channel(number).name.get().same(name)
    })
}

/// Any that listens.
pub(crate) fn any_listener() -> Option<&'static Channel> {
    all()
        .map(channel)
        .find(|it| it.form.get() == Form::Listener)
}

/// `near` is connected to whoever will accept it; false if too many wait already.
pub(crate) fn reach(near: usize, listener: usize) -> bool {
    let it = channel(listener);
    if it.pending_count.get() >= it.backlog.get() {
        return false;
    }
    let Some(far) = new(Form::Stream, O_RDWR) else {
        return false;
    };
    join(near, far);
    let family = it.name.get().family();
    let near_name = match channel(near).name.get() {
        name if name.length != 0 => name,
        _ if family == AF_UNIX => SocketName::unix(b""),
        _ => SocketName::loopback(family, next_port()),
    };
    channel(near).name.set(near_name);
    channel(near).peer_name.set(it.name.get());
    channel(near).family.set(family as u16);
    channel(far).family.set(family as u16);
    channel(far).peer_name.set(near_name);
    let own = match family {
        AF_UNIX => it.name.get(),
        family => SocketName::loopback(family, it.name.get().port()),
    };
    channel(far).name.set(own);
    let mut last = it;
    while last.pending.get() != 0 {
        last = channel(last.pending.get() as usize - 1);
    }
    last.pending.set(far as u16 + 1);
    it.pending_count.set(it.pending_count.get() + 1);
    it.changed();
    true
}

/// # Safety
/// The program may read so much.
pub(crate) unsafe fn connect(number: usize, at: usize, length: usize) -> isize {
    let it = channel(number);
    // SAFETY: what the caller promises.
    let Some(name) = (unsafe { SocketName::read(at, length) }) else {
        return error(EINVAL);
    };
    match it.form.get() {
        Form::Socket => {}
        Form::Datagram if name.family() == AF_UNSPEC => {
            it.name.set(SocketName::NONE);
            it.peer_name.set(SocketName::NONE);
            return 0;
        }
        Form::Datagram if name.is_inside() || name.is_mapped() => {
            // Whoever asks which way it would go is told so.
            let family = i32::from(it.family.get());
            let mut own = SocketName::loopback(family, next_port());
            if name.is_mapped() || family == AF_INET6 && name.family() == AF_INET {
                own.bytes[18..24].copy_from_slice(&[0xff, 0xff, 127, 0, 0, 1]);
            }
            it.name.set(own);
            it.peer_name.set(name);
            return 0;
        }
        // As where there is no network: whoever asks for a way finds none.
        Form::Datagram => return error(ENETUNREACH),
        Form::Stream => return error(EISCONN),
        _ => return error(EINVAL),
    }
    if !name.is_inside() {
        refuse(&[b"connect: the program talks to the world outside through a socket"]);
    }
    let Some(listener) = listener(&name) else {
        return match name.family() {
            AF_UNIX if !all().any(|other| is_named(channel(other), &name)) => error(ENOENT),
            _ => error(ECONNREFUSED),
        };
    };
    it.form.set(Form::Stream);
    if !reach(number, listener) {
        it.form.set(Form::Socket);
        return error(EAGAIN);
    }
    it.changed();
    0
}

/// # Safety
/// The program may write to where it wants the name, or has given null.
pub(crate) unsafe fn accept(number: usize, name: usize, length: usize, flags: i32) -> isize {
    let it = channel(number);
    if it.form.get() != Form::Listener {
        return error(EINVAL);
    }
    let found = waits::until(number, it.is_nonblocking(), b"accept", || {
        let first = it.pending.get();
        (first != 0).then(|| first as isize - 1)
    });
    let far = match found {
        Ok(far) => far as usize,
        Err(number) => return number,
    };
    let end = channel(far);
    // Without a descriptor for it, it stays where it is.
    let fd = descriptor(flags & SOCK_CLOEXEC != 0);
    if fd < 0 {
        return fd;
    }
    // SAFETY: what the caller promises.
    unsafe { end.peer_name.get().give(name, length) };
    let next = end.pending.get();
    it.pending.set(next);
    it.pending_count.set(it.pending_count.get() - 1);
    end.pending.set(0);
    end.flags.set(O_RDWR | flags & SOCK_NONBLOCK);
    waits::something_changed(it);
    descriptors::set(fd as usize, Kind::Channel(far as u16));
    fd
}

/// Nobody listens any more: who waits to be accepted is left alone.
pub(super) fn forget_listener(number: usize) {
    used().listeners.set(used().listeners.get() - 1);
    let it = channel(number);
    while it.pending.get() != 0 {
        let far = it.pending.get() - 1;
        it.pending.set(channel(far.into()).pending.get());
        channel(far.into()).pending.set(0);
        let_go(far);
    }
}
