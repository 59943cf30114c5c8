//! Locks and the like are made and destroyed: steps of their own, so that whoever uses one at the same time is in conflict with
//! that. One that is destroyed has a mark in it. A program may initialise it anew without a word to us, by an assignment; then
//! the mark is gone, and nothing is known against it.

use super::context::Step;
use super::steps::{effect, point};
use super::{objects, tables, threads, word};
use crate::memory::shadow::is_persistent;
use crate::run::trace;
use landfall_vocab::record::access::WRITE;
use landfall_vocab::record::{lifetime, step};

/// Where a mutex, a reader-writer lock or a condition has its mark: what a static initialiser writes there is no mark.
pub(super) const MARK_AT: usize = 16;

/// As the kind of a mutex, an ordinary one.
const MARK: u32 = 0xdead_10cc;

/// A semaphore's word for the search when it is destroyed: whoever takes from it does not wait.
pub(super) const GONE: u64 = 1 << 40;

/// Somebody holds it, or waits for it and nobody has told him to go on.
fn is_in_use(address: usize) -> bool {
    objects().find(address).is_some_and(|object| {
        // Of a condition, whoever was reached may go on; of a reader-writer lock, these are readers.
        let words = threads().thread_words.get();
        let (waiting, shared) = (object.waiting.count(words), !object.shared.is_empty(words));
        match waiting {
            0 => object.owner.get() != 0 || shared && object.round.get() == 0,
            _ => !shared || object.count.get() < waiting,
        }
    })
}

/// It is made, or made anew; `value` is what the search knows it by. What libc writes comes after this.
///
/// # Safety
/// `address` is an object of the program's.
pub(super) unsafe fn made(address: usize, value: u64, caller: usize) {
    point(Step::new(step::INIT, address, caller));
    let in_use = if is_in_use(address) {
        lifetime::IN_USE
    } else {
        0
    };
    let objects = tables().objects.get();
    // SAFETY: what the caller promises.
    unsafe { (*objects).renew(address) };
    effect(address, WRITE, value | in_use);
}

/// It is destroyed; the word at `mark` says so from now on.
///
/// # Safety
/// `address` is an object of the program's, and `mark` a word in it.
pub(super) unsafe fn destroyed(address: usize, mark: usize, value: u64, caller: usize) {
    // SAFETY: what the caller promises.
    unsafe {
        point(Step::new(step::DESTROY, address, caller));
        let objects = tables().objects.get();
        let object = (*objects).get(address);
        let mut what = value;
        if is_in_use(address) {
            what |= lifetime::IN_USE;
            trace::misuse(threads().current.get(), step::EXIT, caller, address);
        }
        let words = threads().thread_words.get();
        if !object.waiting.is_empty(words)
            || object.round.get() != 0 && !object.shared.is_empty(words)
        {
            // Whoever was told to go on does.
            what |= lifetime::KEPT;
        }
        effect(address, WRITE, what);
        if what & lifetime::KEPT == 0 {
            (*objects).renew(address);
        }
        if !is_persistent(mark) {
            *(mark as *mut u32) = MARK;
            object.mark.set(mark);
        }
    }
}

/// Was it destroyed, and not made anew?
pub(super) fn is_gone(address: usize) -> bool {
    let object = objects().find(address);
    // SAFETY: the mark is in an object that the program has destroyed.
    unsafe {
        object.is_some_and(|object| {
            object.mark.get() != 0 && *word(object.mark.get() as *mut u32) == MARK
        })
    }
}
