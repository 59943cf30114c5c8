//! What stands before the initial state: architecture, name, doc string, `Key=value` lines.

use crate::parse::ParseError;
use crate::parse::cursor::{LitmusToken, TextCursor, quote};
use crate::parse::lit::one_spaced;

pub(super) struct HerdHeader {
    pub(super) name: String,
    /// The doc string, or the `Key=value` lines where there is none.
    pub(super) source: String,
}

pub(super) fn header(cursor: &mut TextCursor<'_>) -> Result<HerdHeader, ParseError> {
    let first = line(cursor.rest());
    let architecture = first.split_whitespace().next().unwrap_or("");
    if !architecture.eq_ignore_ascii_case("X86") {
        let found = match architecture {
            "" => "an empty file".to_owned(),
            other => quote(other),
        };
        return Err(cursor.spot().error(
            found,
            "`X86` and the test's name: X86 is the architecture Landfall reads",
        ));
    }
    let name_spot = cursor.spot().after(architecture);
    cursor.advance(architecture.len());
    let rest = first.get(architecture.len()..).unwrap_or("");
    let until = rest.find('"').into_iter().chain(rest.find("(*")).min();
    let name = rest.get(..until.unwrap_or(rest.len())).unwrap_or("").trim();
    if name.is_empty() {
        return Err(name_spot.error("no name", "the test's name after `X86`"));
    }
    cursor.rest();
    cursor.advance(name.len());

    let mut docs = Vec::new();
    let mut metadata = Vec::new();
    loop {
        let rest = cursor.rest();
        if rest.starts_with('{') {
            break;
        }
        if let Some(doc) = rest.strip_prefix('"') {
            let Some(length) = doc.find('"') else {
                return Err(cursor.spot().error(
                    "a doc string that nothing closes",
                    "a `\"` at the end of the doc string",
                ));
            };
            docs.push(one_spaced(doc.get(..length).unwrap_or("")));
            cursor.advance(length + 2);
            continue;
        }
        if matches!(
            cursor.peek(),
            LitmusToken::End(_) | LitmusToken::UnclosedComment
        ) {
            return Err(cursor.unexpected(
                "a doc string in quotes, a `Key=value` line, or the initial state `{ … }`",
            ));
        }
        let line = line(rest);
        let key = line.split_once('=').map_or("", |(key, _)| key);
        if !key.is_empty() && !key.contains('{') {
            metadata.push(one_spaced(line));
            cursor.advance(line.len());
        } else {
            // herd reads over anything else.
            cursor.advance(line.find('{').unwrap_or(line.len()));
        }
    }
    let source = if docs.is_empty() { metadata } else { docs };
    Ok(HerdHeader {
        name: one_spaced(name),
        source: source.join("; "),
    })
}

fn line(text: &str) -> &str {
    text.lines().next().unwrap_or("")
}
