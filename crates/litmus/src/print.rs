//! Writing a test as a `.lit` file: for a disagreement worth keeping, and for what was read in another format.

use crate::expect::{Expectation, Prop, Quantifier};
use crate::parse::{join_outcomes, parse_condition, parse_outcome, show_condition};
use crate::program::{
    Instr, LitmusProgram, Location, Observe, Reg, ShowInstr, Test, Thread, VarDecl,
};
use crate::transaction::Aborts;
use landfall_model::order::Platform;
use std::fmt::Write;

#[cfg(test)]
mod round_trip;

/// The test as a `.lit` file that [`crate::parse::parse`] reads back as the same test.
///
/// It is the same to the letter for what a parser can produce: lines numbered in the order of their variables, and
/// expectations whose text says what they mean. Otherwise it is the same up to that numbering and wording.
pub fn to_lit(test: &Test) -> String {
    let mut entries = vec![
        ("name".to_owned(), test.name.clone()),
        ("lines".to_owned(), lines(&test.program.vars)),
    ];
    let init = initial_values(&test.program);
    if !init.is_empty() {
        entries.push(("init".into(), init));
    }
    for (number, thread) in test.program.threads.iter().enumerate() {
        let body: Vec<String> = thread
            .body
            .iter()
            .map(|instr| {
                let shown = ShowInstr {
                    program: &test.program,
                    thread: number,
                    instr,
                };
                shown.to_string()
            })
            .collect();
        entries.push((format!("T{number}"), body.join("; ")));
    }
    let places = test.observe.places();
    let names: Vec<String> = places
        .iter()
        .map(|&place| test.program.place_name(place))
        .collect();
    let key = match test.observe {
        Observe::Recover(_) => "recover",
        Observe::Final(_) => "final",
    };
    entries.push((key.into(), names.join(" ")));
    if test.program.aborts == Aborts::Caused {
        entries.push(("aborts".into(), "caused".into()));
    }
    if test.platform == Platform::Eadr {
        entries.push(("platform".into(), "eadr".into()));
    }
    entries.extend(expectations(test, &places));
    if !test.source.is_empty() {
        entries.push(("source".into(), test.source.clone()));
    }

    let mut text = String::new();
    for (key, value) in entries {
        let line = format!("{key}: {value}");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

fn lines(vars: &[VarDecl]) -> String {
    let mut numbers: Vec<_> = vars.iter().map(|v| v.line).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let groups: Vec<String> = numbers
        .iter()
        .map(|&line| {
            let on_it = vars.iter().filter(|v| v.line == line);
            let names: Vec<&str> = on_it.map(|v| v.name.as_str()).collect();
            names.join(" ")
        })
        .collect();
    groups.join(" | ")
}

/// What does not start at zero, and the registers of threads whose text would not declare them in their order.
fn initial_values(program: &LitmusProgram) -> String {
    let vars = program.vars.iter().filter(|v| v.init != 0);
    let mut values: Vec<String> = vars.map(|v| format!("{}={}", v.name, v.init)).collect();
    for (number, thread) in program.threads.iter().enumerate() {
        if declares_its_registers(thread) && !sets_in_vain(thread) {
            continue;
        }
        for reg in &thread.regs {
            values.push(format!("T{number}:{}={}", reg.name, reg.init));
        }
    }
    values.join(" ")
}

/// Would reading the body alone give the thread its registers: each set before it is used, in order, from zero?
fn declares_its_registers(thread: &Thread) -> bool {
    let mut seen = 0usize;
    let mut in_order = true;
    let mut mention = |reg: Reg, sets: bool| {
        let at = reg.0 as usize;
        in_order &= at < seen || (sets && at == seen);
        seen = seen.max(at + 1);
    };
    for instr in &thread.body {
        let first = match instr {
            // `a = b` is a load unless `b` is known: here the source is read first.
            Instr::Move { .. } => None,
            _ => instr.sets(),
        };
        if let Some(reg) = first {
            mention(reg, true);
        }
        instr.uses().for_each(|reg| mention(reg, false));
        if let Some(reg) = instr.sets() {
            mention(reg, true);
        }
    }
    in_order && seen == thread.regs.len() && thread.regs.iter().all(|r| r.init == 0)
}

/// Is a register set by a move and then used by nothing in the thread? Where nothing declares it either, that reads
/// like a slip.
fn sets_in_vain(thread: &Thread) -> bool {
    let mut later = thread.body.iter();
    while let Some(instr) = later.next() {
        if let Instr::Move { reg, .. } = *instr
            && !later.clone().any(|i| i.uses().any(|used| used == reg))
        {
            return true;
        }
    }
    false
}

fn expectations(test: &Test, places: &[Location]) -> Vec<(String, String)> {
    let mut entries = Vec::new();
    let mut rest = test.expect.as_slice();
    while let Some((first, others)) = rest.split_first() {
        if let Some(length) = exactly(rest, test, places) {
            let (listed, after) = rest.split_at(length);
            entries.push(("exactly".to_owned(), join_outcomes(listed)));
            rest = after.get(1..).unwrap_or_default();
            continue;
        }
        entries.push(expectation(first, test, places));
        rest = others;
    }
    entries
}

/// How many outcomes an `exactly:` at the start of this list has, if one is there.
fn exactly(expect: &[Expectation], test: &Test, places: &[Location]) -> Option<usize> {
    let length = expect
        .iter()
        .position(|e| e.quantifier != Quantifier::Exists)?;
    let (listed, after) = expect.split_at(length);
    let last = after.first()?;
    let Prop::Or(props) = &last.prop else {
        return None;
    };
    let same = last.quantifier == Quantifier::Always
        && !listed.is_empty()
        && listed.iter().map(|e| &e.prop).eq(props)
        && last.text == join_outcomes(listed)
        && listed.iter().all(|e| says_outcome(e, test, places));
    same.then_some(length)
}

fn says_outcome(expectation: &Expectation, test: &Test, places: &[Location]) -> bool {
    let read = parse_outcome(&expectation.text, &test.program, places);
    read.as_ref() == Some(&expectation.prop)
}

fn expectation(expectation: &Expectation, test: &Test, places: &[Location]) -> (String, String) {
    let Expectation {
        quantifier,
        prop,
        text,
    } = expectation;
    let (outcome_key, condition_key) = match quantifier {
        Quantifier::Exists => (Some("allowed"), "exists"),
        Quantifier::Never => (Some("forbidden"), "never"),
        Quantifier::Always => (None, "always"),
    };
    if let (Some(key), true) = (outcome_key, says_outcome(expectation, test, places)) {
        return (key.to_owned(), text.clone());
    }
    let read = parse_condition(text, &test.program, places);
    let wording = if read.as_ref() == Some(prop) {
        text.clone()
    } else {
        show_condition(prop, places, &test.program)
    };
    (condition_key.to_owned(), wording)
}
