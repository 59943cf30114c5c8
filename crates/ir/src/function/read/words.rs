//! Words of instructions: flags, orderings, predicates, attributes.

use crate::cursor::{Cursor, ParseResult};
use crate::function::*;
use crate::token::Token;

/// Goes past attributes of a parameter; the type of `byval(…)`.
pub(super) fn attributes(cursor: &mut Cursor) -> ParseResult<Option<Type>> {
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
pub(super) fn flags(cursor: &mut Cursor) {
    const FLAGS: [&str; 8] = [
        "nsw", "nuw", "exact", "inbounds", "nusw", "disjoint", "nneg", "samesign",
    ];
    while FLAGS.iter().any(|flag| cursor.word(flag)) {}
}

pub(super) fn scope(cursor: &mut Cursor) -> ParseResult<()> {
    match cursor.word("syncscope") {
        true => cursor.skip_parentheses(),
        false => Ok(()),
    }
}

pub(super) fn ordering(cursor: &mut Cursor, is_atomic: bool) -> ParseResult<Option<AtomicOrder>> {
    if !is_atomic {
        return Ok(None);
    }
    scope(cursor)?;
    let word = cursor.any_word()?;
    Ok(Some(order(word).ok_or_else(|| {
        format!("an ordering expected, found `{word}`")
    })?))
}

pub(super) fn order(word: &str) -> Option<AtomicOrder> {
    Some(match word {
        "unordered" | "monotonic" => AtomicOrder::Relaxed,
        "acquire" => AtomicOrder::Acquire,
        "release" => AtomicOrder::Release,
        "acq_rel" => AtomicOrder::AcquireRelease,
        "seq_cst" => AtomicOrder::Sequential,
        _ => return None,
    })
}

pub(super) fn predicate(word: &str) -> Option<Predicate> {
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

pub(super) fn path(cursor: &mut Cursor) -> ParseResult<Vec<u64>> {
    let mut path = Vec::new();
    while cursor.is_mark(',') && !matches!(cursor.peek_after(1), Some(Token::Meta(_))) {
        cursor.expect(',')?;
        path.push(cursor.number()?);
    }
    Ok(path)
}

pub(super) fn debug_location(tokens: &[Token]) -> Option<PlaceId> {
    let at = tokens
        .iter()
        .rposition(|token| matches!(token, Token::Meta(name) if name == "dbg"))?;
    match tokens.get(at + 1) {
        Some(Token::Meta(number)) => number.parse().ok().map(PlaceId),
        _ => None,
    }
}
