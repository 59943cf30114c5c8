//! Sets of what is waited for (`epoll`): members by descriptor and channel, in the order in which they were told of least recently.

use super::{Channel, Form, INTERESTS_AT, MOST_INTERESTS, channel, new, open, readiness, used};
use crate::files::descriptors;
use crate::syscalls::error;
use core::cell::Cell;
use libc::*;

const ALWAYS: u32 = (EPOLLERR | EPOLLHUP) as u32;
const ON_CHANGE: u32 = EPOLLET as u32;
const ONCE: u32 = EPOLLONESHOT as u32;
/// Sets in sets, at most.
const DEPTH: u32 = 5;

#[repr(C)]
pub(crate) struct Interest {
    /// The next member, plus one; of one that is free, the next that is.
    next: Cell<u32>,
    fd: Cell<u32>,
    number: Cell<u16>,
    disarmed: Cell<bool>,
    events: Cell<u32>,
    data: Cell<u64>,
    /// What the channel had counted when it was told last.
    seen: Cell<u64>,
}

fn interest(number: u32) -> &'static Interest {
    let index = (number as usize - 1).min(MOST_INTERESTS - 1);
    // SAFETY: the table is mapped with that of channels; all cells, and any bytes are such a member.
    unsafe { &*((INTERESTS_AT + index * size_of::<Interest>()) as *const Interest) }
}

pub(crate) fn make(flags: i32) -> isize {
    match new(Form::EpollSet, O_RDWR) {
        Some(number) => open(number, flags & EPOLL_CLOEXEC != 0),
        None => error(ENFILE),
    }
}

fn members(set: &Channel) -> impl Iterator<Item = u32> {
    let first = set.interests.get();
    core::iter::successors((first != 0).then_some(first), |&at| {
        let next = interest(at).next.get();
        (next != 0).then_some(next)
    })
}

/// `epoll_ctl`.
///
/// # Safety
/// The program may read `event`, if the operation has one.
pub(crate) unsafe fn control(set: usize, operation: i32, fd: usize, event: usize) -> isize {
    let epoll = channel(set);
    if epoll.form.get() != Form::EpollSet {
        return error(EINVAL);
    }
    let Some(number) = super::behind(fd) else {
        return match descriptors::is_open(fd) {
            // Files are always ready: epoll has none of them.
            true => error(EPERM),
            false => error(EBADF),
        };
    };
    if number == set {
        return error(EINVAL);
    }
    let known = members(epoll).find(|&at| {
        interest(at).fd.get() as usize == fd && usize::from(interest(at).number.get()) == number
    });
    // SAFETY: what the caller promises; the structure is packed.
    let told = || unsafe {
        let events = (event as *const u32).read_unaligned();
        let data = ((event + 4) as *const u64).read_unaligned();
        (events, data)
    };
    match (operation, known) {
        (EPOLL_CTL_ADD, Some(_)) => error(EEXIST),
        (EPOLL_CTL_MOD | EPOLL_CTL_DEL, None) => error(ENOENT),
        (EPOLL_CTL_ADD, None) => {
            let (events, data) = told();
            let Some(fresh) = take_free() else {
                return error(ENOSPC);
            };
            let member = interest(fresh);
            member.next.set(0);
            member.fd.set(fd as u32);
            member.number.set(number as u16);
            arm(member, events, data);
            append(epoll, fresh);
            super::waits::something_changed(epoll);
            0
        }
        (EPOLL_CTL_MOD, Some(known)) => {
            let (events, data) = told();
            arm(interest(known), events, data);
            super::waits::something_changed(epoll);
            0
        }
        (EPOLL_CTL_DEL, Some(known)) => {
            remove(epoll, |at| at == known);
            0
        }
        _ => error(EINVAL),
    }
}

fn arm(member: &Interest, events: u32, data: u64) {
    member.events.set(events);
    member.data.set(data);
    member.seen.set(0);
    member.disarmed.set(false);
}

fn take_free() -> Option<u32> {
    let used = used();
    match used.free_interest.get() {
        0 if used.interests.get() == MOST_INTERESTS => None,
        0 => {
            used.interests.set(used.interests.get() + 1);
            Some(used.interests.get() as u32)
        }
        free => {
            used.free_interest.set(interest(free).next.get());
            Some(free)
        }
    }
}

fn append(set: &Channel, member: u32) {
    match members(set).last() {
        None => set.interests.set(member),
        Some(last) => interest(last).next.set(member),
    }
}

/// Takes members out.
fn remove(set: &Channel, is_out: impl Fn(u32) -> bool) {
    let (mut at, mut before) = (set.interests.get(), 0);
    while at != 0 {
        let next = interest(at).next.get();
        if is_out(at) {
            match before {
                0 => set.interests.set(next),
                before => interest(before).next.set(next),
            }
            interest(at).next.set(used().free_interest.get());
            used().free_interest.set(at);
        } else {
            before = at;
        }
        at = next;
    }
}

/// A set is gone, with its members.
pub(super) fn forget_set(set: usize) {
    remove(channel(set), |_| true);
}

/// A channel is gone: no set has it any more.
pub(super) fn forget_channel(number: usize) {
    for set in 0..used().channels.get() {
        if channel(set).form.get() == Form::EpollSet {
            remove(channel(set), |at| {
                usize::from(interest(at).number.get()) == number
            });
        }
    }
}

/// Something happened to a channel: whoever waits for a set that has it looks again.
pub(super) fn something_changed(it: &Channel) {
    for set in (0..used().channels.get()).map(channel) {
        let has = |at: u32| core::ptr::eq(channel(interest(at).number.get().into()), it);
        if set.form.get() == Form::EpollSet && !set.happened.get() && members(set).any(has) {
            set.happened.set(true);
            // Sets in sets.
            something_changed(set);
        }
    }
}

/// What a member is to be told of now.
fn due(member: &Interest, depth: u32) -> u32 {
    let wanted = member.events.get();
    let number = usize::from(member.number.get());
    if member.disarmed.get()
        || wanted & ON_CHANGE != 0 && member.seen.get() == channel(number).changes.get()
    {
        return 0;
    }
    readiness::of_channel(number, depth) & (wanted | ALWAYS)
}

/// Is there anything to tell?
pub(super) fn is_any_due(set: usize, depth: u32) -> bool {
    depth < DEPTH && members(channel(set)).any(|at| due(interest(at), depth + 1) != 0)
}

/// `epoll_wait`, with what is ready now: how many it told of. Those go to the end.
///
/// # Safety
/// The program may write so many events to `to`.
pub(crate) unsafe fn tell(set: usize, to: usize, most: usize) -> usize {
    const EVENT: usize = 12;
    let epoll = channel(set);
    let mut told = 0;
    for at in members(epoll).take(MOST_INTERESTS) {
        let member = interest(at);
        let ready = due(member, 1);
        if ready == 0 || told == most {
            continue;
        }
        let mut event = [0u8; EVENT];
        event[..4].copy_from_slice(&ready.to_le_bytes());
        event[4..].copy_from_slice(&member.data.get().to_le_bytes());
        // SAFETY: what the caller promises.
        unsafe { descriptors::give(to + told * EVENT, event.as_ptr(), EVENT) };
        told += 1;
    }
    let mut left = told;
    let (mut at, mut before) = (epoll.interests.get(), 0);
    let mut moved = 0;
    while left > 0 && at != 0 {
        let member = interest(at);
        let next = member.next.get();
        if due(member, 1) != 0 {
            let number = usize::from(member.number.get());
            member.seen.set(channel(number).changes.get());
            member.disarmed.set(member.events.get() & ONCE != 0);
            match before {
                0 => epoll.interests.set(next),
                before => interest(before).next.set(next),
            }
            // A list of its own for now, the last one first.
            member.next.set(moved);
            moved = at;
            left -= 1;
        } else {
            before = at;
        }
        at = next;
    }
    let mut in_order = 0;
    while moved != 0 {
        let next = interest(moved).next.get();
        interest(moved).next.set(in_order);
        in_order = moved;
        moved = next;
    }
    if in_order != 0 {
        append(epoll, in_order);
    }
    told
}
