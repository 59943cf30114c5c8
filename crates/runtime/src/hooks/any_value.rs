//! Values that the program does not know, and what it assumes of them: `lf_nondet` and `lf_assume`, and what programs of the
//! software verification competition (SV-COMP) call instead. Which value a call returns says the job; the
//! checker learns from the control block who asked.

use crate::caller;
use crate::run::call_stack;
use crate::run::outcome::{self, Report};
use crate::run::shared::{control, inputs};
use crate::run::trace::Origin;
use crate::state::{run, running};
use crate::threads;
use core::sync::atomic::Ordering::Relaxed;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::shared::{ANY_CALL, End, InputKind, MOST_INPUT_CALLS};

/// Any value of that kind; of a number with a fraction, the whole number it is.
pub(crate) fn any(kind: InputKind, caller: usize) -> u64 {
    if !running() {
        return 0;
    }
    // Whoever loops around it does not come back to the same state.
    threads::acted();
    let thread = threads::current();
    let calls = &run().inputs[thread];
    let call = calls.get();
    calls.set(call + 1);
    match told(thread, call) {
        Some(value) => value,
        None => {
            let origin = Origin::library(Builtin::any_value, caller).number();
            ask(thread, call, kind, origin);
            let mut rest = inputs().filter(|input| input.call == ANY_CALL);
            rest.next().map_or(0, |input| input.value)
        }
    }
}

/// What the job says of this call.
pub(crate) fn told(thread: usize, call: u32) -> Option<u64> {
    let failures = run().failures.get();
    let mut given = inputs().filter(|input| {
        (input.call, u32::from(input.failures)) == (call, failures)
            && usize::from(input.thread) == thread
    });
    given.next().map(|input| input.value)
}

/// Tells the checker, once.
pub(crate) fn ask(thread: usize, call: u32, kind: InputKind, origin: u64) {
    let what = u64::from(call) | (thread as u64) << 32;
    let what = what | u64::from(run().failures.get()) << 48 | (kind as u64) << 56;
    let control = control();
    let known = control.inputs.load(Relaxed) as usize;
    let mut asked = control.input[..known.min(MOST_INPUT_CALLS)].iter();
    if asked.any(|input| input.what.load(Relaxed) == what) {
        return;
    }
    let Some(next) = control.input.get(known) else {
        control
            .more_inputs
            .fetch_or(1 << u32::from(kind.is_wait()), Relaxed);
        return;
    };
    next.what.store(what, Relaxed);
    next.origin.store(origin, Relaxed);
    control.inputs.store(known as u32 + 1, Relaxed);
}

#[unsafe(no_mangle)]
pub extern "C" fn lf_nondet() -> u64 {
    any(InputKind::U64, caller!())
}

#[unsafe(no_mangle)]
pub extern "C" fn lf_assume(holds: i32) {
    if holds == 0 {
        outcome::assumed();
    }
}

macro_rules! values {
    ($($function:ident: $type:ident = $kind:ident as $symbol:literal),* $(,)?) => {
        crate::weak!($($symbol => $function),*);
        $(values!(one $function, $type, $kind);)*
    };
    (one $function:ident, bool, $kind:ident) => {
        values!(def $function, bool, any(InputKind::$kind, caller!()) & 1 != 0);
    };
    (one $function:ident, f32, $kind:ident) => {
        values!(def $function, f32, any(InputKind::$kind, caller!()) as i64 as f32);
    };
    (one $function:ident, f64, $kind:ident) => {
        values!(def $function, f64, any(InputKind::$kind, caller!()) as i64 as f64);
    };
    (one $function:ident, $type:ident, $kind:ident) => {
        values!(def $function, $type, any(InputKind::$kind, caller!()) as $type);
    };
    (def $function:ident, $type:ident, $value:expr) => {
        const _: () = {
            #[unsafe(export_name = concat!("__lf_weak_", stringify!($function)))]
            extern "C" fn value() -> $type {
                $value
            }
        };
    };
}

values!(
    any_bool: bool = Bool as "__VERIFIER_nondet_bool",
    any_bool_: bool = Bool as "__VERIFIER_nondet__Bool",
    any_char: i8 = I8 as "__VERIFIER_nondet_char",
    any_uchar: u8 = U8 as "__VERIFIER_nondet_uchar",
    any_unsigned_char: u8 = U8 as "__VERIFIER_nondet_unsigned_char",
    any_u8: u8 = U8 as "__VERIFIER_nondet_u8",
    any_short: i16 = I16 as "__VERIFIER_nondet_short",
    any_ushort: u16 = U16 as "__VERIFIER_nondet_ushort",
    any_u16: u16 = U16 as "__VERIFIER_nondet_u16",
    any_int: i32 = I32 as "__VERIFIER_nondet_int",
    any_uint: u32 = U32 as "__VERIFIER_nondet_uint",
    any_unsigned: u32 = U32 as "__VERIFIER_nondet_unsigned",
    any_unsigned_int: u32 = U32 as "__VERIFIER_nondet_unsigned_int",
    any_u32: u32 = U32 as "__VERIFIER_nondet_u32",
    any_long: i64 = I64 as "__VERIFIER_nondet_long",
    any_ulong: u64 = U64 as "__VERIFIER_nondet_ulong",
    any_longlong: i64 = I64 as "__VERIFIER_nondet_longlong",
    any_ulonglong: u64 = U64 as "__VERIFIER_nondet_ulonglong",
    any_u64: u64 = U64 as "__VERIFIER_nondet_u64",
    any_loff: i64 = I64 as "__VERIFIER_nondet_loff_t",
    any_size: u64 = U64 as "__VERIFIER_nondet_size_t",
    any_float: f32 = F32 as "__VERIFIER_nondet_float",
    any_double: f64 = F64 as "__VERIFIER_nondet_double",
);

crate::weak!(
    "__VERIFIER_assume" => verifier_assume,
    "__VERIFIER_error" => verifier_error, "reach_error" => verifier_error,
);

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_verifier_assume(holds: i32) {
    if holds == 0 {
        outcome::assumed();
    }
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_verifier_error() -> ! {
    reached(call_stack::frame_pointer())
}

/// The program's own `reach_error` is entered.
#[unsafe(no_mangle)]
extern "C" fn __lf_reach_error() -> ! {
    // SAFETY: instrumented code keeps frame pointers: this is the frame of `reach_error`, whose caller is meant.
    reached(unsafe { *(call_stack::frame_pointer() as *const usize) })
}

/// What the program is not to reach, reached.
fn reached(frame: usize) -> ! {
    outcome::end(
        End::Reached,
        Report {
            frame,
            ..Report::default()
        },
    )
}
