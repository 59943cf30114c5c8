//! One thread's column: instructions, labels, and the one kind of jump that a litmus program can express.

use crate::parse::ParseError;
use crate::parse::cursor::{Cursor, Spot, Token, quote};
use crate::parse::scope::{Scope, list, x86_register};
use crate::program::{FlushKind, Instr, Operand, Reg, RmwOp, Value, Var};

pub(super) const A_REGISTER: &str = "a register such as `EAX`";
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

/// Stands in for the temporary of a read-modify-write without `LOCK`; no X86 register has this name.
const HIDDEN: &str = "_tmp";

#[derive(Clone, Copy)]
enum Arg {
    Memory(Var),
    Register(Reg),
    Constant(Value),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lock {
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

fn comma(cursor: &mut Cursor<'_>) -> Result<(), ParseError> {
    cursor.expect(",", "`,` and the second operand")
}

/// The variable of that name; every variable sits on a line of its own.
pub(super) fn variable_named(scope: &mut Scope, name: &str, spot: Spot) -> Result<Var, ParseError> {
    if x86_register(name).is_some() {
        let expected = "a variable (addresses in registers are not supported)";
        return Err(spot.error(quote(name), expected));
    }
    match scope.var(name) {
        Some(var) => Ok(var),
        None => scope.add_var(name, scope.program.vars.len(), spot),
    }
}

/// Translates one instruction into the thread it belongs to.
struct Emit<'s> {
    scope: &'s mut Scope,
    thread: usize,
    spot: Spot,
}

impl Emit<'_> {
    fn push(&mut self, instr: Instr) -> Result<(), ParseError> {
        self.scope.push(self.thread, instr, self.spot)
    }

    fn hidden(&mut self) -> Result<Reg, ParseError> {
        let regs = self.scope.program.threads.get(self.thread).map(|t| &t.regs);
        let known = regs.and_then(|regs| regs.iter().position(|r| r.name == HIDDEN));
        match known.and_then(|at| u8::try_from(at).ok()) {
            Some(at) => Ok(Reg(at)),
            None => self.scope.add_reg(self.thread, HIDDEN, self.spot),
        }
    }

    fn arg(&mut self, cursor: &mut Cursor<'_>, expected: &str) -> Result<(Arg, Spot), ParseError> {
        let spot = cursor.spot();
        let arg = match cursor.peek() {
            Token::Sign("[") => {
                cursor.next();
                let (name, at) = cursor.word("a variable")?;
                let var = variable_named(self.scope, name, at)?;
                cursor.expect("]", "`]` after the variable")?;
                Arg::Memory(var)
            }
            Token::Sign("$") => {
                cursor.next();
                Arg::Constant(cursor.value("a number after `$`")?)
            }
            Token::Number { .. } | Token::Sign("-") => Arg::Constant(cursor.value("a number")?),
            Token::Word(name) if x86_register(name).is_some() => {
                cursor.next();
                Arg::Register(self.scope.reg_or_new(self.thread, name, spot)?)
            }
            _ => return Err(cursor.unexpected(expected)),
        };
        Ok((arg, spot))
    }

    /// A register or a constant.
    fn source(&mut self, cursor: &mut Cursor<'_>) -> Result<Operand, ParseError> {
        const EXPECTED: &str = "a register or a constant such as `$1`";
        match self.arg(cursor, EXPECTED)? {
            (Arg::Register(reg), _) => Ok(Operand::Reg(reg)),
            (Arg::Constant(value), _) => Ok(Operand::Const(value)),
            (Arg::Memory(_), spot) => Err(spot.error("a memory operand", EXPECTED)),
        }
    }

    fn register(&mut self, cursor: &mut Cursor<'_>) -> Result<Reg, ParseError> {
        match self.arg(cursor, A_REGISTER)? {
            (Arg::Register(reg), _) => Ok(reg),
            (Arg::Constant(_), spot) => Err(spot.error("a constant", A_REGISTER)),
            (Arg::Memory(_), spot) => Err(spot.error("a memory operand", A_REGISTER)),
        }
    }

    fn memory(&mut self, cursor: &mut Cursor<'_>) -> Result<Var, ParseError> {
        const EXPECTED: &str = "a memory operand such as `[x]`";
        match self.arg(cursor, EXPECTED)? {
            (Arg::Memory(var), _) => Ok(var),
            (Arg::Register(_), spot) => Err(spot.error("a register", EXPECTED)),
            (Arg::Constant(_), spot) => Err(spot.error("a constant", EXPECTED)),
        }
    }

    /// A register or a memory operand: what an instruction may write.
    fn target(&mut self, cursor: &mut Cursor<'_>) -> Result<Arg, ParseError> {
        const EXPECTED: &str = "a register or a memory operand such as `[x]`";
        match self.arg(cursor, EXPECTED)? {
            (Arg::Constant(_), spot) => Err(spot.error("a constant", EXPECTED)),
            (target, _) => Ok(target),
        }
    }

    fn flush(&mut self, cursor: &mut Cursor<'_>, kind: FlushKind) -> Result<(), ParseError> {
        let var = self.memory(cursor)?;
        self.push(Instr::Flush { var, kind })
    }

    fn mov(&mut self, cursor: &mut Cursor<'_>) -> Result<(), ParseError> {
        let target = self.target(cursor)?;
        comma(cursor)?;
        match target {
            Arg::Memory(var) => {
                let value = self.source(cursor)?;
                self.push(Instr::Store { var, value })
            }
            Arg::Register(reg) => {
                let (source, _) =
                    self.arg(cursor, "a register, `[x]` or a constant such as `$1`")?;
                self.push(match source {
                    Arg::Memory(var) => Instr::Load { reg, var },
                    Arg::Register(from) => Instr::Move {
                        reg,
                        value: Operand::Reg(from),
                    },
                    Arg::Constant(value) => Instr::Move {
                        reg,
                        value: Operand::Const(value),
                    },
                })
            }
            Arg::Constant(_) => Ok(()),
        }
    }

    /// XCHG locks the bus with or without its prefix, whichever operand is the memory.
    fn xchg(&mut self, cursor: &mut Cursor<'_>) -> Result<(), ParseError> {
        let first = self.target(cursor)?;
        comma(cursor)?;
        let (reg, var) = match first {
            Arg::Register(reg) => (reg, self.memory(cursor)?),
            Arg::Memory(var) => (self.register(cursor)?, var),
            Arg::Constant(_) => return Ok(()),
        };
        self.push(Instr::Rmw {
            reg: Some(reg),
            var,
            op: RmwOp::Xchg,
            operand: Operand::Reg(reg),
        })
    }

    /// LOCK XADD and LOCK CMPXCHG.
    fn exchange(&mut self, cursor: &mut Cursor<'_>, mnemonic: &str) -> Result<(), ParseError> {
        let var = self.memory(cursor)?;
        comma(cursor)?;
        let reg = self.register(cursor)?;
        if mnemonic == "XADD" {
            return self.push(Instr::Rmw {
                reg: Some(reg),
                var,
                op: RmwOp::Add,
                operand: Operand::Reg(reg),
            });
        }
        // On success EAX equals the old value already; on failure it receives it.
        let eax = self.scope.reg_or_new(self.thread, "EAX", self.spot)?;
        self.push(Instr::Cas {
            reg: eax,
            var,
            expected: Operand::Reg(eax),
            desired: Operand::Reg(reg),
        })
    }

    /// `INC`, `ADD` and their like on a register or on memory; `by` is what they add where they have one operand.
    fn arithmetic(
        &mut self,
        cursor: &mut Cursor<'_>,
        op: RmwOp,
        lock: Lock,
        by: Option<Operand>,
    ) -> Result<(), ParseError> {
        let target_spot = cursor.spot();
        let target = self.target(cursor)?;
        if by.is_none() {
            comma(cursor)?;
        }
        match target {
            Arg::Register(_) if lock == Lock::Locked => {
                Err(target_spot.error("a register", "the memory operand of a `LOCK`"))
            }
            Arg::Register(reg) => {
                let operand = match by {
                    Some(by) => by,
                    None => self.register_source(cursor)?,
                };
                self.push(Instr::Arith { reg, op, operand })
            }
            Arg::Memory(var) => {
                let operand = match by {
                    Some(by) => by,
                    None => self.source(cursor)?,
                };
                if lock == Lock::Locked {
                    return self.push(Instr::Rmw {
                        reg: None,
                        var,
                        op,
                        operand,
                    });
                }
                let reg = self.hidden()?;
                self.push(Instr::Load { reg, var })?;
                self.push(Instr::Arith { reg, op, operand })?;
                let value = Operand::Reg(reg);
                self.push(Instr::Store { var, value })
            }
            Arg::Constant(_) => Ok(()),
        }
    }

    /// The source of arithmetic on a register, which may be memory: that is loaded first.
    fn register_source(&mut self, cursor: &mut Cursor<'_>) -> Result<Operand, ParseError> {
        let (source, _) = self.arg(cursor, "a register, `[x]` or a constant such as `$1`")?;
        Ok(match source {
            Arg::Register(reg) => Operand::Reg(reg),
            Arg::Constant(value) => Operand::Const(value),
            Arg::Memory(var) => {
                let reg = self.hidden()?;
                self.push(Instr::Load { reg, var })?;
                Operand::Reg(reg)
            }
        })
    }

    /// `CMP REG,$n`: the register and the constant it is compared with.
    fn compare(&mut self, cursor: &mut Cursor<'_>) -> Result<(Reg, Value), ParseError> {
        let reg = match self.target(cursor)? {
            Arg::Memory(var) => {
                let reg = self.hidden()?;
                self.push(Instr::Load { reg, var })?;
                reg
            }
            Arg::Register(reg) => reg,
            Arg::Constant(_) => return Err(cursor.unexpected(A_REGISTER)),
        };
        comma(cursor)?;
        const EXPECTED: &str = "a constant such as `$1` (other comparisons are not supported)";
        match self.arg(cursor, EXPECTED)? {
            (Arg::Constant(value), _) => Ok((reg, value)),
            (Arg::Register(_), spot) => Err(spot.error("a register", EXPECTED)),
            (Arg::Memory(_), spot) => Err(spot.error("a memory operand", EXPECTED)),
        }
    }
}
