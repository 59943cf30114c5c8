//! One thread's column: instructions, labels, and the one kind of jump that a litmus program can express.

use super::emit::{Emit, comma};
use crate::parse::ParseError;
use crate::parse::cursor::{Cursor, Spot, Token, quote};
use crate::parse::scope::{Scope, list};
use crate::program::{FlushKind, Instr, Operand, Reg, RmwOp, Value};

const KNOWN: [&str; 23] = [
    "MOV",
    "MOVNTI",
    "XCHG",
    "XADD",
    "CMPXCHG",
    "INC",
    "DEC",
    "ADD",
    "SUB",
    "AND",
    "OR",
    "XOR",
    "CMP",
    "JNE",
    "MFENCE",
    "SFENCE",
    "LFENCE",
    "CLFLUSH",
    "CLFLUSHOPT",
    "CLWB",
    "NOP",
    "PAUSE",
    "LOCK",
];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    Locked,
    Unlocked,
}

/// A jump to a label that must turn out to be the end of the thread.
struct Jump<'a> {
    label: &'a str,
    spot: Spot,
}

struct Label<'a> {
    name: &'a str,
    spot: Spot,
    /// How many instructions stand before it.
    at: usize,
}

/// What has to be remembered of a column from row to row.
pub(super) struct ThreadReader<'a> {
    thread: usize,
    /// What a `CMP` just compared: only the very next instruction may jump on it.
    compared: Option<(Reg, Value)>,
    jumps: Vec<Jump<'a>>,
    labels: Vec<Label<'a>>,
}

impl<'a> ThreadReader<'a> {
    pub(super) fn new(thread: usize) -> Self {
        ThreadReader {
            thread,
            compared: None,
            jumps: Vec::new(),
            labels: Vec::new(),
        }
    }

    /// Reads labels and at most one instruction, up to the `|` or `;` that ends the cell.
    pub(super) fn cell(
        &mut self,
        cursor: &mut Cursor<'a>,
        scope: &mut Scope,
    ) -> Result<(), ParseError> {
        while let (Token::Word(name), Token::Sign(":")) = (cursor.peek(), cursor.peek_second()) {
            let spot = cursor.spot();
            cursor.next();
            cursor.next();
            if self.labels.iter().any(|l| l.name == name) {
                let found = format!("a second label {}", quote(name));
                return Err(spot.error(found, "each label once in a thread"));
            }
            let at = self.length(scope);
            self.labels.push(Label { name, spot, at });
        }
        if matches!(cursor.peek(), Token::Sign("|" | ";")) {
            return Ok(());
        }
        self.instruction(cursor, scope)
    }

    /// Every jump must lead to the end: that is what `if` in a litmus program means.
    pub(super) fn finish(self, scope: &Scope) -> Result<(), ParseError> {
        let end = self.length(scope);
        for jump in &self.jumps {
            let found = format!("a jump to {}", quote(jump.label));
            match self.labels.iter().find(|l| l.name == jump.label) {
                None => {
                    let names = list(self.labels.iter().map(|l| l.name));
                    let expected = format!("a label of this thread ({names})");
                    return Err(jump.spot.error(found, expected));
                }
                Some(label) if label.at != end => {
                    let expected = format!(
                        "a jump to the very end of the thread (this label is on line {}; other jumps are not supported)",
                        label.spot.line
                    );
                    return Err(jump.spot.error(found, expected));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn length(&self, scope: &Scope) -> usize {
        let thread = scope.program.threads.get(self.thread);
        thread.map_or(0, |t| t.body.len())
    }

    fn instruction(
        &mut self,
        cursor: &mut Cursor<'a>,
        scope: &mut Scope,
    ) -> Result<(), ParseError> {
        let start = cursor.spot();
        let (mut word, mut spot) = cursor.word("an instruction, `|` or `;`")?;
        let lock = if word.eq_ignore_ascii_case("LOCK") {
            (word, spot) = cursor.word("the instruction to lock")?;
            Lock::Locked
        } else {
            Lock::Unlocked
        };
        let mnemonic = word.to_ascii_uppercase();
        let known = KNOWN.contains(&mnemonic.as_str()) || mnemonic == "JNZ";
        if !known {
            let expected = format!(
                "an instruction Landfall knows ({})",
                list(KNOWN.into_iter())
            );
            return Err(spot.error(quote(word), expected));
        }
        let lockable = rmw_op(&mnemonic).is_some()
            || matches!(
                mnemonic.as_str(),
                "XCHG" | "XADD" | "CMPXCHG" | "INC" | "DEC"
            );
        if lock == Lock::Locked && !lockable {
            let found = format!("{} after `LOCK`", quote(word));
            let expected = "XCHG, XADD, CMPXCHG, INC, DEC, ADD, SUB, AND, OR or XOR";
            return Err(spot.error(found, expected));
        }
        let compared = self.compared.take();
        let mut emit = Emit {
            scope,
            thread: self.thread,
            spot: start,
        };
        match mnemonic.as_str() {
            // A load fence orders nothing that x86-TSO does not already order.
            "LFENCE" | "NOP" | "PAUSE" => Ok(()),
            "MFENCE" => emit.push(Instr::Mfence),
            "SFENCE" => emit.push(Instr::Sfence),
            "CLFLUSH" => emit.flush(cursor, FlushKind::Clflush),
            "CLFLUSHOPT" => emit.flush(cursor, FlushKind::Clflushopt),
            "CLWB" => emit.flush(cursor, FlushKind::Clwb),
            "MOV" => emit.mov(cursor),
            "MOVNTI" => {
                let var = emit.memory(cursor)?;
                comma(cursor)?;
                let value = emit.source(cursor)?;
                emit.push(Instr::NtStore { var, value })
            }
            "XCHG" => emit.xchg(cursor),
            "XADD" | "CMPXCHG" if lock == Lock::Unlocked => {
                let found = format!("{mnemonic} without `LOCK`");
                Err(start.error(found, format!("`LOCK {mnemonic}`")))
            }
            "XADD" | "CMPXCHG" => emit.exchange(cursor, &mnemonic),
            "CMP" => {
                self.compared = Some(emit.compare(cursor)?);
                Ok(())
            }
            "JNE" | "JNZ" => {
                let Some((reg, equals)) = compared else {
                    let expected = "a `CMP` of a register with a constant just before it";
                    return Err(start.error(quote(word), expected));
                };
                let label_spot = cursor.spot();
                let (label, _) = cursor.word("a label")?;
                if self.labels.iter().any(|l| l.name == label) {
                    let found = format!("a jump back to {}", quote(label));
                    return Err(label_spot.error(found, "a label at the very end of the thread"));
                }
                self.jumps.push(Jump {
                    label,
                    spot: label_spot,
                });
                emit.push(Instr::If { reg, equals })
            }
            "INC" => emit.arithmetic(cursor, RmwOp::Add, lock, Some(Operand::Const(1))),
            "DEC" => emit.arithmetic(cursor, RmwOp::Sub, lock, Some(Operand::Const(1))),
            _ => match rmw_op(&mnemonic) {
                Some(op) => emit.arithmetic(cursor, op, lock, None),
                None => Err(spot.error("`LOCK` after `LOCK`", "an instruction")),
            },
        }
    }
}

fn rmw_op(mnemonic: &str) -> Option<RmwOp> {
    Some(match mnemonic {
        "ADD" => RmwOp::Add,
        "SUB" => RmwOp::Sub,
        "AND" => RmwOp::And,
        "OR" => RmwOp::Or,
        "XOR" => RmwOp::Xor,
        _ => return None,
    })
}
