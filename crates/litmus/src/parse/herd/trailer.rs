//! What older files (those of the x86-CC and x86-TSO papers, Dat3M's among them) have behind the condition: a verdict for
//! each model, and instructions for drawing pictures.

use crate::expect::Quantifier;
use crate::parse::ParseError;
use crate::parse::cursor::{LitmusToken, TextCursor, quote};
use crate::parse::scope::list;

/// A block about pictures starts here.
pub(super) fn at_drawing(cursor: &mut TextCursor<'_>) -> bool {
    cursor.rest().starts_with("<<")
}

/// Something other than the condition starts here.
pub(super) fn starts(cursor: &mut TextCursor<'_>) -> bool {
    at_drawing(cursor)
        || matches!(cursor.peek(), LitmusToken::Word(word) if word.eq_ignore_ascii_case("with"))
}

/// `with tso: ~exists; cc: exists; default: exists;`: what is said of TSO, or else of every model that is not named.
pub(super) fn verdict_of_tso(
    cursor: &mut TextCursor<'_>,
) -> Result<Option<Quantifier>, ParseError> {
    let spot = cursor.spot();
    if !cursor.take_word("with") {
        return Ok(None);
    }
    let mut verdicts: Vec<(&str, Quantifier)> = Vec::new();
    while let LitmusToken::Word(_) = cursor.peek() {
        let (model, at) = cursor.word("the name of a model")?;
        if verdicts.iter().any(|(known, _)| *known == model) {
            let found = format!("a second verdict for {}", quote(model));
            return Err(at.error(found, "one for each model"));
        }
        cursor.expect(":", "`:` and the model's verdict")?;
        let never = cursor.take("~") || cursor.take_word("not");
        let quantifier = match (never, cursor.take_word("exists")) {
            (false, true) => Quantifier::Exists,
            (true, true) => Quantifier::Never,
            (true, false) => return Err(cursor.unexpected("`exists` after `~`")),
            (false, false) if cursor.take_word("forall") => Quantifier::Always,
            _ => return Err(cursor.unexpected("`exists`, `~exists` or `forall`")),
        };
        cursor.expect(";", "`;` after the verdict")?;
        verdicts.push((model, quantifier));
    }
    let of = |wanted: &str| verdicts.iter().find(|(model, _)| *model == wanted);
    match of("tso").or(of("default")) {
        Some((_, quantifier)) => Ok(Some(quantifier.clone())),
        None => {
            let found = match verdicts.is_empty() {
                true => "`with` and no verdict".to_owned(),
                false => format!("verdicts for {} only", list(verdicts.iter().map(|v| v.0))),
            };
            Err(spot.error(found, "one for `tso` or `default`"))
        }
    }
}

/// `<< show 0; essdump a.dot >>`, any number of them.
pub(super) fn skip_drawings(cursor: &mut TextCursor<'_>) -> Result<(), ParseError> {
    while let Some(inside) = cursor.rest().strip_prefix("<<") {
        let Some(length) = inside.find(">>") else {
            let found = "a `<<` that nothing closes";
            return Err(cursor.spot().error(found, "a `>>` at the end of the block"));
        };
        cursor.advance("<<".len() + length + ">>".len());
    }
    Ok(())
}
