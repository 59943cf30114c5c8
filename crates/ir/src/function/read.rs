//! Reading the body of a function.

mod call;
mod memory;
mod words;

use super::*;
use crate::cursor::{Cursor, ParseResult};
use crate::operand::OperandNames;
use crate::token::{Token, tokens};
use rustc_hash::FxHashMap;
use words::*;

/// A function that is being read.
#[derive(Debug)]
pub(crate) struct FunctionReader {
    function: Function,
    names: OperandNames,
    labels: FxHashMap<String, u32>,
    /// By block: is it there, or only spoken of?
    begun: Vec<bool>,
    current: usize,
}

impl FunctionReader {
    /// From the line `define … {`.
    pub(crate) fn begin(line: &str) -> ParseResult<FunctionReader> {
        let tokens = tokens(line);
        let mut cursor = Cursor::new(&tokens);
        cursor.expect_word("define")?;
        // Linkage and attributes come before the type.
        let returns = loop {
            let start = cursor.position();
            if let Ok(of) = cursor.types()
                && matches!(cursor.peek(), Some(Token::Global(_)))
            {
                break of;
            }
            cursor.return_to(start);
            cursor.next()?;
            if cursor.is_mark('(') {
                cursor.skip_parentheses()?;
            }
        };
        let Token::Global(name) = cursor.next()? else {
            return Err("a function without a name".to_owned());
        };
        let mut reader = FunctionReader {
            function: Function {
                name: name.clone(),
                returns,
                parameters: Vec::new(),
                blocks: vec![Block::default()],
                registers: 0,
            },
            names: OperandNames::default(),
            labels: FxHashMap::default(),
            begun: vec![true],
            current: 0,
        };
        cursor.expect('(')?;
        while !cursor.mark(')') {
            if cursor.mark('.') || cursor.word("...") {
                continue;
            }
            let of = cursor.types()?;
            attributes(&mut cursor)?;
            let register = match cursor.peek() {
                Some(Token::Local(name)) => {
                    cursor.next()?;
                    reader.names.get(name)
                }
                // Registers without a name are numbered.
                _ => reader
                    .names
                    .get(&reader.function.parameters.len().to_string()),
            };
            reader.function.parameters.push(Parameter {
                of,
                register: IrRegister(register),
            });
            cursor.mark(',');
        }
        // The first block of unnamed code has the next number.
        reader.labels.insert(reader.names.len().to_string(), 0);
        Ok(reader)
    }

    /// A line `name:`.
    pub(crate) fn label(&mut self, name: &str) {
        let first = self.current == 0 && self.function.blocks[0].instructions.is_empty();
        if first {
            self.labels.insert(name.to_owned(), 0);
            return;
        }
        let block = self.block(name);
        self.current = block.index();
        self.begun[self.current] = true;
    }

    fn block(&mut self, name: &str) -> BlockId {
        let next = self.function.blocks.len() as u32;
        let id = *self.labels.entry(name.to_owned()).or_insert(next);
        if id == next {
            self.function.blocks.push(Block::default());
            self.begun.push(false);
        }
        BlockId(id)
    }

    /// One instruction, on one line.
    pub(crate) fn instruction(&mut self, line: &str) {
        let tokens = tokens(line);
        let place = debug_location(&tokens);
        let mut cursor = Cursor::new(&tokens);
        let result = match (cursor.peek(), cursor.peek_after(1)) {
            (Some(Token::Local(name)), Some(Token::Mark('='))) => {
                let register = self.names.get(name);
                cursor.return_to(2);
                Some(IrRegister(register))
            }
            _ => None,
        };
        let kind = self
            .kind(&mut cursor)
            .unwrap_or_else(|_| InstructionKind::Other(line.trim().to_owned()));
        self.function.blocks[self.current]
            .instructions
            .push(Instruction {
                result,
                kind,
                place,
            });
    }

    pub(crate) fn end(mut self) -> ParseResult<Function> {
        if let Some(missing) = self.begun.iter().position(|there| !there) {
            return Err(format!("block {missing} is not there"));
        }
        self.function.registers = self.names.len();
        Ok(self.function)
    }

    fn operand(&mut self, cursor: &mut Cursor) -> ParseResult<IrOperand> {
        IrOperand::read(cursor, &mut self.names)
    }

    fn typed(&mut self, cursor: &mut Cursor) -> ParseResult<Typed> {
        Typed::read(cursor, &mut self.names)
    }

    fn target(&mut self, cursor: &mut Cursor) -> ParseResult<BlockId> {
        cursor.expect_word("label")?;
        match cursor.next()? {
            Token::Local(name) => Ok(self.block(name)),
            other => Err(format!("a label expected, found {other:?}")),
        }
    }

    /// `ptr OPERAND`
    fn pointer(&mut self, cursor: &mut Cursor) -> ParseResult<IrOperand> {
        match cursor.types()? {
            Type::Pointer => self.operand(cursor),
            other => Err(format!("a pointer expected, found {other:?}")),
        }
    }

    fn kind(&mut self, cursor: &mut Cursor) -> ParseResult<InstructionKind> {
        let word = cursor.any_word()?;
        if let Some(op) = BinaryOp::named(word) {
            flags(cursor);
            let of = cursor.types()?;
            let a = self.operand(cursor)?;
            cursor.expect(',')?;
            let b = self.operand(cursor)?;
            return Ok(InstructionKind::Binary { op, of, a, b });
        }
        if let Some(op) = CastOp::named(word) {
            flags(cursor);
            let value = self.typed(cursor)?;
            cursor.expect_word("to")?;
            let to = cursor.types()?;
            return Ok(InstructionKind::Cast { op, value, to });
        }
        Ok(match word {
            "alloca" => self.alloca(cursor)?,
            "load" => self.load(cursor)?,
            "store" => self.store(cursor)?,
            "getelementptr" => {
                flags(cursor);
                let of = cursor.types()?;
                cursor.expect(',')?;
                let base = self.pointer(cursor)?;
                let mut indices = Vec::new();
                while cursor.is_mark(',') && !matches!(cursor.peek_after(1), Some(Token::Meta(_))) {
                    cursor.expect(',')?;
                    indices.push(self.typed(cursor)?);
                }
                InstructionKind::Gep { of, base, indices }
            }
            "icmp" => {
                let predicate = loop {
                    let word = cursor.any_word()?;
                    if let Some(found) = predicate(word) {
                        break found;
                    }
                };
                let of = cursor.types()?;
                let a = self.operand(cursor)?;
                cursor.expect(',')?;
                let b = self.operand(cursor)?;
                InstructionKind::Compare {
                    predicate,
                    of,
                    a,
                    b,
                }
            }
            "select" => {
                flags(cursor);
                let condition = self.typed(cursor)?;
                cursor.expect(',')?;
                let then = self.typed(cursor)?;
                cursor.expect(',')?;
                let otherwise = self.typed(cursor)?;
                InstructionKind::Select {
                    condition,
                    then,
                    otherwise,
                }
            }
            "phi" => {
                let of = cursor.types()?;
                let mut from = Vec::new();
                while cursor.mark('[') {
                    let value = self.operand(cursor)?;
                    cursor.expect(',')?;
                    let Token::Local(name) = cursor.next()? else {
                        return Err("a label expected".to_owned());
                    };
                    from.push((value, self.block(name)));
                    cursor.expect(']')?;
                    cursor.mark(',');
                }
                InstructionKind::Phi { of, from }
            }
            "tail" | "musttail" | "notail" => {
                cursor.expect_word("call")?;
                self.call(cursor)?
            }
            "call" | "invoke" => self.call(cursor)?,
            "extractvalue" => {
                let from = self.typed(cursor)?;
                let path = path(cursor)?;
                InstructionKind::Extract { from, path }
            }
            "insertvalue" => {
                let into = self.typed(cursor)?;
                cursor.expect(',')?;
                let value = self.typed(cursor)?;
                let path = path(cursor)?;
                InstructionKind::Insert { into, value, path }
            }
            "atomicrmw" => self.rmw(cursor)?,
            "cmpxchg" => {
                while cursor.word("weak") || cursor.word("volatile") {}
                let to = self.pointer(cursor)?;
                cursor.expect(',')?;
                let expected = self.typed(cursor)?;
                cursor.expect(',')?;
                let desired = self.typed(cursor)?;
                InstructionKind::CompareExchange {
                    to,
                    expected,
                    desired,
                }
            }
            "fence" => {
                scope(cursor)?;
                let order = order(cursor.any_word()?).ok_or("an ordering expected")?;
                InstructionKind::Fence { order }
            }
            "freeze" => InstructionKind::Freeze {
                value: self.typed(cursor)?,
            },
            "br" if cursor.is_word("label") => InstructionKind::Jump {
                to: self.target(cursor)?,
            },
            "br" => {
                cursor.types()?;
                let condition = self.operand(cursor)?;
                cursor.expect(',')?;
                let then = self.target(cursor)?;
                cursor.expect(',')?;
                let otherwise = self.target(cursor)?;
                InstructionKind::Branch {
                    condition,
                    then,
                    otherwise,
                }
            }
            "switch" => {
                let value = self.typed(cursor)?;
                cursor.expect(',')?;
                let otherwise = self.target(cursor)?;
                cursor.expect('[')?;
                let mut cases = Vec::new();
                while !cursor.mark(']') {
                    cursor.types()?;
                    let IrOperand::Constant(crate::Constant::Int(case)) = self.operand(cursor)?
                    else {
                        return Err("a case expected".to_owned());
                    };
                    cursor.expect(',')?;
                    cases.push((case as u64, self.target(cursor)?));
                }
                InstructionKind::Switch {
                    value,
                    cases,
                    otherwise,
                }
            }
            "ret" if cursor.word("void") => InstructionKind::Return { value: None },
            "ret" => InstructionKind::Return {
                value: Some(self.typed(cursor)?),
            },
            "unreachable" => InstructionKind::Unreachable,
            other => return Err(format!("`{other}` is not known")),
        })
    }
}
