//! Plain and atomic loads and stores.

use crate::emit::Emit;
use crate::ir::{Type, Value, split};
use crate::weaver::{SlotUse, Weaver};
use llvm_sys::{LLVMAtomicOrdering, LLVMOpcode, LLVMTypeKind};
use std::sync::OnceLock;

/// How a value of some type reaches a hook.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// As an unsigned integer of so many bytes.
    Register(u32),
    /// Through a stack slot.
    Memory(u64),
}

impl Shape {
    /// None for types no hook can take, such as AMX tiles.
    pub(crate) fn of(emit: &Emit, ty: Type) -> Option<Self> {
        use LLVMTypeKind::*;
        let exact = |bytes: u64| emit.bits(ty) == bytes * 8;
        match ty.kind() {
            LLVMVoidTypeKind
            | LLVMFunctionTypeKind
            | LLVMLabelTypeKind
            | LLVMMetadataTypeKind
            | LLVMTokenTypeKind
            | LLVMScalableVectorTypeKind
            | LLVMX86_AMXTypeKind
            | LLVMTargetExtTypeKind => return None,
            _ => {}
        }
        let bytes = emit.stored_bytes(ty);
        let in_register = matches!(bytes, 1 | 2 | 4 | 8 | 16)
            && match ty.kind() {
                LLVMIntegerTypeKind | LLVMPointerTypeKind => true,
                LLVMHalfTypeKind | LLVMBFloatTypeKind | LLVMFloatTypeKind | LLVMDoubleTypeKind
                | LLVMFP128TypeKind | LLVMX86_MMXTypeKind => true,
                LLVMVectorTypeKind => exact(bytes) && !ty.element().is_pointer(),
                _ => false,
            };
        Some(if in_register {
            Shape::Register(bytes as u32)
        } else {
            Shape::Memory(bytes)
        })
    }
}

/// The flags word of the hooks (see the contract with the runtime).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flags(u32);

impl Flags {
    pub(crate) const PLAIN: Flags = Flags(0);
    pub(crate) const VOLATILE: Flags = Flags(1 << 3);
    pub(crate) const NONTEMPORAL: Flags = Flags(1 << 4);
    /// Of assembly, the store of the instruction whose load came before it.
    pub(crate) const SECOND_HALF: Flags = Flags(1 << 3 | 1 << 5);
    pub(crate) const SEQUENTIAL: Flags =
        Flags(LLVMAtomicOrdering::LLVMAtomicOrderingSequentiallyConsistent as u32);

    pub(crate) fn of(ordering: LLVMAtomicOrdering, volatile: bool, nontemporal: bool) -> Self {
        Self(ordering as u32 | u32::from(volatile) << 3 | u32::from(nontemporal) << 4)
    }

    /// A compare-and-exchange that finds another value is ordered like that.
    pub(crate) fn or_fails(self, ordering: LLVMAtomicOrdering) -> Self {
        Self(self.0 | (ordering as u32) << 8)
    }

    /// With `--asm-atomic`, a volatile access, or one by assembly, of so many bytes is atomic, if a processor does it at once: ordered as
    /// x86 orders it.
    pub(crate) fn of_a_word(self, bytes: u64, access: Option<LLVMOpcode>) -> Self {
        let word = matches!(bytes, 1 | 2 | 4 | 8) && self.0 & Flags::NONTEMPORAL.0 == 0;
        let ordering = match access {
            Some(LLVMOpcode::LLVMStore) => LLVMAtomicOrdering::LLVMAtomicOrderingRelease,
            _ => LLVMAtomicOrdering::LLVMAtomicOrderingAcquire,
        };
        match word && words_are_atomic() {
            true => Self(self.0 | ordering as u32),
            false => self,
        }
    }

    pub(crate) fn word(self, emit: &Emit) -> Value {
        emit.u32(self.0)
    }
}

/// Is `--asm-atomic` asked for?
fn words_are_atomic() -> bool {
    static ASKED: OnceLock<bool> = OnceLock::new();
    *ASKED.get_or_init(|| std::env::var_os("LANDFALL_ASM_ATOMIC").is_some())
}

impl Emit {
    /// A value as the integer a hook takes.
    pub(crate) fn word(&self, value: Value, bytes: u32) -> Value {
        let word = self.bytes(bytes);
        match value.ty().kind() {
            LLVMTypeKind::LLVMPointerTypeKind => self.cast(LLVMOpcode::LLVMPtrToInt, value, word),
            LLVMTypeKind::LLVMIntegerTypeKind => self.resize(value, word),
            _ => self.cast(LLVMOpcode::LLVMBitCast, value, word),
        }
    }

    /// The integer a hook returned as a value of the program's type.
    pub(crate) fn typed(&self, word: Value, ty: Type) -> Value {
        match ty.kind() {
            LLVMTypeKind::LLVMPointerTypeKind => self.cast(LLVMOpcode::LLVMIntToPtr, word, ty),
            LLVMTypeKind::LLVMIntegerTypeKind => self.resize(word, ty),
            _ => self.cast(LLVMOpcode::LLVMBitCast, word, ty),
        }
    }
}

/// Ordinary memory; the fs and gs segments hold thread data, never persistent memory.
pub(crate) fn is_ordinary(pointer: Value) -> bool {
    pointer.ty().is_pointer() && pointer.ty().address_space() == 0
}

impl Weaver<'_> {
    fn access_flags(&self, access: Value, of: Type) -> Flags {
        let flags = Flags::of(
            access.ordering(),
            access.is_volatile(),
            access.has_metadata(self.vocabulary.nontemporal) && self.has_stream(access, of),
        );
        let plain = access.ordering() == LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic;
        match plain && access.is_volatile() {
            true => flags.of_a_word(self.emit.stored_bytes(of), access.opcode()),
            false => flags,
        }
    }

    /// Whether the processor has a non-temporal store for it. Where it has none (bytes, floating-point numbers, unaligned
    /// vectors) the compiler takes an ordinary one.
    fn has_stream(&self, access: Value, of: Type) -> bool {
        let bytes = self.emit.stored_bytes(of);
        match of.kind() {
            LLVMTypeKind::LLVMIntegerTypeKind | LLVMTypeKind::LLVMPointerTypeKind => {
                matches!(bytes, 4 | 8 | 16)
            }
            LLVMTypeKind::LLVMVectorTypeKind => {
                bytes.is_multiple_of(16) && access.alignment() >= 16
            }
            _ => false,
        }
    }

    pub(crate) fn load(&mut self, load: Value) {
        let pointer = load.operand(0);
        let atomic = load.ordering() != LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic;
        if !is_ordinary(pointer) || self.escapes.is_private_or_constant(pointer) {
            return;
        }
        let Some(shape) = Shape::of(self.emit, load.ty()) else {
            return self
                .warnings
                .at(load, "a load of this type is not seen by Landfall");
        };
        if is_aggregate(load.ty()) {
            return self.load_fields(load);
        }
        let flags = self.access_flags(load, load.ty());
        let site = self.sites.of(load);
        if atomic {
            let value = self.hooked_load(load, load, pointer, load.ty(), shape, flags, site);
            load.replace_uses_with(value);
            load.erase();
            return;
        }
        self.emit.before(load, load);
        let persistent = self.emit.in_window(pointer);
        let (then, otherwise) = split(load, persistent);
        let value = self.hooked_load(then, load, pointer, load.ty(), shape, flags, site);
        let joined = then.successors()[0].first();
        // `load` is that first instruction until it moves into its own branch.
        self.emit.before(joined, load);
        if !load.is_unused() {
            let phi = self.emit.phi(load.ty());
            load.replace_uses_with(phi);
            self.emit
                .incoming(phi, &[(value, then.block()), (load, otherwise.block())]);
        }
        load.move_before(otherwise);
    }

    /// Will the optimiser keep the variable that is stored to in a register? It does so whether its accesses are atomic or not, unless
    /// they are volatile.
    fn is_dropped(&mut self, store: Value) -> bool {
        let pointer = store.operand(1);
        self.optimised_later
            && !store.is_volatile()
            && self.escapes.is_private(pointer)
            && self.escapes.fits_register(pointer)
    }

    pub(crate) fn store(&mut self, store: Value) {
        let (value, pointer) = (store.operand(0), store.operand(1));
        let atomic = store.ordering() != LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic;
        if !is_ordinary(pointer) || self.escapes.is_private(pointer) {
            // An `xchg`, wherever it goes, if it stays.
            let sequential = LLVMAtomicOrdering::LLVMAtomicOrderingSequentiallyConsistent;
            if store.ordering() == sequential && !self.is_dropped(store) {
                self.locked(store);
            }
            return;
        }
        let Some(shape) = Shape::of(self.emit, value.ty()) else {
            return self
                .warnings
                .at(store, "a store of this type is not seen by Landfall");
        };
        if is_aggregate(value.ty()) {
            return self.store_fields(store);
        }
        let flags = self.access_flags(store, value.ty());
        let site = self.sites.of(store);
        if atomic {
            self.hooked_store(store, store, pointer, value, shape, flags, site);
            return store.erase();
        }
        self.emit.before(store, store);
        let persistent = self.emit.in_window(pointer);
        let (then, otherwise) = split(store, persistent);
        self.hooked_store(then, store, pointer, value, shape, flags, site);
        store.move_before(otherwise);
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the hook's own arguments plus where and for whom it is built"
    )]
    pub(crate) fn hooked_load(
        &mut self,
        at: Value,
        origin: Value,
        pointer: Value,
        ty: Type,
        shape: Shape,
        flags: Flags,
        site: Value,
    ) -> Value {
        let flags = flags.word(self.emit);
        match shape {
            Shape::Register(bytes) => {
                self.emit.before(at, origin);
                let word = self.emit.bytes(bytes);
                let word =
                    self.emit
                        .hook(&format!("__lf_load{bytes}"), word, &[pointer, flags, site]);
                self.emit.typed(word, ty)
            }
            Shape::Memory(bytes) => {
                let slot = self.slot(ty, SlotUse::Data, origin);
                self.emit.before(at, origin);
                let (void, bytes) = (self.emit.void(), self.emit.u64(bytes));
                self.emit
                    .hook("__lf_load_n", void, &[slot, pointer, bytes, flags, site]);
                self.emit.load(ty, slot)
            }
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the hook's own arguments plus where and for whom it is built"
    )]
    pub(crate) fn hooked_store(
        &mut self,
        at: Value,
        origin: Value,
        pointer: Value,
        value: Value,
        shape: Shape,
        flags: Flags,
        site: Value,
    ) {
        let (flags, void) = (flags.word(self.emit), self.emit.void());
        match shape {
            Shape::Register(bytes) => {
                self.emit.before(at, origin);
                let word = self.emit.word(value, bytes);
                self.emit.hook(
                    &format!("__lf_store{bytes}"),
                    void,
                    &[pointer, word, flags, site],
                );
            }
            Shape::Memory(bytes) => {
                let slot = self.slot(value.ty(), SlotUse::Data, origin);
                self.emit.before(at, origin);
                self.emit.store(value, slot);
                let bytes = self.emit.u64(bytes);
                self.emit
                    .hook("__lf_store_n", void, &[pointer, slot, bytes, flags, site]);
            }
        }
    }

    /// A structure loaded as one value is loaded field by field: its padding is never read.
    fn load_fields(&mut self, load: Value) {
        let ty = load.ty();
        let mut value = ty.poison();
        let mut parts = Vec::new();
        self.emit.before(load, load);
        for index in 0..ty.fields() {
            let place = self.emit.field(ty, load.operand(0), index);
            let part = self.emit.load(ty.field(index), place);
            self.emit.as_unaligned(part, load.is_volatile());
            value = self.emit.insert(value, part, index);
            parts.push(part);
        }
        load.replace_uses_with(value);
        load.erase();
        for part in parts {
            self.load(part);
        }
    }

    /// Padding is never written either: it would carry garbage of our stack into persistent memory.
    fn store_fields(&mut self, store: Value) {
        let (value, ty) = (store.operand(0), store.operand(0).ty());
        let mut parts = Vec::new();
        self.emit.before(store, store);
        for index in 0..ty.fields() {
            let place = self.emit.field(ty, store.operand(1), index);
            let part = self.emit.store(self.emit.extract(value, index), place);
            self.emit.as_unaligned(part, store.is_volatile());
            parts.push(part);
        }
        store.erase();
        for part in parts {
            self.store(part);
        }
    }
}

fn is_aggregate(ty: Type) -> bool {
    matches!(
        ty.kind(),
        LLVMTypeKind::LLVMStructTypeKind | LLVMTypeKind::LLVMArrayTypeKind
    )
}
