//! herd7's X86 `.litmus` files: a header, an initial state, a table of instructions, and a question.

mod column;
mod emit;
mod header;

use super::ParseError;
use super::condition::{Growth, Observed, condition, place};
use super::cursor::{Cursor, Dialect, Spot, Token, quote};
use super::scope::{Registers, Scope, unknown_thread, x86_register};
use crate::expect::{Expectation, Quantifier};
use crate::program::{Observe, Place, Reg, Test, Value};
use column::ThreadReader;
use landfall_model::order::Platform;

/// An `0:EAX=1` of the initial state, held back until the threads are known.
struct RegisterInit<'a> {
    thread: usize,
    name: &'a str,
    spot: Spot,
    value: Value,
}

pub(crate) fn parse(text: &str) -> Result<Test, ParseError> {
    let mut cursor = Cursor::new(text, Spot::START, Dialect::Herd);
    let header = header::header(&mut cursor)?;
    let mut scope = Scope::new(Registers::X86);
    let inits = initial_state(&mut cursor, &mut scope)?;
    column_heads(&mut cursor, &mut scope)?;
    for init in inits {
        let count = scope.program.threads.len();
        if init.thread >= count {
            return Err(unknown_thread(init.thread, count, init.spot));
        }
        let reg = scope.reg_or_new(init.thread, init.name, init.spot)?;
        scope.set_reg(init.thread, reg, init.value);
    }
    rows(&mut cursor, &mut scope)?;
    let locations = locations(&mut cursor, &scope)?;

    let mut observed = Observed {
        places: Vec::new(),
        growth: Growth::Open,
    };
    let question = question(&mut cursor, &scope, &mut observed)?;
    if observed.places.is_empty() {
        observed.places = registers(&scope);
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
        source: header.source,
    })
}

/// `{ x=0; int y=1; 0:EAX=1; }`
fn initial_state<'a>(
    cursor: &mut Cursor<'a>,
    scope: &mut Scope,
) -> Result<Vec<RegisterInit<'a>>, ParseError> {
    let mut registers = Vec::new();
    cursor.expect("{", "the initial state `{ … }`")?;
    loop {
        if cursor.take("}") {
            return Ok(registers);
        }
        if cursor.take(";") {
            continue;
        }
        match cursor.peek() {
            Token::Number { .. } => registers.push(register_init(cursor)?),
            Token::Sign("[") => {
                cursor.next();
                let (name, spot) = cursor.word("a variable")?;
                cursor.expect("]", "`]` after the variable")?;
                variable_init(cursor, scope, name, spot)?;
            }
            _ => {
                let expected =
                    "a variable, a register such as `0:EAX`, or the `}` of the initial state";
                let (mut name, mut spot) = cursor.word(expected)?;
                // The words before the last one are its C type, which does not matter here.
                while let Token::Word(_) = cursor.peek() {
                    (name, spot) = cursor.word(expected)?;
                }
                if let Token::Sign("*" | "[") = cursor.peek() {
                    return Err(cursor
                        .unexpected("`=`, `;` or `}` (pointers and arrays are not supported)"));
                }
                variable_init(cursor, scope, name, spot)?;
            }
        }
        if !matches!(cursor.peek(), Token::Sign(";" | "}")) {
            return Err(cursor.unexpected("`;` or the `}` of the initial state"));
        }
    }
}

fn register_init<'a>(cursor: &mut Cursor<'a>) -> Result<RegisterInit<'a>, ParseError> {
    let spot = cursor.spot();
    let number = cursor.value("a thread's number")?;
    cursor.expect(":", "`:` and a register after the thread's number")?;
    let (name, at) = cursor.word("a register")?;
    if x86_register(name).is_none() {
        return Err(at.error(quote(name), emit::A_REGISTER));
    }
    cursor.expect("=", "`=` and an initial value")?;
    let value = init_value(cursor)?;
    Ok(RegisterInit {
        thread: usize::try_from(number).unwrap_or(usize::MAX),
        name,
        spot,
        value,
    })
}

fn variable_init(
    cursor: &mut Cursor<'_>,
    scope: &mut Scope,
    name: &str,
    spot: Spot,
) -> Result<(), ParseError> {
    let var = emit::variable_named(scope, name, spot)?;
    if cursor.take("=") {
        let value = init_value(cursor)?;
        scope.set_var(var, value);
    }
    Ok(())
}

fn init_value(cursor: &mut Cursor<'_>) -> Result<Value, ParseError> {
    match cursor.peek() {
        Token::Word(_) => {
            Err(cursor.unexpected("a number (addresses as values are not supported)"))
        }
        _ => cursor.value("a number"),
    }
}

/// ` P0 | P1 ;`
fn column_heads(cursor: &mut Cursor<'_>, scope: &mut Scope) -> Result<(), ParseError> {
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

const FINAL_WORDS: [&str; 5] = ["locations", "filter", "exists", "forall", "final"];

fn at_final_section(cursor: &mut Cursor<'_>) -> bool {
    match cursor.peek() {
        Token::End(_) | Token::Sign("~") => true,
        Token::Word(word) => FINAL_WORDS.iter().any(|f| f.eq_ignore_ascii_case(word)),
        _ => false,
    }
}

fn rows(cursor: &mut Cursor<'_>, scope: &mut Scope) -> Result<(), ParseError> {
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

/// `locations [x; 0:EAX;]`
fn locations(cursor: &mut Cursor<'_>, scope: &Scope) -> Result<Vec<Place>, ParseError> {
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
        if !matches!(cursor.peek(), Token::Sign(";" | "]")) {
            return Err(cursor.unexpected("`;` or `]`"));
        }
    }
    Ok(places)
}

fn question(
    cursor: &mut Cursor<'_>,
    scope: &Scope,
    observed: &mut Observed,
) -> Result<Option<Expectation>, ParseError> {
    if cursor.at_end() {
        return Ok(None);
    }
    let spot = cursor.spot();
    let quantifier = if cursor.take("~") {
        if !cursor.take_word("exists") {
            return Err(cursor.unexpected("`exists` after `~`"));
        }
        Quantifier::Never
    } else if cursor.take_word("exists") {
        Quantifier::Exists
    } else if cursor.take_word("forall") {
        Quantifier::Always
    } else if cursor.take_word("filter") {
        let expected = "`exists`, `~exists` or `forall` (filters are not supported)";
        return Err(spot.error("`filter`", expected));
    } else {
        return Err(
            cursor.unexpected("`locations`, `exists`, `~exists`, `forall` or the end of the file")
        );
    };
    let mut start = cursor.clone();
    let prop = condition(cursor, scope, observed)?;
    cursor.end("`/\\`, `\\/`, `=>` or the end of the file")?;
    Ok(Some(Expectation {
        quantifier,
        prop,
        text: wording(&mut start),
    }))
}

/// The condition up to the end of the file in the file's words, without its comments and outermost parentheses.
fn wording(cursor: &mut Cursor<'_>) -> String {
    let mut words = String::new();
    let mut depth = 0usize;
    let mut after_word = false;
    // Can the first parenthesis be left out? Only if nothing follows the one that closes it.
    let mut wrapped = cursor.peek() == Token::Sign("(");
    while !cursor.at_end() {
        let token = cursor.next();
        let is_word = matches!(token, Token::Word(_) | Token::Number { .. });
        match token {
            Token::Word(text) | Token::Number { text, .. } => {
                if after_word {
                    words.push(' ');
                }
                words.push_str(text);
            }
            Token::Sign(sign @ ("/\\" | "\\/" | "=>")) => {
                words.push(' ');
                words.push_str(sign);
                words.push(' ');
            }
            Token::Sign(sign) => {
                if after_word && sign == "(" {
                    words.push(' ');
                }
                match sign {
                    "(" => depth += 1,
                    ")" => depth = depth.saturating_sub(1),
                    _ => {}
                }
                words.push_str(sign);
                wrapped &= depth > 0 || cursor.at_end();
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
fn registers(scope: &Scope) -> Vec<Place> {
    let threads = (0u8..).zip(&scope.program.threads);
    threads
        .flat_map(|(thread, t)| {
            let regs = (0u8..).zip(&t.regs);
            regs.filter(|(_, decl)| x86_register(&decl.name).is_some())
                .map(move |(reg, _)| Place::Reg {
                    thread,
                    reg: Reg(reg),
                })
        })
        .collect()
}
