//! Pipes, stream sockets, events and sets of what is waited for: objects of the run. The kernel has none of them, nothing leaves
//! the process, and the next run begins without any.
//!
//! A descriptor of one is a number that the kernel gives to `/dev/null`, so that numbers, `dup` and `close` are the kernel's own; what
//! is behind it is a [`Channel`]: an open file description, which several descriptors may share. Two that are connected are each
//! other's peer, and each keeps what arrives for it ([`arrivals`]).
//!
//! Whoever finds nothing ready waits ([`waits`]): the client of the run acts ([`client`]), or time passes, or another thread acts.
//! While several threads run, calls on channels are made one at a time, under a lock of ours (`syscalls::deferred`).

pub(crate) mod arrivals;
pub(crate) mod client;
pub(crate) mod events;
pub(crate) mod interests;
pub(crate) mod names;
pub(crate) mod readiness;
pub(crate) mod signal_reads;
pub(crate) mod streams;
pub(crate) mod waits;

use crate::files::descriptors::{self, Kind};
use crate::memory::own::place;
use crate::run::outcome;
use crate::state::{run, server};
use crate::syscalls::sys;
use arrivals::Arrivals;
use core::cell::Cell;
use names::SocketName;

/// Channels of one run, and members of its epoll sets.
const MOST: usize = 8192;
const MOST_INTERESTS: usize = 1 << 16;
pub(crate) const CHANNELS_AT: usize = place::CHANNELS;
const INTERESTS_AT: usize = CHANNELS_AT + MOST * size_of::<Channel>();
/// Where bytes on their way are kept.
const CHUNKS_AT: usize = place::CHANNELS + (64 << 20);
const _: () =
    assert!(INTERESTS_AT + MOST_INTERESTS * size_of::<interests::Interest>() <= CHUNKS_AT);

/// What a channel is.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Form {
    Free = 0,
    PipeOutlet,
    PipeInlet,
    /// A socket that is not connected and does not listen.
    Socket,
    Listener,
    /// One end of a connection.
    Stream,
    Event,
    EpollSet,
    /// A datagram socket: it can be made, named and connected, and carries nothing.
    Datagram,
    /// `signalfd`: its count is the signals that are read from it, a bit each.
    Signals,
}

/// An open file description. All zero is none.
#[repr(C)]
pub(crate) struct Channel {
    pub(crate) form: Cell<Form>,
    /// Descriptors that stand for it, and the client's hand if it is the client's.
    pub(crate) holders: Cell<u32>,
    /// As `F_GETFL` says: O_NONBLOCK and the access mode.
    pub(crate) flags: Cell<i32>,
    /// The other end plus one; zero when there is none, or none any more.
    pub(crate) peer: Cell<u16>,
    pub(crate) of_client: Cell<bool>,
    /// Somebody found no room to write.
    pub(crate) lacked_room: Cell<bool>,
    /// This end reads no more, writes no more; the other end is gone.
    pub(crate) shut_read: Cell<bool>,
    pub(crate) shut_write: Cell<bool>,
    pub(crate) left_alone: Cell<bool>,
    /// The other end left something unread when it went: told once.
    pub(crate) reset: Cell<bool>,
    /// Threads that wait for something to happen to it, and whether that has happened without their having heard of it.
    pub(crate) waiting: Cell<u32>,
    pub(crate) happened: Cell<bool>,
    /// Counts what happens to it: who watches for changes compares.
    pub(crate) changes: Cell<u64>,
    pub(crate) arrivals: Arrivals,
    /// Of a listener: the oldest connection that nobody has accepted, plus one. Of such a connection: the next.
    pub(crate) pending: Cell<u16>,
    pub(crate) pending_count: Cell<u32>,
    pub(crate) backlog: Cell<u32>,
    /// Of an event; of a pipe whose reader is gone, what that left unread.
    pub(crate) count: Cell<u64>,
    pub(crate) by_ones: Cell<bool>,
    /// Of an epoll set: its first member, plus one.
    pub(crate) interests: Cell<u32>,
    pub(crate) family: Cell<u16>,
    pub(crate) name: Cell<SocketName>,
    pub(crate) peer_name: Cell<SocketName>,
}

/// How much of the tables is this run's.
#[repr(C)]
pub(crate) struct ChannelTables {
    channels: Cell<usize>,
    free_channel: Cell<u16>,
    interests: Cell<usize>,
    free_interest: Cell<u32>,
    chunks: Cell<u32>,
    free_chunk: Cell<u32>,
    ports: Cell<u16>,
    pub(crate) listeners: Cell<u32>,
    /// Threads that wait for a change: of any channel, and all; and whether there was one that they have not heard of.
    pub(crate) waiting_for_any: Cell<u32>,
    pub(crate) waiting: Cell<u32>,
    pub(crate) changed: Cell<bool>,
    pub(crate) client: client::Client,
}

impl ChannelTables {
    pub(crate) fn is_empty(&self) -> bool {
        self.channels.get() == 0 && self.interests.get() == 0
    }
}

pub(crate) fn used() -> &'static ChannelTables {
    &run().channels
}

fn prepare() {
    if !server().channels_mapped.get() {
        if sys::map(place::CHANNELS, place::CHANNELS_LEN).is_none() {
            outcome::internal(b"no memory for the runtime", 0)
        }
        server().channels_mapped.set(true);
    }
}

/// As many numbers were given out.
pub(crate) fn count() -> usize {
    used().channels.get()
}

/// A channel by its number.
pub(crate) fn channel(number: usize) -> &'static Channel {
    let at = CHANNELS_AT + number.min(MOST - 1) * size_of::<Channel>();
    // SAFETY: numbers are of channels that were made, so the table is mapped; it is all cells, and any bytes that it holds were written
    // as a channel, or are zero.
    unsafe { &*(at as *const Channel) }
}

impl Channel {
    /// What nobody has used. A field that is added does not compile before it is named here.
    fn begin(&self, form: Form, flags: i32) {
        let Channel {
            form: its_form,
            holders,
            flags: its_flags,
            peer,
            of_client,
            lacked_room,
            shut_read,
            shut_write,
            left_alone,
            reset,
            waiting,
            happened,
            changes,
            arrivals,
            pending,
            pending_count,
            backlog,
            count,
            by_ones,
            interests,
            family,
            name,
            peer_name,
        } = self;
        its_form.set(form);
        holders.set(0);
        its_flags.set(flags);
        peer.set(0);
        for flag in [
            of_client,
            lacked_room,
            shut_read,
            shut_write,
            left_alone,
            reset,
            happened,
            by_ones,
        ] {
            flag.set(false);
        }
        waiting.set(0);
        changes.set(1);
        arrivals.begin();
        pending.set(0);
        pending_count.set(0);
        backlog.set(0);
        count.set(0);
        interests.set(0);
        family.set(0);
        name.set(SocketName::NONE);
        peer_name.set(SocketName::NONE);
    }

    pub(crate) fn other_end(&self) -> Option<&'static Channel> {
        match self.peer.get() {
            0 => None,
            peer => Some(channel(peer as usize - 1)),
        }
    }

    /// Something happened to it that others may wait for.
    pub(crate) fn changed(&self) {
        self.changes.set(self.changes.get() + 1);
        waits::something_changed(self);
    }

    /// Where it lies: what threads that wait for it wait at.
    pub(crate) fn place(&self) -> usize {
        &raw const *self as usize
    }

    pub(crate) fn is_nonblocking(&self) -> bool {
        self.flags.get() & libc::O_NONBLOCK != 0
    }
}

/// A channel that nobody holds yet; `None` if there are too many.
pub(crate) fn new(form: Form, flags: i32) -> Option<usize> {
    prepare();
    let used = used();
    let number = match used.free_channel.get() {
        0 if used.channels.get() == MOST => return None,
        0 => {
            let next = used.channels.get();
            used.channels.set(next + 1);
            next
        }
        free => {
            used.free_channel
                .set(channel(free as usize - 1).pending.get());
            free as usize - 1
        }
    };
    channel(number).begin(form, flags);
    Some(number)
}

/// A descriptor for it: the lowest number that is free.
pub(crate) fn open(number: usize, close_on_exec: bool) -> isize {
    let fd = descriptor(close_on_exec);
    if fd < 0 {
        release_unheld(number);
        return fd;
    }
    descriptors::set(fd as usize, Kind::Channel(number as u16));
    fd
}

/// A descriptor that stands for nothing yet.
fn descriptor(close_on_exec: bool) -> isize {
    let flags = libc::O_RDWR | if close_on_exec { libc::O_CLOEXEC } else { 0 };
    sys::call(
        libc::SYS_open,
        [c"/dev/null".as_ptr() as usize, flags as usize],
    )
}

/// One descriptor more stands for it.
pub(crate) fn hold(number: u16) {
    let held = channel(number.into());
    held.holders.set(held.holders.get() + 1);
}

/// One less. The last one who lets go of an end leaves the other one alone.
pub(crate) fn let_go(number: u16) {
    let held = channel(number.into());
    held.holders.set(held.holders.get().saturating_sub(1));
    if held.holders.get() == 0 {
        release_unheld(number.into());
    }
}

fn release_unheld(number: usize) {
    let gone = channel(number);
    match gone.form.get() {
        Form::Free => return,
        Form::Listener => names::forget_listener(number),
        Form::EpollSet => interests::forget_set(number),
        _ => {}
    }
    interests::forget_channel(number);
    let peer = gone.other_end();
    if let Some(peer) = peer {
        // What is in a pipe stays there though nobody can read it.
        peer.count.set(gone.arrivals.length() as u64);
        peer.reset
            .set(gone.form.get() == Form::Stream && gone.arrivals.length() > 0);
    }
    gone.arrivals.empty();
    gone.form.set(Form::Free);
    gone.peer.set(0);
    gone.pending.set(used().free_channel.get());
    used().free_channel.set(number as u16 + 1);
    if let Some(peer) = peer {
        peer.peer.set(0);
        peer.left_alone.set(true);
        peer.changed();
        if peer.of_client.get() {
            client::hears();
        }
    }
}

/// The channel behind a descriptor.
pub(crate) fn behind(fd: usize) -> Option<usize> {
    match descriptors::kind(fd) {
        Kind::Channel(number) => Some(number.into()),
        _ => None,
    }
}

/// Two ends of one connection.
pub(crate) fn connect(one: usize, other: usize) {
    channel(one).peer.set(other as u16 + 1);
    channel(other).peer.set(one as u16 + 1);
}
