//! The statements of a `.lit` thread.

use crate::parse::ParseError;
use crate::parse::cursor::{LitmusToken, TextCursor, TextSpot, quote};
use crate::parse::scope::NameScope;
use crate::program::{FlushKind, Instr, Location, Operand, Reg, RmwOp, Value, Var};
use crate::transaction::{MAX_NESTING, TxInstr};

const A_STATEMENT: &str = "a statement: `x = 1`, `r1 = x`, `x = nt 1`, `r1 = xchg x 1` (or `cas`, `faa`, `fas`, `fand`, \
     `for`, `fxor`), `clflush x`, `clflushopt x`, `clwb x`, `sfence`, `mfence`, `lfence`, `if r1 == 1`, `r1 = xbegin`, `xend`, \
     `xabort 1`, `xabort 1 if r1 == 1`, `r1 = xtest`";

/// A register set to what has nothing to do with the memory. Unless something uses it later, it may just as well be a
/// variable that was misspelt.
pub(super) struct SuspectWord {
    pub(super) thread: usize,
    pub(super) reg: Reg,
    pub(super) spot: TextSpot,
}

/// Reads `statement; statement; …` into the thread. An empty thread is one that does nothing.
pub(super) fn thread_body(
    cursor: &mut TextCursor<'_>,
    scope: &mut NameScope,
    thread: usize,
) -> Result<Vec<SuspectWord>, ParseError> {
    let mut suspects: Vec<SuspectWord> = Vec::new();
    let mut open = OpenTransactions::default();
    let declared = scope
        .program
        .threads
        .get(thread)
        .map_or(0, |t| t.regs.len());
    while !cursor.at_end() {
        let spot = cursor.spot();
        // A load fence orders nothing that the model does not already order.
        if cursor.peek() == LitmusToken::Word("lfence") {
            cursor.next();
        } else {
            let instr = LitStatement { scope, thread }.read(cursor)?;
            open.take(&instr, spot)?;
            scope.push(thread, instr, spot)?;
            suspects.retain(|suspect| instr.uses().all(|used| used != suspect.reg));
            if let Instr::Move { reg, .. } = instr
                && usize::from(reg.0) >= declared
            {
                suspects.push(SuspectWord { thread, reg, spot });
            }
        }
        if !cursor.at_end() {
            cursor.expect(";", "`;` or the end of the line after the statement")?;
        }
    }
    open.close(cursor)?;
    Ok(suspects)
}

/// How deep in transactions the thread's text is.
#[derive(Default)]
struct OpenTransactions(usize);

impl OpenTransactions {
    fn take(&mut self, instr: &Instr, spot: TextSpot) -> Result<(), ParseError> {
        match instr {
            Instr::Tx(TxInstr::Begin { .. }) if self.0 == MAX_NESTING => {
                let found = format!("`xbegin` number {} within one another", self.0 + 1);
                return Err(spot.error(found, format!("at most {MAX_NESTING}")));
            }
            Instr::Tx(TxInstr::Begin { .. }) => self.0 += 1,
            Instr::Tx(TxInstr::End) if self.0 == 0 => {
                let expected = "an `xbegin` before it: an `xend` outside a transaction is a fault";
                return Err(spot.error("`xend`", expected));
            }
            Instr::Tx(TxInstr::End) => self.0 -= 1,
            Instr::If { .. } if self.0 > 0 => {
                let expected = "no `if` inside a transaction: `xabort 1 if r1 == 1`, or an `if` behind the `xend`";
                return Err(spot.error("`if`", expected));
            }
            _ => {}
        }
        Ok(())
    }

    fn close(&self, cursor: &mut TextCursor<'_>) -> Result<(), ParseError> {
        match self.0 {
            0 => Ok(()),
            _ => Err(cursor.unexpected("the `xend` of the transaction")),
        }
    }
}

/// Refuses what is set and never used: neither in its thread nor by what is observed.
pub(super) fn refuse_unused(
    suspects: &[SuspectWord],
    observed: &[Location],
    scope: &NameScope,
) -> Result<(), ParseError> {
    let unused = suspects.iter().find(|suspect| {
        let Ok(thread) = u8::try_from(suspect.thread) else {
            return false;
        };
        let reg = suspect.reg;
        !observed.contains(&Location::Reg { thread, reg })
    });
    let Some(SuspectWord { thread, reg, spot }) = unused else {
        return Ok(());
    };
    let found = format!(
        "{}, which is neither a variable of `lines:` nor a register used later",
        quote(scope.program.reg_name(*thread, *reg))
    );
    let expected = format!(
        "a variable ({}) or a register that T{thread} or an outcome uses",
        scope.var_list()
    );
    Err(spot.error(found, expected))
}

struct LitStatement<'s> {
    scope: &'s mut NameScope,
    thread: usize,
}

impl LitStatement<'_> {
    fn read(&mut self, cursor: &mut TextCursor<'_>) -> Result<Instr, ParseError> {
        let (word, spot) = cursor.word(A_STATEMENT)?;
        if cursor.take("=") {
            return match self.scope.var(word) {
                Some(var) => self.store(cursor, var),
                None => self.assignment(cursor, word, spot),
            };
        }
        let flush = |kind| move |var| Instr::Flush { var, kind };
        match word {
            "sfence" => Ok(Instr::Sfence),
            "mfence" => Ok(Instr::Mfence),
            "clflush" => self.variable(cursor).map(flush(FlushKind::Clflush)),
            "clflushopt" => self.variable(cursor).map(flush(FlushKind::Clflushopt)),
            "clwb" => self.variable(cursor).map(flush(FlushKind::Clwb)),
            "if" => {
                let (reg, equals) = self.condition(cursor)?;
                Ok(Instr::If { reg, equals })
            }
            "xbegin" => Ok(Instr::Tx(TxInstr::Begin { reg: None })),
            "xend" => Ok(Instr::Tx(TxInstr::End)),
            "xabort" => self.abort(cursor),
            "xtest" => Err(spot.error("`xtest` without a register", "`r1 = xtest`")),
            "cas" => Err(spot.error("`cas` without a register", "`r1 = cas x 0 1`")),
            _ => match rmw_op(word) {
                Some(op) => self.rmw(cursor, None, op),
                None if matches!(
                    cursor.peek(),
                    LitmusToken::Word(_) | LitmusToken::Number { .. }
                ) =>
                {
                    Err(spot.error(quote(word), A_STATEMENT))
                }
                None if cursor.at_end() => Err(spot.error(quote(word), A_STATEMENT)),
                None => Err(cursor.unexpected(format!("`=` after {}", quote(word)))),
            },
        }
    }

    /// What follows `x =`.
    fn store(&mut self, cursor: &mut TextCursor<'_>, var: Var) -> Result<Instr, ParseError> {
        if cursor.take_word("nt") {
            let value = self.operand(cursor)?;
            return Ok(Instr::NtStore { var, value });
        }
        let value = self.operand(cursor)?;
        Ok(Instr::Store { var, value })
    }

    /// What follows `r =`.
    fn assignment(
        &mut self,
        cursor: &mut TextCursor<'_>,
        name: &str,
        spot: TextSpot,
    ) -> Result<Instr, ParseError> {
        // Not declared yet: `r = r` with a register nothing has set is a slip.
        if super::VERBS.contains(&name) {
            return Err(spot.error(quote(name), "a variable or a register before the `=`"));
        }
        let known = self.scope.reg(self.thread, name).is_some();
        let word = match cursor.peek() {
            LitmusToken::Word(word) => word,
            _ => {
                let value = Operand::Const(cursor.value(
                    "a number, a variable, a register, or one of `xchg`, `cas`, `faa`, `fas`, `fand`, `for`, `fxor`",
                )?);
                let reg = self.scope.reg_or_new(self.thread, name, spot)?;
                return Ok(Instr::Move { reg, value });
            }
        };
        if let Some(var) = self.scope.var(word) {
            cursor.next();
            let reg = self.scope.reg_or_new(self.thread, name, spot)?;
            return Ok(Instr::Load { reg, var });
        }
        if let Some(op) = rmw_op(word) {
            cursor.next();
            let reg = self.scope.reg_or_new(self.thread, name, spot)?;
            return self.rmw(cursor, Some(reg), op);
        }
        if matches!(word, "xbegin" | "xtest") {
            cursor.next();
            let reg = self.scope.reg_or_new(self.thread, name, spot)?;
            return Ok(Instr::Tx(match word {
                "xbegin" => TxInstr::Begin { reg: Some(reg) },
                _ => TxInstr::Test { reg },
            }));
        }
        if word == "cas" {
            cursor.next();
            let reg = self.scope.reg_or_new(self.thread, name, spot)?;
            let var = self.variable(cursor)?;
            let expected = self.operand(cursor)?;
            let desired = self.operand(cursor)?;
            return Ok(Instr::Cas {
                reg,
                var,
                expected,
                desired,
            });
        }
        let source_spot = cursor.spot();
        let Some(source) = self.scope.reg(self.thread, word) else {
            return Err(self.unknown(word, source_spot));
        };
        cursor.next();
        let op = match cursor.peek() {
            LitmusToken::Sign("+") => RmwOp::Add,
            LitmusToken::Sign("-") => RmwOp::Sub,
            LitmusToken::Sign("&") => RmwOp::And,
            LitmusToken::Sign("|") => RmwOp::Or,
            LitmusToken::Sign("^") => RmwOp::Xor,
            _ => {
                let reg = self.scope.reg_or_new(self.thread, name, spot)?;
                let value = Operand::Reg(source);
                return Ok(Instr::Move { reg, value });
            }
        };
        if !known || word != name {
            let expected = format!("{}: arithmetic changes a register in place", quote(name));
            return Err(source_spot.error(quote(word), expected));
        }
        cursor.next();
        let operand = self.operand(cursor)?;
        Ok(Instr::Arith {
            reg: source,
            op,
            operand,
        })
    }

    fn rmw(
        &mut self,
        cursor: &mut TextCursor<'_>,
        reg: Option<Reg>,
        op: RmwOp,
    ) -> Result<Instr, ParseError> {
        let var = self.variable(cursor)?;
        let operand = self.operand(cursor)?;
        Ok(Instr::Rmw {
            reg,
            var,
            op,
            operand,
        })
    }

    /// What follows `xabort`.
    fn abort(&mut self, cursor: &mut TextCursor<'_>) -> Result<Instr, ParseError> {
        let spot = cursor.spot();
        let code = cursor.value("a code from 0 to 255")?;
        let code = u8::try_from(code)
            .map_err(|_| spot.error(quote(&code.to_string()), "a code from 0 to 255"))?;
        let when = match cursor.take_word("if") {
            true => Some(self.condition(cursor)?),
            false => None,
        };
        Ok(Instr::Tx(TxInstr::Abort { code, when }))
    }

    fn condition(&mut self, cursor: &mut TextCursor<'_>) -> Result<(Reg, Value), ParseError> {
        let (name, spot) = cursor.word("a register")?;
        let Some(reg) = self.scope.reg(self.thread, name) else {
            return Err(self.unknown(name, spot));
        };
        cursor.expect("==", "`==` and a number")?;
        let equals = cursor.value("a number")?;
        Ok((reg, equals))
    }

    fn variable(&mut self, cursor: &mut TextCursor<'_>) -> Result<Var, ParseError> {
        let (name, spot) = cursor.word("a variable")?;
        self.scope.var(name).ok_or_else(|| {
            let expected = format!("a variable of `lines:` ({})", self.scope.var_list());
            spot.error(quote(name), expected)
        })
    }

    fn operand(&mut self, cursor: &mut TextCursor<'_>) -> Result<Operand, ParseError> {
        let LitmusToken::Word(name) = cursor.peek() else {
            return Ok(Operand::Const(cursor.value("a number or a register")?));
        };
        match self.scope.reg(self.thread, name) {
            Some(reg) => {
                cursor.next();
                Ok(Operand::Reg(reg))
            }
            None => Err(cursor.unexpected(format!(
                "a number or a register that T{} has set ({})",
                self.thread,
                self.scope.reg_list(self.thread)
            ))),
        }
    }

    fn unknown(&self, name: &str, spot: TextSpot) -> ParseError {
        let vars = self.scope.var_list();
        let regs = self.scope.reg_list(self.thread);
        let expected = format!(
            "a variable of `lines:` ({vars}) or a register that T{} has set ({regs})",
            self.thread
        );
        spot.error(quote(name), expected)
    }
}

fn rmw_op(verb: &str) -> Option<RmwOp> {
    Some(match verb {
        "xchg" => RmwOp::Xchg,
        "faa" => RmwOp::Add,
        "fas" => RmwOp::Sub,
        "fand" => RmwOp::And,
        "for" => RmwOp::Or,
        "fxor" => RmwOp::Xor,
        _ => return None,
    })
}
