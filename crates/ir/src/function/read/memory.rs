//! Instructions that touch memory.

use super::FunctionReader;
use super::words::*;
use crate::cursor::{Cursor, ParseResult};
use crate::function::*;
use crate::token::Token;

impl FunctionReader {
    pub(super) fn alloca(&mut self, cursor: &mut Cursor) -> ParseResult<InstructionKind> {
        cursor.word("inalloca");
        let of = cursor.types()?;
        let (mut count, mut align) = (None, 1);
        while cursor.mark(',') {
            if cursor.word("align") {
                align = cursor.number()?;
            } else if matches!(cursor.peek(), Some(Token::Meta(_))) {
                break;
            } else if cursor.word("addrspace") {
                cursor.skip_parentheses()?;
            } else {
                count = Some(self.typed(cursor)?);
            }
        }
        Ok(InstructionKind::Alloca { of, count, align })
    }

    pub(super) fn load(&mut self, cursor: &mut Cursor) -> ParseResult<InstructionKind> {
        let is_atomic = cursor.word("atomic");
        cursor.word("volatile");
        let of = cursor.types()?;
        cursor.expect(',')?;
        let from = self.pointer(cursor)?;
        let atomic = ordering(cursor, is_atomic)?;
        Ok(InstructionKind::Load { of, from, atomic })
    }

    pub(super) fn store(&mut self, cursor: &mut Cursor) -> ParseResult<InstructionKind> {
        let is_atomic = cursor.word("atomic");
        cursor.word("volatile");
        let value = self.typed(cursor)?;
        cursor.expect(',')?;
        let to = self.pointer(cursor)?;
        let atomic = ordering(cursor, is_atomic)?;
        let mut non_temporal = false;
        while let Ok(token) = cursor.next() {
            non_temporal |= matches!(token, Token::Meta(name) if name == "nontemporal");
        }
        Ok(InstructionKind::Store {
            value,
            to,
            atomic,
            non_temporal,
        })
    }

    pub(super) fn rmw(&mut self, cursor: &mut Cursor) -> ParseResult<InstructionKind> {
        cursor.word("volatile");
        let op = match cursor.any_word()? {
            "xchg" => IrRmwOp::Xchg,
            "add" => IrRmwOp::Add,
            "sub" => IrRmwOp::Sub,
            "and" => IrRmwOp::And,
            "nand" => IrRmwOp::Nand,
            "or" => IrRmwOp::Or,
            "xor" => IrRmwOp::Xor,
            "max" => IrRmwOp::Max,
            "min" => IrRmwOp::Min,
            "umax" => IrRmwOp::Umax,
            "umin" => IrRmwOp::Umin,
            other => return Err(format!("atomicrmw {other}")),
        };
        let to = self.pointer(cursor)?;
        cursor.expect(',')?;
        let value = self.typed(cursor)?;
        Ok(InstructionKind::Rmw { op, to, value })
    }
}
