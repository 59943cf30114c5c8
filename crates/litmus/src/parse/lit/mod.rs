//! Landfall's own format: `key: value` lines.

mod expectation;
mod statement;

use super::ParseError;
use super::condition::{Growth, Observed, place};
use super::cursor::{LitmusDialect, LitmusToken, TextCursor, TextSpot, quote};
use super::scope::{NameScope, NamedRegisters, list};
use crate::program::{LitmusProgram, Location, Observe, Test, Var};
use crate::transaction::Aborts;
use landfall_model::order::Platform;

use expectation::expectations;
pub(crate) use expectation::{join_outcomes, parse_condition, parse_outcome};

const KEYS: [&str; 15] = [
    "name",
    "lines",
    "init",
    "T0",
    "recover",
    "final",
    "allowed",
    "forbidden",
    "exactly",
    "exists",
    "never",
    "always",
    "aborts",
    "platform",
    "source",
];

/// Words with a meaning of their own; a variable of that name could not be told from them.
pub(crate) const VERBS: [&str; 19] = [
    "nt",
    "if",
    "xchg",
    "cas",
    "faa",
    "fas",
    "fand",
    "for",
    "fxor",
    "clflush",
    "clflushopt",
    "clwb",
    "sfence",
    "mfence",
    "lfence",
    "xbegin",
    "xend",
    "xabort",
    "xtest",
];

/// One `key: value` line.
struct LitLine<'a> {
    key: &'a str,
    spot: TextSpot,
    value: &'a str,
    value_spot: TextSpot,
}

impl<'a> LitLine<'a> {
    fn cursor(&self) -> TextCursor<'a> {
        TextCursor::new(self.value, self.value_spot, LitmusDialect::LitLine)
    }
}

/// Reads a `.lit` file; a test without a `name:` goes by `stem`.
pub(crate) fn parse(stem: &str, text: &str) -> Result<Test, ParseError> {
    let entries = entries(text)?;
    let find = |key: &str| entries.iter().find(|e| e.key == key);
    let end = TextSpot {
        line: text.lines().count().max(1),
        column: text.lines().last().map_or(0, |l| l.chars().count()) + 1,
    };
    let missing = |what: &str| end.error("the end of the file", what);

    if let Some(nameless) = find("name").filter(|e| e.value.is_empty()) {
        return Err(nameless.cursor().unexpected("the test's name"));
    }
    let mut scope = NameScope::new(NamedRegisters::Named);
    let lines = find("lines").ok_or_else(|| missing("a `lines:` entry with the variables"))?;
    declare_variables(lines, &mut scope)?;

    let threads: Vec<&LitLine<'_>> = entries
        .iter()
        .filter(|e| thread_number(e.key).is_some())
        .collect();
    for entry in &threads {
        let next = format!("T{}", scope.program.threads.len());
        if entry.key != next {
            return Err(entry
                .spot
                .error(quote(entry.key), format!("`{next}:`, the next thread")));
        }
        scope.add_thread(entry.spot)?;
    }
    if threads.is_empty() {
        return Err(missing("a thread `T0:`"));
    }
    // Initial values first: they may name registers that a thread only reads.
    if let Some(entry) = find("init") {
        initial_values(entry, &mut scope)?;
    }
    let mut suspects = Vec::new();
    for (thread, entry) in threads.iter().enumerate() {
        let body = statement::thread_body(&mut entry.cursor(), &mut scope, thread)?;
        suspects.extend(body);
    }

    let mut observed = observed_places(find("recover"), find("final"), &scope)?;
    let mut expect = Vec::new();
    for entry in &entries {
        expectations(entry, &scope, &mut observed, &mut expect)?;
    }
    statement::refuse_unused(&suspects, &observed.places, &scope)?;
    let platform = find("platform").map_or(Ok(Platform::Adr), platform)?;
    scope.program.aborts = find("aborts").map_or(Ok(Aborts::Spurious), aborts)?;
    let observe = observe(observed, find("recover").is_some(), &scope.program);
    Ok(Test {
        asked: None,
        name: find("name").map_or(stem, |e| e.value).to_owned(),
        program: scope.program,
        observe,
        platform,
        expect,
        source: find("source").map_or("", |e| e.value).to_owned(),
    })
}

fn entries(text: &str) -> Result<Vec<LitLine<'_>>, ParseError> {
    let mut entries: Vec<LitLine<'_>> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line_spot = TextSpot {
            line: number + 1,
            column: 1,
        };
        // A `source:` may hold a web address with a `#` in it, so it is taken as it stands.
        let is_source = line.trim_start().starts_with("source:");
        let code = if is_source { line } else { cut_comment(line) };
        let trimmed = code.trim_start();
        if trimmed.is_empty() {
            continue;
        }
        let spot = line_spot.after(code.get(..code.len() - trimmed.len()).unwrap_or(""));
        let Some((key, value)) = trimmed.split_once(':') else {
            return Err(spot.error(quote(trimmed.trim_end()), "a `key: value` line"));
        };
        let blank = value.get(..value.len() - value.trim_start().len());
        let value_spot = spot.after(key).after(":").after(blank.unwrap_or(""));
        let key = key.trim_end();
        if !KEYS.contains(&key) && thread_number(key).is_none() {
            let known = list(KEYS.into_iter());
            return Err(spot.error(quote(key), format!("one of the keys {known}")));
        }
        let repeats = matches!(key, "allowed" | "forbidden" | "exists" | "never" | "always");
        if let Some(first) = entries.iter().find(|e| !repeats && e.key == key) {
            let found = format!(
                "a second `{key}:` (the first is on line {})",
                first.spot.line
            );
            return Err(spot.error(found, "each key once"));
        }
        entries.push(LitLine {
            key,
            spot,
            value: value.trim(),
            value_spot,
        });
    }
    Ok(entries)
}

/// A comment starts at a `#` that does not continue a word: names such as `MP#2` stay whole.
fn cut_comment(line: &str) -> &str {
    let starts = line.char_indices().find(|&(at, c)| {
        c == '#'
            && line
                .get(..at)
                .is_none_or(|before| !before.ends_with(|b: char| !b.is_whitespace()))
    });
    starts.map_or(line, |(at, _)| line.get(..at).unwrap_or(line))
}

fn thread_number(key: &str) -> Option<u32> {
    let digits = key.strip_prefix('T')?;
    let plain = digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}

fn declare_variables(entry: &LitLine<'_>, scope: &mut NameScope) -> Result<(), ParseError> {
    let mut cursor = entry.cursor();
    if cursor.at_end() {
        return Ok(());
    }
    let mut line = 0;
    loop {
        let (name, spot) = cursor.word("a variable")?;
        if VERBS.contains(&name) {
            let expected = "a variable's name, not a word with a meaning of its own";
            return Err(spot.error(quote(name), expected));
        }
        if scope.var(name).is_some() {
            return Err(spot.error(format!("a second {}", quote(name)), "each variable once"));
        }
        scope.add_var(name, line, spot)?;
        if cursor.take("|") {
            line += 1;
        } else if cursor.at_end() {
            return Ok(());
        }
    }
}

fn initial_values(entry: &LitLine<'_>, scope: &mut NameScope) -> Result<(), ParseError> {
    let mut cursor = entry.cursor();
    while !cursor.at_end() {
        declare_register(cursor.clone(), scope)?;
        let (place, _, _) = place(&mut cursor, scope)?;
        cursor.expect("=", "`=` and an initial value")?;
        let value = cursor.value("a number")?;
        match place {
            Location::Var(var) => scope.set_var(var, value),
            Location::Reg { thread, reg } => scope.set_reg(thread.into(), reg, value),
        }
    }
    Ok(())
}

/// `T0:r`: a register is declared by its mention among the initial values; a variable must be known already.
fn declare_register(mut ahead: TextCursor<'_>, scope: &mut NameScope) -> Result<(), ParseError> {
    let LitmusToken::Word(thread) = ahead.next() else {
        return Ok(());
    };
    let named = (thread_number(thread), ahead.take(":"), ahead.peek());
    if let (Some(number), true, LitmusToken::Word(name)) = named {
        scope.reg_or_new(number as usize, name, ahead.spot())?;
    }
    Ok(())
}

fn observed_places(
    recover: Option<&LitLine<'_>>,
    last: Option<&LitLine<'_>>,
    scope: &NameScope,
) -> Result<Observed, ParseError> {
    let mut observed = Observed {
        places: Vec::new(),
        growth: Growth::Open,
    };
    let (entry, by) = match (recover, last) {
        (None, None) => return Ok(observed),
        (Some(_), Some(last)) => {
            let expected = "either `recover:` or `final:`, not both";
            return Err(last.spot.error("`final`", expected));
        }
        (Some(entry), None) => (entry, "`recover:`"),
        (None, Some(entry)) => (entry, "`final:`"),
    };
    let mut cursor = entry.cursor();
    if recover.is_some() && cursor.at_end() {
        return Err(cursor.unexpected("a variable to read after the power failed"));
    }
    while !cursor.at_end() {
        let (place, name, spot) = place(&mut cursor, scope)?;
        if recover.is_some() && matches!(place, Location::Reg { .. }) {
            let expected = "a variable: registers are gone after a power failure";
            return Err(spot.error(quote(&name), expected));
        }
        observed.index(place, &name, spot)?;
    }
    observed.growth = Growth::Fixed(by);
    Ok(observed)
}

fn observe(observed: Observed, recovers: bool, program: &LitmusProgram) -> Observe {
    if recovers {
        let vars = observed.places.iter().filter_map(|place| match place {
            Location::Var(var) => Some(*var),
            Location::Reg { .. } => None,
        });
        return Observe::Recover(vars.collect::<Vec<Var>>());
    }
    if observed.places.is_empty() && observed.growth == Growth::Open {
        return Observe::Final(program.registers());
    }
    Observe::Final(observed.places)
}

fn platform(entry: &LitLine<'_>) -> Result<Platform, ParseError> {
    let mut cursor = entry.cursor();
    let platform = if cursor.take_word("adr") {
        Platform::Adr
    } else if cursor.take_word("eadr") {
        Platform::Eadr
    } else {
        return Err(cursor.unexpected("`adr` or `eadr`"));
    };
    cursor.end("nothing more")?;
    Ok(platform)
}

fn aborts(entry: &LitLine<'_>) -> Result<Aborts, ParseError> {
    let mut cursor = entry.cursor();
    let aborts = if cursor.take_word("caused") {
        Aborts::Caused
    } else if cursor.take_word("spurious") {
        Aborts::Spurious
    } else {
        return Err(cursor.unexpected("`spurious` or `caused`"));
    };
    cursor.end("nothing more")?;
    Ok(aborts)
}

pub(crate) fn one_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
