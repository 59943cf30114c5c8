//! The instructions of a column, by name.

use crate::program::{FlushKind, Instr, RmwOp};

pub(super) struct Mnemonic {
    pub(super) name: &'static str,
    /// May `LOCK` stand before it?
    pub(super) lockable: bool,
    pub(super) action: Action,
}

/// What to do with the operands that follow.
#[derive(Clone, Copy)]
pub(super) enum Action {
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
    /// The same by 1.
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

const fn plain(name: &'static str, action: Action) -> Mnemonic {
    Mnemonic {
        name,
        lockable: false,
        action,
    }
}

const fn lockable(name: &'static str, action: Action) -> Mnemonic {
    Mnemonic {
        name,
        lockable: true,
        action,
    }
}

static TABLE: [Mnemonic; 30] = [
    plain("MOV", Action::Mov),
    plain("MOVL", Action::Mov),
    plain("MOVQ", Action::Mov),
    plain("MOVB", Action::Narrow),
    plain("MOVW", Action::Narrow),
    plain("MOVNTI", Action::Movnti),
    lockable("XCHG", Action::Xchg),
    lockable("XADD", Action::Xadd),
    lockable("CMPXCHG", Action::Cmpxchg),
    lockable("INC", Action::Step(RmwOp::Add)),
    lockable("DEC", Action::Step(RmwOp::Sub)),
    lockable("ADD", Action::Arithmetic(RmwOp::Add)),
    lockable("SUB", Action::Arithmetic(RmwOp::Sub)),
    lockable("AND", Action::Arithmetic(RmwOp::And)),
    lockable("OR", Action::Arithmetic(RmwOp::Or)),
    lockable("XOR", Action::Arithmetic(RmwOp::Xor)),
    plain("CMP", Action::Cmp),
    plain("JMP", Action::Jump(When::Always)),
    plain("JE", Action::Jump(When::Equal)),
    plain("JZ", Action::Jump(When::Equal)),
    plain("JNE", Action::Jump(When::Differs)),
    plain("JNZ", Action::Jump(When::Differs)),
    plain("MFENCE", Action::Push(Instr::Mfence)),
    plain("SFENCE", Action::Push(Instr::Sfence)),
    // A load fence orders nothing that x86-TSO does not already order.
    plain("LFENCE", Action::Nothing),
    plain("CLFLUSH", Action::Flush(FlushKind::Clflush)),
    plain("CLFLUSHOPT", Action::Flush(FlushKind::Clflushopt)),
    plain("CLWB", Action::Flush(FlushKind::Clwb)),
    plain("NOP", Action::Nothing),
    plain("PAUSE", Action::Nothing),
];

pub(super) fn find(word: &str) -> Option<&'static Mnemonic> {
    TABLE.iter().find(|m| m.name.eq_ignore_ascii_case(word))
}

/// The names a message offers.
pub(super) fn known() -> impl Iterator<Item = &'static str> {
    let works = |m: &&Mnemonic| !matches!(m.action, Action::Narrow);
    TABLE.iter().filter(works).map(|m| m.name).chain(["LOCK"])
}

pub(super) fn lockable_names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().filter(|m| m.lockable).map(|m| m.name)
}
