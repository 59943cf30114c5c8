//! Memory intrinsics: what clang makes of structure copies, initialisers and the memcpy family.

use crate::accesses::is_ordinary;
use crate::ir::Value;
use crate::weaver::Weaver;

/// Whether this is one of the memory intrinsics; then it has been dealt with.
pub(crate) fn weave(weaver: &mut Weaver<'_>, call: Value, name: &str) -> bool {
    // Longer names first: the inline forms are the same operation.
    let hook = match name.strip_prefix("llvm.") {
        Some(rest)
            if rest.starts_with("memcpy.element")
                || rest.starts_with("memmove.element")
                || rest.starts_with("memset.element") =>
        {
            weaver.warnings.at(
                call,
                "this element-wise atomic copy is not seen by Landfall",
            );
            return true;
        }
        Some(rest) if rest.starts_with("memcpy.") => "__lf_memcpy",
        Some(rest) if rest.starts_with("memmove.") => "__lf_memmove",
        Some(rest) if rest.starts_with("memset.") => "__lf_memset",
        _ => return false,
    };
    let (to, from, bytes) = (call.operand(0), call.operand(1), call.operand(2));
    let copies = from.ty().is_pointer();
    if !is_ordinary(to) || (copies && !is_ordinary(from)) {
        return true;
    }
    if weaver.escapes.is_private(to) && (!copies || weaver.escapes.is_private_or_constant(from)) {
        return true;
    }
    let site = weaver.sites.of(call);
    weaver.emit.before(call, call);
    let source = if copies {
        from
    } else {
        weaver.emit.resize(from, weaver.emit.int(32))
    };
    let bytes = weaver.emit.resize(bytes, weaver.emit.int(64));
    let void = weaver.emit.void();
    weaver.emit.hook(hook, void, &[to, source, bytes, site]);
    call.erase();
    true
}
