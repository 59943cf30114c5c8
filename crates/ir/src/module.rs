//! A module: what one or several source files compile to.

use crate::ReadError;
use crate::cursor::{Cursor, ParseResult};
use crate::function::{Function, FunctionReader};
use crate::layout::DataLayout;
use crate::operand::Constant;
use crate::place::{DebugPlaces, Place, PlaceId};
use crate::token::{Token, tokens};
use crate::types::Type;
use rustc_hash::FxHashMap;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Global {
    pub name: String,
    pub of: Type,
    /// None for one that is defined elsewhere.
    pub initial: Option<Constant>,
    pub align: u64,
    /// One for each thread.
    pub thread_local: bool,
}

#[derive(Clone, Default, Debug)]
pub struct Module {
    pub globals: Vec<Global>,
    pub functions: Vec<Function>,
    /// One function under two names.
    pub aliases: FxHashMap<String, String>,
    types: FxHashMap<String, Type>,
    places: DebugPlaces,
}

impl Module {
    pub fn read(text: &str) -> Result<Module, ReadError> {
        let mut module = Module::default();
        let mut function: Option<FunctionReader> = None;
        let mut lines = text.lines().enumerate().peekable();
        while let Some((number, line)) = lines.next() {
            let failed = |what: String| ReadError {
                line: number + 1,
                what,
            };
            if let Some(mut reader) = function.take() {
                if line == "}" {
                    module.functions.push(reader.end().map_err(failed)?);
                    continue;
                }
                let body = line.trim_start();
                if !line.starts_with(' ') {
                    if let Some(name) = label(line) {
                        reader.label(&name);
                    }
                } else if !body.is_empty() && !body.starts_with('#') && !body.starts_with(';') {
                    // What belongs to one instruction is indented further, but for the end of a switch.
                    let mut whole = line.to_owned();
                    while let Some((_, next)) = lines.peek() {
                        let more = next.starts_with("   ") && !next.trim_start().starts_with('#');
                        if !more && !next.starts_with("  ]") {
                            break;
                        }
                        whole.push(' ');
                        whole.push_str(next);
                        lines.next();
                    }
                    reader.instruction(&whole);
                }
                function = Some(reader);
            } else if line.starts_with("define") {
                function = Some(FunctionReader::begin(line).map_err(failed)?);
            } else if line.starts_with('@') {
                module.global(line).map_err(failed)?;
            } else if line.starts_with('%') {
                module.named_type(line).map_err(failed)?;
            } else if line.starts_with('!') {
                module.places.read(line);
            }
        }
        match function {
            None => Ok(module),
            Some(_) => Err(ReadError {
                line: text.lines().count(),
                what: "a function does not end".to_owned(),
            }),
        }
    }

    pub fn function(&self, name: &str) -> Option<&Function> {
        let name = self.aliases.get(name).map_or(name, String::as_str);
        self.functions.iter().find(|f| f.name == name)
    }

    pub fn layout(&self) -> DataLayout<'_> {
        DataLayout { named: &self.types }
    }

    pub fn place(&self, id: PlaceId) -> Option<Place> {
        self.places.get(id)
    }

    fn named_type(&mut self, line: &str) -> ParseResult<()> {
        let tokens = tokens(line);
        let mut cursor = Cursor::new(&tokens);
        let Token::Local(name) = cursor.next()? else {
            return Ok(());
        };
        cursor.expect('=')?;
        cursor.expect_word("type")?;
        let of = cursor.types()?;
        self.types.insert(name.clone(), of);
        Ok(())
    }

    fn global(&mut self, line: &str) -> ParseResult<()> {
        let tokens = tokens(line);
        let mut cursor = Cursor::new(&tokens);
        let Token::Global(name) = cursor.next()? else {
            return Ok(());
        };
        cursor.expect('=')?;
        let (mut external, mut thread_local) = (false, false);
        loop {
            match cursor.any_word()? {
                "global" | "constant" => break,
                "alias" => {
                    cursor.types()?;
                    cursor.expect(',')?;
                    cursor.types()?;
                    if let Token::Global(target) = cursor.next()? {
                        self.aliases.insert(name.clone(), target.clone());
                    }
                    return Ok(());
                }
                "external" | "extern_weak" => external = true,
                "thread_local" => {
                    thread_local = true;
                    if cursor.is_mark('(') {
                        cursor.skip_parentheses()?;
                    }
                }
                _ => {}
            }
        }
        let of = cursor.types()?;
        let initial = match external {
            true => None,
            false => Some(Constant::read(&mut cursor)?),
        };
        let mut align = 1;
        while let Ok(token) = cursor.next() {
            if matches!(token, Token::Word(word) if word == "align") {
                align = cursor.number().unwrap_or(1);
            }
        }
        self.globals.push(Global {
            name: name.clone(),
            of,
            initial,
            align,
            thread_local,
        });
        Ok(())
    }
}

/// `name:` with a comment behind it.
fn label(line: &str) -> Option<String> {
    let (name, _) = line.split_once(':')?;
    Some(name.trim_matches('"').to_owned())
}
