//! Handlers of signals, in two ways that have nothing in common. What a program may do whose thread is interrupted once, anywhere: that
//! of all programs in which the handler stands between two of its instructions ([`interrupted`]). And the program as the search sees it: the
//! signal is a process, and the thread looks for it before its instructions ([`looking`]).

use super::Outcome;
use crate::program::*;
use std::collections::BTreeSet;

/// Registers of handlers that no thread uses, and of two not the same: where those of each begin, and how many there are; whether it
/// has run; whether a signal was there.
const OWN: [u8; 2] = [7, 10];
const MOST_OWN: u8 = 3;
const RAN: [Reg; 2] = [Reg(14), Reg(13)];
const FOUND: Reg = Reg(15);

/// A handler: what a thread would do, with registers of its own. There may be two, told apart by `number`.
pub fn handler(code: &[Instr], number: usize) -> Vec<Instr> {
    let own = |reg: Reg| {
        assert!(reg.0 < MOST_OWN, "a handler is short");
        Reg(reg.0 + OWN[number])
    };
    let operand = |operand: Operand| match operand {
        Operand::Reg(reg) => Operand::Reg(own(reg)),
        constant => constant,
    };
    let renamed = code.iter().map(|instr| match *instr {
        Instr::Load { to, at, order } => Instr::Load {
            to: own(to),
            at,
            order,
        },
        Instr::Store { at, value, order } => Instr::Store {
            at,
            value: operand(value),
            order,
        },
        Instr::Rmw { to, at, op, value } => Instr::Rmw {
            to: own(to),
            at,
            op,
            value: operand(value),
        },
        Instr::Cas {
            to,
            at,
            expect,
            new,
        } => Instr::Cas {
            to: own(to),
            at,
            expect: operand(expect),
            new: operand(new),
        },
        Instr::JumpIf { a, cmp, b, to } => Instr::JumpIf {
            a: operand(a),
            cmp,
            b: operand(b),
            to: to + 1,
        },
        Instr::Calc { to, a, op, b } => Instr::Calc {
            to: own(to),
            a: operand(a),
            op,
            b: operand(b),
        },
        other => other,
    });
    let ran = Instr::Calc {
        to: RAN[number],
        a: 1.into(),
        op: Op::Second,
        b: 1.into(),
    };
    std::iter::once(ran).chain(renamed).collect()
}

/// Puts code before an instruction: who jumps there runs it, too.
fn insert(code: &mut Vec<Instr>, at: usize, part: &[Instr]) {
    let shift = |instr: &Instr, from: usize, by: usize| match *instr {
        Instr::Jump(to) if to as usize > from => Instr::Jump(to + by as u32),
        Instr::JumpIf { a, cmp, b, to } if to as usize > from => Instr::JumpIf {
            a,
            cmp,
            b,
            to: to + by as u32,
        },
        other => other,
    };
    let mut whole: Vec<Instr> = code.iter().map(|i| shift(i, at, part.len())).collect();
    // Jumps of the part stay inside of it.
    let inner = part.iter().map(|instr| match *instr {
        Instr::Jump(to) => Instr::Jump(to + at as u32),
        Instr::JumpIf { a, cmp, b, to } => Instr::JumpIf {
            a,
            cmp,
            b,
            to: to + at as u32,
        },
        other => other,
    });
    whole.splice(at..at, inner);
    *code = whole;
}

/// Is that in the middle of a read-modify-write without a lock? No signal arrives inside of an instruction.
fn is_inside(code: &[Instr], at: usize) -> bool {
    let is_update = |first: Option<usize>| {
        let part = first.and_then(|first| code.get(first..first + 3));
        let Some(
            [
                Instr::Load { to, at, .. },
                Instr::Calc { to: new, .. },
                Instr::Store {
                    at: place, value, ..
                },
            ],
        ) = part
        else {
            return false;
        };
        at == place && to == new && *value == Operand::Reg(*to)
    };
    is_update(at.checked_sub(1)) || is_update(at.checked_sub(2))
}

/// The program, and all programs in which the handler stands between two instructions of a thread, or at its ends.
pub fn interrupted(program: &Program, thread: usize, handler: &[Instr]) -> Vec<Program> {
    let mut all = vec![program.clone()];
    let code = &program.threads[thread];
    for at in (0..=code.len()).filter(|at| !is_inside(code, *at)) {
        let mut with = program.clone();
        insert(&mut with.threads[thread], at, handler);
        all.push(with);
    }
    all
}

/// The program whose thread looks for a signal before each of these instructions, and at its end; the signal arrives at any time.
pub fn looking(
    program: &Program,
    thread: usize,
    handler: &[Instr],
    looks: impl Fn(&Instr) -> bool,
) -> Program {
    let mut program = program.clone();
    let word = program.cell(0);
    let mut part = vec![
        Instr::Ask {
            op: Sync::Deliver,
            at: word,
            to: FOUND,
        },
        Instr::JumpIf {
            a: FOUND.into(),
            cmp: Cmp::Eq,
            b: 0.into(),
            to: handler.len() as u32 + 2,
        },
    ];
    let inner = handler.iter().map(|instr| match *instr {
        Instr::JumpIf { a, cmp, b, to } => Instr::JumpIf {
            a,
            cmp,
            b,
            to: to + 2,
        },
        other => other,
    });
    part.extend(inner);
    let code = &mut program.threads[thread];
    for at in (0..=code.len()).rev() {
        if !is_inside(code, at) && code.get(at).is_none_or(&looks) {
            insert(code, at, &part);
        }
    }
    program.thread(vec![Instr::Sync(Sync::Pend, word)]);
    program
}

/// Outcomes that both have: without the registers and cells that only one of them uses. A thread that waits for ever, and was not
/// interrupted by then, would be.
pub fn comparable(
    program: &Program,
    thread: usize,
    signals: usize,
    outcomes: BTreeSet<Outcome>,
) -> BTreeSet<Outcome> {
    let waits = |outcome: &Outcome| {
        let ran = |reg: &Reg| outcome.regs[thread][usize::from(reg.0)] == 1;
        outcome.stuck && !RAN[..signals].iter().all(ran)
    };
    let same = outcomes.into_iter().filter(|outcome| !waits(outcome));
    same.map(|mut outcome| {
        outcome.memory.truncate(program.cells.len());
        outcome.memory = super::plain(program, &outcome.memory);
        outcome.regs.truncate(program.threads.len());
        outcome.regs[thread][usize::from(FOUND.0)] = 0;
        outcome
    })
    .collect()
}
