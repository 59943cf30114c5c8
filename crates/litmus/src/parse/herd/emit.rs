//! One X86 instruction as the litmus instructions it means.

use super::column::LockPrefix;
use crate::parse::ParseError;
use crate::parse::cursor::{LitmusToken, TextCursor, TextSpot, quote};
use crate::parse::scope::{
    NO_SYMBOLS, NameScope, is_part_of_register, whole_register, x86_register,
};
use crate::program::{FlushKind, Instr, Operand, Reg, RmwOp, Value, Var};

pub(super) const A_REGISTER: &str = "a register such as `EAX`";

/// Stands in for the temporary of a read-modify-write without `LOCK`; no X86 register has this name.
const HIDDEN: &str = "_tmp";

#[derive(Clone, Copy)]
enum Arg {
    Memory(Var),
    Register(Reg),
    Constant(Value),
}

/// What an instruction may write.
#[derive(Clone, Copy)]
enum EmitTarget {
    Memory(Var),
    Register(Reg),
}

/// What a `CMP` compared.
#[derive(Clone, Copy)]
pub(super) enum Compared {
    Constant(Reg, Value),
    /// A register with itself.
    Itself,
}

fn comma(cursor: &mut TextCursor<'_>) -> Result<(), ParseError> {
    cursor.expect(",", "`,` and the second operand")
}

/// The variable of that name; every variable sits on a line of its own.
pub(super) fn variable_named(
    scope: &mut NameScope,
    name: &str,
    spot: TextSpot,
) -> Result<Var, ParseError> {
    if is_register(name) {
        let expected = "a variable (addresses in registers are not supported)";
        return Err(spot.error(quote(name), expected));
    }
    match scope.var(name) {
        Some(var) => Ok(var),
        None => scope.add_var(name, scope.program.vars.len(), spot),
    }
}

fn is_register(name: &str) -> bool {
    x86_register(name).is_some() || is_part_of_register(name)
}

/// Translates one instruction into the thread it belongs to.
pub(super) struct HerdEmitter<'s> {
    pub(super) scope: &'s mut NameScope,
    pub(super) thread: usize,
    pub(super) spot: TextSpot,
}

impl HerdEmitter<'_> {
    pub(super) fn push(&mut self, instr: Instr) -> Result<(), ParseError> {
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

    fn arg(
        &mut self,
        cursor: &mut TextCursor<'_>,
        expected: &str,
    ) -> Result<(Arg, TextSpot), ParseError> {
        let spot = cursor.spot();
        let arg = match cursor.peek() {
            LitmusToken::Sign("[") => {
                cursor.next();
                let (name, at) = cursor.word("a variable")?;
                let var = variable_named(self.scope, name, at)?;
                cursor.expect("]", "`]` after the variable")?;
                Arg::Memory(var)
            }
            LitmusToken::Sign("$") => {
                cursor.next();
                Arg::Constant(cursor.value("a number after `$`")?)
            }
            LitmusToken::Number { .. } | LitmusToken::Sign("-") => {
                Arg::Constant(cursor.value("a number")?)
            }
            LitmusToken::Word(name) if is_register(name) => {
                whole_register(name, spot)?;
                cursor.next();
                Arg::Register(self.scope.reg_or_new(self.thread, name, spot)?)
            }
            LitmusToken::Other('%') => return Err(cursor.unexpected(NO_SYMBOLS)),
            _ => return Err(cursor.unexpected(expected)),
        };
        Ok((arg, spot))
    }

    /// A register or a constant.
    fn source(&mut self, cursor: &mut TextCursor<'_>) -> Result<Operand, ParseError> {
        const EXPECTED: &str = "a register or a constant such as `$1`";
        match self.arg(cursor, EXPECTED)? {
            (Arg::Register(reg), _) => Ok(Operand::Reg(reg)),
            (Arg::Constant(value), _) => Ok(Operand::Const(value)),
            (Arg::Memory(_), spot) => Err(spot.error("a memory operand", EXPECTED)),
        }
    }

    fn register(&mut self, cursor: &mut TextCursor<'_>) -> Result<Reg, ParseError> {
        match self.arg(cursor, A_REGISTER)? {
            (Arg::Register(reg), _) => Ok(reg),
            (Arg::Constant(_), spot) => Err(spot.error("a constant", A_REGISTER)),
            (Arg::Memory(_), spot) => Err(spot.error("a memory operand", A_REGISTER)),
        }
    }

    fn memory(&mut self, cursor: &mut TextCursor<'_>) -> Result<Var, ParseError> {
        const EXPECTED: &str = "a memory operand such as `[x]`";
        match self.arg(cursor, EXPECTED)? {
            (Arg::Memory(var), _) => Ok(var),
            (Arg::Register(_), spot) => Err(spot.error("a register", EXPECTED)),
            (Arg::Constant(_), spot) => Err(spot.error("a constant", EXPECTED)),
        }
    }

    /// A register or a memory operand: what an instruction may write.
    fn target(&mut self, cursor: &mut TextCursor<'_>) -> Result<EmitTarget, ParseError> {
        const EXPECTED: &str = "a register or a memory operand such as `[x]`";
        match self.arg(cursor, EXPECTED)? {
            (Arg::Constant(_), spot) => Err(spot.error("a constant", EXPECTED)),
            (Arg::Memory(var), _) => Ok(EmitTarget::Memory(var)),
            (Arg::Register(reg), _) => Ok(EmitTarget::Register(reg)),
        }
    }

    pub(super) fn flush(
        &mut self,
        cursor: &mut TextCursor<'_>,
        kind: FlushKind,
    ) -> Result<(), ParseError> {
        let var = self.memory(cursor)?;
        self.push(Instr::Flush { var, kind })
    }

    pub(super) fn mov(&mut self, cursor: &mut TextCursor<'_>) -> Result<(), ParseError> {
        let target = self.target(cursor)?;
        comma(cursor)?;
        match target {
            EmitTarget::Memory(var) => {
                let value = self.source(cursor)?;
                self.push(Instr::Store { var, value })
            }
            EmitTarget::Register(reg) => {
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
        }
    }

    pub(super) fn movnti(&mut self, cursor: &mut TextCursor<'_>) -> Result<(), ParseError> {
        let var = self.memory(cursor)?;
        comma(cursor)?;
        let value = self.source(cursor)?;
        self.push(Instr::NtStore { var, value })
    }

    /// XCHG locks the bus with or without its prefix, whichever operand is the memory.
    pub(super) fn xchg(
        &mut self,
        cursor: &mut TextCursor<'_>,
        lock: LockPrefix,
    ) -> Result<(), ParseError> {
        let first_spot = cursor.spot();
        let first = self.target(cursor)?;
        comma(cursor)?;
        let (reg, var) = match first {
            EmitTarget::Memory(var) => (self.register(cursor)?, var),
            EmitTarget::Register(reg) => match self.target(cursor)? {
                EmitTarget::Memory(var) => (reg, var),
                EmitTarget::Register(_) if lock == LockPrefix::Locked => {
                    return Err(first_spot.error("two registers", "the memory operand of a `LOCK`"));
                }
                EmitTarget::Register(other) => return self.swap(reg, other),
            },
        };
        self.push(Instr::Rmw {
            reg: Some(reg),
            var,
            op: RmwOp::Xchg,
            operand: Operand::Reg(reg),
        })
    }

    fn swap(&mut self, a: Reg, b: Reg) -> Result<(), ParseError> {
        let between = self.hidden()?;
        for (reg, from) in [(between, a), (a, b), (b, between)] {
            let value = Operand::Reg(from);
            self.push(Instr::Move { reg, value })?;
        }
        Ok(())
    }

    fn memory_and_register(
        &mut self,
        cursor: &mut TextCursor<'_>,
    ) -> Result<(Var, Reg), ParseError> {
        let var = self.memory(cursor)?;
        comma(cursor)?;
        Ok((var, self.register(cursor)?))
    }

    pub(super) fn xadd(&mut self, cursor: &mut TextCursor<'_>) -> Result<(), ParseError> {
        let (var, reg) = self.memory_and_register(cursor)?;
        self.push(Instr::Rmw {
            reg: Some(reg),
            var,
            op: RmwOp::Add,
            operand: Operand::Reg(reg),
        })
    }

    pub(super) fn cmpxchg(&mut self, cursor: &mut TextCursor<'_>) -> Result<(), ParseError> {
        let (var, reg) = self.memory_and_register(cursor)?;
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
    pub(super) fn arithmetic(
        &mut self,
        cursor: &mut TextCursor<'_>,
        op: RmwOp,
        lock: LockPrefix,
        by: Option<Operand>,
    ) -> Result<(), ParseError> {
        let target_spot = cursor.spot();
        let target = self.target(cursor)?;
        if by.is_none() {
            comma(cursor)?;
        }
        match target {
            EmitTarget::Register(_) if lock == LockPrefix::Locked => {
                Err(target_spot.error("a register", "the memory operand of a `LOCK`"))
            }
            EmitTarget::Register(reg) => {
                let operand = match by {
                    Some(by) => by,
                    None => self.register_source(cursor)?,
                };
                self.push(Instr::Arith { reg, op, operand })
            }
            EmitTarget::Memory(var) => {
                let operand = match by {
                    Some(by) => by,
                    None => self.source(cursor)?,
                };
                if lock == LockPrefix::Locked {
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
        }
    }

    /// The source of arithmetic on a register, which may be memory: that is loaded first.
    fn register_source(&mut self, cursor: &mut TextCursor<'_>) -> Result<Operand, ParseError> {
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

    /// `CMP REG,$n`, or a register with itself.
    pub(super) fn compare(&mut self, cursor: &mut TextCursor<'_>) -> Result<Compared, ParseError> {
        let reg = match self.target(cursor)? {
            EmitTarget::Memory(var) => {
                let reg = self.hidden()?;
                self.push(Instr::Load { reg, var })?;
                reg
            }
            EmitTarget::Register(reg) => reg,
        };
        comma(cursor)?;
        const EXPECTED: &str = "a constant such as `$1` (other comparisons are not supported)";
        match self.arg(cursor, EXPECTED)? {
            (Arg::Constant(value), _) => Ok(Compared::Constant(reg, value)),
            (Arg::Register(other), _) if other == reg => Ok(Compared::Itself),
            (Arg::Register(_), spot) => Err(spot.error("a register", EXPECTED)),
            (Arg::Memory(_), spot) => Err(spot.error("a memory operand", EXPECTED)),
        }
    }
}
