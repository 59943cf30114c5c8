//! Vector accesses under a mask, gathers and scatters: one access for each lane that takes part.
//!
//! They come from AVX intrinsics and, in the "as compiled" mode, from the vectoriser. A loop over the lanes lives in a
//! function added to the module, so that a masked access costs one call.

use crate::accesses::Flags;
use crate::ir::{Block, Type, Value, llvm};
use crate::weaver::{SlotUse, Weaver};
use llvm_sys::core::{
    LLVMAddFunction, LLVMAppendBasicBlockInContext, LLVMFunctionType, LLVMGetNamedFunction,
    LLVMGetParam, LLVMSetLinkage,
};
use llvm_sys::{LLVMIntPredicate, LLVMLinkage, LLVMOpcode};
use std::ffi::CStr;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Direction {
    Load,
    Store,
}

/// Where the lanes lie in memory.
enum MaskLayout {
    /// Side by side from this address.
    Adjacent(Value),
    /// The lanes that take part side by side, without gaps for the others.
    Packed(Value),
    /// One address each, as a vector of pointers.
    Scattered(Value),
}

struct MaskedAccess {
    direction: Direction,
    layout: MaskLayout,
    /// The vector stored, or what a load leaves in the lanes that do not take part.
    data: Value,
    /// A vector of `i1`, or of integers or floats whose sign bit counts.
    mask: Value,
    flags: Flags,
}

/// Whether this was a masked access; then it has been dealt with.
pub(crate) fn weave(weaver: &mut Weaver<'_>, call: Value, name: &str) -> bool {
    let Some(access) = recognise(weaver, call, name) else {
        return false;
    };
    let pointer = match access.layout {
        MaskLayout::Adjacent(pointer) | MaskLayout::Packed(pointer) => Some(pointer),
        MaskLayout::Scattered(_) => None,
    };
    if pointer.is_some_and(|pointer| weaver.escapes.is_volatile_memory(pointer)) {
        return true;
    }
    rewrite(weaver, call, &access);
    true
}

fn recognise(weaver: &mut Weaver<'_>, call: Value, name: &str) -> Option<MaskedAccess> {
    use Direction::{Load, Store};
    let argument = |index| call.operand(index);
    let plain = |direction, layout, data, mask| {
        Some(MaskedAccess {
            direction,
            layout,
            data,
            mask,
            flags: Flags::PLAIN,
        })
    };
    let generic = name.strip_prefix("llvm.masked.");
    if let Some(rest) = generic {
        return match rest.split('.').next()? {
            "load" => plain(
                Load,
                MaskLayout::Adjacent(argument(0)),
                argument(3),
                argument(2),
            ),
            "store" => plain(
                Store,
                MaskLayout::Adjacent(argument(1)),
                argument(0),
                argument(3),
            ),
            "gather" => plain(
                Load,
                MaskLayout::Scattered(argument(0)),
                argument(3),
                argument(2),
            ),
            "scatter" => plain(
                Store,
                MaskLayout::Scattered(argument(1)),
                argument(0),
                argument(3),
            ),
            "expandload" => plain(
                Load,
                MaskLayout::Packed(argument(0)),
                argument(2),
                argument(1),
            ),
            "compressstore" => plain(
                Store,
                MaskLayout::Packed(argument(1)),
                argument(0),
                argument(2),
            ),
            _ => None,
        };
    }
    let x86 = name.strip_prefix("llvm.x86.")?;
    if x86 == "sse2.maskmov.dqu" {
        let (data, mask, pointer) = (argument(0), argument(1), argument(2));
        return Some(MaskedAccess {
            direction: Store,
            layout: MaskLayout::Adjacent(pointer),
            data,
            mask,
            flags: Flags::NONTEMPORAL,
        });
    }
    if x86 == "mmx.maskmovq" {
        weaver.emit.before(call, call);
        let bytes = weaver.emit.vector(weaver.emit.int(8), 8);
        let [data, mask] = [0, 1].map(|index| {
            weaver
                .emit
                .cast(LLVMOpcode::LLVMBitCast, argument(index), bytes)
        });
        return Some(MaskedAccess {
            direction: Store,
            layout: MaskLayout::Adjacent(argument(2)),
            data,
            mask,
            flags: Flags::NONTEMPORAL,
        });
    }
    if x86.starts_with("avx.maskload.") || x86.starts_with("avx2.maskload.") {
        return plain(
            Load,
            MaskLayout::Adjacent(argument(0)),
            call.ty().zero(),
            argument(1),
        );
    }
    if x86.starts_with("avx.maskstore.") || x86.starts_with("avx2.maskstore.") {
        return plain(
            Store,
            MaskLayout::Adjacent(argument(0)),
            argument(2),
            argument(1),
        );
    }
    if x86.starts_with("avx2.gather.") {
        let addresses = addresses(
            weaver,
            call,
            argument(1),
            argument(2),
            argument(4),
            call.ty().lanes(),
        );
        return plain(
            Load,
            MaskLayout::Scattered(addresses),
            argument(0),
            argument(3),
        );
    }
    // Masks of these are vectors of i1 or, with fewer than eight lanes, the low bits of an integer: only the former here.
    if x86.starts_with("avx512.mask.gather") && argument(3).ty().is_vector() {
        let lanes = call.ty().lanes().min(argument(2).ty().lanes());
        if call.ty().lanes() != lanes {
            return None;
        }
        let addresses = addresses(weaver, call, argument(1), argument(2), argument(4), lanes);
        return plain(
            Load,
            MaskLayout::Scattered(addresses),
            argument(0),
            argument(3),
        );
    }
    if x86.starts_with("avx512.mask.scatter") && argument(1).ty().is_vector() {
        let lanes = argument(3).ty().lanes().min(argument(2).ty().lanes());
        let addresses = addresses(weaver, call, argument(0), argument(2), argument(4), lanes);
        weaver.emit.before(call, call);
        let data = weaver.emit.leading_lanes(argument(3), lanes);
        return plain(Store, MaskLayout::Scattered(addresses), data, argument(1));
    }
    None
}

/// `base + index * scale` for each lane.
fn addresses(
    weaver: &Weaver<'_>,
    call: Value,
    base: Value,
    index: Value,
    scale: Value,
    lanes: u32,
) -> Value {
    let emit = &weaver.emit;
    emit.before(call, call);
    let wide = emit.vector(emit.int(64), lanes);
    let index = emit.cast(LLVMOpcode::LLVMSExt, emit.leading_lanes(index, lanes), wide);
    let scale = emit.splat(emit.resize(scale, emit.int(64)), lanes);
    let distance = emit.binary(LLVMOpcode::LLVMMul, index, scale);
    emit.offset(emit.int(8), base, distance)
}

fn rewrite(weaver: &mut Weaver<'_>, call: Value, access: &MaskedAccess) {
    let site = weaver.sites.of(call);
    let ty = access.data.ty();
    let lanes = ty.lanes();
    let element = ty.element();
    let packed = matches!(access.layout, MaskLayout::Packed(_));
    let function = lane_loop(weaver, access.direction, packed);

    let (byte, pointer) = (weaver.emit.int(8), weaver.emit.pointer());
    let data_slot = weaver.slot(ty, SlotUse::Data, call);
    let mask_slot = weaver.slot(weaver.emit.vector(byte, lanes), SlotUse::Mask, call);
    let address_slot = weaver.slot(weaver.emit.vector(pointer, lanes), SlotUse::Addresses, call);
    let emit = &weaver.emit;
    emit.before(call, call);
    emit.store(access.data, data_slot);
    emit.store(mask_bytes(weaver, access.mask, lanes), mask_slot);
    let addresses = match access.layout {
        MaskLayout::Scattered(addresses) => addresses,
        MaskLayout::Adjacent(start) | MaskLayout::Packed(start) => {
            emit.offset(element, start, emit.lane_numbers(lanes))
        }
    };
    emit.store(addresses, address_slot);
    let (count, bytes) = (emit.u64(lanes.into()), emit.u64(emit.stored_bytes(element)));
    emit.call(
        Value(function.0),
        function.1,
        &[
            address_slot,
            data_slot,
            mask_slot,
            count,
            bytes,
            access.flags.word(emit),
            site,
        ],
    );
    if access.direction == Direction::Load {
        call.replace_uses_with(emit.load(ty, data_slot));
    }
    call.erase();
}

/// One byte per lane, zero for the lanes that do not take part.
fn mask_bytes(weaver: &Weaver<'_>, mask: Value, lanes: u32) -> Value {
    let emit = &weaver.emit;
    let mask = emit.leading_lanes(mask, lanes);
    let bits = emit.bits(mask.ty().element()) as u32;
    let bytes = emit.vector(emit.int(8), lanes);
    if bits == 1 {
        return emit.cast(LLVMOpcode::LLVMZExt, mask, bytes);
    }
    let words = emit.vector(emit.int(bits), lanes);
    let words = emit.cast(LLVMOpcode::LLVMBitCast, mask, words);
    let negative = emit.compare(LLVMIntPredicate::LLVMIntSLT, words, words.ty().zero());
    emit.cast(LLVMOpcode::LLVMZExt, negative, bytes)
}

/// `(addresses, data, mask, lanes, bytes, flags, site)`: the loop over the lanes, built once per module.
///
/// Lane by lane it tests the window like any plain access. In the packed form only lanes that take part use up an address.
fn lane_loop(
    weaver: &mut Weaver<'_>,
    direction: Direction,
    packed: bool,
) -> (llvm_sys::prelude::LLVMValueRef, Type) {
    let name: &CStr = match (direction, packed) {
        (Direction::Load, false) => c"landfall.load_lanes",
        (Direction::Load, true) => c"landfall.load_packed",
        (Direction::Store, false) => c"landfall.store_lanes",
        (Direction::Store, true) => c"landfall.store_packed",
    };
    let (pointer, number, flags) = (
        weaver.emit.pointer(),
        weaver.emit.int(64),
        weaver.emit.int(32),
    );
    let mut parameters = [
        pointer.0, pointer.0, pointer.0, number.0, number.0, flags.0, pointer.0,
    ];
    let ty = Type(llvm!(LLVMFunctionType(
        weaver.emit.void().0,
        parameters.as_mut_ptr(),
        7,
        0
    )));
    let known = llvm!(LLVMGetNamedFunction(weaver.emit.module, name.as_ptr()));
    if !known.is_null() {
        return (known, ty);
    }
    let function = llvm!(LLVMAddFunction(weaver.emit.module, name.as_ptr(), ty.0));
    llvm!(LLVMSetLinkage(function, LLVMLinkage::LLVMInternalLinkage));
    let parameter = |index| Value(llvm!(LLVMGetParam(function, index)));
    let [addresses, data, mask, lanes, bytes, flags, site] =
        std::array::from_fn(|index| parameter(index as u32));
    let context = weaver.emit.context;
    let block = |label: &CStr| {
        Block(llvm!(LLVMAppendBasicBlockInContext(
            context,
            function,
            label.as_ptr()
        )))
    };
    let [entry, head, body, access, persistent, native, next, done] = [
        c"entry",
        c"head",
        c"body",
        c"access",
        c"persistent",
        c"native",
        c"next",
        c"done",
    ]
    .map(block);

    let emit = &mut *weaver.emit;
    let (byte, one, zero) = (emit.int(8), emit.u64(1), emit.u64(0));
    emit.at_end_of(entry);
    emit.branch(head);

    emit.at_end_of(head);
    let lane = emit.phi(number);
    let used = emit.phi(number);
    emit.branch_if(
        emit.compare(LLVMIntPredicate::LLVMIntULT, lane, lanes),
        body,
        done,
    );

    emit.at_end_of(body);
    let chosen = emit.load(byte, emit.offset(byte, mask, lane));
    emit.branch_if(
        emit.compare(LLVMIntPredicate::LLVMIntNE, chosen, byte.zero()),
        access,
        next,
    );

    emit.at_end_of(access);
    let place = emit.load(
        pointer,
        emit.offset(pointer, addresses, if packed { used } else { lane }),
    );
    let lane_data = emit.offset(byte, data, emit.binary(LLVMOpcode::LLVMMul, lane, bytes));
    let used_up = emit.binary(LLVMOpcode::LLVMAdd, used, one);
    emit.branch_if(emit.in_window(place), persistent, native);

    emit.at_end_of(persistent);
    let void = emit.void();
    match direction {
        Direction::Load => emit.hook("__lf_load_n", void, &[lane_data, place, bytes, flags, site]),
        Direction::Store => emit.hook(
            "__lf_store_n",
            void,
            &[place, lane_data, bytes, flags, site],
        ),
    };
    emit.branch(next);

    emit.at_end_of(native);
    match direction {
        Direction::Load => emit.memcpy(lane_data, place, bytes),
        Direction::Store => emit.memcpy(place, lane_data, bytes),
    }
    emit.branch(next);

    emit.at_end_of(next);
    let used_now = emit.phi(number);
    emit.incoming(
        used_now,
        &[(used, body), (used_up, persistent), (used_up, native)],
    );
    let following = emit.binary(LLVMOpcode::LLVMAdd, lane, one);
    emit.branch(head);
    emit.incoming(lane, &[(zero, entry), (following, next)]);
    emit.incoming(used, &[(zero, entry), (used_now, next)]);

    emit.at_end_of(done);
    emit.ret();
    (function, ty)
}
