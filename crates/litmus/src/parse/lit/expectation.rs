//! The entries of a `.lit` file that say what its outcomes are.

use super::{LitLine, one_spaced};
use crate::expect::{Expectation, Prop, Quantifier};
use crate::parse::ParseError;
use crate::parse::condition::{Growth, Observed, condition, observed_place};
use crate::parse::cursor::{LitmusDialect, LitmusToken, TextCursor, TextSpot};
use crate::parse::scope::{NameScope, NamedRegisters};
use crate::program::{LitmusProgram, Location};

/// Adds what an entry expects; other entries expect nothing.
pub(super) fn expectations(
    entry: &LitLine<'_>,
    scope: &NameScope,
    observed: &mut Observed,
    expect: &mut Vec<Expectation>,
) -> Result<(), ParseError> {
    let quantifier = match entry.key {
        "allowed" | "exactly" | "exists" => Quantifier::Exists,
        "forbidden" | "never" => Quantifier::Never,
        "always" => Quantifier::Always,
        _ => return Ok(()),
    };
    let mut cursor = entry.cursor();
    if matches!(entry.key, "exists" | "never" | "always") {
        let prop = condition(&mut cursor, scope, observed)?;
        cursor.end("`/\\`, `\\/`, `=>` or the end of the line")?;
        expect.push(Expectation {
            quantifier,
            prop,
            text: one_spaced(entry.value),
        });
        return Ok(());
    }
    let mut listed = Vec::new();
    loop {
        let before = cursor.rest();
        let prop = outcome(&mut cursor, scope, observed)?;
        let after = cursor.rest().len();
        let text = before.get(..before.len() - after).unwrap_or(before);
        listed.push(Expectation {
            quantifier: quantifier.clone(),
            prop,
            text: one_spaced(text),
        });
        if cursor.at_end() {
            break;
        }
        cursor.expect(";", "another `place=value`, `;` or the end of the line")?;
        if cursor.at_end() {
            break;
        }
    }
    let no_others = (entry.key == "exactly").then(|| Expectation {
        quantifier: Quantifier::Always,
        prop: Prop::Or(listed.iter().map(|e| e.prop.clone()).collect()),
        text: join_outcomes(&listed),
    });
    expect.extend(listed);
    expect.extend(no_others);
    Ok(())
}

pub(crate) fn join_outcomes(listed: &[Expectation]) -> String {
    let texts: Vec<&str> = listed.iter().map(|e| e.text.as_str()).collect();
    texts.join("; ")
}

/// `x=1 T0:r=2`: equations that hold together, none of them about the same place.
fn outcome(
    cursor: &mut TextCursor<'_>,
    scope: &NameScope,
    observed: &mut Observed,
) -> Result<Prop, ParseError> {
    let mut equations = Vec::new();
    let mut named = Vec::new();
    while !matches!(cursor.peek(), LitmusToken::Sign(";") | LitmusToken::End(_)) {
        let (index, spot) = observed_place(cursor, scope, observed)?;
        if named.contains(&index) {
            return Err(spot.error("a place named before", "each place once in an outcome"));
        }
        named.push(index);
        cursor.expect("=", "`=` and a value")?;
        equations.push(Prop::Eq(index, cursor.value("a number")?));
    }
    if equations.is_empty() {
        return Err(cursor.unexpected("an outcome such as `x=1 T0:r1=0`"));
    }
    Ok(Prop::And(equations))
}

/// Reads an outcome of a finished test: how the printer knows whether a text says what a proposition means.
pub(crate) fn parse_outcome(
    text: &str,
    program: &LitmusProgram,
    places: &[Location],
) -> Option<Prop> {
    reread(text, program, places, outcome)
}

/// Reads a condition of a finished test, for the printer.
pub(crate) fn parse_condition(
    text: &str,
    program: &LitmusProgram,
    places: &[Location],
) -> Option<Prop> {
    reread(text, program, places, condition)
}

fn reread(
    text: &str,
    program: &LitmusProgram,
    places: &[Location],
    read: impl Fn(&mut TextCursor<'_>, &NameScope, &mut Observed) -> Result<Prop, ParseError>,
) -> Option<Prop> {
    let scope = NameScope {
        program: program.clone(),
        registers: NamedRegisters::Named,
    };
    let mut observed = Observed {
        places: places.to_vec(),
        growth: Growth::Fixed("the test"),
    };
    let mut cursor = TextCursor::new(text, TextSpot::START, LitmusDialect::LitLine);
    let prop = read(&mut cursor, &scope, &mut observed).ok()?;
    cursor.at_end().then_some(prop)
}
