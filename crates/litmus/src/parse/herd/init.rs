//! The initial state: `{ x=0; int y=1; 0:EAX=1; int unused[2]; }`. C types do not matter here.

use super::emit;
use crate::parse::ParseError;
use crate::parse::cursor::{LitmusToken, TextCursor, TextSpot, quote};
use crate::parse::scope::{NameScope, unknown_thread, whole_register, x86_register};
use crate::program::Value;

/// What has to wait until the threads are known.
#[derive(Default)]
pub(super) struct InitialValue<'a> {
    registers: Vec<RegisterInit<'a>>,
    arrays: Vec<(&'a str, TextSpot)>,
}

struct RegisterInit<'a> {
    thread: usize,
    name: &'a str,
    spot: TextSpot,
    value: Value,
}

impl InitialValue<'_> {
    pub(super) fn set_registers(&self, scope: &mut NameScope) -> Result<(), ParseError> {
        for init in &self.registers {
            let count = scope.program.threads.len();
            if init.thread >= count {
                return Err(unknown_thread(init.thread, count, init.spot));
            }
            let reg = scope.reg_or_new(init.thread, init.name, init.spot)?;
            scope.set_reg(init.thread, reg, init.value);
        }
        Ok(())
    }

    /// An array does no harm as long as nothing uses it.
    pub(super) fn refuse_arrays(&self, scope: &NameScope) -> Result<(), ParseError> {
        match self
            .arrays
            .iter()
            .find(|(name, _)| scope.var(name).is_some())
        {
            None => Ok(()),
            Some((name, spot)) => {
                let found = format!("the array {}, which the test uses", quote(name));
                Err(spot.error(found, "a variable (arrays are not supported)"))
            }
        }
    }
}

pub(super) fn initial_state<'a>(
    cursor: &mut TextCursor<'a>,
    scope: &mut NameScope,
) -> Result<InitialValue<'a>, ParseError> {
    let mut held = InitialValue::default();
    cursor.expect("{", "the initial state `{ … }`")?;
    loop {
        if cursor.take("}") {
            return Ok(held);
        }
        if cursor.take(";") {
            continue;
        }
        entry(cursor, scope, &mut held)?;
        if !matches!(cursor.peek(), LitmusToken::Sign(";" | "}")) {
            return Err(cursor.unexpected("`;` or the `}` of the initial state"));
        }
    }
}

fn entry<'a>(
    cursor: &mut TextCursor<'a>,
    scope: &mut NameScope,
    held: &mut InitialValue<'a>,
) -> Result<(), ParseError> {
    // The last of the words is the name, unless a register or `[x]` follows: the others are its type.
    let mut named = None;
    while let LitmusToken::Word(word) = cursor.peek() {
        let spot = cursor.spot();
        if cursor.peek_second() == LitmusToken::Sign(":") {
            break;
        }
        cursor.next();
        named = Some((word, spot));
    }
    match (cursor.peek(), cursor.peek_second(), named) {
        (LitmusToken::Number { .. } | LitmusToken::Word(_), _, _) => {
            held.registers.push(register_init(cursor)?);
            Ok(())
        }
        (LitmusToken::Sign("["), LitmusToken::Number { .. }, Some(named)) => {
            held.arrays.push(named);
            array(cursor)
        }
        (LitmusToken::Sign("["), _, _) => {
            cursor.next();
            let (name, spot) = cursor.word("a variable")?;
            cursor.expect("]", "`]` after the variable")?;
            variable_init(cursor, scope, name, spot)
        }
        (LitmusToken::Sign("*"), _, Some(_)) => {
            Err(cursor.unexpected("`=`, `;` or `}` (pointers are not supported)"))
        }
        (_, _, Some((name, spot))) => variable_init(cursor, scope, name, spot),
        (_, _, None) => Err(cursor
            .unexpected("a variable, a register such as `0:EAX`, or the `}` of the initial state")),
    }
}

/// `0:EAX=1`, `P0:EAX=1`, or without a value.
fn register_init<'a>(cursor: &mut TextCursor<'a>) -> Result<RegisterInit<'a>, ParseError> {
    let spot = cursor.spot();
    let thread = match cursor.peek() {
        LitmusToken::Word(word) => {
            cursor.next();
            let number = word.strip_prefix('P').and_then(|n| n.parse().ok());
            number.ok_or_else(|| spot.error(quote(word), "a thread such as `P0` before the `:`"))?
        }
        _ => cursor.value("a thread's number")?,
    };
    cursor.expect(":", "`:` and a register after the thread's number")?;
    let (name, at) = cursor.word("a register")?;
    whole_register(name, at)?;
    if x86_register(name).is_none() {
        return Err(at.error(quote(name), emit::A_REGISTER));
    }
    let value = if cursor.take("=") {
        init_value(cursor)?
    } else {
        0
    };
    Ok(RegisterInit {
        thread: usize::try_from(thread).unwrap_or(usize::MAX),
        name,
        spot,
        value,
    })
}

fn variable_init(
    cursor: &mut TextCursor<'_>,
    scope: &mut NameScope,
    name: &str,
    spot: TextSpot,
) -> Result<(), ParseError> {
    let var = emit::variable_named(scope, name, spot)?;
    if cursor.take("=") {
        let value = init_value(cursor)?;
        scope.set_var(var, value);
    }
    Ok(())
}

/// `[2]`, or `[2]={0,0}`.
fn array(cursor: &mut TextCursor<'_>) -> Result<(), ParseError> {
    cursor.next();
    cursor.value("the length of the array")?;
    cursor.expect("]", "`]` after the length of the array")?;
    if !cursor.take("=") {
        return Ok(());
    }
    cursor.expect("{", "`{` and the array's values")?;
    while !cursor.take("}") {
        init_value(cursor)?;
        if !cursor.take(",") && cursor.peek() != LitmusToken::Sign("}") {
            return Err(cursor.unexpected("`,` or the `}` of the array"));
        }
    }
    Ok(())
}

fn init_value(cursor: &mut TextCursor<'_>) -> Result<Value, ParseError> {
    match cursor.peek() {
        LitmusToken::Word(_) => {
            Err(cursor.unexpected("a number (addresses as values are not supported)"))
        }
        _ => cursor.value("a number"),
    }
}
