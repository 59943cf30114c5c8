//! The table people read: one row per test, more under a row only where there is more to say.

mod columns;
mod details;

use super::report::{CrossCheck, FileReport, Judgement, Summary, TestReport, TestVerdict};
use crate::screen::plain;
use anstyle::{AnsiColor, Style};
use columns::{ColumnCut, ColumnKeep, Widths};
use landfall_litmus::expect::Quantifier;
use std::fmt::Write;

/// The rows, and what closes them. They are apart because the complaints about unreadable files come between.
pub(super) fn render(reports: &[FileReport], summary: &Summary, verbose: bool) -> (String, String) {
    let rows: Vec<TableRow> = reports.iter().map(TableRow::of).collect();
    let cut = if verbose {
        ColumnCut::Never
    } else {
        ColumnCut::ToFit
    };
    let widths = Widths::of(&rows, cut);
    let mut out = widths.heading();
    for (row, report) in rows.iter().zip(reports) {
        out += &widths.line(row);
        if let Ok(test) = &report.found {
            details::write(&mut out, report, test, verbose);
        }
    }
    if !out.ends_with("\n\n") {
        out.push('\n');
    }
    (out, closing(reports, summary))
}

struct TableRow {
    test: String,
    keep: ColumnKeep,
    outcomes: String,
    expectation: String,
    verdict: &'static str,
    style: Style,
}

impl TableRow {
    fn of(report: &FileReport) -> TableRow {
        let Ok(test) = &report.found else {
            return TableRow {
                test: plain(&report.file.to_string_lossy()),
                keep: ColumnKeep::End,
                outcomes: String::new(),
                expectation: String::new(),
                verdict: "unreadable",
                style: AnsiColor::Red.on_default().bold(),
            };
        };
        let (verdict, style) = match test.verdict {
            TestVerdict::AsExpected => ("ok", AnsiColor::Green.on_default()),
            TestVerdict::Differs => ("DIFFERS", AnsiColor::Red.on_default().bold()),
            TestVerdict::NoExpectation => ("no expectation", Style::new().dimmed()),
            TestVerdict::Limit => ("limit", AnsiColor::Yellow.on_default().bold()),
            TestVerdict::Internal(_) => ("INTERNAL ERROR", AnsiColor::Red.on_default().bold()),
        };
        let known = !matches!(test.verdict, TestVerdict::Limit);
        TableRow {
            test: plain(&test.name),
            keep: ColumnKeep::Start,
            outcomes: if known {
                test.outcomes.len().to_string()
            } else {
                "?".to_owned()
            },
            expectation: expectation(test),
            verdict,
            style,
        }
    }
}

/// The one expectation of the test, or how many it has of which kind.
fn expectation(test: &TestReport) -> String {
    if let [only] = test.expectations.as_slice() {
        return claim(only);
    }
    let kinds = [Quantifier::Exists, Quantifier::Never, Quantifier::Always];
    let counts = kinds.iter().filter_map(|kind| {
        let of_kind = |judgement: &&Judgement| judgement.quantifier == *kind;
        match test.expectations.iter().filter(of_kind).count() {
            0 => None,
            count => Some(format!("{count} {}", word(kind))),
        }
    });
    counts.collect::<Vec<_>>().join(", ")
}

fn claim(judgement: &Judgement) -> String {
    format!("{} {}", word(&judgement.quantifier), plain(&judgement.text))
}

fn word(quantifier: &Quantifier) -> &'static str {
    match quantifier {
        Quantifier::Exists => "allowed",
        Quantifier::Never => "forbidden",
        Quantifier::Always => "always",
    }
}

fn closing(reports: &[FileReport], summary: &Summary) -> String {
    let mut out = String::new();
    if summary.too_large > 0 {
        let too_large = (reports
            .iter()
            .filter_map(|report| report.found.as_ref().ok()))
        .filter(|test| matches!(test.cross_check, CrossCheck::TooLarge(_)));
        let names: Vec<String> = too_large.map(|test| plain(&test.name)).take(3).collect();
        let more = if summary.too_large > names.len() {
            ", …"
        } else {
            ""
        };
        let _ = writeln!(
            out,
            "Too large to compare with the axiomatic definition: {} ({}{more}).",
            tests(summary.too_large),
            names.join(", "),
        );
    }
    if summary.agree > 0 {
        let _ = writeln!(out, "Both definitions agree on {}.", tests(summary.agree));
    }
    let mut parts = vec![
        format!("{} as expected", summary.as_expected),
        format!("{} differ", summary.differ),
        format!("{} unreadable", summary.unreadable),
    ];
    for (count, what) in [
        (summary.no_expectation, "without expectation"),
        (summary.limit, "over the limit"),
        (summary.internal, "with an internal error"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    let _ = writeln!(out, "{}: {}", tests(summary.tests), parts.join(", "));
    out
}

pub(super) fn tests(count: usize) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} test{plural}")
}
