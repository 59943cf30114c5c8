//! Types.

use crate::cursor::{Cursor, ParseResult};
use crate::token::Token;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Type {
    Void,
    Int(u32),
    /// `float`, `double`, `x86_fp80`…, by name.
    Float(String),
    Pointer,
    Array(u64, Box<Type>),
    Vector(u64, Box<Type>),
    Struct {
        fields: Vec<Type>,
        packed: bool,
    },
    Named(String),
    /// Labels, metadata, functions, what has no size.
    Other,
}

impl Type {
    pub(crate) fn read(cursor: &mut Cursor) -> ParseResult<Type> {
        let base = match cursor.next()? {
            Token::Word(word) => match word.as_str() {
                "void" => Type::Void,
                "ptr" => {
                    if cursor.word("addrspace") {
                        cursor.skip_parentheses()?;
                    }
                    Type::Pointer
                }
                "half" | "bfloat" | "float" | "double" | "fp128" | "x86_fp80" | "ppc_fp128" => {
                    Type::Float(word.clone())
                }
                "label" | "metadata" | "token" | "opaque" => Type::Other,
                other => {
                    let bits = other.strip_prefix('i').and_then(|n| n.parse().ok());
                    Type::Int(bits.ok_or_else(|| format!("`{other}` is no type"))?)
                }
            },
            Token::Local(name) => Type::Named(name.clone()),
            Token::Mark('[') => {
                let count = cursor.number()?;
                cursor.expect_word("x")?;
                let of = cursor.types()?;
                cursor.expect(']')?;
                Type::Array(count, Box::new(of))
            }
            Token::Mark('<') if cursor.is_mark('{') => {
                cursor.expect('{')?;
                let fields = fields(cursor)?;
                cursor.expect('>')?;
                Type::Struct {
                    fields,
                    packed: true,
                }
            }
            Token::Mark('<') => {
                let count = cursor.number()?;
                cursor.expect_word("x")?;
                let of = cursor.types()?;
                cursor.expect('>')?;
                Type::Vector(count, Box::new(of))
            }
            Token::Mark('{') => Type::Struct {
                fields: fields(cursor)?,
                packed: false,
            },
            other => return Err(format!("a type expected, found {other:?}")),
        };
        // A function type, as calls of functions with `...` spell it.
        if cursor.is_mark('(') {
            let start = cursor.position();
            cursor.skip_parentheses()?;
            if matches!(cursor.peek(), Some(Token::Global(_) | Token::Local(_))) {
                return Ok(base);
            }
            cursor.return_to(start);
        }
        Ok(base)
    }
}

/// Behind the opening brace.
fn fields(cursor: &mut Cursor) -> ParseResult<Vec<Type>> {
    let mut fields = Vec::new();
    if cursor.mark('}') {
        return Ok(fields);
    }
    loop {
        fields.push(cursor.types()?);
        if cursor.mark('}') {
            return Ok(fields);
        }
        cursor.expect(',')?;
    }
}
