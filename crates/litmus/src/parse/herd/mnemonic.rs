//! The instructions of a column, by name.

use crate::program::{FlushKind, Instr, RmwOp};

pub(super) struct Mnemonic {
    pub(super) name: &'static str,
    /// May `LOCK` stand before it?
    pub(super) lockable: bool,
    pub(super) action: MnemonicAction,
}

/// What to do with the operands that follow.
#[derive(Clone, Copy)]
pub(super) enum MnemonicAction {
    /// Changes and orders nothing here.
    Nothing,
    Push(Instr),
    Flush(FlushKind),
    Mov,
    Movnti,
    Xchg,
    Xadd,
    Cmpxchg,
    /// On a register or memory, with a second operand.
    Arithmetic(RmwOp),
    /// On a register or memory, by 1.
    Step(RmwOp),
    Cmp,
    Jump(When),
    /// Works on a part of a register.
    Narrow,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    Always,
    Equal,
    Differs,
}

const fn plain(name: &'static str, action: MnemonicAction) -> Mnemonic {
    Mnemonic {
        name,
        lockable: false,
        action,
    }
}

const fn lockable(name: &'static str, action: MnemonicAction) -> Mnemonic {
    Mnemonic {
        name,
        lockable: true,
        action,
    }
}

static TABLE: [Mnemonic; 30] = [
    plain("MOV", MnemonicAction::Mov),
    plain("MOVL", MnemonicAction::Mov),
    plain("MOVQ", MnemonicAction::Mov),
    plain("MOVB", MnemonicAction::Narrow),
    plain("MOVW", MnemonicAction::Narrow),
    plain("MOVNTI", MnemonicAction::Movnti),
    lockable("XCHG", MnemonicAction::Xchg),
    lockable("XADD", MnemonicAction::Xadd),
    lockable("CMPXCHG", MnemonicAction::Cmpxchg),
    lockable("INC", MnemonicAction::Step(RmwOp::Add)),
    lockable("DEC", MnemonicAction::Step(RmwOp::Sub)),
    lockable("ADD", MnemonicAction::Arithmetic(RmwOp::Add)),
    lockable("SUB", MnemonicAction::Arithmetic(RmwOp::Sub)),
    lockable("AND", MnemonicAction::Arithmetic(RmwOp::And)),
    lockable("OR", MnemonicAction::Arithmetic(RmwOp::Or)),
    lockable("XOR", MnemonicAction::Arithmetic(RmwOp::Xor)),
    plain("CMP", MnemonicAction::Cmp),
    plain("JMP", MnemonicAction::Jump(When::Always)),
    plain("JE", MnemonicAction::Jump(When::Equal)),
    plain("JZ", MnemonicAction::Jump(When::Equal)),
    plain("JNE", MnemonicAction::Jump(When::Differs)),
    plain("JNZ", MnemonicAction::Jump(When::Differs)),
    plain("MFENCE", MnemonicAction::Push(Instr::Mfence)),
    plain("SFENCE", MnemonicAction::Push(Instr::Sfence)),
    // A load fence orders nothing that x86-TSO does not already order.
    plain("LFENCE", MnemonicAction::Nothing),
    plain("CLFLUSH", MnemonicAction::Flush(FlushKind::Clflush)),
    plain("CLFLUSHOPT", MnemonicAction::Flush(FlushKind::Clflushopt)),
    plain("CLWB", MnemonicAction::Flush(FlushKind::Clwb)),
    plain("NOP", MnemonicAction::Nothing),
    plain("PAUSE", MnemonicAction::Nothing),
];

pub(super) fn find(word: &str) -> Option<&'static Mnemonic> {
    TABLE.iter().find(|m| m.name.eq_ignore_ascii_case(word))
}

/// The names a message offers.
pub(super) fn known() -> impl Iterator<Item = &'static str> {
    let works = |m: &&Mnemonic| !matches!(m.action, MnemonicAction::Narrow);
    TABLE.iter().filter(works).map(|m| m.name).chain(["LOCK"])
}

pub(super) fn lockable_names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().filter(|m| m.lockable).map(|m| m.name)
}
