//! What stands under a row: why it differs, and with `-v` every outcome and how it comes about.

use super::super::report::{
    CrossCheck, FileReport, Judgement, TestReport, TestVerdict, show_outcome,
};
use super::claim;
use super::columns::PAGE;
use crate::screen::plain;
use landfall_litmus::expect::Quantifier;
use landfall_litmus::program::Value;
use std::fmt::Write;

const MOST_FOUND: usize = 10;

pub(super) fn write(out: &mut String, report: &FileReport, test: &TestReport, verbose: bool) {
    // Writing into a String cannot fail.
    let _ = match &test.verdict {
        TestVerdict::Internal(message) => internal(out, report, message),
        TestVerdict::Limit => writeln!(
            out,
            "  gave up after {} states; --states N allows more",
            test.states
        ),
        _ if verbose => in_full(out, report, test),
        TestVerdict::Differs => differing(out, report, test),
        TestVerdict::AsExpected | TestVerdict::NoExpectation => Ok(()),
    };
}

fn file(report: &FileReport) -> String {
    plain(&report.file.to_string_lossy())
}

fn internal(out: &mut String, report: &FileReport, message: &str) -> std::fmt::Result {
    // The message is several lines, and ends with the test itself.
    let message: Vec<String> = message.split('\n').map(plain).collect();
    writeln!(
        out,
        "  internal error: {}: {}",
        file(report),
        message.join("\n")
    )
}

fn differing(out: &mut String, report: &FileReport, test: &TestReport) -> std::fmt::Result {
    writeln!(out, "  in {}", file(report))?;
    for judgement in test
        .expectations
        .iter()
        .filter(|judgement| judgement.holds == Some(false))
    {
        writeln!(out, "  {}: {}", claim(judgement), finding(judgement))?;
    }
    found(out, test)
}

/// The outcomes on one line if they fit, else a line each, but no flood.
fn found(out: &mut String, test: &TestReport) -> std::fmt::Result {
    let show = |outcome: &Vec<Value>| show_outcome(&test.places, outcome);
    let shown: Vec<String> = test.outcomes.iter().take(MOST_FOUND).map(show).collect();
    let line = format!("  found: {}", shown.join("; "));
    let more = test.outcomes.len() - shown.len();
    if more == 0 && line.chars().count() <= PAGE {
        return writeln!(out, "{line}");
    }
    writeln!(out, "  found:")?;
    for outcome in shown {
        writeln!(out, "    {outcome}")?;
    }
    match more {
        0 => Ok(()),
        _ => writeln!(out, "    … and {more} more (-v shows all)"),
    }
}

fn in_full(out: &mut String, report: &FileReport, test: &TestReport) -> std::fmt::Result {
    let when = if test.after_failure {
        "after a power failure"
    } else {
        "at the end"
    };
    writeln!(out, "  in {}, {} states", file(report), test.states)?;
    if let CrossCheck::TooLarge(why) = &test.cross_check {
        writeln!(out, "  the axiomatic definition was not compared: {why}")?;
    }
    writeln!(out, "  outcomes {when}:")?;
    for outcome in &test.outcomes {
        writeln!(out, "    {}", show_outcome(&test.places, outcome))?;
    }
    for judgement in &test.expectations {
        writeln!(out, "  {}: {}", claim(judgement), finding(judgement))?;
        if let Some(narrative) = &judgement.narrative {
            let outcome = show_outcome(&test.places, &narrative.outcome);
            writeln!(out, "    an execution that ends in {outcome}:")?;
            for step in &narrative.steps {
                writeln!(out, "      {step}")?;
            }
        }
    }
    writeln!(out)
}

/// What was found, in the terms of what was expected.
fn finding(judgement: &Judgement) -> &'static str {
    match (&judgement.quantifier, judgement.holds) {
        (_, None) => "not known",
        (Quantifier::Exists, Some(true)) => "happens, as expected",
        (Quantifier::Exists, Some(false)) => "NEVER HAPPENS",
        (Quantifier::Never, Some(true)) => "never happens, as expected",
        (Quantifier::Never, Some(false)) => "HAPPENS",
        (Quantifier::Always, Some(true)) => "holds in every outcome, as expected",
        (Quantifier::Always, Some(false)) => "DOES NOT ALWAYS HOLD",
    }
}
