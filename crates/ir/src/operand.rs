//! What instructions work on: registers and constants.

use crate::cursor::{Cursor, ParseResult};
use crate::function::{BinaryOp, CastOp, IrRegister};
use crate::token::Token;
use crate::types::Type;
use rustc_hash::FxHashMap;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Constant {
    /// The low 64 bits.
    Int(i128),
    Null,
    /// `undef` and `poison`
    Undef,
    /// Zeros of any type.
    Zero,
    Bytes(Vec<u8>),
    Global(String),
    /// The elements of an array or the fields of a struct.
    Aggregate(Vec<(Type, Constant)>),
    Gep {
        of: Type,
        base: Box<Constant>,
        indices: Vec<(Type, Constant)>,
    },
    Cast {
        op: CastOp,
        value: Box<(Type, Constant)>,
        to: Type,
    },
    Binary {
        op: BinaryOp,
        operands: Box<[(Type, Constant); 2]>,
    },
    /// Floating point and what else is not followed.
    Other(String),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IrOperand {
    Reg(IrRegister),
    Constant(Constant),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Typed {
    pub of: Type,
    pub value: IrOperand,
}

/// The registers of a function, by name.
#[derive(Clone, Default, Debug)]
pub(crate) struct OperandNames {
    known: FxHashMap<String, u32>,
}

impl OperandNames {
    pub(crate) fn get(&mut self, name: &str) -> u32 {
        let next = self.known.len() as u32;
        *self.known.entry(name.to_owned()).or_insert(next)
    }

    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }
}

impl IrOperand {
    pub(crate) fn read(cursor: &mut Cursor, names: &mut OperandNames) -> ParseResult<IrOperand> {
        if let Some(Token::Local(name)) = cursor.peek() {
            cursor.next()?;
            return Ok(IrOperand::Reg(IrRegister(names.get(name))));
        }
        Ok(IrOperand::Constant(Constant::read(cursor)?))
    }
}

impl Typed {
    pub(crate) fn read(cursor: &mut Cursor, names: &mut OperandNames) -> ParseResult<Typed> {
        Ok(Typed {
            of: cursor.types()?,
            value: IrOperand::read(cursor, names)?,
        })
    }
}

impl Constant {
    pub(crate) fn read(cursor: &mut Cursor) -> ParseResult<Constant> {
        cursor.deeper(read)
    }
}

fn typed(cursor: &mut Cursor) -> ParseResult<(Type, Constant)> {
    Ok((cursor.types()?, Constant::read(cursor)?))
}

fn read(cursor: &mut Cursor) -> ParseResult<Constant> {
    Ok(match cursor.next()? {
        Token::Global(name) => Constant::Global(name.clone()),
        Token::Bytes(bytes) => Constant::Bytes(bytes.clone()),
        Token::Mark('[') => Constant::Aggregate(list(cursor, ']')?),
        Token::Mark('{') => Constant::Aggregate(list(cursor, '}')?),
        Token::Mark('<') if cursor.mark('{') => {
            let fields = list(cursor, '}')?;
            cursor.expect('>')?;
            Constant::Aggregate(fields)
        }
        Token::Mark('<') => Constant::Aggregate(list(cursor, '>')?),
        Token::Word(word) => match word.as_str() {
            "null" => Constant::Null,
            "undef" | "poison" => Constant::Undef,
            "zeroinitializer" => Constant::Zero,
            "true" => Constant::Int(1),
            "false" => Constant::Int(0),
            "getelementptr" => gep(cursor)?,
            other => {
                if let Ok(number) = other.parse::<i128>() {
                    return Ok(Constant::Int(number));
                }
                if let Some(op) = CastOp::named(other) {
                    cursor.expect('(')?;
                    let value = Box::new(typed(cursor)?);
                    cursor.expect_word("to")?;
                    let to = cursor.types()?;
                    cursor.expect(')')?;
                    return Ok(Constant::Cast { op, value, to });
                }
                if let Some(op) = BinaryOp::named(other) {
                    while !cursor.is_mark('(') {
                        cursor.any_word()?; // nsw, nuw
                    }
                    cursor.expect('(')?;
                    let first = typed(cursor)?;
                    cursor.expect(',')?;
                    let operands = Box::new([first, typed(cursor)?]);
                    cursor.expect(')')?;
                    return Ok(Constant::Binary { op, operands });
                }
                if cursor.is_mark('(') {
                    cursor.skip_parentheses()?;
                }
                Constant::Other(other.to_owned())
            }
        },
        other => return Err(format!("a constant expected, found {other:?}")),
    })
}

fn gep(cursor: &mut Cursor) -> ParseResult<Constant> {
    while !cursor.is_mark('(') {
        cursor.any_word()?; // inbounds, nuw, nusw
        if cursor.is_mark('(')
            && !matches!(
                cursor.peek_after(1),
                Some(Token::Mark('[' | '<' | '{') | Token::Local(_))
            )
            && matches!(cursor.peek_after(1), Some(Token::Word(w)) if w.parse::<i64>().is_ok())
        {
            cursor.skip_parentheses()?; // inrange(…)
        }
    }
    cursor.expect('(')?;
    let of = cursor.types()?;
    cursor.expect(',')?;
    let (_, base) = typed(cursor)?;
    let mut indices = Vec::new();
    while cursor.mark(',') {
        indices.push(typed(cursor)?);
    }
    cursor.expect(')')?;
    Ok(Constant::Gep {
        of,
        base: Box::new(base),
        indices,
    })
}

fn list(cursor: &mut Cursor, end: char) -> ParseResult<Vec<(Type, Constant)>> {
    let mut all = Vec::new();
    if cursor.mark(end) {
        return Ok(all);
    }
    loop {
        all.push(typed(cursor)?);
        if cursor.mark(end) {
            return Ok(all);
        }
        cursor.expect(',')?;
    }
}
