//! Every random source of the program, from the seed of the check.

use crate::state::run;

pub(crate) fn reset(seed: u64) {
    run()
        .random
        .set(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
}

fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    state.wrapping_mul(0x2545_F491_4F6C_DD1D)
}

/// Fills a buffer chosen by the program.
///
/// # Safety
/// The program may write to `to`, as far as it asks for.
pub(crate) unsafe fn fill(to: *mut u8, length: usize) {
    let mut generator = run().random.get();
    let mut value = 0;
    // SAFETY: what the caller promises.
    unsafe {
        for i in 0..length {
            if i % 8 == 0 {
                value = next(&mut generator);
            }
            to.add(i).write_volatile((value >> (8 * (i % 8))) as u8);
        }
    }
    run().random.set(generator);
}

/// What `rdrand` and `rdseed` are replaced with (ABI).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __lf_random() -> u64 {
    crate::threads::acted();
    let mut value = 0u64;
    let to = &raw mut value as *mut u8;
    // SAFETY: what the caller promises.
    unsafe {
        if crate::state::running() {
            fill(to, 8);
        } else {
            crate::syscalls::sys::raw(libc::SYS_getrandom, [to as usize, 8, 0]);
        }
    }
    value
}

// `std::random_device` asks the processor, from inside a library that is not instrumented.
crate::weak!("_ZNSt13random_device9_M_getvalEv" => random_device);

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_random_device(_: usize) -> u32 {
    // SAFETY: what the caller promises.
    unsafe { __lf_random() as u32 }
}
