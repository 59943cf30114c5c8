//! herd7's X86 `.litmus` files: a header, an initial state, a table of instructions, and a question.

mod column;
mod emit;
mod header;
mod init;
mod mnemonic;
mod trailer;

use super::ParseError;
use super::condition::{Growth, Observed, condition, place};
use super::cursor::{LitmusDialect, LitmusToken, TextCursor, TextSpot};
use super::scope::{NameScope, NamedRegisters, x86_register};
use crate::expect::{Expectation, Quantifier};
use crate::program::{Observe, Place, Program, Test};
use column::ThreadReader;
use landfall_model::order::Platform;

pub(crate) fn parse(text: &str) -> Result<Test, ParseError> {
    let mut cursor = TextCursor::new(text, TextSpot::START, LitmusDialect::Herd);
    let header = header::header(&mut cursor)?;
    let mut scope = NameScope::new(NamedRegisters::X86);
    let held = init::initial_state(&mut cursor, &mut scope)?;
    column_heads(&mut cursor, &mut scope)?;
    held.set_registers(&mut scope)?;
    rows(&mut cursor, &mut scope)?;
    held.refuse_arrays(&scope)?;
    let locations = locations(&mut cursor, &scope)?;

    let mut observed = Observed {
        places: Vec::new(),
        growth: Growth::Open,
    };
    let (question, asked) = match question(&mut cursor, &scope, &mut observed)? {
        Some((question, asked)) => (Some(question), asked),
        None => (None, None),
    };
    if observed.places.is_empty() {
        observed.places = registers(&scope.program);
    }
    for place in locations {
        if !observed.places.contains(&place) {
            observed.places.push(place);
        }
    }
    if observed.places.is_empty() {
        // Threads that only store: the memory is all there is to look at.
        observed.places = scope
            .program
            .vars
            .iter()
            .filter_map(|v| scope.var(&v.name))
            .map(Place::Var)
            .collect();
    }
    Ok(Test {
        name: header.name,
        program: scope.program,
        observe: Observe::Final(observed.places),
        platform: Platform::Adr,
        expect: question.into_iter().collect(),
        asked,
        source: header.source,
    })
}

/// ` P0 | P1 ;`
fn column_heads(cursor: &mut TextCursor<'_>, scope: &mut NameScope) -> Result<(), ParseError> {
    // Some write `{ };`.
    cursor.take(";");
    loop {
        let head = format!("P{}", scope.program.threads.len());
        let spot = cursor.spot();
        if !cursor.take_word(&head) {
            return Err(
                cursor.unexpected(format!("`{head}`, the head of the next thread's column"))
            );
        }
        scope.add_thread(spot)?;
        if cursor.take(";") {
            return Ok(());
        }
        cursor.expect("|", "`|` before the next thread, or `;` after the last one")?;
    }
}

const NOTHING_MORE: &str = "`<<`, or the end of the file";

const FINAL_WORDS: [&str; 6] = [
    "locations",
    "filter",
    "exists",
    "forall",
    "final",
    "observed",
];

fn at_final_section(cursor: &mut TextCursor<'_>) -> bool {
    if trailer::at_drawing(cursor) {
        return true;
    }
    match cursor.peek() {
        LitmusToken::End(_) | LitmusToken::Sign("~" | "(") => true,
        LitmusToken::Word(word) if word.eq_ignore_ascii_case("not") => {
            matches!(cursor.peek_second(), LitmusToken::Word(w) if w.eq_ignore_ascii_case("exists"))
        }
        LitmusToken::Word(word) => FINAL_WORDS.iter().any(|f| f.eq_ignore_ascii_case(word)),
        _ => false,
    }
}

fn rows(cursor: &mut TextCursor<'_>, scope: &mut NameScope) -> Result<(), ParseError> {
    let count = scope.program.threads.len();
    let mut threads: Vec<ThreadReader<'_>> = (0..count).map(ThreadReader::new).collect();
    while !at_final_section(cursor) {
        let mut columns = threads.iter_mut();
        loop {
            let Some(thread) = columns.next() else {
                return Err(
                    cursor.unexpected(format!("the row's `;`: there are only {count} threads"))
                );
            };
            thread.cell(cursor, scope)?;
            if cursor.take(";") {
                break;
            }
            cursor.expect(
                "|",
                "`|` before the next thread's instruction, or `;` at the end of the row",
            )?;
        }
    }
    for thread in threads {
        thread.finish(scope)?;
    }
    Ok(())
}

/// `locations [x; 0:EAX int;]`: what C type to print a place with does not matter here.
fn locations(cursor: &mut TextCursor<'_>, scope: &NameScope) -> Result<Vec<Place>, ParseError> {
    let mut places = Vec::new();
    if !cursor.take_word("locations") {
        return Ok(places);
    }
    cursor.expect("[", "`[` and the places to observe")?;
    while !cursor.take("]") {
        if cursor.take(";") {
            continue;
        }
        places.push(place(cursor, scope)?.0);
        while matches!(cursor.peek(), LitmusToken::Word(_) | LitmusToken::Sign("*")) {
            cursor.next();
        }
        if !matches!(cursor.peek(), LitmusToken::Sign(";" | "]")) {
            return Err(cursor.unexpected("`;` or `]`"));
        }
    }
    Ok(places)
}

/// What is expected of the condition, and what is asked of it where that is another thing.
fn question(
    cursor: &mut TextCursor<'_>,
    scope: &NameScope,
    observed: &mut Observed,
) -> Result<Option<(Expectation, Option<Quantifier>)>, ParseError> {
    if trailer::at_drawing(cursor) || cursor.at_end() {
        trailer::skip_drawings(cursor)?;
        cursor.end(NOTHING_MORE)?;
        return Ok(None);
    }
    let spot = cursor.spot();
    // Only there a verdict for each model may follow.
    let old =
        matches!(cursor.peek(), LitmusToken::Word(word) if word.eq_ignore_ascii_case("final"));
    let quantifier = if cursor.take("~") || cursor.take_word("not") {
        if !cursor.take_word("exists") {
            return Err(cursor.unexpected("`exists` after `~`"));
        }
        Quantifier::Never
    } else if cursor.take_word("exists")
        || cursor.take_word("final")
        || cursor.peek() == LitmusToken::Sign("(")
    {
        // Like herd: `final` and a condition on its own are older ways to write `exists`.
        Quantifier::Exists
    } else if cursor.take_word("forall") {
        Quantifier::Always
    } else if cursor.take_word("filter") {
        let expected = "`exists`, `~exists` or `forall` (filters are not supported)";
        return Err(spot.error("`filter`", expected));
    } else if cursor.take_word("observed") {
        let expected = "`exists`, `~exists` or `forall` (lists of outcomes are not supported)";
        return Err(spot.error("`observed`", expected));
    } else {
        return Err(
            cursor.unexpected("`locations`, `exists`, `~exists`, `forall` or the end of the file")
        );
    };
    let mut start = cursor.clone();
    let prop = condition(cursor, scope, observed)?;
    let closed = cursor.take(";");
    let said = match old {
        true => trailer::verdict_of_tso(cursor)?,
        false => None,
    };
    let (quantifier, asked) = match said {
        Some(said) => (said, Some(quantifier)),
        None => (quantifier, None),
    };
    trailer::skip_drawings(cursor)?;
    cursor.end(match closed {
        true => NOTHING_MORE,
        false => "`/\\`, `\\/`, `=>` or the end of the file",
    })?;
    let expectation = Expectation {
        quantifier,
        prop,
        text: wording(&mut start),
    };
    Ok(Some((expectation, asked)))
}

/// The condition up to its `;`, what follows the question, or the end of the file, in the file's words, without its comments and outermost parentheses.
fn wording(cursor: &mut TextCursor<'_>) -> String {
    let mut words = String::new();
    let mut depth = 0usize;
    let mut after_word = false;
    // Can the first parenthesis be left out? Only if nothing follows the one that closes it.
    let mut wrapped = cursor.peek() == LitmusToken::Sign("(");
    let done = |cursor: &mut TextCursor<'_>| {
        matches!(cursor.peek(), LitmusToken::Sign(";") | LitmusToken::End(_))
            || trailer::starts(cursor)
    };
    while !done(cursor) {
        let token = cursor.next();
        let is_word = matches!(token, LitmusToken::Word(_) | LitmusToken::Number { .. });
        match token {
            LitmusToken::Word(text) | LitmusToken::Number { text, .. } => {
                if after_word {
                    words.push(' ');
                }
                words.push_str(text);
            }
            LitmusToken::Sign(sign @ ("/\\" | "\\/" | "=>")) => {
                words.push(' ');
                words.push_str(sign);
                words.push(' ');
            }
            LitmusToken::Sign(sign) => {
                if after_word && sign == "(" {
                    words.push(' ');
                }
                match sign {
                    "(" => depth += 1,
                    ")" => depth = depth.saturating_sub(1),
                    _ => {}
                }
                words.push_str(sign);
                wrapped &= depth > 0 || done(cursor);
            }
            _ => {}
        }
        after_word = is_word;
    }
    let inner = words.strip_prefix('(').and_then(|w| w.strip_suffix(')'));
    match inner {
        Some(inner) if wrapped => inner.to_owned(),
        _ => words,
    }
}

/// All registers a file names; the one that stands in for a memory operand is not among them.
fn registers(program: &Program) -> Vec<Place> {
    let mut places = program.registers();
    places.retain(|place| match *place {
        Place::Reg { thread, reg } => x86_register(program.reg_name(thread.into(), reg)).is_some(),
        Place::Var(_) => false,
    });
    places
}
