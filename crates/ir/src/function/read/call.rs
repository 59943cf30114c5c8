//! Calls.

use super::FunctionReader;
use super::words::*;
use crate::cursor::{Cursor, ParseResult};
use crate::function::*;
use crate::token::Token;

impl FunctionReader {
    /// Behind `call` or `invoke`.
    pub(super) fn call(&mut self, cursor: &mut Cursor) -> ParseResult<InstructionKind> {
        // Calling conventions and attributes of what is returned come before its type.
        let returns = loop {
            let start = cursor.position();
            if let Ok(of) = cursor.types() {
                let callee = matches!(cursor.peek(), Some(Token::Global(_) | Token::Local(_)));
                if callee || cursor.is_word("asm") {
                    break of;
                }
            }
            cursor.return_to(start);
            cursor.next()?;
            if cursor.is_mark('(') {
                cursor.skip_parentheses()?;
            }
        };
        let callee = match cursor.next()? {
            Token::Global(name) => Callee::Function(name.clone()),
            Token::Local(name) => Callee::Pointer(IrOperand::Reg(IrRegister(self.names.get(name)))),
            _ => {
                let mut texts = Vec::new();
                while !cursor.is_mark('(') {
                    if let Token::Text(text) = cursor.next()? {
                        texts.push(String::from_utf8_lossy(text).into_owned());
                    }
                }
                let mut texts = texts.into_iter();
                Callee::Assembly(
                    texts.next().unwrap_or_default(),
                    texts.next().unwrap_or_default(),
                )
            }
        };
        cursor.expect('(')?;
        let mut arguments = Vec::new();
        while !cursor.mark(')') {
            if cursor.word("metadata") {
                while !cursor.is_mark(',') && !cursor.is_mark(')') {
                    match cursor.is_mark('(') {
                        true => cursor.skip_parentheses()?,
                        false => _ = cursor.next()?,
                    }
                }
                cursor.mark(',');
                continue;
            }
            let of = cursor.types()?;
            let by_value = attributes(cursor)?;
            let value = Typed {
                of,
                value: self.operand(cursor)?,
            };
            arguments.push(Argument { value, by_value });
            if !cursor.is_mark(')') {
                cursor.expect(',')?;
            }
        }
        let mut then = None;
        while let Some(token) = cursor.peek() {
            if matches!(token, Token::Word(word) if word == "to") {
                cursor.next()?;
                then = Some(self.target(cursor)?);
                // Where exceptions would go is not followed, but the block is spoken of.
                if cursor.word("unwind") {
                    self.target(cursor)?;
                }
            } else {
                cursor.next()?;
            }
        }
        Ok(InstructionKind::Call {
            callee,
            returns,
            arguments,
            then,
        })
    }
}
