//! One program under one command line: what is seen against what the definition allows.

use super::command::{Failing, Line, Seen, Way, run, source_name};
use super::meaning::{Model, Outcome, Question, outcomes};
use super::program::Program;
use super::text::{Ends, Knowing, UNEXPECTED, argument, digest, text};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// States that brute force may look at.
pub(crate) const MOST_STATES: usize = 400_000;
/// Outcomes that fit into arguments.
const MOST_OUTCOMES: usize = 1500;
/// Codes of outcomes: 1 and so on.
const CODES: usize = 240;

/// What is different.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Difference {
    /// In one word, so that a smaller program can be held against it.
    pub(crate) kind: &'static str,
    pub(crate) what: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Compared {
    Same,
    /// Not everything was looked at, and the check said so.
    Limited(String),
    Late,
    /// Brute force would take too long.
    TooLarge,
    Different(Difference),
}

/// What the definition allows, by how the program ends then.
struct Wanted {
    ends: Ends,
    first: BTreeSet<i32>,
    recoveries: BTreeSet<i32>,
}

fn wanted(all: &[BTreeSet<Outcome>], line: &Line) -> Wanted {
    let after: usize = all[1..].iter().map(BTreeSet::len).sum();
    let chosen = match line.failing {
        Failing::One(number) if after > 0 => Some(number as usize % after),
        _ => None,
    };
    let mut wanted = Wanted {
        ends: Ends::new(),
        first: BTreeSet::new(),
        recoveries: BTreeSet::new(),
    };
    let mut number = 0;
    for (failures, outcomes) in all.iter().enumerate() {
        let reported = match line.failing {
            Failing::All => true,
            Failing::Recoveries => failures > 0,
            Failing::One(_) | Failing::None => false,
        };
        for outcome in outcomes {
            let chosen = failures > 0 && Some(number) == chosen;
            let code = match reported || chosen {
                true => 1 + (number % CODES) as u8,
                false => 0,
            };
            wanted.ends.push((digest(failures, outcome), code));
            match failures {
                0 => wanted.first.insert(code.into()),
                _ => wanted.recoveries.insert(code.into()),
            };
            if failures > 0 || line.failing == Failing::All {
                number += 1;
            }
        }
    }
    wanted.first.remove(&0);
    wanted
}

pub(crate) fn question(program: &Program, line: &Line) -> Question {
    let mut question = line.question();
    // One thread has a store buffer whatever the model: nobody sees it.
    if !program.has_threads() {
        question.model = Model::Tso;
    }
    question
}

/// What the definition allows; `None` if that is too much to look at.
struct Allowed {
    all: Vec<BTreeSet<Outcome>>,
    wanted: Wanted,
}

impl Allowed {
    fn of(program: &Program, line: &Line, question: Question) -> Option<Allowed> {
        let all = outcomes(program, question, MOST_STATES)?;
        let count: usize = all.iter().map(BTreeSet::len).sum();
        let wanted = wanted(&all, line);
        (count <= MOST_OUTCOMES).then_some(Allowed { all, wanted })
    }
}

/// By itself: writes the program into the directory, and does what the line says.
pub(crate) fn compare(
    landfall: &Path,
    program: &Program,
    line: &Line,
    directory: &Path,
) -> Compared {
    compare_with(landfall, program, line, question(program, line), directory)
}

/// With what the definition says to another question than the line asks: what is wrong must be noticed.
pub(crate) fn compare_with(
    landfall: &Path,
    program: &Program,
    line: &Line,
    question: Question,
    directory: &Path,
) -> Compared {
    let Some(Allowed { all, wanted }) = Allowed::of(program, line, question) else {
        return Compared::TooLarge;
    };
    fs::create_dir_all(directory).expect("a directory");
    let text = text(&[program], &Knowing::Ends(&wanted.ends));
    fs::write(directory.join(source_name(program)), text).expect("writable");
    let seen = run(landfall, &line.commands(program), directory);
    judge(&wanted, &seen, line, &all)
}

/// One of the programs that were built together.
pub(crate) fn compare_built(
    landfall: &Path,
    (number, program): (usize, &Program),
    line: &Line,
    directory: &Path,
) -> Compared {
    let Some(Allowed { all, wanted }) = Allowed::of(program, line, question(program, line)) else {
        return Compared::TooLarge;
    };
    let mut check = line.check(program);
    check.extend(["--".to_owned(), "./program".to_owned(), number.to_string()]);
    check.extend(wanted.ends.iter().map(argument));
    let seen = run(landfall, &[check], directory);
    judge(&wanted, &seen, line, &all)
}

fn judge(wanted: &Wanted, seen: &Seen, line: &Line, all: &[BTreeSet<Outcome>]) -> Compared {
    let different =
        |kind: &'static str, what: String| Compared::Different(Difference { kind, what });
    if seen.late {
        return Compared::Late;
    }
    let said = || seen.said.lines().take(12).collect::<Vec<_>>().join("\n");
    if !matches!(seen.exit, Some(0 | 5 | 100)) {
        let kind = match seen.exit {
            Some(1) => "internal error",
            Some(2) => "refused",
            Some(4) => "nothing to check",
            Some(101) => "does not build",
            Some(102) => "not deterministic",
            _ => "exit code",
        };
        return different(kind, format!("exit code {:?}: {}", seen.exit, said()));
    }
    if let Some(strange) = seen.strange.first() {
        return different("strange end", strange.clone());
    }
    let random = matches!(line.way, Way::Random { .. });
    let limited = !random && !seen.complete;
    let mut wrong = Vec::new();
    let sets = [
        ("first executions", &wanted.first, &seen.first),
        ("recoveries", &wanted.recoveries, &seen.recoveries),
    ];
    for (whose, wanted_codes, seen_codes) in sets {
        let impossible: Vec<i32> = seen_codes.difference(wanted_codes).copied().collect();
        let missed: Vec<i32> = wanted_codes.difference(seen_codes).copied().collect();
        if !impossible.is_empty() {
            wrong.push((
                "impossible",
                format!(
                    "{whose}: the definition does not allow {}",
                    named(&impossible, all, wanted)
                ),
            ));
        }
        if !missed.is_empty() && !random && !limited {
            wrong.push((
                "missed",
                format!("{whose}: not seen: {}", named(&missed, all, wanted)),
            ));
        }
    }
    if let Some((kind, _)) = wrong.first() {
        let what: Vec<String> = wrong.iter().map(|(_, what)| what.clone()).collect();
        return different(kind, what.join("\n"));
    }
    let fails = |codes: &BTreeSet<i32>| codes.iter().any(|&code| code != 0);
    let found = fails(&seen.first) || fails(&seen.recoveries);
    if found != (seen.findings > 0) {
        return different(
            "verdict",
            format!(
                "{} findings for {:?} {:?}",
                seen.findings, seen.first, seen.recoveries
            ),
        );
    }
    let exit = match (found, seen.complete) {
        (true, _) => 100,
        (false, true) => 0,
        (false, false) => 5,
    };
    if line.crash_only && seen.exit != Some(exit) {
        return different(
            "verdict",
            format!("exit code {:?}, wanted {exit}", seen.exit),
        );
    }
    match limited {
        true => Compared::Limited(seen.limits.join(" ")),
        false => Compared::Same,
    }
}

/// The outcomes of these codes.
fn named(codes: &[i32], all: &[BTreeSet<Outcome>], wanted: &Wanted) -> String {
    let named = |&code: &i32| {
        if code == i32::from(UNEXPECTED) {
            return "an outcome that it does not list".to_owned();
        }
        let outcomes = all
            .iter()
            .enumerate()
            .flat_map(|(failures, set)| set.iter().map(move |one| (failures, one)));
        let mut of_code = outcomes
            .zip(&wanted.ends)
            .filter(|(_, (_, end))| i32::from(*end) == code);
        match of_code.next() {
            Some(((failures, outcome), _)) => {
                format!("{code} (after {failures} failures: {outcome:x?})")
            }
            None => code.to_string(),
        }
    };
    let some: Vec<String> = codes.iter().take(6).map(named).collect();
    some.join(", ")
}
