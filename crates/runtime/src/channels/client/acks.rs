//! What the world outside was told. It does not forget when the power fails, and nobody there hears of what has not happened: each is
//! a word that is durable at once, so that asking for it is reading persistent memory, and recoveries that ask depend on it as on any
//! other read.
//!
//! A word is a name's digest above, and how often it was told below. Names are looked for from where their digest points to.

use crate::memory::accesses;
use crate::memory::shadow;
use crate::run::outcome;
use crate::run::trace::Origin;
use crate::syscalls::dispatch;
use crate::threads::{channel_calls, direct};
use landfall_vocab::builtin::Builtin;
use landfall_vocab::digest;
use landfall_vocab::record::flag;
use landfall_vocab::window::{self, ACK_COUNT, ACKS};

const WORDS: u64 = ACKS.len / 8;

/// Where the word of a name is, what it holds but for the count, and that.
fn find(name: &[u8], origin: Origin) -> (u64, u64, u64) {
    let own = digest::of(name) & !ACK_COUNT;
    let first = (own >> 16) % WORDS;
    for probe in 0..WORDS {
        let at = ACKS.start + (first + probe) % WORDS * 8;
        shadow::asked();
        accesses::read_word(at, 8, flag::DURABLE, origin);
        let found = shadow::word(at);
        if found == 0 || found & !ACK_COUNT == own {
            return (at, own, found & ACK_COUNT);
        }
    }
    outcome::internal(b"too many names that were acknowledged", 0)
}

fn tell(name: &[u8], origin: Origin) {
    let (at, own, count) = find(name, origin);
    let value = own | (count + 1).min(ACK_COUNT);
    let value = (&raw const value).cast();
    let address = (window::BASE + at) as usize;
    // SAFETY: the words lie in the window, and a touched page has its content.
    unsafe {
        match accesses::others_see() {
            // A step of its own, past the store buffer: calls on channels have emptied that.
            true => direct::store(address, value, 8, flag::DURABLE, origin),
            false => accesses::store_durably(address, value, 8, origin),
        }
    }
}

/// The client was told, by the system call that is being performed.
pub(crate) fn told(name: &[u8]) {
    tell(name, dispatch::origin(Builtin::lf_ack));
}

/// How often the client was told.
pub(crate) fn count(name: &[u8]) -> u64 {
    find(name, dispatch::origin(Builtin::lf_acked)).2
}

/// The program says so itself.
pub(crate) fn told_by(name: &[u8], caller: usize) {
    let origin = Origin::library(Builtin::lf_ack, caller);
    if !accesses::others_see() {
        return tell(name, origin);
    }
    // As a call on channels: others may be telling the same.
    channel_calls::enter(caller);
    tell(name, origin);
    channel_calls::leave(caller);
}

pub(crate) fn count_by(name: &[u8], caller: usize) -> u64 {
    find(name, Origin::library(Builtin::lf_acked, caller)).2
}
