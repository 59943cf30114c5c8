//! pthread locks. Where threads are under control, what a lock does is decided there (`threads`). Otherwise libc does it; if the
//! lock lies in persistent memory (libpmemobj keeps them there), what libc reads and writes becomes reads and stores of the
//! program, instead of writes nobody understands.

use crate::caller;
use crate::libc::real::real;
use crate::memory::accesses;
use crate::memory::bytes;
use crate::memory::shadow::{is_persistent, recording, touch_span, view};
use crate::run::trace::Origin;
use crate::threads::{self, constructor_locks, pthread};
use landfall_vocab::builtin::Builtin;

/// What a function expects to find.
#[derive(PartialEq)]
enum Use {
    New,
    Existing,
}

/// What it does to a lock.
enum Change {
    Taken,
    Given,
    Nothing,
}

macro_rules! locks {
    ($($name:literal => $target:ident, $weak:ident, $size:literal, $use:ident, $controlled:path, $change:ident;)*) => {
        crate::weak!($($name => $target),*);
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $weak(lock: usize, argument: usize) -> i32 {
                // SAFETY: the program calls it: its arguments are what libc's own function takes.
                unsafe {
                let Some(function) = real().$target() else { return libc::ENOSYS };
                if threads::on() {
                    let result = $controlled(lock, caller!());
                    if Use::$use == Use::Existing {
                        return result;
                    }
                }
                if is_persistent(lock) && recording() {
                    let origin = Origin::library(Builtin::pthread_lock, caller!());
                    on_content(lock, $size, Use::$use, origin, |lock| function(lock, argument))
                } else {
                    let result = function(lock, argument);
                    if result == 0 {
                        match Change::$change {
                            Change::Taken => constructor_locks::taken(lock, caller!(), $controlled),
                            Change::Given => constructor_locks::given(lock),
                            Change::Nothing => {}
                        }
                    }
                    result
                }
                }
            }
        )*
    };
}

/// libc works on the content behind the lock; what it changes there is stored.
///
/// # Safety
/// `lock` is an object of the program's of this size.
unsafe fn on_content(
    lock: usize,
    size: usize,
    usage: Use,
    origin: Origin,
    function: impl FnOnce(usize) -> i32,
) -> i32 {
    // SAFETY: what the caller promises.
    unsafe {
        if usage == Use::Existing {
            accesses::read_span(lock, size, 0, origin);
        }
        touch_span(lock, size);
        let start = view(lock as *const u8);
        let mut before = [0u64; 7];
        bytes::copy(before.as_mut_ptr() as *mut u8, start, size);
        let result = function(start as usize);
        match usage {
            // All of it is new, also the bytes that happen to be what they were.
            Use::New => accesses::library_store(lock, start, size, origin),
            Use::Existing => {
                for (i, before) in before.iter().enumerate().take(size / 8) {
                    let after = (start as *const u64).add(i).read_unaligned();
                    if let Some((from, to)) = changed(*before, after) {
                        let bytes = start.add(i * 8 + from);
                        accesses::store_span(lock + i * 8 + from, bytes, to - from, 0, origin);
                    }
                }
            }
        }
        result
    }
}

/// The bytes of a word from the first to the last that changed.
fn changed(before: u64, after: u64) -> Option<(usize, usize)> {
    let change = before ^ after;
    (change != 0).then(|| {
        let (low, high) = (change.trailing_zeros() / 8, change.leading_zeros() / 8);
        (low as usize, 8 - high as usize)
    })
}

locks! {
    "pthread_mutex_init" => pthread_mutex_init, __lf_weak_pthread_mutex_init, 40, New, pthread::made, Nothing;
    "pthread_mutex_lock" => pthread_mutex_lock, __lf_weak_pthread_mutex_lock, 40, Existing, pthread::lock, Taken;
    "pthread_mutex_trylock" => pthread_mutex_trylock, __lf_weak_pthread_mutex_trylock, 40, Existing, pthread::try_lock, Taken;
    "pthread_mutex_unlock" => pthread_mutex_unlock, __lf_weak_pthread_mutex_unlock, 40, Existing, pthread::unlock, Given;
    "pthread_mutex_destroy" => pthread_mutex_destroy, __lf_weak_pthread_mutex_destroy, 40, Existing, pthread::destroyed, Nothing;
    "pthread_rwlock_init" => pthread_rwlock_init, __lf_weak_pthread_rwlock_init, 56, New, pthread::made, Nothing;
    "pthread_rwlock_rdlock" => pthread_rwlock_rdlock, __lf_weak_pthread_rwlock_rdlock, 56, Existing, pthread::read_lock, Taken;
    "pthread_rwlock_tryrdlock" => pthread_rwlock_tryrdlock, __lf_weak_pthread_rwlock_tryrdlock, 56, Existing, pthread::try_read_lock, Taken;
    "pthread_rwlock_wrlock" => pthread_rwlock_wrlock, __lf_weak_pthread_rwlock_wrlock, 56, Existing, pthread::write_lock, Taken;
    "pthread_rwlock_trywrlock" => pthread_rwlock_trywrlock, __lf_weak_pthread_rwlock_trywrlock, 56, Existing, pthread::try_write_lock, Taken;
    "pthread_rwlock_unlock" => pthread_rwlock_unlock, __lf_weak_pthread_rwlock_unlock, 56, Existing, pthread::rw_unlock, Given;
    "pthread_rwlock_destroy" => pthread_rwlock_destroy, __lf_weak_pthread_rwlock_destroy, 56, Existing, pthread::destroyed, Nothing;
    "pthread_cond_init" => pthread_cond_init, __lf_weak_pthread_cond_init, 48, New, pthread::made, Nothing;
    "pthread_cond_signal" => pthread_cond_signal, __lf_weak_pthread_cond_signal, 48, Existing, pthread::signal, Nothing;
    "pthread_cond_broadcast" => pthread_cond_broadcast, __lf_weak_pthread_cond_broadcast, 48, Existing, pthread::broadcast, Nothing;
    "pthread_cond_destroy" => pthread_cond_destroy, __lf_weak_pthread_cond_destroy, 48, Existing, pthread::destroyed, Nothing;
}
