//! Thread-specific data. libc keeps the values (in the thread descriptor, so every context has its own); the destructors are
//! remembered here, because libc would run them at the end of threads it knows nothing about.

use super::on;
use crate::libc::real::real;
use crate::state::server;

/// More keys than this have values but no destructors.
pub(crate) const MOST_KEYS: usize = 128;
/// As often as libc tries when destructors set values again.
const ROUNDS: usize = 4;

crate::weak!("pthread_key_create" => key_create, "tss_create" => key_create);

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_key_create(key: *mut u32, destructor: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let Some(create) = real().pthread_key_create() else {
            return libc::EAGAIN;
        };
        let result = create(key, destructor);
        if result == 0
            && let Some(known) = server().destructors.get(*key as usize)
        {
            known.set(destructor);
            server()
                .keys
                .set(server().keys.get().max(*key as usize + 1));
        }
        result
    }
}

/// Runs the destructors of the thread that ends.
pub(super) fn destroy() {
    let (Some(get), Some(set)) = (real().pthread_getspecific(), real().pthread_setspecific())
    else {
        return;
    };
    // SAFETY: libc's own functions, and destructors that the program gave for this.
    unsafe {
        for _ in 0..ROUNDS {
            let mut ran = false;
            for key in 0..server().keys.get() {
                let destructor = server().destructors[key].get();
                let value = if destructor == 0 { 0 } else { get(key as u32) };
                if value != 0 && on() {
                    set(key as u32, 0);
                    let destructor: unsafe extern "C" fn(usize) = core::mem::transmute(destructor);
                    destructor(value);
                    ran = true;
                }
            }
            if !ran {
                return;
            }
        }
    }
}
