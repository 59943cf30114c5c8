//! Library functions the compiler itself puts in place of accesses: libatomic's, and the checked forms of memcpy and
//! its kind. All other library functions stay calls, for the runtime to watch.

use crate::accesses::{Flags, is_ordinary};
use crate::ir::{Value, split};
use crate::weaver::Weaver;
use llvm_sys::LLVMAtomicOrdering as Ordering;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};

/// Whether the call was one of them; then it has been dealt with.
pub(crate) fn weave(weaver: &mut Weaver<'_>, call: Value) -> bool {
    let callee = call.callee();
    if !callee.is_function() || !callee.is_declaration() || !call.is_opcode(LLVMOpcode::LLVMCall) {
        return false;
    }
    let name = callee.name();
    let arguments = call.arguments();
    match (name.as_str(), &arguments[..]) {
        ("__memcpy_chk" | "__memmove_chk" | "__memset_chk", [_, _, _, _]) => {
            checked(weaver, call, &name)
        }
        ("__atomic_load", [_, pointer, into, order]) => {
            by_address(weaver, call, *pointer, *into, *order, CallWay::Load)
        }
        ("__atomic_store", [_, pointer, from, order]) => {
            by_address(weaver, call, *pointer, *from, *order, CallWay::Store)
        }
        _ => sized(weaver, call, &name),
    }
}

/// `__memcpy_chk` and the like: the copy if it fits, else the call, which reports the overflow and ends the program.
fn checked(weaver: &mut Weaver<'_>, call: Value, name: &str) -> bool {
    let (to, from, bytes, room) = (
        call.operand(0),
        call.operand(1),
        call.operand(2),
        call.operand(3),
    );
    let site = weaver.sites.of(call);
    weaver.emit.before(call, call);
    let fits = weaver
        .emit
        .compare(LLVMIntPredicate::LLVMIntULE, bytes, room);
    let (then, otherwise) = split(call, fits);
    weaver.emit.before(then, call);
    let (hook, void) = (
        name.replace("__", "__lf_").replace("_chk", ""),
        weaver.emit.void(),
    );
    weaver.emit.hook(&hook, void, &[to, from, bytes, site]);
    call.replace_uses_with(to);
    call.move_before(otherwise);
    true
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CallWay {
    Load,
    Store,
}

/// Atomics of odd sizes pass their value through memory. In persistent memory the hook does it, elsewhere libatomic.
fn by_address(
    weaver: &mut Weaver<'_>,
    call: Value,
    pointer: Value,
    other: Value,
    order: Value,
    way: CallWay,
) -> bool {
    // A value that itself lies in persistent memory would be accessed behind the runtime's back.
    if !weaver.escapes.is_volatile_memory(other) {
        return false;
    }
    let site = weaver.sites.of(call);
    let flags = flags(order);
    weaver.emit.before(call, call);
    let persistent = weaver.emit.in_window(pointer);
    let (then, otherwise) = split(call, persistent);
    weaver.emit.before(then, call);
    let (void, flags) = (weaver.emit.void(), flags.word(weaver.emit));
    let bytes = weaver.emit.resize(call.operand(0), weaver.emit.int(64));
    match way {
        CallWay::Load => {
            weaver
                .emit
                .hook("__lf_load_n", void, &[other, pointer, bytes, flags, site])
        }
        CallWay::Store => {
            weaver
                .emit
                .hook("__lf_store_n", void, &[pointer, other, bytes, flags, site])
        }
    };
    call.move_before(otherwise);
    true
}

/// `__atomic_load_16` and the like: clang calls them where the processor, as far as it knows, has no instruction.
fn sized(weaver: &mut Weaver<'_>, call: Value, name: &str) -> bool {
    let Some((operation, bytes)) = name
        .strip_prefix("__atomic_")
        .and_then(|rest| rest.rsplit_once('_'))
    else {
        return false;
    };
    let Some(bytes) = bytes
        .parse()
        .ok()
        .filter(|bytes| [1, 2, 4, 8, 16].contains(bytes))
    else {
        return false;
    };
    let word = weaver.emit.bytes(bytes);
    let arguments = call.arguments();
    if arguments
        .first()
        .is_none_or(|pointer| !is_ordinary(*pointer))
    {
        return false;
    }
    let site = weaver.sites.of(call);
    let void = weaver.emit.void();
    weaver.emit.before(call, call);
    let is_word = |value: Value| value.ty() == word;
    match (operation, &arguments[..]) {
        ("load", [pointer, order]) if call.ty() == word => {
            let flags = flags(*order).word(weaver.emit);
            let value =
                weaver
                    .emit
                    .hook(&format!("__lf_load{bytes}"), word, &[*pointer, flags, site]);
            call.replace_uses_with(value);
        }
        ("store", [pointer, value, order]) if is_word(*value) => {
            let flags = flags(*order).word(weaver.emit);
            weaver.emit.hook(
                &format!("__lf_store{bytes}"),
                void,
                &[*pointer, *value, flags, site],
            );
        }
        ("compare_exchange", [pointer, expected, desired, order, _]) if is_word(*desired) => {
            return compare_exchange(
                weaver,
                call,
                [*pointer, *expected, *desired],
                flags(*order),
                bytes,
            );
        }
        (_, [pointer, value, order]) if is_word(*value) && call.ty() == word => {
            let Some(number) = rmw_number(operation) else {
                return false;
            };
            let (number, flags) = (weaver.emit.u32(number), flags(*order).word(weaver.emit));
            let arguments = [*pointer, *value, number, flags, site];
            let old = weaver
                .emit
                .hook(&format!("__lf_rmw{bytes}"), word, &arguments);
            call.replace_uses_with(old);
        }
        _ => return false,
    }
    call.erase();
    true
}

/// What was expected is read and, if it was not found, overwritten through a pointer: accesses like any other.
fn compare_exchange(
    weaver: &mut Weaver<'_>,
    call: Value,
    operands: [Value; 3],
    flags: Flags,
    bytes: u32,
) -> bool {
    let [pointer, place, desired] = operands;
    let site = weaver.sites.of(call);
    let word = weaver.emit.bytes(bytes);
    weaver.emit.before(call, call);
    let expected = weaver.emit.load(word, place);
    weaver.emit.as_unaligned(expected, false);
    let flags = flags.word(weaver.emit);
    let arguments = [pointer, expected, desired, flags, site];
    let old = weaver
        .emit
        .hook(&format!("__lf_cas{bytes}"), word, &arguments);
    let done = weaver
        .emit
        .compare(LLVMIntPredicate::LLVMIntEQ, old, expected);
    let result = weaver.emit.resize(done, call.ty());
    call.replace_uses_with(result);
    let (_, otherwise) = split(call, done);
    weaver.emit.before(otherwise, call);
    let update = weaver.emit.store(old, place);
    weaver.emit.as_unaligned(update, false);
    call.erase();
    weaver.load(expected);
    weaver.store(update);
    true
}

/// LLVM's numbering of read-modify-write operations.
fn rmw_number(operation: &str) -> Option<u32> {
    Some(match operation {
        "exchange" => 0,
        "fetch_add" => 1,
        "fetch_sub" => 2,
        "fetch_and" => 3,
        "fetch_nand" => 4,
        "fetch_or" => 5,
        "fetch_xor" => 6,
        _ => return None,
    })
}

/// The C library's numbers for orderings; one that is computed is taken for the strongest.
fn flags(order: Value) -> Flags {
    let ordering = match order.constant_int() {
        Some(0) => Ordering::LLVMAtomicOrderingMonotonic,
        Some(1 | 2) => Ordering::LLVMAtomicOrderingAcquire,
        Some(3) => Ordering::LLVMAtomicOrderingRelease,
        Some(4) => Ordering::LLVMAtomicOrderingAcquireRelease,
        _ => Ordering::LLVMAtomicOrderingSequentiallyConsistent,
    };
    Flags::of(ordering, false, false)
}
