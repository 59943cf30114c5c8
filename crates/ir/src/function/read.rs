//! Reading the body of a function.

use super::*;
use crate::cursor::{Cursor, Read};
use crate::operand::Names;
use crate::token::{Token, tokens};
use rustc_hash::FxHashMap;

/// A function that is being read.
#[derive(Debug)]
pub(crate) struct Reader {
    function: Function,
    names: Names,
    labels: FxHashMap<String, u32>,
    /// By block: is it there, or only spoken of?
    begun: Vec<bool>,
    current: usize,
}

impl Reader {
    /// From the line `define … {`.
    pub(crate) fn begin(line: &str) -> Read<Reader> {
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
        let mut reader = Reader {
            function: Function {
                name: name.clone(),
                returns,
                parameters: Vec::new(),
                blocks: vec![Block::default()],
                registers: 0,
            },
            names: Names::default(),
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
                register: Reg(register),
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
                Some(Reg(register))
            }
            _ => None,
        };
        let kind = self
            .kind(&mut cursor)
            .unwrap_or_else(|_| Kind::Other(line.trim().to_owned()));
        self.function.blocks[self.current]
            .instructions
            .push(Instruction {
                result,
                kind,
                place,
            });
    }

    pub(crate) fn end(mut self) -> Read<Function> {
        if let Some(missing) = self.begun.iter().position(|there| !there) {
            return Err(format!("block {missing} is not there"));
        }
        self.function.registers = self.names.len();
        Ok(self.function)
    }

    fn operand(&mut self, cursor: &mut Cursor) -> Read<Operand> {
        Operand::read(cursor, &mut self.names)
    }

    fn typed(&mut self, cursor: &mut Cursor) -> Read<Typed> {
        Typed::read(cursor, &mut self.names)
    }

    fn target(&mut self, cursor: &mut Cursor) -> Read<BlockId> {
        cursor.expect_word("label")?;
        match cursor.next()? {
            Token::Local(name) => Ok(self.block(name)),
            other => Err(format!("a label expected, found {other:?}")),
        }
    }

    /// `ptr OPERAND`
    fn pointer(&mut self, cursor: &mut Cursor) -> Read<Operand> {
        match cursor.types()? {
            Type::Pointer => self.operand(cursor),
            other => Err(format!("a pointer expected, found {other:?}")),
        }
    }

    fn kind(&mut self, cursor: &mut Cursor) -> Read<Kind> {
        let word = cursor.any_word()?;
        if let Some(op) = BinaryOp::named(word) {
            flags(cursor);
            let of = cursor.types()?;
            let a = self.operand(cursor)?;
            cursor.expect(',')?;
            let b = self.operand(cursor)?;
            return Ok(Kind::Binary { op, of, a, b });
        }
        if let Some(op) = CastOp::named(word) {
            flags(cursor);
            let value = self.typed(cursor)?;
            cursor.expect_word("to")?;
            let to = cursor.types()?;
            return Ok(Kind::Cast { op, value, to });
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
                Kind::Gep { of, base, indices }
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
                Kind::Compare {
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
                Kind::Select {
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
                Kind::Phi { of, from }
            }
            "tail" | "musttail" | "notail" => {
                cursor.expect_word("call")?;
                self.call(cursor)?
            }
            "call" | "invoke" => self.call(cursor)?,
            "extractvalue" => {
                let from = self.typed(cursor)?;
                let path = path(cursor)?;
                Kind::Extract { from, path }
            }
            "insertvalue" => {
                let into = self.typed(cursor)?;
                cursor.expect(',')?;
                let value = self.typed(cursor)?;
                let path = path(cursor)?;
                Kind::Insert { into, value, path }
            }
            "atomicrmw" => self.rmw(cursor)?,
            "cmpxchg" => {
                while cursor.word("weak") || cursor.word("volatile") {}
                let to = self.pointer(cursor)?;
                cursor.expect(',')?;
                let expected = self.typed(cursor)?;
                cursor.expect(',')?;
                let desired = self.typed(cursor)?;
                Kind::CompareExchange {
                    to,
                    expected,
                    desired,
                }
            }
            "fence" => {
                scope(cursor)?;
                let order = order(cursor.any_word()?).ok_or("an ordering expected")?;
                Kind::Fence { order }
            }
            "freeze" => Kind::Freeze {
                value: self.typed(cursor)?,
            },
            "br" if cursor.is_word("label") => Kind::Jump {
                to: self.target(cursor)?,
            },
            "br" => {
                cursor.types()?;
                let condition = self.operand(cursor)?;
                cursor.expect(',')?;
                let then = self.target(cursor)?;
                cursor.expect(',')?;
                let otherwise = self.target(cursor)?;
                Kind::Branch {
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
                    let Operand::Constant(crate::Constant::Int(case)) = self.operand(cursor)?
                    else {
                        return Err("a case expected".to_owned());
                    };
                    cursor.expect(',')?;
                    cases.push((case, self.target(cursor)?));
                }
                Kind::Switch {
                    value,
                    cases,
                    otherwise,
                }
            }
            "ret" if cursor.word("void") => Kind::Return { value: None },
            "ret" => Kind::Return {
                value: Some(self.typed(cursor)?),
            },
            "unreachable" => Kind::Unreachable,
            other => return Err(format!("`{other}` is not known")),
        })
    }

    fn alloca(&mut self, cursor: &mut Cursor) -> Read<Kind> {
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
        Ok(Kind::Alloca { of, count, align })
    }

    fn load(&mut self, cursor: &mut Cursor) -> Read<Kind> {
        let is_atomic = cursor.word("atomic");
        cursor.word("volatile");
        let of = cursor.types()?;
        cursor.expect(',')?;
        let from = self.pointer(cursor)?;
        let atomic = ordering(cursor, is_atomic)?;
        Ok(Kind::Load { of, from, atomic })
    }

    fn store(&mut self, cursor: &mut Cursor) -> Read<Kind> {
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
        Ok(Kind::Store {
            value,
            to,
            atomic,
            non_temporal,
        })
    }

    fn rmw(&mut self, cursor: &mut Cursor) -> Read<Kind> {
        cursor.word("volatile");
        let op = match cursor.any_word()? {
            "xchg" => RmwOp::Xchg,
            "add" => RmwOp::Add,
            "sub" => RmwOp::Sub,
            "and" => RmwOp::And,
            "nand" => RmwOp::Nand,
            "or" => RmwOp::Or,
            "xor" => RmwOp::Xor,
            "max" => RmwOp::Max,
            "min" => RmwOp::Min,
            "umax" => RmwOp::Umax,
            "umin" => RmwOp::Umin,
            other => return Err(format!("atomicrmw {other}")),
        };
        let to = self.pointer(cursor)?;
        cursor.expect(',')?;
        let value = self.typed(cursor)?;
        Ok(Kind::Rmw { op, to, value })
    }

    /// Behind `call` or `invoke`.
    fn call(&mut self, cursor: &mut Cursor) -> Read<Kind> {
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
            Token::Local(name) => Callee::Pointer(Operand::Reg(Reg(self.names.get(name)))),
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
        Ok(Kind::Call {
            callee,
            returns,
            arguments,
            then,
        })
    }
}

/// Goes past attributes of a parameter; the type of `byval(…)`.
fn attributes(cursor: &mut Cursor) -> Read<Option<Type>> {
    const VALUES: [&str; 6] = [
        "null",
        "undef",
        "poison",
        "zeroinitializer",
        "true",
        "false",
    ];
    let mut by_value = None;
    while let Some(Token::Word(word)) = cursor.peek() {
        let begins_value = VALUES.contains(&word.as_str())
            || word.parse::<i128>().is_ok()
            || word == "getelementptr"
            || word.starts_with("0x")
            || word.contains("e+")
            || word.contains("e-")
            || (CastOp::named(word).is_some() || BinaryOp::named(word).is_some());
        if begins_value {
            break;
        }
        cursor.next()?;
        match word.as_str() {
            "align" if !cursor.is_mark('(') => _ = cursor.number()?,
            "byval" => {
                cursor.expect('(')?;
                by_value = Some(cursor.types()?);
                cursor.expect(')')?;
            }
            _ if cursor.is_mark('(') => cursor.skip_parentheses()?,
            _ => {}
        }
    }
    Ok(by_value)
}

/// `nsw`, `inbounds`, `exact`, `disjoint`, `nneg`…
fn flags(cursor: &mut Cursor) {
    const FLAGS: [&str; 8] = [
        "nsw", "nuw", "exact", "inbounds", "nusw", "disjoint", "nneg", "samesign",
    ];
    while FLAGS.iter().any(|flag| cursor.word(flag)) {}
}

fn scope(cursor: &mut Cursor) -> Read<()> {
    match cursor.word("syncscope") {
        true => cursor.skip_parentheses(),
        false => Ok(()),
    }
}

fn ordering(cursor: &mut Cursor, is_atomic: bool) -> Read<Option<AtomicOrder>> {
    if !is_atomic {
        return Ok(None);
    }
    scope(cursor)?;
    let word = cursor.any_word()?;
    Ok(Some(order(word).ok_or_else(|| {
        format!("an ordering expected, found `{word}`")
    })?))
}

fn order(word: &str) -> Option<AtomicOrder> {
    Some(match word {
        "unordered" | "monotonic" => AtomicOrder::Relaxed,
        "acquire" => AtomicOrder::Acquire,
        "release" => AtomicOrder::Release,
        "acq_rel" => AtomicOrder::AcquireRelease,
        "seq_cst" => AtomicOrder::Sequential,
        _ => return None,
    })
}

fn predicate(word: &str) -> Option<Predicate> {
    Some(match word {
        "eq" => Predicate::Eq,
        "ne" => Predicate::Ne,
        "ugt" => Predicate::Ugt,
        "uge" => Predicate::Uge,
        "ult" => Predicate::Ult,
        "ule" => Predicate::Ule,
        "sgt" => Predicate::Sgt,
        "sge" => Predicate::Sge,
        "slt" => Predicate::Slt,
        "sle" => Predicate::Sle,
        _ => return None,
    })
}

fn path(cursor: &mut Cursor) -> Read<Vec<u64>> {
    let mut path = Vec::new();
    while cursor.is_mark(',') && !matches!(cursor.peek_after(1), Some(Token::Meta(_))) {
        cursor.expect(',')?;
        path.push(cursor.number()?);
    }
    Ok(path)
}

fn debug_location(tokens: &[Token]) -> Option<PlaceId> {
    let at = tokens
        .iter()
        .rposition(|token| matches!(token, Token::Meta(name) if name == "dbg"))?;
    match tokens.get(at + 1) {
        Some(Token::Meta(number)) => number.parse().ok().map(PlaceId),
        _ => None,
    }
}
